/*
 * Which partitions a consumer fetches: assigning, pausing and resuming them. For the consumer's own thread.
 *
 * librdkafka 2.0.2 numbers the orders for a partition in one thread and carries them out in another. A pause
 * or resumption that overtakes the start of a new assignment outdates it: the start is dropped and the
 * partition is never fetched, without an error. So these orders wait until an assignment has settled. A pause
 * outlives the assignment in which it was made: whoever paused a partition resumes it before the assignment
 * ends.
 *
 * An assignment that ends is stopped by another thread, too, and librdkafka ends the process (an assertion)
 * where the next one is to be stopped before the former has been: so the end of an assignment waits until the
 * last one that ended has surely stopped.
 *
 * What is fetched ahead is limited (queued.max.messages.kbytes, queued.min.messages). Where the limit is
 * reached, librdkafka 2.0.2 looks a second later whether there is room again, unless a request to that broker
 * wakes the thread that fetches from it: without one no more than the limit, and a fetch, could be read a
 * second. So whoever takes what was fetched asks the leaders a cheap question when half of it is taken.
 */
#pragma once

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

struct fetching {
	rd_kafka_t *consumer;
	int64_t settled_us; /* when the last assignment has surely been carried out (monotonic clock) */
	int64_t stopped_us; /* when the last one that ended has surely stopped */
	bool assigned;	    /* there are partitions */
	size_t ahead_bytes, ahead_messages; /* limits of what is fetched ahead; 0: none */
	size_t taken_bytes, taken_messages; /* since the leaders were last asked */
	uint64_t asked;			    /* so often */
};

/* Fetches `partitions` from their offsets and nothing else; NULL: nothing, and leaves the group's assignment.
 * Blocks for up to 1 s where another assignment has ended just before, and this one takes the place of the
 * next. */
rd_kafka_resp_err_t fetching_assign(struct fetching *fetching,
				    const rd_kafka_topic_partition_list_t *partitions);

/* Pauses or resumes; blocks for up to 100 ms after an assignment. Resumes only what is paused: librdkafka
 * would fetch anything else anew from where it last started. */
void fetching_pause(struct fetching *fetching, rd_kafka_topic_partition_list_t *partitions, bool pause);

/* A message of the partitions was taken. Asks their leaders every so often, which blocks for up to 10 ms. */
void fetching_take(struct fetching *fetching, const rd_kafka_topic_partition_list_t *partitions,
		   size_t message_bytes);
