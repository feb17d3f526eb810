#include "sql/catalog/internal.h"

#define KEY_BYTES 512

static size_t write_key(char key[KEY_BYTES], str_t schema, str_t name)
{
	if (schema.len + 1 + name.len > KEY_BYTES)
		return 0;
	if (schema.len > 0)
		memcpy(key, schema.ptr, schema.len);
	key[schema.len] = '\0';
	if (name.len > 0)
		memcpy(key + schema.len + 1, name.ptr, name.len);
	return schema.len + 1 + name.len;
}

void *catalog_index_find(const struct hash_map *map, str_t schema, str_t name)
{
	char key[KEY_BYTES];
	size_t length = write_key(key, schema, name);
	return length > 0 ? hash_map_get(map, (str_t){ key, length }) : NULL;
}

/* Sets the name's value and tells whether it had none. A name beyond any engine's limits is not entered. */
static bool put(struct hash_map *map, struct arena *arena, str_t schema, str_t name, void *value)
{
	char key[KEY_BYTES];
	size_t length = write_key(key, schema, name);
	return length == 0 || !hash_map_set(map, arena_text(arena, key, length), value);
}

bool catalog_index_relation(struct catalog *catalog, struct arena *arena, struct catalog_relation *relation)
{
	return put(&catalog->relation_index, arena, relation->schema, relation->name, relation);
}

void catalog_index_forget(struct catalog *catalog, struct arena *arena, bool types, str_t schema, str_t name)
{
	(void)put(types ? &catalog->type_index : &catalog->relation_index, arena, schema, name, NULL);
}

static void id_table_init(struct id_table *table, struct arena *arena, size_t expected)
{
	*table = (struct id_table){ .capacity = 16 };
	while (table->capacity < 2 * expected)
		table->capacity *= 2;
	table->slots = ARENA_ARRAY(arena, struct id_slot, table->capacity);
}

/* Sets the key's value and tells whether it had none. */
static bool id_table_put(struct id_table *table, struct arena *arena, uint64_t key, void *value)
{
	if (2 * (table->count + 1) > table->capacity) {
		struct id_table larger;
		id_table_init(&larger, arena, table->capacity);
		for (size_t i = 0; i < table->capacity; i++) {
			if (table->slots[i].value)
				(void)id_table_put(&larger, arena, table->slots[i].key,
						   table->slots[i].value);
		}
		*table = larger;
	}
	size_t at = id_slot_of(table, key);
	while (table->slots[at].value && table->slots[at].key != key)
		at = (at + 1) & (table->capacity - 1);
	bool is_new = !table->slots[at].value;
	table->count += is_new;
	table->slots[at] = (struct id_slot){ key, value };
	return is_new;
}

bool catalog_index_type(struct catalog *catalog, struct arena *arena, struct catalog_type *type)
{
	bool name_free = put(&catalog->type_index, arena, type->schema, type->name, type);
	return id_table_put(&catalog->type_id_index, arena, type->id, type) && name_free;
}

void catalog_index_cast(struct catalog *catalog, struct arena *arena, struct catalog_cast *cast)
{
	(void)id_table_put(&catalog->cast_index, arena, cast_key(cast->source, cast->target), cast);
}

static struct catalog_names *names_of(struct catalog *catalog, bool operators)
{
	return operators ? &catalog->operator_names : &catalog->function_names;
}

const struct catalog_group *catalog_group_exact(const struct catalog *catalog, bool operators, str_t schema,
						str_t name)
{
	char folded[MYSQL_NAME_BYTES];
	if (catalog->dialect == SQL_MYSQL)
		schema = catalog_mysql_schema(schema, folded);
	const struct hash_map *names =
		operators ? &catalog->operator_names.exact : &catalog->function_names.exact;
	const struct catalog_group *group = catalog_index_find(names, schema, name);
	return group || !catalog->base ? group : catalog_group_exact(catalog->base, operators, schema, name);
}

void catalog_index_overload(struct catalog *catalog, struct arena *arena, bool operators, str_t schema,
			    str_t name, const void *item)
{
	struct hash_map *map = &names_of(catalog, operators)->exact;
	struct catalog_group *group = catalog_index_find(map, schema, name);
	if (!group) {
		group = ARENA_NEW(arena, struct catalog_group);
		(void)put(map, arena, schema, name, group);
	}
	ARENA_PUSH(arena, group->items, group->count, group->capacity, item);
}

void catalog_index_path(struct catalog *catalog, struct arena *arena, bool operators, str_t name)
{
	struct catalog_group *whole = ARENA_NEW(arena, struct catalog_group);
	for (size_t i = 0; i < catalog->path_count; i++) {
		const struct catalog_group *group =
			catalog_group_exact(catalog, operators, catalog->path[i], name);
		for (size_t o = 0; group && o < group->count; o++)
			ARENA_PUSH(arena, whole->items, whole->count, whole->capacity, group->items[o]);
	}
	if (whole->count > 0)
		(void)put(&names_of(catalog, operators)->on_path, arena, STR(""), name, whole);
}

struct path_walk {
	struct catalog *catalog;
	struct arena *arena;
	bool operators;
};

/* Every name once for each schema that has it: the first time is enough. */
static void index_path_of(str_t key, void *value, void *context)
{
	const struct path_walk *walk = context;
	const char *name = (const char *)memchr(key.ptr, '\0', key.len) + 1;
	str_t text = { name, key.len - (size_t)(name - key.ptr) };
	(void)value;
	if (!catalog_index_find(&names_of(walk->catalog, walk->operators)->on_path, STR(""), text))
		catalog_index_path(walk->catalog, walk->arena, walk->operators, text);
}

void catalog_index_paths(struct catalog *catalog, struct arena *arena)
{
	for (int operators = 0; operators < 2; operators++) {
		struct catalog_names *names = names_of(catalog, operators);
		hash_map_init(&names->on_path, arena, names->exact.count);
		hash_map_each(&names->exact, index_path_of,
			      &(struct path_walk){ catalog, arena, operators != 0 });
	}
}

void catalog_index_reset(struct catalog *catalog, struct arena *arena)
{
	hash_map_init(&catalog->relation_index, arena, catalog->relations_count);
	hash_map_init(&catalog->type_index, arena, catalog->types_count);
	id_table_init(&catalog->type_id_index, arena, catalog->types_count);
	id_table_init(&catalog->cast_index, arena, catalog->casts_count);
	hash_map_init(&catalog->function_names.exact, arena, catalog->functions_count);
	hash_map_init(&catalog->function_names.on_path, arena, 0);
	hash_map_init(&catalog->operator_names.exact, arena, catalog->operators_count);
	hash_map_init(&catalog->operator_names.on_path, arena, 0);
}
