#include "sql/lex/pg_server.h" // first: see there

#include "sql/lex/identifier.h"

#include <common/keywords.h>
#include <ctype.h>
#include <strings.h>

static bool is_plain_name(str_t name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];
		if (!(c >= 'a' && c <= 'z') && c != '_' && !(i > 0 && isdigit((unsigned char)c)))
			return false;
	}
	int keyword = ScanKeywordLookup(name.ptr, &ScanKeywords);
	return name.len > 0 && (keyword < 0 || ScanKeywordCategories[keyword] == UNRESERVED_KEYWORD);
}

str_t identifier_quote(str_t name, struct arena *arena)
{
	if (is_plain_name(name))
		return arena_str(arena, name);
	char *text = arena_alloc(arena, 2 * name.len + 3);
	size_t length = 0;
	text[length++] = '"';
	for (size_t i = 0; i < name.len; i++) {
		if (name.ptr[i] == '"')
			text[length++] = '"';
		text[length++] = name.ptr[i];
	}
	text[length++] = '"';
	return (str_t){ text, length };
}

bool identifier_same(str_t a, str_t b)
{
	return a.len == b.len && (a.len == 0 || strncasecmp(a.ptr, b.ptr, a.len) == 0);
}

bool identifier_is(str_t name, const char *word)
{
	return str_present(name) && name.len == strlen(word) && strncasecmp(name.ptr, word, name.len) == 0;
}

bool identifier_is_any(str_t name, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (identifier_is(name, words[i]))
			return true;
	return false;
}

str_t identifier_lower(str_t name, struct arena *arena)
{
	char *copy = arena_alloc(arena, name.len + 1);
	for (size_t i = 0; i < name.len; i++)
		copy[i] = (char)tolower((unsigned char)name.ptr[i]);
	return (str_t){ copy, name.len };
}
