#include "sql/sqlite/tokens.h"

#include "sql/findings/front_end.h"
#include "sql/lex/identifier.h"
#include "sql/lex/statement_words.h"
#include "sql/query/bomb_limits.h"

#include <ctype.h>
#include <strings.h>

#define MAX_NAMES 1000

static struct scan_token first_token(str_t sql)
{
	return scan_next(sql, 0, SQL_SQLITE);
}

struct scan_token sqlite_token_after(str_t sql, struct scan_token token)
{
	return scan_next(sql, token.offset + token.len, SQL_SQLITE);
}

bool sqlite_tokens_have(str_t sql, const char *word)
{
	for (struct scan_token token = first_token(sql); token.kind != SCAN_END;
	     token = sqlite_token_after(sql, token))
		if (scan_is_word(sql, token, word))
			return true;
	return false;
}

bool sqlite_tokens_have_in_brackets(str_t sql, const char *word)
{
	int depth = 0;
	for (struct scan_token token = first_token(sql); token.kind != SCAN_END;
	     token = sqlite_token_after(sql, token)) {
		depth += scan_is_char(sql, token, '(') - scan_is_char(sql, token, ')');
		if (depth > 0 && scan_is_word(sql, token, word))
			return true;
	}
	return false;
}

static bool same_name(str_t sql, struct scan_token token, str_t name)
{
	str_t text = scan_name(sql, token);
	return scan_is_name(token) && identifier_same(text, name);
}

static bool named(str_t sql, struct scan_token token, const char *name)
{
	return same_name(sql, token, str_from(name));
}

/* Largest number among the digits of a literal; a `*` counts as endless. */
static double largest_number(str_t sql, struct scan_token token)
{
	double largest = 0;
	for (size_t i = token.offset; i < token.offset + token.len; i++) {
		if (sql.ptr[i] == '*')
			return BOMB_CALL_BYTES;
		if (!isdigit((unsigned char)sql.ptr[i]))
			continue;
		char *end;
		double value = strtod(sql.ptr + i, &end);
		largest = value > largest ? value : largest;
		i = (size_t)(end - sql.ptr) - 1;
	}
	return largest;
}

/* randomblob(n), zeroblob(n): only a small plain number is surely small; a format text must be a literal
 * without huge widths. */
static void check_size(str_t sql, struct scan_token call, struct violations *violations)
{
	bool blob = named(sql, call, "zeroblob") || named(sql, call, "randomblob");
	bool format = named(sql, call, "printf") || named(sql, call, "format");
	if (!blob && !format)
		return;
	struct scan_token argument = sqlite_token_after(sql, sqlite_token_after(sql, call));
	struct scan_token close = sqlite_token_after(sql, argument);
	bool small = argument.kind == (blob ? SCAN_NUMBER : SCAN_STRING) &&
		     (scan_is_char(sql, close, ')') || (format && scan_is_char(sql, close, ',')));
	if (!small || largest_number(sql, argument) >= BOMB_CALL_BYTES)
		violations_add(violations, VIOLATION_RESOURCE_BOMB, (int64_t)call.offset,
			       STR_FMT " of a size that is huge or not known", STR_ARG(scan_name(sql, call)));
}

static void check_call(str_t sql, struct scan_token call, struct violations *violations)
{
	static const struct {
		const char *name;
		enum sql_violation_code code;
	} refused[] = {
		{ "load_extension", VIOLATION_FILE_ACCESS },
		{ "readfile", VIOLATION_FILE_ACCESS },
		{ "writefile", VIOLATION_FILE_ACCESS },
		{ "edit", VIOLATION_FILE_ACCESS },
		{ "fsdir", VIOLATION_FILE_ACCESS },
		{ "zipfile", VIOLATION_FILE_ACCESS },
		{ "fts3_tokenizer", VIOLATION_DANGEROUS_FUNCTION },
		{ "eval", VIOLATION_DANGEROUS_FUNCTION },
		{ "sqlite_log", VIOLATION_DANGEROUS_FUNCTION },
		{ "system", VIOLATION_DANGEROUS_FUNCTION },
		{ "shell", VIOLATION_DANGEROUS_FUNCTION },
		{ "sleep", VIOLATION_TIME_BASED },
		{ "benchmark", VIOLATION_TIME_BASED },
	};
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
		if (named(sql, call, refused[i].name))
			violations_add(violations, refused[i].code, (int64_t)call.offset, "%s",
				       refused[i].name);
	check_size(sql, call, violations);
}

/* Behind EXPLAIN [QUERY PLAN], which reads what it explains. */
static struct scan_token explained(str_t sql, struct scan_token token)
{
	if (!scan_is_word(sql, token, "EXPLAIN"))
		return token;
	token = sqlite_token_after(sql, token);
	if (!scan_is_word(sql, token, "QUERY"))
		return token;
	token = sqlite_token_after(sql, token);
	return scan_is_word(sql, token, "PLAN") ? sqlite_token_after(sql, token) : token;
}

/* Words that no query can hold outside of quotes. */
static bool is_writing_word(str_t sql, struct scan_token token)
{
	return token.kind == SCAN_WORD && IDENTIFIER_IS_ANY(scan_name(sql, token), "insert", "update",
							    "delete", "drop", "alter", "create", "into");
}

static bool is_literal(struct scan_token token)
{
	return token.kind == SCAN_STRING || token.kind == SCAN_NUMBER;
}

static bool same_text(str_t sql, struct scan_token a, struct scan_token b)
{
	return a.len == b.len && memcmp(sql.ptr + a.offset, sql.ptr + b.offset, a.len) == 0;
}

/* Whether two literals are surely unlike: numbers by value, texts in any case (a collation may follow). What
 * an operator goes on behind is not looked into. */
static bool surely_differ(str_t sql, struct scan_token left, struct scan_token right)
{
	struct scan_token next = sqlite_token_after(sql, right);
	if (next.kind != SCAN_END && next.kind != SCAN_WORD && !scan_is_char(sql, next, ')') &&
	    !scan_is_char(sql, next, ';'))
		return false;
	if (left.kind != right.kind)
		return false;
	if (left.kind == SCAN_STRING)
		return left.len != right.len ||
		       strncasecmp(sql.ptr + left.offset, sql.ptr + right.offset, left.len) != 0;
	double difference = strtod(sql.ptr + left.offset, NULL) - strtod(sql.ptr + right.offset, NULL);
	return difference < 0 || difference > 0;
}

/* OR 1 = 1, OR "a" = "a" */
static void check_tautology(str_t sql, struct scan_token token, struct violations *violations)
{
	if (!scan_is_word(sql, token, "OR"))
		return;
	struct scan_token left = sqlite_token_after(sql, token);
	while (scan_is_char(sql, left, '('))
		left = sqlite_token_after(sql, left);
	struct scan_token equals = sqlite_token_after(sql, left);
	bool quoted = left.kind == SCAN_QUOTED;
	if ((!is_literal(left) && !quoted) || !scan_is_char(sql, equals, '='))
		return;
	struct scan_token right = sqlite_token_after(sql, equals);
	if (scan_is_char(sql, right, '='))
		right = sqlite_token_after(sql, right);
	if (quoted ? same_text(sql, left, right) : is_literal(right) && !surely_differ(sql, left, right))
		violations_add(violations, VIOLATION_INJECTION_PATTERN, (int64_t)left.offset,
			       "a condition that is always true");
}

static enum statement_word begins(str_t sql, struct scan_token token)
{
	return token.kind == SCAN_WORD ? statement_word(scan_name(sql, token), SQL_SQLITE)
				       : STATEMENT_WORD_NONE;
}

static void check_begin(str_t sql, struct scan_token token, struct violations *violations)
{
	if (begins(sql, explained(sql, token)) == STATEMENT_WORD_OTHER)
		violations_add(violations, VIOLATION_NOT_A_READ, (int64_t)token.offset,
			       "no query begins with %.*s", token.len < 40 ? (int)token.len : 40,
			       sql.ptr + token.offset);
}

/* A word behind a semicolon may begin another statement; false: something stands there. */
static bool check_statements(str_t sql, bool parses, struct violations *violations)
{
	bool ended = false, alone = true;
	for (struct scan_token token = first_token(sql); token.kind != SCAN_END;
	     token = sqlite_token_after(sql, token)) {
		if (scan_is_char(sql, token, ';')) {
			ended = true;
		} else if (ended) {
			ended = alone = false;
			if (!parses)
				continue;
			if (begins(sql, token) == STATEMENT_WORD_NONE) {
				violations_doubt(violations, "what follows the semicolon is no statement");
				continue;
			}
			violations_add(violations, VIOLATION_MULTIPLE_STATEMENTS, (int64_t)token.offset,
				       "more than one statement");
			check_begin(sql, token, violations);
		}
	}
	return alone;
}

/* Whether what follows a dollar can swallow more than the name of a parameter: a part in brackets does. */
static bool hides(str_t sql, size_t at)
{
	size_t start = at;
	while (at < sql.len && (isalnum((unsigned char)sql.ptr[at]) || sql.ptr[at] == '_'))
		at++;
	return at == start || (at < sql.len && (sql.ptr[at] == '(' || sql.ptr[at] == ':'));
}

bool sqlite_tokens_check(str_t sql, bool parses, struct violations *violations)
{
	bool whole = true;
	struct scan_token token = first_token(sql);
	struct scan_token previous = { SCAN_END, 0, 0 };
	if (parses)
		check_begin(sql, token, violations);
	for (; token.kind != SCAN_END; token = sqlite_token_after(sql, token)) {
		bool field = scan_is_char(sql, previous, '.');
		if (parses && !field && is_writing_word(sql, token))
			violations_add(violations, VIOLATION_NOT_A_READ, (int64_t)token.offset, STR_FMT,
				       STR_ARG(scan_name(sql, token)));
		if (scan_is_name(token) && scan_is_char(sql, sqlite_token_after(sql, token), '('))
			check_call(sql, token, violations);
		if (scan_is_char(sql, token, '$') && hides(sql, token.offset + 1))
			violations_add(violations, VIOLATION_UNANALYSABLE, (int64_t)token.offset,
				       "a token that cannot be read");
		whole &= token.kind != SCAN_BROKEN;
		check_tautology(sql, token, violations);
		previous = token;
	}
	front_end_check_comments(sql, SQL_SQLITE, " ", violations);
	if (!whole)
		violations_doubt(violations, "a literal or comment that never ends");
	return check_statements(sql, parses, violations) && whole;
}

size_t sqlite_tokens_excess_offset(str_t sql)
{
	bool ended = false;
	for (struct scan_token token = first_token(sql); token.kind != SCAN_END;
	     token = sqlite_token_after(sql, token)) {
		bool semicolon = scan_is_char(sql, token, ';');
		if (token.kind == SCAN_BROKEN || (ended && !semicolon))
			return token.offset;
		ended |= semicolon;
	}
	return sql.len;
}

static bool is_not_a_read(const struct sql_violation *violation)
{
	return strcmp(violation->code, violation_name(VIOLATION_NOT_A_READ)) == 0;
}

/* Semicolons before the offset. */
static size_t statement_of(str_t sql, size_t offset)
{
	size_t statement = 0;
	for (struct scan_token token = first_token(sql); token.kind != SCAN_END && token.offset < offset;
	     token = sqlite_token_after(sql, token))
		statement += scan_is_char(sql, token, ';');
	return statement;
}

void sqlite_tokens_tell_once(str_t sql, struct violations *violations)
{
	struct sql_violation *items = violations->items;
	size_t statements[VIOLATIONS_MAX], kept = 0;
	for (size_t i = 0; i < violations->count; i++) {
		size_t same = kept; /* the one that is kept of the same statement */
		statements[kept] = SIZE_MAX;
		if (is_not_a_read(&items[i])) {
			statements[kept] =
				statement_of(sql, (size_t)items[i].offset - violations->text_offset);
			for (same = 0; statements[same] != statements[kept];)
				same++;
		}
		if (same == kept)
			items[kept++] = items[i];
		else if (items[i].offset < items[same].offset)
			items[same] = items[i];
	}
	violations->count = kept;
}

bool sqlite_is_aggregate(str_t name)
{
	return IDENTIFIER_IS_ANY(name, "count", "sum", "avg", "min", "max", "total", "group_concat",
				 "string_agg", "json_group_array", "json_group_object");
}

bool sqlite_token_aggregates(str_t sql, struct scan_token token)
{
	return token.kind == SCAN_WORD && sqlite_is_aggregate(scan_name(sql, token)) &&
	       scan_is_char(sql, sqlite_token_after(sql, token), '(');
}

struct shape {
	bool select; /* at the top, FROM has not come yet */
	bool star;
	size_t star_offset;
	bool from, limited, grouped;
};

static void see_top_token(str_t sql, struct scan_token previous, struct scan_token token, struct shape *shape)
{
	if (scan_is_word(sql, token, "SELECT"))
		shape->select = true;
	bool starts_item = scan_is_word(sql, previous, "SELECT") || scan_is_word(sql, previous, "DISTINCT") ||
			   scan_is_char(sql, previous, ',') || scan_is_char(sql, previous, '.');
	if (shape->select && scan_is_char(sql, token, '*') && starts_item && !shape->star) {
		shape->star = true;
		shape->star_offset = token.offset;
	}
	if (scan_is_word(sql, token, "FROM")) {
		shape->select = false;
		shape->from = true;
	}
	shape->limited = shape->limited || scan_is_word(sql, token, "LIMIT");
	shape->grouped = shape->grouped || scan_is_word(sql, token, "GROUP") ||
			 (shape->select && sqlite_token_aggregates(sql, token));
}

void sqlite_tokens_warn(str_t sql, struct diagnostics *diagnostics)
{
	struct shape shape = { 0 };
	int depth = 0;
	struct scan_token previous = { SCAN_END, 0, 0 };
	for (struct scan_token token = first_token(sql); token.kind != SCAN_END;
	     token = sqlite_token_after(sql, token)) {
		depth += scan_is_char(sql, token, '(') - scan_is_char(sql, token, ')');
		if (depth == 0)
			see_top_token(sql, previous, token, &shape);
		previous = token;
	}
	if (shape.star)
		diagnostics_add(diagnostics, DIAG_RISKY_PATTERN, SUB_RISKY_PATTERN_SELECT_STAR, STR("*"),
				(int64_t)shape.star_offset, "name the columns that are needed instead of *");
	if (shape.from && !shape.limited && !shape.grouped)
		diagnostics_add(diagnostics, DIAG_MISSING_LIMIT, SUB_NONE, STR("query"), 0,
				"the query is neither aggregated nor limited; add a LIMIT");
}

bool sqlite_tokens_next_name(str_t sql, struct sqlite_name *name)
{
	struct scan_token token = scan_next(sql, name->next, SQL_SQLITE);
	while (token.kind != SCAN_END && !scan_is_name(token))
		token = sqlite_token_after(sql, token);
	if (token.kind == SCAN_END)
		return false;
	*name = (struct sqlite_name){ .name = scan_name(sql, token),
				      .offset = token.offset,
				      .is_call = scan_is_char(sql, sqlite_token_after(sql, token), '('),
				      .next = token.offset + token.len };
	return true;
}

void sqlite_tokens_check_modules(str_t sql, struct violations *violations)
{
	struct sqlite_name found = { 0 };
	while (sqlite_tokens_next_name(sql, &found)) {
		if ((found.name.len > 7 && strncasecmp(found.name.ptr, "pragma_", 7) == 0) ||
		    IDENTIFIER_IS_ANY(found.name, "dbstat", "sqlite_stmt", "sqlite_dbpage", "sqlite_dbdata",
				      "sqlite_dbptr", "fts3tokenize", "fsdir", "bytecode"))
			violations_add(violations, VIOLATION_SYSTEM_CATALOG, (int64_t)found.offset,
				       "table " STR_FMT, STR_ARG(found.name));
	}
}

static bool already(const struct buf *names, str_t quoted)
{
	return names->data && memmem(names->data, names->len, quoted.ptr, quoted.len);
}

void sqlite_tokens_names(str_t sql, struct buf *names)
{
	size_t count = 0;
	for (struct scan_token token = first_token(sql); token.kind != SCAN_END && count < MAX_NAMES;
	     token = sqlite_token_after(sql, token)) {
		str_t name = scan_name(sql, token);
		if (!scan_is_name(token) || name.len == 0 || memchr(name.ptr, '"', name.len))
			continue;
		struct buf quoted = BUF_INIT;
		buf_append_char(&quoted, '"');
		for (size_t i = 0; i < name.len; i++)
			buf_append_char(&quoted, (char)tolower((unsigned char)name.ptr[i]));
		buf_append_char(&quoted, '"');
		if (!already(names, buf_str(&quoted))) {
			if (names->len > 0)
				buf_append_char(names, ',');
			buf_append_str(names, buf_str(&quoted));
			count++;
		}
		buf_free(&quoted);
	}
}

/* A quoted name may have dots of its own: then it is no qualified one. */
static const char *qualifier_dot(str_t sql, str_t name)
{
	for (struct scan_token token = first_token(sql); token.kind != SCAN_END;
	     token = sqlite_token_after(sql, token))
		if (token.kind == SCAN_QUOTED && same_name(sql, token, name))
			return NULL;
	return memchr(name.ptr, '.', name.len);
}

int64_t sqlite_tokens_find(str_t sql, str_t name)
{
	const char *dot = qualifier_dot(sql, name);
	str_t last = dot ? (str_t){ dot + 1, (size_t)(name.ptr + name.len - dot) - 1 } : name;
	struct scan_token before = { SCAN_END, 0, 0 };
	struct scan_token previous = { SCAN_END, 0, 0 };
	for (struct scan_token token = first_token(sql); token.kind != SCAN_END;
	     token = sqlite_token_after(sql, token)) {
		bool qualified = scan_is_char(sql, previous, '.');
		if (same_name(sql, token, last) && (!dot || qualified))
			return (int64_t)(dot ? before.offset : token.offset);
		before = previous;
		previous = token;
	}
	return -1;
}

static void mask(char *text, size_t from, size_t to)
{
	memset(text + from, ' ', to - from);
	text[from] = '?'; /* unlike a number, it never means a column of the result */
}

void sqlite_tokens_mask_at(char *text, size_t len, size_t offset)
{
	struct scan_token token = scan_token_at((str_t){ text, len }, offset, SQL_SQLITE);
	if (token.len > 0)
		mask(text, offset, offset + token.len);
}

bool sqlite_tokens_mask_column(char *text, size_t len, str_t name)
{
	str_t sql = { text, len };
	const char *dot = qualifier_dot(sql, name);
	str_t table = dot ? (str_t){ name.ptr, (size_t)(dot - name.ptr) } : STR_NONE;
	str_t column = dot ? (str_t){ dot + 1, name.len - table.len - 1 } : name;
	bool found = false;
	struct scan_token before = { SCAN_END, 0, 0 };
	struct scan_token previous = { SCAN_END, 0, 0 };
	for (struct scan_token token = first_token(sql); token.kind != SCAN_END;
	     token = sqlite_token_after(sql, token)) {
		bool qualified = scan_is_char(sql, previous, '.');
		bool match = same_name(sql, token, column) &&
			     (dot ? qualified && same_name(sql, before, table)
				  : !qualified && !scan_is_word(sql, previous, "AS")) &&
			     !scan_is_char(sql, sqlite_token_after(sql, token), '(') &&
			     !scan_is_char(sql, sqlite_token_after(sql, token), '.');
		if (match) {
			mask(text, dot ? before.offset : token.offset, token.offset + token.len);
			found = true;
			token = (struct scan_token){ SCAN_PARAMETER, token.offset, token.len };
		}
		before = previous;
		previous = token;
	}
	return found;
}
