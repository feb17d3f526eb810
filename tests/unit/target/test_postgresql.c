/* Validation on a real PostgreSQL, through real worker processes. */
#include "tests/harness/servers/postgres.h"
#include "tests/unit/target/cases.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <signal.h>
#include <sys/stat.h>

#define PASSWORD "s3cret-Passw0rd"

static struct test_postgres server;
static char reader_dsn[320];
static char password_file[256], wrong_file[256];
static struct targets *targets; /* one target `sales` with the reader's role */

static const char schema[] =
	"CREATE TABLE sales (id int PRIMARY KEY, region text, amount numeric(10,2), sold_at timestamptz, "
	"tags text[],"
	" extra jsonb, raw bytea, ok boolean);"
	"INSERT INTO sales SELECT i, (ARRAY['north','south','east'])[1 + i % 3], i * 1.5,"
	" '2024-01-01 00:00+00'::timestamptz + i * interval '1 hour', ARRAY['a', i::text],"
	" jsonb_build_object('k', i), decode(lpad(to_hex(i), 4, '0'), 'hex'), i % 2 = 0"
	" FROM generate_series(1, 30) AS i;"
	"CREATE ROLE reader LOGIN PASSWORD '" PASSWORD "';"
	"GRANT SELECT ON sales TO reader;";

/* Runs statements as the superuser. */
static void admin(const char *sql)
{
	PGconn *connection = PQconnectdb(server.socket_dsn);
	PGresult *result = PQexec(connection, sql);
	ExecStatusType status = PQresultStatus(result);
	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		fail_msg("%s", PQerrorMessage(connection));
	PQclear(result);
	PQfinish(connection);
}

static void write_secret(char *path, size_t size, const char *name, const char *secret)
{
	snprintf(path, size, "/tmp/assayd-test-%ld-%s", (long)getpid(), name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file, "%s\n", secret);
	fclose(file);
}

static struct target_settings reader_settings(void)
{
	struct target_settings settings = postgresql_settings("sales", reader_dsn);
	settings.password_file = password_file;
	settings.worker_memory_bytes = (int64_t)256 << 20;
	return settings;
}

static int set_up(void **state)
{
	(void)state;
	admin(schema);
	snprintf(reader_dsn, sizeof reader_dsn, "host=127.0.0.1 port=%s user=reader dbname=postgres",
		 server.port);
	write_secret(password_file, sizeof password_file, "right", PASSWORD);
	write_secret(wrong_file, sizeof wrong_file, "wrong", "another-Secret");
	struct target_settings settings = reader_settings();
	settings.connections = 4;
	targets = start_targets(&settings, 1, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	targets_stop(targets);
	unlink(password_file);
	unlink(wrong_file);
	return 0;
}

/* Runs one pair of queries; the result lives until the call is freed. */
static const struct validation_result *validate(struct test_call *test, const char *generated,
						const char *truth)
{
	return run_pair(targets, "sales", test, generated, truth);
}

static const struct compared_case compared_cases[] = {
	{ "the same query", "SELECT id, amount FROM sales", "SELECT id, amount FROM sales", 1.0, 30, 30 },
	{ "another order", "SELECT id FROM sales ORDER BY id DESC", "SELECT id FROM sales", 1.0, 30, 30 },
	{ "another name", "SELECT sum(amount) FROM sales", "SELECT sum(amount) AS total FROM sales", 1.0, 1,
	  1 },
	{ "a float for a decimal", "SELECT sum(amount)::float8 FROM sales", "SELECT sum(amount) FROM sales",
	  1.0, 1, 1 },
	{ "other values", "SELECT sum(amount) + 1 FROM sales", "SELECT sum(amount) FROM sales", 0.0, 1, 1 },
	{ "more columns", "SELECT id, region FROM sales", "SELECT id FROM sales", 0.1, 30, 30 },
	{ "fewer rows", "SELECT id FROM sales WHERE id > 1", "SELECT id FROM sales", 0.3, 29, 30 },
	{ "both empty", "SELECT id FROM sales WHERE id < 0", "SELECT id FROM sales WHERE false", 1.0, 0, 0 },
	{ "all kinds of types", "SELECT * FROM sales", "SELECT * FROM sales", 1.0, 30, 30 },
	{ "nulls", "SELECT NULL::int", "SELECT NULL::int", 1.0, 1, 1 },
	{ "null is not zero", "SELECT 0", "SELECT NULL::int", 0.0, 1, 1 },
	{ "27 of 30 rows", "SELECT CASE WHEN id < 4 THEN -id ELSE id END FROM sales", "SELECT id FROM sales",
	  0.8, 30, 30 },
	{ "a backslash in a string", "SELECT '\\'", "SELECT chr(92)", 1.0, 1, 1 },
	{ "texts in an array", "SELECT ARRAY['007']", "SELECT ARRAY['7']", 0.0, 1, 1 },
	{ "equal texts in an array", "SELECT ARRAY['007']", "SELECT ARRAY['007'::varchar]", 1.0, 1, 1 },
	{ "numbers in an array", "SELECT ARRAY[1.50, 2]", "SELECT ARRAY[1.5, 2.0]::float8[]", 1.0, 1, 1 },
	{ "SHOW", "SHOW server_encoding", "SELECT 'UTF8'", 1.0, 1, 1 },
};

static void results_are_compared(void **state)
{
	(void)state;
	check_compared(targets, "sales", compared_cases, sizeof compared_cases / sizeof compared_cases[0]);
}

static const struct tie_case tie_cases[] = {
	{ "any row that ties is right", "SELECT 29 AS id",
	  "SELECT id FROM sales ORDER BY region = 'east' DESC FETCH FIRST ROW ONLY", true },
	{ "another row is right, too", "SELECT 30 AS id",
	  "SELECT id FROM sales ORDER BY region = 'east' DESC FETCH FIRST ROW ONLY", false },
	{ "what has the key is believed", "SELECT 'south' AS region, 99 AS id",
	  "SELECT region, id FROM sales ORDER BY region DESC LIMIT 1", false },
	{ "a tie at the start is punished", "SELECT 'south' AS region, 1 AS id",
	  "SELECT region, id FROM sales ORDER BY region DESC OFFSET 4 ROWS FETCH NEXT 1 ROWS ONLY", true },
	{ "a LIMIT within brackets cuts", "SELECT 'south' AS region, 99 AS id",
	  "SELECT region, id FROM (SELECT * FROM sales ORDER BY id LIMIT 1) AS s ORDER BY region", false },
	{ "a collation that knows no case is forgotten",
	  "SELECT v, id FROM words ORDER BY v COLLATE any_case, id DESC",
	  "SELECT v, id FROM words ORDER BY v COLLATE any_case", true },
	{ "a collation of the column is forgotten", "SELECT w, id FROM words ORDER BY w DESC, id DESC",
	  "SELECT w, id FROM words ORDER BY w DESC", true },
	{ "letters of another case tie in any collation", "SELECT v, id FROM words ORDER BY w, id DESC",
	  "SELECT v, id FROM words ORDER BY v COLLATE \"C\"", false },
	{ "a collation is lost in an alias", "SELECT w AS v, id FROM words ORDER BY id <> 2, id",
	  "SELECT w AS v, id FROM words ORDER BY v", true },
	{ "a collation ties all behind a position", "SELECT w AS v, 1 FROM words ORDER BY id DESC",
	  "SELECT w AS v, 1 FROM words ORDER BY 2, v NULLS FIRST", false },
	{ "a collation is lost in a union", "SELECT 'ann' AS w UNION ALL SELECT 'Ann' UNION ALL SELECT 'b'",
	  "SELECT w FROM words WHERE id < 3 UNION ALL SELECT 'b' ORDER BY 1", true },
	{ "a tie at a cut by a collation is punished", "SELECT 'ann' AS w",
	  "WITH a AS (SELECT * FROM words) SELECT w FROM a ORDER BY w LIMIT 1", true },
	{ "intervals tie by their text alone", "SELECT '30 days'::interval AS i UNION ALL SELECT '1 mon'",
	  "SELECT i FROM (VALUES ('1 mon'::interval), ('30 days')) AS t (i) ORDER BY i", true },
	{ "a key that changes from run to run is ranked", "SELECT v, id FROM words ORDER BY id DESC",
	  "SELECT v, id FROM words ORDER BY id, (v || random())", false },
};

static void truths_may_be_tables(void **state)
{
	(void)state;
	static const struct table_case cases[] = {
		{ .fault = "types",
		  .generated = "SELECT sold_at, tags, extra, raw, ok, amount FROM sales WHERE id = 2",
		  .columns = "sold_at|tags|extra|raw|ok|amount",
		  .rows = "2024-01-01 02:00+00|{a,2}|{ \"k\": 2.0 }|\\x0002|true|3\n",
		  .score = 1 },
	};
	check_common_tables(targets, "sales", SQL_POSTGRESQL);
	check_tables(targets, "sales", SQL_POSTGRESQL, cases, sizeof cases / sizeof cases[0]);
	check_broken_tables(targets, "sales");
}

static void ties_are_asked_for(void **state)
{
	(void)state;
	admin("CREATE COLLATION any_case (PROVIDER = icu, LOCALE = 'und-u-ks-level2', DETERMINISTIC = false);"
	      "CREATE TABLE words (id int, v text, w text COLLATE any_case);"
	      "INSERT INTO words VALUES (1, 'Ann', 'Ann'), (2, 'ann', 'ann'), (3, 'bob', 'bob');"
	      "GRANT SELECT ON words TO reader");
	check_ties(targets, "sales", SQL_POSTGRESQL, tie_cases, sizeof tie_cases / sizeof tie_cases[0]);
	admin("DROP TABLE words; DROP COLLATION any_case");
}

static const struct {
	const char *generated;
	enum validation_status status;
	const char *sqlstate, *message;
} failing_cases[] = {
	{ "SELECT 1 FROM nowhere", VALIDATION_EXECUTION_FAILED, "42P01",
	  "relation \"nowhere\" does not exist" },
	{ "SELECT nothing FROM sales", VALIDATION_EXECUTION_FAILED, "42703",
	  "column \"nothing\" does not exist" },
	{ "SELEC 1", VALIDATION_EXECUTION_FAILED, "42601", "syntax error at or near \"SELEC\"" },
	{ "SELECT 1/0", VALIDATION_EXECUTION_FAILED, "22012", "division by zero" },
	{ "SELECT 1 / (20 - id) FROM sales ORDER BY id", VALIDATION_EXECUTION_FAILED, "22012",
	  "division by zero" },
	{ "SELECT 1; SELECT 2", VALIDATION_EXECUTION_FAILED, "42601",
	  "cannot insert multiple commands into a prepared statement" },
	{ "SELECT $1::int", VALIDATION_EXECUTION_FAILED, "08P01",
	  "bind message supplies 0 parameters, but prepared statement \"\" requires 1" },
	{ "DELETE FROM sales", VALIDATION_EXECUTION_FAILED, "25006",
	  "cannot execute DELETE in a read-only transaction" },
	{ "SELECT 1 FROM pg_authid", VALIDATION_EXECUTION_FAILED, "42501",
	  "permission denied for table pg_authid" },
	{ "CREATE TEMP TABLE t (i int)", VALIDATION_EXECUTION_FAILED, "25006",
	  "cannot execute CREATE TABLE in a read-only transaction" },
	{ "SET work_mem = '1MB'", VALIDATION_EXECUTION_FAILED, "", "the statement returns no result" },
	{ "", VALIDATION_EXECUTION_FAILED, "", "the statement returns no result" },
	{ "COPY sales TO STDOUT", VALIDATION_EXECUTION_FAILED, "", "COPY is not a query" },
	{ "COMMIT", VALIDATION_EXECUTION_FAILED, "", "the statement returns no result" },
	{ "SELECT pg_sleep(30)", VALIDATION_TIMEOUT, "57014",
	  "canceling statement due to statement timeout" },
};

/* After each of them the session goes on to serve the next. */
static void a_failing_query_scores_nothing(void **state)
{
	(void)state;
	struct target_settings settings = reader_settings();
	settings.statement_timeout_ms = 2000;
	struct targets *hasty = start_targets(&settings, 1, NULL);
	for (size_t i = 0; i < sizeof failing_cases / sizeof failing_cases[0]; i++) {
		struct test_call test;
		const struct validation_result *result =
			run_pair(failing_cases[i].status == VALIDATION_TIMEOUT ? hasty : targets, "sales",
				 &test, failing_cases[i].generated, "SELECT 1");
		if (result->status != failing_cases[i].status)
			fail_msg("%s: %s " STR_FMT, failing_cases[i].generated,
				 target_validation_status_name(result->status), STR_ARG(result->message));
		assert_int_equal(result->error, ERR_OK);
		assert_true(result->score == 0.0);
		assert_string_equal(result->generated.sqlstate, failing_cases[i].sqlstate);
		assert_string_equal(result->message.ptr, failing_cases[i].message);
		assert_int_equal(result->truth.rows, 1);
		test_call_free(&test);
	}
	targets_stop(hasty);
}

static void a_broken_truth_is_flagged(void **state)
{
	(void)state;
	static const char *const generated[] = { "SELECT 1", "SELECT broken" };
	for (size_t i = 0; i < 2; i++) {
		struct test_call test;
		const struct validation_result *result =
			validate(&test, generated[i], "SELECT gone FROM sales");
		assert_int_equal(result->status, VALIDATION_GROUND_TRUTH_FAILED);
		assert_int_equal(result->error, ERR_GROUND_TRUTH_FAILED);
		assert_true(result->score == 0.0);
		assert_string_equal(result->truth.sqlstate, "42703");
		assert_string_equal(result->message.ptr, "column \"gone\" does not exist");
		test_call_free(&test);
	}
}

static void what_the_role_may_not_read_is_no_verdict(void **state)
{
	(void)state;
	admin("CREATE TABLE vault (id int); CREATE SCHEMA cellar; CREATE TABLE cellar.wine (id int)");
	check_denied(targets, "sales", "SELECT id FROM vault", "42501", "permission denied for table vault");
	check_denied(targets, "sales", "SELECT id FROM cellar.wine", "42501",
		     "permission denied for schema cellar");
	admin("DROP TABLE vault; DROP SCHEMA cellar CASCADE");
}

static void letters_that_are_digits_and_money(void **state)
{
	(void)state;
	static const struct compared_case cases[] = {
		{ "a UUID", "SELECT upper('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11')",
		  "SELECT 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid", 1.0, 1, 1 },
		{ "money", "SELECT 1234.5::money", "SELECT 1234.50::numeric", 1.0, 1, 1 },
		{ "a debt", "SELECT (-0.5)::money", "SELECT -0.5::float8", 1.0, 1, 1 },
		{ "other money", "SELECT 1234.5::money", "SELECT 1234.51::numeric", 0.0, 1, 1 },
		{ "bytes", "SELECT upper('\\xab'::bytea::text)", "SELECT '\\xab'::bytea::text", 1.0, 1, 1 },
		{ "bytes and their type", "SELECT upper('\\xab'::bytea::text)", "SELECT '\\xab'::bytea", 1.0,
		  1, 1 },
	};
	check_compared(targets, "sales", cases, sizeof cases / sizeof cases[0]);
}

static void no_truth_is_a_broken_one(void **state)
{
	struct test_call test;
	(void)state;
	const struct validation_result *result = validate(&test, "SELECT 1", NULL);
	assert_int_equal(result->status, VALIDATION_GROUND_TRUTH_FAILED);
	assert_int_equal(result->error, ERR_GROUND_TRUTH_FAILED);
	test_call_free(&test);
}

static const struct {
	const char *generated, *truths[3];
	enum validation_status status;
	double score;
	size_t index;
} truths_cases[] = {
	{ "SELECT 7", { "SELECT 1", "SELECT 7", "SELECT 8" }, VALIDATION_COMPARED, 1.0, 1 },
	{ "SELECT 7", { "SELECT 7", "SELECT gone", "SELECT 8" }, VALIDATION_COMPARED, 1.0, 0 },
	{ "SELECT 7", { "SELECT gone", "SELECT 1, 2", "SELECT 7 LIMIT 0" }, VALIDATION_COMPARED, 0.3, 2 },
	{ "SELECT 7", { "SELECT gone", "SELECT gone", "SELECT 7" }, VALIDATION_COMPARED, 1.0, 2 },
	{ "SELECT x", { "SELECT gone", "SELECT 1", "SELECT 7" }, VALIDATION_EXECUTION_FAILED, 0.0, 1 },
	{ "SELECT 7",
	  { "SELECT gone", "SELECT gone", "SELECT gone" },
	  VALIDATION_GROUND_TRUTH_FAILED,
	  0.0,
	  2 },
};

static void the_best_truth_counts(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof truths_cases / sizeof truths_cases[0]; i++) {
		struct test_call test;
		test_call_init(&test, "sales", truths_cases[i].generated, truths_cases[i].truths[0]);
		test_call_add_truth(&test, truths_cases[i].truths[1]);
		test_call_add_truth(&test, truths_cases[i].truths[2]);
		targets_submit(targets, &test.call);
		const struct validation_result *result = test_call_wait(&test);
		assert_int_equal(result->status, truths_cases[i].status);
		assert_true(result->score == truths_cases[i].score);
		assert_int_equal(result->truth_index, truths_cases[i].index);
		test_call_free(&test);
	}
}

static void order_counts_when_the_truth_has_one(void **state)
{
	static const struct sql_order_key key = { 0, false, false };
	(void)state;
	for (int ordered = 0; ordered < 2; ordered++) {
		struct test_call test;
		test_call_init(&test, "sales", "SELECT id FROM sales ORDER BY id DESC",
			       "SELECT id FROM sales ORDER BY id");
		test.truths[0].ordered = ordered;
		test.truths[0].order_keys = &key;
		test.truths[0].order_keys_count = 1;
		targets_submit(targets, &test.call);
		const struct validation_result *result = test_call_wait(&test);
		assert_int_equal(result->ordering_matters, ordered);
		assert_true(ordered ? result->score < 0.5 : result->score == 1.0);
		test_call_free(&test);
	}
}

static void too_many_rows_are_cut(void **state)
{
	(void)state;
	check_rows_cut(targets, "sales", "SELECT i FROM generate_series(1, 1000000) AS i");
}

static void too_many_bytes_are_cut(void **state)
{
	(void)state;
	check_bytes_cut(targets, "sales", "SELECT repeat('x', 1000000) FROM generate_series(1, 40)");
}

static void results_up_to_the_limits_fit_into_the_worker(void **state)
{
	struct buf wide = BUF_INIT;
	(void)state;
	buf_append_text(&wide, "SELECT i");
	for (int i = 0; i < 150; i++)
		buf_printf(&wide, ", i + %d AS c%d", i, i);
	buf_append_text(&wide, " FROM generate_series(1, 10000) AS i");
	struct target_settings settings = reader_settings();
	settings.statement_timeout_ms = 120000;
	check_large_results_fit(settings, "SELECT i, repeat('x', 6000) FROM generate_series(1, 10000) AS i",
				wide.data);
	buf_free(&wide);
}

/* A value that does not fit into the worker's memory costs a connection at most. */
static void a_huge_value_is_a_failed_query(void **state)
{
	(void)state;
	if (!ADDRESS_SPACE_CAN_BE_LIMITED)
		skip();
	struct target_settings settings = reader_settings();
	settings.statement_timeout_ms = 120000; /* the server takes its time */
	struct targets *patient = start_targets(&settings, 1, NULL);
	check_huge_value(patient, "sales", "SELECT repeat(repeat('x', 1000), 300000)");
	targets_stop(patient);
}

/* The truth's query waits for a commit that happens between the two. */
static void both_queries_see_one_snapshot(void **state)
{
	(void)state;
	admin("CREATE TABLE moving (i int); GRANT SELECT ON moving TO reader; INSERT INTO moving VALUES (1)");
	check_undisturbed(targets, "sales", "SELECT count(*) FROM moving",
			  "SELECT count(*) FROM moving, (SELECT pg_sleep(1)) AS pause", admin,
			  "INSERT INTO moving VALUES (2)");
}

/* A truth that was run lately is not run again for a query that matches it; one that does not match it is
 * compared with a fresh one. */
static void cached_truths_are_believed_only_when_they_match(void **state)
{
	static const char truth[] = "SELECT count(*) FROM counted, (SELECT pg_sleep(0.5)) AS pause";
	static const struct {
		const char *generated, *change;
		double score;
		bool cached;
	} cases[] = {
		{ "SELECT count(*) FROM counted", "INSERT INTO counted VALUES (1)", 1.0, false },
		{ "SELECT count(i) FROM counted", "SELECT 1", 1.0, true },
		{ "SELECT count(i) FROM counted", "INSERT INTO counted VALUES (2)", 1.0, false },
		{ "SELECT 1", "SELECT 1", 0.0, false },
		{ "SELECT 2", "SELECT 1", 1.0, true },
		{ "SELECT broken", "SELECT 1", 0.0, false },
	};
	(void)state;
	admin("CREATE TABLE counted (i int); GRANT SELECT ON counted TO reader");
	struct target_settings settings = reader_settings();
	struct targets *single = start_targets(&settings, 1, NULL);
	targets_wait_catalogs(single, 30000);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct test_call test;
		admin(cases[i].change);
		test_call_init(&test, "sales", cases[i].generated, truth);
		targets_submit(single, &test.call);
		const struct validation_result *result = test_call_wait(&test);
		assert_true(result->score == cases[i].score);
		assert_int_equal(result->truth_cached, cases[i].cached);
		assert_true(result->truth.time_ms >= 500);
		test_call_free(&test);
	}
	targets_stop(single);
}

static void nothing_can_be_written(void **state)
{
	struct test_call test;
	(void)state;
	admin("CREATE TABLE writable (i int); GRANT ALL ON writable TO reader");
	const struct validation_result *result =
		validate(&test, "INSERT INTO writable VALUES (1) RETURNING i", "SELECT 1");
	assert_int_equal(result->status, VALIDATION_EXECUTION_FAILED);
	assert_string_equal(result->generated.sqlstate, "25006");
	test_call_free(&test);
}

/* What a query leaves in the session does not reach the next one. */
static void sessions_are_wiped(void **state)
{
	struct test_call test;
	(void)state;
	for (int i = 0; i < 4; i++) {
		validate(&test, "SELECT set_config('datestyle', 'German', false)", "SELECT 'German'");
		test_call_free(&test);
	}
	const struct validation_result *result =
		validate(&test, "SELECT DATE '2024-02-01' || current_setting('transaction_read_only')",
			 "SELECT '2024-02-01on'");
	assert_true(result->score == 1.0);
	test_call_free(&test);
}

static void connections_work_side_by_side(void **state)
{
	static const char sleeping[] =
		"SELECT FROM pg_stat_activity WHERE usename = 'reader' AND wait_event = "
		"'PgSleep'";
	struct test_call tests[4];
	int most = 0;
	(void)state;
	PGconn *observer = PQconnectdb(server.socket_dsn);
	for (size_t i = 0; i < 4; i++) {
		test_call_init(&tests[i], "sales", "SELECT 1", "SELECT 1 FROM pg_sleep(5)");
		targets_submit(targets, &tests[i].call);
	}
	for (int i = 0; i < 500 && most < 2; i++) {
		PGresult *result = PQexec(observer, sleeping);
		most = PQntuples(result) > most ? PQntuples(result) : most;
		PQclear(result);
		sleep_ms(10);
	}
	PQfinish(observer);
	for (size_t i = 0; i < 4; i++) {
		assert_true(test_call_wait(&tests[i])->score == 1.0);
		test_call_free(&tests[i]);
	}
	assert_true(most >= 2);
}

/* The target goes on with the connections that it can have. */
static void fewer_connections_than_configured_are_enough(void **state)
{
	struct test_call tests[12];
	(void)state;
	admin("CREATE ROLE narrow LOGIN CONNECTION LIMIT 2");
	char dsn[320];
	snprintf(dsn, sizeof dsn, "%s user=narrow", server.socket_dsn);
	struct target_settings settings = postgresql_settings("narrow", dsn);
	settings.connections = 4;
	struct targets *narrow = start_targets(&settings, 1, NULL);
	targets_wait_catalogs(narrow, 30000);
	for (size_t i = 0; i < 12; i++) {
		test_call_init(&tests[i], "narrow", "SELECT 1", "SELECT 1 FROM pg_sleep(0.2)");
		targets_submit(narrow, &tests[i].call);
	}
	for (size_t i = 0; i < 12; i++) {
		const struct validation_result *result = test_call_wait(&tests[i]);
		if (result->score != 1.0)
			fail_msg("call %zu: %s", i, result->message.ptr);
		test_call_free(&tests[i]);
	}
	targets_stop(narrow);
}

static void a_lock_is_not_the_fault_of_the_query(void **state)
{
	(void)state;
	PGconn *holder = PQconnectdb(server.socket_dsn);
	PQclear(PQexec(holder, "BEGIN"));
	PQclear(PQexec(holder, "LOCK TABLE sales IN ACCESS EXCLUSIVE MODE"));
	check_locked(targets, "sales", "SELECT id FROM sales");
	PQfinish(holder);
}

/* --- failures of the target --- */

static void a_killed_backend_is_tried_once_more(void **state)
{
	(void)state;
	check_undisturbed(targets, "sales", "SELECT 1", "SELECT 1 FROM pg_sleep(1.1)", admin,
			  "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'");
}

/* The last test: idle connections are lost, calls fail quickly, and all is well again afterwards. */
static void a_stopped_server_comes_back(void **state)
{
	(void)state;
	assert_int_equal(test_postgres_do(&server, "halt"), 0);
	check_away(targets, "sales", "refused");
	assert_int_equal(test_postgres_do(&server, "resume"), 0);
	check_back(targets, "sales");
}

static void a_wrong_password_is_said_without_it(void **state)
{
	struct target_settings settings = reader_settings();
	struct test_call test;
	(void)state;
	settings.password_file = wrong_file;
	struct targets *wrong = start_targets(&settings, 1, NULL);
	test_call_init(&test, "sales", "SELECT 1", "SELECT 1");
	targets_submit(wrong, &test.call);
	const struct validation_result *result = test_call_wait(&test);
	assert_int_equal(result->error, ERR_TARGET_UNAVAILABLE);
	assert_non_null(strstr(result->message.ptr, "password authentication failed for user \"reader\""));
	assert_null(strstr(result->message.ptr, "another-Secret"));
	targets_stop(wrong);
	test_call_free(&test);
}

static void check_says_what_a_role_may_do(void **state)
{
	struct target_settings settings = reader_settings();
	struct err_detail detail = { "" };
	struct arena *arena = arena_new();
	str_t notes;
	(void)state;
	admin("REVOKE ALL ON writable FROM reader; ALTER ROLE reader SET default_transaction_read_only = on;"
	      "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader");
	assert_int_equal(target_check(&settings, arena, &notes, &detail), ERR_OK);
	assert_string_equal(notes.ptr, "");
	admin("GRANT INSERT ON writable TO reader; ALTER ROLE reader RESET default_transaction_read_only");
	assert_int_equal(target_check(&settings, arena, &notes, &detail), ERR_OK);
	assert_non_null(strstr(notes.ptr, "may write 1 tables, for example writable"));
	assert_non_null(strstr(notes.ptr, "may write by default"));
	assert_null(strstr(notes.ptr, "superuser"));
	settings.dsn = server.socket_dsn;
	assert_int_equal(target_check(&settings, arena, &notes, &detail), ERR_OK);
	assert_non_null(strstr(notes.ptr, "the role \"postgres\" is a superuser"));
	settings.dsn = "host=127.0.0.1 port=1 user=reader";
	assert_int_equal(target_check(&settings, arena, &notes, &detail), ERR_TARGET_UNAVAILABLE);
	assert_non_null(strstr(detail.message, "target \"sales\": connection to server"));
	arena_free(arena);
}

/* A role that logs in and may read nothing, and one that may read what was there before the last tables. */
static void check_counts_what_a_role_can_read(void **state)
{
	struct target_settings settings = reader_settings();
	struct err_detail detail = { "" };
	struct target_statistics statistics;
	char dsn[320];
	struct arena *arena = arena_new();
	str_t notes;
	(void)state;
	admin("CREATE DATABASE counted");
	admin("CREATE ROLE blind LOGIN; CREATE ROLE \"Owner\"");
	snprintf(dsn, sizeof dsn, "%s dbname=counted", server.socket_dsn);
	PGconn *connection = PQconnectdb(dsn);
	PQclear(PQexec(connection,
		       "CREATE TABLE a (i int); CREATE TABLE b (i int) PARTITION BY LIST (i);"
		       "CREATE TABLE b1 PARTITION OF b FOR VALUES IN (1); CREATE VIEW c AS SELECT 1;"
		       "ALTER TABLE a OWNER TO \"Owner\";"
		       "ALTER ROLE blind SET default_transaction_read_only = on"));
	snprintf(dsn, sizeof dsn, "host=%s port=%s user=blind dbname=counted", server.dir, server.port);
	settings.dsn = dsn;
	settings.password_file = NULL;
	assert_int_equal(target_check(&settings, arena, &notes, &detail), ERR_OK);
	assert_string_equal(notes.ptr,
			    "the role \"blind\" can read 0 of 3 tables and views, not public.a for example,"
			    " and results of their queries are UNAVAILABLE: GRANT USAGE ON SCHEMA public TO"
			    " blind; GRANT SELECT ON ALL TABLES IN SCHEMA public TO blind; and for those made"
			    " later ALTER DEFAULT PRIVILEGES FOR ROLE \"Owner\" IN SCHEMA public GRANT SELECT"
			    " ON TABLES TO blind");
	PQclear(PQexec(connection, "GRANT SELECT (i) ON a TO blind; GRANT SELECT ON c TO blind"));
	assert_int_equal(target_check(&settings, arena, &notes, &detail), ERR_OK);
	assert_non_null(strstr(notes.ptr, "can read 2 of 3 tables and views, not public.b for example"));
	PQclear(PQexec(connection, "GRANT SELECT ON b TO blind"));
	assert_int_equal(target_check(&settings, arena, &notes, &detail), ERR_OK);
	assert_string_equal(notes.ptr, "");
	PQclear(PQexec(connection, "REVOKE SELECT ON b FROM blind"));
	struct targets *blind = start_targets(&settings, 1, NULL);
	check_denied(blind, "sales", "SELECT i FROM b", "42501", "permission denied for table b");
	targets_statistics(blind, 0, &statistics);
	assert_int_equal(statistics.denied, 3);
	targets_stop(blind);
	PQfinish(connection);
	arena_free(arena);
}

static void catalogs_are_read(void **state)
{
	(void)state;
	targets_wait_catalogs(targets, 30000);
	const struct target_settings *settings = targets_find(targets, STR("sales"));
	assert_non_null(settings);
	assert_null(targets_find(targets, STR("other")));
	struct catalog *catalog = targets_catalog(targets, settings);
	assert_non_null(catalog);
	assert_int_equal(catalog_dialect(catalog), SQL_POSTGRESQL);
	assert_non_null(strstr(catalog_source(catalog).ptr, "sold_at"));
	assert_true(clock_wall_ms() - catalog_read_at_ms(catalog) < 60000);
	catalog_unref(catalog);
}

/* A new table is seen after the first suspicion; the second comes too early. */
static void a_suspected_catalog_is_read_again(void **state)
{
	(void)state;
	const struct target_settings *settings = targets_find(targets, STR("sales"));
	static const char *const created[] = { "brand_new_1", "brand_new_2" };
	for (int i = 0; i < 2; i++) {
		char sql[64];
		snprintf(sql, sizeof sql, "CREATE TABLE %s (i int)", created[i]);
		admin(sql);
		targets_catalog_suspect(targets, settings);
		bool seen = false;
		for (int round = 0; round < 50 && !seen; round++) {
			sleep_ms(i == 0 ? 100 : 20);
			struct catalog *catalog = targets_catalog(targets, settings);
			seen = strstr(catalog_source(catalog).ptr, created[i]) != NULL;
			catalog_unref(catalog);
		}
		assert_int_equal(seen, i == 0);
	}
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	int status = test_postgres_start(&server, "admin");
	if (status == 77)
		printf("skipped: unit.target.postgresql needs PostgreSQL 15\n");
	if (status != 0)
		return status;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(catalogs_are_read),
		cmocka_unit_test(a_suspected_catalog_is_read_again),
		cmocka_unit_test(results_are_compared),
		cmocka_unit_test(truths_may_be_tables),
		cmocka_unit_test(ties_are_asked_for),
		cmocka_unit_test(a_failing_query_scores_nothing),
		cmocka_unit_test(a_broken_truth_is_flagged),
		cmocka_unit_test(what_the_role_may_not_read_is_no_verdict),
		cmocka_unit_test(letters_that_are_digits_and_money),
		cmocka_unit_test(no_truth_is_a_broken_one),
		cmocka_unit_test(the_best_truth_counts),
		cmocka_unit_test(order_counts_when_the_truth_has_one),
		cmocka_unit_test(too_many_rows_are_cut),
		cmocka_unit_test(too_many_bytes_are_cut),
		cmocka_unit_test(results_up_to_the_limits_fit_into_the_worker),
		cmocka_unit_test(a_huge_value_is_a_failed_query),
		cmocka_unit_test(both_queries_see_one_snapshot),
		cmocka_unit_test(cached_truths_are_believed_only_when_they_match),
		cmocka_unit_test(nothing_can_be_written),
		cmocka_unit_test(sessions_are_wiped),
		cmocka_unit_test(connections_work_side_by_side),
		cmocka_unit_test(fewer_connections_than_configured_are_enough),
		cmocka_unit_test(a_lock_is_not_the_fault_of_the_query),
		cmocka_unit_test(a_killed_backend_is_tried_once_more),
		cmocka_unit_test(a_wrong_password_is_said_without_it),
		cmocka_unit_test(check_says_what_a_role_may_do),
		cmocka_unit_test(check_counts_what_a_role_can_read),
		cmocka_unit_test(a_stopped_server_comes_back),
	};
	status = cmocka_run_group_tests(tests, set_up, tear_down);
	test_postgres_do(&server, "stop");
	return status;
}
