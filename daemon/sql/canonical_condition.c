#include "sql/canonical_internal.h"

#include "catalog/pg_type_d.h"

#define MAX_EXPANDED   32	/* items of NOT IN that become conditions of their own */
#define EXACT_AS_FLOAT 16777216 /* whole numbers up to here are the same in every numeric type */

/* A part of an OR; `subject` = `value` where it may as well be an item of an IN list. */
struct alternative {
	str_t text;
	str_t subject; /* or absent */
	char kind;
	str_t value;
};

struct alternatives {
	struct alternative *items;
	size_t count;
	size_t capacity;
};

static bool is_name(const List *names, const char *name)
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
		turned = texts_compare(&right, &left) < 0;
	}
	return CONCAT(canon, STR("("), turned ? right : left, STR(" "), op, STR(" "), turned ? left : right,
		      STR(")"));
}

str_t canon_binary(struct canon *canon, const A_Expr *expr, str_t op)
{
	static const char *const comparisons[] = { "=", "<>", "<", "<=", ">", ">=" };
	bool comparing = false;
	for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons; i++)
		comparing |= str_is(op, comparisons[i]);
	if (!comparing)
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

/* IN */

/* Kind of a literal of which x IN (a, b) is surely x = a OR x = b: the list takes one type for all of its
 * items, each comparison one of its own. 0: not sure. */
static char literal_kind(const struct canon *canon, const Node *node, const Node *subject)
{
	if (!IsA(node, A_Const) || ((const A_Const *)node)->isnull)
		return 0;
	const A_Const *literal = (const A_Const *)node;
	type_id type = canon_type(canon, subject);
	bool number = type == INT2OID || type == INT4OID || type == INT8OID || type == NUMERICOID ||
		      type == FLOAT8OID;
	switch ((int)nodeTag(&literal->val)) {
	case T_String:
		return 's';
	case T_Integer:
		return number || (literal->val.ival.ival >= 0 && literal->val.ival.ival <= EXACT_AS_FLOAT)
			       ? 'n'
			       : 0;
	case T_Float:
		return number ? 'n' : 0;
	default:
		return 0;
	}
}

/* The literals' common kind, or 0. */
static char list_kind(const struct canon *canon, const A_Expr *expr)
{
	char kind = 0;
	const ListCell *cell;
	if (IsA(expr->lexpr, RowExpr) || IsA(expr->lexpr, A_Const) || !IsA(expr->rexpr, List))
		return 0;
	foreach(cell, (const List *)expr->rexpr)
	{
		char other = literal_kind(canon, lfirst(cell), expr->lexpr);
		if (!other || (kind && other != kind))
			return 0;
		kind = other;
	}
	return kind;
}

static str_t subject_of(struct canon *canon, const Node *node, bool *ret_steady)
{
	size_t before = canon->volatile_calls;
	str_t text = canon_expression(canon, node);
	*ret_steady = canon->volatile_calls == before;
	return text;
}

static str_t raw_list(struct canon *canon, const A_Expr *expr, str_t subject, bool negated)
{
	struct texts texts = { 0 };
	const ListCell *cell;
	foreach(cell, (const List *)expr->rexpr)
		texts_add(canon, &texts, canon_operand(canon, lfirst(cell), expr->lexpr));
	if (texts.count == 1)
		return canon_comparison(canon, negated ? STR("<>") : STR("="), subject, texts.items[0]);
	texts_sort(&texts);
	return CONCAT(canon, negated ? STR("NOT IN LIST(") : STR("IN LIST("), subject,
		      texts_join(canon, STR("; "), &texts, STR(")")));
}

static bool list_negated(const A_Expr *expr)
{
	return strcmp(NODE_STRING(llast(expr->name)), "<>") == 0;
}

/* x IN (…): its alternatives. */
static void in_alternatives(struct canon *canon, const A_Expr *expr, struct alternatives *alternatives)
{
	bool steady;
	str_t subject = subject_of(canon, expr->lexpr, &steady);
	char kind = steady ? list_kind(canon, expr) : 0;
	struct alternative one = { .subject = subject, .kind = kind };
	const ListCell *cell;
	if (!kind) {
		one = (struct alternative){ .text = raw_list(canon, expr, subject, false) };
		ARENA_PUSH(canon->arena, alternatives->items, alternatives->count, alternatives->capacity,
			   one);
		return;
	}
	foreach(cell, (const List *)expr->rexpr)
	{
		one.value = canon_operand(canon, lfirst(cell), expr->lexpr);
		ARENA_PUSH(canon->arena, alternatives->items, alternatives->count, alternatives->capacity,
			   one);
	}
}

/* x NOT IN (…): conditions of its own. */
static void not_in_conditions(struct canon *canon, const A_Expr *expr, struct texts *texts)
{
	bool steady;
	str_t subject = subject_of(canon, expr->lexpr, &steady);
	const ListCell *cell;
	if (!steady || !list_kind(canon, expr) || list_length((const List *)expr->rexpr) > MAX_EXPANDED) {
		texts_add(canon, texts, raw_list(canon, expr, subject, true));
		return;
	}
	foreach(cell, (const List *)expr->rexpr) texts_add(
		canon, texts,
		canon_comparison(canon, STR("<>"), subject, canon_operand(canon, lfirst(cell), expr->lexpr)));
}

/* BETWEEN */

static void between_parts(struct canon *canon, const A_Expr *expr, bool inside, str_t ret_parts[2])
{
	const List *bounds = (const List *)expr->rexpr;
	const Node *low = linitial(bounds), *high = lsecond(bounds);
	str_t value = canon_expression(canon, expr->lexpr);
	ret_parts[0] = canon_comparison(canon, inside ? STR(">=") : STR("<"), value,
					canon_operand(canon, low, expr->lexpr));
	ret_parts[1] = canon_comparison(canon, inside ? STR("<=") : STR(">"), value,
					canon_operand(canon, high, expr->lexpr));
}

static bool is_expr(const Node *node, A_Expr_Kind kind)
{
	return IsA(node, A_Expr) && ((const A_Expr *)node)->kind == kind;
}

static bool is_between(const Node *node)
{
	return is_expr(node, AEXPR_BETWEEN) || is_expr(node, AEXPR_NOT_BETWEEN);
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
	return is_expr(node, AEXPR_LIKE) || is_expr(node, AEXPR_ILIKE) || is_expr(node, AEXPR_SIMILAR);
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
	texts_add(canon, &sides, canon_operand(canon, expr->lexpr, expr->rexpr));
	texts_add(canon, &sides, canon_operand(canon, expr->rexpr, expr->lexpr));
	if (canon->request->dialect == SQL_POSTGRESQL)
		texts_sort(&sides);
	bool distinct = (expr->kind == AEXPR_DISTINCT) != negated;
	return CONCAT(canon, distinct ? STR("DISTINCT(") : STR("NOT DISTINCT("),
		      canon_operator(canon, expr->name), texts_join(canon, STR("; "), &sides, STR(")")));
}

/* x <> ALL (a) is NOT x = ANY (a). */
static str_t array_test(struct canon *canon, const A_Expr *expr, bool negated)
{
	bool turned = expr->kind == AEXPR_OP_ALL && is_name(expr->name, "<>");
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
	if (canon->request->dialect != SQL_POSTGRESQL || !is_expr(node, AEXPR_OP))
		return false;
	const A_Expr *expr = (const A_Expr *)node;
	bool equal = is_name(expr->name, "=");
	if (!expr->lexpr || (!equal && !is_name(expr->name, "<>")))
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
	if (is_expr(node, AEXPR_DISTINCT) || is_expr(node, AEXPR_NOT_DISTINCT))
		return distinct_test(canon, (const A_Expr *)node, negated);
	if (is_expr(node, AEXPR_OP_ANY) || is_expr(node, AEXPR_OP_ALL))
		return array_test(canon, (const A_Expr *)node, negated);
	if (IsA(node, A_Expr) && (is_like(node) || opposite((const A_Expr *)node)))
		return comparison(canon, (const A_Expr *)node, negated);
	str_t text = canon_expression(canon, node);
	return negated ? CONCAT(canon, STR("NOT("), text, STR(")")) : text;
}

/* AND and OR */

static bool is_bool(const Node *node, BoolExprType op)
{
	return IsA(node, BoolExpr) && ((const BoolExpr *)node)->boolop == op;
}

/* What is made of several conditions that all have to hold. */
static bool is_conjunction(const Node *node, bool negated)
{
	if (IsA(node, BoolExpr))
		return is_bool(node, negated ? OR_EXPR : AND_EXPR);
	if (is_expr(node, AEXPR_IN))
		return list_negated((const A_Expr *)node) != negated;
	return is_expr(node, negated ? AEXPR_NOT_BETWEEN : AEXPR_BETWEEN);
}

static bool is_disjunction(const Node *node, bool negated)
{
	return is_conjunction(node, !negated);
}

bool canon_is_condition(const Node *node)
{
	return IsA(node, BoolExpr) || is_expr(node, AEXPR_IN) || is_between(node) || IsA(node, NullTest) ||
	       IsA(node, BooleanTest) || is_expr(node, AEXPR_DISTINCT) || is_expr(node, AEXPR_NOT_DISTINCT) ||
	       is_expr(node, AEXPR_OP_ANY) || is_expr(node, AEXPR_OP_ALL) || is_like(node);
}

/* 1 = 1 */
static bool surely_true(const Node *node, bool negated)
{
	if (IsA(node, A_Const)) {
		const A_Const *literal = (const A_Const *)node;
		return !literal->isnull && IsA(&literal->val, Boolean) &&
		       literal->val.boolval.boolval != negated;
	}
	if (negated || !is_expr(node, AEXPR_OP) || !is_name(((const A_Expr *)node)->name, "="))
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
	texts_add(canon, texts, text);
}

void canon_conditions(struct canon *canon, const Node *node, bool negated, struct texts *texts)
{
	const ListCell *cell;
	if (!node || !canon_enter(canon))
		return;
	if (is_bool(node, NOT_EXPR)) {
		canon_conditions(canon, linitial(((const BoolExpr *)node)->args), !negated, texts);
	} else if (!is_conjunction(node, negated)) {
		if (!surely_true(node, negated) && !canon_is_equation(canon, node, negated))
			add_condition(canon, node, negated, texts);
	} else if (IsA(node, BoolExpr)) {
		foreach(cell, ((const BoolExpr *)node)->args)
			canon_conditions(canon, lfirst(cell), negated, texts);
	} else if (is_between(node)) {
		str_t parts[2];
		between_parts(canon, (const A_Expr *)node, true, parts);
		texts_add(canon, texts, parts[0]);
		texts_add(canon, texts, parts[1]);
	} else {
		not_in_conditions(canon, (const A_Expr *)node, texts);
	}
	canon_leave(canon);
}

static void equality_alternative(struct canon *canon, const Node *node, struct alternative *ret_one)
{
	const A_Expr *expr = (const A_Expr *)node;
	const Node *subject = expr->lexpr, *value = expr->rexpr;
	if (subject && IsA(subject, A_Const)) {
		subject = expr->rexpr;
		value = expr->lexpr;
	}
	bool steady;
	char kind = subject && !IsA(subject, RowExpr) && !IsA(subject, A_Const)
			    ? literal_kind(canon, value, subject)
			    : 0;
	if (!kind) {
		ret_one->text = canon_boolean(canon, node, false);
		return;
	}
	ret_one->subject = subject_of(canon, subject, &steady);
	ret_one->value = canon_operand(canon, value, subject);
	ret_one->kind = kind;
	if (!steady)
		*ret_one = (struct alternative){ .text = canon_comparison(canon, STR("="), ret_one->subject,
									  ret_one->value) };
}

static void alternatives_of(struct canon *canon, const Node *node, bool negated,
			    struct alternatives *alternatives)
{
	const ListCell *cell;
	struct alternative one = { 0 };
	if (!canon_enter(canon))
		return;
	if (is_bool(node, NOT_EXPR)) {
		alternatives_of(canon, linitial(((const BoolExpr *)node)->args), !negated, alternatives);
	} else if (is_disjunction(node, negated) && IsA(node, BoolExpr)) {
		foreach(cell, ((const BoolExpr *)node)->args)
			alternatives_of(canon, lfirst(cell), negated, alternatives);
	} else if (is_disjunction(node, negated) && is_between(node)) {
		str_t parts[2];
		between_parts(canon, (const A_Expr *)node, false, parts);
		for (size_t i = 0; i < 2; i++) {
			one.text = parts[i];
			ARENA_PUSH(canon->arena, alternatives->items, alternatives->count,
				   alternatives->capacity, one);
		}
	} else if (is_disjunction(node, negated)) {
		in_alternatives(canon, (const A_Expr *)node, alternatives);
	} else {
		bool equality =
			!negated && is_expr(node, AEXPR_OP) && is_name(((const A_Expr *)node)->name, "=");
		if (equality)
			equality_alternative(canon, node, &one);
		else
			one.text = canon_boolean(canon, node, negated);
		ARENA_PUSH(canon->arena, alternatives->items, alternatives->count, alternatives->capacity,
			   one);
	}
	canon_leave(canon);
}

static int by_subject(const void *a, const void *b)
{
	const struct alternative *left = a, *right = b;
	int order = texts_compare(&left->text, &right->text);
	if (order == 0)
		order = texts_compare(&left->subject, &right->subject);
	if (order == 0)
		order = left->kind - right->kind;
	return order ? order : texts_compare(&left->value, &right->value);
}

/* Equalities of one subject become an IN list. */
static void merge_alternatives(struct canon *canon, struct alternatives *alternatives, struct texts *texts)
{
	struct alternative *items = alternatives->items;
	if (alternatives->count > 1)
		qsort(items, alternatives->count, sizeof *items, by_subject);
	for (size_t i = 0, end; i < alternatives->count; i = end) {
		struct texts values = { 0 };
		end = i + 1;
		if (!str_present(items[i].subject)) {
			texts_add(canon, texts, items[i].text);
			continue;
		}
		texts_add(canon, &values, items[i].value);
		for (; end < alternatives->count && str_equal(items[end].subject, items[i].subject) &&
		       items[end].kind == items[i].kind;
		     end++)
			texts_add(canon, &values, items[end].value);
		texts_unique(&values);
		texts_add(canon, texts,
			  values.count == 1
				  ? canon_comparison(canon, STR("="), items[i].subject, values.items[0])
				  : CONCAT(canon, STR("IN("), items[i].subject,
					   texts_join(canon, STR("; "), &values, STR(")"))));
	}
}

str_t canon_boolean(struct canon *canon, const Node *node, bool negated)
{
	struct texts texts = { 0 };
	struct alternatives alternatives = { 0 };
	for (; is_bool(node, NOT_EXPR); negated = !negated)
		node = linitial(((const BoolExpr *)node)->args);
	bool all = is_conjunction(node, negated);
	if (!all && !is_disjunction(node, negated))
		return single(canon, node, negated);
	size_t before = canon->volatile_calls;
	if (all) {
		canon_conditions(canon, node, negated, &texts);
	} else {
		alternatives_of(canon, node, negated, &alternatives);
		merge_alternatives(canon, &alternatives, &texts);
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
