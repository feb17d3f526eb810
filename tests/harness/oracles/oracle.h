/*
 * Databases, and statements that are right in them, on a private PostgreSQL server, for tests and benchmarks
 * that ask the real server for a second opinion: those of the project (tests/harness/fixtures/databases),
 * with all kinds of types, and those of the defog corpus with the queries that people wrote, where it is
 * (ASSAYD_CORPORA, or
 * ../shared/corpora beside the project).
 *
 * Not thread-safe.
 */
#pragma once

#include "sql/catalog/catalog.h"
#include "tests/harness/mutators/sql_mutants.h"
#include "tests/harness/servers/postgres.h"

#include <libpq-fe.h>

struct oracle_database {
	const char *name;
	bool is_corpus; /* of the defog corpus */
	PGconn *connection;
	struct catalog *catalog; /* as read from the server */
	struct sql_vocabulary vocabulary;
	str_t *truths; /* every alternative, choices of columns written out */
	size_t truths_count, truths_capacity;
};

struct oracle {
	struct test_postgres server;
	struct arena *arena;
	struct oracle_database *databases; /* in order of their names */
	size_t count, capacity;
	bool has_corpus;
};

/* Starts a server and loads the databases; without the corpus the project's own (said on standard output).
 * Returns 0; 77 when PostgreSQL is not there (skip); another exit status when something fails (on standard
 * error). */
int oracle_load(struct oracle *ret_oracle);

void oracle_free(struct oracle *oracle);
