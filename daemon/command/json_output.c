#include "command/json_output.h"

#include "common/terminal.h"
#include "common/utf8.h"

json_t *json_output_text(const char *text)
{
	_cleanup_(buf_free) struct buf shown = BUF_INIT;
	if (utf8_valid(text, strlen(text)))
		return json_string(text);
	terminal_append(&shown, str_from(text));
	return json_string(shown.data);
}

void json_output_print(json_t *object, bool to_terminal)
{
	_cleanup_(cleanup_free) char *text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	if (!text)
		abort();
	if (to_terminal)
		terminal_print_line(stdout, "%s", text);
	else
		puts(text);
}
