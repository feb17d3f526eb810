#include "sql/sqlite/lint.h"

/* `to` is constrained once `from` is; no `from`: by a value. An absent item stands for any. */
struct constraint {
	const struct sqlite_item *to;
	str_t to_column;
	const struct sqlite_item *from;
	str_t from_column;
	bool by_value;
};

struct required {
	const struct sql_policy *policy;
	struct diagnostics *diagnostics;
	struct constraint *constraints;
	size_t count;
	size_t capacity;
	bool saw_column;
};

static bool is(const struct sqlite_node *node, const char *operator)
{
	return node->kind == SQLITE_BINARY && str_is(node->text, operator);
}

static void note_column(const struct sqlite_node *node, void *context)
{
	struct required *required = context;
	if (node->kind == SQLITE_COLUMN)
		required->saw_column = true;
}

static bool is_value(struct required *required, const struct sqlite_node *node)
{
	required->saw_column = false;
	sqlite_each_node(node, note_column, required);
	return !required->saw_column && !(node->kind == SQLITE_LITERAL && str_is(node->text, "null"));
}

/* Whether a condition at this place can refuse rows of the item: `only` is the side of an outer join. */
static bool reaches(const struct sqlite_item *only, const struct sqlite_item *item)
{
	return !only || !item || only == item;
}

static void add_equality(struct required *required, const struct sqlite_item *only,
			 const struct sqlite_node *left, const struct sqlite_node *right)
{
	if (left->kind != SQLITE_COLUMN || !reaches(only, left->item))
		return;
	struct constraint constraint = { .to = left->item, .to_column = left->text };
	if (right->kind == SQLITE_COLUMN) {
		constraint.from = right->item;
		constraint.from_column = right->text;
	} else {
		constraint.by_value = is_value(required, right);
		if (!constraint.by_value)
			return;
	}
	ARENA_PUSH(required->diagnostics->arena, required->constraints, required->count, required->capacity,
		   constraint);
}

static void add_condition(struct required *required, const struct sqlite_item *only,
			  const struct sqlite_node *node)
{
	if (!node)
		return;
	if (is(node, "and")) {
		add_condition(required, only, node->children[0]);
		add_condition(required, only, node->children[1]);
	} else if (is(node, "=") || (is(node, "is") && !node->negated)) {
		add_equality(required, only, node->children[0], node->children[1]);
		add_equality(required, only, node->children[1], node->children[0]);
	} else if (node->kind == SQLITE_IN && !node->negated && !node->select && node->children_count > 1) {
		struct sqlite_node list = { .kind = SQLITE_ROW,
					    .children = node->children + 1,
					    .children_count = node->children_count - 1 };
		add_equality(required, only, node->children[0], &list);
	}
}

/* Columns of the same name are equal: which items have them need not be known. */
static void add_merged(struct required *required, const struct sqlite_core *core, size_t joined, str_t column)
{
	const struct sqlite_item *right = &core->items[joined];
	bool to_right = core->sources[joined].join != SQLITE_JOIN_RIGHT;
	bool to_left = core->sources[joined].join != SQLITE_JOIN_LEFT;
	for (size_t i = 0; i < joined; i++) {
		const struct sqlite_item *left = &core->items[i];
		struct constraint both[] = { { right, column, left, column, false },
					     { left, column, right, column, false } };
		for (size_t side = 0; side < 2; side++)
			if (side == 0 ? to_right : to_left)
				ARENA_PUSH(required->diagnostics->arena, required->constraints,
					   required->count, required->capacity, both[side]);
	}
}

/* WHERE refuses rows of all items, the ON of an outer join those of the side that may be missing. */
static void note_constraints(const struct sqlite_core *core, void *context)
{
	struct required *required = context;
	add_condition(required, NULL, core->where);
	for (size_t i = 0; i < core->sources_count; i++) {
		const struct sqlite_source *source = &core->sources[i];
		if (source->join == SQLITE_JOIN_FULL)
			continue;
		if (source->join == SQLITE_JOIN_INNER)
			add_condition(required, NULL, source->on);
		else if (source->join == SQLITE_JOIN_LEFT)
			add_condition(required, &core->items[i], source->on);
		for (size_t u = 0; u < source->using_count; u++)
			add_merged(required, core, i, source->using[u]);
		for (size_t r = 0; source->natural && r < required->policy->required_columns_count; r++)
			add_merged(required, core, i, required->policy->required_columns[r].column);
	}
}

static bool same(const struct sqlite_item *a, str_t a_column, const struct sqlite_item *b, str_t b_column)
{
	return (a == b || !a || !b) && a_column.len == b_column.len &&
	       strncasecmp(a_column.ptr, b_column.ptr, a_column.len) == 0;
}

/* Follows equalities back to a value; each is used once. */
static bool is_constrained(const struct required *required, const struct sqlite_item *item, str_t column,
			   bool *used)
{
	for (size_t i = 0; i < required->count; i++) {
		const struct constraint *constraint = &required->constraints[i];
		if (used[i] || !same(constraint->to, constraint->to_column, item, column))
			continue;
		used[i] = true;
		if (constraint->by_value ||
		    is_constrained(required, constraint->from, constraint->from_column, used))
			return true;
	}
	return false;
}

static bool is_table(const struct sqlite_item *item, str_t table)
{
	const char *dot = memchr(table.ptr, '.', table.len);
	str_t name = dot ? (str_t){ dot + 1, table.len - (size_t)(dot - table.ptr) - 1 } : table;
	return str_present(item->source->name) && !item->is_cte && !item->source->is_call &&
	       item->source->name.len == name.len &&
	       strncasecmp(item->source->name.ptr, name.ptr, name.len) == 0;
}

static void check_core(const struct sqlite_core *core, void *context)
{
	const struct required *required = context;
	struct arena *arena = required->diagnostics->arena;
	for (size_t i = 0; i < core->sources_count; i++) {
		const struct sqlite_item *item = &core->items[i];
		for (size_t r = 0; r < required->policy->required_columns_count; r++) {
			const struct sql_required_column *rule = &required->policy->required_columns[r];
			bool *used = ARENA_ARRAY(arena, bool, required->count + 1);
			if (!is_table(item, rule->table) ||
			    is_constrained(required, item, rule->column, used))
				continue;
			diagnostics_add(required->diagnostics, DIAG_MISSING_REQUIRED, NULL,
					arena_printf(arena, STR_FMT "." STR_FMT, STR_ARG(item->name),
						     STR_ARG(rule->column)),
					(int64_t)item->source->offset,
					"\"" STR_FMT "\" is read without a condition on its column \"" STR_FMT
					"\"",
					STR_ARG(item->name), STR_ARG(rule->column));
		}
	}
}

void sqlite_required(const struct sqlite_select *select, const struct sql_policy *policy,
		     struct diagnostics *diagnostics)
{
	struct required required = { .policy = policy, .diagnostics = diagnostics };
	sqlite_each_core(select, note_constraints, &required);
	sqlite_each_core(select, check_core, &required);
}
