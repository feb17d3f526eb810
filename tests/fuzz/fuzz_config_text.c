/* Configuration files: whatever they hold, reading ends with a value or an error, and every value can be
 * rendered. */
#include "config/check.h"
#include "config/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
const char *__lsan_default_suppressions(void);

/* libconfig 1.5 forgets a text that it has read when a syntax error follows: a few bytes per refused file. */
const char *__lsan_default_suppressions(void)
{
	return "leak:libconfig";
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(conf_file_cleanup) struct conf_file *file = NULL;
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	struct config config;
	struct conf_problems problems = { .arena = arena };
	memset(&config, 0, sizeof config);
	str_t input = arena_text(arena, (const char *)data, len);
	if (conf_text_read(&config_table, "fuzz", input, arena, &config, &problems, &file) != ERR_OK)
		return 0;
	config_check(&config, file, &problems);
	conf_render(&config_table, &config, 0, &text);
	if (conf_restart_needed(&config_table, &config, &config, &text) != 0)
		abort();
	return 0;
}
