#include "calibration/statistics/platt.h"

#include "calibration/statistics/logistic.h"

#include <math.h>

/* Targets that are no labels are rows of either label, with shares of the weight. */
struct rows {
	double *scores, *weights;
	bool *labels;
	size_t count;
};

static struct rows make_rows(const struct outcome_group *groups, size_t count, struct arena *arena)
{
	struct rows rows = { ARENA_ARRAY(arena, double, 2 * count), ARENA_ARRAY(arena, double, 2 * count),
			     ARENA_ARRAY(arena, bool, 2 * count), 2 * count };
	double positive = 0, negative = 0;
	for (size_t i = 0; i < count; i++) {
		positive += groups[i].positive;
		negative += groups[i].negative;
	}
	double high = (positive + 1) / (positive + 2), low = 1 / (negative + 2);
	for (size_t i = 0; i < count; i++) {
		rows.scores[2 * i] = rows.scores[2 * i + 1] = groups[i].score;
		rows.labels[2 * i + 1] = true;
		rows.weights[2 * i] = groups[i].positive * (1 - high) + groups[i].negative * (1 - low);
		rows.weights[2 * i + 1] = groups[i].positive * high + groups[i].negative * low;
	}
	return rows;
}

err_t platt_fit(const struct outcome *outcomes, size_t count, struct platt *ret_platt,
		struct err_detail *detail)
{
	static const double penalties[2] = { 0 };
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct logistic_model model;
	size_t groups_count;
	err_t err = outcomes_check(outcomes, count, detail);
	if (err)
		return err;
	const struct outcome_group *groups = outcomes_group(outcomes, count, arena, &groups_count);
	if (groups_count < 2)
		return err_fail(detail, ERR_SAMPLES, "all cases have the same score");
	const struct rows rows = make_rows(groups, groups_count, arena);
	const struct logistic_problem problem = { .features = rows.scores,
						  .labels = rows.labels,
						  .weights = rows.weights,
						  .rows = rows.count,
						  .columns = 1,
						  .penalties = penalties };
	err = logistic_fit(&problem, arena, &model, detail);
	if (err)
		return err;
	const double *l = model.factor; /* 00, 01, 10, 11 */
	double determinant = l[0] * l[0] * l[3] * l[3];
	*ret_platt = (struct platt){ .slope = model.coefficients[1],
				     .intercept = model.coefficients[0],
				     .variance_slope = l[0] * l[0] / determinant,
				     .variance_intercept = (l[2] * l[2] + l[3] * l[3]) / determinant,
				     .covariance = -l[0] * l[2] / determinant };
	return ERR_OK;
}

double platt_value(const struct platt *platt, double score, double *ret_low, double *ret_high)
{
	double odds = platt->slope * score + platt->intercept;
	double variance = platt->variance_intercept + 2 * score * platt->covariance +
			  score * score * platt->variance_slope;
	double half = 1.959963984540054 * sqrt(fmax(0, variance));
	if (ret_low)
		*ret_low = outcomes_sigmoid(odds - half);
	if (ret_high)
		*ret_high = outcomes_sigmoid(odds + half);
	return outcomes_sigmoid(odds);
}
