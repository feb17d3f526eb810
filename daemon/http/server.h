/*
 * A small HTTP server for people and programs that watch the daemon: GET and HEAD of a handful of pages.
 *
 * One thread that never waits for a client: pages are made in memory, and every connection carries one
 * request and is closed after HTTP_CONNECTION_MS at the latest, whatever its client does. Connections and the
 * size of a request's head are bounded. Idle ones keep nobody out: where HTTP_CONNECTIONS are open, a new one
 * takes the place of another, of the address that has the most, the oldest whose request has not come yet.
 * At a loopback address, requests that name another host are refused: a browser that was lured to a name
 * which points here learns nothing.
 */
#pragma once

#include "common/buf.h"
#include "common/heartbeat.h"

enum { HTTP_CONNECTIONS = 64, HTTP_CONNECTION_MS = 5000, HTTP_HEAD_BYTES = 16384, HTTP_TICK_MS = 2000 };

struct http_server;

struct http_page {
	struct buf body;	  /* to be filled */
	const char *content_type; /* static text; text/plain unless the route says otherwise */
	const char *accept;	  /* what the client takes, by its Accept headers; "": it does not say */
	const char *policy;	  /* its Content-Security-Policy; NULL: none */
};

struct http_route {
	const char *path;

	/* Makes the page; returns the status. The server's thread; must not wait. */
	unsigned (*answer)(struct http_page *page, void *context);
};

struct http_options {
	const char *address;		 /* see listen.h */
	const struct http_route *routes; /* ends with a path of NULL; outlives the server */
	void *context;			 /* of the routes */
	int64_t connection_ms;		 /* 0: HTTP_CONNECTION_MS */

	/* Called by the server's thread every HTTP_TICK_MS or so, or NULL; must not wait. */
	void (*tick)(void *context);
};

/* Listens and starts the thread. ERR_CONFIG_RANGE or ERR_HTTP_LISTEN: see listen.h. */
err_t http_start(const struct http_options *options, struct http_server **ret_server,
		 struct err_detail *detail);

/* Closes all connections and joins the thread, at once; NULL is fine. */
void http_stop(struct http_server *server);

/* Where it listens, with the port that it has. */
const char *http_address(const struct http_server *server);

/* Whether nobody but this machine can reach it. */
bool http_is_loopback(const struct http_server *server);

struct heartbeat *http_heartbeat(struct http_server *server);
