#include "calibration/statistics/discrimination.h"

#include <math.h>

struct totals {
	double positive, negative;
	double positive_sq, negative_sq;
};

static struct totals sum_up(const struct outcome_group *groups, size_t count)
{
	struct totals all = { 0 };
	for (size_t i = 0; i < count; i++) {
		all.positive += groups[i].positive;
		all.negative += groups[i].negative;
		all.positive_sq += groups[i].positive_sq;
		all.negative_sq += groups[i].negative_sq;
	}
	return all;
}

/* Variance of AUROC: of the shares of wrong cases that each correct one is above, and the other way round. */
static double variance(const struct outcome_group *groups, size_t count, const struct totals *all,
		       double auroc)
{
	double positive_cases = all->positive * all->positive / all->positive_sq;
	double negative_cases = all->negative * all->negative / all->negative_sq;
	double below = 0, above = all->positive, of_positive = 0, of_negative = 0;
	for (size_t i = 0; i < count; i++) {
		above -= groups[i].positive;
		double wins = (below + groups[i].negative / 2) / all->negative - auroc;
		double losses = (above + groups[i].positive / 2) / all->positive - auroc;
		of_positive += groups[i].positive * wins * wins;
		of_negative += groups[i].negative * losses * losses;
		below += groups[i].negative;
	}
	return of_positive / all->positive / (positive_cases - 1) +
	       of_negative / all->negative / (negative_cases - 1);
}

static bool more_than_one(double sum, double squares)
{
	return sum * sum > squares * (1 + 1e-9);
}

/* At an AUROC of 0 or 1 there are no log odds, and no variance: the interval is Wilson's of as many cases as
 * the rarer kind has. */
static void find_interval(const struct outcome_group *groups, size_t count, const struct totals *all,
			  struct discrimination *discrimination)
{
	double auroc = discrimination->auroc;
	discrimination->low = 0;
	discrimination->high = 1;
	if (!more_than_one(all->positive, all->positive_sq) ||
	    !more_than_one(all->negative, all->negative_sq))
		return;
	if (auroc <= 0 || auroc >= 1) {
		outcomes_wilson(auroc,
				fmin(all->positive * all->positive / all->positive_sq,
				     all->negative * all->negative / all->negative_sq),
				&discrimination->low, &discrimination->high);
		return;
	}
	double half = 1.959963984540054 * sqrt(variance(groups, count, all, auroc)) / (auroc * (1 - auroc));
	double centre = log(auroc / (1 - auroc));
	discrimination->low = outcomes_sigmoid(centre - half);
	discrimination->high = outcomes_sigmoid(centre + half);
}

err_t discrimination_of_groups(const struct outcome_group *groups, size_t count,
			       struct discrimination *ret_discrimination, struct err_detail *detail)
{
	const struct totals all = sum_up(groups, count);
	struct discrimination discrimination;
	double wins = 0, below = 0;
	if (!(all.positive > 0) || !(all.negative > 0))
		return err_fail(detail, ERR_SAMPLES, "there are no %s cases",
				all.positive > 0 ? "wrong" : "correct");
	for (size_t i = 0; i < count; i++) {
		wins += groups[i].positive * (below + groups[i].negative / 2);
		below += groups[i].negative;
	}
	discrimination.auroc = fmin(1, wins / (all.positive * all.negative));
	find_interval(groups, count, &all, &discrimination);
	*ret_discrimination = discrimination;
	return ERR_OK;
}

err_t discrimination_of(const struct outcome *outcomes, size_t count,
			struct discrimination *ret_discrimination, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	size_t groups_count;
	err_t err = outcomes_check(outcomes, count, detail);
	if (err)
		return err;
	const struct outcome_group *groups = outcomes_group(outcomes, count, arena, &groups_count);
	return discrimination_of_groups(groups, groups_count, ret_discrimination, detail);
}

/* ---- risk and coverage ---- */

/* Integral of the risk while the group comes in, after `weight` with `errors` of it wrong. */
static double area_of(const struct outcome_group *group, double weight, double errors)
{
	double more = group->positive + group->negative, rate = group->negative / more;
	return weight > 0 ? rate * more + (errors - rate * weight) * log1p(more / weight) : rate * more;
}

void discrimination_risk_curve(const struct outcome_group *groups, size_t count, struct arena *arena,
			       struct risk_curve *ret_curve)
{
	const struct totals all = sum_up(groups, count);
	struct risk_curve curve = { .points = ARENA_ARRAY(arena, struct risk_point, count), .count = count };
	double weight = 0, errors = 0, squares = 0, area = 0;
	size_t cases = 0;
	for (size_t i = 0; i < count; i++) {
		const struct outcome_group *group = &groups[count - 1 - i];
		struct risk_point *point = &curve.points[i];
		area += area_of(group, weight, errors);
		weight += group->positive + group->negative;
		errors += group->negative;
		squares += group->positive_sq + group->negative_sq;
		cases += group->cases;
		point->threshold = group->score;
		point->cases = cases;
		point->coverage = fmin(1, weight / (all.positive + all.negative));
		point->risk = errors / weight;
		outcomes_wilson(1 - point->risk, weight * weight / squares, &point->low, &point->high);
	}
	curve.area = fmax(0, area / (all.positive + all.negative));
	*ret_curve = curve;
}

const struct risk_point *discrimination_find(const struct risk_curve *curve, double accuracy,
					     size_t min_cases)
{
	for (size_t i = curve->count; i > 0; i--)
		if (curve->points[i - 1].low >= accuracy && curve->points[i - 1].cases >= min_cases)
			return &curve->points[i - 1];
	return NULL;
}
