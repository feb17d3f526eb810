#include "avro/registry/registry_addresses.h"

#define PAUSE_US     INT64_C(1000000)
#define PAUSE_CAP_US INT64_C(60000000)

static size_t count_of(const struct registry_addresses *addresses)
{
	return addresses->count < REGISTRY_ADDRESSES_MAX ? addresses->count : REGISTRY_ADDRESSES_MAX;
}

static size_t next_of(const struct registry_addresses *addresses, unsigned asked, bool all, int64_t now_us)
{
	size_t count = count_of(addresses);
	for (size_t i = 0; i < count; i++) {
		size_t index = (addresses->best + i) % count;
		if (!(asked & 1u << index) && (all || addresses->each[index].until_us <= now_us))
			return index;
	}
	return REGISTRY_NO_ADDRESS;
}

size_t registry_addresses_next(const struct registry_addresses *addresses, unsigned asked, bool answered,
			       int64_t now_us)
{
	size_t index = next_of(addresses, asked, false, now_us);
	return index == REGISTRY_NO_ADDRESS && !answered ? next_of(addresses, asked, true, now_us) : index;
}

void registry_addresses_answer(struct registry_addresses *addresses, size_t index, int64_t now_us)
{
	addresses->each[index] = (struct registry_address){ .answered_us = now_us };
}

void registry_addresses_fail(struct registry_addresses *addresses, size_t index, int64_t asked_us,
			     int64_t now_us)
{
	struct registry_address *address = &addresses->each[index];
	if (address->answered_us >= asked_us || address->until_us > now_us)
		return;
	address->pause_us = !address->pause_us			   ? PAUSE_US
			    : address->pause_us * 2 < PAUSE_CAP_US ? address->pause_us * 2
								   : PAUSE_CAP_US;
	address->until_us = now_us + address->pause_us;
}
