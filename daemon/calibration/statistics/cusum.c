#include "calibration/statistics/cusum.h"

#include <math.h>

double cusum_evidence(enum cusum_side side, double shift, double forecast, bool correct)
{
	double by = side == CUSUM_LOWER ? -shift : shift;
	return (correct ? by : 0) - log1p(forecast * expm1(by));
}

static void add(struct cusum_sum *sum, double evidence, double residual, int64_t time_ms)
{
	double value = sum->value + evidence;
	if (!(value > 0)) {
		*sum = (struct cusum_sum){ 0 };
		return;
	}
	if (sum->cases == 0)
		sum->since_ms = time_ms;
	sum->value = value;
	sum->residual += residual;
	sum->cases++;
}

void cusum_add(struct cusum *cusum, double shift, double forecast, bool correct, int64_t time_ms)
{
	if (!(forecast >= 0 && forecast <= 1))
		return;
	for (enum cusum_side side = 0; side < CUSUM_SIDES; side++)
		add(&cusum->sides[side], cusum_evidence(side, shift, forecast, correct), correct - forecast,
		    time_ms);
}

/* Mean number of cases until a sum of normal steps reaches the threshold, steps being logarithms of
 * likelihoods of that deviation; 1.166 is twice what a walk exceeds a bound by. */
static double run_length(double threshold, double deviation)
{
	double reach = threshold + 1.166 * deviation;
	return (expm1(reach) - reach) / (deviation * deviation / 2);
}

double cusum_threshold(double shift, double cases)
{
	double low = 0, high = 64;
	cases *= CUSUM_MARGIN;
	for (int i = 0; i < 200; i++) {
		double middle = (low + high) / 2;
		if (run_length(middle, shift / 2) < cases)
			low = middle;
		else
			high = middle;
	}
	return high;
}
