#include "tests/harness/mutators/sql_mutants_text.h"

#include <ctype.h>

static const char *const keywords[] = {
	"select",    "from",	 "where",  "group",	"by",	   "having",	"order",   "limit",
	"offset",    "join",	 "left",   "right",	"full",	   "inner",	"outer",   "cross",
	"natural",   "on",	 "using",  "as",	"and",	   "or",	"not",	   "in",
	"is",	     "null",	 "like",   "ilike",	"between", "exists",	"case",	   "when",
	"then",	     "else",	 "end",	   "distinct",	"all",	   "any",	"union",   "intersect",
	"except",    "with",	 "asc",	   "desc",	"nulls",   "first",	"last",	   "over",
	"partition", "window",	 "filter", "within",	"lateral", "recursive", "values",  "true",
	"false",     "interval", "rows",   "preceding", "current", "unbounded", "similar", "at",
	"zone",	     "row",	 "array",  "following", "fetch",   "next",	"only",	   "collate",
};

size_t mutation_random(struct mutation *mutation, size_t limit)
{
	/* splitmix64 */
	uint64_t z = mutation->random += UINT64_C(0x9E3779B97F4A7C15);
	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return (size_t)((z ^ (z >> 31)) % limit);
}

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static size_t word_length(str_t sql, size_t at)
{
	size_t end = at;
	while (end < sql.len && in_word(sql.ptr[end]))
		end++;
	return end - at;
}

static size_t number_length(str_t sql, size_t at)
{
	size_t end = at;
	while (end < sql.len && (isdigit((unsigned char)sql.ptr[end]) || sql.ptr[end] == '.'))
		end++;
	return end - at;
}

static size_t quoted_length(str_t sql, size_t at)
{
	size_t end = at + 1;
	while (end < sql.len &&
	       (sql.ptr[end] != sql.ptr[at] || (end + 1 < sql.len && sql.ptr[end + 1] == sql.ptr[at])))
		end += sql.ptr[end] == sql.ptr[at] ? 2 : 1;
	return (end < sql.len ? end + 1 : sql.len) - at;
}

static size_t operator_length(str_t sql, size_t at)
{
	size_t length = strspn(sql.ptr + at, "<>=!:|-+*/%^~@#&?");
	/* `- 1`, `*` and the like stand alone. */
	return length > 1 && strchr("<>!:|-~@&#", sql.ptr[at]) ? length : 1;
}

static struct token read_token(str_t sql, size_t at)
{
	char c = sql.ptr[at];
	struct token token = { .at = at, .len = 1, .match = NO_TOKEN };
	if (isdigit((unsigned char)c)) {
		token.kind = TOKEN_NUMBER;
		token.len = number_length(sql, at);
	} else if (in_word(c)) {
		token.kind = TOKEN_WORD;
		token.len = word_length(sql, at);
		for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++) {
			if (strlen(keywords[i]) == token.len &&
			    strncasecmp(keywords[i], sql.ptr + at, token.len) == 0)
				token.kind = TOKEN_KEYWORD;
		}
	} else if (c == '\'' || c == '"') {
		token.kind = c == '"' ? TOKEN_WORD : TOKEN_STRING;
		token.len = quoted_length(sql, at);
	} else if (c == '(' || c == '[') {
		token.kind = TOKEN_OPEN;
	} else if (c == ')' || c == ']') {
		token.kind = TOKEN_CLOSE;
	} else if (c == ',' || c == '.') {
		token.kind = c == ',' ? TOKEN_COMMA : TOKEN_DOT;
	} else {
		token.kind = TOKEN_OPERATOR;
		token.len = operator_length(sql, at);
	}
	return token;
}

str_t token_text(const struct mutation *mutation, size_t token)
{
	const struct token *found = &mutation->tokens[token];
	return (str_t){ mutation->sql.ptr + found->at, found->len };
}

str_t span_text(const struct mutation *mutation, struct token_span span)
{
	if (span.start >= span.end)
		return STR("");
	const struct token *last = &mutation->tokens[span.end - 1];
	size_t at = mutation->tokens[span.start].at;
	return (str_t){ mutation->sql.ptr + at, last->at + last->len - at };
}

bool token_is(const struct mutation *mutation, size_t token, const char *text)
{
	if (token >= mutation->count)
		return false;
	str_t word = token_text(mutation, token);
	return strlen(text) == word.len && strncasecmp(text, word.ptr, word.len) == 0;
}

static bool kind_is(const struct mutation *mutation, size_t token, enum token_kind kind)
{
	return token < mutation->count && mutation->tokens[token].kind == kind;
}

/* What a pair of parentheses holds; `select` since a SELECT began in it. */
struct frame {
	enum clause clause;
	bool select;
	size_t open;
};

static const struct {
	const char *word;
	enum clause clause;
} clause_words[] = {
	{ "with", CLAUSE_WITH },   { "from", CLAUSE_FROM },	  { "join", CLAUSE_FROM },
	{ "where", CLAUSE_WHERE }, { "group", CLAUSE_GROUP },	  { "having", CLAUSE_HAVING },
	{ "order", CLAUSE_ORDER }, { "limit", CLAUSE_LIMIT },	  { "offset", CLAUSE_LIMIT },
	{ "fetch", CLAUSE_LIMIT }, { "window", CLAUSE_WINDOW },	  { "on", CLAUSE_ON },
	{ "union", CLAUSE_OTHER }, { "intersect", CLAUSE_OTHER }, { "except", CLAUSE_OTHER },
};

static void read_keyword(const struct mutation *mutation, size_t token, struct frame *frame)
{
	bool distinct = token > 0 && token_is(mutation, token - 1, "distinct");
	if (token_is(mutation, token, "select"))
		*frame = (struct frame){ CLAUSE_SELECT, true, frame->open };
	if (!frame->select && !token_is(mutation, token, "with"))
		return;
	for (size_t i = 0; i < sizeof clause_words / sizeof clause_words[0]; i++) {
		if (token_is(mutation, token, clause_words[i].word) && !distinct)
			frame->clause = clause_words[i].clause;
	}
}

/* A parenthesis in FROM behind a name or USING holds no relations. */
static enum clause inner_clause(const struct mutation *mutation, size_t open, enum clause outer)
{
	bool names = open > 0 &&
		     (mutation->tokens[open - 1].kind == TOKEN_WORD || token_is(mutation, open - 1, "using"));
	return outer == CLAUSE_FROM && names ? CLAUSE_OTHER : outer;
}

static void label(struct mutation *mutation)
{
	struct frame frames[MUTATION_DEPTH_MAX] = { { CLAUSE_OTHER, false, NO_TOKEN } };
	size_t depth = 0;
	for (size_t i = 0; i < mutation->count; i++) {
		struct token *token = &mutation->tokens[i];
		if (token->kind == TOKEN_CLOSE && depth > 0) {
			token->match = frames[depth].open;
			mutation->tokens[token->match].match = i;
			depth--;
		}
		if (token->kind == TOKEN_KEYWORD)
			read_keyword(mutation, i, &frames[depth]);
		token->clause = frames[depth].clause;
		token->depth = depth;
		if (token->kind == TOKEN_OPEN && depth + 1 < MUTATION_DEPTH_MAX) {
			enum clause clause = inner_clause(mutation, i, token->clause);
			frames[++depth] = (struct frame){ clause, false, i };
		}
	}
}

void mutation_read(struct mutation *mutation, str_t sql)
{
	mutation->sql = sql;
	mutation->count = 0;
	for (size_t at = 0; at < sql.len && mutation->count < MUTATION_TOKENS_MAX;) {
		if (isspace((unsigned char)sql.ptr[at])) {
			at++;
			continue;
		}
		struct token token = read_token(sql, at);
		mutation->tokens[mutation->count++] = token;
		at += token.len;
	}
	label(mutation);
}

void mutation_replace(struct mutation *mutation, struct token_span span, str_t text)
{
	str_t sql = mutation->sql;
	bool inserts = span.start == span.end;
	size_t from = span.start < mutation->count ? mutation->tokens[span.start].at : sql.len;
	size_t to = inserts ? from : mutation->tokens[span.end - 1].at + mutation->tokens[span.end - 1].len;
	mutation_read(mutation, arena_printf(mutation->arena, "%.*s%s" STR_FMT "%s%s", (int)from, sql.ptr,
					     inserts && from == sql.len ? " " : "", STR_ARG(text),
					     inserts && from < sql.len ? " " : "", sql.ptr + to));
}

size_t mutation_pick(struct mutation *mutation, token_predicate *predicate)
{
	size_t found = 0;
	for (size_t i = 0; i < mutation->count; i++)
		found += predicate(mutation, i);
	if (found == 0)
		return NO_TOKEN;
	size_t chosen = mutation_random(mutation, found);
	for (size_t i = 0;; i++) {
		if (predicate(mutation, i) && chosen-- == 0)
			return i;
	}
}

bool token_is_name(const struct mutation *mutation, size_t token)
{
	return kind_is(mutation, token, TOKEN_WORD);
}

static bool in_expression(const struct mutation *mutation, size_t token)
{
	enum clause clause = mutation->tokens[token].clause;
	return clause != CLAUSE_OTHER && clause != CLAUSE_FROM && clause != CLAUSE_WITH;
}

/* Behind these a name is an alias, a field or a type. */
static bool ends_value(const struct mutation *mutation, size_t token)
{
	enum token_kind kind = mutation->tokens[token].kind;
	return kind == TOKEN_WORD || kind == TOKEN_STRING || kind == TOKEN_NUMBER || kind == TOKEN_CLOSE ||
	       kind == TOKEN_DOT || token_is(mutation, token, "as") || token_is(mutation, token, "end") ||
	       token_is(mutation, token, "::");
}

bool token_is_operand(const struct mutation *mutation, size_t token)
{
	enum token_kind kind = mutation->tokens[token].kind;
	if (kind != TOKEN_WORD && kind != TOKEN_STRING && kind != TOKEN_NUMBER)
		return false;
	return in_expression(mutation, token) && token > 0 && !ends_value(mutation, token - 1);
}

bool token_is_literal(const struct mutation *mutation, size_t token)
{
	enum token_kind kind = mutation->tokens[token].kind;
	return kind == TOKEN_STRING || kind == TOKEN_NUMBER;
}

bool token_is_function(const struct mutation *mutation, size_t token)
{
	return token_is_operand(mutation, token) && mutation->tokens[token].kind == TOKEN_WORD &&
	       token_is(mutation, token + 1, "(") && mutation->tokens[token + 1].match != NO_TOKEN;
}

bool token_is_relation(const struct mutation *mutation, size_t token)
{
	if (mutation->tokens[token].kind != TOKEN_WORD || mutation->tokens[token].clause != CLAUSE_FROM ||
	    token == 0)
		return false;
	return token_is(mutation, token - 1, "from") || token_is(mutation, token - 1, "join") ||
	       token_is(mutation, token - 1, ",") || token_is(mutation, token - 1, "(");
}

bool token_is_select(const struct mutation *mutation, size_t token)
{
	return token_is(mutation, token, "select");
}

bool token_is_qualifier(const struct mutation *mutation, size_t token)
{
	return mutation->tokens[token].kind == TOKEN_WORD && kind_is(mutation, token + 1, TOKEN_DOT);
}

bool token_is_bare_column(const struct mutation *mutation, size_t token)
{
	return token_is_operand(mutation, token) && mutation->tokens[token].kind == TOKEN_WORD &&
	       !kind_is(mutation, token + 1, TOKEN_DOT) && !kind_is(mutation, token + 1, TOKEN_OPEN) &&
	       !kind_is(mutation, token + 1, TOKEN_STRING);
}

static size_t skip_group(const struct mutation *mutation, size_t token)
{
	if (!kind_is(mutation, token, TOKEN_OPEN) || mutation->tokens[token].match == NO_TOKEN)
		return token;
	return mutation->tokens[token].match + 1;
}

struct token_span operand_span(const struct mutation *mutation, size_t token)
{
	size_t end = token + 1;
	if (kind_is(mutation, token, TOKEN_WORD) && kind_is(mutation, end, TOKEN_STRING))
		return (struct token_span){ token, end + 1 };
	while (kind_is(mutation, end, TOKEN_DOT) && end + 1 < mutation->count)
		end += 2;
	if (!kind_is(mutation, token, TOKEN_WORD))
		return (struct token_span){ token, end };
	end = skip_group(mutation, end);
	while (token_is(mutation, end, "over") || token_is(mutation, end, "filter")) {
		size_t behind = skip_group(mutation, end + 1);
		end = behind > end + 1 ? behind : end + 2;
	}
	return (struct token_span){ token, end < mutation->count ? end : mutation->count };
}

size_t select_end(const struct mutation *mutation, size_t select)
{
	size_t depth = mutation->tokens[select].depth;
	size_t i = select + 1;
	for (; i < mutation->count && mutation->tokens[i].depth >= depth; i++) {
		if (mutation->tokens[i].depth > depth)
			continue;
		if (token_is(mutation, i, "union") || token_is(mutation, i, "intersect") ||
		    token_is(mutation, i, "except"))
			break;
	}
	return i;
}

bool select_clause(const struct mutation *mutation, size_t select, enum clause clause, size_t *ret_keyword,
		   struct token_span *ret_span)
{
	size_t end = select_end(mutation, select), depth = mutation->tokens[select].depth;
	size_t start = select;
	/* FROM goes on behind ON. */
	while (start < end &&
	       (mutation->tokens[start].depth != depth || mutation->tokens[start].clause != clause))
		start++;
	size_t stop = start;
	for (size_t i = start; i < end; i++) {
		const struct token *token = &mutation->tokens[i];
		if (token->depth == depth &&
		    (token->clause == clause || (clause == CLAUSE_FROM && token->clause == CLAUSE_ON)))
			stop = i + 1;
	}
	if (start == end)
		return false;
	*ret_keyword = start;
	size_t first = start + (clause == CLAUSE_GROUP || clause == CLAUSE_ORDER ? 2 : 1);
	while (clause == CLAUSE_SELECT &&
	       (token_is(mutation, first, "distinct") || token_is(mutation, first, "all")))
		first++;
	*ret_span = (struct token_span){ first, stop > first ? stop : first };
	return true;
}

size_t span_items(const struct mutation *mutation, struct token_span span, struct token_span *ret_items,
		  size_t max)
{
	size_t count = 0, start = span.start;
	if (span.start >= span.end)
		return 0;
	size_t depth = mutation->tokens[span.start].depth;
	for (size_t i = span.start; i <= span.end && count < max; i++) {
		bool comma = i < span.end && mutation->tokens[i].kind == TOKEN_COMMA &&
			     mutation->tokens[i].depth == depth;
		if (i < span.end && !comma)
			continue;
		ret_items[count++] = (struct token_span){ start, i };
		start = i + 1;
	}
	return count;
}
