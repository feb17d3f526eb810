#include "sql/postgresql/safety/constants.h"

#include <ctype.h>
#include <math.h>
#include <strings.h>

#define YEAR_S	   31536000.0
#define DAY_S	   86400.0
#define MAX_ROWS   16 /* of VALUES that are looked at */
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

static const Node *nth_of_row(const SelectStmt *select, int row, size_t column)
{
	if (row >= list_length(select->valuesLists) || row >= MAX_ROWS)
		return NULL;
	const List *values = list_nth(select->valuesLists, row);
	return (int)column < list_length(values) ? list_nth(values, (int)column) : NULL;
}

/* Output of a SELECT or VALUES. */
const Node *constant_output(const Node *query, int row, size_t column)
{
	if (!query || !IsA(query, SelectStmt))
		return NULL;
	const SelectStmt *select = (const SelectStmt *)query;
	if (select->valuesLists)
		return nth_of_row(select, row, column);
	if (select->op != SETOP_NONE) /* the arms, one after the other */
		return row < 2 ? constant_output((const Node *)(row == 0 ? select->larg : select->rarg), 0,
						 column)
			       : NULL;
	if (row > 0 || (int)column >= list_length(select->targetList))
		return NULL;
	const ResTarget *target = list_nth(select->targetList, (int)column);
	return target->val && !(IsA(target->val, ColumnRef) &&
				IsA(llast(((const ColumnRef *)target->val)->fields), A_Star))
		       ? target->val
		       : NULL;
}

static const Node *column_source(const ColumnRef *column, struct look look, int row)
{
	const struct resolved_column *resolved =
		look.resolution ? resolution_column(look.resolution, column) : NULL;
	if (!resolved || resolved->kind != COLUMN_OF_ITEM || !resolved->item ||
	    resolved->column >= resolved->item->columns_count)
		return NULL;
	const struct range_item *item = resolved->item;
	size_t index = resolved->column;
	if (item->columns[index].source && item->columns[index].source != item) {
		const struct range_item *source = item->columns[index].source;
		index = item->columns[index].source_index;
		item = source;
	}
	bool recursive = item->cte && IsA(item->cte->ctequery, SelectStmt) &&
			 ((const SelectStmt *)item->cte->ctequery)->op != SETOP_NONE; /* or may be */
	if (item->kind == RANGE_CTE && item->cte && !recursive)
		return constant_output(item->cte->ctequery, row, index);
	if (item->kind == RANGE_SUBQUERY && item->node && IsA(item->node, RangeSubselect))
		return constant_output(((const RangeSubselect *)item->node)->subquery, row, index);
	return NULL;
}

const Node *constant_source(const Node *node, struct look look, int row)
{
	if (node && IsA(node, ColumnRef))
		return column_source((const ColumnRef *)node, look, row);
	if (!node || !IsA(node, SubLink))
		return NULL;
	const SubLink *link = (const SubLink *)node;
	return link->subLinkType == EXPR_SUBLINK ? constant_output(link->subselect, row, 0) : NULL;
}

/* Numbers */

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

static bool call_number(const FuncCall *call, struct look look, double *ret_value)
{
	static const char *const kept[] = { "ceil", "ceiling", "floor",	 "round",   "trunc",
					    "int4", "int8",    "float8", "numeric", "to_number" };
	double first;
	double second;
	if (call_is(call, "random")) {
		*ret_value = 1;
		return true;
	}
	if (!constant_number(call_argument(call, 0), look, &first))
		return false;
	if (call_is(call, "power") || call_is(call, "pow")) {
		if (!constant_number(call_argument(call, 1), look, &second))
			return false;
		*ret_value = pow(first, second);
		return true;
	}
	*ret_value = call_is(call, "abs")	  ? fabs(first)
		     : call_is(call, "exp")	  ? exp(first)
		     : call_is(call, "factorial") ? tgamma(fmin(first, 170) + 1)
						  : first;
	return call_is(call, "abs") || call_is(call, "exp") || call_is(call, "factorial") ||
	       call_is_one_of(call, kept, sizeof kept / sizeof kept[0]);
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

static bool source_number(const Node *node, struct look look, double *ret_value)
{
	bool any = false;
	for (int row = 0; row < MAX_ROWS; row++) {
		double value;
		const Node *source = constant_source(node, look, row);
		if (!source)
			break;
		if (!constant_number(source, look, &value))
			continue;
		*ret_value = any ? fmax(*ret_value, value) : value;
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
		return constant_largest(((const MinMaxExpr *)node)->args, look, ret_value);
	default:
		return false;
	}
}

/* Data */

static bool any_reads_data(const List *nodes, struct look look);

/* A column of a query is followed to what it is made of; all that cannot be followed may be data. */
static bool column_reads_data(const Node *node, struct look look)
{
	const Node *source = constant_source(node, look, 0);
	return !source || may_read_data(source, look);
}

/* Aggregates and window functions count rows, which are data, without a column. */
static bool call_reads_data(const FuncCall *call, struct look look)
{
	return call->agg_star || call->over || call->agg_within_group || any_reads_data(call->args, look);
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
				total += fabs(amount) * units[i].seconds;
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
		for (; *end == ':'; seconds /= 60) {
			total += fabs(amount) * seconds;
			amount = strtod(end + 1, &end);
		}
		while (isspace((unsigned char)*end))
			end++;
		total += fabs(amount) * (seconds > 0 ? seconds : unit_seconds(end));
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
		total += fabs(constant_number_or(node, look, 0)) * seconds;
	}
	return total;
}

static double interval_operation(const A_Expr *expr, struct look look)
{
	const char *op = last_name(expr->name);
	double number;
	if (strcmp(op, "*") == 0 || strcmp(op, "/") == 0) {
		if (constant_number(expr->rexpr, look, &number))
			return constant_interval(expr->lexpr, look) * fabs(op[0] == '*'	 ? number
									   : number != 0 ? 1 / number
											 : 0);
		return constant_number(expr->lexpr, look, &number)
			       ? fabs(number) * constant_interval(expr->rexpr, look)
			       : 0;
	}
	if (strcmp(op, "||") == 0 && constant_number(expr->lexpr, look, &number)) {
		const char *unit = constant_text(expr->rexpr);
		while (unit && isspace((unsigned char)*unit))
			unit++;
		return unit ? fabs(number) * unit_seconds(unit) : 0;
	}
	return constant_interval(expr->lexpr, look) + constant_interval(expr->rexpr, look);
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
			return fabs(amount) * fields[i].seconds;
	return fabs(amount);
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
		return call_is((const FuncCall *)node, "make_interval")
			       ? made_interval((const FuncCall *)node, look)
			       : 0;
	case T_ColumnRef:
	case T_SubLink:
		return constant_interval(constant_source(node, look, 0), look);
	default:
		return 0;
	}
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
	if (sscanf(text, "%d-%d-%d", &year, &month, &day) != 3)
		return NAN;
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
	if (call_is(call, "date_trunc") || call_is(call, "timezone"))
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
		return constant_moment(constant_source(node, look, 0), look);
	default:
		return NAN;
	}
}
