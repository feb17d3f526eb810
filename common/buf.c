#include "common/buf.h"

#include <endian.h>

void buf_free(struct buf *buf)
{
	free(buf->data);
	*buf = (struct buf)BUF_INIT;
}

void buf_reset(struct buf *buf)
{
	buf->len = 0;
	if (buf->data)
		buf->data[0] = '\0';
}

void buf_trim(struct buf *buf)
{
	if (!buf->data || buf->capacity == buf->len + 1)
		return;
	char *data = realloc(buf->data, buf->len + 1);
	if (!data)
		return; /* then it stays as it is */
	buf->data = data;
	buf->capacity = buf->len + 1;
}

char *buf_reserve(struct buf *buf, size_t more)
{
	size_t need;
	if (__builtin_add_overflow(buf->len, more, &need) || __builtin_add_overflow(need, 1u, &need))
		abort();
	if (need > buf->capacity) {
		size_t capacity = buf->capacity ? buf->capacity : 64;
		while (capacity < need)
			capacity = capacity > SIZE_MAX / 2 ? need : capacity * 2;
		char *data = realloc(buf->data, capacity);
		if (!data)
			abort();
		buf->data = data;
		buf->capacity = capacity;
	}
	return buf->data + buf->len;
}

void buf_append(struct buf *buf, const void *data, size_t len)
{
	char *to = buf_reserve(buf, len);
	if (len)
		memcpy(to, data, len);
	buf->len += len;
	buf->data[buf->len] = '\0';
}

void buf_append_str(struct buf *buf, str_t text)
{
	buf_append(buf, text.ptr, text.len);
}

void buf_append_text(struct buf *buf, const char *text)
{
	buf_append(buf, text, strlen(text));
}

void buf_append_char(struct buf *buf, char byte)
{
	buf_append(buf, &byte, 1);
}

void buf_printf(struct buf *buf, const char *format, ...)
{
	va_list arguments, again;
	va_start(arguments, format);
	va_copy(again, arguments);
	int len = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	if (len < 0)
		abort();
	char *to = buf_reserve(buf, (size_t)len);
	vsnprintf(to, (size_t)len + 1, format, again);
	va_end(again);
	buf->len += (size_t)len;
}

void buf_append_u32(struct buf *buf, uint32_t value)
{
	uint32_t little = htole32(value);
	buf_append(buf, &little, sizeof little);
}

void buf_append_u64(struct buf *buf, uint64_t value)
{
	uint64_t little = htole64(value);
	buf_append(buf, &little, sizeof little);
}
