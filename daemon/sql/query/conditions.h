/*
 * Columns that a policy wants constrained (required.h), told by the tree of a query: which conditions stand
 * where, and whose rows they refuse. Needs resolved names. Pure; any thread.
 */
#pragma once

#include "sql/findings/diagnostics.h"
#include "sql/query/tree.h"

/* The tree of a view's definition in the arena, with resolved names; NULL: it cannot be read, and nothing
 * holds. */
typedef const struct query_node *(*query_read_view_fn)(str_t definition, const struct sql_request *request,
						       struct arena *arena);

/* Adds missing_required, where the request's policy has such rules. */
void query_required(const struct query_node *root, const struct sql_request *request,
		    query_read_view_fn read_view, struct diagnostics *diagnostics);
