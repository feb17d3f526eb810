#include "http/server.h"

#include "common/clock.h"
#include "common/list.h"
#include "common/log.h"
#include "common/pool.h"
#include "http/host.h"
#include "http/listen.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

enum {
	ROUND_MS = HTTP_TICK_MS, /* at most */
	MAX_ACCEPTED = 192,	 /* accepted in one round of the library, before others make room */
	ACCEPT_SIZE = 2048,	 /* of all Accept headers; what goes beyond is not read */
};

static const char plain_text[] = "text/plain; charset=utf-8";

struct http_server {
	struct http_options options;
	struct listener listener;
	struct MHD_Daemon *daemon;
	struct list connections; /* the thread's, the oldest first; without those that are over */
	struct list over;	 /* shut down, to be closed by the library */
	uint64_t round;		 /* of the library's runs */
	int64_t next_tick_us;
	int epoll_fd;
	int stop_fd; /* eventfd */
	struct pool *pool;
	struct heartbeat heartbeat;
};

/* One that is open. */
struct connection {
	struct list_node node;
	struct list *list; /* that it is in */
	int fd;
	struct in6_addr from; /* an IPv4 address is mapped */
	int64_t deadline_us;
	uint64_t round; /* in which it was accepted; what it has sent is read in the next one */
	size_t alike;	/* open ones from its address, itself included, while room is made */
	bool asked;	/* its request is there */
};

/* ---- requests ---- */

static enum MHD_Result respond(struct MHD_Connection *connection, unsigned status, const char *content_type,
			       const char *policy, struct buf *body)
{
	size_t len = body->len;
	struct MHD_Response *response =
		MHD_create_response_from_buffer(len, TAKE_PTR(body->data), MHD_RESPMEM_MUST_FREE);
	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, content_type);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (policy) {
		MHD_add_response_header(response, "Content-Security-Policy", policy);
		MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
	}
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	enum MHD_Result result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, const char *reason)
{
	struct buf body = BUF_INIT;
	buf_printf(&body, "%s\n", reason);
	return respond(connection, status, plain_text, NULL, &body);
}

static const struct http_route *find_route(const struct http_server *server, const char *path)
{
	for (const struct http_route *route = server->options.routes; route->path; route++)
		if (strcmp(route->path, path) == 0)
			return route;
	return NULL;
}

static bool is_host_known(const struct http_server *server, struct MHD_Connection *connection)
{
	const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
	return !server->listener.loopback || !host || host_is_local(host);
}

/* A header that comes more than once is one list. */
static enum MHD_Result add_accept(void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct buf *accept = context;
	(void)kind;
	if (strcasecmp(name, MHD_HTTP_HEADER_ACCEPT) != 0 || !value)
		return MHD_YES;
	size_t len = strlen(value);
	if (accept->len + len + 1 > ACCEPT_SIZE)
		return MHD_NO;
	if (accept->len)
		buf_append_char(accept, ',');
	buf_append(accept, value, len);
	return MHD_YES;
}

static enum MHD_Result answer(const struct http_server *server, struct MHD_Connection *connection,
			      const struct http_route *route)
{
	_cleanup_(buf_free) struct buf accept = BUF_INIT;
	MHD_get_connection_values(connection, MHD_HEADER_KIND, add_accept, &accept);
	struct http_page page = { .body = BUF_INIT,
				  .content_type = plain_text,
				  .accept = accept.len ? accept.data : "" };
	buf_reserve(&page.body, 1);
	unsigned status = route->answer(&page, server->options.context);
	return respond(connection, status, page.content_type, page.policy, &page.body);
}

static void note_request(struct MHD_Connection *mhd)
{
	struct connection *connection =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
	connection->asked = true;
}

/* Called when a request's head is there; what may follow of a body is not read. */
static enum MHD_Result handle(void *context, struct MHD_Connection *connection, const char *path,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **state)
{
	const struct http_server *server = context;
	(void)version;
	(void)upload;
	(void)upload_size;
	(void)state;
	note_request(connection);
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD");
	if (!is_host_known(server, connection))
		return refuse(connection, MHD_HTTP_FORBIDDEN, "the Host header names another host");
	const struct http_route *route = find_route(server, path);
	return route ? answer(server, connection, route)
		     : refuse(connection, MHD_HTTP_NOT_FOUND, "no such page");
}

/* ---- connections ---- */

static struct in6_addr address_of(struct MHD_Connection *mhd)
{
	const struct sockaddr *from =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
	struct in6_addr address = IN6ADDR_ANY_INIT;
	if (from && from->sa_family == AF_INET6)
		address = ((const struct sockaddr_in6 *)(const void *)from)->sin6_addr;
	else if (from && from->sa_family == AF_INET)
		memcpy(&address.s6_addr[12], &((const struct sockaddr_in *)(const void *)from)->sin_addr, 4);
	return address;
}

static void move(struct connection *connection, struct list *to)
{
	if (connection->list)
		list_remove(connection->list, &connection->node);
	connection->list = to;
	if (to)
		list_append(to, &connection->node);
}

/* What is shut down the library closes in its next round. */
static void end(struct http_server *server, struct connection *connection)
{
	shutdown(connection->fd, SHUT_RDWR);
	move(connection, &server->over);
}

static bool is_alike(const struct connection *a, const struct connection *b)
{
	return memcmp(&a->from, &b->from, sizeof a->from) == 0;
}

static void count_alike(struct http_server *server)
{
	LIST_FOREACH (node, &server->connections) {
		struct connection *connection = container_of(node, struct connection, node);
		connection->alike = 0;
		LIST_FOREACH (other, &server->connections)
			connection->alike +=
				is_alike(container_of(other, struct connection, node), connection);
	}
}

/* The one that has to make room, or NULL: of the addresses that have the most, the oldest that has not asked,
 * else the oldest. One that has just come is spared: its request may be here already. */
static struct connection *find_least_worthy(const struct http_server *server)
{
	struct connection *found = NULL;
	LIST_FOREACH (node, &server->connections) {
		struct connection *connection = container_of(node, struct connection, node);
		if (connection->round == server->round)
			break;
		if (!found || connection->alike > found->alike ||
		    (connection->alike == found->alike && found->asked && !connection->asked))
			found = connection;
	}
	return found;
}

static void note_connection(void *context, struct MHD_Connection *mhd, void **state,
			    enum MHD_ConnectionNotificationCode code)
{
	struct http_server *server = context;
	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		move(*state, NULL);
		free(*state);
		return;
	}
	struct connection *connection = calloc(1, sizeof *connection);
	if (!connection)
		abort();
	connection->fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	connection->from = address_of(mhd);
	connection->deadline_us = clock_monotonic_us() + server->options.connection_ms * 1000;
	connection->round = server->round;
	move(connection, &server->connections);
	*state = connection;
}

static void make_room(struct http_server *server)
{
	struct connection *connection;
	if (server->connections.count <= HTTP_CONNECTIONS)
		return;
	count_alike(server); /* once: there may be as many addresses as connections */
	while (server->connections.count > HTTP_CONNECTIONS && (connection = find_least_worthy(server))) {
		end(server, connection);
		LIST_FOREACH (node, &server->connections)
			container_of(node, struct connection, node)->alike -=
				is_alike(container_of(node, struct connection, node), connection);
	}
}

/* The library's own timeout begins anew with every byte, so that a client can hold a connection for as long
 * as it likes. */
static void end_overdue(struct http_server *server)
{
	int64_t now_us = clock_monotonic_us();
	LIST_FOREACH_SAFE (node, &server->connections) {
		struct connection *connection = container_of(node, struct connection, node);
		if (connection->deadline_us > now_us)
			return;
		end(server, connection);
	}
}

/* ---- the thread ---- */

/* Until a connection has no more time, or the next tick is due; no longer than `most_ms`. */
static int until_due_ms(const struct http_server *server, int most_ms)
{
	int64_t now_us = clock_monotonic_us(), due_us = now_us + INT64_C(1000) * most_ms;
	if (server->options.tick && server->next_tick_us < due_us)
		due_us = server->next_tick_us;
	if (!list_empty(&server->connections)) {
		const struct connection *oldest =
			container_of(server->connections.head.next, struct connection, node);
		if (oldest->deadline_us < due_us)
			due_us = oldest->deadline_us;
	}
	return due_us > now_us ? (int)((due_us - now_us + 999) / 1000) : 0;
}

static int round_ms(struct http_server *server)
{
	MHD_UNSIGNED_LONG_LONG timeout_ms;
	if (server->connections.count > HTTP_CONNECTIONS)
		return 0;
	if (MHD_get_timeout(server->daemon, &timeout_ms) != MHD_YES || timeout_ms > ROUND_MS)
		timeout_ms = ROUND_MS;
	return until_due_ms(server, (int)timeout_ms);
}

static void tick(struct http_server *server)
{
	int64_t now_us = clock_monotonic_us();
	if (!server->options.tick || now_us < server->next_tick_us)
		return;
	server->next_tick_us = now_us + INT64_C(1000) * HTTP_TICK_MS;
	server->options.tick(server->options.context);
}

static void server_main(void *context, unsigned index)
{
	struct http_server *server = context;
	struct pollfd fds[] = { { .fd = server->stop_fd, .events = POLLIN },
				{ .fd = server->epoll_fd, .events = POLLIN } };
	(void)index;
	for (;;) {
		poll(fds, 2, (int)heartbeat_rest(&server->heartbeat, round_ms(server)));
		if (fds[0].revents)
			break;
		server->round++;
		MHD_run(server->daemon);
		make_room(server);
		end_overdue(server);
		tick(server);
	}
	heartbeat_stop(&server->heartbeat);
}

/* ---- life ---- */

__attribute__((format(printf, 2, 0))) static void log_message(void *context, const char *format,
							      va_list arguments)
{
	char line[256];
	(void)context;
	vsnprintf(line, sizeof line, format, arguments);
	line[strcspn(line, "\n")] = '\0';
	log_debug("HTTP: %s", line);
}

static void server_free(struct http_server *server)
{
	if (server->daemon)
		MHD_stop_daemon(server->daemon); /* closes the listening socket, too */
	else if (server->listener.fd >= 0)
		close(server->listener.fd);
	if (server->stop_fd >= 0)
		close(server->stop_fd);
	free(server);
}

DEFINE_CLEANUP(struct http_server, server_cleanup, server_free)

static err_t start_library(struct http_server *server, struct err_detail *detail)
{
	server->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_USE_ERROR_LOG, 0, NULL, NULL, handle, server, MHD_OPTION_EXTERNAL_LOGGER,
		log_message, NULL, MHD_OPTION_LISTEN_SOCKET, server->listener.fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)(HTTP_CONNECTIONS + MAX_ACCEPTED), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)HTTP_HEAD_BYTES, MHD_OPTION_NOTIFY_CONNECTION, note_connection, server,
		MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	const union MHD_DaemonInfo *info =
		server->daemon ? MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
	if (!info)
		return err_fail(detail, ERR_OS, "the HTTP server cannot be started");
	server->epoll_fd = info->epoll_fd;
	return ERR_OK;
}

err_t http_start(const struct http_options *options, struct http_server **ret_server,
		 struct err_detail *detail)
{
	_cleanup_(server_cleanup) struct http_server *server = calloc(1, sizeof *server);
	if (!server)
		abort();
	*server = (struct http_server){ .options = *options, .listener = { .fd = -1 } };
	if (!server->options.connection_ms)
		server->options.connection_ms = HTTP_CONNECTION_MS;
	list_init(&server->connections);
	list_init(&server->over);
	server->heartbeat.name = "HTTP";
	server->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (server->stop_fd < 0)
		return err_fail(detail, ERR_OS, "the HTTP server cannot be started: %s", strerror(errno));
	err_t err = listen_open(options->address, &server->listener, detail);
	if (!err)
		err = start_library(server, detail);
	if (err)
		return err;
	heartbeat_beat(&server->heartbeat);
	server->pool = pool_start("http", 1, server_main, server);
	*ret_server = TAKE_PTR(server);
	return ERR_OK;
}

void http_stop(struct http_server *server)
{
	const uint64_t one = 1;
	if (!server)
		return;
	if (write(server->stop_fd, &one, sizeof one) < 0)
		abort();
	pool_join(server->pool);
	server_free(server);
}

const char *http_address(const struct http_server *server)
{
	return server->listener.name;
}

bool http_is_loopback(const struct http_server *server)
{
	return server->listener.loopback;
}

struct heartbeat *http_heartbeat(struct http_server *server)
{
	return &server->heartbeat;
}
