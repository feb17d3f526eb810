#include "sql/analysis_cache.h"

#include "common/hash.h"
#include "common/list.h"
#include "sql/dialects.h"
#include "sql/findings/analysis_copy.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	SHARDS = 16,		 /* power of two; workers seldom meet in one */
	LARGEST_SHARE = 8,	 /* an entry may take one eighth of its shard */
	BYTES_PER_BUCKET = 4096, /* about what an entry takes */
	SEEN_SHARE = 16,
};

/* What an analysis follows from, but for the text. */
struct circumstances {
	uint64_t catalog; /* its serial; 0: none */
	const struct sql_policy *policy;
	enum sql_dialect dialect;
	bool target_named;
};

struct cached_analysis {
	struct list_node by_age;
	struct cached_analysis *next; /* of its bucket */
	atomic_uint references;
	bool used; /* since its turn to go came last */
	uint64_t hash;
	struct circumstances circumstances;
	str_t sql;
	struct sql_analysis analysis;
	struct arena *arena; /* that all of this is in */
};

struct shard {
	pthread_mutex_t mutex;
	struct cached_analysis **buckets;
	struct list entries; /* whose turn to go comes first is first */
	size_t bytes;
};

struct analysis_cache {
	size_t shard_limit_bytes;
	size_t buckets_count; /* of a shard; power of two */
	struct shard shards[SHARDS];
	atomic_uint *seen; /* by hash: of the last text there, other bits of the hash */
	size_t seen_count; /* power of two */
	_Atomic uint64_t hits, misses;
};

static size_t power_of_two_below(size_t number)
{
	size_t power = 1;
	while (power <= number / 2)
		power *= 2;
	return power;
}

struct analysis_cache *analysis_cache_new(size_t limit_bytes)
{
	if (limit_bytes == 0)
		return NULL;
	struct analysis_cache *cache = calloc(1, sizeof *cache);
	if (!cache)
		abort();
	cache->shard_limit_bytes = limit_bytes / SHARDS;
	cache->buckets_count = power_of_two_below(cache->shard_limit_bytes / BYTES_PER_BUCKET + 1);
	cache->seen_count = power_of_two_below(limit_bytes / SEEN_SHARE / sizeof *cache->seen + 1);
	cache->seen = calloc(cache->seen_count, sizeof *cache->seen);
	if (!cache->seen)
		abort();
	for (size_t i = 0; i < SHARDS; i++) {
		struct shard *shard = &cache->shards[i];
		pthread_mutex_init(&shard->mutex, NULL);
		list_init(&shard->entries);
		shard->buckets = calloc(cache->buckets_count, sizeof(struct cached_analysis *));
		if (!shard->buckets)
			abort();
	}
	return cache;
}

static void cached_unref(struct cached_analysis *entry)
{
	if (entry && atomic_fetch_sub_explicit(&entry->references, 1, memory_order_acq_rel) == 1)
		arena_free(entry->arena);
}

void analysis_cache_free(struct analysis_cache *cache)
{
	if (!cache)
		return;
	for (size_t i = 0; i < SHARDS; i++) {
		struct shard *shard = &cache->shards[i];
		LIST_FOREACH_SAFE (node, &shard->entries)
			cached_unref(container_of(node, struct cached_analysis, by_age));
		pthread_mutex_destroy(&shard->mutex);
		free(shard->buckets);
	}
	free(cache->seen);
	free(cache);
}

/* ---- where a text is, or would be: bits of the hash that say it are not those of another place ---- */

static struct shard *shard_of(struct analysis_cache *cache, uint64_t hash)
{
	return &cache->shards[hash % SHARDS];
}

static struct cached_analysis **bucket_of(const struct analysis_cache *cache, struct shard *shard,
					  uint64_t hash)
{
	return &shard->buckets[hash / SHARDS & (cache->buckets_count - 1)];
}

/* Whether the text was there a while ago, as far as can be told; from now on it was. */
static bool note_seen(struct analysis_cache *cache, uint64_t hash)
{
	unsigned mark = (unsigned)(hash >> 32) | 1;
	return atomic_exchange_explicit(&cache->seen[hash & (cache->seen_count - 1)], mark,
					memory_order_relaxed) == mark;
}

static struct circumstances circumstances_of(const struct sql_request *request)
{
	return (struct circumstances){
		.catalog = request->catalog ? catalog_serial(request->catalog) : 0,
		.policy = request->policy,
		.dialect = request->dialect,
		.target_named = request->target_named,
	};
}

static bool is_of(const struct cached_analysis *entry, uint64_t hash, str_t sql,
		  struct circumstances circumstances)
{
	return entry->hash == hash && str_equal(entry->sql, sql) &&
	       entry->circumstances.catalog == circumstances.catalog &&
	       entry->circumstances.policy == circumstances.policy &&
	       entry->circumstances.dialect == circumstances.dialect &&
	       entry->circumstances.target_named == circumstances.target_named;
}

/* With the shard's lock. */
static struct cached_analysis *find(struct analysis_cache *cache, struct shard *shard, uint64_t hash,
				    str_t sql, struct circumstances circumstances)
{
	struct cached_analysis *entry = *bucket_of(cache, shard, hash);
	while (entry && !is_of(entry, hash, sql, circumstances))
		entry = entry->next;
	return entry;
}

/* A reference of the caller's own, or NULL. */
static struct cached_analysis *take(struct analysis_cache *cache, uint64_t hash, str_t sql,
				    struct circumstances circumstances)
{
	struct shard *shard = shard_of(cache, hash);
	pthread_mutex_lock(&shard->mutex);
	struct cached_analysis *entry = find(cache, shard, hash, sql, circumstances);
	if (entry) {
		entry->used = true;
		atomic_fetch_add_explicit(&entry->references, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&shard->mutex);
	return entry;
}

/* ---- keeping ---- */

static void drop(struct analysis_cache *cache, struct shard *shard, struct cached_analysis *entry)
{
	struct cached_analysis **at = bucket_of(cache, shard, entry->hash);
	while (*at != entry)
		at = &(*at)->next;
	*at = entry->next;
	list_remove(&shard->entries, &entry->by_age);
	shard->bytes -= arena_size_bytes(entry->arena);
	cached_unref(entry);
}

/* Whoever was used gets another turn: ends, since nobody is used twice without being asked for. */
static void make_room(struct analysis_cache *cache, struct shard *shard, size_t bytes)
{
	while (!list_empty(&shard->entries) && shard->bytes + bytes > cache->shard_limit_bytes) {
		struct cached_analysis *entry =
			container_of(shard->entries.head.next, struct cached_analysis, by_age);
		if (!entry->used) {
			drop(cache, shard, entry);
			continue;
		}
		entry->used = false;
		list_remove(&shard->entries, &entry->by_age);
		list_append(&shard->entries, &entry->by_age);
	}
}

static struct cached_analysis *cached_new(uint64_t hash, str_t sql, struct circumstances circumstances,
					  const struct sql_analysis *analysis)
{
	struct arena *arena = arena_new();
	struct cached_analysis *entry = ARENA_NEW(arena, struct cached_analysis);
	entry->arena = arena;
	atomic_init(&entry->references, 1);
	entry->hash = hash;
	entry->circumstances = circumstances;
	entry->sql = arena_str(arena, sql);
	analysis_copy(analysis, arena, &entry->analysis);
	return entry;
}

static void keep(struct analysis_cache *cache, uint64_t hash, str_t sql, struct circumstances circumstances,
		 const struct sql_analysis *analysis)
{
	struct shard *shard = shard_of(cache, hash);
	struct cached_analysis *entry = cached_new(hash, sql, circumstances, analysis);
	size_t bytes = arena_size_bytes(entry->arena);
	pthread_mutex_lock(&shard->mutex);
	bool wanted = bytes <= cache->shard_limit_bytes / LARGEST_SHARE &&
		      !find(cache, shard, hash, sql, circumstances);
	if (wanted) {
		make_room(cache, shard, bytes);
		struct cached_analysis **bucket = bucket_of(cache, shard, hash);
		entry->next = *bucket;
		*bucket = entry;
		list_append(&shard->entries, &entry->by_age);
		shard->bytes += bytes;
	}
	pthread_mutex_unlock(&shard->mutex);
	if (!wanted) /* too large, or another thread was first */
		cached_unref(entry);
}

void analysis_cache_analyse(struct analysis_cache *cache, const struct sql_request *request,
			    struct arena *arena, struct sql_analysis *ret_analysis)
{
	if (!cache) {
		sql_analyse(request, arena, ret_analysis);
		return;
	}
	const struct circumstances circumstances = circumstances_of(request);
	uint64_t hash = hash_seeded(request->sql.ptr, request->sql.len);
	struct cached_analysis *entry = take(cache, hash, request->sql, circumstances);
	if (entry) {
		analysis_copy(&entry->analysis, arena, ret_analysis);
		cached_unref(entry);
		atomic_fetch_add_explicit(&cache->hits, 1, memory_order_relaxed);
		return;
	}
	sql_analyse(request, arena, ret_analysis);
	atomic_fetch_add_explicit(&cache->misses, 1, memory_order_relaxed);
	if (note_seen(cache, hash))
		keep(cache, hash, request->sql, circumstances, ret_analysis);
}

struct analysis_cache_statistics analysis_cache_statistics(struct analysis_cache *cache)
{
	struct analysis_cache_statistics statistics = { 0 };
	if (!cache)
		return statistics;
	statistics.hits = atomic_load_explicit(&cache->hits, memory_order_relaxed);
	statistics.misses = atomic_load_explicit(&cache->misses, memory_order_relaxed);
	for (size_t i = 0; i < SHARDS; i++) {
		struct shard *shard = &cache->shards[i];
		pthread_mutex_lock(&shard->mutex);
		statistics.entries += shard->entries.count;
		statistics.bytes += shard->bytes;
		pthread_mutex_unlock(&shard->mutex);
	}
	return statistics;
}
