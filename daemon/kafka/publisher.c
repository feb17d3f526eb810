#include "kafka/publisher.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/pool.h"
#include "common/queue.h"
#include "kafka/transaction.h"

enum { IDLE_MS = 100 };

struct publisher {
	const struct kafka_settings *settings;
	kafka_fatal_fn fatal;
	void *fatal_context;
	struct transactor transactor; /* the publisher thread's, likewise below */
	struct pool *pool;
	struct queue ready;
	bool failed;	      /* everything is discarded */
	bool full;	      /* the last transaction had no room for more */
	struct list waiting;  /* taken from `ready`, not in a transaction */
	struct list joined;   /* in the open transaction */
	struct list suspects; /* were in a transaction in which messages were refused */
	size_t suspects_batch;

	_Atomic uint64_t committed, published, discarded, refused;
};

static struct publication *publication_of(struct list_node *node)
{
	return container_of(node, struct publication, node);
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
		if (producer_is_refusal(publication->outputs[i].refusal))
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
	if (publication->refused(publication, index, producer_is_too_large(err), rd_kafka_err2str(err)))
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

/* Nothing is published any more. Delivery reports point into events: they have to come before these go. */
static void give_up(struct publisher *publisher)
{
	struct transactor *transactor = &publisher->transactor;
	publisher->failed = true;
	producer_close(&transactor->producer);
	LIST_FOREACH (node, &publisher->joined)
		publication_of(node)->changed(publication_of(node), PUBLICATION_RETURNED);
	list_splice(&publisher->waiting, &publisher->joined);
	if (transactor->failure)
		publisher->fatal(transactor->failure, transactor->failure_detail.message,
				 publisher->fatal_context);
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
	enum outcome outcome = transactor_run(&publisher->transactor, &publisher->joined, assignment);
	assignment_end(assignment, outcome == OUTCOME_OK);
	assignment_unref(assignment);
	if (outcome == OUTCOME_OK) {
		settle_committed(publisher);
	} else if (outcome == OUTCOME_ABORT) {
		settle_aborted(publisher);
		transactor_pause(&publisher->transactor);
	} else {
		give_up(publisher);
	}
	return true;
}

/* ---- thread ---- */

/* Under load the time that a transaction takes fills the next one; only a trickle is waited for. */
static void collect(struct publisher *publisher)
{
	if (list_empty(&publisher->waiting) && list_empty(&publisher->suspects) &&
	    queue_wait(&publisher->ready, 1, IDLE_MS) > 0 && !publisher->full &&
	    atomic_load(&publisher->transactor.stop_at_us) == 0)
		queue_wait(&publisher->ready, publisher->settings->transaction_max_events,
			   publisher->settings->transaction_linger_ms);
	queue_take_all(&publisher->ready, &publisher->waiting);
}

static void serve(struct publisher *publisher, int timeout_ms)
{
	if (!publisher->failed)
		rd_kafka_poll(publisher->transactor.producer.client, timeout_ms);
}

static void publisher_main(void *context, unsigned index)
{
	struct publisher *publisher = context;
	(void)index;
	for (;;) {
		tick(&publisher->transactor.ticker);
		collect(publisher);
		bool worked = transact(publisher, &publisher->suspects, publisher->suspects_batch);
		worked |=
			transact(publisher, &publisher->waiting, publisher->settings->transaction_max_events);
		bool idle = list_empty(&publisher->waiting) && list_empty(&publisher->suspects);
		if (transactor_stopping(&publisher->transactor) || (idle && queue_closed(&publisher->ready)))
			break;
		if (!worked) /* waits for a prefix to move, or for nothing: keep the client served */
			serve(publisher, idle ? 0 : publisher->settings->transaction_linger_ms);
	}
	queue_take_all(&publisher->ready, &publisher->waiting);
	discard_closed(publisher, &publisher->suspects, true);
	discard_closed(publisher, &publisher->waiting, true);
	tick_stop(&publisher->transactor.ticker);
}

/* ---- life ---- */

static void publisher_free(struct publisher *publisher)
{
	producer_close(&publisher->transactor.producer);
	queue_destroy(&publisher->ready);
	free(publisher);
}

DEFINE_CLEANUP(struct publisher, publisher_cleanup, publisher_free)

err_t publisher_start(const struct kafka_settings *settings, kafka_fatal_fn fatal, void *context,
		      int init_timeout_ms, struct publisher **ret_publisher, struct err_detail *detail)
{
	_cleanup_(publisher_cleanup) struct publisher *publisher = calloc(1, sizeof *publisher);
	if (!publisher)
		abort();
	*publisher = (struct publisher){ .settings = settings, .fatal = fatal, .fatal_context = context };
	struct transactor *transactor = &publisher->transactor;
	transactor->settings = settings;
	transactor->ticker.name = "publisher";
	transactor->backoff = (struct backoff){ .base_ms = 50, .cap_ms = 2000 };
	queue_init(&publisher->ready, false);
	list_init(&publisher->waiting);
	list_init(&publisher->joined);
	list_init(&publisher->suspects);
	err_t err = producer_open(&transactor->producer, settings, detail);
	if (!err)
		err = producer_claim(&transactor->producer, init_timeout_ms, detail);
	if (err)
		return err;
	tick(&transactor->ticker);
	publisher->pool = pool_start("publisher", 1, publisher_main, publisher);
	*ret_publisher = TAKE_PTR(publisher);
	return ERR_OK;
}

void publisher_set_consumer(struct publisher *publisher, rd_kafka_t *consumer)
{
	atomic_store(&publisher->transactor.consumer, consumer);
}

void publisher_push(struct publisher *publisher, struct publication *publication)
{
	queue_push(&publisher->ready, &publication->node);
}

void publisher_close(struct publisher *publisher, int64_t timeout_ms)
{
	if (!publisher || !publisher->pool)
		return;
	atomic_store(&publisher->transactor.stop_at_us, clock_monotonic_us() + timeout_ms * 1000);
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
		.transactions_aborted = atomic_load(&publisher->transactor.aborted),
		.producers_renewed = atomic_load(&publisher->transactor.renewed),
		.publications_committed = atomic_load(&publisher->published),
		.publications_discarded = atomic_load(&publisher->discarded),
		.publications_refused = atomic_load(&publisher->refused),
	};
}

struct ticker *publisher_ticker(struct publisher *publisher)
{
	return &publisher->transactor.ticker;
}
