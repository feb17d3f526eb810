#include "sql/postgresql/diagnose/internal.h"

#define MAX_LEAVES 64

/* Relations of one FROM, joined into groups by the conditions that speak of several. */
struct product {
	const struct diagnosis *diagnosis;
	const struct range_item *leaves[MAX_LEAVES];
	size_t group[MAX_LEAVES]; /* index of another member; the root is its own */
	size_t count;
	bool unsure;
	size_t condition_root; /* group of the condition being looked at, or MAX_LEAVES */
};

static size_t root_of(const struct product *product, size_t leaf)
{
	while (product->group[leaf] != leaf)
		leaf = product->group[leaf];
	return leaf;
}

static void unite(struct product *product, size_t a, size_t b)
{
	product->group[root_of(product, a)] = root_of(product, b);
}

/* A query that surely gives one row at most multiplies nothing. */
static bool gives_one_row(const struct diagnosis *diagnosis, const Node *query)
{
	if (!IsA(query, SelectStmt))
		return false;
	const SelectStmt *select = (const SelectStmt *)query;
	if (select->limitCount && IsA(select->limitCount, A_Const)) {
		const A_Const *limit = (const A_Const *)select->limitCount;
		if (!limit->isnull && IsA(&limit->val, Integer) && limit->val.ival.ival <= 1)
			return true;
	}
	if (select->op != SETOP_NONE)
		return false;
	if (select->valuesLists)
		return list_length(select->valuesLists) == 1;
	return select->fromClause == NIL ||
	       (select->groupClause == NIL && is_aggregated(diagnosis->resolution, select));
}

static bool multiplies(const struct diagnosis *diagnosis, const struct range_item *item)
{
	switch (item->kind) {
	case RANGE_RELATION:
		return true;
	case RANGE_CTE:
		return !gives_one_row(diagnosis, item->cte->ctequery);
	case RANGE_SUBQUERY: {
		const RangeSubselect *sub = (const RangeSubselect *)item->node;
		return !sub->lateral && !gives_one_row(diagnosis, sub->subquery);
	}
	default:
		return false;
	}
}

static void add_leaves(struct product *product, const Node *from)
{
	if (IsA(from, JoinExpr)) {
		add_leaves(product, ((const JoinExpr *)from)->larg);
		add_leaves(product, ((const JoinExpr *)from)->rarg);
		return;
	}
	if (IsA(from, RangeTableSample))
		from = ((const RangeTableSample *)from)->relation;
	const struct range_item *item = resolution_item(product->diagnosis->resolution, from);
	if (!item || product->count == MAX_LEAVES) {
		product->unsure = true;
		return;
	}
	product->leaves[product->count] = item;
	product->group[product->count] = product->count;
	product->count++;
}

static size_t leaf_of(const struct product *product, const struct range_item *item)
{
	for (size_t i = 0; i < product->count; i++) {
		if (product->leaves[i] == item)
			return i;
	}
	return MAX_LEAVES;
}

static void meet(struct product *product, const struct range_item *item)
{
	size_t leaf = leaf_of(product, item);
	if (leaf == MAX_LEAVES)
		return;
	if (product->condition_root != MAX_LEAVES)
		unite(product, leaf, product->condition_root);
	product->condition_root = leaf;
}

static bool meet_columns(const Node *node, void *context)
{
	struct product *product = context;
	if (!IsA(node, ColumnRef))
		return node_children(node, meet_columns, context);
	const struct resolved_column *column =
		resolution_column(product->diagnosis->resolution, (const ColumnRef *)node);
	if (!column || (!column->item && column->kind != COLUMN_STAR && column->kind != COLUMN_OUTPUT)) {
		product->unsure = true;
		return true;
	}
	const struct range_item *item = column->item;
	size_t at = column->column;
	while (item && item->kind == RANGE_JOIN && column->kind == COLUMN_OF_ITEM &&
	       item->columns[at].source && item->columns[at].source != item) {
		const struct range_column *merged = &item->columns[at];
		item = merged->source;
		at = merged->source_index;
	}
	if (item && item->kind == RANGE_JOIN)
		product->unsure = true;
	if (item)
		meet(product, item);
	return true;
}

static void meet_condition(struct product *product, const Node *condition)
{
	if (condition && IsA(condition, BoolExpr) && ((const BoolExpr *)condition)->boolop == AND_EXPR) {
		const ListCell *cell;
		foreach(cell, ((const BoolExpr *)condition)->args) meet_condition(product, lfirst(cell));
		return;
	}
	product->condition_root = MAX_LEAVES;
	if (condition)
		(void)meet_columns(condition, product);
}

static const struct range_item *first_leaf(const struct product *product, const Node *from)
{
	while (IsA(from, JoinExpr))
		from = ((const JoinExpr *)from)->larg;
	if (IsA(from, RangeTableSample))
		from = ((const RangeTableSample *)from)->relation;
	return resolution_item(product->diagnosis->resolution, from);
}

/* USING and NATURAL connect one relation of each side; an ON condition those that it speaks of. */
static void meet_joins(struct product *product, const Node *from)
{
	if (!IsA(from, JoinExpr))
		return;
	const JoinExpr *join = (const JoinExpr *)from;
	meet_joins(product, join->larg);
	meet_joins(product, join->rarg);
	if (join->usingClause || join->isNatural) {
		product->condition_root = MAX_LEAVES;
		meet(product, first_leaf(product, join->larg));
		meet(product, first_leaf(product, join->rarg));
	}
	meet_condition(product, join->quals);
}

void diagnose_products(const struct diagnosis *diagnosis, const SelectStmt *select)
{
	struct product product = { .diagnosis = diagnosis };
	const ListCell *cell;
	foreach(cell, select->fromClause) add_leaves(&product, lfirst(cell));
	if (product.count < 2 || product.unsure)
		return;
	foreach(cell, select->fromClause) meet_joins(&product, lfirst(cell));
	meet_condition(&product, select->whereClause);
	if (product.unsure)
		return;
	size_t first = MAX_LEAVES;
	for (size_t i = 0; i < product.count; i++) {
		if (!multiplies(diagnosis, product.leaves[i]))
			continue;
		if (first == MAX_LEAVES) {
			first = i;
		} else if (root_of(&product, i) != root_of(&product, first)) {
			const struct range_item *item = product.leaves[i];
			diagnostics_add(
				diagnosis->diagnostics, DIAG_RISKY_PATTERN, "cartesian_product", item->alias,
				IsA(item->node, RangeVar) ? ((const RangeVar *)item->node)->location : -1,
				"no condition connects \"" STR_FMT "\" with the other relations",
				STR_ARG(item->alias));
			return;
		}
	}
}
