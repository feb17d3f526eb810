/* Cases that every engine has, each with its own SQL: what they have to show is the same. */
#pragma once

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
		fail_msg("%s: %s, score %g: " STR_FMT, generated, validation_status_name(result->status),
			 result->score, STR_ARG(result->message));
	test_call_free(&test);
}

static inline void check_rows(const struct validation_execution *execution, int64_t rows)
{
	assert_int_equal(execution->rows, rows);
	assert_true(execution->time_ms > 0);
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
				 validation_status_name(result->status), result->score,
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

/* It is started again: all is well before long. */
static inline void check_back(struct targets *targets, const char *target)
{
	bool back = false;
	for (int i = 0; i < 100 && !back; i++) {
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
	bool equal;
};

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
	sort_keys_show(&request, &analysis, test->call.arena, &truth->shown);
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
		if (result->status != VALIDATION_COMPARED || (result->score >= 1.0) != cases[i].equal)
			fail_msg("%s: %s, score %g: " STR_FMT, cases[i].fault,
				 validation_status_name(result->status), result->score,
				 STR_ARG(result->message));
		test_call_free(&test);
	}
}
