/* Statistics of labelled cases against what numpy, scipy and scikit-learn say
 * (tests/harness/oracles/statistics_of_others.py). */
#include "calibration/statistics/binned.h"
#include "calibration/statistics/cusum.h"
#include "calibration/statistics/discrimination.h"
#include "calibration/statistics/logistic.h"
#include "calibration/statistics/nearby.h"
#include "calibration/statistics/outcomes.h"
#include "calibration/statistics/platt.h"
#include "calibration/statistics/student.h"
#include "calibration/statistics/venn_abers.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/calibration/statistics/statistics.def"

#define NEAR	 1e-9
#define BINS	 7
#define COUNT(a) (sizeof(a) / sizeof *(a))

static void check(const char *what, double found, double expected)
{
	if (!(fabs(found - expected) <= NEAR * fmax(1, fabs(expected))))
		fail_msg("%s: %.17g, expected %.17g", what, found, expected);
}

static void check_err(err_t err, const struct err_detail *detail)
{
	if (err)
		fail_msg("%s", err_message(err, detail));
}

static const struct sample {
	const char *name;
	size_t count;
	const double *scores, *weights;
	const bool *labels;
	const double *auroc, *risk_area, *risk_points, *errors, *bins, *nearby, *venn_abers, *platt, *cusum;
	size_t risk_numbers, bins_numbers;
} samples[] = {
#define SAMPLE(name, count)                                                                                  \
	{                                                                                                    \
		#name,                                                                                       \
		count,                                                                                       \
		sample_##name##_scores,                                                                      \
		sample_##name##_weights,                                                                     \
		sample_##name##_labels,                                                                      \
		sample_##name##_auroc,                                                                       \
		sample_##name##_risk_area,                                                                   \
		sample_##name##_risk_points,                                                                 \
		sample_##name##_errors,                                                                      \
		sample_##name##_bins,                                                                        \
		sample_##name##_nearby,                                                                      \
		sample_##name##_venn_abers,                                                                  \
		sample_##name##_platt,                                                                       \
		sample_##name##_cusum,                                                                       \
		COUNT(sample_##name##_risk_points),                                                          \
		COUNT(sample_##name##_bins),                                                                 \
	},
	SAMPLES(SAMPLE)
};

static const struct regression {
	const char *name;
	struct logistic_problem problem;
	const double *found;
} regressions[] = {
#define REGRESSION(name, rows, columns)                                                                      \
	{                                                                                                    \
		#name,                                                                                       \
		{ regression_##name##_features, regression_##name##_labels, regression_##name##_weights,     \
		  rows, columns, regression_##name##_penalties, regression_##name##_prior },                 \
		regression_##name##_found,                                                                   \
	},
	REGRESSIONS(REGRESSION)
};

/* In the order of the sample, or backwards: figures must not depend on it. */
static struct outcome *outcomes_of(const struct sample *sample, struct arena *arena, bool backwards)
{
	struct outcome *outcomes = ARENA_ARRAY(arena, struct outcome, sample->count);
	for (size_t i = 0; i < sample->count; i++)
		outcomes[backwards ? sample->count - 1 - i : i] =
			(struct outcome){ sample->scores[i], sample->weights[i], sample->labels[i] };
	return outcomes;
}

static void with_samples(void (*run)(const struct sample *sample, const struct outcome *outcomes,
				     struct arena *arena))
{
	for (size_t i = 0; i < 2 * COUNT(samples); i++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		run(&samples[i / 2], outcomes_of(&samples[i / 2], arena, i % 2), arena);
	}
}

static void check_auroc(const struct sample *sample, const struct outcome *outcomes, struct arena *arena)
{
	struct err_detail detail = { "" };
	struct discrimination found;
	(void)arena;
	check_err(discrimination_of(outcomes, sample->count, &found, &detail), &detail);
	check(sample->name, found.auroc, sample->auroc[0]);
	check(sample->name, found.low, sample->auroc[1]);
	check(sample->name, found.high, sample->auroc[2]);
}

static void test_auroc(void **state)
{
	(void)state;
	with_samples(check_auroc);
}

static void check_risk(const struct sample *sample, const struct outcome *outcomes, struct arena *arena)
{
	size_t count;
	const struct outcome_group *groups = outcomes_group(outcomes, sample->count, arena, &count);
	struct risk_curve curve;
	discrimination_risk_curve(groups, count, arena, &curve);
	check(sample->name, curve.area, *sample->risk_area);
	assert_int_equal(curve.count * 5, sample->risk_numbers);
	for (size_t i = 0; i < curve.count; i++) {
		const struct risk_point *point = &curve.points[i];
		const double *expected = &sample->risk_points[5 * i];
		check(sample->name, point->threshold, expected[0]);
		check(sample->name, point->coverage, expected[1]);
		check(sample->name, point->risk, expected[2]);
		check(sample->name, point->low, expected[3]);
		check(sample->name, point->high, expected[4]);
	}
	assert_int_equal(curve.points[curve.count - 1].cases, sample->count);
}

static void test_risk(void **state)
{
	(void)state;
	with_samples(check_risk);
}

static void check_binned(const struct sample *sample, const struct outcome *outcomes, struct arena *arena)
{
	struct err_detail detail = { "" };
	struct binned_part *parts;
	struct binned_error error;
	size_t count;
	check_err(binned_equal_mass(outcomes, sample->count, BINS, arena, &parts, &count, &detail), &detail);
	assert_int_equal(count * 9, sample->bins_numbers);
	for (size_t i = 0; i < count; i++) {
		const double *expected = &sample->bins[9 * i];
		const double found[] = { parts[i].first,      parts[i].last,	  (double)parts[i].cases,
					 parts[i].weight,     parts[i].effective, parts[i].accuracy,
					 parts[i].confidence, parts[i].low,	  parts[i].high };
		for (size_t j = 0; j < COUNT(found); j++)
			check(sample->name, found[j], expected[j]);
	}
	binned_error_of(parts, count, &error);
	assert_true(error.squared.set);
	const double found[] = { error.expected, error.debiased, error.squared.value, error.low, error.high };
	for (size_t j = 0; j < COUNT(found); j++)
		check(sample->name, found[j], sample->errors[j]);
}

static void test_binned(void **state)
{
	(void)state;
	with_samples(check_binned);
}

/* Scores as log odds, three cases that are neighbours in a group. */
static void check_nearby(const struct sample *sample, const struct outcome *outcomes, struct arena *arena)
{
	struct nearby_case *cases = ARENA_ARRAY(arena, struct nearby_case, sample->count);
	bool backwards = false;
	for (size_t i = 0; i < sample->count; i++)
		backwards |= outcomes[i].score != sample->scores[i];
	for (size_t i = 0; i < sample->count; i++) {
		double score = fmin(outcomes[i].score, 0.999);
		cases[i] = (struct nearby_case){ log(score / (1 - score)), outcomes[i].weight,
						 (backwards ? sample->count - 1 - i : i) / 3,
						 outcomes[i].correct };
	}
	for (size_t i = 0; i < COUNT(places); i++) {
		const struct nearby found = nearby_at(cases, sample->count, places[i]);
		check(sample->name, found.shift, sample->nearby[2 * i]);
		check(sample->name, found.variance, sample->nearby[2 * i + 1]);
	}
}

static void test_nearby(void **state)
{
	(void)state;
	with_samples(check_nearby);
}

/* Cases of a group are one case, whose label is their mean; far ones are none; without any an interval at 95
 * % reaches from every value to even odds. */
static void test_nearby_groups(void **state)
{
	struct nearby_case cases[40];
	(void)state;
	for (size_t i = 0; i < 40; i++)
		cases[i] = (struct nearby_case){ 2, 1, i / 10, i < 30 };
	const struct nearby grouped = nearby_at(cases, 40, 2);
	for (size_t i = 0; i < 4; i++)
		cases[i] = (struct nearby_case){ 2, 1, i, i < 3 };
	const struct nearby alone = nearby_at(cases, 4, 2);
	check("a group", grouped.shift, alone.shift);
	check("a group", grouped.variance, alone.variance);
	assert_true(alone.shift < 0);
	const struct nearby far = nearby_at(cases, 4, 3), none = nearby_at(NULL, 0, 3);
	check("far", far.shift, 0);
	check("far", far.variance, nearby_prior(3));
	assert_memory_equal(&far, &none, sizeof far);
	for (double odds = -20; odds <= 20; odds++)
		assert_true(1.96 * sqrt(nearby_prior(odds)) >= 0.97 * fabs(odds));
	/* all wrong where the map is all but sure */
	for (size_t i = 0; i < 40; i++)
		cases[i] = (struct nearby_case){ 30, 1e6, i, false };
	const struct nearby wrong = nearby_at(cases, 40, 30);
	assert_true(wrong.shift < -30 && wrong.variance > 0 && isfinite(wrong.shift));
}

static void check_venn_abers(const struct sample *sample, const struct outcome *outcomes, struct arena *arena)
{
	struct err_detail detail = { "" };
	struct venn_abers *predictor;
	check_err(venn_abers_fit(outcomes, sample->count, arena, &predictor, &detail), &detail);
	for (size_t i = 0; i < COUNT(queries); i++) {
		struct venn_abers_interval found = venn_abers_predict(predictor, queries[i]);
		double low = sample->venn_abers[2 * i], high = sample->venn_abers[2 * i + 1];
		check(sample->name, found.low, low);
		check(sample->name, found.high, high);
		check(sample->name, found.value, high / (1 - low + high));
	}
}

static void test_venn_abers(void **state)
{
	(void)state;
	with_samples(check_venn_abers);
}

static void check_platt(const struct sample *sample, const struct outcome *outcomes, struct arena *arena)
{
	struct err_detail detail = { "" };
	struct platt platt;
	double low, high;
	(void)arena;
	check_err(platt_fit(outcomes, sample->count, &platt, &detail), &detail);
	const double found[] = { platt.slope, platt.intercept, platt.variance_slope, platt.variance_intercept,
				 platt.covariance };
	for (size_t j = 0; j < COUNT(found); j++)
		check(sample->name, found[j], sample->platt[j]);
	double value = platt_value(&platt, 0.5, &low, &high);
	check(sample->name, log(value / (1 - value)), platt.slope * 0.5 + platt.intercept);
	check(sample->name, (log(high / (1 - high)) - log(low / (1 - low))) / 2,
	      1.959963984540054 *
		      sqrt(platt.variance_intercept + platt.covariance + 0.25 * platt.variance_slope));
}

static void test_platt(void **state)
{
	(void)state;
	with_samples(check_platt);
}

static void test_logistic(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(regressions); i++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		const struct logistic_problem *problem = &regressions[i].problem;
		const double halves[] = { 0.5, 0.5, 0.5 };
		struct err_detail detail = { "" };
		struct logistic_model model, again;
		double deviation;
		check_err(logistic_fit(problem, arena, &model, &detail), &detail);
		for (size_t j = 0; j <= problem->columns; j++)
			check(regressions[i].name, model.coefficients[j], regressions[i].found[j]);
		const double *rest = &regressions[i].found[problem->columns + 1];
		check(regressions[i].name, model.loss, rest[0]);
		check(regressions[i].name, logistic_log_odds(&model, halves, &deviation), rest[1]);
		check(regressions[i].name, deviation, rest[2]);
		check_err(logistic_fit(problem, arena, &again, &detail), &detail);
		assert_memory_equal(model.coefficients, again.coefficients,
				    (problem->columns + 1) * sizeof(double));
	}
}

static void test_cusum(void **state)
{
	static const double shifts[] = { 0.3, 0.6, 1.0 };
	(void)state;
	for (size_t i = 0; i < COUNT(samples); i++)
		for (size_t j = 0; j < COUNT(shifts); j++) {
			struct cusum cusum = { 0 };
			for (size_t k = 0; k < samples[i].count; k++)
				cusum_add(&cusum, shifts[j], fmin(samples[i].scores[k], 0.999),
					  samples[i].labels[k], 1000 + (int64_t)k);
			for (size_t side = 0; side < CUSUM_SIDES; side++) {
				const struct cusum_sum *sum = &cusum.sides[side];
				const double *expected = &samples[i].cusum[(j * CUSUM_SIDES + side) * 3];
				check(samples[i].name, sum->value, expected[0]);
				check(samples[i].name, (double)sum->cases, expected[1]);
				check(samples[i].name, sum->residual, expected[2]);
				assert_int_equal(sum->since_ms,
						 sum->cases ? 1000 + (int64_t)samples[i].count - sum->cases
							    : 0);
			}
		}
}

static void test_cusum_threshold(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cusum_thresholds); i += 3)
		check("threshold", cusum_threshold(cusum_thresholds[i], cusum_thresholds[i + 1]),
		      cusum_thresholds[i + 2]);
}

/* A forecast of 0 or 1 that was wrong is no end of the world; what is no forecast is none. */
static void test_cusum_edges(void **state)
{
	struct cusum cusum = { 0 };
	(void)state;
	cusum_add(&cusum, 0.6, 1, false, 5);
	check("certain and wrong", cusum.sides[CUSUM_LOWER].value, 0.6);
	check("certain and wrong", cusum.sides[CUSUM_HIGHER].value, 0);
	cusum_add(&cusum, 0.6, 1, true, 6);
	check("certain and right", cusum.sides[CUSUM_LOWER].value, 0.6);
	cusum_add(&cusum, 0.6, 0, true, 7);
	check("impossible and right", cusum.sides[CUSUM_HIGHER].value, 0.6);
	check("impossible and right", cusum.sides[CUSUM_LOWER].value, 0);
	struct cusum before = cusum;
	cusum_add(&cusum, 0.6, NAN, true, 8);
	cusum_add(&cusum, 0.6, 1.0001, true, 8);
	cusum_add(&cusum, 0.6, -0.1, true, 8);
	assert_memory_equal(&before, &cusum, sizeof cusum);
}

/* ---- bounds ---- */

static void test_refused(void **state)
{
	static const struct {
		const char *name;
		struct outcome outcomes[2];
		size_t count;
	} cases[] = {
		{ "none", { { 0.5, 1, true } }, 0 },
		{ "no score", { { NAN, 1, true }, { 0.5, 1, false } }, 2 },
		{ "a vast score", { { 0.5, 1, true }, { 1e7, 1, false } }, 2 },
		{ "an infinite score", { { 0.5, 1, true }, { -INFINITY, 1, false } }, 2 },
		{ "no weight", { { 0.5, 1, true }, { 0.5, 0, false } }, 2 },
		{ "a negative weight", { { 0.5, -1, true }, { 0.5, 1, false } }, 2 },
		{ "a weight that is none", { { 0.5, NAN, true }, { 0.5, 1, false } }, 2 },
		{ "a vast weight", { { 0.5, 1e13, true }, { 0.5, 1, false } }, 2 },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		const struct outcome *outcomes = cases[i].outcomes;
		struct err_detail detail = { "" };
		struct discrimination discrimination;
		struct binned_part *parts;
		struct venn_abers *predictor;
		struct platt platt;
		size_t n = cases[i].count, count;
		const err_t found[] = {
			discrimination_of(outcomes, n, &discrimination, &detail),
			binned_equal_mass(outcomes, n, BINS, arena, &parts, &count, &detail),
			venn_abers_fit(outcomes, n, arena, &predictor, &detail),
			platt_fit(outcomes, n, &platt, &detail),
		};
		for (size_t j = 0; j < COUNT(found); j++)
			if (found[j] != ERR_SAMPLES || !*detail.message)
				fail_msg("%s, function %zu", cases[i].name, j);
	}
}

static void test_one_kind(void **state)
{
	static const struct outcome outcomes[] = { { 0.2, 1, true }, { 0.4, 1, true }, { 0.4, 2, true } };
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct err_detail detail = { "" };
	struct discrimination discrimination;
	struct binned_part *parts;
	struct venn_abers *predictor;
	struct platt platt;
	size_t count;
	(void)state;
	assert_int_equal(discrimination_of(outcomes, 3, &discrimination, &detail), ERR_SAMPLES);
	assert_int_equal(binned_equal_mass(outcomes, 3, 0, arena, &parts, &count, &detail), ERR_SAMPLES);
	check_err(binned_equal_mass(outcomes, 3, 5, arena, &parts, &count, &detail), &detail);
	assert_int_equal(count, 2);
	check_err(platt_fit(outcomes, 3, &platt, &detail), &detail);
	double value = platt_value(&platt, 0.4, NULL, NULL);
	assert_true(value > 0.7 && value < 0.9); /* 5/6: labels of one kind are no certainty */
	check_err(venn_abers_fit(outcomes, 3, arena, &predictor, &detail), &detail);
	struct venn_abers_interval found = venn_abers_predict(predictor, 0.4);
	check("low", found.low, 0.8);
	check("high", found.high, 1);
	found = venn_abers_predict(predictor, 0.1);
	check("low", found.low, 0);
	static const struct outcome same[] = { { 0.4, 1, true }, { 0.4, 1, false } };
	assert_int_equal(platt_fit(same, 2, &platt, &detail), ERR_SAMPLES);
}

/* All that is above, all that is below: no certainty either. */
static void test_perfect(void **state)
{
	static const struct outcome outcomes[] = {
		{ 0.2, 1, false }, { 0.3, 1, false }, { 0.8, 1, true }, { 0.9, 1, true }
	};
	struct err_detail detail = { "" };
	struct discrimination found;
	(void)state;
	check_err(discrimination_of(outcomes, 4, &found, &detail), &detail);
	check("auroc", found.auroc, 1);
	assert_true(found.low > 0.2 && found.low < 0.5);
	check("high", found.high, 1);
	check_err(discrimination_of(&outcomes[1], 2, &found, &detail), &detail);
	check("low of one and one", found.low, 0);
}

static void test_threshold_for_accuracy(void **state)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct outcome_group groups[] = { { 0.3, 100, 30, 70, 30, 70 },
					  { 0.7, 100, 90, 10, 90, 10 },
					  { 0.9, 100, 99, 1, 99, 1 } };
	struct risk_curve curve;
	(void)state;
	discrimination_risk_curve(groups, 3, arena, &curve);
	assert_true(discrimination_find(&curve, 0.9, 20)->threshold == 0.7);
	assert_true(discrimination_find(&curve, 0.93, 20)->threshold == 0.9);
	assert_true(discrimination_find(&curve, 0.5, 20)->threshold == 0.3);
	assert_null(discrimination_find(&curve, 0.99, 20));
	assert_null(discrimination_find(&curve, 0.5, 301));
}

static void test_regression_refused(void **state)
{
	static const double features[] = { 1, 2, 3, 4 }, vast[] = { 1, 2, 1e9, 4 }, nothing[] = { 0, 0 },
			    half[] = { 0.5, 0.5 }, negative[] = { 0, -1 }, no_weight[] = { 1, 1, 0, 1 };
	static const bool labels[] = { false, false, true, true }, alike[4] = { true, true, true, true };
	static const struct {
		const char *name;
		struct logistic_problem problem;
	} cases[] = {
		{ "no rows", { features, labels, NULL, 0, 1, half, NULL } },
		{ "too many features", { features, labels, NULL, 1, LOGISTIC_COLUMNS_MAX + 1, half, NULL } },
		{ "a vast feature", { vast, labels, NULL, 4, 1, half, NULL } },
		{ "a negative penalty", { features, labels, NULL, 4, 1, negative, NULL } },
		{ "a weight of nothing", { features, labels, no_weight, 4, 1, half, NULL } },
		{ "a vast prior", { features, labels, NULL, 4, 1, half, vast + 1 } },
		{ "separable without penalty", { features, labels, NULL, 4, 1, nothing, NULL } },
		{ "one kind without penalty", { features, alike, NULL, 4, 1, nothing, NULL } },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		struct err_detail detail = { "" };
		struct logistic_model model;
		if (logistic_fit(&cases[i].problem, arena, &model, &detail) != ERR_SAMPLES)
			fail_msg("%s", cases[i].name);
	}
}

/* The interval of the error covers the truth: of streams that are calibrated, and of such that are not. */
static void test_error_coverage(void **state)
{
	enum { STREAMS = 400, CASES = 400, SIZE = 10 };
	static const double offs[] = { 0, 0.05, 0.15 };
	uint64_t seed = 1;
	(void)state;
	for (size_t k = 0; k < COUNT(offs); k++) {
		int covered = 0;
		for (int stream = 0; stream < STREAMS; stream++) {
			_cleanup_(arena_cleanup) struct arena *arena = arena_new();
			struct outcome *outcomes = ARENA_ARRAY(arena, struct outcome, CASES);
			struct err_detail detail = { "" };
			struct binned_part *parts;
			struct binned_error error;
			size_t count;
			for (int i = 0; i < CASES; i++) {
				double score = 0.2 + 0.07 * (i % SIZE);
				seed = seed * 6364136223846793005u + 1442695040888963407u;
				double u = (double)(seed >> 11) / 9007199254740992.0;
				outcomes[i] = (struct outcome){ score, 1, u < score - offs[k] };
			}
			check_err(binned_equal_mass(outcomes, CASES, SIZE, arena, &parts, &count, &detail),
				  &detail);
			binned_error_of(parts, count, &error);
			covered += error.low <= offs[k] && offs[k] <= error.high;
			assert_true(error.debiased <= error.expected);
		}
		if (covered < STREAMS * 95 / 100)
			fail_msg("off by %.2f: covered in %d of %d", offs[k], covered, STREAMS);
	}
}

static void test_clamp(void **state)
{
	static const struct {
		double probability, clamped;
	} cases[] = {
		{ 0, 1e-6 },  { 1e-9, 1e-6 },	      { 2e-6, 2e-6 },
		{ 0.5, 0.5 }, { 1 - 1e-9, 1 - 1e-6 }, { 1, 1 - 1e-6 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_true(outcomes_clamp(cases[i].probability) == cases[i].clamped);
}

/* Against tables of its quantiles. */
static void test_student(void **state)
{
	static const struct {
		double t;
		int degrees;
		double tail;
	} cases[] = {
		{ 0, 19, 0.5 },
		{ 1, 1, 0.25 },
		{ 12.706204736432095, 1, 0.025 },
		{ 3.182446305284263, 3, 0.025 },
		{ 1.729132811521367, 19, 0.05 },
		{ 2.093024054408263, 19, 0.025 },
		{ 3.883405852592082, 19, 0.0005 },
		{ -2.093024054408263, 19, 0.975 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (fabs(student_tail(cases[i].t, cases[i].degrees) - cases[i].tail) > 1e-9)
			fail_msg("t %.3f, %d degrees: %.12f", cases[i].t, cases[i].degrees,
				 student_tail(cases[i].t, cases[i].degrees));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_student),
		cmocka_unit_test(test_clamp),
		cmocka_unit_test(test_auroc),
		cmocka_unit_test(test_risk),
		cmocka_unit_test(test_binned),
		cmocka_unit_test(test_nearby),
		cmocka_unit_test(test_nearby_groups),
		cmocka_unit_test(test_venn_abers),
		cmocka_unit_test(test_platt),
		cmocka_unit_test(test_logistic),
		cmocka_unit_test(test_cusum),
		cmocka_unit_test(test_cusum_threshold),
		cmocka_unit_test(test_cusum_edges),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_one_kind),
		cmocka_unit_test(test_perfect),
		cmocka_unit_test(test_threshold_for_accuracy),
		cmocka_unit_test(test_regression_refused),
		cmocka_unit_test(test_error_coverage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
