#include "sql/catalog/build.h"

#include <errno.h>
#include <jansson.h>

/* Fields of the rows that CATALOG_QUERY_POSTGRESQL returns; catalog_query.sql says more about them. */
enum {
	TYPE_ROW_ID,
	TYPE_ROW_SCHEMA,
	TYPE_ROW_NAME,
	TYPE_ROW_TRAITS, /* kind, category, volatility, subscripts, then p: preferred, u: PUBLIC's */
	TYPE_ROW_ELEMENT,
	TYPE_ROW_ARRAY,
	TYPE_ROW_RELATED, /* base of a domain, subtype of a range, range of a multirange */
	TYPE_ROW_COLUMNS,
	TYPE_ROW_USES,
	TYPE_ROW_LABELS /* of an enum; catalogs that were kept by earlier versions have none */
};
enum {
	RELATION_SCHEMA,
	RELATION_NAME,
	RELATION_TRAITS, /* kind, volatility, then p: PUBLIC may read it, x: we may, c: it has children */
	RELATION_ROW_TYPE,
	RELATION_ROW_ARRAY,
	RELATION_COLUMNS,
	RELATION_KEYS,
	RELATION_DEFINITION,
	RELATION_USES,
	RELATION_FOREIGN /* of what is, or has children that are: names of options */
};
enum { COLUMN_NAME, COLUMN_TYPE, COLUMN_NOT_NULL };
enum { KEY_TRAITS /* p or u, then i: immediate, n: NULLs are not distinct */, KEY_COLUMNS };
enum {
	FUNCTION_SCHEMA,
	FUNCTION_NAME,
	FUNCTION_TRAITS, /* volatility, kind, aggregate, then p: PUBLIC's, x: ours, d, s: strict, r: sets */
	FUNCTION_LANGUAGE,
	FUNCTION_DEFAULTS,
	FUNCTION_DIRECT,
	FUNCTION_VARIADIC,
	FUNCTION_RESULT,
	FUNCTION_ARGUMENTS,
	FUNCTION_ARGUMENT_NAMES,
	FUNCTION_OUTPUTS,
	FUNCTION_OUTPUT_TYPES,
	FUNCTION_USES
};
enum { OPERATOR_SCHEMA, OPERATOR_NAME, OPERATOR_TRAITS, OPERATOR_LEFT, OPERATOR_RIGHT, OPERATOR_RESULT };
enum { CAST_SOURCE, CAST_TARGET, CAST_TRAITS };
enum { COLLATION_SCHEMA, COLLATION_NAME };
enum { OTHER_KIND, OTHER_SCHEMA, OTHER_NAME };

#define ARGUMENTS_MAX	 2000 /* of one function: more than any server is built for */
#define PATH_MAX_SCHEMAS 1000

/* A row that is being read; every reader notes what is not as it has to be. */
struct row {
	struct catalog_builder *builder;
	const json_t *fields;
	bool malformed;
};

static str_t text_of(const json_t *value)
{
	return json_is_string(value) ? (str_t){ json_string_value(value), json_string_length(value) }
				     : STR_NONE;
}

static str_t optional_text(struct row *row, size_t field)
{
	const json_t *value = json_array_get(row->fields, field);
	row->malformed |= value && !json_is_string(value) && !json_is_null(value);
	return text_of(value);
}

static str_t text_at(struct row *row, size_t field)
{
	str_t text = optional_text(row, field);
	row->malformed |= !str_present(text);
	return text;
}

static str_t schema_at(struct row *row, size_t field)
{
	str_t schema = optional_text(row, field);
	return str_present(schema) ? schema : STR("pg_catalog");
}

/* Traits are letters: at least `fixed` that always stand, and then some that may. */
static const char *traits_at(struct row *row, size_t field, size_t fixed)
{
	str_t text = text_at(row, field);
	bool complete = str_present(text) && strlen(text.ptr) == text.len && text.len >= fixed;
	row->malformed |= !complete;
	return complete ? text.ptr : "----------";
}

static bool has_trait(const char *traits, size_t fixed, char trait)
{
	return strchr(traits + fixed, trait) != NULL;
}

static char volatility_in(struct row *row, char letter)
{
	row->malformed |= letter != 'i' && letter != 's' && letter != 'v';
	return letter;
}

static json_int_t integer_at(struct row *row, size_t field, json_int_t max)
{
	const json_t *value = json_array_get(row->fields, field);
	json_int_t integer = json_integer_value(value);
	bool in_range = json_is_integer(value) && integer >= 0 && integer <= max;
	row->malformed |= !in_range;
	return in_range ? integer : 0;
}

static type_id id_at(struct row *row, size_t field)
{
	return (type_id)integer_at(row, field, UINT32_MAX);
}

static unsigned number_at(struct row *row, size_t field)
{
	return (unsigned)integer_at(row, field, ARGUMENTS_MAX);
}

/* Ids with single spaces between them; absent: none. */
static struct type_list ids_at(struct row *row, size_t field)
{
	str_t text = optional_text(row, field);
	struct type_list list = { 0 };
	type_id *ids = NULL;
	size_t capacity = 0;
	for (const char *at = text.ptr; at && *at && !row->malformed;) {
		char *end;
		errno = 0;
		unsigned long id = strtoul(at, &end, 10);
		row->malformed |= *at < '0' || *at > '9' || errno != 0 || id > UINT32_MAX ||
				  (*end != ' ' && *end != '\0') || list.count >= ARGUMENTS_MAX;
		ARENA_PUSH(row->builder->scratch, ids, list.count, capacity, (type_id)id);
		at = *end == ' ' ? end + 1 : end;
	}
	list.ids = ids;
	return list;
}

/* Texts of an array, of which there have to be `count`; NULL where it is absent. */
static const str_t *texts_at(struct row *row, size_t field, size_t count)
{
	const json_t *values = json_array_get(row->fields, field);
	if (!values || json_is_null(values))
		return NULL;
	if (json_array_size(values) != count) {
		row->malformed = true;
		return NULL;
	}
	str_t *texts = ARENA_ARRAY(row->builder->scratch, str_t, count);
	for (size_t i = 0; i < count; i++) {
		texts[i] = text_of(json_array_get(values, i));
		row->malformed |= !str_present(texts[i]);
	}
	return texts;
}

static const json_t *rows_at(struct row *row, size_t field)
{
	const json_t *rows = json_array_get(row->fields, field);
	row->malformed |= rows && !json_is_array(rows) && !json_is_null(rows);
	return rows;
}

static const struct catalog_column *columns_at(struct row *row, size_t field, size_t *ret_count)
{
	const json_t *rows = rows_at(row, field);
	size_t count = json_array_size(rows);
	struct catalog_column *columns = ARENA_ARRAY(row->builder->scratch, struct catalog_column, count);
	for (size_t i = 0; i < count; i++) {
		struct row column = { row->builder, json_array_get(rows, i), false };
		columns[i].name = text_at(&column, COLUMN_NAME);
		columns[i].value_type = id_at(&column, COLUMN_TYPE);
		columns[i].type = STR("");
		columns[i].not_null = json_is_true(json_array_get(column.fields, COLUMN_NOT_NULL));
		row->malformed |= column.malformed;
	}
	*ret_count = count;
	return columns;
}

static bool add_type(struct catalog_builder *builder, const json_t *fields)
{
	struct row row = { builder, fields, false };
	const char *traits = traits_at(&row, TYPE_ROW_TRAITS, 4);
	type_id related = id_at(&row, TYPE_ROW_RELATED), element = id_at(&row, TYPE_ROW_ELEMENT);
	struct catalog_type type = { .id = id_at(&row, TYPE_ROW_ID),
				     .schema = schema_at(&row, TYPE_ROW_SCHEMA),
				     .name = text_at(&row, TYPE_ROW_NAME),
				     .kind = traits[0],
				     .category = traits[1],
				     .volatility = volatility_in(&row, traits[2]),
				     .is_subscriptable = traits[3] != '-',
				     .is_preferred = has_trait(traits, 4, 'p'),
				     .is_public = has_trait(traits, 4, 'u'),
				     .element = traits[3] == 'a' ? element : TYPE_UNSURE,
				     .subscript = element,
				     .array = id_at(&row, TYPE_ROW_ARRAY),
				     .base = traits[0] == 'd' ? related : TYPE_UNSURE,
				     .subtype = traits[0] == 'r' ? related : TYPE_UNSURE,
				     .range = traits[0] == 'm' ? related : TYPE_UNSURE };
	type.columns = columns_at(&row, TYPE_ROW_COLUMNS, &type.columns_count);
	struct type_list uses = ids_at(&row, TYPE_ROW_USES);
	type.labels_count = json_array_size(rows_at(&row, TYPE_ROW_LABELS));
	type.labels = texts_at(&row, TYPE_ROW_LABELS, type.labels_count);
	if (str_is(type.name, "jsonb") && str_is(type.schema, "pg_catalog"))
		type.subscript = type.id;
	if (!row.malformed && type.id != TYPE_UNSURE)
		(void)catalog_add_type(builder, type, uses);
	return !row.malformed && type.id != TYPE_UNSURE;
}

static unsigned column_index(const struct catalog_relation *relation, str_t name)
{
	unsigned i = 0;
	while (i < relation->columns_count && !str_equal(relation->columns[i].name, name))
		i++;
	return i;
}

static struct catalog_key read_key(struct row *row, const struct catalog_relation *relation,
				   const json_t *fields)
{
	struct row part = { row->builder, fields, false };
	const char *traits = traits_at(&part, KEY_TRAITS, 1);
	const json_t *names = rows_at(&part, KEY_COLUMNS);
	struct catalog_key key = { .columns_count = json_array_size(names),
				   .is_primary = traits[0] == 'p',
				   .is_immediate = has_trait(traits, 1, 'i'),
				   .nulls_not_distinct = has_trait(traits, 1, 'n') };
	unsigned *columns = ARENA_ARRAY(row->builder->scratch, unsigned, key.columns_count);
	for (size_t i = 0; i < key.columns_count; i++) {
		columns[i] = column_index(relation, text_of(json_array_get(names, i)));
		part.malformed |= columns[i] == relation->columns_count;
	}
	key.columns = columns;
	row->malformed |= part.malformed || key.columns_count == 0;
	return key;
}

static void read_keys(struct row *row, struct catalog_relation *relation)
{
	const json_t *rows = rows_at(row, RELATION_KEYS);
	relation->keys_count = json_array_size(rows);
	struct catalog_key *keys =
		ARENA_ARRAY(row->builder->scratch, struct catalog_key, relation->keys_count);
	for (size_t i = 0; i < relation->keys_count && !row->malformed; i++)
		keys[i] = read_key(row, relation, json_array_get(rows, i));
	relation->keys = keys;
}

/* The type of the relation's rows. Its columns are the relation's. */
static void add_row_type(struct row *row, const struct catalog_relation *relation)
{
	if (relation->row_type == TYPE_UNSURE)
		return;
	(void)catalog_add_type(row->builder,
			       (struct catalog_type){ .id = relation->row_type,
						      .schema = relation->schema,
						      .name = relation->name,
						      .kind = 'c',
						      .category = 'C',
						      .volatility = 's', /* record_in */
						      .is_public = true,
						      .array = id_at(row, RELATION_ROW_ARRAY) },
			       (struct type_list){ 0 });
}

/* Names with single spaces between them; absent: no foreign table. */
static enum foreign_access foreign_at(struct row *row, size_t field)
{
	str_t names = optional_text(row, field);
	enum foreign_access worst = str_present(names) ? FOREIGN_SYSTEM : FOREIGN_NONE;
	for (size_t at = 0; str_present(names) && at < names.len;) {
		const char *space = memchr(names.ptr + at, ' ', names.len - at);
		size_t end = space ? (size_t)(space - names.ptr) : names.len;
		enum foreign_access access = catalog_foreign_option((str_t){ names.ptr + at, end - at });
		worst = access > worst ? access : worst;
		at = end + 1;
	}
	return worst;
}

static bool add_relation(struct catalog_builder *builder, const json_t *fields)
{
	struct row row = { builder, fields, false };
	const char *traits = traits_at(&row, RELATION_TRAITS, 2);
	struct catalog_relation relation = { .schema = schema_at(&row, RELATION_SCHEMA),
					     .name = text_at(&row, RELATION_NAME),
					     .kind = traits[0],
					     .is_view = traits[0] == 'v' || traits[0] == 'm',
					     .volatility = volatility_in(&row, traits[1]),
					     .is_public = has_trait(traits, 2, 'p'),
					     .may_read = has_trait(traits, 2, 'x'),
					     .has_children = has_trait(traits, 2, 'c'),
					     .row_type = id_at(&row, RELATION_ROW_TYPE),
					     .definition = optional_text(&row, RELATION_DEFINITION),
					     .foreign = foreign_at(&row, RELATION_FOREIGN) };
	relation.columns = columns_at(&row, RELATION_COLUMNS, &relation.columns_count);
	read_keys(&row, &relation);
	struct type_list uses = ids_at(&row, RELATION_USES);
	add_row_type(&row, &relation);
	if (!row.malformed)
		(void)catalog_add_relation(builder, relation, uses);
	return !row.malformed;
}

static bool add_function(struct catalog_builder *builder, const json_t *fields)
{
	struct row row = { builder, fields, false };
	const char *traits = traits_at(&row, FUNCTION_TRAITS, 3);
	struct type_list arguments = ids_at(&row, FUNCTION_ARGUMENTS);
	struct type_list outputs = ids_at(&row, FUNCTION_OUTPUT_TYPES);
	str_t language = optional_text(&row, FUNCTION_LANGUAGE);
	struct catalog_function function = {
		.schema = schema_at(&row, FUNCTION_SCHEMA),
		.name = text_at(&row, FUNCTION_NAME),
		.language = str_present(language) ? language : STR("internal"),
		.volatility = volatility_in(&row, traits[0]),
		.kind = traits[1],
		.aggregate = traits[2] == '-' ? '\0' : traits[2],
		.is_public = has_trait(traits, 3, 'p'),
		.may_execute = has_trait(traits, 3, 'x'),
		.is_security_definer = has_trait(traits, 3, 'd'),
		.is_strict = has_trait(traits, 3, 's'),
		.returns_set = has_trait(traits, 3, 'r'),
		.arguments = (unsigned)arguments.count,
		.defaults = number_at(&row, FUNCTION_DEFAULTS),
		.direct_arguments = number_at(&row, FUNCTION_DIRECT),
		.argument_types = arguments.ids,
		.argument_names = texts_at(&row, FUNCTION_ARGUMENT_NAMES, arguments.count),
		.variadic = id_at(&row, FUNCTION_VARIADIC),
		.result_type = id_at(&row, FUNCTION_RESULT),
		.outputs = texts_at(&row, FUNCTION_OUTPUTS, outputs.count),
		.output_types = outputs.ids,
	};
	function.outputs_count = function.outputs ? outputs.count : 0;
	struct type_list uses = ids_at(&row, FUNCTION_USES);
	row.malformed |= function.defaults > function.arguments;
	if (!row.malformed)
		catalog_add_function(builder, function, uses);
	return !row.malformed;
}

static bool add_operator(struct catalog_builder *builder, const json_t *fields)
{
	struct row row = { builder, fields, false };
	const char *traits = traits_at(&row, OPERATOR_TRAITS, 1);
	struct catalog_operator operator_ = { .schema = schema_at(&row, OPERATOR_SCHEMA),
					      .name = text_at(&row, OPERATOR_NAME),
					      .left = id_at(&row, OPERATOR_LEFT),
					      .right = id_at(&row, OPERATOR_RIGHT),
					      .result = id_at(&row, OPERATOR_RESULT),
					      .volatility = volatility_in(&row, traits[0]),
					      .is_public = has_trait(traits, 1, 'p'),
					      .may_execute = has_trait(traits, 1, 'x') };
	operator_.is_prefix = operator_.left == TYPE_UNSURE;
	if (!row.malformed)
		catalog_add_operator(builder, operator_);
	return !row.malformed;
}

static bool add_cast(struct catalog_builder *builder, const json_t *fields)
{
	struct row row = { builder, fields, false };
	const char *traits = traits_at(&row, CAST_TRAITS, 3);
	struct catalog_cast cast = { .source = id_at(&row, CAST_SOURCE),
				     .target = id_at(&row, CAST_TARGET),
				     .context = traits[0],
				     .method = traits[1],
				     .volatility = volatility_in(&row, traits[2]),
				     .is_public = has_trait(traits, 3, 'p'),
				     .may_execute = has_trait(traits, 3, 'x') };
	if (!row.malformed)
		catalog_add_cast(builder, cast);
	return !row.malformed;
}

static bool add_collation(struct catalog_builder *builder, const json_t *fields)
{
	struct row row = { builder, fields, false };
	str_t schema = schema_at(&row, COLLATION_SCHEMA), name = text_at(&row, COLLATION_NAME);
	if (!row.malformed)
		catalog_add_other(builder, CATALOG_COLLATION, schema, name);
	return !row.malformed;
}

static bool add_other(struct catalog_builder *builder, const json_t *fields)
{
	struct row row = { builder, fields, false };
	const char *kind = traits_at(&row, OTHER_KIND, 1);
	str_t schema = schema_at(&row, OTHER_SCHEMA), name = text_at(&row, OTHER_NAME);
	row.malformed |= !strchr("iCDFS", kind[0]);
	if (!row.malformed)
		catalog_add_other(builder, (enum catalog_other_kind)kind[0], schema, name);
	return !row.malformed;
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

/* Adds every row of the array `member`; null is an empty one. */
static bool add_all(struct catalog_builder *builder, const json_t *root, const char *member, size_t max,
		    bool (*add)(struct catalog_builder *, const json_t *), struct err_detail *detail)
{
	const json_t *rows = json_object_get(root, member);
	if (!rows || (!json_is_array(rows) && !json_is_null(rows)) || json_array_size(rows) > max) {
		(void)err_fail(detail, ERR_CATALOG_SYNTAX, "catalog: \"%s\" is no list of rows", member);
		return false;
	}
	for (size_t i = 0; i < json_array_size(rows); i++) {
		if (!add(builder, json_array_get(rows, i))) {
			(void)err_fail(detail, ERR_CATALOG_SYNTAX, "catalog: row %zu of \"%s\" is malformed",
				       i, member);
			return false;
		}
	}
	return true;
}

/* Catalogs that were kept by earlier versions have none, and of very many the query returns null: they are
 * not known then. */
static bool add_others(struct catalog_builder *builder, const json_t *root, struct err_detail *detail)
{
	const json_t *rows = json_object_get(root, "others");
	if (!rows || json_is_null(rows))
		return true;
	builder->knows_others = true;
	return add_all(builder, root, "others", SIZE_MAX, add_other, detail);
}

static bool add_content(struct catalog_builder *builder, const json_t *root, struct err_detail *detail)
{
	return add_all(builder, root, "search_path", PATH_MAX_SCHEMAS, add_path, detail) &&
	       add_all(builder, root, "schemas", SIZE_MAX, add_schema, detail) &&
	       add_all(builder, root, "types", SIZE_MAX, add_type, detail) &&
	       add_all(builder, root, "relations", SIZE_MAX, add_relation, detail) &&
	       add_all(builder, root, "functions", SIZE_MAX, add_function, detail) &&
	       add_all(builder, root, "operators", SIZE_MAX, add_operator, detail) &&
	       add_all(builder, root, "casts", SIZE_MAX, add_cast, detail) &&
	       (!json_object_get(root, "collations") || /* kept by an earlier version, or built in */
		add_all(builder, root, "collations", SIZE_MAX, add_collation, detail)) &&
	       add_others(builder, root, detail);
}

static void release_json(json_t **json)
{
	json_decref(*json);
}

err_t catalog_compile_postgresql(str_t json, struct catalog **ret_catalog, struct err_detail *detail)
{
	json_error_t error;
	_cleanup_(release_json) json_t *root =
		json_loadb(json.ptr ? json.ptr : "", json.len, JSON_REJECT_DUPLICATES, &error);
	if (!root)
		return err_fail(detail, ERR_CATALOG_SYNTAX, "catalog: %s", error.text);
	if (json_integer_value(json_object_get(root, "format")) != 2)
		return err_fail(detail, ERR_CATALOG_SYNTAX, "catalog: not of format 2");
	struct catalog_builder builder;
	catalog_begin(&builder, SQL_POSTGRESQL);
	const json_t *database = json_object_get(root, "database");
	if (json_is_string(database))
		catalog_set_database(&builder, text_of(database));
	if (!add_content(&builder, root, detail)) {
		catalog_abandon(&builder);
		return ERR_CATALOG_SYNTAX;
	}
	return catalog_finish(&builder, json, ret_catalog, detail);
}
