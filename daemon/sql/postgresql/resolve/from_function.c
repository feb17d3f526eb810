#include "sql/postgresql/resolve/internal.h"

#include "sql/postgresql/resolve/namespace.h"

#include "catalog/pg_type_d.h"

static void add_plain_column(struct resolver *resolver, struct outputs *outputs, str_t name, type_id type)
{
	outputs_add(resolver, outputs, (struct range_column){ .name = name, .type = type });
}

/* Columns that AS (name type, …) defines; only for functions that return record. */
static void defined_columns(struct resolver *resolver, const List *definitions, const Node *expression,
			    type_id type, struct outputs *outputs)
{
	const ListCell *cell;
	foreach(cell, definitions)
	{
		const ColumnDef *definition = lfirst_node(ColumnDef, cell);
		add_plain_column(resolver, outputs, str_from(definition->colname),
				 resolve_type_name(resolver, definition->typeName));
	}
	if (type != TYPE_UNSURE && type != RECORDOID)
		resolver_report_type(resolver, DIAG_INVALID_ALIAS_LIST, SUB_NONE, "42601",
				     resolver_node_location(resolver, expression),
				     "only a function that returns record takes column definitions");
}

/* OUT parameters as columns. */
static void output_columns(struct resolver *resolver, const struct catalog_function *function,
			   struct outputs *outputs)
{
	for (size_t i = 0; i < function->outputs_count; i++) {
		type_id type = function->output_types ? function->output_types[i] : TYPE_UNSURE;
		str_t name = function->outputs[i];
		if (name.len == 0)
			name = arena_printf(resolver->arena, "column%zu", i + 1);
		add_plain_column(resolver, outputs, name, type_is_polymorphic(type) ? TYPE_UNSURE : type);
	}
}

static bool composite_columns(struct resolver *resolver, type_id type, struct outputs *outputs)
{
	const struct catalog_type *row = type_composite(resolver->catalog, type);
	if (!row)
		return false;
	for (size_t i = 0; i < row->columns_count; i++)
		outputs_add(resolver, outputs,
			    (struct range_column){ .name = row->columns[i].name,
						   .type = row->columns[i].value_type });
	outputs->open |= row->relation && row->relation->is_open;
	return true;
}

/* Columns of one function of FROM, as far as they are sure. A plain value is named after its only OUT
 * parameter, the alias, or the function. */
static void function_columns(struct resolver *resolver, const Node *expression, const List *definitions,
			     const Alias *alias, struct outputs *outputs)
{
	const FuncCall *call = IsA(expression, FuncCall) ? (const FuncCall *)expression : NULL;
	const char *name = call ? names_last(call->funcname) : NULL;
	const struct resolved_function *function = resolution_function(resolver->resolution, call);
	const struct catalog_function *chosen = function ? function->chosen : NULL;
	type_id type = resolution_type(resolver->resolution, expression);
	if (definitions) {
		defined_columns(resolver, definitions, expression, type, outputs);
		return;
	}
	if (!chosen && function && function->overloads_count == 1)
		chosen = function->overloads[0];
	if (chosen && chosen->outputs_count > 0 &&
	    (chosen->outputs_count > 1 || chosen->outputs[0].len > 0)) {
		output_columns(resolver, chosen, outputs);
		return;
	}
	if (composite_columns(resolver, type, outputs))
		return;
	if (chosen && type == RECORDOID)
		resolver_report_type(resolver, DIAG_INVALID_ALIAS_LIST, SUB_NONE, "42601",
				     resolver_node_location(resolver, expression),
				     "the columns of a function that returns record have to be defined");
	bool plain = type != TYPE_UNSURE && type != RECORDOID;
	/* without a catalog, some surely give one column */
	outputs->open |= !plain && !STR_IS_ANY(str_from(name), "generate_series", "generate_subscripts",
					       "string_to_table", "regexp_split_to_table");
	str_t column = alias  ? str_from(alias->aliasname)
		       : name ? str_from(name)
			      : expression_name(NULL, expression);
	if (alias || name || plain)
		add_plain_column(resolver, outputs, column, plain ? type : TYPE_UNSURE);
}

static void resolve_function_of_from(struct resolver *resolver, struct scope *scope, const Node *expression)
{
	const Node *outer = resolver->top_function;
	resolver->top_function = expression;
	(void)resolve_in_place(resolver, scope, expression, PLACE_FROM_FUNCTION, NULL);
	resolver->top_function = outer;
}

/* unnest(a, b, …) in FROM stands for unnest(a), unnest(b), … side by side. */
static bool unnests_several(const RangeFunction *range, const List *pair)
{
	const Node *expression = linitial(pair);
	if (!IsA(expression, FuncCall) || lsecond(pair) || range->coldeflist)
		return false;
	const FuncCall *call = (const FuncCall *)expression;
	return list_length(call->funcname) == 1 && list_length(call->args) > 1 && !call->agg_order &&
	       !call->agg_filter && !call->over && !call->agg_star && !call->agg_distinct &&
	       !call->func_variadic && strcmp(names_last(call->funcname), "unnest") == 0;
}

static void unnest_several(struct resolver *resolver, struct scope *scope, const FuncCall *call,
			   struct outputs *outputs)
{
	const ListCell *cell;
	struct resolved_function *function = ARENA_NEW(resolver->arena, struct resolved_function);
	*function = (struct resolved_function){ .kind = FUNCTION_UNSURE, .name = STR("unnest") };
	if (resolver->catalog) {
		function->kind = FUNCTION_KNOWN;
		function->overloads = catalog_functions(resolver->catalog, STR_NONE, function->name,
							&function->overloads_count);
	}
	resolver_record(resolver, call, function);
	foreach(cell, call->args)
	{
		type_id type = resolve_in_place(resolver, scope, lfirst(cell), PLACE_FROM_FUNCTION, NULL);
		add_plain_column(resolver, outputs, function->name,
				 resolver->catalog ? type_element(resolver->catalog, type) : TYPE_UNSURE);
	}
}

void resolve_from_function(struct resolver *resolver, struct scope *scope, const RangeFunction *range,
			   struct namespace *names)
{
	struct outputs outputs = { 0 };
	const ListCell *cell;
	bool lateral = scope->lateral_active;
	bool several = list_length(range->functions) > 1;
	scope->lateral_active = true;
	foreach(cell, range->functions)
	{
		const List *pair = lfirst_node(List, cell);
		if (unnests_several(range, pair)) {
			unnest_several(resolver, scope, (const FuncCall *)linitial(pair), &outputs);
			continue;
		}
		resolve_function_of_from(resolver, scope, linitial(pair));
		const List *definitions = lsecond(pair) ? (const List *)lsecond(pair) : range->coldeflist;
		function_columns(resolver, linitial(pair), definitions, several ? NULL : range->alias,
				 &outputs);
	}
	scope->lateral_active = lateral;
	if (range->ordinality)
		outputs_add(resolver, &outputs,
			    (struct range_column){
				    .name = STR("ordinality"), .type = INT8OID, .not_null = true });
	struct range_item *item = range_item_new(resolver, RANGE_FUNCTION, (const Node *)range);
	if (!range->alias && list_length(range->functions) == 1) {
		const Node *first = linitial(lfirst_node(List, list_head(range->functions)));
		item->alias = IsA(first, FuncCall) ? str_from(names_last(((const FuncCall *)first)->funcname))
						   : expression_name(NULL, first);
	}
	item_adopt_columns(resolver, item, &outputs, range->alias);
	namespace_append_item(resolver, names, item);
}

void resolve_from_table_function(struct resolver *resolver, struct scope *scope, const RangeTableFunc *range,
				 struct namespace *names)
{
	struct outputs outputs = { 0 };
	const ListCell *cell;
	bool lateral = scope->lateral_active;
	scope->lateral_active = true;
	(void)resolve_expression(resolver, scope, range->docexpr);
	(void)resolve_expression(resolver, scope, range->rowexpr);
	resolve_list(resolver, scope, range->namespaces);
	foreach(cell, range->columns)
	{
		const RangeTableFuncCol *column = lfirst_node(RangeTableFuncCol, cell);
		(void)resolve_expression(resolver, scope, column->colexpr);
		(void)resolve_expression(resolver, scope, column->coldefexpr);
		outputs_add(resolver, &outputs,
			    (struct range_column){
				    .name = str_from(column->colname),
				    .type = column->for_ordinality
						    ? INT4OID
						    : resolve_type_name(resolver, column->typeName) });
	}
	scope->lateral_active = lateral;
	struct range_item *item = range_item_new(resolver, RANGE_FUNCTION, (const Node *)range);
	item->alias = STR("xmltable");
	item_adopt_columns(resolver, item, &outputs, range->alias);
	namespace_append_item(resolver, names, item);
}
