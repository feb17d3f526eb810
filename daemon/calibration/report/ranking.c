#include "calibration/report/ranking.h"

#include <math.h>

#define Z_95 1.959963984540054

static const double coverages[RANKING_COVERAGES] = { 0.1, 0.25, 0.5, 0.75, 1 };

double ranking_coverage(int i)
{
	return coverages[i];
}

const char *ranking_score_name(enum ranking_score score)
{
	return score == RANKING_OVERALL ? "overall confidence" : "probability";
}

/* Wilson's lower end of n right cases in n is n / (n + z²). */
int64_t ranking_least_cases(double accuracy)
{
	double least = ceil(Z_95 * Z_95 * accuracy / (1 - accuracy) - 1e-9);
	return least < RANKING_THRESHOLD_CASES ? RANKING_THRESHOLD_CASES : (int64_t)least;
}

/* ---- risk and coverage ---- */

/* Cases of one score come in mixed evenly. */
static double accuracy_at(const struct risk_curve *curve, double coverage)
{
	double before = 0, errors = 0;
	for (size_t i = 0; i < curve->count; i++) {
		const struct risk_point *point = &curve->points[i];
		double all = point->risk * point->coverage;
		if (point->coverage >= coverage - 1e-12) {
			double share = (coverage - before) / (point->coverage - before);
			return 1 - (errors + fmin(share, 1) * (all - errors)) / coverage;
		}
		before = point->coverage;
		errors = all;
	}
	return 1 - errors / coverage;
}

static struct ranking_threshold find_threshold(const struct risk_curve *curve, double wish)
{
	const struct risk_point *point = discrimination_find(curve, wish, RANKING_THRESHOLD_CASES);
	struct ranking_threshold threshold = { .wish = wish, .found = point != NULL };
	if (point)
		threshold.point = *point;
	for (size_t i = 0; !point && i < curve->count; i++)
		if (curve->points[i].cases >= RANKING_THRESHOLD_CASES &&
		    (threshold.point.cases == 0 || curve->points[i].low > threshold.point.low))
			threshold.point = curve->points[i];
	return threshold;
}

/* `exact` by all scores, `coarse` by those that may be thresholds. */
static void fill(struct ranking *ranking, const struct outcome_group *exact, size_t exact_count,
		 const struct outcome_group *coarse, size_t coarse_count, double wish, struct arena *arena)
{
	struct risk_curve curve;
	discrimination_risk_curve(exact, exact_count, arena, &curve);
	ranking->risk_area = curve.area;
	for (int i = 0; i < RANKING_COVERAGES; i++)
		ranking->accuracies[i] = accuracy_at(&curve, coverages[i]);
	discrimination_risk_curve(coarse, coarse_count, arena, &curve);
	ranking->threshold = find_threshold(&curve, wish);
	ranking->both_kinds =
		discrimination_of_groups(exact, exact_count, &ranking->discrimination, NULL) == ERR_OK;
	binned_error_of(ranking->bins, ranking->bins_count, &ranking->error);
}

/* ---- tenths ---- */

static struct outcome_group group_of(const struct calibration_part *part, int bin)
{
	double squares = part->weight * part->weight / part->effective, correct = fmin(part->accuracy, 1);
	return (struct outcome_group){
		.score = bin / 10.0,
		.cases = (size_t)part->cases,
		.positive = part->weight * correct,
		.negative = part->weight * (1 - correct),
		.positive_sq = squares * correct,
		.negative_sq = squares * (1 - correct),
	};
}

static struct binned_part part_of(const struct calibration_part *part, int bin)
{
	return (struct binned_part){
		.first = bin / 10.0,
		.last = (bin + 1) / 10.0,
		.cases = (size_t)part->cases,
		.weight = part->weight,
		.effective = part->effective,
		.accuracy = part->accuracy,
		.confidence = part->confidence,
		.low = part->low,
		.high = part->high,
	};
}

void ranking_of_report(const struct calibration_report *report, double wish, struct arena *arena,
		       struct ranking *ret_ranking)
{
	struct outcome_group groups[CALIBRATION_BINS];
	struct ranking ranking = { .by_tenths = true,
				   .cases = report->cases,
				   .bins = ARENA_ARRAY(arena, struct binned_part, CALIBRATION_BINS) };
	for (int bin = 0; bin < CALIBRATION_BINS; bin++) {
		const struct calibration_part *part = &report->bins[bin];
		if (part->cases == 0)
			continue;
		groups[ranking.bins_count] = group_of(part, bin);
		ranking.bins[ranking.bins_count++] = part_of(part, bin);
	}
	fill(&ranking, groups, ranking.bins_count, groups, ranking.bins_count, wish, arena);
	*ret_ranking = ranking;
}

/* ---- single cases ---- */

/* What is written 0.29 is not below 0.29 because of its last bit. */
static struct outcome *round_down(const struct outcome *outcomes, size_t count, struct arena *arena)
{
	struct outcome *rounded = ARENA_ARRAY(arena, struct outcome, count);
	for (size_t i = 0; i < count; i++) {
		rounded[i] = outcomes[i];
		rounded[i].score = floor(outcomes[i].score * 100 + 1e-9) / 100;
	}
	return rounded;
}

err_t ranking_of_cases(enum ranking_score score, const struct outcome *outcomes, size_t count, double wish,
		       struct arena *arena, struct ranking *ret_ranking, struct err_detail *detail)
{
	struct ranking ranking = { .score = score, .cases = (int64_t)count };
	size_t exact_count, coarse_count;
	err_t err = binned_equal_mass(outcomes, count, RANKING_BINS, arena, &ranking.bins,
				      &ranking.bins_count, detail);
	if (err)
		return err;
	const struct outcome_group *exact = outcomes_group(outcomes, count, arena, &exact_count);
	const struct outcome_group *coarse =
		outcomes_group(round_down(outcomes, count, arena), count, arena, &coarse_count);
	fill(&ranking, exact, exact_count, coarse, coarse_count, wish, arena);
	*ret_ranking = ranking;
	return ERR_OK;
}
