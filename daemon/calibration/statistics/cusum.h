/*
 * CUSUM of outcomes against the probabilities that were forecast for them: a sequential test of whether these
 * still say how often outcomes are right. Pure; any thread.
 *
 * Two one-sided tests (Page 1954), risk-adjusted (Steiner, Cook, Farewell and Treasure 2000): each case adds
 * the logarithm of how much likelier its outcome is if all odds are `shift` (in log odds) lower, or higher,
 * than was forecast; a sum below 0 begins anew:
 *
 *   S⁻ ← max(0, S⁻ − y·shift − log(1 − p + p·e^−shift)),   S⁺ ← max(0, S⁺ + y·shift − log(1 − p + p·e^shift))
 *
 * One case adds `shift` at most, also where a forecast is 0 or 1.
 *
 * Threshold: from the mean number of cases between false alarms by Siegmund's approximation (1985) for the
 * forecasts whose sums vary most, 0.5; others have fewer false alarms. The approximation takes steps for
 * normal ones: a fifth more cases makes up for what simulation has shown that to miss.
 */
#pragma once

#include "common/str.h"

/* For what the approximation misses. */
#define CUSUM_MARGIN 1.2

enum cusum_side { CUSUM_LOWER, CUSUM_HIGHER, CUSUM_SIDES };

/* One side's sum, and the cases since it was last 0: those after the likeliest moment of a change. */
struct cusum_sum {
	double value;
	int64_t cases;
	double residual;  /* Σ (outcome − forecast) */
	int64_t since_ms; /* time of the first of them; 0: there are none */
};

struct cusum {
	struct cusum_sum sides[CUSUM_SIDES];
};

/* A case; `forecast` in 0..1, else nothing happens. Zeroed, a cusum has seen none. */
void cusum_add(struct cusum *cusum, double shift, double forecast, bool correct, int64_t time_ms);

/* The threshold that a sum of one side reaches falsely once in `cases` (1..1e12) cases in the mean; the two
 * sides together do so twice. */
double cusum_threshold(double shift, double cases);

/* What one case adds to a side; also what tells a return: its negative is the evidence for the forecasts
 * against their shift. */
double cusum_evidence(enum cusum_side side, double shift, double forecast, bool correct);
