#include "database/array.h"

void array_append_quoted(struct buf *out, str_t text)
{
	char *start = buf_reserve(out, 2 * text.len + 2), *at = start;
	*at++ = '"';
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '"' || text.ptr[i] == '\\')
			*at++ = '\\';
		*at++ = text.ptr[i];
	}
	*at++ = '"';
	*at = '\0';
	out->len += (size_t)(at - start);
}

static void begin_item(struct buf *array)
{
	buf_append_char(array, array->len == 0 ? '{' : ',');
}

void array_append(struct buf *array, str_t text)
{
	begin_item(array);
	array_append_quoted(array, text);
}

void array_append_null(struct buf *array)
{
	begin_item(array);
	buf_append_text(array, "NULL");
}

void array_append_bytes(struct buf *array, const unsigned char *bytes, size_t len)
{
	static const char hexadecimal[] = "0123456789abcdef";
	begin_item(array);
	buf_append_text(array, "\"\\\\x");
	for (size_t i = 0; i < len; i++) {
		buf_append_char(array, hexadecimal[bytes[i] >> 4]);
		buf_append_char(array, hexadecimal[bytes[i] & 15]);
	}
	buf_append_char(array, '"');
}

void array_end(struct buf *array)
{
	if (array->len == 0)
		buf_append_char(array, '{');
	buf_append_char(array, '}');
}
