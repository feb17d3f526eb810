#include "avro/registry/registry_answer.h"

#include "common/terminal.h"

#include <jansson.h>

enum { MESSAGE_BYTES = 200 };

static void release(json_t **json)
{
	json_decref(*json);
}

static err_t parse(str_t body, json_t **ret_json, struct err_detail *detail)
{
	json_error_t error;
	json_t *json = json_loadb(body.ptr ? body.ptr : "", body.len, JSON_REJECT_DUPLICATES, &error);
	if (!json && json_error_code(&error) == json_error_stack_overflow)
		return err_fail(detail, ERR_JSON_SYNTAX, "the answer is JSON that is nested too deeply");
	if (!json)
		return err_fail(detail, ERR_JSON_SYNTAX, "the answer is no JSON: %s", error.text);
	*ret_json = json;
	return ERR_OK;
}

static str_t text_of(const json_t *json)
{
	return json_is_string(json) ? (str_t){ json_string_value(json), json_string_length(json) } : STR_NONE;
}

/* A copy, as the JSON goes, of one line that a terminal shows. */
static str_t excerpt_of(const json_t *json, struct arena *arena)
{
	_cleanup_(buf_free) struct buf shown = BUF_INIT;
	str_t text = text_of(json);
	if (!str_present(text))
		return text;
	terminal_append(&shown, arena_excerpt(arena, text, MESSAGE_BYTES));
	return arena_str(arena, arena_excerpt(arena, buf_str(&shown), MESSAGE_BYTES));
}

static err_t read_references(const json_t *list, struct arena *arena, struct registry_document *document,
			     struct err_detail *detail)
{
	size_t count = json_array_size(list);
	if (list && !json_is_null(list) && !json_is_array(list))
		return err_fail(detail, ERR_JSON_SHAPE, "references are no array");
	if (count > REGISTRY_REFERENCES_MAX)
		return err_fail(detail, ERR_SCHEMA_INCOMPATIBLE, "it has %zu references, more than %d", count,
				REGISTRY_REFERENCES_MAX);
	document->references = ARENA_ARRAY(arena, struct registry_reference, count);
	for (; document->references_count < count; document->references_count++) {
		const json_t *item = json_array_get(list, document->references_count);
		str_t subject = text_of(json_object_get(item, "subject"));
		json_int_t version = json_integer_value(json_object_get(item, "version"));
		if (!str_present(subject) || subject.len == 0 || version <= 0)
			return err_fail(detail, ERR_JSON_SHAPE, "a reference has no subject and version");
		document->references[document->references_count] =
			(struct registry_reference){ arena_str(arena, subject), version };
	}
	return ERR_OK;
}

err_t registry_answer_schema(str_t body, struct arena *arena, struct registry_document *ret_document,
			     struct err_detail *detail)
{
	_cleanup_(release) json_t *json = NULL;
	struct registry_document document = { 0 };
	err_t err = parse(body, &json, detail);
	if (err)
		return err;
	str_t schema = text_of(json_object_get(json, "schema"));
	const char *type = json_string_value(json_object_get(json, "schemaType"));
	if (!str_present(schema))
		return err_fail(detail, ERR_JSON_SHAPE, "the answer has no text \"schema\"");
	if (type && strcmp(type, "AVRO") != 0)
		return err_fail(detail, ERR_SCHEMA_INCOMPATIBLE,
				"it is a schema of the type %.20s; events are read from Avro", type);
	document.schema = arena_str(arena, schema);
	err = read_references(json_object_get(json, "references"), arena, &document, detail);
	if (!err)
		*ret_document = document;
	return err;
}

int64_t registry_answer_error(str_t body, struct arena *arena, str_t *ret_message)
{
	_cleanup_(release) json_t *json = NULL;
	*ret_message = STR_NONE;
	if (parse(body, &json, NULL))
		return 0;
	*ret_message = excerpt_of(json_object_get(json, "message"), arena);
	return json_integer_value(json_object_get(json, "error_code"));
}

int64_t registry_answer_number(str_t body, const char *name)
{
	_cleanup_(release) json_t *json = NULL;
	if (parse(body, &json, NULL))
		return 0;
	json_int_t number = json_integer_value(json_object_get(json, name));
	return number > 0 ? number : 0;
}

bool registry_answer_level(str_t body, const char *level)
{
	_cleanup_(release) json_t *json = NULL;
	return !parse(body, &json, NULL) &&
	       str_is(text_of(json_object_get(json, "compatibilityLevel")), level);
}

err_t registry_answer_compatible(str_t body, struct arena *arena, bool *ret_compatible, str_t *ret_why,
				 struct err_detail *detail)
{
	_cleanup_(release) json_t *json = NULL;
	err_t err = parse(body, &json, detail);
	if (err)
		return err;
	const json_t *compatible = json_object_get(json, "is_compatible");
	if (!json_is_boolean(compatible))
		return err_fail(detail, ERR_JSON_SHAPE, "the answer does not say \"is_compatible\"");
	*ret_compatible = json_is_true(compatible);
	*ret_why = excerpt_of(json_array_get(json_object_get(json, "messages"), 0), arena);
	return ERR_OK;
}
