/* What the readers of secrets have in common. Any thread. */
#pragma once

#include "common/err.h"

#include <sys/stat.h>

/* How to mend that the file of a secret cannot be opened, to be put behind the reason; `error` is an errno.
 * "" where the reason says it all. Pure. */
const char *secret_hint(int error);

/* Stands in a path in front of a name that names no file and may be the secret itself, written where the name
 * of its file belongs. */
#define SECRET_HIDES "./"

/* Whether the last part of the path is marked so, and must not be shown. Pure. */
bool secret_is_hidden(const char *path);

/* ERR_FILE_UNREADABLE with why the file of a secret cannot be opened, by an errno: the path, unless that is
 * hidden, the reason and how to mend it. */
err_t secret_fail(const char *path, int error, struct err_detail *detail);

/* By which a file that was replaced or written is told from the one before. */
struct secret_look {
	dev_t device;
	ino_t inode;
	off_t size_bytes;
	struct timespec modified;
};

/* All zero for NULL and where there is no such file. */
struct secret_look secret_look_at(const char *path);

bool secret_look_same(const struct secret_look *a, const struct secret_look *b);

/* Reads a secret that may have several lines: the file's content without one line end (LF or CR LF) behind
 * it. Empty files, NULs and more than 64 KiB are errors, and none of them shows the content; a detail begins
 * with the path. The caller wipes and frees it. */
err_t secret_read(const char *file, char **ret_secret, struct err_detail *detail);

/* The same of a password or a key: one line; of more than one the detail says how many. */
err_t secret_read_password(const char *file, char **ret_secret, struct err_detail *detail);

/* The same for what becomes the value of a header: no control characters either. */
err_t secret_read_line(const char *file, char **ret_secret, struct err_detail *detail);

/* Wipes a text and frees it, and leaves NULL behind; NULL is fine. For _cleanup_, too. */
void secret_free(char **secret);
