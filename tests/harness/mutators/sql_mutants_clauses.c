#include "tests/harness/mutators/sql_mutants_internal.h"

/* A clause of a random SELECT. */
bool mutation_clause(struct mutation *mutation, enum clause clause, size_t *ret_keyword,
		     struct token_span *ret_span)
{
	size_t select = mutation_pick(mutation, token_is_select);
	return select != NO_TOKEN && select_clause(mutation, select, clause, ret_keyword, ret_span);
}

static bool any_clause(struct mutation *mutation, size_t *ret_keyword, struct token_span *ret_span)
{
	static const enum clause clauses[] = { CLAUSE_SELECT, CLAUSE_FROM,  CLAUSE_WHERE, CLAUSE_GROUP,
					       CLAUSE_HAVING, CLAUSE_ORDER, CLAUSE_LIMIT };
	return mutation_clause(mutation, ONE_OF(mutation, clauses), ret_keyword, ret_span);
}

bool mutate_clause_dropped(struct mutation *mutation)
{
	size_t keyword;
	struct token_span span;
	return any_clause(mutation, &keyword, &span) && mutation_remove(mutation, keyword, span.end);
}

bool mutate_clause_doubled(struct mutation *mutation)
{
	size_t keyword;
	struct token_span span;
	if (!any_clause(mutation, &keyword, &span))
		return false;
	str_t text = span_text(mutation, (struct token_span){ keyword, span.end });
	return mutation_insert(mutation, span.end, arena_str(mutation->arena, text));
}

/* Clauses in the wrong order: one moves to the end of its SELECT. */
bool mutate_clause_moved(struct mutation *mutation)
{
	size_t keyword;
	struct token_span span;
	if (!any_clause(mutation, &keyword, &span) || span.end > mutation->count)
		return false;
	str_t text =
		arena_str(mutation->arena, span_text(mutation, (struct token_span){ keyword, span.end }));
	mutation_insert(mutation, mutation_random(mutation, 2) ? mutation->count : keyword / 2, text);
	return true;
}

static bool clause_filled(struct mutation *mutation, enum clause clause, enum template_kind kind)
{
	size_t keyword;
	struct token_span span;
	if (!mutation_clause(mutation, clause, &keyword, &span) || span.start >= span.end)
		return false;
	const char *template = mutation_template(mutation, kind);
	mutation_replace(mutation, span, mutation_fill(mutation, template, span_text(mutation, span)));
	return true;
}

#define CLAUSE_KIND(name, clause, kind)                                                                      \
	bool mutate_##name(struct mutation *mutation)                                                        \
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
bool mutate_list_changed(struct mutation *mutation)
{
	static const enum clause lists[] = { CLAUSE_SELECT, CLAUSE_GROUP, CLAUSE_GROUP, CLAUSE_ORDER };
	struct token_span span, items[ITEMS_MAX];
	size_t keyword;
	if (!mutation_clause(mutation, ONE_OF(mutation, lists), &keyword, &span))
		return false;
	size_t count = span_items(mutation, span, items, ITEMS_MAX);
	if (count == 0)
		return false;
	return mutation_random(mutation, 4) ? mutation_drop_item(mutation, items, count)
					    : mutation_swap_items(mutation, items, count);
}

static bool is_clause_word(const struct mutation *mutation, size_t token)
{
	return token_is(mutation, token, "where") || token_is(mutation, token, "having") ||
	       token_is(mutation, token, "on");
}

bool mutate_condition_moved(struct mutation *mutation)
{
	static const char *const words[] = { "WHERE", "HAVING", "ON" };
	size_t token = mutation_pick(mutation, is_clause_word);
	return token != NO_TOKEN &&
	       mutation_replace_token(mutation, token, str_from(ONE_OF(mutation, words)));
}

static bool is_join(const struct mutation *mutation, size_t token)
{
	return token_is(mutation, token, "join");
}

bool mutate_join_changed(struct mutation *mutation)
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

bool mutate_on_changed(struct mutation *mutation)
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
bool mutate_conditions_swapped(struct mutation *mutation)
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
