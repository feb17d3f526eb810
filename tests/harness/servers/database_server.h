/*
 * A PostgreSQL server for the tests of one program, with a schema that is empty at each test's begin. One
 * thread, but for expect, query and run_sql, which use a connection of their own each.
 */
#pragma once

#include "database/database.h"
#include "tests/harness/servers/postgres.h"

extern struct test_postgres server;

/* Fixtures of the group and of each test. The first one ends the program as skipped where PostgreSQL is not
 * installed. */
int start_server(void **state);
int stop_server(void **state);
int drop_tables(void **state);

/* Fail the test when the server refuses. */
void run_sql(const char *sql);

/* First cell of the answer, "no row" when there is none. */
void query(const char *sql, char *text, size_t size);

/* Fails the test unless that is the first cell. */
void expect(const char *sql, const char *expected);
