#include "kafka/trails.h"

#include <stdlib.h>
#include <string.h>

void trails_clear(struct trails *trails)
{
	for (size_t i = 0; i < trails->count; i++)
		free(trails->items[i].arrivals);
	free(trails->items);
	*trails = (struct trails){ 0 };
}

void trails_add(struct trails *trails, int32_t partition, int64_t next, struct witness witness)
{
	struct trail *larger = reallocarray(trails->items, trails->count + 1, sizeof *larger);
	if (!larger)
		abort();
	trails->items = larger;
	trails->items[trails->count++] = (struct trail){
		.partition = partition, .next = next, .base = witness, .newest = witness, .low = -1, .end = -1
	};
}

struct trail *trails_find(const struct trails *trails, int32_t partition)
{
	for (size_t i = 0; i < trails->count; i++)
		if (trails->items[i].partition == partition)
			return &trails->items[i];
	return NULL;
}

void trails_note(struct trails *trails, int32_t partition, struct witness arrival)
{
	struct trail *trail = trails_find(trails, partition);
	if (!trail)
		return;
	trail->newest = arrival;
	trail->next = arrival.offset + 1;
	if (trail->count == TRAILS_MAX)
		return;
	if (trail->count == trail->capacity) {
		trail->capacity = trail->capacity ? 2 * trail->capacity : 64;
		trail->arrivals = reallocarray(trail->arrivals, trail->capacity, sizeof *trail->arrivals);
		if (!trail->arrivals)
			abort();
	}
	trail->arrivals[trail->count++] = arrival;
	trails->full |= trail->count > TRAILS_MAX / 2;
}

void trails_pass(struct trails *trails, int32_t partition, int64_t end)
{
	struct trail *trail = trails_find(trails, partition);
	if (trail && trail->next >= 0 && end > trail->next)
		trail->next = end;
}

struct topic_probe_question *trails_questions(struct trails *trails)
{
	struct topic_probe_question *questions = calloc(trails->count + 1, sizeof *questions);
	if (!questions)
		abort();
	for (size_t i = 0; i < trails->count; i++) {
		struct trail *trail = &trails->items[i];
		struct witness known = trail->base;
		if (!known.sign && trail->count)
			known = trail->arrivals[0];
		trail->asked = trail->newest;
		questions[i] = (struct topic_probe_question){ trail->partition, trail->next, known };
	}
	return questions;
}

void trails_confirm(struct trails *trails, struct trail *trail)
{
	size_t gone = 0;
	if (trail->asked.sign)
		trail->base = trail->asked;
	while (gone < trail->count && trail->arrivals[gone].offset <= trail->asked.offset)
		gone++;
	trail->count -= gone;
	if (trail->count)
		memmove(trail->arrivals, trail->arrivals + gone, trail->count * sizeof *trail->arrivals);
	trails->full = false;
	for (size_t i = 0; i < trails->count; i++)
		trails->full |= trails->items[i].count > TRAILS_MAX / 2;
}
