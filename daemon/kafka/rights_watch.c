#include "kafka/rights_watch.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/pool.h"
#include "kafka/permissions.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	LOOK_MS = 5000,	   /* of one attempt at a time */
	AGAIN_MS = 3000,   /* between looks while one is missing */
	LEAST_MS = 1000,   /* between looks whenever there is a doubt */
	REPORT_MS = 30000, /* one that comes and goes is told once in this time */
};

struct watched {
	bool missing;
	bool logged;	    /* in the journal, that it is */
	int64_t since_us;   /* when it was found missing (monotonic, likewise below) */
	int64_t refused_us; /* when somebody was refused it last */
	int64_t logged_us;  /* 0: never */
};

struct rights_watch {
	const struct kafka_settings *settings;
	right_set needed;
	struct pool *pool;
	_Atomic bool stopping;
	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t changed;
	struct watched rights[RIGHT_COUNT_];
	bool doubted;
	bool looking; /* for a doubt */
};

/* ---- what is known; the mutex is held ---- */

static right_set missing_of(const struct rights_watch *watch)
{
	right_set missing = 0;
	for (enum right right = 0; right < RIGHT_COUNT_; right++)
		if (watch->rights[right].missing)
			missing |= RIGHT_BIT(right);
	return missing;
}

static void log_right(const struct rights_watch *watch, enum right right, bool missing)
{
	_cleanup_(buf_free) struct buf text = BUF_INIT;
	struct right_name name;
	if (missing) {
		right_describe(watch->settings, right, &text);
		log_write(LOG_LEVEL_CRITICAL, NULL, "Kafka denies a permission that events need: %s",
			  text.data);
	} else {
		right_name(watch->settings, right, &name);
		log_notice("this client has %s on %s \"%s\" again", name.operation, name.resource, name.name);
	}
}

static void change(struct rights_watch *watch, enum right right, bool missing)
{
	struct watched *watched = &watch->rights[right];
	int64_t now_us = clock_monotonic_us();
	if (missing && !watched->missing)
		watched->since_us = now_us;
	watched->missing = missing;
	bool due = !watched->logged_us || now_us - watched->logged_us > INT64_C(1000) * REPORT_MS;
	if (missing == watched->logged || (missing && !due))
		return;
	watched->logged = missing;
	if (missing)
		watched->logged_us = now_us;
	log_right(watch, right, missing);
}

/* ---- the thread ---- */

/* Until there is something to look for; false: the thread ends. */
static bool await_doubt(struct rights_watch *watch)
{
	struct timespec next = clock_deadline_after(AGAIN_MS);
	pthread_mutex_lock(&watch->mutex);
	while (!atomic_load(&watch->stopping) && !watch->doubted) {
		if (!missing_of(watch))
			pthread_cond_wait(&watch->changed, &watch->mutex);
		else if (pthread_cond_timedwait(&watch->changed, &watch->mutex, &next) != 0)
			break;
	}
	watch->looking = watch->doubted;
	watch->doubted = false;
	pthread_mutex_unlock(&watch->mutex);
	return !atomic_load(&watch->stopping);
}

/* What somebody was refused meanwhile counts for more than what was found before. */
static void take(struct rights_watch *watch, right_set known, right_set missing, int64_t began_us)
{
	pthread_mutex_lock(&watch->mutex);
	for (enum right right = 0; right < RIGHT_COUNT_; right++)
		if ((known & RIGHT_BIT(right)) && watch->rights[right].refused_us < began_us)
			change(watch, right, missing & RIGHT_BIT(right));
	watch->looking = false;
	pthread_mutex_unlock(&watch->mutex);
}

static void pause_between_looks(struct rights_watch *watch)
{
	struct timespec until = clock_deadline_after(LEAST_MS);
	pthread_mutex_lock(&watch->mutex);
	while (!atomic_load(&watch->stopping) &&
	       pthread_cond_timedwait(&watch->changed, &watch->mutex, &until) == 0)
		;
	pthread_mutex_unlock(&watch->mutex);
}

static void watch_main(void *context, unsigned index)
{
	struct rights_watch *watch = context;
	(void)index;
	while (await_doubt(watch)) {
		int64_t began_us = clock_monotonic_us();
		right_set missing = 0;
		right_set known =
			permissions_look(watch->settings, watch->needed, LOOK_MS, &watch->stopping, &missing);
		take(watch, known, missing, began_us);
		pause_between_looks(watch);
	}
}

/* ---- for all ---- */

void rights_watch_set(struct rights_watch *watch, enum right right, bool missing)
{
	if (!watch)
		return;
	pthread_mutex_lock(&watch->mutex);
	if (missing)
		watch->rights[right].refused_us = clock_monotonic_us();
	if (missing || watch->rights[right].missing)
		change(watch, right, missing);
	pthread_cond_signal(&watch->changed);
	pthread_mutex_unlock(&watch->mutex);
}

void rights_watch_doubt(struct rights_watch *watch)
{
	if (!watch)
		return;
	pthread_mutex_lock(&watch->mutex);
	watch->doubted = true;
	pthread_cond_signal(&watch->changed);
	pthread_mutex_unlock(&watch->mutex);
}

right_set rights_watch_missing(struct rights_watch *watch)
{
	if (!watch)
		return 0;
	pthread_mutex_lock(&watch->mutex);
	right_set missing = missing_of(watch);
	pthread_mutex_unlock(&watch->mutex);
	return missing;
}

bool rights_watch_doubts(struct rights_watch *watch)
{
	if (!watch)
		return false;
	pthread_mutex_lock(&watch->mutex);
	bool doubts = watch->doubted || watch->looking;
	pthread_mutex_unlock(&watch->mutex);
	return doubts;
}

int64_t rights_watch_age_ms(struct rights_watch *watch)
{
	int64_t now_us = clock_monotonic_us(), oldest_us = now_us;
	if (!watch)
		return 0;
	pthread_mutex_lock(&watch->mutex);
	for (enum right right = 0; right < RIGHT_COUNT_; right++)
		if (watch->rights[right].missing && watch->rights[right].since_us < oldest_us)
			oldest_us = watch->rights[right].since_us;
	pthread_mutex_unlock(&watch->mutex);
	return (now_us - oldest_us) / 1000;
}

void rights_watch_describe(struct rights_watch *watch, struct buf *out)
{
	right_set missing = rights_watch_missing(watch);
	for (enum right right = 0; right < RIGHT_COUNT_; right++)
		if (missing & RIGHT_BIT(right)) {
			right_describe(watch->settings, right, out);
			buf_append_char(out, '\n');
		}
}

right_set rights_watch_needed(const struct rights_watch *watch)
{
	return watch ? watch->needed : 0;
}

void rights_watch_name(const struct rights_watch *watch, enum right right, struct right_name *ret_name)
{
	right_name(watch->settings, right, ret_name);
}

/* ---- life ---- */

struct rights_watch *rights_watch_start(const struct kafka_settings *settings)
{
	struct rights_watch *watch = calloc(1, sizeof *watch);
	if (!watch)
		abort();
	watch->settings = settings;
	watch->needed = rights_needed(settings, false);
	pthread_mutex_init(&watch->mutex, NULL);
	clock_cond_init(&watch->changed);
	watch->pool = pool_start("rights", 1, watch_main, watch);
	return watch;
}

void rights_watch_close(struct rights_watch *watch)
{
	if (!watch)
		return;
	pthread_mutex_lock(&watch->mutex);
	atomic_store(&watch->stopping, true);
	pthread_cond_broadcast(&watch->changed);
	pthread_mutex_unlock(&watch->mutex);
}

bool rights_watch_ended(struct rights_watch *watch, int64_t timeout_ms)
{
	if (!watch || !watch->pool)
		return true;
	if (!pool_join_within(watch->pool, timeout_ms))
		return false;
	watch->pool = NULL;
	return true;
}

void rights_watch_free(struct rights_watch *watch)
{
	if (!watch)
		return;
	pthread_cond_destroy(&watch->changed);
	pthread_mutex_destroy(&watch->mutex);
	free(watch);
}
