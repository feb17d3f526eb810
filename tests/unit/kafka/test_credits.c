#include "kafka/credits.h"

#include "common/pool.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { FIXED = CREDITS_FIXED_BYTES, KIB = 1024 };

/* What an event with a message of so many bytes is estimated to hold. */
static size_t estimated(struct credits *credits, size_t message_bytes)
{
	size_t held = 0;
	assert_true(credits_take(credits, message_bytes, 0, &held));
	credits_return(credits, held);
	return held;
}

/* Events of that size are found to hold so much, `times` over. */
static void find(struct credits *credits, size_t message_bytes, size_t bytes, int times)
{
	for (int i = 0; i < times; i++) {
		size_t held;
		assert_true(credits_take(credits, message_bytes, 0, &held));
		credits_settle(credits, message_bytes, bytes, &held);
		assert_int_equal(held, bytes);
		credits_return(credits, held);
	}
}

static void check_used(struct credits *credits, size_t events, size_t bytes)
{
	size_t events_used, bytes_used;
	credits_used(credits, &events_used, &bytes_used);
	assert_int_equal(events_used, events);
	assert_int_equal(bytes_used, bytes);
}

static void events_and_bytes_are_both_limits(void **state)
{
	(void)state;
	struct credits credits;
	size_t first, second, third = 1;
	credits_init(&credits, 2, 2 * (FIXED + 8 * KIB));
	assert_true(credits_take(&credits, KIB, 0, &first));
	assert_int_equal(first, FIXED + CREDITS_FIRST_RATIO * KIB);
	assert_false(credits_take(&credits, KIB + 1, 5, &third)); /* bytes */
	assert_int_equal(third, 1);
	assert_true(credits_take(&credits, KIB, 0, &second));
	credits_hold(&credits, 1, &first);
	check_used(&credits, 2, 1 + second);
	assert_false(credits_take(&credits, 0, 5, &third)); /* events */
	credits_return(&credits, second);
	assert_true(credits_take(&credits, KIB, 0, &second));
	credits_return(&credits, first);
	credits_return(&credits, second);
	check_used(&credits, 0, 0);
	credits_destroy(&credits);
}

/* Whatever it is estimated to hold, and turns out to. */
static void one_too_large_for_all_goes_alone(void **state)
{
	(void)state;
	struct credits credits;
	size_t large, small;
	credits_init(&credits, 10, 100000);
	assert_true(credits_take(&credits, 1000000, 0, &large));
	assert_false(credits_take(&credits, 1, 5, &small));
	credits_hold(&credits, 20000000, &large);
	assert_false(credits_take(&credits, 1, 5, &small));
	credits_return(&credits, large);
	assert_true(credits_take(&credits, 1, 0, &small));
	assert_false(credits_take(&credits, 1000000, 5, &large));
	check_used(&credits, 1, small);
	credits_return(&credits, small);
	assert_true(credits_take(&credits, SIZE_MAX / 4096, 0, &large));
	credits_return(&credits, large);
	credits_destroy(&credits);
}

static void growth_may_overdraw_and_holds_back_what_comes(void **state)
{
	(void)state;
	struct credits credits;
	size_t first, second;
	credits_init(&credits, 10, 4 * FIXED);
	assert_true(credits_take(&credits, 0, 0, &first));
	credits_hold(&credits, 5 * FIXED, &first);
	assert_int_equal(first, 5 * FIXED);
	check_used(&credits, 1, 5 * FIXED);
	assert_false(credits_take(&credits, 0, 5, &second));
	credits_hold(&credits, 2 * FIXED, &first);
	check_used(&credits, 1, 2 * FIXED);
	assert_true(credits_take(&credits, 0, 0, &second));
	credits_return(&credits, first);
	credits_return(&credits, second);
	check_used(&credits, 0, 0);
	credits_destroy(&credits);
}

struct told {
	size_t events[8];
	size_t count;
};

static void on_shortage(size_t events, void *context)
{
	struct told *told = context;
	told->events[told->count++] = events;
}

/* Once a wait: when it begins and when it is over, however it ends. */
static void shortages_are_told(void **state)
{
	(void)state;
	struct credits credits;
	struct told told = { .count = 0 };
	size_t held[3], none;
	credits_init(&credits, 3, 1 << 30);
	credits_on_shortage(&credits, on_shortage, &told);
	for (int i = 0; i < 3; i++)
		assert_true(credits_take(&credits, 1, 5, &held[i]));
	assert_false(credits_take(&credits, 1, 0, &none));
	assert_int_equal(told.count, 0);
	assert_false(credits_take(&credits, 1, 5, &none));
	assert_int_equal(told.count, 2);
	assert_int_equal(told.events[0], 3);
	assert_int_equal(told.events[1], 0);
	for (int i = 0; i < 3; i++)
		credits_return(&credits, held[i]);
	assert_int_equal(told.count, 2);
	credits_destroy(&credits);
}

/* In few events where they hold more than was thought, in some hundreds where they hold less. */
static void estimates_follow_what_is_found(void **state)
{
	(void)state;
	struct credits credits;
	credits_init(&credits, 100, 1 << 30);
	find(&credits, 8 * KIB, 400 * KIB, 40);
	assert_in_range(estimated(&credits, 8 * KIB), 396 * KIB, 401 * KIB);
	find(&credits, 8 * KIB, 40 * KIB, 128);
	assert_in_range(estimated(&credits, 8 * KIB), 150 * KIB, 200 * KIB);
	find(&credits, 8 * KIB, 40 * KIB, 2000);
	assert_in_range(estimated(&credits, 8 * KIB), 40 * KIB, 41 * KIB);
	find(&credits, 8 * KIB, 1, 3000); /* but for the fixed part */
	assert_in_range(estimated(&credits, 8 * KIB), FIXED, FIXED + KIB);
	credits_destroy(&credits);
}

/* Within the same powers of two, in proportion; other sizes are other kinds of events. */
static void estimates_are_of_a_size(void **state)
{
	(void)state;
	struct credits credits;
	credits_init(&credits, 100, 1 << 30);
	find(&credits, 1024, FIXED + 40 * KIB, 200);
	assert_in_range(estimated(&credits, 2047), FIXED + 79 * KIB, FIXED + 80 * KIB);
	assert_int_equal(estimated(&credits, 2048), FIXED + 2 * CREDITS_FIRST_RATIO * KIB);
	assert_int_equal(estimated(&credits, 1023), FIXED + CREDITS_FIRST_RATIO * 1023);
	find(&credits, 0, 3 * FIXED, 1); /* a message without a value and a key */
	assert_int_equal(estimated(&credits, 0), FIXED);
	credits_destroy(&credits);
}

/* Of small events and large ones by turns, all that were taken are estimated to hold what they do at least; a
 * single one that is very large does not stop the rest. */
static void estimates_of_many_are_above_what_they_hold(void **state)
{
	(void)state;
	struct credits credits;
	credits_init(&credits, 100, 1 << 30);
	for (int i = 0; i < 2000; i++)
		find(&credits, KIB, i % 10 ? 16 * KIB : 100 * KIB, 1);
	size_t mean = (9 * 16 + 100) * KIB / 10;
	assert_in_range(estimated(&credits, KIB), mean, 100 * KIB);
	find(&credits, KIB, 16 * KIB, 2000);
	find(&credits, KIB, 8 << 20, 1);
	assert_in_range(estimated(&credits, KIB), 900 * KIB, 1100 * KIB);
	credits_destroy(&credits);
}

static void taker(void *context, unsigned index)
{
	(void)index;
	for (int i = 0; i < 2000; i++) {
		size_t held;
		assert_true(credits_take(context, 10, 10000, &held));
		credits_hold(context, 10, &held);
		credits_return(context, held);
	}
}

static void a_return_wakes_who_waits(void **state)
{
	(void)state;
	struct credits credits;
	credits_init(&credits, 2, 1000); /* less than an event is estimated to hold */
	pool_join(pool_start("taker", 6, taker, &credits));
	check_used(&credits, 0, 0);
	credits_destroy(&credits);
	credits_init(&credits, 40, 10 * FIXED);
	pool_join(pool_start("taker", 6, taker, &credits));
	check_used(&credits, 0, 0);
	assert_true(credits_wait_below(&credits, 0, 0));
	credits_destroy(&credits);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_and_bytes_are_both_limits),
		cmocka_unit_test(one_too_large_for_all_goes_alone),
		cmocka_unit_test(growth_may_overdraw_and_holds_back_what_comes),
		cmocka_unit_test(shortages_are_told),
		cmocka_unit_test(estimates_follow_what_is_found),
		cmocka_unit_test(estimates_are_of_a_size),
		cmocka_unit_test(estimates_of_many_are_above_what_they_hold),
		cmocka_unit_test(a_return_wakes_who_waits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
