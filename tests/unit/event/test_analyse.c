#include "tests/unit/event/stages.h"

/* ---- what the text alone allows ---- */

static const struct text_case {
	const char *what, *json; /* of a program, where it has an id */
	enum sql_verdict verdict;
	double technical; /* −1: nothing is claimed */
	const char *errors, *stages;
} text_cases[] = {
	{ "a read without a limit", "{\"sql\":\"SELECT name FROM shop WHERE id = 1\"}", SQL_SAFE, 95, "",
	  "decode:ok sql:ok confidence:ok" },
	{ "a column that is not there", "{\"sql\":\"SELECT colour FROM shop\"}", SQL_SAFE, 75, "",
	  "decode:ok sql:ok confidence:ok" },
	{ "a write", "{\"sql\":\"DELETE FROM shop\"}", SQL_UNSAFE, 100, "",
	  "decode:ok sql:ok confidence:ok" },
	{ "no SQL", "{\"sql\":\"SELEKT 1\"}", SQL_UNKNOWN, 0, "", "decode:ok sql:failed confidence:ok" },
	{ "a percentage", "{\"sql\":\"SELECT 1\",\"generator_confidence\":85}", SQL_SAFE, 100,
	  "generator/input_out_of_range", "decode:ok sql:ok confidence:ok" },
	{ "a similarity above 1",
	  "{\"sql\":\"SELECT 1\",\"ground_truth\":{\"sql\":\"SELECT 1\",\"similarity\":2}}", SQL_SAFE, 100,
	  "result_validation/input_out_of_range", "decode:ok sql:ok confidence:ok" },
	{ "a query of MongoDB", "{\"sql\":\"db.shop.find({a: 1}).limit(1)\",\"dialect\":\"MONGODB\"}",
	  SQL_SAFE, 100, "", "decode:ok sql:ok confidence:ok" },
	{ "a write of MongoDB", "{\"sql\":\"db.shop.drop()\",\"dialect\":\"MONGODB\"}", SQL_UNSAFE, 100, "",
	  "decode:ok sql:ok confidence:ok" },
	{ "no query of MongoDB", "{\"sql\":\"SELECT 1\",\"dialect\":\"MONGODB\"}", SQL_UNKNOWN, 0, "",
	  "decode:ok sql:failed confidence:ok" },
	{ "a target that nobody knows", "{\"sql\":\"SELECT 1\",\"target\":\"shop\"}", SQL_UNKNOWN, -1,
	  "target/target_unknown", "decode:ok sql:ok confidence:ok" },
	{ "a source that nobody knows, twice",
	  "{\"event_id\":\"e\",\"occurred_at\":1,\"application\":\"a\",\"question\":\"q\",\"sql\":\"SELECT "
	  "1\",\"retrieval\":{\"chunks\":[{\"chunk_id\":\"a\",\"source_type\":\"ELSEWHERE\"},"
	  "{\"chunk_id\":\"b\",\"source_type\":\"ELSEWHERE\"}]}}",
	  SQL_SAFE, 100, "advisory/symbol_unknown", "decode:ok sql:ok confidence:ok" },
};

static void text_alone(void **state)
{
	struct stages stages;
	(void)state;
	stages_begin(&stages);
	for (size_t i = 0; i < COUNT_OF(text_cases); i++) {
		const struct text_case *expected = &text_cases[i];
		stages.context.lenient = !strstr(expected->json, "event_id");
		struct event *event = stages_analysed(&stages, expected->json);
		const struct record_analysis *analysis = &event->facts.analysis;
		double technical = analysis->technical.set ? analysis->technical.value : -1;
		print_message("%s\n", expected->what);
		assert_int_equal(analysis->sql.verdict, expected->verdict);
		assert_true(technical == expected->technical);
		assert_string_equal(stages_errors(event), expected->errors);
		assert_string_equal(stages_noted(event), expected->stages);
		assert_false(event->facts.validation_asked);
		assert_int_equal(event->facts.judging.members_count, 0);
		assert_string_equal(event->facts.judging.unjudged_reason, "NO_JUDGE");
		stages_event_free(event);
	}
	stages_end(&stages);
}

/* ---- candidates ---- */

#define ANSWER "{\"sql\":\"SELECT name FROM shop WHERE id = 1\",\"candidates\":["
#define C(sql) "{\"sql\":\"" sql "\"}"

static const struct agreement_case {
	const char *what, *json;
	double share;	   /* -1: none */
	size_t candidates; /* that count */
	const char *errors;
} agreement_cases[] = {
	{ "one candidate is none", ANSWER C("SELECT name FROM shop WHERE id = 1") "]}", -1, 0, "" },
	{ "the same meaning in other words",
	  ANSWER C("select s.name from shop AS s where 1 = s.id") "," C(
		  "SELECT name FROM shop WHERE id = 1") "]}",
	  1, 2, "" },
	{ "one of two agrees", ANSWER C("SELECT name FROM shop WHERE id = 1") "," C("SELECT 1") "]}", 2.0 / 3,
	  2, "" },
	{ "none agrees, one does not parse, one does not read",
	  ANSWER C("SELEKT") "," C("DELETE FROM shop") "," C("SELECT name FROM shop") "]}", 1.0 / 4, 3, "" },
	{ "equal texts count each",
	  ANSWER C("SELECT 1") "," C("SELECT 1") "," C("SELECT name FROM shop WHERE id=1") "]}", 2.0 / 4, 3,
	  "" },
	{ "an answer that does not parse",
	  "{\"sql\":\"SELEKT 1\",\"candidates\":[" C("SELEKT 1") "," C("SELECT 1") "]}", -1, 2, "" },
	{ "of seventeen, sixteen",
	  "{\"sql\":\"SELECT 1\",\"candidates\":[" C("SELECT 1") "," C("SELECT 1") "," C("SELECT 1") "," C(
		  "S"
		  "E"
		  "L"
		  "E"
		  "C"
		  "T"
		  " "
		  "1") "," C("SELECT 1") "," C("SELECT 1") "," C("SELECT 1") "," C("SELECT 1") "," C("SELECT "
												     "1") "," C("SELECT 1") "," C("SELECT 1") "," C("SELECT 1") "," C("SELECT 1") "," C("SELECT 1") "," C("SELECT 1") "," C("SELECT 2") "," C("SELECT 3") "]}",
	  16.0 / 17, 16, "agreement/candidates_limit" },
	{ "queries of MongoDB",
	  "{\"sql\":\"db.shop.find({a: 1, b: 2})\",\"dialect\":\"MONGODB\",\"candidates\":["
	  "{\"sql\":\"db.shop.aggregate([{$match: {b: 2, a: {$eq: 1}}}])\"}," C("db.shop.find({a: 1})") "]}",
	  2.0 / 3, 2, "" },
};

static void agreement(void **state)
{
	struct stages stages;
	(void)state;
	stages_begin(&stages);
	for (size_t i = 0; i < COUNT_OF(agreement_cases); i++) {
		const struct agreement_case *expected = &agreement_cases[i];
		struct event *event = stages_analysed(&stages, expected->json);
		const struct record_analysis *analysis = &event->facts.analysis;
		double share = analysis->agreement.set ? analysis->agreement.value : -1;
		print_message("%s\n", expected->what);
		assert_true(share == expected->share);
		assert_int_equal(analysis->candidates_count, expected->candidates);
		assert_string_equal(stages_errors(event), expected->errors);
		stages_event_free(event);
	}
	stages_end(&stages);
}

static void agreement_limits_confidence(void **state)
{
	static const int factors[] = { CONFIG_TECHNICAL, CONFIG_AGREEMENT };
	struct stages stages;
	(void)state;
	stages_begin(&stages);
	stages.config->confidence.factors = (struct conf_enums){ factors, COUNT_OF(factors) };
	struct event *event = stages_analysed(&stages, ANSWER C("SELECT 1") "," C("SELECT 2") "]}");
	const struct overall_score *overall = &event->facts.analysis.overall;
	assert_true(overall->confidence.value == 1.0 / 3);
	assert_string_equal(overall->limiting_factor, "agreement");
	stages_event_free(event);
	stages_end(&stages);
}

static void undecodable(void **state)
{
	static const struct {
		const char *json;
		bool lenient;
		err_t err;
	} cases[] = {
		{ "{", true, ERR_JSON_SYNTAX },
		{ "{\"event_id\":\"e\"}", true, ERR_JSON_SHAPE },
		{ "{\"sql\":\"SELECT 1\"}", false, ERR_JSON_SHAPE }, /* a program says more */
	};
	struct stages stages;
	(void)state;
	stages_begin(&stages);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct err_detail detail = { "" };
		stages.context.lenient = cases[i].lenient;
		struct event *event = stages_event(&stages, cases[i].json);
		assert_int_equal(event_analyse(event, &detail), cases[i].err);
		assert_true(detail.message[0]);
		assert_int_equal(event->facts.stages_count, 0);
		event_free(event);
	}
	stages_end(&stages);
}

/* Lines have their number for an id; who has an id keeps it. */
static void lines_have_ids(void **state)
{
	struct stages stages;
	struct err_detail detail;
	(void)state;
	stages_begin(&stages);
	struct event *event = stages_event(&stages, "{\"sql\":\"SELECT 1\"}");
	event->sequence = 7;
	assert_int_equal(event_analyse(event, &detail), ERR_OK);
	assert_string_equal(event->facts.query->event_id.ptr, "line-7");
	event_free(event);
	event = stages_analysed(&stages, "{\"sql\":\"SELECT 1\",\"event_id\":\"mine\"}");
	assert_string_equal(event->facts.query->event_id.ptr, "mine");
	event_free(event);
	stages_end(&stages);
}

/* ---- who is asked ---- */

static const struct judge_case {
	const char *what, *json;
	double sample_rate;
	bool judge_unsafe;
	bool relevance, correctness, identical;
	const char *reason; /* NULL: asked */
	double probability;
} judge_cases[] = {
	{ "without a truth", "{\"sql\":\"SELECT id FROM shop\"}", 1, false, true, false, false, NULL, 1 },
	{ "with a truth", "{\"sql\":\"SELECT id FROM shop\",\"ground_truth\":{\"sql\":\"SELECT 1\"}}", 1,
	  false, true, true, false, NULL, 1 },
	{ "identical but for its form",
	  "{\"sql\":\"select ID from shop\",\"ground_truth\":{\"sql\":\"SELECT id FROM shop\"}}", 1, false,
	  true, false, true, NULL, 1 },
	{ "identical to an alternative",
	  "{\"sql\":\"SELECT id FROM shop\",\"ground_truth\":{\"sql\":\"SELECT 1\","
	  "\"alternatives\":[\"SELECT id FROM shop\"]}}",
	  1, false, true, false, true, NULL, 1 },
	{ "unsafe", "{\"sql\":\"DELETE FROM shop\"}", 1, false, false, false, false, "UNSAFE", 1 },
	{ "unsafe, but wanted", "{\"sql\":\"DELETE FROM shop\"}", 1, true, true, false, false, NULL, 1 },
	{ "not in the sample", "{\"sql\":\"SELECT id FROM shop\"}", 0, false, false, false, false,
	  "NOT_SAMPLED", 0 },
	{ "doubtful, whatever the sample", "{\"sql\":\"SELEKT 1\"}", 0, false, true, false, false, NULL, 1 },
};

static void judge_is_asked(void **state)
{
	struct stages stages;
	(void)state;
	stages_begin(&stages);
	stages.context.judge = stages_judge();
	for (size_t i = 0; i < COUNT_OF(judge_cases); i++) {
		const struct judge_case *expected = &judge_cases[i];
		stages.config->judge.sample_rate = expected->sample_rate;
		stages.config->judge.unsafe = expected->judge_unsafe;
		struct event *event = stages_analysed(&stages, expected->json);
		const struct record_judging *judging = &event->facts.judging;
		print_message("%s\n", expected->what);
		assert_int_equal(judging->asked[JUDGE_RELEVANCE], expected->relevance);
		assert_int_equal(judging->asked[JUDGE_CORRECTNESS], expected->correctness);
		assert_int_equal(judging->identical, expected->identical);
		assert_true(judging->sampling_probability == expected->probability);
		if (expected->reason)
			assert_string_equal(judging->unjudged_reason, expected->reason);
		else
			assert_null(judging->unjudged_reason);
		stages_event_free(event);
	}
	stages_end(&stages);
}

/* Each member has a call of its own for each question, and whether they are asked is decided once. */
static void all_judges_are_asked_the_same(void **state)
{
	static const char *const names[] = { "one", "two", "three" };
	struct stages stages;
	(void)state;
	stages_begin(&stages);
	stages.context.judge = stages_judges(names, 3);
	struct event *event =
		stages_analysed(&stages, "{\"sql\":\"SELECT id FROM shop\",\"question\":\"Which?\","
					 "\"ground_truth\":{\"sql\":\"SELECT 1\"}}");
	struct record_judging *judging = &event->facts.judging;
	assert_int_equal(judging->members_count, 3);
	for (size_t i = 0; i < 3; i++) {
		for (size_t question = 0; question < JUDGE_QUESTIONS; question++) {
			const struct judge_call *call = &judging->members[i].calls[question];
			assert_true(judging->asked[question]);
			assert_int_equal(call->member, i);
			assert_int_equal(call->kind, question);
			assert_string_equal(call->question.ptr, "Which?");
			assert_non_null(call->arena);
		}
	}
	stages_event_free(event);
	stages.config->judge.sample_rate = 0;
	stages.config->judge.always_below = CONFIG_VERY_LOW;
	event = stages_analysed(&stages, "{\"sql\":\"SELECT id FROM shop\"}");
	assert_int_equal(event->facts.judging.members_count, 0);
	assert_string_equal(event->facts.judging.unjudged_reason, "NOT_SAMPLED");
	stages_event_free(event);
	stages_end(&stages);
}

static void judge_gets_question_and_schema(void **state)
{
	struct stages stages;
	(void)state;
	stages_begin(&stages);
	stages.context.judge = stages_judge();
	struct event *event =
		stages_analysed(&stages, "{\"sql\":\"SELECT id FROM shop\",\"question\":\"Which?\","
					 "\"ground_truth\":{\"sql\":\"SELECT 1\"}}");
	const struct judge_call *call = &event->facts.judging.members[0].calls[JUDGE_CORRECTNESS];
	assert_int_equal(call->kind, JUDGE_CORRECTNESS);
	assert_string_equal(call->question.ptr, "Which?");
	assert_string_equal(call->truth_sql.ptr, "SELECT 1");
	assert_string_equal(call->dialect, "PostgreSQL");
	assert_string_equal(call->schema.ptr, "shop (id integer key, name text, price numeric)");
	stages_event_free(event);
	stages_end(&stages);
}

static const struct target_case {
	const char *what, *json;
	size_t truths; /* that are asked; 0: the target is not */
	enum sql_dialect dialect;
	bool left_out;
	const char *errors;
} target_cases[] = {
	{ "a truth",
	  "{\"target\":\"shop\",\"sql\":\"SELECT id FROM shop\",\"ground_truth\":{\"sql\":\"SELECT 1\"}}", 1,
	  SQL_SQLITE, false, "" },
	{ "no truth", "{\"target\":\"shop\",\"sql\":\"SELECT id FROM shop\"}", 0, SQL_SQLITE, false, "" },
	{ "an unsafe query",
	  "{\"target\":\"shop\",\"sql\":\"DELETE FROM shop\",\"ground_truth\":{\"sql\":\"SELECT 1\"}}", 0,
	  SQL_SQLITE, false, "" },
	{ "a truth that writes",
	  "{\"target\":\"shop\",\"sql\":\"SELECT id FROM shop\",\"ground_truth\":{\"sql\":\"DELETE FROM "
	  "shop\"}}",
	  0, SQL_SQLITE, true, "result_validation/ground_truth_failed" },
	{ "one of two truths writes",
	  "{\"target\":\"shop\",\"sql\":\"SELECT id FROM shop\",\"ground_truth\":{\"sql\":\"DELETE FROM "
	  "shop\","
	  "\"alternatives\":[\"SELECT 2\"]}}",
	  1, SQL_SQLITE, true, "result_validation/ground_truth_failed" },
	{ "a table for a truth",
	  "{\"target\":\"shop\",\"sql\":\"SELECT id FROM shop\",\"ground_truth\":{\"results\":"
	  "[{\"columns\":[\"id\"],\"rows\":[[\"1\"],[\"2\"]]}]}}",
	  1, SQL_SQLITE, false, "" },
	{ "a ragged table",
	  "{\"target\":\"shop\",\"sql\":\"SELECT id FROM shop\",\"ground_truth\":{\"sql\":\"SELECT 1\","
	  "\"results\":[{\"columns\":[\"id\"],\"rows\":[[\"1\",\"2\"]]}]}}",
	  1, SQL_SQLITE, true, "result_validation/truth_shape" },
	{ "another dialect",
	  "{\"target\":\"shop\",\"dialect\":\"POSTGRESQL\",\"sql\":\"SELECT "
	  "1\",\"ground_truth\":{\"sql\":\"SELECT 1\"}}",
	  0, SQL_POSTGRESQL, false, "target/dialect_mismatch" },
};

static void target_is_asked(void **state)
{
	struct stages stages;
	(void)state;
	stages_begin_with_target(&stages);
	for (size_t i = 0; i < COUNT_OF(target_cases); i++) {
		const struct target_case *expected = &target_cases[i];
		struct event *event = stages_analysed(&stages, expected->json);
		const struct record_facts *facts = &event->facts;
		print_message("%s\n", expected->what);
		assert_int_equal(facts->validation_asked, expected->truths > 0);
		assert_int_equal(facts->validation.truths_count, expected->truths);
		assert_int_equal(facts->analysis.dialect, expected->dialect);
		assert_int_equal(facts->analysis.truths_left_out, expected->left_out);
		assert_string_equal(stages_errors(event), expected->errors);
		if (expected->truths)
			assert_string_equal(facts->validation.target, "shop");
		stages_event_free(event);
	}
	stages_end(&stages);
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_alone),
		cmocka_unit_test(agreement),
		cmocka_unit_test(agreement_limits_confidence),
		cmocka_unit_test(undecodable),
		cmocka_unit_test(lines_have_ids),
		cmocka_unit_test(judge_is_asked),
		cmocka_unit_test(all_judges_are_asked_the_same),
		cmocka_unit_test(judge_gets_question_and_schema),
		cmocka_unit_test(target_is_asked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
