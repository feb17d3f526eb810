#include "sql/postgresql/resolve/internal.h"

#include "sql/postgresql/resolve/equal.h"
#include "sql/postgresql/resolve/namespace.h"

#include "catalog/pg_type_d.h"

#include <math.h>

struct base_column base_column_of(const struct range_item *item, size_t column)
{
	struct base_column base = { item, column };
	while (base.item->kind == RANGE_JOIN) {
		const struct range_column *merged = &base.item->columns[base.column];
		if (!merged->source || merged->source == base.item)
			break;
		base = (struct base_column){ merged->source, merged->source_index };
	}
	return base;
}

/* What selects a part of something by its name, `(t).y` or y(t): of what, or NULL. */
static const Node *selected_from(const struct resolver *resolver, const Node *node, const char **ret_name)
{
	if (IsA(node, A_Indirection)) {
		const A_Indirection *selection = (const A_Indirection *)node;
		const Node *part = linitial(selection->indirection);
		*ret_name = IsA(part, String) ? NODE_STRING(part) : NULL;
		return *ret_name && list_length(selection->indirection) == 1 ? selection->arg : NULL;
	}
	if (!IsA(node, FuncCall) || list_length(((const FuncCall *)node)->args) != 1)
		return NULL;
	const FuncCall *call = (const FuncCall *)node;
	const struct resolved_function *function = resolution_function(resolver->resolution, call);
	*ret_name = names_last(call->funcname);
	return function && function->kind == FUNCTION_CAST && *ret_name ? linitial(call->args) : NULL;
}

/* A column of a row of FROM. */
static bool is_column_of_row(struct resolver *resolver, const Node *node, struct base_column *ret_base)
{
	const char *name;
	struct found_column found;
	const Node *row = selected_from(resolver, node, &name);
	const struct resolved_column *column = resolution_column(resolver->resolution, row);
	if (!column || column->kind != COLUMN_WHOLE_ROW ||
	    item_lookup(resolver, column->item, str_from(name), &found) != LOOKUP_FOUND || found.is_system)
		return false;
	*ret_base = base_column_of(found.item, found.column);
	return true;
}

bool expression_is_column(struct resolver *resolver, const Node *node, struct base_column *ret_base)
{
	if (!IsA(node, ColumnRef))
		return is_column_of_row(resolver, node, ret_base);
	const struct resolved_column *column = resolution_column(resolver->resolution, node);
	if (!column || column->kind != COLUMN_OF_ITEM)
		return false;
	*ret_base = base_column_of(column->item, column->column);
	return true;
}

/* y(c) for a column y of what is no row of FROM. */
static bool is_field_call(const struct resolver *resolver, const Node *node)
{
	const char *name;
	return IsA(node, FuncCall) && selected_from(resolver, node, &name) &&
	       !catalog_has_type(resolver->catalog, STR(""), str_from(name));
}

/* Whether the value surely has the field, so that nothing is called; a row of FROM has columns instead. */
static bool is_field(const struct resolver *resolver, const Node *value, const char *name)
{
	const struct resolved_column *column = resolution_column(resolver->resolution, value);
	if (IsA(value, ColumnRef) && (!column || column->kind != COLUMN_OF_ITEM))
		return false;
	const struct catalog_type *row =
		type_composite(resolver->catalog, resolution_type(resolver->resolution, value));
	return row && catalog_columns_find(row->columns, row->columns_count, str_from(name));
}

static bool is_plain_selection(const struct resolver *resolver, const A_Indirection *selection)
{
	const ListCell *cell;
	foreach(cell, selection->indirection)
	{
		const Node *part = lfirst(cell);
		bool field = foreach_current_index(cell) == 0 && IsA(part, String) &&
			     is_field(resolver, selection->arg, NODE_STRING(part));
		if (!field && !IsA(part, A_Indices))
			return false;
	}
	return true;
}

/* t.f for a function f, which is f(t) and (t).f as well. */
static bool is_call_by_attribute(const struct resolver *resolver, const ColumnRef *node)
{
	const struct resolved_column *column = resolution_column(resolver->resolution, node);
	return column && column->kind == COLUMN_SUSPECTED_CALL;
}

bool expression_is_open(const struct resolver *resolver, const Node *node)
{
	if (IsA(node, ColumnRef))
		return is_call_by_attribute(resolver, (const ColumnRef *)node);
	return IsA(node, A_Indirection) ? !is_plain_selection(resolver, (const A_Indirection *)node)
					: is_field_call(resolver, node);
}

const Node *expression_cast_operand(struct resolver *resolver, const Node *node)
{
	if (IsA(node, TypeCast))
		return ((const TypeCast *)node)->arg;
	if (!IsA(node, FuncCall) || list_length(((const FuncCall *)node)->args) != 1)
		return NULL;
	const struct resolved_function *function = resolution_function(resolver->resolution, node);
	bool cast = function &&
		    (function->kind == FUNCTION_CAST ||
		     (function->chosen && catalog_has_type(resolver->catalog, STR(""), function->name)));
	struct base_column column;
	return cast && !is_column_of_row(resolver, node, &column) && !is_field_call(resolver, node)
		       ? linitial(((const FuncCall *)node)->args)
		       : NULL;
}

/* Whether a conversion that is written may be none, or one that PostgreSQL adds by itself where the other
 * expression stands. */
static bool may_be_no_cast(const struct resolver *resolver, const Node *cast, const Node *operand, bool whole)
{
	type_id from = resolution_type(resolver->resolution, operand);
	type_id to = resolution_type(resolver->resolution, cast);
	return !whole || from == TYPE_UNSURE || to == TYPE_UNSURE || from == UNKNOWNOID || from == to ||
	       !resolver_knows_types(resolver);
}

static const Node *behind_output(const struct resolver *resolver, const Node *node)
{
	const struct resolved_column *column = resolution_column(resolver->resolution, node);
	return column && column->kind == COLUMN_OUTPUT && column->output
		       ? ((const ResTarget *)column->output)->val
		       : node;
}

/* Conversions may be written or not, and may be none at all. */
static const Node *without_casts(struct resolver *resolver, const Node *node, bool whole)
{
	for (;;) {
		node = behind_output(resolver, node);
		const Node *operand = expression_cast_operand(resolver, node);
		if (!operand || !may_be_no_cast(resolver, node, operand, whole))
			return node;
		node = operand;
	}
}

const Node *expression_without_casts(struct resolver *resolver, const Node *node)
{
	return without_casts(resolver, node, false);
}

const Node *expression_output_without_casts(struct resolver *resolver, const Node *node)
{
	return without_casts(resolver, node, true);
}

/* Not a number: NAN. */
static double number_in(const char *text)
{
	char *end;
	const char *start = text + strspn(text, " \t\n\r");
	const char *digits = start + (*start == '-' || *start == '+');
	if (!strchr("0123456789.", *digits) || digits[strspn(digits, "0123456789.eE+-")])
		return NAN;
	double number = strtod(start, &end);
	return end == start || *end ? NAN : number;
}

double expression_constant_number(const A_Const *constant)
{
	if (constant->isnull)
		return NAN;
	switch (nodeTag(&constant->val)) {
	case T_Integer:
		return constant->val.ival.ival;
	case T_Float:
		return number_in(constant->val.fval.fval);
	case T_String:
		return number_in(constant->val.sval.sval);
	default:
		return NAN;
	}
}
