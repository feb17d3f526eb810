#include "common/utf8.h"

#define HIGH_BITS 0x8080808080808080u

/* Length of the valid multi-byte sequence that starts at `at`, or 0. Source: RFC 3629, section 4. */
static size_t sequence_length(const unsigned char *at, size_t left)
{
	unsigned char lead = at[0], low = 0x80, high = 0xbf;
	size_t len;
	if (lead >= 0xc2 && lead <= 0xdf) {
		len = 2;
	} else if (lead >= 0xe0 && lead <= 0xef) {
		len = 3;
		low = lead == 0xe0 ? 0xa0 : low;
		high = lead == 0xed ? 0x9f : high;
	} else if (lead >= 0xf0 && lead <= 0xf4) {
		len = 4;
		low = lead == 0xf0 ? 0x90 : low;
		high = lead == 0xf4 ? 0x8f : high;
	} else {
		return 0;
	}
	if (left < len || at[1] < low || at[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	return len;
}

size_t utf8_decode(const char *data, size_t len, uint32_t *ret_point)
{
	static const unsigned char lead_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	const unsigned char *bytes = (const unsigned char *)data;
	if (len == 0)
		return 0;
	size_t length = bytes[0] < 0x80 ? 1 : sequence_length(bytes, len);
	uint32_t point = bytes[0] & lead_bits[length];
	for (size_t i = 1; i < length; i++)
		point = point << 6 | (bytes[i] & 0x3f);
	if (length)
		*ret_point = point;
	return length;
}

size_t utf8_valid_prefix(const char *data, size_t len)
{
	const unsigned char *bytes = (const unsigned char *)data;
	size_t i = 0;
	while (i < len) {
		uint64_t word;
		if (len - i >= sizeof word) {
			memcpy(&word, bytes + i, sizeof word);
			if (!(word & HIGH_BITS)) {
				i += sizeof word;
				continue;
			}
		} else if (i >= sizeof word) { /* the last ones, some of them once more */
			memcpy(&word, bytes + len - sizeof word, sizeof word);
			if (!(word & HIGH_BITS))
				return len;
		}
		size_t step = bytes[i] < 0x80 ? 1 : sequence_length(bytes + i, len - i);
		if (step == 0)
			return i;
		i += step;
	}
	return i;
}

void utf8_copy(char *to, size_t size, str_t text)
{
	size_t len = text.ptr ? text.len : 0;
	if (len >= size)
		len = size - 1;
	len = utf8_valid_prefix(text.ptr, len);
	if (len)
		memcpy(to, text.ptr, len);
	to[len] = '\0';
}
