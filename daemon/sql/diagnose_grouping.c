#include "sql/diagnose_internal.h"

#include "sql/node_children.h"

/* A column of FROM itself, behind the merged columns of joins. */
struct base_column {
	const struct range_item *item;
	size_t column;
};

struct grouping {
	const struct diagnosis *diagnosis;
	const struct range_item **items; /* of this level's FROM */
	size_t items_count;
	size_t items_capacity;
	struct base_column *grouped; /* columns that GROUP BY mentions anywhere */
	size_t grouped_count;
	size_t grouped_capacity;
	bool merges; /* a join merges columns: equal names may be equal columns */
	bool unsure;
	bool local;   /* an aggregate's arguments: a column of this level was met */
	bool foreign; /* likewise, of another level */
};

static struct base_column base_of(const struct resolved_column *column)
{
	struct base_column base = { column->item, column->column };
	while (base.item->kind == RANGE_JOIN) {
		const struct range_column *merged = &base.item->columns[base.column];
		if (!merged->source || merged->source == base.item)
			break;
		base = (struct base_column){ merged->source, merged->source_index };
	}
	return base;
}

static void add_items(struct grouping *grouping, const Node *from)
{
	struct arena *arena = grouping->diagnosis->diagnostics->arena;
	if (IsA(from, RangeTableSample))
		from = ((const RangeTableSample *)from)->relation;
	if (IsA(from, JoinExpr)) {
		const JoinExpr *join = (const JoinExpr *)from;
		grouping->merges |= join->isNatural || join->usingClause != NIL;
		add_items(grouping, join->larg);
		add_items(grouping, join->rarg);
	}
	const struct range_item *item = resolution_item(grouping->diagnosis->resolution, from);
	if (!item)
		grouping->unsure = true;
	else
		ARENA_PUSH(arena, grouping->items, grouping->items_count, grouping->items_capacity, item);
}

static bool is_local(const struct grouping *grouping, const struct range_item *item)
{
	for (size_t i = 0; i < grouping->items_count; i++) {
		if (grouping->items[i] == item)
			return true;
	}
	return false;
}

/* Notes every column below a GROUP BY item. */
static bool note_grouped(const Node *node, void *context)
{
	struct grouping *grouping = context;
	if (!IsA(node, ColumnRef))
		return node_children(node, note_grouped, context);
	const struct resolved_column *column =
		resolution_column(grouping->diagnosis->resolution, (const ColumnRef *)node);
	if (column && column->kind == COLUMN_OUTPUT && column->output)
		return note_grouped(((const ResTarget *)column->output)->val, context);
	if (!column || column->kind != COLUMN_OF_ITEM)
		grouping->unsure = true;
	else
		ARENA_PUSH(grouping->diagnosis->diagnostics->arena, grouping->grouped,
			   grouping->grouped_count, grouping->grouped_capacity, base_of(column));
	return true;
}

static bool is_star_target(const ResTarget *target)
{
	return (IsA(target->val, ColumnRef) &&
		IsA(llast(((const ColumnRef *)target->val)->fields), A_Star)) ||
	       (IsA(target->val, A_Indirection) &&
		IsA(llast(((const A_Indirection *)target->val)->indirection), A_Star));
}

static bool has_star(const List *targets)
{
	const ListCell *cell;
	foreach(cell, targets)
	{
		if (is_star_target(lfirst_node(ResTarget, cell)))
			return true;
	}
	return false;
}

/* A position stands for the target there. */
static void note_group_item(struct grouping *grouping, const SelectStmt *select, const Node *node)
{
	if (!IsA(node, A_Const)) {
		(void)note_grouped(node, grouping);
		return;
	}
	const A_Const *constant = (const A_Const *)node;
	int position = !constant->isnull && IsA(&constant->val, Integer) ? constant->val.ival.ival : 0;
	if (has_star(select->targetList) || position < 1 || position > list_length(select->targetList))
		grouping->unsure = true;
	else
		(void)note_grouped(list_nth_node(ResTarget, select->targetList, position - 1)->val, grouping);
}

static bool same_name(struct base_column a, struct base_column b)
{
	return str_equal(a.item->columns[a.column].name, b.item->columns[b.column].name);
}

static bool is_grouped(const struct grouping *grouping, struct base_column column)
{
	for (size_t i = 0; i < grouping->grouped_count; i++) {
		struct base_column grouped = grouping->grouped[i];
		if ((grouped.item == column.item && grouped.column == column.column) ||
		    (grouping->merges && same_name(grouped, column)))
			return true;
	}
	return false;
}

/* A grouped primary key determines every other column of its table. */
static bool is_determined(const struct grouping *grouping, const struct range_item *item)
{
	bool has_key = false;
	if (!item->relation)
		return false;
	for (size_t i = 0; i < item->relation->columns_count; i++) {
		if (!item->relation->columns[i].is_key)
			continue;
		has_key = true;
		if (!is_grouped(grouping, (struct base_column){ item, i }))
			return false;
	}
	return has_key;
}

static bool note_level(const Node *node, void *context)
{
	struct grouping *grouping = context;
	if (!IsA(node, ColumnRef))
		return node_children(node, note_level, context);
	const struct resolved_column *column =
		resolution_column(grouping->diagnosis->resolution, (const ColumnRef *)node);
	if (column && column->item && is_local(grouping, column->item))
		grouping->local = true;
	else
		grouping->foreign = true;
	return true;
}

/* An aggregate whose arguments are all of an outer level belongs to that one. */
static void check_owner(struct grouping *grouping, const FuncCall *call)
{
	grouping->local = grouping->foreign = false;
	(void)node_children((const Node *)call, note_level, grouping);
	if (grouping->foreign && !grouping->local)
		grouping->unsure = true;
}

static bool note_aggregates(const Node *node, void *context)
{
	struct grouping *grouping = context;
	if (IsA(node, SubLink))
		return true;
	if (IsA(node, FuncCall) && is_aggregate_call(grouping->diagnosis->resolution, (const FuncCall *)node))
		check_owner(grouping, (const FuncCall *)node);
	return node_children(node, note_aggregates, context);
}

static void report(const struct grouping *grouping, const ColumnRef *node, str_t object)
{
	diagnostics_add(grouping->diagnosis->diagnostics, DIAG_UNGROUPED_COLUMN, NULL, object, node->location,
			"\"" STR_FMT "\" is neither in GROUP BY nor inside an aggregate", STR_ARG(object));
}

/* A column, or the whole row, of this level outside of aggregates. */
static void check_column(const struct grouping *grouping, const ColumnRef *node,
			 const struct resolved_column *column)
{
	struct arena *arena = grouping->diagnosis->diagnostics->arena;
	if (column->kind == COLUMN_WHOLE_ROW && !is_determined(grouping, column->item)) {
		report(grouping, node, arena_printf(arena, STR_FMT ".*", STR_ARG(column->item->alias)));
		return;
	}
	if (column->kind != COLUMN_OF_ITEM)
		return;
	struct base_column base = base_of(column);
	if (base.item->kind != RANGE_JOIN && !is_grouped(grouping, base) &&
	    !is_determined(grouping, base.item))
		report(grouping, node,
		       arena_printf(arena, STR_FMT "." STR_FMT, STR_ARG(base.item->alias),
				    STR_ARG(base.item->columns[base.column].name)));
}

static bool check_columns(const Node *node, void *context)
{
	const struct grouping *grouping = context;
	if (IsA(node, SubLink) || (IsA(node, FuncCall) && is_aggregate_call(grouping->diagnosis->resolution,
									    (const FuncCall *)node)))
		return true;
	if (IsA(node, FuncCall) || !IsA(node, ColumnRef))
		return IsA(node, GroupingFunc) || node_children(node, check_columns, context);
	const struct resolved_column *column =
		resolution_column(grouping->diagnosis->resolution, (const ColumnRef *)node);
	if (column && column->item && is_local(grouping, column->item))
		check_column(grouping, (const ColumnRef *)node, column);
	return true;
}

static void each(struct grouping *grouping, const List *list, bool (*look)(const Node *, void *))
{
	const ListCell *cell;
	foreach(cell, list)(void) look(lfirst(cell), grouping);
}

void diagnose_grouping(const struct diagnosis *diagnosis, const SelectStmt *select)
{
	struct grouping grouping = { .diagnosis = diagnosis };
	const ListCell *cell;
	if (!diagnosis->resolution->names_known || !is_aggregated(diagnosis->resolution, select))
		return;
	foreach(cell, select->fromClause) add_items(&grouping, lfirst(cell));
	foreach(cell, select->groupClause) note_group_item(&grouping, select, lfirst(cell));
	each(&grouping, select->targetList, note_aggregates);
	each(&grouping, select->sortClause, note_aggregates);
	if (select->havingClause)
		(void)note_aggregates(select->havingClause, &grouping);
	if (grouping.unsure)
		return;
	each(&grouping, select->targetList, check_columns);
	each(&grouping, select->sortClause, check_columns);
	if (select->havingClause)
		(void)check_columns(select->havingClause, &grouping);
}
