/*
 * Publisher: sends what events have to say, together with the offsets and completion maps that make them
 * done, in one Kafka transaction.
 *
 * One thread. Publications are taken in the order in which they became ready, up to so many events, bytes or
 * milliseconds a transaction, all of one assignment. An aborted transaction returns its publications; they
 * are published again, never executed again. A commit whose outcome is not known yet is asked for again,
 * never aborted. See transaction.h, and renewal.h for a producer that is lost.
 *
 * Messages that the broker refuses (their size, say) are found by halving the batch, then their event is
 * asked for something shorter or a dead letter. Dead letters that are not taken either, or whose topic takes
 * nothing, pause their partitions, loudly, and are tried again on their own until they are published.
 *
 * At least once: the same without transactions. Outputs are confirmed first, then the offsets are committed;
 * a crash in between publishes some events twice.
 */
#pragma once

#include "kafka/client.h"
#include "kafka/publication.h"

struct publisher;

/* Counters since the start; read with publisher_statistics. */
struct publisher_statistics {
	uint64_t transactions_committed;
	uint64_t transactions_aborted;
	uint64_t producers_renewed;
	uint64_t publications_committed;
	uint64_t publications_discarded;
	uint64_t publications_refused;
};

/* Creates the producer, waits until its transactional id is its own (up to `init_timeout_ms`), starts the
 * thread. */
err_t publisher_start(const struct kafka_settings *settings, kafka_fatal_fn fatal, void *context,
		      int init_timeout_ms, struct publisher **ret_publisher, struct err_detail *detail);

/* The consumer of the group: commits offsets (at least once), and tells what was committed. Before the first
 * publication. */
void publisher_set_consumer(struct publisher *publisher, rd_kafka_t *consumer);

/* Hands a publication over; never blocks. Any thread. */
void publisher_push(struct publisher *publisher, struct publication *publication);

/* Publishes what was handed over within `timeout_ms`, discards the rest, joins the thread; the events still
 * need their pipeline. NULL is fine. */
void publisher_close(struct publisher *publisher, int64_t timeout_ms);

/* Closes and releases; NULL is fine. */
void publisher_stop(struct publisher *publisher);

/* Any thread; the ticker lives as long as the publisher. */
void publisher_statistics(struct publisher *publisher, struct publisher_statistics *ret_statistics);
struct ticker *publisher_ticker(struct publisher *publisher);
