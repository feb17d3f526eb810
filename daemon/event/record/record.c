#include "event/record/record.h"

#include "common/commit.h"
#include "event/record/builder.h"

const char *record_program_version(void)
{
	return ASSAYD_VERSION ASSAYD_COMMIT;
}

static void recommend(struct record_builder *builder, const char *code, const char *text)
{
	ARENA_PUSH(builder->facts->arena, builder->recommendations, builder->recommendations_count,
		   builder->recommendations_capacity,
		   (struct record_recommendation){ str_from(code), str_from(text) });
}

static void fill_advice(struct record_builder *builder)
{
	const struct record_facts *facts = builder->facts;
	const struct record_analysis *analysis = &facts->analysis;
	struct scored_query *scored = builder->scored;
	enum disposition_action action = facts->disposition.action;
	recommend(builder, disposition_action_name(action), disposition_action_text(action));
	if (analysis->has_retrieval)
		for (size_t i = 0; i < analysis->retrieval.recommendations_count; i++)
			recommend(builder, analysis->retrieval.recommendations[i].code,
				  analysis->retrieval.recommendations[i].text);
	if (scored->judge.decision == DECISION_REJECT || scored->judge.decision == DECISION_WARN)
		recommend(builder, scored->judge.decision == DECISION_REJECT ? "REJECT" : "WARN",
			  evaluation_decision_text((enum evaluation_decision)scored->judge.decision));
	scored->review_required = action <= DISPOSITION_VERIFY;
	scored->recommendations = builder->recommendations;
	scored->recommendations_count = builder->recommendations_count;
}

static void fill_identity(struct record_builder *builder)
{
	const struct record_facts *facts = builder->facts;
	const struct generated_query *query = facts->query;
	struct scored_query *scored = builder->scored;
	scored->event_id = query->event_id;
	scored->occurred_at = query->occurred_at;
	scored->scored_at = builder->sources->now_ms;
	scored->application = query->application;
	scored->model = query->model;
	scored->prompt_version = query->prompt_version;
	scored->target = query->target;
}

static void fill_provenance(struct record_builder *builder)
{
	const struct record_facts *facts = builder->facts;
	const struct record_sources *sources = builder->sources;
	const struct catalog *catalog = facts->analysis.catalog;
	struct record_provenance *provenance = &builder->scored->provenance;
	*provenance = (struct record_provenance){
		.topic = str_present(sources->topic) ? sources->topic : STR(""),
		.partition = sources->partition,
		.offset = sources->offset,
		.program_version = str_from(record_program_version()),
		.config_digest = str_from(config_digest(facts->config)),
		.prompt_digest = builder->prompt_digest,
	};
	if (!catalog)
		return;
	provenance->catalog_digest = str_from(catalog_digest(catalog));
	provenance->catalog_sampled = catalog_dialect(catalog) == SQL_MONGODB;
	if (catalog_read_at_ms(catalog))
		provenance->catalog_age_s =
			opt_double((double)(builder->scored->scored_at - catalog_read_at_ms(catalog)) / 1000);
}

/* All are there when the conclusions begin. */
static void fill_errors(struct record_builder *builder)
{
	builder->scored->errors = builder->facts->errors;
	builder->scored->errors_count = builder->facts->errors_count;
}

struct scored_query *record_build(struct record_facts *facts, const struct record_sources *sources)
{
	struct record_builder builder = {
		.facts = facts,
		.sources = sources,
		.scored = ARENA_NEW(facts->arena, struct scored_query),
		.has_truth = facts->analysis.truths_count > 0 || facts->analysis.truths_left_out,
		.match = match_truth(facts->analysis.similarity),
	};
	if (record_hides_literals(&builder))
		record_redact_texts(&builder);
	fill_identity(&builder);
	record_build_input(&builder);
	record_build_confidence(&builder);
	record_build_safety(&builder);
	record_build_result(&builder);
	record_redact_verdicts(&builder);
	record_build_judge(&builder);
	record_build_structure(&builder);
	record_build_rules(&builder);
	fill_provenance(&builder);
	fill_errors(&builder);
	record_read(builder.scored, &builder.reading);
	record_build_grading(&builder);
	record_build_known_wrong(&builder);
	record_build_evaluation(&builder);
	record_build_label(&builder);
	record_finish_errors(&builder);
	record_build_disposition(&builder);
	fill_advice(&builder);
	return builder.scored;
}
