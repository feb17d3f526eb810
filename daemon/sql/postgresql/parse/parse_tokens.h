/*
 * Tokens of a text by PostgreSQL's own scanner: continued literals, escapes and nested comments are as it
 * reads them. For a text that has passed the gate and parses. Any thread.
 */
#pragma once

#include "common/arena.h"

enum parse_token_kind { PARSE_TOKEN_OTHER, PARSE_TOKEN_LITERAL, PARSE_TOKEN_COMMENT };

struct parse_token {
	enum parse_token_kind kind;
	size_t offset;
	size_t len;
};

/* In order, in the arena; offsets and lengths in bytes of the text. NULL when the scanner refuses it. */
struct parse_token *parse_tokens(str_t text, struct arena *arena, size_t *ret_count);
