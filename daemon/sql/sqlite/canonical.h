/*
 * Canonical form of a resolved SQLite query, its clause items and top-level order. Sound, not complete: equal
 * texts mean equal queries; where the tree does not tell, there is no form (and the tokens have to do).
 * Pure; any thread.
 */
#pragma once

#include "sql/analysis.h"
#include "sql/sqlite/resolve.h"

/* `plain_collations`: no column of the schema has a collation of its own. False: there is no form; then only
 * `ordered` and `limited` are set. What `analysis` gets lives in the arena. */
bool sqlite_canonical(const struct sqlite_select *select, bool plain_collations, struct arena *arena,
		      struct sql_analysis *analysis);
