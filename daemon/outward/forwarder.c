#include "outward/forwarder.h"

#include "common/backoff.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/pool.h"
#include "kafka/fetching.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>

enum {
	POLL_MS = 100,
	TAKE_AT_ONCE = 1000, /* messages between two looks at everything else */
	COMMIT_MS = 1000,
	LAST_COMMIT_MS = 2000, /* at the end of an assignment */
	ASK_MS = 5000,
	LOOK_AGAIN_MS = 3000, /* the broker did not say where to begin */
	RETRY_BASE_MS = 1000,
	RETRY_CAP_MS = 60000,
	RETRY_AFTER_MAX_MS = 3600000,
	LAG_MS = 1000,
	REFUSED_AGAIN_MS = 10000, /* between attempts to read what may not be read */
	WARNING_PAUSE_MS = 10000, /* a topic full of foreign messages must not flood the journal */
	CLIENT_CLOSE_MS = 1000,
};

#define FORWARDER_MAGIC 0xf0a4a4d3u
#define UNKNOWN		INT64_C(-1)

struct forwarder_partition {
	int32_t partition;
	int64_t done;  /* offset below which nothing is left to be sent; UNKNOWN before it was asked for */
	int64_t taken; /* below which everything is done or in the request */
	int64_t committed; /* as far as this thread knows */
	bool at_end;	   /* nothing was left to be read */
};

struct forwarder {
	uint32_t magic;
	struct forwarder_options options;
	struct outlet outlet;
	rd_kafka_t *consumer;
	struct fetching fetching; /* the thread's, likewise below */
	struct fetcher *fetcher;  /* any thread may interrupt it */
	struct pool *pool;
	struct heartbeat heartbeat;
	_Atomic bool stopping;

	struct forwarder_partition *partitions; /* of the assignment */
	size_t partitions_count;
	bool positioned; /* they are fetched */
	bool paused;
	int64_t next_look_us, next_commit_us, next_lag_us;

	size_t messages, items, bytes; /* of the request that is being made */
	int64_t since_us;	       /* that it has its first message */
	int64_t written_ms;	       /* when that was written */
	int32_t first_partition;       /* where it lies */
	int64_t first_offset;
	int64_t tried_us;    /* when it was first sent; 0: it was not */
	int64_t retry_at_us; /* 0: it does not wait for another try */
	struct backoff backoff;
	char logged[512];   /* why the receiver takes nothing, as the journal knows it */
	int64_t awaited_ms; /* when the message was written whose schema is waited for; 0: none is */
	bool cut;	    /* that one comes next, and has to be read again */
	int64_t warned_us;  /* when it last told of a message that cannot be read; 0: never */
	uint64_t unreadable_silently; /* since then */
	right_set refused;
	int64_t refused_us, refused_since_ms;

	pthread_mutex_t mutex; /* guards the statistics */
	struct forwarder_statistics statistics;
};

/* ---- the request ---- */

static void mark_done(struct forwarder *forwarder)
{
	for (size_t i = 0; i < forwarder->partitions_count; i++)
		forwarder->partitions[i].done = forwarder->partitions[i].taken;
}

static void reset_request(struct forwarder *forwarder)
{
	forwarder->outlet.reset(forwarder->outlet.context);
	forwarder->messages = forwarder->items = forwarder->bytes = 0;
	forwarder->tried_us = forwarder->retry_at_us = 0;
	if (forwarder->cut)
		forwarder->positioned = false;
	forwarder->cut = false;
}

static bool is_full(const struct forwarder *forwarder)
{
	return forwarder->cut || forwarder->messages >= forwarder->outlet.most_messages ||
	       forwarder->bytes >= forwarder->outlet.most_bytes;
}

static bool is_due(const struct forwarder *forwarder)
{
	int64_t now_us = clock_monotonic_us();
	if (forwarder->messages == 0 || forwarder->statistics.gone)
		return false;
	if (forwarder->tried_us)
		return now_us >= forwarder->retry_at_us;
	return is_full(forwarder) ||
	       now_us - forwarder->since_us >= INT64_C(1000) * forwarder->outlet.linger_ms;
}

static void tell_reason(struct forwarder *forwarder, const char *reason)
{
	snprintf(forwarder->statistics.reason, sizeof forwarder->statistics.reason, "%s", reason);
}

/* It was taken, with the exception of some items. */
static void finish(struct forwarder *forwarder, size_t refused)
{
	bool was_away = forwarder->statistics.away;
	if (refused > forwarder->items)
		refused = forwarder->items; /* the receiver says what it likes */
	pthread_mutex_lock(&forwarder->mutex);
	forwarder->statistics.sent += forwarder->items - refused;
	forwarder->statistics.given_up += refused;
	forwarder->statistics.away = false;
	tell_reason(forwarder, "");
	pthread_mutex_unlock(&forwarder->mutex);
	if (was_away)
		log_notice("%s goes on", forwarder->outlet.title);
	*forwarder->logged = '\0';
	backoff_reset(&forwarder->backoff);
	mark_done(forwarder);
	reset_request(forwarder);
}

static void give_up(struct forwarder *forwarder, const char *reason)
{
	log_error("%s gives up %zu of what it was to send, from partition %d, offset %" PRId64
		  " of %s on: %s",
		  forwarder->outlet.title, forwarder->items, (int)forwarder->first_partition,
		  forwarder->first_offset, forwarder->options.topic, reason);
	pthread_mutex_lock(&forwarder->mutex);
	forwarder->statistics.given_up += forwarder->items;
	pthread_mutex_unlock(&forwarder->mutex);
	mark_done(forwarder);
	reset_request(forwarder);
}

static void postpone(struct forwarder *forwarder, const struct reception_answer *answer)
{
	int64_t now_us = clock_monotonic_us();
	int64_t delay_ms = RETRY_BASE_MS / 2 + backoff_next_ms(&forwarder->backoff);
	int64_t most_ms = forwarder->outlet.give_up_after_ms;
	if (most_ms && now_us - forwarder->tried_us >= INT64_C(1000) * most_ms) {
		give_up(forwarder, answer->reason);
		return;
	}
	if (answer->after_ms > delay_ms)
		delay_ms = answer->after_ms < RETRY_AFTER_MAX_MS ? answer->after_ms : RETRY_AFTER_MAX_MS;
	if (strcmp(answer->reason, forwarder->logged) != 0)
		log_warning("%s waits, and nothing else does: %s", forwarder->outlet.title, answer->reason);
	snprintf(forwarder->logged, sizeof forwarder->logged, "%s", answer->reason);
	forwarder->retry_at_us = now_us + INT64_C(1000) * delay_ms;
	pthread_mutex_lock(&forwarder->mutex);
	forwarder->statistics.failures++;
	forwarder->statistics.away = true;
	tell_reason(forwarder, answer->reason);
	pthread_mutex_unlock(&forwarder->mutex);
}

static void end_for_good(struct forwarder *forwarder, const struct reception_answer *answer)
{
	log_error("%s ends until the next start, since the receiver wants nothing any more: %s; what is not "
		  "sent stays in its topic",
		  forwarder->outlet.title, answer->reason);
	pthread_mutex_lock(&forwarder->mutex);
	forwarder->statistics.gone = true;
	tell_reason(forwarder, answer->reason);
	pthread_mutex_unlock(&forwarder->mutex);
}

static void deliver(struct forwarder *forwarder)
{
	struct reception_answer answer = { .reception = RECEPTION_LATER, .after_ms = -1 };
	size_t refused = 0;
	if (!forwarder->tried_us)
		forwarder->tried_us = clock_monotonic_us();
	heartbeat_waiting(&forwarder->heartbeat, forwarder->outlet.dependency);
	forwarder->outlet.send(forwarder->outlet.context, forwarder->fetcher, &answer, &refused);
	kafka_count_as_poll(forwarder->consumer);
	switch (answer.reception) {
	case RECEPTION_TAKEN:
		finish(forwarder, refused);
		break;
	case RECEPTION_LATER:
		postpone(forwarder, &answer);
		break;
	case RECEPTION_REFUSED:
		give_up(forwarder, answer.reason);
		break;
	case RECEPTION_GONE:
		end_for_good(forwarder, &answer);
		break;
	case RECEPTION_STOPPED:
		break;
	}
}

/* ---- offsets ---- */

static void on_commit(rd_kafka_t *consumer, rd_kafka_resp_err_t err, rd_kafka_topic_partition_list_t *list,
		      void *opaque)
{
	struct forwarder *forwarder = opaque;
	(void)consumer, (void)list;
	assert(forwarder->magic == FORWARDER_MAGIC);
	if (!err || err == RD_KAFKA_RESP_ERR__NO_OFFSET)
		return;
	log_debug("%s: offsets were not committed: %s", forwarder->outlet.title, rd_kafka_err2str(err));
	for (size_t i = 0; i < forwarder->partitions_count; i++)
		forwarder->partitions[i].committed = UNKNOWN; /* again */
}

/* What is done and not committed; the caller destroys it. */
static rd_kafka_topic_partition_list_t *uncommitted(struct forwarder *forwarder)
{
	rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new((int)forwarder->partitions_count);
	for (size_t i = 0; i < forwarder->partitions_count; i++) {
		struct forwarder_partition *partition = &forwarder->partitions[i];
		if (partition->done == UNKNOWN || partition->done == partition->committed)
			continue;
		rd_kafka_topic_partition_list_add(list, forwarder->options.topic, partition->partition)
			->offset = partition->done;
		partition->committed = partition->done;
	}
	return list;
}

static void commit(struct forwarder *forwarder)
{
	int64_t now_us = clock_monotonic_us();
	if (now_us < forwarder->next_commit_us)
		return;
	forwarder->next_commit_us = now_us + INT64_C(1000) * COMMIT_MS;
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *list = uncommitted(forwarder);
	if (list->cnt)
		rd_kafka_commit(forwarder->consumer, list, 1);
}

/* Commits and waits for the answer; what was not committed is sent once more. */
static rd_kafka_resp_err_t commit_and_wait(struct forwarder *forwarder,
					   const rd_kafka_topic_partition_list_t *list, int timeout_ms)
{
	_cleanup_(kafka_queue_cleanup) rd_kafka_queue_t *queue = rd_kafka_queue_new(forwarder->consumer);
	rd_kafka_resp_err_t err = rd_kafka_commit_queue(forwarder->consumer, list, queue, NULL, NULL);
	if (err)
		return err;
	_cleanup_(kafka_event_cleanup) rd_kafka_event_t *event = rd_kafka_queue_poll(queue, timeout_ms);
	return event ? rd_kafka_event_error(event) : RD_KAFKA_RESP_ERR__TIMED_OUT;
}

static void commit_last(struct forwarder *forwarder)
{
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *list = uncommitted(forwarder);
	if (list->cnt)
		commit_and_wait(forwarder, list, LAST_COMMIT_MS);
}

/* ---- schemas ---- */

/* What was read before is sent, then this message is read again, and those behind it. */
static void await_schema(struct forwarder *forwarder, const rd_kafka_message_t *message, const char *reason)
{
	if (!forwarder->awaited_ms)
		log_warning("%s waits, and nothing else does: %s", forwarder->outlet.title, reason);
	forwarder->awaited_ms = kafka_written_ms(message);
	forwarder->cut = forwarder->messages > 0;
	if (!forwarder->cut)
		forwarder->positioned = false;
	forwarder->next_look_us = clock_monotonic_us() + INT64_C(1000) * LOOK_AGAIN_MS;
	pthread_mutex_lock(&forwarder->mutex);
	forwarder->statistics.away = true;
	tell_reason(forwarder, reason);
	pthread_mutex_unlock(&forwarder->mutex);
}

static void end_awaiting(struct forwarder *forwarder)
{
	if (!forwarder->awaited_ms)
		return;
	forwarder->awaited_ms = 0;
	log_notice("%s goes on", forwarder->outlet.title);
	pthread_mutex_lock(&forwarder->mutex);
	forwarder->statistics.away = false;
	tell_reason(forwarder, "");
	pthread_mutex_unlock(&forwarder->mutex);
}

/* ---- rights ---- */

/* Something is missing that others can grant. */
static void note_refused(struct forwarder *forwarder, enum right right)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	right_describe(forwarder->options.kafka, right, &text);
	if (!(forwarder->refused & RIGHT_BIT(right)))
		log_error("%s does not go on: %s", forwarder->outlet.title, text.data);
	if (!forwarder->refused)
		forwarder->refused_since_ms = clock_wall_ms();
	forwarder->refused |= RIGHT_BIT(right);
	forwarder->refused_us = clock_monotonic_us();
	pthread_mutex_lock(&forwarder->mutex);
	tell_reason(forwarder, text.data);
	pthread_mutex_unlock(&forwarder->mutex);
}

static void note_granted(struct forwarder *forwarder)
{
	if (!forwarder->refused)
		return;
	forwarder->refused = 0;
	log_notice("%s may read its topic again", forwarder->outlet.title);
	pthread_mutex_lock(&forwarder->mutex);
	tell_reason(forwarder, "");
	pthread_mutex_unlock(&forwarder->mutex);
}

/* Whoever was refused is told nothing when that ends. */
static void fetch_refused_again(struct forwarder *forwarder)
{
	int64_t now_us = clock_monotonic_us();
	if (!forwarder->refused || now_us - forwarder->refused_us < INT64_C(1000) * REFUSED_AGAIN_MS)
		return;
	forwarder->refused_us = now_us;
	forwarder->positioned = false;
}

/* ---- where to begin ---- */

static void set_paused(struct forwarder *forwarder, bool pause)
{
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *list = NULL;
	if (forwarder->paused == pause ||
	    rd_kafka_assignment(forwarder->consumer, &list) != RD_KAFKA_RESP_ERR_NO_ERROR || !list)
		return;
	fetching_pause(&forwarder->fetching, list, pause);
	forwarder->paused = pause;
}

static struct forwarder_partition *find_partition(struct forwarder *forwarder, int32_t number)
{
	for (size_t i = 0; i < forwarder->partitions_count; i++)
		if (forwarder->partitions[i].partition == number)
			return &forwarder->partitions[i];
	return NULL;
}

static rd_kafka_resp_err_t ends_of(struct forwarder *forwarder, int32_t partition, int64_t *ret_low,
				   int64_t *ret_end)
{
	kafka_count_as_poll(forwarder->consumer);
	return rd_kafka_query_watermark_offsets(forwarder->consumer, forwarder->options.topic, partition,
						ret_low, ret_end, ASK_MS);
}

/* All partitions that the topic has, with what the group has committed of each. */
static rd_kafka_resp_err_t ask_committed(struct forwarder *forwarder,
					 rd_kafka_topic_partition_list_t **ret_list)
{
	const struct rd_kafka_metadata *metadata;
	rd_kafka_topic_t *topic = rd_kafka_topic_new(forwarder->consumer, forwarder->options.topic, NULL);
	rd_kafka_resp_err_t err = rd_kafka_metadata(forwarder->consumer, 0, topic, &metadata, ASK_MS);
	rd_kafka_topic_destroy(topic);
	if (err)
		return err;
	int count = metadata->topic_cnt == 1 ? metadata->topics[0].partition_cnt : 0;
	err = metadata->topic_cnt == 1 ? metadata->topics[0].err : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
	rd_kafka_metadata_destroy(metadata);
	if (err)
		return err;
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(count);
	rd_kafka_topic_partition_list_add_range(list, forwarder->options.topic, 0, count - 1);
	kafka_count_as_poll(forwarder->consumer);
	err = rd_kafka_committed(forwarder->consumer, list, ASK_MS);
	for (int i = 0; !err && i < list->cnt; i++)
		err = list->elems[i].err;
	if (!err)
		*ret_list = TAKE_PTR(list);
	return err;
}

/* The group has never been there: it begins with what comes, in every partition, whoever reads it. */
static rd_kafka_resp_err_t begin_at_ends(struct forwarder *forwarder, rd_kafka_topic_partition_list_t *list)
{
	rd_kafka_resp_err_t err = RD_KAFKA_RESP_ERR_NO_ERROR;
	int64_t low, end;
	for (int i = 0; i < list->cnt; i++) {
		if (list->elems[i].offset >= 0)
			return RD_KAFKA_RESP_ERR_NO_ERROR;
	}
	for (int i = 0; !err && i < list->cnt; i++) {
		err = ends_of(forwarder, list->elems[i].partition, &low, &end);
		list->elems[i].offset = end;
	}
	if (!err)
		err = commit_and_wait(forwarder, list, ASK_MS);
	if (!err)
		log_notice("%s begins with what is published from now on", forwarder->outlet.title);
	return err;
}

/* Where a partition goes on that begins at `low` and ends at `end`. */
static int64_t start_of(struct forwarder *forwarder, int32_t partition, int64_t stored, int64_t low,
			int64_t end)
{
	if (stored < 0)
		return low;
	if (stored > end) {
		log_warning("%s: partition %d of %s ends at offset %" PRId64 " and was read up to %" PRId64
			    ": the topic was made again, and is read from its beginning",
			    forwarder->outlet.title, (int)partition, forwarder->options.topic, end, stored);
		return low;
	}
	if (stored < low) {
		log_error("%s: offsets %" PRId64 " to %" PRId64
			  " of partition %d of %s were deleted before they were sent",
			  forwarder->outlet.title, stored, low - 1, (int)partition, forwarder->options.topic);
		pthread_mutex_lock(&forwarder->mutex);
		forwarder->statistics.lost += (uint64_t)(low - stored);
		pthread_mutex_unlock(&forwarder->mutex);
		return low;
	}
	return stored;
}

static rd_kafka_resp_err_t find_starts(struct forwarder *forwarder)
{
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *list = NULL;
	int64_t low, end;
	rd_kafka_resp_err_t err = ask_committed(forwarder, &list);
	if (!err)
		err = begin_at_ends(forwarder, list);
	for (size_t i = 0; !err && i < forwarder->partitions_count; i++) {
		struct forwarder_partition *partition = &forwarder->partitions[i];
		const rd_kafka_topic_partition_t *stored = rd_kafka_topic_partition_list_find(
			list, forwarder->options.topic, partition->partition);
		if (!stored) /* just made: not in what is known of the topic yet */
			return RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
		err = ends_of(forwarder, partition->partition, &low, &end);
		if (err)
			break;
		int64_t from = partition->done == UNKNOWN ? stored->offset : partition->done;
		partition->committed = stored->offset;
		partition->done = start_of(forwarder, partition->partition, from, low, end);
	}
	return err;
}

/* Begins anew with what is not done, where that is known. */
static void take_positions(struct forwarder *forwarder)
{
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new((int)forwarder->partitions_count);
	heartbeat_waiting(&forwarder->heartbeat, "Kafka broker");
	rd_kafka_resp_err_t err = find_starts(forwarder);
	if (err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
		note_refused(forwarder, forwarder->options.group_right);
	else if (err == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED)
		note_refused(forwarder, forwarder->options.topic_right);
	set_paused(forwarder, false);
	for (size_t i = 0; !err && i < forwarder->partitions_count; i++) {
		struct forwarder_partition *partition = &forwarder->partitions[i];
		partition->taken = partition->done;
		partition->at_end = false;
		rd_kafka_topic_partition_list_add(list, forwarder->options.topic, partition->partition)
			->offset = partition->done;
	}
	if (!err) {
		reset_request(forwarder);
		err = fetching_assign(&forwarder->fetching, list);
	}
	forwarder->positioned = !err;
	if (err) {
		log_debug("%s: where to begin is not known: %s", forwarder->outlet.title,
			  rd_kafka_err2str(err));
		forwarder->next_look_us = clock_monotonic_us() + INT64_C(1000) * LOOK_AGAIN_MS;
	}
}

static void leave_partitions(struct forwarder *forwarder)
{
	end_awaiting(forwarder);
	free(TAKE_PTR(forwarder->partitions));
	forwarder->partitions_count = 0;
	forwarder->positioned = false;
	reset_request(forwarder);
}

/* The partitions are only noted: the broker may take longer to say where they start than a rebalance may. */
static void on_assign(struct forwarder *forwarder, const rd_kafka_topic_partition_list_t *list)
{
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *none =
		rd_kafka_topic_partition_list_new(0);
	leave_partitions(forwarder);
	forwarder->partitions = calloc((size_t)list->cnt + 1, sizeof *forwarder->partitions);
	if (!forwarder->partitions)
		abort();
	for (int i = 0; i < list->cnt; i++)
		forwarder->partitions[i] = (struct forwarder_partition){ list->elems[i].partition, UNKNOWN,
									 UNKNOWN, UNKNOWN, false };
	forwarder->partitions_count = (size_t)list->cnt;
	set_paused(forwarder, false);
	fetching_assign(&forwarder->fetching, none);
	log_info("%s: assigned %d partitions", forwarder->outlet.title, list->cnt);
}

static void on_revoke(struct forwarder *forwarder)
{
	if (!rd_kafka_assignment_lost(forwarder->consumer))
		commit_last(forwarder);
	leave_partitions(forwarder);
	set_paused(forwarder, false);
	fetching_assign(&forwarder->fetching, NULL);
}

static void on_rebalance(rd_kafka_t *consumer, rd_kafka_resp_err_t err, rd_kafka_topic_partition_list_t *list,
			 void *opaque)
{
	struct forwarder *forwarder = opaque;
	(void)consumer;
	assert(forwarder->magic == FORWARDER_MAGIC);
	if (err == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS)
		on_assign(forwarder, list);
	else
		on_revoke(forwarder);
	pthread_mutex_lock(&forwarder->mutex);
	forwarder->statistics.assigned = (unsigned)forwarder->partitions_count;
	pthread_mutex_unlock(&forwarder->mutex);
}

/* ---- messages ---- */

static void tell_unreadable(struct forwarder *forwarder, const rd_kafka_message_t *message,
			    const char *reason)
{
	int64_t now_us = clock_monotonic_us();
	if (forwarder->warned_us && now_us - forwarder->warned_us < INT64_C(1000) * WARNING_PAUSE_MS) {
		forwarder->unreadable_silently++;
		return;
	}
	log_warning("%s passes by partition %d of %s, offset %" PRId64
		    ", which cannot be read: %s (and %" PRIu64 " before it)",
		    forwarder->outlet.title, (int)message->partition, forwarder->options.topic,
		    message->offset, reason, forwarder->unreadable_silently);
	forwarder->warned_us = now_us;
	forwarder->unreadable_silently = 0;
}

static void read_message(struct forwarder *forwarder, struct forwarder_partition *partition,
			 const rd_kafka_message_t *message)
{
	size_t items = 0, bytes = 0;
	struct err_detail detail = { "" };
	if (message->offset < partition->taken)
		return;
	enum outlet_take take =
		forwarder->outlet.take(forwarder->outlet.context, message, &items, &bytes, &detail);
	if (take == OUTLET_AWAITED) {
		await_schema(forwarder, message, detail.message);
		return;
	}
	end_awaiting(forwarder);
	partition->taken = message->offset + 1;
	partition->at_end = false;
	if (take == OUTLET_TAKEN) {
		if (forwarder->messages++ == 0) {
			forwarder->since_us = clock_monotonic_us();
			forwarder->written_ms = kafka_written_ms(message);
			forwarder->first_partition = message->partition;
			forwarder->first_offset = message->offset;
		}
		forwarder->items += items;
		forwarder->bytes += bytes;
		return;
	}
	if (take == OUTLET_UNREADABLE)
		tell_unreadable(forwarder, message, detail.message);
	pthread_mutex_lock(&forwarder->mutex);
	if (take == OUTLET_UNREADABLE)
		forwarder->statistics.unreadable++;
	else
		forwarder->statistics.passed++;
	pthread_mutex_unlock(&forwarder->mutex);
}

static void handle_error(struct forwarder *forwarder, const rd_kafka_message_t *message)
{
	struct forwarder_partition *partition =
		message->rkt ? find_partition(forwarder, message->partition) : NULL;
	switch (message->err) {
	case RD_KAFKA_RESP_ERR__PARTITION_EOF:
		note_granted(forwarder);
		if (partition && forwarder->positioned && message->offset >= partition->taken) {
			partition->taken = message->offset; /* behind marks of transactions */
			partition->at_end = true;
		}
		break;
	case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
	case RD_KAFKA_RESP_ERR__TRANSPORT:
		heartbeat_waiting(&forwarder->heartbeat, "Kafka broker");
		break;
	case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
		note_refused(forwarder, forwarder->options.group_right);
		break;
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		note_refused(forwarder, forwarder->options.topic_right);
		break;
	case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
	case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
		/* deleted while it was read, or another topic: where it begins is asked again */
		forwarder->positioned = false;
		break;
	default:
		log_debug("%s: %s", forwarder->outlet.title, rd_kafka_message_errstr(message));
	}
}

static bool poll_once(struct forwarder *forwarder, int timeout_ms)
{
	rd_kafka_message_t *message = rd_kafka_consumer_poll(forwarder->consumer, timeout_ms);
	if (!message)
		return false;
	struct forwarder_partition *partition =
		message->err ? NULL : find_partition(forwarder, message->partition);
	if (message->err) {
		handle_error(forwarder, message);
	} else if (partition && forwarder->positioned) {
		note_granted(forwarder);
		if (is_full(forwarder))
			forwarder->positioned = false; /* came in spite of the pause: read again */
		else
			read_message(forwarder, partition, message);
	}
	rd_kafka_message_destroy(message);
	return true;
}

/* What is passed by is done at once where nothing before it waits. */
static void poll_some(struct forwarder *forwarder)
{
	bool waits = forwarder->tried_us || forwarder->statistics.gone;
	if (is_full(forwarder) && !waits)
		return; /* first of all it is sent */
	if (poll_once(forwarder, POLL_MS) && !waits)
		for (int i = 1; i < TAKE_AT_ONCE && !is_full(forwarder) && poll_once(forwarder, 0); i++)
			;
	if (forwarder->messages == 0)
		mark_done(forwarder);
}

/* ---- lag ---- */

static uint64_t behind(struct forwarder *forwarder, const struct forwarder_partition *partition)
{
	int64_t low, end;
	if (partition->done == UNKNOWN || (partition->at_end && partition->done == partition->taken) ||
	    rd_kafka_get_watermark_offsets(forwarder->consumer, forwarder->options.topic,
					   partition->partition, &low, &end) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return 0;
	return end > partition->done ? (uint64_t)(end - partition->done) : 0;
}

static void measure(struct forwarder *forwarder)
{
	int64_t now_us = clock_monotonic_us();
	uint64_t offsets = 0;
	if (now_us < forwarder->next_lag_us)
		return;
	forwarder->next_lag_us = now_us + INT64_C(1000) * LAG_MS;
	for (size_t i = 0; i < forwarder->partitions_count; i++)
		offsets += behind(forwarder, &forwarder->partitions[i]);
	pthread_mutex_lock(&forwarder->mutex);
	forwarder->statistics.behind = offsets;
	forwarder->statistics.waiting_since_ms = forwarder->messages	 ? forwarder->written_ms
						 : forwarder->awaited_ms ? forwarder->awaited_ms
						 : forwarder->refused	 ? forwarder->refused_since_ms
									 : 0;
	pthread_mutex_unlock(&forwarder->mutex);
}

/* ---- the thread ---- */

static void run_once(struct forwarder *forwarder)
{
	fetch_refused_again(forwarder);
	if (forwarder->partitions_count && !forwarder->positioned &&
	    clock_monotonic_us() >= forwarder->next_look_us)
		take_positions(forwarder);
	if (forwarder->positioned && is_due(forwarder))
		deliver(forwarder);
	bool waits = forwarder->tried_us != 0 || forwarder->statistics.gone;
	if (forwarder->positioned)
		set_paused(forwarder, waits);
	if (waits && !forwarder->statistics.gone)
		heartbeat_waiting(&forwarder->heartbeat, forwarder->outlet.dependency);
	else
		heartbeat_beat(&forwarder->heartbeat);
	commit(forwarder);
	measure(forwarder);
	poll_some(forwarder);
}

static void forwarder_main(void *context, unsigned index)
{
	struct forwarder *forwarder = context;
	(void)index;
	while (!atomic_load(&forwarder->stopping))
		run_once(forwarder);
	heartbeat_waiting(&forwarder->heartbeat, "Kafka consumer close");
	commit_last(forwarder);
	rd_kafka_consumer_close(forwarder->consumer);
	heartbeat_stop(&forwarder->heartbeat);
}

/* ---- life ---- */

static err_t make_conf(struct forwarder *forwarder, rd_kafka_conf_t **ret_conf, struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	err_t err = kafka_conf_new_reader(forwarder->options.kafka, forwarder->options.group_suffix, &conf,
					  detail);
	if (!err)
		err = kafka_conf_set(conf, "partition.assignment.strategy", "range,roundrobin", detail);
	if (!err)
		err = kafka_conf_set_int(conf, "queued.max.messages.kbytes", 4096, detail);
	if (!err)
		err = kafka_conf_set_liveness(conf, forwarder->options.kafka, detail);
	if (err)
		return err;
	rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
	rd_kafka_conf_set_offset_commit_cb(conf, on_commit);
	rd_kafka_conf_set_opaque(conf, forwarder);
	*ret_conf = TAKE_PTR(conf);
	return ERR_OK;
}

static err_t create_consumer(struct forwarder *forwarder, struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	err_t err = make_conf(forwarder, &conf, detail);
	if (!err)
		err = kafka_client_new(RD_KAFKA_CONSUMER, &conf, &forwarder->consumer, detail);
	if (err)
		return err;
	forwarder->fetching.consumer = forwarder->consumer;
	rd_kafka_poll_set_consumer(forwarder->consumer);
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *topics =
		rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(topics, forwarder->options.topic, RD_KAFKA_PARTITION_UA);
	rd_kafka_resp_err_t code = rd_kafka_subscribe(forwarder->consumer, topics);
	return code ? err_fail(detail, ERR_KAFKA_TOPIC, "%s: %s", forwarder->options.topic,
			       rd_kafka_err2str(code))
		    : ERR_OK;
}

/* All but the outlet. */
static void free_forwarder(struct forwarder *forwarder)
{
	kafka_client_close(forwarder->consumer, CLIENT_CLOSE_MS);
	fetcher_free(forwarder->fetcher);
	free(forwarder->partitions);
	pthread_mutex_destroy(&forwarder->mutex);
	forwarder->magic = 0;
	free(forwarder);
}

DEFINE_CLEANUP(struct forwarder, forwarder_cleanup, free_forwarder)

err_t forwarder_start(const struct forwarder_options *options, struct forwarder **ret_forwarder,
		      struct err_detail *detail)
{
	_cleanup_(forwarder_cleanup) struct forwarder *forwarder = calloc(1, sizeof *forwarder);
	if (!forwarder)
		abort();
	forwarder->magic = FORWARDER_MAGIC;
	forwarder->options = *options;
	forwarder->outlet = options->outlet;
	forwarder->heartbeat.name = options->outlet.name;
	forwarder->backoff = (struct backoff){ .base_ms = RETRY_BASE_MS, .cap_ms = RETRY_CAP_MS };
	pthread_mutex_init(&forwarder->mutex, NULL);
	forwarder->fetcher = fetcher_new();
	err_t err = create_consumer(forwarder, detail);
	if (err)
		return err;
	heartbeat_beat(&forwarder->heartbeat);
	forwarder->pool = pool_start(options->outlet.name, 1, forwarder_main, forwarder);
	*ret_forwarder = TAKE_PTR(forwarder);
	return ERR_OK;
}

void forwarder_close(struct forwarder *forwarder)
{
	if (!forwarder)
		return;
	atomic_store(&forwarder->stopping, true);
	fetcher_interrupt(forwarder->fetcher);
}

bool forwarder_ended(struct forwarder *forwarder, int64_t timeout_ms)
{
	if (!forwarder || !forwarder->pool)
		return true;
	if (!pool_join_within(forwarder->pool, timeout_ms))
		return false;
	forwarder->pool = NULL;
	return true;
}

void forwarder_stop(struct forwarder *forwarder)
{
	if (!forwarder)
		return;
	forwarder_close(forwarder);
	pool_join(forwarder->pool);
	forwarder->outlet.release(forwarder->outlet.context);
	free_forwarder(forwarder);
}

void forwarder_statistics(struct forwarder *forwarder, struct forwarder_statistics *ret_statistics)
{
	pthread_mutex_lock(&forwarder->mutex);
	*ret_statistics = forwarder->statistics;
	pthread_mutex_unlock(&forwarder->mutex);
}

struct heartbeat *forwarder_heartbeat(struct forwarder *forwarder)
{
	return &forwarder->heartbeat;
}
