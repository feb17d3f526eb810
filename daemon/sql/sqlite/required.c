#include "sql/required.h"

#include "sql/scan.h"
#include "sql/sqlite/lint.h"
#include "sql/sqlite/parser.h"
#include "sql/sqlite/tokens.h"

#include <strings.h>

/* One query's conditions, on their way into what holds. */
struct conditions {
	const struct sql_request *request;
	struct diagnostics *diagnostics;
	struct required required;
	bool is_value;
	bool unseen; /* a part that is no tree reads something */
};

/* Items of one FROM whose rows the condition at hand can refuse: from, and up to. */
struct reach {
	const struct sqlite_item *from, *to;
};

static bool is(const struct sqlite_node *node, const char *operator)
{
	return node->kind == SQLITE_BINARY && str_is(node->text, operator);
}

static void find_no_value(const struct sqlite_node *node, void *context)
{
	struct conditions *conditions = context;
	bool random = node->kind == SQLITE_CALL && required_is_random(node->text);
	bool reads = node->select || (node->kind == SQLITE_IN && node->children_count < 2);
	if (random || reads || node->kind == SQLITE_COLUMN)
		conditions->is_value = false;
}

static bool is_value(struct conditions *conditions, const struct sqlite_node *node)
{
	conditions->is_value = !(node->kind == SQLITE_LITERAL && str_is(node->text, "null"));
	sqlite_each_node(node, find_no_value, conditions);
	return conditions->is_value;
}

static bool is_end(const struct sqlite_node *node)
{
	return node->kind == SQLITE_COLUMN && node->meaning != SQLITE_OUTPUT;
}

/* Merged columns, and those that are not resolved, are of all items in reach that have them. */
static const struct sqlite_item *item_of(const struct sqlite_node *node)
{
	return node->meaning == SQLITE_OF_ITEM ? node->item : NULL;
}

static void give(struct conditions *conditions, const struct reach *reach, const struct sqlite_node *column)
{
	for (const struct sqlite_item *item = reach->from; item < reach->to; item++)
		if (!item_of(column) || item_of(column) == item)
			required_given(&conditions->required, (struct required_end){ item, column->text });
}

/* IS lets NULL equal NULL, which follows from no value. */
static void add_equality(struct conditions *conditions, const struct reach *reach,
			 const struct sqlite_node *left, const struct sqlite_node *right, bool nulls_equal)
{
	if (!is_end(left))
		return;
	const struct sqlite_item *to = item_of(left);
	if (right->kind != SQLITE_COLUMN) {
		if (is_value(conditions, right))
			give(conditions, reach, left);
	} else if (to && is_end(right) && item_of(right) && !nulls_equal && to >= reach->from &&
		   to < reach->to) {
		required_follows(&conditions->required, (struct required_end){ to, left->text },
				 (struct required_end){ item_of(right), right->text });
	}
}

static void add_condition(struct conditions *conditions, const struct reach *reach,
			  const struct sqlite_node *node)
{
	if (!node)
		return;
	bool same = is(node, "is") && !node->negated;
	if (is(node, "and")) {
		add_condition(conditions, reach, node->children[0]);
		add_condition(conditions, reach, node->children[1]);
	} else if (is(node, "=") || same) {
		add_equality(conditions, reach, node->children[0], node->children[1], same);
		add_equality(conditions, reach, node->children[1], node->children[0], same);
	} else if (node->kind == SQLITE_IN && !node->negated && !node->select && node->children_count > 1) {
		struct sqlite_node list = { .kind = SQLITE_ROW,
					    .children = node->children + 1,
					    .children_count = node->children_count - 1 };
		add_equality(conditions, reach, node->children[0], &list, false);
	}
}

static bool may_have(const struct sqlite_item *item, str_t column)
{
	for (size_t i = 0; i < item->columns_count; i++)
		if (item->columns[i].len == column.len &&
		    strncasecmp(item->columns[i].ptr, column.ptr, column.len) == 0)
			return true;
	return !item->known;
}

/* The column is merged with that of the first item which has it; with whatever those on the left that were
 * right joined made of it, where there are such. */
static void add_merged(struct conditions *conditions, const struct sqlite_core *core, size_t joined,
		       str_t column)
{
	const struct sqlite_item *items = core->items;
	size_t first = 0;
	bool made = false;
	while (first < joined && !may_have(&items[first], column))
		first++;
	if (first == joined)
		return;
	for (size_t i = 0; i < joined; i++)
		made = made || core->sources[i].join == SQLITE_JOIN_RIGHT ||
		       core->sources[i].join == SQLITE_JOIN_FULL;
	struct required_end left = { &items[first], column }, right = { &items[joined], column };
	if (core->sources[joined].join != SQLITE_JOIN_RIGHT && !made)
		required_follows(&conditions->required, right, left);
	if (core->sources[joined].join != SQLITE_JOIN_LEFT)
		required_follows(&conditions->required, left, right);
}

static void note_unseen(const struct sqlite_node *node, void *context)
{
	struct conditions *conditions = context;
	if (str_present(node->window) && strcasestr(node->window.ptr, "select"))
		conditions->unseen = true;
}

/* WHERE refuses rows of all items, the ON of an outer join those of the side that may be missing. */
static void note_conditions(const struct sqlite_core *core, void *context)
{
	struct conditions *conditions = context;
	const struct sql_policy *policy = conditions->required.policy;
	const struct sqlite_item *items = core->items;
	sqlite_each_expression(core, note_unseen, conditions);
	if (str_present(core->windows) && strcasestr(core->windows.ptr, "select"))
		conditions->unseen = true;
	add_condition(conditions, &(struct reach){ items, items + core->sources_count }, core->where);
	for (size_t i = 0; i < core->sources_count; i++) {
		const struct sqlite_source *source = &core->sources[i];
		struct reach reach = { items, items + i + 1 };
		if (source->join == SQLITE_JOIN_FULL)
			continue;
		if (source->join == SQLITE_JOIN_LEFT)
			reach.from = items + i;
		else if (source->join == SQLITE_JOIN_RIGHT)
			reach.to = items + i;
		add_condition(conditions, &reach, source->on);
		for (size_t u = 0; u < source->using_count; u++)
			add_merged(conditions, core, i, source->using[u]);
		for (size_t r = 0; source->natural && r < policy->required_columns_count; r++)
			add_merged(conditions, core, i, policy->required_columns[r].column);
	}
}

static bool look_into(const struct required *outer, const struct catalog_relation *view, bool *broken,
		      const void *context);

static void check_core(const struct sqlite_core *core, void *context)
{
	struct conditions *conditions = context;
	for (size_t i = 0; i < core->sources_count; i++) {
		const struct sqlite_item *item = &core->items[i];
		const struct sqlite_source *source = item->source;
		if (str_present(source->name) && !item->is_cte && !source->is_call)
			required_check(&conditions->required,
				       &(struct required_relation){ item, STR_NONE, source->name, item->name,
								    (int64_t)source->offset, item->relation },
				       look_into, conditions->request, conditions->diagnostics);
	}
}

static void check(struct conditions *conditions, const struct sqlite_select *select)
{
	sqlite_each_core(select, note_conditions, conditions);
	sqlite_each_core(select, check_core, conditions);
}

/* The query of CREATE VIEW name (columns) AS query; absent: there is none. */
static str_t view_query(str_t definition)
{
	struct scan_token token = scan_next(definition, 0, SQL_SQLITE);
	while (token.kind != SCAN_END && !scan_is_word(definition, token, "AS"))
		token = scan_next(definition, token.offset + token.len, SQL_SQLITE);
	size_t end = token.offset + token.len;
	return token.kind == SCAN_END ? STR_NONE : (str_t){ definition.ptr + end, definition.len - end };
}

static bool look_into(const struct required *outer, const struct catalog_relation *view, bool *broken,
		      const void *context)
{
	const struct sql_request *request = context;
	struct diagnostics unused = { .arena = outer->arena };
	struct conditions conditions = { .request = request, .diagnostics = &unused };
	struct sqlite_names tables;
	str_t query = view_query(view->definition);
	struct sqlite_select *select =
		str_present(query) ? sqlite_parse(arena_str(outer->arena, query), NULL, outer->arena) : NULL;
	if (!select)
		return false;
	sqlite_resolve(select, request->catalog, outer->arena, &tables);
	required_begin_view(&conditions.required, outer, broken);
	check(&conditions, select);
	return !conditions.unseen;
}

void sqlite_required_unseen(str_t text, const struct sql_policy *policy, struct diagnostics *diagnostics)
{
	for (size_t i = 0; i < policy->required_columns_count; i++) {
		const struct sql_required_column *rule = &policy->required_columns[i];
		const char *dot = memchr(rule->table.ptr, '.', rule->table.len);
		str_t table = dot ? str_from(dot + 1) : rule->table;
		int64_t offset = sqlite_tokens_find(text, table);
		if (offset >= 0)
			diagnostics_add(diagnostics, DIAG_MISSING_REQUIRED, NULL, table, offset,
					"no condition on the column \"" STR_FMT "\" of \"" STR_FMT
					"\" can be made out",
					STR_ARG(rule->column), STR_ARG(table));
	}
}

void sqlite_required(const struct sqlite_select *select, str_t text, const struct sql_request *request,
		     struct diagnostics *diagnostics)
{
	struct required_views views = { 0 };
	struct conditions conditions = { .request = request, .diagnostics = diagnostics };
	required_begin(&conditions.required, diagnostics->arena, request->policy, true, &views);
	check(&conditions, select);
	if (conditions.unseen)
		sqlite_required_unseen(text, request->policy, diagnostics);
}
