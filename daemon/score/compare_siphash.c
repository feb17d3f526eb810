#include "score/compare_siphash.h"

static inline uint64_t rotate(uint64_t x, int bits)
{
	return (x << bits) | (x >> (64 - bits));
}

static inline void sip_rounds(uint64_t v[4], int count)
{
	for (int i = 0; i < count; i++) {
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
}

static inline void take_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	sip_rounds(v, 2);
	v[0] ^= word;
}

static inline uint64_t fold(const uint64_t v[4])
{
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* Little-endian, as published. */
static uint64_t read_word(const unsigned char *bytes, size_t len)
{
	uint64_t word = 0;
	for (size_t i = 0; i < len; i++)
		word |= (uint64_t)bytes[i] << (8 * i);
	return word;
}

struct compare_hash compare_siphash(const struct compare_digest_key *key, const void *data, size_t len)
{
	const uint64_t *k = key->words;
	uint64_t v[4] = { k[0] ^ 0x736f6d6570736575u, k[1] ^ 0x646f72616e646f6du ^ 0xee,
			  k[0] ^ 0x6c7967656e657261u, k[1] ^ 0x7465646279746573u };
	const unsigned char *bytes = data;
	size_t whole = len & ~(size_t)7;
	for (size_t i = 0; i < whole; i += 8)
		take_word(v, read_word(bytes + i, 8));
	take_word(v, (uint64_t)len << 56 | read_word(bytes + whole, len - whole));
	struct compare_hash hash;
	v[2] ^= 0xee;
	sip_rounds(v, 4);
	hash.low = fold(v);
	v[1] ^= 0xdd;
	sip_rounds(v, 4);
	hash.high = fold(v);
	return hash;
}
