/*
 * Hashes and a hash map.
 *
 * hash_seeded is for tables in memory (its key is the process's own, so that hostile keys cannot be chosen to
 * collide); hash_keyed_128 is for digests under a key of the caller's; hash_sha256 is SHA-256, for names of
 * configurations, prompts and catalogs that outlive the process. Hashing is safe in any thread.
 */
#pragma once

#include "common/arena.h"

/* SipHash-2-4 with 64 bits, under a key of the process's own. Not stable across processes. */
uint64_t hash_seeded(const void *data, size_t len);

struct hash_key {
	uint64_t words[2];
};

struct hash_128 {
	uint64_t low, high;
};

/* A random key. */
void hash_key_make(struct hash_key *ret_key);

/* SipHash-2-4 with 64 and with 128 bits (Aumasson and Bernstein 2012; for 128, their reference code). */
uint64_t hash_keyed(const struct hash_key *key, const void *data, size_t len);
struct hash_128 hash_keyed_128(const struct hash_key *key, const void *data, size_t len);

/* Adds to a sum modulo 2^128. */
static inline void hash_128_add(struct hash_128 *sum, struct hash_128 hash)
{
	sum->high += hash.high + __builtin_add_overflow(sum->low, hash.low, &sum->low);
}

static inline bool hash_128_equal(struct hash_128 a, struct hash_128 b)
{
	return a.low == b.low && a.high == b.high;
}

/* CRC-32 (IEEE 802.3), for checks of stored bytes. */
uint32_t hash_crc32(const void *data, size_t len);

#define DIGEST_BYTES	32
#define DIGEST_HEX_SIZE 65

/* SHA-256 of the data. */
void hash_sha256(const void *data, size_t len, unsigned char ret_digest[DIGEST_BYTES]);

/* SHA-256 of several texts, one behind the other; absent ones are empty. */
void hash_sha256_parts(const str_t *parts, size_t count, unsigned char ret_digest[DIGEST_BYTES]);

/* SHA-256 of the data as 64 lower-case hexadecimal digits and a NUL. */
void hash_sha256_hex(const void *data, size_t len, char ret_hex[DIGEST_HEX_SIZE]);

/*
 * Map from texts to pointers; open addressing, memory from an arena (growing leaves the old table there, so
 * it suits maps that are built once). Keys are not copied. Reading is safe in any thread once nobody writes.
 */
struct hash_map {
	struct arena *arena;
	struct hash_slot *slots;
	size_t capacity; /* power of two, or 0 */
	size_t count;
};

/* An empty map with room for `expected` entries; it grows beyond. */
void hash_map_init(struct hash_map *map, struct arena *arena, size_t expected);

/* The value of `key`, or NULL. */
void *hash_map_get(const struct hash_map *map, str_t key);

/* Sets `key` to `value` (not NULL) and returns the value that it had, or NULL. */
void *hash_map_set(struct hash_map *map, str_t key, void *value);

/* Calls `visit` for every entry in no particular order. */
void hash_map_each(const struct hash_map *map, void (*visit)(str_t key, void *value, void *context),
		   void *context);
