/*
 * A file to which checkpoints are appended, one behind the other, each with an empty line behind it. Nothing
 * in it is ever changed, so that it can lie where the daemon may append and do nothing else (chattr +a), on
 * another file system, or be read by whoever copies it away. Blocks; any thread.
 */
#pragma once

#include "common/buf.h"

/* Appends a note, once it is on the disk for good. What an interrupted append has left behind is closed off
 * by an empty line. Makes the file where it is not there. ERR_IO. */
err_t checkpoint_file_append(const char *path, str_t note, struct err_detail *detail);

/* Whether notes can be appended, without doing it, and whether the file is there. ERR_IO: it is no regular
 * file, or not to be written; or it is not there and cannot be made. */
err_t checkpoint_file_try(const char *path, bool *ret_there, struct err_detail *detail);

/* Reads the whole file into the buffer. ERR_FILE_UNREADABLE, also for one of more than 1 GB. */
err_t checkpoint_file_read(const char *path, struct buf *out, struct err_detail *detail);

/* The next note in the text of such a file, or of several one behind the other; false: there is none. What
 * lies between and is none is left out, and counted. Pure. */
bool checkpoint_file_next(str_t *rest, str_t *ret_note, unsigned *fragments);
