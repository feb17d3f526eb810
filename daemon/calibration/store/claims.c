#include "calibration/store/claims.h"

#include "common/decimal.h"
#include "database/array.h"
#include "database/values.h"

/* ---- adding ---- */

enum { APPLICATION, MODEL, PROMPT_VERSION, SCORED_AT, PARTITION, OFFSET, PROBABILITY, CORRECT, COLUMNS };

#define SEGMENTS_OF(columns)                                                                                 \
	"SELECT " columns "coalesce(s.application, '" CALIBRATION_OTHER "') AS application, "                \
	"coalesce(s.model, '') AS model, coalesce(s.prompt_version, '') AS prompt_version "

#define ADD_CLAIMS                                                                                           \
	"WITH c AS (" SEGMENTS_OF(                                                                           \
		"c.scored_at, c.partition, c.record_offset, c.probability, c.correct, ") "FROM "             \
											 "unnest($1::text[]" \
											 ", $2::text[], "    \
											 "$3::text[], "      \
											 "$4::bigint[], "    \
											 "$5::integer[], "   \
											 "$6::bigint[], "    \
											 "$7::double "       \
											 "precision[], "     \
											 "$8::boolean[]) "   \
											 "AS c "             \
											 "(application, "    \
											 "model, "           \
											 "prompt_version, "  \
											 "scored_at, "       \
											 "partition, "       \
											 "record_offset, "   \
											 "probability, "     \
											 "correct) LEFT "    \
											 "JOIN %s s "        \
											 "USING "            \
											 "(application, "    \
											 "model, "           \
											 "prompt_version)) " \
											 "INSERT INTO %s "   \
											 "(application, "    \
											 "model, "           \
											 "prompt_version, "  \
											 "label_source, "    \
											 "scored_at, "       \
											 "partition, "       \
											 "record_offset, "   \
											 "probability, "     \
											 "correct) SELECT "  \
											 "application, "     \
											 "model, "           \
											 "prompt_version, "  \
											 "'RESULT', "        \
											 "timestamptz "      \
											 "'epoch' + "        \
											 "scored_at * "      \
											 "interval '1 "      \
											 "millisecond', "    \
											 "partition, "       \
											 "record_offset, "   \
											 "probability, "     \
											 "correct FROM c "   \
											 "ORDER BY 1, 2, "   \
											 "3, 5, 6, 7 ON "    \
											 "CONFLICT DO "      \
											 "NOTHING"

/* Each segment's claims before the last one that has room. Which that is is found once for a segment: without
 * statistics the planner would look for it once for a claim. */
#define TRIM_CLAIMS                                                                                          \
	"WITH last AS MATERIALIZED (SELECT g.*, l.* FROM (SELECT DISTINCT * FROM (" SEGMENTS_OF(             \
		"") "FROM unnest($1::text[], $2::text[], $3::text[]) AS c (application, model, "             \
		    "prompt_version) "                                                                       \
		    "LEFT JOIN %s s USING (application, model, prompt_version)) AS named) AS g "             \
		    "CROSS JOIN LATERAL (SELECT l.scored_at, l.partition, l.record_offset FROM %s l "        \
		    "WHERE (l.application, l.model, l.prompt_version, l.label_source) = "                    \
		    "(g.application, g.model, g.prompt_version, 'RESULT') ORDER BY l.scored_at DESC, "       \
		    "l.partition DESC, l.record_offset DESC OFFSET 999 LIMIT 1) AS l) "                      \
		    "DELETE FROM %s c USING last "                                                           \
		    "WHERE (c.application, c.model, c.prompt_version, c.label_source) = "                    \
		    "(last.application, last.model, last.prompt_version, 'RESULT') "                         \
		    "AND (c.scored_at, c.partition, c.record_offset) < "                                     \
		    "(last.scored_at, last.partition, last.record_offset)"
_Static_assert(CLAIMS_MAX == 1000, "TRIM_CLAIMS and CLAIMS_LATEST have it as a literal");

static void append_integer(struct buf *column, int64_t number)
{
	struct database_number_text text;
	array_append(column, str_from(database_number_text(&text, number)));
}

/* An absent text is the empty one, as tables have it. */
static void append_text(struct buf *column, str_t text)
{
	array_append(column, str_present(text) ? calibration_segment_text(text) : STR(""));
}

static size_t append_claims(struct buf *columns, const struct calibration_case *cases, size_t count)
{
	size_t added = 0;
	for (size_t i = 0; i < count; i++) {
		const struct calibration_case *item = &cases[i];
		char probability[DECIMAL_SIZE];
		if (item->label_source != LABEL_RESULT || !item->probability.set || item->untested)
			continue;
		append_text(&columns[APPLICATION], item->application);
		append_text(&columns[MODEL], item->model);
		append_text(&columns[PROMPT_VERSION], item->prompt_version);
		append_integer(&columns[SCORED_AT], item->scored_at_ms);
		append_integer(&columns[PARTITION], item->partition);
		append_integer(&columns[OFFSET], item->offset);
		size_t len = decimal_write(item->probability.value, probability);
		array_append(&columns[PROBABILITY], (str_t){ probability, len });
		array_append(&columns[CORRECT], item->correct ? STR("t") : STR("f"));
		added++;
	}
	return added;
}

err_t claims_add(struct database *database, const char *table, const char *segments,
		 const struct calibration_case *cases, size_t count, struct err_detail *detail)
{
	struct buf columns[COLUMNS] = { 0 };
	const char *parameters[COLUMNS];
	char sql[2048];
	err_t err = ERR_OK;
	size_t added = append_claims(columns, cases, count);
	for (int i = 0; i < COLUMNS; i++) {
		array_end(&columns[i]);
		parameters[i] = columns[i].data;
	}
	if (added) {
		snprintf(sql, sizeof sql, ADD_CLAIMS, segments, table);
		err = database_query(database, sql, COLUMNS, parameters, NULL, detail);
	}
	if (added && !err) {
		snprintf(sql, sizeof sql, TRIM_CLAIMS, segments, table, table);
		err = database_query(database, sql, PROMPT_VERSION + 1, parameters, NULL, detail);
	}
	for (int i = 0; i < COLUMNS; i++)
		buf_free(&columns[i]);
	return err;
}

/* ---- reading ---- */

struct claim *claims_parse(const char *text, struct arena *arena, size_t *ret_count)
{
	size_t count = *text != '\0';
	for (const char *at = text; *at; at++)
		count += *at == ',';
	struct claim *claims = ARENA_ARRAY(arena, struct claim, count);
	char *end;
	for (size_t i = 0; i < count; i++) {
		claims[i].place.scored_at_ms = strtoll(text, &end, 10);
		claims[i].place.partition = strtoll(end, &end, 10);
		claims[i].place.offset = strtoll(end, &end, 10);
		claims[i].correct = strtoll(end, &end, 10) == 1;
		claims[i].probability = strtod(end, &end);
		text = *end ? end + 1 : end;
	}
	*ret_count = count;
	return claims;
}
