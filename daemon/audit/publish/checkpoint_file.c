#include "audit/publish/checkpoint_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <sys/stat.h>

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
