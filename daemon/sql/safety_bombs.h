/*
 * Resource bombs: how many rows and bytes the constants of a query ask for, and recursion without a bound.
 *
 * Estimates from literals and arithmetic on them alone; what depends on data counts as 1 and is left to the
 * statement timeout. Pure.
 */
#pragma once

#include "sql/parse.h" // first: see pg_nodes.h

#define BOMB_CALL_ROWS	 1e6 /* of one set-returning call */
#define BOMB_QUERY_ROWS	 1e8 /* of all set-returning calls of a query multiplied */
#define BOMB_CALL_BYTES	 1e6 /* of one value */
#define BOMB_QUERY_BYTES 1e9 /* of one value times the rows */

struct call_size {
	double rows;  /* at least 1 */
	double bytes; /* of the result; at least 1 */
};

/* Size of what the call returns. */
struct call_size bomb_call_size(const FuncCall *call);

/* Value of a constant expression of numbers, casts and arithmetic; false when it is anything else. */
bool bomb_constant(const Node *node, double *ret_value);

/* Whether a recursive WITH query has nothing that ends it: no condition in its recursive part, or one that
 * lets a counter run beyond BOMB_CALL_ROWS. */
bool bomb_recursion(const CommonTableExpr *cte);
