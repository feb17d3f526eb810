#include "sql/postgresql/resolve/internal.h"

#include "common/nearest.h"
#include "sql/postgresql/resolve/type_literal.h"

#include "catalog/pg_type_d.h"

enum type_category type_category_of(const struct catalog *catalog, type_id type)
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
		       ? type_category_of(resolution->catalog, resolution_type(resolution, node))
		       : TYPE_OTHER;
}

const char *resolver_missing_sqlstate(const struct resolver *resolver, str_t schema, const char *otherwise)
{
	return str_present(schema) && resolver->catalog && !catalog_has_schema(resolver->catalog, schema)
		       ? "3F000"
		       : otherwise;
}

bool resolver_names_other_database(struct resolver *resolver, const char *database, int location)
{
	str_t here = resolver->catalog ? catalog_database(resolver->catalog) : STR_NONE;
	if (!database || (str_present(here) && str_is(here, database)))
		return false;
	bool is_other = str_present(here) ||
			STR_IS_ANY(str_from(database), "pg_catalog", "information_schema", "public");
	if (is_other)
		resolver_report_type(resolver, DIAG_UNKNOWN_TABLE, SUB_UNKNOWN_TABLE_DATABASE, "0A000",
				     location, "\"%s\" stands where the database is named", database);
	return is_other;
}

bool resolver_list_names_other_database(struct resolver *resolver, const List *names, int parts, int location)
{
	int count = list_length(names);
	if (count > parts + 1) {
		resolver_report_type(resolver, DIAG_INVALID_USE, SUB_INVALID_USE_NAME, "42601", location,
				     "the name has too many parts");
		return true;
	}
	return count == parts + 1 &&
	       resolver_names_other_database(resolver, NODE_STRING(linitial(names)), location);
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
	diagnostics_add_state(resolver->diagnostics, DIAG_UNKNOWN_TYPE, SUB_NONE,
			      resolver_missing_sqlstate(resolver, schema, "42704"), str_from(text),
			      name->location, "type \"%s\" does not exist" STR_FMT, text, STR_ARG(hint));
}

type_id resolve_type_name(struct resolver *resolver, const TypeName *name)
{
	const char *text = names_last(name->names);
	if (!resolver_knows_types(resolver) || !text || name->pct_type || name->setof ||
	    resolver_list_names_other_database(resolver, name->names, 2, name->location))
		return TYPE_UNSURE;
	str_t schema = names_qualified(name->names).schema;
	const struct catalog_type *type = catalog_type_named(resolver->catalog, schema, str_from(text));
	if (!type) {
		resolver_note_missing(resolver, "type", str_from(text));
		bool temporary = schema.ptr && strncmp(schema.ptr, "pg_temp", strlen("pg_temp")) == 0;
		if (!temporary && !resolver_lacks_names(resolver))
			report_unknown_type(resolver, name, schema, text);
		return TYPE_UNSURE;
	}
	type_check_modifiers(resolver, name, type);
	return name->arrayBounds ? type_array(resolver->catalog, type->id) : type->id;
}

static int least_location(int a, int b)
{
	return a < 0 ? b : b < 0 ? a : a < b ? a : b;
}

/* Where an expression is written: its own word or sign, unless its first part stands before that. */
struct writing {
	int location;
	const Node *first;
};

static const Node *first_of(const List *list)
{
	return list ? linitial(list) : NULL;
}

/* As far as the grammar keeps it. */
static struct writing writing_of(const Node *node)
{
#define WRITING(type, part) ((struct writing){ ((const type *)node)->location, (part) })
	switch (nodeTag(node)) {
	case T_A_Const:
		return WRITING(A_Const, NULL);
	case T_ColumnRef:
		return WRITING(ColumnRef, NULL);
	case T_ParamRef:
		return WRITING(ParamRef, NULL);
	case T_FuncCall:
		return WRITING(FuncCall, NULL);
	case T_A_Expr:
		return WRITING(A_Expr, ((const A_Expr *)node)->lexpr);
	case T_BoolExpr:
		return WRITING(BoolExpr, first_of(((const BoolExpr *)node)->args));
	case T_TypeCast:
		return (struct writing){ ((const TypeCast *)node)->typeName->location,
					 ((const TypeCast *)node)->arg };
	case T_SubLink:
		return WRITING(SubLink, ((const SubLink *)node)->testexpr);
	case T_CaseExpr:
		return WRITING(CaseExpr, NULL);
	case T_CoalesceExpr:
		return WRITING(CoalesceExpr, NULL);
	case T_MinMaxExpr:
		return WRITING(MinMaxExpr, NULL);
	case T_RowExpr:
		return WRITING(RowExpr, NULL);
	case T_A_ArrayExpr:
		return WRITING(A_ArrayExpr, NULL);
	case T_A_Indirection:
		return (struct writing){ -1, ((const A_Indirection *)node)->arg };
	case T_CollateClause:
		return (struct writing){ -1, ((const CollateClause *)node)->arg };
	case T_SQLValueFunction:
		return WRITING(SQLValueFunction, NULL);
	case T_NullTest:
		return WRITING(NullTest, (const Node *)((const NullTest *)node)->arg);
	case T_BooleanTest:
		return WRITING(BooleanTest, (const Node *)((const BooleanTest *)node)->arg);
	case T_GroupingFunc:
		return WRITING(GroupingFunc, NULL);
	case T_List:
		return (struct writing){ -1, first_of((const List *)node) };
	default:
		return (struct writing){ -1, NULL };
	}
#undef WRITING
}

/* Further down to the left than that, locations are kept: long chains are asked for at every link. */
#define NEAR_PARTS 8

/* Where the text of the expression begins. */
int resolver_node_location(struct resolver *resolver, const Node *node)
{
	int location = -1;
	unsigned parts = 0;
	const void *known = NULL;
	for (const Node *part = node; part && !known; parts++) {
		known = parts > NEAR_PARTS ? node_map_get(resolver->locations, part) : NULL;
		struct writing writing =
			known ? (struct writing){ (int)((intptr_t)known - 2), NULL } : writing_of(part);
		location = least_location(location, writing.location);
		part = writing.first;
	}
	if (parts > NEAR_PARTS) {
		if (!resolver->locations)
			resolver->locations = node_map_new(resolver->arena);
		node_map_set(resolver->locations, node, (const void *)((intptr_t)location + 2));
	}
	return location;
}

/* The text of a quoted literal, or NULL. */
static const char *literal_text(const Node *node)
{
	while (node && IsA(node, CollateClause)) /* what is under it is converted */
		node = ((const CollateClause *)node)->arg;
	return node_string(node);
}

static void check_literal(struct resolver *resolver, const Node *node, type_id target)
{
	const char *text = literal_text(node), *sqlstate = NULL;
	if (!text || literal_fits(resolver->catalog, target, text, &sqlstate) != SURELY_NOT)
		return;
	str_t type = type_text(resolver->catalog, target);
	diagnostics_add_state(resolver->diagnostics, DIAG_INVALID_LITERAL, SUB_NONE, sqlstate,
			      arena_printf(resolver->arena, "%.200s", text),
			      resolver_node_location(resolver, node), "'%.200s' is no value of type " STR_FMT,
			      text, STR_ARG(type));
}

enum certainty resolver_coerce_value(struct resolver *resolver, const Node *node, type_id type,
				     type_id target, enum cast_context context)
{
	if (!resolver_knows_types(resolver))
		return PERHAPS;
	resolver_note_cast(resolver, type, target, resolver_node_location(resolver, node));
	if (type == UNKNOWNOID && target != TYPE_UNSURE)
		check_literal(resolver, node, target);
	enum certainty possible = type_can_coerce(resolver->catalog, type, target, context);
	if (possible == SURELY_NOT && resolver_lacks_names(resolver))
		resolver_note_missing(resolver, "a conversion to", type_text(resolver->catalog, target));
	return possible;
}

void resolver_coerce_or_report(struct resolver *resolver, const Node *node, type_id type, type_id target,
			       const char *what)
{
	if (resolver_coerce_value(resolver, node, type, target, CAST_ASSIGNMENT) != SURELY_NOT)
		return;
	str_t found = type_text(resolver->catalog, type), wanted = type_text(resolver->catalog, target);
	resolver_report_type(resolver, DIAG_INVALID_TYPE, SUB_NONE, "42804",
			     resolver_node_location(resolver, node),
			     "argument of %s has to be of type " STR_FMT ", not " STR_FMT, what,
			     STR_ARG(wanted), STR_ARG(found));
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
	if (resolver_lacks_names(resolver))
		resolver_note_missing(resolver, "a conversion to", one);
	if (location < 0 && nodes)
		location = resolver_node_location(resolver, nodes[at]);
	resolver_report_type(resolver, DIAG_INVALID_TYPE, SUB_NONE, "42804", location,
			     "%s types " STR_FMT " and " STR_FMT " cannot be matched", what, STR_ARG(one),
			     STR_ARG(other));
}

type_id resolver_common_type(struct resolver *resolver, const Node *const *nodes, const type_id *types,
			     size_t count, const char *what, int location)
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
					   nodes ? resolver_node_location(resolver, nodes[i]) : -1);
		return TYPE_UNSURE;
	default:
		for (size_t i = 0; i < count; i++)
			(void)resolver_coerce_value(resolver, nodes ? nodes[i] : NULL, types[i], type,
						    CAST_IMPLICIT);
		return type;
	}
}
