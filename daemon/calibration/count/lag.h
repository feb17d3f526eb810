/* What the partitions of a batch have that is not counted, by what the consumer has heard of their ends: asks
 * nobody, so that it may be old while nothing is fetched. The calibrator's thread. */
#pragma once

#include "calibration/count/batch.h"

#include <librdkafka/rdkafka.h>

/* In offsets, of all partitions; their positions have to be known. */
uint64_t lag_offsets(const struct batch *batch, rd_kafka_t *consumer);
