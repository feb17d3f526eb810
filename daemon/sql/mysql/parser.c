#include "sql/mysql/parser.h"

#include "sql/lex/statement_words.h"
#include "sql/mysql/grammar.h"

/* Statements that are none of ours are named for what they are; prose may begin with their words. */
static void refuse_other_statement(struct mysql_parser *parser)
{
	const struct mysql_token *token = mysql_peek(parser, 0);
	if (token->kind != MYSQL_TOKEN_WORD ||
	    statement_word(token->value, SQL_MYSQL) != STATEMENT_WORD_OTHER)
		return;
	if (mysql_statement_follows(parser))
		mysql_refuse(parser, VIOLATION_NOT_A_READ, "the statement is not a query");
	else
		mysql_fail(parser, "syntax error");
}

/* What EXPLAIN may say in front of the query; ANALYZE runs it. */
static struct query_node *explain(struct mysql_parser *parser)
{
	static const char *const words[] = { "extended", "partitions", NULL };
	struct query_node *node = mysql_new(parser, QUERY_EXPLAIN);
	parser->at++;
	if (mysql_at(parser, 0, "analyze"))
		mysql_refuse(parser, VIOLATION_NOT_A_READ, "EXPLAIN ANALYZE runs the statement");
	(void)mysql_accept_any(parser, words);
	if (mysql_accept(parser, "format")) {
		mysql_expect(parser, "=");
		(void)mysql_take_name(parser);
	}
	refuse_other_statement(parser);
	mysql_append(parser, node, mysql_read_query(parser));
	return node;
}

static struct query_node *describe(struct mysql_parser *parser)
{
	struct query_node *node = mysql_new(parser, QUERY_DESCRIBE);
	parser->at++;
	mysql_append(parser, node, mysql_relation(parser));
	if (mysql_peek(parser, 0)->kind == MYSQL_TOKEN_STRING)
		parser->at++;
	else if (mysql_at_name(parser, 0))
		(void)mysql_take_name(parser);
	return mysql_done(parser, node);
}

/* Things that SHOW may list; `relation`: it names a table behind FROM (1) or directly (2), database (3). */
static const struct {
	const char *words[3];
	int names;
} shown[] = {
	{ { "tables" }, 3 },	      { { "columns" }, 1 },
	{ { "fields" }, 1 },	      { { "index" }, 1 },
	{ { "indexes" }, 1 },	      { { "keys" }, 1 },
	{ { "databases" }, 0 },	      { { "schemas" }, 0 },
	{ { "table", "status" }, 3 }, { { "create", "table" }, 2 },
	{ { "create", "view" }, 2 },  { { "warnings" }, 0 },
	{ { "errors" }, 0 },	      { { "engines" }, 0 },
	{ { "collation" }, 0 },	      { { "character", "set" }, 0 },
	{ { "variables" }, 0 },	      { { "status" }, 0 },
	{ { "grants" }, 0 },
};

static bool accept_words(struct mysql_parser *parser, const char *const *words)
{
	size_t count = words[1] ? 2 : 1;
	for (size_t i = 0; i < count; i++)
		if (!mysql_at(parser, i, words[i]))
			return false;
	parser->at += count;
	return true;
}

static void shown_names(struct mysql_parser *parser, struct query_node *node, int names)
{
	bool from = names != 2 && names != 0 && (mysql_accept(parser, "from") || mysql_accept(parser, "in"));
	if (names == 2 || (from && names == 1))
		mysql_append(parser, node, mysql_relation(parser));
	else if (names == 1)
		mysql_fail(parser, "the name of a table is expected");
	if ((from && names == 3) ||
	    (names == 1 && (mysql_accept(parser, "from") || mysql_accept(parser, "in"))))
		node->schema = mysql_take_name(parser);
}

static struct query_node *show(struct mysql_parser *parser)
{
	struct query_node *node = mysql_new(parser, QUERY_SHOW);
	bool other = mysql_statement_follows(parser);
	parser->at++;
	(void)mysql_accept(parser, "full");
	static const char *const scopes[] = { "global", "session", "local", NULL };
	(void)mysql_accept_any(parser, scopes);
	size_t which = 0;
	while (which < sizeof shown / sizeof shown[0] && !accept_words(parser, shown[which].words))
		which++;
	if (which == sizeof shown / sizeof shown[0]) {
		if (other)
			mysql_refuse(parser, VIOLATION_NOT_A_READ,
				     "SHOW of something that is not a matter of queries");
		else
			mysql_fail(parser, "syntax error");
		return node;
	}
	node->name = str_from(shown[which].words[0]);
	shown_names(parser, node, shown[which].names);
	if (mysql_accept(parser, "like")) {
		if (mysql_peek(parser, 0)->kind != MYSQL_TOKEN_STRING)
			mysql_fail(parser, "a pattern is expected");
		parser->at++;
	} else if (mysql_accept(parser, "where")) {
		mysql_append(parser, node, mysql_wrap(parser, QUERY_WHERE, mysql_expression(parser)));
	}
	return mysql_done(parser, node);
}

static struct query_node *statement(struct mysql_parser *parser)
{
	bool describes = mysql_at(parser, 0, "describe") || mysql_at(parser, 0, "desc");
	refuse_other_statement(parser);
	if (mysql_at(parser, 0, "show"))
		return show(parser);
	if ((describes || mysql_at(parser, 0, "explain")) && mysql_at_name(parser, 1) &&
	    !mysql_at(parser, 1, "format") && !mysql_at(parser, 1, "extended") &&
	    !mysql_at(parser, 1, "partitions"))
		return describe(parser);
	if (describes || mysql_at(parser, 0, "explain"))
		return explain(parser);
	if (mysql_peek(parser, 0)->kind == MYSQL_TOKEN_END)
		mysql_fail(parser, "there is no statement");
	return mysql_read_query(parser);
}

/* Only closing semicolons may follow. */
static void end(struct mysql_parser *parser)
{
	bool closed = mysql_accept(parser, ";");
	while (mysql_accept(parser, ";"))
		continue;
	if (mysql_peek(parser, 0)->kind == MYSQL_TOKEN_END)
		return;
	if (closed)
		mysql_refuse(parser, VIOLATION_MULTIPLE_STATEMENTS, "more than one statement");
	else
		mysql_fail(parser, "syntax error");
}

struct query_node *mysql_parse(str_t text, enum mysql_modes modes, struct arena *arena,
			       struct mysql_failure *ret_failure)
{
	struct mysql_parser parser = { .text = text, .arena = arena, .failure = ret_failure };
	if (!mysql_tokens_read(text, modes, arena, &parser.tokens, ret_failure))
		return NULL;
	struct query_node *root = statement(&parser);
	end(&parser);
	return ret_failure->failed ? NULL : root;
}
