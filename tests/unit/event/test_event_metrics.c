#include "event/event_metrics.h"

#include "event/event.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static uint64_t sum(const _Atomic uint64_t *counts, size_t count)
{
	uint64_t total = 0;
	for (size_t i = 0; i < count; i++)
		total += event_metrics_get(&counts[i]);
	return total;
}

static uint64_t observed(const struct histogram *histogram)
{
	return sum(histogram->buckets, HISTOGRAM_BUCKETS);
}

static void a_scored_event_is_counted_by_what_its_record_says(void **state)
{
	struct event_metrics event_metrics = { 0 };
	struct record_judge_score relevance = { .status = STR("ok"), .cached = true };
	struct record_judge_score correctness = { .status = STR("identical") };
	struct record_result_validation validation = { .status = STR("TIMEOUT") };
	struct record_evaluation evaluation = { .passed = true };
	struct record_grade safe = { .classification = STR("FALSE_NEGATIVE") },
			    accepted = { .classification = STR("FALSE_ACCEPTANCE") };
	struct record_grading grading = { .safety = &safe, .upstream_validation = &accepted };
	struct record_disposition disposition = { .action = RECORD_ACTION_VERIFY };
	struct record_label label = { .correct = true, .source = LABEL_CORRECTNESS, .weight = 2.5 };
	struct scored_query scored = {
		.grading = &grading,
		.confidence = { .level = LEVEL_MEDIUM, .overall = { true, 0.8 } },
		.label = &label,
		.disposition = &disposition,
		.safety = { .verdict = VERDICT_SAFE },
		.result_validation = &validation,
		.judge = { .relevance = &relevance, .correctness = &correctness, .cost = { true, 0.0125 } },
		.evaluation = &evaluation,
	};
	str_t kinds[] = { STR("LOW_CONFIDENCE"), STR("WRONG_ANSWER") };
	struct record_recommendation reasons[] = { { STR("result_wrong"), STR("why") },
						   { STR("low_confidence"), STR("") } };
	struct advisory advisory = { .kinds = kinds,
				     .kinds_count = 2,
				     .reasons = reasons,
				     .reasons_count = 2,
				     .level = ENUM_ABSENT,
				     .action = RECORD_ACTION_VERIFY,
				     .summary = STR("r\u00e4t") };
	struct record_error errors[] = { { .err = ERR_TARGET_LOST }, { .err = ERR_TARGET_LOST } };
	struct output outputs[] = { { .topic = OUTPUT_SCORED, .value = STR("12345") },
				    { .topic = OUTPUT_ADVISORY, .value = STR("123") } };
	struct event event = {
		.scored = &scored,
		.advisory = &advisory,
		.advisory_kinds = 1u << ADVISORY_LOW_CONFIDENCE | 1u << ADVISORY_WRONG_ANSWER,
		.facts.stages = { { STR("decode"), STR("ok"), 5 },
				  { STR("result_validation"), STR("failed"), 5000000 },
				  { STR("relevance"), STR("skipped"), 0 } },
		.facts.stages_count = 3,
		.facts.errors = errors,
		.facts.errors_count = 2,
		.publication = { .outputs = outputs, .outputs_count = 2 },
	};
	(void)state;
	event_metrics.recent = recent_new();
	event_metrics_event(&event_metrics, &event);
	const struct event_metrics_band *band = &event_metrics.bands[LABEL_CORRECTNESS][8];
	assert_int_equal(event_metrics_get(&band->events), 1);
	assert_int_equal(event_metrics_get(&band->weight), 2500000);
	assert_int_equal(event_metrics_get(&band->correct), 2500000);
	assert_int_equal(event_metrics_get(&band->confidence), 2000000);
	assert_int_equal(event_metrics_get(&event_metrics.actions[RECORD_ACTION_VERIFY]), 1);
	struct recent_advisory told[RECENT_ADVISORIES];
	assert_int_equal(recent_read(event_metrics.recent, told), 1);
	assert_string_equal(told[0].kinds, "LOW_CONFIDENCE, WRONG_ANSWER");
	assert_string_equal(told[0].codes, "result_wrong, low_confidence");
	assert_string_equal(told[0].action, "VERIFY");
	assert_string_equal(told[0].level, "");
	recent_free(event_metrics.recent);
	event_metrics.recent = NULL;
	assert_int_equal(event_metrics_get(&event_metrics.scored[LEVEL_MEDIUM]), 1);
	assert_int_equal(sum(event_metrics.scored, EVENT_METRICS_LEVELS), 1);
	assert_int_equal(sum(event_metrics.dead, ERR_COUNT_), 0);
	assert_int_equal(event_metrics_get(&event_metrics.errors[ERR_TARGET_LOST]), 2);
	assert_int_equal(sum(event_metrics.errors, ERR_COUNT_), 2);
	assert_int_equal(event_metrics_get(&event_metrics.advisories[ADVISORY_LOW_CONFIDENCE]), 1);
	assert_int_equal(event_metrics_get(&event_metrics.advisories[ADVISORY_WRONG_ANSWER]), 1);
	assert_int_equal(event_metrics_get(&event_metrics.advisories[ADVISORY_UNSAFE_QUERY]), 0);
	assert_int_equal(event_metrics_get(&event_metrics.verdicts[VERDICT_SAFE]), 1);
	assert_int_equal(event_metrics_get(&event_metrics.validations[VALIDATION_TIMEOUT]), 1);
	assert_int_equal(event_metrics_get(&event_metrics.evaluations[true]), 1);
	assert_int_equal(sum(event_metrics.gradings[0], EVENT_METRICS_CLASSES), 1);
	assert_int_equal(event_metrics_get(&event_metrics.gradings[0][3]), 1);
	assert_string_equal(event_metrics_class_name(3), "FALSE_NEGATIVE");
	assert_int_equal(sum(event_metrics.gradings[1], EVENT_METRICS_CLASSES), 1);
	assert_int_equal(event_metrics_get(&event_metrics.gradings[1][7]), 1);
	assert_string_equal(event_metrics_class_name(7), "FALSE_ACCEPTANCE");
	assert_string_equal(event_metrics_validator_name(1), "upstream");
	assert_int_equal(event_metrics_get(&event_metrics.answers[0][QUESTION_RELEVANCE][ANSWER_CACHED]), 1);
	assert_int_equal(event_metrics_get(&event_metrics.answers[0][QUESTION_CORRECTNESS][ANSWER_IDENTICAL]),
			 1);
	assert_int_equal(event_metrics_get(&event_metrics.cost_nano[0]), 12500000);
	assert_int_equal(event_metrics_get(&event_metrics.records[OUTPUT_SCORED]), 1);
	assert_int_equal(event_metrics_get(&event_metrics.bytes[OUTPUT_SCORED]), 5);
	assert_int_equal(event_metrics_get(&event_metrics.bytes[OUTPUT_ADVISORY]), 3);
	assert_int_equal(observed(&event_metrics.stages[STAGE_DECODE]), 1);
	assert_int_equal(observed(&event_metrics.stages[STAGE_RESULT]), 1);
	assert_int_equal(observed(&event_metrics.stages[STAGE_RELEVANCE]), 0);
	assert_int_equal(observed(&event_metrics.whole), 1);
}

static void without_factors_there_is_no_level(void **state)
{
	struct event_metrics event_metrics = { 0 };
	struct scored_query scored = { .confidence = { .level = ENUM_ABSENT } };
	struct event event = { .scored = &scored };
	(void)state;
	event_metrics_event(&event_metrics, &event);
	assert_int_equal(event_metrics_get(&event_metrics.scored[EVENT_METRICS_NO_LEVEL]), 1);
}

static void a_dead_letter_is_no_scored_event(void **state)
{
	struct event_metrics event_metrics = { 0 };
	struct output output = { .topic = OUTPUT_DEAD_LETTER, .value = STR("1") };
	struct event unreadable = { .dead_reason = ERR_JSON_SYNTAX,
				    .publication = { .outputs = &output, .outputs_count = 1 } };
	struct scored_query scored = { .confidence = { .level = LEVEL_HIGH } };
	struct event refused = unreadable;
	(void)state;
	refused.dead_reason = ERR_OUTPUT_REFUSED;
	refused.scored = &scored;
	event_metrics_event(&event_metrics, &unreadable);
	event_metrics_event(&event_metrics, &refused);
	assert_int_equal(sum(event_metrics.scored, EVENT_METRICS_LEVELS), 0);
	assert_int_equal(event_metrics_get(&event_metrics.dead[ERR_JSON_SYNTAX]), 1);
	assert_int_equal(event_metrics_get(&event_metrics.dead[ERR_OUTPUT_REFUSED]), 1);
	assert_int_equal(event_metrics_get(&event_metrics.records[OUTPUT_DEAD_LETTER]), 2);
	assert_int_equal(event_metrics_get(&event_metrics.verdicts[VERDICT_SAFE]),
			 1); /* it was analysed all the same */
}

static void answers_of_the_judge_are_told_apart(void **state)
{
	static const struct {
		const char *status;
		enum event_metrics_answer answer;
	} cases[] = {
		{ "ok", ANSWER_VERDICT },
		{ "identical", ANSWER_IDENTICAL },
		{ "judge_saturated", ANSWER_SATURATED },
		{ "judge_tokens_spent", ANSWER_SPENT },
		{ "judge_timeout", ANSWER_TIMEOUT },
		{ "judge_unavailable", ANSWER_FAILED },
		{ "shutting_down", ANSWER_FAILED },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct event_metrics event_metrics = { 0 };
		struct record_judge_score relevance = { .status = str_from(cases[i].status) };
		struct scored_query scored = { .judge = { .relevance = &relevance } };
		struct event event = { .scored = &scored };
		event_metrics_event(&event_metrics, &event);
		assert_int_equal(
			event_metrics_get(&event_metrics.answers[0][QUESTION_RELEVANCE][cases[i].answer]), 1);
		assert_int_equal(sum(event_metrics.answers[0][QUESTION_CORRECTNESS], ANSWER_COUNT_), 0);
	}
}

/* What nobody had to be asked is the first's, and else the mean is nobody's answer. */
static void answers_of_several_judges_are_counted_apart(void **state)
{
	struct event_metrics event_metrics = { 0 };
	struct record_judge_score said = { .status = STR("ok") }, late = { .status = STR("judge_timeout") },
				  identical = { .status = STR("identical") };
	struct record_panelist panel[] = {
		{ .relevance = &said, .cost = { true, 0.5 } },
		{ .relevance = &late, .correctness = &late },
		{ .relevance = &said, .correctness = &said, .cost = { true, 0.25 } }
	};
	struct scored_query scored = { .judge = { .relevance = &said,
						  .correctness = &said,
						  .cost = { true, 0.75 },
						  .panel = panel,
						  .panel_count = 3 } };
	struct event event = { .scored = &scored };
	(void)state;
	event_metrics_event(&event_metrics, &event);
	scored.judge.correctness = &identical;
	panel[1].correctness = panel[2].correctness = NULL;
	event_metrics_event(&event_metrics, &event);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(sum(event_metrics.answers[i][QUESTION_RELEVANCE], ANSWER_COUNT_), 2);
		assert_int_equal(
			event_metrics_get(&event_metrics.answers[i][QUESTION_RELEVANCE]
								[i == 1 ? ANSWER_TIMEOUT : ANSWER_VERDICT]),
			2);
		assert_int_equal(sum(event_metrics.answers[i][QUESTION_CORRECTNESS], ANSWER_COUNT_), 1);
	}
	assert_int_equal(event_metrics_get(&event_metrics.answers[0][QUESTION_CORRECTNESS][ANSWER_IDENTICAL]),
			 1);
	assert_int_equal(event_metrics_get(&event_metrics.answers[1][QUESTION_CORRECTNESS][ANSWER_TIMEOUT]),
			 1);
	assert_int_equal(event_metrics_get(&event_metrics.answers[2][QUESTION_CORRECTNESS][ANSWER_VERDICT]),
			 1);
	assert_int_equal(event_metrics_get(&event_metrics.cost_nano[0]), 1000000000);
	assert_int_equal(event_metrics_get(&event_metrics.cost_nano[1]), 0);
	assert_int_equal(event_metrics_get(&event_metrics.cost_nano[2]), 500000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_scored_event_is_counted_by_what_its_record_says),
		cmocka_unit_test(without_factors_there_is_no_level),
		cmocka_unit_test(a_dead_letter_is_no_scored_event),
		cmocka_unit_test(answers_of_the_judge_are_told_apart),
		cmocka_unit_test(answers_of_several_judges_are_counted_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
