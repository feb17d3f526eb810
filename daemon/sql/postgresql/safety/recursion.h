/*
 * Inside of the search for recursions without an end: what its parts share. See bombs.h.
 *
 * - recursion.c: the recursion as a whole, and who reads it
 * - recursion_courses.c: how its columns go on from row to row
 * - recursion_bounds.c: what its conditions do to it
 * - recursion_steps.c: whether what is counted in other ways comes to its limit
 * - recursion_rows.c: how many rows it makes
 * - recursion_texts.c: texts that grow with every row
 */
#pragma once

#include "sql/postgresql/safety/bombs.h" // first: see pg_nodes.h

#define RECURSION_MAX_DEPTH 64 /* of conditions and FROM items that are looked into */

/* What a condition does to a recursion. */
enum recursion_bound { BOUND_NONE, BOUND_HUGE, BOUND_SOME };

/* How a column goes on from row to row. */
enum recursion_course { COURSE_UNKNOWN, COURSE_CONSTANT, COURSE_UP, COURSE_DOWN };

struct recursion {
	const CommonTableExpr *cte;
	const SelectStmt *step;		     /* the recursive arm under way */
	struct const_eval eval;		     /* knows no columns: those of a recursion are no constants */
	const struct resolution *resolution; /* or NULL */
};

/* recursion_courses.c */
/* The name that a reference to a column ends with, or NULL. */
const char *recursion_reference(const Node *node);
/* The name that an output gets, or NULL. */
const char *recursion_output(const ResTarget *target);
/* Index of the recursive query's column of that name, or −1. */
int recursion_column(const CommonTableExpr *cte, const char *name);
/* What the column's next value is made by, without casts; NULL: not known. */
const Node *recursion_next_value(const struct recursion *recursion, int index);
enum recursion_course recursion_course_of(const struct recursion *recursion, const char *name);
/* The column that the value goes up and down with: n, n::text, n + 1, abs(n), (n, …); or NULL. */
const char *recursion_followed(const Node *node, struct const_eval eval, unsigned depth);
/* Where the column begins; NULL: not known, or in several places. */
const Node *recursion_start(const CommonTableExpr *cte, const char *name);
bool recursion_start_number(const CommonTableExpr *cte, const char *name, struct const_eval eval,
			    double *ret_start);

/* recursion_bounds.c */
/* Whether the condition names no column that goes on from row to row: it ends nothing. */
bool recursion_without_columns(const struct resolution *resolution, const Node *node);
/* What the conditions of an arm, and of what it reads from, do to the recursion. */
enum recursion_bound recursion_bound_of(struct recursion recursion, const SelectStmt *select, unsigned depth);

/* recursion_steps.c */
/* Whether `column op limit` becomes false while the column goes on by arithmetic of its own; true: by others.
 */
bool recursion_comes_to(const struct recursion *recursion, const char *op, const char *column, double limit);

/* recursion_texts.c */
/* Whether the columns of the recursive arm, each made of those of the row before, double again and again. */
bool recursion_doubles(const CommonTableExpr *cte, const SelectStmt *arm, struct const_eval eval);
