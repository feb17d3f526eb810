/*
 * Transactor: the producer that transactions go through, and what outlasts a transaction: waiting, refusals,
 * counts. Of the publisher's thread, but for what is said to be of any.
 */
#pragma once

#include "common/backoff.h"
#include "kafka/producer.h"
#include "kafka/rights_watch.h"

#include <pthread.h>

enum transaction_outcome {
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
	struct rights_watch *rights;	/* hears of what is refused; or NULL */
	struct heartbeat heartbeat;
	struct backoff backoff;
	_Atomic uint64_t aborted;     /* count since the start, likewise below */
	_Atomic uint64_t renewed;     /* producers */
	rd_kafka_resp_err_t reported; /* of outputs that a topic does not take, and when */
	int64_t reported_us;
	unsigned unexplained; /* transactions in a row whose outputs failed without a reason of their own */
	pthread_mutex_t refusal_mutex;
	char refusal[320]; /* why outputs or offsets were not taken last, for a person */

	/* of the transaction that is under way */
	int64_t began_us;
	rd_kafka_topic_partition_list_t *sent; /* the offsets that it carries, or NULL */
	bool commit_asked;
	bool untaken;	     /* outputs of it, by their topic */
	unsigned recoveries; /* without a commit since */
	err_t failure;	     /* of OUTCOME_FATAL, with what it means for a person */
	struct err_detail failure_detail;
};

/* Before all else, and after it. */
void transactor_init(struct transactor *transactor, const struct kafka_settings *settings);
void transactor_destroy(struct transactor *transactor);

/* Whether the time of a stop is over. Any thread. */
bool transactor_stopping(const struct transactor *transactor);

/* Why outputs or offsets are not taken, for a person. */
void transactor_note_refusal(struct transactor *transactor, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Appends why outputs or offsets were not taken last. Any thread. */
void transactor_describe_refusal(struct transactor *transactor, struct buf *out);

/* After an error of the client: tells the watch over rights if it is the want of one. `topic`: the right that
 * an error of a topic's is about; RIGHT_COUNT_: not known. True: it is. */
bool transactor_heed_right(struct transactor *transactor, rd_kafka_resp_err_t err, enum right topic);

/* Lets the broker recover: waits with backoff while serving the client. */
void transactor_pause(struct transactor *transactor);
