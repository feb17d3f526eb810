/*
 * What a statement asks for by its own text: texts that calls blow up, rows that the text itself makes and
 * multiplies, recursions without an end. The same for MySQL and SQLite; the limits are in bomb_limits.h. What
 * tables hold is not counted, the statement timeout is for that. Needs resolved names. Pure; any thread.
 */
#pragma once

#include "sql/findings/violations.h"
#include "sql/query/tree.h"

/* Adds a resource_bomb for each. `ends_known`: the statement's recursions are known to end where none hides
 * behind a LIMIT that may be negative. */
void query_bombs(const struct query_node *root, enum sql_dialect dialect, bool ends_known,
		 struct violations *violations);
