/*
 * The archive's table in PostgreSQL: made and brought up to date by the migrations of schemas/archive.sql,
 * written and read. Needs an open connection, blocks within its deadlines, and is for the thread that uses
 * it.
 */
#pragma once

#include "audit/archive/archive_item.h"
#include "common/buf.h"
#include "database/database.h"

/* Makes the table, or brings it up to date. */
err_t archive_store_migrate(struct database *database, struct err_detail *detail);

/* The newest version of the table that this program knows, and that in the database; 0: there is none. */
int archive_store_version(void);
err_t archive_store_read_version(struct database *database, int *ret_version, struct err_detail *detail);

/* Notes that the item is in use; `*ret_there` is whether the archive has it. */
err_t archive_store_touch(struct database *database, const struct archive_item *item, bool *ret_there,
			  struct err_detail *detail);

/* Adds the item, unless somebody else has added it meanwhile. `program`: name of the version that adds it. */
err_t archive_store_add(struct database *database, const struct archive_item *item, str_t content,
			const char *program, struct err_detail *detail);

/* Deletes what was last in use longer ago than that. */
err_t archive_store_expire(struct database *database, int64_t days, uint64_t *ret_deleted,
			   struct err_detail *detail);

/* A row, but for its content; texts are in the arena. */
struct archive_row {
	enum archive_kind kind;
	str_t digest;
	str_t form;
	int64_t version; /* of a model; else 0 */
	int64_t size_bytes;
	str_t program_version; /* that has written it */
	str_t first_used, last_used;
};

/* Rows whose digest begins with `prefix`, or, where `version` is not 0, those of that model; by digest, at
 * most `most` of them. */
err_t archive_store_find(struct database *database, str_t prefix, int64_t version, size_t most,
			 struct arena *arena, struct archive_row **ret_rows, size_t *ret_count,
			 struct err_detail *detail);

/* The next rows by digest and kind, behind `after` (NULL: the first ones), at most `most` of them. */
err_t archive_store_next(struct database *database, const struct archive_row *after, size_t most,
			 struct arena *arena, struct archive_row **ret_rows, size_t *ret_count,
			 struct err_detail *detail);

/* The content of a row, appended. ERR_AUDIT_DAMAGED: it is not what was written. Of all but catalogs its
 * SHA-256 is its digest, so that nobody has to trust the row. */
err_t archive_store_read(struct database *database, const struct archive_row *row, struct buf *content,
			 struct err_detail *detail);
