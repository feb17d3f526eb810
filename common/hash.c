#include "common/hash.h"

#include <endian.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <sys/random.h>
#include <zlib.h>

struct hash_slot {
	str_t key;
	uint64_t hash;
	void *value; /* NULL: free */
};

/* ---- SipHash ---- */

void hash_key_make(struct hash_key *ret_key)
{
	if (getrandom(ret_key, sizeof *ret_key, 0) != sizeof *ret_key)
		abort();
}

static inline uint64_t rotate(uint64_t x, int bits)
{
	return (x << bits) | (x >> (64 - bits));
}

static inline void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[0] = rotate(v[0], 32);
	v[2] += v[3];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

static inline void take_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	sip_round(v);
	sip_round(v);
	v[0] ^= word;
}

/* Takes the data, its end with the length in the last byte. Words are little-endian, as published. */
static inline void take_data(uint64_t v[4], const struct hash_key *key, const void *data, size_t len)
{
	const unsigned char *bytes = data;
	size_t whole = len & ~(size_t)7;
	uint64_t word;
	v[0] = key->words[0] ^ 0x736f6d6570736575u;
	v[1] ^= key->words[1] ^ 0x646f72616e646f6du;
	v[2] = key->words[0] ^ 0x6c7967656e657261u;
	v[3] = key->words[1] ^ 0x7465646279746573u;
	for (size_t i = 0; i < whole; i += 8) {
		memcpy(&word, bytes + i, 8);
		take_word(v, le64toh(word));
	}
	word = (uint64_t)len << 56;
	for (size_t i = whole; i < len; i++)
		word |= (uint64_t)bytes[i] << (8 * (i - whole));
	take_word(v, word);
}

static inline uint64_t end_word(uint64_t v[4])
{
	for (int i = 0; i < 4; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t hash_keyed(const struct hash_key *key, const void *data, size_t len)
{
	uint64_t v[4] = { 0 };
	take_data(v, key, data, len);
	v[2] ^= 0xff;
	return end_word(v);
}

struct hash_128 hash_keyed_128(const struct hash_key *key, const void *data, size_t len)
{
	uint64_t v[4] = { [1] = 0xee };
	struct hash_128 hash;
	take_data(v, key, data, len);
	v[2] ^= 0xee;
	hash.low = end_word(v);
	v[1] ^= 0xdd;
	hash.high = end_word(v);
	return hash;
}

static struct hash_key seed;
static pthread_once_t seed_once = PTHREAD_ONCE_INIT;

static void make_seed(void)
{
	hash_key_make(&seed);
}

uint64_t hash_seeded(const void *data, size_t len)
{
	pthread_once(&seed_once, make_seed);
	return hash_keyed(&seed, data, len);
}

/* ---- others ---- */

uint32_t hash_crc32(const void *data, size_t len)
{
	return (uint32_t)crc32_z(0, data, len);
}

static EVP_MD *sha256;
static pthread_once_t sha256_once = PTHREAD_ONCE_INIT;

/* Asked for by name, it is looked up anew for every digest. */
static void fetch_sha256(void)
{
	sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
	if (!sha256)
		abort();
}

void hash_sha256(const void *data, size_t len, unsigned char ret_digest[DIGEST_BYTES])
{
	pthread_once(&sha256_once, fetch_sha256);
	if (!EVP_Digest(data, len, ret_digest, NULL, sha256, NULL))
		abort();
}

void hash_sha256_parts(const str_t *parts, size_t count, unsigned char ret_digest[DIGEST_BYTES])
{
	pthread_once(&sha256_once, fetch_sha256);
	EVP_MD_CTX *digest = EVP_MD_CTX_new();
	if (!digest || !EVP_DigestInit_ex2(digest, sha256, NULL))
		abort();
	for (size_t i = 0; i < count; i++)
		if (!EVP_DigestUpdate(digest, parts[i].ptr, parts[i].len))
			abort();
	if (!EVP_DigestFinal_ex(digest, ret_digest, NULL))
		abort();
	EVP_MD_CTX_free(digest);
}

void hash_sha256_hex(const void *data, size_t len, char ret_hex[DIGEST_HEX_SIZE])
{
	unsigned char digest[DIGEST_BYTES];
	hash_sha256(data, len, digest);
	for (size_t i = 0; i < DIGEST_BYTES; i++) {
		ret_hex[2 * i] = "0123456789abcdef"[digest[i] >> 4];
		ret_hex[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
	}
	ret_hex[2 * DIGEST_BYTES] = '\0';
}

/* ---- the map ---- */

void hash_map_init(struct hash_map *map, struct arena *arena, size_t expected)
{
	*map = (struct hash_map){ .arena = arena };
	if (expected == 0)
		return;
	map->capacity = 16;
	while (map->capacity < expected * 2)
		map->capacity *= 2;
	map->slots = ARENA_ARRAY(arena, struct hash_slot, map->capacity);
}

static struct hash_slot *find_slot(const struct hash_map *map, str_t key, uint64_t hash)
{
	size_t mask = map->capacity - 1;
	for (size_t i = hash & mask;; i = (i + 1) & mask) {
		struct hash_slot *slot = &map->slots[i];
		if (!slot->value || (slot->hash == hash && str_equal(slot->key, key)))
			return slot;
	}
}

void *hash_map_get(const struct hash_map *map, str_t key)
{
	if (map->count == 0)
		return NULL;
	return find_slot(map, key, hash_seeded(key.ptr, key.len))->value;
}

static void grow(struct hash_map *map)
{
	struct hash_map larger;
	hash_map_init(&larger, map->arena, map->capacity ? map->capacity : 8);
	for (size_t i = 0; i < map->capacity; i++) {
		const struct hash_slot *slot = &map->slots[i];
		if (slot->value)
			*find_slot(&larger, slot->key, slot->hash) = *slot;
	}
	larger.count = map->count;
	*map = larger;
}

void *hash_map_set(struct hash_map *map, str_t key, void *value)
{
	if (2 * (map->count + 1) > map->capacity)
		grow(map);
	uint64_t hash = hash_seeded(key.ptr, key.len);
	struct hash_slot *slot = find_slot(map, key, hash);
	void *old = slot->value;
	if (!old)
		map->count++;
	*slot = (struct hash_slot){ old ? slot->key : key, hash, value };
	return old;
}

void hash_map_each(const struct hash_map *map, void (*visit)(str_t key, void *value, void *context),
		   void *context)
{
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].value)
			visit(map->slots[i].key, map->slots[i].value, context);
}
