#include "audit/keeper/keeper.h"

#include "audit/checkpoint.h"
#include "audit/keeper/keeper_publisher.h"
#include "audit/publish/key_file.h"
#include "common/backoff.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/pool.h"
#include "kafka/fetching.h"
#include "kafka/rights.h"

#include <assert.h>
#include <pthread.h>

enum {
	POLL_MS = 100,
	TAKE_AT_ONCE = 1000, /* records between two looks at everything else */
	BATCH_RECORDS = 20000,
	BATCH_AGE_MS = 1000,
	PASSED_MS = 5000, /* between batches that only pass by what is no record */
	RETRY_BASE_MS = 200,
	RETRY_CAP_MS = 3000,
	WATERMARK_TIMEOUT_MS = 5000,
	LAG_MS = 1000,
	REFUSED_AGAIN_MS = 10000, /* between attempts to fetch what may not be read */
	STOPPED_AGAIN_MS = 10000, /* between looks whether somebody had a stopped log begin again */
	FINISH_MS = 1000,	  /* for checkpoints under way at a stop */
	CLIENT_CLOSE_MS = 1000,
};

#define KEEPER_MAGIC 0xaad17106u

/* What the thread waits for, in heartbeats and logs. */
#define DATABASE_NAME "audit log database"

struct audit_keeper {
	uint32_t magic;
	struct keeper_options options;
	const char *topic;
	rd_kafka_t *consumer;
	struct fetching fetching; /* the thread's */
	struct pool *pool;
	struct heartbeat heartbeat;
	_Atomic bool stopping;

	struct audit_store *store; /* the thread's, likewise below */
	struct keeper_publisher *publisher;
	char name[NOTE_NAME_MAX + 1]; /* of the key; "": it was not read yet */
	struct keeper_log *logs;      /* of the assignment */
	size_t logs_count;
	bool positioned; /* the logs were opened and those that may be read are fetched */
	bool paused;
	size_t batch_records;
	int64_t batch_since_us; /* of the first record of the batch */
	int64_t next_passed_us; /* earliest time to store a position behind what is no record */
	int64_t written_ms;	/* when the first record of the batch, or of the last one, was written */
	int64_t away_since_ms;	/* wall clock: when the database did not take an attempt, after it had */
	int64_t next_lag_us, next_stopped_us, next_sign_us;
	int64_t next_look_us;	  /* a topic did not answer: not at once again */
	bool interrupted;	  /* a broker was away since the positions were taken */
	right_set refused;	  /* rights of which the broker says that they are missing */
	int64_t refused_since_ms; /* wall clock: the first of them */
	int64_t refused_us;	  /* when it said so last, or was tried again */
	int64_t retry_at_us;	  /* 0: the database took the last attempt */
	struct err_detail logged; /* why it does not, as the journal knows it */
	bool unsigned_logged;	  /* the key could not be used, and that was logged */
	struct backoff backoff;

	pthread_mutex_t mutex; /* guards what follows */
	struct keeper_statistics statistics;
	char *stops; /* lines, or NULL */
};

/* ---- the database ---- */

/* A transaction has many statements, each with a deadline: a database that is slow is no reason to leave the
 * group. */
static void wait_for_database(void *context)
{
	struct audit_keeper *keeper = context;
	kafka_count_as_poll(keeper->consumer);
}

/* An attempt failed: the next one comes later, meanwhile nothing more is read. */
static void postpone(struct audit_keeper *keeper, err_t err, const struct err_detail *detail)
{
	int64_t delay_ms = RETRY_BASE_MS / 2 + backoff_next_ms(&keeper->backoff);
	const char *reason = err_message(err, detail);
	bool first = keeper->retry_at_us == 0;
	if (first || strcmp(reason, keeper->logged.message) != 0) {
		log_write(err == ERR_DATABASE_UNAVAILABLE ? LOG_LEVEL_WARNING : LOG_LEVEL_ERROR, NULL,
			  "the audit log waits; scoring continues: %s", reason);
		err_fail(&keeper->logged, err, "%s", reason);
	}
	if (first)
		keeper->away_since_ms = clock_wall_ms();
	keeper->retry_at_us = clock_monotonic_us() + delay_ms * 1000;
	pthread_mutex_lock(&keeper->mutex);
	keeper->statistics.failures++;
	keeper->statistics.database_up = false;
	pthread_mutex_unlock(&keeper->mutex);
}

/* After a wait the topic may have become another one, with as many records: the last one is read again. */
static void database_works(struct audit_keeper *keeper)
{
	if (keeper->retry_at_us) {
		log_notice("the audit log goes on");
		keeper->positioned = false;
	}
	keeper->retry_at_us = 0;
	backoff_reset(&keeper->backoff);
	pthread_mutex_lock(&keeper->mutex);
	keeper->statistics.database_up = true;
	pthread_mutex_unlock(&keeper->mutex);
}

static bool retry_is_due(const struct audit_keeper *keeper)
{
	return clock_monotonic_us() >= keeper->retry_at_us;
}

static struct audit_store_log store_log(const struct audit_keeper *keeper, const struct keeper_log *log)
{
	return (struct audit_store_log){ keeper->topic, log->partition };
}

static struct keeper_log *find_log(struct audit_keeper *keeper, int32_t partition)
{
	for (size_t i = 0; i < keeper->logs_count; i++)
		if (keeper->logs[i].partition == partition)
			return &keeper->logs[i];
	return NULL;
}

/* ---- logs that stand still ---- */

static const char stop_hint[] =
	"nothing is added to it before that is mended: where the configuration names another cluster or "
	"topic "
	"than before, correct it; where the topic really was made again, \"assayd audit begin-again "
	"--partition N --reason TEXT\" has the log go on with a mark of it";
static const char damage_hint[] = "restore the tables of the audit log from a backup, or give it another "
				  "database; \"assayd audit verify\" says what still fits the checkpoints";

static void append_stop(const struct audit_keeper *keeper, const struct keeper_log *log, struct buf *out)
{
	buf_printf(out, "audit log of partition %d of %s: %s; %s\n", (int)log->partition, keeper->topic,
		   log->reason, log->state == KEEPER_LOG_DAMAGED ? damage_hint : stop_hint);
}

static void tell_of_stops(struct audit_keeper *keeper)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	unsigned stopped = 0;
	for (size_t i = 0; i < keeper->logs_count; i++) {
		const struct keeper_log *log = &keeper->logs[i];
		if (log->state != KEEPER_LOG_STOPPED && log->state != KEEPER_LOG_DAMAGED)
			continue;
		stopped++;
		append_stop(keeper, log, &text);
	}
	pthread_mutex_lock(&keeper->mutex);
	free(keeper->stops);
	keeper->stops = TAKE_PTR(text.data);
	keeper->statistics.stopped = stopped;
	keeper->statistics.assigned = (unsigned)keeper->logs_count;
	pthread_mutex_unlock(&keeper->mutex);
}

static void log_stop(const struct audit_keeper *keeper, const struct keeper_log *log)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	append_stop(keeper, log, &text);
	log_write(LOG_LEVEL_CRITICAL, NULL, "%.*s", (int)text.len - 1, text.data);
}

static void damage(struct audit_keeper *keeper, struct keeper_log *log, const struct err_detail *detail)
{
	keeper_log_damage(log, err_message(ERR_AUDIT_DAMAGED, detail));
	log_stop(keeper, log);
}

/* It is not to be read any more: stopped, or doubtful for now. */
static void report_standstill(const struct audit_keeper *keeper, const struct keeper_log *log)
{
	if (log->state == KEEPER_LOG_STOPPED)
		log_stop(keeper, log);
	else if (log->doubts == 1)
		log_warning("audit log of partition %d of %s: %s; it is looked at again", (int)log->partition,
			    keeper->topic, log->reason);
}

/* It was seen to be another topic often enough: that is stored, so that no other owner goes on. */
static err_t stop_log(struct audit_keeper *keeper, struct keeper_log *log, struct err_detail *detail)
{
	struct audit_store_log of = store_log(keeper, log);
	char reason[KEEPER_LOG_REASON_MAX];
	snprintf(reason, sizeof reason, "%s", log->reason);
	err_t err = audit_store_stop(keeper->store, &of, reason, detail);
	if (err)
		return err;
	keeper_log_stop(log, reason);
	log_stop(keeper, log);
	return ERR_OK;
}

/* ---- signing ---- */

/* The note of where the log is then, with all keys of the file, which have the name that is in the origin. */
static err_t sign(const struct audit_keeper *keeper, const struct keeper_log *log,
		  const struct key_file *keys, struct buf *ret_note)
{
	_cleanup_(buf_free) struct buf origin = BUF_INIT;
	struct checkpoint checkpoint = { .size = log->growth.to.range.size, .extensions = STR("") };
	merkle_range_root(&log->growth.to.range, &checkpoint.root);
	err_t err =
		checkpoint_origin(str_from(keeper->name), str_from(keeper->topic), log->partition, &origin);
	checkpoint.origin = buf_str(&origin);
	return err ? err : checkpoint_sign(&checkpoint, keys->signers, keys->count, ret_note);
}

static void note_unsigned(struct audit_keeper *keeper, err_t err, const struct err_detail *detail)
{
	if (!keeper->unsigned_logged)
		log_error("the audit log is not signed, and goes on: %s", err_message(err, detail));
	keeper->unsigned_logged = true;
	pthread_mutex_lock(&keeper->mutex);
	keeper->statistics.sign_failures++;
	pthread_mutex_unlock(&keeper->mutex);
}

/* The keys, of the same name as before. */
static err_t read_keys(struct audit_keeper *keeper, struct key_file *ret_keys, struct err_detail *detail)
{
	err_t err = key_file_read(keeper->options.key_file, ret_keys, detail);
	if (err || !*keeper->name || strcmp(ret_keys->signers[0].key.name, keeper->name) == 0)
		return err;
	err = err_fail(
		detail, ERR_AUDIT_MALFORMED,
		"%s: the key is now called \"%s\" instead of \"%s\", which is in the origin of the logs: "
		"logs of another name need a database of their own, and a restart",
		keeper->options.key_file, ret_keys->signers[0].key.name, keeper->name);
	key_file_wipe(ret_keys);
	return err;
}

static bool sign_is_due(const struct audit_keeper *keeper, const struct keeper_log *log, int64_t now_ms)
{
	return log->state == KEEPER_LOG_GROWING && log->growth.to.range.size > log->signed_size &&
	       now_ms - log->signed_at_ms >= keeper->options.checkpoint_interval_ms;
}

/* ---- batches ---- */

/* Somebody else has logged (a former owner, or this batch itself when its commit was not confirmed): what was
 * read is dropped and the positions are read again. */
static void give_up_batch(struct audit_keeper *keeper, const struct err_detail *detail)
{
	log_notice("the audit log continues from the stored positions: %s",
		   err_message(ERR_CONFLICT, detail));
	keeper->positioned = false;
	pthread_mutex_lock(&keeper->mutex);
	keeper->statistics.conflicts++;
	pthread_mutex_unlock(&keeper->mutex);
}

struct commit {
	struct audit_store_step *steps;
	struct keeper_log **logs; /* of the steps */
	struct buf *notes;
	size_t count;
	bool is_signed;
};

static void free_commit(struct commit *commit)
{
	for (size_t i = 0; i < commit->count; i++)
		buf_free(&commit->notes[i]);
	free(commit->steps);
	free(commit->logs);
	free(commit->notes);
}

/* What is to be stored; with a note where one is due. */
static void make_commit(struct audit_keeper *keeper, struct commit *commit)
{
	struct err_detail detail = { "" };
	struct key_file keys = { .count = 0 };
	int64_t now_ms = clock_wall_ms();
	bool due = false;
	commit->steps = calloc(keeper->logs_count + 1, sizeof *commit->steps);
	commit->logs = calloc(keeper->logs_count + 1, sizeof *commit->logs);
	commit->notes = calloc(keeper->logs_count + 1, sizeof *commit->notes);
	if (!commit->steps || !commit->logs || !commit->notes)
		abort();
	for (size_t i = 0; i < keeper->logs_count; i++)
		due |= sign_is_due(keeper, &keeper->logs[i], now_ms);
	err_t err = due ? read_keys(keeper, &keys, &detail) : ERR_OK;
	for (size_t i = 0; i < keeper->logs_count; i++) {
		struct keeper_log *log = &keeper->logs[i];
		struct buf *note = &commit->notes[commit->count];
		if (!err && sign_is_due(keeper, log, now_ms))
			err = sign(keeper, log, &keys, note);
		if (!keeper_log_moved(log) && !note->len)
			continue;
		commit->is_signed |= note->len > 0;
		commit->logs[commit->count] = log;
		commit->steps[commit->count++] =
			(struct audit_store_step){ store_log(keeper, log), &log->growth,
						   note->len ? note->data : NULL, log->lifts_stop };
	}
	if (err)
		note_unsigned(keeper, err, &detail);
	else if (due)
		keeper->unsigned_logged = false;
	key_file_wipe(&keys);
}

static uint64_t count_gaps(const struct keeper_log *log)
{
	uint64_t gaps = 0;
	for (size_t i = 0; i < log->growth.marks_count; i++)
		gaps += log->growth.marks[i]->mark.kind == LEAF_MARK_GAP;
	return gaps;
}

static void report_marks(const struct audit_keeper *keeper, const struct keeper_log *log)
{
	for (size_t i = 0; i < log->growth.marks_count; i++)
		log_error("partition %d of %s: records from %lld to %lld were deleted before they were "
			  "logged; the audit log has a mark of it",
			  (int)log->partition, keeper->topic,
			  (long long)log->growth.marks[i]->mark.from_offset,
			  (long long)log->growth.marks[i]->mark.to_offset - 1);
	if (log->lifts_stop)
		log_notice("partition %d of %s is the topic that was logged: its audit log goes on",
			   (int)log->partition, keeper->topic);
}

static void count_commit(struct audit_keeper *keeper, const struct commit *commit)
{
	struct keeper_statistics *statistics = &keeper->statistics;
	int64_t now_ms = clock_wall_ms();
	pthread_mutex_lock(&keeper->mutex);
	statistics->records += keeper->batch_records;
	statistics->batches++;
	for (size_t i = 0; i < commit->count; i++) {
		struct keeper_log *log = commit->logs[i];
		bool note = commit->steps[i].note != NULL;
		statistics->gaps += count_gaps(log);
		statistics->checkpoints += note;
		report_marks(keeper, log);
		keeper_log_stored(log, note ? now_ms : 0);
		if (!note && !log->unsigned_since_ms && log->growth.to.range.size > log->signed_size)
			log->unsigned_since_ms = now_ms;
	}
	pthread_mutex_unlock(&keeper->mutex);
	if (commit->is_signed)
		keeper_publisher_look(keeper->publisher);
	keeper->batch_records = 0;
}

/* Publishes what is due, where the database takes it. */
static void publish(struct audit_keeper *keeper)
{
	struct err_detail detail = { "" };
	if (!keeper->positioned)
		return;
	err_t err = keeper_publisher_step(keeper->publisher, keeper->logs, keeper->logs_count, keeper->name,
					  &detail);
	if (err)
		postpone(keeper, err, &detail);
	else if (keeper->retry_at_us)
		database_works(keeper);
}

/* Stores what was read; whatever the outcome, nothing is lost or doubled. */
static void commit_batch(struct audit_keeper *keeper)
{
	struct err_detail detail = { "" };
	size_t failed = 0;
	_cleanup_(free_commit) struct commit commit = { NULL, NULL, NULL, 0, false };
	keeper->next_passed_us = clock_monotonic_us() + INT64_C(1000) * PASSED_MS;
	make_commit(keeper, &commit);
	if (commit.count == 0) {
		publish(keeper);
		return;
	}
	heartbeat_waiting(&keeper->heartbeat, DATABASE_NAME);
	err_t err = audit_store_apply(keeper->store, commit.steps, commit.count, &failed, &detail);
	if (err == ERR_CONFLICT) {
		database_works(keeper);
		give_up_batch(keeper, &detail);
	} else if (err == ERR_AUDIT_DAMAGED) { /* the others go on without it */
		database_works(keeper);
		damage(keeper, commit.logs[failed], &detail);
		keeper->positioned = false;
	} else if (err) {
		postpone(keeper, err, &detail);
	} else {
		database_works(keeper);
		count_commit(keeper, &commit);
	}
}

static bool is_moved(const struct audit_keeper *keeper)
{
	for (size_t i = 0; i < keeper->logs_count; i++)
		if (keeper_log_moved(&keeper->logs[i]))
			return true;
	return false;
}

static bool batch_is_due(struct audit_keeper *keeper)
{
	int64_t now_us = clock_monotonic_us(), now_ms = clock_wall_ms();
	if (keeper->batch_records >= BATCH_RECORDS ||
	    (keeper->batch_records && now_us - keeper->batch_since_us >= INT64_C(1000) * BATCH_AGE_MS))
		return true;
	if (now_us >= keeper->next_sign_us) {
		keeper->next_sign_us = now_us + INT64_C(1000) * LAG_MS;
		for (size_t i = 0; i < keeper->logs_count && !keeper->unsigned_logged; i++)
			if (sign_is_due(keeper, &keeper->logs[i], now_ms))
				return true;
	}
	return now_us >= keeper->next_passed_us && (is_moved(keeper) || keeper->unsigned_logged);
}

/* ---- assignment ---- */

/* While the database is away nothing is fetched, but the consumer stays in its group. Lifted before an
 * assignment ends: see fetching.h. */
static void set_paused(struct audit_keeper *keeper, bool pause)
{
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *list = NULL;
	if (keeper->paused == pause ||
	    rd_kafka_assignment(keeper->consumer, &list) != RD_KAFKA_RESP_ERR_NO_ERROR || !list)
		return;
	fetching_pause(&keeper->fetching, list, pause);
	keeper->paused = pause;
}

static void note_position(struct keeper_log *log, const struct audit_store_position *position)
{
	log->signed_size = position->signed_size;
	log->signed_at_ms = position->signed_at_ms;
	log->unsigned_since_ms = 0;
	if (position->growth.range.size > position->signed_size)
		log->unsigned_since_ms = position->signed_at_ms ? position->signed_at_ms : clock_wall_ms();
}

/* Reads where the log stands. */
static err_t open_log(struct audit_keeper *keeper, struct keeper_log *log, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf origin = BUF_INIT;
	const struct audit_store_log of = store_log(keeper, log);
	struct audit_store_position position;
	bool damaged = log->state == KEEPER_LOG_DAMAGED, stopped = log->state == KEEPER_LOG_STOPPED;
	keeper_log_forget(log);
	err_t err =
		checkpoint_origin(str_from(keeper->name), str_from(keeper->topic), log->partition, &origin);
	if (!err)
		err = audit_store_open(keeper->store, &of, origin.data, &position, detail);
	if (err == ERR_AUDIT_DAMAGED) {
		keeper_log_damage(log, err_message(err, detail));
		if (!damaged)
			log_stop(keeper, log);
		return ERR_OK;
	}
	if (err)
		return err;
	note_position(log, &position);
	if (position.known) {
		keeper_log_open(log, &position.growth, position.stopped);
	} else {
		keeper_log_stop(log, position.stopped);
		if (!stopped)
			log_stop(keeper, log);
	}
	return ERR_OK;
}

/* The name in the origin of a log of this topic that the database has, which may be none. */
static err_t read_name(struct audit_keeper *keeper, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct audit_store_row *rows;
	size_t count;
	err_t err = audit_store_rows(keeper->store, keeper->topic, arena, &rows, &count, detail);
	for (size_t i = 0; !err && i < count && !*keeper->name; i++) {
		str_t name =
			checkpoint_origin_name(rows[i].origin, str_from(keeper->topic), rows[i].partition);
		snprintf(keeper->name, sizeof keeper->name, "%.*s", (int)name.len, name.ptr ? name.ptr : "");
	}
	return err;
}

/* The key's name; where that cannot be read, logs that are there already go on under theirs, unsigned. */
static err_t learn_name(struct audit_keeper *keeper, struct err_detail *detail)
{
	struct key_file keys;
	struct err_detail reason = { "" };
	err_t err = read_keys(keeper, &keys, &reason);
	if (!err) {
		snprintf(keeper->name, sizeof keeper->name, "%s", keys.signers[0].key.name);
		key_file_wipe(&keys);
		return ERR_OK;
	}
	err_t read = read_name(keeper, detail);
	if (read)
		return read;
	if (!*keeper->name)
		return err_fail(detail, err, "%s; the first start needs its name", err_message(err, &reason));
	note_unsigned(keeper, err, &reason);
	return ERR_OK;
}

static err_t open_logs(struct audit_keeper *keeper, struct err_detail *detail)
{
	heartbeat_waiting(&keeper->heartbeat, DATABASE_NAME);
	err_t err = *keeper->name ? ERR_OK : learn_name(keeper, detail);
	keeper->batch_records = 0;
	for (size_t i = 0; !err && i < keeper->logs_count; i++) {
		struct keeper_log *log = &keeper->logs[i];
		if (log->state == KEEPER_LOG_DOUBTFUL) {
			if (log->doubts >= KEEPER_LOG_DOUBTS)
				err = stop_log(keeper, log, detail);
			else if (keeper_log_doubt_is_due(log, clock_monotonic_us()))
				err = open_log(keeper, log, detail);
		} else if (log->state != KEEPER_LOG_STOPPED && log->state != KEEPER_LOG_DAMAGED) {
			err = open_log(keeper, log, detail);
		}
	}
	return err;
}

/* Looks at the partition of a log that was opened. False: it is not fetched. */
static bool look_at_topic(struct audit_keeper *keeper, struct keeper_log *log, int64_t *ret_offset)
{
	int64_t low, end;
	kafka_count_as_poll(keeper->consumer); /* one without a leader takes its time */
	if (rd_kafka_query_watermark_offsets(keeper->consumer, keeper->topic, log->partition, &low, &end,
					     WATERMARK_TIMEOUT_MS) != RD_KAFKA_RESP_ERR_NO_ERROR) {
		keeper_log_forget(log); /* and is opened again in a moment */
		return false;
	}
	if (keeper_log_look(log, low, end, clock_monotonic_us(), ret_offset))
		return true;
	report_standstill(keeper, log);
	return false;
}

/* Lets the consumer fetch what may be read. */
static void fetch_logs(struct audit_keeper *keeper)
{
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *list =
		rd_kafka_topic_partition_list_new((int)keeper->logs_count);
	heartbeat_waiting(&keeper->heartbeat, "Kafka broker");
	set_paused(keeper, false);
	keeper->positioned = true;
	keeper->interrupted = false;
	for (size_t i = 0; i < keeper->logs_count; i++) {
		struct keeper_log *log = &keeper->logs[i];
		int64_t offset;
		if (log->state == KEEPER_LOG_KNOWN && look_at_topic(keeper, log, &offset))
			rd_kafka_topic_partition_list_add(list, keeper->topic, log->partition)->offset =
				offset;
		if (log->state == KEEPER_LOG_UNKNOWN)
			keeper->positioned = false;
	}
	rd_kafka_resp_err_t err = fetching_assign(&keeper->fetching, list);
	if (err)
		log_error("partitions for the audit log cannot be assigned: %s", rd_kafka_err2str(err));
	keeper->positioned &= !err;
}

static void take_positions(struct audit_keeper *keeper)
{
	struct err_detail detail = { "" };
	err_t err = open_logs(keeper, &detail);
	if (err) {
		postpone(keeper, err, &detail);
		return;
	}
	database_works(keeper);
	fetch_logs(keeper);
	tell_of_stops(keeper);
	keeper_publisher_look(keeper->publisher);
	if (!keeper->positioned)
		keeper->next_look_us = clock_monotonic_us() + INT64_C(1000) * RETRY_CAP_MS;
}

static void free_logs(struct audit_keeper *keeper)
{
	for (size_t i = 0; i < keeper->logs_count; i++)
		keeper_log_free(&keeper->logs[i]);
	free(TAKE_PTR(keeper->logs));
	keeper->logs_count = 0;
	keeper->batch_records = 0;
}

static int by_partition(const void *a, const void *b)
{
	const struct keeper_log *left = a, *right = b;
	return (left->partition > right->partition) - (left->partition < right->partition);
}

/* The partitions are only noted: the database tells where they start, and it may be away for longer than a
 * rebalance may take. */
static void on_assign(struct audit_keeper *keeper, const rd_kafka_topic_partition_list_t *list)
{
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *none =
		rd_kafka_topic_partition_list_new(0);
	free_logs(keeper);
	keeper->logs = calloc((size_t)list->cnt + 1, sizeof *keeper->logs);
	if (!keeper->logs)
		abort();
	for (int i = 0; i < list->cnt; i++)
		keeper_log_init(&keeper->logs[i], list->elems[i].partition);
	keeper->logs_count = (size_t)list->cnt;
	qsort(keeper->logs, keeper->logs_count, sizeof *keeper->logs, by_partition);
	keeper->positioned = false;
	keeper->refused &= ~RIGHT_BIT(RIGHT_READ_AUDIT);
	set_paused(keeper, false);
	fetching_assign(&keeper->fetching, none);
	log_info("audit log: assigned %d partitions", list->cnt);
}

/* What was read is stored if that succeeds at once, else the next owner reads it again. */
static void on_revoke(struct audit_keeper *keeper)
{
	if (keeper->positioned && keeper->retry_at_us == 0 && keeper->batch_records > 0)
		commit_batch(keeper);
	free_logs(keeper);
	keeper->positioned = false;
	set_paused(keeper, false);
	fetching_assign(&keeper->fetching, NULL);
	tell_of_stops(keeper);
}

static void on_rebalance(rd_kafka_t *consumer, rd_kafka_resp_err_t err, rd_kafka_topic_partition_list_t *list,
			 void *opaque)
{
	struct audit_keeper *keeper = opaque;
	(void)consumer;
	assert(keeper->magic == KEEPER_MAGIC);
	if (err == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS)
		on_assign(keeper, list);
	else
		on_revoke(keeper);
}

/* ---- what stands still is looked at again ---- */

/* Whether somebody had a stopped log begin again. */
static err_t look_at_stopped(struct audit_keeper *keeper, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct audit_store_row *rows;
	size_t count;
	err_t err = audit_store_rows(keeper->store, keeper->topic, arena, &rows, &count, detail);
	for (size_t i = 0; !err && i < count; i++) {
		struct keeper_log *log = find_log(keeper, rows[i].partition);
		if (!log || log->state != KEEPER_LOG_STOPPED || str_present(rows[i].stopped))
			continue;
		keeper_log_forget(log);
		keeper->positioned = false;
	}
	return err;
}

static void look_again(struct audit_keeper *keeper)
{
	int64_t now_us = clock_monotonic_us();
	struct err_detail detail = { "" };
	for (size_t i = 0; i < keeper->logs_count; i++)
		if (keeper_log_doubt_is_due(&keeper->logs[i], now_us))
			keeper->positioned = false;
	if (!keeper->statistics.stopped || now_us < keeper->next_stopped_us || keeper->retry_at_us)
		return;
	keeper->next_stopped_us = now_us + INT64_C(1000) * STOPPED_AGAIN_MS;
	err_t err = look_at_stopped(keeper, &detail);
	if (err)
		postpone(keeper, err, &detail);
}

/* ---- rights ---- */

static void log_refused(const struct audit_keeper *keeper, enum right right)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	right_describe(keeper->options.kafka, right, &text);
	log_error("the audit log does not go on: %s", text.data);
}

/* Something is missing that others can grant; what may not be fetched is tried again. */
static void note_refused(struct audit_keeper *keeper, enum right right, bool fetched)
{
	if (!(keeper->refused & RIGHT_BIT(right)))
		log_refused(keeper, right);
	if (!fetched)
		return;
	if (keeper->refused == 0)
		keeper->refused_since_ms = clock_wall_ms();
	keeper->refused |= RIGHT_BIT(right);
	keeper->refused_us = clock_monotonic_us();
}

static void note_granted(struct audit_keeper *keeper)
{
	struct right_name name;
	if (!(keeper->refused & RIGHT_BIT(RIGHT_READ_SCORED)))
		return;
	keeper->refused &= ~RIGHT_BIT(RIGHT_READ_SCORED);
	right_name(keeper->options.kafka, RIGHT_READ_SCORED, &name);
	log_notice("the audit log has %s on %s \"%s\" again", name.operation, name.resource, name.name);
}

/* Whoever was refused is told nothing when that ends: from time to time it is fetched once more. */
static void fetch_refused_again(struct audit_keeper *keeper)
{
	int64_t now_us = clock_monotonic_us();
	if (!(keeper->refused & RIGHT_BIT(RIGHT_READ_SCORED)) ||
	    now_us - keeper->refused_us < INT64_C(1000) * REFUSED_AGAIN_MS)
		return;
	keeper->refused_us = now_us;
	keeper->positioned = false;
}

/* ---- records ---- */

static void read_record(struct audit_keeper *keeper, struct keeper_log *log,
			const rd_kafka_message_t *message)
{
	uint64_t before = log->growth.to.range.size;
	const str_t key = { message->key, message->key_len }, value = { message->payload, message->len };
	if (!keeper_log_take(log, message->offset, key, value, clock_monotonic_us())) {
		report_standstill(keeper, log);
		keeper->positioned = false; /* it is not to be fetched any more */
		return;
	}
	if (log->growth.to.range.size == before)
		return;
	if (keeper->batch_records++ == 0) {
		keeper->batch_since_us = clock_monotonic_us();
		keeper->written_ms = kafka_written_ms(message);
	}
}

static void handle_error(struct audit_keeper *keeper, const rd_kafka_message_t *message)
{
	struct keeper_log *log = message->rkt ? find_log(keeper, message->partition) : NULL;
	switch (message->err) {
	case RD_KAFKA_RESP_ERR__PARTITION_EOF:
		note_granted(keeper);
		if (log && keeper->positioned &&
		    !keeper_log_end(log, message->offset, clock_monotonic_us())) {
			report_standstill(keeper, log);
			keeper->positioned = false;
		}
		return;
	case RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN:
	case RD_KAFKA_RESP_ERR__TRANSPORT:
		keeper->interrupted = true;
		heartbeat_waiting(&keeper->heartbeat, "Kafka broker");
		return;
	case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
		note_refused(keeper, RIGHT_READ_AUDIT, true);
		return;
	case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
		note_refused(keeper, RIGHT_READ_SCORED, message->partition >= 0);
		return;
	case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
	case RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE:
		/* Deleted while we were reading, or another topic: a look at it says which. */
		keeper->positioned = false;
		return;
	default:
		keeper->interrupted = true;
		log_warning("audit log consumer: %s", rd_kafka_message_errstr(message));
	}
}

static bool poll_once(struct audit_keeper *keeper, int timeout_ms)
{
	rd_kafka_message_t *message = rd_kafka_consumer_poll(keeper->consumer, timeout_ms);
	if (!message)
		return false;
	struct keeper_log *log = message->err ? NULL : find_log(keeper, message->partition);
	bool answered = !message->err || message->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
	if (answered && keeper->interrupted) {
		keeper->positioned = false; /* as after the database was waited for */
	} else if (message->err) {
		handle_error(keeper, message);
	} else if (log && keeper->positioned) {
		note_granted(keeper);
		read_record(keeper, log, message);
	}
	rd_kafka_message_destroy(message);
	return true;
}

static void poll_some(struct audit_keeper *keeper)
{
	if (!poll_once(keeper, POLL_MS))
		return;
	for (int i = 1; i < TAKE_AT_ONCE && poll_once(keeper, 0); i++)
		;
}

/* ---- lag ---- */

/* The end of a partition may be the mark of a transaction, which nobody reads: that it was reached counts for
 * more than where it is. An end before the log's is another topic's. */
static uint64_t behind(struct audit_keeper *keeper, const struct keeper_log *log)
{
	int64_t low, end, next = log->growth.from.next_offset;
	if (log->state != KEEPER_LOG_GROWING || (log->at_end && !keeper_log_moved(log)) ||
	    rd_kafka_get_watermark_offsets(keeper->consumer, keeper->topic, log->partition, &low, &end) !=
		    RD_KAFKA_RESP_ERR_NO_ERROR ||
	    end < 0)
		return 0;
	if (end < log->growth.to.next_offset && log->at_end)
		keeper->positioned = false;
	return end > next ? (uint64_t)(end - next) : 0;
}

/* Since when the oldest record that is not logged waits, 0: none does. */
static int64_t waiting_since_ms(const struct audit_keeper *keeper, uint64_t offsets)
{
	if (keeper->refused)
		return keeper->refused_since_ms;
	if (keeper->logs_count == 0)
		return 0;
	if (!keeper->positioned)
		return keeper->retry_at_us ? keeper->away_since_ms : 0;
	return offsets || keeper->batch_records ? keeper->written_ms : 0;
}

static void measure(struct audit_keeper *keeper)
{
	struct keeper_statistics *statistics = &keeper->statistics;
	struct keeper_publisher_statistics published;
	int64_t now_us = clock_monotonic_us(), unsigned_ms = 0;
	uint64_t offsets = 0;
	if (now_us < keeper->next_lag_us)
		return;
	keeper->next_lag_us = now_us + INT64_C(1000) * LAG_MS;
	for (size_t i = 0; i < keeper->logs_count; i++) {
		int64_t since_ms = keeper->logs[i].unsigned_since_ms;
		offsets += behind(keeper, &keeper->logs[i]);
		if (since_ms && (!unsigned_ms || since_ms < unsigned_ms))
			unsigned_ms = since_ms;
	}
	keeper_publisher_statistics(keeper->publisher, &published);
	pthread_mutex_lock(&keeper->mutex);
	statistics->behind = offsets;
	statistics->waiting_since_ms = waiting_since_ms(keeper, offsets);
	statistics->unsigned_since_ms = unsigned_ms;
	statistics->in_topic = published.in_topic;
	statistics->in_file = published.in_file;
	statistics->publish_failures = published.topic_failures + published.file_failures;
	statistics->sizes_count = 0;
	for (size_t i = 0; i < keeper->logs_count && i < KEEPER_PARTITIONS_TOLD; i++) {
		const struct keeper_log *log = &keeper->logs[i];
		statistics->sizes[i].partition = log->partition;
		statistics->sizes[i].size = log->growth.from.range.size;
		statistics->sizes_count++;
	}
	pthread_mutex_unlock(&keeper->mutex);
}

/* ---- the thread ---- */

static void run_once(struct audit_keeper *keeper)
{
	fetch_refused_again(keeper);
	look_again(keeper);
	bool positions = keeper->logs_count && !keeper->positioned;
	if (!retry_is_due(keeper))
		; /* not yet */
	else if (positions && clock_monotonic_us() >= keeper->next_look_us)
		take_positions(keeper);
	else if (keeper->positioned && (keeper->retry_at_us || batch_is_due(keeper)))
		commit_batch(keeper);
	else
		publish(keeper);
	set_paused(keeper, keeper->retry_at_us != 0);
	if (keeper->retry_at_us)
		heartbeat_waiting(&keeper->heartbeat, DATABASE_NAME);
	else
		heartbeat_beat(&keeper->heartbeat);
	measure(keeper);
	poll_some(keeper);
}

/* Notes that are on their way have a moment to arrive. */
static void finish_publishing(struct audit_keeper *keeper)
{
	int64_t until_us = clock_monotonic_us() + INT64_C(1000) * FINISH_MS;
	while (keeper->positioned && !keeper->retry_at_us && keeper_publisher_is_busy(keeper->publisher) &&
	       clock_monotonic_us() < until_us) {
		publish(keeper);
		usleep(20000);
	}
}

static void keeper_main(void *context, unsigned index)
{
	struct audit_keeper *keeper = context;
	(void)index;
	while (!atomic_load(&keeper->stopping))
		run_once(keeper);
	if (keeper->positioned && keeper->batch_records > 0)
		commit_batch(keeper);
	finish_publishing(keeper);
	heartbeat_waiting(&keeper->heartbeat, "Kafka consumer close");
	rd_kafka_consumer_close(keeper->consumer);
	heartbeat_stop(&keeper->heartbeat);
}

/* ---- life ---- */

static err_t make_conf(struct audit_keeper *keeper, rd_kafka_conf_t **ret_conf, struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	err_t err = kafka_conf_new_reader(keeper->options.kafka, KAFKA_AUDIT_SUFFIX, &conf, detail);
	if (!err)
		err = kafka_conf_set(conf, "partition.assignment.strategy", "range,roundrobin", detail);
	if (!err)
		err = kafka_conf_set_liveness(conf, keeper->options.kafka, detail);
	if (err)
		return err;
	rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
	rd_kafka_conf_set_opaque(conf, keeper);
	*ret_conf = TAKE_PTR(conf);
	return ERR_OK;
}

static err_t create_consumer(struct audit_keeper *keeper, struct err_detail *detail)
{
	_cleanup_(kafka_conf_cleanup) rd_kafka_conf_t *conf = NULL;
	err_t err = make_conf(keeper, &conf, detail);
	if (!err)
		err = kafka_client_new(RD_KAFKA_CONSUMER, &conf, &keeper->consumer, detail);
	if (err)
		return err;
	keeper->fetching.consumer = keeper->consumer;
	rd_kafka_poll_set_consumer(keeper->consumer);
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *topics =
		rd_kafka_topic_partition_list_new(1);
	rd_kafka_topic_partition_list_add(topics, keeper->topic, RD_KAFKA_PARTITION_UA);
	rd_kafka_resp_err_t code = rd_kafka_subscribe(keeper->consumer, topics);
	return code ? err_fail(detail, ERR_KAFKA_TOPIC, "%s: %s", keeper->topic, rd_kafka_err2str(code))
		    : ERR_OK;
}

static void keeper_free(struct audit_keeper *keeper)
{
	kafka_client_close(keeper->consumer, CLIENT_CLOSE_MS);
	keeper_publisher_free(keeper->publisher);
	audit_store_free(keeper->store);
	free_logs(keeper);
	pthread_mutex_destroy(&keeper->mutex);
	free(keeper->stops);
	keeper->magic = 0;
	free(keeper);
}

DEFINE_CLEANUP(struct audit_keeper, keeper_cleanup, keeper_free)

static err_t create_publisher(struct audit_keeper *keeper, struct err_detail *detail)
{
	const struct keeper_publisher_options options = {
		.store = keeper->store,
		.kafka = keeper->options.kafka,
		.heartbeat = &keeper->heartbeat,
		.scored_topic = keeper->topic,
		.topic = keeper->options.checkpoint_topic,
		.file = keeper->options.checkpoint_file,
	};
	return keeper_publisher_new(&options, &keeper->publisher, detail);
}

err_t keeper_start(const struct keeper_options *options, struct audit_keeper **ret_keeper,
		   struct err_detail *detail)
{
	_cleanup_(keeper_cleanup) struct audit_keeper *keeper = calloc(1, sizeof *keeper);
	if (!keeper)
		abort();
	keeper->magic = KEEPER_MAGIC;
	keeper->options = *options;
	keeper->topic = options->kafka->scored_topic;
	keeper->heartbeat.name = "audit-log";
	keeper->backoff = (struct backoff){ .base_ms = RETRY_BASE_MS, .cap_ms = RETRY_CAP_MS };
	pthread_mutex_init(&keeper->mutex, NULL);
	keeper->store = audit_store_new(&(const struct audit_store_options){
		.dsn = options->dsn,
		.password_file = options->password_file,
		.settings = options->database_settings,
		.waits = wait_for_database,
		.waits_context = keeper,
	});
	err_t err = create_publisher(keeper, detail);
	if (!err)
		err = create_consumer(keeper, detail);
	if (err)
		return err;
	heartbeat_beat(&keeper->heartbeat);
	keeper->pool = pool_start("audit-log", 1, keeper_main, keeper);
	*ret_keeper = TAKE_PTR(keeper);
	return ERR_OK;
}

void keeper_close(struct audit_keeper *keeper, int64_t until_us)
{
	if (!keeper)
		return;
	audit_store_limit_waits(keeper->store, until_us);
	atomic_store(&keeper->stopping, true);
}

bool keeper_ended(struct audit_keeper *keeper, int64_t timeout_ms)
{
	if (!keeper || !keeper->pool)
		return true;
	if (!pool_join_within(keeper->pool, timeout_ms))
		return false;
	keeper->pool = NULL;
	return true;
}

void keeper_stop(struct audit_keeper *keeper)
{
	if (!keeper)
		return;
	atomic_store(&keeper->stopping, true);
	pool_join(keeper->pool);
	keeper_free(keeper);
}

void keeper_statistics(struct audit_keeper *keeper, struct keeper_statistics *ret_statistics)
{
	pthread_mutex_lock(&keeper->mutex);
	*ret_statistics = keeper->statistics;
	pthread_mutex_unlock(&keeper->mutex);
}

struct heartbeat *keeper_heartbeat(struct audit_keeper *keeper)
{
	return &keeper->heartbeat;
}

void keeper_describe_stops(struct audit_keeper *keeper, unsigned limit, struct buf *out)
{
	if (!keeper)
		return;
	pthread_mutex_lock(&keeper->mutex);
	for (const char *at = keeper->stops; at && *at && limit > 0; limit--) {
		const char *end = strchr(at, '\n');
		buf_append(out, at, (size_t)(end - at) + 1);
		at = end + 1;
	}
	pthread_mutex_unlock(&keeper->mutex);
}
