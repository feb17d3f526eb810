/*
 * Platt scaling: probability = sigmoid(slope · score + intercept), by maximum likelihood with targets that
 * are drawn a little towards the middle, (N₊ + 1)/(N₊ + 2) and 1/(N₋ + 2) (Platt 1999), so that few labels or
 * labels of one kind do not make certainties; N are sums of weights. By Newton's method (Lin, Lin and Weng
 * 2007). Pure; any thread.
 */
#pragma once

#include "calibration/statistics/outcomes.h"

struct platt {
	double slope, intercept;
	/* of the estimates, for intervals: by the likelihood's curvature */
	double variance_slope, variance_intercept, covariance;
};

/* ERR_SAMPLES as outcomes_check, or that there are fewer than two scores. */
err_t platt_fit(const struct outcome *outcomes, size_t count, struct platt *ret_platt,
		struct err_detail *detail);

/* The probability at a score, and its interval at 95 %; either end may be NULL. */
double platt_value(const struct platt *platt, double score, double *ret_low, double *ret_high);
