/*
 * Truths of which only some columns are asked for, and truths given as tables of texts. Pure; any thread;
 * memory comes from the arena of the call, texts are shared.
 */
#pragma once

#include "compare/columns.h"

/* Which columns of a truth an answer has to have. */
struct compare_part {
	const size_t *columns; /* of the truth; NULL: all of them, and the answer may have no further ones */
	size_t count;
};

/* Finds the columns of a truth by name (case and blanks at the ends do not count; of several of a name the
 * first). No names: all. False: `ret_missing` is none of its columns. */
bool compare_part_find(const struct result_set *truth, const str_t *names, size_t names_count,
		       struct arena *arena, struct compare_part *ret_part, str_t *ret_missing);

/* The same rows with these columns, in this order. */
struct result_set compare_part_of(const struct result_set *set, const size_t *columns, size_t count,
				  struct arena *arena);

/* compare_results with what is asked for of the truth. Of the answer the columns with the same names are
 * taken (those that stand once), for the others those that hold most of the same; an answer with fewer
 * columns is a schema mismatch, further ones are allowed. The options' keys and whole are those of the whole
 * truth. `ret_shown`, unless NULL: what was compared, and how. */
struct compare_shown {
	struct result_set generated, truth;
	struct compare_pairing pairing; /* without pairs: columns are not paired */
};
void compare_part_results(const struct result_set *generated, const struct result_set *truth,
			  const struct compare_part *part, const struct compare_options *options,
			  struct arena *arena, struct compare_verdict *ret_verdict,
			  struct compare_shown *ret_shown);

/* Sets the classes of the columns of a table of texts: what a column holds is for the other side to say, but
 * one of nothing but "true" and "false" is boolean. */
void compare_class_texts(struct result_column *columns, size_t columns_count, const str_t *cells,
			 size_t rows_count);
