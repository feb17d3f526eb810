/*
 * Parser of SQLite's queries, by the precedences of its grammar (3.40). It is for texts that the library has
 * accepted and gives up on what it does not know: then there is no tree. Pure; any thread.
 */
#pragma once

#include "sql/sqlite/tree.h"

/* Offsets of texts in double quotes that are strings. */
struct sqlite_strings {
	size_t *items;
	size_t count;
	size_t capacity;
};

/* The only statement of the text, or NULL. `strings`: or NULL for none. Bounded depth. The tree lives in the
 * arena. */
struct sqlite_select *sqlite_parse(str_t sql, const struct sqlite_strings *strings, struct arena *arena);
