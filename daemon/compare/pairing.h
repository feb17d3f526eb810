/*
 * Pairs of columns, and the pairing while it is made: by names (columns.h), by equal contents (equals.h) and
 * by similar ones (similar.h). Not thread-safe; memory comes from the arena of the call.
 */
#pragma once

#include "compare/sketch.h"
#include "compare/table.h"

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

/* A column that has no partner yet. */
struct pairing_candidate {
	size_t column;
	size_t index;		     /* among the columns that names did not pair */
	const uint64_t *values;	     /* fingerprint of every row */
	uint64_t sequence;	     /* of the values as they are, in order; 0: not asked for yet */
	uint64_t bag;		     /* sum of all of them, in whatever order */
	uint64_t colour;	     /* sum of all of them, each mixed with what else is in its row */
	bool shared;		     /* the other side has as many open columns with this bag */
	struct compare_sketch plain; /* of the values alone */
	struct compare_sketch joint; /* of the values together with the columns already paired */
};

struct pairing_side {
	const struct result_set *set;
	struct compare_table *table;
	struct pairing_candidate *open; /* columns without partner */
	size_t open_count;
	uint64_t *anchors; /* for every row the hash of the columns that are surely paired */
};

struct pairing {
	struct pairing_side generated, truth;
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
uint64_t compare_twin_mark(const struct pairing_side *side, struct pairing_candidate *candidate);

/* The column is surely paired: rows are told apart by it. */
void compare_add_anchor(struct pairing_side *side, const uint64_t *values);

/* Pairs these two; the mode follows from their classes. */
void compare_set_pair(struct compare_pairing *pairing, const struct result_set *generated,
		      const struct result_set *truth, size_t truth_column, size_t generated_column);

/* Takes `work` from the budget, which does not go below 0. */
void compare_spend(size_t *budget, size_t work);
