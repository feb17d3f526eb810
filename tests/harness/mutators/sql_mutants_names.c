#include "tests/harness/mutators/sql_mutants_internal.h"

#include <ctype.h>

bool mutate_misspell_name(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_name);
	return token != NO_TOKEN &&
	       mutation_replace_token(mutation, token,
				      mutation_misspell(mutation, token_text(mutation, token)));
}

bool mutate_swap_names(struct mutation *mutation)
{
	size_t one = mutation_pick(mutation, token_is_name);
	size_t other = mutation_pick(mutation, token_is_name);
	if (one == NO_TOKEN || one == other)
		return false;
	str_t text = token_text(mutation, one), other_text = token_text(mutation, other);
	return mutation_replace_token(mutation, one, other_text) &&
	       mutation_replace_token(mutation, other, text);
}

bool mutate_other_column(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_operand);
	if (token == NO_TOKEN || mutation->tokens[token].kind != TOKEN_WORD ||
	    token_is_function(mutation, token))
		return false;
	size_t column = token_is_qualifier(mutation, token) ? token + 2 : token;
	return mutation_replace_token(mutation, column,
				      mutation_column(mutation, mutation_relation(mutation)));
}

/* Stays within the relations that have a column of the name. */
bool mutate_sibling_column(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_name);
	if (token == NO_TOKEN)
		return false;
	str_t name = token_text(mutation, token);
	for (size_t i = 0; i < mutation->vocabulary->relations_count; i++) {
		const struct sql_vocabulary_relation *relation = &mutation->vocabulary->relations[i];
		for (size_t j = 0; j < relation->columns_count; j++) {
			if (str_equal(relation->columns[j].name, name))
				return mutation_replace_token(mutation, token,
							      mutation_column(mutation, relation));
		}
	}
	return false;
}

bool mutate_column_of_from(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_operand);
	if (token == NO_TOKEN)
		return false;
	mutation_replace(mutation, operand_span(mutation, token), mutation_qualified_column(mutation));
	return true;
}

bool mutate_other_relation(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_relation);
	return token != NO_TOKEN &&
	       mutation_replace_token(mutation, token, mutation_relation(mutation)->name);
}

bool mutate_schema_added(struct mutation *mutation)
{
	static const char *const schemas[] = { "public.", "nosuch.", "pg_catalog.", "consumer_div." };
	size_t token =
		mutation_pick(mutation, mutation_random(mutation, 3) ? token_is_relation : token_is_name);
	if (token == NO_TOKEN)
		return false;
	str_t name = token_text(mutation, token);
	return mutation_replace_token(
		mutation, token,
		arena_printf(mutation->arena, "%s" STR_FMT, ONE_OF(mutation, schemas), STR_ARG(name)));
}

bool mutate_quoted_name(struct mutation *mutation)
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
	return mutation_replace_token(mutation, token, arena_printf(mutation->arena, "\"%s\"", text));
}

bool mutate_alias_dropped(struct mutation *mutation)
{
	size_t relation = mutation_pick(mutation, token_is_relation);
	if (relation == NO_TOKEN || mutation_alias_of(mutation, relation) == relation)
		return false;
	return mutation_remove(mutation, relation + 1, mutation_alias_of(mutation, relation) + 1);
}

bool mutate_alias_renamed(struct mutation *mutation)
{
	size_t relation = mutation_pick(mutation, token_is_relation);
	if (relation == NO_TOKEN)
		return false;
	size_t alias = mutation_alias_of(mutation, relation);
	str_t name = mutation_random(mutation, 2) ? mutation_alias(mutation)
						  : mutation_misspell(mutation, token_text(mutation, alias));
	if (alias != relation)
		return mutation_replace_token(mutation, alias, name);
	str_t text = token_text(mutation, relation);
	return mutation_replace_token(
		mutation, relation,
		arena_printf(mutation->arena, STR_FMT " AS " STR_FMT, STR_ARG(text), STR_ARG(name)));
}

static bool is_as(const struct mutation *mutation, size_t token)
{
	return token_is(mutation, token, "as") && token + 1 < mutation->count;
}

bool mutate_as_dropped(struct mutation *mutation)
{
	size_t as = mutation_pick(mutation, is_as);
	return as != NO_TOKEN && mutation_remove(mutation, as, as + 1 + mutation_random(mutation, 2));
}

bool mutate_as_renamed(struct mutation *mutation)
{
	size_t as = mutation_pick(mutation, is_as);
	if (as == NO_TOKEN || !token_is_name(mutation, as + 1))
		return false;
	return mutation_replace_token(mutation, as + 1,
				      mutation_random(mutation, 2) ? STR("x") : mutation_alias(mutation));
}

static bool is_alias_of_output(const struct mutation *mutation, size_t token)
{
	return mutation->tokens[token].clause == CLAUSE_SELECT && token > 0 &&
	       token_is(mutation, token - 1, "as") && mutation->tokens[token].kind == TOKEN_WORD;
}

/* An output's name where PostgreSQL knows it, and where it does not. */
bool mutate_output_name_used(struct mutation *mutation)
{
	size_t alias = mutation_pick(mutation, is_alias_of_output);
	size_t operand = mutation_pick(mutation, token_is_operand);
	if (alias == NO_TOKEN || operand == NO_TOKEN)
		return false;
	mutation_replace(mutation, operand_span(mutation, operand), token_text(mutation, alias));
	return true;
}

bool mutate_qualifier_added(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_bare_column);
	if (token == NO_TOKEN)
		return false;
	str_t alias = mutation_alias(mutation), name = token_text(mutation, token);
	return mutation_replace_token(
		mutation, token,
		arena_printf(mutation->arena, STR_FMT "." STR_FMT, STR_ARG(alias), STR_ARG(name)));
}

bool mutate_qualifier_dropped(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_qualifier);
	return token != NO_TOKEN && mutation_remove(mutation, token, token + 2);
}

bool mutate_qualifier_replaced(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_qualifier);
	if (token == NO_TOKEN)
		return false;
	return mutation_replace_token(mutation, token,
				      mutation_random(mutation, 4) ? mutation_alias(mutation)
								   : mutation_relation(mutation)->name);
}
