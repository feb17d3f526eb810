/*
 * Identifiers: as PostgreSQL writes them, and as servers compare them that take ASCII letters in any case and
 * all other characters as they are. Pure; any thread.
 */
#pragma once

#include "common/arena.h"

/* A name that may have a schema in front, which is absent where it is not written. */
struct qualified_name {
	str_t schema;
	str_t name;
};

/* In double quotes unless it is plain and no reserved word (quote_ident); a copy in the arena. */
str_t identifier_quote(str_t name, struct arena *arena);

/* In any case: whether two names are the same; whether one is that word, or one of them; an absent one is no
 * word. */
bool identifier_same(str_t a, str_t b);
bool identifier_is(str_t name, const char *word);
bool identifier_is_any(str_t name, const char *const *words, size_t count);

/* The same of words that are listed: IDENTIFIER_IS_ANY(name, "a", "b"). */
#define IDENTIFIER_IS_ANY(name, ...)                                                                         \
	__extension__({                                                                                      \
		static const char *const words_[] = { __VA_ARGS__ };                                         \
		identifier_is_any((name), words_, sizeof words_ / sizeof *words_);                           \
	})

/* A copy in lower case, in the arena. */
str_t identifier_lower(str_t name, struct arena *arena);
