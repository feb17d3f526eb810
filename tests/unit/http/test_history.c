#include "http/changes.h"
#include "http/history.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define MINUTE INT64_C(60000)
#define HOUR   INT64_C(3600000)

static void note(struct history *history, int64_t now_ms, uint64_t high, uint64_t dead, int64_t age_ms)
{
	struct history_totals totals = { .dead = dead, .advisories = high / 2 };
	totals.levels[LEVEL_HIGH] = high;
	totals.actions[RECORD_ACTION_USE] = high;
	history_note(history, now_ms, &totals, age_ms);
}

static void differences_are_of_their_minute_and_hour(void **state)
{
	struct history history = { 0 };
	struct history_span minutes[HISTORY_MINUTES], hours[HISTORY_HOURS];
	int64_t now = 1000 * HOUR;
	(void)state;
	note(&history, now, 10, 1, 5);
	note(&history, now + 30000, 15, 1, 7);
	note(&history, now + 30001, 15, 1, 2);
	note(&history, now + MINUTE, 20, 2, 0);
	note(&history, now + HOUR, 21, 2, 0);
	history_minutes(&history, now + MINUTE, minutes);
	const struct history_span *last = &minutes[HISTORY_MINUTES - 1];
	assert_int_equal(last->start_ms, now + MINUTE);
	assert_int_equal(last->counts.levels[LEVEL_HIGH], 5);
	assert_int_equal(last->counts.dead, 1);
	assert_int_equal(last[-1].counts.actions[RECORD_ACTION_USE], 15);
	assert_int_equal(last[-1].counts.advisories, 7);
	assert_int_equal(last[-1].oldest_age_ms, 7);
	assert_int_equal(last[-2].counts.dead, 0);
	assert_int_equal(minutes[0].start_ms, now + MINUTE - (HISTORY_MINUTES - 1) * MINUTE);
	history_hours(&history, now + HOUR, hours);
	assert_int_equal(hours[HISTORY_HOURS - 1].counts.levels[LEVEL_HIGH], 1);
	assert_int_equal(hours[HISTORY_HOURS - 2].counts.levels[LEVEL_HIGH], 20);
	assert_int_equal(hours[HISTORY_HOURS - 2].counts.dead, 2);
	assert_int_equal(hours[HISTORY_HOURS - 2].oldest_age_ms, 7);
}

/* A place of the ring is used again after its time, and what nobody told anything of is empty. */
static void what_is_old_is_gone(void **state)
{
	struct history history = { 0 };
	struct history_span minutes[HISTORY_MINUTES], hours[HISTORY_HOURS];
	int64_t now = 1000 * HOUR;
	(void)state;
	note(&history, now, 10, 0, 0);
	history_minutes(&history, now + (HISTORY_MINUTES - 1) * MINUTE, minutes);
	assert_int_equal(minutes[0].counts.levels[LEVEL_HIGH], 10);
	history_minutes(&history, now + HISTORY_MINUTES * MINUTE, minutes);
	for (size_t i = 0; i < HISTORY_MINUTES; i++)
		assert_int_equal(minutes[i].counts.levels[LEVEL_HIGH], 0);
	note(&history, now + HISTORY_MINUTES * MINUTE, 11, 0, 0);
	history_minutes(&history, now + HISTORY_MINUTES * MINUTE, minutes);
	assert_int_equal(minutes[HISTORY_MINUTES - 1].counts.levels[LEVEL_HIGH], 1);
	history_hours(&history, now + 24 * HOUR, hours);
	assert_int_equal(hours[0].start_ms, now + HOUR);
	for (size_t i = 0; i < HISTORY_HOURS; i++)
		assert_int_equal(hours[i].counts.levels[LEVEL_HIGH], i == 2 ? 1 : 0);
}

static void clocks_and_counters_may_go_back(void **state)
{
	struct history history = { 0 };
	struct history_span minutes[HISTORY_MINUTES];
	int64_t now = 1000 * HOUR;
	(void)state;
	note(&history, now, 10, 0, 0);
	note(&history, now - MINUTE, 12, 0, 0);
	note(&history, now, 3, 0, 0);
	note(&history, -5, 4, 0, 0);
	history_minutes(&history, now, minutes);
	assert_int_equal(minutes[HISTORY_MINUTES - 1].counts.levels[LEVEL_HIGH], 13);
	assert_int_equal(minutes[HISTORY_MINUTES - 2].counts.levels[LEVEL_HIGH], 2);
	history_minutes(&history, 0, minutes);
	assert_int_equal(minutes[HISTORY_MINUTES - 1].counts.levels[LEVEL_HIGH], 0);
}

static void the_latest_changes_are_kept(void **state)
{
	struct changes changes = { 0 };
	struct change told[CHANGES_KEPT];
	char text[CHANGE_TEXT_SIZE + 10];
	(void)state;
	assert_int_equal(changes_read(&changes, told), 0);
	for (int i = 1; i <= 30; i++)
		changes_note(&changes, i, "number %d", i);
	assert_int_equal(changes_read(&changes, told), CHANGES_KEPT);
	assert_string_equal(told[0].text, "number 30");
	assert_int_equal(told[CHANGES_KEPT - 1].at_ms, 11);
	memset(text, 'x', sizeof text);
	memcpy(text + CHANGE_TEXT_SIZE - 2, "\xc3\xa4", 3);
	changes_note(&changes, 31, "%s", text);
	changes_read(&changes, told);
	assert_int_equal(strlen(told[0].text), CHANGE_TEXT_SIZE - 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(differences_are_of_their_minute_and_hour),
		cmocka_unit_test(what_is_old_is_gone),
		cmocka_unit_test(clocks_and_counters_may_go_back),
		cmocka_unit_test(the_latest_changes_are_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
