#include "sql/catalog_build.h"

struct builtin_function {
	const char *name;
	char volatility;
	char kind;
	bool is_public;
	bool returns_set;
	bool is_variadic;
	bool takes_row;
	unsigned arguments;
	unsigned defaults;
	const char *result;
	const char *outputs;
};

struct builtin_relation {
	const char *schema;
	const char *name;
	char kind;
	const char *columns;
};

#define BUILTIN_RELATION(...)
#define BUILTIN_TYPE(...)
#define BUILTIN_FUNCTION(...) { __VA_ARGS__ },
static const struct builtin_function functions[] = {
#include "sql/catalog_builtin.def"
};
#undef BUILTIN_FUNCTION
#undef BUILTIN_RELATION
#define BUILTIN_FUNCTION(...)
#define BUILTIN_RELATION(...) { __VA_ARGS__ },
static const struct builtin_relation relations[] = {
#include "sql/catalog_builtin.def"
};
#undef BUILTIN_RELATION
#undef BUILTIN_TYPE
#define BUILTIN_RELATION(...)
#define BUILTIN_TYPE(name) name,
static const char *const types[] = {
#include "sql/catalog_builtin.def"
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The text up to `separator`, which is passed; `*rest` has to hold one. */
static str_t take(const char **rest, char separator)
{
	const char *end = strchr(*rest, separator);
	str_t text = { *rest, (size_t)(end - *rest) };
	*rest = end + 1;
	return text;
}

static size_t count_commas(const char *text)
{
	size_t count = 0;
	for (; *text; text++)
		count += *text == ',';
	return count;
}

static void add_function(struct catalog_builder *builder, const struct builtin_function *builtin)
{
	struct catalog_function function = { .schema = STR("pg_catalog"),
					     .name = str_from(builtin->name),
					     .volatility = builtin->volatility,
					     .kind = builtin->kind,
					     .is_public = builtin->is_public,
					     .returns_set = builtin->returns_set,
					     .is_variadic = builtin->is_variadic,
					     .takes_row = builtin->takes_row,
					     .arguments = builtin->arguments,
					     .defaults = builtin->defaults,
					     .result = str_from(builtin->result),
					     .outputs_count = count_commas(builtin->outputs) };
	str_t *outputs = ARENA_ARRAY(builder->arena, str_t, function.outputs_count);
	const char *rest = builtin->outputs;
	for (size_t i = 0; i < function.outputs_count; i++)
		outputs[i] = take(&rest, ',');
	function.outputs = outputs;
	catalog_add_function(builder, function);
}

static void add_relation(struct catalog_builder *builder, const struct builtin_relation *builtin)
{
	struct catalog_relation relation = { .schema = str_from(builtin->schema),
					     .name = str_from(builtin->name),
					     .is_view = builtin->kind == 'v',
					     .columns_count = count_commas(builtin->columns) };
	struct catalog_column *columns =
		ARENA_ARRAY(builder->arena, struct catalog_column, relation.columns_count);
	const char *rest = builtin->columns;
	for (size_t i = 0; i < relation.columns_count; i++) {
		columns[i].name = take(&rest, ':');
		columns[i].type = take(&rest, ':');
		columns[i].category = catalog_type_category(columns[i].type);
		str_t flags = take(&rest, ',');
		columns[i].not_null = memchr(flags.ptr, 'n', flags.len) != NULL;
		columns[i].is_key = memchr(flags.ptr, 'k', flags.len) != NULL;
	}
	relation.columns = columns;
	catalog_add_relation(builder, relation);
}

void catalog_add_builtins(struct catalog_builder *builder)
{
	catalog_add_schema(builder, STR("pg_catalog"));
	catalog_add_schema(builder, STR("information_schema"));
	for (size_t i = 0; i < COUNT(functions); i++)
		add_function(builder, &functions[i]);
	for (size_t i = 0; i < COUNT(relations); i++)
		add_relation(builder, &relations[i]);
	for (size_t i = 0; i < COUNT(types); i++)
		catalog_add_type(builder, STR("pg_catalog"), str_from(types[i]));
}
