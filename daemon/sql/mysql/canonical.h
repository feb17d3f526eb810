/*
 * Canonical form of a MySQL or MariaDB query, its clause items and top-level order. Sound, not complete:
 * equal texts mean equal queries. Needs resolved names; aliases of tables vanish, and those of outputs where
 * nothing can refer to them. Pure; any thread.
 */
#pragma once

#include "sql/analysis.h"
#include "sql/mysql/tree.h"

/* Fills `canonical`, `shape`, `clauses`, `ordered`, `order_keys*` and `limited` of `analysis`, whose `text`
 * the tree was parsed from; what they hold is in the arena. */
void mysql_canonical_build(const struct mysql_node *root, struct arena *arena, struct sql_analysis *analysis);
