#include "event/recent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void note(struct recent *recent, int number, str_t summary)
{
	char id[32];
	snprintf(id, sizeof id, "event-%d", number);
	str_t kinds[] = { STR("REVIEW_REQUIRED") };
	const struct advisory advisory = { .raised_at = number,
					   .kinds = kinds,
					   .kinds_count = 1,
					   .level = LEVEL_LOW,
					   .action = RECORD_ACTION_WITHHOLD,
					   .event_id = str_from(id),
					   .summary = summary };
	recent_note(recent, &advisory);
}

static void the_newest_replaces_the_oldest(void **state)
{
	struct recent_advisory told[RECENT_ADVISORIES];
	struct recent *recent = recent_new();
	(void)state;
	assert_int_equal(recent_read(recent, told), 0);
	for (int i = 1; i <= 3; i++)
		note(recent, i, STR("s"));
	assert_int_equal(recent_read(recent, told), 3);
	assert_string_equal(told[0].event_id, "event-3");
	assert_string_equal(told[2].event_id, "event-1");
	assert_string_equal(told[0].action, "WITHHOLD");
	assert_string_equal(told[0].level, "LOW_CONFIDENCE");
	for (int i = 4; i <= 50; i++)
		note(recent, i, STR("s"));
	assert_int_equal(recent_read(recent, told), RECENT_ADVISORIES);
	for (int i = 0; i < RECENT_ADVISORIES; i++)
		assert_int_equal(told[i].raised_at_ms, 50 - i);
	recent_free(recent);
}

/* Texts are cut between code points, and what is no UTF-8 ends them. */
static void texts_fit(void **state)
{
	struct recent_advisory told[RECENT_ADVISORIES];
	struct recent *recent = recent_new();
	char text[RECENT_TEXT_SIZE + 10];
	(void)state;
	memset(text, 'x', sizeof text);
	memcpy(text + RECENT_TEXT_SIZE - 2, "\xc3\xa4", 2);
	note(recent, 1, (str_t){ text, sizeof text });
	note(recent, 2,
	     STR("good\xff"
		 "bad"));
	note(recent, 3, STR_NONE);
	recent_note(NULL, NULL);
	assert_int_equal(recent_read(recent, told), 3);
	assert_int_equal(strlen(told[2].summary), RECENT_TEXT_SIZE - 2);
	assert_string_equal(told[1].summary, "good");
	assert_string_equal(told[0].summary, "");
	recent_free(recent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_replaces_the_oldest),
		cmocka_unit_test(texts_fit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
