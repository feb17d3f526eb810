#include "sql/safety_bombs.h"

#include <ctype.h>
#include <math.h>

static double bytes_of(const Node *node, struct look look);

static double series_rows(const FuncCall *call, struct look look)
{
	double start;
	double stop;
	const Node *step = call_argument(call, 2);
	if (constant_number(call_argument(call, 1), look, &stop)) {
		if (!constant_number(call_argument(call, 0), look, &start))
			start = 0; /* from data: as if from the beginning */
		double width = fabs(constant_number_or(step, look, 1));
		return width > 0 ? floor(fabs(stop - start) / width) + 1 : 1;
	}
	double span = fabs(constant_moment(call_argument(call, 1), look) -
			   constant_moment(call_argument(call, 0), look));
	double seconds = constant_interval(step, look);
	if (isnan(span))
		return 1;
	return seconds > 0 ? floor(span / seconds) + 1 : 1;
}

/* Product of the numbers in an array literal, '{1000,1000}'. */
static double listed_product(const char *text)
{
	double product = 1;
	while (text && *text) {
		char *end;
		double value = strtod(text, &end);
		product *= end > text ? fmax(value, 1) : 1;
		text = end > text ? end : text + 1;
	}
	return product;
}

/* Elements of array_fill(value, ARRAY[…]). */
static double filled_elements(const Node *dimensions, struct look look)
{
	for (unsigned depth = 0; dimensions && IsA(dimensions, TypeCast) && depth < LOOK_MAX_DEPTH; depth++)
		dimensions = ((const TypeCast *)dimensions)->arg;
	if (!dimensions || !IsA(dimensions, A_ArrayExpr))
		return listed_product(constant_text(dimensions));
	double product = 1;
	ListCell *cell;
	foreach(cell, ((const A_ArrayExpr *)dimensions)->elements) product *=
		fmax(constant_number_or(lfirst(cell), look, 1), 1);
	return product;
}

/* Widest field of a format() text, `%1000000s`; a width from an argument, `%*s`, is the largest argument. */
static double format_width(const FuncCall *call, struct look look)
{
	double widest = 1;
	const char *text = constant_text(call_argument(call, 0));
	for (; text && *text; text++) {
		if (*text != '%')
			continue;
		for (text++; *text && strchr("-$0123456789*", *text); text++) {
			double value = 1;
			if (*text == '*')
				constant_largest(call->args, look, &value);
			else if (isdigit((unsigned char)*text))
				value = strtod(text, NULL);
			widest = fmax(widest, fabs(value));
		}
		if (!*text)
			break;
	}
	return widest;
}

double bomb_power_digits(const Node *base, const Node *exponent, struct look look)
{
	double number;
	double power;
	if (!constant_number(exponent, look, &power) || !constant_number(base, look, &number))
		return 0;
	return fabs(power * log10(fmax(fabs(number), 1e-300)));
}

/* Bytes that stand for a cost which grows faster than the number's digits. */
static double digits_bytes(double digits)
{
	return digits >= BOMB_DIGITS ? INFINITY : 1;
}

static double call_bytes(const FuncCall *call, struct look look)
{
	const Node *first = call_argument(call, 0);
	const Node *second = call_argument(call, 1);
	if (call_is(call, "repeat"))
		return bytes_of(first, look) * fmax(constant_number_or(second, look, 1), 1);
	if (call_is(call, "lpad") || call_is(call, "rpad"))
		return fmax(constant_number_or(second, look, 1), 1);
	if (call_is(call, "array_fill"))
		return filled_elements(second, look);
	if (call_is(call, "format"))
		return format_width(call, look);
	if (call_is(call, "factorial")) /* n! has about n·log10(n) digits, and costs their square */
		return pow(fmax(constant_number_or(first, look, 1), 1), 1.6);
	if (call_is(call, "power") || call_is(call, "pow"))
		return digits_bytes(bomb_power_digits(first, second, look));
	if (call_is(call, "exp"))
		return digits_bytes(fabs(constant_number_or(first, look, 0)) * M_LOG10E);
	double total = 0;
	ListCell *cell;
	foreach(cell, call->args) total += bytes_of(lfirst(cell), look);
	return fmax(total, 1);
}

static double bytes_of(const Node *node, struct look look)
{
	if (!node || !look_on(look))
		return 1;
	look = look_deeper(look);
	const char *text = constant_text(node);
	if (text)
		return fmax((double)strlen(text), 1);
	switch ((int)nodeTag(node)) {
	case T_TypeCast:
		return bytes_of(((const TypeCast *)node)->arg, look);
	case T_FuncCall:
		return call_bytes((const FuncCall *)node, look);
	case T_A_Expr: {
		const A_Expr *expr = (const A_Expr *)node;
		return bytes_of(expr->lexpr, look) + bytes_of(expr->rexpr, look);
	}
	case T_ColumnRef:
	case T_SubLink:
		return bytes_of(constant_source(node, look, 0), look);
	default:
		return 1;
	}
}

/* What a query may measure with length(…), to count with. */
static double measured(const Node *node, struct look look)
{
	if (!node || !look_on(look))
		return 0;
	look = look_deeper(look);
	if (IsA(node, FuncCall)) {
		const FuncCall *call = (const FuncCall *)node;
		if (call_is(call, "length") || call_is(call, "char_length") || call_is(call, "octet_length"))
			return bytes_of(call_argument(call, 0), look);
	}
	if (IsA(node, TypeCast))
		return measured(((const TypeCast *)node)->arg, look);
	if (!IsA(node, A_Expr))
		return 0;
	const A_Expr *expr = (const A_Expr *)node;
	double left = measured(expr->lexpr, look);
	double right = measured(expr->rexpr, look);
	if (left <= 0 && right <= 0)
		return 0;
	return (left > 0 ? left : fmax(constant_number_or(expr->lexpr, look, 1), 1)) *
	       (right > 0 ? right : fmax(constant_number_or(expr->rexpr, look, 1), 1));
}

struct call_size bomb_call_size(const FuncCall *call, struct look look)
{
	static const char *const sized[] = { "repeat",	  "lpad",  "rpad", "array_fill", "format",
					     "factorial", "power", "pow",  "exp" };
	struct call_size size = { 1, 1 };
	if (call_is(call, "generate_series"))
		size.rows = fmax(fmax(series_rows(call, look), measured(call_argument(call, 1), look)), 1);
	for (size_t i = 0; i < sizeof sized / sizeof sized[0]; i++)
		if (call_is(call, sized[i]))
			size.bytes = call_bytes(call, look);
	if (*look.steps >= LOOK_MAX_STEPS) /* nobody writes such constants for their values */
		size.rows = INFINITY;
	return size;
}
