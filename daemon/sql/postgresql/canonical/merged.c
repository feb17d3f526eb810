/*
 * Columns that USING and NATURAL have merged, and what is known of a join by the name of such a column.
 */
#include "sql/postgresql/canonical/internal.h"

#include "common/hash.h"

/* Lists up to this length are searched one by one. */
#define SHORT_LIST 8

/* Join and name in one key. */
static str_t join_key(struct arena *arena, const JoinExpr *join, str_t name)
{
	char *bytes = arena_alloc(arena, sizeof join + name.len);
	memcpy(bytes, &join, sizeof join);
	if (name.len)
		memcpy(bytes + sizeof join, name.ptr, name.len);
	return (str_t){ bytes, sizeof join + name.len };
}

void join_map_set(struct join_map *map, struct arena *arena, const JoinExpr *join, str_t name, size_t value)
{
	map->by_key.arena = arena;
	(void)hash_map_set(&map->by_key, join_key(arena, join, name), (void *)(uintptr_t)(value + 1));
}

bool join_map_get(const struct join_map *map, struct arena *arena, const JoinExpr *join, str_t name,
		  size_t *ret_value)
{
	uintptr_t found =
		map->by_key.count ? (uintptr_t)hash_map_get(&map->by_key, join_key(arena, join, name)) : 0;
	if (found)
		*ret_value = (size_t)found - 1;
	return found != 0;
}

static void note(struct canon *canon, struct canon_scope *scope, size_t index)
{
	const struct canon_merged *merged = &scope->merged[index];
	join_map_set(&scope->merged_map, canon->arena, merged->join, merged->name, index);
}

void canon_merged_add(struct canon *canon, const struct canon_merged *merged)
{
	struct canon_scope *scope = canon->scope;
	ARENA_PUSH(canon->arena, scope->merged, scope->merged_count, scope->merged_capacity, *merged);
	if (scope->merged_count == SHORT_LIST + 1)
		for (size_t i = 0; i < SHORT_LIST; i++)
			note(canon, scope, i);
	if (scope->merged_count > SHORT_LIST)
		note(canon, scope, scope->merged_count - 1);
}

void canon_merged_clear(struct canon_scope *scope)
{
	scope->merged_count = 0;
	scope->merged_map = (struct join_map){ 0 };
}

const struct canon_merged *canon_merged_of(const struct canon *canon, const struct canon_scope *scope,
					   const JoinExpr *join, str_t name)
{
	size_t index;
	if (scope->merged_count > SHORT_LIST)
		return join_map_get(&scope->merged_map, canon->arena, join, name, &index)
			       ? &scope->merged[index]
			       : NULL;
	for (size_t i = scope->merged_count; i > 0; i--)
		if (scope->merged[i - 1].join == join && str_equal(scope->merged[i - 1].name, name))
			return &scope->merged[i - 1];
	return NULL;
}
