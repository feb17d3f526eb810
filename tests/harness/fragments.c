#include "tests/harness/fragments.h"

#include "common/buf.h"

#include <ctype.h>
#include <dirent.h>

const struct placement placements[] = {
	{ "string literal", "SELECT id, name FROM users WHERE name = '%s' AND password = 'x'" },
	{ "string literal",
	  "SELECT u.name, o.total FROM users u JOIN orders o ON o.user_id = u.id WHERE u.name = '%s'" },
	{ "string literal",
	  "SELECT (SELECT max(total) FROM orders WHERE placed > '%s') AS latest FROM users" },
	{ "string literal", "SELECT id FROM users WHERE (name = ('%s'))" },
	{ "string literal", "SELECT lower('%s') AS x, id FROM products" },
	{ "double quotes", "SELECT id, name FROM users WHERE name = \"%s\"" },
	{ "number", "SELECT name, description FROM products WHERE id = %s" },
	{ "number", "SELECT name FROM users WHERE id = (%s) AND feeling = 'ok'" },
	{ "number", "SELECT id, price * %s AS total FROM products" },
	{ "identifier", "SELECT %s FROM users" },
	{ "identifier", "SELECT count(*) FROM %s" },
	{ "quoted identifier", "SELECT id, \"%s\" FROM users" },
	{ "order by", "SELECT id, name FROM users ORDER BY %s" },
	{ "order by", "SELECT user_id, sum(total) FROM orders GROUP BY %s" },
	{ "limit", "SELECT id, name FROM users LIMIT %s" },
	{ "limit", "SELECT id, name FROM users ORDER BY id LIMIT 10 OFFSET %s" },
	{ "second statement", "SELECT count(*) FROM users; %s" },
	{ "like", "SELECT id, name FROM products WHERE name LIKE '%%%s%%'" },
	{ "like", "SELECT id FROM products WHERE description ILIKE '%%%s'" },
	{ "in", "SELECT id, total FROM orders WHERE user_id IN (%s)" },
	{ "in", "SELECT id, total FROM orders WHERE user_id IN (1, '%s')" },
	{ "comment", "SELECT id FROM users -- %s" },
	{ "comment", "SELECT id /* %s */ FROM users" },
	{ "whole statement", "%s" },
};
const size_t placements_count = sizeof placements / sizeof placements[0];

static int hex_value(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : (c | 0x20) - 'a' + 10;
}

static bool encoded_at(const char *text)
{
	return text[0] == '%' && isxdigit((unsigned char)text[1]) && isxdigit((unsigned char)text[2]);
}

/* Whether the line is percent-encoded as a whole: it has escapes and no plain space. */
static bool is_encoded(const char *line)
{
	bool escapes = false;
	for (const char *at = line; *at; at++) {
		if (*at == ' ')
			return false;
		escapes = escapes || encoded_at(at);
	}
	return escapes;
}

static void decode(const char *line, struct buf *decoded)
{
	buf_reset(decoded);
	for (const char *at = line; *at; at++) {
		if (encoded_at(at)) {
			char byte = (char)(hex_value(at[1]) * 16 + hex_value(at[2]));
			at += 2;
			if ((unsigned char)byte >= 0x80) { /* of Latin-1 */
				buf_append_char(decoded, (char)(0xC0 | ((unsigned char)byte >> 6)));
				byte = (char)(0x80 | (byte & 0x3F));
			}
			if (byte != '\0')
				buf_append_char(decoded, byte);
		} else {
			buf_append_char(decoded, *at == '+' ? ' ' : *at);
		}
	}
}

static void load_file(struct fragments *fragments, const char *path)
{
	_cleanup_(cleanup_fclose) FILE *file = fopen(path, "r");
	_cleanup_(cleanup_free) char *line = NULL;
	struct buf decoded = BUF_INIT;
	size_t capacity = 0;
	while (file && getline(&line, &capacity, file) > 0) {
		line[strcspn(line, "\r\n")] = '\0';
		if (line[0] == '\0' || (line[0] == '#' && (line[1] == ' ' || line[1] == '\0')))
			continue;
		str_t text = str_from(line);
		if (is_encoded(line)) {
			decode(line, &decoded);
			text = buf_str(&decoded);
		}
		ARENA_PUSH(fragments->arena, fragments->items, fragments->count, fragments->capacity,
			   arena_str(fragments->arena, text));
	}
	buf_free(&decoded);
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

bool fragments_load(struct fragments *fragments, const char *prefix)
{
	const char *configured = getenv("ASSAYD_CORPORA");
	char folder[512];
	snprintf(folder, sizeof folder, "%s/libinjection",
		 configured ? configured : ASSAYD_SOURCE_DIR "/../shared/corpora");
	struct dirent **entries = NULL;
	int count = scandir(folder, &entries, NULL, compare_names);
	for (int i = 0; i < count; i++) {
		char path[1024];
		snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
		if (strncmp(entries[i]->d_name, prefix, strlen(prefix)) == 0)
			load_file(fragments, path);
		free(entries[i]);
	}
	free(entries);
	return fragments->count > 0;
}

static void append_replaced(struct buf *text, str_t source, const char *mark, str_t replacement)
{
	size_t mark_len = strlen(mark);
	for (size_t i = 0; i < source.len; i++) {
		if (i + mark_len <= source.len && memcmp(source.ptr + i, mark, mark_len) == 0) {
			buf_append_str(text, replacement);
			i += mark_len - 1;
		} else {
			buf_append_char(text, source.ptr[i]);
		}
	}
}

str_t fragment_placed(str_t fragment, const char *sql, struct arena *arena)
{
	struct buf text = BUF_INIT;
	for (const char *at = sql; *at; at++) {
		if (*at != '%') {
			buf_append_char(&text, *at);
			continue;
		}
		at++;
		if (*at == 's')
			buf_append_str(&text, fragment);
		else
			buf_append_char(&text, *at);
	}
	str_t placed = arena_str(arena, buf_str(&text));
	buf_free(&text);
	return placed;
}

str_t fragment_quoted(str_t fragment, struct arena *arena)
{
	struct buf text = BUF_INIT;
	buf_append_char(&text, '\'');
	append_replaced(&text, fragment, "'", STR("''"));
	buf_append_char(&text, '\'');
	str_t quoted = arena_str(arena, buf_str(&text));
	buf_free(&text);
	return quoted;
}

bool statements_load(struct listed_statements *statements, const char *name, const char *folder)
{
	char path[512];
	snprintf(path, sizeof path, "%s/tests/corpora/safety/%s", ASSAYD_SOURCE_DIR, name);
	_cleanup_(cleanup_fclose) FILE *file = fopen(path, "r");
	_cleanup_(cleanup_free) char *line = NULL;
	size_t capacity = 0;
	const char *header = "";
	struct buf broken = BUF_INIT;
	struct buf text = BUF_INIT;
	while (file && getline(&line, &capacity, file) > 0) {
		line[strcspn(line, "\r\n")] = '\0';
		if (strncmp(line, "## ", 3) == 0)
			header = arena_text(statements->arena, line + 3, strlen(line + 3)).ptr;
		if (line[0] == '#' || line[0] == '\0')
			continue;
		buf_reset(&broken);
		buf_reset(&text);
		append_replaced(&broken, str_from(line), "⏎", STR("\n"));
		append_replaced(&text, buf_str(&broken), "@FOLDER@", str_from(folder));
		ARENA_PUSH(statements->arena, statements->items, statements->count, statements->capacity,
			   (struct listed_statement){ arena_str(statements->arena, buf_str(&text)), header });
	}
	buf_free(&broken);
	buf_free(&text);
	return statements->count > 0;
}
