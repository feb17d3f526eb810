#include "command/remembered.h"

#include "calibration/store/cases.h"
#include "common/clock.h"
#include "common/log.h"
#include "database/values.h"

#define PATIENCE_US INT64_C(2000000)

#define PLACES                                                                                               \
	"SELECT partition, record_offset FROM calibration_events WHERE event_key = $1::uuid ORDER BY "       \
	"scored_at DESC LIMIT 8"
_Static_assert(REMEMBERED_MAX == 8, "PLACES has it as a literal");

void remembered_places(const struct config *config, str_t event_id, struct arena *arena,
		       struct topic_span **ret_spans, size_t *ret_count)
{
	const struct config_calibration *calibration = &config->calibration;
	const struct calibration_event_key key = calibration_event_key(event_id);
	const char *const parameters[] = { key.text };
	_cleanup_(database_cleanup) struct database *database = NULL;
	_cleanup_(database_result_cleanup) PGresult *result = NULL;
	*ret_spans = ARENA_ARRAY(arena, struct topic_span, REMEMBERED_MAX);
	*ret_count = 0;
	if (!calibration->configured || !calibration->dsn || calibration->feedback_horizon_s == 0)
		return;
	log_set_level(LOG_LEVEL_ERROR);
	database = database_new(calibration->dsn, calibration->password_file);
	database_set_application(database, "assayd show");
	database_limit_waits(database, clock_monotonic_us() + PATIENCE_US);
	if (database_connect(database, NULL, NULL) ||
	    database_query(database, PLACES, 1, parameters, &result, NULL))
		return;
	for (int row = 0; row < PQntuples(result); row++) {
		int64_t offset = database_integer_at(result, row, 1);
		(*ret_spans)[(*ret_count)++] =
			(struct topic_span){ .topic = config->kafka.scored_topic,
					     .partition = (int32_t)database_integer_at(result, row, 0),
					     .from = offset,
					     .until = offset + 1 };
	}
}
