#include "audit/merkle.h"

#include <assert.h>
#include <endian.h>

enum { STATE_VERSION = 1, STATE_HEAD_BYTES = 1 + 8, STATE_CHECK_BYTES = 4 };

bool merkle_hash_equal(const struct merkle_hash *a, const struct merkle_hash *b)
{
	return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

void merkle_hash_leaf(const void *data, size_t len, struct merkle_hash *ret_hash)
{
	merkle_hash_leaf_parts(&(str_t){ data, len }, 1, ret_hash);
}

void merkle_hash_leaf_parts(const str_t *parts, size_t count, struct merkle_hash *ret_hash)
{
	str_t all[1 + MERKLE_PARTS_MAX] = { { "\0", 1 } };
	assert(count <= MERKLE_PARTS_MAX);
	memcpy(all + 1, parts, count * sizeof *parts);
	hash_sha256_parts(all, 1 + count, ret_hash->bytes);
}

void merkle_hash_node(const struct merkle_hash *left, const struct merkle_hash *right,
		      struct merkle_hash *ret_hash)
{
	unsigned char data[1 + 2 * DIGEST_BYTES] = { 1 };
	memcpy(data + 1, left->bytes, DIGEST_BYTES);
	memcpy(data + 1 + DIGEST_BYTES, right->bytes, DIGEST_BYTES);
	hash_sha256(data, sizeof data, ret_hash->bytes);
}

/* ---- growing ---- */

void merkle_range_append(struct merkle_range *range, const struct merkle_hash *leaf, merkle_node_fn *visit,
			 void *context)
{
	struct merkle_hash hash = *leaf;
	unsigned level = 0;
	assert(range->size < MERKLE_SIZE_MAX);
	if (visit)
		visit(context, 0, range->size, &hash);
	for (; range->size >> level & 1; level++) {
		merkle_hash_node(&range->hashes[level], &hash, &hash);
		if (visit)
			visit(context, level + 1, range->size >> (level + 1), &hash);
	}
	range->hashes[level] = hash;
	range->size++;
}

static err_t range_node(void *context, unsigned level, uint64_t index, struct merkle_hash *ret_hash)
{
	const struct merkle_range *range = context;
	(void)index;
	*ret_hash = range->hashes[level];
	return ERR_OK;
}

/* The hash of the leaves from the last multiple of 2^levels to `size`, of which there are some: the complete
 * subtrees of that part, the smallest one first. */
static err_t fold_edge(const struct merkle_source *source, uint64_t size, unsigned levels,
		       struct merkle_hash *ret_hash)
{
	struct merkle_hash hash, left;
	bool first = true;
	for (unsigned level = 0; level < levels; level++) {
		if (!(size >> level & 1))
			continue;
		err_t err = source->node(source->context, level, (size >> level) - 1, &left);
		if (err)
			return err;
		if (first)
			hash = left;
		else
			merkle_hash_node(&left, &hash, &hash);
		first = false;
	}
	assert(!first);
	*ret_hash = hash;
	return ERR_OK;
}

err_t merkle_source_root(const struct merkle_source *source, uint64_t size, struct merkle_hash *ret_root)
{
	if (size > MERKLE_SIZE_MAX)
		return ERR_AUDIT_RANGE;
	if (size > 0)
		return fold_edge(source, size, MERKLE_LEVELS, ret_root);
	hash_sha256("", 0, ret_root->bytes);
	return ERR_OK;
}

void merkle_range_root(const struct merkle_range *range, struct merkle_hash *ret_root)
{
	struct merkle_range copy = *range;
	err_t err = merkle_source_root(&(struct merkle_source){ range_node, &copy }, copy.size, ret_root);
	assert(err == ERR_OK);
}

void merkle_range_encode(const struct merkle_range *range, struct buf *out)
{
	size_t start = out->len;
	uint64_t size = htobe64(range->size);
	buf_append_char(out, STATE_VERSION);
	buf_append(out, &size, sizeof size);
	for (unsigned level = 0; level < MERKLE_LEVELS; level++)
		if (range->size >> level & 1)
			buf_append(out, range->hashes[level].bytes, DIGEST_BYTES);
	uint32_t check = htobe32(hash_crc32(out->data + start, out->len - start));
	buf_append(out, &check, sizeof check);
}

err_t merkle_range_decode(str_t state, struct merkle_range *ret_range)
{
	struct merkle_range range = { 0 };
	uint64_t size;
	uint32_t check;
	if (state.len < STATE_HEAD_BYTES + STATE_CHECK_BYTES || state.ptr[0] != STATE_VERSION)
		return ERR_AUDIT_MALFORMED;
	memcpy(&size, state.ptr + 1, sizeof size);
	range.size = be64toh(size);
	size_t hashes_bytes = (size_t)__builtin_popcountll(range.size) * DIGEST_BYTES;
	if (range.size > MERKLE_SIZE_MAX || state.len != STATE_HEAD_BYTES + hashes_bytes + STATE_CHECK_BYTES)
		return ERR_AUDIT_MALFORMED;
	memcpy(&check, state.ptr + state.len - sizeof check, sizeof check);
	if (be32toh(check) != hash_crc32(state.ptr, state.len - sizeof check))
		return ERR_AUDIT_MALFORMED;
	const char *at = state.ptr + STATE_HEAD_BYTES;
	for (unsigned level = 0; level < MERKLE_LEVELS; level++) {
		if (!(range.size >> level & 1))
			continue;
		memcpy(range.hashes[level].bytes, at, DIGEST_BYTES);
		at += DIGEST_BYTES;
	}
	*ret_range = range;
	return ERR_OK;
}

/* ---- proving ---- */

static err_t add_node(const struct merkle_source *source, unsigned level, uint64_t index,
		      struct merkle_proof *proof)
{
	err_t err = source->node(source->context, level, index, &proof->hashes[proof->count]);
	if (!err)
		proof->count++;
	return err;
}

/* Adds the siblings of the nodes from that one up to the root. */
static err_t add_siblings(const struct merkle_source *source, unsigned level, uint64_t index, uint64_t size,
			  struct merkle_proof *proof)
{
	for (; (size - 1) >> level; level++, index >>= 1) {
		uint64_t sibling = index ^ 1, last = size >> level; /* the first that is not complete */
		err_t err = ERR_OK;
		if (sibling < last) {
			err = add_node(source, level, sibling, proof);
		} else if (sibling == last && sibling << level < size) {
			err = fold_edge(source, size, level, &proof->hashes[proof->count]);
			if (!err)
				proof->count++;
		}
		if (err)
			return err;
	}
	return ERR_OK;
}

err_t merkle_prove_inclusion(const struct merkle_source *source, uint64_t index, uint64_t size,
			     struct merkle_proof *ret_proof)
{
	struct merkle_proof proof = { 0 };
	if (size > MERKLE_SIZE_MAX || index >= size)
		return ERR_AUDIT_RANGE;
	err_t err = add_siblings(source, 0, index, size, &proof);
	if (!err)
		*ret_proof = proof;
	return err;
}

err_t merkle_prove_consistency(const struct merkle_source *source, uint64_t old_size, uint64_t size,
			       struct merkle_proof *ret_proof)
{
	struct merkle_proof proof = { 0 };
	err_t err = ERR_OK;
	if (size > MERKLE_SIZE_MAX || old_size > size)
		return ERR_AUDIT_RANGE;
	if (old_size > 0 && old_size < size) {
		/* The last of the complete subtrees of the old tree; where it is all of it, everybody has it.
		 */
		unsigned level = (unsigned)__builtin_ctzll(old_size);
		uint64_t index = (old_size >> level) - 1;
		if (index > 0)
			err = add_node(source, level, index, &proof);
		if (!err)
			err = add_siblings(source, level, index, size, &proof);
	}
	if (!err)
		*ret_proof = proof;
	return err;
}

/* ---- verifying ---- */

/* A node on its way up, and the last node of its level: which of them have a sibling, and on which side. */
struct climb {
	uint64_t index, last;
};

/* Whether the next hash of the proof is the left one; goes on to the level above that. */
static bool climb_left(struct climb *climb)
{
	bool left = climb->index & 1 || climb->index == climb->last;
	if (left) /* levels in which the node is the last one and has no sibling */
		while (climb->index && !(climb->index & 1)) {
			climb->index >>= 1;
			climb->last >>= 1;
		}
	climb->index >>= 1;
	climb->last >>= 1;
	return left;
}

bool merkle_verify_inclusion(const struct merkle_proof *proof, uint64_t index, uint64_t size,
			     const struct merkle_hash *leaf, const struct merkle_hash *root)
{
	if (size > MERKLE_SIZE_MAX || index >= size || proof->count > MERKLE_PROOF_MAX)
		return false;
	struct climb climb = { index, size - 1 };
	struct merkle_hash hash = *leaf;
	for (size_t i = 0; i < proof->count; i++) {
		if (climb.last == 0)
			return false;
		if (climb_left(&climb))
			merkle_hash_node(&proof->hashes[i], &hash, &hash);
		else
			merkle_hash_node(&hash, &proof->hashes[i], &hash);
	}
	return climb.last == 0 && merkle_hash_equal(&hash, root);
}

bool merkle_verify_consistency(const struct merkle_proof *proof, uint64_t old_size, uint64_t size,
			       const struct merkle_hash *old_root, const struct merkle_hash *root)
{
	if (size > MERKLE_SIZE_MAX || old_size > size || proof->count > MERKLE_PROOF_MAX)
		return false;
	if (old_size == 0) {
		struct merkle_hash empty;
		hash_sha256("", 0, empty.bytes);
		return proof->count == 0 && merkle_hash_equal(old_root, &empty) &&
		       (size > 0 || merkle_hash_equal(root, &empty));
	}
	if (old_size == size)
		return proof->count == 0 && merkle_hash_equal(old_root, root);
	unsigned level = (unsigned)__builtin_ctzll(old_size);
	struct climb climb = { (old_size >> level) - 1, (size - 1) >> level };
	bool whole = climb.index == 0; /* then the proof leaves that node out */
	if (!whole && proof->count == 0)
		return false;
	struct merkle_hash old_hash = whole ? *old_root : proof->hashes[0], hash = old_hash;
	for (size_t i = whole ? 0 : 1; i < proof->count; i++) {
		if (climb.last == 0)
			return false;
		if (climb_left(&climb)) {
			merkle_hash_node(&proof->hashes[i], &old_hash, &old_hash);
			merkle_hash_node(&proof->hashes[i], &hash, &hash);
		} else {
			merkle_hash_node(&hash, &proof->hashes[i], &hash);
		}
	}
	return climb.last == 0 && merkle_hash_equal(&old_hash, old_root) && merkle_hash_equal(&hash, root);
}
