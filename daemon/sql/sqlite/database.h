/*
 * A SQLite connection that can prepare statements of a schema and do nothing else: in memory, built from the
 * catalog's definitions, under an authorizer that denies by default and writes down what a statement asks
 * for. No statement of a query is ever stepped. One thread at a time.
 *
 * Building one costs far more than preparing a statement, so each thread keeps a few, by catalog; they go
 * with the thread.
 */
#pragma once

#include "common/buf.h"
#include "sql/sqlite/authorizer.h"
#include "sql/sqlite/errors.h"

struct sqlite_database;

/* A database with the catalog's relations; NULL or a catalog of another dialect: empty. It is as new: what an
 * earlier borrower added is gone. Never NULL; out of memory aborts. */
struct sqlite_database *sqlite_database_borrow(const struct catalog *catalog);
void sqlite_database_return(struct sqlite_database *database);
DEFINE_CLEANUP(struct sqlite_database, sqlite_database_cleanup, sqlite_database_return)

/* Whether text in double quotes that names no column is a string: to be said after each borrowing. */
void sqlite_database_take_strings(struct sqlite_database *database, bool strings);

struct sqlite_result {
	enum sqlite_problem problem;
	enum sql_diagnostic_code code;
	str_t name;	/* what the problem is about, or absent; in the trace's arena, likewise below */
	str_t message;	/* the library's */
	int64_t offset; /* bytes into the text, or −1 */
	bool read_only;
	size_t tail; /* where the first statement ends */
};

/* Prepares the first statement of the text and forgets it. */
struct sqlite_result sqlite_database_prepare(struct sqlite_database *database, str_t sql,
					     struct sqlite_trace *trace);

/* Stands in for what is missing, so that the next problem can be found. Column names as in the text of a
 * CREATE TABLE. False: the library refuses. */
bool sqlite_database_stub_table(struct sqlite_database *database, str_t name, str_t columns);
bool sqlite_database_stub_function(struct sqlite_database *database, str_t name);

/* Whether the library has a function of that name (lower or upper case). */
bool sqlite_database_has_function(const struct sqlite_database *database, str_t name);

/* Whether the name is a table or view of the schema, or a stub. */
bool sqlite_database_has_relation(const struct sqlite_database *database, str_t name);
