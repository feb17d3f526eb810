/*
 * Trees of the leaves 0, 1, 2 … by the definitions of RFC 6962 alone, for tests of what computes them another
 * way: the recursions of section 2.1 as they stand there, over hashes that are remembered. Header-only.
 */
#pragma once

#include "audit/merkle.h"

#include <setjmp.h>

#include <cmocka.h>

#define TREES_SIZE_MAX 300

static struct {
	bool known;
	struct merkle_hash hash;
} trees_known[TREES_SIZE_MAX + 1][TREES_SIZE_MAX + 1]; /* [begin][end] */

/* The data of a leaf: its number, and some bytes more. */
static inline str_t trees_leaf(uint64_t number, char ret_data[64])
{
	int len = snprintf(ret_data, 64, "%ju:%.*s", (uintmax_t)number, (int)(number % 37),
			   "abcdefghijklmnopqrstuvwxyzabcdefghijkl");
	return (str_t){ ret_data, (size_t)len };
}

static inline void trees_leaf_hash(uint64_t number, struct merkle_hash *ret_hash)
{
	char data[64];
	str_t leaf = trees_leaf(number, data);
	merkle_hash_leaf(leaf.ptr, leaf.len, ret_hash);
}

/* MTH(D[begin:end]) */
static inline struct merkle_hash trees_root(uint64_t begin, uint64_t end)
{
	unsigned char data[65] = { 1 };
	struct merkle_hash hash;
	assert_true(begin <= end && end <= TREES_SIZE_MAX);
	if (trees_known[begin][end].known)
		return trees_known[begin][end].hash;
	if (end == begin) {
		hash_sha256("", 0, hash.bytes);
	} else if (end - begin == 1) {
		char text[64], leaf[65] = { 0 };
		str_t content = trees_leaf(begin, text);
		memcpy(leaf + 1, content.ptr, content.len);
		hash_sha256(leaf, 1 + content.len, hash.bytes);
	} else {
		uint64_t half = 1;
		while (2 * half < end - begin)
			half *= 2;
		struct merkle_hash left = trees_root(begin, begin + half),
				   right = trees_root(begin + half, end);
		memcpy(data + 1, left.bytes, 32);
		memcpy(data + 33, right.bytes, 32);
		hash_sha256(data, sizeof data, hash.bytes);
	}
	trees_known[begin][end].known = true;
	trees_known[begin][end].hash = hash;
	return hash;
}

static inline void trees_add(struct merkle_proof *proof, struct merkle_hash hash)
{
	assert_true(proof->count < MERKLE_PROOF_MAX);
	proof->hashes[proof->count++] = hash;
}

/* PATH(index, D[begin:end]), the index counted from the first leaf of all */
static inline void trees_path(uint64_t index, uint64_t begin, uint64_t end, struct merkle_proof *proof)
{
	uint64_t half = 1;
	if (end - begin == 1)
		return;
	while (2 * half < end - begin)
		half *= 2;
	if (index < begin + half) {
		trees_path(index, begin, begin + half, proof);
		trees_add(proof, trees_root(begin + half, end));
	} else {
		trees_path(index, begin + half, end, proof);
		trees_add(proof, trees_root(begin, begin + half));
	}
}

/* SUBPROOF(old, D[begin:end], whole), the old size counted from the first leaf of all */
static inline void trees_subproof(uint64_t old, uint64_t begin, uint64_t end, bool whole,
				  struct merkle_proof *proof)
{
	uint64_t half = 1;
	if (old == end) {
		if (!whole)
			trees_add(proof, trees_root(begin, end));
		return;
	}
	while (2 * half < end - begin)
		half *= 2;
	if (old <= begin + half) {
		trees_subproof(old, begin, begin + half, whole, proof);
		trees_add(proof, trees_root(begin + half, end));
	} else {
		trees_subproof(old, begin + half, end, false, proof);
		trees_add(proof, trees_root(begin, begin + half));
	}
}

static inline bool trees_same(const struct merkle_proof *a, const struct merkle_proof *b)
{
	return a->count == b->count && memcmp(a->hashes, b->hashes, a->count * sizeof a->hashes[0]) == 0;
}

/* The node function of a source whose trees these are. */
static inline err_t trees_node(void *context, unsigned level, uint64_t index, struct merkle_hash *ret_hash)
{
	(void)context;
	*ret_hash = trees_root(index << level, (index + 1) << level);
	return ERR_OK;
}
