#include "calibration/rebuild/rebuild_guard.h"

#include "calibration/rebuild/rebuild_examples.h"
#include "database/values.h"

/* One statement each: a large table takes its time. */
static err_t count(struct database *database, const char *sql, int64_t *ret_count, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	err_t err = database_query(database, sql, 0, NULL, &result, detail);
	if (!err)
		*ret_count = database_integer_at(result, 0, 0);
	return err;
}

#define COUNT(table) "SELECT count(*) FROM " table

err_t rebuild_guard_stored(struct database *database, struct rebuild_stored *ret_stored,
			   struct err_detail *detail)
{
	struct rebuild_stored stored = { 0 };
	const struct {
		const char *sql;
		int64_t *count;
	} counts[] = {
		{ COUNT("calibration_sums"), &stored.buckets },
		{ "SELECT coalesce(sum(cases), 0) FROM calibration_sums WHERE width_s = 3600",
		  &stored.cases },
		{ COUNT("calibration_events"), &stored.events },
		{ COUNT("calibration_feedback"), &stored.feedback },
		{ COUNT("calibration_examples"), &stored.examples },
		{ COUNT("calibration_claims"), &stored.claims },
		{ COUNT("calibration_models"), &stored.models },
		{ COUNT("calibration_drift_episodes"), &stored.episodes },
	};
	err_t err = ERR_OK;
	for (size_t i = 0; !err && i < sizeof counts / sizeof *counts; i++)
		err = count(database, counts[i].sql, counts[i].count, detail);
	if (!err)
		*ret_stored = stored;
	return err;
}

/* ---- refusals ---- */

struct stored_text {
	char text[160];
};

static bool is_empty(const struct rebuild_stored *stored)
{
	return stored->buckets + stored->events + stored->feedback + stored->examples == 0;
}

static const char *describe(const struct rebuild_stored *stored, struct stored_text *to)
{
	snprintf(to->text, sizeof to->text,
		 "%lld buckets (%lld cases), %lld events, %lld feedback messages and %lld examples",
		 (long long)stored->buckets, (long long)stored->cases, (long long)stored->events,
		 (long long)stored->feedback, (long long)stored->examples);
	return to->text;
}

#define COUNTED_TOPICS                                                                                       \
	"SELECT coalesce(string_agg(topic, ', ' ORDER BY topic), '') "                                       \
	"FROM (SELECT DISTINCT topic FROM calibration_positions) AS counted"

err_t rebuild_guard_counted(struct database *database, const struct rebuild_log *scored,
			    struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct rebuild_stored stored;
	struct stored_text text;
	if (scored->count)
		return ERR_OK;
	err_t err = database_query(database, COUNTED_TOPICS, 0, NULL, &result, detail);
	if (!err)
		err = rebuild_guard_stored(database, &stored, detail);
	if (err)
		return err;
	const char *topics = PQgetvalue(result, 0, 0);
	if (!topics[0] && is_empty(&stored))
		return err_fail(detail, ERR_CALIBRATION_LOG,
				"nothing was ever counted into this database: the daemon counts %s into it; "
				"start that, or correct calibration.dsn",
				scored->topic);
	return err_fail(detail, ERR_CALIBRATION_LOG,
			"nothing of %s was ever counted into this database, whose counts are of %s; it keeps "
			"%s, which %s cannot supply. Nothing was changed; correct kafka.scored_topic or "
			"calibration.dsn",
			scored->topic, topics[0] ? topics : "topics whose positions were deleted",
			describe(&stored, &text), scored->topic);
}

err_t rebuild_guard_length(struct database *database, const struct rebuild_log *log,
			   struct err_detail *detail)
{
	struct rebuild_stored stored;
	struct stored_text text;
	size_t i = 0;
	while (i < log->count && !log->partitions[i].foreign)
		i++;
	if (i == log->count)
		return ERR_OK;
	err_t err = rebuild_guard_stored(database, &stored, detail);
	if (err)
		return err;
	return err_fail(
		detail, ERR_CALIBRATION_LOG,
		"partition %d of %s is counted up to offset %lld and ends at %lld: it was deleted and "
		"made again, or this is another broker. PostgreSQL keeps %s, more than the topic can "
		"supply; nothing was changed. Correct kafka.bootstrap_servers; or have a topic that "
		"was made again counted from its beginning: delete its rows of calibration_positions",
		(int)log->spans[i].partition, log->topic, (long long)log->spans[i].until,
		(long long)log->partitions[i].high, describe(&stored, &text));
}

err_t rebuild_guard_empty(struct database *database, const struct rebuild_log *scored,
			  struct err_detail *detail)
{
	struct rebuild_stored stored;
	struct stored_text text;
	if (scored->count == 0 || scored->begin_ms != INT64_MAX)
		return ERR_OK;
	err_t err = rebuild_guard_stored(database, &stored, detail);
	if (err || is_empty(&stored))
		return err;
	return err_fail(detail, ERR_CALIBRATION_LOG,
			"%s has no scored event left of what was counted (partition %d: counted up to offset "
			"%lld, kept are %lld to %lld). PostgreSQL keeps %s, which cannot be counted again; "
			"nothing was changed. What is scored from now on can be; the topic's retention.ms "
			"says for how long",
			scored->topic, (int)scored->spans[0].partition, (long long)scored->spans[0].until,
			(long long)scored->partitions[0].low, (long long)scored->partitions[0].high,
			describe(&stored, &text));
}

/* ---- places ---- */

/* Rows of records that are read, $1 and $2. */
#define READ_AGAIN(table)                                                                                    \
	table " AS s JOIN unnest($1::integer[], $2::bigint[]) AS b (partition, first) "                      \
	      "ON b.partition = s.partition AND s.record_offset >= b.first "

/* ---- identity ---- */

/* By digests of event_id, so that those are a sample. */
#define FOUND(table, drawn)                                                                                  \
	"SELECT count(*), count(*) FILTER (WHERE EXISTS (SELECT FROM " drawn " r WHERE "                     \
	"(r.event_key, r.scored_at, r.partition, r.record_offset) = "                                        \
	"(s.event_key, s.scored_at, s.partition, s.record_offset))) FROM (SELECT s.event_key, s.scored_at, " \
	"s.partition, s.record_offset FROM " READ_AGAIN(                                                     \
		table) "WHERE s.scored_at >= to_timestamp($3::bigint / 1000.0) ORDER BY s.event_key LIMIT "  \
		       "10000) AS s"

static const struct {
	const char *sql, *what;
} identities[] = {
	[REBUILD_OF_EVENTS] = { FOUND("calibration_events", "rebuild_events"), "events" },
	[REBUILD_OF_EXAMPLES] = { FOUND("calibration_examples", REBUILD_EXAMPLES), "examples" },
};

/* A row or two that were changed are no other topic: of another one next to nothing is found. */
err_t rebuild_guard_identity(struct database *database, const struct rebuild_log *scored,
			     enum rebuild_rows rows, int64_t since_ms, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	_cleanup_(rebuild_places_free) struct rebuild_places places = REBUILD_PLACES_INIT;
	struct database_number_text since;
	rebuild_log_places(scored, REBUILD_ALL, &places);
	const char *const parameters[] = { places.partitions.data, places.first.data,
					   database_number_text(&since, since_ms) };
	err_t err = database_query(database, identities[rows].sql, 3, parameters, &result, detail);
	if (err)
		return err;
	long long stored = database_integer_at(result, 0, 0), found = database_integer_at(result, 0, 1);
	if (found * 10 >= stored)
		return ERR_OK;
	return err_fail(
		detail, ERR_CALIBRATION_LOG,
		"%s is not the topic that was counted, or was filled anew: of %lld %s that PostgreSQL "
		"keeps of its records, it has %lld; nothing was changed. Correct "
		"kafka.bootstrap_servers or kafka.scored_topic",
		scored->topic, stored, identities[rows].what, found);
}

/* ---- logs of before ---- */

#define OTHER_TOPIC                                                                                          \
	"SELECT topic, floor(extract(epoch FROM updated_at) * 1000)::bigint FROM calibration_positions "     \
	"WHERE topic NOT IN ($1, $2) AND next_offset > 0 ORDER BY updated_at DESC, topic LIMIT 1"

err_t rebuild_guard_other(struct database *database, const char *scored_topic, const char *feedback_topic,
			  struct arena *arena, struct rebuild_other *ret_other, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	const char *const parameters[] = { scored_topic, feedback_topic };
	err_t err = database_query(database, OTHER_TOPIC, 2, parameters, &result, detail);
	if (err)
		return err;
	*ret_other = (struct rebuild_other){ .topic = NULL };
	if (PQntuples(result) > 0)
		*ret_other = (struct rebuild_other){ arena_strdup(arena, PQgetvalue(result, 0, 0)),
						     database_integer_at(result, 0, 1) };
	return ERR_OK;
}

static err_t query_flag(struct database *database, const char *sql, int count, const char *const *parameters,
			bool *ret_flag, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	err_t err = database_query(database, sql, count, parameters, &result, detail);
	if (!err)
		*ret_flag = PQgetvalue(result, 0, 0)[0] == 't';
	return err;
}

/* %s: the table with the hours; $1 since when, $2 the first record, $3 the label source or NULL. */
#define HOURS_BEFORE                                                                                         \
	"SELECT EXISTS (SELECT FROM %s WHERE width_s = 3600 AND cases <> 0 "                                 \
	"AND bucket_start >= to_timestamp($1::bigint / 1000.0) "                                             \
	"AND bucket_start + interval '1 hour' <= to_timestamp($2::bigint / 1000.0) "                         \
	"AND ($3::text IS NULL OR label_source = $3))"

static err_t find_hours(struct database *database, const char *stored, int64_t since_ms, int64_t before_ms,
			const char *label_source, bool *ret_found, struct err_detail *detail)
{
	char sql[512];
	struct database_number_text since, before;
	const char *const parameters[] = { database_number_text(&since, since_ms),
					   database_number_text(&before, before_ms), label_source };
	snprintf(sql, sizeof sql, HOURS_BEFORE, stored);
	return query_flag(database, sql, 3, parameters, ret_found, detail);
}

#define BEFORE_BEGIN                                                                                         \
	"WHERE s.scored_at < to_timestamp($3::bigint / 1000.0) "                                             \
	"AND s.scored_at >= to_timestamp($4::bigint / 1000.0)"

#define ROWS_BEFORE                                                                                          \
	"SELECT EXISTS (SELECT FROM " READ_AGAIN("calibration_events") BEFORE_BEGIN                          \
		") OR EXISTS (SELECT FROM " READ_AGAIN("calibration_examples") BEFORE_BEGIN ")"

static err_t find_rows(struct database *database, const struct rebuild_log *scored, int64_t since_ms,
		       bool *ret_found, struct err_detail *detail)
{
	_cleanup_(rebuild_places_free) struct rebuild_places places = REBUILD_PLACES_INIT;
	struct database_number_text begin, since;
	rebuild_log_places(scored, REBUILD_ALL, &places);
	const char *const parameters[] = { places.partitions.data, places.first.data,
					   database_number_text(&begin, scored->begin_ms),
					   database_number_text(&since, since_ms) };
	return query_flag(database, ROWS_BEFORE, 4, parameters, ret_found, detail);
}

/* $1: the first message. */
#define FEEDBACK_BEFORE                                                                                      \
	"SELECT EXISTS (SELECT FROM calibration_feedback WHERE said_at < to_timestamp($1::bigint / 1000.0))"

/* Verdicts that nothing that is read can have made. */
static err_t find_verdicts(struct database *database, const struct rebuild_log *feedback, const char *stored,
			   int64_t since_ms, int64_t horizon_ms, bool *ret_found, struct err_detail *detail)
{
	struct database_number_text begin;
	const char *const parameters[] = { database_number_text(&begin, feedback->begin_ms) };
	err_t err = query_flag(database, FEEDBACK_BEFORE, 1, parameters, ret_found, detail);
	return err || *ret_found ? err
				 : find_hours(database, stored, since_ms, feedback->begin_ms - horizon_ms,
					      "FEEDBACK", ret_found, detail);
}

err_t rebuild_guard_former(struct database *database, const struct rebuild_log *scored,
			   const struct rebuild_log *feedback, const char *stored, int64_t since_ms,
			   int64_t horizon_ms, struct rebuild_former *ret_former, struct err_detail *detail)
{
	struct rebuild_former former = { 0 };
	err_t err = find_hours(database, stored, since_ms, scored->begin_ms, NULL, &former.buckets, detail);
	if (!err)
		err = find_rows(database, scored, since_ms, &former.rows, detail);
	if (!err && horizon_ms)
		err = find_verdicts(database, feedback, stored, since_ms, horizon_ms, &former.verdicts,
				    detail);
	if (!err)
		*ret_former = former;
	return err;
}
