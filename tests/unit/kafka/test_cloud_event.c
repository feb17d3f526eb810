#include "kafka/cloud_event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void attributes_are_headers(void **state)
{
	(void)state;
	const struct {
		struct cloud_event event;
		const char *expected; /* a line for each header */
	} cases[] = {
		{ { STR("in-0-7"), "scored", "io.assayd.ScoredQuery", STR("e"), 1700000000007,
		    STR("\xc3\x01") },
		  "ce_specversion: 1.0\nce_id: in-0-7\nce_source: /scored\nce_type: io.assayd.ScoredQuery\n"
		  "ce_subject: e\nce_time: 2023-11-14T22:13:20.007Z\ncontent-type: "
		  "application/vnd.apache.avro\n" },
		{ { STR("d"), "advisories", "io.assayd.Advisory", STR_NONE, -1, STR("{}") },
		  "ce_specversion: 1.0\nce_id: d\nce_source: /advisories\nce_type: io.assayd.Advisory\n"
		  "content-type: application/json\n" },
		{ { STR("d"), "advisories", "io.assayd.Advisory", STR(""), INT64_MAX, STR_NONE },
		  "ce_specversion: 1.0\nce_id: d\nce_source: /advisories\nce_type: io.assayd.Advisory\n"
		  "content-type: application/vnd.apache.avro\n" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		_cleanup_(buf_free) struct buf text = BUF_INIT;
		struct output_header headers[CLOUD_EVENT_HEADERS];
		size_t count = cloud_event_headers(&cases[i].event, arena, headers);
		for (size_t j = 0; j < count; j++)
			buf_printf(&text, "%s: " STR_FMT "\n", headers[j].name, STR_ARG(headers[j].value));
		assert_string_equal(text.data, cases[i].expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(attributes_are_headers) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
