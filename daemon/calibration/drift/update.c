#include "calibration/drift/update.h"

#include "calibration/report/reader.h"
#include "calibration/store/cases.h"
#include "common/clock.h"
#include "database/values.h"

/* One at a time; another lock than those of migrations and segments. */
#define LOCK_JUDGEMENTS "SELECT pg_try_advisory_xact_lock(7236837203)"

/* Counting waits meanwhile. */
#define BEGIN_JUDGEMENT "BEGIN; SET LOCAL statement_timeout = '3s'"

#define OPEN_EPISODE                                                                                         \
	"INSERT INTO calibration_drift_episodes (application, model, prompt_version, label_source, "         \
	"window_s, opened_at, threshold, opening_score, opening_cases, judged_at, score, cases) "            \
	"VALUES ($1, $2, $3, $4, $5::integer, to_timestamp($6::bigint / 1000.0), $7::float8, $8::float8, "   \
	"$9::bigint, to_timestamp($6::bigint / 1000.0), $8::float8, $9::bigint) "                            \
	"ON CONFLICT (application, model, prompt_version, label_source) "                                    \
	"WHERE closed_at IS NULL DO NOTHING"

#define UPDATE_EPISODE                                                                                       \
	"UPDATE calibration_drift_episodes SET judged_at = to_timestamp($2::bigint / 1000.0), "              \
	"score = $3::float8, cases = $4::bigint, "                                                           \
	"closed_at = CASE WHEN $5::boolean THEN to_timestamp($2::bigint / 1000.0) END WHERE id = $1"

struct judgement {
	struct database *database;
	const struct drift_update_options *options;
	int64_t now_ms;
	struct arena *arena;
	struct drift_episode *open;
	size_t open_count;
	struct drift_changes changes;
};

static err_t insert_episode(struct judgement *judgement, const struct calibration_entry *entry,
			    const struct calibration_report *report, int64_t window_s,
			    struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	char window[24], now[24], threshold[32], score[32], cases[24];
	snprintf(window, sizeof window, "%lld", (long long)window_s);
	snprintf(now, sizeof now, "%lld", (long long)judgement->now_ms);
	snprintf(threshold, sizeof threshold, "%.17g", judgement->options->limits.opens_below);
	snprintf(score, sizeof score, "%.17g", report->band_score.value);
	snprintf(cases, sizeof cases, "%lld", (long long)report->cases);
	const char *const parameters[] = { entry->application.ptr,
					   entry->model.ptr,
					   entry->prompt_version.ptr,
					   calibration_source_name(entry->label_source),
					   window,
					   now,
					   threshold,
					   score,
					   cases };
	err_t err = database_query(judgement->database, OPEN_EPISODE, 9, parameters, &result, detail);
	if (!err && strcmp(PQcmdTuples(result), "1") == 0)
		judgement->changes.opened++;
	return err;
}

static err_t update_episode(struct judgement *judgement, const struct drift_episode *episode,
			    const struct calibration_report *report, bool closes, struct err_detail *detail)
{
	char now[24], score[32], cases[24];
	snprintf(now, sizeof now, "%lld", (long long)judgement->now_ms);
	snprintf(score, sizeof score, "%.17g", report->band_score.value);
	snprintf(cases, sizeof cases, "%lld", (long long)report->cases);
	const char *const parameters[] = { episode->id, now, score, cases, closes ? "true" : "false" };
	judgement->changes.closed += closes;
	return database_query(judgement->database, UPDATE_EPISODE, 5, parameters, NULL, detail);
}

static bool same_source(const struct calibration_entry *a, const struct calibration_segment *segment,
			int label_source)
{
	return a->label_source == label_source && str_equal(segment->application, a->application) &&
	       str_equal(segment->model, a->model) && str_equal(segment->prompt_version, a->prompt_version);
}

static const struct drift_episode *find_open(const struct judgement *judgement,
					     const struct calibration_entry *entry)
{
	for (size_t i = 0; i < judgement->open_count; i++)
		if (same_source(entry, &judgement->open[i].segment, judgement->open[i].label_source))
			return &judgement->open[i];
	return NULL;
}

static err_t read_window(const struct judgement *judgement, const struct calibration_segment *segments,
			 size_t count, int64_t window_s, struct calibration_reports *ret_reports,
			 struct err_detail *detail)
{
	const struct calibration_query query = {
		.window_s = window_s,
		.bucket_s = judgement->options->bucket_s,
		.until_ms = judgement->now_ms,
		.min_cases = judgement->options->limits.min_cases,
		.label_source = ENUM_ABSENT,
		.without_trend = true,
		.by_segment = true,
		.segments = segments,
		.segments_count = count,
	};
	return calibration_read_entries(judgement->database, &query, judgement->arena, ret_reports, detail);
}

/* The report of the same segment and label source, or NULL. */
static const struct calibration_report *find_report(const struct calibration_reports *reports,
						    const struct calibration_entry *entry)
{
	const struct calibration_segment segment = { entry->application, entry->model,
						     entry->prompt_version };
	for (size_t i = 0; i < reports->count; i++)
		if (same_source(&reports->entries[i], &segment, entry->label_source))
			return &reports->entries[i].report;
	return NULL;
}

static int index_of(const struct drift_episode *episode)
{
	int index = DRIFT_WINDOWS - 1;
	while (index > 0 && drift_windows_s[index] != episode->window_s)
		index--;
	return index;
}

/* `entry` is that of the longest window. */
static err_t judge_entry(struct judgement *judgement, const struct calibration_entry *entry,
			 const struct calibration_reports windows[DRIFT_WINDOWS], struct err_detail *detail)
{
	const struct calibration_report *reports[DRIFT_WINDOWS];
	const struct drift_episode *open = find_open(judgement, entry);
	int window = open ? index_of(open) : -1;
	for (int i = 0; i < DRIFT_WINDOWS; i++)
		reports[i] = find_report(&windows[i], entry);
	enum drift_change change = drift_judge_windows(&judgement->options->limits, window, reports, &window);
	if (change == DRIFT_OPENS)
		return insert_episode(judgement, entry, reports[window], drift_windows_s[window], detail);
	if (open && reports[window] && reports[window]->band_score.set)
		return update_episode(judgement, open, reports[window], change == DRIFT_CLOSES, detail);
	return ERR_OK;
}

static err_t judge_windows(struct judgement *judgement, const struct calibration_segment *segments,
			   size_t count, struct err_detail *detail)
{
	struct calibration_reports windows[DRIFT_WINDOWS];
	const struct calibration_reports *longest = &windows[DRIFT_WINDOWS - 1];
	err_t err = ERR_OK;
	for (int i = 0; !err && i < DRIFT_WINDOWS; i++)
		err = read_window(judgement, segments, count, drift_windows_s[i], &windows[i], detail);
	for (size_t i = 0; !err && i < longest->count; i++)
		err = judge_entry(judgement, &longest->entries[i], windows, detail);
	return err;
}

/* Within the transaction. */
static err_t judge_all(struct judgement *judgement, const struct calibration_segment *segments, size_t count,
		       struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	err_t err = database_query(judgement->database, LOCK_JUDGEMENTS, 0, NULL, &result, detail);
	if (err)
		return err;
	judgement->changes.busy = PQgetvalue(result, 0, 0)[0] != 't';
	if (judgement->changes.busy)
		return ERR_OK;
	err = episodes_open_of(judgement->database, segments, count, judgement->arena, &judgement->open,
			       &judgement->open_count, detail);
	return err ? err : judge_windows(judgement, segments, count, detail);
}

err_t drift_update(struct database *database, const struct drift_update_options *options,
		   const struct calibration_segment *segments, size_t count,
		   struct drift_changes *ret_changes, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct judgement judgement = {
		.database = database,
		.options = options,
		.now_ms = options->now_ms ? options->now_ms : clock_wall_ms(),
		.arena = arena,
	};
	err_t err = database_script(database, BEGIN_JUDGEMENT, detail);
	if (!err)
		err = judge_all(&judgement, segments, count, detail);
	if (!err)
		err = database_script(database, "COMMIT", detail);
	if (err && database_script(database, "ROLLBACK", NULL) != ERR_OK)
		database_disconnect(database);
	if (!err)
		*ret_changes = judgement.changes;
	return err;
}
