/*
 * Pairing of columns by trying, for small results: what columns look like alone (compare_columns.h) may
 * mislead where values are few, close to each other or of other classes, so that a result that is equal looks
 * as if it were none. A column is tried with another one only where both hold the same values, and the next
 * only where the rows so far are the same; a budget bounds the rest. Pure; any thread.
 */
#pragma once

#include "compare/rows.h"

struct compare_search {
	struct compare_table *generated, *truth; /* equally many rows and columns */
	const struct compare_tolerance *tolerance;
	size_t *matching_budget;
	/* Whether all rows match. */
	bool (*is_right)(void *context, const struct compare_pairing *pairing);
	void *context;
	struct arena *arena;
};

/* Looks for a pairing in which all rows match. False: there is none, or the results are too large to try. */
bool compare_search_pairing(const struct compare_search *search);
