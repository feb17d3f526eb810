/* Candidates beside the answer: run behind the truths in one snapshot, within one budget, on real databases.
 */
#include "tests/harness/fixtures/sqlite_file.h"
#include "tests/harness/servers/postgres.h"
#include "tests/unit/target/calls.h"

#include <libpq-fe.h>

#define TEXTS_MAX 8

static struct test_sqlite shop;
static struct test_postgres server;
static bool has_server;
static char server_dsn[320];
static struct targets *targets;

static const char schema[] = "CREATE TABLE shop (id INTEGER PRIMARY KEY, name TEXT, price REAL);"
			     "INSERT INTO shop VALUES (1, 'apple', 1.5), (2, 'pear', 2.25), (3, 'fig', 3);";

static int set_up(void **state)
{
	struct target_settings settings[2];
	size_t count = 1;
	(void)state;
	test_sqlite_make(&shop, schema);
	settings[0] = sqlite_settings("file", shop.path);
	if (has_server) {
		PGconn *connection = PQconnectdb(server.socket_dsn);
		PQclear(PQexec(connection, schema));
		PQclear(PQexec(connection, "CREATE ROLE reader LOGIN; GRANT SELECT ON shop TO reader"));
		PQfinish(connection);
		snprintf(server_dsn, sizeof server_dsn, "host=%s port=%s user=reader dbname=postgres",
			 server.dir, server.port);
		settings[count++] = postgresql_settings("server", server_dsn);
	}
	targets = start_targets(settings, count, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	targets_stop(targets);
	return test_sqlite_remove(&shop);
}

/* The outcomes as letters: e(qual), d(ifferent), f(ailed), l(eft out); as a digit: different, like that one
 * before. */
static const char *outcomes(const struct validation_result *result)
{
	static char text[TEXTS_MAX + 1];
	static const char letters[CANDIDATE_OUTCOME_COUNT_] = { [CANDIDATE_LEFT_OUT] = 'l',
								[CANDIDATE_EQUAL] = 'e',
								[CANDIDATE_DIFFERENT] = 'd',
								[CANDIDATE_FAILED] = 'f' };
	memset(text, 0, sizeof text);
	for (size_t i = 0; i < result->candidates_count; i++)
		text[i] = result->candidates[i].same_as == i ? letters[result->candidates[i].outcome]
							     : (char)('0' + result->candidates[i].same_as);
	return text;
}

static const struct candidates_case {
	const char *what, *answer, *truth; /* or NULL */
	bool ordered;
	const char *texts[TEXTS_MAX];
	int64_t max_rows;
	const char *outcomes;
	enum validation_status status;
	err_t error; /* of the candidates */
} cases[] = {
	{ "without a truth",
	  "SELECT name FROM shop WHERE id < 3",
	  NULL,
	  false,
	  { "SELECT name FROM shop WHERE price < 3", "SELECT name FROM shop", "SELECT nme FROM shop",
	    "SELECT name AS n FROM shop WHERE id IN (2, 1) ORDER BY 1 DESC" },
	  1000,
	  "edfe",
	  VALIDATION_GROUND_TRUTH_FAILED,
	  ERR_OK },
	{ "behind a truth that fits",
	  "SELECT count(*) FROM shop",
	  "SELECT 3",
	  false,
	  { "SELECT 2 + 1", "SELECT 4" },
	  1000,
	  "ed",
	  VALIDATION_COMPARED,
	  ERR_OK },
	{ "behind one that does not",
	  "SELECT count(*) FROM shop",
	  "SELECT 7",
	  false,
	  { "SELECT 2 + 1", "SELECT 7" },
	  1000,
	  "ed",
	  VALIDATION_COMPARED,
	  ERR_OK },
	{ "behind one that does not run",
	  "SELECT count(*) FROM shop",
	  "SELECT nothing",
	  false,
	  { "SELECT 3", "SELECT 4" },
	  1000,
	  "ed",
	  VALIDATION_GROUND_TRUTH_FAILED,
	  ERR_OK },
	{ "an answer that does not run",
	  "SELECT nothing FROM shop",
	  NULL,
	  false,
	  { "SELECT 1" },
	  1000,
	  "",
	  VALIDATION_GROUND_TRUTH_FAILED,
	  ERR_ANSWER_FAILED },
	{ "others that agree",
	  "SELECT count(*) FROM shop",
	  NULL,
	  false,
	  { "SELECT 4", "SELECT 5", "SELECT 2 + 2", "SELECT nothing", "SELECT 3", "SELECT 5.0",
	    "SELECT 4.0" },
	  1000,
	  "dd0fe10",
	  VALIDATION_GROUND_TRUTH_FAILED,
	  ERR_OK },
	{ "an answer that is sorted",
	  "SELECT id FROM shop ORDER BY id",
	  NULL,
	  true,
	  { "SELECT id FROM shop ORDER BY id DESC", "SELECT id FROM shop ORDER BY price" },
	  1000,
	  "de",
	  VALIDATION_GROUND_TRUTH_FAILED,
	  ERR_OK },
	{ "rows for the first alone",
	  "SELECT id FROM shop",
	  NULL,
	  false,
	  { "SELECT id FROM shop WHERE id > 0", "SELECT id FROM shop WHERE id > -1" },
	  3,
	  "el",
	  VALIDATION_GROUND_TRUTH_FAILED,
	  ERR_OK },
	{ "one that returns more than its share",
	  "SELECT id FROM shop",
	  NULL,
	  false,
	  { "SELECT a.id FROM shop a, shop b, shop c", "SELECT id FROM shop WHERE id > 0" },
	  20,
	  "de",
	  VALIDATION_GROUND_TRUTH_FAILED,
	  ERR_OK },
	{ "more rows, other columns and fewer rows when no row is left",
	  "SELECT id FROM shop",
	  NULL,
	  false,
	  { "SELECT id FROM shop WHERE id > 0", "SELECT a.id FROM shop a, shop b",
	    "SELECT id, name FROM shop", "SELECT id FROM shop WHERE id < 3",
	    "SELECT id FROM shop WHERE id > -1" },
	  3,
	  "edddl",
	  VALIDATION_GROUND_TRUTH_FAILED,
	  ERR_OK },
	{ "one row more than the answer",
	  "SELECT id FROM shop",
	  NULL,
	  false,
	  { "SELECT id FROM shop UNION ALL SELECT 4", "SELECT id FROM shop UNION ALL SELECT 5" },
	  1,
	  "dd",
	  VALIDATION_GROUND_TRUTH_FAILED,
	  ERR_OK },
	{ "others that agree on more rows",
	  "SELECT id FROM shop",
	  NULL,
	  false,
	  { "SELECT id FROM shop UNION ALL SELECT 4", "SELECT id FROM shop UNION ALL SELECT 2 + 2" },
	  1000,
	  "d0",
	  VALIDATION_GROUND_TRUTH_FAILED,
	  ERR_OK },
	{ "an answer without rows",
	  "SELECT id FROM shop WHERE id < 0",
	  NULL,
	  false,
	  { "SELECT id FROM shop", "SELECT id FROM shop WHERE id > 9" },
	  1,
	  "de",
	  VALIDATION_GROUND_TRUTH_FAILED,
	  ERR_OK },
	{ "an answer above the limits",
	  "SELECT 1 FROM shop a, shop b, shop c, shop d, shop e, shop f, shop g, shop h, shop i",
	  NULL,
	  false,
	  { "SELECT 1", "SELECT 1 FROM shop" },
	  1000,
	  "",
	  VALIDATION_GROUND_TRUTH_FAILED,
	  ERR_ANSWER_TOO_LARGE },
};

static void ask(struct test_call *test, const char *target, const struct candidates_case *given, str_t *texts)
{
	static const struct sql_order_key by_first = { 0, false, false };
	size_t count = 0;
	test_call_init(test, target, given->answer, given->truth);
	while (count < TEXTS_MAX && given->texts[count]) {
		texts[count] = str_from(given->texts[count]);
		count++;
	}
	test->call.candidates = (struct validation_candidates){
		.texts = texts,
		.count = count,
		.answer = { .ordered = given->ordered,
			    .order_keys = &by_first,
			    .order_keys_count = given->ordered },
		.budget_ms = PATIENCE_S * 1000,
		.max_rows = given->max_rows,
	};
}

static void run_cases(const char *target)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct test_call test;
		str_t texts[TEXTS_MAX];
		print_message("%s: %s\n", target, cases[i].what);
		ask(&test, target, &cases[i], texts);
		targets_submit(targets, &test.call);
		const struct validation_result *result = test_call_wait(&test);
		assert_string_equal(outcomes(result), cases[i].outcomes);
		assert_int_equal(result->status, cases[i].status);
		assert_int_equal(result->candidates_error, cases[i].error);
		assert_int_equal(str_present(result->candidates_message),
				 cases[i].error == ERR_ANSWER_FAILED);
		test_call_free(&test);
	}
}

static void on_a_file(void **state)
{
	(void)state;
	run_cases("file");
}

static void on_a_server(void **state)
{
	(void)state;
	if (!has_server)
		skip();
	run_cases("server");
}

/* The budget ends the one that runs, and those behind it are not begun; the truth's verdict stays. */
static void time_is_one_budget(void **state)
{
	static const struct candidates_case given = {
		"",
		"SELECT 1",
		"SELECT 1",
		false,
		{ "SELECT 2", "SELECT 1 FROM pg_sleep(60)", "SELECT 1.0" },
		1000,
		"",
		0,
		0
	};
	struct test_call test;
	str_t texts[TEXTS_MAX];
	(void)state;
	if (!has_server)
		skip();
	ask(&test, "server", &given, texts);
	test.call.candidates.budget_ms = 10000; /* the first has to come to its end in it */
	targets_submit(targets, &test.call);
	const struct validation_result *result = test_call_wait(&test);
	assert_string_equal(outcomes(result), "dll");
	assert_int_equal(result->status, VALIDATION_COMPARED);
	assert_true(result->score == 1.0);
	test_call_free(&test);
}

/* However little is left, a candidate does not get the whole time of a statement. */
static void the_shortest_budget_is_one(void **state)
{
	static const struct candidates_case given = {
		"",
		"SELECT 1",
		NULL,
		false,
		{ "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r LIMIT 5000000) "
		  "SELECT count(*) FROM r" },
		1000,
		"",
		0,
		0
	};
	struct test_call test;
	str_t texts[TEXTS_MAX];
	(void)state;
	ask(&test, "file", &given, texts);
	test.call.candidates.budget_ms = 1;
	targets_submit(targets, &test.call);
	assert_string_equal(outcomes(test_call_wait(&test)), "l");
	test_call_free(&test);
}

/* One that takes the connection with it is tried once more; what was found before it stays. */
static void a_lost_connection_is_told(void **state)
{
	static const struct candidates_case given = {
		"",
		"SELECT 1",
		NULL,
		false,
		{ "SELECT 1.0", "SELECT 1 FROM pg_terminate_backend(pg_backend_pid())", "SELECT 2" },
		1000,
		"",
		0,
		0
	};
	struct test_call test;
	str_t texts[TEXTS_MAX];
	(void)state;
	if (!has_server)
		skip();
	ask(&test, "server", &given, texts);
	targets_submit(targets, &test.call);
	const struct validation_result *result = test_call_wait(&test);
	assert_string_equal(outcomes(result), "ell");
	assert_int_equal(result->candidates_error, ERR_TARGET_LOST);
	assert_true(str_present(result->candidates_message));
	test_call_free(&test);
}

/* Of a role that may not read what the answer reads nothing follows for the answer. */
static void rights_are_no_failure(void **state)
{
	static const struct candidates_case given = {
		"", "SELECT count(*) FROM pg_authid", NULL, false, { "SELECT 1", "SELECT 2" }, 1000, "", 0, 0
	};
	struct test_call test;
	str_t texts[TEXTS_MAX];
	(void)state;
	if (!has_server)
		skip();
	ask(&test, "server", &given, texts);
	targets_submit(targets, &test.call);
	const struct validation_result *result = test_call_wait(&test);
	assert_string_equal(outcomes(result), "");
	assert_int_equal(result->candidates_error, ERR_TARGET_DENIED);
	test_call_free(&test);
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	int status = test_postgres_start_if_here(&server, "unit.target.candidates", &has_server);
	if (status != 0)
		return status;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_a_file),
		cmocka_unit_test(on_a_server),
		cmocka_unit_test(time_is_one_budget),
		cmocka_unit_test(the_shortest_budget_is_one),
		cmocka_unit_test(a_lost_connection_is_told),
		cmocka_unit_test(rights_are_no_failure),
	};
	status = cmocka_run_group_tests(tests, set_up, tear_down);
	if (has_server)
		test_postgres_do(&server, "stop");
	return status;
}
