#include "sql/postgresql/safety/bombs.h"

#include <math.h>

#define MAX_DEPTH 64 /* of conditions and FROM items that are looked into */

/* What a condition does to a recursion. */
enum bound { BOUND_NONE, BOUND_HUGE, BOUND_SOME };

/* How a column goes on from row to row. */
enum course { COURSE_UNKNOWN, COURSE_CONSTANT, COURSE_UP, COURSE_DOWN };

struct recursion {
	const CommonTableExpr *cte;
	const SelectStmt *step; /* the recursive arm under way */
	struct look look;
};

/* Columns */

static const char *reference_name(const Node *node)
{
	if (!node || !IsA(node, ColumnRef))
		return NULL;
	const Node *last = llast(((const ColumnRef *)node)->fields);
	return IsA(last, String) ? NODE_STRING(last) : NULL;
}

static const char *output_name(const ResTarget *target)
{
	return target->name ? target->name : reference_name(target->val);
}

/* Index of the recursive query's column of that name, or −1. */
static int column_index(const CommonTableExpr *cte, const char *name)
{
	ListCell *cell;
	foreach(cell, cte->aliascolnames) if (strcmp(NODE_STRING(lfirst(cell)), name) ==
					      0) return foreach_current_index(cell);
	const SelectStmt *first = (const SelectStmt *)cte->ctequery;
	while (first->op != SETOP_NONE)
		first = first->larg;
	foreach(cell, cte->aliascolnames ? NULL : first->targetList)
	{
		const char *output = output_name(lfirst(cell));
		if (output && strcmp(output, name) == 0)
			return foreach_current_index(cell);
	}
	return -1;
}

static enum course operation_course(const A_Expr *expr, const char *name, struct look look)
{
	double number;
	const char *op = expr->name ? NODE_STRING(llast(expr->name)) : "";
	const char *left = reference_name(expr->lexpr);
	const char *right = reference_name(expr->rexpr);
	bool first = left && strcmp(left, name) == 0;
	if (!first && !(right && strcmp(right, name) == 0))
		return COURSE_UNKNOWN;
	if (!constant_number(first ? expr->rexpr : expr->lexpr, look, &number))
		return COURSE_UNKNOWN;
	if (strcmp(op, "+") == 0)
		return number > 0 ? COURSE_UP : number < 0 ? COURSE_DOWN : COURSE_CONSTANT;
	if (strcmp(op, "-") == 0 && first)
		return number > 0 ? COURSE_DOWN : number < 0 ? COURSE_UP : COURSE_CONSTANT;
	return COURSE_UNKNOWN;
}

static enum course course_of(const struct recursion *recursion, const char *name)
{
	int index = column_index(recursion->cte, name);
	if (index < 0 || index >= list_length(recursion->step->targetList))
		return COURSE_UNKNOWN;
	const Node *next = ((const ResTarget *)list_nth(recursion->step->targetList, index))->val;
	const char *same = reference_name(next);
	double number;
	if ((same && strcmp(same, name) == 0) || constant_number(next, recursion->look, &number))
		return COURSE_CONSTANT;
	return next && IsA(next, A_Expr) ? operation_course((const A_Expr *)next, name, recursion->look)
					 : COURSE_UNKNOWN;
}

/* How often the text of the next row holds that of the row before. */
static double copies(const Node *node, const char *name, unsigned depth)
{
	double total = 0;
	const char *same = reference_name(node);
	ListCell *cell;
	if (!node || depth >= MAX_DEPTH)
		return 0;
	if (same)
		return strcmp(same, name) == 0 ? 1 : 0;
	if (IsA(node, TypeCast))
		return copies(((const TypeCast *)node)->arg, name, depth + 1);
	if (IsA(node, A_Expr)) {
		const A_Expr *expr = (const A_Expr *)node;
		if (expr->kind == AEXPR_OP && strcmp(NODE_STRING(llast(expr->name)), "||") == 0)
			return copies(expr->lexpr, name, depth + 1) + copies(expr->rexpr, name, depth + 1);
	}
	if (IsA(node, FuncCall) &&
	    (call_is((const FuncCall *)node, "concat") || call_is((const FuncCall *)node, "concat_ws")))
		foreach(cell, ((const FuncCall *)node)->args) total += copies(lfirst(cell), name, depth + 1);
	return total;
}

/* Whether a column of the recursive arm doubles from row to row. */
static bool doubles(const CommonTableExpr *cte, const SelectStmt *arm)
{
	ListCell *cell;
	foreach(cell, arm->op == SETOP_NONE ? arm->targetList : NULL)
	{
		const SelectStmt *first = ((const SelectStmt *)cte->ctequery)->larg;
		int index = foreach_current_index(cell);
		const char *name = NULL;
		if (index < list_length(cte->aliascolnames))
			name = NODE_STRING(list_nth(cte->aliascolnames, index));
		else if (first->op == SETOP_NONE && index < list_length(first->targetList))
			name = output_name(list_nth(first->targetList, index));
		if (name && copies(((const ResTarget *)lfirst(cell))->val, name, 0) >= 2)
			return true;
	}
	return false;
}

/* Conditions */

/* `counter::text <> 'x'`: no number is ever written like that. */
static bool never_equal(const char *op, const Node *side, const Node *limit, enum course course)
{
	const char *text = constant_text(limit);
	return strcmp(op, "<>") == 0 && IsA(side, TypeCast) && text && !strpbrk(text, "0123456789") &&
	       course != COURSE_UNKNOWN;
}

static bool is_constant(const Node *node, struct look look)
{
	double value;
	return constant_number(node, look, &value) || IsA(node, A_Const);
}

/* Whether the comparison `column op limit` becomes false on that course. */
static bool is_met(const char *op, enum course course)
{
	if (course == COURSE_CONSTANT)
		return false;
	if (op[0] == '<' && op[1] != '>')
		return course != COURSE_DOWN;
	if (op[0] == '>')
		return course != COURSE_UP;
	return true;
}

static const char *mirrored(const char *op)
{
	return op[0] == '>' ? "<" : op[0] == '<' && op[1] != '>' ? ">" : op;
}

static enum bound comparison_bound(const struct recursion *recursion, const A_Expr *expr)
{
	struct look look = recursion->look;
	bool left_constant = expr->lexpr && is_constant(expr->lexpr, look);
	bool right_constant = expr->rexpr && is_constant(expr->rexpr, look);
	if (left_constant && right_constant)
		return BOUND_NONE;
	if (expr->kind != AEXPR_OP || (!left_constant && !right_constant))
		return BOUND_SOME;
	const char *op = NODE_STRING(llast(expr->name));
	const Node *side = left_constant ? expr->rexpr : expr->lexpr;
	const Node *value = side && IsA(side, TypeCast) ? ((const TypeCast *)side)->arg : side;
	const char *column = reference_name(value);
	enum course course = column ? course_of(recursion, column) : COURSE_UNKNOWN;
	if (column && (!is_met(left_constant ? mirrored(op) : op, course) ||
		       never_equal(op, side, left_constant ? expr->lexpr : expr->rexpr, course)))
		return BOUND_NONE;
	double limit;
	bool counts = !column || course != COURSE_UNKNOWN; /* a sum, a product: faster */
	bool huge = counts && constant_number(left_constant ? expr->lexpr : expr->rexpr, look, &limit) &&
		    fabs(limit) >= BOMB_CALL_ROWS;
	return huge ? BOUND_HUGE : BOUND_SOME;
}

static enum bound condition_bound(const struct recursion *recursion, const Node *node, unsigned depth);

/* AND is as tight as its tightest part, OR as loose as its loosest. */
static enum bound list_bound(const struct recursion *recursion, const BoolExpr *expr, unsigned depth)
{
	enum bound found = expr->boolop == OR_EXPR ? BOUND_SOME : BOUND_NONE;
	ListCell *cell;
	foreach(cell, expr->args)
	{
		enum bound part = condition_bound(recursion, lfirst(cell), depth + 1);
		if (expr->boolop == OR_EXPR ? part < found : part > found)
			found = part;
	}
	return found;
}

static enum bound condition_bound(const struct recursion *recursion, const Node *node, unsigned depth)
{
	if (!node)
		return BOUND_NONE;
	if (depth >= MAX_DEPTH)
		return BOUND_SOME;
	if (IsA(node, A_Const))
		return BOUND_NONE;
	if (IsA(node, A_Expr))
		return comparison_bound(recursion, (const A_Expr *)node);
	if (IsA(node, NullTest)) { /* a counter is never NULL */
		const NullTest *test = (const NullTest *)node;
		const char *column = reference_name((const Node *)test->arg);
		bool counter = column && course_of(recursion, column) != COURSE_UNKNOWN;
		return counter && test->nulltesttype == IS_NOT_NULL ? BOUND_NONE : BOUND_SOME;
	}
	if (IsA(node, BoolExpr) && ((const BoolExpr *)node)->boolop != NOT_EXPR)
		return list_bound(recursion, (const BoolExpr *)node, depth);
	return BOUND_SOME;
}

static enum bound max_bound(enum bound a, enum bound b)
{
	return a > b ? a : b;
}

static enum bound select_bound(struct recursion recursion, const SelectStmt *select, unsigned depth);

static enum bound from_bound(const struct recursion *recursion, const Node *node, unsigned depth)
{
	if (depth >= MAX_DEPTH || !node)
		return BOUND_NONE;
	if (IsA(node, RangeSubselect) && IsA(((const RangeSubselect *)node)->subquery, SelectStmt))
		return select_bound(*recursion, (const SelectStmt *)((const RangeSubselect *)node)->subquery,
				    depth + 1);
	if (!IsA(node, JoinExpr))
		return BOUND_NONE;
	const JoinExpr *join = (const JoinExpr *)node;
	if (join->usingClause || join->isNatural)
		return BOUND_SOME;
	return max_bound(condition_bound(recursion, join->quals, 0),
			 max_bound(from_bound(recursion, join->larg, depth + 1),
				   from_bound(recursion, join->rarg, depth + 1)));
}

static bool few_rows(const Node *limit, struct look look)
{
	return limit && constant_number_or(limit, look, BOMB_CALL_ROWS) < BOMB_CALL_ROWS;
}

static enum bound select_bound(struct recursion recursion, const SelectStmt *select, unsigned depth)
{
	if (!select || depth >= MAX_DEPTH || few_rows(select->limitCount, recursion.look))
		return BOUND_SOME;
	if (select->op != SETOP_NONE)
		return max_bound(select_bound(recursion, select->larg, depth + 1),
				 select_bound(recursion, select->rarg, depth + 1));
	if (!recursion.step)
		recursion.step = select;
	enum bound found = max_bound(condition_bound(&recursion, select->whereClause, 0),
				     condition_bound(&recursion, select->havingClause, 0));
	ListCell *cell;
	foreach(cell, select->fromClause) found =
		max_bound(found, from_bound(&recursion, lfirst(cell), depth + 1));
	return found;
}

/* Readers */

/* Whether the query reads from the name anywhere in its FROM clauses. */
static bool reads_from(const Node *node, const char *name, unsigned depth)
{
	if (!node || depth >= MAX_DEPTH)
		return false;
	ListCell *cell;
	switch ((int)nodeTag(node)) {
	case T_RangeVar: {
		const RangeVar *range = (const RangeVar *)node;
		return !range->schemaname && strcmp(range->relname, name) == 0;
	}
	case T_JoinExpr:
		return reads_from(((const JoinExpr *)node)->larg, name, depth + 1) ||
		       reads_from(((const JoinExpr *)node)->rarg, name, depth + 1);
	case T_RangeSubselect:
		return reads_from(((const RangeSubselect *)node)->subquery, name, depth + 1);
	case T_SelectStmt: {
		const SelectStmt *select = (const SelectStmt *)node;
		foreach(cell, select->fromClause) if (reads_from(lfirst(cell), name, depth + 1)) return true;
		return reads_from((const Node *)select->larg, name, depth + 1) ||
		       reads_from((const Node *)select->rarg, name, depth + 1);
	}
	default:
		return false;
	}
}

/* Whether the query takes the first few rows as they come, and then stops: PostgreSQL makes no more of them.
 */
static bool takes_few(const SelectStmt *reader, const char *name, struct look look)
{
	if (!reader || reader->op != SETOP_NONE || list_length(reader->withClause->ctes) != 1 ||
	    !few_rows(reader->limitCount, look) || reader->limitOffset || reader->sortClause ||
	    reader->groupClause || reader->distinctClause || reader->havingClause || reader->whereClause ||
	    reader->windowClause || list_length(reader->fromClause) != 1 ||
	    !IsA(linitial(reader->fromClause), RangeVar) ||
	    !reads_from(linitial(reader->fromClause), name, 0))
		return false;
	ListCell *cell;
	foreach(cell, reader->targetList)
	{
		const Node *value = ((const ResTarget *)lfirst(cell))->val;
		if (!value || !(IsA(value, ColumnRef) || IsA(value, A_Const)))
			return false;
	}
	return true;
}

/* Whether the arm makes no value that is not there already: UNION ends such a recursion. */
static bool only_repeats(const SelectStmt *arm)
{
	ListCell *cell;
	foreach(cell, arm->targetList)
	{
		const Node *value = ((const ResTarget *)lfirst(cell))->val;
		if (!value || !(IsA(value, ColumnRef) || IsA(value, A_Const)))
			return false;
	}
	return arm->op == SETOP_NONE && arm->targetList;
}

/* Rows that each row of the working table is joined with: of VALUES. */
static double rows_per_level(const SelectStmt *arm)
{
	double rows = 1;
	ListCell *cell;
	foreach(cell, arm->fromClause)
	{
		const Node *item = lfirst(cell);
		if (IsA(item, RangeSubselect) && IsA(((const RangeSubselect *)item)->subquery, SelectStmt))
			rows *= fmax(
				list_length(((const SelectStmt *)((const RangeSubselect *)item)->subquery)
						    ->valuesLists),
				1);
	}
	return rows;
}

/* Whether rows^levels are too many, where a counter that goes up by one is all that the arm looks at. */
static bool multiplies(const CommonTableExpr *cte, const SelectStmt *arm, struct look look)
{
	double limit;
	struct recursion recursion = { cte, arm, look };
	const Node *where = arm->whereClause;
	double rows = rows_per_level(arm);
	if (arm->op != SETOP_NONE || arm->distinctClause || arm->groupClause || rows < 2 || !where ||
	    !IsA(where, A_Expr) || ((const A_Expr *)where)->kind != AEXPR_OP)
		return false;
	const A_Expr *expr = (const A_Expr *)where;
	const char *column = reference_name(expr->lexpr);
	int index = column ? column_index(cte, column) : -1;
	if (index < 0 || NODE_STRING(llast(expr->name))[0] != '<' ||
	    !constant_number(expr->rexpr, look, &limit) || course_of(&recursion, column) != COURSE_UP)
		return false;
	const A_Expr *next = (const A_Expr *)((const ResTarget *)list_nth(arm->targetList, index))->val;
	double step =
		fmax(constant_number_or(next->rexpr, look, 1), constant_number_or(next->lexpr, look, 1));
	const SelectStmt *first = ((const SelectStmt *)cte->ctequery)->larg;
	if (first->op != SETOP_NONE || index >= list_length(first->targetList))
		return false;
	double start =
		constant_number_or(((const ResTarget *)list_nth(first->targetList, index))->val, look, limit);
	return pow(rows, fmax(limit - start, 0) / fmax(step, 1e-3)) >= BOMB_QUERY_ROWS;
}

bool bomb_recursion_read(const CommonTableExpr *cte, const SelectStmt *reader, struct look look)
{
	if (!cte->ctequery || !IsA(cte->ctequery, SelectStmt))
		return false;
	const SelectStmt *query = (const SelectStmt *)cte->ctequery;
	if (query->op == SETOP_NONE || !reads_from(cte->ctequery, cte->ctename, 0) || cte->cycle_clause)
		return false;
	if (few_rows(query->limitCount, look) || takes_few(reader, cte->ctename, look))
		return false;
	if (!query->all && only_repeats(query->rarg))
		return false;
	look.resolution = NULL; /* a column of the recursion is no constant, whatever it begins with */
	struct recursion recursion = { cte, NULL, look };
	if (doubles(cte, query->rarg) || (query->all && multiplies(cte, query->rarg, look)))
		return true;
	return select_bound(recursion, query->rarg, 0) != BOUND_SOME;
}

bool bomb_recursion(const CommonTableExpr *cte)
{
	unsigned steps = 0;
	return bomb_recursion_read(cte, NULL, (struct look){ NULL, &steps, 0 });
}
