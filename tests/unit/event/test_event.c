#include "tests/unit/event/stages.h"

/* A message of so many bytes. */
static char *json_of(size_t bytes)
{
	static const char head[] = "{\"event_id\":\"e\",\"question\":\"",
			  tail[] = "\",\"sql\":\"SELECT id FROM shop\"}";
	char *text = malloc(bytes + 1);
	assert_non_null(text);
	memset(text, 'x', bytes);
	memcpy(text, head, sizeof head - 1);
	memcpy(text + bytes - (sizeof tail - 1), tail, sizeof tail);
	return text;
}

static struct event *encoded(struct stages *stages, const char *json)
{
	struct err_detail detail = { "" };
	struct event *event = stages_analysed(stages, json);
	event_finalise(event);
	if (event_encode(event, &detail))
		fail_msg("%s", detail.message);
	event_set_step(event, STEP_READY);
	return event;
}

static void what_is_to_come_counts_from_the_start(void **state)
{
	static const size_t sizes[] = { 200, 3000, 60000 };
	struct stages stages;
	(void)state;
	stages_begin(&stages);
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		_cleanup_(cleanup_free) char *json = json_of(sizes[i]);
		struct event *event = stages_event(&stages, json);
		size_t at_first = event_held_bytes(event);
		/* itself, and the outputs, which repeat it */
		assert_true(at_first >= arena_size_bytes(event->arena) + sizes[i]);
		assert_true(at_first >= 2 * sizes[i]);
		arena_alloc(event->arena, 100000);
		assert_true(event_held_bytes(event) >= at_first + 100000);
		stages_event_free(event);

		event = encoded(&stages, json);
		const struct publication *publication = &event->publication;
		assert_true(publication->bytes >= sizes[i]);
		assert_true(event_held_bytes(event) >= arena_size_bytes(event->arena) + publication->bytes);
		/* the guess is gone, and was not far off */
		assert_int_equal(event_held_bytes(event),
				 arena_size_bytes(event->arena) + event->encoded.capacity);
		assert_true(event_held_bytes(event) < 4 * at_first);
		assert_true(at_first < 4 * event_held_bytes(event));
		stages_event_free(event);
	}
	stages_end(&stages);
}

/* The client copies what it is given, until the transaction has ended. */
static void a_transaction_holds_copies(void **state)
{
	static const char *const texts[] = {
		"{\"event_id\":\"e\",\"sql\":\"SELECT id FROM shop\"}",
		"{\"event_id\":\"e\",\"sql\":\"DELETE FROM shop\"}",
	};
	size_t beyond[COUNT_OF(texts)], outputs[COUNT_OF(texts)];
	struct stages stages;
	(void)state;
	stages_begin(&stages);
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct event *event = encoded(&stages, texts[i]);
		const struct publication *publication = &event->publication;
		size_t ready = event_held_bytes(event);
		event_set_step(event, STEP_IN_TXN);
		size_t in_transaction = event_held_bytes(event);
		assert_true(in_transaction > ready + publication->bytes);
		beyond[i] = in_transaction - ready - publication->bytes;
		outputs[i] = publication->outputs_count;
		event_set_step(event, STEP_READY);
		assert_int_equal(event_held_bytes(event), ready);
		event_set_step(event, STEP_IN_TXN);
		event_set_step(event, STEP_COMMITTED);
		assert_int_equal(event_held_bytes(event), ready);
		stages_event_free(event);
	}
	/* as much for each message */
	assert_true(outputs[1] > outputs[0]);
	assert_int_equal(beyond[0] / outputs[0], beyond[1] / outputs[1]);
	stages_end(&stages);
}

/* It goes into a header and to people's terminals, whatever was quoted in it. */
static void a_detail_is_one_line_of_text(void **state)
{
	struct stages stages;
	(void)state;
	stages_begin(&stages);
	struct event *event = stages_event(&stages, "{}");
	event_kill(event, ERR_JSON_SHAPE, "\x1b[2Jsql\n\xff: unknown field");
	assert_string_equal(event->dead_detail.ptr, "\\u001b[2Jsql\\n\\xff: unknown field");
	assert_int_equal(event->dead_detail.len, strlen(event->dead_detail.ptr));
	stages_event_free(event);
	stages_end(&stages);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_to_come_counts_from_the_start),
		cmocka_unit_test(a_transaction_holds_copies),
		cmocka_unit_test(a_detail_is_one_line_of_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
