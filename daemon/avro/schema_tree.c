#include "avro/schema_tree.h"

#include "avro/canonical.h"
#include "avro/second_opinion.h"
#include "common/arena.h"
#include "common/hash.h"

#include <ctype.h>
#include <jansson.h>

#define DEPTH_MAX 64u
#define NODES_MAX 10000u
#define FIXED_MAX ((json_int_t)1 << 30)

struct schema_parser {
	struct schema *schema;
	struct hash_map names; /* full name → struct schema_node */
	struct err_detail *detail;
};

static const char *const TYPE_NAMES[SCHEMA_TYPE_COUNT_] = {
	[SCHEMA_NULL] = "null",	  [SCHEMA_BOOLEAN] = "boolean", [SCHEMA_INT] = "int",
	[SCHEMA_LONG] = "long",	  [SCHEMA_FLOAT] = "float",	[SCHEMA_DOUBLE] = "double",
	[SCHEMA_BYTES] = "bytes", [SCHEMA_STRING] = "string",	[SCHEMA_RECORD] = "record",
	[SCHEMA_ENUM] = "enum",	  [SCHEMA_ARRAY] = "array",	[SCHEMA_MAP] = "map",
	[SCHEMA_UNION] = "union", [SCHEMA_FIXED] = "fixed",
};

static err_t parse_type(struct schema_parser *parser, const json_t *json, str_t namespace, unsigned depth,
			struct schema_node **ret_node);

DEFINE_CLEANUP(struct schema, schema_cleanup, schema_free)
DEFINE_CLEANUP(json_t, json_cleanup, json_decref)

const char *schema_type_name(enum schema_type type)
{
	return TYPE_NAMES[type];
}

static err_t refuse(struct schema_parser *parser, const char *what, str_t name)
{
	return err_fail(parser->detail, ERR_SCHEMA_INCOMPATIBLE, "the schema is not valid: %s \"%.80s\"",
			what, name.ptr ? name.ptr : "");
}

static str_t json_text(const json_t *json)
{
	return json_is_string(json) ? (str_t){ json_string_value(json), json_string_length(json) } : STR_NONE;
}

static struct schema_node *node_new(struct schema_parser *parser, enum schema_type type)
{
	struct schema_node *node = ARENA_NEW(parser->schema->arena, struct schema_node);
	node->type = type;
	node->number = parser->schema->nodes_count++;
	return node;
}

/* One part of a name: a letter or underscore, then letters, digits and underscores. */
static bool part_valid(str_t part)
{
	if (part.len == 0 || isdigit((unsigned char)part.ptr[0]))
		return false;
	for (size_t i = 0; i < part.len; i++)
		if (!(isalnum((unsigned char)part.ptr[i]) || part.ptr[i] == '_') || (part.ptr[i] & 0x80))
			return false;
	return true;
}

/* Parts joined by dots. */
static bool name_valid(str_t name)
{
	while (name.ptr) {
		const char *dot = memchr(name.ptr, '.', name.len);
		size_t len = dot ? (size_t)(dot - name.ptr) : name.len;
		if (!part_valid((str_t){ name.ptr, len }))
			return false;
		if (!dot)
			return true;
		name = (str_t){ dot + 1, name.len - len - 1 };
	}
	return false;
}

static str_t namespace_of(str_t full_name)
{
	const char *dot = memrchr(full_name.ptr, '.', full_name.len);
	return dot ? (str_t){ full_name.ptr, (size_t)(dot - full_name.ptr) } : STR("");
}

static str_t full_name(struct schema_parser *parser, str_t name, str_t namespace)
{
	struct arena *arena = parser->schema->arena;
	if (namespace.len == 0 || memchr(name.ptr, '.', name.len))
		return arena_str(arena, name);
	return arena_printf(arena, STR_FMT "." STR_FMT, STR_ARG(namespace), STR_ARG(name));
}

static bool primitive(str_t name, enum schema_type *ret_type)
{
	for (int type = SCHEMA_NULL; type <= SCHEMA_STRING; type++)
		if (str_is(name, TYPE_NAMES[type])) {
			*ret_type = (enum schema_type)type;
			return true;
		}
	return false;
}

static err_t parse_reference(struct schema_parser *parser, str_t name, str_t namespace,
			     struct schema_node **ret_node)
{
	enum schema_type type;
	if (primitive(name, &type)) {
		*ret_node = node_new(parser, type);
		(*ret_node)->empty = type == SCHEMA_NULL;
		return ERR_OK;
	}
	if (!name_valid(name))
		return refuse(parser, "not the name of a type", name);
	struct schema_node *known = hash_map_get(&parser->names, full_name(parser, name, namespace));
	if (!known)
		return refuse(parser, "unknown type", name);
	*ret_node = known;
	return ERR_OK;
}

/* Two branches of a union must differ by their type, or by their name where they have one. */
static bool same_branch(const struct schema_node *a, const struct schema_node *b)
{
	return a->type == b->type && str_equal(a->name, b->name);
}

static err_t parse_union(struct schema_parser *parser, const json_t *json, str_t namespace, unsigned depth,
			 struct schema_node **ret_node)
{
	struct schema_node *node = node_new(parser, SCHEMA_UNION);
	size_t count = json_array_size(json);
	node->children = ARENA_ARRAY(parser->schema->arena, struct schema_node *, count);
	for (size_t i = 0; i < count; i++) {
		err_t err =
			parse_type(parser, json_array_get(json, i), namespace, depth + 1, &node->children[i]);
		if (err)
			return err;
		if (node->children[i]->type == SCHEMA_UNION)
			return refuse(parser, "a union directly inside of a", STR("union"));
		for (size_t j = 0; j < i; j++)
			if (same_branch(node->children[i], node->children[j]))
				return refuse(parser, "a union holds twice",
					      str_from(schema_type_name(node->children[i]->type)));
	}
	node->count = count;
	*ret_node = node;
	return ERR_OK;
}

/* Those that could be names; others could not be meant by any writer. `namespace`: of a type's, which are
 * full names; absent for a field's. */
static struct schema_aliases parse_aliases(struct schema_parser *parser, const json_t *json, str_t namespace)
{
	const json_t *list = json_object_get(json, "aliases");
	struct schema_aliases aliases = { NULL, 0 };
	aliases.names = ARENA_ARRAY(parser->schema->arena, str_t, json_array_size(list));
	for (size_t i = 0; i < json_array_size(list); i++) {
		str_t name = json_text(json_array_get(list, i));
		if (name_valid(name))
			aliases.names[aliases.count++] = full_name(parser, name, namespace);
	}
	return aliases;
}

/* The node of a named type, entered under its full name so that its own fields may refer to it. */
static err_t define(struct schema_parser *parser, const json_t *json, enum schema_type type, str_t namespace,
		    struct schema_node **ret_node)
{
	str_t name = json_text(json_object_get(json, "name"));
	const json_t *own = json_object_get(json, "namespace");
	if (json_is_string(own)) {
		namespace = json_text(own);
		parser->schema->unusual |= namespace.len == 0;
	}
	if (!name_valid(name) || (namespace.len > 0 && !name_valid(namespace)))
		return refuse(parser, "not a name:", name);
	struct schema_node *node = node_new(parser, type);
	node->name = full_name(parser, name, namespace);
	node->aliases = parse_aliases(parser, json, namespace_of(node->name));
	enum schema_type reserved;
	if (primitive(node->name, &reserved))
		return refuse(parser, "the name of a primitive type is taken:", name);
	if (hash_map_set(&parser->names, node->name, node))
		return refuse(parser, "defined twice:", name);
	*ret_node = node;
	return ERR_OK;
}

static err_t parse_field(struct schema_parser *parser, const json_t *json, struct schema_node *node,
			 size_t index, struct hash_map *taken, unsigned depth)
{
	str_t name = json_text(json_object_get(json, "name"));
	if (!part_valid(name))
		return refuse(parser, "not the name of a field:", name);
	node->labels[index] = arena_str(parser->schema->arena, name);
	if (hash_map_set(taken, node->labels[index], node))
		return refuse(parser, "a record has two fields", name);
	node->others[index] = parse_aliases(parser, json, STR_NONE);
	const json_t *type = json_object_get(json, "type");
	if (!type)
		return refuse(parser, "no type is given for the field", name);
	return parse_type(parser, type, namespace_of(node->name), depth + 1, &node->children[index]);
}

static err_t parse_record(struct schema_parser *parser, const json_t *json, str_t namespace, unsigned depth,
			  struct schema_node **ret_node)
{
	struct schema_node *node;
	err_t err = define(parser, json, SCHEMA_RECORD, namespace, &node);
	if (err)
		return err;
	const json_t *fields = json_object_get(json, "fields");
	if (!json_is_array(fields))
		return refuse(parser, "no list of fields in", node->name);
	size_t count = json_array_size(fields);
	node->children = ARENA_ARRAY(parser->schema->arena, struct schema_node *, count);
	node->labels = ARENA_ARRAY(parser->schema->arena, str_t, count);
	node->others = ARENA_ARRAY(parser->schema->arena, struct schema_aliases, count);
	bool empty = true;
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	struct hash_map taken;
	hash_map_init(&taken, scratch, 32);
	for (size_t i = 0; i < count; i++) {
		err = parse_field(parser, json_array_get(fields, i), node, i, &taken, depth);
		if (err)
			return err;
		empty = empty && node->children[i]->empty;
	}
	node->count = count;
	node->empty = empty;
	*ret_node = node;
	return ERR_OK;
}

static err_t parse_enum(struct schema_parser *parser, const json_t *json, str_t namespace,
			struct schema_node **ret_node)
{
	struct schema_node *node;
	err_t err = define(parser, json, SCHEMA_ENUM, namespace, &node);
	if (err)
		return err;
	const json_t *symbols = json_object_get(json, "symbols");
	if (!json_is_array(symbols))
		return refuse(parser, "no list of symbols in", node->name);
	size_t count = json_array_size(symbols);
	node->labels = ARENA_ARRAY(parser->schema->arena, str_t, count);
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	struct hash_map taken;
	hash_map_init(&taken, scratch, 32);
	for (size_t i = 0; i < count; i++) {
		str_t symbol = json_text(json_array_get(symbols, i));
		node->labels[i] = arena_str(parser->schema->arena, symbol);
		if (!part_valid(symbol) || hash_map_set(&taken, node->labels[i], node))
			return refuse(parser, "not a symbol, or twice the same:", symbol);
	}
	str_t instead = json_text(json_object_get(json, "default"));
	if (str_present(instead) && hash_map_get(&taken, instead))
		node->instead = arena_str(parser->schema->arena, instead);
	node->count = count;
	*ret_node = node;
	return ERR_OK;
}

static err_t parse_fixed(struct schema_parser *parser, const json_t *json, str_t namespace,
			 struct schema_node **ret_node)
{
	struct schema_node *node;
	err_t err = define(parser, json, SCHEMA_FIXED, namespace, &node);
	if (err)
		return err;
	const json_t *size = json_object_get(json, "size");
	if (!json_is_integer(size) || json_integer_value(size) < 0 || json_integer_value(size) > FIXED_MAX)
		return refuse(parser, "no size, or an impossible one, in", node->name);
	node->size_bytes = (size_t)json_integer_value(size);
	node->empty = node->size_bytes == 0;
	*ret_node = node;
	return ERR_OK;
}

static err_t parse_container(struct schema_parser *parser, const json_t *json, enum schema_type type,
			     str_t namespace, unsigned depth, struct schema_node **ret_node)
{
	const char *key = type == SCHEMA_ARRAY ? "items" : "values";
	const json_t *content = json_object_get(json, key);
	if (!content)
		return refuse(parser, "an array or map without", str_from(key));
	struct schema_node *node = node_new(parser, type);
	node->children = ARENA_NEW(parser->schema->arena, struct schema_node *);
	node->count = 1;
	*ret_node = node;
	return parse_type(parser, content, namespace, depth + 1, &node->children[0]);
}

/* Of a long of that logical type; others, and those of other types, Avro wants to be passed over. */
static int64_t units_per_ms(str_t logical_type)
{
	static const struct {
		const char *name;
		int64_t per_ms;
	} units[] = {
		{ "timestamp-micros", 1000 },
		{ "timestamp-nanos", 1000000 },
		{ "local-timestamp-micros", 1000 },
		{ "local-timestamp-nanos", 1000000 },
	};
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (str_is(logical_type, units[i].name))
			return units[i].per_ms;
	return 0;
}

static err_t parse_object(struct schema_parser *parser, const json_t *json, str_t namespace, unsigned depth,
			  struct schema_node **ret_node)
{
	const json_t *type = json_object_get(json, "type");
	str_t name = json_text(type);
	if (!name.ptr || str_is(name, "error"))
		parser->schema->unusual = true;
	if (!name.ptr)
		return type ? parse_type(parser, type, namespace, depth + 1, ret_node)
			    : refuse(parser, "a type without", STR("type"));
	if (str_is(name, "record") || str_is(name, "error"))
		return parse_record(parser, json, namespace, depth, ret_node);
	if (str_is(name, "enum"))
		return parse_enum(parser, json, namespace, ret_node);
	if (str_is(name, "fixed"))
		return parse_fixed(parser, json, namespace, ret_node);
	if (str_is(name, "array"))
		return parse_container(parser, json, SCHEMA_ARRAY, namespace, depth, ret_node);
	if (str_is(name, "map"))
		return parse_container(parser, json, SCHEMA_MAP, namespace, depth, ret_node);
	err_t err = parse_reference(parser, name, namespace, ret_node);
	if (!err && (*ret_node)->type == SCHEMA_LONG)
		(*ret_node)->per_ms = units_per_ms(json_text(json_object_get(json, "logicalType")));
	return err;
}

static err_t parse_type(struct schema_parser *parser, const json_t *json, str_t namespace, unsigned depth,
			struct schema_node **ret_node)
{
	if (depth > DEPTH_MAX || parser->schema->nodes_count >= NODES_MAX)
		return refuse(parser, "too large or nested too deeply", STR(""));
	if (json_is_string(json))
		return parse_reference(parser, json_text(json), namespace, ret_node);
	if (json_is_array(json))
		return parse_union(parser, json, namespace, depth, ret_node);
	if (json_is_object(json))
		return parse_object(parser, json, namespace, depth, ret_node);
	return refuse(parser, "neither a name nor a definition", STR(""));
}

err_t schema_parse_own(str_t json, struct schema **ret_schema, struct err_detail *detail)
{
	json_error_t error;
	_cleanup_(json_cleanup) json_t *root =
		json_loadb(json.ptr, json.len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error);
	if (!root && json_error_code(&error) == json_error_stack_overflow)
		return err_fail(detail, ERR_JSON_SYNTAX, "the schema is too large or nested too deeply");
	if (!root)
		return err_fail(detail, ERR_JSON_SYNTAX, "the schema is not JSON: line %d: %s", error.line,
				error.text);
	_cleanup_(schema_cleanup) struct schema *schema = calloc(1, sizeof *schema);
	if (!schema)
		abort();
	schema->arena = arena_new();
	struct schema_parser parser = { .schema = schema, .detail = detail };
	hash_map_init(&parser.names, schema->arena, 32);
	err_t err = parse_type(&parser, root, STR(""), 0, &schema->root);
	if (err)
		return err;
	*ret_schema = TAKE_PTR(schema);
	return ERR_OK;
}

err_t schema_parse(str_t json, struct schema **ret_schema, struct err_detail *detail)
{
	_cleanup_(schema_cleanup) struct schema *schema = NULL;
	err_t err = schema_parse_own(json, &schema, detail);
	_cleanup_(buf_free) struct buf canonical = BUF_INIT;
	if (!err && schema->unusual) {
		canonical_form(schema, &canonical);
		json = buf_str(&canonical);
	}
	if (!err)
		err = second_opinion_ask(schema, json, detail);
	if (!err)
		*ret_schema = TAKE_PTR(schema);
	return err;
}

void schema_free(struct schema *schema)
{
	if (!schema)
		return;
	arena_free(schema->arena);
	free(schema);
}
