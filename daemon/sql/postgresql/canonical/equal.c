#include "sql/postgresql/canonical/internal.h"

#include "sql/postgresql/resolve/internal.h"

#define MAX_EQUAL 64

static const struct catalog_column *catalog_column_of(const struct canon_range *range, size_t column)
{
	const struct catalog_relation *relation = range->item ? range->item->relation : NULL;
	return relation && column < relation->columns_count ? &relation->columns[column] : NULL;
}

bool canon_same_type(const struct canon_range *a, size_t a_column, const struct canon_range *b,
		     size_t b_column, bool identical)
{
	const struct catalog_column *left = catalog_column_of(a, a_column);
	const struct catalog_column *right = catalog_column_of(b, b_column);
	return left && right && str_equal(left->type, right->type) &&
	       (!identical || STR_IS_ANY(left->type, "integer", "bigint", "smallint", "oid", "uuid",
					 "boolean", "date", "timestamp without time zone",
					 "timestamp with time zone", "time without time zone"));
}

/* A column of a relation that is always there. */
static bool relation_column(const struct canon *canon, const Node *node, struct canon_place *ret_column)
{
	const struct canon_range *range;
	size_t index;
	if (!node || !IsA(node, ColumnRef) ||
	    !canon_base_column(canon, (const ColumnRef *)node, &range, &index))
		return false;
	*ret_column = (struct canon_place){ range, index };
	return !range->optional && catalog_column_of(range, index);
}

static size_t root_of(const struct canon_scope *scope, size_t index)
{
	while (scope->equal[index].parent != index)
		index = scope->equal[index].parent;
	return index;
}

static size_t find(const struct canon_scope *scope, const struct canon_range *range, str_t column)
{
	size_t i = 0;
	while (i < scope->equal_count &&
	       (scope->equal[i].range != range || !str_equal(scope->equal[i].column, column)))
		i++;
	return i;
}

static size_t find_or_add(struct canon *canon, struct canon_place column)
{
	struct canon_scope *scope = canon->scope;
	str_t name = canon_relation_column(column.range->item, column.column);
	size_t index = find(scope, column.range, name);
	struct canon_equal equal = { column.range, name, index };
	if (index == scope->equal_count)
		ARENA_PUSH(canon->arena, scope->equal, scope->equal_count, scope->equal_capacity, equal);
	return index;
}

static bool before(const struct canon_equal *a, const struct canon_equal *b)
{
	int order = str_compare(a->range->name, b->range->name);
	return order ? order < 0 : str_compare(a->column, b->column) < 0;
}

/* The first by name stands for all of its set. */
static void unite(struct canon *canon, struct canon_place a, struct canon_place b)
{
	struct canon_scope *scope = canon->scope;
	if (a.range->scope != scope || b.range->scope != scope || a.range == b.range ||
	    !canon_same_type(a.range, a.column, b.range, b.column, true) || scope->equal_count > MAX_EQUAL)
		return;
	size_t left = root_of(scope, find_or_add(canon, a));
	size_t right = root_of(scope, find_or_add(canon, b));
	if (before(&scope->equal[right], &scope->equal[left]))
		scope->equal[left].parent = right;
	else
		scope->equal[right].parent = left;
}

/* a = b, NOT a <> b, a IN (b) */
static bool equation(const struct canon *canon, const Node *node, bool negated, struct canon_place *ret_a,
		     struct canon_place *ret_b)
{
	if (!canon->resolution || !canon->resolution->names_known || !IsA(node, A_Expr))
		return false;
	const A_Expr *expr = (const A_Expr *)node;
	const Node *right = expr->rexpr;
	if (expr->kind == AEXPR_IN && right && IsA(right, List) && list_length((const List *)right) == 1)
		right = linitial((const List *)right);
	else if (expr->kind != AEXPR_OP)
		return false;
	return right && IsA(right, ColumnRef) && list_length(expr->name) == 1 &&
	       strcmp(NODE_STRING(linitial(expr->name)), negated ? "<>" : "=") == 0 &&
	       relation_column(canon, expr->lexpr, ret_a) && relation_column(canon, right, ret_b);
}

static void from_condition(struct canon *canon, const Node *node, bool negated)
{
	struct canon_place a, b;
	const BoolExpr *parts = node && IsA(node, BoolExpr) ? (const BoolExpr *)node : NULL;
	if (!node || !canon_enter(canon))
		return;
	if (parts && (parts->boolop == NOT_EXPR || parts->boolop == (negated ? OR_EXPR : AND_EXPR))) {
		const ListCell *cell;
		foreach(cell, parts->args)
			from_condition(canon, lfirst(cell), negated != (parts->boolop == NOT_EXPR));
	} else if (equation(canon, node, negated, &a, &b)) {
		unite(canon, a, b);
	}
	canon_leave(canon);
}

/* The first relation of a side that has the column and is always there. */
static bool find_column(const struct canon *canon, const Node *node, str_t name,
			struct canon_place *ret_column)
{
	if (IsA(node, JoinExpr)) {
		const JoinExpr *join = (const JoinExpr *)node;
		const struct canon_scope *scope = canon->scope;
		size_t known;
		if (join_map_get(&scope->first, canon->arena, join, name, &known)) {
			*ret_column = scope->firsts[known];
			return true;
		}
		return !join->alias && (find_column(canon, join->larg, name, ret_column) ||
					find_column(canon, join->rarg, name, ret_column));
	}
	const struct canon_range *range = canon_range_of(canon, node);
	if (!range || range->optional || !range->item || !range->item->relation)
		return false;
	const struct range_column *columns = range->item->columns;
	const struct range_column *found = range_columns_find(columns, range->item->columns_count, name);
	if (found)
		*ret_column = (struct canon_place){ range, (size_t)(found - columns) };
	return found != NULL;
}

/* The joins above this one begin with it, and mostly merge the same names. */
static void note_first(struct canon *canon, const JoinExpr *join, str_t name, struct canon_place first)
{
	struct canon_scope *scope = canon->scope;
	if (join->alias)
		return;
	join_map_set(&scope->first, canon->arena, join, name, scope->firsts_count);
	ARENA_PUSH(canon->arena, scope->firsts, scope->firsts_count, scope->firsts_capacity, first);
}

static void from_merged(struct canon *canon, const JoinExpr *join, str_t name)
{
	struct canon_place a, b;
	if (!canon_work(canon, 64) || !find_column(canon, join->larg, name, &a))
		return;
	note_first(canon, join, name, a);
	if (find_column(canon, join->rarg, name, &b))
		unite(canon, a, b);
}

static void from_relations(struct canon *canon, const Node *node)
{
	const ListCell *cell;
	if (!node || !canon_enter(canon))
		return;
	if (IsA(node, JoinExpr)) {
		const JoinExpr *join = (const JoinExpr *)node;
		if (join->jointype != JOIN_FULL && join->jointype != JOIN_RIGHT)
			from_relations(canon, join->larg);
		if (join->jointype == JOIN_INNER || join->jointype == JOIN_RIGHT)
			from_relations(canon, join->rarg);
		if (join->jointype == JOIN_INNER) {
			const struct range_item *item = resolution_item(canon->resolution, join);
			from_condition(canon, join->quals, false);
			foreach(cell, join->usingClause)
				from_merged(canon, join, str_from(NODE_STRING(lfirst(cell))));
			for (size_t i = 0; join->isNatural && item && !join->alias && i < item->columns_count;
			     i++)
				from_merged(canon, join, item->columns[i].name);
		}
	} else {
		const struct canon_range *range = canon_range_of(canon, node);
		if (range && range->dissolved && !range->optional) {
			foreach(cell, range->dissolved->fromClause) from_relations(canon, lfirst(cell));
			from_condition(canon, range->dissolved->whereClause, false);
		}
	}
	canon_leave(canon);
}

void canon_find_equal(struct canon *canon, const SelectStmt *select)
{
	const ListCell *cell;
	canon->scope->equal_count = 0;
	canon->scope->firsts_count = 0;
	canon->scope->first = (struct join_map){ 0 };
	if (!canon->resolution || !canon->resolution->names_known)
		return;
	foreach(cell, select->fromClause) from_relations(canon, lfirst(cell));
	from_condition(canon, select->whereClause, false);
}

void canon_representative(const struct canon_scope *scope, const struct canon_range **range, str_t *column)
{
	if (scope->equal_count == 0)
		return;
	size_t index = find(scope, *range, *column);
	if (index == scope->equal_count)
		return;
	const struct canon_equal *root = &scope->equal[root_of(scope, index)];
	*range = root->range;
	*column = root->column;
}

bool canon_is_equation(const struct canon *canon, const Node *node, bool negated)
{
	struct canon_place a, b;
	if (!equation(canon, node, negated, &a, &b) || a.range->scope != b.range->scope)
		return false;
	const struct canon_scope *scope = a.range->scope;
	size_t left = find(scope, a.range, canon_relation_column(a.range->item, a.column));
	size_t right = find(scope, b.range, canon_relation_column(b.range->item, b.column));
	return left < scope->equal_count && right < scope->equal_count &&
	       root_of(scope, left) == root_of(scope, right) && left != right;
}

void canon_equations(struct canon *canon, struct canon_from *from)
{
	const struct canon_scope *scope = canon->scope;
	for (size_t i = 0; i < scope->equal_count; i++) {
		const struct canon_equal *equal = &scope->equal[i];
		const struct canon_equal *root = &scope->equal[root_of(scope, i)];
		if (root != equal)
			texts_add(canon->arena, &from->conditions,
				  CONCAT(canon, STR("("), root->range->name, STR("."),
					 canon_identifier(canon, root->column), STR(" = "),
					 equal->range->name, STR("."), canon_identifier(canon, equal->column),
					 STR(")")));
	}
}
