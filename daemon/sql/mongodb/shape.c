#include "sql/mongodb/shape.h"

#define MAX_STEPS 100000 /* of one query */
#define MAX_DEPTH 100	 /* of shapes that stand on each other */
#define MAX_PATH  2300	 /* bytes: no catalog has longer ones */

void mongodb_shapes_init(struct mongodb_shapes *shapes, struct arena *arena)
{
	*shapes = (struct mongodb_shapes){ .arena = arena,
					   .open = { .open = true },
					   .removed = { .open = false } };
}

static bool has_steps(struct mongodb_shapes *shapes)
{
	return shapes->steps < MAX_STEPS && ++shapes->steps;
}

static unsigned depth_on(const struct mongodb_shape *below)
{
	return below ? below->depth + 1 : 0;
}

struct mongodb_shape *mongodb_shape_of(struct mongodb_shapes *shapes, const struct catalog_relation *relation)
{
	if (!relation)
		return &shapes->open;
	struct mongodb_shape *shape = ARENA_NEW(shapes->arena, struct mongodb_shape);
	*shape = (struct mongodb_shape){ .relation = relation, .types = CATALOG_OBJECT, .only = true };
	return shape;
}

struct mongodb_shape *mongodb_shape_value(struct mongodb_shapes *shapes, unsigned types)
{
	struct mongodb_shape *shape = ARENA_NEW(shapes->arena, struct mongodb_shape);
	*shape = (struct mongodb_shape){ .types = types, .only = types != 0 };
	return shape;
}

/* Another shape of the same fields. */
static struct mongodb_shape *stand_on(struct mongodb_shapes *shapes, struct mongodb_shape *base)
{
	struct mongodb_shape *shape = ARENA_NEW(shapes->arena, struct mongodb_shape);
	if (base)
		base->owned = false;
	*shape = (struct mongodb_shape){ .base = base, .depth = depth_on(base) };
	if (shape->depth > MAX_DEPTH)
		*shape = (struct mongodb_shape){ .open = true };
	return shape;
}

struct mongodb_shape *mongodb_shape_on(struct mongodb_shapes *shapes, struct mongodb_shape *base)
{
	struct mongodb_shape *shape = stand_on(shapes, base);
	shape->owned = true;
	shape->types = base ? base->types : CATALOG_OBJECT;
	shape->elements = base ? base->elements : 0;
	shape->only = !base || base->only;
	return shape;
}

struct mongodb_shape *mongodb_shape_loose(struct mongodb_shapes *shapes, struct mongodb_shape *shape)
{
	return shape->open ? shape : stand_on(shapes, shape);
}

struct mongodb_shape *mongodb_shape_array(struct mongodb_shapes *shapes, struct mongodb_shape *shape)
{
	struct mongodb_shape *array = stand_on(shapes, shape);
	array->types = CATALOG_ARRAY;
	array->elements = shape->types;
	array->only = shape->only;
	return array;
}

struct mongodb_shape *mongodb_shape_element(struct mongodb_shapes *shapes, struct mongodb_shape *shape)
{
	struct mongodb_shape *element = mongodb_shape_loose(shapes, shape);
	bool known = shape->types != 0 && (!(shape->types & CATALOG_ARRAY) || shape->elements != 0);
	if (shape->open || !known)
		return element;
	element->types = (shape->types & ~(unsigned)CATALOG_ARRAY) |
			 (shape->types & CATALOG_ARRAY ? shape->elements : 0);
	element->only = shape->only;
	return element;
}

struct mongodb_shape *mongodb_shape_either(struct mongodb_shapes *shapes, struct mongodb_shape *a,
					   struct mongodb_shape *b)
{
	if (!a || !b || a == b)
		return a ? a : b;
	if (a->open || b->open)
		return &shapes->open;
	struct mongodb_shape *shape = stand_on(shapes, a);
	b->owned = false;
	shape->other = b;
	shape->types = a->types && b->types ? a->types | b->types : 0;
	bool arrays = (a->types & b->types & CATALOG_ARRAY) != 0;
	shape->elements = arrays && (!a->elements || !b->elements) ? 0 : a->elements | b->elements;
	shape->only = a->only && b->only;
	shape->depth = depth_on(a->depth > b->depth ? a : b);
	if (shape->depth > MAX_DEPTH)
		return &shapes->open;
	return shape;
}

/* --- fields --- */

/* The column at that path, or the first one behind where it would be, by its index. */
static size_t first_column(const struct catalog_relation *relation, str_t path)
{
	size_t from = 0, to = relation->columns_count;
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (str_compare(relation->columns[middle].name, path) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static struct mongodb_shape *column_shape(struct mongodb_shapes *shapes,
					  const struct catalog_relation *relation,
					  const struct catalog_column *column)
{
	struct mongodb_shape *shape = ARENA_NEW(shapes->arena, struct mongodb_shape);
	*shape = (struct mongodb_shape){ .relation = relation,
					 .column = column,
					 .types = column->holds,
					 .elements = column->elements,
					 .only = column->holds_only };
	return shape;
}

/* "" where it is too long for any. */
static str_t path_below(const struct catalog_column *column, str_t name, char joined[MAX_PATH])
{
	if (!column)
		return name;
	size_t prefix = column->name.len;
	if (prefix + 1 + name.len > MAX_PATH)
		return STR("");
	memcpy(joined, column->name.ptr, prefix);
	joined[prefix] = '.';
	if (name.len > 0)
		memcpy(joined + prefix + 1, name.ptr, name.len);
	return (str_t){ joined, prefix + 1 + name.len };
}

static struct mongodb_shape *field_of_collection(struct mongodb_shapes *shapes,
						 const struct mongodb_shape *shape, str_t name)
{
	const struct catalog_relation *relation = shape->relation;
	char joined[MAX_PATH];
	str_t path = path_below(shape->column, name, joined);
	size_t at = first_column(relation, path);
	if (path.len > 0 && at < relation->columns_count && str_equal(relation->columns[at].name, path))
		return column_shape(shapes, relation, &relation->columns[at]);
	return (shape->column ? shape->column->is_open : relation->is_open) ? &shapes->open : NULL;
}

struct mongodb_shape *mongodb_shape_field(struct mongodb_shapes *shapes, const struct mongodb_shape *shape,
					  str_t name)
{
	if (shape->open || !has_steps(shapes))
		return &shapes->open;
	struct mongodb_shape *own = shape->names_count > 0 ? hash_map_get(&shape->fields, name) : NULL;
	if (own)
		return own == &shapes->removed ? NULL : own;
	if (shape->relation)
		return field_of_collection(shapes, shape, name);
	struct mongodb_shape *field = shape->base ? mongodb_shape_field(shapes, shape->base, name) : NULL;
	struct mongodb_shape *other = shape->other ? mongodb_shape_field(shapes, shape->other, name) : NULL;
	return mongodb_shape_either(shapes, field, other);
}

bool mongodb_shape_is_closed(const struct mongodb_shape *shape)
{
	return shape->relation && (shape->column ? shape->column->is_closed : shape->relation->is_closed);
}

str_t mongodb_path_part(str_t *path)
{
	const char *dot = path->len > 0 ? memchr(path->ptr, '.', path->len) : NULL;
	str_t part = { path->ptr, dot ? (size_t)(dot - path->ptr) : path->len };
	*path = dot ? (str_t){ dot + 1, path->len - part.len - 1 } : STR_NONE;
	return part;
}

static void put(struct mongodb_shapes *shapes, struct mongodb_shape *shape, str_t name,
		struct mongodb_shape *field)
{
	if (shape->names_count == 0)
		hash_map_init(&shape->fields, shapes->arena, 0);
	if (!hash_map_set(&shape->fields, name, field))
		ARENA_PUSH(shapes->arena, shape->names, shape->names_count, shape->names_capacity, name);
}

/* The document in the field of that name, to be changed: one of its own, or a new one that stands on what is
 * there. */
static struct mongodb_shape *own_field(struct mongodb_shapes *shapes, struct mongodb_shape *shape, str_t name)
{
	struct mongodb_shape *own = shape->names_count > 0 ? hash_map_get(&shape->fields, name) : NULL;
	if (own && own->owned)
		return own;
	struct mongodb_shape *field = mongodb_shape_field(shapes, shape, name);
	own = field && field->open ? field : mongodb_shape_on(shapes, field);
	put(shapes, shape, name, own);
	return own;
}

void mongodb_shape_set(struct mongodb_shapes *shapes, struct mongodb_shape *shape, str_t path,
		       struct mongodb_shape *value)
{
	while (!shape->open) {
		str_t part = mongodb_path_part(&path);
		if (!str_present(path)) {
			put(shapes, shape, part, value);
			return;
		}
		shape = own_field(shapes, shape, part);
	}
}

void mongodb_shape_remove(struct mongodb_shapes *shapes, struct mongodb_shape *shape, str_t path)
{
	mongodb_shape_set(shapes, shape, path, &shapes->removed);
}

/* --- all of them --- */

struct mongodb_walk {
	struct mongodb_shapes *shapes;
	size_t left;
	void (*visit)(str_t path, void *context);
	void *context;
};

static str_t below(struct mongodb_walk *walk, str_t prefix, str_t name)
{
	return str_present(prefix) ? arena_printf(walk->shapes->arena, STR_FMT "." STR_FMT, STR_ARG(prefix),
						  STR_ARG(name))
				   : name;
}

static void walk_collection(struct mongodb_walk *walk, const struct mongodb_shape *shape, str_t prefix)
{
	const struct catalog_relation *relation = shape->relation;
	str_t path = shape->column ? shape->column->name : STR_NONE;
	size_t at = shape->column ? first_column(relation, path) + 1 : 0;
	for (; at < relation->columns_count && walk->left > 0; at++, walk->left--) {
		str_t name = relation->columns[at].name;
		bool within =
			name.len > path.len && (path.len == 0 || (memcmp(name.ptr, path.ptr, path.len) == 0));
		if (!within)
			return;
		if (path.len > 0 && name.ptr[path.len] != '.')
			continue;
		size_t skipped = path.len > 0 ? path.len + 1 : 0;
		walk->visit(below(walk, prefix, (str_t){ name.ptr + skipped, name.len - skipped }),
			    walk->context);
	}
}

static void walk_shape(struct mongodb_walk *walk, const struct mongodb_shape *shape, str_t prefix,
		       unsigned depth)
{
	if (!shape || depth > MAX_DEPTH || walk->left == 0)
		return;
	for (size_t i = 0; i < shape->names_count && walk->left > 0; i++) {
		const struct mongodb_shape *field = hash_map_get(&shape->fields, shape->names[i]);
		str_t path = below(walk, prefix, shape->names[i]);
		if (field == &walk->shapes->removed)
			continue;
		walk->left--;
		walk->visit(path, walk->context);
		walk_shape(walk, field, path, depth + 1);
	}
	if (shape->relation)
		walk_collection(walk, shape, prefix);
	walk_shape(walk, shape->base, prefix, depth + 1);
	walk_shape(walk, shape->other, prefix, depth + 1);
}

void mongodb_shape_each(struct mongodb_shapes *shapes, const struct mongodb_shape *shape, size_t max,
			void (*visit)(str_t path, void *context), void *context)
{
	struct mongodb_walk walk = { shapes, max, visit, context };
	walk_shape(&walk, shape, STR_NONE, 0);
}
