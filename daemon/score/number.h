/* Small arithmetic that the scores share. Pure; any thread. */
#pragma once

#include "common/str.h"

#include <math.h>

/* Limits a value to 0..1; what is not a number becomes 0. */
static inline double score_clamp01(double value)
{
	if (!(value > 0))
		return 0;
	return value < 1 ? value : 1;
}

/* Rounds a score of moderate size to 12 decimals, so that a sum that is exactly a bound in decimal arithmetic
 * (0.4 + 0.3 + 0.2) is also that bound as a double, both when it is compared and when it is published. */
static inline double score_settle(double value)
{
	return round(value * 1e12) / 1e12;
}

static inline bool score_is_finite(opt_double_t value)
{
	return value.set && isfinite(value.value);
}
