#include "sql/postgresql/safety/recursion.h" // first: see pg_nodes.h

#include "sql/postgresql/parse/node_children.h"
#include "sql/query/steps.h"

#include <math.h>

#define DAY_S 86400.0

struct column_search {
	const struct resolution *resolution; /* or NULL */
};

/* Stops at a column that may go on from row to row; that of a table does not. */
static bool names_no_column(const Node *node, void *context)
{
	const struct column_search *search = context;
	if (!IsA(node, ColumnRef))
		return node_children(node, names_no_column, context);
	const struct resolved_column *column =
		search->resolution ? resolution_column(search->resolution, (const ColumnRef *)node) : NULL;
	return column && column->kind == COLUMN_OF_ITEM && column->item &&
	       column->item->kind == RANGE_RELATION && column->item->relation;
}

/* Conditions that have nothing to do with the recursion end nothing. */
bool recursion_without_columns(const struct resolution *resolution, const Node *node)
{
	struct column_search search = { resolution };
	return names_no_column(node, &search);
}

/* Numbers, literals, and moments that no column takes part in. */
static bool is_constant(const Node *node, struct const_eval eval)
{
	double value;
	return const_eval_number(node, eval, &value) || IsA(node, A_Const) ||
	       (recursion_without_columns(NULL, node) && !isnan(const_eval_moment(node, eval)));
}

/* What an operation of a counter and a number counts by. */
static double step_of(const struct recursion *recursion, const A_Expr *expr)
{
	double step;
	bool known = (expr->rexpr && const_eval_number(expr->rexpr, recursion->eval, &step)) ||
		     (expr->lexpr && const_eval_number(expr->lexpr, recursion->eval, &step));
	return known && fabs(step) > 0 ? fabs(step) : 1;
}

/* `counter <> limit` is met only where the counter comes by; no text without a digit is a number. */
static bool comes_by(const struct recursion *recursion, const char *column, enum recursion_course course,
		     const Node *limit)
{
	double value;
	double start;
	const char *text = const_eval_text(limit);
	if (!const_eval_number(limit, recursion->eval, &value))
		return !text || strpbrk(text, "0123456789");
	if (!recursion_start_number(recursion->cte, column, recursion->eval, &start))
		return true;
	const Node *next = recursion_next_value(recursion, recursion_column(recursion->cte, column));
	double step = next && IsA(next, A_Expr) ? step_of(recursion, (const A_Expr *)next) : 1;
	return (course == COURSE_UP ? start <= value : start >= value) &&
	       fabs(remainder(value - start, step)) < 1e-6 * step;
}

/* Whether the comparison `column op limit` becomes false on that course. */
static bool is_met(const struct recursion *recursion, const char *op, const char *column,
		   enum recursion_course course, const Node *limit)
{
	double value;
	if (course == COURSE_CONSTANT)
		return false;
	if (course == COURSE_UNKNOWN)
		return !const_eval_number(limit, recursion->eval, &value) ||
		       !STR_IS_ANY(str_from(op), "<", "<=", ">", ">=", "=", "<>") ||
		       recursion_comes_to(recursion, op, column, value);
	if (strcmp(op, "=") == 0)
		return true;
	if (strcmp(op, "<") == 0 || strcmp(op, "<=") == 0)
		return course == COURSE_UP;
	if (strcmp(op, ">") == 0 || strcmp(op, ">=") == 0)
		return course == COURSE_DOWN;
	return strcmp(op, "<>") == 0 && comes_by(recursion, column, course, limit);
}

static const char *negated(const char *op)
{
	return strcmp(op, ">") == 0    ? "<="
	       : strcmp(op, ">=") == 0 ? "<"
	       : strcmp(op, "<") == 0  ? ">="
	       : strcmp(op, "<=") == 0 ? ">"
	       : strcmp(op, "<>") == 0 ? "="
	       : strcmp(op, "=") == 0  ? "<>"
				       : op;
}

/* Steps of a column of moments from its start to the limit; 0: not known, or it has none. */
static double moments_between(const struct recursion *recursion, const char *column, const Node *limit)
{
	struct const_eval eval = recursion->eval;
	const Node *next = recursion_next_value(recursion, recursion_column(recursion->cte, column));
	const Node *start = recursion_start(recursion->cte, column);
	if (!next || !start || !IsA(next, A_Expr))
		return 0;
	double step = fmax(fabs(const_eval_interval(((const A_Expr *)next)->rexpr, eval)),
			   fabs(const_eval_interval(((const A_Expr *)next)->lexpr, eval)));
	double span = fabs(const_eval_moment(limit, eval) - const_eval_moment(start, eval));
	if (isnan(span)) /* between moments of data lies a day at least */
		span = DAY_S;
	return step > 0 ? span / step : 0;
}

static enum recursion_bound limit_bound(const struct recursion *recursion, const char *op, const Node *side,
					const Node *limit)
{
	double value;
	const char *column = recursion_followed(side, recursion->eval, 0);
	enum recursion_course course = column ? recursion_course_of(recursion, column) : COURSE_UNKNOWN;
	if (column && !is_met(recursion, op, column, course, limit))
		return BOUND_NONE;
	if (column && course != COURSE_UNKNOWN && moments_between(recursion, column, limit) >= BOMB_CALL_ROWS)
		return BOUND_HUGE;
	bool counts = !column || course != COURSE_UNKNOWN; /* a sum, a product: faster */
	return counts && const_eval_number(limit, recursion->eval, &value) && fabs(value) >= BOMB_CALL_ROWS
		       ? BOUND_HUGE
		       : BOUND_SOME;
}

/* n BETWEEN 1 AND 10: by the bound that the column comes to. */
static enum recursion_bound between_bound(const struct recursion *recursion, const A_Expr *expr)
{
	const List *limits = (const List *)expr->rexpr;
	enum recursion_bound lower = limit_bound(recursion, ">=", expr->lexpr, linitial(limits));
	enum recursion_bound upper = limit_bound(recursion, "<=", expr->lexpr, lsecond(limits));
	return lower > upper ? lower : upper;
}

static enum recursion_bound operator_bound(const struct recursion *recursion, const A_Expr *expr,
					   const char *op)
{
	struct const_eval eval = recursion->eval;
	bool left_constant = expr->lexpr && is_constant(expr->lexpr, eval);
	bool right_constant = expr->rexpr && (is_constant(expr->rexpr, eval) || IsA(expr->rexpr, RowExpr));
	if (left_constant && right_constant)
		return BOUND_NONE;
	if (left_constant || right_constant)
		return limit_bound(recursion, left_constant ? steps_mirrored(op) : op,
				   left_constant ? expr->rexpr : expr->lexpr,
				   left_constant ? expr->lexpr : expr->rexpr);
	const char *left = recursion_followed(expr->lexpr, eval, 0);
	const char *right = recursion_followed(expr->rexpr, eval, 0);
	if (left && right && strcmp(left, right) == 0 &&
	    recursion_course_of(recursion, left) != COURSE_UNKNOWN) /* against itself */
		return BOUND_NONE;
	return BOUND_SOME;
}

static enum recursion_bound comparison_bound(const struct recursion *recursion, const A_Expr *expr,
					     bool negative)
{
	const char *op = expr->name ? NODE_STRING(llast(expr->name)) : "";
	const char *column = recursion_followed(expr->lexpr, recursion->eval, 0);
	bool counter = column && recursion_course_of(recursion, column) != COURSE_UNKNOWN;
	switch (expr->kind) {
	case AEXPR_OP:
	case AEXPR_DISTINCT:
		op = expr->kind == AEXPR_DISTINCT ? "<>" : op;
		return operator_bound(recursion, expr, negative ? negated(op) : op);
	case AEXPR_BETWEEN:
	case AEXPR_BETWEEN_SYM:
		return negative ? BOUND_SOME : between_bound(recursion, expr);
	case AEXPR_IN: /* a few values end a counter, not what stays; all others do not */
		if (counter && recursion_course_of(recursion, column) == COURSE_CONSTANT)
			return BOUND_NONE;
		return counter && (strcmp(op, "<>") == 0) != negative ? BOUND_NONE : BOUND_SOME;
	case AEXPR_LIKE:
	case AEXPR_ILIKE:
	case AEXPR_SIMILAR:
	case AEXPR_OP_ANY:
		return counter ? BOUND_NONE : BOUND_SOME;
	default:
		return BOUND_SOME;
	}
}

static enum recursion_bound condition_bound(const struct recursion *recursion, const Node *node,
					    bool negative, unsigned depth);

/* AND is as tight as its tightest part, OR as loose as its loosest. */
static enum recursion_bound list_bound(const struct recursion *recursion, const BoolExpr *expr, bool negative,
				       unsigned depth)
{
	bool either = (expr->boolop == OR_EXPR) != negative;
	enum recursion_bound found = either ? BOUND_SOME : BOUND_NONE;
	ListCell *cell;
	foreach(cell, expr->args)
	{
		enum recursion_bound part = condition_bound(recursion, lfirst(cell), negative, depth + 1);
		if (either ? part < found : part > found)
			found = part;
	}
	return found;
}

static enum recursion_bound condition_bound(const struct recursion *recursion, const Node *node,
					    bool negative, unsigned depth)
{
	if (!node || recursion_without_columns(recursion->resolution, node))
		return BOUND_NONE;
	if (depth >= RECURSION_MAX_DEPTH)
		return BOUND_SOME;
	if (IsA(node, A_Expr))
		return comparison_bound(recursion, (const A_Expr *)node, negative);
	if (IsA(node, NullTest)) { /* a counter is never NULL */
		const NullTest *test = (const NullTest *)node;
		const char *column = recursion_followed((const Node *)test->arg, recursion->eval, 0);
		bool counter = column && recursion_course_of(recursion, column) != COURSE_UNKNOWN;
		return counter && (test->nulltesttype == IS_NOT_NULL) != negative ? BOUND_NONE : BOUND_SOME;
	}
	if (!IsA(node, BoolExpr))
		return BOUND_SOME;
	const BoolExpr *expr = (const BoolExpr *)node;
	if (expr->boolop == NOT_EXPR)
		return condition_bound(recursion, linitial(expr->args), !negative, depth + 1);
	return list_bound(recursion, expr, negative, depth);
}

static enum recursion_bound max_bound(enum recursion_bound a, enum recursion_bound b)
{
	return a > b ? a : b;
}

static enum recursion_bound from_bound(const struct recursion *recursion, const Node *node, unsigned depth)
{
	if (depth >= RECURSION_MAX_DEPTH || !node)
		return BOUND_NONE;
	if (IsA(node, RangeSubselect) && IsA(((const RangeSubselect *)node)->subquery, SelectStmt))
		return recursion_bound_of(
			*recursion, (const SelectStmt *)((const RangeSubselect *)node)->subquery, depth + 1);
	if (!IsA(node, JoinExpr))
		return BOUND_NONE;
	const JoinExpr *join = (const JoinExpr *)node;
	if (join->usingClause || join->isNatural)
		return BOUND_SOME;
	return max_bound(condition_bound(recursion, join->quals, false, 0),
			 max_bound(from_bound(recursion, join->larg, depth + 1),
				   from_bound(recursion, join->rarg, depth + 1)));
}

enum recursion_bound recursion_bound_of(struct recursion recursion, const SelectStmt *select, unsigned depth)
{
	if (!select || depth >= RECURSION_MAX_DEPTH)
		return BOUND_SOME;
	if (select->op != SETOP_NONE)
		return max_bound(recursion_bound_of(recursion, select->larg, depth + 1),
				 recursion_bound_of(recursion, select->rarg, depth + 1));
	if (!recursion.step)
		recursion.step = select;
	enum recursion_bound found = max_bound(condition_bound(&recursion, select->whereClause, false, 0),
					       condition_bound(&recursion, select->havingClause, false, 0));
	ListCell *cell;
	foreach(cell, select->fromClause) found =
		max_bound(found, from_bound(&recursion, lfirst(cell), depth + 1));
	foreach(cell, select->withClause ? select->withClause->ctes : NIL)
	{
		const Node *query = ((const CommonTableExpr *)lfirst(cell))->ctequery;
		if (IsA(query, SelectStmt))
			found = max_bound(
				found, recursion_bound_of(recursion, (const SelectStmt *)query, depth + 1));
	}
	return found;
}
