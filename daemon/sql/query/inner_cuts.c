#include "sql/query/inner_cuts.h"

#include <math.h>

/* From so many rows on a LIMIT is none: MySQL's way to write an OFFSET alone. */
#define NO_LIMIT 1e15

struct cut_finder {
	struct arena *arena;
	struct sql_analysis *analysis;
	size_t capacity;
};

/* The text that a query takes, as offsets of its nodes. */
struct extent {
	size_t first, last;
};

static void visit(struct cut_finder *finder, const struct query_node *node, bool matters);

/* ---- what it reads ---- */

static void extend(struct extent *extent, const struct query_node *node)
{
	extent->first = node->offset < extent->first ? node->offset : extent->first;
	extent->last = node->offset > extent->last ? node->offset : extent->last;
	for (const struct query_node *child = node->first; child; child = child->next)
		extend(extent, child);
}

static bool is_outside(const struct extent *extent, const struct query_node *node)
{
	return node && (node->offset < extent->first || node->offset > extent->last);
}

static bool reads_outside(const struct query_node *node, const void *context)
{
	const struct extent *extent = context;
	const struct query_range *range = node->range;
	if (!range)
		return false;
	if (node->kind == QUERY_RELATION)
		return range->kind == QUERY_RANGE_CTE && is_outside(extent, range->maker);
	return node->kind == QUERY_COLUMN && is_outside(extent, range->node);
}

static bool is_alone(const struct query_node *query)
{
	struct extent extent = { query->offset, query->offset };
	extend(&extent, query);
	return !query_has(query, reads_outside, &extent);
}

/* ---- what it takes ---- */

/* −1: not known. */
static double number_of(const struct query_node *node)
{
	return query_is_literal(node, "number") && str_present(node->name) ? strtod(node->name.ptr, NULL)
									   : -1;
}

/* SQLite: all rows. */
static bool is_negative(const struct query_node *node)
{
	return query_is_operation(node, "-") && node->first && !node->first->next &&
	       number_of(node->first) > 0;
}

static bool takes_some(const struct query_node *limit)
{
	if (!limit || limit->flag)
		return false;
	double rows = number_of(limit->first);
	bool all = rows >= NO_LIMIT || is_negative(limit->first);
	bool from_start = !limit->first->next || !(fabs(number_of(limit->first->next)) > 0);
	return rows != 0 && !(all && from_start);
}

/* By what it is; HAVING may leave none. */
static bool has_one_row(const struct query_node *query)
{
	const struct query_node *select = query_body(query);
	if (select->kind != QUERY_SELECT || query_child(select, QUERY_GROUP))
		return false;
	return !query_child(select, QUERY_FROM) || query_aggregates(query_child(select, QUERY_ITEMS)) ||
	       query_aggregates(query_child(select, QUERY_HAVING)) ||
	       query_aggregates(query_child(query, QUERY_ORDER));
}

static void add(struct cut_finder *finder, struct sql_inner_cut cut)
{
	struct sql_analysis *analysis = finder->analysis;
	if (analysis->inner_cuts_count == SQL_MAX_INNER_CUTS)
		analysis->inner_cuts[SQL_MAX_INNER_CUTS - 1] = (struct sql_inner_cut){ .offset = -1 };
	else
		ARENA_PUSH(finder->arena, analysis->inner_cuts, analysis->inner_cuts_count, finder->capacity,
			   cut);
}

/* ---- levels ---- */

/* The query whose ORDER BY, if it has one, orders the rows: brackets keep an order, and so does a LIMIT
 * behind them. */
static const struct query_node *ordering_of(const struct query_node *query)
{
	while (!query_child(query, QUERY_ORDER) && query_body(query)->kind == QUERY_EXPRESSION)
		query = query_body(query);
	return query;
}

/* A query and those in its brackets that are one level with it. */
static void visit_query(struct cut_finder *finder, const struct query_node *query, bool matters)
{
	const struct query_node *last = ordering_of(query), *limit = NULL;
	for (const struct query_node *level = query;; level = query_body(level)) {
		const struct query_node *own = query_child(level, QUERY_LIMIT);
		limit = takes_some(own) ? own : limit;
		if (level == last)
			break;
	}
	if (matters && limit && !has_one_row(last))
		add(finder, (struct sql_inner_cut){ .offset = (int64_t)limit->offset,
						    .ordered = query_child(last, QUERY_ORDER) != NULL,
						    .alone = is_alone(query) });
	for (const struct query_node *level = query;; level = query_body(level)) {
		for (const struct query_node *child = level->first; child; child = child->next)
			if (level == last || child != query_body(level))
				visit(finder, child, true);
		if (level == last)
			break;
	}
}

static bool is_relation_named(const struct query_node *node, const void *context)
{
	const str_t *name = context;
	return node->kind == QUERY_RELATION && !str_present(node->schema) &&
	       identifier_same(node->name, *name);
}

static bool is_recursion(const struct query_node *node)
{
	return node->kind == QUERY_CTE && query_has(node, is_relation_named, &node->name);
}

static void visit(struct cut_finder *finder, const struct query_node *node, bool matters)
{
	if (node->kind == QUERY_EXPRESSION) {
		visit_query(finder, node, matters);
		return;
	}
	if (node->kind == QUERY_CALL && takes_some(query_child(node, QUERY_LIMIT)) &&
	    !query_child(node, QUERY_ORDER)) /* GROUP_CONCAT */
		add(finder, (struct sql_inner_cut){ .offset = -1 });
	bool child_matters = node->kind != QUERY_EXISTS && !is_recursion(node);
	for (const struct query_node *child = node->first; child; child = child->next)
		visit(finder, child, child_matters);
}

void query_inner_cuts(const struct query_node *root, struct arena *arena, struct sql_analysis *analysis)
{
	struct cut_finder finder = { arena, analysis, 0 };
	visit(&finder, root, false);
}
