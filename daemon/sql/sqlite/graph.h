/*
 * The tree of query/tree.h for a resolved SQLite query, which the rules of all dialects read. Pure; any
 * thread.
 */
#pragma once

#include "sql/query/tree.h"
#include "sql/sqlite/resolve.h"

struct sqlite_graph {
	const struct query_node *root;
	bool hides;	  /* some part is not in it, such as a window, or a name that may mean several things:
			   * queries with equal trees need not be equal */
	bool hides_query; /* that part reads something */
};

/* The whole query, in the arena; its texts are those of `select`, in whose outputs and items it notes what it
 * made of them. */
struct sqlite_graph sqlite_graph(const struct sqlite_select *select, struct arena *arena);
