/* What a model says of a case has its own test (calibration/model); here is what an event makes of it. */
#include "event/probability.h"

#include "tests/unit/event/stages.h"

#define READ                                                                                                 \
	"{\"application\":\"shop\",\"sql\":\"SELECT id FROM shop WHERE id = 1 LIMIT "                        \
	"1\",\"generator_confidence\":0.9}"
#define DOUBT                                                                                                \
	"{\"application\":\"shop\",\"sql\":\"SELECT id FROM shop WHERE id = 1 LIMIT "                        \
	"1\",\"generator_confidence\":0.1}"
#define WRITE "{\"application\":\"shop\",\"sql\":\"DELETE FROM shop\",\"generator_confidence\":0.9}"

enum { EXAMPLES = 2000 };

/* A source whose generator is too sure of itself. */
static struct model *learnt(bool proven)
{
	static struct model_example examples[EXAMPLES];
	struct err_detail detail = { "" };
	struct model *model = NULL;
	for (int i = 0; i < EXAMPLES; i++) {
		double confidence = (double)(i % 10) / 10 + 0.05;
		examples[i] = (struct model_example){
			.item = { .segment = { STR("shop"), STR_NONE, STR_NONE },
				  .overall = opt_double(confidence) },
			.scored_at_ms = 1000 * (int64_t)i,
			.weight = 1,
			.correct = (double)(i / 10 % 20) / 20 < 0.85 * confidence,
		};
		memcpy(examples[i].id, &i, sizeof i);
	}
	const struct model_options options = { MODEL_MAP };
	if (model_fit(examples, EXAMPLES, &options, &model, &detail))
		fail_msg("%s", detail.message);
	model_set_version(model, 7);
	model_set_quality(model, &(struct model_quality){ .cases = 100 }, proven);
	return model;
}

struct rig {
	struct stages stages;
	struct model_current *models;
};

static void rig_begin(struct rig *rig, bool proven)
{
	static const int factors[] = { CONFIG_GENERATOR };
	stages_begin(&rig->stages);
	rig->models = model_current_new();
	rig->stages.context.models = rig->models;
	rig->stages.config->calibration.configured = true;
	rig->stages.config->calibration.model = CONFIG_MODEL_MAP;
	rig->stages.config->confidence.factors = (struct conf_enums){ factors, COUNT_OF(factors) };
	model_current_set(rig->models, learnt(proven));
}

static void rig_end(struct rig *rig)
{
	model_current_free(rig->models);
	stages_end(&rig->stages);
}

static struct event *finalised(struct rig *rig, const char *json)
{
	struct event *event = stages_analysed(&rig->stages, json);
	event_finalise(event);
	return event;
}

static void records_carry_it(void **state)
{
	struct rig rig;
	(void)state;
	rig_begin(&rig, true);
	rig.stages.config->calibration.model_reasons = 3;
	struct event *event = finalised(&rig, READ);
	const struct record_probability *probability = event->scored->confidence.probability;
	assert_non_null(probability);
	assert_true(probability->value > 0.7 && probability->value < 0.85);
	assert_true(probability->low < probability->value && probability->value < probability->high);
	assert_int_equal(probability->labels, EXAMPLES);
	assert_int_equal(probability->segment_labels, EXAMPLES);
	assert_int_equal(probability->model, 7);
	assert_int_equal(probability->reasons_count, 1);
	assert_string_equal(probability->reasons[0].feature.ptr, "overall");
	assert_true(probability->reasons[0].addend > 0);
	assert_true(event->scored->confidence.overall.value == 0.9);
	stages_event_free(event);
	rig_end(&rig);
}

static const struct level_case {
	const char *what, *json;
	bool proven;
	enum config_level_by by;
	int level;
	const char *level_by; /* NULL: no level */
} level_cases[] = {
	{ "a proven model's", READ, true, CONFIG_LEVEL_BY_AUTO, LEVEL_MEDIUM, "probability" },
	{ "a proven model's doubt", DOUBT, true, CONFIG_LEVEL_BY_AUTO, LEVEL_VERY_LOW, "probability" },
	{ "not a proven one's", READ, false, CONFIG_LEVEL_BY_AUTO, LEVEL_HIGH, "overall" },
	{ "not a proven one's, but it is wanted", READ, false, CONFIG_LEVEL_BY_PROBABILITY, LEVEL_MEDIUM,
	  "probability" },
	{ "it is not wanted", READ, true, CONFIG_LEVEL_BY_OVERALL, LEVEL_HIGH, "overall" },
	{ "an unsafe query has none", WRITE, true, CONFIG_LEVEL_BY_PROBABILITY, LEVEL_VERY_LOW, "overall" },
	{ "the event has no confidence to map", "{\"sql\":\"SELECT 1\"}", true, CONFIG_LEVEL_BY_PROBABILITY,
	  ENUM_ABSENT, NULL },
};

static void levels(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(level_cases); i++) {
		const struct level_case *expected = &level_cases[i];
		struct rig rig;
		print_message("%s\n", expected->what);
		rig_begin(&rig, expected->proven);
		rig.stages.config->confidence.level_by = expected->by;
		struct event *event = finalised(&rig, expected->json);
		const struct record_confidence *confidence = &event->scored->confidence;
		bool follows = expected->level_by && strcmp(expected->level_by, "probability") == 0;
		assert_int_equal(confidence->level, expected->level);
		assert_int_equal(str_present(confidence->level_by), expected->level_by != NULL);
		if (expected->level_by)
			assert_string_equal(confidence->level_by.ptr, expected->level_by);
		if (follows)
			assert_non_null(confidence->probability);
		stages_event_free(event);
		rig_end(&rig);
	}
}

/* Who pages on it gets the number that the level is the band of. */
static void advisories_follow(void **state)
{
	struct rig rig;
	struct err_detail detail = { "" };
	(void)state;
	rig_begin(&rig, true);
	struct event *event = finalised(&rig, DOUBT);
	if (event_encode(event, &detail))
		fail_msg("%s", detail.message);
	assert_non_null(event->advisory);
	assert_int_equal(event->advisory->kind, ADVISORY_LOW_CONFIDENCE);
	assert_int_equal(event->advisory->level, LEVEL_VERY_LOW);
	assert_true(event->advisory->value.value == event->scored->confidence.probability->value);
	assert_non_null(strstr(event->advisory->summary.ptr, "right with probability"));
	stages_event_free(event);
	rig_end(&rig);
}

/* Of what no front end reads nothing is known: neither features nor a probability. */
static void dialects_that_are_not_analysed(void **state)
{
	static const struct {
		const char *json;
		bool analysed;
	} cases[] = {
		{ READ, true },
		{ "{\"application\":\"shop\",\"dialect\":\"MONGODB\",\"sql\":\"db.shop.find()\","
		  "\"generator_confidence\":0.9}",
		  false },
	};
	static const enum config_model settings[] = { CONFIG_MODEL_MAP, CONFIG_MODEL_FEATURES };
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases) * COUNT_OF(settings); i++) {
		bool analysed = cases[i / 2].analysed, features = settings[i % 2] == CONFIG_MODEL_FEATURES;
		struct rig rig;
		rig_begin(&rig, true);
		rig.stages.config->calibration.model = settings[i % 2];
		struct event *event = finalised(&rig, cases[i / 2].json);
		const struct record_confidence *confidence = &event->scored->confidence;
		assert_true(confidence->overall.set); /* by what else the event says */
		assert_int_equal(confidence->probability != NULL, analysed);
		assert_int_equal(confidence->features_count > 0, analysed && features);
		assert_string_equal(confidence->level_by.ptr, analysed ? "probability" : "overall");
		stages_event_free(event);
		rig_end(&rig);
	}
}

static void without_a_model(void **state)
{
	struct rig rig;
	(void)state;
	rig_begin(&rig, true);
	for (int i = 0; i < 3; i++) {
		rig.stages.config->calibration.configured = i != 1;
		rig.stages.config->calibration.model = i != 2 ? CONFIG_MODEL_MAP : CONFIG_MODEL_OFF;
		if (i == 0)
			model_current_set(rig.models, NULL);
		else if (i == 1)
			model_current_set(rig.models, learnt(true));
		struct event *event = finalised(&rig, READ);
		assert_null(event->scored->confidence.probability);
		assert_string_equal(event->scored->confidence.level_by.ptr, "overall");
		stages_event_free(event);
	}
	rig_end(&rig);
}

/* Of another overall confidence than it has learnt from it says nothing. */
static void of_other_rules(void **state)
{
	static const struct {
		const char *rules;
		bool holds;
	} cases[] = {
		{ "factors=generator source=own retrieval=formula", true },
		{ "factors=technical,generator source=own retrieval=formula", false },
		{ "factors=generator source=worst retrieval=formula", false },
		{ "factors=generator source=own retrieval=1,0,0,0,0,0,0,1,0.75,0.3,0.2", false },
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct rig rig;
		rig_begin(&rig, true);
		/* what makes the level alone has no part in it */
		rig.stages.config->confidence.technical_alone = CONFIG_ALONE_HIGH;
		rig.stages.config->retrieval_thresholds.high = 0.99;
		struct model *model = learnt(true);
		model_set_rules(model, str_from(cases[i].rules));
		model_current_set(rig.models, model);
		struct event *event = finalised(&rig, READ);
		const struct record_confidence *confidence = &event->scored->confidence;
		assert_int_equal(confidence->probability != NULL, cases[i].holds);
		assert_string_equal(confidence->level_by.ptr, cases[i].holds ? "probability" : "overall");
		stages_event_free(event);
		rig_end(&rig);
	}
}

/* A model that is replaced while an event uses it lives as long as that does. */
static void models_are_replaced(void **state)
{
	(void)state;
	struct model_current *models = model_current_new();
	assert_null(model_current_get(models));
	assert_null(model_current_get(NULL));
	model_current_set(models, learnt(false));
	struct model *former = model_current_get(models);
	model_current_set(models, learnt(true));
	struct model *now = model_current_get(models);
	assert_false(model_info(former)->proven);
	assert_true(model_info(now)->proven);
	model_unref(former);
	model_current_free(models);
	assert_int_equal(model_info(now)->version, 7);
	model_unref(now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_carry_it),    cmocka_unit_test(levels),
		cmocka_unit_test(advisories_follow),   cmocka_unit_test(dialects_that_are_not_analysed),
		cmocka_unit_test(without_a_model),     cmocka_unit_test(of_other_rules),
		cmocka_unit_test(models_are_replaced),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
