/*
 * Growable byte buffer for encoders. Owns its memory; always NUL-terminated behind `len`, so that text can be
 * read as a C string. Running out of memory aborts. Not thread-safe.
 */
#pragma once

#include "common/cleanup.h"
#include "common/str.h"

struct buf {
	char *data; /* NULL while nothing was ever appended */
	size_t len;
	size_t capacity;
};

#define BUF_INIT                                                                                             \
	{                                                                                                    \
		NULL, 0, 0                                                                                   \
	}

/* Releases the memory; the buffer is empty again and can be reused. */
void buf_free(struct buf *buf);

/* Forgets the content, keeps the memory. */
void buf_reset(struct buf *buf);

/* Gives back the room behind the content; what pointed into it is void. */
void buf_trim(struct buf *buf);

/* Makes room for `more` bytes behind the content and returns where they start; `len` is the caller's to
 * raise. */
char *buf_reserve(struct buf *buf, size_t more);

/* Each appends to the content; an absent text appends nothing. */
void buf_append(struct buf *buf, const void *data, size_t len);
void buf_append_str(struct buf *buf, str_t text);
void buf_append_text(struct buf *buf, const char *text);
void buf_append_char(struct buf *buf, char byte);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Little-endian integers, for the wire formats of our own. */
void buf_append_u32(struct buf *buf, uint32_t value);
void buf_append_u64(struct buf *buf, uint64_t value);

/* The content as a text that lives until the next change of the buffer. */
static inline str_t buf_str(const struct buf *buf)
{
	return buf->data ? (str_t){ buf->data, buf->len } : STR("");
}
