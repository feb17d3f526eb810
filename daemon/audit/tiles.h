/*
 * Where the hashes of a log are kept so that anything can be proven of it later: in tiles as C2SP tlog-tiles
 * has them. Pure; any thread.
 *
 * A tile of level L holds up to 256 hashes of the tree's level 8 L that stand side by side: the first levels
 * that a proof needs are in the tile, those between are hashed from it. Tile N of level L begins with index
 * 256 N. Hashes are only ever added behind those that a tile has, so a tile is written by appending and is as
 * wide as the tree is large.
 *
 * Why hashes are kept and not computed from the topic again: a topic forgets its records (retention), and
 * with one leaf forgotten nothing that lies right of it could be proven any more, nor that the log of today
 * begins with that of a checkpoint of last year. A tile costs 32 bytes a record, 32.2 with the levels above.
 * Nobody has to trust the store: a hash that was changed in it gives a proof that does not verify against the
 * signed root, and whoever makes a proof verifies it before it is handed out.
 *
 * The state from which a log grows is the compact range alone (merkle.h). What merkle_range_append visits
 * goes into tiles where tile_place says so.
 */
#pragma once

#include "audit/merkle.h"

#define TILE_HEIGHT 8
#define TILE_WIDTH  256
#define TILE_LEVELS 8

struct tile_place {
	unsigned level;	   /* of the tile */
	uint64_t index;	   /* of the tile in its level */
	unsigned position; /* of the hash in the tile */
};

/* Where a node's hash is kept; false: it is hashed from the tile below it. */
bool tile_place(unsigned level, uint64_t index, struct tile_place *ret_place);

/* How many hashes that tile has in a tree of that size; 0: there is no such tile yet. */
unsigned tile_width(unsigned level, uint64_t index, uint64_t size);

/* The hash of the 2^height hashes of a tile that begin at `position << height`; all of them are there, and
 * height is at most TILE_HEIGHT. */
void tile_subtree(const struct merkle_hash *hashes, unsigned height, unsigned position,
		  struct merkle_hash *ret_hash);

/* Where a tile of that width lies below a log's address: "tile/0/x001/x234/067", and ".p/5" behind it where
 * it has not its full width. */
#define TILE_PATH_SIZE 48
void tile_path(unsigned level, uint64_t index, unsigned width, char ret_path[TILE_PATH_SIZE]);

/* Reads the first `width` hashes of a tile, or returns an error. */
typedef err_t tile_read_fn(void *context, unsigned level, uint64_t index, unsigned width,
			   struct merkle_hash ret_hashes[TILE_WIDTH]);

/* The tiles of a tree of that size, as a source of nodes. It keeps the tile that was read last. */
struct tile_source {
	tile_read_fn *read;
	void *context;
	uint64_t size;
	bool held; /* the rest is its own */
	unsigned held_level;
	uint64_t held_index;
	struct merkle_hash hashes[TILE_WIDTH];
};

/* The node function of a merkle_source whose context is a tile_source. ERR_AUDIT_RANGE: the node is not
 * complete in a tree of that size; else what the reader returns. */
err_t tile_source_node(void *context, unsigned level, uint64_t index, struct merkle_hash *ret_hash);
