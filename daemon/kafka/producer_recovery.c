#include "kafka/producer_recovery.h"

#include "common/clock.h"
#include "common/log.h"

#include <assert.h>

enum {
	MAX_RENEWALS = 5, /* without a commit in between */
	CALL_TIMEOUT_MS = 5000,
	WAIT_MS = 100,
	HEARTBEATS = 3,
	RIGHT_MS = 20000, /* between attempts for want of a right, which are made at once when it is there */
	CLAIM_BASE_MS = 1000,
	CLAIM_CAP_MS = 10000,
};

/* ---- whether ---- */

static enum transaction_outcome fail(struct transactor *transactor, err_t err, const char *reason)
{
	transactor->failure = err;
	if (err == ERR_KAFKA_FENCED)
		err_fail(&transactor->failure_detail, err,
			 "another instance publishes as \"%s\"; give each instance its own kafka.instance_id",
			 transactor->settings->instance_id);
	else
		err_fail(&transactor->failure_detail, err, "the Kafka producer failed permanently: %s",
			 reason);
	return OUTCOME_FATAL;
}

/* The broker ends a transaction by itself, and fences who had it, only when it is older than this. */
static bool has_outlasted_its_timeout(const struct transactor *transactor)
{
	int64_t age_us = clock_monotonic_us() - transactor->began_us;
	return age_us >= (int64_t)transactor->settings->transaction_timeout_ms * 1000;
}

/* One that has the same name has joined the group, too: the next heartbeats would tell. A process that was
 * stopped for long must not take the id from the one that was started in its place. */
static bool has_successor(struct transactor *transactor)
{
	char reason[1];
	rd_kafka_t *consumer = atomic_load(&transactor->consumer);
	int64_t until_us =
		clock_monotonic_us() + INT64_C(1000) * HEARTBEATS * transactor->settings->heartbeat_ms;
	while (!rd_kafka_fatal_error(consumer, reason, sizeof reason)) {
		if (clock_monotonic_us() >= until_us || transactor_stopping(transactor))
			return false;
		heartbeat_waiting(&transactor->heartbeat, "Kafka group coordinator");
		rd_kafka_poll(transactor->producer.client, 50);
	}
	return true;
}

/* ---- the new producer ---- */

/* Somebody has to grant something: for up to `timeout_ms`, or until the rights that can be tried are there.
 */
static void await_rights(struct transactor *transactor, int64_t timeout_ms, bool tried)
{
	int64_t until_us = clock_monotonic_us() + timeout_ms * 1000;
	while (clock_monotonic_us() < until_us && !transactor_stopping(transactor)) {
		bool wanted = rights_watch_doubts(transactor->rights) ||
			      (rights_watch_missing(transactor->rights) & RIGHTS_OF_OUTPUTS);
		if (tried && !wanted)
			return;
		heartbeat_waiting(&transactor->heartbeat, "Kafka rights");
		usleep(WAIT_MS * 1000);
	}
}

/* Claims the transactional id. A client that may not is of no more use. */
static err_t claim(struct transactor *transactor, struct err_detail *detail)
{
	err_t err;
	do {
		heartbeat_waiting(&transactor->heartbeat, "Kafka broker");
		err = producer_claim(&transactor->producer, CALL_TIMEOUT_MS, detail);
	} while (err == ERR_KAFKA_UNAVAILABLE && !transactor_stopping(transactor));
	if (!err || err == ERR_KAFKA_TOPIC)
		rights_watch_set(transactor->rights, RIGHT_WRITE_TRANSACTIONS, err != ERR_OK);
	return err;
}

static enum transaction_outcome replace(struct transactor *transactor)
{
	struct backoff backoff = { .base_ms = CLAIM_BASE_MS, .cap_ms = CLAIM_CAP_MS };
	for (;;) {
		struct err_detail detail = { "" };
		producer_close(&transactor->producer);
		err_t err = producer_open(&transactor->producer, transactor->settings, &detail);
		if (!err)
			err = claim(transactor, &detail);
		if (!err)
			return OUTCOME_OK;
		if (transactor_stopping(transactor))
			return OUTCOME_ENDED;
		if (err != ERR_KAFKA_TOPIC)
			return fail(transactor, err, err_message(err, &detail));
		await_rights(transactor, CLAIM_BASE_MS + backoff_next_ms(&backoff), false);
		if (transactor_stopping(transactor))
			return OUTCOME_ENDED;
	}
}

/* ---- what became of the transaction ---- */

static rd_kafka_topic_partition_list_t *same_partitions(const rd_kafka_topic_partition_list_t *list)
{
	rd_kafka_topic_partition_list_t *copy = rd_kafka_topic_partition_list_new(list->cnt);
	for (int i = 0; i < list->cnt; i++)
		rd_kafka_topic_partition_list_add(copy, list->elems[i].topic, list->elems[i].partition);
	return copy;
}

static rd_kafka_resp_err_t ask(const struct transactor *transactor, rd_kafka_topic_partition_list_t *list)
{
	rd_kafka_resp_err_t err =
		rd_kafka_committed(atomic_load(&transactor->consumer), list, CALL_TIMEOUT_MS);
	for (int i = 0; !err && i < list->cnt; i++)
		err = list->elems[i].err;
	return err;
}

/* Every transaction changes the offset or the map of each partition that it carries. */
static bool is_same(const rd_kafka_topic_partition_list_t *committed,
		    const rd_kafka_topic_partition_list_t *sent)
{
	for (int i = 0; i < sent->cnt; i++) {
		const rd_kafka_topic_partition_t *left = &committed->elems[i], *right = &sent->elems[i];
		if (left->offset != right->offset || left->metadata_size != right->metadata_size ||
		    memcmp(left->metadata ? left->metadata : "", right->metadata ? right->metadata : "",
			   right->metadata_size) != 0)
			return false;
	}
	return true;
}

static enum transaction_outcome resolve(struct transactor *transactor, struct assignment *assignment)
{
	if (!transactor->commit_asked)
		return OUTCOME_ABORT;
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *committed =
		same_partitions(transactor->sent);
	rd_kafka_resp_err_t err;
	assert(transactor->sent->cnt > 0);
	while ((err = ask(transactor, committed))) {
		if (assignment_state(assignment) == ASSIGNMENT_CLOSED)
			return OUTCOME_ABORT; /* its events are discarded */
		if (transactor_stopping(transactor))
			return OUTCOME_ENDED;
		log_debug("the outcome of a transaction is still unknown: %s", rd_kafka_err2str(err));
		transactor_pause(transactor);
	}
	return is_same(committed, transactor->sent) ? OUTCOME_OK : OUTCOME_ABORT;
}

enum transaction_outcome producer_recovery_run(struct transactor *transactor, struct assignment *assignment)
{
	char reason[256] = "a transaction can be neither committed nor aborted";
	rd_kafka_resp_err_t code = rd_kafka_fatal_error(transactor->producer.client, reason, sizeof reason);
	bool fenced = producer_is_fenced(code);
	if (transactor_stopping(transactor))
		return OUTCOME_ENDED;
	if (fenced && (!has_outlasted_its_timeout(transactor) || has_successor(transactor)))
		return fail(transactor, ERR_KAFKA_FENCED, reason);
	if (transactor_heed_right(transactor, code, RIGHT_COUNT_)) {
		await_rights(transactor, RIGHT_MS, true);
		transactor->recoveries = 0;
	} else if (transactor->recoveries++ == MAX_RENEWALS) {
		return fail(transactor, ERR_KAFKA_FATAL, reason);
	} else if (transactor->recoveries > 1) {
		transactor_pause(transactor);
	}
	enum transaction_outcome outcome = replace(transactor);
	if (outcome == OUTCOME_OK)
		outcome = resolve(transactor, assignment);
	if (outcome == OUTCOME_OK || outcome == OUTCOME_ABORT) {
		atomic_fetch_add(&transactor->renewed, 1);
		/* where a topic takes nothing, that has been told, and what follows from it comes every time
		 */
		log_write(transactor->untaken ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARNING, NULL,
			  "a new producer replaces the former one (%s), whose last transaction was %s",
			  reason,
			  outcome == OUTCOME_OK ? "committed"
						: "not committed; its events are published again");
	}
	return outcome;
}
