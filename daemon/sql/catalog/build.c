#include "sql/catalog/internal.h"

static _Atomic uint64_t last_serial;

void catalog_begin(struct catalog_builder *builder, enum sql_dialect dialect)
{
	struct arena *arena = arena_new();
	struct catalog *catalog = ARENA_NEW(arena, struct catalog);
	catalog->self = catalog;
	catalog->arena = arena;
	catalog->dialect = dialect;
	catalog->serial = atomic_fetch_add_explicit(&last_serial, 1, memory_order_relaxed) + 1;
	catalog->references = ARENA_NEW(arena, atomic_size_t);
	atomic_init(catalog->references, 1);
	*builder = (struct catalog_builder){ .catalog = catalog, .arena = arena, .scratch = arena_new() };
	catalog_index_reset(catalog, builder->scratch);
}

void catalog_abandon(struct catalog_builder *builder)
{
	catalog_unref(builder->catalog);
	arena_free(builder->scratch);
	builder->catalog = NULL;
	builder->scratch = NULL;
}

void catalog_begin_live(struct catalog_builder *builder, const struct catalog *base)
{
	catalog_begin(builder, base->dialect);
	builder->live = true;
	builder->catalog->base = base;
	for (size_t i = 0; i < base->schemas_count; i++)
		catalog_add_schema(builder, base->schemas[i]);
}

void catalog_set_database(struct catalog_builder *builder, str_t name)
{
	builder->catalog->database = arena_str(builder->arena, name);
}

void catalog_add_schema(struct catalog_builder *builder, str_t schema)
{
	struct catalog *catalog = builder->catalog;
	if (!catalog_has_schema(catalog, schema))
		ARENA_PUSH(builder->arena, catalog->schemas, catalog->schemas_count,
			   builder->schemas_capacity, arena_str(builder->arena, schema));
}

void catalog_clear_path(struct catalog_builder *builder)
{
	builder->catalog->path_count = 0;
}

void catalog_add_path(struct catalog_builder *builder, str_t schema)
{
	struct catalog *catalog = builder->catalog;
	if (!catalog_on_path(catalog, schema))
		ARENA_PUSH(builder->arena, catalog->path, catalog->path_count, builder->path_capacity,
			   arena_str(builder->arena, schema));
	if (builder->live)
		catalog_index_paths(catalog, builder->scratch);
}

static void push(struct catalog_builder *builder, struct catalog_draft_list *list, void *item)
{
	ARENA_PUSH(builder->scratch, list->items, list->count, list->capacity, item);
}

struct catalog_relation *catalog_add_relation(struct catalog_builder *builder,
					      struct catalog_relation relation, struct type_list uses)
{
	struct relation_draft *draft = ARENA_NEW(builder->scratch, struct relation_draft);
	*draft = (struct relation_draft){ .relation = relation, .uses = uses };
	draft->relation.is_system =
		builder->catalog->dialect == SQL_POSTGRESQL && catalog_is_system(relation.schema);
	push(builder, &builder->relations, draft);
	if (builder->live)
		(void)catalog_index_relation(builder->catalog, builder->scratch, &draft->relation);
	return &draft->relation;
}

void catalog_derive_function(const struct catalog *catalog, struct catalog_function *function)
{
	const struct catalog_type *result = catalog_type(catalog, function->result_type);
	if (result)
		function->result = result->text;
	function->category = catalog_type_category(function->result);
	function->takes_row = catalog->dialect == SQL_POSTGRESQL && function->arguments > 0 &&
			      catalog_type_takes_row(catalog, function->argument_types[0]);
	function->is_variadic = function->variadic != TYPE_UNSURE || function->is_variadic;
}

void catalog_add_function(struct catalog_builder *builder, struct catalog_function function,
			  struct type_list uses)
{
	struct function_draft *draft = ARENA_NEW(builder->scratch, struct function_draft);
	struct catalog *catalog = builder->catalog;
	*draft = (struct function_draft){ function, uses };
	draft->function.is_system = catalog_is_system(function.schema);
	push(builder, &builder->functions, draft);
	if (!builder->live)
		return;
	catalog_derive_function(catalog, &draft->function);
	catalog_index_overload(catalog, builder->scratch, false, function.schema, function.name,
			       &draft->function);
	catalog_index_path(catalog, builder->scratch, false, function.name);
}

struct catalog_type *catalog_add_type(struct catalog_builder *builder, struct catalog_type type,
				      struct type_list uses)
{
	struct type_draft *draft = ARENA_NEW(builder->scratch, struct type_draft);
	*draft = (struct type_draft){ type, uses };
	draft->type.is_system = catalog_is_system(type.schema);
	push(builder, &builder->types, draft);
	if (builder->live) {
		draft->type.text = catalog_type_write(builder->catalog, &draft->type, builder->scratch);
		(void)catalog_index_type(builder->catalog, builder->scratch, &draft->type);
	}
	return &draft->type;
}

void catalog_add_operator(struct catalog_builder *builder, struct catalog_operator operator_)
{
	struct catalog_operator *draft = ARENA_NEW(builder->scratch, struct catalog_operator);
	struct catalog *catalog = builder->catalog;
	*draft = operator_;
	draft->is_system = catalog_is_system(operator_.schema);
	push(builder, &builder->operators, draft);
	if (!builder->live)
		return;
	catalog_index_overload(catalog, builder->scratch, true, operator_.schema, operator_.name, draft);
	catalog_index_path(catalog, builder->scratch, true, operator_.name);
}

void catalog_add_other(struct catalog_builder *builder, enum catalog_other_kind kind, str_t schema,
		       str_t name)
{
	struct catalog_other *draft = ARENA_NEW(builder->scratch, struct catalog_other);
	*draft = (struct catalog_other){ (char)kind, schema, name };
	push(builder, &builder->others, draft);
	*(kind == CATALOG_COLLATION ? &builder->knows_collations : &builder->knows_others) = true;
}

void catalog_add_cast(struct catalog_builder *builder, struct catalog_cast cast)
{
	struct catalog_cast *draft = ARENA_NEW(builder->scratch, struct catalog_cast);
	*draft = cast;
	push(builder, &builder->casts, draft);
	if (builder->live)
		catalog_index_cast(builder->catalog, builder->scratch, draft);
}

void catalog_note_gap(struct catalog_builder *builder, const char *format, ...)
{
	char reason[256];
	va_list arguments;
	if (str_present(builder->catalog->gap))
		return;
	va_start(arguments, format);
	vsnprintf(reason, sizeof reason, format, arguments);
	va_end(arguments);
	builder->catalog->gap = arena_text(builder->arena, reason, strlen(reason));
}

void catalog_note_lacking(struct catalog_builder *builder, const char *relations)
{
	struct catalog *catalog = builder->catalog;
	if (!relations)
		catalog->lacks_any_relation = true;
	else
		ARENA_PUSH(builder->arena, catalog->extension_relations, catalog->extension_relations_count,
			   catalog->extension_relations_capacity, relations);
}

void catalog_warn(struct catalog_builder *builder, str_t warning)
{
	struct catalog *catalog = builder->catalog;
	ARENA_PUSH(builder->arena, catalog->warnings, catalog->warnings_count, catalog->warnings_capacity,
		   arena_str(builder->arena, warning));
}

void catalog_rename_type(struct catalog_builder *builder, struct catalog_type *type)
{
	(void)catalog_index_type(builder->catalog, builder->scratch, type);
}

struct catalog_relation *catalog_added_relation(struct catalog_builder *builder, str_t schema, str_t name)
{
	return catalog_index_find(&builder->catalog->relation_index, schema, name);
}

struct catalog_type *catalog_added_type(struct catalog_builder *builder, type_id id)
{
	return id_table_get(&builder->catalog->type_id_index, id);
}

static void rename_type(struct catalog_builder *builder, struct catalog_type *type, str_t name)
{
	if (!type)
		return;
	catalog_index_forget(builder->catalog, builder->scratch, true, type->schema, type->name);
	type->name = name;
	type->text = catalog_type_write(builder->catalog, type, builder->scratch);
	(void)catalog_index_type(builder->catalog, builder->scratch, type);
}

void catalog_rename_relation(struct catalog_builder *builder, struct catalog_relation *relation, str_t name)
{
	struct catalog_type *row = catalog_added_type(builder, relation->row_type);
	catalog_index_forget(builder->catalog, builder->scratch, false, relation->schema, relation->name);
	relation->name = name;
	(void)catalog_index_relation(builder->catalog, builder->scratch, relation);
	rename_type(builder, row, name);
	str_t array = arena_printf(builder->scratch, "_" STR_FMT, STR_ARG(name));
	if (row && !catalog_index_find(&builder->catalog->type_index, relation->schema, array))
		rename_type(builder, catalog_added_type(builder, row->array), array);
}

/* Drafts begin with what they are drafts of. */
static void take_out(struct catalog_draft_list *list, const void *item)
{
	size_t at = 0;
	while (at < list->count && list->items[at] != item)
		at++;
	if (at == list->count)
		return;
	list->count--;
	memmove(list->items + at, list->items + at + 1, (list->count - at) * sizeof *list->items);
}

static void remove_type(struct catalog_builder *builder, type_id id)
{
	struct catalog_type *type = catalog_added_type(builder, id);
	if (!type)
		return;
	catalog_index_forget(builder->catalog, builder->scratch, true, type->schema, type->name);
	take_out(&builder->types, type);
}

void catalog_remove_relation(struct catalog_builder *builder, struct catalog_relation *relation)
{
	const struct catalog_type *row = catalog_added_type(builder, relation->row_type);
	catalog_index_forget(builder->catalog, builder->scratch, false, relation->schema, relation->name);
	take_out(&builder->relations, relation);
	if (row)
		remove_type(builder, row->array);
	remove_type(builder, relation->row_type);
}
