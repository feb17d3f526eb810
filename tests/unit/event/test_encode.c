#include "tests/unit/event/stages.h"

static const struct output_header sent[] = {
	{ "traceparent", { "00-1", 4 } }, { "traceparent", { "00-2", 4 } }, { "tracestate", { "x=1", 3 } },
	{ "reason", { "earlier", 7 } },	  { "mine", { "y", 1 } },	    { "redriven", { "2", 1 } },
};

static struct event *finalised(struct stages *stages, const char *json)
{
	struct event *event = stages_analysed(stages, json);
	event->headers = sent;
	event->headers_count = COUNT_OF(sent);
	event_finalise(event);
	return event;
}

static void encode(struct event *event)
{
	struct err_detail detail = { "" };
	if (event_encode(event, &detail))
		fail_msg("%s", detail.message);
}

/* "name=value" of all headers, with blanks between them. */
static const char *headers_of(const struct event *event, size_t index)
{
	const struct output *output = &event->publication.outputs[index];
	struct buf text = BUF_INIT;
	for (size_t i = 0; i < output->headers_count; i++)
		buf_printf(&text, "%s%s=" STR_FMT, i ? " " : "", output->headers[i].name,
			   STR_ARG(output->headers[i].value));
	const char *kept = arena_strdup(event->arena, text.len ? text.data : "");
	buf_free(&text);
	return kept;
}

static const struct scored_case {
	const char *what, *json;
	const char *advisory; /* its headers, or NULL */
} scored_cases[] = {
	{ "a good query", "{\"event_id\":\"e\",\"application\":\"web\",\"sql\":\"SELECT id FROM shop\"}",
	  NULL },
	{ "no SQL", "{\"event_id\":\"e\",\"application\":\"web\",\"sql\":\"SELEKT\"}",
	  "traceparent=00-1 tracestate=x=1 kind=LOW_CONFIDENCE kinds=LOW_CONFIDENCE,WRONG_ANSWER "
	  "action=WITHHOLD application=web level=VERY_LOW_CONFIDENCE" },
	{ "an unsafe query", "{\"event_id\":\"e\",\"application\":\"web\",\"sql\":\"DELETE FROM shop\"}",
	  "traceparent=00-1 tracestate=x=1 kind=UNSAFE_QUERY kinds=UNSAFE_QUERY,LOW_CONFIDENCE "
	  "action=WITHHOLD application=web level=VERY_LOW_CONFIDENCE" },
};

static void record_and_advisories(void **state)
{
	struct stages stages;
	(void)state;
	stages_begin(&stages);
	for (size_t i = 0; i < COUNT_OF(scored_cases); i++) {
		const struct scored_case *expected = &scored_cases[i];
		struct event *event = finalised(&stages, expected->json);
		struct err_detail detail = { "" };
		struct scored_query *read = NULL;
		size_t bytes = 0;
		print_message("%s\n", expected->what);
		encode(event);
		const struct publication *publication = &event->publication;
		assert_int_equal(publication->partition, 3);
		assert_int_equal(publication->offset, 42);
		assert_int_equal(publication->outputs[0].topic, OUTPUT_SCORED);
		assert_string_equal(headers_of(event, 0), "traceparent=00-1 tracestate=x=1");
		str_t value = publication->outputs[0].value;
		assert_int_equal(
			codec_decode_scored(stages.codec, value.ptr, value.len, event->arena, &read, &detail),
			ERR_OK);
		assert_string_equal(read->event_id.ptr, "e");
		assert_string_equal(read->input->sql.ptr, event->facts.query->sql.ptr);
		assert_int_equal(publication->outputs_count, expected->advisory ? 2 : 1);
		if (expected->advisory) {
			assert_int_equal(publication->outputs[1].topic, OUTPUT_ADVISORY);
			assert_string_equal(headers_of(event, 1), expected->advisory);
		}
		for (size_t output = 0; output < publication->outputs_count; output++)
			bytes += publication->outputs[output].value.len;
		assert_int_equal(publication->bytes, bytes);
		stages_event_free(event);
	}
	stages_end(&stages);
}

static const struct letter_case {
	const char *what, *raw;
	bool shortened;
	const char *headers;
	size_t value_bytes;
} letter_cases[] = {
	{ "as it came", "{", false,
	  "traceparent=00-1 traceparent=00-2 tracestate=x=1 mine=y redriven=2 reason=json_syntax detail=why "
	  "topic=input partition=3 offset=42",
	  1 },
	{ "shortened", "{", true,
	  "length=1 sha256=021fb596db81e6d02bf3d2586ee3981fe519f275c0ac9ca76bbcf2ebb4097d96 "
	  "redriven=2 reason=json_syntax detail=why topic=input partition=3 offset=42",
	  1 },
};

static struct event *dead(struct stages *stages, const char *raw)
{
	struct event *event = stages_event(stages, raw);
	event->headers = sent;
	event->headers_count = COUNT_OF(sent);
	event_kill(event, ERR_JSON_SYNTAX, "why");
	encode(event);
	return event;
}

static void dead_letters(void **state)
{
	struct stages stages;
	(void)state;
	stages_begin(&stages);
	for (size_t i = 0; i < COUNT_OF(letter_cases); i++) {
		const struct letter_case *expected = &letter_cases[i];
		struct event *event = dead(&stages, expected->raw);
		struct publication *publication = &event->publication;
		print_message("%s\n", expected->what);
		if (expected->shortened)
			assert_true(publication->refused(publication, 0, true, "too large"));
		assert_int_equal(publication->outputs_count, 1);
		assert_int_equal(publication->outputs[0].topic, OUTPUT_DEAD_LETTER);
		assert_string_equal(publication->outputs[0].key.ptr, "key");
		assert_string_equal(headers_of(event, 0), expected->headers);
		assert_int_equal(publication->outputs[0].value.len, expected->value_bytes);
		if (expected->shortened) /* there is nothing left to try */
			assert_false(publication->refused(publication, 0, true, "too large"));
		event_free(event);
	}
	stages_end(&stages);
}

static void long_letters_are_cut(void **state)
{
	struct stages stages;
	char *raw = malloc(100001);
	(void)state;
	assert_non_null(raw);
	memset(raw, 'x', 100000);
	raw[100000] = '\0';
	stages_begin(&stages);
	struct event *event = dead(&stages, raw);
	assert_int_equal(event->publication.outputs[0].value.len, 100000);
	assert_false(event->publication.refused(&event->publication, 0, false, "not for its size"));
	assert_true(event->publication.refused(&event->publication, 0, true, "too large"));
	assert_int_equal(event->publication.outputs[0].value.len, 65536);
	event_free(event);
	stages_end(&stages);
	free(raw);
}

/* A message without a value is published again without one. */
static void tombstones_stay_tombstones(void **state)
{
	struct stages stages;
	(void)state;
	stages_begin(&stages);
	struct event *event =
		event_new(&stages.context, config_ref(stages.config), STR_NONE, STR("key"), &test_origin);
	event_kill(event, ERR_JSON_SYNTAX, "why");
	encode(event);
	assert_null(event->publication.outputs[0].value.ptr);
	event_free(event);
	stages_end(&stages);
}

/* What a topic refuses becomes less, one thing after the other: an advisory is left out, a record is
 * published without its event, then as a dead letter. */
static void refusals(void **state)
{
	struct stages stages;
	(void)state;
	stages_begin(&stages);
	struct event *event = finalised(&stages, scored_cases[2].json);
	struct publication *publication = &event->publication;
	encode(event);
	event_set_step(event, STEP_READY);
	assert_int_equal(publication->outputs_count, 2);
	assert_true(publication->refused(publication, 1, false, "no"));
	assert_int_equal(publication->outputs_count, 1);
	assert_true(publication->refused(publication, 0, true, "too large"));
	assert_true(event->scored->input_shortened);
	assert_null(event->scored->input);
	assert_int_equal(publication->outputs[0].topic, OUTPUT_SCORED);
	assert_int_equal(publication->outputs_count, 2); /* encoded anew, and raised only once */
	assert_true(publication->refused(publication, 0, true, "still too large"));
	assert_int_equal(publication->outputs_count, 1);
	assert_int_equal(publication->outputs[0].topic, OUTPUT_DEAD_LETTER);
	assert_int_equal(event->dead_reason, ERR_OUTPUT_REFUSED);
	assert_int_equal(atomic_load(&event->step), STEP_READY);
	stages_event_free(event);
	stages_end(&stages);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(record_and_advisories),
		cmocka_unit_test(dead_letters),
		cmocka_unit_test(long_letters_are_cut),
		cmocka_unit_test(tombstones_stay_tombstones),
		cmocka_unit_test(refusals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
