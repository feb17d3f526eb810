#include "calibration/store/retention.h"

#include "calibration/store/rules.h"

#include "calibration/store/days.h"
#include "calibration/store/examples.h"
#include "common/clock.h"
#include "database/values.h"

/* Rows of one statement: a fraction of a second, also on a slow disk. */
#define MAX_ROWS 5000

#define DELETE_BUCKETS                                                                                       \
	"DELETE FROM calibration_buckets WHERE ctid IN (SELECT ctid FROM calibration_buckets "               \
	"WHERE bucket_start < to_timestamp($1::bigint / 1000.0) LIMIT $2::bigint)"

/* Of one width, which is of one partition: so rows can be told by where they are. */
#define DELETE_ROLLUPS(width_s)                                                                              \
	"DELETE FROM calibration_rollups WHERE width_s = " width_s " AND ctid = ANY (ARRAY("                 \
	"SELECT ctid FROM calibration_rollups WHERE width_s = " width_s                                      \
	" AND bucket_start < to_timestamp($1::bigint / 1000.0) LIMIT $2::bigint))"

#define DELETE_EPISODES                                                                                      \
	"DELETE FROM calibration_drift_episodes WHERE ctid IN (SELECT ctid FROM calibration_drift_episodes " \
	"WHERE coalesce(closed_at, judged_at) < to_timestamp($1::bigint / 1000.0) LIMIT $2::bigint)"

/* A segment that was not seen for as long has no buckets left, but for such as are dated ahead. */
#define DELETE_SEGMENTS                                                                                      \
	"DELETE FROM calibration_segments s WHERE s.last_seen < to_timestamp($1::bigint / 1000.0) "          \
	"AND NOT EXISTS (SELECT FROM calibration_sums b WHERE b.width_s = 86400 "                            \
	"AND (b.application, b.model, b.prompt_version) = (s.application, s.model, s.prompt_version)) "      \
	"AND $2::bigint > 0"

#define DELETE_SEQUENCES                                                                                     \
	"DELETE FROM calibration_sequences WHERE ctid IN (SELECT ctid FROM calibration_sequences "           \
	"WHERE fed_at < to_timestamp($1::bigint / 1000.0) LIMIT $2::bigint)"

#define DELETE_CLAIMS                                                                                        \
	"DELETE FROM calibration_claims WHERE ctid IN (SELECT ctid FROM calibration_claims "                 \
	"WHERE scored_at < to_timestamp($1::bigint / 1000.0) LIMIT $2::bigint)"

/* Of a model that is gone; the place of none, 0, stays. */
#define DELETE_LOOKS                                                                                         \
	"DELETE FROM calibration_model_looks WHERE ctid IN (SELECT ctid FROM calibration_model_looks l "     \
	"WHERE version <> 0 AND looked_at < to_timestamp($1::bigint / 1000.0) AND NOT EXISTS "               \
	"(SELECT FROM calibration_models m WHERE m.version = l.version) LIMIT $2::bigint)"

/* By the day, which the index begins with: the time given is midnight. */
#define DELETE_EXAMPLES                                                                                      \
	"DELETE FROM calibration_examples WHERE ctid IN (SELECT ctid FROM calibration_examples "             \
	"WHERE day < (to_timestamp($1::bigint / 1000.0) AT TIME ZONE 'UTC')::date LIMIT $2::bigint)"

/* A record may name a model until another one takes its place. Oldest first, and only such as have no older
 * one left: a row that goes would put the one that it replaced in use. */
#define DELETE_MODELS                                                                                        \
	"WITH numbered AS (SELECT version, kind, rules, replaced_by, "                                       \
	"row_number() OVER (PARTITION BY kind, rules ORDER BY version DESC) AS place "                       \
	"FROM (SELECT version, kind, replaced_by, coalesce(rules, " RULES_FORMER ", 0) AS rules "            \
	"FROM calibration_models) AS m), "                                                                   \
	"kept AS (SELECT m.kind, m.rules, min(m.version) AS first FROM numbered m "                          \
	"LEFT JOIN calibration_models s "                                                                    \
	"ON s.version = m.replaced_by WHERE s.version IS NULL OR m.place <= 20 "                             \
	"OR s.used_from >= to_timestamp($1::bigint / 1000.0) GROUP BY 1, 2) "                                \
	"DELETE FROM calibration_models WHERE version IN (SELECT m.version FROM numbered m JOIN kept "       \
	"USING (kind, rules) WHERE m.version < kept.first ORDER BY 1 LIMIT $2::bigint)"
_Static_assert(RETENTION_MODELS == 20, "DELETE_MODELS has it as a literal");

err_t retention_apply(struct database *database, int64_t days, int64_t now_ms, bool *ret_more,
		      struct err_detail *detail)
{
	static const char *const statements[] = { DELETE_BUCKETS,	   DELETE_ROLLUPS("3600"),
						  DELETE_ROLLUPS("86400"), DELETE_EPISODES,
						  DELETE_SEGMENTS,	   DELETE_SEQUENCES,
						  DELETE_EXAMPLES,	   DELETE_CLAIMS,
						  DELETE_MODELS,	   DELETE_LOOKS };
	struct database_number_text oldest, most;
	int64_t oldest_ms = (now_ms ? now_ms : clock_wall_ms()) - days * DAY_MS;
	const char *const parameters[] = { database_number_text(&oldest, oldest_ms / DAY_MS * DAY_MS),
					   database_number_text(&most, MAX_ROWS) };
	bool more = false;
	for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
		_cleanup_(database_result_cleanup) PGresult *result = NULL;
		err_t err = database_query(database, statements[i], 2, parameters, &result, detail);
		if (err)
			return err;
		more |= strtol(PQcmdTuples(result), NULL, 10) == MAX_ROWS;
	}
	bool thinned = false;
	err_t err = examples_thin(database, now_ms ? now_ms : clock_wall_ms(), &thinned, detail);
	if (!err)
		*ret_more = more || thinned;
	return err;
}

err_t retention_forget(struct database *database, int64_t days, int64_t horizon_ms, int64_t now_ms,
		       bool *ret_more, struct err_detail *detail)
{
	int64_t kept_ms = horizon_ms ? horizon_ms + DAY_MS : days * DAY_MS;
	return days_drop(database, (now_ms ? now_ms : clock_wall_ms()) - kept_ms, ret_more, detail);
}
