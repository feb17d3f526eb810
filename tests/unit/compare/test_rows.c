/* Bags of rows, the ladder and its edges, counts, truncated and empty results. See compare_cases.h. */
#include "cases.h"

static void test_bags(void **state)
{
	(void)state;
	static const struct compare_case cases[] = {
		{ "rows_as_sets", "1 and 2 have partners, the second 1 has none", "a:i", "1\n1\n2\n", "a:i",
		  "1\n2\n2\n", 0, 0, 2.0 / 3, 2.0 / 3 },
		{ "duplicates_folded", "two rows against one", "a:i", "1\n1\n", "a:i", "1\n", 0,
		  COUNTS_DIFFER, 0.3, 0.5 },
		{ "distinct_forgotten", "a join that doubles every row", "a:i", "1\n1\n2\n2\n", "a:i",
		  "1\n2\n", 0, COUNTS_DIFFER, 0.3, 0.5 },
		{ "duplicate_in_place_of_another", "one of 4 rows is another", "a:i|b:t",
		  "1|x\n1|x\n3|z\n4|w\n", "a:i|b:t", "1|x\n2|y\n3|z\n4|w\n", 0, 0, 0.75, 0.75 },
		{ "all_duplicates", "bags of one row", "a:t", "x\nx\nx\n", "a:t", "x\nx\nx\n", 0, 0, 1, 1 },
		{ "order_matters_without_order_by", "no ORDER BY: a bag", "a:i", "3\n1\n2\n", "a:i",
		  "1\n2\n3\n", 0, 0, 1, 1 },
		{ "columns_sorted_apart", "each column holds the same, no row does", "a:i|b:t", "1|x\n2|y\n",
		  "a:i|b:t", "1|y\n2|x\n", 0, 0, 0, 0 },
		{ "columns_sorted_apart_numbers", "each column holds the same, no row does", "a:f|b:f",
		  "1|2\n3|4\n", "a:f|b:f", "1|4\n3|2\n", 0, 0, 0, 0 },
		{ "columns_sorted_apart_partly", "2 of 4 rows are scrambled", "a:i|b:t",
		  "1|p\n2|q\n3|s\n4|r\n", "a:i|b:t", "1|p\n2|q\n3|r\n4|s\n", 0, 0, 0.5, 0.5 },
		{ "cells_run_together", "ab and c are not a and bc", "a:t|b:t", "ab|c\n", "a:t|b:t", "a|bc\n",
		  0, 0, 0, 0 },
		{ "numbers_run_together", "1, 23 and 12, 3", "a:i|b:i", "1|23\n", "a:i|b:i", "12|3\n", 0, 0,
		  0, 0 },
		{ "null_moves_to_next_cell", "NULL has its column", "a:t|b:t", "\\N|x\n", "a:t|b:t",
		  "x|\\N\n", 0, 0, 0, 0 },
		{ "number_moves_past_null", "the number has its column", "a:f|b:f", "\\N|1\n", "a:f|b:f",
		  "1|\\N\n", 0, 0, 0, 0 },
		{ "null_rows_differ", "rows of NULLs are rows", "a:i|b:t", "\\N|\\N\n\\N|\\N\n", "a:i|b:t",
		  "\\N|\\N\n\\N|\\N\n", 0, 0, 1, 1 },
		{ "null_rows_dropped", "rows of NULLs are counted", "a:i", "1\n\\N\n", "a:i", "1\n", 0,
		  COUNTS_DIFFER, 0.3, 0.5 },
		{ "null_column_decides_class", "the other column's class counts", "a:n", "\\N\n\\N\n", "a:i",
		  "\\N\n1\n", 0, 0, 0.5, 0.5 },
		{ "close_chain_matched_greedily", "1.00009 with 1 and 1 with 0.99991", "a:f", "1.00009\n1\n",
		  "a:f", "1\n0.99991\n", 0, 0, 1, 1 },
		{ "close_chain_in_two_columns", "the same in two columns at once", "a:f|b:f",
		  "1|1\n1.00009|1.00009\n", "a:f|b:f", "0.99991|0.99991\n1|1\n", 0, 0, 1, 1 },
		{ "close_chain_joins_far_values", "close to close is not close", "a:f",
		  "1\n1.00009\n1.00018\n", "a:f", "1.0004\n1.00009\n1.0005\n", 0, 0, 1.0 / 3, 1.0 / 3 },
		{ "small_chain_matched_greedily", "steps of 0.9 %", "a:f", "0.00010090\n0.0001\n", "a:f",
		  "0.0001\n0.00009911\n", 0, 0, 1, 1 },
		{ "small_rates_in_one_tolerance", "one of three is right, all are within 1e-4", "a:f",
		  "0.00002\n0.00005\n0.00008\n", "a:f", "0.00003\n0.00005\n0.00009\n", 0, 0, 1.0 / 3,
		  1.0 / 3 },
		{ "small_rates_narrower_than_large", "the small column tells rows apart, not the large one",
		  "a:f|b:f", "1|0.00002\n1.00009|0.00008\n", "a:f|b:f", "1.00009|0.00002\n1|0.0000801\n", 0,
		  0, 1, 1 },
		{ "small_column_is_the_loose_one", "a chain in the small column, the large one is close",
		  "a:f|b:f", "5|0.00010090\n5.00009|0.0001\n", "a:f|b:f", "5|0.0001\n5.00009|0.00009911\n", 0,
		  0, 1, 1 },
		{ "rounded_zeros_are_zero", "3 rows of nothing", "a:f", "1e-17\n0\n-1e-13\n", "a:f",
		  "0\n0\n0\n", 0, 0, 1, 1 },
		{ "partner_used_twice", "1 has one partner only", "a:f|b:t", "1|x\n1.00001|x\n", "a:f|b:t",
		  "1|x\n2|x\n", 0, 0, 0.5, 0.5 },
		{ "close_in_one_column_is_enough", "whole rows are close or not", "a:f|b:f", "1|1\n2|2\n",
		  "a:f|b:f", "1.00001|2\n2.00001|1\n", 0, 0, 0, 0 },
		{ "tolerance_adds_up", "every cell has its own tolerance", "a:f|b:f|c:f",
		  "1.00009|2.00009|3.00009\n", "a:f|b:f|c:f", "1|2|3\n", 0, 0, 1, 1 },
		{ "off_by_one_key", "keys are exact even where they are large", "id:i|v:t",
		  "5000000001|a\n5000000002|b\n", "id:i|v:t", "5000000002|a\n5000000001|b\n", 0, 0, 0, 0 },
	};
	CHECK_ALL(cases, check_case);
}

static void test_counts(void **state)
{
	(void)state;
	static const struct compare_case cases[] = {
		{ "empty_against_empty_divides_by_zero", "empty is what was asked for", "a:i", "", "a:i", "",
		  0, 0, 1, 1 },
		{ "empty_ordered", "empty is what was asked for", "a:i", "", "a:i", "", ORDERED, 0, 1, 1 },
		{ "empty_limited", "empty is what was asked for", "a:i", "", "a:i", "", ORDERED | LIMITED, 0,
		  1, 1 },
		{ "empty_of_other_names", "nothing to pair by", "x:i|y:t", "", "u:t|v:i", "", 0, 0, 1, 1 },
		{ "empty_of_more_columns", "columns are counted first", "a:i", "", "a:i|b:i", "", 0,
		  COLUMNS_DIFFER, 0.1, 0 },
		{ "empty_passes_against_rows", "rows are missing", "a:i", "", "a:i", "1\n", 0, COUNTS_DIFFER,
		  0.3, 0 },
		{ "rows_pass_against_empty", "rows too many", "a:i", "1\n", "a:i", "", 0, COUNTS_DIFFER, 0.3,
		  0 },
		{ "empty_truth_ordered", "rows too many", "a:i", "1\n", "a:i", "", ORDERED, COUNTS_DIFFER,
		  0.3, 0 },
		{ "null_row_is_no_row", "SUM over nothing gives a row", "a:i", "", "a:i", "\\N\n", 0,
		  COUNTS_DIFFER, 0.3, 0 },
		{ "extra_column_passes", "columns are counted first", "a:i|b:i", "1|2\n", "a:i", "1\n", 0,
		  COLUMNS_DIFFER, 0.1, 0 },
		{ "missing_column_passes", "columns are counted first", "a:i", "1\n", "a:i|b:i", "1|2\n", 0,
		  COLUMNS_DIFFER, 0.1, 0 },
		{ "columns_counted_after_rows", "both differ: the columns decide", "a:i", "1\n2\n", "a:i|b:i",
		  "1|2\n", 0, COLUMNS_DIFFER | COUNTS_DIFFER, 0.1, 0 },
		{ "count_mismatch_goes_by_rate", "two of three rows, still 0.3", "a:i", "1\n2\n3\n", "a:i",
		  "1\n2\n", 0, COUNTS_DIFFER, 0.3, 2.0 / 3 },
		{ "count_mismatch_excused_by_limit", "a LIMIT was left out", "a:i", "1\n2\n3\n", "a:i",
		  "1\n2\n", ORDERED | LIMITED, COUNTS_DIFFER, 0.3, 2.0 / 3 },
		{ "truncated_held_to_count", "what was fetched: 3 of 4", "a:i", "1\n2\n3\n", "a:i",
		  "1\n2\n3\n4\n", GENERATED_TRUNCATED, COUNTS_DIFFER, 0.75, 0.75 },
		{ "truncated_truth_held_to_count", "what was fetched: 3 of 4", "a:i", "1\n2\n3\n4\n", "a:i",
		  "1\n2\n3\n", TRUTH_TRUNCATED, COUNTS_DIFFER, 0.75, 0.75 },
		{ "truncated_both", "both at the limit, alike", "a:i", "2\n1\n", "a:i", "1\n2\n",
		  GENERATED_TRUNCATED | TRUTH_TRUNCATED, 0, 1, 1 },
		{ "truncated_longer", "the same rows, but one side has more of them", "a:i", "1\n2\n", "a:i",
		  "1\n2\n", TRUTH_TRUNCATED, COUNTS_DIFFER, 0.3, 1 },
		{ "truncated_generated_longer", "the same the other way round", "a:i", "1\n2\n3\n", "a:i",
		  "1\n2\n", GENERATED_TRUNCATED, COUNTS_DIFFER, 0.3, 2.0 / 3 },
		{ "truncated_ordered", "what was fetched, by position", "a:i", "1\n2\n", "a:i", "1\n3\n",
		  ORDERED | GENERATED_TRUNCATED | TRUTH_TRUNCATED, 0, 0.5, 0.5 },
		{ "truncated_skips_schema", "columns are counted first", "a:i", "1\n", "a:i|b:i", "1|2\n",
		  GENERATED_TRUNCATED, COLUMNS_DIFFER | COUNTS_DIFFER, 0.1, 0 },
	};
	CHECK_ALL(cases, check_case);
}

/* `rows` rows of which `matched` are the same on both sides. */
static void test_ladder_edges(void **state)
{
	(void)state;
	static const struct {
		const char *fault;
		size_t rows, matched;
		double score;
	} cases[] = {
		{ "step_099_excluded", 100, 99, 1.0 },
		{ "step_099_rounded_up", 1000, 989, 0.95 },
		{ "step_099_of_200", 200, 198, 1.0 },
		{ "step_099_of_199", 199, 197, 0.95 },
		{ "step_095_excluded", 100, 95, 0.95 },
		{ "step_095_of_20", 20, 19, 0.95 },
		{ "step_095_rounded_up", 1000, 949, 0.80 },
		{ "step_095_below", 100, 94, 0.80 },
		{ "step_080_excluded", 100, 80, 0.80 },
		{ "step_080_of_5", 5, 4, 0.80 },
		{ "step_080_rounded_up", 1000, 799, 0.799 },
		{ "below_all_steps_floored", 100, 79, 0.79 },
		{ "below_count_mismatch", 10, 2, 0.2 },
		{ "below_schema_mismatch", 100, 5, 0.05 },
		{ "nothing_in_common", 7, 0, 0.0 },
		{ "everything", 1000, 1000, 1.0 },
		{ "one_of_one", 1, 1, 1.0 },
		{ "one_of_100_passes", 99, 98, 0.95 },
	};
	static const struct compare_options unordered = { 0 };
	static const struct result_column column = { STR("a"), CELL_INTEGER };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct arena *arena = arena_new();
		str_t *cells[2] = { ARENA_ARRAY(arena, str_t, cases[i].rows),
				    ARENA_ARRAY(arena, str_t, cases[i].rows) };
		for (size_t row = 0; row < cases[i].rows; row++) {
			cells[0][row] = arena_printf(arena, "%zu", row);
			cells[1][row] = arena_printf(arena, "%zu", row < cases[i].matched ? row : row + 9999);
		}
		struct result_set sets[2] = { { &column, 1, cells[0], cases[i].rows, false },
					      { &column, 1, cells[1], cases[i].rows, false } };
		struct compare_verdict verdict;
		compare_results(&sets[0], &sets[1], &unordered, arena, &verdict);
		if (fabs(verdict.score - cases[i].score) > 1e-12)
			fail_msg("%s: %.4f instead of %.4f", cases[i].fault, verdict.score, cases[i].score);
		arena_free(arena);
	}
}

/* PostgreSQL allows SELECT without columns. */
static void test_no_columns(void **state)
{
	(void)state;
	static const struct compare_options unordered = { 0 };
	static const struct result_set sets[] = { { NULL, 0, NULL, 2, false },
						  { NULL, 0, NULL, 2, false },
						  { NULL, 0, NULL, 3, false },
						  { NULL, 0, NULL, 0, false } };
	static const double scores[] = { 1, 1, 0.3, 0.3 };
	struct arena *arena = arena_new();
	for (size_t i = 0; i < 4; i++) {
		struct compare_verdict verdict;
		compare_results(&sets[0], &sets[i], &unordered, arena, &verdict);
		assert_float_equal(verdict.score, scores[i], 0);
	}
	arena_free(arena);
}

/* A configured tolerance takes the place of the default. */
static void test_tolerances_are_those_of_the_call(void **state)
{
	(void)state;
	static const struct {
		const char *fault;
		double absolute, relative;
		const char *generated, *truth;
		double score;
	} cases[] = {
		{ "absolute_ignored", 0.5, 0, "100.4", "100", 1 },
		{ "absolute_ignored_when_small", 1e-9, 0, "10.00005", "10", 0 },
		{ "relative_ignored", 0, 0.01, "101", "100", 1 },
		{ "relative_ignored_when_small", 0, 1e-15, "1000000000000.5", "1000000000000", 0 },
		{ "border_of_absolute", 0.5, 0, "100.5", "100", 1 },
		{ "absolute_covers_small_numbers", 0.5, 0, "10.5", "10", 0 },
		{ "absolute_covers_1_percent", 0.5, 0, "10.1", "10", 1 },
		{ "border_of_relative", 0, 0.5, "1", "2", 1 },
	};
	static const struct result_column column = { STR("a"), CELL_DECIMAL };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct arena *arena = arena_new();
		struct compare_options options = { .absolute_tolerance = cases[i].absolute,
						   .relative_tolerance = cases[i].relative };
		str_t cells[2] = { str_from(cases[i].generated), str_from(cases[i].truth) };
		struct result_set sets[2] = { { &column, 1, &cells[0], 1, false },
					      { &column, 1, &cells[1], 1, false } };
		struct compare_verdict verdict;
		compare_results(&sets[0], &sets[1], &options, arena, &verdict);
		if (fabs(verdict.score - cases[i].score) > 0)
			fail_msg("%s: %.4f", cases[i].fault, verdict.score);
		arena_free(arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bags),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_ladder_edges),
		cmocka_unit_test(test_no_columns),
		cmocka_unit_test(test_tolerances_are_those_of_the_call),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
