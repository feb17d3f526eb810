#include "sql/postgresql/canonical/internal.h"

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
		texts_add(canon->arena, &texts, canon_operand(canon, lfirst(cell), expr->lexpr));
	if (texts.count == 1)
		return canon_comparison(canon, negated ? STR("<>") : STR("="), subject, texts.items[0]);
	texts_sort(&texts);
	return CONCAT(canon, negated ? STR("NOT IN LIST(") : STR("IN LIST("), subject,
		      texts_join(canon, STR("; "), &texts, STR(")")));
}

bool canon_list_negated(const A_Expr *expr)
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
void canon_not_in(struct canon *canon, const A_Expr *expr, struct texts *texts)
{
	bool steady;
	str_t subject = subject_of(canon, expr->lexpr, &steady);
	const ListCell *cell;
	if (!steady || !list_kind(canon, expr) || list_length((const List *)expr->rexpr) > MAX_EXPANDED) {
		texts_add(canon->arena, texts, raw_list(canon, expr, subject, true));
		return;
	}
	foreach(cell, (const List *)expr->rexpr) texts_add(
		canon->arena, texts,
		canon_comparison(canon, STR("<>"), subject, canon_operand(canon, lfirst(cell), expr->lexpr)));
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
	if (canon_is_bool(node, NOT_EXPR)) {
		alternatives_of(canon, linitial(((const BoolExpr *)node)->args), !negated, alternatives);
	} else if (canon_is_conjunction(node, !negated) && IsA(node, BoolExpr)) {
		foreach(cell, ((const BoolExpr *)node)->args)
			alternatives_of(canon, lfirst(cell), negated, alternatives);
	} else if (canon_is_conjunction(node, !negated) && canon_is_between(node)) {
		str_t parts[2];
		canon_between(canon, (const A_Expr *)node, false, parts);
		for (size_t i = 0; i < 2; i++) {
			one.text = parts[i];
			ARENA_PUSH(canon->arena, alternatives->items, alternatives->count,
				   alternatives->capacity, one);
		}
	} else if (canon_is_conjunction(node, !negated)) {
		in_alternatives(canon, (const A_Expr *)node, alternatives);
	} else {
		bool equality = !negated && canon_is_expr(node, AEXPR_OP) &&
				canon_named(((const A_Expr *)node)->name, "=");
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
	int order = str_compare(left->text, right->text);
	if (order == 0)
		order = str_compare(left->subject, right->subject);
	if (order == 0)
		order = left->kind - right->kind;
	return order ? order : str_compare(left->value, right->value);
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
			texts_add(canon->arena, texts, items[i].text);
			continue;
		}
		texts_add(canon->arena, &values, items[i].value);
		for (; end < alternatives->count && str_equal(items[end].subject, items[i].subject) &&
		       items[end].kind == items[i].kind;
		     end++)
			texts_add(canon->arena, &values, items[end].value);
		texts_unique(&values);
		texts_add(canon->arena, texts,
			  values.count == 1
				  ? canon_comparison(canon, STR("="), items[i].subject, values.items[0])
				  : CONCAT(canon, STR("IN("), items[i].subject,
					   texts_join(canon, STR("; "), &values, STR(")"))));
	}
}

void canon_alternatives(struct canon *canon, const Node *node, bool negated, struct texts *texts)
{
	struct alternatives alternatives = { 0 };
	alternatives_of(canon, node, negated, &alternatives);
	merge_alternatives(canon, &alternatives, texts);
}
