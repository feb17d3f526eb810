/*
 * What a dialect has instead of the words of others (instead.def), for hints: "; instead of YEAR() there is
 * strftime('%Y', …)", or "". Pure; any thread. Texts are static or live in the arena.
 */
#pragma once

#include "common/arena.h"
#include "sql/dialect.h"

/* Instead of a function that the dialect does not have. */
str_t instead_of_function(str_t name, enum sql_dialect dialect, struct arena *arena);

/* Instead of the word at, or shortly before, the offset of a syntax error. */
str_t instead_near(str_t sql, size_t offset, enum sql_dialect dialect, struct arena *arena);
