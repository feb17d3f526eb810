#include "sql/fence.h"

#include <ctype.h>

static const char *const statement_words[] = {
	"select", "with",    "values",	"table",      "explain", "show",    "insert",	 "update",
	"delete", "merge",   "replace", "create",     "drop",	 "alter",   "truncate",	 "grant",
	"revoke", "copy",    "call",	"do",	      "begin",	 "commit",  "rollback",	 "set",
	"reset",  "execute", "prepare", "deallocate", "vacuum",	 "reindex", "refresh",	 "lock",
	"pragma", "attach",  "detach",	"listen",     "notify",	 "discard", "checkpoint"
};

static bool space(char c)
{
	return isspace((unsigned char)c) != 0;
}

/* The range [*start, *end) without surrounding space; closing semicolons go too. */
static void trim(str_t sql, size_t *start, size_t *end)
{
	while (*start < *end && space(sql.ptr[*start]))
		++*start;
	while (*end > *start && (space(sql.ptr[*end - 1]) || sql.ptr[*end - 1] == ';'))
		--*end;
}

static bool word_at(str_t sql, size_t at, size_t end, const char *word)
{
	size_t length = strlen(word);
	if (at + length > end || strncasecmp(sql.ptr + at, word, length) != 0)
		return false;
	return at + length == end ||
	       !(isalnum((unsigned char)sql.ptr[at + length]) || sql.ptr[at + length] == '_');
}

static bool statement_at(str_t sql, size_t at, size_t end)
{
	while (at < end && (space(sql.ptr[at]) || sql.ptr[at] == '('))
		at++;
	for (size_t i = 0; i < sizeof statement_words / sizeof *statement_words; i++) {
		if (word_at(sql, at, end, statement_words[i]))
			return true;
	}
	return false;
}

static size_t line_end(str_t sql, size_t at, size_t end)
{
	const char *newline = memchr(sql.ptr + at, '\n', end - at);
	return newline ? (size_t)(newline - sql.ptr) : end;
}

/* Whether some line of [start, end) begins like a statement: it is not prose that may be dropped. */
static bool has_statement_line(str_t sql, size_t start, size_t end)
{
	while (start < end) {
		size_t stop = line_end(sql, start, end);
		if (statement_at(sql, start, stop))
			return true;
		start = stop + 1;
	}
	return false;
}

/* Position of the next ``` in [at, end), or `end`. */
static size_t find_fence(str_t sql, size_t at, size_t end)
{
	const char *found = memmem(sql.ptr + at, end - at, "```", 3);
	return found ? (size_t)(found - sql.ptr) : end;
}

enum fence { FENCE_NONE, FENCE_TAKEN, FENCE_REFUSED };

/* Content of the only fenced block. Two blocks are two statements at least: refused. */
static enum fence take_fence(str_t sql, size_t *start, size_t *end)
{
	size_t open = find_fence(sql, *start, *end);
	if (open == *end)
		return FENCE_NONE;
	size_t content = open + 3;
	while (content < *end && (isalnum((unsigned char)sql.ptr[content]) || sql.ptr[content] == '_') &&
	       !statement_at(sql, content, *end))
		content++;
	size_t close = find_fence(sql, content, *end);
	if (statement_at(sql, *start, open) && close == *end) {
		*end = open; /* only the closing fence was written */
		return FENCE_TAKEN;
	}
	size_t after = close == *end ? *end : close + 3;
	if (find_fence(sql, after, *end) != *end || has_statement_line(sql, *start, open) ||
	    has_statement_line(sql, after, *end))
		return FENCE_REFUSED;
	*start = content;
	*end = close;
	return FENCE_TAKEN;
}

/* `…` around the whole text. */
static bool take_backticks(str_t sql, size_t *start, size_t *end)
{
	if (*end - *start < 2 || sql.ptr[*start] != '`' || sql.ptr[*end - 1] != '`' ||
	    memchr(sql.ptr + *start + 1, '`', *end - *start - 2) != NULL)
		return false;
	++*start;
	--*end;
	return true;
}

/* Prose in front: lines up to the first that begins like a statement, or a lead that ends in a colon. */
static bool drop_lead(str_t sql, size_t *start, size_t end)
{
	if (statement_at(sql, *start, end))
		return false;
	for (size_t at = *start; at < end; at++) {
		if ((sql.ptr[at] == '\n' || sql.ptr[at] == ':') && statement_at(sql, at + 1, end)) {
			*start = at + 1;
			return true;
		}
	}
	return false;
}

/* Prose behind: what follows a semicolon at the end of a line, unless a statement is in it. */
static bool drop_tail(str_t sql, size_t start, size_t *end)
{
	for (size_t at = start; at < *end; at++) {
		if (sql.ptr[at] != ';')
			continue;
		size_t stop = line_end(sql, at, *end);
		size_t after = at + 1;
		while (after < stop && space(sql.ptr[after]))
			after++;
		if (after != stop)
			continue;
		if (stop == *end || has_statement_line(sql, stop, *end))
			return false;
		*end = at;
		return true;
	}
	return false;
}

struct fence_result fence_trim(str_t sql)
{
	size_t start = 0, end = sql.len;
	while (start < end && space(sql.ptr[start]))
		start++;
	while (end > start && space(sql.ptr[end - 1]))
		end--;
	return (struct fence_result){ { sql.ptr + start, end - start }, start, false };
}

struct fence_result fence_unwrap(str_t sql)
{
	size_t start = 0, end = sql.len;
	trim(sql, &start, &end);
	enum fence fence = take_fence(sql, &start, &end);
	bool wrapped = fence == FENCE_TAKEN;
	if (fence == FENCE_NONE)
		wrapped = take_backticks(sql, &start, &end);
	trim(sql, &start, &end);
	if (fence != FENCE_REFUSED) {
		wrapped |= drop_lead(sql, &start, end);
		wrapped |= drop_tail(sql, start, &end);
		trim(sql, &start, &end);
	}
	return (struct fence_result){ { sql.ptr + start, end - start }, start, wrapped };
}
