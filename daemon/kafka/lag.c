#include "kafka/lag.h"

#include "kafka/client.h"

#include <stdlib.h>

static uint64_t distance(int64_t from, int64_t to)
{
	return to > from ? (uint64_t)(to - from) : 0;
}

/* Of one partition. `partition->offset`: what is read next, or negative: nothing was read yet. */
static struct lag measure(rd_kafka_t *consumer, struct assignment *assignment, const struct trails *trails,
			  const rd_kafka_topic_partition_t *partition)
{
	int64_t low, end;
	const struct trail *trail = trails_find(trails, partition->partition);
	if (rd_kafka_get_watermark_offsets(consumer, partition->topic, partition->partition, &low, &end) !=
	    RD_KAFKA_RESP_ERR_NO_ERROR)
		low = end = -1;
	if (trail && trail->end > end) {
		low = trail->low;
		end = trail->end;
	}
	if (low < 0 || end < 0)
		return (struct lag){ 0 };
	int64_t prefix = assignment_prefix(assignment, partition->partition);
	int64_t from = prefix > low ? prefix : low;
	return (struct lag){
		.behind = distance(from, end),
		.unread = distance(partition->offset > from ? partition->offset : from, end),
	};
}

static int compare_partitions(const void *key, const void *standing)
{
	int32_t a = *(const int32_t *)key, b = ((const struct partition_standing *)standing)->partition;
	return a < b ? -1 : a > b;
}

void lag_measure(rd_kafka_t *consumer, rd_kafka_topic_partition_list_t *fetched,
		 struct assignment *assignment, const struct trails *trails,
		 struct partition_standing *standings, size_t standings_count, struct lag *ret_lag)
{
	*ret_lag = (struct lag){ 0 };
	if (rd_kafka_position(consumer, fetched) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	for (int i = 0; i < fetched->cnt; i++) {
		const struct lag lag = measure(consumer, assignment, trails, &fetched->elems[i]);
		struct partition_standing *standing =
			standings_count ? bsearch(&fetched->elems[i].partition, standings, standings_count,
						  sizeof *standings, compare_partitions)
					: NULL;
		ret_lag->behind += lag.behind;
		ret_lag->unread += lag.unread;
		if (standing && lag.behind > standing->behind)
			standing->behind = lag.behind;
	}
}
