/*
 * Base tables of a PostgreSQL statement: what FROM and JOIN read wherever they stand, without the names of
 * WITH queries; lower case, with a schema only where it is not on the search path. Pure.
 */
#pragma once

#include "sql/postgresql/parse/parse.h" // first: see pg_nodes.h

#include "sql/findings/analysis.h"

/* Sorted, unique names in the arena. Works for other statements than SELECT too. False: nested too deeply to
 * be looked through. */
bool canonical_tables(const Node *statement, const struct sql_request *request, struct arena *arena,
		      const str_t **ret_tables, size_t *ret_count);
