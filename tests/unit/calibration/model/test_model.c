/*
 * Learnt probability on labels that are drawn here: what is learnt is what was drawn, segments do not suffer
 * from their first labels, documents are exact, and whatever is not a document is refused.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "calibration/model/looks.h"
#include "calibration/statistics/outcomes.h"
#include "tests/harness/fixtures/long_run.h"

/* ---- drawing ---- */

struct dice {
	uint64_t state;
};

/* SplitMix64 (Steele, Lea and Flood 2014). */
static uint64_t roll(struct dice *dice)
{
	uint64_t z = (dice->state += 0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static double uniform(struct dice *dice)
{
	return ((double)(roll(dice) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(struct dice *dice)
{
	return sqrt(-2 * log(uniform(dice))) * cos(2 * M_PI * uniform(dice));
}

/* Examples of a world in which the features "anchors" and "errors" and overall confidence matter. */
struct world {
	struct arena *arena;
	struct dice dice;
	struct model_example *examples;
	size_t count, capacity;
};

static struct world world_new(uint64_t seed)
{
	return (struct world){ arena_new(), { seed }, NULL, 0, 0 };
}

/* One more, with `shift` on its log odds; its true probability. */
static double draw_of(struct world *world, struct model_segment segment, double shift)
{
	struct dice *dice = &world->dice;
	double *features = ARENA_ARRAY(world->arena, double, FEATURE_COUNT_);
	features[FEATURE_ANCHORS] = floor(4 * uniform(dice));
	features[FEATURE_ERRORS] = floor(3 * uniform(dice));
	features[FEATURE_LENGTH] = 3 + normal(dice);
	double overall = floor(10 * uniform(dice)) / 10;
	double odds = shift + 0.8 * (features[FEATURE_ANCHORS] - 1.5) - 1.2 * (features[FEATURE_ERRORS] - 1) +
		      1.5 * (overall - 0.45);
	struct model_example example = { .item = { segment, opt_double(overall), features },
					 .scored_at_ms = 1000 * (int64_t)world->count,
					 .weight = 1,
					 .correct = uniform(dice) < outcomes_sigmoid(odds) };
	uint64_t id = roll(dice);
	memcpy(example.id, &id, sizeof id);
	ARENA_PUSH(world->arena, world->examples, world->count, world->capacity, example);
	return outcomes_sigmoid(odds);
}

static const struct model_segment HERE = { { "shop", 4 }, { "m", 1 }, { "1", 1 } };

static struct model *fit(const struct world *world, size_t count, enum model_kind kind)
{
	struct model *model = NULL;
	struct err_detail detail = { "" };
	const struct model_options options = { .kind = kind };
	if (model_fit(world->examples, count, &options, &model, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	return model;
}

/* ---- what is learnt ---- */

static void learns_what_was_drawn(enum model_kind kind, double tolerance)
{
	struct world world = world_new(7);
	double squares = 0;
	int inside = 0;
	for (int i = 0; i < 5000; i++)
		draw_of(&world, HERE, 0.5);
	struct model *model = fit(&world, 4000, kind);
	for (size_t i = 4000; i < 5000; i++) {
		struct model_estimate estimate;
		const struct model_case *item = &world.examples[i].item;
		double truth = outcomes_sigmoid(0.5 + 0.8 * (item->features[FEATURE_ANCHORS] - 1.5) -
						1.2 * (item->features[FEATURE_ERRORS] - 1) +
						1.5 * (item->overall.value - 0.45));
		assert_true(model_estimate(model, item, &estimate));
		assert_true(estimate.low <= estimate.value && estimate.value <= estimate.high);
		assert_true(estimate.low >= 0 && estimate.high <= 1 && estimate.high - estimate.low < 0.3);
		assert_int_equal(estimate.labels, 4000);
		assert_int_equal(estimate.segment_labels, 4000);
		squares += (estimate.value - truth) * (estimate.value - truth);
		inside += estimate.low <= truth && truth <= estimate.high;
	}
	assert_true(sqrt(squares / 1000) < tolerance);
	if (kind == MODEL_FEATURES)
		assert_true(inside >= 900);
	model_unref(model);
	arena_free(world.arena);
}

static void test_learns_features(void **state)
{
	(void)state;
	learns_what_was_drawn(MODEL_FEATURES, 0.04);
}

static void test_learns_a_map(void **state)
{
	(void)state;
	learns_what_was_drawn(MODEL_MAP, 0.30);
}

/* The addends are the log odds, but for a constant; the largest come first, and their signs are right. */
static void test_contributions(void **state)
{
	(void)state;
	struct world world = world_new(8);
	for (int i = 0; i < 1000; i++)
		draw_of(&world, HERE, 0);
	struct model *model = fit(&world, world.count, MODEL_FEATURES);
	double constant = NAN;
	for (size_t i = 0; i < 100; i++) {
		struct model_contribution all[FEATURE_COUNT_ + 1], first[2];
		struct model_estimate estimate;
		const struct model_case *item = &world.examples[i].item;
		size_t count = model_contributions(model, item, all, FEATURE_COUNT_ + 1);
		assert_true(model_estimate(model, item, &estimate));
		assert_in_range(count, 3, 4);
		double sum = 0;
		for (size_t j = 0; j < count; j++) {
			sum += all[j].addend;
			assert_true(j == 0 || fabs(all[j].addend) <= fabs(all[j - 1].addend));
			if (strcmp(all[j].name, "anchors") == 0)
				assert_true((all[j].addend > 0) == (all[j].value > 1.5));
		}
		if (isnan(constant))
			constant = estimate.log_odds - sum;
		assert_true(fabs(estimate.log_odds - sum - constant) < 1e-9);
		assert_int_equal(model_contributions(model, item, first, 2), 2);
		assert_memory_equal(first, all, sizeof first);
	}
	model_unref(model);
	arena_free(world.arena);
}

/* Without what the score needs there is no estimate. */
static void test_needs_its_inputs(void **state)
{
	(void)state;
	struct world world = world_new(9);
	struct model_estimate estimate;
	struct model_contribution contribution;
	for (int i = 0; i < 300; i++)
		draw_of(&world, HERE, 0);
	struct model *map = fit(&world, world.count, MODEL_MAP);
	struct model *features = fit(&world, world.count, MODEL_FEATURES);
	struct model_case item = world.examples[0].item;
	item.features = NULL;
	assert_true(model_estimate(map, &item, &estimate));
	assert_false(model_estimate(features, &item, &estimate));
	assert_int_equal(model_contributions(features, &item, &contribution, 1), 0);
	item = world.examples[0].item;
	item.overall.set = false;
	assert_false(model_estimate(map, &item, &estimate));
	assert_true(model_estimate(features, &item, &estimate));
	model_unref(map);
	model_unref(features);
	arena_free(world.arena);
}

static void test_refuses_too_few_labels(void **state)
{
	(void)state;
	struct world world = world_new(10);
	struct model *model = NULL;
	struct err_detail detail;
	struct model_options options = { .kind = MODEL_MAP };
	for (int i = 0; i < 200; i++)
		draw_of(&world, HERE, 0);
	assert_int_equal(model_fit(world.examples, 49, &options, &model, &detail), ERR_SAMPLES);
	assert_int_equal(model_fit(world.examples, 50, &options, &model, &detail), ERR_OK);
	model_unref(model);
	for (size_t i = 0; i < 200; i++)
		world.examples[i].correct = i < 4;
	assert_int_equal(model_fit(world.examples, 200, &options, &model, &detail), ERR_SAMPLES);
	for (size_t i = 0; i < 200; i++) {
		world.examples[i].correct = i % 2;
		world.examples[i].item.features = NULL;
	}
	options.kind = MODEL_FEATURES;
	assert_int_equal(model_fit(world.examples, 200, &options, &model, &detail), ERR_SAMPLES);
	assert_non_null(strstr(detail.message, "0 labels"));
	/* whoever stops does not wait for a fit */
	static const _Atomic bool stopping = true;
	struct world other = world_new(18);
	for (int i = 0; i < 200; i++)
		draw_of(&other, HERE, 0);
	options.stopping = &stopping;
	assert_int_equal(model_fit(other.examples, 200, &options, &model, &detail), ERR_SHUTTING_DOWN);
	arena_free(other.arena);
	arena_free(world.arena);
}

/* Examples that no number can be taken from are left out. */
static void test_leaves_unusable_examples_out(void **state)
{
	(void)state;
	struct world world = world_new(11);
	for (int i = 0; i < 104; i++)
		draw_of(&world, HERE, 0);
	double broken[FEATURE_COUNT_] = { NAN };
	world.examples[0].weight = 0;
	world.examples[1].weight = NAN;
	world.examples[2].item.features = broken;
	world.examples[3].item.overall.value = 2;
	struct model *model = fit(&world, world.count, MODEL_FEATURES);
	assert_int_equal(model_info(model)->labels, 100);
	assert_int_equal(model_info(model)->from_ms, 4000);
	assert_int_equal(model_info(model)->to_ms, 103000);
	model_unref(model);
	arena_free(world.arena);
}

/* ---- segments ---- */

enum { SEGMENTS = 50 };

static struct model_segment segment_of(struct arena *arena, int number)
{
	return (struct model_segment){ arena_printf(arena, "application %d", number % 5),
				       arena_printf(arena, "model %d", number), STR("1") };
}

/* The mean logarithmic loss of a value where `truth` is the probability. */
static double loss_of(double value, double truth)
{
	return -truth * log(value) - (1 - truth) * log(1 - value);
}

/* Beside 4,000 labels of old segments a new one gets its first labels: its values lose no more than those of
 * its parent, which are those of a segment of its application that has no label: all together, and each. */
static double harm(enum model_kind kind, double deviation, size_t labels, double *ret_worst)
{
	struct world world = world_new(100 + labels);
	double shifts[SEGMENTS], own = 0, parents = 0, worst = -INFINITY;
	for (int i = 0; i < SEGMENTS; i++)
		shifts[i] = deviation * normal(&world.dice);
	for (int i = 0; i < 4000; i++)
		draw_of(&world, segment_of(world.arena, 1000 + i % 40), deviation * (i % 40 - 19.5) / 11.5);
	size_t old = world.count;
	for (size_t i = 0; i < labels; i++)
		for (int j = 0; j < SEGMENTS; j++)
			draw_of(&world, segment_of(world.arena, j), shifts[j]);
	struct model *model = fit(&world, world.count, kind);
	size_t learnt = world.count;
	for (int i = 0; i < SEGMENTS; i++) {
		double own_here = 0, parents_here = 0;
		for (int j = 0; j < 200; j++) {
			struct model_estimate estimate, parent;
			double truth = draw_of(&world, segment_of(world.arena, i), shifts[i]);
			struct model_case item = world.examples[world.count - 1].item;
			assert_true(model_estimate(model, &item, &estimate));
			item.segment.model = STR("new");
			assert_true(model_estimate(model, &item, &parent));
			own_here += loss_of(estimate.value, truth);
			parents_here += loss_of(parent.value, truth);
		}
		own += own_here;
		parents += parents_here;
		worst = fmax(worst, own_here / parents_here - 1);
	}
	model_unref(model);
	arena_free(world.arena);
	print_message("%s, deviation %.1f, %zu labels each (%zu in all): %+.3f %%, worst segment %+.3f %%\n",
		      model_kind_name(kind), deviation, labels, learnt - old, 100 * (own / parents - 1),
		      100 * worst);
	*ret_worst = worst;
	return own / parents - 1;
}

static void test_first_labels_do_no_harm(void **state)
{
	(void)state;
	static const size_t LABELS[] = { 0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100, 200 };
	static const double DEVIATIONS[] = { 0, 0.3, 1 };
	double worst;
	for (int kind = MODEL_MAP; kind <= MODEL_FEATURES; kind++)
		for (size_t i = 0; i < sizeof DEVIATIONS / sizeof *DEVIATIONS; i++)
			for (size_t j = i % whole_or(1, 4); j < sizeof LABELS / sizeof *LABELS;
			     j += whole_or(1, 4)) {
				double all = harm((enum model_kind)kind, DEVIATIONS[i], LABELS[j], &worst);
				assert_true(all <= 0.0005 && worst <= 0.01);
			}
	assert_true(harm(MODEL_FEATURES, 1, 30, &worst) < -0.03);
	assert_true(harm(MODEL_FEATURES, 1, 100, &worst) < -0.1);
}

/* Of a segment whose answers are as often right as others', but whatever the features say, many labels show
 * that. */
static void test_slopes_are_learnt(void **state)
{
	(void)state;
	struct world world = world_new(5);
	double farthest = 0, others = 0;
	for (int i = 0; i < 4000; i++)
		draw_of(&world, segment_of(world.arena, i % 40), (i % 40 - 19.5) / 11.5);
	for (int i = 0; i < 4000; i++) {
		draw_of(&world, HERE, 0);
		world.examples[world.count - 1].correct = uniform(&world.dice) < 0.5;
	}
	struct model *model = fit(&world, world.count, MODEL_FEATURES);
	for (size_t i = 4000; i < world.count; i++) {
		struct model_estimate estimate;
		struct model_case item = world.examples[i].item;
		assert_true(model_estimate(model, &item, &estimate));
		farthest = fmax(farthest, fabs(estimate.value - 0.5));
		item.segment.application = STR("another");
		assert_true(model_estimate(model, &item, &estimate));
		others = fmax(others, fabs(estimate.value - 0.5));
	}
	print_message("at most %.3f from even odds, others %.3f\n", farthest, others);
	assert_true(farthest < others / 2);
	model_unref(model);
	arena_free(world.arena);
}

/* What differs from segment to segment makes the interval of a new one wide. */
static void test_new_segments_are_uncertain(void **state)
{
	(void)state;
	struct world world = world_new(12);
	struct model_estimate known, sibling, stranger;
	for (int i = 0; i < 6000; i++)
		draw_of(&world, segment_of(world.arena, i % SEGMENTS),
			0.3 * (i % SEGMENTS % 5 - 2) + (i % SEGMENTS - 24.5) / 25);
	struct model *model = fit(&world, world.count, MODEL_FEATURES);
	struct model_case item = world.examples[0].item;
	assert_true(model_estimate(model, &item, &known));
	item.segment.model = STR("new");
	assert_true(model_estimate(model, &item, &sibling));
	item.segment.application = STR("new");
	assert_true(model_estimate(model, &item, &stranger));
	assert_int_equal(known.segment_labels, 120);
	assert_int_equal(sibling.segment_labels, 0);
	assert_int_equal(stranger.labels, 6000);
	assert_true(sibling.high - sibling.low > 1.3 * (known.high - known.low));
	assert_true(stranger.high - stranger.low > sibling.high - sibling.low);
	model_unref(model);
	arena_free(world.arena);
}

static void replace(struct buf *document, const char *from, const char *to);

/* A document has room for some lines; those with the most labels are in it, the others have their parents'.
 */
static void test_lines_are_limited(void **state)
{
	(void)state;
	struct world world = world_new(17);
	struct model *decoded = NULL;
	struct model_estimate estimate;
	struct buf document = BUF_INIT;
	for (int i = 0; i < 2 * MODEL_LINES_MAX; i++)
		draw_of(&world, segment_of(world.arena, i % (MODEL_LINES_MAX + 100)), 0);
	struct model *model = fit(&world, world.count, MODEL_MAP);
	model_encode(model, &document);
	assert_int_equal(model_decode(buf_str(&document), &decoded, NULL), ERR_OK);
	size_t known = 0;
	for (size_t i = 0; i < MODEL_LINES_MAX + 100; i++) {
		assert_true(model_estimate(decoded, &world.examples[i].item, &estimate));
		assert_true(i >= 900 || estimate.segment_labels == 2);
		known += estimate.segment_labels > 0;
	}
	assert_int_equal(known, MODEL_LINES_MAX - 6);
	model_unref(model);
	model_unref(decoded);
	buf_free(&document);
	arena_free(world.arena);
}

/* ---- answers to one question ---- */

/* What is known of a question: nothing, features of its own, or its number. */
enum knowledge { UNKNOWN, BY_FEATURES, BY_NUMBER };

/* Answers to a question: to an easy one all are right, or with what is left of
 * `together` all are wrong; of others some are right. */
static void draw_answers(struct world *world, size_t question, enum knowledge known, int answers, bool easy,
			 double together)
{
	bool right = uniform(&world->dice) < together;
	for (int i = 0; i < answers; i++) {
		draw_of(world, HERE, 0);
		struct model_example *example = &world->examples[world->count - 1];
		double *features = ARENA_ARRAY(world->arena, double, FEATURE_COUNT_);
		if (known != UNKNOWN)
			features[FEATURE_QUESTION_LENGTH] =
				2 + (known == BY_FEATURES ? 1e-3 * (double)question : 0);
		if (known == BY_NUMBER)
			example->question = 1000 + question;
		features[FEATURE_CANDIDATES_GIVEN] = 1;
		features[FEATURE_AGREEMENT_RESULTS] = easy ? 0.9 : 0.2;
		example->item.features = features;
		example->item.overall = opt_double(1);
		example->correct = easy ? right : uniform(&world->dice) < 0.2;
	}
}

static bool is_high(const struct model *model, const struct model_case *item)
{
	struct model_estimate estimate;
	assert_true(model_estimate(model, item, &estimate));
	return estimate.value >= 0.9 && estimate.low >= 0.8;
}

/* Whether an easy question's answer is HIGH, by a model of so many easy questions and as many others; and
 * whether it would be, did the interval not look at the labels near its value. */
static bool easy_is_high(uint64_t seed, size_t questions, int answers, double together, enum knowledge known,
			 bool *ret_without)
{
	struct world world = world_new(seed);
	struct buf document = BUF_INIT;
	struct model *decoded = NULL;
	for (size_t i = 0; i < 2 * questions; i++)
		draw_answers(&world, i, known, answers, i % 2, together);
	struct model *model = fit(&world, world.count, MODEL_FEATURES);
	const struct model_case *item = &world.examples[world.count - 1].item;
	bool high = is_high(model, item);
	model_encode(model, &document);
	replace(&document, "\"places\"", "\"x\"");
	assert_int_equal(model_decode(buf_str(&document), &decoded, NULL), ERR_OK);
	*ret_without = is_high(decoded, item);
	model_unref(model);
	model_unref(decoded);
	buf_free(&document);
	arena_free(world.arena);
	return high;
}

/* HIGH takes different questions: so many answers to a few of them show no more than these. */
static void test_high_takes_questions(void **state)
{
	(void)state;
	bool without;
	assert_false(easy_is_high(1, 16, 25, 1, BY_NUMBER, &without));
	assert_true(without);
	assert_false(easy_is_high(1, 16, 25, 1, BY_FEATURES, &without));
	assert_true(easy_is_high(1, 16, 25, 1, UNKNOWN, &without));
	assert_true(easy_is_high(1, 400, 1, 1, BY_NUMBER, &without));
	assert_true(easy_is_high(1, 400, 1, 1, BY_FEATURES, &without));
	assert_true(easy_is_high(2, 400, 3, 0.99, BY_NUMBER, &without));
}

/* Where 85 % of the easy questions are answered rightly, HIGH is luck of the sample. */
static void test_high_is_seldom_luck(void **state)
{
	(void)state;
	static const struct {
		size_t questions;
		int answers;
	} cases[] = { { 20, 13 }, { 40, 13 }, { 80, 4 }, { 150, 2 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int high = 0, without = 0;
		for (uint64_t seed = 0; seed < 40; seed++) {
			bool also;
			high += easy_is_high(500 + seed, cases[i].questions, cases[i].answers, 0.85,
					     BY_NUMBER, &also);
			without += also;
		}
		print_message("%zu questions, %d answers each: HIGH in %d of 40 samples, else in %d\n",
			      cases[i].questions, cases[i].answers, high, without);
		assert_true(high <= 2);
	}
}

/* ---- documents ---- */

static void encode(const struct model *model, struct buf *document)
{
	buf_reset(document);
	model_encode(model, document);
}

static void test_order_does_not_matter(void **state)
{
	(void)state;
	struct world world = world_new(13);
	struct buf first = BUF_INIT, other = BUF_INIT;
	for (int i = 0; i < 600; i++) {
		draw_of(&world, segment_of(world.arena, i % 7), 0.1 * (i % 7));
		world.examples[i].scored_at_ms /= 50000;
		world.examples[i].weight = 1 + i % 3;
		if (i % 10 == 0)
			memset(world.examples[i].id, 0, MODEL_ID_BYTES);
	}
	for (int kind = MODEL_MAP; kind <= MODEL_FEATURES; kind++) {
		struct model *model = fit(&world, world.count, (enum model_kind)kind);
		encode(model, &first);
		model_unref(model);
		for (int round = 0; round < 3; round++) {
			for (size_t i = world.count - 1; i > 0; i--) {
				size_t j = roll(&world.dice) % (i + 1);
				struct model_example example = world.examples[i];
				world.examples[i] = world.examples[j];
				world.examples[j] = example;
			}
			model = fit(&world, world.count, (enum model_kind)kind);
			encode(model, &other);
			model_unref(model);
			assert_string_equal(buf_str(&first).ptr, buf_str(&other).ptr);
		}
	}
	buf_free(&first);
	buf_free(&other);
	arena_free(world.arena);
}

/* A document has the rules that its examples are of; one of before has none. */
static void test_rules(void **state)
{
	(void)state;
	static const struct {
		const char *from, *to;
	} wrong[] = {
		{ "\"rules\":\"a b=c\"", "\"rules\":1" },
		{ "\"rules\":\"a b=c\"", "\"rules\":\"\"" },
		{ "\"rules\":\"a b=c\"", "\"rules\":null" },
	};
	struct world world = world_new(5);
	struct buf document = BUF_INIT;
	struct model *decoded = NULL, *learnt = NULL;
	for (int i = 0; i < 200; i++)
		draw_of(&world, segment_of(world.arena, i % 3), 0);
	const struct model_options options = { .kind = MODEL_MAP, .rules = STR("a b=c") };
	assert_int_equal(model_fit(world.examples, world.count, &options, &learnt, NULL), ERR_OK);
	assert_true(str_is(model_rules(learnt), "a b=c"));
	encode(learnt, &document);
	assert_int_equal(model_decode(buf_str(&document), &decoded, NULL), ERR_OK);
	assert_true(str_is(model_rules(decoded), "a b=c"));
	model_unref(decoded);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		encode(learnt, &document);
		replace(&document, wrong[i].from, wrong[i].to);
		assert_int_equal(model_decode(buf_str(&document), &decoded, NULL), ERR_JSON_SHAPE);
	}
	model_set_rules(learnt, STR_NONE);
	encode(learnt, &document);
	assert_null(strstr(document.data, "rules"));
	assert_int_equal(model_decode(buf_str(&document), &decoded, NULL), ERR_OK);
	assert_false(str_present(model_rules(decoded)));
	model_unref(decoded);
	model_unref(learnt);
	buf_free(&document);
	arena_free(world.arena);
}

/* A map has steps from some hundred labels on, and says what no line does. */
static void test_maps_have_steps(void **state)
{
	(void)state;
	static const struct {
		const char *from, *to;
	} wrong[] = {
		{ "\"steps\":[", "\"steps\":[],\"x\":[" },
		{ "\"steps\":[", "\"x\":[" },
		{ "\"steps\":[", "\"steps\":[0," },
		{ "\"steps\":[{\"overall\":0", "\"steps\":[{\"overall\":1" },
		{ "\"left_out\":[-", "\"left_out\":[1,-" },
		{ "\"format\":2", "\"format\":3" },
	};
	struct world world = world_new(21);
	struct buf first = BUF_INIT, other = BUF_INIT;
	struct model *decoded = NULL;
	struct model_weight weight;
	double squares[2] = { 0 };
	for (int i = 0; i < 4000; i++) {
		draw_of(&world, segment_of(world.arena, i % 3), 0);
		double overall = world.examples[i].item.overall.value;
		world.examples[i].correct = uniform(&world.dice) < (overall < 0.25   ? 0.1
								    : overall < 0.65 ? 0.5
										     : 0.9);
	}
	struct model *models[] = { fit(&world, 199, MODEL_MAP), fit(&world, 3000, MODEL_MAP) };
	for (size_t i = 3000; i < 4000; i++)
		for (int j = 0; j < 2; j++) {
			struct model_estimate estimate;
			struct model_case item = world.examples[i].item;
			double truth = item.overall.value < 0.25   ? 0.1
				       : item.overall.value < 0.65 ? 0.5
								   : 0.9;
			assert_true(model_estimate(models[j], &item, &estimate));
			squares[j] += (estimate.value - truth) * (estimate.value - truth) / 1000;
			assert_true(j == 0 || (estimate.low <= truth && truth <= estimate.high));
		}
	print_message("deviation from the truth: %.3f of a line, %.3f of steps\n", sqrt(squares[0]),
		      sqrt(squares[1]));
	assert_true(sqrt(squares[1]) < 0.04 && sqrt(squares[0]) > 0.06);
	/* in between and beyond, too, it never falls */
	double former = 0;
	for (double overall = 0; overall <= 1; overall += 0.01) {
		struct model_estimate estimate;
		const struct model_case item = { .segment = HERE, .overall = opt_double(overall) };
		assert_true(model_estimate(models[1], &item, &estimate) && estimate.value >= former - 1e-12);
		former = estimate.value;
	}
	assert_int_equal(model_weights(models[1], &weight, 1, NULL), 1);
	assert_true(weight.addend > 0.5 && weight.error > 0 && weight.error < weight.addend / 3);
	encode(models[0], &first);
	assert_null(strstr(buf_str(&first).ptr, "steps"));
	encode(models[1], &first);
	assert_int_equal(model_decode(buf_str(&first), &decoded, NULL), ERR_OK);
	encode(decoded, &other);
	assert_string_equal(buf_str(&first).ptr, buf_str(&other).ptr);
	model_unref(decoded);
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		encode(models[1], &first);
		replace(&first, wrong[i].from, wrong[i].to);
		if (model_decode(buf_str(&first), &decoded, NULL) != ERR_JSON_SHAPE)
			fail_msg("%s", wrong[i].to);
	}
	model_unref(models[0]);
	model_unref(models[1]);
	buf_free(&first);
	buf_free(&other);
	arena_free(world.arena);
}

/* Of many values some are steps; labels of one value alone make none. */
static void test_steps_are_limited(void **state)
{
	(void)state;
	struct world world = world_new(22);
	struct buf document = BUF_INIT;
	for (int i = 0; i < 600; i++) {
		draw_of(&world, HERE, 0);
		world.examples[i].item.overall = opt_double((i + 0.5) / 600);
		world.examples[i].correct = uniform(&world.dice) < world.examples[i].item.overall.value;
	}
	struct model *model = fit(&world, world.count, MODEL_MAP);
	struct model_estimate low, high;
	assert_true(model_estimate(model, &world.examples[60].item, &low));
	assert_true(model_estimate(model, &world.examples[540].item, &high));
	assert_true(low.value < 0.3 && high.value > 0.7);
	encode(model, &document);
	size_t steps = 0;
	for (const char *at = buf_str(&document).ptr; (at = strstr(at, "\"overall\":")); at++)
		steps++;
	assert_int_equal(steps, 200);
	model_unref(model);
	for (int i = 0; i < 600; i++)
		world.examples[i].item.overall = opt_double(1);
	model = fit(&world, world.count, MODEL_MAP);
	assert_true(model_estimate(model, &world.examples[0].item, &low));
	assert_true(fabs(low.value - 0.5) < 0.1);
	model_unref(model);
	buf_free(&document);
	arena_free(world.arena);
}

static void test_documents_are_exact(void **state)
{
	(void)state;
	struct world world = world_new(14);
	struct buf first = BUF_INIT, other = BUF_INIT;
	struct model *decoded = NULL;
	struct model_quality quality = { .cases = 3, .log_loss = 0.1, .auroc = 1.0 / 3, .ece_low = 0.02 };
	for (int i = 0; i < 400; i++)
		draw_of(&world, segment_of(world.arena, i % 3), 0);
	struct model *model = fit(&world, world.count, MODEL_FEATURES);
	model_set_version(model, 12);
	model_set_quality(model, &quality, true);
	encode(model, &first);
	assert_int_equal(model_decode(buf_str(&first), &decoded, NULL), ERR_OK);
	encode(decoded, &other);
	assert_string_equal(buf_str(&first).ptr, buf_str(&other).ptr);
	assert_memory_equal(model_info(model), model_info(decoded), sizeof *model_info(model));
	for (size_t i = 0; i < world.count; i++) {
		struct model_estimate a = { 0 }, b = { 0 };
		assert_true(model_estimate(model, &world.examples[i].item, &a));
		assert_true(model_estimate(decoded, &world.examples[i].item, &b));
		assert_memory_equal(&a, &b, sizeof a);
	}
	struct model *again = model_ref(decoded);
	model_unref(decoded);
	assert_int_equal(model_info(again)->version, 12);
	model_unref(again);
	model_unref(model);
	buf_free(&first);
	buf_free(&other);
	arena_free(world.arena);
}

static void replace(struct buf *document, const char *from, const char *to)
{
	struct buf changed = BUF_INIT;
	const char *at = strstr(buf_str(document).ptr, from);
	if (!at)
		fail_msg("%s is not there", from);
	buf_append(&changed, document->data, (size_t)(at - document->data));
	buf_append_text(&changed, to);
	buf_append_text(&changed, at + strlen(from));
	buf_free(document);
	*document = changed;
}

/* A feature of another version counts as its mean; what is malformed is refused. */
static void test_foreign_documents(void **state)
{
	(void)state;
	static const struct {
		const char *from, *to;
		bool good;
	} cases[] = {
		{ "\"anchors\"", "\"of another version\"", true },
		{ "\"anchors\"", "\"errors\"", false },
		{ "\"anchors\"", "7", false },
		{ "\"format\":1", "\"format\":2", false },
		{ "\"format\":1", "\"format\":3", false },
		{ "\"kind\":\"features\"", "\"kind\":\"map\"", false },
		{ "\"kind\":\"features\"", "\"kind\":\"other\"", false },
		{ "\"proven\":false", "\"proven\":0", false },
		{ "\"deviation\":", "\"deviation\":0,\"x\":", false },
		{ "\"coefficient\":", "\"coefficient\":1e300,\"x\":", false },
		{ "\"left_out\":[", "\"left_out\":[1,", false },
		{ "\"constant_left_out\":[", "\"constant_left_out\":[1,", false },
		{ "\"constant_left_out\":[", "\"constant_left_out\":0,\"x\":[", false },
		{ "\"terms\":[", "\"terms\":[0,", false },
		{ "\"lines\":[", "\"lines\":[],\"x\":[", false },
		{ "\"depth\":\"all\"", "\"depth\":\"segment\"", false },
		{ "\"depth\":\"application\"", "\"depth\":\"all\"", false },
		{ "\"depth\":\"application\"", "\"depth\":\"none\"", false },
		{ "\"application 1\"", "\"z\"", false },
		{ "\"variance_slope\":", "\"variance_slope\":-1,\"x\":", false },
		{ "\"spans_variance\":", "\"spans_variance\":\"1\",\"x\":", false },
		{ "\"places\":", "\"x\":", true },
		{ "\"places\":[", "\"places\":[0,", false },
		{ "\"places\":[", "\"places\":[],\"x\":[", false },
		{ "\"places\":[", "\"places\":0,\"x\":[", false },
		{ "\"log_odds\":-7", "\"log_odds\":7", false },
		{ "\"shift\":", "\"shift\":1e300,\"x\":", false },
		{ "\"variance\":", "\"variance\":-1,\"x\":", false },
		{ "\"quality\":", "\"quality\":[],\"x\":", false },
		{ "\"to_ms\":", "\"to_ms\":-1,\"x\":", false },
		{ "\"labels\":", "\"labels\":0,\"x\":", false },
		{ "\"labels\":", "\"labels\":0.5,\"x\":", false },
		{ "{", "[", false },
		{ "{", "{\"format\":1,", false },
	};
	struct world world = world_new(15);
	struct buf document = BUF_INIT;
	for (int i = 0; i < 200; i++)
		draw_of(&world, segment_of(world.arena, i % 3), 0);
	struct model *model = fit(&world, world.count, MODEL_FEATURES);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct model *decoded = NULL;
		struct model_estimate estimate;
		encode(model, &document);
		replace(&document, cases[i].from, cases[i].to);
		err_t err = model_decode(buf_str(&document), &decoded, NULL);
		if ((err == ERR_OK) != cases[i].good)
			fail_msg("%s: %s", cases[i].to, err_name(err));
		if (err == ERR_OK)
			assert_true(model_estimate(decoded, &world.examples[0].item, &estimate));
		model_unref(decoded);
	}
	encode(model, &document);
	for (size_t length = 0; length < document.len; length += 97) {
		struct model *decoded = NULL;
		assert_int_equal(model_decode((str_t){ document.data, length }, &decoded, NULL),
				 ERR_JSON_SYNTAX);
	}
	model_unref(model);
	buf_free(&document);
	arena_free(world.arena);
}

/* ---- judging ---- */

static void test_better_on_later_data(void **state)
{
	(void)state;
	struct world world = world_new(16);
	for (int i = 0; i < 3000; i++)
		draw_of(&world, HERE, 0);
	struct model *features = fit(&world, 1500, MODEL_FEATURES), *map = fit(&world, 1500, MODEL_MAP);
	struct model *early = fit(&world, 60, MODEL_FEATURES);
	assert_true(model_better(features, NULL, world.examples, 3000, 1));
	assert_true(model_better(features, map, world.examples, 3000, 1));
	assert_true(model_better(features, early, world.examples, 3000, 1));
	assert_false(model_better(map, features, world.examples, 3000, 1));
	assert_false(model_better(features, features, world.examples, 3000, 1));
	/* nothing came later, or too little */
	assert_false(model_better(features, NULL, world.examples, 1500, 1));
	assert_false(model_better(features, NULL, world.examples, 1519, 1));
	struct model_quality quality;
	assert_int_equal(model_measure(features, world.examples + 1500, 1500, &quality, NULL), ERR_OK);
	assert_int_equal(quality.cases, 1500);
	assert_true(quality.log_loss < quality.log_loss_constant && quality.auroc > 0.7);
	assert_true(quality.auroc > quality.auroc_overall && quality.auroc_overall > 0.55);
	assert_int_equal(model_measure(features, world.examples, 0, &quality, NULL), ERR_SAMPLES);
	model_unref(features);
	model_unref(map);
	model_unref(early);
	arena_free(world.arena);
}

/* Labels that have nothing to do with the features teach nothing: rarely is such a model better than a
 * constant. */
static void test_noise_is_not_better(void **state)
{
	(void)state;
	int better = 0;
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct world world = world_new(1000 + seed);
		for (int i = 0; i < 400; i++) {
			draw_of(&world, HERE, 0);
			world.examples[i].correct = uniform(&world.dice) < 0.4;
		}
		struct model *model = fit(&world, 200, MODEL_FEATURES);
		better += model_better(model, NULL, world.examples, 400, 1);
		model_unref(model);
		arena_free(world.arena);
	}
	print_message("%d of 100 models of noise are better than a constant\n", better);
	assert_true(better <= 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_learns_features),
		cmocka_unit_test(test_learns_a_map),
		cmocka_unit_test(test_contributions),
		cmocka_unit_test(test_needs_its_inputs),
		cmocka_unit_test(test_refuses_too_few_labels),
		cmocka_unit_test(test_leaves_unusable_examples_out),
		cmocka_unit_test(test_slopes_are_learnt),
		cmocka_unit_test(test_new_segments_are_uncertain),
		cmocka_unit_test(test_lines_are_limited),
		cmocka_unit_test(test_high_takes_questions),
		cmocka_unit_test(test_high_is_seldom_luck),
		cmocka_unit_test(test_order_does_not_matter),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_maps_have_steps),
		cmocka_unit_test(test_steps_are_limited),
		cmocka_unit_test(test_documents_are_exact),
		cmocka_unit_test(test_foreign_documents),
		cmocka_unit_test(test_better_on_later_data),
		cmocka_unit_test(test_noise_is_not_better),
		cmocka_unit_test(test_first_labels_do_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
