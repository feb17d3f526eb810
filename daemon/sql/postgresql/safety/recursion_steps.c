#include "sql/postgresql/safety/recursion.h" // first: see pg_nodes.h

#include "sql/query/steps.h"

#include <math.h>

/* A column of a recursion, and what it is held against. */
struct walked {
	const struct recursion *recursion;
	const char *column;
	const Node *next;
	double limit;
};

static double value_of(const struct walked *walked, const Node *node, double x, unsigned depth);

static double operation_value(const struct walked *walked, const A_Expr *expr, double x, unsigned depth)
{
	const char *op = expr->name && expr->kind == AEXPR_OP ? NODE_STRING(llast(expr->name)) : "";
	double right = value_of(walked, expr->rexpr, x, depth);
	if (!expr->lexpr)
		return strcmp(op, "-") == 0 ? -right : strcmp(op, "+") == 0 ? right : NAN;
	double left = value_of(walked, expr->lexpr, x, depth);
	bool whole =
		left >= trunc(left) && left <= trunc(left) && right >= trunc(right) && right <= trunc(right);
	return steps_operation(op, left, right, whole);
}

static double call_value(const struct walked *walked, const FuncCall *call, double x, unsigned depth)
{
	double first = value_of(walked, safety_call_argument(call, 0), x, depth);
	if (safety_call_is(call, "abs"))
		return fabs(first);
	if (safety_call_is(call, "floor"))
		return floor(first);
	if (safety_call_is(call, "ceil") || safety_call_is(call, "ceiling"))
		return ceil(first);
	return safety_call_is(call, "mod")
		       ? fmod(first, value_of(walked, safety_call_argument(call, 1), x, depth))
		       : NAN;
}

/* What the node is where the column is x; NAN: that is not known. */
static double value_of(const struct walked *walked, const Node *node, double x, unsigned depth)
{
	double value;
	if (!node || depth >= RECURSION_MAX_DEPTH)
		return NAN;
	const char *name = recursion_reference(node);
	if (name)
		return strcmp(name, walked->column) == 0 ? x : NAN;
	if (const_eval_number(node, walked->recursion->eval, &value))
		return value;
	if (IsA(node, TypeCast))
		return value_of(walked, (const Node *)((const TypeCast *)node)->arg, x, depth + 1);
	if (IsA(node, A_Expr))
		return operation_value(walked, (const A_Expr *)node, x, depth + 1);
	return IsA(node, FuncCall) ? call_value(walked, (const FuncCall *)node, x, depth + 1) : NAN;
}

static double next_value(const void *context, double x)
{
	const struct walked *walked = context;
	return value_of(walked, walked->next, x, 0);
}

static double held_value(const void *context, double x)
{
	const struct walked *walked = context;
	return x - walked->limit;
}

bool recursion_comes_to(const struct recursion *recursion, const char *op, const char *column, double limit)
{
	const SelectStmt *query = (const SelectStmt *)recursion->cte->ctequery;
	const Node *next = recursion_next_value(recursion, recursion_column(recursion->cte, column));
	struct walked walked = { recursion, column, next, limit };
	double start;
	if (!next || isnan(value_of(&walked, next, limit, 0)))
		return true;
	if (!recursion_start_number(recursion->cte, column, recursion->eval, &start))
		start = op[0] == '<' ? limit - 1 : op[0] == '>' ? limit + 1 : limit;
	bool alone = list_length(recursion->step->targetList) == 1;
	struct steps steps = { next_value, held_value, &walked, !query->all && alone };
	return steps_end(&steps, start, op);
}
