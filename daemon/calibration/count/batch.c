#include "calibration/count/batch.h"

#include "common/clock.h"

static void forget_cases(struct batch *batch)
{
	arena_free(batch->arena);
	batch->arena = NULL;
	batch->cases = NULL;
	batch->cases_count = batch->cases_capacity = 0;
	batch->feedback = NULL;
	batch->feedback_count = batch->feedback_capacity = 0;
	batch->records = batch->labelled = 0;
	batch->expired = 0;
}

static void drop_held(struct batch *batch)
{
	for (size_t i = 0; i < batch->partitions_count; i++) {
		rd_kafka_message_t *message = batch_take_held(&batch->partitions[i]);
		if (message)
			rd_kafka_message_destroy(message);
	}
}

static int by_partition(const void *a, const void *b)
{
	const struct batch_partition *left = a, *right = b;
	int order = strcmp(left->topic, right->topic);
	return order ? order : (left->partition > right->partition) - (left->partition < right->partition);
}

void batch_assign(struct batch *batch, const struct batch_partition *partitions, size_t count)
{
	batch_free(batch);
	if (count == 0)
		return;
	batch->partitions = calloc(count, sizeof *batch->partitions);
	if (!batch->partitions)
		abort();
	for (size_t i = 0; i < count; i++)
		batch->partitions[i] = (struct batch_partition){
			.topic = partitions[i].topic,
			.partition = partitions[i].partition,
			.stored = CALIBRATION_POSITION_NONE,
			.reached = CALIBRATION_POSITION_NONE,
		};
	batch->partitions_count = count;
	qsort(batch->partitions, count, sizeof *batch->partitions, by_partition);
}

void batch_free(struct batch *batch)
{
	forget_cases(batch);
	drop_held(batch);
	free(TAKE_PTR(batch->partitions));
	batch->partitions_count = 0;
}

void batch_restart(struct batch *batch, const int64_t *positions)
{
	forget_cases(batch);
	drop_held(batch);
	for (size_t i = 0; i < batch->partitions_count; i++)
		batch->partitions[i].stored = batch->partitions[i].reached = positions[i];
}

struct batch_partition *batch_find(struct batch *batch, const char *topic, int32_t partition)
{
	for (size_t i = 0; i < batch->partitions_count; i++)
		if (batch->partitions[i].partition == partition && batch->partitions[i].topic == topic)
			return &batch->partitions[i];
	return NULL;
}

void batch_reach(struct batch *batch, struct batch_partition *partition, int64_t offset)
{
	partition->reached = offset + 1;
	partition->at_end = false;
	batch->records++;
}

void batch_hold(struct batch_partition *partition, rd_kafka_message_t *message)
{
	partition->held = message;
	partition->held_since_us = clock_monotonic_us();
	partition->held_written_ms = kafka_written_ms(message);
	partition->at_end = false;
}

rd_kafka_message_t *batch_take_held(struct batch_partition *partition)
{
	return TAKE_PTR(partition->held);
}

size_t batch_held_count(const struct batch *batch)
{
	size_t count = 0;
	for (size_t i = 0; i < batch->partitions_count; i++)
		count += batch->partitions[i].held != NULL;
	return count;
}

int64_t batch_held_written_ms(const struct batch *batch)
{
	int64_t first_ms = 0;
	for (size_t i = 0; i < batch->partitions_count; i++) {
		const struct batch_partition *partition = &batch->partitions[i];
		if (partition->held && (first_ms == 0 || partition->held_written_ms < first_ms))
			first_ms = partition->held_written_ms;
	}
	return first_ms;
}

void batch_pass(struct batch_partition *partition, int64_t end)
{
	if (!partition->held && end > 0 && end > partition->reached)
		partition->reached = end;
}

bool batch_moved(const struct batch *batch)
{
	for (size_t i = 0; i < batch->partitions_count; i++)
		if (batch->partitions[i].reached != batch->partitions[i].stored)
			return true;
	return false;
}

void batch_add(struct batch *batch, const struct calibration_case *item)
{
	if (!batch->arena)
		batch->arena = arena_new();
	struct calibration_case copy = *item;
	copy.application = arena_str(batch->arena, item->application);
	copy.model = arena_str(batch->arena, item->model);
	copy.prompt_version = arena_str(batch->arena, item->prompt_version);
	copy.features = arena_str(batch->arena, item->features);
	copy.record = NULL;
	copy.documents = arena_str(batch->arena, item->documents);
	copy.rules = arena_str(batch->arena, item->rules);
	batch->labelled += item->label_source != ENUM_ABSENT;
	ARENA_PUSH(batch->arena, batch->cases, batch->cases_count, batch->cases_capacity, copy);
}

void batch_add_feedback(struct batch *batch, const struct calibration_feedback *item)
{
	if (!batch->arena)
		batch->arena = arena_new();
	ARENA_PUSH(batch->arena, batch->feedback, batch->feedback_count, batch->feedback_capacity, *item);
}

struct calibration_step *batch_steps(const struct batch *batch, const char *remembered, size_t *ret_count)
{
	struct calibration_step *steps = calloc(batch->partitions_count + 1, sizeof *steps);
	size_t count = 0;
	if (!steps)
		abort();
	for (size_t i = 0; i < batch->partitions_count; i++) {
		const struct batch_partition *item = &batch->partitions[i];
		if (item->reached != item->stored)
			steps[count++] = (struct calibration_step){ .topic = item->topic,
								    .remembers = item->topic == remembered,
								    .partition = item->partition,
								    .from = item->stored,
								    .to = item->reached };
	}
	*ret_count = count;
	return steps;
}

void batch_committed(struct batch *batch)
{
	for (size_t i = 0; i < batch->partitions_count; i++)
		batch->partitions[i].stored = batch->partitions[i].reached;
	forget_cases(batch);
}

bool batch_caught_up(const struct batch *batch, int64_t since_us)
{
	for (size_t i = 0; i < batch->partitions_count; i++)
		if (batch->partitions[i].held ||
		    (!batch->partitions[i].at_end && batch->partitions[i].end_us < since_us))
			return false;
	return batch->records == 0;
}
