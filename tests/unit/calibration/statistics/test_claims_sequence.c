/* Drift of outcomes against probabilities, alone and beside the test against the past: false alarms and
 * delays in simulated streams, the same in every run. */
#include "calibration/statistics/claims_sequence.h"

#include "calibration/statistics/source_sequence.h"
#include "tests/harness/fixtures/long_run.h"
#include "tests/harness/fixtures/streams.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { STREAMS = 200, STABLE = 5000, AFTER = 3000, LONGEST = 10000 };

/* Both tests of one source, as the daemon has them for one rate. */
struct both {
	struct source_sequence past;
	struct claims_sequence claims;
	struct claim items[LONGEST];
	size_t count;
	double past_threshold, claims_threshold;
	size_t by_past, by_claims; /* alarms */
};

static struct both *both_new(double rate)
{
	struct both *both = calloc(1, sizeof *both);
	assert_non_null(both);
	both->claims = (struct claims_sequence)CLAIMS_SEQUENCE_INIT;
	both->past_threshold = source_sequence_threshold(rate / 2);
	both->claims_threshold = claims_sequence_threshold(rate / 2);
	return both;
}

static void begin(struct both *both)
{
	both->past = (struct source_sequence){ 0 };
	both->claims = (struct claims_sequence)CLAIMS_SEQUENCE_INIT;
	both->count = 0;
}

static enum sequence_change add(struct both *both, double probability, bool correct)
{
	int64_t number = (int64_t)both->count;
	both->items[both->count++] = (struct claim){ { number, 0, number }, probability, correct };
	int bin = probability >= 1 ? SOURCE_BINS - 1 : (int)(probability * SOURCE_BINS);
	enum sequence_change change =
		source_sequence_add(&both->past, both->past_threshold, bin, correct, number);
	both->by_past += change == SEQUENCE_OPENS;
	return change;
}

static struct claims_look look(struct both *both)
{
	size_t first = both->count > CLAIMS_MAX ? both->count - CLAIMS_MAX : 0;
	struct claims_look found = claims_sequence_look(&both->claims, both->claims_threshold,
							both->items + first, both->count - first);
	both->by_claims += found.found;
	return found;
}

/* ---- false alarms ---- */

/* Of both together, from the first case on, however often claims are looked at. */
static void test_false_alarms(void **state)
{
	static const size_t looks[] = { 1000, 100 };
	double allowed = STABLE * STREAMS / 1e4;
	(void)state;
	for (size_t i = 0; i < COUNT(looks); i++)
		for (size_t j = 0; j < COUNT(stream_shapes); j += whole_or(1, 3)) {
			struct both *both = both_new(1);
			uint64_t seed = 10 * i + j;
			for (size_t stream = 0; stream < STREAMS; stream++) {
				begin(both);
				for (size_t k = 1; k <= STABLE; k++) {
					double probability = stream_shapes[j].next(&seed);
					add(both, probability, stream_uniform(&seed) < probability);
					if (k % looks[i] == 0)
						look(both);
				}
			}
			size_t all = both->by_past + both->by_claims;
			print_message("%s: %zu false alarms, %zu and %zu; %.0f allowed\n",
				      stream_shapes[j].name, all, both->by_past, both->by_claims, allowed);
			if ((double)all > allowed)
				fail_msg("%s: %zu false alarms, %.0f allowed", stream_shapes[j].name, all,
					 allowed);
			if (both->by_claims == 0)
				fail_msg("%s: %zu false alarms of claims: the threshold is too high",
					 stream_shapes[j].name, both->by_claims);
			free(both);
		}
}

static int by_place(const void *a, const void *b)
{
	const struct claim *left = a, *right = b;
	return claims_sequence_compare(&left->place, &right->place);
}

/* Labels that come up to 1000 cases late, in whatever order: as feedback does. */
static void test_late_labels(void **state)
{
	enum { LATE = 1000, LOOKS = 100 };
	static struct claim stream[STABLE], known[STABLE], latest[CLAIMS_MAX];
	double threshold = claims_sequence_threshold(0.5), allowed = STABLE * STREAMS / 2e4;
	size_t all = 0;
	(void)state;
	for (size_t i = 0; i < COUNT(stream_shapes); i += whole_or(1, 3)) {
		size_t alarms = 0;
		uint64_t seed = i;
		for (size_t j = 0; j < STREAMS; j++) {
			struct claims_sequence claims = CLAIMS_SEQUENCE_INIT;
			for (int64_t k = 0; k < STABLE; k++) {
				double probability = stream_shapes[i].next(&seed);
				stream[k] =
					(struct claim){ { k, 0, k + (int64_t)(LATE * stream_uniform(&seed)) },
							probability,
							stream_uniform(&seed) < probability };
			}
			for (int64_t now = LOOKS; now <= STABLE + LATE; now += LOOKS) {
				size_t count = 0;
				for (int64_t k = now < STABLE ? now - 1 : STABLE - 1;
				     k >= 0 && count < CLAIMS_MAX; k--)
					if (stream[k].place.offset < now) /* when it is known */
						known[count++] = stream[k];
				memcpy(latest, known, count * sizeof *latest);
				qsort(latest, count, sizeof *latest, by_place);
				alarms += claims_sequence_look(&claims, threshold, latest, count).found;
			}
		}
		print_message("%s, late: %zu false alarms, %.0f allowed\n", stream_shapes[i].name, alarms,
			      allowed);
		if ((double)alarms > allowed)
			fail_msg("%s: %zu false alarms, %.0f allowed", stream_shapes[i].name, alarms,
				 allowed);
		all += alarms;
	}
	if ((double)all < (long_run() ? allowed : 1))
		fail_msg("%zu false alarms: the threshold is too high", all);
}

/* ---- delays ---- */

static int by_value(const void *a, const void *b)
{
	const size_t *left = a, *right = b;
	return (*left > *right) - (*left < *right);
}

/* Cases from the change until one of both opens an episode; AFTER: none did. */
static size_t delay_of(struct both *both, const struct stream_shape *shape, int before, double drift,
		       uint64_t *seed)
{
	enum { LOOKS = 10, LATER_LOOKS = 50 };
	begin(both);
	for (int i = 1 - before; i <= AFTER; i++) {
		double probability = shape->next(seed);
		bool noticed =
			add(both, probability, stream_uniform(seed) < probability + (i > 0 ? drift : 0)) ==
			SEQUENCE_OPENS;
		if (i % (i <= 300 ? LOOKS : LATER_LOOKS) == 0 && (i > 0 || i % 100 == 0))
			noticed |= look(both).found;
		if (noticed && i > 0)
			return (size_t)i;
		if (noticed) { /* a false alarm is not what is measured */
			both->past.drift = (struct drift_sequence){ 0 };
			both->claims = (struct claims_sequence)CLAIMS_SEQUENCE_INIT;
			both->count = 0;
		}
	}
	return AFTER;
}

static void test_delays(void **state)
{
	static const struct {
		int before;
		double drift;
		size_t median, noticed; /* at most, at least */
	} limits[] = {
		{ 50, 0.20, 100, 195 },	 { 500, 0.20, 100, 195 },  { 3000, 0.20, 100, 195 },
		{ 500, 0.10, 300, 190 }, { 3000, 0.10, 300, 195 }, { 3000, 0.05, 2500, 110 },
	};
	size_t delays[STREAMS];
	struct both *both = both_new(1);
	(void)state;
	for (size_t i = 0; i < COUNT(limits); i++)
		for (size_t j = i % whole_or(1, 3); j < COUNT(stream_shapes); j += whole_or(1, 3))
			for (int sign = -1; sign <= (stream_shapes[j].may_rise ? 1 : -1); sign += 2) {
				uint64_t seed = 100 * i + j;
				size_t noticed = 0;
				for (size_t k = 0; k < STREAMS; k++) {
					delays[k] = delay_of(both, &stream_shapes[j], limits[i].before,
							     sign * limits[i].drift, &seed);
					noticed += delays[k] < AFTER;
				}
				qsort(delays, STREAMS, sizeof *delays, by_value);
				print_message("%s, %+.2f after %d: after %zu cases, %zu noticed\n",
					      stream_shapes[j].name, sign * limits[i].drift, limits[i].before,
					      delays[STREAMS / 2], noticed);
				if (delays[STREAMS / 2] > limits[i].median || noticed < limits[i].noticed)
					fail_msg("%s, drift of %+.2f after %d: after %zu cases, noticed in "
						 "%zu of %d",
						 stream_shapes[j].name, sign * limits[i].drift,
						 limits[i].before, delays[STREAMS / 2], noticed, STREAMS);
			}
	free(both);
}

/* ---- episodes ---- */

static size_t make(struct claim *claims, size_t from, size_t count, double probability, double accuracy,
		   uint64_t *seed)
{
	for (size_t i = from; i < from + count; i++)
		claims[i] = (struct claim){ { 1000 + (int64_t)i, 0, 0 },
					    probability,
					    stream_uniform(seed) < accuracy };
	return from + count;
}

/* It opens once, says since when and by how much, and closes when probabilities are right again. */
static void test_an_episode(void **state)
{
	static struct claim claims[1400];
	double threshold = claims_sequence_threshold(0.5);
	struct claims_sequence sequence = CLAIMS_SEQUENCE_INIT;
	uint64_t seed = 3;
	(void)state;
	make(claims, make(claims, make(claims, 0, 500, 0.8, 0.8, &seed), 300, 0.8, 0.5, &seed), 600, 0.8, 0.8,
	     &seed);
	assert_false(claims_sequence_look(&sequence, threshold, claims, 500).moved);
	struct claims_look found = claims_sequence_look(&sequence, threshold, claims, 700);
	assert_true(found.found && found.moved && sequence.open);
	assert_int_equal(found.stretch.direction, DRIFT_OVERCONFIDENT);
	assert_true(found.stretch.since_ms > 1450 && found.stretch.since_ms < 1550);
	assert_int_equal(found.stretch.since_ms, sequence.since_ms);
	assert_int_equal(found.stretch.cases, 1700 - found.stretch.since_ms);
	assert_true(fabs(drift_stretch_size(&found.stretch) + 0.3) < 0.1);
	/* the same again, and more of it */
	found = claims_sequence_look(&sequence, threshold, claims, 700);
	assert_true(!found.found && !found.moved && sequence.open);
	found = claims_sequence_look(&sequence, threshold, claims + 100, 700);
	assert_true(!found.found && sequence.open);
	found = claims_sequence_look(&sequence, threshold, claims + 400, 1000);
	assert_true(!found.found && found.moved && !sequence.open);
	int64_t end = sequence.after.scored_at_ms;
	assert_true(end > 1800 && end < 2200);
	assert_int_equal(found.stretch.cases, end - sequence.since_ms + 1); /* all of them are still there */
	assert_false(claims_sequence_look(&sequence, threshold, claims + 400, 1000).moved);
}

/* However its claims are cut into looks it comes to the same, as long as they reach back far enough. */
static void test_looks_do_not_matter(void **state)
{
	static struct claim claims[CLAIMS_MAX];
	double threshold = claims_sequence_threshold(0.5);
	uint64_t seed = 9;
	(void)state;
	make(claims, make(claims, make(claims, 0, 300, 0.7, 0.7, &seed), 200, 0.7, 0.4, &seed), 500, 0.7, 0.7,
	     &seed);
	struct claims_sequence once = CLAIMS_SEQUENCE_INIT;
	struct claims_look found = claims_sequence_look(&once, threshold, claims, CLAIMS_MAX);
	assert_true(found.found && !once.open); /* it came and went */
	assert_true(found.stretch.cases > 0);
	for (size_t step = 1; step < 200; step += 7) {
		struct claims_sequence often = CLAIMS_SEQUENCE_INIT;
		size_t changes = 0;
		for (size_t count = 0; count < CLAIMS_MAX; count += step)
			changes += claims_sequence_look(&often, threshold, claims, count).found;
		changes += claims_sequence_look(&often, threshold, claims, CLAIMS_MAX).found;
		assert_int_equal(changes, 1);
		assert_memory_equal(&often, &once, sizeof once);
	}
}

/* A version that is wrong by as much as the one before it is found by what was wrong of both; one that is
 * right ends what was found of the one before. */
static void test_versions_of_the_model(void **state)
{
	static struct claim claims[1000];
	double threshold = claims_sequence_threshold(0.5);
	uint64_t seed = 5;
	(void)state;
	size_t first = make(claims, 0, 60, 0.9, 0.7, &seed);
	struct claims_sequence sequence = CLAIMS_SEQUENCE_INIT, alone = CLAIMS_SEQUENCE_INIT;
	size_t second = make(claims, first, 60, 0.8, 0.6, &seed);
	assert_false(claims_sequence_look(&sequence, threshold, claims, first).found);
	assert_false(claims_sequence_look(&alone, threshold, claims + first, second - first).found);
	assert_true(claims_sequence_look(&sequence, threshold, claims, second).found);
	assert_true(sequence.open);
	size_t third = make(claims, second, 300, 0.65, 0.65, &seed);
	assert_true(claims_sequence_look(&sequence, threshold, claims, third).moved);
	assert_false(sequence.open);
}

/* Nothing is open of which no claim is left. */
static void test_no_claims(void **state)
{
	struct claims_sequence sequence = CLAIMS_SEQUENCE_INIT;
	struct claims_look found = claims_sequence_look(&sequence, 5, NULL, 0);
	(void)state;
	assert_true(!found.found && !found.moved && found.stretch.cases == 0);
	sequence.open = true;
	found = claims_sequence_look(&sequence, 5, NULL, 0);
	assert_true(!found.found && found.moved && !sequence.open);
}

static void test_places(void **state)
{
	static const struct claim_place places[] = { { 1, 5, 9 }, { 2, 0, 7 }, { 2, 0, 8 }, { 2, 1, 0 } };
	(void)state;
	for (size_t i = 0; i < COUNT(places); i++)
		for (size_t j = 0; j < COUNT(places); j++)
			assert_int_equal(claims_sequence_compare(&places[i], &places[j]), (i > j) - (i < j));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_false_alarms),
		cmocka_unit_test(test_late_labels),
		cmocka_unit_test(test_delays),
		cmocka_unit_test(test_an_episode),
		cmocka_unit_test(test_looks_do_not_matter),
		cmocka_unit_test(test_versions_of_the_model),
		cmocka_unit_test(test_no_claims),
		cmocka_unit_test(test_places),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
