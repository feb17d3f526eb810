/*
 * Parts of a query that take some of several rows: LIMIT below the top level, where it leaves open which
 * ones. Pure; any thread.
 */
#pragma once

#include "sql/findings/analysis.h"
#include "sql/query/tree.h"

/* Fills `inner_cuts` of `analysis`, in the arena. Left out are those that take the same rows in any case: of
 * one row by what it is, of none, in EXISTS, WITH TIES, and the one that ends a recursion, which makes its
 * rows one after the other. */
void query_inner_cuts(const struct query_node *root, struct arena *arena, struct sql_analysis *analysis);
