#include "tests/harness/servers/database_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct test_postgres server;

int start_server(void **state)
{
	(void)state;
	int status = test_postgres_start(&server, NULL);
	if (status == 77) {
		print_message("skipped: PostgreSQL is not installed\n");
		exit(77);
	}
	return status;
}

int stop_server(void **state)
{
	(void)state;
	return test_postgres_do(&server, "stop");
}

int drop_tables(void **state)
{
	(void)state;
	run_sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
	return 0;
}

static struct database *connect_anew(void)
{
	struct database *database = database_new(server.socket_dsn, NULL);
	struct err_detail detail = { "" };
	if (database_connect(database, NULL, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	return database;
}

void run_sql(const char *sql)
{
	_cleanup_(database_cleanup) struct database *database = connect_anew();
	struct err_detail detail = { "" };
	if (database_script(database, sql, &detail) != ERR_OK)
		fail_msg("%s: %s", sql, detail.message);
}

void query(const char *sql, char *text, size_t size)
{
	_cleanup_(database_cleanup) struct database *database = connect_anew();
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct err_detail detail = { "" };
	if (database_query(database, sql, 0, NULL, &result, &detail) != ERR_OK)
		fail_msg("%s: %s", sql, detail.message);
	snprintf(text, size, "%s", PQntuples(result) ? PQgetvalue(result, 0, 0) : "no row");
}

void expect(const char *sql, const char *expected)
{
	char found[1024];
	query(sql, found, sizeof found);
	assert_string_equal(found, expected);
}
