/*
 * Requests to a schema registry, some at a time, by one thread (curl's multi interface). Answers are bounded
 * in size, each and all together, and time, redirects are not followed, since a password would follow them,
 * and secrets are read from their files for every request. Everything belongs to one thread, except
 * registry_http_wake.
 */
#pragma once

#include "avro/registry/registry_settings.h"
#include "common/buf.h"
#include "common/list.h"

/* Bytes of an answer: more than any schema has that this program reads. */
#define REGISTRY_ANSWER_MAX ((size_t)2 << 20)

/* And of all that are there, of which one may have so many in any case. */
#define REGISTRY_ANSWERS_MAX ((size_t)16 << 20)
#define REGISTRY_ANSWER_FREE ((size_t)256 << 10)

/* Longer than this no server makes us wait. */
enum { REGISTRY_RETRY_AFTER_MAX_MS = 300000 };

struct registry_http;

/* One request; the caller owns it, and keeps it while it is under way. */
struct registry_request {
	struct list_node node; /* among the finished ones */
	size_t url;	       /* which of the registry's addresses */
	const char *path;      /* from the address on, as it goes into an URL: "/schemas/ids/7" */
	const char *body;      /* JSON to post, or NULL: asks for what is there */
	long status;	       /* of the answer; 0: there is none, and `fault` says why */
	char content_type[64]; /* of the answer, printable and short, or "" */
	char encoding[32];     /* Content-Encoding, likewise */
	int64_t again_ms;      /* before which it is not to be asked again (Retry-After); 0: it may be */
	bool reached;	       /* the server took the request */
	bool answered;	       /* and answered in time, though maybe with more than fits */
	struct buf answer;
	char fault[512];
	/* of registry_http */
	size_t *held; /* bytes of all answers */
	void *handle;
	void *headers;
	char error[512];
};

/* Keeps the settings. The caller owns it. */
struct registry_http *registry_http_new(const struct registry_settings *settings);

/* No request may be under way; NULL is fine. */
void registry_http_free(struct registry_http *http);

/* Begins a request, whose answer is empty. One that cannot even begin is among the finished ones of the next
 * run. */
void registry_http_start(struct registry_http *http, struct registry_request *request);

/* Gives up a request that is under way. */
void registry_http_cancel(struct registry_http *http, struct registry_request *request);

/* Waits up to `timeout_ms` for something to happen, moves bytes, and appends what has finished. */
void registry_http_run(struct registry_http *http, int64_t timeout_ms, struct list *finished);

/* Ends the current or the next wait. Any thread. */
void registry_http_wake(struct registry_http *http);

/* Takes out that of the finished ones whose answer is the shortest; NULL: there is none. */
struct registry_request *registry_request_take(struct list *finished);

/* Releases what a request has; it can be used again. */
void registry_request_free(struct registry_request *request);
