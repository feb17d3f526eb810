#include "sql/postgresql/canonical/internal.h"

#include "sql/postgresql/resolve/internal.h"

#include "catalog/pg_type_d.h"

struct arms {
	struct canon_select *items;
	size_t count;
	size_t capacity;
};

static bool has_tail(const SelectStmt *select)
{
	return canon_limited(select) || select->withClause;
}

bool canon_untyped(const SelectStmt *select)
{
	const ListCell *cell;
	if (select->op != SETOP_NONE)
		return canon_untyped(select->larg) || canon_untyped(select->rarg);
	foreach(cell, select->targetList)
	{
		const Node *value = ((const ResTarget *)lfirst(cell))->val;
		if (IsA(value, ParamRef) ||
		    (IsA(value, A_Const) &&
		     (((const A_Const *)value)->isnull || IsA(&((const A_Const *)value)->val, String))))
			return true;
	}
	return select->valuesLists != NULL;
}

/* Types of which equal values are the same value: which one of them is kept does not show. Not so numbers
 * with a scale, floats with a sign of zero, texts under a collation; bare literals on all sides are plain
 * texts. */
static bool equal_is_same(type_id type)
{
	switch (type) {
	case BOOLOID:
	case INT2OID:
	case INT4OID:
	case INT8OID:
	case OIDOID:
	case UUIDOID:
	case DATEOID:
	case TIMEOID:
	case TIMESTAMPOID:
	case TIMESTAMPTZOID:
	case UNKNOWNOID:
		return true;
	default:
		return false;
	}
}

static bool keeps_all(const SelectStmt *select)
{
	return select->op == SETOP_UNION && select->all;
}

/* Whether a column is the same wherever its arm stands. The length of a char(n) is not known, and padded
 * values show it. */
static bool same_anywhere(const struct canon *canon, const SelectStmt *top, type_id type)
{
	if (keeps_all(top) && !canon->deduplicated)
		return type != TYPE_UNSURE && type != BPCHAROID;
	return equal_is_same(type);
}

/* An arm whose own arms may lie beside those of `top`. */
static bool opens(const struct canon *canon, const SelectStmt *top, const SelectStmt *arm, bool flat)
{
	return flat && arm->op == top->op && arm->all == top->all && top->op == SETOP_UNION &&
	       !has_tail(arm) && top != canon->recursive_query;
}

/* Whether all arms have the column types of the first, and no value depends on where its arm stands. */
static bool arm_alike(struct canon *canon, const SelectStmt *top, const SelectStmt *arm, bool flat,
		      const struct outputs **first)
{
	if (opens(canon, top, arm, flat)) {
		if (!canon_enter(canon))
			return false;
		bool alike = arm_alike(canon, top, arm->larg, flat, first) &&
			     arm_alike(canon, top, arm->rarg, flat, first);
		canon_leave(canon);
		return alike;
	}
	const struct outputs *outputs = resolution_outputs(canon->resolution, arm);
	if (!outputs || outputs->open || !canon_work(canon, outputs->count))
		return false;
	*first = *first ? *first : outputs;
	if (outputs->count != (*first)->count)
		return false;
	for (size_t i = 0; i < outputs->count; i++)
		if (outputs->columns[i].type != (*first)->columns[i].type ||
		    !same_anywhere(canon, top, outputs->columns[i].type))
			return false;
	return true;
}

/* The type of the result, and which of equal rows is kept, come from the order of the arms, unless all are of
 * one kind. (Other dialects compare by the collation of the left arm.) */
static bool arms_alike(struct canon *canon, const SelectStmt *select, bool flat)
{
	const struct outputs *first = NULL;
	return select->op != SETOP_EXCEPT && select != canon->recursive_query &&
	       canon->request->dialect == SQL_POSTGRESQL && canon->resolution &&
	       !canon->resolution->too_deep && arm_alike(canon, select, select->larg, flat, &first) &&
	       arm_alike(canon, select, select->rarg, flat, &first);
}

/* UNION is associative where its arms are alike: these lie side by side. (INTERSECT compares in the common
 * type of each pair; a bare literal takes the type of its neighbour.) */
static void gather_arms(struct canon *canon, const SelectStmt *top, const SelectStmt *arm, bool flat,
			struct arms *arms)
{
	if (!canon_enter(canon))
		return;
	if (opens(canon, top, arm, flat)) {
		gather_arms(canon, top, arm->larg, flat, arms);
		gather_arms(canon, top, arm->rarg, flat, arms);
	} else {
		struct canon_select select = { 0 };
		canon_select(canon, arm, CANON_UNORDERED, &select);
		select.text = canon_short(canon, select.text);
		ARENA_PUSH(canon->arena, arms->items, arms->count, arms->capacity, select);
	}
	canon_leave(canon);
}

static void add_arm(struct canon *canon, const struct canon_select *arm, struct canon_select *result)
{
	texts_take(canon, &result->targets, &arm->targets);
	texts_take(canon, &result->tables, &arm->tables);
	texts_take(canon, &result->joins, &arm->joins);
	texts_take(canon, &result->where, &arm->where);
	texts_take(canon, &result->group, &arm->group);
	texts_take(canon, &result->having, &arm->having);
	texts_take(canon, &result->order, &arm->order);
	result->distinct = result->distinct || arm->distinct;
}

void canon_set_operation(struct canon *canon, const SelectStmt *select, enum canon_use use,
			 struct canon_select *result)
{
	static const char *const names[] = { [SETOP_NONE] = "",
					     [SETOP_UNION] = "UNION",
					     [SETOP_INTERSECT] = "INTERSECT",
					     [SETOP_EXCEPT] = "EXCEPT" };
	struct arms arms = { 0 };
	str_t name = CONCAT(canon, str_from(names[select->op]), select->all ? STR(" ALL") : STR(""));
	bool flat = select->op == SETOP_UNION && !canon_untyped(select) && arms_alike(canon, select, true);
	bool deduplicated = canon->deduplicated;
	canon->deduplicated |= !keeps_all(select);
	gather_arms(canon, select, select->larg, flat, &arms);
	gather_arms(canon, select, select->rarg, flat, &arms);
	canon->deduplicated = deduplicated;
	if (canon->failed || arms.count == 0)
		return;
	struct texts texts = { 0 };
	for (size_t i = 0; i < arms.count; i++) {
		texts_add(canon->arena, &texts, arms.items[i].text);
		add_arm(canon, &arms.items[i], result);
		if (i > 0)
			texts_add(canon->arena, &result->where, name);
	}
	struct target_list list = { .exact = arms.items[0].exact,
				    .first_inexact = arms.items[0].exact ? SIZE_MAX : 0 };
	for (size_t i = 0; i < arms.items[0].names_count; i++) {
		texts_add(canon->arena, &list.names, arms.items[0].names[i]);
		texts_add(canon->arena, &list.texts,
			  CONCAT(canon, STR("OUTPUT "), canon_number(canon, i + 1)));
	}
	canon_set_outputs(&list, result);
	if (arms.items[0].exact && (flat || arms_alike(canon, select, false)))
		texts_sort(&texts);
	struct canon_select tail = { 0 };
	canon_order_and_limit(canon, select, use, &list, &tail);
	result->order_columns = tail.order_columns;
	texts_add_all(canon, &result->order, &tail.order);
	result->text = CONCAT(canon, name, texts_join(canon, STR("("), &texts, STR(")")),
			      canon_clause(canon, STR(" ORDER("), &tail.order));
}
