/*
 * The databases and ground truths of the defog corpus on a private PostgreSQL server, for tests and
 * benchmarks that ask the real server for a second opinion.
 *
 * The corpus is in ASSAYD_CORPORA, or ../shared/corpora beside the project. Not thread-safe.
 */
#pragma once

#include "sql/catalog.h"
#include "tests/harness/postgres.h"
#include "tests/harness/sql_mutants.h"

#include <libpq-fe.h>

struct defog_database {
	const char *name;
	PGconn *connection;
	struct catalog *catalog; /* as read from the server */
	struct sql_vocabulary vocabulary;
	str_t *truths; /* every alternative, choices of columns written out */
	size_t truths_count, truths_capacity;
};

struct defog {
	struct test_postgres server;
	struct arena *arena;
	struct defog_database *databases; /* in order of their names */
	size_t count, capacity;
};

/* Starts a server and loads the corpus. Returns 0; 77 when the corpus or PostgreSQL is not there (skip, the
 * reason is on standard output); another exit status when something fails (on standard error). */
int defog_load(struct defog *ret_defog);

void defog_free(struct defog *defog);
