/* What the files of the store have in common. Inside of audit/log/ only. */
#pragma once

#include "audit/log/store.h"

struct audit_store {
	struct database *database;
	bool reads_only;
};

/* Connects, and brings the tables up to date where the store may write. */
err_t audit_store_prepare(struct audit_store *store, struct err_detail *detail);

/* The bytes as the text of a bytea, in the buffer. */
const char *audit_store_bytes_text(struct buf *to, const void *bytes, size_t len);

/* The value of a bytea that is not NULL, appended. */
void audit_store_append_bytes(const PGresult *result, int row, int column, struct buf *out);

/* Runs the statement, whose first parameters are topic and partition, and expects that many rows; others are
 * the error `otherwise`, with `what`. */
err_t audit_store_change(struct audit_store *store, const struct audit_store_log *log, const char *sql,
			 int count, const char **parameters, size_t rows, err_t otherwise, const char *what,
			 struct err_detail *detail);
