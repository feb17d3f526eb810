#include "event/event_metrics_segments.h"

#include "common/hash.h"
#include "common/utf8.h"

#include <pthread.h>

static const char other[] = "other";

struct event_metrics_segments {
	pthread_mutex_t mutex;
	struct event_metrics_segment *segments; /* the first is of all others */
	size_t count, most;
	bool others;	 /* the first has been counted */
	uint32_t *slots; /* index of a segment, by hash with linear probing; 0: free */
	size_t mask;
};

struct event_metrics_segments *event_metrics_segments_new(size_t max_series)
{
	struct event_metrics_segments *table = calloc(1, sizeof *table);
	size_t slots = 4;
	if (!table)
		abort();
	pthread_mutex_init(&table->mutex, NULL);
	table->most = max_series / EVENT_METRICS_SERIES;
	if (table->most == 0)
		table->most = 1;
	while (slots < 2 * table->most)
		slots *= 2;
	table->mask = slots - 1;
	table->segments = calloc(table->most, sizeof *table->segments);
	table->slots = calloc(slots, sizeof *table->slots);
	if (!table->segments || !table->slots)
		abort();
	memcpy(table->segments[0].application, other, sizeof other);
	memcpy(table->segments[0].model, other, sizeof other);
	table->count = 1;
	return table;
}

void event_metrics_segments_free(struct event_metrics_segments *table)
{
	if (!table)
		return;
	pthread_mutex_destroy(&table->mutex);
	free(table->segments);
	free(table->slots);
	free(table);
}

/* As a label has it: without control characters, cut between two characters; the rest of `ret_name` is 0. */
static void name_of(str_t text, char ret_name[EVENT_METRICS_NAME_SIZE])
{
	size_t len = text.len < EVENT_METRICS_NAME_SIZE ? text.len : EVENT_METRICS_NAME_SIZE - 1;
	memset(ret_name, 0, EVENT_METRICS_NAME_SIZE);
	if (!str_present(text))
		return;
	len = utf8_valid_prefix(text.ptr, len);
	for (size_t i = 0; i < len; i++)
		ret_name[i] = (unsigned char)text.ptr[i] < 0x20 || text.ptr[i] == 0x7f ? ' ' : text.ptr[i];
}

/* The segment of these names, new if need be, or the one of all others. */
static struct event_metrics_segment *find(struct event_metrics_segments *table,
					  const char names[2][EVENT_METRICS_NAME_SIZE])
{
	size_t slot = hash_seeded(names, 2 * EVENT_METRICS_NAME_SIZE) & table->mask;
	for (; table->slots[slot]; slot = (slot + 1) & table->mask) {
		struct event_metrics_segment *segment = &table->segments[table->slots[slot]];
		if (strcmp(segment->application, names[0]) == 0 && strcmp(segment->model, names[1]) == 0)
			return segment;
	}
	if (table->count == table->most || (strcmp(names[0], other) == 0 && strcmp(names[1], other) == 0)) {
		table->others = true;
		return &table->segments[0];
	}
	struct event_metrics_segment *segment = &table->segments[table->count];
	memcpy(segment->application, names[0], EVENT_METRICS_NAME_SIZE);
	memcpy(segment->model, names[1], EVENT_METRICS_NAME_SIZE);
	table->slots[slot] = (uint32_t)table->count++;
	return segment;
}

void event_metrics_segments_count(struct event_metrics_segments *table, const struct scored_query *scored)
{
	char names[2][EVENT_METRICS_NAME_SIZE];
	int level = scored->confidence.level;
	name_of(scored->application, names[0]);
	name_of(scored->model, names[1]);
	pthread_mutex_lock(&table->mutex);
	struct event_metrics_segment *segment = find(table, names);
	segment->levels[level >= 0 ? level : EVENT_METRICS_NO_LEVEL]++;
	segment->verdicts[scored->safety.verdict]++;
	if (scored->label)
		segment->labels[scored->label->source][scored->label->correct]++;
	if (scored->evaluation)
		segment->evaluations[scored->evaluation->passed]++;
	if (scored->disposition)
		segment->actions[scored->disposition->action]++;
	segment->decisions[scored->judge.decision]++;
	pthread_mutex_unlock(&table->mutex);
}

size_t event_metrics_segments_read(const struct event_metrics_segments *segments,
				   struct event_metrics_segment **ret_segments)
{
	struct event_metrics_segments *table = (struct event_metrics_segments *)(uintptr_t)segments;
	*ret_segments = NULL;
	if (!table)
		return 0;
	pthread_mutex_lock(&table->mutex);
	size_t first = !table->others, count = table->count - first;
	struct event_metrics_segment *copy = calloc(count + 1, sizeof *copy);
	if (!copy)
		abort();
	memcpy(copy, &table->segments[first], count * sizeof *copy);
	pthread_mutex_unlock(&table->mutex);
	*ret_segments = copy;
	return count;
}
