#include "audit/archive/archive.h"

#include "audit/archive/archive_file.h"
#include "audit/archive/archive_store.h"
#include "common/clock.h"
#include "common/list.h"
#include "common/log.h"
#include "common/pool.h"

#include <pthread.h>

enum {
	AGAIN_MS = 2000, /* after PostgreSQL did not take something */
	REST_MS = 5000,
	BUCKETS = 1024,
	KNOWN_MAX = 8192, /* contents that are known to be stored; those used last */
};

#define DAY_US		((int64_t)24 * 3600 * 1000000)
#define EXPIRE_US	((int64_t)3600 * 1000000)
#define REPORT_AGAIN_US ((int64_t)60 * 1000000)

/* What is known of a content. */
struct known {
	struct list_node node; /* of those that wait, or of those that are stored */
	struct known *next;    /* in its bucket */
	struct archive_item item;
	bool waits;	  /* to be written */
	bool has_content; /* else only its use is to be noted */
	bool kept;	  /* in the state directory; the thread's */
	struct buf content;
	int64_t touched_us; /* when its use was last noted (monotonic) */
};

struct archive {
	struct database *database; /* the thread's, likewise below */
	const char *program;
	char *directory;      /* where contents that wait are kept, or NULL */
	bool unkept_reported; /* that this failed */
	int64_t retention_days;
	int64_t expire_us; /* when next */
	bool away;	   /* PostgreSQL, and it was said */
	struct pool *thread;
	struct heartbeat heartbeat;
	pthread_mutex_t mutex; /* guards what follows; never held for long */
	pthread_cond_t changed;
	bool stopping;
	struct known *buckets[BUCKETS];
	struct list waiting, stored; /* of struct known, the oldest first */
	size_t waiting_bytes;
	int64_t reported_us; /* when a loss was last logged */
	struct archive_statistics statistics;
};

/* ---- what is known; the mutex is held ---- */

static struct known **bucket_of(struct archive *archive, str_t digest)
{
	return &archive->buckets[hash_seeded(digest.ptr, digest.len) % BUCKETS];
}

static struct known *find(struct archive *archive, enum archive_kind kind, str_t digest)
{
	struct known *known = *bucket_of(archive, digest);
	while (known && (known->item.kind != kind || !str_is(digest, known->item.digest)))
		known = known->next;
	return known;
}

static void forget(struct archive *archive, struct known *known)
{
	struct known **at = bucket_of(archive, str_from(known->item.digest));
	while (*at != known)
		at = &(*at)->next;
	*at = known->next;
	list_remove(known->waits ? &archive->waiting : &archive->stored, &known->node);
	buf_free(&known->content);
	free(known);
}

static void set_waiting(struct archive *archive, struct known *known)
{
	list_remove(&archive->stored, &known->node);
	list_append(&archive->waiting, &known->node);
	known->waits = true;
	pthread_cond_signal(&archive->changed);
}

static void set_stored(struct archive *archive, struct known *known)
{
	if (known->has_content)
		archive->waiting_bytes -= known->content.len;
	list_remove(&archive->waiting, &known->node);
	list_append(&archive->stored, &known->node);
	buf_free(&known->content);
	known->waits = known->has_content = false;
	known->touched_us = clock_monotonic_us();
	if (archive->stored.count > KNOWN_MAX)
		forget(archive, container_of(archive->stored.head.next, struct known, node));
}

static bool has_room(const struct archive *archive, size_t bytes)
{
	return archive->waiting.count < ARCHIVE_WAITING_MAX &&
	       (archive->waiting_bytes == 0 || archive->waiting_bytes + bytes <= ARCHIVE_WAITING_BYTES_MAX);
}

/* ---- for all threads ---- */

bool archive_has(struct archive *archive, enum archive_kind kind, str_t digest)
{
	pthread_mutex_lock(&archive->mutex);
	struct known *known = find(archive, kind, digest);
	if (known && !known->waits && clock_monotonic_us() - known->touched_us >= DAY_US)
		set_waiting(archive, known);
	pthread_mutex_unlock(&archive->mutex);
	return known != NULL;
}

static void report_lost(struct archive *archive, const struct archive_item *item)
{
	int64_t now_us = clock_monotonic_us();
	archive->statistics.lost++;
	if (archive->reported_us && now_us - archive->reported_us < REPORT_AGAIN_US)
		return;
	archive->reported_us = now_us;
	log_error("the %s %s, which records name, is not archived: %zu contents wait for PostgreSQL already, "
		  "and there is no room for more; it is tried again when it is next used",
		  archive_kind_name(item->kind), item->digest, archive->waiting.count);
}

void archive_put(struct archive *archive, const struct archive_item *item, str_t content)
{
	pthread_mutex_lock(&archive->mutex);
	if (find(archive, item->kind, str_from(item->digest))) { /* somebody else was faster */
		pthread_mutex_unlock(&archive->mutex);
		return;
	}
	if (!has_room(archive, content.len)) {
		report_lost(archive, item);
		pthread_mutex_unlock(&archive->mutex);
		return;
	}
	struct known *known = calloc(1, sizeof *known);
	if (!known)
		abort();
	struct known **bucket = bucket_of(archive, str_from(item->digest));
	known->item = *item;
	known->waits = known->has_content = true;
	buf_append_str(&known->content, content);
	known->next = *bucket;
	*bucket = known;
	archive->waiting_bytes += content.len;
	list_append(&archive->waiting, &known->node);
	pthread_cond_signal(&archive->changed);
	pthread_mutex_unlock(&archive->mutex);
}

/* ---- the thread ---- */

static err_t connect(struct archive *archive, struct err_detail *detail)
{
	bool fresh = false;
	err_t err = database_connect(archive->database, &fresh, detail);
	if (!err && fresh)
		err = archive_store_migrate(archive->database, detail);
	if (err)
		database_disconnect(archive->database);
	return err;
}

/* `*ret_there`: false for one whose use alone was to be noted and that the archive has no more. */
static err_t write_one(struct archive *archive, const struct known *known, bool *ret_there, bool *ret_added,
		       struct err_detail *detail)
{
	err_t err = archive_store_touch(archive->database, &known->item, ret_there, detail);
	if (err || *ret_there || !known->has_content)
		return err;
	err = archive_store_add(archive->database, &known->item, buf_str(&known->content), archive->program,
				detail);
	*ret_there = *ret_added = !err;
	return err;
}

static struct known *next_unkept(struct archive *archive)
{
	struct known *found = NULL;
	pthread_mutex_lock(&archive->mutex);
	LIST_FOREACH (node, &archive->waiting) {
		struct known *known = container_of(node, struct known, node);
		if (!found && known->has_content && !known->kept)
			found = known;
	}
	pthread_mutex_unlock(&archive->mutex);
	return found;
}

/* What waits is on the disk before PostgreSQL, which may be away, is asked. */
static void keep_waiting(struct archive *archive)
{
	struct known *known;
	while (archive->directory && (known = next_unkept(archive))) {
		struct err_detail detail = { "" };
		err_t err = archive_file_write(archive->directory, &known->item, buf_str(&known->content),
					       &detail);
		known->kept = !err;
		if (err && !archive->unkept_reported)
			log_warning("what waits for the archive is not kept for the next start: %s",
				    err_message(err, &detail));
		archive->unkept_reported = err != ERR_OK;
		if (err)
			return; /* the next round tries again */
	}
}

/* What one attempt came to. One that is refused is behind the others at the next one. */
static void settle(struct archive *archive, struct known *known, err_t err, bool there, bool added)
{
	if (!err && known->kept) {
		archive_file_remove(archive->directory, &known->item);
		known->kept = false;
	}
	pthread_mutex_lock(&archive->mutex);
	archive->statistics.stored += added;
	if (err) {
		list_remove(&archive->waiting, &known->node);
		list_append(&archive->waiting, &known->node);
	} else if (there) {
		set_stored(archive, known);
	} else {
		forget(archive, known); /* it is handed over again when it is next used */
	}
	pthread_mutex_unlock(&archive->mutex);
}

/* Contents of those that wait are changed by this thread alone, and nobody else takes them away. */
static struct known *first_waiting(struct archive *archive, size_t *ret_count)
{
	pthread_mutex_lock(&archive->mutex);
	*ret_count = archive->waiting.count;
	struct known *known =
		*ret_count ? container_of(archive->waiting.head.next, struct known, node) : NULL;
	pthread_mutex_unlock(&archive->mutex);
	return known;
}

/* All that wait, once each; the first error, after which those that PostgreSQL may take are tried still. */
static err_t write_waiting(struct archive *archive, struct err_detail *detail)
{
	size_t left;
	err_t first = ERR_OK;
	struct known *known = first_waiting(archive, &left);
	for (; known && left > 0; left--) {
		bool there = false, added = false;
		size_t ignored;
		struct err_detail fault = { "" };
		err_t err = write_one(archive, known, &there, &added, &fault);
		settle(archive, known, err, there, added);
		if (err && !first)
			first = err_fail(detail, err, "%s", err_message(err, &fault));
		if (err == ERR_DATABASE_UNAVAILABLE)
			break;
		heartbeat_waiting(&archive->heartbeat, "archive database");
		known = first_waiting(archive, &ignored);
	}
	return first;
}

static err_t expire(struct archive *archive, struct err_detail *detail)
{
	uint64_t deleted = 0;
	int64_t now_us = clock_monotonic_us();
	if (archive->retention_days == 0 || now_us < archive->expire_us)
		return ERR_OK;
	err_t err = archive_store_expire(archive->database, archive->retention_days, &deleted, detail);
	if (err)
		return err;
	archive->expire_us = now_us + EXPIRE_US;
	pthread_mutex_lock(&archive->mutex);
	archive->statistics.expired += deleted;
	pthread_mutex_unlock(&archive->mutex);
	if (deleted)
		log_info("%llu contents of the archive were deleted: none of them was in use for %lld days",
			 (unsigned long long)deleted, (long long)archive->retention_days);
	return ERR_OK;
}

static void note(struct archive *archive, err_t err, const struct err_detail *detail)
{
	size_t waiting;
	first_waiting(archive, &waiting);
	if (err && !archive->away)
		log_warning("what records name by digest cannot be archived now; %zu contents wait, and "
			    "scoring goes on: %s",
			    waiting, err_message(err, detail));
	if (!err && archive->away)
		log_notice("what records name by digest is archived again");
	archive->away = err != ERR_OK;
	pthread_mutex_lock(&archive->mutex);
	archive->statistics.failures += err != ERR_OK;
	archive->statistics.up = err == ERR_OK;
	pthread_mutex_unlock(&archive->mutex);
}

static bool is_due(struct archive *archive)
{
	size_t waiting;
	first_waiting(archive, &waiting);
	return waiting > 0 || (archive->retention_days > 0 && clock_monotonic_us() >= archive->expire_us);
}

static err_t work(struct archive *archive)
{
	struct err_detail detail = { "" };
	if (!is_due(archive))
		return ERR_OK;
	keep_waiting(archive);
	heartbeat_waiting(&archive->heartbeat, "archive database");
	err_t err = connect(archive, &detail);
	if (!err)
		err = write_waiting(archive, &detail);
	if (!err)
		err = expire(archive, &detail);
	note(archive, err, &detail);
	return err;
}

/* False: the thread is to end. After a failure the next attempt comes not at once. */
static bool wait_for_round(struct archive *archive, err_t last)
{
	const int64_t rest_ms = heartbeat_rest(&archive->heartbeat, REST_MS);
	const struct timespec deadline = clock_deadline_after(last ? AGAIN_MS : rest_ms);
	int status = 0;
	pthread_mutex_lock(&archive->mutex);
	while (!archive->stopping && status == 0 && (last || list_empty(&archive->waiting)))
		status = pthread_cond_timedwait(&archive->changed, &archive->mutex, &deadline);
	bool goes_on = !archive->stopping;
	pthread_mutex_unlock(&archive->mutex);
	heartbeat_beat(&archive->heartbeat);
	return goes_on;
}

/* A content that the last run has left. */
static void take_kept(void *context, const struct archive_item *item, str_t content)
{
	struct archive *archive = context;
	archive_put(archive, item, content);
	pthread_mutex_lock(&archive->mutex);
	struct known *known = find(archive, item->kind, str_from(item->digest));
	if (known)
		known->kept = true;
	pthread_mutex_unlock(&archive->mutex);
}

static void archive_main(void *context, unsigned index)
{
	struct archive *archive = context;
	err_t last;
	(void)index;
	if (archive->directory)
		archive_file_read_all(archive->directory, take_kept, archive);
	do {
		last = work(archive);
	} while (wait_for_round(archive, last));
	work(archive);
	heartbeat_stop(&archive->heartbeat);
}

/* ---- life ---- */

struct archive *archive_start(const struct archive_options *options)
{
	struct archive *archive = calloc(1, sizeof *archive);
	if (!archive)
		abort();
	archive->heartbeat.name = "archive";
	archive->program = options->program;
	archive->retention_days = options->retention_days;
	archive->directory = options->directory ? strdup(options->directory) : NULL;
	archive->statistics.up = true;
	archive->database = database_new(options->dsn, options->password_file);
	database_set_settings(archive->database, options->settings);
	database_set_application(archive->database, "assayd archive");
	list_init(&archive->waiting);
	list_init(&archive->stored);
	pthread_mutex_init(&archive->mutex, NULL);
	clock_cond_init(&archive->changed);
	heartbeat_beat(&archive->heartbeat);
	archive->thread = pool_start("archive", 1, archive_main, archive);
	return archive;
}

static void set_stopping(struct archive *archive)
{
	pthread_mutex_lock(&archive->mutex);
	archive->stopping = true;
	pthread_cond_signal(&archive->changed);
	pthread_mutex_unlock(&archive->mutex);
}

void archive_close(struct archive *archive, int64_t until_us)
{
	if (!archive)
		return;
	database_limit_waits(archive->database, until_us);
	set_stopping(archive);
}

bool archive_ended(struct archive *archive, int64_t timeout_ms)
{
	if (!archive || !archive->thread)
		return true;
	if (!pool_join_within(archive->thread, timeout_ms))
		return false;
	archive->thread = NULL;
	return true;
}

/* What waits is lost now, where it was not kept: each by its name, so that it can be looked for elsewhere. */
static void report_left(struct archive *archive)
{
	size_t kept = 0;
	LIST_FOREACH (node, &archive->waiting) {
		const struct known *known = container_of(node, struct known, node);
		kept += known->kept;
		if (known->has_content && !known->kept)
			log_error("the %s %s, which records name, is not archived: PostgreSQL did not take "
				  "it before the stop; an instance that uses it again archives it then",
				  archive_kind_name(known->item.kind), known->item.digest);
	}
	if (kept)
		log_notice("%zu contents that records name wait in %s for the next start: PostgreSQL did "
			   "not take them",
			   kept, archive->directory);
}

static void forget_all(struct archive *archive, struct list *list)
{
	while (!list_empty(list))
		forget(archive, container_of(list->head.next, struct known, node));
}

void archive_stop(struct archive *archive)
{
	if (!archive)
		return;
	set_stopping(archive);
	if (archive->thread)
		pool_join(archive->thread);
	report_left(archive);
	forget_all(archive, &archive->waiting);
	forget_all(archive, &archive->stored);
	database_free(archive->database);
	pthread_cond_destroy(&archive->changed);
	pthread_mutex_destroy(&archive->mutex);
	free(archive->directory);
	free(archive);
}

void archive_statistics(struct archive *archive, struct archive_statistics *ret_statistics)
{
	pthread_mutex_lock(&archive->mutex);
	*ret_statistics = archive->statistics;
	ret_statistics->waiting = archive->waiting.count;
	pthread_mutex_unlock(&archive->mutex);
}

struct heartbeat *archive_heartbeat(struct archive *archive)
{
	return &archive->heartbeat;
}
