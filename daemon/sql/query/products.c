#include "sql/query/lint.h"

#define MAX_ITEMS QUERY_MAX_TABLES /* beyond, nothing is claimed */

/* Items of one FROM in groups that conditions connect. */
struct product {
	const struct query_range *ranges[MAX_ITEMS];
	size_t group[MAX_ITEMS]; /* index of another member; the root is its own */
	size_t count;
	size_t named; /* item that the condition at hand has named, or MAX_ITEMS */
	bool unsure;
};

static size_t root_of(const struct product *product, size_t item)
{
	while (product->group[item] != item)
		item = product->group[item];
	return item;
}

static void meet(struct product *product, const struct query_range *range)
{
	for (size_t i = 0; i < product->count; i++) {
		if (product->ranges[i] != range)
			continue;
		if (product->named < MAX_ITEMS)
			product->group[root_of(product, i)] = root_of(product, product->named);
		product->named = i;
	}
}

static void add_items(struct product *product, const struct query_node *node)
{
	if (query_is_item(node)) {
		if (node->kind == QUERY_RELATION && node->op) /* DUAL */
			return;
		if (!node->range || product->count == MAX_ITEMS) {
			product->unsure = true;
			return;
		}
		product->ranges[product->count] = node->range;
		product->group[product->count] = product->count;
		product->count++;
		return;
	}
	for (const struct query_node *child = node->first; child; child = child->next)
		if (child->kind == QUERY_JOIN || query_is_item(child))
			add_items(product, child);
}

/* All items that a condition speaks of, in subqueries too; columns that are not resolved may be of any. */
static void meet_columns(struct product *product, const struct query_node *node)
{
	if (node->kind == QUERY_COLUMN && node->range)
		meet(product, node->range);
	else if (node->kind == QUERY_COLUMN)
		product->unsure = true;
	for (const struct query_node *child = node->first; child; child = child->next)
		meet_columns(product, child);
}

static void meet_condition(struct product *product, const struct query_node *node)
{
	if (query_is_operation(node, "and")) {
		for (const struct query_node *part = node->first; part; part = part->next)
			meet_condition(product, part);
		return;
	}
	product->named = MAX_ITEMS;
	meet_columns(product, node);
}

static const struct query_range *first_item(const struct query_node *side)
{
	while (!query_is_item(side))
		side = side->first;
	return side->range;
}

/* USING and NATURAL connect one item of each side; an ON condition those that it speaks of. */
static void meet_joins(struct product *product, const struct query_node *node)
{
	const struct query_node *on = query_child(node, QUERY_ON);
	for (const struct query_node *child = node->first; child; child = child->next)
		if (child->kind == QUERY_JOIN)
			meet_joins(product, child);
	if (node->kind == QUERY_JOIN && (node->op[0] == 'n' || query_child(node, QUERY_USING))) {
		product->named = MAX_ITEMS;
		meet(product, first_item(node->first));
		meet(product, first_item(node->first->next));
	}
	if (on)
		meet_condition(product, on->first);
}

/* A query that surely gives one row at most multiplies nothing. */
static bool gives_one_row(const struct query_node *query)
{
	const struct query_node *body = query_body(query), *limit = query_child(query, QUERY_LIMIT);
	if (limit && limit->first->kind == QUERY_LITERAL && limit->first->name.len == 1 &&
	    limit->first->name.ptr[0] <= '1')
		return true;
	if (body->kind == QUERY_EXPRESSION)
		return gives_one_row(body);
	if (body->kind == QUERY_VALUES)
		return body->first == body->last;
	return body->kind == QUERY_SELECT &&
	       (!query_child(body, QUERY_FROM) ||
		(!query_child(body, QUERY_GROUP) && (query_aggregates(query_child(body, QUERY_ITEMS)) ||
						     query_aggregates(query_child(body, QUERY_HAVING)))));
}

/* Relations surely may have several rows; of functions, and what sees the items before it, nothing is
 * claimed. */
static bool multiplies(const struct query_range *range)
{
	const struct query_node *query = query_made_by(range);
	return range->kind == QUERY_RANGE_RELATION || (query && !range->node->flag && !gives_one_row(query));
}

void query_lint_products(const struct query_node *select, struct diagnostics *diagnostics)
{
	const struct query_node *from = query_child(select, QUERY_FROM);
	const struct query_node *where = query_child(select, QUERY_WHERE);
	struct product product = { 0 };
	size_t first = MAX_ITEMS;
	if (!from)
		return;
	add_items(&product, from);
	meet_joins(&product, from);
	if (where)
		meet_condition(&product, where->first);
	for (size_t i = 0; i < product.count && !product.unsure; i++) {
		const struct query_range *range = product.ranges[i];
		if (!multiplies(range))
			continue;
		if (first == MAX_ITEMS) {
			first = i;
		} else if (root_of(&product, i) != root_of(&product, first)) {
			diagnostics_add(diagnostics, DIAG_RISKY_PATTERN, SUB_RISKY_PATTERN_CARTESIAN_PRODUCT,
					range->alias, (int64_t)range->node->offset,
					"no condition connects \"" STR_FMT "\" with the other relations",
					STR_ARG(range->alias));
			return;
		}
	}
}
