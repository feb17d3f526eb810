#include "sql/postgresql/diagnose_internal.h"

#include "sql/postgresql/node_children.h"

/* A column of one item of FROM by name: columns need not be known. */
struct constraint_end {
	const struct range_item *item; /* NULL: any item that may have the column */
	str_t column;
};

/* `to` is constrained once `from` is; `from` absent: by a constant. */
struct constraint {
	struct constraint_end to;
	struct constraint_end from;
	bool by_constant;
};

struct required {
	const struct diagnosis *diagnosis;
	struct constraint *constraints;
	size_t constraints_count;
	size_t constraints_capacity;
	const struct range_item **relations; /* every base relation read */
	size_t relations_count;
	size_t relations_capacity;
	bool saw_column;
};

/* Sides of the FROM whose rows the condition at hand can refuse. */
struct reach {
	const Node *const *parts;
	size_t count;
};

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

static bool reaches(const struct required *required, const struct reach *reach, const struct range_item *item)
{
	for (size_t i = 0; i < reach->count; i++) {
		if (!item || part_holds(required->diagnosis->resolution, reach->parts[i], item))
			return true;
	}
	return false;
}

/* The column that an operand is, behind merged ones; false when it is none. */
static bool end_of(const struct required *required, const Node *node, struct constraint_end *ret_end)
{
	if (!IsA(node, ColumnRef))
		return false;
	const ColumnRef *reference = (const ColumnRef *)node;
	const struct resolved_column *column = resolution_column(required->diagnosis->resolution, reference);
	if (!column || !IsA(llast(reference->fields), String))
		return false;
	*ret_end = (struct constraint_end){ column->item, str_from(NODE_STRING(llast(reference->fields))) };
	if (column->kind != COLUMN_OF_ITEM)
		return column->kind == COLUMN_UNSURE;
	const struct range_item *item = column->item;
	size_t at = column->column;
	while (item->kind == RANGE_JOIN && item->columns[at].source && item->columns[at].source != item) {
		const struct range_column *merged = &item->columns[at];
		item = merged->source;
		at = merged->source_index;
	}
	*ret_end = (struct constraint_end){ item, item->columns[at].name };
	return true;
}

static void add_constraint(struct required *required, const struct reach *reach, struct constraint constraint)
{
	if (reaches(required, reach, constraint.to.item))
		ARENA_PUSH(required->diagnosis->diagnostics->arena, required->constraints,
			   required->constraints_count, required->constraints_capacity, constraint);
}

static bool note_column(const Node *node, void *context)
{
	struct required *required = context;
	if (IsA(node, SubLink))
		return true;
	if (IsA(node, ColumnRef))
		required->saw_column = true;
	return node_children(node, note_column, context);
}

static bool is_value(struct required *required, const Node *node)
{
	required->saw_column = false;
	(void)note_column(node, required);
	return !required->saw_column && !is_null_constant(node);
}

static void add_equality(struct required *required, const struct reach *reach, const Node *left,
			 const Node *right)
{
	struct constraint_end to, from;
	if (!end_of(required, left, &to))
		return;
	if (end_of(required, right, &from))
		add_constraint(required, reach, (struct constraint){ .to = to, .from = from });
	else if (is_value(required, right))
		add_constraint(required, reach, (struct constraint){ .to = to, .by_constant = true });
}

static void add_condition(struct required *required, const struct reach *reach, const Node *condition)
{
	if (!condition)
		return;
	if (IsA(condition, BoolExpr) && ((const BoolExpr *)condition)->boolop == AND_EXPR) {
		const ListCell *cell;
		foreach(cell, ((const BoolExpr *)condition)->args)
			add_condition(required, reach, lfirst(cell));
		return;
	}
	if (!IsA(condition, A_Expr))
		return;
	const A_Expr *expr = (const A_Expr *)condition;
	const char *name = names_last(expr->name);
	bool equality = expr->kind == AEXPR_OP || expr->kind == AEXPR_OP_ANY || expr->kind == AEXPR_IN;
	if (!equality || !name || strcmp(name, "=") != 0 || !expr->lexpr)
		return;
	add_equality(required, reach, expr->lexpr, expr->rexpr);
	if (expr->kind == AEXPR_OP)
		add_equality(required, reach, expr->rexpr, expr->lexpr);
}

static void add_merged(struct required *required, const struct reach *reach, const JoinExpr *join,
		       const Node *to_side, const Node *from_side)
{
	const struct resolution *resolution = required->diagnosis->resolution;
	const struct range_item *merged = resolution_item(resolution, join);
	/* The sides' leaves that have the name; a leaf of a nested join stands for itself. */
	for (size_t i = 0; merged && i < merged->columns_count; i++) {
		for (size_t a = 0; a < required->relations_count; a++) {
			for (size_t b = 0; b < required->relations_count; b++) {
				const struct range_item *to = required->relations[a];
				const struct range_item *from = required->relations[b];
				if (!part_holds(resolution, to_side, to) ||
				    !part_holds(resolution, from_side, from))
					continue;
				add_constraint(
					required, reach,
					(struct constraint){ .to = { to, merged->columns[i].name },
							     .from = { from, merged->columns[i].name } });
			}
		}
	}
}

/* An outer join's condition refuses only rows of the side that may be missing. */
static void add_join(struct required *required, const Node *from)
{
	if (!IsA(from, JoinExpr))
		return;
	const JoinExpr *join = (const JoinExpr *)from;
	const Node *both[] = { join->larg, join->rarg };
	struct reach reach = { both, 2 };
	add_join(required, join->larg);
	add_join(required, join->rarg);
	if (join->jointype == JOIN_LEFT)
		reach = (struct reach){ both + 1, 1 };
	else if (join->jointype == JOIN_RIGHT)
		reach = (struct reach){ both, 1 };
	else if (join->jointype == JOIN_FULL)
		return;
	add_condition(required, &reach, join->quals);
	if (join->usingClause || join->isNatural) {
		add_merged(required, &reach, join, join->rarg, join->larg);
		add_merged(required, &reach, join, join->larg, join->rarg);
	}
}

static bool note_relations(const Node *node, void *context)
{
	struct required *required = context;
	if (IsA(node, RangeVar)) {
		const struct range_item *item = resolution_item(required->diagnosis->resolution, node);
		if (item && item->kind == RANGE_RELATION)
			ARENA_PUSH(required->diagnosis->diagnostics->arena, required->relations,
				   required->relations_count, required->relations_capacity, item);
	}
	return node_children(node, note_relations, context);
}

static bool note_constraints(const Node *node, void *context)
{
	struct required *required = context;
	if (IsA(node, SelectStmt)) {
		const SelectStmt *select = (const SelectStmt *)node;
		const ListCell *cell;
		foreach(cell, select->fromClause)
		{
			const Node *part = lfirst(cell);
			struct reach reach = { &part, 1 };
			add_condition(required, &reach, select->whereClause);
			add_join(required, part);
		}
	}
	return node_children(node, note_constraints, context);
}

static bool same_end(struct constraint_end a, struct constraint_end b)
{
	return (a.item == b.item || !a.item || !b.item) && str_equal(a.column, b.column);
}

/* Follows equalities back to a constant; each is used once. */
static bool is_constrained(const struct required *required, struct constraint_end end, bool *used)
{
	for (size_t i = 0; i < required->constraints_count; i++) {
		if (used[i] || !same_end(required->constraints[i].to, end))
			continue;
		used[i] = true;
		if (required->constraints[i].by_constant ||
		    is_constrained(required, required->constraints[i].from, used))
			return true;
	}
	return false;
}

static bool is_named(const struct range_item *item, str_t table)
{
	const char *dot = memchr(table.ptr, '.', table.len);
	if (!dot)
		return str_equal(item->name, table);
	size_t schema = (size_t)(dot - table.ptr);
	return str_equal(item->schema, (str_t){ table.ptr, schema }) &&
	       str_equal(item->name, (str_t){ dot + 1, table.len - schema - 1 });
}

static void check_relation(const struct required *required, const struct range_item *item,
			   const struct sql_required_column *rule)
{
	struct arena *arena = required->diagnosis->diagnostics->arena;
	bool *used = ARENA_ARRAY(arena, bool, required->constraints_count);
	if (is_constrained(required, (struct constraint_end){ item, rule->column }, used))
		return;
	str_t object = arena_printf(arena, STR_FMT "." STR_FMT, STR_ARG(item->alias), STR_ARG(rule->column));
	diagnostics_add(required->diagnosis->diagnostics, DIAG_MISSING_REQUIRED, NULL, object,
			((const RangeVar *)item->node)->location,
			"\"" STR_FMT "\" is read without a condition on its column \"" STR_FMT "\"",
			STR_ARG(item->alias), STR_ARG(rule->column));
}

void diagnose_required(const struct diagnosis *diagnosis, const SelectStmt *select)
{
	struct required required = { .diagnosis = diagnosis };
	if (!diagnosis->policy || diagnosis->policy->required_columns_count == 0)
		return;
	(void)note_relations((const Node *)select, &required);
	(void)note_constraints((const Node *)select, &required);
	for (size_t i = 0; i < required.relations_count; i++) {
		for (size_t j = 0; j < diagnosis->policy->required_columns_count; j++) {
			const struct sql_required_column *rule = &diagnosis->policy->required_columns[j];
			if (is_named(required.relations[i], rule->table))
				check_relation(&required, required.relations[i], rule);
		}
	}
}
