#include "sql/catalog/internal.h"

#include "sql/lex/identifier.h"

#include <jansson.h>

/* Fields of the lines, behind what each tells. */
enum { FORMAT_NUMBER = 1, FORMAT_DATABASE };
enum { LINE_SCHEMA = 1, LINE_NAME };
enum { RELATION_TYPE = 3 };
enum { COLUMN_POSITION = 3, COLUMN_NAME, COLUMN_TYPE, COLUMN_NULLABLE };
enum { KEY_INDEX = 3, KEY_POSITION, KEY_COLUMN, KEY_PREFIX };
enum { VIEW_DEFINITION = 3 };
enum { ROUTINE_KIND = 3, ROUTINE_RESULT, ROUTINE_DETERMINISTIC, ROUTINE_ACCESS, ROUTINE_SECURITY };
enum { PARAMETER_KIND = 3, PARAMETER_POSITION, PARAMETER_NAME };

#define POSITION_MAX 5000 /* columns of a table, parameters of a routine: above any limit of the engines */

struct key_draft {
	str_t index;
	bool is_partial; /* over an expression or a prefix of a text: says nothing about columns */
	const str_t **columns;
	size_t count;
};

struct table_draft {
	struct catalog_relation relation;
	struct catalog_column *columns;
	size_t capacity;
	struct key_draft *keys;
	size_t keys_count;
	size_t keys_capacity;
};

struct routine_draft {
	struct catalog_function function;
	str_t *names;
	size_t capacity;
};

struct reader {
	struct catalog_builder builder;
	struct arena *scratch;
	struct hash_map tables;	  /* schema \0 name */
	struct hash_map routines; /* schema \0 name */
	struct hash_map procedures;
	bool has_format;
	const json_t *fields; /* of the line that is being read */
	bool malformed;
};

static str_t optional_text(struct reader *reader, size_t field)
{
	const json_t *value = json_array_get(reader->fields, field);
	reader->malformed |= value && !json_is_string(value) && !json_is_null(value);
	return json_is_string(value)
		       ? arena_text(reader->scratch, json_string_value(value), json_string_length(value))
		       : STR_NONE;
}

static str_t text_at(struct reader *reader, size_t field)
{
	str_t text = optional_text(reader, field);
	reader->malformed |= !str_present(text);
	return text;
}

static size_t position_at(struct reader *reader, size_t field)
{
	const json_t *value = json_array_get(reader->fields, field);
	json_int_t position = json_integer_value(value);
	bool in_range = json_is_integer(value) && position > 0 && position <= POSITION_MAX;
	reader->malformed |= !in_range;
	return in_range ? (size_t)position : 1;
}

static str_t key_of(struct reader *reader, str_t schema, str_t name)
{
	char *key = arena_alloc(reader->scratch, schema.len + name.len + 2);
	if (schema.len > 0)
		memcpy(key, schema.ptr, schema.len);
	if (name.len > 0)
		memcpy(key + schema.len + 1, name.ptr, name.len);
	return (str_t){ key, schema.len + 1 + name.len };
}

/* Lines come in any order: the first that names a table or routine makes it. */
static struct table_draft *table_of(struct reader *reader)
{
	str_t schema = text_at(reader, LINE_SCHEMA), name = text_at(reader, LINE_NAME);
	str_t key = key_of(reader, schema, name);
	struct table_draft *table = hash_map_get(&reader->tables, key);
	if (table)
		return table;
	table = ARENA_NEW(reader->scratch, struct table_draft);
	table->relation = (struct catalog_relation){
		.schema = schema, .name = name, .volatility = 'i', .may_read = true
	};
	(void)hash_map_set(&reader->tables, key, table);
	return table;
}

static struct routine_draft *routine_of(struct reader *reader, str_t kind)
{
	str_t schema = text_at(reader, LINE_SCHEMA);
	str_t name = text_at(reader, LINE_NAME);
	str_t key = key_of(reader, schema, name);
	struct hash_map *map = identifier_is(kind, "PROCEDURE") ? &reader->procedures : &reader->routines;
	struct routine_draft *routine = hash_map_get(map, key);
	if (routine)
		return routine;
	routine = ARENA_NEW(reader->scratch, struct routine_draft);
	routine->function = (struct catalog_function){ .schema = schema,
						       .name = name,
						       .language = STR("sql"),
						       .kind = identifier_is(kind, "PROCEDURE") ? 'p' : 'f',
						       .may_execute = true,
						       .result = STR("") };
	(void)hash_map_set(map, key, routine);
	return routine;
}

static void read_format(struct reader *reader)
{
	str_t database = optional_text(reader, FORMAT_DATABASE);
	reader->malformed |= json_integer_value(json_array_get(reader->fields, FORMAT_NUMBER)) != 2;
	reader->has_format = true;
	if (database.len > 0)
		catalog_add_path(&reader->builder, database);
}

static void read_schema(struct reader *reader)
{
	catalog_add_schema(&reader->builder, text_at(reader, LINE_SCHEMA));
}

static void read_relation(struct reader *reader)
{
	struct table_draft *table = table_of(reader);
	str_t type = text_at(reader, RELATION_TYPE);
	bool is_view = identifier_is(type, "VIEW") || identifier_is(type, "SYSTEM VIEW");
	table->relation.is_view = is_view;
	table->relation.kind = is_view ? 'v' : identifier_is(type, "SEQUENCE") ? 'S' : 'r';
}

static enum type_category category_of_type(str_t type)
{
	static const struct {
		const char *type;
		enum type_category category;
	} known[] = {
		{ "tinyint", TYPE_INTEGER },	{ "smallint", TYPE_INTEGER }, { "mediumint", TYPE_INTEGER },
		{ "int", TYPE_INTEGER },	{ "bigint", TYPE_INTEGER },   { "year", TYPE_INTEGER },
		{ "decimal", TYPE_NUMERIC },	{ "float", TYPE_NUMERIC },    { "double", TYPE_NUMERIC },
		{ "char", TYPE_TEXT },		{ "varchar", TYPE_TEXT },     { "tinytext", TYPE_TEXT },
		{ "text", TYPE_TEXT },		{ "mediumtext", TYPE_TEXT },  { "longtext", TYPE_TEXT },
		{ "enum", TYPE_TEXT },		{ "date", TYPE_TEMPORAL },    { "datetime", TYPE_TEMPORAL },
		{ "timestamp", TYPE_TEMPORAL },
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (str_is(type, known[i].type))
			return known[i].category;
	}
	return TYPE_OTHER;
}

/* Makes room for the item at `position` (from 1); those between stay empty until their lines come. */
static void *reserve(struct reader *reader, void *items, size_t *capacity, size_t size, size_t position)
{
	if (position <= *capacity)
		return items;
	size_t larger = position > 2 * *capacity ? position + 7 : 2 * *capacity;
	char *copy = arena_calloc(reader->scratch, larger, size);
	if (*capacity > 0)
		memcpy(copy, items, *capacity * size);
	*capacity = larger;
	return copy;
}

static void read_column(struct reader *reader)
{
	struct table_draft *table = table_of(reader);
	size_t position = position_at(reader, COLUMN_POSITION);
	table->columns = reserve(reader, table->columns, &table->capacity, sizeof *table->columns, position);
	struct catalog_column *column = &table->columns[position - 1];
	column->name = text_at(reader, COLUMN_NAME);
	column->type = identifier_lower(text_at(reader, COLUMN_TYPE), reader->scratch);
	column->category = category_of_type(column->type);
	column->not_null = identifier_is(text_at(reader, COLUMN_NULLABLE), "NO");
}

static struct key_draft *key_named(struct reader *reader, struct table_draft *table, str_t index)
{
	for (size_t i = 0; i < table->keys_count; i++) {
		if (str_equal(table->keys[i].index, index))
			return &table->keys[i];
	}
	ARENA_PUSH(reader->scratch, table->keys, table->keys_count, table->keys_capacity,
		   (struct key_draft){ .index = index });
	return &table->keys[table->keys_count - 1];
}

static void read_key(struct reader *reader)
{
	struct key_draft *key = key_named(reader, table_of(reader), text_at(reader, KEY_INDEX));
	size_t position = position_at(reader, KEY_POSITION), capacity = key->count;
	str_t name = optional_text(reader, KEY_COLUMN);
	const json_t *prefix = json_array_get(reader->fields, KEY_PREFIX);
	key->columns = reserve(reader, key->columns, &capacity, sizeof *key->columns, position);
	key->count = capacity;
	key->is_partial |= !str_present(name) || (prefix && !json_is_null(prefix));
	str_t *copy = ARENA_NEW(reader->scratch, str_t);
	*copy = name;
	key->columns[position - 1] = copy;
}

static void read_view(struct reader *reader)
{
	struct table_draft *table = table_of(reader);
	table->relation.definition = optional_text(reader, VIEW_DEFINITION);
}

/* What is declared of data access is MySQL's nearest to volatility; CONTAINS SQL is what stands where nothing
 * was declared. */
static char volatility_of(str_t access, bool deterministic)
{
	if (identifier_is(access, "NO SQL"))
		return deterministic ? 'i' : 's';
	return identifier_is(access, "READS SQL DATA") ? 's' : 'v';
}

static void read_routine(struct reader *reader)
{
	struct routine_draft *routine = routine_of(reader, text_at(reader, ROUTINE_KIND));
	str_t result = optional_text(reader, ROUTINE_RESULT);
	routine->function.result = str_present(result) ? identifier_lower(result, reader->scratch) : STR("");
	routine->function.volatility =
		volatility_of(text_at(reader, ROUTINE_ACCESS),
			      identifier_is(text_at(reader, ROUTINE_DETERMINISTIC), "YES"));
	routine->function.is_security_definer =
		identifier_is(optional_text(reader, ROUTINE_SECURITY), "DEFINER");
}

static void read_parameter(struct reader *reader)
{
	struct routine_draft *routine = routine_of(reader, text_at(reader, PARAMETER_KIND));
	size_t position = position_at(reader, PARAMETER_POSITION);
	str_t name = optional_text(reader, PARAMETER_NAME);
	routine->names =
		reserve(reader, routine->names, &routine->capacity, sizeof *routine->names, position);
	routine->names[position - 1] = str_present(name) ? name : STR("");
	if (routine->function.arguments < position)
		routine->function.arguments = (unsigned)position;
}

static bool read_line(struct reader *reader, const json_t *fields)
{
	static const struct {
		const char *tells;
		void (*read)(struct reader *);
	} readers[] = {
		{ "format", read_format },     { "schema", read_schema },
		{ "relation", read_relation }, { "column", read_column },
		{ "key", read_key },	       { "view", read_view },
		{ "routine", read_routine },   { "parameter", read_parameter },
	};
	reader->fields = fields;
	str_t tells = text_at(reader, 0);
	for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
		if (str_is(tells, readers[i].tells)) {
			readers[i].read(reader);
			return !reader->malformed;
		}
	}
	return false;
}

static bool read_lines(struct reader *reader, str_t text, struct err_detail *detail)
{
	const char *at = text.ptr ? text.ptr : "", *end = at + text.len;
	for (size_t number = 1; at < end; number++) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		line_end = line_end ? line_end : end;
		json_error_t error;
		json_t *fields = json_loadb(at, (size_t)(line_end - at), 0, &error);
		bool read = json_is_array(fields) && read_line(reader, fields);
		json_decref(fields);
		if (!read) {
			(void)err_fail(detail, ERR_CATALOG_SYNTAX, "catalog: line %zu is malformed", number);
			return false;
		}
		at = line_end + 1;
	}
	if (!reader->has_format)
		(void)err_fail(detail, ERR_CATALOG_SYNTAX, "catalog: not of format 2");
	return reader->has_format;
}

/* --- what was read --- */

static unsigned column_index(const struct table_draft *table, size_t count, const str_t *name)
{
	unsigned i = 0;
	while (i < count && !(name && str_equal(table->columns[i].name, *name)))
		i++;
	return i;
}

static bool make_key(struct reader *reader, const struct table_draft *table, size_t columns,
		     const struct key_draft *draft, struct catalog_key *ret_key)
{
	unsigned *indexes = ARENA_ARRAY(reader->scratch, unsigned, draft->count);
	size_t count = 0;
	for (size_t i = 0; i < draft->count && draft->columns[i]; i++) {
		indexes[count] = column_index(table, columns, draft->columns[i]);
		if (indexes[count++] == columns)
			return false;
	}
	*ret_key = (struct catalog_key){ .columns = indexes,
					 .columns_count = count,
					 .is_primary = str_is(draft->index, "PRIMARY"),
					 .is_immediate = true };
	return count > 0 && !draft->is_partial;
}

static void add_table(str_t key, void *value, void *context)
{
	struct reader *reader = context;
	struct table_draft *table = value;
	struct catalog_relation *relation = &table->relation;
	size_t count = 0;
	(void)key;
	while (count < table->capacity && str_present(table->columns[count].name))
		count++;
	struct catalog_key *keys = ARENA_ARRAY(reader->scratch, struct catalog_key, table->keys_count);
	for (size_t i = 0; i < table->keys_count; i++)
		relation->keys_count +=
			make_key(reader, table, count, &table->keys[i], &keys[relation->keys_count]);
	relation->keys = keys;
	relation->columns = table->columns;
	relation->columns_count = count;
	relation->is_open = count == 0; /* an account without rights on any of its columns */
	if (relation->kind == '\0')
		relation->kind = 'r';
	(void)catalog_add_relation(&reader->builder, *relation, (struct type_list){ 0 });
}

static void add_routine(str_t key, void *value, void *context)
{
	struct reader *reader = context;
	struct routine_draft *routine = value;
	struct catalog_function *function = &routine->function;
	(void)key;
	if (function->volatility == '\0')
		function->volatility = 'v';
	for (unsigned i = 0; i < function->arguments; i++) {
		if (!str_present(routine->names[i]))
			routine->names[i] = STR("");
	}
	function->argument_names = function->arguments > 0 ? routine->names : NULL;
	function->argument_types = ARENA_ARRAY(reader->scratch, type_id, function->arguments);
	catalog_add_function(&reader->builder, *function, (struct type_list){ 0 });
}

err_t catalog_compile_mysql(str_t text, struct catalog **ret_catalog, struct err_detail *detail)
{
	struct reader reader = { 0 };
	catalog_begin(&reader.builder, SQL_MYSQL);
	reader.scratch = reader.builder.scratch;
	hash_map_init(&reader.tables, reader.scratch, 0);
	hash_map_init(&reader.routines, reader.scratch, 0);
	hash_map_init(&reader.procedures, reader.scratch, 0);
	if (!read_lines(&reader, text, detail)) {
		catalog_abandon(&reader.builder);
		return ERR_CATALOG_SYNTAX;
	}
	hash_map_each(&reader.tables, add_table, &reader);
	hash_map_each(&reader.routines, add_routine, &reader);
	hash_map_each(&reader.procedures, add_routine, &reader);
	return catalog_finish(&reader.builder, text, ret_catalog, detail);
}
