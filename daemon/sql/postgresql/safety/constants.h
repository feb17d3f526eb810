/*
 * Values that a query's text alone decides: numbers, moments, intervals, and the lengths of texts, out of
 * literals, arithmetic, common functions and columns of subqueries that are such values themselves.
 *
 * Estimates, meant for finding sizes out of all proportion: of several possible values the largest counts. In
 * floating point, so that nothing overflows. Bounded by LOOK_MAX_STEPS for a statement. Pure.
 */
#pragma once

#include "sql/postgresql/parse.h" // first: see pg_nodes.h

#include "sql/postgresql/resolve/resolve.h"

#define LOOK_MAX_DEPTH 64
#define LOOK_MAX_STEPS 200000

/* Bytes of some of the values that took long to look at: those within others, which are looked at next. */
struct look_memory {
	struct {
		const Node *node;
		double bytes;
	} items[64];
	bool used;
};

/* One search for a value. */
struct look {
	const struct resolution *resolution; /* or NULL */
	unsigned *steps;		     /* made so far, of all searches of a statement */
	struct look_memory *memory;	     /* of what is known with this resolution, or NULL */
	unsigned depth;
	bool data_is_one; /* of numbers: what is not known counts as 1 */
};

/* Counts a step; false when the search has to end. */
bool look_on(struct look look);
struct look look_deeper(struct look look);

/* Value of a constant expression of numbers; false when it is anything else. */
bool constant_number(const Node *node, struct look look, double *ret_value);
double constant_number_or(const Node *node, struct look look, double otherwise);

/* The same with 1 for what tables hold: 1000000 * a is large, whatever a is. */
bool constant_guess(const Node *node, struct look look, double *ret_value);

/* Whether the value may depend on what a table holds, a parameter, or anything else that the text does not
 * tell; false: the text alone decides it, whether or not it can be computed here. */
bool may_read_data(const Node *node, struct look look);

/* The largest of those that are constants. */
bool constant_largest(const List *nodes, struct look look, double *ret_value);

/* Text of a literal, cast or not, or NULL. */
const char *constant_text(const Node *node);

/* Seconds of an interval; 0 when it is not known. */
double constant_interval(const Node *node, struct look look);

/* Seconds since 1970; NAN when not known. What the clock says counts as 2030. */
double constant_moment(const Node *node, struct look look);

/* What the value is selected from: of a column that a subquery or a function in FROM makes, or of (SELECT …):
 * calls `visit` with each value that it can be, until that says false. Whether all of them were visited, and
 * there was one. */
bool constant_sources(const Node *node, struct look look,
		      bool (*visit)(const Node *value, struct look look, void *context), void *context);

/* The first of them, or NULL. */
const Node *constant_source(const Node *node, struct look look);

/* Whether the WITH query reads itself. */
bool constant_recursive(const CommonTableExpr *cte);

/* Parts of calls. */
bool call_is(const FuncCall *call, const char *name);
bool call_is_one_of(const FuncCall *call, const char *const *names, size_t count);
const Node *call_argument(const FuncCall *call, int index);
