#include "target/truth_cache.h"

#include "common/list.h"

#define LARGEST_SHARE 4

struct truth_entry {
	struct list_node node;
	struct arena *arena; /* holds all that the entry points at */
	str_t sql;
	str_t catalog_digest;
	struct cached_truth truth;
	int64_t bytes;
	int64_t expires_us;
};

struct truth_cache {
	struct list entries; /* the most recently used first */
	int64_t max_bytes;
	int64_t ttl_us;
	int64_t bytes; /* of all entries */
};

struct truth_cache *truth_cache_new(int64_t max_bytes, int64_t ttl_us)
{
	struct truth_cache *cache = calloc(1, sizeof *cache);
	if (!cache)
		abort();
	list_init(&cache->entries);
	cache->max_bytes = max_bytes;
	cache->ttl_us = ttl_us;
	return cache;
}

static void drop(struct truth_cache *cache, struct truth_entry *entry)
{
	list_remove(&cache->entries, &entry->node);
	cache->bytes -= entry->bytes;
	arena_free(entry->arena);
	free(entry);
}

static struct truth_entry *least_recently_used(const struct truth_cache *cache)
{
	return list_empty(&cache->entries) ? NULL
					   : container_of(cache->entries.head.prev, struct truth_entry, node);
}

void truth_cache_free(struct truth_cache *cache)
{
	for (struct truth_entry *entry; cache && (entry = least_recently_used(cache));)
		drop(cache, entry);
	free(cache);
}

static struct truth_entry *find(struct truth_cache *cache, str_t sql, str_t catalog_digest)
{
	for (struct list_node *node = cache->entries.head.next; node != &cache->entries.head;
	     node = node->next) {
		struct truth_entry *entry = container_of(node, struct truth_entry, node);
		if (str_equal(entry->sql, sql) && str_equal(entry->catalog_digest, catalog_digest))
			return entry;
	}
	return NULL;
}

const struct cached_truth *truth_cache_get(struct truth_cache *cache, str_t sql, str_t catalog_digest,
					   int64_t now_us)
{
	struct truth_entry *entry = find(cache, sql, catalog_digest);
	if (!entry)
		return NULL;
	if (now_us >= entry->expires_us) {
		drop(cache, entry);
		return NULL;
	}
	list_remove(&cache->entries, &entry->node);
	list_prepend(&cache->entries, &entry->node);
	return &entry->truth;
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

static struct truth_entry *entry_new(str_t sql, str_t catalog_digest, const struct query_run *run)
{
	struct truth_entry *entry = calloc(1, sizeof *entry);
	if (!entry)
		abort();
	struct result_set result = result_finish(&run->result);
	entry->arena = arena_new();
	entry->sql = arena_str(entry->arena, sql);
	entry->catalog_digest = arena_str(entry->arena, catalog_digest);
	entry->truth.result = copy_result(&result, entry->arena);
	entry->truth.execution = run->execution;
	entry->bytes = (int64_t)(arena_size_bytes(entry->arena) + sizeof *entry);
	return entry;
}

/* A result takes about what was counted while it was fetched; arenas round up, which is what is counted in
 * the end. */
void truth_cache_put(struct truth_cache *cache, str_t sql, str_t catalog_digest, const struct query_run *run,
		     int64_t now_us)
{
	struct truth_entry *older = find(cache, sql, catalog_digest);
	if (older)
		drop(cache, older);
	int64_t most = cache->max_bytes / LARGEST_SHARE;
	if (run->result.truncated || run->result.bytes + (int64_t)sql.len > most)
		return;
	struct truth_entry *entry = entry_new(sql, catalog_digest, run);
	if (entry->bytes > most) {
		arena_free(entry->arena);
		free(entry);
		return;
	}
	while (cache->bytes + entry->bytes > cache->max_bytes)
		drop(cache, least_recently_used(cache));
	entry->expires_us = now_us + cache->ttl_us;
	cache->bytes += entry->bytes;
	list_prepend(&cache->entries, &entry->node);
}

int64_t truth_cache_bytes(const struct truth_cache *cache)
{
	return cache->bytes;
}

size_t truth_cache_count(const struct truth_cache *cache)
{
	return cache->entries.count;
}
