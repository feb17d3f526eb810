/* SipHash-2-4 with 128 bits of output (Aumasson and Bernstein 2012, and their reference code for 128 bits).
 * Pure; any thread. */
#pragma once

#include "score/compare_digest.h"

struct compare_hash compare_siphash(const struct compare_digest_key *key, const void *data, size_t len);
