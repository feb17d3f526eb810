#include "calibration/store/episodes.h"

#include "calibration/store/cases.h"
#include "calibration/store/sequences.h"
#include "database/values.h"

#define COLUMNS_OF(table)                                                                                    \
	"id, application, model, prompt_version, label_source, window_s, "                                   \
	"floor(extract(epoch FROM opened_at) * 1000)::bigint, threshold, opening_score, opening_cases, "     \
	"floor(extract(epoch FROM judged_at) * 1000)::bigint, score, cases, direction, size, "               \
	"round(extract(epoch FROM since) * 1000)::bigint, expected_by, opening_confidence, "                 \
	"opening_accuracy, opening_group, opening_group_cases, opening_group_confidence, "                   \
	"opening_group_accuracy FROM " table " "

#define COLUMNS COLUMNS_OF("calibration_drift_episodes")

enum {
	ID,
	APPLICATION,
	MODEL,
	PROMPT_VERSION,
	LABEL_SOURCE,
	WINDOW_S,
	OPENED_AT,
	THRESHOLD,
	OPENING_SCORE,
	OPENING_CASES,
	JUDGED_AT,
	SCORE,
	CASES,
	DIRECTION,
	SIZE,
	SINCE,
	EXPECTED_BY,
	OPENING_CONFIDENCE,
	OPENING_ACCURACY,
	OPENING_GROUP,
	OPENING_GROUP_CASES,
	OPENING_GROUP_CONFIDENCE,
	OPENING_GROUP_ACCURACY,
};

static struct drift_episode episode_at(const PGresult *result, int row, struct arena *arena)
{
	struct drift_episode episode = {
		.segment = { database_text_at(result, row, APPLICATION, arena),
			     database_text_at(result, row, MODEL, arena),
			     database_text_at(result, row, PROMPT_VERSION, arena) },
		.label_source = calibration_source_of(PQgetvalue(result, row, LABEL_SOURCE)),
		.window_s = database_integer_at(result, row, WINDOW_S),
		.opened_at_ms = database_integer_at(result, row, OPENED_AT),
		.threshold = database_number_at(result, row, THRESHOLD),
		.opening_score = database_number_at(result, row, OPENING_SCORE),
		.opening_cases = database_integer_at(result, row, OPENING_CASES),
		.opening_group = database_text_at(result, row, OPENING_GROUP, arena),
		.opening_group_cases = database_integer_at(result, row, OPENING_GROUP_CASES),
		.opening_confidence = database_number_at(result, row, OPENING_CONFIDENCE),
		.opening_accuracy = database_number_at(result, row, OPENING_ACCURACY),
		.opening_group_confidence = database_number_at(result, row, OPENING_GROUP_CONFIDENCE),
		.opening_group_accuracy = database_number_at(result, row, OPENING_GROUP_ACCURACY),
		.judged_at_ms = database_integer_at(result, row, JUDGED_AT),
		.score = database_number_at(result, row, SCORE),
		.cases = database_integer_at(result, row, CASES),
		.changed = !PQgetisnull(result, row, DIRECTION),
		.direction = sequences_direction_of(PQgetvalue(result, row, DIRECTION)),
		.size = database_number_at(result, row, SIZE),
		.since_ms = database_integer_at(result, row, SINCE),
		.by_probability = strcmp(PQgetvalue(result, row, EXPECTED_BY), "PROBABILITY") == 0,
	};
	snprintf(episode.id, sizeof episode.id, "%s", PQgetvalue(result, row, ID));
	return episode;
}

static err_t read_episodes(struct database *database, const char *sql, int parameters_count,
			   const char *const *parameters, struct arena *arena,
			   struct drift_episode **ret_episodes, size_t *ret_count, struct err_detail *detail)
{
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	err_t err = database_query(database, sql, parameters_count, parameters, &result, detail);
	if (err)
		return err;
	*ret_count = (size_t)PQntuples(result);
	*ret_episodes = ARENA_ARRAY(arena, struct drift_episode, *ret_count);
	for (size_t i = 0; i < *ret_count; i++)
		(*ret_episodes)[i] = episode_at(result, (int)i, arena);
	return ERR_OK;
}

/* Others may claim at the same time, or hold a row. */
#define CLAIM                                                                                                \
	"WITH claimed AS (UPDATE calibration_drift_episodes SET claimed_until = "                            \
	"now() + $2::bigint * interval '1 millisecond' WHERE id IN (SELECT id FROM "                         \
	"calibration_drift_episodes WHERE published_at IS NULL AND coalesce(claimed_until, '-infinity') "    \
	"<= now() ORDER BY opened_at, id LIMIT $1::bigint FOR UPDATE SKIP LOCKED) RETURNING *) "             \
	"SELECT " COLUMNS_OF("claimed") "ORDER BY opened_at, id"

err_t episodes_claim(struct database *database, size_t most, int64_t claim_ms, struct arena *arena,
		     struct drift_episode **ret_episodes, size_t *ret_count, struct err_detail *detail)
{
	struct database_number_text limit, claim;
	const char *const parameters[] = { database_number_text(&limit, (int64_t)most),
					   database_number_text(&claim, claim_ms) };
	return read_episodes(database, CLAIM, 2, parameters, arena, ret_episodes, ret_count, detail);
}

err_t episodes_release(struct database *database, const char *id, struct err_detail *detail)
{
	const char *const parameters[] = { id };
	return database_query(database,
			      "UPDATE calibration_drift_episodes SET claimed_until = NULL WHERE id = $1", 1,
			      parameters, NULL, detail);
}

err_t episodes_open(struct database *database, const char *application, struct arena *arena,
		    struct drift_episode **ret_episodes, size_t *ret_count, struct err_detail *detail)
{
	const char *const parameters[] = { application };
	return read_episodes(database,
			     "SELECT " COLUMNS
			     "WHERE closed_at IS NULL AND ($1::text IS NULL OR application = $1) "
			     "ORDER BY application, model, prompt_version, label_source",
			     1, parameters, arena, ret_episodes, ret_count, detail);
}

err_t episodes_set_published(struct database *database, const char *id, struct err_detail *detail)
{
	const char *const parameters[] = { id };
	return database_query(database,
			      "UPDATE calibration_drift_episodes SET published_at = now() "
			      "WHERE id = $1 AND published_at IS NULL",
			      1, parameters, NULL, detail);
}

err_t episodes_open_of(struct database *database, const struct calibration_segment *segments, size_t count,
		       struct arena *arena, struct drift_episode **ret_episodes, size_t *ret_count,
		       struct err_detail *detail)
{
	_cleanup_(segment_arrays_free) struct segment_arrays only = { BUF_INIT, BUF_INIT, BUF_INIT };
	segment_arrays_make(&only, segments, count);
	const char *const parameters[] = { only.application.data, only.model.data, only.prompt_version.data };
	return read_episodes(database,
			     "SELECT " COLUMNS
			     "WHERE closed_at IS NULL AND (application, model, prompt_version) IN "
			     "(SELECT * FROM unnest($1::text[], $2::text[], $3::text[]))",
			     3, parameters, arena, ret_episodes, ret_count, detail);
}
