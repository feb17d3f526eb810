#include "audit/publish/checkpoint_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sys/stat.h>

enum { READ_MAX = 1 << 30, CHUNK = 1 << 16 };

static const char signature_mark[] = "\xe2\x80\x94 ";

/* The name of a file that was made just now has to last, too. */
static void sync_folder(const char *path)
{
	_cleanup_(cleanup_free) char *copy = strdup(path);
	if (!copy)
		abort();
	_cleanup_(cleanup_close) int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		fsync(fd);
}

err_t checkpoint_file_try(const char *path, bool *ret_there, struct err_detail *detail)
{
	_cleanup_(cleanup_free) char *copy = strdup(path);
	struct stat status;
	if (!copy)
		abort();
	*ret_there = lstat(path, &status) == 0;
	if (*ret_there && !S_ISREG(status.st_mode))
		return err_fail(detail, ERR_IO, "%s: it is %s; checkpoints are appended to a file only", path,
				S_ISDIR(status.st_mode)	  ? "a directory"
				: S_ISLNK(status.st_mode) ? "a symbolic link, which is not followed"
							  : "no regular file");
	const char *tried = *ret_there ? path : dirname(copy);
	if (access(tried, *ret_there ? W_OK : W_OK | X_OK) != 0)
		return err_fail(detail, ERR_IO, "%s: %s", tried, strerror(errno));
	return ERR_OK;
}

static err_t open_file(const char *path, int *ret_fd, struct err_detail *detail)
{
	bool there;
	err_t err = checkpoint_file_try(path, &there, detail);
	if (err)
		return err;
	int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return err_fail(detail, ERR_IO, "%s: %s", path, strerror(errno));
	if (!there)
		sync_folder(path);
	*ret_fd = fd;
	return ERR_OK;
}

/* Whether the file is empty or ends with an empty line. */
static bool is_closed_off(int fd)
{
	char end[2];
	struct stat status;
	if (fstat(fd, &status) != 0 || status.st_size == 0)
		return true;
	return status.st_size >= 2 && pread(fd, end, 2, status.st_size - 2) == 2 && end[0] == '\n' &&
	       end[1] == '\n';
}

err_t checkpoint_file_append(const char *path, str_t note, struct err_detail *detail)
{
	_cleanup_(cleanup_close) int fd = -1;
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	err_t err = open_file(path, &fd, detail);
	if (err)
		return err;
	if (!is_closed_off(fd))
		buf_append_text(&text, "\n\n");
	buf_append_str(&text, note);
	buf_append_char(&text, '\n');
	ssize_t written = write(fd, text.data, text.len); /* in one: others may append, too */
	if (written < 0 || fsync(fd) != 0)
		return err_fail(detail, ERR_IO, "%s: %s", path, strerror(errno));
	if ((size_t)written != text.len)
		return err_fail(detail, ERR_IO, "%s: no room for a whole checkpoint", path);
	return ERR_OK;
}

err_t checkpoint_file_read(const char *path, struct buf *out, struct err_detail *detail)
{
	_cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_fail(detail, ERR_FILE_UNREADABLE, "%s: %s", path, strerror(errno));
	for (;;) {
		ssize_t got = read(fd, buf_reserve(out, CHUNK), CHUNK);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_fail(detail, ERR_FILE_UNREADABLE, "%s: %s", path, strerror(errno));
		if (got == 0)
			return ERR_OK;
		out->len += (size_t)got;
		if (out->len > READ_MAX)
			return err_fail(detail, ERR_FILE_UNREADABLE, "%s: larger than %d bytes", path,
					READ_MAX);
	}
}

/* Takes lines up to an empty one or the end: a block; false: nothing is left. */
static bool next_block(str_t *rest, str_t *ret_block)
{
	while (rest->len > 0 && rest->ptr[0] == '\n')
		rest->ptr++, rest->len--;
	if (rest->len == 0)
		return false;
	const char *end = memmem(rest->ptr, rest->len, "\n\n", 2);
	size_t len = end ? (size_t)(end - rest->ptr) + 1 : rest->len;
	*ret_block = (str_t){ rest->ptr, len };
	rest->ptr += len;
	rest->len -= len;
	return true;
}

static bool has_signatures(str_t block)
{
	return block.len > sizeof signature_mark - 1 &&
	       memcmp(block.ptr, signature_mark, sizeof signature_mark - 1) == 0;
}

bool checkpoint_file_next(str_t *rest, str_t *ret_note, unsigned *fragments)
{
	str_t block, text = STR_NONE;
	while (next_block(rest, &block)) {
		bool adjacent = text.len > 0 && text.ptr + text.len + 1 == block.ptr;
		if (has_signatures(block) && adjacent) {
			*ret_note = (str_t){ text.ptr, text.len + 1 + block.len };
			return true;
		}
		*fragments += text.len > 0 || has_signatures(block);
		text = has_signatures(block) ? STR_NONE : block;
	}
	*fragments += text.len > 0;
	return false;
}
