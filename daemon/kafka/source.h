/*
 * Source: consumes the input topic as a static member of the group, tracks what has arrived, and stops
 * reading when credits or a completion map run out.
 *
 * One thread. On assignment it reads the committed offsets with their maps and starts exactly there; on
 * revocation it stops, lets what is in flight finish for a moment, and closes the assignment; what is left is
 * discarded and done by the next owner. A lost assignment is closed at once.
 */
#pragma once

#include "kafka/assignment.h"
#include "kafka/client.h"
#include "kafka/credits.h"
#include "kafka/offsets.h"

struct source;

/* One message; all of it is valid during the call only. */
struct source_message {
	struct assignment *assignment; /* the event that the message becomes holds a reference already:
					  assignment_leave */
	int32_t partition;
	int64_t offset;
	str_t key; /* or absent */
	str_t value;
	const rd_kafka_headers_t *headers; /* or NULL */
	size_t credit_bytes;		   /* taken for it: credits_return */
};

struct source_callbacks {
	/* A fresh message. Source thread; must not block. */
	void (*message)(const struct source_message *message, void *context);
	kafka_fatal_fn fatal;
	void *context;
};

/* Creates the consumer and starts the thread. `settings` and `credits` outlive the source. */
err_t source_start(const struct kafka_settings *settings, struct credits *credits,
		   const struct source_callbacks *callbacks, struct source **ret_source,
		   struct err_detail *detail);

/* The consumer, for commits without a transaction; lives as long as the source. */
rd_kafka_t *source_consumer(struct source *source);

/* Stops reading; the thread goes on serving the group. Any thread. */
void source_pause(struct source *source);

/* Closes the assignment and the consumer's membership and joins the thread; NULL is fine. The publisher must
 * still run. */
void source_close(struct source *source);

/* Closes and releases, when nobody uses its consumer any more; NULL is fine. */
void source_stop(struct source *source);

/* How far behind the source is, as of about a second ago. Any thread. */
struct source_lag {
	int64_t oldest_age_ms; /* of the oldest unfinished event that was read, since it was written; 0: none
				*/
	double map_fill;       /* share of its limit, of the fullest completion map */
	unsigned map_percent;  /* the same, rounded */
	bool joined;	       /* the group has given partitions, or told that there are none for us */
	unsigned assigned;     /* partitions */
	unsigned paused;       /* partitions that wait for their prefix, or are stopped */
	uint64_t behind;       /* see struct backlog, likewise below */
	uint64_t unread;
};

/* Any thread; as of the source's last round. */
void source_lag(struct source *source, struct source_lag *ret_lag);

struct ticker *source_ticker(struct source *source);
