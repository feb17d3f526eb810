/*
 * Tokens of a MySQL or MariaDB text by the server's default rules. What other settings of the server would
 * read in another way (backslashes in front of quotes), what is executed although it looks like a comment,
 * and every byte that no token starts with is refused. One pass; memory from the arena. Pure; any thread.
 */
#pragma once

#include "sql/findings/violations.h"
#include "sql/query/tree.h"

#define MYSQL_MAX_TOKENS 20000

/* Why a text was refused; offsets count in the text. */
struct mysql_failure {
	bool failed;
	bool merely; /* it does not parse, and nothing more can be said; else the code is a violation */
	enum sql_violation_code code;
	size_t offset;
	const char *reason; /* static */
	str_t near;	    /* part of the text, or absent */
};

enum mysql_token_kind {
	MYSQL_TOKEN_END,
	MYSQL_TOKEN_WORD,	/* keyword or identifier */
	MYSQL_TOKEN_IDENTIFIER, /* surely an identifier: quoted, or behind a dot */
	MYSQL_TOKEN_STRING,
	MYSQL_TOKEN_NUMBER,
	MYSQL_TOKEN_HEX,
	MYSQL_TOKEN_BITS,
	MYSQL_TOKEN_VARIABLE, /* @name */
	MYSQL_TOKEN_SYSTEM,   /* @@name, @@scope.name */
	MYSQL_TOKEN_PARAMETER,
	MYSQL_TOKEN_OPERATOR, /* and punctuation */
};

/* Whether a bracket holds a query and nothing more. */
enum mysql_opens { MYSQL_OPENS_UNKNOWN, MYSQL_OPENS_QUERY, MYSQL_OPENS_OTHER };

struct mysql_token {
	enum mysql_token_kind kind;
	bool spaced; /* white space or a comment in front */
	char first;  /* of a word in lower case, or of an operator; else NUL */
	size_t offset;
	size_t len;
	str_t value;		/* without quotes and escapes; part of the text, or in the arena */
	size_t match;		/* of an opening bracket: index of the closing one, or of the end */
	enum mysql_opens opens; /* of an opening bracket: for the parser's use */
};

struct mysql_comment {
	size_t offset;
	size_t len;
};

struct mysql_tokens {
	struct mysql_token *items; /* ends with one of kind END */
	size_t count;
	size_t capacity;
	struct mysql_comment *comments;
	size_t comments_count;
	size_t comments_capacity;
};

/* Which settings of the server (sql_mode) may read the text. */
enum mysql_modes { MYSQL_ANY_MODE, MYSQL_DEFAULT_MODE };

/* False: `ret_failure` says why the text is refused. */
bool mysql_tokens_read(str_t text, enum mysql_modes modes, struct arena *arena,
		       struct mysql_tokens *ret_tokens, struct mysql_failure *ret_failure);

/* _utf8mb4 '…': character sets that agree on where a string ends. */
bool mysql_known_introducer(str_t word);

/* Whether the word has a meaning of its own wherever it stands without quotes. */
bool mysql_word_reserved(str_t word);
