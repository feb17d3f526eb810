#include "calibration/episodes.h"

#include "calibration/reader.h"
#include "calibration/store.h"
#include "common/clock.h"
#include "database/values.h"

#define COLUMNS                                                                                              \
	"id, application, model, prompt_version, label_source, window_s, "                                   \
	"floor(extract(epoch FROM opened_at) * 1000)::bigint, threshold, opening_score, opening_cases, "     \
	"floor(extract(epoch FROM judged_at) * 1000)::bigint, score, cases FROM calibration_drift_episodes "

enum {
	ID,
	APPLICATION,
	MODEL,
	PROMPT_VERSION,
	LABEL_SOURCE,
	WINDOW_S,
	OPENED_AT,
	THRESHOLD,
	OPENING_SCORE,
	OPENING_CASES,
	JUDGED_AT,
	SCORE,
	CASES
};

/* ---- rows ---- */

static struct drift_episode episode_at(const PGresult *result, int row, struct arena *arena)
{
	struct drift_episode episode = {
		.segment = { text_at(result, row, APPLICATION, arena), text_at(result, row, MODEL, arena),
			     text_at(result, row, PROMPT_VERSION, arena) },
		.label_source = calibration_source_of(PQgetvalue(result, row, LABEL_SOURCE)),
		.window_s = integer_at(result, row, WINDOW_S),
		.opened_at_ms = integer_at(result, row, OPENED_AT),
		.threshold = number_at(result, row, THRESHOLD),
		.opening_score = number_at(result, row, OPENING_SCORE),
		.opening_cases = integer_at(result, row, OPENING_CASES),
		.judged_at_ms = integer_at(result, row, JUDGED_AT),
		.score = number_at(result, row, SCORE),
		.cases = integer_at(result, row, CASES),
	};
	snprintf(episode.id, sizeof episode.id, "%s", PQgetvalue(result, row, ID));
	return episode;
}

static err_t read_episodes(struct database *database, const char *sql, int parameters_count,
			   const char *const *parameters, struct arena *arena,
			   struct drift_episode **ret_episodes, size_t *ret_count, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	err_t err = database_query(database, sql, parameters_count, parameters, &result, detail);
	if (err)
		return err;
	*ret_count = (size_t)PQntuples(result);
	*ret_episodes = ARENA_ARRAY(arena, struct drift_episode, *ret_count);
	for (size_t i = 0; i < *ret_count; i++)
		(*ret_episodes)[i] = episode_at(result, (int)i, arena);
	return ERR_OK;
}

err_t episodes_unpublished(struct database *database, size_t most, struct arena *arena,
			   struct drift_episode **ret_episodes, size_t *ret_count, struct err_detail *detail)
{
	char limit[24];
	snprintf(limit, sizeof limit, "%zu", most);
	const char *const parameters[] = { limit };
	return read_episodes(database,
			     "SELECT " COLUMNS
			     "WHERE published_at IS NULL ORDER BY opened_at, id LIMIT $1::bigint",
			     1, parameters, arena, ret_episodes, ret_count, detail);
}

err_t episodes_open(struct database *database, const char *application, struct arena *arena,
		    struct drift_episode **ret_episodes, size_t *ret_count, struct err_detail *detail)
{
	const char *const parameters[] = { application };
	return read_episodes(database,
			     "SELECT " COLUMNS
			     "WHERE closed_at IS NULL AND ($1::text IS NULL OR application = $1) "
			     "ORDER BY application, model, prompt_version, label_source, window_s",
			     1, parameters, arena, ret_episodes, ret_count, detail);
}

err_t episodes_set_published(struct database *database, const char *id, struct err_detail *detail)
{
	const char *const parameters[] = { id };
	return database_query(database,
			      "UPDATE calibration_drift_episodes SET published_at = now() "
			      "WHERE id = $1 AND published_at IS NULL",
			      1, parameters, NULL, detail);
}

/* ---- judging ---- */

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
	const struct episodes_options *options;
	int64_t now_ms;
	struct arena *arena;
	struct drift_episode *open;
	size_t open_count;
	struct episodes_outcome outcome;
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
		judgement->outcome.opened++;
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
	judgement->outcome.closed += closes;
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
	enum drift_change change =
		drift_judge(&judgement->options->limits, open != NULL, report->cases, report->band_score);
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

static err_t read_open(struct judgement *judgement, const struct calibration_segment *segments, size_t count,
		       struct err_detail *detail)
{
	_cleanup_(segment_arrays_free) struct segment_arrays only = { BUF_INIT, BUF_INIT, BUF_INIT };
	segment_arrays_make(&only, segments, count);
	const char *const parameters[] = { only.application.data, only.model.data, only.prompt_version.data };
	return read_episodes(
		judgement->database,
		"SELECT " COLUMNS "WHERE closed_at IS NULL AND (application, model, prompt_version) IN "
		"(SELECT * FROM unnest($1::text[], $2::text[], $3::text[]))",
		3, parameters, judgement->arena, &judgement->open, &judgement->open_count, detail);
}

/* Within the transaction. */
static err_t judge_all(struct judgement *judgement, const struct calibration_segment *segments, size_t count,
		       struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	err_t err = database_query(judgement->database, LOCK_JUDGEMENTS, 0, NULL, &result, detail);
	if (err)
		return err;
	judgement->outcome.busy = PQgetvalue(result, 0, 0)[0] != 't';
	if (judgement->outcome.busy)
		return ERR_OK;
	err = read_open(judgement, segments, count, detail);
	for (size_t i = 0; !err && i < DRIFT_WINDOWS; i++)
		err = judge_window(judgement, segments, count, drift_windows_s[i], detail);
	return err;
}

err_t episodes_judge(struct database *database, const struct episodes_options *options,
		     const struct calibration_segment *segments, size_t count,
		     struct episodes_outcome *ret_outcome, struct err_detail *detail)
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
		*ret_outcome = judgement.outcome;
	return err;
}
