/* What a record may show of the texts. */
#include "event/outcome.h"

bool outcome_hides_literals(const struct outcome *outcome)
{
	return outcome->event->config->records.redact_literals;
}

/* Offsets count in the SQL that the record carries. */
int64_t outcome_offset(const struct outcome *outcome, int64_t offset)
{
	bool mapped = outcome_hides_literals(outcome) && outcome->event->config->records.embed_input;
	return mapped ? sql_redaction_offset(&outcome->redaction, offset) : offset;
}

str_t outcome_message(const struct outcome *outcome, str_t message)
{
	if (!outcome_hides_literals(outcome))
		return message;
	return sql_redaction_message(&outcome->redaction, message, outcome->event->arena);
}

/* Without the literals of any of the texts. */
static str_t without_literals(const struct outcome *outcome, str_t message)
{
	struct event *event = outcome->event;
	const struct event_analysis *analysis = &event->analysis;
	if (!outcome_hides_literals(outcome) || !str_present(message))
		return message;
	message = outcome_message(outcome, message);
	for (size_t i = 0; i < analysis->truth_queries_count; i++) {
		struct sql_redaction truth;
		sql_redact(analysis->truth_texts[i], analysis->dialect, event->arena, &truth);
		message = sql_redaction_message(&truth, message, event->arena);
	}
	return message;
}

/* A server quotes values that it has computed and cells, of which no text knows. */
str_t outcome_server_message(const struct outcome *outcome, str_t message)
{
	if (!outcome_hides_literals(outcome) || !str_present(message))
		return message;
	return without_literals(outcome, sql_redaction_quotations(message, outcome->event->arena));
}

void outcome_redact_errors(struct outcome *outcome)
{
	struct event *event = outcome->event;
	for (size_t i = 0; i < event->errors_count; i++)
		event->errors[i].message = without_literals(outcome, event->errors[i].message);
}

/* The cells of a truth are what literals are in SQL: which of them are NULL is left. */
static void redact_tables(struct ground_truth *truth, struct arena *arena)
{
	const struct truth_table *tables = truth->results;
	truth->results = ARENA_ARRAY(arena, struct truth_table, truth->results_count);
	for (size_t i = 0; i < truth->results_count; i++) {
		truth->results[i] = tables[i];
		truth->results[i].rows = ARENA_ARRAY(arena, struct truth_row, tables[i].rows_count);
		for (size_t row = 0; row < tables[i].rows_count; row++) {
			const struct truth_row *from = &tables[i].rows[row];
			str_t *cells = ARENA_ARRAY(arena, str_t, from->cells_count);
			for (size_t cell = 0; cell < from->cells_count; cell++)
				cells[cell] = str_present(from->cells[cell]) ? STR("?") : STR_NONE;
			truth->results[i].rows[row] = (struct truth_row){ cells, from->cells_count };
		}
	}
}

void outcome_input(struct outcome *outcome)
{
	struct event *event = outcome->event;
	const struct config *config = event->config;
	if (!config->records.embed_input)
		return;
	if (!config->records.redact_literals) {
		outcome->scored->input = event->query;
		return;
	}
	struct generated_query *redacted = ARENA_NEW(event->arena, struct generated_query);
	enum sql_dialect dialect = event->analysis.dialect;
	*redacted = *event->query;
	redacted->sql = outcome->redaction.text;
	if (redacted->ground_truth) {
		struct ground_truth *truth = ARENA_NEW(event->arena, struct ground_truth);
		*truth = *redacted->ground_truth;
		if (str_present(truth->sql))
			truth->sql = sql_redact_literals(truth->sql, dialect, event->arena);
		truth->alternatives = ARENA_ARRAY(event->arena, str_t, truth->alternatives_count);
		for (size_t i = 0; i < truth->alternatives_count; i++)
			truth->alternatives[i] = sql_redact_literals(redacted->ground_truth->alternatives[i],
								     dialect, event->arena);
		redact_tables(truth, event->arena);
		redacted->ground_truth = truth;
	}
	outcome->scored->input = redacted;
}
