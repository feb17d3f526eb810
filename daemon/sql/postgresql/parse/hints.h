/*
 * Hints for what other dialects write: what PostgreSQL has instead (instead.def), and its quotes. Each begins
 * with "; " or is empty, and lives in the arena. Pure; any thread.
 */
#pragma once

#include "common/arena.h"

/* For a function that does not exist. */
str_t hint_of_function(str_t name, struct arena *arena);

/* For a text that does not parse, with the offset of the error. */
str_t hint_of_syntax(str_t sql, size_t offset, struct arena *arena);
