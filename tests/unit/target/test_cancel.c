/*
 * What a worker's end leaves behind on a real PostgreSQL and a real MariaDB: nothing, whatever ended it. And
 * how long a second try may take.
 */
#include "tests/unit/target/mariadb_server.h" // first: it calls what banned.h forbids

#include "tests/harness/servers/postgres.h"
#include "tests/unit/target/calls.h"

#include <ctype.h>
#include <dirent.h>
#include <libpq-fe.h>
#include <signal.h>

#define LONG_S	     "60"  /* as long a query runs whom nobody ends */
#define GONE_MS	     30000 /* far from its own end, and from that of its time */
#define STATEMENT_MS 90000

static struct test_postgres server;
static bool has_server, has_shop;
static char server_dsn[320], shop_dsn[320];

static int set_up(void **state)
{
	(void)state;
	if (!has_server)
		return 0;
	PGconn *connection = PQconnectdb(server.socket_dsn);
	PQclear(PQexec(connection, "CREATE ROLE reader LOGIN"));
	PQfinish(connection);
	snprintf(server_dsn, sizeof server_dsn, "host=%s port=%s user=reader dbname=postgres", server.dir,
		 server.port);
	return 0;
}

/* How many queries the reader runs that sleep; as the administrator `act` on them when it is not NULL. */
static long sleeping_in_server(const char *act)
{
	char sql[256];
	snprintf(sql, sizeof sql,
		 "SELECT count(%s) FROM pg_stat_activity WHERE usename = 'reader' AND state = 'active'"
		 " AND query LIKE '%%pg_sleep%%'",
		 act ? act : "*");
	PGconn *connection = PQconnectdb(server.socket_dsn);
	PGresult *result = PQexec(connection, sql);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		fail_msg("%s", PQerrorMessage(connection));
	long count = strtol(PQgetvalue(result, 0, 0), NULL, 10);
	PQclear(result);
	PQfinish(connection);
	return count;
}

static long sleeping_in_shop(const char *act)
{
	struct buf text = BUF_INIT;
	MYSQL *root = root_connection();
	append_result(root,
		      "SELECT count(*), max(ID) FROM information_schema.PROCESSLIST WHERE USER = 'reader'"
		      " AND COMMAND <> 'Sleep' AND INFO LIKE '%SLEEP%'",
		      &text);
	long count = strtol(text.data, NULL, 10);
	if (act && count > 0) {
		char sql[64];
		snprintf(sql, sizeof sql, "KILL CONNECTION %ld",
			 strtol(strchr(text.data, '|') + 1, NULL, 10));
		must(root, sql);
	}
	mysql_close(root);
	buf_free(&text);
	return count;
}

/* The worker process: the child that is none of the servers. */
static pid_t only_worker(void)
{
	pid_t worker = 0;
	DIR *processes = opendir("/proc");
	for (struct dirent *entry; (entry = readdir(processes));) {
		char file[300], line[512] = "", name[32] = "";
		int parent = 0;
		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		snprintf(file, sizeof file, "/proc/%s/stat", entry->d_name);
		FILE *stat = fopen(file, "r");
		if (stat && fgets(line, sizeof line, stat) &&
		    sscanf(line, "%*d (%31[^)]) %*c %d", name, &parent) == 2 && parent == getpid() &&
		    strcmp(name, "assayd-target") == 0)
			worker = (pid_t)strtol(entry->d_name, NULL, 10);
		if (stat)
			fclose(stat);
	}
	closedir(processes);
	assert_true(worker > 0);
	return worker;
}

static void await_sleeper(long (*sleeping)(const char *act), const char *act)
{
	for (int i = 0; i < 6000 && sleeping(act) == 0; i++)
		sleep_ms(10);
}

static void kill_mid_query(const struct target_settings *settings, const char *query,
			   long (*sleeping)(const char *act))
{
	struct test_call test;
	struct targets *targets = start_targets(settings, 1, NULL);
	test_call_init(&test, settings->name, query, "SELECT 1");
	targets_submit(targets, &test.call);
	await_sleeper(sleeping, NULL);
	assert_int_equal(sleeping(NULL), 1);
	kill(only_worker(), SIGKILL);
	int64_t start_us = clock_monotonic_us(), taken_ms = 0;
	while (sleeping(NULL) > 0 && taken_ms < GONE_MS) {
		sleep_ms(5);
		taken_ms = (clock_monotonic_us() - start_us) / 1000;
	}
	print_message("%s: the query has ended %lld ms after its worker\n", settings->name,
		      (long long)taken_ms);
	assert_int_equal(sleeping(NULL), 0);
	const struct validation_result *result = test_call_wait(&test);
	assert_int_equal(result->error, ERR_TARGET_WORKER_DIED);
	test_call_free(&test);
	test_call_init(&test, settings->name, "SELECT 1", "SELECT 1");
	targets_submit(targets, &test.call);
	assert_true(test_call_wait(&test)->score == 1.0);
	test_call_free(&test);
	targets_stop(targets);
}

static struct target_settings server_settings(void)
{
	struct target_settings settings = postgresql_settings("server", server_dsn);
	settings.statement_timeout_ms = STATEMENT_MS;
	return settings;
}

static struct target_settings shop_settings(void)
{
	struct target_settings settings = mariadb_settings("reader", shop_dsn, sizeof shop_dsn);
	settings.statement_timeout_ms = STATEMENT_MS;
	return settings;
}

static void a_killed_worker_leaves_no_query_in_postgresql(void **state)
{
	(void)state;
	if (!has_server)
		skip();
	const struct target_settings settings = server_settings();
	kill_mid_query(&settings, "SELECT pg_sleep(" LONG_S ")", sleeping_in_server);
}

static void a_killed_worker_leaves_no_query_in_mariadb(void **state)
{
	(void)state;
	if (!has_shop)
		skip();
	const struct target_settings settings = shop_settings();
	kill_mid_query(&settings, "SELECT SLEEP(" LONG_S ")", sleeping_in_shop);
}

/* Stopping, too: the workers that are busy then are killed. */
static void the_end_of_the_daemon_leaves_no_query(void **state)
{
	struct test_call test;
	(void)state;
	if (!has_server)
		skip();
	const struct target_settings settings = server_settings();
	struct targets *targets = start_targets(&settings, 1, NULL);
	test_call_init(&test, "server", "SELECT pg_sleep(" LONG_S ")", "SELECT 1");
	targets_submit(targets, &test.call);
	await_sleeper(sleeping_in_server, NULL);
	targets_stop(targets);
	assert_int_equal(test_call_wait(&test)->error, ERR_SHUTTING_DOWN);
	for (int i = 0; i < GONE_MS / 10 && sleeping_in_server(NULL) > 0; i++)
		sleep_ms(10);
	assert_int_equal(sleeping_in_server(NULL), 0);
	test_call_free(&test);
}

/* The connection is cut after two thirds of the statement's time: the second try has the rest. */
static void check_second_try(struct target_settings settings, const char *query,
			     long (*sleeping)(const char *act), const char *act)
{
	struct test_call test;
	settings.statement_timeout_ms = 12000;
	struct targets *targets = start_targets(&settings, 1, NULL);
	test_call_init(&test, settings.name, query, "SELECT 1");
	targets_submit(targets, &test.call);
	await_sleeper(sleeping, NULL);
	sleep_ms(8000);
	assert_int_equal(sleeping(act), 1);
	const struct validation_result *result = test_call_wait(&test);
	print_message("%s: %lld ms with the second try\n", settings.name,
		      (long long)test.call.duration_us / 1000);
	assert_true(test.call.duration_us < 19500000); /* with all of its time once more: 20 s and more */
	assert_int_equal(result->status, VALIDATION_UNAVAILABLE); /* no verdict: it had less than its time */
	assert_int_equal(result->error, ERR_TARGET_LOST);
	test_call_free(&test);
	targets_stop(targets);
}

static void a_second_try_has_what_is_left_of_the_time(void **state)
{
	(void)state;
	if (has_server)
		check_second_try(server_settings(), "SELECT pg_sleep(" LONG_S ")", sleeping_in_server,
				 "pg_terminate_backend(pid)");
	if (has_shop)
		check_second_try(shop_settings(), "SELECT SLEEP(" LONG_S ")", sleeping_in_shop, "kill");
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	int status = test_postgres_start_if_here(&server, "unit.target.cancel", &has_server);
	if (status != 0)
		return status;
	has_shop = start_shop("unit.target.cancel in MariaDB") == 0;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_killed_worker_leaves_no_query_in_postgresql),
		cmocka_unit_test(a_killed_worker_leaves_no_query_in_mariadb),
		cmocka_unit_test(the_end_of_the_daemon_leaves_no_query),
		cmocka_unit_test(a_second_try_has_what_is_left_of_the_time),
	};
	status = cmocka_run_group_tests(tests, set_up, NULL);
	if (has_shop)
		stop_shop();
	if (has_server)
		test_postgres_do(&server, "stop");
	return status;
}
