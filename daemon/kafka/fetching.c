#include "kafka/fetching.h"

#include "common/clock.h"
#include "kafka/client.h"

#include <time.h>

enum { SETTLE_MS = 100, STOP_MS = 1000, ASK_MS = 10 };

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

/* For their ends, which nobody needs. An answer that does not come in time is as good. */
static void ask_leaders(struct fetching *fetching, const rd_kafka_topic_partition_list_t *partitions)
{
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *asked =
		rd_kafka_topic_partition_list_copy(partitions);
	for (int i = 0; i < asked->cnt; i++)
		asked->elems[i].offset = RD_KAFKA_OFFSET_END;
	rd_kafka_offsets_for_times(fetching->consumer, asked, ASK_MS);
}

static bool is_half(size_t taken, size_t ahead)
{
	return ahead && taken >= ahead - ahead / 2;
}

void fetching_take(struct fetching *fetching, const rd_kafka_topic_partition_list_t *partitions,
		   size_t message_bytes)
{
	fetching->taken_bytes += message_bytes;
	fetching->taken_messages++;
	if (!is_half(fetching->taken_bytes, fetching->ahead_bytes) &&
	    !is_half(fetching->taken_messages, fetching->ahead_messages))
		return;
	fetching->taken_bytes = fetching->taken_messages = 0;
	fetching->asked++;
	ask_leaders(fetching, partitions);
}
