#include "sql/catalog_build.h"

#include "common/buf.h"
#include "common/hash.h"
#include "sql/diagnose.h"

#include <stdatomic.h>

#define KEY_BYTES 512

struct qualified_name {
	str_t schema;
	str_t name;
};

/* All overloads of one key. */
struct function_group {
	const struct catalog_function **functions;
	size_t count;
	size_t capacity;
};

struct catalog {
	struct catalog *self; /* for references taken through a const pointer */
	struct arena *arena;
	atomic_size_t *references; /* apart, so that the catalog itself is never written to */
	enum sql_dialect dialect;
	int64_t read_at_ms;
	str_t source;
	char digest[DIGEST_HEX_SIZE];
	struct catalog_relation *relations;
	size_t relations_count;
	struct catalog_function *functions;
	size_t functions_count;
	struct qualified_name *types;
	size_t types_count;
	str_t *schemas;
	size_t schemas_count;
	str_t *path;
	size_t path_count;
	struct hash_map relation_index;	     /* schema \0 name */
	struct hash_map path_relation_index; /* name */
	struct hash_map function_index;	     /* schema \0 name */
	struct hash_map path_function_index; /* name */
	struct hash_map type_index;	     /* schema \0 name, and \0 name for any schema on the path */
};

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

static void *find(const struct hash_map *map, str_t schema, str_t name)
{
	char key[KEY_BYTES];
	size_t length = write_key(key, schema, name);
	return length > 0 ? hash_map_get(map, (str_t){ key, length }) : NULL;
}

/* The first one stays: earlier schemas of the path win. */
static void put(struct hash_map *map, struct arena *arena, str_t schema, str_t name, void *value)
{
	char key[KEY_BYTES];
	size_t length = write_key(key, schema, name);
	if (length > 0 && !hash_map_get(map, (str_t){ key, length }))
		(void)hash_map_set(map, arena_text(arena, key, length), value);
}

void catalog_begin(struct catalog_builder *builder, enum sql_dialect dialect)
{
	struct arena *arena = arena_new();
	struct catalog *catalog = ARENA_NEW(arena, struct catalog);
	catalog->self = catalog;
	catalog->arena = arena;
	catalog->dialect = dialect;
	catalog->references = ARENA_NEW(arena, atomic_size_t);
	atomic_init(catalog->references, 1);
	*builder = (struct catalog_builder){ .catalog = catalog, .arena = arena };
}

void catalog_abandon(struct catalog_builder *builder)
{
	catalog_unref(builder->catalog);
	builder->catalog = NULL;
}

void catalog_add_schema(struct catalog_builder *builder, str_t schema)
{
	struct catalog *catalog = builder->catalog;
	if (!catalog_has_schema(catalog, schema))
		ARENA_PUSH(builder->arena, catalog->schemas, catalog->schemas_count,
			   builder->schemas_capacity, arena_str(builder->arena, schema));
}

void catalog_add_path(struct catalog_builder *builder, str_t schema)
{
	struct catalog *catalog = builder->catalog;
	ARENA_PUSH(builder->arena, catalog->path, catalog->path_count, builder->path_capacity,
		   arena_str(builder->arena, schema));
}

void catalog_add_relation(struct catalog_builder *builder, struct catalog_relation relation)
{
	struct catalog *catalog = builder->catalog;
	relation.schema = arena_str(builder->arena, relation.schema);
	relation.name = arena_str(builder->arena, relation.name);
	relation.definition = arena_str(builder->arena, relation.definition);
	relation.is_system =
		str_is(relation.schema, "pg_catalog") || str_is(relation.schema, "information_schema");
	ARENA_PUSH(builder->arena, catalog->relations, catalog->relations_count, builder->relations_capacity,
		   relation);
}

void catalog_add_function(struct catalog_builder *builder, struct catalog_function function)
{
	struct catalog *catalog = builder->catalog;
	function.schema = arena_str(builder->arena, function.schema);
	function.name = arena_str(builder->arena, function.name);
	function.result = arena_str(builder->arena, function.result);
	function.category = catalog_type_category(function.result);
	function.is_system =
		str_is(function.schema, "pg_catalog") || str_is(function.schema, "information_schema");
	ARENA_PUSH(builder->arena, catalog->functions, catalog->functions_count, builder->functions_capacity,
		   function);
}

void catalog_add_type(struct catalog_builder *builder, str_t schema, str_t name)
{
	struct catalog *catalog = builder->catalog;
	struct qualified_name type = { arena_str(builder->arena, schema), arena_str(builder->arena, name) };
	ARENA_PUSH(builder->arena, catalog->types, catalog->types_count, builder->types_capacity, type);
}

static int compare_str(str_t a, str_t b)
{
	size_t shorter = a.len < b.len ? a.len : b.len;
	int order = shorter > 0 ? memcmp(a.ptr, b.ptr, shorter) : 0;
	return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_relations(const void *left, const void *right)
{
	const struct catalog_relation *a = left, *b = right;
	int order = compare_str(a->schema, b->schema);
	return order != 0 ? order : compare_str(a->name, b->name);
}

static int compare_functions(const void *left, const void *right)
{
	const struct catalog_function *a = left, *b = right;
	int order = compare_str(a->schema, b->schema);
	if (order == 0)
		order = compare_str(a->name, b->name);
	if (order == 0)
		order = (a->arguments > b->arguments) - (a->arguments < b->arguments);
	if (order == 0)
		order = compare_str(a->result, b->result);
	return order != 0 ? order : a->volatility - b->volatility;
}

static int compare_types(const void *left, const void *right)
{
	const struct qualified_name *a = left, *b = right;
	int order = compare_str(a->schema, b->schema);
	return order != 0 ? order : compare_str(a->name, b->name);
}

static int compare_texts(const void *left, const void *right)
{
	return compare_str(*(const str_t *)left, *(const str_t *)right);
}

static void sort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *))
{
	if (count > 1)
		qsort(items, count, size, compare);
}

static void index_relations(struct catalog *catalog)
{
	hash_map_init(&catalog->relation_index, catalog->arena, catalog->relations_count);
	hash_map_init(&catalog->path_relation_index, catalog->arena, catalog->relations_count);
	for (size_t i = 0; i < catalog->relations_count; i++)
		put(&catalog->relation_index, catalog->arena, catalog->relations[i].schema,
		    catalog->relations[i].name, &catalog->relations[i]);
	for (size_t p = 0; p < catalog->path_count; p++) {
		for (size_t i = 0; i < catalog->relations_count; i++) {
			if (str_equal(catalog->relations[i].schema, catalog->path[p]))
				put(&catalog->path_relation_index, catalog->arena, STR(""),
				    catalog->relations[i].name, &catalog->relations[i]);
		}
	}
}

static void group_function(struct catalog *catalog, struct hash_map *map, str_t schema,
			   const struct catalog_function *function)
{
	struct function_group *group = find(map, schema, function->name);
	if (!group) {
		group = ARENA_NEW(catalog->arena, struct function_group);
		put(map, catalog->arena, schema, function->name, group);
	}
	ARENA_PUSH(catalog->arena, group->functions, group->count, group->capacity, function);
}

static void index_functions(struct catalog *catalog)
{
	hash_map_init(&catalog->function_index, catalog->arena, catalog->functions_count);
	hash_map_init(&catalog->path_function_index, catalog->arena, catalog->functions_count);
	for (size_t i = 0; i < catalog->functions_count; i++) {
		const struct catalog_function *function = &catalog->functions[i];
		group_function(catalog, &catalog->function_index, function->schema, function);
		if (catalog_on_path(catalog, function->schema))
			group_function(catalog, &catalog->path_function_index, STR(""), function);
	}
}

static void index_types(struct catalog *catalog)
{
	hash_map_init(&catalog->type_index, catalog->arena, catalog->types_count * 2);
	for (size_t i = 0; i < catalog->types_count; i++) {
		struct qualified_name *type = &catalog->types[i];
		put(&catalog->type_index, catalog->arena, type->schema, type->name, type);
		if (catalog_on_path(catalog, type->schema))
			put(&catalog->type_index, catalog->arena, STR(""), type->name, type);
	}
}

void catalog_index_relations(struct catalog_builder *builder)
{
	struct catalog *catalog = builder->catalog;
	sort(catalog->relations, catalog->relations_count, sizeof *catalog->relations, compare_relations);
	index_relations(catalog);
}

struct catalog_relation *catalog_added_relation(struct catalog_builder *builder, str_t schema, str_t name)
{
	struct catalog *catalog = builder->catalog;
	for (size_t i = catalog->relations_count; i-- > 0;) {
		if (str_equal(catalog->relations[i].name, name) &&
		    str_equal(catalog->relations[i].schema, schema))
			return &catalog->relations[i];
	}
	return NULL;
}

void catalog_index(struct catalog_builder *builder)
{
	struct catalog *catalog = builder->catalog;
	sort(catalog->functions, catalog->functions_count, sizeof *catalog->functions, compare_functions);
	sort(catalog->types, catalog->types_count, sizeof *catalog->types, compare_types);
	sort(catalog->schemas, catalog->schemas_count, sizeof *catalog->schemas, compare_texts);
	catalog_index_relations(builder);
	index_functions(catalog);
	index_types(catalog);
}

/* Fields are written with their lengths, so that no two contents give one text. */
static void write_text(struct buf *buf, str_t text)
{
	buf_append_u32(buf, text.ptr ? (uint32_t)text.len + 1 : 0);
	if (text.ptr)
		buf_append_str(buf, text);
}

static void write_relation(struct buf *buf, const struct catalog_relation *relation)
{
	write_text(buf, relation->schema);
	write_text(buf, relation->name);
	write_text(buf, relation->definition);
	buf_append_char(buf, (char)(relation->is_view | relation->is_open << 1));
	buf_append_u64(buf, relation->columns_count);
	for (size_t i = 0; i < relation->columns_count; i++) {
		write_text(buf, relation->columns[i].name);
		write_text(buf, relation->columns[i].type);
		buf_append_char(buf,
				(char)(relation->columns[i].not_null | relation->columns[i].is_key << 1));
	}
}

static void write_function(struct buf *buf, const struct catalog_function *function)
{
	write_text(buf, function->schema);
	write_text(buf, function->name);
	write_text(buf, function->result);
	buf_printf(buf, "%c%c%d%d%d%d,%u,%u,", function->volatility, function->kind, function->is_public,
		   function->returns_set, function->is_variadic, function->takes_row, function->arguments,
		   function->defaults);
	buf_append_u64(buf, function->outputs_count);
	for (size_t i = 0; i < function->outputs_count; i++)
		write_text(buf, function->outputs[i]);
}

static void compute_digest(struct catalog *catalog)
{
	struct buf buf = BUF_INIT;
	buf_append_u32(&buf, (uint32_t)catalog->dialect);
	for (size_t i = 0; i < catalog->path_count; i++)
		write_text(&buf, catalog->path[i]);
	buf_append_u64(&buf, catalog->schemas_count);
	for (size_t i = 0; i < catalog->schemas_count; i++)
		write_text(&buf, catalog->schemas[i]);
	buf_append_u64(&buf, catalog->relations_count);
	for (size_t i = 0; i < catalog->relations_count; i++)
		write_relation(&buf, &catalog->relations[i]);
	buf_append_u64(&buf, catalog->functions_count);
	for (size_t i = 0; i < catalog->functions_count; i++)
		write_function(&buf, &catalog->functions[i]);
	for (size_t i = 0; i < catalog->types_count; i++) {
		write_text(&buf, catalog->types[i].schema);
		write_text(&buf, catalog->types[i].name);
	}
	digest_sha256_hex(buf.data, buf.len, catalog->digest);
	buf_free(&buf);
}

struct catalog *catalog_finish(struct catalog_builder *builder, str_t source)
{
	struct catalog *catalog = builder->catalog;
	catalog_index(builder);
	compute_digest(catalog);
	catalog->source = arena_str(catalog->arena, source);
	builder->catalog = NULL;
	return catalog;
}

struct catalog *catalog_ref(const struct catalog *catalog)
{
	if (!catalog)
		return NULL;
	atomic_fetch_add_explicit(catalog->references, 1, memory_order_relaxed);
	return catalog->self;
}

void catalog_unref(struct catalog *catalog)
{
	if (catalog && atomic_fetch_sub_explicit(catalog->references, 1, memory_order_acq_rel) == 1)
		arena_free(catalog->arena);
}

const char *catalog_digest(const struct catalog *catalog)
{
	return catalog->digest;
}

enum sql_dialect catalog_dialect(const struct catalog *catalog)
{
	return catalog->dialect;
}

void catalog_set_read_at_ms(struct catalog *catalog, int64_t wall_ms)
{
	catalog->read_at_ms = wall_ms;
}

int64_t catalog_read_at_ms(const struct catalog *catalog)
{
	return catalog->read_at_ms;
}

str_t catalog_source(const struct catalog *catalog)
{
	return catalog->source;
}

const struct catalog_relation *catalog_relation(const struct catalog *catalog, str_t schema, str_t name)
{
	return find(&catalog->relation_index, schema, name);
}

const struct catalog_relation *catalog_relation_on_path(const struct catalog *catalog, str_t name)
{
	return find(&catalog->path_relation_index, STR(""), name);
}

const struct catalog_relation *catalog_relations(const struct catalog *catalog, size_t *ret_count)
{
	*ret_count = catalog->relations_count;
	return catalog->relations;
}

static bool contains(const str_t *texts, size_t count, str_t text)
{
	for (size_t i = 0; i < count; i++) {
		if (str_equal(texts[i], text))
			return true;
	}
	return false;
}

bool catalog_has_schema(const struct catalog *catalog, str_t schema)
{
	return contains(catalog->schemas, catalog->schemas_count, schema);
}

bool catalog_on_path(const struct catalog *catalog, str_t schema)
{
	return contains(catalog->path, catalog->path_count, schema);
}

const struct catalog_function *const *catalog_functions(const struct catalog *catalog, str_t schema,
							str_t name, size_t *ret_count)
{
	const struct hash_map *map =
		str_present(schema) ? &catalog->function_index : &catalog->path_function_index;
	const struct function_group *group = find(map, schema, name);
	*ret_count = group ? group->count : 0;
	return group ? group->functions : NULL;
}

str_t catalog_function_hint(const struct catalog *catalog, str_t name, struct arena *arena)
{
	struct nearest nearest;
	nearest_init(&nearest, name);
	for (size_t i = 0; i < catalog->functions_count; i++) {
		if (catalog_on_path(catalog, catalog->functions[i].schema))
			nearest_offer(&nearest, catalog->functions[i].name);
	}
	return nearest.best.ptr
		       ? arena_printf(arena, "; did you mean \"" STR_FMT "\"?", STR_ARG(nearest.best))
		       : STR("");
}

bool catalog_function_accepts(const struct catalog_function *function, size_t arguments)
{
	if (arguments > function->arguments)
		return function->is_variadic;
	/* A variadic function may be called without its last argument's elements only by their default. */
	return arguments + function->defaults >= function->arguments;
}

bool catalog_has_type(const struct catalog *catalog, str_t schema, str_t name)
{
	return find(&catalog->type_index, schema, name) != NULL;
}

enum type_category catalog_type_category(str_t type)
{
	static const struct {
		const char *type;
		enum type_category category;
	} known[] = {
		{ "smallint", TYPE_INTEGER },
		{ "integer", TYPE_INTEGER },
		{ "bigint", TYPE_INTEGER },
		{ "numeric", TYPE_NUMERIC },
		{ "real", TYPE_NUMERIC },
		{ "double precision", TYPE_NUMERIC },
		{ "text", TYPE_TEXT },
		{ "character varying", TYPE_TEXT },
		{ "character", TYPE_TEXT },
		{ "name", TYPE_TEXT },
		{ "boolean", TYPE_BOOLEAN },
		{ "date", TYPE_TEMPORAL },
		{ "timestamp without time zone", TYPE_TEMPORAL },
		{ "timestamp with time zone", TYPE_TEMPORAL },
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (str_is(type, known[i].type))
			return known[i].category;
	}
	return TYPE_OTHER;
}
