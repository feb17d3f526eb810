#include "sql/postgresql/diagnose/internal.h"

#include "sql/lex/gate.h"
#include "sql/postgresql/resolve/equal.h"
#include "sql/query/conditions.h"
#include "sql/query/lint.h"
#include "sql/query/required.h"

/* A query on its way into the tree that two shared rules read: query_lint_products and query_required. It
 * holds what they ask and nothing for any other: FROM, conditions with their equalities, and of all else the
 * columns, the queries and the calls that draw numbers. */
struct graph {
	struct arena *arena;
	const struct resolution *resolution;
	struct node_map *ranges; /* by range_item */
	bool bare;		 /* what FROM is made of stays out */
	bool borrows;		 /* the tree's texts are the statement's, which lives longer */
	bool unsure;		 /* a column may be of any relation of a join */
};

/* Where the parts of an expression go. */
struct filling {
	struct graph *graph;
	struct query_node *parent;
};

static bool add_part(const Node *node, void *context);

static str_t text_of(const struct graph *graph, str_t text)
{
	return graph->borrows ? text : arena_str(graph->arena, text);
}

static struct query_node *add(struct graph *graph, struct query_node *parent, enum query_kind kind)
{
	struct query_node *node = ARENA_NEW(graph->arena, struct query_node);
	node->kind = kind;
	query_append(parent, node);
	return node;
}

/* A query that surely gives one row at most multiplies nothing. */
static bool gives_one_row(const struct resolution *resolution, const Node *query)
{
	int limit;
	if (!IsA(query, SelectStmt))
		return false;
	const SelectStmt *select = (const SelectStmt *)query;
	if (node_integer(select->limitCount, &limit) && limit <= 1)
		return true;
	if (select->op != SETOP_NONE)
		return false;
	if (select->valuesLists)
		return list_length(select->valuesLists) == 1;
	return select->fromClause == NIL ||
	       (select->groupClause == NIL && resolution_is_aggregated(resolution, select));
}

/* What makes the rows of an item, where those may be several; NULL: nothing is claimed. */
static const struct query_node *maker_of(const struct resolution *resolution, const struct range_item *item)
{
	static struct query_node body = { .kind = QUERY_SET };
	static struct query_node query = { .kind = QUERY_EXPRESSION, .first = &body };
	static const struct query_node several = { .kind = QUERY_DERIVED, .first = &query };
	const RangeSubselect *sub =
		IsA(item->node, RangeSubselect) ? (const RangeSubselect *)item->node : NULL;
	const Node *made_by = item->kind == RANGE_CTE ? item->cte->ctequery
			      : sub && !sub->lateral  ? sub->subquery
						      : NULL;
	return made_by && !gives_one_row(resolution, made_by) ? &several : NULL;
}

static const struct query_range *range_of(struct graph *graph, const struct range_item *item)
{
	const struct query_range *known = node_map_get(graph->ranges, item);
	if (known)
		return known;
	struct query_range *range = ARENA_NEW(graph->arena, struct query_range);
	struct query_node *node = ARENA_NEW(graph->arena, struct query_node);
	bool relation = item->kind == RANGE_RELATION;
	int location = IsA(item->node, RangeVar) ? ((const RangeVar *)item->node)->location : -1;
	node->kind = relation ? QUERY_RELATION : QUERY_DERIVED;
	node->offset = (size_t)location;
	*range = (struct query_range){ .kind = relation ? QUERY_RANGE_RELATION : QUERY_RANGE_DERIVED,
				       .node = node,
				       .alias = text_of(graph, item->alias),
				       .schema = text_of(graph, item->schema),
				       .name = text_of(graph, item->name),
				       .relation = item->relation,
				       .maker = maker_of(graph->resolution, item) };
	node_map_set(graph->ranges, item, range);
	return range;
}

/* ---- expressions ---- */

static void add_parts(struct graph *graph, struct query_node *parent, const Node *node)
{
	struct filling filling = { graph, parent };
	if (node)
		(void)add_part(node, &filling);
}

/* Whether the node is a column of a relation, or may be one of any that has the name. */
static bool is_column(const struct graph *graph, const Node *node)
{
	const struct resolved_column *column = resolution_column(graph->resolution, node);
	return column && !node_is_star(node) &&
	       (column->kind == COLUMN_OF_ITEM || column->kind == COLUMN_UNSURE);
}

/* Behind merged columns. A star without a relation, and the name of an output, stand for no relation and give
 * no value. */
static void add_column(struct graph *graph, struct query_node *parent, const ColumnRef *reference)
{
	const struct resolved_column *column = resolution_column(graph->resolution, reference);
	const struct range_item *item = column ? column->item : NULL;
	str_t name = str_from(names_last(reference->fields));
	if (column && !item && (column->kind == COLUMN_STAR || column->kind == COLUMN_OUTPUT)) {
		add(graph, parent, QUERY_VARIABLE)->op = "@";
		return;
	}
	if (column && column->kind == COLUMN_OF_ITEM) {
		struct base_column base = base_column_of(item, column->column);
		item = base.item;
		name = item->columns[base.column].name;
		graph->unsure |= item->kind == RANGE_JOIN;
	}
	struct query_node *node = add(graph, parent, QUERY_COLUMN);
	node->name = text_of(graph, name);
	node->range = item ? range_of(graph, item) : NULL;
}

static void add_operand(struct graph *graph, struct query_node *parent, const Node *node)
{
	if (is_column(graph, node))
		add_column(graph, parent, (const ColumnRef *)node);
	else if (node_is_null(node))
		add(graph, parent, QUERY_LITERAL)->op = "null";
	else
		add_parts(graph, add(graph, parent, QUERY_ROW), node);
}

/* PostgreSQL's own equality, unless another one is named. */
static bool is_equality(const A_Expr *expr)
{
	bool kind = expr->kind == AEXPR_OP || expr->kind == AEXPR_OP_ANY || expr->kind == AEXPR_IN ||
		    expr->kind == AEXPR_NOT_DISTINCT;
	return kind && names_are_system(expr->name) && str_is(names_qualified(expr->name).name, "=") &&
	       expr->lexpr && expr->rexpr;
}

static void add_equality(struct graph *graph, struct query_node *parent, const A_Expr *expr)
{
	bool listed = expr->kind == AEXPR_OP_ANY || expr->kind == AEXPR_IN;
	struct query_node *node = add(graph, parent, listed ? QUERY_IN : QUERY_OPERATION);
	node->op = listed ? NULL : expr->kind == AEXPR_NOT_DISTINCT ? "<=>" : "=";
	add_operand(graph, node, expr->lexpr);
	add_operand(graph, node, expr->rexpr);
}

static void add_condition(struct graph *graph, struct query_node *parent, const Node *node)
{
	const BoolExpr *both = IsA(node, BoolExpr) ? (const BoolExpr *)node : NULL;
	if (both && both->boolop == AND_EXPR) {
		struct query_node *parts = add(graph, parent, QUERY_OPERATION);
		const ListCell *cell;
		parts->op = "and";
		foreach(cell, both->args) add_condition(graph, parts, lfirst(cell));
	} else if (IsA(node, A_Expr) && is_equality((const A_Expr *)node)) {
		add_equality(graph, parent, (const A_Expr *)node);
	} else {
		add_parts(graph, add(graph, parent, QUERY_ROW), node);
	}
}

/* ---- queries ---- */

static void add_from(struct graph *graph, struct query_node *parent, const Node *from);

static void add_join(struct graph *graph, struct query_node *parent, const JoinExpr *join)
{
	static const char *const operations[][2] = { [JOIN_INNER] = { "join", "natural join" },
						     [JOIN_LEFT] = { "left join", "natural left join" },
						     [JOIN_FULL] = { "full join", "natural full join" },
						     [JOIN_RIGHT] = { "right join", "natural right join" } };
	struct query_node *node = add(graph, parent, QUERY_JOIN);
	const ListCell *cell;
	const struct range_item *item = resolution_item(graph->resolution, join);
	node->op = operations[join->jointype][join->isNatural];
	node->range = item ? range_of(graph, item) : NULL;
	add_from(graph, node, join->larg);
	add_from(graph, node, join->rarg);
	struct query_node *using = join->usingClause ? add(graph, node, QUERY_USING) : NULL;
	foreach(cell, join->usingClause) add(graph, using, QUERY_NAME)->name =
		text_of(graph, str_from(NODE_STRING(lfirst(cell))));
	if (join->quals)
		add_condition(graph, add(graph, node, QUERY_ON), join->quals);
}

static void add_from(struct graph *graph, struct query_node *parent, const Node *from)
{
	if (IsA(from, JoinExpr)) {
		add_join(graph, parent, (const JoinExpr *)from);
		return;
	}
	const Node *read = IsA(from, RangeTableSample) ? ((const RangeTableSample *)from)->relation : from;
	const struct range_item *item = resolution_item(graph->resolution, read);
	struct query_node *leaf = add(graph, parent, IsA(read, RangeVar) ? QUERY_RELATION : QUERY_DERIVED);
	leaf->range = item ? range_of(graph, item) : NULL;
	if (!graph->bare)
		(void)node_children(from, add_part, &(struct filling){ graph, leaf });
}

/* FROM and WHERE alone. */
static void add_body(struct graph *graph, struct query_node *parent, const SelectStmt *select)
{
	struct query_node *body = add(graph, parent, QUERY_SELECT), *from = add(graph, body, QUERY_FROM);
	const ListCell *cell;
	foreach(cell, select->fromClause) add_from(graph, from, lfirst(cell));
	if (select->whereClause)
		add_condition(graph, add(graph, body, QUERY_WHERE), select->whereClause);
}

/* In the order of the text. */
static void add_query(struct graph *graph, struct query_node *parent, const SelectStmt *select)
{
	enum { BEHIND_TARGETS = 3 };
	const void *const parts[] = { select->withClause,  select->distinctClause, select->targetList,
				      select->groupClause, select->havingClause,   select->windowClause,
				      select->valuesLists, select->larg,	   select->rarg,
				      select->sortClause,  select->limitOffset,	   select->limitCount };
	struct query_node *query = add(graph, parent, QUERY_EXPRESSION);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
		if (i == BEHIND_TARGETS && (select->fromClause || select->whereClause))
			add_body(graph, query, select);
		add_parts(graph, query, parts[i]);
	}
}

static bool add_part(const Node *node, void *context)
{
	const struct filling *filling = context;
	if (IsA(node, SelectStmt)) {
		bool bare = filling->graph->bare;
		filling->graph->bare = false;
		add_query(filling->graph, filling->parent, (const SelectStmt *)node);
		filling->graph->bare = bare;
		return true;
	}
	if (IsA(node, ColumnRef))
		add_column(filling->graph, filling->parent, (const ColumnRef *)node);
	else if (IsA(node, FuncCall))
		add(filling->graph, filling->parent, QUERY_CALL)->name =
			text_of(filling->graph, str_from(names_last(((const FuncCall *)node)->funcname)));
	return node_children(node, add_part, context);
}

static const struct query_node *tree_of(const struct resolution *resolution, const SelectStmt *statement,
					struct arena *arena)
{
	struct graph graph = { .arena = arena, .resolution = resolution, .ranges = node_map_new(arena) };
	struct query_node *root = ARENA_NEW(arena, struct query_node);
	root->kind = QUERY_EXPRESSION;
	add_query(&graph, root, statement);
	return root;
}

/* ---- rules ---- */

/* In memory of its own: queries in conditions are looked at with each that they stand in. */
void diagnose_products(const struct diagnosis *diagnosis, const SelectStmt *select)
{
	if (list_length(select->fromClause) < 2 &&
	    !(select->fromClause && IsA(linitial(select->fromClause), JoinExpr)))
		return;
	struct arena *arena = arena_new();
	struct query_node root = { .kind = QUERY_EXPRESSION };
	struct graph graph = { .arena = arena,
			       .resolution = diagnosis->resolution,
			       .ranges = node_map_new(arena),
			       .bare = true,
			       .borrows = true };
	add_body(&graph, &root, select);
	if (!graph.unsure)
		query_lint_products(root.first, diagnosis->diagnostics);
	arena_free(arena);
}

static const struct query_node *read_view(str_t definition, const struct sql_request *request,
					  struct arena *arena)
{
	struct diagnostics unused = { .arena = arena };
	struct parsed_statement parsed;
	struct resolution resolution = { 0 };
	const struct query_node *root = NULL;
	if (gate_check(definition).verdict != GATE_PASSED)
		return NULL;
	parse_begin(arena_str(arena, definition), arena, &parsed);
	if (parsed.statement && IsA(parsed.statement, SelectStmt)) {
		resolve_statement(&parsed, request->catalog, arena, &unused, &resolution);
		if (!resolution.too_deep)
			root = tree_of(&resolution, (const SelectStmt *)parsed.statement, arena);
	}
	parse_end(&parsed);
	return root;
}

void diagnose_required(const struct diagnosis *diagnosis, const SelectStmt *select)
{
	const struct sql_policy *policy = diagnosis->request->policy;
	struct diagnostics *diagnostics = diagnosis->diagnostics;
	if (policy && policy->required_columns_count > 0)
		query_required(tree_of(diagnosis->resolution, select, diagnostics->arena), diagnosis->request,
			       read_view, diagnostics);
}
