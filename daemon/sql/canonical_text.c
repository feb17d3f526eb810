#include "sql/canonical_internal.h"

#include "sql/scan.h"

#include <ctype.h>

void texts_add(struct canon *canon, struct texts *texts, str_t text)
{
	ARENA_PUSH(canon->arena, texts->items, texts->count, texts->capacity, text);
}

static int compare(const void *a, const void *b)
{
	const str_t *left = a;
	const str_t *right = b;
	size_t common = left->len < right->len ? left->len : right->len;
	int order = common ? memcmp(left->ptr, right->ptr, common) : 0;
	return order ? order : (left->len > right->len) - (left->len < right->len);
}

void texts_sort(struct texts *texts)
{
	if (texts->count > 1)
		qsort(texts->items, texts->count, sizeof texts->items[0], compare);
}

void texts_unique(struct texts *texts)
{
	size_t kept = 0;
	texts_sort(texts);
	for (size_t i = 0; i < texts->count; i++)
		if (kept == 0 || !str_equal(texts->items[kept - 1], texts->items[i]) ||
		    canon_volatile(texts->items[i]))
			texts->items[kept++] = texts->items[i];
	texts->count = kept;
}

/* Counts what a text costs; beyond the bound nothing is built any more. */
static bool spend(struct canon *canon, size_t bytes)
{
	canon->bytes += bytes;
	if (canon->bytes > CANON_MAX_BYTES)
		canon->failed = true;
	return !canon->failed;
}

str_t texts_join(struct canon *canon, const char *open, const struct texts *texts, const char *close)
{
	size_t len = strlen(open) + strlen(close);
	for (size_t i = 0; i < texts->count; i++)
		len += texts->items[i].len + 2;
	if (!spend(canon, len))
		return STR("");
	char *joined = arena_alloc(canon->arena, len + 1);
	char *at = stpcpy(joined, open);
	for (size_t i = 0; i < texts->count; i++) {
		if (i > 0)
			at = stpcpy(at, ", ");
		memcpy(at, texts->items[i].ptr, texts->items[i].len);
		at += texts->items[i].len;
	}
	at = stpcpy(at, close);
	return (str_t){ joined, (size_t)(at - joined) };
}

str_t canon_printf(struct canon *canon, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	va_list again;
	va_copy(again, arguments);
	int len = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	str_t text = STR("");
	if (len >= 0 && spend(canon, (size_t)len)) {
		char *bytes = arena_alloc(canon->arena, (size_t)len + 1);
		vsnprintf(bytes, (size_t)len + 1, format, again);
		text = (str_t){ bytes, (size_t)len };
	}
	va_end(again);
	return text;
}

str_t canon_identifier(struct canon *canon, str_t name)
{
	bool plain = name.len > 0;
	for (size_t i = 0; i < name.len; i++)
		plain = plain && (islower((unsigned char)name.ptr[i]) ||
				  isdigit((unsigned char)name.ptr[i]) || name.ptr[i] == '_');
	if (plain)
		return name;
	struct buf quoted = BUF_INIT;
	buf_append_char(&quoted, '"');
	for (size_t i = 0; i < name.len; i++) {
		if (name.ptr[i] == '"')
			buf_append_char(&quoted, '"');
		buf_append_char(&quoted, name.ptr[i]);
	}
	buf_append_char(&quoted, '"');
	str_t text = arena_str(canon->arena, buf_str(&quoted));
	buf_free(&quoted);
	return text;
}

bool canon_volatile(str_t text)
{
	static const char *const calls[] = { "random(", "clock_timestamp(", "gen_random_uuid(", "nextval(" };
	for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
		if (memmem(text.ptr, text.len, calls[i], strlen(calls[i])))
			return true;
	return false;
}

static void append_token(struct buf *buf, str_t sql, struct scan_token token)
{
	for (size_t i = token.offset; i < token.offset + token.len; i++)
		buf_append_char(buf, token.kind == SCAN_WORD ? (char)tolower((unsigned char)sql.ptr[i])
							     : sql.ptr[i]);
}

/* Two operator characters keep whether there was space between them. */
static bool needs_space(enum scan_kind previous, enum scan_kind kind, bool apart)
{
	if (previous == SCAN_END)
		return false;
	return previous != SCAN_OTHER || kind != SCAN_OTHER || apart;
}

str_t canon_tokens(str_t sql, enum sql_dialect dialect, struct arena *arena)
{
	struct buf buf = BUF_INIT;
	enum scan_kind previous = SCAN_END;
	size_t end = 0;
	struct scan_token token = scan_next(sql, 0, dialect);
	for (; token.kind != SCAN_END; token = scan_next(sql, token.offset + token.len, dialect)) {
		if (scan_is_char(sql, token, ';'))
			continue; /* there is one statement */
		if (needs_space(previous, token.kind, token.offset > end))
			buf_append_char(&buf, ' ');
		append_token(&buf, sql, token);
		previous = token.kind;
		end = token.offset + token.len;
	}
	str_t text = arena_str(arena, buf_str(&buf));
	buf_free(&buf);
	return text;
}
