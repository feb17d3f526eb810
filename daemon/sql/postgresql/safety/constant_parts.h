/*
 * Inside of the search for constants: what its parts share. See constants.h.
 *
 * - constants.c: texts, parts of calls, and how long to go on
 * - constant_sources.c: what columns and subqueries are made of
 * - constant_numbers.c: numbers
 * - constant_times.c: intervals and moments
 */
#pragma once

#include "sql/postgresql/safety/constants.h" // first: see pg_nodes.h

/* constants.c */
/* The last part of a qualified name. */
const char *constant_last_name(const List *names);

/* constant_sources.c */
/* What the column belongs to, past joins, and its index there; NULL: not known. */
const struct range_item *constant_column_item(const ColumnRef *column, struct look look, size_t *ret_index);

/* constant_times.c */
/* Seconds of one unit of an interval, by how its name begins. */
double constant_unit_seconds(const char *unit);
