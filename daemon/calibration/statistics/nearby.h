/*
 * Nearby: what labelled cases near a value say of a map from log odds to outcomes, whatever its form is. A
 * map fitted to all cases borrows from those far away; where its form is wrong there, these say so.
 *
 * Local likelihood of a constant (Tibshirani and Hastie 1987) with a normal prior:
 *
 *   shift = argmax Σ w_i · log P(y_i | x_i + shift) − shift² / (2 · prior(x)),   prior(x) = (1 + x²) / 4
 *   variance = 1 / curvature there (Laplace)
 *
 * w falls in a line from the case's weight at x to 0 at NEARBY_REACH from it. Cases of a group (answers to
 * one question) are right and wrong together: a group counts as much as that one of its cases that counts
 * most. The prior is such that an interval at 95 % around any x reaches to even odds where no case is near.
 * Pure; any thread.
 */
#pragma once

#include "common/arena.h"

/* In log odds. */
#define NEARBY_REACH 1.0

struct nearby_case {
	double log_odds; /* as the map says, finite */
	double weight;	 /* in cases, more than 0 */
	size_t group;
	bool correct;
};

struct nearby {
	double shift;	 /* in log odds: what cases near differ by from the map */
	double variance; /* of the shift */
};

/* Variance of the shift before any case. */
double nearby_prior(double log_odds);

/* Cases of a group are neighbours. */
struct nearby nearby_at(const struct nearby_case *cases, size_t count, double log_odds);
