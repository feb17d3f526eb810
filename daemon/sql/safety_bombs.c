#include "sql/safety_bombs.h"

#include <ctype.h>
#include <math.h>
#include <strings.h>
#include <time.h>

#define MAX_DEPTH 64 /* of a constant expression that is looked into */

static const char *last_name(const List *names)
{
	const Node *node = names ? llast(names) : NULL;
	return node && IsA(node, String) ? NODE_STRING(node) : "";
}

static bool called(const FuncCall *call, const char *name)
{
	return strcmp(last_name(call->funcname), name) == 0;
}

static const Node *argument(const FuncCall *call, int index)
{
	if (index >= list_length(call->args))
		return NULL;
	const Node *node = list_nth(call->args, index);
	return node && IsA(node, NamedArgExpr) ? (const Node *)((const NamedArgExpr *)node)->arg : node;
}

/* The single output expression of `(SELECT constant)`. */
static const Node *scalar_subquery(const SubLink *link)
{
	if (link->subLinkType != EXPR_SUBLINK || !link->subselect || !IsA(link->subselect, SelectStmt))
		return NULL;
	const SelectStmt *select = (const SelectStmt *)link->subselect;
	if (select->op != SETOP_NONE)
		return NULL;
	if (list_length(select->valuesLists) == 1)
		return list_length(linitial(select->valuesLists)) == 1
			       ? linitial((const List *)linitial(select->valuesLists))
			       : NULL;
	return list_length(select->targetList) == 1 ? ((const ResTarget *)linitial(select->targetList))->val
						    : NULL;
}

static bool constant_of(const Node *node, unsigned depth, double *ret_value);

static bool text_number(const char *text, double *ret_value)
{
	char *end;
	*ret_value = strtod(text, &end);
	while (isspace((unsigned char)*end))
		end++;
	return end != text && *end == '\0';
}

static bool literal_value(const A_Const *literal, double *ret_value)
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
	default:
		return false;
	}
}

static bool arithmetic(char op, double left, double right, double *ret_value)
{
	switch (op) {
	case '+':
		*ret_value = left + right;
		return true;
	case '-':
		*ret_value = left - right;
		return true;
	case '*':
		*ret_value = left * right;
		return true;
	case '/':
		*ret_value = right != 0 ? left / right : 0;
		return true;
	case '%':
		*ret_value = right != 0 ? fmod(left, right) : 0;
		return true;
	case '^':
		*ret_value = pow(left, right);
		return true;
	case '<': /* << */
		*ret_value = ldexp(left, (int)fmin(right, 63));
		return true;
	case '>': /* >> */
		*ret_value = ldexp(left, -(int)fmin(right, 63));
		return true;
	case '|':
	case '#':
	case '&':
		*ret_value = op == '&' ? fmin(left, right) : left + right; /* never less than it is */
		return true;
	default:
		return false;
	}
}

static bool operator_value(const A_Expr *expr, unsigned depth, double *ret_value)
{
	double left = 0;
	double right;
	const char *op = last_name(expr->name);
	if (expr->kind != AEXPR_OP || !constant_of(expr->rexpr, depth, &right))
		return false;
	if (expr->lexpr && !constant_of(expr->lexpr, depth, &left))
		return false;
	bool shift = strcmp(op, "<<") == 0 || strcmp(op, ">>") == 0;
	return (shift || (op[0] && !op[1] && !strchr("<>", op[0]))) &&
	       arithmetic(op[0], left, right, ret_value);
}

static bool call_value(const FuncCall *call, unsigned depth, double *ret_value)
{
	static const char *const kept[] = { "abs",  "ceil", "ceiling", "floor",	  "round",    "trunc",
					    "int4", "int8", "float8",  "numeric", "to_number" };
	double first;
	double second;
	if (!constant_of(argument(call, 0), depth, &first))
		return false;
	if (called(call, "power") || called(call, "pow")) {
		if (!constant_of(argument(call, 1), depth, &second))
			return false;
		*ret_value = pow(first, second);
		return true;
	}
	if (called(call, "exp") || called(call, "factorial")) {
		*ret_value = called(call, "exp") ? exp(first) : tgamma(fmin(first, 170) + 1);
		return true;
	}
	for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
		if (called(call, kept[i])) {
			*ret_value = called(call, "abs") ? fabs(first) : first;
			return true;
		}
	return false;
}

/* The largest of the arguments that are constants. */
static bool largest_value(const List *args, unsigned depth, double *ret_value)
{
	bool any = false;
	ListCell *cell;
	foreach(cell, args)
	{
		double value;
		if (!constant_of(lfirst(cell), depth, &value))
			continue;
		*ret_value = any ? fmax(*ret_value, value) : value;
		any = true;
	}
	return any;
}

static bool constant_of(const Node *node, unsigned depth, double *ret_value)
{
	if (!node || depth >= MAX_DEPTH)
		return false;
	switch ((int)nodeTag(node)) {
	case T_A_Const:
		return literal_value((const A_Const *)node, ret_value);
	case T_TypeCast:
		return constant_of(((const TypeCast *)node)->arg, depth + 1, ret_value);
	case T_A_Expr:
		return operator_value((const A_Expr *)node, depth + 1, ret_value);
	case T_FuncCall:
		return call_value((const FuncCall *)node, depth + 1, ret_value);
	case T_SubLink:
		return constant_of(scalar_subquery((const SubLink *)node), depth + 1, ret_value);
	case T_CoalesceExpr:
		return largest_value(((const CoalesceExpr *)node)->args, depth + 1, ret_value);
	case T_MinMaxExpr:
		return largest_value(((const MinMaxExpr *)node)->args, depth + 1, ret_value);
	default:
		return false;
	}
}

bool bomb_constant(const Node *node, double *ret_value)
{
	return constant_of(node, 0, ret_value);
}

static double constant_or(const Node *node, double otherwise)
{
	double value;
	return bomb_constant(node, &value) ? value : otherwise;
}

/* Text of a literal, cast or not. */
static const char *literal_text(const Node *node)
{
	for (unsigned depth = 0; node && IsA(node, TypeCast) && depth < MAX_DEPTH; depth++)
		node = ((const TypeCast *)node)->arg;
	if (!node || !IsA(node, A_Const))
		return NULL;
	const A_Const *literal = (const A_Const *)node;
	return !literal->isnull && literal->val.node.type == T_String ? literal->val.sval.sval : NULL;
}

/* Seconds of an interval literal such as '1 day 2 hours'; 0 when it is none. */
static double interval_seconds(const Node *node)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = { { "microsec", 1e-6 }, { "us", 1e-6 },	{ "millisec", 1e-3 }, { "ms", 1e-3 },
		      { "mon", 2592000 },   { "min", 60 },	{ "m", 60 },	      { "h", 3600 },
		      { "d", 86400 },	    { "w", 604800 },	{ "y", 31536000 },    { "s", 1 },
		      { "dec", 315360000 }, { "c", 3153600000 } };
	const char *at = literal_text(node);
	double total = 0;
	while (at && *at) {
		char *end;
		double amount = strtod(at, &end);
		if (end == at)
			return total;
		while (isspace((unsigned char)*end))
			end++;
		double seconds = 1;
		for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
			if (strncasecmp(end, units[i].unit, strlen(units[i].unit)) == 0) {
				seconds = units[i].seconds;
				break;
			}
		total += fabs(amount) * seconds;
		while (*end && !isspace((unsigned char)*end))
			end++;
		while (isspace((unsigned char)*end))
			end++;
		at = end;
	}
	return total;
}

/* Seconds since 1970 of a date or timestamp literal; NAN when it is none. What the clock says counts as 2030.
 */
static double instant_seconds(const Node *node, unsigned depth)
{
	if (!node || depth >= MAX_DEPTH)
		return NAN;
	if (IsA(node, SQLValueFunction) || (IsA(node, FuncCall) && called((const FuncCall *)node, "now")))
		return 60 * 31536000.0;
	if (IsA(node, A_Expr)) {
		const A_Expr *expr = (const A_Expr *)node;
		double sign = strcmp(last_name(expr->name), "-") == 0 ? -1 : 1;
		return instant_seconds(expr->lexpr, depth + 1) + sign * interval_seconds(expr->rexpr);
	}
	if (IsA(node, TypeCast) && !literal_text(node))
		return instant_seconds(((const TypeCast *)node)->arg, depth + 1);
	const char *text = literal_text(node);
	int year;
	int month;
	int day;
	if (!text || sscanf(text, "%d-%d-%d", &year, &month, &day) != 3)
		return text && strcasecmp(text, "infinity") == 0 ? 1e18 : NAN;
	return ((year - 1970) * 365.25 + (month - 1) * 30.44 + day) * 86400;
}

static double series_rows(const FuncCall *call)
{
	double start;
	double stop;
	const Node *step = argument(call, 2);
	if (bomb_constant(argument(call, 1), &stop)) {
		if (!bomb_constant(argument(call, 0), &start))
			start = 0; /* from data: as if from the beginning */
		double width = fabs(constant_or(step, 1));
		return width > 0 ? floor(fabs(stop - start) / width) + 1 : 1;
	}
	double span = fabs(instant_seconds(argument(call, 1), 0) - instant_seconds(argument(call, 0), 0));
	double seconds = interval_seconds(step);
	if (isnan(span))
		return 1;
	return seconds > 0 ? floor(span / seconds) + 1 : 1;
}

static double bytes_of(const Node *node, unsigned depth);

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
static double filled_elements(const Node *dimensions)
{
	for (unsigned depth = 0; dimensions && IsA(dimensions, TypeCast) && depth < MAX_DEPTH; depth++)
		dimensions = ((const TypeCast *)dimensions)->arg;
	if (!dimensions || !IsA(dimensions, A_ArrayExpr)) {
		return listed_product(literal_text(dimensions));
	}
	double product = 1;
	ListCell *cell;
	foreach(cell, ((const A_ArrayExpr *)dimensions)->elements) product *=
		fmax(constant_or(lfirst(cell), 1), 1);
	return product;
}

/* Widest field of a format() text, `%1000000s`; a width from an argument, `%*s`, is the largest argument. */
static double format_width(const FuncCall *call)
{
	double widest = 1;
	const char *text = literal_text(argument(call, 0));
	for (; text && *text; text++) {
		if (*text != '%')
			continue;
		for (text++; *text && strchr("-$0123456789*", *text); text++) {
			double value = 1;
			if (*text == '*')
				largest_value(call->args, 0, &value);
			else if (isdigit((unsigned char)*text))
				value = strtod(text, NULL);
			widest = fmax(widest, fabs(value));
		}
		if (!*text)
			break;
	}
	return widest;
}

static double call_bytes(const FuncCall *call, unsigned depth)
{
	if (called(call, "repeat"))
		return bytes_of(argument(call, 0), depth + 1) * fmax(constant_or(argument(call, 1), 1), 1);
	if (called(call, "lpad") || called(call, "rpad"))
		return fmax(constant_or(argument(call, 1), 1), 1);
	if (called(call, "array_fill"))
		return filled_elements(argument(call, 1));
	if (called(call, "format"))
		return format_width(call);
	if (called(call, "factorial")) /* n! has about n·log10(n) digits, and costs their square */
		return pow(fmax(constant_or(argument(call, 0), 1), 1), 1.6);
	double total = 0;
	ListCell *cell;
	foreach(cell, call->args) total += bytes_of(lfirst(cell), depth + 1);
	return fmax(total, 1);
}

static double bytes_of(const Node *node, unsigned depth)
{
	if (!node || depth >= MAX_DEPTH)
		return 1;
	const char *text = literal_text(node);
	if (text)
		return fmax((double)strlen(text), 1);
	switch ((int)nodeTag(node)) {
	case T_TypeCast:
		return bytes_of(((const TypeCast *)node)->arg, depth + 1);
	case T_FuncCall:
		return call_bytes((const FuncCall *)node, depth);
	case T_A_Expr: {
		const A_Expr *expr = (const A_Expr *)node;
		return bytes_of(expr->lexpr, depth + 1) + bytes_of(expr->rexpr, depth + 1);
	}
	case T_SubLink:
		return bytes_of(scalar_subquery((const SubLink *)node), depth + 1);
	default:
		return 1;
	}
}

struct call_size bomb_call_size(const FuncCall *call)
{
	static const char *const sized[] = { "repeat", "lpad", "rpad", "array_fill", "format", "factorial" };
	struct call_size size = { 1, 1 };
	if (called(call, "generate_series"))
		size.rows = fmax(series_rows(call), 1);
	for (size_t i = 0; i < sizeof sized / sizeof sized[0]; i++)
		if (called(call, sized[i]))
			size.bytes = call_bytes(call, 0);
	return size;
}

/* What a condition does to a recursion. */
enum bound { BOUND_NONE, BOUND_HUGE, BOUND_SOME };

static bool is_constant_condition(const Node *node)
{
	double value;
	if (bomb_constant(node, &value))
		return true;
	return IsA(node, A_Const);
}

static enum bound comparison_bound(const A_Expr *expr)
{
	bool left_constant = expr->lexpr && is_constant_condition(expr->lexpr);
	bool right_constant = expr->rexpr && is_constant_condition(expr->rexpr);
	if (left_constant && right_constant)
		return BOUND_NONE;
	double limit;
	const Node *constant = left_constant ? expr->lexpr : expr->rexpr;
	if (expr->kind == AEXPR_OP && constant && bomb_constant(constant, &limit) &&
	    fabs(limit) >= BOMB_CALL_ROWS)
		return BOUND_HUGE;
	return BOUND_SOME;
}

static enum bound condition_bound(const Node *node, unsigned depth);

/* AND is as tight as its tightest part, OR as loose as its loosest. */
static enum bound list_bound(const BoolExpr *expr, unsigned depth)
{
	enum bound found = expr->boolop == OR_EXPR ? BOUND_SOME : BOUND_NONE;
	ListCell *cell;
	foreach(cell, expr->args)
	{
		enum bound part = condition_bound(lfirst(cell), depth + 1);
		if (expr->boolop == OR_EXPR ? part < found : part > found)
			found = part;
	}
	return found;
}

static enum bound condition_bound(const Node *node, unsigned depth)
{
	if (!node)
		return BOUND_NONE;
	if (depth >= MAX_DEPTH)
		return BOUND_SOME;
	if (IsA(node, A_Const))
		return BOUND_NONE;
	if (IsA(node, A_Expr))
		return comparison_bound((const A_Expr *)node);
	if (IsA(node, BoolExpr))
		return list_bound((const BoolExpr *)node, depth);
	return BOUND_SOME;
}

static enum bound max_bound(enum bound a, enum bound b)
{
	return a > b ? a : b;
}

static enum bound select_bound(const SelectStmt *select, unsigned depth);

static enum bound from_bound(const Node *node, unsigned depth)
{
	if (depth >= MAX_DEPTH || !node)
		return BOUND_NONE;
	if (IsA(node, RangeSubselect) && IsA(((const RangeSubselect *)node)->subquery, SelectStmt))
		return select_bound((const SelectStmt *)((const RangeSubselect *)node)->subquery, depth + 1);
	if (!IsA(node, JoinExpr))
		return BOUND_NONE;
	const JoinExpr *join = (const JoinExpr *)node;
	if (join->usingClause || join->isNatural)
		return BOUND_SOME;
	return max_bound(condition_bound(join->quals, 0),
			 max_bound(from_bound(join->larg, depth + 1), from_bound(join->rarg, depth + 1)));
}

static enum bound select_bound(const SelectStmt *select, unsigned depth)
{
	if (!select || depth >= MAX_DEPTH)
		return BOUND_SOME;
	if (select->op != SETOP_NONE)
		return max_bound(select_bound(select->larg, depth + 1),
				 select_bound(select->rarg, depth + 1));
	if (select->limitCount && constant_or(select->limitCount, BOMB_CALL_ROWS) < BOMB_CALL_ROWS)
		return BOUND_SOME;
	enum bound found =
		max_bound(condition_bound(select->whereClause, 0), condition_bound(select->havingClause, 0));
	ListCell *cell;
	foreach(cell, select->fromClause) found = max_bound(found, from_bound(lfirst(cell), 0));
	return found;
}

/* Whether the query reads from the name anywhere in its FROM clauses. */
static bool reads_from(const Node *node, const char *name, unsigned depth)
{
	if (!node || depth >= MAX_DEPTH)
		return false;
	ListCell *cell;
	switch ((int)nodeTag(node)) {
	case T_RangeVar: {
		const RangeVar *range = (const RangeVar *)node;
		return !range->schemaname && strcmp(range->relname, name) == 0;
	}
	case T_JoinExpr:
		return reads_from(((const JoinExpr *)node)->larg, name, depth + 1) ||
		       reads_from(((const JoinExpr *)node)->rarg, name, depth + 1);
	case T_RangeSubselect:
		return reads_from(((const RangeSubselect *)node)->subquery, name, depth + 1);
	case T_SelectStmt: {
		const SelectStmt *select = (const SelectStmt *)node;
		foreach(cell, select->fromClause) if (reads_from(lfirst(cell), name, depth + 1)) return true;
		return reads_from((const Node *)select->larg, name, depth + 1) ||
		       reads_from((const Node *)select->rarg, name, depth + 1);
	}
	default:
		return false;
	}
}

bool bomb_recursion(const CommonTableExpr *cte)
{
	if (!cte->ctequery || !IsA(cte->ctequery, SelectStmt))
		return false;
	const SelectStmt *query = (const SelectStmt *)cte->ctequery;
	if (query->op == SETOP_NONE || !reads_from(cte->ctequery, cte->ctename, 0) || cte->cycle_clause)
		return false;
	if (query->limitCount && constant_or(query->limitCount, BOMB_CALL_ROWS) < BOMB_CALL_ROWS)
		return false;
	return select_bound(query->rarg, 0) != BOUND_SOME;
}
