/*
 * Front ends by dialect. Each fills the whole analysis of a text that has passed the gate; the request's
 * dialect chooses one. What holds of sql_analyse (analysis.h) holds of each: pure, any thread, never fails,
 * results in the arena.
 */
#pragma once

#include "sql/diagnostics.h"
#include "sql/fence.h"
#include "sql/violations.h"

typedef void (*front_end_fn)(const struct sql_request *request, struct arena *arena,
			     struct sql_analysis *ret_analysis);

/* sql/postgresql/front_end.c */
void sql_analyse_postgresql(const struct sql_request *request, struct arena *arena,
			    struct sql_analysis *ret_analysis);

/* analysis.c */

/* An analysis of what cannot be analysed: invalid, with a syntax_error; UNSAFE with that violation, or for
 * VIOLATION_UNANALYSABLE what its tokens show (unparsed.h), else UNKNOWN. `offset` counts in the SQL as
 * given. */
void front_end_refuse(const struct sql_request *request, struct arena *arena, enum sql_violation_code code,
		      const char *reason, int64_t offset, struct sql_analysis *ret_analysis);

/* Reports that a fence was taken off, and makes the diagnostics count offsets within the part. */
void front_end_note_fence(const struct fence_result *part, struct diagnostics *diagnostics);

/* Warns when a target is named and its catalog is not there. */
void front_end_note_catalog(const struct sql_request *request, struct diagnostics *diagnostics);
