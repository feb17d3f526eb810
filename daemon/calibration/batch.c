#include "calibration/batch.h"

static void forget_cases(struct batch *batch)
{
	arena_free(batch->arena);
	batch->arena = NULL;
	batch->cases = NULL;
	batch->cases_count = batch->cases_capacity = 0;
	batch->records = 0;
}

static int by_partition(const void *a, const void *b)
{
	const struct batch_partition *left = a, *right = b;
	return (left->partition > right->partition) - (left->partition < right->partition);
}

void batch_assign(struct batch *batch, const int32_t *partitions, size_t count)
{
	batch_free(batch);
	if (count == 0)
		return;
	batch->partitions = calloc(count, sizeof *batch->partitions);
	if (!batch->partitions)
		abort();
	for (size_t i = 0; i < count; i++)
		batch->partitions[i] = (struct batch_partition){ partitions[i], CALIBRATION_POSITION_NONE,
								 CALIBRATION_POSITION_NONE };
	batch->partitions_count = count;
	qsort(batch->partitions, count, sizeof *batch->partitions, by_partition);
}

void batch_free(struct batch *batch)
{
	forget_cases(batch);
	free(TAKE_PTR(batch->partitions));
	batch->partitions_count = 0;
}

void batch_restart(struct batch *batch, const int64_t *positions)
{
	forget_cases(batch);
	for (size_t i = 0; i < batch->partitions_count; i++)
		batch->partitions[i].stored = batch->partitions[i].reached = positions[i];
}

bool batch_reach(struct batch *batch, int32_t partition, int64_t offset)
{
	for (size_t i = 0; i < batch->partitions_count; i++) {
		struct batch_partition *item = &batch->partitions[i];
		if (item->partition != partition)
			continue;
		if (offset < item->reached)
			return false;
		item->reached = offset + 1;
		batch->records++;
		return true;
	}
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
	ARENA_PUSH(batch->arena, batch->cases, batch->cases_count, batch->cases_capacity, copy);
}

struct calibration_step *batch_steps(const struct batch *batch, size_t *ret_count)
{
	struct calibration_step *steps = calloc(batch->partitions_count + 1, sizeof *steps);
	size_t count = 0;
	if (!steps)
		abort();
	for (size_t i = 0; i < batch->partitions_count; i++) {
		const struct batch_partition *item = &batch->partitions[i];
		if (item->reached != item->stored)
			steps[count++] =
				(struct calibration_step){ item->partition, item->stored, item->reached };
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
