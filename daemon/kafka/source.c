#include "kafka/source.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/pool.h"
#include "common/queue.h"
#include "kafka/backlog.h"
#include "kafka/fetching.h"
#include "kafka/restoration.h"

#include <assert.h>
#include <stdatomic.h>

enum {
	POLL_MS = 100,
	CREDIT_WAIT_MS = 500, /* pausing throws away what was fetched ahead: worth some waiting */
	LOOK_MS = 100,
	LAG_MS = 1000,
	REPORT_MS = 30000,
	PROBE_MS = 500,
	CLOSE_TIMEOUT_MS = 20000, /* above the transaction timeout: the publisher is out by then */
};

/* A partition that is paused on its own. */
struct paused {
	int32_t partition;
	bool for_good;
};

struct source {
	const struct kafka_settings *settings;
	struct credits *credits;
	struct source_callbacks callbacks;
	rd_kafka_t *consumer;
	struct fetching fetching; /* the source thread's */
	struct pool *pool;
	struct ticker ticker;
	_Atomic bool pausing;
	_Atomic bool stopping;
	struct assignment *assignment; /* the source thread's, likewise below */
	rd_kafka_message_t *held;      /* waits for credits */
	bool all_paused;
	struct paused *paused;
	size_t paused_count;
	int64_t next_look_us; /* at partitions that are paused or have to be */
	int64_t next_lag_us;
	int64_t unreadable_us;	   /* when it was last told that a batch cannot be unpacked; 0: never */
	bool unreachable;	   /* no broker can be reached */
	_Atomic int64_t oldest_ms; /* see struct assignment_lag; for any thread, likewise below */
	_Atomic double map_fill;
	_Atomic bool joined;
	_Atomic unsigned assigned, paused_now;
	_Atomic uint64_t behind, unread;
};

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

/* A partition whose map is nearly full waits until the slow events at its prefix are done. */
static void check_fill(struct source *source, int32_t partition)
{
	if (!assignment_is_overfull(source->assignment, partition))
		return;
	log_warning("partition %d: paused, its completion map is nearly full because a slow event holds up "
		    "its prefix",
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
	while (source->assignment && assignment_take_stopped(source->assignment, &partition))
		pause_partition(source, partition, false);
}

/* ---- rebalance ---- */

static void on_assign(struct source *source, rd_kafka_topic_partition_list_t *list)
{
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *positions =
		rd_kafka_topic_partition_list_new(list->cnt);
	const struct restoring restoring = { source->consumer, source->settings->input_topic, &source->ticker,
					     &source->stopping };
	struct assignment *assignment = restoration_run(&restoring, list, positions);
	rd_kafka_resp_err_t err = fetching_assign(&source->fetching, positions);
	if (!assignment)
		return;
	if (err)
		log_error("partitions cannot be assigned: %s", rd_kafka_err2str(err));
	source->assignment = assignment;
	atomic_store(&source->joined, true);
	if (atomic_load(&source->pausing))
		pause_partitions(source, true);
	log_info("assigned %d partitions of %s", positions->cnt, source->settings->input_topic);
}

static void drop_held(struct source *source)
{
	if (source->held)
		rd_kafka_message_destroy(TAKE_PTR(source->held));
}

static void on_revoke(struct source *source)
{
	struct assignment *assignment = source->assignment;
	bool lost = rd_kafka_assignment_lost(source->consumer);
	drop_held(source);
	atomic_store(&source->joined, false);
	if (assignment) {
		bool drained = !lost && assignment_drain(assignment, source->settings->drain_on_revoke_ms);
		if (!assignment_close(assignment, CLOSE_TIMEOUT_MS))
			log_warning("the transaction of the former assignment is still open: the "
				    "broker does not end it");
		log_info("partitions of %s %s%s", source->settings->input_topic, lost ? "lost" : "revoked",
			 drained ? "" : "; what was in flight is left to the next owner");
		source->assignment = NULL;
		assignment_unref(assignment);
	}
	lift_pauses(source);
	fetching_assign(&source->fetching, NULL);
}

static void on_rebalance(rd_kafka_t *consumer, rd_kafka_resp_err_t err, rd_kafka_topic_partition_list_t *list,
			 void *opaque)
{
	struct source *source = opaque;
	(void)consumer;
	tick_waiting(&source->ticker, "Kafka rebalance");
	if (err == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS)
		on_assign(source, list);
	else
		on_revoke(source);
	tick(&source->ticker);
}

/* ---- messages ---- */

static str_t message_text(const void *data, size_t len)
{
	return data ? (str_t){ data, len } : STR_NONE;
}

static size_t credit_bytes(const rd_kafka_message_t *message)
{
	return message->len + message->key_len;
}

/* Hands a message on whose credits are taken, and lets go of it. */
static void deliver(struct source *source, rd_kafka_message_t *message)
{
	enum offsets_arrival arrival = assignment_arrive(source->assignment, message->partition,
							 message->offset, kafka_written_ms(message));
	if (arrival != OFFSETS_FRESH) {
		credits_return(source->credits, credit_bytes(message));
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
		.credit_bytes = credit_bytes(message),
	};
	source->callbacks.message(&event, source->callbacks.context);
	check_fill(source, message->partition);
	rd_kafka_message_destroy(message);
}

/* Delivers the held message when there is room for it; true when none is held any more. Once paused, there
 * has to be room for more than one, since every resumption fetches anew. */
static bool deliver_held(struct source *source)
{
	if (!source->held)
		return true;
	if (source->all_paused && !credits_wait_quarter(source->credits, CREDIT_WAIT_MS))
		return false;
	if (!credits_take(source->credits, credit_bytes(source->held), CREDIT_WAIT_MS))
		return false;
	deliver(source, TAKE_PTR(source->held));
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
			 "while this one "
			 "joined; if there is another one, give each a kafka.instance_id of its own",
			 source->settings->instance_id, source->settings->group_id);
		source->callbacks.fatal(ERR_KAFKA_FENCED, message, source->callbacks.context);
	} else {
		snprintf(message, sizeof message, "the Kafka consumer has failed for good: %s", reason);
		source->callbacks.fatal(ERR_KAFKA_FATAL, message, source->callbacks.context);
	}
}

/* librdkafka asks for the batch again and again, and cannot pass it by: the partition stands still. */
static void report_unreadable(struct source *source, const rd_kafka_message_t *message)
{
	int64_t now_us = clock_monotonic_us();
	if (source->unreadable_us && now_us < source->unreadable_us + INT64_C(1000) * REPORT_MS)
		return;
	source->unreadable_us = now_us;
	log_write(
		LOG_LEVEL_CRITICAL, NULL,
		"partition %d of %s stands still: a batch of messages cannot be unpacked, because it is "
		"damaged or too large when it is (%s); stop all instances and set the group's offset of the "
		"partition behind it to go on",
		(int)message->partition, source->settings->input_topic, rd_kafka_message_errstr(message));
}

static void handle_error(struct source *source, const rd_kafka_message_t *message)
{
	switch (message->err) {
	case RD_KAFKA_RESP_ERR__PARTITION_EOF:
		return;
	case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
	case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
		log_write(LOG_LEVEL_CRITICAL, NULL,
			  "partition %d of %s is stopped: its committed offset is gone from the topic (%s); "
			  "events may be "
			  "lost. Reset the group's offset by hand to go on",
			  (int)message->partition, source->settings->input_topic,
			  rd_kafka_message_errstr(message));
		pause_partition(source, message->partition, true);
		return;
	case RD_KAFKA_RESP_ERR__BAD_COMPRESSION:
	case RD_KAFKA_RESP_ERR__BAD_MSG:
		report_unreadable(source, message);
		return;
	case RD_KAFKA_RESP_ERR__FATAL:
		report_fatal(source);
		return;
	case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
	case RD_KAFKA_RESP_ERR__TRANSPORT:
		tick_waiting(&source->ticker, "Kafka broker");
		return;
	default:
		log_warning("consumer: %s", rd_kafka_message_errstr(message));
	}
}

static void on_error(rd_kafka_t *client, int err, const char *reason, void *opaque)
{
	struct source *source = opaque;
	(void)client;
	if (err == RD_KAFKA_RESP_ERR__FATAL)
		report_fatal(source);
	else if (err != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN)
		log_debug("consumer: %s", reason);
	else if (!source->unreachable) {
		log_warning("no Kafka broker can be reached: %s", reason);
		source->unreachable = true;
	}
}

/* The client tells when its last broker is gone, but not when the first is back: so it is asked. */
static void look_for_broker(struct source *source)
{
	const struct rd_kafka_metadata *metadata;
	if (!source->unreachable)
		return;
	tick_waiting(&source->ticker, "Kafka broker");
	if (rd_kafka_metadata(source->consumer, 0, NULL, &metadata, PROBE_MS) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	rd_kafka_metadata_destroy(metadata);
	source->unreachable = false;
	log_notice("a Kafka broker can be reached again");
}

/* A message that slipped past a pause is fetched again: it has not arrived, so it is not lost either way. */
static void put_back(const rd_kafka_message_t *message)
{
	rd_kafka_seek(message->rkt, message->partition, message->offset, 0);
}

/* Every so often, not with every message: partitions that may go on, and ones that must not. */
static void look_after_partitions(struct source *source)
{
	int64_t now_us = clock_monotonic_us();
	if (now_us < source->next_look_us)
		return;
	source->next_look_us = now_us + (int64_t)LOOK_MS * 1000;
	obey_stops(source);
	resume_emptied(source);
}

static void measure_lag(struct source *source)
{
	struct assignment_lag lag = { .oldest_ms = INT64_MAX };
	struct backlog backlog = { 0 };
	int64_t now_us = clock_monotonic_us();
	if (now_us < source->next_lag_us)
		return;
	source->next_lag_us = now_us + (int64_t)LAG_MS * 1000;
	if (source->assignment) {
		assignment_lag(source->assignment, &lag);
		backlog_measure(source->consumer, source->assignment, &backlog);
	}
	atomic_store(&source->oldest_ms, lag.oldest_ms);
	atomic_store(&source->map_fill, lag.fill);
	atomic_store(&source->paused_now, (unsigned)source->paused_count);
	atomic_store(&source->assigned, backlog.partitions);
	atomic_store(&source->behind, backlog.behind);
	atomic_store(&source->unread, backlog.unread);
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

/* One round: deliver what is held, else fetch. Paused, the poll only serves the group. */
static void run_once(struct source *source)
{
	set_pauses(source);
	rd_kafka_message_t *message = rd_kafka_consumer_poll(source->consumer, source->held ? 0 : POLL_MS);
	if (!message)
		return;
	if (message->err) {
		handle_error(source, message);
	} else if (source->all_paused) {
		put_back(message);
	} else {
		source->held = message;
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
			tick(&source->ticker);
		look_for_broker(source);
		run_once(source);
	}
	tick_waiting(&source->ticker, "Kafka consumer close");
	drop_held(source);
	rd_kafka_consumer_close(source->consumer);
	tick_stop(&source->ticker);
}

/* ---- life ---- */

/* A message that is larger than we take still has to be fetched, to be set aside: the topic's limit is what
 * counts. */
static long long response_limit(const struct kafka_settings *settings)
{
	const long long usual = 100000000, needed = (long long)settings->max_message_bytes + (2 << 20);
	return needed > usual ? needed : usual;
}

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
		{ "enable.partition.eof", "false" },
		{ "partition.assignment.strategy", "range,roundrobin" },
	};
	const struct {
		const char *name;
		long long value;
	} numbers[] = {
		{ "queued.max.messages.kbytes", (long long)(settings->max_in_flight_bytes / 4096) + 1024 },
		{ "fetch.max.bytes", (long long)settings->max_message_bytes + (1 << 20) },
		{ "message.max.bytes", (long long)settings->max_message_bytes },
		{ "receive.message.max.bytes", response_limit(settings) },
		{ "max.partition.fetch.bytes", 1 << 20 },
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

err_t source_start(const struct kafka_settings *settings, struct credits *credits,
		   const struct source_callbacks *callbacks, struct source **ret_source,
		   struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	err_t err = build_conf(settings, &conf, detail);
	if (err)
		return err;
	struct source *source = calloc(1, sizeof *source);
	if (!source)
		abort();
	*source = (struct source){ .settings = settings, .credits = credits, .callbacks = *callbacks };
	source->ticker.name = "source";
	rd_kafka_conf_set_opaque(conf, source);
	rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
	rd_kafka_conf_set_error_cb(conf, on_error);
	err = kafka_client_new(RD_KAFKA_CONSUMER, &conf, &source->consumer, detail);
	if (!err) {
		source->fetching.consumer = source->consumer;
		rd_kafka_poll_set_consumer(source->consumer);
		err = subscribe(source, detail);
	}
	if (err) {
		if (source->consumer)
			rd_kafka_destroy(source->consumer);
		free(source);
		return err;
	}
	atomic_init(&source->oldest_ms, INT64_MAX);
	tick(&source->ticker);
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
}

void source_close(struct source *source)
{
	if (!source || !source->pool)
		return;
	atomic_store(&source->stopping, true);
	pool_join(TAKE_PTR(source->pool));
}

void source_stop(struct source *source)
{
	if (!source)
		return;
	source_close(source);
	rd_kafka_destroy(source->consumer);
	free(source->paused);
	free(source);
}

void source_lag(struct source *source, struct source_lag *ret_lag)
{
	int64_t oldest_ms = atomic_load(&source->oldest_ms), now_ms = clock_wall_ms();
	double map_fill = atomic_load(&source->map_fill);
	*ret_lag = (struct source_lag){
		.oldest_age_ms = oldest_ms < now_ms ? now_ms - oldest_ms : 0,
		.map_fill = map_fill,
		.map_percent = (unsigned)(map_fill * 100 + 0.5),
		.joined = atomic_load(&source->joined),
		.assigned = atomic_load(&source->assigned),
		.paused = atomic_load(&source->paused_now),
		.behind = atomic_load(&source->behind),
		.unread = atomic_load(&source->unread),
	};
}

struct ticker *source_ticker(struct source *source)
{
	return &source->ticker;
}
