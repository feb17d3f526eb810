#include "sql/postgresql/parse/parse.h" // first: see pg_nodes.h

#include "sql/redact.h"

#include "common/buf.h"
#include "sql/lex/gate.h"
#include "sql/lex/identifier.h"
#include "sql/lex/scan.h"
#include "sql/mongodb/front_end.h"
#include "sql/mysql/front_end.h"
#include "sql/postgresql/parse/parse_tokens.h"
#include "sql/sqlite/database.h"

#include <ctype.h>

/* A literal of fewer bytes is only taken out of a message where it stands in quotes. */
#define SHORT_LITERAL_BYTES 3

static void cut(struct sql_redaction *redaction, struct arena *arena, size_t offset, size_t len,
		bool is_comment)
{
	ARENA_PUSH(arena, redaction->cuts, redaction->cuts_count, redaction->cuts_capacity,
		   (struct sql_cut){ .offset = offset, .len = len, .is_comment = is_comment });
}

/* ---- where the literals are ---- */

static bool cut_postgresql(struct sql_redaction *redaction, struct arena *arena)
{
	struct parsed_statement parsed;
	parse_begin(redaction->sql, arena, &parsed);
	bool parses = parsed.count > 0;
	parse_end(&parsed);
	if (!parses)
		return false;
	size_t count;
	const struct parse_token *tokens = parse_tokens(redaction->sql, arena, &count);
	for (size_t i = 0; i < count; i++)
		if (tokens[i].kind != PARSE_TOKEN_OTHER)
			cut(redaction, arena, tokens[i].offset, tokens[i].len,
			    tokens[i].kind == PARSE_TOKEN_COMMENT);
	return tokens != NULL;
}

/* Names need not be known: only the grammar matters. */
static bool parses_sqlite(str_t sql, struct arena *arena)
{
	struct violations violations = { .arena = arena };
	struct sqlite_trace trace = { .arena = arena, .violations = &violations, .text = sql };
	_cleanup_(sqlite_database_cleanup) struct sqlite_database *database = sqlite_database_borrow(NULL);
	struct sqlite_result result = sqlite_database_prepare(database, sql, &trace);
	return result.problem != SQLITE_PROBLEM_SYNTAX && result.problem != SQLITE_PROBLEM_TOO_DEEP;
}

/* What a name or value behind it is compared with. */
static bool compares(str_t sql, struct scan_token token)
{
	if (token.kind == SCAN_WORD)
		return IDENTIFIER_IS_ANY(scan_name(sql, token), "like", "glob", "match", "regexp", "between",
					 "in", "is", "limit");
	return scan_is_char(sql, token, '=') || scan_is_char(sql, token, '<') ||
	       scan_is_char(sql, token, '>') || scan_is_char(sql, token, '|');
}

/* Cuts what the tokens call literals; `quoted`: "…" where a value is expected, too. False: one is broken. */
static bool cut_tokens(struct sql_redaction *redaction, enum sql_dialect dialect, bool quoted,
		       struct arena *arena)
{
	str_t sql = redaction->sql;
	struct scan_token previous = { SCAN_END, 0, 0 };
	bool value = false; /* the token is compared with something before it */
	struct scan_token token = scan_token_at(sql, 0, dialect);
	for (; token.kind != SCAN_END; token = scan_token_at(sql, token.offset + token.len, dialect)) {
		if (token.kind == SCAN_BROKEN)
			return false;
		if (token.kind == SCAN_COMMENT)
			cut(redaction, arena, token.offset, token.len, true);
		if (token.kind == SCAN_SPACE || token.kind == SCAN_COMMENT)
			continue;
		bool text = quoted && value && token.kind == SCAN_QUOTED && sql.ptr[token.offset] == '"';
		if (text || token.kind == SCAN_STRING || token.kind == SCAN_NUMBER)
			cut(redaction, arena, token.offset, token.len, false);
		value = compares(sql, token) ||
			(value && (text || scan_is_char(sql, token, '(') || scan_is_char(sql, token, ',') ||
				   scan_is_word(sql, token, "AND") || token.kind == SCAN_STRING ||
				   token.kind == SCAN_NUMBER || scan_is_word(sql, token, "NOT")));
		previous = token;
	}
	return previous.kind != SCAN_END;
}

struct found_cuts {
	struct sql_redaction *redaction;
	struct arena *arena;
};

static void cut_found(void *context, size_t offset, size_t len, bool is_comment)
{
	const struct found_cuts *cuts = context;
	cut(cuts->redaction, cuts->arena, offset, len, is_comment);
}

static bool find_cuts(struct sql_redaction *redaction, enum sql_dialect dialect, struct arena *arena)
{
	struct found_cuts found = { redaction, arena };
	struct gate_result gate =
		dialect == SQL_MONGODB ? gate_check_bytes(redaction->sql) : gate_check(redaction->sql);
	if (gate.verdict != GATE_PASSED)
		return false;
	switch (dialect) {
	case SQL_POSTGRESQL:
		return cut_postgresql(redaction, arena);
	case SQL_SQLITE:
		return parses_sqlite(redaction->sql, arena) && cut_tokens(redaction, dialect, true, arena);
	case SQL_MYSQL:
		return mysql_literals(redaction->sql, arena, cut_found, &found);
	case SQL_MONGODB:
		return mongodb_literals(redaction->sql, arena, cut_found, &found);
	case SQL_UNKNOWN_DIALECT:
	default:
		return false;
	}
}

/* ---- the text without them ---- */

static const char *replacement(str_t sql, const struct sql_cut *cut)
{
	if (!cut->is_comment)
		return "?";
	switch (sql.ptr[cut->offset]) {
	case '/':
		return "/* ? */";
	case '#':
		return "# ?";
	default:
		return "-- ?";
	}
}

static void replace_cuts(struct sql_redaction *redaction, struct arena *arena)
{
	struct buf text = BUF_INIT;
	size_t at = 0;
	for (size_t i = 0; i < redaction->cuts_count; i++) {
		struct sql_cut *piece = &redaction->cuts[i];
		const char *instead = replacement(redaction->sql, piece);
		buf_append(&text, redaction->sql.ptr + at, piece->offset - at);
		buf_append_text(&text, instead);
		piece->replaced_len = strlen(instead);
		at = piece->offset + piece->len;
	}
	buf_append(&text, redaction->sql.ptr + at, redaction->sql.len - at);
	redaction->text = arena_str(arena, buf_str(&text));
	buf_free(&text);
}

void sql_redact(str_t sql, enum sql_dialect dialect, struct arena *arena, struct sql_redaction *ret_redaction)
{
	*ret_redaction = (struct sql_redaction){ .sql = sql, .text = STR_NONE };
	if (!str_present(sql))
		return;
	ret_redaction->sql = arena_text(arena, sql.ptr, sql.len);
	ret_redaction->whole = !find_cuts(ret_redaction, dialect, arena);
	if (ret_redaction->whole)
		ret_redaction->text = STR("?");
	else
		replace_cuts(ret_redaction, arena);
}

str_t sql_redact_literals(str_t sql, enum sql_dialect dialect, struct arena *arena)
{
	struct sql_redaction redaction;
	sql_redact(sql, dialect, arena, &redaction);
	return redaction.text;
}

int64_t sql_redaction_offset(const struct sql_redaction *redaction, int64_t offset)
{
	if (redaction->whole)
		return 0;
	int64_t shift = 0;
	for (size_t i = 0; i < redaction->cuts_count; i++) {
		const struct sql_cut *piece = &redaction->cuts[i];
		if ((int64_t)piece->offset >= offset)
			break;
		if ((int64_t)(piece->offset + piece->len) > offset)
			return (int64_t)piece->offset + shift;
		shift += (int64_t)piece->replaced_len - (int64_t)piece->len;
	}
	return offset + shift;
}

/* ---- messages ---- */

static bool is_quote(char c)
{
	return c == '"' || c == '\'' || c == '`';
}

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

/* Whether a quotation may begin or end at `at`: not at the apostrophe of a word. */
static bool bounds_quotation(str_t message, size_t at)
{
	bool inside = at > 0 && at + 1 < message.len && isalpha((unsigned char)message.ptr[at - 1]) &&
		      isalpha((unsigned char)message.ptr[at + 1]);
	return is_quote(message.ptr[at]) && !(message.ptr[at] == '\'' && inside);
}

str_t sql_redaction_quotations(str_t message, struct arena *arena)
{
	size_t first = 0, last = message.len;
	while (first < message.len && !bounds_quotation(message, first))
		first++;
	while (last > first && !bounds_quotation(message, last - 1))
		last--;
	if (first == last)
		return message;
	if (last == first + 1) /* it has no end */
		last = message.len;
	str_t before = { message.ptr, first }, behind = { message.ptr + last, message.len - last };
	return arena_printf(arena, STR_FMT "\"?\"" STR_FMT, STR_ARG(before), STR_ARG(behind));
}

/* Whether the literal that begins at `at` in the message is one there and no part of a word. */
static bool stands_alone(str_t message, size_t at, size_t len)
{
	char before = at > 0 ? message.ptr[at - 1] : ' ';
	char after = at + len < message.len ? message.ptr[at + len] : ' ';
	if (len < SHORT_LITERAL_BYTES && !is_quote(message.ptr[at]))
		return is_quote(before) && is_quote(after);
	return !(in_word(before) && in_word(message.ptr[at])) &&
	       !(in_word(after) && in_word(message.ptr[at + len - 1]));
}

static str_t without(str_t message, str_t literal, struct arena *arena)
{
	struct buf text = BUF_INIT;
	size_t at = 0;
	const char *found;
	if (literal.len == 0)
		return message;
	while ((found = memmem(message.ptr + at, message.len - at, literal.ptr, literal.len))) {
		size_t start = (size_t)(found - message.ptr);
		bool alone = stands_alone(message, start, literal.len);
		size_t keep = alone ? start - at : start - at + 1;
		buf_append(&text, message.ptr + at, keep);
		if (alone)
			buf_append_char(&text, '?');
		at += keep + (alone ? literal.len : 0);
	}
	buf_append(&text, message.ptr + at, message.len - at);
	str_t left = text.len ? arena_str(arena, buf_str(&text)) : STR("");
	buf_free(&text);
	return left;
}

/* What is between the outermost quotes of a literal, doubled ones taken for one; else the whole. */
static str_t body(str_t literal, bool undouble, struct arena *arena)
{
	size_t start = 0, end = literal.len;
	while (start < end && literal.ptr[start] != '\'' && literal.ptr[start] != '"' &&
	       literal.ptr[start] != '$')
		start++;
	if (start == end)
		return literal;
	char quote = literal.ptr[start];
	if (quote == '$') {
		const char *close = memchr(literal.ptr + start + 1, '$', end - start - 1);
		size_t tag = close ? (size_t)(close - literal.ptr) - start + 1 : 0;
		return close && end >= start + 2 * tag
			       ? (str_t){ literal.ptr + start + tag, end - start - 2 * tag }
			       : literal;
	}
	struct buf text = BUF_INIT;
	for (size_t i = start + 1; i + 1 < end; i++) {
		if (undouble && literal.ptr[i] == quote && i + 2 < end && literal.ptr[i + 1] == quote)
			i++;
		buf_append_char(&text, literal.ptr[i]);
	}
	str_t inside = arena_str(arena, buf_str(&text));
	buf_free(&text);
	return inside;
}

str_t sql_redaction_message(const struct sql_redaction *redaction, str_t message, struct arena *arena)
{
	if (!str_present(message) || !str_present(redaction->sql))
		return message;
	if (redaction->whole)
		return sql_redaction_quotations(message, arena);
	for (size_t i = 0; i < redaction->cuts_count; i++) {
		const struct sql_cut *piece = &redaction->cuts[i];
		str_t literal = { redaction->sql.ptr + piece->offset, piece->len };
		if (piece->is_comment)
			continue;
		message = without(message, literal, arena);
		message = without(message, body(literal, false, arena), arena);
		message = without(message, body(literal, true, arena), arena);
	}
	return message;
}
