/*
 * What tells which rows of an ordered statement tie, and which others tie with those that its LIMIT leaves:
 * its sort keys that it does not return, made visible, and its LIMIT taken off.
 *
 * `SELECT name FROM t ORDER BY age LIMIT 3` becomes `SELECT name, (age) FROM t ORDER BY age`. By the tokens
 * of the text, which is then analysed again: what is not proven to read, or whose added columns are not
 * recognised as its sort keys, is left alone. Pure; any thread with POOL_STACK_BYTES of stack.
 */
#pragma once

#include "sql/findings/analysis.h"

/* Which rows, in their order, a statement returns. */
struct sort_cut {
	bool known; /* false: not written as plain numbers at the end; it stays in the statement */
	int64_t offset;
	int64_t limit; /* -1: all */
};

struct sort_keys {
	str_t sql;			  /* returns the same columns, and the hidden keys behind them */
	size_t added;			  /* columns at the end */
	const struct sql_order_key *keys; /* all of the statement's; none is hidden */
	size_t keys_count;
	bool documents; /* of MongoDB: how many columns there are only the result tells, and those of `keys`
			   are counted from the first added one on */
	struct sort_cut cut; /* of the statement; where it is known, `sql` is without it */
};

/* What the names of added columns begin with where columns have names of ours; they stand last. */
#define SORT_KEY_FIELD "assayd_sort_key_"

/* The statement with that many rows at most, in the arena. */
str_t sort_keys_limit(const struct sort_keys *keys, int64_t rows, struct arena *arena);

/* `analysis` is that of `request`. A statement without hidden keys and a cut is left as it is; one that is
 * not ordered but limited has no keys, and `sql` is without its cut, which is known. False: there are neither
 * keys nor a cut, or the statement cannot be rewritten. The results live in the arena. */
bool sort_keys_show(const struct sql_request *request, const struct sql_analysis *analysis,
		    struct arena *arena, struct sort_keys *ret_keys);
