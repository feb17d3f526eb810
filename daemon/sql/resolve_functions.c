#include "sql/resolve_internal.h"

#include "sql/node_children.h"

/* f(x) may also be a cast to the type f, or the column f of the row x. */
static bool is_cast_or_column(struct resolver *resolver, const FuncCall *call, str_t schema, str_t name)
{
	if (list_length(call->args) != 1)
		return false;
	if (catalog_has_type(resolver->catalog, schema.ptr ? schema : STR(""), name))
		return true;
	const Node *argument = linitial(call->args);
	if (!IsA(argument, ColumnRef))
		return false;
	const struct resolved_column *column =
		resolution_column(resolver->resolution, (const ColumnRef *)argument);
	return !column || column->kind == COLUMN_WHOLE_ROW || column->kind == COLUMN_STAR ||
	       column->kind == COLUMN_UNSURE ||
	       (column->kind == COLUMN_OF_ITEM &&
		column->item->columns[column->column].category == TYPE_OTHER);
}

static size_t argument_count(const FuncCall *call)
{
	return (size_t)(list_length(call->args) +
			(call->agg_within_group ? list_length(call->agg_order) : 0));
}

/* An aggregate without arguments has to be called with `*`. */
static bool some_accepts(const struct resolved_function *function, const FuncCall *call)
{
	size_t arguments = argument_count(call);
	for (size_t i = 0; i < function->overloads_count; i++) {
		const struct catalog_function *overload = function->overloads[i];
		bool bare = overload->kind == 'a' && arguments == 0 && !call->agg_star;
		if (!bare && catalog_function_accepts(overload, arguments))
			return true;
	}
	return false;
}

static void report_unknown_function(struct resolver *resolver, const FuncCall *call,
				    const struct resolved_function *function)
{
	if (function->overloads_count > 0)
		diagnostics_add(resolver->diagnostics, DIAG_UNKNOWN_FUNCTION, NULL, function->name,
				call->location, "no function \"" STR_FMT "\" takes %zu argument%s",
				STR_ARG(function->name), argument_count(call),
				argument_count(call) == 1 ? "" : "s");
	else
		diagnostics_add(
			resolver->diagnostics, DIAG_UNKNOWN_FUNCTION, NULL, function->name, call->location,
			"function \"" STR_FMT "\" does not exist" STR_FMT, STR_ARG(function->name),
			STR_ARG(catalog_function_hint(resolver->catalog, function->name, resolver->arena)));
}

void resolve_function(struct resolver *resolver, const FuncCall *call)
{
	struct resolved_function *function = ARENA_NEW(resolver->arena, struct resolved_function);
	int count = list_length(call->funcname);
	function->name = str_from(names_last(call->funcname));
	function->schema = count > 1 ? str_from(NODE_STRING(list_nth(call->funcname, count - 2))) : STR_NONE;
	function->kind = FUNCTION_UNSURE;
	resolver_record(resolver, call, function);
	if (!resolver->catalog)
		return;
	function->overloads = catalog_functions(resolver->catalog, function->schema, function->name,
						&function->overloads_count);
	if (some_accepts(function, call))
		function->kind = FUNCTION_KNOWN;
	else if (is_cast_or_column(resolver, call, function->schema, function->name))
		function->kind = FUNCTION_CAST;
	else {
		function->kind = function->overloads_count > 0 ? FUNCTION_KNOWN : FUNCTION_UNKNOWN;
		report_unknown_function(resolver, call, function);
	}
}
