/* The conclusion of a record, and what each finding says of this event. */
#include "event/record/builder.h"
#include "event/record/reason.h"

_Static_assert((int)DISPOSITION_USE == (int)RECORD_ACTION_USE, "the records' actions are the same");

void record_build_known_wrong(struct record_builder *builder)
{
	const struct ground_truth *truth = builder->facts->query->ground_truth;
	bool rejected = truth && truth->should_pass.set && !truth->should_pass.value;
	record_known(builder->scored, &builder->reading, rejected, &builder->known);
	builder->wrong = disposition_known_wrong(&builder->known);
}

/* What the reasons say that the record may not have. */
static struct reason_source source_of(const struct record_builder *builder)
{
	const struct record_facts *facts = builder->facts;
	const struct upstream_diagnostic *upstream = facts->query->diagnostic;
	struct reason_source source = {
		.scored = builder->scored,
		.reading = &builder->reading,
		.known = &builder->known,
		.dialect = record_dialect_name(facts->analysis.dialect),
		.word = reason_word(facts->query->sql),
		.event_known = true,
		.similarity = facts->analysis.similarity,
		.upstream = upstream != NULL,
		.upstream_valid = upstream && upstream->valid,
	};
	if (upstream && upstream->errors_count > 0)
		source.upstream_error = record_foreign_message(builder, upstream->errors[0]);
	return source;
}

void record_build_disposition(struct record_builder *builder)
{
	struct record_facts *facts = builder->facts;
	struct disposition *disposition = &facts->disposition;
	const struct record_evaluation *evaluation = builder->scored->evaluation;
	const struct reason_source source = source_of(builder);
	builder->known.not_passed = evaluation && !evaluation->passed;
	disposition_of(&builder->known, disposition);
	struct record_disposition *record = ARENA_NEW(facts->arena, struct record_disposition);
	record->action = (int)disposition->action;
	record->reasons = ARENA_ARRAY(facts->arena, struct record_recommendation, disposition->count);
	record->reasons_count = disposition->count;
	for (size_t i = 0; i < disposition->count; i++)
		record->reasons[i] = (struct record_recommendation){
			str_from(disposition_finding_code(disposition->findings[i])),
			reason_text(&source, disposition->findings[i], i == 0, facts->arena),
		};
	builder->scored->disposition = record;
}
