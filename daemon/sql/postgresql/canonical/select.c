#include "sql/postgresql/canonical/internal.h"

#include "common/hash.h"

#include "catalog/pg_type_d.h"

#include <ctype.h>

/* Outputs */

void canon_set_outputs(const struct target_list *list, struct canon_select *select)
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
		texts_add(canon->arena, &named,
			  CONCAT(canon, list->texts.items[i], STR(" AS "),
				 canon_identifier(canon, list->names.items[i])));
	return texts_join(canon, STR("("), &named, STR(")"));
}

/* ORDER BY and LIMIT */

bool canon_limited(const SelectStmt *select)
{
	return (select->limitCount && !node_is_null(select->limitCount)) || select->limitOffset;
}

static void sort_keys(struct canon *canon, const SelectStmt *select, const struct target_list *list,
		      struct canon_select *result)
{
	struct hash_map keys = { .arena = canon->arena };
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
		/* A key that is there already orders nothing. */
		bool is_new = !hash_map_set(&keys, key, canon);
		if (!is_new && canon->volatile_calls == before)
			continue;
		texts_add(canon->arena, &result->order, canon_sort(canon, sort, value, key));
	}
}

void canon_limit(struct canon *canon, const SelectStmt *select, struct texts *order)
{
	if (select->limitCount && !node_is_null(select->limitCount))
		texts_add(canon->arena, order,
			  CONCAT(canon, STR("LIMIT "), canon_expression(canon, select->limitCount),
				 node_with_ties(select) ? STR(" WITH TIES") : STR("")));
	int number;
	bool zero = node_integer(select->limitOffset, &number) && number == 0;
	if (select->limitOffset && !zero && !node_is_null(select->limitOffset))
		texts_add(canon->arena, order,
			  CONCAT(canon, STR("OFFSET "), canon_expression(canon, select->limitOffset)));
}

void canon_order_and_limit(struct canon *canon, const SelectStmt *select, enum canon_use use,
			   const struct target_list *list, struct canon_select *result)
{
	bool limited = canon_limited(select);
	canon->unsteady += limited;
	if (use == CANON_ALL || limited || (select->distinctClause && linitial(select->distinctClause)) ||
	    !canon_keys_only_order(canon, select))
		sort_keys(canon, select, list, result);
	canon_limit(canon, select, &result->order);
}
/* Clauses */

str_t canon_clause(struct canon *canon, str_t name, const struct texts *texts)
{
	return texts->count ? texts_join(canon, name, texts, STR(")")) : STR("");
}

/* Behind a quoted part that begins at `at`. */
static size_t quoted_end(str_t text, size_t at)
{
	const char *end = memchr(text.ptr + at + 1, text.ptr[at], text.len - at - 1);
	return end ? (size_t)(end - text.ptr) + 1 : text.len;
}

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '#' || c == '"' || c == '^';
}

/* The relation of the qualified column that begins at `*at`, which is moved behind it; empty: it is another
 * word. */
static str_t relation_at(str_t text, size_t *at)
{
	size_t start = *at, dot = start, end = start;
	while (end < text.len && (in_name(text.ptr[end]) || (text.ptr[end] == '.' && end > start))) {
		if (text.ptr[end] == '.')
			dot = end;
		end = text.ptr[end] == '"' ? quoted_end(text, end) : end + 1;
	}
	*at = end;
	bool column = dot > start && !isdigit((unsigned char)text.ptr[start]) && text.ptr[start] != '^';
	return (str_t){ text.ptr + start, column ? dot - start : 0 };
}

/* An equation that names columns of two relations. */
static bool is_join_condition(str_t text)
{
	str_t first = STR("");
	if (text.len < 2 || text.ptr[0] != '(' || !memmem(text.ptr, text.len, " = ", 3))
		return false;
	for (size_t at = 0; at < text.len;) {
		if (text.ptr[at] == '\'') {
			at = quoted_end(text, at);
		} else if (!in_name(text.ptr[at])) {
			at++;
		} else {
			str_t relation = relation_at(text, &at);
			if (relation.len && first.len && !str_equal(relation, first))
				return true;
			first = first.len ? first : relation;
		}
	}
	return false;
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
	if (canon->scope->outer || canon->masked)
		return; /* the parts of the outermost query alone are looked at */
	for (size_t i = 0; i < from->conditions.count; i++) {
		str_t text = from->conditions.items[i];
		texts_add(canon->arena, is_join_condition(text) ? &result->joins : &result->where, text);
	}
	texts_add_all(canon, &result->joins, &from->joins);
	for (size_t i = 0; i < canon->scope->ranges_count; i++) {
		const struct canon_range *range = canon->scope->ranges[i];
		bool plain = str_equal(range->name, range->text);
		if (!range->dissolved)
			texts_add(canon->arena, &result->tables,
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
		texts_add(canon->arena, &keys, canon_key(canon, list, lfirst(cell), &index, &node));
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

/* Grouping sets multiply each other: one that is there twice gives its rows twice. */
bool canon_has_grouping_sets(const SelectStmt *select)
{
	const ListCell *cell;
	foreach(cell, select->groupClause) if (IsA(lfirst(cell), GroupingSet)) return true;
	return false;
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
			foreach(part, ((const RowExpr *)key)->args) texts_add(
				canon->arena, &result->group, canon_group_key(canon, list, lfirst(part)));
		} else {
			texts_add(canon->arena, &result->group, canon_group_key(canon, list, key));
		}
	}
	if (canon->volatile_calls == before && !canon_has_grouping_sets(select))
		texts_unique(&result->group);
	else
		texts_sort(&result->group);
	canon_conditions(canon, select->havingClause, false, &result->having);
	texts_unique(&result->having);
	if (select->havingClause && result->having.count == 0)
		texts_add(canon->arena, &result->having, STR("TRUE"));
}

static bool is_simple(const Node *node)
{
	return IsA(node, A_Const) || IsA(node, ColumnRef);
}

/* What EXISTS selects does not matter, unless it makes a group of nothing. */
static bool only_existence(const SelectStmt *select)
{
	if (select->op != SETOP_NONE || select->valuesLists || select->groupClause || select->havingClause ||
	    select->limitOffset)
		return false;
	int limit;
	if (select->limitCount && !node_is_null(select->limitCount) &&
	    !(node_integer(select->limitCount, &limit) && limit > 0))
		return false;
	const ListCell *cell;
	foreach(cell,
		select->targetList) if (!is_simple(((const ResTarget *)lfirst(cell))->val)) return false;
	foreach(cell, select->sortClause) if (!is_simple(((const SortBy *)lfirst(cell))->node)) return false;
	foreach(cell, select->distinctClause) if (lfirst(cell) && !is_simple(lfirst(cell))) return false;
	return true;
}

/* All that names relations, once these have their names. */
static void body(struct canon *canon, const SelectStmt *select, enum canon_use use,
		 struct canon_select *result)
{
	struct canon_from from = { 0 };
	struct target_list list = { 0 };
	size_t before = canon->volatile_calls;
	canon_merged_clear(canon->scope);
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
	canon_order_and_limit(canon, select, use, &list, result);
	canon_set_outputs(&list, result);
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

/* Whether the types of the columns do not come from the order of the rows. */
static bool rows_alike(const struct canon *canon, const List *rows)
{
	const List *first = linitial(rows);
	const ListCell *cell;
	for (int i = 0; i < list_length(first); i++) {
		type_id common = UNKNOWNOID;
		foreach(cell, rows)
		{
			const List *row = lfirst(cell);
			type_id type = list_length(row) == list_length(first)
					       ? resolution_type(canon->resolution, list_nth(row, i))
					       : TYPE_UNSURE;
			common = common == UNKNOWNOID ? type : common;
			if (type == TYPE_UNSURE || type == BPCHAROID ||
			    (type != common && type != UNKNOWNOID))
				return false;
		}
	}
	return true;
}

static void values(struct canon *canon, const SelectStmt *select, enum canon_use use,
		   struct canon_select *result)
{
	struct target_list list = { .exact = true, .first_inexact = SIZE_MAX };
	const ListCell *cell;
	foreach(cell, select->valuesLists)
		texts_add(canon->arena, &result->targets, canon_expression(canon, lfirst(cell)));
	size_t columns = (size_t)list_length(linitial(select->valuesLists));
	for (size_t i = 1; i <= columns; i++) {
		str_t number = canon_number(canon, i);
		texts_add(canon->arena, &list.names, CONCAT(canon, STR("column"), number));
		texts_add(canon->arena, &list.texts, CONCAT(canon, STR("OUTPUT "), number));
	}
	canon_order_and_limit(canon, select, use, &list, result);
	canon_set_outputs(&list, result);
	struct texts rows = { 0 };
	texts_add_all(canon, &rows, &result->targets);
	if (rows_alike(canon, select->valuesLists))
		texts_sort(&rows);
	result->text = CONCAT(canon, texts_join(canon, STR("VALUES("), &rows, STR(")")),
			      canon_clause(canon, STR(" ORDER("), &result->order));
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
		canon_set_operation(canon, select, use, ret_select);
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
