/*
 * A statement as the sequence of its tokens: a canonical text for what no grammar can put into a canonical
 * form. Comments and semicolons go, plain identifiers and keywords are in lower case except for MySQL.
 * Linear. Pure; any thread; results in the arena.
 */
#pragma once

#include "common/arena.h"
#include "sql/dialect.h"

/* The tokens with spaces between; operators of several bytes stay together. */
str_t scan_text(str_t sql, enum sql_dialect dialect, struct arena *arena);

/* The same with `?` for every literal and every list of literals: the statement's shape. */
str_t scan_text_masked(str_t sql, enum sql_dialect dialect, struct arena *arena);
