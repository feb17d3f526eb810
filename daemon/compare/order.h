/*
 * Matching of rows by position, up to ties of the sort keys. Pure; any thread.
 */
#pragma once

#include "compare/rows.h"

struct compare_order {
	const struct result_set *generated, *truth;
	const struct compare_pairing *pairing;
	const struct compare_options *options;
	struct compare_tolerance tolerance;
	const struct compare_row *generated_rows, *truth_rows;
	const struct compare_row *whole_rows; /* with the options' whole */
	size_t *matching_budget;
};

/* How ties have decided. */
struct compare_ties {
	bool cut;   /* see compare_verdict.limit_cut_tie */
	bool loose; /* see compare_verdict.loose_tie */
};

/* How many rows are matched. Rows whose keys tie may stand in any order among themselves, as far as all keys
 * are columns. Where the truth was cut off within such a tie, other rows of the tie are as good: they count,
 * and `ret_ties` says so. They are those of the whole; without it, any rows with the truth's keys. */
size_t compare_match_ordered(const struct compare_order *order, struct arena *arena,
			     struct compare_ties *ret_ties);

/* Whether the whole holds all rows that tie with the last one of the truth. */
bool compare_last_tie_whole(const struct compare_order *order, struct arena *arena);

/* Whether the keys are all columns, of the truth or of the whole. */
bool compare_keys_known(const struct compare_order *order);

/* Whether the classes of the keys leave no doubt about what ties: numbers and truth values do in any
 * database. What is written in letters ties by a collation or a type that is not seen here. */
bool compare_ties_certain(const struct compare_order *order);
