#include "calibration/rebuild/rebuild_claims.h"

#include "calibration/store/claims.h"
#include "database/values.h"

#define SOURCE "application, model, prompt_version, label_source"
#define PLACE  "scored_at, partition, record_offset"
#define KEYS   SOURCE ", " PLACE
#define VALUES "probability, correct"

#define COPY "CREATE TEMP TABLE rebuild_stored_claims AS SELECT " KEYS ", " VALUES " FROM calibration_claims"

err_t rebuild_claims_copy(struct database *database, struct err_detail *detail)
{
	return database_script(database, COPY, detail);
}

/* $1 and $2 partitions and the first record of each that is taken again, $3 since when. */
#define BOUNDS "unnest($1::integer[], $2::bigint[]) AS b (partition, first) "
#define SINCE  "scored_at >= to_timestamp($3::bigint / 1000.0) "

#define PLACED                                                                                               \
	"row_number() OVER (PARTITION BY " SOURCE " ORDER BY scored_at DESC, partition DESC, "               \
	"record_offset DESC) AS place "

/* Rows of `fresh` with the places that they have beside those of `table` that are not taken again. */
#define EXPECTED(table)                                                                                      \
	"drawn AS (SELECT " KEYS ", " VALUES " FROM " REBUILD_CLAIMS " JOIN " BOUNDS "USING (partition) "    \
	"WHERE record_offset >= b.first AND " SINCE "), "                                                    \
	"stored AS MATERIALIZED (SELECT s.*, coalesce(s.record_offset >= b.first, false) AS known, " PLACED  \
	"FROM " table " s LEFT JOIN " BOUNDS "USING (partition) WHERE " SINCE "), "                          \
	"expected AS (SELECT * FROM (SELECT *, " PLACED "FROM (SELECT " KEYS ", " VALUES ", true AS fresh "  \
	"FROM drawn UNION ALL SELECT " KEYS ", " VALUES ", false FROM stored WHERE NOT known) AS a) AS p "   \
	"WHERE fresh AND place <= 1000) "
_Static_assert(CLAIMS_MAX == 1000, "EXPECTED has it as a literal");

#define EXACT                                                                                                \
	"SELECT count(*) AS differing FROM (SELECT * FROM stored WHERE known AND place <= 1000) s FULL "     \
	"JOIN expected e "                                                                                   \
	"USING (" KEYS ") WHERE (s.probability, s.correct) IS DISTINCT FROM (e.probability, e.correct)"

#define LOOSE                                                                                                \
	"SELECT count(*) AS differing FROM stored s JOIN drawn d USING (label_source, " PLACE ") "           \
	"WHERE s.known AND (s.probability, s.correct) IS DISTINCT FROM (d.probability, d.correct)"

#define OTHERS                                                                                               \
	"SELECT (SELECT count(*) FROM rebuild_stored_claims WHERE application = '" CALIBRATION_OTHER "') + " \
	"(SELECT count(*) FROM " REBUILD_CLAIMS " WHERE application = '" CALIBRATION_OTHER "')"

static err_t query_bounds(struct database *database, const char *sql, const struct rebuild_log *scored,
			  int64_t since_ms, PGresult **ret_result, struct err_detail *detail)
{
	_cleanup_(rebuild_places_free) struct rebuild_places places = REBUILD_PLACES_INIT;
	struct database_number_text since;
	rebuild_log_places(scored, REBUILD_CLAIMED, &places);
	const char *const parameters[] = { places.partitions.data, places.first.data,
					   database_number_text(&since, since_ms) };
	return database_query(database, sql, 3, parameters, ret_result, detail);
}

err_t rebuild_claims_compare(struct database *database, const struct rebuild_log *scored, int64_t since_ms,
			     int64_t *ret_differing, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *others = NULL, *result = NULL;
	err_t err = database_script(database, "ANALYZE " REBUILD_CLAIMS "; ANALYZE rebuild_stored_claims",
				    detail);
	if (!err)
		err = database_query(database, OTHERS, 0, NULL, &others, detail);
	if (err)
		return err;
	bool exact = database_integer_at(others, 0, 0) == 0;
	err = query_bounds(database,
			   exact ? "WITH " EXPECTED("rebuild_stored_claims") EXACT
				 : "WITH " EXPECTED("rebuild_stored_claims") LOOSE,
			   scored, since_ms, &result, detail);
	if (!err)
		*ret_differing = database_integer_at(result, 0, 0);
	return err;
}

/* ---- replacing ---- */

#define REMOVE                                                                                               \
	"WITH removed AS (DELETE FROM calibration_claims c USING " BOUNDS                                    \
	"WHERE c.partition = b.partition AND c.record_offset >= b.first AND c." SINCE                        \
	"RETURNING c.*) INSERT INTO rebuild_removed_claims SELECT * FROM removed"

#define ADD                                                                                                  \
	"WITH " EXPECTED("calibration_claims") "INSERT INTO calibration_claims (" KEYS ", " VALUES           \
					       ") SELECT " KEYS ", " VALUES                                  \
					       " FROM expected ON CONFLICT DO NOTHING"

/* How many were removed, and how many of these are there again as they were. */
#define REMOVED                                                                                              \
	"SELECT count(*), count(c.*) FROM rebuild_removed_claims r "                                         \
	"LEFT JOIN calibration_claims c USING (" KEYS ", " VALUES ")"

static err_t count_replaced(struct database *database, int64_t drawn,
			    struct rebuild_claims_replaced *ret_replaced, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	err_t err = database_query(database, REMOVED, 0, NULL, &result, detail);
	if (err)
		return err;
	int64_t same = database_integer_at(result, 0, 1);
	*ret_replaced =
		(struct rebuild_claims_replaced){ database_integer_at(result, 0, 0) - same, drawn - same };
	return ERR_OK;
}

err_t rebuild_claims_replace(struct database *database, const struct rebuild_log *scored, int64_t since_ms,
			     struct rebuild_claims_replaced *ret_replaced, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *added = NULL;
	const char *const parameters[] = { scored->topic };
	err_t err = database_script(
		database, "CREATE TEMP TABLE rebuild_removed_claims (LIKE calibration_claims)", detail);
	if (!err)
		err = query_bounds(database, REMOVE, scored, since_ms, NULL, detail);
	if (!err)
		err = query_bounds(database, ADD, scored, since_ms, &added, detail);
	if (!err)
		err = database_query(database,
				     "UPDATE calibration_positions SET claims_from = 0, claims_until = "
				     "next_offset WHERE topic = $1",
				     1, parameters, NULL, detail);
	return err ? err
		   : count_replaced(database, strtoll(PQcmdTuples(added), NULL, 10), ret_replaced, detail);
}
