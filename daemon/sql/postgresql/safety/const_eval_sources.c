#include "sql/postgresql/safety/const_eval_internal.h" // first: see pg_nodes.h

#include "sql/postgresql/parse/node_children.h"

#define MAX_ARMS 1000 /* of set operations, that are looked into */

struct source_search {
	struct const_eval eval;
	bool (*visit)(const Node *value, struct const_eval eval, void *context);
	void *context;
	bool found;
};

/* Every value of the column: of each row of VALUES, of each arm of a set operation. False once `visit` was.
 */
static bool each_output(struct source_search *search, const Node *query, size_t column, unsigned depth)
{
	ListCell *cell;
	if (!query || !IsA(query, SelectStmt) || depth >= MAX_ARMS || !const_eval_step(search->eval))
		return false;
	const SelectStmt *select = (const SelectStmt *)query;
	if (select->op != SETOP_NONE)
		return each_output(search, (const Node *)select->larg, column, depth + 1) &&
		       each_output(search, (const Node *)select->rarg, column, depth + 1);
	foreach(cell, select->valuesLists)
	{
		const List *values = lfirst(cell);
		if ((int)column >= list_length(values) ||
		    !search->visit(list_nth(values, (int)column), search->eval, search->context))
			return false;
		search->found = true;
	}
	if (select->valuesLists)
		return true;
	const ResTarget *target = (int)column < list_length(select->targetList)
					  ? list_nth(select->targetList, (int)column)
					  : NULL;
	if (!target || !target->val || node_is_star(target->val))
		return false;
	search->found = true;
	return search->visit(target->val, search->eval, search->context);
}

/* What a function in FROM returns is made of what it is given. */
static bool each_argument(struct source_search *search, const RangeFunction *range)
{
	ListCell *cell;
	foreach(cell, range->functions)
	{
		const Node *function = linitial((const List *)lfirst(cell));
		ListCell *argument;
		if (!IsA(function, FuncCall))
			return false;
		foreach(argument, ((const FuncCall *)function)->args)
		{
			search->found = true;
			if (!search->visit(lfirst(argument), search->eval, search->context))
				return false;
		}
	}
	return true;
}

const struct range_item *const_eval_column_item(const ColumnRef *column, struct const_eval eval,
						size_t *ret_index)
{
	const struct resolved_column *resolved = resolution_column(eval.resolution, column);
	if (!resolved || resolved->kind != COLUMN_OF_ITEM || !resolved->item ||
	    resolved->column >= resolved->item->columns_count)
		return NULL;
	const struct range_item *item = resolved->item;
	const struct range_column *found = &item->columns[resolved->column];
	*ret_index = found->source && found->source != item ? found->source_index : resolved->column;
	return found->source ? found->source : item;
}

static bool each_of_column(struct source_search *search, const ColumnRef *column)
{
	size_t index;
	const struct range_item *item = const_eval_column_item(column, search->eval, &index);
	if (!item || !item->node)
		return false;
	if (item->kind == RANGE_CTE && item->cte)
		return !const_eval_recursive(item->cte) && each_output(search, item->cte->ctequery, index, 0);
	if (IsA(item->node, RangeSubselect))
		return each_output(search, ((const RangeSubselect *)item->node)->subquery, index, 0);
	return IsA(item->node, RangeFunction) && each_argument(search, (const RangeFunction *)item->node);
}

bool const_eval_sources(const Node *node, struct const_eval eval,
			bool (*visit)(const Node *value, struct const_eval eval, void *context),
			void *context)
{
	struct source_search search = { eval, visit, context, false };
	bool all = false;
	if (node && IsA(node, ColumnRef)) {
		all = each_of_column(&search, (const ColumnRef *)node);
	} else if (node && IsA(node, SubLink)) {
		const SubLink *link = (const SubLink *)node;
		all = (link->subLinkType == EXPR_SUBLINK || link->subLinkType == ARRAY_SUBLINK) &&
		      each_output(&search, link->subselect, 0, 0);
	}
	return all && search.found;
}

static bool keep_first(const Node *value, struct const_eval eval, void *context)
{
	const Node **first = context;
	(void)eval;
	*first = *first ? *first : value;
	return false;
}

const Node *const_eval_source(const Node *node, struct const_eval eval)
{
	const Node *first = NULL;
	(void)const_eval_sources(node, eval, keep_first, &first);
	return first;
}

static bool reads_name(const Node *node, void *context)
{
	const char *name = context;
	if (IsA(node, RangeVar) && !((const RangeVar *)node)->schemaname &&
	    strcmp(((const RangeVar *)node)->relname, name) == 0)
		return false;
	return node_children(node, reads_name, context);
}

bool const_eval_recursive(const CommonTableExpr *cte)
{
	char *name = cte->ctename;
	return cte->ctequery && IsA(cte->ctequery, SelectStmt) &&
	       ((const SelectStmt *)cte->ctequery)->op != SETOP_NONE &&
	       !node_children(cte->ctequery, reads_name, name);
}

/* Data */

static bool any_reads_data(const List *nodes, struct const_eval eval);

static bool reads_none(const Node *node, struct const_eval eval, void *context)
{
	(void)context;
	return !const_eval_may_read_data(node, eval);
}

/* A column of a query is followed to what it is made of; all that cannot be followed may be data. */
static bool column_reads_data(const Node *node, struct const_eval eval)
{
	return !const_eval_sources(node, eval, reads_none, NULL);
}

/* Aggregates and window functions count rows, which are data, without a column. */
static bool call_reads_data(const FuncCall *call, struct const_eval eval)
{
	return call->agg_star || call->over || call->agg_within_group || any_reads_data(call->args, eval);
}

static bool case_reads_data(const CaseExpr *expr, struct const_eval eval)
{
	ListCell *cell;
	foreach(cell, expr->args) if (const_eval_may_read_data(
					      (const Node *)((const CaseWhen *)lfirst(cell))->result,
					      eval)) return true;
	return const_eval_may_read_data((const Node *)expr->defresult, eval);
}

bool const_eval_may_read_data(const Node *node, struct const_eval eval)
{
	if (!node)
		return false;
	if (!const_eval_step(eval))
		return true;
	eval = const_eval_deeper(eval);
	switch ((int)nodeTag(node)) {
	case T_A_Const:
	case T_SQLValueFunction:
		return false;
	case T_TypeCast:
		return const_eval_may_read_data(((const TypeCast *)node)->arg, eval);
	case T_NamedArgExpr:
		return const_eval_may_read_data((const Node *)((const NamedArgExpr *)node)->arg, eval);
	case T_A_Expr:
		return const_eval_may_read_data(((const A_Expr *)node)->lexpr, eval) ||
		       const_eval_may_read_data(((const A_Expr *)node)->rexpr, eval);
	case T_A_Indirection:
		return const_eval_may_read_data(((const A_Indirection *)node)->arg, eval);
	case T_A_ArrayExpr:
		return any_reads_data(((const A_ArrayExpr *)node)->elements, eval);
	case T_CoalesceExpr:
		return any_reads_data(((const CoalesceExpr *)node)->args, eval);
	case T_MinMaxExpr:
		return any_reads_data(((const MinMaxExpr *)node)->args, eval);
	case T_FuncCall:
		return call_reads_data((const FuncCall *)node, eval);
	case T_CaseExpr:
		return case_reads_data((const CaseExpr *)node, eval);
	case T_ColumnRef:
	case T_SubLink:
		return column_reads_data(node, eval);
	default:
		return true;
	}
}

static bool any_reads_data(const List *nodes, struct const_eval eval)
{
	ListCell *cell;
	foreach(cell, nodes) if (const_eval_may_read_data(lfirst(cell), eval)) return true;
	return false;
}
