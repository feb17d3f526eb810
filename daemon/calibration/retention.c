#include "calibration/retention.h"

#include "common/clock.h"

/* Rows of one statement: a fraction of a second, also on a slow disk. */
#define MOST_ROWS 5000

#define DAY_MS INT64_C(86400000)

#define DELETE_BUCKETS                                                                                       \
	"DELETE FROM calibration_buckets WHERE ctid IN (SELECT ctid FROM calibration_buckets "               \
	"WHERE bucket_start < to_timestamp($1::bigint / 1000.0) LIMIT $2::bigint)"

#define DELETE_EPISODES                                                                                      \
	"DELETE FROM calibration_drift_episodes WHERE ctid IN (SELECT ctid FROM calibration_drift_episodes " \
	"WHERE coalesce(closed_at, judged_at) < to_timestamp($1::bigint / 1000.0) LIMIT $2::bigint)"

err_t retention_apply(struct database *database, int64_t days, int64_t now_ms, bool *ret_more,
		      struct err_detail *detail)
{
	static const char *const statements[] = { DELETE_BUCKETS, DELETE_EPISODES };
	char oldest[24], most[24];
	bool more = false;
	snprintf(oldest, sizeof oldest, "%lld",
		 (long long)((now_ms ? now_ms : clock_wall_ms()) - days * DAY_MS));
	snprintf(most, sizeof most, "%d", MOST_ROWS);
	for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
		_cleanup_(database_result_cleanup) PGresult *result = NULL;
		const char *const parameters[] = { oldest, most };
		err_t err = database_query(database, statements[i], 2, parameters, &result, detail);
		if (err)
			return err;
		more |= strtol(PQcmdTuples(result), NULL, 10) == MOST_ROWS;
	}
	*ret_more = more;
	return ERR_OK;
}
