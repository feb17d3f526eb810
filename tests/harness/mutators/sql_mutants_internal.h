/*
 * What the kinds of changes share; see sql_mutants.h.
 *
 * - sql_mutants_text.c: words of a statement, and edits of its text
 * - sql_mutants_fill.c: templates of changes, and what their places are filled with
 * - sql_mutants_names.c: names and aliases
 * - sql_mutants_values.c: functions, values, operators, casts
 * - sql_mutants_clauses.c: clauses and joins
 * - sql_mutants_whole.c: statements, subqueries, words and signs
 */
#pragma once

#include "tests/harness/mutators/sql_mutants_text.h"

#define ONE_OF(mutation, array) (array)[mutation_random((mutation), sizeof(array) / sizeof((array)[0]))]

enum { ITEMS_MAX = 64 };

enum template_kind {
	TEMPLATE_FUNCTION,
	TEMPLATE_TYPE,
	TEMPLATE_LITERAL,
	TEMPLATE_OPERATOR,
	TEMPLATE_WORD,
	TEMPLATE_OPERAND,
	TEMPLATE_RIGHT_VALUE,
	TEMPLATE_RIGHT_STATEMENT,
	TEMPLATE_SELECT,
	TEMPLATE_FROM,
	TEMPLATE_CONDITION,
	TEMPLATE_GROUP,
	TEMPLATE_ORDER,
	TEMPLATE_LIMIT,
	TEMPLATE_WHOLE,
};

/* A template of the kind (sql_mutants.def); static. */
const char *mutation_template(struct mutation *mutation, enum template_kind kind);

/* The template with its places filled; `present`: what stands there now. Lives in the arena. */
str_t mutation_fill(struct mutation *mutation, const char *template, str_t present);
#define FILL(mutation, array, present) mutation_fill((mutation), ONE_OF((mutation), array), (present))

/* Something of the vocabulary; a column by the name that it is visible by in the statement. */
const struct sql_vocabulary_relation *mutation_relation(struct mutation *mutation);
str_t mutation_column(struct mutation *mutation, const struct sql_vocabulary_relation *relation);
str_t mutation_qualified_column(struct mutation *mutation);

/* The token of the name that the relation in FROM is visible by; that name, of one of them. */
size_t mutation_alias_of(const struct mutation *mutation, size_t relation);
str_t mutation_alias(struct mutation *mutation);

/* The word with another letter, one more, one less, or two that have changed places. */
str_t mutation_misspell(struct mutation *mutation, str_t word);

/* Edits; false: nothing was changed. */
bool mutation_replace_token(struct mutation *mutation, size_t token, str_t text);
bool mutation_insert(struct mutation *mutation, size_t before, str_t text);
bool mutation_remove(struct mutation *mutation, size_t start, size_t end);
bool mutation_drop_item(struct mutation *mutation, const struct token_span *items, size_t count);
bool mutation_swap_items(struct mutation *mutation, const struct token_span *items, size_t count);

/* A clause of a random SELECT. */
bool mutation_clause(struct mutation *mutation, enum clause clause, size_t *ret_keyword,
		     struct token_span *ret_span);

/* Each makes one change; false: the statement has nothing of its kind. */
#define MUTATION(name, weight) bool mutate_##name(struct mutation *mutation);
#include "tests/harness/mutators/sql_mutations.def"
#undef MUTATION
