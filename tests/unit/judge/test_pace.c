#include "judge/pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define S INT64_C(1000000) /* µs */

/* Two a second, three at once. */
static void test_given_pace(void **state)
{
	(void)state;
	struct pace pace = { .at_us = 100 * S };
	assert_int_equal(pace_ready_us(&pace, 100 * S), 100 * S);
	pace_set(&pace, 2e-6, 3, 100 * S);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pace_ready_us(&pace, 100 * S), 100 * S);
		pace_take(&pace, 100 * S);
	}
	assert_in_range(pace_ready_us(&pace, 100 * S), 100 * S + 499999, 100 * S + 500001);
	assert_int_equal(pace_ready_us(&pace, 101 * S), 101 * S);
	pace_set(&pace, 1e-6, 1, 101 * S); /* two are saved up, one has room */
	pace_take(&pace, 101 * S);
	assert_in_range(pace_ready_us(&pace, 101 * S), 102 * S - 1, 102 * S + 1);
	assert_int_equal(pace_ready_us(&pace, 200 * S), 200 * S);
}

static void ask(struct pace_learned *learned, int times, int64_t now_us)
{
	for (int i = 0; i < times; i++)
		pace_learned_take(learned, now_us);
}

/* A second of 30 asked after the first refusal, 10 of them refused: 20 a second. Refusals of requests from
 * before the span say nothing of it. */
static void learn(struct pace_learned *learned)
{
	assert_true(pace_learned_refused(learned, 99 * S, 100 * S));
	ask(learned, 30, 100 * S + S / 2);
	assert_true(pace_learned_refused(learned, 99 * S, 101 * S));
	for (int i = 0; i < 10; i++)
		assert_true(pace_learned_refused(learned, 100 * S + S / 2, 100 * S + S / 2));
	assert_true(learned->pace.per_us <= 0); /* half a second teaches nothing yet */
	assert_true(pace_learned_refused(learned, 101 * S, 101 * S));
}

static bool is_about(double per_us, double per_s)
{
	return per_us * 1e6 > per_s * 0.99 && per_us * 1e6 < per_s * 1.01;
}

/* 30 asked, 11 refused in a second: 19 a second. The pace is 19 · (1 + ((t − 2) / 5)³) after t s. */
static void test_learned_pace(void **state)
{
	(void)state;
	struct pace_learned learned = { .share = 0 };
	assert_int_equal(pace_learned_ready_us(&learned, 100 * S), 100 * S);
	learn(&learned);
	assert_true(is_about(learned.base_per_us, 19));
	assert_true(is_about(learned.pace.per_us, 19 * (1 - 8 / 125.0)));
	pace_learned_ready_us(&learned, 103 * S);
	assert_true(is_about(learned.pace.per_us, 19));
	pace_learned_ready_us(&learned, 108 * S);
	assert_true(is_about(learned.pace.per_us, 38));
	assert_int_equal(pace_learned_ready_us(&learned, 109 * S), 109 * S);
	pace_learned_ready_us(&learned, 111 * S); /* four times as much: no limit any more */
	assert_true(learned.pace.per_us <= 0);
	assert_int_equal(learned.since_us, 0);
}

/* 20 asked in a second and 7 refused: the same share as before, and fewer taken. The pace of before is taken
 * back, and what is refused in any case is added. */
static void test_learned_in_vain(void **state)
{
	(void)state;
	struct pace_learned learned = { .share = 0 };
	learn(&learned);
	ask(&learned, 20, 101 * S + S / 2);
	for (int i = 0; i < 6; i++)
		assert_true(pace_learned_refused(&learned, 101 * S + S / 2, 101 * S + S / 2));
	assert_false(pace_learned_refused(&learned, 102 * S, 102 * S));
	assert_true(is_about(learned.base_per_us, 19 / (1 - 0.35)));
}

/* A refusal now and then is no reason to limit ourselves. */
static void test_few_refusals(void **state)
{
	(void)state;
	struct pace_learned learned = { .share = 0 };
	for (int64_t second = 100; second < 110; second++) {
		assert_true(pace_learned_refused(&learned, second * S, second * S));
		ask(&learned, 50, second * S);
		assert_true(learned.pace.per_us <= 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_given_pace),
		cmocka_unit_test(test_learned_pace),
		cmocka_unit_test(test_learned_in_vain),
		cmocka_unit_test(test_few_refusals),
	};
	return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
