/*
 * HTTP requests side by side on one thread (curl_multi): connections are kept alive, HTTP/2 is used where a
 * server offers it over TLS. No redirects, http and https only, certificates verified. Everything belongs to
 * one thread, except transport_wake.
 */
#pragma once

#include "common/buf.h"
#include "common/list.h"

#include <curl/curl.h>

#define TRANSPORT_BODY_MAX ((size_t)1 << 20) /* bytes of an answer */

struct transport;

enum transfer_outcome {
	TRANSFER_ANSWERED,  /* `status` and `response` hold */
	TRANSFER_TOO_LARGE, /* the answer exceeded TRANSPORT_BODY_MAX */
	TRANSFER_TIMED_OUT,
	TRANSFER_FAULT,	    /* the network's; another try may succeed */
	TRANSFER_IMPOSSIBLE /* another try would not help: a certificate that is not trusted, … */
};

/* One request. The caller owns it and keeps `body` unchanged until it is finished or cancelled. */
struct transfer {
	struct list_node node; /* among the finished ones */
	str_t body;
	int64_t timeout_ms;
	enum transfer_outcome outcome;
	long status;
	int64_t retry_after_ms; /* −1: the server named none */
	struct buf response;
	char fault[CURL_ERROR_SIZE]; /* what went wrong, for a person */
	CURL *handle;		     /* the transport's */
};

/* Both headers (each may be NULL) go with every request; `key_header` is a secret. The caller owns the
 * transport. */
struct transport *transport_new(const char *url, const char *key_header, const char *more_header,
				unsigned connections);

/* The most connections from now on. */
void transport_set_connections(struct transport *transport, unsigned connections);

/* Every transfer must have finished or been cancelled. */
void transport_free(struct transport *transport);

void transport_start(struct transport *transport, struct transfer *transfer);
void transport_cancel(struct transport *transport, struct transfer *transfer);

/* Moves bytes, and appends the transfers that have finished to `finished`. */
void transport_run(struct transport *transport, struct list *finished);

/* Waits until a connection has something to do, someone wakes, or the time is up. */
void transport_wait(struct transport *transport, int64_t timeout_ms);

/* Ends the current or the next wait. Any thread. */
void transport_wake(struct transport *transport);
