/*
 * A file to which checkpoints are appended, one behind the other, each with an empty line behind it. Nothing
 * in it is ever changed, so that it can lie where the daemon may append and do nothing else (chattr +a), on
 * another file system, or be read (checkpoint_reader.h) by whoever copies it away. Where it was moved away,
 * a new one is begun. Blocks; any thread.
 */
#pragma once

#include "common/buf.h"

/* Appends a note, once it is on the disk for good. What an interrupted append has left behind is closed off
 * by an empty line. Makes the file where it is not there. ERR_IO. */
err_t checkpoint_file_append(const char *path, str_t note, struct err_detail *detail);

/* Whether notes can be appended, without doing it, and whether the file is there. ERR_IO: it is no regular
 * file, or not to be written; or it is not there and cannot be made. */
err_t checkpoint_file_try(const char *path, bool *ret_there, struct err_detail *detail);
