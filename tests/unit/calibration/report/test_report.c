/* Calibration report: figures computed by hand. */
#include "calibration/report/report.h"

#include "avro/scored_query.h"
#include "calibration/statistics/outcomes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NEAR 1e-9

/* Cases of one level with one confidence. */
struct portion {
	int level;
	double confidence;
	int cases;
	int correct;
	double weight; /* of each; 0: 1 */
};

static void add_portion(struct calibration_cells *cells, const struct portion *portion)
{
	double weight = portion->weight > 0 ? portion->weight : 1;
	double n = portion->cases, correct = portion->correct, c = portion->confidence;
	int bin = c >= 1 ? 9 : (int)(c * 10);
	struct calibration_sums sums = {
		.cases = portion->cases,
		.weight = n * weight,
		.weight_squared = n * weight * weight,
		.weight_correct = correct * weight,
		.weight_confidence = n * weight * c,
		.weight_squared_error = weight * (correct * (c - 1) * (c - 1) + (n - correct) * c * c),
	};
	calibration_sums_add(&cells->cells[portion->level][bin], &sums);
}

#define PORTIONS 4

static struct calibration_report make(const struct portion portions[PORTIONS])
{
	struct calibration_cells cells = { 0 };
	struct calibration_report report;
	for (int i = 0; i < PORTIONS; i++)
		if (portions[i].cases)
			add_portion(&cells, &portions[i]);
	calibration_report_make(&cells, 20, &report);
	return report;
}

struct band_case {
	const char *name;
	struct portion portions[PORTIONS];
	bool has_score;
	double score;
	const char *interpretation;
};

static const struct band_case band_cases[] = {
	{ "well calibrated",
	  { { LEVEL_HIGH, 0.95, 20, 19, 0 },
	    { LEVEL_MEDIUM, 0.75, 15, 12, 0 },
	    { LEVEL_LOW, 0.55, 10, 4, 0 } },
	  true,
	  0.91666666666666667,
	  "well calibrated" },
	{ "poorly calibrated and overconfident",
	  { { LEVEL_HIGH, 0.95, 20, 10, 0 },
	    { LEVEL_MEDIUM, 0.75, 15, 8, 0 },
	    { LEVEL_LOW, 0.55, 10, 5, 0 } },
	  true,
	  0.15,
	  "poorly calibrated; overconfident: high confidence is not reliable" },
	{ "no case", { { 0 } }, false, 0, "insufficient data (need ≥ 20 cases)" },
	{ "one case too few",
	  { { LEVEL_HIGH, 0.95, 19, 19, 0 } },
	  false,
	  0,
	  "insufficient data (need ≥ 20 cases)" },
	{ "just enough cases", { { LEVEL_HIGH, 0.95, 20, 19, 0 } }, true, 1, "well calibrated" },
	{ "all wrong: not below zero",
	  { { LEVEL_HIGH, 0.95, 20, 0, 0 } },
	  true,
	  0,
	  "poorly calibrated; overconfident: high confidence is not reliable" },
	{ "high group on its bound", { { LEVEL_HIGH, 0.95, 20, 15, 0 } }, true, 0.4, "poorly calibrated" },
	{ "high group just below its bound",
	  { { LEVEL_HIGH, 0.95, 100, 74, 0 } },
	  true,
	  0.37,
	  "poorly calibrated; overconfident: high confidence is not reliable" },
	{ "score on the bound of moderate",
	  { { LEVEL_VERY_LOW, 0.1, 60, 25, 0 } },
	  true,
	  0.5,
	  "moderately calibrated" },
	{ "score on the bound of well", { { LEVEL_LOW, 0.6, 60, 31, 0 } }, true, 0.8, "well calibrated" },
	{ "weights count",
	  { { LEVEL_HIGH, 0.95, 10, 10, 1 }, { LEVEL_VERY_LOW, 0.1, 10, 0, 4 } },
	  true,
	  0.37,
	  "poorly calibrated" },
	{ "weights do not make cases",
	  { { LEVEL_HIGH, 0.95, 19, 19, 100 } },
	  false,
	  0,
	  "insufficient data (need ≥ 20 cases)" },
};

static void test_band_score(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof band_cases / sizeof *band_cases; i++) {
		const struct band_case *item = &band_cases[i];
		struct calibration_report report = make(item->portions);
		char text[128];
		calibration_interpretation(&report, text, sizeof text);
		if (report.band_score.set != item->has_score ||
		    fabs(report.band_score.value - item->score) > NEAR ||
		    strcmp(text, item->interpretation) != 0)
			fail_msg("%s: score %.12f, \"%s\"", item->name, report.band_score.value, text);
	}
}

/*
 * Bin 9: n 4, c̄ 0.9, ō 0.75; bin 2: n 6, c̄ 0.2, ō 0.5. ō of all 0.6.
 * ECE (4·0.15 + 6·0.3)/10, reliability (4·0.0225 + 6·0.09)/10, resolution (4·0.0225 + 6·0.01)/10.
 * Brier (3·0.01 + 1·0.81 + 3·0.64 + 3·0.04)/10; confidences are constant within bins: no residual.
 */
static void test_brier_score_and_errors(void **state)
{
	(void)state;
	const struct portion portions[PORTIONS] = { { LEVEL_HIGH, 0.9, 4, 3, 0 },
						    { LEVEL_VERY_LOW, 0.2, 6, 3, 0 } };
	struct calibration_report report = make(portions);
	assert_float_equal(report.expected_error.value, 0.24, NEAR);
	assert_false(report.maximum_error.set); /* of so few cases */
	assert_float_equal(report.reliability.value, 0.063, NEAR);
	assert_float_equal(report.resolution.value, 0.015, NEAR);
	assert_float_equal(report.uncertainty.value, 0.24, NEAR);
	assert_float_equal(report.brier.value, 0.288, NEAR);
	assert_float_equal(report.residual.value, 0, NEAR);
	assert_float_equal(report.accuracy.value, 0.6, NEAR);
	assert_float_equal(report.confidence.value, 0.48, NEAR);
}

/* Bin 9 of 20 cases: |0.9 − 0.75|; bin 2 of 19 is further off and says nothing. */
static void test_largest_error_of_bins_with_enough_cases(void **state)
{
	(void)state;
	const struct portion portions[PORTIONS] = { { LEVEL_HIGH, 0.9, 20, 15, 0 },
						    { LEVEL_VERY_LOW, 0.2, 19, 19, 0 } };
	struct calibration_report report = make(portions);
	assert_true(report.maximum_error.set);
	assert_float_equal(report.maximum_error.value, 0.15, NEAR);
}

/* Two confidences in one bin, 0.91 always right and 0.99 always wrong: Brier (0.0081 + 0.9801)/2, reliability
 * (0.95 − 0.5)², uncertainty 0.25; the residual is what bins hide. */
static void test_residual_within_bins(void **state)
{
	(void)state;
	const struct portion portions[PORTIONS] = { { LEVEL_HIGH, 0.91, 1, 1, 0 },
						    { LEVEL_HIGH, 0.99, 1, 0, 0 } };
	struct calibration_report report = make(portions);
	assert_float_equal(report.brier.value, 0.4941, NEAR);
	assert_float_equal(report.reliability.value, 0.2025, NEAR);
	assert_float_equal(report.resolution.value, 0, NEAR);
	assert_float_equal(report.uncertainty.value, 0.25, NEAR);
	assert_float_equal(report.residual.value, 0.0416, NEAR);
}

static void test_nothing_is_claimed_without_cases(void **state)
{
	(void)state;
	const struct portion portions[PORTIONS] = { { 0 } };
	struct calibration_report report = make(portions);
	assert_false(report.accuracy.set);
	assert_false(report.expected_error.set);
	assert_false(report.maximum_error.set);
	assert_false(report.brier.set);
	assert_false(report.residual.set);
	assert_int_equal(report.bins[3].cases, 0);
}

static void test_bins_and_groups(void **state)
{
	(void)state;
	const struct portion portions[PORTIONS] = { { LEVEL_HIGH, 0.95, 10, 8, 0 },
						    { LEVEL_HIGH, 1.0, 10, 10, 0 },
						    { LEVEL_LOW, 0.55, 4, 1, 2 } };
	struct calibration_report report = make(portions);
	assert_int_equal(report.cases, 24);
	assert_float_equal(report.weight, 28, NEAR);
	assert_int_equal(report.bins[9].cases, 20);
	assert_float_equal(report.bins[9].accuracy, 0.9, NEAR);
	assert_float_equal(report.bins[9].confidence, 0.975, NEAR);
	assert_int_equal(report.bins[5].cases, 4);
	assert_float_equal(report.bins[5].weight, 8, NEAR);
	assert_int_equal(report.groups[LEVEL_HIGH].cases, 20);
	assert_int_equal(report.groups[LEVEL_MEDIUM].cases, 0);
	assert_float_equal(report.groups[LEVEL_LOW].accuracy, 0.25, NEAR);
}

static void test_wilson_interval(void **state)
{
	(void)state;
	/* Newcombe 1998, table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29 */
	static const struct {
		double correct, cases, low, high;
	} cases[] = {
		{ 81, 263, 0.2553, 0.3662 }, { 15, 148, 0.0624, 0.1605 }, { 0, 20, 0.0, 0.1611 },
		{ 1, 29, 0.0061, 0.1718 },   { 20, 20, 0.8389, 1.0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		double low, high;
		outcomes_wilson(cases[i].correct / cases[i].cases, cases[i].cases, &low, &high);
		assert_float_equal(low, cases[i].low, 5e-5);
		assert_float_equal(high, cases[i].high, 5e-5);
	}
}

/* Equal weights, whatever they are, leave the interval as it is. */
static void test_interval_over_effective_cases(void **state)
{
	(void)state;
	const struct portion light[PORTIONS] = { { LEVEL_LOW, 0.55, 29, 1, 1 } };
	const struct portion heavy[PORTIONS] = { { LEVEL_LOW, 0.55, 29, 1, 10 } };
	struct calibration_report a = make(light), b = make(heavy);
	assert_float_equal(a.bins[5].low, b.bins[5].low, NEAR);
	assert_float_equal(a.bins[5].high, b.bins[5].high, NEAR);
	assert_float_equal(a.bins[5].high, 0.1718, 5e-5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_band_score),
		cmocka_unit_test(test_brier_score_and_errors),
		cmocka_unit_test(test_residual_within_bins),
		cmocka_unit_test(test_largest_error_of_bins_with_enough_cases),
		cmocka_unit_test(test_nothing_is_claimed_without_cases),
		cmocka_unit_test(test_bins_and_groups),
		cmocka_unit_test(test_wilson_interval),
		cmocka_unit_test(test_interval_over_effective_cases),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
