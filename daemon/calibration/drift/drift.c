#include "calibration/drift/drift.h"

const int64_t drift_windows_s[DRIFT_WINDOWS] = { 3600, 86400, 604800 };

/* A value on a bound is above it, also when its last bit is not. */
static bool reaches(double value, double bound)
{
	return value >= bound - 1e-12;
}

enum drift_change drift_judge(const struct drift_limits *limits, bool open, int64_t cases, opt_double_t score)
{
	if (!score.set || cases < limits->min_cases)
		return DRIFT_STAYS;
	if (!open)
		return reaches(score.value, limits->opens_below) ? DRIFT_STAYS : DRIFT_OPENS;
	return reaches(score.value, limits->closes_at) ? DRIFT_CLOSES : DRIFT_STAYS;
}
