#include "sql/catalog/internal.h"
#include "sql/lex/identifier.h"

#include <catalog/pg_type_d.h>

/* Types whose names PostgreSQL writes in another way than it keeps them (format_type). */
static const struct {
	type_id id;
	const char *text;
} written_types[] = {
	{ BITOID, "bit" },
	{ BOOLOID, "boolean" },
	{ BPCHAROID, "character" },
	{ FLOAT4OID, "real" },
	{ FLOAT8OID, "double precision" },
	{ INT2OID, "smallint" },
	{ INT4OID, "integer" },
	{ INT8OID, "bigint" },
	{ INTERVALOID, "interval" },
	{ NUMERICOID, "numeric" },
	{ TIMEOID, "time without time zone" },
	{ TIMETZOID, "time with time zone" },
	{ TIMESTAMPOID, "timestamp without time zone" },
	{ TIMESTAMPTZOID, "timestamp with time zone" },
	{ VARBITOID, "bit varying" },
	{ VARCHAROID, "character varying" },
};

char catalog_worse(char a, char b)
{
	return a > b ? a : b; /* 'i' < 's' < VOLATILITY_UNKNOWN < 'v' */
}

const struct catalog_type *catalog_array_element(const struct catalog *catalog,
						 const struct catalog_type *type)
{
	const struct catalog_type *element = catalog_type(catalog, type->element);
	return element && element->array == type->id ? element : NULL;
}

str_t catalog_type_write(const struct catalog *catalog, const struct catalog_type *type, struct arena *arena)
{
	const struct catalog_type *element = catalog_array_element(catalog, type);
	if (element && str_present(element->text))
		return arena_printf(arena, STR_FMT "[]", STR_ARG(element->text));
	for (size_t i = 0; i < sizeof written_types / sizeof *written_types; i++) {
		if (written_types[i].id == type->id)
			return str_from(written_types[i].text);
	}
	str_t name = identifier_quote(type->name, arena);
	if (catalog_on_path(catalog, type->schema))
		return name;
	str_t schema = identifier_quote(type->schema, arena);
	return arena_printf(arena, STR_FMT "." STR_FMT, STR_ARG(schema), STR_ARG(name));
}

void catalog_derive_column(const struct catalog *catalog, struct catalog_column *column)
{
	const struct catalog_type *base =
		catalog_type(catalog, catalog_type_base(catalog, column->value_type));
	if (!base)
		return;
	column->type = base->text;
	column->category = catalog_type_category(base->text);
}

bool catalog_type_takes_row(const struct catalog *catalog, type_id id)
{
	switch (id) {
	case RECORDOID:
	case ANYOID:
	case ANYELEMENTOID:
	case ANYNONARRAYOID:
	case ANYCOMPATIBLEOID:
	case ANYCOMPATIBLENONARRAYOID:
		return true;
	default:
		break;
	}
	const struct catalog_type *base = catalog_type(catalog, catalog_type_base(catalog, id));
	return !base || base->kind == 'c';
}

enum type_category catalog_type_category(str_t type)
{
	static const struct {
		const char *type;
		enum type_category category;
	} known[] = {
		{ "smallint", TYPE_INTEGER },
		{ "integer", TYPE_INTEGER },
		{ "bigint", TYPE_INTEGER },
		{ "numeric", TYPE_NUMERIC },
		{ "real", TYPE_NUMERIC },
		{ "double precision", TYPE_NUMERIC },
		{ "text", TYPE_TEXT },
		{ "character varying", TYPE_TEXT },
		{ "character", TYPE_TEXT },
		{ "name", TYPE_TEXT },
		{ "boolean", TYPE_BOOLEAN },
		{ "date", TYPE_TEMPORAL },
		{ "timestamp without time zone", TYPE_TEMPORAL },
		{ "timestamp with time zone", TYPE_TEMPORAL },
	};
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (str_is(type, known[i].type))
			return known[i].category;
	}
	return TYPE_OTHER;
}
