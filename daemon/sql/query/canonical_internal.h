/*
 * Inside of the canonical form: texts in prefix notation over canonical names, which are only ever compared.
 * All texts live in the arena of the state. Pure; a state is one statement's, on one thread.
 *
 * Queries hold expressions, and expressions queries: canonical.c and canonical_text.c call each other, as
 * deep as the tree is.
 */
#pragma once

#include "sql/lex/texts.h"
#include "sql/query/canonical.h"

struct form {
	struct arena *arena; /* the caller's */
	const struct query_canonical *options;
	bool masked;		/* literals do not count: the shape */
	bool random;		/* the query draws numbers */
	bool keep_aliases;	/* some name may refer to any of them */
	struct hash_map ranges; /* canonical name of a range's base to how many were before */
	struct hash_map names;	/* address of a range to its canonical name */
	str_t *texts;		/* of nodes by their numbers, as far as they are known */
	size_t bytes;
	bool failed; /* a bound was reached: the tokens have to do as the form */
};

/* Longer texts of parts are digests: no text grows with the nesting. */
#define FORM_LONG_TEXT 1024

/* canonical_text.c */
/* Sorted, and each once: a condition that is said twice holds once, unless numbers are drawn for each. */
void form_texts_unique(const struct form *form, struct texts *texts);
/* `open` a, b, c `close` */
str_t form_texts_join(struct form *form, const char *open, const struct texts *texts, const char *close);
/* A name or a value between quotes, so that nothing in it can look like anything else. */
str_t form_quoted(struct form *form, str_t text, char quote);
/* Ranges get their numbers in the order of the text, and an unresolved name keeps all aliases. */
void form_survey(struct form *form, const struct query_node *node);
/* Any node; absent texts once the form has failed. */
str_t form_text(struct form *form, const struct query_node *node);

/* canonical.c: a SELECT or set operation, a query; `top`: nothing refers to its outputs by name. */
str_t form_body(struct form *form, const struct query_node *body, bool top);
str_t form_query(struct form *form, const struct query_node *query, bool top);
