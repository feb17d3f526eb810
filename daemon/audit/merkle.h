/*
 * The Merkle tree of RFC 6962 with SHA-256: a leaf is SHA-256(0x00 || data), a node SHA-256(0x01 || left ||
 * right), the empty tree SHA-256 of nothing.
 *
 * A writer keeps the compact range: the roots of the largest complete subtrees from the left, one for each
 * bit of the size. It is all that a tree needs to grow, and its root follows from it. Who proves something
 * needs more of the tree and asks a source for the nodes (tiles.h is one). Who verifies needs the proof
 * alone.
 *
 * A node is named by its level (leaves are 0) and its index from the left in that level; it covers the leaves
 * [index << level, (index + 1) << level), all of which are there.
 *
 * Pure; any thread. Only merkle_source may fail otherwise, with what its function returns.
 */
#pragma once

#include "common/buf.h"
#include "common/hash.h"

struct merkle_hash {
	unsigned char bytes[DIGEST_BYTES];
};

/* No tree has more leaves: with so many a proof has at most 63 hashes, which is what witnesses take. */
#define MERKLE_SIZE_MAX	 (UINT64_C(1) << 62)
#define MERKLE_LEVELS	 63
#define MERKLE_PROOF_MAX 63

bool merkle_hash_equal(const struct merkle_hash *a, const struct merkle_hash *b);

/* The hash of a leaf with that data. */
void merkle_hash_leaf(const void *data, size_t len, struct merkle_hash *ret_hash);

/* The same where the data are in parts, one behind the other; at most MERKLE_PARTS_MAX. */
#define MERKLE_PARTS_MAX 7
void merkle_hash_leaf_parts(const str_t *parts, size_t count, struct merkle_hash *ret_hash);

/* The hash of the node above two. */
void merkle_hash_node(const struct merkle_hash *left, const struct merkle_hash *right,
		      struct merkle_hash *ret_hash);

/* ---- growing ---- */

/* Empty: all zero. `hashes[level]` means something where the size has that bit. */
struct merkle_range {
	uint64_t size;
	struct merkle_hash hashes[MERKLE_LEVELS];
};

/* Gets every node that a new leaf completes, the leaf first. */
typedef void merkle_node_fn(void *context, unsigned level, uint64_t index, const struct merkle_hash *hash);

/* Adds a leaf. `visit` may be NULL. The size must be less than MERKLE_SIZE_MAX. */
void merkle_range_append(struct merkle_range *range, const struct merkle_hash *leaf, merkle_node_fn *visit,
			 void *context);

/* The root of the tree as it is now. */
void merkle_range_root(const struct merkle_range *range, struct merkle_hash *ret_root);

/*
 * Appends the state for a store: a version (1), the size (8 bytes, most significant first), the hashes from
 * the lowest level up, and the CRC-32 of all that (4 bytes, most significant first): a state that was damaged
 * in its store must not be grown and signed. At most MERKLE_STATE_MAX bytes.
 */
#define MERKLE_STATE_MAX (1 + 8 + MERKLE_LEVELS * DIGEST_BYTES + 4)
void merkle_range_encode(const struct merkle_range *range, struct buf *out);

/* ERR_AUDIT_MALFORMED: that is no such state, or a damaged one. */
err_t merkle_range_decode(str_t state, struct merkle_range *ret_range);

/* ---- proving ---- */

/* Where nodes come from: sets the hash, or returns an error. It is asked only for nodes that are complete in
 * a tree of the size in question. */
typedef err_t merkle_source_fn(void *context, unsigned level, uint64_t index, struct merkle_hash *ret_hash);

struct merkle_source {
	merkle_source_fn *node;
	void *context;
};

/* The hashes of a proof in the order of RFC 6962. */
struct merkle_proof {
	size_t count;
	struct merkle_hash hashes[MERKLE_PROOF_MAX];
};

/* The root of the first `size` leaves. ERR_AUDIT_RANGE: above MERKLE_SIZE_MAX. */
err_t merkle_source_root(const struct merkle_source *source, uint64_t size, struct merkle_hash *ret_root);

/* That a leaf is in the tree of that size (RFC 6962, 2.1.1). ERR_AUDIT_RANGE: it is not below it. */
err_t merkle_prove_inclusion(const struct merkle_source *source, uint64_t index, uint64_t size,
			     struct merkle_proof *ret_proof);

/* That the tree of the one size begins with that of the other (RFC 6962, 2.1.2); nothing has to be proven of
 * an empty one and of the same. ERR_AUDIT_RANGE: the old one is the larger one. */
err_t merkle_prove_consistency(const struct merkle_source *source, uint64_t old_size, uint64_t size,
			       struct merkle_proof *ret_proof);

/* ---- verifying ---- */

/* Whether the proof shows that. Sizes, indexes, hashes and proof may be anybody's (RFC 9162, 2.1.3.2
 * and 2.1.4.2). */
bool merkle_verify_inclusion(const struct merkle_proof *proof, uint64_t index, uint64_t size,
			     const struct merkle_hash *leaf, const struct merkle_hash *root);
bool merkle_verify_consistency(const struct merkle_proof *proof, uint64_t old_size, uint64_t size,
			       const struct merkle_hash *old_root, const struct merkle_hash *root);
