/*
 * Results of ground truths that were run a short while ago, inside one worker process. Bounded in bytes and
 * in time; the least recently used ones make room. A result that differs from a cached truth has to be
 * checked against a fresh one, since the data may have changed. Not thread-safe.
 */
#pragma once

#include "target/engine.h"

struct truth_cache;

/* A truth as it was found, owned by the cache until the next call. */
struct cached_truth {
	struct result_set result;
	struct validation_execution execution;
};

/* The caller owns the cache. `max_bytes` 0: nothing is ever kept. */
struct truth_cache *truth_cache_new(int64_t max_bytes, int64_t ttl_us);
void truth_cache_free(struct truth_cache *cache);

/* The result of `sql` under the catalog of that digest, or NULL. `now_us`: the monotonic clock. */
const struct cached_truth *truth_cache_get(struct truth_cache *cache, str_t sql, str_t catalog_digest,
					   int64_t now_us);

/* Copies a result that ran well, in place of an older one; truncated ones, and those that would take more
 * than a quarter of the cache, are not taken. */
void truth_cache_put(struct truth_cache *cache, str_t sql, str_t catalog_digest, const struct query_run *run,
		     int64_t now_us);

/* What is kept, with all that belongs to it: never above `max_bytes`. */
int64_t truth_cache_bytes(const struct truth_cache *cache);
size_t truth_cache_count(const struct truth_cache *cache);
