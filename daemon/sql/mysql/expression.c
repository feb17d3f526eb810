#include "sql/mysql/grammar.h"

/* Operators by level, loosest first; each level is left-associative. */
static const char *const or_words[] = { "or", "||", NULL };
static const char *const xor_words[] = { "xor", NULL };
static const char *const and_words[] = { "and", "&&", NULL };
static const char *const bit_or[] = { "|", NULL };
static const char *const bit_and[] = { "&", NULL };
static const char *const shift[] = { "<<", ">>", NULL };
static const char *const additive[] = { "+", "-", NULL };
static const char *const multiplicative[] = { "*", "/", "%", "div", "mod", NULL };
static const char *const power[] = { "^", NULL };
static const char *const comparisons[] = { "=", "<=>", ">=", ">", "<=", "<", "<>", "!=", NULL };

static const char *const *const bit_levels[] = { bit_or, bit_and, shift, additive, multiplicative, power };
#define BIT_LEVELS (sizeof bit_levels / sizeof bit_levels[0])

static struct query_node *operation(struct mysql_parser *parser, const char *op, struct query_node *left,
				    struct query_node *right)
{
	struct query_node *node = mysql_wrap(parser, QUERY_OPERATION, left);
	node->op = op;
	mysql_append(parser, node, right);
	return node;
}

/* OR and AND have one name each. */
static const char *plain_name(const char *op)
{
	if (strcmp(op, "&&") == 0)
		return "and";
	if (strcmp(op, "||") == 0)
		return "or";
	return strcmp(op, "!=") == 0 ? "<>" : op;
}

static struct query_node *bit_level(struct mysql_parser *parser, size_t level)
{
	if (level == BIT_LEVELS)
		return mysql_simple_expression(parser);
	struct query_node *left = bit_level(parser, level + 1);
	const char *op;
	while ((op = mysql_accept_any(parser, bit_levels[level])) != NULL)
		left = operation(parser, op, left, bit_level(parser, level + 1));
	return left;
}

struct query_node *mysql_bit_expression(struct mysql_parser *parser)
{
	return bit_level(parser, 0);
}

static struct query_node *in_list(struct mysql_parser *parser, struct query_node *left)
{
	struct query_node *node = mysql_wrap(parser, QUERY_IN, left);
	if (mysql_at_query(parser, 0)) {
		mysql_append(parser, node, mysql_wrap(parser, QUERY_SUBQUERY, mysql_bracketed_query(parser)));
		return mysql_done(parser, node);
	}
	mysql_expect(parser, "(");
	struct query_node *row = mysql_new(parser, QUERY_ROW);
	mysql_expressions(parser, row);
	mysql_expect(parser, ")");
	mysql_append(parser, node, row);
	return mysql_done(parser, node);
}

static struct query_node *between(struct mysql_parser *parser, struct query_node *left)
{
	struct query_node *node = mysql_wrap(parser, QUERY_BETWEEN, left);
	mysql_append(parser, node, mysql_bit_expression(parser));
	mysql_expect(parser, "and");
	mysql_append(parser, node, mysql_bit_expression(parser));
	return node;
}

static struct query_node *like(struct mysql_parser *parser, struct query_node *left, const char *op)
{
	struct query_node *node = mysql_wrap(parser, QUERY_LIKE, left);
	bool pattern = strcmp(op, "like") == 0;
	node->op = op;
	mysql_append(parser, node, mysql_bit_expression(parser));
	if (pattern && mysql_accept(parser, "escape"))
		mysql_append(parser, node, mysql_simple_expression(parser));
	return node;
}

static struct query_node *member_of(struct mysql_parser *parser, struct query_node *left)
{
	mysql_expect(parser, "(");
	struct query_node *node = operation(parser, "member of", left, mysql_simple_expression(parser));
	mysql_expect(parser, ")");
	return mysql_done(parser, node);
}

/* One of IN, BETWEEN, LIKE, REGEXP behind the left side; NULL: none stands here. */
static struct query_node *predicate_tail(struct mysql_parser *parser, struct query_node *left)
{
	bool negated = mysql_at(parser, 0, "not");
	size_t ahead = negated;
	static const char *const words[] = { "in", "between", "like", "regexp", "rlike", NULL };
	size_t which = 0;
	while (words[which] && !mysql_at(parser, ahead, words[which]))
		which++;
	if (!words[which]) {
		if (!negated && mysql_at(parser, 0, "sounds") && mysql_at(parser, 1, "like")) {
			parser->at += 2;
			return like(parser, left, "sounds like");
		}
		if (!negated && mysql_at(parser, 0, "member") && mysql_at(parser, 1, "of")) {
			parser->at += 2;
			return member_of(parser, left);
		}
		return NULL;
	}
	parser->at += ahead + 1;
	struct query_node *node = which == 0   ? in_list(parser, left)
				  : which == 1 ? between(parser, left)
					       : like(parser, left, which == 2 ? "like" : "regexp");
	node->flag = negated;
	return node;
}

static struct query_node *predicate(struct mysql_parser *parser)
{
	struct query_node *left = mysql_bit_expression(parser);
	struct query_node *whole;
	while ((whole = predicate_tail(parser, left)) != NULL)
		left = whole;
	return left;
}

static struct query_node *is_test(struct mysql_parser *parser, struct query_node *left)
{
	static const char *const words[] = { "null", "true", "false", "unknown", NULL };
	struct query_node *node = mysql_wrap(parser, QUERY_IS, left);
	node->flag = mysql_accept(parser, "not");
	node->op = mysql_accept_any(parser, words);
	if (!node->op)
		mysql_fail(parser, "syntax error");
	return mysql_done(parser, node);
}

static struct query_node *compared(struct mysql_parser *parser, const char *op, struct query_node *left)
{
	bool all = mysql_at(parser, 0, "all");
	bool any = mysql_at(parser, 0, "any") || mysql_at(parser, 0, "some");
	if ((!all && !any) || !mysql_at(parser, 1, "("))
		return operation(parser, plain_name(op), left, predicate(parser));
	parser->at++;
	struct query_node *node = mysql_wrap(parser, QUERY_QUANTIFIED, left);
	node->op = plain_name(op);
	node->name = all ? STR("all") : STR("any");
	mysql_append(parser, node, mysql_wrap(parser, QUERY_SUBQUERY, mysql_bracketed_query(parser)));
	return mysql_done(parser, node);
}

static struct query_node *comparison(struct mysql_parser *parser)
{
	struct query_node *left = predicate(parser);
	for (;;) {
		const char *op = mysql_accept_any(parser, comparisons);
		if (op)
			left = compared(parser, op, left);
		else if (mysql_accept(parser, "is"))
			left = is_test(parser, left);
		else
			return left;
	}
}

static struct query_node *negation(struct mysql_parser *parser)
{
	if (!mysql_at(parser, 0, "not"))
		return comparison(parser);
	struct query_node *node = mysql_new(parser, QUERY_OPERATION);
	parser->at++;
	node->op = "not";
	if (mysql_enter(parser)) {
		mysql_append(parser, node, negation(parser));
		mysql_leave(parser);
	}
	return node;
}

/* Chains of AND, OR and XOR are flat: one node with all operands. */
static struct query_node *chain(struct mysql_parser *parser, const char *const *words,
				struct query_node *(*next)(struct mysql_parser *))
{
	struct query_node *left = next(parser);
	struct query_node *node = NULL;
	const char *op;
	while ((op = mysql_accept_any(parser, words)) != NULL) {
		if (!node) {
			node = mysql_wrap(parser, QUERY_OPERATION, left);
			node->op = plain_name(op);
		}
		mysql_append(parser, node, next(parser));
	}
	return node ? node : left;
}

static struct query_node *conjunction(struct mysql_parser *parser)
{
	return chain(parser, and_words, negation);
}

static struct query_node *exclusion(struct mysql_parser *parser)
{
	return chain(parser, xor_words, conjunction);
}

struct query_node *mysql_expression(struct mysql_parser *parser)
{
	if (!mysql_enter(parser))
		return mysql_new(parser, QUERY_LITERAL);
	struct query_node *node = chain(parser, or_words, exclusion);
	mysql_leave(parser);
	return node;
}

void mysql_expressions(struct mysql_parser *parser, struct query_node *parent)
{
	do {
		mysql_append(parser, parent, mysql_expression(parser));
	} while (mysql_accept(parser, ","));
	mysql_done(parser, parent);
}

static struct query_node *prefixed(struct mysql_parser *parser, const char *op)
{
	struct query_node *node = mysql_new(parser, QUERY_OPERATION);
	node->op = op;
	parser->at++;
	if (mysql_enter(parser)) {
		mysql_append(parser, node, mysql_simple_expression(parser));
		mysql_leave(parser);
	}
	return node;
}

struct query_node *mysql_simple_expression(struct mysql_parser *parser)
{
	static const char *const prefixes[] = { "-", "+", "~", "!", "binary", NULL };
	const char *prefix = mysql_at_any(parser, 0, prefixes);
	if (prefix)
		return prefixed(parser, prefix);
	struct query_node *node = mysql_atom(parser);
	while (mysql_accept(parser, "collate")) {
		node = mysql_wrap(parser, QUERY_COLLATE, node);
		node->name = mysql_at(parser, 0, "binary") ? parser->tokens.items[parser->at++].value
							   : mysql_take_name(parser);
		(void)mysql_done(parser, node);
	}
	return node;
}
