#include "event/rate_limiter.h"

#include <setjmp.h>

#include <cmocka.h>

#define SECOND_US ((int64_t)1000000)

static void a_minute_lets_so_many_pass_and_counts_the_rest(void **state)
{
	(void)state;
	struct rate_limiter *limiter = rate_limiter_new();
	int64_t suppressed = -1;
	for (int i = 0; i < 3; i++) {
		assert_true(rate_limiter_pass(limiter, 0, STR("shop"), 3, i * SECOND_US, &suppressed));
		assert_int_equal(suppressed, 0);
	}
	for (int i = 3; i < 60; i++)
		assert_false(rate_limiter_pass(limiter, 0, STR("shop"), 3, i * SECOND_US, &suppressed));
	assert_true(rate_limiter_pass(limiter, 0, STR("shop"), 3, 60 * SECOND_US, &suppressed));
	assert_int_equal(suppressed, 57);
	assert_true(rate_limiter_pass(limiter, 0, STR("shop"), 3, 61 * SECOND_US, &suppressed));
	assert_int_equal(suppressed, 0);
	rate_limiter_free(limiter);
}

static void kinds_and_segments_do_not_share_a_limit(void **state)
{
	(void)state;
	struct rate_limiter *limiter = rate_limiter_new();
	int64_t suppressed;
	assert_true(rate_limiter_pass(limiter, 0, STR("shop"), 1, 0, &suppressed));
	assert_false(rate_limiter_pass(limiter, 0, STR("shop"), 1, 0, &suppressed));
	assert_true(rate_limiter_pass(limiter, 1, STR("shop"), 1, 0, &suppressed));
	assert_true(rate_limiter_pass(limiter, 0, STR("bank"), 1, 0, &suppressed));
	rate_limiter_free(limiter);
}

static void a_limit_of_none_lets_nothing_pass(void **state)
{
	(void)state;
	struct rate_limiter *limiter = rate_limiter_new();
	int64_t suppressed;
	assert_false(rate_limiter_pass(limiter, 0, STR("shop"), 0, 0, &suppressed));
	rate_limiter_free(limiter);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_minute_lets_so_many_pass_and_counts_the_rest),
		cmocka_unit_test(kinds_and_segments_do_not_share_a_limit),
		cmocka_unit_test(a_limit_of_none_lets_nothing_pass),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
