#include "sql/postgresql/resolve/internal.h"

#include "sql/postgresql/resolve/equal.h"
#include "sql/postgresql/resolve/namespace.h"

#include "catalog/pg_type_d.h"

static const char *operation_name(SetOperation operation)
{
	return operation == SETOP_UNION ? "UNION" : operation == SETOP_INTERSECT ? "INTERSECT" : "EXCEPT";
}

/* Where a recursive query may speak of itself within one side of a set operation. */
static enum recursion recursion_within(const struct resolver *resolver, const SelectStmt *select, bool left)
{
	bool top = resolver->recursive && resolver->recursive->cte->ctequery == (const Node *)select;
	if (top && select->op == SETOP_UNION)
		return left ? RECURSION_NON_RECURSIVE_TERM : RECURSION_ALLOWED;
	if (resolver->recursion != RECURSION_ALLOWED)
		return resolver->recursion;
	if (select->op == SETOP_INTERSECT && select->all)
		return RECURSION_INTERSECT;
	if (select->op == SETOP_EXCEPT && (select->all || !left))
		return RECURSION_EXCEPT;
	return resolver->recursion;
}

static void resolve_side(struct resolver *resolver, struct scope *parent, const SelectStmt *select, bool left,
			 struct outputs *outputs)
{
	enum recursion recursion = resolver->recursion;
	const SelectStmt *side = left ? select->larg : select->rarg;
	resolver->recursion = recursion_within(resolver, select, left);
	resolve_part(resolver, parent, side, outputs);
	if (side->lockingClause)
		resolver_report_type(resolver, DIAG_INVALID_USE, SUB_INVALID_USE_LOCKING, "0A000", -1,
				     "rows cannot be locked within %s", operation_name(select->op));
	resolver->recursion = recursion;
}

static int place_of(struct resolver *resolver, const SelectStmt *select)
{
	while (select->op != SETOP_NONE)
		select = select->larg;
	const List *list = select->valuesLists ? linitial(select->valuesLists) : select->targetList;
	if (list == NIL)
		return -1;
	const Node *first = linitial(list);
	return IsA(first, ResTarget) ? ((const ResTarget *)first)->location
				     : resolver_node_location(resolver, first);
}

/* The type that both sides' columns take. */
static type_id merge_types(struct resolver *resolver, const SelectStmt *select,
			   const struct range_column *left, const struct range_column *right)
{
	const Node *nodes[2] = { left->expression, right->expression };
	const type_id types[2] = { left->type, right->type };
	type_id type = resolver_common_type(resolver, nodes, types, 2, operation_name(select->op),
					    resolver_node_location(resolver, right->expression));
	if (!select->all && resolver_knows_types(resolver) &&
	    type_has_equality(resolver->catalog, type) == SURELY_NOT) {
		str_t text = type_text(resolver->catalog, type);
		resolver_report_type(resolver, DIAG_UNKNOWN_FUNCTION, SUB_UNKNOWN_FUNCTION_OPERATOR, "42883",
				     resolver_node_location(resolver, right->expression),
				     "values of type " STR_FMT " cannot be compared for %s", STR_ARG(text),
				     operation_name(select->op));
	}
	return type;
}

static void merge_sides(struct resolver *resolver, const SelectStmt *select, const struct outputs *left,
			const struct outputs *right, struct outputs *outputs)
{
	outputs->open |= left->open;
	if (!left->open && !right->open && left->count != right->count)
		resolver_report_type(resolver, DIAG_INVALID_SET_OPERATION, SUB_NONE, "42601",
				     place_of(resolver, select->rarg),
				     "the sides of %s have %zu and %zu columns", operation_name(select->op),
				     left->count, right->count);
	bool match = !left->open && !right->open && left->count == right->count;
	struct range_column *columns = outputs_extend(resolver, outputs, left->count);
	for (size_t i = 0; columns && i < left->count; i++) {
		columns[i].name = left->columns[i].name;
		if (match)
			columns[i].type =
				merge_types(resolver, select, &left->columns[i], &right->columns[i]);
	}
}

/* A conversion to the type that the output has is the output. */
static bool is_plain_key(struct resolver *resolver, const Node *node)
{
	if (IsA(node, A_Const))
		return true;
	if (resolver_knows_types(resolver))
		node = expression_output_without_casts(resolver, node);
	return IsA(node, ColumnRef) && list_length(((const ColumnRef *)node)->fields) == 1;
}

/* ORDER BY can only name outputs. */
static void check_order(struct resolver *resolver, const SelectStmt *select)
{
	const ListCell *cell;
	foreach(cell, select->sortClause)
	{
		const Node *node = lfirst_node(SortBy, cell)->node;
		if (!is_plain_key(resolver, node))
			resolver_report_type(resolver, DIAG_INVALID_ORDER, SUB_NONE, "0A000",
					     resolver_node_location(resolver, node),
					     "ORDER BY of %s can only name its output columns",
					     operation_name(select->op));
	}
}

/* For expressions of ORDER BY. */
static void show_outputs(struct resolver *resolver, struct scope *scope, const SelectStmt *select,
			 const struct outputs *outputs)
{
	struct range_item *item = range_item_new(resolver, RANGE_SUBQUERY, (const Node *)select);
	item->columns = outputs->columns;
	item->columns_count = outputs->count;
	item->open = outputs->open;
	namespace_append_item(resolver, scope->names, item);
}

/* Outputs are all that ORDER BY sees. */
static void resolve_tail(struct resolver *resolver, struct scope *scope, const SelectStmt *select,
			 struct outputs *outputs)
{
	struct level level = { .select = select, .scope = scope, .outputs = outputs };
	resolve_order(resolver, &level);
	resolve_limits(resolver, scope, select);
}

void resolve_set_operation(struct resolver *resolver, struct scope *parent, const SelectStmt *select,
			   struct outputs *outputs)
{
	struct outputs left = { 0 }, right = { 0 };
	resolve_side(resolver, parent, select, true, &left);
	cte_publish_arm(resolver, select, &left);
	resolve_side(resolver, parent, select, false, &right);
	merge_sides(resolver, select, &left, &right, outputs);
	struct scope *scope = level_new(resolver, parent, select);
	show_outputs(resolver, scope, select, outputs);
	resolve_tail(resolver, scope, select, outputs);
	check_order(resolver, select);
}

static bool has_star(const List *row)
{
	const ListCell *cell;
	foreach(cell, row)
	{
		if (node_is_star(lfirst(cell)))
			return true;
	}
	return false;
}

/* Rows by columns; false when the rows are not alike. */
static bool check_rows(struct resolver *resolver, const List *rows)
{
	const ListCell *cell;
	int columns = list_length(linitial_node(List, rows));
	foreach(cell, rows)
	{
		const List *row = lfirst_node(List, cell);
		if (has_star(row))
			return false;
		if (list_length(row) == columns)
			continue;
		resolver_report_type(resolver, DIAG_INVALID_SET_OPERATION, SUB_NONE, "42601",
				     resolver_node_location(resolver, (const Node *)row),
				     "the rows of VALUES have %d and %d values", columns, list_length(row));
		return false;
	}
	return true;
}

static type_id column_type(struct resolver *resolver, const List *rows, int column)
{
	size_t count = (size_t)list_length(rows), at = 0;
	const Node **nodes = ARENA_ARRAY(resolver->arena, const Node *, count);
	type_id *types = ARENA_ARRAY(resolver->arena, type_id, count);
	const ListCell *cell;
	foreach(cell, rows)
	{
		nodes[at] = list_nth(lfirst_node(List, cell), column);
		types[at] = resolution_type(resolver->resolution, nodes[at]);
		at++;
	}
	return resolver_common_type(resolver, nodes, types, count, "VALUES", -1);
}

void resolve_values(struct resolver *resolver, struct scope *parent, const SelectStmt *select,
		    struct outputs *outputs)
{
	struct scope *scope = level_new(resolver, parent, select);
	const List *rows = select->valuesLists;
	const ListCell *cell;
	scope->place = PLACE_VALUES;
	foreach(cell, rows) resolve_list(resolver, scope, lfirst_node(List, cell));
	scope->place = PLACE_OTHER;
	bool alike = check_rows(resolver, rows);
	const List *first = linitial_node(List, rows);
	for (int i = 0; i < list_length(first); i++)
		outputs_add(resolver, outputs,
			    (struct range_column){ .name = arena_printf(resolver->arena, "column%d", i + 1),
						   .type = alike ? column_type(resolver, rows, i)
								 : TYPE_UNSURE });
	outputs->open |= has_star(first);
	show_outputs(resolver, scope, select, outputs);
	resolve_tail(resolver, scope, select, outputs);
}
