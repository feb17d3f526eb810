/* The address that the HTTP server listens at: "127.0.0.1:9464", "[::1]:9464", "localhost:9464"; port 0 is
 * any free one. */
#pragma once

#include "common/err.h"

#include <netinet/in.h>

enum { LISTEN_NAME_SIZE = INET6_ADDRSTRLEN + 8 };

struct listener {
	int fd;			     /* non-blocking, the caller's to close */
	bool loopback;		     /* nobody but this machine can reach it */
	char name[LISTEN_NAME_SIZE]; /* address and port, as they are */
};

/* Opens the socket. ERR_CONFIG_RANGE: that is no address and port; ERR_HTTP_LISTEN: it cannot be listened at,
 * because somebody else does, say. Looks names up, which may block. */
err_t listen_open(const char *address, struct listener *ret_listener, struct err_detail *detail);

/* Whether it is an address of digits, and not of the loopback interface. Names are not looked up: false. Any
 * thread. */
bool listen_beyond_loopback(const char *address);
