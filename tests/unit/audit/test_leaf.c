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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_layout_is_what_its_header_says),
		cmocka_unit_test(records_that_differ_are_different_leaves),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
