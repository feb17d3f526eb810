#include "sql/sqlite/parser_internal.h"

#include "common/buf.h"

#include <ctype.h>

/* What may follow an expression or an item of FROM, and is no alias of it there. */
static const char *const no_aliases[] = { "FROM",  "WHERE", "GROUP",	 "HAVING", "WINDOW", "ORDER",
					  "LIMIT", "UNION", "INTERSECT", "EXCEPT", "JOIN",   "LEFT",
					  "RIGHT", "FULL",  "INNER",	 "CROSS",  "OUTER",  "NATURAL",
					  "ON",	   "USING", "INDEXED",	 "NOT" };

void sqlite_parser_advance(struct sqlite_parser *parser)
{
	parser->token = scan_next(parser->sql, parser->token.offset + parser->token.len, SQL_SQLITE);
}

bool sqlite_parser_at(const struct sqlite_parser *parser, const char *text)
{
	return isalpha((unsigned char)text[0]) ? scan_is_word(parser->sql, parser->token, text)
					       : scan_is_char(parser->sql, parser->token, text[0]);
}

bool sqlite_parser_take(struct sqlite_parser *parser, const char *text)
{
	if (parser->failed || !sqlite_parser_at(parser, text))
		return false;
	sqlite_parser_advance(parser);
	return true;
}

void sqlite_parser_expect(struct sqlite_parser *parser, const char *text)
{
	if (!sqlite_parser_take(parser, text))
		parser->failed = true;
}

bool sqlite_parser_at_name(const struct sqlite_parser *parser)
{
	return scan_is_name(parser->token);
}

str_t sqlite_parser_name(struct sqlite_parser *parser)
{
	struct scan_token token = parser->token;
	size_t quote = token.kind == SCAN_QUOTED ? 1 : 0;
	if (parser->failed || !sqlite_parser_at_name(parser) || token.len < 2 * quote) {
		parser->failed = true;
		return STR("");
	}
	str_t name = identifier_lower(scan_name(parser->sql, token), parser->arena);
	for (const char *at = name.ptr; *at; at++)
		if (!isalnum((unsigned char)*at) && *at != '_' && *at != '$' && (unsigned char)*at < 0x80)
			parser->failed = true; /* it could be taken for something else in a form */
	sqlite_parser_advance(parser);
	return name;
}

str_t sqlite_parser_brackets(struct sqlite_parser *parser)
{
	struct buf text = BUF_INIT;
	unsigned depth = 0;
	do {
		depth += sqlite_parser_at(parser, "(");
		depth -= sqlite_parser_at(parser, ")");
		if (parser->token.kind == SCAN_END)
			parser->failed = true;
		if (text.len > 0)
			buf_append_char(&text, ' ');
		for (size_t i = 0; i < parser->token.len; i++) {
			char c = parser->sql.ptr[parser->token.offset + i];
			buf_append_char(
				&text, parser->token.kind == SCAN_WORD ? (char)tolower((unsigned char)c) : c);
		}
		sqlite_parser_advance(parser);
	} while (depth > 0 && !parser->failed);
	str_t tokens = arena_str(parser->arena, buf_str(&text));
	buf_free(&text);
	parser->hides_query = parser->hides_query || strcasestr(tokens.ptr, "select");
	return tokens;
}

struct query_node *sqlite_parser_node(struct sqlite_parser *parser, enum query_kind kind)
{
	return query_node_new(parser->arena, kind, parser->nodes++, parser->token.offset);
}

struct query_node *sqlite_parser_wrap(struct sqlite_parser *parser, enum query_kind kind,
				      struct query_node *child)
{
	struct query_node *node = sqlite_parser_node(parser, kind);
	node->offset = node->end = child->offset;
	query_append(node, child);
	return node;
}

/* AS name, or a name alone; a text in quotes is a name here, too. */
static str_t alias(struct sqlite_parser *parser)
{
	bool named = sqlite_parser_take(parser, "AS");
	bool word = sqlite_parser_at_name(parser);
	if (parser->token.kind == SCAN_STRING)
		parser->failed = true;
	for (size_t i = 0; !named && word && i < sizeof no_aliases / sizeof no_aliases[0]; i++)
		word = !sqlite_parser_at(parser, no_aliases[i]);
	return named || word ? sqlite_parser_name(parser) : STR_NONE;
}

/* (a, b) */
static struct query_node *names(struct sqlite_parser *parser, enum query_kind kind)
{
	struct query_node *list = sqlite_parser_node(parser, kind);
	sqlite_parser_expect(parser, "(");
	do {
		struct query_node *name = sqlite_parser_node(parser, QUERY_NAME);
		name->name = sqlite_parser_name(parser);
		query_append(list, name);
	} while (sqlite_parser_take(parser, ","));
	sqlite_parser_expect(parser, ")");
	return list;
}

/* ---- FROM ---- */

/* [schema.]name, or a function, whose arguments see the items before it. */
static struct query_node *relation(struct sqlite_parser *parser)
{
	struct query_node *node = sqlite_parser_node(parser, QUERY_RELATION);
	node->name = sqlite_parser_name(parser);
	if (sqlite_parser_take(parser, ".")) {
		node->schema = node->name;
		node->name = sqlite_parser_name(parser);
		parser->hides = parser->hides || !str_is(node->schema, "main");
	}
	if (sqlite_parser_take(parser, "(")) {
		node->kind = QUERY_DERIVED;
		node->flag = true;
		if (!sqlite_parser_at(parser, ")"))
			sqlite_parser_expressions(parser, node);
		sqlite_parser_expect(parser, ")");
	}
	return node;
}

static struct query_node *source(struct sqlite_parser *parser)
{
	struct query_node *node = sqlite_parser_node(parser, QUERY_DERIVED);
	if (!sqlite_parser_take(parser, "(")) {
		node = relation(parser);
	} else {
		if (sqlite_parser_at_select(parser))
			query_append(node, sqlite_parser_select(parser));
		else
			parser->failed = true; /* (a JOIN b) */
		sqlite_parser_expect(parser, ")");
	}
	node->alias = alias(parser);
	if (sqlite_parser_at(parser, "INDEXED") || sqlite_parser_at(parser, "NOT"))
		parser->failed = true;
	return node;
}

/* The join operator that is next, or NULL. A comma is one of them. */
static const char *join_operator(struct sqlite_parser *parser)
{
	static const char *const sides[] = { "LEFT", "RIGHT", "FULL", "INNER", "CROSS" };
	static const char *const joins[2][5] = { { "left join", "right join", "full join", "join", "join" },
						 { "natural left join", "natural right join",
						   "natural full join", "natural join", "natural join" } };
	if (sqlite_parser_take(parser, ",") || sqlite_parser_take(parser, "JOIN"))
		return "join";
	bool natural = sqlite_parser_take(parser, "NATURAL");
	size_t side = 0;
	while (side < 5 && !sqlite_parser_take(parser, sides[side]))
		side++;
	if (side == 5 && !natural)
		return NULL;
	(void)sqlite_parser_take(parser, "OUTER");
	sqlite_parser_expect(parser, "JOIN");
	return joins[natural][side < 5 ? side : 3];
}

/* Joins lean to the left. */
static struct query_node *from(struct sqlite_parser *parser)
{
	struct query_node *left = source(parser);
	const char *op;
	while (!parser->failed && (op = join_operator(parser)) != NULL) {
		struct query_node *join = sqlite_parser_wrap(parser, QUERY_JOIN, left);
		join->op = op;
		query_append(join, source(parser));
		if (sqlite_parser_take(parser, "ON"))
			query_append(join,
				     sqlite_parser_wrap(parser, QUERY_ON, sqlite_parser_expression(parser)));
		else if (sqlite_parser_take(parser, "USING"))
			query_append(join, names(parser, QUERY_USING));
		left = join;
	}
	return sqlite_parser_wrap(parser, QUERY_FROM, left);
}

/* ---- SELECT ---- */

/* `*`, `table.*`; NULL: something else is next. */
static struct query_node *star(struct sqlite_parser *parser)
{
	struct sqlite_parser before = *parser;
	struct query_node *node = sqlite_parser_node(parser, QUERY_STAR);
	if (sqlite_parser_take(parser, "*"))
		return node;
	if (sqlite_parser_at_name(parser)) {
		node->qualifier = sqlite_parser_name(parser);
		if (sqlite_parser_take(parser, ".") && sqlite_parser_take(parser, "*"))
			return node;
	}
	*parser = before;
	return NULL;
}

/* What tells an output without an alias from others, to those that read it. */
static str_t unaliased(struct sqlite_parser *parser, const struct query_node *value)
{
	if (query_is_literal(value, "string"))
		return arena_printf(parser->arena, "'" STR_FMT "'", STR_ARG(value->name));
	if (value->kind == QUERY_PARAMETER)
		return STR_NONE;
	return !str_present(value->name) && value->op ? str_from(value->op) : value->name;
}

static struct query_node *item(struct sqlite_parser *parser)
{
	struct query_node *whole = star(parser);
	if (whole)
		return whole;
	struct query_node *value = sqlite_parser_expression(parser);
	struct query_node *node = sqlite_parser_wrap(parser, QUERY_ITEM, value);
	node->name = unaliased(parser, value);
	node->alias = alias(parser);
	return node;
}

static struct query_node *values(struct sqlite_parser *parser)
{
	struct query_node *node = sqlite_parser_node(parser, QUERY_VALUES);
	do {
		struct query_node *row = sqlite_parser_node(parser, QUERY_ROW);
		sqlite_parser_expect(parser, "(");
		sqlite_parser_expressions(parser, row);
		sqlite_parser_expect(parser, ")");
		query_append(node, row);
	} while (sqlite_parser_take(parser, ","));
	return node;
}

/* The tree does not have them. */
static void windows(struct sqlite_parser *parser)
{
	parser->hides = true;
	do {
		(void)sqlite_parser_name(parser);
		sqlite_parser_expect(parser, "AS");
		(void)sqlite_parser_brackets(parser);
	} while (sqlite_parser_take(parser, ","));
}

/* NULL is smaller than all else where nothing else is said. */
static struct query_node *keys(struct sqlite_parser *parser, enum query_kind kind)
{
	struct query_node *list = sqlite_parser_node(parser, kind);
	sqlite_parser_expect(parser, "BY");
	do {
		struct query_node *key =
			sqlite_parser_wrap(parser, QUERY_SORT, sqlite_parser_expression(parser));
		key->flag = sqlite_parser_take(parser, "DESC");
		if (!key->flag)
			(void)sqlite_parser_take(parser, "ASC");
		if (sqlite_parser_take(parser, "NULLS")) {
			bool first = sqlite_parser_take(parser, "FIRST");
			if (!first)
				sqlite_parser_expect(parser, "LAST");
			key->op = first == key->flag ? "nulls" : NULL;
		}
		query_append(list, key);
	} while (sqlite_parser_take(parser, ","));
	return list;
}

static void clause(struct sqlite_parser *parser, struct query_node *select, enum query_kind kind,
		   const char *word)
{
	if (sqlite_parser_take(parser, word))
		query_append(select, sqlite_parser_wrap(parser, kind, sqlite_parser_expression(parser)));
}

static struct query_node *body(struct sqlite_parser *parser)
{
	if (sqlite_parser_take(parser, "VALUES"))
		return values(parser);
	struct query_node *node = sqlite_parser_node(parser, QUERY_SELECT);
	struct query_node *items = sqlite_parser_node(parser, QUERY_ITEMS);
	sqlite_parser_expect(parser, "SELECT");
	node->flag = sqlite_parser_take(parser, "DISTINCT");
	if (!node->flag)
		(void)sqlite_parser_take(parser, "ALL");
	do {
		query_append(items, item(parser));
	} while (sqlite_parser_take(parser, ","));
	query_append(node, items);
	if (sqlite_parser_take(parser, "FROM"))
		query_append(node, from(parser));
	clause(parser, node, QUERY_WHERE, "WHERE");
	if (sqlite_parser_take(parser, "GROUP"))
		query_append(node, keys(parser, QUERY_GROUP));
	clause(parser, node, QUERY_HAVING, "HAVING");
	if (sqlite_parser_take(parser, "WINDOW"))
		windows(parser);
	return node;
}

static const char *set_operator(struct sqlite_parser *parser)
{
	if (sqlite_parser_take(parser, "UNION"))
		return sqlite_parser_take(parser, "ALL") ? "union all" : "union";
	if (sqlite_parser_take(parser, "EXCEPT"))
		return "except";
	return sqlite_parser_take(parser, "INTERSECT") ? "intersect" : NULL;
}

static struct query_node *bodies(struct sqlite_parser *parser)
{
	struct query_node *first = body(parser), *set = NULL;
	const char *op;
	while (!parser->failed && (op = set_operator(parser)) != NULL) {
		if (!set)
			set = sqlite_parser_wrap(parser, QUERY_SET,
						 sqlite_parser_wrap(parser, QUERY_ARM, first));
		struct query_node *arm = sqlite_parser_wrap(parser, QUERY_ARM, body(parser));
		arm->op = op;
		query_append(set, arm);
	}
	return set ? set : first;
}

static struct query_node *cte(struct sqlite_parser *parser)
{
	struct query_node *node = sqlite_parser_node(parser, QUERY_CTE);
	node->name = sqlite_parser_name(parser);
	if (sqlite_parser_at(parser, "("))
		query_append(node, names(parser, QUERY_NAMES));
	sqlite_parser_expect(parser, "AS");
	if (sqlite_parser_take(parser, "NOT"))
		sqlite_parser_expect(parser, "MATERIALIZED");
	else
		(void)sqlite_parser_take(parser, "MATERIALIZED");
	sqlite_parser_expect(parser, "(");
	query_append(node, sqlite_parser_select(parser));
	sqlite_parser_expect(parser, ")");
	return node;
}

static struct query_node *with(struct sqlite_parser *parser)
{
	struct query_node *node = sqlite_parser_node(parser, QUERY_WITH);
	node->flag = true; /* RECURSIVE need not be said */
	(void)sqlite_parser_take(parser, "RECURSIVE");
	do {
		query_append(node, cte(parser));
	} while (sqlite_parser_take(parser, ","));
	return node;
}

/* LIMIT a, b means b rows from the a-th on. */
static struct query_node *limit(struct sqlite_parser *parser)
{
	struct query_node *node = sqlite_parser_node(parser, QUERY_LIMIT);
	struct query_node *first = sqlite_parser_expression(parser);
	if (sqlite_parser_take(parser, ",")) {
		query_append(node, sqlite_parser_expression(parser));
		query_append(node, first);
		return node;
	}
	query_append(node, first);
	if (sqlite_parser_take(parser, "OFFSET"))
		query_append(node, sqlite_parser_expression(parser));
	return node;
}

bool sqlite_parser_at_select(const struct sqlite_parser *parser)
{
	return sqlite_parser_at(parser, "SELECT") || sqlite_parser_at(parser, "VALUES") ||
	       sqlite_parser_at(parser, "WITH");
}

struct query_node *sqlite_parser_select(struct sqlite_parser *parser)
{
	struct query_node *query = sqlite_parser_node(parser, QUERY_EXPRESSION);
	if (++parser->depth > SQLITE_PARSER_DEPTH)
		parser->failed = true;
	if (sqlite_parser_take(parser, "WITH"))
		query_append(query, with(parser));
	query_append(query, bodies(parser));
	if (sqlite_parser_take(parser, "ORDER"))
		query_append(query, keys(parser, QUERY_ORDER));
	if (sqlite_parser_take(parser, "LIMIT"))
		query_append(query, limit(parser));
	parser->depth--;
	return query;
}

struct sqlite_query sqlite_parse(str_t sql, const struct sqlite_strings *strings, struct arena *arena)
{
	struct sqlite_parser parser = { .sql = sql, .arena = arena, .strings = strings };
	parser.token = scan_next(sql, 0, SQL_SQLITE);
	struct query_node *root = sqlite_parser_select(&parser);
	while (sqlite_parser_take(&parser, ";")) {
	}
	if (parser.failed || parser.token.kind != SCAN_END)
		return (struct sqlite_query){ 0 };
	return (struct sqlite_query){ root, parser.hides, parser.hides_query };
}
