/*
 * Contents that wait for PostgreSQL, kept in the state directory, a file each, so that an end of the program,
 * kill -9 too, loses none that it has named. Blocks on the disk; for the archive's thread.
 */
#pragma once

#include "audit/archive/archive_item.h"
#include "common/buf.h"

/* ERR_IO: the detail says why. */
err_t archive_file_write(const char *directory, const struct archive_item *item, str_t content,
			 struct err_detail *detail);
void archive_file_remove(const char *directory, const struct archive_item *item);

/* Hands over every content that is kept there; what is damaged, or of another version of this program, is
 * logged and removed. */
typedef void archive_file_fn(void *context, const struct archive_item *item, str_t content);
void archive_file_read_all(const char *directory, archive_file_fn *found, void *context);
