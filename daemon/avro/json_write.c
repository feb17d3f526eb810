#include "avro/json.h"
#include "avro/json_text.h"
#include "common/decimal.h"
#include "common/utf8.h"

#include <math.h>

static void write_field(struct buf *out, const struct field *field, const void *record);

static const char *short_escape(char byte)
{
	switch (byte) {
	case '"':
		return "\\\"";
	case '\\':
		return "\\\\";
	case '\n':
		return "\\n";
	case '\r':
		return "\\r";
	case '\t':
		return "\\t";
	case '\b':
		return "\\b";
	case '\f':
		return "\\f";
	default:
		return NULL;
	}
}

static void write_escaped(struct buf *out, str_t text)
{
	for (;;) {
		size_t plain = json_plain_prefix(text.ptr, text.len);
		buf_append(out, text.ptr, plain);
		if (plain == text.len)
			return;
		const char *escape = short_escape(text.ptr[plain]);
		if (escape)
			buf_append_text(out, escape);
		else
			buf_printf(out, "\\u%04x", (unsigned)text.ptr[plain]);
		text = (str_t){ text.ptr + plain + 1, text.len - plain - 1 };
	}
}

static void write_text(struct buf *out, str_t text)
{
	buf_append_char(out, '"');
	while (text.len > 0) {
		size_t valid = utf8_valid_prefix(text.ptr, text.len);
		write_escaped(out, (str_t){ text.ptr, valid });
		if (valid == text.len)
			break;
		buf_append_text(out, "\\ufffd");
		text = (str_t){ text.ptr + valid + 1, text.len - valid - 1 };
	}
	buf_append_char(out, '"');
}

static void write_integer(struct buf *out, int64_t value)
{
	out->len += decimal_write_integer(value, buf_reserve(out, DECIMAL_SIZE));
}

static void write_double(struct buf *out, double value)
{
	if (!isfinite(value))
		buf_append_text(out, "null");
	else if (fpclassify(value) == FP_ZERO && signbit(value)) /* "-0" would be read as the integer 0 */
		buf_append_text(out, "-0.0");
	else
		out->len += decimal_write(value, buf_reserve(out, DECIMAL_SIZE));
}

static void write_items(struct buf *out, const struct field *field, const void *record)
{
	struct field_items items = field_items(field, record);
	bool map = field->kind == FIELD_MAP;
	buf_append_char(out, map ? '{' : '[');
	for (size_t i = 0; i < items.count; i++) {
		const void *item = items.data + i * field->item_size_bytes;
		if (i)
			buf_append_char(out, ',');
		if (map) {
			write_text(out, *(const str_t *)item);
			buf_append_char(out, ':');
		}
		write_field(out, field->item, item);
	}
	buf_append_char(out, map ? '}' : ']');
}

static void write_enum(struct buf *out, const struct field *field, int index)
{
	if (index < 0 || (size_t)index >= field->symbols->count)
		buf_append_text(out, "null");
	else
		write_text(out, str_from(field->symbols->symbols[index]));
}

static void write_field(struct buf *out, const struct field *field, const void *record)
{
	if (!field_present(field, record)) {
		buf_append_text(out, "null");
		return;
	}
	switch (field->kind) {
	case FIELD_BOOL:
		buf_append_text(out, field_bool(field, record) ? "true" : "false");
		break;
	case FIELD_LONG:
	case FIELD_TIME:
		write_integer(out, field_long(field, record));
		break;
	case FIELD_DOUBLE:
		write_double(out, field_double(field, record));
		break;
	case FIELD_TEXT:
		write_text(out, *(const str_t *)field_in(field, record));
		break;
	case FIELD_ENUM:
		write_enum(out, field, *(const int *)field_in(field, record));
		break;
	case FIELD_RECORD:
		json_write(field->record, field_record(field, record), out);
		break;
	default:
		write_items(out, field, record);
	}
}

/* Names of fields are those of Avro: letters, digits and underscores. */
static void write_name(struct buf *out, char before, const char *name)
{
	size_t len = strlen(name);
	char *to = buf_reserve(out, len + 4);
	to[0] = before;
	to[1] = '"';
	memcpy(to + 2, name, len);
	memcpy(to + 2 + len, "\":", sizeof "\":");
	out->len += len + 4;
}

void json_write(const struct record_type *type, const void *record, struct buf *out)
{
	for (size_t i = 0; i < type->count; i++) {
		write_name(out, i ? ',' : '{', type->fields[i].name);
		write_field(out, &type->fields[i], record);
	}
	buf_append_char(out, '}');
}
