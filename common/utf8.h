/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. Pure. */
#pragma once

#include "common/str.h"

/* Length of the valid prefix: `len` when all of it is valid. */
size_t utf8_valid_prefix(const char *data, size_t len);

/* Length of the code point that the data begins with, or 0 where it is none (or where there is no data). */
size_t utf8_decode(const char *data, size_t len, uint32_t *ret_point);

static inline bool utf8_valid(const char *data, size_t len)
{
	return utf8_valid_prefix(data, len) == len;
}
