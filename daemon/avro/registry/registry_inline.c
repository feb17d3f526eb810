#include "avro/registry/registry_inline.h"

#include "common/hash.h"

#include <jansson.h>

enum { DEPTH_MAX = 128 };

/* What is known of a type. */
struct definition {
	json_t *json;
	bool written;
};

struct inliner {
	struct arena *arena;
	struct hash_map definitions; /* by full name */
	struct err_detail *detail;
};

static err_t too_deep(const struct inliner *inliner)
{
	return err_fail(inliner->detail, ERR_SCHEMA_INCOMPATIBLE, "the schema is nested too deeply");
}

static bool is_named(const char *type)
{
	return strcmp(type, "record") == 0 || strcmp(type, "error") == 0 || strcmp(type, "enum") == 0 ||
	       strcmp(type, "fixed") == 0;
}

static bool is_primitive(const char *type)
{
	static const char *const primitives[] = { "null",  "boolean", "int",   "long",
						  "float", "double",  "bytes", "string" };
	for (size_t i = 0; i < sizeof primitives / sizeof *primitives; i++)
		if (strcmp(type, primitives[i]) == 0)
			return true;
	return false;
}

static str_t full_name(struct arena *arena, const char *name, str_t space)
{
	if (strchr(name, '.') || space.len == 0)
		return str_from(arena_strdup(arena, name));
	return arena_printf(arena, STR_FMT ".%s", STR_ARG(space), name);
}

static str_t space_of(str_t name)
{
	const char *dot = name.len ? memrchr(name.ptr, '.', name.len) : NULL;
	return (str_t){ name.ptr, dot ? (size_t)(dot - name.ptr) : 0 };
}

/* ---- every type under its full name ---- */

static err_t name_types(struct inliner *inliner, json_t *json, str_t space, unsigned depth);

/* What refers to a type of the text says its full name. */
static err_t name_member(struct inliner *inliner, json_t *json, const char *key, str_t space, unsigned depth)
{
	json_t *type = json_object_get(json, key);
	const char *name = json_string_value(type);
	if (!name || is_primitive(name))
		return type ? name_types(inliner, type, space, depth + 1) : ERR_OK;
	json_object_set_new(json, key, json_string(full_name(inliner->arena, name, space).ptr));
	return ERR_OK;
}

static err_t define(struct inliner *inliner, json_t *json, str_t *space)
{
	const char *name = json_string_value(json_object_get(json, "name"));
	const char *own = json_string_value(json_object_get(json, "namespace"));
	if (!name || !*name)
		return err_fail(inliner->detail, ERR_SCHEMA_INCOMPATIBLE, "a type has no name");
	str_t full = full_name(inliner->arena, name, own ? str_from(own) : *space);
	struct definition *definition = ARENA_NEW(inliner->arena, struct definition);
	*definition = (struct definition){ json, false };
	if (hash_map_get(&inliner->definitions, full))
		return err_fail(inliner->detail, ERR_SCHEMA_INCOMPATIBLE,
				"the type %.100s is defined twice, by it and what it refers to", full.ptr);
	hash_map_set(&inliner->definitions, full, definition);
	*space = space_of(full);
	json_object_set_new(json, "name", json_string(full.ptr));
	if (space->len == 0)
		json_object_set_new(json, "namespace", json_string(""));
	else
		json_object_del(json, "namespace");
	return ERR_OK;
}

static err_t name_object(struct inliner *inliner, json_t *json, str_t space, unsigned depth)
{
	const char *type = json_string_value(json_object_get(json, "type"));
	json_t *fields = json_object_get(json, "fields");
	err_t err = ERR_OK;
	if (type && is_named(type)) {
		err = define(inliner, json, &space);
		for (size_t i = 0; !err && i < json_array_size(fields); i++)
			err = name_member(inliner, json_array_get(fields, i), "type", space, depth + 1);
		return err;
	}
	if (type && strcmp(type, "array") == 0)
		return name_member(inliner, json, "items", space, depth);
	if (type && strcmp(type, "map") == 0)
		return name_member(inliner, json, "values", space, depth);
	return name_member(inliner, json, "type", space, depth);
}

static err_t name_types(struct inliner *inliner, json_t *json, str_t space, unsigned depth)
{
	err_t err = ERR_OK;
	if (depth > DEPTH_MAX)
		return too_deep(inliner);
	if (json_is_object(json))
		return name_object(inliner, json, space, depth);
	for (size_t i = 0; !err && i < json_array_size(json); i++) {
		const char *name = json_string_value(json_array_get(json, i));
		if (name && !is_primitive(name))
			json_array_set_new(json, i, json_string(full_name(inliner->arena, name, space).ptr));
		else
			err = name_types(inliner, json_array_get(json, i), space, depth + 1);
	}
	return err;
}

/* ---- definitions where they are used first ---- */

static err_t place(struct inliner *inliner, json_t *json, unsigned depth);

/* The definition in place of the name; the name in place of a definition that stands further up already. */
static err_t place_member(struct inliner *inliner, json_t *holder, const char *key, size_t index,
			  unsigned depth)
{
	json_t *type = key ? json_object_get(holder, key) : json_array_get(holder, index);
	const char *name = json_string_value(type);
	const char *kind = json_string_value(json_object_get(type, "type"));
	if (kind && is_named(kind))
		name = json_string_value(json_object_get(type, "name"));
	struct definition *definition = name ? hash_map_get(&inliner->definitions, str_from(name)) : NULL;
	if (!definition)
		return type ? place(inliner, type, depth + 1) : ERR_OK;
	bool first = !definition->written;
	definition->written = true;
	json_t *now = first ? json_incref(definition->json) : json_string(name);
	err_t err = first ? place(inliner, now, depth + 1) : ERR_OK;
	if (key)
		json_object_set_new(holder, key, now);
	else
		json_array_set_new(holder, index, now);
	return err;
}

static err_t place(struct inliner *inliner, json_t *json, unsigned depth)
{
	json_t *fields = json_object_get(json, "fields");
	const char *type = json_string_value(json_object_get(json, "type"));
	err_t err = ERR_OK;
	if (depth > DEPTH_MAX)
		return too_deep(inliner);
	for (size_t i = 0; !err && i < json_array_size(json); i++)
		err = place_member(inliner, json, NULL, i, depth);
	if (err || !json_is_object(json))
		return err;
	if (type && is_named(type)) {
		for (size_t i = 0; !err && i < json_array_size(fields); i++)
			err = place_member(inliner, json_array_get(fields, i), "type", 0, depth);
		return err;
	}
	if (type && strcmp(type, "array") == 0)
		return place_member(inliner, json, "items", 0, depth);
	if (type && strcmp(type, "map") == 0)
		return place_member(inliner, json, "values", 0, depth);
	return place_member(inliner, json, "type", 0, depth);
}

/* ---- all of it ---- */

static err_t inline_all(struct inliner *inliner, json_t **schemas, const str_t *texts, size_t count,
			struct buf *out)
{
	err_t err = ERR_OK;
	json_t *holder = json_array();
	for (size_t i = 0; !err && i < count; i++) {
		json_error_t error;
		schemas[i] = json_loadb(texts[i].ptr, texts[i].len, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES,
					&error);
		if (!schemas[i] && json_error_code(&error) == json_error_stack_overflow)
			err = too_deep(inliner);
		else
			err = schemas[i] ? name_types(inliner, schemas[i], STR_NONE, 0)
					 : err_fail(inliner->detail, ERR_JSON_SYNTAX,
						    "the schema is no JSON: %s", error.text);
	}
	if (!err) {
		json_array_append(holder, schemas[0]);
		err = place_member(inliner, holder, NULL, 0, 0);
	}
	char *text = err ? NULL : json_dumps(json_array_get(holder, 0), JSON_ENCODE_ANY | JSON_COMPACT);
	if (text)
		buf_append_text(out, text);
	else if (!err)
		err = err_fail(inliner->detail, ERR_SCHEMA_INCOMPATIBLE, "the schema refers to itself");
	free(text);
	json_decref(holder);
	return err;
}

err_t registry_inline(const str_t *texts, size_t count, struct buf *out, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct inliner inliner = { .arena = arena, .detail = detail };
	json_t **schemas = ARENA_ARRAY(arena, json_t *, count);
	hash_map_init(&inliner.definitions, arena, 64);
	err_t err = inline_all(&inliner, schemas, texts, count, out);
	for (size_t i = 0; i < count; i++)
		json_decref(schemas[i]);
	return err;
}
