/* Threads that wait for the same names, that come again, and the registry's own, with a server of ours that
 * knows every second name. */
#include "avro/registry/registry.h"

#include "../support.h"

#include "common/clock.h"
#include "common/pool.h"

#include <jansson.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <sys/socket.h>

enum {
	ASKERS = 4,
	NAMES = 20,
	SILENT = 1000, /* from there on nobody is answered */
	ODD = 999,     /* is answered as by no registry */
	LARGE = 998,   /* is answered with more than fits */
	FAILS = 997    /* is answered by HTTP 500 */
};

static struct server {
	int fd, held[8];
	atomic_size_t held_count;
	struct pool *thread;
	char url[64];
} server;

static struct registry *registry;
static struct registry_wait waits[ASKERS][NAMES];
static atomic_size_t over, wrong;
static atomic_bool away;   /* whoever asks is answered by HTTP 500 */
static atomic_bool pauses; /* before it answers the next one */

static struct schema_name name_of(size_t number)
{
	return (struct schema_name){ .id = 1 + (uint32_t)number };
}

static void answer_oddly(int fd, const char *status)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	buf_printf(&text, "HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status);
	if (write(fd, text.data, text.len) < 0)
		atomic_fetch_add(&wrong, 1);
}

/* Its client ends that. */
static void answer_at_length(int fd)
{
	static char much[3 << 20];
	memset(much, ' ', sizeof much);
	memcpy(much, "HTTP/1.1 200 OK\r\n\r\n", 19);
	for (size_t sent = 0; sent < sizeof much;) {
		ssize_t count = send(fd, much + sent, sizeof much - sent, MSG_NOSIGNAL);
		if (count <= 0)
			return;
		sent += (size_t)count;
	}
}

static void answer(int fd, bool known)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	str_t schema = builtin_schema(RECORD_QUERY);
	json_t *body = known ? json_pack("{s:s%}", "schema", schema.ptr, schema.len)
			     : json_pack("{s:i,s:s}", "error_code", 40403, "message", "Schema not found");
	char *json = json_dumps(body, JSON_COMPACT);
	buf_printf(&text, "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s",
		   known ? "200 OK" : "404 Not Found", strlen(json), json);
	if (write(fd, text.data, text.len) < 0)
		atomic_fetch_add(&wrong, 1);
	free(json);
	json_decref(body);
}

static void serve(void *context, unsigned index)
{
	(void)context, (void)index;
	for (int fd; (fd = accept(server.fd, NULL, NULL)) >= 0;) {
		char request[4096];
		size_t len = 0;
		ssize_t got;
		do {
			got = read(fd, request + len, sizeof request - 1 - len);
			len += got > 0 ? (size_t)got : 0;
			request[len] = '\0';
		} while (got > 0 && !strstr(request, "\r\n\r\n"));
		while (atomic_load(&pauses))
			usleep(1000);
		const char *path = strstr(request, "/schemas/ids/");
		unsigned long id = path ? strtoul(path + strlen("/schemas/ids/"), NULL, 10) : 0;
		if (id > SILENT && id != INT32_MAX && server.held_count < COUNT_OF(server.held)) {
			server.held[atomic_fetch_add(&server.held_count, 1)] = fd;
			continue;
		}
		if (atomic_load(&away) || id == FAILS)
			answer_oddly(fd, "500 Internal Server Error");
		else if (id == ODD)
			answer_oddly(fd, "404 Not Found");
		else if (id == LARGE)
			answer_at_length(fd);
		else
			answer(fd, id % 2 && id != INT32_MAX);
		close(fd);
	}
}

static void done(struct registry_wait *wait)
{
	err_t expected = wait->name.id > SILENT ? ERR_SHUTTING_DOWN
			 : wait->name.id % 2	? ERR_OK
						: ERR_SCHEMA_UNKNOWN;
	atomic_fetch_add(&wrong, wait->err != expected);
	atomic_fetch_add(&over, 1);
}

static void ask(void *context, unsigned index)
{
	struct err_detail detail;
	(void)context;
	for (size_t i = 0; i < NAMES; i++) {
		struct registry_wait *wait = &waits[index][i];
		*wait = (struct registry_wait){ .name = name_of(i), .bytes = 10, .done = done };
		if (registry_await(registry, wait) != REGISTRY_WAITS)
			done(wait);
	}
	const struct schema_name known = name_of(0);
	atomic_fetch_add(&wrong, registry_resolve(registry, &known, 60000, &detail) != ERR_OK);
}

static void test_threads(void **state)
{
	_cleanup_(codec_cleanup) struct codec *codec = NULL;
	struct registry_statistics statistics;
	const char *const urls[] = { server.url };
	const struct registry_settings settings = { .urls = urls,
						    .urls_count = 1,
						    .timeout_ms = 60000,
						    .wait_ms = 60000,
						    .max_waiting_events = 1000,
						    .max_waiting_bytes = 100000,
						    .max_schemas = NAMES };
	(void)state;
	assert_int_equal(codec_new(&(const struct codec_options){ .max_named = NAMES }, &codec, NULL),
			 ERR_OK);
	registry = registry_start(&settings, codec);
	struct pool *askers = pool_start("ask", ASKERS, ask, NULL);
	while (atomic_load(&over) < ASKERS * NAMES) {
		_cleanup_(buf_free) struct buf text = BUF_INIT;
		registry_statistics(registry, &statistics);
		registry_describe(registry, &text);
		usleep(1000);
	}
	pool_join(askers);
	registry_statistics(registry, &statistics);
	assert_int_equal(statistics.schemas, NAMES / 2);
	assert_int_equal(statistics.unknown, NAMES / 2);
	assert_int_equal(statistics.waiting, 0);
	assert_true(statistics.since_ms > 0 && !statistics.down);
	struct registry_wait last = { .name = name_of(SILENT), .done = done };
	assert_int_equal(registry_await(registry, &last), REGISTRY_WAITS);
	while (atomic_load(&server.held_count) == 0)
		usleep(1000);
	assert_int_equal(registry_give_up(registry), 1);
	registry_stop(registry);
	assert_int_equal(atomic_load(&wrong), 0);
}

static int64_t resolve_ms(uint32_t id, err_t expected)
{
	const struct schema_name name = { .id = id };
	struct err_detail detail = { "" };
	int64_t began_us = clock_monotonic_us();
	assert_int_equal(registry_resolve(registry, &name, 60000, &detail), expected);
	return (clock_monotonic_us() - began_us) / 1000;
}

/* Whoever comes again is not held up by what is known to fail, and need not be there for the name to be asked
 * for. The server begins to listen here. */
static void test_who_comes_again(void **state)
{
	_cleanup_(codec_cleanup) struct codec *codec = NULL;
	struct registry_statistics statistics = { 0 };
	const struct schema_name name = { .id = 1 };
	const char *const urls[] = { server.url };
	const struct registry_settings settings = {
		.urls = urls, .urls_count = 1, .timeout_ms = 60000, .wait_ms = 1000, .max_schemas = NAMES
	};
	(void)state;
	assert_int_equal(codec_new(&(const struct codec_options){ .max_named = NAMES }, &codec, NULL),
			 ERR_OK);
	registry = registry_start(&settings, codec);
	assert_true(resolve_ms(1, ERR_SCHEMA_UNAVAILABLE) < 30000);
	registry_statistics(registry, &statistics);
	assert_true(statistics.down);
	assert_true(resolve_ms(1, ERR_SCHEMA_UNAVAILABLE) < 5000);
	assert_int_equal(statistics.waiting, 0);
	assert_int_equal(listen(server.fd, 64), 0);
	server.thread = pool_start("server", 1, serve, NULL);
	for (int i = 0; i < 2000 && !codec_knows_named(codec, &name); i++)
		usleep(10000);
	resolve_ms(1, ERR_OK);
	/* what it does not have it is asked for twice; what it answers otherwise counts as long as events
	 * wait */
	resolve_ms(2, ERR_SCHEMA_UNAVAILABLE);
	for (int i = 0; i < 2000 && statistics.unknown == 0; i++) {
		usleep(10000);
		registry_statistics(registry, &statistics);
	}
	resolve_ms(2, ERR_SCHEMA_UNKNOWN);
	resolve_ms(ODD, ERR_SCHEMA_UNAVAILABLE);
	usleep(1100000);
	resolve_ms(ODD, ERR_SCHEMA_UNKNOWN);
	registry_stop(registry);
	assert_int_equal(atomic_load(&wrong), 0);
}

/* For `ms`, or until it is given up. */
static err_t resolve_again(uint32_t id, int ms, struct err_detail *detail)
{
	const struct schema_name name = { .id = id };
	err_t err = ERR_SCHEMA_UNAVAILABLE;
	for (int64_t until_us = clock_monotonic_us() + ms * INT64_C(1000);
	     err == ERR_SCHEMA_UNAVAILABLE && clock_monotonic_us() < until_us; usleep(50000))
		err = registry_resolve(registry, &name, 60000, detail);
	return err;
}

/* Whoever comes again is not held up for good by one name, but for as long as nobody is answered. */
static void test_who_comes_again_in_vain(void **state)
{
	_cleanup_(codec_cleanup) struct codec *codec = NULL;
	struct err_detail detail = { "" };
	const char *const urls[] = { server.url };
	const struct registry_settings settings = {
		.urls = urls, .urls_count = 1, .timeout_ms = 60000, .wait_ms = 1000, .max_schemas = 1
	};
	(void)state;
	assert_int_equal(codec_new(&(const struct codec_options){ .max_named = 1 }, &codec, NULL), ERR_OK);
	registry = registry_start(&settings, codec);
	atomic_store(&away, true);
	assert_int_equal(resolve_again(FAILS, 2500, &detail), ERR_SCHEMA_UNAVAILABLE);
	atomic_store(&away, false);
	assert_int_equal(resolve_again(FAILS, 60000, &detail), ERR_SCHEMA_UNKNOWN);
	assert_non_null(strstr(detail.message, "registry.wait_ms"));
	assert_non_null(strstr(detail.message, "HTTP 500"));
	assert_int_equal(resolve_again(LARGE, 60000, &detail), ERR_SCHEMA_UNKNOWN);
	assert_non_null(strstr(detail.message, "2097152 bytes"));
	assert_int_equal(resolve_again(1, 60000, &detail), ERR_OK);
	resolve_ms(3, ERR_SCHEMA_UNAVAILABLE);
	assert_int_equal(resolve_again(3, 60000, &detail), ERR_SCHEMA_UNKNOWN);
	assert_non_null(strstr(detail.message, "registry.max_schemas"));
	assert_null(strstr(detail.message, "redrive"));
	registry_stop(registry);
	assert_int_equal(atomic_load(&wrong), 0);
}

static atomic_size_t gone;
static struct registry_wait *last_to_stay;

static void leave(struct registry_wait *wait)
{
	bool early = wait <= last_to_stay;
	atomic_fetch_add(&wrong, wait->err != (early ? ERR_SHUTTING_DOWN : ERR_SCHEMA_UNAVAILABLE));
	atomic_fetch_add(&gone, 1);
}

/* Five wait for that name where two may: the three that came last go once it has failed for the first time,
 * whether it was answered otherwise or in no time; and from then on one more is refused at once. */
static void exceed(uint32_t id, bool per_partition)
{
	_cleanup_(codec_cleanup) struct codec *codec = NULL;
	enum { STAY = REGISTRY_WAITING_PER_PARTITION, GO = 3 };
	static struct registry_wait crowd[STAY + GO + 1];
	const size_t stay = per_partition ? STAY : 2;
	const char *const urls[] = { server.url };
	const struct registry_settings settings = { .urls = urls,
						    .urls_count = 1,
						    .timeout_ms = 500,
						    .wait_ms = 60000,
						    .max_waiting_events = per_partition ? 2 * STAY : 2,
						    .max_waiting_bytes = 1 << 20,
						    .max_schemas = NAMES };
	assert_int_equal(codec_new(&(const struct codec_options){ .max_named = NAMES }, &codec, NULL),
			 ERR_OK);
	atomic_store(&gone, 0);
	atomic_store(&pauses, true);
	last_to_stay = &crowd[stay - 1];
	registry = registry_start(&settings, codec);
	for (size_t i = 0; i <= stay + GO; i++)
		crowd[i] = (struct registry_wait){
			.name = { .id = id }, .bytes = 10, .partition = 3, .done = leave
		};
	for (size_t i = 0; i < stay + GO; i++)
		assert_int_equal(registry_await(registry, &crowd[i]), REGISTRY_WAITS);
	atomic_store(&pauses, false);
	while (atomic_load(&gone) < GO)
		usleep(1000);
	assert_int_equal(registry_await(registry, &crowd[stay + GO]), REGISTRY_REFUSES);
	assert_int_equal(crowd[stay + GO].err, ERR_SCHEMA_UNAVAILABLE);
	assert_non_null(
		strstr(crowd[stay].detail.message, per_partition ? "completion map" : "max_waiting_events"));
	assert_int_equal(registry_give_up(registry), stay);
	registry_stop(registry);
	assert_int_equal(atomic_load(&gone), stay + GO);
	assert_int_equal(atomic_load(&wrong), 0);
}

static void test_limits_of_waiting(void **state)
{
	(void)state;
	exceed(FAILS, false);
	exceed(FAILS, true);
	exceed(SILENT + 2, false);
}

/* Another name's failure costs none of those that wait for a first answer. */
static void test_limits_are_of_what_fails(void **state)
{
	_cleanup_(codec_cleanup) struct codec *codec = NULL;
	enum { STAY = 5 };
	static struct registry_wait crowd[STAY + 1];
	const char *const urls[] = { server.url };
	const struct registry_settings settings = { .urls = urls,
						    .urls_count = 1,
						    .timeout_ms = 60000,
						    .wait_ms = 60000,
						    .max_waiting_events = 2,
						    .max_waiting_bytes = 1 << 20,
						    .max_schemas = NAMES };
	(void)state;
	assert_int_equal(codec_new(&(const struct codec_options){ .max_named = NAMES }, &codec, NULL),
			 ERR_OK);
	atomic_store(&gone, 0);
	last_to_stay = &crowd[STAY - 1];
	registry = registry_start(&settings, codec);
	for (size_t i = 0; i <= STAY; i++) {
		crowd[i] = (struct registry_wait){ .name = { .id = i < STAY ? SILENT + 3 : FAILS },
						   .bytes = 10,
						   .done = leave };
		assert_int_equal(registry_await(registry, &crowd[i]), REGISTRY_WAITS);
	}
	while (atomic_load(&gone) == 0)
		usleep(1000);
	assert_int_equal(registry_give_up(registry), STAY);
	registry_stop(registry);
	assert_int_equal(atomic_load(&gone), STAY + 1);
	assert_int_equal(atomic_load(&wrong), 0);
}

static int start(void **state)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof address;
	(void)state;
	server.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(server.fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(getsockname(server.fd, (struct sockaddr *)&address, &size), 0);
	snprintf(server.url, sizeof server.url, "http://127.0.0.1:%d", ntohs(address.sin_port));
	return 0;
}

static int stop(void **state)
{
	(void)state;
	shutdown(server.fd, SHUT_RDWR);
	close(server.fd);
	pool_join(server.thread);
	for (size_t i = 0; i < server.held_count; i++)
		close(server.held[i]);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_comes_again),
		cmocka_unit_test(test_who_comes_again_in_vain),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_limits_of_waiting),
		cmocka_unit_test(test_limits_are_of_what_fails),
	};
	return cmocka_run_group_tests(tests, start, stop);
}
