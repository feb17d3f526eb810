/*
 * Canonical form of a query, its clause items and top-level order, the same for MySQL and SQLite. Sound, not
 * complete: equal texts mean equal queries. Needs resolved names; aliases of tables vanish, and those of
 * outputs where nothing can refer to them. Pure; any thread.
 */
#pragma once

#include "sql/findings/analysis.h"
#include "sql/query/tree.h"

struct query_canonical {
	enum sql_dialect dialect;
	bool any_collation; /* SQLite: two columns may have different ones, and the left operand's is compared
			       by */
	bool hides;	    /* some part of the query is not in the tree: only the order is told */
};

/* Fills `canonical`, `shape`, `clauses`, `ordered`, `order_*` and `limited` of `analysis`; what they hold
 * is in the arena. Canonical form and shape stay absent where there is none: the tokens have to do. */
void query_canonical(const struct query_node *root, const struct query_canonical *options,
		     struct arena *arena, struct sql_analysis *analysis);

/* The name of a family of queries, from a text that is the same for all of them; in the arena. */
str_t query_shape_name(str_t text, struct arena *arena);
