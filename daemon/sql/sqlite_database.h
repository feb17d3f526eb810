/*
 * A SQLite connection that can prepare statements of a schema and do nothing else: in memory, built from the
 * catalog's definitions, under an authorizer that denies by default and writes down what a statement asks
 * for. One thread.
 */
#pragma once

#include "common/buf.h"
#include "sql/violations.h"

#include <sqlite3.h>

struct sqlite_database;

/* What a statement asked for while it was prepared. */
struct sqlite_trace {
	struct arena *arena;
	struct violations *violations;
	bool target_named;
	str_t *tables; /* read, in lower case; may repeat */
	size_t tables_count;
	size_t tables_capacity;
	bool reads_schema; /* sqlite_schema and its other names */
};

/* A database with the catalog's relations; NULL catalog: empty. Never NULL; out of memory aborts. */
struct sqlite_database *sqlite_database_open(const struct catalog *catalog);
void sqlite_database_close(struct sqlite_database *database);
DEFINE_CLEANUP(struct sqlite_database, sqlite_database_cleanup, sqlite_database_close)

enum sqlite_problem {
	SQLITE_PROBLEM_NONE,
	SQLITE_PROBLEM_SYNTAX,
	SQLITE_PROBLEM_TOO_DEEP,
	SQLITE_PROBLEM_TABLE,	  /* unknown: `name` */
	SQLITE_PROBLEM_COLUMN,	  /* unknown */
	SQLITE_PROBLEM_AMBIGUOUS, /* column */
	SQLITE_PROBLEM_FUNCTION,  /* unknown, or other arguments */
	SQLITE_PROBLEM_JOIN,
	SQLITE_PROBLEM_AGGREGATE,
	SQLITE_PROBLEM_DENIED, /* the violation is in the trace */
	SQLITE_PROBLEM_OTHER,
};

struct sqlite_result {
	enum sqlite_problem problem;
	str_t name;	/* what the problem is about, or absent */
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
