/*
 * Columns that a policy wants constrained in a SQLite statement. Pure; any thread.
 */
#pragma once

#include "sql/findings/diagnostics.h"
#include "sql/sqlite/parser.h"

/* Adds missing_required, where the request's policy has such rules. `text` is the statement's; without a
 * tree, and where something hides a query, a rule that cannot be seen to hold does not hold. */
void sqlite_required(const struct sqlite_query *query, str_t text, const struct sql_request *request,
		     struct diagnostics *diagnostics);
