/* Servers that do not behave, and ways to them that are not the plain one. */
#include "judge_server.h"

#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>

static struct judge_server server;

static int start_server(void **state)
{
	(void)state;
	curl_global_init(CURL_GLOBAL_DEFAULT);
	judge_server_start(&server, (const char *const[]){ NULL });
	return 0;
}

static int stop_server(void **state)
{
	(void)state;
	judge_server_stop(&server);
	return 0;
}

static struct judge_verdict ask(struct judge *judge, const char *question)
{
	struct judge_batch batch;
	judge_batch_init(&batch, judge, 1);
	batch.calls[0].question = str_from(question);
	judge_batch_submit(&batch);
	judge_batch_wait(&batch);
	struct judge_verdict verdict = batch.calls[0].verdict;
	verdict.message = verdict.reason = STR_NONE; /* they go with the batch */
	judge_batch_free(&batch);
	return verdict;
}

/* Peak of this process's memory since the last look, in kB. */
static long peak_kb(void)
{
	char line[128];
	long kb = -1;
	FILE *file = fopen("/proc/self/status", "r");
	assert_non_null(file);
	while (fgets(line, sizeof line, file))
		if (strncmp(line, "VmHWM:", 6) == 0)
			kb = strtol(line + 6, NULL, 10);
	fclose(file);
	return kb;
}

/* However an answer is blown up, it is given up at its bound, asked for once more, and costs no memory. */
static void test_bombs(void **state)
{
	(void)state;
	static const char *const steps[] = {
		"headers=16000000;headers=16000000",
		"continues=16000000;continues=16000000",
		"inflate=16000000;inflate=16000000",
		"big=16000000;big=16000000",
	};
	struct judge_settings settings = judge_server_settings(&server);
	settings.max_attempts = 1;
	for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
		long before_kb = peak_kb();
		struct judge *judge = judge_server_judge(&settings);
		judge_server_script(&server, steps[i]);
		err_t error = ask(judge, "q").error;
		if (error != ERR_JUDGE_REPLY && error != ERR_JUDGE_UNAVAILABLE)
			fail_msg("%s: %s", steps[i], err_name(error));
		judge_server_script(&server, "");
		assert_int_equal(ask(judge, "q").error, ERR_OK);
		judge_stop(judge);
		if (peak_kb() - before_kb > 12000)
			fail_msg("%s: %ld kB more", steps[i], peak_kb() - before_kb);
	}
}

/* Some headers too many are nobody's fault. */
static void test_many_headers(void **state)
{
	(void)state;
	struct judge_settings settings = judge_server_settings(&server);
	struct judge *judge = judge_server_judge(&settings);
	judge_server_script(&server, "headers=50000;continues=1000");
	assert_int_equal(ask(judge, "one").error, ERR_OK);
	assert_int_equal(ask(judge, "two").error, ERR_OK);
	assert_int_equal(judge_server_count(&server, "requests"), 2);
	judge_stop(judge);
}

/* The server closes a connection that was kept at the moment in which it is used again: that says nothing
 * about the judge, and costs no attempt. */
static void test_kept_connection_is_gone(void **state)
{
	(void)state;
	struct judge_settings settings = judge_server_settings(&server);
	settings.max_attempts = 1;
	struct judge *judge = judge_server_judge(&settings);
	for (int i = 0; i < 15; i++) { /* more than the failures that open the breaker */
		char question[32];
		snprintf(question, sizeof question, "question %d", i);
		judge_server_script(&server, i ? "close" : "");
		assert_int_equal(ask(judge, question).error, ERR_OK);
		assert_int_equal(judge_server_count(&server, "requests"), i ? 2 : 1);
	}
	await_judge_stat(judge, requests, 15);
	judge_stop(judge);
}

enum { CALLERS = 8 };

/* A server whose queue is full: it has `callers` waiting, and the next one gets no answer. */
static int full_server(int *ret_port, int callers[CALLERS])
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof address;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, len), 0);
	assert_int_equal(listen(listener, 0), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &len), 0);
	for (int i = 0; i < CALLERS; i++) {
		callers[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		(void)connect(callers[i], (struct sockaddr *)&address, len);
	}
	*ret_port = ntohs(address.sin_port);
	return listener;
}

/* Answers whoever says something. In a process of its own, so that its descriptors take no numbers. */
static pid_t serve(int listener)
{
	static const char answer[] =
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 94\r\n\r\n"
		"{\"choices\":[{\"message\":{\"content\":\"{\\\"reason\\\":\\\"r\\\",\\\"score\\\":90}\"},"
		"\"finish_reason\":\"stop\"}]}";
	pid_t pid = fork();
	if (pid != 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		char request[65536];
		const struct timeval patience = { .tv_usec = 200000 };
		int caller = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		setsockopt(caller, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
		if (recv(caller, request, sizeof request, 0) > 0)
			(void)!write(caller, answer, sizeof answer - 1);
		close(caller);
	}
}

/* The number of a connection that never stood is the next one's. */
static void test_connection_that_never_stood(void **state)
{
	(void)state;
	int port, callers[CALLERS];
	char url[64];
	int listener = full_server(&port, callers);
	snprintf(url, sizeof url, "http://127.0.0.1:%d/v1", port);
	struct judge_settings settings = judge_server_settings(&server);
	settings.base_url = url;
	settings.timeout_ms = 1000;
	settings.max_attempts = 1;
	struct judge *judge = judge_server_judge(&settings);
	assert_int_not_equal(ask(judge, "question").error, ERR_OK);
	pid_t child = serve(listener);
	int left = 60; /* for a loaded machine; whoever does not notice the new connection never gets an
			  answer */
	while (ask(judge, "question").error != ERR_OK && left > 0)
		left--;
	assert_int_not_equal(left, 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	judge_stop(judge);
	for (int i = 0; i < CALLERS; i++)
		close(callers[i]);
	close(listener);
}

static void test_ipv6(void **state)
{
	(void)state;
	struct judge_server six;
	char url[64];
	int probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in6 loopback = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	bool there = probe >= 0 && bind(probe, (struct sockaddr *)&loopback, sizeof loopback) == 0;
	close(probe);
	if (!there)
		skip();
	judge_server_start(&six, (const char *const[]){ "--address", "::1", NULL });
	snprintf(url, sizeof url, "http://[::1]:%d/v1", six.port);
	struct judge_settings settings = judge_server_settings(&six);
	settings.base_url = url;
	struct judge *judge = judge_server_judge(&settings);
	assert_int_equal(ask(judge, "q").error, ERR_OK);
	judge_stop(judge);
	judge_server_stop(&six);
}

/* A proxy that the environment names is used, unless no_proxy excludes the server. */
static void test_proxy_of_the_environment(void **state)
{
	(void)state;
	char proxy[64];
	snprintf(proxy, sizeof proxy, "http://127.0.0.1:%d", server.port);
	struct judge_settings settings = judge_server_settings(&server);
	settings.base_url = "http://judge.invalid/v1"; /* the proxy of the test answers itself */
	judge_server_script(&server, "");
	setenv("http_proxy", proxy, 1);
	struct judge *judge = judge_server_judge(&settings);
	assert_int_equal(ask(judge, "q").error, ERR_OK);
	judge_stop(judge);
	setenv("http_proxy", "http://127.0.0.1:1", 1);
	setenv("no_proxy", "127.0.0.1", 1);
	settings.base_url = server.url;
	judge = judge_server_judge(&settings);
	assert_int_equal(ask(judge, "q").error, ERR_OK);
	judge_stop(judge);
	unsetenv("http_proxy");
	unsetenv("no_proxy");
}

/* A name that nobody knows is tried again, and ends in an error of its own. */
static void test_unknown_name(void **state)
{
	(void)state;
	struct judge_settings settings = judge_server_settings(&server);
	settings.base_url = "http://judge.invalid/v1";
	settings.timeout_ms = 2000;
	settings.max_attempts = 2;
	struct judge_batch batch;
	judge_batch_init(&batch, judge_server_judge(&settings), 1);
	judge_batch_submit(&batch);
	judge_batch_wait(&batch);
	assert_int_equal(batch.calls[0].verdict.error, ERR_JUDGE_UNAVAILABLE);
	assert_non_null(strstr(batch.calls[0].verdict.message.ptr, "the judge cannot be reached: "));
	assert_true(batch.calls[0].duration_us < 30000000);
	judge_stop(batch.judge);
	judge_batch_free(&batch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bombs),
		cmocka_unit_test(test_many_headers),
		cmocka_unit_test(test_kept_connection_is_gone),
		cmocka_unit_test(test_connection_that_never_stood),
		cmocka_unit_test(test_ipv6),
		cmocka_unit_test(test_proxy_of_the_environment),
		cmocka_unit_test(test_unknown_name),
	};
	return cmocka_run_group_tests_name("rude_server", tests, start_server, stop_server);
}
