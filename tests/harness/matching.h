/* The most pairs that can be made of rows that are equal: augmenting paths (Kuhn), for a handful of rows. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { MAX_MATCHING_ROWS = 12 };

struct matching {
	size_t rows, others;
	bool equal[MAX_MATCHING_ROWS][MAX_MATCHING_ROWS]; /* of a row and another one; the caller's */
	size_t partner[MAX_MATCHING_ROWS];		  /* of another one: its row, counted from 1 */
	bool seen[MAX_MATCHING_ROWS];
};

static inline bool matching_pair(struct matching *matching, size_t row)
{
	for (size_t other = 0; other < matching->others; other++) {
		if (!matching->equal[row][other] || matching->seen[other])
			continue;
		matching->seen[other] = true;
		if (matching->partner[other] == 0 || matching_pair(matching, matching->partner[other] - 1)) {
			matching->partner[other] = row + 1;
			return true;
		}
	}
	return false;
}

/* How many rows find one. The matching was zero but for `rows`, `others` and `equal`. */
static inline size_t matching_count(struct matching *matching)
{
	size_t matched = 0;
	for (size_t row = 0; row < matching->rows; row++) {
		memset(matching->seen, 0, sizeof matching->seen);
		matched += matching_pair(matching, row);
	}
	return matched;
}
