#include "sql/postgresql/safety/recursion.h" // first: see pg_nodes.h

#include "sql/postgresql/parse/node_children.h"

#include <math.h>

/* Rows of VALUES, of constants in a set operation, of series. */
static double made_rows(const Node *query, unsigned depth)
{
	if (!query || !IsA(query, SelectStmt) || depth >= RECURSION_MAX_DEPTH)
		return 1;
	const SelectStmt *select = (const SelectStmt *)query;
	if (select->op == SETOP_UNION)
		return made_rows((const Node *)select->larg, depth + 1) +
		       made_rows((const Node *)select->rarg, depth + 1);
	return fmax(list_length(select->valuesLists), 1);
}

static bool never_names(const Node *node, void *context)
{
	const char *alias = context;
	if (IsA(node, ColumnRef) && list_length(((const ColumnRef *)node)->fields) == 2 &&
	    IsA(linitial(((const ColumnRef *)node)->fields), String) &&
	    strcmp(NODE_STRING(linitial(((const ColumnRef *)node)->fields)), alias) == 0)
		return false;
	return node_children(node, never_names, context);
}

static double call_rows(const Node *node, struct const_eval eval)
{
	if (!node || !IsA(node, FuncCall))
		return 1;
	const FuncCall *call = (const FuncCall *)node;
	const Node *array = safety_call_argument(call, 0);
	if (array && IsA(array, A_ArrayExpr) && safety_call_is(call, "unnest"))
		return fmax(list_length(((const A_ArrayExpr *)array)->elements), 1);
	return array ? bomb_call_size(call, eval).rows : 1;
}

/* Rows that each row of the working table is joined with. A condition on an item picks some of its rows. */
static double item_rows(const struct recursion *recursion, const Node *item, unsigned depth)
{
	if (!item || depth >= RECURSION_MAX_DEPTH)
		return 1;
	if (IsA(item, JoinExpr)) {
		const JoinExpr *join = (const JoinExpr *)item;
		return join->quals && !recursion_without_columns(recursion->resolution, join->quals)
			       ? 1
			       : item_rows(recursion, join->larg, depth + 1) *
					 item_rows(recursion, join->rarg, depth + 1);
	}
	if (IsA(item, RangeSubselect)) {
		const RangeSubselect *range = (const RangeSubselect *)item;
		const Node *where = recursion->step->whereClause;
		bool picked = where && range->alias && !never_names(where, range->alias->aliasname);
		return picked ? 1 : made_rows(range->subquery, 0);
	}
	if (IsA(item, RangeVar) && recursion->resolution) {
		const struct range_item *found = resolution_item(recursion->resolution, item);
		bool other = found && found->kind == RANGE_CTE && found->cte && found->cte != recursion->cte;
		const Node *where = recursion->step->whereClause;
		const RangeVar *range = (const RangeVar *)item;
		char *name = range->alias ? range->alias->aliasname : range->relname;
		return other && (!where || never_names(where, name)) ? made_rows(found->cte->ctequery, 0) : 1;
	}
	if (!IsA(item, RangeFunction) || !((const RangeFunction *)item)->functions)
		return 1;
	return call_rows(linitial((const List *)linitial(((const RangeFunction *)item)->functions)),
			 recursion->eval);
}

/* Least number that a column is kept below; of conditions joined by AND. */
static bool levels_of(const struct recursion *recursion, const Node *where, double *ret_levels,
		      unsigned depth)
{
	double limit;
	double start = 0;
	bool any = false;
	ListCell *cell;
	if (!where || depth >= RECURSION_MAX_DEPTH)
		return false;
	if (IsA(where, BoolExpr) && ((const BoolExpr *)where)->boolop == AND_EXPR) {
		foreach(cell, ((const BoolExpr *)where)->args) any =
			levels_of(recursion, lfirst(cell), ret_levels, depth + 1) || any;
		return any;
	}
	const A_Expr *expr = IsA(where, A_Expr) ? (const A_Expr *)where : NULL;
	bool between = expr && expr->kind == AEXPR_BETWEEN;
	if (!expr || (expr->kind != AEXPR_OP && !between) || !expr->lexpr)
		return false;
	const Node *right = between ? lsecond((const List *)expr->rexpr) : expr->rexpr;
	bool swapped = !between && const_eval_number(expr->lexpr, recursion->eval, &limit);
	const char *column = recursion_followed(swapped ? right : expr->lexpr, recursion->eval, 0);
	if (!swapped && !const_eval_number(right, recursion->eval, &limit))
		return false;
	double step = 1;
	const Node *next =
		column ? recursion_next_value(recursion, recursion_column(recursion->cte, column)) : NULL;
	if (next && IsA(next, A_Expr))
		step = fabs(fmax(const_eval_number_or(((const A_Expr *)next)->rexpr, recursion->eval, 1),
				 const_eval_number_or(((const A_Expr *)next)->lexpr, recursion->eval, 1)));
	if (column && !recursion_start_number(recursion->cte, column, recursion->eval, &start))
		start = 0;
	*ret_levels = fmin(*ret_levels, fabs(limit - start) / fmax(step, 1e-3));
	return true;
}

double bomb_recursion_rows(const CommonTableExpr *cte, struct const_eval eval)
{
	if (!cte->ctequery || !IsA(cte->ctequery, SelectStmt) || !const_eval_recursive(cte))
		return 1;
	const struct resolution *resolution = eval.resolution;
	eval.resolution = NULL;
	eval.memory = NULL;
	const SelectStmt *arm = ((const SelectStmt *)cte->ctequery)->rarg;
	struct recursion recursion = { cte, arm, eval, resolution };
	double each = 1;
	double levels = INFINITY;
	ListCell *cell;
	if (!arm || arm->op != SETOP_NONE || arm->distinctClause || arm->groupClause || arm->limitCount)
		return 1;
	foreach(cell, arm->fromClause) each *= item_rows(&recursion, lfirst(cell), 0);
	foreach(cell, arm->targetList) each *= call_rows(((const ResTarget *)lfirst(cell))->val, eval);
	if (!levels_of(&recursion, arm->whereClause, &levels, 0))
		return 1;
	return each < 2 ? fmax(levels, 1) : pow(each, levels);
}
