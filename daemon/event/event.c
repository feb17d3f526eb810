#include "event/event.h"

#include "common/clock.h"
#include "event/pipeline.h"

#include <assert.h>

#define MAGIC 0x65766e74u

struct event *event_new(struct pipeline *pipeline, str_t raw, str_t key, const struct event_origin *origin)
{
	struct arena *arena = arena_new();
	struct event *event = ARENA_NEW(arena, struct event);
	event->magic = MAGIC;
	event->pipeline = pipeline;
	event->arena = arena;
	event->config = pipeline_config(pipeline);
	event->received_us = clock_monotonic_us();
	event->raw = arena_text(arena, raw.ptr ? raw.ptr : "", raw.len);
	event->key = arena_str(arena, key);
	if (origin)
		event->origin = *origin;
	event->origin.topic = arena_str(arena, event->origin.topic);
	atomic_init(&event->step, STEP_RECEIVED);
	pipeline_count(pipeline, STEP_RECEIVED, 1);
	atomic_init(&event->pending, 0);
	return event;
}

void event_free(struct event *event)
{
	if (!event)
		return;
	assert(event->magic == MAGIC);
	event->magic = 0;
	pipeline_count(event->pipeline, atomic_load(&event->step), -1);
	catalog_unref(event->analysis.catalog);
	config_unref(event->config);
	buf_free(&event->encoded);
	arena_free(event->arena);
}

void event_set_step(struct event *event, enum step step)
{
	assert(event->magic == MAGIC);
	if (!step_allowed(atomic_load(&event->step), step)) {
		fprintf(stderr, "assayd: an event cannot go from %s to %s\n",
			step_name(atomic_load(&event->step)), step_name(step));
		abort();
	}
	pipeline_count(event->pipeline, atomic_load(&event->step), -1);
	pipeline_count(event->pipeline, step, 1);
	atomic_store(&event->step, step);
}

void event_add_stage(struct event *event, const char *name, const char *status, int64_t duration_us)
{
	if (event->stages_count < EVENT_STAGES_MAX)
		event->stages[event->stages_count++] =
			(struct record_stage){ str_from(name), str_from(status), duration_us };
}

void event_add_error(struct event *event, const char *metric, err_t err, const char *message)
{
	if (event->errors_count == EVENT_ERRORS_MAX)
		return;
	event->errors[event->errors_count++] = (struct record_error){
		.metric = str_from(metric),
		.code = str_from(err_name(err)),
		.message = str_from(arena_strdup(event->arena, message)),
		.input = event->query ? event->query->event_id : STR_NONE,
		.time = clock_wall_ms(),
	};
}

void event_kill(struct event *event, err_t reason, const char *detail)
{
	event_set_step(event, STEP_DEAD);
	event->dead_reason = reason;
	event->dead_detail = str_from(arena_strdup(event->arena, detail));
}
