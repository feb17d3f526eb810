#include "sql/postgresql/safety/growth_internal.h" // first: see pg_nodes.h

#include "sql/lex/gate.h"

#include <math.h>

static const struct expansion plain = { .others = 1, .widest = 1, .relations = 1 };

/* WITH */

static void measure_with(struct growth *growth, struct expansion_with *with)
{
	if (with->state != WITH_NEW)
		return;
	with->state = WITH_UNDER_WAY;
	struct place place = { growth, with->around, with->scope };
	struct expansion expansion;
	growth_query(place, with->cte->ctequery, &expansion);
	with->expansion = expansion_renamed(growth, &expansion, with->cte->aliascolnames);
	with->state = WITH_DONE;
}

/* What stays a plan of its own keeps its expressions to itself. */
static bool stays_apart(const struct expansion_with *with)
{
	return with->recursive || with->cte->ctematerialized == CTEMaterializeAlways ||
	       (with->cte->ctematerialized == CTEMaterializeDefault && with->references > 1);
}

static const struct expansion *read_with(struct growth *growth, struct expansion_with *with)
{
	with->references += growth->counting;
	if (with->state == WITH_UNDER_WAY)
		with->recursive = true;
	measure_with(growth, with);
	return with->state == WITH_UNDER_WAY || stays_apart(with) ? &plain : &with->expansion;
}

static struct expansion_with *find_with(struct growth *growth, const CommonTableExpr *cte)
{
	struct expansion_with *with = growth->withs;
	while (with && with->cte != cte)
		with = with->next;
	if (with)
		return with;
	with = ARENA_NEW(growth->arena, struct expansion_with);
	with->cte = cte;
	with->name_hash = hash_seeded(cte->ctename, strlen(cte->ctename));
	with->next = growth->withs;
	growth->withs = with;
	return with;
}

void growth_enter_with(struct place *place, const WithClause *clause, struct expansion *total)
{
	struct growth *growth = place->growth;
	const struct visible *around = place->visible;
	ListCell *cell;
	foreach(cell, clause ? clause->ctes : NULL)
	{
		struct expansion_with *with = find_with(growth, lfirst(cell));
		struct visible *visible = ARENA_NEW(growth->arena, struct visible);
		with->state = WITH_NEW;
		with->scope = place->scope;
		with->around = place->visible;
		*visible = (struct visible){ with, place->visible };
		place->visible = visible;
		if (!clause->recursive)
			measure_with(growth, with);
	}
	for (const struct visible *at = place->visible; at != around; at = at->outer)
		if (clause->recursive)
			at->with->around = place->visible;
	for (const struct visible *at = place->visible; at != around; at = at->outer) {
		measure_with(growth, at->with);
		if (stays_apart(at->with)) {
			total->nodes += at->with->expansion.nodes;
			total->relations += at->with->expansion.relations;
		}
	}
}

/* Views */

/* Names are of the parser's memory, which ends here. */
static void keep_names(struct growth *growth, struct expansion *expansion)
{
	for (size_t i = 0; i < expansion->count; i++)
		expansion->columns[i].name = arena_str(growth->arena, expansion->columns[i].name);
}

static void measure_view(struct growth *growth, struct expansion_view *view)
{
	struct parsed_statement parsed;
	struct expansion_with *withs = growth->withs;
	bool counting = growth->counting;
	int path_location = growth->path_location;
	view->expansion = plain;
	if (gate_check(view->relation->definition).verdict != GATE_PASSED)
		return; /* refused for that */
	parse_begin(arena_str(growth->arena, view->relation->definition), growth->arena, &parsed);
	growth->withs = NULL;
	if (parsed.statement)
		growth_text(growth, parsed.statement, &view->expansion);
	growth->withs = withs;
	growth->counting = counting;
	growth->path_location = path_location;
	keep_names(growth, &view->expansion);
	parse_end(&parsed);
	for (size_t i = 0; i < view->relation->columns_count; i++) { /* CREATE VIEW v (x, y) */
		bool known = view->expansion.positions && i < view->expansion.count;
		if (view->expansion.widest > 1)
			expansion_add_column(growth, &view->expansion, view->relation->columns[i].name,
					     known ? view->expansion.columns[i].weight
						   : view->expansion.widest);
	}
	view->expansion.positions = false;
}

static const struct expansion *read_view(struct growth *growth, const struct catalog_relation *relation)
{
	for (const struct expansion_view *view = growth->views; view; view = view->next)
		if (view->relation == relation)
			return view->done ? &view->expansion : &plain;
	if (growth->views_count >= SAFETY_MAX_VIEWS)
		return &plain; /* refused for that */
	struct expansion_view *view = ARENA_NEW(growth->arena, struct expansion_view);
	*view = (struct expansion_view){ .relation = relation, .next = growth->views };
	growth->views = view;
	growth->views_count++;
	measure_view(growth, view);
	view->done = true;
	return &view->expansion;
}

static const struct expansion *read_relation(struct place place, const RangeVar *range)
{
	struct growth *growth = place.growth;
	uint64_t hash = place.visible ? hash_seeded(range->relname, strlen(range->relname)) : 0;
	for (const struct visible *at = range->schemaname ? NULL : place.visible; at; at = at->outer)
		if (at->with->name_hash == hash && strcmp(at->with->cte->ctename, range->relname) == 0)
			return read_with(growth, at->with);
	const struct catalog_relation *relation = catalog_relation_named(
		growth->catalog, str_from(range->schemaname), str_from(range->relname));
	bool view = relation && relation->is_view && relation->kind != 'm' && !relation->is_system &&
		    str_present(relation->definition);
	return view ? read_view(growth, relation) : &plain;
}

/* FROM */

struct from {
	struct place place; /* its scope is the one that grows */
	struct scope *scope;
	struct expansion *total;
};

static void add_source(struct from *from, const struct expansion *expansion, const Alias *alias,
		       const char *name)
{
	struct growth *growth = from->place.growth;
	struct scope *scope = from->scope;
	struct source *source = ARENA_NEW(growth->arena, struct source);
	struct expansion *own = ARENA_NEW(growth->arena, struct expansion);
	*own = expansion_renamed(growth, expansion, alias ? alias->colnames : NULL);
	*source = (struct source){ .alias = alias ? alias->aliasname : name,
				   .expansion = own,
				   .row = expansion_whole_row(own) };
	ARENA_PUSH(growth->arena, scope->all.items, scope->all.count, scope->all.capacity, source);
	if (own->widest > 1)
		ARENA_PUSH(growth->arena, scope->heavy.items, scope->heavy.count, scope->heavy.capacity,
			   source);
	scope->rows += source->row;
	from->total->nodes += expansion->nodes;
	from->total->relations += expansion->relations;
}

static void measure_from(struct from *from, const Node *node);

/* All columns of the sources from `first` on under the name of the join. */
static void name_join(struct from *from, const JoinExpr *join, size_t first)
{
	struct growth *growth = from->place.growth;
	struct expansion expansion = { .others = 1, .widest = 1 };
	for (size_t j = from->scope->all.count; j > first; j--) {
		const struct source *source = from->scope->all.items[j - 1];
		for (size_t i = 0; i < source->expansion->count; i++)
			expansion_add_column(growth, &expansion, source->expansion->columns[i].name,
					     source->expansion->columns[i].weight *
						     (join->jointype == JOIN_FULL ? 2 : 1));
		expansion.others = fmax(expansion.others, source->expansion->others);
		expansion.widest = fmax(expansion.widest, source->expansion->widest);
	}
	add_source(from, &expansion, join->alias, NULL);
}

static void measure_join(struct from *from, const JoinExpr *join)
{
	size_t first = from->scope->all.count;
	measure_from(from, join->larg);
	measure_from(from, join->rarg);
	if (join->jointype == JOIN_FULL && (join->usingClause || join->isNatural))
		from->scope->merges = true;
	from->total->nodes += growth_weigh(from->place, join->quals);
	ListCell *cell;
	foreach(cell, join->usingClause) from->total->nodes +=
		2 * growth_weigh_name(from->place, NODE_STRING(lfirst(cell)));
	if (join->alias)
		name_join(from, join, first);
}

static void measure_from(struct from *from, const Node *node)
{
	struct growth *growth = from->place.growth;
	if (!node || growth->gave_up)
		return;
	if (growth->depth >= GROWTH_MAX_LEVELS) {
		growth->gave_up = true;
		return;
	}
	growth->depth++;
	if (IsA(node, RangeVar)) {
		const RangeVar *range = (const RangeVar *)node;
		add_source(from, read_relation(from->place, range), range->alias, range->relname);
	} else if (IsA(node, RangeSubselect)) {
		const RangeSubselect *range = (const RangeSubselect *)node;
		struct expansion expansion;
		struct place place = from->place;
		if (!range->lateral)
			place.scope = from->scope->outer;
		growth_query(place, range->subquery, &expansion);
		add_source(from, &expansion, range->alias, NULL);
	} else if (IsA(node, JoinExpr)) {
		measure_join(from, (const JoinExpr *)node);
	} else {
		from->total->nodes += growth_weigh(from->place, node);
		from->total->relations++;
	}
	growth->depth--;
}

void growth_from(struct place place, struct scope *scope, const List *items, struct expansion *total)
{
	struct from from = { place, scope, total };
	ListCell *cell;
	from.place.scope = scope;
	foreach(cell, items) measure_from(&from, lfirst(cell));
}
