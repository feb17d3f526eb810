/*
 * Canonical form of a PostgreSQL statement, its clause items, base tables and top-level order.
 *
 * Sound, not complete: equal texts mean equal queries; where equality is in doubt the difference is kept.
 * Works without a catalog; with one, unqualified columns are qualified.
 * Pure; any thread with POOL_STACK_BYTES of stack.
 */
#pragma once

#include "sql/analysis.h"

struct parsed_statement;
struct resolution;

/* Fills `canonical`, `clauses`, `tables*`, `ordered`, `order_keys*` and `limited` of `analysis`. */
void canonical_build(const struct parsed_statement *statement, const struct resolution *resolution,
		     const struct sql_request *request, struct arena *arena, struct sql_analysis *analysis);
