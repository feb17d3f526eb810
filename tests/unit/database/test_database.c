/* The connection and the migrations on a real PostgreSQL server; skipped where there is none. */
#include "common/clock.h"
#include "database/migrations.h"
#include "tests/harness/servers/postgres.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>

static struct test_postgres server;

static int stop_server(void **state)
{
	(void)state;
	return test_postgres_do(&server, "stop");
}

static struct database *connect_new(void)
{
	struct err_detail detail = { "" };
	struct database *database = database_new(server.socket_dsn, NULL);
	if (database_connect(database, NULL, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	return database;
}

/* The first field of the result; the caller's. */
static char *ask(struct database *database, const char *sql)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct err_detail detail = { "" };
	if (database_query(database, sql, 0, NULL, &result, &detail) != ERR_OK)
		fail_msg("%s: %s", sql, detail.message);
	return strdup(PQntuples(result) ? PQgetvalue(result, 0, 0) : "");
}

static void assert_answer(struct database *database, const char *sql, const char *expected)
{
	_cleanup_(cleanup_free) char *answer = ask(database, sql);
	assert_string_equal(answer, expected);
}

static void test_what_an_error_asks_for(void **state)
{
	(void)state;
	static const struct {
		const char *sql;
		err_t err;
	} cases[] = {
		{ "SELECT 1", ERR_OK },
		{ "SELECT", ERR_OK },
		{ "SELECT no_such_column", ERR_DATABASE_REFUSED },
		{ "DO $$ BEGIN RAISE SQLSTATE '40001'; END $$", ERR_CONFLICT },
		{ "DO $$ BEGIN RAISE SQLSTATE '40P01'; END $$", ERR_CONFLICT },
		{ "DO $$ BEGIN RAISE SQLSTATE '53100'; END $$", ERR_DATABASE_UNAVAILABLE },
		{ "DO $$ BEGIN RAISE SQLSTATE '55P03'; END $$", ERR_DATABASE_UNAVAILABLE },
		{ "DO $$ BEGIN RAISE SQLSTATE '57014'; END $$", ERR_DATABASE_UNAVAILABLE },
		{ "DO $$ BEGIN RAISE SQLSTATE '23505'; END $$", ERR_DATABASE_REFUSED },
	};
	_cleanup_(database_cleanup) struct database *database = connect_new();
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_string_equal(err_name(database_query(database, cases[i].sql, 0, NULL, NULL, NULL)),
				    err_name(cases[i].err));
	assert_answer(database, "SELECT 'it' || ' lives'", "it lives");
}

static void test_a_lost_connection_is_opened_anew(void **state)
{
	(void)state;
	bool fresh = false;
	_cleanup_(database_cleanup) struct database *database = connect_new();
	database_set_application(database, "a test");
	assert_int_equal(database_query(database, "SELECT pg_terminate_backend(pg_backend_pid())", 0, NULL,
					NULL, NULL),
			 ERR_DATABASE_UNAVAILABLE);
	assert_int_equal(database_query(database, "SELECT 1", 0, NULL, NULL, NULL), ERR_DATABASE_UNAVAILABLE);
	assert_int_equal(database_connect(database, &fresh, NULL), ERR_OK);
	assert_true(fresh);
	assert_answer(database, "SELECT current_setting('application_name')", "a test");
	assert_int_equal(database_connect(database, &fresh, NULL), ERR_OK);
	assert_false(fresh);
}

static void test_parameters(void **state)
{
	(void)state;
	_cleanup_(database_cleanup) struct database *database = connect_new();
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	const char *const parameters[] = { "it's", NULL };
	assert_int_equal(
		database_query(database, "SELECT $1::text, $2::text IS NULL", 2, parameters, &result, NULL),
		ERR_OK);
	assert_string_equal(PQgetvalue(result, 0, 0), "it's");
	assert_string_equal(PQgetvalue(result, 0, 1), "t");
}

static void test_passwords(void **state)
{
	(void)state;
	struct err_detail detail = { "" };
	_cleanup_(database_cleanup) struct database *database =
		database_new(server.socket_dsn, "/nonexistent/password");
	assert_int_equal(database_connect(database, NULL, &detail), ERR_FILE_UNREADABLE);
	assert_non_null(strstr(detail.message, "/nonexistent/password"));
	database_set_settings(database, "calibration.");
	assert_int_equal(database_connect(database, NULL, &detail), ERR_FILE_UNREADABLE);
	assert_string_equal(detail.message,
			    "calibration.password_file: /nonexistent/password: No such file or directory");
}

/* Libpq says what it could not do, not where that was asked for. */
static void test_settings_are_named(void **state)
{
	(void)state;
	static const char *const wrong[] = { "host=/nonexistent", "no connection string" };
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		struct err_detail bare = { "" }, named = { "" };
		char expected[sizeof named.message + 16];
		_cleanup_(database_cleanup) struct database *database = database_new(wrong[i], NULL);
		assert_int_equal(database_connect(database, NULL, &bare), ERR_DATABASE_UNAVAILABLE);
		database_set_settings(database, "judge.cache_");
		assert_int_equal(database_connect(database, NULL, &named), ERR_DATABASE_UNAVAILABLE);
		snprintf(expected, sizeof expected, "judge.cache_dsn: %s", bare.message);
		assert_string_equal(named.message, expected);
		assert_int_equal(database_connect(database, NULL, NULL), ERR_DATABASE_UNAVAILABLE);
	}
}

static void *sleep_there(void *context)
{
	struct database *database = context;
	err_t err = database_query(database, "SELECT pg_sleep(3600)", 0, NULL, NULL, NULL);
	return (void *)(uintptr_t)err;
}

/* What waits is let go, long before the answer (ctest would not wait for that); and what comes later does not
 * wait. */
static void test_waits_can_be_limited(void **state)
{
	(void)state;
	pthread_t thread;
	void *err = NULL;
	_cleanup_(database_cleanup) struct database *database = connect_new();
	int64_t start_us = clock_monotonic_us();
	assert_int_equal(pthread_create(&thread, NULL, sleep_there, database), 0);
	usleep(200000);
	database_limit_waits(database, start_us + 400000);
	pthread_join(thread, &err);
	assert_int_equal((uintptr_t)err, ERR_DATABASE_UNAVAILABLE);
	assert_int_equal(database_connect(database, NULL, NULL), ERR_DATABASE_UNAVAILABLE);
	database_limit_waits(database, INT64_MAX);
	assert_int_equal(database_connect(database, NULL, NULL), ERR_OK);
}

#define FIRST  "-- head\n\n-- migration 1: one\n\nCREATE TABLE things (a integer);\n"
#define SECOND "\n-- migration 2: two\nALTER TABLE things ADD b integer;\n"
#define BROKEN "\n-- migration 3: three\nALTER TABLE things ADD c integer; SELECT 1 / 0;\n"

static struct migrations migrations_of(const char *script)
{
	return (struct migrations){ script, "thing_migrations", 1234567, "things" };
}

static err_t apply(struct database *database, const char *script, struct err_detail *detail)
{
	struct migrations migrations = migrations_of(script);
	return migrations_apply(&migrations, database, detail);
}

static void count_wait(void *context)
{
	++*(int *)context;
}

static void test_waits_are_told(void **state)
{
	(void)state;
	int waits = 0;
	_cleanup_(database_cleanup) struct database *database = connect_new();
	database_set_waits(database, count_wait, &waits);
	assert_answer(database, "SELECT 'late' FROM pg_sleep(1)", "late");
	assert_true(waits >= 1);
	database_set_waits(database, NULL, NULL);
	int before = waits;
	assert_answer(database, "SELECT 'late' FROM pg_sleep(0.3)", "late");
	assert_int_equal(waits, before);
}

static void test_migrations(void **state)
{
	(void)state;
	static const char columns[] =
		"SELECT count(*) FROM pg_attribute WHERE attrelid = 'things'::regclass AND attnum > 0";
	struct err_detail detail = { "" };
	struct migrations two = migrations_of(FIRST SECOND);
	int version = -1;
	_cleanup_(database_cleanup) struct database *database = connect_new();
	assert_int_equal(migrations_newest(&two), 2);
	assert_int_equal(migrations_read(&two, database, &version, NULL), ERR_OK);
	assert_int_equal(version, 0);
	assert_int_equal(apply(database, FIRST, NULL), ERR_OK);
	assert_answer(database, columns, "1");
	assert_int_equal(apply(database, FIRST SECOND, NULL), ERR_OK);
	assert_int_equal(apply(database, FIRST SECOND, NULL), ERR_OK); /* nothing is left to do */
	assert_answer(database, columns, "2");
	assert_int_equal(apply(database, FIRST SECOND BROKEN, &detail), ERR_DATABASE_REFUSED);
	assert_string_equal(detail.message, "ERROR:  division by zero");
	assert_answer(database, columns, "2"); /* as a whole or not at all */
	assert_int_equal(migrations_read(&two, database, &version, NULL), ERR_OK);
	assert_int_equal(version, 2);
	assert_int_equal(apply(database, FIRST, &detail), ERR_DATABASE_REFUSED);
	assert_string_equal(
		detail.message,
		"the things have version 2, this program supports 1; run a newer version of assayd");
}

int main(void)
{
	int started = test_postgres_start(&server, NULL);
	if (started != 0)
		return started;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_an_error_asks_for),
		cmocka_unit_test(test_a_lost_connection_is_opened_anew),
		cmocka_unit_test(test_parameters),
		cmocka_unit_test(test_passwords),
		cmocka_unit_test(test_settings_are_named),
		cmocka_unit_test(test_waits_can_be_limited),
		cmocka_unit_test(test_waits_are_told),
		cmocka_unit_test(test_migrations),
	};
	return cmocka_run_group_tests_name("database", tests, NULL, stop_server);
}
