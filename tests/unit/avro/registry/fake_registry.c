#include "fake_registry.h"

#include "../support.h"

#include "avro/codec.h"
#include "common/clock.h"
#include "common/pool.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <poll.h>
#include <sys/socket.h>

enum { ROUND_MS = 5, DRIP_US = 100000, NESTED = 3000 };

struct fake_connection {
	int fd; /* -1: none */
	char request[4096];
	size_t len;
	int fault; /* -1: not asked yet */
	int64_t next_us;
};

static void append_answer(struct buf *out, const char *status, const char *headers, const char *type,
			  str_t body)
{
	buf_printf(out,
		   "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n%s\r\n",
		   status, type, body.len, headers);
	buf_append_str(out, body);
}

static void append_schema(struct buf *out, str_t schema)
{
	json_t *json = json_pack("{s:s%}", "schema", schema.ptr, schema.len);
	char *body = json_dumps(json, JSON_COMPACT);
	append_answer(out, "200 OK", "", "application/vnd.schemaregistry.v1+json", str_from(body));
	free(body);
	json_decref(json);
}

static void append_nested(struct buf *out, const char *open, const char *inner, const char *close)
{
	for (int i = 0; i < NESTED; i++)
		buf_append_text(out, open);
	buf_append_text(out, inner);
	for (int i = 0; i < NESTED; i++)
		buf_append_text(out, close);
}

/* That of events, with a note of so many bytes. */
static void append_long(struct buf *out, size_t bytes)
{
	str_t schema = builtin_schema(RECORD_QUERY);
	buf_append_text(out, "{\"note\": \"");
	for (size_t i = 0; i < bytes; i++)
		buf_append_char(out, 'x');
	buf_append_text(out, "\",");
	buf_append(out, schema.ptr + 1, schema.len - 1);
}

#define JSON_TYPE "application/json"

static void append_fault(struct buf *out, int fault)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	switch (fault) {
	case FAKE_BUSY:
		append_answer(out, "503 Service Unavailable", "", JSON_TYPE, STR("{}"));
		break;
	case FAKE_LIMITED:
		append_answer(out, "429 Too Many Requests", "Retry-After: 1\r\n", JSON_TYPE, STR("{}"));
		break;
	case FAKE_UNKNOWN:
		append_answer(out, "404 Not Found", "", JSON_TYPE,
			      STR("{\"error_code\": 40403, \"message\": \"Schema not found\"}"));
		break;
	case FAKE_PAGE:
		append_answer(out, "404 Not Found", "", "text/html; charset=utf-8", STR("<html>"));
		break;
	case FAKE_GZIP:
		append_answer(out, "200 OK", "Content-Encoding: gzip\r\n", JSON_TYPE,
			      STR("\x1f\x8b\x08\x01\x02"));
		break;
	case FAKE_NESTED:
		append_nested(&text, "{\"type\":\"array\",\"items\":", "\"int\"", "}");
		append_schema(out, buf_str(&text));
		break;
	case FAKE_BRACKETS:
		append_nested(&text, "[", "", "]");
		append_answer(out, "200 OK", "", JSON_TYPE, buf_str(&text));
		break;
	case FAKE_FOREIGN:
		append_schema(out, STR("{\"type\":\"record\",\"name\":\"Order\",\"fields\":[]}"));
		break;
	case FAKE_FLOOD:
		buf_append_text(out, "HTTP/1.1 200 OK\r\nContent-Length: 2000001\r\n\r\n");
		memset(buf_reserve(out, 2000000), ' ', 2000000);
		out->len += 2000000;
		break;
	case FAKE_REFERS:
		buf_append_text(&text,
				"{\"references\": [{\"subject\": \"s\", \"version\": 1}], \"schema\": \"");
		memset(buf_reserve(&text, 300000), 'x', 300000);
		text.len += 300000;
		buf_append_text(&text, "\"}");
		append_answer(out, "200 OK", "", JSON_TYPE, buf_str(&text));
		break;
	case FAKE_LONG:
		append_long(&text, 100000);
		append_schema(out, buf_str(&text));
		break;
	default:
		append_schema(out, builtin_schema(RECORD_QUERY));
	}
}

static void hang_up(struct fake_connection *connection)
{
	close(connection->fd);
	connection->fd = -1;
}

/* Whoever does not read all has gone. */
static void say(struct fake_connection *connection, str_t text)
{
	while (text.len > 0) {
		ssize_t sent = send(connection->fd, text.ptr, text.len, MSG_NOSIGNAL);
		if (sent <= 0) {
			hang_up(connection);
			return;
		}
		text = (str_t){ text.ptr + sent, text.len - (size_t)sent };
	}
}

static void answer(struct fake_connection *connection)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	if (connection->fault == FAKE_SLOW) {
		say(connection, STR("x"));
		connection->next_us = clock_monotonic_us() + DRIP_US;
		return;
	}
	append_fault(&text, connection->fault);
	say(connection, buf_str(&text));
	connection->next_us = INT64_MAX;
	if (connection->fd >= 0 && connection->fault != FAKE_FLOOD)
		hang_up(connection);
}

static void take_request(struct fake_registry *fake, struct fake_connection *connection)
{
	const char *path = strstr(connection->request, "/schemas/ids/");
	unsigned long id = path ? strtoul(path + strlen("/schemas/ids/"), NULL, 10) : 0;
	int fault = id / FAKE_OF_EACH < FAKE_FAULTS ? (int)(id / FAKE_OF_EACH) : FAKE_UNKNOWN;
	int all = strstr(connection->request, "/subjects/") ? FAKE_SILENT : atomic_load(&fake->all);
	int64_t now_us = clock_monotonic_us();
	atomic_fetch_add(&fake->asked, 1);
	atomic_fetch_add(&fake->asked_of[fault], 1);
	atomic_store(&fake->last_us[fault], now_us);
	connection->fault = all != FAKE_HONEST ? all : fault;
	connection->next_us = connection->fault == FAKE_SILENT ? INT64_MAX : now_us + INT64_C(1000) * FAKE_MS;
	if (connection->fault == FAKE_SLOW)
		say(connection, STR("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"));
}

static void listen_to(struct fake_registry *fake, struct fake_connection *connection)
{
	ssize_t got = read(connection->fd, connection->request + connection->len,
			   sizeof connection->request - 1 - connection->len);
	if (got <= 0) {
		hang_up(connection);
		return;
	}
	connection->len += (size_t)got;
	connection->request[connection->len] = '\0';
	if (connection->fault < 0 && strstr(connection->request, "\r\n\r\n"))
		take_request(fake, connection);
}

static void greet(struct fake_registry *fake)
{
	int fd = accept(fake->fd, NULL, NULL);
	for (size_t i = 0; fd >= 0 && i < FAKE_CONNECTIONS_MAX; i++)
		if (fake->connections[i].fd < 0) {
			fake->connections[i] = (struct fake_connection){ .fd = fd, .fault = -1 };
			return;
		}
	if (fd >= 0)
		close(fd);
}

static void serve(void *context, unsigned index)
{
	struct fake_registry *fake = context;
	struct pollfd fds[FAKE_CONNECTIONS_MAX + 1];
	(void)index;
	while (!atomic_load(&fake->ending)) {
		for (size_t i = 0; i < FAKE_CONNECTIONS_MAX; i++)
			fds[i] = (struct pollfd){ .fd = fake->connections[i].fd, .events = POLLIN };
		fds[FAKE_CONNECTIONS_MAX] = (struct pollfd){ .fd = fake->fd, .events = POLLIN };
		poll(fds, COUNT_OF(fds), ROUND_MS);
		int64_t now_us = clock_monotonic_us();
		for (size_t i = 0; i < FAKE_CONNECTIONS_MAX; i++) {
			struct fake_connection *connection = &fake->connections[i];
			if (connection->fd >= 0 && fds[i].revents)
				listen_to(fake, connection);
			if (connection->fd >= 0 && connection->fault >= 0 && connection->next_us <= now_us)
				answer(connection);
		}
		if (fds[FAKE_CONNECTIONS_MAX].revents)
			greet(fake);
	}
}

void fake_registry_start(struct fake_registry *fake)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof address;
	memset(fake, 0, sizeof *fake);
	fake->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fake->fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(getsockname(fake->fd, (struct sockaddr *)&address, &size), 0);
	assert_int_equal(listen(fake->fd, 256), 0);
	snprintf(fake->url, sizeof fake->url, "http://127.0.0.1:%d", ntohs(address.sin_port));
	fake->connections = calloc(FAKE_CONNECTIONS_MAX, sizeof *fake->connections);
	assert_non_null(fake->connections);
	for (size_t i = 0; i < FAKE_CONNECTIONS_MAX; i++)
		fake->connections[i].fd = -1;
	fake->thread = pool_start("fake", 1, serve, fake);
}

void fake_registry_stop(struct fake_registry *fake)
{
	atomic_store(&fake->ending, true);
	pool_join(fake->thread);
	for (size_t i = 0; i < FAKE_CONNECTIONS_MAX; i++)
		if (fake->connections[i].fd >= 0)
			close(fake->connections[i].fd);
	close(fake->fd);
	free(fake->connections);
}
