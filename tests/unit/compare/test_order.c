/* ORDER BY: positions, ties of the sort keys, LIMIT through a tie. See compare_cases.h. */
#include "cases.h"

static void test_order(void **state)
{
	(void)state;
	static const struct compare_case cases[] = {
		{ "order_ignored", "only the middle row stands where it should", "a:i", "3\n2\n1\n", "a:i",
		  "1\n2\n3\n", ORDERED, 0, 1.0 / 3, 1.0 / 3 },
		{ "order_right", "every row stands where it should", "a:i", "1\n2\n3\n", "a:i", "1\n2\n3\n",
		  ORDERED, 0, 1, 1 },
		{ "order_descending_taken_for_ascending", "DESC is told by the rows", "a:i", "3\n2\n1\n",
		  "a:i", "3\n2\n1\n", ORDERED, 0, 1, 1 },
		{ "order_by_text_not_number", "2 behind 10 as the truth has it", "a:t", "2\n10\n", "a:t",
		  "10\n2\n", ORDERED, 0, 0, 0 },
		{ "nulls_first_is_nulls_last", "NULLs stand at an end", "a:i", "\\N\n1\n2\n", "a:i",
		  "1\n2\n\\N\n", ORDERED, 0, 0, 0 },
		{ "two_rows_exchanged", "2 of 4", "a:i|b:t", "1|a\n3|c\n2|b\n4|d\n", "a:i|b:t",
		  "1|a\n2|b\n3|c\n4|d\n", ORDERED, 0, 0.5, 0.5 },
		{ "order_without_key_column", "a hidden key: by position", "v:t", "b\na\n", "v:t", "a\nb\n",
		  ORDERED | HIDDEN_KEY, 0, 0, 0 },
		{ "hidden_key_tells_twins_apart", "equal rows are equal", "v:t", "a\na\nb\n", "v:t",
		  "a\na\nb\n", ORDERED | HIDDEN_KEY, 0, 1, 1 },
		{ "hidden_second_key_ignored", "ties of the first key are ordered by a hidden one", "k:i|v:t",
		  "1|b\n1|a\n", "k:i|v:t", "1|a\n1|b\n", ORDERED | HIDDEN_SECOND_KEY, 0, 0, 0 },
		{ "tolerance_forgotten_in_order", "rows are close, in order", "k:f|v:t", "1.00001|a\n2|b\n",
		  "k:f|v:t", "1|a\n2.00001|b\n", ORDERED, 0, 1, 1 },
		{ "zones_forgotten_in_order", "one moment in two zones", "k:z", "2024-03-01 14:00:00+02\n",
		  "k:z", "2024-03-01 12:00:00+00\n", ORDERED, 0, 1, 1 },
		{ "missing_row_by_position", "counts differ", "a:i", "1\n2\n", "a:i", "1\n2\n3\n", ORDERED,
		  COUNTS_DIFFER, 0.3, 2.0 / 3 },
		{ "extra_row_in_front", "counts differ; by position none fits", "a:i", "0\n1\n2\n", "a:i",
		  "1\n2\n", ORDERED, COUNTS_DIFFER, 0.3, 0 },
		{ "key_column_out_of_range", "the key is no column of the truth: by position", "a:i",
		  "2\n1\n", "a:i", "1\n2\n", ORDERED | KEY_1, 0, 0, 0 },
		{ "scrambled_within_order", "keys in order, values not theirs", "k:i|v:t", "1|b\n2|a\n",
		  "k:i|v:t", "1|a\n2|b\n", ORDERED, 0, 0, 0 },
		{ "renamed_key_column", "the key is found by content", "v:t|n:i", "b|1\na|1\nc|2\n",
		  "k:i|w:t", "1|a\n1|b\n2|c\n", ORDERED, 0, 1, 1 },
	};
	CHECK_ALL(cases, check_case);
}

static void test_ties(void **state)
{
	(void)state;
	static const struct compare_case cases[] = {
		{ "ties_punished", "rows that tie have no order", "k:i|v:t", "1|b\n1|a\n2|c\n", "k:i|v:t",
		  "1|a\n1|b\n2|c\n", ORDERED, 0, 1, 1 },
		{ "tie_of_everything", "all rows tie", "k:i|v:t", "1|c\n1|a\n1|b\n", "k:i|v:t",
		  "1|a\n1|b\n1|c\n", ORDERED, 0, 1, 1 },
		{ "ties_swallow_others", "2 does not tie with 1", "k:i|v:t", "1|a\n2|c\n1|b\n", "k:i|v:t",
		  "1|a\n1|b\n2|c\n", ORDERED, 0, 1.0 / 3, 1.0 / 3 },
		{ "ties_across_runs", "1 occurs in two runs of a truth that sorts by an expression",
		  "k:i|v:t", "1|c\n2|b\n1|a\n", "k:i|v:t", "1|a\n2|b\n1|c\n", ORDERED, 0, 1.0 / 3, 1.0 / 3 },
		{ "only_first_key_counts", "the second key orders the ties of the first", "k:i|v:t",
		  "1|b\n1|a\n", "k:i|v:t", "1|a\n1|b\n", ORDERED | TWO_KEYS, 0, 0, 0 },
		{ "both_keys_tie", "the third column has no order", "k:i|l:i|v:t", "1|1|b\n1|1|a\n",
		  "k:i|l:i|v:t", "1|1|a\n1|1|b\n", ORDERED | TWO_KEYS, 0, 1, 1 },
		{ "keys_looked_up_by_place", "columns are permuted", "v:t|k:i", "b|1\na|1\nc|2\n", "k:i|v:t",
		  "1|a\n1|b\n2|c\n", ORDERED, 0, 1, 1 },
		{ "key_in_second_column", "the key is column 1", "v:t|k:i", "b|1\na|1\n", "v:t|k:i",
		  "a|1\nb|1\n", ORDERED | KEY_1, 0, 1, 1 },
		{ "null_keys_do_not_tie", "NULLs sort as equals", "k:i|v:t", "\\N|b\n\\N|a\n", "k:i|v:t",
		  "\\N|a\n\\N|b\n", ORDERED, 0, 1, 1 },
		{ "null_ties_with_zero", "NULL is not 0", "k:i|v:t", "\\N|b\n0|a\n", "k:i|v:t",
		  "0|a\n\\N|b\n", ORDERED, 0, 0, 0 },
		{ "keys_within_tolerance_tie", "the database knows no tolerance", "k:f|v:t",
		  "1|b\n1.00001|a\n", "k:f|v:t", "1|a\n1.00001|b\n", ORDERED, 0, 0, 0 },
		{ "keys_beyond_double_tie", "the database compares all digits", "k:d|v:t",
		  "9007199254740992|b\n9007199254740993|a\n", "k:d|v:t",
		  "9007199254740992|a\n9007199254740993|b\n", ORDERED, 0, 0, 0 },
		{ "keys_of_other_scale_do_not_tie", "1.0 and 1.00 are one key", "k:d|v:t", "1.00|b\n1.0|a\n",
		  "k:d|v:t", "1.0|a\n1.00|b\n", ORDERED, 0, 1, 1 },
		{ "keys_of_other_zone_do_not_tie", "one moment is one key", "k:z|v:t",
		  "2024-03-01 14:00:00+02|b\n2024-03-01 12:00:00+00|a\n", "k:z|v:t",
		  "2024-03-01 12:00:00+00|a\n2024-03-01 14:00:00+02|b\n", ORDERED, 0, 1, 1 },
		{ "tie_hides_wrong_value", "the tie holds other rows", "k:i|v:t", "1|b\n1|z\n2|c\n",
		  "k:i|v:t", "1|a\n1|b\n2|c\n", ORDERED, 0, 2.0 / 3, 2.0 / 3 },
		{ "tie_at_the_end_without_limit", "nothing was cut", "k:i|v:t", "1|a\n2|z\n", "k:i|v:t",
		  "1|a\n2|b\n", ORDERED, 0, 0.5, 0.5 },
	};
	CHECK_ALL(cases, check_case);
}

static void test_limit(void **state)
{
	(void)state;
	static const struct compare_case cases[] = {
		{ "limit_through_tie_punished", "z ties with b, the LIMIT took another", "k:i|v:t",
		  "1|a\n2|z\n", "k:i|v:t", "1|a\n2|b\n", ORDERED | LIMITED, CUT_TIE, 1, 1 },
		{ "limit_through_long_tie", "two of the three at the end are others", "k:i|v:t",
		  "1|a\n2|y\n2|b\n2|z\n", "k:i|v:t", "1|a\n2|b\n2|c\n2|d\n", ORDERED | LIMITED, CUT_TIE, 1,
		  1 },
		{ "limit_excuses_other_keys", "3 does not tie with 2", "k:i|v:t", "1|a\n3|z\n", "k:i|v:t",
		  "1|a\n2|b\n", ORDERED | LIMITED, 0, 0.5, 0.5 },
		{ "limit_excuses_earlier_rows", "only the last tie was cut", "k:i|v:t", "1|z\n2|b\n",
		  "k:i|v:t", "1|a\n2|b\n", ORDERED | LIMITED, 0, 0.5, 0.5 },
		{ "limit_excuses_scrambled_keys", "one key at the end is another", "k:i|v:t",
		  "1|a\n2|z\n3|y\n", "k:i|v:t", "1|a\n2|b\n2|c\n", ORDERED | LIMITED, CUT_TIE, 2.0 / 3,
		  2.0 / 3 },
		{ "limit_reported_without_need", "the same rows", "k:i|v:t", "1|a\n2|b\n", "k:i|v:t",
		  "1|a\n2|b\n", ORDERED | LIMITED, 0, 1, 1 },
		{ "limit_reported_for_exchanged_ties", "the same rows in another order", "k:i|v:t",
		  "1|a\n2|c\n2|b\n", "k:i|v:t", "1|a\n2|b\n2|c\n", ORDERED | LIMITED, 0, 1, 1 },
		{ "limit_key_in_other_column", "the key is column 1", "v:t|k:i", "a|1\nz|2\n", "v:t|k:i",
		  "a|1\nb|2\n", ORDERED | LIMITED | KEY_1, CUT_TIE, 1, 1 },
		{ "limit_key_in_permuted_column", "the key is found by name", "v:t|k:i", "a|1\nz|2\n",
		  "k:i|v:t", "1|a\n2|b\n", ORDERED | LIMITED, CUT_TIE, 1, 1 },
		{ "limit_with_close_keys", "the generated key is within the tolerance", "k:f|v:t",
		  "1|a\n2.00001|z\n", "k:f|v:t", "1|a\n2|b\n", ORDERED | LIMITED, CUT_TIE, 1, 1 },
		{ "limit_with_null_keys", "NULLs sort as equals", "k:i|v:t", "1|a\n\\N|z\n", "k:i|v:t",
		  "1|a\n\\N|b\n", ORDERED | LIMITED, CUT_TIE, 1, 1 },
		{ "limit_with_hidden_key", "ties cannot be told", "v:t", "a\nz\n", "v:t", "a\nb\n",
		  ORDERED | LIMITED | HIDDEN_KEY, 0, 0.5, 0.5 },
		{ "limit_without_order", "no ORDER BY, no ties: a bag", "v:t", "a\nz\n", "v:t", "a\nb\n",
		  LIMITED, 0, 0.5, 0.5 },
		{ "limit_with_second_key", "both keys have to tie", "k:i|l:i|v:t", "1|1|a\n2|2|z\n",
		  "k:i|l:i|v:t", "1|1|a\n2|1|b\n", ORDERED | LIMITED | TWO_KEYS, 0, 0.5, 0.5 },
		{ "limit_by_our_own_cut", "the truth was cut off at the row limit", "k:i|v:t", "1|a\n2|z\n",
		  "k:i|v:t", "1|a\n2|b\n", ORDERED | GENERATED_TRUNCATED | TRUTH_TRUNCATED, CUT_TIE, 1, 1 },
		{ "limit_does_not_excuse_the_count", "a row is missing", "k:i|v:t", "1|a\n2|z\n", "k:i|v:t",
		  "1|a\n2|b\n2|c\n", ORDERED | LIMITED, COUNTS_DIFFER | CUT_TIE, 0.3, 2.0 / 3 },
	};
	CHECK_ALL(cases, check_case);
}

/* A truth together with what it was cut from. */
struct whole_case {
	const char *fault, *reason;
	const char *columns, *generated, *truth;
	const char *keyed_columns,
		*keyed;	     /* the same columns, and hidden keys behind; the key is the last one */
	size_t first, limit; /* limit 0: none */
	bool truncated;
	enum compare_fit fit;
	bool cut_tie;
	double score;
};

static void check_whole(const struct whole_case *item)
{
	struct arena *arena = arena_new();
	const struct result_set generated = read_set(arena, item->columns, item->generated);
	const struct result_set truth = read_set(arena, item->columns, item->truth);
	struct result_set keyed = read_set(arena, item->keyed_columns, item->keyed), rows = keyed;
	str_t *cells = ARENA_ARRAY(arena, str_t, keyed.rows_count * truth.columns_count);
	for (size_t i = 0; i < keyed.rows_count * truth.columns_count; i++)
		cells[i] =
			keyed.cells[i / truth.columns_count * keyed.columns_count + i % truth.columns_count];
	keyed.truncated = rows.truncated = item->truncated;
	rows.columns = truth.columns;
	rows.columns_count = truth.columns_count;
	rows.cells = cells;
	const struct compare_whole whole = { &rows, &keyed, item->first };
	const struct compare_order_key key = { keyed.columns_count - 1 };
	struct compare_options options = { .ordered = true,
					   .order_keys = &key,
					   .order_keys_count = 1,
					   .all_keys_visible = true,
					   .limited = item->limit > 0,
					   .limit = item->limit };
	enum compare_fit fit = compare_whole_fit(&truth, &options, &whole, arena);
	struct compare_verdict verdict = { 0 };
	options.whole = &whole;
	if (fit != COMPARE_FITS_NOT)
		compare_results(&generated, &truth, &options, arena, &verdict);
	if (fit != item->fit || fabs(verdict.score - item->score) > 1e-12 ||
	    verdict.limit_cut_tie != item->cut_tie)
		fail_msg("%s (%s): fits %d, score %.4f (expected %.4f), cut tie %d", item->fault,
			 item->reason, fit, verdict.score, item->score, verdict.limit_cut_tie);
	arena_free(arena);
}

static void test_whole(void **state)
{
	(void)state;
	static const struct whole_case cases[] = {
		{ "hidden_tie_cut_punished", "b ties with a by the hidden key", "v:t", "b\n", "a\n",
		  "v:t|k:i", "a|1\nb|1\nc|2\n", 0, 1, false, COMPARE_FITS, true, 1 },
		{ "hidden_tie_excuses_all", "c does not tie", "v:t", "c\n", "a\n", "v:t|k:i",
		  "a|1\nb|1\nc|2\n", 0, 1, false, COMPARE_FITS, false, 0 },
		{ "visible_tie_believed", "x has the key but is no row of the whole", "v:t|k:i", "x|1\n",
		  "a|1\n", "v:t|k:i", "a|1\nb|1\n", 0, 1, false, COMPARE_FITS, false, 0 },
		{ "short_result_excused", "nothing was cut, b is missing", "v:t|k:i", "a|1\nx|2\n",
		  "a|1\nb|2\n", "v:t|k:i", "a|1\nb|2\n", 0, 5, false, COMPARE_FITS, false, 0.5 },
		{ "offset_tie_punished", "a and b tie at the start of the cut", "v:t|k:i", "a|1\nc|2\n",
		  "b|1\nc|2\n", "v:t|k:i", "a|1\nb|1\nc|2\n", 1, 0, false, COMPARE_FITS, true, 1 },
		{ "cut_within_one_tie", "any two of the four", "v:t|k:i", "d|1\na|1\n", "b|1\nc|1\n",
		  "v:t|k:i", "a|1\nb|1\nc|1\nd|1\n", 1, 2, false, COMPARE_FITS, true, 1 },
		{ "candidate_counts_twice", "the whole has a once", "v:t|k:i", "a|1\na|1\n", "a|1\nb|1\n",
		  "v:t|k:i", "a|1\nb|1\nc|1\n", 0, 2, false, COMPARE_FITS, false, 0.5 },
		{ "duplicates_in_the_tie_forgotten", "the whole has a twice", "v:t|k:i", "a|1\na|1\n",
		  "a|1\nb|1\n", "v:t|k:i", "a|1\nb|1\na|1\n", 0, 2, false, COMPARE_FITS, true, 1 },
		{ "tie_inside_taken_from_behind", "1 is no tie of the cut", "v:t|k:i", "c|2\na|1\n",
		  "a|1\nb|2\n", "v:t|k:i", "a|1\nb|2\nc|2\n", 0, 2, false, COMPARE_FITS, false, 0 },
		{ "plan_decides_other_ties", "the truth has b, this run has it behind the cut", "v:t|k:i",
		  "c|1\n", "b|1\n", "v:t|k:i", "a|1\nb|1\nc|1\n", 0, 1, false, COMPARE_FITS, true, 1 },
		{ "whole_of_another_query", "the truth's row is not in it", "v:t|k:i", "a|1\n", "z|1\n",
		  "v:t|k:i", "a|1\nb|1\n", 0, 1, false, COMPARE_FITS_NOT, false, 0 },
		{ "whole_too_short", "two rows behind the first, not three", "v:t|k:i", "a|1\n", "b|1\n",
		  "v:t|k:i", "a|1\nb|1\nc|2\n", 1, 0, false, COMPARE_FITS_NOT, false, 0 },
		{ "tie_that_was_not_fetched_to_its_end", "there may be an x", "v:t|k:i", "x|1\n", "a|1\n",
		  "v:t|k:i", "a|1\nb|1\n", 0, 1, true, COMPARE_FITS_PARTLY, false, 0 },
		{ "tie_was_fetched_although_not_all_was", "the tie ends before", "v:t|k:i", "b|1\n", "a|1\n",
		  "v:t|k:i", "a|1\nb|1\nc|2\n", 0, 1, true, COMPARE_FITS, true, 1 },
		{ "empty_cut", "nothing is nothing", "v:t|k:i", "", "", "v:t|k:i", "a|1\n", 1, 0, false,
		  COMPARE_FITS, false, 1 },
		{ "null_keys_at_the_cut", "NULLs sort as equals", "v:t", "b\n", "a\n", "v:t|k:i",
		  "a|\\N\nb|\\N\nc|0\n", 0, 1, false, COMPARE_FITS, true, 1 },
		{ "close_keys_at_the_cut", "the database knows no tolerance", "v:t", "b\n", "a\n", "v:t|k:f",
		  "a|1\nb|1.00001\n", 0, 1, false, COMPARE_FITS, false, 0 },
		{ "close_values_at_the_cut", "values have one", "v:f", "2.00001\n", "1\n", "v:f|k:i",
		  "1|1\n2|1\n", 0, 1, false, COMPARE_FITS, true, 1 },
		{ "twin_pairing_at_the_cut", "rows without a cut, ties inside", "v:t", "b\na\nc\n",
		  "a\nb\nc\n", "v:t|k:i", "a|1\nb|1\nc|2\n", 0, 0, false, COMPARE_FITS, false, 1 },
	};
	CHECK_ALL(cases, check_whole);
}

static void test_case_of_keys(void **state)
{
	(void)state;
	static const struct {
		const char *fault;
		bool any_case;
		const char *generated;
		double score;
		bool loose;
	} cases[] = {
		{ "ann_sorts_before_Ann", false, "ann|2\nAnn|1\nbob|3\n", 1.0 / 3, false },
		{ "ann_ties_with_Ann", true, "ann|2\nAnn|1\nbob|3\n", 1, true },
		{ "rows_in_place_are_doubted", true, "Ann|1\nann|2\nbob|3\n", 1, false },
		{ "case_of_values_forgotten_with_that_of_keys", true, "ann|1\nAnn|2\nbob|3\n", 1.0 / 3,
		  false },
		{ "other_keys_tie_too", true, "bob|3\nAnn|1\nann|2\n", 1.0 / 3, true },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct arena *arena = arena_new();
		const struct result_set generated = read_set(arena, "k:t|v:i", cases[i].generated);
		const struct result_set truth = read_set(arena, "k:t|v:i", "Ann|1\nann|2\nbob|3\n");
		const struct compare_order_key key = { 0 };
		const struct compare_options options = { .ordered = true,
							 .order_keys = &key,
							 .order_keys_count = 1,
							 .all_keys_visible = true,
							 .keys_any_case = cases[i].any_case };
		struct compare_verdict verdict;
		compare_results(&generated, &truth, &options, arena, &verdict);
		if (fabs(verdict.score - cases[i].score) > 1e-12 || verdict.loose_tie != cases[i].loose ||
		    verdict.ties_certain)
			fail_msg("%s: %g, expected %g, loose %d", cases[i].fault, verdict.score,
				 cases[i].score, verdict.loose_tie);
		arena_free(arena);
	}
}

/* Where the limit is known, a result below it was not cut. */
static void test_known_limit(void **state)
{
	(void)state;
	static const struct {
		const char *fault;
		size_t limit, offset;
		const char *generated;
		double score;
	} cases[] = {
		{ "at_its_limit", 2, 0, "1|a\n2|z\n", 1 },
		{ "below_its_limit", 3, 0, "1|a\n2|z\n", 0.5 },
		{ "above_its_limit_is_cut_too", 1, 0, "1|a\n2|z\n", 1 },
		{ "without_offset_the_start_is_whole", 2, 0, "1|z\n2|b\n", 0.5 },
		{ "behind_an_offset", 3, 1, "1|z\n2|b\n", 1 },
		{ "behind_an_offset_with_another_key", 3, 1, "3|z\n2|b\n", 0.5 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct arena *arena = arena_new();
		const struct result_set generated = read_set(arena, "k:i|v:t", cases[i].generated);
		const struct result_set truth = read_set(arena, "k:i|v:t", "1|a\n2|b\n");
		const struct compare_order_key key = { 0 };
		const struct compare_options options = { .ordered = true,
							 .order_keys = &key,
							 .order_keys_count = 1,
							 .all_keys_visible = true,
							 .limited = true,
							 .limit = cases[i].limit,
							 .offset = cases[i].offset };
		struct compare_verdict verdict;
		compare_results(&generated, &truth, &options, arena, &verdict);
		if (fabs(verdict.score - cases[i].score) > 1e-12)
			fail_msg("%s: %g, expected %g", cases[i].fault, verdict.score, cases[i].score);
		arena_free(arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),	    cmocka_unit_test(test_ties),
		cmocka_unit_test(test_limit),	    cmocka_unit_test(test_whole),
		cmocka_unit_test(test_known_limit), cmocka_unit_test(test_case_of_keys),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
