/*
 * What two results differ in, for people: which columns were paired and which have no partner, and some rows
 * that only one side has. Bounded whatever the results hold: texts are cut, and at COMPARE_EXPLAIN_BYTES it
 * ends. Pure; any thread; all of it is in the arena of the call, nothing of the results is.
 */
#pragma once

#include "compare/part.h"

/* Texts and their places, together. */
#define COMPARE_EXPLAIN_BYTES 8192

/* Of each list of names, and the cells of a row. */
#define COMPARE_EXPLAIN_NAMES 16

/* Of rows of either side. */
#define COMPARE_EXPLAIN_ROWS 10

/* Bytes of a text; one that was cut ends in "…". */
#define COMPARE_EXPLAIN_TEXT 64

struct compare_names {
	str_t truth, generated;
};

/* Cells of the columns that were paired, in their order; absent: NULL. */
struct compare_cells {
	const str_t *items;
	size_t count;
};

struct compare_explanation {
	size_t generated_columns, truth_columns; /* how many there are */
	struct compare_names *paired;
	size_t paired_count;
	str_t *missing; /* columns of the truth without partner */
	size_t missing_count;
	str_t *extra; /* columns of the answer without partner */
	size_t extra_count;
	struct compare_cells *missing_rows; /* that only the truth has */
	size_t missing_rows_count;
	struct compare_cells *extra_rows; /* that only the answer has */
	size_t extra_rows_count;
	bool other_order;		 /* the rows are the same, in another order */
	bool shortened;			 /* there is more than is said */
	bool estimated;			 /* the match rate is that of a sample */
	bool generated_more, truth_more; /* there are more rows than were counted */
};

/* `verdict` is what comparing them has come to; `rows_most` of each side are shown (0: none), and none where
 * rows were not fetched. */
void compare_explain(const struct compare_shown *shown, const struct compare_verdict *verdict,
		     const struct compare_options *options, size_t rows_most, struct arena *arena,
		     struct compare_explanation *ret_explanation);
