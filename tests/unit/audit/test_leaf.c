#include "audit/leaf.h"

#include <setjmp.h>

#include <cmocka.h>

static const struct record {
	int64_t offset;
	str_t key, value;
} records[] = {
	{ 0x0102030405060708, STR("ke"), STR("val") },
	{ 0x0102030405060709, STR("ke"), STR("val") },
	{ 0x0102030405060708, STR("kev"), STR("al") },
	{ 0x0102030405060708, STR("keval"), STR("") },
	{ 0x0102030405060708, STR("keval"), STR_NONE },
	{ 0x0102030405060708, STR(""), STR("keval") },
	{ 0x0102030405060708, STR_NONE, STR("keval") },
	{ 0, STR_NONE, STR_NONE },
	{ 0, STR(""), STR_NONE },
	{ 0, STR_NONE, STR("") },
	{ 0, STR(""), STR("") },
	{ 0, STR("\0"), STR("") },
	{ 0, STR(""), STR("\xff\xff\xff\xff") },
	{ 0, STR("\xff\xff\xff\xff"), STR("") },
};

enum { RECORDS = sizeof records / sizeof records[0] };

static void the_layout_is_what_its_header_says(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf data = BUF_INIT;
	leaf_encode(records[0].offset, records[0].key, records[0].value, &data);
	assert_true(str_equal(buf_str(&data), STR("\x01"
						  "\x01\x02\x03\x04\x05\x06\x07\x08"
						  "\x00\x00\x00\x02"
						  "ke"
						  "\x00\x00\x00\x03"
						  "val")));
	buf_reset(&data);
	leaf_encode(0, STR_NONE, STR(""), &data);
	assert_true(str_equal(buf_str(&data), STR("\x01"
						  "\x00\x00\x00\x00\x00\x00\x00\x00"
						  "\xff\xff\xff\xff"
						  "\x00\x00\x00\x00")));
}

static void records_that_differ_are_different_leaves(void **state)
{
	(void)state;
	struct merkle_hash hashes[RECORDS], expected;
	for (size_t i = 0; i < RECORDS; i++) {
		_cleanup_(buf_free) struct buf data = BUF_INIT;
		leaf_encode(records[i].offset, records[i].key, records[i].value, &data);
		merkle_hash_leaf(data.data, data.len, &expected);
		leaf_hash(records[i].offset, records[i].key, records[i].value, &hashes[i]);
		assert_true(merkle_hash_equal(&hashes[i], &expected));
		for (size_t j = 0; j < i; j++)
			assert_false(merkle_hash_equal(&hashes[i], &hashes[j]));
	}
}

/* ---- marks ---- */

#define GAP(from, to)                                                                                        \
	{                                                                                                    \
		LEAF_MARK_GAP, from, to, STR_NONE                                                            \
	}
#define AGAIN(from, to, reason)                                                                              \
	{                                                                                                    \
		LEAF_MARK_BEGINS_AGAIN, from, to, reason                                                     \
	}

static void the_layout_of_a_mark_is_what_its_header_says(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf data = BUF_INIT;
	leaf_mark_encode(&(const struct leaf_mark)AGAIN(0x0102030405060708, 3, STR("made anew")), &data);
	assert_true(str_equal(buf_str(&data), STR("\x02\x02"
						  "\x01\x02\x03\x04\x05\x06\x07\x08"
						  "\x00\x00\x00\x00\x00\x00\x00\x03"
						  "\x00\x00\x00\x09"
						  "made anew")));
	buf_reset(&data);
	leaf_mark_encode(&(const struct leaf_mark)GAP(1, 0x1122334455667788), &data);
	assert_true(str_equal(buf_str(&data), STR("\x02\x01"
						  "\x00\x00\x00\x00\x00\x00\x00\x01"
						  "\x11\x22\x33\x44\x55\x66\x77\x88"
						  "\x00\x00\x00\x00")));
}

static void marks_that_differ_are_different_leaves(void **state)
{
	(void)state;
	static const struct leaf_mark marks[] = {
		GAP(0, 1),
		GAP(0, 256),
		GAP(1, 256),
		AGAIN(0, 1, STR_NONE),
		AGAIN(1, 0, STR_NONE),
		AGAIN(0, 1, STR("a")),
		AGAIN(0, 1, STR("b")),
		AGAIN(0, 1, STR("ab")),
	};
	enum { MARKS = sizeof marks / sizeof marks[0] };
	struct merkle_hash hashes[MARKS], expected;
	for (size_t i = 0; i < MARKS; i++) {
		_cleanup_(buf_free) struct buf data = BUF_INIT;
		assert_true(leaf_mark_valid(&marks[i]));
		leaf_mark_encode(&marks[i], &data);
		merkle_hash_leaf(data.data, data.len, &expected);
		leaf_mark_hash(&marks[i], &hashes[i]);
		assert_true(merkle_hash_equal(&hashes[i], &expected));
		for (size_t j = 0; j < i; j++)
			assert_false(merkle_hash_equal(&hashes[i], &hashes[j]));
	}
	struct leaf_mark empty = AGAIN(0, 1, STR(""));
	leaf_mark_hash(&empty, &expected);
	assert_true(merkle_hash_equal(&hashes[3], &expected));
}

static void what_is_no_mark(void **state)
{
	(void)state;
	char reason[LEAF_REASON_MAX + 2];
	memset(reason, 'x', sizeof reason);
	const struct {
		struct leaf_mark mark;
		bool valid;
	} cases[] = {
		{ GAP(0, 1), true },
		{ GAP(5, 5), false },
		{ GAP(6, 5), false },
		{ GAP(-1, 5), false },
		{ { LEAF_MARK_GAP, 0, 1, STR("") }, true },
		{ { LEAF_MARK_GAP, 0, 1, STR("why") }, false },
		{ AGAIN(5, 5, STR("why")), true },
		{ AGAIN(5, 0, STR("w\xc3\xa4re")), true },
		{ AGAIN(5, -1, STR("why")), false },
		{ AGAIN(5, 0, STR("\xc3")), false },
		{ AGAIN(5, 0, STR("a\0b")), false },
		{ AGAIN(5, 0, ((str_t){ reason, LEAF_REASON_MAX })), true },
		{ AGAIN(5, 0, ((str_t){ reason, LEAF_REASON_MAX + 1 })), false },
		{ { (enum leaf_mark_kind)0, 0, 1, STR_NONE }, false },
		{ { (enum leaf_mark_kind)3, 0, 1, STR_NONE }, false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_int_equal(leaf_mark_valid(&cases[i].mark), cases[i].valid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_layout_is_what_its_header_says),
		cmocka_unit_test(records_that_differ_are_different_leaves),
		cmocka_unit_test(the_layout_of_a_mark_is_what_its_header_says),
		cmocka_unit_test(marks_that_differ_are_different_leaves),
		cmocka_unit_test(what_is_no_mark),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
