/*
 * The tables of a query as a text for the judge: one line each, "name (column type, …)". Bounded; pure.
 */
#pragma once

#include "sql/catalog/catalog.h"

#include "common/arena.h"

#define SCHEMA_TEXT_MAX ((size_t)4096) /* bytes; what exceeds it is left out, and a line says so */

/* `tables` as the analysis names them: in lower case, with a schema unless they are on the search path. Those
 * that the catalog does not have are left out. Absent when nothing is left, or without a catalog (NULL). In
 * the arena. */
str_t schema_text(const struct catalog *catalog, const str_t *tables, size_t tables_count,
		  struct arena *arena);
