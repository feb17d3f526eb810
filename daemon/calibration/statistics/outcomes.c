#include "calibration/statistics/outcomes.h"

#include <math.h>
#include <stdlib.h>

/* No case loses more than this probability would. */
#define PROBABILITY_MIN 1e-6

static bool usable(const struct outcome *outcome)
{
	return fabs(outcome->score) <= OUTCOMES_SCORE_MAX && outcome->weight > 0 &&
	       outcome->weight <= OUTCOMES_WEIGHT_MAX;
}

err_t outcomes_check(const struct outcome *outcomes, size_t count, struct err_detail *detail)
{
	if (count == 0 || count > OUTCOMES_MAX)
		return err_fail(detail, ERR_SAMPLES, "%zu cases: there have to be 1 to %d", count,
				OUTCOMES_MAX);
	for (size_t i = 0; i < count; i++)
		if (!usable(&outcomes[i]))
			return err_fail(detail, ERR_SAMPLES, "case %zu: its score or weight is out of range",
					i);
	return ERR_OK;
}

static int compare(const void *a, const void *b)
{
	const struct outcome *left = a, *right = b;
	int order = (left->score > right->score) - (left->score < right->score);
	if (!order)
		order = left->correct - right->correct;
	return order ? order : (left->weight > right->weight) - (left->weight < right->weight);
}

struct outcome *outcomes_order(const struct outcome *outcomes, size_t count, struct arena *arena)
{
	struct outcome *copy = ARENA_ARRAY(arena, struct outcome, count);
	memcpy(copy, outcomes, count * sizeof *copy);
	qsort(copy, count, sizeof *copy, compare);
	return copy;
}

static void add(struct outcome_group *group, const struct outcome *outcome)
{
	double *sum = outcome->correct ? &group->positive : &group->negative;
	double *squares = outcome->correct ? &group->positive_sq : &group->negative_sq;
	*sum += outcome->weight;
	*squares += outcome->weight * outcome->weight;
	group->cases++;
}

struct outcome_group *outcomes_group(const struct outcome *outcomes, size_t count, struct arena *arena,
				     size_t *ret_count)
{
	const struct outcome *sorted = outcomes_order(outcomes, count, arena);
	struct outcome_group *groups = ARENA_ARRAY(arena, struct outcome_group, count);
	size_t groups_count = 0;
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || sorted[i].score > sorted[i - 1].score)
			groups[groups_count++].score = sorted[i].score;
		add(&groups[groups_count - 1], &sorted[i]);
	}
	*ret_count = groups_count;
	return groups;
}

void outcomes_wilson(double share, double cases, double *ret_low, double *ret_high)
{
	const double z = 1.959963984540054, z2 = z * z;
	double centre = (share + z2 / (2 * cases)) / (1 + z2 / cases);
	double half = z * sqrt(share * (1 - share) / cases + z2 / (4 * cases * cases)) / (1 + z2 / cases);
	*ret_low = fmax(0, centre - half);
	*ret_high = fmin(1, centre + half);
}

double outcomes_sigmoid(double x)
{
	double e = exp(-fabs(x));
	return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

double outcomes_clamp(double probability)
{
	return fmin(fmax(probability, PROBABILITY_MIN), 1 - PROBABILITY_MIN);
}
