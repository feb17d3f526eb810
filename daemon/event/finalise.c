#include "event/finalise.h"

#include "common/clock.h"
#include "event/archiving.h"
#include "event/candidates.h"
#include "event/context.h"
#include "event/features.h"
#include "event/overall.h"
#include "event/probability.h"
#include "event/record/record.h"

static struct record_sources sources_of(const struct event *event)
{
	return (struct record_sources){
		.now_ms = clock_wall_ms(),
		.topic = event->origin.topic,
		.partition = event->origin.partition,
		.offset = event->origin.offset,
		.judge = event->context->judge,
	};
}

void event_finalise(struct event *event)
{
	struct record_facts *facts = &event->facts;
	int64_t started_us = clock_monotonic_us();
	const struct record_sources sources = sources_of(event);
	candidates_settle(facts);
	record_settle_judging(facts);
	overall_of_event(facts);
	features_of_event(facts);
	probability_of_event(facts, event->context->models, event->context->archive);
	struct scored_query *scored = record_build(facts, &sources);
	record_add_stage(facts, STAGE_FINALISE, "ok", clock_monotonic_us() - started_us);
	scored->stages = facts->stages;
	scored->stages_count = facts->stages_count;
	event->scored = scored;
	archiving_of_event(event);
}
