#include "sql/sqlite/parser_internal.h"

#include "common/buf.h"

#include <ctype.h>
#include <strings.h>

/* Words that are no names here, although the library takes some of them for names where they cannot be
 * keywords: then there is no tree. */
static const char *const keywords[] = {
	"ALL",
	"AND",
	"AS",
	"ASC",
	"BETWEEN",
	"CASE",
	"CAST",
	"COLLATE",
	"CROSS",
	"DESC",
	"DISTINCT",
	"ELSE",
	"END",
	"ESCAPE",
	"EXCEPT",
	"EXISTS",
	"FILTER",
	"FROM",
	"FULL",
	"GLOB",
	"GROUP",
	"HAVING",
	"IN",
	"INDEXED",
	"INNER",
	"INTERSECT",
	"IS",
	"ISNULL",
	"JOIN",
	"LEFT",
	"LIKE",
	"LIMIT",
	"MATCH",
	"NATURAL",
	"NOT",
	"NOTNULL",
	"NULL",
	"NULLS",
	"OFFSET",
	"ON",
	"OR",
	"ORDER",
	"OUTER",
	"OVER",
	"RAISE",
	"REGEXP",
	"RIGHT",
	"SELECT",
	"THEN",
	"UNION",
	"USING",
	"VALUES",
	"WHEN",
	"WHERE",
	"WINDOW",
	"WITH",
	"CURRENT_DATE",
	"CURRENT_TIME",
	"CURRENT_TIMESTAMP",
	"TABLE",
	"CREATE",
	"SET",
	"TO",
};

void sqlite_parser_advance(struct sqlite_parser *parser)
{
	parser->token = scan_next(parser->sql, parser->token.offset + parser->token.len, SQL_SQLITE);
}

bool sqlite_parser_at(const struct sqlite_parser *parser, const char *word)
{
	return scan_is_word(parser->sql, parser->token, word);
}

bool sqlite_parser_at_char(const struct sqlite_parser *parser, char c)
{
	return scan_is_char(parser->sql, parser->token, c);
}

bool sqlite_parser_take(struct sqlite_parser *parser, const char *word)
{
	if (parser->failed || !sqlite_parser_at(parser, word))
		return false;
	sqlite_parser_advance(parser);
	return true;
}

bool sqlite_parser_take_char(struct sqlite_parser *parser, char c)
{
	if (parser->failed || !sqlite_parser_at_char(parser, c))
		return false;
	sqlite_parser_advance(parser);
	return true;
}

void sqlite_parser_expect(struct sqlite_parser *parser, const char *word)
{
	if (!sqlite_parser_take(parser, word))
		parser->failed = true;
}

void sqlite_parser_expect_char(struct sqlite_parser *parser, char c)
{
	if (!sqlite_parser_take_char(parser, c))
		parser->failed = true;
}

bool sqlite_parser_at_name(const struct sqlite_parser *parser)
{
	if (parser->token.kind == SCAN_QUOTED)
		return true;
	if (parser->token.kind != SCAN_WORD)
		return false;
	for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++)
		if (sqlite_parser_at(parser, keywords[i]))
			return false;
	return true;
}

str_t sqlite_parser_name(struct sqlite_parser *parser)
{
	struct scan_token token = parser->token;
	size_t quote = token.kind == SCAN_QUOTED ? 1 : 0;
	if (parser->failed || !sqlite_parser_at_name(parser) || token.len < 2 * quote) {
		parser->failed = true;
		return STR("");
	}
	str_t name = arena_text(parser->arena, parser->sql.ptr + token.offset + quote, token.len - 2 * quote);
	char *text = arena_strdup(parser->arena, name.ptr);
	for (char *at = text; *at; at++) {
		*at = (char)tolower((unsigned char)*at);
		if (!isalnum((unsigned char)*at) && *at != '_' && *at != '$' && (unsigned char)*at < 0x80)
			parser->failed = true; /* it could be taken for something else in a form */
	}
	sqlite_parser_advance(parser);
	return str_from(text);
}

str_t sqlite_parser_brackets(struct sqlite_parser *parser)
{
	struct buf text = BUF_INIT;
	unsigned depth = 0;
	do {
		depth += sqlite_parser_at_char(parser, '(');
		depth -= sqlite_parser_at_char(parser, ')');
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
	return tokens;
}

/* AS name, or a name alone; a text in quotes is a name here, too. */
static str_t alias(struct sqlite_parser *parser)
{
	bool as = sqlite_parser_take(parser, "AS");
	if (parser->token.kind == SCAN_STRING)
		parser->failed = true;
	if (!as && !sqlite_parser_at_name(parser))
		return STR_NONE;
	return sqlite_parser_name(parser);
}

/* ---- FROM ---- */

static void source_relation(struct sqlite_parser *parser, struct sqlite_source *source)
{
	source->name = sqlite_parser_name(parser);
	if (sqlite_parser_take_char(parser, '.')) {
		source->schema = source->name;
		source->name = sqlite_parser_name(parser);
	}
	if (sqlite_parser_take_char(parser, '(')) {
		source->is_call = true;
		while (!parser->failed && !sqlite_parser_at_char(parser, ')')) {
			SQLITE_PUSH(parser, source->arguments, sqlite_parser_expression(parser));
			if (!sqlite_parser_take_char(parser, ','))
				break;
		}
		sqlite_parser_expect_char(parser, ')');
	}
}

static struct sqlite_source source(struct sqlite_parser *parser)
{
	struct sqlite_source source = { .offset = parser->token.offset };
	if (sqlite_parser_take_char(parser, '(')) {
		if (sqlite_parser_at_select(parser))
			source.select = sqlite_parser_select(parser);
		else
			parser->failed = true; /* (a JOIN b) */
		sqlite_parser_expect_char(parser, ')');
	} else {
		source_relation(parser, &source);
	}
	source.alias = alias(parser);
	if (sqlite_parser_at(parser, "INDEXED") || sqlite_parser_at(parser, "NOT"))
		parser->failed = true;
	return source;
}

/* The join operator that is next, if any. */
static bool join_operator(struct sqlite_parser *parser, enum sqlite_join *ret_join, bool *ret_natural)
{
	*ret_join = SQLITE_JOIN_INNER;
	*ret_natural = false;
	if (sqlite_parser_take_char(parser, ','))
		return true;
	if (sqlite_parser_take(parser, "JOIN"))
		return true;
	*ret_natural = sqlite_parser_take(parser, "NATURAL");
	bool found = *ret_natural;
	if (sqlite_parser_take(parser, "LEFT"))
		*ret_join = SQLITE_JOIN_LEFT;
	else if (sqlite_parser_take(parser, "RIGHT"))
		*ret_join = SQLITE_JOIN_RIGHT;
	else if (sqlite_parser_take(parser, "FULL"))
		*ret_join = SQLITE_JOIN_FULL;
	else if (!sqlite_parser_take(parser, "INNER") && !sqlite_parser_take(parser, "CROSS") && !found)
		return false;
	(void)sqlite_parser_take(parser, "OUTER");
	sqlite_parser_expect(parser, "JOIN");
	return true;
}

/* (a, b) into a list. */
#define NAMES(parser, list)                                                                                  \
	do {                                                                                                 \
		sqlite_parser_expect_char(parser, '(');                                                      \
		do {                                                                                         \
			SQLITE_PUSH(parser, list, sqlite_parser_name(parser));                               \
		} while (sqlite_parser_take_char(parser, ','));                                              \
		sqlite_parser_expect_char(parser, ')');                                                      \
	} while (0)

static void join_condition(struct sqlite_parser *parser, struct sqlite_source *joined)
{
	if (sqlite_parser_take(parser, "ON")) {
		joined->on = sqlite_parser_expression(parser);
	} else if (sqlite_parser_take(parser, "USING")) {
		NAMES(parser, joined->using);
	}
}

static void from(struct sqlite_parser *parser, struct sqlite_core *core)
{
	enum sqlite_join join = SQLITE_JOIN_INNER;
	bool natural = false;
	do {
		struct sqlite_source joined = source(parser);
		joined.join = join;
		joined.natural = natural;
		if (core->sources_count > 0)
			join_condition(parser, &joined);
		SQLITE_PUSH(parser, core->sources, joined);
	} while (!parser->failed && join_operator(parser, &join, &natural));
}

/* ---- SELECT ---- */

static struct sqlite_node *star(struct sqlite_parser *parser)
{
	struct sqlite_node *node = ARENA_NEW(parser->arena, struct sqlite_node);
	*node = (struct sqlite_node){ .kind = SQLITE_STAR, .offset = parser->token.offset };
	return node;
}

/* `*`, `table.*` or an expression; the library's grammar tells them apart by the star. */
static struct sqlite_output output(struct sqlite_parser *parser)
{
	struct sqlite_output output = { 0 };
	struct sqlite_parser before = *parser;
	if (sqlite_parser_at_char(parser, '*')) {
		output.expression = star(parser);
		sqlite_parser_advance(parser);
		return output;
	}
	if (sqlite_parser_at_name(parser)) {
		struct sqlite_node *node = star(parser);
		node->table = sqlite_parser_name(parser);
		if (sqlite_parser_take_char(parser, '.') && sqlite_parser_take_char(parser, '*')) {
			output.expression = node;
			return output;
		}
		*parser = before;
	}
	output.expression = sqlite_parser_expression(parser);
	output.alias = alias(parser);
	return output;
}

static void values(struct sqlite_parser *parser, struct sqlite_core *core)
{
	core->is_values = true;
	do {
		struct sqlite_node *row = ARENA_NEW(parser->arena, struct sqlite_node);
		*row = (struct sqlite_node){ .kind = SQLITE_ROW, .offset = parser->token.offset };
		sqlite_parser_expect_char(parser, '(');
		do {
			SQLITE_PUSH(parser, row->children, sqlite_parser_expression(parser));
		} while (sqlite_parser_take_char(parser, ','));
		sqlite_parser_expect_char(parser, ')');
		SQLITE_PUSH(parser, core->outputs, (struct sqlite_output){ .expression = row });
	} while (sqlite_parser_take_char(parser, ','));
}

static void windows(struct sqlite_parser *parser, struct sqlite_core *core)
{
	struct buf text = BUF_INIT;
	do {
		str_t name = sqlite_parser_name(parser);
		sqlite_parser_expect(parser, "AS");
		str_t window = parser->failed ? STR("") : sqlite_parser_brackets(parser);
		buf_printf(&text, STR_FMT " " STR_FMT ";", STR_ARG(name), STR_ARG(window));
	} while (sqlite_parser_take_char(parser, ','));
	core->windows = arena_str(parser->arena, buf_str(&text));
	buf_free(&text);
}

static void core_clauses(struct sqlite_parser *parser, struct sqlite_core *core)
{
	if (sqlite_parser_take(parser, "FROM"))
		from(parser, core);
	if (sqlite_parser_take(parser, "WHERE"))
		core->where = sqlite_parser_expression(parser);
	if (sqlite_parser_take(parser, "GROUP")) {
		sqlite_parser_expect(parser, "BY");
		do {
			SQLITE_PUSH(parser, core->group, sqlite_parser_expression(parser));
		} while (sqlite_parser_take_char(parser, ','));
	}
	if (sqlite_parser_take(parser, "HAVING"))
		core->having = sqlite_parser_expression(parser);
	if (sqlite_parser_take(parser, "WINDOW"))
		windows(parser, core);
}

static void core(struct sqlite_parser *parser, str_t operator, struct sqlite_select * select)
{
	struct sqlite_core core = { .operator= operator};
	if (sqlite_parser_take(parser, "VALUES")) {
		values(parser, &core);
	} else {
		sqlite_parser_expect(parser, "SELECT");
		core.distinct = sqlite_parser_take(parser, "DISTINCT");
		if (!core.distinct)
			(void)sqlite_parser_take(parser, "ALL");
		do {
			SQLITE_PUSH(parser, core.outputs, output(parser));
		} while (sqlite_parser_take_char(parser, ','));
		core_clauses(parser, &core);
	}
	SQLITE_PUSH(parser, select->cores, core);
}

static bool set_operator(struct sqlite_parser *parser, str_t *ret_operator)
{
	if (sqlite_parser_take(parser, "UNION"))
		*ret_operator = sqlite_parser_take(parser, "ALL") ? STR("union all") : STR("union");
	else if (sqlite_parser_take(parser, "EXCEPT"))
		*ret_operator = STR("except");
	else if (sqlite_parser_take(parser, "INTERSECT"))
		*ret_operator = STR("intersect");
	else
		return false;
	return true;
}

static void with(struct sqlite_parser *parser, struct sqlite_select *select)
{
	(void)sqlite_parser_take(parser, "RECURSIVE");
	do {
		struct sqlite_cte cte = { .name = sqlite_parser_name(parser) };
		if (sqlite_parser_at_char(parser, '('))
			NAMES(parser, cte.columns);
		sqlite_parser_expect(parser, "AS");
		if (sqlite_parser_take(parser, "NOT"))
			sqlite_parser_expect(parser, "MATERIALIZED");
		else
			(void)sqlite_parser_take(parser, "MATERIALIZED");
		sqlite_parser_expect_char(parser, '(');
		cte.select = sqlite_parser_select(parser);
		sqlite_parser_expect_char(parser, ')');
		SQLITE_PUSH(parser, select->ctes, cte);
	} while (sqlite_parser_take_char(parser, ','));
}

/* NULL is smaller than all else where nothing else is said. */
static void order_by(struct sqlite_parser *parser, struct sqlite_select *select)
{
	sqlite_parser_expect(parser, "BY");
	do {
		struct sqlite_order key = { .expression = sqlite_parser_expression(parser) };
		key.descending = sqlite_parser_take(parser, "DESC");
		if (!key.descending)
			(void)sqlite_parser_take(parser, "ASC");
		key.nulls_first = !key.descending;
		if (sqlite_parser_take(parser, "NULLS")) {
			key.nulls_first = sqlite_parser_take(parser, "FIRST");
			if (!key.nulls_first)
				sqlite_parser_expect(parser, "LAST");
		}
		SQLITE_PUSH(parser, select->order, key);
	} while (sqlite_parser_take_char(parser, ','));
}

/* LIMIT a, b means b rows from the a-th on. */
static void limit(struct sqlite_parser *parser, struct sqlite_select *select)
{
	select->limit = sqlite_parser_expression(parser);
	if (sqlite_parser_take(parser, "OFFSET")) {
		select->skip = sqlite_parser_expression(parser);
	} else if (sqlite_parser_take_char(parser, ',')) {
		select->skip = select->limit;
		select->limit = sqlite_parser_expression(parser);
	}
}

bool sqlite_parser_at_select(const struct sqlite_parser *parser)
{
	return sqlite_parser_at(parser, "SELECT") || sqlite_parser_at(parser, "VALUES") ||
	       sqlite_parser_at(parser, "WITH");
}

struct sqlite_select *sqlite_parser_select(struct sqlite_parser *parser)
{
	struct sqlite_select *select = ARENA_NEW(parser->arena, struct sqlite_select);
	str_t operator= STR_NONE;
	select->offset = parser->token.offset;
	if (++parser->depth > SQLITE_PARSER_DEPTH)
		parser->failed = true;
	if (sqlite_parser_take(parser, "WITH"))
		with(parser, select);
	do {
		core(parser, operator, select);
	} while (!parser->failed && set_operator(parser, &operator));
	if (sqlite_parser_take(parser, "ORDER"))
		order_by(parser, select);
	if (sqlite_parser_take(parser, "LIMIT"))
		limit(parser, select);
	parser->depth--;
	return select;
}

struct sqlite_select *sqlite_parse(str_t sql, const struct sqlite_strings *strings, struct arena *arena)
{
	struct sqlite_parser parser = { .sql = sql, .arena = arena, .strings = strings };
	parser.token = scan_next(sql, 0, SQL_SQLITE);
	struct sqlite_select *select = sqlite_parser_select(&parser);
	while (sqlite_parser_take_char(&parser, ';')) {
	}
	return parser.failed || parser.token.kind != SCAN_END ? NULL : select;
}
