#include "avro/json.h"
#include "avro/json_quick.h"
#include "avro/timestamp.h"
#include "common/edit_distance.h"
#include "common/utf8.h"

#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <strings.h>

#define DEPTH_MAX 64
#define EXACT_MAX 9007199254740992.0 /* 2^53: whole numbers up to here are exact as doubles */
#define NAME_MAX_ 48u		     /* longer names are not compared for slips */
#define SLIPS_MAX 2u		     /* letters by which a slip may differ */
#define PATH_SIZE 160u
#define SHOWN_MAX 40u /* bytes of a text in a message */

/* Where a value stands, as a chain up to the root. */
struct json_place {
	const struct json_place *parent;
	const char *name; /* NULL: an item */
	size_t index;
};

struct json_reader {
	const struct json_limits *limits;
	struct arena *arena;
	struct err_detail *detail;
};

DEFINE_CLEANUP(json_t, json_cleanup, json_decref)

static err_t read_value(struct json_reader *reader, const struct field *field, const json_t *json,
			const struct json_place *place, void *record);
static err_t read_object(struct json_reader *reader, const struct record_type *type, const json_t *json,
			 const struct json_place *place, void *record);

/* How many bytes of a text a message shows: no part of a character, so that messages stay UTF-8. */
static int shown(const char *text, size_t most)
{
	return (int)utf8_valid_prefix(text, strnlen(text, most));
}

static size_t format_place(const struct json_place *place, char *text, size_t size)
{
	if (!place)
		return 0;
	size_t len = format_place(place->parent, text, size);
	int more = place->name ? snprintf(text + len, size - len, "%s%.*s", len ? "." : "",
					  shown(place->name, NAME_MAX_), place->name)
			       : snprintf(text + len, size - len, "[%zu]", place->index);
	size_t end = len + (size_t)more;
	return end < size ? end : size - 1;
}

/* What to write instead of a text that does not do, or "". */
static const char *mend_of(const struct field *field, const json_t *json)
{
	const char *text = json_string_value(json);
	if (field->kind == FIELD_TEXT && (json_is_number(json) || json_is_boolean(json)))
		return ": put it between quotes";
	if (!text || field->kind == FIELD_TEXT)
		return "";
	if (field->kind == FIELD_BOOL && (!strcasecmp(text, "true") || !strcasecmp(text, "false")))
		return ": write it without quotes, in lower case";
	if (field_nullable(field) && (!*text || !strcasecmp(text, "nan") || !strcasecmp(text, "null")))
		return ": write null";
	return "";
}

static const char *type_of(const json_t *json)
{
	switch (json_typeof(json)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
	case JSON_REAL:
		return "a number";
	case JSON_NULL:
		return "null";
	default:
		return "a boolean";
	}
}

/* `field`: NULL for the record itself. */
static err_t refuse(struct json_reader *reader, const struct field *field, const struct json_place *place,
		    const char *expected, const json_t *found)
{
	char path[PATH_SIZE] = "";
	const char *text = json_is_string(found) ? json_string_value(found) : NULL;
	format_place(place, path, sizeof path);
	return err_fail(reader->detail, ERR_JSON_SHAPE, "%s: expected %s, found %s%s%.*s%s%s",
			path[0] ? path : "the record", expected, type_of(found), text ? " \"" : "",
			text ? shown(text, SHOWN_MAX) : 0, text ? text : "", text ? "\"" : "",
			field ? mend_of(field, found) : "");
}

static str_t text_of(const json_t *json)
{
	return (str_t){ json_string_value(json), json_string_length(json) };
}

/* A text that is a number as JSON has them, and nothing else: programs whose numbers are narrower send wide
 * ones so. The number, which is the caller's, or NULL. */
static json_t *number_in(const json_t *json)
{
	str_t text = json_is_string(json) ? text_of(json) : STR_NONE;
	if (text.len == 0 || !(text.ptr[0] == '-' || isdigit((unsigned char)text.ptr[0])) ||
	    !isdigit((unsigned char)text.ptr[text.len - 1]))
		return NULL;
	json_t *number = json_loadb(text.ptr, text.len, JSON_DECODE_ANY, NULL);
	if (number && !json_is_number(number)) {
		json_decref(number);
		return NULL;
	}
	return number;
}

static bool whole_number(const json_t *json, int64_t *ret_value)
{
	_cleanup_(json_cleanup) json_t *sent = number_in(json);
	if (sent)
		json = sent;
	if (json_is_integer(json)) {
		*ret_value = json_integer_value(json);
		return true;
	}
	double value = json_real_value(json);
	if (!json_is_real(json) || value != trunc(value) || fabs(value) > EXACT_MAX)
		return false;
	*ret_value = (int64_t)value;
	return true;
}

static err_t read_long(struct json_reader *reader, const struct field *field, const json_t *json,
		       const struct json_place *place, void *record)
{
	int64_t value;
	bool time = field->kind == FIELD_TIME;
	if (!whole_number(json, &value) &&
	    !(time && json_is_string(json) && timestamp_parse(text_of(json), &value)))
		return refuse(reader, field, place,
			      time ? "whole milliseconds since 1970 or a time such as 2026-01-31T12:00:00Z"
				   : "a whole number",
			      json);
	field_set_long(field, record, value);
	return ERR_OK;
}

static err_t read_double(struct json_reader *reader, const struct field *field, const json_t *json,
			 const struct json_place *place, void *record)
{
	_cleanup_(json_cleanup) json_t *sent = number_in(json);
	const json_t *number = sent ? sent : json;
	if (!json_is_number(number))
		return refuse(reader, field, place, field_nullable(field) ? "a number or null" : "a number",
			      json);
	field_set_double(field, record, json_number_value(number));
	return ERR_OK;
}

static err_t read_bool(struct json_reader *reader, const struct field *field, const json_t *json,
		       const struct json_place *place, void *record)
{
	if (!json_is_boolean(json))
		return refuse(reader, field, place, "true or false", json);
	field_set_bool(field, record, json_is_true(json));
	return ERR_OK;
}

static err_t read_text(struct json_reader *reader, const struct field *field, const json_t *json,
		       const struct json_place *place, void *record)
{
	if (!json_is_string(json))
		return refuse(reader, field, place, field_nullable(field) ? "a string or null" : "a string",
			      json);
	*(str_t *)field_at(field, record) = arena_str(reader->arena, text_of(json));
	return ERR_OK;
}

static int symbol_of(const struct json_reader *reader, const struct enumeration *symbols, str_t text)
{
	int index = field_enumeration_find(symbols, text);
	if (index >= 0 || reader->limits->author == JSON_BY_PROGRAM)
		return index;
	for (size_t i = 0; i < symbols->count; i++)
		if (strlen(symbols->symbols[i]) == text.len && !strcasecmp(symbols->symbols[i], text.ptr))
			return (int)i;
	return -1;
}

static err_t refuse_symbol(struct json_reader *reader, const struct field *field, const json_t *json,
			   const struct json_place *place)
{
	char symbols[256] = "one of";
	size_t len = strlen(symbols);
	for (size_t i = 0; i < field->symbols->count && len < sizeof symbols; i++)
		len += (size_t)snprintf(symbols + len, sizeof symbols - len, "%s %s", i ? "," : "",
					field->symbols->symbols[i]);
	return refuse(reader, field, place, symbols, json);
}

static err_t read_enum(struct json_reader *reader, const struct field *field, const json_t *json,
		       const struct json_place *place, void *record)
{
	int index = json_is_string(json) ? symbol_of(reader, field->symbols, text_of(json)) : -1;
	bool must = reader->limits->author == JSON_BY_PERSON || (field->flags & FIELD_REQUIRED);
	if (index < 0 && (must || !json_is_string(json)))
		return refuse_symbol(reader, field, json, place);
	if (index < 0)
		field_set_unknown(field, record, text_of(json), reader->arena);
	else
		*(int *)field_at(field, record) = index;
	return ERR_OK;
}

static err_t check_count(struct json_reader *reader, const struct json_place *place, size_t count)
{
	if (count <= reader->limits->max_items)
		return ERR_OK;
	char path[PATH_SIZE] = "";
	format_place(place, path, sizeof path);
	return err_fail(reader->detail, ERR_AVRO_ITEMS, "%s: %zu items are more than the %zu allowed", path,
			count, reader->limits->max_items);
}

static err_t read_array(struct json_reader *reader, const struct field *field, const json_t *json,
			const struct json_place *place, void *record)
{
	if (!json_is_array(json))
		return refuse(reader, field, place, field_nullable(field) ? "an array or null" : "an array",
			      json);
	struct field_items items = { NULL, json_array_size(json) };
	err_t err = check_count(reader, place, items.count);
	if (err)
		return err;
	items.data = arena_calloc(reader->arena, items.count, field->item_size_bytes);
	for (size_t i = 0; i < items.count; i++) {
		struct json_place at = { .parent = place, .index = i };
		err = read_value(reader, field->item, json_array_get(json, i), &at,
				 items.data + i * field->item_size_bytes);
		if (err)
			return err;
	}
	field_set_items(field, record, items);
	return ERR_OK;
}

static err_t read_map(struct json_reader *reader, const struct field *field, const json_t *json,
		      const struct json_place *place, void *record)
{
	if (!json_is_object(json))
		return refuse(reader, field, place, "an object", json);
	struct field_items items = { NULL, json_object_size(json) };
	err_t err = check_count(reader, place, items.count);
	if (err)
		return err;
	items.data = arena_calloc(reader->arena, items.count, field->item_size_bytes);
	char *item = items.data;
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)(uintptr_t)json, key, value)
	{
		struct json_place at = { .parent = place, .name = key };
		str_t name = str_from(key);
		*(str_t *)(void *)item = arena_str(reader->arena, name);
		err = read_value(reader, field->item, value, &at, item);
		if (err)
			return err;
		item += field->item_size_bytes;
	}
	field_set_items(field, record, items);
	return ERR_OK;
}

static err_t read_value(struct json_reader *reader, const struct field *field, const json_t *json,
			const struct json_place *place, void *record)
{
	if (json_is_null(json) && !(field->flags & FIELD_REQUIRED)) {
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
		if (!json_is_object(json))
			return refuse(reader, field, place,
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
static size_t normalise(const char *name, char text[NAME_MAX_])
{
	size_t len = 0;
	for (; *name && len < NAME_MAX_; name++)
		if (isalnum((unsigned char)*name))
			text[len++] = (char)tolower((unsigned char)*name);
	return *name ? NAME_MAX_ : len;
}

/* Whether `name` may be meant for the field of the other name. Short names need to be closer. */
static bool is_nearly(const char *name, const char *field)
{
	char wrong[NAME_MAX_], right[NAME_MAX_];
	size_t wrong_len = normalise(name, wrong), right_len = normalise(field, right);
	size_t slips = right_len < 6 ? SLIPS_MAX / 2 : SLIPS_MAX;
	return edit_distance((str_t){ wrong, wrong_len }, (str_t){ right, right_len }) <= slips;
}

/* The field that somebody who wrote `name` may have meant, or NULL. */
static const char *nearly(const struct record_type *type, const char *name)
{
	for (size_t i = 0; i < type->count; i++)
		if (is_nearly(name, type->fields[i].name))
			return type->fields[i].name;
	return NULL;
}

static bool known(const struct record_type *type, const char *name)
{
	for (size_t i = 0; i < type->count; i++)
		if (strcmp(type->fields[i].name, name) == 0)
			return true;
	return false;
}

static err_t refuse_slips(struct json_reader *reader, const struct record_type *type, const json_t *json,
			  const struct json_place *place)
{
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)(uintptr_t)json, key, value)
	{
		const char *meant = known(type, key) ? NULL : nearly(type, key);
		if (!meant)
			continue;
		struct json_place at = { .parent = place, .name = key };
		char path[PATH_SIZE] = "";
		format_place(&at, path, sizeof path);
		return err_fail(reader->detail, ERR_JSON_SHAPE, "%s: unknown field; is \"%s\" meant?", path,
				meant);
	}
	return ERR_OK;
}

/* Whether the field counts as left out: a person may write null for what has an obvious default. */
static bool left_out(const struct json_reader *reader, const struct field *field, const json_t *value)
{
	bool obvious = reader->limits->author == JSON_BY_PERSON && (field->flags & FIELD_OBVIOUS);
	return !value || (obvious && json_is_null(value));
}

static bool may_miss(const struct json_reader *reader, const struct field *field)
{
	return !(field->flags & FIELD_REQUIRED) ||
	       (reader->limits->author == JSON_BY_PERSON && (field->flags & FIELD_OBVIOUS));
}

/* A field of the object that is none of the record's, and nearly of that name; or NULL. */
static const char *written_for(const struct record_type *type, const json_t *json, const char *field)
{
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)(uintptr_t)json, key,
			    value) if (!known(type, key) && is_nearly(key, field)) return key;
	return NULL;
}

static err_t refuse_missing(struct json_reader *reader, const struct record_type *type, const json_t *json,
			    const struct json_place *place)
{
	char path[PATH_SIZE] = "";
	const char *written = written_for(type, json, place->name);
	format_place(place, path, sizeof path);
	if (written)
		return err_fail(reader->detail, ERR_JSON_SHAPE,
				"%s: the field is missing; there is \"%.*s\": name it %s", path,
				shown(written, NAME_MAX_), written, place->name);
	return err_fail(reader->detail, ERR_JSON_SHAPE, "%s: the field is missing", path);
}

static err_t read_object(struct json_reader *reader, const struct record_type *type, const json_t *json,
			 const struct json_place *place, void *record)
{
	err_t err =
		reader->limits->author == JSON_BY_PERSON ? refuse_slips(reader, type, json, place) : ERR_OK;
	for (size_t i = 0; i < type->count && !err; i++) {
		const struct field *field = &type->fields[i];
		const json_t *value = json_object_get(json, field->name);
		struct json_place at = { .parent = place, .name = field->name };
		if (!left_out(reader, field, value))
			err = read_value(reader, field, value, &at, record);
		else if (!may_miss(reader, field))
			err = refuse_missing(reader, type, json, &at);
	}
	return err;
}

/* Deepest nesting of brackets outside of strings: bounded before the parser recurses into it. */
static bool too_deep(str_t json)
{
	int depth = 0;
	bool quoted = false;
	for (size_t i = 0; i < json.len; i++) {
		char byte = json.ptr[i];
		if (quoted && byte == '\\')
			i++;
		else if (byte == '"')
			quoted = !quoted;
		else if (!quoted && (byte == '{' || byte == '['))
			depth++;
		else if (!quoted && (byte == '}' || byte == ']'))
			depth--;
		if (depth > DEPTH_MAX)
			return true;
	}
	return false;
}

static bool is_blank(str_t json)
{
	size_t i = 0;
	while (i < json.len && strchr(" \t\r\n", json.ptr[i]) && json.ptr[i])
		i++;
	return i == json.len;
}

static err_t refuse_text(const json_error_t *error, struct err_detail *detail)
{
	enum json_error_code code = json_error_code(error);
	err_t err = code == json_error_invalid_utf8	  ? ERR_TEXT_ENCODING
		    : code == json_error_numeric_overflow ? ERR_JSON_SHAPE
							  : ERR_JSON_SYNTAX;
	char line[32] = "";
	if (error->line > 1)
		snprintf(line, sizeof line, "line %d, ", error->line);
	return err_fail(detail, err, "%scolumn %d: %.*s", line, error->column,
			shown(error->text, sizeof error->text), error->text);
}

err_t json_read_slowly(const struct record_type *type, str_t json, const struct json_limits *limits,
		       struct arena *arena, void *record, struct err_detail *detail)
{
	struct json_reader reader = { limits, arena, detail };
	json_error_t error;
	if (is_blank(json))
		return err_fail(detail, ERR_JSON_SYNTAX, "the text is empty; expected an object, { … }");
	if (too_deep(json))
		return err_fail(detail, ERR_JSON_SYNTAX, "the JSON is nested deeper than %d levels",
				DEPTH_MAX);
	_cleanup_(json_cleanup) json_t *root = json_loadb(
		json.ptr, json.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY, &error);
	if (!root)
		return refuse_text(&error, detail);
	if (!json_is_object(root))
		return refuse(&reader, NULL, NULL, "an object", root);
	return read_object(&reader, type, root, NULL, record);
}

err_t json_read(const struct record_type *type, str_t json, const struct json_limits *limits,
		struct arena *arena, void *record, struct err_detail *detail)
{
	if (limits->author == JSON_BY_PROGRAM) {
		if (json_read_quickly(type, json, limits, arena, record))
			return ERR_OK;
		fields_init(type, record);
	}
	return json_read_slowly(type, json, limits, arena, record, detail);
}
