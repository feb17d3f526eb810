#include "sql/postgresql/safety/volatile.h"

#include <catalog/pg_type_d.h>
#include <postgres_ext.h>

struct volatile_objects {
	const struct catalog *catalog; /* or NULL */
	const type_id *compared;       /* types that are compared by volatile functions */
	size_t compared_count;
};

static void collect_compared(struct volatile_objects *objects, const struct catalog *catalog,
			     struct arena *arena)
{
	type_id *types = NULL;
	size_t count = 0;
	size_t capacity = 0;
	size_t operators_count;
	const struct catalog_operator *const *operators =
		catalog_volatile_operators(catalog, &operators_count);
	for (size_t i = 0; i < operators_count; i++) {
		const struct catalog_operator *op = operators[i];
		/* names under which the operators of sorting and hashing usually go */
		if (op->left == op->right && STR_IS_ANY(op->name, "=", "<", "<=", ">", ">=", "<>"))
			ARENA_PUSH(arena, types, count, capacity, op->left);
	}
	objects->compared = types;
	objects->compared_count = count;
}

const struct volatile_objects *volatile_objects_of(const struct catalog *catalog, struct arena *arena)
{
	struct volatile_objects *objects = ARENA_NEW(arena, struct volatile_objects);
	objects->catalog = catalog;
	if (catalog)
		collect_compared(objects, catalog, arena);
	return objects;
}

bool volatile_type(const struct volatile_objects *objects, type_id type)
{
	if (!objects->catalog || !catalog_has_volatile_types(objects->catalog))
		return false;
	const struct catalog_type *found = catalog_type(objects->catalog, type);
	return found ? found->volatility == 'v' && !found->is_system : type != UNKNOWNOID;
}

static bool compared(const struct volatile_objects *objects, type_id type, unsigned depth)
{
	if (depth >= TYPE_NESTING_MAX || type == TYPE_UNSURE || type == RECORDOID || type == RECORDARRAYOID)
		return true;
	const struct catalog_type *found = catalog_type(objects->catalog, type);
	if (!found)
		return false;
	for (size_t i = 0; i < objects->compared_count; i++)
		if (objects->compared[i] == type)
			return true;
	const type_id parts[] = { found->element, found->base, found->subtype, found->range };
	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		if (parts[i] != TYPE_UNSURE && compared(objects, parts[i], depth + 1))
			return true;
	for (size_t i = 0; found->kind == 'c' && i < found->columns_count; i++)
		if (compared(objects, found->columns[i].value_type, depth + 1))
			return true;
	return false;
}

bool volatile_comparison(const struct volatile_objects *objects, type_id type)
{
	return objects->compared_count > 0 && compared(objects, type, 0);
}

bool volatile_cast(const struct volatile_objects *objects, type_id source, type_id target)
{
	size_t count = 0;
	const struct catalog_cast *const *casts =
		objects->catalog ? catalog_volatile_casts(objects->catalog, &count) : NULL;
	for (size_t i = 0; i < count; i++) {
		if ((source == TYPE_UNSURE || source == casts[i]->source) &&
		    (target == TYPE_UNSURE || target == casts[i]->target))
			return true;
	}
	return false;
}
