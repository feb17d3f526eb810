/*
 * Matching of rows by position, up to ties of the sort keys. Pure; any thread.
 */
#pragma once

#include "score/compare_rows.h"

struct compare_order {
	const struct result_set *generated, *truth;
	const struct compare_pairing *pairing;
	const struct compare_options *options;
	struct compare_tolerance tolerance;
	const struct compare_row *generated_rows, *truth_rows;
};

/* How many rows are matched. Rows whose keys tie may stand in any order among themselves, as far as all keys
 * are columns. Where the truth was cut off within such a tie, any rows with its keys are as good: they count,
 * and `ret_cut_tie` says so. */
size_t compare_match_ordered(const struct compare_order *order, struct arena *arena, bool *ret_cut_tie);
