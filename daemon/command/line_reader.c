#include "command/line_reader.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

enum { STEP_BYTES = 65536, WAIT_MS = 200 };

void line_reader_init(struct line_reader *reader, int fd, size_t max_bytes, bool (*stopping)(void))
{
	*reader = (struct line_reader){
		.fd = fd, .max_bytes = max_bytes, .stopping = stopping, .data = BUF_INIT
	};
}

void line_reader_end(struct line_reader *reader)
{
	buf_free(&reader->data);
}

/* What is taken makes room. */
static void move_down(struct line_reader *reader)
{
	if (reader->taken == 0)
		return;
	memmove(reader->data.data, reader->data.data + reader->taken, reader->data.len - reader->taken);
	reader->data.len -= reader->taken;
	reader->seen -= reader->taken;
	reader->taken = 0;
}

static enum line_reading read_more(struct line_reader *reader)
{
	struct pollfd waiting = { .fd = reader->fd, .events = POLLIN };
	move_down(reader);
	do {
		if (reader->stopping())
			return LINE_INTERRUPTED;
	} while (poll(&waiting, 1, WAIT_MS) <= 0);
	ssize_t got = read(reader->fd, buf_reserve(&reader->data, STEP_BYTES), STEP_BYTES);
	if (got < 0)
		return LINE_FAILED;
	reader->ended = got == 0;
	reader->data.len += (size_t)got;
	reader->data.data[reader->data.len] = '\0';
	return LINE_TAKEN;
}

static const char *find_end(struct line_reader *reader)
{
	size_t left = reader->data.len - reader->seen;
	const char *end = left > 0 ? memchr(reader->data.data + reader->seen, '\n', left) : NULL;
	if (!end)
		reader->seen = reader->data.len;
	return end;
}

enum line_reading line_reader_next(struct line_reader *reader, str_t *ret_line)
{
	bool too_long = false;
	const char *end;
	while (!(end = find_end(reader)) && !reader->ended) {
		if (reader->data.len - reader->taken > reader->max_bytes) {
			too_long = true;
			reader->taken = reader->data.len;
		}
		enum line_reading reading = read_more(reader);
		if (reading != LINE_TAKEN)
			return reading;
	}
	size_t until = end ? (size_t)(end - reader->data.data) : reader->data.len;
	str_t line = { reader->data.data + reader->taken, until - reader->taken };
	if (!end && line.len == 0 && !too_long)
		return LINE_END;
	reader->taken = reader->seen = end ? until + 1 : until;
	if (too_long || line.len > reader->max_bytes)
		return LINE_TOO_LONG;
	if (line.len > 0 && line.ptr[line.len - 1] == '\r')
		line.len--;
	*ret_line = line;
	return LINE_TAKEN;
}
