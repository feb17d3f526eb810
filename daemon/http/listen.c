#include "http/listen.h"

#include "address/host_port.h"
#include "common/cleanup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

/* The backlog takes what comes while the server makes a page; who says nothing is in it for so long. */
enum { BACKLOG = 1024, SILENT_S = 5 };

static err_t not_an_address(const char *address, const char *reason, struct err_detail *detail)
{
	return err_fail(detail, ERR_CONFIG_RANGE,
			"http.listen: \"%.60s\" is not an address and a port, such as 127.0.0.1:9464 or "
			"[::1]:9464: %s",
			address, reason);
}

static bool is_loopback(const struct sockaddr *address)
{
	if (address->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr) >> 24 ==
		       127;
	return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

static void name_of(int fd, char ret_name[LISTEN_NAME_SIZE])
{
	struct sockaddr_storage bound = { 0 };
	socklen_t len = sizeof bound;
	char host[INET6_ADDRSTRLEN] = "", port[6] = "";
	getsockname(fd, (struct sockaddr *)&bound, &len);
	getnameinfo((struct sockaddr *)&bound, len, host, sizeof host, port, sizeof port,
		    NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(ret_name, LISTEN_NAME_SIZE, bound.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

/* A listening socket, or −1 with errno. */
static int open_socket(const struct addrinfo *to)
{
	const int on = 1, silent_s = SILENT_S;
	_cleanup_(cleanup_close) int fd =
		socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
	    (to->ai_family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on)) ||
	    bind(fd, to->ai_addr, to->ai_addrlen) || listen(fd, BACKLOG))
		return -1;
	/* clients are taken when they have sent something: no request is still on its way when others come.
	 * Where that cannot be had, it is as good without it as it can be. */
	setsockopt(fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &silent_s, sizeof silent_s);
	return TAKE_FD(fd);
}

static err_t cannot_listen(const char *address, int error, struct err_detail *detail)
{
	if (error == EADDRINUSE)
		return err_fail(detail, ERR_HTTP_LISTEN,
				"http.listen: the port of %.60s is already in use, possibly by another "
				"instance; give each instance its own port",
				address);
	return err_fail(detail, ERR_HTTP_LISTEN, "http.listen: cannot listen at %.60s: %s", address,
			strerror(error));
}

err_t listen_open(const char *address, struct listener *ret_listener, struct err_detail *detail)
{
	const struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	struct err_detail reason = { "" };
	struct host_port where;
	char port[6];
	err_t err = host_port_read(address, strlen(address), 0, 0, &where, &reason);
	if (err)
		return not_an_address(address, reason.message, detail);
	snprintf(port, sizeof port, "%u", where.port);
	int error = getaddrinfo(where.host, port, &hints, &found);
	if (error)
		return err_fail(detail, ERR_HTTP_LISTEN,
				"http.listen: %.60s: %s; mend the name, or write an address of this machine",
				address, gai_strerror(error));
	struct listener listener = { .fd = open_socket(found), .loopback = is_loopback(found->ai_addr) };
	int failure = errno;
	freeaddrinfo(found);
	if (listener.fd < 0)
		return cannot_listen(address, failure, detail);
	name_of(listener.fd, listener.name);
	*ret_listener = listener;
	return ERR_OK;
}

bool listen_beyond_loopback(const char *address)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
					.ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	struct host_port where;
	char port[6];
	if (host_port_read(address, strlen(address), 0, 0, &where, NULL))
		return false;
	snprintf(port, sizeof port, "%u", where.port);
	if (getaddrinfo(where.host, port, &hints, &found))
		return false;
	bool beyond = !is_loopback(found->ai_addr);
	freeaddrinfo(found);
	return beyond;
}
