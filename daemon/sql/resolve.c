#include "sql/resolve_internal.h"

/* Open addressing by address; grows by doubling. */
struct node_map {
	struct arena *arena;
	struct node_record *slots;
	size_t capacity;
	size_t count;
};

static struct node_record *slot_of(const struct node_map *map, const void *node)
{
	uint64_t hash = (uint64_t)(uintptr_t)node * UINT64_C(0x9E3779B97F4A7C15);
	size_t at = (size_t)(hash >> 32) & (map->capacity - 1);
	while (map->slots[at].node && map->slots[at].node != node)
		at = (at + 1) & (map->capacity - 1);
	return &map->slots[at];
}

static void grow(struct node_map *map)
{
	struct node_map larger = { .arena = map->arena, .capacity = map->capacity ? map->capacity * 2 : 64 };
	larger.slots = ARENA_ARRAY(map->arena, struct node_record, larger.capacity);
	for (size_t i = 0; i < map->capacity; i++) {
		if (map->slots[i].node)
			*slot_of(&larger, map->slots[i].node) = map->slots[i];
	}
	larger.count = map->count;
	*map = larger;
}

void resolver_record(struct resolver *resolver, const void *node, const void *value)
{
	struct node_map *map = resolver->resolution->nodes;
	if ((map->count + 1) * 2 > map->capacity)
		grow(map);
	struct node_record *slot = slot_of(map, node);
	if (!slot->node)
		map->count++;
	*slot = (struct node_record){ node, value };
}

static const void *node_map_get(const struct node_map *map, const void *node)
{
	return map && map->capacity > 0 ? slot_of(map, node)->value : NULL;
}

static const void *recorded(const struct resolution *resolution, const void *node)
{
	return node_map_get(resolution->nodes, node);
}

const struct range_item *resolution_item(const struct resolution *resolution, const void *from_node)
{
	return recorded(resolution, from_node);
}

const struct resolved_column *resolution_column(const struct resolution *resolution, const ColumnRef *column)
{
	return recorded(resolution, column);
}

const struct resolved_function *resolution_function(const struct resolution *resolution, const FuncCall *call)
{
	return recorded(resolution, call);
}

const struct resolved_operator *resolution_operator(const struct resolution *resolution, const void *node)
{
	return node_map_get(resolution->operators, node);
}

type_id resolution_type(const struct resolution *resolution, const Node *node)
{
	return (type_id)(uintptr_t)node_map_get(resolution->types, node);
}

const struct outputs *resolution_outputs(const struct resolution *resolution, const SelectStmt *select)
{
	return recorded(resolution, select);
}

void resolver_give_up(struct resolver *resolver)
{
	resolver->resolution->too_deep = true;
}

bool resolver_enter(struct resolver *resolver)
{
	if (resolver->resolution->too_deep)
		return false;
	if (resolver->depth >= RESOLVE_MAX_DEPTH) {
		resolver_give_up(resolver);
		return false;
	}
	resolver->depth++;
	return true;
}

void resolver_leave(struct resolver *resolver)
{
	resolver->depth--;
}

bool resolver_count_columns(struct resolver *resolver, size_t columns)
{
	resolver->columns += columns;
	if (resolver->columns > RESOLVE_MAX_COLUMNS)
		resolver_give_up(resolver);
	return resolver->columns <= RESOLVE_MAX_COLUMNS;
}

void resolver_suspect(struct resolver *resolver, str_t name, int location, bool certain, const Node *node)
{
	struct suspected_call call = { arena_str(resolver->arena, name), location, certain, node };
	ARENA_PUSH(resolver->arena, resolver->suspected, resolver->suspected_count,
		   resolver->suspected_capacity, call);
}

void outputs_add(struct resolver *resolver, struct outputs *outputs, struct range_column column)
{
	if (!resolver_count_columns(resolver, 1)) {
		outputs->open = true;
		return;
	}
	ARENA_PUSH(resolver->arena, outputs->columns, outputs->count, outputs->capacity, column);
}

static int by_offset(const void *left, const void *right)
{
	const struct sql_diagnostic *a = left, *b = right;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

void resolve_statement(const struct parsed_statement *parsed, const struct catalog *catalog,
		       struct arena *arena, struct diagnostics *diagnostics,
		       struct resolution *ret_resolution)
{
	*ret_resolution = (struct resolution){ .names_known = catalog != NULL };
	ret_resolution->nodes = ARENA_NEW(arena, struct node_map);
	ret_resolution->nodes->arena = arena;
	const Node *statement = parsed->statement;
	if (statement && IsA(statement, ExplainStmt))
		statement = ((const ExplainStmt *)statement)->query;
	if (!statement || !IsA(statement, SelectStmt))
		return;
	struct resolver resolver = {
		.arena = arena, .catalog = catalog, .diagnostics = diagnostics, .resolution = ret_resolution
	};
	struct outputs outputs = { 0 };
	resolve_select(&resolver, NULL, (const SelectStmt *)statement, &outputs);
	ret_resolution->suspected_calls = resolver.suspected;
	ret_resolution->suspected_calls_count = resolver.suspected_count;
	if (diagnostics->count > 1)
		qsort(diagnostics->items, diagnostics->count, sizeof *diagnostics->items, by_offset);
}

void resolve_query_outputs(const SelectStmt *select, const struct catalog *catalog, struct arena *arena,
			   struct outputs *ret_outputs)
{
	struct resolution resolution = { .names_known = true };
	struct diagnostics ignored = { .arena = arena };
	resolution.nodes = ARENA_NEW(arena, struct node_map);
	resolution.nodes->arena = arena;
	struct resolver resolver = {
		.arena = arena, .catalog = catalog, .diagnostics = &ignored, .resolution = &resolution
	};
	*ret_outputs = (struct outputs){ 0 };
	resolve_select(&resolver, NULL, select, ret_outputs);
	ret_outputs->open |= resolution.too_deep;
}
