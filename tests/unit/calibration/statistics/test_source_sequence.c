/* Drift against a source's own past: false alarms and delays in simulated streams, the same in every run. */
#include "calibration/statistics/source_sequence.h"

#include "tests/harness/fixtures/long_run.h"
#include "tests/harness/fixtures/streams.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { STREAMS = 200, STABLE = 5000, AFTER = 3000 };

/* ---- streams ---- */

/* How often those of a confidence are right. */
static double as_said(double confidence)
{
	return confidence;
}

static double thirty_points_lower(double confidence)
{
	return fmax(0.05, confidence - 0.3);
}

static double always_a_third(double confidence)
{
	(void)confidence;
	return 0.36;
}

static double steeper(double confidence)
{
	double within = fmin(fmax(confidence, 1e-6), 1 - 1e-6);
	return 1 / (1 + exp(1 - 2.5 * log(within / (1 - within))));
}

static double nearly_always(double confidence)
{
	return confidence > 0.6 ? 0.97 : 0.85;
}

static const struct accuracy {
	const char *name;
	double (*of)(double confidence);
	double direction; /* in which there is room for 20 points; 0: for many cases there is none */
} accuracies[] = {
	{ "calibrated", as_said, -1 },		{ "30 points lower", thirty_points_lower, 1 },
	{ "a third", always_a_third, 1 },	{ "steeper", steeper, 0 },
	{ "nearly always", nearly_always, -1 },
};

struct stream {
	const struct stream_shape *shape;
	const struct accuracy *accuracy;
	uint64_t seed;
};

static enum sequence_change next_case(struct source_sequence *sequence, struct stream *stream,
				      double threshold, double drift, int64_t time_ms)
{
	double confidence = stream->shape->next(&stream->seed);
	bool correct = stream_uniform(&stream->seed) < stream->accuracy->of(confidence) + drift;
	int bin = confidence >= 1 ? SOURCE_BINS - 1 : (int)(confidence * SOURCE_BINS);
	return source_sequence_add(sequence, threshold, bin, correct, time_ms);
}

/* ---- false alarms ---- */

static size_t false_alarms(struct stream stream, double threshold)
{
	size_t alarms = 0;
	for (size_t i = 0; i < STREAMS; i++) {
		struct source_sequence sequence = { 0 };
		for (int64_t j = 0; j < STABLE; j++)
			next_case(&sequence, &stream, threshold, 0, j);
		alarms += (size_t)sequence.changes;
	}
	return alarms;
}

/* Whatever confidence says, as long as it says the same. From the first case on: learning is in it. */
static void test_false_alarms(void **state)
{
	double allowed = STABLE * STREAMS / 1e4;
	size_t all = 0, streams = 0;
	(void)state;
	for (size_t i = 0; i < COUNT(stream_shapes); i++)
		for (size_t j = i % whole_or(1, 5); j < COUNT(accuracies); j += whole_or(1, 5)) {
			struct stream stream = { &stream_shapes[i], &accuracies[j], 1000 * i + j };
			size_t alarms = false_alarms(stream, source_sequence_threshold(1));
			print_message("%s, %s: %zu false alarms, %.0f allowed\n", stream_shapes[i].name,
				      accuracies[j].name, alarms, allowed);
			if ((double)alarms > allowed)
				fail_msg("%s, %s: %zu false alarms, %.0f allowed", stream_shapes[i].name,
					 accuracies[j].name, alarms, allowed);
			all += alarms;
			streams++;
		}
	if ((double)all < allowed * (double)streams / 5)
		fail_msg("%zu false alarms: the threshold is too high", all);
}

/* ---- delays ---- */

static int by_value(const void *a, const void *b)
{
	size_t left = *(const size_t *)a, right = *(const size_t *)b;
	return (left > right) - (left < right);
}

struct change {
	int before;   /* cases */
	double drift; /* points, without direction */
	int ramp;     /* cases until it is complete */
};

/* Cases from the change until the episode opens; AFTER: it never did. False alarms are not counted. */
static size_t delay_of(struct stream *stream, const struct change *change)
{
	struct source_sequence sequence = { 0 };
	double threshold = source_sequence_threshold(1), direction = stream->accuracy->direction;
	for (int i = 0; i < change->before + AFTER; i++) {
		int since = i - change->before;
		double share = since < 0 ? 0 : since < change->ramp ? (double)since / change->ramp : 1;
		if (next_case(&sequence, stream, threshold, share * direction * change->drift, i) !=
		    SEQUENCE_OPENS)
			continue;
		if (since >= 0 && (sequence.drift.stretch.residual < 0) == (direction < 0))
			return (size_t)since + 1;
	}
	return AFTER;
}

static void test_delays(void **state)
{
	static const struct {
		struct change change;
		size_t median, noticed; /* at most, at least */
	} limits[] = {
		{ { 500, 0.20, 0 }, 100, 195 },	   { { 500, 0.20, 200 }, 250, 195 },
		{ { 3000, 0.20, 0 }, 100, 195 },   { { 3000, 0.20, 1000 }, 750, 195 },
		{ { 500, 0.10, 0 }, 500, 120 },	   { { 3000, 0.10, 0 }, 250, 195 },
		{ { 3000, 0.10, 200 }, 400, 195 }, { { 6000, 0.05, 0 }, 1500, 120 },
	};
	size_t delays[STREAMS];
	(void)state;
	for (size_t i = 0; i < COUNT(limits); i++)
		for (size_t j = i % whole_or(1, 4); j < COUNT(stream_shapes) * COUNT(accuracies);
		     j += whole_or(1, 4)) {
			struct stream stream = { &stream_shapes[j % COUNT(stream_shapes)],
						 &accuracies[j / COUNT(stream_shapes)], 100 * i + j };
			size_t noticed = 0;
			if (stream.accuracy->direction == 0)
				continue;
			for (size_t k = 0; k < STREAMS; k++) {
				delays[k] = delay_of(&stream, &limits[i].change);
				noticed += delays[k] < AFTER;
			}
			qsort(delays, STREAMS, sizeof *delays, by_value);
			print_message("%s, %s, %.2f over %d after %d: after %zu cases, %zu noticed\n",
				      stream.shape->name, stream.accuracy->name, limits[i].change.drift,
				      limits[i].change.ramp, limits[i].change.before, delays[STREAMS / 2],
				      noticed);
			if (delays[STREAMS / 2] > limits[i].median || noticed < limits[i].noticed)
				fail_msg("%s, %s, drift of %.2f: after %zu cases, noticed in %zu of %d",
					 stream.shape->name, stream.accuracy->name, limits[i].change.drift,
					 delays[STREAMS / 2], noticed, STREAMS);
		}
}

/* ---- episodes ---- */

static int64_t sum(const int64_t counts[SOURCE_BINS])
{
	int64_t total = 0;
	for (int i = 0; i < SOURCE_BINS; i++)
		total += counts[i];
	return total;
}

/* What stays changed becomes what is expected. */
static void test_a_change_that_stays(void **state)
{
	struct source_sequence sequence = { 0 };
	struct stream stream = { &stream_shapes[2], &accuracies[0], 1 };
	double threshold = source_sequence_threshold(1);
	int64_t opened = -1, closed = -1;
	(void)state;
	for (int64_t i = 0; i < 6000; i++) {
		enum sequence_change change =
			next_case(&sequence, &stream, threshold, i < 2000 ? 0 : -0.3, i);
		if (change == SEQUENCE_OPENS) {
			assert_int_equal(opened, -1);
			opened = i;
			assert_int_equal(sequence.drift.stretch.direction, DRIFT_OVERCONFIDENT);
			assert_true(sequence.drift.stretch.since_ms > 1950 &&
				    sequence.drift.stretch.since_ms < 2050);
		}
		if (change == SEQUENCE_CLOSES)
			closed = i;
		if (i == opened + SOURCE_SETTLED - 1 && opened >= 0)
			assert_true(fabs(drift_stretch_size(&sequence.drift.stretch) + 0.3) < 0.05);
	}
	assert_true(opened >= 2000 && opened < 2100);
	assert_int_equal(closed, opened + SOURCE_SETTLED);
	assert_int_equal(sequence.changes, 1);
	assert_int_equal(sum(sequence.since.cases), 0);
	assert_int_equal(sum(sequence.past.cases), 6000 - 1 - opened);
}

/* What comes back is what it was before. */
static void test_a_change_that_goes(void **state)
{
	struct source_sequence sequence = { 0 };
	struct stream stream = { &stream_shapes[0], &accuracies[2], 1 };
	double threshold = source_sequence_threshold(1);
	int64_t closed = -1;
	(void)state;
	for (int64_t i = 0; i < 2500; i++)
		if (next_case(&sequence, &stream, threshold, i >= 2000 && i < 2200 ? 0.5 : 0, i) ==
		    SEQUENCE_CLOSES)
			closed = i;
	assert_int_equal(sequence.changes, 1);
	assert_int_equal(sequence.drift.stretch.direction, DRIFT_UNDERCONFIDENT);
	assert_true(closed >= 2200 && closed < 2400);
	assert_false(sequence.drift.open);
	assert_true(sum(sequence.past.cases) > 2050); /* as it was, and it grows on */
}

/* Other questions than before: more of low confidence, and those of each confidence are right as ever. */
static void test_another_mix_is_no_change(void **state)
{
	struct source_sequence sequence = { 0 };
	double threshold = source_sequence_threshold(1);
	uint64_t seed = 77;
	(void)state;
	for (int64_t i = 0; i < 4000; i++) {
		bool high = stream_uniform(&seed) < (i < 2000 ? 0.95 : 0.1);
		source_sequence_add(&sequence, threshold, high ? 9 : 2,
				    stream_uniform(&seed) < (high ? 0.9 : 0.3), i);
	}
	assert_int_equal(sequence.changes, 0);
}

/* ---- forecasts ---- */

static void test_forecasts(void **state)
{
	struct source_sequence sequence = { 0 };
	(void)state;
	assert_true(isnan(source_sequence_forecast(&sequence, 3)));
	sequence.past.cases[3] = 99;
	assert_true(isnan(source_sequence_forecast(&sequence, 3)));
	sequence.past.cases[4] = 1;
	sequence.past.correct[4] = 1;
	assert_true(isnan(source_sequence_forecast(&sequence, 4)));
	/* (0 + 2 · 2/102) / (99 + 2) */
	assert_true(fabs(source_sequence_forecast(&sequence, 3) - 4.0 / 102 / 101) < 1e-15);
	sequence.past.cases[4] = sequence.past.correct[4] = 20;
	/* (20 + 2 · 21/121) / 22 */
	assert_true(fabs(source_sequence_forecast(&sequence, 4) - (20 + 42.0 / 121) / 22) < 1e-15);
}

/* The past is not learnt from for ever. */
static void test_the_past_ends(void **state)
{
	struct source_sequence sequence = { 0 };
	(void)state;
	for (int64_t i = 0; i < 3 * SOURCE_PAST_MAX; i++)
		source_sequence_add(&sequence, INFINITY, (int)(i % SOURCE_BINS), i % 3 == 0, i);
	assert_int_equal(sum(sequence.past.cases), SOURCE_PAST_MAX);
	assert_int_equal(sequence.changes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_false_alarms),
		cmocka_unit_test(test_delays),
		cmocka_unit_test(test_a_change_that_stays),
		cmocka_unit_test(test_a_change_that_goes),
		cmocka_unit_test(test_another_mix_is_no_change),
		cmocka_unit_test(test_forecasts),
		cmocka_unit_test(test_the_past_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
