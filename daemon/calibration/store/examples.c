#include "calibration/store/examples.h"

#include "calibration/store/days.h"
#include "database/values.h"

/* Adds what is new, and removes what is beyond the place of the last one that has room. */
#define ADD_EXAMPLES                                                                                         \
	"WITH c AS (SELECT (timestamptz 'epoch' + c.scored_at * interval '1 millisecond') AS scored_at, "    \
	"coalesce(s.application, '" CALIBRATION_OTHER "') AS application, coalesce(s.model, '') AS model, "  \
	"coalesce(s.prompt_version, '') AS prompt_version, c.label_source, c.overall, c.weight, "            \
	"c.correct = 1 AS correct, c.event_key, c.partition, c.record_offset, c.features, c.probability, "   \
	"c.documents, c.rules "                                                                              \
	"FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], "                         \
	"$6::double precision[], $7::double precision[], $8::integer[], $9::uuid[], $10::integer[], "        \
	"$11::bigint[], $12::jsonb[], $13::double precision[], $14::jsonb[], $15::bigint[]) AS c "           \
	"(scored_at, application, "                                                                          \
	"model, "                                                                                            \
	"prompt_version, label_source, overall, weight, correct, event_key, partition, record_offset, "      \
	"features, probability, documents, rules) "                                                          \
	"LEFT JOIN %s s USING (application, model, prompt_version)) "                                        \
	"INSERT INTO %s (day, application, label_source, event_key, partition, record_offset, scored_at, "   \
	"model, prompt_version, overall, weight, correct, features, probability, documents, rules) "         \
	"SELECT (scored_at AT TIME ZONE 'UTC')::date, application, label_source, event_key, partition, "     \
	"record_offset, scored_at, model, prompt_version, overall, weight, correct, features, probability, " \
	"documents, rules "                                                                                  \
	"FROM c "                                                                                            \
	"ORDER BY 1, 2, 3, 4, 5, 6 ON CONFLICT DO NOTHING RETURNING day, application, label_source"

/* The last one is looked for once, whatever the planner takes the table for. */
#define TRIM_EXAMPLES                                                                                        \
	"WITH last AS MATERIALIZED (SELECT event_key, partition, record_offset FROM %s "                     \
	"WHERE day = $1::date AND application = $2 AND label_source = $3 "                                   \
	"ORDER BY event_key, partition, record_offset OFFSET $4::bigint - 1 LIMIT 1) "                       \
	"DELETE FROM %s e USING last "                                                                       \
	"WHERE e.day = $1::date AND e.application = $2 AND e.label_source = $3 "                             \
	"AND (e.event_key, e.partition, e.record_offset) > "                                                 \
	"(last.event_key, last.partition, last.record_offset)"

static err_t trim(struct database *database, const char *table, const PGresult *groups, int row, int64_t most,
		  struct err_detail *detail)
{
	struct database_number_text number;
	char sql[1024];
	const char *const parameters[] = { PQgetvalue(groups, row, 0), PQgetvalue(groups, row, 1),
					   PQgetvalue(groups, row, 2), database_number_text(&number, most) };
	snprintf(sql, sizeof sql, TRIM_EXAMPLES, table, table);
	return database_query(database, sql, 4, parameters, NULL, detail);
}

static bool same_group(const PGresult *result, int row, int other)
{
	for (int column = 0; column < 3; column++)
		if (strcmp(PQgetvalue(result, row, column), PQgetvalue(result, other, column)) != 0)
			return false;
	return true;
}

/* Cases that are examples, in the arena. */
static const struct calibration_case *choose(const struct calibration_case *cases, size_t count,
					     struct arena *arena, size_t *ret_count)
{
	struct calibration_case *chosen = ARENA_ARRAY(arena, struct calibration_case, count);
	*ret_count = 0;
	for (size_t i = 0; i < count; i++)
		if (cases[i].label_source == LABEL_RESULT && cases[i].key.text[0])
			chosen[(*ret_count)++] = cases[i];
	return chosen;
}

err_t examples_add(struct database *database, const char *table, const char *segments,
		   const struct calibration_case *cases, size_t count, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *added = NULL;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(case_columns_free) struct case_columns columns = { 0 };
	char sql[3072];
	const struct calibration_case *chosen = choose(cases, count, arena, &count);
	if (count == 0)
		return ERR_OK;
	case_columns_make(&columns, chosen, count);
	const char *const parameters[] = {
		columns.scored_at.data,	     columns.application.data, columns.model.data,
		columns.prompt_version.data, columns.source.data,      columns.confidence.data,
		columns.weight.data,	     columns.correct.data,     columns.key.data,
		columns.partition.data,	     columns.offset.data,      columns.features.data,
		columns.probability.data,    columns.documents.data,   columns.rules.data,
	};
	snprintf(sql, sizeof sql, ADD_EXAMPLES, segments, table);
	err_t err = database_query(database, sql, 15, parameters, &added, detail);
	/* they come in the order of their groups */
	for (int row = 0; !err && row < PQntuples(added); row++)
		if (row == 0 || !same_group(added, row, row - 1))
			err = trim(database, table, added, row, EXAMPLES_A_DAY, detail);
	return err;
}

#define FULL_DAY                                                                                             \
	"SELECT day, application, label_source FROM calibration_examples WHERE day < date '1970-01-01' + "   \
	"$1::integer "                                                                                       \
	"GROUP BY 1, 2, 3 HAVING count(*) > $2::bigint LIMIT 1"

err_t examples_thin(struct database *database, int64_t now_ms, bool *ret_more, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *found = NULL;
	struct database_number_text yesterday, most;
	const char *const parameters[] = { database_number_text(&yesterday, now_ms / DAY_MS - 1),
					   database_number_text(&most, EXAMPLES_A_PAST_DAY) };
	err_t err = database_query(database, FULL_DAY, 2, parameters, &found, detail);
	if (err)
		return err;
	*ret_more = PQntuples(found) > 0;
	return *ret_more ? trim(database, "calibration_examples", found, 0, EXAMPLES_A_PAST_DAY, detail)
			 : ERR_OK;
}
