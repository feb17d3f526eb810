#include "sql/sqlite/parser_internal.h"

#include "common/buf.h"

#include <ctype.h>

/* Precedences of SQLite's grammar, from loose to tight; all binary operators lean to the left. */
enum { PREC_OR = 1, PREC_AND, PREC_NOT, PREC_EQUAL, PREC_LESS, PREC_BITS = 7, PREC_ADD, PREC_MULTIPLY };
enum { PREC_CONCAT = PREC_MULTIPLY + 1, PREC_COLLATE, PREC_SIGN };

static struct sqlite_node *parse(struct sqlite_parser *parser, int least);

static struct sqlite_node *new_node(struct sqlite_parser *parser, enum sqlite_node_kind kind, str_t text)
{
	struct sqlite_node *node = ARENA_NEW(parser->arena, struct sqlite_node);
	*node = (struct sqlite_node){ .kind = kind, .offset = parser->token.offset, .text = text };
	return node;
}

static void add_child(struct sqlite_parser *parser, struct sqlite_node *node, struct sqlite_node *child)
{
	SQLITE_PUSH(parser, node->children, child);
}

static void add_list(struct sqlite_parser *parser, struct sqlite_node *node)
{
	do {
		add_child(parser, node, parse(parser, PREC_OR));
	} while (sqlite_parser_take_char(parser, ','));
}

static str_t token_text(const struct sqlite_parser *parser)
{
	return arena_text(parser->arena, parser->sql.ptr + parser->token.offset, parser->token.len);
}

static str_t lower_text(const struct sqlite_parser *parser)
{
	str_t text = token_text(parser);
	char *lower = arena_strdup(parser->arena, text.ptr);
	for (char *at = lower; *at; at++)
		*at = (char)tolower((unsigned char)*at);
	return (str_t){ lower, text.len };
}

/* ---- operands ---- */

static struct sqlite_node *case_expression(struct sqlite_parser *parser)
{
	struct sqlite_node *node = new_node(parser, SQLITE_CASE, STR_NONE);
	sqlite_parser_advance(parser);
	if (!sqlite_parser_at(parser, "WHEN"))
		node->operand = parse(parser, PREC_OR);
	while (sqlite_parser_take(parser, "WHEN")) {
		add_child(parser, node, parse(parser, PREC_OR));
		sqlite_parser_expect(parser, "THEN");
		add_child(parser, node, parse(parser, PREC_OR));
	}
	if (sqlite_parser_take(parser, "ELSE"))
		add_child(parser, node, parse(parser, PREC_OR));
	sqlite_parser_expect(parser, "END");
	return node;
}

static struct sqlite_node *cast(struct sqlite_parser *parser)
{
	struct sqlite_node *node = new_node(parser, SQLITE_CAST, STR_NONE);
	struct buf type = BUF_INIT;
	sqlite_parser_advance(parser);
	sqlite_parser_expect_char(parser, '(');
	add_child(parser, node, parse(parser, PREC_OR));
	sqlite_parser_expect(parser, "AS");
	while (!parser->failed && !sqlite_parser_at_char(parser, ')')) {
		str_t part = sqlite_parser_at_char(parser, '(') ? sqlite_parser_brackets(parser)
								: sqlite_parser_name(parser);
		buf_printf(&type, STR_FMT " ", STR_ARG(part));
	}
	sqlite_parser_expect_char(parser, ')');
	node->text = arena_str(parser->arena, buf_str(&type));
	buf_free(&type);
	return node;
}

/* FILTER (…) and OVER (…) or OVER name. */
static str_t window(struct sqlite_parser *parser)
{
	struct buf text = BUF_INIT;
	if (sqlite_parser_take(parser, "FILTER")) {
		str_t filter = sqlite_parser_at_char(parser, '(') ? sqlite_parser_brackets(parser) : STR("");
		buf_printf(&text, "filter " STR_FMT, STR_ARG(filter));
	}
	if (sqlite_parser_take(parser, "OVER")) {
		str_t over = sqlite_parser_at_char(parser, '(') ? sqlite_parser_brackets(parser)
								: sqlite_parser_name(parser);
		buf_printf(&text, "over " STR_FMT, STR_ARG(over));
	}
	str_t all = text.len ? arena_str(parser->arena, buf_str(&text)) : STR_NONE;
	buf_free(&text);
	return all;
}

static struct sqlite_node *call(struct sqlite_parser *parser, struct sqlite_node *node)
{
	node->kind = SQLITE_CALL;
	sqlite_parser_expect_char(parser, '(');
	node->distinct = sqlite_parser_take(parser, "DISTINCT");
	if (!node->distinct)
		(void)sqlite_parser_take(parser, "ALL");
	node->has_star = sqlite_parser_take_char(parser, '*');
	if (!node->has_star && !sqlite_parser_at_char(parser, ')'))
		add_list(parser, node);
	sqlite_parser_expect_char(parser, ')');
	node->window = window(parser);
	return node;
}

static struct sqlite_node *name(struct sqlite_parser *parser)
{
	struct sqlite_node *node = new_node(parser, SQLITE_COLUMN, STR_NONE);
	node->text = sqlite_parser_name(parser);
	if (sqlite_parser_at_char(parser, '('))
		return call(parser, node);
	if (sqlite_parser_take_char(parser, '.')) {
		node->table = node->text;
		node->text = sqlite_parser_name(parser);
	}
	if (sqlite_parser_take_char(parser, '.')) {
		node->schema = node->table;
		node->table = node->text;
		node->text = sqlite_parser_name(parser);
	}
	return node;
}

static struct sqlite_node *subquery(struct sqlite_parser *parser, enum sqlite_node_kind kind)
{
	struct sqlite_node *node = new_node(parser, kind, STR_NONE);
	sqlite_parser_expect_char(parser, '(');
	node->select = sqlite_parser_select(parser);
	sqlite_parser_expect_char(parser, ')');
	return node;
}

static struct sqlite_node *brackets(struct sqlite_parser *parser)
{
	struct sqlite_parser inside = *parser;
	sqlite_parser_advance(&inside);
	if (sqlite_parser_at_select(&inside))
		return subquery(parser, SQLITE_SUBQUERY);
	struct sqlite_node *row = new_node(parser, SQLITE_ROW, STR_NONE);
	sqlite_parser_advance(parser);
	add_list(parser, row);
	sqlite_parser_expect_char(parser, ')');
	return row->children_count == 1 ? row->children[0] : row;
}

static struct sqlite_node *literal(struct sqlite_parser *parser, enum sqlite_node_kind kind, str_t text)
{
	struct sqlite_node *node = new_node(parser, kind, text);
	sqlite_parser_advance(parser);
	return node;
}

static bool at_string(const struct sqlite_parser *parser)
{
	for (size_t i = 0; parser->strings && i < parser->strings->count; i++)
		if (parser->strings->items[i] == parser->token.offset)
			return true;
	return false;
}

/* The same text in single quotes. */
static str_t in_single_quotes(const struct sqlite_parser *parser)
{
	struct buf text = BUF_INIT;
	const char *from = parser->sql.ptr + parser->token.offset;
	buf_append_char(&text, '\'');
	for (size_t i = 1; i + 1 < parser->token.len; i++) {
		buf_append_char(&text, from[i]);
		if (from[i] == '\'')
			buf_append_char(&text, '\'');
		i += from[i] == '"'; /* a doubled one */
	}
	buf_append_char(&text, '\'');
	str_t quoted = arena_str(parser->arena, buf_str(&text));
	buf_free(&text);
	return quoted;
}

/* `?`, `?1`, `:name`, `@name`. */
static struct sqlite_node *parameter(struct sqlite_parser *parser)
{
	bool named = parser->token.kind != SCAN_PARAMETER;
	size_t end = parser->token.offset + parser->token.len;
	struct sqlite_node *node = literal(parser, SQLITE_PARAMETER, STR_NONE);
	bool goes_on = parser->token.offset == end &&
		       (parser->token.kind == SCAN_NUMBER || parser->token.kind == SCAN_WORD);
	if (goes_on)
		sqlite_parser_advance(parser);
	parser->failed = parser->failed || (named && !goes_on);
	return node;
}

static struct sqlite_node *operand(struct sqlite_parser *parser)
{
	static const char *const constants[] = { "NULL", "CURRENT_DATE", "CURRENT_TIME",
						 "CURRENT_TIMESTAMP" };
	switch (parser->token.kind) {
	case SCAN_STRING:
		return literal(parser, SQLITE_LITERAL, token_text(parser));
	case SCAN_NUMBER:
		return literal(parser, SQLITE_LITERAL, lower_text(parser));
	case SCAN_PARAMETER:
		return parameter(parser);
	default:
		break;
	}
	if (at_string(parser))
		return literal(parser, SQLITE_LITERAL, in_single_quotes(parser));
	if (sqlite_parser_at_char(parser, ':') || sqlite_parser_at_char(parser, '@'))
		return parameter(parser);
	for (size_t i = 0; i < sizeof constants / sizeof constants[0]; i++)
		if (sqlite_parser_at(parser, constants[i]))
			return literal(parser, SQLITE_LITERAL, lower_text(parser));
	if (sqlite_parser_at_char(parser, '('))
		return brackets(parser);
	if (sqlite_parser_at(parser, "CASE"))
		return case_expression(parser);
	if (sqlite_parser_at(parser, "CAST"))
		return cast(parser);
	if (sqlite_parser_take(parser, "EXISTS"))
		return subquery(parser, SQLITE_EXISTS);
	return name(parser);
}

static struct sqlite_node *prefixed(struct sqlite_parser *parser)
{
	static const struct {
		const char *text;
		int least;
	} signs[] = { { "-", PREC_SIGN }, { "+", PREC_SIGN }, { "~", PREC_SIGN } };
	struct sqlite_node *node = new_node(parser, SQLITE_UNARY, STR("not"));
	if (sqlite_parser_take(parser, "NOT")) {
		add_child(parser, node, parse(parser, PREC_EQUAL));
		return node;
	}
	for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
		if (!sqlite_parser_take_char(parser, signs[i].text[0]))
			continue;
		node->text = str_from(signs[i].text);
		add_child(parser, node, parse(parser, signs[i].least));
		return node;
	}
	return operand(parser);
}

/* ---- operators ---- */

struct operator_ {
	const char *text; /* bytes of punctuation, or a word */
	int precedence;
	const char *name; /* canonical */
};

/* Longer ones first. */
static const struct operator_ operators[] = {
	{ "->>", PREC_CONCAT, "->>" },	  { "->", PREC_CONCAT, "->" },
	{ "||", PREC_CONCAT, "||" },	  { "<<", PREC_BITS, "<<" },
	{ ">>", PREC_BITS, ">>" },	  { "<=", PREC_LESS, "<=" },
	{ ">=", PREC_LESS, ">=" },	  { "<>", PREC_EQUAL, "<>" },
	{ "!=", PREC_EQUAL, "<>" },	  { "==", PREC_EQUAL, "=" },
	{ "=", PREC_EQUAL, "=" },	  { "<", PREC_LESS, "<" },
	{ ">", PREC_LESS, ">" },	  { "&", PREC_BITS, "&" },
	{ "|", PREC_BITS, "|" },	  { "+", PREC_ADD, "+" },
	{ "-", PREC_ADD, "-" },		  { "*", PREC_MULTIPLY, "*" },
	{ "/", PREC_MULTIPLY, "/" },	  { "%", PREC_MULTIPLY, "%" },
	{ "AND", PREC_AND, "and" },	  { "OR", PREC_OR, "or" },
	{ "LIKE", PREC_EQUAL, "like" },	  { "GLOB", PREC_EQUAL, "glob" },
	{ "MATCH", PREC_EQUAL, "match" }, { "REGEXP", PREC_EQUAL, "regexp" },
};

/* Bytes of an operator stand together: scan.h gives them one by one. */
static const struct operator_ *operator_at(const struct sqlite_parser *parser)
{
	str_t rest = { parser->sql.ptr + parser->token.offset, parser->sql.len - parser->token.offset };
	for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
		const struct operator_ *found = &operators[i];
		size_t len = strlen(found->text);
		if (isalpha((unsigned char)found->text[0])
			    ? sqlite_parser_at(parser, found->text)
			    : parser->token.kind == SCAN_OTHER && rest.len >= len &&
				      memcmp(rest.ptr, found->text, len) == 0)
			return found;
	}
	return NULL;
}

static void skip_operator(struct sqlite_parser *parser, const struct operator_ *found)
{
	size_t end = parser->token.offset + strlen(found->text);
	while (parser->token.kind != SCAN_END && parser->token.offset < end)
		sqlite_parser_advance(parser);
}

static struct sqlite_node *binary(struct sqlite_parser *parser, struct sqlite_node *left, bool negated,
				  const struct operator_ *found)
{
	struct sqlite_node *node = new_node(parser, SQLITE_BINARY, str_from(found->name));
	node->negated = negated;
	skip_operator(parser, found);
	add_child(parser, node, left);
	add_child(parser, node, parse(parser, found->precedence + 1));
	bool pattern = found->precedence == PREC_EQUAL && isalpha((unsigned char)found->text[0]);
	if (pattern && sqlite_parser_take(parser, "ESCAPE"))
		add_child(parser, node, parse(parser, PREC_LESS));
	return node;
}

static struct sqlite_node *postfix(struct sqlite_parser *parser, struct sqlite_node *left, str_t text)
{
	struct sqlite_node *node = new_node(parser, SQLITE_POSTFIX, text);
	add_child(parser, node, left);
	return node;
}

/* IS [NOT] [DISTINCT FROM] */
static struct sqlite_node *is(struct sqlite_parser *parser, struct sqlite_node *left)
{
	struct sqlite_node *node = new_node(parser, SQLITE_BINARY, STR("is"));
	sqlite_parser_advance(parser);
	node->negated = sqlite_parser_take(parser, "NOT");
	if (sqlite_parser_take(parser, "DISTINCT")) {
		sqlite_parser_expect(parser, "FROM");
		node->negated = !node->negated;
	}
	add_child(parser, node, left);
	struct sqlite_node *right = parse(parser, PREC_LESS);
	if (right->kind == SQLITE_LITERAL && str_is(right->text, "null"))
		return postfix(parser, left, node->negated ? STR("notnull") : STR("isnull"));
	add_child(parser, node, right);
	return node;
}

static struct sqlite_node *between(struct sqlite_parser *parser, struct sqlite_node *left, bool negated)
{
	struct sqlite_node *node = new_node(parser, SQLITE_BETWEEN, STR_NONE);
	sqlite_parser_advance(parser);
	node->negated = negated;
	add_child(parser, node, left);
	add_child(parser, node, parse(parser, PREC_NOT));
	sqlite_parser_expect(parser, "AND");
	add_child(parser, node, parse(parser, PREC_LESS));
	return node;
}

static struct sqlite_node *in(struct sqlite_parser *parser, struct sqlite_node *left, bool negated)
{
	struct sqlite_node *node = new_node(parser, SQLITE_IN, STR_NONE);
	sqlite_parser_advance(parser);
	node->negated = negated;
	add_child(parser, node, left);
	sqlite_parser_expect_char(parser, '('); /* else the name of a table */
	if (sqlite_parser_at_select(parser))
		node->select = sqlite_parser_select(parser);
	else if (!sqlite_parser_at_char(parser, ')'))
		add_list(parser, node);
	sqlite_parser_expect_char(parser, ')');
	return node;
}

/* What follows an operand at the level of comparisons with words; NULL: nothing of that. */
static struct sqlite_node *word_operator(struct sqlite_parser *parser, struct sqlite_node *left)
{
	struct sqlite_parser before = *parser;
	if (sqlite_parser_at(parser, "IS"))
		return is(parser, left);
	if (sqlite_parser_take(parser, "ISNULL"))
		return postfix(parser, left, STR("isnull"));
	if (sqlite_parser_take(parser, "NOTNULL"))
		return postfix(parser, left, STR("notnull"));
	bool negated = sqlite_parser_take(parser, "NOT");
	if (negated && sqlite_parser_take(parser, "NULL"))
		return postfix(parser, left, STR("notnull"));
	if (sqlite_parser_at(parser, "BETWEEN"))
		return between(parser, left, negated);
	if (sqlite_parser_at(parser, "IN"))
		return in(parser, left, negated);
	const struct operator_ *found = operator_at(parser);
	if (negated && found && found->precedence == PREC_EQUAL && isalpha((unsigned char)found->text[0]))
		return binary(parser, left, true, found);
	*parser = before;
	return NULL;
}

static struct sqlite_node *parse(struct sqlite_parser *parser, int least)
{
	if (parser->failed || ++parser->depth > SQLITE_PARSER_DEPTH) {
		parser->failed = true;
		return new_node(parser, SQLITE_LITERAL, STR(""));
	}
	struct sqlite_node *left = prefixed(parser);
	while (!parser->failed) {
		struct sqlite_node *more = least <= PREC_EQUAL ? word_operator(parser, left) : NULL;
		const struct operator_ *found = more ? NULL : operator_at(parser);
		if (more) {
			left = more;
		} else if (found && found->precedence >= least) {
			left = binary(parser, left, false, found);
		} else if (least <= PREC_COLLATE && sqlite_parser_take(parser, "COLLATE")) {
			str_t collation = sqlite_parser_name(parser);
			left = postfix(parser, left,
				       arena_printf(parser->arena, "collate " STR_FMT, STR_ARG(collation)));
		} else {
			break;
		}
	}
	parser->depth--;
	return left;
}

struct sqlite_node *sqlite_parser_expression(struct sqlite_parser *parser)
{
	return parse(parser, PREC_OR);
}
