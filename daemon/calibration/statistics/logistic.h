/*
 * Logistic regression with quadratic penalties, by Newton's method (iteratively reweighted least squares;
 * Green 1984), its steps halved until the loss falls. Pure; any thread.
 *
 *   loss = Σ w·(log(1 + e^η) − y·η) + ½ Σⱼ penaltyⱼ·(βⱼ − priorⱼ)²,   η = β₀ + Σⱼ βⱼ·xⱼ
 *
 * A penalty is the inverse of the variance of a normal prior; so the coefficients of a parent are the prior
 * of its children. scikit-learn's C is 1/penalty, with none on the intercept.
 *
 * Sums run over the rows as they are handed in and steps do not depend on anything else: the same rows in the
 * same order give the same model to the last digit.
 */
#pragma once

#include "calibration/statistics/outcomes.h"

#define LOGISTIC_COLUMNS_MAX 256

struct logistic_problem {
	const double *features; /* rows × columns, row by row, without the constant; within ±1e6 */
	const bool *labels;
	const double *weights;	 /* NULL: 1 each; within 0 (excluded) and OUTCOMES_WEIGHT_MAX */
	size_t rows;		 /* 1..OUTCOMES_MAX */
	size_t columns;		 /* 0..LOGISTIC_COLUMNS_MAX */
	const double *penalties; /* columns + 1, the intercept's first; from 0 on */
	const double *prior;	 /* likewise; NULL: 0 each */
};

struct logistic_model {
	size_t columns;
	double *coefficients; /* columns + 1, the intercept's first */
	double *factor;	      /* Cholesky's of the loss' second derivatives, lower, (columns + 1)² by row */
	double loss;
	int steps;
};

/* Arrays in the arena. ERR_SAMPLES with a detail: something is out of range, or the loss has no minimum that
 * could be found (without penalties, where a feature tells all labels). */
err_t logistic_fit(const struct logistic_problem *problem, struct arena *arena,
		   struct logistic_model *ret_model, struct err_detail *detail);

/* The log odds of a row; `ret_deviation` (may be NULL) is their standard error. */
double logistic_log_odds(const struct logistic_model *model, const double *row, double *ret_deviation);
