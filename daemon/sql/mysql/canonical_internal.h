/*
 * Inside of the canonical form: texts in prefix notation over canonical names, which are only ever compared.
 * All texts live in the arena of the state. Pure; a state is one statement's, on one thread.
 */
#pragma once

#include "sql/mysql/names.h"

struct mysql_texts {
	str_t *items;
	size_t count, capacity;
};

struct mysql_canon {
	struct arena *arena;	/* the caller's */
	bool masked;		/* literals do not count: the shape */
	bool keep_aliases;	/* some name may refer to any of them */
	struct hash_map ranges; /* canonical name of a range's base to how many were before */
	struct hash_map names;	/* address of a range to its canonical name */
	str_t *texts;		/* of nodes by their numbers, as far as they are known */
	size_t bytes;
	bool failed; /* a bound was reached: the tokens have to do as the form */
};

/* Longer texts of parts are digests: no text grows with the nesting. */
#define MYSQL_LONG_TEXT 1024

/* canonical_text.c */
/* Adds a text, which is not copied. */
void mysql_texts_add(struct mysql_canon *canon, struct mysql_texts *texts, str_t text);
void mysql_texts_sort(struct mysql_texts *texts);
/* `open` a, b, c `close` */
str_t mysql_texts_join(struct mysql_canon *canon, const char *open, const struct mysql_texts *texts,
		       const char *close);
/* A name or a value between quotes, so that nothing in it can look like anything else. */
str_t mysql_canon_quoted(struct mysql_canon *canon, str_t text, char quote);
/* Ranges get their numbers in the order of the text, and an unresolved name keeps all aliases. */
void mysql_canon_survey(struct mysql_canon *canon, const struct mysql_node *node);
/* Any node; absent texts once the form has failed. */
str_t mysql_canon_text(struct mysql_canon *canon, const struct mysql_node *node);

/* canonical.c: a SELECT or set operation, a query; `top`: nothing refers to its outputs by name. */
str_t mysql_canon_body(struct mysql_canon *canon, const struct mysql_node *body, bool top);
str_t mysql_canon_query(struct mysql_canon *canon, const struct mysql_node *query, bool top);
