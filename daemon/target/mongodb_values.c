#include "target/mongodb_values.h"

#include "common/base64.h"
#include "sql/mongodb/date.h"

#include <ctype.h>
#include <limits.h>

#define UUID_BYTES	16
#define UUID_SUBTYPE	BSON_SUBTYPE_UUID
#define SUBTYPES	256
#define DECIMAL_DIGITS	60
#define LARGEST_SECONDS UINT32_MAX

struct mongodb_writer {
	int64_t now_ms;
	const struct mongodb_value *wrong;
};

static bool append_value(struct mongodb_writer *writer, bson_t *to, const char *key, int key_len,
			 const struct mongodb_value *value);

static bool append_number(bson_t *to, const char *key, int key_len, const struct mongodb_value *value)
{
	bson_decimal128_t decimal;
	if (strcmp(value->type, "int") == 0)
		return bson_append_int32(to, key, key_len, (int32_t)value->number);
	if (strcmp(value->type, "long") == 0)
		return bson_append_int64(to, key, key_len, strtoll(value->text.ptr, NULL, 10));
	if (strcmp(value->type, "decimal") == 0)
		return bson_decimal128_from_string(value->text.ptr, &decimal) &&
		       bson_append_decimal128(to, key, key_len, &decimal);
	return bson_append_double(to, key, key_len, value->number);
}

static bool append_date(bson_t *to, const char *key, int key_len, const struct mongodb_value *value)
{
	int64_t ms;
	return mongodb_date_ms(value, &ms) && bson_append_date_time(to, key, key_len, ms);
}

static int nibble(char digit)
{
	return isdigit((unsigned char)digit) ? digit - '0' : tolower((unsigned char)digit) - 'a' + 10;
}

static bool append_uuid(bson_t *to, const char *key, int key_len, str_t text)
{
	uint8_t bytes[UUID_BYTES];
	size_t digits = 0;
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '-')
			continue;
		if (!isxdigit((unsigned char)text.ptr[i]) || digits == 2 * sizeof bytes)
			return false;
		uint8_t *byte = &bytes[digits / 2];
		*byte = (uint8_t)(digits % 2 ? *byte << 4 | nibble(text.ptr[i]) : nibble(text.ptr[i]));
		digits++;
	}
	return digits == 2 * sizeof bytes &&
	       bson_append_binary(to, key, key_len, UUID_SUBTYPE, bytes, sizeof bytes);
}

/* "subtype,base64" */
static bool append_binary(bson_t *to, const char *key, int key_len, str_t text)
{
	char *end = NULL;
	const char *comma = memchr(text.ptr, ',', text.len);
	unsigned long subtype = strtoul(text.ptr, &end, 16);
	if (!comma || end != comma || subtype >= SUBTYPES)
		return false;
	_cleanup_(buf_free) struct buf bytes = BUF_INIT;
	str_t encoded = { comma + 1, text.len - (size_t)(comma + 1 - text.ptr) };
	void *data = buf_reserve(&bytes, encoded.len);
	size_t len;
	return base64_read(encoded, encoded.len, data, &len) && len <= UINT32_MAX &&
	       bson_append_binary(to, key, key_len, (bson_subtype_t)subtype, data, (uint32_t)len);
}

/* "seconds,number" */
static bool append_timestamp(bson_t *to, const char *key, int key_len, str_t text)
{
	char *end = NULL;
	unsigned long long seconds = strtoull(text.ptr, &end, 10);
	if (end == text.ptr || *end != ',' || seconds > LARGEST_SECONDS)
		return false;
	const char *number = end + 1;
	unsigned long long increment = strtoull(number, &end, 10);
	return end != number && *end == '\0' && increment <= UINT32_MAX &&
	       bson_append_timestamp(to, key, key_len, (uint32_t)seconds, (uint32_t)increment);
}

static bool append_other(bson_t *to, const char *key, int key_len, const struct mongodb_value *value)
{
	if (strcmp(value->type, "minKey") == 0)
		return bson_append_minkey(to, key, key_len);
	if (strcmp(value->type, "maxKey") == 0)
		return bson_append_maxkey(to, key, key_len);
	if (strcmp(value->type, "uuid") == 0)
		return append_uuid(to, key, key_len, value->text);
	if (strcmp(value->type, "timestamp") == 0)
		return append_timestamp(to, key, key_len, value->text);
	return append_binary(to, key, key_len, value->text);
}

static bool append_members(struct mongodb_writer *writer, bson_t *to, const struct mongodb_value *values)
{
	bool array = values->kind == MONGODB_ARRAY;
	uint32_t index = 0;
	for (const struct mongodb_value *value = values->first; value; value = value->next, index++) {
		char digits[16];
		const char *key = value->key.ptr;
		size_t key_len =
			array ? bson_uint32_to_string(index, &key, digits, sizeof digits) : value->key.len;
		if (key_len > INT_MAX || !append_value(writer, to, key, (int)key_len, value))
			return false;
	}
	return true;
}

static bool append_container(struct mongodb_writer *writer, bson_t *to, const char *key, int key_len,
			     const struct mongodb_value *value)
{
	bson_t child;
	bool array = value->kind == MONGODB_ARRAY;
	bool begun = array ? bson_append_array_begin(to, key, key_len, &child)
			   : bson_append_document_begin(to, key, key_len, &child);
	bool filled = begun && append_members(writer, &child, value);
	bool ended =
		begun && (array ? bson_append_array_end(to, &child) : bson_append_document_end(to, &child));
	return filled && ended;
}

static bool append_simple(const struct mongodb_writer *writer, bson_t *to, const char *key, int key_len,
			  const struct mongodb_value *value)
{
	bson_oid_t id;
	switch (value->kind) {
	case MONGODB_BOOLEAN:
		return bson_append_bool(to, key, key_len, value->number != 0);
	case MONGODB_NUMBER:
		return append_number(to, key, key_len, value);
	case MONGODB_STRING:
		return value->text.len <= INT_MAX &&
		       bson_append_utf8(to, key, key_len, value->text.ptr, (int)value->text.len);
	case MONGODB_REGEX: /* two texts that end with a NUL */
		return !memchr(value->text.ptr, '\0', value->text.len) &&
		       bson_append_regex(to, key, key_len, value->text.ptr, value->options.ptr);
	case MONGODB_OBJECT_ID:
		bson_oid_init_from_string(&id, value->text.ptr);
		return bson_append_oid(to, key, key_len, &id);
	case MONGODB_DATE:
		return append_date(to, key, key_len, value);
	case MONGODB_NOW:
		return bson_append_date_time(to, key, key_len, writer->now_ms);
	case MONGODB_OTHER:
		return append_other(to, key, key_len, value);
	case MONGODB_NULL:
	case MONGODB_DOCUMENT:
	case MONGODB_ARRAY:
		break;
	}
	return bson_append_null(to, key, key_len);
}

static bool append_value(struct mongodb_writer *writer, bson_t *to, const char *key, int key_len,
			 const struct mongodb_value *value)
{
	bool container = value->kind == MONGODB_DOCUMENT || value->kind == MONGODB_ARRAY;
	bool appended = container ? append_container(writer, to, key, key_len, value)
				  : append_simple(writer, to, key, key_len, value);
	if (!appended && !writer->wrong)
		writer->wrong = value;
	return appended;
}

static bool is_refused(const char *name)
{
	static const char *const refused[] = {
		"$out",	      "$merge",	       "$function",	     "$accumulator", "$where",
		"$currentOp", "$listSessions", "$listLocalSessions", "$changeStream"
	};
	for (size_t i = 0; name[0] == '$' && i < sizeof refused / sizeof *refused; i++)
		if (strcmp(name, refused[i]) == 0)
			return true;
	return false;
}

static const char *refused_within(bson_iter_t *members)
{
	const char *found = NULL;
	bson_iter_t child;
	while (!found && bson_iter_next(members)) {
		if (is_refused(bson_iter_key(members)))
			found = bson_iter_key(members);
		else if ((BSON_ITER_HOLDS_DOCUMENT(members) || BSON_ITER_HOLDS_ARRAY(members)) &&
			 bson_iter_recurse(members, &child))
			found = refused_within(&child);
	}
	return found;
}

const char *mongodb_values_refused(const bson_t *document)
{
	bson_iter_t members;
	return bson_iter_init(&members, document) ? refused_within(&members) : NULL;
}

bool mongodb_values_append(bson_t *to, const struct mongodb_value *values, int64_t now_ms,
			   const struct mongodb_value **ret_wrong)
{
	struct mongodb_writer writer = { .now_ms = now_ms };
	bool appended = append_members(&writer, to, values);
	if (!appended)
		*ret_wrong = writer.wrong;
	return appended;
}

bool mongodb_values_append_as(bson_t *to, const char *name, const struct mongodb_value *value, int64_t now_ms,
			      const struct mongodb_value **ret_wrong)
{
	struct mongodb_writer writer = { .now_ms = now_ms };
	bool appended = append_value(&writer, to, name, -1, value);
	if (!appended)
		*ret_wrong = writer.wrong;
	return appended;
}
