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

/* One search for a value. */
struct look {
	const struct resolution *resolution; /* or NULL */
	unsigned *steps;		     /* made so far, of all searches of a statement */
	unsigned depth;
};

/* Counts a step; false when the search has to end. */
bool look_on(struct look look);
struct look look_deeper(struct look look);

/* Value of a constant expression of numbers; false when it is anything else. */
bool constant_number(const Node *node, struct look look, double *ret_value);
double constant_number_or(const Node *node, struct look look, double otherwise);

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

/* What the value is selected from: of a column that a subquery makes, or of (SELECT …); else NULL. Of several
 * rows the `row`-th. */
const Node *constant_source(const Node *node, struct look look, int row);

/* Value of a column of a query's `row`-th row, or NULL. */
const Node *constant_output(const Node *query, int row, size_t column);

/* Parts of calls. */
bool call_is(const FuncCall *call, const char *name);
const Node *call_argument(const FuncCall *call, int index);
