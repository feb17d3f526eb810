#include "judge/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define S INT64_C(1000000) /* µs */

static struct limits limits_of(unsigned max, int64_t requests, int64_t minute, int64_t day)
{
	struct limits limits;
	limits_init(&limits, max, requests, minute, day, 100 * S);
	return limits;
}

static void test_places(void **state)
{
	(void)state;
	struct limits limits = limits_of(4, 0, 0, 0);
	assert_int_equal(limits_ready_us(&limits, 3, 100 * S), 100 * S);
	assert_int_equal(limits_ready_us(&limits, 4, 100 * S), INT64_MAX);
}

/* 4 places → 2 → (same burst: 2) → 1 → 1; successes give them back: 1 + 1, + 1/2, + 1/2.5, … */
static void test_refusals_narrow_and_successes_widen(void **state)
{
	(void)state;
	struct limits limits = limits_of(4, 0, 0, 0);
	limits_refused(&limits, -1, 100 * S);
	assert_true(limits.places == 2);
	limits_refused(&limits, -1, 101 * S - 1);
	assert_true(limits.places == 2);
	limits_refused(&limits, -1, 101 * S);
	limits_refused(&limits, -1, 103 * S);
	assert_true(limits.places == 1);
	assert_int_equal(limits_ready_us(&limits, 0, 103 * S), 103 * S);
	assert_int_equal(limits_ready_us(&limits, 1, 103 * S), INT64_MAX);
	limits_answered(&limits, 0, 103 * S);
	assert_true(limits.places == 2);
	limits_answered(&limits, 0, 103 * S);
	assert_true(limits.places == 2.5);
	for (int i = 0; i < 20; i++)
		limits_answered(&limits, 0, 103 * S);
	assert_true(limits.places == 4);
}

static void test_pause_that_the_server_asks_for(void **state)
{
	(void)state;
	struct limits limits = limits_of(4, 0, 0, 0);
	limits_refused(&limits, 5000, 100 * S);
	assert_int_equal(limits_ready_us(&limits, 0, 101 * S), 105 * S);
	limits_refused(&limits, 1000, 101 * S); /* does not shorten it */
	assert_int_equal(limits_ready_us(&limits, 0, 101 * S), 105 * S);
	assert_int_equal(limits_ready_us(&limits, 0, 105 * S), 105 * S);
	limits_refused(&limits, 86400000, 110 * S); /* a minute at most */
	assert_int_equal(limits_ready_us(&limits, 0, 110 * S), 170 * S);
}

/* 6 a minute: six at once, then one every 10 s. */
static void test_requests_a_minute(void **state)
{
	(void)state;
	struct limits limits = limits_of(100, 6, 0, 0);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(limits_ready_us(&limits, 0, 100 * S), 100 * S);
		limits_sent(&limits, 100 * S);
	}
	assert_int_equal(limits_ready_us(&limits, 0, 100 * S), 110 * S + 1);
	assert_int_equal(limits_ready_us(&limits, 0, 105 * S), 110 * S + 1);
	assert_int_equal(limits_ready_us(&limits, 0, 110 * S + 1), 110 * S + 1);
	limits_sent(&limits, 110 * S + 1);
	assert_true(limits_ready_us(&limits, 0, 110 * S + 1) > 119 * S);
}

/* 600 a minute are 10 a second: 700 spent of 600 leaves a debt of 100, paid back with one to spare after 10.1
 * s. */
static void test_tokens_a_minute_are_paid_back(void **state)
{
	(void)state;
	struct limits limits = limits_of(100, 0, 600, 0);
	limits_answered(&limits, 700, 100 * S);
	assert_int_equal(limits_ready_us(&limits, 0, 100 * S), 100 * S + 10 * S + S / 10 + 1);
	assert_int_equal(limits_ready_us(&limits, 0, 111 * S), 111 * S);
}

static void test_tokens_a_day(void **state)
{
	(void)state;
	struct limits limits = limits_of(100, 0, 0, 86400);
	limits_answered(&limits, 86399, 100 * S);
	assert_int_equal(limits_ready_us(&limits, 0, 100 * S), 100 * S);
	limits_answered(&limits, 1, 100 * S);
	assert_int_equal(limits_ready_us(&limits, 0, 100 * S), 101 * S + 1);
	assert_int_equal(limits_ready_us(&limits, 0, 86500 * S), 86500 * S);
	assert_true(limits.day_tokens.level == 86400); /* never more than a day's */
}

static void test_change(void **state)
{
	(void)state;
	struct limits limits = limits_of(8, 60, 0, 0);
	for (int i = 0; i < 50; i++)
		limits_sent(&limits, 100 * S);
	limits_change(&limits, 16, 51, 10, 0, 100 * S);
	assert_true(limits.places == 16);
	assert_true(limits.requests.level == 1); /* 50 of 51 are spent */
	assert_true(limits.minute_tokens.level == 10);
	limits_refused(&limits, -1, 100 * S);
	limits_change(&limits, 12, 0, 0, 0, 100 * S);
	assert_true(limits.places == 8); /* as adapted */
	limits_change(&limits, 4, 0, 0, 0, 100 * S);
	assert_true(limits.places == 4);
	assert_int_equal(limits_ready_us(&limits, 3, 100 * S), 100 * S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_refusals_narrow_and_successes_widen),
		cmocka_unit_test(test_pause_that_the_server_asks_for),
		cmocka_unit_test(test_requests_a_minute),
		cmocka_unit_test(test_tokens_a_minute_are_paid_back),
		cmocka_unit_test(test_tokens_a_day),
		cmocka_unit_test(test_change),
	};
	return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
