#include "sql/sqlite/hints.h"

#include "sql/instead.h"
#include "sql/sqlite/authorizer.h"

#include <strings.h>

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
	const struct sqlite_core *core;
	const struct place *outer;
};

struct search {
	size_t offset;
	str_t column;
	const struct sqlite_item *found;
	bool done;
};

static bool has(const struct sqlite_item *item, str_t column)
{
	for (size_t i = 0; i < item->columns_count; i++)
		if (item->columns[i].len == column.len &&
		    strncasecmp(item->columns[i].ptr, column.ptr, column.len) == 0)
			return str_present(item->name);
	return false;
}

static void look_around(struct search *search, const struct place *place)
{
	search->done = true;
	for (; place && !search->found; place = place->outer)
		for (size_t i = 0; i < place->core->sources_count && !search->found; i++)
			if (has(&place->core->items[i], search->column))
				search->found = &place->core->items[i];
}

static void find_in_select(struct search *search, const struct sqlite_select *select,
			   const struct place *outer);

static void find(struct search *search, const struct sqlite_node *node, const struct place *place)
{
	if (!node || search->done)
		return;
	if (node->kind == SQLITE_COLUMN && node->offset == search->offset)
		look_around(search, place);
	find(search, node->operand, place);
	for (size_t i = 0; i < node->children_count; i++)
		find(search, node->children[i], place);
	if (node->select)
		find_in_select(search, node->select, place);
}

static void find_in_core(struct search *search, const struct sqlite_core *core, const struct place *outer)
{
	const struct place place = { core, outer };
	for (size_t i = 0; i < core->outputs_count; i++)
		find(search, core->outputs[i].expression, &place);
	for (size_t i = 0; i < core->sources_count; i++) {
		find(search, core->sources[i].on, &place);
		if (core->sources[i].select)
			find_in_select(search, core->sources[i].select, outer);
	}
	find(search, core->where, &place);
	for (size_t i = 0; i < core->group_count; i++)
		find(search, core->group[i], &place);
	find(search, core->having, &place);
}

static void find_in_select(struct search *search, const struct sqlite_select *select,
			   const struct place *outer)
{
	for (size_t i = 0; i < select->ctes_count; i++)
		find_in_select(search, select->ctes[i].select, outer);
	for (size_t i = 0; i < select->cores_count; i++)
		find_in_core(search, &select->cores[i], outer);
	const struct place place = { &select->cores[0], outer };
	for (size_t i = 0; i < select->order_count; i++)
		find(search, select->order[i].expression, &place);
}

str_t sqlite_hint_column(const struct sqlite_select *select, size_t offset, str_t column, struct arena *arena)
{
	struct search search = { .offset = offset, .column = column };
	find_in_select(&search, select, NULL);
	return search.found ? arena_printf(arena, "; did you mean \"" STR_FMT "\".\"" STR_FMT "\"?",
					   STR_ARG(search.found->name), STR_ARG(column))
			    : STR("");
}
