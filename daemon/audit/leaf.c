#include "audit/leaf.h"

#include "common/utf8.h"

#include <assert.h>
#include <endian.h>

enum { HEAD_BYTES = 1 + 8, LENGTH_BYTES = 4, PARTS = 5, MARK_HEAD_BYTES = 1 + 1 + 8 + 8 + LENGTH_BYTES };

struct leaf_parts {
	char head[HEAD_BYTES], key_length[LENGTH_BYTES], value_length[LENGTH_BYTES];
	str_t parts[PARTS];
};

static str_t content(str_t text)
{
	return str_present(text) ? text : STR("");
}

static void put_length(char to[LENGTH_BYTES], str_t text)
{
	assert(text.len <= INT32_MAX);
	uint32_t length = htobe32(str_present(text) ? (uint32_t)text.len : UINT32_MAX);
	memcpy(to, &length, sizeof length);
}

static void fill_parts(struct leaf_parts *leaf, int64_t offset, str_t key, str_t value)
{
	uint64_t place = htobe64((uint64_t)offset);
	leaf->head[0] = LEAF_VERSION_RECORD;
	memcpy(leaf->head + 1, &place, sizeof place);
	put_length(leaf->key_length, key);
	put_length(leaf->value_length, value);
	leaf->parts[0] = (str_t){ leaf->head, sizeof leaf->head };
	leaf->parts[1] = (str_t){ leaf->key_length, sizeof leaf->key_length };
	leaf->parts[2] = content(key);
	leaf->parts[3] = (str_t){ leaf->value_length, sizeof leaf->value_length };
	leaf->parts[4] = content(value);
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

/* ---- marks ---- */

bool leaf_mark_valid(const struct leaf_mark *mark)
{
	str_t reason = content(mark->reason);
	if (mark->from_offset < 0 || mark->to_offset < 0 || reason.len > LEAF_REASON_MAX)
		return false;
	if (mark->kind == LEAF_MARK_GAP)
		return mark->from_offset < mark->to_offset && reason.len == 0;
	return mark->kind == LEAF_MARK_BEGINS_AGAIN && utf8_valid(reason.ptr, reason.len) &&
	       !memchr(reason.ptr, '\0', reason.len);
}

static void fill_mark_head(char head[MARK_HEAD_BYTES], const struct leaf_mark *mark)
{
	uint64_t from = htobe64((uint64_t)mark->from_offset), to = htobe64((uint64_t)mark->to_offset);
	assert(leaf_mark_valid(mark));
	head[0] = LEAF_VERSION_MARK;
	head[1] = (char)mark->kind;
	memcpy(head + 2, &from, sizeof from);
	memcpy(head + 2 + sizeof from, &to, sizeof to);
	put_length(head + 2 + sizeof from + sizeof to, content(mark->reason));
}

void leaf_mark_encode(const struct leaf_mark *mark, struct buf *out)
{
	char head[MARK_HEAD_BYTES];
	fill_mark_head(head, mark);
	buf_append(out, head, sizeof head);
	buf_append_str(out, mark->reason);
}

void leaf_mark_hash(const struct leaf_mark *mark, struct merkle_hash *ret_hash)
{
	char head[MARK_HEAD_BYTES];
	fill_mark_head(head, mark);
	const str_t parts[] = { { head, sizeof head }, content(mark->reason) };
	merkle_hash_leaf_parts(parts, 2, ret_hash);
}
