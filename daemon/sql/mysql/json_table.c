#include "sql/mysql/grammar.h"

static struct query_node *path(struct mysql_parser *parser)
{
	if (!mysql_at_plain_string(parser, 0))
		mysql_fail(parser, "a path is a string");
	return mysql_atom(parser);
}

/* VARCHAR(40) CHARACTER SET utf8mb4, INT UNSIGNED, …: as text. */
static str_t type(struct mysql_parser *parser)
{
	static const char *const types[] = { "varchar",	 "char",     "int",	  "integer",	"bigint",
					     "smallint", "tinyint",  "mediumint", "decimal",	"dec",
					     "numeric",	 "double",   "float",	  "real",	"date",
					     "datetime", "time",     "year",	  "timestamp",	"text",
					     "tinytext", "longtext", "json",	  "mediumtext", "blob",
					     "boolean",	 "bool",     "bit",	  "varbinary",	"binary",
					     "fixed",	 NULL };
	double length;
	return mysql_type(parser, types, true, &length);
}

static bool at_reaction(const struct mysql_parser *parser)
{
	return mysql_at(parser, 0, "null") || mysql_at(parser, 0, "error") || mysql_at(parser, 0, "default");
}

/* NULL ON EMPTY, ERROR ON ERROR, DEFAULT 'x' ON EMPTY */
static struct query_node *reaction(struct mysql_parser *parser, bool *ret_error)
{
	static const char *const ops[3][2] = { { "null on empty", "null on error" },
					       { "error on empty", "error on error" },
					       { "default on empty", "default on error" } };
	struct query_node *node = mysql_new(parser, QUERY_JSON_ON);
	int what = mysql_accept(parser, "null") ? 0 : mysql_accept(parser, "error") ? 1 : 2;
	if (what == 2) {
		mysql_expect(parser, "default");
		if (!mysql_at_plain_string(parser, 0) && mysql_peek(parser, 0)->kind != MYSQL_TOKEN_NUMBER)
			mysql_fail(parser, "a default is a literal");
		mysql_append(parser, node, mysql_atom(parser));
	}
	mysql_expect(parser, "on");
	*ret_error = mysql_accept(parser, "error");
	if (!*ret_error)
		mysql_expect(parser, "empty");
	node->op = ops[what][*ret_error];
	return mysql_done(parser, node);
}

static struct query_node *columns(struct mysql_parser *parser);

static struct query_node *nested(struct mysql_parser *parser)
{
	struct query_node *node = mysql_new(parser, QUERY_JSON_COLUMN);
	node->op = "nested";
	parser->at++;
	(void)mysql_accept(parser, "path");
	mysql_append(parser, node, path(parser));
	mysql_append(parser, node, columns(parser));
	return mysql_done(parser, node);
}

static struct query_node *column(struct mysql_parser *parser)
{
	bool path_word = mysql_at(parser, 1, "path") && mysql_at_plain_string(parser, 2);
	if (mysql_at(parser, 0, "nested") && (path_word || mysql_at_plain_string(parser, 1)))
		return nested(parser);
	struct query_node *node = mysql_new(parser, QUERY_JSON_COLUMN);
	bool error = false;
	node->name = mysql_take_name(parser);
	if (mysql_accept(parser, "for")) {
		mysql_expect(parser, "ordinality");
		node->op = "ordinality";
		return mysql_done(parser, node);
	}
	node->qualifier = type(parser);
	node->op = mysql_accept(parser, "exists") ? "exists" : "path";
	mysql_expect(parser, "path");
	mysql_append(parser, node, path(parser));
	while (at_reaction(parser) && !error)
		mysql_append(parser, node, reaction(parser, &error));
	return mysql_done(parser, node);
}

static struct query_node *columns(struct mysql_parser *parser)
{
	struct query_node *node = mysql_new(parser, QUERY_JSON_COLUMNS);
	if (!mysql_enter(parser))
		return node;
	mysql_expect(parser, "columns");
	mysql_expect(parser, "(");
	do {
		mysql_append(parser, node, column(parser));
	} while (mysql_accept(parser, ","));
	mysql_expect(parser, ")");
	mysql_leave(parser);
	return mysql_done(parser, node);
}

struct query_node *mysql_json_table(struct mysql_parser *parser)
{
	struct query_node *node = mysql_new(parser, QUERY_DERIVED);
	node->flag = true;
	parser->at++;
	mysql_expect(parser, "(");
	mysql_append(parser, node, mysql_expression(parser));
	mysql_expect(parser, ",");
	mysql_append(parser, node, path(parser));
	mysql_append(parser, node, columns(parser));
	mysql_expect(parser, ")");
	return mysql_done(parser, node);
}
