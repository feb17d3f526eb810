#include "sql/catalog/internal.h"

#include "common/buf.h"

#include <jansson.h>

#define MAX_FIELDS 20000 /* of one collection: far above what a sample is asked for */
#define MAX_PATH   2000	 /* bytes */
#define MAX_DEPTH  100	 /* of a validator, and of BSON */

struct sampled_field {
	str_t path;
	unsigned types, elements;	/* that were seen */
	unsigned ruled, ruled_elements; /* that the validator names */
	bool sure, elements_sure;	/* it takes no others */
	bool has_child;			/* a field below it was seen */
	bool open;
	bool closed;
};

struct sampled_collection {
	struct catalog_relation relation;
	struct hash_map fields; /* by path */
	bool looked_at;		/* documents were seen */
	bool complete;
	bool has_key;  /* its _id */
	bool enforced; /* the validator refuses what does not fit it */
	bool is_open;
	bool is_closed;
};

struct sampled_reader {
	struct catalog_builder builder;
	struct arena *scratch;
	str_t database;
	struct hash_map collections; /* by name */
	bool malformed;
};

static const struct {
	const char *alias;
	unsigned type;
} aliases[] = {
	{ "int", CATALOG_INT },		{ "long", CATALOG_LONG },	    { "double", CATALOG_DOUBLE },
	{ "decimal", CATALOG_DECIMAL }, { "string", CATALOG_STRING },	    { "bool", CATALOG_BOOL },
	{ "date", CATALOG_DATE },	{ "timestamp", CATALOG_TIMESTAMP }, { "objectId", CATALOG_OBJECT_ID },
	{ "object", CATALOG_OBJECT },	{ "binData", CATALOG_BIN_DATA },    { "regex", CATALOG_REGEX },
	{ "null", CATALOG_NULL },	{ "other", CATALOG_OTHER },	    { "array", CATALOG_ARRAY },
};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Of validators, besides: what JSON calls its types, and those of several. */
static unsigned type_of(const char *alias)
{
	if (strcmp(alias, "number") == 0)
		return CATALOG_NUMBER;
	if (strcmp(alias, "boolean") == 0)
		return CATALOG_BOOL;
	for (size_t i = 0; i < COUNT(aliases); i++)
		if (strcmp(alias, aliases[i].alias) == 0)
			return aliases[i].type;
	return CATALOG_OTHER;
}

/* One alias, or a list of them. */
static unsigned types_of(struct sampled_reader *reader, const json_t *types)
{
	unsigned set = 0;
	if (json_is_string(types))
		return type_of(json_string_value(types));
	reader->malformed |= types && !json_is_array(types);
	for (size_t i = 0; i < json_array_size(types); i++) {
		const char *alias = json_string_value(json_array_get(types, i));
		reader->malformed |= !alias;
		set |= alias ? type_of(alias) : 0;
	}
	return set;
}

static str_t text_of(const json_t *value)
{
	return (str_t){ json_string_value(value), json_string_length(value) };
}

/* --- fields --- */

static bool is_path(str_t path)
{
	if (path.len == 0 || path.len > MAX_PATH || path.ptr[0] == '.' || path.ptr[path.len - 1] == '.')
		return false;
	for (size_t i = 1; i < path.len; i++)
		if (path.ptr[i] == '\0' || (path.ptr[i] == '.' && path.ptr[i - 1] == '.'))
			return false;
	return path.ptr[0] != '\0';
}

static str_t parent_of(str_t path)
{
	size_t len = path.len;
	while (len > 0 && path.ptr[len - 1] != '.')
		len--;
	return len > 0 ? (str_t){ path.ptr, len - 1 } : STR_NONE;
}

/* The field, made where it is new, and those above it. NULL: there are too many. */
static struct sampled_field *field_of(struct sampled_reader *reader, struct sampled_collection *collection,
				      str_t path)
{
	struct sampled_field *first = hash_map_get(&collection->fields, path), *field = first;
	for (; !field; field = hash_map_get(&collection->fields, path)) {
		if (collection->fields.count == MAX_FIELDS) {
			collection->is_open = true;
			return NULL;
		}
		struct sampled_field *made = ARENA_NEW(reader->scratch, struct sampled_field);
		made->path = path;
		(void)hash_map_set(&collection->fields, path, made);
		first = first ? first : made;
		path = parent_of(path);
		if (!str_present(path))
			break;
	}
	return first;
}

static void note_child(struct sampled_collection *collection, str_t path)
{
	for (str_t above = parent_of(path); str_present(above); above = parent_of(above)) {
		struct sampled_field *field = hash_map_get(&collection->fields, above);
		if (!field || field->has_child)
			return;
		field->has_child = true;
	}
}

/* A name that no path can have, such as an empty one, is left out: no query names it either. */
static void read_field(struct sampled_reader *reader, struct sampled_collection *collection,
		       const json_t *value)
{
	str_t text = text_of(json_object_get(value, "path"));
	unsigned types = types_of(reader, json_object_get(value, "types"));
	unsigned elements = types_of(reader, json_object_get(value, "elements"));
	reader->malformed |= !json_is_object(value) || !str_present(text);
	if (reader->malformed || !is_path(text))
		return;
	text = arena_str(reader->scratch, text);
	struct sampled_field *field = field_of(reader, collection, text);
	if (!field)
		return;
	field->types |= types;
	field->elements |= elements;
	field->open |= json_is_true(json_object_get(value, "open"));
	note_child(collection, text);
}

/* --- validators --- */

/* A schema, and what it is one of: the documents at `path` (absent: the collection's), or of the elements of
 * the arrays there. */
struct sampled_rule {
	struct sampled_collection *collection;
	str_t path;
	const json_t *schema;
	bool binding; /* what does not fit it is refused */
	bool of_elements;
	unsigned depth;
};

static void read_schema(struct sampled_reader *reader, struct sampled_rule rule);

/* The field of that name below; NULL: there is none that a query could name. */
static struct sampled_field *ruled_field(struct sampled_reader *reader, const struct sampled_rule *rule,
					 str_t name)
{
	str_t path = str_present(rule->path) ? arena_printf(reader->scratch, STR_FMT "." STR_FMT,
							    STR_ARG(rule->path), STR_ARG(name))
					     : arena_str(reader->scratch, name);
	bool plain = is_path(path) && !memchr(name.ptr, '.', name.len);
	return plain ? field_of(reader, rule->collection, path) : NULL;
}

static void read_properties(struct sampled_reader *reader, const struct sampled_rule *rule, bool binding)
{
	const json_t *required = json_object_get(rule->schema, "required");
	json_t *properties = json_object_get(rule->schema, "properties");
	const char *name;
	json_t *schema;
	json_object_foreach(properties, name, schema)
	{
		struct sampled_field *field = ruled_field(reader, rule, str_from(name));
		if (field)
			read_schema(reader, (struct sampled_rule){ .collection = rule->collection,
								   .path = field->path,
								   .schema = schema,
								   .binding = binding,
								   .depth = rule->depth + 1 });
	}
	for (size_t i = 0; i < json_array_size(required); i++) {
		str_t text = text_of(json_array_get(required, i));
		if (str_present(text))
			(void)ruled_field(reader, rule, text);
	}
}

/* What is said by some of several schemas is said of names alone. */
static void read_parts(struct sampled_reader *reader, const struct sampled_rule *rule)
{
	static const char *const several[] = { "allOf", "anyOf", "oneOf" };
	struct sampled_rule part = *rule;
	part.depth++;
	for (size_t i = 0; i < COUNT(several); i++) {
		const json_t *schemas = json_object_get(rule->schema, several[i]);
		part.binding = rule->binding && i == 0;
		for (size_t at = 0; at < json_array_size(schemas); at++) {
			part.schema = json_array_get(schemas, at);
			read_schema(reader, part);
		}
	}
}

static void read_items(struct sampled_reader *reader, const struct sampled_rule *rule, bool binding)
{
	const json_t *items = json_object_get(rule->schema, "items");
	struct sampled_rule part = *rule;
	part.of_elements = true;
	part.depth++;
	part.binding = binding && json_is_object(items);
	part.schema = items;
	if (json_is_object(items))
		read_schema(reader, part);
	for (size_t i = 0; i < json_array_size(items); i++) { /* of those at the beginning alone */
		part.schema = json_array_get(items, i);
		read_schema(reader, part);
	}
}

/* Whether only documents can be there: what is said of their fields is then said of all that paths reach. */
static void take_level(const struct sampled_rule *rule, struct sampled_field *field, bool documents)
{
	const json_t *others = json_object_get(rule->schema, "additionalProperties");
	bool patterns = json_object_size(json_object_get(rule->schema, "patternProperties")) > 0;
	bool closed = documents && json_is_false(others) && !patterns;
	bool open = patterns || json_is_object(others);
	*(field ? &field->closed : &rule->collection->is_closed) |= closed;
	*(field ? &field->open : &rule->collection->is_open) |= open;
}

static unsigned types_that_fit(struct sampled_reader *reader, const json_t *schema)
{
	const json_t *types = json_object_get(schema, "bsonType");
	if (!types)
		types = json_object_get(schema, "type");
	return json_object_get(schema, "encrypt") ? CATALOG_OTHER : types_of(reader, types);
}

static void read_schema(struct sampled_reader *reader, struct sampled_rule rule)
{
	struct sampled_field *field =
		str_present(rule.path) ? hash_map_get(&rule.collection->fields, rule.path) : NULL;
	if (!json_is_object(rule.schema) || rule.depth > MAX_DEPTH)
		return;
	unsigned types = types_that_fit(reader, rule.schema);
	if (field) {
		*(rule.of_elements ? &field->ruled_elements : &field->ruled) |= types;
		*(rule.of_elements ? &field->elements_sure : &field->sure) |= rule.binding && types != 0;
	}
	bool documents = rule.binding && (!field || types == CATALOG_OBJECT);
	take_level(&rule, field, documents);
	read_properties(reader, &rule, documents);
	read_parts(reader, &rule);
	if (field && !rule.of_elements)
		read_items(reader, &rule, rule.binding && types == CATALOG_ARRAY);
}

/* The fields that a filter names, and the schemas in it. */
static void read_filter(struct sampled_reader *reader, struct sampled_collection *collection, json_t *filter,
			bool binding, unsigned depth)
{
	const char *name;
	json_t *value;
	if (depth > MAX_DEPTH)
		return;
	json_object_foreach(filter, name, value)
	{
		bool all = strcmp(name, "$and") == 0;
		if (strcmp(name, "$jsonSchema") == 0)
			read_schema(reader, (struct sampled_rule){ .collection = collection,
								   .schema = value,
								   .binding = binding });
		else if (name[0] != '$' && is_path(str_from(name)))
			(void)field_of(reader, collection, arena_str(reader->scratch, str_from(name)));
		for (size_t i = 0; name[0] == '$' && i < json_array_size(value); i++)
			read_filter(reader, collection, json_array_get(value, i), binding && all, depth + 1);
	}
}

/* --- lines --- */

static str_t text_member(struct sampled_reader *reader, const json_t *line, const char *name)
{
	str_t text = text_of(json_object_get(line, name));
	reader->malformed |= text.len == 0;
	return arena_str(reader->scratch, text);
}

static void read_first_line(struct sampled_reader *reader, const json_t *line)
{
	json_int_t size = json_integer_value(json_object_get(line, "sample_size"));
	reader->malformed |= json_integer_value(json_object_get(line, "format")) != 1 || size < 0;
	reader->database = text_member(reader, line, "database");
	if (reader->malformed)
		return;
	reader->builder.catalog->sample_size = (size_t)size;
	catalog_set_database(&reader->builder, reader->database);
	catalog_add_schema(&reader->builder, reader->database);
	catalog_add_path(&reader->builder, reader->database);
}

/* What the server does where nothing else is said is to refuse. */
static bool is_enforced(const json_t *line)
{
	const char *action = json_string_value(json_object_get(line, "validation_action"));
	const char *level = json_string_value(json_object_get(line, "validation_level"));
	return !(action && strcmp(action, "warn") == 0) && (!level || strcmp(level, "strict") == 0);
}

static void read_collection(struct sampled_reader *reader, const json_t *line)
{
	struct sampled_collection *collection = ARENA_NEW(reader->scratch, struct sampled_collection);
	const json_t *fields = json_object_get(line, "fields");
	str_t name = text_member(reader, line, "collection"), kind = text_member(reader, line, "kind");
	bool is_view = str_is(kind, "view");
	reader->malformed |= !json_is_array(fields);
	if (reader->malformed)
		return;
	collection->relation = (struct catalog_relation){ .schema = reader->database,
							  .name = name,
							  .kind = is_view ? 'v' : 'r',
							  .is_view = is_view,
							  .volatility = 'i',
							  .may_read = true };
	collection->has_key = str_is(kind, "collection");
	collection->looked_at = json_integer_value(json_object_get(line, "sampled")) > 0;
	collection->complete = collection->looked_at && json_is_true(json_object_get(line, "complete"));
	collection->is_open = !collection->looked_at || json_is_true(json_object_get(line, "open"));
	collection->enforced = is_enforced(line);
	hash_map_init(&collection->fields, reader->scratch, json_array_size(fields));
	for (size_t i = 0; i < json_array_size(fields); i++)
		read_field(reader, collection, json_array_get(fields, i));
	read_filter(reader, collection, json_object_get(line, "validator"), collection->enforced, 0);
	reader->malformed |= hash_map_set(&reader->collections, name, collection) != NULL;
}

static bool read_lines(struct sampled_reader *reader, str_t text, struct err_detail *detail)
{
	const char *at = text.ptr ? text.ptr : "", *end = at + text.len;
	size_t number = 1;
	do {
		const char *line_end = at < end ? memchr(at, '\n', (size_t)(end - at)) : NULL;
		line_end = line_end ? line_end : end;
		json_error_t error;
		json_t *line = json_loadb(at, (size_t)(line_end - at), JSON_ALLOW_NUL, &error);
		reader->malformed |= !json_is_object(line);
		if (number == 1)
			read_first_line(reader, line);
		else
			read_collection(reader, line);
		json_decref(line);
		if (reader->malformed) {
			(void)err_fail(detail, ERR_CATALOG_SYNTAX, "catalog: line %zu is malformed", number);
			return false;
		}
		at = line_end + 1;
		number++;
	} while (at < end);
	return true;
}

/* --- what was read --- */

/* Whether fields can be below values of those types, or nobody knows. */
static bool may_hold_fields(unsigned types, unsigned elements)
{
	const unsigned fields = CATALOG_OBJECT | CATALOG_OTHER;
	types &= ~(unsigned)CATALOG_NULL;
	elements &= ~(unsigned)CATALOG_NULL;
	bool in_array = (types & CATALOG_ARRAY) && (elements == 0 || (elements & (fields | CATALOG_ARRAY)));
	return types == 0 || (types & fields) || in_array;
}

static void append_types(struct buf *buf, unsigned types)
{
	const char *between = "";
	for (size_t i = 0; i < COUNT(aliases); i++)
		if (types & aliases[i].type) {
			buf_printf(buf, "%s%s", between, aliases[i].alias);
			between = "|";
		}
}

/* "int|long", "array of string", "string|array of (int|long)"; "" where nothing is known. */
static str_t type_text(const struct catalog_column *column, struct arena *arena)
{
	_cleanup_(buf_free) struct buf buf = BUF_INIT;
	unsigned elements = column->holds & CATALOG_ARRAY ? column->elements : 0;
	bool several = (elements & (elements - 1)) != 0;
	append_types(&buf, column->holds);
	if (elements != 0) {
		buf_append_text(&buf, several ? " of (" : " of ");
		append_types(&buf, elements);
		buf_append_text(&buf, several ? ")" : "");
	}
	return arena_text(arena, buf.len > 0 ? buf.data : "", buf.len);
}

static enum type_category category_of(unsigned types)
{
	switch (types & ~(unsigned)CATALOG_NULL) {
	case CATALOG_STRING:
		return TYPE_TEXT;
	case CATALOG_BOOL:
		return TYPE_BOOLEAN;
	case CATALOG_DATE:
	case CATALOG_TIMESTAMP:
		return TYPE_TEMPORAL;
	case CATALOG_INT:
	case CATALOG_LONG:
	case CATALOG_INT | CATALOG_LONG:
		return TYPE_INTEGER;
	case 0:
		return TYPE_OTHER;
	default:
		return types & ~(unsigned)(CATALOG_NUMBER | CATALOG_NULL) ? TYPE_OTHER : TYPE_NUMERIC;
	}
}

static struct catalog_column column_of(const struct sampled_collection *collection,
				       const struct sampled_field *field, struct arena *arena)
{
	struct catalog_column column = { .name = field->path,
					 .holds = field->types | field->ruled,
					 .elements = field->elements | field->ruled_elements,
					 .is_closed = field->closed };
	bool all_seen = collection->complete && field->types != 0;
	bool ruled = field->sure && (!(field->ruled & CATALOG_ARRAY) || field->elements_sure);
	bool listed = field->has_child && !field->open && !(column.elements & CATALOG_ARRAY);
	column.holds_only = all_seen || ruled;
	column.is_open =
		!field->closed && !listed &&
		(field->open || !collection->looked_at || may_hold_fields(column.holds, column.elements));
	column.category = category_of(column.holds);
	column.type = type_text(&column, arena);
	column.is_key = collection->has_key && str_is(field->path, "_id");
	return column;
}

struct sampled_columns {
	struct catalog_column *items;
	size_t count;
	const struct sampled_collection *collection;
	struct arena *arena;
};

static void add_column(str_t path, void *value, void *context)
{
	struct sampled_columns *columns = context;
	(void)path;
	columns->items[columns->count++] = column_of(columns->collection, value, columns->arena);
}

static int compare_columns(const void *left, const void *right)
{
	const struct catalog_column *a = left, *b = right;
	return str_compare(a->name, b->name);
}

static void add_collection(str_t name, void *value, void *context)
{
	struct sampled_reader *reader = context;
	struct sampled_collection *collection = value;
	struct catalog_relation *relation = &collection->relation;
	struct sampled_columns columns = { .collection = collection, .arena = reader->scratch };
	(void)name;
	if (collection->is_closed) /* the server gives every document one */
		(void)field_of(reader, collection, STR("_id"));
	columns.items = ARENA_ARRAY(reader->scratch, struct catalog_column, collection->fields.count);
	hash_map_each(&collection->fields, add_column, &columns);
	if (columns.count > 1)
		qsort(columns.items, columns.count, sizeof *columns.items, compare_columns);
	relation->columns = columns.items;
	relation->columns_count = columns.count;
	relation->is_closed = collection->is_closed;
	relation->is_open = collection->is_open && !collection->is_closed;
	(void)catalog_add_relation(&reader->builder, *relation, (struct type_list){ 0 });
}

err_t catalog_compile_mongodb(str_t text, struct catalog **ret_catalog, struct err_detail *detail)
{
	struct sampled_reader reader = { 0 };
	catalog_begin(&reader.builder, SQL_MONGODB);
	reader.scratch = reader.builder.scratch;
	hash_map_init(&reader.collections, reader.scratch, 0);
	if (!read_lines(&reader, text, detail)) {
		catalog_abandon(&reader.builder);
		return ERR_CATALOG_SYNTAX;
	}
	hash_map_each(&reader.collections, add_collection, &reader);
	return catalog_finish(&reader.builder, text, ret_catalog, detail);
}
