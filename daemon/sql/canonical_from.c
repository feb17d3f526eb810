#include "sql/canonical_internal.h"

#include "sql/catalog_content.h"
#include "sql/node_children.h"

static str_t alias_name(const Alias *alias, const char *otherwise)
{
	return str_from(alias ? alias->aliasname : otherwise);
}

/* The outputs under the names of the alias' column list. */
static void set_outputs(struct canon *canon, struct canon_range *range, const Alias *alias,
			const str_t *outputs, size_t count)
{
	if (!alias || !alias->colnames) {
		range->outputs = outputs;
		range->outputs_count = count;
		return;
	}
	if (!outputs || (size_t)list_length(alias->colnames) > count) {
		canon->failed = true;
		return;
	}
	str_t *names = ARENA_ARRAY(canon->arena, str_t, count);
	for (size_t i = 0; i < count; i++)
		names[i] = i < (size_t)list_length(alias->colnames)
				   ? str_from(NODE_STRING(list_nth(alias->colnames, (int)i)))
				   : outputs[i];
	range->outputs = names;
	range->outputs_count = count;
}

static void add_relation(struct canon *canon, const RangeVar *relation)
{
	struct canon_cte *cte = canon_cte_find(canon, relation);
	str_t alias = alias_name(relation->alias, relation->relname);
	if (!cte) {
		str_t name = canon_relation(canon, relation);
		struct canon_range *range = canon_range_add(canon, (const Node *)relation, alias, name);
		range->schema = str_from(relation->schemaname);
		range->text = relation->inh ? range->name : canon_printf(canon, "only %s", range->name.ptr);
		if (relation->alias && relation->alias->colnames)
			canon->failed = true;
		return;
	}
	struct canon_range *range = canon_range_add(canon, (const Node *)relation, alias, STR("q"));
	if (!str_present(cte->text)) {
		cte->recursive = true;
		range->text = canon_printf(canon, "%s=recursion %u", range->name.ptr, cte->number);
		if (relation->alias && relation->alias->colnames)
			canon->failed = true;
		return;
	}
	range->text = canon_printf(canon, "%s=%s", range->name.ptr, cte->text.ptr);
	set_outputs(canon, range, relation->alias, cte->outputs, cte->outputs_count);
}

/* What is not LATERAL does not see its neighbours. */
static void add_subquery(struct canon *canon, const RangeSubselect *subquery)
{
	struct canon_scope *scope = canon->scope;
	struct canon_select select = { 0 };
	if (!IsA(subquery->subquery, SelectStmt)) {
		canon->failed = true;
		return;
	}
	if (!subquery->lateral)
		canon->scope = scope->outer;
	canon_select(canon, (const SelectStmt *)subquery->subquery, &select);
	canon->scope = scope;
	struct canon_range *range =
		canon_range_add(canon, (const Node *)subquery, alias_name(subquery->alias, NULL), STR("q"));
	range->text = canon_printf(canon, "%s=%s(%s)", range->name.ptr, subquery->lateral ? "lateral" : "",
				   select.text.ptr);
	set_outputs(canon, range, subquery->alias, select.outputs, select.outputs_count);
}

/* The aliases of a function name its columns, so they stay. */
static void add_function(struct canon *canon, const RangeFunction *function)
{
	struct texts calls = { 0 };
	const ListCell *cell;
	foreach(cell, function->functions)
		texts_add(canon, &calls, canon_expression(canon, linitial((const List *)lfirst(cell))));
	struct texts names = { 0 };
	const Alias *alias = function->alias;
	texts_add(canon, &names, alias_name(alias, ""));
	foreach(cell, alias ? alias->colnames : NULL)
		texts_add(canon, &names, canon_identifier(canon, str_from(NODE_STRING(lfirst(cell)))));
	if (function->coldeflist)
		canon->failed = true;
	const Node *first = linitial((const List *)linitial(function->functions));
	const char *called = IsA(first, FuncCall) ? names_last(((const FuncCall *)first)->funcname) : NULL;
	str_t shown = alias_name(alias, called);
	struct canon_range *range = canon_range_add(canon, (const Node *)function, shown, STR("f"));
	range->text = canon_printf(
		canon, "%s=%s%s%s", range->name.ptr, texts_join(canon, "(", &calls, ")").ptr,
		function->ordinality ? " ordinality" : "", texts_join(canon, " as ", &names, "").ptr);
}

static void add_sample(struct canon *canon, const RangeTableSample *sample)
{
	struct texts arguments = { 0 };
	canon_ranges(canon, sample->relation);
	canon_expressions(canon, sample->args, &arguments);
	struct canon_scope *scope = canon->scope;
	struct canon_range *range = &scope->ranges[scope->ranges_count - 1];
	range->text = canon_printf(canon, "%s sample %s%s %s", range->text.ptr, names_last(sample->method),
				   texts_join(canon, "(", &arguments, ")").ptr,
				   canon_expression(canon, sample->repeatable).ptr);
}

void canon_ranges(struct canon *canon, const Node *node)
{
	if (!node || !canon_enter(canon))
		return;
	switch ((int)nodeTag(node)) {
	case T_RangeVar:
		add_relation(canon, (const RangeVar *)node);
		break;
	case T_RangeSubselect:
		add_subquery(canon, (const RangeSubselect *)node);
		break;
	case T_RangeFunction:
		add_function(canon, (const RangeFunction *)node);
		break;
	case T_RangeTableSample:
		add_sample(canon, (const RangeTableSample *)node);
		break;
	case T_JoinExpr:
		canon_ranges(canon, ((const JoinExpr *)node)->larg);
		canon_ranges(canon, ((const JoinExpr *)node)->rarg);
		break;
	default:
		canon->failed = true;
		break;
	}
	canon_leave(canon);
}

static bool has_column(const struct canon *canon, const struct canon_range *range, str_t name,
		       bool *ret_known)
{
	const struct range_item *item =
		canon->resolution ? resolution_item(canon->resolution, range->node) : NULL;
	*ret_known = true;
	for (size_t i = 0; i < range->outputs_count; i++)
		if (str_equal(range->outputs[i], name))
			return true;
	if (range->outputs)
		return false;
	*ret_known = item && !item->open;
	for (size_t i = 0; *ret_known && i < item->columns_count; i++)
		if (str_equal(item->columns[i].name, name))
			return true;
	return false;
}

/* The leaves of one side of a join. */
static void leaves(const struct canon *canon, const Node *node, const struct canon_range **found,
		   size_t *count, size_t limit)
{
	if (node && IsA(node, JoinExpr) && *count < limit) {
		leaves(canon, ((const JoinExpr *)node)->larg, found, count, limit);
		leaves(canon, ((const JoinExpr *)node)->rarg, found, count, limit);
		return;
	}
	if (node && IsA(node, RangeTableSample))
		node = ((const RangeTableSample *)node)->relation;
	const struct canon_range *range = canon_range_of(canon, node);
	if (range && *count < limit)
		found[(*count)++] = range;
}

#define MAX_LEAVES 64

/* The column of that name on one side of a join; names all candidates where there is doubt. */
static str_t side_column(struct canon *canon, const Node *side, str_t name)
{
	const struct canon_range *found[MAX_LEAVES];
	size_t count = 0;
	const struct canon_range *owner = NULL;
	bool doubt = false;
	struct texts names = { 0 };
	for (size_t i = 0; IsA(side, JoinExpr) && i < canon->scope->merged_count; i++)
		if (str_equal(canon->scope->merged[i].name, name))
			return canon->scope->merged[i].text;
	leaves(canon, side, found, &count, MAX_LEAVES);
	for (size_t i = 0; i < count; i++) {
		bool known;
		if (has_column(canon, found[i], name, &known) || (!known && count == 1)) {
			doubt = doubt || owner;
			owner = found[i];
		}
		doubt = doubt || (!known && count > 1);
		texts_add(canon, &names, found[i]->name);
	}
	if (owner && !doubt)
		return canon_range_column(canon, owner, name);
	texts_sort(&names);
	return canon_printf(canon, "?.%s%s", canon_identifier(canon, name).ptr,
			    texts_join(canon, "(", &names, ")").ptr);
}

static void merge_column(struct canon *canon, str_t name, str_t text)
{
	struct canon_scope *scope = canon->scope;
	struct canon_merged merged = { name, text };
	for (size_t i = 0; i < scope->merged_count; i++)
		if (str_equal(scope->merged[i].name, name)) {
			scope->merged[i] = merged;
			return;
		}
	ARENA_PUSH(canon->arena, scope->merged, scope->merged_count, scope->merged_capacity, merged);
}

static void join_conditions(struct canon *canon, const JoinExpr *join, struct texts *conditions)
{
	if (join->alias || join->join_using_alias || join->isNatural)
		canon->failed = true;
	const ListCell *cell;
	foreach(cell, join->usingClause)
	{
		str_t name = str_from(NODE_STRING(lfirst(cell)));
		str_t left = side_column(canon, join->larg, name);
		str_t right = side_column(canon, join->rarg, name);
		texts_add(canon, conditions, canon_compared(canon, "=", left, right));
		str_t merged = join->jointype == JOIN_RIGHT ? right : left;
		if (join->jointype == JOIN_FULL)
			merged = canon_printf(canon, "coalesce(%s, %s)", left.ptr, right.ptr);
		merge_column(canon, name, merged);
	}
	canon_conditions(canon, join->quals, conditions);
}

static str_t side_text(struct canon *canon, struct canon_from *side)
{
	texts_sort(&side->items);
	texts_unique(&side->conditions);
	return canon_printf(
		canon, "%s%s", texts_join(canon, "(", &side->items, ")").ptr,
		(side->conditions.count ? texts_join(canon, " where(", &side->conditions, ")") : STR(""))
			.ptr);
}

static void append_all(struct canon *canon, struct texts *to, const struct texts *from)
{
	for (size_t i = 0; i < from->count; i++)
		texts_add(canon, to, from->items[i]);
}

/* An outer join is one item; a right join is a left join with its sides swapped. */
static void outer_join(struct canon *canon, const JoinExpr *join, struct canon_from *from)
{
	struct canon_from left = { 0 };
	struct canon_from right = { 0 };
	struct texts conditions = { 0 };
	canon_from(canon, join->larg, &left);
	canon_from(canon, join->rarg, &right);
	join_conditions(canon, join, &conditions);
	texts_unique(&conditions);
	bool swapped = join->jointype == JOIN_RIGHT;
	const char *kind = join->jointype == JOIN_FULL ? "full" : "left";
	str_t on = texts_join(canon, "on(", &conditions, ")");
	str_t first = side_text(canon, swapped ? &right : &left);
	str_t second = side_text(canon, swapped ? &left : &right);
	texts_add(canon, &from->items,
		  canon_printf(canon, "%s(%s; %s; %s)", kind, first.ptr, second.ptr, on.ptr));
	append_all(canon, &from->outer_joins, &left.outer_joins);
	append_all(canon, &from->outer_joins, &right.outer_joins);
	texts_add(canon, &from->outer_joins, canon_printf(canon, "%s %s", kind, on.ptr));
}

void canon_from(struct canon *canon, const Node *node, struct canon_from *from)
{
	if (!node || !canon_enter(canon))
		return;
	const JoinExpr *join = IsA(node, JoinExpr) ? (const JoinExpr *)node : NULL;
	if (!join) {
		if (IsA(node, RangeTableSample))
			node = ((const RangeTableSample *)node)->relation;
		const struct canon_range *range = canon_range_of(canon, node);
		if (range)
			texts_add(canon, &from->items, range->text);
	} else if (join->jointype == JOIN_INNER) {
		canon_from(canon, join->larg, from);
		canon_from(canon, join->rarg, from);
		join_conditions(canon, join, &from->conditions);
	} else {
		outer_join(canon, join, from);
	}
	canon_leave(canon);
}
