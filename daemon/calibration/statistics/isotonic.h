/*
 * Isotonic regression: the never falling function of the score that fits the labels best by weighted squares,
 * by pooling adjacent violators (Ayer, Brunk, Ewing, Reid and Silverman 1955; Barlow and others 1972). Pure;
 * any thread. O(n) but for the sorting.
 */
#pragma once

#include "calibration/statistics/outcomes.h"

struct isotonic {
	size_t count; /* scores, ascending and different */
	double *scores;
	double *values; /* 0..1, never falling */
};

/* Arrays in the arena. ERR_SAMPLES as outcomes_check. */
err_t isotonic_fit(const struct outcome *outcomes, size_t count, struct arena *arena,
		   struct isotonic *ret_isotonic, struct err_detail *detail);

/* The value at a score: on the line between neighbours, beyond the outermost ones as there. */
double isotonic_value(const struct isotonic *isotonic, double score);
