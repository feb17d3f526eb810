#include "kafka/credits.h"

#include "common/pool.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void events_and_bytes_are_both_limits(void **state)
{
	(void)state;
	struct credits credits;
	credits_init(&credits, 2, 100);
	assert_true(credits_take(&credits, 60, 0));
	assert_false(credits_take(&credits, 60, 5)); /* bytes */
	assert_true(credits_take(&credits, 40, 0));
	assert_false(credits_take(&credits, 0, 5)); /* events */
	credits_return(&credits, 40);
	assert_true(credits_take(&credits, 40, 0));
	credits_return(&credits, 40);
	credits_return(&credits, 60);
	credits_destroy(&credits);
}

static void one_too_large_for_all_goes_alone(void **state)
{
	(void)state;
	struct credits credits;
	size_t events, bytes;
	credits_init(&credits, 10, 100);
	assert_true(credits_take(&credits, 1000, 0));
	assert_false(credits_take(&credits, 1, 5));
	credits_return(&credits, 1000);
	assert_true(credits_take(&credits, 1, 0));
	assert_false(credits_take(&credits, 1000, 5));
	credits_used(&credits, &events, &bytes);
	assert_int_equal(events, 1);
	assert_int_equal(bytes, 1);
	credits_return(&credits, 1);
	credits_destroy(&credits);
}

static void growth_may_overdraw_and_holds_back_what_comes(void **state)
{
	(void)state;
	struct credits credits;
	credits_init(&credits, 10, 100);
	assert_true(credits_take(&credits, 50, 0));
	credits_grow(&credits, 80);
	assert_false(credits_take(&credits, 1, 5));
	credits_return(&credits, 130);
	assert_true(credits_take(&credits, 1, 0));
	credits_return(&credits, 1);
	credits_destroy(&credits);
}

static void taker(void *context, unsigned index)
{
	(void)index;
	for (int i = 0; i < 2000; i++) {
		assert_true(credits_take(context, 10, 10000));
		credits_return(context, 10);
	}
}

static void a_return_wakes_who_waits(void **state)
{
	(void)state;
	struct credits credits;
	size_t events, bytes;
	credits_init(&credits, 2, 1000);
	pool_join(pool_start("taker", 6, taker, &credits));
	credits_used(&credits, &events, &bytes);
	assert_int_equal(events, 0);
	assert_int_equal(bytes, 0);
	assert_true(credits_wait_below(&credits, 0, 0));
	credits_destroy(&credits);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_and_bytes_are_both_limits),
		cmocka_unit_test(one_too_large_for_all_goes_alone),
		cmocka_unit_test(growth_may_overdraw_and_holds_back_what_comes),
		cmocka_unit_test(a_return_wakes_who_waits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
