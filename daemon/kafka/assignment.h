/*
 * Assignment: the partitions that one generation of the consumer group gave to this instance, with their
 * offsets and the group metadata captured when they were given.
 *
 * A transaction carries events of one assignment and commits with its capture, so that a generation that is
 * over can commit nothing. States: OPEN → DRAINING (no arrivals; what is done may still be committed) →
 * CLOSED (events are discarded). Closing waits for a transaction that is under way. Reference-counted; every
 * in-flight event holds one.
 *
 * The source thread opens, arrives and closes; the publisher begins and ends transactions. All functions
 * lock.
 */
#pragma once

#include "kafka/offsets.h"

#include <librdkafka/rdkafka.h>

struct assignment;

enum assignment_state { ASSIGNMENT_OPEN, ASSIGNMENT_DRAINING, ASSIGNMENT_CLOSED };

/* New assignment of `topic`; takes over `group` (may be NULL in tests). */
struct assignment *assignment_new(const char *topic, rd_kafka_consumer_group_metadata_t *group);
struct assignment *assignment_ref(struct assignment *assignment);
void assignment_unref(struct assignment *assignment);

/* Adds a partition before the assignment is shared; takes over `offsets`. */
void assignment_add(struct assignment *assignment, int32_t partition, struct offsets *offsets);

/* Its state at this moment; the topic lives as long as the assignment. */
enum assignment_state assignment_state(struct assignment *assignment);
const char *assignment_topic(const struct assignment *assignment);

/* A message has come. OFFSETS_FRESH: the event that it becomes holds a reference and counts as in flight
 * until assignment_leave. Partitions that were not added answer OFFSETS_STALE. `sign`: see witness.h. */
enum offsets_arrival assignment_arrive(struct assignment *assignment, int32_t partition, int64_t offset,
				       int64_t since_ms, uint64_t sign);

/* The end of the partition was reached: see offsets_pass. True: the prefix may have moved by that. */
bool assignment_pass(struct assignment *assignment, int32_t partition, int64_t end);

/* Whether a partition of which nothing is unfinished has a prefix that is not committed, so that no event
 * will carry it. */
bool assignment_owes(struct assignment *assignment);

/* An event that had arrived is committed or discarded: drops its reference. */
void assignment_leave(struct assignment *assignment);

/* Stops arrivals and waits up to `timeout_ms` until no event is in flight; true if so. */
bool assignment_drain(struct assignment *assignment, int64_t timeout_ms);

/* Ends the assignment; waits (up to `timeout_ms`) until the publisher is out of its transaction. */
bool assignment_close(struct assignment *assignment, int64_t timeout_ms);

/* Publisher: enters a transaction; false when the assignment is CLOSED. */
bool assignment_begin(struct assignment *assignment);

/* Publisher: the event's offset joins the transaction. False: its partition's map would be too large for a
 * commit, the event has to wait for the prefix to move. */
bool assignment_join(struct assignment *assignment, int32_t partition, int64_t offset);

/* Publisher: an event that had joined leaves again, before the commit. */
void assignment_withdraw(struct assignment *assignment, int32_t partition, int64_t offset);

/* Publisher: what the transaction has to commit, with the maps as metadata; only partitions that moved since
 * the last commit. The caller destroys the list. */
rd_kafka_topic_partition_list_t *assignment_offsets(struct assignment *assignment);

/* Publisher: the broker takes less metadata with an offset than was assumed. Maps of this assignment get half
 * the bytes from now on, which are returned; what does not fit waits for the prefix to move. */
size_t assignment_shrink_maps(struct assignment *assignment);

/* Publisher: the transaction is over. */
void assignment_end(struct assignment *assignment, bool committed);

/* Captured at assignment; lives as long as the assignment. */
const rd_kafka_consumer_group_metadata_t *assignment_group(const struct assignment *assignment);

/* Source, after an arrival: whether the partition's map is so full that it has to wait for its prefix.
 * Measured every so many arrivals of the partition. */
bool assignment_is_overfull(struct assignment *assignment, int32_t partition);

/* Source: whether a partition that waited can go on: it is not stopped, and its map has emptied or nothing
 * that it waits for is left. */
bool assignment_has_emptied(struct assignment *assignment, int32_t partition);

/* The offset that a commit of the partition would carry now; OFFSETS_UNKNOWN: none, or not ours. */
int64_t assignment_prefix(struct assignment *assignment, int32_t partition);

/* Whether the group has an offset of the partition, as far as this assignment knows. */
bool assignment_has_committed(struct assignment *assignment, int32_t partition);

/* Tracker for a partition whose topic was made again, see offsets_begin_again; NULL: not a partition of ours.
 */
struct offsets *assignment_begin_again(struct assignment *assignment, int32_t partition, int64_t start,
				       int64_t since);

/* How far behind a partition is: what a committed prefix cannot tell. */
struct assignment_lag {
	int64_t oldest_ms; /* since when the oldest unfinished event waits; INT64_MAX: there is none */
	double fill;	   /* of its map: share of the limit */
};

/* Costs time linear in what is unfinished. One that is not of the assignment has nothing. */
void assignment_lag(struct assignment *assignment, int32_t partition, struct assignment_lag *ret_lag);

/* Publisher: an event of the partition can be published nowhere for now, so nothing more of it is to be read;
 * false: that was said before. */
bool assignment_stop(struct assignment *assignment, int32_t partition);

/* Publisher: all events of the partition can be published again; false: it was not stopped. */
bool assignment_go_on(struct assignment *assignment, int32_t partition);

/* Whether it is stopped. */
bool assignment_is_stopped(struct assignment *assignment, int32_t partition);

/* Source: takes the next partition that was stopped since it last asked; false: none. */
bool assignment_take_stopped(struct assignment *assignment, int32_t *ret_partition);
