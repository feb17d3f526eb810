#include "sql/mongodb/unparsed.h"

#include "sql/mongodb/command.h"
#include "sql/mongodb/operators.h"

#include <ctype.h>

/* Bytes of other characters are left out: no name that is looked for has one. */
static bool is_name(char byte)
{
	return isalnum((unsigned char)byte) || byte == '_' || byte == '$';
}

static bool is_comment(str_t text, size_t at)
{
	return at + 1 < text.len && text.ptr[at] == '/' &&
	       (text.ptr[at + 1] == '/' || text.ptr[at + 1] == '*');
}

static size_t behind_comment(str_t text, size_t at)
{
	bool line = text.ptr[at + 1] == '/', ends_line = false;
	for (at += line ? 2 : 3; at < text.len; at++) {
		(void)mongodb_space(text, at, &ends_line);
		if (line && ends_line)
			return at;
		if (!line && text.ptr[at - 1] == '*' && text.ptr[at] == '/')
			return at + 1;
	}
	return text.len;
}

/* The byte behind white space and comments. */
static char byte_behind(str_t text, size_t at)
{
	while (at < text.len && (mongodb_space(text, at, NULL) > 0 || is_comment(text, at)))
		at = is_comment(text, at) ? behind_comment(text, at) : at + mongodb_space(text, at, NULL);
	return at < text.len ? text.ptr[at] : '\0';
}

static char byte_before(str_t text, size_t at)
{
	while (at > 0 && isspace((unsigned char)text.ptr[at - 1]))
		at--;
	return at > 0 ? text.ptr[at - 1] : '\0';
}

static void see_operator(str_t name, size_t offset, struct violations *violations)
{
	const struct mongodb_operator *known = mongodb_operator(name);
	if (known && known->refused)
		violations_add(violations, known->violation, (int64_t)offset,
			       "\"" STR_FMT "\" is no part of a read", STR_ARG(name));
}

/* .method( and key: */
static void see_name(str_t text, size_t start, size_t end, struct violations *violations)
{
	str_t name = { text.ptr + start, end - start };
	char next = byte_behind(text, end);
	if (next == ':')
		see_operator(name, start, violations);
	if (next == '(' && byte_before(text, start) == '.' && mongodb_writes(name))
		violations_add(violations, VIOLATION_NOT_A_READ, (int64_t)start,
			       "the method " STR_FMT " does not read", STR_ARG(name));
}

static size_t behind_quoted(str_t text, size_t at)
{
	char quote = text.ptr[at++];
	while (at < text.len && text.ptr[at] != quote)
		at += text.ptr[at] == '\\' ? 2 : 1;
	return at < text.len ? at + 1 : text.len;
}

void mongodb_unparsed(str_t text, const char *reason, struct violations *violations)
{
	for (size_t at = 0; at < text.len;) {
		char byte = text.ptr[at];
		size_t start = at;
		if (byte == '"' || byte == '\'' || byte == '`') {
			at = behind_quoted(text, at);
			if (byte_behind(text, at) == ':' && at - start > 2)
				see_operator((str_t){ text.ptr + start + 1, at - start - 2 }, start,
					     violations);
		} else if (is_comment(text, at)) {
			at = behind_comment(text, at);
		} else if (is_name(byte)) {
			while (at < text.len && is_name(text.ptr[at]))
				at++;
			see_name(text, start, at, violations);
		} else {
			at++;
		}
	}
	violations_doubt(violations, "it does not parse: %s", reason);
}
