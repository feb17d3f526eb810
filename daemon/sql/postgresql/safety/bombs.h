/*
 * Resource bombs: how many rows and bytes the constants of a query ask for, and recursion without a bound.
 *
 * Estimates from what the text decides (constants.h); what depends on data counts as 1 and is left to
 * the statement timeout. Pure.
 */
#pragma once

#include "sql/postgresql/safety/constants.h" // first: see pg_nodes.h

#include "sql/bomb_limits.h"

#define BOMB_SMALL_BYTES  1e3 /* of one value: below, it is not added to others of the query */
#define BOMB_DIGITS	  2e4 /* of a number */
#define BOMB_CATALOG_ROWS 100 /* of a relation of the system that nothing joins to others: at least */

struct call_size {
	double rows;  /* at least 1 */
	double bytes; /* of the result; at least 1 */
	double work;  /* steps that nothing interrupts; at least 1 */
};

/* Size of what the call returns. */
struct call_size bomb_call_size(const FuncCall *call, struct look look);

/* Bytes of the value, as far as constants decide; at least 1. */
double bomb_bytes(const Node *node, struct look look);

/* Steps of comparing one of the values with each place in the other. */
double bomb_work(const Node *left, const Node *right, struct look look);

/* Bytes that every value of the type has: of char(n) and bit(n); else 1. */
double bomb_type_bytes(const TypeName *type);

/* Digits of the number that a power of constants is, and of one of e; 0 where it is none, or one of a fixed
 * size. */
double bomb_power_digits(const Node *base, const Node *exponent, struct look look);
double bomb_exp_digits(const Node *exponent, struct look look);

/* Whether a recursive WITH query has nothing that ends it: no condition in its recursive part, one that a
 * counter never meets, or one that lets it run beyond BOMB_CALL_ROWS. */
bool bomb_recursion(const CommonTableExpr *cte);

/* The same, knowing who reads it: the query that the WITH belongs to may take a few rows and stop. `reader`
 * may be NULL. */
bool bomb_recursion_read(const CommonTableExpr *cte, const SelectStmt *reader, struct look look);

/* Rows of a recursive WITH query, as far as a counter with a limit decides; at least 1. */
double bomb_recursion_rows(const CommonTableExpr *cte, struct look look);
