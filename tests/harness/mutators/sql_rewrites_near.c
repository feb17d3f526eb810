/* Rewrites that mean nearly the same: another thing on some database. */
#include "tests/harness/mutators/sql_rewrites_internal.h"

#define TEXT(rewrite, from, end) STR_ARG(tokens_text(rewrite, from, end))

/* The first of the words by another one. */
static str_t exchange(const struct rewrite *rewrite, const char *word, const char *other)
{
	for (size_t i = 0; i < rewrite->count; i++)
		if (word_is(rewrite, i, word))
			return rewrite_replace(rewrite, i, i + 1, "%s", other);
	return STR_NONE;
}

#define EXCHANGE(name, word, other)                                                                          \
	static str_t name(const struct rewrite *rewrite)                                                     \
	{                                                                                                    \
		return exchange(rewrite, word, other);                                                       \
	}

EXCHANGE(less_equal, "<", "<=")
EXCHANGE(less_strict, "<=", "<")
EXCHANGE(greater_equal, ">", ">=")
EXCHANGE(greater_strict, ">=", ">")
EXCHANGE(or_for_and, "and", "OR")
EXCHANGE(and_for_or, "or", "AND")
EXCHANGE(descending, "desc", "ASC")
EXCHANGE(union_all, "union", "UNION ALL")
EXCHANGE(average, "sum", "avg")
EXCHANGE(largest, "min", "max")
EXCHANGE(smallest, "max", "min")
EXCHANGE(ilike, "like", "ILIKE")
EXCHANGE(like, "ilike", "LIKE")
EXCHANGE(unequal, "=", "<>")
EXCHANGE(distinct_from, "=", "IS NOT DISTINCT FROM")
EXCHANGE(plus, "-", "+")
EXCHANGE(minus, "+", "-")
EXCHANGE(times, "/", "*")
EXCHANGE(cross, "join", "LEFT JOIN")

static str_t count_distinct(const struct rewrite *rewrite)
{
	for (size_t i = 0; i + 2 < rewrite->count; i++) {
		if (!word_is(rewrite, i, "count") || word_is(rewrite, i + 2, "*"))
			continue;
		if (word_is(rewrite, i + 2, "distinct"))
			return rewrite_replace(rewrite, i + 2, i + 3, " ");
		return rewrite_replace(rewrite, i + 2, i + 2, "DISTINCT");
	}
	return STR_NONE;
}

static str_t count_rows(const struct rewrite *rewrite)
{
	for (size_t i = 0; i + 2 < rewrite->count; i++) {
		size_t close = word_is(rewrite, i, "count") && word_is(rewrite, i + 1, "(")
				       ? token_closing(rewrite, i + 1)
				       : NO_TOKEN;
		if (close != NO_TOKEN && !word_is(rewrite, i + 2, "*") &&
		    !word_is(rewrite, i + 2, "distinct"))
			return rewrite_replace(rewrite, i + 2, close, "*");
	}
	return STR_NONE;
}

static str_t no_distinct(const struct rewrite *rewrite)
{
	size_t select = rewrite->clauses.select;
	if (select == NO_TOKEN || !word_is(rewrite, select + 1, "distinct") ||
	    word_is(rewrite, select + 2, "on"))
		return STR_NONE;
	return rewrite_replace(rewrite, select + 1, select + 2, " ");
}

static str_t distinct(const struct rewrite *rewrite)
{
	size_t select = rewrite->clauses.select;
	if (select == NO_TOKEN || word_is(rewrite, select + 1, "distinct"))
		return STR_NONE;
	return rewrite_replace(rewrite, select + 1, select + 1, "DISTINCT");
}

static str_t inner_join(const struct rewrite *rewrite)
{
	for (size_t i = 0; i + 1 < rewrite->count; i++)
		if (word_is(rewrite, i, "left") && word_is(rewrite, i + 1, "join"))
			return rewrite_replace(rewrite, i, i + 1, "INNER");
	return STR_NONE;
}

static str_t full_join(const struct rewrite *rewrite)
{
	for (size_t i = 0; i + 1 < rewrite->count; i++)
		if (word_is(rewrite, i, "left") && word_is(rewrite, i + 1, "join"))
			return rewrite_replace(rewrite, i, i + 1, "FULL");
	return STR_NONE;
}

static str_t other_number(const struct rewrite *rewrite)
{
	for (size_t i = 1; i < rewrite->count; i++)
		if (rewrite->tokens[i].kind == 'n' && rewrite->tokens[i].len < 8)
			return rewrite_replace(rewrite, i, i + 1, STR_FMT "1", TEXT(rewrite, i, i + 1));
	return STR_NONE;
}

static str_t decimal_number(const struct rewrite *rewrite)
{
	for (size_t i = 1; i < rewrite->count; i++) {
		str_t text = tokens_text(rewrite, i, i + 1);
		if (rewrite->tokens[i].kind == 'n' && !memchr(text.ptr, '.', text.len) &&
		    !word_is(rewrite, i - 1, "limit") && !word_is(rewrite, i - 1, "by"))
			return rewrite_replace(rewrite, i, i + 1, STR_FMT ".0", STR_ARG(text));
	}
	return STR_NONE;
}

static str_t other_text(const struct rewrite *rewrite)
{
	for (size_t i = 1; i < rewrite->count; i++)
		if (rewrite->tokens[i].kind == 's' && rewrite->tokens[i].len > 3)
			return rewrite_replace(rewrite, i, i + 1, "upper(" STR_FMT ")",
					       TEXT(rewrite, i, i + 1));
	return STR_NONE;
}

static str_t without_condition(const struct rewrite *rewrite)
{
	size_t where = rewrite->clauses.where;
	if (!rewrite->clauses.plain || where == NO_TOKEN)
		return STR_NONE;
	size_t end = clause_end(rewrite, where);
	struct rewrite_parts parts = split_ands(rewrite, where + 1, end);
	if (parts.count < 2)
		return STR_NONE;
	return rewrite_replace(rewrite, parts.starts[0], parts.starts[1], " ");
}

static str_t without_where(const struct rewrite *rewrite)
{
	size_t where = rewrite->clauses.where;
	if (!rewrite->clauses.plain || where == NO_TOKEN)
		return STR_NONE;
	return rewrite_replace(rewrite, where, clause_end(rewrite, where), " ");
}

static str_t without_order(const struct rewrite *rewrite)
{
	size_t order = rewrite->clauses.order;
	if (!rewrite->clauses.plain || order == NO_TOKEN || rewrite->clauses.limit != NO_TOKEN)
		return STR_NONE;
	return rewrite_replace(rewrite, order, clause_end(rewrite, order), " ");
}

static str_t nulls_moved(const struct rewrite *rewrite)
{
	size_t order = rewrite->clauses.order;
	if (!rewrite->clauses.plain || order == NO_TOKEN ||
	    token_find(rewrite, order, rewrite->count, "nulls", 0) != NO_TOKEN)
		return STR_NONE;
	struct rewrite_parts keys = split_commas(rewrite, order + 2, clause_end(rewrite, order));
	if (keys.count == 0)
		return STR_NONE;
	bool down = word_is(rewrite, keys.ends[0] - 1, "desc");
	return rewrite_replace(rewrite, keys.ends[0], keys.ends[0], down ? "NULLS LAST" : "NULLS FIRST");
}

/* ON into WHERE, across an outer join. */
static str_t on_as_where(const struct rewrite *rewrite)
{
	size_t left = token_find(rewrite, 0, rewrite->count, "left", 0);
	size_t on = left == NO_TOKEN ? NO_TOKEN : token_find(rewrite, left, rewrite->count, "on", 0);
	if (!rewrite->clauses.plain || on == NO_TOKEN || rewrite->clauses.where != NO_TOKEN)
		return STR_NONE;
	size_t end = clause_end(rewrite, rewrite->clauses.from);
	if (token_find(rewrite, on, end, "join", 0) != NO_TOKEN)
		return STR_NONE;
	return rewrite_replace(rewrite, on, end, "ON TRUE WHERE " STR_FMT, TEXT(rewrite, on + 1, end));
}

static str_t columns_swapped(const struct rewrite *rewrite)
{
	size_t select = rewrite->clauses.select;
	if (!rewrite->clauses.plain || word_is(rewrite, select + 1, "distinct"))
		return STR_NONE;
	struct rewrite_parts items = split_commas(rewrite, select + 1, rewrite->clauses.from);
	if (items.count < 2)
		return STR_NONE;
	return rewrite_replace(rewrite, items.starts[0], items.ends[1], STR_FMT ", " STR_FMT,
			       TEXT(rewrite, items.starts[1], items.ends[1]),
			       TEXT(rewrite, items.starts[0], items.ends[0]));
}

static str_t case_without_else(const struct rewrite *rewrite)
{
	for (size_t i = 1; i + 2 < rewrite->count; i++)
		if (word_is(rewrite, i, "else") && word_is(rewrite, i + 2, "end"))
			return rewrite_replace(rewrite, i, i + 2, " ");
	return STR_NONE;
}

static str_t not_exists(const struct rewrite *rewrite)
{
	for (size_t i = 1; i < rewrite->count; i++)
		if (word_is(rewrite, i, "exists") && !word_is(rewrite, i - 1, "not"))
			return rewrite_replace(rewrite, i, i, "NOT");
	return STR_NONE;
}

#define NEAR(function, name)                                                                                 \
	{                                                                                                    \
		{ name, false }, function                                                                    \
	}

const struct rewrite_entry changing_rewrites[] = {
	NEAR(less_equal, "< as <="),
	NEAR(less_strict, "<= as <"),
	NEAR(greater_equal, "> as >="),
	NEAR(greater_strict, ">= as >"),
	NEAR(or_for_and, "AND as OR"),
	NEAR(and_for_or, "OR as AND"),
	NEAR(descending, "DESC as ASC"),
	NEAR(union_all, "UNION as UNION ALL"),
	NEAR(average, "sum as avg"),
	NEAR(largest, "min as max"),
	NEAR(smallest, "max as min"),
	NEAR(ilike, "LIKE as ILIKE"),
	NEAR(like, "ILIKE as LIKE"),
	NEAR(unequal, "= as <>"),
	NEAR(distinct_from, "= as IS NOT DISTINCT FROM"),
	NEAR(plus, "- as +"),
	NEAR(minus, "+ as -"),
	NEAR(times, "/ as *"),
	NEAR(cross, "JOIN as LEFT JOIN"),
	NEAR(count_distinct, "count with or without DISTINCT"),
	NEAR(count_rows, "count(x) as count(*)"),
	NEAR(no_distinct, "without DISTINCT"),
	NEAR(distinct, "with DISTINCT"),
	NEAR(inner_join, "LEFT as INNER JOIN"),
	NEAR(full_join, "LEFT as FULL JOIN"),
	NEAR(other_number, "another number"),
	NEAR(decimal_number, "1 as 1.0"),
	NEAR(other_text, "another text"),
	NEAR(without_condition, "a condition less"),
	NEAR(without_where, "without WHERE"),
	NEAR(without_order, "without ORDER BY"),
	NEAR(nulls_moved, "NULLS moved"),
	NEAR(on_as_where, "ON as WHERE of an outer join"),
	NEAR(columns_swapped, "columns swapped"),
	NEAR(case_without_else, "CASE without ELSE"),
	NEAR(not_exists, "EXISTS as NOT EXISTS"),
};
const size_t changing_rewrites_count = sizeof changing_rewrites / sizeof *changing_rewrites;
