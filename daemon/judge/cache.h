/*
 * Verdicts in memory: bounded in bytes, least recently used ones leave first, and none outlives its time to
 * live. Only verdicts are kept, never errors. Keys name everything that a verdict depends on (provider,
 * model, parameters, prompt image), so an entry never needs to be invalidated. A layer that is shared by
 * instances sits below: it is asked on a miss and told of every put. Not thread-safe; the time is handed in.
 */
#pragma once

#include "common/hash.h"

struct cache;

struct cached_verdict {
	double score;
	str_t reason;
};

/* The caller owns the cache. 0 bytes or a time to live of 0: nothing is kept. */
struct cache *cache_new(size_t size_bytes, int64_t ttl_s);
void cache_free(struct cache *cache);

/* New bounds; what no longer fits leaves at once, what is too old when it is asked for. */
void cache_resize(struct cache *cache, size_t size_bytes, int64_t ttl_s);

/* Whether there is a verdict; its texts live until the next cache_put. */
bool cache_get(struct cache *cache, const unsigned char key[DIGEST_BYTES], int64_t now_us,
	       struct cached_verdict *ret_verdict);

/* Keeps a copy of one that was given at that time; one that is larger than the whole cache is not kept. */
void cache_put(struct cache *cache, const unsigned char key[DIGEST_BYTES], int64_t given_us,
	       const struct cached_verdict *verdict);

/* Bytes in use, with what the entries cost beside their texts. */
size_t cache_used_bytes(const struct cache *cache);
