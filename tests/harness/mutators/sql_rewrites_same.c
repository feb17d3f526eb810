/* Rewrites that mean the same. */
#include "common/buf.h"
#include "tests/harness/mutators/sql_rewrites_internal.h"

#include <ctype.h>

#define TEXT(rewrite, from, end) STR_ARG(tokens_text(rewrite, from, end))

static str_t finish(const struct rewrite *rewrite, struct buf *buf)
{
	str_t text = arena_str(rewrite->arena, buf_str(buf));
	buf_free(buf);
	return text;
}

/* ---- Words ---- */

static str_t upper_case(const struct rewrite *rewrite)
{
	struct buf buf = BUF_INIT;
	for (size_t i = 0; i < rewrite->count; i++) {
		const struct rewrite_token *token = &rewrite->tokens[i];
		for (size_t k = 0; k < token->len; k++) {
			char c = rewrite->sql.ptr[token->at + k];
			buf_append_char(&buf, token->kind == 'w' ? (char)toupper((unsigned char)c) : c);
		}
		buf_append_char(&buf, ' ');
	}
	return finish(rewrite, &buf);
}

static str_t comments(const struct rewrite *rewrite)
{
	struct buf buf = BUF_INIT;
	for (size_t i = 0; i < rewrite->count; i++) {
		buf_append_str(&buf, tokens_text(rewrite, i, i + 1));
		buf_append_text(&buf, i % 3 ? "\n\t" : " /* it's */ ");
	}
	buf_append_text(&buf, "-- end");
	return finish(rewrite, &buf);
}

static str_t semicolon(const struct rewrite *rewrite)
{
	return arena_printf(rewrite->arena, "  " STR_FMT " ;\n", TEXT(rewrite, 0, rewrite->count));
}

/* Columns behind a dot in quotes. */
static str_t quoted_columns(const struct rewrite *rewrite)
{
	struct buf buf = BUF_INIT;
	bool any = false;
	for (size_t i = 0; i < rewrite->count; i++) {
		str_t text = tokens_text(rewrite, i, i + 1);
		bool column = rewrite->tokens[i].kind == 'w' && i > 0 && word_is(rewrite, i - 1, ".") &&
			      !word_is(rewrite, i + 1, "(") && !word_is(rewrite, i + 1, ".");
		any |= column;
		if (column)
			buf_append_char(&buf, '"');
		for (size_t k = 0; k < text.len; k++)
			buf_append_char(&buf,
					column ? (char)tolower((unsigned char)text.ptr[k]) : text.ptr[k]);
		if (column)
			buf_append_char(&buf, '"');
		buf_append_char(&buf, ' ');
	}
	str_t result = finish(rewrite, &buf);
	return any ? result : STR_NONE;
}

/* ---- Comparisons ---- */

/* The operator between two operands, turned around. */
static str_t turn(const struct rewrite *rewrite, const char *op, const char *turned)
{
	for (size_t i = 1; i + 1 < rewrite->count; i++) {
		size_t start = word_is(rewrite, i, op) ? operand_start(rewrite, i) : NO_TOKEN;
		size_t end = start != NO_TOKEN ? operand_end(rewrite, i + 1) : NO_TOKEN;
		if (end != NO_TOKEN)
			return rewrite_replace(rewrite, start, end, STR_FMT " %s " STR_FMT,
					       TEXT(rewrite, i + 1, end), turned, TEXT(rewrite, start, i));
	}
	return STR_NONE;
}

static str_t turn_equal(const struct rewrite *rewrite)
{
	return turn(rewrite, "=", "=");
}

static str_t turn_less(const struct rewrite *rewrite)
{
	str_t text = turn(rewrite, "<", ">");
	return str_present(text) ? text : turn(rewrite, "<=", ">=");
}

static str_t turn_greater(const struct rewrite *rewrite)
{
	str_t text = turn(rewrite, ">", "<");
	return str_present(text) ? text : turn(rewrite, ">=", "<=");
}

static str_t negate(const struct rewrite *rewrite, const char *op, const char *opposite)
{
	for (size_t i = 1; i + 1 < rewrite->count; i++) {
		size_t start = word_is(rewrite, i, op) ? operand_start(rewrite, i) : NO_TOKEN;
		size_t end = start != NO_TOKEN ? operand_end(rewrite, i + 1) : NO_TOKEN;
		if (end != NO_TOKEN && !word_is(rewrite, start - 1, "not"))
			return rewrite_replace(rewrite, start, end, "NOT (" STR_FMT " %s " STR_FMT ")",
					       TEXT(rewrite, start, i), opposite, TEXT(rewrite, i + 1, end));
	}
	return STR_NONE;
}

static str_t not_unequal(const struct rewrite *rewrite)
{
	return negate(rewrite, "=", "<>");
}

static str_t not_less(const struct rewrite *rewrite)
{
	return negate(rewrite, ">=", "<");
}

static str_t not_greater(const struct rewrite *rewrite)
{
	return negate(rewrite, "<", ">=");
}

static str_t unequal_spelled(const struct rewrite *rewrite)
{
	for (size_t i = 0; i < rewrite->count; i++) {
		if (word_is(rewrite, i, "<>"))
			return rewrite_replace(rewrite, i, i + 1, "!=");
		if (word_is(rewrite, i, "!="))
			return rewrite_replace(rewrite, i, i + 1, "<>");
	}
	return STR_NONE;
}

static str_t not_like(const struct rewrite *rewrite)
{
	static const char *const ops[] = { "like", "ilike" };
	for (size_t i = 1; i + 1 < rewrite->count; i++)
		for (size_t k = 0; k < 2; k++) {
			size_t start = word_is(rewrite, i, ops[k]) ? operand_start(rewrite, i) : NO_TOKEN;
			size_t end = start != NO_TOKEN ? operand_end(rewrite, i + 1) : NO_TOKEN;
			if (end != NO_TOKEN)
				return rewrite_replace(
					rewrite, start, end, "NOT (" STR_FMT " NOT %s " STR_FMT ")",
					TEXT(rewrite, start, i), ops[k], TEXT(rewrite, i + 1, end));
		}
	return STR_NONE;
}

static str_t null_turned(const struct rewrite *rewrite)
{
	for (size_t i = 1; i + 1 < rewrite->count; i++) {
		size_t start = word_is(rewrite, i, "is") ? operand_start(rewrite, i) : NO_TOKEN;
		if (start == NO_TOKEN)
			continue;
		if (word_is(rewrite, i + 1, "not") && word_is(rewrite, i + 2, "null"))
			return rewrite_replace(rewrite, start, i + 3, "NOT (" STR_FMT " IS NULL)",
					       TEXT(rewrite, start, i));
		if (word_is(rewrite, i + 1, "null"))
			return rewrite_replace(rewrite, start, i + 2, "NOT (" STR_FMT " IS NOT NULL)",
					       TEXT(rewrite, start, i));
	}
	return STR_NONE;
}

static str_t between_split(const struct rewrite *rewrite)
{
	for (size_t i = 1; i + 3 < rewrite->count; i++) {
		size_t start = word_is(rewrite, i, "between") ? operand_start(rewrite, i) : NO_TOKEN;
		if (start == NO_TOKEN || !word_is(rewrite, i + 2, "and"))
			continue;
		size_t end = operand_end(rewrite, i + 3);
		if (end != NO_TOKEN)
			return rewrite_replace(rewrite, start, end,
					       "(" STR_FMT " >= " STR_FMT " AND " STR_FMT " >= " STR_FMT ")",
					       TEXT(rewrite, start, i), TEXT(rewrite, i + 1, i + 2),
					       TEXT(rewrite, i + 3, end), TEXT(rewrite, start, i));
	}
	return STR_NONE;
}

static str_t between_joined(const struct rewrite *rewrite)
{
	for (size_t i = 1; i + 6 < rewrite->count; i++) {
		size_t start = word_is(rewrite, i, ">=") ? operand_start(rewrite, i) : NO_TOKEN;
		size_t width = start == NO_TOKEN ? 0 : i - start;
		size_t second = i + 3, op = second + width;
		if (!width || !word_is(rewrite, i + 2, "and") || !word_is(rewrite, op, "<=") ||
		    !str_equal(tokens_text(rewrite, start, i), tokens_text(rewrite, second, op)))
			continue;
		size_t end = operand_end(rewrite, op + 1);
		if (end == op + 2 && !word_is(rewrite, i + 1, "-"))
			return rewrite_replace(rewrite, start, end,
					       STR_FMT " BETWEEN " STR_FMT " AND " STR_FMT,
					       TEXT(rewrite, start, i), TEXT(rewrite, i + 1, i + 2),
					       TEXT(rewrite, op + 1, end));
	}
	return STR_NONE;
}

/* ---- IN ---- */

struct in_list {
	size_t start, in, end; /* operand, IN, behind the closing parenthesis */
	bool negated;
	struct rewrite_parts items;
};

static bool find_in_list(const struct rewrite *rewrite, bool negated, struct in_list *ret_list)
{
	for (size_t i = 1; i + 2 < rewrite->count; i++) {
		bool is_not = word_is(rewrite, i - 1, "not");
		if (!word_is(rewrite, i, "in") || is_not != negated || !word_is(rewrite, i + 1, "(") ||
		    word_is(rewrite, i + 2, "select") || word_is(rewrite, i + 2, "with"))
			continue;
		size_t start = operand_start(rewrite, negated ? i - 1 : i);
		size_t close = token_closing(rewrite, i + 1);
		if (start == NO_TOKEN || close == NO_TOKEN)
			continue;
		*ret_list =
			(struct in_list){ start, i, close + 1, negated, split_commas(rewrite, i + 2, close) };
		return ret_list->items.count > 0;
	}
	return false;
}

static str_t in_spelled(const struct rewrite *rewrite, bool negated, const char *op, const char *glue)
{
	struct in_list list;
	struct buf buf = BUF_INIT;
	if (!find_in_list(rewrite, negated, &list))
		return STR_NONE;
	size_t subject_end = negated ? list.in - 1 : list.in;
	for (size_t i = 0; i < list.items.count; i++)
		buf_printf(&buf, "%s" STR_FMT " %s " STR_FMT, i ? glue : "",
			   TEXT(rewrite, list.start, subject_end), op,
			   TEXT(rewrite, list.items.starts[i], list.items.ends[i]));
	str_t result = rewrite_replace(rewrite, list.start, list.end, "(%s)", buf.data);
	buf_free(&buf);
	return result;
}

static str_t in_as_or(const struct rewrite *rewrite)
{
	return in_spelled(rewrite, false, "=", " OR ");
}

static str_t not_in_as_and(const struct rewrite *rewrite)
{
	return in_spelled(rewrite, true, "<>", " AND ");
}

static str_t in_reversed(const struct rewrite *rewrite)
{
	struct in_list list;
	struct buf buf = BUF_INIT;
	if ((!find_in_list(rewrite, false, &list) && !find_in_list(rewrite, true, &list)) ||
	    list.items.count < 2)
		return STR_NONE;
	for (size_t i = list.items.count; i > 0; i--)
		buf_printf(&buf, "%s" STR_FMT, i < list.items.count ? ", " : "",
			   TEXT(rewrite, list.items.starts[i - 1], list.items.ends[i - 1]));
	str_t result = rewrite_replace(rewrite, list.in + 2, list.end - 1, "%s", buf.data);
	buf_free(&buf);
	return result;
}

static str_t in_repeated(const struct rewrite *rewrite)
{
	struct in_list list;
	if (!find_in_list(rewrite, false, &list) || list.items.count < 2)
		return STR_NONE;
	return rewrite_replace(rewrite, list.end - 1, list.end - 1, ", " STR_FMT,
			       TEXT(rewrite, list.items.starts[0], list.items.ends[0]));
}

static str_t not_in_negated(const struct rewrite *rewrite)
{
	struct in_list list;
	if (!find_in_list(rewrite, true, &list))
		return STR_NONE;
	return rewrite_replace(rewrite, list.start, list.end, "NOT (" STR_FMT " " STR_FMT ")",
			       TEXT(rewrite, list.start, list.in - 1), TEXT(rewrite, list.in, list.end));
}

static str_t equal_as_in(const struct rewrite *rewrite)
{
	for (size_t i = 1; i + 1 < rewrite->count; i++) {
		size_t start = word_is(rewrite, i, "=") ? operand_start(rewrite, i) : NO_TOKEN;
		size_t end = start != NO_TOKEN ? operand_end(rewrite, i + 1) : NO_TOKEN;
		if (end != NO_TOKEN)
			return rewrite_replace(rewrite, i, end, "IN (" STR_FMT ")",
					       TEXT(rewrite, i + 1, end));
	}
	return STR_NONE;
}

/* ---- WHERE ---- */

static str_t where_as(const struct rewrite *rewrite, const char *before, const char *behind)
{
	size_t where = rewrite->clauses.where;
	if (!rewrite->clauses.plain || where == NO_TOKEN)
		return STR_NONE;
	size_t end = clause_end(rewrite, where);
	return rewrite_replace(rewrite, where + 1, end, "%s(" STR_FMT ")%s", before,
			       TEXT(rewrite, where + 1, end), behind);
}

static str_t where_true(const struct rewrite *rewrite)
{
	return where_as(rewrite, "1 = 1 AND ", "");
}

static str_t where_also_true(const struct rewrite *rewrite)
{
	return where_as(rewrite, "", " AND TRUE");
}

static str_t where_twice_not(const struct rewrite *rewrite)
{
	return where_as(rewrite, "NOT (NOT (", "))");
}

static str_t where_parts(const struct rewrite *rewrite, const char *open, const char *before,
			 const char *glue, const char *close, bool reversed)
{
	size_t where = rewrite->clauses.where;
	struct buf buf = BUF_INIT;
	if (!rewrite->clauses.plain || where == NO_TOKEN)
		return STR_NONE;
	size_t end = clause_end(rewrite, where);
	struct rewrite_parts parts = split_ands(rewrite, where + 1, end);
	if (parts.count < 2)
		return STR_NONE;
	for (size_t i = 0; i < parts.count; i++) {
		size_t at = reversed ? parts.count - 1 - i : i;
		buf_printf(&buf, "%s%s" STR_FMT "%s", i ? glue : "", before,
			   TEXT(rewrite, parts.starts[at], parts.ends[at]), *before ? ")" : "");
	}
	str_t result = rewrite_replace(rewrite, where + 1, end, "%s%s%s", open, buf.data, close);
	buf_free(&buf);
	return result;
}

static str_t where_reversed(const struct rewrite *rewrite)
{
	return where_parts(rewrite, "", "", " AND ", "", true);
}

static str_t where_bracketed(const struct rewrite *rewrite)
{
	return where_parts(rewrite, "(", "((", ") AND ", "))", false);
}

static str_t where_de_morgan(const struct rewrite *rewrite)
{
	return where_parts(rewrite, "NOT (", "NOT (", " OR ", ")", false);
}

static str_t where_repeated(const struct rewrite *rewrite)
{
	size_t where = rewrite->clauses.where;
	if (!rewrite->clauses.plain || where == NO_TOKEN)
		return STR_NONE;
	size_t end = clause_end(rewrite, where);
	struct rewrite_parts parts = split_ands(rewrite, where + 1, end);
	if (parts.count == 0)
		return STR_NONE;
	return rewrite_replace(rewrite, end, end, "AND " STR_FMT,
			       TEXT(rewrite, parts.starts[0], parts.ends[0]));
}

/* ---- Literals and types ---- */

static bool is_date(const struct rewrite *rewrite, size_t token)
{
	str_t text = tokens_text(rewrite, token, token + 1);
	return text.len == 12 && rewrite->tokens[token].kind == 's' && text.ptr[5] == '-' &&
	       text.ptr[8] == '-';
}

static str_t date_typed(const struct rewrite *rewrite)
{
	static const char *const ops[] = { "=", "<", ">", "<=", ">=", "between" };
	for (size_t i = 1; i + 1 < rewrite->count; i++)
		for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
			if (word_is(rewrite, i, ops[k]) && is_date(rewrite, i + 1) &&
			    !word_is(rewrite, i + 2, "::") && operand_start(rewrite, i) != NO_TOKEN)
				return rewrite_replace(rewrite, i + 1, i + 1, "DATE");
	return STR_NONE;
}

static str_t cast_as_function(const struct rewrite *rewrite)
{
	for (size_t i = 2; i + 1 < rewrite->count; i++) {
		bool simple = word_is(rewrite, i, "::") && rewrite->tokens[i - 1].kind != 'o' &&
			      !word_is(rewrite, i - 2, ".") && !word_is(rewrite, i + 2, "(") &&
			      !word_is(rewrite, i + 2, "[") && !word_is(rewrite, i - 2, "::");
		if (simple)
			return rewrite_replace(rewrite, i - 1, i + 2, "CAST(" STR_FMT " AS " STR_FMT ")",
					       TEXT(rewrite, i - 1, i), TEXT(rewrite, i + 1, i + 2));
	}
	return STR_NONE;
}

static str_t cast_as_operator(const struct rewrite *rewrite)
{
	for (size_t i = 0; i + 4 < rewrite->count; i++) {
		size_t close = word_is(rewrite, i, "cast") && word_is(rewrite, i + 1, "(")
				       ? token_closing(rewrite, i + 1)
				       : NO_TOKEN;
		size_t as = close == NO_TOKEN
				    ? NO_TOKEN
				    : token_find(rewrite, i + 2, close, "as", rewrite->tokens[i + 1].depth);
		if (as != NO_TOKEN)
			return rewrite_replace(rewrite, i, close + 1, "((" STR_FMT ")::" STR_FMT ")",
					       TEXT(rewrite, i + 2, as), TEXT(rewrite, as + 1, close));
	}
	return STR_NONE;
}

static str_t count_one(const struct rewrite *rewrite)
{
	for (size_t i = 0; i + 3 < rewrite->count; i++)
		if (word_is(rewrite, i, "count") && word_is(rewrite, i + 2, "*") &&
		    word_is(rewrite, i + 3, ")"))
			return rewrite_replace(rewrite, i + 2, i + 3, "1");
	return STR_NONE;
}

static str_t catalog_function(const struct rewrite *rewrite)
{
	static const char *const names[] = { "count", "sum", "avg", "max", "min", "lower" };
	for (size_t i = 1; i + 1 < rewrite->count; i++)
		for (size_t k = 0; k < sizeof names / sizeof *names; k++)
			if (word_is(rewrite, i, names[k]) && word_is(rewrite, i + 1, "(") &&
			    !word_is(rewrite, i - 1, "."))
				return rewrite_replace(rewrite, i, i + 1, "pg_catalog.%s", names[k]);
	return STR_NONE;
}

static str_t exists_one(const struct rewrite *rewrite)
{
	for (size_t i = 0; i + 2 < rewrite->count; i++) {
		if (!word_is(rewrite, i, "exists") || !word_is(rewrite, i + 2, "select") ||
		    word_is(rewrite, i + 4, "("))
			continue;
		size_t from =
			token_find(rewrite, i + 3, rewrite->count, "from", rewrite->tokens[i + 2].depth);
		if (from != NO_TOKEN)
			return rewrite_replace(rewrite, i + 3, from, "42 AS x");
	}
	return STR_NONE;
}

#define SAME(function, name)                                                                                 \
	{                                                                                                    \
		{ name, true }, function                                                                     \
	}

const struct rewrite_entry preserving_rewrites[] = {
	SAME(upper_case, "words in capitals"),
	SAME(comments, "comments"),
	SAME(semicolon, "semicolon"),
	SAME(quoted_columns, "columns in quotes"),
	SAME(turn_equal, "a = b turned"),
	SAME(turn_less, "a < b turned"),
	SAME(turn_greater, "a > b turned"),
	SAME(not_unequal, "a = b as NOT a <> b"),
	SAME(not_less, "a >= b as NOT a < b"),
	SAME(not_greater, "a < b as NOT a >= b"),
	SAME(unequal_spelled, "<> as !="),
	SAME(not_like, "LIKE as NOT NOT LIKE"),
	SAME(null_turned, "IS NULL as NOT IS NOT NULL"),
	SAME(between_split, "BETWEEN split"),
	SAME(between_joined, "BETWEEN joined"),
	SAME(in_as_or, "IN as OR"),
	SAME(not_in_as_and, "NOT IN as AND"),
	SAME(in_reversed, "IN reversed"),
	SAME(in_repeated, "IN with an item twice"),
	SAME(not_in_negated, "NOT IN as NOT IN()"),
	SAME(equal_as_in, "= as IN of one"),
	SAME(where_true, "WHERE 1 = 1 AND"),
	SAME(where_also_true, "WHERE AND TRUE"),
	SAME(where_twice_not, "WHERE NOT NOT"),
	SAME(where_reversed, "AND reversed"),
	SAME(where_bracketed, "AND in parentheses"),
	SAME(where_de_morgan, "AND as NOT OR NOT"),
	SAME(where_repeated, "AND with a part twice"),
	SAME(date_typed, "date literal typed"),
	SAME(cast_as_function, ":: as CAST"),
	SAME(cast_as_operator, "CAST as ::"),
	SAME(count_one, "count(*) as count(1)"),
	SAME(catalog_function, "function of pg_catalog"),
	SAME(exists_one, "EXISTS selects a number"),
	SAME(rewrite_aliases, "aliases renamed"),
	SAME(rewrite_schema, "schema named"),
	SAME(rewrite_comma_join, "JOIN as comma and WHERE"),
	SAME(rewrite_cross_join, "JOIN as CROSS JOIN and WHERE"),
	SAME(rewrite_joins_reversed, "inner joins reversed"),
	SAME(rewrite_right_join, "LEFT as RIGHT JOIN"),
	SAME(rewrite_left_joins_swapped, "LEFT JOINs swapped"),
	SAME(rewrite_group_numbers, "GROUP BY numbers"),
	SAME(rewrite_group_reversed, "GROUP BY reversed"),
	SAME(rewrite_group_repeated, "GROUP BY repeated"),
	SAME(rewrite_order_numbers, "ORDER BY numbers"),
	SAME(rewrite_order_spelled, "ORDER BY spelled out"),
	SAME(rewrite_order_repeated, "ORDER BY repeated"),
	SAME(rewrite_fetch, "LIMIT as FETCH"),
	SAME(rewrite_limit_all, "LIMIT ALL OFFSET 0"),
	SAME(rewrite_distinct_group, "DISTINCT as GROUP BY"),
	SAME(rewrite_unused_with, "WITH of no use"),
	SAME(rewrite_with, "in WITH"),
	SAME(rewrite_derived, "in FROM"),
	SAME(rewrite_filtered_relation, "relation filtered in FROM"),
	SAME(rewrite_output_names, "outputs renamed"),
};
const size_t preserving_rewrites_count = sizeof preserving_rewrites / sizeof *preserving_rewrites;
