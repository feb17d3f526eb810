/* What becomes of calls: verdicts, failures, repeats, places and limits, reloads and stops. */
#include "scripted_judge.h"

#include "common/hash.h"

#include <pthread.h>

static void test_verdicts(void **state)
{
	(void)state;
	static const struct {
		enum judge_question kind;
		const char *question;
		double score;
	} cases[] = {
		{ JUDGE_RELEVANCE, "plain", 90 },
		{ JUDGE_RELEVANCE, "[score 42]", 42 },
		{ JUDGE_RELEVANCE, "[score 0]", 0 },
		{ JUDGE_RELEVANCE, "[score 100.0] [fenced]", 100 },
		{ JUDGE_CORRECTNESS, "plain", 1.0 },
		{ JUDGE_CORRECTNESS, "[verdict partial]", 0.5 },
		{ JUDGE_CORRECTNESS, "[verdict incorrect] [fenced]", 0.0 },
	};
	struct judge_settings settings = judge_server_settings(&server);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct judge_batch batch;
		struct judge_call *call =
			ask_one(&batch, &settings, "", str_from(cases[i].question), cases[i].kind);
		assert_int_equal(call->verdict.error, ERR_OK);
		assert_true(call->verdict.score == cases[i].score);
		assert_string_equal(call->verdict.reason.ptr, "as scripted");
		assert_non_null(strstr(call->verdict.raw.ptr, "as scripted")); /* in the reply as it came */
		assert_int_equal(call->verdict.raw.ptr[0] == '{', !strstr(cases[i].question, "fenced"));
		assert_false(call->verdict.cached);
		assert_int_equal(call->verdict.prompt_tokens, 100);
		assert_int_equal(call->verdict.completion_tokens, 20);
		assert_true(call->duration_us > 0);
		finish(&batch);
	}
}

/* Steps of the server → how the call ends and how many requests that took. */
static void test_failures(void **state)
{
	(void)state;
	static const struct {
		const char *steps;
		const char *question;
		err_t error;
		const char *message;
		int requests;
	} cases[] = {
		{ "status=500;status=503", "q", ERR_OK, NULL, 3 },
		{ "status=429;status=408", "q", ERR_OK, NULL, 3 },
		{ "reset;close", "q", ERR_OK, NULL, 3 },
		{ "", "[status 500]", ERR_JUDGE_UNAVAILABLE, "the judge answered HTTP 500: scripted failure",
		  3 },
		{ "", "[status 429]", ERR_JUDGE_RATE_LIMITED, "the judge answered HTTP 429: scripted failure",
		  3 },
		{ "", "[status 400]", ERR_JUDGE_REFUSED, "the judge answered HTTP 400: scripted failure", 1 },
		{ "", "[status 404]", ERR_JUDGE_REFUSED, "the judge answered HTTP 404: scripted failure", 1 },
		{ "status=302,location=http://127.0.0.1:1/", "q", ERR_JUDGE_REFUSED,
		  "the judge answered HTTP 302: scripted failure", 1 },
		{ "status=429,retry_after=60", "q", ERR_JUDGE_RATE_LIMITED,
		  "the judge answered HTTP 429: scripted failure", 1 },
		{ "status=429,retry_at=-3600", "q", ERR_OK, NULL, 2 },
		{ "status=429,retry_after=-7", "q", ERR_OK, NULL, 2 },
		{ "status=503,retry_after=tomorrow", "q", ERR_OK, NULL, 2 },
		{ "status=429,retry_after=9999999999", "q", ERR_JUDGE_RATE_LIMITED,
		  "the judge answered HTTP 429: scripted failure", 1 },
		{ "body=nonsense", "q", ERR_OK, NULL, 2 },
		{ "html", "q", ERR_OK, NULL, 2 },
		{ "raw={}", "q", ERR_OK, NULL, 2 },
		{ "big=2000000", "q", ERR_OK, NULL, 2 },
		{ "big=2000000;big=2000000", "q", ERR_JUDGE_REPLY, "the judge's answer is larger than 1 MiB",
		  2 },
		{ "", "[html]", ERR_JUDGE_REPLY, "the judge's answer is not a completion", 2 },
		{ "", "[rubbish]", ERR_JUDGE_REPLY,
		  "the judge's reply cannot be read as a verdict: it holds no JSON object", 2 },
		{ "", "[two]", ERR_JUDGE_REPLY,
		  "the judge's reply cannot be read as a verdict: it holds more than one object", 2 },
		{ "", "[score 101]", ERR_JUDGE_REPLY,
		  "the judge's reply cannot be read as a verdict: its score is not an integer from 0 to 100",
		  2 },
		{ "", "[reset]", ERR_JUDGE_UNAVAILABLE, NULL, 3 },
	};
	struct judge_settings settings = judge_server_settings(&server);
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct judge_batch batch;
		struct judge_call *call = ask_one(&batch, &settings, cases[i].steps,
						  str_from(cases[i].question), JUDGE_RELEVANCE);
		assert_string_equal(err_name(call->verdict.error), err_name(cases[i].error));
		if (cases[i].message)
			assert_string_equal(call->verdict.message.ptr, cases[i].message);
		else
			assert_int_equal(str_present(call->verdict.message), cases[i].error != ERR_OK);
		assert_int_equal(judge_server_count(&server, "requests"), cases[i].requests);
		finish(&batch);
	}
}

static void test_tokens_of_all_samples_count(void **state)
{
	(void)state;
	struct judge_batch batch;
	struct judge_settings settings = judge_server_settings(&server);
	struct judge_call *call = ask_one(&batch, &settings, "body=nonsense", STR("q"), JUDGE_RELEVANCE);
	assert_int_equal(call->verdict.error, ERR_OK);
	assert_int_equal(call->verdict.prompt_tokens, 200);
	assert_int_equal(call->verdict.completion_tokens, 40);
	finish(&batch);
}

static void test_timeout(void **state)
{
	(void)state;
	static const char *const steps[] = { "hold", "trickle=200", "status=500;hold" };
	struct judge_settings settings = judge_server_settings(&server);
	settings.timeout_ms = 700;
	for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
		struct judge_batch batch;
		struct judge_call *call = ask_one(&batch, &settings, steps[i], STR("q"), JUDGE_RELEVANCE);
		assert_int_equal(call->verdict.error, ERR_JUDGE_TIMEOUT);
		assert_string_equal(call->verdict.message.ptr, "LLM judge timeout");
		assert_true(call->duration_us >= 670000);
		finish(&batch);
	}
}

/* As seconds, and as a date two seconds ahead, of which at least one is left when it is read. */
static void test_retry_after_is_honoured(void **state)
{
	(void)state;
	static const char *const steps[] = { "status=429,retry_after=1", "status=503,retry_after=1",
					     "status=429,retry_at=2" };
	struct judge_settings settings = judge_server_settings(&server);
	for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
		struct judge_batch batch;
		struct judge_call *call = ask_one(&batch, &settings, steps[i], STR("q"), JUDGE_RELEVANCE);
		assert_int_equal(call->verdict.error, ERR_OK);
		assert_true(call->duration_us >= 1000000);
		finish(&batch);
	}
}

static void test_unreachable(void **state)
{
	(void)state;
	struct judge_batch batch;
	struct judge_settings settings = judge_server_settings(&server);
	settings.base_url = "http://127.0.0.1:1/v1";
	struct judge_call *call = ask_one(&batch, &settings, "", STR("q"), JUDGE_RELEVANCE);
	assert_int_equal(call->verdict.error, ERR_JUDGE_UNAVAILABLE);
	assert_non_null(strstr(call->verdict.message.ptr, "the judge cannot be reached: Failed to connect"));
	finish(&batch);
}

static void test_cache_hit(void **state)
{
	(void)state;
	struct judge_batch batch;
	struct judge_settings settings = judge_server_settings(&server);
	ask_one(&batch, &settings, "", STR("[score 7]"), JUDGE_RELEVANCE);
	struct judge_batch again;
	judge_batch_init(&again, batch.judge, 1);
	again.calls[0].question = STR("[score 7]");
	judge_batch_submit(&again);
	assert_int_equal(queue_count(&again.answered), 1); /* nobody was waited for */
	assert_string_equal(again.calls[0].prompt_digest.ptr, judge_prompt_digest(batch.judge, 0));
	assert_int_equal(judge_stats(batch.judge, 0).hits, 1);
	const struct judge_verdict *verdict = &again.calls[0].verdict;
	assert_true(verdict->cached);
	assert_true(verdict->score == 7);
	assert_string_equal(verdict->reason.ptr, "as scripted");
	assert_int_equal(verdict->prompt_tokens, 0);
	assert_int_equal(judge_server_count(&server, "requests"), 1);
	finish(&batch);
	judge_batch_free(&again);
}

static void test_errors_are_not_cached(void **state)
{
	(void)state;
	struct judge_batch batch;
	struct judge_settings settings = judge_server_settings(&server);
	struct judge_call *call = ask_one(&batch, &settings, "status=400", STR("q"), JUDGE_RELEVANCE);
	assert_int_equal(call->verdict.error, ERR_JUDGE_REFUSED);
	struct judge_batch again;
	judge_batch_init(&again, batch.judge, 1);
	again.calls[0].question = STR("q");
	judge_batch_submit(&again);
	judge_batch_wait(&again);
	assert_int_equal(again.calls[0].verdict.error, ERR_OK);
	assert_false(again.calls[0].verdict.cached);
	finish(&batch);
	judge_batch_free(&again);
}

static void test_identical_calls_share_one_request(void **state)
{
	(void)state;
	struct judge_batch batch;
	struct judge_settings settings = judge_server_settings(&server);
	judge_server_script(&server, "latency=300");
	judge_batch_init(&batch, judge_server_judge(&settings), 100);
	for (size_t i = 0; i < batch.count; i++)
		batch.calls[i].question = STR("the same [score 66]");
	judge_batch_submit(&batch);
	judge_batch_wait(&batch);
	int64_t tokens = 0;
	for (size_t i = 0; i < batch.count; i++) {
		assert_int_equal(batch.calls[i].verdict.error, ERR_OK);
		assert_true(batch.calls[i].verdict.score == 66);
		tokens += batch.calls[i].verdict.prompt_tokens;
	}
	assert_int_equal(tokens, 100);
	assert_int_equal(judge_server_count(&server, "requests"), 1);
	finish(&batch);
}

/* Two have the places; the others, who wait for less than that, are skipped while these are still asked. */
static void test_saturated_calls_are_skipped(void **state)
{
	(void)state;
	struct judge_batch batch;
	struct err_detail detail = { "" };
	struct judge_settings settings = judge_server_settings(&server);
	settings.max_in_flight = 2;
	judge_server_script(&server, "hold;hold");
	judge_batch_init(&batch, judge_server_judge(&settings), 4);
	judge_submit(batch.judge, &batch.calls[0]);
	judge_submit(batch.judge, &batch.calls[1]);
	judge_server_await(&server, 2);
	settings.queue_wait_ms = 150;
	assert_int_equal(judge_reload(batch.judge, &settings, 1, &detail), ERR_OK);
	for (size_t i = 2; i < batch.count; i++)
		judge_submit(batch.judge, &batch.calls[i]);
	assert_int_equal(queue_wait(&batch.answered, 2, 60000), 2);
	judge_server_release(&server);
	judge_batch_wait(&batch);
	for (size_t i = 0; i < batch.count; i++) {
		const struct judge_call *call = &batch.calls[i];
		assert_int_equal(call->verdict.error, i < 2 ? ERR_OK : ERR_JUDGE_SATURATED);
		assert_true(i < 2 || call->duration_us >= 150000);
	}
	assert_int_equal(judge_server_count(&server, "requests"), 2);
	finish(&batch);
}

/* One has the place. A pace of six a minute lets six go at once and six more within the minute that may be
 * waited: so many wait, and who comes then is told before judge_submit returns; but not who asks what is
 * asked already, or is known. */
static void test_who_would_wait_in_vain_is_told_at_once(void **state)
{
	(void)state;
	struct judge_batch batch;
	struct err_detail detail = { "" };
	struct judge_settings settings = judge_server_settings(&server);
	settings.max_in_flight = 1;
	settings.queue_wait_ms = 60000;
	judge_server_script(&server, "latency=0;hold");
	judge_batch_init(&batch, judge_server_judge(&settings), 100);
	batch.calls[0].question = batch.calls[98].question = STR("known");
	batch.calls[1].question = batch.calls[99].question = STR("asked");
	judge_submit(batch.judge, &batch.calls[0]);
	assert_int_equal(queue_wait(&batch.answered, 1, 60000), 1);
	judge_submit(batch.judge, &batch.calls[1]);
	judge_server_await(&server, 2);
	settings.requests_per_minute = 6;
	assert_int_equal(judge_reload(batch.judge, &settings, 1, &detail), ERR_OK);
	for (size_t i = 2; i < 14; i++)
		judge_submit(batch.judge, &batch.calls[i]);
	await_judge_stat(batch.judge, waiting, 12);
	for (size_t i = 14; i < 98; i++) {
		size_t bytes = arena_size_bytes(batch.calls[i].arena);
		judge_submit(batch.judge, &batch.calls[i]);
		assert_int_equal(arena_size_bytes(batch.calls[i].arena), bytes); /* costs no memory */
		assert_int_equal(queue_count(&batch.answered), i - 12);
		assert_int_equal(batch.calls[i].verdict.error, ERR_JUDGE_SATURATED);
		assert_true(str_present(batch.calls[i].prompt_digest));
	}
	await_judge_stat(batch.judge, saturated, 84);
	judge_submit(batch.judge, &batch.calls[98]);
	judge_submit(batch.judge, &batch.calls[99]);
	settings.requests_per_minute = 0;
	assert_int_equal(judge_reload(batch.judge, &settings, 1, &detail), ERR_OK);
	judge_server_release(&server);
	judge_batch_wait(&batch);
	for (size_t i = 0; i < batch.count; i++)
		assert_int_equal(batch.calls[i].verdict.error,
				 i < 14 || i > 97 ? ERR_OK : ERR_JUDGE_SATURATED);
	assert_int_equal(judge_server_count(&server, "requests"), 14);
	finish(&batch);
}

static void test_saturated_calls_can_wait(void **state)
{
	(void)state;
	struct judge_batch batch;
	struct judge_settings settings = judge_server_settings(&server);
	settings.max_in_flight = 1;
	settings.queue_wait_ms = 1;
	settings.wait_when_saturated = true;
	judge_server_script(&server, "latency=100;latency=100;latency=100;latency=100");
	judge_batch_init(&batch, judge_server_judge(&settings), 4);
	judge_batch_submit(&batch);
	judge_batch_wait(&batch);
	for (size_t i = 0; i < batch.count; i++) {
		assert_int_equal(batch.calls[i].verdict.error, ERR_OK);
		assert_ptr_equal(queue_take(&batch.answered, 0), &batch.calls[i].node);
	}
	assert_int_equal(judge_server_count(&server, "concurrent_max"), 1);
	assert_int_equal(judge_server_count(&server, "connections"), 4); /* ours, and three of the test */
	finish(&batch);
}

static void test_many_at_once(void **state)
{
	(void)state;
	struct judge_batch batch;
	char steps[200 * sizeof "hold;"] = "";
	struct judge_settings settings = judge_server_settings(&server);
	settings.max_in_flight = 256;
	for (size_t i = 0; i < 200; i++)
		memcpy(steps + 5 * i, "hold;", 6);
	judge_server_script(&server, steps);
	judge_batch_init(&batch, judge_server_judge(&settings), 200);
	judge_batch_submit(&batch);
	judge_server_await(&server, 200); /* none is answered before all are there */
	assert_int_equal(queue_count(&batch.answered), 0);
	judge_server_release(&server);
	judge_batch_wait(&batch);
	for (size_t i = 0; i < batch.count; i++)
		assert_int_equal(batch.calls[i].verdict.error, ERR_OK);
	assert_int_equal(judge_server_count(&server, "concurrent_max"), 200);
	finish(&batch);
}

static void test_breaker_opens(void **state)
{
	(void)state;
	struct judge_batch batch;
	struct judge_settings settings = judge_server_settings(&server);
	settings.max_attempts = 1;
	settings.max_in_flight = 1;
	judge_server_script(&server, "");
	judge_batch_init(&batch, judge_server_judge(&settings), 30);
	for (size_t i = 0; i < batch.count; i++)
		batch.calls[i].sql = STR("SELECT 1 -- [status 503]");
	judge_batch_submit(&batch);
	judge_batch_wait(&batch);
	for (size_t i = 0; i < batch.count; i++) {
		assert_int_equal(batch.calls[i].verdict.error, ERR_JUDGE_UNAVAILABLE);
		assert_string_equal(batch.calls[i].verdict.message.ptr,
				    i < 10 ? "the judge answered HTTP 503: scripted failure"
					   : "the judge cannot be reached");
	}
	assert_int_equal(judge_server_count(&server, "requests"), 10);
	await_judge_stat(batch.judge, breaker_open, 1);
	usleep(2100000); /* the pause, and the most of the first backoff */
	struct judge_batch later;
	judge_batch_init(&later, batch.judge, 3);
	later.calls[0].question = STR("\xff"); /* cannot be sent, so it is no probe */
	judge_batch_submit(&later);
	judge_batch_wait(&later);
	assert_int_equal(later.calls[0].verdict.error, ERR_JUDGE_REFUSED);
	assert_int_equal(later.calls[1].verdict.error, ERR_OK);
	finish(&batch);
	judge_batch_free(&later);
}

/* None of the answers comes before the stop is over. */
static void test_stop_answers_all(void **state)
{
	(void)state;
	struct judge_batch batch;
	struct judge_settings settings = judge_server_settings(&server);
	settings.max_in_flight = 3;
	judge_server_script(&server, "hold;hold;status=429,retry_after=50");
	judge_batch_init(&batch, judge_server_judge(&settings), 10);
	judge_batch_submit(&batch);
	judge_server_await(&server, 3);
	judge_stop(batch.judge);
	assert_int_equal(queue_count(&batch.answered), 10);
	for (size_t i = 0; i < batch.count; i++)
		assert_int_equal(batch.calls[i].verdict.error, ERR_SHUTTING_DOWN);
	judge_batch_free(&batch);
}

static void test_waiting_counts_as_alive(void **state)
{
	(void)state;
	struct judge_batch batch;
	struct judge_settings settings = judge_server_settings(&server);
	judge_server_script(&server, "hold");
	judge_batch_init(&batch, judge_server_judge(&settings), 1);
	struct heartbeat *heartbeat = judge_heartbeat(batch.judge);
	judge_batch_submit(&batch);
	judge_server_await(&server, 1);
	for (int i = 0; i < 6000 && !atomic_load(&heartbeat->waiting_for); i++)
		usleep(10000);
	assert_string_equal(atomic_load(&heartbeat->waiting_for), "judge");
	judge_server_release(&server);
	judge_batch_wait(&batch);
	assert_string_equal(heartbeat->name, "judge");
	finish(&batch);
}

static void test_settings_are_checked(void **state)
{
	(void)state;
	static const struct {
		const char *provider, *base_url, *model, *key_file, *prompts;
		err_t error;
		const char *message;
	} cases[] = {
		{ "nobody", "http://h/v1", "m", NULL, NULL, ERR_CONFIG_RANGE, "judge.provider" },
		{ "openai", NULL, "m", NULL, NULL, ERR_CONFIG_MISSING, "judge.base_url" },
		{ "openai", "file:///etc/passwd", "m", NULL, NULL, ERR_CONFIG_RANGE, "http://" },
		{ "openai", "http://user:secret@h/", "m", NULL, NULL, ERR_CONFIG_RANGE, "password" },
		{ "openai", "http://h/?a=b", "m", NULL, NULL, ERR_CONFIG_RANGE, "query" },
		{ "openai", "http://h/v1", "", NULL, NULL, ERR_CONFIG_MISSING, "judge.model" },
		{ "openai", "http://h/v1", "m", "/nonexistent", NULL, ERR_FILE_UNREADABLE, "/nonexistent" },
		{ "openai", "http://h/v1", "m", "/dev/null", NULL, ERR_CONFIG_RANGE, "empty" },
		{ "openai", "http://h/v1", "m", NULL, "/nonexistent", ERR_FILE_UNREADABLE,
		  "/nonexistent/relevance.txt" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct judge_settings settings = judge_server_settings(&server);
		struct judge *judge = NULL;
		struct err_detail detail = { "" };
		settings.provider = cases[i].provider;
		settings.base_url = cases[i].base_url;
		settings.model = cases[i].model;
		settings.api_key_file = cases[i].key_file;
		settings.prompt_directory = cases[i].prompts;
		assert_string_equal(err_name(judge_start(&settings, 1, &judge, &detail)),
				    err_name(cases[i].error));
		assert_null(judge);
		assert_non_null(strstr(detail.message, cases[i].message));
		assert_null(strstr(detail.message, "secret"));
	}
}

/* One more call of that judge; the batch is freed after the judge has stopped. */
static void ask_again(struct judge_batch *batch, struct judge *judge, str_t question, bool cached)
{
	judge_batch_init(batch, judge, 1);
	batch->calls[0].question = question;
	judge_batch_submit(batch);
	judge_batch_wait(batch);
	assert_int_equal(batch->calls[0].verdict.error, ERR_OK);
	assert_int_equal(batch->calls[0].verdict.cached, cached);
	assert_int_equal(str_present(batch->calls[0].verdict.raw), !cached);
}

/* A call that is open keeps its prompt; the next ones use the new one, and the old one's verdicts are not
 * mixed with it. A faulty prompt changes nothing. */
static void test_reload(void **state)
{
	(void)state;
	struct judge_batch batch, again[3];
	struct judge_settings settings = judge_server_settings(&server);
	struct err_detail detail = { "" };
	char folder[] = "/tmp/judge-prompts-XXXXXX", command[64];
	assert_non_null(mkdtemp(folder));
	judge_server_script(&server, "hold");
	judge_batch_init(&batch, judge_server_judge(&settings), 1);
	const char *before = judge_prompt_digest(batch.judge, 0);
	batch.calls[0].question = STR("q");
	judge_batch_submit(&batch);
	judge_server_await(&server, 1);
	settings.prompt_directory = folder;
	assert_int_equal(judge_reload(batch.judge, &settings, 1, &detail), ERR_FILE_UNREADABLE);
	assert_ptr_equal(judge_prompt_digest(batch.judge, 0), before);
	judge_server_write_prompts(folder, "first");
	assert_int_equal(judge_reload(batch.judge, &settings, 1, &detail), ERR_OK);
	judge_server_write_prompts(folder, "other words");
	assert_int_equal(judge_reload(batch.judge, &settings, 1, &detail), ERR_OK);
	assert_string_not_equal(judge_prompt_digest(batch.judge, 0), before);
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	char digest[DIGEST_HEX_SIZE];
	judge_prompts_text(batch.judge, 0, &text);
	hash_sha256_hex(text.data, text.len, digest);
	assert_string_equal(judge_prompt_digest(batch.judge, 0), digest);
	judge_server_release(&server);
	judge_batch_wait(&batch);
	assert_int_equal(batch.calls[0].verdict.error, ERR_OK);
	assert_string_equal(batch.calls[0].prompt_digest.ptr, before); /* what it was asked with */
	ask_again(&again[0], batch.judge, STR("q"), false);
	assert_string_equal(again[0].calls[0].prompt_digest.ptr, judge_prompt_digest(batch.judge, 0));
	json_t *stats = judge_server_ask(&server, "/stats", NULL);
	json_t *messages = json_object_get(json_object_get(stats, "last"), "messages");
	assert_string_equal(json_string_value(json_object_get(json_array_get(messages, 0), "content")),
			    "other words");
	json_decref(stats);
	ask_again(&again[1], batch.judge, STR("q"), true);
	settings.prompt_directory = NULL;
	assert_int_equal(judge_reload(batch.judge, &settings, 1, &detail), ERR_OK);
	ask_again(&again[2], batch.judge, STR("q"), true);
	assert_string_equal(judge_prompt_digest(batch.judge, 0), before);
	assert_string_equal(again[2].calls[0].prompt_digest.ptr, before);
	finish(&batch);
	for (size_t i = 0; i < 3; i++)
		judge_batch_free(&again[i]);
	snprintf(command, sizeof command, "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

static void *submit_batch(void *argument)
{
	judge_batch_submit(argument);
	return NULL;
}

/* Several threads, while the prompts are loaded anew again and again. */
static void test_repeats_in_a_crowd(void **state)
{
	(void)state;
	enum { THREADS = 4, REPEATS = 500, RELOADS = 30 };
	struct judge_batch first, batches[THREADS];
	pthread_t threads[THREADS];
	struct judge_settings settings = judge_server_settings(&server);
	struct err_detail detail = { "" };
	ask_one(&first, &settings, "", STR("[score 9]"), JUDGE_RELEVANCE);
	for (size_t t = 0; t < THREADS; t++) {
		judge_batch_init(&batches[t], first.judge, REPEATS);
		for (size_t i = 0; i < REPEATS; i++)
			batches[t].calls[i].question = STR("[score 9]");
		assert_int_equal(pthread_create(&threads[t], NULL, submit_batch, &batches[t]), 0);
	}
	for (size_t i = 0; i < RELOADS; i++)
		assert_int_equal(judge_reload(first.judge, &settings, 1, &detail), ERR_OK);
	for (size_t t = 0; t < THREADS; t++) {
		pthread_join(threads[t], NULL);
		judge_batch_wait(&batches[t]);
		for (size_t i = 0; i < REPEATS; i++) {
			const struct judge_verdict *verdict = &batches[t].calls[i].verdict;
			assert_true(verdict->cached && verdict->score == 9);
			assert_string_equal(verdict->reason.ptr, "as scripted");
		}
	}
	assert_int_equal(judge_stats(first.judge, 0).hits, THREADS * REPEATS);
	assert_int_equal(judge_server_count(&server, "requests"), 1);
	finish(&first);
	for (size_t t = 0; t < THREADS; t++)
		judge_batch_free(&batches[t]);
}

/* Several threads submit calls that fare well and badly in every way. Whatever happens, each is answered once
 * (judge_batch_done checks it), and the figures add up. */
static void test_storm(void **state)
{
	(void)state;
	static const char *const tags[] = { "",	       "[score 5]",    "[status 500]", "[status 400]",
					    "[reset]", "[close]",      "[rubbish]",    "[slow 0.05]",
					    "",	       "[status 429]", "[two]",	       "[score 5000]",
					    "[html]",  "[slow 20]" };
	struct judge_settings settings = judge_server_settings(&server);
	struct judge_batch batches[4];
	pthread_t threads[4];
	judge_server_script(&server, "");
	settings.timeout_ms = 2000;
	settings.max_in_flight = 32;
	settings.queue_wait_ms = 1500;
	settings.cache_bytes = 4096;
	struct judge *judge = judge_server_judge(&settings);
	for (size_t t = 0; t < 4; t++) {
		judge_batch_init(&batches[t], judge, 150);
		for (size_t i = 0; i < 150; i++) {
			struct judge_call *call = &batches[t].calls[i];
			const char *tag = tags[i % (sizeof tags / sizeof tags[0])];
			call->kind = i % 3 == 0 ? JUDGE_CORRECTNESS : JUDGE_RELEVANCE;
			call->truth_sql = STR("SELECT 2");
			call->question =
				arena_printf(call->arena, "question %zu %s", (i + t * 40) % 200, tag);
		}
		assert_int_equal(pthread_create(&threads[t], NULL, submit_batch, &batches[t]), 0);
	}
	int64_t ends[ERR_COUNT_] = { 0 };
	for (size_t t = 0; t < 4; t++) {
		pthread_join(threads[t], NULL);
		judge_batch_wait(&batches[t]);
		for (size_t i = 0; i < 150; i++)
			ends[batches[t].calls[i].verdict.error]++;
	}
	await_judge_stat(judge, in_flight, 0);
	await_judge_stat(judge, waiting, 0);
	await_judge_stat(judge, saturated, ends[ERR_JUDGE_SATURATED]);
	struct judge_stats stats = judge_stats(judge, 0);
	assert_int_equal(stats.failed + stats.saturated + ends[ERR_OK], 600);
	assert_int_equal(stats.prompt_tokens, 5 * stats.completion_tokens);
	assert_true(ends[ERR_OK] > 0);
	judge_stop(judge);
	for (size_t t = 0; t < 4; t++)
		judge_batch_free(&batches[t]);
}

/* 4 requests a minute: the fifth and sixth, who wait for less, find no place, and need not wait to know it.
 */
static void test_requests_a_minute(void **state)
{
	(void)state;
	struct judge_batch batch;
	struct judge_settings settings = judge_server_settings(&server);
	settings.requests_per_minute = 4;
	settings.queue_wait_ms = 40000;
	judge_server_script(&server, "");
	judge_batch_init(&batch, judge_server_judge(&settings), 6);
	submit_and_wait(&batch, 0, 6);
	for (size_t i = 0; i < batch.count; i++) {
		assert_int_equal(batch.calls[i].verdict.error, i < 4 ? ERR_OK : ERR_JUDGE_SATURATED);
		assert_true(batch.calls[i].duration_us < 20000000);
	}
	assert_int_equal(judge_server_count(&server, "requests"), 4);
	finish(&batch);
}

/* 240 tokens a day: two calls cost them all, so that a third has no room; nor has any in the next process;
 * and a file that is none counts for nothing. */
static void test_tokens_a_day_outlive_the_judge(void **state)
{
	(void)state;
	char folder[] = "/tmp/judge-state-XXXXXX", file[64];
	assert_non_null(mkdtemp(folder));
	snprintf(file, sizeof file, "%s/judge-tokens", folder);
	struct judge_settings settings = judge_server_settings(&server);
	settings.tokens_per_day = 240;
	settings.max_in_flight = 1;	 /* one after the other */
	settings.queue_wait_ms = 600000; /* nobody waits for another day */
	settings.budget_file = file;
	judge_server_script(&server, "");
	for (int round = 0; round < 3; round++) {
		struct judge_batch batch, more;
		struct judge *judge = judge_server_judge(&settings);
		judge_batch_init(&batch, judge, 2);
		judge_batch_submit(&batch);
		judge_batch_wait(&batch);
		for (size_t i = 0; i < 2; i++)
			assert_int_equal(batch.calls[i].verdict.error, round == 1 ? ERR_JUDGE_SPENT : ERR_OK);
		judge_batch_init(&more, judge, 1);
		more.calls[0].question = STR("another");
		judge_batch_submit(&more);
		judge_batch_wait(&more);
		assert_int_equal(more.calls[0].verdict.error, ERR_JUDGE_SPENT);
		finish(&batch);
		judge_batch_free(&more);
		if (round == 1) {
			FILE *spoiled = fopen(file, "w");
			fputs("assayd judge tokens 1 5\n-3\n", spoiled);
			fclose(spoiled);
		}
	}
	unlink(file);
	rmdir(folder);
}

/* A file as former versions wrote it, which does not tell what a call takes. */
static void drop_mean(const char *file)
{
	char text[4096] = "";
	FILE *stream = fopen(file, "r");
	assert_non_null(stream);
	assert_true(fread(text, 1, sizeof text - 1, stream) > 0);
	fclose(stream);
	char *mean = strstr(text, "mean 120\n");
	assert_non_null(mean);
	*mean = 0;
	stream = fopen(file, "w");
	assert_true(fputs(text, stream) >= 0);
	fclose(stream);
}

/* 300 tokens a day, and calls of 120: of eight that come together two are sent, and no other while 60 are
 * left, in whichever life, whether it is known what a call takes or told by its length. Who waits for a slot
 * as long as it takes does not wait for a day. */
static void test_a_day_is_not_overdrawn(void **state)
{
	(void)state;
	char folder[] = "/tmp/judge-state-XXXXXX", file[64];
	assert_non_null(mkdtemp(folder));
	snprintf(file, sizeof file, "%s/judge-tokens", folder);
	struct judge_settings settings = judge_server_settings(&server);
	settings.tokens_per_day = 300;
	settings.budget_file = file;
	settings.cache_bytes = 0;
	judge_server_script(&server, "");
	for (int life = 0; life < 3; life++) {
		struct judge_batch batch;
		size_t judged = 0, spent = 0;
		settings.wait_when_saturated = life != 1;
		settings.queue_wait_ms = 600000;
		if (life == 2)
			drop_mean(file);
		judge_batch_init(&batch, judge_server_judge(&settings), 8);
		judge_batch_submit(&batch);
		judge_batch_wait(&batch);
		for (size_t i = 0; i < batch.count; i++) {
			judged += batch.calls[i].verdict.error == ERR_OK;
			spent += batch.calls[i].verdict.error == ERR_JUDGE_SPENT;
		}
		assert_int_equal(judged, life == 0 ? 2 : 0);
		assert_int_equal(spent, life == 0 ? 6 : 8);
		await_judge_stat(batch.judge, spent, (int64_t)spent);
		assert_int_equal(judge_stats(batch.judge, 0).saturated, 0);
		assert_int_equal(judge_stats(batch.judge, 0).failed, 0);
		finish(&batch);
	}
	assert_int_equal(judge_server_count(&server, "requests"), 2);
	unlink(file);
	rmdir(folder);
}

static void test_refusals_narrow_the_places(void **state)
{
	(void)state;
	struct judge_batch batch;
	struct judge_settings settings = judge_server_settings(&server);
	judge_server_script(&server, "status=429;status=429;hold;hold");
	judge_batch_init(&batch, judge_server_judge(&settings), 2);
	judge_batch_submit(&batch);
	judge_server_await(&server, 4);
	await_judge_stat(batch.judge, slots, 4); /* 8 / 2 */
	judge_server_release(&server);
	judge_batch_wait(&batch);
	await_judge_stat(batch.judge, verdicts, 2);
	struct judge_stats stats = judge_stats(batch.judge, 0);
	assert_int_equal(stats.requests, 4);
	assert_int_equal(stats.prompt_tokens, 200);
	assert_int_equal(stats.completion_tokens, 40);
	assert_int_equal(stats.failed, 0);
	assert_int_equal(stats.in_flight, 0);
	finish(&batch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdicts),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_tokens_of_all_samples_count),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_retry_after_is_honoured),
		cmocka_unit_test(test_unreachable),
		cmocka_unit_test(test_cache_hit),
		cmocka_unit_test(test_errors_are_not_cached),
		cmocka_unit_test(test_identical_calls_share_one_request),
		cmocka_unit_test(test_saturated_calls_are_skipped),
		cmocka_unit_test(test_who_would_wait_in_vain_is_told_at_once),
		cmocka_unit_test(test_saturated_calls_can_wait),
		cmocka_unit_test(test_many_at_once),
		cmocka_unit_test(test_breaker_opens),
		cmocka_unit_test(test_stop_answers_all),
		cmocka_unit_test(test_waiting_counts_as_alive),
		cmocka_unit_test(test_settings_are_checked),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_repeats_in_a_crowd),
		cmocka_unit_test(test_storm),
		cmocka_unit_test(test_requests_a_minute),
		cmocka_unit_test(test_tokens_a_day_outlive_the_judge),
		cmocka_unit_test(test_a_day_is_not_overdrawn),
		cmocka_unit_test(test_refusals_narrow_the_places),
	};
	return cmocka_run_group_tests_name("judge", tests, start_server, stop_server);
}
