#include "sql/postgresql/ddl/internal.h"

#include "sql/lex/scan.h"

#include <ctype.h>
#include <strings.h>

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static size_t skip_line(str_t text, size_t at)
{
	const char *end = memchr(text.ptr + at, '\n', text.len - at);
	return end ? (size_t)(end - text.ptr) : text.len;
}

/* The end of what begins at `at`. */
static size_t skip_token(str_t text, size_t at)
{
	struct scan_token token = scan_token_at(text, at, SQL_POSTGRESQL);
	return token.offset + token.len;
}

static bool is_at(str_t text, size_t at, size_t end, const char *word)
{
	return end - at == strlen(word) && strncasecmp(text.ptr + at, word, end - at) == 0;
}

/* Data end at a line with \. alone. */
static size_t skip_data(str_t text, size_t at)
{
	while (at < text.len) {
		size_t end = skip_line(text, at), next = end < text.len ? end + 1 : end;
		bool is_last = end - at >= 2 && memcmp(text.ptr + at, "\\.", 2) == 0 &&
			       (end - at == 2 || text.ptr[at + 2] == '\r');
		at = next;
		if (is_last)
			break;
	}
	return at;
}

static void blank(char *text, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++) {
		if (text[i] != '\n')
			text[i] = ' ';
	}
}

/* What of a statement was seen so far that tells COPY … FROM stdin. */
struct copy_state {
	bool is_copy;
	bool after_from;
	bool is_from_stdin;
	bool begun;
};

static void note_word(struct copy_state *state, str_t text, size_t at, size_t end)
{
	if (!state->begun)
		state->is_copy = is_at(text, at, end, "copy");
	else if (state->is_copy && state->after_from)
		state->is_from_stdin = is_at(text, at, end, "stdin");
	state->after_from = is_at(text, at, end, "from");
	state->begun = true;
}

char *ddl_without_psql(str_t source, struct arena *arena)
{
	str_t text = arena_text(arena, source.ptr ? source.ptr : "", source.len);
	char *bytes = arena_alloc(arena, text.len + 1);
	struct copy_state state = { 0 };
	memcpy(bytes, text.ptr, text.len);
	bytes[text.len] = '\0';
	for (size_t at = 0; at < text.len;) {
		bool line_begins = at == 0 || text.ptr[at - 1] == '\n';
		size_t end = skip_token(text, at);
		if (line_begins && text.ptr[at] == '\\') {
			end = skip_line(text, at);
			blank(bytes, at, end);
		} else if (text.ptr[at] == ';') {
			if (state.is_from_stdin) {
				size_t data = skip_line(text, end);
				end = skip_data(text, data < text.len ? data + 1 : data);
				blank(bytes, data, end);
			}
			state = (struct copy_state){ 0 };
		} else if (is_word(text.ptr[at])) {
			note_word(&state, text, at, end);
		}
		at = end;
	}
	return bytes;
}

static bool is_blank(const char *bytes, size_t from, size_t to)
{
	while (from < to && isspace((unsigned char)bytes[from]))
		from++;
	return from == to;
}

/* By semicolons alone: what is wrong may well be a parenthesis. */
bool ddl_blank_statement(char *bytes, size_t len, size_t at)
{
	str_t text = { bytes, len };
	size_t begin = 0, last = 0, last_end = 0;
	for (size_t i = 0, end; i < len; i = end) {
		end = skip_token(text, i);
		if (bytes[i] != ';' && end < len)
			continue;
		if (!is_blank(bytes, begin, end)) {
			last = begin;
			last_end = end;
		}
		if (last_end == end && at < end)
			break;
		begin = end;
	}
	blank(bytes, last, last_end);
	return last_end > 0;
}

str_t ddl_kept_query(str_t statement, bool has_suffix, struct arena *arena)
{
	size_t start = 0, stop = statement.len;
	int depth = 0;
	for (size_t at = 0, end; at < statement.len; at = end) {
		end = skip_token(statement, at);
		depth += (statement.ptr[at] == '(') - (statement.ptr[at] == ')');
		if (depth != 0)
			continue;
		if (start == 0 && is_at(statement, at, end, "as"))
			start = end;
		else if (start > 0 && has_suffix && is_at(statement, at, end, "with"))
			stop = at;
	}
	while (start < stop && isspace((unsigned char)statement.ptr[start]))
		start++;
	while (stop > start && isspace((unsigned char)statement.ptr[stop - 1]))
		stop--;
	return arena_text(arena, statement.ptr + start, stop - start);
}

str_t ddl_rule_query(str_t statement, struct arena *arena)
{
	size_t start = statement.len;
	for (size_t at = 0, end; at < statement.len && start == statement.len; at = end) {
		end = skip_token(statement, at);
		if (is_at(statement, at, end, "instead"))
			start = end;
	}
	return arena_text(arena, statement.ptr + start, statement.len - start);
}
