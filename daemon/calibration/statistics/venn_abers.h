/*
 * Venn–Abers predictor (inductive; Vovk, Petej and Fedorova 2015): two probabilities of a new case, what
 * isotonic regression says of it when it is added as a wrong case and as a correct one of weight 1. One of
 * the two is calibrated, whatever the distribution, if cases are exchangeable; so they are an interval, the
 * wider the fewer cases are near. Pure; any thread, also several with one predictor.
 *
 * Fitting keeps the blocks that pooling has after every score, from below and from above, as trees of shared
 * stacks: memory is O(n), and a new case is pooled from its own place outwards.
 */
#pragma once

#include "calibration/statistics/outcomes.h"

struct venn_abers;

struct venn_abers_interval {
	double low;   /* p0 */
	double high;  /* p1 */
	double value; /* p1 / (1 − p0 + p1): the one that loses least by logarithmic loss */
};

/* The predictor is in the arena. ERR_SAMPLES as outcomes_check. */
err_t venn_abers_fit(const struct outcome *outcomes, size_t count, struct arena *arena,
		     struct venn_abers **ret_predictor, struct err_detail *detail);

/* Of a case with that score. */
struct venn_abers_interval venn_abers_predict(const struct venn_abers *predictor, double score);
