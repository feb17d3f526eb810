#include "sql/postgresql/safety/growth_internal.h" // first: see pg_nodes.h

#include "sql/postgresql/parse/node_children.h"

#include <math.h>

#define SUBPLAN_NODES 20 /* what a relation of a subquery in an expression counts there */

/* Expressions */

struct weighing {
	struct place place;
	double weight;
};

static bool weigh_child(const Node *child, void *context)
{
	struct weighing *weighing = context;
	weighing->weight += growth_weigh(weighing->place, child);
	return !weighing->place.growth->gave_up;
}

static double weigh_query(struct place place, const Node *query)
{
	struct expansion expansion;
	growth_query(place, query, &expansion);
	return 1 + expansion.nodes + SUBPLAN_NODES * expansion.relations;
}

double growth_weigh(struct place place, const Node *node)
{
	if (!node || place.growth->gave_up)
		return 0;
	if (IsA(node, ColumnRef))
		return growth_weigh_column(place, (const ColumnRef *)node);
	if (IsA(node, SelectStmt))
		return weigh_query(place, node);
	if (place.growth->depth >= GROWTH_MAX_LEVELS) {
		place.growth->gave_up = true;
		return 0;
	}
	growth_note_paths(place.growth, node);
	struct weighing weighing = { place, IsA(node, List) || IsA(node, ResTarget) ? 0 : 1 };
	place.growth->depth++;
	node_children(node, weigh_child, &weighing);
	place.growth->depth--;
	return weighing.weight;
}

/* Queries */

static const char *output_name(const ResTarget *target)
{
	if (target->name)
		return target->name;
	const Node *value = target->val;
	while (value && IsA(value, TypeCast))
		value = ((const TypeCast *)value)->arg;
	if (value && IsA(value, ColumnRef))
		return names_last(((const ColumnRef *)value)->fields);
	return value && IsA(value, FuncCall) ? names_last(((const FuncCall *)value)->funcname) : NULL;
}

static void add_star_of(struct growth *growth, struct expansion *expansion, const struct source *source,
			bool merges)
{
	expansion->others = fmax(expansion->others, source->expansion->others);
	expansion->widest = fmax(expansion->widest, source->expansion->widest);
	for (size_t i = 0; source->expansion->widest > 1 && i < source->expansion->count; i++)
		expansion_add_column(growth, expansion, source->expansion->columns[i].name,
				     source->expansion->columns[i].weight * (merges ? 2 : 1));
}

static void add_star(struct place place, struct expansion *expansion, const ColumnRef *star)
{
	int count = list_length(star->fields);
	const char *alias = count > 1 ? NODE_STRING(list_nth(star->fields, count - 2)) : NULL;
	expansion->positions = false;
	for (struct scope *scope = alias ? place.scope : NULL; scope; scope = scope->outer)
		for (const struct source *source = growth_find_source(place.growth, scope, alias); source;
		     source = source->same)
			add_star_of(place.growth, expansion, source, scope->merges);
	for (size_t i = 0; !alias && place.scope && i < place.scope->heavy.count; i++)
		add_star_of(place.growth, expansion, place.scope->heavy.items[i], place.scope->merges);
}

/* A call that the query above reads as a result: of an aggregate or over a window. */
static bool is_computed_apart(const Node *node)
{
	if (!IsA(node, FuncCall))
		return false;
	const FuncCall *call = (const FuncCall *)node;
	return call->over || call->agg_star ||
	       SAFETY_CALL_IS_ANY(call, "count", "sum", "avg", "min", "max", "bool_and", "bool_or", "every",
				  "array_agg", "string_agg", "json_agg", "jsonb_agg", "stddev", "variance",
				  "stddev_pop", "stddev_samp");
}

static bool looks_apart(const Node *node, void *context)
{
	bool *apart = context;
	*apart = *apart || is_computed_apart(node);
	return !*apart && (IsA(node, SelectStmt) || node_children(node, looks_apart, apart));
}

static void add_nodes(struct growth *growth, struct expansion *expansion, double nodes)
{
	expansion->nodes += growth->pushing ? 0 : nodes;
}

static void measure_targets(struct place place, const SelectStmt *select, struct expansion *expansion)
{
	ListCell *cell;
	foreach(cell, select->targetList)
	{
		const ResTarget *target = lfirst(cell);
		double weight = growth_weigh(place, target->val);
		add_nodes(place.growth, expansion, weight);
		if (node_is_star(target->val)) {
			add_star(place, expansion, (const ColumnRef *)target->val);
			continue;
		}
		bool apart = false;
		if (weight > 1)
			looks_apart(target->val, &apart);
		expansion_add_column(place.growth, expansion, str_from(output_name(target)),
				     apart ? 1 : weight);
	}
}

/* Names column1, column2, …; one row stands in for its columns. */
static void measure_values(struct place place, const List *rows, struct expansion *expansion)
{
	ListCell *cell;
	foreach(cell, rows)
	{
		ListCell *value;
		foreach(value, (const List *)lfirst(cell))
		{
			double weight = growth_weigh(place, lfirst(value));
			size_t i = (size_t)foreach_current_index(value);
			add_nodes(place.growth, expansion, weight);
			if (foreach_current_index(cell) == 0)
				expansion_add_column(place.growth, expansion,
						     arena_printf(place.growth->arena, "column%zu", i + 1),
						     weight);
		}
	}
}

/* A limited query is never put in the place of what reads it. */
static void keep_apart(struct expansion *expansion)
{
	expansion->others = 1;
	expansion->widest = 1;
	for (size_t i = 0; i < expansion->count; i++)
		expansion->columns[i].weight = 1;
}

/* Each arm of UNION ALL is read in the query's place. */
static void measure_set_operation(struct place place, const SelectStmt *select, struct expansion *expansion)
{
	struct expansion left;
	struct expansion right;
	growth_query(place, (const Node *)select->larg, &left);
	growth_query(place, (const Node *)select->rarg, &right);
	expansion->positions = left.positions && right.positions;
	expansion->widest = left.widest + right.widest - 1;
	expansion->others = expansion->positions ? 1 : expansion->widest;
	expansion->nodes += left.nodes + right.nodes;
	expansion->relations += left.relations + right.relations;
	for (size_t i = 0; expansion->widest > 1 && i < left.count; i++) {
		double weight = expansion->widest;
		if (expansion->positions && i < right.count)
			weight = left.columns[i].weight + right.columns[i].weight - 1;
		expansion_add_column(place.growth, expansion, left.columns[i].name, weight);
	}
	expansion->positions = expansion->positions && expansion->count == left.count;
}

static void measure_select(struct place place, const SelectStmt *select, struct expansion *expansion)
{
	struct scope scope = { .outer = place.scope };
	growth_from(place, &scope, select->fromClause, expansion);
	place.scope = &scope;
	measure_targets(place, select, expansion);
	measure_values(place, select->valuesLists, expansion);
	expansion->nodes +=
		growth_weigh(place, select->whereClause) + growth_weigh(place, select->havingClause);
	add_nodes(place.growth, expansion, growth_weigh(place, (const Node *)select->groupClause));
	add_nodes(place.growth, expansion, growth_weigh(place, (const Node *)select->windowClause));
	add_nodes(place.growth, expansion, growth_weigh(place, (const Node *)select->sortClause));
	expansion->nodes +=
		growth_weigh(place, select->limitCount) + growth_weigh(place, select->limitOffset);
}

static bool is_grouped(const SelectStmt *select)
{
	return select->groupClause || select->havingClause || select->distinctClause ||
	       (select->op != SETOP_NONE && (select->op != SETOP_UNION || !select->all));
}

void growth_query(struct place place, const Node *query, struct expansion *ret_expansion)
{
	*ret_expansion = (struct expansion){ .positions = true, .others = 1, .widest = 1 };
	if (!query || !IsA(query, SelectStmt) || place.growth->gave_up)
		return;
	if (place.growth->depth >= GROWTH_MAX_LEVELS) {
		place.growth->gave_up = true;
		return;
	}
	const SelectStmt *select = (const SelectStmt *)query;
	place.growth->depth++;
	growth_enter_with(&place, select->withClause, ret_expansion);
	if (select->op != SETOP_NONE)
		measure_set_operation(place, select, ret_expansion);
	else
		measure_select(place, select, ret_expansion);
	bool grouped = is_grouped(select), read = place.growth->depth > 1;
	place.growth->kept_apart = place.growth->kept_apart || (grouped && read && ret_expansion->widest > 1);
	if (select->limitCount || select->limitOffset || (grouped && !place.growth->pushing))
		keep_apart(ret_expansion);
	place.growth->depth--;
}

/* How often WITH queries are read is known after a first time. */
void growth_text(struct growth *growth, const Node *query, struct expansion *ret_expansion)
{
	struct place place = { growth, NULL, NULL };
	growth->counting = true;
	growth_query(place, query, ret_expansion);
	growth->counting = false;
	if (growth->withs)
		growth_query(place, query, ret_expansion);
}

/* Grows by what is read in a query's place, or by the conditions that are put into it. */
static struct growth grow(struct walk *walk, const Node *query, bool pushing, struct expansion *ret_expansion)
{
	struct growth growth = { .arena = walk->list->arena,
				 .catalog = walk->request->catalog,
				 .pushing = pushing,
				 .path_location = -1 };
	growth_text(&growth, query, ret_expansion);
	return growth;
}

void growth_check(struct walk *walk, const Node *statement, int64_t offset)
{
	struct expansion read;
	struct expansion pushed;
	if (statement && IsA(statement, ExplainStmt))
		statement = ((const ExplainStmt *)statement)->query;
	struct growth growth = grow(walk, statement, false, &read);
	bool gave_up = growth.gave_up;
	double nodes = read.nodes;
	if (!gave_up && growth.kept_apart) { /* else no condition grows by being put elsewhere */
		gave_up = grow(walk, statement, true, &pushed).gave_up;
		nodes = fmax(nodes, pushed.nodes);
	}
	if (growth.path_location >= 0)
		WALK_VIOLATION(walk, VIOLATION_RESOURCE_BOMB, growth.path_location,
			       "a path that searches all levels again and again");
	if (gave_up)
		WALK_VIOLATION(walk, VIOLATION_RESOURCE_BOMB, offset, "too large to be planned");
	else if (nodes > GROWTH_MAX_NODES)
		WALK_VIOLATION(walk, VIOLATION_RESOURCE_BOMB, offset,
			       "planned, its expressions have %.0f nodes", nodes);
	else if (read.relations > GROWTH_MAX_RELATIONS)
		WALK_VIOLATION(walk, VIOLATION_RESOURCE_BOMB, offset, "planned, it reads %.0f relations",
			       read.relations);
}
