#include "avro/json.h"
#include "avro/json_text.h"
#include "avro/timestamp.h"
#include "common/edit_distance.h"
#include "common/utf8.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <strings.h>

#define EXACT_MAX  9007199254740992.0 /* 2^53: whole numbers up to here are exact as doubles */
#define FIELDS_MAX 64u
#define NAME_MAX_  48u /* longer names are not compared for slips */
#define SLIPS_MAX  2u  /* letters by which a slip may differ */
#define PATH_SIZE  160u
#define SHOWN_MAX  40u /* bytes of a text in a message */

/* Where a value stands, as a chain up to the root. */
struct place {
	const struct place *parent;
	str_t name; /* or absent: an item */
	size_t index;
};

struct reader {
	const struct json_limits *limits;
	struct arena *arena;
	struct err_detail *detail;
};

static err_t read_value(struct reader *reader, const struct field *field, const struct json_value *json,
			const struct place *place, void *record);
static err_t read_object(struct reader *reader, const struct record_type *type, const struct json_value *json,
			 const struct place *place, void *record);

/* How many bytes of a text a message shows: no part of a character, so that messages stay UTF-8. */
static int shown(str_t text, size_t most)
{
	const char *end = text.ptr ? memchr(text.ptr, '\0', text.len) : NULL;
	size_t len = end ? (size_t)(end - text.ptr) : text.len;
	return (int)utf8_valid_prefix(text.ptr, len < most ? len : most);
}

static size_t format_place(const struct place *place, char *text, size_t size)
{
	if (!place)
		return 0;
	size_t len = format_place(place->parent, text, size);
	int more = place->name.ptr ? snprintf(text + len, size - len, "%s%.*s", len ? "." : "",
					      shown(place->name, NAME_MAX_), place->name.ptr)
				   : snprintf(text + len, size - len, "[%zu]", place->index);
	size_t end = len + (size_t)more;
	return end < size ? end : size - 1;
}

static bool is_string(const struct json_value *json)
{
	return json->kind == JSON_IS_STRING;
}

static const char *type_of(const struct json_value *json)
{
	switch (json->kind) {
	case JSON_IS_OBJECT:
		return "an object";
	case JSON_IS_ARRAY:
		return "an array";
	case JSON_IS_STRING:
		return "a string";
	case JSON_IS_WHOLE:
	case JSON_IS_REAL:
		return "a number";
	case JSON_IS_NULL:
		return "null";
	default:
		return "a boolean";
	}
}

static err_t refuse(struct reader *reader, const struct place *place, const char *expected,
		    const struct json_value *found)
{
	char path[PATH_SIZE] = "";
	str_t text = is_string(found) ? json_value_text(found, reader->arena) : STR_NONE;
	format_place(place, path, sizeof path);
	return err_fail(reader->detail, ERR_JSON_SHAPE, "%s: expected %s, found %s%s%.*s%s",
			path[0] ? path : "the record", expected, type_of(found), text.ptr ? " \"" : "",
			shown(text, SHOWN_MAX), text.ptr ? text.ptr : "", text.ptr ? "\"" : "");
}

static bool whole_number(const struct json_value *json, int64_t *ret_value)
{
	if (json->kind == JSON_IS_WHOLE) {
		*ret_value = json->whole;
		return true;
	}
	if (json->kind != JSON_IS_REAL || json->real != trunc(json->real) || fabs(json->real) > EXACT_MAX)
		return false;
	*ret_value = (int64_t)json->real;
	return true;
}

static err_t read_long(struct reader *reader, const struct field *field, const struct json_value *json,
		       const struct place *place, void *record)
{
	int64_t value;
	bool time = field->kind == FIELD_TIME;
	if (!whole_number(json, &value) &&
	    !(time && is_string(json) && timestamp_parse(json_value_text(json, reader->arena), &value)))
		return refuse(reader, place,
			      time ? "whole milliseconds since 1970 or a time such as 2026-01-31T12:00:00Z"
				   : "a whole number",
			      json);
	field_set_long(field, record, value);
	return ERR_OK;
}

static err_t read_double(struct reader *reader, const struct field *field, const struct json_value *json,
			 const struct place *place, void *record)
{
	if (json->kind != JSON_IS_WHOLE && json->kind != JSON_IS_REAL)
		return refuse(reader, place, field_nullable(field) ? "a number or null" : "a number", json);
	field_set_double(field, record, json->kind == JSON_IS_REAL ? json->real : (double)json->whole);
	return ERR_OK;
}

static err_t read_bool(struct reader *reader, const struct field *field, const struct json_value *json,
		       const struct place *place, void *record)
{
	if (json->kind != JSON_IS_TRUE && json->kind != JSON_IS_FALSE)
		return refuse(reader, place, "true or false", json);
	field_set_bool(field, record, json->kind == JSON_IS_TRUE);
	return ERR_OK;
}

static err_t read_text(struct reader *reader, const struct field *field, const struct json_value *json,
		       const struct place *place, void *record)
{
	if (!is_string(json))
		return refuse(reader, place, field_nullable(field) ? "a string or null" : "a string", json);
	str_t text = json_value_text(json, reader->arena);
	*(str_t *)field_at(field, record) = json->escaped ? text : arena_str(reader->arena, text);
	return ERR_OK;
}

static int symbol_of(const struct reader *reader, const struct enumeration *symbols, str_t text)
{
	int index = enumeration_find(symbols, text);
	if (index >= 0 || reader->limits->author == JSON_BY_PROGRAM)
		return index;
	for (size_t i = 0; i < symbols->count; i++)
		if (strlen(symbols->symbols[i]) == text.len &&
		    !strncasecmp(symbols->symbols[i], text.ptr, text.len))
			return (int)i;
	return -1;
}

static err_t refuse_symbol(struct reader *reader, const struct field *field, const struct json_value *json,
			   const struct place *place)
{
	char symbols[256] = "one of";
	size_t len = strlen(symbols);
	for (size_t i = 0; i < field->symbols->count && len < sizeof symbols; i++)
		len += (size_t)snprintf(symbols + len, sizeof symbols - len, "%s %s", i ? "," : "",
					field->symbols->symbols[i]);
	return refuse(reader, place, symbols, json);
}

static err_t read_enum(struct reader *reader, const struct field *field, const struct json_value *json,
		       const struct place *place, void *record)
{
	int index = is_string(json) ? symbol_of(reader, field->symbols, json_value_text(json, reader->arena))
				    : -1;
	bool must = reader->limits->author == JSON_BY_PERSON || (field->flags & FIELD_REQUIRED);
	if (index < 0 && (must || !is_string(json)))
		return refuse_symbol(reader, field, json, place);
	if (index < 0)
		field_init(field, record);
	else
		*(int *)field_at(field, record) = index;
	return ERR_OK;
}

static err_t check_count(struct reader *reader, const struct place *place, size_t count)
{
	if (count <= reader->limits->max_items)
		return ERR_OK;
	char path[PATH_SIZE] = "";
	format_place(place, path, sizeof path);
	return err_fail(reader->detail, ERR_AVRO_ITEMS, "%s: %zu items are more than the %zu allowed", path,
			count, reader->limits->max_items);
}

static err_t read_array(struct reader *reader, const struct field *field, const struct json_value *json,
			const struct place *place, void *record)
{
	if (json->kind != JSON_IS_ARRAY)
		return refuse(reader, place, field_nullable(field) ? "an array or null" : "an array", json);
	struct field_items items = { NULL, json->count };
	err_t err = check_count(reader, place, items.count);
	if (err)
		return err;
	items.data = arena_calloc(reader->arena, items.count, field->item_size_bytes);
	const struct json_value *item = json + 1;
	for (size_t i = 0; i < items.count; i++, item = json_value_next(item)) {
		struct place at = { .parent = place, .index = i };
		err = read_value(reader, field->item, item, &at, items.data + i * field->item_size_bytes);
		if (err)
			return err;
	}
	field_set_items(field, record, items);
	return ERR_OK;
}

static err_t read_map(struct reader *reader, const struct field *field, const struct json_value *json,
		      const struct place *place, void *record)
{
	if (json->kind != JSON_IS_OBJECT)
		return refuse(reader, place, "an object", json);
	struct field_items items = { NULL, json->count };
	err_t err = check_count(reader, place, items.count);
	if (err)
		return err;
	items.data = arena_calloc(reader->arena, items.count, field->item_size_bytes);
	char *item = items.data;
	const struct json_value *name = json + 1;
	for (size_t i = 0; i < items.count; i++, name = json_value_next(name + 1)) {
		struct place at = { .parent = place, .name = name->text };
		*(str_t *)(void *)item = arena_str(reader->arena, name->text);
		err = read_value(reader, field->item, name + 1, &at, item);
		if (err)
			return err;
		item += field->item_size_bytes;
	}
	field_set_items(field, record, items);
	return ERR_OK;
}

static err_t read_value(struct reader *reader, const struct field *field, const struct json_value *json,
			const struct place *place, void *record)
{
	if (json->kind == JSON_IS_NULL && !(field->flags & FIELD_REQUIRED)) {
		field_init(field, record);
		return ERR_OK;
	}
	switch (field->kind) {
	case FIELD_BOOL:
		return read_bool(reader, field, json, place, record);
	case FIELD_LONG:
	case FIELD_TIME:
		return read_long(reader, field, json, place, record);
	case FIELD_DOUBLE:
		return read_double(reader, field, json, place, record);
	case FIELD_TEXT:
		return read_text(reader, field, json, place, record);
	case FIELD_ENUM:
		return read_enum(reader, field, json, place, record);
	case FIELD_RECORD:
		if (json->kind != JSON_IS_OBJECT)
			return refuse(reader, place,
				      field_nullable(field) ? "an object or null" : "an object", json);
		return read_object(reader, field->record, json, place,
				   field_make_record(field, record, reader->arena));
	case FIELD_ARRAY:
		return read_array(reader, field, json, place, record);
	default:
		return read_map(reader, field, json, place, record);
	}
}

/* Letters and digits in lower case, so that eventId and event-id are event_id. */
static size_t normalise(str_t name, char text[NAME_MAX_])
{
	size_t len = 0, i = 0;
	for (; i < name.len && len < NAME_MAX_; i++)
		if (isalnum((unsigned char)name.ptr[i]))
			text[len++] = (char)tolower((unsigned char)name.ptr[i]);
	return i < name.len ? NAME_MAX_ : len;
}

/* The field that somebody who wrote `name` may have meant, or NULL. Short names need to be closer. */
static const char *nearly(const struct record_type *type, str_t name)
{
	char wrong[NAME_MAX_], right[NAME_MAX_];
	size_t wrong_len = normalise(name, wrong);
	for (size_t i = 0; i < type->count; i++) {
		size_t right_len = normalise(str_from(type->fields[i].name), right);
		size_t slips = right_len < 6 ? SLIPS_MAX / 2 : SLIPS_MAX;
		if (edit_distance((str_t){ wrong, wrong_len }, (str_t){ right, right_len }) <= slips)
			return type->fields[i].name;
	}
	return NULL;
}

/* Index of the field of that name, or the count; members mostly come in the order of the fields, `next` is
 * the one that is tried first. */
static size_t field_named(const struct record_type *type, str_t name, size_t next)
{
	if (next < type->count && str_is(name, type->fields[next].name))
		return next;
	size_t i = 0;
	while (i < type->count && !str_is(name, type->fields[i].name))
		i++;
	return i;
}

static err_t refuse_slip(struct reader *reader, const struct record_type *type, str_t name,
			 const struct place *place)
{
	char path[PATH_SIZE] = "";
	struct place at = { .parent = place, .name = name };
	const char *meant = nearly(type, name);
	if (!meant)
		return ERR_OK;
	format_place(&at, path, sizeof path);
	return err_fail(reader->detail, ERR_JSON_SHAPE, "%s: unknown field; is \"%s\" meant?", path, meant);
}

/* The value of each field, or NULL. */
static err_t find_fields(struct reader *reader, const struct record_type *type, const struct json_value *json,
			 const struct place *place, const struct json_value *ret_values[FIELDS_MAX])
{
	const struct json_value *name = json + 1;
	err_t err = ERR_OK;
	assert(type->count <= FIELDS_MAX);
	memset(ret_values, 0, type->count * sizeof *ret_values);
	for (size_t i = 0, next = 0; i < json->count && !err; i++, name = json_value_next(name + 1)) {
		size_t field = field_named(type, name->text, next);
		if (field < type->count)
			ret_values[field] = name + 1;
		else if (reader->limits->author == JSON_BY_PERSON)
			err = refuse_slip(reader, type, name->text, place);
		next = field + 1;
	}
	return err;
}

/* Whether the field counts as left out: a person may write null for what has an obvious default. */
static bool left_out(const struct reader *reader, const struct field *field, const struct json_value *value)
{
	bool obvious = reader->limits->author == JSON_BY_PERSON && (field->flags & FIELD_OBVIOUS);
	return !value || (obvious && value->kind == JSON_IS_NULL);
}

static bool may_miss(const struct reader *reader, const struct field *field)
{
	return !(field->flags & FIELD_REQUIRED) ||
	       (reader->limits->author == JSON_BY_PERSON && (field->flags & FIELD_OBVIOUS));
}

static err_t refuse_missing(struct reader *reader, const struct place *place)
{
	char path[PATH_SIZE] = "";
	format_place(place, path, sizeof path);
	return err_fail(reader->detail, ERR_JSON_SHAPE, "%s: the field is missing", path);
}

static err_t read_object(struct reader *reader, const struct record_type *type, const struct json_value *json,
			 const struct place *place, void *record)
{
	const struct json_value *values[FIELDS_MAX];
	err_t err = find_fields(reader, type, json, place, values);
	for (size_t i = 0; i < type->count && !err; i++) {
		const struct field *field = &type->fields[i];
		struct place at = { .parent = place, .name = str_from(field->name) };
		if (!left_out(reader, field, values[i]))
			err = read_value(reader, field, values[i], &at, record);
		else if (!may_miss(reader, field))
			err = refuse_missing(reader, &at);
	}
	return err;
}

err_t json_read(const struct record_type *type, str_t json, const struct json_limits *limits,
		struct arena *arena, void *record, struct err_detail *detail)
{
	struct reader reader = { limits, arena, detail };
	_cleanup_(json_text_free) struct json_text text = { NULL, NULL };
	err_t err = json_text_parse(json, &text, detail);
	if (err)
		return err;
	if (text.values->kind != JSON_IS_OBJECT)
		return refuse(&reader, NULL, "an object", text.values);
	return read_object(&reader, type, text.values, NULL, record);
}
