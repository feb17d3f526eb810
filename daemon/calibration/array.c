#include "calibration/array.h"

void array_append_quoted(struct buf *out, str_t text)
{
	buf_append_char(out, '"');
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == '"' || text.ptr[i] == '\\')
			buf_append_char(out, '\\');
		buf_append_char(out, text.ptr[i]);
	}
	buf_append_char(out, '"');
}

void array_append(struct buf *array, str_t text)
{
	buf_append_char(array, array->len == 0 ? '{' : ',');
	array_append_quoted(array, text);
}

void array_end(struct buf *array)
{
	if (array->len == 0)
		buf_append_char(array, '{');
	buf_append_char(array, '}');
}
