#include "sql/postgresql/canonical/internal.h"

/* What naming all candidates costs, in comparisons of names. */
#define DOUBT_WORK 128

/* The column of one side of a join that USING names. */
struct side {
	size_t owners;	/* relations that have it */
	size_t unknown; /* relations that may have it */
	size_t leaves;
	str_t text;
	const struct canon_range *range; /* whose column it is, or NULL: a merged one */
	size_t column;
	struct texts names; /* of the leaves */
};

static void find_in_columns(struct canon *canon, const struct range_item *item,
			    const struct canon_range *range, str_t name, struct side *side)
{
	side->unknown += item->open;
	for (size_t i = 0; i < item->columns_count; i++) {
		if (!str_equal(item->columns[i].name, name))
			continue;
		side->owners++;
		side->text = canon_item_column(canon, item, i);
		side->range = range;
		side->column = i;
	}
}

static void find_in_leaf(struct canon *canon, const struct canon_range *range, str_t name, struct side *side)
{
	side->leaves++;
	texts_add(canon->arena, &side->names, range->name);
	if (range->item) {
		if (canon_work(canon, range->item->columns_count))
			find_in_columns(canon, range->item, range, name, side);
		if (!range->item->open || side->owners)
			return;
		side->unknown--;
	}
	for (size_t i = 0; i < range->outputs_count; i++)
		side->owners += str_equal(range->outputs[i], name);
	side->unknown += !range->outputs;
	side->text = canon_range_column(canon, range, name);
}

static bool too_doubtful(const struct side *side)
{
	return side->unknown && side->leaves > CANON_MAX_CANDIDATES;
}

static void find_in_side(struct canon *canon, const Node *node, str_t name, struct side *side)
{
	if (!node || too_doubtful(side) || !canon_work(canon, 1) || !canon_enter(canon))
		return;
	if (IsA(node, RangeTableSample))
		node = ((const RangeTableSample *)node)->relation;
	const JoinExpr *join = IsA(node, JoinExpr) ? (const JoinExpr *)node : NULL;
	const struct canon_merged *merged = join ? canon_merged_of(canon, canon->scope, join, name) : NULL;
	const struct canon_range *range = join ? NULL : canon_range_of(canon, node);
	if (join && join->alias) {
		const struct range_item *item = resolution_item(canon->resolution, join);
		canon->failed |= !item;
		if (item)
			find_in_columns(canon, item, NULL, name, side);
	} else if (merged) {
		side->owners++;
		side->text = merged->text;
		side->range = merged->range;
		side->column = merged->column;
	} else if (join) {
		find_in_side(canon, join->larg, name, side);
		find_in_side(canon, join->rarg, name, side);
	} else if (range) {
		find_in_leaf(canon, range, name, side);
	}
	canon_leave(canon);
}

/* Names all candidates where there is doubt; too many have no text. */
static struct side side_column(struct canon *canon, const Node *node, str_t name)
{
	struct side side = { 0 };
	find_in_side(canon, node, name, &side);
	if ((side.owners == 1 && side.unknown == 0) ||
	    (side.owners == 0 && side.unknown == 1 && side.leaves == 1 && side.text.len))
		return side;
	canon->failed |= side.leaves > CANON_MAX_CANDIDATES || !canon_work(canon, DOUBT_WORK);
	texts_sort(&side.names);
	side.range = NULL;
	side.text = CONCAT(canon, STR("?."), canon_identifier(canon, name),
			   texts_join(canon, STR(" AMONG("), &side.names, STR(")")));
	return side;
}

/* The merged column has the common type of both; of one type, it is the column of one side. */
static struct canon_merged merged_column(struct canon *canon, const JoinExpr *join, str_t name,
					 const struct side *left, const struct side *right)
{
	struct canon_merged merged = { .join = join, .name = name };
	bool same = left->range && right->range &&
		    canon_same_type(left->range, left->column, right->range, right->column, false);
	const struct side *kept = join->jointype == JOIN_RIGHT ? right : left;
	if (join->jointype == JOIN_FULL) {
		merged.text = CONCAT(canon, same ? STR("COALESCE(") : STR("MERGED COALESCE("), left->text,
				     STR(", "), right->text, STR(")"));
	} else if (same) {
		merged.text = kept->text;
		merged.range = kept->range;
		merged.column = kept->column;
	} else {
		merged.text = CONCAT(canon, STR("MERGED("), left->text, STR(", "), right->text,
				     join->jointype == JOIN_RIGHT ? STR(" RIGHT)") : STR(")"));
	}
	merged.text = canon_short(canon, merged.text);
	return merged;
}

static void merge_column(struct canon *canon, const JoinExpr *join, str_t name, struct texts *conditions)
{
	struct side left = side_column(canon, join->larg, name);
	struct side right = side_column(canon, join->rarg, name);
	if (!str_equal(left.text, right.text)) /* else they are equal anyway: see canon_equations */
		texts_add(canon->arena, conditions, canon_comparison(canon, STR("="), left.text, right.text));
	struct canon_merged merged = merged_column(canon, join, name, &left, &right);
	canon_merged_add(canon, &merged);
}

static bool known_sides(const struct canon *canon, const Node *node)
{
	if (IsA(node, JoinExpr))
		return known_sides(canon, ((const JoinExpr *)node)->larg) &&
		       known_sides(canon, ((const JoinExpr *)node)->rarg);
	const struct range_item *item = resolution_item(canon->resolution, node);
	return item && !item->open;
}

/* The names that a NATURAL join merges are those that both sides have: the resolver knows them, or nobody. */
static void merge_natural(struct canon *canon, const JoinExpr *join, struct texts *conditions)
{
	const struct range_item *item = resolution_item(canon->resolution, join);
	if (!item || item->open || join->alias || !known_sides(canon, (const Node *)join)) {
		canon->failed = true;
		return;
	}
	for (size_t i = 0; i < item->columns_count; i++)
		merge_column(canon, join, item->columns[i].name, conditions);
}

static void join_conditions(struct canon *canon, const JoinExpr *join, struct texts *conditions)
{
	if (join->alias && !(canon->resolution && canon->resolution->names_known))
		canon->failed = true;
	if (join->isNatural)
		merge_natural(canon, join, conditions);
	const ListCell *cell;
	foreach(cell, join->usingClause)
		merge_column(canon, join, str_from(NODE_STRING(lfirst(cell))), conditions);
	canon_conditions(canon, join->quals, false, conditions);
}

static void sort_from(struct canon_from *from)
{
	texts_sort(&from->items);
	texts_unique(&from->conditions);
}

static str_t where_text(struct canon *canon, const struct canon_from *side)
{
	return side->conditions.count ? texts_join(canon, STR(" WHERE("), &side->conditions, STR(")"))
				      : STR("");
}

/* Rows that go without a partner: A left B on p, joined with C, is (A with C) left B on p. So everything that
 * is preserved lies side by side, with the optional parts attached. Conditions inside of an optional part are
 * as good in its ON. */
static void left_join(struct canon *canon, const JoinExpr *join, struct canon_from *from)
{
	bool swapped = join->jointype == JOIN_RIGHT;
	struct canon_from optional = { 0 };
	canon_from(canon, swapped ? join->rarg : join->larg, from);
	canon_from(canon, swapped ? join->larg : join->rarg, &optional);
	join_conditions(canon, join, &optional.conditions);
	sort_from(&optional);
	str_t on = texts_join(canon, STR("ON("), &optional.conditions, STR(")"));
	texts_add(canon->arena, &from->items,
		  CONCAT(canon, texts_join(canon, STR("LEFT("), &optional.items, STR("; ")), on, STR(")")));
	texts_take(canon, &from->joins, &optional.joins);
	texts_add(canon->arena, &from->joins, CONCAT(canon, STR("LEFT "), on));
}

static void full_join(struct canon *canon, const JoinExpr *join, struct canon_from *from)
{
	struct canon_from sides[2] = { 0 };
	struct texts conditions = { 0 }, texts = { 0 };
	canon_from(canon, join->larg, &sides[0]);
	canon_from(canon, join->rarg, &sides[1]);
	join_conditions(canon, join, &conditions);
	texts_unique(&conditions);
	for (size_t i = 0; i < 2; i++) {
		sort_from(&sides[i]);
		texts_add(canon->arena, &texts,
			  CONCAT(canon, texts_join(canon, STR("("), &sides[i].items, STR(")")),
				 where_text(canon, &sides[i])));
		texts_take(canon, &from->joins, &sides[i].joins);
	}
	texts_sort(&texts);
	str_t on = texts_join(canon, STR("ON("), &conditions, STR(")"));
	texts_add(canon->arena, &from->items,
		  CONCAT(canon, texts_join(canon, STR("FULL("), &texts, STR("; ")), on, STR(")")));
	texts_add(canon->arena, &from->joins, CONCAT(canon, STR("FULL "), on));
}

static void one_relation(struct canon *canon, const Node *node, struct canon_from *from)
{
	if (IsA(node, RangeTableSample))
		node = ((const RangeTableSample *)node)->relation;
	const struct canon_range *range = canon_range_of(canon, node);
	if (!range) {
		canon->failed = true;
	} else if (range->dissolved) {
		const ListCell *cell;
		foreach(cell, range->dissolved->fromClause) canon_from(canon, lfirst(cell), from);
		canon_conditions(canon, range->dissolved->whereClause, false, &from->conditions);
	} else if (str_equal(range->text, range->name)) {
		texts_add(canon->arena, &from->items, range->name);
	} else {
		texts_add(canon->arena, &from->items,
			  CONCAT(canon, range->name, STR("="), canon_short(canon, range->text)));
	}
}

void canon_from(struct canon *canon, const Node *node, struct canon_from *from)
{
	if (!node || !canon_enter(canon))
		return;
	const JoinExpr *join = IsA(node, JoinExpr) ? (const JoinExpr *)node : NULL;
	if (!join) {
		one_relation(canon, node, from);
	} else if (join->jointype == JOIN_INNER) {
		canon_from(canon, join->larg, from);
		canon_from(canon, join->rarg, from);
		join_conditions(canon, join, &from->conditions);
	} else if (join->jointype == JOIN_FULL) {
		full_join(canon, join, from);
	} else {
		left_join(canon, join, from);
	}
	canon_leave(canon);
}
