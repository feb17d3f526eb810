#include "sql/postgresql/ddl/internal.h" // first: see pg_nodes.h

#include "sql/postgresql/ddl/ddl.h"

#include "sql/lex/scan.h"

/* Schema of unqualified names. */
#define DEFAULT_SCHEMA STR("public")

/* A column that comes straight from a relation has its type, whatever else is known of the query. */
static type_id output_type(const struct range_column *column)
{
	const struct range_item *item = column->source;
	if (column->type != TYPE_UNSURE || !item || !item->relation ||
	    column->source_index >= item->relation->columns_count)
		return column->type;
	return item->relation->columns[column->source_index].value_type;
}

static void add_query(struct ddl_compiler *compiler, const RangeVar *name, const Node *query,
		      const List *aliases, struct catalog_relation relation, bool may_replace)
{
	struct outputs outputs = { .open = true };
	struct ddl_columns columns = { 0 };
	str_t missing = STR_NONE;
	if (query && IsA(query, SelectStmt))
		resolve_query_outputs((const SelectStmt *)query, compiler->builder.catalog,
				      compiler->builder.scratch, &outputs, &missing);
	if (str_present(missing)) /* a dump of some schemas, say: more may be missing */
		catalog_note_gap(&compiler->builder,
				 "the catalog does not have the " STR_FMT ", which \"%s\" is made of",
				 STR_ARG(missing), name->relname);
	outputs_rename(&outputs, aliases);
	for (size_t i = 0; i < outputs.count; i++) {
		const struct catalog_type *type =
			catalog_type(compiler->builder.catalog, output_type(&outputs.columns[i]));
		ddl_add_column(compiler, &columns, (struct catalog_column){ .name = outputs.columns[i].name },
			       (struct ddl_type){ .id = type ? type->id : TYPE_UNSURE, .text = STR("") });
	}
	relation.schema = ddl_schema_of(compiler, str_from(name->schemaname));
	relation.name = str_from(name->relname);
	relation.is_open = outputs.open;
	relation.columns = columns.items;
	relation.columns_count = columns.count;
	ddl_add_relation(compiler, relation, may_replace);
}

static void add_view(struct ddl_compiler *compiler, const ViewStmt *view, str_t text)
{
	bool checks = view->withCheckOption != NO_CHECK_OPTION;
	const struct catalog_relation *existing = ddl_added_relation(compiler, view->view);
	add_query(compiler, view->view, view->query, view->aliases,
		  (struct catalog_relation){
			  .kind = 'v',
			  .is_view = true,
			  .definition = ddl_kept_query(text, checks, compiler->builder.scratch) },
		  view->replace && existing && existing->kind == 'v');
}

static void add_table_as(struct ddl_compiler *compiler, const CreateTableAsStmt *create, str_t text)
{
	bool is_view = create->objtype == OBJECT_MATVIEW;
	const RangeVar *name = create->into->rel;
	if (create->if_not_exists && ddl_is_there(compiler, name))
		return;
	struct catalog_relation relation = { .kind = is_view ? 'm' : 'r', .is_view = is_view };
	if (is_view)
		relation.definition = ddl_kept_query(text, create->into->skipData, compiler->builder.scratch);
	add_query(compiler, name, create->query, create->into->colNames, relation, false);
}

/* SET search_path: names are created in the first schema of it and found in all. */
static void set_path(struct ddl_compiler *compiler, const VariableSetStmt *set)
{
	struct catalog_builder *builder = &compiler->builder;
	const ListCell *cell;
	bool names_system = false;
	if (!set->name || strcmp(set->name, "search_path") != 0)
		return;
	catalog_clear_path(builder);
	compiler->schema = STR_NONE;
	foreach(cell, set->args)
	{
		const A_Const *value = lfirst_node(A_Const, cell);
		names_system |= IsA(&value->val, String) && strcmp(value->val.sval.sval, "pg_catalog") == 0;
	}
	if (!names_system)
		catalog_add_path(builder, STR("pg_catalog"));
	foreach(cell, set->args)
	{
		const A_Const *value = lfirst_node(A_Const, cell);
		str_t schema = IsA(&value->val, String) ? str_from(value->val.sval.sval) : STR("");
		if (schema.len == 0 || str_is(schema, "$user"))
			continue;
		catalog_add_path(builder, schema);
		if (!str_present(compiler->schema) && !catalog_is_system(schema))
			compiler->schema = schema;
	}
	if (list_length(set->args) == 0) /* DEFAULT, RESET */
		catalog_add_path(builder, DEFAULT_SCHEMA);
	if (!str_present(compiler->schema))
		compiler->schema = DEFAULT_SCHEMA;
}

static void compile_statement(struct ddl_compiler *compiler, const Node *statement, str_t text);

static void add_schema(struct ddl_compiler *compiler, const CreateSchemaStmt *create)
{
	const ListCell *cell;
	str_t outer = compiler->schema;
	if (!create->schemaname)
		return;
	catalog_add_schema(&compiler->builder, str_from(create->schemaname));
	compiler->schema = str_from(create->schemaname);
	foreach(cell, create->schemaElts) compile_statement(compiler, lfirst(cell), STR(""));
	compiler->schema = outer;
}

static void add_text_search(struct ddl_compiler *compiler, const DefineStmt *define)
{
	struct qualified_name name = names_qualified(define->defnames);
	catalog_add_other(&compiler->builder,
			  define->kind == OBJECT_TSCONFIGURATION ? CATALOG_TEXT_SEARCH : CATALOG_DICTIONARY,
			  ddl_schema_of(compiler, name.schema), name.name);
}

static void add_definition(struct ddl_compiler *compiler, const DefineStmt *define)
{
	if (define->kind == OBJECT_TSCONFIGURATION || define->kind == OBJECT_TSDICTIONARY)
		add_text_search(compiler, define);
	if (define->kind == OBJECT_AGGREGATE)
		ddl_add_aggregate(compiler, define);
	else if (define->kind == OBJECT_OPERATOR)
		ddl_add_operator(compiler, define);
	else if (define->kind == OBJECT_TYPE)
		ddl_add_base_type(compiler, define);
}

/* `SELECT pg_catalog.set_config(…)`, as a dump has it between its definitions. */
static bool is_call(const SelectStmt *select)
{
	const ListCell *cell;
	if (select->fromClause || select->valuesLists || select->op != SETOP_NONE || select->withClause ||
	    !select->targetList)
		return false;
	foreach(cell, select->targetList) if (!IsA(lfirst_node(ResTarget, cell)->val, FuncCall)) return false;
	return true;
}

/* What neither defines anything nor stands in a dump: somebody gave another file. */
static void refuse_stray(struct ddl_compiler *compiler, const Node *statement)
{
	static const struct {
		NodeTag tag;
		const char *text;
	} strays[] = {
		{ T_SelectStmt, "a query" },  { T_UpdateStmt, "UPDATE" },
		{ T_DeleteStmt, "DELETE" },   { T_MergeStmt, "MERGE" },
		{ T_ExplainStmt, "EXPLAIN" }, { T_PrepareStmt, "PREPARE" },
		{ T_ExecuteStmt, "EXECUTE" }, { T_DeclareCursorStmt, "DECLARE" },
		{ T_CallStmt, "CALL" },
	};
	bool call = IsA(statement, SelectStmt) && is_call((const SelectStmt *)statement);
	for (size_t i = 0; i < sizeof strays / sizeof *strays; i++)
		if (nodeTag(statement) == strays[i].tag && !call)
			ddl_fail(
				compiler,
				"%s defines nothing that can be followed: leave it out (a catalog file holds "
				"CREATE statements, as pg_dump --schema-only writes them)",
				strays[i].text);
}

static void note_relations(struct ddl_compiler *compiler, const char *extension)
{
	static const struct {
		const char *extension, *relations;
	} known[] = {
#define EXTENSION(name, relations) { (name), (relations) },
#include "sql/postgresql/ddl/extensions.def"
#undef EXTENSION
	};
	size_t i = 0;
	while (i < sizeof known / sizeof known[0] && strcmp(known[i].extension, extension) != 0)
		i++;
	if (i == sizeof known / sizeof known[0])
		catalog_note_lacking(&compiler->builder, NULL);
	else if (known[i].relations[0])
		catalog_note_lacking(&compiler->builder, known[i].relations);
}

/* What an extension brings along stands in its own files. plpgsql has nothing that a query can call. */
static void note_extension(struct ddl_compiler *compiler, const CreateExtensionStmt *create)
{
	note_relations(compiler, create->extname);
	if (strcmp(create->extname, "plpgsql") != 0)
		catalog_note_gap(&compiler->builder,
				 "the catalog does not have what extension \"%s\" creates", create->extname);
}

static void add_foreign_table(struct ddl_compiler *compiler, const CreateForeignTableStmt *create)
{
	ddl_add_table(compiler, &create->base, 'f');
	struct catalog_relation *relation = ddl_added_relation(compiler, create->base.relation);
	if (relation)
		ddl_set_foreign(compiler, relation, create->servername, create->options);
}

static void add_foreign_server(struct ddl_compiler *compiler, const CreateForeignServerStmt *create)
{
	ddl_add_foreign_server(compiler, create->servername, create->fdwname, create->options);
}

static void alter_foreign_server(struct ddl_compiler *compiler, const AlterForeignServerStmt *alter)
{
	ddl_add_foreign_server(compiler, alter->servername, NULL, alter->options);
}

static void add_foreign_wrapper(struct ddl_compiler *compiler, const CreateFdwStmt *create)
{
	ddl_add_foreign_wrapper(compiler, create->fdwname, create->options);
}

static void alter_foreign_wrapper(struct ddl_compiler *compiler, const AlterFdwStmt *alter)
{
	ddl_add_foreign_wrapper(compiler, alter->fdwname, alter->options);
}

static void add_table(struct ddl_compiler *compiler, const CreateStmt *create)
{
	ddl_add_table(compiler, create, 'r');
}

static void set_path_of_database(struct ddl_compiler *compiler, const AlterDatabaseSetStmt *alter)
{
	set_path(compiler, alter->setstmt);
}

#define COMPILE(type, function)                                                                              \
	case T_##type:                                                                                       \
		function(compiler, (const type *)statement);                                                 \
		break

/* Statements of a dump that define nothing which a query can name are passed over. `text`: the statement's
 * own. */
static void compile_statement(struct ddl_compiler *compiler, const Node *statement, str_t text)
{
	switch (nodeTag(statement)) {
		COMPILE(CreateStmt, add_table);
		COMPILE(CreateForeignTableStmt, add_foreign_table);
		COMPILE(CreateFdwStmt, add_foreign_wrapper);
		COMPILE(AlterFdwStmt, alter_foreign_wrapper);
		COMPILE(CreateForeignServerStmt, add_foreign_server);
		COMPILE(AlterForeignServerStmt, alter_foreign_server);
		COMPILE(AlterTableStmt, ddl_alter_table);
		COMPILE(IndexStmt, ddl_add_index);
		COMPILE(CreateSeqStmt, ddl_add_sequence);
		COMPILE(CreatePolicyStmt, ddl_add_policy);
		COMPILE(AlterPolicyStmt, ddl_alter_policy);
		COMPILE(CreateSchemaStmt, add_schema);
		COMPILE(VariableSetStmt, set_path);
		COMPILE(AlterDatabaseSetStmt, set_path_of_database);
		COMPILE(DropStmt, ddl_drop);
		COMPILE(RenameStmt, ddl_rename);
		COMPILE(CreateFunctionStmt, ddl_add_function);
		COMPILE(AlterFunctionStmt, ddl_alter_function);
		COMPILE(DefineStmt, add_definition);
		COMPILE(CreateCastStmt, ddl_add_cast);
		COMPILE(CreateEnumStmt, ddl_add_enum);
		COMPILE(AlterEnumStmt, ddl_alter_enum);
		COMPILE(CompositeTypeStmt, ddl_add_composite);
		COMPILE(CreateDomainStmt, ddl_add_domain);
		COMPILE(AlterDomainStmt, ddl_alter_domain);
		COMPILE(CreateExtensionStmt, note_extension);
		COMPILE(CreateRangeStmt, ddl_add_range);
	case T_RuleStmt:
		ddl_add_rule(compiler, (const RuleStmt *)statement, text);
		break;
	case T_ViewStmt:
		add_view(compiler, (const ViewStmt *)statement, text);
		break;
	case T_CreateTableAsStmt:
		add_table_as(compiler, (const CreateTableAsStmt *)statement, text);
		break;
	case T_DoStmt:
		ddl_leave_out(compiler, "DO may define anything, which cannot be followed");
		break;
	default:
		refuse_stray(compiler, statement);
		break;
	}
}

static void compile_statements(struct ddl_compiler *compiler, const List *statements)
{
	const ListCell *cell;
	foreach(cell, statements)
	{
		const RawStmt *raw = lfirst_node(RawStmt, cell);
		size_t start = (size_t)raw->stmt_location;
		size_t length = raw->stmt_len > 0 ? (size_t)raw->stmt_len : compiler->text.len - start;
		compiler->offset = scan_next(compiler->text, start, SQL_POSTGRESQL).offset;
		compile_statement(compiler, raw->stmt, (str_t){ compiler->text.ptr + start, length });
		if (compiler->failed)
			return;
	}
}

/* Until what is left of it can be read. */
static void parse_file(struct ddl_compiler *compiler)
{
	const struct parsed_statement *parsed = &compiler->parsed;
	parse_begin(compiler->text, compiler->builder.scratch, &compiler->parsed);
	while (str_present(parsed->error) && !compiler->failed) {
		compiler->offset = parsed->error_offset;
		ddl_leave_out(compiler, STR_FMT, STR_ARG(parsed->error));
		if (!ddl_blank_statement(compiler->bytes, compiler->text.len, compiler->offset))
			ddl_fail(compiler, STR_FMT, STR_ARG(parsed->error));
		parse_end(&compiler->parsed);
		parse_begin(compiler->text, compiler->builder.scratch, &compiler->parsed);
	}
}

/* Nothing could be read: somebody gave another file. */
static void check_content(struct ddl_compiler *compiler)
{
	const struct catalog_builder *builder = &compiler->builder;
	size_t count;
	const str_t *warnings = catalog_warnings(builder->catalog, &count);
	if (compiler->failed || count == 0 || builder->relations.count > 0 || builder->functions.count > 0 ||
	    builder->types.count > 0)
		return;
	compiler->failed = true;
	(void)err_fail(compiler->detail, ERR_CATALOG_SYNTAX, STR_FMT, STR_ARG(warnings[0]));
}

static void compile_text(struct ddl_compiler *compiler)
{
	parse_file(compiler);
	if (!compiler->failed)
		compile_statements(compiler, compiler->parsed.statements);
	check_content(compiler);
	ddl_finish_reads(compiler);
}

err_t ddl_compile(str_t text, struct catalog **ret_catalog, struct err_detail *detail)
{
	struct ddl_compiler compiler = { .schema = DEFAULT_SCHEMA,
					 .next_type = TYPE_ID_USER,
					 .detail = detail };
	catalog_begin_on_builtins(&compiler.builder);
	compiler.bytes = ddl_without_psql(text, compiler.builder.scratch);
	compiler.text = (str_t){ compiler.bytes, text.len };
	catalog_add_path(&compiler.builder, STR("pg_catalog"));
	catalog_add_path(&compiler.builder, DEFAULT_SCHEMA);
	catalog_add_schema(&compiler.builder, DEFAULT_SCHEMA);
	compile_text(&compiler);
	err_t err = compiler.failed ? ERR_CATALOG_SYNTAX
				    : catalog_finish(&compiler.builder, text, ret_catalog, detail);
	parse_end(&compiler.parsed);
	catalog_abandon(&compiler.builder);
	return err;
}
