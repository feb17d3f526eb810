/*
 * A bounded, uniform sample of the rows of a large result, drawn alike on both sides.
 *
 * Rows are grouped by what has no tolerance in them, and the groups with the smallest keyed hashes are kept,
 * whole: rows that can be partners are in both samples or in none (bottom-k sampling: Broder 1997; Cohen and
 * Kaplan 2007). Not thread-safe; no I/O.
 */
#pragma once

#include "compare/digest.h"

struct compare_sample;

/* Of at most `rows_most` rows with `bytes_most` bytes together, about; up to twice as many are held.
 * `columns` stay the caller's. The caller owns the sample. */
struct compare_sample *compare_sample_new(const struct compare_digest_column *columns, size_t columns_count,
					  size_t rows_most, size_t bytes_most);

/* Takes a row; cells that it keeps are copied. `hash`: keyed, of its group. */
void compare_sample_row(struct compare_sample *sample, const str_t *cells, uint64_t hash);

/* NULL is fine. */
void compare_sample_free(struct compare_sample *sample);

/* See compare_digest_estimate. The samples are brought into order. */
void compare_sample_estimate(struct compare_sample *generated, uint64_t generated_rows,
			     struct compare_sample *truth, uint64_t truth_rows,
			     const struct compare_tolerance *tolerance, struct arena *arena,
			     struct compare_estimate *ret_estimate);
