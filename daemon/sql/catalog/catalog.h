/*
 * Catalog snapshot: what names mean on a target. Immutable once compiled and reference-counted: an event
 * keeps the one that it started with. Reading is safe in any thread.
 */
#pragma once

#include "common/str.h"
#include "sql/dialect.h"

struct catalog;

/* Compiles what CATALOG_QUERY_POSTGRESQL returned (one JSON text). */
err_t catalog_compile_postgresql(str_t json, struct catalog **ret_catalog, struct err_detail *detail);

/* Compiles a SQLite schema: the statements of sqlite_schema, one per line of a JSON array of texts. */
err_t catalog_compile_sqlite(str_t json, struct catalog **ret_catalog, struct err_detail *detail);

/* Compiles what CATALOG_QUERY_MYSQL returned (MySQL and MariaDB): its rows, one JSON text a line. Names
 * stay as they are; the search path is the connection's database. What the server itself brings along is not
 * in it. */
err_t catalog_compile_mysql(str_t text, struct catalog **ret_catalog, struct err_detail *detail);

/*
 * Compiles what a target of MongoDB says of its database, one JSON document a line. The first line:
 *
 *   {"format": 1, "database": "shop", "sample_size": 1000}
 *
 * Each further one is a collection: its name ("collection"), its "kind" (collection, view, timeseries), how
 * many documents were looked at ("sampled") and whether these are all of them ("complete"); the "fields" that
 * they have, each with its "path", its "types" by the aliases of $type, those in its arrays ("elements"), and
 * "open" where more may be below it than are listed; the "validator" in relaxed Extended JSON, with
 * "validation_action" and "validation_level", where there is one. Nothing of fields is known of a collection
 * of which no document was looked at, but what its validator says. Members of other names are passed over.
 */
err_t catalog_compile_mongodb(str_t text, struct catalog **ret_catalog, struct err_detail *detail);

/* Runs a definition, or another statement, in a database of SQLite's, within bounds. One that the library
 * refuses (a virtual table of a module that is not here, the library's own tables) leaves its relation out.
 */
struct sqlite3;
void catalog_define_sqlite(struct sqlite3 *database, const char *definition);

/* What of the file that it was compiled from was left out, "line 3: …" each; they live as long as
 * the catalog. */
const str_t *catalog_warnings(const struct catalog *catalog, size_t *ret_count);

/* The one query whose single JSON cell catalog_compile_postgresql reads. */
extern const char CATALOG_QUERY_POSTGRESQL[];

/* The query whose rows (of one column) catalog_compile_mysql reads. */
extern const char CATALOG_QUERY_MYSQL[];

/* One reference more, one less; the last one releases it. Any thread; catalog_unref(NULL) is fine. */
struct catalog *catalog_ref(const struct catalog *catalog);
void catalog_unref(struct catalog *catalog);

/* Another one for every catalog that was compiled in this process, from 1 on: says which it was after it is
 * gone. */
uint64_t catalog_serial(const struct catalog *catalog);

/* SHA-256 of the content, in hexadecimal: equal catalogs have equal digests wherever they were compiled. */
const char *catalog_digest(const struct catalog *catalog);

enum sql_dialect catalog_dialect(const struct catalog *catalog);

/* How many rows of a relation were looked at, at most, to know its columns; 0: they are known without. */
size_t catalog_sample_size(const struct catalog *catalog);

/* When the content was read from the target (wall clock, ms); set once by the owner before sharing. */
void catalog_set_read_at_ms(struct catalog *catalog, int64_t wall_ms);
int64_t catalog_read_at_ms(const struct catalog *catalog);

/* The JSON text that it was compiled from, to be kept in the state directory. */
str_t catalog_source(const struct catalog *catalog);
