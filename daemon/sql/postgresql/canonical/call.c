#include "sql/postgresql/canonical/internal.h"

#include "common/hash.h"
#include "sql/postgresql/parse/node_children.h"

/* pg_catalog comes first on every search path; where a name stands for others, too, it stays. */
str_t canon_name(struct canon *canon, const List *names)
{
	const ListCell *cell;
	str_t text = STR_NONE;
	foreach(cell, names)
	{
		const Node *part = lfirst(cell);
		str_t name = IsA(part, String) ? str_from(NODE_STRING(part)) : STR("*");
		if (foreach_current_index(cell) == 0 && list_length(names) > 1 && str_is(name, "pg_catalog"))
			continue;
		name = canon_identifier(canon, name);
		text = str_present(text) ? CONCAT(canon, text, STR("."), name) : name;
	}
	return text;
}

/* Volatility */

/* The overloads that PostgreSQL brings along, for names that are not resolved. */
static const struct catalog_function *const *builtin_overloads(const char *name, size_t *ret_count)
{
	return catalog_functions(catalog_builtin(), STR("pg_catalog"), str_from(name), ret_count);
}

static bool has_volatile(const struct catalog_function *const *overloads, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (overloads[i]->volatility == 'v')
			return true;
	return false;
}

/* Where it is not known, a function counts as volatile. */
static bool is_volatile(const struct canon *canon, const FuncCall *function)
{
	const struct resolved_function *resolved = resolution_function(canon->resolution, function);
	if (resolved && resolved->overloads_count > 0)
		return has_volatile(resolved->overloads, resolved->overloads_count);
	size_t count;
	const struct catalog_function *const *overloads =
		builtin_overloads(NODE_STRING(llast(function->funcname)), &count);
	return count == 0 || has_volatile(overloads, count);
}

/* Windows, and aggregates that show the order of what they are given. */
static bool shows_order(const struct canon *canon, const FuncCall *function)
{
	const char *name = NODE_STRING(llast(function->funcname));
	const struct resolved_function *resolved = resolution_function(canon->resolution, function);
	if (function->over || function->agg_order)
		return true;
	if (STR_IS_ANY(str_from(name), "avg", "count", "max", "min", "sum", "bool_and", "bool_or", "every",
		       "stddev", "stddev_pop", "variance", "var_pop", "stddev_samp", "var_samp"))
		return false;
	size_t builtins;
	if (!resolved || resolved->overloads_count == 0)
		return !builtin_overloads(name, &builtins) || strstr(name, "agg") != NULL;
	for (size_t i = 0; i < resolved->overloads_count; i++)
		if (resolved->overloads[i]->kind != 'f')
			return true;
	return false;
}

static bool order_shown(const Node *node, void *context)
{
	struct canon *canon = context;
	canon->order_matters |= !canon_work(canon, 8);
	if (IsA(node, SelectStmt)) {
		const SelectStmt *select = (const SelectStmt *)node;
		canon->order_matters |= select->limitCount || select->limitOffset ||
					(select->distinctClause && linitial(select->distinctClause));
	} else if (IsA(node, FuncCall)) {
		const FuncCall *function = (const FuncCall *)node;
		canon->order_matters |= shows_order(canon, function) || is_volatile(canon, function) ||
					list_length(function->funcname) > 1;
	} else if (IsA(node, RangeTableSample)) {
		canon->order_matters = true;
	}
	if (canon->order_matters || !canon_enter(canon))
		return false;
	bool more = node_children(node, order_shown, canon);
	canon_leave(canon);
	return more;
}

bool canon_order_matters(struct canon *canon)
{
	if (!canon->order_known) {
		canon->order_known = true;
		(void)order_shown(canon->statement, canon);
	}
	return canon->order_matters;
}

/* Keys of ORDER BY that do nothing else */

struct keys {
	const struct canon *canon;
	bool grouped;
};

/* An aggregate makes one group of all rows, a set multiplies them. */
static bool only_orders(const Node *node, void *context)
{
	const struct keys *keys = context;
	if (IsA(node, FuncCall)) {
		const FuncCall *function = (const FuncCall *)node;
		const struct resolved_function *resolved =
			resolution_function(keys->canon->resolution, function);
		if (!resolved || resolved->overloads_count == 0 || function->over)
			return false;
		for (size_t i = 0; i < resolved->overloads_count; i++)
			if (resolved->overloads[i]->returns_set ||
			    (resolved->overloads[i]->kind != 'f' && !keys->grouped))
				return false;
	}
	return !IsA(node, SubLink) && node_children(node, only_orders, context);
}

bool canon_keys_only_order(const struct canon *canon, const SelectStmt *select)
{
	struct keys keys = { canon, select->groupClause != NULL };
	const ListCell *cell;
	foreach(cell, select->sortClause) if (!only_orders(((const SortBy *)lfirst(cell))->node,
							   &keys)) return false;
	return true;
}

/* NULL */

static bool is_count(const struct canon *canon, const FuncCall *function)
{
	const List *names = function->funcname;
	const struct resolved_function *resolved = resolution_function(canon->resolution, function);
	for (size_t i = 0; resolved && i < resolved->overloads_count; i++)
		if (!resolved->overloads[i]->is_system)
			return false;
	return strcmp(NODE_STRING(llast(names)), "count") == 0 && names_are_system(names);
}

/* A column of a table that takes no NULL, not on a side of a join that may be missing. */
static bool never_null_column(const struct canon *canon, const ColumnRef *column)
{
	const struct canon_range *range;
	size_t index;
	if (!canon->resolution || !canon->resolution->names_known ||
	    !canon_base_column(canon, column, &range, &index) || range->optional || !range->item ||
	    !range->item->relation)
		return false;
	const struct catalog_relation *relation = range->item->relation;
	bool enforced = relation->kind == 'p' || (relation->kind == 'r' && !relation->has_children);
	return enforced && index < relation->columns_count && relation->columns[index].not_null;
}

/* The groups of ROLLUP and the like have NULL for columns that have none. */
static bool has_grouping_sets(const struct canon *canon)
{
	const struct canon_scope *scope = canon->scope;
	while (scope && !canon_has_grouping_sets(scope->select))
		scope = scope->outer;
	return scope != NULL;
}

bool canon_never_null(const struct canon *canon, const Node *node)
{
	if (IsA(node, FuncCall))
		return is_count(canon, (const FuncCall *)node);
	return IsA(node, ColumnRef) && !has_grouping_sets(canon) &&
	       never_null_column(canon, (const ColumnRef *)node);
}

/* NULL is the largest value for PostgreSQL and the smallest for SQLite and MySQL. */
bool canon_nulls_first(const struct canon *canon, const SortBy *sort)
{
	bool descending = sort->sortby_dir == SORTBY_DESC;
	if (sort->sortby_nulls == SORTBY_NULLS_DEFAULT)
		return canon->request->dialect == SQL_POSTGRESQL ? descending : !descending;
	return sort->sortby_nulls == SORTBY_NULLS_FIRST;
}

str_t canon_sort(struct canon *canon, const SortBy *sort, const Node *value, str_t expression)
{
	str_t direction = sort->sortby_dir == SORTBY_DESC ? STR(" DESC") : STR(" ASC");
	if (sort->sortby_dir == SORTBY_USING) /* where its NULLs are depends on the operator */
		return CONCAT(canon, expression, STR(" USING "), canon_operator(canon, sort->useOp),
			      sort->sortby_nulls == SORTBY_NULLS_DEFAULT ? STR("")
			      : sort->sortby_nulls == SORTBY_NULLS_FIRST ? STR(" NULLS FIRST")
									 : STR(" NULLS LAST"));
	bool first = canon_nulls_first(canon, sort);
	if (value && canon_never_null(canon, value))
		first = sort->sortby_dir == SORTBY_DESC; /* no matter */
	return CONCAT(canon, expression, direction, first ? STR(" NULLS FIRST") : STR(""));
}

static str_t sorted_by(struct canon *canon, str_t open, const List *list)
{
	struct texts texts = { 0 };
	const ListCell *cell;
	foreach(cell, list)
	{
		const SortBy *sort = lfirst(cell);
		texts_add(canon->arena, &texts,
			  canon_sort(canon, sort, sort->node, canon_expression(canon, sort->node)));
	}
	return texts_join(canon, open, &texts, STR(")"));
}

/* Windows */

static struct hash_map *index_windows(const struct canon *canon, const List *windows)
{
	struct hash_map *index = ARENA_NEW(canon->arena, struct hash_map);
	const ListCell *cell;
	hash_map_init(index, canon->arena, (size_t)list_length(windows));
	foreach(cell, windows)
	{
		WindowDef *window = lfirst(cell);
		if (window->name && !hash_map_get(index, str_from(window->name)))
			(void)hash_map_set(index, str_from(window->name), window);
	}
	return index;
}

static const WindowDef *named_window(const struct canon *canon, const char *name)
{
	struct canon_scope *scope = canon->scope;
	if (!scope || !scope->select || !scope->select->windowClause)
		return NULL;
	if (!scope->windows)
		scope->windows = index_windows(canon, scope->select->windowClause);
	return hash_map_get(scope->windows, str_from(name));
}

/* A window takes what it has not itself from the one that it refers to. */
static str_t window_text(struct canon *canon, const WindowDef *window)
{
	const List *partition = window->partitionClause;
	const List *order = window->orderClause;
	const WindowDef *base = window;
	for (unsigned depth = 0; base->refname; depth++) {
		base = named_window(canon, base->refname);
		if (!base || depth > 100) {
			canon->failed = true;
			return STR("?");
		}
		partition = partition ? partition : base->partitionClause;
		order = order ? order : base->orderClause;
	}
	struct texts by = { 0 };
	canon_expressions(canon, partition, &by);
	texts_sort(&by);
	/* the default frame may be spelled out */
	int options = window->frameOptions & ~(FRAMEOPTION_NONDEFAULT | FRAMEOPTION_BETWEEN);
	return CONCAT(canon, STR(" OVER(BY("), texts_join(canon, STR(""), &by, STR(") ")),
		      sorted_by(canon, STR("ORDER("), order), STR(" "), canon_number(canon, (size_t)options),
		      STR(" "), canon_expression(canon, window->startOffset), STR("; "),
		      canon_expression(canon, window->endOffset), STR(")"));
}

/* OVER name means the window itself. */
static str_t call_window(struct canon *canon, const WindowDef *over)
{
	const WindowDef *named = over->name ? named_window(canon, over->name) : NULL;
	if (over->name && !named)
		canon->failed = true;
	return window_text(canon, named ? named : over);
}

/* Calls */

/* count(1) counts rows, as count(*) does; so does the count of a column that is never NULL. */
static bool counts_rows(const struct canon *canon, const FuncCall *function)
{
	if (function->agg_star)
		return true;
	if (list_length(function->args) != 1 || function->agg_distinct || function->func_variadic ||
	    !is_count(canon, function))
		return false;
	const Node *argument = linitial(function->args);
	if (IsA(argument, A_Const))
		return !((const A_Const *)argument)->isnull;
	return IsA(argument, ColumnRef) && never_null_column(canon, (const ColumnRef *)argument);
}

static str_t function_name(struct canon *canon, const FuncCall *function)
{
	const List *names = function->funcname;
	const struct catalog *catalog = canon->request->catalog;
	size_t count = 0;
	bool system = list_length(names) == 2 && strcmp(NODE_STRING(linitial(names)), "pg_catalog") == 0;
	if (!system || !catalog)
		return canon_name(canon, names);
	const struct catalog_function *const *overloads =
		catalog_functions(catalog, STR_NONE, str_from(NODE_STRING(lsecond(names))), &count);
	for (size_t i = 0; i < count; i++)
		system = system && overloads[i]->is_system;
	return system ? canon_name(canon, names)
		      : CONCAT(canon, STR("pg_catalog."), canon_name(canon, names));
}

static str_t arguments_text(struct canon *canon, const FuncCall *function)
{
	struct texts arguments = { 0 };
	if (counts_rows(canon, function))
		texts_add(canon->arena, &arguments, STR("*"));
	else
		canon_expressions(canon, function->args, &arguments);
	return texts_join(canon, function->agg_distinct ? STR("(DISTINCT ") : STR("("), &arguments,
			  function->func_variadic ? STR(" VARIADIC)") : STR(")"));
}

str_t canon_call(struct canon *canon, const FuncCall *function)
{
	if (is_volatile(canon, function)) {
		canon->volatile_calls++;
		canon->unsteady++;
	}
	canon->unsteady += shows_order(canon, function);
	str_t name = function_name(canon, function);
	if (list_length(function->args) == 0 && str_is(name, "transaction_timestamp"))
		name = STR("now");
	str_t text = CONCAT(canon, name, arguments_text(canon, function));
	if (function->agg_order)
		text = CONCAT(canon, text, function->agg_within_group ? STR(" WITHIN ") : STR(" "),
			      sorted_by(canon, STR("ORDER("), function->agg_order));
	if (function->agg_filter) {
		struct texts filter = { 0 };
		canon_conditions(canon, function->agg_filter, false, &filter);
		texts_unique(&filter);
		text = CONCAT(canon, text, texts_join(canon, STR(" FILTER("), &filter, STR(")")));
	}
	return function->over ? CONCAT(canon, text, call_window(canon, function->over)) : text;
}
