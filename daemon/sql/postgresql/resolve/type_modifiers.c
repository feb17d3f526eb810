#include "sql/postgresql/resolve/internal.h"

#include "sql/postgresql/resolve/type_literal.h"

#include "catalog/pg_type_d.h"

#define PRECISION_MAX	  1000
#define TEXT_MODIFIER_MAX 10485760

static void refuse(struct resolver *resolver, const TypeName *name, const char *sqlstate, const char *what)
{
	resolver_report_type(resolver, DIAG_INVALID_TYPE, SUB_INVALID_TYPE_MODIFIER, sqlstate, name->location,
			     "type \"%s\": %s", names_last(name->names), what);
}

/* The text of a modifier, which is a constant or a name; NULL: something else. */
static const char *modifier_text(struct resolver *resolver, const Node *node)
{
	if (!IsA(node, A_Const) || ((const A_Const *)node)->isnull)
		return node_column_name(node);
	const A_Const *constant = (const A_Const *)node;
	switch (nodeTag(&constant->val)) {
	case T_Integer:
		return arena_printf(resolver->arena, "%d", constant->val.ival.ival).ptr;
	case T_Float:
		return constant->val.fval.fval;
	case T_String:
		return constant->val.sval.sval;
	default:
		return NULL;
	}
}

static bool takes_modifiers(type_id type)
{
	static const type_id types[] = { NUMERICOID, VARCHAROID, BPCHAROID,    BITOID,	       VARBITOID,
					 TIMEOID,    TIMETZOID,	 TIMESTAMPOID, TIMESTAMPTZOID, INTERVALOID };
	for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
		if (types[i] == type)
			return true;
	}
	return false;
}

/* Numbers that the type cannot have. */
static const char *fault_of(type_id type, const long *numbers, int count)
{
	switch (type) {
	case NUMERICOID:
		if (count > 2)
			return "at most a precision and a scale are possible";
		return numbers[0] < 1 || numbers[0] > PRECISION_MAX ? "the precision has to be 1 to 1000"
								    : NULL;
	case VARCHAROID:
	case BPCHAROID:
		if (count > 1)
			return "one length is possible";
		return numbers[0] < 1 || numbers[0] > TEXT_MODIFIER_MAX ? "the length is out of range" : NULL;
	default:
		return NULL;
	}
}

void type_check_modifiers(struct resolver *resolver, const TypeName *name, const struct catalog_type *type)
{
	const char *sqlstate = NULL;
	long numbers[2] = { 0 };
	int count = 0;
	const ListCell *cell;
	if (!name->typmods || !type->is_system)
		return;
	if (!takes_modifiers(type->id)) {
		if (type->kind == 'b')
			refuse(resolver, name, "42601", "it takes no modifier");
		return;
	}
	foreach(cell, name->typmods)
	{
		const char *text = modifier_text(resolver, lfirst(cell));
		if (!text) {
			refuse(resolver, name, "42601", "modifiers are constants or names");
			return;
		}
		if (!sqlstate && literal_fits(resolver->catalog, INT4OID, text, &sqlstate) == SURELY_NOT)
			continue;
		if (count < 2)
			numbers[count] = strtol(text, NULL, 10);
		count++;
	}
	if (sqlstate) {
		refuse(resolver, name, sqlstate, "its modifiers are whole numbers");
		return;
	}
	const char *fault = fault_of(type->id, numbers, count);
	if (fault)
		refuse(resolver, name, "22023", fault);
}
