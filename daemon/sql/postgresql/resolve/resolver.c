#include "sql/postgresql/resolve/internal.h"

#include "catalog/pg_type_d.h"

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

void node_map_set(struct node_map *map, const void *node, const void *value)
{
	if ((map->count + 1) * 2 > map->capacity)
		grow(map);
	struct node_record *slot = slot_of(map, node);
	if (!slot->node)
		map->count++;
	*slot = (struct node_record){ node, value };
}

void resolver_record(struct resolver *resolver, const void *node, const void *value)
{
	node_map_set(resolver->resolution->nodes, node, value);
}

void resolver_record_type(struct resolver *resolver, const void *node, type_id type)
{
	if (type != TYPE_UNSURE)
		node_map_set(resolver->resolution->types, node, (const void *)(uintptr_t)type);
}

const void *node_map_get(const struct node_map *map, const void *node)
{
	return map && map->capacity > 0 ? slot_of(map, node)->value : NULL;
}

void resolver_record_operator(struct resolver *resolver, struct resolved_operator applied)
{
	struct resolved_operator *copy = ARENA_NEW(resolver->arena, struct resolved_operator);
	struct node_map *map = resolver->resolution->operators;
	*copy = applied;
	copy->next = node_map_get(map, applied.node);
	node_map_set(map, applied.node, copy);
}

void resolver_note_cast(struct resolver *resolver, type_id source, type_id target, int location)
{
	if (source == target && source != TYPE_UNSURE)
		return;
	struct resolved_cast cast = { .source = source, .target = target, .location = location };
	if (resolver->catalog && source != TYPE_UNSURE && source != UNKNOWNOID && target != TYPE_UNSURE)
		cast.cast = type_cast_of(resolver->catalog, source, target);
	ARENA_PUSH(resolver->arena, resolver->casts, resolver->casts_count, resolver->casts_capacity, cast);
}

bool resolver_wants_hint(struct resolver *resolver)
{
	return resolver->hints++ < RESOLVE_MAX_HINTS;
}

bool resolver_lacks_names(const struct resolver *resolver)
{
	return resolver->catalog && str_present(catalog_gap(resolver->catalog));
}

void resolver_note_missing(struct resolver *resolver, const char *what, str_t name)
{
	bool counts = resolver->seeks_missing || resolver_lacks_names(resolver);
	if (counts && !str_present(resolver->resolution->missing))
		resolver->resolution->missing =
			arena_printf(resolver->arena, "%s " STR_FMT, what, STR_ARG(name));
}

bool resolver_knows_types(const struct resolver *resolver)
{
	return resolver->catalog && catalog_dialect(resolver->catalog) == SQL_POSTGRESQL;
}

static const void *recorded(const struct resolution *resolution, const void *node)
{
	return resolution && node ? node_map_get(resolution->nodes, node) : NULL;
}

const struct range_item *resolution_item(const struct resolution *resolution, const void *from_node)
{
	return recorded(resolution, from_node);
}

const struct resolved_column *resolution_column(const struct resolution *resolution, const void *node)
{
	return node && IsA(node, ColumnRef) ? recorded(resolution, node) : NULL;
}

const struct resolved_function *resolution_function(const struct resolution *resolution, const void *node)
{
	return node && IsA(node, FuncCall) ? recorded(resolution, node) : NULL;
}

const struct range_column *range_columns_find(const struct range_column *columns, size_t count, str_t name)
{
	for (size_t i = 0; i < count; i++)
		if (str_equal(columns[i].name, name))
			return &columns[i];
	return NULL;
}

const struct resolved_operator *resolution_operator(const struct resolution *resolution, const void *node)
{
	return resolution ? node_map_get(resolution->operators, node) : NULL;
}

type_id resolution_type(const struct resolution *resolution, const Node *node)
{
	return resolution && node ? (type_id)(uintptr_t)node_map_get(resolution->types, node) : TYPE_UNSURE;
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

struct node_map *node_map_new(struct arena *arena)
{
	struct node_map *map = ARENA_NEW(arena, struct node_map);
	map->arena = arena;
	return map;
}

str_t resolver_object_at(struct resolver *resolver, int location)
{
	return arena_printf(resolver->arena, "@%d", location);
}

void resolver_report_type(struct resolver *resolver, enum sql_diagnostic_code code,
			  enum diagnostic_sub_code sub_code, const char *sqlstate, int location,
			  const char *format, ...)
{
	char message[512];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(message, sizeof message, format, args);
	va_end(args);
	diagnostics_add_state(resolver->diagnostics, code, sub_code, sqlstate,
			      resolver_object_at(resolver, location), location, "%s", message);
}
