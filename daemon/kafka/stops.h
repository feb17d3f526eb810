/*
 * Stops: the partitions of the input topic that stand still for another reason than load, why, since when and
 * what mends it. The journal, /readyz, the status line and the metrics tell the same.
 *
 * The source's thread sets and lifts them; any thread looks. All functions lock.
 */
#pragma once

#include "common/buf.h"
#include "kafka/client.h"

#include <pthread.h>

enum stop_reason {
	STOP_DELETED,	 /* events were deleted before they were read */
	STOP_DIVERGED,	 /* the topic does not have what was read, and does not seem to be a new one */
	STOP_MAP,	 /* the map beside the committed offset cannot be read */
	STOP_LETTERS,	 /* an event can be published nowhere; goes on by itself, likewise below */
	STOP_UNREADABLE, /* a batch that cannot be unpacked */
	STOP_FETCH,	 /* the broker does not give it */
};

/* Of the topic as a whole. */
#define STOP_ALL (-1)

struct stop {
	int32_t partition; /* or STOP_ALL */
	enum stop_reason reason;
	int64_t since_ms; /* wall clock */
	int64_t next;	  /* what is to be read next */
	int64_t low, end; /* as far as is known, or −1 */
	int err;	  /* rd_kafka_resp_err_t, or 0 */
	bool confirmed;	  /* in this assignment */
};

struct stops {
	const struct kafka_settings *settings;
	pthread_mutex_t mutex;
	struct stop *items; /* ascending by partition */
	size_t count;
};

void stops_init(struct stops *stops, const struct kafka_settings *settings);
void stops_destroy(struct stops *stops);

/* Sets or renews the stop of a partition, and tells the journal if it is new. It stands since it was first
 * set. */
void stops_set(struct stops *stops, const struct stop *stop);

/* Lifts the partition's stop if it has this reason; true if it had. */
bool stops_lift(struct stops *stops, int32_t partition, enum stop_reason reason);

/* The stop of a partition; false: it has none. */
bool stops_find(struct stops *stops, int32_t partition, struct stop *ret_stop);

/* Before and after an assignment is made: stops that it did not find again are gone, which the journal is
 * told. */
void stops_doubt(struct stops *stops);
void stops_settle(struct stops *stops);

/* What the partitions amount to. */
struct stops_sum {
	unsigned partitions; /* STOP_ALL left out */
	bool any;
	int64_t oldest_ms; /* INT64_MAX: none */
	uint64_t behind;   /* offsets of partitions that are not fetched at all */
};

void stops_sum(struct stops *stops, struct stops_sum *ret_sum);

/* Appends a line for each of them, at most `most`: partition, reason and mend. */
void stops_describe(struct stops *stops, size_t most, struct buf *out);
