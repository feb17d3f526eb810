/*
 * Pairing of the columns of two result sets with equally many columns: by name, and where names differ by
 * content. Content is judged by hashes of values and, where several columns hold the same values, by how they
 * go together with columns that are already paired. Time grows with the square of the number of columns at
 * most. Pure; any thread.
 */
#pragma once

#include "score/compare_table.h"

#define COMPARE_NOT_PAIRED_YET SIZE_MAX

struct compare_pair {
	size_t generated; /* column */
	enum compare_mode mode;
};

struct compare_pairing {
	struct compare_pair *pairs; /* by column of the truth */
	size_t count;
	size_t choices; /* how many ways there were to make the arbitrary decisions, about; 1: there were none
			 */
};

/* `choice` from 0 up to the `choices` of an earlier pairing: each takes another way. `budget` is what may
 * still be done, about in values looked at; when it is used up, what is left is paired by what is known. */
void compare_pair_columns(struct compare_table *generated, struct compare_table *truth, size_t choice,
			  size_t *budget, struct arena *arena, struct compare_pairing *ret_pairing);

/* Pairs the columns whose names stand once on either side; the others of the truth get
 * COMPARE_NOT_PAIRED_YET. Sets `generated_taken` of the columns that were paired and returns how many were
 * not. */
size_t compare_pair_names(const struct result_set *generated, const struct result_set *truth,
			  struct compare_pairing *pairing, bool *generated_taken, struct arena *arena);

/* Pairs these two; the mode follows from their classes. */
void compare_set_pair(struct compare_pairing *pairing, const struct result_set *generated,
		      const struct result_set *truth, size_t truth_column, size_t generated_column);

/* Takes `work` from the budget, which does not go below 0. */
void compare_spend(size_t *budget, size_t work);
