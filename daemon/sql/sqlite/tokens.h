/*
 * What the tokens of a SQLite statement show without its grammar: kind of the statement, calls that are
 * dangerous whatever they mean, select list and limit. Errs on the side of refusing. Pure; any thread.
 */
#pragma once

#include "common/buf.h"
#include "sql/findings/diagnostics.h"
#include "sql/findings/violations.h"
#include "sql/lex/scan.h"

/* Reports every violation that the tokens show; what words tell of a text that does not parse is left to
 * unparsed.h. False: something follows the first statement, or a token never ends, so that it cannot be one
 * statement. */
bool sqlite_tokens_check(str_t sql, bool parses, struct violations *violations);

/* Where that begins; the length of the text if nothing does. */
size_t sqlite_tokens_excess_offset(str_t sql);

/* Of several not_a_read of one statement, keeps the foremost. */
void sqlite_tokens_tell_once(str_t sql, struct violations *violations);

/* Warnings about a valid statement whose tree our parser does not build, by its tokens: few of lint.h's. */
void sqlite_tokens_warn(str_t sql, struct diagnostics *diagnostics);

/* The next token that is neither space nor comment. */
struct scan_token sqlite_token_after(str_t sql, struct scan_token token);

/* Whether a function of that name, in any case, makes one value of many rows, with one argument at most; and
 * whether the token calls one. */
bool sqlite_is_aggregate(str_t name);
bool sqlite_token_aggregates(str_t sql, struct scan_token token);

/* All names that could be columns, quoted and separated by commas, for a CREATE TABLE. */
void sqlite_tokens_names(str_t sql, struct buf *names);

/* A name in the text; the next one is found behind it. */
struct sqlite_name {
	str_t name; /* without quotes; not NUL-terminated */
	size_t offset;
	bool is_call; /* an opening parenthesis follows */
	size_t next;  /* where to go on */
};

/* The next name, from a zeroed struct on; false: there is none left. */
bool sqlite_tokens_next_name(str_t sql, struct sqlite_name *name);

/* Reports names of table-valued functions that show internals, wherever they stand. */
void sqlite_tokens_check_modules(str_t sql, struct violations *violations);

/* Puts a `?` in the place of every mention of the column (`name` or `table.name`) in the `len` bytes of
 * `text`; keeps all offsets. False: it is not mentioned. */
bool sqlite_tokens_mask_column(char *text, size_t len, str_t name);

/* Puts a `?` in the place of the token at the offset; keeps all others. */
void sqlite_tokens_mask_at(char *text, size_t len, size_t offset);

/* Offset of the first mention of the name (`name`, `table.name`), or −1. */
int64_t sqlite_tokens_find(str_t sql, str_t name);

/* Whether the word is among the tokens, in any case. */
bool sqlite_tokens_have(str_t sql, const char *word);
bool sqlite_tokens_have_in_brackets(str_t sql, const char *word);
