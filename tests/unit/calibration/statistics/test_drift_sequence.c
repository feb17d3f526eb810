/* Drift as a sequence: false alarms and delays in simulated streams, the same in every run. */
#include "calibration/statistics/drift_sequence.h"

#include "avro/scored_query.h"
#include "calibration/drift/drift.h"

#include "tests/harness/fixtures/streams.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { STREAMS = 200, BEFORE = 500, AFTER = 5000, RAMP = 200 };

/* ---- streams ---- */

static bool outcome(uint64_t *seed, double forecast, double drift)
{
	return stream_uniform(seed) < forecast + drift;
}

/* ---- false alarms ---- */

static size_t false_alarms(const struct stream_shape *shape, double threshold, size_t cases, uint64_t seed)
{
	size_t alarms = 0;
	for (size_t stream = 0; stream < STREAMS; stream++) {
		struct drift_sequence sequence = { 0 };
		for (size_t i = 0; i < cases; i++) {
			double forecast = shape->next(&seed);
			if (drift_sequence_add(&sequence, threshold, forecast, outcome(&seed, forecast, 0),
					       1) != SEQUENCE_OPENS)
				continue;
			alarms++;
			sequence = (struct drift_sequence){ 0 };
		}
	}
	return alarms;
}

static void test_false_alarms(void **state)
{
	static const double rates[] = { 1, 10 };
	(void)state;
	for (size_t i = 0; i < COUNT(rates); i++)
		for (size_t j = 0; j < COUNT(stream_shapes); j++) {
			size_t cases = rates[i] < 5 ? 10000 : 2000;
			size_t alarms = false_alarms(&stream_shapes[j], drift_sequence_threshold(rates[i]),
						     cases, 1000 * i + j);
			double allowed = rates[i] * (double)cases * STREAMS / 1e4;
			print_message("%s: %zu false alarms, %.0f allowed\n", stream_shapes[j].name, alarms,
				      allowed);
			if ((double)alarms > allowed)
				fail_msg("%s: %zu false alarms, %.0f allowed", stream_shapes[j].name, alarms,
					 allowed);
			if ((double)alarms < allowed / 10)
				fail_msg("%s: %zu false alarms, %.0f allowed: the threshold is too high",
					 stream_shapes[j].name, alarms, allowed);
		}
}

/* ---- delays ---- */

static int by_value(const void *a, const void *b)
{
	size_t left = *(const size_t *)a, right = *(const size_t *)b;
	return (left > right) - (left < right);
}

/* Cases from the change until the episode opens; AFTER: it never did. False alarms are not counted. */
static size_t delay_of(const struct stream_shape *shape, double drift, size_t ramp, uint64_t *seed)
{
	struct drift_sequence sequence = { 0 };
	double threshold = drift_sequence_threshold(1);
	for (size_t i = 0; i < BEFORE + AFTER; i++) {
		double forecast = shape->next(seed), share = 0;
		if (i >= BEFORE)
			share = i - BEFORE < ramp ? (double)(i - BEFORE) / (double)ramp : 1;
		enum sequence_change change = drift_sequence_add(
			&sequence, threshold, forecast, outcome(seed, forecast, share * drift), (int64_t)i);
		if (change != SEQUENCE_OPENS)
			continue;
		if (i >= BEFORE && (sequence.stretch.residual < 0) == (drift < 0)) {
			assert_int_equal(sequence.stretch.direction,
					 drift < 0 ? DRIFT_OVERCONFIDENT : DRIFT_UNDERCONFIDENT);
			return i - BEFORE + 1;
		}
		sequence = (struct drift_sequence){ 0 };
	}
	return AFTER;
}

static size_t median_delay(const struct stream_shape *shape, double drift, size_t ramp, uint64_t seed,
			   size_t *ret_noticed)
{
	size_t delays[STREAMS];
	*ret_noticed = 0;
	for (size_t stream = 0; stream < STREAMS; stream++) {
		delays[stream] = delay_of(shape, drift, ramp, &seed);
		*ret_noticed += delays[stream] < AFTER;
	}
	qsort(delays, STREAMS, sizeof *delays, by_value);
	return delays[STREAMS / 2];
}

static void test_delays(void **state)
{
	static const struct {
		double drift;
		size_t abrupt, slow; /* the median may be this */
		size_t noticed;	     /* at least, of those after an abrupt change */
	} limits[] = { { 0.20, 100, 250, STREAMS }, { 0.10, 300, 450, STREAMS }, { 0.05, 1500, 1600, 180 } };
	(void)state;
	for (size_t i = 0; i < COUNT(limits); i++)
		for (size_t j = 0; j < COUNT(stream_shapes); j++)
			for (int sign = -1; sign <= (stream_shapes[j].may_rise ? 1 : -1); sign += 2) {
				double drift = sign * limits[i].drift;
				size_t noticed, slowly_noticed;
				uint64_t seed = 100 * i + 10 * j + (sign > 0);
				size_t abrupt = median_delay(&stream_shapes[j], drift, 0, seed, &noticed);
				size_t slow =
					median_delay(&stream_shapes[j], drift, RAMP, seed, &slowly_noticed);
				print_message("%s, %+.2f: after %zu and %zu cases, %zu and %zu noticed\n",
					      stream_shapes[j].name, drift, abrupt, slow, noticed,
					      slowly_noticed);
				if (abrupt > limits[i].abrupt || slow > limits[i].slow ||
				    noticed < limits[i].noticed || slowly_noticed < limits[i].noticed)
					fail_msg("%s, drift of %.2f: after %zu and %zu cases, noticed in "
						 "%zu and %zu of %d",
						 stream_shapes[j].name, drift, abrupt, slow, noticed,
						 slowly_noticed, STREAMS);
			}
}

/* ---- band scores of windows ---- */

static void count_case(struct calibration_cells *cells, double confidence, bool correct)
{
	int level = confidence >= 0.9	? LEVEL_HIGH
		    : confidence >= 0.7 ? LEVEL_MEDIUM
		    : confidence >= 0.5 ? LEVEL_LOW
					: LEVEL_VERY_LOW;
	int bin = confidence >= 1 ? CALIBRATION_BINS - 1 : (int)(confidence * CALIBRATION_BINS);
	double error = confidence - correct;
	const struct calibration_sums sums = { 1, 1, 1, correct, confidence, error * error };
	calibration_sums_add(&cells->cells[level][bin], &sums);
}

/* Windows of which one of ten looks while they fill finds drift. */
static size_t windows_that_drift(const struct stream_shape *shape, double drift, size_t cases,
				 size_t *ret_low_scores)
{
	static const struct drift_limits limits = { 0.5, 0.55, 20, 1 };
	size_t found = 0;
	uint64_t seed = cases;
	*ret_low_scores = 0;
	for (size_t stream = 0; stream < STREAMS; stream++) {
		struct calibration_cells cells = { 0 };
		bool drifts = false, low = false;
		for (size_t i = 1; i <= cases; i++) {
			double forecast = shape->next(&seed);
			struct calibration_report report;
			count_case(&cells, forecast, outcome(&seed, forecast, drift));
			if (i % (cases / 10))
				continue;
			calibration_report_make(&cells, limits.min_cases, &report);
			drifts |= drift_judge(&limits, false, &report) == DRIFT_OPENS;
			low |= report.band_score.set && report.band_score.value < limits.opens_below;
		}
		found += drifts;
		*ret_low_scores += low;
	}
	return found;
}

/* Well calibrated sources have low scores, by their shape or by chance; that is no drift of theirs. */
static void test_band_scores(void **state)
{
	static const size_t sizes[] = { 30, 100, 1000 };
	size_t low_scores = 0, low;
	(void)state;
	for (size_t i = 0; i < COUNT(stream_shapes); i++) {
		for (size_t j = 0; j < COUNT(sizes); j++) {
			size_t found = windows_that_drift(&stream_shapes[i], 0, sizes[j], &low);
			if (found > 0)
				fail_msg("%s, %zu cases: %zu windows drift", stream_shapes[i].name, sizes[j],
					 found);
			low_scores += low;
		}
		size_t found = windows_that_drift(&stream_shapes[i], -0.3, 1000, &low);
		if (found < STREAMS * 9 / 10)
			fail_msg("%s, 30 points lower: %zu of %d windows drift", stream_shapes[i].name, found,
				 STREAMS);
	}
	assert_true(low_scores > 300);
}

/* ---- episodes ---- */

/* A change of 30 points opens one episode, which says since when and by how much; back again it closes. */
static void test_an_episode(void **state)
{
	struct drift_sequence sequence = { 0 };
	double threshold = drift_sequence_threshold(1);
	size_t opened = 0, closed = 0;
	uint64_t seed = 4;
	(void)state;
	for (int64_t i = 0; i < 6000; i++) {
		bool drifts = i >= 2000 && i < 4000;
		switch (drift_sequence_add(&sequence, threshold, 0.8, outcome(&seed, 0.8, drifts ? -0.3 : 0),
					   i)) {
		case SEQUENCE_OPENS:
			opened++;
			assert_true(i >= 2000 && i < 2200);
			assert_true(sequence.stretch.since_ms > 1950 && sequence.stretch.since_ms < 2050);
			assert_int_equal(sequence.stretch.since_ms + sequence.stretch.cases, i + 1);
			break;
		case SEQUENCE_CLOSES:
			closed++;
			assert_true(i >= 4000 && i < 4500);
			assert_false(sequence.open);
			assert_true(sequence.cusum.sides[CUSUM_LOWER].value == 0);
			break;
		case SEQUENCE_STAYS:
			break;
		}
		if (i == 3999) {
			assert_true(sequence.open);
			assert_int_equal(sequence.stretch.direction, DRIFT_OVERCONFIDENT);
			assert_true(fabs(drift_stretch_size(&sequence.stretch) + 0.3) < 0.05);
		}
	}
	assert_int_equal(opened, 1);
	assert_int_equal(closed, 1);
}

/* A source that turns from one side to the other: the first episode ends, a second begins. */
static void test_the_other_side(void **state)
{
	struct drift_sequence sequence = { 0 };
	double threshold = drift_sequence_threshold(1);
	(void)state;
	for (int i = 0; i < 100; i++)
		drift_sequence_add(&sequence, threshold, 0.5, false, i);
	assert_true(sequence.open);
	assert_int_equal(sequence.stretch.direction, DRIFT_OVERCONFIDENT);
	assert_int_equal(sequence.stretch.since_ms, 0);
	assert_true(drift_stretch_size(&sequence.stretch) == -0.5);
	for (int i = 100; i < 300; i++)
		drift_sequence_add(&sequence, threshold, 0.5, true, i);
	assert_true(sequence.open);
	assert_int_equal(sequence.stretch.direction, DRIFT_UNDERCONFIDENT);
}

/* What is no forecast is no case. */
static void test_no_forecast(void **state)
{
	struct drift_sequence sequence = { 0 }, before = { 0 };
	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(drift_sequence_add(&sequence, 1, NAN, false, i), SEQUENCE_STAYS);
	assert_memory_equal(&sequence, &before, sizeof sequence);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_false_alarms),   cmocka_unit_test(test_delays),
		cmocka_unit_test(test_band_scores),    cmocka_unit_test(test_an_episode),
		cmocka_unit_test(test_the_other_side), cmocka_unit_test(test_no_forecast),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
