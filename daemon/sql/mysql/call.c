#include "sql/mysql/grammar.h"

#include "common/buf.h"
#include "sql/mysql/functions.h"

/* What a function's arguments look like where it is more than a list of expressions. Each reads behind the
 * opening bracket and leaves the closing one. */
typedef void (*arguments_fn)(struct mysql_parser *parser, struct query_node *call);

static const char *const bare_calls[] = { "current_date",
					  "current_time",
					  "current_timestamp",
					  "localtime",
					  "localtimestamp",
					  "utc_date",
					  "utc_time",
					  "utc_timestamp",
					  "current_user",
					  "current_role",
					  NULL };

bool mysql_at_bare_call(const struct mysql_parser *parser)
{
	return mysql_at_any(parser, 0, bare_calls) && !mysql_at(parser, 1, "(");
}

struct query_node *mysql_bare_call(struct mysql_parser *parser)
{
	struct query_node *call = mysql_new(parser, QUERY_CALL);
	call->name = str_from(mysql_accept_any(parser, bare_calls));
	return mysql_done(parser, call);
}

static void argument(struct mysql_parser *parser, struct query_node *call)
{
	mysql_append(parser, call, mysql_expression(parser));
}

static void arguments_plain(struct mysql_parser *parser, struct query_node *call)
{
	if (!mysql_at(parser, 0, ")"))
		mysql_expressions(parser, call);
}

/* [DISTINCT | ALL] … or * */
static void arguments_aggregate(struct mysql_parser *parser, struct query_node *call)
{
	call->flag = mysql_accept(parser, "distinct");
	if (!call->flag)
		(void)mysql_accept(parser, "all");
	if (mysql_at(parser, 0, "*") && identifier_is(call->name, "count") && !call->flag) {
		struct query_node *star = mysql_new(parser, QUERY_STAR);
		parser->at++;
		mysql_append(parser, call, mysql_done(parser, star));
	} else {
		mysql_expressions(parser, call);
	}
}

static void arguments_concat(struct mysql_parser *parser, struct query_node *call)
{
	call->flag = mysql_accept(parser, "distinct");
	mysql_expressions(parser, call);
	if (mysql_accept(parser, "order")) {
		mysql_expect(parser, "by");
		mysql_append(parser, call, mysql_order(parser, QUERY_ORDER));
	}
	if (mysql_accept(parser, "separator")) {
		struct query_node *separator = mysql_new(parser, QUERY_SEPARATOR);
		if (mysql_peek(parser, 0)->kind != MYSQL_TOKEN_STRING)
			mysql_fail(parser, "a separator is a string");
		separator->name = mysql_peek(parser, 0)->value;
		parser->at++;
		mysql_append(parser, call, mysql_done(parser, separator));
	}
	if (mysql_accept(parser, "limit"))
		mysql_append(parser, call, mysql_limit(parser));
}

static void lengths(struct mysql_parser *parser, double *ret_length)
{
	do {
		if (mysql_peek(parser, 0)->kind != MYSQL_TOKEN_NUMBER)
			mysql_fail(parser, "a length is expected");
		double length = strtod(mysql_peek(parser, 0)->value.ptr, NULL);
		*ret_length = length > *ret_length ? length : *ret_length;
		parser->at++;
	} while (mysql_accept(parser, ","));
	mysql_expect(parser, ")");
}

static void character_set(struct mysql_parser *parser, bool column)
{
	bool set = mysql_at(parser, 0, "character") && mysql_at(parser, 1, "set");
	if (set || mysql_at(parser, 0, "charset")) {
		parser->at += set ? 2 : 1;
		if (column || !mysql_accept(parser, "binary"))
			(void)mysql_take_name(parser);
	}
	if (mysql_accept(parser, "collate"))
		(void)mysql_take_name(parser);
}

str_t mysql_type(struct mysql_parser *parser, const char *const *types, bool column, double *ret_length)
{
	static const char *const attributes[] = { "unsigned", "signed", "zerofill", "precision", NULL };
	size_t start = parser->at;
	struct buf text = BUF_INIT;
	*ret_length = 0;
	if (!mysql_accept_any(parser, types))
		mysql_fail(parser, "an unknown type");
	if (column || (!mysql_accept(parser, "integer") && !mysql_accept(parser, "int")))
		(void)mysql_accept(parser, "precision");
	if (mysql_accept(parser, "("))
		lengths(parser, ret_length);
	while (column && mysql_accept_any(parser, attributes))
		continue;
	character_set(parser, column);
	for (size_t i = start; i < parser->at && !parser->failure->failed; i++) {
		if (i > start)
			buf_append_char(&text, ' ');
		buf_append_str(&text, parser->tokens.items[i].value);
	}
	str_t name = identifier_lower(buf_str(&text), parser->arena);
	buf_free(&text);
	return name;
}

/* CAST(x AS CHAR(20)) */
static void type(struct mysql_parser *parser, struct query_node *cast)
{
	static const char *const types[] = { "signed",	"unsigned", "binary", "varbinary", "char",
					     "varchar", "nchar",    "date",   "datetime",  "time",
					     "year",	"decimal",  "dec",    "numeric",   "double",
					     "float",	"real",	    "json",   "integer",   "int",
					     "bigint",	"uuid",	    "inet6",  "inet4",	   NULL };
	cast->name = mysql_type(parser, types, false, &cast->size);
}

static void arguments_cast(struct mysql_parser *parser, struct query_node *call)
{
	argument(parser, call);
	mysql_expect(parser, "as");
	call->kind = QUERY_CAST;
	type(parser, call);
}

/* CONVERT(x, type) and CONVERT(x USING character set) */
static void arguments_convert(struct mysql_parser *parser, struct query_node *call)
{
	argument(parser, call);
	if (mysql_accept(parser, "using")) {
		call->kind = QUERY_COLLATE;
		call->op = "using";
		call->name = mysql_at(parser, 0, "binary") ? parser->tokens.items[parser->at++].value
							   : mysql_take_name(parser);
		return;
	}
	mysql_expect(parser, ",");
	call->kind = QUERY_CAST;
	type(parser, call);
}

static void unit(struct mysql_parser *parser, struct query_node *call)
{
	call->op = mysql_accept_unit(parser);
	if (!call->op)
		mysql_fail(parser, "a unit of time is expected");
}

static void arguments_extract(struct mysql_parser *parser, struct query_node *call)
{
	unit(parser, call);
	mysql_expect(parser, "from");
	argument(parser, call);
}

/* TIMESTAMPDIFF(unit, …), TIMESTAMPADD(unit, …); also with SQL_TSI_ in front of the unit */
static void arguments_timestamp(struct mysql_parser *parser, struct query_node *call)
{
	unit(parser, call);
	mysql_expect(parser, ",");
	mysql_expressions(parser, call);
}

/* TRIM([LEADING | TRAILING | BOTH] [x] FROM y) */
static void arguments_trim(struct mysql_parser *parser, struct query_node *call)
{
	static const char *const sides[] = { "leading", "trailing", "both", NULL };
	call->op = mysql_accept_any(parser, sides);
	if (!(call->op && mysql_accept(parser, "from"))) {
		argument(parser, call);
		if (!mysql_accept(parser, "from"))
			return;
		call->op = call->op ? call->op : "both";
	}
	argument(parser, call);
}

/* SUBSTRING(x FROM n [FOR m]), SUBSTRING(x, n[, m]) */
static void arguments_substring(struct mysql_parser *parser, struct query_node *call)
{
	argument(parser, call);
	if (mysql_accept(parser, "from")) {
		argument(parser, call);
		if (mysql_accept(parser, "for"))
			argument(parser, call);
	} else {
		while (mysql_accept(parser, ","))
			argument(parser, call);
	}
}

static void arguments_position(struct mysql_parser *parser, struct query_node *call)
{
	mysql_append(parser, call, mysql_bit_expression(parser));
	mysql_expect(parser, "in");
	argument(parser, call);
}

static void arguments_char(struct mysql_parser *parser, struct query_node *call)
{
	mysql_expressions(parser, call);
	if (mysql_accept(parser, "using")) {
		call->op = "using";
		call->qualifier = mysql_at(parser, 0, "binary") ? parser->tokens.items[parser->at++].value
								: mysql_take_name(parser);
	}
}

/* A value, as a type if there is one. */
static void typed_argument(struct mysql_parser *parser, struct query_node *call, bool has_type)
{
	struct query_node *value = mysql_expression(parser);
	if (has_type ? mysql_expect(parser, "as") : mysql_accept(parser, "as")) {
		value = mysql_wrap(parser, QUERY_CAST, value);
		value->op = "as";
		type(parser, value);
	}
	mysql_append(parser, call, mysql_done(parser, value));
}

/* COLUMN_GET(blob, name AS type) */
static void arguments_column_get(struct mysql_parser *parser, struct query_node *call)
{
	argument(parser, call);
	mysql_expect(parser, ",");
	typed_argument(parser, call, true);
}

/* COLUMN_CREATE(name, value [AS type], …), COLUMN_ADD(blob, name, value [AS type], …) */
static void arguments_dynamic(struct mysql_parser *parser, struct query_node *call)
{
	do {
		typed_argument(parser, call, false);
	} while (mysql_accept(parser, ","));
}

static void arguments_get_format(struct mysql_parser *parser, struct query_node *call)
{
	static const char *const kinds[] = { "date", "time", "datetime", "timestamp", NULL };
	call->op = mysql_accept_any(parser, kinds);
	if (!call->op)
		mysql_fail(parser, "a kind of time is expected");
	mysql_expect(parser, ",");
	argument(parser, call);
}

static const struct {
	const char *name;
	arguments_fn arguments;
	bool adjacent; /* the bracket has to follow directly */
} shapes[] = {
	{ "count", arguments_aggregate, true },
	{ "sum", arguments_aggregate, true },
	{ "avg", arguments_aggregate, false },
	{ "min", arguments_aggregate, true },
	{ "max", arguments_aggregate, true },
	{ "std", arguments_aggregate, true },
	{ "stddev", arguments_aggregate, true },
	{ "stddev_pop", arguments_aggregate, true },
	{ "stddev_samp", arguments_aggregate, true },
	{ "variance", arguments_aggregate, true },
	{ "var_pop", arguments_aggregate, true },
	{ "var_samp", arguments_aggregate, true },
	{ "bit_and", arguments_aggregate, true },
	{ "bit_or", arguments_aggregate, true },
	{ "bit_xor", arguments_aggregate, true },
	{ "json_arrayagg", arguments_concat, true },
	{ "group_concat", arguments_concat, true },
	{ "cast", arguments_cast, true },
	{ "convert", arguments_convert, false },
	{ "extract", arguments_extract, true },
	{ "timestampdiff", arguments_timestamp, false },
	{ "timestampadd", arguments_timestamp, false },
	{ "trim", arguments_trim, true },
	{ "substring", arguments_substring, true },
	{ "substr", arguments_substring, true },
	{ "mid", arguments_substring, true },
	{ "position", arguments_position, true },
	{ "char", arguments_char, false },
	{ "get_format", arguments_get_format, false },
	{ "column_get", arguments_column_get, false },
	{ "column_create", arguments_dynamic, false },
	{ "column_add", arguments_dynamic, false },
	{ "curdate", arguments_plain, true },
	{ "curtime", arguments_plain, true },
	{ "now", arguments_plain, true },
	{ "date_add", arguments_plain, true },
	{ "date_sub", arguments_plain, true },
	{ "sysdate", arguments_plain, true },
};

/* Words that are reserved and functions all the same. */
static bool callable(const struct mysql_parser *parser)
{
	static const char *const reserved[] = { "char",		"convert",	  "if",
						"insert",	"left",		  "mod",
						"repeat",	"replace",	  "right",
						"row",		"schema",	  "database",
						"current_date", "current_time",	  "current_timestamp",
						"localtime",	"localtimestamp", "utc_date",
						"utc_time",	"utc_timestamp",  "current_user",
						"current_role", "row_number",	  "default",
						"schemas",	"rank",		  NULL };
	return mysql_at_name(parser, 0) || mysql_at_any(parser, 0, reserved);
}

static void over(struct mysql_parser *parser, struct query_node *call)
{
	if (!mysql_accept(parser, "over"))
		return;
	if (mysql_at(parser, 0, "(")) {
		mysql_append(parser, call, mysql_window(parser));
		return;
	}
	struct query_node *window = mysql_new(parser, QUERY_WINDOW);
	window->name = mysql_take_name(parser);
	mysql_append(parser, call, mysql_done(parser, window));
}

/* ROW(a, b) is no function. */
static struct query_node *row(struct mysql_parser *parser)
{
	struct query_node *node = mysql_new(parser, QUERY_ROW);
	parser->at += 2;
	mysql_expressions(parser, node);
	mysql_expect(parser, ")");
	return mysql_done(parser, node);
}

struct query_node *mysql_call(struct mysql_parser *parser)
{
	if (mysql_at(parser, 0, "row"))
		return row(parser);
	struct query_node *call = mysql_new(parser, QUERY_CALL);
	if (!callable(parser)) {
		mysql_fail(parser, "syntax error");
		return call;
	}
	bool quoted = mysql_peek(parser, 0)->kind == MYSQL_TOKEN_IDENTIFIER;
	bool spaced = mysql_peek(parser, 1)->spaced;
	call->name = identifier_lower(parser->tokens.items[parser->at++].value, parser->arena);
	if (mysql_accept(parser, ".")) {
		call->schema = call->name;
		call->name = identifier_lower(mysql_take_name(parser), parser->arena);
		quoted = true;
	}
	arguments_fn arguments = arguments_plain;
	for (size_t i = 0; !quoted && i < sizeof shapes / sizeof shapes[0]; i++) {
		if (!str_is(call->name, shapes[i].name))
			continue;
		arguments = shapes[i].arguments;
		if (shapes[i].adjacent && mysql_peek(parser, 0)->spaced)
			mysql_fail(parser, "space between the function and its bracket");
	}
	mysql_expect(parser, "(");
	arguments(parser, call);
	mysql_expect(parser, ")");
	if (call->kind == QUERY_CALL)
		over(parser, call);
	/* What has a window is the grammar's own: servers know OVER behind no other name. */
	if (!str_present(call->schema) && !query_child(call, QUERY_WINDOW) &&
	    mysql_foreign_name(call->name, quoted, spaced))
		call->op = "foreign";
	return mysql_done(parser, call);
}
