#include "common/buf.h"

#include <setjmp.h>

#include <cmocka.h>

static void an_empty_one(void **state)
{
	(void)state;
	struct buf buf = BUF_INIT;
	assert_true(str_present(buf_str(&buf)));
	assert_int_equal(buf_str(&buf).len, 0);
	buf_append(&buf, NULL, 0);
	assert_string_equal(buf.data, "");
	buf_free(&buf);
	assert_null(buf.data);
	buf_free(&buf);
}

static void appending(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf buf = BUF_INIT;
	buf_append_text(&buf, "ab");
	buf_append_str(&buf, STR("c\0d"));
	buf_append_str(&buf, STR_NONE);
	buf_append_char(&buf, 'e');
	buf_printf(&buf, "%03d|%s", 7, "");
	assert_int_equal(buf.len, 10);
	assert_memory_equal(buf.data, "abc\0de007|", 11); /* the NUL behind it, too */
	buf_reset(&buf);
	assert_int_equal(buf.len, 0);
	assert_string_equal(buf.data, "");
	buf_append_text(&buf, "again");
	assert_string_equal(buf.data, "again");
}

static void integers_are_little_endian(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf buf = BUF_INIT;
	buf_append_u32(&buf, 0x01020384u);
	buf_append_u64(&buf, UINT64_C(0xf1f2f3f405060708));
	static const unsigned char expected[] = { 0x84, 3, 2, 1, 8, 7, 6, 5, 0xf4, 0xf3, 0xf2, 0xf1 };
	assert_int_equal(buf.len, sizeof expected);
	assert_memory_equal(buf.data, expected, sizeof expected);
}

static void a_reservation_is_the_callers_to_fill(void **state)
{
	(void)state;
	_cleanup_(buf_free) struct buf buf = BUF_INIT;
	buf_append_text(&buf, "x");
	char *room = buf_reserve(&buf, 1000);
	assert_ptr_equal(room, buf.data + 1);
	assert_int_equal(buf.len, 1);
	assert_in_range(buf.capacity, 1002, 2048);
	memset(room, 'y', 1000);
	buf.len += 1000;
	buf_append_char(&buf, 'z');
	assert_int_equal(buf.len, 1002);
	assert_int_equal(buf.data[1000], 'y');
	assert_string_equal(buf.data + 1001, "z");
}

/* Sizes around those at which memory grows (64, 128, …), one byte more for the NUL. */
static void growth(void **state)
{
	(void)state;
	for (size_t len = 0; len < 300; len++) {
		_cleanup_(buf_free) struct buf buf = BUF_INIT;
		for (size_t i = 0; i < len; i++)
			buf_append_char(&buf, (char)('a' + i % 26));
		assert_int_equal(buf.len, len);
		assert_true(len == 0 || buf.capacity > len);
		for (size_t i = 0; i < len; i++)
			assert_int_equal(buf.data[i], 'a' + i % 26);
		_cleanup_(buf_free) struct buf printed = BUF_INIT;
		buf_printf(&printed, "%*s", (int)len, "");
		assert_int_equal(printed.len, len);
		assert_int_equal(strlen(printed.data), len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_one),
		cmocka_unit_test(appending),
		cmocka_unit_test(integers_are_little_endian),
		cmocka_unit_test(a_reservation_is_the_callers_to_fill),
		cmocka_unit_test(growth),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
