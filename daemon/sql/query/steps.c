#include "sql/query/steps.h"

#include <math.h>
#include <string.h>

#define FOLLOWED 1000

static bool holds(const char *op, double value)
{
	if (strcmp(op, "<>") == 0)
		return value < 0 || value > 0;
	bool equal = value >= 0 && value <= 0;
	if (op[0] == '=' || (op[1] == '=' && equal))
		return equal;
	return op[0] == '<' ? value < 0 : value > 0;
}

bool steps_end(const struct steps *steps, double start, const char *op)
{
	double value = start, seen = start;
	double held = 0, before = 0;
	for (unsigned step = 0; step < FOLLOWED; step++) {
		before = held;
		held = steps->held(steps->context, value);
		if (isnan(held) || !holds(op, held))
			return true;
		if ((step & (step - 1)) == 0) /* a circle is noticed within twice its length */
			seen = value;
		value = steps->next(steps->context, value);
		if (isnan(value))
			return true;
		if (value >= seen && value <= seen)
			return steps->circles_end;
	}
	return op[0] == '<' && op[1] != '>' ? held > before : op[0] == '>' && held < before;
}

double steps_operation(const char *op, double left, double right, bool whole)
{
	if (strcmp(op, "+") == 0)
		return left + right;
	if (strcmp(op, "-") == 0)
		return left - right;
	if (strcmp(op, "*") == 0)
		return left * right;
	if (strcmp(op, "/") == 0)
		return whole ? trunc(left / right) : left / right;
	if (strcmp(op, "div") == 0)
		return trunc(left / right);
	return strcmp(op, "%") == 0 || strcmp(op, "mod") == 0 ? fmod(left, right) : NAN;
}

const char *steps_mirrored(const char *op)
{
	static const char *const pairs[][2] = { { "<", ">" }, { "<=", ">=" }, { ">", "<" }, { ">=", "<=" } };
	for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
		if (strcmp(op, pairs[i][0]) == 0)
			return pairs[i][1];
	return op;
}
