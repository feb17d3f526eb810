/*
 * The judge's server with injected faults. What depends on the machine's pace is printed, and held to its
 * bounds only with ASSAYD_FIGURES=1; ASSAYD_OUTAGE_S=60 makes the outage as long (3 s otherwise).
 */
#include "judge_server.h"

#include "common/log.h"

static bool figures(void)
{
	return getenv("ASSAYD_FIGURES") != NULL;
}

/* Half of all requests meet a refusal or a reset, and a tenth of the answers is slow: all calls end, each
 * with a verdict or an error, and in time. */
static void test_no_call_is_lost_or_late(void **state)
{
	(void)state;
	struct judge_server server;
	struct judge_batch batch;
	judge_server_start(&server, (const char *const[]){ "--latency", "exp:60", "--refusals", "0.3",
							   "--resets", "0.1", NULL });
	struct judge_settings settings = judge_server_settings(&server);
	settings.timeout_ms = 1500;
	settings.queue_wait_ms = 1000;
	settings.max_in_flight = 64;
	settings.max_attempts = 20;
	judge_batch_init(&batch, judge_server_judge(&settings), 600);
	for (size_t i = 0; i < batch.count; i++) {
		judge_submit(batch.judge, &batch.calls[i]);
		usleep(5000);
	}
	judge_batch_wait(&batch);
	int64_t ends[ERR_COUNT_] = { 0 }, latest_us = 0;
	for (size_t i = 0; i < batch.count; i++) {
		const struct judge_call *call = &batch.calls[i];
		ends[call->verdict.error]++;
		assert_true(call->verdict.error == ERR_OK || str_present(call->verdict.message));
		assert_true(call->verdict.error != ERR_OK || call->verdict.score == 90);
		if (call->duration_us > latest_us)
			latest_us = call->duration_us;
	}
	print_message("30 %% refused, 10 %% reset: %lld of 600 judged, %lld saturated, %lld timed out, %lld "
		      "refused, %lld unavailable; the latest after %lld ms of %lld\n",
		      (long long)ends[ERR_OK], (long long)ends[ERR_JUDGE_SATURATED],
		      (long long)ends[ERR_JUDGE_TIMEOUT], (long long)ends[ERR_JUDGE_RATE_LIMITED],
		      (long long)ends[ERR_JUDGE_UNAVAILABLE], (long long)latest_us / 1000,
		      (long long)settings.timeout_ms + settings.queue_wait_ms);
	assert_int_equal(ends[ERR_OK] + ends[ERR_JUDGE_SATURATED] + ends[ERR_JUDGE_TIMEOUT] +
				 ends[ERR_JUDGE_RATE_LIMITED] + ends[ERR_JUDGE_UNAVAILABLE],
			 600);
	assert_true(ends[ERR_OK] > 0);
	assert_true(!figures() || latest_us < 2600000);
	judge_stop(batch.judge);
	judge_batch_free(&batch);
	judge_server_stop(&server);
}

/* Keeps a number of calls waiting: each that ends is followed by another. */
struct stream {
	struct judge *judge;
	_Atomic uint64_t number;
	_Atomic int64_t judged, failed, running;
	_Atomic int64_t unflagged; /* neither a verdict nor an error with a message */
	_Atomic bool stopping;
};

static void stream_ask(struct stream *stream, struct judge_call *call);

static void stream_done(struct judge_call *call, void *context)
{
	struct stream *stream = context;
	bool ok = call->verdict.error == ERR_OK;
	atomic_fetch_add(ok ? &stream->judged : &stream->failed, 1);
	if (!ok && !str_present(call->verdict.message))
		atomic_fetch_add(&stream->unflagged, 1);
	arena_free(call->arena);
	if (!atomic_load(&stream->stopping) && ok) {
		stream_ask(stream, call);
		return;
	}
	free(call);
	atomic_fetch_sub(&stream->running, 1);
}

static void stream_ask(struct stream *stream, struct judge_call *call)
{
	struct arena *arena = arena_new();
	*call = (struct judge_call){
		.arena = arena, .sql = STR("SELECT 1"), .done = stream_done, .context = stream
	};
	call->question = arena_printf(arena, "question %llu",
				      (unsigned long long)atomic_fetch_add(&stream->number, 1));
	judge_submit(stream->judge, call);
}

static void stream_add(struct stream *stream)
{
	struct judge_call *call = calloc(1, sizeof *call);
	atomic_fetch_add(&stream->running, 1);
	stream_ask(stream, call);
}

static void stream_end(struct stream *stream)
{
	atomic_store(&stream->stopping, true);
	judge_stop(stream->judge);
	assert_int_equal(atomic_load(&stream->running), 0);
	assert_int_equal(atomic_load(&stream->unflagged), 0);
}

/* The server takes so many requests a second and refuses the rest, and resets a tenth of them. */
static void check_rate(const char *latency, const char *per_second, int64_t settling_s)
{
	struct judge_server server;
	struct stream stream = { 0 };
	const double allowed = strtod(per_second, NULL);
	judge_server_start(&server, (const char *const[]){ "--latency", latency, "--rate", per_second,
							   "--resets", "0.1", NULL });
	struct judge_settings settings = judge_server_settings(&server);
	settings.max_in_flight = 128;
	settings.max_attempts = 20;
	settings.timeout_ms = 30000;
	settings.wait_when_saturated = true;
	stream.judge = judge_server_judge(&settings);
	for (int i = 0; i < 400; i++)
		stream_add(&stream);
	usleep((useconds_t)(settling_s * 1000000));
	json_t *before = judge_server_ask(&server, "/stats", NULL);
	int64_t start_us = clock_monotonic_us(), seconds = figures() ? 15 : 3;
	usleep((useconds_t)(seconds * 1000000));
	json_t *after = judge_server_ask(&server, "/stats", NULL);
	double took_s = (double)(clock_monotonic_us() - start_us) / 1e6;
	int64_t refused = json_integer_value(json_object_get(json_object_get(after, "by_status"), "429")) -
			  json_integer_value(json_object_get(json_object_get(before, "by_status"), "429"));
	int64_t asked = json_integer_value(json_object_get(after, "requests")) -
			json_integer_value(json_object_get(before, "requests"));
	json_decref(before);
	json_decref(after);
	double rate = (double)(asked - refused) / took_s;
	print_message("the server takes %.0f a second: it took %.1f (%.0f %%), and refused %lld of %lld\n",
		      allowed, rate, 100 * rate / allowed, (long long)refused, (long long)asked);
	assert_true(rate > (figures() ? 0.9 * allowed : 0));
	stream_end(&stream);
	judge_server_stop(&server);
}

static void test_rate_settles(void **state)
{
	(void)state;
	check_rate("50-150", "100", 3);
	if (figures()) { /* what comes to 40 and 50 calls at once */
		check_rate("1000-3000", "20", 15);
		check_rate("500-1500", "50", 15);
	}
}

static void start_again(struct judge_server *server)
{
	char port[16];
	snprintf(port, sizeof port, "%d", server->port);
	judge_server_start(server, (const char *const[]){ "--port", port, "--latency", "20", NULL });
}

static void kill_server(struct judge_server *server)
{
	close(server->stdin_fd);
	kill(server->pid, SIGKILL);
	waitpid(server->pid, NULL, 0);
}

static bool breaker_open(struct judge *judge)
{
	return judge_stats(judge, 0).breaker_open;
}

/* One call every 10 ms, until `until_us` or the breaker is as wanted; returns when that was, or −1. */
static int64_t feed(struct stream *stream, int64_t until_us, int wanted)
{
	while (clock_monotonic_us() < until_us) {
		stream_add(stream);
		usleep(10000);
		if (wanted >= 0 && breaker_open(stream->judge) == wanted)
			return clock_monotonic_us();
	}
	return -1;
}

static _Atomic int64_t told_away, told_back;

static void count_line(enum log_level level, const char *line, void *context)
{
	(void)level;
	(void)context;
	if (strstr(line, "circuit breaker open"))
		atomic_fetch_add(&told_away, 1);
	if (strstr(line, "answers again"))
		atomic_fetch_add(&told_back, 1);
}

/* Nobody listens for a while: the breaker opens soon, calls fail at once and say why, and after the return
 * the judge is asked again. */
static void test_outage(void **state)
{
	(void)state;
	struct judge_server server;
	struct stream stream = { 0 };
	const char *seconds = getenv("ASSAYD_OUTAGE_S");
	int64_t outage_us = (seconds ? strtol(seconds, NULL, 10) : 3) * INT64_C(1000000);
	judge_server_start(&server, (const char *const[]){ "--latency", "20", NULL });
	struct judge_settings settings = judge_server_settings(&server);
	atomic_store(&stream.stopping, true); /* no call follows another by itself */
	settings.timeout_ms = 30000;
	log_set_sink(count_line, NULL);
	stream.judge = judge_server_judge(&settings);
	feed(&stream, clock_monotonic_us() + 500000, -1);
	assert_int_equal(atomic_load(&stream.failed), 0);
	kill_server(&server);
	int64_t down_us = clock_monotonic_us(), sent = judge_stats(stream.judge, 0).requests;
	assert_true(feed(&stream, down_us + 60000000, 1) > 0);
	sent = judge_stats(stream.judge, 0).requests - sent;
	int64_t open_us = clock_monotonic_us(), probes = judge_stats(stream.judge, 0).requests;
	feed(&stream, down_us + outage_us, -1);
	probes = judge_stats(stream.judge, 0).requests - probes;
	int64_t failed = atomic_load(&stream.failed), judged = atomic_load(&stream.judged);
	int64_t open_for_us = clock_monotonic_us() - open_us;
	start_again(&server);
	int64_t back_us = clock_monotonic_us();
	int64_t closed_us = feed(&stream, back_us + 60000000, 0);
	assert_true(closed_us > 0);
	print_message("an outage of %lld s: open after %lld requests and %lld ms, %lld probes, closed %lld "
		      "ms after the "
		      "return; %lld calls failed in it\n",
		      (long long)outage_us / 1000000, (long long)sent, (long long)(open_us - down_us) / 1000,
		      (long long)probes, (long long)(closed_us - back_us) / 1000, (long long)failed);
	assert_true(sent <= 20);
	assert_true(probes <= 2 + open_for_us / 900000);
	assert_true(failed > 0);
	assert_true(!figures() || closed_us - back_us < 5000000);
	for (int i = 0; i < 200 && atomic_load(&stream.judged) <= judged; i++)
		feed(&stream, clock_monotonic_us() + 300000, -1);
	assert_true(atomic_load(&stream.judged) > judged);
	stream_end(&stream);
	log_set_sink(NULL, NULL);
	assert_int_equal(atomic_load(&told_away), 1);
	assert_int_equal(atomic_load(&told_back), 1);
	judge_server_stop(&server);
}

int main(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_call_is_lost_or_late),
		cmocka_unit_test(test_rate_settles),
		cmocka_unit_test(test_outage),
	};
	return cmocka_run_group_tests_name("fault_injection", tests, NULL, NULL);
}
