/* Arrays of PostgreSQL as the text of a parameter: {"a","b"}. Texts are copied. Pure. */
#pragma once

#include "common/buf.h"

/* Appends an item behind those that the buffer holds; an empty buffer begins a new array. */
void array_append(struct buf *array, str_t text);

/* Appends a NULL as an item. */
void array_append_null(struct buf *array);

/* Appends bytes as an item of a bytea[]. */
void array_append_bytes(struct buf *array, const unsigned char *bytes, size_t len);

/* Ends the array, an empty one as well. */
void array_end(struct buf *array);

/* Appends the text as an item of its own, quoted. */
void array_append_quoted(struct buf *out, str_t text);
