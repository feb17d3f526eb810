#include "sql/postgresql/safety/constant_parts.h" // first: see pg_nodes.h

#include "sql/postgresql/node_children.h"
#include "sql/postgresql/safety/bombs.h"

#include "catalog/pg_type_d.h"

#include <ctype.h>
#include <math.h>
#include <strings.h>

#define EPOCH_S 1.8e9 /* between 1970 and 2027 */

static bool text_number(const char *text, double *ret_value)
{
	char *end;
	*ret_value = strtod(text, &end);
	while (isspace((unsigned char)*end))
		end++;
	return end != text && *end == '\0';
}

static bool literal_number(const A_Const *literal, double *ret_value)
{
	if (literal->isnull)
		return false;
	switch ((int)literal->val.node.type) {
	case T_Integer:
		*ret_value = literal->val.ival.ival;
		return true;
	case T_Float:
		return text_number(literal->val.fval.fval, ret_value);
	case T_String:
		return text_number(literal->val.sval.sval, ret_value);
	case T_BitString: {
		const char *digits = literal->val.bsval.bsval; /* after an x or b */
		*ret_value = (double)strtoull(digits + 1, NULL, digits[0] == 'x' ? 16 : 2);
		return true;
	}
	default:
		return false;
	}
}

static bool prefix_number(const char *op, double right, double *ret_value)
{
	*ret_value = strcmp(op, "-") == 0    ? -right
		     : strcmp(op, "~") == 0  ? -right - 1
		     : strcmp(op, "@") == 0  ? fabs(right)
		     : strcmp(op, "|/") == 0 ? sqrt(fabs(right))
					     : right;
	return true;
}

static bool arithmetic(const char *op, double left, double right, double *ret_value)
{
	double shift = fmax(fmin(right, 63), -63);
	if (strcmp(op, "<<") == 0 || strcmp(op, ">>") == 0) {
		*ret_value = ldexp(left, (int)(op[0] == '<' ? shift : -shift));
		return true;
	}
	if (op[0] == '\0' || op[1] != '\0' || !strchr("+-*/%^|#&", op[0]))
		return false;
	*ret_value = op[0] == '-'   ? left - right
		     : op[0] == '*' ? left * right
		     : op[0] == '/' ? (right != 0 ? left / right : 0)
		     : op[0] == '%' ? (right != 0 ? fmod(left, right) : 0)
		     : op[0] == '^' ? pow(left, right)
		     : op[0] == '&' ? fmin(left, right)
				    : left + right; /* of bits: never less than it is */
	return true;
}

/* Digits that are put behind digits: a::text || '000000'. */
static bool appended_number(const A_Expr *expr, struct look look, double *ret_value)
{
	double left;
	double right;
	const char *digits = constant_text(expr->rexpr);
	if (!digits || !text_number(digits, &right) || !constant_number(expr->lexpr, look, &left))
		return false;
	*ret_value = left * pow(10, fmin((double)strlen(digits), 300)) + right;
	return true;
}

static bool operator_number(const A_Expr *expr, struct look look, double *ret_value)
{
	double left = 0;
	double right;
	const char *op = constant_last_name(expr->name);
	if (expr->kind == AEXPR_NULLIF)
		return constant_number(expr->lexpr, look, ret_value);
	if (expr->kind == AEXPR_OP && expr->lexpr && strcmp(op, "||") == 0)
		return appended_number(expr, look, ret_value);
	if (expr->kind != AEXPR_OP || !constant_number(expr->rexpr, look, &right))
		return false;
	if (!expr->lexpr)
		return prefix_number(op, right, ret_value);
	return constant_number(expr->lexpr, look, &left) && arithmetic(op, left, right, ret_value);
}

/* The most that a field of a moment can be. */
static double largest_field(const char *field)
{
	static const struct {
		const char *field;
		double value;
	} fields[] = {
		{ "day", 31 },		 { "hour", 24 },      { "minute", 59 },	     { "second", 60 },
		{ "month", 12 },	 { "quarter", 4 },    { "week", 53 },	     { "dow", 7 },
		{ "isodow", 7 },	 { "doy", 366 },      { "year", 294276 },    { "isoyear", 294276 },
		{ "century", 2943 },	 { "decade", 29428 }, { "millennium", 295 }, { "milliseconds", 6e4 },
		{ "microseconds", 6e7 }, { "timezone", 6e4 }, { "julian", 1.1e8 }
	};
	for (size_t i = 0; field && i < sizeof fields / sizeof fields[0]; i++)
		if (strcasecmp(field, fields[i].field) == 0)
			return fields[i].value;
	return 1e13; /* of the epoch, in seconds */
}

/* Whether the value is of a type of moments, and not of spans between them. */
static bool is_moment(const Node *node, struct look look)
{
	type_id type = look.resolution ? resolution_type(look.resolution, node) : TYPE_UNSURE;
	return type == TIMESTAMPOID || type == TIMESTAMPTZOID || type == DATEOID;
}

/* extract(field from …); of an interval that is written out, a field may be larger. */
static bool field_number(const FuncCall *call, struct look look, double *ret_value)
{
	const Node *source = call_argument(call, 1);
	const char *field = constant_text(call_argument(call, 0));
	if (may_read_data(source, look)) {
		bool since_1970 = field && strcasecmp(field, "epoch") == 0 && is_moment(source, look);
		*ret_value = since_1970 ? EPOCH_S : 1;
		return look.data_is_one;
	}
	double seconds = fabs(constant_interval(source, look));
	*ret_value = fmax(largest_field(field), field ? seconds / constant_unit_seconds(field) : seconds);
	return true;
}

/* Lengths, and codes of characters. */
static bool measure_number(const FuncCall *call, struct look look, double *ret_value)
{
	static const char *const lengths[] = { "length",       "char_length", "character_length",
					       "octet_length", "cardinality", "array_length",
					       "array_upper" };
	const Node *measured = call_argument(call, 0);
	if (call_is(call, "ascii")) {
		*ret_value = 0x10ffff;
		return !may_read_data(measured, look);
	}
	if (!call_is_one_of(call, lengths, sizeof lengths / sizeof lengths[0]))
		return false;
	*ret_value = bomb_bytes(measured, look);
	return look.data_is_one || !may_read_data(measured, look);
}

static bool power_number(const FuncCall *call, struct look look, double *ret_value)
{
	double base;
	double exponent;
	if (!constant_number(call_argument(call, 0), look, &base) ||
	    !constant_number(call_argument(call, 1), look, &exponent))
		return false;
	*ret_value = pow(base, exponent);
	return true;
}

static bool call_number(const FuncCall *call, struct look look, double *ret_value)
{
	static const char *const kept[] = { "ceil", "ceiling", "floor",	 "round",   "trunc",
					    "int4", "int8",    "float8", "numeric", "to_number",
					    "max",  "min",     "sum",	 "avg" };
	double first;
	if (call_is(call, "random")) {
		*ret_value = 1;
		return true;
	}
	if (call_is(call, "extract") || call_is(call, "date_part"))
		return field_number(call, look, ret_value);
	if (call_is(call, "power") || call_is(call, "pow"))
		return power_number(call, look, ret_value);
	if (measure_number(call, look, ret_value))
		return true;
	if (constant_number(call_argument(call, 0), look, &first)) {
		*ret_value = call_is(call, "abs")	  ? fabs(first)
			     : call_is(call, "exp")	  ? exp(first)
			     : call_is(call, "factorial") ? tgamma(fmin(first, 170) + 1)
							  : first;
		if (call_is(call, "abs") || call_is(call, "exp") || call_is(call, "factorial") ||
		    call_is_one_of(call, kept, sizeof kept / sizeof kept[0]))
			return true;
	}
	*ret_value = 1;
	return look.data_is_one && may_read_data((const Node *)call, look);
}

bool constant_largest(const List *nodes, struct look look, double *ret_value)
{
	bool any = false;
	ListCell *cell;
	foreach(cell, nodes)
	{
		double value;
		if (!constant_number(lfirst(cell), look, &value))
			continue;
		*ret_value = any ? fmax(*ret_value, value) : value;
		any = true;
	}
	return any;
}

static bool case_number(const CaseExpr *expr, struct look look, double *ret_value)
{
	double value;
	bool any = constant_number((const Node *)expr->defresult, look, ret_value);
	ListCell *cell;
	foreach(cell, expr->args)
	{
		if (!constant_number((const Node *)((const CaseWhen *)lfirst(cell))->result, look, &value))
			continue;
		*ret_value = any ? fmax(*ret_value, value) : value;
		any = true;
	}
	return any;
}

struct largest {
	bool any;
	double value;
};

static bool keep_largest(const Node *node, struct look look, void *context)
{
	struct largest *largest = context;
	double value;
	if (!constant_number(node, look, &value))
		return true;
	largest->value = largest->any ? fmax(largest->value, value) : value;
	largest->any = true;
	return true;
}

static bool largest_literal(const Node *node, void *context)
{
	struct largest *largest = context;
	double value;
	if (IsA(node, A_Const) && ((const A_Const *)node)->val.node.type != T_String &&
	    literal_number((const A_Const *)node, &value)) {
		largest->value = largest->any ? fmax(largest->value, value) : value;
		largest->any = true;
	}
	return node_children(node, largest_literal, context);
}

/* A recursion counts up to one of the numbers in it. */
static void keep_recursive(const Node *node, struct look look, struct largest *largest)
{
	size_t index;
	const struct range_item *item =
		IsA(node, ColumnRef) ? constant_column_item((const ColumnRef *)node, look, &index) : NULL;
	if (item && item->kind == RANGE_CTE && item->cte && constant_recursive(item->cte))
		(void)node_children(item->cte->ctequery, largest_literal, largest);
}

static bool source_number(const Node *node, struct look look, double *ret_value)
{
	struct largest largest = { false, 0 };
	(void)constant_sources(node, look, keep_largest, &largest);
	if (!largest.any)
		keep_recursive(node, look, &largest);
	*ret_value = largest.any ? largest.value : 1;
	return largest.any || look.data_is_one;
}

static bool is_least(const MinMaxExpr *expr, struct look look, double *ret_value)
{
	bool any = false;
	ListCell *cell;
	foreach(cell, expr->op == IS_LEAST ? expr->args : NIL)
	{
		double value;
		const Node *node = lfirst(cell);
		if (!IsA(node, A_Const) || !constant_number(node, look, &value))
			continue;
		*ret_value = any ? fmin(*ret_value, value) : value;
		any = true;
	}
	return any;
}

bool constant_number(const Node *node, struct look look, double *ret_value)
{
	if (!node || !look_on(look))
		return false;
	look = look_deeper(look);
	switch ((int)nodeTag(node)) {
	case T_A_Const:
		return literal_number((const A_Const *)node, ret_value);
	case T_TypeCast:
		return constant_number(((const TypeCast *)node)->arg, look, ret_value);
	case T_A_Expr:
		return operator_number((const A_Expr *)node, look, ret_value);
	case T_FuncCall:
		return call_number((const FuncCall *)node, look, ret_value);
	case T_ColumnRef:
	case T_SubLink:
		return source_number(node, look, ret_value);
	case T_CaseExpr:
		return case_number((const CaseExpr *)node, look, ret_value);
	case T_CoalesceExpr:
		return constant_largest(((const CoalesceExpr *)node)->args, look, ret_value);
	case T_MinMaxExpr:
		return is_least((const MinMaxExpr *)node, look, ret_value) ||
		       constant_largest(((const MinMaxExpr *)node)->args, look, ret_value);
	case T_A_ArrayExpr:
		return constant_largest(((const A_ArrayExpr *)node)->elements, look, ret_value);
	case T_A_Indirection:
		return constant_number(((const A_Indirection *)node)->arg, look, ret_value);
	default:
		*ret_value = 1;
		return look.data_is_one;
	}
}

bool constant_guess(const Node *node, struct look look, double *ret_value)
{
	look.data_is_one = true;
	return constant_number(node, look, ret_value);
}

double constant_number_or(const Node *node, struct look look, double otherwise)
{
	double value;
	return constant_number(node, look, &value) ? value : otherwise;
}
