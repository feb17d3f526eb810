/* Ties: rows whose order, or whose place within a LIMIT, the truth leaves open. A worker process, one thread.
 */
#pragma once

#include "target/validation_state.h"

/* A statement that returns what the cut of `shown` leaves and what it does not, as far as it is fetched; in
 * the arena. */
str_t validation_whole_query(const struct validation *validation, const struct sort_keys *shown,
			     struct arena *arena);

/* The same rows without the added columns, and behind their `columns` the rank that the database gives each
 * by the keys, in the order of that; in the arena. The statement stands in brackets as it was found to be
 * safe, and nothing is added to it but a number of its rows. */
str_t validation_rank_query(const struct validation *validation, const struct sort_keys *shown,
			    size_t columns, struct arena *arena);

/* Lets the database say which rows tie where that could change the verdict. Ties of keys that are not written
 * alike, which it did not confirm, are doubtful. Errors are the target's. */
err_t validation_settle_ties(struct validation *validation, size_t index, const struct result_set *truth,
			     struct arena *arena, struct compare_verdict *verdict, struct err_detail *detail);
