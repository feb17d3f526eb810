#include "sql/sqlite/bombs.h"

#include "sql/query/bomb_limits.h"

#include <math.h>

/* A WITH query that is counted, innermost first. */
struct seen {
	const struct query_node *cte;
	double rows;
	const struct seen *outer;
};

struct count {
	struct violations *violations;
	const struct seen *seen;
	bool check_ends; /* recursions have to come to an end by what is found here */
	bool found;
};

static double select_rows(struct count *count, const struct query_node *query);

static bool reads_itself(const struct query_node *node, const struct query_node *cte)
{
	if (node->kind == QUERY_RELATION && node->range->maker == cte)
		return true;
	for (const struct query_node *child = node->first; child; child = child->next)
		if (reads_itself(child, cte))
			return true;
	return false;
}

/* Value of a number in plain digits; false: it is anything else. */
static bool plain_number(const struct query_node *node, double *ret_value)
{
	if (!node || node->kind != QUERY_LITERAL || strcmp(node->op, "number") != 0)
		return false;
	*ret_value = strtod(node->name.ptr, NULL);
	return true;
}

static bool is_operation(const struct query_node *node, const char *op)
{
	return node->kind == QUERY_OPERATION && strcmp(node->op, op) == 0;
}

static bool has_data(const struct query_node *node)
{
	if (node->kind == QUERY_COLUMN || node->kind == QUERY_PARAMETER || node->kind == QUERY_EXPRESSION)
		return true;
	for (const struct query_node *child = node->first; child; child = child->next)
		if (has_data(child))
			return true;
	return false;
}

static bool is_comparison(const struct query_node *node)
{
	static const char *const operators[] = { "<", "<=", ">", ">=", "=", "<=>" };
	for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
		if (is_operation(node, operators[i]))
			return true;
	return false;
}

/* The least number that a condition, joined by AND, holds a column against. */
static void find_levels(const struct query_node *condition, double *levels)
{
	double value;
	const struct query_node *side = is_comparison(condition)	   ? condition->first
					: condition->kind == QUERY_BETWEEN ? condition->last
									   : NULL;
	for (; side; side = side->next)
		if (plain_number(side, &value))
			*levels = fmin(*levels, value);
	for (side = is_operation(condition, "and") ? condition->first : NULL; side; side = side->next)
		find_levels(side, levels);
}

/* '-1 day' is one, too. */
static bool has_subtraction(const struct query_node *node)
{
	if (is_operation(node, "-") || (node->kind == QUERY_LITERAL && node->name.len > 0 &&
					strcmp(node->op, "string") == 0 && node->name.ptr[0] == '-'))
		return true;
	for (const struct query_node *child = node->first; child; child = child->next)
		if (child->kind != QUERY_EXPRESSION && has_subtraction(child))
			return true;
	return false;
}

static bool same_text(const struct query_node *a, const struct query_node *b)
{
	return a->kind == b->kind && str_equal(a->name, b->name) &&
	       (a->op == b->op || (a->op && b->op && strcmp(a->op, b->op) == 0));
}

/* `column < value` ends what counts up, `column > value` what counts down; between two columns data decides.
 */
static bool comparison_decides(const struct query_node *comparison, bool counts_down)
{
	bool first = has_data(comparison->first), second = has_data(comparison->last);
	bool equality = comparison->op[0] == '=' || strcmp(comparison->op, "<=>") == 0;
	if (first == second)
		return first && !same_text(comparison->first, comparison->last);
	return equality || (comparison->op[0] == '<') == first || counts_down;
}

/* A condition that some rows meet and others do not. */
static bool decides(const struct query_node *condition, bool counts_down)
{
	bool either = is_operation(condition, "or");
	if (either || is_operation(condition, "and")) {
		for (const struct query_node *part = condition->first; part; part = part->next)
			if (decides(part, counts_down) != either)
				return !either;
		return either;
	}
	if (is_operation(condition, "not") && is_operation(condition->first, "<=>"))
		condition = condition->first;
	if (is_comparison(condition))
		return comparison_decides(condition, counts_down);
	bool unary = condition->kind == QUERY_OPERATION && condition->first == condition->last;
	return condition->kind != QUERY_COLUMN && !unary && !is_operation(condition, "<>") &&
	       has_data(condition);
}

static bool joins_end(const struct query_node *node, bool counts_down)
{
	const struct query_node *on = query_child(node, QUERY_ON);
	if ((on && decides(on->first, counts_down)) || query_child(node, QUERY_USING) ||
	    (node->kind == QUERY_JOIN && node->op[0] == 'n'))
		return true;
	for (const struct query_node *child = node->first; child; child = child->next)
		if (child->kind == QUERY_JOIN && joins_end(child, counts_down))
			return true;
	return false;
}

static bool select_ends(const struct query_node *select)
{
	const struct query_node *where = query_child(select, QUERY_WHERE);
	bool counts_down = has_subtraction(query_child(select, QUERY_ITEMS));
	return joins_end(query_child(select, QUERY_FROM), counts_down) ||
	       (where && decides(where->first, counts_down));
}

/* Elements of a document that the text itself holds. */
static double document_rows(const struct query_node *document)
{
	return document && !has_data(document) ? fmax(sqlite_text_size(document) / 2, 1) : 1;
}

/* Rows of FROM, or of an item or a join in it. */
static double from_rows(struct count *count, const struct query_node *node)
{
	const struct query_node *query = query_child(node, QUERY_EXPRESSION);
	double rows = 1;
	if (node->kind == QUERY_DERIVED)
		return query ? select_rows(count, query) : document_rows(node->first);
	for (const struct seen *seen = node->kind == QUERY_RELATION ? count->seen : NULL; seen;
	     seen = seen->outer)
		if (node->range->maker == seen->cte)
			return seen->rows;
	for (const struct query_node *child = node->first; child; child = child->next)
		if (child->kind == QUERY_JOIN || query_is_item(child))
			rows *= from_rows(count, child);
	return rows;
}

/* Of expressions; those of FROM are counted with it. */
static void count_subqueries(struct count *count, const struct query_node *node)
{
	for (const struct query_node *child = node->first; child; child = child->next)
		if (child->kind == QUERY_EXPRESSION && node->kind != QUERY_DERIVED)
			(void)select_rows(count, child);
		else if (child->kind != QUERY_EXPRESSION)
			count_subqueries(count, child);
}

static void report(struct count *count, size_t offset, const char *reason)
{
	if (!count->found)
		violations_add(count->violations, VIOLATION_RESOURCE_BOMB, (int64_t)offset, "%s", reason);
	count->found = true;
}

static double body_rows(struct count *count, const struct query_node *body)
{
	const struct query_node *from = query_child(body, QUERY_FROM);
	double rows = body->kind == QUERY_SELECT;
	for (const struct query_node *child = body->kind != QUERY_SELECT ? body->first : NULL; child;
	     child = child->next)
		rows += child->kind == QUERY_ARM ? body_rows(count, child->first) : 1;
	if (body->kind == QUERY_SET)
		return rows;
	rows *= from ? from_rows(count, from) : 1;
	count_subqueries(count, body);
	if (rows >= BOMB_QUERY_ROWS)
		report(count, from ? from->offset : 0, "rows that multiply without end");
	return rows;
}

/* Rows of a WITH query; of one that reads itself: by the number that its counter is held against. */
static double cte_rows(struct count *count, const struct query_node *cte)
{
	const struct query_node *query = query_child(cte, QUERY_EXPRESSION), *body = query_body(query);
	const struct query_node *bound = query_child(query, QUERY_LIMIT);
	double each = 1, levels = INFINITY, limit = INFINITY;
	bool recursive = false;
	for (const struct query_node *arm = body->kind == QUERY_SET ? body->first : NULL; arm;
	     arm = arm->next) {
		const struct query_node *from = query_child(arm->first, QUERY_FROM);
		const struct query_node *where = query_child(arm->first, QUERY_WHERE);
		if (!from || !reads_itself(from, cte))
			continue;
		bool known = bound && plain_number(bound->first, &limit);
		bool hidden = bound && !known; /* below 0 there is none */
		if ((count->check_ends || hidden) && !(known && limit < BOMB_CALL_ROWS) &&
		    !select_ends(arm->first))
			report(count, query->offset, "recursion without a bound");
		recursive = true;
		if (where)
			find_levels(where->first, &levels);
		each *= from_rows(count, from);
	}
	if (!recursive)
		return select_rows(count, query);
	if (isinf(levels))
		return fmin(limit, 1);
	return fmin(limit, each < 2 ? fmax(levels, 1) : pow(each, levels));
}

static double with_rows(struct count *count, const struct query_node *query, const struct query_node *cte)
{
	const struct query_node *bound = query_child(query, QUERY_LIMIT);
	double limit;
	if (!cte) {
		double rows = body_rows(count, query_body(query));
		return bound && plain_number(bound->first, &limit) ? fmin(rows, limit) : rows;
	}
	struct seen seen = { cte, cte_rows(count, cte), count->seen };
	if (seen.rows >= BOMB_QUERY_ROWS)
		report(count, query_child(cte, QUERY_EXPRESSION)->offset, "a recursion of too many rows");
	count->seen = &seen;
	double rows = with_rows(count, query, cte->next);
	count->seen = seen.outer;
	return rows;
}

static double select_rows(struct count *count, const struct query_node *query)
{
	const struct query_node *with = query_child(query, QUERY_WITH);
	return with_rows(count, query, with ? with->first : NULL);
}

void sqlite_bombs_rows(const struct query_node *query, bool check_ends, struct violations *violations)
{
	struct count count = { violations, NULL, check_ends, false };
	(void)select_rows(&count, query);
}
