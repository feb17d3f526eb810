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
	"ON CONFLICT (application, model, prompt_version, label_source, window_s) "                          \
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
			    int64_t window_s, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	char window[24], now[24], threshold[32], score[32], cases[24];
	snprintf(window, sizeof window, "%lld", (long long)window_s);
	snprintf(now, sizeof now, "%lld", (long long)judgement->now_ms);
	snprintf(threshold, sizeof threshold, "%.17g", judgement->options->limits.opens_below);
	snprintf(score, sizeof score, "%.17g", entry->report.band_score.value);
	snprintf(cases, sizeof cases, "%lld", (long long)entry->report.cases);
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

static const struct drift_episode *find_open(const struct judgement *judgement,
					     const struct calibration_entry *entry, int64_t window_s)
{
	for (size_t i = 0; i < judgement->open_count; i++) {
		const struct drift_episode *episode = &judgement->open[i];
		if (episode->window_s == window_s && episode->label_source == entry->label_source &&
		    str_equal(episode->segment.application, entry->application) &&
		    str_equal(episode->segment.model, entry->model) &&
		    str_equal(episode->segment.prompt_version, entry->prompt_version))
			return episode;
	}
	return NULL;
}

static err_t judge_entry(struct judgement *judgement, const struct calibration_entry *entry, int64_t window_s,
			 struct err_detail *detail)
{
	const struct calibration_report *report = &entry->report;
	const struct drift_episode *open = find_open(judgement, entry, window_s);
	enum drift_change change = drift_judge(&judgement->options->limits, open != NULL, report);
	if (change == DRIFT_OPENS)
		return insert_episode(judgement, entry, window_s, detail);
	if (open && report->band_score.set)
		return update_episode(judgement, open, report, change == DRIFT_CLOSES, detail);
	return ERR_OK;
}

static err_t judge_window(struct judgement *judgement, const struct calibration_segment *segments,
			  size_t count, int64_t window_s, struct err_detail *detail)
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
	struct calibration_reports reports;
	err_t err = calibration_read_entries(judgement->database, &query, judgement->arena, &reports, detail);
	for (size_t i = 0; !err && i < reports.count; i++)
		err = judge_entry(judgement, &reports.entries[i], window_s, detail);
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
	for (size_t i = 0; !err && i < DRIFT_WINDOWS; i++)
		err = judge_window(judgement, segments, count, drift_windows_s[i], detail);
	return err;
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
