#include "sql/postgresql/canonical/internal.h"

#include "sql/postgresql/resolve/internal.h"

/* The query in FROM. */
struct passed {
	const SelectStmt *select;
	const struct range_item *item;
	struct canon_scope *scope; /* where it stands */
	struct canon_cte *ctes;	   /* what it sees */
};

static bool only_source(struct canon *canon, const SelectStmt *select, struct passed *ret_passed)
{
	struct canon_scope *outside = canon->scope->outer;
	const Node *from = linitial(select->fromClause);
	*ret_passed = (struct passed){ .scope = outside, .ctes = canon->ctes };
	const Node *query = NULL;
	if (IsA(from, RangeSubselect)) {
		query = ((const RangeSubselect *)from)->subquery;
	} else if (IsA(from, RangeVar)) {
		const struct canon_cte *cte = canon_cte_find(canon, (const RangeVar *)from);
		if (!cte || cte->references != 1 || cte->may_recurse || cte->recursion ||
		    cte->scope != outside)
			return false;
		query = cte->query->ctequery;
		ret_passed->ctes = cte->outer;
	}
	if (!query || !IsA(query, SelectStmt))
		return false;
	ret_passed->select = (const SelectStmt *)query;
	ret_passed->item = resolution_item(canon->resolution, from);
	return ret_passed->item && !ret_passed->item->open;
}

/* All columns, in their order. */
static bool hands_on_all(const struct canon *canon, const SelectStmt *select, const struct range_item *item)
{
	const struct outputs *outputs = resolution_outputs(canon->resolution, select);
	if (!outputs || outputs->open || outputs->count != item->columns_count)
		return false;
	for (size_t i = 0; i < outputs->count; i++)
		if (outputs->columns[i].source != item || outputs->columns[i].source_index != i)
			return false;
	const ListCell *cell;
	foreach(cell,
		select->targetList) if (!IsA(((const ResTarget *)lfirst(cell))->val, ColumnRef)) return false;
	return true;
}

/* The column that a key sorts by; SIZE_MAX: it is no column. */
static size_t key_column(const struct canon *canon, const Node *key, const struct range_item *item)
{
	size_t index;
	if (canon_ordinal(key, &index))
		return index;
	const struct resolved_column *resolved = resolution_column(canon->resolution, key);
	if (!resolved ||
	    (resolved->kind != COLUMN_OUTPUT && (resolved->kind != COLUMN_OF_ITEM || resolved->item != item)))
		return SIZE_MAX;
	return resolved->column;
}

static bool keys_are_columns(const struct canon *canon, const SelectStmt *select, const struct passed *passed)
{
	const struct outputs *outputs = resolution_outputs(canon->resolution, passed->select);
	const ListCell *cell;
	foreach(cell, select->sortClause)
	{
		size_t column = key_column(canon, ((const SortBy *)lfirst(cell))->node, passed->item);
		if (!outputs || column >= outputs->count || !outputs->columns[column].expression)
			return false;
	}
	return true;
}

static bool passes(struct canon *canon, const SelectStmt *select, struct passed *ret_passed)
{
	if (!canon->resolution || !canon->resolution->names_known || list_length(select->fromClause) != 1 ||
	    select->whereClause || select->groupClause || select->havingClause || select->distinctClause ||
	    select->windowClause || !select->targetList || !only_source(canon, select, ret_passed) ||
	    !hands_on_all(canon, select, ret_passed->item))
		return false;
	const SelectStmt *inner = ret_passed->select;
	bool top = canon->statement == (const Node *)select;
	/* a bare literal has a type behind FROM, and takes one from its neighbours otherwise */
	if (inner->intoClause || inner->lockingClause || inner->valuesLists || (!top && canon_untyped(inner)))
		return false;
	bool inner_cut = canon_limited(inner) || (inner->distinctClause && linitial(inner->distinctClause));
	if (!select->sortClause && !canon_limited(select))
		/* its order does not go on to the outside */
		return !inner->sortClause || (inner_cut ? !top : !canon_order_matters(canon));
	return inner->op == SETOP_NONE && !inner_cut && !inner->withClause &&
	       (select->sortClause || !inner->sortClause) && keys_are_columns(canon, select, ret_passed);
}

static void set_names(struct canon *canon, const SelectStmt *select, struct canon_select *result)
{
	const struct outputs *outputs = resolution_outputs(canon->resolution, select);
	str_t *names = ARENA_ARRAY(canon->arena, str_t, outputs->count + 1);
	for (size_t i = 0; i < outputs->count; i++)
		names[i] = outputs->columns[i].name;
	result->names = result->outputs = names;
	result->names_count = result->outputs_count = outputs->count;
	result->exact = true;
}

static void add_order(struct canon *canon, const SelectStmt *select, const struct passed *passed,
		      struct canon_select *result)
{
	const struct outputs *outputs = resolution_outputs(canon->resolution, passed->select);
	const ListCell *cell;
	result->order.count = 0;
	result->order_columns = ARENA_ARRAY(canon->arena, int, (size_t)list_length(select->sortClause) + 1);
	foreach(cell, select->sortClause)
	{
		const SortBy *sort = lfirst(cell);
		size_t column = key_column(canon, sort->node, passed->item);
		if (column >= result->targets.count) {
			canon->failed = true;
			return;
		}
		result->order_columns[foreach_current_index(cell)] = (int)column;
		texts_add(canon->arena, &result->order,
			  canon_sort(canon, sort,
				     canon_has_grouping_sets(passed->select)
					     ? NULL
					     : outputs->columns[column].expression,
				     result->targets.items[column]));
	}
	canon->unsteady += canon_limited(select);
	canon_limit(canon, select, &result->order);
	result->text = CONCAT(canon, result->text, canon_clause(canon, STR(" ORDER("), &result->order));
}

bool canon_pass_through(struct canon *canon, const SelectStmt *select, enum canon_use use,
			struct canon_select *result)
{
	struct passed passed;
	if (use == CANON_EXISTENCE || !passes(canon, select, &passed))
		return false;
	struct canon_scope *scope = canon->scope;
	struct canon_cte *ctes = canon->ctes;
	bool ordered = select->sortClause || canon_limited(select);
	canon->scope = passed.scope;
	canon->ctes = passed.ctes;
	canon_select(canon, passed.select, canon_limited(passed.select) ? CANON_ALL : CANON_UNORDERED,
		     result);
	canon->failed |= !result->exact;
	set_names(canon, select, result);
	if (ordered && !canon->failed)
		add_order(canon, select, &passed, result);
	canon->scope = scope;
	canon->ctes = ctes;
	return true;
}
