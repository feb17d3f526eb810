#include "sql/mysql/safety.h"
#include "sql/mysql/scope.h"
#include "sql/query/position.h"

#include <inttypes.h>

/* One SELECT whose names are resolved. */
struct grouping {
	struct mysql_resolver *resolver;
	const struct mysql_scope *scope;
	const struct query_node *select;
	bool inner; /* a query around it could be meant by what it does not have itself */
};

static bool is_own(const struct query_node *column, const void *context)
{
	const struct grouping *grouping = context;
	const struct query_range *range = column->kind == QUERY_COLUMN ? column->range : NULL;
	return range && range->position < grouping->scope->count &&
	       grouping->scope->ranges[range->position] == range;
}

static void report_aggregate(const struct grouping *grouping, const struct query_node *call,
			     const char *place)
{
	diagnostics_add(grouping->resolver->diagnostics, DIAG_INVALID_AGGREGATE, SUB_NONE, call->name,
			(int64_t)call->offset, "the aggregate " STR_FMT " cannot stand in %s",
			STR_ARG(call->name), place);
}

/* Aggregates of this SELECT where its groups are not made yet; those of a query outside are that one's. */
static void refuse_aggregates(const struct grouping *grouping, const struct query_node *node,
			      const char *place)
{
	if (!node || node->kind == QUERY_EXPRESSION)
		return;
	if (node->aggregate && (!grouping->inner || query_has(node, is_own, grouping))) {
		report_aggregate(grouping, node, place);
		return;
	}
	for (const struct query_node *child = node->first; child; child = child->next)
		refuse_aggregates(grouping, child, place);
}

static void refuse_in_joins(const struct grouping *grouping, const struct query_node *from)
{
	for (const struct query_node *child = from ? from->first : NULL; child; child = child->next) {
		if (child->kind == QUERY_ON)
			refuse_aggregates(grouping, child, "the condition of a join; use HAVING");
		else if (child->kind == QUERY_JOIN)
			refuse_in_joins(grouping, child);
	}
}

static void refuse_nested(const struct grouping *grouping, const struct query_node *node)
{
	if (!node || node->kind == QUERY_EXPRESSION)
		return;
	for (const struct query_node *child = node->first; child; child = child->next) {
		if (node->aggregate)
			refuse_aggregates(grouping, child, "another one; use a derived table");
		else
			refuse_nested(grouping, child);
	}
}

static bool is_plain_star(const struct query_node *item, const struct query_range *range)
{
	return item->kind == QUERY_STAR && (!item->range || item->range == range);
}

static bool same_column(const struct query_node *a, const struct query_node *b)
{
	return a && a->kind == QUERY_COLUMN && a->range == b->range && identifier_same(a->name, b->name);
}

static bool is_selected(const struct grouping *grouping, const struct query_node *column)
{
	const struct query_node *items = query_child(grouping->select, QUERY_ITEMS);
	for (const struct query_node *item = items->first; item; item = item->next)
		if (grouping->resolver->lookups++ > MYSQL_MAX_LOOKUPS || is_plain_star(item, column->range) ||
		    same_column(item->first, column))
			return true;
	return false;
}

static bool is_key(const struct grouping *grouping, const struct query_node *column)
{
	const struct query_node *group = query_child(grouping->select, QUERY_GROUP);
	for (const struct query_node *key = group ? group->first : NULL; key; key = key->next)
		if (grouping->resolver->lookups++ > MYSQL_MAX_LOOKUPS || same_column(key->first, column))
			return true;
	return false;
}

/* HAVING sees what is selected and what is grouped by, and the rest in aggregates alone. */
static void check_having(const struct grouping *grouping, const struct query_node *node)
{
	bool windowed = node->kind == QUERY_CALL && query_child(node, QUERY_WINDOW);
	if (node->kind == QUERY_EXPRESSION || windowed || node->aggregate)
		return;
	if (is_own(node, grouping) && !node->flag &&
	    mysql_columns_find(grouping->resolver, node->range->columns,
			       identifier_lower(node->name, grouping->resolver->arena)) &&
	    !is_selected(grouping, node) && !is_key(grouping, node))
		diagnostics_add(grouping->resolver->diagnostics, DIAG_UNKNOWN_COLUMN, SUB_NONE, node->name,
				(int64_t)node->offset,
				"HAVING cannot see column `" STR_FMT
				"`, which is neither selected nor grouped by; use WHERE or an aggregate",
				STR_ARG(node->name));
	for (const struct query_node *child = node->first; child; child = child->next)
		check_having(grouping, child);
}

/* A key may mean an output, which an aggregate may make up. */
static void check_keys(const struct grouping *grouping)
{
	const struct query_node *group = query_child(grouping->select, QUERY_GROUP);
	for (const struct query_node *key = group ? group->first : NULL; key; key = key->next) {
		const struct query_node *item =
			key->first->item ? key->first->item
					 : query_position_item(grouping->select,
							       query_position_of(key->first, SQL_MYSQL));
		refuse_aggregates(grouping, item ? item->first : key->first, "GROUP BY");
	}
}

void mysql_grouping_check(struct mysql_resolver *resolver, const struct mysql_scope *scope,
			  const struct query_node *select)
{
	struct grouping grouping = { .resolver = resolver, .scope = scope, .select = select };
	const struct query_node *having = query_child(select, QUERY_HAVING);
	for (const struct mysql_scope *outer = scope->outer; outer; outer = outer->outer)
		grouping.inner = grouping.inner || outer->count > 0;
	refuse_aggregates(&grouping, query_child(select, QUERY_WHERE), "WHERE; use HAVING");
	refuse_in_joins(&grouping, query_child(select, QUERY_FROM));
	check_keys(&grouping);
	refuse_nested(&grouping, query_child(select, QUERY_ITEMS));
	if (having) {
		refuse_nested(&grouping, having);
		if (!grouping.inner)
			check_having(&grouping, having);
	}
}

/* A LIMIT of the query or of an arm of it, not of what it reads. */
static const struct query_node *own_limit(const struct query_node *node)
{
	const struct query_node *limit =
		node->kind == QUERY_EXPRESSION ? query_child(node, QUERY_LIMIT) : NULL;
	for (const struct query_node *child = node->first; child && !limit; child = child->next)
		if (child->kind == QUERY_EXPRESSION || child->kind == QUERY_SET || child->kind == QUERY_ARM)
			limit = own_limit(child);
	return limit;
}

void mysql_limit_check(struct mysql_resolver *resolver, const struct query_node *node)
{
	bool compares = node->kind == QUERY_IN || node->kind == QUERY_QUANTIFIED;
	const struct query_node *subquery = compares ? query_child(node, QUERY_SUBQUERY) : NULL;
	const struct query_node *limit = subquery && subquery->first ? own_limit(subquery->first) : NULL;
	if (limit)
		diagnostics_add(resolver->diagnostics, DIAG_INVALID_SUBQUERY, SUB_NONE, STR("LIMIT"),
				(int64_t)limit->offset,
				"a subquery of IN, ANY or ALL cannot have a LIMIT; read it from a derived "
				"table");
}

void mysql_positions_check(struct mysql_resolver *resolver, const struct query_node *clause, size_t count,
			   const char *where)
{
	for (const struct query_node *sort = clause ? clause->first : NULL; sort; sort = sort->next) {
		struct query_position position = query_position_of(sort->first, SQL_MYSQL);
		if (position.kind != QUERY_POSITION_SURE ||
		    (position.place >= 1 && (uint64_t)position.place <= count))
			continue;
		str_t text = arena_printf(resolver->arena, "%" PRId64, position.place);
		diagnostics_add(resolver->diagnostics, DIAG_UNKNOWN_COLUMN, SUB_NONE, text,
				(int64_t)sort->first->offset, "position " STR_FMT " is not %s", STR_ARG(text),
				where);
	}
}
