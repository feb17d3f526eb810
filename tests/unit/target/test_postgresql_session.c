/*
 * What a session with PostgreSQL sends ahead of a query never lets that query run outside of the transaction:
 * sessions of this very process, whose state is changed by their own queries and behind their back.
 */
#include "target/postgresql_session.h"
#include "tests/harness/servers/postgres.h"
#include "tests/harness/servers/proxy.h"
#include "tests/unit/target/calls.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static struct test_postgres server;
static PGconn *admin_connection;
static char dsn[320];
static struct worker_settings settings;
static struct postgresql_session *session;
static struct arena *arena;
static struct query_run last;

static const char add_a_row[] = "INSERT INTO counted VALUES (1) RETURNING i";
static const char count_rows[] = "SELECT count(*) FROM counted";
static const char settings_now[] =
	"SELECT concat_ws(' ', current_setting('transaction_read_only'), "
	"current_setting('transaction_isolation'),"
	" current_setting('statement_timeout'), current_setting('standard_conforming_strings'),"
	" current_setting('datestyle'), current_setting('work_mem'))";

static void admin(const char *sql)
{
	PGresult *result = PQexec(admin_connection, sql);
	ExecStatusType status = PQresultStatus(result);
	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		fail_msg("%s", PQerrorMessage(admin_connection));
	PQclear(result);
}

static void rows_are(const char *expected)
{
	PGresult *result = PQexec(admin_connection, count_rows);
	assert_string_equal(PQgetvalue(result, 0, 0), expected);
	PQclear(result);
}

static void set_up_with(int64_t statement_timeout_ms)
{
	struct err_detail detail = { "" };
	void *opened;
	arena = arena_new();
	settings.target = postgresql_settings("sales", dsn);
	if (statement_timeout_ms > 0)
		settings.target.statement_timeout_ms = statement_timeout_ms;
	admin("TRUNCATE counted");
	if (engine_postgresql.open(&settings, &opened, &detail))
		fail_msg("%s", detail.message);
	session = opened;
}

static int set_up(void **state)
{
	(void)state;
	set_up_with(0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	result_free(&last.result);
	last = (struct query_run){ 0 };
	engine_postgresql.close(session);
	arena_free(arena);
	return 0;
}

static err_t begin(void)
{
	return engine_postgresql.begin(session, NULL);
}

static err_t run_within(const char *sql, int64_t max_rows, int64_t limit_ms)
{
	struct err_detail detail = { "" };
	result_free(&last.result);
	last = (struct query_run){ .limit_ms = limit_ms,
				   .result = { .arena = arena, .max_rows = max_rows, .max_bytes = 1 << 20 } };
	return engine_postgresql.run(session, str_from(sql), &last, &detail);
}

static err_t run(const char *sql)
{
	return run_within(sql, 100, 0);
}

/* `next` goes along. */
static err_t run_and(const char *sql, const char *next, int64_t max_rows)
{
	struct err_detail detail = { "" };
	result_free(&last.result);
	last = (struct query_run){ .next = str_from(next),
				   .result = { .arena = arena, .max_rows = max_rows, .max_bytes = 1 << 20 } };
	return engine_postgresql.run(session, str_from(sql), &last, &detail);
}

static void returns(const char *sql, const char *expected)
{
	assert_int_equal(run(sql), ERR_OK);
	if (last.outcome != QUERY_RETURNED)
		fail_msg("%s: %s", sql, last.message.ptr);
	assert_string_equal(last.result.cells[0].ptr, expected);
}

static void fails(const char *sql, const char *sqlstate)
{
	assert_int_equal(run(sql), ERR_OK);
	assert_int_equal(last.outcome, QUERY_FAILED);
	assert_string_equal(last.execution.sqlstate, sqlstate);
}

static bool usable(void)
{
	return engine_postgresql.usable(session);
}

/* As somebody who has got hold of the connection between two queries. */
static void behind_its_back(const char *sql)
{
	PQclear(PQexec(session->connection, sql));
}

static void what_a_query_changes_does_not_reach_the_next(void **state)
{
	static const char *const changes[] = {
		"SELECT set_config('statement_timeout', '0', false)",
		"SELECT set_config('standard_conforming_strings', 'off', false)",
		"SELECT set_config('datestyle', 'German', false)",
		"SELECT set_config('work_mem', '7MB', false)",
		"SELECT set_config('transaction_isolation', 'read committed', true)",
		"SELECT set_config('transaction_read_only', 'off', true)",
	};
	static const char expected[] = "on repeatable read 20s on ISO, MDY 4MB";
	(void)state;
	for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
		assert_int_equal(begin(), ERR_OK);
		assert_int_equal(run(changes[i]), ERR_OK);
		returns(settings_now, expected);
		fails(add_a_row, "25006");
		assert_int_equal(run(changes[i]), ERR_OK);
		engine_postgresql.end(session);
		assert_int_equal(begin(), ERR_OK);
		returns(settings_now, expected);
		engine_postgresql.end(session);
	}
	assert_true(usable());
}

/* As the first or the second of a transaction. */
static void what_ends_a_transaction_costs_the_session(void **state)
{
	static const char *const texts[] = {
		"COMMIT",
		"END",
		"ROLLBACK",
		"COMMIT AND CHAIN",
		"ROLLBACK AND CHAIN",
		"BEGIN",
		"DISCARD ALL",
		"SET work_mem = 64",
		"RESET ALL",
		"SAVEPOINT query",
		"LISTEN evil",
		"RELEASE query",
		"ROLLBACK TO query",
		"PREPARE evil AS SELECT 1",
		"SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
	};
	for (size_t i = 0; i < 2 * sizeof texts / sizeof texts[0]; i++) {
		assert_int_equal(begin(), ERR_OK);
		if (i % 2)
			returns("SELECT 1", "1");
		assert_int_equal(run(texts[i / 2]), ERR_OK);
		assert_int_equal(last.outcome, QUERY_FAILED);
		if (usable()) /* the server has refused it */
			assert_string_not_equal(last.execution.sqlstate, "");
		tear_down(state);
		set_up(state);
	}
}

static void a_query_without_its_transaction_does_not_run(void **state)
{
	static const char *const ends[] = { "COMMIT", "ROLLBACK AND CHAIN", "COMMIT; BEGIN READ WRITE",
					    "RELEASE SAVEPOINT query" };
	for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
		assert_int_equal(begin(), ERR_OK);
		returns("SELECT 1", "1");
		behind_its_back(ends[i]);
		behind_its_back("SET default_transaction_read_only = off");
		assert_int_not_equal(run(add_a_row), ERR_OK);
		assert_false(usable());
		rows_are("0");
		tear_down(state);
		set_up(state);
	}
}

/* What stands around the queries is prepared: it is another statement now, or none. */
static void a_query_behind_another_statement_does_not_run(void **state)
{
	static const char *const others[] = {
		"DEALLOCATE ALL",
		"DEALLOCATE ALL; PREPARE \"assayd to savepoint\" AS SELECT 1",
		"DEALLOCATE ALL; PREPARE \"assayd to savepoint\" AS DELETE FROM mine",
	};
	(void)state;
	for (size_t i = 0; i < 2 * sizeof others / sizeof others[0]; i++) {
		bool next_transaction = i % 2;
		behind_its_back("BEGIN READ WRITE; CREATE TEMP TABLE mine (i int); COMMIT");
		assert_int_equal(begin(), ERR_OK);
		returns("SELECT 1", "1");
		session->wiped_us = clock_monotonic_us();
		if (next_transaction)
			engine_postgresql.end(session);
		behind_its_back(others[i / 2]);
		if (next_transaction)
			assert_int_equal(begin(), ERR_OK);
		assert_int_not_equal(run("SELECT 1"), ERR_OK);
		assert_false(usable());
		tear_down(state);
		set_up(state);
	}
}

static void a_query_does_not_run_when_its_transaction_does_not_begin(void **state)
{
	(void)state;
	behind_its_back("SET default_transaction_read_only = off");
	assert_int_equal(begin(), ERR_OK);
	behind_its_back("BEGIN READ WRITE; SELECT 1/0");
	assert_int_not_equal(run(add_a_row), ERR_OK);
	assert_false(usable());
	rows_are("0");
}

static void a_session_that_is_not_wiped_is_not_used_again(void **state)
{
	(void)state;
	assert_int_equal(begin(), ERR_OK);
	returns("SELECT 1", "1");
	session->wiped_us = 0;
	admin("ALTER FUNCTION pg_catalog.pg_advisory_unlock_all() RENAME TO unlock_all_of_them");
	engine_postgresql.end(session);
	err_t err = begin();
	admin("ALTER FUNCTION pg_catalog.unlock_all_of_them() RENAME TO pg_advisory_unlock_all");
	assert_int_not_equal(err, ERR_OK);
	assert_false(usable());
}

static void leave_something(void)
{
	assert_int_equal(begin(), ERR_OK);
	assert_int_equal(run("SELECT pg_advisory_lock(7)"), ERR_OK);
	behind_its_back("PREPARE left AS SELECT 1");
	engine_postgresql.end(session);
}

static void nothing_is_left(void)
{
	assert_int_equal(begin(), ERR_OK);
	returns("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'", "0");
	returns("SELECT count(*) FROM pg_prepared_statements WHERE name NOT LIKE 'assayd %'", "0");
	engine_postgresql.end(session);
}

/* Of sessions of the reader: how many are in a transaction. */
static void in_transaction_are(const char *expected)
{
	static const char count_them[] = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'reader'"
					 " AND state LIKE 'idle in transaction%'";
	PGresult *result = NULL;
	for (int i = 0; i < 500; i++) {
		PQclear(result);
		result = PQexec(admin_connection, count_them);
		if (strcmp(PQgetvalue(result, 0, 0), expected) == 0)
			break;
		usleep(10000);
	}
	assert_string_equal(PQgetvalue(result, 0, 0), expected);
	PQclear(result);
}

static void locks_and_statements_are_gone_when_the_session_rests(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		session->wiped_us = clock_monotonic_us();
		leave_something();
		engine_postgresql.rest(session);
		in_transaction_are("0");
		nothing_is_left();
		engine_postgresql.rest(session);
	}
	engine_postgresql.rest(session);
	assert_true(usable());
}

static void locks_and_statements_are_gone_soon_without_a_rest(void **state)
{
	(void)state;
	session->wiped_us = 0;
	leave_something();
	nothing_is_left();
	leave_something();
	for (int i = 0; i < 12; i++) {
		assert_int_equal(begin(), ERR_OK);
		returns("SELECT 1", "1");
		usleep(10000);
		engine_postgresql.end(session);
	}
	nothing_is_left();
}

/* The ROLLBACK of a transaction goes along with the next: another snapshot, and nothing that was set. */
static void transactions_follow_each_other_at_once(void **state)
{
	(void)state;
	session->wiped_us = INT64_MAX;
	for (int i = 0; i < 5; i++) {
		char count[8];
		snprintf(count, sizeof count, "%d", i);
		assert_int_equal(begin(), ERR_OK);
		returns(count_rows, count);
		admin(add_a_row);
		returns(count_rows, count);
		assert_int_equal(run("SELECT set_config('work_mem', '7MB', false)"), ERR_OK);
		engine_postgresql.end(session);
		in_transaction_are("1");
	}
	assert_int_equal(begin(), ERR_OK);
	returns(settings_now, "on repeatable read 20s on ISO, MDY 4MB");
	fails(add_a_row, "25006");
	engine_postgresql.end(session);
	assert_int_equal(begin(), ERR_OK);
	engine_postgresql.end(session);
	in_transaction_are("1");
	engine_postgresql.rest(session);
	in_transaction_are("0");
	assert_true(usable());
}

static void a_query_that_goes_along_sees_the_same_and_nothing_set(void **state)
{
	(void)state;
	assert_int_equal(begin(), ERR_OK);
	assert_int_equal(run_and("SELECT set_config('datestyle', 'German', false), count(*) FROM counted",
				 settings_now, 100),
			 ERR_OK);
	admin(add_a_row);
	returns(settings_now, "on repeatable read 20s on ISO, MDY 4MB");
	assert_int_equal(run_and("SELECT 1", count_rows, 100), ERR_OK);
	returns(count_rows, "0");
	assert_int_equal(run_and(count_rows, count_rows, 100), ERR_OK);
	returns(count_rows, "0");
	returns(count_rows, "0");
	engine_postgresql.end(session);
	assert_true(usable());
}

/* It is cut off, when nobody wants it. */
static void a_query_that_goes_along_may_be_left_out(void **state)
{
	static const char slow[] = "SELECT pg_sleep(60)";
	static const char large[] = "SELECT repeat('x', 1000) FROM generate_series(1, 100000000)";
	int64_t start_us = clock_monotonic_us();
	(void)state;
	assert_int_equal(begin(), ERR_OK);
	assert_int_equal(run_and("SELECT 1", slow, 100), ERR_OK);
	returns("SELECT 2", "2");
	assert_int_equal(run_and("SELECT 1", large, 100), ERR_OK);
	returns("SELECT 3", "3");
	assert_int_equal(run_and("SELECT 1", slow, 100), ERR_OK);
	engine_postgresql.end(session);
	engine_postgresql.rest(session);
	assert_int_equal(begin(), ERR_OK);
	returns(count_rows, "0");
	engine_postgresql.end(session);
	assert_true(usable());
	assert_true(clock_monotonic_us() - start_us < 30 * 1000000LL);
}

static void a_query_runs_again_that_went_along_with_one_that_failed(void **state)
{
	(void)state;
	assert_int_equal(begin(), ERR_OK);
	assert_int_equal(run_and("SELECT 1/0", count_rows, 100), ERR_OK);
	assert_int_equal(last.outcome, QUERY_FAILED);
	returns(count_rows, "0");
	assert_int_equal(run_and("SELECT 1 FROM gone", "SELECT 2 FROM gone", 100), ERR_OK);
	fails("SELECT 2 FROM gone", "42P01");
	assert_int_equal(run_and("SELECT 1", "SELECT 1/0", 100), ERR_OK);
	fails("SELECT 1/0", "22012");
	returns(count_rows, "0");
	engine_postgresql.end(session);
	assert_true(usable());
}

/* A cancel that cuts off the first result may come while the second query runs. */
static void a_query_is_not_hit_by_the_cancel_of_the_one_before(void **state)
{
	static const char slow[] = "SELECT count(*) FROM generate_series(1, 20000)";
	(void)state;
	for (int i = 0; i < 60; i++) {
		char many[96];
		snprintf(many, sizeof many, "SELECT i FROM generate_series(1, %d) AS i", 6 + i * i * i);
		assert_int_equal(begin(), ERR_OK);
		assert_int_equal(run_and(many, slow, 5), ERR_OK);
		assert_int_equal(last.outcome, QUERY_RETURNED);
		assert_true(last.result.truncated);
		returns(slow, "20000");
		engine_postgresql.end(session);
		assert_true(usable());
	}
}

static void each_query_has_the_whole_time(void **state)
{
	static const char most_of_it[] = "SELECT 1 FROM pg_sleep(0.7)";
	(void)state;
	tear_down(state);
	set_up_with(1000);
	assert_int_equal(begin(), ERR_OK);
	assert_int_equal(run_and(most_of_it, most_of_it, 100), ERR_OK);
	assert_int_equal(last.outcome, QUERY_RETURNED);
	returns(most_of_it, "1");
	assert_true(last.execution.time_ms >= 690 && last.execution.time_ms < 1000);
	assert_int_equal(run_and("SELECT 1", "SELECT pg_sleep(60)", 100), ERR_OK);
	assert_int_equal(run("SELECT pg_sleep(60)"), ERR_OK);
	assert_int_equal(last.outcome, QUERY_TIMEOUT);
	assert_string_equal(last.execution.sqlstate, "57014");
	returns("SELECT 1", "1");
	engine_postgresql.end(session);
}

static pid_t postmaster_pid(void)
{
	char path[192], line[32] = "";
	snprintf(path, sizeof path, "%s/data/postmaster.pid", server.dir);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(line, sizeof line, file));
	fclose(file);
	return (pid_t)strtol(line, NULL, 10);
}

/* What a server says that has slept through the time limit tells nothing of the query. */
static void a_server_that_hangs_is_no_slow_query(void **state)
{
	(void)state;
	for (int along = 0; along < 2; along++) {
		tear_down(state);
		set_up_with(500);
		int backend = PQbackendPID(session->connection), postmaster = postmaster_pid();
		assert_int_equal(begin(), ERR_OK);
		if (along)
			assert_int_equal(run_and("SELECT 1", "SELECT 2 FROM pg_sleep(0.2)", 100), ERR_OK);
		pid_t waker = fork();
		if (waker == 0) {
			usleep(100000);
			kill(postmaster, SIGSTOP);
			kill(backend, SIGSTOP);
			usleep(2000000);
			_exit(kill(postmaster, SIGCONT) | kill(backend, SIGCONT));
		}
		assert_int_equal(run("SELECT 2 FROM pg_sleep(0.2)"), ERR_TARGET_LOST);
		assert_false(usable());
		int status = 0;
		assert_int_equal(waitpid(waker, &status, 0), waker);
		assert_int_equal(status, 0);
	}
}

/* Whatever has become of the first query, the second one runs, and sees what that saw. */
static void a_query_that_fails_does_not_disturb_the_next(void **state)
{
	(void)state;
	assert_int_equal(begin(), ERR_OK);
	fails("SELECT 1/0", "22012");
	fails("SELECT gone FROM counted", "42703");
	returns(count_rows, "0");
	admin(add_a_row);
	fails("SELECT 1 / (SELECT count(*) FROM counted)", "22012");
	assert_int_equal(run_within("SELECT pg_sleep(60)", 100, 100), ERR_OK);
	assert_int_equal(last.outcome, QUERY_TIMEOUT);
	returns(count_rows, "0");
	engine_postgresql.end(session);
	assert_int_equal(begin(), ERR_OK);
	returns(count_rows, "1");
	engine_postgresql.end(session);
	assert_true(usable());
}

static void a_result_that_is_cut_off_does_not_cost_the_snapshot(void **state)
{
	(void)state;
	assert_int_equal(begin(), ERR_OK);
	assert_int_equal(
		run_within("SELECT generate_series(1, 100000000), (SELECT count(*) FROM counted)", 5, 0),
		ERR_OK);
	assert_int_equal(last.outcome, QUERY_RETURNED);
	assert_true(last.result.truncated);
	assert_int_equal(last.result.rows_count, 5);
	admin(add_a_row);
	returns(count_rows, "0");
	engine_postgresql.end(session);
	assert_true(usable());
}

static void a_lost_connection_is_told_wherever_it_is_lost(void **state)
{
	static const char kill_it[] = "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
				      " WHERE application_name = 'assayd'";
	for (int where = 0; where < 4; where++) {
		err_t err = where > 0 ? begin() : ERR_OK;
		if (where > 1)
			returns("SELECT 1", "1");
		if (where > 2)
			engine_postgresql.end(session);
		admin(kill_it);
		if (where == 0 || where == 3)
			err = begin();
		if (!err)
			err = run("SELECT 1");
		assert_int_equal(err, ERR_TARGET_LOST);
		assert_false(usable());
		engine_postgresql.end(session);
		tear_down(state);
		set_up(state);
	}
}

/* Many rows and the end of the connection may come in one reading, if the buffer is large by then: the rows
 * are no whole result. Often it is told before; that it is taken for one must never be seen. */
static void rows_of_a_connection_that_is_reset_are_no_result(void **state)
{
	static const char many[] = "SELECT CASE WHEN g = 1 THEN repeat('x', 200000) ELSE 'r' || g END"
				   " FROM generate_series(1, 60000) g";
	struct err_detail detail = { "" };
	struct test_proxy proxy;
	char through[sizeof dsn];
	void *opened;
	(void)state;
	test_proxy_start(&proxy, (in_port_t)strtol(server.port, NULL, 10));
	snprintf(through, sizeof through, "host=127.0.0.1 port=%u user=reader dbname=postgres", proxy.port);
	for (int i = 0; i < 20; i++) {
		struct query_run cut = {
			.result = { .arena = arena, .max_rows = 100000, .max_bytes = 64 << 20 }
		};
		settings.target = postgresql_settings("sales", through);
		if (engine_postgresql.open(&settings, &opened, &detail))
			fail_msg("%s", detail.message);
		assert_int_equal(engine_postgresql.begin(opened, &detail), ERR_OK);
		atomic_store(&proxy.cut_after, 700000);
		assert_int_equal(engine_postgresql.run(opened, str_from(many), &cut, &detail),
				 ERR_TARGET_LOST);
		assert_false(engine_postgresql.usable(opened));
		atomic_store(&proxy.cut_after, 0);
		result_free(&cut.result);
		engine_postgresql.close(opened);
	}
	test_proxy_stop(&proxy);
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	int status = test_postgres_start(&server, NULL);
	if (status != 0)
		return status;
	admin_connection = PQconnectdb(server.socket_dsn);
	admin("SET allow_system_table_mods = on; CREATE TABLE counted (i int); CREATE ROLE reader LOGIN;"
	      "GRANT ALL ON counted TO reader");
	snprintf(dsn, sizeof dsn, "host=%s port=%s user=reader dbname=postgres", server.dir, server.port);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_a_query_changes_does_not_reach_the_next, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_ends_a_transaction_costs_the_session, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_query_without_its_transaction_does_not_run, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_query_behind_another_statement_does_not_run, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_query_does_not_run_when_its_transaction_does_not_begin,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_session_that_is_not_wiped_is_not_used_again, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(locks_and_statements_are_gone_when_the_session_rests, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(locks_and_statements_are_gone_soon_without_a_rest, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(transactions_follow_each_other_at_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_query_that_goes_along_sees_the_same_and_nothing_set, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_query_that_goes_along_may_be_left_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_query_runs_again_that_went_along_with_one_that_failed,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_query_is_not_hit_by_the_cancel_of_the_one_before, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(each_query_has_the_whole_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_server_that_hangs_is_no_slow_query, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_query_that_fails_does_not_disturb_the_next, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_result_that_is_cut_off_does_not_cost_the_snapshot, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_lost_connection_is_told_wherever_it_is_lost, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(rows_of_a_connection_that_is_reset_are_no_result, set_up,
						tear_down),
	};
	status = cmocka_run_group_tests(tests, NULL, NULL);
	PQfinish(admin_connection);
	test_postgres_do(&server, "stop");
	return status;
}
