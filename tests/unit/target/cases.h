/* Cases that every engine has, each with its own SQL: what they have to show is the same. */
#pragma once

#include "compare/part.h"
#include "sql/dialects.h"
#include "tests/unit/target/calls.h"

struct compared_case {
	const char *what, *generated, *truth;
	double score;
	int64_t generated_rows, truth_rows;
};

/* Runs one pair of queries; the result lives until the call is freed. */
static inline const struct validation_result *run_pair(struct targets *targets, const char *target,
						       struct test_call *test, const char *generated,
						       const char *truth)
{
	test_call_init(test, target, generated, truth);
	targets_submit(targets, &test->call);
	return test_call_wait(test);
}

static inline void check_match(struct targets *targets, const char *target, const char *generated,
			       const char *truth)
{
	struct test_call test;
	const struct validation_result *result = run_pair(targets, target, &test, generated, truth);
	if (result->status != VALIDATION_COMPARED || result->score != 1.0)
		fail_msg("%s: %s, score %g: " STR_FMT, generated,
			 target_validation_status_name(result->status), result->score,
			 STR_ARG(result->message));
	test_call_free(&test);
}

static inline void check_rows(const struct validation_execution *execution, int64_t rows)
{
	assert_int_equal(execution->rows, rows);
	assert_true(execution->time_ms >= 0); /* an answer may be quicker than the clock */
}

static inline void check_compared(struct targets *targets, const char *target,
				  const struct compared_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct test_call test;
		const struct validation_result *result =
			run_pair(targets, target, &test, cases[i].generated, cases[i].truth);
		if (result->status != VALIDATION_COMPARED || result->score != cases[i].score)
			fail_msg("%s: %s: %s, score %g: " STR_FMT, cases[i].what, cases[i].generated,
				 target_validation_status_name(result->status), result->score,
				 STR_ARG(result->message));
		assert_int_equal(result->error, ERR_OK);
		check_rows(&result->generated, cases[i].generated_rows);
		check_rows(&result->truth, cases[i].truth_rows);
		assert_string_equal(result->generated.sqlstate, "");
		assert_false(result->truncated);
		test_call_free(&test);
	}
}

/* More rows than are fetched, on both sides. */
static inline void check_rows_cut(struct targets *targets, const char *target, const char *sql)
{
	struct test_call test;
	const struct validation_result *result = run_pair(targets, target, &test, sql, sql);
	assert_int_equal(result->status, VALIDATION_COMPARED);
	assert_true(result->truncated);
	assert_int_equal(result->generated.rows, 10000);
	assert_int_equal(result->truth.rows, 10000);
	assert_true(result->score == 1.0);
	test_call_free(&test);
}

/* Rows of a million bytes each, of which 16 MiB are fetched. */
static inline void check_bytes_cut(struct targets *targets, const char *target, const char *sql)
{
	struct test_call test;
	const struct validation_result *result = run_pair(targets, target, &test, sql, sql);
	assert_int_equal(result->status, VALIDATION_COMPARED);
	assert_true(result->truncated);
	assert_int_equal(result->generated.rows, 16);
	test_call_free(&test);
}

/* With the settings that a target has by default, on both sides: 10,000 rows with long values, or with many
 * columns. */
static inline void check_large_results_fit(struct target_settings settings, const char *long_values,
					   const char *many_columns)
{
	const char *const queries[] = { long_values, many_columns };
	settings.max_result_bytes = 67108864;
	settings.worker_memory_bytes = 536870912;
	struct targets *usual = start_targets(&settings, 1, NULL);
	for (size_t i = 0; i < 2; i++) {
		struct test_call test;
		const struct validation_result *result =
			run_pair(usual, settings.name, &test, queries[i], queries[i]);
		if (result->status != VALIDATION_COMPARED)
			fail_msg("%s", result->message.ptr);
		assert_true(result->score == 1.0);
		assert_false(result->truncated);
		assert_int_equal(result->generated.rows, 10000);
		test_call_free(&test);
	}
	targets_stop(usual);
}

/* A value that is larger than the worker's memory; the next query is answered. */
static inline void check_huge_value(struct targets *targets, const char *target, const char *huge)
{
	struct test_call test;
	const struct validation_result *result = run_pair(targets, target, &test, huge, "SELECT 'x'");
	assert_int_equal(result->status, VALIDATION_EXECUTION_FAILED);
	assert_string_equal(result->message.ptr, "a row of the result does not fit into the worker's memory");
	test_call_free(&test);
	check_match(targets, target, "SELECT 1", "SELECT 1");
}

/* Something happens while the truth's query, behind the generated one, sleeps for about a second: the results
 * are equal all the same. */
static inline void check_undisturbed(struct targets *targets, const char *target, const char *generated,
				     const char *sleeping_truth, void (*disturb)(const char *how),
				     const char *how)
{
	struct test_call test;
	test_call_init(&test, target, generated, sleeping_truth);
	targets_submit(targets, &test.call);
	sleep_ms(400);
	disturb(how);
	const struct validation_result *result = test_call_wait(&test);
	assert_int_equal(result->status, VALIDATION_COMPARED);
	assert_true(result->score == 1.0);
	test_call_free(&test);
}

/* A lock of another session is not the fault of the query that waits for it. */
static inline void check_locked(struct targets *targets, const char *target, const char *sql)
{
	struct test_call test;
	const struct validation_result *result = run_pair(targets, target, &test, sql, "SELECT 1");
	assert_int_equal(result->status, VALIDATION_UNAVAILABLE);
	assert_int_equal(result->error, ERR_TARGET_BUSY);
	test_call_free(&test);
}

/* The server is stopped: calls fail quickly, and say why. */
static inline void check_away(struct targets *targets, const char *target, const char *message)
{
	for (int i = 0; i < 3; i++) {
		struct test_call test;
		const struct validation_result *result =
			run_pair(targets, target, &test, "SELECT 1", "SELECT 1");
		assert_int_equal(result->status, VALIDATION_UNAVAILABLE);
		assert_int_equal(result->error, ERR_TARGET_UNAVAILABLE);
		assert_non_null(strstr(result->message.ptr, message));
		test_call_free(&test);
	}
}

/* It is started again: all is well after a while. */
static inline void check_back(struct targets *targets, const char *target)
{
	bool back = false;
	for (int i = 0; i < 600 && !back; i++) {
		struct test_call test;
		back = run_pair(targets, target, &test, "SELECT 1", "SELECT 1")->score == 1.0;
		test_call_free(&test);
		sleep_ms(back ? 0 : 100);
	}
	assert_true(back);
}

/* Rows that tie by the truth's sort keys, or where it is cut. */
struct tie_case {
	const char *fault, *generated, *truth;
	int equal; /* false, true or NOT_PROVEN */
};

/* Not equal, but the database could not be asked whether rows tie. */
#define NOT_PROVEN (-1)

/* As an event asks: with the order as the analysis of the truth has found it. */
static inline void describe_truth(struct test_call *test, enum sql_dialect dialect)
{
	struct validation_truth *truth = &test->truths[0];
	const struct sql_request request = { .sql = truth->sql, .dialect = dialect };
	struct sql_analysis analysis;
	sql_analyse(&request, test->call.arena, &analysis);
	truth->ordered = analysis.ordered;
	truth->limited = analysis.limited;
	truth->order_keys = analysis.order_keys;
	truth->order_keys_count = analysis.order_keys_count;
	struct inner_cut *cuts;
	sort_keys_show(&request, &analysis, test->call.arena, &truth->shown);
	truth->inner_cuts_count = inner_cuts_show(&request, &analysis, test->call.arena, &cuts);
	truth->inner_cuts = cuts;
}

static inline void check_ties(struct targets *targets, const char *target, enum sql_dialect dialect,
			      const struct tie_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct test_call test;
		test_call_init(&test, target, cases[i].generated, cases[i].truth);
		describe_truth(&test, dialect);
		targets_submit(targets, &test.call);
		const struct validation_result *result = test_call_wait(&test);
		if (result->status != VALIDATION_COMPARED ||
		    (result->score >= 1.0) != (cases[i].equal == true))
			fail_msg("%s: %s, score %g: " STR_FMT, cases[i].fault,
				 target_validation_status_name(result->status), result->score,
				 STR_ARG(result->message));
		if (cases[i].equal != true && result->conclusive == (cases[i].equal == NOT_PROVEN))
			fail_msg("%s: %sconclusive", cases[i].fault, result->conclusive ? "" : "not ");
		test_call_free(&test);
	}
}

/* A truth given as a table; `cells` parted by |, rows by line ends, \N is NULL. */
struct table_case {
	const char *fault, *generated, *columns, *rows;
	bool ordered;
	double score;
	const char *asked; /* column that has to be there, or NULL: all */
	const char *sql;   /* truth in place of the table, or NULL */
	double tolerance;
	bool ignore_order;
};

static inline str_t next_part(const char **at, const char *stops)
{
	str_t part = { *at, strcspn(*at, stops) };
	*at += part.len;
	return part.len == 2 && memcmp(part.ptr, "\\N", 2) == 0 ? STR_NONE : part;
}

static inline struct result_set *read_table(struct arena *arena, const char *columns, const char *rows)
{
	struct result_set *table = ARENA_NEW(arena, struct result_set);
	struct result_column *list = ARENA_ARRAY(arena, struct result_column, strlen(columns) + 1);
	str_t *cells = ARENA_ARRAY(arena, str_t, strlen(rows) + 1);
	size_t count = 0;
	for (const char *at = columns; *at; at += *at == '|')
		list[table->columns_count++].name = next_part(&at, "|");
	for (const char *at = rows; *at; at++) {
		cells[count++] = next_part(&at, "|\n");
		table->rows_count += *at == '\n';
	}
	assert_int_equal(count, table->rows_count * table->columns_count);
	compare_class_texts(list, table->columns_count, cells, table->rows_count);
	table->columns = list;
	table->cells = cells;
	return table;
}

static inline void check_tables(struct targets *targets, const char *target, enum sql_dialect dialect,
				const struct table_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct test_call test;
		str_t asked = str_from(cases[i].asked);
		test_call_init(&test, target, cases[i].generated, cases[i].sql ? cases[i].sql : "");
		if (cases[i].sql) {
			describe_truth(&test, dialect);
		} else {
			test.truths[0] = (struct validation_truth){
				.table = read_table(test.call.arena, cases[i].columns, cases[i].rows),
				.ordered = cases[i].ordered
			};
		}
		test.call.comparing =
			(struct validation_comparing){ &asked, cases[i].asked ? 1 : 0, cases[i].ignore_order,
						       cases[i].tolerance, 3 };
		targets_submit(targets, &test.call);
		const struct validation_result *result = test_call_wait(&test);
		if (result->status != VALIDATION_COMPARED || result->score != cases[i].score)
			fail_msg("%s: %s: %s, score %g: " STR_FMT, cases[i].fault, cases[i].generated,
				 target_validation_status_name(result->status), result->score,
				 STR_ARG(result->message));
		test_call_free(&test);
	}
}

#define TWO_ROWS "SELECT 1 AS n, 'x' AS t, 2.5 AS d UNION ALL SELECT 2, NULL, 0.25"

/* In any engine. */
static const struct table_case common_table_cases[] = {
	{ .fault = "cells are compared as texts",
	  .generated = TWO_ROWS,
	  .columns = "n|t|d",
	  .rows = "1.0|x|2.50\n2|\\N|2.5e-1\n",
	  .score = 1 },
	{ .fault = "columns have to come in order",
	  .generated = TWO_ROWS,
	  .columns = "d|t|n",
	  .rows = "2.5|x|1\n0.25|\\N|2\n",
	  .score = 1 },
	{ .fault = "names have to be the same",
	  .generated = TWO_ROWS,
	  .columns = "amount|label|number",
	  .rows = "2.5|x|1\n0.25|\\N|2\n",
	  .score = 1 },
	{ .fault = "rows have to come in order",
	  .generated = TWO_ROWS,
	  .columns = "n|t|d",
	  .rows = "2|\\N|0.25\n1|x|2.5\n",
	  .score = 1 },
	{ .fault = "order is not seen",
	  .generated = "SELECT 1 AS n UNION ALL SELECT 2",
	  .columns = "n",
	  .rows = "2\n1\n",
	  .ordered = true,
	  .score = 0 },
	{ .fault = "order is seen although it is to be ignored",
	  .generated = "SELECT 1 AS n UNION ALL SELECT 2",
	  .columns = "n",
	  .rows = "2\n1\n",
	  .ordered = true,
	  .ignore_order = true,
	  .score = 1 },
	{ .fault = "rows in order are not",
	  .generated = "SELECT 1 AS n UNION ALL SELECT 2",
	  .columns = "n",
	  .rows = "1\n2\n",
	  .ordered = true,
	  .score = 1 },
	{ .fault = "duplicates do not count",
	  .generated = "SELECT 1 AS n UNION ALL SELECT 1",
	  .columns = "n",
	  .rows = "1\n",
	  .score = 0.3 },
	{ .fault = "a wrong value",
	  .generated = TWO_ROWS,
	  .columns = "n|t|d",
	  .rows = "1|x|2.5\n2|\\N|0.5\n",
	  .score = 0.5 },
	{ .fault = "an empty text is NULL",
	  .generated = "SELECT NULL AS t",
	  .columns = "t",
	  .rows = "\n",
	  .score = 0 },
	{ .fault = "NULL is NULL",
	  .generated = "SELECT NULL AS t",
	  .columns = "t",
	  .rows = "\\N\n",
	  .score = 1 },
	{ .fault = "nothing is something",
	  .generated = "SELECT 1 AS n",
	  .columns = "n",
	  .rows = "",
	  .score = 0.3 },
	{ .fault = "nothing is not nothing",
	  .generated = "SELECT 1 AS n WHERE 1 = 0",
	  .columns = "n",
	  .rows = "",
	  .score = 1 },
	{ .fault = "a truth value is text",
	  .generated = "SELECT 1 = 1 AS yes, 1 = 0 AS no",
	  .columns = "yes|no",
	  .rows = "true|FALSE\n",
	  .score = 1 },
	{ .fault = "a truth value is any",
	  .generated = "SELECT 1 = 1 AS yes, 1 = 0 AS no",
	  .columns = "yes|no",
	  .rows = "true|true\n",
	  .score = 0 },
	{ .fault = "a code is a number",
	  .generated = "SELECT '007' AS code",
	  .columns = "code",
	  .rows = "7\n",
	  .score = 0 },
	{ .fault = "a column too many",
	  .generated = TWO_ROWS,
	  .columns = "n|t",
	  .rows = "1|x\n2|\\N\n",
	  .score = 0.1 },
	/* some columns of a truth */
	{ .fault = "further columns",
	  .generated = TWO_ROWS,
	  .columns = "n|t",
	  .rows = "1|x\n2|\\N\n",
	  .asked = "N ",
	  .score = 1 },
	{ .fault = "another name",
	  .generated = "SELECT 'x' AS a, 2.5 AS b, 1 AS c UNION ALL SELECT 'y', 0.25, 2",
	  .columns = "n|t",
	  .rows = "1|p\n2|q\n",
	  .asked = "n",
	  .score = 1 },
	{ .fault = "further columns, wrong values",
	  .generated = TWO_ROWS,
	  .columns = "n|t",
	  .rows = "1|x\n3|\\N\n",
	  .asked = "n",
	  .score = 0.5 },
	{ .fault = "fewer columns",
	  .generated = "SELECT 1 AS n UNION ALL SELECT 2",
	  .sql = TWO_ROWS,
	  .asked = "n",
	  .score = 1 },
	{ .fault = "further columns than the truth's SQL",
	  .sql = "SELECT 1 AS n UNION ALL SELECT 2",
	  .generated = TWO_ROWS,
	  .asked = "n",
	  .score = 1 },
	{ .fault = "a key that is not asked for",
	  .sql = "SELECT 'a' AS t, 1 AS k UNION ALL SELECT 'b', 2 ORDER BY 2",
	  .generated = "SELECT 'a' AS t, 9 AS x UNION ALL SELECT 'b', 3 ORDER BY 1",
	  .asked = "t",
	  .score = 1 },
	{ .fault = "the order of a key that is not asked for",
	  .sql = "SELECT 'a' AS t, 1 AS k UNION ALL SELECT 'b', 2 ORDER BY 2",
	  .generated = "SELECT 'a' AS t, 9 AS x UNION ALL SELECT 'b', 3 ORDER BY 1 DESC",
	  .asked = "t",
	  .score = 0 },
	/* tolerances of a truth */
	{ .fault = "no tolerance",
	  .generated = "SELECT 100.4 AS d",
	  .columns = "d",
	  .rows = "100\n",
	  .tolerance = 0.5,
	  .score = 1 },
	{ .fault = "more than the tolerance",
	  .generated = "SELECT 100.6 AS d",
	  .columns = "d",
	  .rows = "100\n",
	  .tolerance = 0.5,
	  .score = 0 },
	{ .fault = "the usual tolerance",
	  .generated = "SELECT 100.00009 AS d",
	  .columns = "d",
	  .rows = "100\n",
	  .tolerance = 1e-300,
	  .score = 0 },
};

static inline void check_common_tables(struct targets *targets, const char *target, enum sql_dialect dialect)
{
	check_tables(targets, target, dialect, common_table_cases,
		     sizeof common_table_cases / sizeof common_table_cases[0]);
}

/* A column that no truth has is a broken truth, and says so; a query that fails is no fault of a table. */
static inline void check_broken_tables(struct targets *targets, const char *target)
{
	struct test_call test;
	const str_t asked = STR("total");
	test_call_init(&test, target, "SELECT 1 AS n", "");
	test.truths[0] = (struct validation_truth){ .table = read_table(test.call.arena, "n", "1\n") };
	test.call.comparing = (struct validation_comparing){ .columns = &asked, .columns_count = 1 };
	targets_submit(targets, &test.call);
	const struct validation_result *result = test_call_wait(&test);
	assert_int_equal(result->status, VALIDATION_GROUND_TRUTH_FAILED);
	assert_non_null(strstr(result->message.ptr, "\"total\""));
	test_call_free(&test);
	test_call_init(&test, target, "SELECT nowhere AS n", "");
	test.truths[0] = (struct validation_truth){ .table = read_table(test.call.arena, "n", "1\n") };
	targets_submit(targets, &test.call);
	result = test_call_wait(&test);
	assert_int_equal(result->status, VALIDATION_EXECUTION_FAILED);
	assert_int_equal(result->truth.rows, 1);
	test_call_free(&test);
	/* the second truth is right, after one that cannot run */
	test_call_init(&test, target, "SELECT 1 AS n", "SELECT nowhere");
	test.truths[test.call.truths_count++] =
		(struct validation_truth){ .table = read_table(test.call.arena, "n", "1\n") };
	targets_submit(targets, &test.call);
	result = test_call_wait(&test);
	assert_int_equal(result->status, VALIDATION_COMPARED);
	assert_int_equal(result->truth_index, 1);
	assert_true(result->score == 1.0);
	test_call_free(&test);
}

/* What the target's role may not read says nothing of truths and queries: `denied` is the truth, then the
 * query beside a truth that was given as a table, then one of two truths, and last the query alone, which
 * fails. */
static inline void check_denied(struct targets *targets, const char *target, const char *denied,
				const char *sqlstate, const char *message)
{
	static const str_t one = STR("1");
	static const struct result_column column = { STR("n"), CELL_TEXT };
	static const struct result_set table = { &column, 1, &one, 1, false };
	struct test_call test;
	const char *const generated[] = { "SELECT 1", denied };
	for (size_t i = 0; i < 2; i++) {
		const struct validation_result *result =
			run_pair(targets, target, &test, generated[i], denied);
		assert_int_equal(result->status, VALIDATION_UNAVAILABLE);
		assert_int_equal(result->error, ERR_TARGET_DENIED);
		assert_string_equal(result->truth.sqlstate, sqlstate);
		assert_non_null(strstr(result->message.ptr, message));
		test_call_free(&test);
	}
	test_call_init(&test, target, denied, "");
	test.truths[0] = (struct validation_truth){ .table = &table };
	targets_submit(targets, &test.call);
	const struct validation_result *result = test_call_wait(&test);
	assert_int_equal(result->status, VALIDATION_UNAVAILABLE);
	assert_int_equal(result->error, ERR_TARGET_DENIED);
	test_call_free(&test);
	/* whoever matches the other one is right, and nobody else is proven wrong */
	for (int right = 0; right < 2; right++) {
		test_call_init(&test, target, right ? "SELECT 7" : "SELECT 8", denied);
		test_call_add_truth(&test, "SELECT 7");
		targets_submit(targets, &test.call);
		result = test_call_wait(&test);
		assert_int_equal(result->status, VALIDATION_COMPARED);
		assert_int_equal(result->error, ERR_OK);
		assert_int_equal(result->conclusive, right);
		test_call_free(&test);
	}
	result = run_pair(targets, target, &test, denied, "SELECT 1");
	assert_int_equal(result->status, VALIDATION_EXECUTION_FAILED);
	assert_string_equal(result->generated.sqlstate, sqlstate);
	test_call_free(&test);
}
