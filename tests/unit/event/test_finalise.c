#include "tests/unit/event/stages.h"

#define TRUTH "\"ground_truth\":{\"sql\":\"SELECT 1\"}"
#define READ                                                                                                 \
	"{\"event_id\":\"e\",\"application\":\"web\",\"target\":\"shop\",\"sql\":\"SELECT id FROM shop "     \
	"WHERE name = 'apple'\""

/* What the branches have answered, and what the record makes of it. */
static const struct answer_case {
	const char *what, *json;
	struct validation_result result; /* of the target, where that is asked */
	struct judge_verdict relevance;	 /* of the judge, where that is asked, likewise below */
	struct judge_verdict correctness;
	const char *status; /* of the result validation; NULL: there is none */
	int passed;	    /* −1: no evaluation */
	int label;	    /* enum label_source; −1: none */
	int decision;
	bool review;
	int action;	       /* enum record_action */
	const char *reason;    /* the decisive one: its code */
	const char *failed_by; /* or NULL */
	const char *errors, *stages;
} answer_cases[] = {
	{ .what = "all agree",
	  .json = READ "," TRUTH "}",
	  .result = { .status = VALIDATION_COMPARED, .score = 1, .schema_match = true, .conclusive = true },
	  .relevance = { .score = 95 },
	  .correctness = { .score = 1 },
	  .status = "COMPARED",
	  .passed = true,
	  .label = LABEL_RESULT,
	  .decision = DECISION_ACCEPT_HIGH,
	  .action = RECORD_ACTION_USE_WITH_CAUTION,
	  .reason = "medium_confidence",
	  .errors = "",
	  .stages = "decode:ok sql:ok confidence:ok result_validation:ok relevance:ok correctness:ok "
		    "finalise:ok" },
	{ .what = "what is not conclusive is no label",
	  .json = READ "," TRUTH "}",
	  .result = { .status = VALIDATION_COMPARED, .score = 0.3 },
	  .relevance = { .score = 95 },
	  .correctness = { .score = 1 },
	  .status = "COMPARED",
	  .passed = true,
	  .label = LABEL_CORRECTNESS,
	  .decision = DECISION_ACCEPT_HIGH,
	  .review = true,
	  .action = RECORD_ACTION_VERIFY,
	  .reason = "result_inconclusive",
	  .errors = "",
	  .stages = "decode:ok sql:ok confidence:ok result_validation:ok relevance:ok correctness:ok "
		    "finalise:ok" },
	{ .what = "a broken truth labels nothing",
	  .json = READ "," TRUTH "}",
	  .result = { .status = VALIDATION_GROUND_TRUTH_FAILED,
		      .error = ERR_GROUND_TRUTH_FAILED,
		      .message = STR("no such table: shops") },
	  .relevance = { .score = 95 },
	  .correctness = { .score = 1 },
	  .status = "GROUND_TRUTH_FAILED",
	  .passed = true,
	  .label = -1,
	  .decision = DECISION_ACCEPT_HIGH,
	  .review = true,
	  .action = RECORD_ACTION_VERIFY,
	  .reason = "ground_truth_failed",
	  .errors = "result_validation/ground_truth_failed",
	  .stages = "decode:ok sql:ok confidence:ok result_validation:failed relevance:ok correctness:ok "
		    "finalise:ok" },
	{ .what = "the judge is away",
	  .json = READ "}",
	  .relevance = { .error = ERR_JUDGE_UNAVAILABLE },
	  .passed = -1,
	  .label = -1,
	  .decision = DECISION_UNJUDGED,
	  .action = RECORD_ACTION_USE_WITH_CAUTION,
	  .reason = "medium_confidence",
	  .errors = "relevance/judge_unavailable",
	  .stages = "decode:ok sql:ok confidence:ok result_validation:skipped relevance:failed finalise:ok" },
	{ .what = "beside the question",
	  .json = READ "}",
	  .relevance = { .score = 10 },
	  .passed = false,
	  .label = LABEL_RELEVANCE,
	  .decision = DECISION_REJECT,
	  .review = true,
	  .action = RECORD_ACTION_WITHHOLD,
	  .reason = "judge_reject",
	  .failed_by = "judge_reject",
	  .errors = "",
	  .stages = "decode:ok sql:ok confidence:ok result_validation:skipped relevance:ok finalise:ok" },
	{ .what = "an unsafe query is not run",
	  .json = "{\"target\":\"shop\",\"sql\":\"DELETE FROM shop\"," TRUTH "}",
	  .status = "UNSAFE",
	  .passed = false,
	  .label = LABEL_RESULT,
	  .decision = DECISION_UNJUDGED,
	  .review = true,
	  .action = RECORD_ACTION_WITHHOLD,
	  .reason = "unsafe",
	  .failed_by = "unsafe",
	  .errors = "",
	  .stages = "decode:ok sql:ok confidence:ok result_validation:ok relevance:skipped finalise:ok" },
};

/* The event with these answers, finalised. */
static struct event *finalised(struct stages *stages, const struct answer_case *answers)
{
	struct event *event = stages_analysed(stages, answers->json);
	struct record_facts *facts = &event->facts;
	facts->validation.result = answers->result;
	facts->judging.relevance.verdict = answers->relevance;
	facts->judging.correctness.verdict = answers->correctness;
	facts->judging.relevance.prompt_digest = facts->judging.correctness.prompt_digest = STR("digest");
	event_finalise(event);
	return event;
}

static void answers_make_the_record(void **state)
{
	struct stages stages;
	(void)state;
	stages_begin_with_target(&stages);
	stages.context.judge = stages_judge();
	for (size_t i = 0; i < COUNT_OF(answer_cases); i++) {
		const struct answer_case *expected = &answer_cases[i];
		struct event *event = finalised(&stages, expected);
		const struct scored_query *scored = event->scored;
		print_message("%s\n", expected->what);
		assert_int_equal(scored->result_validation != NULL, expected->status != NULL);
		if (expected->status)
			assert_string_equal(scored->result_validation->status.ptr, expected->status);
		assert_int_equal(scored->evaluation ? scored->evaluation->passed : -1, expected->passed);
		assert_int_equal(scored->label ? scored->label->source : -1, expected->label);
		assert_int_equal(scored->judge.decision, expected->decision);
		assert_int_equal(scored->review_required, expected->review);
		assert_int_equal(scored->disposition->action, expected->action);
		assert_string_equal(scored->disposition->reasons[0].code.ptr, expected->reason);
		assert_int_equal(scored->evaluation && str_present(scored->evaluation->failed_by),
				 expected->failed_by != NULL);
		if (expected->failed_by)
			assert_string_equal(scored->evaluation->failed_by.ptr, expected->failed_by);
		assert_string_equal(stages_errors(event), expected->errors);
		assert_string_equal(stages_noted(event), expected->stages);
		assert_ptr_equal(scored->stages, event->facts.stages);
		assert_int_equal(scored->stages_count, event->facts.stages_count);
		assert_int_equal(scored->errors_count, event->facts.errors_count);
		stages_event_free(event);
	}
	stages_end(&stages);
}

static void record_says_where_from(void **state)
{
	struct stages stages;
	(void)state;
	stages_begin_with_target(&stages);
	stages.context.judge = stages_judge();
	struct event *event = finalised(&stages, &answer_cases[0]);
	const struct record_provenance *provenance = &event->scored->provenance;
	assert_string_equal(event->scored->event_id.ptr, "e");
	assert_string_equal(event->scored->application.ptr, "web");
	assert_string_equal(provenance->topic.ptr, "input");
	assert_int_equal(provenance->partition, 3);
	assert_int_equal(provenance->offset, 42);
	assert_string_equal(provenance->config_digest.ptr, config_digest(stages.config));
	assert_string_equal(provenance->prompt_digest.ptr, "digest");
	assert_string_equal(provenance->catalog_digest.ptr, catalog_digest(event->facts.analysis.catalog));
	assert_string_equal(event->scored->judge.model.ptr, "test-model");
	assert_ptr_equal(event->scored->input, event->facts.query);
	stages_event_free(event);
	stages_end(&stages);
}

/* Prompts that are reloaded between an event's two questions are both named; without questions it is the one
 * that would be asked with. */
static void prompts_are_named(void **state)
{
	static const struct {
		const char *relevance, *correctness, *named;
	} cases[] = { { "a", "a", "a" }, { "a", "b", "a b" }, { "a", NULL, "a" } };
	struct stages stages;
	(void)state;
	stages_begin(&stages);
	stages.context.judge = stages_judge();
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct event *event = stages_analysed(&stages, "{\"sql\":\"SELECT id FROM shop\"," TRUTH "}");
		struct record_judging *judging = &event->facts.judging;
		judging->relevance.prompt_digest = str_from(cases[i].relevance);
		judging->correctness.prompt_digest =
			cases[i].correctness ? str_from(cases[i].correctness) : STR_NONE;
		event_finalise(event);
		assert_string_equal(event->scored->provenance.prompt_digest.ptr, cases[i].named);
		stages_event_free(event);
	}
	struct event *unasked = stages_analysed(&stages, "{\"sql\":\"DELETE FROM shop\"}");
	event_finalise(unasked);
	assert_string_equal(unasked->scored->provenance.prompt_digest.ptr,
			    judge_prompt_digest(stages.context.judge, 0));
	stages_event_free(unasked);
	stages_end(&stages);
}

static void literals_are_hidden(void **state)
{
	struct stages stages;
	(void)state;
	stages_begin_with_target(&stages);
	stages.context.judge = stages_judge();
	stages.config->records.redact_literals = true;
	struct answer_case answers = answer_cases[2];
	answers.result.message = STR("no such column: 'apple'");
	struct event *event = finalised(&stages, &answers);
	assert_string_equal(event->scored->input->sql.ptr, "SELECT id FROM shop WHERE name = ?");
	assert_int_equal(event->scored->errors_count, 1);
	assert_null(strstr(event->scored->errors[0].message.ptr, "apple"));
	stages_event_free(event);
	stages.config->records.embed_input = false;
	event = finalised(&stages, &answers);
	assert_null(event->scored->input);
	stages_event_free(event);
	stages_end(&stages);
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_make_the_record),
		cmocka_unit_test(record_says_where_from),
		cmocka_unit_test(prompts_are_named),
		cmocka_unit_test(literals_are_hidden),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
