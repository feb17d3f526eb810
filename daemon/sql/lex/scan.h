/*
 * Tokens of a SQL text, without grammar: where literals, identifiers and comments begin and end by the
 * dialect's lexical rules. For what a parse tree cannot tell (comments, redaction) and for dialects whose
 * grammar a library keeps to itself.
 *
 * One pass, linear, no allocation; any bytes are fine. Pure; any thread.
 */
#pragma once

#include "common/str.h"
#include "sql/dialect.h"

enum scan_kind {
	SCAN_END,
	SCAN_SPACE,
	SCAN_COMMENT,
	SCAN_WORD,   /* keyword or plain identifier */
	SCAN_QUOTED, /* quoted identifier */
	SCAN_STRING, /* any literal in quotes, prefix included */
	SCAN_NUMBER,
	SCAN_PARAMETER,
	SCAN_OTHER,  /* operator or punctuation: one byte */
	SCAN_BROKEN, /* a literal, identifier or comment that never ends: the rest of the text */
};

struct scan_token {
	enum scan_kind kind;
	size_t offset;
	size_t len;
};

/* The token at `offset`; SCAN_END behind the last one. The next one starts at offset + len. */
struct scan_token scan_token_at(str_t sql, size_t offset, enum sql_dialect dialect);

/* The next token that is neither space nor comment, from `offset` on. */
struct scan_token scan_next(str_t sql, size_t offset, enum sql_dialect dialect);

/* Whether the token is that word, in any case. */
bool scan_is_word(str_t sql, struct scan_token token, const char *word);

/* Whether the token can be a name, and its text without the quotes of one. */
bool scan_is_name(struct scan_token token);
str_t scan_name(str_t sql, struct scan_token token);

/* Whether the token is that one byte of punctuation. */
bool scan_is_char(str_t sql, struct scan_token token, char byte);
