/*
 * Restoration: what a new assignment starts from. The group's metadata are captured, the committed offsets
 * read with their completion maps, and each partition's tracker made of them. For the source's thread, within
 * a rebalance.
 */
#pragma once

#include "common/tick.h"
#include "kafka/assignment.h"

#include <stdatomic.h>

struct restoring {
	rd_kafka_t *consumer;
	const char *topic;
	struct ticker *ticker;
	const _Atomic bool *stopping; /* ends the wait for a coordinator that is away */
};

/* The assignment of the partitions in `list`, with what is to be fetched appended to `positions`: a partition
 * whose map cannot be read is in neither. NULL: this is not, or not any more, an assignment. */
struct assignment *restoration_run(const struct restoring *restoring, rd_kafka_topic_partition_list_t *list,
				   rd_kafka_topic_partition_list_t *positions);
