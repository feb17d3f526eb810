#include "sql/query/bombs_internal.h"

#include "sql/query/bomb_limits.h"
#include "sql/query/steps.h"

#include <math.h>

/* An arm that reads its own query, and the condition under way. */
struct bounds {
	struct bombs *bombs;
	const struct query_node *cte;
	const struct query_node *items;
	const struct query_node *column; /* that goes on from row to row */
	const struct query_node *next;	 /* its value in the next row */
	const struct query_node *side;	 /* what is compared … */
	const struct query_node *limit;	 /* … with; NULL: with `far` */
	double far;
	bool circles_end; /* UNION, of one column */
};

static double value_of(const struct bounds *bounds, const struct query_node *node, double x);

static double literal_value(const struct query_node *node)
{
	char *end;
	if (!node->op || (strcmp(node->op, "number") != 0 && strcmp(node->op, "string") != 0) ||
	    node->name.len == 0)
		return NAN;
	double value = strtod(node->name.ptr, &end);
	return end == node->name.ptr + node->name.len ? value : NAN;
}

static double operation_value(const struct bounds *bounds, const struct query_node *node, double x)
{
	double left = value_of(bounds, node->first, x);
	if (!node->first->next)
		return strcmp(node->op, "-") == 0 ? -left : strcmp(node->op, "+") == 0 ? left : NAN;
	double right = value_of(bounds, node->first->next, x);
	if (node->first->next->next)
		return NAN;
	return steps_operation(node->op, left, right, bounds->bombs->dialect == SQL_SQLITE);
}

/* DATE(x, '+1 day', …): the number of each modifier is added to what is known of x. */
static double date_value(double date, const struct query_node *modifier)
{
	for (; modifier && !isnan(date); modifier = modifier->next) {
		bool text = query_is_literal(modifier, "string");
		char *end = NULL;
		double number = text ? strtod(modifier->name.ptr, &end) : NAN;
		date = text && end > modifier->name.ptr ? date + number : NAN;
	}
	return date;
}

static double call_value(const struct bounds *bounds, const struct query_node *call, double x)
{
	if (!call->first || str_present(call->schema))
		return NAN;
	double first = value_of(bounds, call->first, x);
	if (identifier_is(call->name, "date") || identifier_is(call->name, "datetime"))
		return date_value(first, call->first->next);
	if (identifier_is(call->name, "abs"))
		return fabs(first);
	if (identifier_is(call->name, "floor"))
		return floor(first);
	if (identifier_is(call->name, "ceil") || identifier_is(call->name, "ceiling"))
		return ceil(first);
	if (!call->first->next || call->first->next->next)
		return NAN;
	double second = value_of(bounds, call->first->next, x);
	if (identifier_is(call->name, "date_add") || identifier_is(call->name, "adddate"))
		return first + second;
	if (identifier_is(call->name, "date_sub") || identifier_is(call->name, "subdate"))
		return first - second;
	return identifier_is(call->name, "mod") ? fmod(first, second) : NAN;
}

/* Intervals count as their number: only where they lead to matters. */
static double interval_value(const struct query_node *interval)
{
	const struct query_node *number = interval->first;
	bool negative = query_is_operation(number, "-") && !number->first->next;
	if (negative)
		number = number->first;
	if (number->kind != QUERY_LITERAL || number->name.len == 0)
		return NAN;
	char *end;
	double value = strtod(number->name.ptr, &end);
	if (*end && strpbrk(end, "123456789")) /* '0 1:00' */
		value = value != 0 ? value : NAN;
	return negative ? -value : value;
}

/* What the node is where the column is x; NAN: that is not known. */
static double value_of(const struct bounds *bounds, const struct query_node *node, double x)
{
	switch (node->kind) {
	case QUERY_LITERAL:
		return literal_value(node);
	case QUERY_COLUMN:
		return bounds->column && node->range == bounds->column->range &&
				       identifier_same(node->name, bounds->column->name)
			       ? x
			       : NAN;
	case QUERY_OPERATION:
		return node->first ? operation_value(bounds, node, x) : NAN;
	case QUERY_CALL:
		return call_value(bounds, node, x);
	case QUERY_INTERVAL:
		return interval_value(node);
	case QUERY_CAST:
		return value_of(bounds, node->first, x);
	default:
		return NAN;
	}
}

static double next_value(const void *context, double x)
{
	const struct bounds *bounds = context;
	return value_of(bounds, bounds->next, x);
}

static double held_value(const void *context, double x)
{
	const struct bounds *bounds = context;
	double limit = bounds->limit ? value_of(bounds, bounds->limit, x) : bounds->far;
	return value_of(bounds, bounds->side, x) - limit;
}

/* The first column in the tree that the recursion makes, or NULL. */
static const struct query_node *own_column(const struct bounds *bounds, const struct query_node *node)
{
	if (node->kind == QUERY_COLUMN)
		return node->range && node->range->maker == bounds->cte ? node : NULL;
	const struct query_node *found = NULL;
	for (const struct query_node *child = node->has_column ? node->first : NULL; child && !found;
	     child = child->next)
		found = own_column(bounds, child);
	return found;
}

static const struct query_node *nth_item(const struct query_node *items, int index)
{
	const struct query_node *item = items ? items->first : NULL;
	for (; item && item->kind == QUERY_ITEM && index > 0; index--)
		item = item->next;
	return item && item->kind == QUERY_ITEM && index == 0 ? item->first : NULL;
}

/* Follows the column that stands in the tree; false: how it goes on is not known. */
static bool follow(struct bounds *bounds, const struct query_node *node)
{
	bounds->column = own_column(bounds, node);
	bounds->next = bounds->column ? nth_item(bounds->items,
						 query_output_index(bounds->cte, bounds->column->name))
				      : NULL;
	return bounds->next && !isnan(value_of(bounds, bounds->next, 1));
}

static void keep_start(const struct query_node *value, void *context)
{
	double *start = context;
	*start = isnan(*start) && value->kind == QUERY_LITERAL ? literal_value(value) : *start;
}

/* Where the column begins; if that is not known: where the condition still holds. */
static double start_of(const struct bounds *bounds, const char *op, double limit)
{
	double start = NAN;
	query_each_source(bounds->column, keep_start, &start);
	if (!isnan(start))
		return start;
	if (!isfinite(limit) || fabs(limit) >= STEPS_FAR)
		return 1000;
	return op[0] == '<' ? limit - 1 : op[0] == '>' ? limit + 1 : limit;
}

static bool subtracts(const struct query_node *node, const void *context)
{
	(void)context;
	return (node->kind == QUERY_OPERATION && node->op[0] == '-') ||
	       (query_is_literal(node, "string") && node->name.len > 0 &&
		node->name.ptr[0] == '-'); /* '-1 day' */
}

/* Of columns whose next value is not known: `column < value` ends what counts up, `column > value` what
 * counts down. */
static bool may_limit(const struct bounds *bounds, const char *op, const struct query_node *side,
		      const struct query_node *limit)
{
	bool upper = op[0] == '<' || !query_has_column(side);
	if (strcmp(op, "<>") == 0)
		return false;
	return op[0] == '=' || upper || query_has_column(limit) || query_has(bounds->items, subtracts, NULL);
}

/* Whether `side op limit` becomes false. */
static bool comparison_ends(struct bounds bounds, const char *op, const struct query_node *side,
			    const struct query_node *limit)
{
	double large = fmax(bombs_largest(bounds.bombs, side), bombs_largest(bounds.bombs, limit));
	if (isfinite(large) && large >= BOMB_CALL_ROWS)
		return false;
	if (!own_column(&bounds, side)) {
		const struct query_node *swapped = side;
		side = limit;
		limit = swapped;
		op = steps_mirrored(op);
	}
	op = strcmp(op, "<=>") == 0 ? "=" : op;
	if (!follow(&bounds, side) || isnan(value_of(&bounds, side, 1)))
		return may_limit(&bounds, op, side, limit);
	double known = value_of(&bounds, limit, 1);
	bounds.side = side;
	bounds.limit = isnan(known) ? NULL : limit;
	bounds.far = op[0] == '<' ? STEPS_FAR : op[0] == '>' ? -STEPS_FAR : NAN;
	double start = start_of(&bounds, op, bounds.limit && !own_column(&bounds, limit) ? known : NAN);
	if (!bounds.limit && isnan(bounds.far)) /* `=` or `<>` with what is not known */
		return op[0] == '=' &&
		       (bounds.circles_end || fabs(value_of(&bounds, bounds.next, start) - start) > 0);
	struct steps steps = { next_value, held_value, &bounds, bounds.circles_end };
	return steps_end(&steps, start, op);
}

/* column BETWEEN low AND high, or not. */
static bool between_ends(struct bounds *bounds, const struct query_node *between)
{
	const struct query_node *low = between->first->next;
	bool above = comparison_ends(*bounds, between->flag ? "<" : ">=", between->first, low);
	bool below = comparison_ends(*bounds, between->flag ? ">" : "<=", between->first, low->next);
	return between->flag ? above && below : above || below;
}

/* A few values end what goes on; all others do so if it comes by one of them. */
static bool in_ends(struct bounds *bounds, const struct query_node *in)
{
	const struct query_node *row = in->first->next;
	if (!follow(bounds, in->first) || row->kind != QUERY_ROW)
		return true;
	bool some = false;
	bool all = true;
	for (const struct query_node *value = row->first; value; value = value->next) {
		bool ends = comparison_ends(*bounds, in->flag ? "<>" : "=", in->first, value);
		some = some || ends;
		all = all && ends;
	}
	return in->flag ? some : all;
}

/* Whether a condition holds for finitely many steps. */
static bool limits_steps(struct bounds *bounds, const struct query_node *condition)
{
	bool both = query_is_operation(condition, "and");
	bool either = query_is_operation(condition, "or");
	if (both || either) {
		for (const struct query_node *part = condition->first; part; part = part->next)
			if (limits_steps(bounds, part) == both)
				return both;
		return either;
	}
	if (!query_has_column(condition))
		return false;
	if (query_compares(condition))
		return comparison_ends(*bounds, condition->op, condition->first, condition->last);
	if (condition->kind == QUERY_BETWEEN)
		return between_ends(bounds, condition);
	if (condition->kind == QUERY_IN)
		return in_ends(bounds, condition);
	return condition->kind == QUERY_CALL;
}

bool bombs_recursion_limited(struct bombs *bombs, const struct query_node *cte, const struct query_node *arm)
{
	const struct query_node *select = query_child(arm, QUERY_SELECT);
	struct bounds bounds = { .bombs = bombs, .cte = cte, .items = query_child(select, QUERY_ITEMS) };
	bool distinct = arm->op && strcmp(arm->op, "union") == 0;
	bounds.circles_end = distinct && bounds.items->first == bounds.items->last;
	return limits_steps(&bounds, query_child(select, QUERY_WHERE)->first);
}
