/* What a record may show of the texts. */
#include "event/record/builder.h"
#include "sql/redact.h"

#include <jansson.h>

#define MAX_ERROR_SQL_BYTES 400

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

/* All texts of the event, in the order of the event. */
void record_redact_texts(struct record_builder *builder)
{
	struct record_facts *facts = builder->facts;
	const struct generated_query *query = facts->query;
	const struct ground_truth *truth = query->ground_truth;
	size_t alternatives = truth ? truth->alternatives_count : 0, count = 0;
	struct sql_redaction *texts =
		ARENA_ARRAY(facts->arena, struct sql_redaction, 2 + alternatives + query->candidates_count);
	enum sql_dialect dialect = facts->analysis.dialect;
	sql_redact(query->sql, dialect, facts->arena, &texts[count++]);
	if (truth)
		sql_redact(truth->sql, dialect, facts->arena, &texts[count++]);
	for (size_t i = 0; i < alternatives; i++)
		sql_redact(truth->alternatives[i], dialect, facts->arena, &texts[count++]);
	for (size_t i = 0; i < query->candidates_count; i++)
		sql_redact(query->candidates[i].sql, dialect, facts->arena, &texts[count++]);
	builder->redaction = texts[0];
	builder->redactions = texts;
	builder->redactions_count = count;
}

str_t record_foreign_message(const struct record_builder *builder, str_t message)
{
	for (size_t i = 0; i < builder->redactions_count && str_present(message); i++)
		message = sql_redaction_message(&builder->redactions[i], message, builder->facts->arena);
	return message;
}

/* A server quotes values that it has computed and cells, of which no text knows. */
str_t record_server_message(const struct record_builder *builder, str_t message)
{
	if (!record_hides_literals(builder) || !str_present(message))
		return message;
	return record_foreign_message(builder, sql_redaction_quotations(message, builder->facts->arena));
}

/* `text` as in struct record_error. */
static str_t shown_sql(const struct record_builder *builder, size_t text)
{
	const struct record_facts *facts = builder->facts;
	const struct generated_query *query = facts->query;
	str_t sql = query->sql;
	if (!facts->config->records.embed_input)
		return STR_NONE;
	if (record_hides_literals(builder))
		sql = builder->redactions[text].text;
	else if (text > 0)
		sql = text == 1 ? query->ground_truth->sql : query->ground_truth->alternatives[text - 2];
	return arena_excerpt(facts->arena, sql, MAX_ERROR_SQL_BYTES);
}

void record_finish_errors(struct record_builder *builder)
{
	struct record_facts *facts = builder->facts;
	for (size_t i = 0; i < facts->errors_count; i++) {
		struct record_error *error = &facts->errors[i];
		error->message = record_foreign_message(builder, error->message);
		error->sql = shown_sql(builder, error->text);
	}
}

/* Also what several judges say is made of them. */
void record_redact_verdicts(struct record_builder *builder)
{
	struct record_judging *judging = &builder->facts->judging;
	for (size_t i = 0; i < judging->members_count; i++)
		for (size_t question = 0; question < JUDGE_QUESTIONS; question++) {
			struct judge_verdict *verdict = &judging->members[i].calls[question].verdict;
			verdict->reason = record_foreign_message(builder, verdict->reason);
			verdict->message = record_foreign_message(builder, verdict->message);
		}
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

static str_t *redacted_messages(const struct record_builder *builder, const str_t *messages, size_t count)
{
	str_t *redacted = ARENA_ARRAY(builder->facts->arena, str_t, count);
	for (size_t i = 0; i < count; i++)
		redacted[i] = record_foreign_message(builder, messages[i]);
	return redacted;
}

/* What others have said of the SQL. */
static void redact_upstream(const struct record_builder *builder, struct generated_query *query)
{
	struct arena *arena = builder->facts->arena;
	if (query->diagnostic) {
		struct upstream_diagnostic *diagnostic = ARENA_NEW(arena, struct upstream_diagnostic);
		*diagnostic = *query->diagnostic;
		diagnostic->errors = redacted_messages(builder, diagnostic->errors, diagnostic->errors_count);
		diagnostic->warnings =
			redacted_messages(builder, diagnostic->warnings, diagnostic->warnings_count);
		query->diagnostic = diagnostic;
	}
	if (query->validator) {
		struct upstream_validator *validator = ARENA_NEW(arena, struct upstream_validator);
		*validator = *query->validator;
		validator->errors = redacted_messages(builder, validator->errors, validator->errors_count);
		query->validator = validator;
	}
}

/* Of the members that the reply was to have, which there are and whether they are null. */
static void keep_members(const json_t *from, const str_t *names, size_t count, json_t *to)
{
	for (size_t i = 0; i < count; i++) {
		const json_t *value =
			names[i].ptr ? json_object_getn(from, names[i].ptr, names[i].len) : NULL;
		if (value)
			json_object_setn_new_nocheck(to, names[i].ptr, names[i].len,
						     json_is_null(value) ? json_null() : json_string("?"));
	}
}

/* A reply holds SQL and prose in whatever form its model chose. What its quality follows from is left. */
static void redact_response(struct generated_query *query, struct arena *arena)
{
	struct model_response *response = ARENA_NEW(arena, struct model_response);
	*response = *query->response;
	query->response = response;
	json_t *object = json_loadb(response->raw.ptr, response->raw.len, JSON_ALLOW_NUL, NULL);
	json_t *kept = json_object();
	keep_members(object, response->required_fields, response->required_fields_count, kept);
	keep_members(object, response->optional_fields, response->optional_fields_count, kept);
	char *text = json_is_object(object) ? json_dumps(kept, JSON_COMPACT) : NULL;
	response->raw = text ? arena_text(arena, text, strlen(text)) : STR("?");
	free(text);
	json_decref(kept);
	json_decref(object);
}

/* The truths' SQL; `texts` are the redacted ones, in the order of record_redact_texts. */
static void redact_truth(const struct sql_redaction *texts, struct generated_query *query,
			 struct arena *arena)
{
	struct ground_truth *truth = ARENA_NEW(arena, struct ground_truth);
	*truth = *query->ground_truth;
	truth->sql = texts[0].text;
	truth->alternatives = ARENA_ARRAY(arena, str_t, truth->alternatives_count);
	for (size_t i = 0; i < truth->alternatives_count; i++)
		truth->alternatives[i] = texts[1 + i].text;
	redact_tables(truth, arena);
	query->ground_truth = truth;
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
	*redacted = *facts->query;
	redacted->sql = builder->redaction.text;
	if (redacted->ground_truth)
		redact_truth(builder->redactions + 1, redacted, facts->arena);
	const struct sql_redaction *texts =
		builder->redactions + builder->redactions_count - redacted->candidates_count;
	redacted->candidates = ARENA_ARRAY(facts->arena, struct candidate, redacted->candidates_count);
	for (size_t i = 0; i < redacted->candidates_count; i++)
		redacted->candidates[i] =
			(struct candidate){ texts[i].text, facts->query->candidates[i].model };
	redact_upstream(builder, redacted);
	if (redacted->response)
		redact_response(redacted, facts->arena);
	builder->scored->input = redacted;
}
