#include "sql/canonical_internal.h"

bool canon_enter(struct canon *canon)
{
	if (canon->depth >= CANON_MAX_DEPTH)
		canon->failed = true;
	if (canon->failed)
		return false;
	canon->depth++;
	return true;
}

void canon_leave(struct canon *canon)
{
	canon->depth--;
}

/* Outputs */

static void set_outputs(const struct target_list *list, struct canon_select *select)
{
	select->names = list->names.items;
	select->names_count = list->names.count;
	select->exact = list->exact;
	if (!list->exact)
		return;
	select->outputs = list->names.items;
	select->outputs_count = list->names.count;
}

/* Where names cannot be replaced by numbers, they are part of the text. */
static str_t targets_text(struct canon *canon, const struct target_list *list)
{
	struct texts named = { 0 };
	if (list->exact || canon->depth <= 1)
		return texts_join(canon, STR("("), &list->texts, STR(")"));
	for (size_t i = 0; i < list->texts.count; i++)
		texts_add(canon, &named,
			  CONCAT(canon, list->texts.items[i], STR(" AS "),
				 canon_identifier(canon, list->names.items[i])));
	return texts_join(canon, STR("("), &named, STR(")"));
}

/* ORDER BY and LIMIT */

/* libpg_query numbers this enum in another order than the server's header: default, count, with ties. */
static bool with_ties(const SelectStmt *select)
{
	return (int)select->limitOption == 2;
}

static bool is_zero(const Node *node)
{
	return node && IsA(node, A_Const) && !((const A_Const *)node)->isnull &&
	       IsA(&((const A_Const *)node)->val, Integer) && ((const A_Const *)node)->val.ival.ival == 0;
}

static bool is_null(const Node *node)
{
	return IsA(node, A_Const) && ((const A_Const *)node)->isnull;
}

bool canon_limited(const SelectStmt *select)
{
	return (select->limitCount && !is_null(select->limitCount)) || select->limitOffset;
}

/* A key that is there already orders nothing. */
static bool is_there(const struct texts *texts, str_t text)
{
	for (size_t i = 0; i < texts->count; i++)
		if (str_equal(texts->items[i], text))
			return true;
	return false;
}

static void sort_keys(struct canon *canon, const SelectStmt *select, const struct target_list *list,
		      struct canon_select *result)
{
	struct texts keys = { 0 };
	size_t count = (size_t)list_length(select->sortClause);
	const ListCell *cell;
	result->order_columns = ARENA_ARRAY(canon->arena, int, count + 1);
	foreach(cell, select->sortClause)
	{
		const SortBy *sort = lfirst(cell);
		const Node *value;
		size_t before = canon->volatile_calls;
		str_t key = canon_key(canon, list, sort->node,
				      &result->order_columns[foreach_current_index(cell)], &value);
		bool repeated = canon_work(canon, keys.count) && canon->volatile_calls == before &&
				is_there(&keys, key);
		if (repeated)
			continue;
		texts_add(canon, &keys, key);
		texts_add(canon, &result->order, canon_sort(canon, sort, value, key));
	}
}

void canon_limit(struct canon *canon, const SelectStmt *select, struct texts *order)
{
	if (select->limitCount && !is_null(select->limitCount))
		texts_add(canon, order,
			  CONCAT(canon, STR("LIMIT "), canon_expression(canon, select->limitCount),
				 with_ties(select) ? STR(" WITH TIES") : STR("")));
	if (select->limitOffset && !is_zero(select->limitOffset) && !is_null(select->limitOffset))
		texts_add(canon, order,
			  CONCAT(canon, STR("OFFSET "), canon_expression(canon, select->limitOffset)));
}

static void order_and_limit(struct canon *canon, const SelectStmt *select, enum canon_use use,
			    const struct target_list *list, struct canon_select *result)
{
	bool limited = canon_limited(select);
	canon->unsteady += limited;
	if (use == CANON_ALL || limited || (select->distinctClause && linitial(select->distinctClause)))
		sort_keys(canon, select, list, result);
	canon_limit(canon, select, &result->order);
}
/* Clauses */

str_t canon_clause(struct canon *canon, str_t name, const struct texts *texts)
{
	return texts->count ? texts_join(canon, name, texts, STR(")")) : STR("");
}

/* Whether the text names a column of the relation. */
static bool names_range(str_t text, str_t range)
{
	const char *at = text.ptr;
	const char *end = text.ptr + text.len;
	while (range.len && (at = memmem(at, (size_t)(end - at), range.ptr, range.len))) {
		bool starts = at == text.ptr || strchr("( ,;", at[-1]);
		at += range.len;
		if (starts && at < end && *at == '.')
			return true;
	}
	return false;
}

/* An equation between columns of two relations. */
static bool is_join_condition(struct canon *canon, str_t text)
{
	const struct canon_scope *scope = canon->scope;
	size_t named = 0;
	if (text.len < 2 || text.ptr[0] != '(' || !memmem(text.ptr, text.len, " = ", 3) ||
	    !canon_work(canon, scope->ranges_count * (text.len / 64 + 1)))
		return false;
	for (size_t i = 0; i < scope->ranges_count && named < 2; i++)
		named += names_range(text, scope->ranges[i]->name);
	return named >= 2;
}

static void from_and_where(struct canon *canon, const SelectStmt *select, struct canon_from *from,
			   struct canon_select *result)
{
	const ListCell *cell;
	foreach(cell, select->fromClause) canon_from(canon, lfirst(cell), from);
	canon_conditions(canon, select->whereClause, false, &from->conditions);
	canon_equations(canon, from);
	texts_sort(&from->items);
	texts_unique(&from->conditions);
	if (canon->scope->outer)
		return; /* the parts of the outermost query alone are looked at */
	for (size_t i = 0; i < from->conditions.count; i++) {
		str_t text = from->conditions.items[i];
		texts_add(canon, is_join_condition(canon, text) ? &result->joins : &result->where, text);
	}
	texts_add_all(canon, &result->joins, &from->joins);
	for (size_t i = 0; i < canon->scope->ranges_count; i++) {
		const struct canon_range *range = canon->scope->ranges[i];
		bool plain = str_equal(range->name, range->text);
		if (!range->dissolved)
			texts_add(canon, &result->tables,
				  plain ? range->name
					: CONCAT(canon, range->name, STR("="),
						 canon_short(canon, range->text)));
	}
}

static void distinct_clause(struct canon *canon, const SelectStmt *select, const struct target_list *list,
			    struct canon_select *result)
{
	int index;
	const Node *node;
	result->distinct = select->distinctClause != NULL;
	if (!select->distinctClause || !linitial(select->distinctClause))
		return;
	struct texts keys = { 0 };
	const ListCell *cell;
	canon->unsteady++;
	foreach(cell, select->distinctClause)
		texts_add(canon, &keys, canon_key(canon, list, lfirst(cell), &index, &node));
	texts_unique(&keys);
	result->distinct_on = texts_join(canon, STR(" ON("), &keys, STR(")"));
}

/* Whether a grouping only makes the rows distinct: its keys are just what is selected. */
static bool groups_like_distinct(struct canon *canon, const SelectStmt *select,
				 const struct target_list *list, const struct canon_select *result)
{
	if (result->distinct || select->havingClause || select->windowClause || !list->exact ||
	    result->group.count == 0 || list->texts.count == 0)
		return false;
	struct texts targets = { 0 };
	texts_add_all(canon, &targets, &list->texts);
	texts_unique(&targets);
	if (targets.count != result->group.count)
		return false;
	for (size_t i = 0; i < targets.count; i++)
		if (!str_equal(targets.items[i], result->group.items[i]))
			return false;
	return true;
}

static void group_clause(struct canon *canon, const SelectStmt *select, const struct target_list *list,
			 struct canon_select *result)
{
	const ListCell *cell;
	size_t before = canon->volatile_calls;
	foreach(cell, select->groupClause)
	{
		const Node *key = lfirst(cell);
		const ListCell *part;
		if (IsA(key, RowExpr) && ((const RowExpr *)key)->row_format == COERCE_IMPLICIT_CAST) {
			foreach(part, ((const RowExpr *)key)->args)
				texts_add(canon, &result->group, canon_group_key(canon, list, lfirst(part)));
		} else {
			texts_add(canon, &result->group, canon_group_key(canon, list, key));
		}
	}
	if (canon->volatile_calls == before)
		texts_unique(&result->group);
	else
		texts_sort(&result->group);
	canon_conditions(canon, select->havingClause, false, &result->having);
	texts_unique(&result->having);
	if (select->havingClause && result->having.count == 0)
		texts_add(canon, &result->having, STR("TRUE"));
}

/* What EXISTS selects does not matter, unless it makes a group of nothing. */
static bool only_existence(const SelectStmt *select)
{
	if (select->op != SETOP_NONE || select->valuesLists || select->groupClause || select->havingClause ||
	    select->limitOffset)
		return false;
	if (select->limitCount && !is_null(select->limitCount) &&
	    !(IsA(select->limitCount, A_Const) && IsA(&((const A_Const *)select->limitCount)->val, Integer) &&
	      ((const A_Const *)select->limitCount)->val.ival.ival > 0))
		return false;
	const ListCell *cell;
	foreach(cell, select->targetList)
	{
		const Node *value = ((const ResTarget *)lfirst(cell))->val;
		if (!IsA(value, A_Const) && !IsA(value, ColumnRef))
			return false;
	}
	return true;
}

/* All that names relations, once these have their names. */
static void body(struct canon *canon, const SelectStmt *select, enum canon_use use,
		 struct canon_select *result)
{
	struct canon_from from = { 0 };
	struct target_list list = { 0 };
	size_t before = canon->volatile_calls;
	canon->scope->merged_count = 0;
	canon_find_equal(canon, select);
	canon_build_ranges(canon);
	from_and_where(canon, select, &from, result);
	if (use == CANON_EXISTENCE && only_existence(select)) {
		result->text = CONCAT(canon, STR("SELECT()"), canon_clause(canon, STR(" FROM("), &from.items),
				      canon_clause(canon, STR(" WHERE("), &from.conditions));
		return;
	}
	canon_targets(canon, select, &list);
	group_clause(canon, select, &list, result);
	distinct_clause(canon, select, &list, result);
	order_and_limit(canon, select, use, &list, result);
	set_outputs(&list, result);
	result->targets = list.texts;
	bool distinct = result->distinct || (canon->volatile_calls == before &&
					     groups_like_distinct(canon, select, &list, result));
	str_t group = select->groupDistinct ? STR(" GROUP DISTINCT(") : STR(" GROUP(");
	if (distinct && !result->distinct)
		group = STR("");
	else if (result->group.count || select->groupClause)
		group = texts_join(canon, group, &result->group, STR(")"));
	else
		group = STR("");
	result->text =
		CONCAT(canon, STR("SELECT"), distinct ? STR(" DISTINCT") : STR(""), result->distinct_on,
		       targets_text(canon, &list), canon_clause(canon, STR(" FROM("), &from.items),
		       canon_clause(canon, STR(" WHERE("), &from.conditions), group,
		       canon_clause(canon, STR(" HAVING("), &result->having),
		       canon_clause(canon, STR(" ORDER("), &result->order));
}

static str_t body_text(struct canon *canon, const SelectStmt *select)
{
	struct canon_select result = { .text = STR(""), .distinct_on = STR("") };
	body(canon, select, CANON_ALL, &result);
	return result.text;
}

static void plain_select(struct canon *canon, const SelectStmt *select, enum canon_use use,
			 struct canon_select *result)
{
	const ListCell *cell;
	if (canon_pass_through(canon, select, use, result))
		return;
	foreach(cell, select->fromClause) canon_ranges(canon, lfirst(cell), false);
	canon_name_ranges(canon);
	canon_place_twins(canon, select, body_text);
	body(canon, select, use, result);
}

static void values(struct canon *canon, const SelectStmt *select, enum canon_use use,
		   struct canon_select *result)
{
	struct target_list list = { .exact = true, .first_inexact = SIZE_MAX };
	const ListCell *cell;
	foreach(cell, select->valuesLists)
		texts_add(canon, &result->targets, canon_expression(canon, lfirst(cell)));
	size_t columns = (size_t)list_length(linitial(select->valuesLists));
	for (size_t i = 1; i <= columns; i++) {
		str_t number = canon_number(canon, i);
		texts_add(canon, &list.names, CONCAT(canon, STR("column"), number));
		texts_add(canon, &list.texts, CONCAT(canon, STR("OUTPUT "), number));
	}
	order_and_limit(canon, select, use, &list, result);
	set_outputs(&list, result);
	struct texts rows = { 0 };
	texts_add_all(canon, &rows, &result->targets);
	texts_sort(&rows);
	result->text = CONCAT(canon, texts_join(canon, STR("VALUES("), &rows, STR(")")),
			      canon_clause(canon, STR(" ORDER("), &result->order));
}

/* Set operations */

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

/* UNION is associative: its arms lie side by side. (INTERSECT compares in the common type of each pair; a
 * bare literal takes the type of its neighbour.) */
static void gather_arms(struct canon *canon, const SelectStmt *top, const SelectStmt *arm, bool flat,
			struct arms *arms)
{
	bool same = flat && arm->op == top->op && arm->all == top->all && top->op == SETOP_UNION &&
		    !has_tail(arm) && top != canon->recursive_query;
	if (!canon_enter(canon))
		return;
	if (same) {
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
	texts_add_all(canon, &result->targets, &arm->targets);
	texts_add_all(canon, &result->tables, &arm->tables);
	texts_add_all(canon, &result->joins, &arm->joins);
	texts_add_all(canon, &result->where, &arm->where);
	texts_add_all(canon, &result->group, &arm->group);
	texts_add_all(canon, &result->having, &arm->having);
	texts_add_all(canon, &result->order, &arm->order);
	result->distinct = result->distinct || arm->distinct;
}

/* SQLite compares by the collation of the left arm. */
static bool arms_commute(const struct canon *canon, const SelectStmt *select, const struct arms *arms)
{
	bool collated = canon->request->dialect != SQL_POSTGRESQL && !select->all;
	return select->op != SETOP_EXCEPT && select != canon->recursive_query && !collated &&
	       arms->items[0].exact;
}

static void set_operation(struct canon *canon, const SelectStmt *select, enum canon_use use,
			  struct canon_select *result)
{
	static const char *const names[] = { [SETOP_NONE] = "",
					     [SETOP_UNION] = "UNION",
					     [SETOP_INTERSECT] = "INTERSECT",
					     [SETOP_EXCEPT] = "EXCEPT" };
	struct arms arms = { 0 };
	str_t name = CONCAT(canon, str_from(names[select->op]), select->all ? STR(" ALL") : STR(""));
	bool flat = !canon_untyped(select);
	gather_arms(canon, select, select->larg, flat, &arms);
	gather_arms(canon, select, select->rarg, flat, &arms);
	if (canon->failed || arms.count == 0)
		return;
	struct texts texts = { 0 };
	for (size_t i = 0; i < arms.count; i++) {
		texts_add(canon, &texts, arms.items[i].text);
		add_arm(canon, &arms.items[i], result);
		if (i > 0)
			texts_add(canon, &result->where, name);
	}
	struct target_list list = { .exact = arms.items[0].exact,
				    .first_inexact = arms.items[0].exact ? SIZE_MAX : 0 };
	for (size_t i = 0; i < arms.items[0].names_count; i++) {
		texts_add(canon, &list.names, arms.items[0].names[i]);
		texts_add(canon, &list.texts, CONCAT(canon, STR("OUTPUT "), canon_number(canon, i + 1)));
	}
	set_outputs(&list, result);
	if (arms_commute(canon, select, &arms))
		texts_sort(&texts);
	struct canon_select tail = { 0 };
	order_and_limit(canon, select, use, &list, &tail);
	result->order_columns = tail.order_columns;
	texts_add_all(canon, &result->order, &tail.order);
	result->text = CONCAT(canon, name, texts_join(canon, STR("("), &texts, STR(")")),
			      canon_clause(canon, STR(" ORDER("), &tail.order));
}

void canon_select(struct canon *canon, const SelectStmt *select, enum canon_use use,
		  struct canon_select *ret_select)
{
	ret_select->text = STR("");
	ret_select->distinct_on = STR("");
	if (!canon_enter(canon))
		return;
	struct canon_cte *outer_ctes = canon->ctes;
	struct canon_scope *outer = canon->scope;
	canon_with(canon, select);
	struct canon_scope *scope = ARENA_NEW(canon->arena, struct canon_scope);
	*scope = (struct canon_scope){ .outer = outer,
				       .depth = outer ? outer->depth + 1 : 0,
				       .select = select };
	if (select->intoClause || select->lockingClause)
		canon->failed = true;
	if (select->op != SETOP_NONE) {
		set_operation(canon, select, use, ret_select);
	} else {
		canon->scope = scope;
		if (select->valuesLists)
			values(canon, select, use, ret_select);
		else
			plain_select(canon, select, use, ret_select);
		canon->scope = outer;
	}
	if (canon->ctes != outer_ctes)
		ret_select->text = CONCAT(canon, ret_select->text, canon_with_text(canon, outer_ctes));
	canon->ctes = outer_ctes;
	canon_leave(canon);
}
