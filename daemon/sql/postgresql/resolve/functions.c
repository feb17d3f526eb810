#include "sql/postgresql/resolve/internal.h"

#include "sql/findings/instead.h"
#include "sql/postgresql/resolve/equal.h"
#include "sql/postgresql/resolve/type_overload.h"

#include "catalog/pg_type_d.h"

/* The arguments of one call, as they are given: those of WITHIN GROUP last. */
struct arguments {
	const Node **nodes;
	type_id *types;
	str_t *names; /* of those that are named */
	size_t count;
	size_t names_count;
};

static const Node *value_of_argument(const Node *node)
{
	return IsA(node, NamedArgExpr) ? (const Node *)((const NamedArgExpr *)node)->arg : node;
}

static void add_argument(struct resolver *resolver, struct scope *scope, struct arguments *arguments,
			 const Node *node)
{
	const Node *value = value_of_argument(node);
	if (IsA(node, NamedArgExpr))
		arguments->names[arguments->names_count++] = str_from(((const NamedArgExpr *)node)->name);
	arguments->nodes[arguments->count] = value;
	arguments->types[arguments->count++] = resolve_expression(resolver, scope, value);
}

static struct arguments resolve_arguments(struct resolver *resolver, struct scope *scope,
					  const FuncCall *call)
{
	const List *ordered = call->agg_within_group ? call->agg_order : NIL;
	size_t capacity = (size_t)list_length(call->args) + (size_t)list_length(ordered);
	struct arguments arguments = { ARENA_ARRAY(resolver->arena, const Node *, capacity),
				       ARENA_ARRAY(resolver->arena, type_id, capacity),
				       ARENA_ARRAY(resolver->arena, str_t, capacity), 0, 0 };
	const ListCell *cell;
	foreach(cell, call->args) add_argument(resolver, scope, &arguments, lfirst(cell));
	foreach(cell, ordered) add_argument(resolver, scope, &arguments, lfirst_node(SortBy, cell)->node);
	return arguments;
}

/* The keys by which a plain aggregate is ordered, which are no arguments. */
static void resolve_order_within(struct resolver *resolver, struct scope *scope, const FuncCall *call)
{
	const ListCell *cell;
	foreach(cell, call->agg_within_group ? NIL : call->agg_order)(void)
		resolve_expression(resolver, scope, lfirst_node(SortBy, cell)->node);
}

static str_t written_types(struct resolver *resolver, const struct arguments *arguments)
{
	str_t text = STR("");
	for (size_t i = 0; i < arguments->count && i < 20; i++) {
		str_t type = type_text(resolver->catalog, arguments->types[i]);
		text = arena_printf(resolver->arena, STR_FMT "%s" STR_FMT, STR_ARG(text), i > 0 ? ", " : "",
				    STR_ARG(type));
	}
	return text;
}

static void report_no_function(struct resolver *resolver, const FuncCall *call,
			       const struct resolved_function *function, const struct arguments *arguments,
			       bool ambiguous, bool some_take_count)
{
	if (function->overloads_count == 0) {
		if (resolver_lacks_names(resolver))
			return;
		bool foreign = list_length(call->funcname) > 2;
		str_t hint = instead_of_function(function->name, SQL_POSTGRESQL, resolver->arena);
		if (hint.len == 0 && resolver_wants_hint(resolver))
			hint = catalog_function_hint(resolver->catalog, function->name, resolver->arena);
		diagnostics_add_state(
			resolver->diagnostics, DIAG_UNKNOWN_FUNCTION, SUB_NONE,
			foreign ? "0A000" : resolver_missing_sqlstate(resolver, function->schema, "42883"),
			function->name, call->location, "function \"" STR_FMT "\" does not exist" STR_FMT,
			STR_ARG(function->name), STR_ARG(hint));
		return;
	}
	str_t types = written_types(resolver, arguments);
	diagnostics_add_state(resolver->diagnostics, DIAG_UNKNOWN_FUNCTION,
			      ambiguous ? SUB_UNKNOWN_FUNCTION_AMBIGUOUS : SUB_NONE,
			      ambiguous ? "42725" : "42883", function->name, call->location,
			      "%s \"" STR_FMT "\" takes (" STR_FMT ")%s",
			      ambiguous ? "more than one function" : "no function", STR_ARG(function->name),
			      STR_ARG(types), some_take_count || ambiguous ? "; a cast may be missing" : "");
}

/* A row of FROM that surely has no such column. */
static bool is_row_without(const struct resolver *resolver, const Node *node, str_t name)
{
	const struct resolved_column *row = resolution_column(resolver->resolution, node);
	return row && row->kind == COLUMN_WHOLE_ROW && row->item && !row->item->open &&
	       !range_columns_find(row->item->columns, row->item->columns_count, name);
}

/* `f(x)` for the column f of the row x: whether there is one, and its type. */
static enum certainty column_of_argument(struct resolver *resolver, const FuncCall *call,
					 const struct arguments *arguments, type_id *ret_type)
{
	if (arguments->count != 1 || list_length(call->funcname) != 1 || IsA(arguments->nodes[0], RowExpr))
		return SURELY_NOT;
	str_t name = str_from(names_last(call->funcname));
	type_id type = arguments->types[0];
	const struct catalog_type *row = type_composite(resolver->catalog, type);
	if (type == RECORDOID && is_row_without(resolver, arguments->nodes[0], name))
		return SURELY_NOT;
	if (type == TYPE_UNSURE || type == RECORDOID)
		return PERHAPS;
	const struct catalog_column *column =
		row ? catalog_columns_find(row->columns, row->columns_count, name) : NULL;
	if (!column)
		return row && row->relation && row->relation->is_open ? PERHAPS : SURELY_NOT;
	*ret_type = column->value_type;
	return SURELY;
}

/* `f(x)` for a cast to the type f. */
static type_id type_of_call(struct resolver *resolver, const struct resolved_function *function,
			    const struct arguments *arguments)
{
	if (arguments->count != 1 || arguments->names_count > 0 ||
	    !catalog_has_type(resolver->catalog, function->schema.ptr ? function->schema : STR(""),
			      function->name))
		return TYPE_UNSURE;
	const struct catalog_type *type =
		catalog_type_named(resolver->catalog, function->schema, function->name);
	return type && type->kind != 'c' ? type->id : TYPE_UNSURE;
}

static void report_use(struct resolver *resolver, const FuncCall *call,
		       const struct resolved_function *function, enum sql_diagnostic_code code,
		       const char *sqlstate, const char *message)
{
	diagnostics_add_state(resolver->diagnostics, code, SUB_NONE, sqlstate, function->name, call->location,
			      "\"" STR_FMT "\" %s", STR_ARG(function->name), message);
}

/* What only aggregates have. */
static void check_plain_use(struct resolver *resolver, const FuncCall *call,
			    const struct resolved_function *function)
{
	const char *what = call->agg_star	    ? "is no aggregate and cannot be called with *"
			   : call->agg_distinct	    ? "is no aggregate: DISTINCT has no meaning there"
			   : call->agg_within_group ? "is no aggregate: WITHIN GROUP has no meaning there"
			   : call->agg_order	    ? "is no aggregate: ORDER BY has no meaning there"
			   : call->agg_filter	    ? "is no aggregate: FILTER has no meaning there"
			   : call->over		    ? "is neither a window function nor an aggregate"
						    : NULL;
	if (what)
		report_use(resolver, call, function, DIAG_INVALID_AGGREGATE, "42809", what);
}

/* What a call as a window function cannot have. */
static void check_window_use(struct resolver *resolver, const FuncCall *call,
			     const struct resolved_function *function, bool is_aggregate)
{
	const char *what = call->agg_distinct ? "cannot have DISTINCT with OVER"
			   : call->agg_order  ? "cannot have ORDER BY among its arguments with OVER"
			   : !is_aggregate && call->agg_filter
				   ? "is no aggregate: FILTER has no meaning there"
				   : NULL;
	if (what)
		report_use(resolver, call, function, DIAG_INVALID_WINDOW, "0A000", what);
	else if (!is_aggregate && call->agg_star && function->chosen->arguments > 0)
		report_use(resolver, call, function, DIAG_INVALID_WINDOW, "42809", "needs its arguments");
}

/* A hypothetical row has as many values as WITHIN GROUP orders by. */
static bool direct_arguments_fit(const FuncCall *call, const struct catalog_function *function)
{
	unsigned direct = (unsigned)list_length(call->args);
	if (function->aggregate == 'h' && function->is_variadic)
		return direct == (unsigned)list_length(call->agg_order);
	return function->aggregate != 'o' || function->is_variadic || direct == function->direct_arguments;
}

static bool check_aggregate_use(struct resolver *resolver, const FuncCall *call,
				const struct resolved_function *function)
{
	bool plain = function->chosen->aggregate != 'o' && function->chosen->aggregate != 'h';
	const char *sqlstate = "42809", *what = NULL;
	if (plain && call->agg_within_group) {
		what = "is no ordered-set aggregate and cannot have WITHIN GROUP";
	} else if (!plain && !call->agg_within_group) {
		what = "is an ordered-set aggregate and needs WITHIN GROUP";
	} else if (!plain && call->over) {
		what = "is an ordered-set aggregate and cannot have OVER";
		sqlstate = "0A000";
	} else if (call->args == NIL && !call->agg_star && !call->agg_within_group) {
		what = "has to be called with *";
	}
	if (what)
		report_use(resolver, call, function, DIAG_INVALID_AGGREGATE, sqlstate, what);
	if (what || plain || direct_arguments_fit(call, function->chosen))
		return !what;
	report_use(resolver, call, function, DIAG_UNKNOWN_FUNCTION, "42883",
		   "takes another number of arguments before WITHIN GROUP");
	return false;
}

static bool is_untyped(const struct resolver *resolver, const Node *node)
{
	return IsA(node, A_Const) && resolution_type(resolver->resolution, node) == UNKNOWNOID;
}

/* Whether ORDER BY's `key` may be the argument, as DISTINCT, which sorts by the arguments alone, wants it.
 * These have been converted to what the aggregate takes, and keys have not. */
static bool is_argument(struct resolver *resolver, const struct catalog_function *aggregate,
			const struct arguments *arguments, size_t at, const Node *key)
{
	const Node *argument = arguments->nodes[at];
	if (!expression_outputs_may_equal(resolver, key, argument) || !aggregate || !IsA(argument, A_Const))
		return expression_outputs_may_equal(resolver, key, argument);
	bool stays = at < aggregate->arguments && aggregate->argument_types[at] == ANYOID;
	if (is_untyped(resolver, key))
		return stays || aggregate->is_variadic;
	if (is_untyped(resolver, argument))
		return !stays;
	type_id type = resolution_type(resolver->resolution, key);
	return type == TYPE_UNSURE || !IsA(key, A_Const) ||
	       type == resolution_type(resolver->resolution, argument);
}

/* DISTINCT compares its arguments, ORDER BY its keys. */
static void check_aggregate_keys(struct resolver *resolver, const FuncCall *call,
				 const struct resolved_function *function, const struct arguments *arguments)
{
	const ListCell *cell;
	for (size_t i = 0; call->agg_distinct && i < arguments->count; i++) {
		if (type_has_order(resolver->catalog, arguments->types[i]) == SURELY_NOT)
			report_use(resolver, call, function, DIAG_UNKNOWN_FUNCTION, "42883",
				   "with DISTINCT: the values cannot be compared");
	}
	foreach(cell, call->agg_order)
	{
		const Node *key = lfirst_node(SortBy, cell)->node;
		if (type_has_order(resolver->catalog, resolution_type(resolver->resolution, key)) ==
		    SURELY_NOT)
			report_use(resolver, call, function, DIAG_UNKNOWN_FUNCTION, "42883",
				   "with ORDER BY: the values cannot be ordered");
	}
	bool same = true;
	foreach(cell, call->agg_distinct && !call->agg_within_group ? call->agg_order : NIL)
	{
		const Node *key = lfirst_node(SortBy, cell)->node;
		bool found = false;
		for (size_t i = 0; i < arguments->count && !found; i++)
			found = is_argument(resolver, function->chosen, arguments, i, key);
		same = same && found;
	}
	if (!same)
		report_use(resolver, call, function, DIAG_INVALID_ORDER, "42P10",
			   "with DISTINCT: ORDER BY expressions have to be among the arguments");
}

/* 'f', 'a', 'w', 'p' where all that could be meant are of that kind, else '\0'. */
static char kind_of(const struct resolver *resolver, const FuncCall *call,
		    const struct resolved_function *function)
{
	if (function->chosen)
		return function->chosen->kind;
	if (function->overloads_count == 0)
		return !resolver->catalog &&
				       (resolve_is_aggregate_name(function->name) || call->agg_star ||
					call->agg_within_group || call->agg_distinct || call->agg_filter)
			       ? 'a'
			       : '\0';
	for (size_t i = 1; i < function->overloads_count; i++) {
		if (function->overloads[i]->kind != function->overloads[0]->kind)
			return '\0';
	}
	return function->overloads[0]->kind;
}

static void count_as_aggregate(struct resolver *resolver, struct scope *scope, const FuncCall *call,
			       struct resolved_function *function, const struct marks *marks)
{
	place_check_aggregate(resolver, scope, marks, names_last(call->funcname), call->location,
			      &function->aggregate_level);
}

/* The values of a hypothetical row and those that they are ranked among. */
static void unify_hypothetical(struct resolver *resolver, const FuncCall *call,
			       const struct arguments *arguments)
{
	for (int i = 0; i < list_length(call->agg_order) && (size_t)i < arguments->count; i++) {
		const Node *nodes[] = { arguments->nodes[i],
					((const SortBy *)list_nth(call->agg_order, i))->node };
		const type_id types[] = { arguments->types[i],
					  resolution_type(resolver->resolution, nodes[1]) };
		(void)resolver_common_type(resolver, nodes, types, 2, "WITHIN GROUP", call->location);
	}
}

/* Checks that depend on what kind of function is called, and where. */
static void check_use(struct resolver *resolver, struct scope *scope, const FuncCall *call,
		      struct resolved_function *function, const struct arguments *arguments,
		      const struct marks *marks)
{
	const char *name = names_last(call->funcname);
	char kind = kind_of(resolver, call, function);
	if (kind == 'a' && !call->over) {
		if (function->chosen && !check_aggregate_use(resolver, call, function))
			return;
		if (function->chosen && function->chosen->aggregate == 'h')
			unify_hypothetical(resolver, call, arguments);
		if (function->chosen)
			check_aggregate_keys(resolver, call, function, arguments);
		count_as_aggregate(resolver, scope, call, function, marks);
	} else if (kind == 'a' || kind == 'w' || (kind == '\0' && call->over)) {
		if (function->chosen && kind == 'a' && !check_aggregate_use(resolver, call, function))
			return;
		if (function->chosen && !call->over) {
			report_use(resolver, call, function, DIAG_INVALID_WINDOW, "42809",
				   "is a window function and needs OVER");
			return;
		}
		if (function->chosen)
			check_window_use(resolver, call, function, kind == 'a');
		if (marks->windows & level_bit(scope->level))
			report_use(resolver, call, function, DIAG_INVALID_WINDOW, "42P20",
				   "is a window function within another's arguments");
		if (marks->sets & level_bit(scope->level))
			report_use(resolver, call, function, DIAG_INVALID_SET_FUNCTION, "0A000",
				   "is a window function whose arguments return sets");
		place_check_window(resolver, scope, name, call->location);
	} else if (kind == 'p') {
		report_use(resolver, call, function, DIAG_UNKNOWN_FUNCTION, "42809",
			   "is a procedure: it has to be called with CALL");
	} else if (kind == 'f' && function->chosen) {
		check_plain_use(resolver, call, function);
	}
	if (function->chosen && function->chosen->returns_set)
		place_check_set(resolver, scope, name, call->location,
				scope->place == PLACE_FROM_FUNCTION &&
					resolver->top_function != (const Node *)call);
}

static void note_arguments(struct resolver *resolver, const struct arguments *arguments,
			   const struct overload_choice *choice)
{
	for (size_t i = 0; i < arguments->count; i++) {
		type_id parameter = choice->result == OVERLOAD_FOUND ? choice->parameters[i] : TYPE_UNSURE;
		if (parameter != ANYOID)
			(void)resolver_coerce_value(resolver, arguments->nodes[i], arguments->types[i],
						    parameter, CAST_IMPLICIT);
	}
}

/* No overload fits: a column of a row, or an error. */
static type_id resolve_otherwise(struct resolver *resolver, const FuncCall *call,
				 struct resolved_function *function, const struct arguments *arguments,
				 const struct overload_choice *choice)
{
	bool plain = !call->agg_star && !call->agg_distinct && !call->over && !call->agg_order &&
		     !call->agg_filter && !call->func_variadic;
	type_id type = TYPE_UNSURE;
	resolver_note_missing(resolver, "function", function->name);
	if (plain && column_of_argument(resolver, call, arguments, &type) != SURELY_NOT) {
		function->kind = FUNCTION_CAST;
		return type;
	}
	function->kind = function->overloads_count > 0 ? FUNCTION_KNOWN : FUNCTION_UNKNOWN;
	report_no_function(resolver, call, function, arguments, choice->result == OVERLOAD_AMBIGUOUS,
			   choice->some_take_count);
	return TYPE_UNSURE;
}

static type_id choose(struct resolver *resolver, const FuncCall *call, struct resolved_function *function,
		      const struct arguments *arguments)
{
	struct overload_choice choice;
	struct overload_call wanted = { .types = arguments->types,
					.count = arguments->count,
					.names = arguments->names,
					.names_count = arguments->names_count,
					.is_variadic = call->func_variadic };
	function->overloads = catalog_functions(resolver->catalog, function->schema, function->name,
						&function->overloads_count);
	wanted.cast_target = type_of_call(resolver, function, arguments);
	overload_choose_function(resolver->catalog, &resolver->coercions, function->overloads,
				 function->overloads_count, &wanted, &choice);
	if (choice.result == OVERLOAD_CAST) {
		function->kind = FUNCTION_CAST;
		check_plain_use(resolver, call, function);
		(void)resolver_coerce_value(resolver, arguments->nodes[0], arguments->types[0], choice.value,
					    CAST_EXPLICIT);
		return choice.value;
	}
	if (choice.result == OVERLOAD_NONE || choice.result == OVERLOAD_AMBIGUOUS)
		return resolve_otherwise(resolver, call, function, arguments, &choice);
	function->kind = FUNCTION_KNOWN;
	function->chosen = choice.function;
	note_arguments(resolver, arguments, &choice);
	if (choice.poly_unknown)
		report_use(resolver, call, function, DIAG_INVALID_TYPE, "42804",
			   "takes any type, and its arguments are quoted literals without one");
	return choice.value;
}

void marks_merge(struct marks *marks, const struct marks *more)
{
	marks->columns |= more->columns;
	marks->aggregates |= more->aggregates;
	marks->windows |= more->windows;
	marks->sets |= more->sets;
	marks->unsure |= more->unsure;
}

type_id resolve_function(struct resolver *resolver, struct scope *scope, const FuncCall *call)
{
	struct resolved_function *function = ARENA_NEW(resolver->arena, struct resolved_function);
	struct marks outer = resolver->marks;
	struct qualified_name name = names_qualified(call->funcname);
	type_id type = TYPE_UNSURE;
	*function = (struct resolved_function){ .kind = FUNCTION_UNSURE,
						.schema = name.schema,
						.name = name.name };
	resolver_record(resolver, call, function);
	resolver->marks = (struct marks){ 0 };
	struct arguments arguments = resolve_arguments(resolver, scope, call);
	resolve_condition(resolver, scope, call->agg_filter, PLACE_FILTER, "FILTER");
	resolve_order_within(resolver, scope, call);
	struct marks marks = resolver->marks;
	bool is_foreign = resolver_list_names_other_database(resolver, call->funcname, 2, call->location);
	if (resolver_knows_types(resolver) && !is_foreign)
		type = choose(resolver, call, function, &arguments);
	check_use(resolver, scope, call, function, &arguments, &marks);
	marks_merge(&resolver->marks, &outer);
	if (call->over)
		resolve_over(resolver, scope, call->over);
	return type;
}
