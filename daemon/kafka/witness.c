#include "kafka/witness.h"

#include "common/hash.h"

enum { DIGEST_BITS = 14, TIME_BITS = WITNESS_SIGN_BITS - DIGEST_BITS, VALUE_BYTES = 512 };

#define LOW_BITS(count) ((UINT64_C(1) << (count)) - 1)

static uint64_t digest_of(const rd_kafka_message_t *message)
{
	uint64_t digest = message->len + message->key_len * 31;
	if (message->payload)
		digest ^=
			hash_crc32(message->payload, message->len < VALUE_BYTES ? message->len : VALUE_BYTES);
	if (message->key)
		digest ^= (uint64_t)hash_crc32(message->key, message->key_len < VALUE_BYTES ? message->key_len
											    : VALUE_BYTES)
			  << 7;
	return (digest ^ digest >> DIGEST_BITS ^ digest >> 2 * DIGEST_BITS) & LOW_BITS(DIGEST_BITS);
}

uint64_t witness_sign(const rd_kafka_message_t *message)
{
	rd_kafka_timestamp_type_t type;
	int64_t time_ms = rd_kafka_message_timestamp(message, &type);
	if (type == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE || time_ms < 0)
		time_ms = 0;
	uint64_t sign = ((uint64_t)time_ms & LOW_BITS(TIME_BITS)) << DIGEST_BITS | digest_of(message);
	return sign ? sign : 1;
}

int64_t witness_time_ms(uint64_t sign)
{
	return (int64_t)(sign >> DIGEST_BITS);
}
