/*
 * One HTTP request at a time, for what is asked for now and then by a thread of its own (tokens, schemas): it
 * blocks until its deadline, its answer has a limit, no redirect is followed, http and https only,
 * certificates are verified. Connections are kept for the next request. Hundreds side by side are
 * judge/transport's.
 *
 * A fetcher belongs to one thread at a time, except for fetcher_interrupt.
 */
#pragma once

#include "common/buf.h"

struct fetcher;

/* Files in PEM format, read for every new connection. Each may be NULL. */
struct fetch_tls {
	const char *ca_file; /* authorities to trust instead of the system's */
	const char *certificate_file;
	const char *key_file;
	const char *key_password; /* secret */
};

/* What is asked, borrowed until the fetch returns. NULL or absent: none. Texts of headers hold no line feeds.
 */
struct fetch_request {
	const char *url;
	const char *method; /* NULL: POST where there is a body, else GET */
	str_t body;
	const char *content_type; /* of the body */
	const char *accept;
	const char *authorization;  /* value of that header, a secret */
	const char *const *headers; /* further ones, "Name: value" */
	size_t headers_count;
	struct fetch_tls tls;
	int64_t timeout_ms; /* of all of it */
	size_t max_bytes;   /* of the answer's body; of its headers libcurl takes 300 KiB */
};

enum fetch_outcome {
	FETCH_ANSWERED,	  /* `status` and `body` hold */
	FETCH_TOO_LARGE,  /* the answer's body has more than `max_bytes`; `status` holds */
	FETCH_TIMED_OUT,  /* no whole answer within `timeout_ms` */
	FETCH_FAULT,	  /* the network's; another try may succeed */
	FETCH_IMPOSSIBLE, /* another try does not help before somebody mends it: a certificate, the address */
	FETCH_INTERRUPTED /* by fetcher_interrupt */
};

struct fetch_answer {
	enum fetch_outcome outcome;
	long status;
	struct buf body;	/* empty unless it was answered; may hold secrets of the server's */
	int64_t retry_after_ms; /* −1: the server named none; at most a day */
	char fault[256];	/* unless it was answered: what went wrong, for a person; printable */
};

struct fetcher *fetcher_new(void);
void fetcher_free(struct fetcher *fetcher); /* NULL is fine; no fetch is under way */

/* Asks and waits. `ret_answer` is set in any case, and the caller frees it; it is returned whether it was
 * answered, with whatever status. */
bool fetch(struct fetcher *fetcher, const struct fetch_request *request, struct fetch_answer *ret_answer);

/* Wipes and releases what is in the answer. */
void fetch_answer_free(struct fetch_answer *answer);

DEFINE_CLEANUP(struct fetcher, fetcher_cleanup, fetcher_free)

/* Ends a fetch that is under way, at once, and lets none begin any more. Any thread, while the fetcher lives.
 */
void fetcher_interrupt(struct fetcher *fetcher);

/* Appends the text as it stands in a form and in a query: all but letters, digits and -._~ as %XX. Pure. */
void fetch_append_encoded(struct buf *out, str_t text);
