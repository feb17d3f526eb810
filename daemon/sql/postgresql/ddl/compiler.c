#include "sql/postgresql/ddl/internal.h" // first: see pg_nodes.h

#define WARNINGS_MAX 200

static unsigned line_of(str_t text, size_t offset)
{
	unsigned line = 1;
	for (size_t i = 0; i < offset && i < text.len; i++)
		line += text.ptr[i] == '\n';
	return line;
}

void ddl_leave_out(struct ddl_compiler *compiler, const char *format, ...)
{
	size_t count;
	unsigned line = line_of(compiler->text, compiler->offset);
	char message[sizeof compiler->detail->message];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	catalog_note_gap(&compiler->builder,
			 "the catalog's file has a statement that cannot be read in line %u", line);
	(void)catalog_warnings(compiler->builder.catalog, &count);
	if (count == WARNINGS_MAX)
		ddl_fail(compiler, "%s; more than %d statements cannot be read", message, WARNINGS_MAX);
	else
		catalog_warn(&compiler->builder,
			     arena_printf(compiler->builder.scratch, "line %u: %s", line, message));
}

void ddl_fail(struct ddl_compiler *compiler, const char *format, ...)
{
	char message[sizeof compiler->detail->message];
	va_list arguments;
	if (compiler->failed)
		return;
	compiler->failed = true;
	va_start(arguments, format);
	vsnprintf(message, sizeof message, format, arguments);
	va_end(arguments);
	(void)err_fail(compiler->detail, ERR_CATALOG_SYNTAX, "line %u: %s",
		       line_of(compiler->text, compiler->offset), message);
}

const TypeName *ddl_option(const List *options, const char *name)
{
	const ListCell *cell;
	foreach(cell, options)
	{
		const DefElem *option = lfirst_node(DefElem, cell);
		if (strcmp(option->defname, name) == 0 && option->arg && IsA(option->arg, TypeName))
			return (const TypeName *)option->arg;
	}
	return NULL;
}

char ddl_functions_volatility(struct ddl_compiler *compiler, struct qualified_name name, type_id *ret_result)
{
	size_t count;
	const struct catalog_function *const *functions =
		catalog_functions(compiler->builder.catalog, name.schema, name.name, &count);
	char volatility = count > 0 ? 'i' : VOLATILITY_UNKNOWN;
	if (count == 0) /* a dump of some schemas, say: more may be missing */
		catalog_note_gap(&compiler->builder,
				 "the catalog does not have the function \"" STR_FMT "\", which it names",
				 STR_ARG(name.name));
	*ret_result = count > 0 ? functions[0]->result_type : TYPE_UNSURE;
	for (size_t i = 0; i < count; i++) {
		volatility = catalog_worse(volatility, functions[i]->volatility);
		if (functions[i]->result_type != *ret_result)
			*ret_result = TYPE_UNSURE;
	}
	return volatility;
}

char ddl_option_volatility(struct ddl_compiler *compiler, const List *options, const char *name,
			   type_id *ret_result)
{
	const TypeName *function = ddl_option(options, name);
	*ret_result = TYPE_UNSURE;
	return function ? ddl_functions_volatility(compiler, names_qualified(function->names), ret_result)
			: 'i';
}

struct type_list ddl_join_uses(struct ddl_compiler *compiler, struct type_list a, struct type_list b)
{
	type_id *ids = ARENA_ARRAY(compiler->builder.scratch, type_id, a.count + b.count);
	for (size_t i = 0; i < a.count + b.count; i++)
		ids[i] = i < a.count ? a.ids[i] : b.ids[i - a.count];
	return (struct type_list){ ids, a.count + b.count };
}

str_t ddl_schema_of(const struct ddl_compiler *compiler, str_t written)
{
	return str_present(written) ? written : compiler->schema;
}

bool ddl_is_there(const struct ddl_compiler *compiler, const RangeVar *name)
{
	return catalog_relation(compiler->builder.catalog,
				ddl_schema_of(compiler, str_from(name->schemaname)),
				str_from(name->relname)) != NULL;
}

struct catalog_relation *ddl_added_relation(struct ddl_compiler *compiler, const RangeVar *name)
{
	return catalog_added_relation(&compiler->builder, ddl_schema_of(compiler, str_from(name->schemaname)),
				      str_from(name->relname));
}
