/*
 * Witness: what is remembered of one record of a topic, to tell later whether the topic of that name still is
 * the same one. Offsets alone cannot: a topic that was deleted, made again and filled has the same offsets
 * once more.
 */
#pragma once

#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include <stdint.h>

enum { WITNESS_SIGN_BITS = 56 };

struct witness {
	int64_t offset;
	uint64_t sign; /* 0: of no record */
};

/* Of a record: its time in milliseconds (42 bits) and a digest of its key and the beginning of its value (14
 * bits). The same in every process; never 0. */
uint64_t witness_sign(const rd_kafka_message_t *message);

/* When the record was written, by its own account; 0: it does not tell. */
int64_t witness_time_ms(uint64_t sign);
