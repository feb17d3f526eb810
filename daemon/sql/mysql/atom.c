#include "sql/mysql/grammar.h"

static const char *const units[] = { "microsecond",
				     "second",
				     "minute",
				     "hour",
				     "day",
				     "week",
				     "month",
				     "quarter",
				     "year",
				     "second_microsecond",
				     "minute_microsecond",
				     "minute_second",
				     "hour_microsecond",
				     "hour_second",
				     "hour_minute",
				     "day_microsecond",
				     "day_second",
				     "day_minute",
				     "day_hour",
				     "year_month",
				     NULL };

const char *mysql_accept_unit(struct mysql_parser *parser)
{
	return mysql_accept_any(parser, units);
}

static struct query_node *literal(struct mysql_parser *parser, const char *op)
{
	struct query_node *node = mysql_new(parser, QUERY_LITERAL);
	node->op = op;
	node->name = mysql_peek(parser, 0)->value;
	parser->at++;
	return mysql_done(parser, node);
}

/* 'a' 'b' is one string. */
static struct query_node *string(struct mysql_parser *parser)
{
	const struct mysql_token *token = mysql_peek(parser, 0);
	bool plain = mysql_at_plain_string(parser, 0);
	size_t parts = 1, len = token->value.len;
	while (mysql_at_plain_string(parser, parts))
		len += mysql_peek(parser, parts++)->value.len;
	struct query_node *node = literal(parser, plain ? "string" : "string of a character set");
	if (!plain) {
		size_t prefix = strcspn(parser->text.ptr + token->offset, "'\" \t\r\n\v\f/#-");
		node->qualifier =
			identifier_lower((str_t){ parser->text.ptr + token->offset, prefix }, parser->arena);
	}
	if (parts == 1)
		return node;
	char *whole = arena_alloc(parser->arena, len + 1);
	char *end = mempcpy(whole, node->name.ptr, node->name.len);
	for (size_t i = 0; i + 1 < parts; i++)
		end = mempcpy(end, mysql_peek(parser, i)->value.ptr, mysql_peek(parser, i)->value.len);
	node->name = (str_t){ whole, len };
	parser->at += parts - 1;
	return mysql_done(parser, node);
}

/* DATE '…', TIME '…', TIMESTAMP '…' */
static struct query_node *typed_literal(struct mysql_parser *parser)
{
	static const char *const types[] = { "date", "time", "timestamp", NULL };
	if (mysql_peek(parser, 1)->kind != MYSQL_TOKEN_STRING)
		return NULL;
	const char *type = mysql_accept_any(parser, types);
	return type ? literal(parser, type) : NULL;
}

/* {d '…'}, {t '…'}, {ts '…'}: how ODBC writes them; {fn f(x)} is f(x). */
static struct query_node *escape(struct mysql_parser *parser)
{
	static const struct {
		const char *word;
		const char *type;
	} literals[] = { { "d", "date" }, { "t", "time" }, { "ts", "timestamp" } };
	size_t offset = mysql_peek(parser, 0)->offset;
	struct query_node *node = NULL;
	parser->at++;
	for (size_t i = 0; !node && i < sizeof literals / sizeof literals[0]; i++)
		if (mysql_at(parser, 0, literals[i].word) && mysql_at_plain_string(parser, 1)) {
			parser->at++;
			node = literal(parser, literals[i].type);
		}
	if (!node && mysql_expect(parser, "fn") && mysql_enter(parser)) {
		node = mysql_expression(parser);
		mysql_leave(parser);
	}
	mysql_expect(parser, "}");
	node = node ? node : mysql_new(parser, QUERY_LITERAL);
	node->offset = offset;
	return mysql_done(parser, node);
}

static struct query_node *variable(struct mysql_parser *parser, const char *op)
{
	struct query_node *node = literal(parser, op);
	node->kind = QUERY_VARIABLE;
	return node;
}

static struct query_node *brackets(struct mysql_parser *parser)
{
	if (mysql_at_query(parser, 0))
		return mysql_wrap(parser, QUERY_SUBQUERY, mysql_bracketed_query(parser));
	struct query_node *row = mysql_new(parser, QUERY_ROW);
	mysql_expect(parser, "(");
	mysql_expressions(parser, row);
	mysql_expect(parser, ")");
	if (row->first && row->first == row->last) {
		row->first->offset = row->offset;
		return mysql_done(parser, row->first);
	}
	return mysql_done(parser, row);
}

static struct query_node *exists(struct mysql_parser *parser)
{
	struct query_node *node = mysql_new(parser, QUERY_EXISTS);
	parser->at++;
	mysql_append(parser, node, mysql_bracketed_query(parser));
	return mysql_done(parser, node);
}

static struct query_node *case_when(struct mysql_parser *parser)
{
	struct query_node *node = mysql_new(parser, QUERY_CASE);
	parser->at++;
	if (!mysql_at(parser, 0, "when"))
		mysql_append(parser, node, mysql_wrap(parser, QUERY_OPERAND, mysql_expression(parser)));
	do {
		mysql_expect(parser, "when");
		struct query_node *when = mysql_wrap(parser, QUERY_WHEN, mysql_expression(parser));
		mysql_expect(parser, "then");
		mysql_append(parser, when, mysql_expression(parser));
		mysql_append(parser, node, when);
	} while (mysql_at(parser, 0, "when"));
	if (mysql_accept(parser, "else"))
		mysql_append(parser, node, mysql_wrap(parser, QUERY_ELSE, mysql_expression(parser)));
	mysql_expect(parser, "end");
	return mysql_done(parser, node);
}

/* INTERVAL expression unit, or the function INTERVAL(n, n, …). */
static struct query_node *interval(struct mysql_parser *parser)
{
	const struct mysql_token *open = mysql_peek(parser, 1);
	bool call = mysql_at(parser, 1, "(") && !mysql_at_any(parser, open->match - parser->at + 1, units);
	struct query_node *node = mysql_new(parser, call ? QUERY_CALL : QUERY_INTERVAL);
	parser->at++;
	if (!call) {
		mysql_append(parser, node, mysql_expression(parser));
		node->op = mysql_accept_unit(parser);
		if (!node->op)
			mysql_fail(parser, "an interval without a unit");
		return mysql_done(parser, node);
	}
	node->name = STR("interval");
	mysql_expect(parser, "(");
	mysql_expressions(parser, node);
	mysql_expect(parser, ")");
	if (node->first && !node->first->next)
		mysql_fail(parser, "syntax error");
	return mysql_done(parser, node);
}

/* MATCH (columns) AGAINST (expression mode) */
static struct query_node *match(struct mysql_parser *parser)
{
	struct query_node *node = mysql_new(parser, QUERY_MATCH);
	parser->at++;
	bool bracket = mysql_accept(parser, "(");
	mysql_expressions(parser, node);
	if (bracket)
		mysql_expect(parser, ")");
	mysql_expect(parser, "against");
	mysql_expect(parser, "(");
	mysql_append(parser, node, mysql_wrap(parser, QUERY_AGAINST, mysql_bit_expression(parser)));
	node->name = STR("");
	if (mysql_accept(parser, "in")) {
		bool boolean = mysql_accept(parser, "boolean");
		node->name = boolean ? STR("boolean") : STR("natural");
		if (!boolean && mysql_expect(parser, "natural"))
			mysql_expect(parser, "language");
		mysql_expect(parser, "mode");
	}
	if (mysql_accept(parser, "with")) {
		node->name = STR("expansion");
		mysql_expect(parser, "query");
		mysql_expect(parser, "expansion");
	}
	mysql_expect(parser, ")");
	return mysql_done(parser, node);
}

static struct query_node *column(struct mysql_parser *parser)
{
	struct query_node *node = mysql_new(parser, QUERY_COLUMN);
	node->name = mysql_take_name(parser);
	if (mysql_accept(parser, ".")) {
		node->qualifier = node->name;
		node->name = mysql_take_name(parser);
	}
	if (mysql_accept(parser, ".")) {
		node->schema = node->qualifier;
		node->qualifier = node->name;
		node->name = mysql_take_name(parser);
	}
	(void)mysql_done(parser, node);
	bool raw = mysql_at(parser, 0, "->>");
	if ((raw || mysql_at(parser, 0, "->")) && mysql_peek(parser, 1)->kind == MYSQL_TOKEN_STRING) {
		parser->at++;
		node = mysql_wrap(parser, QUERY_OPERATION, node);
		node->op = raw ? "->>" : "->";
		mysql_append(parser, node, literal(parser, "string"));
	}
	return node;
}

/* NEXT VALUE FOR sequence: it writes. */
static bool at_sequence(const struct mysql_parser *parser)
{
	return (mysql_at(parser, 0, "next") || mysql_at(parser, 0, "previous")) &&
	       mysql_at(parser, 1, "value") && mysql_at(parser, 2, "for");
}

static bool at_call(const struct mysql_parser *parser)
{
	if (mysql_at(parser, 1, "(")) {
		enum mysql_token_kind kind = mysql_peek(parser, 0)->kind;
		return kind == MYSQL_TOKEN_WORD || kind == MYSQL_TOKEN_IDENTIFIER;
	}
	return mysql_at_name(parser, 0) && mysql_at(parser, 1, ".") && mysql_at_name(parser, 2) &&
	       mysql_at(parser, 3, "(");
}

/* _utf8mb4 x'…' */
static struct query_node *introduced(struct mysql_parser *parser)
{
	const struct mysql_token *set = mysql_peek(parser, 0);
	bool hex = mysql_peek(parser, 1)->kind == MYSQL_TOKEN_HEX;
	if (set->kind != MYSQL_TOKEN_WORD || (!hex && mysql_peek(parser, 1)->kind != MYSQL_TOKEN_BITS) ||
	    !mysql_known_introducer(set->value))
		return NULL;
	parser->at++;
	struct query_node *node = literal(parser, hex ? "hex" : "bits");
	node->qualifier = arena_printf(parser->arena, STR_FMT " %s",
				       STR_ARG(identifier_lower(set->value, parser->arena)), node->op);
	node->offset = set->offset;
	return node;
}

static struct query_node *word(struct mysql_parser *parser)
{
	static const char *const constants[] = { "null", "true", "false", NULL };
	const char *constant = mysql_at_any(parser, 0, constants);
	if (constant)
		return literal(parser, constant);
	struct query_node *typed = typed_literal(parser);
	if (!typed)
		typed = introduced(parser);
	if (typed)
		return typed;
	if (mysql_at(parser, 0, "case"))
		return case_when(parser);
	if (mysql_at(parser, 0, "exists"))
		return exists(parser);
	if (mysql_at(parser, 0, "interval"))
		return interval(parser);
	if (mysql_at(parser, 0, "match") && mysql_peek(parser, 0)->kind == MYSQL_TOKEN_WORD)
		return match(parser);
	if (mysql_at_bare_call(parser))
		return mysql_bare_call(parser);
	if (at_call(parser))
		return mysql_call(parser);
	if (at_sequence(parser)) {
		mysql_refuse(parser, VIOLATION_DANGEROUS_FUNCTION, "a sequence moves on");
		return mysql_new(parser, QUERY_LITERAL);
	}
	return column(parser);
}

static bool starts_with_zero(const struct mysql_parser *parser)
{
	return parser->text.ptr[mysql_peek(parser, 0)->offset] == '0';
}

struct query_node *mysql_atom(struct mysql_parser *parser)
{
	switch (mysql_peek(parser, 0)->kind) {
	case MYSQL_TOKEN_STRING:
		return string(parser);
	case MYSQL_TOKEN_NUMBER:
		return literal(parser, "number");
	case MYSQL_TOKEN_HEX: /* 0x… can be a number, x'…' cannot */
		return literal(parser, starts_with_zero(parser) ? "0x" : "hex");
	case MYSQL_TOKEN_BITS:
		return literal(parser, starts_with_zero(parser) ? "0b" : "bits");
	case MYSQL_TOKEN_VARIABLE:
		return variable(parser, "@");
	case MYSQL_TOKEN_SYSTEM:
		return variable(parser, "@@");
	case MYSQL_TOKEN_PARAMETER: {
		struct query_node *node = literal(parser, "?");
		node->kind = QUERY_PARAMETER;
		return node;
	}
	case MYSQL_TOKEN_WORD:
	case MYSQL_TOKEN_IDENTIFIER:
		return word(parser);
	case MYSQL_TOKEN_OPERATOR:
	case MYSQL_TOKEN_END:
	default:
		break;
	}
	if (mysql_at(parser, 0, "("))
		return brackets(parser);
	if (mysql_at(parser, 0, "{"))
		return escape(parser);
	mysql_fail(parser, "syntax error");
	return mysql_new(parser, QUERY_LITERAL);
}
