/*
 * Parts of a statement that take some of several rows: LIMIT, FETCH and OFFSET below the top level, and
 * DISTINCT ON at any, where they leave open which ones. Pure; any thread.
 */
#pragma once

#include "sql/findings/analysis.h"

struct parsed_statement;
struct resolution;

/* Fills `inner_cuts` of `analysis`, in the arena, of a statement that is resolved as a whole. Left out are
 * those that take the same rows in any case: of one row by what it is, of none, in EXISTS, WITH TIES, and
 * DISTINCT ON with keys behind its own, which are believed to decide. */
void diagnose_inner_cuts(const struct parsed_statement *parsed, const struct resolution *resolution,
			 struct arena *arena, struct sql_analysis *analysis);
