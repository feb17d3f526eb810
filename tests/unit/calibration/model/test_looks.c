/*
 * Looks at candidates: when one is due, what it has to show, and that all looks for one place together
 * replace a model by chance as seldom as is promised.
 */
#include "calibration/model/looks.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "calibration/statistics/outcomes.h"
#include "tests/harness/fixtures/long_run.h"

/* ---- when ---- */

enum { LABELS = 1000 };

static void make_labels(struct model_example examples[LABELS], int64_t first_ms)
{
	for (int i = 0; i < LABELS; i++)
		examples[i] = (struct model_example){ .item = { .overall = opt_double(0.5) },
						      .scored_at_ms = first_ms + i,
						      .weight = 1 };
}

/* Labels of milliseconds from 0 on, of which the last `later` are judged by; the last look judged by 80 of
 * 400. */
static void test_waits_for_new_labels(void **state)
{
	static const struct {
		const char *what;
		size_t first, count, later;
		bool due;
	} cases[] = {
		{ "the same", 0, 400, 80, false },
		{ "some are new", 0, 500, 100, false },
		{ "twice as many as it judges by", 0, 670, 134, true },
		{ "not quite", 0, 600, 120, false },
		{ "of a window that moves on", 200, 400, 80, true },
		{ "not yet", 150, 400, 80, false },
		{ "many came late", 0, 400, 160, true },
		{ "too few to tell", 925, 75, 14, false },
		{ "just enough", 925, 75, 15, true },
	};
	static struct model_example examples[LABELS];
	const struct model_looks none = { 0 };
	(void)state;
	make_labels(examples, 0);
	assert_false(model_look_is_due(&none, MODEL_MAP, examples, 61, 75));
	assert_true(model_look_is_due(&none, MODEL_MAP, examples, 60, 75));
	assert_false(model_look_is_due(&none, MODEL_MAP, examples, 0, 0));
	/* what the kind cannot use does not count */
	assert_false(model_look_is_due(&none, MODEL_FEATURES, examples, 80, 100));
	const struct model_looks last = model_look_next(&none, 3, MODEL_MAP, examples + 320, 80);
	assert_true(last.version == 3 && last.count == 1 && last.labels == 80 && last.until_ms == 396);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (model_look_is_due(&last, MODEL_MAP, examples + cases[i].first,
				      cases[i].count - cases[i].later, cases[i].count) != cases[i].due)
			fail_msg("%s", cases[i].what);
	/* of many, a part has to be new */
	const struct model_looks large = { 3, 7, 8000, 300 };
	assert_false(model_look_is_due(&large, MODEL_MAP, examples, 0, 500));
	assert_true(model_look_is_due(&large, MODEL_MAP, examples, 0, 700));
	/* whatever the clock of some sender says */
	examples[399].scored_at_ms = INT64_MAX;
	const struct model_looks odd = model_look_next(&last, 3, MODEL_MAP, examples + 320, 80);
	assert_true(odd.count == 2 && odd.until_ms == 396);
	/* another model's place begins anew, and not at once */
	const struct model_looks next = model_look_next(&odd, 4, MODEL_MAP, examples + 320, 80);
	assert_true(next.version == 4 && next.count == 1);
	assert_false(model_look_is_due(&next, MODEL_MAP, examples, 320, 400));
}

/* ---- drawing ---- */

enum { STREAM = 1000, SHORT = 500, INTERVAL = 10, KNOWN = 3000 };

static size_t streams(void)
{
	return whole_or(100, 20);
}

struct dice {
	uint64_t state;
};

/* SplitMix64 (Steele, Lea and Flood 2014). */
static double uniform(struct dice *dice)
{
	uint64_t z = (dice->state += 0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

/* Right with a probability of `mean`, or as overall confidence says where it `tells`; questions are asked
 * `repeats` times in a row, and are right or wrong together. */
struct world {
	struct dice dice;
	double mean;
	bool tells;
	int repeats;
};

static void draw(struct world *world, struct model_example *examples, size_t from, size_t count)
{
	for (size_t i = from; i < count; i++) {
		double overall = floor(10 * uniform(&world->dice)) / 10;
		double odds = world->tells ? 6 * (overall - 0.45) : log(world->mean / (1 - world->mean));
		struct model_example example = { .item = { .segment = { STR("shop"), STR("m"), STR("1") },
							   .overall = opt_double(overall) },
						 .scored_at_ms = (int64_t)i,
						 .weight = 1 };
		example.correct = uniform(&world->dice) < outcomes_sigmoid(odds);
		if (i % (size_t)world->repeats != 0) {
			example.item.overall = examples[i - 1].item.overall;
			example.correct = examples[i - 1].correct;
		}
		memcpy(example.id, &i, sizeof i);
		examples[i] = example;
	}
}

/* Questions that come back: each has features of its own and is answered rightly often or seldom, which its
 * features tell nobody who does not know it; of `fresh` answers one is to a new question. */
static void draw_questions(struct dice *dice, double fresh, struct model_example *examples,
			   double (*values)[FEATURE_COUNT_], size_t count)
{
	static const enum feature OWN[] = { FEATURE_QUESTION_LENGTH, FEATURE_QUESTION_SENTENCES,
					    FEATURE_QUESTION_OUTPUTS, FEATURE_QUESTION_CALCULATIONS,
					    FEATURE_ANCHORS };
	static struct {
		double values[FEATURE_COUNT_], right;
	} questions[STREAM];
	size_t known = 0;
	for (size_t i = 0; i < count; i++) {
		size_t question = (size_t)(uniform(dice) * (double)known);
		if (known == 0 || uniform(dice) < fresh) {
			question = known++;
			questions[question].right = uniform(dice) < 0.5 ? 0.1 : 0.9;
			for (size_t j = 0; j < sizeof OWN / sizeof *OWN; j++)
				questions[question].values[OWN[j]] = 1 + floor(8 * uniform(dice)) / 4;
		}
		memcpy(values[i], questions[question].values, sizeof *values);
		examples[i] =
			(struct model_example){ .item = { .segment = { STR("shop"), STR("m"), STR("1") },
							  .overall = opt_double(0.5),
							  .features = values[i] },
						.scored_at_ms = (int64_t)i,
						.question = question + 1,
						.weight = 1,
						.correct = uniform(dice) < questions[question].right };
		memcpy(examples[i].id, &i, sizeof i);
	}
}

static struct model *fit(enum model_kind kind, const struct model_example *examples, size_t count)
{
	struct model *model = NULL;
	const struct model_options options = { .kind = kind };
	return model_fit(examples, count, &options, &model, NULL) == ERR_OK ? model : NULL;
}

/* ---- one place and all looks at candidates for it ---- */

/* As the learner goes about it (learn/learner.c), whenever there are so many labels more: whether one of the
 * candidates takes the place of `current`, which no label of the stream was learnt from. */
static size_t replaced_after(enum model_kind kind, const struct model *current,
			     const struct model_example *examples, size_t length)
{
	struct model_looks looks = { 0 };
	const struct model_options options = { .kind = kind };
	for (size_t count = 50; count <= length; count += INTERVAL) {
		size_t inside = count - count / 5;
		bool better = false;
		if (!model_look_is_due(&looks, kind, examples, inside, count))
			continue;
		struct model *candidate = fit(kind, examples, inside);
		if (!candidate)
			continue;
		looks = model_look_next(&looks, 1, kind, examples + inside, count - inside);
		assert_int_equal(model_replaces(candidate, current, examples, count, &options, looks.count,
						&better, NULL),
				 ERR_OK);
		model_unref(candidate);
		if (better)
			return count;
	}
	return 0;
}

/* Nothing is to be learnt that is not known: neither more than a constant, nor than a model of many labels.
 */
static void test_no_model_is_replaced_by_chance(void **state)
{
	static const struct {
		const char *what;
		double mean;
		bool tells, known;
		int repeats;
	} worlds[] = {
		{ "nothing tells right from wrong", 0.6, false, false, 1 },
		{ "nearly all are right", 0.95, false, false, 1 },
		{ "a question is asked three times in a row", 0.6, false, false, 3 },
		{ "a question is asked five times in a row", 0.6, false, false, 5 },
		{ "the model in use knows it all", 0, true, true, 1 },
		{ "the model in use knows that nothing tells", 0.8, false, true, 1 },
	};
	static struct model_example examples[KNOWN];
	(void)state;
	for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) {
		size_t replaced = 0;
		for (uint64_t seed = 0; seed < streams(); seed++) {
			struct world world = {
				{ 7919 * (seed + 1) + i }, worlds[i].mean, worlds[i].tells, worlds[i].repeats
			};
			struct model *current = NULL;
			if (worlds[i].known) {
				draw(&world, examples, 0, KNOWN);
				current = fit(MODEL_MAP, examples, KNOWN);
			}
			draw(&world, examples, 0, STREAM);
			for (size_t j = 0; j < STREAM; j++) /* after what it learnt from */
				examples[j].scored_at_ms += KNOWN;
			replaced += replaced_after(MODEL_MAP, current, examples, STREAM) > 0;
			model_unref(current);
		}
		print_message("%s: %zu of %zu replaced\n", worlds[i].what, replaced, streams());
		assert_true(replaced <= streams() * 5 / 100);
	}
}

/* A question that is known already shows nothing: neither where answers to it come in a row, nor where they
 * come again between others. */
static void test_questions_that_come_back_show_nothing(void **state)
{
	static struct model_example examples[STREAM];
	static double values[STREAM][FEATURE_COUNT_];
	static const double FRESH[] = { 0.1, 0.3 };
	(void)state;
	for (size_t i = 0; i < sizeof FRESH / sizeof *FRESH; i++) {
		size_t replaced = 0;
		for (uint64_t seed = 0; seed < streams(); seed++) {
			struct dice dice = { 6361 * (seed + 1) + i };
			draw_questions(&dice, FRESH[i], examples, values, STREAM);
			replaced += replaced_after(MODEL_FEATURES, NULL, examples, SHORT) > 0;
		}
		print_message("%.0f %% new questions: %zu of %zu replaced\n", 100 * FRESH[i], replaced,
			      streams());
		assert_true(replaced <= streams() * 5 / 100);
	}
}

/* What is better is found all the same. */
static void test_what_is_better_is_used(void **state)
{
	static struct model_example examples[KNOWN];
	size_t latest = 0, found = 0;
	(void)state;
	for (uint64_t seed = 0; seed < 50; seed++) {
		struct world world = { { 104729 * (seed + 1) }, 0.6, true, 1 };
		draw(&world, examples, 0, STREAM);
		size_t after = replaced_after(MODEL_MAP, NULL, examples, STREAM);
		found += after > 0 && after <= 1000;
		latest = after > latest ? after : latest;
	}
	print_message("%zu of 50 within 1000 labels, the latest after %zu\n", found, latest);
	assert_true(found >= 45);
}

/* Labels that are all as the model says leave no doubt, however sure it is. */
static void test_what_is_certain_is_used_soon(void **state)
{
	static struct model_example examples[KNOWN];
	int better = 0;
	(void)state;
	for (uint64_t seed = 0; seed < 50; seed++) {
		struct world world = { { 1299709 * (seed + 1) }, 0.6, true, 1 };
		draw(&world, examples, 0, 200);
		for (int i = 0; i < 200; i++)
			examples[i].correct = examples[i].item.overall.value > 0.45;
		struct model *candidate = fit(MODEL_MAP, examples, 160);
		better += model_better(candidate, NULL, examples, 200, 1);
		model_unref(candidate);
	}
	print_message("%d of 50 by 40 labels\n", better);
	assert_true(better >= 48);
}

/* The later a look, the more has to be shown. */
static void test_later_looks_ask_for_more(void **state)
{
	static struct model_example examples[KNOWN];
	int better[3] = { 0 };
	(void)state;
	for (uint64_t seed = 0; seed < 50; seed++) {
		static const int64_t LOOKS[] = { 8, 9, 1000 };
		struct world world = { { 31 * (seed + 1) }, 0.6, true, 1 };
		draw(&world, examples, 0, 300);
		struct model *candidate = fit(MODEL_MAP, examples, 150);
		for (int i = 0; i < 3; i++)
			better[i] += model_better(candidate, NULL, examples, 300, LOOKS[i]);
		assert_false(model_better(candidate, candidate, examples, 300, 1));
		assert_false(model_better(candidate, NULL, examples, 169, 1));
		model_unref(candidate);
	}
	print_message("%d, %d, %d of 50\n", better[0], better[1], better[2]);
	assert_true(better[0] >= better[1] && better[1] > better[2]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits_for_new_labels),
		cmocka_unit_test(test_no_model_is_replaced_by_chance),
		cmocka_unit_test(test_questions_that_come_back_show_nothing),
		cmocka_unit_test(test_what_is_better_is_used),
		cmocka_unit_test(test_what_is_certain_is_used_soon),
		cmocka_unit_test(test_later_looks_ask_for_more),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
