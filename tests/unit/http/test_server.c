/* The server as clients meet it that mean well, and ones that do not. */
#include "http/server.h"

#include "common/clock.h"
#include "common/pool.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/socket.h>

#include <cmocka.h>

enum { SHORT_MS = 300, PATIENCE_MS = 60000 };

static unsigned answer_hello(struct http_page *page, void *context)
{
	buf_printf(&page->body, "hello %s\n", (const char *)context);
	return 200;
}

static unsigned answer_unready(struct http_page *page, void *context)
{
	(void)context;
	buf_append_text(&page->body, "not yet\n");
	return 503;
}

/* More than the buffers of a socket hold. */
static unsigned answer_long(struct http_page *page, void *context)
{
	(void)context;
	memset(buf_reserve(&page->body, 32 << 20), 'x', 32 << 20);
	page->body.len += 32 << 20;
	return 200;
}

/* Likewise, where the client's are small. */
static unsigned answer_page(struct http_page *page, void *context)
{
	(void)context;
	memset(buf_reserve(&page->body, 6 << 20), 'x', 6 << 20);
	page->body.len += 6 << 20;
	return 200;
}

/* What the client takes. */
static unsigned answer_accept(struct http_page *page, void *context)
{
	(void)context;
	page->content_type = "text/x-accept";
	buf_printf(&page->body, "<%s>", page->accept);
	return 200;
}

static const struct http_route routes[] = {
	{ "/hello", answer_hello }, { "/unready", answer_unready }, { "/long", answer_long },
	{ "/page", answer_page },   { "/accept", answer_accept },   { NULL, NULL },
};

static struct http_server *start(int64_t connection_ms)
{
	static char name[] = "world";
	const struct http_options options = {
		.address = "127.0.0.1:0", .routes = routes, .context = name, .connection_ms = connection_ms
	};
	struct http_server *server;
	assert_int_equal(http_start(&options, &server, NULL), ERR_OK);
	return server;
}

/* From 127.1.0.0 and so many; 0: from where the system likes. */
static int connect_with(const struct http_server *server, int buffer_bytes, uint32_t from)
{
	struct sockaddr_in address = { .sin_family = AF_INET }, own = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (buffer_bytes)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof buffer_bytes);
	own.sin_addr.s_addr = htonl(0x7f010000 + from);
	if (from)
		assert_int_equal(bind(fd, (struct sockaddr *)&own, sizeof own), 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	address.sin_port = htons((uint16_t)strtol(strrchr(http_address(server), ':') + 1, NULL, 10));
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	return fd;
}

static int connect_to(const struct http_server *server)
{
	return connect_with(server, 0, 0);
}

static void send_text(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t sent = send(fd, text, len, MSG_NOSIGNAL);
		if (sent <= 0)
			return; /* the server has had enough: what it answers is what counts */
		text += sent;
		len -= (size_t)sent;
	}
}

/* Reads until the server closes; false when it does not. */
static bool read_all(int fd, struct buf *reply)
{
	for (;;) {
		struct pollfd readable = { .fd = fd, .events = POLLIN };
		if (poll(&readable, 1, PATIENCE_MS) <= 0)
			return false;
		char *to = buf_reserve(reply, 65536);
		ssize_t got = recv(fd, to, 65536, 0);
		if (got <= 0)
			return true;
		reply->len += (size_t)got;
		reply->data[reply->len] = '\0';
	}
}

static void ask(const struct http_server *server, const char *request, struct buf *reply)
{
	int fd = connect_to(server);
	send_text(fd, request, strlen(request));
	assert_true(read_all(fd, reply));
	close(fd);
}

static void pages_are_given_to_who_may_have_them(void **state)
{
	static const struct {
		const char *request, *status, *end;
	} cases[] = {
		{ "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n", "200", "\r\n\r\nhello world\n" },
		{ "GET /hello?x=1 HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n", "200", "\r\n\r\nhello world\n" },
		{ "GET /hello HTTP/1.0\r\n\r\n", "200", "\r\n\r\nhello world\n" },
		{ "HEAD /hello HTTP/1.1\r\nHost: localhost\r\n\r\n", "200", "\r\n\r\n" },
		{ "GET /unready HTTP/1.1\r\nHost: localhost\r\n\r\n", "503", "\r\n\r\nnot yet\n" },
		{ "GET /accept HTTP/1.1\r\nHost: localhost\r\n\r\n", "200", "\r\n\r\n<>" },
		{ "GET /accept HTTP/1.1\r\nHost: localhost\r\nAccept: a/b;q=0.1\r\nX: y\r\naccept: "
		  "*/*\r\n\r\n",
		  "200", "\r\n\r\n<a/b;q=0.1,*/*>" },
		{ "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "404", "no such page\n" },
		{ "GET /hello/ HTTP/1.1\r\nHost: localhost\r\n\r\n", "404", "no such page\n" },
		{ "GET /hello HTTP/1.1\r\nHost: example.com\r\n\r\n", "403", "another host\n" },
		{ "POST /hello HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc", "405",
		  "only GET and HEAD\n" },
		{ "DELETE /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", "405", "only GET and HEAD\n" },
		{ "TRACE / HTTP/1.1\r\nHost: localhost\r\n\r\n", "405", "only GET and HEAD\n" },
	};
	struct http_server *server = start(0);
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		_cleanup_(buf_free) struct buf reply = BUF_INIT;
		ask(server, cases[i].request, &reply);
		size_t len = strlen(cases[i].end);
		if (reply.len < 12 + len || memcmp(reply.data, "HTTP/1.", 7) != 0 ||
		    memcmp(reply.data + 9, cases[i].status, 3) != 0 ||
		    memcmp(reply.data + reply.len - len, cases[i].end, len) != 0)
			fail_msg("%s\nwas answered by\n%s", cases[i].request, buf_str(&reply).ptr);
		assert_non_null(strstr(reply.data, "Connection: close\r\n"));
	}
	http_stop(server);
}

static void rubbish_is_turned_away(void **state)
{
	static const char *const requests[] = {
		"\r\n\r\n\r\n", "hello\r\n\r\n",
		"GET\r\n\r\n",	"GET /hello HTTP/1.1\r\n:\r\n \r\n\r\n",
		"\x16\x03\x01", "GET /%00%zz HTTP/1.1\r\nHost: localhost\r\n\r\n"
	};
	struct http_server *server = start(SHORT_MS);
	(void)state;
	for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
		_cleanup_(buf_free) struct buf reply = BUF_INIT;
		ask(server, requests[i], &reply);
		assert_null(strstr(buf_str(&reply).ptr, "hello world"));
	}
	http_stop(server);
}

static void a_head_that_is_too_long_is_refused(void **state)
{
	struct http_server *server = start(0);
	_cleanup_(buf_free) struct buf request = BUF_INIT, reply = BUF_INIT;
	(void)state;
	buf_append_text(&request, "GET /hello HTTP/1.1\r\nHost: localhost\r\nX: ");
	for (size_t i = 0; i < 4 * HTTP_HEAD_BYTES; i++)
		buf_append_char(&request, 'a');
	buf_append_text(&request, "\r\n\r\n");
	ask(server, request.data, &reply);
	if (reply.len) /* the rest that was not read may cost the client the answer */
		assert_memory_equal(reply.data, "HTTP/1.1 4", 10);
	assert_null(strstr(buf_str(&reply).ptr, "hello world"));
	http_stop(server);
}

/* Whatever the library's own timeout thinks of them. */
static void clients_that_drip_are_cut_off(void **state)
{
	struct http_server *server = start(SHORT_MS);
	int fd = connect_to(server);
	int64_t until_us = clock_monotonic_us() + (int64_t)PATIENCE_MS * 1000;
	bool closed = false;
	(void)state;
	send_text(fd, "GET /hello HTTP/1.1\r\nX: ", 24);
	while (!closed && clock_monotonic_us() < until_us) {
		struct pollfd readable = { .fd = fd, .events = POLLIN };
		char byte;
		send_text(fd, "a", 1);
		closed = poll(&readable, 1, 20) > 0 && recv(fd, &byte, 1, 0) <= 0;
	}
	assert_true(closed);
	close(fd);
	http_stop(server);
}

static void clients_that_do_not_read_are_cut_off(void **state)
{
	static const char request[] = "GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct http_server *server = start(SHORT_MS);
	_cleanup_(buf_free) struct buf reply = BUF_INIT;
	int fd = connect_to(server);
	(void)state;
	send_text(fd, request, strlen(request));
	poll(NULL, 0, 2 * SHORT_MS);
	assert_true(read_all(fd, &reply));
	assert_true(reply.len < (32 << 20));
	close(fd);
	http_stop(server);
}

enum { CROWD = 500 };

/* Clients that hold what they get for as long as they can, and come back. */
struct crowd {
	const struct http_server *server;
	size_t count;
	uint32_t addresses;	 /* that they come from; 0: that of everybody */
	const char *head, *drop; /* sent at once, and by and by; "": nothing */
	int fds[CROWD];
	_Atomic size_t turned_away;
	_Atomic bool over;
	struct pool *pool;
};

static void come(struct crowd *crowd, size_t i)
{
	crowd->fds[i] =
		connect_with(crowd->server, 4096, crowd->addresses ? 1 + (uint32_t)i % crowd->addresses : 0);
	send_text(crowd->fds[i], crowd->head, strlen(crowd->head));
}

static bool is_turned_away(int fd)
{
	struct pollfd ended = { .fd = fd, .events = POLLRDHUP };
	return poll(&ended, 1, 0) > 0;
}

static void crowd_main(void *context, unsigned index)
{
	struct crowd *crowd = context;
	(void)index;
	while (!atomic_load(&crowd->over)) {
		for (size_t i = 0; i < crowd->count; i++) {
			send(crowd->fds[i], crowd->drop, strlen(crowd->drop), MSG_NOSIGNAL | MSG_DONTWAIT);
			if (!is_turned_away(crowd->fds[i]))
				continue;
			crowd->turned_away++;
			close(crowd->fds[i]);
			come(crowd, i);
		}
		poll(NULL, 0, 20);
	}
}

static void crowd_start(struct crowd *crowd)
{
	for (size_t i = 0; i < crowd->count; i++)
		come(crowd, i);
	crowd->pool = pool_start("crowd", 1, crowd_main, crowd);
}

static void crowd_stop(struct crowd *crowd)
{
	atomic_store(&crowd->over, true);
	pool_join(crowd->pool);
	for (size_t i = 0; i < crowd->count; i++)
		close(crowd->fds[i]);
}

/* They could all stay for longer than ctest waits. */
static void those_that_hold_all_places_keep_nobody_out(void **state)
{
	enum { SCRAPES = 50, FOR_EVER_MS = 3600000 };
	static const struct {
		size_t count;
		const char *head, *drop;
		uint32_t addresses;
	} cases[] = {
		{ CROWD, "", "", 0 },					       /* silent */
		{ CROWD, "GET /hello HTTP/1.1\r\nX: ", "a", 0 },	       /* never ready to ask */
		{ CROWD, "GET /hello HTTP/1.1\r\nX: ", "a", CROWD },	       /* from everywhere */
		{ HTTP_CONNECTIONS + 6, "GET /page HTTP/1.0\r\n\r\n", "", 0 }, /* deaf */
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct http_server *server = start(FOR_EVER_MS);
		struct crowd crowd = { .server = server,
				       .count = cases[i].count,
				       .addresses = cases[i].addresses,
				       .head = cases[i].head,
				       .drop = cases[i].drop };
		crowd_start(&crowd);
		size_t wanted = *crowd.drop ? CROWD : 0; /* others do not hear of it, or later */
		for (size_t scrape = 0; scrape < SCRAPES || atomic_load(&crowd.turned_away) < wanted;
		     scrape++) {
			_cleanup_(buf_free) struct buf reply = BUF_INIT;
			ask(server, "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n", &reply);
			assert_non_null(strstr(buf_str(&reply).ptr, "hello world"));
		}
		crowd_stop(&crowd);
		http_stop(server);
	}
}

static void a_stop_waits_for_nobody(void **state)
{
	static const char request[] = "GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct http_server *server = start(3600000); /* which ctest would not wait for */
	int silent = connect_to(server), deaf = connect_to(server);
	char byte;
	(void)state;
	send_text(deaf, request, strlen(request));
	assert_int_equal(recv(deaf, &byte, 1, 0), 1);
	http_stop(server);
	close(silent);
	close(deaf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_are_given_to_who_may_have_them),
		cmocka_unit_test(rubbish_is_turned_away),
		cmocka_unit_test(a_head_that_is_too_long_is_refused),
		cmocka_unit_test(clients_that_drip_are_cut_off),
		cmocka_unit_test(clients_that_do_not_read_are_cut_off),
		cmocka_unit_test(those_that_hold_all_places_keep_nobody_out),
		cmocka_unit_test(a_stop_waits_for_nobody),
	};
	signal(SIGPIPE, SIG_IGN); /* as the daemon does */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
