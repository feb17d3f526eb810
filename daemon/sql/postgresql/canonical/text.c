#include "sql/postgresql/canonical/internal.h"

#include "common/hash.h"

void texts_add_all(struct canon *canon, struct texts *texts, const struct texts *more)
{
	for (size_t i = 0; i < more->count; i++)
		texts_add(canon->arena, texts, more->items[i]);
}

void texts_take(struct canon *canon, struct texts *texts, const struct texts *more)
{
	if (texts->capacity == 0)
		*texts = *more;
	else
		texts_add_all(canon, texts, more);
}

/* Counts what a text costs; beyond the bound nothing is built any more. */
static bool spend(struct canon *canon, size_t bytes)
{
	canon->bytes += bytes + 16;
	if (canon->bytes > CANON_MAX_BYTES)
		canon->failed = true;
	return !canon->failed;
}

bool canon_work(struct canon *canon, size_t comparisons)
{
	canon->work += comparisons;
	if (canon->work > CANON_MAX_WORK)
		canon->failed = true;
	return !canon->failed;
}

str_t canon_concat(struct canon *canon, const str_t *parts, size_t count)
{
	size_t len = 0;
	for (size_t i = 0; i < count; i++)
		len += parts[i].len;
	if (!spend(canon, len))
		return STR("");
	char *joined = arena_alloc(canon->arena, len + 1);
	char *at = joined;
	for (size_t i = 0; i < count; i++) {
		if (parts[i].len)
			memcpy(at, parts[i].ptr, parts[i].len);
		at += parts[i].len;
	}
	return (str_t){ joined, len };
}

str_t canon_number(struct canon *canon, size_t number)
{
	char digits[24];
	size_t at = sizeof digits;
	do
		digits[--at] = (char)('0' + number % 10);
	while (number /= 10);
	return arena_text(canon->arena, digits + at, sizeof digits - at);
}

str_t canon_short(struct canon *canon, str_t text)
{
	unsigned char digest[DIGEST_BYTES];
	char hex[2 * DIGEST_BYTES];
	if (text.len <= CANON_LONG_TEXT)
		return text;
	hash_sha256(text.ptr, text.len, digest);
	for (size_t i = 0; i < sizeof hex; i++)
		hex[i] = "0123456789abcdef"[i % 2 ? digest[i / 2] & 15 : digest[i / 2] >> 4];
	return CONCAT(canon, STR("DIGEST("), ((str_t){ hex, sizeof hex }), STR(")"));
}

str_t texts_join(struct canon *canon, str_t open, const struct texts *texts, str_t close)
{
	size_t len = open.len + close.len;
	for (size_t i = 0; i < texts->count; i++)
		len += texts->items[i].len + 2;
	if (!spend(canon, len))
		return STR("");
	char *joined = arena_alloc(canon->arena, len + 1);
	char *at = mempcpy(joined, open.ptr, open.len);
	for (size_t i = 0; i < texts->count; i++) {
		if (i > 0)
			at = mempcpy(at, ", ", 2);
		if (texts->items[i].len)
			at = mempcpy(at, texts->items[i].ptr, texts->items[i].len);
	}
	at = mempcpy(at, close.ptr, close.len);
	return (str_t){ joined, (size_t)(at - joined) };
}

/* In quotes, the quotes inside doubled. */
static str_t enclosed(struct canon *canon, str_t text, char quote)
{
	size_t len = text.len + 2;
	for (size_t i = 0; i < text.len; i++)
		len += text.ptr[i] == quote;
	if (!spend(canon, len))
		return STR("");
	char *copy = arena_alloc(canon->arena, len + 1);
	char *at = copy;
	*at++ = quote;
	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] == quote)
			*at++ = quote;
		*at++ = text.ptr[i];
	}
	*at = quote;
	return (str_t){ copy, len };
}

str_t canon_quoted(struct canon *canon, str_t text)
{
	return enclosed(canon, text, '\'');
}

static bool plain_byte(unsigned char c, bool first)
{
	return (c >= 'a' && c <= 'z') || c == '_' || (!first && c >= '0' && c <= '9');
}

str_t canon_identifier(struct canon *canon, str_t name)
{
	bool plain = name.len > 0;
	for (size_t i = 0; plain && i < name.len; i++)
		plain = plain_byte((unsigned char)name.ptr[i], i == 0);
	return plain ? name : enclosed(canon, name, '"');
}

bool canon_enter(struct canon *canon)
{
	if (canon->depth >= CANON_MAX_DEPTH)
		canon->failed = true;
	if (canon->failed)
		return false;
	canon->depth++;
	return true;
}

void canon_leave(struct canon *canon)
{
	canon->depth--;
}
