#include "sql/postgresql/canonical/internal.h"

#include "catalog/pg_type_d.h"

bool canon_named(const List *names, const char *name)
{
	return list_length(names) == 1 && strcmp(NODE_STRING(linitial(names)), name) == 0;
}

/* SQLite takes the collation of the left side of two columns. */
static bool sides_commute(const struct canon *canon, str_t left, str_t right)
{
	return canon->request->dialect != SQL_SQLITE || left.ptr[0] == '\'' || right.ptr[0] == '\'' ||
	       (left.ptr[0] >= '0' && left.ptr[0] <= '9') || (right.ptr[0] >= '0' && right.ptr[0] <= '9');
}

/* Commutative operators in order of their operands, > and >= turned around. */
str_t canon_comparison(struct canon *canon, str_t op, str_t left, str_t right)
{
	bool turned = false;
	if (left.len == 0 || right.len == 0)
		return CONCAT(canon, STR("("), left, STR(" "), op, STR(" "), right, STR(")"));
	bool commutes = sides_commute(canon, left, right);
	if ((str_is(op, ">") || str_is(op, ">=")) && commutes) {
		op = str_is(op, ">") ? STR("<") : STR("<=");
		turned = true;
	} else if (str_is(op, "+") || str_is(op, "*") ||
		   ((str_is(op, "=") || str_is(op, "<>")) && commutes)) {
		turned = str_compare(right, left) < 0;
	}
	return CONCAT(canon, STR("("), turned ? right : left, STR(" "), op, STR(" "), turned ? left : right,
		      STR(")"));
}

str_t canon_binary(struct canon *canon, const A_Expr *expr, str_t op)
{
	if (!STR_IS_ANY(op, "=", "<>", "<", "<=", ">", ">="))
		return canon_comparison(canon, op, canon_expression(canon, expr->lexpr),
					canon_expression(canon, expr->rexpr));
	return canon_comparison(canon, op, canon_operand(canon, expr->lexpr, expr->rexpr),
				canon_operand(canon, expr->rexpr, expr->lexpr));
}

/* NOT of a comparison of plain values is the opposite comparison, also for NULL. */
static const char *opposite(const A_Expr *expr)
{
	static const char *const pairs[][2] = { { "=", "<>" },	 { "<", ">=" },	    { ">", "<=" },
						{ "~~", "!~~" }, { "~~*", "!~~*" }, { "~", "!~" },
						{ "~*", "!~*" } };
	bool comparing = expr->kind == AEXPR_OP || expr->kind == AEXPR_LIKE || expr->kind == AEXPR_ILIKE ||
			 expr->kind == AEXPR_SIMILAR;
	if (!comparing || list_length(expr->name) != 1 || !expr->lexpr || IsA(expr->lexpr, RowExpr) ||
	    IsA(expr->rexpr, RowExpr))
		return NULL;
	const char *op = NODE_STRING(linitial(expr->name));
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
		for (size_t k = 0; k < 2; k++)
			if (strcmp(op, pairs[i][k]) == 0)
				return pairs[i][1 - k];
	return NULL;
}

/* BETWEEN */

void canon_between(struct canon *canon, const A_Expr *expr, bool inside, str_t ret_parts[2])
{
	const List *bounds = (const List *)expr->rexpr;
	const Node *low = linitial(bounds), *high = lsecond(bounds);
	str_t value = canon_expression(canon, expr->lexpr);
	ret_parts[0] = canon_comparison(canon, inside ? STR(">=") : STR("<"), value,
					canon_operand(canon, low, expr->lexpr));
	ret_parts[1] = canon_comparison(canon, inside ? STR("<=") : STR(">"), value,
					canon_operand(canon, high, expr->lexpr));
}

bool canon_is_expr(const Node *node, A_Expr_Kind kind)
{
	return IsA(node, A_Expr) && ((const A_Expr *)node)->kind == kind;
}

bool canon_is_between(const Node *node)
{
	return canon_is_expr(node, AEXPR_BETWEEN) || canon_is_expr(node, AEXPR_NOT_BETWEEN);
}

/* One condition */

/* Only of values that are surely not rows IS NOT NULL is the opposite of IS NULL. */
static bool surely_scalar(const struct canon *canon, const Node *node)
{
	switch (canon_type(canon, node)) {
	case BOOLOID:
	case INT2OID:
	case INT4OID:
	case INT8OID:
	case FLOAT4OID:
	case FLOAT8OID:
	case NUMERICOID:
	case TEXTOID:
	case VARCHAROID:
	case BPCHAROID:
	case DATEOID:
	case TIMEOID:
	case TIMESTAMPOID:
	case TIMESTAMPTZOID:
	case INTERVALOID:
	case UUIDOID:
	case JSONOID:
	case JSONBOID:
		return true;
	default:
		return IsA(node, A_Const) || canon_never_null(canon, node);
	}
}

static str_t null_test(struct canon *canon, const NullTest *test, bool negated)
{
	const Node *argument = (const Node *)test->arg;
	bool is_null = test->nulltesttype == IS_NULL;
	str_t text = canon_expression(canon, argument);
	bool flipped = negated && surely_scalar(canon, argument);
	text = CONCAT(canon, is_null != flipped ? STR("IS NULL(") : STR("IS NOT NULL("), text, STR(")"));
	return negated && !flipped ? CONCAT(canon, STR("NOT("), text, STR(")")) : text;
}

static str_t boolean_test(struct canon *canon, const BooleanTest *test, bool negated)
{
	static const char *const names[] = {
		[IS_TRUE] = "IS TRUE(",	      [IS_NOT_TRUE] = "IS NOT TRUE(",
		[IS_FALSE] = "IS FALSE(",     [IS_NOT_FALSE] = "IS NOT FALSE(",
		[IS_UNKNOWN] = "IS UNKNOWN(", [IS_NOT_UNKNOWN] = "IS NOT UNKNOWN("
	};
	unsigned kind = (unsigned)test->booltesttype ^ (negated ? 1 : 0); /* each beside its opposite */
	return CONCAT(canon, str_from(names[kind]), canon_expression(canon, (const Node *)test->arg),
		      STR(")"));
}

static bool is_like(const Node *node)
{
	return canon_is_expr(node, AEXPR_LIKE) || canon_is_expr(node, AEXPR_ILIKE) ||
	       canon_is_expr(node, AEXPR_SIMILAR);
}

static str_t comparison(struct canon *canon, const A_Expr *expr, bool negated)
{
	const char *reverse = negated ? opposite(expr) : NULL;
	str_t op = reverse ? str_from(reverse) : canon_operator(canon, expr->name);
	str_t text;
	if (is_like((const Node *)expr))
		text = CONCAT(canon, expr->kind == AEXPR_SIMILAR ? STR("SIMILAR(") : STR("LIKE("), op,
			      STR("; "), canon_expression(canon, expr->lexpr), STR("; "),
			      canon_expression(canon, expr->rexpr), STR(")"));
	else
		text = canon_binary(canon, expr, op);
	return negated && !reverse ? CONCAT(canon, STR("NOT("), text, STR(")")) : text;
}

static str_t distinct_test(struct canon *canon, const A_Expr *expr, bool negated)
{
	struct texts sides = { 0 };
	texts_add(canon->arena, &sides, canon_operand(canon, expr->lexpr, expr->rexpr));
	texts_add(canon->arena, &sides, canon_operand(canon, expr->rexpr, expr->lexpr));
	if (canon->request->dialect == SQL_POSTGRESQL)
		texts_sort(&sides);
	bool distinct = (expr->kind == AEXPR_DISTINCT) != negated;
	return CONCAT(canon, distinct ? STR("DISTINCT(") : STR("NOT DISTINCT("),
		      canon_operator(canon, expr->name), texts_join(canon, STR("; "), &sides, STR(")")));
}

/* x <> ALL (a) is NOT x = ANY (a). */
static str_t array_test(struct canon *canon, const A_Expr *expr, bool negated)
{
	bool turned = expr->kind == AEXPR_OP_ALL && canon_named(expr->name, "<>");
	bool any = turned || expr->kind == AEXPR_OP_ANY;
	str_t text = CONCAT(canon, any ? STR("ANY OF(") : STR("ALL OF("),
			    turned ? STR("=") : canon_operator(canon, expr->name), STR("; "),
			    canon_expression(canon, expr->lexpr), STR("; "),
			    canon_expression(canon, expr->rexpr), STR(")"));
	return negated != turned ? CONCAT(canon, STR("NOT("), text, STR(")")) : text;
}

/* A quoted literal alone would not be a truth value any more. */
static str_t constant_condition(struct canon *canon, const A_Const *literal, bool negated)
{
	str_t text = canon_constant(canon, literal);
	if (!literal->isnull && IsA(&literal->val, Boolean) && !canon->masked)
		return literal->val.boolval.boolval != negated ? STR("TRUE") : STR("FALSE");
	return CONCAT(canon, negated ? STR("NOT(") : STR("TRUTH("), text, STR(")"));
}

static bool is_truth_value(const Node *node)
{
	return node && IsA(node, A_Const) && !((const A_Const *)node)->isnull &&
	       IsA(&((const A_Const *)node)->val, Boolean);
}

/* x = TRUE is x, also for NULL. (Not for SQLite, where TRUE is 1.) */
static bool compared_with_truth(const struct canon *canon, const Node *node, const Node **ret_value,
				bool *ret_negated)
{
	if (canon->request->dialect != SQL_POSTGRESQL || !canon_is_expr(node, AEXPR_OP))
		return false;
	const A_Expr *expr = (const A_Expr *)node;
	bool equal = canon_named(expr->name, "=");
	if (!expr->lexpr || (!equal && !canon_named(expr->name, "<>")))
		return false;
	bool left = is_truth_value(expr->lexpr);
	const Node *truth = left ? expr->lexpr : expr->rexpr;
	*ret_value = left ? expr->rexpr : expr->lexpr;
	if (!is_truth_value(truth) || IsA(*ret_value, A_Const) || IsA(*ret_value, ParamRef))
		return false;
	*ret_negated = ((const A_Const *)truth)->val.boolval.boolval != equal;
	return true;
}

static str_t single(struct canon *canon, const Node *node, bool negated)
{
	const Node *value;
	bool turned;
	if (compared_with_truth(canon, node, &value, &turned))
		return canon_boolean(canon, value, negated != turned);
	if (IsA(node, A_Const))
		return constant_condition(canon, (const A_Const *)node, negated);
	if (IsA(node, NullTest))
		return null_test(canon, (const NullTest *)node, negated);
	if (IsA(node, BooleanTest))
		return boolean_test(canon, (const BooleanTest *)node, negated);
	if (IsA(node, SubLink))
		return canon_sublink(canon, (const SubLink *)node, negated);
	if (canon_is_expr(node, AEXPR_DISTINCT) || canon_is_expr(node, AEXPR_NOT_DISTINCT))
		return distinct_test(canon, (const A_Expr *)node, negated);
	if (canon_is_expr(node, AEXPR_OP_ANY) || canon_is_expr(node, AEXPR_OP_ALL))
		return array_test(canon, (const A_Expr *)node, negated);
	if (IsA(node, A_Expr) && (is_like(node) || opposite((const A_Expr *)node)))
		return comparison(canon, (const A_Expr *)node, negated);
	str_t text = canon_expression(canon, node);
	return negated ? CONCAT(canon, STR("NOT("), text, STR(")")) : text;
}

/* AND and OR */

bool canon_is_bool(const Node *node, BoolExprType op)
{
	return IsA(node, BoolExpr) && ((const BoolExpr *)node)->boolop == op;
}

/* What is made of several conditions that all have to hold. */
bool canon_is_conjunction(const Node *node, bool negated)
{
	if (IsA(node, BoolExpr))
		return canon_is_bool(node, negated ? OR_EXPR : AND_EXPR);
	if (canon_is_expr(node, AEXPR_IN))
		return canon_list_negated((const A_Expr *)node) != negated;
	return canon_is_expr(node, negated ? AEXPR_NOT_BETWEEN : AEXPR_BETWEEN);
}

bool canon_is_condition(const Node *node)
{
	return IsA(node, BoolExpr) || canon_is_expr(node, AEXPR_IN) || canon_is_between(node) ||
	       IsA(node, NullTest) || IsA(node, BooleanTest) || canon_is_expr(node, AEXPR_DISTINCT) ||
	       canon_is_expr(node, AEXPR_NOT_DISTINCT) || canon_is_expr(node, AEXPR_OP_ANY) ||
	       canon_is_expr(node, AEXPR_OP_ALL) || is_like(node);
}

/* 1 = 1 */
static bool surely_true(const Node *node, bool negated)
{
	if (IsA(node, A_Const)) {
		const A_Const *literal = (const A_Const *)node;
		return !literal->isnull && IsA(&literal->val, Boolean) &&
		       literal->val.boolval.boolval != negated;
	}
	if (negated || !canon_is_expr(node, AEXPR_OP) || !canon_named(((const A_Expr *)node)->name, "="))
		return false;
	const Node *left = ((const A_Expr *)node)->lexpr, *right = ((const A_Expr *)node)->rexpr;
	if (!left || !IsA(left, A_Const) || !IsA(right, A_Const))
		return false;
	const A_Const *a = (const A_Const *)left, *b = (const A_Const *)right;
	return !a->isnull && !b->isnull && IsA(&a->val, Integer) && IsA(&b->val, Integer) &&
	       a->val.ival.ival == b->val.ival.ival;
}

/* Twice the same is once, unless it is volatile. */
static void add_condition(struct canon *canon, const Node *node, bool negated, struct texts *texts)
{
	size_t before = canon->volatile_calls;
	str_t text = canon_boolean(canon, node, negated);
	if (canon->volatile_calls != before)
		text = CONCAT(canon, text, STR(" VOLATILE "), canon_number(canon, texts->count));
	texts_add(canon->arena, texts, text);
}

void canon_conditions(struct canon *canon, const Node *node, bool negated, struct texts *texts)
{
	const ListCell *cell;
	if (!node || !canon_enter(canon))
		return;
	if (canon_is_bool(node, NOT_EXPR)) {
		canon_conditions(canon, linitial(((const BoolExpr *)node)->args), !negated, texts);
	} else if (!canon_is_conjunction(node, negated)) {
		if (!surely_true(node, negated) && !canon_is_equation(canon, node, negated))
			add_condition(canon, node, negated, texts);
	} else if (IsA(node, BoolExpr)) {
		foreach(cell, ((const BoolExpr *)node)->args)
			canon_conditions(canon, lfirst(cell), negated, texts);
	} else if (canon_is_between(node)) {
		str_t parts[2];
		canon_between(canon, (const A_Expr *)node, true, parts);
		texts_add(canon->arena, texts, parts[0]);
		texts_add(canon->arena, texts, parts[1]);
	} else {
		canon_not_in(canon, (const A_Expr *)node, texts);
	}
	canon_leave(canon);
}

str_t canon_boolean(struct canon *canon, const Node *node, bool negated)
{
	struct texts texts = { 0 };
	for (; canon_is_bool(node, NOT_EXPR); negated = !negated)
		node = linitial(((const BoolExpr *)node)->args);
	bool all = canon_is_conjunction(node, negated);
	if (!all && !canon_is_conjunction(node, !negated))
		return single(canon, node, negated);
	size_t before = canon->volatile_calls;
	if (all) {
		canon_conditions(canon, node, negated, &texts);
	} else {
		canon_alternatives(canon, node, negated, &texts);
	}
	if (canon->volatile_calls == before)
		texts_unique(&texts);
	else
		texts_sort(&texts);
	if (texts.count == 1)
		return texts.items[0];
	if (texts.count == 0)
		return STR("TRUE");
	return texts_join(canon, all ? STR("AND(") : STR("OR("), &texts, STR(")"));
}
