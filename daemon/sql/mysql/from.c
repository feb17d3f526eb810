#include "sql/mysql/grammar.h"

static struct query_node *table_reference(struct mysql_parser *parser);

struct query_node *mysql_relation(struct mysql_parser *parser)
{
	struct query_node *node = mysql_new(parser, QUERY_RELATION);
	if (mysql_at(parser, 0, "dual") && !mysql_at(parser, 1, ".")) {
		parser->at++;
		node->op = "dual";
		return mysql_done(parser, node);
	}
	node->name = mysql_take_name(parser);
	if (mysql_accept(parser, ".")) {
		node->schema = node->name;
		node->name = mysql_take_name(parser);
	}
	return mysql_done(parser, node);
}

/* Words that are free to be names, but begin something else behind a table. */
static bool at_alias(const struct mysql_parser *parser)
{
	if (mysql_at(parser, 0, "window") || mysql_at(parser, 0, "lateral"))
		return false;
	return mysql_at_name(parser, 0);
}

static str_t alias(struct mysql_parser *parser)
{
	if (mysql_accept(parser, "as") || at_alias(parser))
		return mysql_take_name(parser);
	return STR_NONE;
}

/* USE INDEX FOR JOIN (a, b): only tells the optimizer what to do. */
static void index_hints(struct mysql_parser *parser)
{
	static const char *const words[] = { "use", "ignore", "force", NULL };
	do {
		if (!mysql_accept_any(parser, words))
			return;
		if (!mysql_accept(parser, "index"))
			mysql_expect(parser, "key");
		if (mysql_accept(parser, "for") && !mysql_accept(parser, "join")) {
			if (!mysql_accept(parser, "order"))
				mysql_expect(parser, "group");
			mysql_expect(parser, "by");
		}
		mysql_expect(parser, "(");
		while (!mysql_at(parser, 0, ")")) {
			if (!mysql_accept(parser, "primary"))
				(void)mysql_take_name(parser);
			if (!mysql_accept(parser, ","))
				break;
		}
		mysql_expect(parser, ")");
		(void)mysql_accept(parser, ",");
	} while (!parser->failure->failed);
}

/* FOR SYSTEM_TIME …: rows of a table that keeps its past. */
static void system_time(struct mysql_parser *parser, struct query_node *table)
{
	static const char *const units[] = { "timestamp", "transaction", NULL };
	static const char *const seconds[] = { NULL, "to", "and" };
	size_t which = 0;
	if (!mysql_at(parser, 0, "for") || !mysql_at(parser, 1, "system_time"))
		return;
	struct query_node *node = mysql_new(parser, QUERY_SYSTEM_TIME);
	parser->at += 2;
	if (mysql_accept(parser, "all")) {
		node->op = "all";
		mysql_append(parser, table, mysql_done(parser, node));
		return;
	}
	node->op = mysql_accept(parser, "from")	     ? "from"
		   : mysql_accept(parser, "between") ? "between"
						     : "as of";
	which = node->op[0] == 'f' ? 1 : node->op[0] == 'b' ? 2 : 0;
	if (which == 0 && mysql_expect(parser, "as"))
		mysql_expect(parser, "of");
	do {
		if (mysql_peek(parser, 1)->kind != MYSQL_TOKEN_STRING && !mysql_at(parser, 1, "("))
			(void)mysql_accept_any(parser, units);
		mysql_append(parser, node, mysql_bit_expression(parser));
	} while (seconds[which] && node->first == node->last && mysql_expect(parser, seconds[which]));
	mysql_append(parser, table, mysql_done(parser, node));
}

static struct query_node *derived(struct mysql_parser *parser, bool lateral)
{
	struct query_node *node = mysql_wrap(parser, QUERY_DERIVED, mysql_bracketed_query(parser));
	node->flag = lateral;
	system_time(parser, node);
	node->alias = alias(parser);
	if (!str_present(node->alias))
		mysql_fail(parser, "a derived table without a name of its own");
	if (mysql_at(parser, 0, "("))
		mysql_append(parser, node, mysql_names(parser));
	return mysql_done(parser, node);
}

static struct query_node *json_table(struct mysql_parser *parser)
{
	struct query_node *node = mysql_json_table(parser);
	node->alias = alias(parser);
	if (!str_present(node->alias))
		mysql_fail(parser, "a derived table without a name of its own");
	return mysql_done(parser, node);
}

static struct query_node *table_factor(struct mysql_parser *parser)
{
	bool lateral = mysql_at(parser, 0, "lateral") && mysql_at(parser, 1, "(");
	parser->at += lateral;
	if (mysql_at_query(parser, 0))
		return derived(parser, lateral);
	if (mysql_at(parser, 0, "(")) {
		if (!mysql_enter(parser))
			return mysql_new(parser, QUERY_RELATION);
		parser->at++;
		struct query_node *inner = mysql_from(parser);
		mysql_expect(parser, ")");
		mysql_leave(parser);
		if (inner->first && inner->first == inner->last)
			return inner->first;
		inner->kind = QUERY_JOIN;
		inner->op = "join";
		return inner;
	}
	if (mysql_at(parser, 0, "json_table") && mysql_at(parser, 1, "("))
		return json_table(parser);
	struct query_node *node = mysql_relation(parser);
	if (node->op)
		return node;
	if (mysql_at(parser, 0, "(")) {
		mysql_fail(parser, "a function as a table");
		return node;
	}
	if (mysql_accept(parser, "partition"))
		mysql_append(parser, node, mysql_names(parser));
	system_time(parser, node);
	node->alias = alias(parser);
	(void)mysql_done(parser, node);
	index_hints(parser);
	return node;
}

static struct query_node *using(struct mysql_parser *parser)
{
	struct query_node *names = mysql_names(parser);
	names->kind = QUERY_USING;
	return names;
}

/* The operator that stands here, and whether it needs a condition; NULL: none. */
static const char *join_operator(struct mysql_parser *parser, bool *ret_condition)
{
	*ret_condition = false;
	if (mysql_accept(parser, "join") || mysql_accept(parser, "straight_join"))
		return "join";
	if (mysql_at(parser, 1, "join") && (mysql_accept(parser, "inner") || mysql_accept(parser, "cross"))) {
		parser->at++;
		return "join";
	}
	bool natural = mysql_accept(parser, "natural");
	bool inner = natural && mysql_accept(parser, "inner");
	bool left = !inner && mysql_accept(parser, "left");
	bool right = !inner && !left && mysql_accept(parser, "right");
	if (!natural && !left && !right)
		return NULL;
	if (left || right)
		(void)mysql_accept(parser, "outer");
	mysql_expect(parser, "join");
	*ret_condition = !natural;
	if (natural)
		return left ? "natural left join" : right ? "natural right join" : "natural join";
	return left ? "left join" : "right join";
}

static struct query_node *joins(struct mysql_parser *parser)
{
	struct query_node *left = table_factor(parser);
	bool needs_condition;
	const char *op;
	while ((op = join_operator(parser, &needs_condition)) != NULL) {
		struct query_node *join = mysql_wrap(parser, QUERY_JOIN, left);
		bool natural = op[0] == 'n';
		join->op = op;
		/* a JOIN b JOIN c ON … ON …: the inner conditions come first */
		mysql_append(parser, join, needs_condition ? table_reference(parser) : table_factor(parser));
		if (!natural && mysql_accept(parser, "on"))
			mysql_append(parser, join, mysql_wrap(parser, QUERY_ON, mysql_expression(parser)));
		else if (!natural && mysql_at(parser, 0, "using")) {
			parser->at++;
			mysql_append(parser, join, using(parser));
		} else if (needs_condition)
			mysql_fail(parser, "an outer join without a condition");
		left = mysql_done(parser, join);
	}
	return left;
}

static struct query_node *table_reference(struct mysql_parser *parser)
{
	if (!mysql_enter(parser))
		return mysql_new(parser, QUERY_RELATION);
	struct query_node *node = joins(parser);
	mysql_leave(parser);
	return node;
}

/* {oj a LEFT JOIN b ON …}: how ODBC writes an outer join. */
static struct query_node *escaped(struct mysql_parser *parser)
{
	parser->at++;
	mysql_expect(parser, "oj");
	struct query_node *node = table_reference(parser);
	mysql_expect(parser, "}");
	return node;
}

struct query_node *mysql_from(struct mysql_parser *parser)
{
	struct query_node *from = mysql_new(parser, QUERY_FROM);
	do {
		mysql_append(parser, from,
			     mysql_at(parser, 0, "{") ? escaped(parser) : table_reference(parser));
	} while (mysql_accept(parser, ","));
	return mysql_done(parser, from);
}
