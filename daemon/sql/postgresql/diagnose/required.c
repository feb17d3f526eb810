#include "sql/postgresql/diagnose/internal.h"

#include "sql/lex/gate.h"
#include "sql/query/required.h"

/* One query's conditions, on their way into what holds. */
struct conditions {
	const struct resolution *resolution;
	const struct sql_request *request;
	struct diagnostics *diagnostics;
	struct required required;
	bool is_value;
};

/* Sides of the FROM whose rows the condition at hand can refuse. */
struct reach {
	const Node *const *parts;
	size_t count;
};

typedef void (*visit_item)(struct conditions *conditions, const struct range_item *item, void *context);

/* Every item below that rows are read from, joins left out. */
static void each_item(struct conditions *conditions, const Node *part, visit_item visit, void *context)
{
	if (IsA(part, JoinExpr)) {
		each_item(conditions, ((const JoinExpr *)part)->larg, visit, context);
		each_item(conditions, ((const JoinExpr *)part)->rarg, visit, context);
		return;
	}
	if (IsA(part, RangeTableSample))
		part = ((const RangeTableSample *)part)->relation;
	const struct range_item *item = resolution_item(conditions->resolution, part);
	if (item)
		visit(conditions, item, context);
}

static bool part_holds(const struct resolution *resolution, const Node *part, const struct range_item *item)
{
	if (IsA(part, JoinExpr))
		return resolution_item(resolution, part) == item ||
		       part_holds(resolution, ((const JoinExpr *)part)->larg, item) ||
		       part_holds(resolution, ((const JoinExpr *)part)->rarg, item);
	if (IsA(part, RangeTableSample))
		part = ((const RangeTableSample *)part)->relation;
	return resolution_item(resolution, part) == item;
}

/* The column that an operand is, behind merged ones; no item: that of any in reach which has it. */
static bool end_of(const struct conditions *conditions, const Node *node, struct required_end *ret_end)
{
	if (!node || !IsA(node, ColumnRef))
		return false;
	const ColumnRef *reference = (const ColumnRef *)node;
	const struct resolved_column *column = resolution_column(conditions->resolution, reference);
	if (!column || !IsA(llast(reference->fields), String))
		return false;
	*ret_end = (struct required_end){ column->item, str_from(NODE_STRING(llast(reference->fields))) };
	if (column->kind != COLUMN_OF_ITEM)
		return column->kind == COLUMN_UNSURE;
	const struct range_item *item = column->item;
	size_t at = column->column;
	while (item->kind == RANGE_JOIN && item->columns[at].source && item->columns[at].source != item) {
		const struct range_column *merged = &item->columns[at];
		item = merged->source;
		at = merged->source_index;
	}
	*ret_end = (struct required_end){ item, item->columns[at].name };
	return true;
}

static bool find_no_value(const Node *node, void *context)
{
	struct conditions *conditions = context;
	bool random = IsA(node, FuncCall) &&
		      required_is_random(str_from(names_last(((const FuncCall *)node)->funcname)));
	if (IsA(node, SubLink) || IsA(node, ColumnRef) || random) {
		conditions->is_value = false;
		return false;
	}
	return node_children(node, find_no_value, context);
}

static bool is_value(struct conditions *conditions, const Node *node)
{
	conditions->is_value = !is_null_constant(node);
	(void)find_no_value(node, conditions);
	return conditions->is_value;
}

struct named_value {
	str_t column;
};

static void give(struct conditions *conditions, const struct range_item *item, void *context)
{
	const struct named_value *value = context;
	required_given(&conditions->required, (struct required_end){ item, value->column });
}

static void give_value(struct conditions *conditions, const struct reach *reach, struct required_end to)
{
	struct named_value value = { to.column };
	for (size_t i = 0; i < reach->count; i++) {
		if (!to.item)
			each_item(conditions, reach->parts[i], give, &value);
		else if (part_holds(conditions->resolution, reach->parts[i], to.item))
			required_given(&conditions->required, to);
	}
}

/* Columns may be NULL on both sides where `nulls_equal`: that follows from no value. */
static void add_equality(struct conditions *conditions, const struct reach *reach, const Node *left,
			 const Node *right, bool nulls_equal)
{
	struct required_end to, from;
	if (!end_of(conditions, left, &to))
		return;
	if (!end_of(conditions, right, &from)) {
		if (is_value(conditions, right))
			give_value(conditions, reach, to);
		return;
	}
	for (size_t i = 0; i < reach->count && to.item && from.item && !nulls_equal; i++)
		if (part_holds(conditions->resolution, reach->parts[i], to.item))
			required_follows(&conditions->required, to, from);
}

/* PostgreSQL's own equality, unless another one is named. */
static bool is_equality(const A_Expr *expr)
{
	const char *name = names_last(expr->name);
	bool kind = expr->kind == AEXPR_OP || expr->kind == AEXPR_OP_ANY || expr->kind == AEXPR_IN ||
		    expr->kind == AEXPR_NOT_DISTINCT;
	bool own = list_length(expr->name) == 1 ||
		   (list_length(expr->name) == 2 &&
		    strcmp(NODE_STRING(linitial(expr->name)), "pg_catalog") == 0);
	return kind && own && name && strcmp(name, "=") == 0 && expr->lexpr && expr->rexpr;
}

static void add_condition(struct conditions *conditions, const struct reach *reach, const Node *condition)
{
	if (!condition)
		return;
	if (IsA(condition, BoolExpr) && ((const BoolExpr *)condition)->boolop == AND_EXPR) {
		const ListCell *cell;
		foreach(cell, ((const BoolExpr *)condition)->args)
			add_condition(conditions, reach, lfirst(cell));
		return;
	}
	if (!IsA(condition, A_Expr) || !is_equality((const A_Expr *)condition))
		return;
	const A_Expr *expr = (const A_Expr *)condition;
	bool nulls_equal = expr->kind == AEXPR_NOT_DISTINCT;
	add_equality(conditions, reach, expr->lexpr, expr->rexpr, nulls_equal);
	if (expr->kind == AEXPR_OP || nulls_equal)
		add_equality(conditions, reach, expr->rexpr, expr->lexpr, nulls_equal);
}

static bool merges(const JoinExpr *join, str_t column)
{
	const ListCell *cell;
	foreach(cell, join->usingClause)
	{
		if (str_equal(str_from(NODE_STRING(lfirst(cell))), column))
			return true;
	}
	return join->isNatural;
}

static void give_merged(struct conditions *conditions, const struct range_item *item, void *context)
{
	const struct required_end *merged = context;
	required_follows(&conditions->required, *merged, (struct required_end){ item, merged->column });
}

static void take_merged(struct conditions *conditions, const struct range_item *item, void *context)
{
	const struct required_end *merged = context;
	required_follows(&conditions->required, (struct required_end){ item, merged->column }, *merged);
}

/* Joins inside of a side that merge the column have it from the side that cannot be missing. */
static void give_side(struct conditions *conditions, const Node *side, struct required_end merged)
{
	const JoinExpr *join = (const JoinExpr *)side;
	if (!IsA(side, JoinExpr)) {
		each_item(conditions, side, give_merged, &merged);
		return;
	}
	bool whole = join->jointype == JOIN_INNER || !merges(join, merged.column);
	if (whole || join->jointype == JOIN_LEFT)
		give_side(conditions, join->larg, merged);
	if (whole || join->jointype == JOIN_RIGHT)
		give_side(conditions, join->rarg, merged);
}

/* Equal on both sides; where one may be missing, only its rows are those of the other. The merged column
 * stands between the two. Columns of a natural join need not be known: those that matter are the rules'. */
static void add_merged(struct conditions *conditions, const JoinExpr *join, str_t column)
{
	struct required_end merged = { join, column };
	if (join->jointype != JOIN_RIGHT)
		give_side(conditions, join->larg, merged);
	if (join->jointype != JOIN_LEFT)
		give_side(conditions, join->rarg, merged);
	if (join->jointype != JOIN_LEFT)
		each_item(conditions, join->larg, take_merged, &merged);
	if (join->jointype != JOIN_RIGHT)
		each_item(conditions, join->rarg, take_merged, &merged);
}

static void add_join(struct conditions *conditions, const Node *from)
{
	if (!IsA(from, JoinExpr))
		return;
	const JoinExpr *join = (const JoinExpr *)from;
	const struct sql_policy *policy = conditions->required.policy;
	const Node *both[] = { join->larg, join->rarg };
	const ListCell *cell;
	struct reach reach = { both, 2 };
	add_join(conditions, join->larg);
	add_join(conditions, join->rarg);
	if (join->jointype == JOIN_LEFT)
		reach = (struct reach){ both + 1, 1 };
	else if (join->jointype == JOIN_RIGHT)
		reach = (struct reach){ both, 1 };
	else if (join->jointype == JOIN_FULL)
		return;
	add_condition(conditions, &reach, join->quals);
	foreach(cell, join->usingClause) add_merged(conditions, join, str_from(NODE_STRING(lfirst(cell))));
	for (size_t i = 0; join->isNatural && i < policy->required_columns_count; i++)
		add_merged(conditions, join, policy->required_columns[i].column);
}

static bool note_conditions(const Node *node, void *context)
{
	struct conditions *conditions = context;
	if (IsA(node, SelectStmt)) {
		const SelectStmt *select = (const SelectStmt *)node;
		const ListCell *cell;
		foreach(cell, select->fromClause)
		{
			const Node *part = lfirst(cell);
			struct reach reach = { &part, 1 };
			add_condition(conditions, &reach, select->whereClause);
			add_join(conditions, part);
		}
	}
	return node_children(node, note_conditions, context);
}

static bool look_into(const struct required *outer, const struct catalog_relation *view, bool *broken,
		      const void *context);

static bool check_relations(const Node *node, void *context)
{
	struct conditions *conditions = context;
	if (IsA(node, RangeVar)) {
		const struct range_item *item = resolution_item(conditions->resolution, node);
		if (item && item->kind == RANGE_RELATION)
			required_check(&conditions->required,
				       &(struct required_relation){
					       item, item->schema, item->name, item->alias,
					       ((const RangeVar *)node)->location, item->relation },
				       look_into, conditions->request, conditions->diagnostics);
	}
	return node_children(node, check_relations, context);
}

static void check(struct conditions *conditions, const Node *statement)
{
	(void)note_conditions(statement, conditions);
	(void)check_relations(statement, conditions);
}

/* The definition is parsed while the statement's nodes are in use: each parse has memory of its own. */
static bool look_into(const struct required *outer, const struct catalog_relation *view, bool *broken,
		      const void *context)
{
	const struct sql_request *request = context;
	struct diagnostics unused = { .arena = outer->arena };
	struct parsed_statement parsed;
	struct resolution resolution = { 0 };
	if (gate_check(view->definition).verdict != GATE_PASSED)
		return false;
	parse_begin(arena_str(outer->arena, view->definition), outer->arena, &parsed);
	bool readable = parsed.statement && IsA(parsed.statement, SelectStmt);
	if (readable) {
		resolve_statement(&parsed, request->catalog, outer->arena, &unused, &resolution);
		struct conditions conditions = { .resolution = &resolution,
						 .request = request,
						 .diagnostics = &unused };
		required_begin_view(&conditions.required, outer, broken);
		if (!resolution.too_deep)
			check(&conditions, parsed.statement);
	}
	parse_end(&parsed);
	return readable && !resolution.too_deep;
}

void diagnose_required(const struct diagnosis *diagnosis, const SelectStmt *select)
{
	const struct sql_policy *policy = diagnosis->request->policy;
	struct required_views views = { 0 };
	if (!policy || policy->required_columns_count == 0)
		return;
	struct conditions conditions = { .resolution = diagnosis->resolution,
					 .request = diagnosis->request,
					 .diagnostics = diagnosis->diagnostics };
	required_begin(&conditions.required, diagnosis->diagnostics->arena, policy, false, &views);
	check(&conditions, (const Node *)select);
}
