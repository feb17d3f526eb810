#include "common/circuit_breaker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define S 1000000 /* µs */

/* No jitter: a backoff of 0 leaves exactly the pause. */
static struct circuit_breaker breaker_of(unsigned threshold)
{
	return (struct circuit_breaker){
		.threshold = threshold, .pause_ms = 1000, .silence_ms = 1000, .backoff = { .random_state = 1 }
	};
}

static void test_opens_after_a_row_of_failures(void **state)
{
	(void)state;
	struct circuit_breaker breaker = breaker_of(3);
	assert_false(circuit_breaker_failed(&breaker, 0));
	assert_false(circuit_breaker_failed(&breaker, 0));
	circuit_breaker_succeeded(&breaker); /* the row starts anew */
	assert_false(circuit_breaker_failed(&breaker, 0));
	assert_false(circuit_breaker_failed(&breaker, 0));
	assert_true(circuit_breaker_allows(&breaker, 0));
	assert_true(circuit_breaker_failed(&breaker, 5 * S));
	assert_int_equal(breaker.state, CIRCUIT_OPEN);
	assert_false(circuit_breaker_allows(&breaker, 5 * S));
	assert_false(circuit_breaker_allows(&breaker, 6 * S - 1));
	assert_true(circuit_breaker_allows(&breaker, 6 * S));
}

static void test_lets_one_probe_through(void **state)
{
	(void)state;
	struct circuit_breaker breaker = breaker_of(1);
	assert_true(circuit_breaker_failed(&breaker, 0));
	assert_true(circuit_breaker_allows(&breaker, S));
	circuit_breaker_started(&breaker, S);
	assert_int_equal(breaker.state, CIRCUIT_HALF_OPEN);
	assert_false(circuit_breaker_allows(&breaker, 2 * S - 1));
	assert_int_equal(circuit_breaker_ready_us(&breaker, S), 2 * S);
	assert_true(circuit_breaker_allows(&breaker, 2 * S)); /* the probe is silent: another one */
	circuit_breaker_started(&breaker, 5 * S);
	assert_false(circuit_breaker_allows(&breaker, 6 * S - 1));
	circuit_breaker_succeeded(&breaker);
	assert_int_equal(breaker.state, CIRCUIT_CLOSED);
	assert_true(circuit_breaker_allows(&breaker, 100 * S));
}

static void test_failed_probe_opens_again(void **state)
{
	(void)state;
	struct circuit_breaker breaker = breaker_of(2);
	circuit_breaker_failed(&breaker, 0);
	circuit_breaker_failed(&breaker, 0);
	circuit_breaker_started(&breaker, 9 * S);
	assert_true(circuit_breaker_failed(&breaker, 10 * S));
	assert_false(circuit_breaker_allows(&breaker, 11 * S - 1));
	assert_true(circuit_breaker_allows(&breaker, 11 * S));
}

/* Calls that were under way when it opened tell nothing new when they fail, but a success does. */
static void test_late_answers(void **state)
{
	(void)state;
	struct circuit_breaker breaker = breaker_of(1);
	assert_true(circuit_breaker_failed(&breaker, 0));
	assert_false(circuit_breaker_failed(&breaker, 900000));
	assert_true(circuit_breaker_allows(&breaker, S));
	circuit_breaker_succeeded(&breaker);
	assert_true(circuit_breaker_allows(&breaker, 0));
}

/* The n-th opening lasts between the pause and the pause + base · 2ⁿ. */
static void test_pause_grows(void **state)
{
	(void)state;
	int64_t longest_us = 0;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct circuit_breaker breaker = { .threshold = 1, .pause_ms = 1000, .silence_ms = 1000 };
		breaker.backoff = (struct backoff){ .base_ms = 1000, .cap_ms = 4000, .random_state = seed };
		static const int64_t most_ms[] = { 2000, 3000, 5000, 5000 };
		for (size_t n = 0; n < sizeof most_ms / sizeof most_ms[0]; n++) {
			circuit_breaker_failed(&breaker, 0);
			assert_in_range(breaker.probe_at_us, 1000 * 1000, most_ms[n] * 1000);
			longest_us = breaker.probe_at_us > longest_us ? breaker.probe_at_us : longest_us;
			circuit_breaker_started(&breaker, breaker.probe_at_us);
		}
	}
	assert_true(longest_us > 4500000);
}

/* Without a time for silence nothing starts beside a probe until that ends. */
static void test_probe_without_limit(void **state)
{
	(void)state;
	struct circuit_breaker breaker = breaker_of(1);
	breaker.silence_ms = 0;
	circuit_breaker_failed(&breaker, 0);
	circuit_breaker_started(&breaker, S);
	assert_false(circuit_breaker_allows(&breaker, 1000000 * (int64_t)S));
	assert_true(circuit_breaker_ready_us(&breaker, S) == INT64_MAX);
	assert_true(circuit_breaker_failed(&breaker, 2 * S));
	assert_int_equal(circuit_breaker_ready_us(&breaker, 2 * S), 3 * S);
	circuit_breaker_started(&breaker, 3 * S);
	circuit_breaker_succeeded(&breaker);
	assert_true(circuit_breaker_allows(&breaker, 3 * S));
}

/* A short draw of the backoff is raised to the least pause, a long one stays as it is. */
static void test_least_pause(void **state)
{
	(void)state;
	bool raised = false, longer = false;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct circuit_breaker breaker = { .threshold = 1, .least_pause_ms = 100 };
		breaker.backoff = (struct backoff){ .base_ms = 250, .cap_ms = 5000, .random_state = seed };
		circuit_breaker_failed(&breaker, 0);
		assert_in_range(breaker.probe_at_us, 100 * 1000, 250 * 1000);
		raised |= breaker.probe_at_us == 100 * 1000;
		longer |= breaker.probe_at_us > 100 * 1000;
	}
	assert_true(raised && longer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_opens_after_a_row_of_failures),
		cmocka_unit_test(test_lets_one_probe_through),
		cmocka_unit_test(test_failed_probe_opens_again),
		cmocka_unit_test(test_late_answers),
		cmocka_unit_test(test_pause_grows),
		cmocka_unit_test(test_probe_without_limit),
		cmocka_unit_test(test_least_pause),
	};
	return cmocka_run_group_tests_name("circuit_breaker", tests, NULL, NULL);
}
