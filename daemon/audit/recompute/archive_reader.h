/* The archive as records are computed again by it: each thing is read when a record first names it. Any
 * thread; waits for PostgreSQL. */
#pragma once

#include "audit/archive/archive_store.h"
#include "audit/recompute/recompute.h"
#include "audit/recompute/settings.h"
#include "database/database.h"

struct archive_reader;

/* `database`: not connected yet; it outlives the reader and is used by nobody else meanwhile. */
struct archive_reader *archive_reader_new(struct database *database);
void archive_reader_free(struct archive_reader *reader); /* NULL is fine */

DEFINE_CLEANUP(struct archive_reader, archive_reader_cleanup, archive_reader_free)

/* See struct recompute_archive; `context` is the reader. What is damaged is not found, and noted. */
const struct model *archive_reader_model(void *context, int64_t version, size_t index);
const struct recompute_settings *archive_reader_settings(void *context, str_t digest);
bool archive_reader_has(void *context, str_t digest);
const struct catalog *archive_reader_catalog(void *context, str_t digest);

/* Whether the content is what its row says: of that digest, of that kind, and of a model of that version. All
 * but a catalog is checked by archive_store_read already. ERR_AUDIT_DAMAGED. */
err_t archive_reader_verify(const struct archive_row *row, str_t content, struct err_detail *detail);

/* The first thing that went wrong, or ERR_OK: PostgreSQL could not be asked, or what it has is damaged. */
err_t archive_reader_error(struct archive_reader *reader, struct err_detail *detail);
