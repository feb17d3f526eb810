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

static struct mysql_node *operation(struct mysql_parser *parser, const char *op, struct mysql_node *left,
				    struct mysql_node *right)
{
	struct mysql_node *node = mysql_wrap(parser, MYSQL_OPERATION, left);
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

static struct mysql_node *bit_level(struct mysql_parser *parser, size_t level)
{
	if (level == BIT_LEVELS)
		return mysql_simple_expression(parser);
	struct mysql_node *left = bit_level(parser, level + 1);
	const char *op;
	while ((op = mysql_accept_any(parser, bit_levels[level])) != NULL)
		left = operation(parser, op, left, bit_level(parser, level + 1));
	return left;
}

struct mysql_node *mysql_bit_expression(struct mysql_parser *parser)
{
	return bit_level(parser, 0);
}

static struct mysql_node *in_list(struct mysql_parser *parser, struct mysql_node *left)
{
	struct mysql_node *node = mysql_wrap(parser, MYSQL_IN, left);
	if (mysql_at_query(parser, 0)) {
		mysql_append(parser, node, mysql_wrap(parser, MYSQL_SUBQUERY, mysql_bracketed_query(parser)));
		return mysql_done(parser, node);
	}
	mysql_expect(parser, "(");
	struct mysql_node *row = mysql_new(parser, MYSQL_ROW);
	mysql_expressions(parser, row);
	mysql_expect(parser, ")");
	mysql_append(parser, node, row);
	return mysql_done(parser, node);
}

static struct mysql_node *between(struct mysql_parser *parser, struct mysql_node *left)
{
	struct mysql_node *node = mysql_wrap(parser, MYSQL_BETWEEN, left);
	mysql_append(parser, node, mysql_bit_expression(parser));
	mysql_expect(parser, "and");
	mysql_append(parser, node, mysql_bit_expression(parser));
	return node;
}

static struct mysql_node *like(struct mysql_parser *parser, struct mysql_node *left, const char *op)
{
	struct mysql_node *node = mysql_wrap(parser, MYSQL_LIKE, left);
	bool pattern = strcmp(op, "like") == 0;
	node->op = op;
	mysql_append(parser, node, mysql_bit_expression(parser));
	if (pattern && mysql_accept(parser, "escape"))
		mysql_append(parser, node, mysql_simple_expression(parser));
	return node;
}

static struct mysql_node *member_of(struct mysql_parser *parser, struct mysql_node *left)
{
	mysql_expect(parser, "(");
	struct mysql_node *node = operation(parser, "member of", left, mysql_simple_expression(parser));
	mysql_expect(parser, ")");
	return mysql_done(parser, node);
}

/* One of IN, BETWEEN, LIKE, REGEXP behind the left side; NULL: none stands here. */
static struct mysql_node *predicate_tail(struct mysql_parser *parser, struct mysql_node *left)
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
	struct mysql_node *node = which == 0   ? in_list(parser, left)
				  : which == 1 ? between(parser, left)
					       : like(parser, left, which == 2 ? "like" : "regexp");
	node->flag = negated;
	return node;
}

static struct mysql_node *predicate(struct mysql_parser *parser)
{
	struct mysql_node *left = mysql_bit_expression(parser);
	struct mysql_node *whole;
	while ((whole = predicate_tail(parser, left)) != NULL)
		left = whole;
	return left;
}

static struct mysql_node *is_test(struct mysql_parser *parser, struct mysql_node *left)
{
	static const char *const words[] = { "null", "true", "false", "unknown", NULL };
	struct mysql_node *node = mysql_wrap(parser, MYSQL_IS, left);
	node->flag = mysql_accept(parser, "not");
	node->op = mysql_accept_any(parser, words);
	if (!node->op)
		mysql_fail(parser, "syntax error");
	return mysql_done(parser, node);
}

static struct mysql_node *compared(struct mysql_parser *parser, const char *op, struct mysql_node *left)
{
	bool all = mysql_at(parser, 0, "all");
	bool any = mysql_at(parser, 0, "any") || mysql_at(parser, 0, "some");
	if ((!all && !any) || !mysql_at(parser, 1, "("))
		return operation(parser, plain_name(op), left, predicate(parser));
	parser->at++;
	struct mysql_node *node = mysql_wrap(parser, MYSQL_QUANTIFIED, left);
	node->op = plain_name(op);
	node->name = all ? STR("all") : STR("any");
	mysql_append(parser, node, mysql_wrap(parser, MYSQL_SUBQUERY, mysql_bracketed_query(parser)));
	return mysql_done(parser, node);
}

static struct mysql_node *comparison(struct mysql_parser *parser)
{
	struct mysql_node *left = predicate(parser);
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

static struct mysql_node *negation(struct mysql_parser *parser)
{
	if (!mysql_at(parser, 0, "not"))
		return comparison(parser);
	struct mysql_node *node = mysql_new(parser, MYSQL_OPERATION);
	parser->at++;
	node->op = "not";
	if (mysql_enter(parser)) {
		mysql_append(parser, node, negation(parser));
		mysql_leave(parser);
	}
	return node;
}

/* Chains of AND, OR and XOR are flat: one node with all operands. */
static struct mysql_node *chain(struct mysql_parser *parser, const char *const *words,
				struct mysql_node *(*next)(struct mysql_parser *))
{
	struct mysql_node *left = next(parser);
	struct mysql_node *node = NULL;
	const char *op;
	while ((op = mysql_accept_any(parser, words)) != NULL) {
		if (!node) {
			node = mysql_wrap(parser, MYSQL_OPERATION, left);
			node->op = plain_name(op);
		}
		mysql_append(parser, node, next(parser));
	}
	return node ? node : left;
}

static struct mysql_node *conjunction(struct mysql_parser *parser)
{
	return chain(parser, and_words, negation);
}

static struct mysql_node *exclusion(struct mysql_parser *parser)
{
	return chain(parser, xor_words, conjunction);
}

struct mysql_node *mysql_expression(struct mysql_parser *parser)
{
	if (!mysql_enter(parser))
		return mysql_new(parser, MYSQL_LITERAL);
	struct mysql_node *node = chain(parser, or_words, exclusion);
	mysql_leave(parser);
	return node;
}

void mysql_expressions(struct mysql_parser *parser, struct mysql_node *parent)
{
	do {
		mysql_append(parser, parent, mysql_expression(parser));
	} while (mysql_accept(parser, ","));
	mysql_done(parser, parent);
}

static struct mysql_node *prefixed(struct mysql_parser *parser, const char *op)
{
	struct mysql_node *node = mysql_new(parser, MYSQL_OPERATION);
	node->op = op;
	parser->at++;
	if (mysql_enter(parser)) {
		mysql_append(parser, node, mysql_simple_expression(parser));
		mysql_leave(parser);
	}
	return node;
}

struct mysql_node *mysql_simple_expression(struct mysql_parser *parser)
{
	static const char *const prefixes[] = { "-", "+", "~", "!", "binary", NULL };
	for (size_t i = 0; prefixes[i]; i++)
		if (mysql_at(parser, 0, prefixes[i]))
			return prefixed(parser, prefixes[i]);
	struct mysql_node *node = mysql_atom(parser);
	while (mysql_accept(parser, "collate")) {
		node = mysql_wrap(parser, MYSQL_COLLATE, node);
		node->name = mysql_at(parser, 0, "binary") ? parser->tokens.items[parser->at++].value
							   : mysql_take_name(parser);
		(void)mysql_done(parser, node);
	}
	return node;
}
