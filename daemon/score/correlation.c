#include "score/correlation.h"

#include "score/number.h"

/* Deviations from the mean, in units of the largest absolute value, which is returned: no square can overflow
 * or vanish. The values are not all the same. */
static double deviations(const double *values, size_t count, double *ret_deviations)
{
	double unit = 0, mean = 0;
	for (size_t i = 0; i < count; i++)
		unit = fmax(unit, fabs(values[i]));
	for (size_t i = 0; i < count; i++)
		mean += values[i] / unit;
	mean /= (double)count;
	for (size_t i = 0; i < count; i++)
		ret_deviations[i] = values[i] / unit - mean;
	return unit;
}

static bool constant(const double *values, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (values[i] != values[0])
			return false;
	}
	return true;
}

static double product_sum(const double *x, const double *y, size_t count)
{
	double sum = 0;
	for (size_t i = 0; i < count; i++)
		sum += x[i] * y[i];
	return sum;
}

opt_double_t correlation_pearson(const double *x, const double *y, size_t count, struct arena *arena)
{
	if (count < 2 || constant(x, count) || constant(y, count))
		return (opt_double_t)OPT_NONE;
	double *dx = ARENA_ARRAY(arena, double, count);
	double *dy = ARENA_ARRAY(arena, double, count);
	deviations(x, count, dx);
	deviations(y, count, dy);
	double scale = sqrt(product_sum(dx, dx, count)) * sqrt(product_sum(dy, dy, count));
	double r = product_sum(dx, dy, count) / scale;
	return opt_double(score_settle(fmax(-1, fmin(1, r))));
}

struct ranked {
	double value;
	size_t index;
};

static int by_value(const void *a, const void *b)
{
	const struct ranked *left = a, *right = b;
	return (left->value > right->value) - (left->value < right->value);
}

static double *ranks(const double *values, size_t count, struct arena *arena)
{
	struct ranked *sorted = ARENA_ARRAY(arena, struct ranked, count);
	double *result = ARENA_ARRAY(arena, double, count);
	for (size_t i = 0; i < count; i++)
		sorted[i] = (struct ranked){ values[i], i };
	qsort(sorted, count, sizeof *sorted, by_value);
	for (size_t start = 0, end; start < count; start = end) {
		for (end = start + 1; end < count && sorted[end].value == sorted[start].value;)
			end++;
		for (size_t i = start; i < end; i++)
			result[sorted[i].index] = (double)(start + end + 1) / 2;
	}
	return result;
}

opt_double_t correlation_spearman(const double *x, const double *y, size_t count, struct arena *arena)
{
	if (count < 2)
		return (opt_double_t)OPT_NONE;
	return correlation_pearson(ranks(x, count, arena), ranks(y, count, arena), count, arena);
}

double correlation_standard_deviation(const double *values, size_t count, struct arena *arena)
{
	if (count < 2 || constant(values, count))
		return 0;
	double *distances = ARENA_ARRAY(arena, double, count);
	double unit = deviations(values, count, distances);
	return unit * sqrt(product_sum(distances, distances, count) / (double)count);
}
