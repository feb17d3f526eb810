#include "sql/canonical_internal.h"

#include "common/hash.h"
#include "sql/resolve_internal.h"

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

struct canon_cte *canon_cte_find(const struct canon *canon, const RangeVar *range)
{
	for (struct canon_cte *cte = range->schemaname ? NULL : canon->ctes; cte; cte = cte->outer)
		if (strcmp(cte->name, range->relname) == 0)
			return cte;
	return NULL;
}

/* WITH */

static void cte_outputs(struct canon *canon, const CommonTableExpr *query, const struct canon_select *select,
			struct canon_cte *cte)
{
	size_t listed = (size_t)list_length(query->aliascolnames);
	cte->outputs = select->outputs;
	cte->outputs_count = select->outputs_count;
	if (listed == 0)
		return;
	if (!select->outputs || listed > select->outputs_count) {
		canon->failed = true;
		return;
	}
	str_t *names = ARENA_ARRAY(canon->arena, str_t, select->outputs_count);
	for (size_t i = 0; i < select->outputs_count; i++)
		names[i] = i < listed ? str_from(NODE_STRING(list_nth(query->aliascolnames, (int)i)))
				      : select->outputs[i];
	cte->outputs = names;
}

/* Long texts are named by their digest: WITH queries on WITH queries would multiply them. */
static str_t cte_text(struct canon *canon, const struct canon_cte *cte, str_t body)
{
	struct texts names = { 0 };
	for (size_t i = 0; cte->recursive && i < cte->outputs_count; i++)
		texts_add(canon, &names, canon_identifier(canon, cte->outputs[i]));
	str_t text = canon_printf(canon, "%s(%s)", cte->recursive ? "recursive" : "", body.ptr);
	if (cte->recursive)
		text = canon_printf(canon, "%s%s", text.ptr, texts_join(canon, " as ", &names, "").ptr);
	if (text.len <= CANON_LONG_TEXT)
		return text;
	char hex[DIGEST_HEX_SIZE];
	digest_sha256_hex(text.ptr, text.len, hex);
	return canon_printf(canon, "(digest %s%s)", hex, canon_volatile(text) ? " random()" : "");
}

static void add_cte(struct canon *canon, const CommonTableExpr *query, bool recursive)
{
	struct canon_cte *cte = ARENA_NEW(canon->arena, struct canon_cte);
	struct canon_select select = { 0 };
	*cte = (struct canon_cte){ .outer = canon->ctes,
				   .name = query->ctename,
				   .number = canon->ctes ? canon->ctes->number + 1 : 0 };
	if (!IsA(query->ctequery, SelectStmt) || query->search_clause || query->cycle_clause) {
		canon->failed = true;
		return;
	}
	if (recursive)
		canon->ctes = cte;
	canon_select(canon, (const SelectStmt *)query->ctequery, &select);
	cte_outputs(canon, query, &select, cte);
	cte->text = cte_text(canon, cte, select.text);
	if (canon_volatile(cte->text)) /* evaluated once, however often it is named */
		cte->text = canon_printf(canon, "once %u%s", cte->number, cte->text.ptr);
	canon->ctes = cte;
}

/* Outputs */

static bool is_star(const Node *value)
{
	if (!IsA(value, ColumnRef))
		return false;
	const Node *last = llast(((const ColumnRef *)value)->fields);
	return IsA(last, A_Star);
}

static str_t target_name(const ResTarget *target)
{
	if (target->name)
		return str_from(target->name);
	return is_star(target->val) ? STR("*") : expression_name(target->val);
}

/* `*` without a catalog: the relations in order, with the names of their columns where they are known. */
static str_t star_text(struct canon *canon, const ColumnRef *star)
{
	if (list_length(star->fields) > 1)
		return canon_column(canon, star);
	struct texts rows = { 0 };
	for (size_t i = 0; i < canon->scope->ranges_count; i++)
		texts_add(canon, &rows, canon_whole_row(canon, &canon->scope->ranges[i]));
	for (size_t i = 0; i < canon->scope->merged_count; i++)
		texts_add(canon, &rows, canon->scope->merged[i].name);
	return texts_join(canon, "*(", &rows, ")");
}

static str_t source_column(struct canon *canon, const struct range_column *column)
{
	for (unsigned depth = 0; column->source && column->source->kind == RANGE_JOIN && depth < 100;
	     depth++) {
		if (column->source_index >= column->source->columns_count)
			return STR_NONE;
		const struct range_column *next = &column->source->columns[column->source_index];
		if (next == column)
			return STR_NONE;
		column = next;
	}
	const struct canon_range *range = column->source ? canon_range_of(canon, column->source->node) : NULL;
	if (!range || column->source_index >= column->source->columns_count)
		return STR_NONE;
	return canon_range_column(canon, range, column->source->columns[column->source_index].name);
}

struct target_list {
	struct texts texts;
	struct texts names;
	bool exact; /* every output is there, one by one */
};

/* The columns of a star as the resolver knows them: those that the other targets leave over. */
static bool expand_star_target(struct canon *canon, const SelectStmt *select, size_t first,
			       struct target_list *list)
{
	const struct outputs *outputs =
		canon->resolution ? resolution_outputs(canon->resolution, select) : NULL;
	size_t others = (size_t)list_length(select->targetList) - 1;
	if (!outputs || outputs->open || outputs->count < others || !canon->resolution->names_known)
		return false;
	struct texts texts = { 0 };
	for (size_t i = first; i < first + outputs->count - others; i++) {
		str_t text = source_column(canon, &outputs->columns[i]);
		if (!str_present(text))
			return false;
		texts_add(canon, &texts, text);
	}
	for (size_t i = 0; i < texts.count; i++) {
		texts_add(canon, &list->texts, texts.items[i]);
		texts_add(canon, &list->names, outputs->columns[first + i].name);
	}
	return true;
}

static size_t stars(const SelectStmt *select)
{
	size_t count = 0;
	const ListCell *cell;
	foreach(cell, select->targetList) count += is_star(((const ResTarget *)lfirst(cell))->val);
	return count;
}

static void target_list(struct canon *canon, const SelectStmt *select, struct target_list *list)
{
	size_t star_count = stars(select);
	list->exact = true;
	const ListCell *cell;
	foreach(cell, select->targetList)
	{
		const ResTarget *target = lfirst(cell);
		if (is_star(target->val)) {
			if (star_count == 1 && expand_star_target(canon, select, list->texts.count, list))
				continue;
			list->exact = false;
			texts_add(canon, &list->texts, star_text(canon, (const ColumnRef *)target->val));
		} else {
			texts_add(canon, &list->texts, canon_expression(canon, target->val));
		}
		texts_add(canon, &list->names, target_name(target));
	}
}

/* Names of outputs are only needed where all are known and differ. */
static void set_outputs(struct canon *canon, const struct target_list *list, struct canon_select *select)
{
	str_t *names = ARENA_ARRAY(canon->arena, str_t, list->names.count + 1);
	for (size_t i = 0; i < list->names.count; i++) {
		names[i] = list->names.items[i];
		for (size_t j = 0; j < i; j++)
			if (str_equal(names[j], names[i]) && !str_is(names[i], "?column?"))
				return;
	}
	if (!list->exact)
		return;
	select->outputs = names;
	select->outputs_count = list->names.count;
}

/* Where names cannot be replaced by numbers, they are part of the text. */
static struct texts named_targets(struct canon *canon, const struct target_list *list, bool named)
{
	struct texts texts = { 0 };
	for (size_t i = 0; i < list->texts.count; i++)
		texts_add(canon, &texts,
			  named ? canon_printf(canon, "%s as %s", list->texts.items[i].ptr,
					       canon_identifier(canon, list->names.items[i]).ptr)
				: list->texts.items[i]);
	return texts;
}

/* Keys of ORDER BY, DISTINCT ON and GROUP BY that mean an output */

static bool ordinal_of(const Node *node, size_t *ret_index)
{
	if (!IsA(node, A_Const))
		return false;
	const A_Const *literal = (const A_Const *)node;
	if (literal->isnull || literal->val.node.type != T_Integer || literal->val.ival.ival < 1)
		return false;
	*ret_index = (size_t)literal->val.ival.ival - 1;
	return true;
}

static const char *plain_name(const Node *node)
{
	if (!IsA(node, ColumnRef) || list_length(((const ColumnRef *)node)->fields) != 1)
		return NULL;
	const Node *field = linitial(((const ColumnRef *)node)->fields);
	return IsA(field, String) ? NODE_STRING(field) : NULL;
}

/* Index of the output that the key names by number or by name. */
static bool output_of(const struct target_list *list, const Node *key, size_t *ret_index)
{
	const char *name = plain_name(key);
	if (ordinal_of(key, ret_index))
		return *ret_index < list->texts.count && list->exact;
	for (size_t i = 0; name && i < list->names.count; i++)
		if (str_is(list->names.items[i], name)) {
			*ret_index = i;
			return true;
		}
	return false;
}

static str_t key_text(struct canon *canon, const struct target_list *list, const Node *key)
{
	size_t index;
	if (output_of(list, key, &index))
		return list->texts.items[index];
	if (ordinal_of(key, &index))
		return canon_printf(canon, "output %zu", index + 1);
	return canon_expression(canon, key);
}

/* GROUP BY prefers a column of FROM; where that is not known, both meanings are in the text. */
static str_t group_text(struct canon *canon, const struct target_list *list, const Node *key)
{
	size_t index;
	const struct resolved_column *resolved =
		canon->resolution && IsA(key, ColumnRef)
			? resolution_column(canon->resolution, (const ColumnRef *)key)
			: NULL;
	bool column = resolved && resolved->kind == COLUMN_OF_ITEM;
	if (!plain_name(key))
		return key_text(canon, list, key);
	if (column || !output_of(list, key, &index))
		return canon_expression(canon, key);
	if (resolved && resolved->kind == COLUMN_OUTPUT)
		return list->texts.items[index];
	str_t text = canon_expression(canon, key);
	if (str_equal(text, list->texts.items[index]))
		return text;
	return canon_printf(canon, "%s|%s", text.ptr, list->texts.items[index].ptr);
}

/* SELECT */

/* libpg_query numbers this enum in another order than the server's header: default, count, with ties. */
static bool with_ties(const SelectStmt *select)
{
	return (int)select->limitOption == 2;
}

static void order_and_limit(struct canon *canon, const SelectStmt *select, const struct target_list *list,
			    struct texts *order)
{
	const ListCell *cell;
	foreach(cell, select->sortClause)
	{
		const SortBy *sort = lfirst(cell);
		texts_add(canon, order, canon_sort(canon, sort, key_text(canon, list, sort->node)));
	}
	str_t limit = canon_expression(canon, select->limitCount);
	if (select->limitCount && !str_is(limit, "null"))
		texts_add(
			canon, order,
			canon_printf(canon, "limit %s%s", limit.ptr, with_ties(select) ? " with ties" : ""));
	if (select->limitOffset)
		texts_add(canon, order,
			  canon_printf(canon, "offset %s", canon_expression(canon, select->limitOffset).ptr));
}

/* Whether the text names a column of the relation. */
static bool names_range(str_t text, str_t range)
{
	const char *at = text.ptr;
	const char *end = text.ptr + text.len;
	while ((at = memmem(at, (size_t)(end - at), range.ptr, range.len))) {
		bool starts = at == text.ptr || strchr("( ,;", at[-1]);
		at += range.len;
		if (starts && at < end && *at == '.')
			return true;
	}
	return false;
}

/* An equation between columns of two relations. */
static bool is_join_condition(const struct canon *canon, str_t text)
{
	size_t named = 0;
	if (text.len < 2 || text.ptr[0] != '(' || !memmem(text.ptr, text.len, " = ", 3))
		return false;
	for (size_t i = 0; i < canon->scope->ranges_count && named < 2; i++)
		named += names_range(text, canon->scope->ranges[i].name);
	return named >= 2;
}

static void from_and_where(struct canon *canon, const SelectStmt *select, struct canon_from *from,
			   struct canon_select *result)
{
	const ListCell *cell;
	foreach(cell, select->fromClause) canon_ranges(canon, lfirst(cell));
	foreach(cell, select->fromClause) canon_from(canon, lfirst(cell), from);
	canon_conditions(canon, select->whereClause, &from->conditions);
	texts_sort(&from->items);
	texts_unique(&from->conditions);
	for (size_t i = 0; i < from->conditions.count; i++) {
		str_t text = from->conditions.items[i];
		texts_add(canon, is_join_condition(canon, text) ? &result->joins : &result->where, text);
	}
	for (size_t i = 0; i < from->outer_joins.count; i++)
		texts_add(canon, &result->joins, from->outer_joins.items[i]);
	for (size_t i = 0; i < canon->scope->ranges_count; i++)
		texts_add(canon, &result->tables, canon->scope->ranges[i].text);
}

static void distinct_clause(struct canon *canon, const SelectStmt *select, const struct target_list *list,
			    struct canon_select *result)
{
	result->distinct = select->distinctClause != NULL;
	result->distinct_on = STR("");
	if (!select->distinctClause || !linitial(select->distinctClause))
		return;
	struct texts keys = { 0 };
	const ListCell *cell;
	foreach(cell, select->distinctClause) texts_add(canon, &keys, key_text(canon, list, lfirst(cell)));
	texts_unique(&keys);
	result->distinct_on = texts_join(canon, " on(", &keys, ")");
}

static str_t clause(struct canon *canon, const char *name, const struct texts *texts)
{
	return texts->count ? texts_join(canon, name, texts, ")") : STR("");
}

static void body_text(struct canon *canon, const SelectStmt *select, const struct target_list *list,
		      const struct canon_from *from, struct canon_select *result)
{
	bool named = !result->outputs && canon->depth > 1;
	struct texts targets = named_targets(canon, list, named);
	result->text = canon_printf(
		canon, "select%s%s%s%s%s%s%s%s%s", result->distinct ? " distinct" : "",
		result->distinct_on.ptr, texts_join(canon, "(", &targets, ")").ptr,
		clause(canon, " from(", &from->items).ptr, clause(canon, " where(", &from->conditions).ptr,
		clause(canon, select->groupDistinct ? " group distinct(" : " group(", &result->group).ptr,
		clause(canon, " having(", &result->having).ptr, clause(canon, " order(", &result->order).ptr,
		select->groupClause && result->group.count == 0 ? " group()" : "");
}

static void plain_select(struct canon *canon, const SelectStmt *select, struct canon_select *result)
{
	struct canon_from from = { 0 };
	struct target_list list = { 0 };
	from_and_where(canon, select, &from, result);
	target_list(canon, select, &list);
	const ListCell *cell;
	foreach(cell, select->groupClause)
		texts_add(canon, &result->group, group_text(canon, &list, lfirst(cell)));
	texts_sort(&result->group);
	canon_conditions(canon, select->havingClause, &result->having);
	texts_unique(&result->having);
	distinct_clause(canon, select, &list, result);
	order_and_limit(canon, select, &list, &result->order);
	set_outputs(canon, &list, result);
	result->targets = list.texts;
	body_text(canon, select, &list, &from, result);
}

static void values(struct canon *canon, const SelectStmt *select, struct canon_select *result)
{
	struct target_list list = { .exact = true };
	const ListCell *cell;
	foreach(cell, select->valuesLists)
		texts_add(canon, &result->targets, canon_expression(canon, lfirst(cell)));
	int columns = list_length(linitial(select->valuesLists));
	for (int i = 1; i <= columns; i++) {
		texts_add(canon, &list.names, canon_printf(canon, "column%d", i));
		texts_add(canon, &list.texts, canon_printf(canon, "output %d", i));
	}
	order_and_limit(canon, select, &list, &result->order);
	set_outputs(canon, &list, result);
	struct texts rows = { 0 };
	for (size_t i = 0; i < result->targets.count; i++)
		texts_add(canon, &rows, result->targets.items[i]);
	texts_sort(&rows);
	result->text = canon_printf(canon, "%s%s", texts_join(canon, "values(", &rows, ")").ptr,
				    clause(canon, " order(", &result->order).ptr);
}

/* Set operations */

struct arms {
	struct canon_select *items;
	size_t count;
	size_t capacity;
};

static bool has_tail(const SelectStmt *select)
{
	return select->sortClause || select->limitCount || select->limitOffset || select->withClause;
}

/* UNION and INTERSECT are associative: arms of the same operation lie side by side. */
static void gather_arms(struct canon *canon, const SelectStmt *top, const SelectStmt *arm, struct arms *arms)
{
	if (!canon_enter(canon))
		return;
	if (arm->op == top->op && arm->all == top->all && top->op != SETOP_EXCEPT && !has_tail(arm)) {
		gather_arms(canon, top, arm->larg, arms);
		gather_arms(canon, top, arm->rarg, arms);
	} else {
		struct canon_select select = { 0 };
		canon_select(canon, arm, &select);
		ARENA_PUSH(canon->arena, arms->items, arms->count, arms->capacity, select);
	}
	canon_leave(canon);
}

static void append(struct canon *canon, struct texts *to, const struct texts *from)
{
	for (size_t i = 0; i < from->count; i++)
		texts_add(canon, to, from->items[i]);
}

static void add_arm(struct canon *canon, const struct canon_select *arm, struct canon_select *result)
{
	append(canon, &result->targets, &arm->targets);
	append(canon, &result->tables, &arm->tables);
	append(canon, &result->joins, &arm->joins);
	append(canon, &result->where, &arm->where);
	append(canon, &result->group, &arm->group);
	append(canon, &result->having, &arm->having);
	append(canon, &result->order, &arm->order);
	result->distinct = result->distinct || arm->distinct;
}

static void set_operation(struct canon *canon, const SelectStmt *select, struct canon_select *result)
{
	static const char *const names[] = { [SETOP_NONE] = "",
					     [SETOP_UNION] = "union",
					     [SETOP_INTERSECT] = "intersect",
					     [SETOP_EXCEPT] = "except" };
	struct arms arms = { 0 };
	gather_arms(canon, select, select->larg, &arms);
	gather_arms(canon, select, select->rarg, &arms);
	if (canon->failed || arms.count == 0)
		return;
	struct texts texts = { 0 };
	for (size_t i = 0; i < arms.count; i++) {
		texts_add(canon, &texts, arms.items[i].text);
		add_arm(canon, &arms.items[i], result);
		if (i > 0)
			texts_add(canon, &result->where,
				  canon_printf(canon, "%s%s", names[select->op], select->all ? " all" : ""));
	}
	result->outputs = arms.items[0].outputs;
	result->outputs_count = arms.items[0].outputs_count;
	if (select->op != SETOP_EXCEPT && result->outputs)
		texts_sort(&texts);
	struct target_list list = { .exact = result->outputs != NULL };
	for (size_t i = 0; i < result->outputs_count; i++) {
		texts_add(canon, &list.names, result->outputs[i]);
		texts_add(canon, &list.texts, canon_printf(canon, "output %zu", i + 1));
	}
	struct texts order = { 0 };
	order_and_limit(canon, select, &list, &order);
	append(canon, &result->order, &order);
	result->text =
		canon_printf(canon, "%s%s%s%s", names[select->op], select->all ? " all" : "",
			     texts_join(canon, "(", &texts, ")").ptr, clause(canon, " order(", &order).ptr);
}

void canon_select(struct canon *canon, const SelectStmt *select, struct canon_select *ret_select)
{
	ret_select->text = STR("");
	ret_select->distinct_on = STR("");
	if (!canon_enter(canon))
		return;
	struct canon_cte *outer_ctes = canon->ctes;
	const ListCell *cell;
	foreach(cell, select->withClause ? select->withClause->ctes : NULL)
		add_cte(canon, lfirst(cell), select->withClause->recursive);
	struct canon_scope scope = { .outer = canon->scope,
				     .depth = canon->scope ? canon->scope->depth + 1 : 0,
				     .select = select };
	if (select->intoClause || select->lockingClause)
		canon->failed = true;
	if (select->op != SETOP_NONE) {
		set_operation(canon, select, ret_select);
	} else {
		canon->scope = &scope;
		if (select->valuesLists)
			values(canon, select, ret_select);
		else
			plain_select(canon, select, ret_select);
		canon->scope = scope.outer;
	}
	canon->ctes = outer_ctes;
	canon_leave(canon);
}

/* Sort keys */

int canon_sort_output(struct canon *canon, const SelectStmt *select, const Node *key)
{
	struct target_list list = { 0 };
	struct canon_cte *outer_ctes = canon->ctes;
	struct canon_scope scope = { .select = select };
	size_t index = 0;
	int found = -1;
	const SelectStmt *first = select;
	while (first->op != SETOP_NONE)
		first = first->larg;
	const ListCell *cell;
	foreach(cell, select->withClause ? select->withClause->ctes : NULL)
		add_cte(canon, lfirst(cell), select->withClause->recursive);
	canon->scope = &scope;
	foreach(cell, first->fromClause) canon_ranges(canon, lfirst(cell));
	struct canon_from from = { 0 };
	foreach(cell, first->fromClause) canon_from(canon, lfirst(cell), &from);
	target_list(canon, first, &list);
	if (ordinal_of(key, &index)) {
		found = (int)index;
	} else if (output_of(&list, key, &index)) {
		found = (int)index;
	} else if (select->op == SETOP_NONE) {
		str_t text = canon_expression(canon, key);
		for (size_t i = 0; found < 0 && !canon->failed && i < list.texts.count; i++)
			if (str_equal(list.texts.items[i], text))
				found = (int)i;
	}
	/* Behind a star whose columns are not known nobody can count. */
	for (int i = 0;
	     !list.exact && !ordinal_of(key, &index) && i < found && i < list_length(first->targetList); i++)
		if (is_star(((const ResTarget *)list_nth(first->targetList, i))->val))
			found = -1;
	canon->scope = NULL;
	canon->ctes = outer_ctes;
	return found;
}
