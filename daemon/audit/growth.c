#include "audit/growth.h"

static void *grow(void *memory, size_t count, size_t *capacity, size_t item_bytes)
{
	if (count < *capacity)
		return memory;
	*capacity = *capacity ? 2 * *capacity : 8;
	memory = reallocarray(memory, *capacity, item_bytes);
	if (!memory)
		abort();
	return memory;
}

static void forget_marks(struct growth *growth)
{
	for (size_t i = 0; i < growth->marks_count; i++)
		free(growth->marks[i]);
	growth->marks_count = 0;
}

void growth_begin(struct growth *growth, const struct growth_position *from)
{
	forget_marks(growth);
	growth->tiles_count = 0;
	memset(growth->open, 0, sizeof growth->open);
	growth->from = growth->to = *from;
}

void growth_free(struct growth *growth)
{
	forget_marks(growth);
	free(growth->tiles);
	free(growth->marks);
	*growth = (struct growth)GROWTH_INIT;
}

/* A node that is complete now: the visitor of merkle_range_append. */
static void keep(void *context, unsigned level, uint64_t index, const struct merkle_hash *hash)
{
	struct growth *growth = context;
	struct tile_place place;
	if (!tile_place(level, index, &place))
		return;
	size_t *open = &growth->open[place.level];
	if (*open == 0 || place.position == 0) {
		growth->tiles = grow(growth->tiles, growth->tiles_count, &growth->tiles_capacity,
				     sizeof *growth->tiles);
		growth->tiles[growth->tiles_count].place = place;
		growth->tiles[growth->tiles_count].count = 0;
		*open = ++growth->tiles_count;
	}
	struct growth_tile *tile = &growth->tiles[*open - 1];
	tile->hashes[tile->count++] = *hash;
}

static void append(struct growth *growth, const struct merkle_hash *leaf)
{
	merkle_range_append(&growth->to.range, leaf, keep, growth);
}

err_t growth_add_record(struct growth *growth, int64_t offset, str_t key, str_t value)
{
	struct growth_position *to = &growth->to;
	if (offset < to->next_offset || offset == INT64_MAX || to->range.size == MERKLE_SIZE_MAX)
		return ERR_AUDIT_RANGE;
	leaf_hash(offset, key, value, &to->last_leaf);
	append(growth, &to->last_leaf);
	to->last_offset = offset;
	to->next_offset = offset + 1;
	return ERR_OK;
}

/* The record that was read last cannot be read again, or another one has its offset. */
static void forget_last(struct growth_position *position)
{
	position->last_offset = GROWTH_OFFSET_NONE;
	position->last_leaf = (struct merkle_hash){ { 0 } };
}

static err_t add_mark(struct growth *growth, const struct leaf_mark *mark)
{
	struct merkle_hash leaf;
	if (growth->to.range.size == MERKLE_SIZE_MAX)
		return ERR_AUDIT_RANGE;
	struct growth_mark *kept = calloc(1, sizeof *kept);
	if (!kept)
		abort();
	kept->index = growth->to.range.size;
	kept->mark = *mark;
	if (mark->reason.len)
		memcpy(kept->reason, mark->reason.ptr, mark->reason.len);
	kept->mark.reason = (str_t){ kept->reason, mark->reason.len };
	growth->marks =
		grow(growth->marks, growth->marks_count, &growth->marks_capacity, sizeof *growth->marks);
	growth->marks[growth->marks_count++] = kept;
	leaf_mark_hash(mark, &leaf);
	append(growth, &leaf);
	growth->to.next_offset = mark->to_offset;
	forget_last(&growth->to);
	return ERR_OK;
}

err_t growth_add_gap(struct growth *growth, int64_t to_offset)
{
	struct leaf_mark mark = { LEAF_MARK_GAP, growth->to.next_offset, to_offset, STR_NONE };
	return leaf_mark_valid(&mark) ? add_mark(growth, &mark) : ERR_AUDIT_RANGE;
}

err_t growth_begin_again(struct growth *growth, int64_t to_offset, str_t reason)
{
	struct leaf_mark mark = { LEAF_MARK_BEGINS_AGAIN, growth->to.next_offset, to_offset, reason };
	return leaf_mark_valid(&mark) ? add_mark(growth, &mark) : ERR_AUDIT_MALFORMED;
}

err_t growth_skip_to(struct growth *growth, int64_t next_offset)
{
	if (next_offset < growth->to.next_offset)
		return ERR_AUDIT_RANGE;
	growth->to.next_offset = next_offset;
	return ERR_OK;
}
