/* Validation on a real MariaDB, through real worker processes. */
#include "mariadb_server.h"
#include "tests/unit/target/cases.h"

#include <signal.h>
#include <sys/stat.h>

static char reader_dsn[320];
static struct targets *targets; /* one target `shop` with the reader's account */

/* Patient: a busy machine is no reason to fail. */
static struct target_settings reader_settings(void)
{
	struct target_settings settings = mariadb_settings("reader", reader_dsn, sizeof reader_dsn);
	settings.statement_timeout_ms = 120000;
	return settings;
}

static int set_up(void **state)
{
	(void)state;
	struct target_settings settings = reader_settings();
	settings.connections = 4;
	targets = start_targets(&settings, 1, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	targets_stop(targets);
	return 0;
}

/* Runs one pair of queries; the result lives until the call is freed. */
static const struct validation_result *validate_on(struct targets *some, struct test_call *test,
						   const char *generated, const char *truth)
{
	return run_pair(some, "shop", test, generated, truth);
}

static const struct validation_result *validate(struct test_call *test, const char *generated,
						const char *truth)
{
	return validate_on(targets, test, generated, truth);
}

static void must_match(struct targets *some, const char *generated, const char *truth)
{
	check_match(some, "shop", generated, truth);
}

/* --- results --- */

static const struct compared_case compared_cases[] = {
	{ "the same query", "SELECT id, amount FROM sales", "SELECT id, amount FROM sales", 1.0, 30, 30 },
	{ "another order", "SELECT id FROM sales ORDER BY id DESC", "SELECT id FROM sales", 1.0, 30, 30 },
	{ "another name", "SELECT SUM(amount) FROM sales", "SELECT SUM(amount) AS total FROM sales", 1.0, 1,
	  1 },
	{ "a double for a decimal", "SELECT SUM(amount) + 0e0 FROM sales", "SELECT SUM(amount) FROM sales",
	  1.0, 1, 1 },
	{ "other values", "SELECT SUM(amount) + 1 FROM sales", "SELECT SUM(amount) FROM sales", 0.0, 1, 1 },
	{ "more columns", "SELECT id, region FROM sales", "SELECT id FROM sales", 0.1, 30, 30 },
	{ "fewer rows", "SELECT id FROM sales WHERE id > 1", "SELECT id FROM sales", 0.3, 29, 30 },
	{ "both empty", "SELECT id FROM sales WHERE id < 0", "SELECT id FROM sales WHERE FALSE", 1.0, 0, 0 },
	{ "all kinds of types", "SELECT * FROM sales", "SELECT * FROM sales", 1.0, 30, 30 },
	{ "nulls", "SELECT NULL", "SELECT CAST(NULL AS SIGNED)", 1.0, 1, 1 },
	{ "null is not zero", "SELECT 0", "SELECT NULL", 0.0, 1, 1 },
	{ "27 of 30 rows", "SELECT CASE WHEN id < 4 THEN -id ELSE id END FROM sales", "SELECT id FROM sales",
	  0.8, 30, 30 },
	{ "a truth value of either kind", "SELECT ok FROM sales", "SELECT id % 2 = 0 FROM sales", 1.0, 30,
	  30 },
	{ "JSON in another order", "SELECT JSON_OBJECT('a', 1, 'b', 2)", "SELECT JSON_OBJECT('b', 2, 'a', 1)",
	  1.0, 1, 1 },
	{ "a timestamp and its text", "SELECT sold_at FROM sales", "SELECT CAST(sold_at AS CHAR) FROM sales",
	  1.0, 30, 30 },
	{ "a bar is no concatenation", "SELECT 'a' || '1'", "SELECT 1", 1.0, 1, 1 },
	{ "a double quote makes a text", "SELECT \"a\"", "SELECT 'a'", 1.0, 1, 1 },
	{ "letters of any language", "SELECT 'Zo\303\253 \360\237\246\212'",
	  "SELECT CONCAT('Zo', _utf8mb4 "
	  "X'C3AB20F09FA68A')",
	  1.0, 1, 1 },
	{ "a list of values", "VALUES (1), (2)", "SELECT 2 UNION SELECT 1", 1.0, 2, 2 },
	{ "SHOW", "SHOW VARIABLES LIKE 'time_zone'", "SELECT 'time_zone', '+00:00'", 1.0, 1, 1 },
};

static void results_are_compared(void **state)
{
	(void)state;
	check_compared(targets, "shop", compared_cases, sizeof compared_cases / sizeof compared_cases[0]);
}

static const struct tie_case tie_cases[] = {
	{ "a tie at a cut by a hidden key is punished", "SELECT 29 AS id",
	  "SELECT id FROM sales WHERE id > 2 ORDER BY region LIMIT 3, 1", true },
	{ "rows of another tie are right", "SELECT 6 AS id",
	  "SELECT id FROM sales WHERE id > 2 ORDER BY region LIMIT 3, 1", false },
	{ "any row that ties is right", "SELECT 28 AS id",
	  "SELECT id FROM sales ORDER BY region DESC LIMIT 1", true },
	{ "another row is right, too", "SELECT 30 AS id", "SELECT id FROM sales ORDER BY region DESC LIMIT 1",
	  false },
	{ "an order in brackets is forgotten", "SELECT id FROM sales ORDER BY id DESC",
	  "(SELECT id FROM sales ORDER BY id)", false },
	{ "an order in more brackets is forgotten", "SELECT id FROM sales ORDER BY id DESC",
	  "((SELECT id FROM sales ORDER BY id));", false },
	{ "an order in brackets is forgotten before a cut",
	  "SELECT id FROM sales WHERE id < 20 ORDER BY id DESC",
	  "(SELECT id FROM sales ORDER BY id) LIMIT 19", false },
	{ "an order in brackets is forgotten behind WITH", "SELECT id FROM sales ORDER BY id DESC",
	  "WITH x AS (SELECT id FROM sales) (SELECT id FROM x ORDER BY id)", false },
	{ "an order in brackets is forgotten with a cut",
	  "SELECT id FROM sales WHERE id < 20 ORDER BY id DESC",
	  "(SELECT id FROM sales ORDER BY id LIMIT 19)", false },
	{ "an order in brackets is punished", "SELECT id FROM sales ORDER BY id",
	  "(SELECT id FROM sales ORDER BY id)", true },
	{ "what has the key is believed", "SELECT 'south' AS region, 99 AS id",
	  "SELECT region, id FROM sales ORDER BY region DESC LIMIT 1", false },
	{ "letters of another case do not tie", "SELECT 'A' AS v UNION ALL SELECT 'a'",
	  "SELECT v FROM (SELECT 'a' AS v UNION ALL SELECT 'A') AS t ORDER BY v", true },
	{ "letters of another case do not tie, either", "SELECT 'a' AS v UNION ALL SELECT 'A'",
	  "SELECT v FROM (SELECT 'a' AS v UNION ALL SELECT 'A') AS t ORDER BY v", true },
	{ "letters of another case are the same", "SELECT 'a' AS v UNION ALL SELECT 'a'",
	  "SELECT v FROM (SELECT 'a' AS v UNION ALL SELECT 'A') AS t ORDER BY v", false },
	{ "a tie at the start is punished", "SELECT 'south' AS region, 1 AS id",
	  "SELECT region, id FROM sales ORDER BY region DESC LIMIT 1 OFFSET 4", true },
	{ "accents do not tie", "SELECT any_case, id FROM words ORDER BY any_case DESC, id DESC",
	  "SELECT any_case, id FROM words ORDER BY any_case DESC", true },
	{ "accents of a hidden key do not tie", "SELECT id FROM words ORDER BY any_case, id DESC",
	  "SELECT id FROM words ORDER BY any_case", true },
	{ "accents tie at a cut no more", "SELECT 'E' AS any_case, 4 AS id",
	  "SELECT any_case, id FROM words WHERE id > 1 ORDER BY any_case LIMIT 1 OFFSET 1", true },
	{ "another letter ties", "SELECT any_case, id FROM words ORDER BY any_case, id DESC",
	  "SELECT any_case, id FROM words ORDER BY any_case DESC", false },
	{ "letters of another case tie where the column says no",
	  "SELECT bytes, id FROM words WHERE id < 3 ORDER BY id DESC",
	  "SELECT bytes, id FROM words WHERE id < 3 ORDER BY bytes", false },
	{ "they tie in an alias of it", "SELECT bytes AS any_case FROM words WHERE id < 3 ORDER BY id DESC",
	  "SELECT bytes AS any_case FROM words WHERE id < 3 ORDER BY any_case", false },
	{ "they tie where the key says no", "SELECT any_case, id FROM words WHERE id < 3 ORDER BY id DESC",
	  "SELECT any_case, id FROM words WHERE id < 3 ORDER BY any_case COLLATE utf8mb4_bin", false },
	{ "they tie no more where the key says so", "SELECT bytes FROM words ORDER BY any_case, id DESC",
	  "SELECT bytes FROM words ORDER BY words.bytes COLLATE utf8mb4_general_ci", true },
	{ "they tie at a cut", "SELECT 'a' AS bytes, 2 AS id",
	  "SELECT bytes, id FROM words ORDER BY bytes LIMIT 1", false },
	{ "ties of an expression of an output are punished", "SELECT id FROM sales ORDER BY id % 3, id DESC",
	  "SELECT id FROM sales ORDER BY id % 3", true },
	{ "an expression of an output is forgotten", "SELECT id FROM sales ORDER BY id % 3 DESC",
	  "SELECT id FROM sales ORDER BY id % 3", false },
	{ "a tie at a cut by an expression of an output is punished", "SELECT 30 AS id",
	  "SELECT id FROM sales ORDER BY id % 3 LIMIT 1", true },
	{ "another row is right at a cut by an expression of an output", "SELECT 29 AS id",
	  "SELECT id FROM sales ORDER BY id % 3 LIMIT 1", false },
	{ "what ties by an expression of an alias is known",
	  "SELECT id, id + 1 AS more FROM sales ORDER BY more % 3, id DESC",
	  "SELECT id, id + 1 AS more FROM sales ORDER BY more % 3", NOT_PROVEN },
	{ "what ties behind a union is known",
	  "SELECT 1 AS n UNION SELECT 3 UNION SELECT 2 ORDER BY n % 2 DESC, n",
	  "SELECT 3 AS n UNION SELECT 1 UNION SELECT 2 ORDER BY n % 2 DESC", NOT_PROVEN },
	{ "groups are not ranked",
	  "SELECT bytes, count(*) AS n FROM words WHERE id < 3 GROUP BY bytes ORDER BY n, max(id) DESC",
	  "SELECT bytes, count(*) AS n FROM words WHERE id < 3 GROUP BY bytes ORDER BY n, bytes # by both",
	  false },
};

/* Of results that are longer than what is fetched the database is not asked which rows tie. */
static void check_ties_believed(void)
{
	struct target_settings settings = reader_settings();
	settings.connections = 1;
	settings.max_rows = 2;
	struct targets *few = start_targets(&settings, 1, NULL);
	struct test_call test;
	test_call_init(&test, "shop", "SELECT bytes, id FROM words WHERE id < 4 ORDER BY any_case, id DESC",
		       "SELECT bytes, id FROM words WHERE id < 4 ORDER BY bytes");
	describe_truth(&test, SQL_MYSQL);
	targets_submit(few, &test.call);
	const struct validation_result *result = test_call_wait(&test);
	assert_true(result->truncated);
	assert_true(result->content_match_rate >= 1);
	assert_true(result->limit_cut_tie);
	test_call_free(&test);
	targets_stop(few);
}

static void truths_may_be_tables(void **state)
{
	(void)state;
	static const struct table_case cases[] = {
		{ .fault = "types",
		  .generated = "SELECT extra, raw, ok, amount FROM sales WHERE id = 2",
		  .columns = "extra|raw|ok|amount",
		  .rows = "{ \"k\": 2.0 }|0002|true|3\n",
		  .score = 1 },
	};
	check_common_tables(targets, "shop", SQL_MYSQL);
	check_tables(targets, "shop", SQL_MYSQL, cases, sizeof cases / sizeof cases[0]);
	check_broken_tables(targets, "shop");
}

static void ties_are_asked_for(void **state)
{
	(void)state;
	admin("CREATE TABLE shop.words (id INT, any_case VARCHAR(9) COLLATE utf8mb4_general_ci,"
	      " bytes VARCHAR(9) COLLATE utf8mb4_bin)");
	admin("INSERT INTO shop.words VALUES (1, 'A', 'A'), (2, 'a', 'a'), (3, X'C3A9', X'C3A9'),"
	      " (4, 'E', 'E')");
	check_ties(targets, "shop", SQL_MYSQL, tie_cases, sizeof tie_cases / sizeof tie_cases[0]);
	check_ties_believed();
	admin("DROP TABLE shop.words");
}

static const struct {
	const char *generated, *sqlstate, *message;
} failing_cases[] = {
	{ "SELECT 1 FROM nowhere", "42S02", "Table 'shop.nowhere' doesn't exist" },
	{ "SELECT nothing FROM sales", "42S22", "Unknown column 'nothing' in 'SELECT'" },
	{ "SELEC 1", "42000", "You have an error in your SQL syntax" },
	{ "SELECT (SELECT id FROM sales)", "21000", "Subquery returns more than 1 row" },
	{ "SELECT 1; SELECT 2", "42000", "You have an error in your SQL syntax" },
	{ "SELECT ?", "", "the statement has parameters that nobody gives" },
	{ "", "42000", "Query was empty" },
	{ "SELECT 1 FROM mysql.user", "42000", "SELECT command denied to user 'reader'@" },
	{ "DELETE FROM sales", "42000", "DELETE command denied to user 'reader'@" },
	{ "SET max_statement_time = 0", "", "the statement returns no result" },
	{ "COMMIT", "", "the statement returns no result" },
	{ "CALL wipe_all()", "", "the statement returns no result" },
};

static const struct {
	const char *generated, *sqlstate, *message;
} endless_cases[] = {
	{ "SELECT SLEEP(30)", "70100", "Query execution was interrupted" },
	{ "SELECT COUNT(*) FROM seq_1_to_1000000 a, seq_1_to_1000000 b", "70100",
	  "Query execution was interrupted" },
	{ "SELECT BENCHMARK(4000000000, SHA2('a', 512))", "", "the query was cancelled at its time limit" },
	{ "SET STATEMENT max_statement_time = 0 FOR SELECT SLEEP(30)", "70100",
	  "the query was cancelled at its time limit" },
	{ "SET STATEMENT max_statement_time = 0 FOR SELECT BENCHMARK(4000000000, SHA2('a', 512))", "",
	  "the query was cancelled at its time limit" },
};

static void must_fail(struct targets *some, enum validation_status status, const char *generated,
		      const char *sqlstate, const char *message)
{
	struct test_call test;
	const struct validation_result *result = validate_on(some, &test, generated, "SELECT 1");
	if (result->status != status || !strstr(result->message.ptr, message))
		fail_msg("%s: %s " STR_FMT, generated, target_validation_status_name(result->status),
			 STR_ARG(result->message));
	assert_int_equal(result->error, ERR_OK);
	assert_true(result->score == 0.0);
	assert_string_equal(result->generated.sqlstate, sqlstate);
	assert_int_equal(result->truth.rows, 1);
	test_call_free(&test);
}

/* After each of them the session goes on to serve the next. */
static void a_failing_query_scores_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof failing_cases / sizeof failing_cases[0]; i++)
		must_fail(targets, VALIDATION_EXECUTION_FAILED, failing_cases[i].generated,
			  failing_cases[i].sqlstate, failing_cases[i].message);
}

static void an_endless_query_is_cut_short(void **state)
{
	(void)state;
	struct target_settings settings = reader_settings();
	settings.statement_timeout_ms = 800;
	struct targets *hasty = start_targets(&settings, 1, NULL);
	for (size_t i = 0; i < sizeof endless_cases / sizeof endless_cases[0]; i++)
		must_fail(hasty, VALIDATION_TIMEOUT, endless_cases[i].generated, endless_cases[i].sqlstate,
			  endless_cases[i].message);
	targets_stop(hasty);
}

static void a_broken_truth_is_flagged(void **state)
{
	(void)state;
	struct test_call test;
	const struct validation_result *result = validate(&test, "SELECT 1", "SELECT gone FROM sales");
	assert_int_equal(result->status, VALIDATION_GROUND_TRUTH_FAILED);
	assert_int_equal(result->error, ERR_GROUND_TRUTH_FAILED);
	assert_string_equal(result->truth.sqlstate, "42S22");
	assert_string_equal(result->message.ptr, "Unknown column 'gone' in 'SELECT'");
	test_call_free(&test);
}

static void what_the_account_may_not_read_is_no_verdict(void **state)
{
	(void)state;
	MYSQL *root = root_connection();
	must(root, "CREATE DATABASE vault");
	must(root, "CREATE TABLE vault.t (id INT, secret INT)");
	check_denied(targets, "shop", "SELECT id FROM vault.t", "42000", "denied to user");
	must(root, "GRANT SELECT (id) ON vault.t TO reader");
	check_denied(targets, "shop", "SELECT secret FROM vault.t", "42000", "denied to user");
	must(root, "DROP DATABASE vault");
	mysql_close(root);
}

/* --- limits --- */

static void too_many_rows_are_cut(void **state)
{
	(void)state;
	check_rows_cut(targets, "shop", "SELECT seq FROM seq_1_to_1000000");
}

static void too_many_bytes_are_cut(void **state)
{
	(void)state;
	check_bytes_cut(targets, "shop", "SELECT REPEAT('x', 1000000) FROM seq_1_to_40");
}

/* Row by row, in full, where the result is larger than what is kept. */
static void larger_results_can_be_proven_equal(void **state)
{
	static const struct {
		const char *generated, *truth;
		double score;
		bool truncated;
	} cases[] = {
		{ "SELECT seq FROM seq_1_to_50000 ORDER BY seq DESC", "SELECT seq FROM seq_1_to_50000", 1.0,
		  false },
		{ "SELECT seq, REPEAT('x', 100), seq * 1e0 FROM seq_1_to_30000",
		  "SELECT seq, REPEAT('x', 100), seq + 0.0 FROM seq_1_to_30000", 1.0, false },
		{ "SELECT seq FROM seq_1_to_50000", "SELECT seq FROM seq_1_to_50001", 0.3, true },
	};
	(void)state;
	struct target_settings settings = reader_settings();
	settings.stream_large_results = true;
	struct targets *streaming = start_targets(&settings, 1, NULL);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct test_call test;
		const struct validation_result *result =
			validate_on(streaming, &test, cases[i].generated, cases[i].truth);
		if (result->status != VALIDATION_COMPARED || result->score != cases[i].score ||
		    result->truncated != cases[i].truncated)
			fail_msg("%s: %g %d " STR_FMT, cases[i].generated, result->score, result->truncated,
				 STR_ARG(result->message));
		test_call_free(&test);
	}
	targets_stop(streaming);
}

/* Where there is no second connection to cancel with, the rest is read off. */
static void a_single_connection_is_enough_to_cut(void **state)
{
	(void)state;
	char dsn[320];
	struct test_call test;
	struct target_settings settings = mariadb_settings("narrow", dsn, sizeof dsn);
	struct targets *narrow = start_targets(&settings, 1, NULL);
	targets_wait_catalogs(narrow, 30000);
	const char *rows = "SELECT seq FROM seq_1_to_50000";
	const struct validation_result *result = validate_on(narrow, &test, rows, rows);
	if (result->status != VALIDATION_COMPARED)
		fail_msg(STR_FMT, STR_ARG(result->message));
	assert_true(result->truncated);
	test_call_free(&test);
	result = validate_on(narrow, &test, "SET STATEMENT max_statement_time = 0 FOR SELECT SLEEP(30)",
			     "SELECT 1");
	assert_int_equal(result->status, VALIDATION_TIMEOUT);
	test_call_free(&test);
	targets_stop(narrow);
}

static void results_up_to_the_limits_fit_into_the_worker(void **state)
{
	(void)state;
	struct buf wide = BUF_INIT;
	buf_append_text(&wide, "SELECT seq");
	for (int i = 0; i < 60; i++)
		buf_printf(&wide, ", seq + %d AS c%d", i, i);
	buf_append_text(&wide, " FROM seq_1_to_10000");
	check_large_results_fit(reader_settings(), "SELECT seq, REPEAT('x', 6000) FROM seq_1_to_10000",
				wide.data);
	buf_free(&wide);
}

/* A value that is larger than a result may be is not read into memory, and costs a connection at most. */
static void a_huge_value_is_a_failed_query(void **state)
{
	(void)state;
	struct target_settings settings = reader_settings();
	admin("SET GLOBAL max_allowed_packet = 1073741824");
	struct targets *patient = start_targets(&settings, 1, NULL);
	check_huge_value(patient, "shop", "SELECT REPEAT('x', 100000000)");
	targets_stop(patient);
	admin("SET GLOBAL max_allowed_packet = 16777216");
}

/* --- transactions and sessions --- */

/* The truth's query waits for a commit that happens between the two. */
static void both_queries_see_one_snapshot(void **state)
{
	(void)state;
	admin("CREATE TABLE shop.moving (i INT)");
	admin("INSERT INTO shop.moving VALUES (1)");
	check_undisturbed(targets, "shop", "SELECT COUNT(*) FROM moving",
			  "SELECT COUNT(*) FROM moving, (SELECT SLEEP(1)) AS pause", admin,
			  "INSERT INTO shop.moving VALUES (2)");
}

/* What a query leaves in the session does not reach the next one. */
static void sessions_are_wiped(void **state)
{
	(void)state;
	struct buf free_lock = BUF_INIT;
	struct test_call test;
	struct target_settings settings = reader_settings();
	struct targets *single = start_targets(&settings, 1, NULL);
	validate_on(single, &test, "SELECT @a := 5, GET_LOCK('mine', 0)", "SELECT 5, 1");
	assert_true(test.call.result.score == 1.0);
	test_call_free(&test);
	must_match(single, "SELECT @a", "SELECT NULL");
	must_match(single,
		   "SELECT CONCAT(@@tx_read_only, @@tx_isolation, @@in_transaction, @@collation_connection)",
		   "SELECT 'ONREPEATABLE-READ1utf8mb4_general_ci'");
	MYSQL *root = root_connection();
	append_result(root, "SELECT IS_FREE_LOCK('mine')", &free_lock);
	assert_string_equal(free_lock.data, "1|");
	mysql_close(root);
	buf_free(&free_lock);
	targets_stop(single);
}

/* The reading that safety was judged by holds, whatever the server's own is. */
static void the_servers_mode_does_not_change_how_a_text_is_read(void **state)
{
	(void)state;
	admin("SET GLOBAL sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,IGNORE_SPACE,"
	      "HIGH_NOT_PRECEDENCE,ORACLE,ONLY_FULL_GROUP_BY'");
	struct target_settings settings = reader_settings();
	struct targets *odd = start_targets(&settings, 1, NULL);
	struct test_call test;
	must_match(odd, "SELECT @@sql_mode", "SELECT 'ONLY_FULL_GROUP_BY'");
	must_match(odd, "SELECT \"id\", 'a' || '1', NOT 1 BETWEEN -5 AND 5, 'it\\'s'",
		   "SELECT 'id', 1, 0, 'it''s'");
	const struct validation_result *result =
		validate_on(odd, &test, "SELECT region, id FROM sales GROUP BY region", "SELECT 1, 2");
	assert_int_equal(result->status, VALIDATION_EXECUTION_FAILED); /* as for everybody there */
	test_call_free(&test);
	targets_stop(odd);
	admin("SET GLOBAL sql_mode = DEFAULT");
	must_match(targets, "SELECT COUNT(*) FROM (SELECT region, id FROM sales GROUP BY region) AS t",
		   "SELECT 3");
}

/* How many queries of the reader sleep at this moment. */
static long sleeping(MYSQL *root)
{
	struct buf count = BUF_INIT;
	append_result(root,
		      "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'reader' AND STATE = "
		      "'User sleep'",
		      &count);
	long number = strtol(count.data, NULL, 10);
	buf_free(&count);
	return number;
}

static void connections_work_side_by_side(void **state)
{
	(void)state;
	struct test_call tests[4];
	MYSQL *root = root_connection();
	for (size_t i = 0; i < 4; i++) {
		test_call_init(&tests[i], "shop", "SELECT 0", "SELECT SLEEP(5)");
		targets_submit(targets, &tests[i].call);
	}
	bool together = false;
	for (int i = 0; i < 500 && !together; i++) {
		together = sleeping(root) > 1;
		sleep_ms(together ? 0 : 10);
	}
	assert_true(together);
	for (size_t i = 0; i < 4; i++) {
		assert_true(test_call_wait(&tests[i])->score == 1.0);
		test_call_free(&tests[i]);
	}
	mysql_close(root);
}

/* --- failures of the target --- */

static void a_lock_is_not_the_fault_of_the_query(void **state)
{
	(void)state;
	MYSQL *holder = root_connection();
	must(holder, "LOCK TABLES shop.sales WRITE");
	check_locked(targets, "shop", "SELECT id FROM sales");
	mysql_close(holder);
	must_match(targets, "SELECT id FROM sales", "SELECT seq FROM seq_1_to_30");
}

/* Ends the reader's connections or what they are running. */
static void kill_reader(const char *what)
{
	char sql[64];
	struct buf ids = BUF_INIT;
	MYSQL *root = root_connection();
	append_result(root, "SELECT ID FROM information_schema.PROCESSLIST WHERE USER = 'reader'", &ids);
	for (const char *at = ids.data; at && *at; at = strchr(at, '|') + 1) {
		snprintf(sql, sizeof sql, "KILL %s %ld", what, strtol(at, NULL, 10));
		mysql_query(root, sql);
	}
	buf_free(&ids);
	mysql_close(root);
}

static void a_killed_connection_is_tried_once_more(void **state)
{
	(void)state;
	check_undisturbed(targets, "shop", "SELECT 0", "SELECT SLEEP(1.1)", kill_reader, "CONNECTION");
	kill_reader("CONNECTION"); /* idle ones */
	for (int i = 0; i < 4; i++)
		must_match(targets, "SELECT 1", "SELECT 1");
}

static void a_query_that_an_administrator_ends_is_a_timeout(void **state)
{
	(void)state;
	struct test_call test;
	test_call_init(&test, "shop", "SELECT SLEEP(18)", "SELECT 1");
	targets_submit(targets, &test.call);
	MYSQL *root = root_connection();
	for (int i = 0; i < 1500 && sleeping(root) == 0; i++)
		sleep_ms(10);
	mysql_close(root);
	kill_reader("QUERY");
	const struct validation_result *result = test_call_wait(&test);
	assert_int_equal(result->status, VALIDATION_TIMEOUT);
	assert_string_equal(result->generated.sqlstate, "70100");
	assert_true(result->generated.time_ms < 18000); /* or it came to its end */
	test_call_free(&test);
}

/* The password is read anew for every new process, and never said. */
static void a_changed_password_is_said_without_it(void **state)
{
	(void)state;
	struct test_call test;
	struct target_settings settings = reader_settings();
	struct targets *single = start_targets(&settings, 1, NULL);
	must_match(single, "SELECT 1", "SELECT 1");
	admin("ALTER USER reader IDENTIFIED BY 'another-Secret'");
	kill_reader("CONNECTION");
	const struct validation_result *result = validate_on(single, &test, "SELECT 1", "SELECT 1");
	assert_int_equal(result->status, VALIDATION_UNAVAILABLE);
	assert_int_equal(result->error, ERR_TARGET_UNAVAILABLE);
	assert_non_null(strstr(result->message.ptr, "Access denied for user 'reader'"));
	assert_null(strstr(result->message.ptr, PASSWORD));
	test_call_free(&test);
	targets_stop(single);
	admin("ALTER USER reader IDENTIFIED BY '" PASSWORD "'");
}

static pid_t server_pid(void)
{
	char path[192];
	long pid = 0;
	snprintf(path, sizeof path, "%s/pid", shop_server.dir);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%ld", &pid), 1);
	fclose(file);
	return (pid_t)pid;
}

/* A server that accepts connections and says nothing is the target's fault, and is waited for a bounded time.
 */
static void a_server_that_hangs_is_given_up(void **state)
{
	(void)state;
	struct test_call test;
	struct target_settings settings = reader_settings();
	settings.statement_timeout_ms = 5000;
	struct targets *hasty = start_targets(&settings, 1, NULL);
	must_match(hasty, "SELECT 1", "SELECT 1");
	test_call_init(&test, "shop", "SELECT 1", "SELECT SLEEP(60)");
	targets_submit(hasty, &test.call);
	MYSQL *root = root_connection();
	for (int i = 0; i < 400 && sleeping(root) == 0; i++)
		sleep_ms(10);
	mysql_close(root);
	kill(server_pid(), SIGSTOP);
	const struct validation_result *result = test_call_wait(&test);
	kill(server_pid(), SIGCONT);
	assert_int_equal(result->status, VALIDATION_UNAVAILABLE);
	assert_true(result->error == ERR_TARGET_LOST || result->error == ERR_TARGET_UNAVAILABLE ||
		    result->error == ERR_TARGET_TIMEOUT);
	test_call_free(&test);
	targets_stop(hasty);
}

/* The last test: idle connections are lost, calls fail quickly, and all is well again afterwards. */
static void a_stopped_server_comes_back(void **state)
{
	(void)state;
	assert_int_equal(test_mariadb_do(&shop_server, "halt"), 0);
	check_away(targets, "shop", "Can't connect to server on '127.0.0.1'");
	assert_int_equal(test_mariadb_do(&shop_server, "resume"), 0);
	check_back(targets, "shop");
}

/* --- check and catalog --- */

#define MORE_THAN_SELECT "the account \"reader@%\" has more than SELECT, namely "

static void check_says_what_an_account_may_do(void **state)
{
	static const struct {
		const char *grant, *note, *revoke;
	} cases[] = {
		{ "GRANT SHOW VIEW ON shop.* TO reader", "", "REVOKE SHOW VIEW ON shop.* FROM reader" },
		{ "GRANT INSERT, UPDATE (n), SELECT (n) ON shop.log TO reader",
		  MORE_THAN_SELECT "INSERT, UPDATE on `shop`.`log`: use one that may only read",
		  "REVOKE ALL PRIVILEGES ON shop.log FROM reader" },
		{ "GRANT FILE, PROCESS, SUPER ON *.* TO reader",
		  MORE_THAN_SELECT "PROCESS, FILE, SUPER on *.*: use one that may only read",
		  "REVOKE FILE, PROCESS, SUPER ON *.* FROM reader" },
		{ "GRANT EXECUTE ON FUNCTION shop.wipe TO reader",
		  MORE_THAN_SELECT "EXECUTE on FUNCTION `shop`.`wipe`: use one that may only read",
		  "REVOKE EXECUTE ON FUNCTION shop.wipe FROM reader" },
		{ "GRANT SELECT ON shop.log TO reader WITH GRANT OPTION",
		  MORE_THAN_SELECT "GRANT OPTION on `shop`.`log`: use one that may only read",
		  "REVOKE ALL PRIVILEGES, GRANT OPTION FROM reader" },
	};
	(void)state;
	struct target_settings settings = reader_settings();
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct arena *arena = arena_new();
		struct err_detail detail = { "" };
		str_t notes;
		admin(cases[i].grant);
		assert_int_equal(target_check(&settings, arena, &notes, &detail), ERR_OK);
		assert_string_equal(notes.ptr, cases[i].note);
		admin(cases[i].revoke);
		arena_free(arena);
	}
	admin("GRANT SELECT ON shop.* TO reader");
}

static void check_counts_what_an_account_can_read(void **state)
{
	static const struct {
		const char *grant, *note;
	} cases[] = {
		{ "GRANT SHOW VIEW ON counted.* TO blind",
		  "the account can read 0 of the 2 tables and views that it sees, not `counted`.`a``b` for "
		  "example: "
		  "GRANT SELECT ON counted.* to it, or results of their queries are UNAVAILABLE" },
		{ "GRANT SELECT (i) ON counted.b TO blind",
		  "the account can read 1 of the 2 tables and views that it sees, not `counted`.`a``b` for "
		  "example: "
		  "GRANT SELECT ON counted.* to it, or results of their queries are UNAVAILABLE" },
		{ "GRANT SELECT ON counted.* TO blind", "" },
	};
	char dsn[320];
	struct arena *arena = arena_new();
	struct err_detail detail = { "" };
	struct target_settings settings = mariadb_settings("blind", dsn, sizeof dsn);
	(void)state;
	snprintf(dsn, sizeof dsn, "host=127.0.0.1 port=%u user=blind dbname=counted", port);
	admin("CREATE DATABASE counted");
	admin("CREATE TABLE counted.`a``b` (i INT)");
	admin("CREATE TABLE counted.b (i INT)");
	admin("CREATE USER blind IDENTIFIED BY '" PASSWORD "'");
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		str_t notes;
		admin(cases[i].grant);
		assert_int_equal(target_check(&settings, arena, &notes, &detail), ERR_OK);
		assert_string_equal(notes.ptr, cases[i].note);
	}
	admin("DROP USER blind");
	admin("DROP DATABASE counted");
	arena_free(arena);
}

static void check_says_what_is_odd_about_a_target(void **state)
{
	(void)state;
	char dsn[320];
	struct arena *arena = arena_new();
	struct err_detail detail = { "" };
	str_t notes;
	struct target_settings settings = mariadb_settings("careless", dsn, sizeof dsn);
	admin("CREATE TABLE shop.old (i INT) ENGINE = MyISAM");
	snprintf(dsn, sizeof dsn, "socket=%s user=careless", shop_server.socket);
	assert_int_equal(target_check(&settings, arena, &notes, &detail), ERR_OK);
	admin("DROP TABLE shop.old");
	assert_string_equal(notes.ptr,
			    "the dsn names no dbname: queries have to name the database of every table\n"
			    "the account \"careless@%\" has more than SELECT, namely ALL PRIVILEGES, GRANT "
			    "OPTION on *.*: "
			    "use one that may only read\n"
			    "1 table(s), for example shop.old, are not of the engine InnoDB: a query and its "
			    "ground truth "
			    "may see different states of them");
	snprintf(dsn, sizeof dsn, "host=127.0.0.1 port=1 user=reader");
	assert_int_equal(target_check(&settings, arena, &notes, &detail), ERR_TARGET_UNAVAILABLE);
	assert_non_null(strstr(detail.message, "target \"shop\": Can't connect to server on '127.0.0.1'"));
	snprintf(dsn, sizeof dsn, "host=127.0.0.1 port=%u user=reader ssl=on ssl_verify=off", port);
	assert_int_equal(target_check(&settings, arena, &notes, &detail), ERR_TARGET_UNAVAILABLE);
	assert_non_null(strstr(detail.message, "SSL")); /* this server has none: there is no way around it */
	arena_free(arena);
}

static void catalogs_are_read_and_kept(void **state)
{
	char directory[] = "/tmp/assayd-test-mariadb-XXXXXX", path[128], command[160];
	(void)state;
	assert_non_null(mkdtemp(directory));
	struct target_settings settings = reader_settings();
	struct targets *keeping = start_targets(&settings, 1, directory);
	targets_wait_catalogs(keeping, 30000);
	struct catalog *catalog = targets_catalog(keeping, targets_find(keeping, STR("shop")));
	assert_non_null(catalog);
	assert_int_equal(catalog_dialect(catalog), SQL_MYSQL);
	assert_non_null(strstr(catalog_source(catalog).ptr, "sold_at"));
	catalog_unref(catalog);
	targets_stop(keeping);
	snprintf(path, sizeof path, "%s/catalog-shop.mariadb", directory);
	assert_int_equal(access(path, R_OK), 0);
	settings.dsn = "host=127.0.0.1 port=1 user=reader"; /* another server: its catalog is another */
	struct targets *other = start_targets(&settings, 1, directory);
	assert_null(targets_catalog(other, targets_find(other, STR("shop"))));
	targets_stop(other);
	snprintf(command, sizeof command, "rm -r %s", directory);
	assert_int_equal(system(command), 0);
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	int status = start_shop("unit.target.mariadb");
	if (status != 0)
		return status;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(catalogs_are_read_and_kept),
		cmocka_unit_test(results_are_compared),
		cmocka_unit_test(truths_may_be_tables),
		cmocka_unit_test(ties_are_asked_for),
		cmocka_unit_test(a_failing_query_scores_nothing),
		cmocka_unit_test(an_endless_query_is_cut_short),
		cmocka_unit_test(a_broken_truth_is_flagged),
		cmocka_unit_test(what_the_account_may_not_read_is_no_verdict),
		cmocka_unit_test(too_many_rows_are_cut),
		cmocka_unit_test(too_many_bytes_are_cut),
		cmocka_unit_test(larger_results_can_be_proven_equal),
		cmocka_unit_test(a_single_connection_is_enough_to_cut),
		cmocka_unit_test(results_up_to_the_limits_fit_into_the_worker),
		cmocka_unit_test(a_huge_value_is_a_failed_query),
		cmocka_unit_test(both_queries_see_one_snapshot),
		cmocka_unit_test(sessions_are_wiped),
		cmocka_unit_test(the_servers_mode_does_not_change_how_a_text_is_read),
		cmocka_unit_test(connections_work_side_by_side),
		cmocka_unit_test(a_lock_is_not_the_fault_of_the_query),
		cmocka_unit_test(a_killed_connection_is_tried_once_more),
		cmocka_unit_test(a_query_that_an_administrator_ends_is_a_timeout),
		cmocka_unit_test(a_changed_password_is_said_without_it),
		cmocka_unit_test(check_says_what_an_account_may_do),
		cmocka_unit_test(check_says_what_is_odd_about_a_target),
		cmocka_unit_test(check_counts_what_an_account_can_read),
		cmocka_unit_test(a_server_that_hangs_is_given_up),
		cmocka_unit_test(a_stopped_server_comes_back),
	};
	status = cmocka_run_group_tests(tests, set_up, tear_down);
	stop_shop();
	return status;
}
