/*
 * Growing the log of a partition by a batch: records and marks go in, in the order of the partition, and out
 * comes what has to be written: the new position and the hashes that are appended to each tile. However the
 * same records are cut into batches, the tree and its tiles become the same. Pure; one thread.
 */
#pragma once

#include "audit/leaf.h"
#include "audit/tiles.h"

#define GROWTH_OFFSET_NONE (-1)

/* Where the log of a partition stands. A log that has nothing yet: GROWTH_START. */
struct growth_position {
	struct merkle_range range;
	int64_t next_offset;	      /* of the record that is to be read next */
	int64_t last_offset;	      /* of the record that was read last, or GROWTH_OFFSET_NONE */
	struct merkle_hash last_leaf; /* of that record; none: all zero */
};

#define GROWTH_START ((struct growth_position){ .range = { .size = 0 }, .last_offset = GROWTH_OFFSET_NONE })

/* Hashes that are appended to a tile, which has `position` of them before that. */
struct growth_tile {
	struct tile_place place;
	unsigned count;
	struct merkle_hash hashes[TILE_WIDTH];
};

/* A mark, and which leaf it is. Its reason is here. */
struct growth_mark {
	uint64_t index;
	struct leaf_mark mark;
	char reason[LEAF_REASON_MAX + 1];
};

struct growth {
	struct growth_position from, to;
	struct growth_tile *tiles; /* by level and index, no two of the same tile */
	size_t tiles_count;
	struct growth_mark **marks;
	size_t marks_count;
	size_t tiles_capacity, marks_capacity; /* the rest is its own */
	size_t open[TILE_LEVELS]; /* the tile that the level appends to, counted from 1; 0: none yet */
};

#define GROWTH_INIT                                                                                          \
	{                                                                                                    \
		.tiles = NULL                                                                                \
	}

/* Begins a batch where the log stands; what the growth had before is forgotten. */
void growth_begin(struct growth *growth, const struct growth_position *from);
void growth_free(struct growth *growth);

/* Adds a record. ERR_AUDIT_RANGE: its offset is below that of the next one, or the tree is full. */
err_t growth_add_record(struct growth *growth, int64_t offset, str_t key, str_t value);

/* Adds a gap: the next record is read at that offset, and none of those before it is there any more. So the
 * last record is none, too. ERR_AUDIT_RANGE: that is not behind the next offset, or the tree is full. */
err_t growth_add_gap(struct growth *growth, int64_t to_offset);

/* Adds a mark that the log begins again at that offset. ERR_AUDIT_MALFORMED: leaf_mark_valid does not hold;
 * ERR_AUDIT_RANGE: the tree is full. */
err_t growth_begin_again(struct growth *growth, int64_t to_offset, str_t reason);

/* There are no more records before that offset: what lies between are ends of transactions and aborted
 * records. ERR_AUDIT_RANGE: it is below the next offset. */
err_t growth_skip_to(struct growth *growth, int64_t next_offset);
