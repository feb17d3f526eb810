/*
 * Values that a query's text alone decides: numbers, moments, intervals, and the lengths of texts, out of
 * literals, arithmetic, common functions and columns of subqueries that are such values themselves.
 *
 * Estimates, meant for finding sizes out of all proportion: of several possible values the largest counts. In
 * floating point, so that nothing overflows. Bounded by CONST_EVAL_MAX_STEPS for a statement. Pure.
 */
#pragma once

#include "sql/postgresql/parse/parse.h" // first: see pg_nodes.h

#include "sql/postgresql/resolve/resolve.h"

#define CONST_EVAL_MAX_DEPTH  64
#define CONST_EVAL_MAX_STEPS  200000
#define CONST_EVAL_MAX_DIGITS 2e4 /* of a number that costs as much as its bytes */

/* Bytes of some of the values that took long to look at: those within others, which are looked at next. */
struct const_eval_memory {
	struct {
		const Node *node;
		double bytes;
	} items[64];
	bool used;
};

/* One search for a value. */
struct const_eval {
	const struct resolution *resolution; /* or NULL */
	unsigned *steps;		     /* made so far, of all searches of a statement */
	struct const_eval_memory *memory;    /* of what is known with this resolution, or NULL */
	unsigned depth;
	bool data_is_one; /* of numbers: what is not known counts as 1 */
};

/* Counts a step; false when the search has to end. */
bool const_eval_step(struct const_eval eval);
struct const_eval const_eval_deeper(struct const_eval eval);

/* Value of a constant expression of numbers; false when it is anything else. */
bool const_eval_number(const Node *node, struct const_eval eval, double *ret_value);
double const_eval_number_or(const Node *node, struct const_eval eval, double otherwise);

/* The same with 1 for what tables hold: 1000000 * a is large, whatever a is. */
bool const_eval_guess(const Node *node, struct const_eval eval, double *ret_value);

/* Whether the value may depend on what a table holds, a parameter, or anything else that the text does not
 * tell; false: the text alone decides it, whether or not it can be computed here. */
bool const_eval_may_read_data(const Node *node, struct const_eval eval);

/* The largest of those that are constants. */
bool const_eval_largest(const List *nodes, struct const_eval eval, double *ret_value);

/* Text of a literal, cast or not, or NULL. */
const char *const_eval_text(const Node *node);

/* Seconds of an interval; 0 when it is not known. */
double const_eval_interval(const Node *node, struct const_eval eval);

/* Seconds since 1970; NAN when not known. What the clock says counts as 2030. */
double const_eval_moment(const Node *node, struct const_eval eval);

/* Bytes of the value, as far as constants decide; at least 1. */
double const_eval_bytes(const Node *node, struct const_eval eval);

/* Bytes that every value of the type has: of char(n) and bit(n); else 1. */
double const_eval_type_bytes(const TypeName *type);

/* Digits of the number that a power of constants is, and of one of e; 0 where it is none, or one of a fixed
 * size. */
double const_eval_power_digits(const Node *base, const Node *exponent, struct const_eval eval);
double const_eval_exp_digits(const Node *exponent, struct const_eval eval);

/* What the value is selected from: of a column that a subquery or a function in FROM makes, or of (SELECT …):
 * calls `visit` with each value that it can be, until that says false. Whether all of them were visited, and
 * there was one. */
bool const_eval_sources(const Node *node, struct const_eval eval,
			bool (*visit)(const Node *value, struct const_eval eval, void *context),
			void *context);

/* The first of them, or NULL. */
const Node *const_eval_source(const Node *node, struct const_eval eval);

/* Whether the WITH query reads itself. */
bool const_eval_recursive(const CommonTableExpr *cte);

/* Parts of calls. The name goes without its schema. */
str_t safety_call_name(const FuncCall *call);
bool safety_call_is(const FuncCall *call, const char *name);
#define SAFETY_CALL_IS_ANY(call, ...) STR_IS_ANY(safety_call_name(call), __VA_ARGS__)
const Node *safety_call_argument(const FuncCall *call, int index);
