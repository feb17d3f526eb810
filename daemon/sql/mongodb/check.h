/*
 * What is said of a command by its text alone: diagnostics of stages, operators and operands, violations of
 * what is no plain read, the collections that it reads. Pure; any thread; linear in the text, and no deeper
 * than MONGODB_MAX_DEPTH.
 */
#pragma once

#include "sql/findings/diagnostics.h"
#include "sql/findings/violations.h"
#include "sql/lex/texts.h"
#include "sql/mongodb/command.h"

/* A variable that expressions may name with "$$". */
struct mongodb_variable {
	str_t name;
	const struct mongodb_variable *outer;
};

struct mongodb_check {
	struct arena *arena;
	struct diagnostics *diagnostics;
	struct violations *violations;
	struct texts collections;
	const struct mongodb_variable *variables; /* in scope, the innermost first */
	unsigned pipelines;			  /* in each other */
	bool grouped;				  /* by a stage of the outermost pipeline */
	unsigned reduces;			  /* in each other */
	unsigned hints;				  /* that were looked for: they are dear */
};

/* The whole command. */
void mongodb_check_command(struct mongodb_check *check, const struct mongodb_command *command);

/* stages.c: the stages of a pipeline and of those within; what is sorted by. */
void mongodb_check_pipeline(struct mongodb_check *check, const struct mongodb_value *pipeline);
void mongodb_check_sort(struct mongodb_check *check, const struct mongodb_value *sort);

/* filters.c, expressions.c: each what stands where one of that kind does. */
void mongodb_check_filter(struct mongodb_check *check, const struct mongodb_value *filter);
void mongodb_check_expression(struct mongodb_check *check, const struct mongodb_value *expression);
void mongodb_check_projection(struct mongodb_check *check, const struct mongodb_value *projection);

/* An expression in which further variables are known, each of `names` and those outside. */
void mongodb_check_with(struct mongodb_check *check, const struct mongodb_value *expression,
			const str_t *names, size_t count);

/* filters.c: a pattern, wherever texts are matched against it. */
void mongodb_check_pattern(struct mongodb_check *check, str_t pattern, size_t offset);

/* A text that means itself, and would mean something else with a dollar in front. */
void mongodb_missing_dollar(struct mongodb_check *check, str_t text, size_t offset, const char *means);

/* A collection that is read, by the name at `offset`. */
void mongodb_check_collection(struct mongodb_check *check, str_t name, size_t offset);

/* Whether that is a collection of the server's own, among them what tells of users and of what others do. */
bool mongodb_is_systems(str_t name);

/* The name of an operator that nobody knows, or not there: what it does is not known either. */
void mongodb_unknown_operator(struct mongodb_check *check, const struct mongodb_value *value, char place,
			      const char *what);

/* An operand that no server takes there. */
void mongodb_invalid(struct mongodb_check *check, enum sql_diagnostic_code code,
		     const struct mongodb_value *value, const char *message);

static inline bool mongodb_is_operator(const struct mongodb_value *value)
{
	return str_present(value->key) && value->key.len > 0 && value->key.ptr[0] == '$';
}

/* Whether a document is one of operators: its first field is. */
static inline bool mongodb_has_operators(const struct mongodb_value *value)
{
	return mongodb_is_document(value) && value->first && mongodb_is_operator(value->first);
}
