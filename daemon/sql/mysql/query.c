#include "sql/mysql/grammar.h"

static const char *const set_operators[] = { "union", "except", "intersect", "minus", NULL };

static bool continues_query(const struct mysql_parser *parser, size_t ahead)
{
	static const char *const words[] = { "union",  "except", "intersect", "order", "limit",
					     "offset", "fetch",	 ")",	      NULL };
	return mysql_at_any(parser, ahead, words) || mysql_peek(parser, ahead)->kind == MYSQL_TOKEN_END;
}

/* What the bracket is by what follows it; unknown: what the next bracket is. */
static enum mysql_opens opens_by_itself(const struct mysql_parser *parser, size_t ahead)
{
	static const char *const starts[] = { "select", "with", "values", "table" };
	for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
		if (mysql_at(parser, ahead + 1, starts[i]))
			return i < 2 || !mysql_at(parser, ahead + 2, ".") ? MYSQL_OPENS_QUERY
									  : MYSQL_OPENS_OTHER;
	size_t close = mysql_peek(parser, ahead + 1)->match;
	bool more = mysql_at(parser, ahead + 1, "(") && close >= parser->at &&
		    continues_query(parser, close - parser->at + 1);
	return more ? MYSQL_OPENS_UNKNOWN : MYSQL_OPENS_OTHER;
}

/* Whether the bracket that stands there holds a query and nothing more. Each bracket is looked at once. */
bool mysql_at_query(struct mysql_parser *parser, size_t ahead)
{
	if (!mysql_at(parser, ahead, "("))
		return false;
	size_t first = parser->at + ahead, last = first;
	enum mysql_opens opens;
	while ((opens = parser->tokens.items[last].opens) == MYSQL_OPENS_UNKNOWN &&
	       (opens = opens_by_itself(parser, last - parser->at)) == MYSQL_OPENS_UNKNOWN)
		last++;
	for (size_t i = first; i <= last; i++)
		parser->tokens.items[i].opens = opens;
	return opens == MYSQL_OPENS_QUERY;
}

struct query_node *mysql_bracketed_query(struct mysql_parser *parser)
{
	if (!mysql_enter(parser))
		return mysql_new(parser, QUERY_EXPRESSION);
	size_t offset = mysql_peek(parser, 0)->offset;
	mysql_expect(parser, "(");
	struct query_node *query = mysql_read_query(parser);
	mysql_expect(parser, ")");
	mysql_leave(parser);
	query->offset = offset;
	return mysql_done(parser, query);
}

struct query_node *mysql_order(struct mysql_parser *parser, enum query_kind kind)
{
	struct query_node *order = mysql_new(parser, kind);
	do {
		struct query_node *sort = mysql_wrap(parser, QUERY_SORT, mysql_expression(parser));
		sort->flag = mysql_accept(parser, "desc");
		if (!sort->flag)
			(void)mysql_accept(parser, "asc");
		mysql_append(parser, order, sort);
	} while (mysql_accept(parser, ","));
	return mysql_done(parser, order);
}

static struct query_node *limit_number(struct mysql_parser *parser)
{
	enum mysql_token_kind kind = mysql_peek(parser, 0)->kind;
	if (kind != MYSQL_TOKEN_NUMBER && kind != MYSQL_TOKEN_PARAMETER)
		mysql_fail(parser, "a number of rows is expected");
	struct query_node *node = mysql_atom(parser);
	if (node->kind == QUERY_LITERAL && str_present(node->name) &&
	    strspn(node->name.ptr, "0123456789") != node->name.len)
		mysql_fail(parser, "a whole number of rows is expected");
	return node;
}

struct query_node *mysql_limit(struct mysql_parser *parser)
{
	struct query_node *limit = mysql_new(parser, QUERY_LIMIT);
	struct query_node *first = limit_number(parser);
	if (mysql_accept(parser, ",")) {
		mysql_append(parser, limit, limit_number(parser));
		mysql_append(parser, limit, first);
	} else {
		mysql_append(parser, limit, first);
		if (mysql_accept(parser, "offset"))
			mysql_append(parser, limit, limit_number(parser));
	}
	return mysql_done(parser, limit);
}

static void expect_row_word(struct mysql_parser *parser)
{
	if (!mysql_accept(parser, "row"))
		mysql_expect(parser, "rows");
}

/* [OFFSET n ROWS] FETCH FIRST n ROWS ONLY */
static struct query_node *fetch(struct mysql_parser *parser)
{
	struct query_node *limit = mysql_new(parser, QUERY_LIMIT);
	struct query_node *offset = NULL;
	if (mysql_accept(parser, "offset")) {
		offset = limit_number(parser);
		expect_row_word(parser);
	}
	mysql_expect(parser, "fetch");
	if (!mysql_accept(parser, "first"))
		mysql_expect(parser, "next");
	if (mysql_at(parser, 0, "row") || mysql_at(parser, 0, "rows")) {
		struct query_node *one = mysql_new(parser, QUERY_LITERAL);
		one->op = "number";
		one->name = STR("1");
		mysql_append(parser, limit, one);
	} else {
		mysql_append(parser, limit, limit_number(parser));
	}
	expect_row_word(parser);
	if (mysql_accept(parser, "with")) {
		mysql_expect(parser, "ties");
		limit->flag = true;
	} else {
		mysql_expect(parser, "only");
	}
	if (offset)
		mysql_append(parser, limit, offset);
	return mysql_done(parser, limit);
}

static struct query_node *bound(struct mysql_parser *parser)
{
	struct query_node *node = mysql_new(parser, QUERY_BOUND);
	if (mysql_accept(parser, "current")) {
		mysql_expect(parser, "row");
		node->op = "current row";
	} else if (mysql_accept(parser, "unbounded")) {
		node->op = mysql_accept(parser, "preceding") ? "unbounded preceding" : "unbounded following";
		if (strcmp(node->op, "unbounded following") == 0)
			mysql_expect(parser, "following");
	} else {
		mysql_append(parser, node, mysql_bit_expression(parser));
		node->op = mysql_accept(parser, "preceding") ? "preceding" : "following";
		if (strcmp(node->op, "following") == 0)
			mysql_expect(parser, "following");
	}
	return mysql_done(parser, node);
}

static struct query_node *frame(struct mysql_parser *parser, const char *unit)
{
	struct query_node *node = mysql_new(parser, QUERY_FRAME);
	node->op = unit;
	if (mysql_accept(parser, "between")) {
		mysql_append(parser, node, bound(parser));
		mysql_expect(parser, "and");
	}
	mysql_append(parser, node, bound(parser));
	return mysql_done(parser, node);
}

struct query_node *mysql_window(struct mysql_parser *parser)
{
	static const char *const frames[] = { "rows", "range", "groups", NULL };
	struct query_node *window = mysql_new(parser, QUERY_WINDOW);
	mysql_expect(parser, "(");
	if (mysql_at_name(parser, 0) && !mysql_at(parser, 0, "groups"))
		window->name = mysql_take_name(parser);
	if (mysql_accept(parser, "partition")) {
		mysql_expect(parser, "by");
		struct query_node *partition = mysql_new(parser, QUERY_PARTITION);
		mysql_expressions(parser, partition);
		mysql_append(parser, window, partition);
	}
	if (mysql_accept(parser, "order")) {
		mysql_expect(parser, "by");
		mysql_append(parser, window, mysql_order(parser, QUERY_ORDER));
	}
	const char *unit = mysql_accept_any(parser, frames);
	if (unit)
		mysql_append(parser, window, frame(parser, unit));
	mysql_expect(parser, ")");
	return mysql_done(parser, window);
}

/* [schema.][table.]* */
static struct query_node *star(struct mysql_parser *parser)
{
	size_t names = 0;
	while (names < 2 && mysql_at_name(parser, 2 * names) && mysql_at(parser, 2 * names + 1, "."))
		names++;
	if (!mysql_at(parser, 2 * names, "*"))
		return NULL;
	struct query_node *node = mysql_new(parser, QUERY_STAR);
	for (size_t i = 0; i < names; i++) {
		node->schema = node->qualifier;
		node->qualifier = mysql_take_name(parser);
		mysql_expect(parser, ".");
	}
	mysql_expect(parser, "*");
	return mysql_done(parser, node);
}

static struct query_node *item(struct mysql_parser *parser)
{
	struct query_node *whole = star(parser);
	if (whole)
		return whole;
	struct query_node *node = mysql_wrap(parser, QUERY_ITEM, mysql_expression(parser));
	bool named = mysql_accept(parser, "as");
	if (mysql_at_plain_string(parser, 0))
		node->alias = parser->tokens.items[parser->at++].value;
	else if (named || mysql_at_name(parser, 0))
		node->alias = mysql_take_name(parser);
	if (!str_present(node->alias)) /* what the server calls it then */
		node->name = arena_text(parser->arena, parser->text.ptr + node->first->offset,
					node->first->end - node->first->offset);
	return mysql_done(parser, node);
}

static struct query_node *items(struct mysql_parser *parser)
{
	struct query_node *list = mysql_new(parser, QUERY_ITEMS);
	do {
		struct query_node *next = item(parser);
		if (next->kind == QUERY_STAR && !str_present(next->qualifier) && list->first)
			mysql_fail(parser, "* stands first or behind the name of a table");
		mysql_append(parser, list, next);
	} while (mysql_accept(parser, ","));
	return list;
}

static const char *const select_options[] = { "all",
					      "distinct",
					      "distinctrow",
					      "high_priority",
					      "straight_join",
					      "sql_small_result",
					      "sql_big_result",
					      "sql_buffer_result",
					      "sql_no_cache",
					      "sql_calc_found_rows",
					      NULL };

/* SQL_CACHE is no reserved word: where nothing to select follows, it is a name. */
static bool at_cache(const struct mysql_parser *parser)
{
	enum mysql_token_kind kind = mysql_peek(parser, 1)->kind;
	bool literal = kind != MYSQL_TOKEN_OPERATOR && kind != MYSQL_TOKEN_END && kind != MYSQL_TOKEN_WORD;
	bool star = mysql_at(parser, 1, "*") && mysql_at(parser, 2, "from");
	return mysql_at(parser, 0, "sql_cache") &&
	       (literal || star || mysql_at_any(parser, 1, select_options) || mysql_at_name(parser, 1));
}

static void options(struct mysql_parser *parser, struct query_node *select)
{
	const char *word;
	do {
		while ((word = mysql_accept_any(parser, select_options)) != NULL)
			select->flag = select->flag || strncmp(word, "distinct", 8) == 0;
	} while (at_cache(parser) && mysql_accept(parser, "sql_cache"));
}

static struct query_node *into(struct mysql_parser *parser)
{
	static const char *const files[] = { "outfile", "dumpfile", NULL };
	struct query_node *node = mysql_new(parser, QUERY_INTO);
	node->op = mysql_accept_any(parser, files);
	if (node->op) {
		if (mysql_peek(parser, 0)->kind != MYSQL_TOKEN_STRING)
			mysql_fail(parser, "the name of a file is expected");
		parser->at++;
		return mysql_done(parser, node);
	}
	node->op = "variable";
	do {
		if (mysql_peek(parser, 0)->kind == MYSQL_TOKEN_VARIABLE)
			parser->at++;
		else
			(void)mysql_take_name(parser);
	} while (mysql_accept(parser, ","));
	return mysql_done(parser, node);
}

static struct query_node *clause(struct mysql_parser *parser, enum query_kind kind)
{
	return mysql_wrap(parser, kind, mysql_expression(parser));
}

static struct query_node *grouping(struct mysql_parser *parser)
{
	mysql_expect(parser, "by");
	struct query_node *group = mysql_order(parser, QUERY_GROUP);
	if (mysql_at(parser, 0, "with") && mysql_at(parser, 1, "rollup")) {
		parser->at += 2;
		group->flag = true;
	}
	return mysql_done(parser, group);
}

static struct query_node *windows(struct mysql_parser *parser)
{
	struct query_node *list = mysql_new(parser, QUERY_WINDOWS);
	do {
		str_t name = mysql_take_name(parser);
		mysql_expect(parser, "as");
		struct query_node *window = mysql_window(parser);
		window->alias = name;
		mysql_append(parser, list, window);
	} while (mysql_accept(parser, ","));
	return mysql_done(parser, list);
}

static struct query_node *select_body(struct mysql_parser *parser)
{
	struct query_node *node = mysql_new(parser, QUERY_SELECT);
	mysql_expect(parser, "select");
	options(parser, node);
	mysql_append(parser, node, items(parser));
	if (mysql_accept(parser, "into"))
		mysql_append(parser, node, into(parser));
	if (mysql_accept(parser, "from"))
		mysql_append(parser, node, mysql_from(parser));
	if (mysql_accept(parser, "where"))
		mysql_append(parser, node, clause(parser, QUERY_WHERE));
	if (mysql_accept(parser, "group"))
		mysql_append(parser, node, grouping(parser));
	if (mysql_accept(parser, "having"))
		mysql_append(parser, node, clause(parser, QUERY_HAVING));
	if (mysql_accept(parser, "window"))
		mysql_append(parser, node, windows(parser));
	return mysql_done(parser, node);
}

/* VALUES (…), (…) of MariaDB and VALUES ROW(…), ROW(…) of MySQL */
static struct query_node *values(struct mysql_parser *parser)
{
	struct query_node *node = mysql_new(parser, QUERY_VALUES);
	mysql_expect(parser, "values");
	do {
		(void)mysql_accept(parser, "row");
		mysql_expect(parser, "(");
		struct query_node *row = mysql_new(parser, QUERY_ROW);
		mysql_expressions(parser, row);
		mysql_expect(parser, ")");
		mysql_append(parser, node, row);
	} while (mysql_accept(parser, ","));
	return mysql_done(parser, node);
}

static struct query_node *operand(struct mysql_parser *parser)
{
	if (mysql_at(parser, 0, "("))
		return mysql_bracketed_query(parser);
	if (mysql_at(parser, 0, "values"))
		return values(parser);
	if (mysql_accept(parser, "table"))
		return mysql_wrap(parser, QUERY_TABLE, mysql_relation(parser));
	return select_body(parser);
}

static const char *set_operator(struct mysql_parser *parser)
{
	static const char *const names[][2] = { { "union", "union all" },
						{ "except", "except all" },
						{ "intersect", "intersect all" },
						{ "except", "except all" } };
	const char *word = mysql_accept_any(parser, set_operators);
	if (!word)
		return NULL;
	size_t which = 0;
	while (strcmp(set_operators[which], word) != 0)
		which++;
	if (mysql_accept(parser, "all"))
		return names[which][1];
	(void)mysql_accept(parser, "distinct");
	return names[which][0];
}

static struct query_node *arm(struct mysql_parser *parser, const char *op, struct query_node *body)
{
	struct query_node *node = mysql_wrap(parser, QUERY_ARM, body);
	node->op = op;
	return node;
}

static struct query_node *body(struct mysql_parser *parser)
{
	struct query_node *first = operand(parser);
	struct query_node *set = NULL;
	const char *op;
	while ((op = set_operator(parser)) != NULL) {
		if (!set)
			set = mysql_wrap(parser, QUERY_SET, arm(parser, NULL, first));
		mysql_append(parser, set, arm(parser, op, operand(parser)));
	}
	return set ? set : first;
}

static struct query_node *cte(struct mysql_parser *parser)
{
	struct query_node *node = mysql_new(parser, QUERY_CTE);
	node->name = mysql_take_name(parser);
	if (mysql_at(parser, 0, "("))
		mysql_append(parser, node, mysql_names(parser));
	mysql_expect(parser, "as");
	mysql_append(parser, node, mysql_bracketed_query(parser));
	return mysql_done(parser, node);
}

static struct query_node *with(struct mysql_parser *parser)
{
	struct query_node *node = mysql_new(parser, QUERY_WITH);
	node->flag = mysql_accept(parser, "recursive");
	do {
		mysql_append(parser, node, cte(parser));
	} while (mysql_accept(parser, ","));
	return mysql_done(parser, node);
}

/* FOR UPDATE and LOCK IN SHARE MODE with all that may follow. */
static struct query_node *locking(struct mysql_parser *parser)
{
	struct query_node *node = mysql_new(parser, QUERY_LOCKING);
	if (mysql_accept(parser, "lock")) {
		mysql_expect(parser, "in");
		mysql_expect(parser, "share");
		mysql_expect(parser, "mode");
	} else {
		mysql_expect(parser, "for");
		if (!mysql_accept(parser, "update"))
			mysql_expect(parser, "share");
	}
	if (mysql_accept(parser, "of"))
		do {
			(void)mysql_relation(parser);
		} while (mysql_accept(parser, ","));
	if (mysql_accept(parser, "wait"))
		(void)limit_number(parser);
	else if (!mysql_accept(parser, "nowait") && mysql_accept(parser, "skip"))
		mysql_expect(parser, "locked");
	return mysql_done(parser, node);
}

static struct query_node *procedure(struct mysql_parser *parser)
{
	struct query_node *node = mysql_new(parser, QUERY_PROCEDURE);
	parser->at++;
	if (!mysql_at(parser, 1, "("))
		mysql_fail(parser, "syntax error");
	mysql_append(parser, node, mysql_call(parser));
	return node;
}

/* LIMIT [count] [ROWS EXAMINED count] */
static void limits(struct mysql_parser *parser, struct query_node *query)
{
	if (!mysql_at(parser, 0, "rows"))
		mysql_append(parser, query, mysql_limit(parser));
	if (mysql_accept(parser, "rows") && mysql_expect(parser, "examined"))
		mysql_append(parser, query, mysql_wrap(parser, QUERY_EXAMINED, limit_number(parser)));
}

static void tail(struct mysql_parser *parser, struct query_node *query)
{
	if (mysql_accept(parser, "order")) {
		mysql_expect(parser, "by");
		mysql_append(parser, query, mysql_order(parser, QUERY_ORDER));
	}
	if (mysql_accept(parser, "limit"))
		limits(parser, query);
	else if (mysql_at(parser, 0, "offset") || mysql_at(parser, 0, "fetch"))
		mysql_append(parser, query, fetch(parser));
	if (mysql_at(parser, 0, "procedure"))
		mysql_append(parser, query, procedure(parser));
	for (;;) {
		if (mysql_accept(parser, "into"))
			mysql_append(parser, query, into(parser));
		else if (mysql_at(parser, 0, "for") || mysql_at(parser, 0, "lock"))
			mysql_append(parser, query, locking(parser));
		else
			break;
	}
}

struct query_node *mysql_read_query(struct mysql_parser *parser)
{
	struct query_node *query = mysql_new(parser, QUERY_EXPRESSION);
	if (!mysql_enter(parser))
		return query;
	if (mysql_accept(parser, "with"))
		mysql_append(parser, query, with(parser));
	mysql_append(parser, query, body(parser));
	tail(parser, query);
	mysql_leave(parser);
	return mysql_done(parser, query);
}
