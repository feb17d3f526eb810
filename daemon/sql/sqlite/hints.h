/*
 * Hints for what SQLite refuses: "; …", or "" where nothing helps. Made for errors alone; what they cost is
 * bounded by the text. Pure; any thread. Texts are static or live in the arena.
 */
#pragma once

#include "sql/findings/diagnostics.h"

/* What SQLite has instead of a function that it does not have, or the one whose name is nearest. */
str_t sqlite_hint_function(str_t name, struct arena *arena);

/* What it has instead of the word at, or shortly before, the offset of a syntax error. */
str_t sqlite_hint_syntax(str_t sql, size_t offset, struct arena *arena);
