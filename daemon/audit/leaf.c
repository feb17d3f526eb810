#include "audit/leaf.h"

#include <assert.h>
#include <endian.h>

enum { HEAD_BYTES = 1 + 8, LENGTH_BYTES = 4, PARTS = 5 };

struct leaf_parts {
	char head[HEAD_BYTES], key_length[LENGTH_BYTES], value_length[LENGTH_BYTES];
	str_t parts[PARTS];
};

static void put_length(char to[LENGTH_BYTES], str_t text)
{
	assert(text.len <= INT32_MAX);
	uint32_t length = htobe32(str_present(text) ? (uint32_t)text.len : UINT32_MAX);
	memcpy(to, &length, sizeof length);
}

static void fill_parts(struct leaf_parts *leaf, int64_t offset, str_t key, str_t value)
{
	uint64_t place = htobe64((uint64_t)offset);
	leaf->head[0] = LEAF_VERSION;
	memcpy(leaf->head + 1, &place, sizeof place);
	put_length(leaf->key_length, key);
	put_length(leaf->value_length, value);
	leaf->parts[0] = (str_t){ leaf->head, sizeof leaf->head };
	leaf->parts[1] = (str_t){ leaf->key_length, sizeof leaf->key_length };
	leaf->parts[2] = str_present(key) ? key : STR("");
	leaf->parts[3] = (str_t){ leaf->value_length, sizeof leaf->value_length };
	leaf->parts[4] = str_present(value) ? value : STR("");
}

void leaf_encode(int64_t offset, str_t key, str_t value, struct buf *out)
{
	struct leaf_parts leaf;
	fill_parts(&leaf, offset, key, value);
	for (size_t i = 0; i < PARTS; i++)
		buf_append_str(out, leaf.parts[i]);
}

void leaf_hash(int64_t offset, str_t key, str_t value, struct merkle_hash *ret_hash)
{
	struct leaf_parts leaf;
	fill_parts(&leaf, offset, key, value);
	merkle_hash_leaf_parts(leaf.parts, PARTS, ret_hash);
}
