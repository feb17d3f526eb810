#include "calibration/rebuild/rebuild_memory.h"

#include "calibration/store/cases.h"
#include "calibration/store/days.h"
#include "database/values.h"

enum { DAY_S = 86400 };

/* ---- statements ---- */

/* Of a day: $1 and $2 are its bounds in seconds. */
#define OF_DAY(time) time " >= to_timestamp($1::bigint) AND " time " < to_timestamp($2::bigint) "

#define STORED_EVENT   OF_DAY("e.scored_at")
#define COUNTED_EVENT  OF_DAY("r.scored_at")
#define STORED_MESSAGE OF_DAY("e.said_at")

/* Of records that the log has: $3 and $4 partitions and the first record of each, $5 since when. */
#define OF_LOG(time)                                                                                         \
	"USING unnest($3::integer[], $4::bigint[]) AS b (partition, first) "                                 \
	"WHERE e.partition = b.partition AND e.record_offset >= b.first "                                    \
	"AND " time " >= to_timestamp($5::bigint / 1000.0) "

#define SAME_EVENT                                                                                           \
	"(e.event_key, e.scored_at, e.partition, e.record_offset) = "                                        \
	"(r.event_key, r.scored_at, r.partition, r.record_offset) "

#define SAME_MESSAGE                                                                                         \
	"(e.event_key, e.said_at, e.partition, e.record_offset, e.correct) = "                               \
	"(r.event_key, r.said_at, r.partition, r.record_offset, r.correct)"

/* $3: until when verdicts stay. */
#define UNTIL_VERDICTS "AND r.scored_at < to_timestamp($3::bigint / 1000.0) "

/* With the segment whose buckets have them. */
#define KEEP_VERDICTS                                                                                        \
	"UPDATE rebuild_events r SET correct = e.correct, application = e.application, model = e.model, "    \
	"prompt_version = e.prompt_version FROM calibration_events e "                                       \
	"WHERE " STORED_EVENT "AND " COUNTED_EVENT "AND " SAME_EVENT UNTIL_VERDICTS

#define FORGET_VERDICTS                                                                                      \
	"UPDATE rebuild_events r SET correct = NULL WHERE " COUNTED_EVENT UNTIL_VERDICTS                     \
	"AND r.correct IS NOT NULL "                                                                         \
	"AND NOT EXISTS (SELECT FROM calibration_events e WHERE " STORED_EVENT "AND " SAME_EVENT ")"

#define REMOVE_EVENTS                                                                                        \
	"DELETE FROM calibration_events e " OF_LOG(                                                          \
		"e.scored_at") "AND " STORED_EVENT                                                           \
			       "AND NOT EXISTS (SELECT FROM rebuild_events r WHERE " COUNTED_EVENT           \
			       "AND " SAME_EVENT "AND ROW(r.*) IS NOT DISTINCT FROM ROW(e.*))"

#define ADD_EVENTS                                                                                           \
	"INSERT INTO calibration_events SELECT * FROM rebuild_events r WHERE " COUNTED_EVENT                 \
	"ON CONFLICT DO NOTHING"

#define REMOVE_MESSAGES                                                                                      \
	"DELETE FROM calibration_feedback e " OF_LOG(                                                        \
		"e.said_at") "AND " STORED_MESSAGE                                                           \
			     "AND NOT EXISTS (SELECT FROM rebuild_feedback r WHERE " OF_DAY(                 \
				     "r.said_at") "AND " SAME_MESSAGE ")"

#define ADD_MESSAGES                                                                                         \
	"INSERT INTO calibration_feedback SELECT * FROM rebuild_feedback r WHERE " OF_DAY(                   \
		"r.said_at") "ON CONFLICT DO NOTHING"

/* That partitions are needed for, from $1 to $2 in ms. */
#define DAYS_OF(table, time)                                                                                 \
	"SELECT floor(extract(epoch FROM " time ") / 86400)::bigint AS day FROM " table " WHERE " time       \
	" >= to_timestamp($1::bigint / 1000.0) AND " time " < to_timestamp($2::bigint / 1000.0) "

#define COUNTED_DAYS DAYS_OF("rebuild_events", "scored_at") "UNION " DAYS_OF("rebuild_feedback", "said_at")

/* ---- running them ---- */

/* A statement over the rows of a day; adds up what it touched. */
static err_t touch(struct database *database, const char *sql, int count, const char *const *parameters,
		   int64_t *touched, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	err_t err = database_query(database, sql, count, parameters, &result, detail);
	if (!err)
		*touched += strtoll(PQcmdTuples(result), NULL, 10);
	return err;
}

static err_t keep_verdicts(struct database *database, const char *from, const char *until,
			   const struct rebuild_memory_range *range, struct err_detail *detail)
{
	struct database_number_text verdicts;
	int64_t ignored = 0;
	const char *const parameters[] = { from, until,
					   database_number_text(&verdicts, range->verdicts_since_ms) };
	err_t err = touch(database, KEEP_VERDICTS, 3, parameters, &ignored, detail);
	return err ? err : touch(database, FORGET_VERDICTS, 3, parameters, &ignored, detail);
}

static err_t replace_day(struct database *database, int64_t day, const struct rebuild_memory_range *range,
			 const struct rebuild_places *scored, const struct rebuild_places *feedback,
			 struct rebuild_memory_replaced *replaced, struct err_detail *detail)
{
	struct database_number_text from, until, former, feedback_former;
	const char *const events[] = { database_number_text(&from, day * DAY_S),
				       database_number_text(&until, (day + 1) * DAY_S),
				       scored->partitions.data, scored->first.data,
				       database_number_text(&former, range->former_ms) };
	const char *const messages[] = { events[0], events[1], feedback->partitions.data,
					 feedback->first.data,
					 database_number_text(&feedback_former, range->feedback_former_ms) };
	err_t err = keep_verdicts(database, events[0], events[1], range, detail);
	if (!err)
		err = touch(database, REMOVE_EVENTS, 5, events, &replaced->events_removed, detail);
	if (!err)
		err = touch(database, ADD_EVENTS, 2, events, &replaced->events_added, detail);
	if (!err)
		err = touch(database, REMOVE_MESSAGES, 5, messages, &replaced->feedback_removed, detail);
	if (!err)
		err = touch(database, ADD_MESSAGES, 2, messages, &replaced->feedback_added, detail);
	return err;
}

err_t rebuild_memory_replace(struct database *database, const struct rebuild_memory_range *range,
			     struct rebuild_memory_replaced *ret_replaced, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	_cleanup_(days_free) struct days days = { 0 };
	_cleanup_(rebuild_places_free) struct rebuild_places scored = REBUILD_PLACES_INIT;
	_cleanup_(rebuild_places_free) struct rebuild_places feedback = REBUILD_PLACES_INIT;
	struct database_number_text since, until;
	struct rebuild_memory_replaced replaced = { 0 };
	const char *const parameters[] = { database_number_text(&since, range->since_ms),
					   database_number_text(&until, range->until_ms) };
	rebuild_log_places(range->scored, REBUILD_ALL, &scored);
	rebuild_log_places(range->feedback, REBUILD_ALL, &feedback);
	err_t err = database_script(database, "ANALYZE rebuild_events; ANALYZE rebuild_feedback", detail);
	if (!err)
		err = database_query(database, COUNTED_DAYS, 2, parameters, &result, detail);
	for (int row = 0; !err && row < PQntuples(result); row++)
		err = days_need(&days, database, database_integer_at(result, row, 0) * DAY_MS, detail);
	for (int64_t day = range->since_ms / DAY_MS; !err && day * DAY_MS < range->until_ms; day++)
		err = replace_day(database, day, range, &scored, &feedback, &replaced, detail);
	if (!err)
		*ret_replaced = replaced;
	return err;
}
