#include "outward/otlp.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN  "00f067aa0ba902b7"

static struct record_recommendation reason = { STR("unsafe"), STR("it \"deletes\"") };
static struct record_disposition disposition = { 0, &reason, 1 };
static struct record_judge_score relevance = { .score = 20,
					       .reason = STR("asks otherwise"),
					       .status = STR("ok") };
static struct record_judge_score correctness = { .status = STR("judge_timeout") };
static struct record_evaluation evaluation = { .score = 0.25, .failed_by = STR("score") };

static struct scored_query scored_with_all(void)
{
	return (struct scored_query){ .event_id = STR("e"),
				      .scored_at = 1700000000007,
				      .application = STR("a"),
				      .disposition = &disposition,
				      .confidence = { .overall = opt_double(0.5), .level = LEVEL_LOW },
				      .evaluation = &evaluation,
				      .judge = { .relevance = &relevance, .correctness = &correctness } };
}

/* The records as a JSON array. */
static json_t *records_of(const struct scored_query *scored, const char *traceparent, bool explanations,
			  size_t expected)
{
	_cleanup_(buf_free) struct buf records = BUF_INIT, array = BUF_INIT;
	str_t trace = traceparent ? str_from(traceparent) : STR_NONE;
	assert_int_equal(otlp_append(scored, trace, explanations, &records), expected);
	buf_printf(&array, "[%s]", records.len ? records.data : "");
	json_t *list = json_loads(array.data, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(list);
	assert_int_equal(json_array_size(list), expected);
	return list;
}

/* The value of an attribute of the n-th record, NULL: it has none. */
static const json_t *attribute(const json_t *list, size_t n, const char *name, const char *type)
{
	size_t i;
	const json_t *item;
	json_array_foreach(json_object_get(json_array_get(list, n), "attributes"), i,
			   item) if (strcmp(json_string_value(json_object_get(item, "key")), name) ==
				     0) return json_object_get(json_object_get(item, "value"), type);
	return NULL;
}

static const char *text(const json_t *list, size_t n, const char *name)
{
	return json_string_value(attribute(list, n, name, "stringValue"));
}

static void each_evaluation_is_a_record(void **state)
{
	const struct scored_query scored = scored_with_all();
	json_t *list = records_of(&scored, NULL, true, 4);
	(void)state;
	static const char *const names[] = { "confidence", "evaluation", "relevance", "correctness" };
	const double scores[] = { 0.5, 0.25, 20 };
	for (size_t i = 0; i < 4; i++) {
		const json_t *record = json_array_get(list, i);
		assert_string_equal(json_string_value(json_object_get(record, "eventName")),
				    "gen_ai.evaluation.result");
		assert_string_equal(json_string_value(json_object_get(record, "timeUnixNano")),
				    "1700000000007000000");
		assert_string_equal(text(list, i, "gen_ai.evaluation.name"), names[i]);
		assert_string_equal(text(list, i, "assayd.event_id"), "e");
		assert_null(json_object_get(record, "traceId"));
		if (i < 3)
			assert_true(json_real_value(attribute(list, i, "gen_ai.evaluation.score.value",
							      "doubleValue")) == scores[i]);
	}
	assert_string_equal(text(list, 0, "gen_ai.evaluation.score.label"), "LOW_CONFIDENCE");
	assert_string_equal(text(list, 0, "gen_ai.evaluation.explanation"), "it \"deletes\"");
	assert_string_equal(text(list, 1, "gen_ai.evaluation.score.label"), "fail");
	assert_string_equal(text(list, 2, "gen_ai.evaluation.explanation"), "asks otherwise");
	/* one that failed has no score */
	assert_null(attribute(list, 3, "gen_ai.evaluation.score.value", "doubleValue"));
	assert_string_equal(text(list, 3, "error.type"), "judge_timeout");
	json_decref(list);
	/* explanations are left out */
	list = records_of(&scored, NULL, false, 4);
	for (size_t i = 0; i < 4; i++)
		assert_null(text(list, i, "gen_ai.evaluation.explanation"));
	json_decref(list);
}

static void what_is_not_there_is_not_told(void **state)
{
	const struct scored_query none = { .event_id = STR("e"), .confidence.level = ENUM_ABSENT };
	struct attribute attributes[] = { { STR("gen_ai.response.id"), STR("chatcmpl-1") } };
	struct generated_query input = { .attributes = attributes, .attributes_count = 1 };
	struct scored_query scored = { .event_id = STR("\xff"), /* no UTF-8: left out */
				       .confidence = { .overall = opt_double(1), .level = ENUM_ABSENT },
				       .input = &input };
	(void)state;
	json_decref(records_of(&none, NULL, true, 0));
	json_t *list = records_of(&scored, NULL, true, 1);
	assert_null(text(list, 0, "gen_ai.evaluation.score.label"));
	assert_null(text(list, 0, "assayd.event_id"));
	assert_string_equal(text(list, 0, "gen_ai.response.id"), "chatcmpl-1");
	json_decref(list);
}

static void traces_are_taken_over(void **state)
{
	const struct {
		const char *traceparent;
		int flags; /* negative: there is no trace */
	} cases[] = {
		{ "00-" TRACE "-" SPAN "-01", 1 },
		{ "00-" TRACE "-" SPAN "-00", 0 },
		{ "cc-" TRACE "-" SPAN "-01-what-comes-later", 1 },
		{ "00-" TRACE "-" SPAN "-01-more", -1 },
		{ "ff-" TRACE "-" SPAN "-01", -1 },
		{ "00-00000000000000000000000000000000-" SPAN "-01", -1 },
		{ "00-" TRACE "-0000000000000000-01", -1 },
		{ "00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01", -1 },
		{ "00-" TRACE "-" SPAN "-0", -1 },
		{ "00-" TRACE "\"" SPAN "-01", -1 },
		{ "", -1 },
	};
	const struct scored_query scored = {
		.event_id = STR("e"), .confidence = { .overall = opt_double(1), .level = ENUM_ABSENT }
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		json_t *list = records_of(&scored, cases[i].traceparent, true, 1);
		const json_t *record = json_array_get(list, 0);
		if (cases[i].flags < 0) {
			assert_null(json_object_get(record, "traceId"));
		} else {
			assert_string_equal(json_string_value(json_object_get(record, "traceId")), TRACE);
			assert_string_equal(json_string_value(json_object_get(record, "spanId")), SPAN);
			assert_int_equal(json_integer_value(json_object_get(record, "flags")),
					 cases[i].flags);
		}
		json_decref(list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_evaluation_is_a_record),
		cmocka_unit_test(what_is_not_there_is_not_told),
		cmocka_unit_test(traces_are_taken_over),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
