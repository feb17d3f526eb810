#include "sql/required.h"

#include "sql/mysql/diagnose.h"
#include "sql/mysql/names.h"
#include "sql/mysql/parser.h"

/* One query's conditions, on their way into what holds. */
struct conditions {
	const struct sql_request *request;
	struct diagnostics *diagnostics;
	struct required required;
};

/* Sides of the FROM whose rows the condition at hand can refuse. */
struct reach {
	const struct mysql_node *const *parts;
	size_t count;
};

typedef void (*visit_range)(struct conditions *conditions, const struct mysql_range *range, void *context);

/* Every table below, in brackets or not. */
static void each_range(struct conditions *conditions, const struct mysql_node *part, visit_range visit,
		       void *context)
{
	if (part->kind == MYSQL_RELATION || part->kind == MYSQL_DERIVED) {
		if (part->range)
			visit(conditions, part->range, context);
		return;
	}
	for (const struct mysql_node *child = part->first; child; child = child->next)
		if (child->kind == MYSQL_JOIN || child->kind == MYSQL_RELATION ||
		    child->kind == MYSQL_DERIVED)
			each_range(conditions, child, visit, context);
}

struct search {
	const struct mysql_range *wanted;
	bool found;
};

static void find_range(struct conditions *conditions, const struct mysql_range *range, void *context)
{
	struct search *search = context;
	(void)conditions;
	search->found = search->found || range == search->wanted;
}

static bool holds(struct conditions *conditions, const struct reach *reach, const struct mysql_range *range)
{
	struct search search = { .wanted = range };
	for (size_t i = 0; i < reach->count && !search.found; i++)
		each_range(conditions, reach->parts[i], find_range, &search);
	return search.found;
}

static enum type_category category(const struct mysql_range *range, str_t column)
{
	const struct catalog_column *known = mysql_range_column(range, column);
	return known ? known->category : TYPE_OTHER;
}

static bool finds_no_value(const struct mysql_node *node)
{
	bool random = node->kind == MYSQL_CALL && required_is_random(node->name);
	bool variable = node->kind == MYSQL_VARIABLE && strcmp(node->op, "@") == 0;
	if (random || variable || node->kind == MYSQL_COLUMN || node->kind == MYSQL_QUERY)
		return true;
	for (const struct mysql_node *child = node->first; child; child = child->next)
		if (finds_no_value(child))
			return true;
	return false;
}

static bool is_null(const struct mysql_node *node)
{
	return node->kind == MYSQL_LITERAL && node->op && strcmp(node->op, "null") == 0;
}

static bool gives_text(const struct mysql_node *call)
{
	static const char *const names[] = { "concat", "database", "lower",	   "upper",	  "schema",
					     "trim",   "user",	   "current_user", "session_user" };
	for (size_t i = 0; call->kind == MYSQL_CALL && i < sizeof names / sizeof names[0]; i++)
		if (mysql_is(call->name, names[i]))
			return true;
	return false;
}

/* A number equals every text that does not begin with one: it is compared as a number, 0. */
static bool may_be_number(const struct mysql_node *node)
{
	if (node->kind == MYSQL_ROW) {
		for (const struct mysql_node *child = node->first; child; child = child->next)
			if (may_be_number(child))
				return true;
		return false;
	}
	if (node->kind == MYSQL_COLLATE && node->first)
		return may_be_number(node->first);
	bool text = node->kind == MYSQL_LITERAL && node->op && strcmp(node->op, "string") == 0;
	return !text && !is_null(node) && node->kind != MYSQL_PARAMETER && !gives_text(node);
}

struct named_value {
	str_t column;
	bool number;
};

static void give(struct conditions *conditions, const struct mysql_range *range, void *context)
{
	const struct named_value *value = context;
	if (!value->number || category(range, value->column) != TYPE_TEXT)
		required_given(&conditions->required, (struct required_end){ range, value->column });
}

static void add_value(struct conditions *conditions, const struct reach *reach,
		      const struct mysql_node *column, const struct mysql_node *value)
{
	struct named_value named = { column->name, may_be_number(value) };
	if (is_null(value) || finds_no_value(value))
		return;
	if (!column->range)
		for (size_t i = 0; i < reach->count; i++)
			each_range(conditions, reach->parts[i], give, &named);
	else if (holds(conditions, reach, column->range))
		give(conditions, column->range, &named);
}

static bool are_alike(const struct mysql_node *a, const struct mysql_node *b)
{
	return (category(a->range, a->name) == TYPE_TEXT) == (category(b->range, b->name) == TYPE_TEXT);
}

/* `<=>` lets NULL equal NULL, which follows from no value. */
static void add_equality(struct conditions *conditions, const struct reach *reach,
			 const struct mysql_node *left, const struct mysql_node *right, bool nulls_equal)
{
	if (left->kind != MYSQL_COLUMN || left->item)
		return;
	if (right->kind != MYSQL_COLUMN)
		add_value(conditions, reach, left, right);
	else if (left->range && right->range && !nulls_equal && are_alike(left, right) &&
		 holds(conditions, reach, left->range))
		required_follows(&conditions->required, (struct required_end){ left->range, left->name },
				 (struct required_end){ right->range, right->name });
}

static void add_condition(struct conditions *conditions, const struct reach *reach,
			  const struct mysql_node *node)
{
	bool operation = node->kind == MYSQL_OPERATION;
	if (operation && strcmp(node->op, "and") == 0) {
		for (const struct mysql_node *part = node->first; part; part = part->next)
			add_condition(conditions, reach, part);
	} else if (operation && (strcmp(node->op, "=") == 0 || strcmp(node->op, "<=>") == 0)) {
		add_equality(conditions, reach, node->first, node->last, node->op[0] == '<');
		add_equality(conditions, reach, node->last, node->first, node->op[0] == '<');
	} else if (node->kind == MYSQL_IN && !node->flag && node->last->kind == MYSQL_ROW) {
		add_equality(conditions, reach, node->first, node->last, false);
	}
}

static bool merges(const struct mysql_node *join, str_t column)
{
	const struct mysql_node *using = mysql_child(join, MYSQL_USING);
	for (const struct mysql_node *name = using ? using->first : NULL; name; name = name->next)
		if (mysql_same(name->name, column))
			return true;
	return join->op && join->op[0] == 'n';
}

static bool is_left(const struct mysql_node *join)
{
	return strcmp(join->op, "left join") == 0 || strcmp(join->op, "natural left join") == 0;
}

static bool is_right(const struct mysql_node *join)
{
	return strcmp(join->op, "right join") == 0 || strcmp(join->op, "natural right join") == 0;
}

static void give_merged(struct conditions *conditions, const struct mysql_range *range, void *context)
{
	const struct required_end *merged = context;
	required_follows(&conditions->required, *merged, (struct required_end){ range, merged->column });
}

static void take_merged(struct conditions *conditions, const struct mysql_range *range, void *context)
{
	const struct required_end *merged = context;
	required_follows(&conditions->required, (struct required_end){ range, merged->column }, *merged);
}

/* Joins inside of a side that merge the column have it from the side that cannot be missing. */
static void give_side(struct conditions *conditions, const struct mysql_node *side,
		      struct required_end merged)
{
	if (side->kind != MYSQL_JOIN) {
		each_range(conditions, side, give_merged, &merged);
		return;
	}
	bool whole = (!is_left(side) && !is_right(side)) || !merges(side, merged.column);
	size_t place = 0;
	for (const struct mysql_node *part = side->first; part; part = part->next, place++)
		if ((part->kind == MYSQL_JOIN || part->kind == MYSQL_RELATION ||
		     part->kind == MYSQL_DERIVED) &&
		    (whole || (place == 0) == is_left(side)))
			give_side(conditions, part, merged);
}

/* Equal on both sides; where one may be missing, only its rows are those of the other. The merged column
 * stands between the two. */
static void add_merged(struct conditions *conditions, const struct mysql_node *join, str_t column)
{
	struct required_end merged = { join, column };
	struct mysql_node *left = join->first, *right = join->first->next;
	if (!is_right(join))
		give_side(conditions, left, merged);
	if (!is_left(join))
		give_side(conditions, right, merged);
	if (!is_left(join))
		each_range(conditions, left, take_merged, &merged);
	if (!is_right(join))
		each_range(conditions, right, take_merged, &merged);
}

static void add_join(struct conditions *conditions, const struct mysql_node *join)
{
	const struct sql_policy *policy = conditions->required.policy;
	const struct mysql_node *on = mysql_child(join, MYSQL_ON), *using = mysql_child(join, MYSQL_USING);
	for (const struct mysql_node *part = join->first; part; part = part->next)
		if (part->kind == MYSQL_JOIN)
			add_join(conditions, part);
	if (join->kind != MYSQL_JOIN || !join->first || !join->first->next)
		return;
	const struct mysql_node *both[] = { join->first, join->first->next };
	struct reach reach = { both + is_left(join), 2u - is_left(join) - is_right(join) };
	if (on)
		add_condition(conditions, &reach, on->first);
	for (const struct mysql_node *name = using ? using->first : NULL; name; name = name->next)
		add_merged(conditions, join, name->name);
	for (size_t i = 0; join->op[0] == 'n' && i < policy->required_columns_count; i++)
		add_merged(conditions, join, policy->required_columns[i].column);
}

static void note_conditions(struct conditions *conditions, const struct mysql_node *node)
{
	const struct mysql_node *from = node->kind == MYSQL_SELECT ? mysql_child(node, MYSQL_FROM) : NULL;
	const struct mysql_node *where = from ? mysql_child(node, MYSQL_WHERE) : NULL;
	if (where)
		add_condition(conditions, &(struct reach){ &from, 1 }, where->first);
	if (from)
		add_join(conditions, from);
	for (const struct mysql_node *child = node->first; child; child = child->next)
		note_conditions(conditions, child);
}

static bool look_into(const struct required *outer, const struct catalog_relation *view, bool *broken,
		      const void *context);

static void check_relations(struct conditions *conditions, const struct mysql_node *node)
{
	const struct mysql_range *range = node->kind == MYSQL_RELATION ? node->range : NULL;
	if (range && range->kind == MYSQL_RANGE_RELATION)
		required_check(&conditions->required,
			       &(struct required_relation){ range, range->schema, range->name, range->alias,
							    (int64_t)range->node->offset, range->relation },
			       look_into, conditions->request, conditions->diagnostics);
	for (const struct mysql_node *child = node->first; child; child = child->next)
		check_relations(conditions, child);
}

static void check(struct conditions *conditions, const struct mysql_node *root)
{
	note_conditions(conditions, root);
	check_relations(conditions, root);
}

static bool look_into(const struct required *outer, const struct catalog_relation *view, bool *broken,
		      const void *context)
{
	const struct sql_request *request = context;
	struct diagnostics unused = { .arena = outer->arena };
	struct conditions conditions = { .request = request, .diagnostics = &unused };
	struct mysql_failure failure = { 0 };
	struct mysql_names names;
	struct mysql_node *root = mysql_parse(view->definition, MYSQL_DEFAULT_MODE, outer->arena, &failure);
	if (!root)
		return false;
	mysql_names_resolve(root, request, outer->arena, &unused, &names);
	required_begin_view(&conditions.required, outer, broken);
	check(&conditions, root);
	return !names.gave_up;
}

void mysql_required(const struct mysql_node *root, const struct sql_request *request,
		    struct diagnostics *diagnostics)
{
	struct required_views views = { 0 };
	if (!request->policy || request->policy->required_columns_count == 0 ||
	    root->kind == MYSQL_DESCRIBE || root->kind == MYSQL_SHOW)
		return;
	struct conditions conditions = { .request = request, .diagnostics = diagnostics };
	required_begin(&conditions.required, diagnostics->arena, request->policy, true, &views);
	check(&conditions, root);
}
