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
