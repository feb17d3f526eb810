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
	if (facts->judging.members_count > 0) {
		struct judge_call *calls = facts->judging.members[0].calls;
		calls[JUDGE_RELEVANCE].verdict = answers->relevance;
		calls[JUDGE_CORRECTNESS].verdict = answers->correctness;
		calls[JUDGE_RELEVANCE].prompt_digest = calls[JUDGE_CORRECTNESS].prompt_digest = STR("digest");
	}
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

#define SAYS(number, why)                                                                                    \
	{                                                                                                    \
		.score = (number), .reason = { why, sizeof why - 1 }, .prompt_tokens = 10                    \
	}
#define NO_ANSWER(name)                                                                                      \
	{                                                                                                    \
		.error = ERR_JUDGE_##name                                                                    \
	}

/* What three judges say, and what the record makes of it. The event's evaluation is degraded as soon as one
 * of those that count is missing. */
static const struct panel_case {
	const char *what;
	bool truth;
	struct judge_verdict relevance[3], correctness[3];
	double relevance_mean, correctness_mean; /* −1: none */
	double disagreement;
	int decision;
	const char *unjudged_reason, *reason; /* of relevance */
	int label;
	bool degraded;
	const char *errors, *stages;
} panel_cases[] = {
	{ .what = "all answer",
	  .relevance = { SAYS(90, "right"), SAYS(60, "so so"), SAYS(0, "wrong") },
	  .relevance_mean = 50,
	  .correctness_mean = -1,
	  .disagreement = 60,
	  .decision = DECISION_ACCEPT,
	  .reason = "one 90: right; two 60: so so; three 0: wrong",
	  .label = LABEL_RELEVANCE,
	  .errors = "",
	  .stages = "decode:ok sql:ok confidence:ok result_validation:skipped relevance:ok finalise:ok" },
	{ .what = "one fails: the mean of the others",
	  .relevance = { SAYS(30, "low"), NO_ANSWER(TIMEOUT), SAYS(28, "lower") },
	  .relevance_mean = 29,
	  .correctness_mean = -1,
	  .disagreement = 2,
	  .decision = DECISION_REJECT,
	  .reason = "one 30: low; three 28: lower",
	  .label = LABEL_RELEVANCE,
	  .degraded = true,
	  .errors = "relevance/judge_timeout",
	  .stages = "decode:ok sql:ok confidence:ok result_validation:skipped relevance:ok finalise:ok" },
	{ .what = "one is left: nobody to disagree with",
	  .relevance = { NO_ANSWER(SATURATED), NO_ANSWER(TIMEOUT), SAYS(80, "good") },
	  .relevance_mean = 80,
	  .correctness_mean = -1,
	  .disagreement = -1,
	  .decision = DECISION_ACCEPT_HIGH,
	  .reason = "three 80: good",
	  .label = LABEL_RELEVANCE,
	  .degraded = true,
	  .errors = "relevance/judge_saturated relevance/judge_timeout",
	  .stages = "decode:ok sql:ok confidence:ok result_validation:skipped relevance:ok finalise:ok" },
	{ .what = "none answers",
	  .relevance = { NO_ANSWER(SATURATED), NO_ANSWER(TIMEOUT), NO_ANSWER(REPLY) },
	  .relevance_mean = -1,
	  .correctness_mean = -1,
	  .disagreement = -1,
	  .decision = DECISION_UNJUDGED,
	  .unjudged_reason = "judge_timeout",
	  .reason = "LLM judge timeout",
	  .label = -1,
	  .errors = "relevance/judge_saturated relevance/judge_timeout relevance/judge_reply_unparsable",
	  .stages = "decode:ok sql:ok confidence:ok result_validation:skipped relevance:failed finalise:ok" },
	{ .what = "nobody has a slot",
	  .relevance = { NO_ANSWER(SATURATED), NO_ANSWER(SATURATED), NO_ANSWER(SATURATED) },
	  .relevance_mean = -1,
	  .correctness_mean = -1,
	  .disagreement = -1,
	  .decision = DECISION_UNJUDGED,
	  .unjudged_reason = "SATURATED",
	  .label = -1,
	  .errors = "relevance/judge_saturated relevance/judge_saturated relevance/judge_saturated",
	  .stages = "decode:ok sql:ok confidence:ok result_validation:skipped relevance:failed finalise:ok" },
	{ .what = "nobody has tokens left",
	  .relevance = { NO_ANSWER(SATURATED), NO_ANSWER(SPENT), NO_ANSWER(SPENT) },
	  .relevance_mean = -1,
	  .correctness_mean = -1,
	  .disagreement = -1,
	  .decision = DECISION_UNJUDGED,
	  .unjudged_reason = "TOKENS_SPENT",
	  .label = -1,
	  .errors = "relevance/judge_saturated relevance/judge_tokens_spent relevance/judge_tokens_spent",
	  .stages = "decode:ok sql:ok confidence:ok result_validation:skipped relevance:failed finalise:ok" },
	{ .what = "correctness, too, and the label is its mean",
	  .truth = true,
	  .relevance = { SAYS(90, ""), SAYS(90, ""), NO_ANSWER(REPLY) },
	  .correctness = { SAYS(1, ""), SAYS(0.5, ""), SAYS(0, "") },
	  .relevance_mean = 90,
	  .correctness_mean = 0.5,
	  .disagreement = 0,
	  .decision = DECISION_ACCEPT_HIGH,
	  .reason = "one 90; two 90",
	  .label = LABEL_CORRECTNESS,
	  .errors = "relevance/judge_reply_unparsable",
	  .stages = "decode:ok sql:ok confidence:ok result_validation:skipped relevance:ok correctness:ok "
		    "finalise:ok" },
	{ .what = "correctness of some",
	  .truth = true,
	  .relevance = { SAYS(90, ""), SAYS(90, ""), SAYS(90, "") },
	  .correctness = { SAYS(1, ""), NO_ANSWER(UNAVAILABLE), SAYS(0, "") },
	  .relevance_mean = 90,
	  .correctness_mean = 0.5,
	  .disagreement = 0,
	  .decision = DECISION_ACCEPT_HIGH,
	  .label = LABEL_CORRECTNESS,
	  .degraded = true,
	  .errors = "correctness/judge_unavailable",
	  .stages = "decode:ok sql:ok confidence:ok result_validation:skipped relevance:ok correctness:ok "
		    "finalise:ok" },
};

static const char *const panel_names[] = { "one", "two", "three" };

static struct event *finalised_by_panel(struct stages *stages, const struct panel_case *answers)
{
	struct event *event =
		stages_analysed(stages, answers->truth ? "{\"sql\":\"SELECT id FROM shop\"," TRUTH "}"
						       : "{\"sql\":\"SELECT id FROM shop\"}");
	struct record_judging *judging = &event->facts.judging;
	assert_int_equal(judging->members_count, 3);
	for (size_t i = 0; i < 3; i++) {
		struct judge_call *calls = judging->members[i].calls;
		calls[JUDGE_RELEVANCE].verdict = answers->relevance[i];
		calls[JUDGE_CORRECTNESS].verdict = answers->correctness[i];
		calls[JUDGE_RELEVANCE].prompt_digest = calls[JUDGE_CORRECTNESS].prompt_digest =
			i == 1 ? STR("other") : STR("digest");
		calls[JUDGE_RELEVANCE].verdict.raw = STR("as it came");
	}
	event_finalise(event);
	return event;
}

static void assert_number(opt_double_t found, double expected)
{
	assert_int_equal(found.set, expected >= 0);
	assert_true(!found.set || found.value == expected);
}

static void several_judges_make_one_record(void **state)
{
	struct stages stages;
	(void)state;
	stages_begin(&stages);
	stages.context.judge = stages_judges(panel_names, 3);
	for (size_t i = 0; i < COUNT_OF(panel_cases); i++) {
		const struct panel_case *expected = &panel_cases[i];
		struct event *event = finalised_by_panel(&stages, expected);
		const struct scored_query *scored = event->scored;
		const struct record_judge *judge = &scored->judge;
		print_message("%s\n", expected->what);
		assert_number(judge->decision == DECISION_UNJUDGED ? (opt_double_t)OPT_NONE
								   : opt_double(judge->relevance->score),
			      expected->relevance_mean);
		if (expected->truth)
			assert_number(opt_double(judge->correctness->score), expected->correctness_mean);
		else
			assert_null(judge->correctness);
		assert_number(judge->relevance_disagreement, expected->disagreement);
		assert_int_equal(judge->decision, expected->decision);
		if (expected->unjudged_reason)
			assert_string_equal(judge->unjudged_reason.ptr, expected->unjudged_reason);
		else
			assert_false(str_present(judge->unjudged_reason));
		if (expected->reason)
			assert_string_equal(judge->relevance->reason.ptr, expected->reason);
		assert_int_equal(scored->label ? scored->label->source : -1, expected->label);
		assert_true(!scored->evaluation || scored->evaluation->degraded == expected->degraded);
		assert_string_equal(stages_errors(event), expected->errors);
		assert_string_equal(stages_noted(event), expected->stages);
		assert_int_equal(judge->panel_count, 3);
		assert_false(str_present(judge->provider) || str_present(judge->model));
		stages_event_free(event);
	}
	stages_end(&stages);
}

/* Each with its own name, verdicts, reason, prompts and tokens. */
static void each_judge_is_in_the_record(void **state)
{
	struct stages stages;
	(void)state;
	stages_begin(&stages);
	stages.context.judge = stages_judges(panel_names, 3);
	struct event *event = finalised_by_panel(&stages, &panel_cases[7]);
	const struct record_judge *judge = &event->scored->judge;
	for (size_t i = 0; i < 3; i++) {
		const struct record_panelist *panelist = &judge->panel[i];
		bool fails = i == 1;
		assert_string_equal(panelist->name.ptr, panel_names[i]);
		assert_string_equal(panelist->provider.ptr, fails ? "anthropic" : "openai");
		assert_string_equal(panelist->model.ptr, fails ? "other-model" : "test-model");
		assert_string_equal(panelist->prompt_digest.ptr, fails ? "other" : "digest");
		assert_string_equal(panelist->relevance->status.ptr, "ok");
		assert_string_equal(panelist->correctness->status.ptr, fails ? "judge_unavailable" : "ok");
		assert_false(str_present(panelist->unjudged_reason));
		assert_int_equal(panelist->prompt_tokens, fails ? 10 : 20);
		assert_false(panelist->cost.set);
	}
	assert_int_equal(judge->prompt_tokens, 50);
	assert_string_equal(judge->panel[2].relevance->raw.ptr, "as it came");
	assert_false(str_present(judge->relevance->raw));
	assert_true(judge->correctness_disagreement.value == 1);
	assert_string_equal(event->scored->provenance.prompt_digest.ptr, "digest other");
	assert_string_equal(event->scored->errors[0].message.ptr,
			    "judge \"two\": the judge cannot be reached");
	stages_event_free(event);
	event = finalised_by_panel(&stages, &panel_cases[3]);
	assert_string_equal(event->scored->judge.panel[0].unjudged_reason.ptr, "SATURATED");
	assert_string_equal(event->scored->judge.panel[2].unjudged_reason.ptr, "judge_reply_unparsable");
	stages_event_free(event);
	event = stages_analysed(&stages, "{\"sql\":\"DELETE FROM shop\"}"); /* nobody is asked */
	event_finalise(event);
	assert_int_equal(event->scored->judge.panel_count, 0);
	assert_string_equal(event->scored->judge.unjudged_reason.ptr, "UNSAFE");
	assert_string_equal(event->scored->provenance.prompt_digest.ptr,
			    judge_prompt_digest(stages.context.judge, 0)); /* all have the same */
	stages_event_free(event);
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
		struct judge_call *calls = event->facts.judging.members[0].calls;
		calls[JUDGE_RELEVANCE].prompt_digest = str_from(cases[i].relevance);
		calls[JUDGE_CORRECTNESS].prompt_digest =
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

/* What others say of the event's texts, and the model's own reply, repeats their literals. */
#define GOSSIP                                                                                               \
	READ ",\"response\":{\"raw\":\"{\\\"sql\\\":\\\"name = "                                             \
	     "'apple'\\\",\\\"why\\\":null,\\\"apple\\\":1}\","                                              \
	     "\"required_fields\":[\"sql\"],\"optional_fields\":[\"why\",\"tables\"]},"                      \
	     "\"retrieval\":{\"chunks\":[{\"chunk_id\":\"c\",\"rerank_score\":0.9}]},"                       \
	     "\"diagnostic\":{\"valid\":true,\"errors\":[\"column name has no "                              \
	     "apple\"],\"warnings\":[\"banana?\"]},"                                                         \
	     "\"validator\":{\"is_valid\":false,\"errors\":[\"'cherry' is not allowed\"]},"                  \
	     "\"candidates\":[{\"sql\":\"SELECT id FROM shop WHERE name = 'banana'\"},"                      \
	     "{\"sql\":\"SELECT id FROM shop WHERE name > 'banana'\"}],"                                     \
	     "\"ground_truth\":{\"sql\":\"SELECT id FROM shop WHERE name = "                                 \
	     "'cherry'\",\"should_pass\":true}}"

static const struct answer_case gossip[] = {
	{ .what = "verdicts",
	  .json = GOSSIP,
	  .result = { .status = VALIDATION_EXECUTION_FAILED, .message = STR("no apple, no banana") },
	  .relevance = { .score = 10,
			 .reason = STR("asks for apple and banana, not for cherry"),
			 .raw = STR("{\"score\": 10, \"reason\": \"an \\u0061pple\"}") },
	  .correctness = { .reason = STR("banana is no cherry") } },
	{ .what = "errors",
	  .json = GOSSIP,
	  .result = { .status = VALIDATION_GROUND_TRUTH_FAILED,
		      .error = ERR_GROUND_TRUTH_FAILED,
		      .message = STR("no cherry") },
	  .relevance = { .error = ERR_JUDGE_REPLY, .message = STR("the reply begins with apple") },
	  .correctness = { .error = ERR_JUDGE_REPLY, .message = STR("the reply begins with banana") } },
};

/* Everything that is published of the event, as text. */
static const char *published(struct event *event)
{
	struct err_detail detail = { "" };
	if (event_encode(event, &detail))
		fail_msg("%s", detail.message);
	return arena_str(event->arena, buf_str(&event->encoded)).ptr;
}

/* An error can be read without the rest of its record. */
static void errors_carry_their_sql(void **state)
{
	struct stages stages;
	(void)state;
	stages_begin_with_target(&stages);
	stages.context.judge = stages_judge();
	struct event *event = finalised(&stages, &answer_cases[2]);
	const struct generated_query *query = event->facts.query;
	assert_string_equal(event->scored->errors[0].code.ptr, "ground_truth_failed");
	assert_string_equal(event->scored->errors[0].sql.ptr, query->ground_truth->sql.ptr);
	assert_string_not_equal(query->sql.ptr, query->ground_truth->sql.ptr);
	stages_event_free(event);
	event = finalised(&stages, &answer_cases[3]);
	assert_string_equal(event->scored->errors[0].code.ptr, "judge_unavailable");
	assert_string_equal(event->scored->errors[0].sql.ptr, event->facts.query->sql.ptr);
	stages_event_free(event);
	stages.config->records.redact_literals = true;
	event = finalised(&stages, &answer_cases[3]);
	assert_string_equal(event->scored->errors[0].sql.ptr, "SELECT id FROM shop WHERE name = ?");
	stages_event_free(event);
	event = finalised(&stages, &answer_cases[2]);
	assert_string_equal(event->scored->errors[0].sql.ptr, event->scored->input->ground_truth->sql.ptr);
	stages_event_free(event);
	stages.config->records.embed_input = false;
	event = finalised(&stages, &answer_cases[3]);
	assert_false(str_present(event->scored->errors[0].sql));
	stages_event_free(event);
	stages_end(&stages);
}

static void literals_are_hidden_wherever_they_are_repeated(void **state)
{
	struct stages stages;
	(void)state;
	stages_begin_with_target(&stages);
	stages.context.judge = stages_judge();
	stages.config->records.redact_literals = true;
	stages.config->diagnostic.source = CONFIG_DIAGNOSTIC_WORST;
	for (size_t i = 0; i < COUNT_OF(gossip); i++) {
		struct event *event = finalised(&stages, &gossip[i]);
		const struct generated_query *input = event->scored->input;
		print_message("%s\n", gossip[i].what);
		const char *text = published(event);
		static const char *const hidden[] = { "apple", "banana", "cherry" };
		for (size_t k = 0; k < COUNT_OF(hidden); k++)
			if (strstr(text, hidden[k]))
				fail_msg("%s: %s", hidden[k], text);
		/* the rest is there: the reply's quality can be told from what is left of it */
		assert_string_equal(input->response->raw.ptr, "{\"sql\":\"?\",\"why\":null}");
		assert_string_equal(input->diagnostic->errors[0].ptr, "column name has no ?");
		assert_string_equal(input->validator->errors[0].ptr, "? is not allowed");
		assert_false(str_present(event->scored->judge.relevance->raw));
		assert_string_equal(input->candidates[1].sql.ptr, "SELECT id FROM shop WHERE name > ?");
		stages_event_free(event);
	}
	stages_end(&stages);
}

static void replies_that_are_no_objects_are_hidden(void **state)
{
	static const struct {
		const char *raw, *left;
	} cases[] = {
		{ "prose about apples", "?" },
		{ "[\\\"apple\\\"]", "?" },
		{ "{}", "{}" },
		{ "{\\\"sql\\\":{\\\"name\\\":\\\"apple\\\"}}", "{\"sql\":\"?\"}" },
	};
	struct stages stages;
	(void)state;
	stages_begin(&stages);
	stages.config->records.redact_literals = true;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char json[256];
		(void)snprintf(
			json, sizeof json,
			"{\"sql\":\"SELECT 1\",\"response\":{\"raw\":\"%s\",\"required_fields\":[\"sql\"]}}",
			cases[i].raw);
		struct event *event = stages_analysed(&stages, json);
		event_finalise(event);
		assert_string_equal(event->scored->input->response->raw.ptr, cases[i].left);
		stages_event_free(event);
	}
	stages_end(&stages);
}

#define CHUNKS "\"retrieval\":{\"chunks\":[{\"chunk_id\":\"c\",\"rerank_score\":0.9}]},"

/* What the numbers follow from stands in the record, as it is in force. */
static void rules_are_in_the_record(void **state)
{
	struct stages stages;
	(void)state;
	stages_begin(&stages);
	struct event *event = stages_analysed(&stages, "{" CHUNKS "\"sql\":\"SELECT id FROM shop\"}");
	event_finalise(event);
	const struct record_rules *rules = event->scored->rules;
	assert_int_equal(rules->diagnostic_source, RECORD_SOURCE_OWN);
	assert_int_equal(rules->factors_count, 3);
	assert_int_equal(rules->factors[2], RECORD_FACTOR_RETRIEVAL_WITHOUT_ADVISORY);
	assert_int_equal(rules->technical_alone, LEVEL_MEDIUM);
	assert_true(rules->thresholds.high == 0.9 && rules->thresholds.low == 0.5);
	assert_true(rules->pass_score == 0.7 && rules->low_relevance_below == 50);
	assert_null(rules->retrieval); /* the formula as it stands */
	assert_null(rules->judge);
	assert_false(rules->redacted);
	stages_event_free(event);
	stages.context.judge = stages_judge();
	stages.config->retrieval.gap_scale = 0.4;
	stages.config->judge.configured = true;
	stages.config->judge.prompt_token_price = 2;
	stages.config->judge.sample_rate = 0.25;
	stages.config->judge.always_below = CONFIG_HIGH;
	stages.config->confidence.technical_alone = CONFIG_ALONE_HIGH;
	event = stages_analysed(&stages, "{" CHUNKS "\"sql\":\"SELECT id FROM shop\"}");
	event_finalise(event);
	rules = event->scored->rules;
	assert_int_equal(rules->technical_alone, LEVEL_HIGH);
	assert_true(rules->retrieval->gap_scale == 0.4 && rules->retrieval->weights.low_diversity == 0.05 &&
		    rules->retrieval->thresholds.high == 0.85);
	assert_true(rules->judge->sample_rate == 0.25);
	assert_int_equal(rules->judge->always_below, LEVEL_HIGH);
	assert_int_equal(rules->judge->prices_count, 1);
	assert_true(rules->judge->prices[0].prompt == 2 && rules->judge->prices[0].completion == 0);
	stages_event_free(event);
	event = stages_analysed(&stages, "{\"sql\":\"SELECT id FROM shop\"}");
	event_finalise(event);
	assert_null(event->scored->rules->retrieval); /* there was none */
	stages_event_free(event);
	stages_end(&stages);
}

/* What the texts were compared with, and by what. */
static void structure_says_what_was_compared(void **state)
{
	static const struct {
		const char *json;
		int same_form; /* −1: unset; −2: nothing was compared */
		double select; /* of the clauses; −1: there are none */
		const char *table;
		bool findings;
	} cases[] = {
		{ "{\"sql\":\"SELECT id FROM shop\"}", -2, -1, NULL, false },
		{ "{\"sql\":\"SELECT id FROM shop\",\"ground_truth\":{\"sql\":\"select id from shop\"}}", 1,
		  -1, "shop", false },
		{ "{\"sql\":\"SELECT id FROM shop\",\"ground_truth\":{\"sql\":\"SELECT id, name FROM "
		  "shop\"}}",
		  0, 0.5, "shop", false },
		{ "{\"sql\":\"SELEKT\",\"ground_truth\":{\"sql\":\"SELECT id FROM shop\"}}", -1, -1, "shop",
		  false },
		{ "{\"sql\":\"SELECT id FROM shop\",\"ground_truth\":{\"tables\":[\"stores\"]}}", -1, -1,
		  "stores", false },
		{ "{\"sql\":\"SELECT id FROM shop\",\"target\":\"nowhere\"}", -2, -1, NULL, true },
	};
	struct stages stages;
	(void)state;
	stages_begin(&stages);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct event *event = stages_analysed(&stages, cases[i].json);
		event_finalise(event);
		const struct record_structure_truth *truth = event->scored->structure.truth;
		print_message("%s\n", cases[i].json);
		assert_int_equal(truth == NULL, cases[i].same_form == -2);
		if (truth) {
			assert_int_equal(truth->same_form.set ? truth->same_form.value : -1,
					 cases[i].same_form);
			assert_true((truth->clauses ? truth->clauses->select : -1) == cases[i].select);
			assert_string_equal(truth->tables[0].ptr, cases[i].table);
		}
		assert_int_equal(event->scored->structure.findings != NULL, cases[i].findings);
		assert_int_equal(event->scored->confidence.technical == NULL, cases[i].findings);
		stages_event_free(event);
	}
	stages_end(&stages);
}

static void rows_are_counted_where_the_rate_is_theirs(void **state)
{
	static const struct {
		const char *what;
		struct validation_result result;
		int64_t matched; /* −1: unset */
	} cases[] = {
		{ "compared",
		  { .status = VALIDATION_COMPARED,
		    .schema_match = true,
		    .content_match_rate = 0.75,
		    .rows_matched = 3,
		    .rows_compared = 4,
		    .generated = { .rows = 4 },
		    .truth = { .rows = 3 } },
		  3 },
		{ "estimated",
		  { .status = VALIDATION_COMPARED,
		    .schema_match = true,
		    .match_rate_low = { true, 0.7 },
		    .rows_compared = 4,
		    .generated = { .rows = 4 } },
		  -1 },
		{ "of what was fetched",
		  { .status = VALIDATION_COMPARED,
		    .schema_match = true,
		    .rows_compared = 4,
		    .generated = { .rows = 4000 } },
		  -1 },
		{ "other columns", { .status = VALIDATION_COMPARED, .score = 0.1 }, -1 },
		{ "failed", { .status = VALIDATION_TIMEOUT }, -1 },
	};
	struct stages stages;
	(void)state;
	stages_begin_with_target(&stages);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct answer_case answers = { .json = READ "," TRUTH "}", .result = cases[i].result };
		struct event *event = finalised(&stages, &answers);
		opt_int64_t matched = event->scored->result_validation->rows_matched;
		print_message("%s\n", cases[i].what);
		assert_int_equal(matched.set ? matched.value : -1, cases[i].matched);
		stages_event_free(event);
	}
	stages_end(&stages);
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_make_the_record),
		cmocka_unit_test(several_judges_make_one_record),
		cmocka_unit_test(each_judge_is_in_the_record),
		cmocka_unit_test(record_says_where_from),
		cmocka_unit_test(prompts_are_named),
		cmocka_unit_test(literals_are_hidden),
		cmocka_unit_test(errors_carry_their_sql),
		cmocka_unit_test(literals_are_hidden_wherever_they_are_repeated),
		cmocka_unit_test(replies_that_are_no_objects_are_hidden),
		cmocka_unit_test(rules_are_in_the_record),
		cmocka_unit_test(structure_says_what_was_compared),
		cmocka_unit_test(rows_are_counted_where_the_rate_is_theirs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
