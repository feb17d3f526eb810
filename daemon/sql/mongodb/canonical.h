/*
 * Canonical form of a command, its clause items and order. Every command is written as a pipeline (a find is
 * $match, $sort, $skip, $limit, $project), in which what makes no difference is brought into one form: the
 * order of conditions and of projected fields, short forms ($eq, $and of one, $set and $addFields, a pattern
 * and $regex), where a projection stands among $sort, $skip and $limit. Sound, not complete: equal texts mean
 * equal results, as far as numbers are compared by value and columns by name. Pure; any thread.
 */
#pragma once

#include "sql/findings/analysis.h"
#include "sql/mongodb/command.h"

/* Fills `canonical`, `shape`, `clauses`, `ordered`, `order_*` and `limited` of `analysis`; what they hold is
 * in the arena. */
void mongodb_canonical(const struct mongodb_command *command, struct arena *arena,
		       struct sql_analysis *analysis);

/* False: names and values are so long, and stand so deep, that the form would be a hundred times the text. */
bool mongodb_form_is_bounded(const struct mongodb_command *command);

/* canonical_values.c: conditions of a filter, added to `conditions`; an expression; a value. `masked`: every
 * literal is the same. */
struct texts;
void mongodb_filter_texts(const struct mongodb_value *filter, bool masked, struct arena *arena,
			  struct texts *conditions);
str_t mongodb_expression_text(const struct mongodb_value *expression, bool masked, struct arena *arena);
str_t mongodb_value_text(const struct mongodb_value *value, bool masked, struct arena *arena);

/* `open` a, b, c `close` */
str_t mongodb_join(struct arena *arena, const char *open, const struct texts *texts, const char *close);

/* Both texts, or the one, with what stands between or around. */
str_t mongodb_pair(struct arena *arena, str_t left, const char *between, str_t right);
str_t mongodb_wrap(struct arena *arena, const char *open, str_t text, const char *close);

/* A name or a text between quotes, so that nothing in it can look like anything else. */
str_t mongodb_quote(str_t text, struct arena *arena);
