#include "judge/shared_cache_keeper.h"

#include "common/backoff.h"
#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/pool.h"
#include "common/queue.h"
#include "database/array.h"
#include "database/migrations.h"

#include <inttypes.h>

#define ROUND_MS	  1000 /* the longest wait between two signs of life */
#define BATCH_MAX	  500
#define PENDING_MAX	  20000 /* verdicts that wait for PostgreSQL; of 2 kB at most each */
#define SWEEP_MS	  60000
#define RECONNECT_BASE_MS 200
#define RECONNECT_CAP_MS  5000

static const unsigned char script[] = {
#include "schemas/judge.sql.inc"
};

static const struct migrations migrations = { (const char *)script, "judge_migrations", 7236837301,
					      "judge tables" };

/* Sorted, so that two instances that store the same rows at a time wait for each other, and no more. What
 * waited for PostgreSQL is as old as it is, and replaces nothing that is younger. */
#define STORE                                                                                                \
	"INSERT INTO judge_verdicts (key, kind, score, reason, stored_at) SELECT DISTINCT ON (key) key, "    \
	"kind, score, reason, now() - make_interval(secs => age) FROM unnest($1::bytea[], $2::text[], "      \
	"$3::float8[], $4::text[], $5::float8[]) AS put (key, kind, score, reason, age) ORDER BY key, age "  \
	"ON CONFLICT (key) DO UPDATE SET score = excluded.score, reason = excluded.reason, stored_at = "     \
	"excluded.stored_at WHERE judge_verdicts.stored_at <= excluded.stored_at"

#define SWEEP                                                                                                \
	"DELETE FROM judge_verdicts WHERE key IN (SELECT key FROM judge_verdicts WHERE stored_at < now() - " \
	"make_interval(secs => $1) ORDER BY stored_at LIMIT 10000 FOR UPDATE SKIP LOCKED)"

struct put {
	struct list_node node;
	unsigned char key[DIGEST_BYTES];
	enum judge_question kind;
	int64_t given_us;
	double score;
	bool has_reason;
	size_t reason_len;
	char reason[]; /* NUL-terminated */
};

struct keeper {
	void (*wake)(void *context);
	void *context;
	struct queue puts;
	_Atomic int64_t retention_s;
	_Atomic int64_t stored, lost;
	_Atomic bool stopping;
	_Atomic bool tried;	       /* to reach PostgreSQL */
	_Atomic bool wanted;	       /* a connection for reading */
	_Atomic(PGconn *) for_reading; /* that nobody has taken yet */
	struct pool *thread;
	struct heartbeat heartbeat;

	/* the thread's own */
	struct database *writer, *reader;
	struct list pending; /* what the next batch stores, or what the last one could not */
	struct backoff backoff;
	int64_t retry_us;
	int64_t sweep_us;
	bool away;     /* PostgreSQL, and it was said */
	bool migrated; /* since the last connection */
};

static struct put *put_of(struct list_node *node)
{
	return container_of(node, struct put, node);
}

void shared_cache_keeper_put(struct keeper *keeper, const unsigned char key[DIGEST_BYTES],
			     enum judge_question kind, const struct cached_verdict *verdict)
{
	if (queue_count(&keeper->puts) >= PENDING_MAX) {
		atomic_fetch_add(&keeper->lost, 1);
		return;
	}
	struct put *put = calloc(1, sizeof *put + verdict->reason.len + 1);
	if (!put)
		abort();
	memcpy(put->key, key, DIGEST_BYTES);
	put->kind = kind;
	put->given_us = clock_monotonic_us();
	put->score = verdict->score;
	put->has_reason = str_present(verdict->reason);
	put->reason_len = verdict->reason.len;
	if (verdict->reason.len > 0)
		memcpy(put->reason, verdict->reason.ptr, verdict->reason.len);
	queue_push(&keeper->puts, &put->node);
}

/* ---- PostgreSQL ---- */

static void note_failure(struct keeper *keeper, err_t err, const struct err_detail *detail)
{
	if (!keeper->away)
		log_warning("the judge's shared cache is unavailable, verdicts are cached in memory only: %s",
			    err_message(err, detail));
	keeper->away = true;
	keeper->retry_us = clock_monotonic_us() + backoff_next_ms(&keeper->backoff) * 1000;
}

static void note_success(struct keeper *keeper)
{
	if (keeper->away)
		log_notice("the judge's shared cache is available again");
	keeper->away = false;
	backoff_reset(&keeper->backoff);
}

static err_t connect_writer(struct keeper *keeper, struct err_detail *detail)
{
	bool fresh = false;
	err_t err = database_connect(keeper->writer, &fresh, detail);
	if (fresh)
		keeper->migrated = false;
	if (!err && !keeper->migrated)
		err = migrations_apply(&migrations, keeper->writer, detail);
	if (!err)
		keeper->migrated = true;
	return err;
}

static err_t store_batch(struct keeper *keeper, size_t *ret_count, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf keys = BUF_INIT;
	_cleanup_(buf_free) struct buf kinds = BUF_INIT;
	_cleanup_(buf_free) struct buf scores = BUF_INIT;
	_cleanup_(buf_free) struct buf reasons = BUF_INIT;
	_cleanup_(buf_free) struct buf ages = BUF_INIT;
	int64_t now_us = clock_monotonic_us();
	size_t count = 0;
	LIST_FOREACH (node, &keeper->pending) {
		const struct put *put = put_of(node);
		char score[32], age[32];
		if (count++ == BATCH_MAX)
			break;
		snprintf(score, sizeof score, "%.17g", put->score);
		array_append_bytes(&keys, put->key, DIGEST_BYTES);
		array_append(&kinds, put->kind == JUDGE_RELEVANCE ? STR("relevance") : STR("correctness"));
		array_append(&scores, str_from(score));
		snprintf(age, sizeof age, "%.6f", (double)(now_us - put->given_us) / 1e6);
		array_append(&ages, str_from(age));
		if (put->has_reason)
			array_append(&reasons, (str_t){ put->reason, put->reason_len });
		else
			array_append_null(&reasons);
	}
	*ret_count = count > BATCH_MAX ? BATCH_MAX : count;
	struct buf *const arrays[] = { &keys, &kinds, &scores, &reasons, &ages };
	const char *values[5];
	for (size_t i = 0; i < 5; i++) {
		array_end(arrays[i]);
		values[i] = arrays[i]->data;
	}
	return database_query(keeper->writer, STORE, 5, values, NULL, detail);
}

static void drop_pending(struct keeper *keeper, size_t count)
{
	for (; count > 0; count--)
		free(put_of(list_take(&keeper->pending)));
}

/* Stores all that is pending. A batch that PostgreSQL refuses is given up: trying again would not help it. */
static err_t store_pending(struct keeper *keeper, struct err_detail *detail)
{
	err_t err = ERR_OK;
	while (!err && !list_empty(&keeper->pending)) {
		size_t count = 0;
		err = store_batch(keeper, &count, detail);
		if (!err || err == ERR_DATABASE_REFUSED) {
			atomic_fetch_add(err ? &keeper->lost : &keeper->stored, (int64_t)count);
			drop_pending(keeper, count);
		}
		heartbeat_beat(&keeper->heartbeat);
	}
	return err;
}

static err_t sweep(struct keeper *keeper, struct err_detail *detail)
{
	char retention[24];
	int64_t now_us = clock_monotonic_us();
	if (now_us < keeper->sweep_us)
		return ERR_OK;
	keeper->sweep_us = now_us + INT64_C(1000) * SWEEP_MS;
	snprintf(retention, sizeof retention, "%" PRId64, atomic_load(&keeper->retention_s));
	return database_query(keeper->writer, SWEEP, 1, (const char *const[]){ retention }, NULL, detail);
}

/* What connects may still not answer, as long as the table is locked. */
static err_t probe_reader(struct keeper *keeper, struct err_detail *detail)
{
	err_t err = database_connect(keeper->reader, NULL, detail);
	return err ? err : database_script(keeper->reader, "SELECT FROM judge_verdicts LIMIT 0", detail);
}

static err_t serve_reader(struct keeper *keeper, struct err_detail *detail)
{
	if (!atomic_load(&keeper->wanted))
		return ERR_OK;
	err_t err = probe_reader(keeper, detail);
	if (err)
		return err;
	PGconn *connection = database_release(keeper->reader);
	if (PQsetnonblocking(connection, 1) != 0) {
		PQfinish(connection);
		return err_fail(detail, ERR_DATABASE_UNAVAILABLE, "the connection is lost");
	}
	atomic_store(&keeper->wanted, false);
	PQfinish(atomic_exchange(&keeper->for_reading, connection));
	keeper->wake(keeper->context);
	return ERR_OK;
}

/* ---- the thread ---- */

static void take_puts(struct keeper *keeper)
{
	struct list_node *node = queue_take(&keeper->puts, list_empty(&keeper->pending) ? ROUND_MS : 0);
	if (node)
		list_append(&keeper->pending, node);
	queue_take_all(&keeper->puts, &keeper->pending);
	while (keeper->pending.count > PENDING_MAX) {
		drop_pending(keeper, 1); /* the oldest */
		atomic_fetch_add(&keeper->lost, 1);
	}
}

static void work(struct keeper *keeper)
{
	struct err_detail detail = { "" };
	heartbeat_waiting(&keeper->heartbeat, "PostgreSQL");
	err_t err = connect_writer(keeper, &detail);
	if (!err && !atomic_load(&keeper->stopping)) /* then what is pending has the time that is left */
		err = serve_reader(keeper, &detail);
	if (!err)
		err = store_pending(keeper, &detail);
	if (!err)
		err = sweep(keeper, &detail);
	if (err)
		note_failure(keeper, err, &detail);
	else
		note_success(keeper);
	if (!atomic_exchange(&keeper->tried, true))
		keeper->wake(keeper->context);
}

static void run(void *context, unsigned index)
{
	struct keeper *keeper = context;
	(void)index;
	while (!atomic_load(&keeper->stopping)) {
		heartbeat_beat(&keeper->heartbeat);
		if (clock_monotonic_us() >= keeper->retry_us)
			work(keeper);
		heartbeat_beat(&keeper->heartbeat);
		if (keeper->away && !atomic_load(&keeper->stopping))
			usleep(20000); /* what is pending would not let the queue wait */
		take_puts(keeper);
	}
	queue_take_all(&keeper->puts, &keeper->pending);
	for (int tries = 0; tries < 2 && !list_empty(&keeper->pending); tries++)
		work(keeper); /* the first may find its connection lost */
	heartbeat_stop(&keeper->heartbeat);
}

struct keeper *shared_cache_keeper_start(const struct shared_cache_options *options)
{
	struct keeper *keeper = calloc(1, sizeof *keeper);
	if (!keeper)
		abort();
	keeper->wake = options->wake;
	keeper->context = options->context;
	keeper->heartbeat.name = "judge's cache";
	atomic_store(&keeper->retention_s, options->retention_s);
	atomic_store(&keeper->wanted, true);
	queue_init(&keeper->puts, false);
	list_init(&keeper->pending);
	keeper->backoff = (struct backoff){ .base_ms = RECONNECT_BASE_MS, .cap_ms = RECONNECT_CAP_MS };
	keeper->writer = database_new(options->dsn, options->password_file);
	keeper->reader = database_new(options->dsn, options->password_file);
	database_set_settings(keeper->writer, options->settings);
	database_set_settings(keeper->reader, options->settings);
	database_set_application(keeper->writer, "assayd judge");
	database_set_application(keeper->reader, "assayd judge");
	keeper->thread = pool_start("judge-cache", 1, run, keeper);
	return keeper;
}

void shared_cache_keeper_stop(struct keeper *keeper)
{
	if (!keeper)
		return;
	atomic_store(&keeper->stopping, true);
	int64_t until_us = clock_monotonic_us() + INT64_C(1000) * SHARED_CACHE_STOP_MS;
	database_limit_waits(keeper->writer, until_us);
	database_limit_waits(keeper->reader, until_us);
	queue_close(&keeper->puts);
	pool_join(keeper->thread);
	if (!list_empty(&keeper->pending))
		log_warning("%zu of the judge's verdicts could not be stored in the shared cache",
			    keeper->pending.count);
	drop_pending(keeper, keeper->pending.count);
	queue_destroy(&keeper->puts);
	PQfinish(atomic_load(&keeper->for_reading));
	database_free(keeper->writer);
	database_free(keeper->reader);
	free(keeper);
}

void shared_cache_keeper_set_retention(struct keeper *keeper, int64_t retention_s)
{
	atomic_store(&keeper->retention_s, retention_s);
}

int64_t shared_cache_keeper_retention_s(const struct keeper *keeper)
{
	return atomic_load(&keeper->retention_s);
}

PGconn *shared_cache_keeper_take_connection(struct keeper *keeper)
{
	return atomic_exchange(&keeper->for_reading, NULL);
}

void shared_cache_keeper_want_connection(struct keeper *keeper)
{
	atomic_store(&keeper->wanted, true);
}

bool shared_cache_keeper_tried(const struct keeper *keeper)
{
	return atomic_load(&keeper->tried);
}

struct heartbeat *shared_cache_keeper_heartbeat(struct keeper *keeper)
{
	return &keeper->heartbeat;
}

void shared_cache_keeper_stats(struct keeper *keeper, struct shared_cache_stats *stats)
{
	stats->stored = atomic_load(&keeper->stored);
	stats->lost = atomic_load(&keeper->lost);
}
