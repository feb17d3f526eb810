#include "kafka/publisher.h"

#include "common/backoff.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/pool.h"
#include "common/queue.h"

#include <assert.h>
#include <stdatomic.h>

enum {
	IDLE_MS = 100,
	ABORT_FLUSH_MS = 1000,
	MOST_ABORT_FAILURES = 10,
	CALL_TIMEOUT_MS = 5000,	  /* of one librdkafka call; unfinished ones are called again */
	FLUSH_TIMEOUT_MS = 30000, /* at least once: until outputs count as not delivered */
};

struct publisher {
	const struct kafka_settings *settings;
	kafka_fatal_fn fatal;
	void *fatal_context;
	rd_kafka_t *producer;
	rd_kafka_topic_t *topics[OUTPUT_TOPIC_COUNT_];
	_Atomic(rd_kafka_t *) consumer; /* at least once */
	struct pool *pool;
	struct ticker ticker;
	struct queue ready;
	_Atomic int64_t stop_at_us; /* 0: not stopping */
	bool failed;		    /* fatal: everything is discarded */

	/* the publisher thread's */
	bool full;	      /* the last transaction had no room for more */
	struct list waiting;  /* taken from `ready`, not in a transaction */
	struct list joined;   /* in the open transaction */
	struct list suspects; /* were in a transaction in which messages were refused */
	size_t suspects_batch;
	struct backoff backoff;

	_Atomic uint64_t committed, aborted, published, discarded, refused;
};

static struct publication *publication_of(struct list_node *node)
{
	return container_of(node, struct publication, node);
}

static bool stopping(const struct publisher *publisher)
{
	int64_t at = atomic_load(&publisher->stop_at_us);
	return at != 0 && clock_monotonic_us() >= at;
}

/* ---- errors ---- */

enum outcome {
	OUTCOME_OK,
	OUTCOME_ABORT, /* this transaction cannot be committed, another one may */
	OUTCOME_FATAL, /* the producer is of no more use */
};

static void report_fatal(struct publisher *publisher, const rd_kafka_error_t *error)
{
	rd_kafka_resp_err_t code = rd_kafka_error_code(error);
	char message[512];
	publisher->failed = true;
	if (code == RD_KAFKA_RESP_ERR__FENCED || code == RD_KAFKA_RESP_ERR_PRODUCER_FENCED ||
	    code == RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH) {
		snprintf(message, sizeof message,
			 "another instance publishes as \"%s\", or the broker was away for longer than "
			 "kafka.transaction_timeout_ms; if there is another one, give each a "
			 "kafka.instance_id of its own",
			 publisher->settings->instance_id);
		publisher->fatal(ERR_KAFKA_FENCED, message, publisher->fatal_context);
	} else {
		snprintf(message, sizeof message, "the Kafka producer has failed for good: %s",
			 rd_kafka_error_string(error));
		publisher->fatal(ERR_KAFKA_FATAL, message, publisher->fatal_context);
	}
}

/* What to do after an error of a transactional call. */
enum advice { ADVICE_AGAIN, ADVICE_ABORT, ADVICE_FATAL };

static enum advice classify(struct publisher *publisher, const char *call, rd_kafka_error_t *error)
{
	_cleanup_(kafka_error_cleanup) rd_kafka_error_t *owned = error;
	if (rd_kafka_error_is_fatal(owned)) {
		report_fatal(publisher, owned);
		return ADVICE_FATAL;
	}
	if (stopping(publisher)) {
		log_warning("%s: the broker did not answer in time; what it decided shows at the next start",
			    call);
		publisher->failed = true;
		return ADVICE_FATAL;
	}
	if (rd_kafka_error_txn_requires_abort(owned)) {
		log_warning("%s: %s; the transaction is aborted and its events are published again", call,
			    rd_kafka_error_string(owned));
		return ADVICE_ABORT;
	}
	if (rd_kafka_error_is_retriable(owned) ||
	    rd_kafka_error_code(owned) == RD_KAFKA_RESP_ERR__TIMED_OUT) {
		log_debug("%s: %s; again", call, rd_kafka_error_string(owned));
		return ADVICE_AGAIN;
	}
	log_error("%s: %s", call, rd_kafka_error_string(owned));
	return ADVICE_ABORT;
}

/* Lets the broker recover: waits with backoff while serving the client. */
static void pause_and_serve(struct publisher *publisher)
{
	tick_waiting(&publisher->ticker, "Kafka broker");
	rd_kafka_poll(publisher->producer, (int)backoff_next_ms(&publisher->backoff) + 1);
}

/* ---- messages ---- */

static void on_delivery(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque)
{
	struct output *output = message->_private;
	(void)client;
	(void)opaque;
	if (message->err && output)
		output->refusal = message->err;
}

/* Errors that say something about the message itself. A topic that is missing or forbidden is a fault of the
 * moment: its events wait until it is mended. */
static bool is_refusal(rd_kafka_resp_err_t err)
{
	switch (err) {
	case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
	case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
	case RD_KAFKA_RESP_ERR_INVALID_RECORD:
	case RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE:
	case RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
	case RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP:
		return true;
	default:
		return false;
	}
}

static bool is_too_large(rd_kafka_resp_err_t err)
{
	return err == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ||
	       err == RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE || err == RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE;
}

static rd_kafka_headers_t *build_headers(const struct output *output)
{
	rd_kafka_headers_t *headers = rd_kafka_headers_new(output->headers_count);
	for (size_t i = 0; i < output->headers_count; i++)
		rd_kafka_header_add(headers, output->headers[i].name, -1, output->headers[i].value.ptr,
				    (ssize_t)output->headers[i].value.len);
	return headers;
}

static rd_kafka_resp_err_t produce_once(struct publisher *publisher, struct output *output)
{
	rd_kafka_headers_t *headers = build_headers(output);
	rd_kafka_vu_t arguments[] = {
		{ .vtype = RD_KAFKA_VTYPE_RKT, .u.rkt = publisher->topics[output->topic] },
		{ .vtype = RD_KAFKA_VTYPE_MSGFLAGS, .u.i = RD_KAFKA_MSG_F_COPY },
		{ .vtype = RD_KAFKA_VTYPE_PARTITION, .u.i32 = RD_KAFKA_PARTITION_UA },
		{ .vtype = RD_KAFKA_VTYPE_KEY,
		  .u.mem = { (void *)(uintptr_t)output->key.ptr, output->key.len } },
		{ .vtype = RD_KAFKA_VTYPE_VALUE,
		  .u.mem = { (void *)(uintptr_t)output->value.ptr, output->value.len } },
		{ .vtype = RD_KAFKA_VTYPE_HEADERS, .u.headers = headers },
		{ .vtype = RD_KAFKA_VTYPE_OPAQUE, .u.ptr = output },
	};
	rd_kafka_error_t *error =
		rd_kafka_produceva(publisher->producer, arguments, sizeof arguments / sizeof arguments[0]);
	if (!error)
		return RD_KAFKA_RESP_ERR_NO_ERROR;
	rd_kafka_resp_err_t code = rd_kafka_error_code(error);
	rd_kafka_error_destroy(error);
	rd_kafka_headers_destroy(headers);
	return code;
}

/* The client itself has failed, whatever it was asked for. */
static enum outcome fail_for_good(struct publisher *publisher)
{
	char reason[256];
	rd_kafka_resp_err_t code = rd_kafka_fatal_error(publisher->producer, reason, sizeof reason);
	_cleanup_(kafka_error_cleanup) rd_kafka_error_t *error = rd_kafka_error_new(code, "%s", reason);
	report_fatal(publisher, error);
	return OUTCOME_FATAL;
}

static enum outcome produce(struct publisher *publisher, struct output *output)
{
	output->refusal = RD_KAFKA_RESP_ERR_NO_ERROR;
	for (;;) {
		rd_kafka_resp_err_t err = produce_once(publisher, output);
		if (!err)
			return OUTCOME_OK;
		if (err == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
			tick_waiting(&publisher->ticker, "Kafka broker");
			rd_kafka_poll(publisher->producer, 10);
			continue;
		}
		if (is_refusal(err)) {
			output->refusal = err;
			return OUTCOME_ABORT;
		}
		if (err == RD_KAFKA_RESP_ERR__FATAL)
			return fail_for_good(publisher);
		log_warning("an output cannot be produced: %s", rd_kafka_err2str(err));
		return OUTCOME_ABORT;
	}
}

static enum outcome produce_all(struct publisher *publisher)
{
	LIST_FOREACH (node, &publisher->joined) {
		struct publication *publication = publication_of(node);
		for (size_t i = 0; i < publication->outputs_count; i++) {
			publication->outputs[i].publication = publication;
			enum outcome outcome = produce(publisher, &publication->outputs[i]);
			if (outcome != OUTCOME_OK)
				return outcome;
		}
	}
	rd_kafka_poll(publisher->producer, 0);
	return OUTCOME_OK;
}

/* ---- one transaction ---- */

/* After an error: OUTCOME_OK means that the call is to be made again. */
static enum outcome outcome_of(struct publisher *publisher, const char *call, rd_kafka_error_t *error)
{
	switch (classify(publisher, call, error)) {
	case ADVICE_AGAIN:
		pause_and_serve(publisher);
		return OUTCOME_OK;
	case ADVICE_ABORT:
		return OUTCOME_ABORT;
	case ADVICE_FATAL:
		break;
	}
	return OUTCOME_FATAL;
}

static enum outcome begin(struct publisher *publisher)
{
	enum outcome outcome = OUTCOME_OK;
	rd_kafka_error_t *error = NULL;
	while (outcome == OUTCOME_OK && (error = rd_kafka_begin_transaction(publisher->producer)))
		outcome = outcome_of(publisher, "begin of a transaction", error);
	return outcome;
}

static enum outcome send_offsets(struct publisher *publisher, struct assignment *assignment)
{
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *offsets =
		assignment_offsets(assignment);
	enum outcome outcome = OUTCOME_OK;
	rd_kafka_error_t *error = NULL;
	while (outcome == OUTCOME_OK && offsets->cnt > 0 &&
	       (error = rd_kafka_send_offsets_to_transaction(publisher->producer, offsets,
							     assignment_group(assignment), CALL_TIMEOUT_MS)))
		outcome = outcome_of(publisher, "offsets of a transaction", error);
	return outcome;
}

static enum outcome commit(struct publisher *publisher)
{
	enum outcome outcome = OUTCOME_OK;
	rd_kafka_error_t *error = NULL;
	while (outcome == OUTCOME_OK &&
	       (error = rd_kafka_commit_transaction(publisher->producer, CALL_TIMEOUT_MS)))
		outcome = outcome_of(publisher, "commit of a transaction", error);
	return outcome;
}

/* An abort that fails is tried again: as long as it has not succeeded, no other transaction can begin, and
 * delivery reports may still come. One that never succeeds is fatal. */
static enum outcome abort_transaction(struct publisher *publisher)
{
	rd_kafka_error_t *error;
	atomic_fetch_add(&publisher->aborted, 1);
	/* what is on its way arrives before the abort; purging it would leave the broker's view of the
	 * sequence open */
	rd_kafka_flush(publisher->producer, ABORT_FLUSH_MS);
	for (unsigned failures = 0;
	     (error = rd_kafka_abort_transaction(publisher->producer, CALL_TIMEOUT_MS));) {
		if (failures == MOST_ABORT_FAILURES) {
			report_fatal(publisher, error);
			rd_kafka_error_destroy(error);
			return OUTCOME_FATAL;
		}
		enum advice advice = classify(publisher, "abort of a transaction", error);
		if (advice == ADVICE_FATAL)
			return OUTCOME_FATAL;
		failures += advice == ADVICE_ABORT;
		pause_and_serve(publisher);
	}
	return OUTCOME_ABORT;
}

static bool all_delivered(const struct list *publications)
{
	LIST_FOREACH (node, publications) {
		const struct publication *publication = publication_of(node);
		for (size_t i = 0; i < publication->outputs_count; i++)
			if (publication->outputs[i].refusal)
				return false;
	}
	return true;
}

/* Waits for the broker's word on every output; false: the time of a stop is over. */
static bool flush_all(struct publisher *publisher)
{
	while (rd_kafka_flush(publisher->producer, CALL_TIMEOUT_MS) == RD_KAFKA_RESP_ERR__TIMED_OUT) {
		tick_waiting(&publisher->ticker, "Kafka broker");
		if (!stopping(publisher))
			continue;
		log_warning("the broker did not take all outputs in time; their events are done again after "
			    "the next start");
		return false;
	}
	return true;
}

/* Offsets follow when the broker has the outputs: librdkafka 2.0.2 waits without a limit, whatever it is
 * told, when it is to send offsets while the broker is away. */
static enum outcome run_exactly_once(struct publisher *publisher, struct assignment *assignment)
{
	enum outcome outcome = begin(publisher);
	if (outcome == OUTCOME_OK)
		outcome = produce_all(publisher);
	if (outcome == OUTCOME_OK && !flush_all(publisher))
		return OUTCOME_FATAL;
	if (outcome == OUTCOME_OK && !all_delivered(&publisher->joined))
		outcome = OUTCOME_ABORT;
	if (outcome == OUTCOME_OK)
		outcome = send_offsets(publisher, assignment);
	if (outcome == OUTCOME_OK)
		outcome = commit(publisher);
	if (outcome == OUTCOME_ABORT)
		outcome = abort_transaction(publisher);
	return outcome;
}

/* The group has gone on without this member. */
static bool is_expulsion(rd_kafka_resp_err_t err)
{
	return err == RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID || err == RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION ||
	       err == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID || err == RD_KAFKA_RESP_ERR__FATAL;
}

/* The outputs are out: offsets that are not taken are sent again by themselves, for as long as they are ours
 * to commit. */
static void commit_offsets(struct publisher *publisher, struct assignment *assignment)
{
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *offsets =
		assignment_offsets(assignment);
	rd_kafka_resp_err_t err, last = RD_KAFKA_RESP_ERR_NO_ERROR;
	if (offsets->cnt == 0)
		return;
	tick_waiting(&publisher->ticker, "Kafka group coordinator");
	while ((err = rd_kafka_commit(atomic_load(&publisher->consumer), offsets, 0))) {
		bool over = is_expulsion(err) || stopping(publisher) ||
			    assignment_state(assignment) == ASSIGNMENT_CLOSED;
		if (over || err != last)
			log_warning("offsets cannot be committed%s: %s",
				    over ? ", events may be published twice" : " yet", rd_kafka_err2str(err));
		if (over)
			return;
		last = err;
		tick_waiting(&publisher->ticker, "Kafka group coordinator");
		rd_kafka_poll(publisher->producer, (int)backoff_next_ms(&publisher->backoff) + 1);
	}
}

/* Outputs first, then offsets; what happens to a failed batch is the same as after an abort. */
static enum outcome run_at_least_once(struct publisher *publisher, struct assignment *assignment)
{
	enum outcome outcome = produce_all(publisher);
	char reason[1];
	if (!flush_all(publisher))
		return OUTCOME_FATAL;
	if (rd_kafka_fatal_error(publisher->producer, reason, sizeof reason))
		return outcome == OUTCOME_FATAL ? outcome : fail_for_good(publisher);
	if (outcome != OUTCOME_OK || !all_delivered(&publisher->joined))
		return OUTCOME_ABORT;
	commit_offsets(publisher, assignment);
	return OUTCOME_OK;
}

/* ---- choosing what goes into a transaction ---- */

static void discard(struct publisher *publisher, struct list *from, struct publication *publication)
{
	list_remove(from, &publication->node);
	atomic_fetch_add(&publisher->discarded, 1);
	publication->changed(publication, PUBLICATION_DISCARDED);
}

static void discard_closed(struct publisher *publisher, struct list *from, bool all)
{
	LIST_FOREACH_SAFE (node, from) {
		struct publication *publication = publication_of(node);
		if (all || assignment_state(publication->assignment) == ASSIGNMENT_CLOSED)
			discard(publisher, from, publication);
	}
}

static void forget_refusals(struct publication *publication)
{
	for (size_t i = 0; i < publication->outputs_count; i++)
		publication->outputs[i].refusal = RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* Moves up to `most` publications of the first one's assignment from `from` into the transaction. */
static struct assignment *join(struct publisher *publisher, struct list *from, size_t most)
{
	struct assignment *assignment = NULL;
	size_t bytes = 0;
	LIST_FOREACH_SAFE (node, from) {
		struct publication *publication = publication_of(node);
		if (!assignment) {
			if (!assignment_begin(publication->assignment))
				continue;
			assignment = assignment_ref(publication->assignment);
		}
		publisher->full = publisher->joined.count == most ||
				  bytes >= publisher->settings->transaction_max_bytes;
		if (publisher->full)
			break;
		if (publication->assignment != assignment ||
		    !assignment_join(assignment, publication->partition, publication->offset))
			continue;
		list_remove(from, node);
		list_append(&publisher->joined, node);
		forget_refusals(publication); /* they were of an earlier transaction */
		bytes += publication->bytes;
		publication->changed(publication, PUBLICATION_JOINED);
	}
	return assignment;
}

/* ---- outcomes ---- */

static void settle_committed(struct publisher *publisher)
{
	struct list_node *node;
	atomic_fetch_add(&publisher->committed, 1);
	if (publisher->suspects_batch < publisher->settings->transaction_max_events)
		publisher->suspects_batch *=
			2; /* suspects that prove innocent make room for more at a time */
	atomic_fetch_add(&publisher->published, publisher->joined.count);
	while ((node = list_take(&publisher->joined))) {
		struct publication *publication = publication_of(node);
		publication->changed(publication, PUBLICATION_COMMITTED);
	}
}

static struct output *refused_output(struct publication *publication)
{
	for (size_t i = 0; i < publication->outputs_count; i++)
		if (is_refusal(publication->outputs[i].refusal))
			return &publication->outputs[i];
	return NULL;
}

/* A single event whose output is refused even alone: something shorter, or the partition is given up. */
static void settle_refused(struct publisher *publisher, struct publication *publication,
			   const struct output *output)
{
	rd_kafka_resp_err_t err = output->refusal;
	size_t index = (size_t)(output - publication->outputs);
	atomic_fetch_add(&publisher->refused, 1);
	if (publication->refused(publication, index, is_too_large(err), rd_kafka_err2str(err)))
		return;
	log_write(LOG_LEVEL_CRITICAL, NULL,
		  "partition %d of %s is stopped: the event at offset %lld can be published nowhere, not "
		  "even as a dead "
		  "letter (%s); mend the dead-letter topic and restart",
		  (int)publication->partition, assignment_topic(publication->assignment),
		  (long long)publication->offset, rd_kafka_err2str(err));
	assignment_stop(publication->assignment, publication->partition);
	discard(publisher, &publisher->suspects, publication);
}

static void settle_aborted(struct publisher *publisher)
{
	bool refusals = false;
	struct list_node *node;
	size_t count = publisher->joined.count;
	LIST_FOREACH (joined, &publisher->joined)
		refusals |= refused_output(publication_of(joined)) != NULL;
	struct list *to = refusals ? &publisher->suspects : &publisher->waiting;
	while ((node = publisher->joined.head.prev) != &publisher->joined.head) {
		list_remove(&publisher->joined, node);
		list_prepend(to, node); /* from the last to the first: the order stays */
		struct publication *publication = publication_of(node);
		publication->changed(publication, PUBLICATION_RETURNED);
	}
	if (!refusals)
		return;
	publisher->suspects_batch = count > 1 ? (count + 1) / 2 : 1;
	struct publication *first = publication_of(publisher->suspects.head.next);
	const struct output *output = refused_output(first);
	if (count == 1 && output)
		settle_refused(publisher, first, output);
}

/* The producer is of no more use. Its delivery reports point into events: they have to come before these go.
 */
static void give_up(struct publisher *publisher)
{
	publisher->failed = true;
	rd_kafka_purge(publisher->producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
	rd_kafka_flush(publisher->producer, CALL_TIMEOUT_MS);
	LIST_FOREACH (node, &publisher->joined)
		publication_of(node)->changed(publication_of(node), PUBLICATION_RETURNED);
	list_splice(&publisher->waiting, &publisher->joined);
}

/* One transaction from `from`; false when there was nothing to do. */
static bool transact(struct publisher *publisher, struct list *from, size_t most)
{
	discard_closed(publisher, from, publisher->failed);
	struct assignment *assignment = join(publisher, from, most);
	if (!assignment)
		return false;
	if (list_empty(&publisher->joined)) {
		assignment_end(assignment, false);
		assignment_unref(assignment);
		return false;
	}
	tick_waiting(&publisher->ticker, "Kafka broker");
	enum outcome outcome = publisher->settings->exactly_once ? run_exactly_once(publisher, assignment)
								 : run_at_least_once(publisher, assignment);
	assignment_end(assignment, outcome == OUTCOME_OK);
	assignment_unref(assignment);
	if (outcome == OUTCOME_OK) {
		backoff_reset(&publisher->backoff);
		settle_committed(publisher);
	} else if (outcome == OUTCOME_FATAL) {
		give_up(publisher);
	} else {
		settle_aborted(publisher);
		pause_and_serve(publisher);
	}
	return true;
}

/* ---- thread ---- */

/* Under load the time that a transaction takes fills the next one; only a trickle is waited for. */
static void collect(struct publisher *publisher)
{
	if (list_empty(&publisher->waiting) && list_empty(&publisher->suspects) &&
	    queue_wait(&publisher->ready, 1, IDLE_MS) > 0 && !publisher->full &&
	    atomic_load(&publisher->stop_at_us) == 0)
		queue_wait(&publisher->ready, publisher->settings->transaction_max_events,
			   publisher->settings->transaction_linger_ms);
	queue_take_all(&publisher->ready, &publisher->waiting);
}

static void publisher_main(void *context, unsigned index)
{
	struct publisher *publisher = context;
	(void)index;
	for (;;) {
		tick(&publisher->ticker);
		collect(publisher);
		bool worked = transact(publisher, &publisher->suspects, publisher->suspects_batch);
		worked |=
			transact(publisher, &publisher->waiting, publisher->settings->transaction_max_events);
		bool idle = list_empty(&publisher->waiting) && list_empty(&publisher->suspects);
		if (stopping(publisher) || (idle && queue_closed(&publisher->ready)))
			break;
		if (!worked) /* waits for a prefix to move, or for nothing: keep the client served */
			rd_kafka_poll(publisher->producer,
				      idle ? 0 : publisher->settings->transaction_linger_ms);
	}
	queue_take_all(&publisher->ready, &publisher->waiting);
	discard_closed(publisher, &publisher->suspects, true);
	discard_closed(publisher, &publisher->waiting, true);
	tick_stop(&publisher->ticker);
}

/* ---- life ---- */

static void on_error(rd_kafka_t *client, int err, const char *reason, void *opaque)
{
	(void)client;
	(void)opaque;
	if (err == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
		log_warning("no Kafka broker can be reached: %s", reason);
	else
		log_debug("producer: %s", reason);
}

static err_t build_conf(const struct kafka_settings *settings, rd_kafka_conf_t **ret_conf,
			struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	err_t err = kafka_conf_new(settings, &conf, detail);
	if (!err)
		err = kafka_conf_set(conf, "enable.idempotence", "true", detail);
	if (!err && settings->exactly_once)
		err = kafka_conf_set(conf, "transactional.id", settings->instance_id, detail);
	if (!err && settings->exactly_once)
		err = kafka_conf_set_int(conf, "transaction.timeout.ms", settings->transaction_timeout_ms,
					 detail);
	/* below the transaction's: what the broker does not take is aborted before it does that by itself,
	 * after which this producer would be of no more use */
	if (!err)
		err = kafka_conf_set_int(conf, "message.timeout.ms",
					 settings->exactly_once ? settings->transaction_timeout_ms / 3 * 2
								: FLUSH_TIMEOUT_MS,
					 detail);
	if (!err)
		err = kafka_conf_set_int(conf, "queue.buffering.max.kbytes",
					 (long long)(settings->transaction_max_bytes / 1024) * 4 + 65536,
					 detail);
	if (!err)
		err = kafka_conf_set_int(conf, "message.max.bytes",
					 (long long)settings->max_message_bytes * 2, detail);
	if (!err)
		err = kafka_conf_set(conf, "linger.ms", "5", detail);
	if (!err)
		*ret_conf = TAKE_PTR(conf);
	return err;
}

static err_t init_transactions(struct publisher *publisher, int timeout_ms, struct err_detail *detail)
{
	int64_t deadline_us = clock_monotonic_us() + (int64_t)timeout_ms * 1000;
	for (;;) {
		_cleanup_(kafka_error_cleanup) rd_kafka_error_t *error =
			rd_kafka_init_transactions(publisher->producer, CALL_TIMEOUT_MS);
		if (!error)
			return ERR_OK;
		if (!rd_kafka_error_is_retriable(error))
			return err_fail(detail, ERR_KAFKA_FATAL, "transactions cannot be used as \"%s\": %s",
					publisher->settings->instance_id, rd_kafka_error_string(error));
		if (clock_monotonic_us() >= deadline_us)
			return err_fail(detail, ERR_KAFKA_UNAVAILABLE,
					"kafka.bootstrap_servers: no answer from \"%s\" within %d s (%s)",
					publisher->settings->bootstrap_servers, timeout_ms / 1000,
					rd_kafka_error_string(error));
	}
}

static void open_topics(struct publisher *publisher)
{
	const struct kafka_settings *settings = publisher->settings;
	const char *names[] = { [OUTPUT_SCORED] = settings->scored_topic,
				[OUTPUT_ADVISORY] = settings->advisory_topic,
				[OUTPUT_DEAD_LETTER] = settings->dead_letter_topic };
	for (size_t i = 0; i < OUTPUT_TOPIC_COUNT_; i++)
		publisher->topics[i] = rd_kafka_topic_new(publisher->producer, names[i], NULL);
}

static void publisher_free(struct publisher *publisher)
{
	for (size_t i = 0; i < OUTPUT_TOPIC_COUNT_; i++)
		if (publisher->topics[i])
			rd_kafka_topic_destroy(publisher->topics[i]);
	if (publisher->producer)
		rd_kafka_destroy(publisher->producer);
	queue_destroy(&publisher->ready);
	free(publisher);
}

DEFINE_CLEANUP(struct publisher, publisher_cleanup, publisher_free)

err_t publisher_start(const struct kafka_settings *settings, kafka_fatal_fn fatal, void *context,
		      int init_timeout_ms, struct publisher **ret_publisher, struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	err_t err = build_conf(settings, &conf, detail);
	if (err)
		return err;
	_cleanup_(publisher_cleanup) struct publisher *publisher = calloc(1, sizeof *publisher);
	if (!publisher)
		abort();
	*publisher = (struct publisher){ .settings = settings, .fatal = fatal, .fatal_context = context };
	publisher->ticker.name = "publisher";
	publisher->backoff = (struct backoff){ .base_ms = 50, .cap_ms = 2000 };
	queue_init(&publisher->ready, false);
	list_init(&publisher->waiting);
	list_init(&publisher->joined);
	list_init(&publisher->suspects);
	rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
	rd_kafka_conf_set_error_cb(conf, on_error);
	err = kafka_client_new(RD_KAFKA_PRODUCER, &conf, &publisher->producer, detail);
	if (!err && settings->exactly_once)
		err = init_transactions(publisher, init_timeout_ms, detail);
	if (err)
		return err;
	open_topics(publisher);
	tick(&publisher->ticker);
	publisher->pool = pool_start("publisher", 1, publisher_main, publisher);
	*ret_publisher = TAKE_PTR(publisher);
	return ERR_OK;
}

void publisher_set_consumer(struct publisher *publisher, rd_kafka_t *consumer)
{
	atomic_store(&publisher->consumer, consumer);
}

void publisher_push(struct publisher *publisher, struct publication *publication)
{
	queue_push(&publisher->ready, &publication->node);
}

void publisher_close(struct publisher *publisher, int64_t timeout_ms)
{
	if (!publisher || !publisher->pool)
		return;
	atomic_store(&publisher->stop_at_us, clock_monotonic_us() + timeout_ms * 1000);
	queue_close(&publisher->ready);
	pool_join(TAKE_PTR(publisher->pool));
}

void publisher_stop(struct publisher *publisher)
{
	if (!publisher)
		return;
	publisher_close(publisher, 0);
	publisher_free(publisher);
}

void publisher_statistics(struct publisher *publisher, struct publisher_statistics *ret_statistics)
{
	*ret_statistics = (struct publisher_statistics){
		.transactions_committed = atomic_load(&publisher->committed),
		.transactions_aborted = atomic_load(&publisher->aborted),
		.publications_committed = atomic_load(&publisher->published),
		.publications_discarded = atomic_load(&publisher->discarded),
		.publications_refused = atomic_load(&publisher->refused),
	};
}

struct ticker *publisher_ticker(struct publisher *publisher)
{
	return &publisher->ticker;
}
