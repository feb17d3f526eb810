/* Rewrites of FROM, GROUP BY, ORDER BY and of the whole statement that mean the same. */
#include "common/buf.h"
#include "tests/harness/mutators/sql_rewrites_internal.h"

#include <strings.h>

enum { ITEMS_MAX = 16 };

#define TEXT(rewrite, from, end) STR_ARG(tokens_text(rewrite, from, end))

/* FROM name [alias] {JOIN name [alias] ON condition}. */
struct chain_item {
	size_t start, end; /* relation with alias */
	size_t alias;	   /* the name that it goes by */
	bool aliased;
	char join;		 /* 'i' inner, 'l' left; 0: the first */
	size_t on_start, on_end; /* condition */
};

struct chain {
	struct chain_item items[ITEMS_MAX];
	size_t count;
	size_t end; /* of FROM */
	bool inner; /* all are inner joins */
};

static bool is_name(const struct rewrite *rewrite, size_t token)
{
	static const char *const keywords[] = { "join",	 "left",  "right",   "full",  "inner",
						"cross", "on",	  "natural", "where", "group",
						"order", "limit", "lateral", "using", "select" };
	if (token >= rewrite->count ||
	    (rewrite->tokens[token].kind != 'w' && rewrite->tokens[token].kind != 'q'))
		return false;
	for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
		if (word_is(rewrite, token, keywords[i]))
			return false;
	return true;
}

static size_t read_relation(const struct rewrite *rewrite, size_t at, struct chain_item *item)
{
	item->start = at;
	if (!is_name(rewrite, at))
		return NO_TOKEN;
	item->alias = at++;
	if (word_is(rewrite, at, ".") && is_name(rewrite, at + 1)) {
		item->alias = at + 1;
		at += 2;
	}
	bool as = word_is(rewrite, at, "as");
	if (as || is_name(rewrite, at)) {
		item->alias = at + as;
		item->aliased = true;
		at += as + 1u;
	}
	item->end = at;
	return is_name(rewrite, item->alias) ? at : NO_TOKEN;
}

/* The next part of the chain's own depth that is not a condition. */
static size_t condition_end(const struct rewrite *rewrite, size_t at, size_t end)
{
	static const char *const words[] = {
		"join", "left", "right", "full", "inner", "cross", "natural", ","
	};
	int depth = rewrite->tokens[at].depth - word_is(rewrite, at, "(");
	size_t first = end;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t found = token_find(rewrite, at, end, words[i], depth);
		if (found < first)
			first = found;
	}
	return first;
}

static bool read_chain(const struct rewrite *rewrite, struct chain *chain)
{
	*chain = (struct chain){ .inner = true };
	if (!rewrite->clauses.plain)
		return false;
	chain->end = clause_end(rewrite, rewrite->clauses.from);
	size_t at = read_relation(rewrite, rewrite->clauses.from + 1, &chain->items[0]);
	for (chain->count = 1; at != NO_TOKEN && at < chain->end; chain->count++) {
		if (chain->count == ITEMS_MAX)
			return false;
		struct chain_item *item = &chain->items[chain->count];
		bool left = word_is(rewrite, at, "left");
		item->join = left ? 'l' : 'i';
		chain->inner = chain->inner && !left;
		at += left || word_is(rewrite, at, "inner");
		at += left && word_is(rewrite, at, "outer");
		if (!word_is(rewrite, at, "join"))
			return false;
		at = read_relation(rewrite, at + 1, item);
		if (at == NO_TOKEN || !word_is(rewrite, at, "on"))
			return false;
		item->on_start = at + 1;
		item->on_end = at = condition_end(rewrite, at + 1, chain->end);
	}
	return at == chain->end;
}

static bool selects_star(const struct rewrite *rewrite)
{
	return token_find(rewrite, rewrite->clauses.select, rewrite->clauses.from, "*", 0) != NO_TOKEN;
}

static str_t where_text(const struct rewrite *rewrite)
{
	size_t where = rewrite->clauses.where;
	return where == NO_TOKEN ? STR("TRUE") : tokens_text(rewrite, where + 1, clause_end(rewrite, where));
}

static str_t joins_spread(const struct rewrite *rewrite, const char *glue)
{
	struct chain chain;
	struct buf from = BUF_INIT, where = BUF_INIT;
	if (!read_chain(rewrite, &chain) || !chain.inner || chain.count < 2)
		return STR_NONE;
	for (size_t i = 0; i < chain.count; i++) {
		const struct chain_item *item = &chain.items[i];
		buf_printf(&from, "%s" STR_FMT, i ? glue : "", TEXT(rewrite, item->start, item->end));
		if (i)
			buf_printf(&where, " AND (" STR_FMT ")", TEXT(rewrite, item->on_start, item->on_end));
	}
	size_t end =
		rewrite->clauses.where == NO_TOKEN ? chain.end : clause_end(rewrite, rewrite->clauses.where);
	str_t result = rewrite_replace(rewrite, rewrite->clauses.from + 1, end, "%s WHERE (" STR_FMT ")%s",
				       from.data, STR_ARG(where_text(rewrite)), where.data);
	buf_free(&from);
	buf_free(&where);
	return result;
}

str_t rewrite_comma_join(const struct rewrite *rewrite)
{
	return joins_spread(rewrite, ", ");
}

str_t rewrite_cross_join(const struct rewrite *rewrite)
{
	return joins_spread(rewrite, " CROSS JOIN ");
}

/* The last relation first; all conditions at the end, where everything is visible. */
str_t rewrite_joins_reversed(const struct rewrite *rewrite)
{
	struct chain chain;
	struct buf buf = BUF_INIT;
	if (!read_chain(rewrite, &chain) || !chain.inner || chain.count < 2 || selects_star(rewrite))
		return STR_NONE;
	for (size_t i = chain.count; i > 0; i--) {
		const struct chain_item *item = &chain.items[i - 1];
		buf_printf(&buf, "%s" STR_FMT "%s", i < chain.count ? " INNER JOIN " : "",
			   TEXT(rewrite, item->start, item->end),
			   i > 1 && i < chain.count ? " ON 1 = 1" : "");
	}
	buf_append_text(&buf, " ON TRUE");
	for (size_t i = 1; i < chain.count; i++)
		buf_printf(&buf, " AND (" STR_FMT ")",
			   TEXT(rewrite, chain.items[i].on_start, chain.items[i].on_end));
	str_t result = rewrite_replace(rewrite, rewrite->clauses.from + 1, chain.end, "%s", buf.data);
	buf_free(&buf);
	return result;
}

str_t rewrite_right_join(const struct rewrite *rewrite)
{
	struct chain chain;
	if (!read_chain(rewrite, &chain) || chain.count != 2 || chain.inner || selects_star(rewrite))
		return STR_NONE;
	const struct chain_item *left = &chain.items[0], *right = &chain.items[1];
	return rewrite_replace(rewrite, rewrite->clauses.from + 1, chain.end,
			       STR_FMT " RIGHT JOIN " STR_FMT " ON " STR_FMT,
			       TEXT(rewrite, right->start, right->end), TEXT(rewrite, left->start, left->end),
			       TEXT(rewrite, right->on_start, right->on_end));
}

/* Whether the condition names the relation; true in doubt. */
static bool names(const struct rewrite *rewrite, const struct chain_item *item, size_t from, size_t end)
{
	str_t alias = tokens_text(rewrite, item->alias, item->alias + 1);
	for (size_t i = from; i < end; i++) {
		bool column = rewrite->tokens[i].kind == 'w' || rewrite->tokens[i].kind == 'q';
		if (!column)
			continue;
		if (word_is(rewrite, i + 1, ".") && word_is(rewrite, i, alias.ptr))
			return true;
		if (!word_is(rewrite, i + 1, ".") && (i == 0 || !word_is(rewrite, i - 1, ".")))
			return true;
	}
	return false;
}

str_t rewrite_left_joins_swapped(const struct rewrite *rewrite)
{
	struct chain chain;
	if (!read_chain(rewrite, &chain) || chain.count < 3 || selects_star(rewrite))
		return STR_NONE;
	const struct chain_item *a = &chain.items[chain.count - 2], *b = &chain.items[chain.count - 1];
	if (a->join != 'l' || b->join != 'l' || names(rewrite, a, b->on_start, b->on_end))
		return STR_NONE;
	return rewrite_replace(rewrite, a->start, chain.end,
			       STR_FMT " ON " STR_FMT " LEFT JOIN " STR_FMT " ON " STR_FMT,
			       TEXT(rewrite, b->start, b->end), TEXT(rewrite, b->on_start, b->on_end),
			       TEXT(rewrite, a->start, a->end), TEXT(rewrite, a->on_start, a->on_end));
}

/* Every name of a relation of FROM anew, wherever it stands before a dot. */
str_t rewrite_aliases(const struct rewrite *rewrite)
{
	struct chain chain;
	struct buf buf = BUF_INIT;
	bool nested = token_find(rewrite, 1, rewrite->count, "select", 1) != NO_TOKEN ||
		      token_find(rewrite, 1, rewrite->count, "select", 2) != NO_TOKEN;
	if (!read_chain(rewrite, &chain) || nested || rewrite->clauses.with != NO_TOKEN)
		return STR_NONE;
	for (size_t i = 0; i < rewrite->count; i++) {
		size_t item = 0, defined = chain.count;
		for (size_t k = 0; k < chain.count; k++)
			if (chain.items[k].end == i + 1)
				defined = k;
		bool qualifier = word_is(rewrite, i + 1, ".") && (i == 0 || !word_is(rewrite, i - 1, "."));
		while (item < chain.count &&
		       !word_is(rewrite, i,
				tokens_text(rewrite, chain.items[item].alias, chain.items[item].alias + 1)
					.ptr))
			item++;
		bool in_from = i > rewrite->clauses.from && item < chain.count && i < chain.items[item].end &&
			       i >= chain.items[item].start;
		if (defined < chain.count && chain.items[defined].aliased)
			buf_printf(&buf, "rel_%zu ", defined);
		else if (defined < chain.count)
			buf_printf(&buf, STR_FMT " AS rel_%zu ", TEXT(rewrite, i, i + 1), defined);
		else if (qualifier && item < chain.count && !in_from)
			buf_printf(&buf, "rel_%zu", item);
		else
			buf_printf(&buf, STR_FMT "%s", TEXT(rewrite, i, i + 1),
				   word_is(rewrite, i + 1, "(") ? "" : " ");
	}
	str_t result = arena_str(rewrite->arena, buf_str(&buf));
	buf_free(&buf);
	return result;
}

str_t rewrite_schema(const struct rewrite *rewrite)
{
	struct chain chain;
	if (!read_chain(rewrite, &chain) || rewrite->clauses.with != NO_TOKEN ||
	    word_is(rewrite, chain.items[0].start + 1, "."))
		return STR_NONE;
	return rewrite_replace(rewrite, chain.items[0].start, chain.items[0].start, "public.");
}

/* ---- Keys ---- */

struct select_list {
	struct rewrite_parts items;
	size_t value_ends[64]; /* without AS name */
	size_t names[64];      /* token of the name, or NO_TOKEN */
};

static bool read_select_list(const struct rewrite *rewrite, struct select_list *list)
{
	size_t start = rewrite->clauses.select + 1;
	if (!rewrite->clauses.plain || selects_star(rewrite))
		return false;
	start += word_is(rewrite, start, "distinct");
	list->items = split_commas(rewrite, start, rewrite->clauses.from);
	for (size_t i = 0; i < list->items.count; i++) {
		size_t end = list->items.ends[i];
		bool named = end >= list->items.starts[i] + 3 && word_is(rewrite, end - 2, "as") &&
			     rewrite->tokens[end - 2].depth == 0;
		list->value_ends[i] = named ? end - 2 : end;
		list->names[i] = named ? end - 1 : NO_TOKEN;
	}
	return list->items.count > 0;
}

/* Position of the output that is that expression (GROUP BY) or also has that name (ORDER BY); 0: none. */
static size_t output_position(const struct rewrite *rewrite, const struct select_list *list, size_t start,
			      size_t end, bool by_name)
{
	str_t text = tokens_text(rewrite, start, end);
	for (size_t i = 0; by_name && i < list->items.count; i++)
		if (end == start + 1 && list->names[i] != NO_TOKEN &&
		    word_is(rewrite, list->names[i], text.ptr))
			return i + 1;
	for (size_t i = 0; i < list->items.count; i++)
		if (str_equal(tokens_text(rewrite, list->items.starts[i], list->value_ends[i]), text) &&
		    (end > start + 1 || !by_name))
			return i + 1;
	return 0;
}

static bool group_keys(const struct rewrite *rewrite, struct rewrite_parts *ret_keys, size_t *ret_start)
{
	size_t group = rewrite->clauses.group;
	if (!rewrite->clauses.plain || group == NO_TOKEN || word_is(rewrite, group + 2, "rollup") ||
	    word_is(rewrite, group + 2, "grouping"))
		return false;
	*ret_start = group + 2;
	*ret_keys = split_commas(rewrite, group + 2, clause_end(rewrite, group));
	return ret_keys->count > 0;
}

str_t rewrite_group_numbers(const struct rewrite *rewrite)
{
	struct select_list list;
	struct rewrite_parts keys;
	size_t start;
	if (!group_keys(rewrite, &keys, &start) || !read_select_list(rewrite, &list))
		return STR_NONE;
	for (size_t i = 0; i < keys.count; i++) {
		size_t position = output_position(rewrite, &list, keys.starts[i], keys.ends[i], false);
		if (position)
			return rewrite_replace(rewrite, keys.starts[i], keys.ends[i], "%zu", position);
	}
	return STR_NONE;
}

str_t rewrite_group_reversed(const struct rewrite *rewrite)
{
	struct rewrite_parts keys;
	struct buf buf = BUF_INIT;
	size_t start;
	if (!group_keys(rewrite, &keys, &start) || keys.count < 2)
		return STR_NONE;
	for (size_t i = keys.count; i > 0; i--)
		buf_printf(&buf, "%s" STR_FMT, i < keys.count ? ", " : "",
			   TEXT(rewrite, keys.starts[i - 1], keys.ends[i - 1]));
	str_t result = rewrite_replace(rewrite, start, keys.ends[keys.count - 1], "%s", buf.data);
	buf_free(&buf);
	return result;
}

str_t rewrite_group_repeated(const struct rewrite *rewrite)
{
	struct rewrite_parts keys;
	size_t start;
	if (!group_keys(rewrite, &keys, &start))
		return STR_NONE;
	size_t end = keys.ends[keys.count - 1];
	return rewrite_replace(rewrite, end, end, ", " STR_FMT, TEXT(rewrite, keys.starts[0], keys.ends[0]));
}

struct order_key {
	size_t start, value_end, end;
	bool descending, directed, nulls;
};

static bool first_order_key(const struct rewrite *rewrite, struct order_key *key, size_t *ret_end)
{
	size_t order = rewrite->clauses.order;
	if (!rewrite->clauses.plain || order == NO_TOKEN)
		return false;
	*ret_end = clause_end(rewrite, order);
	struct rewrite_parts keys = split_commas(rewrite, order + 2, *ret_end);
	if (keys.count == 0)
		return false;
	size_t start = keys.starts[0], end = keys.ends[0], value_end = end;
	bool nulls = end > start + 2 && word_is(rewrite, end - 2, "nulls");
	value_end -= nulls ? 2 : 0;
	bool down = word_is(rewrite, value_end - 1, "desc"), up = word_is(rewrite, value_end - 1, "asc");
	*key = (struct order_key){ start, value_end - (down || up), end, down, down || up, nulls };
	return true;
}

str_t rewrite_order_numbers(const struct rewrite *rewrite)
{
	struct select_list list;
	struct order_key key;
	size_t end;
	if (!first_order_key(rewrite, &key, &end) || !read_select_list(rewrite, &list))
		return STR_NONE;
	size_t position = output_position(rewrite, &list, key.start, key.value_end, true);
	return position ? rewrite_replace(rewrite, key.start, key.value_end, "%zu", position) : STR_NONE;
}

str_t rewrite_order_spelled(const struct rewrite *rewrite)
{
	struct order_key key;
	size_t end;
	if (!first_order_key(rewrite, &key, &end) || key.nulls)
		return STR_NONE;
	return rewrite_replace(rewrite, key.value_end, key.end, "%s",
			       key.descending ? "DESC NULLS FIRST" : "ASC NULLS LAST");
}

str_t rewrite_order_repeated(const struct rewrite *rewrite)
{
	struct order_key key;
	size_t end;
	if (!first_order_key(rewrite, &key, &end))
		return STR_NONE;
	return rewrite_replace(rewrite, end, end, ", " STR_FMT " DESC",
			       TEXT(rewrite, key.start, key.value_end));
}

/* ---- The whole ---- */

str_t rewrite_fetch(const struct rewrite *rewrite)
{
	size_t limit = rewrite->clauses.limit;
	if (!rewrite->clauses.plain || limit == NO_TOKEN)
		return STR_NONE;
	return rewrite_replace(rewrite, limit, rewrite->count,
			       "OFFSET 0 ROWS FETCH FIRST " STR_FMT " ROWS ONLY",
			       TEXT(rewrite, limit + 1, rewrite->count));
}

str_t rewrite_limit_all(const struct rewrite *rewrite)
{
	if (!rewrite->clauses.plain || rewrite->clauses.limit != NO_TOKEN)
		return STR_NONE;
	return rewrite_replace(rewrite, rewrite->count, rewrite->count, "LIMIT ALL OFFSET 0");
}

str_t rewrite_distinct_group(const struct rewrite *rewrite)
{
	struct select_list list;
	struct buf buf = BUF_INIT;
	size_t select = rewrite->clauses.select;
	if (!read_select_list(rewrite, &list) || !word_is(rewrite, select + 1, "distinct") ||
	    rewrite->clauses.group != NO_TOKEN)
		return STR_NONE;
	for (size_t i = 0; i < list.items.count; i++)
		buf_printf(&buf, "%s%zu", i ? ", " : "GROUP BY ", i + 1);
	size_t at = rewrite->clauses.where == NO_TOKEN ? clause_end(rewrite, rewrite->clauses.from)
						       : clause_end(rewrite, rewrite->clauses.where);
	str_t result =
		arena_printf(rewrite->arena, STR_FMT " " STR_FMT " %s " STR_FMT, TEXT(rewrite, 0, select + 1),
			     TEXT(rewrite, select + 2, at), buf.data, TEXT(rewrite, at, rewrite->count));
	buf_free(&buf);
	return result;
}

str_t rewrite_unused_with(const struct rewrite *rewrite)
{
	if (rewrite->clauses.with != NO_TOKEN)
		return rewrite_replace(rewrite, 1, 1, "nobody_reads AS (SELECT 1 AS one),");
	return rewrite_replace(rewrite, 0, 0, "WITH nobody_reads AS (SELECT 1 AS one)");
}

str_t rewrite_with(const struct rewrite *rewrite)
{
	return arena_printf(rewrite->arena, "WITH whole AS (" STR_FMT ") SELECT * FROM whole",
			    TEXT(rewrite, 0, rewrite->count));
}

str_t rewrite_derived(const struct rewrite *rewrite)
{
	return arena_printf(rewrite->arena, "SELECT whole.* FROM (" STR_FMT ") AS whole",
			    TEXT(rewrite, 0, rewrite->count));
}

/* The first relation behind a query that selects all of it. */
str_t rewrite_filtered_relation(const struct rewrite *rewrite)
{
	struct chain chain;
	if (!read_chain(rewrite, &chain) || rewrite->clauses.with != NO_TOKEN)
		return STR_NONE;
	const struct chain_item *item = &chain.items[0];
	size_t name_end = item->start + (word_is(rewrite, item->start + 1, ".") ? 3 : 1);
	return rewrite_replace(rewrite, item->start, item->end, "(SELECT * FROM " STR_FMT ") AS " STR_FMT,
			       TEXT(rewrite, item->start, name_end),
			       TEXT(rewrite, item->alias, item->alias + 1));
}

str_t rewrite_output_names(const struct rewrite *rewrite)
{
	struct select_list list;
	struct buf buf = BUF_INIT;
	if (!read_select_list(rewrite, &list) || rewrite->clauses.order != NO_TOKEN ||
	    rewrite->clauses.having != NO_TOKEN || rewrite->clauses.group != NO_TOKEN)
		return STR_NONE;
	for (size_t i = 0; i < list.items.count; i++)
		buf_printf(&buf, "%s" STR_FMT " AS out_%zu", i ? ", " : "",
			   TEXT(rewrite, list.items.starts[i], list.value_ends[i]), i);
	str_t result = rewrite_replace(rewrite, list.items.starts[0], rewrite->clauses.from, "%s", buf.data);
	buf_free(&buf);
	return result;
}
