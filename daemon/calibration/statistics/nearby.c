#include "calibration/statistics/nearby.h"

#include <math.h>

#include "calibration/statistics/outcomes.h"

enum { STEPS_MAX = 100 };

double nearby_prior(double log_odds)
{
	return (1 + log_odds * log_odds) / 4;
}

struct near_case {
	double log_odds, weight;
	bool correct;
};

/* Those within reach, each group of which weighs as much as its heaviest case; how many there are. */
static size_t take_near(const struct nearby_case *cases, size_t count, double log_odds, struct near_case *ret)
{
	size_t taken = 0;
	for (size_t i = 0, first = 0; i < count;) {
		size_t group = cases[i].group;
		double largest = 0, sum = 0;
		for (first = taken; i < count && cases[i].group == group; i++) {
			double share = 1 - fabs(cases[i].log_odds - log_odds) / NEARBY_REACH;
			double weight = share * cases[i].weight;
			if (share <= 0)
				continue;
			largest = fmax(largest, weight);
			sum += weight;
			ret[taken++] = (struct near_case){ cases[i].log_odds, weight, cases[i].correct };
		}
		for (size_t j = first; j < taken; j++)
			ret[j].weight *= largest / sum;
	}
	return taken;
}

/* The derivative falls in the shift: Newton's steps, and halves of what is left where they lead outside. */
struct nearby nearby_at(const struct nearby_case *cases, size_t count, double log_odds)
{
	_cleanup_(arena_cleanup) struct arena *scratch = arena_new();
	struct near_case *near = ARENA_ARRAY(scratch, struct near_case, count + 1);
	size_t taken = take_near(cases, count, log_odds, near);
	double prior = nearby_prior(log_odds), shift = 0, curvature = 1 / prior, low = 0, high = 0;
	for (size_t i = 0; i < taken; i++) {
		low -= near[i].correct ? 0 : prior * near[i].weight;
		high += near[i].correct ? prior * near[i].weight : 0;
	}
	for (int step = 0; step < STEPS_MAX; step++) {
		double pull = -shift / prior;
		curvature = 1 / prior;
		for (size_t i = 0; i < taken; i++) {
			double p = outcomes_sigmoid(near[i].log_odds + shift);
			pull += near[i].weight * (near[i].correct - p);
			curvature += near[i].weight * p * (1 - p);
		}
		*(pull > 0 ? &low : &high) = shift;
		double next = shift + pull / curvature;
		if (!(next > low && next < high))
			next = low + (high - low) / 2;
		if (fabs(next - shift) <= 1e-13 * fmax(1, fabs(shift)))
			break;
		shift = next;
	}
	return (struct nearby){ shift, 1 / curvature };
}
