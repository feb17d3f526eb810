#include "sql/mysql/names.h"

#include "sql/mysql/safety.h"
#include "sql/mysql/scope.h"

static const struct query_columns *resolve_query(struct mysql_resolver *resolver, struct query_node *query,
						 struct mysql_scope *outer);

static str_t function_hint(struct mysql_resolver *resolver, const struct query_node *call)
{
	return ++resolver->hints > MYSQL_MAX_HINTS ? STR("")
						   : mysql_hint_function(call->name, resolver->arena);
}

static void check_function(struct mysql_resolver *resolver, const struct query_node *call)
{
	const struct catalog *catalog = resolver->request->catalog;
	bool qualified = str_present(call->schema);
	size_t count;
	bool foreign = call->op && strcmp(call->op, "foreign") == 0;
	if (!qualified && !foreign && mysql_native(call->name))
		return;
	(void)catalog_functions(catalog, call->schema, call->name, &count);
	/* Of another database the catalog may know nothing. */
	if (count == 0 && (!qualified || catalog_has_schema(catalog, call->schema)))
		diagnostics_add(resolver->diagnostics, DIAG_UNKNOWN_FUNCTION, SUB_NONE, call->name,
				(int64_t)call->offset, "function `" STR_FMT "` does not exist" STR_FMT,
				STR_ARG(call->name), STR_ARG(function_hint(resolver, call)));
}

/* NEXTVAL(s) and its like: what looks like a column is a sequence. */
static bool names_sequence(const struct query_node *call)
{
	return IDENTIFIER_IS_ANY(call->name, "nextval", "lastval", "setval");
}

/* GROUP_CONCAT(a, b ORDER BY 2): positions among the arguments. */
static void check_argument_positions(struct mysql_resolver *resolver, const struct query_node *call)
{
	size_t count = 0;
	const struct query_node *child = call->first;
	for (; child && child->kind != QUERY_ORDER; child = child->next)
		count++;
	mysql_positions_check(resolver, child, count, "among the arguments of the aggregate");
}

/* Expressions: columns, calls and the queries inside. */
static void resolve_expression(struct mysql_resolver *resolver, struct query_node *node,
			       struct mysql_scope *scope)
{
	if (node->kind == QUERY_EXPRESSION) {
		(void)resolve_query(resolver, node, scope);
		return;
	}
	if (node->kind == QUERY_COLUMN && !node->item)
		mysql_column_resolve(resolver, scope, node);
	node->aggregate = mysql_is_aggregate(node);
	if (node->kind == QUERY_CALL && resolver->request->catalog)
		check_function(resolver, node);
	if (node->kind == QUERY_CALL && names_sequence(node))
		return;
	mysql_limit_check(resolver, node);
	if (node->kind == QUERY_CALL)
		check_argument_positions(resolver, node);
	for (struct query_node *child = node->first; child; child = child->next)
		resolve_expression(resolver, child, scope);
}

static void resolve_children(struct mysql_resolver *resolver, struct query_node *node,
			     struct mysql_scope *scope)
{
	for (struct query_node *child = node ? node->first : NULL; child; child = child->next)
		resolve_expression(resolver, child, scope);
}

/* The nearest WITH query of that name that can be seen; else one that comes later, or NULL. */
static const struct mysql_cte *find_cte(const struct mysql_resolver *resolver, str_t name)
{
	struct mysql_cte *const *nearest =
		hash_map_get(&resolver->ctes, identifier_lower(name, resolver->arena));
	const struct mysql_cte *first = nearest ? *nearest : NULL;
	const struct mysql_cte *cte = first;
	while (cte && !cte->visible)
		cte = cte->shadowed;
	return cte ? cte : first;
}

static void push_cte(struct mysql_resolver *resolver, struct mysql_cte *cte)
{
	str_t name = identifier_lower(cte->node->name, resolver->arena);
	struct mysql_cte **nearest = hash_map_get(&resolver->ctes, name);
	if (!nearest) {
		nearest = ARENA_NEW(resolver->arena, struct mysql_cte *);
		hash_map_set(&resolver->ctes, name, nearest);
	}
	cte->place = nearest;
	cte->shadowed = *nearest;
	cte->before = resolver->last_cte;
	*nearest = resolver->last_cte = cte;
}

/* Forgets all that came into reach behind `last`. */
static void pop_ctes(struct mysql_resolver *resolver, struct mysql_cte *last)
{
	for (; resolver->last_cte != last; resolver->last_cte = resolver->last_cte->before)
		*resolver->last_cte->place = resolver->last_cte->shadowed;
}

static void add_table(struct mysql_resolver *resolver, const struct query_range *range)
{
	const struct catalog *catalog = resolver->request->catalog;
	bool on_path = !str_present(range->schema) || (catalog && catalog_on_path(catalog, range->schema));
	str_t name = on_path ? range->name
			     : arena_printf(resolver->arena, STR_FMT "." STR_FMT, STR_ARG(range->schema),
					    STR_ARG(range->name));
	texts_add(resolver->arena, &resolver->tables, identifier_lower(name, resolver->arena));
}

static void name_relation(struct mysql_resolver *resolver, struct query_node *node, struct query_range *range)
{
	const struct mysql_cte *cte = str_present(node->schema) ? NULL : find_cte(resolver, node->name);
	range->schema = node->schema;
	range->name = node->name;
	if (cte && cte->visible) {
		range->kind = QUERY_RANGE_CTE;
		range->name = cte->node->name;
		range->maker = cte->node;
		range->columns = cte->columns ? cte->columns : &resolver->unknown;
		return;
	}
	range->kind = QUERY_RANGE_RELATION;
	range->columns = &resolver->unknown;
	range->relation = mysql_relation_find(resolver, node->schema, node->name);
	if (range->relation) {
		range->schema = range->relation->schema;
		range->name = range->relation->name;
		range->columns = mysql_relation_columns(resolver, range->relation);
	} else if (resolver->request->catalog && !cte && !mysql_relation_implicit(node)) {
		mysql_report_relation(resolver, node);
	}
	add_table(resolver, range);
}

/* `names` in brackets behind a derived table or a WITH query. */
static const struct query_columns *renamed(struct mysql_resolver *resolver, const struct query_node *owner,
					   const struct query_columns *columns)
{
	const struct query_node *names = query_child(owner, QUERY_NAMES);
	if (!names)
		return columns;
	size_t count = 0;
	for (const struct query_node *name = names->first; name; name = name->next)
		count++;
	str_t *list = ARENA_ARRAY(resolver->arena, str_t, count);
	count = 0;
	for (const struct query_node *name = names->first; name; name = name->next)
		list[count++] = name->name;
	return mysql_columns_new(resolver, list, count);
}

/* Columns of JSON_TABLE; nested ones come in their place. */
static void add_json_names(struct mysql_resolver *resolver, const struct query_node *columns,
			   struct texts *names)
{
	for (const struct query_node *column = columns->first; column; column = column->next) {
		const struct query_node *nested = query_child(column, QUERY_JSON_COLUMNS);
		if (nested)
			add_json_names(resolver, nested, names);
		else
			texts_add(resolver->arena, names, column->name);
	}
}

/* The document of JSON_TABLE sees the tables before it. */
static const struct query_columns *json_columns(struct mysql_resolver *resolver, struct mysql_scope *scope,
						struct query_node *node)
{
	struct mysql_scope beside = { .outer = scope };
	struct texts names = { 0 };
	resolve_expression(resolver, node->first, &beside);
	add_json_names(resolver, query_child(node, QUERY_JSON_COLUMNS), &names);
	return mysql_columns_new(resolver, names.items, names.count);
}

/* Ranges of one alias are in the order of the text. */
static void put_range(struct mysql_resolver *resolver, struct mysql_scope *scope, struct query_range *range)
{
	str_t alias = identifier_lower(range->alias, resolver->arena);
	if (!scope->aliases.arena)
		hash_map_init(&scope->aliases, resolver->arena, 8);
	struct query_range *same = hash_map_get(&scope->aliases, alias);
	if (same) {
		same->last_same->same = range;
		same->last_same = range;
	} else {
		hash_map_set(&scope->aliases, alias, range);
		range->last_same = range;
	}
	range->position = scope->count;
	ARENA_PUSH(resolver->arena, scope->ranges, scope->count, scope->capacity, range);
}

static struct query_range *add_range(struct mysql_resolver *resolver, struct mysql_scope *scope,
				     struct query_node *node)
{
	struct query_range *range = ARENA_NEW(resolver->arena, struct query_range);
	range->node = node;
	node->range = range;
	range->maker = node->kind == QUERY_DERIVED ? node : NULL;
	if (node->kind == QUERY_DERIVED && query_child(node, QUERY_JSON_COLUMNS)) {
		range->kind = QUERY_RANGE_DERIVED;
		range->columns = json_columns(resolver, scope, node);
	} else if (node->kind == QUERY_DERIVED) {
		struct mysql_scope beside = { .outer = scope->outer, .beside = true };
		range->kind = QUERY_RANGE_DERIVED;
		if (node->flag)
			beside = (struct mysql_scope){ .outer = scope };
		range->columns =
			renamed(resolver, node,
				resolve_query(resolver, query_child(node, QUERY_EXPRESSION), &beside));
	} else {
		name_relation(resolver, node, range);
	}
	struct mysql_scope beside = { .outer = scope->outer, .beside = true };
	resolve_children(resolver, query_child(node, QUERY_SYSTEM_TIME), &beside);
	range->alias = str_present(node->alias) ? node->alias : range->node->name;
	put_range(resolver, scope, range);
	return range;
}

/* Puts the tables of FROM into the scope, in the order of the text. */
static void add_ranges(struct mysql_resolver *resolver, struct mysql_scope *scope, struct query_node *node)
{
	if (node->kind == QUERY_RELATION || node->kind == QUERY_DERIVED) {
		if (!node->op) /* DUAL */
			(void)add_range(resolver, scope, node);
		return;
	}
	if (node->kind == QUERY_ON || node->kind == QUERY_USING)
		return;
	for (struct query_node *child = node->first; child; child = child->next)
		add_ranges(resolver, scope, child);
}

static void merge_names(struct mysql_resolver *resolver, struct mysql_scope *scope,
			const struct query_node *using)
{
	struct hash_map *merged = ARENA_NEW(resolver->arena, struct hash_map);
	if (scope->merged)
		*merged = *scope->merged;
	else
		hash_map_init(merged, resolver->arena, 8);
	for (const struct query_node *name = using->first; name; name = name->next)
		hash_map_set(merged, identifier_lower(name->name, resolver->arena), merged);
	scope->merged = merged;
}

/* A column that none of the joined tables has. */
static void check_using(struct mysql_resolver *resolver, const struct mysql_scope *scope,
			const struct query_node *using, size_t from, size_t to)
{
	for (const struct query_node *name = using->first; name; name = name->next) {
		bool possible = !resolver->request->catalog;
		for (size_t i = from; i < to && i < scope->count && !possible; i++)
			possible = scope->ranges[i]->columns->open || scope->ranges[i]->columns->loose ||
				   mysql_columns_find(resolver, scope->ranges[i]->columns,
						      identifier_lower(name->name, resolver->arena));
		if (!possible)
			diagnostics_add(resolver->diagnostics, DIAG_UNKNOWN_COLUMN, SUB_NONE, name->name,
					(int64_t)name->offset, "column `" STR_FMT "` does not exist",
					STR_ARG(name->name));
	}
}

/* Conditions of joins see the tables of their join alone; `*at` counts the tables in order. */
static void resolve_joins(struct mysql_resolver *resolver, struct mysql_scope *scope, struct query_node *node,
			  size_t *at)
{
	size_t start = *at;
	if (node->kind == QUERY_RELATION || node->kind == QUERY_DERIVED) {
		*at += !node->op;
		return;
	}
	if (node->kind == QUERY_JOIN && node->op[0] == 'n')
		scope->natural = true;
	for (struct query_node *child = node->first; child; child = child->next) {
		if (child->kind == QUERY_ON) {
			size_t from = scope->from, to = scope->to;
			scope->from = start;
			scope->to = *at;
			resolve_children(resolver, child, scope);
			scope->from = from;
			scope->to = to;
		} else if (child->kind == QUERY_USING) {
			merge_names(resolver, scope, child);
			check_using(resolver, scope, child, start, *at);
		} else {
			resolve_joins(resolver, scope, child, at);
		}
	}
}

static void check_count(struct mysql_resolver *resolver, const struct mysql_scope *scope)
{
	if (scope->count > QUERY_MAX_TABLES)
		diagnostics_add(resolver->diagnostics, DIAG_INVALID_JOIN, SUB_NONE, STR("tables"),
				(int64_t)scope->ranges[QUERY_MAX_TABLES]->node->offset,
				"servers join at most %d tables", QUERY_MAX_TABLES);
}

static void check_aliases(struct mysql_resolver *resolver, const struct mysql_scope *scope)
{
	for (size_t i = 0; i < scope->count && i <= QUERY_MAX_TABLES; i++)
		for (size_t k = 0; k < i; k++) {
			const struct query_range *a = scope->ranges[k], *b = scope->ranges[i];
			bool schemas_differ = str_present(a->schema) && str_present(b->schema) &&
					      !identifier_same(a->schema, b->schema);
			/* A schema on one side alone may be the same or another one. */
			bool unsure = str_present(a->schema) != str_present(b->schema);
			if (str_equal(a->alias, b->alias) && !schemas_differ && !unsure)
				diagnostics_add(resolver->diagnostics, DIAG_DUPLICATE_ALIAS, SUB_NONE,
						b->alias, (int64_t)b->node->offset,
						"`" STR_FMT "` stands for two tables; give one an alias",
						STR_ARG(b->alias));
		}
}

struct outputs {
	str_t *names;
	size_t count, capacity;
	bool open, loose;
};

static void add_output(struct mysql_resolver *resolver, struct outputs *outputs, str_t name)
{
	/* the server's own limit, and one on what stars of stars of stars add up to */
	if (outputs->count >= 4096 || resolver->outputs >= MYSQL_MAX_OUTPUTS) {
		outputs->open = true;
		return;
	}
	resolver->lookups++;
	resolver->outputs++;
	ARENA_PUSH(resolver->arena, outputs->names, outputs->count, outputs->capacity, name);
}

static void add_star(struct mysql_resolver *resolver, struct mysql_scope *scope, struct query_node *star,
		     struct outputs *outputs)
{
	struct query_range *only = NULL;
	if (str_present(star->qualifier)) {
		only = mysql_scope_range(resolver, scope, star->schema, star->qualifier);
		if (!only && resolver->request->catalog)
			mysql_report_qualifier(resolver, star, STR_NONE);
		star->range = only;
		outputs->open = outputs->open || !only;
	}
	for (size_t i = 0; i < scope->count; i++) {
		const struct query_columns *columns = scope->ranges[i]->columns;
		if (str_present(star->qualifier) && scope->ranges[i] != only)
			continue;
		outputs->open = outputs->open || columns->open;
		outputs->loose = outputs->loose || columns->loose;
		for (size_t c = 0; c < columns->count && !outputs->open; c++)
			add_output(resolver, outputs, columns->names[c]);
	}
}

static struct query_columns *select_outputs(struct mysql_resolver *resolver, struct mysql_scope *scope,
					    struct query_node *items)
{
	struct outputs outputs = { 0 };
	for (struct query_node *item = items->first; item; item = item->next) {
		if (item->kind == QUERY_STAR) {
			add_star(resolver, scope, item, &outputs);
			continue;
		}
		outputs.loose =
			outputs.loose || !(str_present(item->alias) || item->first->kind == QUERY_COLUMN);
		add_output(resolver, &outputs, query_item_name(item));
	}
	struct query_columns *columns = mysql_columns_new(resolver, outputs.names, outputs.count);
	columns->open = outputs.open;
	columns->loose = outputs.loose;
	return columns;
}

/* Output names that ORDER BY and its like see: aliases, and columns under their own names. The values are
 * their items; where there are several, or a star may have the name, too, the list of all. */
static void see_outputs(struct mysql_resolver *resolver, struct mysql_scope *scope, struct query_node *items)
{
	struct hash_map *map = ARENA_NEW(resolver->arena, struct hash_map);
	bool star = false;
	hash_map_init(map, resolver->arena, 16);
	for (const struct query_node *item = items->first; item; item = item->next)
		star = star || item->kind == QUERY_STAR;
	for (struct query_node *item = items->first; item; item = item->next) {
		if (item->kind != QUERY_ITEM)
			continue;
		str_t key = identifier_lower(query_item_name(item), resolver->arena);
		if (hash_map_set(map, key, star ? items : item))
			hash_map_set(map, key, items);
	}
	scope->outputs = map;
}

static bool may_have(struct mysql_resolver *resolver, const struct mysql_scope *scope, str_t name)
{
	for (size_t i = 0; i < scope->count; i++) {
		const struct query_columns *columns = scope->ranges[i]->columns;
		if (columns->open || columns->loose ||
		    mysql_columns_find(resolver, columns, identifier_lower(name, resolver->arena)))
			return true;
	}
	return false;
}

/* A bare name in ORDER BY is an output's first of all; in GROUP BY it is a column's first. */
static void link_keys(struct mysql_resolver *resolver, const struct mysql_scope *scope,
		      const struct query_node *clause)
{
	for (struct query_node *sort = clause ? clause->first : NULL; sort; sort = sort->next) {
		struct query_node *key = sort->first;
		if (key->kind != QUERY_COLUMN || str_present(key->qualifier))
			continue;
		const struct query_node *item =
			hash_map_get(scope->outputs, identifier_lower(key->name, resolver->arena));
		if (item && item->kind != QUERY_ITEM)
			continue;
		bool renamed = item && str_present(item->alias);
		if (!renamed || clause->kind == QUERY_ORDER || !may_have(resolver, scope, key->name))
			key->item = item;
	}
}

static const struct query_columns *resolve_select(struct mysql_resolver *resolver, struct query_node *select,
						  struct query_node *order, struct mysql_scope *outer)
{
	struct mysql_scope scope = { .outer = outer, .to = SIZE_MAX };
	struct query_node *from = query_child(select, QUERY_FROM);
	struct query_node *items = query_child(select, QUERY_ITEMS);
	if (from) {
		size_t at = 0;
		add_ranges(resolver, &scope, from);
		check_count(resolver, &scope);
		check_aliases(resolver, &scope);
		resolve_joins(resolver, &scope, from, &at);
	}
	see_outputs(resolver, &scope, items);
	resolve_children(resolver, items, &scope);
	resolve_children(resolver, query_child(select, QUERY_WHERE), &scope);
	const struct query_columns *outputs = select_outputs(resolver, &scope, items);
	scope.past_items = true;
	scope.outputs_open = outputs->open;
	link_keys(resolver, &scope, query_child(select, QUERY_GROUP));
	link_keys(resolver, &scope, order);
	static const enum query_kind late[] = { QUERY_GROUP, QUERY_HAVING, QUERY_WINDOWS };
	for (size_t i = 0; i < sizeof late / sizeof late[0]; i++)
		resolve_children(resolver, query_child(select, late[i]), &scope);
	resolve_children(resolver, order, &scope);
	if (!outputs->open)
		mysql_positions_check(resolver, query_child(select, QUERY_GROUP), outputs->count,
				      "in the select list");
	mysql_grouping_check(resolver, &scope, select);
	return outputs;
}

static const struct query_columns *resolve_body(struct mysql_resolver *resolver, struct query_node *body,
						struct query_node *order, struct mysql_scope *outer);

/* The first arm gives the names; ORDER BY behind a set operation sees no others. */
static const struct query_columns *resolve_set(struct mysql_resolver *resolver, struct query_node *set,
					       struct query_node *order, struct mysql_scope *outer)
{
	const struct query_columns *columns = NULL;
	for (struct query_node *arm = set->first; arm; arm = arm->next) {
		const struct query_columns *own = resolve_body(resolver, arm->first, NULL, outer);
		columns = columns ? columns : own;
	}
	if (order) {
		struct query_range **range = ARENA_NEW(resolver->arena, struct query_range *);
		*range = ARENA_NEW(resolver->arena, struct query_range);
		**range = (struct query_range){ .kind = QUERY_RANGE_OUTPUT, .node = set, .columns = columns };
		struct mysql_scope scope = { .outer = outer, .ranges = range, .count = 1, .to = SIZE_MAX };
		struct diagnostics *diagnostics = resolver->diagnostics;
		struct diagnostics unused = { .arena = resolver->arena };
		resolver->diagnostics = &unused; /* the servers differ in what may stand here */
		resolve_children(resolver, order, &scope);
		resolver->diagnostics = diagnostics;
	}
	return columns ? columns : &resolver->unknown;
}

static const struct query_columns *resolve_body(struct mysql_resolver *resolver, struct query_node *body,
						struct query_node *order, struct mysql_scope *outer)
{
	switch (body->kind) {
	case QUERY_SELECT:
		return resolve_select(resolver, body, order, outer);
	case QUERY_SET:
		return resolve_set(resolver, body, order, outer);
	case QUERY_EXPRESSION:
		return resolve_query(resolver, body, outer);
	case QUERY_TABLE: {
		struct mysql_scope scope = { .outer = outer, .to = SIZE_MAX };
		return add_range(resolver, &scope, body->first)->columns;
	}
	case QUERY_VALUES:
	default:
		resolve_children(resolver, body, outer);
		return &resolver->unknown;
	}
}

/* A WITH query sees those before it; in WITH RECURSIVE also itself and those behind. */
static void resolve_with(struct mysql_resolver *resolver, struct query_node *with, struct mysql_scope *outer)
{
	size_t count = 0;
	for (struct query_node *node = with->first; node; node = node->next)
		count++;
	struct mysql_cte *ctes = ARENA_ARRAY(resolver->arena, struct mysql_cte, count), *cte = ctes;
	for (struct query_node *node = with->first; node; node = node->next, cte++) {
		cte->node = node;
		cte->visible = with->flag;
		cte->columns = renamed(resolver, node, NULL);
		push_cte(resolver, cte);
	}
	for (cte = ctes; cte < ctes + count; cte++) {
		struct mysql_scope beside = { .outer = outer, .beside = true };
		const struct query_columns *columns =
			resolve_query(resolver, query_child(cte->node, QUERY_EXPRESSION), &beside);
		cte->columns = cte->columns ? cte->columns : columns;
		cte->visible = true;
	}
}

static const struct query_columns *resolve_query(struct mysql_resolver *resolver, struct query_node *query,
						 struct mysql_scope *outer)
{
	struct mysql_cte *last = resolver->last_cte;
	struct query_node *with = query_child(query, QUERY_WITH);
	if (with)
		resolve_with(resolver, with, outer);
	struct query_node *body = with ? with->next : query->first;
	const struct query_columns *columns =
		resolve_body(resolver, body, query_child(query, QUERY_ORDER), outer);
	if (!columns->open)
		mysql_positions_check(resolver, query_child(query, QUERY_ORDER), columns->count,
				      "in the select list");
	pop_ctes(resolver, last);
	return columns;
}

static void finish(struct mysql_resolver *resolver, struct mysql_names *ret_names)
{
	texts_unique(&resolver->tables);
	*ret_names = (struct mysql_names){ .tables = resolver->tables.items,
					   .tables_count = resolver->tables.count,
					   .gave_up = resolver->lookups > MYSQL_MAX_LOOKUPS };
}

void mysql_names_resolve(struct query_node *root, const struct sql_request *request, struct arena *arena,
			 struct diagnostics *diagnostics, struct mysql_names *ret_names)
{
	struct mysql_resolver resolver = {
		.arena = arena, .request = request, .diagnostics = diagnostics, .unknown = { .open = true }
	};
	hash_map_init(&resolver.unknown.map, arena, 1);
	hash_map_init(&resolver.relations, arena, 16);
	hash_map_init(&resolver.ctes, arena, 16);
	if (root->kind == QUERY_EXPRESSION || root->kind == QUERY_EXPLAIN) {
		(void)resolve_query(&resolver, root->kind == QUERY_EXPRESSION ? root : root->first, NULL);
	} else if (root->first && root->first->kind == QUERY_RELATION && !root->first->op &&
		   !str_present(root->schema)) {
		struct mysql_scope scope = { .to = SIZE_MAX };
		(void)add_range(&resolver, &scope, root->first);
	}
	finish(&resolver, ret_names);
}
