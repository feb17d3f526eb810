/*
 * Pairing of the columns of two result sets with equally many columns: by name, and where names differ by
 * content. Content is judged by hashes of values and, where several columns hold the same values, by how they
 * go together with columns that are already paired. Time grows with the square of the number of columns at
 * most. Pure; any thread.
 */
#pragma once

#include "compare/pairing.h"

/* `choice` from 0 up to the `choices` of an earlier pairing: each takes another way. `budget` is what may
 * still be done, about in values looked at; when it is used up, what is left is paired by what is known. */
void compare_pair_columns(struct compare_table *generated, struct compare_table *truth, size_t choice,
			  size_t *budget, struct arena *arena, struct compare_pairing *ret_pairing);

/* Pairs the columns whose names stand once on either side; the others of the truth get
 * COMPARE_NOT_PAIRED_YET. Sets `generated_taken` of the columns that were paired and returns how many were
 * not. */
size_t compare_pair_names(const struct result_set *generated, const struct result_set *truth,
			  struct compare_pairing *pairing, bool *generated_taken, struct arena *arena);
