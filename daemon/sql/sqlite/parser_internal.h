/*
 * Shared by the files of the parser; see parser.h. After a failure nothing more is taken, so that every loop
 * ends, and what was made is of no use. Functions that return a node never return NULL; a node is appended
 * once it has all of its children. Nodes and texts live in the arena. Pure; a parser belongs to one thread.
 *
 * Queries and expressions stand in each other: their two files call each other, up to SQLITE_PARSER_DEPTH.
 */
#pragma once

#include "sql/lex/scan.h"
#include "sql/sqlite/parser.h"

#define SQLITE_PARSER_DEPTH 200

struct sqlite_parser {
	str_t sql;
	struct arena *arena;
	const struct sqlite_strings *strings; /* or NULL */
	struct scan_token token;	      /* the next one */
	unsigned depth;
	unsigned nodes; /* made so far */
	bool failed;
	bool hides, hides_query; /* as in struct sqlite_query */
};

void sqlite_parser_advance(struct sqlite_parser *parser);

/* Whether the word, or the one byte of punctuation, is next; steps over it if it is; the same, and anything
 * else makes the parser fail. */
bool sqlite_parser_at(const struct sqlite_parser *parser, const char *text);
bool sqlite_parser_take(struct sqlite_parser *parser, const char *text);
void sqlite_parser_expect(struct sqlite_parser *parser, const char *text);

/* Whether the next token can be a name (the library has told keywords from names: a word that stands where a
 * name has to is one), and that name in lower case without its quotes. */
bool sqlite_parser_at_name(const struct sqlite_parser *parser);
str_t sqlite_parser_name(struct sqlite_parser *parser);

/* Tokens up to the closing bracket of the one that is next, in a text of their own, which the tree hides. */
str_t sqlite_parser_brackets(struct sqlite_parser *parser);

/* A node at the next token, and one around another that begins where that does. */
struct query_node *sqlite_parser_node(struct sqlite_parser *parser, enum query_kind kind);
struct query_node *sqlite_parser_wrap(struct sqlite_parser *parser, enum query_kind kind,
				      struct query_node *child);

struct query_node *sqlite_parser_expression(struct sqlite_parser *parser);
/* Appends one or more, with commas. */
void sqlite_parser_expressions(struct sqlite_parser *parser, struct query_node *parent);
struct query_node *sqlite_parser_select(struct sqlite_parser *parser);
bool sqlite_parser_at_select(const struct sqlite_parser *parser);
