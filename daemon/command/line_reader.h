/*
 * Line reader: the lines of a file descriptor, each of bounded length, whatever is in them. Not thread-safe.
 */
#pragma once

#include "common/buf.h"

struct line_reader {
	int fd; /* the caller's */
	size_t max_bytes;
	bool (*stopping)(void); /* asked several times a second while nothing comes */
	struct buf data;	/* read and not taken yet, from `taken` on */
	size_t taken, seen;	/* seen: no line feed before it */
	bool ended;
};

enum line_reading {
	LINE_TAKEN,
	LINE_TOO_LONG, /* it is passed over */
	LINE_END,
	LINE_INTERRUPTED, /* told to stop */
	LINE_FAILED,	  /* errno */
};

void line_reader_init(struct line_reader *reader, int fd, size_t max_bytes, bool (*stopping)(void));
void line_reader_end(struct line_reader *reader);

/* The next line without its end (\n or \r\n), which lives until the next call; the last one may have none.
 * Blocks. */
enum line_reading line_reader_next(struct line_reader *reader, str_t *ret_line);
