#include "sql/postgresql/resolve/internal.h"

#include "sql/postgresql/resolve/equal.h"
#include "sql/postgresql/resolve/namespace.h"

#include "common/hash.h"

#include "catalog/pg_type_d.h"

/* PostgreSQL's own types that have neither an order nor an equality for sorting and grouping. */
static bool is_without_equality(type_id type)
{
	switch (type) {
	case JSONOID:
	case XMLOID:
	case POINTOID:
	case LSEGOID:
	case PATHOID:
	case BOXOID:
	case POLYGONOID:
	case LINEOID:
	case CIRCLEOID:
	case JSONPATHOID:
	case CSTRINGOID:
	case VOIDOID:
		return true;
	default:
		return false;
	}
}

/* PostgreSQL's own types that have an equality alone. */
static bool is_without_order(type_id type)
{
	return type == XIDOID || type == CIDOID || type == ACLITEMOID;
}

/* Arrays and composite types within each other; what lies deeper is in doubt. */
#define NESTED_TYPES 4

/* A composite type is compared by all of its columns, an array by its elements. */
static bool cannot_compare(const struct catalog *catalog, type_id type, bool ordered, unsigned depth)
{
	type_id element = type_element(catalog, type);
	type_id base = catalog_type_base(catalog, element ? element : type);
	if (is_without_equality(base) || (ordered && is_without_order(base)))
		return true;
	const struct catalog_type *composite = depth > 0 ? type_composite(catalog, base) : NULL;
	for (size_t i = 0; composite && i < composite->columns_count; i++)
		if (cannot_compare(catalog, composite->columns[i].value_type, ordered, depth - 1))
			return true;
	return false;
}

enum certainty type_has_equality(const struct catalog *catalog, type_id type)
{
	if (!catalog || type == TYPE_UNSURE)
		return PERHAPS;
	return cannot_compare(catalog, type, false, NESTED_TYPES) ? SURELY_NOT : PERHAPS;
}

enum certainty type_has_order(const struct catalog *catalog, type_id type)
{
	if (!catalog || type == TYPE_UNSURE)
		return PERHAPS;
	return cannot_compare(catalog, type, true, NESTED_TYPES) ? SURELY_NOT : PERHAPS;
}

/* How a clause reads its keys. */
enum clause { CLAUSE_GROUP, CLAUSE_ORDER, CLAUSE_DISTINCT };

static const char *const clause_names[] = { "GROUP BY", "ORDER BY", "DISTINCT ON" };
static const enum place clause_places[] = { PLACE_GROUP_BY, PLACE_ORDER_BY, PLACE_DISTINCT_ON };

static void record_output(struct resolver *resolver, const struct level *level, const ColumnRef *column,
			  size_t index)
{
	struct resolved_column *resolved = ARENA_NEW(resolver->arena, struct resolved_column);
	const struct level_target *from = level_target(level, index);
	*resolved = (struct resolved_column){ .kind = COLUMN_OUTPUT,
					      .column = index,
					      .output = from ? (const Node *)from->target : NULL };
	resolver_record(resolver, column, resolved);
	resolver_record_type(resolver, column, level->outputs->columns[index].type);
}

static bool same_source(const struct range_column *a, const struct range_column *b)
{
	if (!a->source || !b->source)
		return true;
	struct base_column one = base_column_of(a->source, a->source_index);
	struct base_column other = base_column_of(b->source, b->source_index);
	return one.item == other.item && one.column == other.column;
}

/* Surely no column of FROM, and no row of it. */
static bool is_computed(struct resolver *resolver, const Node *node)
{
	struct base_column base;
	node = expression_output_without_casts(resolver, node);
	return !IsA(node, ColumnRef) && !expression_is_column(resolver, node, &base) &&
	       !expression_is_open(resolver, node);
}

/* Two outputs of one name are the same to PostgreSQL when they are equal expressions. */
static bool surely_differ(struct resolver *resolver, const struct range_column *a,
			  const struct range_column *b)
{
	if (a->expression && b->expression)
		return !expression_outputs_may_equal(resolver, a->expression, b->expression);
	const Node *written = a->expression ? a->expression : b->expression;
	const struct range_column *of_star = a->expression ? b : a;
	return !same_source(a, b) || (written && of_star->source && is_computed(resolver, written));
}

/* What the outputs of a level are found by, when there are many: their names and their expressions. */
struct output_finder {
	struct hash_map names; /* to struct named_output */
	struct expression_index *expressions;
};

struct named_output {
	size_t first;
	bool ambiguous;
};

static void index_name(struct resolver *resolver, const struct level *level, size_t at)
{
	const struct range_column *columns = level->outputs->columns;
	if (!str_present(columns[at].name))
		return;
	struct named_output *named = hash_map_get(&level->finder->names, columns[at].name);
	if (named) {
		named->ambiguous =
			named->ambiguous || surely_differ(resolver, &columns[named->first], &columns[at]);
		return;
	}
	named = ARENA_NEW(resolver->arena, struct named_output);
	named->first = at;
	(void)hash_map_set(&level->finder->names, columns[at].name, named);
}

static void index_outputs(struct resolver *resolver, struct level *level)
{
	const struct outputs *outputs = level->outputs;
	if (outputs->count <= RESOLVE_SHORT_LIST)
		return;
	level->finder = ARENA_NEW(resolver->arena, struct output_finder);
	hash_map_init(&level->finder->names, resolver->arena, outputs->count);
	level->finder->expressions = expression_index_new(resolver, outputs->count);
	for (size_t i = 0; i < outputs->count; i++) {
		const struct range_column *output = &outputs->columns[i];
		const struct level_target *from = level_target(level, i);
		index_name(resolver, level, i);
		if (from && from->target)
			expression_index_add(level->finder->expressions, from->target->val, true, i);
		else if (output->source)
			expression_index_add_hash(
				level->finder->expressions,
				base_column_hash(base_column_of(output->source, output->source_index)), i);
	}
}

static void report_ambiguous(struct resolver *resolver, const ColumnRef *column, str_t name)
{
	diagnostics_add(resolver->diagnostics, DIAG_AMBIGUOUS_COLUMN, SUB_NONE, name, column->location,
			"\"" STR_FMT "\" is ambiguous: two output columns have the name", STR_ARG(name));
}

/* The output column that the bare name means, or SIZE_MAX. That is looked at before (ORDER BY, DISTINCT ON)
 * or after (GROUP BY) the columns of FROM. */
static size_t find_output(struct resolver *resolver, const struct level *level, const ColumnRef *column,
			  str_t name)
{
	size_t first = SIZE_MAX;
	if (level->finder) {
		const struct named_output *named = hash_map_get(&level->finder->names, name);
		if (!named)
			return SIZE_MAX;
		record_output(resolver, level, column, named->first);
		if (named->ambiguous)
			report_ambiguous(resolver, column, name);
		return named->first;
	}
	for (size_t i = 0; i < level->outputs->count; i++) {
		const struct range_column *output = &level->outputs->columns[i];
		if (!str_equal(output->name, name))
			continue;
		if (first == SIZE_MAX) {
			first = i;
			record_output(resolver, level, column, i);
		} else if (surely_differ(resolver, &level->outputs->columns[first], output)) {
			report_ambiguous(resolver, column, name);
		}
	}
	return first;
}

/* A position, or a constant that has no meaning there. */
static size_t find_position(struct resolver *resolver, const struct level *level, const A_Const *constant,
			    enum clause clause)
{
	int position;
	if (!node_integer((const Node *)constant, &position)) {
		resolver_report_type(resolver, DIAG_INVALID_ORDER, SUB_INVALID_ORDER_CONSTANT, "42601",
				     constant->location, "%s has a constant that is no position",
				     clause_names[clause]);
		return SIZE_MAX;
	}
	if (position >= 1 && (size_t)position <= level->outputs->count)
		return (size_t)position - 1;
	if (!level->outputs->open)
		diagnostics_add_state(resolver->diagnostics, DIAG_UNKNOWN_COLUMN, SUB_NONE, "42P10",
				      arena_printf(resolver->arena, "%d", position), constant->location,
				      "position %d is not in the select list", position);
	return SIZE_MAX;
}

/* What GROUP BY takes from the select list cannot be computed after grouping. */
static void check_grouped_output(struct resolver *resolver, const struct level *level, const Node *node,
				 size_t output)
{
	uint64_t bit = level_bit(level->scope->level);
	const struct level_target *from = level_target(level, output);
	if (!from)
		return;
	const struct marks *marks = &from->marks;
	if (marks->aggregates & bit)
		resolver_report_type(resolver, DIAG_INVALID_AGGREGATE, SUB_NONE, "42803",
				     resolver_node_location(resolver, node),
				     "GROUP BY names an output that is an aggregate");
	else if (marks->windows & bit)
		resolver_report_type(resolver, DIAG_INVALID_WINDOW, SUB_NONE, "42P20",
				     resolver_node_location(resolver, node),
				     "GROUP BY names an output that is a window function");
}

static size_t find_by_name(struct resolver *resolver, const struct level *level, const Node *node,
			   enum clause clause)
{
	str_t name = str_from(node_column_name(node));
	struct found_column found;
	if (!str_present(name) ||
	    (clause == CLAUSE_GROUP &&
	     resolve_lookup_column(resolver, level->scope, name, true, &found) != LOOKUP_MISSING))
		return SIZE_MAX;
	return find_output(resolver, level, (const ColumnRef *)node, name);
}

struct key_search {
	struct resolver *resolver;
	const struct level *level;
};

/* A column of `*` or a target that is the expression. */
static bool output_matches(const void *context, size_t place, const Node *node)
{
	const struct key_search *search = context;
	const struct level *level = search->level;
	const struct level_target *from = level_target(level, place);
	const struct range_column *output = &level->outputs->columns[place];
	if (from && from->target)
		return expression_outputs_may_equal(search->resolver, from->target->val, node);
	const struct resolved_column *column = resolution_column(
		search->resolver->resolution, expression_output_without_casts(search->resolver, node));
	if (!output->source || !column || column->kind != COLUMN_OF_ITEM)
		return false;
	struct base_column one = base_column_of(output->source, output->source_index);
	struct base_column other = base_column_of(column->item, column->column);
	return one.item == other.item && one.column == other.column;
}

/* The output that is the same expression. */
static size_t find_by_expression(struct resolver *resolver, const struct level *level, const Node *node)
{
	struct key_search search = { resolver, level };
	if (level->finder)
		return expression_index_find(level->finder->expressions, node, true, output_matches, &search);
	for (size_t i = 0; i < level->outputs->count; i++) {
		if (output_matches(&search, i, node))
			return i;
	}
	return SIZE_MAX;
}

void resolve_check_key(struct resolver *resolver, const Node *key, type_id type, bool ordered)
{
	if (!resolver_knows_types(resolver))
		return;
	enum certainty certainty = ordered ? type_has_order(resolver->catalog, type)
					   : type_has_equality(resolver->catalog, type);
	if (certainty != SURELY_NOT)
		return;
	str_t text = type_text(resolver->catalog, type);
	resolver_report_type(resolver, DIAG_UNKNOWN_FUNCTION, SUB_UNKNOWN_FUNCTION_OPERATOR, "42883",
			     resolver_node_location(resolver, key), "values of type " STR_FMT " cannot be %s",
			     STR_ARG(text), ordered ? "ordered" : "grouped");
}

static struct sort_key resolve_key(struct resolver *resolver, const struct level *level, const Node *node,
				   enum clause clause)
{
	struct sort_key key = { .node = node, .output = SIZE_MAX };
	if (IsA(node, A_Const)) {
		key.output = find_position(resolver, level, (const A_Const *)node, clause);
		if (key.output == SIZE_MAX)
			return key;
	} else {
		key.output = find_by_name(resolver, level, node, clause);
	}
	if (key.output != SIZE_MAX) {
		key.type = level->outputs->columns[key.output].type;
		if (clause == CLAUSE_GROUP)
			check_grouped_output(resolver, level, node, key.output);
	} else {
		key.type = resolve_in_place(resolver, level->scope, node, clause_places[clause], NULL);
		if (clause != CLAUSE_GROUP)
			key.output = find_by_expression(resolver, level, node);
	}
	resolve_check_key(resolver, node, key.type, clause != CLAUSE_GROUP);
	return key;
}

/* ORDER BY … USING: only what orders. */
static void check_order_operator(struct resolver *resolver, const SortBy *sort)
{
	if (STR_IS_ANY(names_qualified(sort->useOp).name, "=", "<>", "<=", ">="))
		resolver_report_type(resolver, DIAG_INVALID_ORDER, SUB_INVALID_ORDER_OPERATOR, "42809",
				     sort->location,
				     "ORDER BY USING needs an operator that orders, such as <");
}

void resolve_order(struct resolver *resolver, struct level *level)
{
	const ListCell *cell;
	if (level->select->sortClause || level->select->groupClause || level->select->distinctClause)
		index_outputs(resolver, level);
	foreach(cell, level->select->sortClause)
	{
		const SortBy *sort = lfirst_node(SortBy, cell);
		struct sort_key key = resolve_key(resolver, level, sort->node, CLAUSE_ORDER);
		check_order_operator(resolver, sort);
		ARENA_PUSH(resolver->arena, level->order, level->order_count, level->order_capacity, key);
	}
}

/* Whether one of its sets is empty. */
static bool has_empty_set(const GroupingSet *sets)
{
	const ListCell *cell;
	if (sets->kind != GROUPING_SET_SETS)
		return sets->kind == GROUPING_SET_ROLLUP || sets->kind == GROUPING_SET_CUBE ||
		       sets->kind == GROUPING_SET_EMPTY;
	foreach(cell, sets->content)
	{
		const Node *set = lfirst(cell);
		if (IsA(set, GroupingSet) && ((const GroupingSet *)set)->kind != GROUPING_SET_SETS &&
		    has_empty_set((const GroupingSet *)set))
			return true;
	}
	return false;
}

static void resolve_group(struct resolver *resolver, struct level *level, const Node *node, bool optional)
{
	if (!resolver_enter(resolver))
		return;
	const List *parts = NIL;
	if (IsA(node, GroupingSet)) {
		parts = ((const GroupingSet *)node)->content;
		optional = optional || has_empty_set((const GroupingSet *)node);
	} else if (IsA(node, RowExpr) && ((const RowExpr *)node)->row_format == COERCE_IMPLICIT_CAST) {
		parts = ((const RowExpr *)node)->args;
	} else {
		struct sort_key key = resolve_key(resolver, level, node, CLAUSE_GROUP);
		/* What it was to group is not ungrouped besides. */
		if (IsA(node, A_Const) && key.output == SIZE_MAX)
			level->scope->grouping_unsure = true;
		key.optional = optional;
		ARENA_PUSH(resolver->arena, level->groups, level->groups_count, level->groups_capacity, key);
	}
	const ListCell *cell;
	foreach(cell, parts) resolve_group(resolver, level, lfirst(cell), optional);
	resolver_leave(resolver);
}

void resolve_groups(struct resolver *resolver, struct level *level)
{
	const ListCell *cell;
	foreach(cell, level->select->groupClause) resolve_group(resolver, level, lfirst(cell), false);
}

static void check_distinct_order(struct resolver *resolver, const struct level *level)
{
	for (size_t i = 0; i < level->outputs->count && resolver_knows_types(resolver); i++) {
		if (type_has_equality(resolver->catalog, level->outputs->columns[i].type) != SURELY_NOT)
			continue;
		str_t text = type_text(resolver->catalog, level->outputs->columns[i].type);
		resolver_report_type(resolver, DIAG_UNKNOWN_FUNCTION, SUB_UNKNOWN_FUNCTION_OPERATOR, "42883",
				     resolver_node_location(resolver, level->outputs->columns[i].expression),
				     "values of type " STR_FMT " cannot be compared for DISTINCT",
				     STR_ARG(text));
	}
	if (level->outputs->open)
		return;
	for (size_t i = 0; i < level->order_count; i++) {
		const struct sort_key *key = &level->order[i];
		if (key->output == SIZE_MAX && !IsA(key->node, A_Const))
			resolver_report_type(
				resolver, DIAG_INVALID_ORDER, SUB_NONE, "42P10",
				resolver_node_location(resolver, key->node),
				"with DISTINCT, ORDER BY can only name what is in the select list");
	}
}

/* Keys of DISTINCT ON. Those that are outputs are known by their number. */
struct distinct_keys {
	struct resolver *resolver;
	const struct sort_key *keys;
	size_t count;
	struct expression_index *others;
	bool *outputs; /* which of the level are among them */
	size_t outputs_count;
};

static bool is_distinct_key(const void *context, size_t place, const Node *node)
{
	const struct distinct_keys *keys = context;
	return expression_outputs_may_equal(keys->resolver, keys->keys[place].node, node);
}

static struct distinct_keys index_distinct(struct resolver *resolver, const struct level *level,
					   const struct sort_key *keys, size_t count)
{
	struct distinct_keys index = { .resolver = resolver,
				       .keys = keys,
				       .count = count,
				       .others = expression_index_new(resolver, count),
				       .outputs =
					       ARENA_ARRAY(resolver->arena, bool, level->outputs->count + 1),
				       .outputs_count = level->outputs->count };
	for (size_t i = 0; i < count; i++) {
		if (keys[i].output < index.outputs_count)
			index.outputs[keys[i].output] = true;
		else
			expression_index_add(index.others, keys[i].node, true, i);
	}
	return index;
}

static bool is_distinct(const struct distinct_keys *keys, const struct sort_key *key)
{
	if (key->output < keys->outputs_count)
		return keys->outputs[key->output];
	return expression_index_find(keys->others, key->node, true, is_distinct_key, keys) != SIZE_MAX;
}

/* The keys of DISTINCT ON have to be the first of ORDER BY, in any order. */
static void check_distinct_on(struct resolver *resolver, const struct level *level,
			      const struct sort_key *keys, size_t count)
{
	const struct distinct_keys index = index_distinct(resolver, level, keys, count);
	bool skipped = false;
	size_t covered = 0;
	const Node *wrong = NULL;
	for (size_t i = 0; i < level->order_count && !wrong; i++) {
		bool found = is_distinct(&index, &level->order[i]);
		wrong = found && skipped ? level->order[i].node : NULL;
		skipped |= !found;
		covered += found;
	}
	if (!wrong && skipped && covered < count)
		wrong = keys[0].node;
	if (wrong)
		resolver_report_type(resolver, DIAG_INVALID_ORDER, SUB_NONE, "42P10",
				     resolver_node_location(resolver, wrong),
				     "the expressions of DISTINCT ON have to be the first ones of ORDER BY");
}

void resolve_distinct(struct resolver *resolver, struct level *level)
{
	const List *on = level->select->distinctClause;
	struct sort_key *keys = ARENA_ARRAY(resolver->arena, struct sort_key, (size_t)list_length(on));
	size_t count = 0;
	const ListCell *cell;
	if (on == NIL)
		return;
	if (!linitial(on)) { /* plain DISTINCT is a list of one NULL */
		check_distinct_order(resolver, level);
		return;
	}
	foreach(cell, on)
	{
		struct sort_key key = resolve_key(resolver, level, lfirst(cell), CLAUSE_DISTINCT);
		keys[count++] = key;
		/* One that is not selected is computed after grouping all the same. */
		if (key.output == SIZE_MAX)
			ARENA_PUSH(resolver->arena, level->distinct, level->distinct_count,
				   level->distinct_capacity, key);
	}
	check_distinct_on(resolver, level, keys, count);
}
