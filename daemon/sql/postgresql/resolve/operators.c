#include "sql/postgresql/resolve/internal.h"

#include "sql/postgresql/resolve/type_overload.h"

#include "catalog/pg_type_d.h"

static bool is_comparison(str_t name)
{
	return STR_IS_ANY(name, "=", "<>", "!=", "<", ">", "<=", ">=");
}

static const struct range_item *item_of(const struct resolver *resolver, const Node *node)
{
	const struct resolved_column *column = resolution_column(resolver->resolution, node);
	return column && column->kind == COLUMN_OF_ITEM ? column->item : NULL;
}

/* Columns of two relations that are compared are keys of a join. */
static bool joins_keys(const struct resolver *resolver, const struct operand *left, struct operand right,
		       str_t name)
{
	const struct range_item *one = left ? item_of(resolver, left->node) : NULL;
	const struct range_item *other = item_of(resolver, right.node);
	return is_comparison(name) && one && other && one != other;
}

static void report_no_operator(struct resolver *resolver, struct qualified_name spelling,
			       const struct operand *left, struct operand right, bool ambiguous, int location)
{
	str_t name = spelling.name;
	resolver_note_missing(resolver, "operator", name);
	/* Extensions add operators of any name, but hardly comparisons of types that are not theirs. */
	if (resolver_lacks_names(resolver) && !is_comparison(name))
		return;
	str_t one = left ? type_text(resolver->catalog, left->type) : STR("");
	str_t other = type_text(resolver->catalog, right.type);
	bool keys = !ambiguous && joins_keys(resolver, left, right, name);
	diagnostics_add_state(resolver->diagnostics, keys ? DIAG_INVALID_JOIN : DIAG_UNKNOWN_FUNCTION,
			      keys	  ? SUB_NONE
			      : ambiguous ? SUB_UNKNOWN_FUNCTION_AMBIGUOUS_OPERATOR
					  : SUB_UNKNOWN_FUNCTION_OPERATOR,
			      ambiguous ? "42725"
					: resolver_missing_sqlstate(resolver, spelling.schema, "42883"),
			      resolver_object_at(resolver, location), location,
			      "%s: " STR_FMT "%s" STR_FMT " " STR_FMT "; a cast may be missing",
			      ambiguous ? "several operators could be meant" : "there is no operator",
			      STR_ARG(one), left ? " " : "", STR_ARG(name), STR_ARG(other));
}

static void note_operand(struct resolver *resolver, struct operand operand, type_id parameter)
{
	if (parameter == ANYOID || type_is_polymorphic(parameter))
		return;
	(void)resolver_coerce_value(resolver, operand.node, operand.type, parameter, CAST_IMPLICIT);
}

type_id resolve_apply_operator(struct resolver *resolver, const Node *node, str_t schema, str_t name,
			       const struct operand *left, struct operand right, int location)
{
	struct resolved_operator applied = {
		.node = node, .schema = schema, .name = name, .location = location
	};
	struct overload_choice choice;
	if (!resolver_knows_types(resolver)) {
		resolver_record_operator(resolver, applied);
		return is_comparison(name) ? BOOLOID : TYPE_UNSURE;
	}
	applied.overloads = catalog_operators(resolver->catalog, schema, name, &applied.overloads_count);
	overload_choose_operator(resolver->catalog, &resolver->coercions, applied.overloads,
				 applied.overloads_count, !left, left ? left->type : TYPE_UNSURE, right.type,
				 &choice);
	applied.chosen = choice.oper;
	resolver_record_operator(resolver, applied);
	switch (choice.result) {
	case OVERLOAD_FOUND:
		if (left)
			note_operand(resolver, *left, choice.parameters[0]);
		note_operand(resolver, right, choice.parameters[left ? 1 : 0]);
		return choice.value;
	case OVERLOAD_UNSURE:
		if (left)
			resolver_note_cast(resolver, left->type, TYPE_UNSURE,
					   resolver_node_location(resolver, left->node));
		resolver_note_cast(resolver, right.type, TYPE_UNSURE,
				   resolver_node_location(resolver, right.node));
		return choice.value;
	default:
		report_no_operator(resolver, (struct qualified_name){ schema, name }, left, right,
				   choice.result == OVERLOAD_AMBIGUOUS, location);
		return TYPE_UNSURE;
	}
}

static void check_yields_boolean(struct resolver *resolver, type_id type, const char *what, int location)
{
	if (type == TYPE_UNSURE || !resolver_knows_types(resolver) ||
	    catalog_type_base(resolver->catalog, type) == BOOLOID)
		return;
	str_t text = type_text(resolver->catalog, type);
	resolver_report_type(resolver, DIAG_INVALID_TYPE, SUB_INVALID_TYPE_OPERATOR, "42804", location,
			     "%s needs an operator that gives a truth value, not " STR_FMT, what,
			     STR_ARG(text));
}

/* (a, b) = (c, d): an operator for each pair. */
static type_id compare_rows(struct resolver *resolver, const Node *node, struct qualified_name spelling,
			    const struct operand *left, size_t left_count, const struct operand *right,
			    size_t right_count, int location)
{
	if (left_count != right_count) {
		resolver_report_type(resolver, DIAG_INVALID_USE, SUB_INVALID_USE_ROW, "42601", location,
				     "rows of %zu and %zu values are compared", left_count, right_count);
		return BOOLOID;
	}
	for (size_t i = 0; i < left_count; i++)
		check_yields_boolean(resolver,
				     resolve_apply_operator(resolver, node, spelling.schema, spelling.name,
							    &left[i], right[i], location),
				     "a comparison of rows", location);
	return BOOLOID;
}

/* The values of ROW(…); false when their number is not known (`t.*`). */
static bool row_operands(struct resolver *resolver, const List *values, struct operand **ret_operands)
{
	struct operand *operands = ARENA_ARRAY(resolver->arena, struct operand, (size_t)list_length(values));
	const ListCell *cell;
	size_t count = 0;
	foreach(cell, values)
	{
		const Node *node = lfirst(cell);
		if (node_is_star(node))
			return false;
		operands[count++] = (struct operand){ node, resolution_type(resolver->resolution, node) };
	}
	*ret_operands = operands;
	return true;
}

/* Both sides are resolved. */
static type_id compare(struct resolver *resolver, const Node *node, struct qualified_name spelling,
		       const struct operand *left, struct operand right, int location)
{
	if (!left->node || !right.node || !IsA(left->node, RowExpr) || !IsA(right.node, RowExpr) ||
	    !resolver_knows_types(resolver))
		return resolve_apply_operator(resolver, node, spelling.schema, spelling.name, left, right,
					      location);
	const List *one = ((const RowExpr *)left->node)->args, *other = ((const RowExpr *)right.node)->args;
	struct operand *left_row, *right_row;
	if (!row_operands(resolver, one, &left_row) || !row_operands(resolver, other, &right_row))
		return BOOLOID;
	return compare_rows(resolver, node, spelling, left_row, (size_t)list_length(one), right_row,
			    (size_t)list_length(other), location);
}

static struct operand resolve_operand(struct resolver *resolver, struct scope *scope, const Node *node)
{
	return (struct operand){ node, resolve_expression(resolver, scope, node) };
}

static void report_columns(struct resolver *resolver, const SubLink *link, const char *many)
{
	resolver_report_type(resolver, DIAG_INVALID_SUBQUERY, SUB_NONE, "42601", link->location,
			     "the subquery returns too %s columns", many);
}

/* (a, b) op (SELECT …): one value on the left for each column. */
static void compare_with_outputs(struct resolver *resolver, const SubLink *link, const struct operand *left,
				 size_t left_count, const struct outputs *outputs,
				 struct qualified_name spelling, int location)
{
	struct operand *right = ARENA_ARRAY(resolver->arena, struct operand, outputs->count);
	if (outputs->open)
		return;
	if (left_count != outputs->count) {
		report_columns(resolver, link, left_count < outputs->count ? "many" : "few");
		return;
	}
	for (size_t i = 0; i < outputs->count; i++)
		right[i].type = outputs->columns[i].type;
	/* Keys of a join have to be columns; an output's source may be one. */
	for (size_t i = 0; i < outputs->count; i++)
		right[i].node = NULL;
	(void)compare_rows(resolver, (const Node *)link, spelling, left, left_count, right, outputs->count,
			   location);
}

static const struct outputs *resolve_subquery(struct resolver *resolver, struct scope *scope,
					      const SubLink *link)
{
	struct outputs outputs = { 0 };
	enum recursion recursion = resolver->recursion;
	if (!link->subselect || !IsA(link->subselect, SelectStmt))
		return NULL;
	if (recursion != RECURSION_NONE && recursion != RECURSION_NON_RECURSIVE_TERM)
		resolver->recursion = RECURSION_SUBQUERY;
	resolve_select(resolver, scope, (const SelectStmt *)link->subselect, &outputs);
	resolver->recursion = recursion;
	return resolution_outputs(resolver->resolution, (const SelectStmt *)link->subselect);
}

static type_id value_of_subquery(struct resolver *resolver, const SubLink *link,
				 const struct outputs *outputs)
{
	if (!outputs || outputs->open)
		return TYPE_UNSURE;
	if (outputs->count != 1) {
		resolver_report_type(resolver, DIAG_INVALID_SUBQUERY, SUB_NONE, "42601", link->location,
				     "the subquery returns %zu columns instead of one", outputs->count);
		return TYPE_UNSURE;
	}
	type_id type = outputs->columns[0].type;
	if (link->subLinkType != ARRAY_SUBLINK)
		return type;
	return resolver->catalog && type_element(resolver->catalog, type) ? type
	       : resolver->catalog ? type_array(resolver->catalog, type)
				   : TYPE_UNSURE;
}

/* x IN (SELECT …), x op ANY/ALL (SELECT …). The subquery comes first, as PostgreSQL resolves it. */
static type_id resolve_quantified(struct resolver *resolver, struct scope *scope, const SubLink *link)
{
	struct qualified_name spelling = { STR_NONE, STR("=") };
	const struct outputs *outputs = resolve_subquery(resolver, scope, link);
	struct operand single = resolve_operand(resolver, scope, link->testexpr), *row = &single;
	size_t count = 1;
	if (link->operName)
		spelling = names_qualified(link->operName);
	if (IsA(link->testexpr, RowExpr)) {
		const List *values = ((const RowExpr *)link->testexpr)->args;
		count = (size_t)list_length(values);
		if (!row_operands(resolver, values, &row))
			return BOOLOID;
	}
	if (outputs)
		compare_with_outputs(resolver, link, row, count, outputs, spelling,
				     link->location >= 0 ? link->location
							 : resolver_node_location(resolver, link->testexpr));
	return BOOLOID;
}

type_id resolve_sublink(struct resolver *resolver, struct scope *scope, const SubLink *link)
{
	if ((link->subLinkType == ANY_SUBLINK || link->subLinkType == ALL_SUBLINK) && link->testexpr)
		return resolve_quantified(resolver, scope, link);
	(void)resolve_expression(resolver, scope, link->testexpr);
	const struct outputs *outputs = resolve_subquery(resolver, scope, link);
	if (link->subLinkType != EXPR_SUBLINK && link->subLinkType != ARRAY_SUBLINK)
		return BOOLOID;
	return value_of_subquery(resolver, link, outputs);
}

/* (a, b) = (SELECT c, d). */
static type_id resolve_row_sublink(struct resolver *resolver, struct scope *scope, const A_Expr *expr)
{
	const SubLink *link = (const SubLink *)expr->rexpr;
	const List *values = ((const RowExpr *)expr->lexpr)->args;
	struct operand *row;
	(void)resolve_expression(resolver, scope, expr->lexpr);
	const struct outputs *outputs = resolve_subquery(resolver, scope, link);
	if (outputs && row_operands(resolver, values, &row))
		compare_with_outputs(resolver, link, row, (size_t)list_length(values), outputs,
				     names_qualified(expr->name), expr->location);
	return BOOLOID;
}

static type_id resolve_plain_operator(struct resolver *resolver, struct scope *scope, const A_Expr *expr)
{
	struct qualified_name spelling = names_qualified(expr->name);
	if (!expr->lexpr) {
		struct operand right = resolve_operand(resolver, scope, expr->rexpr);
		return resolve_apply_operator(resolver, (const Node *)expr, spelling.schema, spelling.name,
					      NULL, right, expr->location);
	}
	if (IsA(expr->lexpr, RowExpr) && IsA(expr->rexpr, SubLink) &&
	    ((const SubLink *)expr->rexpr)->subLinkType == EXPR_SUBLINK)
		return resolve_row_sublink(resolver, scope, expr);
	struct operand left = resolve_operand(resolver, scope, expr->lexpr);
	struct operand right = resolve_operand(resolver, scope, expr->rexpr);
	return compare(resolver, (const Node *)expr, spelling, &left, right, expr->location);
}

/* x op ANY (array): the operator is that of the elements. */
static type_id resolve_array_operator(struct resolver *resolver, struct scope *scope, const A_Expr *expr)
{
	struct qualified_name spelling = names_qualified(expr->name);
	struct operand left = resolve_operand(resolver, scope, expr->lexpr);
	struct operand array = resolve_operand(resolver, scope, expr->rexpr);
	struct operand element = { NULL, array.type };
	if (!resolver_knows_types(resolver))
		return BOOLOID;
	if (array.type != TYPE_UNSURE && array.type != UNKNOWNOID) {
		element.type = type_element(resolver->catalog, array.type);
		if (element.type == TYPE_UNSURE) {
			resolver_report_type(resolver, DIAG_INVALID_TYPE, SUB_INVALID_TYPE_ARRAY, "42809",
					     expr->location,
					     "ANY and ALL need an array or a subquery on their right");
			return BOOLOID;
		}
	}
	check_yields_boolean(resolver,
			     resolve_apply_operator(resolver, (const Node *)expr, spelling.schema,
						    spelling.name, &left, element, expr->location),
			     "ANY or ALL", expr->location);
	if (array.type == UNKNOWNOID && left.type != UNKNOWNOID)
		(void)resolver_coerce_value(resolver, array.node, UNKNOWNOID,
					    type_array(resolver->catalog, left.type), CAST_IMPLICIT);
	return BOOLOID;
}

static bool lacks_columns(const Node *node, void *context)
{
	(void)context;
	return !IsA(node, ColumnRef) && (IsA(node, SubLink) || node_children(node, lacks_columns, context));
}

/* Values without columns of the list, after the left side, whose type they may take together. */
struct listed {
	const Node **nodes;
	type_id *types;
	size_t count;
};

static bool share_a_type(struct resolver *resolver, const struct listed *listed, type_id *ret_type)
{
	bool rows = false;
	for (size_t i = 0; i < listed->count; i++)
		rows |= listed->types[i] == RECORDOID;
	return listed->count > 2 && !rows &&
	       type_common(resolver->catalog, listed->types, listed->count, ret_type) == SURELY &&
	       type_array(resolver->catalog, *ret_type) != TYPE_UNSURE;
}

static type_id compare_each(struct resolver *resolver, const A_Expr *expr, struct operand left,
			    const List *values, bool only_columns)
{
	struct qualified_name spelling = names_qualified(expr->name);
	const ListCell *cell;
	foreach(cell, values)
	{
		const Node *node = lfirst(cell);
		if (only_columns && lacks_columns(node, NULL))
			continue;
		struct operand right = { node, resolution_type(resolver->resolution, node) };
		check_yields_boolean(
			resolver,
			compare(resolver, (const Node *)expr, spelling, &left, right, expr->location), "IN",
			expr->location);
	}
	return BOOLOID;
}

/* x IN (…): values without columns become one array where they have a common type with x. */
static type_id resolve_in(struct resolver *resolver, struct scope *scope, const A_Expr *expr)
{
	struct operand left = resolve_operand(resolver, scope, expr->lexpr);
	const List *values = (const List *)expr->rexpr;
	size_t capacity = (size_t)list_length(values) + 1;
	struct listed listed = { ARENA_ARRAY(resolver->arena, const Node *, capacity),
				 ARENA_ARRAY(resolver->arena, type_id, capacity), 1 };
	const ListCell *cell;
	type_id type;
	listed.nodes[0] = left.node;
	listed.types[0] = left.type;
	foreach(cell, values)
	{
		struct operand value = resolve_operand(resolver, scope, lfirst(cell));
		if (!lacks_columns(value.node, NULL))
			continue;
		listed.nodes[listed.count] = value.node;
		listed.types[listed.count++] = value.type;
	}
	if (!resolver_knows_types(resolver))
		return BOOLOID;
	if (!share_a_type(resolver, &listed, &type))
		return compare_each(resolver, expr, left, values, false);
	for (size_t i = 1; i < listed.count; i++)
		(void)resolver_coerce_value(resolver, listed.nodes[i], listed.types[i], type, CAST_IMPLICIT);
	struct qualified_name spelling = names_qualified(expr->name);
	(void)resolve_apply_operator(resolver, (const Node *)expr, spelling.schema, spelling.name, &left,
				     (struct operand){ NULL, type }, expr->location);
	return compare_each(resolver, expr, left, values, true);
}

static type_id resolve_between(struct resolver *resolver, struct scope *scope, const A_Expr *expr)
{
	static const str_t inside[2] = { { ">=", 2 }, { "<=", 2 } }, outside[2] = { { "<", 1 }, { ">", 1 } };
	bool negated = expr->kind == AEXPR_NOT_BETWEEN || expr->kind == AEXPR_NOT_BETWEEN_SYM;
	bool symmetric = expr->kind == AEXPR_BETWEEN_SYM || expr->kind == AEXPR_NOT_BETWEEN_SYM;
	const str_t *names = negated ? outside : inside;
	const List *bounds = (const List *)expr->rexpr;
	struct operand left = resolve_operand(resolver, scope, expr->lexpr);
	for (int i = 0; i < 2; i++) {
		struct operand bound = resolve_operand(resolver, scope, list_nth(bounds, i));
		for (int j = 0; j < (symmetric ? 2 : 1); j++) {
			struct qualified_name spelling = { STR_NONE, names[symmetric ? j : i] };
			type_id type =
				compare(resolver, (const Node *)expr, spelling, &left, bound, expr->location);
			resolver_coerce_or_report(resolver, expr->lexpr, type, BOOLOID,
						  negated ? "OR" : "AND");
		}
	}
	return BOOLOID;
}

static type_id resolve_distinct_from(struct resolver *resolver, struct scope *scope, const A_Expr *expr)
{
	struct operand left = resolve_operand(resolver, scope, expr->lexpr);
	struct operand right = resolve_operand(resolver, scope, expr->rexpr);
	if (node_is_null(expr->lexpr) || node_is_null(expr->rexpr))
		return BOOLOID;
	check_yields_boolean(resolver,
			     compare(resolver, (const Node *)expr, names_qualified(expr->name), &left, right,
				     expr->location),
			     "IS DISTINCT FROM", expr->location);
	return BOOLOID;
}

/* NULLIF gives the left operand as the operator takes it. */
static type_id resolve_nullif(struct resolver *resolver, struct scope *scope, const A_Expr *expr)
{
	struct operand left = resolve_operand(resolver, scope, expr->lexpr);
	struct operand right = resolve_operand(resolver, scope, expr->rexpr);
	struct qualified_name spelling = names_qualified(expr->name);
	check_yields_boolean(resolver,
			     resolve_apply_operator(resolver, (const Node *)expr, spelling.schema,
						    spelling.name, &left, right, expr->location),
			     "NULLIF", expr->location);
	const struct resolved_operator *applied = resolution_operator(resolver->resolution, expr);
	if (!applied || !applied->chosen)
		return TYPE_UNSURE;
	return type_is_polymorphic(applied->chosen->left) ? left.type : applied->chosen->left;
}

type_id resolve_operator_expression(struct resolver *resolver, struct scope *scope, const A_Expr *expr)
{
	switch (expr->kind) {
	case AEXPR_OP_ANY:
	case AEXPR_OP_ALL:
		return resolve_array_operator(resolver, scope, expr);
	case AEXPR_DISTINCT:
	case AEXPR_NOT_DISTINCT:
		return resolve_distinct_from(resolver, scope, expr);
	case AEXPR_NULLIF:
		return resolve_nullif(resolver, scope, expr);
	case AEXPR_IN:
		return resolve_in(resolver, scope, expr);
	case AEXPR_BETWEEN:
	case AEXPR_NOT_BETWEEN:
	case AEXPR_BETWEEN_SYM:
	case AEXPR_NOT_BETWEEN_SYM:
		return resolve_between(resolver, scope, expr);
	default:
		return resolve_plain_operator(resolver, scope, expr);
	}
}
