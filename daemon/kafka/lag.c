#include "kafka/lag.h"

#include "kafka/client.h"

static uint64_t distance(int64_t from, int64_t to)
{
	return to > from ? (uint64_t)(to - from) : 0;
}

/* `partition->offset`: what is read next, or negative: nothing was read yet. */
static void add_partition(rd_kafka_t *consumer, struct assignment *assignment, const struct trails *trails,
			  const rd_kafka_topic_partition_t *partition, struct lag *lag)
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
		return;
	int64_t prefix = assignment_prefix(assignment, partition->partition);
	int64_t from = prefix > low ? prefix : low;
	lag->behind += distance(from, end);
	lag->unread += distance(partition->offset > from ? partition->offset : from, end);
}

void lag_measure(rd_kafka_t *consumer, struct assignment *assignment, const struct trails *trails,
		 struct lag *ret_lag)
{
	_cleanup_(kafka_list_cleanup) rd_kafka_topic_partition_list_t *list = NULL;
	*ret_lag = (struct lag){ 0 };
	if (rd_kafka_assignment(consumer, &list) != RD_KAFKA_RESP_ERR_NO_ERROR || !list)
		return;
	if (rd_kafka_position(consumer, list) != RD_KAFKA_RESP_ERR_NO_ERROR)
		return;
	for (int i = 0; i < list->cnt; i++)
		add_partition(consumer, assignment, trails, &list->elems[i], ret_lag);
}
