/*
 * What a new assignment starts from. The group's metadata are captured, the committed offsets
 * read with their completion maps, each partition compared with what was read of it, and its tracker made.
 * For the source's thread, within a rebalance or between two.
 */
#pragma once

#include "common/heartbeat.h"
#include "kafka/assignment.h"
#include "kafka/stops.h"
#include "kafka/trails.h"

#include <stdatomic.h>

/* A partition of which it is known already that its topic was made again. */
struct offset_restore_again {
	int32_t partition;
	int64_t low;		 /* where it begins */
	struct offsets *offsets; /* taken over: what is done of it */
};

struct restoring {
	rd_kafka_t *consumer;
	const char *topic;
	struct heartbeat *heartbeat;
	const _Atomic bool *stopping; /* ends the wait for a coordinator that is away */
	_Atomic int64_t *oldest_ms;   /* set to when a wait for it began */
	struct topic_probe *topic_probe;
	struct stops *stops;
	struct trails *trails;	     /* begun anew */
	_Atomic uint64_t *recreated; /* counts partitions that were found to be made again */
	struct offset_restore_again *again;
	size_t again_count;
	/* Of which the group had an offset in an assignment before; each is told once. */
	rd_kafka_topic_partition_list_t *had_offsets;
};

/*
 * The assignment of the partitions in `list`, with what is to be fetched appended to `positions`: a partition
 * that has to stand still is in neither, but in the stops. NULL: this is not, or not any more, an assignment.
 *
 * Where the broker does not tell in time what a partition is, its trail is `unseen`: the caller reads nothing
 * of it until a look tells. The next commit would say that what is there now was read up to its offset, and
 * so hide that the topic was made again.
 */
struct assignment *offset_restore_run(const struct restoring *restoring,
				      rd_kafka_topic_partition_list_t *list,
				      rd_kafka_topic_partition_list_t *positions);
