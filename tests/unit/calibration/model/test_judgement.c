/*
 * Judgements: when one is due, what proves a model and what refutes it, and that all judgements of a model
 * together err as seldom as is promised.
 */
#include "calibration/model/judgement.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "calibration/statistics/outcomes.h"
#include "tests/harness/fixtures/long_run.h"
#include "tests/harness/fixtures/streams.h"

enum { TAUGHT = 2000, STREAM = 4000 };

static size_t streams(void)
{
	return whole_or(100, 20);
}

static struct model_example examples[TAUGHT + STREAM];

/* What is right how often: in the span, and later. */
struct world {
	double (*taught)(double overall);
	double (*later)(double overall);
	int repeats; /* how often a question comes in a row later */
};

static void draw(const struct world *world, uint64_t seed)
{
	for (size_t i = 0; i < TAUGHT + STREAM; i++) {
		double overall = floor(10 * stream_uniform(&seed)) / 10;
		double truth = i < TAUGHT ? world->taught(overall) : world->later(overall);
		struct model_example example = { .item = { .segment = { STR("shop"), STR("m"), STR("1") },
							   .overall = opt_double(overall) },
						 .scored_at_ms = (int64_t)i,
						 .weight = 1,
						 .correct = stream_uniform(&seed) < truth };
		if (i > TAUGHT && i % (size_t)world->repeats != 0) {
			example.item.overall = examples[i - 1].item.overall;
			example.correct = examples[i - 1].correct;
		}
		memcpy(example.id, &i, sizeof i);
		examples[i] = example;
	}
}

static struct model *learn(void)
{
	struct model *model = NULL;
	const struct model_options options = { .kind = MODEL_MAP };
	assert_int_equal(model_fit(examples, TAUGHT, &options, &model, NULL), ERR_OK);
	return model;
}

static double tells(double overall)
{
	return outcomes_sigmoid(6 * (overall - 0.45));
}

static double tells_nothing(double overall)
{
	(void)overall;
	return 0.6;
}

/* The calibration error of what is taught is about 0.1 then. */
static double tells_less(double overall)
{
	return fmax(tells(overall) - 0.1, 0);
}

static double tells_extremes(double overall)
{
	return outcomes_sigmoid(2.45 * (overall - 0.45));
}

static double tells_opposite(double overall)
{
	return 1 - tells(overall);
}

/* ---- when ---- */

static void test_waits_for_labels(void **state)
{
	(void)state;
	const struct world world = { tells, tells, 1 };
	struct model_judgement last = { 0 };
	draw(&world, 1);
	assert_false(model_judgement_is_due(&last, MODEL_MAP, examples, TAUGHT, TAUGHT));
	assert_false(model_judgement_is_due(&last, MODEL_MAP, examples, TAUGHT, TAUGHT + 199));
	assert_true(model_judgement_is_due(&last, MODEL_MAP, examples, TAUGHT, TAUGHT + 200));
	assert_false(model_judgement_is_due(&last, MODEL_FEATURES, examples, TAUGHT, TAUGHT + 200));
	/* the first one by too few does not count */
	struct model *model = learn();
	assert_int_equal(model_judge(model, &last, examples + TAUGHT, 80, &last, NULL), ERR_OK);
	assert_true(last.looks.count == 0 && last.looks.labels == 80 && !last.proven);
	assert_false(model_judgement_is_due(&last, MODEL_MAP, examples, TAUGHT, TAUGHT + 199));
	assert_true(model_judgement_is_due(&last, MODEL_MAP, examples, TAUGHT, TAUGHT + 200));
	assert_int_equal(model_judge(model, &last, examples + TAUGHT, 200, &last, NULL), ERR_OK);
	assert_true(last.looks.count == 1 && last.looks.labels == 200);
	assert_false(model_judgement_is_due(&last, MODEL_MAP, examples, TAUGHT, TAUGHT + 399));
	assert_true(model_judgement_is_due(&last, MODEL_MAP, examples, TAUGHT, TAUGHT + 400));
	assert_int_equal(model_judge(model, &last, examples + TAUGHT, 1, &last, NULL), ERR_SAMPLES);
	model_unref(model);
}

/* ---- what it takes ---- */

/* Judges as the learner does, whenever a hundred labels more are there: after how many it is proven; 0:
 * never. */
static size_t proven_after(const struct model *model, struct model_judgement *ret_last)
{
	struct model_judgement last = { 0 };
	size_t first = 0;
	for (size_t later = 100; later <= STREAM; later += 100) {
		if (!model_judgement_is_due(&last, MODEL_MAP, examples, TAUGHT, TAUGHT + later))
			continue;
		assert_int_equal(model_judge(model, &last, examples + TAUGHT, later, &last, NULL), ERR_OK);
		if (last.proven && first == 0)
			first = later;
	}
	*ret_last = last;
	return first;
}

struct tally {
	size_t proven, at_last, latest;
	int64_t looks;
};

static struct tally judge_streams(const char *what, const struct world *world)
{
	struct tally tally = { 0 };
	for (uint64_t seed = 0; seed < streams(); seed++) {
		struct model_judgement last;
		draw(world, 7919 * (seed + 1));
		struct model *model = learn();
		size_t after = proven_after(model, &last);
		tally.proven += after > 0;
		tally.at_last += last.proven;
		tally.latest = after > tally.latest ? after : tally.latest;
		tally.looks = last.looks.count;
		model_unref(model);
	}
	print_message(
		"%s: %zu of %zu proven, the latest after %zu labels, %zu in the end (%lld judgements)\n",
		what, tally.proven, streams(), tally.latest, tally.at_last, (long long)tally.looks);
	return tally;
}

/* What is good is found so, and stays so. */
static void test_what_is_good_is_proven(void **state)
{
	(void)state;
	const struct world world = { tells, tells, 1 };
	const struct tally tally = judge_streams("as it was taught", &world);
	assert_true(tally.proven * 100 >= 95 * streams() && tally.at_last * 100 >= 95 * streams());
	assert_in_range(tally.looks, 5, 12);
}

/* What is no better than a constant, or whose error is 0.1, is hardly ever taken for proven. */
static void test_nothing_is_proven_by_chance(void **state)
{
	(void)state;
	static const struct {
		const char *what;
		struct world world;
	} cases[] = {
		{ "nothing tells right from wrong", { tells_nothing, tells_nothing, 1 } },
		{ "fewer are right later", { tells, tells_less, 1 } },
		{ "it is too sure later", { tells, tells_extremes, 1 } },
		{ "the opposite is true later", { tells, tells_opposite, 1 } },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_true(judge_streams(cases[i].what, &cases[i].world).proven <= 5 * streams() / 100);
}

/* A proven one is given up when later labels say otherwise, and not before. */
static void test_proven_models_are_refuted(void **state)
{
	(void)state;
	const struct world world = { tells, tells, 1 };
	struct model_judgement good, bad, last = { 0 };
	draw(&world, 5);
	struct model *model = learn();
	assert_int_equal(model_judge(model, &last, examples + TAUGHT, 2000, &good, NULL), ERR_OK);
	assert_true(good.proven && good.looks.count == 1);
	for (size_t i = TAUGHT; i < TAUGHT + 4000; i++)
		examples[i].correct = i % 5 == 0 ? !examples[i].correct : examples[i].correct;
	/* an error of its own size is shown, though it tells right from wrong still */
	assert_int_equal(model_judge(model, &good, examples + TAUGHT, 4000, &bad, NULL), ERR_OK);
	assert_true(!bad.proven && bad.looks.count == 2 && bad.quality.auroc > 0.6);
	/* nothing is shown by a few */
	assert_int_equal(model_judge(model, &good, examples + TAUGHT, 60, &bad, NULL), ERR_OK);
	assert_true(bad.proven && bad.looks.count == 1);
	model_unref(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits_for_labels),
		cmocka_unit_test(test_what_is_good_is_proven),
		cmocka_unit_test(test_nothing_is_proven_by_chance),
		cmocka_unit_test(test_proven_models_are_refuted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
