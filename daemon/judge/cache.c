#include "judge/cache.h"

#include "common/list.h"
#include "judge/digest_table.h"

struct cache_entry {
	struct list_node node; /* in `used`, the most recently used last */
	struct digest_node by_key;
	int64_t given_us;
	double score;
	bool has_reason;
	size_t reason_len;
	char reason[]; /* NUL-terminated */
};

struct cache {
	size_t limit_bytes;
	int64_t ttl_us;
	size_t used_bytes;
	struct list used;
	struct digest_table entries;
};

static size_t cost(size_t reason_len)
{
	return sizeof(struct cache_entry) + reason_len + 1 + sizeof(struct digest_node *);
}

static void drop(struct cache *cache, struct cache_entry *entry)
{
	list_remove(&cache->used, &entry->node);
	digest_table_remove(&cache->entries, &entry->by_key);
	cache->used_bytes -= cost(entry->reason_len);
	free(entry);
}

static struct cache_entry *oldest(const struct cache *cache)
{
	return container_of(cache->used.head.next, struct cache_entry, node);
}

/* Drops the oldest until `more` bytes have room. */
static void make_room(struct cache *cache, size_t more)
{
	while (cache->used_bytes > 0 && cache->used_bytes + more > cache->limit_bytes)
		drop(cache, oldest(cache));
}

void cache_resize(struct cache *cache, size_t size_bytes, int64_t ttl_s)
{
	cache->limit_bytes = ttl_s > 0 ? size_bytes : 0;
	cache->ttl_us = ttl_s * 1000000;
	make_room(cache, 0);
}

struct cache *cache_new(size_t size_bytes, int64_t ttl_s)
{
	struct cache *cache = calloc(1, sizeof *cache);
	if (!cache)
		abort();
	list_init(&cache->used);
	cache_resize(cache, size_bytes, ttl_s);
	return cache;
}

void cache_free(struct cache *cache)
{
	if (!cache)
		return;
	while (!list_empty(&cache->used))
		drop(cache, oldest(cache));
	digest_table_free(&cache->entries);
	free(cache);
}

static struct cache_entry *find(const struct cache *cache, const unsigned char key[DIGEST_BYTES])
{
	struct digest_node *node = digest_table_get(&cache->entries, key);
	return node ? container_of(node, struct cache_entry, by_key) : NULL;
}

bool cache_get(struct cache *cache, const unsigned char key[DIGEST_BYTES], int64_t now_us,
	       struct cached_verdict *ret_verdict)
{
	struct cache_entry *entry = find(cache, key);
	if (!entry)
		return false;
	if (now_us >= entry->given_us + cache->ttl_us) {
		drop(cache, entry);
		return false;
	}
	list_remove(&cache->used, &entry->node);
	list_append(&cache->used, &entry->node);
	*ret_verdict = (struct cached_verdict){
		entry->score, entry->has_reason ? (str_t){ entry->reason, entry->reason_len } : STR_NONE
	};
	return true;
}

void cache_put(struct cache *cache, const unsigned char key[DIGEST_BYTES], int64_t given_us,
	       const struct cached_verdict *verdict)
{
	struct cache_entry *former = find(cache, key);
	size_t size_bytes = cost(verdict->reason.len);
	if (former)
		drop(cache, former);
	if (size_bytes > cache->limit_bytes)
		return;
	make_room(cache, size_bytes);
	struct cache_entry *entry = calloc(1, sizeof *entry + verdict->reason.len + 1);
	if (!entry)
		abort();
	memcpy(entry->by_key.key, key, DIGEST_BYTES);
	entry->given_us = given_us;
	entry->score = verdict->score;
	entry->has_reason = str_present(verdict->reason);
	entry->reason_len = verdict->reason.len;
	if (verdict->reason.len > 0)
		memcpy(entry->reason, verdict->reason.ptr, verdict->reason.len);
	list_append(&cache->used, &entry->node);
	digest_table_add(&cache->entries, &entry->by_key);
	cache->used_bytes += size_bytes;
}

size_t cache_used_bytes(const struct cache *cache)
{
	return cache->used_bytes;
}
