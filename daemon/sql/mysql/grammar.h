/*
 * Inside of the parser: its state, and what its files call of each other. The first failure stands; from then
 * on the current token is the end, so that every loop ends. Functions that return a node never return NULL.
 * Nodes live in the parser's arena. Pure; a parser belongs to one thread.
 *
 * Queries, joins and expressions stand in each other: the files call each other in circles, up to
 * GATE_MAX_NESTING levels.
 */
#pragma once

#include "sql/mysql/parser.h"

/* Operators that follow each other without brackets and brackets inside of each other nest; nothing that
 * parses is deeper, so that every walk may recurse. */
#define MYSQL_MAX_DEPTH 600

struct mysql_parser {
	str_t text;
	struct arena *arena;
	struct mysql_tokens tokens;
	size_t at;
	unsigned nesting;
	unsigned nodes;		       /* made so far */
	struct mysql_failure *failure; /* the caller's; begins as none */
};

/* grammar.c; words to look for are in lower case */
/* The token so many behind the current one, at most the last; never NULL. */
const struct mysql_token *mysql_peek(const struct mysql_parser *parser, size_t ahead);
/* Whether the word or operator stands there; whether it stands here and is then taken; the same, a failure
 * if it does not. */
bool mysql_at(const struct mysql_parser *parser, size_t ahead, const char *word_or_operator);
bool mysql_accept(struct mysql_parser *parser, const char *word_or_operator);
bool mysql_expect(struct mysql_parser *parser, const char *word_or_operator);
/* The first of the words (a NULL ends them) that stands there, or NULL; that stands here and is then taken.
 */
const char *mysql_at_any(const struct mysql_parser *parser, size_t ahead, const char *const *words);
const char *mysql_accept_any(struct mysql_parser *parser, const char *const *words);
/* The text is refused at the current token, as something that is not understood or as that violation. The
 * reason is static. */
void mysql_fail(struct mysql_parser *parser, const char *reason);
void mysql_refuse(struct mysql_parser *parser, enum sql_violation_code code, const char *reason);
struct query_node *mysql_new(struct mysql_parser *parser, enum query_kind kind);
/* Appends a child and brings depth and extent up to date. */
void mysql_append(struct mysql_parser *parser, struct query_node *parent, struct query_node *child);
/* A node that takes `first` as its child and starts where that starts. */
struct query_node *mysql_wrap(struct mysql_parser *parser, enum query_kind kind, struct query_node *first);
/* The node ends behind the last token taken. */
struct query_node *mysql_done(struct mysql_parser *parser, struct query_node *node);
/* One level of nesting begins, and ends; false: it is too deep, which is a failure. */
bool mysql_enter(struct mysql_parser *parser);
void mysql_leave(struct mysql_parser *parser);
/* Whether a string without a character set in front stands there. */
bool mysql_at_plain_string(const struct mysql_parser *parser, size_t ahead);
/* Whether a name stands here, and the name itself. */
bool mysql_at_name(const struct mysql_parser *parser, size_t ahead);
str_t mysql_take_name(struct mysql_parser *parser);
struct query_node *mysql_names(struct mysql_parser *parser); /* ( name, … ) */

/* statements.c: whether what stands behind the word here, which begins a statement that is no query, can. */
bool mysql_statement_follows(const struct mysql_parser *parser);

/* query.c */
bool mysql_at_query(struct mysql_parser *parser, size_t ahead);
struct query_node *mysql_read_query(struct mysql_parser *parser);
struct query_node *mysql_bracketed_query(struct mysql_parser *parser);		   /* ( query ) */
struct query_node *mysql_order(struct mysql_parser *parser, enum query_kind kind); /* behind BY */
struct query_node *mysql_limit(struct mysql_parser *parser);			   /* behind LIMIT */
struct query_node *mysql_window(struct mysql_parser *parser);			   /* ( … ) */

/* from.c */
struct query_node *mysql_from(struct mysql_parser *parser);
struct query_node *mysql_relation(struct mysql_parser *parser); /* [schema.]name */

/* json_table.c */
struct query_node *mysql_json_table(struct mysql_parser *parser); /* JSON_TABLE ( … ), without its alias */

/* expression.c */
struct query_node *mysql_expression(struct mysql_parser *parser);
struct query_node *mysql_bit_expression(struct mysql_parser *parser);
struct query_node *mysql_simple_expression(struct mysql_parser *parser);
void mysql_expressions(struct mysql_parser *parser, struct query_node *parent); /* one or more, with commas */

/* atom.c */
struct query_node *mysql_atom(struct mysql_parser *parser);
/* Unit of an interval that stands here and is then taken, or NULL. */
const char *mysql_accept_unit(struct mysql_parser *parser);

/* call.c */
struct query_node *mysql_call(struct mysql_parser *parser); /* [schema.]name ( … ) */
bool mysql_at_bare_call(const struct mysql_parser *parser);
struct query_node *mysql_bare_call(struct mysql_parser *parser); /* CURRENT_DATE and its like */
/* One of the types, with its lengths, of which `ret_length` is the largest, and its character set, as text in
 * lower case; `column`: as a column's type is written, else as that of a value. */
str_t mysql_type(struct mysql_parser *parser, const char *const *types, bool column, double *ret_length);
