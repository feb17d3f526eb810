/*
 * Lag: how many offsets of the assigned partitions are still to be done, by what the consumer has heard
 * of their ends, and the trails by the last look. Asks nobody, so that it may be a moment old. Offsets are no
 * events: some are marks of transactions. The source thread.
 */
#pragma once

#include "kafka/assignment.h"
#include "kafka/board.h"
#include "kafka/trails.h"

struct lag {
	uint64_t behind; /* from the prefix that is done to the end */
	uint64_t unread; /* from what was read last to the end */
};

/* `fetched`: the partitions that the consumer fetches, each once; their offsets are left as what is read
 * next. `standings` ascend by partition; how far behind each of them is is raised to what is found. */
void lag_measure(rd_kafka_t *consumer, rd_kafka_topic_partition_list_t *fetched,
		 struct assignment *assignment, const struct trails *trails,
		 struct partition_standing *standings, size_t standings_count, struct lag *ret_lag);
