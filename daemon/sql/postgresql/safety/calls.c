#include "sql/postgresql/safety/walk.h" // first: see pg_nodes.h

#include "sql/postgresql/resolve/type_coercion.h"
#include "sql/postgresql/safety/paths.h"

#include <catalog/pg_type_d.h>

/* Names */

static void judge_function(struct walk *walk, const struct called_function *function, int location)
{
	struct qualified_name name = function->name;
	enum sql_violation_code code;
	if (str_present(name.name) && function_refused(function, walk->request, &code))
		WALK_VIOLATION(walk, code, location, STR_FMT "%s" STR_FMT, STR_ARG(name.schema),
			       str_present(name.schema) ? "." : "", STR_ARG(name.name));
}

static void judge_type(struct walk *walk, type_id type, str_t name, int location)
{
	if (volatile_type(walk->volatiles, type))
		WALK_VIOLATION(walk, VIOLATION_VOLATILE_FUNCTION, location,
			       "conversion to " STR_FMT ", whose checks may have side effects",
			       STR_ARG(name));
}

/* f(x) and x.f may be conversions to a type of that name. */
static void judge_type_named(struct walk *walk, struct qualified_name name, int location)
{
	const struct catalog_type *type =
		walk->request->catalog && str_present(name.name)
			? catalog_type_named(walk->request->catalog, name.schema, name.name)
			: NULL;
	if (type)
		judge_type(walk, type->id, name.name, location);
}

static const struct catalog_type *type_written(const struct walk *walk, const TypeName *type)
{
	struct qualified_name name = qualified_name(type->names);
	if (!walk->request->catalog || !str_present(name.name))
		return NULL;
	const struct catalog_type *found = catalog_type_named(walk->request->catalog, name.schema, name.name);
	return found;
}

void walk_type(struct walk *walk, const TypeName *type)
{
	if (!type)
		return;
	walk_list(walk, type->typmods);
	add_bytes(walk, qualified_name(type->names).name, bomb_type_bytes(type), type->location);
	const struct catalog_type *written = type_written(walk, type);
	if (!written)
		return;
	judge_type(walk, written->id, written->name, type->location);
	if ((written->kind == 'r' || written->kind == 'm')) /* bounds are compared when it is read */
		judge_compared_type(walk, written->id, type->location);
}

/* Calls */

void add_bytes(struct walk *walk, str_t name, double bytes, int location)
{
	double all = bytes * walk->rows;
	bool below = walk->bytes < BOMB_QUERY_BYTES;
	if (walk->in_view || bytes <= 1)
		return;
	if (bytes >= BOMB_SMALL_BYTES)
		walk->bytes += all;
	bool each_row = walk->reads.user_relations > 0 || walk->reads.system_relations > 0;
	if (bytes >= (each_row ? BOMB_ROW_BYTES : BOMB_CALL_BYTES) || all >= BOMB_QUERY_BYTES ||
	    (below && walk->bytes >= BOMB_QUERY_BYTES))
		WALK_VIOLATION(walk, VIOLATION_RESOURCE_BOMB, location, STR_FMT " of %.0f bytes",
			       STR_ARG(name), bytes);
}

static void judge_size(struct walk *walk, const FuncCall *call)
{
	struct call_size size = bomb_call_size(call, walk_look(walk));
	struct qualified_name name = qualified_name(call->funcname);
	if (walk->in_view)
		return;
	if (size.rows >= BOMB_CALL_ROWS)
		WALK_VIOLATION(walk, VIOLATION_RESOURCE_BOMB, call->location, STR_FMT " of %.0f rows",
			       STR_ARG(name.name), size.rows);
	else
		add_bytes(walk, name.name, size.bytes, call->location);
	if (size.work >= BOMB_WORK)
		WALK_VIOLATION(walk, VIOLATION_RESOURCE_BOMB, call->location, STR_FMT " in %.0f steps",
			       STR_ARG(name.name), size.work);
	if (size.rows > 1 && size.rows < BOMB_CALL_ROWS)
		multiply_rows(walk, size.rows, call->location);
}

static type_id type_of(const struct walk *walk, const Node *node)
{
	return walk->resolution && node ? resolution_type(walk->resolution, node) : TYPE_UNSURE;
}

/* Parameters whose types have volatile checks, where something else is given for them. */
static void judge_parameters(struct walk *walk, const struct catalog_function *function, const FuncCall *call)
{
	for (unsigned i = 0; i < function->arguments; i++) {
		type_id parameter = function->argument_types[i];
		const Node *argument = (int)i < list_length(call->args) ? list_nth(call->args, (int)i) : NULL;
		if (argument && type_of(walk, argument) != parameter)
			judge_type(walk, parameter, function->name, call->location);
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
	static const char *const names[] = {
		"count",
		"array_agg",
		"json_agg",
		"jsonb_agg",
		"to_json",
		"to_jsonb",
		"row_to_json",
		"unnest",
		"cardinality",
		"array_length",
		"pg_typeof",
		"json_build_object",
		"json_build_array",
		"jsonb_build_object",
		"jsonb_build_array",
		"concat",
		"concat_ws",
		"format",
		"array_append",
		"array_prepend",
		"array_cat",
		"first_value",
		"last_value",
		"nth_value",
		"lag",
		"lead",
		"num_nulls",
		"num_nonnulls",
		"array_ndims",
		"array_dims",
		"lower",
		"upper",
		"isempty",
		"array_to_string",
		"array_to_json",
	};
	return call_is_one_of(call, names, sizeof names / sizeof names[0]);
}

/* What a function written in C may do with its arguments without a call that could be seen. */
static void judge_inside(struct walk *walk, const struct catalog_function *chosen, struct qualified_name name,
			 const FuncCall *call)
{
	bool written_in_sql =
		chosen && !str_is(chosen->language, "internal") && !str_is(chosen->language, "c");
	if (written_in_sql)
		return;
	if (fills_rows(name.name) && call->args)
		judge_type(walk, type_of(walk, linitial(call->args)), name.name, call->location);
	bool compares = call->agg_distinct || !never_compares(call);
	ListCell *cell;
	foreach(cell, call->args)
	{
		type_id type = type_of(walk, lfirst(cell));
		if (compares && (call->agg_distinct || type != TYPE_UNSURE))
			judge_compared_type(walk, type, call->location);
	}
	foreach(cell, call->agg_order)
		judge_compared(walk, ((const SortBy *)lfirst(cell))->node, call->location);
}

void walk_call(struct walk *walk, const FuncCall *call)
{
	const struct resolved_function *resolved = walk->resolution && walk->request->catalog
							   ? resolution_function(walk->resolution, call)
							   : NULL;
	struct called_function function = { .name = qualified_name(call->funcname),
					    .chosen = resolved ? resolved->chosen : NULL,
					    .arguments = call->func_variadic
								 ? ARGUMENTS_UNKNOWN
								 : (size_t)list_length(call->args),
					    .certain = true };
	judge_function(walk, &function, call->location);
	if (!function.chosen && list_length(call->args) == 1)
		judge_type_named(walk, function.name, call->location);
	for (size_t i = 0; resolved && !function.chosen && i < resolved->overloads_count; i++)
		judge_parameters(walk, resolved->overloads[i], call);
	if (function.chosen)
		judge_parameters(walk, function.chosen, call);
	judge_inside(walk, function.chosen, function.name, call);
	if (pattern_probe_function(call))
		walk->reads.probes++;
	walk_list(walk, call->args);
	walk_list(walk, call->agg_order);
	walk_node(walk, call->agg_filter);
	walk_node(walk, (const Node *)call->over);
	judge_size(walk, call);
	judge_path_call(walk, call);
}

/* Calls that do not look like one */

static void judge_attribute(struct walk *walk, str_t name, int location)
{
	struct called_function function = { .name = { STR_NONE, name }, .arguments = 1, .certain = false };
	judge_function(walk, &function, location);
	judge_type_named(walk, function.name, location);
}

/* `a.f` is a call of f where a has no column f. The resolver knows; without it, names that are refused by the
 * text alone are refused here too. */
void walk_column(struct walk *walk, const ColumnRef *column)
{
	const struct resolved_column *resolved =
		walk->resolution ? resolution_column(walk->resolution, column) : NULL;
	if (resolved && resolved->kind != COLUMN_UNSURE && resolved->kind != COLUMN_SUSPECTED_CALL &&
	    resolved->kind != COLUMN_FIELD)
		return;
	if (list_length(column->fields) >= 2)
		judge_attribute(walk, qualified_name(column->fields).name, column->location);
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
	const struct catalog_type *type =
		walk->request->catalog ? catalog_type(walk->request->catalog, type_of(walk, value)) : NULL;
	for (size_t i = 0; type && i < type->columns_count; i++)
		if (str_equal(type->columns[i].name, name))
			return true;
	return false;
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
		if (foreach_current_index(cell) > 0 || !has_field(walk, node->arg, name))
			judge_attribute(walk, name, location_of(node->arg));
	}
}

void judge_suspected_calls(struct walk *walk)
{
	const struct resolution *resolution = walk->resolution;
	for (size_t i = 0; resolution && i < resolution->suspected_calls_count; i++)
		judge_attribute(walk, resolution->suspected_calls[i].name,
				resolution->suspected_calls[i].location);
}

/* Conversions */

static void judge_conversion(struct walk *walk, const struct resolved_cast *cast)
{
	if (cast->source == cast->target && cast->source != TYPE_UNSURE)
		return;
	/* Types with checks are written, or parameters, which are judged where they stand. */
	bool refused = cast->target != TYPE_UNSURE && volatile_type(walk->volatiles, cast->target);
	if (cast->cast)
		refused = refused || cast->cast->volatility == 'v';
	else if (cast->source == TYPE_UNSURE || cast->target == TYPE_UNSURE)
		refused = refused || volatile_cast(walk->volatiles, cast->source, cast->target);
	if (refused)
		WALK_VIOLATION(walk, VIOLATION_VOLATILE_FUNCTION, cast->location,
			       "a conversion of types may have side effects");
}

void judge_conversions(struct walk *walk)
{
	const struct resolution *resolution = walk->resolution;
	for (size_t i = 0; resolution && i < resolution->casts_count; i++)
		judge_conversion(walk, &resolution->casts[i]);
}

/* Operators */

static void report_operator(struct walk *walk, enum sql_violation_code code, struct qualified_name op,
			    int location)
{
	WALK_VIOLATION(walk, code, location, "operator " STR_FMT "%s" STR_FMT, STR_ARG(op.schema),
		       str_present(op.schema) ? "." : "", STR_ARG(op.name));
}

/* Whether an operand surely cannot stand where the overload wants `wanted`. */
static bool never_fits(const struct walk *walk, const Node *operand, type_id wanted)
{
	type_id type = type_of(walk, operand);
	return type != TYPE_UNSURE && wanted != TYPE_UNSURE &&
	       type_can_coerce(walk->request->catalog, type, wanted, CAST_IMPLICIT) == SURELY_NOT;
}

/* Whether the operand's type has checks that may have side effects. */
static bool operand_converts(const struct walk *walk, type_id wanted)
{
	return wanted != TYPE_UNSURE && volatile_type(walk->volatiles, wanted);
}

/* Any overload that could be meant. */
static void judge_overloads(struct walk *walk, struct qualified_name name, const Node *left,
			    const Node *right, int location)
{
	size_t count;
	const struct catalog_operator *const *overloads =
		catalog_operators(walk->request->catalog, name.schema, name.name, &count);
	for (size_t i = 0; i < count; i++) {
		enum sql_violation_code code;
		bool converts = operand_converts(walk, overloads[i]->left) ||
				operand_converts(walk, overloads[i]->right);
		if (converts)
			code = VIOLATION_VOLATILE_FUNCTION;
		else if (!operator_refused(overloads[i], walk->request->policy, &code))
			continue;
		if (never_fits(walk, left, overloads[i]->left) ||
		    never_fits(walk, right, overloads[i]->right))
			continue;
		report_operator(walk, code, name, location);
		return;
	}
}

/* Whether the value is made of others, which a comparison looks into; not a row that is written out, whose
 * parts have operators of their own. */
static bool is_container(const struct walk *walk, const Node *operand, type_id type)
{
	const struct catalog_type *found = catalog_type(walk->request->catalog, type);
	if (!found || IsA(operand, RowExpr))
		return false;
	return type == RECORDOID || found->element != TYPE_UNSURE || found->kind == 'c' ||
	       found->kind == 'r' || found->kind == 'm';
}

/* Operators of the system on arrays, rows and ranges compare what is in them. */
static void judge_operands(struct walk *walk, const struct catalog_operator *chosen, const Node *left,
			   const Node *right, int location)
{
	const Node *const operands[] = { left, right };
	for (size_t i = 0; i < 2; i++) {
		type_id type = type_of(walk, operands[i]);
		if (operands[i] && is_container(walk, operands[i], type))
			judge_compared_type(walk, type, location);
	}
	bool any_kind = chosen && chosen->is_system &&
			(type_is_polymorphic(chosen->left) || chosen->left == RECORDOID);
	if (!left && !right && any_kind)
		judge_compared_type(walk, TYPE_UNSURE, location);
}

void judge_operators(struct walk *walk, const void *node, struct qualified_name name, const Node *left,
		     const Node *right, int location)
{
	enum sql_violation_code code;
	if (!walk->request->catalog) {
		if (operator_name_refused(name, walk->request, &code))
			report_operator(walk, code, name, location);
		return;
	}
	const struct resolved_operator *applied =
		walk->resolution ? resolution_operator(walk->resolution, node) : NULL;
	if (!applied) {
		judge_overloads(walk, name, left, right, location);
		judge_operands(walk, NULL, left, right, location);
	}
	bool several = applied && applied->next;
	for (; applied; applied = applied->next) {
		struct qualified_name applied_name = { applied->schema, applied->name };
		if (!applied->chosen)
			judge_overloads(walk, applied_name, several ? NULL : left, several ? NULL : right,
					location);
		else if (operator_refused(applied->chosen, walk->request->policy, &code))
			report_operator(walk, code, applied_name, location);
		judge_operands(walk, applied->chosen, left, right, location);
	}
}

static bool is_between(A_Expr_Kind kind)
{
	return kind == AEXPR_BETWEEN || kind == AEXPR_NOT_BETWEEN || kind == AEXPR_BETWEEN_SYM ||
	       kind == AEXPR_NOT_BETWEEN_SYM;
}

/* Numbers of any number of digits; others overflow, which is no more than an error. */
static void judge_power(struct walk *walk, const A_Expr *expr)
{
	struct qualified_name name = qualified_name(expr->name);
	if (!walk->in_view && str_is(name.name, "^") &&
	    bomb_power_digits(expr->lexpr, expr->rexpr, walk_look(walk)) >= BOMB_DIGITS)
		WALK_VIOLATION(walk, VIOLATION_RESOURCE_BOMB, expr->location, "a number of too many digits");
}

/* LIKE, similarity and the like go through one text for each place in the other. */
static void judge_work(struct walk *walk, const A_Expr *expr)
{
	struct qualified_name name = qualified_name(expr->name);
	bool compares = expr->kind == AEXPR_LIKE || expr->kind == AEXPR_ILIKE ||
			expr->kind == AEXPR_SIMILAR ||
			(str_present(name.name) && strchr("~%", name.name.ptr[0])) ||
			(name.name.len > 2 && strchr(name.name.ptr, '-'));
	if (compares && !walk->in_view && expr->lexpr && expr->rexpr &&
	    bomb_work(expr->lexpr, expr->rexpr, walk_look(walk)) >= BOMB_WORK)
		WALK_VIOLATION(walk, VIOLATION_RESOURCE_BOMB, expr->location,
			       "texts that are compared at every place");
}

/* A chain a || b || c is judged as a whole. */
static void judge_concatenation(struct walk *walk, const A_Expr *expr)
{
	struct qualified_name name = qualified_name(expr->name);
	if (!str_is(name.name, "||"))
		return;
	if (walk->judged != expr)
		add_bytes(walk, name.name, bomb_bytes((const Node *)expr, walk_look(walk)), expr->location);
	walk->judged = expr->lexpr;
}

void walk_operator(struct walk *walk, const A_Expr *expr)
{
	judge_power(walk, expr);
	judge_work(walk, expr);
	judge_concatenation(walk, expr);
	const char *op = expr->name ? NODE_STRING(llast(expr->name)) : "";
	if (strcmp(op, "@?") == 0 || strcmp(op, "@@") == 0)
		judge_json_path(walk, expr->rexpr, expr->location);
	bool right_is_many = expr->kind == AEXPR_OP_ANY || expr->kind == AEXPR_OP_ALL ||
			     expr->kind == AEXPR_IN || is_between(expr->kind);
	const Node *right = right_is_many ? NULL : expr->rexpr;
	if (is_between(expr->kind)) {
		judge_operators(walk, expr, (struct qualified_name){ STR_NONE, STR("<=") }, expr->lexpr,
				right, expr->location);
		judge_operators(walk, expr, (struct qualified_name){ STR_NONE, STR(">=") }, expr->lexpr,
				right, expr->location);
	} else {
		judge_operators(walk, expr, qualified_name(expr->name), expr->lexpr, right, expr->location);
	}
	walk_node(walk, expr->lexpr);
	walk_node(walk, expr->rexpr);
}
