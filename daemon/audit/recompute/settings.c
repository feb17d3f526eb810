#include "audit/recompute/settings.h"

#include "common/hash.h"

struct recompute_settings {
	struct arena *arena;	/* of all of it */
	struct hash_map values; /* path to str_t */
};

static bool read_line(struct recompute_settings *settings, str_t line)
{
	const char *mark = memchr(line.ptr, '=', line.len);
	if (!mark)
		return false;
	size_t path = (size_t)(mark - line.ptr);
	str_t *value = ARENA_NEW(settings->arena, str_t);
	*value = arena_text(settings->arena, mark + 1, line.len - path - 1);
	hash_map_set(&settings->values, arena_text(settings->arena, line.ptr, path), value);
	return true;
}

struct recompute_settings *recompute_settings_read(str_t text)
{
	struct arena *arena = arena_new();
	struct recompute_settings *settings = ARENA_NEW(arena, struct recompute_settings);
	settings->arena = arena;
	hash_map_init(&settings->values, arena, 256);
	bool sound = text.len > 0;
	for (size_t at = 0; sound && at < text.len;) {
		const char *end = memchr(text.ptr + at, '\n', text.len - at);
		size_t len = end ? (size_t)(end - text.ptr) - at : text.len - at;
		sound = read_line(settings, (str_t){ text.ptr + at, len });
		at += len + 1;
	}
	if (sound)
		return settings;
	recompute_settings_free(settings);
	return NULL;
}

void recompute_settings_free(struct recompute_settings *settings)
{
	if (settings)
		arena_free(settings->arena);
}

str_t recompute_setting(const struct recompute_settings *settings, const char *path)
{
	const str_t *value = hash_map_get(&settings->values, str_from(path));
	return value ? *value : STR_NONE;
}
