/*
 * Outlet: what a forwarder (forwarder.h) hands to a receiver outside, and how: a table of functions, as one
 * kind of receiver has them. Everything is called in the forwarder's thread.
 */
#pragma once

#include "avro/codec.h"
#include "outward/reception.h"

#include <librdkafka/rdkafka.h>

enum outlet_take {
	OUTLET_TAKEN,	   /* it is in the request that is being made */
	OUTLET_PASSED,	   /* it is not to be sent */
	OUTLET_UNREADABLE, /* neither, since it cannot be read */
	OUTLET_AWAITED,	   /* nor can it be read yet: the schema registry does not give its schema */
};

struct outlet {
	const char *name;	/* of the thread; all texts are static */
	const char *title;	/* in messages: "the advisory webhook" */
	const char *dependency; /* what is waited for: "webhook receiver" */
	size_t most_messages;	/* in one request */
	size_t most_bytes;
	int64_t linger_ms;	  /* how long a request waits for more messages */
	int64_t give_up_after_ms; /* a request that is never taken is given up then; 0: never */

	/* Adds a message to the request that is being made; it lives until this returns. `ret_items` (0
	 * before): how much it adds to what is counted as sent, `ret_bytes`: to the request. `detail`, of one
	 * that is UNREADABLE or AWAITED: why. */
	enum outlet_take (*take)(void *context, const rd_kafka_message_t *message, size_t *ret_items,
				 size_t *ret_bytes, struct err_detail *detail);

	/* Sends the request, which stays as it is; blocks until its deadline. `ret_refused` (0 before): items
	 * that the receiver did not take of a request that it took. */
	void (*send)(void *context, struct fetcher *fetcher, struct reception_answer *ret_answer,
		     size_t *ret_refused);

	/* Begins another request; what was in the last one is forgotten. */
	void (*reset)(void *context);

	void (*release)(void *context);
	void *context;
};

/* What is to be done with a message that was not decoded for this error, whose detail is complete then. Pure.
 */
static inline enum outlet_take outlet_undecoded(err_t err, struct err_detail *detail)
{
	if (!detail->message[0])
		err_fail(detail, err, "%s", err_text(err));
	return codec_awaits_schema(err) ? OUTLET_AWAITED : OUTLET_UNREADABLE;
}

static inline enum outlet_take outlet_empty(struct err_detail *detail)
{
	err_fail(detail, ERR_FRAME_UNKNOWN, "it is empty");
	return OUTLET_UNREADABLE;
}
