#include "calibration/drift/watch.h"

#include "calibration/drift/update.h"

#include "calibration/store/retention.h"
#include "calibration/store/rollup.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/utf8.h"

enum {
	JUDGED_AT_ONCE = 20, /* segments, with up to 2000 claims each */
	JUDGE_PAUSE_MS = 3000,
	JUDGE_ON_PAUSE_MS = 100, /* while segments are left of those that were to be judged */
	JUDGE_SHARE = 10,	 /* pauses are this much longer than judging took */
	PUBLISH_PAUSE_MS = 60000,
	PUBLISH_RETRY_MS = 5000,
	LIST_PAUSE_MS = 60000,
	CLAIM_MS = 90000, /* above what the publisher needs to learn of an advisory's fate */
	RETENTION_PAUSE_MS = 3600000,
	RETENTION_ON_PAUSE_MS = 1000, /* while rows are left */
	FORGET_PAUSE_MS = 600000,
	TAKE_OVER_PAUSE_MS = 200,     /* while there are hours that programs before have counted */
	FAILURE_PAUSE_MS = 10000,     /* at least */
	FAILURE_PAUSE_CAP_MS = 60000, /* at most */
	FINISH_POLL_MS = 50,
};

/* One kind of work and when it is due. */
enum work {
	WORK_SETTLE,
	WORK_START,
	WORK_JUDGE,
	WORK_PUBLISH,
	WORK_LIST,
	WORK_RETENTION,
	WORK_FORGET,
	WORK_TAKE_OVER,
	WORK_COUNT_
};

struct drift_watch {
	struct calibration_store *store;
	struct heartbeat *heartbeat;
	struct drift_publisher *drift_publisher;
	struct drift_update_options episodes;
	int64_t retention_days;
	int64_t feedback_horizon_ms;
	bool caught_up;

	struct segments touched; /* since the last round of judging began */
	struct segments judged;	 /* what is left of this round */
	int64_t due_us[WORK_COUNT_];
	bool failing[WORK_COUNT_]; /* its last attempt failed, and that was logged */
	int64_t away_until_us;	   /* the database could not be reached; 0: it could */
	bool undelivered;	   /* the last advisory did not arrive */
	struct drift_watch_statistics statistics;
};

static void set_due(struct drift_watch *watch, enum work work, int64_t pause_ms)
{
	watch->due_us[work] = clock_monotonic_us() + pause_ms * 1000;
}

/* ---- the work ---- */

/* What was counted before the start may not have been judged. */
static err_t take_all_segments(struct drift_watch *watch, struct database *database,
			       struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	err_t err = database_query(database,
				   "SELECT application, model, prompt_version FROM calibration_segments "
				   "UNION SELECT '" CALIBRATION_OTHER "', '', ''",
				   0, NULL, &result, detail);
	if (err)
		return err;
	for (int row = 0; row < PQntuples(result); row++)
		segments_add_row(&watch->touched, result, row);
	watch->due_us[WORK_START] = INT64_MAX;
	return ERR_OK;
}

static void begin_round(struct drift_watch *watch)
{
	struct segments empty = watch->judged;
	if (watch->judged.count > 0)
		return;
	watch->judged = watch->touched;
	watch->touched = empty;
}

static void note_changes(struct drift_watch *watch, const struct drift_changes *changes)
{
	watch->statistics.opened += changes->opened;
	watch->statistics.closed += changes->closed;
	if (changes->closed || changes->opened)
		set_due(watch, WORK_LIST, 0);
	if (changes->closed)
		log_notice("calibration drift: %zu episodes closed", changes->closed);
	if (changes->opened) {
		log_warning("calibration drift: %zu episodes opened; see \"assayd calibration\"",
			    changes->opened);
		set_due(watch, WORK_PUBLISH, 0);
	}
}

static err_t judge(struct drift_watch *watch, struct database *database, struct err_detail *detail)
{
	struct drift_changes changes;
	begin_round(watch);
	struct segments *judged = &watch->judged;
	size_t count = judged->count < JUDGED_AT_ONCE ? judged->count : JUDGED_AT_ONCE;
	int64_t start_us = clock_monotonic_us();
	err_t err = drift_update(database, &watch->episodes, judged->items + (judged->count - count), count,
				 &changes, detail);
	if (err)
		return err;
	if (!changes.busy) {
		segments_drop(judged, count);
		note_changes(watch, &changes);
	}
	int64_t pause_ms = (clock_monotonic_us() - start_us) / 1000 * JUDGE_SHARE;
	int64_t least_ms = judged->count ? JUDGE_ON_PAUSE_MS : JUDGE_PAUSE_MS;
	set_due(watch, WORK_JUDGE, pause_ms > least_ms ? pause_ms : least_ms);
	return ERR_OK;
}

static err_t publish(struct drift_watch *watch, struct database *database, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct drift_episode *episodes;
	size_t count;
	err_t err = episodes_claim(database, DRIFT_PUBLISHER_MAX_IN_FLIGHT, CLAIM_MS, arena, &episodes,
				   &count, detail);
	if (err)
		return err;
	for (size_t i = 0; i < count; i++)
		if (err || (err = drift_publisher_send(watch->drift_publisher, &episodes[i], detail)))
			episodes_release(database, episodes[i].id, NULL);
	if (!err)
		set_due(watch, WORK_PUBLISH,
			count == DRIFT_PUBLISHER_MAX_IN_FLIGHT ? PUBLISH_RETRY_MS : PUBLISH_PAUSE_MS);
	return err;
}

/* An advisory failed to arrive: its row is still without a mark and is found again. */
static void note_refusal(struct drift_watch *watch, const char *error)
{
	if (!watch->undelivered)
		log_warning(
			"an advisory about calibration drift was not delivered and will be sent again: %s",
			error);
	watch->undelivered = true;
	set_due(watch, WORK_PUBLISH, PUBLISH_RETRY_MS);
}

/* One advisory whose fate is known; while the database is away the knowledge is kept. */
static err_t settle(struct drift_watch *watch, struct database *database, struct err_detail *detail)
{
	const char *id, *error;
	if (!drift_publisher_outcome(watch->drift_publisher, &id, &error))
		return ERR_OK;
	err_t err =
		error ? episodes_release(database, id, detail) : episodes_set_published(database, id, detail);
	if (err)
		return err;
	if (error)
		note_refusal(watch, error);
	else
		watch->undelivered = false;
	watch->statistics.published += !error;
	drift_publisher_forget(watch->drift_publisher, id);
	return ERR_OK;
}

static int compare_opened(const void *a, const void *b)
{
	int64_t left = ((const struct drift_episode *)a)->opened_at_ms;
	int64_t right = ((const struct drift_episode *)b)->opened_at_ms;
	return left > right ? -1 : left < right;
}

static err_t list_open(struct drift_watch *watch, struct database *database, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct drift_watch_statistics *statistics = &watch->statistics;
	struct drift_episode *episodes;
	size_t count;
	err_t err = episodes_open(database, NULL, arena, &episodes, &count, detail);
	if (err)
		return err;
	if (count > 0)
		qsort(episodes, count, sizeof *episodes, compare_opened);
	memset(statistics->open, 0, sizeof statistics->open);
	statistics->open_count = count;
	for (size_t i = 0; i < count && i < DRIFT_OPEN_LISTED; i++) {
		const struct advisory advisory = drift_publisher_advisory(&episodes[i], arena);
		statistics->open[i].opened_at_ms = episodes[i].opened_at_ms;
		utf8_copy(statistics->open[i].application, DRIFT_APPLICATION_BYTES, advisory.application);
		utf8_copy(statistics->open[i].summary, DRIFT_SUMMARY_BYTES, advisory.summary);
	}
	set_due(watch, WORK_LIST, LIST_PAUSE_MS);
	return ERR_OK;
}

static err_t delete_old(struct drift_watch *watch, struct database *database, struct err_detail *detail)
{
	bool more;
	err_t err = retention_apply(database, watch->retention_days, watch->episodes.now_ms, &more, detail);
	if (!err)
		set_due(watch, WORK_RETENTION, more ? RETENTION_ON_PAUSE_MS : RETENTION_PAUSE_MS);
	return err;
}

static err_t forget(struct drift_watch *watch, struct database *database, struct err_detail *detail)
{
	bool more;
	err_t err = retention_forget(database, watch->retention_days, watch->feedback_horizon_ms,
				     watch->episodes.now_ms, &more, detail);
	if (!err)
		set_due(watch, WORK_FORGET, more ? RETENTION_ON_PAUSE_MS : FORGET_PAUSE_MS);
	return err;
}

static err_t take_over(struct drift_watch *watch, struct database *database, struct err_detail *detail)
{
	bool more;
	err_t err = rollup_take_over(database, &more, detail);
	if (!err && more)
		set_due(watch, WORK_TAKE_OVER, TAKE_OVER_PAUSE_MS);
	else if (!err)
		watch->due_us[WORK_TAKE_OVER] = INT64_MAX;
	return err;
}

static const struct {
	const char *name;
	err_t (*run)(struct drift_watch *watch, struct database *database, struct err_detail *detail);
} works[WORK_COUNT_] = {
	[WORK_SETTLE] = { "published advisories of calibration drift cannot be marked", settle },
	[WORK_START] = { "the segments of the calibration database cannot be read", take_all_segments },
	[WORK_JUDGE] = { "calibration drift cannot be judged", judge },
	[WORK_PUBLISH] = { "advisories of calibration drift cannot be published", publish },
	[WORK_LIST] = { "open episodes of calibration drift cannot be read", list_open },
	[WORK_RETENTION] = { "old calibration data cannot be deleted", delete_old },
	[WORK_FORGET] = { "events beyond the feedback horizon cannot be deleted", forget },
	[WORK_TAKE_OVER] = { "the hourly sums of the calibration cannot be computed", take_over },
};

/* ---- its order ---- */

/* INT64_MAX: not before something comes. */
static int64_t due_us(const struct drift_watch *watch, enum work work)
{
	const char *id, *error;
	if (work == WORK_SETTLE && !drift_publisher_outcome(watch->drift_publisher, &id, &error))
		return INT64_MAX;
	if (work == WORK_JUDGE && watch->judged.count == 0 && watch->touched.count == 0)
		return INT64_MAX;
	if (work == WORK_FORGET && !watch->caught_up)
		return INT64_MAX;
	return watch->due_us[work];
}

static bool is_due(const struct drift_watch *watch, enum work work)
{
	return clock_monotonic_us() >= due_us(watch, work);
}

int64_t drift_watch_due_us(const struct drift_watch *watch)
{
	int64_t first_us = INT64_MAX;
	if (drift_publisher_under_way(watch->drift_publisher) > 0)
		return 0;
	for (enum work work = 0; work < WORK_COUNT_; work++)
		if (due_us(watch, work) < first_us)
			first_us = due_us(watch, work);
	return first_us < watch->away_until_us ? watch->away_until_us : first_us;
}

/* The longer an attempt took, the longer counting goes on undisturbed. */
static int64_t failure_pause_ms(int64_t start_us)
{
	int64_t pause_ms = (clock_monotonic_us() - start_us) / 1000 * JUDGE_SHARE;
	return pause_ms < FAILURE_PAUSE_MS	 ? FAILURE_PAUSE_MS
	       : pause_ms > FAILURE_PAUSE_CAP_MS ? FAILURE_PAUSE_CAP_MS
						 : pause_ms;
}

static void note_failure(struct drift_watch *watch, enum work work, err_t err,
			 const struct err_detail *detail)
{
	if (!watch->failing[work])
		log_warning("%s; will be retried: %s", works[work].name, err_message(err, detail));
	watch->failing[work] = true;
}

/* All work needs the database: when it is away, none is done for a while, and that is said once. */
static void note_away(struct drift_watch *watch, int64_t pause_ms, const struct err_detail *detail)
{
	if (watch->away_until_us == 0)
		log_warning("the check of calibration drift is postponed: %s",
			    err_message(ERR_DATABASE_UNAVAILABLE, detail));
	watch->away_until_us = clock_monotonic_us() + pause_ms * 1000;
}

static void do_work(struct drift_watch *watch, enum work work)
{
	struct err_detail detail = { "" };
	struct database *database = NULL;
	int64_t start_us = clock_monotonic_us();
	heartbeat_waiting(watch->heartbeat, "calibration database");
	err_t err = calibration_store_database(watch->store, &database, &detail);
	if (!err)
		err = works[work].run(watch, database, &detail);
	heartbeat_beat(watch->heartbeat);
	if (err) /* twice: other work gets its turn before, in case that only this one is too slow */
		set_due(watch, work, 2 * failure_pause_ms(start_us));
	if (err == ERR_DATABASE_UNAVAILABLE) {
		note_away(watch, failure_pause_ms(start_us), &detail);
		return;
	}
	watch->away_until_us = 0;
	if (err)
		note_failure(watch, work, err, &detail);
	else
		watch->failing[work] = false;
}

void drift_watch_set_caught_up(struct drift_watch *watch, bool caught_up)
{
	watch->caught_up = caught_up;
}

bool drift_watch_step(struct drift_watch *watch)
{
	const struct drift_watch_statistics before = watch->statistics;
	drift_publisher_poll(watch->drift_publisher, 0);
	if (watch->away_until_us && clock_monotonic_us() < watch->away_until_us)
		return false;
	for (enum work work = 0; work < WORK_COUNT_; work++)
		if (is_due(watch, work)) {
			do_work(watch, work);
			break;
		}
	return memcmp(&before, &watch->statistics, sizeof before) != 0;
}

void drift_watch_finish(struct drift_watch *watch, int64_t timeout_ms)
{
	int64_t deadline_us = clock_monotonic_us() + timeout_ms * 1000;
	while (drift_publisher_under_way(watch->drift_publisher) > 0 && !watch->away_until_us &&
	       clock_monotonic_us() < deadline_us) {
		drift_publisher_poll(watch->drift_publisher, FINISH_POLL_MS);
		if (is_due(watch, WORK_SETTLE))
			do_work(watch, WORK_SETTLE);
	}
}

/* ---- life ---- */

err_t drift_watch_new(const struct drift_watch_options *options, struct drift_watch **ret_watch,
		      struct err_detail *detail)
{
	struct drift_publisher *drift_publisher;
	err_t err = drift_publisher_new(options->kafka, options->codec, &drift_publisher, detail);
	if (err)
		return err;
	struct drift_watch *watch = calloc(1, sizeof *watch);
	if (!watch)
		abort();
	watch->store = options->store;
	watch->heartbeat = options->heartbeat;
	watch->drift_publisher = drift_publisher;
	watch->episodes =
		(struct drift_update_options){ options->limits, options->bucket_s, options->claims, 0 };
	watch->retention_days = options->retention_days;
	watch->feedback_horizon_ms = options->feedback_horizon_ms;
	if (watch->retention_days <= 0)
		watch->due_us[WORK_RETENTION] = watch->due_us[WORK_FORGET] = INT64_MAX;
	*ret_watch = watch;
	return ERR_OK;
}

void drift_watch_free(struct drift_watch *watch)
{
	if (!watch)
		return;
	drift_publisher_free(watch->drift_publisher);
	segments_free(&watch->touched);
	segments_free(&watch->judged);
	free(watch);
}

struct segments *drift_watch_touched(struct drift_watch *watch)
{
	return &watch->touched;
}

void drift_watch_statistics(const struct drift_watch *watch, struct drift_watch_statistics *ret_statistics)
{
	*ret_statistics = watch->statistics;
}
