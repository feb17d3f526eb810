#include "avro/encode.h"

#include "common/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

static err_t put_value(const struct field *field, const void *record, struct buf *out);

/* Zig-zag variable-length integer. Source: Apache Avro specification, "Binary Encoding". */
enum { LONG_SIZE = 10, DOUBLE_SIZE = 8 };

static char *write_long(int64_t value, char *at)
{
	uint64_t left = (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
	for (; left > 0x7f; left >>= 7)
		*at++ = (char)(left | 0x80);
	*at++ = (char)left;
	return at;
}

static char *write_double(double value, char *at)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof bits);
	for (unsigned i = 0; i < DOUBLE_SIZE; i++)
		at[i] = (char)(bits >> (8 * i));
	return at + DOUBLE_SIZE;
}

/* What was written up to there into what buf_reserve gave counts. */
static void put_up_to(const char *end, struct buf *out)
{
	out->len = (size_t)(end - out->data);
	out->data[out->len] = '\0';
}

static void put_long(int64_t value, struct buf *out)
{
	put_up_to(write_long(value, buf_reserve(out, LONG_SIZE)), out);
}

static void put_double(double value, struct buf *out)
{
	put_up_to(write_double(value, buf_reserve(out, DOUBLE_SIZE)), out);
}

static void append_repaired(str_t text, struct buf *out)
{
	while (text.len > 0) {
		size_t valid = utf8_valid_prefix(text.ptr, text.len);
		buf_append(out, text.ptr, valid);
		if (valid == text.len)
			return;
		buf_append_text(out, REPLACEMENT);
		text = (str_t){ text.ptr + valid + 1, text.len - valid - 1 };
	}
}

static void put_text(str_t text, struct buf *out)
{
	_cleanup_(buf_free) struct buf repaired = BUF_INIT;
	if (!utf8_valid(text.ptr, text.len)) {
		append_repaired(text, &repaired);
		text = buf_str(&repaired);
	}
	char *at = write_long((int64_t)text.len, buf_reserve(out, LONG_SIZE + text.len));
	if (text.len > 0)
		memcpy(at, text.ptr, text.len);
	put_up_to(at + text.len, out);
}

static err_t put_enum(const struct field *field, int index, struct buf *out)
{
	if (index < 0 || (size_t)index >= field->symbols->count)
		return ERR_AVRO_CODEC;
	put_long(index, out);
	return ERR_OK;
}

/* Entries of a map of numbers, which records have many of. */
static void put_numbers(const struct field *field, struct field_items items, struct buf *out)
{
	for (size_t i = 0; i < items.count; i++) {
		const void *item = items.data + i * field->item_size_bytes;
		const str_t *key = item;
		if (!utf8_valid(key->ptr, key->len)) {
			put_text(*key, out);
			put_double(field_double(field->item, item), out);
			continue;
		}
		char *at = buf_reserve(out, LONG_SIZE + key->len + DOUBLE_SIZE);
		at = write_long((int64_t)key->len, at);
		if (key->len > 0)
			memcpy(at, key->ptr, key->len);
		put_up_to(write_double(*(const double *)field_in(field->item, item), at + key->len), out);
	}
}

/* All items in one block, then the empty block that ends them. */
static err_t put_items(const struct field *field, const void *record, struct buf *out)
{
	struct field_items items = field_items(field, record);
	if (items.count > 0)
		put_long((int64_t)items.count, out);
	bool numbers =
		field->kind == FIELD_MAP && field->item->kind == FIELD_DOUBLE && !field_nullable(field->item);
	if (numbers)
		put_numbers(field, items, out);
	for (size_t i = 0; !numbers && i < items.count; i++) {
		const void *item = items.data + i * field->item_size_bytes;
		if (field->kind == FIELD_MAP)
			put_text(*(const str_t *)item, out);
		err_t err = put_value(field->item, item, out);
		if (err)
			return err;
	}
	put_long(0, out);
	return ERR_OK;
}

static err_t put_content(const struct field *field, const void *record, struct buf *out)
{
	switch (field->kind) {
	case FIELD_BOOL:
		buf_append_char(out, field_bool(field, record));
		return ERR_OK;
	case FIELD_LONG:
	case FIELD_TIME:
		put_long(field_long(field, record), out);
		return ERR_OK;
	case FIELD_DOUBLE:
		put_double(field_double(field, record), out);
		return ERR_OK;
	case FIELD_TEXT:
		put_text(*(const str_t *)field_in(field, record), out);
		return ERR_OK;
	case FIELD_ENUM:
		return put_enum(field, *(const int *)field_in(field, record), out);
	case FIELD_RECORD:
		return encode_record(field->record, field_record(field, record), out);
	default:
		return put_items(field, record, out);
	}
}

/* A nullable field is a union of null and its content, in this order. */
static err_t put_value(const struct field *field, const void *record, struct buf *out)
{
	if (field_nullable(field)) {
		bool present = field_present(field, record);
		put_long(present, out);
		if (!present)
			return ERR_OK;
	}
	return put_content(field, record, out);
}

err_t encode_record(const struct record_type *type, const void *record, struct buf *out)
{
	for (size_t i = 0; i < type->count; i++) {
		err_t err = put_value(&type->fields[i], record, out);
		if (err)
			return err;
	}
	return ERR_OK;
}

static bool symbols_match(const struct schema_node *node, const struct enumeration *symbols)
{
	if (node->count != symbols->count)
		return false;
	for (size_t i = 0; i < node->count; i++)
		if (!str_is(node->labels[i], symbols->symbols[i]))
			return false;
	return true;
}

static bool field_matches(const struct schema_node *node, const struct field *field)
{
	static const enum schema_type TYPES[] = {
		[FIELD_BOOL] = SCHEMA_BOOLEAN,	[FIELD_LONG] = SCHEMA_LONG,   [FIELD_TIME] = SCHEMA_LONG,
		[FIELD_DOUBLE] = SCHEMA_DOUBLE, [FIELD_TEXT] = SCHEMA_STRING, [FIELD_ENUM] = SCHEMA_ENUM,
		[FIELD_RECORD] = SCHEMA_RECORD, [FIELD_ARRAY] = SCHEMA_ARRAY, [FIELD_MAP] = SCHEMA_MAP,
	};
	if (field_nullable(field)) {
		if (node->type != SCHEMA_UNION || node->count != 2 || node->children[0]->type != SCHEMA_NULL)
			return false;
		node = node->children[1];
	}
	if (node->type != TYPES[field->kind])
		return false;
	switch (field->kind) {
	case FIELD_ENUM:
		return symbols_match(node, field->symbols);
	case FIELD_RECORD:
		return encode_matches(node, field->record);
	case FIELD_ARRAY:
	case FIELD_MAP:
		return field_matches(node->children[0], field->item);
	default:
		return true;
	}
}

bool encode_matches(const struct schema_node *schema, const struct record_type *type)
{
	if (schema->type != SCHEMA_RECORD || schema->count != type->count)
		return false;
	for (size_t i = 0; i < type->count; i++)
		if (!str_is(schema->labels[i], type->fields[i].name) ||
		    !field_matches(schema->children[i], &type->fields[i]))
			return false;
	return true;
}
