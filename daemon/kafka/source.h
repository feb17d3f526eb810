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
#include "kafka/board.h"
#include "kafka/client.h"
#include "kafka/credits.h"
#include "kafka/offsets.h"
#include "kafka/rights_watch.h"

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
	/* A prefix has moved that no event will carry: it is to be committed by itself, unless that is past
	 * by then. Asked for again until it is. Source thread; must not block. */
	void (*passed)(struct assignment *assignment, void *context);
	kafka_fatal_fn fatal;
	void *context;
};

/* Creates the consumer and starts the thread. `settings`, `rights` (or NULL) and `credits` outlive the
 * source.
 */
err_t source_start(const struct kafka_settings *settings, struct rights_watch *rights,
		   struct credits *credits, const struct source_callbacks *callbacks,
		   struct source **ret_source, struct err_detail *detail);

/* The consumer, for commits without a transaction; lives as long as the source. */
rd_kafka_t *source_consumer(struct source *source);

/* Stops reading; the thread goes on serving the group. Any thread. */
void source_pause(struct source *source);

/* Closes the assignment and the consumer's membership and joins the thread; what is in flight is not waited
 * for any more, but a transaction is. The publisher must still run. False: the thread has not ended within
 * `timeout_ms`, and the source cannot be released. NULL is fine. */
bool source_close(struct source *source, int64_t timeout_ms);

/* Releases one that is closed, when nobody uses its consumer any more; NULL is fine. */
void source_stop(struct source *source);

/* How far behind the source is, as of about a second ago. Any thread. */
struct source_lag {
	int64_t oldest_age_ms; /* of the oldest unfinished event that was read, since it was written, or since
				  when a partition stands still; 0: neither */
	double map_fill;       /* share of its limit, of the fullest completion map */
	unsigned map_percent;  /* the same, rounded */
	bool joined;	       /* the group has given partitions, or told that there are none for us */
	unsigned assigned;     /* partitions */
	unsigned paused;       /* partitions that wait for their prefix */
	unsigned stopped;      /* partitions that stand still for another reason than load */
	bool stands_still;     /* one of them does, or the topic as a whole */
	uint64_t behind;       /* see struct lag, likewise below; with partitions that stand still */
	uint64_t unread;
	uint64_t recreated; /* times that a partition was found to be of a topic that was made again */
};

/* Any thread; as of the source's last round. */
void source_lag(struct source *source, struct source_lag *ret_lag);

/* The assigned partitions that stand worst, the worst first; returns how many. Any thread; as of about a
 * second ago. */
size_t source_partitions(struct source *source, struct partition_standing ret_worst[BOARD_PARTITIONS]);

/* Appends why partitions stand still and what mends it, a line each, at most `most`. Any thread. */
void source_describe_stops(struct source *source, size_t most, struct buf *out);

struct heartbeat *source_heartbeat(struct source *source);
