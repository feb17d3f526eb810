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

/* 8 places → 4 → (same burst: 4) → 2 → 1 → 1. With c places at the last refusal and t s since, successes
 * give c · (1 + (t/2 − 1)³ / 2) back: flat around c, and beyond it faster and faster. */
static void test_refusals_narrow_and_successes_widen(void **state)
{
	(void)state;
	struct limits limits = limits_of(8, 0, 0, 0);
	limits_refused(&limits, -1, 100 * S);
	assert_true(limits.places == 4);
	limits_answered(&limits, 0, 100 * S);
	limits_refused(&limits, -1, 100 * S + 749999);
	assert_true(limits.places == 4);
	limits_answered(&limits, 0, 101 * S); /* 8 · (1 − 1/16) */
	assert_true(limits.places == 7.5);
	limits_refused(&limits, -1, 101 * S);
	assert_true(limits.places == 3.75);
	limits_refused(&limits, -1, 102 * S);
	limits_refused(&limits, -1, 103 * S);
	limits_refused(&limits, -1, 104 * S);
	assert_true(limits.places == 1);
	assert_int_equal(limits_ready_us(&limits, 0, 104 * S), 104 * S);
	assert_int_equal(limits_ready_us(&limits, 1, 104 * S), INT64_MAX);
	limits_refused(&limits, -1, 105 * S);
	assert_true(limits.places == 1);
	limits_answered(&limits, 0, 107 * S);
	assert_true(limits.places == 1);
	limits_answered(&limits, 0, 109 * S);
	assert_true(limits.places == 1.5);
	limits_answered(&limits, 0, 111 * S);
	assert_true(limits.places == 5);
	limits_answered(&limits, 0, 200 * S);
	assert_true(limits.places == 8);
}

/* A server that answers each call after 100 ms, but refuses those beyond its capacity, and perhaps three of
 * ten whatever we do, after 2 ms. */
struct model {
	unsigned capacity;
	bool moody;
	int64_t retry_after_ms;
};

struct model_call {
	int64_t ends_us;
	bool refused;
};

/* Lets 64 calls run as the limits allow for a minute; returns the mean of the places in its second half. */
static double mean_places(const struct model *model)
{
	static const bool by_chance[] = { false, true, false, false, true, false, false, true, false, false };
	struct limits limits = limits_of(64, 0, 0, 0);
	struct model_call calls[64];
	unsigned in_flight = 0, taken = 0, number = 0;
	double sum = 0;
	for (int64_t now_us = 100 * S; now_us < 160 * S; now_us += 1000) {
		for (unsigned i = 0; i < in_flight;) {
			struct model_call call = calls[i];
			if (call.ends_us > now_us) {
				i++;
				continue;
			}
			calls[i] = calls[--in_flight];
			taken -= !call.refused;
			if (call.refused)
				limits_refused(&limits, model->retry_after_ms, now_us);
			else
				limits_answered(&limits, 0, now_us);
		}
		while (limits_ready_us(&limits, in_flight, now_us) <= now_us) {
			bool refused = taken >= model->capacity || (by_chance[number % 10] && model->moody);
			limits_sent(&limits, now_us);
			number++;
			taken += !refused;
			calls[in_flight++] =
				(struct model_call){ now_us + (refused ? 2000 : 100000), refused };
		}
		sum += now_us >= 130 * S ? limits.places : 0;
	}
	return sum / 30000;
}

/* Places settle below a capacity; and refusals that are no matter of places do not take them away, unless the
 * server says for how long it wants to be left alone. */
static void test_places_settle(void **state)
{
	(void)state;
	static const struct {
		struct model model;
		double least, most;
	} cases[] = {
		{ { 1000, false, -1 }, 64, 64 }, { { 1, false, -1 }, 1, 2 },
		{ { 10, false, -1 }, 9, 11 },	 { { 40, false, -1 }, 34, 44 },
		{ { 1000, true, -1 }, 58, 64 },	 { { 1000, true, 100 }, 1, 8 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		double mean = mean_places(&cases[i].model);
		if (mean < cases[i].least || mean > cases[i].most)
			fail_msg("case %zu: %.1f places", i, mean);
	}
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

/* 6 a minute: six at once, and none of the next before the minute of the first is over, whose slot of a
 * second ends with 101 s. */
static void test_requests_a_minute(void **state)
{
	(void)state;
	struct limits limits = limits_of(100, 6, 0, 0);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(limits_ready_us(&limits, 0, 100 * S + i), 100 * S + i);
		limits_sent(&limits, 100 * S + i);
	}
	assert_int_equal(limits_ready_us(&limits, 0, 100 * S), 161 * S);
	assert_int_equal(limits_ready_us(&limits, 0, 160 * S), 161 * S);
	assert_int_equal(limits_ready_us(&limits, 0, 161 * S), 161 * S);
}

/* 120 a minute: 20 at once, then two a second. No minute sees more than 120. */
static void test_requests_are_paced(void **state)
{
	(void)state;
	struct limits limits = limits_of(100, 120, 0, 0);
	int64_t sent_us[1000], now_us = 100 * S;
	for (size_t i = 0; i < 1000; i++) {
		for (int64_t ready_us; (ready_us = limits_ready_us(&limits, 0, now_us)) > now_us;)
			now_us = ready_us;
		limits_sent(&limits, now_us);
		sent_us[i] = now_us;
		if (i >= 120)
			assert_true(now_us - sent_us[i - 120] >= 60 * S);
	}
	assert_int_equal(sent_us[19], 100 * S);
	assert_in_range(sent_us[20], 100 * S + S / 2 - 2, 100 * S + S / 2 + 2);
	assert_true(sent_us[999] - sent_us[0] <=
		    560 * S); /* 1000 at 2 a second, less a sixtieth, and no burst */
}

/* 700 of 600 are spent: nothing more until that is a minute old. One that is larger than the budget goes when
 * nothing else is spent. */
static void test_tokens_a_minute(void **state)
{
	(void)state;
	struct limits limits = limits_of(100, 0, 600, 0);
	limits_answered(&limits, 700, 100 * S);
	assert_int_equal(limits_ready_us(&limits, 0, 100 * S), 161 * S);
	assert_int_equal(limits_ready_us(&limits, 0, 161 * S), 161 * S);
	assert_int_equal(limits_ready_us(&limits, 1, 161 * S), 161 * S);
}

/* Each of 100 of 700: with one answered and five in flight a seventh has room, with six none has; with six
 * answered one has, and none beside another. */
static void test_tokens_in_flight_count(void **state)
{
	(void)state;
	struct limits limits = limits_of(100, 0, 700, 0);
	limits_answered(&limits, 100, 100 * S);
	assert_int_equal(limits_ready_us(&limits, 5, 100 * S), 100 * S);
	assert_true(limits_ready_us(&limits, 6, 100 * S) > 100 * S);
	for (int i = 0; i < 5; i++)
		limits_answered(&limits, 100, 100 * S);
	assert_int_equal(limits_ready_us(&limits, 0, 100 * S), 100 * S);
	assert_true(limits_ready_us(&limits, 1, 100 * S) > 100 * S);
}

/* Slots of a day are of 24 minutes (1440 s). */
static void test_tokens_a_day(void **state)
{
	(void)state;
	struct limits limits = limits_of(100, 0, 0, 1000);
	limits_answered(&limits, 600, 100 * S);
	limits_answered(&limits, 400, 1500 * S);
	assert_int_equal(limits_ready_us(&limits, 0, 1500 * S), 61 * 1440 * S);
	assert_int_equal(limits_ready_us(&limits, 0, 61 * 1440 * S), 61 * 1440 * S);
	limits_answered(&limits, 600, 61 * 1440 * S);
	/* a request is taken for 578 tokens by now: the 400 of the second slot are not enough */
	assert_int_equal(limits_ready_us(&limits, 0, 61 * 1440 * S), 122 * 1440 * S);
	assert_int_equal(limits_ready_us(&limits, 0, 1000 * 1440 * S), 1000 * 1440 * S);
	assert_int_equal(limits.day_tokens.total, 0);
}

/* What one process has spent counts in the next, which has another clock, by its age. */
static void test_day_goes_on(void **state)
{
	(void)state;
	struct limits before = limits_of(100, 0, 0, 1000), after = limits_of(100, 0, 0, 1000);
	int64_t spent[LIMITS_SLOTS];
	limits_answered(&before, 600, 100 * S);
	limits_answered(&before, 300, 20 * 1440 * S);
	limits_export_day(&before, 20 * 1440 * S, spent);
	assert_int_equal(spent[0], 300);
	assert_int_equal(spent[20], 600);
	limits_import_day(&after, 100 * S, spent, 10 * 1440 * S);
	assert_int_equal(after.day_tokens.total, 900);
	limits_answered(&after, 100, 100 * S);
	assert_int_equal(limits_ready_us(&after, 0, 100 * S), (61 - 30) * 1440 * S);
	limits_import_day(&after, 100 * S, spent, 45 * 1440 * S);
	assert_int_equal(after.day_tokens.total, 300);
	limits_import_day(&after, 100 * S, spent, 86400 * 2 * S);
	assert_int_equal(after.day_tokens.total, 0);
	limits_import_day(&after, 100 * S, spent, -5 * S);
	assert_int_equal(after.day_tokens.total, 900);
}

static void test_change(void **state)
{
	(void)state;
	struct limits limits = limits_of(8, 60, 0, 0);
	for (int i = 0; i < 50; i++)
		limits_sent(&limits, 100 * S);
	limits_change(&limits, 16, 51, 10, 0, 100 * S);
	assert_true(limits.places == 16);
	limits_sent(&limits, 100 * S);
	assert_int_equal(limits_ready_us(&limits, 0, 158 * S), 161 * S); /* 51 of 51 are spent */
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
		cmocka_unit_test(test_places_settle),
		cmocka_unit_test(test_pause_that_the_server_asks_for),
		cmocka_unit_test(test_requests_a_minute),
		cmocka_unit_test(test_requests_are_paced),
		cmocka_unit_test(test_tokens_a_minute),
		cmocka_unit_test(test_tokens_in_flight_count),
		cmocka_unit_test(test_tokens_a_day),
		cmocka_unit_test(test_day_goes_on),
		cmocka_unit_test(test_change),
	};
	return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
