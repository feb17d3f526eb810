/*
 * Matching of rows: how many rows of one bag have an equal partner in the other. Pure; any thread.
 *
 * Rows are grouped by their exact parts, and groups are cut wherever the sorted numbers of one column leave a
 * gap wider than the tolerance, which separates no two rows that are close. What is left is nearly always a
 * set of rows that are all close; only where close values form a chain is a bipartite matching computed.
 */
#pragma once

#include "compare/columns.h"

struct compare_row {
	uint64_t exact;	       /* seeded hash of the exact parts, see compare_table.h */
	const double *numbers; /* equally many in rows with equal exact parts */
	size_t numbers_count;
};

/* The rows of one side in the order of the truth's columns. */
struct compare_row *compare_read_rows(struct compare_table *table, const struct compare_pairing *pairing,
				      bool is_truth, struct arena *arena);

/* The same of `count` columns of the truth alone; `pairs` of all. */
struct compare_row *compare_read_part(struct compare_table *table, const size_t *columns, size_t count,
				      const struct compare_pair *pairs, bool is_truth, struct arena *arena);

/* Two rows alone. */
bool compare_row_equal(const struct compare_row *a, const struct compare_row *b,
		       const struct compare_tolerance *tolerance);

/* What may be spent on one comparison, in pairs of close rows that are looked at: about two seconds. */
#define COMPARE_MATCHING_BUDGET ((size_t)1 << 25)

/* The largest number of disjoint pairs of equal rows; when the budget is used up, a number that is not
 * larger.
 */
size_t compare_match_bags(const struct compare_row *left, size_t left_count, const struct compare_row *right,
			  size_t right_count, const struct compare_tolerance *tolerance, size_t *budget,
			  struct arena *arena);
