#include "target/truth_cache.h"

#include "common/clock.h"

#define ENTRIES		16
#define ENTRY_MAX_BYTES ((int64_t)1 << 20)
#define TIME_TO_LIVE_US ((int64_t)60 * 1000000)

struct entry {
	struct arena *arena; /* NULL: the place is free */
	str_t sql;
	str_t catalog_digest;
	struct cached_truth truth;
	int64_t expires_us;
};

struct truth_cache {
	struct entry entries[ENTRIES];
};

struct truth_cache *truth_cache_new(void)
{
	struct truth_cache *cache = calloc(1, sizeof *cache);
	if (!cache)
		abort();
	return cache;
}

void truth_cache_free(struct truth_cache *cache)
{
	for (size_t i = 0; cache && i < ENTRIES; i++)
		arena_free(cache->entries[i].arena);
	free(cache);
}

static void drop(struct entry *entry)
{
	arena_free(entry->arena);
	*entry = (struct entry){ 0 };
}

static struct entry *find(struct truth_cache *cache, str_t sql, str_t catalog_digest)
{
	for (size_t i = 0; i < ENTRIES; i++) {
		struct entry *entry = &cache->entries[i];
		if (entry->arena && str_equal(entry->sql, sql) &&
		    str_equal(entry->catalog_digest, catalog_digest))
			return entry;
	}
	return NULL;
}

const struct cached_truth *truth_cache_get(struct truth_cache *cache, str_t sql, str_t catalog_digest)
{
	struct entry *entry = find(cache, sql, catalog_digest);
	if (!entry)
		return NULL;
	if (clock_monotonic_us() < entry->expires_us)
		return &entry->truth;
	drop(entry);
	return NULL;
}

/* The place of the same truth, else a free one, else the one that expires first. */
static struct entry *place_for(struct truth_cache *cache, str_t sql, str_t catalog_digest)
{
	struct entry *oldest = find(cache, sql, catalog_digest);
	for (size_t i = 0; !oldest && i < ENTRIES; i++)
		if (!cache->entries[i].arena)
			oldest = &cache->entries[i];
	if (oldest)
		return oldest;
	oldest = &cache->entries[0];
	for (size_t i = 1; i < ENTRIES; i++)
		if (cache->entries[i].expires_us < oldest->expires_us)
			oldest = &cache->entries[i];
	return oldest;
}

static struct result_set copy_result(const struct result_set *from, struct arena *arena)
{
	size_t cells_count = from->rows_count * from->columns_count;
	struct result_column *columns = ARENA_ARRAY(arena, struct result_column, from->columns_count);
	str_t *cells = ARENA_ARRAY(arena, str_t, cells_count);
	for (size_t i = 0; i < from->columns_count; i++) {
		columns[i].name = arena_str(arena, from->columns[i].name);
		columns[i].type = from->columns[i].type;
	}
	for (size_t i = 0; i < cells_count; i++)
		cells[i] = arena_str(arena, from->cells[i]);
	struct result_set copy = *from;
	copy.columns = columns;
	copy.cells = cells;
	return copy;
}

void truth_cache_put(struct truth_cache *cache, str_t sql, str_t catalog_digest, const struct query_run *run)
{
	if (run->result.truncated || run->result.bytes + (int64_t)sql.len > ENTRY_MAX_BYTES)
		return;
	struct entry *entry = place_for(cache, sql, catalog_digest);
	struct result_set result = result_finish(&run->result);
	drop(entry);
	entry->arena = arena_new();
	entry->sql = arena_str(entry->arena, sql);
	entry->catalog_digest = arena_str(entry->arena, catalog_digest);
	entry->truth.result = copy_result(&result, entry->arena);
	entry->truth.execution = run->execution;
	entry->expires_us = clock_monotonic_us() + TIME_TO_LIVE_US;
}
