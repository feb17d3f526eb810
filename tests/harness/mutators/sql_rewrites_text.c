#include "sql/lex/scan.h"
#include "tests/harness/mutators/sql_rewrites_internal.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

static char kind_of(enum scan_kind kind)
{
	static const char kinds[] = { [SCAN_WORD] = 'w',
				      [SCAN_QUOTED] = 'q',
				      [SCAN_STRING] = 's',
				      [SCAN_NUMBER] = 'n',
				      [SCAN_OTHER] = 'o' };
	return (size_t)kind < sizeof kinds ? kinds[kind] : 0;
}

static bool joins_operator(str_t sql, const struct rewrite_token *before, size_t at)
{
	static const char *const pairs[] = { "<>", "!=", "<=", ">=", "::", "||" };
	if (before->kind != 'o' || before->len != 1 || before->at + 1 != at)
		return false;
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
		if (memcmp(sql.ptr + before->at, pairs[i], 2) == 0)
			return true;
	return false;
}

bool word_is(const struct rewrite *rewrite, size_t token, const char *word)
{
	if (token >= rewrite->count || strlen(word) != rewrite->tokens[token].len)
		return false;
	return strncasecmp(rewrite->sql.ptr + rewrite->tokens[token].at, word, rewrite->tokens[token].len) ==
	       0;
}

size_t token_find(const struct rewrite *rewrite, size_t from, size_t end, const char *word, int depth)
{
	for (size_t i = from; i < end && i < rewrite->count; i++)
		if (rewrite->tokens[i].depth == depth && word_is(rewrite, i, word))
			return i;
	return NO_TOKEN;
}

static void find_clauses(struct rewrite *rewrite)
{
	struct rewrite_clauses *clauses = &rewrite->clauses;
	size_t count = rewrite->count;
	clauses->with = word_is(rewrite, 0, "with") ? 0 : NO_TOKEN;
	clauses->select = token_find(rewrite, 0, count, "select", 0);
	clauses->from = token_find(rewrite, 0, count, "from", 0);
	clauses->where = token_find(rewrite, 0, count, "where", 0);
	clauses->group = token_find(rewrite, 0, count, "group", 0);
	clauses->having = token_find(rewrite, 0, count, "having", 0);
	clauses->order = token_find(rewrite, 0, count, "order", 0);
	clauses->limit = token_find(rewrite, 0, count, "limit", 0);
	static const char *const odd[] = { "union",  "intersect", "except", "window",
					   "offset", "fetch",	  "values" };
	clauses->plain = clauses->select != NO_TOKEN && clauses->from != NO_TOKEN &&
			 token_find(rewrite, 0, count, "on", 0) != clauses->select + 2;
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
		clauses->plain = clauses->plain && token_find(rewrite, 0, count, odd[i], 0) == NO_TOKEN;
}

bool rewrite_begin(struct rewrite *rewrite, str_t sql, struct arena *arena)
{
	rewrite->sql = sql;
	rewrite->arena = arena;
	rewrite->count = 0;
	int depth = 0;
	struct scan_token token = scan_next(sql, 0, SQL_POSTGRESQL);
	for (; token.kind != SCAN_END; token = scan_next(sql, token.offset + token.len, SQL_POSTGRESQL)) {
		struct rewrite_token *before = rewrite->count ? &rewrite->tokens[rewrite->count - 1] : NULL;
		if (kind_of(token.kind) == 0 || rewrite->count >= REWRITE_TOKENS_MAX)
			return false;
		if (token.kind == SCAN_OTHER && before && joins_operator(sql, before, token.offset)) {
			before->len = 2;
			continue;
		}
		bool open = scan_is_char(sql, token, '('), close = scan_is_char(sql, token, ')');
		depth += open;
		rewrite->tokens[rewrite->count++] =
			(struct rewrite_token){ token.offset, token.len, kind_of(token.kind), depth };
		depth -= close;
	}
	while (rewrite->count > 0 && word_is(rewrite, rewrite->count - 1, ";"))
		rewrite->count--;
	find_clauses(rewrite);
	return rewrite->count > 0 && depth == 0;
}

str_t tokens_text(const struct rewrite *rewrite, size_t from, size_t end)
{
	if (from >= end)
		return STR("");
	size_t at = rewrite->tokens[from].at;
	const struct rewrite_token *last = &rewrite->tokens[end - 1];
	return arena_text(rewrite->arena, rewrite->sql.ptr + at, last->at + last->len - at);
}

size_t clause_end(const struct rewrite *rewrite, size_t clause)
{
	const struct rewrite_clauses *clauses = &rewrite->clauses;
	const size_t starts[] = { clauses->from,   clauses->where, clauses->group,
				  clauses->having, clauses->order, clauses->limit };
	size_t end = rewrite->count;
	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if (starts[i] != NO_TOKEN && starts[i] > clause && starts[i] < end)
			end = starts[i];
	return end;
}

size_t token_closing(const struct rewrite *rewrite, size_t open)
{
	return token_find(rewrite, open, rewrite->count, ")", rewrite->tokens[open].depth);
}

str_t rewrite_replace(const struct rewrite *rewrite, size_t from, size_t end, const char *format, ...)
{
	char *text = NULL;
	va_list arguments;
	va_start(arguments, format);
	int len = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (len < 0)
		abort();
	str_t result =
		arena_printf(rewrite->arena, STR_FMT " %s " STR_FMT, STR_ARG(tokens_text(rewrite, 0, from)),
			     text, STR_ARG(tokens_text(rewrite, end, rewrite->count)));
	free(text);
	return result;
}

static bool is_operand(const struct rewrite *rewrite, size_t token)
{
	static const char *const keywords[] = { "and",	"or",	 "not",	    "where",  "on",    "when", "then",
						"else", "end",	 "null",    "true",   "false", "in",   "is",
						"like", "ilike", "between", "having", "case",  "by" };
	if (token >= rewrite->count || rewrite->tokens[token].kind == 'o')
		return false;
	for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
		if (word_is(rewrite, token, keywords[i]))
			return false;
	return true;
}

static bool any_of(const struct rewrite *rewrite, size_t token, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (word_is(rewrite, token, words[i]))
			return true;
	return false;
}

size_t operand_start(const struct rewrite *rewrite, size_t end)
{
	static const char *const before[] = { "and", "or", "where", "on", "having", "when", "(" };
	if (end == 0 || !is_operand(rewrite, end - 1))
		return NO_TOKEN;
	size_t start = end - 1;
	if (start >= 2 && word_is(rewrite, start - 1, ".") && rewrite->tokens[start].kind != 'n')
		start -= 2;
	return start > 0 && any_of(rewrite, start - 1, before, sizeof before / sizeof *before) ? start
											       : NO_TOKEN;
}

size_t operand_end(const struct rewrite *rewrite, size_t start)
{
	static const char *const behind[] = { "and",   "or",	")",	  "then", "group",
					      "order", "limit", "having", "join", "left",
					      "inner", "where", "right",  "full", "cross" };
	if (!is_operand(rewrite, start))
		return NO_TOKEN;
	size_t end = start + 1;
	if (word_is(rewrite, end, ".") && is_operand(rewrite, end + 1))
		end += 2;
	return end == rewrite->count || any_of(rewrite, end, behind, sizeof behind / sizeof *behind)
		       ? end
		       : NO_TOKEN;
}

static struct rewrite_parts split(const struct rewrite *rewrite, size_t from, size_t end,
				  const char *separator)
{
	struct rewrite_parts parts = { .count = 1 };
	int depth = from < rewrite->count ? rewrite->tokens[from].depth - word_is(rewrite, from, "(") : 0;
	parts.starts[0] = from;
	for (size_t i = from; i < end; i++) {
		if (rewrite->tokens[i].depth != depth || !word_is(rewrite, i, separator))
			continue;
		parts.ends[parts.count - 1] = i;
		if (parts.count == 64)
			return (struct rewrite_parts){ .count = 0 };
		parts.starts[parts.count++] = i + 1;
	}
	parts.ends[parts.count - 1] = end;
	return parts;
}

struct rewrite_parts split_commas(const struct rewrite *rewrite, size_t from, size_t end)
{
	return split(rewrite, from, end, ",");
}

struct rewrite_parts split_ands(const struct rewrite *rewrite, size_t from, size_t end)
{
	int depth = from < rewrite->count ? rewrite->tokens[from].depth - word_is(rewrite, from, "(") : 0;
	static const char *const odd[] = { "or", "between", "case", "when" };
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
		if (token_find(rewrite, from, end, odd[i], depth) != NO_TOKEN)
			return (struct rewrite_parts){ .count = 0 };
	return split(rewrite, from, end, "and");
}

const struct sql_rewrite_kind *sql_rewrite_kinds(size_t *ret_count)
{
	static struct sql_rewrite_kind kinds[200];
	size_t count = 0;
	for (size_t i = 0; i < preserving_rewrites_count; i++)
		kinds[count++] = preserving_rewrites[i].kind;
	for (size_t i = 0; i < changing_rewrites_count; i++)
		kinds[count++] = changing_rewrites[i].kind;
	*ret_count = count;
	return kinds;
}

str_t sql_rewrite(size_t kind, str_t sql, struct arena *arena)
{
	static struct rewrite rewrite;
	if (!rewrite_begin(&rewrite, sql, arena))
		return STR_NONE;
	return kind < preserving_rewrites_count
		       ? preserving_rewrites[kind].apply(&rewrite)
		       : changing_rewrites[kind - preserving_rewrites_count].apply(&rewrite);
}
