/* Correlation of paired values. Pure; any thread. Values are finite; their size does not matter. */
#pragma once

#include "common/arena.h"

/* Pearson's r; none with fewer than two pairs or where a side is constant. */
opt_double_t correlation_pearson(const double *x, const double *y, size_t count, struct arena *arena);

/* Spearman's rho: Pearson's r of the ranks, ties sharing their average rank. */
opt_double_t correlation_spearman(const double *x, const double *y, size_t count, struct arena *arena);

/* Population standard deviation; 0 for no values. */
double correlation_standard_deviation(const double *values, size_t count, struct arena *arena);
