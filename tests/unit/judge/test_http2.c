/* A server that offers HTTP/2: many requests on one connection, and what HTTP/2 knows besides. */
#include "judge_server.h"

static char pem[32] = "/tmp/judge-pem-XXXXXX", certificate[40];

static int make_certificate(void **state)
{
	char command[512];
	(void)state;
	curl_global_init(CURL_GLOBAL_DEFAULT);
	close(mkstemp(pem));
	snprintf(certificate, sizeof certificate, "%s.crt", pem);
	snprintf(command, sizeof command,
		 "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 "
		 "-subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 -keyout %s -out %s 2>/dev/null && "
		 "cat %s >> %s",
		 pem, certificate, certificate, pem);
	return system(command);
}

static int remove_certificate(void **state)
{
	(void)state;
	unlink(pem);
	unlink(certificate);
	return 0;
}

/* All calls are judged, over so many connections and with so many requests at once on one. (A limit on these
 * is known only once the server has said it.) */
static void test_requests_share_connections(void **state)
{
	(void)state;
	static const struct {
		const char *options[4];
		unsigned most_connections, least_streams, most_streams;
	} cases[] = {
		{ { "--latency", "500" }, 1, 16, 64 },
		{ { "--latency", "100", "--streams", "8" }, 128, 2, 64 },
		{ { "--latency", "50", "--goaway", "10" }, 128, 2, 64 },
		{ { "--latency", "20", "--refuse", "5" }, 128, 2, 64 },
	};
	for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
		struct judge_server server;
		struct judge *judge = NULL;
		struct judge_batch batch;
		struct err_detail detail = { "" };
		const char *options[8] = { pem };
		char url[64];
		for (size_t i = 0; i < 4; i++)
			options[i + 1] = cases[c].options[i];
		judge_server_start_script(&server, "judge_http2.py", options);
		snprintf(url, sizeof url, "https://127.0.0.1:%d/v1", server.port);
		struct judge_settings settings = judge_server_settings(&server);
		settings.base_url = url;
		settings.ca_file = certificate;
		settings.max_in_flight = 64;
		assert_int_equal(judge_start(&settings, 1, &judge, &detail), ERR_OK);
		judge_batch_init(&batch, judge, 128);
		judge_batch_submit(&batch);
		judge_batch_wait(&batch);
		unsigned connections = 0, streams = 0;
		for (size_t i = 0; i < batch.count; i++) {
			const struct judge_verdict *verdict = &batch.calls[i].verdict;
			unsigned now[2];
			if (verdict->error)
				fail_msg("case %zu: %s", c, verdict->message.ptr);
			assert_int_equal(
				sscanf(verdict->reason.ptr, "%u connections, %u at once", &now[0], &now[1]),
				2);
			connections = now[0] > connections ? now[0] : connections;
			streams = now[1] > streams ? now[1] : streams;
		}
		print_message("case %zu: %u connections, %u at once\n", c, connections, streams);
		assert_in_range(connections, 1, cases[c].most_connections);
		assert_in_range(streams, cases[c].least_streams, cases[c].most_streams);
		assert_int_equal(judge_stats(judge, 0).breaker_open, 0);
		judge_stop(judge);
		judge_batch_free(&batch);
		judge_server_stop(&server);
	}
}

/* The judge ends without waiting for an answer (there will be none for an hour), and says so to each of a
 * thousand calls that are under way. */
static void test_stop_with_a_thousand_in_flight(void **state)
{
	(void)state;
	struct judge_server server;
	struct judge *judge = NULL;
	struct judge_batch batch;
	struct err_detail detail = { "" };
	char url[64];
	judge_server_start_script(&server, "judge_http2.py",
				  (const char *const[]){ pem, "--latency", "3600000", NULL });
	snprintf(url, sizeof url, "https://127.0.0.1:%d/v1", server.port);
	struct judge_settings settings = judge_server_settings(&server);
	settings.base_url = url;
	settings.ca_file = certificate;
	settings.max_in_flight = 1024;
	settings.timeout_ms = 3600000;
	assert_int_equal(judge_start(&settings, 1, &judge, &detail), ERR_OK);
	judge_batch_init(&batch, judge, 1100);
	judge_batch_submit(&batch);
	for (int i = 0; judge_stats(judge, 0).in_flight < 1024 && i < 6000; i++)
		usleep(10000);
	assert_int_equal(judge_stats(judge, 0).in_flight, 1024);
	int64_t start_us = clock_monotonic_us();
	judge_stop(judge);
	print_message("stopped with 1,024 in flight in %lld ms\n",
		      (long long)(clock_monotonic_us() - start_us) / 1000);
	assert_int_equal(queue_count(&batch.answered), batch.count);
	for (size_t i = 0; i < batch.count; i++)
		assert_int_equal(batch.calls[i].verdict.error, ERR_SHUTTING_DOWN);
	judge_batch_free(&batch);
	close(server.stdin_fd);
	kill(server.pid, SIGKILL);
	waitpid(server.pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_requests_share_connections),
					    cmocka_unit_test(test_stop_with_a_thousand_in_flight) };
	return cmocka_run_group_tests_name("http2", tests, make_certificate, remove_certificate);
}
