#include "calibration/feedback/feedback.h"

#include "database/array.h"
#include "database/values.h"

/* Feedback tables of this size take no more for events that are not known, and at twice the size no more at
 * all: tens of millions of messages within the horizon. */
#define MAX_FEEDBACK_BYTES "1073741824"

err_t calibration_feedback_read(const struct codec *codec, str_t header, const void *data, size_t len,
				struct calibration_feedback *ret_feedback, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct query_feedback *feedback;
	err_t err = codec_decode_feedback_headed(codec, header, data, len, arena, &feedback, detail);
	if (!err && feedback->event_id.len == 0)
		err = err_fail(detail, ERR_AVRO_VALUE, "it names no event");
	if (err)
		return err;
	ret_feedback->event = calibration_event_key(feedback->event_id);
	ret_feedback->correct = feedback->correct;
	return ERR_OK;
}

/* The planner knows nothing of a day that has just begun, and would read whole tables to find a thousand rows
 * by their keys. */
#define BY_KEYS                                                                                              \
	"SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off"

err_t feedback_lock(struct database *database, bool feedback, struct err_detail *detail)
{
	return database_script(database,
			       feedback ? "SELECT pg_advisory_xact_lock(7236837204); " BY_KEYS
					: "SELECT pg_advisory_xact_lock_shared(7236837204); " BY_KEYS,
			       detail);
}

/* ---- statements ---- */

#define TIME_OF(ms) "(timestamptz 'epoch' + " ms " * interval '1 millisecond')"
#define SPAN_OF(ms) "(" ms "::bigint * interval '1 millisecond')"

/* The verdict on the event `e`; the first %s is the table of feedback. */
#define VERDICT(horizon)                                                                                     \
	"(SELECT f.correct FROM %s f WHERE f.event_key = e.event_key "                                       \
	"AND f.said_at BETWEEN e.scored_at - " SPAN_OF(horizon) " AND e.scored_at + " SPAN_OF(               \
		horizon) " ORDER BY f.said_at DESC, f.partition DESC, f.record_offset DESC LIMIT 1)"

/* First verdicts of `changed`: "time bin verdict," for each. */
#define FIRST                                                                                                \
	"coalesce(string_agg(concat(floor(extract(epoch FROM scored_at) * 1000)::bigint, ' ', "              \
	"least(floor(confidence * 10), 9), ' ', new::int, ','), '' ORDER BY scored_at, event_key) "          \
	"FILTER (WHERE old IS NULL), '') "

/* Rows of `changed` (event_key, scored_at, application, model, prompt_version, level, confidence, old, new)
 * into the tables of buckets and rollups, %s; `bucket_s` names the parameter with the fine width. Tells for
 * each segment how many events have a first and how many another verdict, and how many events they are by
 * their ids. */
#define COUNT_CHANGED(bucket_s)                                                                              \
	"cells AS (SELECT floor(extract(epoch FROM c.scored_at))::bigint / " bucket_s "::bigint * " bucket_s \
	" AS start_s, c.application, c.model, c.prompt_version, 'FEEDBACK' AS label_source, c.level, "       \
	"least(floor(c.confidence * 10), 9)::smallint AS bin, "                                              \
	"count(*) FILTER (WHERE c.old IS NULL) AS cases, count(*) FILTER (WHERE c.old IS NULL) AS weight, "  \
	"count(*) FILTER (WHERE c.old IS NULL) AS weight_squared, "                                          \
	"sum(c.new::int - coalesce(c.old::int, 0)) AS weight_correct, "                                      \
	"coalesce(sum(c.confidence) FILTER (WHERE c.old IS NULL), 0) AS weight_confidence, "                 \
	"sum((c.confidence - c.new::int) * (c.confidence - c.new::int) - CASE WHEN c.old IS NULL THEN 0 "    \
	"ELSE (c.confidence - c.old::int) * (c.confidence - c.old::int) END) AS weight_squared_error "       \
	"FROM changed c GROUP BY 1, 2, 3, 4, 5, 6, 7), " CASES_ADD_CELLS(                                    \
		bucket_s) "SELECT application, model, prompt_version, count(*) FILTER (WHERE old IS NULL), " \
			  "count(*) FILTER (WHERE old IS NOT NULL), count(DISTINCT event_key), " FIRST       \
			  "FROM changed GROUP BY 1, 2, 3"

/* $1 to $9 and $13 to $15 as they are unnested, $10 horizon, $11 when what is kept begins, $12 width. */
#define ADD_EVENTS                                                                                           \
	"WITH e AS (SELECT c.event_key, " TIME_OF(                                                           \
		"c.scored_at") " AS scored_at, c.partition, "                                                \
			       "c.record_offset, coalesce(s.application, '" CALIBRATION_OTHER                \
			       "') AS application, "                                                         \
			       "coalesce(s.model, '') AS model, coalesce(s.prompt_version, '') AS "          \
			       "prompt_version, c.level, "                                                   \
			       "c.confidence, c.features, c.probability, c.rules FROM unnest($1::bigint[], " \
			       "$2::text[], $3::text[], "                                                    \
			       "$4::text[], "                                                                \
			       "$5::text[], "                                                                \
			       "$6::numeric[], $7::uuid[], $8::integer[], $9::bigint[], $13::jsonb[], "      \
			       "$14::double precision[], $15::bigint[]) AS c "                               \
			       "(scored_at, "                                                                \
			       "application, model, "                                                        \
			       "prompt_version, level, confidence, event_key, partition, record_offset, "    \
			       "features, probability, rules) "                                              \
			       "LEFT JOIN %s s USING (application, model, prompt_version) WHERE "            \
			       "c.event_key IS NOT NULL), "                                                  \
			       "matched AS MATERIALIZED (SELECT e.*, " VERDICT(                              \
				       "$10") " AS correct FROM e), "                                        \
					      "kept AS (INSERT INTO %s (event_key, scored_at, partition, "   \
					      "record_offset, application, model, "                          \
					      "prompt_version, level, confidence, correct, features, "       \
					      "probability, rules) "                                         \
					      "SELECT "                                                      \
					      "event_key, scored_at, partition, "                            \
					      "record_offset, application, model, prompt_version, level, "   \
					      "confidence, correct, features, probability, rules FROM "      \
					      "matched "                                                     \
					      "WHERE scored_at >= " TIME_OF(                                 \
						      "$11::bigint") " ON CONFLICT DO NOTHING), "            \
								     "changed AS (SELECT event_key, "        \
								     "scored_at, application, model, "       \
								     "prompt_version, level, confidence, "   \
								     "NULL::boolean AS old, correct AS new " \
								     "FROM matched WHERE correct IS NOT "    \
								     "NULL), " COUNT_CHANGED("$12")

/* $1 to $5 as they are unnested. */
#define KEEP_FEEDBACK                                                                                        \
	"INSERT INTO %s (event_key, said_at, partition, record_offset, correct) "                            \
	"SELECT m.event_key, " TIME_OF(                                                                      \
		"m.said_at") ", m.partition, m.record_offset, m.correct "                                    \
			     "FROM unnest($1::uuid[], $2::bigint[], $3::integer[], $4::bigint[], "           \
			     "$5::boolean[]) "                                                               \
			     "AS m (event_key, said_at, partition, record_offset, correct), "                \
			     "(SELECT coalesce(sum(pg_relation_size(inhrelid)), 0) AS size FROM "            \
			     "pg_inherits "                                                                  \
			     "WHERE inhparent = to_regclass('%s')) AS kept WHERE kept.size "                 \
			     "< " MAX_FEEDBACK_BYTES " OR (kept.size < 2 * " MAX_FEEDBACK_BYTES "::bigint "  \
			     "AND EXISTS (SELECT FROM %s e WHERE e.event_key = m.event_key)) ON CONFLICT "   \
			     "DO NOTHING"

/* $1 ids, $2 and $3 first and last time of events that they can be about, $4 horizon, $5 width. */
#define COUNT_FEEDBACK                                                                                       \
	"WITH judged AS MATERIALIZED (SELECT e.event_key, e.scored_at, e.partition, e.record_offset, "       \
	"e.correct AS old, " VERDICT(                                                                        \
		"$4") " AS new FROM %s e WHERE e.event_key = ANY ($1::uuid[]) "                              \
		      "AND e.scored_at BETWEEN " TIME_OF("$2::bigint") " AND " TIME_OF(                      \
			      "$3::bigint") "), "                                                            \
					    "changed AS (UPDATE %s e SET correct = j.new FROM judged j "     \
					    "WHERE e.event_key = j.event_key "                               \
					    "AND e.scored_at = j.scored_at AND e.partition = j.partition "   \
					    "AND e.record_offset = j.record_offset AND j.new IS NOT NULL "   \
					    "AND j.new IS DISTINCT FROM j.old "                              \
					    "RETURNING e.event_key, e.scored_at, e.application, e.model, "   \
					    "e.prompt_version, e.level, "                                    \
					    "e.confidence, j.old, j.new), " COUNT_CHANGED("$5")

/* Of the messages that were kept: about no known event, and within the horizon of one. $1 to $4 as they are
 * unnested, $5 horizon. */
#define CLASSIFY                                                                                             \
	"SELECT count(*) FILTER (WHERE NOT k.known), count(*) FILTER (WHERE k.in_time) "                     \
	"FROM unnest($1::uuid[], $2::bigint[], $3::integer[], $4::bigint[]) "                                \
	"AS m (event_key, said_at, partition, record_offset) JOIN %s f ON f.event_key = m.event_key "        \
	"AND f.said_at = " TIME_OF(                                                                          \
		"m.said_at") " AND f.partition = m.partition "                                               \
			     "AND f.record_offset = m.record_offset CROSS JOIN LATERAL "                     \
			     "(SELECT count(*) > 0 AS known, coalesce(bool_or(f.said_at BETWEEN "            \
			     "e.scored_at - " SPAN_OF("$5") " AND e.scored_at + " SPAN_OF(                   \
				     "$5") "), false) AS in_time "                                           \
					   "FROM %s e WHERE e.event_key = m.event_key) AS k"

/* ---- running them ---- */

/* What FIRST says of a segment. */
static void add_verdicts(struct sequence_cases *verdicts, const PGresult *result, int row)
{
	struct sequence_case item = { .placed = true, .label_source = LABEL_FEEDBACK };
	item.segment = (struct calibration_segment){ database_text_at(result, row, 0, verdicts->arena),
						     database_text_at(result, row, 1, verdicts->arena),
						     database_text_at(result, row, 2, verdicts->arena) };
	for (char *text = PQgetvalue(result, row, 6); *text; text++) {
		item.scored_at_ms = strtoll(text, &text, 10);
		item.bin = (int)strtol(text, &text, 10);
		item.correct = strtol(text, &text, 10) == 1;
		item.offset++; /* those of one time stay in their order */
		sequences_add_case(verdicts, &item);
	}
}

/* Reads what COUNT_CHANGED tells; returns how many events of the batch's ids have changed. */
static int64_t add_changes(const PGresult *result, struct segments *touched, struct feedback_outcome *counts)
{
	int64_t events = 0;
	for (int row = 0; row < PQntuples(result); row++) {
		counts->counted += database_integer_at(result, row, 3);
		counts->corrected += database_integer_at(result, row, 4);
		events += database_integer_at(result, row, 5);
		if (touched)
			segments_add_row(touched, result, row);
		if (counts->verdicts)
			add_verdicts(counts->verdicts, result, row);
	}
	return events;
}

err_t feedback_add_events(struct database *database, const struct feedback_tables *tables,
			  const struct case_columns *columns, int64_t bucket_s, int64_t horizon_ms,
			  int64_t keep_since_ms, struct segments *touched, struct feedback_outcome *counts,
			  struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct database_number_text horizon, since, width;
	char sql[8192];
	snprintf(sql, sizeof sql, ADD_EVENTS, tables->cases.segments, tables->feedback, tables->events,
		 tables->cases.buckets, tables->cases.rollups);
	const char *const parameters[] = {
		columns->scored_at.data,
		columns->application.data,
		columns->model.data,
		columns->prompt_version.data,
		columns->level.data,
		columns->confidence.data,
		columns->event.data,
		columns->partition.data,
		columns->offset.data,
		database_number_text(&horizon, horizon_ms),
		database_number_text(&since, keep_since_ms),
		database_number_text(&width, bucket_s),
		columns->features.data,
		columns->probability.data,
		columns->rules.data,
	};
	err_t err = database_query(database, sql, 15, parameters, &result, detail);
	if (!err)
		add_changes(result, touched, counts);
	return err;
}

/* Messages as arrays of PostgreSQL. */
struct message_columns {
	struct buf event, said_at, partition, offset, correct;
	int64_t first_ms, last_ms;
};

static void free_messages(struct message_columns *columns)
{
	buf_free(&columns->event);
	buf_free(&columns->said_at);
	buf_free(&columns->partition);
	buf_free(&columns->offset);
	buf_free(&columns->correct);
}

static void make_messages(struct message_columns *columns, const struct calibration_feedback *feedback,
			  size_t count)
{
	struct database_number_text number;
	columns->first_ms = columns->last_ms = feedback[0].said_at_ms;
	for (size_t i = 0; i < count; i++) {
		const struct calibration_feedback *item = &feedback[i];
		array_append(&columns->event, str_from(item->event.text));
		array_append(&columns->said_at, str_from(database_number_text(&number, item->said_at_ms)));
		array_append(&columns->partition, str_from(database_number_text(&number, item->partition)));
		array_append(&columns->offset, str_from(database_number_text(&number, item->offset)));
		array_append(&columns->correct, item->correct ? STR("t") : STR("f"));
		if (item->said_at_ms < columns->first_ms)
			columns->first_ms = item->said_at_ms;
		if (item->said_at_ms > columns->last_ms)
			columns->last_ms = item->said_at_ms;
	}
	array_end(&columns->event);
	array_end(&columns->said_at);
	array_end(&columns->partition);
	array_end(&columns->offset);
	array_end(&columns->correct);
}

static err_t keep(struct database *database, const struct feedback_tables *tables,
		  const struct message_columns *columns, int64_t *ret_kept, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	char sql[1536];
	const char *const parameters[] = { columns->event.data, columns->said_at.data,
					   columns->partition.data, columns->offset.data,
					   columns->correct.data };
	snprintf(sql, sizeof sql, KEEP_FEEDBACK, tables->feedback, tables->feedback, tables->events);
	err_t err = database_query(database, sql, 5, parameters, &result, detail);
	if (!err)
		*ret_kept = strtoll(PQcmdTuples(result), NULL, 10);
	return err;
}

static err_t count_for_events(struct database *database, const struct feedback_tables *tables,
			      const struct message_columns *columns, int64_t bucket_s, int64_t horizon_ms,
			      int64_t since_ms, PGresult **ret_result, struct err_detail *detail)
{
	struct database_number_text first, last, horizon, width;
	char sql[8192];
	int64_t first_ms = columns->first_ms - horizon_ms;
	const char *const parameters[] = {
		columns->event.data, database_number_text(&first, first_ms < since_ms ? since_ms : first_ms),
		database_number_text(&last, columns->last_ms + horizon_ms),
		database_number_text(&horizon, horizon_ms), database_number_text(&width, bucket_s)
	};
	snprintf(sql, sizeof sql, COUNT_FEEDBACK, tables->feedback, tables->events, tables->events,
		 tables->cases.buckets, tables->cases.rollups);
	return database_query(database, sql, 5, parameters, ret_result, detail);
}

static err_t classify(struct database *database, const struct feedback_tables *tables,
		      const struct message_columns *columns, int64_t horizon_ms, int64_t *ret_unknown,
		      int64_t *ret_in_time, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct database_number_text horizon;
	char sql[1024];
	const char *const parameters[] = { columns->event.data, columns->said_at.data,
					   columns->partition.data, columns->offset.data,
					   database_number_text(&horizon, horizon_ms) };
	snprintf(sql, sizeof sql, CLASSIFY, tables->feedback, tables->events);
	err_t err = database_query(database, sql, 5, parameters, &result, detail);
	if (err)
		return err;
	*ret_unknown = database_integer_at(result, 0, 0);
	*ret_in_time = database_integer_at(result, 0, 1);
	return ERR_OK;
}

err_t feedback_add_feedback(struct database *database, const struct feedback_tables *tables,
			    const struct calibration_feedback *feedback, size_t count, int64_t bucket_s,
			    int64_t horizon_ms, int64_t since_ms, struct segments *touched,
			    struct feedback_outcome *counts, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	_cleanup_(free_messages) struct message_columns columns = { 0 };
	int64_t kept, unknown, in_time;
	make_messages(&columns, feedback, count);
	err_t err = keep(database, tables, &columns, &kept, detail);
	if (!err)
		err = count_for_events(database, tables, &columns, bucket_s, horizon_ms, since_ms, &result,
				       detail);
	if (!err)
		err = classify(database, tables, &columns, horizon_ms, &unknown, &in_time, detail);
	if (err)
		return err;
	int64_t changed = add_changes(result, touched, counts);
	counts->refused += (int64_t)count - kept;
	counts->unknown += unknown;
	counts->expired += kept > unknown + in_time ? kept - unknown - in_time : 0;
	counts->unchanged += in_time > changed ? in_time - changed : 0;
	return ERR_OK;
}
