#include "sql/postgresql/safety/walk.h" // first: see pg_nodes.h

#include "sql/postgresql/resolve/type_coercion.h"
#include "sql/postgresql/safety/paths.h"

#include <catalog/pg_type_d.h>

static void check_function(struct walk *walk, const struct called_function *function, int location)
{
	struct qualified_name name = function->name;
	enum sql_violation_code code;
	if (!str_present(name.name))
		return;
	switch (function_check(function, walk->request, &code)) {
	case CALL_ALLOWED:
		break;
	case CALL_REFUSED:
		WALK_VIOLATION(walk, code, location, STR_FMT "%s" STR_FMT, STR_ARG(name.schema),
			       str_present(name.schema) ? "." : "", STR_ARG(name.name));
		break;
	case CALL_UNKNOWN:
		safety_doubt_name(walk, "function", name);
		break;
	}
}

/* Whether its checks are made of what the catalog does not have. */
static bool is_doubtful(const struct walk *walk, type_id type)
{
	const struct catalog_type *found =
		type >= TYPE_ID_USER ? catalog_type(walk->known.catalog, type) : NULL;
	return found && found->volatility == VOLATILITY_UNKNOWN;
}

static void check_type(struct walk *walk, type_id type, str_t name, int location)
{
	if (is_doubtful(walk, type))
		safety_doubt_name(walk, "a check of type", (struct qualified_name){ STR_NONE, name });
	if (volatile_type(walk->volatiles, type))
		WALK_VIOLATION(walk, VIOLATION_VOLATILE_FUNCTION, location,
			       "conversion to " STR_FMT ", whose checks may have side effects",
			       STR_ARG(name));
}

/* f(x) and x.f may be conversions to a type of that name. */
static void check_type_named(struct walk *walk, struct qualified_name name, int location)
{
	const struct catalog_type *type =
		walk->request->catalog && str_present(name.name)
			? catalog_type_named(walk->request->catalog, name.schema, name.name)
			: NULL;
	if (type)
		check_type(walk, type->id, name.name, location);
}

void walk_type(struct walk *walk, const TypeName *type)
{
	if (!type)
		return;
	walk_list(walk, type->typmods);
	safety_add_bytes(walk, names_qualified(type->names).name, const_eval_type_bytes(type),
			 type->location);
	const struct catalog_type *written = safety_type_written(walk, type);
	if (!written && !walk->known.complete)
		safety_doubt_name(walk, "type", names_qualified(type->names));
	if (!written)
		return;
	check_type(walk, written->id, written->name, type->location);
	if ((written->kind == 'r' || written->kind == 'm')) /* bounds are compared when it is read */
		safety_check_compared_type(walk, written->id, type->location);
}

static void check_size(struct walk *walk, const FuncCall *call)
{
	struct call_size size = bomb_call_size(call, walk_const_eval(walk));
	struct qualified_name name = names_qualified(call->funcname);
	if (walk->in_view)
		return;
	if (size.rows >= BOMB_CALL_ROWS)
		WALK_VIOLATION(walk, VIOLATION_RESOURCE_BOMB, call->location, STR_FMT " of %.0f rows",
			       STR_ARG(name.name), size.rows);
	else
		safety_add_bytes(walk, name.name, size.bytes, call->location);
	if (size.work >= BOMB_WORK)
		WALK_VIOLATION(walk, VIOLATION_RESOURCE_BOMB, call->location, STR_FMT " in %.0f steps",
			       STR_ARG(name.name), size.work);
	if (size.rows > 1 && size.rows < BOMB_CALL_ROWS)
		safety_multiply_rows(walk, size.rows, call->location);
}

/* Parameters whose types have volatile checks, where something else is given for them. */
static void check_parameters(struct walk *walk, const struct catalog_function *function, const FuncCall *call)
{
	for (unsigned i = 0; i < function->arguments; i++) {
		type_id parameter = function->argument_types[i];
		const Node *argument = (int)i < list_length(call->args) ? list_nth(call->args, (int)i) : NULL;
		if (argument && resolution_type(walk->resolution, argument) != parameter)
			check_type(walk, parameter, function->name, call->location);
	}
}

/* Functions that look at their arguments' types from afar: they fill rows from texts. */
static bool fills_rows(str_t name)
{
	static const char *const endings[] = { "populate_record", "populate_recordset" };
	for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
		size_t len = strlen(endings[i]);
		if (name.len >= len && memcmp(name.ptr + name.len - len, endings[i], len) == 0)
			return true;
	}
	return false;
}

/* Functions of the system that take values of any type and do not compare them. */
static bool never_compares(const FuncCall *call)
{
	return SAFETY_CALL_IS_ANY(call, "count", "array_agg", "json_agg", "jsonb_agg", "to_json", "to_jsonb",
				  "row_to_json", "unnest", "cardinality", "array_length", "pg_typeof",
				  "json_build_object", "json_build_array", "jsonb_build_object",
				  "jsonb_build_array", "concat", "concat_ws", "format", "array_append",
				  "array_prepend", "array_cat", "first_value", "last_value", "nth_value",
				  "lag", "lead", "num_nulls", "num_nonnulls", "array_ndims", "array_dims",
				  "lower", "upper", "isempty", "array_to_string", "array_to_json");
}

/* What a function written in C may do with its arguments without a call that could be seen. */
static void check_inside(struct walk *walk, const struct catalog_function *chosen, struct qualified_name name,
			 const FuncCall *call)
{
	bool written_in_sql =
		chosen && !str_is(chosen->language, "internal") && !str_is(chosen->language, "c");
	if (written_in_sql)
		return;
	if (fills_rows(name.name) && call->args)
		check_type(walk, resolution_type(walk->resolution, linitial(call->args)), name.name,
			   call->location);
	bool compares = call->agg_distinct || !never_compares(call);
	ListCell *cell;
	foreach(cell, call->args)
	{
		type_id type = resolution_type(walk->resolution, lfirst(cell));
		if (compares && (call->agg_distinct || type != TYPE_UNSURE))
			safety_check_compared_type(walk, type, call->location);
	}
	foreach(cell, call->agg_order)
		safety_check_compared(walk, ((const SortBy *)lfirst(cell))->node, call->location);
}

static size_t arguments_of(const FuncCall *call)
{
	const List *ordered = call->agg_within_group ? call->agg_order : NIL;
	return call->func_variadic ? ARGUMENTS_UNKNOWN
				   : (size_t)(list_length(call->args) + list_length(ordered));
}

void walk_call(struct walk *walk, const FuncCall *call)
{
	const struct resolved_function *resolved =
		walk->request->catalog ? resolution_function(walk->resolution, call) : NULL;
	struct called_function function = { .name = names_qualified(call->funcname),
					    .chosen = resolved ? resolved->chosen : NULL,
					    .arguments = arguments_of(call),
					    .certain = true };
	check_function(walk, &function, call->location);
	if (!function.chosen && list_length(call->args) == 1)
		check_type_named(walk, function.name, call->location);
	for (size_t i = 0; resolved && !function.chosen && i < resolved->overloads_count; i++)
		check_parameters(walk, resolved->overloads[i], call);
	if (function.chosen)
		check_parameters(walk, function.chosen, call);
	check_inside(walk, function.chosen, function.name, call);
	if (pattern_probe_function(call))
		walk->reads.probes++;
	walk_list(walk, call->args);
	walk_list(walk, call->agg_order);
	walk_node(walk, call->agg_filter);
	walk_node(walk, (const Node *)call->over);
	check_size(walk, call);
	path_check_call(walk, call);
}

/* Calls that do not look like one */

/* `certain`: it is a call, and no column or field. */
static void check_attribute(struct walk *walk, str_t name, bool certain, int location)
{
	struct called_function function = { .name = { STR_NONE, name }, .arguments = 1, .certain = certain };
	check_function(walk, &function, location);
	check_type_named(walk, function.name, location);
}

/* `a.f` is a call of f where a has no column f. The resolver knows; without it, names that are refused by the
 * text alone are refused here too. */
void walk_column(struct walk *walk, const ColumnRef *column)
{
	const struct resolved_column *resolved = resolution_column(walk->resolution, column);
	if (resolved && resolved->kind != COLUMN_UNSURE && resolved->kind != COLUMN_SUSPECTED_CALL &&
	    resolved->kind != COLUMN_FIELD)
		return;
	if (list_length(column->fields) >= 2)
		check_attribute(walk, names_qualified(column->fields).name, false, column->location);
}

/* Where `(expression).field` starts, as far as its first nodes tell. */
static int location_of(const Node *node)
{
	switch (node ? (int)nodeTag(node) : (int)T_Invalid) {
	case T_ColumnRef:
		return ((const ColumnRef *)node)->location;
	case T_FuncCall:
		return ((const FuncCall *)node)->location;
	case T_TypeCast:
		return ((const TypeCast *)node)->location;
	case T_A_Const:
		return ((const A_Const *)node)->location;
	case T_SubLink:
		return ((const SubLink *)node)->location;
	default:
		return 0;
	}
}

/* Whether the value surely has a field of that name. */
static bool has_field(const struct walk *walk, const Node *value, str_t name)
{
	const struct catalog *catalog = walk->request->catalog;
	const struct catalog_type *type =
		catalog ? catalog_type(catalog, resolution_type(walk->resolution, value)) : NULL;
	return type && catalog_columns_find(type->columns, type->columns_count, name);
}

void walk_indirection(struct walk *walk, const A_Indirection *node)
{
	walk_node(walk, node->arg);
	ListCell *cell;
	foreach(cell, node->indirection)
	{
		const Node *part = lfirst(cell);
		if (!part || !IsA(part, String)) {
			walk_node(walk, part);
			continue;
		}
		str_t name = str_from(NODE_STRING(part));
		bool first = foreach_current_index(cell) == 0;
		if (!first || !has_field(walk, node->arg, name))
			check_attribute(walk, name,
					safety_surely_no_field(walk, node, foreach_current_index(cell)),
					location_of(node->arg));
	}
}

void safety_check_suspected_calls(struct walk *walk)
{
	const struct resolution *resolution = walk->resolution;
	for (size_t i = 0; resolution && i < resolution->suspected_calls_count; i++)
		check_attribute(walk, resolution->suspected_calls[i].name,
				resolution->suspected_calls[i].certain,
				resolution->suspected_calls[i].location);
	if (resolution && str_present(resolution->missing))
		violations_doubt(walk->list, STR_FMT " is not known: " STR_FMT, STR_ARG(resolution->missing),
				 STR_ARG(walk->known.gap));
}

/* Conversions */

static void check_conversion(struct walk *walk, const struct resolved_cast *cast)
{
	if (cast->source == cast->target && cast->source != TYPE_UNSURE)
		return;
	/* Types with checks are written, or parameters, which are judged where they stand. */
	bool refused = cast->target != TYPE_UNSURE && volatile_type(walk->volatiles, cast->target);
	if (cast->cast)
		refused = refused || cast->cast->volatility == 'v';
	else if (cast->source == TYPE_UNSURE || cast->target == TYPE_UNSURE)
		refused = refused || volatile_cast(walk->volatiles, cast->source, cast->target);
	if (is_doubtful(walk, cast->target) || (cast->cast && cast->cast->volatility == VOLATILITY_UNKNOWN))
		violations_doubt(walk->list, "a conversion of types is not known: " STR_FMT,
				 STR_ARG(walk->known.gap));
	if (refused)
		WALK_VIOLATION(walk, VIOLATION_VOLATILE_FUNCTION, cast->location,
			       "a conversion of types may have side effects");
}

void safety_check_conversions(struct walk *walk)
{
	const struct resolution *resolution = walk->resolution;
	for (size_t i = 0; resolution && i < resolution->casts_count; i++)
		check_conversion(walk, &resolution->casts[i]);
}
