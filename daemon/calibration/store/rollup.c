#include "calibration/store/rollup.h"

#include "calibration/store/cases.h"
#include "database/values.h"

/* Rows of one statement: a fraction of a second. */
#define MAX_ROWS 5000

/* A row that another one takes is not deleted twice: who comes second waits for the first, and finds it gone.
 */
#define TAKE_OVER                                                                                            \
	"WITH cells AS (DELETE FROM calibration_buckets WHERE width_s = 3600 AND ctid = ANY (ARRAY("         \
	"SELECT ctid FROM calibration_buckets WHERE width_s = 3600 ORDER BY bucket_start "                   \
	"LIMIT $1::bigint)) RETURNING *, extract(epoch FROM bucket_start)::bigint AS start_s), "             \
	"rolled_up AS (" CASES_ROLL_UP ") SELECT count(*) FROM cells"

err_t rollup_take_over(struct database *database, bool *ret_more, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct database_number_text most;
	char sql[2048];
	snprintf(sql, sizeof sql, TAKE_OVER, "calibration_rollups");
	const char *const parameters[] = { database_number_text(&most, MAX_ROWS) };
	err_t err = database_query(database, sql, 1, parameters, &result, detail);
	if (!err)
		*ret_more = database_integer_at(result, 0, 0) == MAX_ROWS;
	return err;
}
