#include "kafka/fetching.h"

#include "common/clock.h"

#include <time.h>

enum { SETTLE_MS = 100 };

rd_kafka_resp_err_t fetching_assign(struct fetching *fetching,
				    const rd_kafka_topic_partition_list_t *partitions)
{
	rd_kafka_resp_err_t err = rd_kafka_assign(fetching->consumer, partitions);
	fetching->settled_us = clock_monotonic_us() + (int64_t)SETTLE_MS * 1000;
	return err;
}

static void settle(const struct fetching *fetching)
{
	int64_t left_us = fetching->settled_us - clock_monotonic_us();
	if (left_us > 0)
		nanosleep(&(struct timespec){ 0, (long)left_us * 1000 }, NULL);
}

void fetching_pause(struct fetching *fetching, rd_kafka_topic_partition_list_t *partitions, bool pause)
{
	if (partitions->cnt == 0)
		return;
	settle(fetching);
	if (pause)
		rd_kafka_pause_partitions(fetching->consumer, partitions);
	else
		rd_kafka_resume_partitions(fetching->consumer, partitions);
}
