/*
 * Binned calibration error: how far accuracy and confidence lie apart, bin by bin, and what that figure is
 * worth. Pure; any thread.
 *
 * With s the share, a the accuracy, c the mean confidence and n the effective number of cases of a bin:
 *
 *   expected   Σ s·|a − c|: the ECE. Chance alone makes it larger than 0, the more so the fewer the cases.
 *   debiased   2·expected − Σ s·E|N(a − c, σ²)|, σ² = a(1 − a)/n, at least 0: Kumar, Liang and Ma 2019 (their
 *              code's normal_debiased_ce), with the mean of the folded normal in closed form
 *   squared    Σ s·((a − c)² − a(1 − a)/(n − 1)): without bias, and so at times below 0 (Bröcker 2012; Kumar
 *              and others 2019); bins of one case are left out of it and of its shares
 *   low, high  interval at 95 % of the true error of these bins. With ε the errors of the accuracies, the
 *              triangle inequality gives |expected − truth| ≤ Σ s·|ε|, and truth − expected ≤ Σ ±s·ε with the
 *              signs of the true differences: both sums have known normal quantiles. For ε the accuracy
 * counts as Agresti and Coull's (1998), so that bins without errors are not taken for certain.
 *
 * Equal-mass bins: the bounds lie where the weight reaches a further 1/count of all; cases of one score are
 * never divided, so there may be fewer bins (Nixon and others 2019).
 */
#pragma once

#include "calibration/statistics/outcomes.h"

struct binned_part {
	double first, last; /* lowest and highest score in it */
	size_t cases;
	double weight;
	double effective; /* Σw² / Σ(w²): cases where all weigh the same */
	double accuracy;
	double confidence; /* mean */
	double low, high;  /* Wilson's interval of the accuracy */
};

struct binned_error {
	double expected;
	double debiased;
	opt_double_t squared; /* absent: no bin has more than one case */
	double low, high;
	double deviation; /* standard error of `expected`: √(Σ s²·σ²), σ² as for the interval */
};

/* Of bins that have cases; at least one. */
void binned_error_of(const struct binned_part *parts, size_t count, struct binned_error *ret_error);

/* Equal-mass bins of cases whose scores are confidences, at most `most` (1..OUTCOMES_MAX) of them, in the
 * arena. ERR_SAMPLES as outcomes_check. */
err_t binned_equal_mass(const struct outcome *outcomes, size_t count, size_t most, struct arena *arena,
			struct binned_part **ret_parts, size_t *ret_count, struct err_detail *detail);
