#include "sql/postgresql/resolve/internal.h"

#include "catalog/pg_type_d.h"

/* Types of the server's libraries may have collations or none. */
static enum certainty is_collatable(const struct catalog *catalog, type_id id)
{
	const struct catalog_type *type = catalog_type(catalog, catalog_type_base(catalog, id));
	for (unsigned depth = 0; type && type->element && type->category == 'A' && depth < 2; depth++)
		type = catalog_type(catalog, catalog_type_base(catalog, type->element));
	if (!type || type->id == UNKNOWNOID)
		return PERHAPS;
	switch (type->kind) {
	case 'c':
	case 'e':
	case 'm':
	case 'r':
		return SURELY_NOT;
	case 'p':
		return type->id == RECORDOID ? SURELY_NOT : PERHAPS;
	default:
		break;
	}
	if (type->category == 'S')
		return SURELY;
	bool is_internal = type->category == 'Z' && type->id != CHAROID;
	return is_internal || !type->is_system ? PERHAPS : SURELY_NOT;
}

static void check_name(struct resolver *resolver, const CollateClause *clause)
{
	const struct catalog *catalog = resolver->catalog;
	if (resolver_list_names_other_database(resolver, clause->collname, 2, clause->location))
		return;
	struct qualified_name written = names_qualified(clause->collname);
	str_t schema = written.schema, name = written.name;
	bool temporary = schema.ptr && strncmp(schema.ptr, "pg_temp", strlen("pg_temp")) == 0;
	bool no_schema = str_present(schema) && !temporary && !catalog_has_schema(catalog, schema);
	if (temporary || (!no_schema && (!catalog_knows_collations(catalog) ||
					 catalog_has_other(catalog, CATALOG_COLLATION, schema, name))))
		return;
	resolver_report_type(resolver, DIAG_INVALID_USE, SUB_INVALID_USE_COLLATION,
			     resolver_missing_sqlstate(resolver, schema, "42704"), clause->location,
			     "collation \"" STR_FMT "\" does not exist", STR_ARG(name));
}

type_id resolve_collate(struct resolver *resolver, struct scope *scope, const CollateClause *clause)
{
	type_id type = resolve_expression(resolver, scope, clause->arg);
	if (!resolver_knows_types(resolver))
		return type;
	if (type != TYPE_UNSURE && is_collatable(resolver->catalog, type) == SURELY_NOT) {
		str_t text = type_text(resolver->catalog, type);
		resolver_report_type(resolver, DIAG_INVALID_TYPE, SUB_INVALID_TYPE_COLLATION, "42804",
				     clause->location, "values of type " STR_FMT " have no collation",
				     STR_ARG(text));
		return TYPE_UNSURE;
	}
	check_name(resolver, clause);
	return type;
}
