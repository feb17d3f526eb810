/*
 * What may befall a PostgreSQL target, each against the real thing: every call is answered, with a result or
 * a flagged error, and the target is used again once it is well.
 */
#include "tests/harness/servers/postgres.h"
#include "tests/harness/servers/proxy.h"
#include "tests/unit/target/calls.h"

#include <libpq-fe.h>
#include <signal.h>

#define BACK_S 60 /* within that a target that is well again has to be used */

static struct test_postgres server;
static char password_file[64];
static int64_t statement_timeout_ms = 5000;

static void run_on(const char *dsn, const char *sql)
{
	PGconn *connection = PQconnectdb(dsn);
	PGresult *result = PQexec(connection, sql);
	ExecStatusType status = PQresultStatus(result);
	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		fail_msg("%s: %s", sql, PQerrorMessage(connection));
	PQclear(result);
	PQfinish(connection);
}

static void admin(const char *sql)
{
	run_on(server.socket_dsn, sql);
}

/* The one value that a query returns, for the test itself. */
static void ask(const char *dsn, const char *sql, char *ret_value, size_t size)
{
	PGconn *connection = PQconnectdb(dsn);
	PGresult *result = PQexec(connection, sql);
	if (PQresultStatus(result) != PGRES_TUPLES_OK || PQntuples(result) < 1)
		fail_msg("%s: %s", sql, PQerrorMessage(connection));
	snprintf(ret_value, size, "%s", PQgetvalue(result, 0, 0));
	PQclear(result);
	PQfinish(connection);
}

static void write_password(const char *password)
{
	FILE *file = fopen(password_file, "w");
	assert_non_null(file);
	fprintf(file, "%s\n", password);
	fclose(file);
}

static int set_up(void **state)
{
	(void)state;
	admin("CREATE TABLE sales AS SELECT i AS id FROM generate_series(1, 10) AS i;"
	      "CREATE ROLE reader LOGIN PASSWORD 'first-Secret'; GRANT SELECT ON sales TO reader;");
	snprintf(password_file, sizeof password_file, "/tmp/assayd-test-faults-%ld", (long)getpid());
	write_password("first-Secret");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(password_file);
	return 0;
}

static struct targets *start_one(const char *dsn)
{
	struct target_settings settings = postgresql_settings("sales", dsn);
	settings.password_file = password_file;
	settings.statement_timeout_ms = statement_timeout_ms;
	settings.truth_cache_bytes = 0;
	struct targets *targets = start_targets(&settings, 1, NULL);
	targets_wait_catalogs(targets, 30000);
	return targets;
}

static struct targets *start_direct(void)
{
	char dsn[320];
	snprintf(dsn, sizeof dsn, "host=127.0.0.1 port=%s user=reader dbname=postgres", server.port);
	return start_one(dsn);
}

static void submit(struct targets *targets, struct test_call *test, const char *generated, const char *truth)
{
	test_call_init(test, "sales", generated, truth);
	targets_submit(targets, &test->call);
}

static void expect_match(struct test_call *test)
{
	const struct validation_result *result = test_call_wait(test);
	if (result->status != VALIDATION_COMPARED || result->score != 1.0)
		fail_msg("%s: %s", target_validation_status_name(result->status), result->message.ptr);
	test_call_free(test);
}

static void expect_error(struct test_call *test, err_t err, const char *part)
{
	const struct validation_result *result = test_call_wait(test);
	assert_int_equal(result->status, VALIDATION_UNAVAILABLE);
	if (result->error != err || !strstr(result->message.ptr, part))
		fail_msg("%s: %s", err_name(result->error), result->message.ptr);
	test_call_free(test);
}

static void match_now(struct targets *targets)
{
	struct test_call test;
	submit(targets, &test, "SELECT id FROM sales", "SELECT id FROM sales");
	expect_match(&test);
}

static void match_soon(struct targets *targets)
{
	bool back = false;
	for (int i = 0; i < BACK_S * 10 && !back; i++) {
		struct test_call test;
		submit(targets, &test, "SELECT id FROM sales", "SELECT id FROM sales");
		back = test_call_wait(&test)->score == 1.0;
		test_call_free(&test);
		sleep_ms(back ? 0 : 100);
	}
	assert_true(back);
}

static void end_backends(void)
{
	admin("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'reader'");
}

static void a_connection_that_was_cut_while_idle_is_not_noticed(void **state)
{
	struct targets *targets = start_direct();
	(void)state;
	for (int i = 0; i < 3; i++) {
		match_now(targets);
		end_backends();
	}
	match_now(targets);
	targets_stop(targets);
}

/* The old password is refused; what the file holds by then is tried the next time. Where it is there already,
 * no query suffers. */
static void a_changed_password_is_read_anew(void **state)
{
	struct targets *targets = start_direct();
	struct test_call test;
	(void)state;
	match_now(targets);
	admin("ALTER ROLE reader PASSWORD 'third-Secret'");
	end_backends();
	submit(targets, &test, "SELECT 1", "SELECT 1");
	expect_error(&test, ERR_TARGET_UNAVAILABLE, "password authentication failed");
	write_password("third-Secret");
	match_soon(targets);
	write_password("second-Secret");
	admin("ALTER ROLE reader PASSWORD 'second-Secret'");
	end_backends();
	match_now(targets);
	targets_stop(targets);
}

static pid_t sleeping_backend(void)
{
	char pid[32];
	for (int i = 0; i < 100; i++) {
		ask(server.socket_dsn,
		    "SELECT COALESCE(max(pid), 0) FROM pg_stat_activity"
		    " WHERE usename = 'reader' AND wait_event = 'PgSleep'",
		    pid, sizeof pid);
		if (strcmp(pid, "0") != 0)
			return (pid_t)strtol(pid, NULL, 10);
		sleep_ms(50);
	}
	fail_msg("no backend sleeps");
	return 0;
}

/* Neither the statement timeout nor a cancel ends it, and then no time is left for another try: the next
 * query has another backend. */
static void a_backend_that_hangs_is_left_alone(void **state)
{
	struct targets *targets = start_direct();
	struct test_call test;
	(void)state;
	match_now(targets);
	submit(targets, &test, "SELECT 1", "SELECT 1 FROM pg_sleep(60)");
	pid_t backend = sleeping_backend();
	kill(backend, SIGSTOP);
	expect_error(&test, ERR_TARGET_LOST, "does not end the query");
	match_soon(targets);
	kill(backend, SIGCONT);
	targets_stop(targets);
}

/* Nothing comes through any more, and nobody says so. */
static void a_network_that_hangs_is_a_flagged_error(void **state)
{
	struct test_proxy proxy;
	struct test_call during, later;
	char dsn[320];
	(void)state;
	test_proxy_start(&proxy, (in_port_t)strtol(server.port, NULL, 10));
	snprintf(dsn, sizeof dsn, "host=127.0.0.1 port=%d user=reader dbname=postgres", proxy.port);
	struct targets *targets = start_one(dsn);
	match_now(targets);
	submit(targets, &during, "SELECT 1", "SELECT 1 FROM pg_sleep(60)");
	sleeping_backend();
	proxy.stalled = true;
	expect_error(&during, ERR_TARGET_LOST, "does not end the query");
	submit(targets, &later, "SELECT 1", "SELECT 1");
	expect_error(&later, ERR_TARGET_UNAVAILABLE, "timeout expired");
	proxy.stalled = false;
	match_soon(targets);
	targets_stop(targets);
	test_proxy_stop(&proxy);
}

static void a_worker_without_memory_is_replaced(void **state)
{
	struct test_call test;
	char dsn[320];
	(void)state;
	if (!ADDRESS_SPACE_CAN_BE_LIMITED)
		skip();
	snprintf(dsn, sizeof dsn, "host=127.0.0.1 port=%s user=reader dbname=postgres", server.port);
	struct target_settings settings = postgresql_settings("sales", dsn);
	settings.password_file = password_file;
	settings.worker_memory_bytes = (int64_t)128 << 20;
	settings.max_result_bytes = (int64_t)1 << 30;
	settings.statement_timeout_ms = 20000;
	struct targets *targets = start_targets(&settings, 1, NULL);
	submit(targets, &test, "SELECT repeat('x', 20000) FROM generate_series(1, 9999)", "SELECT 1");
	expect_error(&test, ERR_TARGET_WORKER_DIED, "died");
	match_soon(targets);
	targets_stop(targets);
}

/* Names mean what they mean to the role by default, in the catalog and in the queries. */
static void the_search_path_is_that_of_the_role(void **state)
{
	struct test_call test;
	(void)state;
	admin("CREATE SCHEMA own; CREATE TABLE own.sales AS SELECT 77 AS mine; GRANT USAGE ON SCHEMA own TO "
	      "reader;"
	      "GRANT SELECT ON own.sales TO reader; ALTER ROLE reader SET search_path = own, public");
	struct targets *targets = start_direct();
	submit(targets, &test, "SELECT mine FROM sales", "SELECT mine FROM own.sales");
	expect_match(&test);
	submit(targets, &test, "SELECT set_config('search_path', 'public', false)", "SELECT 'public'");
	expect_match(&test);
	submit(targets, &test, "SELECT mine FROM sales", "SELECT 77");
	expect_match(&test);
	struct catalog *catalog = targets_catalog(targets, targets_find(targets, STR("sales")));
	assert_non_null(catalog);
	const char *source = catalog_source(catalog).ptr;
	const char *path = strstr(source, "search_path");
	assert_non_null(path);
	assert_non_null(strstr(path, "own"));
	catalog_unref(catalog);
	targets_stop(targets);
	admin("ALTER ROLE reader RESET search_path; DROP SCHEMA own CASCADE");
}

/* --- a standby --- */

static int shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int shell(const char *format, ...)
{
	char command[1024];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(command, sizeof command, format, arguments);
	va_end(arguments);
	return system(command);
}

#define BIN	    "/usr/lib/postgresql/15/bin"
#define AS_POSTGRES "cd /; if [ $(id -u) = 0 ]; then set -- runuser -u postgres --; fi; exec \"$@\" "

/* A free port, as likely as not: it was one a moment ago. */
static int free_port(void)
{
	struct sockaddr_in address = test_proxy_address(0);
	socklen_t size = sizeof address;
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	close(listener);
	return ntohs(address.sin_port);
}

static void await_rows(const char *dsn, const char *sql, const char *expected)
{
	char value[64] = "";
	for (int i = 0; i < 200; i++) {
		ask(dsn, sql, value, sizeof value);
		if (strcmp(value, expected) == 0)
			return;
		sleep_ms(50);
	}
	fail_msg("%s: %s", sql, value);
}

/* Replay on the standby cancels the query that needs what was removed on the primary: it is tried once more.
 */
static void a_conflict_with_replay_is_tried_once_more(void **state)
{
	struct test_call test;
	char dsn[320];
	int port = free_port();
	(void)state;
	admin("CREATE TABLE removed AS SELECT i FROM generate_series(1, 1000) AS i; GRANT SELECT ON removed "
	      "TO reader");
	if (shell(AS_POSTGRES BIN "/pg_basebackup -h %s -p %s -U postgres -D %s/standby -R -X stream -c fast",
		  server.dir, server.port, server.dir) != 0 ||
	    shell("echo 'max_standby_streaming_delay = 0' >> %s/standby/postgresql.auto.conf", server.dir) !=
		    0 ||
	    shell(AS_POSTGRES BIN "/pg_ctl -D %s/standby -o '-p %d' -l %s/standby.log -w start >/dev/null",
		  server.dir, port, server.dir) != 0)
		fail_msg("no standby");
	snprintf(dsn, sizeof dsn, "host=%s port=%d user=reader dbname=postgres", server.dir, port);
	statement_timeout_ms = 20000;
	struct targets *targets = start_one(dsn);
	statement_timeout_ms = 5000;
	match_now(targets);
	submit(targets, &test, "SELECT 900",
	       "SELECT count(*) FROM removed WHERE pg_sleep(0.001) IS NOT NULL");
	sleep_ms(300);
	admin("DELETE FROM removed WHERE i <= 100");
	admin("VACUUM removed");
	const struct validation_result *result = test_call_wait(&test);
	if (result->status != VALIDATION_COMPARED)
		fail_msg("%s", result->message.ptr);
	if (result->score != 1.0) /* the first snapshot had 1,000 */
		fail_msg("%g of %lld rows", result->score, (long long)result->truth.rows);
	test_call_free(&test);
	snprintf(dsn, sizeof dsn, "host=%s port=%d user=postgres dbname=postgres", server.dir, port);
	await_rows(dsn,
		   "SELECT confl_snapshot > 0 FROM pg_stat_database_conflicts WHERE datname = 'postgres'",
		   "t");
	targets_stop(targets);
	shell(AS_POSTGRES BIN "/pg_ctl -D %s/standby -m immediate stop >/dev/null", server.dir);
}

/* --- a pooler --- */

#define BOUNCER "/usr/sbin/pgbouncer"

static const char bouncer_settings[] =
	"[databases]\npostgres = host=%s port=%s dbname=postgres\n"
	"[pgbouncer]\nlisten_addr =\nlisten_port = %d\nunix_socket_dir = %s\n"
	"auth_type = trust\nauth_file = %s/users\nadmin_users = postgres\n"
	"pool_mode = transaction\ndefault_pool_size = 1\nquery_wait_timeout = 20\n"
	"pidfile = %s/bouncer.pid\nlogfile = %s/bouncer.log\n";

static void start_bouncer(int port)
{
	char path[256];
	snprintf(path, sizeof path, "%s/bouncer.ini", server.dir);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, bouncer_settings, server.dir, server.port, port, server.dir, server.dir, server.dir,
		server.dir);
	fclose(file);
	snprintf(path, sizeof path, "%s/users", server.dir);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "\"reader\" \"second-Secret\"\n");
	fclose(file);
	if (shell(AS_POSTGRES BOUNCER " -q -d %s/bouncer.ini", server.dir) != 0)
		fail_msg("pgbouncer does not start");
	/* what was started goes into the background before it listens */
	snprintf(path, sizeof path, "host=%s port=%d user=reader dbname=postgres", server.dir, port);
	for (int i = 0; i < 3000 && PQping(path) != PQPING_OK; i++)
		usleep(20000);
}

/* What a query has left in the backend that it shares with others. */
static const char leftovers[] =
	"SELECT current_setting('default_transaction_read_only') || current_setting('statement_timeout') ||"
	" current_setting('work_mem') || (SELECT count(*) FROM pg_prepared_statements) ||"
	" (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')";

static void check_through_bouncer(struct targets *targets, const char *dsn)
{
	static const char *const leaving[] = {
		"SELECT set_config('work_mem', '7MB', false)",
		"SELECT pg_advisory_lock(7)",
		"PREPARE left AS SELECT 1",
		"SELECT pg_sleep(5)",
		"SELECT 1/0",
	};
	char before[64], after[64];
	struct test_call test;
	ask(dsn, leftovers, before, sizeof before);
	match_now(targets);
	for (size_t i = 0; i < sizeof leaving / sizeof leaving[0]; i++) {
		submit(targets, &test, leaving[i], "SELECT 1");
		const struct validation_result *result = test_call_wait(&test);
		if (result->error)
			fail_msg("%s: %s", leaving[i], result->message.ptr);
		test_call_free(&test);
		ask(dsn, leftovers, after, sizeof after);
		if (strcmp(before, after) != 0)
			fail_msg("%s: %s became %s", leaving[i], before, after);
	}
	submit(targets, &test, "SELECT id FROM sales ORDER BY id DESC LIMIT 9",
	       "SELECT id FROM sales WHERE id > 1");
	expect_match(&test);
}

/* One backend for all: within a transaction it is ours, behind it everybody's. */
static void behind_a_pooler_nothing_stays_in_the_backend(void **state)
{
	char dsn[320];
	int port = free_port();
	(void)state;
	if (access(BOUNCER, X_OK) != 0) {
		printf("skipped: pgbouncer is not installed\n");
		skip();
	}
	start_bouncer(port);
	snprintf(dsn, sizeof dsn, "host=%s port=%d user=reader dbname=postgres", server.dir, port);
	struct targets *targets = start_one(dsn);
	struct catalog *catalog = targets_catalog(targets, targets_find(targets, STR("sales")));
	assert_non_null(catalog);
	catalog_unref(catalog);
	check_through_bouncer(targets, dsn);
	targets_stop(targets);
	shell("kill $(cat %s/bouncer.pid)", server.dir);
}

/* --- TLS --- */

static void tls_is_as_strict_as_the_dsn_says(void **state)
{
	static const struct {
		const char *host, *certificate, *error;
	} cases[] = {
		{ "127.0.0.1", "server", NULL },
		{ "127.0.0.1", "other", "certificate verify failed" },
		{ "localhost", "server", "does not match host name" },
	};
	(void)state;
	for (int i = 0; i < 2; i++)
		if (shell("cd %s/data && openssl req -new -x509 -nodes -days 2 -newkey rsa:2048 -subj "
			  "/CN=127.0.0.1"
			  " -addext subjectAltName=IP:127.0.0.1 -keyout %s.key -out %s.crt >/dev/null 2>&1 &&"
			  " chmod 600 %s.key && { [ $(id -u) != 0 ] || chown postgres: %s.key; } && cp "
			  "%s.crt /tmp/%ld.%s.crt",
			  server.dir, cases[i].certificate, cases[i].certificate, cases[i].certificate,
			  cases[i].certificate, cases[i].certificate, (long)getpid(),
			  cases[i].certificate) != 0)
			skip(); /* no openssl */
	admin("ALTER SYSTEM SET ssl = on");
	admin("SELECT pg_reload_conf()");
	for (char ssl[8] = ""; strcmp(ssl, "on") != 0; sleep_ms(50))
		ask(server.socket_dsn, "SHOW ssl", ssl, sizeof ssl);
	for (size_t i = 0; i < 3; i++) {
		char dsn[400];
		struct test_call test;
		snprintf(dsn, sizeof dsn,
			 "host=%s hostaddr=127.0.0.1 port=%s user=reader dbname=postgres sslmode=verify-full "
			 "sslrootcert=/tmp/%ld.%s.crt",
			 cases[i].host, server.port, (long)getpid(), cases[i].certificate);
		struct targets *targets = start_one(dsn);
		submit(targets, &test, "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
		       "SELECT true");
		if (cases[i].error)
			expect_error(&test, ERR_TARGET_UNAVAILABLE, cases[i].error);
		else
			expect_match(&test);
		targets_stop(targets);
	}
	shell("rm -f /tmp/%ld.*.crt", (long)getpid());
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	int status = test_postgres_start(&server, "admin");
	if (status == 77)
		printf("skipped: unit.target.faults needs PostgreSQL 15\n");
	if (status != 0)
		return status;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_connection_that_was_cut_while_idle_is_not_noticed),
		cmocka_unit_test(a_changed_password_is_read_anew),
		cmocka_unit_test(a_backend_that_hangs_is_left_alone),
		cmocka_unit_test(a_network_that_hangs_is_a_flagged_error),
		cmocka_unit_test(a_worker_without_memory_is_replaced),
		cmocka_unit_test(the_search_path_is_that_of_the_role),
		cmocka_unit_test(a_conflict_with_replay_is_tried_once_more),
		cmocka_unit_test(behind_a_pooler_nothing_stays_in_the_backend),
		cmocka_unit_test(tls_is_as_strict_as_the_dsn_says),
	};
	status = cmocka_run_group_tests(tests, set_up, tear_down);
	test_postgres_do(&server, "stop");
	return status;
}
