#include "tests/harness/mutators/sql_mutants_internal.h"

/* ---- The whole ---- */

bool mutate_wrapped(struct mutation *mutation)
{
	struct token_span all = { 0, mutation->count };
	if (mutation->count == 0 || mutation->count == MUTATION_TOKENS_MAX)
		return false;
	mutation_replace(mutation, all,
			 mutation_fill(mutation, mutation_template(mutation, TEMPLATE_WHOLE),
				       span_text(mutation, all)));
	return true;
}

/* What is right, as one output or condition more, or in place of a value. */
bool mutate_right_item(struct mutation *mutation)
{
	static const struct {
		enum clause clause;
		const char *before;
	} places[] = { { CLAUSE_SELECT, ", " }, { CLAUSE_SELECT, ", " },
		       { CLAUSE_SELECT, ", " }, { CLAUSE_WHERE, " IS NULL OR " },
		       { CLAUSE_ORDER, ", " },	{ CLAUSE_ON, " AND NULL IS DISTINCT FROM " } };
	size_t place = mutation_random(mutation, sizeof places / sizeof places[0]), keyword;
	struct token_span span;
	str_t item = mutation_fill(mutation, mutation_template(mutation, TEMPLATE_RIGHT_VALUE), STR(""));
	if (!mutation_clause(mutation, places[place].clause, &keyword, &span) || span.start >= span.end)
		return false;
	const char *before = places[place].before;
	if (places[place].clause == CLAUSE_WHERE && mutation_random(mutation, 2))
		before = " AND ";
	str_t text = arena_str(mutation->arena, span_text(mutation, span));
	mutation_replace(
		mutation, span,
		arena_printf(mutation->arena, STR_FMT "%s" STR_FMT, STR_ARG(text), before, STR_ARG(item)));
	return true;
}

bool mutate_right_value(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_operand);
	if (token == NO_TOKEN)
		return false;
	mutation_replace(mutation, operand_span(mutation, token),
			 mutation_fill(mutation, mutation_template(mutation, TEMPLATE_RIGHT_VALUE), STR("")));
	return true;
}

bool mutate_right_statement(struct mutation *mutation)
{
	str_t text = mutation_fill(mutation, mutation_template(mutation, TEMPLATE_RIGHT_STATEMENT), STR(""));
	if (mutation->count == 0 || mutation->count == MUTATION_TOKENS_MAX)
		return false;
	mutation_replace(mutation, (struct token_span){ 0, mutation->count }, text);
	return true;
}

static bool is_subquery(const struct mutation *mutation, size_t token)
{
	return token_is(mutation, token, "(") && token_is(mutation, token + 1, "select") &&
	       mutation->tokens[token].match != NO_TOKEN;
}

bool mutate_subquery_changed(struct mutation *mutation)
{
	size_t open = mutation_pick(mutation, is_subquery);
	if (open == NO_TOKEN)
		return false;
	struct token_span all = { open + 1, mutation->tokens[open].match };
	switch (mutation_random(mutation, 4)) {
	case 0:
		mutation_replace(mutation, all,
				 mutation_fill(mutation, mutation_template(mutation, TEMPLATE_WHOLE),
					       span_text(mutation, all)));
		return true;
	case 1: /* one column more */
		return mutation_insert(mutation, open + 2, mutation_fill(mutation, "$l,", STR("")));
	case 2:
		return mutation_insert(mutation, open + 2, mutation_fill(mutation, "$q,", STR("")));
	default: /* the derived table's alias goes */
		if (mutation->tokens[open].clause != CLAUSE_FROM)
			return false;
		return mutation_remove(mutation, all.end + 1,
				       all.end + 2 + token_is(mutation, all.end + 1, "as"));
	}
}

static bool is_with(const struct mutation *mutation, size_t token)
{
	return token_is(mutation, token, "with") && token_is_name(mutation, token + 1);
}

bool mutate_cte_changed(struct mutation *mutation)
{
	static const char *const changes[] = { "WITH $t AS (SELECT 1),",
					       "WITH RECURSIVE",
					       "WITH unused AS (SELECT $c FROM $t),",
					       "WITH bad AS (SELECT nosuch FROM $t),",
					       "",
					       "WITH dup AS (SELECT 1), dup AS (SELECT 2),",
					       "WITH x (a, b) AS (SELECT 1)," };
	size_t with = mutation_pick(mutation, is_with);
	if (with == NO_TOKEN)
		return false;
	if (mutation_random(mutation, 3) == 0)
		return mutation_replace_token(mutation, with + 1,
					      mutation_misspell(mutation, token_text(mutation, with + 1)));
	return mutation_replace_token(mutation, with, FILL(mutation, changes, STR("")));
}

/* ---- Grammar ---- */

bool mutate_token_dropped(struct mutation *mutation)
{
	size_t token = mutation_random(mutation, mutation->count);
	return mutation_remove(mutation, token, token + 1);
}

bool mutate_token_doubled(struct mutation *mutation)
{
	size_t token = mutation_random(mutation, mutation->count);
	return mutation_insert(mutation, token, arena_str(mutation->arena, token_text(mutation, token)));
}

bool mutate_tokens_swapped(struct mutation *mutation)
{
	size_t token = mutation_random(mutation, mutation->count);
	if (token + 1 >= mutation->count)
		return false;
	str_t one = token_text(mutation, token), other = token_text(mutation, token + 1);
	mutation_replace(mutation, (struct token_span){ token, token + 2 },
			 arena_printf(mutation->arena, STR_FMT " " STR_FMT, STR_ARG(other), STR_ARG(one)));
	return true;
}

static bool is_mark(const struct mutation *mutation, size_t token)
{
	enum token_kind kind = mutation->tokens[token].kind;
	return kind == TOKEN_OPEN || kind == TOKEN_CLOSE || kind == TOKEN_COMMA || kind == TOKEN_DOT;
}

bool mutate_mark_changed(struct mutation *mutation)
{
	static const char *const marks[] = { "(", ")", ",", ".", "", "", "", " AND ", "[" };
	size_t token = mutation_pick(mutation, is_mark);
	return token != NO_TOKEN &&
	       mutation_replace_token(mutation, token, str_from(ONE_OF(mutation, marks)));
}

static bool is_keyword(const struct mutation *mutation, size_t token)
{
	return mutation->tokens[token].kind == TOKEN_KEYWORD;
}

bool mutate_keyword_misspelt(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, is_keyword);
	return token != NO_TOKEN &&
	       mutation_replace_token(mutation, token,
				      mutation_misspell(mutation, token_text(mutation, token)));
}

bool mutate_keyword_replaced(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, mutation_random(mutation, 3) ? is_keyword : token_is_name);
	return token != NO_TOKEN &&
	       mutation_replace_token(mutation, token, str_from(mutation_template(mutation, TEMPLATE_WORD)));
}

static bool is_string(const struct mutation *mutation, size_t token)
{
	return mutation->tokens[token].kind == TOKEN_STRING;
}

bool mutate_quote_changed(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, is_string);
	if (token == NO_TOKEN)
		return false;
	str_t text = token_text(mutation, token);
	str_t inner = { text.ptr + 1, text.len - (text.len > 1 ? 2 : 1) };
	static const char *const quotes[][2] = {
		{ "\"", "\"" }, { "'", "" }, { "", "" }, { "`", "`" }, { "$$", "$$" }
	};
	const char *const *pair = ONE_OF(mutation, quotes);
	return mutation_replace_token(
		mutation, token,
		arena_printf(mutation->arena, "%s" STR_FMT "%s", pair[0], STR_ARG(inner), pair[1]));
}
