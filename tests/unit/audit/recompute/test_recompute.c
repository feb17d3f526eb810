/* Records computed again: one that follows, the same with one field changed at a time, and many of them by
 * several threads. What follows from events of all kinds is tests/integration/test_recompute.py. */
#include "audit/recompute/recompute.h"

#include "audit/recompute/settings.h"

#include "audit/recompute/stream.h"
#include "event/record/record.h"
#include "score/retrieval.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* A record of the form of its SQL alone, and what it points at. */
struct sample {
	struct scored_query scored;
	struct record_technical technical;
	struct record_rules rules;
	struct record_disposition disposition;
	struct record_recommendation reason, recommendation;
	struct record_judge_rules judge_rules;
	struct record_judge_score relevance, correctness;
	struct record_price price;
	struct record_error error;
	struct record_result_rules result_rules;
	struct record_retrieval_rules retrieval_rules;
	struct record_label label;
	struct record_evaluation evaluation;
	struct record_weight weights[2];
	int factor;
	struct arena *arena; /* or NULL */
};

static void fill(struct sample *sample)
{
	*sample = (struct sample){ .factor = RECORD_FACTOR_TECHNICAL, .arena = sample->arena };
	sample->technical = (struct record_technical){ .score = 100, .valid = true };
	sample->reason.code = STR("medium_confidence");
	sample->reason.text = STR("confidence 1.00: the form of the SQL alone was scored, "
				  "which makes MEDIUM at most");
	sample->recommendation.code = STR("USE_WITH_CAUTION");
	sample->recommendation.text = STR("use the answer with caution and verify it");
	sample->disposition =
		(struct record_disposition){ RECORD_ACTION_USE_WITH_CAUTION, &sample->reason, 1 };
	sample->rules = (struct record_rules){ .factors = &sample->factor,
					       .factors_count = 1,
					       .technical_alone = LEVEL_MEDIUM,
					       .thresholds = { 0.9, 0.7, 0.5 },
					       .pass_score = 0.7,
					       .low_confidence_below = 0.7,
					       .low_relevance_below = 50,
					       .formulas = RECORD_FORMULAS };
	sample->scored = (struct scored_query){
		.event_id = STR("e-1"),
		.application = STR("web"),
		.disposition = &sample->disposition,
		.confidence = { .overall = { true, 1 },
				.level = LEVEL_MEDIUM,
				.limiting_factor = STR("technical"),
				.technical = &sample->technical,
				.level_by = STR("overall") },
		.structure = { .structural = 1 },
		.judge = { .decision = DECISION_UNJUDGED,
			   .unjudged_reason = STR("NO_JUDGE"),
			   .sampling_probability = 1 },
		.recommendations = &sample->recommendation,
		.recommendations_count = 1,
		.rules = &sample->rules,
		.provenance = { .topic = STR("in"),
				.program_version = STR("1.2.3+abc"),
				.config_digest = STR("digest") },
	};
}

/* The same, judged with 80 of 100. */
static void fill_judged(struct sample *sample)
{
	fill(sample);
	struct scored_query *scored = &sample->scored;
	sample->judge_rules = (struct record_judge_rules){
		.sample_rate = 1, .always_below = LEVEL_MEDIUM, .prices = &sample->price, .prices_count = 1
	};
	sample->rules.judge = &sample->judge_rules;
	sample->relevance =
		(struct record_judge_score){ .score = 80,
					     .reason = STR(""),
					     .status = STR("ok"),
					     .raw = STR("so: {\"score\": 80, \"reason\": \"\"}") };
	scored->judge.relevance = &sample->relevance;
	scored->judge.provider = STR("openai");
	scored->judge.model = STR("m");
	scored->provenance.prompt_digest = STR("p");
	scored->judge.decision = DECISION_ACCEPT_HIGH;
	scored->judge.unjudged_reason = STR_NONE;
	sample->label = (struct record_label){ 0.8, true, LABEL_RELEVANCE, 1 };
	scored->label = &sample->label;
	sample->weights[0] = (struct record_weight){ STR("structural"), 0.6 };
	sample->weights[1] = (struct record_weight){ STR("judge"), 0.3 };
	sample->evaluation = (struct record_evaluation){
		.score = 0.933333333333, .passed = true, .weights = sample->weights, .weights_count = 2
	};
	scored->evaluation = &sample->evaluation;
}

/* Not sampled, at a rate of 0.25, and identical to a truth that is not in the record. */
static void fill_identical(struct sample *sample, int64_t formulas)
{
	struct scored_query *scored = &sample->scored;
	fill_judged(sample);
	sample->judge_rules.sample_rate = 0.25;
	scored->event_id = STR("e-4");
	scored->judge.sampling_probability = 0.25;
	sample->correctness =
		(struct record_judge_score){ .score = 1, .reason = STR(""), .status = STR("identical") };
	scored->judge.correctness = &sample->correctness;
	scored->judge.relevance = NULL;
	scored->judge.provider = scored->judge.model = STR_NONE;
	sample->judge_rules.prices_count = 0;
	scored->judge.decision = DECISION_UNJUDGED;
	scored->judge.unjudged_reason = STR("NOT_SAMPLED");
	sample->label = (struct record_label){ 1, true, LABEL_CORRECTNESS, 1 };
	sample->evaluation.score = 1;
	sample->rules.formulas = formulas;
}

static void add_error(struct sample *sample, const char *metric, const char *code)
{
	sample->error = (struct record_error){
		.metric = str_from(metric), .code = str_from(code), .message = STR(""), .input = STR("e-1")
	};
	sample->scored.errors = &sample->error;
	sample->scored.errors_count = 1;
}

static struct recompute_report report_of(const struct sample *sample, struct arena *arena)
{
	struct recompute_report report = { .arena = arena, .release = "1.2.3" };
	recompute_record(&sample->scored, NULL, NULL, &report);
	return report;
}

static void one_that_follows(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct sample sample = { .arena = NULL };
	fill(&sample);
	struct recompute_report report = report_of(&sample, arena);
	for (size_t i = 0; i < report.differences_count; i++)
		print_message(STR_FMT ": " STR_FMT ", " STR_FMT "\n", STR_ARG(report.differences[i].field),
			      STR_ARG(report.differences[i].said), STR_ARG(report.differences[i].follows));
	assert_int_equal(report.differences_count, 0);
	assert_true(report.checked > 20);
	assert_true(report.gaps[RECOMPUTE_GAP_UPSTREAM] && report.gaps[RECOMPUTE_GAP_GENERATOR]);
	assert_false(report.gaps[RECOMPUTE_GAP_RETRIEVAL] || report.gaps[RECOMPUTE_GAP_PROBABILITY]);
	fill_judged(&sample);
	report = report_of(&sample, arena);
	for (size_t i = 0; i < report.differences_count; i++)
		print_message(STR_FMT ": " STR_FMT ", " STR_FMT "\n", STR_ARG(report.differences[i].field),
			      STR_ARG(report.differences[i].said), STR_ARG(report.differences[i].follows));
	assert_int_equal(report.differences_count, 0);
}

/* An identical answer is seen whether it is sampled or not; the formulas of before weighed it as what is
 * asked. */
static void identical_by_each_formulas(void **state)
{
	(void)state;
	static const struct {
		int64_t formulas;
		double weight;
		size_t differences;
	} cases[] = { { 2, 1, 0 }, { 2, 4, 1 }, { 1, 4, 0 }, { 1, 1, 1 } };
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct sample sample = { .arena = NULL };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		fill_identical(&sample, cases[i].formulas);
		sample.label.weight = cases[i].weight;
		assert_int_equal(report_of(&sample, arena).differences_count, cases[i].differences);
	}
	fill_identical(&sample, RECORD_FORMULAS + 1);
	assert_true(report_of(&sample, arena).gaps[RECOMPUTE_GAP_OTHER_VERSION]);
}

/* A model that overall confidence says what it says there. */
static struct model *learn(const char *rules)
{
	enum { EXAMPLES = 200 };
	static struct model_example examples[EXAMPLES];
	struct model *model = NULL;
	for (int i = 0; i < EXAMPLES; i++)
		examples[i] = (struct model_example){ .item = { .overall = opt_double(i % 10 / 10.0) },
						      .scored_at_ms = i,
						      .weight = 1,
						      .correct = i / 10 % 10 < i % 10 };
	const struct model_options options = { .kind = MODEL_MAP, .rules = str_from(rules) };
	assert_int_equal(model_fit(examples, EXAMPLES, &options, &model, NULL), ERR_OK);
	model_set_version(model, 7);
	return model;
}

static const struct model *find_model(void *context, int64_t version, size_t place)
{
	return version == 7 && place == 0 ? context : NULL;
}

static const struct recompute_settings *find_settings(void *context, str_t digest)
{
	(void)context;
	(void)digest;
	static struct recompute_settings *settings;
	if (!settings)
		settings = recompute_settings_read(STR("calibration.model_reasons=1\n"));
	return settings;
}

static bool has_all(void *context, str_t digest)
{
	return context && digest.len > 0;
}

/* What a model says of overall confidence holds under its rules alone. */
static void models_of_rules(void **state)
{
	(void)state;
	static const struct {
		const char *rules, *differs;
		size_t reasons; /* the settings ask for one */
	} cases[] = {
		{ "factors=technical source=own retrieval=1,0,0,0,0,0,0,1,0.75,0.3,0.2", NULL, 1 },
		{ "factors=technical source=own retrieval=1,0,0,0,0,0,0,1,0.75,0.3,0.2",
		  "confidence.probability.reasons", 0 },
		{ "factors=technical,generator source=own retrieval=formula", "confidence.probability", 1 },
	};
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sample sample = { .arena = NULL };
		struct model_estimate estimate;
		_cleanup_(model_cleanup) struct model *model = learn(cases[i].rules);
		const struct recompute_archive archive = { .context = model,
							   .has = has_all,
							   .find_model = find_model,
							   .find_settings = find_settings };
		struct recompute_report report = { .arena = arena, .release = "1.2.3" };
		fill(&sample);
		const struct model_case item = { .segment = { STR("web"), STR_NONE, STR_NONE },
						 .overall = opt_double(1) };
		assert_true(model_estimate(model, &item, &estimate));
		struct record_probability probability = { .value = estimate.value,
							  .low = estimate.low,
							  .high = estimate.high,
							  .labels = estimate.labels,
							  .segment_labels = estimate.segment_labels,
							  .model = 7 };
		struct model_contribution addend;
		assert_int_equal(model_contributions(model, &item, &addend, 1), 1);
		struct record_reason reason = { str_from(addend.name), addend.value, addend.addend };
		probability.reasons = &reason;
		probability.reasons_count = cases[i].reasons;
		sample.scored.confidence.probability = &probability;
		recompute_record(&sample.scored, &archive, NULL, &report);
		assert_int_equal(report.differences_count, cases[i].differs != NULL);
		if (report.differences_count)
			assert_string_equal(report.differences[0].field.ptr, cases[i].differs);
	}
}

/* One change each, and the first field in which it shows. */
static void one_change_at_a_time(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct sample sample = { .arena = NULL };
#define CHANGED(change, shows)                                                                               \
	do {                                                                                                 \
		fill_judged(&sample);                                                                        \
		change;                                                                                      \
		struct recompute_report report = report_of(&sample, arena);                                  \
		assert_true(report.differences_count > 0);                                                   \
		assert_string_equal(report.differences[0].field.ptr, shows);                                 \
	} while (0)
	CHANGED(sample.technical.score += 1e-6, "confidence.technical.score");
	CHANGED(sample.technical.valid = false, "confidence.technical.score");
	CHANGED(sample.scored.confidence.overall.value -= 2e-9, "confidence.overall");
	CHANGED(sample.scored.confidence.level = LEVEL_HIGH, "confidence.level");
	CHANGED(sample.scored.confidence.level_by = STR("probability"), "confidence.probability");
	CHANGED(sample.scored.confidence.limiting_factor = STR("advisory"), "confidence.limiting_factor");
	CHANGED(sample.scored.structure.structural = 0.5, "structure.structural");
	CHANGED(sample.scored.safety.doubt = STR("why"), "safety.doubt");
	CHANGED(sample.relevance.score = 81, "judge.relevance.score");
	CHANGED(sample.relevance.status = STR("judge_timeout"), "judge.relevance.score");
	CHANGED(sample.scored.judge.decision = DECISION_ACCEPT, "judge.decision");
	CHANGED(sample.scored.judge.sampling_probability = 0.5, "judge.sampling_probability");
	CHANGED(sample.scored.judge.cost = opt_double(1), "judge.cost");
	CHANGED(sample.evaluation.score += 1e-6, "evaluation.score");
	CHANGED(sample.evaluation.passed = false, "evaluation.passed");
	CHANGED(sample.evaluation.degraded = true, "evaluation.degraded");
	CHANGED(sample.weights[1].value = 0.35, "evaluation.weights");
	CHANGED(sample.evaluation.failed_by = STR("score"), "evaluation.failed_by");
	CHANGED(sample.label.value = 0.7, "label.value");
	CHANGED(sample.label.source = LABEL_RESULT, "label.source");
	CHANGED(sample.label.weight = 2, "label.weight");
	CHANGED(sample.scored.label = NULL, "label");
	CHANGED(fill_identical(&sample, 1), "label.weight");
	CHANGED(sample.disposition.action = RECORD_ACTION_USE, "disposition.action");
	CHANGED(sample.reason.code = STR("high_confidence"), "disposition.reasons");
	CHANGED(sample.reason.text = STR("confidence 0.99"), "disposition.reasons.text");
	CHANGED(sample.recommendation.text = STR("use it"), "recommendations.text");
	CHANGED(sample.relevance.score = 80.5, "judge.relevance.score");
	CHANGED(sample.relevance.status = STR("judge_x"), "judge.relevance.status");
	CHANGED(sample.relevance.reason = STR("other"), "judge.relevance.reason");
	CHANGED(sample.disposition.reasons_count = 0, "disposition.reasons");
	CHANGED(sample.scored.review_required = true, "review_required");
	CHANGED(sample.recommendation.code = STR("USE"), "recommendations");
	CHANGED(sample.scored.recommendations_count = 0, "recommendations");
	CHANGED(sample.rules.pass_score = 0.95, "evaluation.passed");
	CHANGED(sample.relevance.raw = STR_NONE, "judge.relevance.raw");
	CHANGED(sample.relevance.cached = true, "judge.relevance.raw");
	CHANGED(sample.scored.judge.provider = STR_NONE, "judge.provider");
	CHANGED(sample.scored.judge.model = STR_NONE, "judge.model");
	CHANGED(sample.judge_rules.prices_count = 0, "rules.judge.prices");
	CHANGED(sample.scored.provenance.prompt_digest = STR_NONE, "provenance.prompt_digest");
	CHANGED(sample.rules.retrieval = &sample.retrieval_rules, "rules.retrieval");
	CHANGED(sample.rules.result = &sample.result_rules, "rules.result");
	CHANGED(add_error(&sample, "relevance", "judge_timeout"), "errors");
	CHANGED(sample.scored.disposition = NULL, "disposition");
	CHANGED(fill_identical(&sample, 2); sample.correctness.status = STR("ok"), "judge.correctness.raw");
	CHANGED(fill_identical(&sample, 2); sample.correctness.raw = STR("{}"), "judge.correctness.raw");
	CHANGED(fill_identical(&sample, 2); sample.scored.judge.model = STR("m"), "judge.model");
#undef CHANGED
}

static void what_is_of_another_version_is_a_gap(void **state)
{
	(void)state;
	static const char *const versions[] = { "1.2.4", "1.2.30+abc", "1.2", "" };
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct sample sample = { .arena = NULL };
	for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
		fill(&sample);
		sample.scored.structure.structural = 0;
		sample.scored.provenance.program_version = str_from(versions[i]);
		struct recompute_report report = report_of(&sample, arena);
		assert_true(report.gaps[RECOMPUTE_GAP_OTHER_VERSION] && report.checked == 0);
		assert_int_equal(report.differences_count, 0);
	}
	sample.scored.rules = NULL;
	assert_true(report_of(&sample, arena).gaps[RECOMPUTE_GAP_OLD]);
	assert_int_equal(report_of(&sample, arena).differences_count, 0);
	/* which this very program has never left out */
	sample.scored.provenance.program_version = str_from(record_program_version());
	assert_int_equal(report_of(&sample, arena).differences_count, 1);
	fill(&sample);
	sample.factor = RECORD_FACTOR_OTHER;
	assert_true(report_of(&sample, arena).gaps[RECOMPUTE_GAP_OTHER_VERSION]);
}

/* ---- rules ---- */

#define SETTINGS_OF_ALL                                                                                      \
	"diagnostic.source=own\nconfidence.factors=[technical]\nconfidence.technical_alone=medium\n"         \
	"confidence.thresholds.high=0.90000000000000002\nconfidence.thresholds.medium=0.7\n"                 \
	"confidence.thresholds.low=0.5\nevaluation.pass_score=0.69999999999999996\n"                         \
	"advisories.low_confidence_below=0.7\nadvisories.low_relevance_below=50\n"                           \
	"records.redact_literals=false\nretrieval.weights.top=0.3\nretrieval.weights.gap=0.2\n"              \
	"retrieval.weights.consensus=0.15\nretrieval.weights.agreement=0.15\n"                               \
	"retrieval.weights.low_spread=0.1\nretrieval.weights.graph=0.05\n"                                   \
	"retrieval.weights.low_diversity=0.05\nretrieval.rrf_scale=1\nretrieval.consensus_above=0.75\n"      \
	"retrieval.gap_scale=0.3\nretrieval.spread_scale=0.2\nretrieval.thresholds.high=0.85\n"              \
	"retrieval.thresholds.medium=0.7\nretrieval.thresholds.low=0.5\ntargets[0].name=\"shop\"\n"          \
	"targets[0].engine=sqlite\ntargets[1].name=\"sales\"\ntargets[1].engine=mariadb\n"                   \
	"agreement.execute=false\ncalibration.model_reasons=1\n"

#define SETTINGS_OF_JUDGE                                                                                    \
	SETTINGS_OF_ALL "judge.sample_rate=1\njudge.always_below=MEDIUM_CONFIDENCE\njudge.unsafe=false\n"    \
			"judge.prompt_token_price=2\njudge.completion_token_price=3\n"

#define SETTINGS_OF_PANEL                                                                                    \
	SETTINGS_OF_ALL "judges[0].name=\"a\"\njudges[0].prompt_token_price=1\n"                             \
			"judges[0].completion_token_price=0\njudges[1].name=\"one\"\n"                       \
			"judges[1].prompt_token_price=2\njudges[1].completion_token_price=3\n"               \
			"panel.sample_rate=1\npanel.always_below=MEDIUM_CONFIDENCE\npanel.unsafe=false\n"

static const struct recompute_settings *settings_of(void *context, str_t digest)
{
	return str_is(digest, "digest") ? context : NULL;
}

static const struct catalog *no_catalog(void *context, str_t digest)
{
	(void)context;
	(void)digest;
	return NULL;
}

static bool has_any(void *context, str_t digest)
{
	(void)context;
	(void)digest;
	return true;
}

/* The judged one, with retrieval; by the judge alone, or by a panel of one. */
struct ruled {
	struct sample sample;
	struct record_retrieval retrieval;
	struct record_price price;
	struct record_panelist panelist;
};

static void fill_ruled(struct ruled *ruled, bool panel)
{
	struct scored_query *scored = &ruled->sample.scored;
	fill_judged(&ruled->sample);
	ruled->retrieval = (struct record_retrieval){
		.confidence = 0.9,
		.level = LEVEL_HIGH,
		.interpretation = STR("STRONG"),
		.interpretation_text = str_from(retrieval_interpretation_text(RETRIEVAL_STRONG)),
		.action_text = str_from(retrieval_action_text(RETRIEVAL_STRONG)),
	};
	scored->confidence.retrieval = &ruled->retrieval;
	ruled->price = (struct record_price){ 2, 3 };
	ruled->sample.judge_rules.prices = &ruled->price;
	ruled->sample.judge_rules.prices_count = 1;
	scored->judge.cost = opt_double(0);
	if (!panel)
		return;
	ruled->panelist = (struct record_panelist){ .name = STR("one"),
						    .provider = STR("openai"),
						    .model = STR("m"),
						    .relevance = &ruled->sample.relevance,
						    .prompt_digest = STR("p1 p2"),
						    .cost = opt_double(0) };
	ruled->panelist.relevance = ARENA_NEW(ruled->sample.arena, struct record_judge_score);
	*ruled->panelist.relevance = ruled->sample.relevance;
	ruled->sample.relevance.raw = STR_NONE;
	ruled->sample.relevance.reason = STR("one 80");
	scored->judge.provider = scored->judge.model = STR_NONE;
	scored->judge.panel = &ruled->panelist;
	scored->judge.panel_count = 1;
	scored->provenance.prompt_digest = STR("p1 p2");
}

static struct recompute_report ruled_report(const struct ruled *ruled, const char *text, struct arena *arena)
{
	struct recompute_settings *settings = recompute_settings_read(str_from(text));
	const struct recompute_archive archive = {
		.context = settings, .has = has_any, .find_catalog = no_catalog, .find_settings = settings_of
	};
	struct recompute_report report = { .arena = arena, .release = "1.2.3" };
	assert_non_null(settings);
	recompute_record(&ruled->sample.scored, &archive, NULL, &report);
	recompute_settings_free(settings);
	for (size_t i = 0; i < report.differences_count; i++)
		print_message(STR_FMT ": " STR_FMT ", " STR_FMT "\n", STR_ARG(report.differences[i].field),
			      STR_ARG(report.differences[i].said), STR_ARG(report.differences[i].follows));
	return report;
}

static bool has_difference(const struct recompute_report *report, const char *field)
{
	for (size_t i = 0; i < report->differences_count; i++)
		if (str_is(report->differences[i].field, field))
			return true;
	return false;
}

static void rules_against_their_configuration(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct ruled ruled = { .sample = { .arena = arena } };
	for (int panel = 0; panel < 2; panel++) {
		const char *settings = panel ? SETTINGS_OF_PANEL : SETTINGS_OF_JUDGE;
		fill_ruled(&ruled, panel);
		struct recompute_report report = ruled_report(&ruled, settings, arena);
		assert_int_equal(report.differences_count, 0);
		assert_false(report.gaps[RECOMPUTE_GAP_RULES]);
#define OTHER(change, field)                                                                                 \
	do {                                                                                                 \
		fill_ruled(&ruled, panel);                                                                   \
		change;                                                                                      \
		report = ruled_report(&ruled, settings, arena);                                              \
		assert_true(has_difference(&report, field));                                                 \
	} while (0)
		struct record_rules *rules = &ruled.sample.rules;
		OTHER(rules->diagnostic_source = RECORD_SOURCE_WORST, "rules.diagnostic_source");
		OTHER(ruled.sample.factor = RECORD_FACTOR_GENERATOR, "rules.factors");
		OTHER(rules->factors_count = 0, "rules.factors");
		OTHER(rules->technical_alone = LEVEL_HIGH, "rules.technical_alone");
		OTHER(rules->thresholds.high = 0.91, "rules.thresholds.high");
		OTHER(rules->pass_score = 0.71, "rules.pass_score");
		OTHER(rules->low_confidence_below = 0.6, "rules.low_confidence_below");
		OTHER(rules->low_relevance_below = 49, "rules.low_relevance_below");
		OTHER(rules->redacted = true, "rules.redacted");
		OTHER(ruled.sample.judge_rules.sample_rate = 0.5, "rules.judge.sample_rate");
		OTHER(ruled.sample.judge_rules.always_below = LEVEL_LOW, "rules.judge.always_below");
		OTHER(ruled.sample.judge_rules.unsafe = true, "rules.judge.unsafe");
		OTHER(ruled.price.prompt = 2.5, "rules.judge.prices.prompt");
		OTHER(ruled.price.completion = 2.5, "rules.judge.prices.completion");
		OTHER(rules->judge = NULL, "rules.judge");
		OTHER(ruled.sample.relevance.raw = panel ? STR("{}") : STR_NONE, "judge.relevance.raw");
		struct record_agreement agreement = { .results = opt_double(1), .texts = 3 };
		OTHER(ruled.sample.scored.confidence.agreement = &agreement, "confidence.agreement.results");
		struct record_retrieval_rules retrieval = { .rrf_scale = 2 };
		OTHER(rules->retrieval = &retrieval, "rules.retrieval.rrf_scale");
		OTHER(rules->retrieval = &retrieval, "rules.retrieval.thresholds.low");
		OTHER(rules->retrieval = &retrieval, "rules.retrieval.weights.top");
		OTHER(ruled.panelist.prompt_digest = STR("p1");
		      ruled.sample.scored.provenance.prompt_digest = panel ? STR("p1 p2") : STR("p");
		      rules->pass_score = panel ? rules->pass_score : 0.71,
		      panel ? "provenance.prompt_digest" : "rules.pass_score");
#undef OTHER
	}
}

/* A judge's failure is an error, and the other way round; so is what the event has out of range. */
static void errors_follow(void **state)
{
	(void)state;
	static const struct {
		const char *status, *metric, *code;
		double estimate;
		bool differs;
	} cases[] = {
		{ "judge_timeout", "relevance", "judge_timeout", 0.5, false },
		{ "judge_timeout", "relevance", "judge_refused", 0.5, true },
		{ "judge_timeout", "correctness", "judge_timeout", 0.5, true },
		{ "judge_timeout", NULL, NULL, 0.5, true },
		{ "ok", NULL, NULL, 0.5, false },
		{ "ok", "relevance", "judge_timeout", 0.5, true },
		{ "ok", "generator", "input_out_of_range", 0.5, true },
		{ "ok", "generator", "input_out_of_range", 1.5, false },
		{ "ok", NULL, NULL, 1.5, true },
		{ "ok", "agreement", "candidates_limit", 0.5, true },
	};
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct sample sample = { .arena = NULL };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct generated_query input = { .event_id = STR("e-1"),
						 .application = STR("web"),
						 .sql = STR("SELECT 1"),
						 .dialect = ENUM_ABSENT,
						 .generator_confidence = opt_double(cases[i].estimate) };
		fill_judged(&sample);
		sample.scored.input = &input;
		sample.relevance.status = str_from(cases[i].status);
		if (cases[i].metric)
			add_error(&sample, cases[i].metric, cases[i].code);
		struct recompute_report report = report_of(&sample, arena);
		assert_int_equal(has_difference(&report, "errors"), cases[i].differs);
	}
}

/* So is what the truth has out of range, each by itself; and the truth that was met is one of them. */
static void truths_follow(void **state)
{
	(void)state;
	static const struct {
		opt_double_t similarity, tolerance;
		bool reported, differs;
	} cases[] = {
		{ { true, 1 }, { true, 0 }, false, false },  { { true, 1 }, { true, 0 }, true, true },
		{ { true, 1.5 }, { true, 0 }, true, false }, { { true, 1.5 }, { true, 0 }, false, true },
		{ { true, 1 }, { true, -1 }, true, false },  { { true, 1.5 }, { true, -1 }, true, true },
		{ { false, 0 }, { true, 0 }, true, false },  { { false, 0 }, { true, 0 }, false, false },
	};
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct sample sample = { .arena = NULL };
	str_t alternative = STR("SELECT 2");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct truth_comparison compare = { .absolute_tolerance = cases[i].tolerance };
		struct ground_truth truth = { .sql = STR("SELECT 1"),
					      .alternatives = &alternative,
					      .alternatives_count = 1,
					      .similarity = cases[i].similarity,
					      .compare = &compare };
		struct generated_query input = { .event_id = STR("e-1"),
						 .application = STR("web"),
						 .sql = STR("SELECT 1"),
						 .dialect = ENUM_ABSENT,
						 .ground_truth = &truth };
		struct record_result_validation result = { .status = STR("COMPARED"),
							   .truth_index = (int64_t)i };
		fill(&sample);
		sample.scored.input = &input;
		sample.scored.result_validation = &result;
		if (cases[i].reported)
			add_error(&sample, "result_validation", "input_out_of_range");
		struct recompute_report report = report_of(&sample, arena);
		assert_int_equal(has_difference(&report, "errors"), cases[i].differs);
		assert_int_equal(has_difference(&report, "result_validation.truth_index"), i > 1);
	}
}

/* What was not run has returned nothing; an estimate's bounds are of one number of cases. */
static void results_hold_together(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct sample sample = { .arena = NULL };
	struct record_result_validation result;
	struct recompute_report report;
	/* 95 of 100 cases */
	static const double low = 0.8882495307680808, high = 0.9784563208456319;
	static const char digest[] = "0123456789abcdef0123456789abcdef";
#define RESULT_OF(change, field, differs)                                                                    \
	do {                                                                                                 \
		fill(&sample);                                                                               \
		sample.scored.target = STR("shop");                                                          \
		sample.scored.result_validation = &result;                                                   \
		result = (struct record_result_validation){ .status = STR("COMPARED"),                       \
							    .score = 0.95,                                   \
							    .schema_match = true,                            \
							    .match_confidence = LEVEL_HIGH,                  \
							    .weight = 1,                                     \
							    .content_match_rate = 0.95,                      \
							    .truncated = true,                               \
							    .match_rate_low = opt_double(low),               \
							    .match_rate_high = opt_double(high) };           \
		change;                                                                                      \
		report = report_of(&sample, arena);                                                          \
		assert_int_equal(has_difference(&report, "result_validation." field), differs);              \
	} while (0)
	RESULT_OF((void)0, "match_rate_low", false);
	RESULT_OF((void)0, "match_rate_high", false);
	RESULT_OF(result.match_rate_low.value += 1e-6, "match_rate_low", true);
	RESULT_OF(result.match_rate_high.value += 1e-6, "match_rate_low", true);
	RESULT_OF(result.content_match_rate += 1e-6, "match_rate_low", true);
	RESULT_OF(result.match_rate_high.set = false, "match_rate_high", true);
	RESULT_OF(result.match_rate_low.set = false, "match_rate_high", true);
	RESULT_OF(result.match_rate_low.value = result.match_rate_high.value = 0.95, "match_rate_low", false);
	RESULT_OF(result.content_match_rate = result.match_rate_high.value = 1, "match_rate_low", false);
	RESULT_OF(result.content_match_rate = result.match_rate_low.value = 0, "match_rate_low", false);
	RESULT_OF(result.content_match_rate = 0, "match_rate_low", true);
	RESULT_OF(result.schema_match = false, "match_rate_low", true);
	const struct record_execution ten = { .rows = 10 };
	const opt_int64_t all = { true, 10 }, one = { true, 1 };
	RESULT_OF(result.match_rate_low = result.match_rate_high = (opt_double_t)OPT_NONE;
		  result.generated = result.truth = ten; result.rows_matched = all, "rows_matched", false);
	RESULT_OF(result.match_rate_low = result.match_rate_high = (opt_double_t)OPT_NONE;
		  result.generated = ten; result.rows_matched = one, "rows_matched", true);
	RESULT_OF(result.generated.digest = str_from(digest), "generated.digest", false);
	RESULT_OF(result.generated.digest = STR("0123"), "generated.digest", true);
	RESULT_OF(result.truth.digest = str_from(digest); result.truth.more = true, "truth.digest", true);
	RESULT_OF(result.truth.digest = str_from(digest); sample.rules.redacted = true, "truth.digest", true);
	for (int invalid = 0; invalid < 2; invalid++) {
		const str_t status = invalid ? STR("INVALID") : STR("UNSAFE");
		RESULT_OF(result.status = status, "generated.rows", false);
		RESULT_OF(result.status = status, "status", true);
		RESULT_OF(result.status = status; sample.technical.valid = !invalid;
			  sample.scored.safety.verdict = invalid ? VERDICT_SAFE : VERDICT_UNSAFE, "status",
			  false);
		RESULT_OF(result.status = status; result.generated.rows = 1, "generated.rows", true);
		RESULT_OF(result.status = status; result.truth.more = true, "truth.more", true);
		RESULT_OF(result.status = status; result.truth.time_ms = 1, "truth.time_ms", true);
		RESULT_OF(result.status = status;
			  result.truth.digest = str_from(digest), "truth.digest", true);
	}
#undef RESULT_OF
}

/* No line of another kind makes a configuration. */
static void settings_are_lines_of_paths_and_values(void **state)
{
	(void)state;
	struct recompute_settings *settings = recompute_settings_read(STR("a.b=1\nc=\nd=x=y"));
	assert_non_null(settings);
	assert_true(str_is(recompute_setting(settings, "a.b"), "1"));
	assert_true(str_is(recompute_setting(settings, "c"), ""));
	assert_true(str_is(recompute_setting(settings, "d"), "x=y"));
	assert_false(str_present(recompute_setting(settings, "e")));
	recompute_settings_free(settings);
	assert_null(recompute_settings_read(STR("")));
	assert_null(recompute_settings_read(STR("a=1\nrelevance.txt 12\n")));
}

/* A text that is no statement is told with the dialect of its target, which the configuration has. */
static void reasons_name_the_dialect_of_the_target(void **state)
{
	(void)state;
	static const struct {
		str_t target;
		const char *text;
	} cases[] = {
		{ STR_NONE, "no statement of PostgreSQL: the text is not exactly one statement" },
		{ { "shop", 4 }, "no statement of SQLite: the text is not exactly one statement" },
		{ { "sales", 5 }, "no statement of MySQL: the text is not exactly one statement" },
	};
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct ruled ruled = { .sample = { .arena = arena } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct generated_query input = { .event_id = STR("e-1"),
						 .application = STR("web"),
						 .sql = STR(""),
						 .dialect = ENUM_ABSENT,
						 .target = cases[i].target };
		fill_ruled(&ruled, false);
		ruled.sample.scored.target = cases[i].target;
		ruled.sample.scored.input = &input;
		ruled.sample.technical.valid = false;
		ruled.sample.reason = (struct record_recommendation){ STR("invalid_sql"), STR("?") };
		struct recompute_report report = ruled_report(&ruled, SETTINGS_OF_JUDGE, arena);
		bool found = false;
		for (size_t j = 0; j < report.differences_count; j++)
			found |= str_is(report.differences[j].field, "disposition.reasons.text") &&
				 memmem(report.differences[j].follows.ptr, report.differences[j].follows.len,
					cases[i].text, strlen(cases[i].text));
		assert_true(found);
	}
}

/* ---- many ---- */

enum { RECORDS = 3000 };

static bool is_spoilt(int number)
{
	return number % 7 == 3;
}

/* What is said of each comes in their order, whichever thread is faster. */
static void many_by_several_threads(void **state)
{
	(void)state;
	_cleanup_(codec_cleanup) struct codec *codec = NULL;
	_cleanup_(buf_free) struct buf message = BUF_INIT;
	struct recompute_totals totals;
	struct sample sample = { .arena = NULL };
	char *text = NULL;
	size_t size = 0;
	assert_int_equal(codec_new(&(const struct codec_options){ 0 }, &codec, NULL), ERR_OK);
	FILE *out = open_memstream(&text, &size);
	struct recompute_stream *stream = recompute_stream_start(&(const struct recompute_stream_options){
		.codec = codec, .release = "1.2.3", .threads = 4, .json = false, .out = out });
	int64_t spoilt = 0;
	for (int i = 0; i < RECORDS; i++) {
		fill(&sample);
		sample.scored.structure.structural = is_spoilt(i) ? 0.25 : 1;
		spoilt += is_spoilt(i);
		buf_reset(&message);
		assert_int_equal(codec_encode_scored(codec, &sample.scored, &message), ERR_OK);
		recompute_stream_add(stream, buf_str(&message), (struct recompute_place){ .line = i + 1 });
	}
	recompute_stream_add(stream, STR("{\"error\": {}, \"line\": 1}"), (struct recompute_place){ 0 });
	recompute_stream_add(stream, STR("rubbish"), (struct recompute_place){ .partition = 3, .offset = 7 });
	recompute_stream_add_fault(stream, "it is too long", (struct recompute_place){ .line = 9 });
	recompute_stream_end(stream, &totals);
	fclose(out);
	assert_true(totals.records == RECORDS && totals.differing == spoilt && totals.differences == spoilt);
	assert_true(totals.unreadable == 2 && totals.refused == 1);
	assert_true(totals.gaps[RECOMPUTE_GAP_GENERATOR] == RECORDS);
	const char *at = text;
	for (int i = 0; i < RECORDS; i++) {
		char line[120];
		if (!is_spoilt(i))
			continue;
		int len = snprintf(line, sizeof line,
				   "e-1 (line %d, of in/0@0): structure.structural is 0.25, and 1 follows\n",
				   i + 1);
		assert_memory_equal(at, line, (size_t)len);
		at += len;
	}
	assert_non_null(strstr(at, "partition 3 offset 7 is no scored record: "));
	assert_non_null(strstr(at, "line 9 is no scored record: it is too long\n3000 records, "));
	assert_non_null(strstr(at, "not checked in 3000 records: confidence.generator (the event is not in"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_follows),
		cmocka_unit_test(identical_by_each_formulas),
		cmocka_unit_test(models_of_rules),
		cmocka_unit_test(one_change_at_a_time),
		cmocka_unit_test(what_is_of_another_version_is_a_gap),
		cmocka_unit_test(rules_against_their_configuration),
		cmocka_unit_test(errors_follow),
		cmocka_unit_test(truths_follow),
		cmocka_unit_test(results_hold_together),
		cmocka_unit_test(settings_are_lines_of_paths_and_values),
		cmocka_unit_test(reasons_name_the_dialect_of_the_target),
		cmocka_unit_test(many_by_several_threads),
	};
	return cmocka_run_group_tests_name("audit/recompute/recompute", tests, NULL, NULL);
}
