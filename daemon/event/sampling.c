#include "event/sampling.h"

#include "common/hash.h"

bool sampling_includes(str_t event_id, double rate)
{
	unsigned char digest[DIGEST_BYTES];
	uint64_t bits = 0;
	if (rate >= 1)
		return true;
	hash_sha256(event_id.ptr ? event_id.ptr : "", event_id.len, digest);
	for (unsigned i = 0; i < 8; i++)
		bits = bits << 8 | digest[i];
	return (double)(bits >> 11) * 0x1p-53 < rate;
}
