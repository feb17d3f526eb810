/*
 * Stages, operators and accumulators (operators.def): where each may stand, and whether it is refused. Pure;
 * any thread.
 */
#pragma once

#include "sql/findings/violations.h"

struct nearest;

struct mongodb_operator {
	const char *name;   /* with its dollar */
	const char *places; /* see operators.def */
	bool refused;
	enum sql_violation_code violation;
};

/* NULL: there is none of that name. */
const struct mongodb_operator *mongodb_operator(str_t name);

static inline bool mongodb_stands_in(const struct mongodb_operator *operator, char place)
{
	return strchr(operator->places, place) != NULL;
}

/* "; did you mean "$match"?" among those that may stand there, or "". */
str_t mongodb_operator_hint(str_t name, char place, struct arena *arena);
