#include "sql/resolve_internal.h" // first: see pg_nodes.h

#include "sql/catalog_build.h"
#include "sql/node_children.h"

/* Schema of unqualified names. */
#define DEFAULT_SCHEMA STR("public")

struct columns {
	struct catalog_column *items;
	size_t count;
	size_t capacity;
};

struct compiler {
	struct catalog_builder builder;
	struct arena *scratch; /* of the parser and the resolver */
	str_t text;
	str_t schema; /* of unqualified names */
};

/* Names that the grammar gives to types, and as the server writes them. */
static const struct {
	const char *name;
	const char *type;
	bool is_serial;
} type_names[] = {
	{ "int2", "smallint", false },
	{ "int4", "integer", false },
	{ "int8", "bigint", false },
	{ "serial", "integer", true },
	{ "serial4", "integer", true },
	{ "bigserial", "bigint", true },
	{ "serial8", "bigint", true },
	{ "smallserial", "smallint", true },
	{ "float4", "real", false },
	{ "float8", "double precision", false },
	{ "varchar", "character varying", false },
	{ "bpchar", "character", false },
	{ "bool", "boolean", false },
	{ "timestamp", "timestamp without time zone", false },
	{ "timestamptz", "timestamp with time zone", false },
	{ "time", "time without time zone", false },
	{ "timetz", "time with time zone", false },
	{ "decimal", "numeric", false },
};

static str_t type_text(struct arena *arena, const TypeName *type, bool *ret_serial)
{
	const char *name = type ? names_last(type->names) : NULL;
	*ret_serial = false;
	if (!name)
		return STR("record");
	for (size_t i = 0; i < sizeof type_names / sizeof *type_names; i++) {
		if (strcmp(name, type_names[i].name) != 0)
			continue;
		*ret_serial = type_names[i].is_serial;
		name = type_names[i].type;
		break;
	}
	return arena_printf(arena, "%s%s", name, type->arrayBounds == NIL ? "" : "[]");
}

static str_t schema_or_default(const struct compiler *compiler, const char *schema)
{
	return schema ? str_from(schema) : compiler->schema;
}

static void push_column(struct compiler *compiler, struct columns *columns, struct catalog_column column)
{
	column.name = arena_str(compiler->builder.arena, column.name);
	column.category = column.category ? column.category : catalog_type_category(column.type);
	ARENA_PUSH(compiler->builder.arena, columns->items, columns->count, columns->capacity, column);
}

static void apply_key(struct columns *columns, const List *keys, bool primary)
{
	const ListCell *cell;
	foreach(cell, keys)
	{
		for (size_t i = 0; i < columns->count; i++) {
			if (!str_is(columns->items[i].name, NODE_STRING(lfirst(cell))))
				continue;
			columns->items[i].not_null |= primary;
			columns->items[i].is_key |= primary;
		}
	}
}

static void add_column(struct compiler *compiler, struct columns *columns, const ColumnDef *definition)
{
	bool serial = false;
	struct catalog_column column = { .name = str_from(definition->colname) };
	const ListCell *cell;
	column.type = type_text(compiler->builder.arena, definition->typeName, &serial);
	column.not_null = serial || definition->is_not_null;
	foreach(cell, definition->constraints)
	{
		const Constraint *constraint = lfirst_node(Constraint, cell);
		column.is_key |= constraint->contype == CONSTR_PRIMARY;
		column.not_null |= constraint->contype == CONSTR_PRIMARY ||
				   constraint->contype == CONSTR_NOTNULL ||
				   constraint->contype == CONSTR_IDENTITY;
	}
	push_column(compiler, columns, column);
}

/* Columns of a table that this one inherits from or is like. An unknown one leaves the new one open. */
static bool copy_columns(struct compiler *compiler, struct columns *columns, const RangeVar *from, bool keys)
{
	const struct catalog_relation *relation = catalog_added_relation(
		&compiler->builder, schema_or_default(compiler, from->schemaname), str_from(from->relname));
	if (!relation)
		return false;
	for (size_t i = 0; i < relation->columns_count; i++) {
		struct catalog_column column = relation->columns[i];
		column.is_key &= keys;
		push_column(compiler, columns, column);
	}
	return !relation->is_open;
}

static void add_table(struct compiler *compiler, const CreateStmt *create)
{
	struct columns columns = { 0 };
	bool complete = create->ofTypename == NULL;
	const ListCell *cell;
	foreach(cell, create->inhRelations) complete &=
		copy_columns(compiler, &columns, lfirst_node(RangeVar, cell), create->partbound != NULL);
	foreach(cell, create->tableElts)
	{
		const Node *element = lfirst(cell);
		if (IsA(element, ColumnDef))
			add_column(compiler, &columns, (const ColumnDef *)element);
		else if (IsA(element, TableLikeClause))
			complete &= copy_columns(compiler, &columns,
						 ((const TableLikeClause *)element)->relation, false);
		else if (IsA(element, Constraint))
			apply_key(&columns, ((const Constraint *)element)->keys,
				  ((const Constraint *)element)->contype == CONSTR_PRIMARY);
	}
	catalog_add_relation(&compiler->builder,
			     (struct catalog_relation){
				     .schema = schema_or_default(compiler, create->relation->schemaname),
				     .name = str_from(create->relation->relname),
				     .is_open = !complete,
				     .columns = columns.items,
				     .columns_count = columns.count });
}

/* A primary key that is added later, as dumps do. */
static void alter_table(struct compiler *compiler, const AlterTableStmt *alter)
{
	struct catalog_relation *relation = catalog_added_relation(
		&compiler->builder, schema_or_default(compiler, alter->relation->schemaname),
		str_from(alter->relation->relname));
	const ListCell *cell;
	foreach(cell, alter->cmds)
	{
		const AlterTableCmd *command = lfirst_node(AlterTableCmd, cell);
		if (!relation || command->subtype != AT_AddConstraint)
			continue;
		const Constraint *constraint = (const Constraint *)command->def;
		struct columns columns = { 0 };
		for (size_t i = 0; i < relation->columns_count; i++)
			push_column(compiler, &columns, relation->columns[i]);
		apply_key(&columns, constraint->keys, constraint->contype == CONSTR_PRIMARY);
		relation->columns = columns.items;
	}
}

static str_t source_type(const struct range_column *column)
{
	const struct range_item *item = column->source;
	if (!item || !item->relation || column->source_index >= item->relation->columns_count)
		return STR("");
	return item->relation->columns[column->source_index].type;
}

static void add_query(struct compiler *compiler, const RangeVar *name, const Node *query, const List *aliases,
		      bool is_view, str_t definition)
{
	struct outputs outputs = { .open = true };
	struct columns columns = { 0 };
	catalog_index_relations(&compiler->builder);
	if (query && IsA(query, SelectStmt))
		resolve_query_outputs((const SelectStmt *)query, compiler->builder.catalog, compiler->scratch,
				      &outputs);
	rename_columns(&outputs, aliases);
	for (size_t i = 0; i < outputs.count; i++)
		push_column(compiler, &columns,
			    (struct catalog_column){ .name = outputs.columns[i].name,
						     .type = arena_str(compiler->builder.arena,
								       source_type(&outputs.columns[i])),
						     .category = outputs.columns[i].category });
	catalog_add_relation(
		&compiler->builder,
		(struct catalog_relation){ .schema = schema_or_default(compiler, name->schemaname),
					   .name = str_from(name->relname),
					   .is_view = is_view,
					   .is_open = outputs.open,
					   .definition = definition,
					   .columns = columns.items,
					   .columns_count = columns.count });
}

static char volatility_of(const List *options)
{
	const ListCell *cell;
	foreach(cell, options)
	{
		const DefElem *option = lfirst_node(DefElem, cell);
		if (strcmp(option->defname, "volatility") == 0 && IsA(option->arg, String))
			return NODE_STRING(option->arg)[0];
	}
	return 'v';
}

static void add_function(struct compiler *compiler, const CreateFunctionStmt *create)
{
	struct catalog_builder *builder = &compiler->builder;
	struct catalog_function function = { .name = str_from(names_last(create->funcname)),
					     .volatility = volatility_of(create->options),
					     .kind = create->is_procedure ? 'p' : 'f',
					     .is_public = true };
	str_t *outputs = ARENA_ARRAY(builder->arena, str_t, (size_t)list_length(create->parameters));
	const ListCell *cell;
	bool serial = false;
	function.result = type_text(builder->arena, create->returnType, &serial);
	function.returns_set = create->returnType && create->returnType->setof;
	foreach(cell, create->parameters)
	{
		const FunctionParameter *parameter = lfirst_node(FunctionParameter, cell);
		FunctionParameterMode mode = parameter->mode;
		bool output = mode == FUNC_PARAM_OUT || mode == FUNC_PARAM_TABLE;
		if (output || mode == FUNC_PARAM_INOUT)
			outputs[function.outputs_count++] =
				arena_str(builder->arena, str_from(parameter->name ? parameter->name : ""));
		if (!output && function.arguments == 0)
			function.takes_row =
				catalog_type_category(
					type_text(builder->arena, parameter->argType, &serial)) == TYPE_OTHER;
		function.arguments += !output;
		function.defaults += parameter->defexpr != NULL;
		function.is_variadic |= mode == FUNC_PARAM_VARIADIC;
	}
	int names = list_length(create->funcname);
	function.schema =
		names > 1 ? str_from(NODE_STRING(list_nth(create->funcname, names - 2))) : compiler->schema;
	function.outputs = outputs;
	catalog_add_function(builder, function);
}

static void add_type(struct compiler *compiler, const List *names)
{
	int count = list_length(names);
	catalog_add_type(&compiler->builder,
			 count > 1 ? str_from(NODE_STRING(list_nth(names, count - 2))) : compiler->schema,
			 str_from(names_last(names)));
}

static void compile_statement(struct compiler *compiler, const Node *statement, str_t text);

static void add_schema(struct compiler *compiler, const CreateSchemaStmt *create)
{
	const ListCell *cell;
	str_t outer = compiler->schema;
	if (!create->schemaname)
		return;
	catalog_add_schema(&compiler->builder, str_from(create->schemaname));
	compiler->schema = str_from(create->schemaname);
	foreach(cell, create->schemaElts) compile_statement(compiler, lfirst(cell), STR_NONE);
	compiler->schema = outer;
}

/* Statements that define nothing which a query can name are passed over. `text`: the statement's own. */
static void compile_statement(struct compiler *compiler, const Node *statement, str_t text)
{
	switch (nodeTag(statement)) {
	case T_CreateStmt:
		add_table(compiler, (const CreateStmt *)statement);
		break;
	case T_CreateForeignTableStmt:
		add_table(compiler, &((const CreateForeignTableStmt *)statement)->base);
		break;
	case T_AlterTableStmt:
		alter_table(compiler, (const AlterTableStmt *)statement);
		break;
	case T_ViewStmt:
		add_query(compiler, ((const ViewStmt *)statement)->view, ((const ViewStmt *)statement)->query,
			  ((const ViewStmt *)statement)->aliases, true, text);
		break;
	case T_CreateTableAsStmt:
		add_query(compiler, ((const CreateTableAsStmt *)statement)->into->rel,
			  ((const CreateTableAsStmt *)statement)->query,
			  ((const CreateTableAsStmt *)statement)->into->colNames,
			  ((const CreateTableAsStmt *)statement)->objtype == OBJECT_MATVIEW, STR_NONE);
		break;
	case T_CreateFunctionStmt:
		add_function(compiler, (const CreateFunctionStmt *)statement);
		break;
	case T_CreateSchemaStmt:
		add_schema(compiler, (const CreateSchemaStmt *)statement);
		break;
	case T_CreateEnumStmt:
		add_type(compiler, ((const CreateEnumStmt *)statement)->typeName);
		break;
	case T_CreateDomainStmt:
		add_type(compiler, ((const CreateDomainStmt *)statement)->domainname);
		break;
	default:
		break;
	}
}

static unsigned line_of(str_t text, size_t offset)
{
	unsigned line = 1;
	for (size_t i = 0; i < offset && i < text.len; i++)
		line += text.ptr[i] == '\n';
	return line;
}

/* The query of a view is what follows AS; its definition keeps the whole statement where that is not found.
 */
static str_t query_text(const struct compiler *compiler, const RawStmt *raw)
{
	size_t start = (size_t)raw->stmt_location;
	size_t length = raw->stmt_len > 0 ? (size_t)raw->stmt_len : compiler->text.len - start;
	const char *text = compiler->text.ptr + start;
	for (size_t i = 0; i + 4 < length; i++) {
		if (isspace((unsigned char)text[i]) && strncasecmp(text + i + 1, "as", 2) == 0 &&
		    isspace((unsigned char)text[i + 3]))
			return arena_text(compiler->scratch, text + i + 4, length - i - 4);
	}
	return arena_text(compiler->scratch, text, length);
}

static void compile_statements(struct compiler *compiler, const List *statements)
{
	const ListCell *cell;
	foreach(cell, statements)
	{
		const RawStmt *raw = lfirst_node(RawStmt, cell);
		bool is_view = IsA(raw->stmt, ViewStmt);
		compile_statement(compiler, raw->stmt, is_view ? query_text(compiler, raw) : STR_NONE);
	}
}

err_t catalog_compile_sql(str_t text, struct catalog **ret_catalog, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	struct compiler compiler = { .scratch = scratch, .schema = DEFAULT_SCHEMA };
	struct parsed_statement parsed;
	compiler.text = arena_text(scratch, text.ptr ? text.ptr : "", text.len);
	parse_begin(compiler.text, scratch, &parsed);
	if (str_present(parsed.error)) {
		parse_end(&parsed);
		return err_fail(detail, ERR_CATALOG_SYNTAX, "line %u: " STR_FMT,
				line_of(compiler.text, parsed.error_offset), STR_ARG(parsed.error));
	}
	catalog_begin(&compiler.builder, SQL_POSTGRESQL);
	catalog_add_path(&compiler.builder, STR("pg_catalog"));
	catalog_add_path(&compiler.builder, DEFAULT_SCHEMA);
	catalog_add_schema(&compiler.builder, DEFAULT_SCHEMA);
	catalog_add_builtins(&compiler.builder);
	catalog_index(&compiler.builder);
	compile_statements(&compiler, parsed.statements);
	parse_end(&parsed);
	*ret_catalog = catalog_finish(&compiler.builder, compiler.text);
	return ERR_OK;
}
