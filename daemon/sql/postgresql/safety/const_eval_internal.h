/*
 * Inside of the search for constants: what its parts share. See const_eval.h.
 *
 * - const_eval.c: texts, parts of calls, and how long to go on
 * - const_eval_sources.c: what columns and subqueries are made of
 * - const_eval_numbers.c: numbers
 * - const_eval_times.c: intervals and moments
 * - const_eval_bytes.c: lengths of texts and arrays, rows of series
 * - const_eval_digits.c: digits of powers
 *
 * They recurse into each other as expressions nest: length(repeat('x', length(…))), extract(epoch from …).
 */
#pragma once

#include "sql/postgresql/safety/const_eval.h" // first: see pg_nodes.h

#include "sql/postgresql/parse/node_children.h"

/* const_eval_sources.c */
/* What the column belongs to, past joins, and its index there; NULL: not known. */
const struct range_item *const_eval_column_item(const ColumnRef *column, struct const_eval eval,
						size_t *ret_index);

/* const_eval_times.c */
/* Seconds of one unit of an interval, by how its name begins. */
double const_eval_unit_seconds(const char *unit);

/* const_eval_bytes.c */
/* Rows that generate_series makes. */
double const_eval_series_rows(const FuncCall *call, struct const_eval eval);
/* Bytes of the longest argument. */
double const_eval_longest(const List *arguments, struct const_eval eval);
double const_eval_call_bytes(const FuncCall *call, struct const_eval eval);
/* Bytes of a value within another: a search that has used up its steps is not told apart. */
double const_eval_bytes_within(const Node *node, struct const_eval eval);
/* The same, remembered if it took many steps. */
double const_eval_bytes_kept(const Node *node, struct const_eval eval);
