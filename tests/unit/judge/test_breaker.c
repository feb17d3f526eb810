#include "judge/breaker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define S 1000000 /* µs */

/* No jitter: a backoff of 0 leaves exactly the pause. */
static struct breaker breaker_of(unsigned threshold)
{
	return (struct breaker){ .threshold = threshold, .pause_ms = 1000, .backoff = { .random_state = 1 } };
}

static void test_opens_after_a_row_of_failures(void **state)
{
	(void)state;
	struct breaker breaker = breaker_of(3);
	assert_false(breaker_failed(&breaker, 0));
	assert_false(breaker_failed(&breaker, 0));
	breaker_succeeded(&breaker); /* the row starts anew */
	assert_false(breaker_failed(&breaker, 0));
	assert_false(breaker_failed(&breaker, 0));
	assert_true(breaker_allows(&breaker, 0));
	assert_true(breaker_failed(&breaker, 5 * S));
	assert_int_equal(breaker.state, BREAKER_OPEN);
	assert_false(breaker_allows(&breaker, 5 * S));
	assert_false(breaker_allows(&breaker, 6 * S - 1));
	assert_true(breaker_allows(&breaker, 6 * S));
}

static void test_lets_one_probe_through(void **state)
{
	(void)state;
	struct breaker breaker = breaker_of(1);
	assert_true(breaker_failed(&breaker, 0));
	assert_true(breaker_allows(&breaker, S));
	breaker_started(&breaker, S);
	assert_int_equal(breaker.state, BREAKER_HALF_OPEN);
	assert_false(breaker_allows(&breaker, 2 * S - 1));
	assert_int_equal(breaker_ready_us(&breaker, S), 2 * S);
	assert_true(breaker_allows(&breaker, 2 * S)); /* the probe is silent: another one */
	breaker_started(&breaker, 5 * S);
	assert_false(breaker_allows(&breaker, 6 * S - 1));
	breaker_succeeded(&breaker);
	assert_int_equal(breaker.state, BREAKER_CLOSED);
	assert_true(breaker_allows(&breaker, 100 * S));
}

static void test_failed_probe_opens_again(void **state)
{
	(void)state;
	struct breaker breaker = breaker_of(2);
	breaker_failed(&breaker, 0);
	breaker_failed(&breaker, 0);
	breaker_started(&breaker, 9 * S);
	assert_true(breaker_failed(&breaker, 10 * S));
	assert_false(breaker_allows(&breaker, 11 * S - 1));
	assert_true(breaker_allows(&breaker, 11 * S));
}

/* Calls that were under way when it opened tell nothing new when they fail, but a success does. */
static void test_late_outcomes(void **state)
{
	(void)state;
	struct breaker breaker = breaker_of(1);
	assert_true(breaker_failed(&breaker, 0));
	assert_false(breaker_failed(&breaker, 900000));
	assert_true(breaker_allows(&breaker, S));
	breaker_succeeded(&breaker);
	assert_true(breaker_allows(&breaker, 0));
}

/* The n-th opening lasts between the pause and the pause + base · 2ⁿ. */
static void test_pause_grows(void **state)
{
	(void)state;
	int64_t longest_us = 0;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct breaker breaker = { .threshold = 1, .pause_ms = 1000 };
		breaker.backoff = (struct backoff){ .base_ms = 1000, .cap_ms = 4000, .random_state = seed };
		static const int64_t most_ms[] = { 2000, 3000, 5000, 5000 };
		for (size_t n = 0; n < sizeof most_ms / sizeof most_ms[0]; n++) {
			breaker_failed(&breaker, 0);
			assert_in_range(breaker.probe_at_us, 1000 * 1000, most_ms[n] * 1000);
			longest_us = breaker.probe_at_us > longest_us ? breaker.probe_at_us : longest_us;
			breaker_started(&breaker, breaker.probe_at_us);
		}
	}
	assert_true(longest_us > 4500000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_opens_after_a_row_of_failures),
		cmocka_unit_test(test_lets_one_probe_through),
		cmocka_unit_test(test_failed_probe_opens_again),
		cmocka_unit_test(test_late_outcomes),
		cmocka_unit_test(test_pause_grows),
	};
	return cmocka_run_group_tests_name("breaker", tests, NULL, NULL);
}
