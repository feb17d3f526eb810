#include "judge/digest_table.h"

static struct digest_node **bucket_of(const struct digest_table *table, const unsigned char key[DIGEST_BYTES])
{
	return &table->buckets[hash_seeded(key, DIGEST_BYTES) & (table->capacity - 1)];
}

void digest_table_free(struct digest_table *table)
{
	free(table->buckets);
	*table = (struct digest_table){ NULL, 0, 0 };
}

struct digest_node *digest_table_get(const struct digest_table *table, const unsigned char key[DIGEST_BYTES])
{
	if (table->capacity == 0)
		return NULL;
	for (struct digest_node *node = *bucket_of(table, key); node; node = node->next)
		if (memcmp(node->key, key, DIGEST_BYTES) == 0)
			return node;
	return NULL;
}

static void link_node(struct digest_table *table, struct digest_node *node)
{
	struct digest_node **bucket = bucket_of(table, node->key);
	node->next = *bucket;
	*bucket = node;
}

static void grow(struct digest_table *table)
{
	struct digest_table wider = { NULL, table->capacity ? table->capacity * 2 : 64, table->count };
	wider.buckets = calloc(wider.capacity, sizeof(struct digest_node *));
	if (!wider.buckets)
		abort();
	for (size_t i = 0; i < table->capacity; i++) {
		for (struct digest_node *node = table->buckets[i], *next; node; node = next) {
			next = node->next;
			link_node(&wider, node);
		}
	}
	free(table->buckets);
	*table = wider;
}

void digest_table_add(struct digest_table *table, struct digest_node *node)
{
	if (table->count >= table->capacity)
		grow(table);
	link_node(table, node);
	table->count++;
}

void digest_table_remove(struct digest_table *table, struct digest_node *node)
{
	struct digest_node **link = bucket_of(table, node->key);
	while (*link != node)
		link = &(*link)->next;
	*link = node->next;
	node->next = NULL;
	table->count--;
}
