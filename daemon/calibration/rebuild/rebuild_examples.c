#include "calibration/rebuild/rebuild_examples.h"

#include "calibration/store/days.h"
#include "calibration/store/examples.h"
#include "database/values.h"

#define KEYS "day, application, label_source, event_key, partition, record_offset"

/* Features are compared by their digests. */
#define VALUES                                                                                               \
	"scored_at, model, prompt_version, overall, weight, correct, md5(features::text) AS features, "      \
	"probability"

#define COPY                                                                                                 \
	"CREATE TEMP TABLE rebuild_stored_examples AS SELECT " KEYS ", " VALUES                              \
	" FROM calibration_examples WHERE day >= date '1970-01-01' + %lld"

err_t rebuild_examples_copy(struct database *database, int64_t since_ms, struct err_detail *detail)
{
	char sql[512];
	snprintf(sql, sizeof sql, COPY, (long long)(since_ms / DAY_MS));
	return database_script(database, sql, detail);
}

/* $1 and $2 partitions and the first record of each that is drawn again, $3 the first day, $4 the first one
 * that is not thinned out, both as numbers since 1970. */
#define BOUNDS "unnest($1::integer[], $2::bigint[]) AS b (partition, first) "
#define SINCE  "day >= date '1970-01-01' + $3::integer "

/* Places of a group of that day. */
#define ROOM "CASE WHEN day < date '1970-01-01' + $4::integer THEN 500 ELSE 5000 END "
_Static_assert(EXAMPLES_A_PAST_DAY == 500 && EXAMPLES_A_DAY == 5000, "ROOM has them as literals");

/* Which place each has in its group. */
#define PLACED                                                                                               \
	"row_number() OVER (PARTITION BY day, application, label_source "                                    \
	"ORDER BY event_key, partition, record_offset) AS place "

#define STORED                                                                                               \
	"stored AS MATERIALIZED (SELECT s.*, coalesce(s.record_offset >= b.first, false) AS known FROM "     \
	"rebuild_stored_examples s LEFT JOIN " BOUNDS "USING (partition) WHERE " SINCE ")"

#define DRAWN                                                                                                \
	"drawn AS MATERIALIZED (SELECT " KEYS ", " VALUES " FROM " REBUILD_EXAMPLES " JOIN " BOUNDS          \
	"USING (partition) WHERE record_offset >= b.first AND " SINCE ")"

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
	"WHERE d.place IS NULL OR (s.known IS NULL AND d.place <= " ROOM ") OR (s.known AND "                \
	"(s.scored_at, s.model, s.prompt_version, s.overall, s.weight, s.correct, s.features, "              \
	"s.probability) IS DISTINCT "                                                                        \
	"FROM (d.scored_at, d.model, d.prompt_version, d.overall, d.weight, d.correct, d.features, "         \
	"d.probability)))"

#define LOOSE                                                                                                \
	"loose AS (SELECT count(*) AS differing FROM stored s JOIN drawn d "                                 \
	"USING (day, label_source, event_key, partition, record_offset) "                                    \
	"WHERE s.known AND day IN (TABLE others) AND (s.scored_at, s.overall, s.weight, s.correct, "         \
	"s.features, s.probability) IS DISTINCT FROM (d.scored_at, d.overall, d.weight, d.correct, "         \
	"d.features, d.probability))"

#define COMPARE                                                                                              \
	"WITH " STORED ", " DRAWN ", " OTHERS ", " EXPECTED ", " EXACT ", " LOOSE                            \
	" SELECT (SELECT count(*) FROM stored WHERE known), exact.differing + loose.differing "              \
	"FROM exact, loose"

/* Partitions of the log and the first record of each that is drawn again, as arrays of PostgreSQL. */
static void make_bounds(const struct rebuild_log *log, struct buf *partitions, struct buf *first)
{
	for (size_t i = 0; i < log->count; i++) {
		const struct rebuild_partition *partition = &log->partitions[i];
		int64_t from =
			partition->learnt_from > partition->low ? partition->learnt_from : partition->low;
		if (partition->foreign)
			continue;
		buf_printf(partitions, "%s%d", partitions->len ? "," : "{", (int)log->spans[i].partition);
		buf_printf(first, "%s%lld", first->len ? "," : "{", (long long)from);
	}
	buf_append_text(partitions, partitions->len ? "}" : "{}");
	buf_append_text(first, first->len ? "}" : "{}");
}

static err_t query_range(struct database *database, const char *sql,
			 const struct rebuild_examples_range *range, int parameters_count,
			 PGresult **ret_result, struct err_detail *detail)
{
	_cleanup_(buf_free) struct buf partitions = BUF_INIT, first = BUF_INIT;
	struct database_number_text since, recent;
	make_bounds(range->scored, &partitions, &first);
	const char *const parameters[] = { partitions.data, first.data,
					   database_number_text(&since, range->since_ms / DAY_MS),
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
		err = query_range(database, COMPARE, range, 4, &result, detail);
	if (err)
		return err;
	*ret_compared = database_integer_at(result, 0, 0);
	*ret_differing = database_integer_at(result, 0, 1);
	return ERR_OK;
}

/* ---- replacing ---- */

#define REMOVE                                                                                               \
	"DELETE FROM calibration_examples e USING " BOUNDS                                                   \
	"WHERE e.partition = b.partition AND e.record_offset >= b.first AND e." SINCE

/* Beside what is left. All have $1 and $2. */
#define ADD                                                                                                  \
	"INSERT INTO calibration_examples SELECT " KEYS ", scored_at, model, prompt_version, overall, "      \
	"weight, correct, features, probability FROM (SELECT *, " PLACED "FROM (SELECT *, true AS fresh "    \
	"FROM " REBUILD_EXAMPLES " WHERE " SINCE "UNION ALL SELECT *, false FROM calibration_examples "      \
	"WHERE " SINCE ") AS a) AS p WHERE fresh AND place <= " ROOM                                         \
	"AND ($1::integer[], $2::bigint[]) IS NOT NULL ON CONFLICT DO NOTHING"

err_t rebuild_examples_replace(struct database *database, const struct rebuild_examples_range *range,
			       int64_t *ret_added, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *added = NULL;
	const char *const parameters[] = { range->scored->topic };
	err_t err = query_range(database, REMOVE, range, 3, NULL, detail);
	if (!err)
		err = query_range(database, ADD, range, 4, &added, detail);
	if (!err)
		err = database_query(database,
				     "UPDATE calibration_positions SET learnt_from = 0, learnt_until = "
				     "next_offset WHERE topic = $1",
				     1, parameters, NULL, detail);
	if (!err)
		*ret_added = strtoll(PQcmdTuples(added), NULL, 10);
	return err;
}
