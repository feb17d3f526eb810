#include "sql/postgresql/safety/bombs.h" // first: see pg_nodes.h

#include "sql/postgresql/node_children.h"

#include <math.h>

#define MAX_DEPTH 64 /* of conditions and FROM items that are looked into */

/* What a condition does to a recursion. */
enum bound { BOUND_NONE, BOUND_HUGE, BOUND_SOME };

/* How a column goes on from row to row. */
enum course { COURSE_UNKNOWN, COURSE_CONSTANT, COURSE_UP, COURSE_DOWN };

struct recursion {
	const CommonTableExpr *cte;
	const SelectStmt *step;		     /* the recursive arm under way */
	struct look look;		     /* knows no columns: those of a recursion are no constants */
	const struct resolution *resolution; /* or NULL */
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

static enum course course_of(const struct recursion *recursion, const char *name);

/* How a column goes on whose next value is `expr`. */
static enum course operation_course(const A_Expr *expr, const char *name, struct look look)
{
	double number;
	const char *op = expr->name ? NODE_STRING(llast(expr->name)) : "";
	const char *left = reference_name(expr->lexpr);
	const char *right = reference_name(expr->rexpr);
	bool first = left && strcmp(left, name) == 0;
	if (!first && !(right && strcmp(right, name) == 0))
		return COURSE_UNKNOWN;
	const Node *other = first ? expr->rexpr : expr->lexpr;
	if (!constant_number(other, look, &number)) {
		number = constant_interval(other, look);
		if (number == 0)
			return COURSE_UNKNOWN;
	}
	if (strcmp(op, "+") == 0)
		return number > 0 ? COURSE_UP : number < 0 ? COURSE_DOWN : COURSE_CONSTANT;
	if (strcmp(op, "-") == 0 && first)
		return number > 0 ? COURSE_DOWN : number < 0 ? COURSE_UP : COURSE_CONSTANT;
	return COURSE_UNKNOWN;
}

static const Node *next_value(const struct recursion *recursion, int index)
{
	if (index < 0 || index >= list_length(recursion->step->targetList))
		return NULL;
	const Node *next = ((const ResTarget *)list_nth(recursion->step->targetList, index))->val;
	while (next && IsA(next, TypeCast))
		next = ((const TypeCast *)next)->arg;
	return next;
}

static enum course course_of(const struct recursion *recursion, const char *name)
{
	double number;
	const Node *next = next_value(recursion, column_index(recursion->cte, name));
	const char *same = reference_name(next);
	if (!next)
		return COURSE_UNKNOWN;
	if ((same && strcmp(same, name) == 0) || constant_number(next, recursion->look, &number))
		return COURSE_CONSTANT;
	return IsA(next, A_Expr) ? operation_course((const A_Expr *)next, name, recursion->look)
				 : COURSE_UNKNOWN;
}

/* The column that the value goes up and down with: n, n::text, n + 1, abs(n), (n, …); or NULL. */
static const char *followed_column(const Node *node, struct look look, unsigned depth)
{
	double number;
	if (!node || depth >= MAX_DEPTH)
		return NULL;
	depth++;
	if (IsA(node, ColumnRef))
		return reference_name(node);
	if (IsA(node, TypeCast))
		return followed_column(((const TypeCast *)node)->arg, look, depth);
	if (IsA(node, RowExpr) && ((const RowExpr *)node)->args)
		return followed_column(linitial(((const RowExpr *)node)->args), look, depth);
	if (IsA(node, CoalesceExpr))
		return followed_column(linitial(((const CoalesceExpr *)node)->args), look, depth);
	if (IsA(node, FuncCall) && call_is((const FuncCall *)node, "abs"))
		return followed_column(call_argument((const FuncCall *)node, 0), look, depth);
	if (!IsA(node, A_Expr) || ((const A_Expr *)node)->kind != AEXPR_OP)
		return NULL;
	const A_Expr *expr = (const A_Expr *)node;
	const char *op = NODE_STRING(llast(expr->name));
	bool moved = constant_number(expr->rexpr, look, &number) || constant_interval(expr->rexpr, look) != 0;
	return moved && expr->lexpr && (strcmp(op, "+") == 0 || strcmp(op, "-") == 0)
		       ? followed_column(expr->lexpr, look, depth)
		       : NULL;
}

/* Where the column begins. */
static const Node *start_value(const CommonTableExpr *cte, const char *name)
{
	const SelectStmt *first = ((const SelectStmt *)cte->ctequery)->larg;
	int index = column_index(cte, name);
	if (index < 0 || first->op != SETOP_NONE || list_length(first->valuesLists) > 1)
		return NULL;
	const List *row = first->valuesLists ? linitial(first->valuesLists) : first->targetList;
	if (index >= list_length(row))
		return NULL;
	const Node *value = list_nth(row, index);
	return value && IsA(value, ResTarget) ? ((const ResTarget *)value)->val : value;
}

static bool start_of(const CommonTableExpr *cte, const char *name, struct look look, double *ret_start)
{
	return constant_number(start_value(cte, name), look, ret_start);
}

/* Names of functions whose result is longer than what they are given, or at least may be. */
static double stretching(const FuncCall *call, struct look look)
{
	static const char *const doubling[] = { "encode",  "quote_literal", "quote_nullable", "quote_ident",
						"to_json", "to_jsonb",	    "format",	      "xmlelement" };
	if (call_is(call, "repeat"))
		return fmax(constant_number_or(call_argument(call, 1), look, 2), 1);
	if (call_is(call, "replace") || call_is(call, "regexp_replace")) {
		const char *old = constant_text(call_argument(call, 1));
		const char *new = constant_text(call_argument(call, 2));
		bool plain = old && new && !call_is(call, "regexp_replace");
		return plain ? fmax((double)strlen(new) / fmax((double)strlen(old), 1), 1) : 2;
	}
	for (size_t i = 0; i < sizeof doubling / sizeof doubling[0]; i++)
		if (call_is(call, doubling[i]))
			return 2;
	return 1;
}

/* Functions that give back what they are given, or more of it. */
static bool keeps_all(const FuncCall *call)
{
	static const char *const names[] = { "concat",
					     "concat_ws",
					     "repeat",
					     "replace",
					     "regexp_replace",
					     "format",
					     "array_cat",
					     "array_append",
					     "array_prepend",
					     "json_build_array",
					     "jsonb_build_array",
					     "json_build_object",
					     "overlay",
					     "jsonb_build_object",
					     "lower",
					     "upper",
					     "reverse",
					     "initcap" };
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (call_is(call, names[i]))
			return true;
	return stretching(call, (struct look){ .steps = &(unsigned){ 0 } }) > 1;
}

static double copies_of_list(const List *list, const char *name, struct look look, unsigned depth);

/* How often the text of the next row holds that of the column in the row before. */
static double copies(const Node *node, const char *name, struct look look, unsigned depth)
{
	const char *same = reference_name(node);
	if (!node || depth >= MAX_DEPTH || !look_on(look))
		return 0;
	depth++;
	if (same)
		return strcmp(same, name) == 0 ? 1 : 0;
	switch ((int)nodeTag(node)) {
	case T_TypeCast:
		return copies(((const TypeCast *)node)->arg, name, look, depth);
	case T_A_ArrayExpr:
		return copies_of_list(((const A_ArrayExpr *)node)->elements, name, look, depth);
	case T_RowExpr:
		return copies_of_list(((const RowExpr *)node)->args, name, look, depth);
	case T_A_Expr: {
		const A_Expr *expr = (const A_Expr *)node;
		if (expr->kind != AEXPR_OP || strcmp(NODE_STRING(llast(expr->name)), "||") != 0)
			return 0;
		return copies(expr->lexpr, name, look, depth) + copies(expr->rexpr, name, look, depth);
	}
	case T_FuncCall: {
		const FuncCall *call = (const FuncCall *)node;
		return keeps_all(call)
			       ? stretching(call, look) * copies_of_list(call->args, name, look, depth)
			       : 0;
	}
	default:
		return 0;
	}
}

static double copies_of_list(const List *list, const char *name, struct look look, unsigned depth)
{
	double total = 0;
	ListCell *cell;
	foreach(cell, list) total += copies(lfirst(cell), name, look, depth);
	return total;
}

#define MAX_COLUMNS 12 /* that are looked at together */
#define DOUBLINGS   24 /* levels after which growth shows */

static const char *column_name(const CommonTableExpr *cte, int index)
{
	const SelectStmt *first = ((const SelectStmt *)cte->ctequery)->larg;
	if (index < list_length(cte->aliascolnames))
		return NODE_STRING(list_nth(cte->aliascolnames, index));
	if (first->op == SETOP_NONE && index < list_length(first->targetList))
		return output_name(list_nth(first->targetList, index));
	return NULL;
}

/* Whether the columns of the recursive arm, each made of those of the row before, double again and again. */
static bool doubles(const CommonTableExpr *cte, const SelectStmt *arm, struct look look)
{
	double held[MAX_COLUMNS][MAX_COLUMNS] = { { 0 } };
	double sizes[MAX_COLUMNS];
	int count = arm->op == SETOP_NONE ? list_length(arm->targetList) : 0;
	count = count < MAX_COLUMNS ? count : MAX_COLUMNS;
	for (int i = 0; i < count; i++) {
		sizes[i] = 1;
		for (int j = 0; j < count; j++) {
			const char *name = column_name(cte, j);
			const ResTarget *target = list_nth(arm->targetList, i);
			held[i][j] = name ? copies(target->val, name, look, 0) : 0;
		}
	}
	double total = 0;
	for (int level = 0; level < DOUBLINGS; level++) {
		double next[MAX_COLUMNS];
		total = 0;
		for (int i = 0; i < count; i++) {
			next[i] = 1;
			for (int j = 0; j < count; j++)
				next[i] += held[i][j] * sizes[j];
			total += next[i];
		}
		memcpy(sizes, next, sizeof sizes);
	}
	return total >= 1e5; /* what only adds to itself stays far below */
}

/* Conditions */

static bool is_constant(const Node *node, struct look look)
{
	double value;
	return constant_number(node, look, &value) || IsA(node, A_Const);
}

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
static bool without_columns(const struct resolution *resolution, const Node *node)
{
	struct column_search search = { resolution };
	return names_no_column(node, &search);
}

/* `counter <> limit` is met only where the counter comes by; no text without a digit is a number. */
static bool comes_by(const struct recursion *recursion, const char *column, enum course course,
		     const Node *limit)
{
	double value;
	double start;
	const char *text = constant_text(limit);
	if (!constant_number(limit, recursion->look, &value))
		return !text || strpbrk(text, "0123456789");
	if (!start_of(recursion->cte, column, recursion->look, &start))
		return true;
	return course == COURSE_UP ? start <= value : start >= value;
}

/* Whether the comparison `column op limit` becomes false on that course. */
static bool is_met(const struct recursion *recursion, const char *op, const char *column, enum course course,
		   const Node *limit)
{
	if (course == COURSE_CONSTANT)
		return false;
	if (course == COURSE_UNKNOWN || strcmp(op, "=") == 0)
		return true;
	if (strcmp(op, "<") == 0 || strcmp(op, "<=") == 0)
		return course == COURSE_UP;
	if (strcmp(op, ">") == 0 || strcmp(op, ">=") == 0)
		return course == COURSE_DOWN;
	return strcmp(op, "<>") == 0 && comes_by(recursion, column, course, limit);
}

static const char *mirrored(const char *op)
{
	return strcmp(op, ">") == 0    ? "<"
	       : strcmp(op, ">=") == 0 ? "<="
	       : strcmp(op, "<") == 0  ? ">"
	       : strcmp(op, "<=") == 0 ? ">="
				       : op;
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
	struct look look = recursion->look;
	const Node *next = next_value(recursion, column_index(recursion->cte, column));
	const Node *start = start_value(recursion->cte, column);
	if (!next || !start || !IsA(next, A_Expr))
		return 0;
	double step = fmax(fabs(constant_interval(((const A_Expr *)next)->rexpr, look)),
			   fabs(constant_interval(((const A_Expr *)next)->lexpr, look)));
	double span = fabs(constant_moment(limit, look) - constant_moment(start, look));
	return step > 0 && !isnan(span) ? span / step : 0;
}

static enum bound limit_bound(const struct recursion *recursion, const char *op, const Node *side,
			      const Node *limit)
{
	double value;
	const char *column = followed_column(side, recursion->look, 0);
	enum course course = column ? course_of(recursion, column) : COURSE_UNKNOWN;
	if (column && !is_met(recursion, op, column, course, limit))
		return BOUND_NONE;
	if (column && course != COURSE_UNKNOWN && moments_between(recursion, column, limit) >= BOMB_CALL_ROWS)
		return BOUND_HUGE;
	bool counts = !column || course != COURSE_UNKNOWN; /* a sum, a product: faster */
	return counts && constant_number(limit, recursion->look, &value) && fabs(value) >= BOMB_CALL_ROWS
		       ? BOUND_HUGE
		       : BOUND_SOME;
}

/* n BETWEEN 1 AND 10: by the bound that the column comes to. */
static enum bound between_bound(const struct recursion *recursion, const A_Expr *expr)
{
	const List *limits = (const List *)expr->rexpr;
	enum bound lower = limit_bound(recursion, ">=", expr->lexpr, linitial(limits));
	enum bound upper = limit_bound(recursion, "<=", expr->lexpr, lsecond(limits));
	return lower > upper ? lower : upper;
}

static enum bound operator_bound(const struct recursion *recursion, const A_Expr *expr, const char *op)
{
	struct look look = recursion->look;
	bool left_constant = expr->lexpr && is_constant(expr->lexpr, look);
	bool right_constant = expr->rexpr && (is_constant(expr->rexpr, look) || IsA(expr->rexpr, RowExpr));
	if (left_constant && right_constant)
		return BOUND_NONE;
	if (left_constant || right_constant)
		return limit_bound(recursion, left_constant ? mirrored(op) : op,
				   left_constant ? expr->rexpr : expr->lexpr,
				   left_constant ? expr->lexpr : expr->rexpr);
	const char *left = followed_column(expr->lexpr, look, 0);
	const char *right = followed_column(expr->rexpr, look, 0);
	if (left && right && strcmp(left, right) == 0 &&
	    course_of(recursion, left) != COURSE_UNKNOWN) /* against itself */
		return BOUND_NONE;
	return BOUND_SOME;
}

static enum bound comparison_bound(const struct recursion *recursion, const A_Expr *expr, bool negative)
{
	const char *op = expr->name ? NODE_STRING(llast(expr->name)) : "";
	const char *column = followed_column(expr->lexpr, recursion->look, 0);
	bool counter = column && course_of(recursion, column) != COURSE_UNKNOWN;
	switch (expr->kind) {
	case AEXPR_OP:
	case AEXPR_DISTINCT:
		op = expr->kind == AEXPR_DISTINCT ? "<>" : op;
		return operator_bound(recursion, expr, negative ? negated(op) : op);
	case AEXPR_BETWEEN:
	case AEXPR_BETWEEN_SYM:
		return negative ? BOUND_SOME : between_bound(recursion, expr);
	case AEXPR_IN: /* a few values end a counter; all others do not */
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

static enum bound condition_bound(const struct recursion *recursion, const Node *node, bool negative,
				  unsigned depth);

/* AND is as tight as its tightest part, OR as loose as its loosest. */
static enum bound list_bound(const struct recursion *recursion, const BoolExpr *expr, bool negative,
			     unsigned depth)
{
	bool either = (expr->boolop == OR_EXPR) != negative;
	enum bound found = either ? BOUND_SOME : BOUND_NONE;
	ListCell *cell;
	foreach(cell, expr->args)
	{
		enum bound part = condition_bound(recursion, lfirst(cell), negative, depth + 1);
		if (either ? part < found : part > found)
			found = part;
	}
	return found;
}

static enum bound condition_bound(const struct recursion *recursion, const Node *node, bool negative,
				  unsigned depth)
{
	if (!node || without_columns(recursion->resolution, node))
		return BOUND_NONE;
	if (depth >= MAX_DEPTH)
		return BOUND_SOME;
	if (IsA(node, A_Expr))
		return comparison_bound(recursion, (const A_Expr *)node, negative);
	if (IsA(node, NullTest)) { /* a counter is never NULL */
		const NullTest *test = (const NullTest *)node;
		const char *column = followed_column((const Node *)test->arg, recursion->look, 0);
		bool counter = column && course_of(recursion, column) != COURSE_UNKNOWN;
		return counter && (test->nulltesttype == IS_NOT_NULL) != negative ? BOUND_NONE : BOUND_SOME;
	}
	if (!IsA(node, BoolExpr))
		return BOUND_SOME;
	const BoolExpr *expr = (const BoolExpr *)node;
	if (expr->boolop == NOT_EXPR)
		return condition_bound(recursion, linitial(expr->args), !negative, depth + 1);
	return list_bound(recursion, expr, negative, depth);
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
	return max_bound(condition_bound(recursion, join->quals, false, 0),
			 max_bound(from_bound(recursion, join->larg, depth + 1),
				   from_bound(recursion, join->rarg, depth + 1)));
}

static bool few_rows(const Node *limit, struct look look)
{
	return limit && constant_number_or(limit, look, BOMB_CALL_ROWS) < BOMB_CALL_ROWS;
}

static enum bound select_bound(struct recursion recursion, const SelectStmt *select, unsigned depth)
{
	if (!select || depth >= MAX_DEPTH)
		return BOUND_SOME;
	if (select->op != SETOP_NONE)
		return max_bound(select_bound(recursion, select->larg, depth + 1),
				 select_bound(recursion, select->rarg, depth + 1));
	if (!recursion.step)
		recursion.step = select;
	enum bound found = max_bound(condition_bound(&recursion, select->whereClause, false, 0),
				     condition_bound(&recursion, select->havingClause, false, 0));
	ListCell *cell;
	foreach(cell, select->fromClause) found =
		max_bound(found, from_bound(&recursion, lfirst(cell), depth + 1));
	foreach(cell, select->withClause ? select->withClause->ctes : NIL)
	{
		const Node *query = ((const CommonTableExpr *)lfirst(cell))->ctequery;
		if (IsA(query, SelectStmt))
			found = max_bound(found,
					  select_bound(recursion, (const SelectStmt *)query, depth + 1));
	}
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

/* Rows of VALUES, of constants in a set operation, of series. */
static double made_rows(const Node *query, unsigned depth)
{
	if (!query || !IsA(query, SelectStmt) || depth >= MAX_DEPTH)
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

static double call_rows(const Node *node, struct look look)
{
	if (!node || !IsA(node, FuncCall))
		return 1;
	const FuncCall *call = (const FuncCall *)node;
	const Node *array = call_argument(call, 0);
	if (array && IsA(array, A_ArrayExpr) && call_is(call, "unnest"))
		return fmax(list_length(((const A_ArrayExpr *)array)->elements), 1);
	return array ? bomb_call_size(call, look).rows : 1;
}

/* Rows that each row of the working table is joined with. A condition on an item picks some of its rows. */
static double item_rows(const struct recursion *recursion, const Node *item, unsigned depth)
{
	if (!item || depth >= MAX_DEPTH)
		return 1;
	if (IsA(item, JoinExpr)) {
		const JoinExpr *join = (const JoinExpr *)item;
		return join->quals && !without_columns(recursion->resolution, join->quals)
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
			 recursion->look);
}

/* Least number that a column is kept below; of conditions joined by AND. */
static bool levels_of(const struct recursion *recursion, const Node *where, double *ret_levels,
		      unsigned depth)
{
	double limit;
	double start = 0;
	bool any = false;
	ListCell *cell;
	if (!where || depth >= MAX_DEPTH)
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
	bool swapped = !between && constant_number(expr->lexpr, recursion->look, &limit);
	const char *column = followed_column(swapped ? right : expr->lexpr, recursion->look, 0);
	if (!swapped && !constant_number(right, recursion->look, &limit))
		return false;
	double step = 1;
	const Node *next = column ? next_value(recursion, column_index(recursion->cte, column)) : NULL;
	if (next && IsA(next, A_Expr))
		step = fabs(fmax(constant_number_or(((const A_Expr *)next)->rexpr, recursion->look, 1),
				 constant_number_or(((const A_Expr *)next)->lexpr, recursion->look, 1)));
	if (column && !start_of(recursion->cte, column, recursion->look, &start))
		start = 0;
	*ret_levels = fmin(*ret_levels, fabs(limit - start) / fmax(step, 1e-3));
	return true;
}

double bomb_recursion_rows(const CommonTableExpr *cte, struct look look)
{
	if (!cte->ctequery || !IsA(cte->ctequery, SelectStmt) || !constant_recursive(cte))
		return 1;
	const struct resolution *resolution = look.resolution;
	look.resolution = NULL;
	const SelectStmt *arm = ((const SelectStmt *)cte->ctequery)->rarg;
	struct recursion recursion = { cte, arm, look, resolution };
	double each = 1;
	double levels = INFINITY;
	ListCell *cell;
	if (!arm || arm->op != SETOP_NONE || arm->distinctClause || arm->groupClause || arm->limitCount)
		return 1;
	foreach(cell, arm->fromClause) each *= item_rows(&recursion, lfirst(cell), 0);
	foreach(cell, arm->targetList) each *= call_rows(((const ResTarget *)lfirst(cell))->val, look);
	if (!levels_of(&recursion, arm->whereClause, &levels, 0))
		return 1;
	return each < 2 ? fmax(levels, 1) : pow(each, levels);
}

bool bomb_recursion_read(const CommonTableExpr *cte, const SelectStmt *reader, struct look look)
{
	if (!cte->ctequery || !IsA(cte->ctequery, SelectStmt))
		return false;
	const SelectStmt *query = (const SelectStmt *)cte->ctequery;
	if (query->op == SETOP_NONE || !constant_recursive(cte))
		return false;
	if (few_rows(query->limitCount, look) || takes_few(reader, cte->ctename, look))
		return false;
	if (!query->all && only_repeats(query->rarg))
		return false;
	if (query->all && bomb_recursion_rows(cte, look) >= BOMB_QUERY_ROWS)
		return true;
	struct recursion recursion = { cte, NULL, look, look.resolution };
	look.resolution = NULL;
	recursion.look.resolution = NULL;
	if (doubles(cte, query->rarg, look))
		return true;
	return select_bound(recursion, query->rarg, 0) != BOUND_SOME;
}

bool bomb_recursion(const CommonTableExpr *cte)
{
	unsigned steps = 0;
	return bomb_recursion_read(cte, NULL, (struct look){ .steps = &steps });
}
