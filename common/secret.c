#include "common/secret.h"

#include "common/cleanup.h"

#include <errno.h>
#include <fcntl.h>

#define SECRET_BYTES_MAX 65536u

const char *secret_hint(int error)
{
	return error == EACCES ? "; the user of the daemon has to be able to read it: chgrp assayd, chmod 640"
			       : "";
}

bool secret_is_hidden(const char *path)
{
	return strstr(path, "/" SECRET_HIDES) != NULL;
}

err_t secret_fail(const char *path, int error, struct err_detail *detail)
{
	if (error != ENOENT || !secret_is_hidden(path))
		return err_fail(detail, ERR_FILE_UNREADABLE, "%s: %s%s", path, strerror(error),
				secret_hint(error));
	return err_fail(detail, ERR_FILE_UNREADABLE,
			"there is no file of the name that is set, which is not shown, since it may be the "
			"secret itself; set the path of a file with the secret in it, or its name in %.*s",
			(int)(strstr(path, "/" SECRET_HIDES) - path), path);
}

struct secret_look secret_look_at(const char *path)
{
	struct stat file;
	if (!path || stat(path, &file) != 0)
		return (struct secret_look){ 0 };
	return (struct secret_look){ file.st_dev, file.st_ino, file.st_size, file.st_mtim };
}

bool secret_look_same(const struct secret_look *a, const struct secret_look *b)
{
	return a->device == b->device && a->inode == b->inode && a->size_bytes == b->size_bytes &&
	       a->modified.tv_sec == b->modified.tv_sec && a->modified.tv_nsec == b->modified.tv_nsec;
}

static err_t read_all(int fd, const char *file, char *content, size_t *ret_len, struct err_detail *detail)
{
	size_t len = 0;
	for (;;) {
		ssize_t got = read(fd, content + len, SECRET_BYTES_MAX + 1 - len);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_fail(detail, ERR_FILE_UNREADABLE, "%s: %s", file, strerror(errno));
		len += (size_t)got;
		if (len > SECRET_BYTES_MAX)
			return err_fail(detail, ERR_FILE_UNREADABLE, "%s: larger than %u bytes", file,
					SECRET_BYTES_MAX);
		if (got == 0)
			break;
	}
	*ret_len = len;
	return ERR_OK;
}

void secret_free(char **secret)
{
	if (*secret)
		explicit_bzero(*secret, strlen(*secret));
	free(TAKE_PTR(*secret));
}

/* All of it, whatever it holds. */
static void wipe_content(char **content)
{
	if (*content)
		explicit_bzero(*content, SECRET_BYTES_MAX + 1);
	free(*content);
}

err_t secret_read(const char *file, char **ret_secret, struct err_detail *detail)
{
	_cleanup_(wipe_content) char *content = calloc(1, SECRET_BYTES_MAX + 1);
	_cleanup_(cleanup_close) int fd = open(file, O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	if (!content)
		abort();
	if (fd < 0)
		return secret_fail(file, errno, detail);
	err_t err = read_all(fd, file, content, &len, detail);
	if (err)
		return err;
	if (len && content[len - 1] == '\n')
		content[--len] = 0;
	if (len && content[len - 1] == '\r')
		content[--len] = 0;
	if (len == 0)
		return err_fail(detail, ERR_FILE_UNREADABLE,
				"%s: the file is empty; it has to contain a secret", file);
	if (memchr(content, 0, len))
		return err_fail(detail, ERR_FILE_UNREADABLE, "%s: the secret contains NUL bytes", file);
	*ret_secret = strdup(content);
	if (!*ret_secret)
		abort();
	return ERR_OK;
}

err_t secret_read_password(const char *file, char **ret_secret, struct err_detail *detail)
{
	_cleanup_(secret_free) char *secret = NULL;
	size_t lines = 1;
	err_t err = secret_read(file, &secret, detail);
	if (err)
		return err;
	for (const char *at = secret; *at; at++)
		lines += *at == '\n';
	if (lines > 1)
		return err_fail(detail, ERR_FILE_UNREADABLE,
				"%s: it has %zu lines; leave the secret alone, which is one line", file,
				lines);
	*ret_secret = TAKE_PTR(secret);
	return ERR_OK;
}

err_t secret_read_line(const char *file, char **ret_secret, struct err_detail *detail)
{
	_cleanup_(secret_free) char *secret = NULL;
	err_t err = secret_read_password(file, &secret, detail);
	if (err)
		return err;
	for (const char *at = secret; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return err_fail(
				detail, ERR_CONFIG_RANGE,
				"%s: it holds a control character behind %zu bytes; write the secret anew",
				file, (size_t)(at - secret));
	*ret_secret = TAKE_PTR(secret);
	return ERR_OK;
}
