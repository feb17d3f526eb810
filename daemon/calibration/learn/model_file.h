/*
 * The model in use as a file in the state directory, so that a start while PostgreSQL is away goes on with
 * it. A file of another database, of another kind or with other bytes than were written is of no use. Blocks
 * on the disk; one thread at a time.
 */
#pragma once

#include "calibration/learn/model_store.h"

/* Appends the file's path. */
void model_file_path(const char *directory, enum model_kind kind, struct buf *out);

/* Replaces the file; removes it where there is no model. The model's rules are kept, too, whether or not its
 * document has them. `dsn`: of the database. ERR_IO: the detail says why. */
err_t model_file_write(const char *path, const char *dsn, const struct model *model,
		       const struct model_known *known, struct err_detail *detail);

/* The model is still in use now. */
void model_file_touch(const char *path);

struct model_kept {
	struct model *model; /* as it was written, with one reference of the caller's */
	struct model_known known;
	int64_t known_ms; /* wall clock: when it was in use last */
};

/* ERR_FILE_UNREADABLE: there is none, or it is of no use, and the detail says why. */
err_t model_file_read(const char *path, const char *dsn, enum model_kind kind, struct model_kept *ret_kept,
		      struct err_detail *detail);
