/* A SQLite file in a folder of its own, for unit tests in C. Header-only. */
#pragma once

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct test_sqlite {
	char directory[64];
	char path[128];
};

/* Runs statements on the file; what is wrong goes to standard error, and ends the test. */
static inline void test_sqlite_run(const char *path, const char *sql)
{
	sqlite3 *database = NULL;
	char *message = NULL;
	if (sqlite3_open(path, &database) != SQLITE_OK ||
	    sqlite3_exec(database, sql, NULL, NULL, &message) != SQLITE_OK) {
		fprintf(stderr, "%s: %s\n", path, message ? message : "cannot be opened");
		abort();
	}
	sqlite3_close(database);
}

static inline void test_sqlite_make(struct test_sqlite *file, const char *sql)
{
	snprintf(file->directory, sizeof file->directory, "/tmp/assayd-test-sqlite-XXXXXX");
	if (!mkdtemp(file->directory))
		abort();
	snprintf(file->path, sizeof file->path, "%s/shop.db", file->directory);
	test_sqlite_run(file->path, sql);
}

/* With all that is in its folder. Returns 0 when done. */
static inline int test_sqlite_remove(const struct test_sqlite *file)
{
	char command[128];
	snprintf(command, sizeof command, "rm -r %s", file->directory);
	return system(command);
}
