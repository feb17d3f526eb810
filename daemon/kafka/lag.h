/*
 * Lag: how many offsets of the assigned partitions are still to be done, by what the consumer has heard
 * of their ends, and the trails by the last look. Asks nobody, so that it may be a moment old. Offsets are no
 * events: some are marks of transactions. The source thread.
 */
#pragma once

#include "kafka/assignment.h"
#include "kafka/trails.h"

struct lag {
	uint64_t behind; /* from the prefix that is done to the end */
	uint64_t unread; /* from what was read last to the end */
};

void lag_measure(rd_kafka_t *consumer, struct assignment *assignment, const struct trails *trails,
		 struct lag *ret_lag);
