#include "kafka/receipts.h"

#include <inttypes.h>
#include <stdlib.h>

struct receipt_range {
	int64_t from, to; /* both included */
};

struct receipts {
	struct receipt_range *ranges; /* once settled ascending and disjoint */
	size_t count, capacity;
};

struct receipts *receipts_new(void)
{
	struct receipts *receipts = calloc(1, sizeof *receipts);
	if (!receipts)
		abort();
	return receipts;
}

void receipts_free(struct receipts *receipts)
{
	if (!receipts)
		return;
	free(receipts->ranges);
	free(receipts);
}

static void add(struct receipts *receipts, struct receipt_range range)
{
	if (receipts->count == receipts->capacity) {
		receipts->capacity = receipts->capacity ? 2 * receipts->capacity : 64;
		receipts->ranges =
			reallocarray(receipts->ranges, receipts->capacity, sizeof *receipts->ranges);
		if (!receipts->ranges)
			abort();
	}
	receipts->ranges[receipts->count++] = range;
}

/* ---- reading ---- */

static bool read_offset(str_t value, size_t *at, int64_t *ret_offset)
{
	int64_t offset = 0;
	size_t from = *at;
	while (*at < value.len && value.ptr[*at] >= '0' && value.ptr[*at] <= '9') {
		int digit = value.ptr[(*at)++] - '0';
		if (offset > (INT64_MAX - digit) / 10)
			return false;
		offset = offset * 10 + digit;
	}
	*ret_offset = offset;
	return *at > from;
}

/* The next range, which lies above `above` and below `below`. */
static bool read_range(str_t value, size_t *at, int64_t above, int64_t below, struct receipt_range *ret_range)
{
	struct receipt_range range;
	if (!read_offset(value, at, &range.from))
		return false;
	range.to = range.from;
	if (*at < value.len && value.ptr[*at] == '-') {
		(*at)++;
		if (!read_offset(value, at, &range.to))
			return false;
	}
	*ret_range = range;
	return range.from > above && range.to >= range.from && range.to < below;
}

static bool read_value(struct receipts *receipts, str_t value, int64_t below)
{
	size_t at = 0;
	struct receipt_range range = { 0, -1 };
	for (;;) {
		if (!read_range(value, &at, range.to, below, &range))
			return false;
		add(receipts, range);
		if (at == value.len)
			return true;
		if (value.ptr[at++] != ' ')
			return false;
	}
}

err_t receipts_take(struct receipts *receipts, str_t version, str_t value, int64_t at,
		    struct err_detail *detail)
{
	size_t before = receipts->count;
	if (!str_is(version, RECEIPTS_VERSION))
		return err_fail(
			detail, ERR_OFFSETS_METADATA,
			"a receipt of a redrive has a version that this program does not know: use the "
			"program that wrote it, or a later one");
	if (read_value(receipts, value, at))
		return ERR_OK;
	receipts->count = before;
	return err_fail(
		detail, ERR_OFFSETS_METADATA,
		"a receipt of a redrive is damaged, so that it is not known which dead letters before it "
		"were put back; choose those behind it, with --since");
}

/* ---- asking ---- */

static int compare(const void *left, const void *right)
{
	const struct receipt_range *a = left, *b = right;
	return (a->from > b->from) - (a->from < b->from);
}

void receipts_settle(struct receipts *receipts)
{
	size_t kept = 0;
	if (receipts->count > 0)
		qsort(receipts->ranges, receipts->count, sizeof *receipts->ranges, compare);
	for (size_t i = 0; i < receipts->count; i++) {
		struct receipt_range range = receipts->ranges[i];
		struct receipt_range *last = kept > 0 ? &receipts->ranges[kept - 1] : NULL;
		if (!last || range.from > last->to)
			receipts->ranges[kept++] = range;
		else if (range.to > last->to)
			last->to = range.to;
	}
	receipts->count = kept;
}

bool receipts_have(const struct receipts *receipts, int64_t offset)
{
	size_t low = 0, high = receipts->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (receipts->ranges[middle].to < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < receipts->count && receipts->ranges[low].from <= offset;
}

void receipts_write(const int64_t *offsets, size_t count, struct buf *out)
{
	for (size_t i = 0; i < count;) {
		size_t last = i;
		while (last + 1 < count && offsets[last + 1] == offsets[last] + 1)
			last++;
		buf_printf(out, "%s%" PRId64, i ? " " : "", offsets[i]);
		if (last > i)
			buf_printf(out, "-%" PRId64, offsets[last]);
		i = last + 1;
	}
}
