/*
 * Shapes that a hostile text can repeat until the gate's bounds: for every construct of a SELECT one, right
 * or wrong. For tests and benchmarks of how the time of an analysis grows.
 */
#pragma once

#include "common/buf.h"
#include "sql/catalog/catalog.h"

/* The statement: prefix, `first` so many times, core, `second` so many times, suffix. In the repeated parts
 * `#` is the number of the repetition, counted from 1, and `@` the one before. */
struct sql_shape {
	const char *name, *prefix, *first, *core, *second, *suffix;
};

extern const struct sql_shape sql_shapes[];
extern const size_t sql_shapes_count;

/* Those that other dialects have as well. */
extern const struct sql_shape sql_common_shapes[];
extern const size_t sql_common_shapes_count;

/* Writes the statement over what the buffer holds. */
void sql_shape_write(const struct sql_shape *shape, unsigned count, struct buf *text);

/* The catalog with the tables that the shapes name; the caller's. */
struct catalog *sql_shapes_catalog(void);
struct catalog *sql_common_shapes_catalog(enum sql_dialect dialect); /* MySQL's or SQLite's */
