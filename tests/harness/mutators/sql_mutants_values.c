#include "tests/harness/mutators/sql_literals.h"
#include "tests/harness/mutators/sql_mutants_internal.h"

/* ---- Functions ---- */

bool mutate_function_replaced(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_function);
	return token != NO_TOKEN &&
	       mutation_replace_token(mutation, token,
				      str_from(mutation_template(mutation, TEMPLATE_FUNCTION)));
}

bool mutate_function_misspelt(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_function);
	return token != NO_TOKEN &&
	       mutation_replace_token(mutation, token,
				      mutation_misspell(mutation, token_text(mutation, token)));
}

bool mutate_function_unwrapped(struct mutation *mutation)
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

bool mutate_argument_dropped(struct mutation *mutation)
{
	struct token_span all, items[ITEMS_MAX];
	size_t count = random_arguments(mutation, &all, items);
	return count != NO_TOKEN && count > 0 && mutation_drop_item(mutation, items, count);
}

bool mutate_arguments_changed(struct mutation *mutation)
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

bool mutate_arguments_swapped(struct mutation *mutation)
{
	struct token_span all, items[ITEMS_MAX];
	size_t count = random_arguments(mutation, &all, items);
	return count != NO_TOKEN && mutation_swap_items(mutation, items, count);
}

bool mutate_call_extended(struct mutation *mutation)
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

bool mutate_window_changed(struct mutation *mutation)
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
		return mutation_remove(mutation, over, span.end);
	mutation_replace(mutation, span, FILL(mutation, windows, STR("")));
	return true;
}

/* ---- Values, operators, casts ---- */

bool mutate_operand_wrapped(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_operand);
	if (token == NO_TOKEN)
		return false;
	struct token_span span = operand_span(mutation, token);
	mutation_replace(mutation, span,
			 mutation_fill(mutation, mutation_template(mutation, TEMPLATE_OPERAND),
				       span_text(mutation, span)));
	return true;
}

bool mutate_literal_replaced(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_literal);
	return token != NO_TOKEN &&
	       mutation_replace_token(mutation, token,
				      str_from(mutation_template(mutation, TEMPLATE_LITERAL)));
}

bool mutate_operand_to_literal(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_operand);
	if (token == NO_TOKEN)
		return false;
	mutation_replace(mutation, operand_span(mutation, token),
			 str_from(mutation_template(mutation, TEMPLATE_LITERAL)));
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

bool mutate_operator_replaced(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, is_operator);
	return token != NO_TOKEN &&
	       mutation_replace_token(mutation, token,
				      str_from(mutation_template(mutation, TEMPLATE_OPERATOR)));
}

static bool is_cast(const struct mutation *mutation, size_t token)
{
	return token_is(mutation, token, "::") && token + 1 < mutation->count;
}

bool mutate_cast_removed(struct mutation *mutation)
{
	size_t cast = mutation_pick(mutation, is_cast);
	return cast != NO_TOKEN && mutation_remove(mutation, cast, cast + 2);
}

bool mutate_cast_changed(struct mutation *mutation)
{
	size_t cast = mutation_pick(mutation, is_cast);
	return cast != NO_TOKEN &&
	       mutation_replace_token(mutation, cast + 1,
				      str_from(mutation_template(mutation, TEMPLATE_TYPE)));
}

bool mutate_cast_added(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_operand);
	if (token == NO_TOKEN)
		return false;
	struct token_span span = operand_span(mutation, token);
	mutation_replace(mutation, span, mutation_fill(mutation, "$0::$y", span_text(mutation, span)));
	return true;
}

/* ---- Values as texts, collations ---- */

static bool is_string(const struct mutation *mutation, size_t token)
{
	return mutation->tokens[token].kind == TOKEN_STRING && token_text(mutation, token).len >= 2;
}

static struct sql_literal random_literal(struct mutation *mutation)
{
	return sql_literal_for(mutation->random + mutation_random(mutation, SIZE_MAX / 2), mutation->arena);
}

/* A string that is there, with a byte of it changed. */
bool mutate_literal_broken(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, is_string);
	if (token == NO_TOKEN)
		return false;
	str_t text = token_text(mutation, token);
	uint64_t random = mutation_random(mutation, SIZE_MAX / 2);
	str_t inner = sql_literal_broken((str_t){ text.ptr + 1, text.len - 2 }, &random, mutation->arena);
	return mutation_replace_token(mutation, token,
				      arena_printf(mutation->arena, "%c" STR_FMT "%c", text.ptr[0],
						   STR_ARG(inner), text.ptr[text.len - 1]));
}

/* A text for a type: cast to it, compared with what is cast to it, or as it stands. */
bool mutate_literal_typed(struct mutation *mutation)
{
	size_t token = mutation_pick(mutation, token_is_operand);
	if (token == NO_TOKEN)
		return false;
	struct sql_literal literal = random_literal(mutation);
	struct token_span span = operand_span(mutation, token);
	str_t present = span_text(mutation, span);
	struct arena *arena = mutation->arena;
	switch (mutation_random(mutation, 5)) {
	case 0:
		present = arena_printf(arena, STR_FMT "::%s", STR_ARG(literal.quoted), literal.type);
		break;
	case 1:
		present =
			arena_printf(arena, "CAST(" STR_FMT " AS %s)", STR_ARG(literal.quoted), literal.type);
		break;
	case 2:
		present = arena_printf(arena, "(NULL::%s = " STR_FMT ")", literal.type,
				       STR_ARG(literal.quoted));
		break;
	case 3:
		present = arena_printf(arena, "COALESCE(NULL::%s, " STR_FMT ")", literal.type,
				       STR_ARG(literal.quoted));
		break;
	default:
		present = arena_printf(arena, "(" STR_FMT " = " STR_FMT ")", STR_ARG(present),
				       STR_ARG(literal.quoted));
	}
	mutation_replace(mutation, span, present);
	return true;
}

bool mutate_collated(struct mutation *mutation)
{
	static const char *const collated[] = {
		"$0 COLLATE \"C\"",
		"$0 COLLATE \"POSIX\"",
		"$0 COLLATE \"default\"",
		"$0 COLLATE \"nosuch\"",
		"$0 COLLATE pg_catalog.\"C\"",
		"$0 COLLATE public.\"C\"",
		"$0 COLLATE nosuch.\"C\"",
		"$0 COLLATE c",
		"$0 COLLATE \"en_US\"",
		"$0 COLLATE ucs_basic",
		"$0 COLLATE \"C.UTF-8\"",
		"$0 COLLATE \"und-x-icu\"",
		"$0 COLLATE utf8_general_ci",
		"$s COLLATE \"C\"",
		"$s COLLATE \"POSIX\"",
		"$s COLLATE \"de_DE\"",
		"$s COLLATE nocase",
	};
	size_t token = mutation_pick(mutation, token_is_operand);
	if (token == NO_TOKEN)
		return false;
	struct token_span span = operand_span(mutation, token);
	mutation_replace(mutation, span, FILL(mutation, collated, span_text(mutation, span)));
	return true;
}
