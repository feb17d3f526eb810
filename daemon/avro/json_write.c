#include "avro/json.h"
#include "common/utf8.h"

#include <ctype.h>
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

/* Bytes that JSON cannot have in a string as they are. */
static bool needs_escape(char byte)
{
	return (unsigned char)byte < 0x20 || byte == '"' || byte == '\\';
}

static void write_escaped(struct buf *out, str_t text)
{
	size_t done = 0;
	for (size_t i = 0; i < text.len; i++) {
		if (!needs_escape(text.ptr[i]))
			continue;
		buf_append(out, text.ptr + done, i - done);
		const char *escape = short_escape(text.ptr[i]);
		if (escape)
			buf_append_text(out, escape);
		else
			buf_printf(out, "\\u%04x", (unsigned)text.ptr[i]);
		done = i + 1;
	}
	buf_append(out, text.ptr + done, text.len - done);
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

/* What stands between the digits is the locale's decimal point, whatever its bytes. */
static void write_number(struct buf *out, const char *text)
{
	bool point = false;
	for (; *text; text++) {
		if (isdigit((unsigned char)*text) || strchr("+-e", *text)) {
			buf_append_char(out, *text);
			continue;
		}
		if (!point)
			buf_append_char(out, '.');
		point = true;
	}
}

static void write_double(struct buf *out, double value)
{
	char text[48];
	if (!isfinite(value)) {
		buf_append_text(out, "null");
		return;
	}
	if (value == 0 && signbit(value)) { /* "-0" would be read back as the integer 0 */
		buf_append_text(out, "-0.0");
		return;
	}
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, value);
		if (digits == 17 || strtod(text, NULL) == value)
			break;
	}
	write_number(out, text);
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
		buf_printf(out, "%lld", (long long)field_long(field, record));
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

void json_write(const struct record_type *type, const void *record, struct buf *out)
{
	for (size_t i = 0; i < type->count; i++) {
		buf_append_char(out, i ? ',' : '{');
		write_text(out, str_from(type->fields[i].name));
		buf_append_char(out, ':');
		write_field(out, &type->fields[i], record);
	}
	buf_append_char(out, '}');
}
