/*
 * Results above the limits that are read in full, on a real PostgreSQL and on SQLite, through worker
 * processes: what is proven equal, what is estimated, what has no end.
 */
#include "tests/harness/fixtures/sqlite_file.h"
#include "tests/harness/servers/postgres.h"
#include "tests/unit/target/calls.h"

#include <libpq-fe.h>
#include <math.h>

#define MAX_ROWS 1000
#define ALL_ROWS 20000

static struct test_postgres server;
static bool has_server;
static struct test_sqlite file;
static struct targets *targets; /* `server` and `file` hold the same table */

#define COLUMNS                                                                                              \
	"SELECT i AS id, i % 7 AS grp, 'name ' || i AS name, i / 8.0 AS amount, i % 2 AS parity,"            \
	" (i + 1) % 2 AS other_parity"
static const char postgresql_schema[] =
	"CREATE TABLE big AS " COLUMNS " FROM generate_series(1, 20000) AS i; GRANT SELECT ON big TO PUBLIC;"
	"CREATE ROLE reader LOGIN";
static const char sqlite_schema[] =
	"CREATE TABLE big (id INTEGER, grp INTEGER, name TEXT, amount REAL, parity INTEGER, other_parity "
	"INTEGER);"
	"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)"
	" INSERT INTO big " COLUMNS " FROM n";

static void fill_server(void)
{
	PGconn *connection = PQconnectdb(server.socket_dsn);
	PGresult *result = PQexec(connection, postgresql_schema);
	if (PQresultStatus(result) != PGRES_COMMAND_OK)
		fail_msg("%s", PQerrorMessage(connection));
	PQclear(result);
	PQfinish(connection);
}

static struct target_settings stream_settings(struct target_settings settings)
{
	settings.stream_large_results = true;
	settings.max_rows = MAX_ROWS;
	settings.max_result_bytes = 1 << 20;
	settings.worker_memory_bytes = (int64_t)128 << 20;
	settings.statement_timeout_ms = 60000;
	return settings;
}

static int set_up(void **state)
{
	static char dsn[320];
	(void)state;
	test_sqlite_make(&file, sqlite_schema);
	struct target_settings settings[2] = { stream_settings(sqlite_settings("file", file.path)) };
	if (has_server) {
		fill_server();
		snprintf(dsn, sizeof dsn, "host=%s port=%s user=reader dbname=postgres", server.dir,
			 server.port);
		settings[1] = stream_settings(postgresql_settings("server", dsn));
	}
	targets = start_targets(settings, has_server ? 2 : 1, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	targets_stop(targets);
	return test_sqlite_remove(&file);
}

/* Key of a truth that is ordered by its first column. */
static const struct sql_order_key first_column = { 0, false, false };

static const struct validation_result *validate(struct test_call *test, const char *target,
						const char *generated, const char *truth, bool ordered)
{
	test_call_init(test, target, generated, truth);
	if (ordered) {
		test->truths[0].ordered = true;
		test->truths[0].order_keys = &first_column;
		test->truths[0].order_keys_count = 1;
	}
	targets_submit(targets, &test->call);
	return test_call_wait(test);
}

static const struct {
	const char *what, *generated, *truth;
	bool ordered;
	double score, rate; /* of those that are estimated: give or take 0.05 */
	bool proven;
	int64_t generated_rows;
} cases[] = {
	{ "another order", "SELECT id, name FROM big ORDER BY id DESC", "SELECT id, name FROM big", false, 1,
	  1, true, ALL_ROWS },
	{ "other names", "SELECT name AS n, id AS i FROM big", "SELECT id, name FROM big", false, 1, 1, true,
	  ALL_ROWS },
	{ "duplicates", "SELECT grp FROM big ORDER BY id DESC", "SELECT grp FROM big", false, 1, 1, true,
	  ALL_ROWS },
	{ "one row in 20,000", "SELECT CASE WHEN id = 15000 THEN 0 ELSE id END AS id FROM big",
	  "SELECT id FROM big", false, 1, 1, false, ALL_ROWS },
	{ "half of the rows, behind the limit",
	  "SELECT id, CASE WHEN id <= 10000 THEN name ELSE 'x' END AS name FROM big",
	  "SELECT id, name FROM big", false, 0.5, 0.5, false, ALL_ROWS },
	{ "a row less", "SELECT id FROM big WHERE id <> 15000", "SELECT id FROM big", false, 0.3, 1, false,
	  ALL_ROWS - 1 },
	{ "nothing", "SELECT id FROM big WHERE id < 0", "SELECT id FROM big", false, 0.3, 0, false, 0 },
	{ "the order of the truth", "SELECT id, name FROM big ORDER BY id + 0",
	  "SELECT id, name FROM big ORDER BY id", true, 1, 1, true, ALL_ROWS },
	{ "not the order of the truth", "SELECT id, name FROM big ORDER BY id DESC",
	  "SELECT id, name FROM big ORDER BY id", true, 0, 0, false, ALL_ROWS },
	{ "the order but for ties", "SELECT grp, id FROM big ORDER BY grp, id DESC",
	  "SELECT grp, id FROM big ORDER BY grp", true, 1, 1, true, ALL_ROWS },
	{ "within the tolerance", "SELECT id, amount + 0.00001 AS amount FROM big",
	  "SELECT id, amount FROM big", false, 1, 1, false, ALL_ROWS },
	{ "more columns", "SELECT id, name, grp FROM big", "SELECT id, name FROM big", false, 0.1, 0, false,
	  MAX_ROWS },
	{ "columns that hold the same bag of values",
	  "SELECT other_parity AS b, parity AS a, id AS c FROM big",
	  "SELECT parity AS x, other_parity AS y, id FROM big", false, 1, 1, true, ALL_ROWS },
	{ "a class that shows behind the limit",
	  "SELECT CAST(CASE WHEN id > 5000 THEN name ELSE '1' END AS text) AS v FROM big ORDER BY id DESC",
	  "SELECT CASE WHEN id > 5000 THEN name ELSE '1' END AS v FROM big", false, 1, 1, true, ALL_ROWS },
};

static void check_case(size_t i, const char *target)
{
	struct test_call test;
	const struct validation_result *result =
		validate(&test, target, cases[i].generated, cases[i].truth, cases[i].ordered);
	double slack = cases[i].proven ? 0 : 0.05;
	bool same = result->status == VALIDATION_COMPARED && fabs(result->score - cases[i].score) <= slack &&
		    fabs(result->content_match_rate - cases[i].rate) <= slack &&
		    result->truncated == !cases[i].proven &&
		    result->generated.rows == cases[i].generated_rows;
	if (!same)
		fail_msg("%s, %s: %s, score %g, rate %g, %s, %lld rows: " STR_FMT, target, cases[i].what,
			 target_validation_status_name(result->status), result->score,
			 result->content_match_rate, result->truncated ? "truncated" : "in full",
			 (long long)result->generated.rows, STR_ARG(result->message));
	assert_int_equal(result->ordering_matters, cases[i].ordered);
	if (result->match_rate_low.set)
		assert_true(!cases[i].proven &&
			    result->match_rate_low.value <= result->match_rate_high.value);
	test_call_free(&test);
}

static void large_results_are_compared_in_full(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		check_case(i, "file");
		if (has_server)
			check_case(i, "server");
	}
}

/* The interval is published, and holds the true rate. */
static void an_estimate_comes_with_its_interval(void **state)
{
	struct test_call test;
	(void)state;
	const struct validation_result *result = validate(
		&test, "file", "SELECT id, CASE WHEN id % 4 = 0 THEN 'x' ELSE name END AS name FROM big",
		"SELECT id, name FROM big", false);
	assert_true(result->match_rate_low.set && result->match_rate_high.set);
	assert_true(result->match_rate_low.value < 0.76 && result->match_rate_high.value > 0.74);
	assert_true(result->match_rate_high.value - result->match_rate_low.value < 0.1);
	assert_true(result->row_count_match && result->schema_match);
	test_call_free(&test);
}

/* What fits into the limits is compared as ever. */
static void small_results_are_not_read_twice(void **state)
{
	struct test_call test;
	(void)state;
	const struct validation_result *result = validate(&test, "file", "SELECT id FROM big WHERE id <= 900",
							  "SELECT id FROM big WHERE id < 901", false);
	assert_true(result->score == 1.0 && !result->truncated && !result->match_rate_low.set);
	assert_int_equal(result->truth.rows, 900);
	test_call_free(&test);
}

static void a_query_that_fails_behind_the_limit_has_failed(void **state)
{
	struct test_call test;
	(void)state;
	if (!has_server)
		return;
	static const char good[] = "SELECT id FROM big ORDER BY id";
	static const char bad[] = "SELECT id + 0 / (15000 - id) AS id FROM big ORDER BY id";
	const struct validation_result *result = validate(&test, "server", bad, good, false);
	assert_int_equal(result->status, VALIDATION_EXECUTION_FAILED);
	assert_string_equal(result->generated.sqlstate, "22012");
	assert_string_equal(result->message.ptr, "division by zero");
	assert_true(result->score == 0);
	test_call_free(&test);
	result = validate(&test, "server", good, bad, false);
	assert_int_equal(result->status, VALIDATION_GROUND_TRUTH_FAILED);
	assert_string_equal(result->truth.sqlstate, "22012");
	test_call_free(&test);
	test_call_init(&test, "server", good, bad); /* another truth still counts */
	test_call_add_truth(&test, good);
	targets_submit(targets, &test.call);
	result = test_call_wait(&test);
	assert_true(result->status == VALIDATION_COMPARED && result->score == 1.0 &&
		    result->truth_index == 1);
	assert_false(result->truncated);
	test_call_free(&test);
}

/* 150 MB pass through a worker that may hold 128 MB with all its libraries. */
static void memory_stays_constant(void **state)
{
	struct test_call test;
	(void)state;
	if (!has_server || !ADDRESS_SPACE_CAN_BE_LIMITED)
		skip();
	const struct validation_result *result =
		validate(&test, "server",
			 "SELECT repeat('x', 10000) || i AS v FROM generate_series(15000, 1, -1) AS i",
			 "SELECT repeat('x', 10000) || i AS v FROM generate_series(1, 15000) AS i", false);
	if (result->status != VALIDATION_COMPARED)
		fail_msg("%s", result->message.ptr);
	assert_true(result->score == 1.0 && !result->truncated);
	assert_int_equal(result->generated.rows, 15000);
	test_call_free(&test);
}

/* What cannot be read to its end within its time is compared as far as it was fetched. */
static void endless_results_are_compared_within_the_limits(void **state)
{
	struct test_call test;
	struct target_settings settings = stream_settings(sqlite_settings("file", file.path));
	(void)state;
	settings.statement_timeout_ms = 2500;
	struct targets *hasty = start_targets(&settings, 1, NULL);
	static const char endless[] =
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
	test_call_init(&test, "file", endless, endless);
	targets_submit(hasty, &test.call);
	const struct validation_result *result = test_call_wait(&test);
	assert_int_equal(result->status, VALIDATION_COMPARED);
	assert_true(result->score == 1.0 && result->truncated && !result->match_rate_low.set);
	assert_int_equal(result->generated.rows, MAX_ROWS);
	test_call_free(&test);
	targets_stop(hasty);
}

/* One row above the byte limit ends the reading. */
static void a_row_above_the_limit_is_not_read(void **state)
{
	struct test_call test;
	(void)state;
	if (!has_server)
		return;
	static const char wide[] = "SELECT repeat('x', CASE WHEN i = 5000 THEN 2000000 ELSE 1 END) AS v"
				   " FROM generate_series(1, 6000) AS i";
	const struct validation_result *result = validate(&test, "server", wide, wide, false);
	assert_true(result->status == VALIDATION_COMPARED && result->truncated);
	assert_int_equal(result->generated.rows, MAX_ROWS);
	test_call_free(&test);
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	int status = test_postgres_start_if_here(&server, "unit.target.stream", &has_server);
	if (status != 0)
		return status;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_results_are_compared_in_full),
		cmocka_unit_test(an_estimate_comes_with_its_interval),
		cmocka_unit_test(small_results_are_not_read_twice),
		cmocka_unit_test(a_query_that_fails_behind_the_limit_has_failed),
		cmocka_unit_test(memory_stays_constant),
		cmocka_unit_test(endless_results_are_compared_within_the_limits),
		cmocka_unit_test(a_row_above_the_limit_is_not_read),
	};
	status = cmocka_run_group_tests(tests, set_up, tear_down);
	if (has_server)
		test_postgres_do(&server, "stop");
	return status;
}
