/* Base 64 as RFC 4648 has it in section 4, with padding. Pure. */
#pragma once

#include "common/buf.h"

/* Appends the text of the bytes. */
void base64_append(struct buf *out, const void *data, size_t len);

/*
 * The bytes of a text, at most `capacity` of them into `ret_data`, and how many. False for more, and for
 * every text but the one that base64_append makes of them: other digits, white space, padding that is missing
 * or too much, bits behind the last byte that are not 0. What is in `ret_data` then has no meaning.
 */
bool base64_read(str_t text, size_t capacity, void *ret_data, size_t *ret_len);
