/*
 * Outcomes: labelled cases as the statistics of this folder take them, and what they share. Pure; any thread.
 *
 * Figures do not depend on the order of the cases: these are put into the order of outcomes_order first, and
 * sums run along it.
 */
#pragma once

#include "common/arena.h"

/* Of one figure. */
#define OUTCOMES_MAX 1000000

/* Weights lie in (0, OUTCOMES_WEIGHT_MAX], scores in ±OUTCOMES_SCORE_MAX. */
#define OUTCOMES_WEIGHT_MAX 1e12
#define OUTCOMES_SCORE_MAX  1e6

struct outcome {
	double score;  /* a confidence, a probability, or whatever is the higher the likelier it is right */
	double weight; /* of the case, 1 / its probability of being sampled */
	bool correct;
};

/* Cases of one score, which nothing tells apart. */
struct outcome_group {
	double score;
	size_t cases;
	double positive, negative;	 /* weights of those that are correct and of the others */
	double positive_sq, negative_sq; /* sums of their squared weights */
};

/* ERR_SAMPLES with a detail: there are none or too many, or a number is out of range. */
err_t outcomes_check(const struct outcome *outcomes, size_t count, struct err_detail *detail);

/* A copy in the arena, by score, then by correctness, then by weight. */
struct outcome *outcomes_order(const struct outcome *outcomes, size_t count, struct arena *arena);

/* Groups in the arena, by ascending score; the outcomes are valid. */
struct outcome_group *outcomes_group(const struct outcome *outcomes, size_t count, struct arena *arena,
				     size_t *ret_count);

/* Wilson's interval (1927) at 95 % of a share in `cases` (effective) cases, more than 0. */
void outcomes_wilson(double share, double cases, double *ret_low, double *ret_high);

/* 1 / (1 + e^−x), without overflow. */
double outcomes_sigmoid(double x);

/* A probability as losses and log odds are taken of it, so that none is endless: from 1e-6 to 1 − 1e-6. */
double outcomes_clamp(double probability);
