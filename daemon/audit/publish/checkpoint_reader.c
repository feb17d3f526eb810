#include "audit/publish/checkpoint_reader.h"

#include "audit/note.h"

#include <errno.h>
#include <fcntl.h>

enum { CHUNK = 1 << 18, BLOCK_MAX = 2 * NOTE_BYTES_MAX };

static const char signature_mark[] = "\xe2\x80\x94 ";
enum { MARK_BYTES = sizeof signature_mark - 1 };

struct checkpoint_reader {
	char *path;
	int fd;
	struct buf data;
	size_t at;	 /* what is before it was given out */
	uint64_t before; /* bytes of the file before the data */
	bool ended;
};

err_t checkpoint_reader_open(const char *path, struct checkpoint_reader **ret_reader,
			     struct err_detail *detail)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_fail(detail, ERR_FILE_UNREADABLE, "%s: %s", path, strerror(errno));
	struct checkpoint_reader *reader = calloc(1, sizeof *reader);
	if (!reader || !(reader->path = strdup(path)))
		abort();
	reader->fd = fd;
	*ret_reader = reader;
	return ERR_OK;
}

void checkpoint_reader_free(struct checkpoint_reader *reader)
{
	if (!reader)
		return;
	close(reader->fd);
	buf_free(&reader->data);
	free(reader->path);
	free(reader);
}

/* Reads on behind what was not given out yet. */
static err_t fill(struct checkpoint_reader *reader, struct err_detail *detail)
{
	struct buf *data = &reader->data;
	if (reader->at > 0) {
		memmove(data->data, data->data + reader->at, data->len - reader->at);
		data->len -= reader->at;
		reader->before += reader->at;
		reader->at = 0;
	}
	ssize_t got;
	do
		got = read(reader->fd, buf_reserve(data, CHUNK), CHUNK);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return err_fail(detail, ERR_FILE_UNREADABLE, "%s: %s", reader->path, strerror(errno));
	reader->ended = got == 0;
	data->len += (size_t)got;
	return ERR_OK;
}

/* How long the lines are up to an empty one; 0: there has to be read more to tell. */
static size_t block_len(str_t text, bool ended)
{
	const char *end = memmem(text.ptr, text.len, "\n\n", 2);
	return end ? (size_t)(end - text.ptr) + 1 : ended ? text.len : 0;
}

static bool has_signatures(const char *block, size_t len)
{
	return len > MARK_BYTES && memcmp(block, signature_mark, MARK_BYTES) == 0;
}

/* Whether it may be a signature of which only the first bytes were written. */
static bool is_torn_mark(const char *block, size_t len)
{
	if (len > 0 && block[len - 1] == '\n')
		len--;
	return len <= MARK_BYTES && memcmp(block, signature_mark, len) == 0;
}

/* What the text begins with, which is no newline, and how long that is; 0: more has to be read. */
static size_t next_item(str_t text, bool ended, enum checkpoint_reader_kind *ret_kind)
{
	size_t len = block_len(text, ended), next = len + 1;
	*ret_kind = CHECKPOINT_READER_FRAGMENT;
	if (len == 0 || len == text.len || has_signatures(text.ptr, len))
		return len;
	if (next == text.len)
		return ended ? len : 0;
	if (text.ptr[next] == '\n')
		return len;
	size_t behind = block_len((str_t){ text.ptr + next, text.len - next }, ended);
	if (behind == 0)
		return 0;
	if (has_signatures(text.ptr + next, behind))
		*ret_kind = CHECKPOINT_READER_NOTE;
	else if (!is_torn_mark(text.ptr + next, behind))
		return len;
	return next + behind;
}

static void skip_newlines(struct checkpoint_reader *reader)
{
	while (reader->at < reader->data.len && reader->data.data[reader->at] == '\n')
		reader->at++;
}

static bool is_rest_empty(const struct checkpoint_reader *reader, size_t from)
{
	for (size_t i = from; i < reader->data.len; i++)
		if (reader->data.data[i] != '\n')
			return false;
	return reader->ended;
}

err_t checkpoint_reader_next(struct checkpoint_reader *reader, struct checkpoint_reader_item *ret_item,
			     struct err_detail *detail)
{
	struct checkpoint_reader_item item = { .kind = CHECKPOINT_READER_END };
	for (;;) {
		skip_newlines(reader);
		str_t rest = { reader->data.data + reader->at, reader->data.len - reader->at };
		size_t len = rest.len ? next_item(rest, reader->ended, &item.kind) : 0;
		if (len == 0 && rest.len > BLOCK_MAX)
			len = BLOCK_MAX - 2;
		/* whether something is behind it has to be seen, too */
		if (len > 0 && (reader->ended || reader->data.len - reader->at > len + 2)) {
			item.text = (str_t){ rest.ptr, len };
			item.at = reader->before + reader->at;
			reader->at += len;
			item.is_last = is_rest_empty(reader, reader->at);
			*ret_item = item;
			return ERR_OK;
		}
		if (reader->ended) {
			*ret_item = (struct checkpoint_reader_item){ .kind = CHECKPOINT_READER_END };
			return ERR_OK;
		}
		err_t err = fill(reader, detail);
		if (err)
			return err;
	}
}
