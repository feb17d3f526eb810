/* Tokens of a statement under rewriting, and edits of it. See sql_rewrites.h. */
#pragma once

#include "tests/harness/mutators/sql_rewrites.h"

enum { REWRITE_TOKENS_MAX = 1500 };
#define NO_TOKEN ((size_t)-1)

struct rewrite_token {
	size_t at, len; /* in the text */
	char kind;	/* w word, q quoted name, s text, n number, o operator */
	int depth;	/* parentheses around it; those of a pair count as inside */
};

/* The clauses of the outermost SELECT, by their first keyword; NO_TOKEN where there is none. */
struct rewrite_clauses {
	size_t with, select, from, where, group, having, order, limit;
	bool plain; /* one SELECT, without set operations, windows by name and DISTINCT ON */
};

struct rewrite {
	str_t sql;
	struct arena *arena;
	struct rewrite_token tokens[REWRITE_TOKENS_MAX + 1];
	size_t count;
	struct rewrite_clauses clauses;
};

/* False: too long. */
bool rewrite_begin(struct rewrite *rewrite, str_t sql, struct arena *arena);

bool word_is(const struct rewrite *rewrite, size_t token, const char *word); /* in any case */
str_t tokens_text(const struct rewrite *rewrite, size_t from, size_t end);   /* of [from, end) */
size_t token_find(const struct rewrite *rewrite, size_t from, size_t end, const char *word, int depth);
size_t clause_end(const struct rewrite *rewrite, size_t clause);
size_t token_closing(const struct rewrite *rewrite, size_t open); /* its closing parenthesis, or NO_TOKEN */

/* The statement with [from, end) replaced. */
str_t rewrite_replace(const struct rewrite *rewrite, size_t from, size_t end, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* The operand of a few tokens (a column, a literal) that ends before or begins at a token, with a boundary of
 * conditions on its other side; NO_TOKEN: there is none. */
size_t operand_start(const struct rewrite *rewrite, size_t end);
size_t operand_end(const struct rewrite *rewrite, size_t start);

/* Parts of [from, end) between commas or ANDs of its own depth. */
struct rewrite_parts {
	size_t starts[64], ends[64];
	size_t count; /* 0: too many, or not just that */
};
struct rewrite_parts split_commas(const struct rewrite *rewrite, size_t from, size_t end);
struct rewrite_parts split_ands(const struct rewrite *rewrite, size_t from, size_t end);

/* Of the clauses (sql_rewrites_clauses.c). */
str_t rewrite_aliases(const struct rewrite *rewrite);
str_t rewrite_schema(const struct rewrite *rewrite);
str_t rewrite_comma_join(const struct rewrite *rewrite);
str_t rewrite_cross_join(const struct rewrite *rewrite);
str_t rewrite_joins_reversed(const struct rewrite *rewrite);
str_t rewrite_right_join(const struct rewrite *rewrite);
str_t rewrite_left_joins_swapped(const struct rewrite *rewrite);
str_t rewrite_group_numbers(const struct rewrite *rewrite);
str_t rewrite_group_reversed(const struct rewrite *rewrite);
str_t rewrite_group_repeated(const struct rewrite *rewrite);
str_t rewrite_order_numbers(const struct rewrite *rewrite);
str_t rewrite_order_spelled(const struct rewrite *rewrite);
str_t rewrite_order_repeated(const struct rewrite *rewrite);
str_t rewrite_fetch(const struct rewrite *rewrite);
str_t rewrite_limit_all(const struct rewrite *rewrite);
str_t rewrite_distinct_group(const struct rewrite *rewrite);
str_t rewrite_unused_with(const struct rewrite *rewrite);
str_t rewrite_with(const struct rewrite *rewrite);
str_t rewrite_derived(const struct rewrite *rewrite);
str_t rewrite_filtered_relation(const struct rewrite *rewrite);
str_t rewrite_output_names(const struct rewrite *rewrite);

typedef str_t (*rewrite_fn)(const struct rewrite *rewrite);
struct rewrite_entry {
	struct sql_rewrite_kind kind;
	rewrite_fn apply;
};
extern const struct rewrite_entry preserving_rewrites[], changing_rewrites[];
extern const size_t preserving_rewrites_count, changing_rewrites_count;
