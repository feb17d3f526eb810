#include "tests/harness/sql_mutants_text.h"

#include <ctype.h>

#define ONE_OF(mutation, array) (array)[mutation_random((mutation), sizeof(array) / sizeof((array)[0]))]

enum { ITEMS_MAX = 64, TRIES_MAX = 40 };

/* ---- Filling templates ---- */

enum template_kind {
	TEMPLATE_FUNCTION,
	TEMPLATE_TYPE,
	TEMPLATE_LITERAL,
	TEMPLATE_OPERATOR,
	TEMPLATE_WORD,
	TEMPLATE_OPERAND,
	TEMPLATE_RIGHT_VALUE,
	TEMPLATE_RIGHT_STATEMENT,
	TEMPLATE_SELECT,
	TEMPLATE_FROM,
	TEMPLATE_CONDITION,
	TEMPLATE_GROUP,
	TEMPLATE_ORDER,
	TEMPLATE_LIMIT,
	TEMPLATE_WHOLE,
};

static const struct {
	enum template_kind kind;
	const char *text;
} templates[] = {
#define TEMPLATE(kind, text) { TEMPLATE_##kind, text },
#include "tests/harness/sql_mutants.def"
#undef TEMPLATE
};

static const char *random_template(struct mutation *mutation, enum template_kind kind)
{
	size_t first = 0, count = 0;
	while (templates[first].kind != kind)
		first++;
	while (first + count < sizeof templates / sizeof templates[0] &&
	       templates[first + count].kind == kind)
		count++;
	return templates[first + mutation_random(mutation, count)].text;
}

static const struct sql_vocabulary_relation *random_relation(struct mutation *mutation)
{
	const struct sql_vocabulary *vocabulary = mutation->vocabulary;
	return &vocabulary->relations[mutation_random(mutation, vocabulary->relations_count)];
}

static const struct sql_vocabulary_relation *relation_named(const struct mutation *mutation, str_t name)
{
	for (size_t i = 0; i < mutation->vocabulary->relations_count; i++) {
		const struct sql_vocabulary_relation *relation = &mutation->vocabulary->relations[i];
		if (relation->name.len == name.len &&
		    strncasecmp(relation->name.ptr, name.ptr, name.len) == 0)
			return relation;
	}
	return NULL;
}

static str_t random_column(struct mutation *mutation, const struct sql_vocabulary_relation *relation)
{
	return relation->columns[mutation_random(mutation, relation->columns_count)].name;
}

/* The name that the relation in FROM is visible by. */
static size_t alias_of(const struct mutation *mutation, size_t relation)
{
	size_t next = relation + 1;
	if (token_is(mutation, next, "as"))
		next++;
	return next < mutation->count && mutation->tokens[next].kind == TOKEN_WORD ? next : relation;
}

static str_t random_alias(struct mutation *mutation)
{
	size_t relation = mutation_pick(mutation, token_is_relation);
	return relation == NO_TOKEN ? STR("a") : token_text(mutation, alias_of(mutation, relation));
}

/* A column that is there, by the name that it is visible by. */
static str_t qualified_column(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_relation);
	const struct sql_vocabulary_relation *relation =
		token == NO_TOKEN ? NULL : relation_named(mutation, token_text(mutation, token));
	if (!relation)
		return random_column(mutation, random_relation(mutation));
	str_t column = random_column(mutation, relation);
	str_t alias = token_text(mutation, alias_of(mutation, token));
	return arena_printf(mutation->arena, STR_FMT "." STR_FMT, STR_ARG(alias), STR_ARG(column));
}

static str_t random_operand(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_operand);
	return token == NO_TOKEN ? STR("1") : span_text(mutation, operand_span(mutation, token));
}

/* The column of the kind whose number is nearest below the one chosen, or NULL. */
static const struct sql_vocabulary_column *column_of_kind(const struct sql_vocabulary_relation *relation,
							  char kind, size_t chosen)
{
	for (size_t i = 0; relation && i < relation->columns_count; i++) {
		size_t at = (chosen + i) % relation->columns_count;
		if (relation->columns[at].kind == kind)
			return &relation->columns[at];
	}
	return NULL;
}

static str_t literal_of_kind(char kind)
{
	return kind == 'n' ? STR("2") : kind == 's' ? STR("'a'") : STR("CURRENT_DATE");
}

/* A column of the kind from FROM. */
static str_t column_from(struct mutation *mutation, char kind)
{
	size_t token = mutation_pick(mutation, token_is_relation);
	const struct sql_vocabulary_relation *relation =
		token == NO_TOKEN ? NULL : relation_named(mutation, token_text(mutation, token));
	const struct sql_vocabulary_column *column =
		column_of_kind(relation, kind, mutation_random(mutation, 1000));
	if (!column)
		return literal_of_kind(kind);
	str_t alias = token_text(mutation, alias_of(mutation, token));
	return arena_printf(mutation->arena, STR_FMT "." STR_FMT, STR_ARG(alias), STR_ARG(column->name));
}

static str_t column_of_template(struct mutation *mutation, const struct sql_vocabulary_relation *relation,
				char kind)
{
	const struct sql_vocabulary_column *column = column_of_kind(relation, kind, 0);
	return column ? arena_printf(mutation->arena, "r." STR_FMT, STR_ARG(column->name))
		      : literal_of_kind(kind);
}

static str_t hole(struct mutation *mutation, char name, str_t present,
		  const struct sql_vocabulary_relation *relation)
{
	switch (name) {
	case '0':
		return present;
	case 'o':
		return random_operand(mutation);
	case 'q':
		return qualified_column(mutation);
	case 'c':
		return random_column(mutation, relation);
	case 't':
		return relation->name;
	case 'n':
	case 's':
	case 'd':
		return column_from(mutation, name);
	case 'N':
	case 'S':
	case 'D':
		return column_of_template(mutation, relation, (char)tolower((unsigned char)name));
	case '$':
		return STR("$");
	case 'a':
		return random_alias(mutation);
	case 'f':
		return str_from(random_template(mutation, TEMPLATE_FUNCTION));
	case 'l':
		return str_from(random_template(mutation, TEMPLATE_LITERAL));
	case 'y':
		return str_from(random_template(mutation, TEMPLATE_TYPE));
	case 'p':
		return str_from(random_template(mutation, TEMPLATE_OPERATOR));
	default:
		return arena_printf(mutation->arena, "$%c", name);
	}
}

static str_t fill(struct mutation *mutation, const char *template, str_t present)
{
	/* One relation for all, or `$c FROM $t` would seldom be right. */
	const struct sql_vocabulary_relation *relation = random_relation(mutation);
	str_t filled = STR("");
	for (const char *at = template; *at; at++) {
		const char *end = strchrnul(at, '$');
		str_t text = { at, (size_t)(end - at) };
		str_t value = *end ? hole(mutation, end[1], present, relation) : STR("");
		filled = arena_printf(mutation->arena, STR_FMT STR_FMT STR_FMT, STR_ARG(filled),
				      STR_ARG(text), STR_ARG(value));
		if (!*end)
			break;
		at = end + 1;
	}
	return filled;
}

#define FILL(mutation, array, present) fill((mutation), ONE_OF((mutation), array), (present))

static bool replace_token(struct mutation *mutation, size_t token, str_t text)
{
	if (token >= mutation->count)
		return false;
	mutation_replace(mutation, (struct token_span){ token, token + 1 }, text);
	return true;
}

static bool insert_before(struct mutation *mutation, size_t token, str_t text)
{
	mutation_replace(mutation, (struct token_span){ token, token }, text);
	return true;
}

static bool remove_span(struct mutation *mutation, size_t start, size_t end)
{
	if (start >= end || end > mutation->count)
		return false;
	mutation_replace(mutation, (struct token_span){ start, end }, STR(""));
	return true;
}

/* ---- Names ---- */

/* One letter more, less, other, or swapped with the next one. */
static str_t misspelt(struct mutation *mutation, str_t word)
{
	size_t at = mutation_random(mutation, word.len);
	struct arena *arena = mutation->arena;
	char letter = (char)('a' + (int)mutation_random(mutation, 26));
	const char *rest = word.ptr + at + 1;
	int rest_len = (int)(word.len - at - 1);
	switch (mutation_random(mutation, 4)) {
	case 0:
		return arena_printf(arena, "%.*s%.*s", (int)at, word.ptr, rest_len, rest);
	case 1:
		return arena_printf(arena, STR_FMT "%c", STR_ARG(word), letter);
	case 2:
		return arena_printf(arena, "%.*s%c%.*s", (int)at, word.ptr, letter, rest_len, rest);
	default:
		return rest_len < 1 ? arena_printf(arena, STR_FMT "s", STR_ARG(word))
				    : arena_printf(arena, "%.*s%c%c%.*s", (int)at, word.ptr, rest[0],
						   word.ptr[at], rest_len - 1, rest + 1);
	}
}

static bool misspell_name(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_name);
	return token != NO_TOKEN &&
	       replace_token(mutation, token, misspelt(mutation, token_text(mutation, token)));
}

static bool swap_names(struct mutation *mutation)
{
	size_t one = mutation_pick(mutation, token_is_name);
	size_t other = mutation_pick(mutation, token_is_name);
	if (one == NO_TOKEN || one == other)
		return false;
	str_t text = token_text(mutation, one), other_text = token_text(mutation, other);
	return replace_token(mutation, one, other_text) && replace_token(mutation, other, text);
}

static bool other_column(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_operand);
	if (token == NO_TOKEN || mutation->tokens[token].kind != TOKEN_WORD ||
	    token_is_function(mutation, token))
		return false;
	size_t column = token_is_qualifier(mutation, token) ? token + 2 : token;
	return replace_token(mutation, column, random_column(mutation, random_relation(mutation)));
}

/* Stays within the relations that have a column of the name. */
static bool sibling_column(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_name);
	if (token == NO_TOKEN)
		return false;
	str_t name = token_text(mutation, token);
	for (size_t i = 0; i < mutation->vocabulary->relations_count; i++) {
		const struct sql_vocabulary_relation *relation = &mutation->vocabulary->relations[i];
		for (size_t j = 0; j < relation->columns_count; j++) {
			if (str_equal(relation->columns[j].name, name))
				return replace_token(mutation, token, random_column(mutation, relation));
		}
	}
	return false;
}

static bool column_of_from(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_operand);
	if (token == NO_TOKEN)
		return false;
	mutation_replace(mutation, operand_span(mutation, token), qualified_column(mutation));
	return true;
}

static bool other_relation(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_relation);
	return token != NO_TOKEN && replace_token(mutation, token, random_relation(mutation)->name);
}

static bool schema_added(struct mutation *mutation)
{
	static const char *const schemas[] = { "public.", "nosuch.", "pg_catalog.", "consumer_div." };
	size_t token =
		mutation_pick(mutation, mutation_random(mutation, 3) ? token_is_relation : token_is_name);
	if (token == NO_TOKEN)
		return false;
	str_t name = token_text(mutation, token);
	return replace_token(
		mutation, token,
		arena_printf(mutation->arena, "%s" STR_FMT, ONE_OF(mutation, schemas), STR_ARG(name)));
}

static bool quoted_name(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_name);
	if (token == NO_TOKEN || token_is(mutation, token + 1, "("))
		return false;
	str_t name = arena_str(mutation->arena, token_text(mutation, token));
	char *text = arena_strdup(mutation->arena, name.ptr);
	if (text[0] == '"')
		return false;
	if (mutation_random(mutation, 2))
		text[0] = (char)toupper((unsigned char)text[0]);
	return replace_token(mutation, token, arena_printf(mutation->arena, "\"%s\"", text));
}

static bool alias_dropped(struct mutation *mutation)
{
	size_t relation = mutation_pick(mutation, token_is_relation);
	if (relation == NO_TOKEN || alias_of(mutation, relation) == relation)
		return false;
	return remove_span(mutation, relation + 1, alias_of(mutation, relation) + 1);
}

static bool alias_renamed(struct mutation *mutation)
{
	size_t relation = mutation_pick(mutation, token_is_relation);
	if (relation == NO_TOKEN)
		return false;
	size_t alias = alias_of(mutation, relation);
	str_t name = mutation_random(mutation, 2) ? random_alias(mutation)
						  : misspelt(mutation, token_text(mutation, alias));
	if (alias != relation)
		return replace_token(mutation, alias, name);
	str_t text = token_text(mutation, relation);
	return replace_token(
		mutation, relation,
		arena_printf(mutation->arena, STR_FMT " AS " STR_FMT, STR_ARG(text), STR_ARG(name)));
}

static bool is_as(const struct mutation *mutation, size_t token)
{
	return token_is(mutation, token, "as") && token + 1 < mutation->count;
}

static bool as_dropped(struct mutation *mutation)
{
	size_t as = mutation_pick(mutation, is_as);
	return as != NO_TOKEN && remove_span(mutation, as, as + 1 + mutation_random(mutation, 2));
}

static bool as_renamed(struct mutation *mutation)
{
	size_t as = mutation_pick(mutation, is_as);
	if (as == NO_TOKEN || !token_is_name(mutation, as + 1))
		return false;
	return replace_token(mutation, as + 1,
			     mutation_random(mutation, 2) ? STR("x") : random_alias(mutation));
}

static bool is_alias_of_output(const struct mutation *mutation, size_t token)
{
	return mutation->tokens[token].clause == CLAUSE_SELECT && token > 0 &&
	       token_is(mutation, token - 1, "as") && mutation->tokens[token].kind == TOKEN_WORD;
}

/* An output's name where PostgreSQL knows it, and where it does not. */
static bool output_name_used(struct mutation *mutation)
{
	size_t alias = mutation_pick(mutation, is_alias_of_output);
	size_t operand = mutation_pick(mutation, token_is_operand);
	if (alias == NO_TOKEN || operand == NO_TOKEN)
		return false;
	mutation_replace(mutation, operand_span(mutation, operand), token_text(mutation, alias));
	return true;
}

static bool qualifier_added(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_bare_column);
	if (token == NO_TOKEN)
		return false;
	str_t alias = random_alias(mutation), name = token_text(mutation, token);
	return replace_token(
		mutation, token,
		arena_printf(mutation->arena, STR_FMT "." STR_FMT, STR_ARG(alias), STR_ARG(name)));
}

static bool qualifier_dropped(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_qualifier);
	return token != NO_TOKEN && remove_span(mutation, token, token + 2);
}

static bool qualifier_replaced(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_qualifier);
	if (token == NO_TOKEN)
		return false;
	return replace_token(mutation, token,
			     mutation_random(mutation, 4) ? random_alias(mutation)
							  : random_relation(mutation)->name);
}

/* ---- Functions ---- */

static bool function_replaced(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_function);
	return token != NO_TOKEN &&
	       replace_token(mutation, token, str_from(random_template(mutation, TEMPLATE_FUNCTION)));
}

static bool function_misspelt(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_function);
	return token != NO_TOKEN &&
	       replace_token(mutation, token, misspelt(mutation, token_text(mutation, token)));
}

static bool function_unwrapped(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_function);
	if (token == NO_TOKEN)
		return false;
	struct token_span all = { token, mutation->tokens[token + 1].match + 1 };
	mutation_replace(mutation, all, span_text(mutation, (struct token_span){ token + 2, all.end - 1 }));
	return true;
}

/* The arguments of a random call; returns their number, NO_TOKEN when there is no call. */
static size_t random_arguments(struct mutation *mutation, struct token_span *ret_all,
			       struct token_span *ret_items)
{
	size_t token = mutation_pick(mutation, token_is_function);
	if (token == NO_TOKEN)
		return NO_TOKEN;
	*ret_all = (struct token_span){ token + 2, mutation->tokens[token + 1].match };
	return span_items(mutation, *ret_all, ret_items, ITEMS_MAX);
}

static bool item_dropped(struct mutation *mutation, const struct token_span *items, size_t count)
{
	size_t chosen = mutation_random(mutation, count);
	if (count > 1 && chosen + 1 < count)
		return remove_span(mutation, items[chosen].start, items[chosen + 1].start);
	return count > 1 ? remove_span(mutation, items[chosen].start - 1, items[chosen].end)
			 : remove_span(mutation, items[0].start, items[0].end);
}

static bool argument_dropped(struct mutation *mutation)
{
	struct token_span all, items[ITEMS_MAX];
	size_t count = random_arguments(mutation, &all, items);
	return count != NO_TOKEN && count > 0 && item_dropped(mutation, items, count);
}

static bool arguments_changed(struct mutation *mutation)
{
	static const char *const changes[] = {
		"$0, $o", "$0, $l", "$o, $0",	   "DISTINCT $0", "$0 ORDER BY $o", "*",  "",	   "$l",
		"$o",	  "$0, $0", "VARIADIC $0", "ALL $0",	  "$0, NULL",	    "$q", "$q, $q"
	};
	struct token_span all, items[ITEMS_MAX];
	if (random_arguments(mutation, &all, items) == NO_TOKEN)
		return false;
	mutation_replace(mutation, all, FILL(mutation, changes, span_text(mutation, all)));
	return true;
}

static bool swap_items(struct mutation *mutation, const struct token_span *items, size_t count)
{
	if (count < 2)
		return false;
	size_t chosen = mutation_random(mutation, count - 1);
	struct token_span both = { items[chosen].start, items[chosen + 1].end };
	str_t one = span_text(mutation, items[chosen]), other = span_text(mutation, items[chosen + 1]);
	mutation_replace(mutation, both,
			 arena_printf(mutation->arena, STR_FMT ", " STR_FMT, STR_ARG(other), STR_ARG(one)));
	return true;
}

static bool arguments_swapped(struct mutation *mutation)
{
	struct token_span all, items[ITEMS_MAX];
	size_t count = random_arguments(mutation, &all, items);
	return count != NO_TOKEN && swap_items(mutation, items, count);
}

static bool call_extended(struct mutation *mutation)
{
	static const char *const extensions[] = {
		"$0 OVER ()",
		"$0 OVER (PARTITION BY $q)",
		"$0 OVER (ORDER BY $o)",
		"$0 OVER nosuch",
		"$0 FILTER (WHERE $q IS NULL)",
		"$0 FILTER (WHERE $q)",
		"$0 WITHIN GROUP (ORDER BY $q)",
		"$0 OVER (ORDER BY $q ROWS UNBOUNDED PRECEDING)",
		"$0 OVER (ORDER BY $q RANGE BETWEEN '1 day' PRECEDING AND CURRENT ROW)",
		"$0 OVER (PARTITION BY SUM($q))",
		"$0 OVER (GROUPS 1 PRECEDING)",
	};
	size_t token = mutation_pick(mutation, token_is_function);
	if (token == NO_TOKEN)
		return false;
	struct token_span span = operand_span(mutation, token);
	mutation_replace(mutation, span, FILL(mutation, extensions, span_text(mutation, span)));
	return true;
}

static bool is_over(const struct mutation *mutation, size_t token)
{
	return token_is(mutation, token, "over") && token_is(mutation, token + 1, "(") &&
	       mutation->tokens[token + 1].match != NO_TOKEN;
}

static bool window_changed(struct mutation *mutation)
{
	static const char *const windows[] = { "()",
					       "nosuch",
					       "(PARTITION BY $q)",
					       "(ORDER BY $q)",
					       "(PARTITION BY nosuch)",
					       "(ORDER BY COUNT(*))",
					       "(ORDER BY 1)",
					       "(PARTITION BY $q ORDER BY $q ROWS 2 PRECEDING)",
					       "(ORDER BY $q RANGE 2 PRECEDING)",
					       "" };
	size_t over = mutation_pick(mutation, is_over);
	if (over == NO_TOKEN)
		return false;
	struct token_span span = { over + 1, mutation->tokens[over + 1].match + 1 };
	if (mutation_random(mutation, 5) == 0)
		return remove_span(mutation, over, span.end);
	mutation_replace(mutation, span, FILL(mutation, windows, STR("")));
	return true;
}

/* ---- Values, operators, casts ---- */

static bool operand_wrapped(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_operand);
	if (token == NO_TOKEN)
		return false;
	struct token_span span = operand_span(mutation, token);
	mutation_replace(
		mutation, span,
		fill(mutation, random_template(mutation, TEMPLATE_OPERAND), span_text(mutation, span)));
	return true;
}

static bool literal_replaced(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_literal);
	return token != NO_TOKEN &&
	       replace_token(mutation, token, str_from(random_template(mutation, TEMPLATE_LITERAL)));
}

static bool operand_to_literal(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_operand);
	if (token == NO_TOKEN)
		return false;
	mutation_replace(mutation, operand_span(mutation, token),
			 str_from(random_template(mutation, TEMPLATE_LITERAL)));
	return true;
}

static bool is_operator(const struct mutation *mutation, size_t token)
{
	static const char *const words[] = { "and", "or", "like", "ilike", "in", "is", "between" };
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		if (token_is(mutation, token, words[i]))
			return true;
	}
	return mutation->tokens[token].kind == TOKEN_OPERATOR;
}

static bool operator_replaced(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, is_operator);
	return token != NO_TOKEN &&
	       replace_token(mutation, token, str_from(random_template(mutation, TEMPLATE_OPERATOR)));
}

static bool is_cast(const struct mutation *mutation, size_t token)
{
	return token_is(mutation, token, "::") && token + 1 < mutation->count;
}

static bool cast_removed(struct mutation *mutation)
{
	size_t cast = mutation_pick(mutation, is_cast);
	return cast != NO_TOKEN && remove_span(mutation, cast, cast + 2);
}

static bool cast_changed(struct mutation *mutation)
{
	size_t cast = mutation_pick(mutation, is_cast);
	return cast != NO_TOKEN &&
	       replace_token(mutation, cast + 1, str_from(random_template(mutation, TEMPLATE_TYPE)));
}

static bool cast_added(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_operand);
	if (token == NO_TOKEN)
		return false;
	struct token_span span = operand_span(mutation, token);
	mutation_replace(mutation, span, fill(mutation, "$0::$y", span_text(mutation, span)));
	return true;
}

/* ---- Clauses ---- */

/* A clause of a random SELECT. */
static bool random_clause(struct mutation *mutation, enum clause clause, size_t *ret_keyword,
			  struct token_span *ret_span)
{
	size_t select = mutation_pick(mutation, token_is_select);
	return select != NO_TOKEN && select_clause(mutation, select, clause, ret_keyword, ret_span);
}

static bool any_clause(struct mutation *mutation, size_t *ret_keyword, struct token_span *ret_span)
{
	static const enum clause clauses[] = { CLAUSE_SELECT, CLAUSE_FROM,  CLAUSE_WHERE, CLAUSE_GROUP,
					       CLAUSE_HAVING, CLAUSE_ORDER, CLAUSE_LIMIT };
	return random_clause(mutation, ONE_OF(mutation, clauses), ret_keyword, ret_span);
}

static bool clause_dropped(struct mutation *mutation)
{
	size_t keyword;
	struct token_span span;
	return any_clause(mutation, &keyword, &span) && remove_span(mutation, keyword, span.end);
}

static bool clause_doubled(struct mutation *mutation)
{
	size_t keyword;
	struct token_span span;
	if (!any_clause(mutation, &keyword, &span))
		return false;
	str_t text = span_text(mutation, (struct token_span){ keyword, span.end });
	return insert_before(mutation, span.end, arena_str(mutation->arena, text));
}

/* Clauses in the wrong order: one moves to the end of its SELECT. */
static bool clause_moved(struct mutation *mutation)
{
	size_t keyword;
	struct token_span span;
	if (!any_clause(mutation, &keyword, &span) || span.end > mutation->count)
		return false;
	str_t text =
		arena_str(mutation->arena, span_text(mutation, (struct token_span){ keyword, span.end }));
	insert_before(mutation, mutation_random(mutation, 2) ? mutation->count : keyword / 2, text);
	return true;
}

static bool clause_filled(struct mutation *mutation, enum clause clause, enum template_kind kind)
{
	size_t keyword;
	struct token_span span;
	if (!random_clause(mutation, clause, &keyword, &span) || span.start >= span.end)
		return false;
	const char *template = random_template(mutation, kind);
	mutation_replace(mutation, span, fill(mutation, template, span_text(mutation, span)));
	return true;
}

#define CLAUSE_KIND(name, clause, kind)                                                                      \
	static bool name(struct mutation *mutation)                                                          \
	{                                                                                                    \
		return clause_filled(mutation, clause, kind);                                                \
	}

CLAUSE_KIND(select_changed, CLAUSE_SELECT, TEMPLATE_SELECT)
CLAUSE_KIND(from_changed, CLAUSE_FROM, TEMPLATE_FROM)
CLAUSE_KIND(where_changed, CLAUSE_WHERE, TEMPLATE_CONDITION)
CLAUSE_KIND(having_changed, CLAUSE_HAVING, TEMPLATE_CONDITION)
CLAUSE_KIND(group_changed, CLAUSE_GROUP, TEMPLATE_GROUP)
CLAUSE_KIND(order_changed, CLAUSE_ORDER, TEMPLATE_ORDER)
CLAUSE_KIND(limit_changed, CLAUSE_LIMIT, TEMPLATE_LIMIT)

/* One item of a SELECT, GROUP BY or ORDER BY list goes, or changes places with the next one. */
static bool list_changed(struct mutation *mutation)
{
	static const enum clause lists[] = { CLAUSE_SELECT, CLAUSE_GROUP, CLAUSE_GROUP, CLAUSE_ORDER };
	struct token_span span, items[ITEMS_MAX];
	size_t keyword;
	if (!random_clause(mutation, ONE_OF(mutation, lists), &keyword, &span))
		return false;
	size_t count = span_items(mutation, span, items, ITEMS_MAX);
	if (count == 0)
		return false;
	return mutation_random(mutation, 4) ? item_dropped(mutation, items, count)
					    : swap_items(mutation, items, count);
}

static bool is_clause_word(const struct mutation *mutation, size_t token)
{
	return token_is(mutation, token, "where") || token_is(mutation, token, "having") ||
	       token_is(mutation, token, "on");
}

static bool condition_moved(struct mutation *mutation)
{
	static const char *const words[] = { "WHERE", "HAVING", "ON" };
	size_t token = mutation_pick(mutation, is_clause_word);
	return token != NO_TOKEN && replace_token(mutation, token, str_from(ONE_OF(mutation, words)));
}

static bool is_join(const struct mutation *mutation, size_t token)
{
	return token_is(mutation, token, "join");
}

static bool join_changed(struct mutation *mutation)
{
	static const char *const joins[] = { "CROSS JOIN",
					     "NATURAL JOIN",
					     "LEFT JOIN",
					     "RIGHT JOIN",
					     "FULL OUTER JOIN",
					     "INNER JOIN",
					     "JOIN LATERAL",
					     ",",
					     "NATURAL FULL JOIN",
					     "OUTER JOIN",
					     "" };
	size_t join = mutation_pick(mutation, is_join);
	if (join == NO_TOKEN)
		return false;
	size_t start = join;
	while (start > 0 && mutation->tokens[start - 1].kind == TOKEN_KEYWORD &&
	       !token_is(mutation, start - 1, "from"))
		start--;
	mutation_replace(mutation, (struct token_span){ start, join + 1 }, str_from(ONE_OF(mutation, joins)));
	return true;
}

static bool is_on(const struct mutation *mutation, size_t token)
{
	return token_is(mutation, token, "on") && mutation->tokens[token].clause == CLAUSE_ON;
}

/* Where the condition of a join ends. */
static size_t condition_end(const struct mutation *mutation, size_t on)
{
	size_t end = on + 1;
	while (end < mutation->count && mutation->tokens[end].depth >= mutation->tokens[on].depth &&
	       (mutation->tokens[end].depth > mutation->tokens[on].depth ||
		mutation->tokens[end].clause == CLAUSE_ON) &&
	       !token_is(mutation, end, "left") && !token_is(mutation, end, "inner") &&
	       !token_is(mutation, end, "right") && !token_is(mutation, end, "full") &&
	       !token_is(mutation, end, "cross") && !token_is(mutation, end, "on"))
		end++;
	return end;
}

static bool on_changed(struct mutation *mutation)
{
	static const char *const changes[] = { "",
					       "USING ($c)",
					       "USING (nosuch)",
					       "ON true",
					       "ON $q = $q",
					       "ON $q",
					       "ON $q = $l",
					       "ON $a.$c = $q",
					       "USING ($c, $c)",
					       "USING ($c) AS j",
					       "ON $q $p $q",
					       "ON $q = $q AND $q IS NULL",
					       "ON COUNT(*) = 1",
					       "ON $a = $a",
					       "USING ()",
					       "USING $c",
					       "ON EXISTS (SELECT 1 FROM $t WHERE $c = $q)",
					       "ON $c = $c",
					       "ON ($q, $q) = ($q, $q)" };
	size_t on = mutation_pick(mutation, is_on);
	if (on == NO_TOKEN)
		return false;
	struct token_span span = { on, condition_end(mutation, on) };
	mutation_replace(mutation, span, FILL(mutation, changes, STR("")));
	return true;
}

/* Conditions of two joins change places: a relation is named before it is joined. */
static bool conditions_swapped(struct mutation *mutation)
{
	size_t one = mutation_pick(mutation, is_on), other = mutation_pick(mutation, is_on);
	if (one == NO_TOKEN || one >= other)
		return false;
	struct token_span first = { one + 1, condition_end(mutation, one) };
	struct token_span second = { other + 1, condition_end(mutation, other) };
	if (first.end > second.start)
		return false;
	str_t first_text = span_text(mutation, first), second_text = span_text(mutation, second);
	mutation_replace(mutation, second, first_text);
	mutation_replace(mutation, first, second_text);
	return true;
}

/* ---- The whole ---- */

static bool wrapped(struct mutation *mutation)
{
	struct token_span all = { 0, mutation->count };
	if (mutation->count == 0 || mutation->count == MUTATION_TOKENS_MAX)
		return false;
	mutation_replace(mutation, all,
			 fill(mutation, random_template(mutation, TEMPLATE_WHOLE), span_text(mutation, all)));
	return true;
}

/* What is right, as one output or condition more, or in place of a value. */
static bool right_item(struct mutation *mutation)
{
	static const struct {
		enum clause clause;
		const char *before;
	} places[] = { { CLAUSE_SELECT, ", " }, { CLAUSE_SELECT, ", " },
		       { CLAUSE_SELECT, ", " }, { CLAUSE_WHERE, " IS NULL OR " },
		       { CLAUSE_ORDER, ", " },	{ CLAUSE_ON, " AND NULL IS DISTINCT FROM " } };
	size_t place = mutation_random(mutation, sizeof places / sizeof places[0]), keyword;
	struct token_span span;
	str_t item = fill(mutation, random_template(mutation, TEMPLATE_RIGHT_VALUE), STR(""));
	if (!random_clause(mutation, places[place].clause, &keyword, &span) || span.start >= span.end)
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

static bool right_value(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_operand);
	if (token == NO_TOKEN)
		return false;
	mutation_replace(mutation, operand_span(mutation, token),
			 fill(mutation, random_template(mutation, TEMPLATE_RIGHT_VALUE), STR("")));
	return true;
}

static bool right_statement(struct mutation *mutation)
{
	str_t text = fill(mutation, random_template(mutation, TEMPLATE_RIGHT_STATEMENT), STR(""));
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

static bool subquery_changed(struct mutation *mutation)
{
	size_t open = mutation_pick(mutation, is_subquery);
	if (open == NO_TOKEN)
		return false;
	struct token_span all = { open + 1, mutation->tokens[open].match };
	switch (mutation_random(mutation, 4)) {
	case 0:
		mutation_replace(
			mutation, all,
			fill(mutation, random_template(mutation, TEMPLATE_WHOLE), span_text(mutation, all)));
		return true;
	case 1: /* one column more */
		return insert_before(mutation, open + 2, fill(mutation, "$l,", STR("")));
	case 2:
		return insert_before(mutation, open + 2, fill(mutation, "$q,", STR("")));
	default: /* the derived table's alias goes */
		if (mutation->tokens[open].clause != CLAUSE_FROM)
			return false;
		return remove_span(mutation, all.end + 1,
				   all.end + 2 + token_is(mutation, all.end + 1, "as"));
	}
}

static bool is_with(const struct mutation *mutation, size_t token)
{
	return token_is(mutation, token, "with") && token_is_name(mutation, token + 1);
}

static bool cte_changed(struct mutation *mutation)
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
		return replace_token(mutation, with + 1, misspelt(mutation, token_text(mutation, with + 1)));
	return replace_token(mutation, with, FILL(mutation, changes, STR("")));
}

/* ---- Grammar ---- */

static bool token_dropped(struct mutation *mutation)
{
	size_t token = mutation_random(mutation, mutation->count);
	return remove_span(mutation, token, token + 1);
}

static bool token_doubled(struct mutation *mutation)
{
	size_t token = mutation_random(mutation, mutation->count);
	return insert_before(mutation, token, arena_str(mutation->arena, token_text(mutation, token)));
}

static bool tokens_swapped(struct mutation *mutation)
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

static bool mark_changed(struct mutation *mutation)
{
	static const char *const marks[] = { "(", ")", ",", ".", "", "", "", " AND ", "[" };
	size_t token = mutation_pick(mutation, is_mark);
	return token != NO_TOKEN && replace_token(mutation, token, str_from(ONE_OF(mutation, marks)));
}

static bool is_keyword(const struct mutation *mutation, size_t token)
{
	return mutation->tokens[token].kind == TOKEN_KEYWORD;
}

static bool keyword_misspelt(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, is_keyword);
	return token != NO_TOKEN &&
	       replace_token(mutation, token, misspelt(mutation, token_text(mutation, token)));
}

static bool keyword_replaced(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, mutation_random(mutation, 3) ? is_keyword : token_is_name);
	return token != NO_TOKEN &&
	       replace_token(mutation, token, str_from(random_template(mutation, TEMPLATE_WORD)));
}

static bool is_string(const struct mutation *mutation, size_t token)
{
	return mutation->tokens[token].kind == TOKEN_STRING;
}

static bool quote_changed(struct mutation *mutation)
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
	return replace_token(
		mutation, token,
		arena_printf(mutation->arena, "%s" STR_FMT "%s", pair[0], STR_ARG(inner), pair[1]));
}

/* ---- All of them ---- */

static const struct {
	const char *name;
	unsigned weight;
	bool (*apply)(struct mutation *mutation);
} kinds[] = {
	{ "misspell_name", 5, misspell_name },
	{ "swap_names", 5, swap_names },
	{ "other_column", 5, other_column },
	{ "sibling_column", 6, sibling_column },
	{ "column_of_from", 6, column_of_from },
	{ "other_relation", 4, other_relation },
	{ "schema_added", 2, schema_added },
	{ "quoted_name", 2, quoted_name },
	{ "alias_dropped", 3, alias_dropped },
	{ "alias_renamed", 3, alias_renamed },
	{ "as_dropped", 2, as_dropped },
	{ "as_renamed", 3, as_renamed },
	{ "output_name_used", 3, output_name_used },
	{ "qualifier_added", 3, qualifier_added },
	{ "qualifier_dropped", 4, qualifier_dropped },
	{ "qualifier_replaced", 4, qualifier_replaced },
	{ "function_replaced", 5, function_replaced },
	{ "function_misspelt", 2, function_misspelt },
	{ "function_unwrapped", 4, function_unwrapped },
	{ "argument_dropped", 3, argument_dropped },
	{ "arguments_changed", 4, arguments_changed },
	{ "arguments_swapped", 2, arguments_swapped },
	{ "call_extended", 4, call_extended },
	{ "window_changed", 3, window_changed },
	{ "operand_wrapped", 30, operand_wrapped },
	{ "right_item", 50, right_item },
	{ "right_value", 10, right_value },
	{ "right_statement", 50, right_statement },
	{ "literal_replaced", 6, literal_replaced },
	{ "operand_to_literal", 4, operand_to_literal },
	{ "operator_replaced", 7, operator_replaced },
	{ "cast_removed", 3, cast_removed },
	{ "cast_changed", 3, cast_changed },
	{ "cast_added", 4, cast_added },
	{ "clause_dropped", 6, clause_dropped },
	{ "clause_doubled", 1, clause_doubled },
	{ "clause_moved", 1, clause_moved },
	{ "select_changed", 6, select_changed },
	{ "from_changed", 10, from_changed },
	{ "where_changed", 4, where_changed },
	{ "having_changed", 4, having_changed },
	{ "group_changed", 5, group_changed },
	{ "order_changed", 5, order_changed },
	{ "limit_changed", 2, limit_changed },
	{ "list_changed", 6, list_changed },
	{ "condition_moved", 2, condition_moved },
	{ "join_changed", 5, join_changed },
	{ "on_changed", 7, on_changed },
	{ "conditions_swapped", 2, conditions_swapped },
	{ "wrapped", 12, wrapped },
	{ "subquery_changed", 6, subquery_changed },
	{ "cte_changed", 4, cte_changed },
	{ "token_dropped", 2, token_dropped },
	{ "token_doubled", 1, token_doubled },
	{ "tokens_swapped", 1, tokens_swapped },
	{ "mark_changed", 3, mark_changed },
	{ "keyword_misspelt", 2, keyword_misspelt },
	{ "keyword_replaced", 2, keyword_replaced },
	{ "quote_changed", 2, quote_changed },
};

static size_t random_kind(struct mutation *mutation)
{
	size_t sum = 0;
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		sum += kinds[i].weight;
	size_t chosen = mutation_random(mutation, sum), kind = 0;
	while (chosen >= kinds[kind].weight)
		chosen -= kinds[kind++].weight;
	return kind;
}

/* One change; what cannot be changed so is changed otherwise. */
static const char *change(struct mutation *mutation)
{
	for (unsigned i = 0; i < TRIES_MAX && mutation->count > 0; i++) {
		size_t kind = random_kind(mutation);
		str_t before = mutation->sql;
		if (kinds[kind].apply(mutation) && mutation->count > 0 && !str_equal(before, mutation->sql))
			return kinds[kind].name;
		mutation_read(mutation, before);
	}
	mutation_read(mutation, arena_printf(mutation->arena, STR_FMT " x x", STR_ARG(mutation->sql)));
	return "appended";
}

struct sql_mutant sql_mutate(str_t sql, const struct sql_vocabulary *vocabulary, uint64_t seed,
			     struct arena *arena)
{
	struct mutation *mutation = ARENA_NEW(arena, struct mutation);
	*mutation = (struct mutation){ .random = seed, .vocabulary = vocabulary, .arena = arena };
	mutation_read(mutation, arena_str(arena, sql));
	const char *kind = change(mutation);
	if (mutation_random(mutation, 5) == 0) {
		const char *second = change(mutation);
		kind = str_equal(mutation->sql, sql) ? change(mutation) : second;
	}
	return (struct sql_mutant){ mutation->sql, kind };
}
