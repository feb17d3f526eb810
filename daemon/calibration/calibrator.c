#include "calibration/calibrator.h"

#include "calibration/count/ingest.h"
#include "calibration/count/lag.h"
#include "calibration/drift/watch.h"
#include "calibration/store/days.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/pool.h"
#include "kafka/fetching.h"
#include "kafka/rights.h"

#include <assert.h>
#include <pthread.h>

enum {
	POLL_MS = 100,	    /* while there is something to look after */
	REST_MS = 5000,	    /* while there is not; what comes ends it */
	BATCH_CASES = 5000, /* half as dear as by the thousand: most of them meet in the same buckets */
	BATCH_RECORDS = 10000,
	BATCH_AGE_MS = 500,
	PASSED_MS = 5000, /* between batches that only pass by what is no record */
	RETRY_BASE_MS = 200,
	RETRY_CAP_MS = 3000, /* a minute is what catching up may take */
	WATERMARK_TIMEOUT_MS = 5000,
	LAG_MS = 1000,
	CAUGHT_UP_MS = 60000,
	REFUSED_AGAIN_MS = 10000, /* between attempts to fetch what may not be read */
	HELD_AGAIN_MS = 1000,	  /* between attempts to read what has no schema yet */
	HELD_LONG_MS = 3000,	  /* that is worth telling */
	HELD_QUIET_MS = 5000,	  /* after which it is over: positions may have been read again meanwhile */
	FINISH_MS = 1000,	  /* for advisories under way at a stop */
	CLIENT_CLOSE_MS = 1000,
};

#define CALIBRATOR_MAGIC 0xca11b8a7u

/* What the thread waits for, in heartbeats and logs. */
#define DATABASE_NAME "calibration database"
#define REGISTRY_NAME "schema registry"

struct calibrator {
	uint32_t magic;
	const struct kafka_settings *settings;
	char *topic;
	char *feedback_topic; /* or NULL: it is not read */
	rd_kafka_t *consumer;
	struct fetching fetching; /* the thread's */
	struct pool *pool;
	struct heartbeat heartbeat;
	_Atomic bool stopping, ending;

	struct calibration_store *store; /* the thread's, likewise below */
	struct drift_watch *watch;
	struct batch batch;
	struct ingest ingest;	/* into the batch */
	bool positioned;	/* the assignment's positions are read and the partitions are fetched */
	bool paused;		/* all partitions are; else those that hold a message */
	int64_t next_held_us;	/* earliest time to try the messages that are held */
	int64_t last_held_us;	/* when one was held last */
	bool held_reported;	/* the journal knows that one is */
	int64_t batch_since_us; /* of the first record of the batch */
	int64_t next_passed_us; /* earliest time to store a position behind what is no record */
	int64_t written_ms;	/* when the first record of the batch, or of the last one, was written */
	int64_t away_since_ms;	/* wall clock: when the database did not take an attempt, after it had */
	int64_t next_lag_us;
	uint64_t behind;	  /* as of then */
	bool unmeasured;	  /* something has come, or has changed, since */
	int64_t fetched_us;	  /* since when partitions are fetched without a break */
	right_set refused;	  /* rights of which the broker says that they are missing */
	int64_t refused_since_ms; /* wall clock: the first of them */
	int64_t refused_us;	  /* when it said so last, or was tried again */
	int64_t retry_at_us;	  /* 0: the database took the last attempt */
	struct err_detail logged; /* why it does not, as the journal knows it */
	struct backoff backoff;

	pthread_mutex_t mutex; /* guards the statistics */
	struct calibrator_statistics statistics;
};

/* ---- the database ---- */

/* A transaction has many statements, each with a deadline: a database that is slow is no reason to leave the
 * group. */
static void wait_for_database(void *context)
{
	struct calibrator *calibrator = context;
	kafka_count_as_poll(calibrator->consumer);
}

/* An attempt failed: the next one comes later, meanwhile nothing more is read. */
static void postpone(struct calibrator *calibrator, err_t err, const struct err_detail *detail)
{
	int64_t delay_ms = RETRY_BASE_MS / 2 + backoff_next_ms(&calibrator->backoff);
	const char *reason = err_message(err, detail);
	bool first = calibrator->retry_at_us == 0;
	/* a connection that is cut is often the first sign of something else: a changed password, say */
	if (first || strcmp(reason, calibrator->logged.message) != 0) {
		log_warning("the calibration database does not accept updates; scoring continues: %s",
			    reason);
		err_fail(&calibrator->logged, err, "%s", reason);
	}
	if (first)
		calibrator->away_since_ms = clock_wall_ms();
	calibrator->retry_at_us = clock_monotonic_us() + delay_ms * 1000;
	pthread_mutex_lock(&calibrator->mutex);
	calibrator->statistics.failures++;
	calibrator->statistics.database_up = false;
	pthread_mutex_unlock(&calibrator->mutex);
}

static void database_works(struct calibrator *calibrator)
{
	if (calibrator->retry_at_us)
		log_notice("the calibration database accepts updates again");
	calibrator->retry_at_us = 0;
	backoff_reset(&calibrator->backoff);
	pthread_mutex_lock(&calibrator->mutex);
	calibrator->statistics.database_up = true;
	pthread_mutex_unlock(&calibrator->mutex);
}

static bool retry_is_due(const struct calibrator *calibrator)
{
	return clock_monotonic_us() >= calibrator->retry_at_us;
}

static void count_commit(struct calibrator *calibrator, const struct feedback_outcome *counts)
{
	struct calibrator_statistics *statistics = &calibrator->statistics;
	pthread_mutex_lock(&calibrator->mutex);
	statistics->cases += calibrator->batch.labelled;
	statistics->feedback_counted += (uint64_t)counts->counted;
	statistics->feedback_corrected += (uint64_t)counts->corrected;
	statistics->feedback_unchanged += (uint64_t)counts->unchanged;
	statistics->feedback_unknown += (uint64_t)counts->unknown;
	statistics->feedback_expired += (uint64_t)counts->expired + calibrator->batch.expired;
	statistics->feedback_refused += (uint64_t)counts->refused;
	statistics->batches++;
	statistics->last_commit_ms = clock_wall_ms();
	pthread_mutex_unlock(&calibrator->mutex);
}

/* Somebody else has counted (a former owner, or this batch itself when its commit was not confirmed): what
 * was read is dropped and the positions are read again. */
static void give_up_batch(struct calibrator *calibrator, const struct err_detail *detail)
{
	log_notice("calibration continues from the stored positions: %s", err_message(ERR_CONFLICT, detail));
	calibrator->positioned = false;
	pthread_mutex_lock(&calibrator->mutex);
	calibrator->statistics.conflicts++;
	pthread_mutex_unlock(&calibrator->mutex);
}

static err_t flush(struct calibrator *calibrator, struct feedback_outcome *ret_counts,
		   struct err_detail *detail)
{
	const struct batch *batch = &calibrator->batch;
	size_t steps_count;
	_cleanup_(cleanup_free) struct calibration_step *steps =
		batch_steps(batch, calibrator->topic, &steps_count);
	if (steps_count == 0)
		return ERR_OK;
	const struct calibration_work work = { batch->cases,	batch->cases_count,
					       batch->feedback, batch->feedback_count,
					       steps,		steps_count };
	heartbeat_waiting(&calibrator->heartbeat, DATABASE_NAME);
	return calibration_store_apply(calibrator->store, &work, drift_watch_touched(calibrator->watch),
				       ret_counts, detail);
}

static void warn_of_refused(const struct feedback_outcome *counts)
{
	if (counts->refused)
		log_warning("%lld feedback messages were dropped: too many wait for their events",
			    (long long)counts->refused);
}

/* Counts the batch; whatever the outcome, nothing is lost or doubled. */
static void commit_batch(struct calibrator *calibrator)
{
	struct err_detail detail = { "" };
	struct feedback_outcome counts = { 0 };
	calibrator->next_passed_us = clock_monotonic_us() + INT64_C(1000) * PASSED_MS;
	err_t err = flush(calibrator, &counts, &detail);
	if (err == ERR_CONFLICT) {
		database_works(calibrator);
		give_up_batch(calibrator, &detail);
	} else if (err) {
		postpone(calibrator, err, &detail);
	} else {
		database_works(calibrator);
		warn_of_refused(&counts);
		count_commit(calibrator, &counts);
		batch_committed(&calibrator->batch);
	}
}

static bool batch_is_due(const struct calibrator *calibrator)
{
	const struct batch *batch = &calibrator->batch;
	if (batch->records == 0)
		return clock_monotonic_us() >= calibrator->next_passed_us && batch_moved(batch);
	return batch->cases_count + batch->feedback_count >= BATCH_CASES || batch->records >= BATCH_RECORDS ||
	       clock_monotonic_us() - calibrator->batch_since_us >= INT64_C(1000) * BATCH_AGE_MS;
}

/* ---- assignment ---- */

/* While the database is away nothing is fetched, but the consumer stays in its group. Lifted before an
 * assignment ends: see fetching.h. Partitions that hold a message are paused in any case. */
static void set_paused(struct calibrator *calibrator, bool pause)
{
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *list = NULL;
	if (calibrator->paused == pause ||
	    rd_kafka_assignment(calibrator->consumer, &list) != RD_KAFKA_RESP_ERR_NO_ERROR || !list)
		return;
	for (size_t i = 0; i < calibrator->batch.partitions_count; i++) {
		const struct batch_partition *partition = &calibrator->batch.partitions[i];
		if (partition->held)
			rd_kafka_topic_partition_list_del(list, partition->topic, partition->partition);
	}
	fetching_pause(&calibrator->fetching, list, pause);
	calibrator->fetched_us = clock_monotonic_us();
	calibrator->paused = pause;
}

static void pause_one(struct calibrator *calibrator, const struct batch_partition *partition, bool pause)
{
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(list, partition->topic, partition->partition);
	fetching_pause(&calibrator->fetching, list, pause);
}

/* Messages that are held are read again, by whoever fetches their partitions next. */
static void drop_held(struct calibrator *calibrator)
{
	for (size_t i = 0; i < calibrator->batch.partitions_count; i++) {
		struct batch_partition *partition = &calibrator->batch.partitions[i];
		rd_kafka_message_t *message = batch_take_held(partition);
		if (!message)
			continue;
		rd_kafka_message_destroy(message);
		if (!calibrator->paused)
			pause_one(calibrator, partition, false);
	}
}

/* A stored position that the topic does not have: older records are gone, or it is another topic. */
static int64_t start_offset(struct calibrator *calibrator, const struct batch_partition *partition)
{
	int64_t low, high;
	if (partition->stored == CALIBRATION_POSITION_NONE)
		return RD_KAFKA_OFFSET_BEGINNING;
	if (rd_kafka_query_watermark_offsets(calibrator->consumer, partition->topic, partition->partition,
					     &low, &high, WATERMARK_TIMEOUT_MS) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return partition->stored;
	if (partition->stored < low)
		log_error(
			"partition %d of %s: records from %lld to %lld were deleted before they were counted",
			(int)partition->partition, partition->topic, (long long)partition->stored,
			(long long)low - 1);
	if (partition->stored > high)
		log_error("partition %d of %s ends at offset %lld, but is counted up to %lld: the topic was "
			  "probably deleted and created again. The partition is not counted; use another "
			  "database, or delete its row of calibration_positions",
			  (int)partition->partition, partition->topic, (long long)high,
			  (long long)partition->stored);
	return partition->stored < low	  ? low
	       : partition->stored > high ? RD_KAFKA_OFFSET_INVALID
					  : partition->stored;
}

static err_t read_positions(struct calibrator *calibrator, struct err_detail *detail)
{
	const struct batch *batch = &calibrator->batch;
	_cleanup_(cleanup_free) int64_t *positions = calloc(batch->partitions_count + 1, sizeof *positions);
	err_t err = ERR_OK;
	if (!positions)
		abort();
	heartbeat_waiting(&calibrator->heartbeat, DATABASE_NAME);
	for (size_t i = 0, end; !err && i < batch->partitions_count; i = end) {
		_cleanup_(cleanup_free) int32_t *numbers = calloc(batch->partitions_count, sizeof *numbers);
		if (!numbers)
			abort();
		for (end = i; end < batch->partitions_count &&
			      batch->partitions[end].topic == batch->partitions[i].topic;
		     end++)
			numbers[end - i] = batch->partitions[end].partition;
		err = calibration_store_positions(calibrator->store, batch->partitions[i].topic, numbers,
						  end - i, &positions[i], detail);
	}
	if (!err)
		batch_restart(&calibrator->batch, positions);
	return err;
}

/* Lets the consumer fetch from the stored positions. */
static void fetch_from_positions(struct calibrator *calibrator)
{
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new((int)calibrator->batch.partitions_count);
	heartbeat_waiting(&calibrator->heartbeat, "Kafka broker");
	set_paused(calibrator, false);
	for (size_t i = 0; i < calibrator->batch.partitions_count; i++) {
		struct batch_partition *partition = &calibrator->batch.partitions[i];
		kafka_count_as_poll(calibrator->consumer); /* one without a leader takes its time */
		int64_t offset = start_offset(calibrator, partition);
		partition->at_end = offset == RD_KAFKA_OFFSET_INVALID;
		if (!partition->at_end)
			rd_kafka_topic_partition_list_add(list, partition->topic, partition->partition)
				->offset = offset;
	}
	rd_kafka_resp_err_t err = fetching_assign(&calibrator->fetching, list);
	calibrator->fetched_us = clock_monotonic_us();
	if (err)
		log_error("partitions for calibration cannot be assigned: %s", rd_kafka_err2str(err));
	calibrator->positioned = !err;
}

static void take_positions(struct calibrator *calibrator)
{
	struct err_detail detail = { "" };
	drop_held(calibrator);
	err_t err = read_positions(calibrator, &detail);
	if (err) {
		postpone(calibrator, err, &detail);
		return;
	}
	database_works(calibrator);
	fetch_from_positions(calibrator);
}

/* The partitions are only noted: the database tells where they start, and it may be away for longer than a
 * rebalance may take. */
static void on_assign(struct calibrator *calibrator, const rd_kafka_topic_partition_list_t *list)
{
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *none =
		rd_kafka_topic_partition_list_new(0);
	_cleanup_(cleanup_free) struct batch_partition *partitions =
		calloc((size_t)list->cnt + 1, sizeof *partitions);
	if (!partitions)
		abort();
	for (int i = 0; i < list->cnt; i++) {
		partitions[i].topic = ingest_topic(&calibrator->ingest, list->elems[i].topic);
		partitions[i].partition = list->elems[i].partition;
	}
	batch_assign(&calibrator->batch, partitions, (size_t)list->cnt);
	calibrator->positioned = false;
	calibrator->refused &= ~RIGHT_BIT(RIGHT_READ_CALIBRATION);
	set_paused(calibrator, false);
	fetching_assign(&calibrator->fetching, none);
	log_info("calibration: assigned %d partitions", list->cnt);
}

/* What was read is counted if that succeeds at once, else the next owner reads it again. */
static void on_revoke(struct calibrator *calibrator)
{
	if (calibrator->positioned && calibrator->retry_at_us == 0 && calibrator->batch.records > 0)
		commit_batch(calibrator);
	set_paused(calibrator, false);
	drop_held(calibrator);
	batch_free(&calibrator->batch);
	calibrator->positioned = false;
	fetching_assign(&calibrator->fetching, NULL);
}

static void on_rebalance(rd_kafka_t *consumer, rd_kafka_resp_err_t err, rd_kafka_topic_partition_list_t *list,
			 void *opaque)
{
	struct calibrator *calibrator = opaque;
	assert(calibrator->magic == CALIBRATOR_MAGIC);
	if (err == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS)
		on_assign(calibrator, list);
	else
		on_revoke(calibrator);
	calibrator->unmeasured = true;
	rd_kafka_yield(consumer); /* there is something to look after */
}

/* ---- rights ---- */

static enum right right_to_read(const struct calibrator *calibrator, const rd_kafka_message_t *message)
{
	return calibrator->feedback_topic &&
			       strcmp(rd_kafka_topic_name(message->rkt), calibrator->feedback_topic) == 0
		       ? RIGHT_READ_FEEDBACK
		       : RIGHT_READ_SCORED;
}

static void log_refused(const struct calibrator *calibrator, enum right right)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	right_describe(calibrator->settings, right, &text);
	log_error("the calibration does not count: %s", text.data);
}

/* Something is missing that others can grant. A topic that is not there for this client is noticed by the
 * library when it is; what may not be fetched is tried again. */
static void note_refused(struct calibrator *calibrator, enum right right, bool fetched)
{
	bool known = calibrator->refused & RIGHT_BIT(right);
	if (!known)
		log_refused(calibrator, right);
	if (!fetched)
		return;
	if (calibrator->refused == 0)
		calibrator->refused_since_ms = clock_wall_ms();
	calibrator->refused |= RIGHT_BIT(right);
	calibrator->refused_us = clock_monotonic_us();
}

static void note_granted(struct calibrator *calibrator, enum right right)
{
	struct right_name name;
	if (!(calibrator->refused & RIGHT_BIT(right)))
		return;
	calibrator->refused &= ~RIGHT_BIT(right);
	right_name(calibrator->settings, right, &name);
	log_notice("the calibration has %s on %s \"%s\" again", name.operation, name.resource, name.name);
}

/* Whoever was refused is told nothing when that ends: from time to time it is fetched once more. */
static void fetch_refused_again(struct calibrator *calibrator)
{
	int64_t now_us = clock_monotonic_us();
	if (!(calibrator->refused & ~RIGHT_BIT(RIGHT_READ_CALIBRATION)) ||
	    now_us - calibrator->refused_us < INT64_C(1000) * REFUSED_AGAIN_MS)
		return;
	calibrator->refused_us = now_us;
	calibrator->positioned = false;
}

/* ---- records ---- */

static struct batch_partition *partition_of(struct calibrator *calibrator, const rd_kafka_message_t *message)
{
	return batch_find(&calibrator->batch,
			  ingest_topic(&calibrator->ingest, rd_kafka_topic_name(message->rkt)),
			  message->partition);
}

/* False: its schema is awaited. */
static bool take_record(struct calibrator *calibrator, const rd_kafka_message_t *message,
			struct err_detail *detail)
{
	struct ingest *ingest = &calibrator->ingest;
	enum ingest_answer answer =
		ingest_take(ingest, message, calibration_store_since_ms(calibrator->store), detail);
	if (answer != INGEST_TAKEN)
		return answer == INGEST_PASSED;
	if (calibrator->batch.records == 1) {
		calibrator->batch_since_us = clock_monotonic_us();
		calibrator->written_ms = kafka_written_ms(message);
	}
	pthread_mutex_lock(&calibrator->mutex);
	calibrator->statistics.records = ingest->records;
	calibrator->statistics.feedback = ingest->feedback;
	calibrator->statistics.skipped = ingest->skipped;
	pthread_mutex_unlock(&calibrator->mutex);
	return true;
}

/* Whether the message has become the batch's: its partition holds it, and nothing is fetched of that before
 * it could be read. */
static bool read_record(struct calibrator *calibrator, rd_kafka_message_t *message)
{
	struct err_detail detail = { "" };
	struct batch_partition *partition = partition_of(calibrator, message);
	note_granted(calibrator, right_to_read(calibrator, message));
	if (partition && partition->held) { /* out of turn, which a pause prevents */
		calibrator->positioned = false;
		return false;
	}
	if (take_record(calibrator, message, &detail))
		return false;
	batch_hold(partition, message);
	pause_one(calibrator, partition, true);
	calibrator->last_held_us = clock_monotonic_us();
	if (batch_held_count(&calibrator->batch) == 1)
		calibrator->next_held_us = calibrator->last_held_us + INT64_C(1000) * HELD_AGAIN_MS;
	return true;
}

static void report_held(struct calibrator *calibrator, const struct batch_partition *partition,
			const char *reason)
{
	bool is_long = clock_monotonic_us() - partition->held_since_us >= INT64_C(1000) * HELD_LONG_MS;
	if (calibrator->held_reported || !is_long)
		return;
	calibrator->held_reported = true;
	log_warning(
		"the calibration waits for a schema of the registry, with partition %d of %s at offset %lld, "
		"and counts what needs none: %s",
		(int)partition->partition, partition->topic, (long long)partition->held->offset, reason);
}

static void try_held_one(struct calibrator *calibrator, struct batch_partition *partition)
{
	struct err_detail detail = { "" };
	heartbeat_waiting(&calibrator->heartbeat, REGISTRY_NAME);
	kafka_count_as_poll(calibrator->consumer); /* the registry may take its time */
	if (!take_record(calibrator, partition->held, &detail)) {
		report_held(calibrator, partition, detail.message);
		return;
	}
	rd_kafka_message_destroy(batch_take_held(partition));
	pause_one(calibrator, partition, false);
}

/* While everything is paused nothing is read. */
static void try_held(struct calibrator *calibrator)
{
	int64_t now_us = clock_monotonic_us();
	if (!calibrator->positioned || calibrator->paused || now_us < calibrator->next_held_us)
		return;
	for (size_t i = 0; i < calibrator->batch.partitions_count; i++)
		if (calibrator->batch.partitions[i].held)
			try_held_one(calibrator, &calibrator->batch.partitions[i]);
	now_us = clock_monotonic_us();
	calibrator->next_held_us = now_us + INT64_C(1000) * HELD_AGAIN_MS;
	if (batch_held_count(&calibrator->batch)) {
		calibrator->last_held_us = now_us;
	} else if (calibrator->held_reported &&
		   now_us - calibrator->last_held_us >= INT64_C(1000) * HELD_QUIET_MS) {
		calibrator->held_reported = false;
		log_notice("the calibration waits for no schema any more");
	}
}

static void note_end(struct calibrator *calibrator, const rd_kafka_message_t *message)
{
	note_granted(calibrator, right_to_read(calibrator, message));
	struct batch_partition *partition = partition_of(calibrator, message);
	if (!partition || partition->held)
		return;
	partition->at_end = true;
	partition->end_us = clock_monotonic_us();
	if (calibrator->positioned)
		batch_pass(partition, message->offset);
}

static void handle_error(struct calibrator *calibrator, const rd_kafka_message_t *message)
{
	switch (message->err) {
	case RD_KAFKA_RESP_ERR__PARTITION_EOF:
		note_end(calibrator, message);
		return;
	case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
	case RD_KAFKA_RESP_ERR__TRANSPORT:
		heartbeat_waiting(&calibrator->heartbeat, "Kafka broker");
		return;
	case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
		note_refused(calibrator, RIGHT_READ_CALIBRATION, true);
		return;
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		if (message->rkt)
			note_refused(calibrator, right_to_read(calibrator, message), message->partition >= 0);
		return;
	case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
	case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
		/* Deleted while we were reading: start_offset says so and goes on from what is left. */
		calibrator->positioned = false;
		return;
	default:
		log_warning("calibration consumer: %s", rd_kafka_message_errstr(message));
	}
}

/* For how long nothing has to be looked after unless something comes. */
static int rest_ms(const struct calibrator *calibrator)
{
	const struct batch *batch = &calibrator->batch;
	if ((batch->partitions_count > 0 && !calibrator->positioned) || calibrator->retry_at_us ||
	    calibrator->refused || calibrator->paused || batch->records > 0 || calibrator->behind > 0 ||
	    calibrator->unmeasured || atomic_load(&calibrator->ending) || batch_held_count(batch) > 0)
		return POLL_MS;
	int64_t due_us = drift_watch_due_us(calibrator->watch), now_us = clock_monotonic_us();
	if (batch_moved(batch) && calibrator->next_passed_us < due_us)
		due_us = calibrator->next_passed_us;
	if (due_us < now_us + INT64_C(1000) * POLL_MS)
		return POLL_MS;
	return due_us < now_us + INT64_C(1000) * REST_MS ? (int)((due_us - now_us) / 1000) + 1 : REST_MS;
}

static void poll_once(struct calibrator *calibrator)
{
	int patience_ms = rest_ms(calibrator);
	if (patience_ms > POLL_MS)
		patience_ms = (int)heartbeat_rest(&calibrator->heartbeat, patience_ms);
	rd_kafka_message_t *message = rd_kafka_consumer_poll(calibrator->consumer, patience_ms);
	if (!message)
		return;
	calibrator->unmeasured = true;
	bool kept = false;
	if (message->err)
		handle_error(calibrator, message);
	else if (calibrator->positioned)
		kept = read_record(calibrator, message);
	if (!kept)
		rd_kafka_message_destroy(message);
}

/* ---- lag ---- */

/* Since when the oldest record that is not counted waits, 0: none does. */
static int64_t waiting_since_ms(const struct calibrator *calibrator, uint64_t behind)
{
	if (calibrator->refused)
		return calibrator->refused_since_ms;
	if (calibrator->batch.partitions_count == 0)
		return 0;
	if (!calibrator->positioned)
		return calibrator->retry_at_us ? calibrator->away_since_ms : 0;
	int64_t held_ms = batch_held_written_ms(&calibrator->batch);
	if (!behind && calibrator->batch.records == 0)
		return held_ms;
	return held_ms && held_ms < calibrator->written_ms ? held_ms : calibrator->written_ms;
}

static void measure_lag(struct calibrator *calibrator)
{
	int64_t now_us = clock_monotonic_us();
	if (now_us < calibrator->next_lag_us)
		return;
	calibrator->next_lag_us = now_us + (int64_t)LAG_MS * 1000;
	uint64_t behind = calibrator->positioned ? lag_offsets(&calibrator->batch, calibrator->consumer) : 0;
	calibrator->behind = behind;
	calibrator->unmeasured = false;
	pthread_mutex_lock(&calibrator->mutex);
	calibrator->statistics.behind = behind;
	calibrator->statistics.held = batch_held_count(&calibrator->batch);
	calibrator->statistics.waiting_since_ms = waiting_since_ms(calibrator, behind);
	pthread_mutex_unlock(&calibrator->mutex);
}

/* ---- the thread ---- */

/* Only while the database takes what was counted: that comes first. */
static void watch_drift(struct calibrator *calibrator)
{
	struct drift_watch_statistics drift;
	int64_t now_us = clock_monotonic_us(), since_us = now_us - INT64_C(1000) * CAUGHT_UP_MS;
	drift_watch_set_caught_up(calibrator->watch, calibrator->positioned &&
							     calibrator->fetched_us < since_us &&
							     batch_caught_up(&calibrator->batch, since_us));
	if (calibrator->retry_at_us || !drift_watch_step(calibrator->watch))
		return;
	drift_watch_statistics(calibrator->watch, &drift);
	pthread_mutex_lock(&calibrator->mutex);
	calibrator->statistics.drift_opened = drift.opened;
	calibrator->statistics.drift_closed = drift.closed;
	calibrator->statistics.drift_published = drift.published;
	calibrator->statistics.drift_open_count = drift.open_count;
	memcpy(calibrator->statistics.drift_open, drift.open, sizeof drift.open);
	pthread_mutex_unlock(&calibrator->mutex);
}

static void run_once(struct calibrator *calibrator)
{
	bool assigned = calibrator->batch.partitions_count > 0;
	fetch_refused_again(calibrator);
	if (assigned && !calibrator->positioned && retry_is_due(calibrator))
		take_positions(calibrator);
	else if (calibrator->positioned && batch_is_due(calibrator) && retry_is_due(calibrator))
		commit_batch(calibrator);
	else
		watch_drift(calibrator);
	set_paused(calibrator, calibrator->retry_at_us != 0);
	try_held(calibrator);
	if (calibrator->retry_at_us)
		heartbeat_waiting(&calibrator->heartbeat, DATABASE_NAME);
	else if (batch_held_count(&calibrator->batch))
		heartbeat_waiting(&calibrator->heartbeat, REGISTRY_NAME);
	else
		heartbeat_beat(&calibrator->heartbeat);
	measure_lag(calibrator);
	poll_once(calibrator);
}

static void calibrator_main(void *context, unsigned index)
{
	struct calibrator *calibrator = context;
	(void)index;
	while (!atomic_load(&calibrator->stopping))
		run_once(calibrator);
	if (calibrator->positioned && calibrator->batch.records > 0)
		commit_batch(calibrator);
	drift_watch_finish(calibrator->watch, FINISH_MS);
	heartbeat_waiting(&calibrator->heartbeat, "Kafka consumer close");
	rd_kafka_consumer_close(calibrator->consumer);
	heartbeat_stop(&calibrator->heartbeat);
}

/* ---- life ---- */

static err_t make_conf(struct calibrator *calibrator, const struct kafka_settings *settings,
		       rd_kafka_conf_t **ret_conf, struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	err_t err = kafka_conf_new_reader(settings, KAFKA_CALIBRATION_SUFFIX, &conf, detail);
	if (!err)
		err = kafka_conf_set(conf, "partition.assignment.strategy", "range,roundrobin", detail);
	/* as the source: librdkafka's own would leave a dead instance's partitions uncounted for 45 s */
	if (!err)
		err = kafka_conf_set_liveness(conf, settings, detail);
	if (err)
		return err;
	rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
	rd_kafka_conf_set_opaque(conf, calibrator);
	*ret_conf = TAKE_PTR(conf);
	return ERR_OK;
}

static err_t create_consumer(struct calibrator *calibrator, const struct kafka_settings *settings,
			     struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	err_t err = make_conf(calibrator, settings, &conf, detail);
	if (!err)
		err = kafka_client_new(RD_KAFKA_CONSUMER, &conf, &calibrator->consumer, detail);
	if (err)
		return err;
	calibrator->fetching.consumer = calibrator->consumer;
	rd_kafka_poll_set_consumer(calibrator->consumer);
	calibrator->settings = settings;
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *topics =
		rd_kafka_topic_partition_list_new(2);
	rd_kafka_topic_partition_list_add(topics, calibrator->topic, RD_KAFKA_PARTITION_UA);
	if (calibrator->feedback_topic)
		rd_kafka_topic_partition_list_add(topics, calibrator->feedback_topic, RD_KAFKA_PARTITION_UA);
	rd_kafka_resp_err_t code = rd_kafka_subscribe(calibrator->consumer, topics);
	return code ? err_fail(detail, ERR_KAFKA_TOPIC, "%s: %s", calibrator->topic, rd_kafka_err2str(code))
		    : ERR_OK;
}

static void calibrator_free(struct calibrator *calibrator)
{
	batch_free(&calibrator->batch); /* a client does not go before its messages */
	kafka_client_close(calibrator->consumer, CLIENT_CLOSE_MS);
	drift_watch_free(calibrator->watch);
	calibration_store_free(calibrator->store);
	pthread_mutex_destroy(&calibrator->mutex);
	free(calibrator->topic);
	free(calibrator->feedback_topic);
	calibrator->magic = 0;
	free(calibrator);
}

static err_t create_watch(struct calibrator *calibrator, const struct calibrator_options *options,
			  struct err_detail *detail)
{
	const struct drift_watch_options watch = {
		.store = calibrator->store,
		.codec = options->codec,
		.heartbeat = &calibrator->heartbeat,
		.kafka = options->kafka,
		.limits = options->drift,
		.claims = options->learns,
		.bucket_s = options->bucket_s,
		.retention_days = options->retention_days,
		.feedback_horizon_ms = calibrator->ingest.horizon_ms,
	};
	return drift_watch_new(&watch, &calibrator->watch, detail);
}

static void set_ingest(struct calibrator *calibrator, const struct calibrator_options *options)
{
	int64_t retention_ms = options->retention_days * DAY_MS, horizon_ms = options->feedback_horizon_ms;
	if (retention_ms && horizon_ms > retention_ms)
		horizon_ms = retention_ms;
	calibrator->topic = strdup(options->kafka->scored_topic);
	if (horizon_ms)
		calibrator->feedback_topic = strdup(options->feedback_topic);
	if (!calibrator->topic || (horizon_ms && !calibrator->feedback_topic))
		abort();
	calibrator->ingest = (struct ingest){ .codec = options->codec,
					      .scored_topic = calibrator->topic,
					      .feedback_topic = calibrator->feedback_topic,
					      .horizon_ms = horizon_ms,
					      .batch = &calibrator->batch };
}

DEFINE_CLEANUP(struct calibrator, calibrator_cleanup, calibrator_free)

err_t calibrator_start(const struct calibrator_options *options, struct calibrator **ret_calibrator,
		       struct err_detail *detail)
{
	_cleanup_(calibrator_cleanup) struct calibrator *calibrator = calloc(1, sizeof *calibrator);
	if (!calibrator)
		abort();
	calibrator->magic = CALIBRATOR_MAGIC;
	calibrator->heartbeat.name = "calibrator";
	calibrator->backoff = (struct backoff){ .base_ms = RETRY_BASE_MS, .cap_ms = RETRY_CAP_MS };
	set_ingest(calibrator, options);
	calibrator->store = calibration_store_new(&(const struct calibration_store_options){
		.dsn = options->dsn,
		.password_file = options->password_file,
		.bucket_s = options->bucket_s,
		.max_segments = (int64_t)options->max_segments,
		.feedback_horizon_ms = calibrator->ingest.horizon_ms,
		.retention_ms = options->retention_days * DAY_MS,
		.learns = options->learns,
		.false_alarms_per_10k = options->drift.false_alarms_per_10k,
		.waits = wait_for_database,
		.waits_context = calibrator,
	});
	pthread_mutex_init(&calibrator->mutex, NULL);
	err_t err = create_watch(calibrator, options, detail);
	if (!err)
		err = create_consumer(calibrator, options->kafka, detail);
	if (err)
		return err;
	heartbeat_beat(&calibrator->heartbeat);
	calibrator->pool = pool_start("calibrator", 1, calibrator_main, calibrator);
	*ret_calibrator = TAKE_PTR(calibrator);
	return ERR_OK;
}

/* There is no rest from `ending` on; what ends the last one may not meet the consumer's close. */
static void ask_to_stop(struct calibrator *calibrator)
{
	if (atomic_load(&calibrator->stopping))
		return;
	atomic_store(&calibrator->ending, true);
	kafka_end_poll(calibrator->consumer);
	atomic_store(&calibrator->stopping, true);
}

void calibrator_close(struct calibrator *calibrator, int64_t until_us)
{
	if (!calibrator)
		return;
	calibration_store_limit_waits(calibrator->store, until_us);
	ask_to_stop(calibrator);
}

bool calibrator_ended(struct calibrator *calibrator, int64_t timeout_ms)
{
	if (!calibrator || !calibrator->pool)
		return true;
	if (!pool_join_within(calibrator->pool, timeout_ms))
		return false;
	calibrator->pool = NULL;
	return true;
}

void calibrator_stop(struct calibrator *calibrator)
{
	if (!calibrator)
		return;
	ask_to_stop(calibrator);
	pool_join(calibrator->pool);
	calibrator_free(calibrator);
}

void calibrator_statistics(struct calibrator *calibrator, struct calibrator_statistics *ret_statistics)
{
	pthread_mutex_lock(&calibrator->mutex);
	*ret_statistics = calibrator->statistics;
	pthread_mutex_unlock(&calibrator->mutex);
}

struct heartbeat *calibrator_heartbeat(struct calibrator *calibrator)
{
	return &calibrator->heartbeat;
}
