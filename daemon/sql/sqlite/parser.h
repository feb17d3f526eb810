/*
 * Parser of SQLite's queries, by the precedences of its grammar (3.40). It is for texts that the library has
 * accepted and gives up on what it does not know: then there is no tree.
 */
#pragma once

#include "sql/sqlite/tree.h"

/* The only statement of the text, or NULL. Bounded depth. */
struct sqlite_select *sqlite_parse(str_t sql, struct arena *arena);
