#include "common/heartbeat.h"

#include "common/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

enum { BUSY_MS = 50, WAITING_MS = 2000 };

static const struct heartbeat_limits limits = { BUSY_MS, WAITING_MS };

/* How a heartbeat stands `silent_ms` after its last sign of life. */
static const struct heartbeat *look(struct heartbeat *heartbeat, int64_t silent_ms,
				    const char **ret_waiting_for)
{
	int64_t now_us = atomic_load(&heartbeat->last_us) + silent_ms * 1000;
	return heartbeat_find_stuck(&heartbeat, 1, &limits, now_us, ret_waiting_for);
}

static void silence_is_allowed_up_to_the_limit_of_what_a_thread_does(void **state)
{
	(void)state;
	static const struct {
		bool waiting;
		int64_t silent_ms;
		bool stuck;
		bool told;
	} cases[] = {
		{ false, 0, false, false },
		{ false, BUSY_MS, false, false },
		{ false, BUSY_MS + 1, true, false },
		{ true, BUSY_MS + 1, false, false },
		{ true, HEARTBEAT_REPORTED_MS - 1, false, false },
		{ true, HEARTBEAT_REPORTED_MS, false, true },
		{ true, WAITING_MS, false, true },
		{ true, WAITING_MS + 1, true, true },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct heartbeat heartbeat = { .name = "test" };
		const char *waiting_for;
		heartbeat_beat(&heartbeat);
		if (cases[i].waiting)
			heartbeat_waiting(&heartbeat, "somebody");
		assert_ptr_equal(look(&heartbeat, cases[i].silent_ms, &waiting_for),
				 cases[i].stuck ? &heartbeat : NULL);
		if (cases[i].told)
			assert_string_equal(waiting_for, "somebody");
		else
			assert_null(waiting_for);
	}
}

static void a_wait_that_is_begun_anew_is_alive_and_counts_as_one(void **state)
{
	(void)state;
	struct heartbeat heartbeat = { .name = "test" };
	const char *waiting_for;
	heartbeat_waiting(&heartbeat, "somebody");
	/* as if it had begun ten limits ago and had been renewed just now */
	atomic_fetch_sub(&heartbeat.waiting_since_us, INT64_C(10) * WAITING_MS * 1000);
	atomic_fetch_sub(&heartbeat.last_us, INT64_C(10) * WAITING_MS * 1000);
	heartbeat_waiting(&heartbeat, "somebody");
	assert_null(look(&heartbeat, 0, &waiting_for));
	assert_string_equal(waiting_for, "somebody");
	assert_ptr_equal(look(&heartbeat, WAITING_MS + 1, &waiting_for), &heartbeat);
	heartbeat_beat(&heartbeat);
	assert_null(look(&heartbeat, 0, &waiting_for));
	assert_null(waiting_for);
}

static void a_rest_is_a_sign_of_life_and_ends_long_before_the_limit(void **state)
{
	(void)state;
	struct heartbeat heartbeat = { .name = "test" };
	const char *waiting_for;
	heartbeat_limit_rests(BUSY_MS);
	heartbeat_waiting(&heartbeat, "somebody");
	atomic_fetch_sub(&heartbeat.last_us, INT64_C(10) * WAITING_MS * 1000);
	int64_t before_us = clock_monotonic_us();
	int64_t longest_ms = heartbeat_rest(&heartbeat, INT64_MAX);
	assert_in_range(longest_ms, 1, BUSY_MS / 2);
	assert_true(atomic_load(&heartbeat.last_us) >= before_us);
	assert_null(look(&heartbeat, BUSY_MS, &waiting_for));
	assert_null(waiting_for);
	assert_int_equal(heartbeat_rest(&heartbeat, longest_ms - 1), longest_ms - 1);
}

static void one_that_has_not_started_or_has_ended_is_not_watched(void **state)
{
	(void)state;
	struct heartbeat unborn = { .name = "unborn" }, ended = { .name = "ended" },
			 stuck = { .name = "stuck" };
	struct heartbeat *const heartbeats[] = { &unborn, &ended, &stuck };
	const char *waiting_for;
	heartbeat_beat(&ended);
	heartbeat_stop(&ended);
	heartbeat_beat(&stuck);
	int64_t now_us = atomic_load(&stuck.last_us) + (BUSY_MS + 1) * 1000;
	assert_null(heartbeat_find_stuck(heartbeats, 2, &limits, now_us, &waiting_for));
	assert_ptr_equal(heartbeat_find_stuck(heartbeats, 3, &limits, now_us, &waiting_for), &stuck);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(silence_is_allowed_up_to_the_limit_of_what_a_thread_does),
		cmocka_unit_test(a_wait_that_is_begun_anew_is_alive_and_counts_as_one),
		cmocka_unit_test(a_rest_is_a_sign_of_life_and_ends_long_before_the_limit),
		cmocka_unit_test(one_that_has_not_started_or_has_ended_is_not_watched),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
