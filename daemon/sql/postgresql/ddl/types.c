#include "sql/postgresql/ddl/internal.h"

#include <catalog/pg_type_d.h>

#define NAME_MAX_BYTES 63

static const struct {
	const char *name;
	type_id id;
} serials[] = {
	{ "serial", INT4OID },	{ "serial4", INT4OID },	    { "bigserial", INT8OID },
	{ "serial8", INT8OID }, { "smallserial", INT2OID }, { "serial2", INT2OID },
};

/* table.column%TYPE */
static type_id type_of_column(struct ddl_compiler *compiler, const List *names)
{
	int count = list_length(names);
	struct qualified_name name = names_qualified(names);
	const struct catalog_relation *relation = catalog_relation_named(
		compiler->builder.catalog,
		count > 2 ? str_from(NODE_STRING(list_nth(names, count - 3))) : STR_NONE, name.schema);
	const struct catalog_column *column =
		relation ? catalog_columns_find(relation->columns, relation->columns_count, name.name) : NULL;
	return column ? column->value_type : TYPE_UNSURE;
}

static type_id named_type(struct ddl_compiler *compiler, const TypeName *type, bool *ret_serial)
{
	struct qualified_name name = names_qualified(type->names);
	for (size_t i = 0; !str_present(name.schema) && i < sizeof serials / sizeof *serials; i++) {
		if (str_is(name.name, serials[i].name)) {
			*ret_serial = true;
			return serials[i].id;
		}
	}
	if (type->pct_type)
		return type_of_column(compiler, type->names);
	const struct catalog_type *found =
		catalog_type_named(compiler->builder.catalog, name.schema, name.name);
	return found ? found->id : TYPE_UNSURE;
}

struct ddl_type ddl_type_of(struct ddl_compiler *compiler, const TypeName *type)
{
	const struct catalog *catalog = compiler->builder.catalog;
	if (!type)
		return (struct ddl_type){ .text = STR("") };
	struct ddl_type result = { 0 };
	result.id = named_type(compiler, type, &result.is_serial);
	const struct catalog_type *found = catalog_type(catalog, result.id);
	if (found && type->arrayBounds != NIL) {
		result.id = found->array;
		found = catalog_type(catalog, result.id);
	}
	if (found)
		result.text = found->text;
	else
		result.text = arena_printf(compiler->builder.scratch, "%s%s", names_last(type->names),
					   type->arrayBounds == NIL ? "" : "[]");
	return result;
}

void ddl_add_column(struct ddl_compiler *compiler, struct ddl_columns *columns, struct catalog_column column,
		    struct ddl_type type)
{
	column.value_type = type.id;
	column.type = type.text;
	column.category = TYPE_OTHER;
	catalog_derive_column(compiler->builder.catalog, &column);
	ARENA_PUSH(compiler->builder.scratch, columns->items, columns->count, columns->capacity, column);
}

/* Whether no other type has the name. Array types give theirs up, as in PostgreSQL. */
static bool make_room(struct ddl_compiler *compiler, str_t schema, str_t name)
{
	const struct catalog *catalog = compiler->builder.catalog;
	const struct catalog_type *taken = catalog_type_named(catalog, schema, name);
	struct catalog_type *array = taken ? catalog_added_type(&compiler->builder, taken->id) : NULL;
	if (!array || array->category != 'A' || !catalog_array_element(catalog, array))
		return !taken;
	do {
		array->name = arena_printf(compiler->builder.scratch, "_%.*s",
					   (int)(array->name.len < NAME_MAX_BYTES ? array->name.len : 62),
					   array->name.ptr);
	} while (catalog_type_named(catalog, schema, array->name));
	catalog_rename_type(&compiler->builder, array);
	return true;
}

/* Adds a type and its array type. A name that is taken is an error. */
static struct catalog_type *add_type(struct ddl_compiler *compiler, struct catalog_type type)
{
	const struct catalog *catalog = compiler->builder.catalog;
	struct arena *scratch = compiler->builder.scratch;
	if (!make_room(compiler, type.schema, type.name)) {
		ddl_leave_out(compiler, "type \"" STR_FMT "\" already exists", STR_ARG(type.name));
		return NULL;
	}
	type.id = compiler->next_type++;
	type.array = compiler->next_type++;
	type.is_public = true;
	struct catalog_type array = { .id = type.array,
				      .schema = type.schema,
				      .kind = 'b',
				      .category = 'A',
				      .volatility = 's', /* array_in */
				      .element = type.id,
				      .subscript = type.id,
				      .is_subscriptable = true,
				      .is_public = true };
	array.name = arena_printf(scratch, "_%.*s",
				  (int)(type.name.len < NAME_MAX_BYTES ? type.name.len : 62), type.name.ptr);
	while (catalog_type_named(catalog, array.schema, array.name))
		array.name = arena_printf(scratch, "_" STR_FMT, STR_ARG(array.name));
	struct catalog_type *added = catalog_add_type(&compiler->builder, type, (struct type_list){ 0 });
	(void)catalog_add_type(&compiler->builder, array, (struct type_list){ 0 });
	return added;
}

type_id ddl_add_row_type(struct ddl_compiler *compiler, const struct catalog_relation *relation)
{
	const struct catalog_type *added =
		add_type(compiler, (struct catalog_type){ .schema = relation->schema,
							  .name = relation->name,
							  .kind = 'c',
							  .category = 'C',
							  .volatility = 's' });
	return added ? added->id : TYPE_UNSURE;
}

void ddl_set_row_columns(struct ddl_compiler *compiler, const struct catalog_relation *relation)
{
	struct catalog_type *type = catalog_added_type(&compiler->builder, relation->row_type);
	if (!type)
		return;
	type->relation = relation;
	type->columns = relation->columns;
	type->columns_count = relation->columns_count;
}

static struct catalog_type named(const struct ddl_compiler *compiler, const List *names)
{
	struct qualified_name name = names_qualified(names);
	return (struct catalog_type){ .schema = ddl_schema_of(compiler, name.schema),
				      .name = name.name,
				      .volatility = 's' }; /* as all generic input functions */
}

void ddl_add_enum(struct ddl_compiler *compiler, const CreateEnumStmt *create)
{
	struct catalog_type type = named(compiler, create->typeName);
	type.kind = 'e';
	type.category = 'E';
	str_t *labels = ARENA_ARRAY(compiler->builder.scratch, str_t, (size_t)list_length(create->vals) + 1);
	const ListCell *cell;
	foreach(cell, create->vals) labels[type.labels_count++] = str_from(NODE_STRING(lfirst(cell)));
	type.labels = labels;
	(void)add_type(compiler, type);
}

/* A type of the file, to be changed; or NULL. */
static struct catalog_type *added_type(struct ddl_compiler *compiler, struct qualified_name name)
{
	const struct catalog_type *found =
		catalog_type_named(compiler->builder.catalog, name.schema, name.name);
	return found ? catalog_added_type(&compiler->builder, found->id) : NULL;
}

/* ADD VALUE, RENAME VALUE */
void ddl_alter_enum(struct ddl_compiler *compiler, const AlterEnumStmt *alter)
{
	struct catalog_type *type = added_type(compiler, names_qualified(alter->typeName));
	if (!type || !type->labels)
		return;
	str_t *labels = ARENA_ARRAY(compiler->builder.scratch, str_t, type->labels_count + 1);
	for (size_t i = 0; i < type->labels_count; i++) {
		bool renamed = alter->oldVal && str_is(type->labels[i], alter->oldVal);
		labels[i] = renamed ? str_from(alter->newVal) : type->labels[i];
	}
	if (!alter->oldVal)
		labels[type->labels_count++] = str_from(alter->newVal);
	type->labels = labels;
}

void ddl_add_composite(struct ddl_compiler *compiler, const CompositeTypeStmt *create)
{
	const RangeVar *name = create->typevar;
	struct ddl_columns columns = { 0 };
	const ListCell *cell;
	foreach(cell, create->coldeflist)
	{
		const ColumnDef *definition = lfirst_node(ColumnDef, cell);
		ddl_add_column(compiler, &columns,
			       (struct catalog_column){ .name = str_from(definition->colname) },
			       ddl_type_of(compiler, definition->typeName));
	}
	(void)add_type(compiler,
		       (struct catalog_type){ .schema = ddl_schema_of(compiler, str_from(name->schemaname)),
					      .name = str_from(name->relname),
					      .kind = 'c',
					      .category = 'C',
					      .volatility = 's',
					      .columns = columns.items,
					      .columns_count = columns.count });
}

static void add_check(struct ddl_compiler *compiler, struct catalog_type *domain, const Constraint *check)
{
	struct type_list uses = { 0 };
	/* The builder wraps the type of a draft: what its checks cast to is known when all is finished. */
	struct type_draft *draft = (struct type_draft *)domain;
	if (check->contype != CONSTR_CHECK)
		return;
	domain->volatility = catalog_worse(domain->volatility,
					   ddl_expression_volatility(compiler, check->raw_expr, &uses));
	draft->uses = ddl_join_uses(compiler, draft->uses, uses);
}

void ddl_add_domain(struct ddl_compiler *compiler, const CreateDomainStmt *create)
{
	struct catalog_type type = named(compiler, create->domainname);
	type.kind = 'd';
	type.base = ddl_type_of(compiler, create->typeName).id;
	const struct catalog_type *base = catalog_type(compiler->builder.catalog, type.base);
	type.category = base ? base->category : 'U';
	struct catalog_type *domain = add_type(compiler, type);
	const ListCell *cell;
	if (!domain)
		return;
	foreach(cell, create->constraints) add_check(compiler, domain, lfirst_node(Constraint, cell));
}

void ddl_alter_domain(struct ddl_compiler *compiler, const AlterDomainStmt *alter)
{
	struct catalog_type *domain = added_type(compiler, names_qualified(alter->typeName));
	if (domain && alter->def && IsA(alter->def, Constraint))
		add_check(compiler, domain, (const Constraint *)alter->def);
}

static void add_constructor(struct ddl_compiler *compiler, const struct catalog_type *type,
			    unsigned arguments, const type_id types[3], bool strict, type_id variadic)
{
	type_id *copy = ARENA_ARRAY(compiler->builder.scratch, type_id, 3);
	memcpy(copy, types, arguments * sizeof *copy);
	catalog_add_function(&compiler->builder,
			     (struct catalog_function){ .schema = type->schema,
							.name = type->name,
							.language = STR("internal"),
							.volatility = 'i',
							.kind = 'f',
							.is_public = true,
							.may_execute = true,
							.is_strict = strict,
							.arguments = arguments,
							.argument_types = copy,
							.variadic = variadic,
							.result_type = type->id },
			     (struct type_list){ 0 });
}

/* What PostgreSQL defines along with a range type. */
static void add_range_functions(struct ddl_compiler *compiler, const struct catalog_type *range,
				const struct catalog_type *multirange)
{
	const type_id bounds[3] = { range->subtype, range->subtype, TEXTOID };
	add_constructor(compiler, range, 2, bounds, false, TYPE_UNSURE);
	add_constructor(compiler, range, 3, bounds, false, TYPE_UNSURE);
	add_constructor(compiler, multirange, 0, bounds, true, TYPE_UNSURE);
	add_constructor(compiler, multirange, 1, (const type_id[3]){ range->id }, true, TYPE_UNSURE);
	add_constructor(compiler, multirange, 1, (const type_id[3]){ range->array }, true, range->id);
	catalog_add_cast(&compiler->builder, (struct catalog_cast){ .source = range->id,
								    .target = multirange->id,
								    .context = 'e',
								    .method = 'f',
								    .volatility = 'i',
								    .is_public = true,
								    .may_execute = true });
}

/* The schema is the range's unless it is given, and the name follows from the range's. */
static struct qualified_name multirange_name(struct ddl_compiler *compiler, const CreateRangeStmt *create,
					     const struct catalog_type *range)
{
	const TypeName *given = ddl_option(create->params, "multirange_type_name");
	struct qualified_name name = names_qualified(given ? given->names : NIL);
	const char *text = range->name.ptr, *at = strstr(text, "range");
	if (!str_present(name.schema))
		name.schema = range->schema;
	if (!given)
		name.name = at ? arena_printf(compiler->builder.scratch, "%.*smulti%s", (int)(at - text),
					      text, at)
			       : arena_printf(compiler->builder.scratch, "%s_multirange", text);
	return name;
}

/* Range and multirange come together; the latter's name follows from the former's unless it is given. */
void ddl_add_range(struct ddl_compiler *compiler, const CreateRangeStmt *create)
{
	const TypeName *subtype = ddl_option(create->params, "subtype");
	type_id result;
	struct catalog_type type = named(compiler, create->typeName);
	type.kind = 'r';
	type.category = 'R';
	type.volatility = catalog_worse(
		type.volatility, ddl_option_volatility(compiler, create->params, "canonical", &result));
	if (subtype)
		type.subtype = ddl_type_of(compiler, subtype).id;
	const struct catalog_type *range = add_type(compiler, type);
	if (!range)
		return;
	struct qualified_name written = multirange_name(compiler, create, &type);
	struct catalog_type multi = { .schema = written.schema,
				      .name = written.name,
				      .kind = 'm',
				      .category = 'R',
				      .volatility = 's',
				      .range = range->id };
	const struct catalog_type *multirange = add_type(compiler, multi);
	if (multirange)
		add_range_functions(compiler, range, multirange);
}

/* A shell type (no definition yet) is there for the functions that the definition needs. */
void ddl_add_base_type(struct ddl_compiler *compiler, const DefineStmt *define)
{
	static const char *const functions[] = { "input", "output", "typmod_in" };
	type_id result;
	struct catalog_type type = named(compiler, define->defnames);
	type.kind = 'b';
	type.category = 'U';
	type.volatility = 'i';
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		type.volatility =
			catalog_worse(type.volatility, ddl_option_volatility(compiler, define->definition,
									     functions[i], &result));
	struct catalog_type *shell = added_type(compiler, (struct qualified_name){ type.schema, type.name });
	if (shell && shell->kind == 'b' && define->definition != NIL)
		shell->volatility = type.volatility;
	else
		(void)add_type(compiler, type);
}

/* --- what expressions run --- */

struct expression_walk {
	struct ddl_compiler *compiler;
	struct ddl_runs runs;
	unsigned depth;
};

static char operators_volatility(struct ddl_compiler *compiler, struct qualified_name name)
{
	size_t count;
	const struct catalog_operator *const *operators =
		catalog_operators(compiler->builder.catalog, name.schema, name.name, &count);
	char volatility = count > 0 ? 'i' : VOLATILITY_UNKNOWN;
	for (size_t i = 0; i < count; i++)
		volatility = catalog_worse(volatility, operators[i]->volatility);
	return volatility;
}

static char operators_of_node(struct ddl_compiler *compiler, const A_Expr *expr)
{
	bool is_between = expr->kind >= AEXPR_BETWEEN && expr->kind <= AEXPR_NOT_BETWEEN_SYM;
	if (!is_between)
		return operators_volatility(compiler, names_qualified(expr->name));
	return catalog_worse(operators_volatility(compiler, (struct qualified_name){ .name = STR(">=") }),
			     operators_volatility(compiler, (struct qualified_name){ .name = STR("<=") }));
}

static void note_relation(struct expression_walk *walk, const RangeVar *range)
{
	const struct catalog_relation *relation = catalog_relation_named(
		walk->compiler->builder.catalog, str_from(range->schemaname), str_from(range->relname));
	if (relation)
		ARENA_PUSH(walk->compiler->builder.scratch, walk->runs.relations, walk->runs.relations_count,
			   walk->runs.relations_capacity, relation);
}

static void note_cast(struct expression_walk *walk, const TypeCast *cast)
{
	type_id id = ddl_type_of(walk->compiler, cast->typeName).id;
	ARENA_PUSH(walk->compiler->builder.scratch, walk->runs.types, walk->runs.types_count,
		   walk->runs.types_capacity, id);
}

static bool visit_expression(const Node *node, void *context)
{
	struct expression_walk *walk = context;
	type_id result;
	char volatility = 'i';
	if (walk->depth == TYPE_NESTING_MAX) {
		walk->runs.volatility = 'v';
		return false;
	}
	if (IsA(node, FuncCall))
		volatility = ddl_functions_volatility(
			walk->compiler, names_qualified(((const FuncCall *)node)->funcname), &result);
	else if (IsA(node, A_Expr))
		volatility = operators_of_node(walk->compiler, (const A_Expr *)node);
	else if (IsA(node, TypeCast))
		note_cast(walk, (const TypeCast *)node);
	else if (IsA(node, RangeVar))
		note_relation(walk, (const RangeVar *)node);
	else if (IsA(node, SQLValueFunction) || IsA(node, SubLink))
		volatility = 's';
	walk->runs.volatility = catalog_worse(walk->runs.volatility, volatility);
	walk->depth++;
	bool all = node_children(node, visit_expression, walk);
	walk->depth--;
	return all;
}

struct ddl_runs ddl_expression_runs(struct ddl_compiler *compiler, const Node *expression)
{
	struct expression_walk walk = { .compiler = compiler, .runs = { .volatility = 'i' } };
	if (expression)
		(void)visit_expression(expression, &walk);
	return walk.runs;
}

char ddl_expression_volatility(struct ddl_compiler *compiler, const Node *expression, struct type_list *uses)
{
	struct ddl_runs runs = ddl_expression_runs(compiler, expression);
	*uses = (struct type_list){ runs.types, runs.types_count };
	return runs.volatility;
}
