/*
 * Sort keys that a statement does not return, made visible: rows that tie can be told only by their keys.
 *
 * `SELECT name FROM t ORDER BY age` becomes `SELECT name, (age) FROM t ORDER BY age`. By the tokens of the
 * text, which is then analysed again: what is not proven to read, or whose added columns are not recognised
 * as its sort keys, is left alone. Pure; any thread with POOL_STACK_BYTES of stack.
 */
#pragma once

#include "sql/analysis.h"

struct sort_keys {
	str_t sql;			  /* returns the same columns, and the keys behind them */
	size_t added;			  /* columns at the end */
	const struct sql_order_key *keys; /* all of the statement's; none is hidden */
	size_t keys_count;
};

/* `analysis` is that of `request`. False: there is no hidden key, or the statement cannot be rewritten. The
 * results live in the arena. */
bool sort_keys_show(const struct sql_request *request, const struct sql_analysis *analysis,
		    struct arena *arena, struct sort_keys *ret_keys);
