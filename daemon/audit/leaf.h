/*
 * What of a Kafka record is a leaf of the log: its offset, its key and its value. Pure; any thread.
 *
 * The data of a leaf, of which merkle.h makes the hash:
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
 */
#pragma once

#include "audit/merkle.h"

#define LEAF_VERSION 1

/* Appends the data of the leaf. An absent key or value is null. Neither may be longer than INT32_MAX bytes.
 */
void leaf_encode(int64_t offset, str_t key, str_t value, struct buf *out);

/* The hash of the same, without a copy of key and value. */
void leaf_hash(int64_t offset, str_t key, str_t value, struct merkle_hash *ret_hash);
