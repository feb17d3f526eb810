/*
 * Safety of a PostgreSQL statement: is it proven to be one statement that only reads?
 *
 * Default deny over native parse nodes: every node tag that the walk does not know makes the statement
 * unanalysable. All violations are found, not only the first. What needs a catalog and has none is decided by
 * the text: see functions.h for the rules about functions.
 * Pure; any thread with POOL_STACK_BYTES of stack.
 */
#pragma once

#include "sql/findings/analysis.h"

struct parsed_statement;
struct resolution;

/* Fills `violations`, `violations_count` and `verdict` of `analysis` (violations already there are kept). */
void safety_check(const struct parsed_statement *statement, const struct resolution *resolution,
		  const struct sql_request *request, struct arena *arena, struct sql_analysis *analysis);
