/*
 * Drift: whether confidence has stopped to predict correctness, judged by the band score of a rolling window.
 * Pure; any thread.
 *
 * An episode opens below one bound and closes at a higher one, so that a score between them, or one that
 * wavers about either, changes nothing. A window with fewer cases than a score needs says nothing: nothing
 * opens, and what is open stays open until there are enough again.
 */
#pragma once

#include "common/str.h"

/* Windows that are judged. */
#define DRIFT_WINDOWS 3
extern const int64_t drift_windows_s[DRIFT_WINDOWS];

struct drift_limits {
	double opens_below;
	double closes_at; /* not below the former */
	int64_t min_cases;
};

enum drift_change { DRIFT_STAYS, DRIFT_OPENS, DRIFT_CLOSES };

/* `open`: there is an open episode. `score` may be unknown. */
enum drift_change drift_judge(const struct drift_limits *limits, bool open, int64_t cases,
			      opt_double_t score);
