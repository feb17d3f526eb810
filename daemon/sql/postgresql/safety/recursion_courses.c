#include "sql/postgresql/safety/recursion.h" // first: see pg_nodes.h

const char *recursion_reference(const Node *node)
{
	if (!node || !IsA(node, ColumnRef))
		return NULL;
	const Node *last = llast(((const ColumnRef *)node)->fields);
	return IsA(last, String) ? NODE_STRING(last) : NULL;
}

const char *recursion_output(const ResTarget *target)
{
	return target->name ? target->name : recursion_reference(target->val);
}

/* Index of the recursive query's column of that name, or −1. */
int recursion_column(const CommonTableExpr *cte, const char *name)
{
	ListCell *cell;
	foreach(cell, cte->aliascolnames) if (strcmp(NODE_STRING(lfirst(cell)), name) ==
					      0) return foreach_current_index(cell);
	const SelectStmt *first = (const SelectStmt *)cte->ctequery;
	while (first->op != SETOP_NONE)
		first = first->larg;
	foreach(cell, cte->aliascolnames ? NULL : first->targetList)
	{
		const char *output = recursion_output(lfirst(cell));
		if (output && strcmp(output, name) == 0)
			return foreach_current_index(cell);
	}
	return -1;
}

/* How a column goes on whose next value is `expr`. */
static enum recursion_course operation_course(const A_Expr *expr, const char *name, struct const_eval eval)
{
	double number;
	const char *op = expr->name ? NODE_STRING(llast(expr->name)) : "";
	const char *left = recursion_reference(expr->lexpr);
	const char *right = recursion_reference(expr->rexpr);
	bool first = left && strcmp(left, name) == 0;
	if (!first && !(right && strcmp(right, name) == 0))
		return COURSE_UNKNOWN;
	const Node *other = first ? expr->rexpr : expr->lexpr;
	if (!const_eval_number(other, eval, &number)) {
		number = const_eval_interval(other, eval);
		if (number == 0)
			return COURSE_UNKNOWN;
	}
	if (strcmp(op, "+") == 0)
		return number > 0 ? COURSE_UP : number < 0 ? COURSE_DOWN : COURSE_CONSTANT;
	if (strcmp(op, "-") == 0 && first)
		return number > 0 ? COURSE_DOWN : number < 0 ? COURSE_UP : COURSE_CONSTANT;
	return COURSE_UNKNOWN;
}

/* How SQLite's date(column, '+1 day', …) goes on: by modifiers that are numbers, all of one sign. */
static enum recursion_course modified_course(const FuncCall *call, const char *name)
{
	const char *column = recursion_reference(safety_call_argument(call, 0));
	enum recursion_course found = COURSE_CONSTANT;
	if (!column || strcmp(column, name) != 0 || list_length(call->args) < 2 ||
	    !SAFETY_CALL_IS_ANY(call, "date", "datetime", "julianday"))
		return COURSE_UNKNOWN;
	for (int i = 1; i < list_length(call->args); i++) {
		const char *modifier = const_eval_text(safety_call_argument(call, i));
		char *end = NULL;
		double value = modifier ? strtod(modifier, &end) : 0;
		if (!modifier || end == modifier || strchr(end, ':'))
			return COURSE_UNKNOWN;
		enum recursion_course own = value > 0 ? COURSE_UP : value < 0 ? COURSE_DOWN : COURSE_CONSTANT;
		if (own != COURSE_CONSTANT && found != COURSE_CONSTANT && own != found)
			return COURSE_UNKNOWN;
		found = own == COURSE_CONSTANT ? found : own;
	}
	return found;
}

const Node *recursion_next_value(const struct recursion *recursion, int index)
{
	if (index < 0 || index >= list_length(recursion->step->targetList))
		return NULL;
	const Node *next = ((const ResTarget *)list_nth(recursion->step->targetList, index))->val;
	while (next && IsA(next, TypeCast))
		next = ((const TypeCast *)next)->arg;
	return next;
}

enum recursion_course recursion_course_of(const struct recursion *recursion, const char *name)
{
	double number;
	const Node *next = recursion_next_value(recursion, recursion_column(recursion->cte, name));
	const char *same = recursion_reference(next);
	if (!next)
		return COURSE_UNKNOWN;
	if ((same && strcmp(same, name) == 0) || const_eval_number(next, recursion->eval, &number))
		return COURSE_CONSTANT;
	if (IsA(next, FuncCall))
		return modified_course((const FuncCall *)next, name);
	return IsA(next, A_Expr) ? operation_course((const A_Expr *)next, name, recursion->eval)
				 : COURSE_UNKNOWN;
}

/* The column that the value goes up and down with: n, n::text, n + 1, abs(n), (n, …); or NULL. */
const char *recursion_followed(const Node *node, struct const_eval eval, unsigned depth)
{
	double number;
	if (!node || depth >= RECURSION_MAX_DEPTH)
		return NULL;
	depth++;
	if (IsA(node, ColumnRef))
		return recursion_reference(node);
	if (IsA(node, TypeCast))
		return recursion_followed(((const TypeCast *)node)->arg, eval, depth);
	if (IsA(node, RowExpr) && ((const RowExpr *)node)->args)
		return recursion_followed(linitial(((const RowExpr *)node)->args), eval, depth);
	if (IsA(node, CoalesceExpr))
		return recursion_followed(linitial(((const CoalesceExpr *)node)->args), eval, depth);
	if (IsA(node, FuncCall) && safety_call_is((const FuncCall *)node, "abs"))
		return recursion_followed(safety_call_argument((const FuncCall *)node, 0), eval, depth);
	if (!IsA(node, A_Expr) || ((const A_Expr *)node)->kind != AEXPR_OP)
		return NULL;
	const A_Expr *expr = (const A_Expr *)node;
	const char *op = NODE_STRING(llast(expr->name));
	bool moved =
		const_eval_number(expr->rexpr, eval, &number) || const_eval_interval(expr->rexpr, eval) != 0;
	return moved && expr->lexpr && (strcmp(op, "+") == 0 || strcmp(op, "-") == 0)
		       ? recursion_followed(expr->lexpr, eval, depth)
		       : NULL;
}

/* Where the column begins. */
const Node *recursion_start(const CommonTableExpr *cte, const char *name)
{
	const SelectStmt *first = ((const SelectStmt *)cte->ctequery)->larg;
	int index = recursion_column(cte, name);
	if (index < 0 || first->op != SETOP_NONE || list_length(first->valuesLists) > 1)
		return NULL;
	const List *row = first->valuesLists ? linitial(first->valuesLists) : first->targetList;
	if (index >= list_length(row))
		return NULL;
	const Node *value = list_nth(row, index);
	return value && IsA(value, ResTarget) ? ((const ResTarget *)value)->val : value;
}

bool recursion_start_number(const CommonTableExpr *cte, const char *name, struct const_eval eval,
			    double *ret_start)
{
	return const_eval_number(recursion_start(cte, name), eval, ret_start);
}
