/*
 * Learnt probability on the corpus `bird`: what is learnt from five databases predicts the sixth, each in
 * turn, with and without the other models' answers as candidates, with some and with all labels; and how many
 * labels it takes until a model is better than a constant beyond doubt. Prints what it measures. Skipped
 * where the corpus is not there (ASSAYD_CORPORA, or ../shared/corpora).
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "calibration/model/looks.h"
#include "calibration/statistics/binned.h"
#include "calibration/statistics/discrimination.h"
#include "tests/harness/fixtures/labelled.h"
#include "tests/harness/fixtures/long_run.h"

enum { DATABASES_MAX = 32, BINS = 10, DRAWS = 5, HIGH_DRAWS = 10 };

/* Most of it is for a long run (long_run.h): models are learnt some thousand times. */
static void skip_unless_long(void)
{
	if (!long_run())
		skip();
}

static struct {
	struct arena *arena;
	struct labelled *items;
	size_t count;
	double *values[2]; /* without and with agreement; count × FEATURE_COUNT_ each */
	str_t databases[DATABASES_MAX];
	size_t databases_count;
} corpus;

static void fill_values(bool with_agreement)
{
	double *values = ARENA_ARRAY(corpus.arena, double, corpus.count *FEATURE_COUNT_);
	for (size_t i = 0; i < corpus.count; i++) {
		struct features_input input = corpus.items[i].input;
		if (!with_agreement)
			input.agreement_form = input.agreement_results = (opt_double_t)OPT_NONE;
		features_fill(&input, values + i * FEATURE_COUNT_);
	}
	corpus.values[with_agreement] = values;
}

static int read_corpus(void **state)
{
	(void)state;
	corpus.arena = arena_new();
	corpus.items = labelled_read(corpus.arena, &corpus.count);
	if (!corpus.items)
		return 0;
	fill_values(false);
	fill_values(true);
	for (size_t i = 0; i < corpus.count; i++) {
		size_t j = 0;
		while (j < corpus.databases_count &&
		       !str_equal(corpus.databases[j], corpus.items[i].database))
			j++;
		if (j == corpus.databases_count)
			corpus.databases[corpus.databases_count++] = corpus.items[i].database;
	}
	return 0;
}

static int free_corpus(void **state)
{
	(void)state;
	arena_free(corpus.arena);
	return 0;
}

/* SplitMix64. */
static uint64_t roll(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* How the corpus reaches the calibrator. */
struct feed {
	const char *name;
	bool by_database;  /* an application for each, else one for all */
	bool names_models; /* segments are models, else there is one */
	bool shuffled;	   /* in time, else database by database */
	bool agreement;
	size_t labels; /* drawn from all; 0: all */
};

static struct model_case case_of(const struct feed *feed, size_t index)
{
	const struct labelled *item = &corpus.items[index];
	return (struct model_case){
		.segment = { feed->by_database ? item->database : STR("bird"),
			     feed->names_models ? item->model : STR(""), STR("") },
		.overall = opt_double(item->input.technical.value / 100),
		.features = corpus.values[feed->agreement] + index * FEATURE_COUNT_,
	};
}

/* Labels of all databases but one. */
static size_t draw(const struct feed *feed, str_t left_out, uint64_t seed, struct model_example *examples)
{
	size_t count = 0;
	for (size_t i = 0; i < corpus.count; i++) {
		if (str_equal(corpus.items[i].database, left_out))
			continue;
		uint64_t id = roll(&seed);
		examples[count] = (struct model_example){ .item = case_of(feed, i),
							  .scored_at_ms = feed->shuffled ? 0 : (int64_t)i,
							  .question = corpus.items[i].question_number + 1,
							  .weight = 1,
							  .correct = corpus.items[i].right };
		memcpy(examples[count++].id, &id, sizeof id);
	}
	for (size_t i = 0; feed->labels && i < feed->labels; i++) {
		size_t j = i + roll(&seed) % (count - i);
		struct model_example example = examples[i];
		examples[i] = examples[j];
		examples[j] = example;
	}
	return feed->labels ? feed->labels : count;
}

static struct model *learn(const struct feed *feed, str_t left_out, uint64_t seed)
{
	struct arena *arena = arena_new();
	struct model_example *examples = ARENA_ARRAY(arena, struct model_example, corpus.count);
	size_t count = draw(feed, left_out, seed, examples);
	struct model *model = NULL;
	struct err_detail detail = { "" };
	const struct model_options options = { .kind = MODEL_FEATURES };
	if (model_fit(examples, count, &options, &model, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	arena_free(arena);
	return model;
}

struct result {
	double auroc;	      /* mean over the databases */
	double ece, debiased; /* of all databases' cases */
	bool high_holds;      /* right as often as it says, by database */
	size_t high;
	double inside; /* of databases' means, how many lie within the means of the intervals */
};

static struct result measure(const struct feed *feed, uint64_t seed)
{
	struct result result = { .high_holds = true };
	struct outcome *all = ARENA_ARRAY(corpus.arena, struct outcome, corpus.count);
	size_t all_count = 0;
	printf("%s, %s agreement, %zu labels:", feed->name, feed->agreement ? "with" : "without",
	       feed->labels ? feed->labels : corpus.count);
	for (size_t d = 0; d < corpus.databases_count; d++) {
		struct model *model = learn(feed, corpus.databases[d], seed + d);
		struct discrimination discrimination;
		double said = 0, high = 0, high_right = 0, right = 0, low_sum = 0, high_sum = 0,
		       value_sum = 0;
		size_t first = all_count;
		for (size_t i = 0; i < corpus.count; i++) {
			struct model_estimate estimate;
			if (!str_equal(corpus.items[i].database, corpus.databases[d]))
				continue;
			const struct model_case item = case_of(feed, i);
			assert_true(model_estimate(model, &item, &estimate));
			all[all_count++] = (struct outcome){ estimate.value, 1, corpus.items[i].right };
			right += corpus.items[i].right;
			low_sum += estimate.low;
			value_sum += estimate.value;
			high_sum += estimate.high;
			if (estimate.value >= 0.9 && estimate.low >= 0.8) {
				high++;
				said += estimate.value;
				high_right += corpus.items[i].right;
			}
		}
		double n = (double)(all_count - first);
		assert_int_equal(discrimination_of(all + first, all_count - first, &discrimination, NULL),
				 ERR_OK);
		result.auroc += discrimination.auroc / (double)corpus.databases_count;
		result.inside += (low_sum <= right && right <= high_sum) / (double)corpus.databases_count;
		result.high += (size_t)high;
		if (high_right < said)
			result.high_holds = false;
		printf(" [%.3f mean %.2f %.2f..%.2f right %.2f HIGH %.0f/%.0f]", discrimination.auroc,
		       value_sum / n, low_sum / n, high_sum / n, right / n, high_right, high);
		model_unref(model);
	}
	struct binned_part *bins;
	struct binned_error error;
	size_t bins_count;
	assert_int_equal(binned_equal_mass(all, all_count, BINS, corpus.arena, &bins, &bins_count, NULL),
			 ERR_OK);
	binned_error_of(bins, bins_count, &error);
	result.ece = error.expected;
	result.debiased = error.debiased;
	printf("\n   AUROC %.4f ECE %.4f debiased %.4f high %zu %s inside %.2f\n", result.auroc, result.ece,
	       result.debiased, result.high, result.high_holds ? "" : "NOT HELD", result.inside);
	fflush(stdout);
	return result;
}

static void skip_without_corpus(void)
{
	if (!corpus.items) {
		print_message("skipped: no corpus bird in %s\n", labelled_folder());
		skip();
	}
}

static const struct feed FEEDS[] = {
	{ .name = "one segment, mixed", .shuffled = true },
	{ .name = "an application for each database, a segment for each model",
	  .by_database = true,
	  .names_models = true },
	{ .name = "a segment for each model, mixed", .names_models = true, .shuffled = true },
	{ .name = "one segment, database by database" },
};

/* All labels of five databases, however they come. */
static void learns_all(bool agreement, double auroc, double ece)
{
	skip_without_corpus();
	for (size_t i = 0; i < whole_or(sizeof FEEDS / sizeof *FEEDS, 2); i++) {
		struct feed feed = FEEDS[i];
		feed.agreement = agreement;
		const struct result result = measure(&feed, 1);
		assert_true(result.auroc >= auroc);
		assert_true(result.ece <= ece);
		assert_true(result.high_holds);
		assert_true(result.inside >= 0.8);
	}
}

static void test_learns_without_agreement(void **state)
{
	(void)state;
	learns_all(false, 0.72, 0.05);
}

static void test_learns_with_agreement(void **state)
{
	(void)state;
	learns_all(true, 0.85, 0.04);
}

/* Mean of some draws. */
static void learns_some(bool agreement, size_t labels, double auroc, double ece)
{
	struct result sum = { 0 };
	skip_without_corpus();
	for (uint64_t seed = 1; seed <= DRAWS; seed++) {
		struct feed feed = FEEDS[0];
		feed.agreement = agreement;
		feed.labels = labels;
		const struct result result = measure(&feed, 100 * seed);
		assert_true(result.high_holds);
		sum.auroc += result.auroc / DRAWS;
		sum.ece += result.ece / DRAWS;
	}
	printf("   mean of %d draws of %zu: AUROC %.4f ECE %.4f\n", DRAWS, labels, sum.auroc, sum.ece);
	assert_true(sum.auroc >= auroc);
	assert_true(sum.ece <= ece);
}

static void test_some_labels_without_agreement(void **state)
{
	(void)state;
	skip_unless_long();
	learns_some(false, 100, 0.72, 0.09);
	learns_some(false, 300, 0.73, 0.07);
	learns_some(false, 1000, 0.74, 0.055);
}

static void test_some_labels_with_agreement(void **state)
{
	(void)state;
	skip_unless_long();
	learns_some(true, 100, 0.85, 0.05);
	learns_some(true, 300, 0.85, 0.05);
	learns_some(true, 1000, 0.85, 0.04);
}

/* As answers come to a daemon: an application for each database, a segment for each model. Few labels are
 * few questions, and what is right of all of these may be wrong of many others. */
static void test_high_holds_of_few_labels(void **state)
{
	static const size_t LABELS[] = { 100, 300, 1000 };
	(void)state;
	skip_unless_long();
	skip_without_corpus();
	for (size_t i = 0; i < sizeof LABELS / sizeof *LABELS; i++)
		for (uint64_t seed = 1; seed <= HIGH_DRAWS; seed++) {
			struct feed feed = FEEDS[1];
			feed.shuffled = feed.agreement = true;
			feed.labels = LABELS[i];
			assert_true(measure(&feed, 1000 * seed).high_holds);
		}
}

/* As the learner looks at so many labels for the first time (learn/learner.c). */
static bool is_used(const struct feed *feed, str_t left_out, uint64_t seed)
{
	struct arena *arena = arena_new();
	struct model_example *examples = ARENA_ARRAY(arena, struct model_example, corpus.count);
	size_t count = draw(feed, left_out, seed, examples), inside = count - count / 5;
	const struct model_options options = { .kind = MODEL_FEATURES };
	const struct model_looks none = { 0 };
	struct model *candidate = NULL;
	bool used = false;
	for (size_t i = 0; i < count; i++)
		examples[i].scored_at_ms = (int64_t)i;
	assert_true(model_look_is_due(&none, MODEL_FEATURES, examples, inside, count));
	assert_int_equal(model_fit(examples, inside, &options, &candidate, NULL), ERR_OK);
	assert_int_equal(model_replaces(candidate, NULL, examples, count, &options, 1, &used, NULL), ERR_OK);
	model_unref(candidate);
	arena_free(arena);
	return used;
}

/* So many labels show in so many of a hundred draws that what is learnt from them tells more than a constant.
 */
static void test_few_labels_show_what_is_learnt(void **state)
{
	static const struct {
		bool agreement;
		size_t labels;
		int least; /* percent */
	} cases[] = { { false, 100, 5 }, { false, 300, 60 }, { false, 600, 95 },
		      { true, 100, 50 }, { true, 300, 90 },  { true, 600, 100 } };
	(void)state;
	skip_unless_long();
	skip_without_corpus();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct feed feed = { .by_database = true,
				     .names_models = true,
				     .shuffled = true,
				     .agreement = cases[i].agreement,
				     .labels = cases[i].labels };
		int used = 0, draws = 0;
		for (uint64_t seed = 1; seed <= DRAWS; seed++)
			for (size_t d = 0; d < corpus.databases_count; d++, draws++)
				used += is_used(&feed, corpus.databases[d], 1000 * seed + d);
		printf("%s agreement, %zu labels: a model in %d of %d draws\n",
		       feed.agreement ? "with" : "without", feed.labels, used, draws);
		fflush(stdout);
		assert_true(used * 100 >= cases[i].least * draws);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_learns_without_agreement),
		cmocka_unit_test(test_learns_with_agreement),
		cmocka_unit_test(test_some_labels_without_agreement),
		cmocka_unit_test(test_some_labels_with_agreement),
		cmocka_unit_test(test_high_holds_of_few_labels),
		cmocka_unit_test(test_few_labels_show_what_is_learnt),
	};
	return cmocka_run_group_tests(tests, read_corpus, free_corpus);
}
