/* The second half of an event's way: all answers are in; builds the scored record. */
#include "event/outcome.h"

#include "common/clock.h"
#include "event/pipeline.h"

static void recommend(struct outcome *outcome, const char *code, const char *text)
{
	ARENA_PUSH(outcome->event->arena, outcome->recommendations, outcome->recommendations_count,
		   outcome->recommendations_capacity,
		   (struct record_recommendation){ str_from(code), str_from(text) });
}

static void fill_advice(struct outcome *outcome)
{
	const struct event *event = outcome->event;
	const struct event_analysis *analysis = &event->analysis;
	struct scored_query *scored = outcome->scored;
	bool review = false;
	if (analysis->overall.confidence.set) {
		recommend(outcome, confidence_level_name((enum confidence_level)analysis->overall.level),
			  level_action(analysis->overall.level));
		review |= analysis->overall.level <= SCORE_LOW;
	}
	if (analysis->has_retrieval) {
		for (size_t i = 0; i < analysis->retrieval.recommendations_count; i++)
			recommend(outcome, analysis->retrieval.recommendations[i].code,
				  analysis->retrieval.recommendations[i].text);
		review |= analysis->retrieval.level <= SCORE_LOW;
	}
	if (scored->judge.decision == DECISION_REJECT || scored->judge.decision == DECISION_WARN)
		recommend(outcome, scored->judge.decision == DECISION_REJECT ? "REJECT" : "WARN",
			  relevance_decision_text((enum relevance_decision)scored->judge.decision));
	if (outcome->result.state == METRIC_COMPUTED)
		review |= truth_match_needs_review(&outcome->match, outcome->result.value);
	scored->review_required = review;
	scored->recommendations = outcome->recommendations;
	scored->recommendations_count = outcome->recommendations_count;
}

static void fill_identity(struct outcome *outcome)
{
	const struct event *event = outcome->event;
	const struct generated_query *query = event->query;
	struct scored_query *scored = outcome->scored;
	scored->event_id = query->event_id;
	scored->occurred_at = query->occurred_at;
	scored->scored_at = clock_wall_ms();
	scored->application = query->application;
	scored->model = query->model;
	scored->prompt_version = query->prompt_version;
	scored->target = query->target;
}

static void fill_provenance(struct outcome *outcome)
{
	struct event *event = outcome->event;
	const struct catalog *catalog = event->analysis.catalog;
	struct record_provenance *provenance = &outcome->scored->provenance;
	*provenance = (struct record_provenance){
		.topic = str_present(event->origin.topic) ? event->origin.topic : STR(""),
		.partition = event->origin.partition,
		.offset = event->origin.offset,
		.program_version = STR(ASSAYD_VERSION),
		.config_digest = str_from(config_digest(event->config)),
		.prompt_digest = outcome->prompt_digest,
	};
	if (!catalog)
		return;
	provenance->catalog_digest = str_from(catalog_digest(catalog));
	if (catalog_read_at_ms(catalog))
		provenance->catalog_age_s =
			opt_double((double)(outcome->scored->scored_at - catalog_read_at_ms(catalog)) / 1000);
}

void event_finalise(struct event *event)
{
	struct outcome outcome = {
		.event = event,
		.scored = ARENA_NEW(event->arena, struct scored_query),
		.has_truth = event->analysis.truths_count > 0 || event->analysis.truths_left_out,
		.match = truth_match(event->analysis.similarity),
	};
	int64_t started_us = clock_monotonic_us();
	if (outcome_hides_literals(&outcome))
		sql_redact(event->query->sql, event->analysis.dialect, event->arena, &outcome.redaction);
	fill_identity(&outcome);
	outcome_input(&outcome);
	outcome_confidence(&outcome);
	outcome_safety(&outcome);
	outcome_result(&outcome);
	outcome_judge(&outcome);
	outcome_structure(&outcome);
	outcome_grading(&outcome);
	outcome_evaluation(&outcome);
	outcome_label(&outcome);
	fill_advice(&outcome);
	fill_provenance(&outcome);
	event_add_stage(event, "finalise", "ok", clock_monotonic_us() - started_us);
	if (outcome_hides_literals(&outcome))
		outcome_redact_errors(&outcome);
	outcome.scored->errors = event->errors;
	outcome.scored->errors_count = event->errors_count;
	outcome.scored->stages = event->stages;
	outcome.scored->stages_count = event->stages_count;
	event->scored = outcome.scored;
}
