/*
 * Prose in the place of a statement: what a model says that refuses or asks back. Pure; any thread.
 */
#pragma once

#include "common/str.h"
#include "sql/dialect.h"

/* What is said of it. */
#define PROSE_TEXT "the text is prose, not SQL"

/* Whether a text that is no statement is prose: it begins with a word that begins no statement of the
 * dialect, and ends as a sentence does. */
bool prose_is(str_t text, enum sql_dialect dialect);
