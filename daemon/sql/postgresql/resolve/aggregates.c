#include "sql/postgresql/resolve/internal.h"

bool resolve_is_aggregate_name(str_t name)
{
	return STR_IS_ANY(name, "count", "sum", "avg", "min", "max", "array_agg", "json_agg", "jsonb_agg",
			  "string_agg", "bool_and", "bool_or", "every", "stddev", "variance", "xmlagg");
}

static bool is_aggregate_call(const struct resolution *resolution, const FuncCall *call)
{
	const struct resolved_function *function = resolution_function(resolution, call);
	if (call->over || !function)
		return false;
	if (function->chosen || function->aggregate_level > 0)
		return function->aggregate_level > 0 || function->chosen->kind == 'a';
	if (call->agg_star || call->agg_within_group || call->agg_filter || call->agg_distinct)
		return true;
	for (size_t i = 0; i < function->overloads_count; i++) {
		if (function->overloads[i]->kind == 'a')
			return true;
	}
	return !resolution->names_known && resolve_is_aggregate_name(function->name);
}

/* What visitors that only look get as their context. */
struct aggregate_search {
	const struct resolution *resolution;
};

static bool stop_at_aggregate(const Node *node, void *context)
{
	const struct aggregate_search *search = context;
	if (IsA(node, FuncCall) && is_aggregate_call(search->resolution, (const FuncCall *)node))
		return false;
	if (IsA(node, SubLink))
		return true;
	return node_children(node, stop_at_aggregate, context);
}

static bool list_has_aggregate(const struct resolution *resolution, const List *list)
{
	const ListCell *cell;
	struct aggregate_search search = { resolution };
	foreach(cell, list)
	{
		if (lfirst(cell) && !stop_at_aggregate(lfirst(cell), &search))
			return true;
	}
	return false;
}

bool resolution_is_aggregated(const struct resolution *resolution, const SelectStmt *select)
{
	return select->groupClause || select->havingClause ||
	       list_has_aggregate(resolution, select->targetList) ||
	       list_has_aggregate(resolution, select->sortClause);
}
