#include "calibration/drift/update.h"

#include "avro/advisory.h"
#include "calibration/report/reader.h"
#include "calibration/store/cases.h"
#include "calibration/store/sequences.h"
#include "common/clock.h"
#include "database/values.h"

/* One at a time; another lock than those of migrations and segments. */
#define LOCK_JUDGEMENTS "SELECT pg_try_advisory_xact_lock(7236837203)"

/* Counting waits meanwhile. */
#define BEGIN_JUDGEMENT "BEGIN; SET LOCAL statement_timeout = '3s'"

/* $5 to $7 window, score and cases, of none if empty; $8 to $10 direction, size and time of the change,
 * likewise; $11 the time, $12 the bound of scores, $14 what noticed the change; $15 on how far confidence and
 * outcomes are apart, like the score. An episode whose change is over already was one. */
#define OPEN_EPISODE                                                                                         \
	"INSERT INTO calibration_drift_episodes (application, model, prompt_version, label_source, "         \
	"window_s, opened_at, threshold, opening_score, opening_cases, judged_at, score, cases, "            \
	"direction, size, since, closed_at, expected_by, opening_confidence, opening_accuracy, "             \
	"opening_group, opening_group_cases, opening_group_confidence, opening_group_accuracy) SELECT $1, "  \
	"$2, $3, $4, w.window_s, w.judged_at, "                                                              \
	"CASE WHEN w.window_s IS NOT NULL THEN $12::float8 END, w.score, w.cases, w.judged_at, w.score, "    \
	"w.cases, nullif($8, ''), nullif($9, '')::float8, "                                                  \
	"to_timestamp(nullif($10, '')::bigint / 1000.0), CASE WHEN $13::boolean THEN w.judged_at END, "      \
	"nullif($14, ''), nullif($15, '')::float8, nullif($16, '')::float8, nullif($17, ''), "               \
	"nullif($18, '')::bigint, nullif($19, '')::float8, nullif($20, '')::float8 "                         \
	"FROM (SELECT nullif($5, '')::integer AS window_s, nullif($6, '')::float8 AS score, "                \
	"nullif($7, '')::bigint AS cases, to_timestamp($11::bigint / 1000.0) AS judged_at) AS w "            \
	"ON CONFLICT (application, model, prompt_version, label_source) "                                    \
	"WHERE closed_at IS NULL DO NOTHING"

/* The same parameters, but for $1 the id. */
#define UPDATE_EPISODE                                                                                       \
	"UPDATE calibration_drift_episodes SET judged_at = to_timestamp($8::bigint / 1000.0), "              \
	"window_s = coalesce(window_s, nullif($2, '')::integer), "                                           \
	"threshold = CASE WHEN $2 <> '' THEN coalesce(threshold, $9::float8) END, "                          \
	"score = coalesce(nullif($3, '')::float8, score), cases = coalesce(nullif($4, '')::bigint, cases), " \
	"direction = coalesce(nullif($5, ''), direction), size = coalesce(nullif($6, '')::float8, size), "   \
	"since = coalesce(to_timestamp(nullif($7, '')::bigint / 1000.0), since), "                           \
	"expected_by = coalesce(nullif($11, ''), expected_by), "                                             \
	"closed_at = CASE WHEN $10::boolean THEN to_timestamp($8::bigint / 1000.0) END WHERE id = $1"

struct judgement {
	struct database *database;
	const struct drift_update_options *options;
	int64_t now_ms;
	struct arena *arena;
	struct drift_episode *open;
	size_t open_count;
	struct sequence_news *news;
	size_t news_count;
	struct drift_changes changes;
};

/* A segment and label source, and what is known of it. */
struct judged_source {
	const struct calibration_segment *segment;
	int label_source;
	const struct drift_episode *open; /* or NULL, likewise below */
	const struct sequence_news *news;
	const struct calibration_report *reports[DRIFT_WINDOWS];
};

/* A window's and a change's columns; empty where there is none. */
struct episode_texts {
	char window[24], score[32], cases[24], direction[8], size[32], since[24], now[24], threshold[32];
	char confidence[32], accuracy[32], group_cases[24], group_confidence[32], group_accuracy[32];
	const char *expected_by, *group;
};

/* How far confidence and outcomes are apart: over the window, and at the level where it is seen best. */
static void write_gap(struct episode_texts *texts, const struct calibration_report *report)
{
	int worst = drift_worst_group(report);
	if (worst < 0)
		return;
	const struct calibration_part *group = &report->groups[worst];
	snprintf(texts->confidence, sizeof texts->confidence, "%.17g", report->confidence.value);
	snprintf(texts->accuracy, sizeof texts->accuracy, "%.17g", report->accuracy.value);
	texts->group = advisory_level_name((enum confidence_level)worst);
	snprintf(texts->group_cases, sizeof texts->group_cases, "%lld", (long long)group->cases);
	snprintf(texts->group_confidence, sizeof texts->group_confidence, "%.17g", group->confidence);
	snprintf(texts->group_accuracy, sizeof texts->group_accuracy, "%.17g", group->accuracy);
}

static void write_window(struct episode_texts *texts, const struct judged_source *source, int window)
{
	if (window < 0)
		return;
	snprintf(texts->window, sizeof texts->window, "%lld", (long long)drift_windows_s[window]);
	const struct calibration_report *report = source->reports[window];
	if (!report || !report->band_score.set)
		return;
	snprintf(texts->score, sizeof texts->score, "%.17g", report->band_score.value);
	snprintf(texts->cases, sizeof texts->cases, "%lld", (long long)report->cases);
	write_gap(texts, report);
}

static struct episode_texts write_texts(const struct judgement *judgement, const struct judged_source *source,
					int window)
{
	struct episode_texts texts = { .expected_by = "", .group = "" };
	write_window(&texts, source, window);
	if (source->news && source->news->noticed) {
		const struct drift_stretch *stretch = &source->news->stretch;
		snprintf(texts.direction, sizeof texts.direction, "%s",
			 sequences_direction_name(stretch->direction));
		snprintf(texts.size, sizeof texts.size, "%.17g", drift_stretch_size(stretch));
		snprintf(texts.since, sizeof texts.since, "%lld", (long long)stretch->since_ms);
		texts.expected_by = source->news->noticed == NOTICED_BY_PAST ? "PAST" : "PROBABILITY";
	}
	snprintf(texts.now, sizeof texts.now, "%lld", (long long)judgement->now_ms);
	snprintf(texts.threshold, sizeof texts.threshold, "%.17g", judgement->options->limits.opens_below);
	return texts;
}

static err_t insert_episode(struct judgement *judgement, const struct judged_source *source, int window,
			    struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	const struct episode_texts texts = write_texts(judgement, source, window);
	bool over = window < 0 && !source->news->open;
	const char *const parameters[] = { source->segment->application.ptr,
					   source->segment->model.ptr,
					   source->segment->prompt_version.ptr,
					   calibration_source_name(source->label_source),
					   texts.window,
					   texts.score,
					   texts.cases,
					   texts.direction,
					   texts.size,
					   texts.since,
					   texts.now,
					   texts.threshold,
					   over ? "true" : "false",
					   texts.expected_by,
					   texts.confidence,
					   texts.accuracy,
					   texts.group,
					   texts.group_cases,
					   texts.group_confidence,
					   texts.group_accuracy };
	err_t err = database_query(judgement->database, OPEN_EPISODE, 20, parameters, &result, detail);
	if (!err && strcmp(PQcmdTuples(result), "1") == 0) {
		judgement->changes.opened++;
		judgement->changes.closed += over;
	}
	return err;
}

static err_t update_episode(struct judgement *judgement, const struct judged_source *source, int window,
			    bool closes, struct err_detail *detail)
{
	const struct episode_texts texts = write_texts(judgement, source, window);
	const char *const parameters[] = {
		source->open->id, texts.window, texts.score, texts.cases,     texts.direction,
		texts.size,	  texts.since,	texts.now,   texts.threshold, closes ? "true" : "false",
		texts.expected_by
	};
	judgement->changes.closed += closes;
	return database_query(judgement->database, UPDATE_EPISODE, 11, parameters, NULL, detail);
}

static bool is_of(const struct judged_source *source, const struct calibration_segment *segment,
		  int label_source)
{
	return source->label_source == label_source &&
	       calibration_segment_compare(source->segment, segment) == 0;
}

static const struct drift_episode *find_open(const struct judgement *judgement,
					     const struct judged_source *source)
{
	for (size_t i = 0; i < judgement->open_count; i++)
		if (is_of(source, &judgement->open[i].segment, judgement->open[i].label_source))
			return &judgement->open[i];
	return NULL;
}

static const struct sequence_news *find_news(const struct judgement *judgement,
					     const struct judged_source *source)
{
	for (size_t i = 0; i < judgement->news_count; i++)
		if (is_of(source, &judgement->news[i].segment, judgement->news[i].label_source))
			return &judgement->news[i];
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

static struct calibration_segment segment_of(const struct calibration_entry *entry)
{
	return (struct calibration_segment){ entry->application, entry->model, entry->prompt_version };
}

/* The report of the source, or NULL. */
static const struct calibration_report *find_report(const struct calibration_reports *reports,
						    const struct judged_source *source)
{
	for (size_t i = 0; i < reports->count; i++) {
		const struct calibration_segment segment = segment_of(&reports->entries[i]);
		if (is_of(source, &segment, reports->entries[i].label_source))
			return &reports->entries[i].report;
	}
	return NULL;
}

static int index_of(const struct drift_episode *episode)
{
	int index = episode && episode->window_s ? DRIFT_WINDOWS - 1 : -1;
	while (index > 0 && drift_windows_s[index] != episode->window_s)
		index--;
	return index;
}

static err_t judge_source(struct judgement *judgement, const struct calibration_segment *segment,
			  int label_source, const struct calibration_reports windows[DRIFT_WINDOWS],
			  struct err_detail *detail)
{
	struct judged_source source = { .segment = segment, .label_source = label_source };
	source.open = find_open(judgement, &source);
	source.news = find_news(judgement, &source);
	for (int i = 0; i < DRIFT_WINDOWS; i++)
		source.reports[i] = find_report(&windows[i], &source);
	const struct drift_standing standing = {
		.open = source.open != NULL,
		.window = index_of(source.open),
		.changed = source.news && source.news->open,
		.reported = !source.news || !source.news->unreported,
	};
	int window;
	enum drift_change change =
		drift_judge_windows(&judgement->options->limits, &standing, source.reports, &window);
	bool scored = window >= 0 && source.reports[window] && source.reports[window]->band_score.set;
	err_t err = ERR_OK;
	if (change == DRIFT_OPENS)
		err = insert_episode(judgement, &source, window, detail);
	else if (source.open && (scored || source.news || change == DRIFT_CLOSES))
		err = update_episode(judgement, &source, window, change == DRIFT_CLOSES, detail);
	if (!err && source.news && (source.news->unreported || source.news->moved))
		err = sequences_set_reported(judgement->database, source.news, detail);
	return err;
}

/* Each once: those that have cases in the longest window, others with news of their sequence, and others with
 * an open episode. Rows of sequences are locked in the order of their keys, as by those who count. */
static err_t judge_sources(struct judgement *judgement,
			   const struct calibration_reports windows[DRIFT_WINDOWS], struct err_detail *detail)
{
	const struct calibration_reports *longest = &windows[DRIFT_WINDOWS - 1];
	err_t err = ERR_OK;
	for (size_t i = 0; !err && i < judgement->news_count; i++)
		err = judge_source(judgement, &judgement->news[i].segment, judgement->news[i].label_source,
				   windows, detail);
	for (size_t i = 0; !err && i < longest->count; i++) {
		const struct calibration_segment segment = segment_of(&longest->entries[i]);
		const struct judged_source source = { .segment = &segment,
						      .label_source = longest->entries[i].label_source };
		if (!find_news(judgement, &source))
			err = judge_source(judgement, &segment, source.label_source, windows, detail);
	}
	for (size_t i = 0; !err && i < judgement->open_count; i++) {
		const struct judged_source source = { .segment = &judgement->open[i].segment,
						      .label_source = judgement->open[i].label_source };
		if (!find_news(judgement, &source) && !find_report(longest, &source))
			err = judge_source(judgement, source.segment, source.label_source, windows, detail);
	}
	return err;
}

static err_t judge_windows(struct judgement *judgement, const struct calibration_segment *segments,
			   size_t count, struct err_detail *detail)
{
	struct calibration_reports windows[DRIFT_WINDOWS];
	const struct drift_update_options *options = judgement->options;
	double alarms = sequences_alarms(options->limits.false_alarms_per_10k, true);
	err_t err = sequences_read(judgement->database, segments, count,
				   options->claims ? claims_sequence_threshold(alarms) : 0, judgement->arena,
				   &judgement->news, &judgement->news_count, detail);
	for (int i = 0; !err && i < DRIFT_WINDOWS; i++)
		err = read_window(judgement, segments, count, drift_windows_s[i], &windows[i], detail);
	return err ? err : judge_sources(judgement, windows, detail);
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
