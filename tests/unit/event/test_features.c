/* The formulas have their own test (score/test_features.c); here is what an event gives them. */
#include "event/features.h"

#include "tests/unit/event/stages.h"

#define EVENT(question, sql, rest)                                                                           \
	"{\"event_id\":\"e\",\"occurred_at\":1,\"application\":\"web\",\"question\":\"" question             \
	"\",\"sql\":\"" sql "\"" rest "}"
#define C(sql) "{\"sql\":\"" sql "\"}"

struct expectation {
	enum feature feature;
	double value;
};

static const struct features_case {
	const char *what, *json;
	struct expectation values[5];
	size_t count;
} cases[] = {
	{ "the question and the statement inside a fence",
	  EVENT("How many items are called apple?",
		"```sql\\nSELECT name FROM shop WHERE name = 'apple'\\n```", ""),
	  { { FEATURE_QUESTION_COUNT, 1 },
	    { FEATURE_COUNT_NOT_DONE, 1 },
	    { FEATURE_RANGES, 1 },
	    { FEATURE_OUTPUTS, 1 },
	    { FEATURE_DIAGNOSED_FENCE, 1 } },
	  5 },
	{ "diagnostics, score and verdict",
	  EVENT("q", "SELECT pg_sleep(9) FROM shop WHERE colour = 1", ""),
	  { { FEATURE_DIAGNOSED_COLUMN, 1 },
	    { FEATURE_ERRORS, 1 },
	    { FEATURE_TECHNICAL, 0.75 },
	    { FEATURE_DIAGNOSED_NOT_SAFE, 1 } },
	  4 },
	{ "columns of the relation read, in any case of its name",
	  EVENT("Price and name of item 1?", "SELECT Name FROM SHOP WHERE id = 1", ""),
	  { { FEATURE_COLUMNS_UNUSED, 1 },
	    { FEATURE_RELATIONS_UNNAMED, 1 },
	    { FEATURE_DIAGNOSED_NOT_SAFE, 0 } },
	  3 },
	{ "a relation that nobody knows has no columns",
	  EVENT("q", "SELECT 1 FROM shops", ""),
	  { { FEATURE_COLUMNS, 0 }, { FEATURE_DIAGNOSED_TABLE, 1 } },
	  2 },
	{ "what the event brings along",
	  EVENT("q", "SELECT 1",
		",\"generator_confidence\":0.25,\"retrieval\":{\"chunks\":[{\"chunk_id\":\"a\","
		"\"rerank_score\":0.5}]}"),
	  { { FEATURE_GENERATOR_GIVEN, 1 },
	    { FEATURE_GENERATOR_CONFIDENCE, 0.25 },
	    { FEATURE_RETRIEVAL_GIVEN, 1 },
	    { FEATURE_CANDIDATES_GIVEN, 0 } },
	  4 },
	{ "candidates that were not run",
	  EVENT("q", "SELECT 1", ",\"candidates\":[" C("SELECT 1") "," C("SELECT 2") "," C("SELECT 2") "]"),
	  { { FEATURE_CANDIDATES_GIVEN, 1 },
	    { FEATURE_AGREEMENT_FORM, 0.5 },
	    { FEATURE_AGREEMENT_EXECUTED, 0 },
	    { FEATURE_AGREEMENT_RESULTS, 0.5 },
	    { FEATURE_AGREEMENT_LEAD, 0 } },
	  5 },
	{ "candidates that all mean the same",
	  EVENT("q", "SELECT 1 AS a", ",\"candidates\":[" C("SELECT 1 AS b") "," C("SELECT 1") "]"),
	  { { FEATURE_AGREEMENT_FORM, 1 },
	    { FEATURE_AGREEMENT_RESULTS, 1 },
	    { FEATURE_AGREEMENT_LEAD, 1 },
	    { FEATURE_AGREEMENT_ALONE, 0 } },
	  4 },
	{ "candidates that mean something else",
	  EVENT("q", "SELECT 1", ",\"candidates\":[" C("SELECT 3") "," C("SELECT 2") "," C("SELECT 2") "]"),
	  { { FEATURE_AGREEMENT_RESULTS, 0.25 },
	    { FEATURE_AGREEMENT_LEAD, -0.25 },
	    { FEATURE_AGREEMENT_ALONE, 1 } },
	  3 },
	{ "candidates beside what is no statement",
	  EVENT("q", "SELEC 1", ",\"candidates\":[" C("SELECT 2") "," C("SELECT 2") "," C("SELECT 3") "]"),
	  { { FEATURE_CANDIDATES_GIVEN, 0 },
	    { FEATURE_AGREEMENT_RESULTS, 0 },
	    { FEATURE_AGREEMENT_LEAD, -0.5 },
	    { FEATURE_AGREEMENT_ALONE, 1 } },
	  4 },
};

static double recorded(const struct event *event, enum feature feature)
{
	const struct record_confidence *confidence = &event->scored->confidence;
	for (size_t i = 0; i < confidence->features_count; i++)
		if (str_is(confidence->features[i].name, FEATURE_INFO[feature].name))
			return confidence->features[i].value;
	return 0;
}

static void ask_for_features(struct stages *stages)
{
	stages->config->calibration.configured = true;
	stages->config->calibration.model = CONFIG_MODEL_FEATURES;
}

static void events_have_features(void **state)
{
	struct stages stages;
	(void)state;
	stages_begin(&stages);
	stages.context.lenient = false;
	ask_for_features(&stages);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct event *event = stages_analysed(&stages, cases[i].json);
		print_message("%s\n", cases[i].what);
		event_finalise(event);
		for (size_t j = 0; j < cases[i].count; j++) {
			const struct expectation *expected = &cases[i].values[j];
			double value = recorded(event, expected->feature);
			if (value != expected->value)
				fail_msg("%s is %g, not %g", FEATURE_INFO[expected->feature].name, value,
					 expected->value);
		}
		for (size_t j = 0; j < event->scored->confidence.features_count; j++)
			assert_true(event->scored->confidence.features[j].value != 0);
		stages_event_free(event);
	}
	stages_end(&stages);
}

#define SAME_RESULT  C("SELECT name FROM shop WHERE id < 2") ","
#define SAME_MEANING C("SELECT name FROM shop WHERE 1 = id") ","
#define OTHER	     C("SELECT 2") ","
#define THIRD	     C("SELECT 3") ","
#define LIKE_OTHER   C("SELECT 1 + 1") ","
#define LARGE	     C("SELECT id FROM shop")

/* Two candidates return what the answer returns, two of another meaning and one like them do not, nor does
 * one that is alone; one is too large. */
static void what_candidates_return(void **state)
{
	static const char json[] = EVENT("q", "SELECT name FROM shop WHERE id = 1",
					 ",\"target\":\"shop\",\"candidates\":[" SAME_RESULT SAME_MEANING
						 OTHER OTHER THIRD LIKE_OTHER LARGE "]");
	struct candidate_result outcomes[] = { { CANDIDATE_EQUAL, 0 },
					       { CANDIDATE_DIFFERENT, 1 },
					       { CANDIDATE_DIFFERENT, 2 },
					       { CANDIDATE_DIFFERENT, 1 },
					       { CANDIDATE_LEFT_OUT, 4 } };
	struct stages stages;
	(void)state;
	stages_begin_with_target(&stages);
	stages.context.lenient = false;
	ask_for_features(&stages);
	stages.config->agreement.execute = true;
	struct event *event = stages_analysed(&stages, json);
	assert_int_equal(event->facts.validation.candidates.count, COUNT_OF(outcomes));
	event->facts.validation.result.candidates = outcomes;
	event->facts.validation.result.candidates_count = COUNT_OF(outcomes);
	event_finalise(event);
	assert_true(recorded(event, FEATURE_AGREEMENT_EXECUTED) == 1);
	assert_true(recorded(event, FEATURE_AGREEMENT_RESULTS) == 3.0 / 7);
	assert_true(recorded(event, FEATURE_AGREEMENT_LEAD) == 3.0 / 7 - 3.0 / 7);
	assert_true(recorded(event, FEATURE_AGREEMENT_ALONE) == 0);
	stages_event_free(event);
	stages_end(&stages);
}

/* One that was to be run beside its candidates: they fail, most are left out, the target is away, or it fails
 * itself. */
static void what_was_not_run_goes_by_form(void **state)
{
	static const char json[] =
		EVENT("q", "SELECT name FROM shop WHERE id = 1",
		      ",\"target\":\"shop\",\"candidates\":[" SAME_MEANING OTHER OTHER LARGE "]");
	static const struct {
		enum validation_status status;
		enum candidate_outcome outcome; /* of all that were run */
		double executed, results, lead, alone;
	} ends[] = {
		{ VALIDATION_COMPARED, CANDIDATE_FAILED, 1, 2.0 / 5, 2.0 / 5 - 2.0 / 5, 0 },
		{ VALIDATION_COMPARED, CANDIDATE_LEFT_OUT, 0, 2.0 / 5, 2.0 / 5 - 2.0 / 5, 0 },
		{ VALIDATION_UNAVAILABLE, CANDIDATE_OUTCOME_COUNT_, 0, 2.0 / 5, 2.0 / 5 - 2.0 / 5, 0 },
		{ VALIDATION_EXECUTION_FAILED, CANDIDATE_OUTCOME_COUNT_, 0, 0, -2.0 / 5, 1 },
		{ VALIDATION_TIMEOUT, CANDIDATE_OUTCOME_COUNT_, 0, 0, -2.0 / 5, 1 },
	};
	struct stages stages;
	(void)state;
	stages_begin_with_target(&stages);
	stages.context.lenient = false;
	ask_for_features(&stages);
	stages.config->agreement.execute = true;
	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		struct event *event = stages_analysed(&stages, json);
		struct validation_result *result = &event->facts.validation.result;
		struct candidate_result outcomes[] = { { ends[i].outcome, 0 }, { ends[i].outcome, 1 } };
		assert_int_equal(event->facts.validation.candidates.count, COUNT_OF(outcomes));
		result->status = ends[i].status;
		result->candidates = outcomes;
		result->candidates_count =
			ends[i].outcome == CANDIDATE_OUTCOME_COUNT_ ? 0 : COUNT_OF(outcomes);
		event_finalise(event);
		print_message("end %zu\n", i);
		assert_true(recorded(event, FEATURE_AGREEMENT_EXECUTED) == ends[i].executed);
		assert_true(recorded(event, FEATURE_AGREEMENT_RESULTS) == ends[i].results);
		assert_true(recorded(event, FEATURE_AGREEMENT_LEAD) == ends[i].lead);
		assert_true(recorded(event, FEATURE_AGREEMENT_ALONE) == ends[i].alone);
		stages_event_free(event);
	}
	stages_end(&stages);
}

/* How far the judges are apart, where all events have judges: neither what they say nor anything that they
 * say of the truth. */
static void judges_disagree(void **state)
{
	static const char *const names[] = { "one", "two" };
	static const struct {
		double sample_rate, relevance[2], correctness[2], given, apart;
		err_t error; /* of the second */
	} judged[] = {
		{ 1, { 90, 40 }, { 1, 0 }, 1, 0.5, ERR_OK },
		{ 1, { 60, 10 }, { 0, 0 }, 1, 0.5, ERR_OK },
		{ 1, { 70, 70 }, { 1, 0 }, 1, 0, ERR_OK },
		{ 1, { 90, 40 }, { 1, 0 }, 0, 0, ERR_JUDGE_TIMEOUT },
		{ 0.99, { 90, 40 }, { 1, 0 }, 0, 0, ERR_OK },
	};
	struct stages stages;
	(void)state;
	stages_begin(&stages);
	ask_for_features(&stages);
	stages.context.judge = stages_judges(names, 2);
	stages.config->judge.always_below = CONFIG_HIGH;
	for (size_t i = 0; i < COUNT_OF(judged); i++) {
		stages.config->judge.sample_rate = judged[i].sample_rate;
		struct event *event =
			stages_analysed(&stages, EVENT("q", "SELECT id FROM shop",
						       ",\"ground_truth\":{\"sql\":\"SELECT 1\"}"));
		struct record_judging *judging = &event->facts.judging;
		assert_int_equal(judging->members_count, 2);
		for (size_t k = 0; k < 2; k++) {
			judging->members[k].calls[JUDGE_RELEVANCE].verdict =
				(struct judge_verdict){ .error = k ? judged[i].error : ERR_OK,
							.score = judged[i].relevance[k] };
			judging->members[k].calls[JUDGE_CORRECTNESS].verdict =
				(struct judge_verdict){ .score = judged[i].correctness[k] };
		}
		event_finalise(event);
		assert_true(recorded(event, FEATURE_PANEL_GIVEN) == judged[i].given);
		assert_true(recorded(event, FEATURE_PANEL_DISAGREEMENT) == judged[i].apart);
		stages_event_free(event);
	}
	stages_end(&stages);
}

static void who_does_not_ask_gets_none(void **state)
{
	struct stages stages;
	(void)state;
	stages_begin(&stages);
	stages.context.lenient = false;
	for (int i = 0; i < 3; i++) {
		stages.config->calibration.configured = i > 0;
		stages.config->calibration.model = i < 2 ? CONFIG_MODEL_MAP : CONFIG_MODEL_FEATURES;
		struct event *event = stages_analysed(&stages, cases[0].json);
		event_finalise(event);
		assert_int_equal(event->scored->confidence.features_count != 0, i == 2);
		stages_event_free(event);
	}
	stages_end(&stages);
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_have_features),		 cmocka_unit_test(what_candidates_return),
		cmocka_unit_test(what_was_not_run_goes_by_form), cmocka_unit_test(judges_disagree),
		cmocka_unit_test(who_does_not_ask_gets_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
