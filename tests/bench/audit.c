/*
 * What the audit log costs a record and a restart:
 *
 *     bench_audit [RECORDS]
 *
 * Grows a tree of that many records (10 million) of 64 bytes with a key of 36, and, with a tenth of them, one
 * of 2.5 kB, as a scored record is long, and one of 8 kB; what the tree visits is appended to a buffer as to
 * a tile. Then the state is encoded and decoded, and the root computed. Prints CPU time. Exit status 1 when a
 * record of up to 2.5 kB costs more than 2 us or the restart more than 1 s.
 */
#include "audit/leaf.h"
#include "audit/tiles.h"
#include "tests/bench/samples.h"

enum { KEY_BYTES = 36, SMALL_BYTES = 64, RECORD_BYTES = 2560, LARGE_BYTES = 8192 };

static const double LIMIT_US = 2, RESTART_LIMIT_S = 1;

static void keep(void *context, unsigned level, uint64_t index, const struct merkle_hash *hash)
{
	struct buf *tile = context;
	struct tile_place place;
	if (!tile_place(level, index, &place))
		return;
	if (place.position == 0)
		buf_reset(tile);
	buf_append(tile, hash->bytes, sizeof hash->bytes);
}

/* The CPU time of a record, in us. */
static double grow(struct merkle_range *range, uint64_t records, size_t bytes)
{
	static char key[KEY_BYTES + 1], value[LARGE_BYTES + 1];
	_cleanup_(buf_free) struct buf tile = BUF_INIT;
	int64_t start_ns = cpu_ns();
	for (uint64_t i = 0; i < records; i++) {
		struct merkle_hash leaf;
		memcpy(value, &i, sizeof i);
		leaf_hash((int64_t)i, (str_t){ key, KEY_BYTES }, (str_t){ value, bytes }, &leaf);
		merkle_range_append(range, &leaf, keep, &tile);
	}
	return (double)(cpu_ns() - start_ns) / 1e3 / (double)records;
}

int main(int argc, char **argv)
{
	uint64_t records = argc > 1 ? strtoull(argv[1], NULL, 10) : 10000000;
	struct merkle_range range = { 0 }, usual = { 0 }, large = { 0 }, again;
	struct merkle_hash root, restarted;
	_cleanup_(buf_free) struct buf state = BUF_INIT;
	if (records < 10)
		return 2;
	double small_us = grow(&range, records, SMALL_BYTES);
	double usual_us = grow(&usual, records / 10, RECORD_BYTES);
	double large_us = grow(&large, records / 10, LARGE_BYTES);
	merkle_range_root(&range, &root);
	int64_t start_ns = cpu_ns();
	merkle_range_encode(&range, &state);
	err_t err = merkle_range_decode(buf_str(&state), &again);
	if (err)
		return 2;
	merkle_range_root(&again, &restarted);
	double restart_s = (double)(cpu_ns() - start_ns) / 1e9;
	printf("%ju records of %d bytes: %.2f us each, of %d: %.2f us (limit of both %.0f us), of %d: %.2f "
	       "us; "
	       "state of %zu bytes, restart %.6f s (limit %.0f s)\n",
	       (uintmax_t)records, SMALL_BYTES, small_us, RECORD_BYTES, usual_us, LIMIT_US, LARGE_BYTES,
	       large_us, state.len, restart_s, RESTART_LIMIT_S);
	return small_us <= LIMIT_US && usual_us <= LIMIT_US && restart_s <= RESTART_LIMIT_S &&
			       merkle_hash_equal(&root, &restarted)
		       ? 0
		       : 1;
}
