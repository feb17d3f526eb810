/*
 * Queries that grow while they are planned: PostgreSQL puts the expressions of a subquery, of a view and of a
 * WITH query read once in place of the columns that are read from it. A few hundred bytes that double what
 * the level below holds ask for gigabytes before anything runs.
 *
 * Counts what the statement grows to, never less than that as far as the text tells: nodes of expressions
 * and relations. Each query of the text is measured once or twice, whatever it grows to. Pure.
 */
#pragma once

#include "sql/postgresql/safety/walk.h" // first: see pg_nodes.h

#define GROWTH_MAX_NODES     2e5
#define GROWTH_MAX_RELATIONS 2000

/* Reports a statement that grows beyond these, and paths through JSON that do. */
void growth_check(struct walk *walk, const Node *statement, int64_t offset);
