#include "event/record/facts.h"

#include "common/clock.h"

void record_add_stage(struct record_facts *facts, enum stage stage, const char *status, int64_t duration_us)
{
	if (facts->stages_count < RECORD_STAGES_MAX)
		facts->stages[facts->stages_count++] =
			(struct record_stage){ str_from(stage_name(stage)), str_from(status), duration_us };
}

static void add_error(struct record_facts *facts, size_t text, const char *metric, err_t err,
		      const char *message)
{
	if (facts->errors_count == RECORD_ERRORS_MAX)
		return;
	const struct record_error error = {
		.metric = str_from(metric),
		.code = str_from(err_name(err)),
		.message = str_from(arena_strdup(facts->arena, message)),
		.input = facts->query ? facts->query->event_id : STR_NONE,
		.time = clock_wall_ms(),
		.text = text,
		.err = err,
	};
	ARENA_PUSH(facts->arena, facts->errors, facts->errors_count, facts->errors_capacity, error);
}

void record_add_error(struct record_facts *facts, const char *metric, err_t err, const char *message)
{
	add_error(facts, 0, metric, err, message);
}

bool record_has_error(const struct record_facts *facts, const char *metric, err_t err)
{
	for (size_t i = 0; i < facts->errors_count; i++)
		if (str_is(facts->errors[i].metric, metric) && facts->errors[i].err == err)
			return true;
	return false;
}

void record_add_truth_error(struct record_facts *facts, size_t truth, const char *metric, err_t err,
			    const char *message)
{
	const struct record_analysis *analysis = &facts->analysis;
	bool is_query = truth < analysis->truth_queries_count; /* a table has no text */
	add_error(facts, is_query ? 1 + analysis->truth_places[truth] : 0, metric, err, message);
}

str_t record_truth_name(const struct record_facts *facts, size_t truth)
{
	size_t place = facts->analysis.truth_places[truth];
	size_t alternatives = facts->query->ground_truth->alternatives_count;
	if (place == 0)
		return STR("ground_truth.sql");
	if (place <= alternatives)
		return arena_printf(facts->arena, "ground_truth.alternatives[%zu]", place - 1);
	return arena_printf(facts->arena, "ground_truth.results[%zu]", place - 1 - alternatives);
}

const char *record_dialect_name(enum sql_dialect dialect)
{
	static const char *const names[] = { [SQL_POSTGRESQL] = "PostgreSQL",
					     [SQL_SQLITE] = "SQLite",
					     [SQL_MYSQL] = "MySQL",
					     [SQL_MONGODB] = "MongoDB",
					     [SQL_UNKNOWN_DIALECT] = "an unknown dialect" };
	return names[dialect];
}
