#include "sql/lex/code_fence.h"

#include "sql/lex/statement_words.h"

#include <ctype.h>

static bool space(char c)
{
	return isspace((unsigned char)c) != 0;
}

static bool ends_line(char c)
{
	return c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

static bool word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* The range [*start, *end) without surrounding space; closing semicolons go too. */
static void trim(str_t sql, size_t *start, size_t *end)
{
	while (*start < *end && space(sql.ptr[*start]))
		++*start;
	while (*end > *start && (space(sql.ptr[*end - 1]) || sql.ptr[*end - 1] == ';'))
		--*end;
}

/* ---- what is provably no statement ---- */

/* Length of a character that is a blank to the eye and none in ASCII, or 0: the byte order mark, which SQLite
 * reads as space wherever it stands, and spaces that whoever cleans a text up would make plain ones. */
static size_t wide_blank(str_t sql, size_t at, size_t end)
{
	static const char *const blanks[] = {
		"\xEF\xBB\xBF", "\xC2\xA0",	"\xC2\x85",	"\xE3\x80\x80",
		"\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F"
	};
	for (size_t i = 0; i < sizeof blanks / sizeof blanks[0]; i++)
		if (end - at >= strlen(blanks[i]) && memcmp(sql.ptr + at, blanks[i], strlen(blanks[i])) == 0)
			return strlen(blanks[i]);
	bool narrow = end - at >= 3 && memcmp(sql.ptr + at, "\xE2\x80", 2) == 0 &&
		      (unsigned char)sql.ptr[at + 2] <= 0x8B;
	return narrow ? 3 : 0;
}

/* Behind what a statement may have in front of its first word on a line: blanks and brackets. */
static size_t skip_opening(str_t sql, size_t at, size_t end)
{
	for (;;) {
		size_t wide = at < end ? wide_blank(sql, at, end) : 0;
		if (wide)
			at += wide;
		else if (at < end && (sql.ptr[at] == '(' || (space(sql.ptr[at]) && !ends_line(sql.ptr[at]))))
			at++;
		else
			return at;
	}
}

/* The word that stands at `at`; empty: none does. */
static str_t word_at(str_t sql, size_t at, size_t end)
{
	size_t stop = at;
	while (stop < end && word_char(sql.ptr[stop]))
		stop++;
	return (str_t){ sql.ptr + at, stop - at };
}

static bool statement_at(str_t sql, size_t at, size_t end, enum sql_dialect dialect)
{
	return statement_word(word_at(sql, skip_opening(sql, at, end), end), dialect) != STATEMENT_WORD_NONE;
}

/* Whether a comment opens or closes at `at`, by any rule of the dialect. */
static bool comment_at(str_t sql, size_t at, size_t end, enum sql_dialect dialect)
{
	char c = sql.ptr[at], next = at + 1 < end ? sql.ptr[at + 1] : '\0';
	return (c == '-' && next == '-') || (c == '/' && next == '*') || (c == '*' && next == '/') ||
	       (c == '#' && dialect == SQL_MYSQL);
}

/* The interactive clients take lines that begin so for their own commands. */
static bool begins_client_command(char c, enum sql_dialect dialect)
{
	return c == '\\' || (c == '.' && dialect == SQL_SQLITE);
}

/* Whether [start, end) is provably no statement: no line of it begins like one, nothing but space follows a
 * semicolon, and no comment hides anything. */
static bool is_prose(str_t sql, size_t start, size_t end, enum sql_dialect dialect)
{
	bool line_begins = true, closed = false;
	for (size_t at = start; at < end; at++) {
		char c = sql.ptr[at];
		if (space(c)) {
			line_begins |= ends_line(c);
			continue;
		}
		if ((closed && c != ';') || comment_at(sql, at, end, dialect))
			return false;
		if (line_begins && (statement_at(sql, at, end, dialect) || begins_client_command(c, dialect)))
			return false;
		closed |= c == ';';
		line_begins = false;
	}
	return true;
}

/* The same of what stands in front of a statement, which must not follow a semicolon either. */
static bool is_lead(str_t sql, size_t start, size_t end, enum sql_dialect dialect)
{
	return !memchr(sql.ptr + start, ';', end - start) && is_prose(sql, start, end, dialect);
}

/* ---- what is taken off ---- */

enum unwrapping { UNWRAP_NOTHING, UNWRAP_TAKEN, UNWRAP_REFUSED };

/* Position of the next ``` in [at, end), or `end`. */
static size_t find_code_fence(str_t sql, size_t at, size_t end)
{
	const char *found = memmem(sql.ptr + at, end - at, "```", 3);
	return found ? (size_t)(found - sql.ptr) : end;
}

/* Content of the only fenced block. Two blocks are two statements at least: refused. */
static enum unwrapping take_code_fence(str_t sql, enum sql_dialect dialect, size_t *start, size_t *end)
{
	size_t open = find_code_fence(sql, *start, *end);
	if (open == *end)
		return UNWRAP_NOTHING;
	size_t content = open + 3;
	str_t tag = word_at(sql, content, *end);
	if (statement_word(tag, dialect) == STATEMENT_WORD_NONE)
		content += tag.len;
	size_t close = find_code_fence(sql, content, *end);
	if (close == *end &&
	    statement_at(sql, *start, open, dialect)) { /* only the closing one was written */
		if (!is_prose(sql, open + 3, *end, dialect))
			return UNWRAP_REFUSED;
		*end = open;
		return UNWRAP_TAKEN;
	}
	size_t after = close == *end ? *end : close + 3;
	if (find_code_fence(sql, after, *end) != *end || !is_lead(sql, *start, open, dialect) ||
	    !is_prose(sql, after, *end, dialect))
		return UNWRAP_REFUSED;
	*start = content;
	*end = close;
	return UNWRAP_TAKEN;
}

/* `…` around the whole text. */
static enum unwrapping take_backticks(str_t sql, size_t *start, size_t *end)
{
	if (*end - *start < 2 || sql.ptr[*start] != '`' || sql.ptr[*end - 1] != '`' ||
	    memchr(sql.ptr + *start + 1, '`', *end - *start - 2) != NULL)
		return UNWRAP_NOTHING;
	++*start;
	--*end;
	return UNWRAP_TAKEN;
}

/* The first token behind `at` that is neither space, comment nor an opening bracket. */
static struct scan_token first_token(str_t sql, size_t at, enum sql_dialect dialect)
{
	struct scan_token token = scan_next(sql, at, dialect);
	while (scan_is_char(sql, token, '('))
		token = scan_next(sql, token.offset + 1, dialect);
	return token;
}

/* Prose in front of a statement that begins a line or follows a colon; comments in front of it stay. */
static enum unwrapping drop_lead(str_t sql, enum sql_dialect dialect, size_t *start, size_t end)
{
	if (statement_at(sql, *start, end, dialect))
		return UNWRAP_NOTHING;
	str_t text = { sql.ptr, end };
	for (size_t at = *start; at < end; at++) {
		if (sql.ptr[at] != '\n' && sql.ptr[at] != ':')
			continue;
		struct scan_token token = first_token(text, at + 1, dialect);
		if (token.kind == SCAN_BROKEN || token.kind == SCAN_END)
			return UNWRAP_NOTHING;
		str_t word = { sql.ptr + token.offset, token.len };
		if (token.kind == SCAN_WORD && statement_word(word, dialect) != STATEMENT_WORD_NONE) {
			if (!is_lead(sql, *start, at + 1, dialect))
				return UNWRAP_REFUSED;
			*start = at + 1;
			return UNWRAP_TAKEN;
		}
		/* nothing begins up to there; a word may be followed by the next colon */
		at = token.kind == SCAN_WORD || token.len == 1 ? token.offset - 1
							       : token.offset + token.len - 1;
	}
	return UNWRAP_NOTHING;
}

/* Prose behind the first semicolon that ends a line. */
static enum unwrapping drop_tail(str_t sql, enum sql_dialect dialect, size_t start, size_t *end)
{
	for (size_t at = start; at < *end; at++) {
		if (sql.ptr[at] != ';')
			continue;
		size_t after = at + 1;
		while (after < *end && space(sql.ptr[after]) && !ends_line(sql.ptr[after]))
			after++;
		if (after == *end)
			return UNWRAP_NOTHING;
		if (!ends_line(sql.ptr[after]))
			continue;
		if (!is_prose(sql, after, *end, dialect))
			return UNWRAP_REFUSED;
		*end = at;
		return UNWRAP_TAKEN;
	}
	return UNWRAP_NOTHING;
}

struct code_fence_result code_fence_trim(str_t sql)
{
	size_t start = 0, end = sql.len;
	while (start < end && space(sql.ptr[start]))
		start++;
	while (end > start && space(sql.ptr[end - 1]))
		end--;
	return (struct code_fence_result){ { sql.ptr + start, end - start }, start, false };
}

struct code_fence_result code_fence_unwrap(str_t sql, enum sql_dialect dialect)
{
	size_t start = 0, end = sql.len;
	trim(sql, &start, &end);
	enum unwrapping fence = take_code_fence(sql, dialect, &start, &end);
	if (fence == UNWRAP_NOTHING)
		fence = take_backticks(sql, &start, &end);
	trim(sql, &start, &end);
	if (fence == UNWRAP_REFUSED)
		return code_fence_trim(sql);
	enum unwrapping lead = drop_lead(sql, dialect, &start, end);
	enum unwrapping tail = drop_tail(sql, dialect, start, &end);
	if (lead == UNWRAP_REFUSED || tail == UNWRAP_REFUSED)
		return code_fence_trim(sql);
	trim(sql, &start, &end);
	bool wrapped = fence == UNWRAP_TAKEN || lead == UNWRAP_TAKEN || tail == UNWRAP_TAKEN;
	return (struct code_fence_result){ { sql.ptr + start, end - start }, start, wrapped };
}
