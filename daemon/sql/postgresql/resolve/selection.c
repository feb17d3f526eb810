#include "sql/postgresql/resolve/internal.h"

#include "sql/postgresql/resolve/type_overload.h"

#include "catalog/pg_type_d.h"

/* `(row).field`: a column of a row of FROM, or else possibly a call. */
static const struct range_column *column_of_row(const struct resolver *resolver, const Node *node,
						str_t field)
{
	const struct resolved_column *row = resolution_column(resolver->resolution, node);
	return row && row->kind == COLUMN_WHOLE_ROW
		       ? range_columns_find(row->item->columns, row->item->columns_count, field)
		       : NULL;
}

enum overload_result resolve_call_by_attribute(struct resolver *resolver, type_id type, str_t field,
					       const struct catalog_function **ret_function,
					       type_id *ret_value)
{
	struct overload_choice choice;
	struct overload_call call = { .types = &type, .count = 1 };
	size_t count = 0;
	const struct catalog_function *const *overloads =
		catalog_functions(resolver->catalog, STR_NONE, field, &count);
	const struct catalog_type *target = catalog_has_type(resolver->catalog, STR(""), field)
						    ? catalog_type_named(resolver->catalog, STR_NONE, field)
						    : NULL;
	call.cast_target = target ? target->id : TYPE_UNSURE;
	overload_choose_function(resolver->catalog, &resolver->coercions, overloads, count, &call, &choice);
	*ret_value = choice.value;
	*ret_function = choice.function;
	return choice.result;
}

/* The columns of ROW(…) are f1, f2 and so on. */
static bool is_row_without(const Node *node, str_t field)
{
	bool numbered =
		field.len > 1 && field.ptr[0] == 'f' && strspn(field.ptr + 1, "0123456789") == field.len - 1;
	return IsA(node, RowExpr) && !numbered;
}

/* `(x).f` for f(x). Gives the type of its value. */
static type_id select_by_call(struct resolver *resolver, const A_Indirection *selection, type_id type,
			      str_t field, bool first)
{
	const struct catalog_function *function;
	type_id value;
	enum overload_result result = resolve_call_by_attribute(resolver, type, field, &function, &value);
	if (result != OVERLOAD_NONE && result != OVERLOAD_AMBIGUOUS)
		return value;
	resolver_note_missing(resolver, "function", field);
	if (type == RECORDOID && !(first && is_row_without(selection->arg, field)))
		return TYPE_UNSURE;
	bool row = type == RECORDOID || type_composite(resolver->catalog, type);
	str_t text = type_text(resolver->catalog, type);
	diagnostics_add_state(resolver->diagnostics, DIAG_UNKNOWN_COLUMN, SUB_NONE, row ? "42703" : "42809",
			      field, resolver_node_location(resolver, selection->arg),
			      "type " STR_FMT " has no column \"" STR_FMT "\"", STR_ARG(text),
			      STR_ARG(field));
	return TYPE_UNSURE;
}

static type_id select_field(struct resolver *resolver, const A_Indirection *selection, type_id type,
			    str_t field, bool first)
{
	const struct range_column *column = first ? column_of_row(resolver, selection->arg, field) : NULL;
	if (column)
		return column->type;
	const struct catalog_type *composite = type_composite(resolver->catalog, type);
	const struct catalog_column *attribute =
		composite ? catalog_columns_find(composite->columns, composite->columns_count, field) : NULL;
	if (attribute)
		return attribute->value_type;
	resolver_suspect(resolver, field, -1, false, (const Node *)selection);
	if (!resolver_knows_types(resolver) ||
	    (composite && composite->relation && composite->relation->is_open))
		return TYPE_UNSURE;
	return type ? select_by_call(resolver, selection, type, field, first) : TYPE_UNSURE;
}

static void check_subscript(struct resolver *resolver, const Node *subscript, type_id type)
{
	if (subscript &&
	    resolver_coerce_value(resolver, subscript, type, INT4OID, CAST_ASSIGNMENT) == SURELY_NOT)
		resolver_report_type(resolver, DIAG_INVALID_TYPE, SUB_INVALID_TYPE_SUBSCRIPT, "42804",
				     resolver_node_location(resolver, subscript),
				     "the subscript of an array has to be an integer");
}

/* jsonb takes keys and positions. */
static void check_json_subscript(struct resolver *resolver, const Node *subscript, type_id type)
{
	const struct catalog *catalog = resolver->catalog;
	if (!subscript || type == UNKNOWNOID ||
	    type_can_coerce(catalog, type, INT4OID, CAST_IMPLICIT) != SURELY_NOT ||
	    type_can_coerce(catalog, type, TEXTOID, CAST_IMPLICIT) != SURELY_NOT)
		return;
	str_t text = type_text(catalog, type);
	resolver_report_type(resolver, DIAG_INVALID_TYPE, SUB_INVALID_TYPE_SUBSCRIPT, "42804",
			     resolver_node_location(resolver, subscript),
			     "a subscript of jsonb has to be an integer or text, not " STR_FMT,
			     STR_ARG(text));
}

static void check_json_subscripts(struct resolver *resolver, const A_Indirection *selection,
				  const A_Indices *indices, type_id upper)
{
	if (indices->is_slice)
		resolver_report_type(resolver, DIAG_INVALID_TYPE, SUB_INVALID_TYPE_SUBSCRIPT, "42804",
				     resolver_node_location(resolver, selection->arg), "jsonb has no slices");
	else
		check_json_subscript(resolver, indices->uidx, upper);
}

/* One `[i]` or `[a:b]`; a slice anywhere makes slices of all. */
static type_id subscript_type(struct resolver *resolver, const A_Indirection *selection, type_id type,
			      bool slice)
{
	if (!resolver_knows_types(resolver) || type == TYPE_UNSURE)
		return TYPE_UNSURE;
	type_id base = catalog_type_base(resolver->catalog, type);
	const struct catalog_type *container = catalog_type(resolver->catalog, base);
	if (base == UNKNOWNOID || (container && !container->is_subscriptable)) {
		str_t text = type_text(resolver->catalog, type);
		resolver_report_type(resolver, DIAG_INVALID_TYPE, SUB_INVALID_TYPE_SUBSCRIPT, "42804",
				     resolver_node_location(resolver, selection->arg),
				     "values of type " STR_FMT " have no subscripts", STR_ARG(text));
		return TYPE_UNSURE;
	}
	if (!container || !container->is_subscriptable)
		return TYPE_UNSURE;
	return slice ? base : container->subscript;
}

static type_id apply_subscripts(struct resolver *resolver, struct scope *scope,
				const A_Indirection *selection, type_id type, const ListCell **cell,
				const ListCell *end)
{
	bool slice = false, integers = false;
	const ListCell *at = *cell;
	type_id base = resolver->catalog ? catalog_type_base(resolver->catalog, type) : TYPE_UNSURE;
	integers = resolver->catalog && type_element(resolver->catalog, base) != TYPE_UNSURE;
	for (; at < end && IsA(lfirst(at), A_Indices); at++) {
		const A_Indices *indices = (const A_Indices *)lfirst(at);
		type_id lower = resolve_expression(resolver, scope, indices->lidx);
		type_id upper = resolve_expression(resolver, scope, indices->uidx);
		slice |= indices->is_slice;
		if (integers) {
			check_subscript(resolver, indices->lidx, lower);
			check_subscript(resolver, indices->uidx, upper);
		} else if (base == JSONBOID && resolver_knows_types(resolver)) {
			check_json_subscripts(resolver, selection, indices, upper);
		}
	}
	*cell = at;
	return subscript_type(resolver, selection, type, slice);
}

type_id resolve_selection(struct resolver *resolver, struct scope *scope, const A_Indirection *selection)
{
	type_id type = resolve_expression(resolver, scope, selection->arg);
	const List *steps = selection->indirection;
	const ListCell *cell = steps ? list_head(steps) : NULL;
	const ListCell *end = steps ? cell + list_length(steps) : NULL;
	bool first = true;
	while (cell < end) {
		const Node *step = lfirst(cell);
		if (IsA(step, A_Indices)) {
			type = apply_subscripts(resolver, scope, selection, type, &cell, end);
		} else {
			type = IsA(step, String) ? select_field(resolver, selection, type,
								str_from(NODE_STRING(step)), first)
						 : TYPE_UNSURE;
			cell++;
		}
		first = false;
	}
	return type;
}
