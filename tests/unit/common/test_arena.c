#include "common/arena.h"

#include <setjmp.h>
#include <stdalign.h>

#include <cmocka.h>

static void memory_is_zeroed_and_aligned(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	static const size_t sizes[] = { 1, 3, 0, 17, 4096, 5000, 65536, 200000, 1 };
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		char *memory = arena_alloc(arena, sizes[i]);
		assert_int_equal((uintptr_t)memory % alignof(max_align_t), 0);
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(memory[k], 0);
		memset(memory, 0xa5, sizes[i]);
	}
}

static void allocations_do_not_overlap(void **state)
{
	(void)state;
	enum { COUNT = 1000 };
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	unsigned char *blocks[COUNT];
	for (size_t i = 0; i < COUNT; i++)
		memset(blocks[i] = arena_alloc(arena, i), (int)(i & 0xff), i);
	for (size_t i = 0; i < COUNT; i++)
		for (size_t k = 0; k < i; k++)
			assert_int_equal(blocks[i][k], i & 0xff);
}

static void texts_are_copies_with_a_nul(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	char source[] = { 'a', '\0', 'b', '!' };
	str_t text = arena_text(arena, source, 3);
	source[0] = 'z';
	assert_int_equal(text.len, 3);
	assert_memory_equal(text.ptr, "a\0b", 4);
	assert_false(str_present(arena_text(arena, NULL, 0)));
	assert_false(str_present(arena_str(arena, STR_NONE)));
	text = arena_str(arena, STR(""));
	assert_true(str_present(text));
	assert_int_equal(text.len, 0);
	assert_string_equal(arena_strdup(arena, "twin"), "twin");
	text = arena_printf(arena, "%s-%05d", "x", 42);
	assert_true(str_is(text, "x-00042"));
}

/* What the child held stays readable and is counted; the parent goes on filling its own chunk. */
static void adoption(void **state)
{
	(void)state;
	static const struct {
		size_t parent_bytes, child_bytes;
	} cases[] = { { 0, 0 }, { 0, 10 }, { 10, 0 }, { 10, 10 }, { 10, 300000 }, { 300000, 10 } };
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		_cleanup_(arena_cleanup) struct arena *parent = arena_new();
		struct arena *child = arena_new();
		char *ours = cases[i].parent_bytes ? arena_alloc(parent, cases[i].parent_bytes) : NULL;
		char *theirs = cases[i].child_bytes ? arena_alloc(child, cases[i].child_bytes) : NULL;
		if (theirs)
			memset(theirs, 7, cases[i].child_bytes);
		size_t total = arena_size_bytes(parent) + arena_size_bytes(child);
		arena_adopt(parent, child);
		assert_int_equal(arena_size_bytes(parent), total);
		char *more = arena_alloc(parent, 100);
		memset(more, 9, 100);
		if (ours)
			memset(ours, 8, cases[i].parent_bytes);
		for (size_t k = 0; k < cases[i].child_bytes; k++)
			assert_int_equal(theirs[k], 7);
	}
	_cleanup_(arena_cleanup) struct arena *parent = arena_new();
	arena_adopt(parent, NULL);
	assert_int_equal(arena_size_bytes(parent), 0);
}

static void many_children(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *parent = arena_new();
	const char *texts[100];
	for (int i = 0; i < 100; i++) {
		struct arena *child = arena_new();
		texts[i] = arena_printf(child, "child %d", i).ptr;
		arena_adopt(parent, child);
	}
	for (int i = 0; i < 100; i++) {
		char expected[20];
		snprintf(expected, sizeof expected, "child %d", i);
		assert_string_equal(texts[i], expected);
	}
}

static void growing_arrays(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	int *items = NULL;
	size_t count = 0, capacity = 0;
	for (int i = 0; i < 1000; i++)
		ARENA_PUSH(arena, items, count, capacity, i * i);
	assert_int_equal(count, 1000);
	assert_int_equal(capacity, 1024); /* 8 doubled seven times */
	for (int i = 0; i < 1000; i++)
		assert_int_equal(items[i], i * i);
}

static void size_counts_what_is_held(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	assert_int_equal(arena_size_bytes(arena), 0);
	arena_alloc(arena, 1);
	size_t first = arena_size_bytes(arena);
	assert_in_range(first, 4096, 8192);
	arena_alloc(arena, 1000);
	assert_int_equal(arena_size_bytes(arena), first);
	arena_alloc(arena, 1000000);
	assert_in_range(arena_size_bytes(arena), first + 1000000, first + 1010000);
}

static void nothing_to_free(void **state)
{
	(void)state;
	arena_free(NULL);
}

/* Thousands of events wait with all that they hold: what was never used of it is not much. */
static void little_is_left_unused(void **state)
{
	(void)state;
	for (size_t kib = 1; kib <= 256; kib++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		for (size_t i = 0; i < kib * 4; i++)
			(void)arena_alloc(arena, 256);
		assert_true(arena_size_bytes(arena) <= kib * 1024 / 2 * 3 + 4096 + 1024);
	}
}

/* A question of some kilobytes among many short texts costs its own length, and no larger chunks after it. */
static void large_pieces_leave_room_in_use(void **state)
{
	(void)state;
	enum { LARGE = 10000, PIECES = 20 };
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	for (size_t i = 0; i < PIECES; i++) {
		(void)arena_alloc(arena, 100);
		(void)arena_alloc(arena, LARGE);
		(void)arena_alloc(arena, 64);
	}
	assert_in_range(arena_size_bytes(arena), PIECES * (LARGE + 100 + 64),
			PIECES * (LARGE + 64) + 4096 + 64);
}

/* The first piece, however large, is followed by others in chunks of the usual size. */
static void large_pieces_come_first(void **state)
{
	(void)state;
	static const size_t sizes[] = { 3000, 4096, 5000, 300000 };
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		_cleanup_(arena_cleanup) struct arena *arena = arena_new();
		memset(arena_alloc(arena, sizes[i]), 1, sizes[i]);
		memset(arena_alloc(arena, 500), 2, 500);
		memset(arena_alloc(arena, sizes[i]), 3, sizes[i]);
		memset(arena_alloc(arena, 500), 4, 500);
		assert_in_range(arena_size_bytes(arena), 2 * sizes[i], 2 * sizes[i] + 2 * 4096 + 256);
	}
}

/* Never within a character. */
static void excerpts_end_with_an_ellipsis(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	str_t text = STR("h\u00e9llo");
	assert_ptr_equal(arena_excerpt(arena, text, 6).ptr, text.ptr);
	assert_string_equal(arena_excerpt(arena, text, 3).ptr, "h\u00e9…");
	assert_string_equal(arena_excerpt(arena, text, 2).ptr, "h…");
	assert_string_equal(arena_excerpt(arena, text, 0).ptr, "…");
	assert_false(str_present(arena_excerpt(arena, STR_NONE, 0)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_pieces_leave_room_in_use),
		cmocka_unit_test(large_pieces_come_first),
		cmocka_unit_test(little_is_left_unused),
		cmocka_unit_test(memory_is_zeroed_and_aligned),
		cmocka_unit_test(allocations_do_not_overlap),
		cmocka_unit_test(texts_are_copies_with_a_nul),
		cmocka_unit_test(adoption),
		cmocka_unit_test(many_children),
		cmocka_unit_test(growing_arrays),
		cmocka_unit_test(size_counts_what_is_held),
		cmocka_unit_test(excerpts_end_with_an_ellipsis),
		cmocka_unit_test(nothing_to_free),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
