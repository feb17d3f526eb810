#include "sql/postgresql/safety/const_eval_internal.h" // first: see pg_nodes.h

#include "sql/postgresql/parse/node_children.h"

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
static bool appended_number(const A_Expr *expr, struct const_eval eval, double *ret_value)
{
	double left;
	double right;
	const char *digits = const_eval_text(expr->rexpr);
	if (!digits || !text_number(digits, &right) || !const_eval_number(expr->lexpr, eval, &left))
		return false;
	*ret_value = left * pow(10, fmin((double)strlen(digits), 300)) + right;
	return true;
}

static bool operator_number(const A_Expr *expr, struct const_eval eval, double *ret_value)
{
	double left = 0;
	double right;
	const char *op = names_last(expr->name);
	if (expr->kind == AEXPR_NULLIF)
		return const_eval_number(expr->lexpr, eval, ret_value);
	if (expr->kind == AEXPR_OP && expr->lexpr && strcmp(op, "||") == 0)
		return appended_number(expr, eval, ret_value);
	if (expr->kind != AEXPR_OP || !const_eval_number(expr->rexpr, eval, &right))
		return false;
	if (!expr->lexpr)
		return prefix_number(op, right, ret_value);
	return const_eval_number(expr->lexpr, eval, &left) && arithmetic(op, left, right, ret_value);
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
static bool is_moment(const Node *node, struct const_eval eval)
{
	type_id type = eval.resolution ? resolution_type(eval.resolution, node) : TYPE_UNSURE;
	return type == TIMESTAMPOID || type == TIMESTAMPTZOID || type == DATEOID;
}

/* extract(field from …); of an interval that is written out, a field may be larger. */
static bool field_number(const FuncCall *call, struct const_eval eval, double *ret_value)
{
	const Node *source = safety_call_argument(call, 1);
	const char *field = const_eval_text(safety_call_argument(call, 0));
	if (const_eval_may_read_data(source, eval)) {
		bool since_1970 = field && strcasecmp(field, "epoch") == 0 && is_moment(source, eval);
		*ret_value = since_1970 ? EPOCH_S : 1;
		return eval.data_is_one;
	}
	double seconds = fabs(const_eval_interval(source, eval));
	*ret_value = fmax(largest_field(field), field ? seconds / const_eval_unit_seconds(field) : seconds);
	return true;
}

/* Lengths, and codes of characters. */
static bool measure_number(const FuncCall *call, struct const_eval eval, double *ret_value)
{
	const Node *measured = safety_call_argument(call, 0);
	if (safety_call_is(call, "ascii")) {
		*ret_value = 0x10ffff;
		return !const_eval_may_read_data(measured, eval);
	}
	if (!SAFETY_CALL_IS_ANY(call, "length", "char_length", "character_length", "octet_length",
				"cardinality", "array_length", "array_upper"))
		return false;
	*ret_value = const_eval_bytes(measured, eval);
	return eval.data_is_one || !const_eval_may_read_data(measured, eval);
}

static bool power_number(const FuncCall *call, struct const_eval eval, double *ret_value)
{
	double base;
	double exponent;
	if (!const_eval_number(safety_call_argument(call, 0), eval, &base) ||
	    !const_eval_number(safety_call_argument(call, 1), eval, &exponent))
		return false;
	*ret_value = pow(base, exponent);
	return true;
}

static bool call_number(const FuncCall *call, struct const_eval eval, double *ret_value)
{
	double first;
	if (safety_call_is(call, "random")) {
		*ret_value = 1;
		return true;
	}
	if (safety_call_is(call, "extract") || safety_call_is(call, "date_part"))
		return field_number(call, eval, ret_value);
	if (safety_call_is(call, "power") || safety_call_is(call, "pow"))
		return power_number(call, eval, ret_value);
	if (measure_number(call, eval, ret_value))
		return true;
	if (const_eval_number(safety_call_argument(call, 0), eval, &first)) {
		*ret_value = safety_call_is(call, "abs")	 ? fabs(first)
			     : safety_call_is(call, "exp")	 ? exp(first)
			     : safety_call_is(call, "factorial") ? tgamma(fmin(first, 170) + 1)
								 : first;
		if (SAFETY_CALL_IS_ANY(call, "abs", "exp", "factorial", "ceil", "ceiling", "floor", "round",
				       "trunc", "int4", "int8", "float8", "numeric", "to_number", "max",
				       "min", "sum", "avg"))
			return true;
	}
	*ret_value = 1;
	return eval.data_is_one && const_eval_may_read_data((const Node *)call, eval);
}

struct largest {
	bool any;
	double value;
};

static void note_value(struct largest *largest, double value)
{
	largest->value = largest->any ? fmax(largest->value, value) : value;
	largest->any = true;
}

static bool keep_largest(const Node *node, struct const_eval eval, void *context)
{
	double value;
	if (const_eval_number(node, eval, &value))
		note_value(context, value);
	return true;
}

static bool largest_of(const struct largest *largest, double *ret_value)
{
	if (largest->any)
		*ret_value = largest->value;
	return largest->any;
}

bool const_eval_largest(const List *nodes, struct const_eval eval, double *ret_value)
{
	struct largest largest = { false, 0 };
	ListCell *cell;
	foreach(cell, nodes)(void) keep_largest(lfirst(cell), eval, &largest);
	return largest_of(&largest, ret_value);
}

static bool case_number(const CaseExpr *expr, struct const_eval eval, double *ret_value)
{
	struct largest largest = { false, 0 };
	ListCell *cell;
	(void)keep_largest((const Node *)expr->defresult, eval, &largest);
	foreach(cell, expr->args)(void)
		keep_largest((const Node *)((const CaseWhen *)lfirst(cell))->result, eval, &largest);
	return largest_of(&largest, ret_value);
}

static bool largest_literal(const Node *node, void *context)
{
	double value;
	if (IsA(node, A_Const) && ((const A_Const *)node)->val.node.type != T_String &&
	    literal_number((const A_Const *)node, &value))
		note_value(context, value);
	return node_children(node, largest_literal, context);
}

/* A recursion counts up to one of the numbers in it. */
static void keep_recursive(const Node *node, struct const_eval eval, struct largest *largest)
{
	size_t index;
	const struct range_item *item =
		IsA(node, ColumnRef) ? const_eval_column_item((const ColumnRef *)node, eval, &index) : NULL;
	if (item && item->kind == RANGE_CTE && item->cte && const_eval_recursive(item->cte))
		(void)node_children(item->cte->ctequery, largest_literal, largest);
}

static bool source_number(const Node *node, struct const_eval eval, double *ret_value)
{
	struct largest largest = { false, 0 };
	(void)const_eval_sources(node, eval, keep_largest, &largest);
	if (!largest.any)
		keep_recursive(node, eval, &largest);
	*ret_value = largest.any ? largest.value : 1;
	return largest.any || eval.data_is_one;
}

static bool is_least(const MinMaxExpr *expr, struct const_eval eval, double *ret_value)
{
	bool any = false;
	ListCell *cell;
	foreach(cell, expr->op == IS_LEAST ? expr->args : NIL)
	{
		double value;
		const Node *node = lfirst(cell);
		if (!IsA(node, A_Const) || !const_eval_number(node, eval, &value))
			continue;
		*ret_value = any ? fmin(*ret_value, value) : value;
		any = true;
	}
	return any;
}

bool const_eval_number(const Node *node, struct const_eval eval, double *ret_value)
{
	if (!node || !const_eval_step(eval))
		return false;
	eval = const_eval_deeper(eval);
	switch ((int)nodeTag(node)) {
	case T_A_Const:
		return literal_number((const A_Const *)node, ret_value);
	case T_TypeCast:
		return const_eval_number(((const TypeCast *)node)->arg, eval, ret_value);
	case T_A_Expr:
		return operator_number((const A_Expr *)node, eval, ret_value);
	case T_FuncCall:
		return call_number((const FuncCall *)node, eval, ret_value);
	case T_ColumnRef:
	case T_SubLink:
		return source_number(node, eval, ret_value);
	case T_CaseExpr:
		return case_number((const CaseExpr *)node, eval, ret_value);
	case T_CoalesceExpr:
		return const_eval_largest(((const CoalesceExpr *)node)->args, eval, ret_value);
	case T_MinMaxExpr:
		return is_least((const MinMaxExpr *)node, eval, ret_value) ||
		       const_eval_largest(((const MinMaxExpr *)node)->args, eval, ret_value);
	case T_A_ArrayExpr:
		return const_eval_largest(((const A_ArrayExpr *)node)->elements, eval, ret_value);
	case T_A_Indirection:
		return const_eval_number(((const A_Indirection *)node)->arg, eval, ret_value);
	default:
		*ret_value = 1;
		return eval.data_is_one;
	}
}

bool const_eval_guess(const Node *node, struct const_eval eval, double *ret_value)
{
	eval.data_is_one = true;
	return const_eval_number(node, eval, ret_value);
}

double const_eval_number_or(const Node *node, struct const_eval eval, double otherwise)
{
	double value;
	return const_eval_number(node, eval, &value) ? value : otherwise;
}
