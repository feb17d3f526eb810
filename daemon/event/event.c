#include "event/event.h"

#include "avro/framing.h"
#include "common/clock.h"
#include "common/terminal.h"
#include "event/context.h"

#include <assert.h>

#define MAGIC 0x65766e74u

enum {
	MESSAGE_BYTES = 512, /* what librdkafka 2.0.2 takes for a message beyond key and value: the message
				itself, its headers, its report */
	OUTPUT_BYTES = 8192, /* of outputs, beside the message that they are about, and of what they tell */
};

struct event *event_new(struct event_context *context, struct config *config, str_t raw, str_t key,
			const struct event_origin *origin)
{
	struct arena *arena = arena_new();
	struct event *event = ARENA_NEW(arena, struct event);
	event->magic = MAGIC;
	event->context = context;
	event->arena = event->facts.arena = arena;
	event->config = config;
	event->facts.config = config;
	event->received_us = clock_monotonic_us();
	event->raw = arena_text(arena, raw.ptr ? raw.ptr : "", raw.len);
	event->tombstone = !raw.ptr;
	event->key = arena_str(arena, key);
	if (origin)
		event->origin = *origin;
	event->origin.topic = arena_str(arena, event->origin.topic);
	atomic_init(&event->step, STEP_RECEIVED);
	step_count(context->steps, STEP_RECEIVED, 1);
	atomic_init(&event->pending, 0);
	return event;
}

void event_free(struct event *event)
{
	if (!event)
		return;
	assert(event->magic == MAGIC);
	event->magic = 0;
	step_count(event->context->steps, atomic_load(&event->step), -1);
	catalog_unref(event->facts.analysis.catalog);
	config_unref(event->config);
	buf_free(&event->encoded);
	arena_free(event->arena);
}

str_t event_schema_header(const struct event *event)
{
	for (size_t i = 0; i < event->headers_count; i++)
		if (strcmp(event->headers[i].name, FRAMING_HEADER) == 0)
			return event->headers[i].value;
	return STR_NONE;
}

size_t event_held_bytes(const struct event *event)
{
	const struct publication *publication = &event->publication;
	size_t bytes = arena_size_bytes(event->arena) + event->encoded.capacity;
	if (publication->outputs_count == 0)
		return bytes + event->raw.len + OUTPUT_BYTES; /* outputs contain the message */
	if (atomic_load(&event->step) == STEP_IN_TXN)
		bytes += publication->bytes + publication->outputs_count * MESSAGE_BYTES;
	return bytes;
}

void event_set_step(struct event *event, enum step step)
{
	assert(event->magic == MAGIC);
	if (!step_allowed(atomic_load(&event->step), step)) {
		fprintf(stderr, "assayd: an event cannot go from %s to %s\n",
			step_name(atomic_load(&event->step)), step_name(step));
		abort();
	}
	step_count(event->context->steps, atomic_load(&event->step), -1);
	step_count(event->context->steps, step, 1);
	atomic_store(&event->step, step);
}

void event_kill(struct event *event, err_t reason, const char *detail)
{
	_cleanup_(buf_free) struct buf shown = BUF_INIT;
	event_set_step(event, STEP_DEAD);
	event->dead_reason = reason;
	terminal_append(&shown, str_from(detail));
	event->dead_detail = arena_str(event->arena, buf_str(&shown));
}
