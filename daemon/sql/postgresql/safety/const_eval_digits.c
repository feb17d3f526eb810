#include "sql/postgresql/safety/const_eval_internal.h" // first: see pg_nodes.h

#include <catalog/pg_type_d.h>
#include <math.h>
#include <strings.h>

/* Whether the value surely is a number of a fixed size: all arithmetic with it goes on in such numbers. */
static bool is_float(const Node *node, struct const_eval eval)
{
	type_id type = eval.resolution && node ? resolution_type(eval.resolution, node) : TYPE_UNSURE;
	if (type != TYPE_UNSURE && type != UNKNOWNOID)
		return type == FLOAT8OID || type == FLOAT4OID;
	const TypeName *written = node && IsA(node, TypeCast) ? ((const TypeCast *)node)->typeName : NULL;
	return written && !written->arrayBounds &&
	       STR_IS_ANY(names_qualified(written->names).name, "float8", "float4");
}

/* Infinity itself, not a number that is too large for ours. */
static bool is_infinity(const Node *node)
{
	const char *text = const_eval_text(node);
	if (!text)
		return false;
	text += strspn(text, " \t\n\r\f\v");
	text += *text == '+' || *text == '-';
	return strncasecmp(text, "inf", 3) == 0;
}

/* Whether arithmetic with the value gives numbers of a fixed size. */
static bool is_small(const Node *node, struct const_eval eval)
{
	return is_float(node, eval) || is_infinity(node);
}

double const_eval_power_digits(const Node *base, const Node *exponent, struct const_eval eval)
{
	double number;
	double power;
	if (!const_eval_number(exponent, eval, &power) || !const_eval_number(base, eval, &number) ||
	    is_small(base, eval) || is_small(exponent, eval))
		return 0;
	return fabs(power * log10(fmax(fabs(number), 1e-300)));
}

double const_eval_exp_digits(const Node *exponent, struct const_eval eval)
{
	return is_small(exponent, eval) ? 0 : fabs(const_eval_number_or(exponent, eval, 0)) * M_LOG10E;
}
