#include "audit/tiles.h"

#include <assert.h>
#include <inttypes.h>

bool tile_place(unsigned level, uint64_t index, struct tile_place *ret_place)
{
	if (level % TILE_HEIGHT != 0)
		return false;
	*ret_place = (struct tile_place){ level / TILE_HEIGHT, index / TILE_WIDTH,
					  (unsigned)(index % TILE_WIDTH) };
	return true;
}

unsigned tile_width(unsigned level, uint64_t index, uint64_t size)
{
	uint64_t hashes = level < TILE_LEVELS ? size >> (level * TILE_HEIGHT) : 0, first;
	if (__builtin_mul_overflow(index, TILE_WIDTH, &first) || first >= hashes)
		return 0;
	return hashes - first < TILE_WIDTH ? (unsigned)(hashes - first) : TILE_WIDTH;
}

void tile_subtree(const struct merkle_hash *hashes, unsigned height, unsigned position,
		  struct merkle_hash *ret_hash)
{
	struct merkle_hash row[TILE_WIDTH];
	assert(height <= TILE_HEIGHT && (position + 1) << height <= TILE_WIDTH);
	unsigned count = 1u << height;
	memcpy(row, hashes + (position << height), count * sizeof row[0]);
	for (; count > 1; count /= 2)
		for (unsigned i = 0; i < count / 2; i++)
			merkle_hash_node(&row[2 * i], &row[2 * i + 1], &row[i]);
	*ret_hash = row[0];
}

void tile_path(unsigned level, uint64_t index, unsigned width, char ret_path[TILE_PATH_SIZE])
{
	uint64_t unit = 1;
	int at = snprintf(ret_path, TILE_PATH_SIZE, "tile/%u/", level);
	while (index / unit >= 1000)
		unit *= 1000;
	for (; unit > 1; unit /= 1000)
		at += snprintf(ret_path + at, TILE_PATH_SIZE - (size_t)at, "x%03" PRIu64 "/",
			       index / unit % 1000);
	at += snprintf(ret_path + at, TILE_PATH_SIZE - (size_t)at, "%03" PRIu64, index % 1000);
	if (width < TILE_WIDTH)
		at += snprintf(ret_path + at, TILE_PATH_SIZE - (size_t)at, ".p/%u", width);
	assert(at < TILE_PATH_SIZE);
}

err_t tile_source_node(void *context, unsigned level, uint64_t index, struct merkle_hash *ret_hash)
{
	struct tile_source *source = context;
	unsigned tile_level = level / TILE_HEIGHT, height = level % TILE_HEIGHT;
	uint64_t tile = index >> (TILE_HEIGHT - height);
	if (level >= MERKLE_LEVELS || index >= source->size >> level)
		return ERR_AUDIT_RANGE;
	if (!source->held || source->held_level != tile_level || source->held_index != tile) {
		source->held = false;
		err_t err = source->read(source->context, tile_level, tile,
					 tile_width(tile_level, tile, source->size), source->hashes);
		if (err)
			return err;
		source->held = true;
		source->held_level = tile_level;
		source->held_index = tile;
	}
	tile_subtree(source->hashes, height, (unsigned)(index & ((1u << (TILE_HEIGHT - height)) - 1)),
		     ret_hash);
	return ERR_OK;
}
