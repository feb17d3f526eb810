/* Calls that share one request, and requests that share the limits: what one of them meets is not the
 * others'. */
#include "scripted_judge.h"

#include "common/log.h"

/* Identical calls, submitted so many ms after the first, of a judge that gives them eight seconds: who joined
 * late is asked for anew when the first one's time is over, and no one waits beyond his own time. */
static const struct joining {
	const char *steps;
	int64_t at_ms[3];
	struct {
		err_t error;
		int64_t least_ms;
	} ends[3];
	int requests;
} joinings[] = {
	/* the second request is answered */
	{ "hold",
	  { 0, 0, 6000 },
	  { { ERR_JUDGE_TIMEOUT, 7990 }, { ERR_JUDGE_TIMEOUT, 7990 }, { ERR_OK, 0 } },
	  2 },
	/* nor is that: the second and third end at their own times */
	{ "hold;hold",
	  { 0, 2800, 6000 },
	  { { ERR_JUDGE_TIMEOUT, 7990 }, { ERR_JUDGE_TIMEOUT, 7990 }, { ERR_JUDGE_TIMEOUT, 7990 } },
	  2 },
	/* too little time is left for another one */
	{ "hold",
	  { 0, 0, 800 },
	  { { ERR_JUDGE_TIMEOUT, 7990 }, { ERR_JUDGE_TIMEOUT, 7990 }, { ERR_JUDGE_TIMEOUT, 0 } },
	  1 },
	/* all get the first answer, and who pays has paid for all */
	{ "latency=3000", { 0, 100, 200 }, { { ERR_OK, 3000 }, { ERR_OK, 0 }, { ERR_OK, 0 } }, 1 },
};

enum { JOININGS = sizeof joinings / sizeof joinings[0], JOINING_LAST_MS = 6000 };

static void check_joining(size_t c, const struct judge_server *own, struct judge_batch *batch)
{
	judge_batch_wait(batch);
	int64_t tokens = 0;
	for (size_t i = 0; i < 3; i++) {
		const struct judge_call *call = &batch->calls[i];
		int64_t least_us = joinings[c].ends[i].least_ms * 1000;
		if (call->verdict.error != joinings[c].ends[i].error || call->duration_us < least_us)
			fail_msg("case %zu, call %zu: %s after %lld ms", c, i, err_name(call->verdict.error),
				 (long long)call->duration_us / 1000);
		tokens += call->verdict.prompt_tokens;
	}
	for (size_t i = 0; i < 3; i++) /* each at his own time: who came later ends later */
		assert_ptr_equal(queue_take(&batch->answered, 0), &batch->calls[i].node);
	assert_true(tokens <= 100);
	assert_int_equal(judge_server_count(own, "requests"), joinings[c].requests);
	judge_stop(batch->judge);
	judge_batch_free(batch);
}

/* All cases at the same time, each with a server of its own. */
static void test_who_joins_has_his_own_time(void **state)
{
	(void)state;
	struct judge_server own[JOININGS];
	struct judge_batch batches[JOININGS];
	for (size_t c = 0; c < JOININGS; c++) {
		judge_server_start(&own[c], (const char *const[]){ "--steps", joinings[c].steps, NULL });
		struct judge_settings settings = judge_server_settings(&own[c]);
		settings.timeout_ms = 8000;
		judge_batch_init(&batches[c], judge_server_judge(&settings), 3);
	}
	for (int64_t at_ms = 0; at_ms <= JOINING_LAST_MS; at_ms += 100) {
		for (size_t c = 0; c < JOININGS; c++) {
			for (size_t i = 0; i < 3; i++) {
				if (joinings[c].at_ms[i] != at_ms)
					continue;
				batches[c].calls[i].question = STR("the same");
				judge_submit(batches[c].judge, &batches[c].calls[i]);
			}
		}
		usleep(100000);
	}
	for (size_t c = 0; c < JOININGS; c++) {
		check_joining(c, &own[c], &batches[c]);
		judge_server_stop(&own[c]);
	}
}

/* Retries and resamples count against the requests of a minute like first tries: the second request of each
 * call finds none left in its time, and the call ends with what the first one said. Both cases at once. */
static void test_retries_keep_to_the_limits(void **state)
{
	(void)state;
	static const struct {
		const char *question;
		err_t error;
	} cases[] = { { "[status 500]", ERR_JUDGE_UNAVAILABLE }, { "[rubbish]", ERR_JUDGE_REPLY } };
	struct judge_settings settings = judge_server_settings(&server);
	struct judge_batch batches[2];
	settings.requests_per_minute = 4;
	settings.timeout_ms = 8000;
	judge_server_script(&server, "");
	for (size_t c = 0; c < 2; c++) {
		struct judge_batch *batch = &batches[c];
		judge_batch_init(batch, judge_server_judge(&settings), 4);
		for (size_t i = 0; i < 4; i++)
			batch->calls[i].question =
				arena_printf(batch->calls[i].arena, "%zu %s", i, cases[c].question);
		judge_batch_submit(batch);
	}
	for (size_t c = 0; c < 2; c++) {
		judge_batch_wait(&batches[c]);
		for (size_t i = 0; i < 4; i++)
			assert_string_equal(err_name(batches[c].calls[i].verdict.error),
					    err_name(cases[c].error));
	}
	assert_int_equal(judge_server_count(&server, "requests"), 8);
	for (size_t c = 0; c < 2; c++) {
		judge_stop(batches[c].judge);
		judge_batch_free(&batches[c]);
	}
}

static _Atomic int told;

static void count_line(enum log_level level, const char *line, void *context)
{
	(void)context;
	atomic_fetch_add(&told, level == LOG_LEVEL_WARNING &&
					strstr(line, "judge.tokens_per_day is used up") != NULL);
}

/* Likewise the tokens of a minute, of which the first call takes all. */
static void test_tokens_a_minute(void **state)
{
	(void)state;
	struct judge_settings settings = judge_server_settings(&server);
	struct judge_batch batch;
	settings.tokens_per_minute = 120;
	settings.max_in_flight = 1;
	judge_server_script(&server, "");
	judge_batch_init(&batch, judge_server_judge(&settings), 3);
	submit_and_wait(&batch, 0, 1);
	wait_no_longer(batch.judge, &settings);
	submit_and_wait(&batch, 1, 3);
	for (size_t i = 0; i < batch.count; i++)
		assert_int_equal(batch.calls[i].verdict.error, i ? ERR_JUDGE_SATURATED : ERR_OK);
	assert_int_equal(judge_server_count(&server, "requests"), 1);
	finish(&batch);
}

/* A day's budget is spent with the first call, and that is said, once. */
static void spend_budget(const char *steps)
{
	struct judge_settings settings = judge_server_settings(&server);
	struct judge_batch batch;
	settings.tokens_per_day = 120;
	settings.max_in_flight = 1;
	settings.queue_wait_ms = 600000; /* it is known at once */
	judge_server_script(&server, steps);
	atomic_store(&told, 0);
	log_set_sink(count_line, NULL);
	judge_batch_init(&batch, judge_server_judge(&settings), 10);
	submit_and_wait(&batch, 0, 1);
	submit_and_wait(&batch, 1, 10);
	judge_stop(batch.judge);
	log_set_sink(NULL, NULL);
	for (size_t i = 0; i < batch.count; i++)
		assert_int_equal(batch.calls[i].verdict.error, i ? ERR_JUDGE_SPENT : ERR_OK);
	judge_batch_free(&batch);
	assert_int_equal(atomic_load(&told), 1);
}

static void test_spent_budget_is_told(void **state)
{
	(void)state;
	spend_budget("");
	spend_budget("unmetered"); /* the server does not tell what it cost */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_joins_has_his_own_time),
		cmocka_unit_test(test_retries_keep_to_the_limits),
		cmocka_unit_test(test_tokens_a_minute),
		cmocka_unit_test(test_spent_budget_is_told),
	};
	return cmocka_run_group_tests_name("sharing", tests, start_server, stop_server);
}
