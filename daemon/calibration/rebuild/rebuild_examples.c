#include "calibration/rebuild/rebuild_examples.h"

#include "calibration/store/days.h"
#include "calibration/store/examples.h"
#include "database/values.h"

#define KEYS "day, application, label_source, event_key, partition, record_offset"

/* Features are compared by their digests, without the question, which rows of before do not have. These have
 * no documents and no rules either (SAME_WHERE_KNOWN). */
#define SAME_WHERE_KNOWN                                                                                     \
	"((s.documents IS NULL OR s.documents = d.documents) "                                               \
	"AND (s.rules IS NULL OR s.rules IS NOT DISTINCT FROM d.rules))"

#define VALUES                                                                                               \
	"scored_at, model, prompt_version, overall, weight, correct, md5((features - '" CALIBRATION_QUESTION \
	"')::text) AS features, "                                                                            \
	"probability, documents, rules"

#define COPY                                                                                                 \
	"CREATE TEMP TABLE rebuild_stored_examples AS SELECT " KEYS ", " VALUES                              \
	" FROM calibration_examples WHERE day >= date '1970-01-01' + %lld"

err_t rebuild_examples_copy(struct database *database, int64_t since_ms, struct err_detail *detail)
{
	char sql[512];
	snprintf(sql, sizeof sql, COPY, (long long)(since_ms / DAY_MS));
	return database_script(database, sql, detail);
}

/* $1 and $2 partitions and the first record of each that is drawn again, $3 the first day, $5 the first one
 * that is not thinned out, both as numbers since 1970; $4 since when nothing of another log was scored. */
#define BOUNDS "unnest($1::integer[], $2::bigint[]) AS b (partition, first) "
#define SINCE  "day >= date '1970-01-01' + $3::integer "
#define OURS   "scored_at >= to_timestamp($4::bigint / 1000.0) "

/* Places of a group of that day. */
#define ROOM "CASE WHEN day < date '1970-01-01' + $5::integer THEN 500 ELSE 5000 END "
_Static_assert(EXAMPLES_A_PAST_DAY == 500 && EXAMPLES_A_DAY == 5000, "ROOM has them as literals");

/* Which place each has in its group. */
#define PLACED                                                                                               \
	"row_number() OVER (PARTITION BY day, application, label_source "                                    \
	"ORDER BY event_key, partition, record_offset) AS place "

#define STORED                                                                                               \
	"stored AS MATERIALIZED (SELECT s.*, coalesce(s.record_offset >= b.first AND s." OURS                \
	", false) AS known FROM "                                                                            \
	"rebuild_stored_examples s LEFT JOIN " BOUNDS "USING (partition) WHERE " SINCE ")"

#define DRAWN                                                                                                \
	"drawn AS MATERIALIZED (SELECT " KEYS ", " VALUES " FROM " REBUILD_EXAMPLES " JOIN " BOUNDS          \
	"USING (partition) WHERE record_offset >= b.first AND " OURS "AND " SINCE ")"

#define OTHERS                                                                                               \
	"others AS (SELECT day FROM stored WHERE application = '" CALIBRATION_OTHER "' UNION "               \
	"SELECT day FROM drawn WHERE application = '" CALIBRATION_OTHER "')"

/* With the place that it has beside what is not drawn again. */
#define EXPECTED                                                                                             \
	"expected AS (SELECT d.*, p.place FROM drawn d JOIN (SELECT *, " PLACED "FROM (SELECT " KEYS         \
	", true AS fresh FROM drawn UNION ALL SELECT " KEYS ", false FROM stored WHERE NOT known) AS a) "    \
	"AS p USING (" KEYS ") WHERE p.fresh)"

#define EXACT                                                                                                \
	"exact AS (SELECT count(*) AS differing FROM "                                                       \
	"(SELECT * FROM stored WHERE known AND day NOT IN (TABLE others)) s FULL JOIN "                      \
	"(SELECT * FROM expected WHERE day NOT IN (TABLE others)) d USING (" KEYS ") "                       \
	"WHERE d.place IS NULL OR (s.known IS NULL AND d.place <= " ROOM                                     \
	") OR (s.known AND (NOT " SAME_WHERE_KNOWN " OR "                                                    \
	"(s.scored_at, s.model, s.prompt_version, s.overall, s.weight, s.correct, s.features, "              \
	"s.probability) IS DISTINCT "                                                                        \
	"FROM (d.scored_at, d.model, d.prompt_version, d.overall, d.weight, d.correct, d.features, "         \
	"d.probability))))"

#define LOOSE                                                                                                \
	"loose AS (SELECT count(*) AS differing FROM stored s JOIN drawn d "                                 \
	"USING (day, label_source, event_key, partition, record_offset) "                                    \
	"WHERE s.known AND day IN (TABLE others) AND (NOT " SAME_WHERE_KNOWN                                 \
	" OR (s.scored_at, s.overall, s.weight, s.correct, "                                                 \
	"s.features, s.probability) IS DISTINCT FROM (d.scored_at, d.overall, d.weight, d.correct, "         \
	"d.features, d.probability)))"

#define COMPARE                                                                                              \
	"WITH " STORED ", " DRAWN ", " OTHERS ", " EXPECTED ", " EXACT ", " LOOSE                            \
	" SELECT (SELECT count(*) FROM stored WHERE known), exact.differing + loose.differing "              \
	"FROM exact, loose"

static err_t query_range(struct database *database, const char *sql,
			 const struct rebuild_examples_range *range, int parameters_count,
			 PGresult **ret_result, struct err_detail *detail)
{
	_cleanup_(rebuild_places_free) struct rebuild_places places = REBUILD_PLACES_INIT;
	struct database_number_text since, former, recent;
	rebuild_log_places(range->scored, REBUILD_LEARNT, &places);
	const char *const parameters[] = { places.partitions.data, places.first.data,
					   database_number_text(&since, range->since_ms / DAY_MS),
					   database_number_text(&former, range->former_ms),
					   database_number_text(&recent, range->now_ms / DAY_MS - 1) };
	return database_query(database, sql, parameters_count, parameters, ret_result, detail);
}

err_t rebuild_examples_compare(struct database *database, const struct rebuild_examples_range *range,
			       int64_t *ret_compared, int64_t *ret_differing, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	err_t err = database_script(database, "ANALYZE " REBUILD_EXAMPLES "; ANALYZE rebuild_stored_examples",
				    detail);
	if (!err)
		err = query_range(database, COMPARE, range, 5, &result, detail);
	if (err)
		return err;
	*ret_compared = database_integer_at(result, 0, 0);
	*ret_differing = database_integer_at(result, 0, 1);
	return ERR_OK;
}

/* ---- replacing ---- */

#define REMOVE                                                                                               \
	"WITH removed AS (DELETE FROM calibration_examples e USING " BOUNDS                                  \
	"WHERE e.partition = b.partition AND e.record_offset >= b.first AND e." OURS "AND e." SINCE          \
	"RETURNING e.*) INSERT INTO rebuild_removed_examples SELECT * FROM removed"

/* Beside what is left. All have $1 and $2. */
#define ADD                                                                                                  \
	"INSERT INTO calibration_examples SELECT " KEYS ", scored_at, model, prompt_version, overall, "      \
	"weight, correct, features, probability, documents, rules FROM (SELECT *, " PLACED                   \
	"FROM (SELECT *, true AS fresh "                                                                     \
	"FROM " REBUILD_EXAMPLES " WHERE " OURS "AND " SINCE                                                 \
	"UNION ALL SELECT *, false FROM calibration_examples "                                               \
	"WHERE " SINCE ") AS a) AS p WHERE fresh AND place <= " ROOM                                         \
	"AND ($1::integer[], $2::bigint[]) IS NOT NULL ON CONFLICT DO NOTHING"

/* How many were removed, and how many of these are there again as they were. */
#define REMOVED                                                                                              \
	"SELECT count(*), count(*) FILTER (WHERE EXISTS (SELECT FROM calibration_examples e WHERE "          \
	"(e.day, e.application, e.label_source, e.event_key, e.partition, e.record_offset) = "               \
	"(r.day, r.application, r.label_source, r.event_key, r.partition, r.record_offset) "                 \
	"AND (e.*) IS NOT DISTINCT FROM (r.*))) FROM rebuild_removed_examples r"

static err_t count_replaced(struct database *database, int64_t drawn,
			    struct rebuild_examples_replaced *ret_replaced, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	err_t err = database_query(database, REMOVED, 0, NULL, &result, detail);
	if (err)
		return err;
	int64_t same = database_integer_at(result, 0, 1);
	*ret_replaced = (struct rebuild_examples_replaced){
		.drawn = drawn, .removed = database_integer_at(result, 0, 0) - same, .added = drawn - same
	};
	return ERR_OK;
}

err_t rebuild_examples_replace(struct database *database, const struct rebuild_examples_range *range,
			       struct rebuild_examples_replaced *ret_replaced, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *added = NULL;
	const char *const parameters[] = { range->scored->topic };
	err_t err = database_script(
		database, "CREATE TEMP TABLE rebuild_removed_examples (LIKE calibration_examples)", detail);
	if (!err)
		err = query_range(database, REMOVE, range, 4, NULL, detail);
	if (!err)
		err = query_range(database, ADD, range, 5, &added, detail);
	if (!err)
		err = database_query(database,
				     "UPDATE calibration_positions SET learnt_from = 0, learnt_until = "
				     "next_offset WHERE topic = $1",
				     1, parameters, NULL, detail);
	return err ? err
		   : count_replaced(database, strtoll(PQcmdTuples(added), NULL, 10), ret_replaced, detail);
}
