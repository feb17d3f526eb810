#include "sql/postgresql/safety/constants.h"

#include "sql/postgresql/node_children.h"
#include "sql/postgresql/safety/bombs.h"

#include <ctype.h>
#include <math.h>
#include <strings.h>

#define YEAR_S	   31536000.0
#define DAY_S	   86400.0
#define MAX_ARMS   1000 /* of set operations, that are looked into */
#define CLOCK_S	   (60 * YEAR_S)
#define INFINITY_S 1e18

bool look_on(struct look look)
{
	return look.depth < LOOK_MAX_DEPTH && ++*look.steps < LOOK_MAX_STEPS;
}

struct look look_deeper(struct look look)
{
	look.depth++;
	return look;
}

static const char *last_name(const List *names)
{
	const Node *node = names ? llast(names) : NULL;
	return node && IsA(node, String) ? NODE_STRING(node) : "";
}

bool call_is(const FuncCall *call, const char *name)
{
	return strcmp(last_name(call->funcname), name) == 0;
}

static bool call_is_one_of(const FuncCall *call, const char *const *names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (call_is(call, names[i]))
			return true;
	return false;
}

const Node *call_argument(const FuncCall *call, int index)
{
	if (index >= list_length(call->args))
		return NULL;
	const Node *node = list_nth(call->args, index);
	return node && IsA(node, NamedArgExpr) ? (const Node *)((const NamedArgExpr *)node)->arg : node;
}

/* Sources */

struct source_search {
	struct look look;
	bool (*visit)(const Node *value, struct look look, void *context);
	void *context;
	bool found;
};

/* Every value of the column: of each row of VALUES, of each arm of a set operation. False once `visit` was.
 */
static bool each_output(struct source_search *search, const Node *query, size_t column, unsigned depth)
{
	ListCell *cell;
	if (!query || !IsA(query, SelectStmt) || depth >= MAX_ARMS || !look_on(search->look))
		return false;
	const SelectStmt *select = (const SelectStmt *)query;
	if (select->op != SETOP_NONE)
		return each_output(search, (const Node *)select->larg, column, depth + 1) &&
		       each_output(search, (const Node *)select->rarg, column, depth + 1);
	foreach(cell, select->valuesLists)
	{
		const List *values = lfirst(cell);
		if ((int)column >= list_length(values) ||
		    !search->visit(list_nth(values, (int)column), search->look, search->context))
			return false;
		search->found = true;
	}
	if (select->valuesLists)
		return true;
	const ResTarget *target = (int)column < list_length(select->targetList)
					  ? list_nth(select->targetList, (int)column)
					  : NULL;
	if (!target || !target->val ||
	    (IsA(target->val, ColumnRef) && IsA(llast(((const ColumnRef *)target->val)->fields), A_Star)))
		return false;
	search->found = true;
	return search->visit(target->val, search->look, search->context);
}

/* What a function in FROM returns is made of what it is given. */
static bool each_argument(struct source_search *search, const RangeFunction *range)
{
	ListCell *cell;
	foreach(cell, range->functions)
	{
		const Node *function = linitial((const List *)lfirst(cell));
		ListCell *argument;
		if (!IsA(function, FuncCall))
			return false;
		foreach(argument, ((const FuncCall *)function)->args)
		{
			search->found = true;
			if (!search->visit(lfirst(argument), search->look, search->context))
				return false;
		}
	}
	return true;
}

static const struct range_item *column_item(const ColumnRef *column, struct look look, size_t *ret_index)
{
	const struct resolved_column *resolved =
		look.resolution ? resolution_column(look.resolution, column) : NULL;
	if (!resolved || resolved->kind != COLUMN_OF_ITEM || !resolved->item ||
	    resolved->column >= resolved->item->columns_count)
		return NULL;
	const struct range_item *item = resolved->item;
	const struct range_column *found = &item->columns[resolved->column];
	*ret_index = found->source && found->source != item ? found->source_index : resolved->column;
	return found->source ? found->source : item;
}

static bool each_of_column(struct source_search *search, const ColumnRef *column)
{
	size_t index;
	const struct range_item *item = column_item(column, search->look, &index);
	if (!item || !item->node)
		return false;
	if (item->kind == RANGE_CTE && item->cte)
		return !constant_recursive(item->cte) && each_output(search, item->cte->ctequery, index, 0);
	if (IsA(item->node, RangeSubselect))
		return each_output(search, ((const RangeSubselect *)item->node)->subquery, index, 0);
	return IsA(item->node, RangeFunction) && each_argument(search, (const RangeFunction *)item->node);
}

bool constant_sources(const Node *node, struct look look,
		      bool (*visit)(const Node *value, struct look look, void *context), void *context)
{
	struct source_search search = { look, visit, context, false };
	bool all = false;
	if (node && IsA(node, ColumnRef)) {
		all = each_of_column(&search, (const ColumnRef *)node);
	} else if (node && IsA(node, SubLink)) {
		const SubLink *link = (const SubLink *)node;
		all = (link->subLinkType == EXPR_SUBLINK || link->subLinkType == ARRAY_SUBLINK) &&
		      each_output(&search, link->subselect, 0, 0);
	}
	return all && search.found;
}

static bool keep_first(const Node *value, struct look look, void *context)
{
	const Node **first = context;
	(void)look;
	*first = *first ? *first : value;
	return false;
}

const Node *constant_source(const Node *node, struct look look)
{
	const Node *first = NULL;
	(void)constant_sources(node, look, keep_first, &first);
	return first;
}

static bool reads_name(const Node *node, void *context)
{
	const char *name = context;
	if (IsA(node, RangeVar) && !((const RangeVar *)node)->schemaname &&
	    strcmp(((const RangeVar *)node)->relname, name) == 0)
		return false;
	return node_children(node, reads_name, context);
}

bool constant_recursive(const CommonTableExpr *cte)
{
	char *name = cte->ctename;
	return cte->ctequery && IsA(cte->ctequery, SelectStmt) &&
	       ((const SelectStmt *)cte->ctequery)->op != SETOP_NONE &&
	       !node_children(cte->ctequery, reads_name, name);
}

/* Numbers */

static double unit_seconds(const char *unit)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = { { "microsec", 1e-6 }, { "us", 1e-6 },
		      { "millisec", 1e-3 }, { "millen", 1000 * YEAR_S },
		      { "ms", 1e-3 },	    { "mon", 30 * DAY_S },
		      { "min", 60 },	    { "m", 60 },
		      { "h", 3600 },	    { "dec", 10 * YEAR_S },
		      { "d", DAY_S },	    { "w", 7 * DAY_S },
		      { "y", YEAR_S },	    { "s", 1 },
		      { "c", 100 * YEAR_S } };
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
		if (strncasecmp(unit, units[i].unit, strlen(units[i].unit)) == 0)
			return units[i].seconds;
	return 1;
}

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

static bool operator_number(const A_Expr *expr, struct look look, double *ret_value)
{
	double left = 0;
	double right;
	const char *op = last_name(expr->name);
	if (expr->kind == AEXPR_NULLIF)
		return constant_number(expr->lexpr, look, ret_value);
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

/* extract(field from …); of an interval that is written out, a field may be larger. */
static bool field_number(const FuncCall *call, struct look look, double *ret_value)
{
	const Node *source = call_argument(call, 1);
	const char *field = constant_text(call_argument(call, 0));
	if (may_read_data(source, look)) {
		*ret_value = 1;
		return look.data_is_one;
	}
	double seconds = fabs(constant_interval(source, look));
	*ret_value = fmax(largest_field(field), field ? seconds / unit_seconds(field) : seconds);
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
		IsA(node, ColumnRef) ? column_item((const ColumnRef *)node, look, &index) : NULL;
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

/* Data */

static bool any_reads_data(const List *nodes, struct look look);

static bool reads_none(const Node *node, struct look look, void *context)
{
	(void)context;
	return !may_read_data(node, look);
}

/* A column of a query is followed to what it is made of; all that cannot be followed may be data. */
static bool column_reads_data(const Node *node, struct look look)
{
	return !constant_sources(node, look, reads_none, NULL);
}

/* Aggregates and window functions count rows, which are data, without a column. */
static bool call_reads_data(const FuncCall *call, struct look look)
{
	return call->agg_star || call->over || call->agg_within_group || any_reads_data(call->args, look);
}

static bool case_reads_data(const CaseExpr *expr, struct look look)
{
	ListCell *cell;
	foreach(cell, expr->args) if (may_read_data((const Node *)((const CaseWhen *)lfirst(cell))->result,
						    look)) return true;
	return may_read_data((const Node *)expr->defresult, look);
}

bool may_read_data(const Node *node, struct look look)
{
	if (!node)
		return false;
	if (!look_on(look))
		return true;
	look = look_deeper(look);
	switch ((int)nodeTag(node)) {
	case T_A_Const:
	case T_SQLValueFunction:
		return false;
	case T_TypeCast:
		return may_read_data(((const TypeCast *)node)->arg, look);
	case T_NamedArgExpr:
		return may_read_data((const Node *)((const NamedArgExpr *)node)->arg, look);
	case T_A_Expr:
		return may_read_data(((const A_Expr *)node)->lexpr, look) ||
		       may_read_data(((const A_Expr *)node)->rexpr, look);
	case T_A_Indirection:
		return may_read_data(((const A_Indirection *)node)->arg, look);
	case T_A_ArrayExpr:
		return any_reads_data(((const A_ArrayExpr *)node)->elements, look);
	case T_CoalesceExpr:
		return any_reads_data(((const CoalesceExpr *)node)->args, look);
	case T_MinMaxExpr:
		return any_reads_data(((const MinMaxExpr *)node)->args, look);
	case T_FuncCall:
		return call_reads_data((const FuncCall *)node, look);
	case T_CaseExpr:
		return case_reads_data((const CaseExpr *)node, look);
	case T_ColumnRef:
	case T_SubLink:
		return column_reads_data(node, look);
	default:
		return true;
	}
}

static bool any_reads_data(const List *nodes, struct look look)
{
	ListCell *cell;
	foreach(cell, nodes) if (may_read_data(lfirst(cell), look)) return true;
	return false;
}

double constant_number_or(const Node *node, struct look look, double otherwise)
{
	double value;
	return constant_number(node, look, &value) ? value : otherwise;
}

/* Texts */

const char *constant_text(const Node *node)
{
	for (unsigned depth = 0; node && IsA(node, TypeCast) && depth < LOOK_MAX_DEPTH; depth++)
		node = ((const TypeCast *)node)->arg;
	if (!node || !IsA(node, A_Const))
		return NULL;
	const A_Const *literal = (const A_Const *)node;
	return !literal->isnull && literal->val.node.type == T_String ? literal->val.sval.sval : NULL;
}

/* Time */

/* ISO 8601 durations, 'P1DT2H'. An 'M' before the T is months, after it minutes. */
static double iso_duration(const char *at)
{
	static const struct {
		char unit;
		bool clock;
		double seconds;
	} units[] = { { 'Y', false, YEAR_S }, { 'M', false, 30 * DAY_S }, { 'W', false, 7 * DAY_S },
		      { 'D', false, DAY_S },  { 'H', true, 3600 },	  { 'M', true, 60 },
		      { 'S', true, 1 } };
	double total = 0;
	bool clock = false;
	while (*at) {
		char *end;
		clock = clock || toupper((unsigned char)*at) == 'T';
		double amount = strtod(at, &end);
		if (end == at) {
			at++;
			continue;
		}
		for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
			if (toupper((unsigned char)*end) == units[i].unit && clock == units[i].clock)
				total += amount * units[i].seconds;
		at = end;
	}
	return total;
}

/* '1 day 2 hours', '00:00:01', 'PT1S'. */
static double interval_text(const char *at)
{
	double total = 0;
	while (isspace((unsigned char)*at))
		at++;
	if (toupper((unsigned char)*at) == 'P')
		return iso_duration(at + 1);
	while (at && *at) {
		char *end;
		double amount = strtod(at, &end);
		if (end == at)
			return total;
		double seconds = *end == ':' ? 3600 : 0;
		double sign = *at == '-' ? -1 : 1;
		for (; *end == ':'; seconds /= 60) {
			total += sign * fabs(amount) * seconds;
			amount = sign * strtod(end + 1, &end);
		}
		while (isspace((unsigned char)*end))
			end++;
		total += amount * (seconds > 0 ? seconds : unit_seconds(end));
		while (*end && !isspace((unsigned char)*end) && !isdigit((unsigned char)*end))
			end++;
		while (isspace((unsigned char)*end))
			end++;
		at = end;
	}
	return total;
}

/* make_interval(years => 1, …) */
static double made_interval(const FuncCall *call, struct look look)
{
	static const double by_place[] = { YEAR_S, 30 * DAY_S, 7 * DAY_S, DAY_S, 3600, 60, 1 };
	double total = 0;
	ListCell *cell;
	foreach(cell, call->args)
	{
		const Node *node = lfirst(cell);
		int place = foreach_current_index(cell);
		double seconds = place < 7 ? by_place[place] : 1;
		if (IsA(node, NamedArgExpr)) {
			const char *name = ((const NamedArgExpr *)node)->name;
			seconds = strncmp(name, "mins", 4) == 0 ? 60 : unit_seconds(name);
			node = (const Node *)((const NamedArgExpr *)node)->arg;
		}
		total += constant_number_or(node, look, 0) * seconds;
	}
	return total;
}

static double interval_operation(const A_Expr *expr, struct look look)
{
	const char *op = last_name(expr->name);
	double number;
	if (strcmp(op, "*") == 0 || strcmp(op, "/") == 0) {
		if (constant_number(expr->rexpr, look, &number))
			return constant_interval(expr->lexpr, look) * (op[0] == '*'  ? number
								       : number != 0 ? 1 / number
										     : 0);
		return constant_number(expr->lexpr, look, &number)
			       ? number * constant_interval(expr->rexpr, look)
			       : 0;
	}
	if (strcmp(op, "||") == 0 && constant_number(expr->lexpr, look, &number)) {
		const char *unit = constant_text(expr->rexpr);
		while (unit && isspace((unsigned char)*unit))
			unit++;
		return unit ? number * unit_seconds(unit) : 0;
	}
	double right = constant_interval(expr->rexpr, look);
	return constant_interval(expr->lexpr, look) + (strcmp(op, "-") == 0 ? -right : right);
}

/* interval '1' day: the fields are a mask of bits by the numbers of datetime.h, the last of them counts. */
static double interval_cast(const TypeCast *cast, struct look look)
{
	static const struct {
		unsigned bit;
		double seconds;
	} fields[] = { { 1U << 12, 1 },	   { 1U << 11, 60 },	    { 1U << 10, 3600 },
		       { 1U << 3, DAY_S }, { 1U << 1, 30 * DAY_S }, { 1U << 2, YEAR_S } };
	double amount;
	double mask = 0;
	const char *text = constant_text(cast->arg);
	const List *typmods = cast->typeName ? cast->typeName->typmods : NULL;
	char *end;
	if (!text || !typmods || !constant_number(linitial(typmods), look, &mask) || mask < 0 ||
	    mask > 0x7ffe)
		return constant_interval(cast->arg, look);
	amount = strtod(text, &end);
	if (end == text || *end != '\0') /* it has units of its own */
		return interval_text(text);
	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
		if ((unsigned)mask & fields[i].bit)
			return amount * fields[i].seconds;
	return amount;
}

static double interval_of_call(const FuncCall *call, struct look look)
{
	static const char *const kept[] = { "justify_hours", "justify_days", "justify_interval" };
	const Node *first = call_argument(call, 0);
	if (call_is(call, "make_interval"))
		return made_interval(call, look);
	if (call_is_one_of(call, kept, sizeof kept / sizeof kept[0]))
		return constant_interval(first, look);
	if (call_is(call, "make_time"))
		return constant_number_or(first, look, 0) * 3600 +
		       constant_number_or(call_argument(call, 1), look, 0) * 60 +
		       constant_number_or(call_argument(call, 2), look, 0);
	if (!call_is(call, "age"))
		return 0;
	double span = list_length(call->args) == 1
			      ? CLOCK_S - constant_moment(first, look)
			      : constant_moment(first, look) - constant_moment(call_argument(call, 1), look);
	return isnan(span) ? 0 : span;
}

double constant_interval(const Node *node, struct look look)
{
	if (!node || !look_on(look))
		return 0;
	look = look_deeper(look);
	const char *text = IsA(node, A_Const) ? constant_text(node) : NULL;
	if (text)
		return interval_text(text);
	switch ((int)nodeTag(node)) {
	case T_TypeCast:
		return interval_cast((const TypeCast *)node, look);
	case T_A_Expr:
		return interval_operation((const A_Expr *)node, look);
	case T_FuncCall:
		return interval_of_call((const FuncCall *)node, look);
	case T_ColumnRef:
	case T_SubLink:
		return constant_interval(constant_source(node, look), look);
	default:
		return 0;
	}
}

/* The first number of four digits. */
static bool year_in(const char *text, int *ret_year)
{
	for (; *text; text++) {
		size_t digits = strspn(text, "0123456789");
		if (digits == 4) {
			*ret_year = (int)strtol(text, NULL, 10);
			return true;
		}
		text += digits > 0 ? digits - 1 : 0;
	}
	return false;
}

static double moment_text(const char *text)
{
	int year;
	int month = 1;
	int day = 1;
	if (strcasecmp(text, "infinity") == 0)
		return INFINITY_S;
	if (strcasecmp(text, "-infinity") == 0)
		return -INFINITY_S;
	if (strcasecmp(text, "epoch") == 0)
		return 0;
	if (strcasecmp(text, "now") == 0 || strcasecmp(text, "today") == 0 ||
	    strcasecmp(text, "tomorrow") == 0)
		return CLOCK_S;
	if (sscanf(text, "%d-%d-%d", &year, &month, &day) != 3 &&
	    sscanf(text, "%4d%2d%2d", &year, &month, &day) != 3 &&
	    sscanf(text, "%d/%d/%d", &month, &day, &year) != 3 && !year_in(text, &year))
		return NAN;
	if (strcasestr(text, "BC"))
		year = -year;
	return ((year - 1970) * 365.25 + (month - 1) * 30.44 + day) * DAY_S;
}

static double moment_of_call(const FuncCall *call, struct look look)
{
	static const char *const clocks[] = { "now", "clock_timestamp", "statement_timestamp",
					      "transaction_timestamp" };
	if (call_is_one_of(call, clocks, sizeof clocks / sizeof clocks[0]))
		return CLOCK_S;
	if (call_is(call, "to_timestamp") && list_length(call->args) == 1)
		return constant_number_or(call_argument(call, 0), look, NAN);
	if (call_is(call, "make_date") || call_is(call, "make_timestamp") ||
	    call_is(call, "make_timestamptz"))
		return (constant_number_or(call_argument(call, 0), look, 2030) - 1970) * 365.25 * DAY_S;
	if (call_is(call, "to_timestamp") || call_is(call, "to_date"))
		return constant_moment(call_argument(call, 0), look);
	if (call_is(call, "date_trunc")) {
		const char *unit = constant_text(call_argument(call, 0));
		return constant_moment(call_argument(call, 1), look) - (unit ? unit_seconds(unit) : 0);
	}
	if (call_is(call, "timezone"))
		return constant_moment(call_argument(call, 1), look);
	return NAN;
}

static double moment_operation(const A_Expr *expr, struct look look)
{
	const char *op = last_name(expr->name);
	double days;
	double start = constant_moment(expr->lexpr, look);
	if (isnan(start) || (strcmp(op, "+") != 0 && strcmp(op, "-") != 0))
		return strcmp(op, "+") == 0
			       ? constant_moment(expr->rexpr, look) + constant_interval(expr->lexpr, look)
			       : NAN;
	double more = constant_number(expr->rexpr, look, &days) ? days * DAY_S
								: constant_interval(expr->rexpr, look);
	return op[0] == '-' ? start - more : start + more;
}

double constant_moment(const Node *node, struct look look)
{
	if (!node || !look_on(look))
		return NAN;
	look = look_deeper(look);
	const char *text = constant_text(node);
	if (text)
		return moment_text(text);
	switch ((int)nodeTag(node)) {
	case T_SQLValueFunction:
		return CLOCK_S;
	case T_TypeCast:
		return constant_moment(((const TypeCast *)node)->arg, look);
	case T_FuncCall:
		return moment_of_call((const FuncCall *)node, look);
	case T_A_Expr:
		return moment_operation((const A_Expr *)node, look);
	case T_ColumnRef:
	case T_SubLink:
		return constant_moment(constant_source(node, look), look);
	default:
		return NAN;
	}
}
