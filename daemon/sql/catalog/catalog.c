#include "sql/catalog/internal.h"

#include "common/nearest.h"
#include "sql/lex/identifier.h"

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

uint64_t catalog_serial(const struct catalog *catalog)
{
	return catalog->serial;
}

const char *catalog_digest(const struct catalog *catalog)
{
	return catalog->digest;
}

size_t catalog_sample_size(const struct catalog *catalog)
{
	return catalog->sample_size;
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
	const struct catalog_relation *found = catalog_index_find(&catalog->relation_index, schema, name);
	bool may_be_base = !found && catalog->base && catalog_is_system(schema);
	return may_be_base ? catalog_relation(catalog->base, schema, name) : found;
}

const struct catalog_relation *catalog_relation_on_path(const struct catalog *catalog, str_t name)
{
	const struct catalog_relation *found = NULL;
	for (size_t i = 0; i < catalog->path_count && !found; i++)
		found = catalog_relation(catalog, catalog->path[i], name);
	return found;
}

const struct catalog_relation *catalog_relation_named(const struct catalog *catalog, str_t schema, str_t name)
{
	return !catalog		     ? NULL
	       : str_present(schema) ? catalog_relation(catalog, schema, name)
				     : catalog_relation_on_path(catalog, name);
}

const struct catalog_column *catalog_columns_find(const struct catalog_column *columns, size_t count,
						  str_t name)
{
	for (size_t i = 0; i < count; i++)
		if (str_equal(columns[i].name, name))
			return &columns[i];
	return NULL;
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

bool catalog_is_system(str_t schema)
{
	return str_is(schema, "pg_catalog") || str_is(schema, "information_schema");
}

static const struct catalog_names *names_of(const struct catalog *catalog, bool operators)
{
	return operators ? &catalog->operator_names : &catalog->function_names;
}

static const struct catalog_group *group_on_path(const struct catalog *catalog, bool operators, str_t name)
{
	const struct catalog_group *group =
		catalog_index_find(&names_of(catalog, operators)->on_path, STR(""), name);
	for (size_t i = 0; i < catalog->path_count && !group && catalog->base; i++) {
		if (catalog_is_system(catalog->path[i])) /* the base has no others */
			group = catalog_group_exact(catalog->base, operators, catalog->path[i], name);
	}
	return group;
}

static const struct catalog_group *overloads(const struct catalog *catalog, bool operators, str_t schema,
					     str_t name)
{
	return str_present(schema) ? catalog_group_exact(catalog, operators, schema, name)
				   : group_on_path(catalog, operators, name);
}

/* All routines that the server may take the name for. */
static const struct catalog_group *mysql_overloads(const struct catalog *catalog, str_t schema, str_t name)
{
	char key[MYSQL_NAME_BYTES];
	bool is_ascii = catalog_mysql_is_ascii(name);
	const struct catalog_group *group =
		overloads(catalog, false, schema,
			  catalog_mysql_key(name, is_ascii ? MYSQL_KEY_NAME : MYSQL_KEY_ANY_OF_LENGTH, key));
	if (!group && is_ascii)
		group = overloads(catalog, false, schema,
				  catalog_mysql_key(name, MYSQL_KEY_FOREIGN_OF_LENGTH, key));
	return group;
}

const struct catalog_function *const *catalog_functions(const struct catalog *catalog, str_t schema,
							str_t name, size_t *ret_count)
{
	const struct catalog_group *group = catalog->dialect == SQL_MYSQL
						    ? mysql_overloads(catalog, schema, name)
						    : overloads(catalog, false, schema, name);
	*ret_count = group ? group->count : 0;
	return group ? (const struct catalog_function *const *)group->items : NULL;
}

const struct catalog_operator *const *catalog_operators(const struct catalog *catalog, str_t schema,
							str_t name, size_t *ret_count)
{
	const struct catalog_group *group = overloads(catalog, true, schema, name);
	*ret_count = group ? group->count : 0;
	return group ? (const struct catalog_operator *const *)group->items : NULL;
}

static void offer_functions(const struct catalog *catalog, const struct catalog *path,
			    struct nearest *nearest)
{
	for (size_t i = 0; i < catalog->functions_count; i++) {
		if (catalog_on_path(path, catalog->functions[i].schema))
			nearest_offer(nearest, catalog->functions[i].name);
	}
}

str_t catalog_function_hint(const struct catalog *catalog, str_t name, struct arena *arena)
{
	struct nearest nearest;
	nearest_init(&nearest, name);
	if (catalog->base)
		offer_functions(catalog->base, catalog, &nearest);
	offer_functions(catalog, catalog, &nearest);
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

/* Ids below the users' are the base's, where there is one. */
const struct catalog_type *catalog_type(const struct catalog *catalog, type_id id)
{
	if (id < TYPE_ID_USER && catalog->base)
		catalog = catalog->base;
	return id_table_get(&catalog->type_id_index, id);
}

static const struct catalog_type *type_in_schema(const struct catalog *catalog, str_t schema, str_t name)
{
	const struct catalog_type *found = catalog_index_find(&catalog->type_index, schema, name);
	bool may_be_base = !found && catalog->base && catalog_is_system(schema);
	return may_be_base ? type_in_schema(catalog->base, schema, name) : found;
}

const struct catalog_type *catalog_type_named(const struct catalog *catalog, str_t schema, str_t name)
{
	if (str_present(schema))
		return type_in_schema(catalog, schema, name);
	const struct catalog_type *found = NULL;
	for (size_t i = 0; i < catalog->path_count && !found; i++)
		found = type_in_schema(catalog, catalog->path[i], name);
	return found;
}

type_id catalog_type_base(const struct catalog *catalog, type_id id)
{
	const struct catalog_type *type = catalog_type(catalog, id);
	for (unsigned depth = 0; type && type->kind == 'd'; depth++) {
		if (depth == TYPE_NESTING_MAX)
			return TYPE_UNSURE;
		type = catalog_type(catalog, type->base);
	}
	return type ? type->id : TYPE_UNSURE;
}

static bool is_castable_by_name(const struct catalog_type *type)
{
	return type && type->category != 'A' && type->kind != 'p' && type->kind != 'c';
}

bool catalog_has_type(const struct catalog *catalog, str_t schema, str_t name)
{
	if (schema.len > 0)
		return is_castable_by_name(type_in_schema(catalog, schema, name));
	for (size_t i = 0; i < catalog->path_count; i++) {
		if (is_castable_by_name(type_in_schema(catalog, catalog->path[i], name)))
			return true;
	}
	return false;
}

int catalog_compare_others(const void *left, const void *right)
{
	const struct catalog_other *a = left, *b = right;
	if (a->kind != b->kind)
		return a->kind - b->kind;
	int order = str_compare(a->name, b->name);
	return order != 0 ? order : str_compare(a->schema, b->schema);
}

bool catalog_knows_others(const struct catalog *catalog)
{
	return catalog->knows_others || (catalog->base && catalog->base->knows_others);
}

static bool has_other(const struct catalog *catalog, const struct catalog_other *wanted)
{
	bool found = catalog->others && bsearch(wanted, catalog->others, catalog->others_count,
						sizeof *wanted, catalog_compare_others);
	return found || (catalog->base && has_other(catalog->base, wanted));
}

bool catalog_has_other(const struct catalog *catalog, enum catalog_other_kind kind, str_t schema, str_t name)
{
	for (size_t i = 0; i < (str_present(schema) ? 1 : catalog->path_count); i++) {
		const struct catalog_other wanted = { (char)kind,
						      str_present(schema) ? schema : catalog->path[i], name };
		if (has_other(catalog, &wanted))
			return true;
	}
	return false;
}

bool catalog_lacks_sampling(const struct catalog *catalog, str_t schema, str_t name)
{
	size_t count;
	(void)catalog_functions(catalog, schema, name, &count);
	return catalog_knows_others(catalog) && !str_present(catalog->gap) && count == 0 &&
	       !catalog_has_other(catalog, CATALOG_SAMPLING, schema, name) &&
	       !catalog_has_other(catalog, CATALOG_INTERNAL_FUNCTION, schema, name);
}

bool catalog_may_lack_relation(const struct catalog *catalog, str_t name)
{
	bool may = catalog->lacks_any_relation;
	for (size_t i = 0; i < catalog->extension_relations_count && !may; i++)
		may = str_is_listed(name, catalog->extension_relations[i]);
	return may;
}

bool catalog_of_file(const struct catalog *catalog)
{
	return catalog->base != NULL;
}

str_t catalog_database(const struct catalog *catalog)
{
	return catalog->database;
}

bool catalog_knows_collations(const struct catalog *catalog)
{
	return catalog->knows_collations;
}

const struct catalog_cast *catalog_cast(const struct catalog *catalog, type_id source, type_id target)
{
	const struct catalog_cast *found = id_table_get(&catalog->cast_index, cast_key(source, target));
	return found || !catalog->base ? found : catalog_cast(catalog->base, source, target);
}

enum foreign_access catalog_foreign_option(str_t name)
{
	static const struct {
		const char *name;
		enum foreign_access access;
	} options[] = {
#define FOREIGN_OPTION(name, access) { (name), FOREIGN_##access },
#include "sql/catalog/foreign_options.def"
#undef FOREIGN_OPTION
	};
	for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
		if (identifier_is(name, options[i].name))
			return options[i].access;
	return FOREIGN_SYSTEM;
}

bool catalog_has_volatile_types(const struct catalog *catalog)
{
	return catalog->has_volatile_types;
}

const struct catalog_operator *const *catalog_volatile_operators(const struct catalog *catalog,
								 size_t *ret_count)
{
	*ret_count = catalog->volatile_operators_count;
	return catalog->volatile_operators;
}

const struct catalog_cast *const *catalog_volatile_casts(const struct catalog *catalog, size_t *ret_count)
{
	*ret_count = catalog->volatile_casts_count;
	return catalog->volatile_casts;
}

const str_t *catalog_warnings(const struct catalog *catalog, size_t *ret_count)
{
	*ret_count = catalog->warnings_count;
	return catalog->warnings;
}

str_t catalog_gap(const struct catalog *catalog)
{
	return catalog->gap;
}
