/*
 * Front ends by dialect. Each fills the whole analysis of a text that has passed the gate; the request's
 * dialect chooses one. What holds of sql_analyse (analysis.h) holds of each: pure, any thread, never fails,
 * results in the arena.
 */
#pragma once

#include "sql/catalog/content.h"
#include "sql/findings/diagnostics.h"
#include "sql/findings/violations.h"
#include "sql/lex/code_fence.h"

typedef void (*front_end_fn)(const struct sql_request *request, struct arena *arena,
			     struct sql_analysis *ret_analysis);

/* What a grammar tells of the recursive queries of a text. */
enum front_end_recursion {
	FRONT_END_RECURSION_UNREAD, /* the text does not parse */
	FRONT_END_RECURSION_BOUNDED,
	FRONT_END_RECURSION_UNBOUNDED,
};

/* Reads a text by the grammar of another dialect; what holds of front_end_fn holds of it. */
typedef enum front_end_recursion (*front_end_recursion_fn)(str_t text, struct arena *arena);

/* An analysis of what cannot be analysed: invalid, with a syntax_error; UNSAFE with that violation, or for
 * VIOLATION_UNANALYSABLE what its tokens show (unparsed.h), else UNKNOWN. `offset` counts in the SQL as
 * given. */
void front_end_refuse(const struct sql_request *request, struct arena *arena, enum sql_violation_code code,
		      const char *reason, int64_t offset, struct sql_analysis *ret_analysis);

/* Whether the policy's list of functions holds the name, alone or behind that of its schema. */
bool front_end_lists_function(const struct sql_policy *policy, const struct catalog_function *function,
			      bool (*same)(str_t a, str_t b));

/* Whether a comment, from its first quote on (' or "), goes on where a literal was cut off: that quote closes
 * what was opened before the comment. A quote that opens a word, as in `'quarterly' revenue`, does not. What
 * an injection leaves of the statement behind it is meant; it cannot be told from prose by what whoever wrote
 * the comment chose to put there. */
bool front_end_cuts_literal(str_t comment);

/* Reports comments of dashes that go on with a quote behind what is `skipped`: they swallow the rest of a
 * literal. */
void front_end_check_comments(str_t text, enum sql_dialect dialect, const char *skipped,
			      struct violations *violations);

/* Reports that a code fence was taken off, and makes the diagnostics count offsets within the part. */
void front_end_note_fence(const struct code_fence_result *part, struct diagnostics *diagnostics);

/* Warns when a target is named and its catalog is not there. */
void front_end_note_catalog(const struct sql_request *request, struct diagnostics *diagnostics);
