/*
 * What another JSON parser makes of a text, jansson's: it must accept the same texts and read the same
 * values. Header-only.
 */
#pragma once

#include "avro/json_text.h"

#include <jansson.h>
#include <string.h>

static inline bool json_oracle_same(const struct json_value *value, const json_t *other, struct arena *arena);

static inline bool json_oracle_text(str_t text, const char *other, size_t len)
{
	return text.len == len && memcmp(text.ptr, other, len) == 0;
}

static inline bool json_oracle_number(const struct json_value *value, const json_t *other)
{
	double real = json_real_value(other);
	if (value->kind == JSON_IS_WHOLE)
		return json_is_integer(other) && json_integer_value(other) == value->whole;
	return json_is_real(other) && memcmp(&value->real, &real, sizeof real) == 0;
}

static inline bool json_oracle_items(const struct json_value *value, const json_t *other, struct arena *arena)
{
	const struct json_value *item = value + 1;
	bool same = json_is_array(other) && json_array_size(other) == value->count;
	for (size_t i = 0; same && i < value->count; i++, item = json_value_next(item))
		same = json_oracle_same(item, json_array_get(other, i), arena);
	return same && item == json_value_next(value);
}

static inline bool json_oracle_members(const struct json_value *value, const json_t *other,
				       struct arena *arena)
{
	const struct json_value *name = value + 1;
	bool same = json_is_object(other) && json_object_size(other) == value->count;
	void *member = same ? json_object_iter((json_t *)(uintptr_t)other) : NULL;
	for (; same && member; name = json_value_next(name + 1)) {
		const char *key = json_object_iter_key(member);
		same = !name->escaped && json_oracle_text(name->text, key, strlen(key)) &&
		       json_oracle_same(name + 1, json_object_iter_value(member), arena);
		member = json_object_iter_next((json_t *)(uintptr_t)other, member);
	}
	return same && name == json_value_next(value);
}

static inline bool json_oracle_same(const struct json_value *value, const json_t *other, struct arena *arena)
{
	switch (value->kind) {
	case JSON_IS_NULL:
		return json_is_null(other);
	case JSON_IS_FALSE:
		return json_is_false(other);
	case JSON_IS_TRUE:
		return json_is_true(other);
	case JSON_IS_WHOLE:
	case JSON_IS_REAL:
		return json_oracle_number(value, other);
	case JSON_IS_STRING:
		return json_is_string(other) &&
		       json_oracle_text(json_value_text(value, arena), json_string_value(other),
					json_string_length(other));
	case JSON_IS_ARRAY:
		return json_oracle_items(value, other, arena);
	default:
		return json_oracle_members(value, other, arena);
	}
}

/* Whether both parsers say the same of the text. Ours alone to refuse are texts that are nested too deeply,
 * and a NUL behind a number or a word, which jansson 2.14 does not see. */
static inline bool json_oracle_agrees(str_t json)
{
	struct json_text text;
	struct err_detail detail = { "" };
	json_error_t error;
	err_t err = json_text_parse(json, &text, &detail);
	json_t *other = json_loadb(json.ptr, json.len,
				   JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
	bool ours = err && (strstr(detail.message, "nested deeper") || memchr(json.ptr, '\0', json.len));
	bool agrees = !err == !!other || ours;
	if (!err) {
		struct arena *arena = arena_new();
		agrees = agrees && json_oracle_same(text.values, other, arena);
		arena_free(arena);
		json_text_free(&text);
	}
	if (!agrees)
		fprintf(stderr, "%s\njansson: %s\n", detail.message, other ? "good" : error.text);
	json_decref(other);
	return agrees;
}
