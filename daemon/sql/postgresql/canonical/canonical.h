/*
 * Canonical form of a PostgreSQL statement, its shape, clause items, base tables and top-level order.
 *
 * Sound, not complete: equal texts mean equal queries, which give the same rows (in the same order where they
 * say one) on every database; names of output columns do not count. Where equality is in doubt the difference
 * is kept. Works without a catalog; with one, names and types are known and more is recognised. The form is a
 * notation of its own and no SQL (see internal.h). Statements that it has no notation for stand for
 * themselves, token by token, behind `text: `.
 * Cost: about linear in the text, and bounded. Pure; any thread with POOL_STACK_BYTES of stack.
 */
#pragma once

#include "sql/findings/analysis.h"

#define CANONICAL_SHAPE_LEN 16

struct parsed_statement;
struct resolution;

/* Fills `canonical`, `shape`, `clauses`, `tables*`, `ordered`, `order_keys*` and `limited` of `analysis`.
 * `resolution` may be NULL. */
void canonical_build(const struct parsed_statement *statement, const struct resolution *resolution,
		     const struct sql_request *request, struct arena *arena, struct sql_analysis *analysis);

/* Of a query with errors nothing is known: it equals its own text alone. Reads `text` of `analysis`. */
void canonical_distrust(struct arena *arena, enum sql_dialect dialect, struct sql_analysis *analysis);
