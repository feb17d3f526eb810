#include "audit/tiles.h"

#include "trees.h"

/* Tiles in memory, written as a store would: what the range visits is appended where it belongs. */
enum { STORE_LEVELS = 3, STORE_TILES = 300 };

struct store {
	struct merkle_hash hashes[STORE_LEVELS][STORE_TILES][TILE_WIDTH];
	unsigned widths[STORE_LEVELS][STORE_TILES];
	unsigned reads;
};

static struct store store;

static void keep(void *context, unsigned level, uint64_t index, const struct merkle_hash *hash)
{
	struct store *to = context;
	struct tile_place place;
	if (!tile_place(level, index, &place))
		return;
	assert_int_equal(to->widths[place.level][place.index]++, place.position);
	to->hashes[place.level][place.index][place.position] = *hash;
}

static err_t read_tile(void *context, unsigned level, uint64_t index, unsigned width,
		       struct merkle_hash ret_hashes[TILE_WIDTH])
{
	struct store *from = context;
	if (level >= STORE_LEVELS || index >= STORE_TILES || from->widths[level][index] < width)
		return ERR_IO;
	from->reads++;
	memcpy(ret_hashes, from->hashes[level][index], width * sizeof ret_hashes[0]);
	return ERR_OK;
}

static void grow(struct merkle_range *range, uint64_t size)
{
	memset(&store, 0, sizeof store);
	*range = (struct merkle_range){ 0 };
	while (range->size < size) {
		struct merkle_hash leaf;
		trees_leaf_hash(range->size, &leaf);
		merkle_range_append(range, &leaf, keep, &store);
	}
}

/* The specification's example, and a full tile, which begins one of the level above. */
static void tiles_are_as_wide_as_the_log_is_large(void **state)
{
	(void)state;
	static const struct {
		uint64_t size;
		unsigned level;
		uint64_t index;
		unsigned width;
	} cases[] = {
		{ 70000, 0, 0, 256 },
		{ 70000, 0, 272, 256 },
		{ 70000, 0, 273, 112 },
		{ 70000, 0, 274, 0 },
		{ 70000, 1, 0, 256 },
		{ 70000, 1, 1, 17 },
		{ 70000, 1, 2, 0 },
		{ 70000, 2, 0, 1 },
		{ 70000, 3, 0, 0 },
		{ 256, 0, 0, 256 },
		{ 256, 1, 0, 1 },
		{ 0, 0, 0, 0 },
		{ MERKLE_SIZE_MAX, 7, 0, 64 },
		{ MERKLE_SIZE_MAX, 8, 0, 0 },
		{ MERKLE_SIZE_MAX, 0, UINT64_MAX, 0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_int_equal(tile_width(cases[i].level, cases[i].index, cases[i].size), cases[i].width);
	struct merkle_range range;
	grow(&range, 70000);
	for (unsigned level = 0; level < STORE_LEVELS; level++)
		for (uint64_t index = 0; index < STORE_TILES; index++)
			assert_int_equal(store.widths[level][index], tile_width(level, index, 70000));
}

static void paths(void **state)
{
	(void)state;
	static const struct {
		unsigned level;
		uint64_t index;
		unsigned width;
		const char *path;
	} cases[] = {
		{ 0, 0, 256, "tile/0/000" },
		{ 0, 0, 5, "tile/0/000.p/5" },
		{ 1, 999, 256, "tile/1/999" },
		{ 2, 1000, 255, "tile/2/x001/000.p/255" },
		{ 0, 1234067, 256, "tile/0/x001/x234/067" },
		{ 7, UINT64_C(18014398509481983), 1, "tile/7/x018/x014/x398/x509/x481/983.p/1" },
		{ 7, UINT64_MAX, 255, "tile/7/x018/x446/x744/x073/x709/x551/615.p/255" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		char path[TILE_PATH_SIZE];
		tile_path(cases[i].level, cases[i].index, cases[i].width, path);
		assert_string_equal(path, cases[i].path);
	}
}

/* Also of the log as it was when it was smaller than its tiles are now. */
static void proofs_from_tiles_are_those_of_the_definition(void **state)
{
	(void)state;
	struct merkle_range range;
	grow(&range, TREES_SIZE_MAX);
	for (uint64_t size = 1; size <= TREES_SIZE_MAX; size += size < 250 || size > 260 ? 7 : 1)
		for (uint64_t position = 0; position <= size; position += position > 250 ? 1 : 3) {
			struct tile_source tiles = { .read = read_tile, .context = &store, .size = size };
			struct merkle_source source = { tile_source_node, &tiles };
			struct merkle_proof proof, expected = { 0 };
			if (position < size) {
				trees_path(position, 0, size, &expected);
				assert_int_equal(merkle_prove_inclusion(&source, position, size, &proof),
						 ERR_OK);
				assert_true(trees_same(&proof, &expected));
			}
			expected.count = 0;
			if (position > 0)
				trees_subproof(position, 0, size, true, &expected);
			assert_int_equal(merkle_prove_consistency(&source, position, size, &proof), ERR_OK);
			assert_true(trees_same(&proof, &expected));
		}
}

static void three_levels_of_tiles_prove_a_large_log(void **state)
{
	(void)state;
	struct merkle_range range;
	struct merkle_hash root, again, leaf;
	struct merkle_proof proof;
	grow(&range, 70000);
	struct tile_source tiles = { .read = read_tile, .context = &store, .size = 70000 };
	struct merkle_source source = { tile_source_node, &tiles };
	merkle_range_root(&range, &root);
	assert_int_equal(merkle_source_root(&source, 70000, &again), ERR_OK);
	assert_true(merkle_hash_equal(&root, &again));
	for (uint64_t index = 0; index < 70000; index = 3 * index + 1) {
		store.reads = 0;
		assert_int_equal(merkle_prove_inclusion(&source, index, 70000, &proof), ERR_OK);
		assert_in_range(store.reads, 1, 6);
		trees_leaf_hash(index, &leaf);
		assert_true(merkle_verify_inclusion(&proof, index, 70000, &leaf, &root));
		struct tile_source older = { .read = read_tile, .context = &store, .size = index };
		assert_int_equal(merkle_source_root(&(struct merkle_source){ tile_source_node, &older },
						    index, &again),
				 ERR_OK);
		assert_int_equal(merkle_prove_consistency(&source, index, 70000, &proof), ERR_OK);
		assert_true(merkle_verify_consistency(&proof, index, 70000, &again, &root));
	}
}

static void what_is_not_there_is_an_error_and_what_was_changed_does_not_verify(void **state)
{
	(void)state;
	struct merkle_range range;
	struct merkle_hash root, leaf, hash;
	struct merkle_proof proof;
	grow(&range, 300);
	merkle_range_root(&range, &root);
	struct tile_source tiles = { .read = read_tile, .context = &store, .size = 300 };
	struct merkle_source source = { tile_source_node, &tiles };
	assert_int_equal(tile_source_node(&tiles, 0, 300, &hash), ERR_AUDIT_RANGE);
	assert_int_equal(tile_source_node(&tiles, 2, 75, &hash), ERR_AUDIT_RANGE);
	assert_int_equal(tile_source_node(&tiles, 2, 74, &hash), ERR_OK);
	assert_int_equal(tile_source_node(&tiles, 63, 0, &hash), ERR_AUDIT_RANGE);
	store.hashes[0][0][17].bytes[3] ^= 1;
	trees_leaf_hash(16, &leaf);
	assert_int_equal(merkle_prove_inclusion(&source, 16, 300, &proof), ERR_OK);
	assert_false(merkle_verify_inclusion(&proof, 16, 300, &leaf, &root));
	store.widths[0][1]--;
	tiles.held = false;
	assert_int_equal(merkle_prove_inclusion(&source, 299, 300, &proof), ERR_IO);
	assert_false(tiles.held);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tiles_are_as_wide_as_the_log_is_large),
		cmocka_unit_test(paths),
		cmocka_unit_test(proofs_from_tiles_are_those_of_the_definition),
		cmocka_unit_test(three_levels_of_tiles_prove_a_large_log),
		cmocka_unit_test(what_is_not_there_is_an_error_and_what_was_changed_does_not_verify),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
