#include "tests/harness/mutators/sql_mutants_internal.h"

#include <ctype.h>

static const struct {
	enum template_kind kind;
	const char *text;
} templates[] = {
#define TEMPLATE(kind, text) { TEMPLATE_##kind, text },
#include "tests/harness/mutators/sql_mutants.def"
#undef TEMPLATE
};

const char *mutation_template(struct mutation *mutation, enum template_kind kind)
{
	size_t first = 0, count = 0;
	while (templates[first].kind != kind)
		first++;
	while (first + count < sizeof templates / sizeof templates[0] &&
	       templates[first + count].kind == kind)
		count++;
	return templates[first + mutation_random(mutation, count)].text;
}

const struct sql_vocabulary_relation *mutation_relation(struct mutation *mutation)
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

str_t mutation_column(struct mutation *mutation, const struct sql_vocabulary_relation *relation)
{
	return relation->columns[mutation_random(mutation, relation->columns_count)].name;
}

/* The name that the relation in FROM is visible by. */
size_t mutation_alias_of(const struct mutation *mutation, size_t relation)
{
	size_t next = relation + 1;
	if (token_is(mutation, next, "as"))
		next++;
	return next < mutation->count && mutation->tokens[next].kind == TOKEN_WORD ? next : relation;
}

str_t mutation_alias(struct mutation *mutation)
{
	size_t relation = mutation_pick(mutation, token_is_relation);
	return relation == NO_TOKEN ? STR("a") : token_text(mutation, mutation_alias_of(mutation, relation));
}

/* A column that is there, by the name that it is visible by. */
str_t mutation_qualified_column(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_relation);
	const struct sql_vocabulary_relation *relation =
		token == NO_TOKEN ? NULL : relation_named(mutation, token_text(mutation, token));
	if (!relation)
		return mutation_column(mutation, mutation_relation(mutation));
	str_t column = mutation_column(mutation, relation);
	str_t alias = token_text(mutation, mutation_alias_of(mutation, token));
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
	str_t alias = token_text(mutation, mutation_alias_of(mutation, token));
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
		return mutation_qualified_column(mutation);
	case 'c':
		return mutation_column(mutation, relation);
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
		return mutation_alias(mutation);
	case 'f':
		return str_from(mutation_template(mutation, TEMPLATE_FUNCTION));
	case 'l':
		return str_from(mutation_template(mutation, TEMPLATE_LITERAL));
	case 'y':
		return str_from(mutation_template(mutation, TEMPLATE_TYPE));
	case 'p':
		return str_from(mutation_template(mutation, TEMPLATE_OPERATOR));
	default:
		return arena_printf(mutation->arena, "$%c", name);
	}
}

str_t mutation_fill(struct mutation *mutation, const char *template, str_t present)
{
	/* One relation for all, or `$c FROM $t` would seldom be right. */
	const struct sql_vocabulary_relation *relation = mutation_relation(mutation);
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

/* ---- Edits ---- */

bool mutation_replace_token(struct mutation *mutation, size_t token, str_t text)
{
	if (token >= mutation->count)
		return false;
	mutation_replace(mutation, (struct token_span){ token, token + 1 }, text);
	return true;
}

bool mutation_insert(struct mutation *mutation, size_t token, str_t text)
{
	mutation_replace(mutation, (struct token_span){ token, token }, text);
	return true;
}

bool mutation_remove(struct mutation *mutation, size_t start, size_t end)
{
	if (start >= end || end > mutation->count)
		return false;
	mutation_replace(mutation, (struct token_span){ start, end }, STR(""));
	return true;
}

/* One letter more, less, other, or swapped with the next one. */
str_t mutation_misspell(struct mutation *mutation, str_t word)
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

bool mutation_drop_item(struct mutation *mutation, const struct token_span *items, size_t count)
{
	size_t chosen = mutation_random(mutation, count);
	if (count > 1 && chosen + 1 < count)
		return mutation_remove(mutation, items[chosen].start, items[chosen + 1].start);
	return count > 1 ? mutation_remove(mutation, items[chosen].start - 1, items[chosen].end)
			 : mutation_remove(mutation, items[0].start, items[0].end);
}

bool mutation_swap_items(struct mutation *mutation, const struct token_span *items, size_t count)
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
