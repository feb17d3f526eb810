#include "sql/sqlite/parser_internal.h"

#include "common/buf.h"
#include "sql/sqlite/tokens.h"

#include <ctype.h>

/* Precedences of SQLite's grammar, from loose to tight; all binary operators lean to the left. */
enum { PREC_OR = 1, PREC_AND, PREC_NOT, PREC_EQUAL, PREC_LESS, PREC_BITS = 7, PREC_ADD, PREC_MULTIPLY };
enum { PREC_CONCAT = PREC_MULTIPLY + 1, PREC_COLLATE, PREC_SIGN };

static struct query_node *parse(struct sqlite_parser *parser, int least);

void sqlite_parser_expressions(struct sqlite_parser *parser, struct query_node *parent)
{
	do {
		query_append(parent, parse(parser, PREC_OR));
	} while (sqlite_parser_take(parser, ","));
}

static str_t token_text(const struct sqlite_parser *parser)
{
	return arena_text(parser->arena, parser->sql.ptr + parser->token.offset, parser->token.len);
}

/* ---- operands ---- */

static struct query_node *case_expression(struct sqlite_parser *parser)
{
	struct query_node *node = sqlite_parser_node(parser, QUERY_CASE);
	sqlite_parser_advance(parser);
	if (!sqlite_parser_at(parser, "WHEN"))
		query_append(node, sqlite_parser_wrap(parser, QUERY_OPERAND, parse(parser, PREC_OR)));
	while (sqlite_parser_take(parser, "WHEN")) {
		struct query_node *when = sqlite_parser_wrap(parser, QUERY_WHEN, parse(parser, PREC_OR));
		sqlite_parser_expect(parser, "THEN");
		query_append(when, parse(parser, PREC_OR));
		query_append(node, when);
	}
	if (sqlite_parser_take(parser, "ELSE"))
		query_append(node, sqlite_parser_wrap(parser, QUERY_ELSE, parse(parser, PREC_OR)));
	sqlite_parser_expect(parser, "END");
	return node;
}

static struct query_node *cast(struct sqlite_parser *parser)
{
	struct query_node *node = sqlite_parser_node(parser, QUERY_CAST);
	struct buf type = BUF_INIT;
	sqlite_parser_advance(parser);
	sqlite_parser_expect(parser, "(");
	query_append(node, parse(parser, PREC_OR));
	sqlite_parser_expect(parser, "AS");
	while (!parser->failed && !sqlite_parser_at(parser, ")")) {
		str_t part = sqlite_parser_at(parser, "(") ? sqlite_parser_brackets(parser)
							   : sqlite_parser_name(parser);
		buf_printf(&type, STR_FMT " ", STR_ARG(part));
	}
	sqlite_parser_expect(parser, ")");
	node->name = arena_str(parser->arena, buf_str(&type));
	buf_free(&type);
	return node;
}

/* MIN and MAX of several arguments. */
static bool is_scalar(const struct query_node *call)
{
	return call->first != call->last && (str_is(call->name, "min") || str_is(call->name, "max"));
}

/* FILTER (…) and OVER (…) or OVER name: as tokens. */
static void window(struct sqlite_parser *parser, struct query_node *call)
{
	struct query_node *node = sqlite_parser_node(parser, QUERY_WINDOW);
	struct buf text = BUF_INIT;
	if (sqlite_parser_take(parser, "FILTER")) {
		str_t filter = sqlite_parser_at(parser, "(") ? sqlite_parser_brackets(parser) : STR("");
		buf_printf(&text, "filter " STR_FMT, STR_ARG(filter));
	}
	bool windowed = sqlite_parser_take(parser, "OVER");
	if (windowed) {
		str_t over = sqlite_parser_at(parser, "(") ? sqlite_parser_brackets(parser)
							   : sqlite_parser_name(parser);
		buf_printf(&text, "over " STR_FMT, STR_ARG(over));
	}
	call->aggregate = sqlite_is_aggregate(call->name) && !is_scalar(call) && !windowed;
	if (text.len > 0) {
		node->name = arena_str(parser->arena, buf_str(&text));
		query_append(call, node);
		parser->hides = true;
	}
	buf_free(&text);
}

static struct query_node *call(struct sqlite_parser *parser, struct query_node *node)
{
	node->kind = QUERY_CALL;
	sqlite_parser_expect(parser, "(");
	node->flag = sqlite_parser_take(parser, "DISTINCT");
	if (!node->flag)
		(void)sqlite_parser_take(parser, "ALL");
	if (sqlite_parser_take(parser, "*"))
		query_append(node, sqlite_parser_node(parser, QUERY_STAR));
	else if (!sqlite_parser_at(parser, ")"))
		sqlite_parser_expressions(parser, node);
	sqlite_parser_expect(parser, ")");
	window(parser, node);
	return node;
}

static struct query_node *name(struct sqlite_parser *parser)
{
	struct query_node *node = sqlite_parser_node(parser, QUERY_COLUMN);
	node->name = sqlite_parser_name(parser);
	if (sqlite_parser_at(parser, "("))
		return call(parser, node);
	if (sqlite_parser_take(parser, ".")) {
		node->qualifier = node->name;
		node->name = sqlite_parser_name(parser);
	}
	if (sqlite_parser_take(parser, ".")) {
		node->schema = node->qualifier;
		node->qualifier = node->name;
		node->name = sqlite_parser_name(parser);
	}
	return node;
}

static struct query_node *subquery(struct sqlite_parser *parser, enum query_kind kind)
{
	struct query_node *node = sqlite_parser_node(parser, kind);
	sqlite_parser_expect(parser, "(");
	query_append(node, sqlite_parser_select(parser));
	sqlite_parser_expect(parser, ")");
	return node;
}

static struct query_node *brackets(struct sqlite_parser *parser)
{
	struct sqlite_parser inside = *parser;
	sqlite_parser_advance(&inside);
	if (sqlite_parser_at_select(&inside))
		return subquery(parser, QUERY_SUBQUERY);
	struct query_node *row = sqlite_parser_node(parser, QUERY_ROW);
	sqlite_parser_advance(parser);
	sqlite_parser_expressions(parser, row);
	sqlite_parser_expect(parser, ")");
	return row->first == row->last ? row->first : row;
}

static struct query_node *literal(struct sqlite_parser *parser, const char *op, str_t text)
{
	struct query_node *node = sqlite_parser_node(parser, QUERY_LITERAL);
	node->op = op;
	node->name = text;
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

/* The token without its quotes, which are doubled inside. */
static str_t unquoted(const struct sqlite_parser *parser)
{
	const char *from = parser->sql.ptr + parser->token.offset;
	char *copy = arena_alloc(parser->arena, parser->token.len + 1), *at = copy;
	for (size_t i = 1; i + 1 < parser->token.len; i++) {
		*at++ = from[i];
		i += from[i] == from[0];
	}
	*at = '\0';
	return (str_t){ copy, (size_t)(at - copy) };
}

/* `?`, `?1`, `:name`, `@name`: which one is not kept. */
static struct query_node *parameter(struct sqlite_parser *parser)
{
	bool named = parser->token.kind != SCAN_PARAMETER;
	size_t end = parser->token.offset + parser->token.len;
	struct query_node *node =
		literal(parser, NULL, arena_printf(parser->arena, "@%zu", parser->token.offset));
	bool goes_on = parser->token.offset == end &&
		       (parser->token.kind == SCAN_NUMBER || parser->token.kind == SCAN_WORD);
	node->kind = QUERY_PARAMETER;
	if (goes_on)
		sqlite_parser_advance(parser);
	parser->hides = true;
	parser->failed = parser->failed || (named && !goes_on);
	return node;
}

static struct query_node *operand(struct sqlite_parser *parser)
{
	bool quoted = parser->token.kind == SCAN_STRING && parser->sql.ptr[parser->token.offset] == '\'';
	if (quoted || at_string(parser))
		return literal(parser, "string", unquoted(parser));
	if (parser->token.kind == SCAN_STRING) /* x'00' */
		return literal(parser, "word", token_text(parser));
	if (parser->token.kind == SCAN_NUMBER)
		return literal(parser, "number", identifier_lower(token_text(parser), parser->arena));
	if (parser->token.kind == SCAN_PARAMETER || sqlite_parser_at(parser, ":") ||
	    sqlite_parser_at(parser, "@"))
		return parameter(parser);
	if (sqlite_parser_at(parser, "NULL"))
		return literal(parser, "null", STR("null"));
	if (parser->token.kind == SCAN_WORD &&
	    IDENTIFIER_IS_ANY(scan_name(parser->sql, parser->token), "current_date", "current_time",
			      "current_timestamp"))
		return literal(parser, "word", identifier_lower(token_text(parser), parser->arena));
	if (sqlite_parser_at(parser, "("))
		return brackets(parser);
	if (sqlite_parser_at(parser, "CASE"))
		return case_expression(parser);
	if (sqlite_parser_at(parser, "CAST"))
		return cast(parser);
	if (sqlite_parser_take(parser, "EXISTS"))
		return subquery(parser, QUERY_EXISTS);
	return name(parser);
}

static struct query_node *prefixed(struct sqlite_parser *parser)
{
	static const char *const signs[] = { "-", "+", "~" };
	struct query_node *node = sqlite_parser_node(parser, QUERY_OPERATION);
	if (sqlite_parser_take(parser, "NOT")) {
		node->op = "not";
		query_append(node, parse(parser, PREC_EQUAL));
		return node;
	}
	for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
		if (!sqlite_parser_take(parser, signs[i]))
			continue;
		node->op = signs[i];
		query_append(node, parse(parser, PREC_SIGN));
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

static bool is_pattern(const struct operator_ *found)
{
	return found->precedence == PREC_EQUAL && isalpha((unsigned char)found->text[0]);
}

/* A chain of AND or OR is one node with all operands, in brackets or not. */
static void append_operand(struct query_node *chain, struct query_node *operand)
{
	bool flat = chain->op[0] == 'a' || chain->op[0] == 'o';
	if (!flat || operand->kind != QUERY_OPERATION || strcmp(operand->op, chain->op) != 0) {
		query_append(chain, operand);
		return;
	}
	for (struct query_node *part = operand->first, *next; part; part = next) {
		next = part->next;
		part->next = NULL;
		query_append(chain, part);
	}
}

static struct query_node *binary(struct sqlite_parser *parser, struct query_node *left, bool negated,
				 const struct operator_ *found)
{
	struct query_node *node =
		sqlite_parser_node(parser, is_pattern(found) ? QUERY_LIKE : QUERY_OPERATION);
	node->op = found->name;
	node->flag = negated;
	skip_operator(parser, found);
	append_operand(node, left);
	append_operand(node, parse(parser, found->precedence + 1));
	if (is_pattern(found) && sqlite_parser_take(parser, "ESCAPE"))
		query_append(node, parse(parser, PREC_LESS));
	return node;
}

static struct query_node *null_test(struct sqlite_parser *parser, struct query_node *left, bool negated)
{
	struct query_node *node = sqlite_parser_wrap(parser, QUERY_IS, left);
	node->op = "null";
	node->flag = negated;
	return node;
}

/* IS [NOT] [DISTINCT FROM] */
static struct query_node *is(struct sqlite_parser *parser, struct query_node *left)
{
	struct query_node *node = sqlite_parser_node(parser, QUERY_OPERATION);
	sqlite_parser_advance(parser);
	bool negated = sqlite_parser_take(parser, "NOT");
	if (sqlite_parser_take(parser, "DISTINCT")) {
		sqlite_parser_expect(parser, "FROM");
		negated = !negated;
	}
	struct query_node *right = parse(parser, PREC_LESS);
	if (query_is_literal(right, "null"))
		return null_test(parser, left, negated);
	node->op = "<=>";
	query_append(node, left);
	query_append(node, right);
	if (!negated)
		return node;
	struct query_node *not = sqlite_parser_wrap(parser, QUERY_OPERATION, node);
	not ->op = "not";
	return not ;
}

static struct query_node *between(struct sqlite_parser *parser, struct query_node *left, bool negated)
{
	struct query_node *node = sqlite_parser_node(parser, QUERY_BETWEEN);
	sqlite_parser_advance(parser);
	node->flag = negated;
	query_append(node, left);
	query_append(node, parse(parser, PREC_NOT));
	sqlite_parser_expect(parser, "AND");
	query_append(node, parse(parser, PREC_LESS));
	return node;
}

static struct query_node *in(struct sqlite_parser *parser, struct query_node *left, bool negated)
{
	struct query_node *node = sqlite_parser_node(parser, QUERY_IN);
	struct query_node *set = sqlite_parser_node(parser, QUERY_ROW);
	sqlite_parser_advance(parser);
	node->flag = negated;
	query_append(node, left);
	sqlite_parser_expect(parser, "("); /* else the name of a table */
	if (sqlite_parser_at_select(parser)) {
		set->kind = QUERY_SUBQUERY;
		query_append(set, sqlite_parser_select(parser));
	} else if (!sqlite_parser_at(parser, ")")) {
		sqlite_parser_expressions(parser, set);
	}
	sqlite_parser_expect(parser, ")");
	query_append(node, set);
	return node;
}

/* What follows an operand at the level of comparisons with words; NULL: nothing of that. */
static struct query_node *word_operator(struct sqlite_parser *parser, struct query_node *left)
{
	struct sqlite_parser before = *parser;
	if (sqlite_parser_at(parser, "IS"))
		return is(parser, left);
	if (sqlite_parser_take(parser, "ISNULL"))
		return null_test(parser, left, false);
	bool negated = sqlite_parser_take(parser, "NOT");
	if (sqlite_parser_take(parser, negated ? "NULL" : "NOTNULL"))
		return null_test(parser, left, true);
	if (sqlite_parser_at(parser, "BETWEEN"))
		return between(parser, left, negated);
	if (sqlite_parser_at(parser, "IN"))
		return in(parser, left, negated);
	const struct operator_ *found = negated ? operator_at(parser) : NULL;
	if (found && is_pattern(found))
		return binary(parser, left, true, found);
	*parser = before;
	return NULL;
}

static struct query_node *parse(struct sqlite_parser *parser, int least)
{
	if (parser->failed || ++parser->depth > SQLITE_PARSER_DEPTH) {
		parser->failed = true;
		return literal(parser, "null", STR(""));
	}
	struct query_node *left = prefixed(parser);
	while (!parser->failed) {
		struct query_node *more = least <= PREC_EQUAL ? word_operator(parser, left) : NULL;
		const struct operator_ *found = more ? NULL : operator_at(parser);
		if (more) {
			left = more;
		} else if (found && found->precedence >= least) {
			left = binary(parser, left, false, found);
		} else if (least <= PREC_COLLATE && sqlite_parser_take(parser, "COLLATE")) {
			left = sqlite_parser_wrap(parser, QUERY_COLLATE, left);
			left->name = sqlite_parser_name(parser);
		} else {
			break;
		}
	}
	parser->depth--;
	return left;
}

struct query_node *sqlite_parser_expression(struct sqlite_parser *parser)
{
	return parse(parser, PREC_OR);
}
