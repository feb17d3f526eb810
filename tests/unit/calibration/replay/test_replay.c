/* What other rules say of past records, and what comes of it where these have labels. */
#include "calibration/replay/replay.h"

#include "calibration/replay/replay_print.h"

#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define NONE OPT_NONE
#define SOME(number)                                                                                         \
	{                                                                                                    \
		true, number                                                                                 \
	}

/* cmocka compares floats, which have seven digits. */
static void expect_near(double figure, double expected)
{
	if (!(fabs(figure - expected) <= 1e-9))
		fail_msg("%.17g instead of %.17g", figure, expected);
}

static const struct replay_rules defaults = {
	.factors = { FACTOR_TECHNICAL, FACTOR_ADVISORY, FACTOR_RETRIEVAL_WITHOUT_ADVISORY },
	.factors_count = 3,
	.technical_alone = SCORE_MEDIUM,
	.thresholds = { 0.9, 0.7, 0.5 },
};

/* ---- one record ---- */

static void test_factors_of_records(void **state)
{
	(void)state;
	static const struct {
		opt_double_t technical, advisory, retrieval, generator, canonical, results;
		int verdict;
		enum overall_factor factors[2];
		size_t factors_count;
		opt_double_t overall;
		int level;
	} cases[] = {
		{ SOME(100),
		  NONE,
		  NONE,
		  NONE,
		  NONE,
		  NONE,
		  VERDICT_SAFE,
		  { FACTOR_TECHNICAL },
		  1,
		  SOME(1),
		  LEVEL_MEDIUM },
		{ SOME(80),
		  SOME(0.95),
		  NONE,
		  NONE,
		  NONE,
		  NONE,
		  VERDICT_SAFE,
		  { FACTOR_TECHNICAL, FACTOR_ADVISORY },
		  2,
		  SOME(0.8),
		  LEVEL_MEDIUM },
		{ SOME(80),
		  SOME(0.95),
		  NONE,
		  NONE,
		  NONE,
		  NONE,
		  VERDICT_SAFE,
		  { FACTOR_ADVISORY },
		  1,
		  SOME(0.95),
		  LEVEL_HIGH },
		{ SOME(80),
		  SOME(0.95),
		  SOME(0.3),
		  NONE,
		  NONE,
		  NONE,
		  VERDICT_SAFE,
		  { FACTOR_RETRIEVAL },
		  1,
		  SOME(0.3),
		  LEVEL_VERY_LOW },
		{ SOME(80),
		  SOME(0.95),
		  SOME(0.3),
		  NONE,
		  NONE,
		  NONE,
		  VERDICT_SAFE,
		  { FACTOR_RETRIEVAL_WITHOUT_ADVISORY, FACTOR_TECHNICAL },
		  2,
		  SOME(0.8),
		  LEVEL_MEDIUM },
		{ SOME(80),
		  NONE,
		  SOME(0.3),
		  NONE,
		  NONE,
		  NONE,
		  VERDICT_SAFE,
		  { FACTOR_RETRIEVAL_WITHOUT_ADVISORY, FACTOR_TECHNICAL },
		  2,
		  SOME(0.3),
		  LEVEL_VERY_LOW },
		{ NONE,
		  NONE,
		  NONE,
		  SOME(0.5),
		  NONE,
		  NONE,
		  VERDICT_SAFE,
		  { FACTOR_GENERATOR },
		  1,
		  SOME(0.5),
		  LEVEL_LOW },
		{ NONE,
		  NONE,
		  NONE,
		  NONE,
		  SOME(0.25),
		  NONE,
		  VERDICT_SAFE,
		  { FACTOR_AGREEMENT },
		  1,
		  SOME(0.25),
		  LEVEL_VERY_LOW },
		{ NONE,
		  NONE,
		  NONE,
		  NONE,
		  SOME(0.25),
		  SOME(0.75),
		  VERDICT_SAFE,
		  { FACTOR_AGREEMENT },
		  1,
		  SOME(0.75),
		  LEVEL_MEDIUM },
		{ SOME(100),
		  NONE,
		  NONE,
		  NONE,
		  NONE,
		  NONE,
		  VERDICT_SAFE,
		  { FACTOR_GENERATOR },
		  1,
		  NONE,
		  ENUM_ABSENT },
		{ SOME(100),
		  NONE,
		  NONE,
		  SOME(1),
		  NONE,
		  NONE,
		  VERDICT_UNSAFE,
		  { FACTOR_GENERATOR },
		  1,
		  SOME(0),
		  LEVEL_VERY_LOW },
		/* a record may claim anything */
		{ SOME(1e300),
		  NONE,
		  NONE,
		  SOME(NAN),
		  NONE,
		  NONE,
		  77,
		  { FACTOR_TECHNICAL, FACTOR_GENERATOR },
		  2,
		  SOME(1),
		  LEVEL_MEDIUM },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct record_technical technical = { .score = cases[i].technical.value };
		struct record_advisory_confidence advisory = { .confidence = cases[i].advisory.value };
		struct record_retrieval retrieval = { .confidence = cases[i].retrieval.value };
		struct record_agreement agreement = { cases[i].canonical, cases[i].results, 4, 0 };
		const struct scored_query scored = {
			.confidence = { .technical = cases[i].technical.set ? &technical : NULL,
					.advisory = cases[i].advisory.set ? &advisory : NULL,
					.retrieval = cases[i].retrieval.set ? &retrieval : NULL,
					.generator = cases[i].generator,
					.agreement = cases[i].canonical.set ? &agreement : NULL },
			.safety = { .verdict = cases[i].verdict },
		};
		struct replay_rules rules = defaults;
		struct replay_verdict verdict;
		memcpy(rules.factors, cases[i].factors, sizeof cases[i].factors);
		rules.factors_count = cases[i].factors_count;
		replay_record(&rules, &scored, &verdict);
		if (verdict.overall.set != cases[i].overall.set || verdict.level != cases[i].level)
			fail_msg("case %zu: level %d", i, verdict.level);
		if (cases[i].overall.set)
			expect_near(verdict.overall.value, cases[i].overall.value);
		assert_false(verdict.estimated || verdict.by_probability);
	}
}

/* A share by results that was asked for and is not there is missing, whatever the one by meaning. */
static void test_reasons_of_no_agreement(void **state)
{
	static const struct {
		const char *metric, *code;
		opt_double_t overall;
	} reasons[] = {
		{ "agreement", "candidates_limit", SOME(0.25) },
		{ "agreement", "candidates_unproven", SOME(0.25) },
		{ "agreement", "answer_failed", SOME(0) },
		{ "agreement", "target_unavailable", NONE },
		{ "agreement", "candidates_left_out", NONE },
		{ "result", "target_unavailable", SOME(0.25) },
	};
	(void)state;
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
		struct record_agreement agreement = { SOME(0.25), NONE, 4, 0 };
		struct record_error error = { .metric = str_from(reasons[i].metric),
					      .code = str_from(reasons[i].code) };
		const struct scored_query scored = { .confidence = { .agreement = &agreement },
						     .errors = &error,
						     .errors_count = 1 };
		struct replay_rules rules = defaults;
		struct replay_verdict verdict;
		rules.factors[0] = FACTOR_AGREEMENT;
		rules.factors_count = 1;
		replay_record(&rules, &scored, &verdict);
		assert_int_equal(verdict.overall.set, reasons[i].overall.set);
		assert_true(!verdict.overall.set || verdict.overall.value == reasons[i].overall.value);
		agreement.results = (opt_double_t)SOME(0.75);
		replay_record(&rules, &scored, &verdict);
		assert_true(verdict.overall.set && verdict.overall.value == 0.75);
	}
}

static void test_thresholds_of_records(void **state)
{
	(void)state;
	struct replay_rules rules = defaults;
	struct replay_verdict verdict;
	struct record_technical technical = { .score = 83 };
	const struct scored_query scored = { .confidence = { .technical = &technical,
							     .generator = SOME(0.9) } };
	replay_record(&rules, &scored, &verdict);
	assert_int_equal(verdict.level, LEVEL_MEDIUM);
	rules.thresholds.high = 0.83;
	replay_record(&rules, &scored, &verdict);
	assert_int_equal(verdict.level, LEVEL_MEDIUM); /* technical alone */
	rules.technical_alone = SCORE_HIGH;
	replay_record(&rules, &scored, &verdict);
	assert_int_equal(verdict.level, LEVEL_HIGH);
	rules.thresholds.medium = 0.831;
	rules.thresholds.high = 0.9;
	replay_record(&rules, &scored, &verdict);
	assert_int_equal(verdict.level, LEVEL_LOW);
}

/* ---- models ---- */

enum { LEARNT = 400, LEARNT_MS = 1000 };

/* Right the likelier, the more anchors; labels of the ms up to LEARNT * LEARNT_MS. */
static struct model *learn(enum model_kind kind, struct arena *arena)
{
	struct model_example *examples = ARENA_ARRAY(arena, struct model_example, LEARNT);
	struct model *model = NULL;
	struct err_detail detail = { "" };
	for (int i = 0; i < LEARNT; i++) {
		double *features = ARENA_ARRAY(arena, double, FEATURE_COUNT_);
		features[FEATURE_ANCHORS] = i % 4;
		examples[i] = (struct model_example){
			.item = { .segment = { STR("a"), STR(""), STR("") },
				  .overall = opt_double(0.2 + i % 4 * 0.2),
				  .features = features },
			.scored_at_ms = (int64_t)i * LEARNT_MS,
			.weight = 1,
			.correct = fmod(i * 0.6180339887498949, 1) < 0.1 + 0.25 * (i % 4),
		};
		memcpy(examples[i].id, &i, sizeof i);
	}
	const struct model_options options = { .kind = kind };
	if (model_fit(examples, LEARNT, &options, &model, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	return model;
}

static void test_probabilities_of_records(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(model_cleanup) struct model *model = learn(MODEL_FEATURES, arena);
	struct record_feature features[] = { { STR("anchors"), 3 },
					     { STR("nothing that is known"), 5 },
					     { STR("errors"), 1e30 } };
	struct record_error error = { .code = STR("dialect_unsupported") };
	struct record_technical technical = { .score = 80 };
	struct scored_query scored = {
		.application = STR("a"),
		.confidence = { .technical = &technical, .features = features, .features_count = 3 }
	};
	double values[FEATURE_COUNT_] = { [FEATURE_ANCHORS] = 3 };
	const struct model_case item = { .segment = { STR("a"), STR_NONE, STR_NONE },
					 .overall = opt_double(0.8),
					 .features = values };
	struct replay_rules rules = defaults;
	struct replay_verdict verdict;
	struct model_estimate expected;
	rules.model = model;
	assert_true(model_estimate(model, &item, &expected));
	replay_record(&rules, &scored, &verdict);
	assert_true(verdict.estimated && !verdict.by_probability);
	expect_near(verdict.estimate.value, expected.value);
	expect_near(verdict.estimate.low, expected.low);
	assert_int_equal(verdict.level, LEVEL_MEDIUM);
	rules.level_follows = true;
	rules.thresholds = (struct level_thresholds){ 0.99, 0.98, 0.01 };
	replay_record(&rules, &scored, &verdict);
	assert_true(verdict.by_probability);
	assert_int_equal(verdict.level, LEVEL_LOW);
	/* nothing is claimed of what is unsafe, not analysed, or has no features */
	scored.safety.verdict = VERDICT_UNSAFE;
	replay_record(&rules, &scored, &verdict);
	assert_false(verdict.estimated);
	scored.safety.verdict = VERDICT_UNKNOWN;
	scored.errors = &error;
	scored.errors_count = 1;
	replay_record(&rules, &scored, &verdict);
	assert_false(verdict.estimated);
	scored.errors_count = 0;
	scored.confidence.features_count = 0;
	replay_record(&rules, &scored, &verdict);
	assert_false(verdict.estimated || verdict.by_probability);
}

/* ---- many ---- */

enum { RECORDS = 600 };

/*
 * Generators claim 0.95 or 0.55 and are right 9 and 3 times in ten; the records had levels by another factor
 * that says nothing. The first third is of the time that models learn from.
 */
static void add_records(struct replay *replay, int count, int label_source)
{
	for (int i = 0; i < count; i++) {
		bool sure = i % 2 == 0;
		struct record_label label = { .correct = sure ? i % 20 != 0 : i % 10 < 3,
					      .source = label_source,
					      .weight = 1 };
		struct record_probability probability = { .value = 0.5 };
		struct record_technical technical = { .score = i % 3 ? 100 : 50 };
		const struct scored_query scored = {
			.scored_at = (int64_t)i * LEARNT_MS * LEARNT / (RECORDS / 3),
			.application = STR("a"),
			.confidence = { .overall = opt_double(i % 3 ? 1 : 0.5),
					.level = i % 3 ? LEVEL_MEDIUM : LEVEL_LOW,
					.technical = &technical,
					.generator = opt_double(sure ? 0.95 : 0.55),
					.probability = &probability },
			.label = label_source == ENUM_ABSENT ? NULL : &label,
		};
		assert_int_equal(replay_add(replay, &scored, NULL), ERR_OK);
	}
}

static struct replay *by_generator(const struct model *model)
{
	struct replay_rules rules = defaults;
	rules.factors[0] = FACTOR_GENERATOR;
	rules.factors_count = 1;
	rules.model = model;
	return replay_new(&rules);
}

static void test_what_would_have_changed(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(model_cleanup) struct model *model = learn(MODEL_MAP, arena);
	_cleanup_(replay_cleanup) struct replay *replay = by_generator(model);
	struct replay_result result;
	add_records(replay, RECORDS, LABEL_RESULT);
	add_records(replay, 10, ENUM_ABSENT);
	add_records(replay, 60, LABEL_RELEVANCE);
	replay_finish(replay, 0.8, arena, &result);
	assert_int_equal(result.records, RECORDS + 70);
	assert_int_equal(result.first_ms, 0);
	assert_int_equal(result.last_ms, (RECORDS - 1) * INT64_C(2000));
	assert_int_equal(result.kept + result.higher + result.lower, RECORDS + 70);
	assert_int_equal(result.moved[1 + LEVEL_MEDIUM][1 + LEVEL_MEDIUM], 0);
	assert_int_equal(result.moved[1 + LEVEL_LOW][1 + LEVEL_LOW], result.kept);
	assert_int_equal(result.moved[1 + LEVEL_MEDIUM][1 + LEVEL_LOW], result.lower);
	/* sources are not mixed */
	assert_int_equal(result.labelled_count, 2);
	const struct replay_labelled *results = &result.labelled[0];
	assert_int_equal(results->label_source, LABEL_RESULT);
	assert_int_equal(result.labelled[1].label_source, LABEL_RELEVANCE);
	assert_int_equal(result.labelled[1].cases, 60);
	assert_int_equal(results->cases, RECORDS);
	const struct replay_group *high = &results->groups[REPLAY_LATER][REPLAY_NOW][1 + LEVEL_HIGH];
	assert_int_equal(results->groups[REPLAY_LATER][REPLAY_THEN][1 + LEVEL_HIGH].cases, 0);
	assert_int_equal(high->cases, RECORDS / 3);
	expect_near(high->accuracy, 0.9);
	assert_true(high->low < 0.9 && high->high > 0.9);
	/* what is of the time that the model has learnt from is told apart */
	assert_int_equal(results->times[REPLAY_LEARNT], RECORDS / 3);
	assert_int_equal(results->times[REPLAY_LATER], RECORDS / 3 * 2);
	assert_int_equal(results->groups[REPLAY_LEARNT][REPLAY_NOW][1 + LEVEL_HIGH].cases, RECORDS / 6);
	assert_true(results->overall[REPLAY_THEN].discrimination.low < 0.5 &&
		    results->overall[REPLAY_THEN].discrimination.high > 0.5);
	assert_true(results->overall[REPLAY_NOW].discrimination.low > 0.7);
	assert_true(results->overall[REPLAY_NOW].threshold.found);
	expect_near(results->overall[REPLAY_NOW].threshold.point.threshold, 0.95);
	/* what the model has learnt from tells nothing of it */
	assert_int_equal(results->learnt_from, RECORDS / 3);
	assert_int_equal(results->probability[REPLAY_NOW].cases, RECORDS / 3 * 2);
	assert_int_equal(results->probability[REPLAY_THEN].cases, RECORDS / 3 * 2);
	assert_true(results->probability[REPLAY_NOW].discrimination.auroc > 0.7);
	expect_near(results->probability[REPLAY_THEN].discrimination.auroc, 0.5);
}

static void test_more_labels_than_are_ranked(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(replay_cleanup) struct replay *replay = by_generator(NULL);
	struct replay_result result;
	add_records(replay, REPLAY_CASES_MAX + 50, LABEL_RESULT);
	replay_finish(replay, 0.9, arena, &result);
	assert_int_equal(result.labelled[0].cases, REPLAY_CASES_MAX + 50);
	assert_int_equal(result.labelled[0].ranked, REPLAY_CASES_MAX);
	assert_int_equal(result.labelled[0].overall[REPLAY_NOW].cases, REPLAY_CASES_MAX);
	assert_int_equal(result.labelled[0].groups[REPLAY_LATER][REPLAY_NOW][1 + LEVEL_HIGH].cases,
			 (REPLAY_CASES_MAX + 50) / 2);
}

/* Labels that no record of ours has. */
static void test_strange_labels(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(replay_cleanup) struct replay *replay = by_generator(NULL);
	static const struct record_label labels[] = {
		{ 1, true, ENUM_ABSENT, 1 },	  { 1, true, 9, 1 },
		{ 1, true, LABEL_RESULT, 0 },	  { 1, true, LABEL_RESULT, -1 },
		{ 1, true, LABEL_RESULT, NAN },	  { 1, true, LABEL_RESULT, 1e300 },
		{ 1, true, LABEL_RESULT, 1e308 }, { 1, true, LABEL_RESULT, 1e-300 },
	};
	struct err_detail detail;
	struct replay_result result;
	for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
		struct record_label label = labels[i];
		struct record_probability probability = { .value = NAN };
		const struct scored_query scored = { .confidence = { .overall = SOME(7),
								     .level = 99,
								     .generator = SOME(0.5),
								     .probability = &probability },
						     .label = &label };
		assert_int_equal(replay_add(replay, &scored, &detail), ERR_AVRO_VALUE);
	}
	assert_string_equal(detail.message,
			    "its label weighs 1e-300; what is counted weighs from 1e-12 to 1e12");
	replay_finish(replay, 0.9, arena, &result);
	assert_int_equal(result.records, 0);
	assert_int_equal(result.labelled_count, 0);
	struct record_label label = { 1, true, LABEL_RESULT, 1 };
	struct record_probability probability = { .value = NAN };
	const struct scored_query scored = { .confidence = { .overall = SOME(7),
							     .level = 99,
							     .generator = SOME(0.5),
							     .probability = &probability },
					     .label = &label };
	assert_int_equal(replay_add(replay, &scored, &detail), ERR_OK);
	label.weight = 1e-12;
	assert_int_equal(replay_add(replay, &scored, &detail), ERR_OK);
	label.weight = 1e12;
	assert_int_equal(replay_add(replay, &scored, &detail), ERR_OK);
	replay_finish(replay, 0.9, arena, &result);
	assert_int_equal(result.labelled[0].cases, 3);
	assert_int_equal(result.labelled[0].overall[REPLAY_THEN].cases, 0);
	assert_int_equal(result.labelled[0].probability[REPLAY_THEN].cases, 0);
	assert_int_equal(result.moved[0][1 + LEVEL_LOW], 3);
}

/* By where their events come from, and where that is not known by the names of these. */
static void test_records_that_come_again(void **state)
{
	static const struct {
		const char *event_id, *topic;
		int64_t partition, offset;
		bool again;
	} records[] = {
		{ "a", "t", 0, 7, false },    { "a", "t", 0, 8, false },   { "b", "t", 0, 7, true },
		{ "b", "t", 1, 7, false },    { "a", "u", 0, 7, false },   { "a", "", -1, -1, false },
		{ "b", "", -1, -1, false },   { "a", "", -1, -1, true },   { "", "", -1, -1, false },
		{ "", "", -1, -1, false },    { "c", "t", 1, 7, true },	   { "c", "", -1, -1, false },
		{ "0 7 t", "", 0, 0, false }, { "0 7 t", "", 0, 0, true },
	};
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(replay_cleanup) struct replay *replay = by_generator(NULL);
	struct replay_result result;
	int64_t again = 0;
	for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
		const struct scored_query scored = {
			.event_id = str_from(records[i].event_id),
			.provenance = { .topic = str_from(records[i].topic),
					.partition = records[i].partition,
					.offset = records[i].offset },
			.confidence = { .generator = SOME(0.5) },
		};
		assert_int_equal(replay_add(replay, &scored, NULL), ERR_OK);
		again += records[i].again;
		replay_finish(replay, 0.9, arena, &result);
		if (result.repeated != again || result.records != (int64_t)i + 1 - again)
			fail_msg("record %zu: %lld came again", i, (long long)result.repeated);
	}
	assert_false(result.unchecked);
	for (int64_t i = 0; i < 20000; i++) { /* each twice */
		const struct scored_query scored = { .provenance = { .topic = STR("v"), .offset = i / 2 } };
		assert_int_equal(replay_add(replay, &scored, NULL), ERR_OK);
	}
	replay_finish(replay, 0.9, arena, &result);
	assert_int_equal(result.repeated, again + 10000);
}

/* ---- printing ---- */

typedef void print_fn(FILE *, const struct replay_rules *, const struct replay_result *,
		      const struct replay_faults *);

static char *print(print_fn *write, const struct replay_rules *rules, const struct replay_result *result,
		   const struct replay_faults *faults)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	assert_non_null(stream);
	write(stream, rules, result, faults);
	fclose(stream);
	return text;
}

static void expect_texts(const char *text, const char *const *wanted, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strstr(text, wanted[i]))
			fail_msg("%s is not in\n%s", wanted[i], text);
}

static void test_replays_are_printed(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(model_cleanup) struct model *model = learn(MODEL_MAP, arena);
	_cleanup_(replay_cleanup) struct replay *replay = by_generator(model);
	const struct replay_faults faults = {
		.count = 2, .kind = REPLAY_LINE, .place = 7, .first = "no JSON \x1b[2J", .unavailable = 3
	};
	struct replay_rules rules = defaults;
	struct replay_result result;
	model_set_version(model, 5);
	rules.factors[0] = FACTOR_GENERATOR;
	rules.factors_count = 1;
	rules.model = model;
	add_records(replay, RECORDS, LABEL_RESULT);
	replay_finish(replay, 0.8, arena, &result);
	_cleanup_(cleanup_free) char *text = print(replay_print_text, &rules, &result, &faults);
	static const char *const wanted[] = {
		"Replay of 600 records, scored from 1970-01-01 00:00:00 UTC to 1970-01-01 00:19:58 UTC\n",
		"  now: the least of generator; technical alone makes medium at most; levels from 0.9, 0.7 "
		"and 0.5 on; version 5 (map) of the "
		"model, "
		"whose probability levels do not follow\n",
		"  2 could not be read; the first, line 7: no JSON \\u001b[2J\n",
		"  3 cannot be read now\n",
		"  then \\ now       high     medium        low   very_low       none\n",
		"  100 keep their level, 300 would have a higher one, 200 a lower one\n",
		"\nLabel source RESULT: 600 records\n",
		"  400 scored after what the model has learnt from\n  high    ",
		"  200 of the time that the model has learnt from: better than others will be\n  high   ",
		"  confidence, now         600  0.8",
		"  probability, now        400  0.8",
		"  80 % right needs confidence, now ≥ 0.95: 50 % of the cases (300, of them 0.900 right, "
		"0.861 ",
		"  80 % right is at no threshold of confidence, then with 20 cases or more; the nearest is "
		"≥ ",
		"  probabilities: without the 200 records of the time that the model has learnt from\n",
	};
	expect_texts(text, wanted, sizeof wanted / sizeof *wanted);
	_cleanup_(cleanup_free) char *json = print(replay_print_json, &rules, &result, &faults);
	json_t *root = json_loads(json, 0, NULL),
	       *labelled = json_array_get(json_object_get(root, "labelled"), 0);
	assert_non_null(root);
	assert_int_equal(json_integer_value(json_object_get(root, "records")), RECORDS);
	assert_int_equal(json_integer_value(json_object_get(root, "unreadable")), 2);
	assert_int_equal(json_integer_value(json_object_get(root, "unavailable")), 3);
	assert_int_equal(json_integer_value(json_object_get(root, "higher")), 300);
	assert_int_equal(json_integer_value(json_object_get(
				 json_object_get(json_object_get(root, "levels"), "medium"), "low")),
			 200);
	json_t *now = json_object_get(labelled, "now"), *then = json_object_get(labelled, "then");
	expect_near(json_number_value(json_object_get(json_object_get(json_object_get(now, "levels"), "high"),
						      "accuracy")),
		    0.9);
	assert_true(json_real_value(json_object_get(json_object_get(now, "overall"), "auroc")) > 0.7);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(then, "probability"), "cases")),
			 400);
	json_decref(root);
}

static void test_nothing_is_printed(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(replay_cleanup) struct replay *replay = replay_new(&defaults);
	const struct replay_faults faults = { .count = 1,
					      .kind = REPLAY_OFFSET,
					      .place = 9,
					      .partition = 3,
					      .first = "caf\xe9" },
				   none = { 0 };
	struct replay_result result;
	replay_finish(replay, 0.9, arena, &result);
	_cleanup_(cleanup_free) char *text = print(replay_print_text, &defaults, &result, &faults);
	static const char *const wanted[] = { "Replay of 0 records\n",
					      "technical, advisory, retrieval; technical alone makes ",
					      "; no model\n",
					      "the first, partition 3, offset 9: caf\\xe9\n" };
	expect_texts(text, wanted, 4);
	_cleanup_(cleanup_free) char *json = print(replay_print_json, &defaults, &result, &faults);
	json_t *root = json_loads(json, 0, NULL);
	assert_non_null(root);
	assert_true(json_is_null(json_object_get(root, "first_ms")));
	json_decref(root);
	add_records(replay, 4, ENUM_ABSENT);
	replay_finish(replay, 0.9, arena, &result);
	_cleanup_(cleanup_free) char *unlabelled = print(replay_print_text, &defaults, &result, &none);
	assert_non_null(strstr(unlabelled, "No record has a label"));
	assert_null(strstr(unlabelled, "could not be read"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_factors_of_records),
		cmocka_unit_test(test_reasons_of_no_agreement),
		cmocka_unit_test(test_thresholds_of_records),
		cmocka_unit_test(test_probabilities_of_records),
		cmocka_unit_test(test_what_would_have_changed),
		cmocka_unit_test(test_more_labels_than_are_ranked),
		cmocka_unit_test(test_strange_labels),
		cmocka_unit_test(test_records_that_come_again),
		cmocka_unit_test(test_replays_are_printed),
		cmocka_unit_test(test_nothing_is_printed),
	};
	return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
