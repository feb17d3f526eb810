/*
 * Publisher: sends what events have to say, together with the offsets and completion maps that make them
 * done, in one Kafka transaction.
 *
 * One thread. Publications are taken in the order in which they became ready, up to so many events, bytes or
 * milliseconds a transaction, all of one assignment. When all that may be in flight is, half of it makes a
 * transaction without waiting for more: the workers do the other half meanwhile. An aborted transaction
 * returns its publications; they are published again, never executed again. A commit whose outcome is not
 * known yet is asked for again, never aborted. See transaction.h, and producer_recovery.h for a producer that
 * is lost.
 *
 * Messages that the broker refuses (their size, say) are found by halving the batch, then their event is
 * asked for something shorter or a dead letter. Dead letters that are not taken either, or whose topic takes
 * nothing, pause their partitions, loudly, and are tried again on their own until they are published.
 *
 * What is refused for want of a right waits until the right is there (rights_watch.h), and is tried every so
 * often all the same: a producer is not made anew for each attempt that is known to fail.
 *
 * At least once: the same without transactions. Outputs are confirmed first, then the offsets are committed;
 * a crash in between publishes some events twice.
 */
#pragma once

#include "kafka/client.h"
#include "kafka/publication.h"
#include "kafka/rights_watch.h"

struct publisher;

/* Counters since the start; read with publisher_statistics. */
struct publisher_statistics {
	uint64_t transactions_committed;
	uint64_t transactions_aborted;
	uint64_t producers_renewed;
	uint64_t publications_committed;
	uint64_t publications_discarded;
	uint64_t publications_refused;
	int64_t refused_ms; /* for how long nothing that was tried was taken, or dead letters were not; 0: it
			       is */
};

/* Creates the producer, waits until its transactional id is its own (up to `init_timeout_ms`), starts the
 * thread. `rights` (or NULL) outlive it. */
err_t publisher_start(const struct kafka_settings *settings, struct rights_watch *rights,
		      kafka_fatal_fn fatal, void *context, int init_timeout_ms,
		      struct publisher **ret_publisher, struct err_detail *detail);

/* The consumer of the group: commits offsets (at least once), and tells what was committed. Before the first
 * publication. */
void publisher_set_consumer(struct publisher *publisher, rd_kafka_t *consumer);

/* Hands a publication over; never blocks. Any thread. */
void publisher_push(struct publisher *publisher, struct publication *publication);

/* The source waits for events to be finished, of which so many are in flight; 0: it does not wait any more.
 * Never blocks; any thread. */
void publisher_set_shortage(struct publisher *publisher, size_t events);

/* Commits the prefixes of the assignment in a transaction without outputs, if they have moved and no event
 * has carried them by then. Not tried again. Never blocks; any thread. */
void publisher_commit_prefixes(struct publisher *publisher, struct assignment *assignment);

/* Publishes what was handed over within `timeout_ms`, discards the rest, joins the thread; the events still
 * need their pipeline. False: librdkafka has not returned half a second later, and the publisher cannot be
 * released. NULL is fine. */
bool publisher_close(struct publisher *publisher, int64_t timeout_ms);

/* Releases one that is closed; NULL is fine. */
void publisher_stop(struct publisher *publisher);

/* Any thread; the heartbeat lives as long as the publisher. */
void publisher_statistics(struct publisher *publisher, struct publisher_statistics *ret_statistics);
struct heartbeat *publisher_heartbeat(struct publisher *publisher);

/* Appends why outputs or offsets were not taken last. Any thread. */
void publisher_describe_refusal(struct publisher *publisher, struct buf *out);
