/*
 * Everything that can be known of an event, combined: disposition, evaluation, review, recommendations and
 * advisory never contradict each other. The rules here are written from what a reader may conclude from each
 * of them, not from how they are made.
 */
#include "tests/harness/fixtures/long_run.h"
#include "tests/unit/event/stages.h"

#include <math.h>

static const char *const queries[] = {
	"SELECT id FROM shop WHERE name = 'apple'",
	"SELECT id FROM shops WHERE name = 'apple'",
	"SELECT colour FROM shop WHERE id = 1",
	"SELEKT id FROM shop",
	"DELETE FROM shop",
	"SELECT * FROM shop WHERE id = 1 LIMIT 1",
	"SELECT unheard_of(id) FROM shop LIMIT 1",
};

#define CHUNKS(first, second)                                                                                \
	"{\"chunk_id\":\"a\",\"document_id\":\"d\",\"source_type\":\"GOVERNMENT\",\"rerank_score\":" first   \
	",\"bm25_score\":3,\"dense_score\":0.9,\"graph_boost\":1},{\"chunk_id\":\"b\",\"document_id\":"      \
	"\"d\",\"source_type\":\"GOVERNMENT\",\"rerank_score\":" second                                      \
	",\"bm25_score\":1,\"dense_score\":0.2}"

#define CHUNK "{\"chunk_id\":\"a\",\"document_id\":\"d\",\"source_type\":\"GOVERNMENT\",\"rerank_score\":1}"

/* The second is one of weak retrieval and high confidence in the answer, the third of moderate retrieval. */
static const char *const contexts[] = {
	"",
	",\"retrieval\":{\"chunks\":[" CHUNK "]},\"response\":{\"raw\":\"{\\\"a\\\":1}\"}",
	",\"retrieval\":{\"chunks\":[" CHUNKS("1.0", "0.7") "]},\"response\":{\"raw\":\"{\\\"a\\\":1}\"}",
	",\"retrieval\":{\"chunks\":[" CHUNKS("0.3", "0.1") "]},\"response\":{\"raw\":\"no\"}",
	",\"retrieval\":{\"chunks\":[" CHUNKS("1.0", "0.7") "]}",
	",\"retrieval\":{\"chunks\":[" CHUNKS("1.0", "0.8") "]},\"response\":{\"raw\":\"{\\\"a\\\":1}\"}",
};

static const char *const generators[] = { "", ",\"generator_confidence\":0.95",
					  ",\"generator_confidence\":0.4" };

#define TRUTH ",\"ground_truth\":{\"sql\":\"SELECT name FROM shop\""

static const char *const truths[] = {
	"",
	TRUTH "}",
	TRUTH ",\"similarity\":0.8}",
	TRUTH ",\"similarity\":0.4}",
	TRUTH ",\"should_pass\":true}",
	TRUTH ",\"should_pass\":false,\"expected_failure\":\"SAFETY\"}",
};

static const struct validation_result results[] = {
	{ .status = VALIDATION_COMPARED, .score = 1, .conclusive = true, .schema_match = true },
	{ .status = VALIDATION_COMPARED, .score = 0.95, .conclusive = true, .schema_match = true },
	{ .status = VALIDATION_COMPARED, .score = 0.5, .conclusive = true, .schema_match = true },
	{ .status = VALIDATION_COMPARED, .score = 0.3, .conclusive = true, .schema_match = true },
	{ .status = VALIDATION_COMPARED, .score = 0.1, .conclusive = true },
	{ .status = VALIDATION_COMPARED, .score = 0.3 },
	{ .status = VALIDATION_EXECUTION_FAILED,
	  .message = STR("no such column"),
	  .generated = { .code = 1 } },
	{ .status = VALIDATION_TIMEOUT },
	{ .status = VALIDATION_GROUND_TRUTH_FAILED, .error = ERR_GROUND_TRUTH_FAILED, .message = STR("x") },
	{ .status = VALIDATION_UNAVAILABLE, .error = ERR_TARGET_UNAVAILABLE, .message = STR("away") },
	{ .status = VALIDATION_COMPARED,
	  .score = 1,
	  .conclusive = true,
	  .schema_match = true,
	  .generated = { .rows = 1, .time_ms = 9000 },
	  .truth = { .rows = 1, .time_ms = 10 } },
};

static const struct judge_verdict relevances[] = {
	{ .error = ERR_JUDGE_UNAVAILABLE },
	{ .score = 10 },
	{ .score = 40 },
	{ .score = 60 },
	{ .score = 95 },
};

static const struct judge_verdict correctnesses[] = {
	{ .error = ERR_JUDGE_UNAVAILABLE },
	{ .score = 0 },
	{ .score = 0.5 },
	{ .score = 1 },
};

/* ---- what a reader concludes ---- */

static bool says(const struct advisory *advisory, const char *kind)
{
	for (size_t i = 0; advisory && i < advisory->kinds_count; i++)
		if (str_is(advisory->kinds[i], kind))
			return true;
	return false;
}

static bool result_is(const struct scored_query *scored, const char *status)
{
	return scored->result_validation && str_is(scored->result_validation->status, status);
}

/* What an auditor calls wrong without asking anybody. */
static bool is_wrong(const struct event *event)
{
	const struct scored_query *scored = event->scored;
	const struct record_result_validation *result = scored->result_validation;
	const struct ground_truth *truth = event->facts.query->ground_truth;
	bool differs = result_is(scored, "COMPARED") && result->conclusive && result->score < 0.5 &&
		       result->match_confidence >= LEVEL_MEDIUM;
	return scored->safety.verdict == VERDICT_UNSAFE || scored->judge.decision == DECISION_REJECT ||
	       differs || result_is(scored, "EXECUTION_FAILED") || result_is(scored, "TIMEOUT") ||
	       result_is(scored, "INVALID") || (truth && truth->should_pass.set && !truth->should_pass.value);
}

/* What takes a person. */
static bool is_doubtful(const struct scored_query *scored)
{
	const struct record_result_validation *result = scored->result_validation;
	const struct record_judge *judge = &scored->judge;
	bool verdict = judge->correctness && str_is(judge->correctness->status, "ok") &&
		       judge->correctness->score < 1;
	return scored->safety.verdict == VERDICT_UNKNOWN || judge->decision == DECISION_WARN || verdict ||
	       result_is(scored, "GROUND_TRUTH_FAILED") || result_is(scored, "UNAVAILABLE") ||
	       (result_is(scored, "COMPARED") && (result->score < 1 || !result->conclusive)) ||
	       (scored->confidence.retrieval && scored->confidence.retrieval->level <= LEVEL_LOW) ||
	       (scored->evaluation && !scored->evaluation->passed);
}

/* What is said of the retrieval goes with what may be done. */
static const char *contradiction_of_retrieval(const struct scored_query *scored)
{
	const struct record_retrieval *retrieval = scored->confidence.retrieval;
	int action = scored->disposition->action;
	if (!retrieval)
		return NULL;
	if (retrieval->flagged && action > RECORD_ACTION_USE_WITH_CAUTION)
		return "flagged for review and used without caution";
	if (strstr(retrieval->action_text.ptr, "mandatory") && !scored->review_required)
		return "a mandatory review is not required";
	for (size_t i = 1; i < scored->recommendations_count; i++) {
		str_t code = scored->recommendations[i].code;
		if (str_is(code, "moderate_confidence") && action > RECORD_ACTION_USE_WITH_CAUTION)
			return "moderate by a recommendation alone";
		if ((str_is(code, "review_results") || str_is(code, "expand_query")) &&
		    action > RECORD_ACTION_VERIFY)
			return "to be reviewed by a recommendation alone";
	}
	return NULL;
}

/* The rule that is broken, or NULL. */
static const char *contradiction(const struct event *event)
{
	const struct scored_query *scored = event->scored;
	const struct advisory *advisory = event->advisory;
	const struct record_disposition *disposition = scored->disposition;
	const struct record_evaluation *evaluation = scored->evaluation;
	int action = disposition->action, level = scored->confidence.level;
	bool wrong = is_wrong(event), passed = evaluation && evaluation->passed;
	static const char *const names[] = { "WITHHOLD", "VERIFY", "USE_WITH_CAUTION", "USE" };
	static const int most[] = { [LEVEL_VERY_LOW] = RECORD_ACTION_WITHHOLD,
				    [LEVEL_LOW] = RECORD_ACTION_VERIFY,
				    [LEVEL_MEDIUM] = RECORD_ACTION_USE_WITH_CAUTION,
				    [LEVEL_HIGH] = RECORD_ACTION_USE };
	if (action > (level == ENUM_ABSENT ? RECORD_ACTION_WITHHOLD : most[level]))
		return "more is allowed than the level allows";
	if (wrong && action != RECORD_ACTION_WITHHOLD)
		return "what is wrong is not withheld";
	if (wrong && passed)
		return "what is wrong has passed";
	if (is_doubtful(scored) && action > RECORD_ACTION_VERIFY)
		return "what is doubtful is not verified";
	if (evaluation && passed == str_present(evaluation->failed_by))
		return "failed by something, or not";
	if (wrong && evaluation && !str_equal(evaluation->failed_by, disposition->reasons[0].code))
		return "failed by something else than what decides";
	if (scored->review_required != (action <= RECORD_ACTION_VERIFY))
		return "a review is asked for or not";
	if (disposition->reasons_count == 0 || !str_present(disposition->reasons[0].text))
		return "there is no reason";
	if (scored->recommendations_count == 0 || !str_is(scored->recommendations[0].code, names[action]))
		return "another action is recommended";
	for (size_t i = 1; i < scored->recommendations_count; i++)
		for (size_t k = 0; k < COUNT_OF(names); k++)
			if (str_is(scored->recommendations[i].code, names[k]))
				return "a second action is recommended";
	if (says(advisory, "UNSAFE_QUERY") != (scored->safety.verdict == VERDICT_UNSAFE))
		return "unsafe here and not there";
	if (wrong && scored->safety.verdict != VERDICT_UNSAFE && !says(advisory, "WRONG_ANSWER"))
		return "nobody is told that it is wrong";
	if (says(advisory, "WRONG_ANSWER") && (passed || action != RECORD_ACTION_WITHHOLD))
		return "wrong by the advisory alone";
	if (says(advisory, "GROUND_TRUTH_FAILED") != result_is(scored, "GROUND_TRUTH_FAILED"))
		return "the truth has failed here and not there";
	if ((says(advisory, "LOW_CONFIDENCE") || says(advisory, "LOW_RELEVANCE")) &&
	    action > RECORD_ACTION_VERIFY)
		return "low by the advisory alone";
	if (scored->confidence.overall.set && scored->confidence.overall.value < 0.7 &&
	    !says(advisory, "LOW_CONFIDENCE"))
		return "nobody is told of a low confidence";
	if (scored->review_required && !advisory && !result_is(scored, "UNAVAILABLE"))
		return "nobody is told that a review is required";
	if (says(advisory, "REVIEW_REQUIRED") && (!scored->review_required || wrong))
		return "to be reviewed by the advisory alone, or for what is another kind";
	if (advisory && advisory->action != action)
		return "the advisory has another action";
	if (advisory && !strstr(advisory->summary.ptr, names[action]))
		return "the summary does not name the action";
	if (advisory && strcmp(advisory->reasons[0].text.ptr, disposition->reasons[0].text.ptr) != 0)
		return "the advisory has another reason";
	if (scored->label && scored->label->source == LABEL_RESULT && !scored->label->correct && passed &&
	    scored->result_validation->match_confidence >= LEVEL_MEDIUM)
		return "passed, and labelled wrong";
	return contradiction_of_retrieval(scored);
}

/* ---- the events ---- */

static size_t seen[4], combinations, of_kind[ADVISORY_KIND_COUNT_], passed_count, events;

static void look(struct stages *stages, const char *json, const struct validation_result *result,
		 const struct judge_verdict *relevance, const struct judge_verdict *correctness)
{
	struct event *event = stages_analysed(stages, json);
	struct record_facts *facts = &event->facts;
	struct err_detail detail = { "" };
	facts->validation.result = *result;
	if (facts->judging.members_count > 0) {
		struct judge_call *calls = facts->judging.members[0].calls;
		calls[JUDGE_RELEVANCE].verdict = *relevance;
		calls[JUDGE_CORRECTNESS].verdict = *correctness;
		calls[JUDGE_RELEVANCE].prompt_digest = calls[JUDGE_CORRECTNESS].prompt_digest = STR("digest");
	}
	event_finalise(event);
	if (event_encode(event, &detail))
		fail_msg("%s: %s", json, detail.message);
	const char *broken = contradiction(event);
	if (broken)
		fail_msg("%s: %s, result %d %.2f, relevance %d %.0f, correctness %d %.1f: %.*s", broken, json,
			 (int)result->status, result->score, (int)relevance->error, relevance->score,
			 (int)correctness->error, correctness->score, (int)event->encoded.len,
			 event->encoded.data);
	events++;
	seen[event->scored->disposition->action]++;
	passed_count += event->scored->evaluation && event->scored->evaluation->passed;
	for (unsigned kind = 0; kind < ADVISORY_KIND_COUNT_; kind++)
		of_kind[kind] += event->advisory_kinds >> kind & 1;
	stages_event_free(event);
}

/* All answers that the event can get; without a truth nobody is asked for results. */
static void look_at_answers(struct stages *stages, const char *json, bool truth)
{
	for (size_t i = 0; i < (truth ? COUNT_OF(results) : 1); i++)
		for (size_t k = 0; k < COUNT_OF(relevances); k++)
			for (size_t m = 0; m < (truth ? COUNT_OF(correctnesses) : 1); m++)
				if (combinations++ % whole_or(1, 21) == 0)
					look(stages, json, &results[i], &relevances[k], &correctnesses[m]);
}

static void nothing_contradicts_itself(void **state)
{
	struct stages stages;
	(void)state;
	stages_begin_with_target(&stages);
	stages.context.judge = stages_judge();
	stages.config->advisories.max_per_minute = 1000000;
	for (size_t q = 0; q < COUNT_OF(queries); q++)
		for (size_t c = 0; c < COUNT_OF(contexts); c++)
			for (size_t g = 0; g < COUNT_OF(generators); g++)
				for (size_t t = 0; t < COUNT_OF(truths); t++) {
					stages.config->evaluation.pass_score = g == 1 ? 0.99 : 0.7;
					_cleanup_(buf_free) struct buf json = BUF_INIT;
					buf_printf(&json,
						   "{\"event_id\":\"e\",\"application\":\"web\",\"occurred_"
						   "at\":1,"
						   "\"question\":\"q\",\"target\":\"shop\",\"sql\":\"%s\"%s%"
						   "s%s}",
						   queries[q], contexts[c], generators[g], truths[t]);
					look_at_answers(&stages, json.data, truths[t][0]);
				}
	print_message("%zu events: %zu WITHHOLD, %zu VERIFY, %zu USE_WITH_CAUTION, %zu USE; %zu passed\n",
		      events, seen[0], seen[1], seen[2], seen[3], passed_count);
	assert_true(events >= 20000 / whole_or(1, 21));
	for (size_t i = 0; i < COUNT_OF(seen); i++)
		assert_true(seen[i] > 0);
	for (unsigned kind = 0; kind < ADVISORY_KIND_COUNT_; kind++)
		assert_int_equal(of_kind[kind] > 0, kind != ADVISORY_CALIBRATION_DRIFT);
	stages_end(&stages);
}

#define ANSWERED                                                                                             \
	"{\"event_id\":\"e\",\"application\":\"web\",\"occurred_at\":1,\"question\":\"q\",\"target\":"       \
	"\"shop\","                                                                                          \
	"\"sql\":\"SELECT id FROM shop LIMIT 1\"" TRUTH "}}"

static struct event *timed(struct stages *stages, double generated_ms, double truth_ms)
{
	struct event *event = stages_analysed(stages, ANSWERED);
	struct err_detail detail = { "" };
	event->facts.validation.result = (struct validation_result){
		.status = VALIDATION_COMPARED,
		.score = 1,
		.conclusive = true,
		.schema_match = true,
		.generated = { .rows = 1, .time_ms = generated_ms },
		.truth = { .rows = 1, .time_ms = truth_ms },
	};
	event_finalise(event);
	if (event_encode(event, &detail))
		fail_msg("%s", detail.message);
	return event;
}

static void what_is_slower_than_before_is_told(void **state)
{
	struct stages stages;
	(void)state;
	stages_begin_with_target(&stages);
	stages.config->advisories.low_confidence_below = 0;
	for (int i = 0; i < 30; i++) {
		struct event *event = timed(&stages, 10, 10);
		assert_false(says(event->advisory, "PERFORMANCE_REGRESSION"));
		stages_event_free(event);
	}
	struct event *event = timed(&stages, 9000, 9000);
	const struct advisory *advisory = event->advisory;
	assert_true(says(advisory, "PERFORMANCE_REGRESSION"));
	assert_string_equal(advisory->reasons[advisory->reasons_count - 1].code.ptr, "slower_than_before");
	assert_string_equal(advisory->reasons[advisory->reasons_count - 1].text.ptr,
			    "the query took 9000 ms, more than 5 times the 10.0 ms that are usual for it "
			    "(30 runs before)");
	assert_true(advisory->value.value == 9000);
	assert_true(fabs(advisory->threshold.value - 250) < 1e-9); /* the floor, above 5 times 10 ms */
	assert_non_null(strstr(advisory->summary.ptr, "The answer is not affected (USE"));
	assert_non_null(strstr(advisory->remedy.ptr, "was quick before"));
	assert_non_null(strstr(advisory->summary.ptr, "usual for it"));
	stages_event_free(event);
	event = timed(&stages, 9000, 10);
	advisory = event->advisory;
	assert_non_null(strstr(advisory->remedy.ptr, "Compare sql with truth_sql"));
	assert_string_equal(advisory->reasons[advisory->reasons_count - 2].code.ptr,
			    "performance_regression");
	assert_string_equal(advisory->reasons[advisory->reasons_count - 1].code.ptr, "slower_than_before");
	stages_event_free(event);
	stages_end(&stages);
}

/* What limits a low confidence decides what is to be done. */
static void what_limits_is_mended(void **state)
{
#define DOUBTFUL(more)                                                                                       \
	"{\"event_id\":\"e\",\"application\":\"web\",\"occurred_at\":1,\"question\":\"q\",\"target\":"       \
	"\"shop\",\"sql\":"                                                                                  \
	"\"SELECT id FROM shop LIMIT 1\"," more "}"
#define FOUND(first, second, source)                                                                         \
	"\"retrieval\":{\"chunks\":[" OF_SOURCE(first, source) "," OF_SOURCE(                                \
		second, source) "]},\"response\":{\"required_fields\":[\"a\"],\"raw\":"
#define OF_SOURCE(score, source)                                                                             \
	"{\"chunk_id\":\"" score "\",\"document_id\":\"d\",\"source_type\":\"" source                        \
	"\",\"graph_boost\":1,\"rerank_score\":" score ",\"bm25_score\":" score ",\"dense_score\":" score    \
	"}"
	static const struct {
		const char *json, *factor, *text, *remedy;
	} cases[] = {
		{ DOUBTFUL(FOUND("0.1", "0.0", "GOVERNMENT") "\"{}\"}"), "advisory", "retrieved fits badly",
		  "The owner of the retrieval compares" },
		{ DOUBTFUL(FOUND("1.0", "0.7", "UNKNOWN") "\"{}\"}"), "advisory", "sources of low standing",
		  "sources of low standing" },
		{ DOUBTFUL(FOUND("1.0", "0.7", "THIRD_PARTY") "\"no\"}"), "advisory",
		  "reply is no JSON object", "does not have the form" },
		{ DOUBTFUL("\"retrieval\":{\"chunks\":[]},\"response\":{\"raw\":\"{}\"}"), "advisory",
		  "nothing that fits", "why nothing is found" },
		{ DOUBTFUL("\"generator_confidence\":0.2"), "generator", "gives its SQL 20 %",
		  "itself is not sure" },
		{ DOUBTFUL("\"candidates\":[{\"sql\":\"SELECT name FROM shop LIMIT 1\"},{\"sql\":\"SELECT "
			   "1\"}]"),
		  "agreement", "none of the 2 other texts", "do not agree" },
	};
	static const int factors[] = { CONFIG_TECHNICAL, CONFIG_ADVISORY, CONFIG_GENERATOR,
				       CONFIG_AGREEMENT };
	struct stages stages;
	(void)state;
	stages_begin_with_target(&stages);
	stages.config->confidence.factors = (struct conf_enums){ factors, COUNT_OF(factors) };
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct event *event = stages_analysed(&stages, cases[i].json);
		struct err_detail detail = { "" };
		event_finalise(event);
		if (event_encode(event, &detail))
			fail_msg("%s", detail.message);
		const struct advisory *advisory = event->advisory;
		assert_non_null(advisory);
		assert_string_equal(advisory->limiting_factor.ptr, cases[i].factor);
		if (!strstr(advisory->remedy.ptr, cases[i].remedy) ||
		    !strstr(advisory->summary.ptr, cases[i].text))
			fail_msg("%s: %s | %s", cases[i].json, advisory->summary.ptr, advisory->remedy.ptr);
		stages_event_free(event);
	}
	stages_end(&stages);
}

/* Each cause of a finding has its own remedy, and its summary says what it is. */
static void each_cause_has_its_remedy(void **state)
{
#define ASKED(target, sql, more)                                                                             \
	"{\"event_id\":\"e\",\"application\":\"web\",\"occurred_at\":1,\"question\":\"q\"," target           \
	"\"sql\":\"" sql "\"" more "}"
#define AT_SHOP "\"target\":\"shop\","
	static const struct {
		const char *json, *summary, *remedy;
	} cases[] = {
		{ ASKED("\"target\":\"shops\",", "SELECT 1", ""),
		  "no target \"shops\" is configured; did you mean \"shop\"?", "adds the target to targets" },
		{ ASKED("\"target\":\"bazaar\",", "SELECT id FROM shop LIMIT 1",
			",\"retrieval\":{\"chunks\":[" CHUNKS("1.0",
							      "0.7") "]},\"response\":{\"raw\":\"{}\"}"),
		  "no target \"bazaar\" is configured; add it to targets", "adds the target to targets" },
		{ ASKED("\"dialect\":\"MONGODB\",", "db.shop.drop()", ""), "drop", "" },
		{ ASKED(AT_SHOP, "SELECT 1; SELECT 2", ""), "more than one statement", "only reads" },
		{ ASKED(AT_SHOP, "DELETE FROM shop", ""), "DELETE", "open the database read-only" },
		{ ASKED(AT_SHOP, "SELECT load_extension('a')", ""), "load_extension",
		  "without load_extension and ATTACH" },
		{ ASKED("", "DELETE FROM shop", ""), "not_a_read (DELETE is no query)",
		  "takes the right to write" },
		{ ASKED("", "SELECT 1; DELETE FROM shop", ""), "DELETE is no query",
		  "takes the right to write" },
		{ ASKED("", "WITH gone AS (DELETE FROM shop RETURNING id) SELECT id FROM gone", ""),
		  "DELETE in the WITH query gone", "takes the right to write" },
		{ ASKED("", "COPY shop TO PROGRAM 'nc'", ""), "COPY runs a program on the server",
		  "file or program" },
		{ ASKED("", "I am sorry, there are no apples.", ""), "prose, not SQL", "answers in words" },
		{ ASKED("", "SELECT id FROM shop WHERE name = 'app", ""), "unterminated", "ends too early" },
		{ ASKED(AT_SHOP, "SELECT id FROM", ""), "incomplete input", "ends too early" },
		{ ASKED(AT_SHOP, "SELECT id FROM shopp LIMIT 1", ""), "no such table", "" },
		{ ASKED("", "SELECT unheard_of(1)", ""), "the event names no target", "name their target" },
		{ ASKED(AT_SHOP, "```sql\\nSELECT id FROM shop WHERE id = 1\\n```", ""), "fence",
		  "out of its fence" },
	};
	struct stages stages;
	(void)state;
	stages_begin_with_target(&stages);
	struct catalog *catalog = stages.context.default_catalog;
	stages.context.default_catalog = NULL;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct event *event = stages_analysed(&stages, cases[i].json);
		struct err_detail detail = { "" };
		event_finalise(event);
		if (event_encode(event, &detail))
			fail_msg("%s", detail.message);
		const struct advisory *advisory = event->advisory;
		if (!advisory)
			fail_msg("%s: no advisory", cases[i].json);
		if (!strstr(advisory->summary.ptr, cases[i].summary) ||
		    !strstr(advisory->remedy.ptr, cases[i].remedy))
			fail_msg("%s: %s | %s", cases[i].json, advisory->summary.ptr, advisory->remedy.ptr);
		stages_event_free(event);
	}
	stages.context.default_catalog = catalog;
	stages_end(&stages);
}

/* What a result says, and who mends it. */
static void a_result_says_who_mends_it(void **state)
{
	static const str_t eight[] = { STR("8000") }, two[] = { STR("2667") };
	static struct compare_cells ours = { eight, 1 }, theirs = { two, 1 };
	static struct compare_explanation values = { .generated_columns = 1,
						     .truth_columns = 1,
						     .missing_rows = &theirs,
						     .missing_rows_count = 1,
						     .extra_rows = &ours,
						     .extra_rows_count = 1 };
	static const struct {
		struct validation_result result;
		const char *kind, *summary, *remedy;
	} cases[] = {
		{ { .status = VALIDATION_UNAVAILABLE,
		    .error = ERR_TARGET_DENIED,
		    .message = STR("permission denied for table shop") },
		  "REVIEW_REQUIRED",
		  "assayd's role may not read on target \"shop\" what is needed: permission denied for table "
		  "shop",
		  "grants assayd's role SELECT" },
		{ { .status = VALIDATION_TIMEOUT, .generated = { .time_ms = 30000 } },
		  "WRONG_ANSWER",
		  "did not end within 20 s (targets.statement_timeout_ms)",
		  "a cheaper query" },
		{ { .status = VALIDATION_TIMEOUT, .generated = { .time_ms = 90 } },
		  "WRONG_ANSWER",
		  "the query took too long",
		  "a cheaper query" },
		{ { .status = VALIDATION_COMPARED,
		    .conclusive = true,
		    .schema_match = true,
		    .row_count_match = true,
		    .generated = { .rows = 1 },
		    .truth = { .rows = 1 },
		    .explanation = &values },
		  "WRONG_ANSWER",
		  "returned 8000, the truth is 2667",
		  "Compare sql with truth_sql" },
		{ { .status = VALIDATION_COMPARED,
		    .schema_match = true,
		    .row_count_match = true,
		    .nondeterministic = true,
		    .doubt = VALIDATION_INNER_ANY_ROWS,
		    .generated = { .rows = 1 },
		    .truth = { .rows = 1 },
		    .explanation = &values },
		  "REVIEW_REQUIRED",
		  "returned 8000, the truth is 2667",
		  "also of its subqueries" },
		{ { .status = VALIDATION_COMPARED, .schema_match = true, .limit_cut_tie = true },
		  "REVIEW_REQUIRED",
		  "proves nothing, for its LIMIT cuts",
		  "ORDER BY that decides all ties" },
	};
	struct stages stages;
	(void)state;
	stages_begin_with_target(&stages);
	stages.config->advisories.low_confidence_below = 0;
	for (size_t i = 0; i < 2 * COUNT_OF(cases); i++) {
		const struct validation_result *result = &cases[i / 2].result;
		stages.config->records.redact_literals = i % 2;
		struct event *event = stages_analysed(&stages, ANSWERED);
		struct err_detail detail = { "" };
		event->facts.validation.result = *result;
		event_finalise(event);
		if (event_encode(event, &detail))
			fail_msg("%s", detail.message);
		const struct advisory *advisory = event->advisory;
		assert_non_null(advisory);
		const char *summary = result->explanation && i % 2 ? "0 of 1 rows" : cases[i / 2].summary;
		if (!says(advisory, cases[i / 2].kind) || !strstr(advisory->summary.ptr, summary) ||
		    !strstr(advisory->remedy.ptr, cases[i / 2].remedy))
			fail_msg("%zu: %s | %s", i, advisory->summary.ptr, advisory->remedy.ptr);
		stages_event_free(event);
	}
	stages_end(&stages);
}

/* A truth that is no single read is told as that. */
static void a_truth_that_writes_is_named(void **state)
{
	struct stages stages;
	struct err_detail detail = { "" };
	(void)state;
	stages_begin_with_target(&stages);
	struct event *event =
		stages_analysed(&stages, ASKED(AT_SHOP, "SELECT id FROM shop LIMIT 1",
					       ",\"ground_truth\":{\"sql\":\"UPDATE shop SET id = 1\"}"));
	event_finalise(event);
	assert_int_equal(event_encode(event, &detail), ERR_OK);
	assert_non_null(strstr(event->advisory->summary.ptr, "not_a_read"));
	assert_non_null(strstr(event->advisory->remedy.ptr, "no single statement that reads"));
	stages_event_free(event);
	stages_end(&stages);
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_contradicts_itself),
		cmocka_unit_test(what_is_slower_than_before_is_told),
		cmocka_unit_test(what_limits_is_mended),
		cmocka_unit_test(each_cause_has_its_remedy),
		cmocka_unit_test(a_result_says_who_mends_it),
		cmocka_unit_test(a_truth_that_writes_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
