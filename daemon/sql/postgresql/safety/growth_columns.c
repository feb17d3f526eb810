#include "sql/postgresql/safety/growth_internal.h" // first: see pg_nodes.h

#include <math.h>

#define MAX_COLUMNS 1664 /* that PostgreSQL lets a query have */
#define MAX_LOOKS   2000000
#define SHORT_LIST  16 /* lists up to this length are searched one by one */

/* Columns */

static void count_steps(struct growth *growth, size_t steps)
{
	growth->steps += (unsigned)steps;
	growth->gave_up = growth->gave_up || growth->steps > MAX_LOOKS;
}

void expansion_add_column(struct growth *growth, struct expansion *expansion, str_t name, double weight)
{
	expansion->widest = fmax(expansion->widest, weight);
	count_steps(growth, 1);
	if (expansion->count >= MAX_COLUMNS) {
		expansion->positions = false;
		return;
	}
	ARENA_PUSH(growth->arena, expansion->columns, expansion->count, expansion->capacity,
		   (struct expansion_column){ name, weight });
}

struct expansion expansion_renamed(struct growth *growth, const struct expansion *expansion,
				   const List *names)
{
	struct expansion result = { .positions = expansion->positions,
				    .others = expansion->others,
				    .widest = expansion->widest,
				    .nodes = expansion->nodes,
				    .relations = expansion->relations };
	if (!names)
		return *expansion;
	for (size_t i = 0; expansion->widest > 1 && i < (size_t)list_length(names); i++) {
		const char *name = NODE_STRING(list_nth(names, (int)i));
		bool known = expansion->positions && i < expansion->count;
		expansion_add_column(growth, &result, str_from(name),
				     known ? expansion->columns[i].weight : expansion->widest);
	}
	for (size_t i = (size_t)list_length(names); i < expansion->count; i++)
		expansion_add_column(growth, &result, expansion->columns[i].name,
				     expansion->columns[i].weight);
	return result;
}

/* References */

double expansion_whole_row(const struct expansion *expansion)
{
	double weight = 1;
	for (size_t i = 0; i < expansion->count; i++)
		weight += expansion->columns[i].weight;
	return fmax(weight, expansion->widest);
}

static void index_columns(struct growth *growth, struct source *source)
{
	const struct expansion *expansion = source->expansion;
	source->heaviest = ARENA_NEW(growth->arena, struct hash_map);
	hash_map_init(source->heaviest, growth->arena, expansion->count);
	count_steps(growth, expansion->count);
	for (size_t i = 0; i < expansion->count; i++) {
		struct expansion_column *column = &expansion->columns[i];
		const struct expansion_column *other = hash_map_get(source->heaviest, column->name);
		if (!str_present(column->name))
			continue;
		if (!other || other->weight < column->weight)
			(void)hash_map_set(source->heaviest, column->name, column);
	}
}

/* Of the columns of that name the one that weighs most, or NULL. */
static const struct expansion_column *heaviest_column(struct growth *growth, struct source *source,
						      const char *name)
{
	const struct expansion *expansion = source->expansion;
	const struct expansion_column *heaviest = NULL;
	if (expansion->count > SHORT_LIST && !source->heaviest)
		index_columns(growth, source);
	count_steps(growth, source->heaviest ? 1 : expansion->count);
	if (source->heaviest)
		return hash_map_get(source->heaviest, str_from(name));
	for (size_t i = 0; i < expansion->count; i++)
		if (str_is(expansion->columns[i].name, name) &&
		    (!heaviest || heaviest->weight < expansion->columns[i].weight))
			heaviest = &expansion->columns[i];
	return heaviest;
}

static double column_weight(struct growth *growth, struct source *source, const char *name, bool *found)
{
	*found = false;
	if (source->expansion->widest <= 1)
		return 1;
	const struct expansion_column *column = heaviest_column(growth, source, name);
	*found = column && column->weight > 0;
	return *found ? column->weight : source->expansion->others;
}

static struct source *next_of_alias(const struct scope *scope, size_t end, const char *alias)
{
	while (end > 0) {
		struct source *source = scope->all.items[--end];
		if (source->alias && strcmp(source->alias, alias) == 0)
			return source;
	}
	return NULL;
}

struct source *growth_find_source(struct growth *growth, struct scope *scope, const char *alias)
{
	if (scope->all.count > SHORT_LIST && !scope->by_alias) {
		scope->by_alias = ARENA_NEW(growth->arena, struct hash_map);
		scope->by_alias->arena = growth->arena;
		scope->aliases_known = 0;
	}
	for (; scope->aliases_known < scope->all.count; scope->aliases_known++) {
		struct source *source = scope->all.items[scope->aliases_known];
		if (source->alias && scope->by_alias)
			source->same = hash_map_set(scope->by_alias, str_from(source->alias), source);
		else if (source->alias)
			source->same = next_of_alias(scope, scope->aliases_known, source->alias);
	}
	return scope->by_alias ? hash_map_get(scope->by_alias, str_from(alias))
			       : next_of_alias(scope, scope->all.count, alias);
}

/* What a name is in one FROM. */
struct named {
	double largest;
	double sum;
	bool found;
};

static void add_meaning(struct named *named, double weight, bool found)
{
	named->largest = fmax(named->largest, weight);
	named->sum += found ? weight : 0;
	named->found = named->found || found;
}

double growth_weigh_name(struct place place, const char *name)
{
	for (struct scope *scope = place.scope; scope; scope = scope->outer) {
		struct named named = { .largest = 1 };
		for (size_t i = 0; i < scope->heavy.count; i++) {
			bool here = false;
			double weight = column_weight(place.growth, scope->heavy.items[i], name, &here);
			add_meaning(&named, weight, here);
		}
		for (struct source *source = growth_find_source(place.growth, scope, name); source;
		     source = source->same) {
			bool column = false;
			(void)column_weight(place.growth, source, name, &column);
			if (!column)
				add_meaning(&named, source->row, true);
		}
		if (named.found)
			return scope->merges ? fmax(named.largest, named.sum + 1) : named.largest;
	}
	return 1;
}

/* A part of a row: `s.a`, `s.*`, `s.a.b`. */
static double weigh_part(struct place place, const char *alias, const char *name)
{
	for (struct scope *scope = place.scope; scope; scope = scope->outer) {
		struct source *source = growth_find_source(place.growth, scope, alias);
		bool found = false;
		if (source)
			return name ? column_weight(place.growth, source, name, &found) : source->row;
	}
	return growth_weigh_name(place, alias);
}

double growth_weigh_column(struct place place, const ColumnRef *column)
{
	int count = list_length(column->fields);
	double weight = 1;
	if (count == 1 && IsA(linitial(column->fields), String))
		return growth_weigh_name(place, NODE_STRING(linitial(column->fields)));
	if (count == 1)
		return 1 + (place.scope ? place.scope->rows : 0);
	for (int i = 0; i + 1 < count; i++) { /* a schema or a database may stand in front */
		const Node *next = list_nth(column->fields, i + 1);
		weight = fmax(weight, weigh_part(place, NODE_STRING(list_nth(column->fields, i)),
						 IsA(next, String) ? NODE_STRING(next) : NULL));
	}
	return weight;
}
