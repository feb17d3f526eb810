/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. Pure. */
#pragma once

#include "common/str.h"

/* Length of the valid prefix: `len` when all of it is valid. */
size_t utf8_valid_prefix(const char *data, size_t len);

/* Copies what fits of the text's valid prefix, to the end of a code point, and ends it with '\0'; an absent
 * one is empty. `size` is above 0. */
void utf8_copy(char *to, size_t size, str_t text);

/* Length of the code point that the data begins with, or 0 where it is none (or where there is no data). */
size_t utf8_decode(const char *data, size_t len, uint32_t *ret_point);

static inline bool utf8_valid(const char *data, size_t len)
{
	uint64_t first, last;
	if (len >= sizeof first && len <= sizeof first + sizeof last) { /* names: most are ASCII */
		memcpy(&first, data, sizeof first);
		memcpy(&last, data + len - sizeof last, sizeof last);
		if (!((first | last) & UINT64_C(0x8080808080808080)))
			return true;
	}
	return utf8_valid_prefix(data, len) == len;
}
