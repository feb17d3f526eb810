#include "calibration/count/lag.h"

/* The end of a partition may be the mark of a transaction, which nobody reads: that it was reached counts for
 * more than where it is. Where no record was read, all that is not stored yet are such marks. */
static uint64_t of_partition(const struct batch *batch, const struct batch_partition *partition,
			     rd_kafka_t *consumer)
{
	int64_t low, end;
	if ((partition->at_end && (batch->records == 0 || partition->reached == partition->stored)) ||
	    rd_kafka_get_watermark_offsets(consumer, partition->topic, partition->partition, &low, &end) !=
		    RD_KAFKA_RESP_ERR_NO_ERROR)
		return 0;
	int64_t from = partition->stored > low ? partition->stored : low;
	return from >= 0 && end > from ? (uint64_t)(end - from) : 0;
}

uint64_t lag_offsets(const struct batch *batch, rd_kafka_t *consumer)
{
	uint64_t offsets = 0;
	for (size_t i = 0; i < batch->partitions_count; i++)
		offsets += of_partition(batch, &batch->partitions[i], consumer);
	return offsets;
}
