/* Lines of the log's texts, which notes, checkpoints and proofs are read from. Pure. */
#pragma once

#include "audit/merkle.h"
#include "common/base64.h"

/* Takes the next line off the text, without its newline; false: there is none that ends in one. */
static inline bool line_take(str_t *text, str_t *ret_line)
{
	const char *end = text->len ? memchr(text->ptr, '\n', text->len) : NULL;
	if (!end)
		return false;
	size_t len = (size_t)(end - text->ptr);
	*ret_line = (str_t){ text->ptr, len };
	*text = (str_t){ end + 1, text->len - len - 1 };
	return true;
}

/* Takes the prefix off the line, if it has it. */
static inline bool line_skip(str_t *line, str_t prefix)
{
	if (line->len < prefix.len || memcmp(line->ptr, prefix.ptr, prefix.len) != 0)
		return false;
	*line = (str_t){ line->ptr + prefix.len, line->len - prefix.len };
	return true;
}

/* A size or an index: decimal digits without needless zeroes, at most MERKLE_SIZE_MAX. */
static inline bool line_number(str_t line, uint64_t *ret_number)
{
	uint64_t number = 0;
	if (line.len == 0 || line.len > 19 || (line.len > 1 && line.ptr[0] == '0'))
		return false;
	for (size_t i = 0; i < line.len; i++) {
		if (line.ptr[i] < '0' || line.ptr[i] > '9')
			return false;
		number = 10 * number + (uint64_t)(line.ptr[i] - '0');
	}
	if (number > MERKLE_SIZE_MAX)
		return false;
	*ret_number = number;
	return true;
}

static inline bool line_hash(str_t line, struct merkle_hash *ret_hash)
{
	size_t len;
	return base64_read(line, sizeof ret_hash->bytes, ret_hash->bytes, &len) &&
	       len == sizeof ret_hash->bytes;
}
