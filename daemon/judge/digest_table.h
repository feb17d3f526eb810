/*
 * Intrusive hash table keyed by SHA-256 digests: the node lives in its owner. Not thread-safe.
 */
#pragma once

#include "common/hash.h"

struct digest_node {
	struct digest_node *next;
	unsigned char key[DIGEST_BYTES];
};

struct digest_table {
	struct digest_node **buckets;
	size_t capacity; /* power of two, or 0 */
	size_t count;
};

/* Releases the buckets; the nodes are their owners'. */
void digest_table_free(struct digest_table *table);

/* The node of `key`, or NULL. */
struct digest_node *digest_table_get(const struct digest_table *table, const unsigned char key[DIGEST_BYTES]);

/* Adds a node whose key is set and not in the table. */
void digest_table_add(struct digest_table *table, struct digest_node *node);

/* Takes a node of the table out. */
void digest_table_remove(struct digest_table *table, struct digest_node *node);
