#include "sql/postgresql/safety/const_eval_internal.h" // first: see pg_nodes.h

#include <ctype.h>
#include <math.h>
#include <strings.h>

#define YEAR_S	   31536000.0
#define DAY_S	   86400.0
#define CLOCK_S	   (60 * YEAR_S)
#define INFINITY_S 1e18

double const_eval_unit_seconds(const char *unit)
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
		total += amount * (seconds > 0 ? seconds : const_eval_unit_seconds(end));
		while (*end && !isspace((unsigned char)*end) && !isdigit((unsigned char)*end))
			end++;
		while (isspace((unsigned char)*end))
			end++;
		at = end;
	}
	return total;
}

/* make_interval(years => 1, …) */
static double made_interval(const FuncCall *call, struct const_eval eval)
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
			seconds = strncmp(name, "mins", 4) == 0 ? 60 : const_eval_unit_seconds(name);
			node = (const Node *)((const NamedArgExpr *)node)->arg;
		}
		total += const_eval_number_or(node, eval, 0) * seconds;
	}
	return total;
}

static double interval_operation(const A_Expr *expr, struct const_eval eval)
{
	const char *op = names_last(expr->name);
	double number;
	if (strcmp(op, "*") == 0 || strcmp(op, "/") == 0) {
		if (const_eval_number(expr->rexpr, eval, &number))
			return const_eval_interval(expr->lexpr, eval) * (op[0] == '*'  ? number
									 : number != 0 ? 1 / number
										       : 0);
		return const_eval_number(expr->lexpr, eval, &number)
			       ? number * const_eval_interval(expr->rexpr, eval)
			       : 0;
	}
	if (strcmp(op, "||") == 0 && const_eval_number(expr->lexpr, eval, &number)) {
		const char *unit = const_eval_text(expr->rexpr);
		while (unit && isspace((unsigned char)*unit))
			unit++;
		return unit ? number * const_eval_unit_seconds(unit) : 0;
	}
	double right = const_eval_interval(expr->rexpr, eval);
	return const_eval_interval(expr->lexpr, eval) + (strcmp(op, "-") == 0 ? -right : right);
}

/* interval '1' day: the fields are a mask of bits by the numbers of datetime.h, the last of them counts. */
static double interval_cast(const TypeCast *cast, struct const_eval eval)
{
	static const struct {
		unsigned bit;
		double seconds;
	} fields[] = { { 1U << 12, 1 },	   { 1U << 11, 60 },	    { 1U << 10, 3600 },
		       { 1U << 3, DAY_S }, { 1U << 1, 30 * DAY_S }, { 1U << 2, YEAR_S } };
	double amount;
	double mask = 0;
	const char *text = const_eval_text(cast->arg);
	const List *typmods = cast->typeName ? cast->typeName->typmods : NULL;
	char *end;
	if (!text || !typmods || !const_eval_number(linitial(typmods), eval, &mask) || mask < 0 ||
	    mask > 0x7ffe)
		return const_eval_interval(cast->arg, eval);
	amount = strtod(text, &end);
	if (end == text || *end != '\0') /* it has units of its own */
		return interval_text(text);
	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
		if ((unsigned)mask & fields[i].bit)
			return amount * fields[i].seconds;
	return amount;
}

static double interval_of_call(const FuncCall *call, struct const_eval eval)
{

	const Node *first = safety_call_argument(call, 0);
	if (safety_call_is(call, "make_interval"))
		return made_interval(call, eval);
	if (SAFETY_CALL_IS_ANY(call, "justify_hours", "justify_days", "justify_interval"))
		return const_eval_interval(first, eval);
	if (safety_call_is(call, "make_time"))
		return const_eval_number_or(first, eval, 0) * 3600 +
		       const_eval_number_or(safety_call_argument(call, 1), eval, 0) * 60 +
		       const_eval_number_or(safety_call_argument(call, 2), eval, 0);
	if (!safety_call_is(call, "age"))
		return 0;
	double span = list_length(call->args) == 1
			      ? CLOCK_S - const_eval_moment(first, eval)
			      : const_eval_moment(first, eval) -
					const_eval_moment(safety_call_argument(call, 1), eval);
	return isnan(span) ? 0 : span;
}

double const_eval_interval(const Node *node, struct const_eval eval)
{
	if (!node || !const_eval_step(eval))
		return 0;
	eval = const_eval_deeper(eval);
	const char *text = IsA(node, A_Const) ? const_eval_text(node) : NULL;
	if (text)
		return interval_text(text);
	switch ((int)nodeTag(node)) {
	case T_TypeCast:
		return interval_cast((const TypeCast *)node, eval);
	case T_A_Expr:
		return interval_operation((const A_Expr *)node, eval);
	case T_FuncCall:
		return interval_of_call((const FuncCall *)node, eval);
	case T_ColumnRef:
	case T_SubLink:
		return const_eval_interval(const_eval_source(node, eval), eval);
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
	if (sscanf(text, "%9d-%9d-%9d", &year, &month, &day) != 3 &&
	    sscanf(text, "%4d%2d%2d", &year, &month, &day) != 3 &&
	    sscanf(text, "%9d/%9d/%9d", &month, &day, &year) != 3 && !year_in(text, &year))
		return NAN;
	if (strcasestr(text, "BC"))
		year = -year;
	return ((year - 1970) * 365.25 + (month - 1) * 30.44 + day) * DAY_S;
}

static double moment_of_call(const FuncCall *call, struct const_eval eval)
{
	if (SAFETY_CALL_IS_ANY(call, "now", "clock_timestamp", "statement_timestamp",
			       "transaction_timestamp"))
		return CLOCK_S;
	if (safety_call_is(call, "to_timestamp") && list_length(call->args) == 1)
		return const_eval_number_or(safety_call_argument(call, 0), eval, NAN);
	if (SAFETY_CALL_IS_ANY(call, "make_date", "make_timestamp", "make_timestamptz"))
		return (const_eval_number_or(safety_call_argument(call, 0), eval, 2030) - 1970) * 365.25 *
		       DAY_S;
	if (safety_call_is(call, "to_timestamp") || safety_call_is(call, "to_date"))
		return const_eval_moment(safety_call_argument(call, 0), eval);
	if (safety_call_is(call, "date_trunc")) {
		const char *unit = const_eval_text(safety_call_argument(call, 0));
		return const_eval_moment(safety_call_argument(call, 1), eval) -
		       (unit ? const_eval_unit_seconds(unit) : 0);
	}
	if (safety_call_is(call, "timezone"))
		return const_eval_moment(safety_call_argument(call, 1), eval);
	return NAN;
}

static double moment_operation(const A_Expr *expr, struct const_eval eval)
{
	const char *op = names_last(expr->name);
	double days;
	double start = const_eval_moment(expr->lexpr, eval);
	if (isnan(start) || (strcmp(op, "+") != 0 && strcmp(op, "-") != 0))
		return strcmp(op, "+") == 0
			       ? const_eval_moment(expr->rexpr, eval) + const_eval_interval(expr->lexpr, eval)
			       : NAN;
	double more = const_eval_number(expr->rexpr, eval, &days) ? days * DAY_S
								  : const_eval_interval(expr->rexpr, eval);
	return op[0] == '-' ? start - more : start + more;
}

double const_eval_moment(const Node *node, struct const_eval eval)
{
	if (!node || !const_eval_step(eval))
		return NAN;
	eval = const_eval_deeper(eval);
	const char *text = const_eval_text(node);
	if (text)
		return moment_text(text);
	switch ((int)nodeTag(node)) {
	case T_SQLValueFunction:
		return CLOCK_S;
	case T_TypeCast:
		return const_eval_moment(((const TypeCast *)node)->arg, eval);
	case T_FuncCall:
		return moment_of_call((const FuncCall *)node, eval);
	case T_A_Expr:
		return moment_operation((const A_Expr *)node, eval);
	case T_ColumnRef:
	case T_SubLink:
		return const_eval_moment(const_eval_source(node, eval), eval);
	default:
		return NAN;
	}
}
