#include "sql/postgresql/safety/walk.h" // first: see pg_nodes.h

#include "sql/postgresql/resolve/internal.h"

void safety_check_compared_type(struct walk *walk, type_id type, int location)
{
	if (volatile_comparison(walk->volatiles, type))
		WALK_VIOLATION(walk, VIOLATION_VOLATILE_FUNCTION, location,
			       "values are compared by functions that may have side effects");
}

void safety_check_compared(struct walk *walk, const Node *node, int location)
{
	safety_check_compared_type(walk, resolution_type(walk->resolution, node), location);
}

void safety_check_compared_outputs(struct walk *walk, const SelectStmt *select)
{
	const struct outputs *outputs = resolution_outputs(walk->resolution, select);
	if (!outputs || outputs->open)
		safety_check_compared_type(walk, TYPE_UNSURE, -1);
	for (size_t i = 0; outputs && i < outputs->count; i++)
		safety_check_compared_type(walk, outputs->columns[i].type, -1);
}

/* Number of an output, from 1, or 0. */
static size_t output_number(const Node *node)
{
	int number;
	return node_integer(node, &number) && number > 0 ? (size_t)number : 0;
}

static void check_output(struct walk *walk, const SelectStmt *select, size_t number)
{
	const struct outputs *outputs = resolution_outputs(walk->resolution, select);
	if (outputs && !outputs->open && number <= outputs->count)
		safety_check_compared_type(walk, outputs->columns[number - 1].type, -1);
	else
		safety_check_compared_type(walk, TYPE_UNSURE, -1);
}

static void check_key(struct walk *walk, const SelectStmt *select, const Node *node)
{
	if (!node)
		return;
	if (IsA(node, SortBy)) {
		check_key(walk, select, ((const SortBy *)node)->node);
	} else if (IsA(node, GroupingSet)) {
		safety_check_compared_list(walk, select, ((const GroupingSet *)node)->content);
	} else if (IsA(node, RowExpr)) {
		safety_check_compared_list(walk, NULL, ((const RowExpr *)node)->args);
	} else if (output_number(node) > 0) {
		if (select)
			check_output(walk, select, output_number(node));
	} else {
		safety_check_compared(walk, node, -1);
	}
}

void safety_check_compared_list(struct walk *walk, const SelectStmt *select, const List *list)
{
	ListCell *cell;
	foreach(cell, list) check_key(walk, select, lfirst(cell));
}
