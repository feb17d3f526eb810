#include "http/listen.h"

#include "common/cleanup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <sys/socket.h>

enum { BACKLOG = 64, HOST_SIZE = 256 };

static err_t not_an_address(const char *address, struct err_detail *detail)
{
	return err_fail(
		detail, ERR_CONFIG_RANGE,
		"http.listen: \"%.60s\" is not an address and a port, such as 127.0.0.1:9464 or [::1]:9464",
		address);
}

/* Splits at the last colon; an IPv6 address stands in brackets. */
static bool split(const char *address, char ret_host[HOST_SIZE], const char **ret_port)
{
	const char *colon = strrchr(address, ':');
	if (!colon || colon == address || !colon[1] || colon - address >= HOST_SIZE)
		return false;
	size_t len = (size_t)(colon - address);
	bool brackets = address[0] == '[';
	if (brackets && (len < 3 || colon[-1] != ']'))
		return false;
	if (brackets) {
		address++;
		len -= 2;
	}
	memcpy(ret_host, address, len);
	ret_host[len] = '\0';
	*ret_port = colon + 1;
	return brackets || !strchr(ret_host, ':');
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
	const int on = 1;
	_cleanup_(cleanup_close) int fd =
		socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
	    (to->ai_family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on)) ||
	    bind(fd, to->ai_addr, to->ai_addrlen) || listen(fd, BACKLOG))
		return -1;
	return TAKE_FD(fd);
}

static err_t cannot_listen(const char *address, int error, struct err_detail *detail)
{
	if (error == EADDRINUSE)
		return err_fail(detail, ERR_HTTP_LISTEN,
				"http.listen: the port of %.60s is in use, by another instance perhaps; give "
				"each a port "
				"of its own",
				address);
	return err_fail(detail, ERR_HTTP_LISTEN, "http.listen: cannot listen at %.60s: %s", address,
			strerror(error));
}

err_t listen_open(const char *address, struct listener *ret_listener, struct err_detail *detail)
{
	const struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	char host[HOST_SIZE];
	const char *port;
	if (!split(address, host, &port))
		return not_an_address(address, detail);
	int error = getaddrinfo(host, port, &hints, &found);
	if (error)
		return err_fail(detail, ERR_HTTP_LISTEN, "http.listen: %.60s: %s", address,
				gai_strerror(error));
	struct listener listener = { .fd = open_socket(found), .loopback = is_loopback(found->ai_addr) };
	int failure = errno;
	freeaddrinfo(found);
	if (listener.fd < 0)
		return cannot_listen(address, failure, detail);
	name_of(listener.fd, listener.name);
	*ret_listener = listener;
	return ERR_OK;
}
