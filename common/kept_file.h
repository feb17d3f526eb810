/*
 * Small files in the state directory: what a program knows for its next start. A file is replaced as a whole,
 * so that whoever reads it, after a crash too, has the former content or the new one. Any thread; one writer
 * for each path.
 */
#pragma once

#include "common/buf.h"

/* Writes beside the file (its name with ".new") and puts that in its place; only the owner may read it.
 * ERR_IO: the detail says why; the former content stays. */
err_t kept_file_write(const char *path, str_t content, struct err_detail *detail);

/* Appends the content, and a NUL behind it. ERR_FILE_UNREADABLE: there is no regular file, or one with
 * nothing in it or with more than `most_bytes`; nothing is appended. */
err_t kept_file_read(const char *path, size_t most_bytes, struct buf *content, struct err_detail *detail);
