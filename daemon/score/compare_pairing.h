/*
 * The pairing of columns while it is made; what compare_columns.c, compare_equals.c and compare_similar.c
 * share. Not thread-safe; memory comes from the arena of the call.
 */
#pragma once

#include "score/compare_columns.h"
#include "score/compare_sketch.h"

/* A column that has no partner yet. */
struct candidate {
	size_t column;
	size_t index;		/* among the columns that names did not pair */
	const uint64_t *values; /* fingerprint of every row */
	uint64_t sequence;	/* of the values as they are, in order; 0: not asked for yet */
	uint64_t bag;		/* sum of all of them, in whatever order */
	uint64_t colour;	/* sum of all of them, each mixed with what else is in its row */
	bool shared;		/* the other side has as many open columns with this bag */
	struct sketch plain;	/* of the values alone */
	struct sketch joint;	/* of the values together with the columns already paired */
};

struct side {
	const struct result_set *set;
	struct compare_table *table;
	struct candidate *open; /* columns without partner */
	size_t open_count;
	uint64_t *anchors; /* for every row the hash of the columns that are surely paired */
};

struct pairing {
	struct side generated, truth;
	struct compare_pairing *out;
	struct arena *arena;
	size_t sketch_size; /* 0: no sketch was needed yet */
	size_t choice;
	size_t *budget;
	uint64_t *scratch;
	size_t columns;	    /* that names did not pair */
	double *similarity; /* of the values alone, for each of them on either side */
};

/* Columns with the same number can be paired in any way: they are of one class and hold the same in every
 * row, to the last digit. */
uint64_t compare_twin_mark(const struct side *side, struct candidate *candidate);

/* The column is surely paired: rows are told apart by it. */
void compare_add_anchor(struct side *side, const uint64_t *values);

/* Pairs the columns that both sides hold alike (compare_equals.c). */
void compare_pair_equal_contents(struct pairing *pairing);

/* Pairs what is left: it differs somewhere, or nothing tells it apart (compare_similar.c). */
void compare_pair_similar_contents(struct pairing *pairing);
