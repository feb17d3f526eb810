/* What rankings say of cases, against counting pairs and cases one by one. */
#include "calibration/report/ranking.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MANY = 2000 };

/* cmocka compares floats, which have seven digits. */
static void expect_near(double figure, double expected)
{
	if (!(fabs(figure - expected) <= 1e-9))
		fail_msg("%.17g instead of %.17g", figure, expected);
}

/* Of all pairs of a correct and a wrong case; equal ones count half. */
static double auroc_of_pairs(const struct outcome *outcomes, size_t count)
{
	double wins = 0, pairs = 0;
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; outcomes[i].correct && j < count; j++) {
			double weight = outcomes[i].weight * outcomes[j].weight;
			if (outcomes[j].correct)
				continue;
			pairs += weight;
			wins += outcomes[i].score > outcomes[j].score	 ? weight
				: outcomes[i].score == outcomes[j].score ? weight / 2
									 : 0;
		}
	return wins / pairs;
}

static double share_right(const struct outcome *outcomes, size_t count, double from, double *ret_coverage)
{
	double right = 0, above = 0, all = 0;
	for (size_t i = 0; i < count; i++) {
		all += outcomes[i].weight;
		if (outcomes[i].score < from - 1e-9)
			continue;
		above += outcomes[i].weight;
		right += outcomes[i].correct ? outcomes[i].weight : 0;
	}
	*ret_coverage = above / all;
	return right / above;
}

/* Right the likelier, the higher the score; every score twice. */
static struct outcome *make(struct arena *arena, bool weighted)
{
	struct outcome *outcomes = ARENA_ARRAY(arena, struct outcome, MANY);
	unsigned short seed[3] = { 2, 7, 1 };
	for (int i = 0; i < MANY; i++) {
		double score = (i / 2 + 0.5) / (MANY / 2.0);
		outcomes[i] = (struct outcome){ score, weighted ? (double)(1 + nrand48(seed) % 4) : 1,
						erand48(seed) < score };
	}
	return outcomes;
}

/* The report of these cases. */
static struct calibration_report report_of(const struct outcome *outcomes, size_t count)
{
	struct calibration_cells cells = { 0 };
	struct calibration_report report;
	for (size_t i = 0; i < count; i++) {
		double weight = outcomes[i].weight, error = outcomes[i].score - outcomes[i].correct;
		int bin = (int)fmin(9, floor(outcomes[i].score * 10));
		calibration_sums_add(&cells.cells[bin > 6][bin],
				     &(const struct calibration_sums){
					     .cases = 1,
					     .weight = weight,
					     .weight_squared = weight * weight,
					     .weight_correct = outcomes[i].correct ? weight : 0,
					     .weight_confidence = weight * outcomes[i].score,
					     .weight_squared_error = weight * error * error,
				     });
	}
	calibration_report_make(&cells, 20, &report);
	return report;
}

static struct ranking rank(const struct outcome *outcomes, size_t count, double wish, struct arena *arena)
{
	struct ranking ranking;
	assert_int_equal(ranking_of_cases(RANKING_PROBABILITY, outcomes, count, wish, arena, &ranking, NULL),
			 ERR_OK);
	return ranking;
}

/* ---- figures ---- */

static void test_single_cases(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	for (int weighted = 0; weighted < 2; weighted++) {
		const struct outcome *outcomes = make(arena, weighted);
		const struct ranking ranking = rank(outcomes, MANY, RANKING_WISH, arena);
		double coverage;
		assert_int_equal(ranking.cases, MANY);
		assert_true(ranking.both_kinds && !ranking.by_tenths);
		expect_near(ranking.discrimination.auroc, auroc_of_pairs(outcomes, MANY));
		assert_int_equal(ranking.bins_count, RANKING_BINS);
		assert_true(ranking.error.debiased < ranking.error.expected);
		assert_true(ranking.error.low == 0 && ranking.error.high < 0.1);
		expect_near(ranking.accuracies[RANKING_COVERAGES - 1],
			    share_right(outcomes, MANY, 0, &coverage));
		/* half of the cases of weight 1 are those from 0.5 on */
		if (!weighted)
			expect_near(ranking.accuracies[2], share_right(outcomes, MANY, 0.5, &coverage));
		assert_true(ranking.risk_area > 0.1 && ranking.risk_area < 0.25);
	}
}

static void test_tenths(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct outcome *outcomes = make(arena, false);
	const struct calibration_report report = report_of(outcomes, MANY);
	struct ranking ranking;
	double coverage;
	ranking_of_report(&report, RANKING_WISH, arena, &ranking);
	assert_true(ranking.by_tenths && ranking.score == RANKING_OVERALL);
	assert_int_equal(ranking.cases, MANY);
	assert_int_equal(ranking.bins_count, CALIBRATION_BINS);
	expect_near(ranking.error.expected, report.expected_error.value);
	/* three quarters are those from 0.25 on: half of their lowest tenth */
	double lower, from_3 = share_right(outcomes, MANY, 0.3, &coverage);
	double from_2 = share_right(outcomes, MANY, 0.2, &lower);
	expect_near(ranking.accuracies[3], (from_3 * 0.7 + from_2 * 0.8) / 2 / 0.75);
	for (int i = 0; i < MANY; i++)
		outcomes[i].score = fmin(0.9, floor(outcomes[i].score * 10) / 10);
	expect_near(ranking.discrimination.auroc, auroc_of_pairs(outcomes, MANY));
	expect_near(ranking.threshold.point.threshold, 0.9);
	expect_near(1 - ranking.threshold.point.risk, share_right(outcomes, MANY, 0.9, &coverage));
	expect_near(ranking.threshold.point.coverage, coverage);
}

static void test_one_kind_tells_nothing(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct outcome outcomes[100];
	struct ranking ranking;
	for (int i = 0; i < 100; i++)
		outcomes[i] = (struct outcome){ i / 100.0, 1, true };
	ranking = rank(outcomes, 100, RANKING_WISH, arena);
	assert_false(ranking.both_kinds);
	expect_near(ranking.risk_area, 0);
	expect_near(ranking.accuracies[0], 1);
	const struct calibration_report report = report_of(outcomes, 100);
	ranking_of_report(&report, RANKING_WISH, arena, &ranking);
	assert_false(ranking.both_kinds);
	expect_near(ranking.accuracies[0], 1);
	struct err_detail detail = { "" };
	assert_int_equal(
		ranking_of_cases(RANKING_OVERALL, outcomes, 0, RANKING_WISH, arena, &ranking, &detail),
		ERR_SAMPLES);
	outcomes[7].score = NAN;
	assert_int_equal(
		ranking_of_cases(RANKING_OVERALL, outcomes, 100, RANKING_WISH, arena, &ranking, &detail),
		ERR_SAMPLES);
}

/* ---- thresholds ---- */

/* The lowest hundredth whose interval keeps the wish, by trying all of them. */
static void test_threshold_is_the_lowest(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	const struct outcome *outcomes = make(arena, false);
	static const double wishes[] = { 0.6, 0.75, 0.9 };
	for (size_t i = 0; i < 3; i++) {
		const struct ranking_threshold found = rank(outcomes, MANY, wishes[i], arena).threshold;
		double lowest = 2, coverage, low, high;
		for (int hundredth = 99; hundredth >= 0; hundredth--) {
			double right = share_right(outcomes, MANY, hundredth / 100.0, &coverage);
			outcomes_wilson(right, coverage * MANY, &low, &high);
			if (low >= wishes[i])
				lowest = hundredth / 100.0;
		}
		assert_true(found.found);
		expect_near(found.point.threshold, lowest);
		assert_true(found.point.low >= wishes[i]);
		expect_near(1 - found.point.risk, share_right(outcomes, MANY, lowest, &coverage));
		expect_near(found.point.coverage, coverage);
	}
}

/* As many right cases as it takes, one fewer, and one that is wrong. */
static void test_threshold_from_the_interval(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	static const double wishes[] = { 0.5, 0.9, 0.95 };
	static const int64_t least[] = { 20, 35, 73 };
	struct outcome outcomes[100];
	for (size_t i = 0; i < 3; i++) {
		size_t count = (size_t)least[i];
		assert_int_equal(ranking_least_cases(wishes[i]), least[i]);
		for (size_t j = 0; j < count; j++)
			outcomes[j] = (struct outcome){ 0.83, 1, true };
		struct ranking_threshold threshold = rank(outcomes, count, wishes[i], arena).threshold;
		assert_true(threshold.found);
		expect_near(threshold.point.threshold, 0.83);
		threshold = rank(outcomes, count - 1, wishes[i], arena).threshold;
		assert_false(threshold.found);
		outcomes[0].correct = false;
		threshold = rank(outcomes, count, 0.95, arena).threshold;
		assert_false(threshold.found);
		assert_int_equal(threshold.point.cases, count);
		assert_true(threshold.point.low < 0.95);
	}
	assert_int_equal(ranking_least_cases(0.999), 3838);
}

/* A score that is written with two digits is at its own threshold. */
static void test_thresholds_are_hundredths(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct outcome outcomes[40];
	char text[8];
	for (int hundredth = 0; hundredth <= 100; hundredth++) {
		snprintf(text, sizeof text, "%.2f", hundredth / 100.0);
		for (int i = 0; i < 40; i++)
			outcomes[i] = (struct outcome){ strtod(text, NULL), 1, true };
		expect_near(rank(outcomes, 40, 0.9, arena).threshold.point.threshold, hundredth / 100.0);
		for (int i = 0; hundredth < 100 && i < 40; i++)
			outcomes[i].score += 0.0099;
		expect_near(rank(outcomes, 40, 0.9, arena).threshold.point.threshold, hundredth / 100.0);
	}
}

/* Of scores that say nothing, where 88 of 100 are right: 90 % is found at one of a hundred thresholds in few
 * streams. */
static void test_thresholds_of_chance_are_rare(void **state)
{
	(void)state;
	enum { STREAMS = 400, CASES = 1000 };
	unsigned short seed[3] = { 8, 1, 3 };
	static struct outcome outcomes[CASES];
	int found = 0;
	for (int stream = 0; stream < STREAMS; stream++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		for (int i = 0; i < CASES; i++)
			outcomes[i] = (struct outcome){ erand48(seed), 1, erand48(seed) < 0.88 };
		found += rank(outcomes, CASES, 0.9, arena).threshold.found;
	}
	if (found > STREAMS * 6 / 100)
		fail_msg("%d of %d", found, STREAMS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_single_cases),
		cmocka_unit_test(test_tenths),
		cmocka_unit_test(test_one_kind_tells_nothing),
		cmocka_unit_test(test_threshold_is_the_lowest),
		cmocka_unit_test(test_threshold_from_the_interval),
		cmocka_unit_test(test_thresholds_are_hundredths),
		cmocka_unit_test(test_thresholds_of_chance_are_rare),
	};
	return cmocka_run_group_tests_name("ranking", tests, NULL, NULL);
}
