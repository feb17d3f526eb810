/*
 * What a leaf of the log is: the offset, the key and the value of a Kafka record, or a mark. Pure; any
 * thread.
 *
 * The data of a record's leaf, of which merkle.h makes the hash:
 *
 *     1 byte    version: 1
 *     8 bytes   offset, most significant byte first
 *     4 bytes   length of the key in bytes, most significant byte first; 0xffffffff: the key is null
 *               the key
 *     4 bytes   length of the value, likewise
 *               the value
 *
 * Two records that differ in any of that have different data. Topic and partition are in the checkpoint's
 * origin. Headers and the broker's timestamp are not in the leaf: what they say that matters is in the value.
 *
 * A mark says what the log itself did not see, so that it is part of what is signed:
 *
 *     1 byte    version: 2
 *     1 byte    kind: 1 a gap, 2 the log begins again
 *     8 bytes   the offset that the log had come to, most significant byte first
 *     8 bytes   the offset at which it goes on, likewise
 *     4 bytes   length of the reason in bytes, likewise
 *               the reason
 *
 * A gap: the records between the two offsets were deleted before the log read them. The log begins again: an
 * operator had it go on where another history of the partition begins, and the reason is what he said.
 */
#pragma once

#include "audit/merkle.h"

#define LEAF_VERSION_RECORD 1
#define LEAF_VERSION_MARK   2

/* Appends the data of the leaf. An absent key or value is null. Neither may be longer than INT32_MAX bytes.
 */
void leaf_encode(int64_t offset, str_t key, str_t value, struct buf *out);

/* The hash of the same, without a copy of key and value. */
void leaf_hash(int64_t offset, str_t key, str_t value, struct merkle_hash *ret_hash);

enum leaf_mark_kind { LEAF_MARK_GAP = 1, LEAF_MARK_BEGINS_AGAIN = 2 };

/* No reason is longer, in bytes. */
#define LEAF_REASON_MAX 1024

struct leaf_mark {
	enum leaf_mark_kind kind;
	int64_t from_offset, to_offset; /* a gap ends behind where it begins */
	str_t reason;			/* UTF-8 without a NUL; absent is empty */
};

/* Whether it is one: the offsets in their order and not negative, the reason neither too long nor something
 * else than a text; a gap has none, so that a tree that is grown again is the same. */
bool leaf_mark_valid(const struct leaf_mark *mark);

/* As leaf_encode and leaf_hash, of a valid mark. */
void leaf_mark_encode(const struct leaf_mark *mark, struct buf *out);
void leaf_mark_hash(const struct leaf_mark *mark, struct merkle_hash *ret_hash);
