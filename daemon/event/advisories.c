#include "event/advisories.h"

#include "common/clock.h"
#include "event/context.h"
#include "event/incidents.h"
#include "event/rate_limiter.h"
#include "score/match.h"

#include <inttypes.h>

struct raised {
	struct event *event;
	struct advisory *list;
	size_t count;
	str_t segment;
};

static str_t segment_of(struct event *event)
{
	const struct generated_query *query = event->facts.query;
	return arena_printf(event->arena, STR_FMT "\n" STR_FMT "\n" STR_FMT, STR_ARG(query->application),
			    STR_ARG(query->model), STR_ARG(query->prompt_version));
}

/* The advisory with the event's identity, or NULL when the rate limiter holds it back. */
static struct advisory *raise(struct raised *raised, enum advisory_kind kind, const char *event_type)
{
	struct event *event = raised->event;
	const struct generated_query *query = event->facts.query;
	const struct scored_query *scored = event->scored;
	const struct event_origin *origin = &event->origin;
	int64_t suppressed = 0, now_us = clock_monotonic_us();
	if (!rate_limiter_pass(event->context->rate_limiter, (int)kind, raised->segment,
			       (unsigned)event->config->advisories.max_per_minute, now_us, &suppressed)) {
		incidents_note(event->context->incidents, INCIDENT_ADVISORY_HELD_BACK, kind, origin,
			       query->application, now_us);
		return NULL;
	}
	struct advisory *advisory = &raised->list[raised->count++];
	*advisory = (struct advisory){
		.advisory_id = arena_printf(event->arena, STR_FMT "-%" PRId32 "-%" PRId64 "-%s",
					    STR_ARG(origin->topic), origin->partition, origin->offset,
					    advisory_kind_name(kind)),
		.kind = (int)kind,
		.event_type = str_from(event_type),
		.raised_at = scored->scored_at,
		.level = scored->confidence.level,
		.limiting_factor = scored->confidence.limiting_factor,
		.event_id = query->event_id,
		.occurred_at = { true, query->occurred_at },
		.application = query->application,
		.model = query->model,
		.prompt_version = query->prompt_version,
		.target = query->target,
		.suppressed = suppressed,
	};
	if (str_present(origin->topic)) {
		advisory->topic = origin->topic;
		advisory->partition = (opt_int64_t){ true, origin->partition };
		advisory->offset = (opt_int64_t){ true, origin->offset };
	}
	return advisory;
}

static void raise_low_confidence(struct raised *raised)
{
	struct event *event = raised->event;
	const struct record_confidence *confidence = &event->scored->confidence;
	const struct config_advisories *rules = &event->config->advisories;
	bool by_probability = event->facts.analysis.level_by_probability;
	opt_double_t value =
		by_probability ? opt_double(confidence->probability->value) : confidence->overall;
	if (!value.set || value.value >= rules->low_confidence_below)
		return;
	bool rag = confidence->advisory && confidence->advisory->confidence < rules->advisory_only_below;
	struct advisory *advisory = raise(raised, ADVISORY_LOW_CONFIDENCE,
					  rag ? "RAG_ADVISORY_LOW_CONFIDENCE" : "QUERY_LOW_CONFIDENCE");
	if (!advisory)
		return;
	advisory->threshold = opt_double(rules->low_confidence_below);
	const char *action = disposition_action_text(event->facts.disposition.action);
	advisory->value = value;
	if (by_probability)
		advisory->summary = arena_printf(
			event->arena, "The answer is right with probability %.2f, which is below %.2f: %s",
			value.value, rules->low_confidence_below, action);
	else
		advisory->summary = arena_printf(event->arena,
						 "Confidence %.2f is below %.2f, limited by " STR_FMT ": %s",
						 value.value, rules->low_confidence_below,
						 STR_ARG(confidence->limiting_factor), action);
}

static void raise_unsafe(struct raised *raised)
{
	struct event *event = raised->event;
	const struct record_safety *safety = &event->scored->safety;
	if (safety->verdict != VERDICT_UNSAFE)
		return;
	struct advisory *advisory = raise(raised, ADVISORY_UNSAFE_QUERY, "UNSAFE_QUERY");
	if (!advisory)
		return;
	const struct record_violation *first = safety->violations_count ? &safety->violations[0] : NULL;
	advisory->summary =
		first ? arena_printf(event->arena,
				     "The query is unsafe and was not run: " STR_FMT " (" STR_FMT ")%s",
				     STR_ARG(first->code), STR_ARG(first->detail),
				     safety->violations_count > 1 ? ", and more" : "")
		      : STR("The query is unsafe and was not run");
}

static void raise_low_relevance(struct raised *raised)
{
	struct event *event = raised->event;
	const struct record_judge *judge = &event->scored->judge;
	double threshold = event->config->advisories.low_relevance_below;
	if (judge->decision == DECISION_UNJUDGED || judge->relevance->score >= threshold)
		return;
	struct advisory *advisory = raise(raised, ADVISORY_LOW_RELEVANCE, "LOW_RELEVANCE");
	if (!advisory)
		return;
	advisory->threshold = opt_double(threshold);
	advisory->value = opt_double(judge->relevance->score);
	advisory->summary =
		arena_printf(event->arena, "The judge%s %.*f of 100 for relevance: %.*s",
			     judge->panel_count ? "s give on average" : " gives",
			     panel_decimals(judge->relevance->score), judge->relevance->score,
			     (int)(judge->relevance->reason.len < 400 ? judge->relevance->reason.len : 400),
			     judge->relevance->reason.ptr);
}

static void raise_of_validation(struct raised *raised)
{
	struct event *event = raised->event;
	const struct record_result_validation *validation = event->scored->result_validation;
	const struct config_result *rules = &event->config->result;
	struct advisory *advisory;
	if (!validation)
		return;
	if (str_is(validation->status, target_validation_status_name(VALIDATION_GROUND_TRUTH_FAILED))) {
		advisory = raise(raised, ADVISORY_GROUND_TRUTH_FAILED, "GROUND_TRUTH_FAILED");
		if (advisory)
			advisory->summary = arena_printf(
				event->arena,
				"The ground truth itself does not run (SQLSTATE " STR_FMT
				"); fix the ground truth",
				STR_ARG(str_present(validation->truth.sqlstate) ? validation->truth.sqlstate
										: STR("none")));
	}
	if (!str_is(validation->status, target_validation_status_name(VALIDATION_COMPARED)) ||
	    !match_performance_regressed(validation->generated.time_ms, validation->truth.time_ms,
					 rules->performance_factor, rules->performance_floor_ms))
		return;
	advisory = raise(raised, ADVISORY_PERFORMANCE_REGRESSION, "PERFORMANCE_REGRESSION");
	if (!advisory)
		return;
	advisory->threshold = opt_double(validation->truth.time_ms * rules->performance_factor);
	advisory->value = opt_double(validation->generated.time_ms);
	advisory->summary = arena_printf(event->arena, "The query took %.0f ms, its ground truth %.0f ms",
					 validation->generated.time_ms, validation->truth.time_ms);
}

size_t advisories_of(struct event *event, struct advisory ret_advisories[ADVISORIES_MAX])
{
	struct raised raised = { .event = event, .list = ret_advisories, .segment = segment_of(event) };
	raise_low_confidence(&raised);
	raise_unsafe(&raised);
	raise_low_relevance(&raised);
	raise_of_validation(&raised);
	return raised.count;
}
