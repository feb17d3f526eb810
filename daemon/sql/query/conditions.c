#include "sql/query/conditions.h"

#include "sql/query/required.h"

/* One query's conditions, on their way into what holds. */
struct conditions {
	const struct sql_request *request;
	query_read_view_fn read_view;
	struct diagnostics *diagnostics;
	struct required required;
};

/* Sides of the FROM whose rows the condition at hand can refuse. */
struct reach {
	const struct query_node *const *parts;
	size_t count;
};

typedef void (*visit_range)(struct conditions *conditions, const struct query_range *range, void *context);

/* Every table below, in brackets or not. */
static void each_range(struct conditions *conditions, const struct query_node *part, visit_range visit,
		       void *context)
{
	if (query_is_item(part)) {
		if (part->range)
			visit(conditions, part->range, context);
		return;
	}
	for (const struct query_node *child = part->first; child; child = child->next)
		if (child->kind == QUERY_JOIN || query_is_item(child))
			each_range(conditions, child, visit, context);
}

static bool is_item_of(const struct query_node *node, const void *range)
{
	return (query_is_item(node) || node->kind == QUERY_JOIN) && node->range == range;
}

static bool reaches(const struct reach *reach, const struct query_range *range)
{
	bool found = false;
	for (size_t i = 0; i < reach->count && !found; i++)
		found = query_has_here(reach->parts[i], is_item_of, range);
	return found;
}

static enum type_category category(const struct query_range *range, str_t column)
{
	const struct catalog_column *known = query_range_column(range, column);
	return known ? known->category : TYPE_OTHER;
}

static bool is_no_value(const struct query_node *node, const void *context)
{
	(void)context;
	bool random = node->kind == QUERY_CALL && required_is_random(node->name);
	bool variable = node->kind == QUERY_VARIABLE && strcmp(node->op, "@") == 0;
	return random || variable || node->kind == QUERY_COLUMN || node->kind == QUERY_EXPRESSION;
}

static bool gives_text(const struct query_node *call)
{
	return call->kind == QUERY_CALL &&
	       IDENTIFIER_IS_ANY(call->name, "concat", "database", "lower", "upper", "schema", "trim", "user",
				 "current_user", "session_user");
}

/* In MySQL a number equals every text that does not begin with one: it is compared as a number, 0. */
static bool may_be_number(const struct query_node *node)
{
	if (node->kind == QUERY_ROW) {
		for (const struct query_node *child = node->first; child; child = child->next)
			if (may_be_number(child))
				return true;
		return false;
	}
	if (node->kind == QUERY_COLLATE && node->first)
		return may_be_number(node->first);
	bool text = query_is_literal(node, "string");
	return !text && !query_is_literal(node, "null") && node->kind != QUERY_PARAMETER && !gives_text(node);
}

struct named_value {
	str_t column;
	bool number;
};

static void give(struct conditions *conditions, const struct query_range *range, void *context)
{
	const struct named_value *value = context;
	if (!value->number || category(range, value->column) != TYPE_TEXT)
		required_given(&conditions->required, (struct required_end){ range, value->column });
}

static void add_value(struct conditions *conditions, const struct reach *reach,
		      const struct query_node *column, const struct query_node *value)
{
	struct named_value named = { column->name,
				     conditions->request->dialect == SQL_MYSQL && may_be_number(value) };
	if (query_is_literal(value, "null") || query_has(value, is_no_value, NULL))
		return;
	if (!column->range)
		for (size_t i = 0; i < reach->count; i++)
			each_range(conditions, reach->parts[i], give, &named);
	else if (reaches(reach, column->range))
		give(conditions, column->range, &named);
}

static bool are_alike(const struct conditions *conditions, const struct query_node *a,
		      const struct query_node *b)
{
	return conditions->request->dialect != SQL_MYSQL ||
	       (category(a->range, a->name) == TYPE_TEXT) == (category(b->range, b->name) == TYPE_TEXT);
}

/* `<=>` lets NULL equal NULL, which follows from no value. */
static void add_equality(struct conditions *conditions, const struct reach *reach,
			 const struct query_node *left, const struct query_node *right, bool nulls_equal)
{
	if (left->kind != QUERY_COLUMN || left->item)
		return;
	if (right->kind != QUERY_COLUMN)
		add_value(conditions, reach, left, right);
	else if (left->range && right->range && !nulls_equal && are_alike(conditions, left, right) &&
		 reaches(reach, left->range))
		required_follows(&conditions->required, (struct required_end){ left->range, left->name },
				 (struct required_end){ right->range, right->name });
}

static void add_condition(struct conditions *conditions, const struct reach *reach,
			  const struct query_node *node)
{
	bool operation = node->kind == QUERY_OPERATION;
	if (operation && strcmp(node->op, "and") == 0) {
		for (const struct query_node *part = node->first; part; part = part->next)
			add_condition(conditions, reach, part);
	} else if (operation && (strcmp(node->op, "=") == 0 || strcmp(node->op, "<=>") == 0)) {
		add_equality(conditions, reach, node->first, node->last, node->op[0] == '<');
		add_equality(conditions, reach, node->last, node->first, node->op[0] == '<');
	} else if (node->kind == QUERY_IN && !node->flag &&
		   (node->last->kind == QUERY_ROW || node->last->kind == QUERY_COLUMN)) {
		add_equality(conditions, reach, node->first, node->last, false);
	}
}

static bool merges(const struct query_node *join, str_t column)
{
	const struct query_node *using = query_child(join, QUERY_USING);
	for (const struct query_node *name = using ? using->first : NULL; name; name = name->next)
		if (identifier_same(name->name, column))
			return true;
	return join->op && join->op[0] == 'n';
}

static void give_merged(struct conditions *conditions, const struct query_range *range, void *context)
{
	const struct required_end *merged = context;
	required_follows(&conditions->required, *merged, (struct required_end){ range, merged->column });
}

static void take_merged(struct conditions *conditions, const struct query_range *range, void *context)
{
	const struct required_end *merged = context;
	required_follows(&conditions->required, (struct required_end){ range, merged->column }, *merged);
}

/* Joins inside of a side that merge the column have it from the side that cannot be missing. */
static void give_side(struct conditions *conditions, const struct query_node *side,
		      struct required_end merged)
{
	if (side->kind == QUERY_JOIN && merges(side, merged.column) && strstr(side->op, "full"))
		return; /* either one may be missing */
	if (side->kind != QUERY_JOIN) {
		each_range(conditions, side, give_merged, &merged);
		return;
	}
	bool whole =
		(!query_joins(side, "left") && !query_joins(side, "right")) || !merges(side, merged.column);
	size_t place = 0;
	for (const struct query_node *part = side->first; part; part = part->next, place++)
		if ((part->kind == QUERY_JOIN || query_is_item(part)) &&
		    (whole || (place == 0) == query_joins(side, "left")))
			give_side(conditions, part, merged);
}

/* Equal on both sides; where one may be missing, only its rows are those of the other. The merged column
 * stands between the two. */
static void add_merged(struct conditions *conditions, const struct query_node *join, str_t column)
{
	struct required_end merged = { join, column };
	struct query_node *left = join->first, *right = join->first->next;
	if (!query_joins(join, "right"))
		give_side(conditions, left, merged);
	if (!query_joins(join, "left"))
		give_side(conditions, right, merged);
	if (!query_joins(join, "left"))
		each_range(conditions, left, take_merged, &merged);
	if (!query_joins(join, "right"))
		each_range(conditions, right, take_merged, &merged);
}

static bool may_have(const struct query_range *range, str_t column)
{
	for (size_t i = 0; i < range->columns->count; i++)
		if (identifier_same(range->columns->names[i], column))
			return true;
	return range->columns->open;
}

static void find_having(struct conditions *conditions, const struct query_range *range, void *context)
{
	struct required_end *end = context;
	(void)conditions;
	if (!end->item && may_have(range, end->column))
		end->item = range;
}

static bool keeps_right(const struct query_node *side)
{
	if (side->kind != QUERY_JOIN)
		return false;
	return query_joins(side, "right") || query_joins(side, "full") || keeps_right(side->first) ||
	       keeps_right(side->first->next);
}

/* SQLite merges with the first item on the left that has the column, whatever others have it, too; with what
 * joins that keep rows of the right side made of it, where there are such. */
static void add_first_merged(struct conditions *conditions, const struct query_node *join, str_t column)
{
	struct required_end left = { NULL, column }, right = { NULL, column };
	each_range(conditions, join->first, find_having, &left);
	each_range(conditions, join->first->next, find_having, &right);
	if (!left.item || !right.item)
		return;
	if (!query_joins(join, "right") && !keeps_right(join->first))
		required_follows(&conditions->required, right, left);
	if (!query_joins(join, "left"))
		required_follows(&conditions->required, left, right);
}

static void add_column(struct conditions *conditions, const struct query_node *join, str_t column)
{
	if (conditions->request->dialect == SQL_SQLITE)
		add_first_merged(conditions, join, column);
	else
		add_merged(conditions, join, column);
}

static void add_join(struct conditions *conditions, const struct query_node *join)
{
	const struct sql_policy *policy = conditions->required.policy;
	const struct query_node *on = query_child(join, QUERY_ON), *using = query_child(join, QUERY_USING);
	for (const struct query_node *part = join->first; part; part = part->next)
		if (part->kind == QUERY_JOIN)
			add_join(conditions, part);
	if (join->kind != QUERY_JOIN || !join->first || !join->first->next || query_joins(join, "full"))
		return;
	const struct query_node *both[] = { join->first, join->first->next };
	struct reach reach = { both + query_joins(join, "left"),
			       2u - query_joins(join, "left") - query_joins(join, "right") };
	if (on)
		add_condition(conditions, &reach, on->first);
	for (const struct query_node *name = using ? using->first : NULL; name; name = name->next)
		add_column(conditions, join, name->name);
	for (size_t i = 0; join->op[0] == 'n' && i < policy->required_columns_count; i++)
		add_column(conditions, join, policy->required_columns[i].column);
}

static void note_conditions(struct conditions *conditions, const struct query_node *node)
{
	const struct query_node *from = node->kind == QUERY_SELECT ? query_child(node, QUERY_FROM) : NULL;
	const struct query_node *where = from ? query_child(node, QUERY_WHERE) : NULL;
	if (where)
		add_condition(conditions, &(struct reach){ &from, 1 }, where->first);
	if (from)
		add_join(conditions, from);
	for (const struct query_node *child = node->first; child; child = child->next)
		note_conditions(conditions, child);
}

static bool look_into(const struct required *outer, const struct catalog_relation *view, bool *broken,
		      const void *context);

static void check_relations(struct conditions *conditions, const struct query_node *node)
{
	const struct query_range *range = node->kind == QUERY_RELATION ? node->range : NULL;
	if (range && range->kind == QUERY_RANGE_RELATION)
		required_check(&conditions->required,
			       &(struct required_relation){ range, range->schema, range->name, range->alias,
							    (int64_t)range->node->offset, range->relation },
			       look_into, conditions, conditions->diagnostics);
	for (const struct query_node *child = node->first; child; child = child->next)
		check_relations(conditions, child);
}

static void check(struct conditions *conditions, const struct query_node *root)
{
	note_conditions(conditions, root);
	check_relations(conditions, root);
}

static bool look_into(const struct required *outer, const struct catalog_relation *view, bool *broken,
		      const void *context)
{
	const struct conditions *statement = context;
	struct diagnostics unused = { .arena = outer->arena };
	struct conditions conditions = { .request = statement->request,
					 .read_view = statement->read_view,
					 .diagnostics = &unused };
	const struct query_node *root =
		statement->read_view(view->definition, statement->request, outer->arena);
	if (!root)
		return false;
	required_begin_view(&conditions.required, outer, broken);
	check(&conditions, root);
	return true;
}

void query_required(const struct query_node *root, const struct sql_request *request,
		    query_read_view_fn read_view, struct diagnostics *diagnostics)
{
	struct required_views views = { 0 };
	struct conditions conditions = { .request = request,
					 .read_view = read_view,
					 .diagnostics = diagnostics };
	if (!request->policy || request->policy->required_columns_count == 0 ||
	    root->kind == QUERY_DESCRIBE || root->kind == QUERY_SHOW)
		return;
	required_begin(&conditions.required, diagnostics->arena, request->policy,
		       request->dialect != SQL_POSTGRESQL, &views);
	check(&conditions, root);
}
