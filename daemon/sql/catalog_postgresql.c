#include "sql/catalog_build.h"

#include <jansson.h>

/* Fields of the rows that CATALOG_QUERY_POSTGRESQL returns. */
enum { RELATION_SCHEMA, RELATION_NAME, RELATION_KIND, RELATION_COLUMNS, RELATION_DEFINITION };
enum { COLUMN_NAME, COLUMN_TYPE, COLUMN_NOT_NULL, COLUMN_IS_KEY };
enum {
	FUNCTION_SCHEMA,
	FUNCTION_NAME,
	FUNCTION_VOLATILITY,
	FUNCTION_KIND,
	FUNCTION_PUBLIC,
	FUNCTION_RETURNS_SET,
	FUNCTION_VARIADIC,
	FUNCTION_ARGUMENTS,
	FUNCTION_DEFAULTS,
	FUNCTION_RESULT,
	FUNCTION_OUTPUTS,
	FUNCTION_TAKES_ROW
};

static str_t text_of(const json_t *value)
{
	return json_is_string(value) ? (str_t){ json_string_value(value), json_string_length(value) }
				     : STR_NONE;
}

static str_t text_at(const json_t *row, size_t field)
{
	return text_of(json_array_get(row, field));
}

static bool true_at(const json_t *row, size_t field)
{
	return json_is_true(json_array_get(row, field));
}

static char char_at(const json_t *row, size_t field)
{
	str_t text = text_at(row, field);
	return text.len == 1 ? text.ptr[0] : '\0';
}

static unsigned number_at(const json_t *row, size_t field)
{
	json_int_t value = json_integer_value(json_array_get(row, field));
	return value > 0 && value < 1000 ? (unsigned)value : 0;
}

static bool add_relation(struct catalog_builder *builder, const json_t *row)
{
	struct catalog_relation relation = { .schema = text_at(row, RELATION_SCHEMA),
					     .name = text_at(row, RELATION_NAME),
					     .definition = text_at(row, RELATION_DEFINITION) };
	char kind = char_at(row, RELATION_KIND);
	const json_t *columns = json_array_get(row, RELATION_COLUMNS);
	if (!relation.schema.ptr || !relation.name.ptr || kind == '\0')
		return false;
	relation.is_view = kind == 'v' || kind == 'm';
	relation.columns_count = json_array_size(columns);
	struct catalog_column *copies =
		ARENA_ARRAY(builder->arena, struct catalog_column, relation.columns_count);
	for (size_t i = 0; i < relation.columns_count; i++) {
		const json_t *column = json_array_get(columns, i);
		copies[i] = (struct catalog_column){
			.name = arena_str(builder->arena, text_at(column, COLUMN_NAME)),
			.type = arena_str(builder->arena, text_at(column, COLUMN_TYPE)),
			.not_null = true_at(column, COLUMN_NOT_NULL),
			.is_key = true_at(column, COLUMN_IS_KEY)
		};
		if (!copies[i].name.ptr || !copies[i].type.ptr)
			return false;
		copies[i].category = catalog_type_category(copies[i].type);
	}
	relation.columns = copies;
	catalog_add_relation(builder, relation);
	return true;
}

static bool add_function(struct catalog_builder *builder, const json_t *row)
{
	const json_t *outputs = json_array_get(row, FUNCTION_OUTPUTS);
	struct catalog_function function = { .schema = text_at(row, FUNCTION_SCHEMA),
					     .name = text_at(row, FUNCTION_NAME),
					     .volatility = char_at(row, FUNCTION_VOLATILITY),
					     .kind = char_at(row, FUNCTION_KIND),
					     .is_public = true_at(row, FUNCTION_PUBLIC),
					     .returns_set = true_at(row, FUNCTION_RETURNS_SET),
					     .is_variadic = true_at(row, FUNCTION_VARIADIC),
					     .takes_row = true_at(row, FUNCTION_TAKES_ROW),
					     .arguments = number_at(row, FUNCTION_ARGUMENTS),
					     .defaults = number_at(row, FUNCTION_DEFAULTS),
					     .result = text_at(row, FUNCTION_RESULT),
					     .outputs_count = json_array_size(outputs) };
	if (!function.schema.ptr || !function.name.ptr || function.volatility == '\0' ||
	    function.kind == '\0')
		return false;
	str_t *names = ARENA_ARRAY(builder->arena, str_t, function.outputs_count);
	for (size_t i = 0; i < function.outputs_count; i++)
		names[i] = arena_str(builder->arena, text_at(outputs, i));
	function.outputs = names;
	catalog_add_function(builder, function);
	return true;
}

static bool add_type(struct catalog_builder *builder, const json_t *row)
{
	if (!json_is_string(json_array_get(row, 0)) || !json_is_string(json_array_get(row, 1)))
		return false;
	catalog_add_type(builder, text_at(row, 0), text_at(row, 1));
	return true;
}

static bool add_schema(struct catalog_builder *builder, const json_t *name)
{
	if (json_is_string(name))
		catalog_add_schema(builder, text_of(name));
	return json_is_string(name);
}

static bool add_path(struct catalog_builder *builder, const json_t *name)
{
	if (json_is_string(name))
		catalog_add_path(builder, text_of(name));
	return json_is_string(name);
}

/* Adds every row of the array `member`; a null array is an empty one. */
static bool add_all(struct catalog_builder *builder, const json_t *root, const char *member,
		    bool (*add)(struct catalog_builder *, const json_t *), struct err_detail *detail)
{
	const json_t *rows = json_object_get(root, member);
	for (size_t i = 0; i < json_array_size(rows); i++) {
		if (!add(builder, json_array_get(rows, i))) {
			(void)err_fail(detail, ERR_CATALOG_SYNTAX, "catalog: row %zu of \"%s\" is malformed",
				       i, member);
			return false;
		}
	}
	return true;
}

static bool add_content(struct catalog_builder *builder, const json_t *root, struct err_detail *detail)
{
	return add_all(builder, root, "search_path", add_path, detail) &&
	       add_all(builder, root, "schemas", add_schema, detail) &&
	       add_all(builder, root, "relations", add_relation, detail) &&
	       add_all(builder, root, "functions", add_function, detail) &&
	       add_all(builder, root, "types", add_type, detail);
}

err_t catalog_compile_postgresql(str_t json, struct catalog **ret_catalog, struct err_detail *detail)
{
	json_error_t error;
	json_t *root = json_loadb(json.ptr ? json.ptr : "", json.len, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		return err_fail(detail, ERR_CATALOG_SYNTAX, "catalog: %s", error.text);
	if (json_integer_value(json_object_get(root, "format")) != 1) {
		json_decref(root);
		return err_fail(detail, ERR_CATALOG_SYNTAX, "catalog: not of format 1");
	}
	struct catalog_builder builder;
	catalog_begin(&builder, SQL_POSTGRESQL);
	bool complete = add_content(&builder, root, detail);
	json_decref(root);
	if (complete)
		*ret_catalog = catalog_finish(&builder, json);
	catalog_abandon(&builder);
	return complete ? ERR_OK : ERR_CATALOG_SYNTAX;
}
