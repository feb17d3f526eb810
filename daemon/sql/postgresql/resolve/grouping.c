#include "sql/postgresql/resolve/internal.h"

#include "sql/postgresql/resolve/equal.h"

#include "catalog/pg_type_d.h"

struct grouping {
	struct resolver *resolver;
	const struct level *level;
	unsigned depth;	   /* subqueries around the node: only whole columns are found grouped there */
	bool whole;	   /* the node is an output by itself */
	unsigned assigned; /* nodes around it that convert what is in them as an assignment does */
	/* Where there are many keys: the columns among them, and all as outputs and as parts of outputs. */
	struct expression_index *columns;
	struct expression_index *lasting; /* those that are in all grouping sets */
	struct expression_index *outputs;
	struct expression_index *parts;
};

static bool is_level_column(const struct grouping *grouping, const struct resolved_column *column)
{
	return column && column->item && column->level == grouping->level->scope->level;
}

/* The column that a key of GROUP BY is, if it is one. */
static bool column_of_key(const struct grouping *grouping, const struct sort_key *key,
			  struct base_column *ret_base)
{
	const struct level *level = grouping->level;
	const Node *node = key->node;
	if (key->output != SIZE_MAX) {
		const struct range_column *output = &level->outputs->columns[key->output];
		if (output->source) {
			*ret_base = base_column_of(output->source, output->source_index);
			return true;
		}
		return false;
	}
	/* A conversion to the type that the column has is the column. */
	if (!IsA(node, ColumnRef))
		node = expression_output_without_casts(grouping->resolver, node);
	return expression_is_column(grouping->resolver, node, ret_base);
}

/* Whether it is a key of some grouping set, or (`in_all`) surely of each. */
static bool is_key_column(const struct grouping *grouping, struct base_column column, bool in_all)
{
	struct base_column grouped;
	if (grouping->columns)
		return expression_index_find_hash(in_all ? grouping->lasting : grouping->columns,
						  base_column_hash(column)) != SIZE_MAX;
	for (size_t i = 0; i < grouping->level->groups_count; i++) {
		const struct sort_key *key = &grouping->level->groups[i];
		if (!(in_all && key->optional) && column_of_key(grouping, key, &grouped) &&
		    grouped.item == column.item && grouped.column == column.column)
			return true;
	}
	return false;
}

static bool is_grouped_column(const struct grouping *grouping, struct base_column column)
{
	return is_key_column(grouping, column, false);
}

/* A grouped primary key determines every other column of its table, where no grouping set goes without it. */
static bool is_determined(const struct grouping *grouping, const struct range_item *item)
{
	bool has_key = false;
	if (!item->relation)
		return false;
	for (size_t i = 0; i < item->relation->columns_count; i++) {
		if (!item->relation->columns[i].is_key)
			continue;
		has_key = true;
		if (!is_key_column(grouping, (struct base_column){ item, i }, true))
			return false;
	}
	return has_key;
}

static const Node *expression_of_key(const struct grouping *grouping, const struct sort_key *key)
{
	if (key->output == SIZE_MAX)
		return key->node;
	const struct level_target *from = level_target(grouping->level, key->output);
	return from && from->target ? from->target->val : NULL;
}

/* Whether the part, where it stands, may have been converted to what the key is: PostgreSQL adds implicit
 * conversions alone, but in subscripts and XML also those of an assignment. */
static bool may_become(const struct grouping *grouping, const Node *part, const Node *key)
{
	struct resolver *resolver = grouping->resolver;
	if (!resolver_knows_types(resolver))
		return true;
	type_id from = resolution_type(resolver->resolution, part);
	type_id to = resolution_type(resolver->resolution, key);
	if (from == to || from == TYPE_UNSURE || to == TYPE_UNSURE || from == UNKNOWNOID || to == UNKNOWNOID)
		return true;
	return type_can_coerce(resolver->catalog, from, to,
			       grouping->assigned > 0 ? CAST_ASSIGNMENT : CAST_IMPLICIT) != SURELY_NOT;
}

static bool is_key(const void *context, size_t place, const Node *node)
{
	const struct grouping *grouping = context;
	const Node *key = expression_of_key(grouping, &grouping->level->groups[place]);
	if (!key || grouping->whole)
		return key && expression_outputs_may_equal(grouping->resolver, key, node);
	return expression_may_equal(grouping->resolver, key, node) && may_become(grouping, node, key);
}

static bool is_grouped_expression(const struct grouping *grouping, const Node *node)
{
	if (grouping->columns)
		return expression_index_find(grouping->whole ? grouping->outputs : grouping->parts, node,
					     grouping->whole, is_key, grouping) != SIZE_MAX;
	for (size_t i = 0; i < grouping->level->groups_count; i++) {
		if (is_key(grouping, i, node))
			return true;
	}
	return false;
}

static void index_keys(struct grouping *grouping)
{
	const struct level *level = grouping->level;
	struct base_column column;
	struct expression_index *columns = expression_index_new(grouping->resolver, level->groups_count);
	grouping->lasting = expression_index_new(grouping->resolver, level->groups_count);
	grouping->outputs = expression_index_new(grouping->resolver, level->groups_count);
	grouping->parts = expression_index_new(grouping->resolver, level->groups_count);
	for (size_t i = 0; i < level->groups_count; i++) {
		const Node *key = expression_of_key(grouping, &level->groups[i]);
		if (column_of_key(grouping, &level->groups[i], &column)) {
			expression_index_add_hash(columns, base_column_hash(column), i);
			if (!level->groups[i].optional)
				expression_index_add_hash(grouping->lasting, base_column_hash(column), i);
		}
		if (!key)
			continue;
		expression_index_add(grouping->outputs, key, true, i);
		expression_index_add(grouping->parts, key, false, i);
	}
	grouping->columns = columns;
}

static void report(const struct grouping *grouping, int location, str_t object)
{
	diagnostics_add(grouping->resolver->diagnostics, DIAG_UNGROUPED_COLUMN, SUB_NONE, object, location,
			"\"" STR_FMT "\" is neither in GROUP BY nor inside an aggregate", STR_ARG(object));
}

/* The row of a function with one column is that column: a key that is the row groups it, and the other way.
 */
static bool is_row_of_grouped(const struct grouping *grouping, const struct range_item *item)
{
	if (item->kind != RANGE_FUNCTION || item->columns_count != 1)
		return false;
	for (size_t i = 0; i < grouping->level->groups_count; i++) {
		const Node *key = expression_of_key(grouping, &grouping->level->groups[i]);
		const struct resolved_column *row = resolution_column(grouping->resolver->resolution, key);
		if (row && row->kind == COLUMN_WHOLE_ROW && row->item == item)
			return true;
	}
	return is_grouped_column(grouping, (struct base_column){ item, 0 });
}

static void check_base(const struct grouping *grouping, struct base_column base, int location)
{
	if (base.item->kind == RANGE_JOIN || is_grouped_column(grouping, base) ||
	    is_determined(grouping, base.item) || is_row_of_grouped(grouping, base.item))
		return;
	report(grouping, location,
	       arena_printf(grouping->resolver->arena, STR_FMT "." STR_FMT, STR_ARG(base.item->alias),
			    STR_ARG(base.item->columns[base.column].name)));
}

static bool is_grouped_row(const struct grouping *grouping, const ColumnRef *node)
{
	return is_grouped_expression(grouping, (const Node *)node);
}

static void check_column(const struct grouping *grouping, const ColumnRef *node)
{
	const struct resolved_column *column = resolution_column(grouping->resolver->resolution, node);
	if (!is_level_column(grouping, column))
		return;
	switch (column->kind) {
	case COLUMN_OF_ITEM:
	case COLUMN_FIELD:
		check_base(grouping, base_column_of(column->item, column->column), node->location);
		break;
	case COLUMN_WHOLE_ROW:
	case COLUMN_STAR:
		if (!is_determined(grouping, column->item) && !is_grouped_row(grouping, node) &&
		    !is_row_of_grouped(grouping, column->item))
			report(grouping, node->location,
			       arena_printf(grouping->resolver->arena, STR_FMT ".*",
					    STR_ARG(column->item->alias)));
		break;
	case COLUMN_SYSTEM:
		if (!is_determined(grouping, column->item) && !is_grouped_row(grouping, node))
			report(grouping, node->location,
			       arena_printf(grouping->resolver->arena, STR_FMT ".%s",
					    STR_ARG(column->item->alias), names_last(node->fields)));
		break;
	default:
		break;
	}
}

static bool check_node(const Node *node, void *context);

static void check_whole(struct grouping *grouping, const Node *node)
{
	grouping->whole = true;
	(void)check_node(node, grouping);
	grouping->whole = false;
}

/* GROUPING(…) speaks of keys. */
static void check_grouping_call(struct grouping *grouping, const GroupingFunc *call)
{
	const ListCell *cell;
	foreach(cell, call->args)
	{
		const Node *node = lfirst(cell);
		if (grouping->depth == 0 && !is_grouped_expression(grouping, node))
			resolver_report_type(grouping->resolver, DIAG_INVALID_AGGREGATE,
					     SUB_INVALID_AGGREGATE_GROUPING, "42803",
					     resolver_node_location(grouping->resolver, node),
					     "the arguments of GROUPING have to be expressions of GROUP BY");
	}
}

/* `(row).column` for a row of FROM is the column. */
static bool check_field_of_row(struct grouping *grouping, const A_Indirection *selection)
{
	const struct resolved_column *row = resolution_column(grouping->resolver->resolution, selection->arg);
	const Node *first = linitial(selection->indirection);
	if (!row || row->kind != COLUMN_WHOLE_ROW || !is_level_column(grouping, row) || !IsA(first, String))
		return false;
	const struct range_column *found = range_columns_find(row->item->columns, row->item->columns_count,
							      str_from(NODE_STRING(first)));
	if (found)
		check_base(grouping, base_column_of(row->item, (size_t)(found - row->item->columns)),
			   resolver_node_location(grouping->resolver, selection->arg));
	return found != NULL;
}

static bool may_be_aggregate(const struct resolved_function *function, const FuncCall *call)
{
	if (function->chosen || call->over)
		return function->chosen && function->chosen->kind == 'a' && !call->over;
	for (size_t i = 0; i < function->overloads_count; i++) {
		if (function->overloads[i]->kind == 'a')
			return true;
	}
	return false;
}

/* An aggregate of this level sees rows before grouping; what stands before WITHIN GROUP does not. */
static bool check_call(const FuncCall *call, struct grouping *grouping)
{
	const struct resolved_function *function = resolution_function(grouping->resolver->resolution, call);
	const ListCell *cell;
	if (function && function->aggregate_level == 0 && may_be_aggregate(function, call))
		return true;
	if (!function || function->aggregate_level == 0 ||
	    function->aggregate_level > grouping->level->scope->level)
		return node_children((const Node *)call, check_node, grouping);
	if (function->aggregate_level == grouping->level->scope->level && call->agg_within_group)
		foreach(cell, call->args)(void) check_node(lfirst(cell), grouping);
	return true;
}

static bool is_grouped_as_whole(const struct grouping *grouping, const Node *node)
{
	return grouping->depth == 0 && !IsA(node, List) && is_grouped_expression(grouping, node);
}

static void check_assigned_parts(struct grouping *grouping, const Node *node)
{
	grouping->assigned++;
	(void)node_children(node, check_node, grouping);
	grouping->assigned--;
}

static void check_parts(struct grouping *grouping, const Node *node)
{
	switch (nodeTag(node)) {
	case T_SelectStmt:
		grouping->depth++;
		(void)node_children(node, check_node, grouping);
		grouping->depth--;
		break;
	case T_ColumnRef:
		check_column(grouping, (const ColumnRef *)node);
		break;
	case T_GroupingFunc:
		check_grouping_call(grouping, (const GroupingFunc *)node);
		break;
	case T_FuncCall:
		(void)check_call((const FuncCall *)node, grouping);
		break;
	case T_A_Indirection:
		if (!check_field_of_row(grouping, (const A_Indirection *)node))
			check_assigned_parts(grouping, node);
		break;
	case T_XmlExpr:
	case T_XmlSerialize:
		check_assigned_parts(grouping, node);
		break;
	default:
		(void)node_children(node, check_node, grouping);
		break;
	}
}

static bool check_node(const Node *node, void *context)
{
	struct grouping *grouping = context;
	if (IsA(node, A_Const) || !resolver_enter(grouping->resolver))
		return true;
	bool grouped = !IsA(node, SelectStmt) && is_grouped_as_whole(grouping, node);
	grouping->whole = false;
	if (!grouped)
		check_parts(grouping, node);
	resolver_leave(grouping->resolver);
	return true;
}

static void check_star_output(const struct grouping *grouping, const struct range_column *output,
			      int location)
{
	if (output->source)
		check_base(grouping, base_column_of(output->source, output->source_index), location);
}

static void check_windows(struct grouping *grouping, const List *windows)
{
	const ListCell *cell;
	foreach(cell, windows)(void) check_node(lfirst(cell), grouping);
}

void resolve_check_grouping(struct resolver *resolver, const struct level *level)
{
	struct grouping grouping = { .resolver = resolver, .level = level };
	const SelectStmt *select = level->select;
	bool grouped = select->groupClause || select->havingClause || level->scope->has_aggregates;
	if (!grouped || !resolver->catalog || level->scope->grouping_unsure || resolver->resolution->too_deep)
		return;
	if (level->groups_count > RESOLVE_SHORT_LIST)
		index_keys(&grouping);
	for (size_t i = 0; i < level->outputs->count; i++) {
		const struct level_target *from = level_target(level, i);
		if (from && from->target)
			check_whole(&grouping, from->target->val);
		else
			check_star_output(&grouping, &level->outputs->columns[i], from ? from->location : -1);
	}
	for (size_t i = 0; i < level->order_count; i++) {
		if (level->order[i].output == SIZE_MAX)
			check_whole(&grouping, level->order[i].node);
	}
	for (size_t i = 0; i < level->distinct_count; i++)
		check_whole(&grouping, level->distinct[i].node);
	check_windows(&grouping, select->windowClause);
	if (select->havingClause)
		(void)check_node(select->havingClause, &grouping);
}
