#include "http/markup.h"

#include "common/terminal.h"

void markup_append(struct buf *out, const char *text)
{
	_cleanup_(buf_free) struct buf shown = BUF_INIT;
	terminal_append_lines(&shown, str_from(text ? text : ""));
	for (size_t i = 0; i < shown.len; i++)
		switch (shown.data[i]) {
		case '&':
			buf_append_text(out, "&amp;");
			break;
		case '<':
			buf_append_text(out, "&lt;");
			break;
		case '>':
			buf_append_text(out, "&gt;");
			break;
		case '"':
			buf_append_text(out, "&quot;");
			break;
		case '\'':
			buf_append_text(out, "&#39;");
			break;
		default:
			buf_append_char(out, shown.data[i]);
		}
}
