#include "common/terminal.h"

#include "common/utf8.h"

#include <unistd.h>

/* Code points that are obeyed or not seen, in ascending order. Source: Unicode 15, general categories Cc, Zl,
 * Zp, and of Cf the bidirectional controls and what is invisible without being part of a script's writing. */
static const struct {
	uint32_t first, last;
} escaped[] = {
	{ 0x00, 0x1f },	    { 0x7f, 0x9f },	{ 0x61c, 0x61c },   { 0x200b, 0x200b }, { 0x200e, 0x200f },
	{ 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xe0000, 0xe007f },
};

static bool is_shown(uint32_t point)
{
	for (size_t i = 0; i < sizeof escaped / sizeof *escaped; i++)
		if (point <= escaped[i].last)
			return point < escaped[i].first;
	return true;
}

static void append_escape(struct buf *out, uint32_t point)
{
	if (point == '\n' || point == '\t' || point == '\r')
		buf_printf(out, "\\%c", point == '\n' ? 'n' : point == '\t' ? 't' : 'r');
	else if (point < 0x10000)
		buf_printf(out, "\\u%04x", (unsigned)point);
	else
		buf_printf(out, "\\u%04x\\u%04x", (unsigned)(0xd800 + ((point - 0x10000) >> 10)),
			   (unsigned)(0xdc00 + ((point - 0x10000) & 0x3ff)));
}

static void append(struct buf *out, str_t text, bool keep_line_feeds)
{
	for (size_t i = 0; i < text.len;) {
		uint32_t point = 0;
		size_t len = utf8_decode(text.ptr + i, text.len - i, &point);
		if (len == 0)
			buf_printf(out, "\\x%02x", (unsigned)(unsigned char)text.ptr[i]);
		else if (is_shown(point) || (point == '\n' && keep_line_feeds))
			buf_append(out, text.ptr + i, len);
		else
			append_escape(out, point);
		i += len ? len : 1;
	}
}

void terminal_append(struct buf *out, str_t text)
{
	append(out, text, false);
}

void terminal_append_lines(struct buf *out, str_t text)
{
	append(out, text, true);
}

__attribute__((format(printf, 2, 0))) static void append_line(struct buf *out, const char *format,
							      va_list arguments)
{
	_cleanup_(cleanup_free) char *line = NULL;
	int len = vasprintf(&line, format, arguments);
	if (len < 0)
		abort();
	append(out, (str_t){ line, (size_t)len }, false);
	buf_append_char(out, '\n');
}

void terminal_append_line(struct buf *out, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	append_line(out, format, arguments);
	va_end(arguments);
}

void terminal_tell_waiting(void)
{
	if (isatty(STDIN_FILENO))
		terminal_print_line(
			stderr, "assayd: type events, one a line, as {\"sql\": \"SELECT …\"}; Ctrl-D ends");
}

void terminal_print(FILE *stream, str_t text)
{
	_cleanup_(buf_free) struct buf shown = BUF_INIT;
	append(&shown, text, false);
	fwrite(buf_str(&shown).ptr, 1, shown.len, stream);
}

void terminal_print_line(FILE *stream, const char *format, ...)
{
	_cleanup_(buf_free) struct buf shown = BUF_INIT;
	va_list arguments;
	va_start(arguments, format);
	append_line(&shown, format, arguments);
	va_end(arguments);
	fwrite(buf_str(&shown).ptr, 1, shown.len, stream);
}
