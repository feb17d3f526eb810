#include "sql/postgresql/diagnose/internal.h"

/* Whether the query's rows are bounded by what it is: aggregated, or without FROM. */
static bool is_bounded(const struct resolution *resolution, const SelectStmt *select)
{
	if (select->limitCount)
		return true;
	if (select->op != SETOP_NONE)
		return is_bounded(resolution, select->larg) && is_bounded(resolution, select->rarg);
	return select->fromClause == NIL || resolution_is_aggregated(resolution, select);
}

static void risk(const struct diagnosis *diagnosis, enum diagnostic_sub_code sub_code, str_t object,
		 int location, const char *message)
{
	diagnostics_add(diagnosis->diagnostics, DIAG_RISKY_PATTERN, sub_code, object, location, "%s",
			message);
}

/* The text of an operator expression is not kept; its place names it. */
static str_t place(const struct diagnosis *diagnosis, int location)
{
	return arena_printf(diagnosis->diagnostics->arena, "@%d", location);
}

static void check_like(const struct diagnosis *diagnosis, const A_Expr *expr)
{
	const char *pattern = node_string(expr->rexpr);
	if (pattern && (pattern[0] == '%' || pattern[0] == '_'))
		risk(diagnosis, SUB_RISKY_PATTERN_LEADING_WILDCARD, str_from(pattern), expr->location,
		     "a pattern that begins with a wildcard cannot use an index");
}

/* Whether a quoted literal surely has no value of the category. */
static bool is_no_value(const char *text, enum type_category category)
{
	if (category == TYPE_INTEGER || category == TYPE_NUMERIC)
		return strpbrk(text, "0123456789") == NULL && strcasecmp(text, "nan") != 0 &&
		       strcasestr(text, "inf") == NULL;
	return false;
}

static const char *category_text(enum type_category category)
{
	static const char *const texts[] = {
		[TYPE_OTHER] = "a value", [TYPE_INTEGER] = "a number",	    [TYPE_NUMERIC] = "a number",
		[TYPE_TEXT] = "a text",	  [TYPE_BOOLEAN] = "a truth value", [TYPE_TEMPORAL] = "a date or time"
	};
	return texts[category];
}

static const struct range_item *item_of(const struct resolution *resolution, const Node *node)
{
	const struct resolved_column *column = resolution_column(resolution, node);
	return column && column->kind == COLUMN_OF_ITEM ? column->item : NULL;
}

static bool categories_differ(enum type_category a, enum type_category b)
{
	bool numbers = (a == TYPE_INTEGER || a == TYPE_NUMERIC) && (b == TYPE_INTEGER || b == TYPE_NUMERIC);
	return a != TYPE_OTHER && b != TYPE_OTHER && a != b && !numbers;
}

/* Whether there is an error about the object: what PostgreSQL refuses is no doubtful comparison besides. */
static bool is_refused(const struct diagnosis *diagnosis, str_t object)
{
	const struct diagnostics *diagnostics = diagnosis->diagnostics;
	for (size_t i = 0; i < diagnostics->count; i++) {
		const struct sql_diagnostic *item = &diagnostics->items[i];
		if (item->severity == SQL_ERROR && str_equal(item->object, object))
			return true;
	}
	return false;
}

static void mismatch(const struct diagnosis *diagnosis, str_t object, int location, enum type_category left,
		     const char *right)
{
	if (!is_refused(diagnosis, object))
		diagnostics_add(diagnosis->diagnostics, DIAG_TYPE_MISMATCH, SUB_NONE, object, location,
				"%s is compared with %s", category_text(left), right);
}

/* Keys of a join that cannot be compared are an error of their own (sql/postgresql/resolve/operators.c). */
static void check_types(const struct diagnosis *diagnosis, const Node *left, const Node *right, int location)
{
	enum type_category a = expression_category(diagnosis->resolution, left);
	enum type_category b = expression_category(diagnosis->resolution, right);
	const char *literal = node_string(right);
	if (categories_differ(a, b)) {
		const struct range_item *one = item_of(diagnosis->resolution, left);
		const struct range_item *other = item_of(diagnosis->resolution, right);
		if (!(one && other && one != other))
			mismatch(diagnosis, place(diagnosis, location), location, a, category_text(b));
	} else if (literal && is_no_value(literal, a)) {
		str_t text = arena_printf(diagnosis->diagnostics->arena, "%.200s", literal);
		mismatch(diagnosis, text, location, a,
			 arena_printf(diagnosis->diagnostics->arena, "the text '%s'", text.ptr).ptr);
	}
}

static void check_comparison(const struct diagnosis *diagnosis, const A_Expr *expr)
{
	if (!expr->lexpr || !expr->rexpr)
		return;
	if (node_is_null(expr->lexpr) || node_is_null(expr->rexpr)) {
		risk(diagnosis, SUB_RISKY_PATTERN_EQUALS_NULL, place(diagnosis, expr->location),
		     expr->location, "a comparison with NULL is never true; use IS NULL or IS NOT NULL");
		return;
	}
	check_types(diagnosis, expr->lexpr, expr->rexpr, expr->location);
	if (node_string(expr->lexpr))
		check_types(diagnosis, expr->rexpr, expr->lexpr, expr->location);
}

static void check_division(const struct diagnosis *diagnosis, const A_Expr *expr)
{
	if (expr->lexpr && expression_category(diagnosis->resolution, expr->lexpr) == TYPE_INTEGER &&
	    expression_category(diagnosis->resolution, expr->rexpr) == TYPE_INTEGER)
		risk(diagnosis, SUB_RISKY_PATTERN_INTEGER_DIVISION, place(diagnosis, expr->location),
		     expr->location, "both sides are integers: the quotient is cut off");
}

static void check_listed(const struct diagnosis *diagnosis, const A_Expr *expr)
{
	const ListCell *cell;
	if (!expr->rexpr || !IsA(expr->rexpr, List))
		return;
	foreach(cell, (const List *)expr->rexpr)
		check_types(diagnosis, expr->lexpr, lfirst(cell), expr->location);
}

static void check_operator(const struct diagnosis *diagnosis, const A_Expr *expr)
{
	str_t name;
	switch (expr->kind) {
	case AEXPR_LIKE:
	case AEXPR_ILIKE:
		check_like(diagnosis, expr);
		break;
	case AEXPR_OP:
		name = names_qualified(expr->name).name;
		if (STR_IS_ANY(name, "=", "<>", "!=", "<", ">", "<=", ">="))
			check_comparison(diagnosis, expr);
		else if (str_is(name, "/"))
			check_division(diagnosis, expr);
		break;
	case AEXPR_IN:
	case AEXPR_BETWEEN:
	case AEXPR_NOT_BETWEEN:
		check_listed(diagnosis, expr);
		break;
	default:
		break;
	}
}

struct mention {
	const struct resolution *resolution;
	const struct range_item *item;
	size_t column;
};

static bool stop_at_mention(const Node *node, void *context)
{
	const struct mention *mention = context;
	if (IsA(node, ColumnRef)) {
		const struct resolved_column *column = resolution_column(mention->resolution, node);
		return !(column && column->item == mention->item && column->column == mention->column);
	}
	return node_children(node, stop_at_mention, context);
}

/* Whether the only output of the subquery is a column that can be NULL, which no condition speaks of. */
static bool yields_null(const struct diagnosis *diagnosis, const SelectStmt *select)
{
	if (select->op != SETOP_NONE || list_length(select->targetList) != 1)
		return false;
	const Node *value = linitial_node(ResTarget, select->targetList)->val;
	const struct range_item *item = item_of(diagnosis->resolution, value);
	if (!item || !item->relation || item->relation->is_view)
		return false;
	const struct resolved_column *column = resolution_column(diagnosis->resolution, value);
	struct mention mention = { diagnosis->resolution, item, column->column };
	if (item->columns[column->column].not_null && !item->nullable)
		return false;
	const ListCell *cell;
	foreach(cell, select->fromClause)
	{
		if (!stop_at_mention(lfirst(cell), &mention))
			return false;
	}
	return !select->whereClause || stop_at_mention(select->whereClause, &mention);
}

static void check_negation(const struct diagnosis *diagnosis, const BoolExpr *expr)
{
	if (expr->boolop != NOT_EXPR || !IsA(linitial(expr->args), SubLink))
		return;
	const SubLink *link = (const SubLink *)linitial(expr->args);
	if (link->subLinkType == ANY_SUBLINK && IsA(link->subselect, SelectStmt) &&
	    yields_null(diagnosis, (const SelectStmt *)link->subselect))
		risk(diagnosis, SUB_RISKY_PATTERN_NOT_IN_NULLABLE_SUBQUERY, place(diagnosis, link->location),
		     link->location, "NOT IN is never true once the subquery gives a NULL; use NOT EXISTS");
}

/* A star over derived tables only repeats what they list. */
static bool holds_relation(const struct diagnosis *diagnosis, const Node *from)
{
	if (IsA(from, JoinExpr))
		return holds_relation(diagnosis, ((const JoinExpr *)from)->larg) ||
		       holds_relation(diagnosis, ((const JoinExpr *)from)->rarg);
	const struct range_item *item = resolution_item(diagnosis->resolution, from);
	return item && item->kind == RANGE_RELATION;
}

static bool star_reads_relation(const struct diagnosis *diagnosis, const SelectStmt *select, const Node *star)
{
	const struct resolved_column *column = resolution_column(diagnosis->resolution, star);
	if (column && column->item)
		return column->item->kind == RANGE_RELATION;
	const ListCell *cell;
	foreach(cell, select->fromClause)
	{
		if (holds_relation(diagnosis, lfirst(cell)))
			return true;
	}
	return false;
}

static void check_stars(const struct diagnosis *diagnosis, const SelectStmt *select)
{
	const ListCell *cell;
	foreach(cell, select->targetList)
	{
		const Node *value = lfirst_node(ResTarget, cell)->val;
		if (node_is_star(value) && star_reads_relation(diagnosis, select, value))
			risk(diagnosis, SUB_RISKY_PATTERN_SELECT_STAR, STR("*"),
			     ((const ColumnRef *)value)->location,
			     "* returns whatever columns the tables have; name those that are needed");
	}
}

static bool visit(const Node *node, void *context);

static void visit_sublink(struct diagnosis *diagnosis, const SubLink *link)
{
	bool exists = diagnosis->in_exists;
	if (link->testexpr)
		(void)visit(link->testexpr, diagnosis);
	diagnosis->in_exists = link->subLinkType == EXISTS_SUBLINK;
	if (link->subselect)
		(void)visit(link->subselect, diagnosis);
	diagnosis->in_exists = exists;
}

static void visit_select(struct diagnosis *diagnosis, const SelectStmt *select)
{
	bool exists = diagnosis->in_exists;
	if (!exists)
		check_stars(diagnosis, select);
	if (select->op == SETOP_NONE && !select->valuesLists)
		diagnose_products(diagnosis, select);
	diagnosis->in_exists = exists && select->op != SETOP_NONE;
	(void)node_children((const Node *)select, visit, diagnosis);
	diagnosis->in_exists = exists;
}

static bool visit(const Node *node, void *context)
{
	struct diagnosis *diagnosis = context;
	switch (nodeTag(node)) {
	case T_SelectStmt:
		visit_select(diagnosis, (const SelectStmt *)node);
		return true;
	case T_SubLink:
		visit_sublink(diagnosis, (const SubLink *)node);
		return true;
	case T_A_Expr:
		check_operator(diagnosis, (const A_Expr *)node);
		break;
	case T_BoolExpr:
		check_negation(diagnosis, (const BoolExpr *)node);
		break;
	default:
		break;
	}
	return node_children(node, visit, diagnosis);
}

void diagnose_statement(const struct parsed_statement *parsed, const struct resolution *resolution,
			const struct sql_request *request, struct diagnostics *diagnostics)
{
	struct diagnosis diagnosis = { .resolution = resolution,
				       .diagnostics = diagnostics,
				       .request = request };
	const Node *statement = parsed->statement;
	bool explained = IsA(statement, ExplainStmt);
	if (explained)
		statement = ((const ExplainStmt *)statement)->query;
	/* The walks below go no deeper than the resolver went. */
	if (!IsA(statement, SelectStmt) || resolution->too_deep)
		return;
	(void)visit(statement, &diagnosis);
	diagnose_required(&diagnosis, (const SelectStmt *)statement);
	if (!explained && !is_bounded(resolution, (const SelectStmt *)statement))
		diagnostics_add(
			diagnostics, DIAG_MISSING_LIMIT, SUB_NONE, STR("statement"), 0,
			"the query is neither aggregated nor limited: it can return any number of rows");
}
