#include "kafka/source.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/pool.h"
#include "common/queue.h"
#include "kafka/fetching.h"
#include "kafka/lag.h"
#include "kafka/offset_restore.h"
#include "kafka/reason.h"

#include <assert.h>
#include <stdatomic.h>

enum {
	POLL_MS = 100,	      /* while there is something to look after */
	REST_MS = 5000,	      /* while there is not; what comes ends it */
	CREDIT_WAIT_MS = 500, /* pausing throws away what was fetched ahead: worth some waiting */
	LOOK_MS = 100,
	LAG_MS = 1000,
	ASIDE_MS = 5000,      /* between looks from aside, less while much is read */
	ASIDE_REST_MS = 8000, /* while all is read: who makes the topic again mostly shows then */
	ASIDE_LEAST_MS = 250,
	SEARCH_MS = 20000,     /* for where another topic begins */
	UNANSWERED_MS = 30000, /* until a partition without a leader is told */
	PASSED_MS = 5000,      /* between commits of prefixes that no event carries */
	PROBE_MS = 500,
	UNREACHABLE_MS = 3000, /* until it is told that no broker can be reached */
	FETCH_AT = 4,	       /* with that part of what may be read ahead in the queue the next is fetched */
	FETCHED_AHEAD = 20000, /* messages: small ones take twice their size in librdkafka's queue */
	CLIENT_CLOSE_MS = 1000,	  /* its group is left by then */
	CLOSE_TIMEOUT_MS = 20000, /* above the transaction timeout: the publisher is out by then */
};

/* A partition that is paused on its own. */
struct paused {
	int32_t partition;
	bool for_good;
};

struct source {
	const struct kafka_settings *settings;
	struct rights_watch *rights;
	struct credits *credits;
	struct source_callbacks callbacks;
	rd_kafka_t *consumer;
	struct fetching fetching; /* the source thread's */
	struct pool *pool;
	struct heartbeat heartbeat;
	_Atomic bool pausing;
	_Atomic bool stopping;
	struct topic_probe *topic_probe;
	struct stops stops;
	struct assignment *assignment;		      /* the source thread's, likewise below */
	rd_kafka_topic_partition_list_t *given;	      /* by the group */
	rd_kafka_topic_partition_list_t *fetched;     /* of these, in the assignment */
	rd_kafka_topic_partition_list_t *had_offsets; /* of which the group had offsets when they were ours */
	struct trails trails;
	bool asked;	       /* a look from aside is under way */
	int64_t next_aside_us; /* earliest time of the next one */
	int64_t last_aside_us;
	bool passed;		  /* the end of a partition, behind what is no event */
	int64_t next_passed_us;	  /* earliest time to have that committed */
	bool failing;		  /* a partition is stopped until something of it comes */
	bool finished;		  /* all that is there, and nothing has come since */
	rd_kafka_message_t *held; /* waits for credits */
	bool all_paused;
	struct paused *paused;
	size_t paused_count;
	int64_t next_look_us; /* at partitions that are paused or have to be */
	int64_t next_lag_us;
	bool unreachable;	   /* no broker can be reached */
	bool unreachable_reported; /* likewise, for longer than a connection takes that is made anew */
	int64_t unreachable_since_us;
	_Atomic int64_t oldest_ms; /* see struct assignment_lag; for any thread, likewise below */
	_Atomic double map_fill;
	_Atomic bool joined;
	_Atomic unsigned assigned, paused_now;
	_Atomic uint64_t behind, unread;
	_Atomic uint64_t recreated;
	struct board board;
};

/* Something has come, or has changed. */
static void resume_looks(struct source *source)
{
	int64_t aside_us = source->last_aside_us + (int64_t)ASIDE_MS * 1000;
	if (!source->finished)
		return;
	source->finished = false;
	if (source->next_aside_us > aside_us)
		source->next_aside_us = aside_us;
}

/* ---- pausing ---- */

static void pause_partitions(struct source *source, bool pause)
{
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *list = NULL;
	if (rd_kafka_assignment(source->consumer, &list) != RD_KAFKA_RESP_ERR_NO_ERROR || !list)
		return;
	if (!pause)
		for (size_t i = 0; i < source->paused_count; i++)
			rd_kafka_topic_partition_list_del(list, source->settings->input_topic,
							  source->paused[i].partition);
	fetching_pause(&source->fetching, list, pause);
	source->all_paused = pause;
}

static void switch_partition(struct source *source, int32_t partition, bool pause)
{
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(list, source->settings->input_topic, partition);
	if (pause || !source->all_paused)
		fetching_pause(&source->fetching, list, pause);
}

/* Before the assignment ends: see fetching.h. */
static void lift_pauses(struct source *source)
{
	size_t count = source->paused_count;
	source->paused_count = 0;
	if (source->all_paused)
		pause_partitions(source, false);
	else
		for (size_t i = 0; i < count; i++)
			switch_partition(source, source->paused[i].partition, false);
}

static void pause_partition(struct source *source, int32_t partition, bool for_good)
{
	for (size_t i = 0; i < source->paused_count; i++)
		if (source->paused[i].partition == partition) {
			source->paused[i].for_good |= for_good;
			return;
		}
	struct paused *larger = reallocarray(source->paused, source->paused_count + 1, sizeof *larger);
	if (!larger)
		abort();
	source->paused = larger;
	source->paused[source->paused_count++] = (struct paused){ partition, for_good };
	switch_partition(source, partition, true);
}

/* One that was paused for good may be read. */
static void resume_partition(struct source *source, int32_t partition)
{
	size_t kept = 0;
	for (size_t i = 0; i < source->paused_count; i++)
		if (source->paused[i].partition != partition)
			source->paused[kept++] = source->paused[i];
	source->paused_count = kept;
	switch_partition(source, partition, false);
}

/* A partition whose map is nearly full waits until the slow events at its prefix are done. */
static void check_fill(struct source *source, int32_t partition)
{
	if (!assignment_is_overfull(source->assignment, partition))
		return;
	log_warning("partition %d is paused: its completion map is nearly full, because a slow event holds "
		    "back the committed offset",
		    (int)partition);
	pause_partition(source, partition, false);
}

static void resume_emptied(struct source *source)
{
	size_t kept = 0;
	for (size_t i = 0; i < source->paused_count; i++) {
		struct paused paused = source->paused[i];
		if (!paused.for_good && source->assignment &&
		    assignment_has_emptied(source->assignment, paused.partition))
			switch_partition(source, paused.partition, false);
		else
			source->paused[kept++] = paused;
	}
	source->paused_count = kept;
}

static void obey_stops(struct source *source)
{
	int32_t partition;
	while (source->assignment && assignment_take_stopped(source->assignment, &partition)) {
		pause_partition(source, partition, false);
		stops_set(&source->stops, &(struct stop){ .partition = partition,
							  .reason = STOP_LETTERS,
							  .next = -1,
							  .low = -1,
							  .end = -1 });
	}
}

/* Those that the publisher lets go on. */
static void lift_stops(struct source *source)
{
	struct stop stop;
	for (size_t i = 0; i < source->paused_count; i++) {
		int32_t partition = source->paused[i].partition;
		if (stops_find(&source->stops, partition, &stop) && stop.reason == STOP_LETTERS &&
		    !assignment_is_stopped(source->assignment, partition))
			stops_lift(&source->stops, partition, STOP_LETTERS);
	}
}

/* ---- rebalance ---- */

static void drop_held(struct source *source)
{
	if (source->held)
		rd_kafka_message_destroy(TAKE_PTR(source->held));
}

/* What the broker did not tell of in time waits for a look that does. */
static void hold_unseen(struct source *source)
{
	unsigned held = 0;
	for (size_t i = 0; i < source->trails.count; i++) {
		const struct trail *trail = &source->trails.items[i];
		if (trail->unseen)
			pause_partition(source, trail->partition, true);
		held += trail->unseen;
	}
	if (held == 0)
		return;
	source->next_aside_us = 0;
	log_notice(
		"%u partitions of %s wait: the broker has not told yet whether they still are what was read",
		held, source->settings->input_topic);
}

/* Reads what the group has given, in a new assignment of ours. */
static void begin(struct source *source, struct offset_restore_again *again, size_t again_count)
{
	rd_kafka_topic_partition_list_t *list = source->given;
	rd_kafka_topic_partition_list_t *positions = rd_kafka_topic_partition_list_new(list->cnt);
	const struct restoring restoring = {
		.consumer = source->consumer,
		.topic = source->settings->input_topic,
		.heartbeat = &source->heartbeat,
		.stopping = &source->stopping,
		.oldest_ms = &source->oldest_ms,
		.topic_probe = source->topic_probe,
		.stops = &source->stops,
		.trails = &source->trails,
		.recreated = &source->recreated,
		.again = again,
		.again_count = again_count,
		.had_offsets = source->had_offsets,
	};
	stops_doubt(&source->stops);
	struct assignment *assignment = offset_restore_run(&restoring, list, positions);
	rd_kafka_resp_err_t err = fetching_assign(&source->fetching, positions);
	if (source->fetched)
		rd_kafka_topic_partition_list_destroy(source->fetched);
	source->fetched = positions;
	source->asked = source->failing = source->passed = false;
	if (!assignment)
		return;
	if (list->cnt > 0)
		stops_lift(&source->stops, STOP_ALL, STOP_FETCH);
	stops_settle(&source->stops);
	if (err)
		log_error("partitions cannot be assigned: %s", rd_kafka_err2str(err));
	source->assignment = assignment;
	atomic_store(&source->assigned, (unsigned)source->given->cnt);
	atomic_store(&source->joined, true);
	hold_unseen(source);
	if (atomic_load(&source->pausing))
		pause_partitions(source, true);
	log_info("assigned %d partitions of %s", list->cnt, source->settings->input_topic);
}

/* Stops reading; true when all that was in flight is finished. The caller releases the assignment. */
static bool end(struct source *source, bool lost)
{
	struct assignment *assignment = source->assignment;
	drop_held(source);
	bool stopping = atomic_load(&source->stopping); /* then whatever may finish has had its time */
	bool drained =
		!lost && assignment_drain(assignment, stopping ? 0 : source->settings->drain_on_revoke_ms);
	if (!assignment_close(assignment, CLOSE_TIMEOUT_MS))
		log_warning("the broker has not ended the transaction of the former assignment yet");
	source->assignment = NULL;
	atomic_store(&source->assigned, 0);
	return drained;
}

static void remember_offsets(struct source *source, struct assignment *assignment)
{
	for (int i = 0; i < source->given->cnt; i++) {
		int32_t partition = source->given->elems[i].partition;
		const char *topic = source->settings->input_topic;
		if (assignment_has_committed(assignment, partition) &&
		    !rd_kafka_topic_partition_list_find(source->had_offsets, topic, partition))
			rd_kafka_topic_partition_list_add(source->had_offsets, topic, partition);
	}
}

/* What the group gave before is over. */
static void let_go(struct source *source, bool lost)
{
	struct assignment *assignment = source->assignment;
	drop_held(source);
	atomic_store(&source->joined, false);
	if (assignment) {
		bool drained = end(source, lost);
		remember_offsets(source, assignment);
		log_info("partitions of %s %s%s", source->settings->input_topic, lost ? "lost" : "revoked",
			 drained ? "" : "; the next owner processes its events in flight");
		assignment_unref(assignment);
	}
	lift_pauses(source);
	trails_clear(&source->trails);
}

/* librdkafka 2.0.2 may give partitions without having taken those of before, where a member that has just got
 * some is thrown out of the group. */
static void on_assign(struct source *source, const rd_kafka_topic_partition_list_t *list)
{
	if (source->assignment)
		let_go(source, true);
	if (source->given)
		rd_kafka_topic_partition_list_destroy(source->given);
	source->given = rd_kafka_topic_partition_list_copy(list);
	begin(source, NULL, 0);
}

static void on_revoke(struct source *source)
{
	let_go(source, rd_kafka_assignment_lost(source->consumer));
	fetching_assign(&source->fetching, NULL);
}

static void on_rebalance(rd_kafka_t *consumer, rd_kafka_resp_err_t err, rd_kafka_topic_partition_list_t *list,
			 void *opaque)
{
	struct source *source = opaque;
	heartbeat_waiting(&source->heartbeat, "Kafka rebalance");
	if (err == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS)
		on_assign(source, list);
	else
		on_revoke(source);
	resume_looks(source);
	heartbeat_beat(&source->heartbeat);
	rd_kafka_yield(consumer); /* there is something to look after */
}

/* ---- messages ---- */

static str_t message_text(const void *data, size_t len)
{
	return data ? (str_t){ data, len } : STR_NONE;
}

static size_t message_bytes(const rd_kafka_message_t *message)
{
	return message->len + message->key_len;
}

/* Something of the partition has come. */
static void lift_failure(struct source *source, int32_t partition)
{
	bool lifted = stops_lift(&source->stops, partition, STOP_UNREADABLE);
	if (stops_lift(&source->stops, partition, STOP_FETCH) || lifted)
		log_notice("partition %d of %s resumes", (int)partition, source->settings->input_topic);
}

/* Hands a message on for which credits are taken, and lets go of it. */
static void deliver(struct source *source, rd_kafka_message_t *message, size_t credit_bytes)
{
	const struct witness witness = { message->offset, witness_sign(message) };
	enum offsets_arrival arrival =
		assignment_arrive(source->assignment, message->partition, message->offset,
				  kafka_written_ms(message), witness.sign);
	if (arrival != OFFSETS_STALE)
		trails_note(&source->trails, message->partition, witness);
	resume_looks(source);
	if (source->failing)
		lift_failure(source, message->partition);
	if (arrival != OFFSETS_FRESH) {
		credits_return(source->credits, credit_bytes);
		rd_kafka_message_destroy(message);
		return;
	}
	rd_kafka_headers_t *headers = NULL;
	if (rd_kafka_message_headers(message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR)
		headers = NULL;
	struct source_message event = {
		.assignment = source->assignment,
		.partition = message->partition,
		.offset = message->offset,
		.key = message_text(message->key, message->key_len),
		.value = message_text(message->payload, message->len),
		.headers = headers,
		.credit_bytes = credit_bytes,
	};
	source->callbacks.message(&event, source->callbacks.context);
	check_fill(source, message->partition);
	rd_kafka_message_destroy(message);
}

/* Delivers the held message when there is room for it; true when none is held any more. Once paused, there
 * has to be room for more than one, since every resumption fetches anew. */
static bool deliver_held(struct source *source)
{
	size_t credit_bytes;
	if (!source->held)
		return true;
	if (source->all_paused && !credits_wait_quarter(source->credits, CREDIT_WAIT_MS))
		return false;
	if (!credits_take(source->credits, message_bytes(source->held), CREDIT_WAIT_MS, &credit_bytes))
		return false;
	deliver(source, TAKE_PTR(source->held), credit_bytes);
	return true;
}

static void report_fatal(struct source *source)
{
	char reason[256];
	rd_kafka_resp_err_t err = rd_kafka_fatal_error(source->consumer, reason, sizeof reason);
	char message[512];
	if (err == RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID) {
		snprintf(message, sizeof message,
			 "another instance named \"%s\" has joined the group %s, or the broker was restarted "
			 "while this instance joined; if there is another instance, give each its own "
			 "kafka.instance_id",
			 source->settings->instance_id, source->settings->group_id);
		source->callbacks.fatal(ERR_KAFKA_FENCED, message, source->callbacks.context);
	} else {
		snprintf(message, sizeof message, "the Kafka consumer failed permanently: %s", reason);
		source->callbacks.fatal(ERR_KAFKA_FATAL, message, source->callbacks.context);
	}
}

/* The broker, or the client, does not give what is there; until something comes after all. */
static void report_failing(struct source *source, const rd_kafka_message_t *message, enum stop_reason reason)
{
	int32_t partition = message->partition < 0 ? STOP_ALL : message->partition;
	stops_set(&source->stops, &(struct stop){ .partition = partition,
						  .reason = reason,
						  .next = message->offset,
						  .low = -1,
						  .end = -1,
						  .err = message->err });
	source->failing = true;
	resume_looks(source);
}

/* The consumer fetches the partition no more. A look from aside tells why. */
static void note_out_of_range(struct source *source, int32_t partition)
{
	struct trail *trail = trails_find(&source->trails, partition);
	pause_partition(source, partition, true);
	if (!trail)
		return;
	trail->out_of_range = true;
	source->next_aside_us = 0;
}

/* Comes behind all that was fetched of the partition. What was put back, or is held, is fetched anew, and so
 * is the end. */
static void pass_end(struct source *source, int32_t partition, int64_t end)
{
	if (!source->assignment || source->held || source->all_paused || atomic_load(&source->pausing) ||
	    !assignment_pass(source->assignment, partition, end))
		return;
	trails_pass(&source->trails, partition, end);
	source->passed = true;
}

/* An event that is under way or comes soon takes it along: only the last one before a silence does not. */
static void commit_passed(struct source *source)
{
	int64_t now_us = clock_monotonic_us();
	if (!source->passed || source->unreachable || now_us < source->next_passed_us ||
	    atomic_load(&source->pausing))
		return;
	if (!assignment_owes(source->assignment))
		return;
	source->next_passed_us = now_us + (int64_t)PASSED_MS * 1000;
	source->callbacks.passed(source->assignment, source->callbacks.context);
}

static void handle_error(struct source *source, const rd_kafka_message_t *message)
{
	switch (message->err) {
	case RD_KAFKA_RESP_ERR__PARTITION_EOF:
		pass_end(source, message->partition, message->offset);
		return;
	case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
	case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
		note_out_of_range(source, message->partition);
		return;
	case RD_KAFKA_RESP_ERR__BAD_COMPRESSION: /* asked for again and again, and never passed by */
	case RD_KAFKA_RESP_ERR__BAD_MSG:
		report_failing(source, message, STOP_UNREADABLE);
		return;
	case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED: /* asked for again and again */
		rights_watch_set(source->rights, RIGHT_READ_GROUP, true);
		return;
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		rights_watch_set(source->rights, RIGHT_READ_INPUT, true);
		report_failing(source, message, STOP_FETCH);
		return;
	case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
		report_failing(source, message, STOP_FETCH);
		return;
	case RD_KAFKA_RESP_ERR__FATAL:
		report_fatal(source);
		return;
	case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
	case RD_KAFKA_RESP_ERR__TRANSPORT:
		heartbeat_waiting(&source->heartbeat, "Kafka broker");
		return;
	default:
		log_warning("consumer: %s", rd_kafka_message_errstr(message));
	}
}

static void on_error(rd_kafka_t *client, int err, const char *reason, void *opaque)
{
	struct source *source = opaque;
	rd_kafka_yield(client);
	if (err == RD_KAFKA_RESP_ERR__FATAL)
		report_fatal(source);
	else if (err != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
		log_debug("consumer: %s", reason);
	else if (!source->unreachable) {
		source->unreachable = true;
		source->unreachable_since_us = clock_monotonic_us();
	}
}

/* Brokers close connections, such as those whose token has come to its end, and the next one is made at once:
 * that is no news. */
static void report_unreachable(struct source *source)
{
	char known[KAFKA_REASON_SIZE];
	if (source->unreachable_reported ||
	    clock_monotonic_us() < source->unreachable_since_us + INT64_C(1000) * UNREACHABLE_MS)
		return;
	log_warning("no Kafka broker can be reached: %s",
		    kafka_reason(known) ? known : "all connections are down");
	source->unreachable_reported = true;
}

/* The client tells when its last broker is gone, but not when the first is back: so it is asked. */
static void look_for_broker(struct source *source)
{
	const struct rd_kafka_metadata *metadata;
	if (!source->unreachable)
		return;
	heartbeat_waiting(&source->heartbeat, "Kafka broker");
	if (rd_kafka_metadata(source->consumer, 0, NULL, &metadata, PROBE_MS) != RD_KAFKA_RESP_ERR_NO_ERROR) {
		report_unreachable(source);
		return;
	}
	rd_kafka_metadata_destroy(metadata);
	source->unreachable = false;
	kafka_reason_forget();
	if (source->unreachable_reported)
		log_notice("a Kafka broker can be reached again");
	source->unreachable_reported = false;
}

/* A message that slipped past a pause is fetched again: it has not arrived, so it is not lost either way. */
static void put_back(const rd_kafka_message_t *message)
{
	rd_kafka_seek(message->rkt, message->partition, message->offset, 0);
}

/* ---- the group ---- */

static err_t subscribe(struct source *source, struct err_detail *detail)
{
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *topics =
		rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(topics, source->settings->input_topic, RD_KAFKA_PARTITION_UA);
	rd_kafka_resp_err_t err = rd_kafka_subscribe(source->consumer, topics);
	if (err)
		return err_fail(detail, ERR_KAFKA_TOPIC, "topic \"%s\" cannot be subscribed to: %s",
				source->settings->input_topic, rd_kafka_err2str(err));
	return ERR_OK;
}

/* Whoever leaves the group and comes back makes it hand out all partitions that there are. */
static void join_anew(struct source *source, int32_t uncovered)
{
	struct err_detail detail;
	log_notice("partition %d of %s is assigned to no instance, because it was created while they "
		   "restarted: rejoining the group, so that all partitions are assigned",
		   (int)uncovered, source->settings->input_topic);
	rd_kafka_unsubscribe(source->consumer);
	err_t err = subscribe(source, &detail);
	if (err)
		source->callbacks.fatal(err, detail.message, source->callbacks.context);
}

/* ---- looks from aside ---- */

/* Where the topic was made again while it was read: what arrived of it since, and is finished, is done. */
static void find_beginning(struct source *source, const struct topic_probe_answer *answer,
			   struct offset_restore_again *again, int64_t *ret_since)
{
	const struct trail *trail = trails_find(&source->trails, answer->question.partition);
	heartbeat_waiting(&source->heartbeat, "Kafka broker");
	kafka_count_as_poll(source->consumer); /* of many partitions each takes its time */
	size_t present = topic_probe_count_present(source->topic_probe, trail->partition, trail->arrivals,
						   trail->count, SEARCH_MS);
	*again = (struct offset_restore_again){ .partition = trail->partition, .low = answer->low };
	*ret_since = present ? trail->arrivals[trail->count - present].offset : INT64_MAX;
	atomic_fetch_add(&source->recreated, 1);
	log_warning("partition %d of %s was deleted and created again while it was being read: it is read "
		    "from its start, offset %lld%s",
		    (int)trail->partition, source->settings->input_topic, (long long)answer->low,
		    present ? "; events that were already read are not processed again" : "");
}

/* Ends the assignment and begins another one, in the same generation. */
static void begin_again(struct source *source, const struct topic_probe_answer *answers, size_t count)
{
	struct offset_restore_again *again = calloc(count + 1, sizeof *again);
	_cleanup_(cleanup_free) int64_t *since = calloc(count + 1, sizeof *since);
	struct assignment *assignment = source->assignment;
	size_t used = 0;
	if (!again || !since)
		abort();
	for (size_t i = 0; i < count; i++)
		if (answers[i].identity == IDENTITY_RECREATED) {
			find_beginning(source, &answers[i], &again[used], &since[used]);
			used++;
		}
	end(source, false);
	for (size_t i = 0; i < used; i++)
		again[i].offsets =
			assignment_begin_again(assignment, again[i].partition, again[i].low, since[i]);
	assignment_unref(assignment);
	lift_pauses(source);
	begin(source, again, used);
	for (size_t i = 0; i < used; i++)
		offsets_free(again[i].offsets);
	free(again);
}

/* Its leader, or the right to read it, is away for long, while the broker is not. */
static void note_unanswered(struct source *source, struct trail *trail,
			    const struct topic_probe_answer *answer)
{
	int64_t now_us = clock_monotonic_us();
	if (rights_are_missing(answer->err))
		rights_watch_doubt(source->rights);
	if (!trail->unanswered_since_us)
		trail->unanswered_since_us = now_us;
	if (source->unreachable || now_us < trail->unanswered_since_us + INT64_C(1000) * UNANSWERED_MS)
		return;
	stops_set(&source->stops, &(struct stop){ .partition = trail->partition,
						  .reason = STOP_FETCH,
						  .next = trail->next,
						  .low = trail->low,
						  .end = trail->end,
						  .err = answer->err });
	source->failing = true;
}

static void stop_by_answer(struct source *source, const struct topic_probe_answer *answer)
{
	bool deleted = answer->identity == IDENTITY_DELETED;
	pause_partition(source, answer->question.partition, true);
	stops_set(&source->stops, &(struct stop){ .partition = answer->question.partition,
						  .reason = deleted ? STOP_DELETED : STOP_DIVERGED,
						  .next = answer->question.next,
						  .low = answer->low,
						  .end = answer->end });
}

/* True when the partition has to be begun again. That what was not read is gone is for the consumer to say,
 * which knows what was no event. */
static bool obey_answer(struct source *source, const struct topic_probe_answer *answer)
{
	struct trail *trail = trails_find(&source->trails, answer->question.partition);
	struct stop stop;
	if (!trail)
		return false;
	if (answer->identity == IDENTITY_UNKNOWN) {
		note_unanswered(source, trail, answer);
		return false;
	}
	bool stopped = stops_find(&source->stops, trail->partition, &stop), unseen = trail->unseen;
	trail->unseen = false;
	trail->unanswered_since_us = 0;
	trail->low = answer->low;
	trail->end = answer->end;
	if (stopped && stop.reason == STOP_FETCH && (answer->question.witness.sign || unseen))
		lift_failure(source, trail->partition);
	if (stopped && stop.reason == STOP_MAP)
		return false;
	bool stands = trail->out_of_range ||
		      (stopped && (stop.reason == STOP_DELETED || stop.reason == STOP_DIVERGED));
	switch (answer->identity) {
	case IDENTITY_RECREATED:
		return true;
	case IDENTITY_DELETED:
		if (stands)
			stop_by_answer(source, answer);
		else if (unseen)
			resume_partition(source, trail->partition);
		return false;
	case IDENTITY_DIVERGED:
		stop_by_answer(source, answer);
		return false;
	default:
		trails_confirm(&source->trails, trail);
		if (unseen && !stands)
			resume_partition(source, trail->partition);
		return stands;
	}
}

static void take_answers(struct source *source)
{
	struct topic_probe_answer *answers;
	size_t count;
	bool again = false;
	if (!source->asked || !topic_probe_take(source->topic_probe, 0, &answers, &count))
		return;
	source->asked = false;
	for (size_t i = 0; i < count; i++)
		again |= obey_answer(source, &answers[i]);
	if (again)
		begin_again(source, answers, count);
	free(answers);
}

static void look_from_aside(struct source *source)
{
	int64_t now_us = clock_monotonic_us();
	int64_t least_us = source->last_aside_us + (int64_t)ASIDE_LEAST_MS * 1000;
	if (!atomic_load(&source->pausing))
		take_answers(source);
	bool due = now_us >= source->next_aside_us || source->trails.full;
	if (source->asked || !source->assignment || !due || now_us < least_us ||
	    atomic_load(&source->pausing))
		return;
	struct topic_probe_question *questions = trails_questions(&source->trails);
	topic_probe_ask(source->topic_probe, questions, source->trails.count, source->finished);
	free(questions);
	source->asked = true;
	source->last_aside_us = now_us;
	source->next_aside_us = now_us + (int64_t)(source->finished ? ASIDE_REST_MS : ASIDE_MS) * 1000;
}

/* Every so often, not with every message: partitions that may go on, and ones that must not. */
static void look_after_partitions(struct source *source)
{
	int64_t now_us = clock_monotonic_us();
	if (now_us < source->next_look_us)
		return;
	source->next_look_us = now_us + (int64_t)LOOK_MS * 1000;
	obey_stops(source);
	if (source->assignment) {
		lift_stops(source);
		look_from_aside(source);
	}
	if (source->assignment)
		commit_passed(source);
	resume_emptied(source);
	int32_t uncovered = topic_probe_take_uncovered(source->topic_probe);
	if (uncovered >= 0 && source->assignment && !atomic_load(&source->pausing))
		join_anew(source, uncovered);
}

/* Partitions that wait, and are not stopped. */
static unsigned count_waiting(struct source *source)
{
	unsigned count = 0;
	struct stop stop;
	for (size_t i = 0; i < source->paused_count; i++)
		count += !stops_find(&source->stops, source->paused[i].partition, &stop);
	return count;
}

static bool is_waiting(const struct source *source, int32_t partition)
{
	size_t i = 0;
	while (i < source->paused_count && source->paused[i].partition != partition)
		i++;
	return i < source->paused_count;
}

/* How each partition of the assignment stands, ascending; but for how far it is behind. */
static struct partition_standing *find_standings(struct source *source, size_t count)
{
	struct partition_standing *standings = calloc(count ? count : 1, sizeof *standings);
	if (!standings)
		abort();
	rd_kafka_topic_partition_list_sort(source->given, NULL, NULL);
	for (size_t i = 0; i < count; i++) {
		int32_t partition = source->given->elems[i].partition;
		struct assignment_lag lag;
		struct stop stop;
		assignment_lag(source->assignment, partition, &lag);
		standings[i] = (struct partition_standing){ .partition = partition,
							    .state = PARTITION_READ,
							    .oldest_ms = lag.oldest_ms,
							    .fill = lag.fill };
		if (stops_find(&source->stops, partition, &stop)) {
			standings[i].state = PARTITION_STOPPED;
			if (stop.since_ms < lag.oldest_ms)
				standings[i].oldest_ms = stop.since_ms;
			if (stop.next >= 0 && stop.end > stop.next)
				standings[i].behind = (uint64_t)(stop.end - stop.next);
		} else if (is_waiting(source, partition)) {
			standings[i].state = PARTITION_WAITS;
		}
	}
	return standings;
}

static void measure_lag(struct source *source)
{
	_cleanup_(cleanup_free) struct partition_standing *standings = NULL;
	size_t count = source->assignment ? (size_t)source->given->cnt : 0;
	struct stops_sum stops;
	struct lag unfinished = { 0 };
	int64_t oldest_ms = INT64_MAX;
	double fill = 0;
	int64_t now_us = clock_monotonic_us();
	if (now_us < source->next_lag_us)
		return;
	source->next_lag_us = now_us + (int64_t)LAG_MS * 1000;
	if (count > 0) {
		standings = find_standings(source, count);
		lag_measure(source->consumer, source->fetched, source->assignment, &source->trails, standings,
			    count, &unfinished);
	}
	for (size_t i = 0; i < count; i++) {
		oldest_ms = standings[i].oldest_ms < oldest_ms ? standings[i].oldest_ms : oldest_ms;
		fill = standings[i].fill > fill ? standings[i].fill : fill;
	}
	board_write(&source->board, standings, count);
	stops_sum(&source->stops, &stops);
	source->finished = unfinished.behind == 0 && stops.partitions == 0 && !stops.any;
	atomic_store(&source->oldest_ms, stops.oldest_ms < oldest_ms ? stops.oldest_ms : oldest_ms);
	atomic_store(&source->map_fill, fill);
	atomic_store(&source->paused_now, count_waiting(source));
	atomic_store(&source->behind, unfinished.behind + stops.behind);
	atomic_store(&source->unread, unfinished.unread + stops.behind);
}

/* What is to be read now: all, nothing, or all but what is paused by itself. */
static void set_pauses(struct source *source)
{
	bool pausing = atomic_load(&source->pausing);
	if (pausing)
		drop_held(source); /* has not arrived: the next start reads it again */
	bool blocked = pausing || !deliver_held(source);
	if (blocked != source->all_paused)
		pause_partitions(source, blocked);
	look_after_partitions(source);
	measure_lag(source);
}

/* For how long nothing has to be looked after unless something comes. */
static int rest_ms(const struct source *source)
{
	if (source->held)
		return 0;
	if (!source->assignment || !source->finished || source->unreachable || source->failing ||
	    source->all_paused || source->paused_count > 0 || atomic_load(&source->pausing))
		return POLL_MS;
	int64_t until_aside_us = source->next_aside_us - clock_monotonic_us();
	if (until_aside_us < INT64_C(1000) * POLL_MS)
		return POLL_MS;
	return until_aside_us < INT64_C(1000) * REST_MS ? (int)(until_aside_us / 1000) + 1 : REST_MS;
}

/* One round: deliver what is held, else fetch. Paused, the poll only serves the group. */
static void run_once(struct source *source)
{
	set_pauses(source);
	int patience_ms = rest_ms(source);
	if (patience_ms > POLL_MS)
		patience_ms = (int)heartbeat_rest(&source->heartbeat, patience_ms);
	rd_kafka_message_t *message = rd_kafka_consumer_poll(source->consumer, patience_ms);
	if (!message) {
		source->next_look_us = 0; /* what has ended the poll may be something to look after */
		if (!source->assignment)
			kafka_nudge(source->consumer);
		return;
	}
	if (message->err) {
		handle_error(source, message);
	} else if (source->all_paused) {
		put_back(message);
	} else {
		source->held = message;
		fetching_take(&source->fetching, source->given, message_bytes(message));
		return;
	}
	rd_kafka_message_destroy(message);
}

static void source_main(void *context, unsigned index)
{
	struct source *source = context;
	(void)index;
	while (!atomic_load(&source->stopping)) {
		if (!source->unreachable)
			heartbeat_beat(&source->heartbeat);
		look_for_broker(source);
		run_once(source);
	}
	heartbeat_waiting(&source->heartbeat, "Kafka consumer close");
	drop_held(source);
	topic_probe_close(source->topic_probe); /* whose answers would end the close, too */
	rd_kafka_consumer_close(source->consumer);
	heartbeat_stop(&source->heartbeat);
}

/* ---- life ---- */

static err_t build_conf(const struct kafka_settings *settings, rd_kafka_conf_t **ret_conf,
			struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	const struct {
		const char *name, *value;
	} fixed[] = {
		{ "group.id", settings->group_id },
		{ "group.instance.id", settings->instance_id },
		{ "isolation.level", "read_committed" },
		{ "enable.auto.commit", "false" },
		{ "enable.auto.offset.store", "false" },
		{ "auto.offset.reset", "error" },
		{ "enable.partition.eof", "true" },
		{ "partition.assignment.strategy", "range,roundrobin" },
	};
	const struct {
		const char *name;
		long long value;
	} numbers[] = {
		{ "queued.max.messages.kbytes", (long long)(settings->read_ahead_bytes / FETCH_AT / 1024) },
		{ "queued.min.messages", FETCHED_AHEAD },
		{ "fetch.max.bytes", (long long)settings->max_message_bytes + (1 << 20) },
		{ "message.max.bytes", (long long)settings->max_message_bytes },
		{ "receive.message.max.bytes", kafka_response_limit(settings) },
		{ "max.partition.fetch.bytes", 1 << 19 },
	};
	err_t err = kafka_conf_new(settings, &conf, detail);
	for (size_t i = 0; !err && i < sizeof fixed / sizeof fixed[0]; i++)
		err = kafka_conf_set(conf, fixed[i].name, fixed[i].value, detail);
	for (size_t i = 0; !err && i < sizeof numbers / sizeof numbers[0]; i++)
		err = kafka_conf_set_int(conf, numbers[i].name, numbers[i].value, detail);
	if (!err)
		err = kafka_conf_set_liveness(conf, settings, detail);
	if (!err)
		*ret_conf = TAKE_PTR(conf);
	return err;
}

static void release(struct source *source)
{
	topic_probe_stop(source->topic_probe);
	if (source->consumer)
		kafka_client_close(source->consumer, CLIENT_CLOSE_MS);
	if (source->given)
		rd_kafka_topic_partition_list_destroy(source->given);
	if (source->fetched)
		rd_kafka_topic_partition_list_destroy(source->fetched);
	if (source->had_offsets)
		rd_kafka_topic_partition_list_destroy(source->had_offsets);
	trails_clear(&source->trails);
	stops_destroy(&source->stops);
	board_destroy(&source->board);
	free(source->paused);
	free(source);
}

err_t source_start(const struct kafka_settings *settings, struct rights_watch *rights,
		   struct credits *credits, const struct source_callbacks *callbacks,
		   struct source **ret_source, struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	err_t err = build_conf(settings, &conf, detail);
	if (err)
		return err;
	struct source *source = calloc(1, sizeof *source);
	if (!source)
		abort();
	*source = (struct source){
		.settings = settings, .rights = rights, .credits = credits, .callbacks = *callbacks
	};
	source->heartbeat.name = "source";
	source->had_offsets = rd_kafka_topic_partition_list_new(1);
	rd_kafka_conf_set_opaque(conf, source);
	rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
	rd_kafka_conf_set_error_cb(conf, on_error);
	err = kafka_client_new(RD_KAFKA_CONSUMER, &conf, &source->consumer, detail);
	if (!err)
		err = topic_probe_start(settings, settings->input_topic, source->consumer,
					&source->topic_probe, detail);
	if (!err) {
		source->fetching = (struct fetching){ .consumer = source->consumer,
						      .ahead_bytes = settings->read_ahead_bytes / FETCH_AT,
						      .ahead_messages = FETCHED_AHEAD };
		rd_kafka_poll_set_consumer(source->consumer);
		err = subscribe(source, detail);
	}
	stops_init(&source->stops, settings);
	board_init(&source->board);
	if (err) {
		release(source);
		return err;
	}
	atomic_init(&source->oldest_ms, INT64_MAX);
	heartbeat_beat(&source->heartbeat);
	source->pool = pool_start("source", 1, source_main, source);
	*ret_source = source;
	return ERR_OK;
}

rd_kafka_t *source_consumer(struct source *source)
{
	return source->consumer;
}

void source_pause(struct source *source)
{
	atomic_store(&source->pausing, true);
	kafka_end_poll(source->consumer);
}

bool source_close(struct source *source, int64_t timeout_ms)
{
	if (!source || !source->pool)
		return true;
	if (!atomic_load(&source->stopping)) {
		source_pause(
			source); /* no rest from here on: what ends it may not meet the consumer's close */
		atomic_store(&source->stopping, true);
	}
	topic_probe_close(source->topic_probe);
	if (!pool_join_within(source->pool, timeout_ms))
		return false;
	source->pool = NULL;
	return true;
}

void source_stop(struct source *source)
{
	if (!source)
		return;
	release(source);
}

void source_lag(struct source *source, struct source_lag *ret_lag)
{
	int64_t oldest_ms = atomic_load(&source->oldest_ms), now_ms = clock_wall_ms();
	double map_fill = atomic_load(&source->map_fill);
	struct stops_sum stops;
	stops_sum(&source->stops, &stops);
	*ret_lag = (struct source_lag){
		.oldest_age_ms = oldest_ms < now_ms ? now_ms - oldest_ms : 0,
		.map_fill = map_fill,
		.map_percent = (unsigned)(map_fill * 100 + 0.5),
		.joined = atomic_load(&source->joined),
		.assigned = atomic_load(&source->assigned),
		.paused = atomic_load(&source->paused_now),
		.stopped = stops.partitions,
		.stands_still = stops.any,
		.behind = atomic_load(&source->behind),
		.unread = atomic_load(&source->unread),
		.recreated = atomic_load(&source->recreated),
	};
}

size_t source_partitions(struct source *source, struct partition_standing ret_worst[BOARD_PARTITIONS])
{
	return board_read(&source->board, ret_worst);
}

void source_describe_stops(struct source *source, size_t most, struct buf *out)
{
	stops_describe(&source->stops, most, out);
}

struct heartbeat *source_heartbeat(struct source *source)
{
	return &source->heartbeat;
}
