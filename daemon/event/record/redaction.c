/* What a record may show of the texts. */
#include "event/record/builder.h"
#include "sql/redact.h"

bool record_hides_literals(const struct record_builder *builder)
{
	return builder->facts->config->records.redact_literals;
}

/* Offsets count in the SQL that the record carries. */
int64_t record_offset(const struct record_builder *builder, int64_t offset)
{
	bool mapped = record_hides_literals(builder) && builder->facts->config->records.embed_input;
	return mapped ? sql_redaction_offset(&builder->redaction, offset) : offset;
}

str_t record_message(const struct record_builder *builder, str_t message)
{
	if (!record_hides_literals(builder))
		return message;
	return sql_redaction_message(&builder->redaction, message, builder->facts->arena);
}

/* Without the literals of any of the texts. */
static str_t without_literals(const struct record_builder *builder, str_t message)
{
	struct record_facts *facts = builder->facts;
	const struct record_analysis *analysis = &facts->analysis;
	if (!record_hides_literals(builder) || !str_present(message))
		return message;
	message = record_message(builder, message);
	for (size_t i = 0; i < analysis->truth_queries_count; i++) {
		struct sql_redaction truth;
		sql_redact(analysis->truth_texts[i], analysis->dialect, facts->arena, &truth);
		message = sql_redaction_message(&truth, message, facts->arena);
	}
	return message;
}

/* A server quotes values that it has computed and cells, of which no text knows. */
str_t record_server_message(const struct record_builder *builder, str_t message)
{
	if (!record_hides_literals(builder) || !str_present(message))
		return message;
	return without_literals(builder, sql_redaction_quotations(message, builder->facts->arena));
}

void record_redact_errors(struct record_builder *builder)
{
	struct record_facts *facts = builder->facts;
	for (size_t i = 0; i < facts->errors_count; i++)
		facts->errors[i].message = without_literals(builder, facts->errors[i].message);
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

void record_build_input(struct record_builder *builder)
{
	struct record_facts *facts = builder->facts;
	const struct config *config = facts->config;
	if (!config->records.embed_input)
		return;
	if (!config->records.redact_literals) {
		builder->scored->input = facts->query;
		return;
	}
	struct generated_query *redacted = ARENA_NEW(facts->arena, struct generated_query);
	enum sql_dialect dialect = facts->analysis.dialect;
	*redacted = *facts->query;
	redacted->sql = builder->redaction.text;
	redacted->candidates = ARENA_ARRAY(facts->arena, struct candidate, redacted->candidates_count);
	for (size_t i = 0; i < redacted->candidates_count; i++)
		redacted->candidates[i] = (struct candidate){
			.sql = sql_redact_literals(facts->query->candidates[i].sql, dialect, facts->arena),
			.model = facts->query->candidates[i].model,
		};
	if (redacted->ground_truth) {
		struct ground_truth *truth = ARENA_NEW(facts->arena, struct ground_truth);
		*truth = *redacted->ground_truth;
		if (str_present(truth->sql))
			truth->sql = sql_redact_literals(truth->sql, dialect, facts->arena);
		truth->alternatives = ARENA_ARRAY(facts->arena, str_t, truth->alternatives_count);
		for (size_t i = 0; i < truth->alternatives_count; i++)
			truth->alternatives[i] = sql_redact_literals(redacted->ground_truth->alternatives[i],
								     dialect, facts->arena);
		redact_tables(truth, facts->arena);
		redacted->ground_truth = truth;
	}
	builder->scored->input = redacted;
}
