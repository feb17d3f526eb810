#include "calibration/rebuild/rebuild_tables.h"

#include "database/values.h"

enum { SLICE_S = 604800, MAX_DIFFERENCES = 1000, MAX_PARAMETERS = 8 };

const struct feedback_tables rebuild_log_tables = {
	{ "rebuild_buckets", "rebuild_buckets", "rebuild_segments" },
	"rebuild_events",
	"rebuild_feedback",
};

#define KEYS "width_s, bucket_start, application, model, prompt_version, label_source, level, bin"

#define SUMS "cases, weight, weight_squared, weight_correct, weight_confidence, weight_squared_error"

#define MAKE_TABLES                                                                                          \
	"DROP TABLE IF EXISTS rebuild_buckets, rebuild_segments, rebuild_stored, rebuild_differences, "      \
	"rebuild_events, rebuild_feedback, rebuild_stored_events, rebuild_stored_feedback, "                 \
	"rebuild_examples, rebuild_stored_examples, rebuild_claims, rebuild_stored_claims, rebuild_rules; "  \
	"CREATE TEMP TABLE rebuild_rules (LIKE calibration_rules INCLUDING ALL); "                           \
	"CREATE TEMP TABLE rebuild_claims (LIKE calibration_claims INCLUDING ALL); "                         \
	"CREATE TEMP TABLE rebuild_examples (LIKE calibration_examples INCLUDING ALL); "                     \
	"CREATE TEMP TABLE rebuild_buckets (LIKE calibration_rollups INCLUDING ALL); "                       \
	"CREATE TEMP TABLE rebuild_segments (LIKE calibration_segments INCLUDING ALL); "                     \
	"CREATE TEMP TABLE rebuild_events (LIKE calibration_events INCLUDING ALL); "                         \
	"CREATE TEMP TABLE rebuild_feedback (LIKE calibration_feedback INCLUDING ALL); "                     \
	"CREATE INDEX ON rebuild_events (scored_at); CREATE INDEX ON rebuild_feedback (said_at); "           \
	"CREATE TEMP TABLE rebuild_stored (LIKE calibration_buckets); "                                      \
	"CREATE INDEX ON rebuild_stored (width_s, bucket_start); "                                           \
	"CREATE TEMP TABLE rebuild_differences (LIKE calibration_buckets, counted_cases bigint, "            \
	"counted_weight numeric, counted_weight_squared numeric, counted_weight_correct numeric, "           \
	"counted_weight_confidence numeric, counted_weight_squared_error numeric); "                         \
	"INSERT INTO rebuild_segments SELECT * FROM calibration_segments"

err_t rebuild_tables_make(struct database *database, struct err_detail *detail)
{
	return database_script(database, MAKE_TABLES, detail);
}

/* ---- slices ---- */

/* Rows of the statement are the slices that there are: width and number of the slice. */
#define SLICES_OF(table)                                                                                     \
	"SELECT width_s, floor(extract(epoch FROM bucket_start) / 604800)::bigint FROM " table               \
	" WHERE bucket_start >= to_timestamp($1::bigint / 1000.0) "

/* The same of one width, whatever the range. */
#define ALL_SLICES_OF(table, width_s)                                                                        \
	"SELECT width_s, floor(extract(epoch FROM bucket_start) / 604800)::bigint FROM " table               \
	" WHERE width_s = " width_s " AND $1::bigint IS NOT NULL "

_Static_assert(SLICE_S == 604800, "SLICES_OF has it as a literal");

/* Does `sql` for each slice, adding up the rows that it touched or the numbers that it says. Its parameters:
 * $1 width, $2 and $3 bounds of the slice in seconds, $4 the range's begin in ms and whatever follows. */
static err_t each_slice(struct database *database, const char *slices, const char *sql,
			const char *const *parameters, int parameters_count, int64_t *ret_touched,
			struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *found = NULL;
	int64_t touched = 0;
	err_t err = database_query(database, slices, 1, parameters, &found, detail);
	for (int row = 0; !err && row < PQntuples(found); row++) {
		_cleanup_(database_result_cleanup) PGresult *result = NULL;
		struct database_number_text from, until;
		const char *all[MAX_PARAMETERS] = {
			PQgetvalue(found, row, 0),
			database_number_text(&from, database_integer_at(found, row, 1) * SLICE_S),
			database_number_text(&until, (database_integer_at(found, row, 1) + 1) * SLICE_S),
		};
		for (int i = 0; i < parameters_count; i++)
			all[3 + i] = parameters[i];
		err = database_query(database, sql, 3 + parameters_count, all, &result, detail);
		if (!err)
			touched += PQnfields(result) ? database_integer_at(result, 0, 0)
						     : strtoll(PQcmdTuples(result), NULL, 10);
	}
	if (!err)
		*ret_touched = touched;
	return err;
}

/* The rows of a slice; and those from the range's begin on. */
#define IN_SLICE                                                                                             \
	"width_s = $1::integer AND bucket_start >= to_timestamp($2::bigint) "                                \
	"AND bucket_start < to_timestamp($3::bigint) "
#define SINCE "AND bucket_start >= to_timestamp($4::bigint / 1000.0) "

#define COPY_SLICE                                                                                           \
	"INSERT INTO rebuild_stored (" KEYS ", " SUMS ") SELECT " KEYS ", " CASES_SUM                        \
	" FROM calibration_sums WHERE " IN_SLICE SINCE "GROUP BY " KEYS

err_t rebuild_tables_copy(struct database *database, int64_t since_ms, struct err_detail *detail)
{
	int64_t copied;
	struct database_number_text since;
	const char *const parameters[] = { database_number_text(&since, since_ms) };
	return each_slice(database, SLICES_OF("calibration_sums") "GROUP BY 1, 2", COPY_SLICE, parameters, 1,
			  &copied, detail);
}

static err_t query_integer(struct database *database, const char *sql, const char *parameter,
			   int64_t *ret_value, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	const char *const parameters[] = { parameter };
	err_t err = database_query(database, sql, parameter ? 1 : 0, parameters, &result, detail);
	if (!err)
		*ret_value = database_integer_at(result, 0, 0);
	return err;
}

err_t rebuild_tables_other_width(struct database *database, int64_t bucket_s, int64_t *ret_until_ms,
				 struct err_detail *detail)
{
	struct database_number_text width;
	return query_integer(
		database,
		"SELECT coalesce(max(extract(epoch FROM bucket_start)::bigint + width_s) * 1000, 0) "
		"FROM rebuild_stored WHERE width_s < 3600 AND width_s <> $1::integer",
		database_number_text(&width, bucket_s), ret_until_ms, detail);
}

/* ---- the range ---- */

/* Fine buckets and hours that can be counted again. $4 to $7: begin, fine width, its begin, begin of
 * feedback;
 * '' is never. */
#define IN_RANGE                                                                                             \
	IN_SLICE SINCE                                                                                       \
		"AND (width_s = 3600 OR (width_s = $5::integer "                                             \
		"AND bucket_start >= to_timestamp($6::bigint / 1000.0))) AND (label_source <> 'FEEDBACK' "   \
		"OR bucket_start >= to_timestamp(nullif($7, '')::bigint / 1000.0)) "

struct range_texts {
	struct database_number_text since, width, fine_since, feedback_since;
	const char *parameters[4];
};

static const char *const *range_parameters(const struct rebuild_range *range, struct range_texts *texts)
{
	bool feedback = range->feedback_since_ms != INT64_MAX;
	texts->parameters[0] = database_number_text(&texts->since, range->since_ms);
	texts->parameters[1] = database_number_text(&texts->width, range->bucket_s);
	texts->parameters[2] = database_number_text(&texts->fine_since, range->fine_since_ms);
	texts->parameters[3] =
		feedback ? database_number_text(&texts->feedback_since, range->feedback_since_ms) : "";
	return texts->parameters;
}

/* ---- comparing ---- */

#define COMPARE_SLICE(condition)                                                                             \
	"WITH compared AS (SELECT " KEYS ", s.cases AS c, s.weight AS w, s.weight_squared AS ws, "           \
	"s.weight_correct AS wc, s.weight_confidence AS wf, s.weight_squared_error AS we, "                  \
	"r.cases AS rc, r.weight AS rw, r.weight_squared AS rws, r.weight_correct AS rwc, "                  \
	"r.weight_confidence AS rwf, r.weight_squared_error AS rwe "                                         \
	"FROM (SELECT * FROM rebuild_stored WHERE " condition ") s "                                         \
	"FULL JOIN (SELECT * FROM rebuild_buckets WHERE " condition ") r USING (" KEYS ")), "                \
	"kept AS (INSERT INTO rebuild_differences SELECT " KEYS ", coalesce(c, 0), coalesce(w, 0), "         \
	"coalesce(ws, 0), coalesce(wc, 0), coalesce(wf, 0), coalesce(we, 0), coalesce(rc, 0), "              \
	"coalesce(rw, 0), coalesce(rws, 0), coalesce(rwc, 0), coalesce(rwf, 0), coalesce(rwe, 0) "           \
	"FROM compared WHERE (c, w, ws, wc, wf, we) IS DISTINCT FROM (rc, rw, rws, rwc, rwf, rwe)) "         \
	"SELECT count(*) FROM compared"

/* Days are the sums of their hours, however far back the log reaches: of those that were counted again, and
 * of others as they are stored. */
#define ADD_DAYS_OF                                                                                          \
	"INSERT INTO rebuild_buckets (" KEYS ", " SUMS ") SELECT 86400, "                                    \
	"date_trunc('day', bucket_start, 'UTC'), application, model, prompt_version, label_source, level, "  \
	"bin, " CASES_SUM "FROM "

#define EXPECT_DAYS                                                                                          \
	ADD_DAYS_OF "(SELECT * FROM rebuild_buckets WHERE " IN_RANGE                                         \
		    "UNION ALL SELECT * FROM rebuild_stored WHERE " IN_SLICE "AND (" IN_RANGE                \
		    ") IS NOT TRUE) AS hours GROUP BY 2, 3, 4, 5, 6, 7, 8"

/*
 * A segment beyond the limit is counted as "other" until another one's place is free. So where all segments
 * together agree, cases may be missing in a segment that are too many in "other".
 */
#define FORGIVE_MOVED                                                                                        \
	"WITH moved AS (SELECT width_s, bucket_start, label_source, level, bin FROM rebuild_differences "    \
	"GROUP BY 1, 2, 3, 4, 5 HAVING sum(cases) = sum(counted_cases) "                                     \
	"AND sum(weight) = sum(counted_weight) AND sum(weight_squared) = sum(counted_weight_squared) "       \
	"AND sum(weight_correct) = sum(counted_weight_correct) "                                             \
	"AND sum(weight_confidence) = sum(counted_weight_confidence) "                                       \
	"AND sum(weight_squared_error) = sum(counted_weight_squared_error) AND bool_and(CASE WHEN "          \
	"(application, model, prompt_version) = ('" CALIBRATION_OTHER "', '', '') "                          \
	"THEN cases > counted_cases ELSE cases < counted_cases END)), "                                      \
	"forgiven AS (DELETE FROM rebuild_differences d USING moved m WHERE d.width_s = m.width_s "          \
	"AND d.bucket_start = m.bucket_start AND d.label_source = m.label_source AND d.level = m.level "     \
	"AND d.bin = m.bin RETURNING d.width_s, d.cases - d.counted_cases AS more) "                         \
	"SELECT coalesce(sum(more), 0) FROM forgiven WHERE more > 0 AND width_s = 3600"

#define SUMMARISE                                                                                            \
	"SELECT width_s, application, model, prompt_version, label_source, level, bin, count(*), "           \
	"extract(epoch FROM min(bucket_start))::bigint, extract(epoch FROM max(bucket_start))::bigint, "     \
	"sum(cases), trim_scale(sum(weight)), trim_scale(sum(weight_squared)), "                             \
	"trim_scale(sum(weight_correct)), trim_scale(sum(weight_confidence)), "                              \
	"trim_scale(sum(weight_squared_error)), sum(counted_cases), trim_scale(sum(counted_weight)), "       \
	"trim_scale(sum(counted_weight_squared)), trim_scale(sum(counted_weight_correct)), "                 \
	"trim_scale(sum(counted_weight_confidence)), trim_scale(sum(counted_weight_squared_error)) "         \
	"FROM rebuild_differences GROUP BY 1, 2, 3, 4, 5, 6, 7 ORDER BY 2, 3, 4, 5, 6, 7, 1 LIMIT "          \
	"$1::bigint"

static struct rebuild_figures figures_at(const PGresult *result, int row, int column, struct arena *arena)
{
	return (struct rebuild_figures){
		.cases = database_integer_at(result, row, column),
		.weight = database_text_at(result, row, column + 1, arena),
		.weight_squared = database_text_at(result, row, column + 2, arena),
		.weight_correct = database_text_at(result, row, column + 3, arena),
		.weight_confidence = database_text_at(result, row, column + 4, arena),
		.weight_squared_error = database_text_at(result, row, column + 5, arena),
	};
}

static struct rebuild_difference difference_at(const PGresult *result, int row, struct arena *arena)
{
	return (struct rebuild_difference){
		.width_s = database_integer_at(result, row, 0),
		.segment = { database_text_at(result, row, 1, arena), database_text_at(result, row, 2, arena),
			     database_text_at(result, row, 3, arena) },
		.label_source = calibration_source_of(PQgetvalue(result, row, 4)),
		.level = database_text_at(result, row, 5, arena),
		.bin = (int)database_integer_at(result, row, 6),
		.buckets = database_integer_at(result, row, 7),
		.first_ms = database_integer_at(result, row, 8) * 1000,
		.last_ms = database_integer_at(result, row, 9) * 1000,
		.stored = figures_at(result, row, 10, arena),
		.counted = figures_at(result, row, 16, arena),
	};
}

static err_t summarise(struct database *database, struct arena *arena,
		       struct rebuild_differences *differences, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct database_number_text most;
	const char *const parameters[] = { database_number_text(&most, MAX_DIFFERENCES) };
	err_t err = database_query(database, SUMMARISE, 1, parameters, &result, detail);
	if (err)
		return err;
	differences->count = (size_t)PQntuples(result);
	differences->items = ARENA_ARRAY(arena, struct rebuild_difference, differences->count);
	for (size_t i = 0; i < differences->count; i++)
		differences->items[i] = difference_at(result, (int)i, arena);
	return ERR_OK;
}

/* Makes other days of the hours that `slices` and `sql` are about. */
static err_t make_days(struct database *database, const char *slices, const char *sql,
		       const char *const *parameters, int parameters_count, struct err_detail *detail)
{
	int64_t days;
	err_t err = database_script(database, "DELETE FROM rebuild_buckets WHERE width_s = 86400", detail);
	return err ? err : each_slice(database, slices, sql, parameters, parameters_count, &days, detail);
}

static err_t compare_days(struct database *database, const char *const *parameters, int64_t *ret_compared,
			  struct err_detail *detail)
{
	err_t err = make_days(
		database,
		ALL_SLICES_OF("rebuild_stored", "3600") "UNION " ALL_SLICES_OF("rebuild_buckets", "3600"),
		EXPECT_DAYS, parameters, 4, detail);
	return err ? err
		   : each_slice(database,
				ALL_SLICES_OF("rebuild_stored",
					      "86400") "UNION " ALL_SLICES_OF("rebuild_buckets", "86400"),
				COMPARE_SLICE(IN_SLICE), parameters, 0, ret_compared, detail);
}

err_t rebuild_tables_compare(struct database *database, const struct rebuild_range *range,
			     struct arena *arena, struct rebuild_differences *ret_differences,
			     struct err_detail *detail)
{
	struct rebuild_differences differences = { 0 };
	struct range_texts texts;
	const char *const *parameters = range_parameters(range, &texts);
	err_t err = database_script(
		database, "TRUNCATE rebuild_differences; ANALYZE rebuild_stored; ANALYZE rebuild_buckets",
		detail);
	if (!err)
		err = each_slice(database, SLICES_OF("rebuild_stored") "UNION " SLICES_OF("rebuild_buckets"),
				 COMPARE_SLICE(IN_RANGE), parameters, 4, &differences.compared, detail);
	if (!err)
		err = compare_days(database, parameters, &differences.days, detail);
	if (!err)
		err = query_integer(database, FORGIVE_MOVED, NULL, &differences.moved, detail);
	if (!err)
		err = query_integer(database, "SELECT count(*) FROM rebuild_differences", NULL,
				    &differences.differing, detail);
	if (!err)
		err = summarise(database, arena, &differences, detail);
	if (!err)
		*ret_differences = differences;
	return err;
}

/* ---- comparing totals and memory ---- */

/* Of a slice, as each_slice() does it; the weeks of either table. */
#define TOTALS(since)                                                                                        \
	"SELECT bucket_start, label_source, level, bin, " CASES_SUM                                          \
	"FROM calibration_rollups WHERE " IN_SLICE since "GROUP BY 1, 2, 3, 4"

#define COMPARE_TOTALS(width_s, table, since)                                                                \
	"SELECT count(*) FROM (" TOTALS(                                                                     \
		since) ") d FULL JOIN (SELECT * FROM (SELECT " width_s " AS width_s, * FROM " table          \
		       " WHERE cases <> 0) AS all_totals WHERE " IN_SLICE since                              \
		       ") t USING (bucket_start, label_source, level, bin) WHERE (d.cases, "                 \
		       "d.weight, d.weight_squared, d.weight_correct, d.weight_confidence, "                 \
		       "d.weight_squared_error) "                                                            \
		       "IS DISTINCT FROM (t.cases, t.weight, t.weight_squared, t.weight_correct, "           \
		       "t.weight_confidence, "                                                               \
		       "t.weight_squared_error)"

#define SLICES_OF_TOTALS(width_s, table)                                                                     \
	ALL_SLICES_OF("calibration_rollups", width_s)                                                        \
	"UNION SELECT " width_s ", floor(extract(epoch FROM bucket_start) / 604800)::bigint FROM " table

/* Hours before are not summed. */
#define HOURS_SINCE "AND bucket_start >= calibration_hour_totals_since() "

static const struct rebuild_totals {
	const char *slices, *compare, *remove, *stored_slices, *add;
} all_totals[] = {
	{ SLICES_OF_TOTALS("86400", "calibration_totals"), COMPARE_TOTALS("86400", "calibration_totals", ""),
	  "DELETE FROM calibration_totals", ALL_SLICES_OF("calibration_rollups", "86400") "GROUP BY 1, 2",
	  "INSERT INTO calibration_totals " TOTALS("") },
	{ SLICES_OF_TOTALS("3600", "calibration_hour_totals"),
	  COMPARE_TOTALS("3600", "calibration_hour_totals", HOURS_SINCE),
	  "DELETE FROM calibration_hour_totals", ALL_SLICES_OF("calibration_rollups", "3600") "GROUP BY 1, 2",
	  "INSERT INTO calibration_hour_totals " TOTALS(HOURS_SINCE) },
};

static const char *const no_range[] = { "0" };

err_t rebuild_tables_compare_totals(struct database *database, int64_t *ret_differing,
				    struct err_detail *detail)
{
	int64_t differing = 0;
	for (size_t i = 0; i < sizeof all_totals / sizeof *all_totals; i++) {
		int64_t found;
		err_t err = each_slice(database, all_totals[i].slices, all_totals[i].compare, no_range, 0,
				       &found, detail);
		if (err)
			return err;
		differing += found;
	}
	*ret_differing = differing;
	return ERR_OK;
}

static err_t copy_rows(struct database *database, const char *kind, const char *time, int64_t since_ms,
		       struct err_detail *detail)
{
	char sql[192];
	snprintf(sql, sizeof sql,
		 "CREATE TEMP TABLE rebuild_stored_%s AS SELECT * FROM calibration_%s "
		 "WHERE %s >= to_timestamp(%lld / 1000.0)",
		 kind, kind, time, (long long)since_ms);
	return database_script(database, sql, detail);
}

err_t rebuild_tables_copy_memory(struct database *database, int64_t since_ms, struct err_detail *detail)
{
	err_t err = copy_rows(database, "events", "scored_at", since_ms, detail);
	return err ? err : copy_rows(database, "feedback", "said_at", since_ms, detail);
}

/* $1 and $2 partitions and the first record of each, $3 and $4 since when and until when. */
#define KEPT(table, time)                                                                                    \
	"(SELECT m.*, true AS there FROM " table                                                             \
	" m JOIN unnest($1::integer[], $2::bigint[]) AS b (partition, first) USING (partition) "             \
	"WHERE record_offset >= b.first AND " time " BETWEEN to_timestamp($3::bigint / 1000.0) "             \
	"AND to_timestamp($4::bigint / 1000.0))"

/* $5: since when verdicts are compared; $6: the first record of each partition whose features are. A segment
 * may have had no place of its own at one of both times. */
#define COMPARE_EVENTS                                                                                       \
	"SELECT count(*) FROM " KEPT("rebuild_stored_events", "scored_at") " s FULL JOIN " KEPT(             \
		"rebuild_events",                                                                            \
		"scored_at") " c USING (event_key, scored_at, partition, record_offset) "                    \
			     "LEFT JOIN unnest($1::integer[], $6::bigint[]) AS l (partition, learnt) "       \
			     "USING (partition) "                                                            \
			     "WHERE s.there IS NULL OR c.there IS NULL OR s.level <> c.level "               \
			     "OR s.confidence <> c.confidence OR ((s.application, s.model, "                 \
			     "s.prompt_version) <> (c.application, c.model, c.prompt_version) "              \
			     "AND '" CALIBRATION_OTHER "' NOT IN (s.application, c.application)) "           \
			     "OR (s.correct IS DISTINCT FROM c.correct "                                     \
			     "AND scored_at >= to_timestamp($5::bigint / 1000.0)) "                          \
			     "OR ((s.features - '" CALIBRATION_QUESTION "', s.probability) "                 \
			     "IS DISTINCT FROM (c.features - '" CALIBRATION_QUESTION "', c.probability) "    \
			     "AND record_offset >= l.learnt) "                                               \
			     "OR (s.rules IS NOT NULL AND s.rules IS DISTINCT FROM c.rules)"

#define COMPARE_FEEDBACK                                                                                     \
	"SELECT count(*) FROM " KEPT("rebuild_stored_feedback", "said_at") " s FULL JOIN " KEPT(             \
		"rebuild_feedback", "said_at") " c USING (event_key, said_at, partition, record_offset) "    \
					       "WHERE s.there IS NULL OR c.there IS NULL "                   \
					       "OR s.correct <> c.correct"

static err_t compare_rows(struct database *database, const char *sql, const struct rebuild_log *log,
			  const struct rebuild_memory *memory, bool events, int64_t *ret_differing,
			  struct err_detail *detail)
{
	_cleanup_(rebuild_places_free) struct rebuild_places places = REBUILD_PLACES_INIT;
	_cleanup_(rebuild_places_free) struct rebuild_places learnt = REBUILD_PLACES_INIT;
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct database_number_text since, until, verdicts;
	rebuild_log_places(log, events ? REBUILD_REMEMBERED : REBUILD_ALL, &places);
	rebuild_log_places(log, REBUILD_LEARNT, &learnt);
	const char *const parameters[] = { places.partitions.data,
					   places.first.data,
					   database_number_text(&since, memory->since_ms),
					   database_number_text(&until, memory->until_ms),
					   database_number_text(&verdicts, memory->verdicts_since_ms),
					   learnt.first.data };
	err_t err = database_query(database, sql, events ? 6 : 4, parameters, &result, detail);
	if (!err)
		*ret_differing = database_integer_at(result, 0, 0);
	return err;
}

err_t rebuild_tables_compare_memory(struct database *database, const struct rebuild_memory *memory,
				    int64_t *ret_events, int64_t *ret_feedback, struct err_detail *detail)
{
	err_t err = database_script(database,
				    "ANALYZE rebuild_stored_events; ANALYZE rebuild_events; "
				    "ANALYZE rebuild_stored_feedback; ANALYZE rebuild_feedback",
				    detail);
	if (!err)
		err = compare_rows(database, COMPARE_EVENTS, memory->scored, memory, true, ret_events,
				   detail);
	return err ? err
		   : compare_rows(database, COMPARE_FEEDBACK, memory->feedback, memory, false, ret_feedback,
				  detail);
}

/* ---- replacing ---- */

#define REMOVE_SLICE(table, condition)                                                                       \
	"DELETE FROM " table " b WHERE " condition "AND NOT EXISTS (SELECT FROM rebuild_buckets r "          \
	"WHERE (r.width_s, r.bucket_start, r.application, r.model, r.prompt_version, r.label_source, "       \
	"r.level, r.bin, r.cases, r.weight, r.weight_squared, r.weight_correct, r.weight_confidence, "       \
	"r.weight_squared_error) = (b.width_s, b.bucket_start, b.application, b.model, b.prompt_version, "   \
	"b.label_source, b.level, b.bin, b.cases, b.weight, b.weight_squared, b.weight_correct, "            \
	"b.weight_confidence, b.weight_squared_error))"

#define ADD_SLICE(table, condition)                                                                          \
	"INSERT INTO " table " (" KEYS ", " SUMS ") SELECT " KEYS ", " SUMS                                  \
	" FROM rebuild_buckets WHERE " condition "ON CONFLICT DO NOTHING"

/* Days are made of the hours when these are in place. */
#define MAKE_DAYS ADD_DAYS_OF "calibration_rollups WHERE " IN_SLICE "GROUP BY 2, 3, 4, 5, 6, 7, 8"

struct replacement {
	int64_t removed, added;
};

static err_t replace_slices(struct database *database, const char *stored_slices, const char *remove,
			    const char *counted_slices, const char *add, const char *const *parameters,
			    int parameters_count, struct replacement *replacement, struct err_detail *detail)
{
	int64_t removed, added;
	err_t err =
		each_slice(database, stored_slices, remove, parameters, parameters_count, &removed, detail);
	if (!err)
		err = each_slice(database, counted_slices, add, parameters, parameters_count, &added, detail);
	if (err)
		return err;
	replacement->removed += removed;
	replacement->added += added;
	return ERR_OK;
}

/* Triggers keep them up; whatever has spoilt them is mended here. */
static err_t replace_totals(struct database *database, int64_t *ret_corrected, struct err_detail *detail)
{
	int64_t corrected = 0;
	for (size_t i = 0; i < sizeof all_totals / sizeof *all_totals; i++) {
		const struct rebuild_totals *totals = &all_totals[i];
		int64_t differing, added;
		err_t err = each_slice(database, totals->slices, totals->compare, no_range, 0, &differing,
				       detail);
		if (!err && differing > 0)
			err = database_script(database, totals->remove, detail);
		if (!err && differing > 0)
			err = each_slice(database, totals->stored_slices, totals->add, no_range, 0, &added,
					 detail);
		if (err)
			return err;
		corrected += differing;
	}
	*ret_corrected = corrected;
	return ERR_OK;
}

static err_t replace_days(struct database *database, const char *const *parameters,
			  struct replacement *replacement, struct err_detail *detail)
{
	err_t err = make_days(database, ALL_SLICES_OF("calibration_rollups", "3600") "GROUP BY 1, 2",
			      MAKE_DAYS, parameters, 0, detail);
	return err ? err
		   : replace_slices(database, ALL_SLICES_OF("calibration_rollups", "86400") "GROUP BY 1, 2",
				    REMOVE_SLICE("calibration_rollups", IN_SLICE),
				    ALL_SLICES_OF("rebuild_buckets", "86400") "GROUP BY 1, 2",
				    ADD_SLICE("calibration_rollups", IN_SLICE), parameters, 0, replacement,
				    detail);
}

err_t rebuild_tables_replace(struct database *database, const struct rebuild_range *range,
			     int64_t *ret_removed, int64_t *ret_added, int64_t *ret_totals,
			     struct err_detail *detail)
{
	struct range_texts texts;
	struct replacement replacement = { 0 };
	int64_t totals = 0;
	const char *const *parameters = range_parameters(range, &texts);
	err_t err = database_script(database, "ANALYZE rebuild_buckets", detail);
	if (!err)
		err = replace_slices(database, SLICES_OF("calibration_buckets") "GROUP BY 1, 2",
				     REMOVE_SLICE("calibration_buckets", IN_RANGE),
				     SLICES_OF("rebuild_buckets") "AND width_s < 3600 GROUP BY 1, 2",
				     ADD_SLICE("calibration_buckets", IN_RANGE), parameters, 4, &replacement,
				     detail);
	if (!err)
		err = replace_slices(
			database, SLICES_OF("calibration_rollups") "AND width_s = 3600 GROUP BY 1, 2",
			REMOVE_SLICE("calibration_rollups", IN_RANGE),
			SLICES_OF("rebuild_buckets") "AND width_s = 3600 GROUP BY 1, 2",
			ADD_SLICE("calibration_rollups", IN_RANGE), parameters, 4, &replacement, detail);
	if (!err)
		err = replace_days(database, parameters, &replacement, detail);
	if (!err)
		err = replace_totals(database, &totals, detail);
	if (!err)
		err = database_script(database,
				      "INSERT INTO calibration_segments SELECT * FROM rebuild_segments "
				      "ON CONFLICT DO NOTHING; "
				      "INSERT INTO calibration_rules AS r SELECT * FROM rebuild_rules "
				      "ON CONFLICT (number) DO UPDATE SET since = excluded.since "
				      "WHERE r.since > excluded.since",
				      detail);
	if (!err) {
		*ret_removed = replacement.removed;
		*ret_added = replacement.added;
		*ret_totals = totals;
	}
	return err;
}
