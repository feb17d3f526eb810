#include "common/kept_file.h"

#include "common/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool write_all(int fd, str_t content)
{
	for (size_t written = 0; written < content.len;) {
		ssize_t count = write(fd, content.ptr + written, content.len - written);
		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return false;
		written += (size_t)count;
	}
	return true;
}

static bool write_file(const char *path, str_t content)
{
	_cleanup_(cleanup_close) int fd =
		open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	return fd >= 0 && write_all(fd, content) && fsync(fd) == 0;
}

/* The folder of the path; its new name for the file has to be on the disk, too. */
static void sync_folder(const char *path)
{
	_cleanup_(buf_free) struct buf folder = BUF_INIT;
	const char *slash = strrchr(path, '/');
	if (slash && slash > path)
		buf_append(&folder, path, (size_t)(slash - path));
	else
		buf_append_text(&folder, slash ? "/" : ".");
	_cleanup_(cleanup_close) int fd = open(folder.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		fsync(fd);
}

err_t kept_file_write(const char *path, str_t content, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf unfinished = BUF_INIT;
	buf_printf(&unfinished, "%s.new", path);
	if (!write_file(unfinished.data, content) || rename(unfinished.data, path) != 0) {
		int reason = errno;
		unlink(unfinished.data);
		return err_fail(detail, ERR_IO, "%s: %s", path, strerror(reason));
	}
	sync_folder(path);
	return ERR_OK;
}

err_t kept_file_read(const char *path, size_t most_bytes, struct buf *content, struct err_detail *detail)
{
	struct stat status;
	const size_t before = content->len;
	_cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &status) != 0)
		return err_fail(detail, ERR_FILE_UNREADABLE, "%s: %s", path, strerror(errno));
	if (!S_ISREG(status.st_mode) || status.st_size <= 0 || (uint64_t)status.st_size > most_bytes)
		return err_fail(detail, ERR_FILE_UNREADABLE, "%s: it is no file of 1 to %zu bytes", path,
				most_bytes);
	const size_t end = before + (size_t)status.st_size;
	buf_reserve(content, (size_t)status.st_size + 1);
	while (content->len < end) {
		ssize_t got = read(fd, content->data + content->len, end - content->len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			content->len = before;
			return err_fail(detail, ERR_FILE_UNREADABLE, "%s: %s", path,
					got ? strerror(errno) : "it became shorter");
		}
		content->len += (size_t)got;
	}
	content->data[end] = '\0';
	return ERR_OK;
}
