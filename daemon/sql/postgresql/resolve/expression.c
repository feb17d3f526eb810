#include "sql/postgresql/resolve/internal.h"

#include "sql/postgresql/resolve/type_literal.h"

#include "catalog/pg_type_d.h"

#include <errno.h>

struct walk {
	struct resolver *resolver;
	struct scope *scope;
};

static bool walk_child(const Node *child, void *context)
{
	const struct walk *walk = context;
	(void)resolve_expression(walk->resolver, walk->scope, child);
	return true;
}

static void walk_children(struct resolver *resolver, struct scope *scope, const Node *node)
{
	struct walk walk = { resolver, scope };
	(void)node_children(node, walk_child, &walk);
}

void resolve_list(struct resolver *resolver, struct scope *scope, const List *list)
{
	const ListCell *cell;
	foreach(cell, list)(void) resolve_expression(resolver, scope, lfirst(cell));
}

type_id resolve_in_place(struct resolver *resolver, struct scope *scope, const Node *node, enum place place,
			 struct marks *ret_marks)
{
	enum place outer_place = scope->place;
	struct marks outer = resolver->marks;
	scope->place = place;
	resolver->marks = (struct marks){ 0 };
	type_id type = resolve_expression(resolver, scope, node);
	if (ret_marks)
		*ret_marks = resolver->marks;
	marks_merge(&resolver->marks, &outer);
	scope->place = outer_place;
	return type;
}

static void check_boolean(struct resolver *resolver, const Node *node, type_id type, const char *what)
{
	resolver_coerce_or_report(resolver, node, type, BOOLOID, what);
}

void resolve_condition(struct resolver *resolver, struct scope *scope, const Node *node, enum place place,
		       const char *what)
{
	if (node)
		check_boolean(resolver, node, resolve_in_place(resolver, scope, node, place, NULL), what);
}

/* b'…' and x'…'; the first letter says which. */
static type_id bit_string_type(struct resolver *resolver, const A_Const *constant)
{
	const char *digits = constant->val.bsval.bsval, *sqlstate = NULL;
	if (literal_fits(resolver->catalog, BITOID, digits, &sqlstate) == SURELY_NOT)
		diagnostics_add_state(resolver->diagnostics, DIAG_INVALID_LITERAL, SUB_NONE, sqlstate,
				      arena_printf(resolver->arena, "%.200s", digits), constant->location,
				      "'%.200s' is no bit string", digits);
	return BITOID;
}

static type_id constant_type(struct resolver *resolver, const A_Const *constant)
{
	if (constant->isnull)
		return UNKNOWNOID;
	switch (nodeTag(&constant->val)) {
	case T_Integer:
		return INT4OID;
	case T_Boolean:
		return BOOLOID;
	case T_BitString:
		return bit_string_type(resolver, constant);
	case T_Float: {
		char *end;
		errno = 0;
		(void)strtoll(constant->val.fval.fval, &end, 10);
		return errno == 0 && *end == '\0' ? INT8OID : NUMERICOID;
	}
	default:
		return UNKNOWNOID;
	}
}

/* ARRAY[…] that a cast gives its type: its elements are converted to that of the target, at all depths. */
static void cast_array(struct resolver *resolver, struct scope *scope, const A_ArrayExpr *array,
		       type_id target)
{
	const ListCell *cell;
	type_id element = type_element(resolver->catalog, target);
	foreach(cell, array->elements)
	{
		const Node *node = lfirst(cell);
		if (IsA(node, A_ArrayExpr)) {
			cast_array(resolver, scope, (const A_ArrayExpr *)node, target);
			continue;
		}
		type_id type = resolve_expression(resolver, scope, node);
		/* An element may also be an array itself, one dimension more. */
		if (resolver_coerce_value(resolver, node, type, element, CAST_EXPLICIT) == SURELY_NOT &&
		    type_can_coerce(resolver->catalog, type, target, CAST_EXPLICIT) == SURELY_NOT) {
			str_t from = type_text(resolver->catalog, type);
			str_t to = type_text(resolver->catalog, element);
			resolver_report_type(resolver, DIAG_INVALID_TYPE, SUB_INVALID_TYPE_CAST, "42846",
					     resolver_node_location(resolver, node),
					     "type " STR_FMT " cannot be cast to " STR_FMT, STR_ARG(from),
					     STR_ARG(to));
		}
	}
}

/* ROW(…) that a cast makes a row type: value by value. False: there is something else among its values. */
static bool row_fits(struct resolver *resolver, const RowExpr *row, const struct catalog_type *type,
		     bool *ret_fits)
{
	const ListCell *cell;
	*ret_fits = (size_t)list_length(row->args) == type->columns_count;
	foreach(cell, row->args)
	{
		if (node_is_star(lfirst(cell)))
			return false;
	}
	foreach(cell, *ret_fits ? row->args : NIL)
	{
		type_id wanted = type->columns[foreach_current_index(cell)].value_type;
		const Node *value = lfirst(cell);
		if (resolver_coerce_value(resolver, value, resolution_type(resolver->resolution, value),
					  wanted, CAST_EXPLICIT) == SURELY_NOT) {
			*ret_fits = false;
			break;
		}
	}
	return true;
}

static void check_row_cast(struct resolver *resolver, const TypeCast *cast, type_id target)
{
	bool fits;
	if (!IsA(cast->arg, RowExpr) || !resolver_knows_types(resolver))
		return;
	const struct catalog_type *type = type_composite(resolver->catalog, target);
	if (!type || type->columns_count == 0 || (type->relation && type->relation->is_open))
		return;
	if (row_fits(resolver, (const RowExpr *)cast->arg, type, &fits) && !fits)
		resolver_report_type(resolver, DIAG_INVALID_TYPE, SUB_INVALID_TYPE_CAST, "42846",
				     cast->location, "these values are no row of type " STR_FMT,
				     STR_ARG(type->text));
}

static type_id resolve_cast(struct resolver *resolver, struct scope *scope, const TypeCast *cast)
{
	type_id target = resolve_type_name(resolver, cast->typeName);
	if (IsA(cast->arg, A_ArrayExpr) && target && type_element(resolver->catalog, target)) {
		cast_array(resolver, scope, (const A_ArrayExpr *)cast->arg, target);
		return target;
	}
	type_id type = resolve_expression(resolver, scope, cast->arg);
	check_row_cast(resolver, cast, target);
	/* INTERVAL '…' MINUTE TO SECOND: the fields say how the text is read. */
	if (type == UNKNOWNOID && target == INTERVALOID && cast->typeName->typmods)
		return target;
	if (resolver_coerce_value(resolver, cast->arg, type, target, CAST_EXPLICIT) == SURELY_NOT) {
		str_t from = type_text(resolver->catalog, type), to = type_text(resolver->catalog, target);
		resolver_report_type(resolver, DIAG_INVALID_TYPE, SUB_INVALID_TYPE_CAST, "42846",
				     cast->location, "type " STR_FMT " cannot be cast to " STR_FMT,
				     STR_ARG(from), STR_ARG(to));
	}
	return target;
}

static type_id resolve_boolean(struct resolver *resolver, struct scope *scope, const BoolExpr *expr)
{
	static const char *const names[] = { [AND_EXPR] = "AND", [OR_EXPR] = "OR", [NOT_EXPR] = "NOT" };
	const ListCell *cell;
	foreach(cell, expr->args)
	{
		const Node *node = lfirst(cell);
		check_boolean(resolver, node, resolve_expression(resolver, scope, node), names[expr->boolop]);
	}
	return BOOLOID;
}

/* Resolved values of a list, for what they have in common. */
struct values {
	const Node **nodes;
	type_id *types;
	size_t count;
};

static struct values values_new(struct resolver *resolver, size_t capacity)
{
	return (struct values){ .nodes = ARENA_ARRAY(resolver->arena, const Node *, capacity),
				.types = ARENA_ARRAY(resolver->arena, type_id, capacity) };
}

static void values_add(struct values *values, const Node *node, type_id type)
{
	values->nodes[values->count] = node;
	values->types[values->count++] = type;
}

static struct values resolve_values_of(struct resolver *resolver, struct scope *scope, const List *list)
{
	struct values values = values_new(resolver, (size_t)list_length(list));
	const ListCell *cell;
	foreach(cell, list)
		values_add(&values, lfirst(cell), resolve_expression(resolver, scope, lfirst(cell)));
	return values;
}

static type_id common_of(struct resolver *resolver, const struct values *values, const char *what)
{
	return resolver_common_type(resolver, values->nodes, values->types, values->count, what, -1);
}

/* CASE and COALESCE compute their parts one by one: sets cannot come out of them. */
static void check_no_sets(struct resolver *resolver, uint64_t before, const struct scope *scope,
			  const char *what, int location)
{
	uint64_t bit = level_bit(scope->level);
	if (resolver->marks.sets & ~before & bit)
		resolver_report_type(resolver, DIAG_INVALID_SET_FUNCTION, SUB_NONE, "0A000", location,
				     "functions that return sets cannot stand in %s", what);
}

static type_id resolve_case(struct resolver *resolver, struct scope *scope, const CaseExpr *expr)
{
	const ListCell *cell;
	uint64_t sets = resolver->marks.sets;
	struct values results = values_new(resolver, (size_t)list_length(expr->args) + 1);
	struct operand operand = { (const Node *)expr->arg, TYPE_UNSURE };
	if (expr->arg) {
		operand.type = resolve_expression(resolver, scope, (const Node *)expr->arg);
		if (operand.type == UNKNOWNOID)
			operand.type = TEXTOID;
	}
	results.count = 1; /* the default's type counts first */
	foreach(cell, expr->args)
	{
		const CaseWhen *when = lfirst_node(CaseWhen, cell);
		const Node *condition = (const Node *)when->expr;
		type_id type = resolve_expression(resolver, scope, condition);
		if (expr->arg)
			(void)resolve_apply_operator(resolver, (const Node *)expr, STR_NONE, STR("="),
						     &operand, (struct operand){ condition, type },
						     resolver_node_location(resolver, condition));
		else
			check_boolean(resolver, condition, type, "CASE/WHEN");
		values_add(&results, (const Node *)when->result,
			   resolve_expression(resolver, scope, (const Node *)when->result));
	}
	results.nodes[0] = (const Node *)expr->defresult;
	results.types[0] = expr->defresult
				   ? resolve_expression(resolver, scope, (const Node *)expr->defresult)
				   : UNKNOWNOID;
	type_id type = common_of(resolver, &results, "CASE");
	check_no_sets(resolver, sets, scope, "CASE", expr->location);
	return type;
}

static type_id resolve_coalesce(struct resolver *resolver, struct scope *scope, const CoalesceExpr *expr)
{
	uint64_t sets = resolver->marks.sets;
	struct values values = resolve_values_of(resolver, scope, expr->args);
	type_id type = common_of(resolver, &values, "COALESCE");
	check_no_sets(resolver, sets, scope, "COALESCE", expr->location);
	return type;
}

static type_id resolve_extreme(struct resolver *resolver, struct scope *scope, const MinMaxExpr *expr)
{
	struct values values = resolve_values_of(resolver, scope, expr->args);
	return common_of(resolver, &values, expr->op == IS_GREATEST ? "GREATEST" : "LEAST");
}

static type_id resolve_array(struct resolver *resolver, struct scope *scope, const A_ArrayExpr *expr)
{
	struct values values = resolve_values_of(resolver, scope, expr->elements);
	if (!resolver_knows_types(resolver))
		return TYPE_UNSURE;
	if (values.count == 0) {
		resolver_report_type(resolver, DIAG_INVALID_TYPE, SUB_INVALID_TYPE_ARRAY, "42P18",
				     expr->location,
				     "the type of an empty ARRAY[] has to be written: ARRAY[]::integer[]");
		return TYPE_UNSURE;
	}
	type_id element = common_of(resolver, &values, "ARRAY");
	return type_element(resolver->catalog, element) && element != INT2VECTOROID && element != OIDVECTOROID
		       ? element
		       : type_array(resolver->catalog, element);
}

static type_id value_function_type(const SQLValueFunction *function)
{
	switch (function->op) {
	case SVFOP_CURRENT_DATE:
		return DATEOID;
	case SVFOP_CURRENT_TIME:
	case SVFOP_CURRENT_TIME_N:
		return TIMETZOID;
	case SVFOP_CURRENT_TIMESTAMP:
	case SVFOP_CURRENT_TIMESTAMP_N:
		return TIMESTAMPTZOID;
	case SVFOP_LOCALTIME:
	case SVFOP_LOCALTIME_N:
		return TIMEOID;
	case SVFOP_LOCALTIMESTAMP:
	case SVFOP_LOCALTIMESTAMP_N:
		return TIMESTAMPOID;
	default:
		return NAMEOID;
	}
}

static type_id resolve_test(struct resolver *resolver, struct scope *scope, const BooleanTest *test)
{
	static const char *const names[] = { "IS TRUE",	     "IS NOT TRUE", "IS FALSE",
					     "IS NOT FALSE", "IS UNKNOWN",  "IS NOT UNKNOWN" };
	type_id type = resolve_expression(resolver, scope, (const Node *)test->arg);
	check_boolean(resolver, (const Node *)test->arg, type, names[test->booltesttype]);
	return BOOLOID;
}

static type_id resolve_xml(struct resolver *resolver, struct scope *scope, const XmlExpr *xml)
{
	const ListCell *cell;
	walk_children(resolver, scope, (const Node *)xml);
	foreach(cell, xml->op == IS_XMLCONCAT ? xml->args : NIL) resolver_coerce_or_report(
		resolver, lfirst(cell), resolution_type(resolver->resolution, lfirst(cell)), XMLOID,
		"XMLCONCAT");
	if (xml->op != IS_DOCUMENT)
		return XMLOID;
	const Node *value = linitial(xml->args);
	resolver_coerce_or_report(resolver, value, resolution_type(resolver->resolution, value), XMLOID,
				  "IS DOCUMENT");
	return BOOLOID;
}

static type_id resolve_serialize(struct resolver *resolver, struct scope *scope,
				 const XmlSerialize *serialize)
{
	resolver_coerce_or_report(resolver, serialize->expr,
				  resolve_expression(resolver, scope, serialize->expr), XMLOID,
				  "XMLSERIALIZE");
	return resolve_type_name(resolver, serialize->typeName);
}

/* GROUPING(…) belongs to a query level as an aggregate does. */
static type_id resolve_grouping_call(struct resolver *resolver, struct scope *scope, const GroupingFunc *call)
{
	struct marks outer = resolver->marks;
	unsigned level;
	resolver->marks = (struct marks){ 0 };
	walk_children(resolver, scope, (const Node *)call);
	struct marks marks = resolver->marks;
	resolver->marks = outer;
	resolver->marks.columns |= marks.columns;
	place_check_aggregate(resolver, scope, &marks, "GROUPING", call->location, &level);
	return INT4OID;
}

static type_id resolve_node(struct resolver *resolver, struct scope *scope, const Node *node)
{
	switch (nodeTag(node)) {
	case T_ColumnRef:
		return resolve_column_ref(resolver, scope, (const ColumnRef *)node);
	case T_A_Const:
		return constant_type(resolver, (const A_Const *)node);
	case T_A_Expr:
		return resolve_operator_expression(resolver, scope, (const A_Expr *)node);
	case T_FuncCall:
		return resolve_function(resolver, scope, (const FuncCall *)node);
	case T_TypeCast:
		return resolve_cast(resolver, scope, (const TypeCast *)node);
	case T_BoolExpr:
		return resolve_boolean(resolver, scope, (const BoolExpr *)node);
	case T_A_Indirection:
		return resolve_selection(resolver, scope, (const A_Indirection *)node);
	case T_SubLink:
		return resolve_sublink(resolver, scope, (const SubLink *)node);
	case T_CaseExpr:
		return resolve_case(resolver, scope, (const CaseExpr *)node);
	case T_CoalesceExpr:
		return resolve_coalesce(resolver, scope, (const CoalesceExpr *)node);
	case T_MinMaxExpr:
		return resolve_extreme(resolver, scope, (const MinMaxExpr *)node);
	case T_A_ArrayExpr:
		return resolve_array(resolver, scope, (const A_ArrayExpr *)node);
	case T_CollateClause:
		return resolve_collate(resolver, scope, (const CollateClause *)node);
	case T_SQLValueFunction:
		return value_function_type((const SQLValueFunction *)node);
	case T_BooleanTest:
		return resolve_test(resolver, scope, (const BooleanTest *)node);
	case T_XmlExpr:
		return resolve_xml(resolver, scope, (const XmlExpr *)node);
	case T_RowExpr:
		walk_children(resolver, scope, node);
		return RECORDOID;
	case T_NullTest:
		walk_children(resolver, scope, node);
		return BOOLOID;
	case T_GroupingFunc:
		return resolve_grouping_call(resolver, scope, (const GroupingFunc *)node);
	case T_SetToDefault:
		resolver_report_type(resolver, DIAG_INVALID_USE, SUB_INVALID_USE_DEFAULT, "42601",
				     ((const SetToDefault *)node)->location,
				     "DEFAULT is no value of an expression");
		return TYPE_UNSURE;
	case T_XmlSerialize:
		return resolve_serialize(resolver, scope, (const XmlSerialize *)node);
	default:
		walk_children(resolver, scope, node);
		return TYPE_UNSURE;
	}
}

type_id resolve_expression(struct resolver *resolver, struct scope *scope, const Node *node)
{
	if (!node || !resolver_enter(resolver))
		return TYPE_UNSURE;
	type_id type = resolve_node(resolver, scope, node);
	resolver_record_type(resolver, node, type);
	resolver_leave(resolver);
	return type;
}
