/*
 * Evidence for a candidate: which labels tell of it, which of them to questions that it knows, and that the
 * order in which they are given does not matter.
 */
#include "calibration/model/evidence.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "calibration/statistics/outcomes.h"
#include "tests/harness/fixtures/streams.h"

enum { LABELS = 5000 };

static struct model_example examples[LABELS];
static double values[LABELS][FEATURE_COUNT_];

/* Answers to so many questions in turn, right the more likely the more anchors they have; `together` of them
 * come at one time. */
static void draw(size_t questions, size_t together)
{
	uint64_t seed = 11;
	for (size_t i = 0; i < LABELS; i++) {
		size_t question = i % questions;
		double anchors = floor(4 * stream_uniform(&seed));
		values[i][FEATURE_QUESTION_LENGTH] = 1 + (double)(question % 40) / 10;
		values[i][FEATURE_QUESTION_NAMES] = (double)(question / 40) / 10;
		values[i][FEATURE_ANCHORS] = anchors;
		examples[i] = (struct model_example){
			.item = { .segment = { STR("shop"), STR("m"), STR("1") },
				  .overall = opt_double(0.5),
				  .features = values[i] },
			.scored_at_ms = 1000 + (int64_t)(i / together),
			.question = question + 1,
			.weight = 1,
			.correct = stream_uniform(&seed) < outcomes_sigmoid(2 * (anchors - 1.5)),
		};
		memcpy(examples[i].id, &i, sizeof i);
	}
}

static const struct model_options OPTIONS = { .kind = MODEL_FEATURES };

static struct model *fit(size_t count)
{
	struct model *model = NULL;
	assert_int_equal(model_fit(examples, count, &OPTIONS, &model, NULL), ERR_OK);
	return model;
}

/* By `count` labels, of which the candidate has four fifths and the current model `known` (0: there is none).
 */
static struct model_evidence find(size_t count, size_t known, struct arena *arena)
{
	struct model_evidence evidence;
	struct model *candidate = fit(count - count / 5), *current = known ? fit(known) : NULL;
	assert_int_equal(
		model_evidence_from(candidate, current, examples, count, &OPTIONS, arena, &evidence, NULL),
		ERR_OK);
	model_unref(candidate);
	model_unref(current);
	return evidence;
}

static void test_which_labels_tell(void **state)
{
	static const struct {
		const char *what;
		size_t count, known, told;
	} cases[] = {
		{ "of few, all but the first fifth", 500, 0, 400 },
		{ "the first part is too small to learn from", 65, 0, 39 },
		{ "of many, what came after the span", 5000, 0, 1000 },
		{ "parts that have less than the current model are left out", 500, 250, 200 },
		{ "the current model has as much as a part", 500, 200, 300 },
		{ "it has more than the candidate", 500, 450, 50 },
	};
	(void)state;
	draw(LABELS, 1);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct arena *arena = arena_new();
		const struct model_evidence evidence = find(cases[i].count, cases[i].known, arena);
		if (evidence.count != cases[i].told)
			fail_msg("%s: %zu tell", cases[i].what, evidence.count);
		assert_int_equal(evidence.units, evidence.count);
		assert_true(evidence.known == 0);
		arena_free(arena);
	}
}

/* What came at one time is on one side. */
static void test_one_time_is_on_one_side(void **state)
{
	(void)state;
	struct arena *arena = arena_new();
	struct model_evidence evidence;
	draw(LABELS, 70);
	struct model *candidate = fit(420); /* the parts begin at 140, 210, 350 */
	assert_int_equal(
		model_evidence_from(candidate, NULL, examples, 500, &OPTIONS, arena, &evidence, NULL),
		ERR_OK);
	assert_int_equal(evidence.count, 500 - 140);
	model_unref(candidate);
	arena_free(arena);
}

/* Answers to one question are one unit; the candidate and its parts know the questions that came back. */
static void test_questions_that_are_known(void **state)
{
	(void)state;
	struct arena *arena = arena_new();
	draw(50, 1);
	struct model_evidence evidence = find(500, 0, arena);
	assert_true(evidence.count == 400 && evidence.units == 50 && evidence.known == 1);
	for (size_t i = 1; i < evidence.count; i++)
		assert_true(evidence.gains[i].unit == evidence.gains[i - 1].unit ||
			    evidence.gains[i].unit == evidence.gains[i - 1].unit + 1);
	draw(250, 1); /* those of the first half come again */
	evidence = find(500, 0, arena);
	assert_true(evidence.count == 400 && evidence.units == 250);
	assert_true(evidence.known > 0.6 && evidence.known < 0.65);
	/* the current model knows them, too: it is met by all that the candidate knows */
	evidence = find(500, 250, arena);
	assert_true(evidence.count == 200 && evidence.known == 0);
	arena_free(arena);
}

/* The candidate's own part: new questions are met by all that it knows, known ones by less. */
static void test_known_questions_are_left_out(void **state)
{
	static const size_t QUESTIONS[] = { LABELS, 40 };
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct arena *arena = arena_new();
		struct model_evidence evidence;
		draw(QUESTIONS[i], 1);
		struct model *candidate = fit(4000);
		const struct model_evidence all = model_evidence_of(candidate, NULL, examples, LABELS, arena);
		assert_int_equal(model_evidence_from(candidate, NULL, examples, LABELS, &OPTIONS, arena,
						     &evidence, NULL),
				 ERR_OK);
		assert_true(evidence.count == 1000 && all.count == 1000 && all.known == 0);
		assert_true(evidence.known == (i == 0 ? 0 : 1));
		assert_true((fabs(evidence.own - all.sum) < 1e-9) == (i == 0));
		assert_true(evidence.own > 20 && all.sum > 20);
		model_unref(candidate);
		arena_free(arena);
	}
}

static void test_order_does_not_matter(void **state)
{
	(void)state;
	struct arena *arena = arena_new();
	uint64_t seed = 3;
	draw(150, 1);
	struct model *candidate = fit(400);
	struct model_evidence evidence[2];
	for (size_t turn = 0; turn < 2; turn++) {
		assert_int_equal(model_evidence_from(candidate, NULL, examples, 500, &OPTIONS, arena,
						     &evidence[turn], NULL),
				 ERR_OK);
		for (size_t i = 500; i-- > 1;) {
			size_t j = (size_t)(stream_uniform(&seed) * (double)(i + 1));
			struct model_example example = examples[i];
			examples[i] = examples[j];
			examples[j] = example;
		}
	}
	assert_true(evidence[0].sum == evidence[1].sum && evidence[0].own == evidence[1].own);
	for (size_t i = 0; i < evidence[0].count; i++)
		assert_memory_equal(&evidence[0].gains[i], &evidence[1].gains[i], sizeof *evidence[0].gains);
	model_unref(candidate);
	arena_free(arena);
}

static void test_stops(void **state)
{
	(void)state;
	struct arena *arena = arena_new();
	_Atomic bool stopping = true;
	const struct model_options options = { .kind = MODEL_FEATURES, .stopping = &stopping };
	struct model_evidence evidence;
	draw(LABELS, 1);
	struct model *candidate = fit(400);
	assert_int_equal(
		model_evidence_from(candidate, NULL, examples, 500, &options, arena, &evidence, NULL),
		ERR_SHUTTING_DOWN);
	model_unref(candidate);
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_which_labels_tell),
		cmocka_unit_test(test_one_time_is_on_one_side),
		cmocka_unit_test(test_questions_that_are_known),
		cmocka_unit_test(test_known_questions_are_left_out),
		cmocka_unit_test(test_order_does_not_matter),
		cmocka_unit_test(test_stops),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
