/*
 * Transaction: sends the outputs of some publications together with the offsets and completion maps that make
 * them done, and finds out what became of it.
 *
 * A call whose outcome is not known yet is made again. When the producer itself is lost, because the broker
 * was away for longer than it keeps a transaction or because librdkafka gives up, a new one takes over its
 * transactional id and the group's committed offsets tell whether a commit that had been asked for took
 * place. A producer that was fenced before the broker can have lost patience was fenced by another instance,
 * which ends this one.
 *
 * At least once: outputs are confirmed first, then the offsets are committed. The publisher's thread alone.
 */
#pragma once

#include "common/backoff.h"
#include "kafka/producer.h"

enum outcome {
	OUTCOME_OK,
	OUTCOME_ABORT, /* this transaction was not committed, another one may be */
	OUTCOME_ENDED, /* the time of a stop is over; the next start learns what the broker has decided */
	OUTCOME_FATAL, /* this instance can publish no more: see transactor.failure */
};

struct transactor {
	const struct kafka_settings *settings;
	struct producer producer;
	_Atomic(rd_kafka_t *) consumer; /* of the group; before the first transaction */
	_Atomic int64_t stop_at_us;	/* when a stop ends all waiting (monotonic), 0: no stop */
	struct ticker ticker;
	struct backoff backoff;
	_Atomic uint64_t aborted; /* count since the start, likewise below */
	_Atomic uint64_t renewed; /* producers */
	rd_kafka_resp_err_t told; /* of outputs that a topic does not take, and when */
	int64_t told_us;
	unsigned unexplained; /* transactions in a row whose outputs failed without a reason of their own */

	/* of the transaction that is under way */
	int64_t began_us;
	rd_kafka_topic_partition_list_t *sent; /* the offsets that it carries, or NULL */
	bool commit_asked;
	bool untaken;	   /* outputs of it, by their topic */
	unsigned renewals; /* without a commit since */
	err_t failure;	   /* of OUTCOME_FATAL, with what it means for a person */
	struct err_detail failure_detail;
};

/* Whether the time of a stop is over. Any thread. */
bool transactor_stopping(const struct transactor *transactor);

/* One transaction with all outputs of `publications`, whose assignment has been begun and joined. After
 * anything but OUTCOME_OK an output's `refusal` says what the broker thought of it. */
enum outcome transactor_run(struct transactor *transactor, const struct list *publications,
			    struct assignment *assignment);

/* Lets the broker recover: waits with backoff while serving the client. */
void transactor_pause(struct transactor *transactor);
