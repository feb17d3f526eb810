#include "sql/postgresql/ddl/internal.h"

#include <catalog/pg_type_d.h>

/* Parameters of a function while its statement is read. */
struct parameters {
	struct ddl_compiler *compiler;
	type_id *types;
	str_t *names;
	type_id *output_types;
	str_t *output_names;
	unsigned count;
	unsigned defaults;
	size_t outputs;
	bool some_named;
	type_id variadic;
	bool is_variadic;
	char volatility; /* of the defaults */
	struct type_list uses;
};

static void add_default(struct parameters *parameters, const Node *expression)
{
	struct type_list uses;
	if (!expression)
		return;
	parameters->defaults++;
	parameters->volatility = catalog_worse(
		parameters->volatility, ddl_expression_volatility(parameters->compiler, expression, &uses));
	parameters->uses = ddl_join_uses(parameters->compiler, parameters->uses, uses);
}

static void add_parameter(struct parameters *parameters, const FunctionParameter *parameter)
{
	FunctionParameterMode mode = parameter->mode;
	struct ddl_type type = ddl_type_of(parameters->compiler, parameter->argType);
	str_t name = str_from(parameter->name ? parameter->name : "");
	if (mode == FUNC_PARAM_OUT || mode == FUNC_PARAM_TABLE || mode == FUNC_PARAM_INOUT) {
		parameters->output_types[parameters->outputs] = type.id;
		parameters->output_names[parameters->outputs++] = name;
	}
	if (mode == FUNC_PARAM_OUT || mode == FUNC_PARAM_TABLE)
		return;
	parameters->some_named |= name.len > 0;
	parameters->types[parameters->count] = type.id;
	parameters->names[parameters->count++] = name;
	add_default(parameters, parameter->defexpr);
	if (mode == FUNC_PARAM_VARIADIC) {
		const struct catalog_type *array =
			catalog_type(parameters->compiler->builder.catalog, type.id);
		parameters->is_variadic = true;
		parameters->variadic = type.id == ANYOID	? ANYOID
				       : type.id == ANYARRAYOID ? ANYELEMENTOID
				       : type.id == ANYCOMPATIBLEARRAYOID
					       ? ANYCOMPATIBLEOID
					       : (array ? array->element : TYPE_UNSURE);
	}
}

static struct parameters read_parameters(struct ddl_compiler *compiler, const List *list)
{
	size_t max = (size_t)list_length(list);
	struct arena *scratch = compiler->builder.scratch;
	struct parameters parameters = { .compiler = compiler,
					 .types = ARENA_ARRAY(scratch, type_id, max),
					 .names = ARENA_ARRAY(scratch, str_t, max),
					 .output_types = ARENA_ARRAY(scratch, type_id, max),
					 .output_names = ARENA_ARRAY(scratch, str_t, max),
					 .volatility = 'i' };
	const ListCell *cell;
	foreach(cell, list) add_parameter(&parameters, lfirst_node(FunctionParameter, cell));
	return parameters;
}

static struct catalog_function function_of(const struct parameters *parameters, const List *names)
{
	struct qualified_name name = names_qualified(names);
	return (struct catalog_function){ .schema = ddl_schema_of(parameters->compiler, name.schema),
					  .name = name.name,
					  .kind = 'f',
					  .is_public = true,
					  .may_execute = true,
					  .is_variadic = parameters->is_variadic,
					  .arguments = parameters->count,
					  .defaults = parameters->defaults,
					  .argument_types = parameters->types,
					  .argument_names = parameters->some_named ? parameters->names : NULL,
					  .variadic = parameters->variadic,
					  .outputs = parameters->output_names,
					  .output_types = parameters->output_types,
					  .outputs_count = parameters->outputs };
}

static bool is_true(const DefElem *option)
{
	return option->arg && IsA(option->arg, Boolean) && ((const Boolean *)option->arg)->boolval;
}

/* Options of CREATE and ALTER FUNCTION; what does not bear on queries is passed over. */
static void read_options(struct catalog_function *function, const List *options)
{
	const ListCell *cell;
	foreach(cell, options)
	{
		const DefElem *option = lfirst_node(DefElem, cell);
		bool is_text = option->arg && IsA(option->arg, String);
		if (strcmp(option->defname, "volatility") == 0 && is_text)
			function->volatility = NODE_STRING(option->arg)[0];
		else if (strcmp(option->defname, "language") == 0 && is_text)
			function->language = str_from(NODE_STRING(option->arg));
		else if (strcmp(option->defname, "strict") == 0)
			function->is_strict = is_true(option);
		else if (strcmp(option->defname, "security") == 0)
			function->is_security_definer = is_true(option);
		else if (strcmp(option->defname, "window") == 0 && is_true(option))
			function->kind = 'w';
	}
}

static bool same_arguments(const struct catalog_function *a, const struct catalog_function *b)
{
	if (a->arguments != b->arguments)
		return false;
	for (size_t i = 0; i < a->arguments; i++) {
		if (a->argument_types[i] != b->argument_types[i] || a->argument_types[i] == TYPE_UNSURE)
			return false;
	}
	return true;
}

/* The function of the file with that name and these argument types, to be changed; or NULL. */
static struct catalog_function *find_added(struct ddl_compiler *compiler,
					   const struct catalog_function *function)
{
	const struct catalog_draft_list *drafts = &compiler->builder.functions;
	size_t count;
	if (!catalog_functions(compiler->builder.catalog, function->schema, function->name, &count))
		return NULL;
	for (size_t i = drafts->count; i-- > 0;) {
		struct catalog_function *added = &((struct function_draft *)drafts->items[i])->function;
		if (str_equal(added->name, function->name) && str_equal(added->schema, function->schema) &&
		    same_arguments(added, function))
			return added;
	}
	return NULL;
}

static void add_or_replace(struct ddl_compiler *compiler, struct catalog_function function, bool may_replace,
			   struct type_list uses)
{
	struct catalog_function *existing = find_added(compiler, &function);
	if (existing && !may_replace) {
		ddl_leave_out(compiler, "function \"" STR_FMT "\" already exists with same argument types",
			      STR_ARG(function.name));
	} else if (existing) {
		*existing = function;
		((struct function_draft *)existing)->uses = uses;
		catalog_derive_function(compiler->builder.catalog, existing);
	} else {
		catalog_add_function(&compiler->builder, function, uses);
	}
}

void ddl_add_function(struct ddl_compiler *compiler, const CreateFunctionStmt *create)
{
	struct parameters parameters = read_parameters(compiler, create->parameters);
	struct catalog_function function = function_of(&parameters, create->funcname);
	struct ddl_type result = ddl_type_of(compiler, create->returnType);
	function.volatility = 'v';
	function.language = STR("sql");
	function.returns_set = create->returnType && create->returnType->setof;
	if (create->is_procedure)
		function.kind = 'p';
	read_options(&function, create->options);
	function.volatility = catalog_worse(function.volatility, parameters.volatility);
	function.result_type = function.outputs_count > 1    ? RECORDOID
			       : function.outputs_count == 1 ? function.output_types[0]
			       : create->returnType	     ? result.id
							     : VOIDOID;
	function.result = result.text.ptr ? result.text : STR("");
	add_or_replace(compiler, function, create->replace, parameters.uses);
}

void ddl_alter_function(struct ddl_compiler *compiler, const AlterFunctionStmt *alter)
{
	struct parameters parameters = read_parameters(compiler, alter->func->objfuncargs);
	struct catalog_function key = function_of(&parameters, alter->func->objname);
	struct catalog_function *existing = find_added(compiler, &key);
	if (existing)
		read_options(existing, alter->actions);
}

/* --- aggregates, operators, casts --- */

static type_id type_option(struct ddl_compiler *compiler, const List *options, const char *name)
{
	const TypeName *type = ddl_option(options, name);
	return type ? ddl_type_of(compiler, type).id : TYPE_UNSURE;
}

/* The form with BASETYPE instead of arguments. */
static struct parameters old_style_parameters(struct ddl_compiler *compiler, const List *options)
{
	struct parameters parameters = { .compiler = compiler, .volatility = 'i' };
	const TypeName *base = ddl_option(options, "basetype");
	const char *name = base ? names_last(base->names) : NULL;
	if (!name || strcasecmp(name, "any") == 0)
		return parameters;
	parameters.types = ARENA_NEW(compiler->builder.scratch, type_id);
	parameters.types[0] = type_option(compiler, options, "basetype");
	parameters.count = 1;
	return parameters;
}

void ddl_add_aggregate(struct ddl_compiler *compiler, const DefineStmt *define)
{
	static const char *const functions[] = { "sfunc",	 "sfunc1", "combinefunc", "serialfunc",
						 "deserialfunc", "msfunc", "minvfunc",	  "mfinalfunc" };
	const List *options = define->definition;
	struct parameters parameters = define->oldstyle
					       ? old_style_parameters(compiler, options)
					       : read_parameters(compiler, linitial_node(List, define->args));
	int direct = define->oldstyle ? -1 : intVal(lsecond(define->args));
	struct catalog_function function = function_of(&parameters, define->defnames);
	type_id result;
	function.kind = 'a';
	function.aggregate = direct >= 0 ? 'o' : 'n';
	function.direct_arguments = direct >= 0 ? (unsigned)direct : 0;
	function.language = STR("internal");
	function.volatility = ddl_option_volatility(compiler, options, "finalfunc", &function.result_type);
	if (!ddl_option(options, "finalfunc"))
		function.result_type =
			type_option(compiler, options, ddl_option(options, "stype") ? "stype" : "stype1");
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		function.volatility = catalog_worse(
			function.volatility, ddl_option_volatility(compiler, options, functions[i], &result));
	function.result = STR("");
	add_or_replace(compiler, function, define->replace, parameters.uses);
}

void ddl_add_operator(struct ddl_compiler *compiler, const DefineStmt *define)
{
	const List *options = define->definition;
	struct qualified_name name = names_qualified(define->defnames);
	struct catalog_operator operator_ = { .schema = ddl_schema_of(compiler, name.schema),
					      .name = name.name,
					      .left = type_option(compiler, options, "leftarg"),
					      .right = type_option(compiler, options, "rightarg"),
					      .is_prefix = ddl_option(options, "leftarg") == NULL,
					      .is_public = true,
					      .may_execute = true };
	const char *function = ddl_option(options, "function") ? "function" : "procedure";
	if (!ddl_option(options, function)) {
		ddl_leave_out(compiler, "operator function must be specified");
		return;
	}
	operator_.volatility = ddl_option_volatility(compiler, options, function, &operator_.result);
	catalog_add_operator(&compiler->builder, operator_);
}

void ddl_add_cast(struct ddl_compiler *compiler, const CreateCastStmt *create)
{
	type_id result;
	struct catalog_cast cast = { .source = ddl_type_of(compiler, create->sourcetype).id,
				     .target = ddl_type_of(compiler, create->targettype).id,
				     .context = create->context == COERCION_IMPLICIT	 ? 'i'
						: create->context == COERCION_ASSIGNMENT ? 'a'
											 : 'e',
				     .method = create->func    ? 'f'
					       : create->inout ? 'i'
							       : 'b',
				     .volatility = 'i',
				     .is_public = true,
				     .may_execute = true };
	if (create->func)
		cast.volatility =
			ddl_functions_volatility(compiler, names_qualified(create->func->objname), &result);
	if (cast.source != TYPE_UNSURE && cast.target != TYPE_UNSURE)
		catalog_add_cast(&compiler->builder, cast);
}
