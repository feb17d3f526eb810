#include "sql/postgresql/safety/growth.h" // first: see pg_nodes.h

#include "common/hash.h"
#include "sql/gate.h"
#include "sql/postgresql/node_children.h"

#include <math.h>
#include <strings.h>

#define MAX_VIEWS     SAFETY_MAX_VIEWS
#define MAX_COLUMNS   1664 /* that PostgreSQL lets a query have */
#define MAX_LOOKS     2000000
#define MAX_LEVELS    5000 /* of nodes */
#define SUBPLAN_NODES 20   /* what a relation of a subquery in an expression counts there */
#define SHORT_LIST    16   /* lists up to this length are searched one by one */

/* A column that a query hands out. */
struct grown_column {
	str_t name;
	double weight; /* nodes that stand for a reference to it */
};

/* What a query grows to. */
struct grown {
	struct grown_column *columns;
	size_t count;
	size_t capacity;
	bool positions; /* the columns are all there, in their order */
	double others;	/* at least 1: weight of a column that is not there */
	double widest;	/* at least 1: of any column */
	double nodes;	/* of all its expressions */
	double relations;
};

/* Something in FROM. */
struct source {
	const char *alias; /* or NULL */
	const struct grown *grown;
	double row;		   /* weight of all of it */
	struct hash_map *heaviest; /* of each name the column, where it has many that weigh something */
	struct source *same;	   /* the one before it of the same alias, as far as aliases are known */
};

struct sources {
	struct source **items;
	size_t count;
	size_t capacity;
};

struct scope {
	struct sources all;
	struct sources heavy;	   /* those with a column that stands for more than itself */
	double rows;		   /* weights of all of them */
	struct hash_map *by_alias; /* where they are many */
	size_t aliases_known;	   /* of so many sources `same` is set */
	bool merges;		   /* FULL JOIN … USING: both sides are read for one column */
	struct scope *outer;
};

struct grown_with {
	const CommonTableExpr *cte;
	unsigned references;
	enum { WITH_NEW, WITH_UNDER_WAY, WITH_DONE } state;
	bool recursive;
	struct grown grown;
	const struct visible *around; /* WITH queries that it sees */
	struct scope *scope;	      /* of the query that it belongs to */
	struct grown_with *next;
};

/* WITH queries in scope, innermost first. */
struct visible {
	struct grown_with *with;
	const struct visible *outer;
};

struct grown_view {
	const struct catalog_relation *relation;
	bool done;
	struct grown grown;
};

struct growth {
	struct arena *arena;
	const struct catalog *catalog;
	struct grown_with *withs; /* of the text under way */
	struct grown_view views[MAX_VIEWS];
	size_t views_count;
	unsigned looks;
	unsigned depth;
	bool counting; /* how often WITH queries are read; it is not known yet */
	bool pushing;  /* only conditions count: they are put into queries that group, too */
	bool gave_up;
	int path_location; /* of a path through JSON that repeats itself, or −1 */
};

/* Where an expression or a query stands. */
struct place {
	struct growth *growth;
	const struct visible *visible;
	struct scope *scope;
};

static const struct grown plain = { .others = 1, .widest = 1, .relations = 1 };

static void measure_query(struct place place, const Node *query, struct grown *ret_grown);
static double weigh(struct place place, const Node *node);

/* Columns */

static void count_looks(struct growth *growth, size_t looks)
{
	growth->looks += (unsigned)looks;
	growth->gave_up = growth->gave_up || growth->looks > MAX_LOOKS;
}

static void add_column(struct growth *growth, struct grown *grown, str_t name, double weight)
{
	grown->widest = fmax(grown->widest, weight);
	count_looks(growth, 1);
	if (grown->count >= MAX_COLUMNS) {
		grown->positions = false;
		return;
	}
	ARENA_PUSH(growth->arena, grown->columns, grown->count, grown->capacity,
		   (struct grown_column){ name, weight });
}

/* The same query under the names of `AS s (x, y)`. Where the order is not known, any may be the widest. */
static struct grown renamed(struct growth *growth, const struct grown *grown, const List *names)
{
	struct grown result = { .positions = grown->positions,
				.others = grown->others,
				.widest = grown->widest,
				.nodes = grown->nodes,
				.relations = grown->relations };
	if (!names)
		return *grown;
	for (size_t i = 0; grown->widest > 1 && i < (size_t)list_length(names); i++) {
		const char *name = NODE_STRING(list_nth(names, (int)i));
		bool known = grown->positions && i < grown->count;
		add_column(growth, &result, str_from(name), known ? grown->columns[i].weight : grown->widest);
	}
	for (size_t i = (size_t)list_length(names); i < grown->count; i++)
		add_column(growth, &result, grown->columns[i].name, grown->columns[i].weight);
	return result;
}

/* References */

static double whole_row(const struct grown *grown)
{
	double weight = 1;
	for (size_t i = 0; i < grown->count; i++)
		weight += grown->columns[i].weight;
	return fmax(weight, grown->widest);
}

static void index_columns(struct growth *growth, struct source *source)
{
	const struct grown *grown = source->grown;
	source->heaviest = ARENA_NEW(growth->arena, struct hash_map);
	hash_map_init(source->heaviest, growth->arena, grown->count);
	count_looks(growth, grown->count);
	for (size_t i = 0; i < grown->count; i++) {
		struct grown_column *column = &grown->columns[i];
		const struct grown_column *other = hash_map_get(source->heaviest, column->name);
		if (!str_present(column->name))
			continue;
		if (!other || other->weight < column->weight)
			(void)hash_map_set(source->heaviest, column->name, column);
	}
}

/* Of the columns of that name the one that weighs most, or NULL. */
static const struct grown_column *heaviest_column(struct growth *growth, struct source *source,
						  const char *name)
{
	const struct grown *grown = source->grown;
	const struct grown_column *heaviest = NULL;
	if (grown->count > SHORT_LIST && !source->heaviest)
		index_columns(growth, source);
	count_looks(growth, source->heaviest ? 1 : grown->count);
	if (source->heaviest)
		return hash_map_get(source->heaviest, str_from(name));
	for (size_t i = 0; i < grown->count; i++)
		if (str_is(grown->columns[i].name, name) &&
		    (!heaviest || heaviest->weight < grown->columns[i].weight))
			heaviest = &grown->columns[i];
	return heaviest;
}

static double column_weight(struct growth *growth, struct source *source, const char *name, bool *found)
{
	*found = false;
	if (source->grown->widest <= 1)
		return 1;
	const struct grown_column *column = heaviest_column(growth, source, name);
	*found = column && column->weight > 0;
	return *found ? column->weight : source->grown->others;
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

/* The last source of that alias; `same` leads from it to the others. */
static struct source *find_source(struct growth *growth, struct scope *scope, const char *alias)
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

/* A column by its bare name, or a whole row. */
static double weigh_name(struct place place, const char *name)
{
	for (struct scope *scope = place.scope; scope; scope = scope->outer) {
		struct named named = { .largest = 1 };
		for (size_t i = 0; i < scope->heavy.count; i++) {
			bool here = false;
			double weight = column_weight(place.growth, scope->heavy.items[i], name, &here);
			add_meaning(&named, weight, here);
		}
		for (struct source *source = find_source(place.growth, scope, name); source;
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
		struct source *source = find_source(place.growth, scope, alias);
		bool found = false;
		if (source)
			return name ? column_weight(place.growth, source, name, &found) : source->row;
	}
	return weigh_name(place, alias);
}

static double weigh_column(struct place place, const ColumnRef *column)
{
	int count = list_length(column->fields);
	double weight = 1;
	if (count == 1 && IsA(linitial(column->fields), String))
		return weigh_name(place, NODE_STRING(linitial(column->fields)));
	if (count == 1)
		return 1 + (place.scope ? place.scope->rows : 0);
	for (int i = 0; i + 1 < count; i++) { /* a schema or a database may stand in front */
		const Node *next = list_nth(column->fields, i + 1);
		weight = fmax(weight, weigh_part(place, NODE_STRING(list_nth(column->fields, i)),
						 IsA(next, String) ? NODE_STRING(next) : NULL));
	}
	return weight;
}

/* Expressions */

struct weighing {
	struct place place;
	double weight;
};

static bool weigh_child(const Node *child, void *context)
{
	struct weighing *weighing = context;
	weighing->weight += weigh(weighing->place, child);
	return !weighing->place.growth->gave_up;
}

static double weigh_query(struct place place, const Node *query)
{
	struct grown grown;
	measure_query(place, query, &grown);
	return 1 + grown.nodes + SUBPLAN_NODES * grown.relations;
}

/* Paths through JSON: each `**` takes all levels below what the one in front took. */

static bool count_descents(const Node *node, void *context)
{
	unsigned *descents = context;
	if (!IsA(node, A_Const))
		return node_children(node, count_descents, context);
	const A_Const *literal = (const A_Const *)node;
	if (literal->isnull || !IsA(&literal->val.node, String))
		return true;
	for (const char *at = strstr(literal->val.sval.sval, "**"); at; at = strstr(at + 2, "**"))
		++*descents;
	return true;
}

static void judge_path(struct growth *growth, const Node *path, int location)
{
	unsigned descents = 0;
	if (path)
		count_descents(path, &descents);
	if (descents > 1)
		growth->path_location = location;
}

static void judge_paths(struct growth *growth, const Node *node)
{
	if (IsA(node, FuncCall)) {
		const FuncCall *call = (const FuncCall *)node;
		const char *name = names_last(call->funcname);
		if (name && strncmp(name, "jsonb_path_", strlen("jsonb_path_")) == 0)
			judge_path(growth, call_argument(call, 1), call->location);
	} else if (IsA(node, A_Expr)) {
		const A_Expr *expr = (const A_Expr *)node;
		const char *name = names_last(expr->name);
		if (name && (strcmp(name, "@?") == 0 || strcmp(name, "@@") == 0))
			judge_path(growth, expr->rexpr, expr->location);
	} else if (IsA(node, TypeCast)) {
		const TypeCast *cast = (const TypeCast *)node;
		const char *name = names_last(cast->typeName->names);
		if (name && strcmp(name, "jsonpath") == 0)
			judge_path(growth, cast->arg, cast->location);
	}
}

/* Nodes that stand for the expression once all columns are put in their places. */
static double weigh(struct place place, const Node *node)
{
	if (!node || place.growth->gave_up)
		return 0;
	if (IsA(node, ColumnRef))
		return weigh_column(place, (const ColumnRef *)node);
	if (IsA(node, SelectStmt))
		return weigh_query(place, node);
	if (place.growth->depth >= MAX_LEVELS) {
		place.growth->gave_up = true;
		return 0;
	}
	judge_paths(place.growth, node);
	struct weighing weighing = { place, IsA(node, List) || IsA(node, ResTarget) ? 0 : 1 };
	place.growth->depth++;
	node_children(node, weigh_child, &weighing);
	place.growth->depth--;
	return weighing.weight;
}

/* Relations */

static void measure_with(struct growth *growth, struct grown_with *with)
{
	if (with->state != WITH_NEW)
		return;
	with->state = WITH_UNDER_WAY;
	struct place place = { growth, with->around, with->scope };
	struct grown grown;
	measure_query(place, with->cte->ctequery, &grown);
	with->grown = renamed(growth, &grown, with->cte->aliascolnames);
	with->state = WITH_DONE;
}

/* What stays a plan of its own keeps its expressions to itself. */
static bool stays_apart(const struct grown_with *with)
{
	return with->recursive || with->cte->ctematerialized == CTEMaterializeAlways ||
	       (with->cte->ctematerialized == CTEMaterializeDefault && with->references > 1);
}

static const struct grown *read_with(struct growth *growth, struct grown_with *with)
{
	with->references += growth->counting;
	if (with->state == WITH_UNDER_WAY)
		with->recursive = true;
	measure_with(growth, with);
	return with->state == WITH_UNDER_WAY || stays_apart(with) ? &plain : &with->grown;
}

static void measure_text(struct growth *growth, const Node *query, struct grown *ret_grown);

/* Names are of the parser's memory, which ends here. */
static void keep_names(struct growth *growth, struct grown *grown)
{
	for (size_t i = 0; i < grown->count; i++)
		grown->columns[i].name = arena_str(growth->arena, grown->columns[i].name);
}

static void measure_view(struct growth *growth, struct grown_view *view)
{
	struct parsed_statement parsed;
	struct grown_with *withs = growth->withs;
	bool counting = growth->counting;
	int path_location = growth->path_location;
	view->grown = plain;
	if (gate_check(view->relation->definition).verdict != GATE_PASSED)
		return; /* refused for that */
	parse_begin(arena_str(growth->arena, view->relation->definition), growth->arena, &parsed);
	growth->withs = NULL;
	if (parsed.statement)
		measure_text(growth, parsed.statement, &view->grown);
	growth->withs = withs;
	growth->counting = counting;
	growth->path_location = path_location;
	keep_names(growth, &view->grown);
	parse_end(&parsed);
	for (size_t i = 0; i < view->relation->columns_count; i++) { /* CREATE VIEW v (x, y) */
		bool known = view->grown.positions && i < view->grown.count;
		if (view->grown.widest > 1)
			add_column(growth, &view->grown, view->relation->columns[i].name,
				   known ? view->grown.columns[i].weight : view->grown.widest);
	}
	view->grown.positions = false;
}

static const struct grown *read_view(struct growth *growth, const struct catalog_relation *relation)
{
	for (size_t i = 0; i < growth->views_count; i++)
		if (growth->views[i].relation == relation)
			return growth->views[i].done ? &growth->views[i].grown : &plain;
	if (growth->views_count >= MAX_VIEWS)
		return &plain; /* refused for that */
	struct grown_view *view = &growth->views[growth->views_count++];
	view->relation = relation;
	measure_view(growth, view);
	view->done = true;
	return &view->grown;
}

static const struct grown *read_relation(struct place place, const RangeVar *range)
{
	struct growth *growth = place.growth;
	for (const struct visible *at = range->schemaname ? NULL : place.visible; at; at = at->outer)
		if (strcmp(at->with->cte->ctename, range->relname) == 0)
			return read_with(growth, at->with);
	if (!growth->catalog)
		return &plain;
	str_t name = str_from(range->relname);
	const struct catalog_relation *relation =
		range->schemaname ? catalog_relation(growth->catalog, str_from(range->schemaname), name)
				  : catalog_relation_on_path(growth->catalog, name);
	bool view = relation && relation->is_view && relation->kind != 'm' && !relation->is_system &&
		    str_present(relation->definition);
	return view ? read_view(growth, relation) : &plain;
}

/* FROM */

struct from {
	struct place place; /* its scope is the one that grows */
	struct scope *scope;
	struct grown *total;
};

static void add_source(struct from *from, const struct grown *grown, const Alias *alias, const char *name)
{
	struct growth *growth = from->place.growth;
	struct scope *scope = from->scope;
	struct source *source = ARENA_NEW(growth->arena, struct source);
	struct grown *own = ARENA_NEW(growth->arena, struct grown);
	*own = renamed(growth, grown, alias ? alias->colnames : NULL);
	*source = (struct source){ .alias = alias ? alias->aliasname : name,
				   .grown = own,
				   .row = whole_row(own) };
	ARENA_PUSH(growth->arena, scope->all.items, scope->all.count, scope->all.capacity, source);
	if (own->widest > 1)
		ARENA_PUSH(growth->arena, scope->heavy.items, scope->heavy.count, scope->heavy.capacity,
			   source);
	scope->rows += source->row;
	from->total->nodes += grown->nodes;
	from->total->relations += grown->relations;
}

static void measure_from(struct from *from, const Node *node);

/* All columns of the sources from `first` on under the name of the join. */
static void name_join(struct from *from, const JoinExpr *join, size_t first)
{
	struct growth *growth = from->place.growth;
	struct grown grown = { .others = 1, .widest = 1 };
	for (size_t j = from->scope->all.count; j > first; j--) {
		const struct source *source = from->scope->all.items[j - 1];
		for (size_t i = 0; i < source->grown->count; i++)
			add_column(growth, &grown, source->grown->columns[i].name,
				   source->grown->columns[i].weight * (join->jointype == JOIN_FULL ? 2 : 1));
		grown.others = fmax(grown.others, source->grown->others);
		grown.widest = fmax(grown.widest, source->grown->widest);
	}
	add_source(from, &grown, join->alias, NULL);
}

static void measure_join(struct from *from, const JoinExpr *join)
{
	size_t first = from->scope->all.count;
	measure_from(from, join->larg);
	measure_from(from, join->rarg);
	if (join->jointype == JOIN_FULL && (join->usingClause || join->isNatural))
		from->scope->merges = true;
	from->total->nodes += weigh(from->place, join->quals);
	ListCell *cell;
	foreach(cell, join->usingClause) from->total->nodes +=
		2 * weigh_name(from->place, NODE_STRING(lfirst(cell)));
	if (join->alias)
		name_join(from, join, first);
}

static void measure_from(struct from *from, const Node *node)
{
	struct growth *growth = from->place.growth;
	if (!node || growth->gave_up)
		return;
	if (growth->depth >= MAX_LEVELS) {
		growth->gave_up = true;
		return;
	}
	growth->depth++;
	if (IsA(node, RangeVar)) {
		const RangeVar *range = (const RangeVar *)node;
		add_source(from, read_relation(from->place, range), range->alias, range->relname);
	} else if (IsA(node, RangeSubselect)) {
		const RangeSubselect *range = (const RangeSubselect *)node;
		struct grown grown;
		struct place place = from->place;
		if (!range->lateral)
			place.scope = from->scope->outer;
		measure_query(place, range->subquery, &grown);
		add_source(from, &grown, range->alias, NULL);
	} else if (IsA(node, JoinExpr)) {
		measure_join(from, (const JoinExpr *)node);
	} else {
		from->total->nodes += weigh(from->place, node);
		from->total->relations++;
	}
	growth->depth--;
}

/* Queries */

static struct grown_with *find_with(struct growth *growth, const CommonTableExpr *cte)
{
	struct grown_with *with = growth->withs;
	while (with && with->cte != cte)
		with = with->next;
	if (with)
		return with;
	with = ARENA_NEW(growth->arena, struct grown_with);
	with->cte = cte;
	with->next = growth->withs;
	growth->withs = with;
	return with;
}

/* Brings the WITH queries into scope; those that stay plans of their own count once. */
static void enter_with(struct place *place, const WithClause *clause, struct grown *total)
{
	struct growth *growth = place->growth;
	const struct visible *around = place->visible;
	ListCell *cell;
	foreach(cell, clause ? clause->ctes : NULL)
	{
		struct grown_with *with = find_with(growth, lfirst(cell));
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
			total->nodes += at->with->grown.nodes;
			total->relations += at->with->grown.relations;
		}
	}
}

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

static void add_star_of(struct growth *growth, struct grown *grown, const struct source *source, bool merges)
{
	grown->others = fmax(grown->others, source->grown->others);
	grown->widest = fmax(grown->widest, source->grown->widest);
	for (size_t i = 0; source->grown->widest > 1 && i < source->grown->count; i++)
		add_column(growth, grown, source->grown->columns[i].name,
			   source->grown->columns[i].weight * (merges ? 2 : 1));
}

static void add_star(struct place place, struct grown *grown, const ColumnRef *star)
{
	int count = list_length(star->fields);
	const char *alias = count > 1 ? NODE_STRING(list_nth(star->fields, count - 2)) : NULL;
	grown->positions = false;
	for (struct scope *scope = alias ? place.scope : NULL; scope; scope = scope->outer)
		for (const struct source *source = find_source(place.growth, scope, alias); source;
		     source = source->same)
			add_star_of(place.growth, grown, source, scope->merges);
	for (size_t i = 0; !alias && place.scope && i < place.scope->heavy.count; i++)
		add_star_of(place.growth, grown, place.scope->heavy.items[i], place.scope->merges);
}

/* A call that the query above reads as a result: of an aggregate or over a window. */
static bool is_computed_apart(const Node *node)
{
	static const char *const aggregates[] = { "count",     "sum",	     "avg",	   "min",
						  "max",       "bool_and",   "bool_or",	   "every",
						  "array_agg", "string_agg", "json_agg",   "jsonb_agg",
						  "stddev",    "variance",   "stddev_pop", "stddev_samp" };
	if (!IsA(node, FuncCall))
		return false;
	const FuncCall *call = (const FuncCall *)node;
	const char *name = names_last(call->funcname);
	bool aggregate = call->over || call->agg_star;
	for (size_t i = 0; name && i < sizeof aggregates / sizeof aggregates[0]; i++)
		aggregate = aggregate || strcmp(name, aggregates[i]) == 0;
	return aggregate;
}

static bool looks_apart(const Node *node, void *context)
{
	bool *apart = context;
	*apart = *apart || is_computed_apart(node);
	return !*apart && (IsA(node, SelectStmt) || node_children(node, looks_apart, apart));
}

static void add_nodes(struct growth *growth, struct grown *grown, double nodes)
{
	grown->nodes += growth->pushing ? 0 : nodes;
}

static void measure_targets(struct place place, const SelectStmt *select, struct grown *grown)
{
	ListCell *cell;
	foreach(cell, select->targetList)
	{
		const ResTarget *target = lfirst(cell);
		double weight = weigh(place, target->val);
		add_nodes(place.growth, grown, weight);
		if (target->val && IsA(target->val, ColumnRef) &&
		    IsA(llast(((const ColumnRef *)target->val)->fields), A_Star)) {
			add_star(place, grown, (const ColumnRef *)target->val);
			continue;
		}
		bool apart = false;
		if (weight > 1)
			looks_apart(target->val, &apart);
		add_column(place.growth, grown, str_from(output_name(target)), apart ? 1 : weight);
	}
}

/* Names column1, column2, …; one row stands in for its columns. */
static void measure_values(struct place place, const List *rows, struct grown *grown)
{
	ListCell *cell;
	foreach(cell, rows)
	{
		ListCell *value;
		foreach(value, (const List *)lfirst(cell))
		{
			double weight = weigh(place, lfirst(value));
			size_t i = (size_t)foreach_current_index(value);
			add_nodes(place.growth, grown, weight);
			if (foreach_current_index(cell) == 0)
				add_column(place.growth, grown,
					   arena_printf(place.growth->arena, "column%zu", i + 1), weight);
		}
	}
}

/* A limited query is never put in the place of what reads it. */
static void keep_apart(struct grown *grown)
{
	grown->others = 1;
	grown->widest = 1;
	for (size_t i = 0; i < grown->count; i++)
		grown->columns[i].weight = 1;
}

/* Each arm of UNION ALL is read in the query's place. */
static void measure_set_operation(struct place place, const SelectStmt *select, struct grown *grown)
{
	struct grown left;
	struct grown right;
	measure_query(place, (const Node *)select->larg, &left);
	measure_query(place, (const Node *)select->rarg, &right);
	grown->positions = left.positions && right.positions;
	grown->widest = left.widest + right.widest - 1;
	grown->others = grown->positions ? 1 : grown->widest;
	grown->nodes += left.nodes + right.nodes;
	grown->relations += left.relations + right.relations;
	for (size_t i = 0; grown->widest > 1 && i < left.count; i++) {
		double weight = grown->widest;
		if (grown->positions && i < right.count)
			weight = left.columns[i].weight + right.columns[i].weight - 1;
		add_column(place.growth, grown, left.columns[i].name, weight);
	}
	grown->positions = grown->positions && grown->count == left.count;
}

static void measure_select(struct place place, const SelectStmt *select, struct grown *grown)
{
	struct scope scope = { .outer = place.scope };
	struct from from = { { place.growth, place.visible, &scope }, &scope, grown };
	ListCell *cell;
	foreach(cell, select->fromClause) measure_from(&from, lfirst(cell));
	place.scope = &scope;
	measure_targets(place, select, grown);
	measure_values(place, select->valuesLists, grown);
	grown->nodes += weigh(place, select->whereClause) + weigh(place, select->havingClause);
	add_nodes(place.growth, grown, weigh(place, (const Node *)select->groupClause));
	add_nodes(place.growth, grown, weigh(place, (const Node *)select->windowClause));
	add_nodes(place.growth, grown, weigh(place, (const Node *)select->sortClause));
	grown->nodes += weigh(place, select->limitCount) + weigh(place, select->limitOffset);
}

static bool is_grouped(const SelectStmt *select)
{
	return select->groupClause || select->havingClause || select->distinctClause ||
	       (select->op != SETOP_NONE && (select->op != SETOP_UNION || !select->all));
}

static void measure_query(struct place place, const Node *query, struct grown *ret_grown)
{
	*ret_grown = (struct grown){ .positions = true, .others = 1, .widest = 1 };
	if (!query || !IsA(query, SelectStmt) || place.growth->gave_up)
		return;
	if (place.growth->depth >= MAX_LEVELS) {
		place.growth->gave_up = true;
		return;
	}
	const SelectStmt *select = (const SelectStmt *)query;
	place.growth->depth++;
	enter_with(&place, select->withClause, ret_grown);
	if (select->op != SETOP_NONE)
		measure_set_operation(place, select, ret_grown);
	else
		measure_select(place, select, ret_grown);
	if (select->limitCount || select->limitOffset || (is_grouped(select) && !place.growth->pushing))
		keep_apart(ret_grown);
	place.growth->depth--;
}

/* How often WITH queries are read is known after a first time. */
static void measure_text(struct growth *growth, const Node *query, struct grown *ret_grown)
{
	struct place place = { growth, NULL, NULL };
	growth->counting = true;
	measure_query(place, query, ret_grown);
	growth->counting = false;
	measure_query(place, query, ret_grown);
}

/* Grows by what is read in a query's place, or by the conditions that are put into it. */
static struct growth grow(struct walk *walk, const Node *query, bool pushing, struct grown *ret_grown)
{
	struct growth growth = { .arena = walk->list->arena,
				 .catalog = walk->request->catalog,
				 .pushing = pushing,
				 .path_location = -1 };
	measure_text(&growth, query, ret_grown);
	return growth;
}

void judge_growth(struct walk *walk, const Node *statement, int64_t offset)
{
	struct grown read;
	struct grown pushed;
	if (statement && IsA(statement, ExplainStmt))
		statement = ((const ExplainStmt *)statement)->query;
	struct growth growth = grow(walk, statement, false, &read);
	bool gave_up = growth.gave_up || grow(walk, statement, true, &pushed).gave_up;
	double nodes = gave_up ? 0 : fmax(read.nodes, pushed.nodes);
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
