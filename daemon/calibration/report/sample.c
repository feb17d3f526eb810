#include "calibration/report/sample.h"

#include "calibration/store/examples.h"
#include "database/values.h"

#define TIME_OF(parameter) "(timestamptz 'epoch' + " parameter "::bigint * interval '1 millisecond')"

#define IN_WINDOW(alias) alias ".scored_at >= " TIME_OF("$1") " AND " alias ".scored_at < " TIME_OF("$2") " "

#define OF_SEGMENT(alias)                                                                                    \
	"($3::text IS NULL OR " alias ".application = $3) AND ($4::text IS NULL OR " alias ".model = $4) "   \
	"AND ($5::text IS NULL OR " alias ".prompt_version = $5) "

#define MS_OF(time) "floor(extract(epoch FROM " time ") * 1000)::bigint"

/* How many examples of a day there may be, by what was counted on it and how many are kept of an application.
 */
#define ROOM                                                                                                 \
	"room AS (SELECT (bucket_start AT TIME ZONE 'UTC')::date AS day, least(sum(cases), "                 \
	"CASE WHEN bucket_start >= now() - interval '2 days' THEN $7::bigint ELSE $8::bigint END * "         \
	"(SELECT 1 + count(DISTINCT application) FROM calibration_segments "                                 \
	"WHERE $3::text IS NULL OR application = $3)) AS most FROM calibration_totals "                      \
	"WHERE label_source = 'RESULT' AND bucket_start > " TIME_OF(                                         \
		"$1") " - interval '1 day' "                                                                 \
		      "AND bucket_start < " TIME_OF("$2") " GROUP BY bucket_start), "                        \
							  "days AS (SELECT day, sum(most) OVER (ORDER BY "   \
							  "day DESC) - most AS later FROM room), "           \
							  "oldest AS MATERIALIZED (SELECT min(day) AS day "  \
							  "FROM days WHERE later < $6::bigint), "

#define IN_DAYS                                                                                              \
	"day >= (SELECT day FROM oldest) AND day <= (" TIME_OF(                                              \
		"$2") " AT TIME ZONE 'UTC')::date "                                                          \
		      "AND ($3::text IS NULL OR application = $3) AND label_source = 'RESULT' "

/* How many cases of a day and application are read, and what one of them stands for. A day that is in the
 * window from its begin is read as far as its share of $6 goes, in the order of the index; of another one,
 * and of one segment, nobody knows beforehand how many there are. */
#define WEIGHED                                                                                              \
	"counted AS (SELECT (bucket_start AT TIME ZONE 'UTC')::date AS day, application, "                   \
	"sum(cases) AS cases FROM calibration_rollups WHERE width_s = 86400 AND label_source = 'RESULT' "    \
	"AND bucket_start >= (SELECT day::timestamp AT TIME ZONE 'UTC' FROM oldest) "                        \
	"AND bucket_start < " TIME_OF(                                                                       \
		"$2") " AND ($3::text IS NULL OR application = $3) GROUP BY 1, 2), "                         \
		      "kept AS (SELECT day, application, count(*) AS kept FROM calibration_examples "        \
		      "WHERE " IN_DAYS "GROUP BY day, application), "                                        \
		      "shared AS (SELECT *, CASE WHEN day::timestamp AT TIME ZONE 'UTC' >= " TIME_OF(        \
			      "$1") " AND "                                                                  \
				    "$4::text IS NULL AND $5::text IS NULL THEN greatest(1, least(kept, "    \
				    "ceil(kept * $6::numeric / "                                             \
				    "sum(kept) OVER ()))::bigint) ELSE kept END AS taken FROM kept), "       \
				    "weighed AS MATERIALIZED (SELECT k.day, k.application, k.taken, "        \
				    "greatest(1, coalesce(c.cases::double precision / k.taken, 1)) AS "      \
				    "weight "                                                                \
				    "FROM shared k LEFT JOIN counted c USING (day, application)) "

/* $6 cases at most: days are gone back to as long as those after them may not have as many. */
#define READ_RESULTS                                                                                         \
	"WITH " ROOM WEIGHED                                                                                 \
	"SELECT e.overall, e.probability, e.weight * w.weight, e.correct::integer, " MS_OF(                  \
		"e.scored_at") " FROM weighed w CROSS JOIN LATERAL (SELECT * FROM calibration_examples x "   \
			       "WHERE x.day = w.day AND x.application = w.application AND x.label_source = " \
			       "'RESULT' "                                                                   \
			       "ORDER BY x.event_key, x.partition, x.record_offset LIMIT w.taken) e "        \
			       "WHERE " IN_WINDOW("e") "AND " OF_SEGMENT(                                    \
				       "e") "ORDER BY e.event_key, e.partition, e.record_offset LIMIT "      \
					    "$6::bigint"

#define READ_FEEDBACK                                                                                        \
	"SELECT e.confidence::double precision, e.probability, 1, e.correct::integer, " MS_OF(               \
		"e.scored_at") " FROM calibration_events e WHERE e.correct IS NOT NULL AND " IN_WINDOW("e") "AND " OF_SEGMENT("e") "ORDER BY e.event_key, e.scored_at, e.partition, e.record_offset LIMIT $6::bigint"

enum { OVERALL, PROBABILITY, WEIGHT, CORRECT, SCORED_AT };

static int64_t earlier(int64_t a, int64_t b)
{
	return a == 0 || b < a ? b : a;
}

/* Whatever a table holds: what is no score is none. */
static bool usable(double score, double weight)
{
	return score >= 0 && score <= 1 && weight > 0 && weight <= OUTCOMES_WEIGHT_MAX;
}

static void take_row(struct sample *sample, const PGresult *result, int row)
{
	const int64_t scored_at_ms = database_integer_at(result, row, SCORED_AT);
	struct outcome outcome = { .score = database_number_at(result, row, OVERALL),
				   .weight = database_number_at(result, row, WEIGHT),
				   .correct = database_integer_at(result, row, CORRECT) != 0 };
	const struct outcome overall = outcome;
	if (usable(outcome.score, outcome.weight)) {
		sample->overall[sample->overall_count++] = outcome;
		sample->overall_since_ms = earlier(sample->overall_since_ms, scored_at_ms);
	}
	if (PQgetisnull(result, row, PROBABILITY))
		return;
	outcome.score = database_number_at(result, row, PROBABILITY);
	if (usable(outcome.score, outcome.weight)) {
		sample->probability[sample->probability_count++] = outcome;
		if (usable(overall.score, overall.weight))
			sample->both[sample->both_count++] = overall;
		sample->probability_since_ms = earlier(sample->probability_since_ms, scored_at_ms);
	}
}

err_t sample_read(struct database *database, const struct calibration_query *query, int label_source,
		  int64_t since_ms, int64_t until_ms, struct arena *arena, struct sample *ret_sample,
		  struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	struct database_number_text since, until, most, day, past_day;
	struct sample sample = { 0 };
	bool results = label_source == LABEL_RESULT;
	const char *const parameters[] = {
		database_number_text(&since, since_ms),
		database_number_text(&until, until_ms),
		query->application,
		query->model,
		query->prompt_version,
		database_number_text(&most, SAMPLE_CASES_MAX),
		database_number_text(&day, EXAMPLES_A_DAY),
		database_number_text(&past_day, EXAMPLES_A_PAST_DAY),
	};
	if (results || label_source == LABEL_FEEDBACK) {
		err_t err = database_query(database, results ? READ_RESULTS : READ_FEEDBACK, results ? 8 : 6,
					   parameters, &result, detail);
		if (err)
			return err;
		size_t rows = (size_t)PQntuples(result);
		sample.overall = ARENA_ARRAY(arena, struct outcome, rows);
		sample.probability = ARENA_ARRAY(arena, struct outcome, rows);
		sample.both = ARENA_ARRAY(arena, struct outcome, rows);
		for (size_t row = 0; row < rows; row++)
			take_row(&sample, result, (int)row);
	}
	*ret_sample = sample;
	return ERR_OK;
}
