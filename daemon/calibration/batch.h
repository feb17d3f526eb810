/*
 * Batch: the cases read since the last commit, and how far each assigned partition was read for them. Pure;
 * not thread-safe.
 */
#pragma once

#include "calibration/store.h"
#include "common/arena.h"

/* Partitions are found by walking: there are few. */
struct batch_partition {
	int32_t partition;
	int64_t stored;	 /* position in the database, or CALIBRATION_POSITION_NONE */
	int64_t reached; /* next offset to be read; equal to `stored` when nothing was read */
};

struct batch {
	struct arena *arena; /* of the cases' texts */
	struct calibration_case *cases;
	size_t cases_count, cases_capacity;
	size_t records; /* consumed, counted or not */
	struct batch_partition *partitions;
	size_t partitions_count;
};

/* An empty batch for an assignment; the positions are not known yet. */
void batch_assign(struct batch *batch, const int32_t *partitions, size_t count);

/* Releases everything; no partition is assigned any more. */
void batch_free(struct batch *batch);

/* Where each partition goes on; drops what was read. `positions` in the order of the partitions. */
void batch_restart(struct batch *batch, const int64_t *positions);

/* A record was read. False: it is not the assignment's, or was read before; it must be ignored. */
bool batch_reach(struct batch *batch, int32_t partition, int64_t offset);

/* Adds a case with copies of its texts. */
void batch_add(struct batch *batch, const struct calibration_case *item);

/* Steps of the partitions that moved, in the order of partition numbers; the caller frees the array. */
struct calibration_step *batch_steps(const struct batch *batch, size_t *ret_count);

/* What was read is counted: the next batch begins. */
void batch_committed(struct batch *batch);
