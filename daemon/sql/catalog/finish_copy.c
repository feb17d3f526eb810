#include "sql/catalog/finish.h"

int finish_compare_pairs(const void *left, const void *right)
{
	const struct id_pair *a = left, *b = right;
	return finish_compare_ids(a->from, b->from);
}

type_id finish_id(const struct finish *finish, type_id id)
{
	if (id == TYPE_UNSURE || (finish->catalog->base && id < TYPE_ID_USER))
		return id;
	if (finish->ids_count == 0)
		return TYPE_UNSURE;
	struct id_pair key = { id, 0 };
	const struct id_pair *pair =
		bsearch(&key, finish->ids, finish->ids_count, sizeof key, finish_compare_pairs);
	return pair ? pair->to : TYPE_UNSURE;
}

const type_id *finish_ids(const struct finish *finish, struct arena *arena, const type_id *ids, size_t count)
{
	if (count == 0)
		return NULL;
	type_id *copy = ARENA_ARRAY(arena, type_id, count);
	for (size_t i = 0; i < count; i++)
		copy[i] = finish_id(finish, ids[i]);
	return copy;
}

int finish_compare_names(str_t schema_a, str_t a, str_t schema_b, str_t b)
{
	int order = str_compare(schema_a, schema_b);
	return order != 0 ? order : str_compare(a, b);
}

int finish_compare_ids(type_id a, type_id b)
{
	return (a > b) - (a < b);
}

void finish_sort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *))
{
	if (count > 1)
		qsort(items, count, size, compare);
}

/* --- copies --- */

str_t finish_copy_schema(struct finish *finish, str_t schema)
{
	if (!str_equal(finish->last_schema, schema))
		finish->last_schema = arena_str(finish->arena, schema);
	return finish->last_schema;
}

struct catalog_column *finish_copy_columns(struct finish *finish, const struct catalog_column *columns,
					   size_t count)
{
	struct catalog_column *copy = ARENA_ARRAY(finish->arena, struct catalog_column, count);
	for (size_t i = 0; i < count; i++) {
		copy[i] = columns[i];
		copy[i].name = arena_str(finish->arena, columns[i].name);
		copy[i].value_type = finish_id(finish, columns[i].value_type);
		catalog_derive_column(finish->catalog, &copy[i]);
		if (copy[i].type.ptr == columns[i].type.ptr)
			copy[i].type = arena_str(finish->arena, columns[i].type);
	}
	return copy;
}
