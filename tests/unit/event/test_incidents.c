#include "event/incidents.h"

#include "avro/advisory.h"
#include "common/log.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define SECOND_US ((int64_t)1000000)

/* What was told since it was last looked at. */
static struct {
	size_t count;
	enum log_level level;
	char line[2048];
} told;

static void hear(enum log_level level, const char *line, void *context)
{
	(void)context;
	told.count++;
	told.level = level;
	snprintf(told.line, sizeof told.line, "%s", line);
}

static struct incidents *begin(void)
{
	told.count = 0;
	log_set_level(LOG_LEVEL_DEBUG);
	log_set_sink(hear, NULL);
	return incidents_new();
}

static void end(struct incidents *incidents)
{
	incidents_free(incidents);
	log_set_sink(NULL, NULL);
}

/* Asserts that there was one line, this one. */
static void expect(const char *line)
{
	assert_int_equal(told.count, 1);
	assert_string_equal(told.line, line);
	told.count = 0;
}

static void note(struct incidents *incidents, err_t reason, int64_t offset, str_t detail, int64_t now_us)
{
	const struct event_origin origin = { .topic = STR("input"), .partition = 3, .offset = offset };
	incidents_note(incidents, INCIDENT_DEAD_LETTER, (unsigned)reason, &origin, detail, now_us);
}

static void the_first_is_told_at_once_and_the_rest_once_a_minute(void **state)
{
	struct incidents *incidents = begin();
	int64_t now_us = 1000 * SECOND_US;
	(void)state;
	note(incidents, ERR_JSON_SYNTAX, 7, STR("line 1"), now_us);
	expect("1 dead letter: 1 json_syntax (first: input/3@7: line 1)");
	assert_int_equal(told.level, LOG_LEVEL_WARNING);
	for (int64_t i = 0; i < 100000; i++)
		note(incidents, i % 100 ? ERR_JSON_SYNTAX : ERR_OUTPUT_REFUSED, 8 + i, STR("why"),
		     now_us + i);
	incidents_log(incidents, now_us + 59 * SECOND_US, false);
	assert_int_equal(told.count, 0);
	incidents_log(incidents, now_us + 60 * SECOND_US, false);
	expect("100,000 dead letters in the last 60 s: 99,000 json_syntax (first: input/3@9: why), "
	       "1,000 output_refused (first: input/3@8: why)");
	incidents_log(incidents, now_us + 600 * SECOND_US, false);
	incidents_log(incidents, now_us + 600 * SECOND_US, true);
	assert_int_equal(told.count, 0);
	note(incidents, ERR_JSON_SYNTAX, 200000, STR(""), now_us + 600 * SECOND_US);
	expect("1 dead letter in the last 540 s: 1 json_syntax (first: input/3@200000)");
	end(incidents);
}

static void the_end_leaves_nothing_untold(void **state)
{
	struct incidents *incidents = begin();
	(void)state;
	note(incidents, ERR_JSON_SYNTAX, 1, STR(""), SECOND_US);
	told.count = 0;
	note(incidents, ERR_JSON_SYNTAX, 2, STR(""), 2 * SECOND_US);
	note(incidents, ERR_JSON_SYNTAX, 3, STR(""), 3 * SECOND_US);
	assert_int_equal(told.count, 0);
	incidents_log(incidents, 4 * SECOND_US, true);
	expect("2 dead letters in the last 3 s: 2 json_syntax (first: input/3@2)");
	end(incidents);
}

static void what_is_foreign_is_harmless(void **state)
{
	static const struct {
		str_t detail;
		const char *shown;
	} cases[] = {
		{ STR("\x1b[2J\r\nassayd: error: forged"), "\\u001b[2J\\r\\nassayd: error: forged" },
		{ STR("caf\xc3\xa9 \xff"), "caf\xc3\xa9 \\xff" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct incidents *incidents = begin();
		char line[256];
		note(incidents, ERR_JSON_SYNTAX, 1, cases[i].detail, SECOND_US);
		snprintf(line, sizeof line, "1 dead letter: 1 json_syntax (first: input/3@1: %s)",
			 cases[i].shown);
		expect(line);
		end(incidents);
	}
}

static void a_line_is_bounded(void **state)
{
	struct incidents *incidents = begin();
	char detail[5000];
	(void)state;
	memset(detail, 0x1b, sizeof detail);
	for (int64_t round = 0; round < 2; round++)
		for (unsigned reason = 1; reason < ERR_COUNT_; reason++)
			note(incidents, (err_t)reason, reason, (str_t){ detail, sizeof detail }, SECOND_US);
	told.count = 0;
	incidents_log(incidents, 100 * SECOND_US, false);
	assert_int_equal(told.count, 1);
	assert_true(strlen(told.line) < sizeof told.line);
	assert_non_null(strstr(told.line, "\\u001b"));
	assert_null(strchr(told.line, 0x1b));
	end(incidents);
}

static void each_kind_has_its_own_line(void **state)
{
	const struct event_origin origin = { .topic = STR("t"), .offset = 5 };
	struct incidents *incidents = begin();
	(void)state;
	incidents_note(incidents, INCIDENT_SHORTENED, 0, &origin, STR("shop"), SECOND_US);
	expect("1 record published without its event, too large for its topic (max.message.bytes): "
	       "(first: t/0@5: shop)");
	incidents_note(incidents, INCIDENT_ADVISORY_REFUSED, 0, &origin, STR("no"), SECOND_US);
	expect("1 advisory refused by its topic and left out; the scored records hold the same: "
	       "(first: t/0@5: no)");
	incidents_note(incidents, INCIDENT_ADVISORY_HELD_BACK, ADVISORY_LOW_CONFIDENCE, &origin, STR("shop"),
		       SECOND_US);
	expect("1 advisory held back (advisories.max_per_minute): 1 LOW_CONFIDENCE (first: t/0@5: shop)");
	assert_int_equal(told.level, LOG_LEVEL_NOTICE);
	end(incidents);
}

static void who_has_no_topic_is_answered_otherwise(void **state)
{
	const struct event_origin line = { .offset = 0 };
	struct incidents *incidents = begin();
	(void)state;
	incidents_note(incidents, INCIDENT_DEAD_LETTER, ERR_JSON_SYNTAX, &line, STR("x"), SECOND_US);
	incidents_log(incidents, 100 * SECOND_US, true);
	assert_int_equal(told.count, 0);
	end(incidents);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_is_told_at_once_and_the_rest_once_a_minute),
		cmocka_unit_test(the_end_leaves_nothing_untold),
		cmocka_unit_test(what_is_foreign_is_harmless),
		cmocka_unit_test(a_line_is_bounded),
		cmocka_unit_test(each_kind_has_its_own_line),
		cmocka_unit_test(who_has_no_topic_is_answered_otherwise),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
