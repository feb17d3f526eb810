/*
 * Results of ground truths that were run a short while ago, inside one worker process. Bounded: a fixed
 * number of small results, each for a short time. A result that differs from a cached truth has to be checked
 * against a fresh one, since the data may have changed.
 */
#pragma once

#include "target/engine.h"

struct truth_cache;

/* A truth as it was found, owned by the cache until the next call. */
struct cached_truth {
	struct result_set result;
	struct validation_execution execution;
};

struct truth_cache *truth_cache_new(void);
void truth_cache_free(struct truth_cache *cache);

/* The result of `sql` under the catalog of that digest, or NULL. */
const struct cached_truth *truth_cache_get(struct truth_cache *cache, str_t sql, str_t catalog_digest);

/* Copies a result that ran well; large and truncated ones are not taken. */
void truth_cache_put(struct truth_cache *cache, str_t sql, str_t catalog_digest, const struct query_run *run);
