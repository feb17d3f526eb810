#include "sql/mysql_safety.h"

#include <ctype.h>
#include <math.h>
#include <strings.h>

#define BOMB_BYTES    1e6
#define BOMB_ROWS     1e6
#define SYSTEM_TABLES 3 /* of the server's own, joined without any condition */

static void bomb(struct mysql_safety *safety, const struct mysql_node *node, const char *reason)
{
	violations_add(safety->violations, VIOLATION_RESOURCE_BOMB, (int64_t)node->offset, "%s", reason);
}

/* Largest value that a tree of constants can have; INFINITY when it cannot be told, and −1 when columns or
 * parameters take part: those are bounded by what the tables hold. */
static double largest(const struct mysql_node *node);

static double combined(const char *op, double left, double right)
{
	switch (op[0]) {
	case '+':
		return left + right;
	case '-':
		return left + fabs(right); /* never less than it is */
	case '*':
		return left * right;
	case '/':
		return left / fmax(fabs(right), 1e-9);
	case '%':
	case 'm':
		return right;
	default:
		return INFINITY;
	}
}

static bool is_text(const struct mysql_node *node)
{
	return node->op && strcmp(node->op, "string") == 0;
}

static double largest_literal(const struct mysql_node *node)
{
	if (!node->op)
		return INFINITY;
	if (strcmp(node->op, "number") == 0 || is_text(node))
		return fabs(strtod(node->name.ptr, NULL));
	if (strcmp(node->op, "hex") == 0 || strcmp(node->op, "0x") == 0)
		return ldexp(1, 4 * (int)fmin((double)node->name.len, 16));
	if (strcmp(node->op, "bits") == 0 || strcmp(node->op, "0b") == 0)
		return ldexp(1, (int)fmin((double)node->name.len, 64));
	return 1;
}

static bool has_column(const struct mysql_node *node)
{
	if (node->kind == MYSQL_COLUMN || node->kind == MYSQL_PARAMETER)
		return true;
	for (const struct mysql_node *child = node->first; child; child = child->next)
		if (has_column(child))
			return true;
	return false;
}

static double largest(const struct mysql_node *node)
{
	if (node->kind == MYSQL_LITERAL)
		return largest_literal(node);
	if (node->kind == MYSQL_OPERATION && node->first && node->first->next && !node->first->next->next) {
		double left = largest(node->first), right = largest(node->first->next);
		return left < 0 || right < 0 ? -1 : combined(node->op, left, right);
	}
	if (node->kind == MYSQL_OPERATION && node->op[0] == '-' && node->first)
		return largest(node->first);
	return has_column(node) ? -1 : INFINITY;
}

/* Rough length of a text that an expression builds; what is nested deeper than this counts little. */
static double length_of(const struct mysql_node *node, unsigned depth)
{
	double own = node->kind == MYSQL_LITERAL ? (double)node->name.len : 1;
	if (depth == 16 || !node->first)
		return own;
	double first = length_of(node->first, depth + 1);
	bool sized = node->kind == MYSQL_CALL && node->first->next;
	double times = sized ? fmax(largest(node->first->next), 1) : 1;
	if (sized && mysql_is(node->name, "repeat"))
		return first * times;
	if (sized && (mysql_is(node->name, "lpad") || mysql_is(node->name, "rpad")))
		return first + times;
	for (const struct mysql_node *child = node->first->next; child; child = child->next)
		own += length_of(child, depth + 1);
	return own + first;
}

void mysql_bombs_call(struct mysql_safety *safety, const struct mysql_node *call)
{
	bool space = mysql_is(call->name, "space") || mysql_is(call->name, "random_bytes");
	bool sized = mysql_is(call->name, "repeat") || mysql_is(call->name, "lpad") ||
		     mysql_is(call->name, "rpad");
	if ((!space && !sized) || !call->first)
		return;
	const struct mysql_node *size = space ? call->first : call->first->next;
	if (size && (largest(size) >= BOMB_BYTES || (sized && length_of(call, 0) >= BOMB_BYTES)))
		bomb(safety, call, "a text of a size that is huge or not known");
}

void mysql_bombs_cast(struct mysql_safety *safety, const struct mysql_node *cast)
{
	if (cast->size >= BOMB_BYTES)
		bomb(safety, cast, "a type of a huge length");
}

/* Reads `prefix` and the number behind it; false: they do not stand at `*at`. */
static bool take_number(const char **at, const char *prefix, double *ret_value)
{
	size_t len = strlen(prefix);
	if (strncasecmp(*at, prefix, len) != 0 || !isdigit((unsigned char)(*at)[len]))
		return false;
	char *end;
	*ret_value = strtod(*at + len, &end);
	*at = end;
	return true;
}

/* seq_1_to_1000000, seq_1_to_1000000_step_2: tables that the sequence engine makes up. */
static double sequence_rows(str_t name)
{
	const char *at = str_present(name) ? name.ptr : "";
	double from, to, step = 1;
	if (!take_number(&at, "seq_", &from) || !take_number(&at, "_to_", &to))
		return 1;
	(void)take_number(&at, "_step_", &step);
	return fmax(fabs(to - from) / fmax(step, 1), 1);
}

void mysql_bombs_relation(struct mysql_safety *safety, const struct mysql_node *relation)
{
	double rows = sequence_rows(relation->name);
	safety->generated *= rows;
	if (rows > BOMB_ROWS || (rows > 1 && safety->generated > BOMB_ROWS))
		bomb(safety, relation, "a table that is made up of too many rows");
}

static bool has_condition(const struct mysql_node *node)
{
	if (node->kind == MYSQL_ON || node->kind == MYSQL_USING)
		return true;
	for (const struct mysql_node *child = node->first; child; child = child->next)
		if (child->kind == MYSQL_JOIN || child->kind == MYSQL_ON || child->kind == MYSQL_USING)
			if (has_condition(child))
				return true;
	return false;
}

static size_t system_tables(const struct mysql_node *node)
{
	size_t count = node->kind == MYSQL_RELATION && mysql_is(node->schema, "information_schema");
	for (const struct mysql_node *child = node->first; child; child = child->next)
		if (child->kind == MYSQL_JOIN || child->kind == MYSQL_RELATION)
			count += system_tables(child);
	return count;
}

void mysql_bombs_select(struct mysql_safety *safety, const struct mysql_node *select)
{
	const struct mysql_node *from = mysql_child(select, MYSQL_FROM);
	if (from && system_tables(from) >= SYSTEM_TABLES && !mysql_child(select, MYSQL_WHERE) &&
	    !has_condition(from))
		bomb(safety, from, "the server's own tables multiplied");
}

static bool reads_cte(const struct mysql_node *node, str_t name)
{
	if (node->kind == MYSQL_RELATION && !str_present(node->schema) && mysql_same(node->name, name))
		return true;
	for (const struct mysql_node *child = node->first; child; child = child->next)
		if (reads_cte(child, name))
			return true;
	return false;
}

static bool joins_relation(const struct mysql_node *node, str_t name)
{
	if (node->kind == MYSQL_RELATION)
		return !mysql_same(node->name, name) && !node->op;
	for (const struct mysql_node *child = node->first; child; child = child->next)
		if (child->kind == MYSQL_JOIN || child->kind == MYSQL_RELATION)
			if (joins_relation(child, name))
				return true;
	return false;
}

static bool has_subtraction(const struct mysql_node *node)
{
	if (node->kind == MYSQL_OPERATION && node->op[0] == '-')
		return true;
	for (const struct mysql_node *child = node->first; child; child = child->next)
		if (has_subtraction(child))
			return true;
	return false;
}

/* `column < number` ends what counts up, `column > number` what counts down. */
static bool comparison_limits(const struct mysql_node *comparison, const struct mysql_node *items)
{
	double left = largest(comparison->first), right = largest(comparison->last);
	if (left >= BOMB_ROWS || right >= BOMB_ROWS || strcmp(comparison->op, "<>") == 0)
		return false;
	if (strcmp(comparison->op, "=") == 0 || strcmp(comparison->op, "<=>") == 0)
		return true;
	bool upper = (comparison->op[0] == '<') == (right >= 0 || left < 0);
	return upper || (left < 0 && right < 0) || has_subtraction(items);
}

/* A part of a condition that holds for finitely many steps. */
static bool limits_steps(const struct mysql_node *condition, const struct mysql_node *items)
{
	if (condition->kind == MYSQL_OPERATION && strcmp(condition->op, "and") == 0) {
		for (const struct mysql_node *part = condition->first; part; part = part->next)
			if (limits_steps(part, items))
				return true;
		return false;
	}
	if (!has_column(condition))
		return false;
	static const char *const comparisons[] = { "<", "<=", ">", ">=", "=", "<=>", "<>" };
	for (size_t i = 0; i < sizeof comparisons / sizeof comparisons[0]; i++)
		if (condition->kind == MYSQL_OPERATION && strcmp(condition->op, comparisons[i]) == 0)
			return comparison_limits(condition, items);
	return condition->kind == MYSQL_IN || condition->kind == MYSQL_BETWEEN ||
	       condition->kind == MYSQL_CALL;
}

/* Whether an arm that reads its own query comes to an end. */
static bool arm_ends(const struct mysql_node *arm, str_t name)
{
	const struct mysql_node *select = mysql_child(arm, MYSQL_SELECT);
	if (!select)
		return false;
	const struct mysql_node *from = mysql_child(select, MYSQL_FROM);
	const struct mysql_node *where = mysql_child(select, MYSQL_WHERE);
	if (where && where->first && limits_steps(where->first, mysql_child(select, MYSQL_ITEMS)))
		return true;
	return from && joins_relation(from, name) && (where || has_condition(from));
}

void mysql_bombs_cte(struct mysql_safety *safety, const struct mysql_node *cte)
{
	const struct mysql_node *query = mysql_child(cte, MYSQL_QUERY);
	const struct mysql_node *set = mysql_child(query, MYSQL_SET);
	const struct mysql_node *limit = mysql_child(query, MYSQL_LIMIT);
	if (!set || (limit && largest(limit->first) < BOMB_ROWS))
		return;
	size_t recursive = 0;
	for (const struct mysql_node *arm = set->first; arm; arm = arm->next) {
		if (!reads_cte(arm, cte->name))
			continue;
		const struct mysql_node *from = mysql_child(mysql_child(arm, MYSQL_SELECT), MYSQL_FROM);
		recursive++;
		if (!arm_ends(arm, cte->name) ||
		    (recursive > 1 && !(from && joins_relation(from, cte->name)))) {
			bomb(safety, cte, "recursion without a bound");
			return;
		}
	}
}
