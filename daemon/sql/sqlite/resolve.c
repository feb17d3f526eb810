#include "sql/sqlite/resolve.h"

/* WITH queries that are visible. */
struct visible {
	const struct query_node *cte;
	const struct visible *outer;
};

/* Items of a FROM and outputs of its SELECT. */
struct scope {
	const struct query_range **ranges;
	size_t count;
	size_t capacity;
	const struct query_node *items; /* or NULL */
	const struct scope *outer;
};

struct resolver {
	struct arena *arena;
	const struct catalog *catalog;
	const struct visible *ctes;
	struct texts *tables;
	struct hash_map aliases;    /* of outputs, anywhere */
	struct query_node **unsure; /* columns */
	size_t unsure_count;
	size_t unsure_capacity;
	bool hides;
	str_t wanted; /* sqlite_range_having: a column, or absent */
	size_t wanted_offset;
	const struct query_range *having;
};

static struct scope *resolve_query(struct resolver *resolver, struct query_node *query,
				   const struct scope *outer);

static const struct query_node *cte_named(const struct resolver *resolver, str_t name)
{
	const struct visible *visible = resolver->ctes;
	while (visible && !str_equal(visible->cte->name, name))
		visible = visible->outer;
	return visible ? visible->cte : NULL;
}

static bool has_column(const struct query_range *range, str_t column)
{
	for (size_t i = 0; i < range->columns->count; i++)
		if (str_equal(range->columns->names[i], column))
			return true;
	return false;
}

/* ---- items ---- */

static void know_relation(struct resolver *resolver, const struct catalog_relation *relation,
			  struct query_columns *columns)
{
	if (!relation || relation->is_open)
		return;
	str_t *names = ARENA_ARRAY(resolver->arena, str_t, relation->columns_count);
	for (size_t i = 0; i < relation->columns_count; i++)
		names[i] = relation->columns[i].name;
	*columns = (struct query_columns){ .names = names, .count = relation->columns_count };
}

/* Names of a subquery's columns, where each has one. */
static void know_subquery(struct resolver *resolver, const struct query_node *query,
			  struct query_columns *columns)
{
	const struct query_node *items = query_child(query_first_select(query), QUERY_ITEMS);
	size_t count = 0, capacity = 0;
	str_t *names = NULL;
	for (const struct query_node *item = items ? items->first : NULL; item; item = item->next) {
		if (item->kind != QUERY_ITEM ||
		    (!str_present(item->alias) && item->first->kind != QUERY_COLUMN))
			return;
		ARENA_PUSH(resolver->arena, names, count, capacity,
			   str_present(item->alias) ? item->alias : item->first->name);
	}
	*columns = (struct query_columns){ .names = names, .count = count, .open = !items };
}

static void add_item(struct resolver *resolver, struct scope *scope, struct query_node *node)
{
	struct query_range *range = ARENA_NEW(resolver->arena, struct query_range);
	struct query_columns *columns = ARENA_NEW(resolver->arena, struct query_columns);
	const struct query_node *query = query_child(node, QUERY_EXPRESSION);
	const struct query_node *cte = node->kind == QUERY_RELATION && !str_present(node->schema)
					       ? cte_named(resolver, node->name)
					       : NULL;
	*columns = (struct query_columns){ .open = true };
	*range = (struct query_range){ .kind = cte			     ? QUERY_RANGE_CTE
					       : node->kind == QUERY_DERIVED ? QUERY_RANGE_DERIVED
									     : QUERY_RANGE_RELATION,
				       .node = node,
				       .alias = str_present(node->alias)  ? node->alias
						: str_present(node->name) ? node->name
									  : STR(""),
				       .name = node->name,
				       .columns = columns,
				       .maker = node->kind == QUERY_DERIVED ? node : cte };
	if (query)
		know_subquery(resolver, query, columns);
	if (range->kind == QUERY_RANGE_RELATION) {
		if (resolver->catalog)
			range->relation = catalog_relation(resolver->catalog, STR("main"), node->name);
		know_relation(resolver, range->relation, columns);
		texts_add(resolver->arena, resolver->tables, node->name);
	}
	node->range = range;
	ARENA_PUSH(resolver->arena, scope->ranges, scope->count, scope->capacity, range);
}

static void add_items(struct resolver *resolver, struct scope *scope, struct query_node *node)
{
	if (query_is_item(node)) {
		add_item(resolver, scope, node);
		return;
	}
	for (struct query_node *child = node->first; child; child = child->next)
		if (child->kind == QUERY_JOIN || query_is_item(child))
			add_items(resolver, scope, child);
}

/* ---- columns ---- */

/* The output of that alias, or NULL. */
static const struct query_node *output_named(const struct query_node *items, str_t name)
{
	for (const struct query_node *item = items ? items->first : NULL; item; item = item->next)
		if (str_present(item->alias) && str_equal(item->alias, name))
			return item;
	return NULL;
}

/* The same for one without an alias that is a column; NULL behind a star. */
static const struct query_node *output_column(const struct query_node *items, str_t name)
{
	for (const struct query_node *item = items ? items->first : NULL; item && item->kind == QUERY_ITEM;
	     item = item->next)
		if (item->first->kind == QUERY_COLUMN && !str_present(item->alias) &&
		    str_equal(item->first->name, name))
			return item;
	return NULL;
}

static void resolve_qualified(struct resolver *resolver, const struct scope *scope, struct query_node *node)
{
	for (; scope && !node->range; scope = scope->outer) {
		for (size_t i = 0; i < scope->count && !node->range; i++) {
			const struct query_range *range = scope->ranges[i];
			bool lacks = node->kind == QUERY_COLUMN && !range->columns->open &&
				     !has_column(range, node->name);
			if (range->alias.len > 0 && str_equal(range->alias, node->qualifier) && !lacks)
				node->range = range;
		}
	}
	resolver->hides = resolver->hides || !node->range;
}

static void note_unsure(struct resolver *resolver, struct query_node *column)
{
	ARENA_PUSH(resolver->arena, resolver->unsure, resolver->unsure_count, resolver->unsure_capacity,
		   column);
}

/* What an output means does not hang on what comes behind it. */
static void stand_for(struct resolver *resolver, struct query_node *column, const struct query_node *output)
{
	if (output->number < column->number)
		column->item = output;
	else
		resolver->hides = true;
}

/* Columns of tables come before aliases of outputs, and inner scopes before outer ones. */
static void resolve_plain(struct resolver *resolver, const struct scope *scope, struct query_node *column)
{
	for (; scope; scope = scope->outer) {
		const struct query_range *found = NULL;
		size_t matches = 0, unknown = 0;
		for (size_t i = 0; i < scope->count; i++) {
			bool has = has_column(scope->ranges[i], column->name);
			found = has ? scope->ranges[i] : found;
			matches += has;
			unknown += scope->ranges[i]->columns->open;
		}
		if (unknown > 0)
			break;
		if (matches > 0) { /* several: USING or NATURAL has merged them */
			column->range = matches == 1 ? found : NULL;
			return;
		}
		const struct query_node *output = output_named(scope->items, column->name);
		if (output) {
			stand_for(resolver, column, output);
			return;
		}
	}
	/* The only item there is has it, unless it is the alias of an output. */
	if (scope && !scope->outer && scope->count == 1 && !output_named(scope->items, column->name))
		column->range = scope->ranges[0];
	else
		note_unsure(resolver, column);
}

static void find_having(struct resolver *resolver, const struct scope *scope)
{
	for (; scope && !resolver->having; scope = scope->outer)
		for (size_t i = 0; i < scope->count && !resolver->having; i++)
			if (scope->ranges[i]->alias.len > 0 && has_column(scope->ranges[i], resolver->wanted))
				resolver->having = scope->ranges[i];
}

static void resolve_node(struct resolver *resolver, struct query_node *node, const struct scope *scope)
{
	bool names = node->kind == QUERY_COLUMN || node->kind == QUERY_STAR;
	if (node->kind == QUERY_EXPRESSION) {
		(void)resolve_query(resolver, node, scope);
		return;
	}
	if (node->kind == QUERY_COLUMN && str_present(resolver->wanted) &&
	    node->offset == resolver->wanted_offset)
		find_having(resolver, scope);
	if (names && str_present(node->qualifier))
		resolve_qualified(resolver, scope, node);
	else if (node->kind == QUERY_COLUMN)
		resolve_plain(resolver, scope, node);
	if (node->kind == QUERY_COLUMN && str_present(node->qualifier) && !node->range)
		note_unsure(resolver, node);
	if (node->kind == QUERY_ITEM && str_present(node->alias))
		hash_map_set(&resolver->aliases, node->alias, node);
	/* A subquery in FROM does not see the items beside it; the arguments of a function do. */
	if (node->kind == QUERY_DERIVED && query_child(node, QUERY_EXPRESSION))
		scope = scope->outer;
	for (struct query_node *child = node->first; child; child = child->next)
		resolve_node(resolver, child, scope);
}

/* ---- queries ---- */

/* The scope of the SELECT, or of the first one of a set operation. */
static struct scope *resolve_body(struct resolver *resolver, struct query_node *body,
				  const struct scope *outer)
{
	struct scope *scope = ARENA_NEW(resolver->arena, struct scope);
	*scope = (struct scope){ .items = query_child(body, QUERY_ITEMS), .outer = outer };
	if (body->kind == QUERY_SET) {
		for (struct query_node *arm = body->first; arm; arm = arm->next) {
			struct scope *own = resolve_body(resolver, arm->first, outer);
			scope = arm == body->first ? own : scope;
		}
		return scope;
	}
	if (query_child(body, QUERY_FROM))
		add_items(resolver, scope, query_child(body, QUERY_FROM));
	for (struct query_node *child = body->first; child; child = child->next)
		resolve_node(resolver, child, scope);
	return scope;
}

/* A key that is the alias of an output means that output; behind a set operation, its name, too. */
static void resolve_order(struct resolver *resolver, const struct scope *scope, bool set,
			  struct query_node *order)
{
	for (struct query_node *key = order ? order->first : NULL; key; key = key->next) {
		struct query_node *column = key->first;
		bool plain = column->kind == QUERY_COLUMN && !str_present(column->qualifier);
		const struct query_node *output = plain ? output_named(scope->items, column->name) : NULL;
		if (plain && set && !output)
			output = output_column(scope->items, column->name);
		if (output)
			stand_for(resolver, column, output);
		else
			resolve_node(resolver, column, scope);
	}
}

/* Every WITH query is visible in all of them, its own included. */
static struct scope *resolve_query(struct resolver *resolver, struct query_node *query,
				   const struct scope *outer)
{
	const struct visible *before = resolver->ctes;
	struct query_node *with = query_child(query, QUERY_WITH), *limit = query_child(query, QUERY_LIMIT);
	struct query_node *body = with ? with->next : query->first;
	for (struct query_node *cte = with ? with->first : NULL; cte; cte = cte->next) {
		struct visible *visible = ARENA_NEW(resolver->arena, struct visible);
		*visible = (struct visible){ cte, resolver->ctes };
		resolver->ctes = visible;
	}
	for (struct query_node *cte = with ? with->first : NULL; cte; cte = cte->next)
		(void)resolve_query(resolver, query_child(cte, QUERY_EXPRESSION), outer);
	struct scope *scope = resolve_body(resolver, body, outer);
	resolve_order(resolver, scope, body->kind == QUERY_SET, query_child(query, QUERY_ORDER));
	if (limit)
		resolve_node(resolver, limit, NULL);
	resolver->ctes = before;
	return scope;
}

/* A column that is not known for sure could be the alias of an output, wherever that is. */
static void doubt(struct resolver *resolver)
{
	for (size_t i = 0; i < resolver->unsure_count; i++) {
		struct query_node *column = resolver->unsure[i];
		if (!hash_map_get(&resolver->aliases, column->name))
			continue;
		column->op = "doubtful";
		resolver->hides = true;
	}
}

static struct resolver begin(const struct catalog *catalog, struct arena *arena, struct texts *tables)
{
	bool usable = catalog && catalog_dialect(catalog) == SQL_SQLITE;
	struct resolver resolver = { .arena = arena, .catalog = usable ? catalog : NULL, .tables = tables };
	*tables = (struct texts){ 0 };
	hash_map_init(&resolver.aliases, arena, 16);
	return resolver;
}

void sqlite_resolve(struct sqlite_query *query, const struct catalog *catalog, struct arena *arena,
		    struct texts *ret_tables)
{
	struct resolver resolver = begin(catalog, arena, ret_tables);
	(void)resolve_query(&resolver, query->root, NULL);
	doubt(&resolver);
	query->hides = query->hides || resolver.hides;
	texts_unique(ret_tables);
}

const struct query_range *sqlite_range_having(str_t sql, size_t offset, str_t column,
					      const struct catalog *catalog, struct arena *arena)
{
	struct texts unused;
	struct sqlite_query query = sqlite_parse(sql, NULL, arena);
	struct resolver resolver = begin(catalog, arena, &unused);
	resolver.wanted = column;
	resolver.wanted_offset = offset;
	if (query.root)
		(void)resolve_query(&resolver, query.root, NULL);
	return resolver.having;
}

struct sqlite_query sqlite_read(str_t sql, const struct catalog *catalog, struct arena *arena)
{
	struct texts unused;
	struct sqlite_query query = sqlite_parse(sql, NULL, arena);
	if (query.root)
		sqlite_resolve(&query, catalog, arena, &unused);
	return query;
}
