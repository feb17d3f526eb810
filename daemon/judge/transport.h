/*
 * HTTP requests side by side on one thread (curl_multi over epoll, so that a round costs as much as has
 * happened in it, not as much as is open): connections are kept alive, HTTP/2 is used where a server offers
 * it over TLS. No redirects, http and https only, certificates verified. Everything belongs to one thread,
 * except transport_wake.
 */
#pragma once

#include "common/buf.h"
#include "common/list.h"

#include <curl/curl.h>

#define TRANSPORT_BODY_MAX ((size_t)1 << 20) /* bytes of an answer; of its headers libcurl takes 300 KiB */

struct transport;

enum transfer_outcome {
	TRANSFER_ANSWERED,  /* `status` and `response` hold */
	TRANSFER_TOO_LARGE, /* the answer exceeded TRANSPORT_BODY_MAX */
	TRANSFER_TIMED_OUT,
	TRANSFER_UNCONNECTED, /* connecting took too long */
	TRANSFER_FAULT,	      /* the network's; another try may succeed */
	TRANSFER_IMPOSSIBLE   /* another try would not help: a certificate that is not trusted, … */
};

/* One request. The caller owns it and keeps `body` unchanged until it is finished or cancelled. */
struct transfer {
	struct list_node node; /* among the finished ones */
	str_t body;
	int64_t timeout_ms;
	enum transfer_outcome outcome;
	long status;
	bool connected;		/* the request could be sent */
	int64_t retry_after_ms; /* −1: the server named none */
	struct buf response;
	char fault[CURL_ERROR_SIZE]; /* what went wrong, for a person */
	CURL *handle;		     /* the transport's, likewise below */
	struct lane *lane;
};

struct transport_options {
	const char *url;
	const char *key_header;	 /* with every request, a secret; or NULL */
	const char *more_header; /* likewise, no secret; or NULL */
	const char *ca_file;	 /* authorities to trust instead of the system's; or NULL */
	unsigned connections;	 /* at most */
};

/* Copies the options. The caller owns the transport. */
struct transport *transport_new(const struct transport_options *options);

/* The key's header of transfers from now on. */
void transport_set_key(struct transport *transport, const char *key_header);

/* The most connections from now on. */
void transport_set_connections(struct transport *transport, unsigned connections);

/* Every transfer must have finished or been cancelled. */
void transport_free(struct transport *transport);

/* Begins the transfer, whose outcome is set when it has finished; or gives up one that was begun, which then
 * never is among the finished ones. */
void transport_start(struct transport *transport, struct transfer *transfer);
void transport_cancel(struct transport *transport, struct transfer *transfer);

/* Moves bytes, and appends the transfers that have finished to `finished`. */
void transport_run(struct transport *transport, struct list *finished);

/* Another descriptor that ends waits when it is readable; one at a time, −1: none. Closing it forgets it. */
void transport_watch(struct transport *transport, int fd);

/* Transports that one wait is for, at most. */
#define TRANSPORTS_MAX 8

/* Waits until a connection of one of the transports has something to do, someone wakes one, or the time is
 * up. With hundreds of transfers under way it looks at the connections every few milliseconds only. */
void transport_wait(struct transport *const transports[], size_t count, int64_t timeout_ms);

/* Ends the current or the next wait. Any thread. */
void transport_wake(struct transport *transport);
