#include "sql/postgresql/resolve/internal.h"

const struct level_target *level_target(const struct level *level, size_t output)
{
	size_t first = 0, count = level->targets_count;
	while (count > 0) {
		size_t half = count / 2;
		if (level->targets[first + half].end <= output) {
			first += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return first < level->targets_count ? &level->targets[first] : NULL;
}

struct scope *scope_new(struct resolver *resolver, struct scope *parent)
{
	struct scope *scope = ARENA_NEW(resolver->arena, struct scope);
	scope->parent = parent;
	scope->level = parent ? parent->level : 0;
	return scope;
}

static void scope_index_windows(struct resolver *resolver, struct scope *scope)
{
	const ListCell *cell;
	if (list_length(scope->window_clause) <= RESOLVE_SHORT_LIST)
		return;
	scope->window_names = ARENA_NEW(resolver->arena, struct hash_map);
	hash_map_init(scope->window_names, resolver->arena, (size_t)list_length(scope->window_clause));
	foreach(cell, scope->window_clause)
	{
		WindowDef *window = lfirst_node(WindowDef, cell);
		if (!hash_map_get(scope->window_names, str_from(window->name)))
			(void)hash_map_set(scope->window_names, str_from(window->name), window);
	}
}

struct scope *level_new(struct resolver *resolver, struct scope *parent, const SelectStmt *select)
{
	struct scope *scope = scope_new(resolver, parent);
	scope->names = ARENA_NEW(resolver->arena, struct namespace);
	scope->level++;
	scope->is_level = true;
	scope->window_clause = select->windowClause;
	scope_index_windows(resolver, scope);
	return scope;
}
