/* Requests to a server of our own on a socket, which answers as each case says. */
#include "fetch/fetcher.h"

#include "common/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>

enum { LIMIT = 1000, PATIENCE_MS = 20000 };

/* One connection after another, one answer each: `answer` and, if it is to drip, one byte more now and then,
 * until the client has had enough. */
static struct server {
	int fd;
	pthread_t thread;
	const char *_Atomic answer;
	_Atomic bool drips;
	char request[4096]; /* the last one */
	char url[64];
} server;

static void read_request(int fd)
{
	size_t len = 0;
	const char *body = NULL, *length = NULL;
	do {
		ssize_t got = read(fd, server.request + len, sizeof server.request - 1 - len);
		if (got <= 0)
			return;
		len += (size_t)got;
		server.request[len] = '\0';
		body = strstr(server.request, "\r\n\r\n");
		length = strcasestr(server.request, "Content-Length: ");
	} while (!body || (length && strlen(body + 4) < (size_t)strtol(length + 16, NULL, 10)));
}

static void *serve(void *context)
{
	(void)context;
	for (int fd; (fd = accept(server.fd, NULL, NULL)) >= 0; close(fd)) {
		read_request(fd);
		const char *answer = atomic_load(&server.answer);
		if (write(fd, answer, strlen(answer)) < 0)
			continue;
		while (atomic_load(&server.drips) && write(fd, "x", 1) > 0)
			usleep(50000);
	}
	return NULL;
}

static int start(void **state)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof address;
	(void)state;
	signal(SIGPIPE, SIG_IGN);
	server.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(server.fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(server.fd, 8), 0);
	assert_int_equal(getsockname(server.fd, (struct sockaddr *)&address, &size), 0);
	snprintf(server.url, sizeof server.url, "http://127.0.0.1:%d/a", ntohs(address.sin_port));
	return pthread_create(&server.thread, NULL, serve, NULL);
}

static int stop(void **state)
{
	(void)state;
	atomic_store(&server.drips, false);
	shutdown(server.fd, SHUT_RDWR);
	close(server.fd);
	return pthread_join(server.thread, NULL);
}

static struct fetch_request request_to(const char *url)
{
	return (struct fetch_request){ .url = url, .timeout_ms = PATIENCE_MS, .max_bytes = LIMIT };
}

static void what_is_sent(void **state)
{
	_cleanup_(fetcher_cleanup) struct fetcher *fetcher = fetcher_new();
	struct fetch_answer answer;
	struct fetch_request request = request_to(server.url);
	(void)state;
	atomic_store(&server.answer, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
	assert_true(fetch(fetcher, &request, &answer));
	assert_int_equal(answer.status, 200);
	assert_string_equal(answer.body.data, "ok");
	fetch_answer_free(&answer);
	assert_memory_equal(server.request, "GET /a HTTP/1.1\r\n", 17);

	request.body = STR("a=b");
	request.content_type = "application/x-www-form-urlencoded";
	request.accept = "application/json";
	request.authorization = "Basic c2VjcmV0";
	assert_true(fetch(fetcher, &request, &answer));
	fetch_answer_free(&answer);
	assert_memory_equal(server.request, "POST /a HTTP/1.1\r\n", 18);
	static const char *const parts[] = { "\r\nContent-Type: application/x-www-form-urlencoded\r\n",
					     "\r\nAccept: application/json\r\n",
					     "\r\nAuthorization: Basic c2VjcmV0\r\n", "\r\n\r\na=b" };
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		assert_non_null(strstr(server.request, parts[i]));
	assert_null(strstr(server.request, "Expect"));

	request.method = "PUT";
	assert_true(fetch(fetcher, &request, &answer));
	fetch_answer_free(&answer);
	assert_memory_equal(server.request, "PUT /a HTTP/1.1\r\n", 17);
}

static void what_comes_back(void **state)
{
	static const struct {
		const char *answer;
		bool drips;
		enum fetch_outcome outcome;
		long status;
		int64_t retry_after_ms;
	} cases[] = {
		{ "HTTP/1.1 204 No\r\nConnection: close\r\n\r\n", false, FETCH_ANSWERED, 204, -1 },
		{ "HTTP/1.1 503 Away\r\nRetry-After: 7\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		  false, FETCH_ANSWERED, 503, 7000 },
		{ "HTTP/1.1 503 Away\r\nRetry-After: 99999999\r\nContent-Length: 0\r\nConnection: "
		  "close\r\n\r\n",
		  false, FETCH_ANSWERED, 503, 86400000 },
		/* is not followed */
		{ "HTTP/1.1 302 There\r\nLocation: /b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		  false, FETCH_ANSWERED, 302, -1 },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 1001\r\nConnection: close\r\n\r\n", true,
		  FETCH_TOO_LARGE, 200, -1 },
		{ "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", true, FETCH_TIMED_OUT, 0, -1 },
		{ "", true, FETCH_IMPOSSIBLE, 0, -1 }, /* no HTTP */
		{ "", false, FETCH_FAULT, 0, -1 },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nabc", false, FETCH_FAULT,
		  0, -1 },
	};
	_cleanup_(fetcher_cleanup) struct fetcher *fetcher = fetcher_new();
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct fetch_answer answer;
		struct fetch_request request = request_to(server.url);
		if (cases[i].outcome == FETCH_TIMED_OUT)
			request.timeout_ms = 300;
		if (cases[i].outcome == FETCH_TOO_LARGE)
			request.max_bytes = 3;
		atomic_store(&server.answer, cases[i].answer);
		atomic_store(&server.drips, cases[i].drips);
		bool answered = fetch(fetcher, &request, &answer);
		atomic_store(&server.drips, false);
		if (answer.outcome != cases[i].outcome || answer.status != cases[i].status ||
		    answer.retry_after_ms != cases[i].retry_after_ms)
			fail_msg("case %zu: outcome %d, status %ld, %s", i, (int)answer.outcome,
				 answer.status, answer.fault);
		assert_int_equal(answered, cases[i].outcome == FETCH_ANSWERED);
		assert_int_equal(!*answer.fault, answered);
		fetch_answer_free(&answer);
	}
}

static void what_cannot_be_reached(void **state)
{
	static const struct {
		const char *url, *said;
		enum fetch_outcome outcome;
	} cases[] = {
		{ "http://127.0.0.1:1/", "Failed to connect to 127.0.0.1 port 1", FETCH_FAULT },
		{ "ftp://127.0.0.1/", "Protocol", FETCH_IMPOSSIBLE },
		{ "http://", "URL using bad/illegal format", FETCH_IMPOSSIBLE },
		{ "https://127.0.0.1:1/", "/no/such/file", FETCH_IMPOSSIBLE }, /* see below */
	};
	_cleanup_(fetcher_cleanup) struct fetcher *fetcher = fetcher_new();
	char secure[80];
	(void)state;
	atomic_store(&server.answer, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
	snprintf(secure, sizeof secure, "https%s", server.url + 4);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct fetch_answer answer;
		struct fetch_request request = request_to(cases[i].url);
		if (strcmp(cases[i].said, "/no/such/file") == 0) {
			request.url = secure;
			request.tls.ca_file = "/no/such/file";
		}
		assert_false(fetch(fetcher, &request, &answer));
		if (answer.outcome != cases[i].outcome || !strstr(answer.fault, cases[i].said))
			fail_msg("case %zu: outcome %d, %s", i, (int)answer.outcome, answer.fault);
		fetch_answer_free(&answer);
	}
}

static void *interrupt_soon(void *fetcher)
{
	usleep(200000);
	fetcher_interrupt(fetcher);
	return NULL;
}

static void an_interruption(void **state)
{
	_cleanup_(fetcher_cleanup) struct fetcher *fetcher = fetcher_new();
	struct fetch_request request = request_to(server.url);
	struct fetch_answer answer;
	pthread_t thread;
	(void)state;
	atomic_store(&server.answer, "HTTP/1.1 200 OK\r\n\r\n");
	atomic_store(&server.drips, true);
	int64_t from_us = clock_monotonic_us();
	assert_int_equal(pthread_create(&thread, NULL, interrupt_soon, fetcher), 0);
	assert_false(fetch(fetcher, &request, &answer));
	assert_int_equal(answer.outcome, FETCH_INTERRUPTED);
	assert_true(clock_monotonic_us() - from_us < PATIENCE_MS * 1000 / 2);
	atomic_store(&server.drips, false);
	pthread_join(thread, NULL);
	assert_false(fetch(fetcher, &request, &answer)); /* for good */
	assert_int_equal(answer.outcome, FETCH_INTERRUPTED);
}

static void encoded(void **state)
{
	_cleanup_(buf_free) struct buf out = BUF_INIT;
	(void)state;
	fetch_append_encoded(&out, (str_t){ "aZ9-._~ +&=%\xc3\xa4\0:", 16 });
	assert_string_equal(out.data, "aZ9-._~%20%2B%26%3D%25%C3%A4%00%3A");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_sent),
		cmocka_unit_test(what_comes_back),
		cmocka_unit_test(what_cannot_be_reached),
		cmocka_unit_test(an_interruption),
		cmocka_unit_test(encoded),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
