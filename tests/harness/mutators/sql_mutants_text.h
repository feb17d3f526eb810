/*
 * A statement under mutation: its words, the clause that each stands in, and edits of the text. Only as exact
 * as mutants need it: what is taken for the wrong thing makes just another mutant.
 */
#pragma once

#include "tests/harness/mutators/sql_mutants.h"

enum token_kind {
	TOKEN_WORD,
	TOKEN_KEYWORD,
	TOKEN_STRING,
	TOKEN_NUMBER,
	TOKEN_OPERATOR,
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_COMMA,
	TOKEN_DOT
};

enum clause {
	CLAUSE_OTHER,
	CLAUSE_WITH,
	CLAUSE_SELECT,
	CLAUSE_FROM,
	CLAUSE_ON,
	CLAUSE_WHERE,
	CLAUSE_GROUP,
	CLAUSE_HAVING,
	CLAUSE_WINDOW,
	CLAUSE_ORDER,
	CLAUSE_LIMIT,
	CLAUSE_COUNT_
};

enum { MUTATION_TOKENS_MAX = 2000, MUTATION_DEPTH_MAX = 64 };
#define NO_TOKEN ((size_t)-1)

struct token {
	enum token_kind kind;
	enum clause clause;
	size_t at, len; /* in the text */
	size_t depth;	/* parentheses around it; those of a pair count as outside */
	size_t match;	/* the other parenthesis of the pair, or NO_TOKEN */
};

struct mutation {
	str_t sql;
	struct token tokens[MUTATION_TOKENS_MAX];
	size_t count;
	uint64_t random;
	const struct sql_vocabulary *vocabulary;
	struct arena *arena;
};

/* Tokens from `start` up to, not including, `end`. */
struct token_span {
	size_t start, end;
};

/* Takes `sql` as the text; what is too long for the tables is cut off from them, not from the text. */
void mutation_read(struct mutation *mutation, str_t sql);

/* A number below `limit` (at least 1); each call another one. */
size_t mutation_random(struct mutation *mutation, size_t limit);

/* Replaces the tokens of the span (empty: inserts before its start) and reads the new text. */
void mutation_replace(struct mutation *mutation, struct token_span span, str_t text);

str_t token_text(const struct mutation *mutation, size_t token);
str_t span_text(const struct mutation *mutation, struct token_span span);

/* Whether the token is there and is that word (lower case; any case matches) or sign. */
bool token_is(const struct mutation *mutation, size_t token, const char *text);

/* A random token that the predicate holds for, or NO_TOKEN. */
typedef bool token_predicate(const struct mutation *mutation, size_t token);
size_t mutation_pick(struct mutation *mutation, token_predicate *predicate);

/* Predicates. */
bool token_is_name(const struct mutation *mutation, size_t token);    /* of anything */
bool token_is_operand(const struct mutation *mutation, size_t token); /* a value begins there */
bool token_is_literal(const struct mutation *mutation, size_t token);
bool token_is_function(const struct mutation *mutation, size_t token); /* the name before the parenthesis */
bool token_is_relation(const struct mutation *mutation, size_t token); /* a relation's name in FROM */
bool token_is_select(const struct mutation *mutation, size_t token);
bool token_is_qualifier(const struct mutation *mutation, size_t token); /* the name before a dot */
bool token_is_bare_column(const struct mutation *mutation, size_t token);

/* The value that begins at the token (token_is_operand). */
struct token_span operand_span(const struct mutation *mutation, size_t token);

/* The clause of the SELECT at the token, without its keywords; false: it has none. `ret_keyword`: its first
 * keyword. */
bool select_clause(const struct mutation *mutation, size_t select, enum clause clause, size_t *ret_keyword,
		   struct token_span *ret_span);

/* Where the SELECT at the token ends: at a set operation, a closing parenthesis, or the end. */
size_t select_end(const struct mutation *mutation, size_t select);

/* Parts of the span between commas, at most `max`; returns how many there are. */
size_t span_items(const struct mutation *mutation, struct token_span span, struct token_span *ret_items,
		  size_t max);
