#include "event/finalise.h"

#include "common/clock.h"
#include "event/candidates.h"
#include "event/context.h"
#include "event/features.h"
#include "event/overall.h"
#include "event/probability.h"
#include "event/record/record.h"

static struct record_sources sources_of(const struct event *event)
{
	const struct judge *judge = event->context->judge;
	struct record_sources sources = {
		.now_ms = clock_wall_ms(),
		.topic = event->origin.topic,
		.partition = event->origin.partition,
		.offset = event->origin.offset,
		.has_judge = judge != NULL,
	};
	if (!judge)
		return sources;
	sources.judge_provider = judge_provider(judge, 0);
	sources.judge_model = judge_model(judge, 0);
	sources.prompt_digest = judge_prompt_digest(judge, 0);
	return sources;
}

void event_finalise(struct event *event)
{
	struct record_facts *facts = &event->facts;
	int64_t started_us = clock_monotonic_us();
	const struct record_sources sources = sources_of(event);
	candidates_settle(facts);
	overall_of_event(facts);
	features_of_event(facts);
	probability_of_event(facts, event->context->models);
	struct scored_query *scored = record_build(facts, &sources);
	record_add_stage(facts, STAGE_FINALISE, "ok", clock_monotonic_us() - started_us);
	scored->stages = facts->stages;
	scored->stages_count = facts->stages_count;
	event->scored = scored;
}
