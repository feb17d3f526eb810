#include "sql/postgresql/resolve/internal.h"

#include "sql/postgresql/node_children.h"
#include "sql/postgresql/resolve/type_literal.h"

#include "catalog/pg_type_d.h"

enum type_category category_of(const struct catalog *catalog, type_id type)
{
	switch (catalog ? catalog_type_base(catalog, type) : type) {
	case INT2OID:
	case INT4OID:
	case INT8OID:
		return TYPE_INTEGER;
	case NUMERICOID:
	case FLOAT4OID:
	case FLOAT8OID:
		return TYPE_NUMERIC;
	case TEXTOID:
	case VARCHAROID:
	case BPCHAROID:
	case NAMEOID:
		return TYPE_TEXT;
	case BOOLOID:
		return TYPE_BOOLEAN;
	case DATEOID:
	case TIMESTAMPOID:
	case TIMESTAMPTZOID:
		return TYPE_TEMPORAL;
	default:
		return TYPE_OTHER;
	}
}

enum type_category expression_category(const struct resolution *resolution, const Node *node)
{
	return node && !resolution->too_deep
		       ? category_of(resolution->catalog, resolution_type(resolution, node))
		       : TYPE_OTHER;
}

const char *missing_sqlstate(const struct resolver *resolver, str_t schema, const char *otherwise)
{
	return str_present(schema) && resolver->catalog && !catalog_has_schema(resolver->catalog, schema)
		       ? "3F000"
		       : otherwise;
}

/* What other systems call a type, and PostgreSQL's own names for hints. */
static const struct {
	const char *name;
	const char *here;
} type_hints[] = {
	{ "datetime", "timestamp" },
	{ "datetime2", "timestamp" },
	{ "smalldatetime", "timestamp" },
	{ "double", "float8" },
	{ "string", "text" },
	{ "signed", "integer" },
	{ "unsigned", "integer" },
	{ "number", "numeric" },
	{ "nvarchar", "varchar" },
	{ "nvarchar2", "varchar" },
	{ "varchar2", "varchar" },
	{ "tinyint", "smallint" },
	{ "mediumint", "integer" },
	{ "int64", "bigint" },
	{ "float64", "float8" },
	{ "blob", "bytea" },
	{ "clob", "text" },
	{ "integer", "integer" },
	{ "bigint", "bigint" },
	{ "numeric", "numeric" },
	{ "text", "text" },
	{ "varchar", "varchar" },
	{ "boolean", "boolean" },
	{ "date", "date" },
	{ "timestamp", "timestamp" },
	{ "timestamptz", "timestamptz" },
	{ "interval", "interval" },
	{ "jsonb", "jsonb" },
	{ "float8", "float8" },
};

static void report_unknown_type(struct resolver *resolver, const TypeName *name, str_t schema,
				const char *text)
{
	struct nearest nearest;
	const char *here = NULL;
	nearest_init(&nearest, str_from(text));
	bool wants_hint = resolver_wants_hint(resolver);
	for (size_t i = 0; wants_hint && i < sizeof type_hints / sizeof *type_hints; i++) {
		nearest_offer(&nearest, str_from(type_hints[i].name));
		if (str_is(nearest.best, type_hints[i].name))
			here = type_hints[i].here;
	}
	str_t hint = here ? arena_printf(resolver->arena, "; did you mean \"%s\"?", here) : STR("");
	diagnostics_add_state(resolver->diagnostics, DIAG_UNKNOWN_TYPE, NULL,
			      missing_sqlstate(resolver, schema, "42704"), str_from(text), name->location,
			      "type \"%s\" does not exist" STR_FMT, text, STR_ARG(hint));
}

type_id resolve_type_name(struct resolver *resolver, const TypeName *name)
{
	int count = list_length(name->names);
	const char *text = names_last(name->names);
	if (!resolver_knows_types(resolver) || !text || count > 2 || name->pct_type || name->setof)
		return TYPE_UNSURE;
	str_t schema = count == 2 ? str_from(NODE_STRING(linitial(name->names))) : STR_NONE;
	const struct catalog_type *type = catalog_type_named(resolver->catalog, schema, str_from(text));
	if (!type) {
		bool temporary = schema.ptr && strncmp(schema.ptr, "pg_temp", strlen("pg_temp")) == 0;
		if (!temporary && !catalog_has_unknown_extensions(resolver->catalog))
			report_unknown_type(resolver, name, schema, text);
		return TYPE_UNSURE;
	}
	return name->arrayBounds ? type_array(resolver->catalog, type->id) : type->id;
}

str_t place_object(struct resolver *resolver, int location)
{
	return arena_printf(resolver->arena, "@%d", location);
}

void report_type(struct resolver *resolver, enum sql_diagnostic_code code, const char *sub_code,
		 const char *sqlstate, int location, const char *format, ...)
{
	char message[512];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(message, sizeof message, format, args);
	va_end(args);
	diagnostics_add_state(resolver->diagnostics, code, sub_code, sqlstate,
			      place_object(resolver, location), location, "%s", message);
}

static int list_location(const List *list)
{
	return list ? node_location(linitial(list)) : -1;
}

static int least_location(int a, int b)
{
	return a < 0 ? b : b < 0 ? a : a < b ? a : b;
}

/* Where the text of the expression begins, as far as the grammar keeps it. */
int node_location(const Node *node)
{
	if (!node)
		return -1;
	switch (nodeTag(node)) {
	case T_A_Const:
		return ((const A_Const *)node)->location;
	case T_ColumnRef:
		return ((const ColumnRef *)node)->location;
	case T_ParamRef:
		return ((const ParamRef *)node)->location;
	case T_FuncCall:
		return ((const FuncCall *)node)->location;
	case T_A_Expr:
		return least_location(((const A_Expr *)node)->location,
				      node_location(((const A_Expr *)node)->lexpr));
	case T_BoolExpr:
		return least_location(((const BoolExpr *)node)->location,
				      list_location(((const BoolExpr *)node)->args));
	case T_TypeCast:
		return least_location(node_location(((const TypeCast *)node)->arg),
				      ((const TypeCast *)node)->typeName->location);
	case T_SubLink:
		return least_location(((const SubLink *)node)->location,
				      node_location(((const SubLink *)node)->testexpr));
	case T_CaseExpr:
		return ((const CaseExpr *)node)->location;
	case T_CoalesceExpr:
		return ((const CoalesceExpr *)node)->location;
	case T_MinMaxExpr:
		return ((const MinMaxExpr *)node)->location;
	case T_RowExpr:
		return ((const RowExpr *)node)->location;
	case T_A_ArrayExpr:
		return ((const A_ArrayExpr *)node)->location;
	case T_A_Indirection:
		return node_location(((const A_Indirection *)node)->arg);
	case T_CollateClause:
		return node_location(((const CollateClause *)node)->arg);
	case T_SQLValueFunction:
		return ((const SQLValueFunction *)node)->location;
	case T_NullTest:
		return least_location(((const NullTest *)node)->location,
				      node_location((const Node *)((const NullTest *)node)->arg));
	case T_BooleanTest:
		return least_location(((const BooleanTest *)node)->location,
				      node_location((const Node *)((const BooleanTest *)node)->arg));
	case T_GroupingFunc:
		return ((const GroupingFunc *)node)->location;
	case T_List:
		return list_location((const List *)node);
	default:
		return -1;
	}
}

/* The text of a quoted literal, or NULL. */
static const char *literal_text(const Node *node)
{
	if (!node || !IsA(node, A_Const))
		return NULL;
	const A_Const *constant = (const A_Const *)node;
	return !constant->isnull && IsA(&constant->val, String) ? constant->val.sval.sval : NULL;
}

static void check_literal(struct resolver *resolver, const Node *node, type_id target)
{
	const char *text = literal_text(node), *sqlstate = NULL;
	if (!text || literal_fits(resolver->catalog, target, text, &sqlstate) != SURELY_NOT)
		return;
	str_t type = type_text(resolver->catalog, target);
	diagnostics_add_state(resolver->diagnostics, DIAG_INVALID_LITERAL, NULL, sqlstate,
			      arena_printf(resolver->arena, "%.200s", text), node_location(node),
			      "'%.200s' is no value of type " STR_FMT, text, STR_ARG(type));
}

enum certainty coerce_value(struct resolver *resolver, const Node *node, type_id type, type_id target,
			    enum cast_context context)
{
	if (!resolver_knows_types(resolver))
		return PERHAPS;
	resolver_note_cast(resolver, type, target, node_location(node));
	if (type == UNKNOWNOID && target != TYPE_UNSURE)
		check_literal(resolver, node, target);
	return type_can_coerce(resolver->catalog, type, target, context);
}

void coerce_or_report(struct resolver *resolver, const Node *node, type_id type, type_id target,
		      const char *what)
{
	if (coerce_value(resolver, node, type, target, CAST_ASSIGNMENT) != SURELY_NOT)
		return;
	str_t found = type_text(resolver->catalog, type), wanted = type_text(resolver->catalog, target);
	report_type(resolver, DIAG_INVALID_TYPE, NULL, "42804", node_location(node),
		    "argument of %s has to be of type " STR_FMT ", not " STR_FMT, what, STR_ARG(wanted),
		    STR_ARG(found));
}

/* The first two types that do not go together, for the message. */
static void report_no_common(struct resolver *resolver, const Node *const *nodes, const type_id *types,
			     size_t count, const char *what, int location)
{
	type_id first = TYPE_UNSURE, pair[2], ignored;
	size_t at = 0;
	for (size_t i = 0; i < count; i++) {
		if (types[i] == UNKNOWNOID)
			continue;
		if (first == TYPE_UNSURE) {
			first = types[i];
			continue;
		}
		pair[0] = first;
		pair[1] = types[i];
		at = i;
		if (type_common(resolver->catalog, pair, 2, &ignored) == SURELY_NOT)
			break;
	}
	str_t one = type_text(resolver->catalog, first), other = type_text(resolver->catalog, types[at]);
	if (location < 0 && nodes)
		location = node_location(nodes[at]);
	report_type(resolver, DIAG_INVALID_TYPE, NULL, "42804", location,
		    "%s types " STR_FMT " and " STR_FMT " cannot be matched", what, STR_ARG(one),
		    STR_ARG(other));
}

type_id common_type(struct resolver *resolver, const Node *const *nodes, const type_id *types, size_t count,
		    const char *what, int location)
{
	type_id type = TYPE_UNSURE;
	if (!resolver_knows_types(resolver))
		return TYPE_UNSURE;
	switch (type_common(resolver->catalog, types, count, &type)) {
	case SURELY_NOT:
		report_no_common(resolver, nodes, types, count, what, location);
		return TYPE_UNSURE;
	case PERHAPS:
		for (size_t i = 0; i < count; i++)
			resolver_note_cast(resolver, types[i], TYPE_UNSURE,
					   nodes ? node_location(nodes[i]) : -1);
		return TYPE_UNSURE;
	default:
		for (size_t i = 0; i < count; i++)
			(void)coerce_value(resolver, nodes ? nodes[i] : NULL, types[i], type, CAST_IMPLICIT);
		return type;
	}
}
