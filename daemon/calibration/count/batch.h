/*
 * Batch: the cases read since the last commit, and how far each assigned partition was read for them. Pure;
 * not thread-safe.
 */
#pragma once

#include "calibration/count/store.h"
#include "common/arena.h"
#include "kafka/client.h"

/* Partitions are found by walking: there are few. */
struct batch_partition {
	const char *topic; /* the caller's; compared by the pointer */
	int32_t partition;
	int64_t stored;	 /* position in the database, or CALIBRATION_POSITION_NONE */
	int64_t reached; /* next offset to be read; equal to `stored` when nothing was read */
	bool at_end;	 /* the last thing that was heard of it is that there is no more */
	int64_t end_us;	 /* when that was last heard; 0: never */

	/* The message that comes next and whose schema is awaited, or NULL; the batch's. Nothing further is
	 * read meanwhile. */
	rd_kafka_message_t *held;
	int64_t held_since_us, held_written_ms;
};

struct batch {
	struct arena *arena; /* of the cases' texts */
	struct calibration_case *cases;
	size_t cases_count, cases_capacity;
	struct calibration_feedback *feedback;
	size_t feedback_count, feedback_capacity;
	size_t labelled;  /* among the cases */
	uint64_t expired; /* messages of feedback that are beyond all that is kept */
	size_t records;	  /* consumed, counted or not */
	struct batch_partition *partitions;
	size_t partitions_count;
};

/* An empty batch for an assignment of `count` partitions, of which topic and number are given; the positions
 * are not known yet. */
void batch_assign(struct batch *batch, const struct batch_partition *partitions, size_t count);

/* Releases everything; no partition is assigned any more. */
void batch_free(struct batch *batch);

/* Where each partition goes on; drops what was read and what is held. `positions` in the order of the
 * partitions. */
void batch_restart(struct batch *batch, const int64_t *positions);

/* The partition, or NULL: it is not assigned. */
struct batch_partition *batch_find(struct batch *batch, const char *topic, int32_t partition);

/* A record was read that had not been before. */
void batch_reach(struct batch *batch, struct batch_partition *partition, int64_t offset);

/* The partition holds the message, which is the batch's from now on. */
void batch_hold(struct batch_partition *partition, rd_kafka_message_t *message);

/* Takes the message that a partition holds, which is the caller's then. */
rd_kafka_message_t *batch_take_held(struct batch_partition *partition);

/* How many partitions hold a message; when the first of these was written (wall clock), 0: none is held. */
size_t batch_held_count(const struct batch *batch);
int64_t batch_held_written_ms(const struct batch *batch);

/* The partition was read to its end: what is below and was not read is no record, but marks of transactions
 * and what they aborted. One that holds a message was not. */
void batch_pass(struct batch_partition *partition, int64_t end);

/* Whether a partition was read, or passed, beyond its position. */
bool batch_moved(const struct batch *batch);

/* Adds a case with copies of its texts. */
void batch_add(struct batch *batch, const struct calibration_case *item);

/* Adds a message; it holds no texts of others. */
void batch_add_feedback(struct batch *batch, const struct calibration_feedback *item);

/* Steps of the partitions that moved, by topic and partition; those of `remembered` are remembered. The
 * caller frees the array. */
struct calibration_step *batch_steps(const struct batch *batch, const char *remembered, size_t *ret_count);

/* What was read is counted: the next batch begins. */
void batch_committed(struct batch *batch);

/* Whether nothing is left to be read or counted, but for what came since `since_us`. */
bool batch_caught_up(const struct batch *batch, int64_t since_us);
