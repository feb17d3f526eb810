#include "sql/sqlite/hints.h"

#include "common/nearest.h"
#include "sql/findings/instead.h"
#include "sql/sqlite/authorizer.h"

static const struct instead table[] = {
#define INSTEAD(word, use) { (word), (use) },
#include "sql/sqlite/instead.def"
};

#define TABLE_COUNT (sizeof table / sizeof table[0])

str_t sqlite_hint_function(str_t name, struct arena *arena)
{
	const struct instead *instead = instead_of_function(table, TABLE_COUNT, name);
	struct nearest nearest;
	if (instead)
		return instead_hint(instead, arena);
	nearest_init(&nearest, name);
	sqlite_functions_offer(&nearest);
	if (!str_present(nearest.best) || str_equal(nearest.best, name))
		return STR("");
	return arena_printf(arena, "; did you mean \"" STR_FMT "\"?", STR_ARG(nearest.best));
}

str_t sqlite_hint_syntax(str_t sql, size_t offset, struct arena *arena)
{
	return instead_hint(instead_near(table, TABLE_COUNT, sql, offset, SQL_SQLITE), arena);
}

/* A SELECT that the search is in, and those around it. */
struct place {
	const struct query_node *select;
	const struct place *outer;
};

struct search {
	size_t offset;
	str_t column;
	const struct query_range *found;
	bool done;
};

static bool has(const struct query_range *range, str_t column)
{
	for (size_t i = 0; i < range->columns->count; i++)
		if (query_same_name(range->columns->names[i], column))
			return range->alias.len > 0;
	return false;
}

static void look_at_items(struct search *search, const struct query_node *node)
{
	for (const struct query_node *child = node->first; child && !search->found; child = child->next) {
		if (child->kind == QUERY_JOIN)
			look_at_items(search, child);
		else if (query_is_item(child) && has(child->range, search->column))
			search->found = child->range;
	}
}

static void look_around(struct search *search, const struct place *place)
{
	search->done = true;
	for (; place && !search->found; place = place->outer)
		if (query_child(place->select, QUERY_FROM))
			look_at_items(search, query_child(place->select, QUERY_FROM));
}

static void find(struct search *search, const struct query_node *node, const struct place *place)
{
	struct place inner = { node, place };
	if (node->kind == QUERY_COLUMN && node->offset == search->offset)
		look_around(search, place);
	if (node->kind == QUERY_SELECT)
		place = &inner;
	else if (query_made_by(node->range) && node->kind == QUERY_DERIVED)
		place = place->outer;
	for (const struct query_node *child = node->first; child && !search->done; child = child->next) {
		const struct place ordered = { child->kind == QUERY_ORDER && node->kind == QUERY_EXPRESSION
						       ? query_first_select(node)
						       : NULL,
					       place };
		find(search, child, ordered.select ? &ordered : place);
	}
}

str_t sqlite_hint_column(const struct query_node *query, size_t offset, str_t column, struct arena *arena)
{
	struct search search = { .offset = offset, .column = column };
	find(&search, query, NULL);
	return search.found ? arena_printf(arena, "; did you mean \"" STR_FMT "\".\"" STR_FMT "\"?",
					   STR_ARG(search.found->alias), STR_ARG(column))
			    : STR("");
}
