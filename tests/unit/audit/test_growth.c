/* Batches of any cut give the tree of one leaf after the other. */
#include "audit/growth.h"

#include <setjmp.h>

#include <cmocka.h>

enum { LEAVES = 70000, LEVELS = 3, TILES = 274 };

/* Tiles as a store has them, written from batches. */
struct tiles {
	struct merkle_hash hashes[LEVELS][TILES][TILE_WIDTH];
	unsigned widths[LEVELS][TILES];
};

static struct tiles alone, batched;

static void keep_alone(void *context, unsigned level, uint64_t index, const struct merkle_hash *hash)
{
	struct tile_place place;
	(void)context;
	if (!tile_place(level, index, &place))
		return;
	alone.hashes[place.level][place.index][place.position] = *hash;
	alone.widths[place.level][place.index] = place.position + 1;
}

static void write_tiles(const struct growth *growth)
{
	for (size_t i = 0; i < growth->tiles_count; i++) {
		const struct growth_tile *tile = &growth->tiles[i];
		unsigned *width = &batched.widths[tile->place.level][tile->place.index];
		assert_int_equal(*width, tile->place.position);
		assert_in_range(tile->count, 1, TILE_WIDTH - tile->place.position);
		memcpy(&batched.hashes[tile->place.level][tile->place.index][*width], tile->hashes,
		       tile->count * sizeof tile->hashes[0]);
		*width += tile->count;
		for (size_t j = 0; j < i; j++)
			assert_false(growth->tiles[j].place.level == tile->place.level &&
				     growth->tiles[j].place.index == tile->place.index);
	}
}

/* Leaf number n: a record, and some marks between. */
static bool is_gap(int n)
{
	return n % 1000 == 0;
}

static bool is_again(int n)
{
	return n % 1000 == 577;
}

static void add(struct growth *growth, int n)
{
	char key[24];
	str_t text = { key, (size_t)snprintf(key, sizeof key, "key %d", n) };
	int64_t next = growth->to.next_offset;
	if (is_gap(n))
		assert_int_equal(growth_add_gap(growth, next + 10), ERR_OK);
	else if (is_again(n))
		assert_int_equal(growth_begin_again(growth, n % 7, text), ERR_OK);
	else
		assert_int_equal(growth_add_record(growth, next + n % 3, text, STR_NONE), ERR_OK);
}

/* The same by the definitions: the leaf, and where the log is behind it. */
static void leaf_alone(int n, int64_t *next, struct merkle_hash *ret_leaf)
{
	char key[24];
	str_t text = { key, (size_t)snprintf(key, sizeof key, "key %d", n) };
	if (is_gap(n)) {
		leaf_mark_hash(&(const struct leaf_mark){ LEAF_MARK_GAP, *next, *next + 10, STR_NONE },
			       ret_leaf);
		*next += 10;
	} else if (is_again(n)) {
		leaf_mark_hash(&(const struct leaf_mark){ LEAF_MARK_BEGINS_AGAIN, *next, n % 7, text },
			       ret_leaf);
		*next = n % 7;
	} else {
		leaf_hash(*next + n % 3, text, STR_NONE, ret_leaf);
		*next += n % 3 + 1;
	}
}

static void any_cut_of_batches_gives_the_same_tree(void **state)
{
	(void)state;
	struct merkle_range range = { 0 };
	struct merkle_hash leaf;
	int64_t next = 0;
	for (int n = 0; n < LEAVES; n++) {
		leaf_alone(n, &next, &leaf);
		merkle_range_append(&range, &leaf, keep_alone, NULL);
	}
	/* One leaf at a time, a tile, about a tile, what a daemon takes, all at once, anything. */
	static const int cuts[] = { 1, 256, 257, 10000, LEAVES, 0 };
	unsigned chance = 17;
	struct growth growth = GROWTH_INIT;
	for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
		struct growth_position position = GROWTH_START;
		size_t marks = 0;
		memset(&batched, 0, sizeof batched);
		for (int n = 0; n < LEAVES;) {
			int cut =
				cuts[i] ? cuts[i] : (int)((chance = chance * 1103515245 + 12345) >> 16) % 700;
			growth_begin(&growth, &position);
			for (int end = n + cut; n < end && n < LEAVES; n++)
				add(&growth, n);
			assert_memory_equal(&growth.from, &position, sizeof position);
			write_tiles(&growth);
			marks += growth.marks_count;
			position = growth.to;
		}
		assert_memory_equal(&position.range, &range, sizeof range);
		assert_memory_equal(&batched, &alone, sizeof alone);
		assert_true(position.next_offset == next);
		assert_true(position.last_offset == next - 1);
		assert_memory_equal(&position.last_leaf, &leaf, sizeof leaf);
		assert_int_equal(marks, 140);
	}
	growth_free(&growth);
}

static void marks_say_which_leaf_they_are_and_the_last_record_is_none(void **state)
{
	(void)state;
	struct growth growth = GROWTH_INIT;
	struct merkle_hash none = { { 0 } };
	char reason[] = "another topic";
	growth_begin(&growth, &GROWTH_START);
	assert_int_equal(growth_add_gap(&growth, 40), ERR_OK);
	assert_int_equal(growth_add_record(&growth, 41, STR("k"), STR("v")), ERR_OK);
	assert_true(growth.to.last_offset == 41);
	assert_false(merkle_hash_equal(&growth.to.last_leaf, &none));
	assert_int_equal(growth_begin_again(&growth, 3, str_from(reason)), ERR_OK);
	memset(reason, 'x', sizeof reason - 1);
	assert_true(growth.to.last_offset == GROWTH_OFFSET_NONE);
	assert_true(merkle_hash_equal(&growth.to.last_leaf, &none));
	assert_true(growth.to.next_offset == 3);
	assert_int_equal(growth.to.range.size, 3);
	assert_int_equal(growth.marks_count, 2);
	assert_int_equal(growth.marks[0]->index, 0);
	assert_int_equal(growth.marks[0]->mark.kind, LEAF_MARK_GAP);
	assert_true(growth.marks[0]->mark.from_offset == 0 && growth.marks[0]->mark.to_offset == 40);
	assert_int_equal(growth.marks[0]->mark.reason.len, 0);
	assert_int_equal(growth.marks[1]->index, 2);
	assert_int_equal(growth.marks[1]->mark.kind, LEAF_MARK_BEGINS_AGAIN);
	assert_true(growth.marks[1]->mark.from_offset == 42 && growth.marks[1]->mark.to_offset == 3);
	assert_true(str_is(growth.marks[1]->mark.reason, "another topic"));
	growth_begin(&growth, &growth.to);
	assert_int_equal(growth.marks_count, 0);
	assert_int_equal(growth.tiles_count, 0);
	growth_free(&growth);
}

static void what_does_not_fit_changes_nothing(void **state)
{
	(void)state;
	struct growth growth = GROWTH_INIT;
	struct growth_position position = GROWTH_START;
	position.next_offset = 10;
	growth_begin(&growth, &position);
	assert_int_equal(growth_add_record(&growth, 9, STR("k"), STR("v")), ERR_AUDIT_RANGE);
	assert_int_equal(growth_add_record(&growth, INT64_MAX, STR("k"), STR("v")), ERR_AUDIT_RANGE);
	assert_int_equal(growth_add_gap(&growth, 10), ERR_AUDIT_RANGE);
	assert_int_equal(growth_begin_again(&growth, -1, STR("why")), ERR_AUDIT_MALFORMED);
	assert_int_equal(growth_begin_again(&growth, 0, STR("\xff")), ERR_AUDIT_MALFORMED);
	assert_int_equal(growth_skip_to(&growth, 9), ERR_AUDIT_RANGE);
	assert_memory_equal(&growth.to, &position, sizeof position);
	assert_int_equal(growth.tiles_count + growth.marks_count, 0);
	assert_int_equal(growth_skip_to(&growth, 12), ERR_OK);
	assert_true(growth.to.next_offset == 12 && growth.to.range.size == 0);
	growth.to.range.size = MERKLE_SIZE_MAX;
	assert_int_equal(growth_add_record(&growth, 12, STR("k"), STR("v")), ERR_AUDIT_RANGE);
	assert_int_equal(growth_add_gap(&growth, 13), ERR_AUDIT_RANGE);
	assert_int_equal(growth_begin_again(&growth, 0, STR("why")), ERR_AUDIT_RANGE);
	assert_int_equal(growth.tiles_count + growth.marks_count, 0);
	growth_free(&growth);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_cut_of_batches_gives_the_same_tree),
		cmocka_unit_test(marks_say_which_leaf_they_are_and_the_last_record_is_none),
		cmocka_unit_test(what_does_not_fit_changes_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
