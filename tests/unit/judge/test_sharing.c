/* Calls that share one request, and requests that share the limits: what one of them meets is not the
 * others'. */
#include "scripted_judge.h"

#include "common/log.h"

/* Identical calls, submitted so many ms after the first, of a judge that gives them a second: who joined late
 * is asked for anew when the first one's time is over, and no one waits beyond his own time. */
static void test_who_joins_has_his_own_time(void **state)
{
	(void)state;
	static const struct {
		const char *steps;
		int64_t at_ms[3];
		struct {
			err_t error;
			int64_t least_ms;
		} ends[3];
		int requests;
	} cases[] = {
		/* the second request is answered */
		{ "latency=6000",
		  { 0, 0, 750 },
		  { { ERR_JUDGE_TIMEOUT, 1000 }, { ERR_JUDGE_TIMEOUT, 990 }, { ERR_OK, 0 } },
		  2 },
		/* nor is that: the second and third end at their own times */
		{ "latency=6000;latency=6000",
		  { 0, 350, 750 },
		  { { ERR_JUDGE_TIMEOUT, 1000 }, { ERR_JUDGE_TIMEOUT, 990 }, { ERR_JUDGE_TIMEOUT, 990 } },
		  2 },
		/* too little time is left for another one */
		{ "latency=6000",
		  { 0, 0, 100 },
		  { { ERR_JUDGE_TIMEOUT, 1000 }, { ERR_JUDGE_TIMEOUT, 990 }, { ERR_JUDGE_TIMEOUT, 0 } },
		  1 },
		/* all get the first answer, and who pays has paid for all */
		{ "latency=500", { 0, 100, 200 }, { { ERR_OK, 500 }, { ERR_OK, 0 }, { ERR_OK, 0 } }, 1 },
	};
	struct judge_settings settings = judge_server_settings(&server);
	settings.timeout_ms = 1000;
	for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
		struct judge_batch batch;
		judge_server_script(&server, cases[c].steps);
		judge_batch_init(&batch, judge_server_judge(&settings), 3);
		for (size_t i = 0; i < 3; i++) {
			usleep((useconds_t)(cases[c].at_ms[i] - (i ? cases[c].at_ms[i - 1] : 0)) * 1000);
			batch.calls[i].question = STR("the same");
			judge_submit(batch.judge, &batch.calls[i]);
		}
		judge_batch_wait(&batch);
		int64_t tokens = 0;
		for (size_t i = 0; i < 3; i++) {
			const struct judge_call *call = &batch.calls[i];
			if (call->verdict.error != cases[c].ends[i].error)
				fail_msg("case %zu, call %zu: %s after %lld ms", c, i,
					 err_name(call->verdict.error), (long long)call->duration_us / 1000);
			assert_in_range(call->duration_us, cases[c].ends[i].least_ms * 1000, 4000000);
			tokens += call->verdict.prompt_tokens;
		}
		assert_true(tokens <= 100);
		assert_int_equal(judge_server_count(&server, "requests"), cases[c].requests);
		judge_stop(batch.judge);
		judge_batch_free(&batch);
	}
}

/* Retries and resamples count against the requests of a minute like first tries: the second request of each
 * call finds none left in its time, and the call ends with what the first one said. */
static void test_retries_keep_to_the_limits(void **state)
{
	(void)state;
	static const struct {
		const char *question;
		err_t error;
	} cases[] = { { "[status 500]", ERR_JUDGE_UNAVAILABLE }, { "[rubbish]", ERR_JUDGE_REPLY } };
	struct judge_settings settings = judge_server_settings(&server);
	settings.requests_per_minute = 4;
	settings.timeout_ms = 600;
	for (size_t c = 0; c < 2; c++) {
		struct judge_batch batch;
		judge_server_script(&server, "");
		judge_batch_init(&batch, judge_server_judge(&settings), 4);
		for (size_t i = 0; i < 4; i++)
			batch.calls[i].question =
				arena_printf(batch.calls[i].arena, "%zu %s", i, cases[c].question);
		judge_batch_submit(&batch);
		judge_batch_wait(&batch);
		for (size_t i = 0; i < 4; i++)
			assert_string_equal(err_name(batch.calls[i].verdict.error), err_name(cases[c].error));
		assert_int_equal(judge_server_count(&server, "requests"), 4);
		judge_stop(batch.judge);
		judge_batch_free(&batch);
	}
}

static _Atomic int told;

static void count_line(enum log_level level, const char *line, void *context)
{
	(void)context;
	atomic_fetch_add(&told,
			 level == LOG_LEVEL_WARNING && strstr(line, "judge.tokens_per_day is spent") != NULL);
}

/* Likewise the tokens of a minute, of which the first call takes all. */
static void test_tokens_a_minute(void **state)
{
	(void)state;
	struct judge_settings settings = judge_server_settings(&server);
	struct judge_batch batch;
	settings.tokens_per_minute = 120;
	settings.queue_wait_ms = 50;
	settings.max_in_flight = 1;
	judge_server_script(&server, "");
	judge_batch_init(&batch, judge_server_judge(&settings), 3);
	judge_batch_submit(&batch);
	judge_batch_wait(&batch);
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
	settings.queue_wait_ms = 50;
	settings.max_in_flight = 1;
	judge_server_script(&server, steps);
	atomic_store(&told, 0);
	log_set_sink(count_line, NULL);
	judge_batch_init(&batch, judge_server_judge(&settings), 10);
	judge_batch_submit(&batch);
	judge_batch_wait(&batch);
	judge_stop(batch.judge);
	log_set_sink(NULL, NULL);
	for (size_t i = 0; i < batch.count; i++)
		assert_int_equal(batch.calls[i].verdict.error, i ? ERR_JUDGE_SATURATED : ERR_OK);
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
