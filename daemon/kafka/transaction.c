#include "kafka/transaction.h"

#include "common/clock.h"
#include "common/log.h"
#include "kafka/producer_recovery.h"

enum {
	MAX_UNEXPLAINED = 3, /* transactions that fail without a reason before it is told */
	FLUSH_MS = 100,	     /* after which a failed output is noticed */
	ABORT_FLUSH_MS = 1000,
	REPORT_MS = 30000,
	MAX_ABORT_FAILURES = 10,
	CALL_TIMEOUT_MS = 5000, /* of one librdkafka call; unfinished ones are called again */
	OFFSETS_BYTES = 262144, /* of one request: the group's coordinator stores each as one batch, below the
				   broker's message.max.bytes */
	OFFSET_OVERHEAD_BYTES = 128,
};

/* ---- errors ---- */

/* How a call has ended. */
enum ending {
	ENDING_OK,
	ENDING_ABORT, /* the transaction cannot be committed */
	ENDING_ENDED, /* see OUTCOME_ENDED */
	ENDING_LOST,  /* the producer is of no more use */
};

/* Calls of a client that has failed for good answer with whatever made it fail. */
static bool is_lost(const struct transactor *transactor)
{
	char reason[1];
	return rd_kafka_fatal_error(transactor->producer.client, reason, sizeof reason) !=
	       RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* After an error: ENDING_OK means that the call is to be made again. */
static enum ending ending_of(struct transactor *transactor, const char *call, rd_kafka_error_t *error)
{
	_cleanup_(kafka_error_cleanup) rd_kafka_error_t *owned = error;
	if (rd_kafka_error_is_fatal(owned) || is_lost(transactor)) {
		log_debug("%s: %s; the producer is lost", call, rd_kafka_error_string(owned));
		return ENDING_LOST;
	}
	if (transactor_stopping(transactor)) {
		log_warning("%s: the broker did not answer in time; the next start finds out whether the "
			    "transaction was committed",
			    call);
		return ENDING_ENDED;
	}
	if (rd_kafka_error_txn_requires_abort(owned)) {
		/* the topic that offsets need is the one that they are of */
		bool right = transactor_heed_right(transactor, rd_kafka_error_code(owned), RIGHT_READ_INPUT);
		transactor_note_refusal(transactor, "%s: %s", call, rd_kafka_error_string(owned));
		log_write(right ? LOG_LEVEL_DEBUG : LOG_LEVEL_WARNING, NULL,
			  "%s: %s; the transaction is aborted and its events are published again", call,
			  rd_kafka_error_string(owned));
		return ENDING_ABORT;
	}
	if (rd_kafka_error_is_retriable(owned) ||
	    rd_kafka_error_code(owned) == RD_KAFKA_RESP_ERR__TIMED_OUT) {
		log_debug("%s: %s; again", call, rd_kafka_error_string(owned));
		transactor_pause(transactor);
		return ENDING_OK;
	}
	log_error("%s: %s", call, rd_kafka_error_string(owned));
	return ENDING_ABORT;
}

/* ---- outputs ---- */

static enum ending produce(struct transactor *transactor, struct output *output)
{
	for (;;) {
		rd_kafka_resp_err_t err = producer_send(&transactor->producer, output);
		if (!err)
			return ENDING_OK;
		if (err == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
			heartbeat_waiting(&transactor->heartbeat, "Kafka broker");
			rd_kafka_poll(transactor->producer.client, 10);
			continue;
		}
		if (is_lost(transactor))
			return ENDING_LOST;
		output->refusal = err;
		return ENDING_ABORT;
	}
}

static enum ending produce_all(struct transactor *transactor, const struct list *publications)
{
	LIST_FOREACH (node, publications) {
		struct publication *publication = container_of(node, struct publication, node);
		for (size_t i = 0; i < publication->outputs_count; i++) {
			enum ending ending = produce(transactor, &publication->outputs[i]);
			if (ending != ENDING_OK)
				return ending;
		}
	}
	rd_kafka_poll(transactor->producer.client, 0);
	return ENDING_OK;
}

static bool all_delivered(const struct list *publications)
{
	LIST_FOREACH (node, publications) {
		const struct publication *publication = container_of(node, struct publication, node);
		for (size_t i = 0; i < publication->outputs_count; i++)
			if (publication->outputs[i].refusal)
				return false;
	}
	return true;
}

/* Whether the broker refused one of them for what is in it, which ends the transaction of all. */
static bool has_refusal(const struct list *publications)
{
	LIST_FOREACH (node, publications) {
		const struct publication *publication = container_of(node, struct publication, node);
		for (size_t i = 0; i < publication->outputs_count; i++)
			if (publication->outputs[i].refusal &&
			    producer_is_refusal(publication->outputs[i].refusal))
				return true;
	}
	return false;
}

/* The one that tells most about why outputs were not taken, for another reason than what is in it. */
static const struct output *find_undelivered(const struct list *publications)
{
	const struct output *found = NULL;
	LIST_FOREACH (node, publications) {
		const struct publication *publication = container_of(node, struct publication, node);
		for (size_t i = 0; i < publication->outputs_count; i++) {
			const struct output *output = &publication->outputs[i];
			if (!output->refusal || producer_is_refusal(output->refusal))
				continue;
			if (!producer_is_consequence(output->refusal))
				return output;
			found = found ? found : output;
		}
	}
	return found;
}

/* A topic that takes nothing: told when it begins and every so often. It says nothing about the producer,
 * which librdkafka has to be given up for, where the broker refused the topic and so knows of no transaction.
 */
static void heed_undelivered(struct transactor *transactor, const struct list *publications)
{
	int64_t now_us = clock_monotonic_us();
	const struct output *output = find_undelivered(publications);
	if (!output)
		return;
	bool consequence = producer_is_consequence(output->refusal);
	rd_kafka_resp_err_t err = consequence ? RD_KAFKA_RESP_ERR__FAIL : output->refusal;
	transactor->recoveries = 0;
	transactor->untaken = true;
	if (consequence && has_refusal(publications))
		return;
	const char *topic = rd_kafka_topic_name(transactor->producer.topics[output->topic]);
	if (transactor_heed_right(transactor, output->refusal,
				  (enum right)(RIGHT_WRITE_SCORED + (int)output->topic)))
		return;
	if (consequence) { /* where it is the want of a right, librdkafka does not tell */
		rights_watch_doubt(transactor->rights);
		transactor_note_refusal(transactor, "topics do not accept the outputs");
		if (++transactor->unexplained < MAX_UNEXPLAINED || rights_watch_missing(transactor->rights))
			return;
	} else {
		transactor_note_refusal(transactor, "topic \"%s\" does not accept the outputs: %s", topic,
					rd_kafka_err2str(err));
	}
	if (err == transactor->reported && now_us < transactor->reported_us + INT64_C(1000) * REPORT_MS)
		return;
	transactor->reported = err;
	transactor->reported_us = now_us;
	if (consequence)
		log_error("topics do not accept the outputs; publishing is retried until they do; \"assayd "
			  "check\" may find out why");
	else if (err == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT)
		log_error("outputs for topic \"%s\" were not accepted in time (broker or topic unavailable); "
			  "publishing is retried until they are",
			  topic);
	else
		log_error(
			"topic \"%s\" does not accept the outputs (%s); publishing is retried until it does",
			topic, rd_kafka_err2str(err));
}

/* Waits for the broker's word on every output. One that failed has failed their transaction: librdkafka sends
 * nothing of the rest and lets it expire, so nobody waits for that. */
static enum ending flush_all(struct transactor *transactor, const struct list *publications)
{
	while (rd_kafka_flush(transactor->producer.client, FLUSH_MS) == RD_KAFKA_RESP_ERR__TIMED_OUT) {
		heartbeat_waiting(&transactor->heartbeat, "Kafka broker");
		if (transactor->settings->exactly_once && !all_delivered(publications))
			return ENDING_ABORT;
		if (!transactor_stopping(transactor))
			continue;
		log_warning("the broker did not accept all outputs in time; their events are processed again "
			    "after the next start");
		return ENDING_ENDED;
	}
	return all_delivered(publications) ? ENDING_OK : ENDING_ABORT;
}

/* ---- offsets ---- */

/* The next offsets from `*place` on that one request takes. */
static rd_kafka_topic_partition_list_t next_part(const struct transactor *transactor, int *place)
{
	const rd_kafka_topic_partition_list_t *all = transactor->sent;
	size_t bytes = 0, each = OFFSET_OVERHEAD_BYTES + strlen(transactor->settings->group_id) +
				 strlen(transactor->settings->input_topic);
	rd_kafka_topic_partition_list_t part = { .elems = all->elems + *place };
	while (*place < all->cnt && (part.cnt == 0 || bytes < OFFSETS_BYTES)) {
		bytes += each + all->elems[*place].metadata_size;
		part.size = ++part.cnt;
		++*place;
	}
	return part;
}

/* A broker may take less with an offset than is usual (offset.metadata.max.bytes): what is too much once is
 * too much again, as long as maps may be as large. */
static void heed_map_size(struct assignment *assignment, rd_kafka_resp_err_t err)
{
	if (err == RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE)
		log_warning("the broker's offset.metadata.max.bytes is smaller than usual; completion maps "
			    "are limited to %zu bytes from now on",
			    assignment_shrink_maps(assignment));
}

static enum ending send_offsets(struct transactor *transactor, struct assignment *assignment)
{
	enum ending ending = ENDING_OK;
	rd_kafka_error_t *error = NULL;
	for (int place = 0; ending == ENDING_OK && place < transactor->sent->cnt;) {
		const rd_kafka_topic_partition_list_t part = next_part(transactor, &place);
		while (ending == ENDING_OK && (error = rd_kafka_send_offsets_to_transaction(
						       transactor->producer.client, &part,
						       assignment_group(assignment), CALL_TIMEOUT_MS))) {
			heed_map_size(assignment, rd_kafka_error_code(error));
			ending = ending_of(transactor, "offsets of a transaction", error);
		}
	}
	return ending;
}

/* ---- exactly once ---- */

static enum ending begin(struct transactor *transactor)
{
	enum ending ending = ENDING_OK;
	rd_kafka_error_t *error = NULL;
	while (ending == ENDING_OK && (error = rd_kafka_begin_transaction(transactor->producer.client)))
		ending = ending_of(transactor, "begin of a transaction", error);
	return ending;
}

static enum ending commit(struct transactor *transactor)
{
	enum ending ending = ENDING_OK;
	rd_kafka_error_t *error = NULL;
	transactor->commit_asked = true;
	while (ending == ENDING_OK &&
	       (error = rd_kafka_commit_transaction(transactor->producer.client, CALL_TIMEOUT_MS)))
		ending = ending_of(transactor, "commit of a transaction", error);
	return ending;
}

/* An abort that fails is tried again: as long as it has not succeeded, no other transaction can begin, and
 * delivery reports may still come. One that never succeeds costs the producer. */
static enum ending abort_transaction(struct transactor *transactor, const struct list *publications)
{
	rd_kafka_error_t *error;
	atomic_fetch_add(&transactor->aborted, 1);
	/* what is on its way arrives before the abort, and so do the reports that say which output failed;
	 * purging it would leave the broker's view of the sequence open */
	rd_kafka_flush(transactor->producer.client, ABORT_FLUSH_MS);
	heed_undelivered(transactor, publications);
	for (unsigned failures = 0;
	     (error = rd_kafka_abort_transaction(transactor->producer.client, CALL_TIMEOUT_MS));) {
		enum ending ending = ending_of(transactor, "abort of a transaction", error);
		if (ending == ENDING_ENDED || ending == ENDING_LOST)
			return ending;
		failures += ending == ENDING_ABORT;
		if (failures > MAX_ABORT_FAILURES)
			return ENDING_LOST;
		if (ending == ENDING_ABORT)
			transactor_pause(transactor);
	}
	return ENDING_ABORT;
}

/* Offsets follow when the broker has the outputs: librdkafka 2.0.2 waits without a limit, whatever it is
 * told, when it is to send offsets while the broker is away. */
static enum ending run_exactly_once(struct transactor *transactor, const struct list *publications,
				    struct assignment *assignment)
{
	enum ending ending = begin(transactor);
	if (ending == ENDING_OK)
		ending = produce_all(transactor, publications);
	if (ending == ENDING_OK)
		ending = flush_all(transactor, publications);
	if (ending == ENDING_OK) {
		transactor->sent = assignment_offsets(assignment);
		ending = send_offsets(transactor, assignment);
	}
	if (ending == ENDING_OK)
		ending = commit(transactor);
	return ending == ENDING_ABORT ? abort_transaction(transactor, publications) : ending;
}

/* ---- at least once ---- */

/* The group has gone on without this member. */
static bool is_expulsion(rd_kafka_resp_err_t err)
{
	return err == RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID || err == RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION ||
	       err == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID || err == RD_KAFKA_RESP_ERR__FATAL;
}

/* Offsets that are not taken are sent again by themselves, for as long as they are ours to commit. */
static bool commit_part(struct transactor *transactor, struct assignment *assignment,
			const rd_kafka_topic_partition_list_t *part)
{
	rd_kafka_resp_err_t err, last = RD_KAFKA_RESP_ERR_NO_ERROR;
	heartbeat_waiting(&transactor->heartbeat, "Kafka group coordinator");
	while ((err = rd_kafka_commit(atomic_load(&transactor->consumer), part, 0))) {
		heed_map_size(assignment, err);
		if (err == RD_KAFKA_RESP_ERR_OFFSET_METADATA_TOO_LARGE)
			return true; /* the next commit carries it, once the prefix has moved */
		bool over = is_expulsion(err) || transactor_stopping(transactor) ||
			    assignment_state(assignment) == ASSIGNMENT_CLOSED;
		bool right = transactor_heed_right(transactor, err, RIGHT_READ_INPUT);
		if (over || (err != last && !right))
			log_warning("offsets cannot be committed%s: %s",
				    over ? ", events may be published twice" : " yet", rd_kafka_err2str(err));
		if (over)
			return false;
		last = err;
		heartbeat_waiting(&transactor->heartbeat, "Kafka group coordinator");
		rd_kafka_poll(transactor->producer.client, (int)backoff_next_ms(&transactor->backoff) + 1);
	}
	return true;
}

/* Outputs first, then offsets; what happens to a failed batch is the same as after an abort. */
static enum ending run_at_least_once(struct transactor *transactor, const struct list *publications,
				     struct assignment *assignment)
{
	enum ending ending = produce_all(transactor, publications);
	enum ending flushed = flush_all(transactor, publications);
	if (flushed == ENDING_ENDED)
		return ENDING_ENDED;
	if (is_lost(transactor))
		return ENDING_LOST;
	if (ending != ENDING_OK || flushed != ENDING_OK) {
		heed_undelivered(transactor, publications);
		return ENDING_ABORT;
	}
	transactor->sent = assignment_offsets(assignment);
	for (int place = 0; place < transactor->sent->cnt;) {
		const rd_kafka_topic_partition_list_t part = next_part(transactor, &place);
		if (!commit_part(transactor, assignment, &part))
			break;
	}
	return ENDING_OK;
}

/* ---- either ---- */

static void forget_sent(struct transactor *transactor)
{
	if (transactor->sent)
		rd_kafka_topic_partition_list_destroy(TAKE_PTR(transactor->sent));
	transactor->commit_asked = false;
}

static enum transaction_outcome outcome_of(struct transactor *transactor, enum ending ending,
					   struct assignment *assignment)
{
	switch (ending) {
	case ENDING_OK:
		transactor->recoveries = 0;
		transactor->unexplained = 0;
		return OUTCOME_OK;
	case ENDING_ABORT:
		return OUTCOME_ABORT;
	case ENDING_ENDED:
		return OUTCOME_ENDED;
	case ENDING_LOST:
		break;
	}
	return producer_recovery_run(transactor, assignment);
}

enum transaction_outcome transaction_run(struct transactor *transactor, const struct list *publications,
					 struct assignment *assignment)
{
	heartbeat_waiting(&transactor->heartbeat, "Kafka broker");
	transactor->began_us = clock_monotonic_us();
	transactor->untaken = false;
	enum ending ending = transactor->settings->exactly_once
				     ? run_exactly_once(transactor, publications, assignment)
				     : run_at_least_once(transactor, publications, assignment);
	enum transaction_outcome outcome = outcome_of(transactor, ending, assignment);
	forget_sent(transactor);
	if (outcome == OUTCOME_OK)
		backoff_reset(&transactor->backoff);
	return outcome;
}
