#include "common/backoff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { DRAWS = 2000 };

/* Uniform in [0, ceiling]: never above, and of many draws some in the lowest and some in the highest tenth.
 */
static void assert_uniform_to(struct backoff from, int64_t ceiling_ms)
{
	int64_t lowest = INT64_MAX, highest = -1;
	for (int i = 0; i < DRAWS; i++) {
		struct backoff backoff = from;
		backoff.random_state = (uint64_t)i + 1;
		int64_t delay = backoff_next_ms(&backoff);
		assert_in_range(delay, 0, ceiling_ms);
		lowest = delay < lowest ? delay : lowest;
		highest = delay > highest ? delay : highest;
	}
	assert_true(lowest <= ceiling_ms / 10);
	assert_true(highest >= ceiling_ms - ceiling_ms / 10);
}

static void ceilings(void **state)
{
	(void)state;
	static const struct {
		int64_t base_ms, cap_ms;
		unsigned attempt;
		int64_t ceiling_ms;
	} cases[] = {
		{ 100, 10000, 0, 100 },
		{ 100, 10000, 1, 200 },
		{ 100, 10000, 6, 6400 },
		{ 100, 10000, 7, 10000 },
		{ 100, 10000, 4000000000u, 10000 },
		{ 1, INT64_C(1) << 40, 10, 1024 },
		{ 500, 200, 0, 200 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_uniform_to((struct backoff){ .base_ms = cases[i].base_ms,
						    .cap_ms = cases[i].cap_ms,
						    .attempt = cases[i].attempt },
				  cases[i].ceiling_ms);
}

static void attempts_are_counted_until_a_success(void **state)
{
	(void)state;
	struct backoff backoff = { .base_ms = 10, .cap_ms = 1000 };
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(backoff.attempt, i);
		backoff_next_ms(&backoff);
	}
	backoff_reset(&backoff);
	assert_int_equal(backoff.attempt, 0);
	assert_in_range(backoff_next_ms(&backoff), 0, 10);
}

static void two_of_them_differ(void **state)
{
	(void)state;
	struct backoff one = { .base_ms = INT64_C(1) << 40, .cap_ms = INT64_C(1) << 40 }, two = one;
	int equal = 0;
	for (int i = 0; i < 10; i++)
		equal += backoff_next_ms(&one) == backoff_next_ms(&two);
	assert_true(equal < 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ceilings),
		cmocka_unit_test(attempts_are_counted_until_a_success),
		cmocka_unit_test(two_of_them_differ),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
