/* UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above U+10FFFF. Pure. */
#pragma once

#include "common/str.h"

/* Length of the valid prefix: `len` when all of it is valid. */
size_t utf8_valid_prefix(const char *data, size_t len);

static inline bool utf8_valid(const char *data, size_t len)
{
	return utf8_valid_prefix(data, len) == len;
}
