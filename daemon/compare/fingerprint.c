#include "compare/fingerprint.h"

#include <inttypes.h>

static uint64_t big_endian(const unsigned char *bytes)
{
	uint64_t number = 0;
	for (size_t i = 0; i < sizeof number; i++)
		number = number << 8 | bytes[i];
	return number;
}

/* The length and a colon; printf's own would cost more than the rest of a cell. */
static void append_length(struct buf *row, size_t len)
{
	char digits[24];
	size_t begin = sizeof digits;
	digits[--begin] = ':';
	do
		digits[--begin] = (char)('0' + len % 10);
	while (len /= 10);
	buf_append_str(row, (str_t){ digits + begin, sizeof digits - begin });
}

void fingerprint_row(struct fingerprint *fingerprint, const str_t *cells, size_t cells_count)
{
	unsigned char digest[DIGEST_BYTES];
	struct buf *row = &fingerprint->row;
	buf_reset(row);
	for (size_t i = 0; i < cells_count; i++) {
		if (!str_present(cells[i])) {
			buf_append_char(row, 'N');
			continue;
		}
		append_length(row, cells[i].len);
		buf_append_str(row, cells[i]);
	}
	hash_sha256(row->data, row->len, digest);
	hash_128_add(&fingerprint->sum,
		     (struct hash_128){ .high = big_endian(digest), .low = big_endian(digest + 8) });
}

void fingerprint_hex(const struct fingerprint *fingerprint, char ret_hex[FINGERPRINT_SIZE])
{
	snprintf(ret_hex, FINGERPRINT_SIZE, "%016" PRIx64 "%016" PRIx64, fingerprint->sum.high,
		 fingerprint->sum.low);
}

void fingerprint_reset(struct fingerprint *fingerprint)
{
	buf_free(&fingerprint->row);
	*fingerprint = (struct fingerprint){ .row = BUF_INIT };
}

void fingerprint_of(const struct result_set *set, char ret_hex[FINGERPRINT_SIZE])
{
	struct fingerprint fingerprint = { .row = BUF_INIT };
	ret_hex[0] = '\0';
	if (set->truncated)
		return;
	for (size_t i = 0; i < set->rows_count; i++)
		fingerprint_row(&fingerprint, set->cells + i * set->columns_count, set->columns_count);
	fingerprint_hex(&fingerprint, ret_hex);
	fingerprint_reset(&fingerprint);
}
