/*
 * Sketches of columns: how alike two bags of values are, from a fair sample of them that is the same one on
 * both sides (bottom-k MinHash: Broder 1997). Pure; any thread.
 */
#pragma once

#include "common/arena.h"

/* The smallest distinct hashes of a column's values, and how often each occurs: a fair sample of the values,
 * and the same one on both sides. */
struct compare_sketch {
	uint64_t *hashes;
	size_t *counts;
	size_t size;
};

/* An empty sketch of at most `size` distinct values. */
void sketch_init(struct compare_sketch *sketch, size_t size, struct arena *arena);

/* The sketch of `values`, each together with its row's anchor where there are anchors. `scratch` has room for
 * all rows. */
void sketch_make(struct compare_sketch *sketch, const uint64_t *values, const uint64_t *anchors, size_t rows,
		 size_t size, uint64_t *scratch);

/* Estimated multiset Jaccard similarity: over the hashes that both samples reach. */
double sketch_similarity(const struct compare_sketch *a, const struct compare_sketch *b, size_t full_size);
