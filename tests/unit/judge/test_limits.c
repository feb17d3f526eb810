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

static void refuse(struct limits *limits, int64_t retry_after_ms, int64_t now_us)
{
	const struct limits_refusal refusal = { now_us, limits->max_in_flight, retry_after_ms };
	limits_refused(limits, &refusal, now_us);
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
	refuse(&limits, -1, 100 * S);
	assert_true(limits.slots == 4);
	limits_answered(&limits, 0, 0, 100 * S);
	refuse(&limits, -1, 100 * S + 749999);
	assert_true(limits.slots == 4);
	limits_answered(&limits, 0, 0, 101 * S); /* 8 · (1 − 1/16) */
	assert_true(limits.slots == 7.5);
	refuse(&limits, -1, 101 * S);
	assert_true(limits.slots == 3.75);
	refuse(&limits, -1, 102 * S);
	refuse(&limits, -1, 103 * S);
	refuse(&limits, -1, 104 * S);
	assert_true(limits.slots == 1);
	assert_int_equal(limits_ready_us(&limits, 0, 104 * S), 104 * S);
	assert_int_equal(limits_ready_us(&limits, 1, 104 * S), INT64_MAX);
	refuse(&limits, -1, 105 * S);
	assert_true(limits.slots == 1);
	limits_answered(&limits, 0, 0, 107 * S);
	assert_true(limits.slots == 1);
	limits_answered(&limits, 0, 0, 109 * S);
	assert_true(limits.slots == 1.5);
	limits_answered(&limits, 0, 0, 111 * S);
	assert_true(limits.slots == 5);
	limits_answered(&limits, 0, 0, 200 * S);
	assert_true(limits.slots == 8);
}

/* A server that refuses at once calls beyond its capacity or its rate, and perhaps three of ten whatever
 * we do; the others it answers after its latency. */
struct model {
	unsigned capacity; /* at once; 0: any number */
	double rate;	   /* a second; 0: any */
	double saved;	   /* calls of that rate, at most */
	bool moody;
	int64_t latency_ms; /* give or take a half */
	int64_t retry_after_ms;
};

struct model_call {
	int64_t ends_us;
	bool refused;
	bool told; /* that it was: it keeps its place until it may be tried again */
};

enum { MODEL_CALLS = 256, MODEL_SECONDS = 120, BACKOFF_US = 500000 };

struct run {
	struct limits limits;
	struct model_call calls[MODEL_CALLS];
	unsigned in_flight, sending, taken, number, refusals;
	int64_t refusal_us; /* what a refusal takes */
	double level;	    /* of the server's bucket */
	uint64_t random;
};

static uint64_t below(struct run *run, uint64_t limit)
{
	run->random = run->random * 6364136223846793005u + 1442695040888963407u;
	return (run->random >> 33) % limit;
}

static void end_calls(struct run *run, const struct model *model, int64_t now_us)
{
	for (unsigned i = 0; i < run->in_flight;) {
		struct model_call call = run->calls[i];
		if (call.ends_us > now_us) {
			i++;
			continue;
		}
		run->sending -= !call.told;
		if (call.refused && !call.told) {
			limits_refused(&run->limits,
				       &(struct limits_refusal){ call.ends_us - run->refusal_us, run->sending,
								 model->retry_after_ms },
				       now_us);
			run->calls[i].told = true;
			run->calls[i].ends_us += (int64_t)below(run, BACKOFF_US);
			continue;
		}
		run->calls[i] = run->calls[--run->in_flight];
		run->taken -= !call.refused;
		if (!call.refused)
			limits_answered(&run->limits, run->sending, 0, now_us);
	}
}

static void make_call(struct run *run, const struct model *model, int64_t now_us)
{
	static const bool by_chance[] = { false, true, false, false, true, false, false, true, false, false };
	bool refused = (model->capacity && run->taken >= model->capacity) ||
		       (model->rate > 0 && run->level < 1) || (model->moody && by_chance[run->number % 10]);
	int64_t latency_us =
		model->latency_ms * 500 + (int64_t)below(run, (uint64_t)model->latency_ms * 1000);
	limits_sent(&run->limits, now_us);
	run->number++;
	run->sending++;
	run->taken += !refused;
	run->refusals += refused;
	run->level -= !refused;
	run->calls[run->in_flight++] =
		(struct model_call){ .ends_us = now_us + (refused ? run->refusal_us : latency_us),
				     .refused = refused };
}

struct figures {
	double slots; /* mean */
	double rate;  /* taken a second */
	double share; /* refused, of all */
};

/* Lets as many calls run as the limits allow; the figures are of the second half. */
static struct figures run_model(const struct model *model, unsigned max_in_flight, int64_t refusal_us)
{
	struct run run = { .limits = limits_of(max_in_flight, 0, 0, 0),
			   .level = model->saved,
			   .random = 7,
			   .refusal_us = refusal_us };
	struct figures figures = { 0 };
	const int64_t half_us = (100 + MODEL_SECONDS / 2) * S, end_us = (100 + MODEL_SECONDS) * S;
	unsigned number = 0, refusals = 0;
	for (int64_t now_us = 100 * S; now_us < end_us; now_us += 1000) {
		if (now_us == half_us) {
			number = run.number;
			refusals = run.refusals;
		}
		run.level += model->rate / 1000;
		run.level = run.level > model->saved ? model->saved : run.level;
		end_calls(&run, model, now_us);
		while (limits_ready_us(&run.limits, run.in_flight, now_us) <= now_us)
			make_call(&run, model, now_us);
		figures.slots += now_us >= half_us ? run.limits.slots : 0;
	}
	double asked = run.number - number, refused = run.refusals - refusals;
	figures.slots /= (double)MODEL_SECONDS * 500;
	figures.rate = (asked - refused) / (MODEL_SECONDS / 2.0);
	figures.share = refused / asked;
	return figures;
}

/* Places settle below a capacity, and nearly all of it is used; refusals that are no matter of places do not
 * take them away. */
static void test_places_settle(void **state)
{
	(void)state;
	static const struct {
		struct model model;
		double least, most, least_rate;
	} cases[] = {
		{ { .latency_ms = 100, .retry_after_ms = -1 }, 64, 64, 600 },
		{ { .capacity = 1, .latency_ms = 100, .retry_after_ms = -1 }, 1, 2, 8.5 },
		{ { .capacity = 10, .latency_ms = 100, .retry_after_ms = -1 }, 9, 11, 85 },
		{ { .capacity = 40, .latency_ms = 100, .retry_after_ms = -1 }, 34, 44, 340 },
		{ { .capacity = 10, .latency_ms = 2000, .retry_after_ms = -1 }, 8, 11, 4.5 },
		{ { .capacity = 40, .latency_ms = 2000, .retry_after_ms = -1 }, 32, 44, 18 },
		{ { .moody = true, .latency_ms = 100, .retry_after_ms = -1 }, 58, 64, 265 },
		{ { .moody = true, .latency_ms = 2000, .retry_after_ms = -1 }, 55, 64, 24 },
		{ { .moody = true, .latency_ms = 100, .retry_after_ms = 100 }, 55, 64, 4 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct figures figures = run_model(&cases[i].model, 64, 2000);
		if (figures.slots < cases[i].least || figures.slots > cases[i].most ||
		    figures.rate < cases[i].least_rate)
			fail_msg("case %zu: %.1f places, %.1f a second", i, figures.slots, figures.rate);
	}
}

/* The server is asked for a tenth less than it gives at most, however long it takes to answer and to refuse,
 * and however much it lets us save up; and refuses few. */
static void test_rate_settles(void **state)
{
	(void)state;
	static const struct {
		struct model model;
		double least, most_refused;
	} cases[] = {
		{ { .rate = 100, .saved = 10, .latency_ms = 100, .retry_after_ms = -1 }, 0.95, 0.05 },
		{ { .rate = 20, .saved = 1, .latency_ms = 2000, .retry_after_ms = -1 }, 0.9, 0.05 },
		{ { .rate = 20, .saved = 20, .latency_ms = 2000, .retry_after_ms = -1 }, 0.95, 0.4 },
		{ { .rate = 20, .saved = 200, .latency_ms = 2000, .retry_after_ms = -1 }, 0.95, 0.05 },
		{ { .rate = 50, .saved = 50, .latency_ms = 1000, .retry_after_ms = -1 }, 0.95, 0.05 },
		{ { .rate = 5, .saved = 60, .latency_ms = 5000, .retry_after_ms = -1 }, 0.95, 0.1 },
		{ { .rate = 200, .saved = 20, .latency_ms = 500, .retry_after_ms = -1 }, 0.9, 0.05 },
		/* what is lost by waiting as long as it says is the server's choice */
		{ { .rate = 50, .saved = 5, .latency_ms = 1000, .retry_after_ms = 500 }, 0.8, 0.05 },
		{ { .rate = 100, .saved = 10, .latency_ms = 300, .moody = true, .retry_after_ms = -1 },
		  0.8,
		  0.5 },
	};
	for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
		const struct model *model = &cases[i / 2].model;
		struct figures figures = run_model(model, MODEL_CALLS, i % 2 ? 200000 : 2000);
		if (figures.rate < cases[i / 2].least * model->rate || figures.rate > 1.05 * model->rate ||
		    figures.share > cases[i / 2].most_refused)
			fail_msg("case %zu: %.1f of %.0f a second, %.3f refused", i, figures.rate,
				 model->rate, figures.share);
	}
}

static void test_pause_that_the_server_asks_for(void **state)
{
	(void)state;
	struct limits limits = limits_of(4, 0, 0, 0);
	refuse(&limits, 5000, 100 * S);
	assert_int_equal(limits_ready_us(&limits, 0, 101 * S), 105 * S);
	refuse(&limits, 1000, 101 * S); /* does not shorten it */
	assert_int_equal(limits_ready_us(&limits, 0, 101 * S), 105 * S);
	assert_int_equal(limits_ready_us(&limits, 0, 105 * S), 105 * S);
	refuse(&limits, 86400000, 110 * S); /* a minute at most */
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
 * nothing else is spent, nor in flight. */
static void test_tokens_a_minute(void **state)
{
	(void)state;
	struct limits limits = limits_of(100, 0, 600, 0);
	limits_answered(&limits, 0, 700, 100 * S);
	assert_int_equal(limits_ready_us(&limits, 0, 100 * S), 161 * S);
	assert_int_equal(limits_ready_us(&limits, 0, 161 * S), 161 * S);
	assert_true(limits_ready_us(&limits, 1, 161 * S) > 161 * S);
	assert_int_equal(limits_earliest_us(&limits, 161 * S), 161 * S);
}

/* Each of 100 of 700: with one answered and five in flight a seventh has room, with six none has; with six
 * answered one has, and none beside another. */
static void test_tokens_in_flight_count(void **state)
{
	(void)state;
	struct limits limits = limits_of(100, 0, 700, 0);
	limits_answered(&limits, 0, 100, 100 * S);
	assert_int_equal(limits_ready_us(&limits, 5, 100 * S), 100 * S);
	assert_true(limits_ready_us(&limits, 6, 100 * S) > 100 * S);
	for (int i = 0; i < 5; i++)
		limits_answered(&limits, 0, 100, 100 * S);
	assert_int_equal(limits_ready_us(&limits, 0, 100 * S), 100 * S);
	assert_true(limits_ready_us(&limits, 1, 100 * S) > 100 * S);
}

/* While no call was answered, each counts as what it is expected to take: 250 of 700 have room for two; and
 * from then on as what they took. */
static void test_expected_tokens_count(void **state)
{
	(void)state;
	struct limits limits = limits_of(100, 0, 0, 700);
	limits_expect(&limits, 250);
	assert_int_equal(limits_ready_us(&limits, 1, 100 * S), 100 * S);
	assert_true(limits_ready_us(&limits, 2, 100 * S) > 100 * S);
	limits_answered(&limits, 0, 100, 100 * S);
	limits_expect(&limits, 250);
	assert_int_equal(limits_ready_us(&limits, 5, 100 * S), 100 * S);
	assert_true(limits_ready_us(&limits, 6, 100 * S) > 100 * S);
}

/* What is known not to come, whatever becomes of what is in flight, and why. */
static void test_earliest_place(void **state)
{
	(void)state;
	struct limits limits = limits_of(4, 0, 0, 300);
	assert_int_equal(limits_earliest_us(&limits, 100 * S), 100 * S);
	assert_int_equal(limits_day_us(&limits, 100 * S), 100 * S);
	limits_answered(&limits, 0, 120, 100 * S);
	assert_true(limits_ready_us(&limits, 1, 100 * S) > 100 * S);
	assert_int_equal(limits_earliest_us(&limits, 100 * S), 100 * S); /* the one in flight may fail */
	limits_answered(&limits, 0, 120, 100 * S);
	assert_int_equal(limits_day_us(&limits, 100 * S), 61 * 1440 * S); /* 60 are left, 120 are needed */
	assert_int_equal(limits_earliest_us(&limits, 100 * S), 61 * 1440 * S);
	limits_change(&limits, 4, 0, 240, 0, 100 * S);
	assert_int_equal(limits_day_us(&limits, 100 * S), 100 * S);
	assert_int_equal(limits_earliest_us(&limits, 100 * S), 161 * S);
	limits_change(&limits, 4, 0, 0, 0, 100 * S);
	assert_int_equal(limits_earliest_us(&limits, 100 * S), 100 * S);
	refuse(&limits, 5000, 100 * S);
	assert_int_equal(limits_earliest_us(&limits, 100 * S), 105 * S);
	assert_int_equal(limits_day_us(&limits, 100 * S), 100 * S);
}

/* Slots of a day are of 24 minutes (1440 s). */
static void test_tokens_a_day(void **state)
{
	(void)state;
	struct limits limits = limits_of(100, 0, 0, 1000);
	limits_answered(&limits, 0, 600, 100 * S);
	limits_answered(&limits, 0, 400, 1500 * S);
	assert_int_equal(limits_ready_us(&limits, 0, 1500 * S), 61 * 1440 * S);
	assert_int_equal(limits_ready_us(&limits, 0, 61 * 1440 * S), 61 * 1440 * S);
	limits_answered(&limits, 0, 600, 61 * 1440 * S);
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
	limits_answered(&before, 0, 600, 100 * S);
	limits_answered(&before, 0, 300, 20 * 1440 * S);
	assert_int_equal(limits_day_spent(&before, 20 * 1440 * S), 900);
	limits_export_day(&before, 20 * 1440 * S, spent);
	assert_int_equal(spent[0], 300);
	assert_int_equal(spent[20], 600);
	limits_import_day(&after, 100 * S, spent, 10 * 1440 * S, 80);
	assert_int_equal(after.day_tokens.total, 900);
	assert_int_equal(limits_ready_us(&after, 0, 100 * S), 100 * S);
	assert_true(limits_ready_us(&after, 1, 100 * S) > 100 * S); /* 80 each */
	limits_answered(&after, 0, 100, 100 * S);
	assert_int_equal(limits_ready_us(&after, 0, 100 * S), (61 - 30) * 1440 * S);
	limits_import_day(&after, 100 * S, spent, 45 * 1440 * S, 0);
	assert_int_equal(after.day_tokens.total, 300);
	limits_import_day(&after, 100 * S, spent, 86400 * 2 * S, 0);
	assert_int_equal(after.day_tokens.total, 0);
	limits_import_day(&after, 100 * S, spent, -5 * S, 0);
	assert_int_equal(after.day_tokens.total, 900);
	assert_int_equal(limits_day_spent(&after, (100 + 86400 * 2) * S), 0);
}

static void test_change(void **state)
{
	(void)state;
	struct limits limits = limits_of(8, 60, 0, 0);
	for (int i = 0; i < 50; i++)
		limits_sent(&limits, 100 * S);
	limits_change(&limits, 16, 51, 10, 0, 100 * S);
	assert_true(limits.slots == 16);
	limits_sent(&limits, 100 * S);
	assert_int_equal(limits_ready_us(&limits, 0, 158 * S), 161 * S); /* 51 of 51 are spent */
	refuse(&limits, -1, 100 * S);
	limits_change(&limits, 12, 0, 0, 0, 100 * S);
	assert_true(limits.slots == 8); /* as adapted */
	limits_change(&limits, 4, 0, 0, 0, 100 * S);
	assert_true(limits.slots == 4);
	assert_int_equal(limits_ready_us(&limits, 3, 100 * S), 100 * S);
}

/* Twice slots × time / how long a place is held, by the mean of those that left or by those that are there;
 * as many as there are places at least if any may wait, and no more than the pace lets go. */
static void test_room_to_wait(void **state)
{
	(void)state;
	struct limits limits = limits_of(8, 0, 0, 0);
	assert_in_range(limits_room(&limits, 0, 1 * S), 1000000, INT64_MAX); /* nothing is known */
	assert_int_equal(limits_room(&limits, 100000, 1 * S), 160);
	limits_left(&limits, 200000);
	assert_int_equal(limits_room(&limits, 0, 1 * S), 80);
	assert_int_equal(limits_room(&limits, 400000, 1 * S), 40);
	assert_int_equal(limits_room(&limits, 60 * S, 1 * S), 8);
	assert_int_equal(limits_room(&limits, 0, 1), 8);
	assert_int_equal(limits_room(&limits, 0, 0), 0);
	for (int i = 0; i < 1000; i++)
		limits_left(&limits, 500000);
	assert_in_range(limits_room(&limits, 0, 1 * S), 32, 33);
	refuse(&limits, -1, 100 * S); /* four places are left */
	assert_in_range(limits_room(&limits, 0, 1 * S), 16, 17);

	limits = limits_of(4, 120, 0, 0);
	assert_int_equal(limits_room(&limits, 0, 10 * S), 20 + 2 * 10); /* what may go at once, and 2/s */
	limits_left(&limits, 4 * S);
	assert_int_equal(limits_room(&limits, 0, 10 * S), 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_refusals_narrow_and_successes_widen),
		cmocka_unit_test(test_places_settle),
		cmocka_unit_test(test_rate_settles),
		cmocka_unit_test(test_pause_that_the_server_asks_for),
		cmocka_unit_test(test_requests_a_minute),
		cmocka_unit_test(test_requests_are_paced),
		cmocka_unit_test(test_tokens_a_minute),
		cmocka_unit_test(test_tokens_in_flight_count),
		cmocka_unit_test(test_expected_tokens_count),
		cmocka_unit_test(test_earliest_place),
		cmocka_unit_test(test_tokens_a_day),
		cmocka_unit_test(test_day_goes_on),
		cmocka_unit_test(test_change),
		cmocka_unit_test(test_room_to_wait),
	};
	return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
