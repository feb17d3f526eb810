#include "kafka/fetching.h"

#include "common/clock.h"

#include <time.h>

enum { SETTLE_MS = 100, STOP_MS = 1000 };

static void wait_until(int64_t at_us)
{
	int64_t left_us = at_us - clock_monotonic_us();
	if (left_us > 0)
		nanosleep(&(struct timespec){ left_us / 1000000, (long)(left_us % 1000000) * 1000 }, NULL);
}

rd_kafka_resp_err_t fetching_assign(struct fetching *fetching,
				    const rd_kafka_topic_partition_list_t *partitions)
{
	bool stops = fetching->assigned;
	if (stops)
		wait_until(fetching->stopped_us);
	rd_kafka_resp_err_t err = rd_kafka_assign(fetching->consumer, partitions);
	int64_t now_us = clock_monotonic_us();
	fetching->settled_us = now_us + (int64_t)SETTLE_MS * 1000;
	if (stops)
		fetching->stopped_us = now_us + (int64_t)STOP_MS * 1000;
	fetching->assigned = partitions && partitions->cnt > 0;
	return err;
}

void fetching_pause(struct fetching *fetching, rd_kafka_topic_partition_list_t *partitions, bool pause)
{
	if (partitions->cnt == 0)
		return;
	wait_until(fetching->settled_us);
	if (pause)
		rd_kafka_pause_partitions(fetching->consumer, partitions);
	else
		rd_kafka_resume_partitions(fetching->consumer, partitions);
}
