/*
 * Resource bombs: how many rows and bytes the constants of a query ask for, and recursion without a bound.
 *
 * Estimates from what the text decides (const_eval.h); what depends on data counts as 1 and is left to
 * the statement timeout. Pure.
 */
#pragma once

#include "sql/postgresql/safety/const_eval.h" // first: see pg_nodes.h

#include "sql/query/bomb_limits.h"

#define BOMB_SMALL_BYTES  1e3 /* of one value: below, it is not added to others of the query */
#define BOMB_CATALOG_ROWS 100 /* of a relation of the system that nothing joins to others: at least */

struct call_size {
	double rows;  /* at least 1 */
	double bytes; /* of the result; at least 1 */
	double work;  /* steps that nothing interrupts; at least 1 */
};

/* Size of what the call returns. */
struct call_size bomb_call_size(const FuncCall *call, struct const_eval eval);

/* Steps of comparing one of the values with each place in the other. */
double bomb_work(const Node *left, const Node *right, struct const_eval eval);

/* Whether a recursive WITH query has nothing that ends it: no condition in its recursive part, one that a
 * counter never meets, or one that lets it run beyond BOMB_CALL_ROWS. */
bool bomb_recursion(const CommonTableExpr *cte);

/* The same, knowing who reads it: the query that the WITH belongs to may take a few rows and stop. `reader`
 * may be NULL. */
bool bomb_recursion_read(const CommonTableExpr *cte, const SelectStmt *reader, struct const_eval eval);

/* Rows of a recursive WITH query, as far as a counter with a limit decides; at least 1. */
double bomb_recursion_rows(const CommonTableExpr *cte, struct const_eval eval);
