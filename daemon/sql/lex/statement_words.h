/*
 * Words that begin a statement, by dialect (statement_words.def). Pure; any thread.
 */
#pragma once

#include "sql/lex/scan.h"

enum statement_word {
	STATEMENT_WORD_NONE,
	STATEMENT_WORD_READ, /* a query, or something else that may be a read: WITH, EXPLAIN, SHOW */
	STATEMENT_WORD_OTHER,
};

/* What a statement that begins with the word, in any case, is; NONE for words that begin none, and in a
 * dialect that has no such statements. */
enum statement_word statement_word(str_t word, enum sql_dialect dialect);
