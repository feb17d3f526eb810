#include "sql/postgresql/safety/bombs.h"

#include <catalog/pg_type_d.h>
#include <math.h>
#include <strings.h>

static bool is_float_type(const TypeName *type)
{
	static const char *const names[] = { "float8", "float4" };
	const char *name = list_length(type->names) > 0 ? NODE_STRING(llast(type->names)) : "";
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (strcmp(name, names[i]) == 0 && !type->arrayBounds)
			return true;
	return false;
}

/* Whether the value surely is a number of a fixed size: all arithmetic with it goes on in such numbers. */
static bool is_float(const Node *node, struct look look)
{
	type_id type = look.resolution && node ? resolution_type(look.resolution, node) : TYPE_UNSURE;
	if (type != TYPE_UNSURE && type != UNKNOWNOID)
		return type == FLOAT8OID || type == FLOAT4OID;
	return node && IsA(node, TypeCast) && is_float_type(((const TypeCast *)node)->typeName);
}

/* Infinity itself, not a number that is too large for ours. */
static bool is_infinity(const Node *node)
{
	while (node && IsA(node, TypeCast))
		node = ((const TypeCast *)node)->arg;
	const A_Const *constant = node && IsA(node, A_Const) ? (const A_Const *)node : NULL;
	if (!constant || constant->isnull || constant->val.node.type != T_String)
		return false;
	const char *text = constant->val.sval.sval;
	text += strspn(text, " \t\n\r\f\v");
	text += *text == '+' || *text == '-';
	return strncasecmp(text, "inf", 3) == 0;
}

/* Whether arithmetic with the value gives numbers of a fixed size. */
static bool is_small(const Node *node, struct look look)
{
	return is_float(node, look) || is_infinity(node);
}

double bomb_power_digits(const Node *base, const Node *exponent, struct look look)
{
	double number;
	double power;
	if (!constant_number(exponent, look, &power) || !constant_number(base, look, &number) ||
	    is_small(base, look) || is_small(exponent, look))
		return 0;
	return fabs(power * log10(fmax(fabs(number), 1e-300)));
}

double bomb_exp_digits(const Node *exponent, struct look look)
{
	return is_small(exponent, look) ? 0 : fabs(constant_number_or(exponent, look, 0)) * M_LOG10E;
}
