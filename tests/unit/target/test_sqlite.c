/* Validation on real SQLite files, through real worker processes. */
#include "tests/harness/fixtures/sqlite_file.h"
#include "tests/unit/target/cases.h"

#include <sys/stat.h>

static struct test_sqlite shop;
static struct targets *targets;

static const char schema[] =
	"CREATE TABLE shop (id INTEGER PRIMARY KEY, name TEXT, price REAL, sold_on DATE, stamp DATETIME, "
	"flag BOOLEAN,"
	" raw BLOB, mixed);"
	"INSERT INTO shop VALUES (1, 'apple', 1.5, '2024-01-01', '2024-01-01 10:00:00', 1, x'00ff', 1),"
	" (2, 'pear', 2.25, '2024-01-02', '2024-01-02 10:00:00', 0, x'', 'two'),"
	" (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL);"
	"CREATE VIEW cheap AS SELECT * FROM shop WHERE price < 2;"
	"CREATE VIRTUAL TABLE words USING fts5(body); INSERT INTO words VALUES ('red apple'), ('green pear');"
	"CREATE TRIGGER t AFTER INSERT ON shop BEGIN DELETE FROM shop WHERE id < 0; END;";

static int set_up(void **state)
{
	(void)state;
	test_sqlite_make(&shop, schema);
	struct target_settings settings = sqlite_settings("shop", shop.path);
	targets = start_targets(&settings, 1, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	targets_stop(targets);
	return test_sqlite_remove(&shop);
}

static const struct validation_result *validate(struct test_call *test, const char *generated,
						const char *truth)
{
	return run_pair(targets, "shop", test, generated, truth);
}

static const struct compared_case compared_cases[] = {
	{ "the same query", "SELECT * FROM shop", "SELECT * FROM shop", 1.0, 3, 3 },
	{ "a constant", "SELECT name FROM shop WHERE id = 1", "SELECT 'apple'", 1.0, 1, 1 },
	{ "another name", "SELECT sum(price) FROM shop", "SELECT 3.75 AS total", 1.0, 1, 1 },
	{ "other values", "SELECT sum(price) FROM shop", "SELECT 3.5", 0.0, 1, 1 },
	{ "bytes", "SELECT hex(raw) FROM shop WHERE id = 1", "SELECT '00FF'", 1.0, 1, 1 },
	{ "a view", "SELECT count(*) FROM cheap", "SELECT 1", 1.0, 1, 1 },
	{ "a full-text search", "SELECT count(*) FROM words WHERE words MATCH 'apple'", "SELECT 1", 1.0, 1,
	  1 },
	{ "a bounded recursion",
	  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT sum(i) FROM n",
	  "SELECT 15", 1.0, 1, 1 },
	{ "a table function", "SELECT value FROM json_each('[1,2]')", "VALUES (1), (2)", 1.0, 2, 2 },
	{ "both empty", "SELECT id FROM shop WHERE id < 0", "SELECT id FROM shop WHERE id < 0", 1.0, 0, 0 },
	{ "more rows", "SELECT id FROM shop", "SELECT id FROM shop LIMIT 2", 0.3, 3, 2 },
	{ "more columns", "SELECT id, name FROM shop", "SELECT id FROM shop", 0.1, 3, 3 },
	{ "a text for a number", "SELECT printf('%.2f', price) FROM shop WHERE id = 2", "SELECT '2.25'", 1.0,
	  1, 1 },
	{ "semicolons behind the statement", "SELECT 1; ; ", "SELECT 1", 1.0, 1, 1 },
};

static void results_are_compared(void **state)
{
	(void)state;
	check_compared(targets, "shop", compared_cases, sizeof compared_cases / sizeof compared_cases[0]);
}

static void truths_may_be_tables(void **state)
{
	(void)state;
	static const struct table_case cases[] = {
		{ .fault = "dates",
		  .generated = "SELECT sold_on, stamp, flag, mixed FROM shop",
		  .columns = "sold_on|stamp|flag|mixed",
		  .rows = "2024-01-01|2024-01-01T10:00:00Z|true|1\n2024-01-02 00:00|2024-01-02 "
			  "10:00|false|two\n"
			  "\\N|\\N|\\N|\\N\n",
		  .score = 1 },
		{ .fault = "bytes",
		  .generated = "SELECT raw FROM shop WHERE id = 1",
		  .columns = "raw",
		  .rows = "\\x00FF\n",
		  .score = 1 },
	};
	check_common_tables(targets, "shop", SQL_SQLITE);
	check_tables(targets, "shop", SQL_SQLITE, cases, sizeof cases / sizeof cases[0]);
	check_broken_tables(targets, "shop");
}

/* Each has to end by itself, quickly, and without the loss of the worker. */
static const struct {
	const char *generated;
	enum validation_status status;
	const char *message; /* or NULL: any */
} failing_cases[] = {
	{ "SELECT 1 FROM nowhere", VALIDATION_EXECUTION_FAILED, "no such table: nowhere" },
	{ "SELECT [no column] FROM shop", VALIDATION_EXECUTION_FAILED, "no such column: no column" },
	{ "SELEC 1", VALIDATION_EXECUTION_FAILED, "near \"SELEC\": syntax error" },
	{ "", VALIDATION_EXECUTION_FAILED, "there is no statement" },
	{ "-- nothing", VALIDATION_EXECUTION_FAILED, "there is no statement" },
	{ "SELECT 1; SELECT 2", VALIDATION_EXECUTION_FAILED, "there is more than one statement" },
	{ "SELECT 1; x", VALIDATION_EXECUTION_FAILED, "there is more than one statement" },
	{ "DELETE FROM shop", VALIDATION_EXECUTION_FAILED, "not authorized" },
	{ "INSERT INTO shop (id) VALUES (9) RETURNING id", VALIDATION_EXECUTION_FAILED, "not authorized" },
	{ "CREATE TEMP TABLE t (i)", VALIDATION_EXECUTION_FAILED, "not authorized" },
	{ "ATTACH '/tmp/other.db' AS other", VALIDATION_EXECUTION_FAILED, "not authorized" },
	{ "PRAGMA writable_schema = 1", VALIDATION_EXECUTION_FAILED, "not authorized" },
	{ "SELECT * FROM pragma_table_info('shop')", VALIDATION_EXECUTION_FAILED, "not authorized" },
	{ "VACUUM INTO '/tmp/assayd-copy.db'", VALIDATION_EXECUTION_FAILED,
	  "the statement does not only read" },
	{ "UPDATE sqlite_master SET type = 'x'", VALIDATION_EXECUTION_FAILED,
	  "table sqlite_master may not be modified" },
	{ "SELECT ?1", VALIDATION_EXECUTION_FAILED, "the statement has parameters that nobody gives" },
	{ "UPDATE shop SET id = 7", VALIDATION_EXECUTION_FAILED, "not authorized" },
	{ "BEGIN", VALIDATION_EXECUTION_FAILED, "not authorized" },
	{ "COMMIT", VALIDATION_EXECUTION_FAILED, "not authorized" },
	{ "SAVEPOINT s", VALIDATION_EXECUTION_FAILED, "not authorized" },
	{ "SELECT load_extension('x.so')", VALIDATION_EXECUTION_FAILED, NULL },
	{ "SELECT randomblob(900000000)", VALIDATION_EXECUTION_FAILED,
	  "not authorized to use function: randomblob" },
	{ "SELECT zeroblob(900000000)", VALIDATION_EXECUTION_FAILED,
	  "not authorized to use function: zeroblob" },
	{ "SELECT hex(ZeroBlob(900000000))", VALIDATION_EXECUTION_FAILED, NULL },
	{ "SELECT printf('%.*c', 900000000, 'x')", VALIDATION_EXECUTION_FAILED, NULL },
	{ "SELECT printf('%900000000d', 1)", VALIDATION_EXECUTION_FAILED, NULL },
	{ "SELECT printf('%.900000000f', 1.0)", VALIDATION_EXECUTION_FAILED, NULL },
	{ "SELECT replace(replace(printf('%.*c', 60000, 'x'), 'x', printf('%.*c', 60000, 'y')), 'y', 'zz')",
	  VALIDATION_EXECUTION_FAILED, NULL },
	{ "SELECT group_concat(printf('%.*c', 1000000, 'x')) FROM json_each('[' || replace(printf('%.*c', "
	  "1000, 'x'),"
	  " 'x', '1,') || '1]')",
	  VALIDATION_EXECUTION_FAILED, NULL },
	{ "WITH RECURSIVE n(i, t) AS (SELECT 1, '' UNION SELECT i + 1, printf('%.*c', 10000, 'x') FROM n)"
	  " SELECT max(t) FROM n ORDER BY i",
	  VALIDATION_EXECUTION_FAILED, NULL },
};

static void a_failing_query_scores_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof failing_cases / sizeof failing_cases[0]; i++) {
		struct test_call test;
		const struct validation_result *result =
			validate(&test, failing_cases[i].generated, "SELECT 1");
		bool said = !failing_cases[i].message || str_is(result->message, failing_cases[i].message);
		if (result->status != failing_cases[i].status || !said)
			fail_msg("%s: %s, " STR_FMT ", %lld us", failing_cases[i].generated,
				 target_validation_status_name(result->status), STR_ARG(result->message),
				 (long long)test.call.duration_us);
		assert_int_equal(result->error, ERR_OK);
		assert_true(result->score == 0.0);
		assert_true(str_present(result->message) && result->message.len > 0);
		test_call_free(&test);
	}
}

static void an_endless_query_is_cut_short(void **state)
{
	struct test_call test;
	(void)state;
	struct target_settings settings = sqlite_settings("shop", shop.path);
	settings.statement_timeout_ms = 1000;
	struct targets *hasty = start_targets(&settings, 1, NULL);
	const struct validation_result *result = run_pair(
		hasty, "shop", &test,
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
		"SELECT 1");
	assert_int_equal(result->status, VALIDATION_TIMEOUT);
	assert_true(str_is(result->message, "the query was cancelled at its time limit"));
	assert_int_equal(result->error, ERR_OK);
	assert_true(result->score == 0.0);
	test_call_free(&test);
	targets_stop(hasty);
}

static void a_broken_truth_is_flagged(void **state)
{
	struct test_call test;
	(void)state;
	const struct validation_result *result = validate(&test, "SELECT 1", "SELECT gone FROM shop");
	assert_int_equal(result->status, VALIDATION_GROUND_TRUTH_FAILED);
	assert_int_equal(result->error, ERR_GROUND_TRUTH_FAILED);
	assert_string_equal(result->message.ptr, "no such column: gone");
	test_call_free(&test);
}

static void too_many_rows_are_cut(void **state)
{
	struct test_call test;
	(void)state;
	const char *many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 200000) "
			   "SELECT i FROM n";
	const struct validation_result *result = validate(&test, many, many);
	assert_int_equal(result->status, VALIDATION_COMPARED);
	assert_true(result->truncated);
	assert_int_equal(result->generated.rows, 10000);
	assert_true(result->score == 1.0);
	test_call_free(&test);
}

/* The file may change while queries are validated; what was there before is what they see. */
static void new_content_is_seen_by_the_next_call(void **state)
{
	struct test_call test;
	(void)state;
	assert_true(validate(&test, "SELECT count(*) FROM shop", "SELECT 3")->score == 1.0);
	test_call_free(&test);
	test_sqlite_run(shop.path, "INSERT INTO shop (id) VALUES (4); CREATE TABLE added (i)");
	assert_true(validate(&test, "SELECT count(*) FROM shop", "SELECT 4")->score == 1.0);
	test_call_free(&test);
	assert_true(validate(&test, "SELECT i FROM added", "SELECT i FROM added")->score == 1.0);
	test_call_free(&test);
}

static void a_replaced_file_is_opened_anew(void **state)
{
	char old_path[300], new_path[300];
	struct test_call test;
	(void)state;
	assert_int_equal(validate(&test, "SELECT 1 FROM replaced", "SELECT 1")->status,
			 VALIDATION_EXECUTION_FAILED);
	test_call_free(&test);
	snprintf(old_path, sizeof old_path, "%s/old.db", shop.directory);
	snprintf(new_path, sizeof new_path, "%s/new.db", shop.directory);
	sqlite3 *database;
	assert_int_equal(sqlite3_open(new_path, &database), SQLITE_OK);
	assert_int_equal(sqlite3_exec(database, "CREATE TABLE replaced (i); INSERT INTO replaced VALUES (1)",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(database);
	assert_int_equal(rename(shop.path, old_path), 0);
	assert_int_equal(rename(new_path, shop.path), 0);
	assert_true(validate(&test, "SELECT 1 FROM replaced", "SELECT 1")->score == 1.0);
	test_call_free(&test);
	assert_int_equal(rename(old_path, shop.path), 0);
}

static void a_locked_file_is_not_the_fault_of_the_query(void **state)
{
	struct test_call test;
	sqlite3 *database;
	(void)state;
	assert_int_equal(sqlite3_open(shop.path, &database), SQLITE_OK);
	assert_int_equal(sqlite3_exec(database, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
	const struct validation_result *result = validate(&test, "SELECT id FROM shop", "SELECT 1");
	assert_int_equal(result->status, VALIDATION_UNAVAILABLE);
	assert_int_equal(result->error, ERR_TARGET_BUSY);
	test_call_free(&test);
	sqlite3_close(database);
	assert_true(validate(&test, "SELECT 1", "SELECT 1")->score == 1.0);
	test_call_free(&test);
}

static void what_is_no_database_is_unavailable(void **state)
{
	char text_path[256];
	struct err_detail detail = { "" };
	struct arena *arena = arena_new();
	str_t notes;
	(void)state;
	struct target_settings settings = sqlite_settings("shop", shop.path);
	assert_int_equal(target_check(&settings, arena, &notes, &detail), ERR_OK);
	assert_string_equal(notes.ptr, "");
	settings.path = "/nowhere/shop.db";
	assert_int_equal(target_check(&settings, arena, &notes, &detail), ERR_TARGET_UNAVAILABLE);
	assert_string_equal(detail.message,
			    "target \"shop\": /nowhere/shop.db: No such file or directory; mend path");
	snprintf(text_path, sizeof text_path, "%s/text", shop.directory);
	FILE *file = fopen(text_path, "w");
	for (int i = 0; i < 200; i++)
		fprintf(file, "this is no database at all\n");
	fclose(file);
	settings.path = text_path;
	assert_int_equal(target_check(&settings, arena, &notes, &detail), ERR_TARGET_UNAVAILABLE);
	assert_non_null(strstr(detail.message, "file is not a database"));
	unlink(text_path);
	arena_free(arena);
}

/* As the analysis has it, by the same setting. */
static void text_in_double_quotes_is_a_string_by_the_setting(void **state)
{
	(void)state;
	for (int names = 0; names < 2; names++) {
		struct test_call test;
		struct target_settings settings = sqlite_settings("quotes", shop.path);
		settings.policy.double_quotes_are_names = names;
		struct targets *own = start_targets(&settings, 1, NULL);
		test_call_init(&test, "quotes", "SELECT \"a text\", \"id\" FROM shop",
			       "SELECT 'a text', id FROM shop");
		targets_submit(own, &test.call);
		test_call_wait(&test);
		assert_int_equal(test.call.result.status,
				 names ? VALIDATION_EXECUTION_FAILED : VALIDATION_COMPARED);
		assert_true(test.call.result.score == (names ? 0.0 : 1.0));
		test_call_free(&test);
		targets_stop(own);
	}
}

static void check_tells_rules_of_no_name(void **state)
{
	static const struct sql_required_column wrong[] = { { STR("shop"), STR("idd") },
							    { STR("main.shops"), STR("id") } };
	static const struct sql_required_column right[] = { { STR("Main.Shop"), STR("ID") } };
	struct err_detail detail = { "" };
	struct arena *arena = arena_new();
	str_t notes;
	(void)state;
	struct target_settings settings = sqlite_settings("shop", shop.path);
	settings.policy = (struct sql_policy){ .required_columns = right, .required_columns_count = 1 };
	assert_int_equal(target_check(&settings, arena, &notes, &detail), ERR_OK);
	settings.policy = (struct sql_policy){ .required_columns = wrong, .required_columns_count = 2 };
	assert_int_equal(target_check(&settings, arena, &notes, &detail), ERR_CONFIG_RANGE);
	assert_string_equal(detail.message,
			    "target \"shop\": required_columns: \"shop.idd\": table \"shop\" has no column "
			    "\"idd\"; did you mean \"id\"?; \"main.shops.id\": there is no table "
			    "\"main.shops\"; did you mean \"main.shop\"?");
	arena_free(arena);
}

static void the_catalog_is_the_schema(void **state)
{
	(void)state;
	targets_wait_catalogs(targets, 30000);
	struct catalog *catalog = targets_catalog(targets, targets_find(targets, STR("shop")));
	assert_non_null(catalog);
	assert_int_equal(catalog_dialect(catalog), SQL_SQLITE);
	assert_non_null(strstr(catalog_source(catalog).ptr, "CREATE VIEW cheap"));
	catalog_unref(catalog);
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_catalog_is_the_schema),
		cmocka_unit_test(results_are_compared),
		cmocka_unit_test(truths_may_be_tables),
		cmocka_unit_test(a_failing_query_scores_nothing),
		cmocka_unit_test(an_endless_query_is_cut_short),
		cmocka_unit_test(a_broken_truth_is_flagged),
		cmocka_unit_test(too_many_rows_are_cut),
		cmocka_unit_test(new_content_is_seen_by_the_next_call),
		cmocka_unit_test(a_replaced_file_is_opened_anew),
		cmocka_unit_test(a_locked_file_is_not_the_fault_of_the_query),
		cmocka_unit_test(what_is_no_database_is_unavailable),
		cmocka_unit_test(check_tells_rules_of_no_name),
		cmocka_unit_test(text_in_double_quotes_is_a_string_by_the_setting),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
