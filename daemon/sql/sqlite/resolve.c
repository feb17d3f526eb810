#include "sql/sqlite/resolve.h"

#include "common/hash.h"

/* WITH queries that are visible. */
struct visible {
	str_t name;
	const struct visible *outer;
};

struct scope {
	struct sqlite_core *core;
	const struct scope *outer;
	unsigned depth;
};

struct resolver {
	struct arena *arena;
	const struct catalog *catalog;
	const struct visible *ctes;
	struct sqlite_names *tables;
	struct sqlite_names aliases; /* of outputs, anywhere */
	struct sqlite_node **unsure; /* columns */
	size_t unsure_count;
	size_t unsure_capacity;
};

static void resolve_select(struct resolver *resolver, struct sqlite_select *select,
			   const struct scope *outer);

static bool is_cte(const struct resolver *resolver, str_t name)
{
	for (const struct visible *cte = resolver->ctes; cte; cte = cte->outer)
		if (str_equal(cte->name, name))
			return true;
	return false;
}

static bool item_has(const struct sqlite_item *item, str_t column)
{
	for (size_t i = 0; i < item->columns_count; i++)
		if (str_equal(item->columns[i], column))
			return true;
	return false;
}

/* ---- items ---- */

static void know_relation(struct resolver *resolver, struct sqlite_item *item)
{
	const struct catalog_relation *relation = item->relation;
	if (!relation || relation->is_open)
		return;
	str_t *columns = ARENA_ARRAY(resolver->arena, str_t, relation->columns_count);
	for (size_t i = 0; i < relation->columns_count; i++)
		columns[i] = relation->columns[i].name;
	item->columns = columns;
	item->columns_count = relation->columns_count;
	item->known = true;
}

/* Names of a subquery's columns, where each has one. */
static void know_subquery(struct resolver *resolver, struct sqlite_item *item)
{
	const struct sqlite_core *core = &item->source->select->cores[0];
	str_t *columns = ARENA_ARRAY(resolver->arena, str_t, core->outputs_count + 1);
	for (size_t i = 0; i < core->outputs_count; i++) {
		const struct sqlite_node *node = core->outputs[i].expression;
		if (str_present(core->outputs[i].alias))
			columns[i] = core->outputs[i].alias;
		else if (node->kind == SQLITE_COLUMN)
			columns[i] = node->text;
		else
			return;
	}
	item->columns = columns;
	item->columns_count = core->outputs_count;
	item->known = !core->is_values;
}

static bool same_relation(const struct sqlite_item *a, const struct sqlite_item *b)
{
	if (!str_present(a->source->name) || !str_present(b->source->name))
		return !str_present(a->source->name) && !str_present(b->source->name);
	return str_equal(a->source->name, b->source->name);
}

static str_t label(const struct resolver *resolver, const struct sqlite_core *core, size_t index,
		   unsigned depth)
{
	const struct sqlite_item *item = &core->items[index];
	size_t before = 0;
	for (size_t i = 0; i < index; i++)
		before += same_relation(&core->items[i], item);
	str_t name = str_present(item->source->name) ? item->source->name : STR("(subquery)");
	if (before == 0 && depth == 0)
		return name;
	return arena_printf(resolver->arena, STR_FMT "#%zu@%u", STR_ARG(name), before, depth);
}

static void add_item(struct resolver *resolver, struct sqlite_core *core, size_t index, unsigned depth)
{
	const struct sqlite_source *source = &core->sources[index];
	struct sqlite_item *item = &core->items[index];
	*item = (struct sqlite_item){ .source = source };
	item->name = str_present(source->alias) ? source->alias : source->name;
	item->is_cte =
		str_present(source->name) && !str_present(source->schema) && is_cte(resolver, source->name);
	item->label = label(resolver, core, index, depth);
	if (source->select) {
		know_subquery(resolver, item);
	} else if (!item->is_cte && !source->is_call) {
		if (resolver->catalog)
			item->relation = catalog_relation(resolver->catalog, STR("main"), source->name);
		know_relation(resolver, item);
		ARENA_PUSH(resolver->arena, resolver->tables->items, resolver->tables->count,
			   resolver->tables->capacity, source->name);
	}
}

/* ---- columns ---- */

static bool is_output(const struct sqlite_core *core, str_t name, size_t *ret_index)
{
	for (size_t i = 0; i < core->outputs_count; i++) {
		if (str_present(core->outputs[i].alias) && str_equal(core->outputs[i].alias, name)) {
			*ret_index = i;
			return true;
		}
	}
	return false;
}

/* The same for one without an alias that is a column. */
static bool is_output_column(const struct sqlite_core *core, str_t name, size_t *ret_index)
{
	for (size_t i = 0; i < core->outputs_count; i++) {
		const struct sqlite_node *node = core->outputs[i].expression;
		*ret_index = i;
		if (node->kind == SQLITE_STAR)
			return false;
		if (node->kind == SQLITE_COLUMN && !str_present(core->outputs[i].alias) &&
		    str_equal(node->text, name))
			return true;
	}
	return false;
}

static void resolve_qualified(const struct scope *scope, struct sqlite_node *node)
{
	for (; scope; scope = scope->outer) {
		for (size_t i = 0; i < scope->core->sources_count; i++) {
			const struct sqlite_item *item = &scope->core->items[i];
			if (!str_present(item->name) || !str_equal(item->name, node->table))
				continue;
			if (item->known && node->kind == SQLITE_COLUMN && !item_has(item, node->text))
				continue;
			node->item = item;
			node->meaning = SQLITE_OF_ITEM;
			return;
		}
	}
}

/* Columns of tables come before aliases of outputs, and inner scopes before outer ones. */
static void resolve_plain(const struct scope *scope, struct sqlite_node *node)
{
	for (; scope; scope = scope->outer) {
		const struct sqlite_core *core = scope->core;
		size_t matches = 0, unknown = 0;
		for (size_t i = 0; i < core->sources_count; i++) {
			const struct sqlite_item *item = &core->items[i];
			bool has = item_has(item, node->text);
			if (has)
				node->item = item;
			matches += has;
			unknown += !item->known;
		}
		if (unknown > 0)
			break;
		if (matches > 0) {
			node->meaning = matches == 1 ? SQLITE_OF_ITEM : SQLITE_MERGED;
			return;
		}
		if (is_output(core, node->text, &node->output)) {
			node->meaning = SQLITE_OUTPUT;
			node->core = core;
			return;
		}
	}
	node->item = NULL;
	node->meaning = SQLITE_UNSURE;
	/* The only item there is has it, unless it is the alias of an output. */
	if (scope && !scope->outer && scope->core->sources_count == 1 &&
	    !is_output(scope->core, node->text, &node->output)) {
		node->item = &scope->core->items[0];
		node->meaning = SQLITE_OF_ITEM;
	}
}

static void resolve_node(struct resolver *resolver, struct sqlite_node *node, const struct scope *scope)
{
	if (!node)
		return;
	if (node->kind == SQLITE_COLUMN && str_present(node->table))
		resolve_qualified(scope, node);
	else if (node->kind == SQLITE_COLUMN)
		resolve_plain(scope, node);
	else if (node->kind == SQLITE_STAR && str_present(node->table))
		resolve_qualified(scope, node);
	if (node->kind == SQLITE_COLUMN && node->meaning == SQLITE_UNSURE)
		ARENA_PUSH(resolver->arena, resolver->unsure, resolver->unsure_count,
			   resolver->unsure_capacity, node);
	resolve_node(resolver, node->operand, scope);
	for (size_t i = 0; i < node->children_count; i++)
		resolve_node(resolver, node->children[i], scope);
	if (node->select)
		resolve_select(resolver, node->select, scope);
}

/* ---- queries ---- */

static void resolve_core(struct resolver *resolver, struct sqlite_core *core, const struct scope *outer)
{
	struct scope scope = { core, outer, outer ? outer->depth + 1 : 0 };
	core->items = ARENA_ARRAY(resolver->arena, struct sqlite_item, core->sources_count + 1);
	for (size_t i = 0; i < core->sources_count; i++)
		add_item(resolver, core, i, scope.depth);
	for (size_t i = 0; i < core->sources_count; i++) {
		const struct sqlite_source *source = &core->sources[i];
		for (size_t a = 0; a < source->arguments_count; a++)
			resolve_node(resolver, source->arguments[a], &scope);
		if (source->select)
			resolve_select(resolver, source->select, outer);
		resolve_node(resolver, source->on, &scope);
	}
	for (size_t i = 0; i < core->outputs_count; i++) {
		resolve_node(resolver, core->outputs[i].expression, &scope);
		if (str_present(core->outputs[i].alias))
			ARENA_PUSH(resolver->arena, resolver->aliases.items, resolver->aliases.count,
				   resolver->aliases.capacity, core->outputs[i].alias);
	}
	resolve_node(resolver, core->where, &scope);
	for (size_t i = 0; i < core->group_count; i++)
		resolve_node(resolver, core->group[i], &scope);
	resolve_node(resolver, core->having, &scope);
}

static bool output_number(const struct sqlite_core *core, const struct sqlite_node *node, size_t *ret_index)
{
	if (node->kind != SQLITE_LITERAL || node->text.len == 0 || node->text.len > 4)
		return false;
	size_t number = 0;
	for (size_t i = 0; i < node->text.len; i++) {
		if (node->text.ptr[i] < '0' || node->text.ptr[i] > '9')
			return false;
		number = number * 10 + (size_t)(node->text.ptr[i] - '0');
	}
	*ret_index = number - 1;
	return number >= 1 && number <= core->outputs_count;
}

/* A number or an alias of an output means that output. */
static void resolve_order(struct resolver *resolver, const struct sqlite_select *select,
			  struct sqlite_node *node, const struct scope *outer)
{
	struct scope scope = { &select->cores[0], outer, outer ? outer->depth + 1 : 0 };
	size_t index;
	bool named = node->kind == SQLITE_COLUMN && !str_present(node->table) &&
		     (is_output(&select->cores[0], node->text, &index) ||
		      (select->cores_count > 1 && is_output_column(&select->cores[0], node->text, &index)));
	if (named || output_number(&select->cores[0], node, &index)) {
		node->meaning = SQLITE_OUTPUT;
		node->core = &select->cores[0];
		node->output = index;
	} else {
		resolve_node(resolver, node, &scope);
	}
}

static void resolve_group(const struct sqlite_core *core)
{
	for (size_t i = 0; i < core->group_count; i++) {
		size_t index;
		if (output_number(core, core->group[i], &index)) {
			core->group[i]->meaning = SQLITE_OUTPUT;
			core->group[i]->output = index;
		}
	}
}

/* Every WITH query is visible in all of them, its own included. */
static void resolve_select(struct resolver *resolver, struct sqlite_select *select, const struct scope *outer)
{
	const struct visible *before = resolver->ctes;
	for (size_t i = 0; i < select->ctes_count; i++) {
		struct visible *visible = ARENA_NEW(resolver->arena, struct visible);
		*visible = (struct visible){ select->ctes[i].name, resolver->ctes };
		resolver->ctes = visible;
	}
	for (size_t i = 0; i < select->ctes_count; i++)
		resolve_select(resolver, select->ctes[i].select, outer);
	for (size_t i = 0; i < select->cores_count; i++) {
		resolve_core(resolver, &select->cores[i], outer);
		resolve_group(&select->cores[i]);
	}
	for (size_t i = 0; i < select->order_count; i++)
		resolve_order(resolver, select, select->order[i].expression, outer);
	resolve_node(resolver, select->limit, NULL);
	resolve_node(resolver, select->skip, NULL);
	resolver->ctes = before;
}

/* Thousands of either pass the gate. */
static void doubt(const struct resolver *resolver)
{
	struct hash_map aliases;
	hash_map_init(&aliases, resolver->arena, resolver->aliases.count);
	for (size_t i = 0; i < resolver->aliases.count; i++)
		hash_map_set(&aliases, resolver->aliases.items[i], &resolver->aliases.items[i]);
	for (size_t i = 0; i < resolver->unsure_count; i++)
		resolver->unsure[i]->doubtful = hash_map_get(&aliases, resolver->unsure[i]->text) != NULL;
}

static int compare(const void *a, const void *b)
{
	return strcmp(((const str_t *)a)->ptr, ((const str_t *)b)->ptr);
}

void sqlite_resolve(struct sqlite_select *select, const struct catalog *catalog, struct arena *arena,
		    struct sqlite_names *ret_tables)
{
	*ret_tables = (struct sqlite_names){ 0 };
	if (catalog && catalog_dialect(catalog) != SQL_SQLITE)
		catalog = NULL;
	struct resolver resolver = { .arena = arena, .catalog = catalog, .tables = ret_tables };
	resolve_select(&resolver, select, NULL);
	doubt(&resolver);
	size_t kept = 0;
	if (ret_tables->count > 1)
		qsort(ret_tables->items, ret_tables->count, sizeof ret_tables->items[0], compare);
	for (size_t i = 0; i < ret_tables->count; i++)
		if (kept == 0 || !str_equal(ret_tables->items[kept - 1], ret_tables->items[i]))
			ret_tables->items[kept++] = ret_tables->items[i];
	ret_tables->count = kept;
}

const struct catalog_column *sqlite_column_of(const struct sqlite_node *node)
{
	if (!node || node->kind != SQLITE_COLUMN || node->meaning != SQLITE_OF_ITEM || !node->item->relation)
		return NULL;
	const struct catalog_relation *relation = node->item->relation;
	for (size_t i = 0; i < relation->columns_count; i++)
		if (str_equal(relation->columns[i].name, node->text))
			return &relation->columns[i];
	return NULL;
}
