/*
 * A TCP proxy in front of a server, in a thread of the test: it can stop forwarding while all connections
 * stay open, as a network does that loses everything. Header-only.
 */
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define TEST_PROXY_PAIRS 64

struct test_proxy {
	int listener;
	in_port_t server_port, port;
	atomic_bool stalled, ended;
	atomic_size_t cut_after; /* bytes from the server are held back until there are so many, which are
				  * sent at once; then the connection is reset. 0: none is */
	char *held;
	size_t held_bytes;
	int pairs[TEST_PROXY_PAIRS][2]; /* client and server; −1: free */
	pthread_t thread;
};

static inline struct sockaddr_in test_proxy_address(in_port_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET,
				     .sin_port = htons(port),
				     .sin_addr = { htonl(INADDR_LOOPBACK) } };
}

static inline void test_proxy_accept(struct test_proxy *proxy)
{
	struct sockaddr_in address = test_proxy_address(proxy->server_port);
	int client = accept(proxy->listener, NULL, NULL);
	int server = socket(AF_INET, SOCK_STREAM, 0);
	size_t i = 0;
	while (i < TEST_PROXY_PAIRS && proxy->pairs[i][0] >= 0)
		i++;
	if (i == TEST_PROXY_PAIRS || connect(server, (struct sockaddr *)&address, sizeof address) != 0) {
		close(client);
		close(server);
		return;
	}
	proxy->pairs[i][0] = client;
	proxy->pairs[i][1] = server;
}

/* True: as much as is wanted has been sent, and the client's connection is about to be reset. */
static inline bool test_proxy_hold(struct test_proxy *proxy, int client, const char *bytes, size_t size)
{
	static const struct linger at_once = { .l_onoff = 1 };
	size_t wanted = proxy->cut_after;
	proxy->held = realloc(proxy->held, proxy->held_bytes + size);
	if (!proxy->held)
		abort();
	memcpy(proxy->held + proxy->held_bytes, bytes, size);
	proxy->held_bytes += size;
	if (proxy->held_bytes < wanted)
		return false;
	(void)send(client, proxy->held, wanted, MSG_NOSIGNAL);
	setsockopt(client, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
	proxy->held_bytes = 0;
	return true;
}

static inline void test_proxy_forward(struct test_proxy *proxy, int pair[2], int from)
{
	char bytes[16384];
	ssize_t got = read(pair[from], bytes, sizeof bytes);
	bool holds = from == 1 && proxy->cut_after > 0 && got > 0;
	bool passed = holds ? !test_proxy_hold(proxy, pair[0], bytes, (size_t)got)
			    : got > 0 && send(pair[!from], bytes, (size_t)got, MSG_NOSIGNAL) == got;
	if (passed)
		return;
	close(pair[0]);
	close(pair[1]);
	pair[0] = pair[1] = -1;
}

static inline void *test_proxy_run(void *argument)
{
	struct test_proxy *proxy = argument;
	struct pollfd fds[1 + 2 * TEST_PROXY_PAIRS];
	while (!proxy->ended) {
		bool stalled = proxy->stalled;
		fds[0] = (struct pollfd){ .fd = proxy->listener, .events = POLLIN };
		for (size_t i = 0; i < 2 * TEST_PROXY_PAIRS; i++)
			fds[1 + i] = (struct pollfd){ .fd = stalled ? -1 : proxy->pairs[i / 2][i % 2],
						      .events = POLLIN };
		if (poll(fds, stalled ? 1 : 1 + 2 * TEST_PROXY_PAIRS, 20) <= 0)
			continue;
		if (fds[0].revents)
			test_proxy_accept(proxy);
		for (size_t i = 0; !stalled && i < 2 * TEST_PROXY_PAIRS; i++)
			if (fds[1 + i].fd >= 0 && fds[1 + i].revents && proxy->pairs[i / 2][0] >= 0)
				test_proxy_forward(proxy, proxy->pairs[i / 2], (int)(i % 2));
	}
	return NULL;
}

static inline void test_proxy_start(struct test_proxy *proxy, in_port_t server_port)
{
	struct sockaddr_in address = test_proxy_address(0);
	socklen_t size = sizeof address;
	memset(proxy, 0, sizeof *proxy);
	memset(proxy->pairs, -1, sizeof proxy->pairs);
	proxy->server_port = server_port;
	proxy->listener = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(proxy->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
	    listen(proxy->listener, TEST_PROXY_PAIRS) != 0 ||
	    getsockname(proxy->listener, (struct sockaddr *)&address, &size) != 0)
		abort();
	proxy->port = ntohs(address.sin_port);
	if (pthread_create(&proxy->thread, NULL, test_proxy_run, proxy) != 0)
		abort();
}

static inline void test_proxy_stop(struct test_proxy *proxy)
{
	proxy->ended = true;
	pthread_join(proxy->thread, NULL);
	close(proxy->listener);
	free(proxy->held);
	for (size_t i = 0; i < 2 * TEST_PROXY_PAIRS; i++)
		if (proxy->pairs[i / 2][i % 2] >= 0)
			close(proxy->pairs[i / 2][i % 2]);
}
