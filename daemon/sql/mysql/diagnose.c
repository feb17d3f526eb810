#include "sql/mysql/diagnose.h"

#include "sql/mysql/names.h"
#include "sql/mysql/safety.h"

struct diagnosis {
	str_t text;
	const struct sql_request *request;
	struct diagnostics *diagnostics;
};

static void risk(struct diagnosis *diagnosis, const char *sub_code, const struct mysql_node *node,
		 const char *message)
{
	str_t object = { diagnosis->text.ptr + node->offset, node->end - node->offset };
	diagnostics_add(diagnosis->diagnostics, DIAG_RISKY_PATTERN, sub_code, object, (int64_t)node->offset,
			"%s", message);
}

static bool is_null(const struct mysql_node *node)
{
	return node && node->kind == MYSQL_LITERAL && node->op && strcmp(node->op, "null") == 0;
}

static bool is_literal(const struct mysql_node *node, const char *kind)
{
	if (node->kind == MYSQL_OPERATION && node->first && !node->first->next && node->op[0] == '-')
		node = node->first;
	return node->kind == MYSQL_LITERAL && node->op && strcmp(node->op, kind) == 0;
}

static bool has_digit(str_t text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] >= '0' && text.ptr[i] <= '9')
			return true;
	return false;
}

/* Either is compared as a number then, and a text that begins with none is 0. */
static void check_pair(struct diagnosis *diagnosis, const struct mysql_node *operand,
		       const struct mysql_node *literal)
{
	const struct catalog_column *column =
		operand->kind == MYSQL_COLUMN ? mysql_range_column(operand->range, operand->name) : NULL;
	if (!column)
		return;
	bool number = column->category == TYPE_INTEGER || column->category == TYPE_NUMERIC;
	if (column->category == TYPE_TEXT && !str_is(column->type, "enum") && is_literal(literal, "number"))
		diagnostics_add(diagnosis->diagnostics, DIAG_TYPE_MISMATCH, NULL, operand->name,
				(int64_t)literal->offset,
				"the column `" STR_FMT
				"` of texts is compared with a number: texts that are no numbers count as 0",
				STR_ARG(operand->name));
	if (number && is_literal(literal, "string") && !has_digit(literal->name))
		diagnostics_add(diagnosis->diagnostics, DIAG_TYPE_MISMATCH, NULL, operand->name,
				(int64_t)literal->offset,
				"the column `" STR_FMT
				"` of numbers is compared with a text that is no number, which counts as 0",
				STR_ARG(operand->name));
}

static bool compares(const struct mysql_node *node)
{
	static const char *const operators[] = { "=", "<>", "<", ">", "<=", ">=", "<=>" };
	for (size_t i = 0; node->kind == MYSQL_OPERATION && i < sizeof operators / sizeof operators[0]; i++)
		if (strcmp(node->op, operators[i]) == 0)
			return node->first && node->first->next;
	return false;
}

static void check_types(struct diagnosis *diagnosis, const struct mysql_node *node)
{
	if (compares(node)) {
		check_pair(diagnosis, node->first, node->last);
		check_pair(diagnosis, node->last, node->first);
	}
	const struct mysql_node *listed = node->kind == MYSQL_BETWEEN ? node->first->next
					  : node->kind == MYSQL_IN && node->last->kind == MYSQL_ROW
						  ? node->last->first
						  : NULL;
	for (; listed; listed = listed->next)
		check_pair(diagnosis, node->first, listed);
}

/* OR between texts was meant to join them. */
static void check_pipes(struct diagnosis *diagnosis, const struct mysql_node *node)
{
	if (node->kind == MYSQL_OPERATION && strcmp(node->op, "or") == 0 && node->first && node->last &&
	    (is_literal(node->first, "string") || is_literal(node->last, "string")))
		diagnostics_add(
			diagnosis->diagnostics, DIAG_TYPE_MISMATCH, NULL, STR("||"), (int64_t)node->offset,
			"|| is OR here, and a text is no condition; texts are joined by CONCAT(…, …)");
}

static void check_expression(struct diagnosis *diagnosis, const struct mysql_node *node)
{
	check_types(diagnosis, node);
	check_pipes(diagnosis, node);
	if (node->kind == MYSQL_OPERATION && (strcmp(node->op, "=") == 0 || strcmp(node->op, "<>") == 0) &&
	    (is_null(node->first) || is_null(node->last)))
		risk(diagnosis, "equals_null", node, "nothing equals NULL; use IS NULL or IS NOT NULL");
	if (node->kind == MYSQL_LIKE && strcmp(node->op, "like") == 0) {
		const struct mysql_node *pattern = node->first->next;
		if (pattern->kind == MYSQL_LITERAL && pattern->op && strcmp(pattern->op, "string") == 0 &&
		    pattern->name.len > 1 && pattern->name.ptr[0] == '%')
			risk(diagnosis, "leading_wildcard", node,
			     "a pattern that starts with a wildcard cannot use an index");
	}
}

/* Whether an aggregate stands there, outside of subqueries. */
static bool aggregates(const struct mysql_node *node)
{
	if (mysql_is_aggregate(node))
		return true;
	for (const struct mysql_node *child = node->first; child; child = child->next)
		if (child->kind != MYSQL_QUERY && aggregates(child))
			return true;
	return false;
}

static bool body_bounded(const struct mysql_node *body);

static bool query_bounded(const struct mysql_node *query)
{
	const struct mysql_node *with = mysql_child(query, MYSQL_WITH);
	return mysql_child(query, MYSQL_LIMIT) || body_bounded(with ? with->next : query->first);
}

/* Aggregated, or made of rows that the text itself lists. */
static bool body_bounded(const struct mysql_node *body)
{
	switch (body->kind) {
	case MYSQL_SELECT: {
		const struct mysql_node *from = mysql_child(body, MYSQL_FROM);
		return !from || (from->first == from->last && from->first->op) ||
		       mysql_child(body, MYSQL_GROUP) || aggregates(mysql_child(body, MYSQL_ITEMS));
	}
	case MYSQL_SET:
		for (const struct mysql_node *arm = body->first; arm; arm = arm->next)
			if (!body_bounded(arm->first))
				return false;
		return true;
	case MYSQL_QUERY:
		return query_bounded(body);
	case MYSQL_VALUES:
		return true;
	default:
		return false;
	}
}

static bool reads_relation(const struct mysql_node *node)
{
	if (node->kind == MYSQL_RELATION)
		return node->range && node->range->kind == MYSQL_RANGE_RELATION;
	for (const struct mysql_node *child = node->first; child; child = child->next)
		if (child->kind != MYSQL_QUERY && reads_relation(child))
			return true;
	return false;
}

static void check_star(struct diagnosis *diagnosis, const struct mysql_node *select)
{
	const struct mysql_node *from = mysql_child(select, MYSQL_FROM);
	for (const struct mysql_node *item = mysql_child(select, MYSQL_ITEMS)->first; item;
	     item = item->next) {
		if (item->kind != MYSQL_STAR || !from)
			continue;
		bool relation =
			item->range ? item->range->kind == MYSQL_RANGE_RELATION : reads_relation(from);
		if (relation)
			diagnostics_add(diagnosis->diagnostics, DIAG_RISKY_PATTERN, "select_star", STR("*"),
					(int64_t)item->offset,
					"name the columns that are needed instead of *");
	}
}

/* Tables of one FROM in groups that conditions join. */
struct product {
	const struct mysql_range *ranges[MYSQL_MAX_TABLES];
	size_t group[MYSQL_MAX_TABLES];
	size_t count;
	bool unsure;
};

static void merge(struct product *product, size_t a, size_t b)
{
	size_t from = product->group[a], to = product->group[b];
	for (size_t i = 0; i < product->count; i++)
		if (product->group[i] == from)
			product->group[i] = to;
}

static void add_ranges(struct product *product, const struct mysql_node *node)
{
	if (node->kind == MYSQL_RELATION || node->kind == MYSQL_DERIVED) {
		if (!node->range || product->count == MYSQL_MAX_TABLES || node->flag) {
			product->unsure = true;
			return;
		}
		const struct mysql_node *query = mysql_child(node, MYSQL_QUERY);
		if (query && query_bounded(query))
			product->unsure = true; /* it may well be one row */
		product->ranges[product->count] = node->range;
		product->group[product->count] = product->count;
		product->count++;
		return;
	}
	if (node->kind == MYSQL_USING || (node->kind == MYSQL_JOIN && node->op[0] == 'n'))
		product->unsure = true;
	for (const struct mysql_node *child = node->first; child; child = child->next)
		if (child->kind != MYSQL_ON)
			add_ranges(product, child);
}

/* Joins all tables that a condition speaks of; columns that are not resolved may be of any. */
static void join_mentioned(struct product *product, const struct mysql_node *node, size_t *first)
{
	if (node->kind == MYSQL_COLUMN && !node->range)
		product->unsure = true;
	for (size_t i = 0; node->kind == MYSQL_COLUMN && i < product->count; i++) {
		if (product->ranges[i] != node->range)
			continue;
		if (*first < product->count)
			merge(product, i, *first);
		*first = i;
	}
	for (const struct mysql_node *child = node->first; child; child = child->next)
		join_mentioned(product, child, first);
}

static void join_conditions(struct product *product, const struct mysql_node *node)
{
	if (node->kind == MYSQL_OPERATION && strcmp(node->op, "and") == 0) {
		for (const struct mysql_node *part = node->first; part; part = part->next)
			join_conditions(product, part);
		return;
	}
	size_t first = SIZE_MAX;
	join_mentioned(product, node, &first);
}

static void join_by_on(struct product *product, const struct mysql_node *node)
{
	for (const struct mysql_node *child = node->first; child; child = child->next) {
		if (child->kind == MYSQL_ON)
			join_conditions(product, child->first);
		else if (child->kind == MYSQL_JOIN)
			join_by_on(product, child);
	}
}

static void check_product(struct diagnosis *diagnosis, const struct mysql_node *select)
{
	const struct mysql_node *from = mysql_child(select, MYSQL_FROM);
	const struct mysql_node *where = mysql_child(select, MYSQL_WHERE);
	struct product product = { 0 };
	if (!from)
		return;
	add_ranges(&product, from);
	join_by_on(&product, from);
	if (where)
		join_conditions(&product, where->first);
	for (size_t i = 1; i < product.count && !product.unsure; i++)
		if (product.group[i] != product.group[0]) {
			diagnostics_add(diagnosis->diagnostics, DIAG_RISKY_PATTERN, "cartesian_product",
					product.ranges[i]->alias, (int64_t)product.ranges[i]->node->offset,
					"no condition joins `" STR_FMT "` to the other tables",
					STR_ARG(product.ranges[i]->alias));
			return;
		}
}

static void visit(struct diagnosis *diagnosis, const struct mysql_node *node, bool in_exists)
{
	check_expression(diagnosis, node);
	if (node->kind == MYSQL_SELECT) {
		if (!in_exists)
			check_star(diagnosis, node);
		check_product(diagnosis, node);
	}
	bool exists = node->kind == MYSQL_EXISTS || (in_exists && node->kind == MYSQL_QUERY);
	for (const struct mysql_node *child = node->first; child; child = child->next)
		visit(diagnosis, child, exists);
}

void mysql_diagnose(const struct mysql_node *root, str_t text, const struct sql_request *request,
		    struct diagnostics *diagnostics)
{
	struct diagnosis diagnosis = { text, request, diagnostics };
	visit(&diagnosis, root, false);
	mysql_required(root, request, diagnostics);
	if (root->kind == MYSQL_QUERY && !query_bounded(root))
		diagnostics_add(
			diagnostics, DIAG_MISSING_LIMIT, NULL, STR("statement"), 0,
			"the query is neither aggregated nor limited: it can return any number of rows");
}
