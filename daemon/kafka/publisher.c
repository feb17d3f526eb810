#include "kafka/publisher.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/pool.h"
#include "common/queue.h"
#include "kafka/transaction.h"

enum {
	REST_MS = 5000, /* without events */
	LOOK_MS = 100,	/* between looks at what may go on without one */
	LIMIT_MS = 60000,
	LETTERS_BASE_MS = 1000,
	LETTERS_CAP_MS = 30000,
	MAX_DELAYED_LETTERS = 3,
	RIGHT_MS = 20000, /* between attempts for want of a right */
	STOP_SLACK_MS = 500,
	STRAINED_LINGER_MS = 50,
	STRAINED_MS = 1000, /* since the source waited last */
};

/* What transactions of offsets, of events and of dead letters need. */
#define OFFSETS_NEED                                                                                         \
	(RIGHT_BIT(RIGHT_READ_GROUP) | RIGHT_BIT(RIGHT_READ_INPUT) | RIGHT_BIT(RIGHT_WRITE_TRANSACTIONS))
#define EVENTS_NEED  (OFFSETS_NEED | RIGHT_BIT(RIGHT_WRITE_SCORED) | RIGHT_BIT(RIGHT_WRITE_ADVISORY))
#define LETTERS_NEED (OFFSETS_NEED | RIGHT_BIT(RIGHT_WRITE_DEAD_LETTER))

struct publisher {
	const struct kafka_settings *settings;
	kafka_fatal_fn fatal;
	void *fatal_context;
	struct transactor transactor; /* the publisher thread's, likewise below */
	struct pool *pool;
	struct queue ready;
	struct assignment *_Atomic passed; /* its prefixes are to be committed; NULL: none */
	bool failed;			   /* everything is discarded */
	bool full;			   /* the last transaction had no room for more */
	int64_t ended_us;		   /* when the last transaction did; monotonic */
	_Atomic int64_t strained_us;	   /* when the source waited last; monotonic */
	struct list waiting;		   /* taken from `ready`, not in a transaction */
	struct list joined;		   /* in the open transaction */
	struct list suspects;		   /* were in a transaction in which messages were refused */
	size_t suspects_batch;
	struct list letters; /* dead letters while their topic does not take them: apart from all others */
	struct backoff letters_backoff;
	int64_t letters_at_us;	  /* when the next of them is tried */
	size_t letters_batch;	  /* so many at a time: one after a failure, more while they are taken */
	unsigned delayed_letters; /* transactions of them that failed for no reason of the topic's, since one
				   * was published */
	bool letters_wait;	  /* for a right */
	int64_t rights_until_us;  /* by then what was refused is tried again, whatever is known of rights */
	_Atomic int64_t refused_since_us, letters_since_us; /* monotonic; 0: all is taken */
	struct {
		size_t bytes;	  /* an output of so many was too large for the topic */
		int64_t until_us; /* by then the topic may have been given another limit */
	} limits[OUTPUT_TOPIC_COUNT_];

	_Atomic uint64_t committed, published, discarded, refused;
};

static struct publication *publication_of(struct list_node *node)
{
	return container_of(node, struct publication, node);
}

/* ---- choosing what goes into a transaction ---- */

/* Whether the broker would refuse it, for want of one of these rights: it waits until it is there. It is
 * tried every so often all the same, since not all brokers may know the same. */
static bool waits_for_rights(const struct publisher *publisher, right_set needed)
{
	struct rights_watch *rights = publisher->transactor.rights;
	return clock_monotonic_us() < publisher->rights_until_us &&
	       (rights_watch_doubts(rights) || (rights_watch_missing(rights) & needed));
}

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

/* ---- dead letters that are not taken ---- */

static bool is_letter(const struct publication *publication)
{
	return publication->outputs_count > 0 && publication->outputs[0].topic == OUTPUT_DEAD_LETTER;
}

/* A transaction fails with any of its outputs: these get ones of their own, so that they hold up no other. */
static void set_letters_apart(struct publisher *publisher, struct list *from)
{
	LIST_FOREACH_SAFE (node, from) {
		if (!is_letter(publication_of(node)))
			continue;
		list_remove(from, node);
		list_append(&publisher->letters, node);
	}
}

/* All others have their turn before a letter is tried again. */
static void postpone_letters(struct publisher *publisher)
{
	int64_t pause_ms = backoff_next_ms(&publisher->letters_backoff);
	publisher->letters_at_us = clock_monotonic_us() + (LETTERS_BASE_MS + pause_ms) * 1000;
}

/* Nothing more of the letter's partition is read. */
static void stop_partition(struct publisher *publisher, const struct publication *letter, const char *reason)
{
	if (!atomic_load(&publisher->letters_since_us))
		atomic_store(&publisher->letters_since_us, clock_monotonic_us());
	if (assignment_stop(letter->assignment, letter->partition))
		log_write(LOG_LEVEL_CRITICAL, NULL,
			  "partition %d of %s is paused: the event at offset %lld cannot be published, not "
			  "even as a dead letter (%s); correct the topic \"%s\" or the permissions on it, "
			  "and the partition resumes by itself",
			  (int)letter->partition, assignment_topic(letter->assignment),
			  (long long)letter->offset, reason, publisher->settings->dead_letter_topic);
}

/* The letter cannot be published for now. */
static void hold(struct publisher *publisher, struct list *from, struct publication *letter,
		 rd_kafka_resp_err_t err)
{
	postpone_letters(publisher);
	list_remove(from, &letter->node);
	list_append(&publisher->letters, &letter->node);
	stop_partition(publisher, letter, rd_kafka_err2str(err));
}

static bool may_not_write_letters(const struct publisher *publisher)
{
	return rights_watch_missing(publisher->transactor.rights) & RIGHT_BIT(RIGHT_WRITE_DEAD_LETTER);
}

/* None of them has to be tried. */
static void stop_all_with_letters(struct publisher *publisher)
{
	LIST_FOREACH (node, &publisher->letters)
		stop_partition(publisher, publication_of(node),
			       rd_kafka_err2str(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED));
}

static bool has_letters_of(const struct publisher *publisher, const struct publication *like)
{
	LIST_FOREACH (node, &publisher->letters) {
		const struct publication *letter = publication_of(node);
		if (letter->assignment == like->assignment && letter->partition == like->partition)
			return true;
	}
	return false;
}

/* A letter was published after all. */
static void go_on(struct publisher *publisher, const struct publication *letter)
{
	backoff_reset(&publisher->letters_backoff);
	publisher->letters_at_us = 0;
	publisher->delayed_letters = 0;
	if (!has_letters_of(publisher, letter) && assignment_go_on(letter->assignment, letter->partition))
		log_notice("partition %d of %s resumes: its dead letters are published",
			   (int)letter->partition, assignment_topic(letter->assignment));
}

/* ---- outcomes ---- */

static void settle_committed(struct publisher *publisher, const struct list *from)
{
	struct list_node *node;
	atomic_fetch_add(&publisher->committed, 1);
	if (from != &publisher->letters)
		atomic_store(&publisher->refused_since_us, 0);
	if (publisher->suspects_batch < publisher->settings->transaction_max_events)
		publisher->suspects_batch *=
			2; /* suspects that prove innocent make room for more at a time */
	if (from == &publisher->letters &&
	    publisher->letters_batch < publisher->settings->transaction_max_events)
		publisher->letters_batch *= 2;
	atomic_fetch_add(&publisher->published, publisher->joined.count);
	while ((node = list_take(&publisher->joined))) {
		struct publication *publication = publication_of(node);
		if (from == &publisher->letters)
			go_on(publisher, publication);
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

/* One that was not taken, whyever. */
static rd_kafka_resp_err_t undelivered(const struct publication *publication)
{
	for (size_t i = 0; i < publication->outputs_count; i++)
		if (publication->outputs[i].refusal)
			return publication->outputs[i].refusal;
	return RD_KAFKA_RESP_ERR_NO_ERROR;
}

/* ---- outputs that are too large ---- */

/* Every refusal costs transactions, and librdkafka 2.0.2 may stall for a message's time after one: what was
 * too large once is not sent again for a while. Limits are of what is left when it is compressed, which
 * nobody knows before: one that is longer and repeats itself more would have had a place, perhaps. */
static void remember_limit(struct publisher *publisher, const struct output *output)
{
	publisher->limits[output->topic].bytes = output->value.len;
	publisher->limits[output->topic].until_us = clock_monotonic_us() + INT64_C(1000) * LIMIT_MS;
}

static bool is_known_too_large(const struct publisher *publisher, const struct output *output)
{
	return publisher->limits[output->topic].until_us > clock_monotonic_us() &&
	       output->value.len >= publisher->limits[output->topic].bytes;
}

/* Has an event that is new here shortened before it joins others. One that has nothing shorter is left to the
 * broker. */
static void shorten_known(struct publisher *publisher, struct publication *publication)
{
	for (size_t i = 0; i < publication->outputs_count;) {
		if (!is_known_too_large(publisher, &publication->outputs[i])) {
			i++;
			continue;
		}
		atomic_fetch_add(&publisher->refused, 1);
		if (!publication->refused(publication, i, true,
					  rd_kafka_err2str(RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE)))
			return;
		i = 0;
	}
}

/* ---- refusals ---- */

/* A single event whose output is refused even alone: something shorter, or it waits. */
static void settle_refused(struct publisher *publisher, struct list *from, struct publication *publication,
			   const struct output *output)
{
	rd_kafka_resp_err_t err = output->refusal;
	size_t index = (size_t)(output - publication->outputs);
	atomic_fetch_add(&publisher->refused, 1);
	if (producer_is_too_large(err))
		remember_limit(publisher, output);
	if (!publication->refused(publication, index, producer_is_too_large(err), rd_kafka_err2str(err)))
		hold(publisher, from, publication, err);
}

/* Back to where they are taken from next: in the order in which they were. */
static void return_joined(struct publisher *publisher, struct list *to)
{
	struct list_node *node;
	while ((node = publisher->joined.head.prev) != &publisher->joined.head) {
		list_remove(&publisher->joined, node);
		list_prepend(to, node); /* from the last to the first: the order stays */
		struct publication *publication = publication_of(node);
		publication->changed(publication, PUBLICATION_RETURNED);
	}
}

/* Whether that says nothing of the topic, unless it goes on: librdkafka 2.0.2 may purge a transaction's
 * outputs because the one before has failed, and a broker that has just come back may be slow. */
static bool is_delay(rd_kafka_resp_err_t err)
{
	return producer_is_consequence(err) || err == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT;
}

static void settle_letter(struct publisher *publisher)
{
	size_t count = publisher->joined.count;
	return_joined(publisher, &publisher->letters);
	publisher->letters_batch = 1;
	if (count > 1)
		return;
	struct publication *letter = publication_of(publisher->letters.head.next);
	const struct output *output = refused_output(letter);
	rd_kafka_resp_err_t err = undelivered(letter);
	if (output)
		settle_refused(publisher, &publisher->letters, letter, output);
	else if (err && (!is_delay(err) || may_not_write_letters(publisher) ||
			 ++publisher->delayed_letters >= MAX_DELAYED_LETTERS))
		hold(publisher, &publisher->letters, letter, err);
	else if (err == RD_KAFKA_RESP_ERR__MSG_TIMED_OUT)
		postpone_letters(publisher);
}

static void settle_suspects(struct publisher *publisher)
{
	size_t count = publisher->joined.count;
	return_joined(publisher, &publisher->suspects);
	publisher->suspects_batch = count > 1 ? (count + 1) / 2 : 1;
	struct publication *first = publication_of(publisher->suspects.head.next);
	const struct output *output = refused_output(first);
	if (count == 1 && output)
		settle_refused(publisher, &publisher->suspects, first, output);
}

/* What was refused is looked for at once; whatever else it was, the broker gets time to recover. */
static void settle_aborted(struct publisher *publisher, const struct list *from)
{
	bool refusals = false, undelivereds = false;
	LIST_FOREACH (joined, &publisher->joined) {
		refusals |= refused_output(publication_of(joined)) != NULL;
		undelivereds |= undelivered(publication_of(joined)) != RD_KAFKA_RESP_ERR_NO_ERROR;
	}
	if (from == &publisher->letters) {
		settle_letter(publisher);
	} else if (refusals) {
		settle_suspects(publisher);
	} else {
		return_joined(publisher, &publisher->waiting);
		if (undelivereds)
			set_letters_apart(publisher, &publisher->waiting);
	}
	if (!refusals) {
		publisher->rights_until_us = clock_monotonic_us() + INT64_C(1000) * RIGHT_MS;
		transactor_pause(&publisher->transactor);
	}
	if (!refusals && from != &publisher->letters && !atomic_load(&publisher->refused_since_us))
		atomic_store(&publisher->refused_since_us, clock_monotonic_us());
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

/* One transaction from `from`, which needs these rights; false when there was nothing to do. */
static bool transact(struct publisher *publisher, struct list *from, size_t most, right_set needed)
{
	discard_closed(publisher, from, publisher->failed);
	if (waits_for_rights(publisher, needed))
		return false;
	struct assignment *assignment = join(publisher, from, most);
	if (!assignment)
		return false;
	if (list_empty(&publisher->joined)) {
		assignment_end(assignment, false);
		assignment_unref(assignment);
		return false;
	}
	enum transaction_outcome outcome =
		transaction_run(&publisher->transactor, &publisher->joined, assignment);
	publisher->ended_us = clock_monotonic_us();
	assignment_end(assignment, outcome == OUTCOME_OK);
	assignment_unref(assignment);
	if (outcome == OUTCOME_OK) {
		settle_committed(publisher, from);
	} else if (outcome == OUTCOME_ABORT) {
		settle_aborted(publisher, from);
	} else {
		give_up(publisher);
	}
	return true;
}

/* The next letters, when it is time; those whose assignment is over are discarded at once. */
static bool transact_letters(struct publisher *publisher)
{
	discard_closed(publisher, &publisher->letters, publisher->failed);
	if (list_empty(&publisher->letters))
		return false;
	if (may_not_write_letters(publisher))
		stop_all_with_letters(publisher);
	if (waits_for_rights(publisher, LETTERS_NEED)) {
		publisher->letters_wait = true;
		return false;
	}
	if (publisher->letters_wait) { /* it is there, or it is time to see whether it is */
		publisher->letters_wait = false;
		publisher->letters_at_us = 0;
	}
	return clock_monotonic_us() >= publisher->letters_at_us &&
	       transact(publisher, &publisher->letters, publisher->letters_batch, LETTERS_NEED);
}

/* ---- prefixes that no event carries ---- */

static void commit_prefixes(struct publisher *publisher, struct assignment *assignment)
{
	if (publisher->failed || !assignment_owes(assignment) || !assignment_begin(assignment))
		return;
	enum transaction_outcome outcome =
		transaction_run(&publisher->transactor, &publisher->joined, assignment);
	assignment_end(assignment, outcome == OUTCOME_OK);
	if (outcome == OUTCOME_OK)
		atomic_fetch_add(&publisher->committed, 1);
	else if (outcome == OUTCOME_ABORT) {
		publisher->rights_until_us = clock_monotonic_us() + INT64_C(1000) * RIGHT_MS;
		transactor_pause(&publisher->transactor);
	} else
		give_up(publisher);
}

/* After events, which may have carried them. */
static void transact_prefixes(struct publisher *publisher)
{
	if (waits_for_rights(publisher, OFFSETS_NEED))
		return;
	struct assignment *assignment = atomic_exchange(&publisher->passed, NULL);
	if (!assignment)
		return;
	commit_prefixes(publisher, assignment);
	assignment_unref(assignment);
}

/* ---- thread ---- */

static void take_ready(struct publisher *publisher)
{
	struct list ready;
	struct list_node *node;
	list_init(&ready);
	queue_take_all(&publisher->ready, &ready);
	while ((node = list_take(&ready))) {
		shorten_known(publisher, publication_of(node));
		list_append(&publisher->waiting, node);
	}
}

/* What comes alone waits for nobody, a trickle not for long. But each transaction costs two milliseconds of
 * CPU, for which librdkafka 2.0.2 spins: where more comes than can be processed, few of them are made. */
static int64_t remaining_linger_ms(const struct publisher *publisher)
{
	int64_t now_us = clock_monotonic_us(), linger_ms = publisher->settings->transaction_linger_ms;
	if (linger_ms < STRAINED_LINGER_MS &&
	    now_us < atomic_load(&publisher->strained_us) + INT64_C(1000) * STRAINED_MS)
		linger_ms = STRAINED_LINGER_MS;
	int64_t remaining_us = publisher->ended_us + INT64_C(1000) * linger_ms - now_us;
	return remaining_us > 0 ? (remaining_us + 999) / 1000 : 0;
}

/* Until there are events, for a while; how many. Letters, and prefixes that wait for a right, may go on
 * without one. */
static size_t await_events(struct publisher *publisher)
{
	bool looks = !list_empty(&publisher->letters) || atomic_load(&publisher->passed);
	int64_t patience_ms = heartbeat_rest(&publisher->transactor.heartbeat, looks ? LOOK_MS : REST_MS);
	return queue_wait(&publisher->ready, 1, patience_ms);
}

/* Under load the time that a transaction takes fills the next one; only a trickle is waited for. */
static void collect(struct publisher *publisher)
{
	if (list_empty(&publisher->waiting) && list_empty(&publisher->suspects) &&
	    await_events(publisher) > 0 && !publisher->full &&
	    atomic_load(&publisher->transactor.stop_at_us) == 0)
		queue_wait(&publisher->ready, publisher->settings->transaction_max_events,
			   remaining_linger_ms(publisher));
	take_ready(publisher);
	if (!list_empty(&publisher->letters) || may_not_write_letters(publisher))
		set_letters_apart(publisher, &publisher->waiting);
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
		heartbeat_beat(&publisher->transactor.heartbeat);
		collect(publisher);
		bool worked =
			transact(publisher, &publisher->suspects, publisher->suspects_batch, EVENTS_NEED);
		worked |= transact(publisher, &publisher->waiting,
				   publisher->settings->transaction_max_events, EVENTS_NEED);
		worked |= transact_letters(publisher);
		transact_prefixes(publisher);
		bool idle = list_empty(&publisher->waiting) && list_empty(&publisher->suspects);
		if (idle)
			atomic_store(&publisher->refused_since_us, 0);
		if (list_empty(&publisher->letters))
			atomic_store(&publisher->letters_since_us, 0);
		if (transactor_stopping(&publisher->transactor) || (idle && queue_closed(&publisher->ready)))
			break;
		if (!worked) /* waits for a prefix to move, or for nothing: keep the client served */
			serve(publisher, idle ? 0 : publisher->settings->transaction_linger_ms);
	}
	queue_take_all(&publisher->ready, &publisher->waiting);
	discard_closed(publisher, &publisher->suspects, true);
	discard_closed(publisher, &publisher->waiting, true);
	discard_closed(publisher, &publisher->letters, true);
	heartbeat_stop(&publisher->transactor.heartbeat);
}

/* ---- life ---- */

static void publisher_free(struct publisher *publisher)
{
	transactor_destroy(&publisher->transactor);
	queue_destroy(&publisher->ready);
	assignment_unref(atomic_load(&publisher->passed));
	free(publisher);
}

DEFINE_CLEANUP(struct publisher, publisher_cleanup, publisher_free)

err_t publisher_start(const struct kafka_settings *settings, struct rights_watch *rights,
		      kafka_fatal_fn fatal, void *context, int init_timeout_ms,
		      struct publisher **ret_publisher, struct err_detail *detail)
{
	_cleanup_(publisher_cleanup) struct publisher *publisher = calloc(1, sizeof *publisher);
	if (!publisher)
		abort();
	*publisher = (struct publisher){ .settings = settings, .fatal = fatal, .fatal_context = context };
	struct transactor *transactor = &publisher->transactor;
	transactor_init(transactor, settings);
	transactor->rights = rights;
	transactor->heartbeat.name = "publisher";
	queue_init(&publisher->ready, false);
	list_init(&publisher->waiting);
	list_init(&publisher->joined);
	list_init(&publisher->suspects);
	list_init(&publisher->letters);
	publisher->letters_batch = 1;
	publisher->letters_backoff = (struct backoff){ .base_ms = LETTERS_BASE_MS, .cap_ms = LETTERS_CAP_MS };
	err_t err = producer_open(&transactor->producer, settings, detail);
	if (!err)
		err = producer_claim(&transactor->producer, init_timeout_ms, detail);
	if (err)
		return err;
	heartbeat_beat(&transactor->heartbeat);
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

void publisher_set_shortage(struct publisher *publisher, size_t events)
{
	atomic_store(&publisher->strained_us, clock_monotonic_us());
	queue_set_enough(&publisher->ready, events == 0 ? SIZE_MAX : (events + 1) / 2);
}

void publisher_commit_prefixes(struct publisher *publisher, struct assignment *assignment)
{
	assignment_unref(atomic_exchange(&publisher->passed, assignment_ref(assignment)));
	queue_wake(&publisher->ready);
}

bool publisher_close(struct publisher *publisher, int64_t timeout_ms)
{
	if (!publisher || !publisher->pool)
		return true;
	atomic_store(&publisher->transactor.stop_at_us, clock_monotonic_us() + timeout_ms * 1000);
	queue_close(&publisher->ready);
	if (!pool_join_within(publisher->pool, timeout_ms + STOP_SLACK_MS))
		return false;
	publisher->pool = NULL;
	return true;
}

void publisher_stop(struct publisher *publisher)
{
	if (!publisher)
		return;
	publisher_free(publisher);
}

static int64_t refused_ms(const struct publisher *publisher)
{
	int64_t now_us = clock_monotonic_us(), since_us = atomic_load(&publisher->refused_since_us),
		letters_us = atomic_load(&publisher->letters_since_us);
	if (!since_us || (letters_us && letters_us < since_us))
		since_us = letters_us;
	return since_us ? (now_us - since_us) / 1000 : 0;
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
		.refused_ms = refused_ms(publisher),
	};
}

void publisher_describe_refusal(struct publisher *publisher, struct buf *out)
{
	transactor_describe_refusal(&publisher->transactor, out);
}

struct heartbeat *publisher_heartbeat(struct publisher *publisher)
{
	return &publisher->transactor.heartbeat;
}
