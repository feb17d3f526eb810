#include "calibration/statistics/binned.h"

#include <math.h>

#define Z_95 1.959963984540054

/* Mean of |X|, X normal (Leone, Nelson and Nottingham 1961). */
static double folded_mean(double mean, double deviation)
{
	if (!(deviation > 0))
		return fabs(mean);
	double ratio = mean / deviation;
	return deviation * sqrt(2 / M_PI) * exp(-ratio * ratio / 2) + mean * erf(ratio / M_SQRT2);
}

static opt_double_t squared_error(const struct binned_part *parts, size_t count)
{
	double sum = 0, weight = 0;
	for (size_t i = 0; i < count; i++) {
		const struct binned_part *part = &parts[i];
		double difference = part->accuracy - part->confidence;
		if (!(part->effective > 1 + 1e-9))
			continue;
		sum += part->weight * (difference * difference -
				       part->accuracy * (1 - part->accuracy) / (part->effective - 1));
		weight += part->weight;
	}
	return weight > 0 ? opt_double(sum / weight) : (opt_double_t)OPT_NONE;
}

/* Variance of a bin's accuracy, never 0: as if two more cases were correct and two wrong. */
static double agresti_coull(const struct binned_part *part)
{
	double n = part->effective + 4, share = (part->accuracy * part->effective + 2) / n;
	return share * (1 - share) / n;
}

void binned_error_of(const struct binned_part *parts, size_t count, struct binned_error *ret_error)
{
	struct binned_error error = { .squared = squared_error(parts, count) };
	double all = 0, resampled = 0, noise = 0, squares = 0;
	for (size_t i = 0; i < count; i++)
		all += parts[i].weight;
	for (size_t i = 0; i < count; i++) {
		const struct binned_part *part = &parts[i];
		double share = part->weight / all, difference = part->accuracy - part->confidence;
		double variance = part->accuracy * (1 - part->accuracy) / part->effective;
		error.expected += share * fabs(difference);
		resampled += share * folded_mean(difference, sqrt(variance));
		noise += share * sqrt(agresti_coull(part));
		squares += share * share * agresti_coull(part);
	}
	error.debiased = fmax(0, 2 * error.expected - resampled);
	error.low = fmax(0, error.expected - sqrt(2 / M_PI) * noise - Z_95 * sqrt((1 - 2 / M_PI) * squares));
	error.high = fmin(1, error.expected + Z_95 * sqrt(squares));
	error.deviation = sqrt(squares);
	*ret_error = error;
}

/* ---- equal-mass bins ---- */

struct sums {
	double weight, squares, correct, confidence;
};

static void finish(struct binned_part *part, const struct sums *sums)
{
	part->weight = sums->weight;
	part->effective = sums->weight * sums->weight / sums->squares;
	part->accuracy = fmin(1, sums->correct / sums->weight);
	part->confidence = sums->confidence / sums->weight;
	outcomes_wilson(part->accuracy, part->effective, &part->low, &part->high);
}

static void take(struct binned_part *part, struct sums *sums, const struct outcome_group *group)
{
	double weight = group->positive + group->negative;
	if (part->cases == 0)
		part->first = group->score;
	part->last = group->score;
	part->cases += group->cases;
	sums->weight += weight;
	sums->squares += group->positive_sq + group->negative_sq;
	sums->correct += group->positive;
	sums->confidence += weight * group->score;
}

/* How many bounds lie at or below this weight. A bound that is reached is reached, also when the last bit of
 * a sum is not; the end of all cases is none. */
static double bound_of(double weight, double all, size_t most)
{
	return fmin(floor(weight / all * (double)most + 1e-9), (double)most - 1);
}

err_t binned_equal_mass(const struct outcome *outcomes, size_t count, size_t most, struct arena *arena,
			struct binned_part **ret_parts, size_t *ret_count, struct err_detail *detail)
{
	size_t groups_count, parts_count = 0;
	double all = 0, reached = 0;
	err_t err = outcomes_check(outcomes, count, detail);
	if (!err && (most == 0 || most > OUTCOMES_MAX))
		err = err_fail(detail, ERR_SAMPLES, "%zu bins: there have to be 1 to %d", most, OUTCOMES_MAX);
	if (err)
		return err;
	const struct outcome_group *groups = outcomes_group(outcomes, count, arena, &groups_count);
	struct binned_part *parts =
		ARENA_ARRAY(arena, struct binned_part, most < groups_count ? most : groups_count);
	struct sums sums = { 0 };
	for (size_t i = 0; i < groups_count; i++)
		all += groups[i].positive + groups[i].negative;
	for (size_t i = 0; i < groups_count; i++) {
		take(&parts[parts_count], &sums, &groups[i]);
		reached += groups[i].positive + groups[i].negative;
		if (i + 1 == groups_count ||
		    bound_of(reached, all, most) > bound_of(reached - sums.weight, all, most)) {
			finish(&parts[parts_count++], &sums);
			sums = (struct sums){ 0 };
		}
	}
	*ret_parts = parts;
	*ret_count = parts_count;
	return ERR_OK;
}
