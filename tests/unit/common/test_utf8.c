#include "common/utf8.h"

#include <setjmp.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))
#define BYTES(literal)	((str_t){ (literal), sizeof(literal) - 1 })

static void test_prefix(void **state)
{
	(void)state;
	static const struct {
		str_t text;
		size_t valid;
	} CASES[] = {
		{ BYTES(""), 0 },
		{ BYTES("a\0b"), 3 },
		{ BYTES("12345678\xc3\xa4zz"), 12 },
		{ BYTES("1234567\xff"), 7 },
		{ BYTES("12345678\xff"), 8 },
		{ BYTES("\x7f\xc2\x80\xdf\xbf"), 5 },
		{ BYTES("\xc0\x80"), 0 }, /* overlong */
		{ BYTES("\xc1\xbf"), 0 },
		{ BYTES("\xe0\xa0\x80"), 3 },
		{ BYTES("\xe0\x9f\xbf"), 0 }, /* overlong */
		{ BYTES("\xed\x9f\xbf"), 3 },
		{ BYTES("\xed\xa0\x80"), 0 }, /* surrogate */
		{ BYTES("\xf0\x90\x80\x80"), 4 },
		{ BYTES("\xf0\x8f\xbf\xbf"), 0 }, /* overlong */
		{ BYTES("\xf4\x8f\xbf\xbf"), 4 },
		{ BYTES("\xf4\x90\x80\x80"), 0 }, /* above U+10FFFF */
		{ BYTES("\xf5\x80\x80\x80"), 0 },
		{ BYTES("a\xe2\x82"), 1 }, /* cut off */
		{ BYTES("a\xe2\x82x"), 1 },
		{ BYTES("\x80"), 0 },
		{ BYTES("12345678abc"), 11 },
		{ BYTES("12345678ab\xff"), 10 },
		{ BYTES("12345678\xc3\xa4"), 10 },
		{ BYTES("1234567\xc3\xa4xyz"), 12 },
		{ BYTES("1234567\xc3xyz"), 7 },
	};
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		size_t valid = utf8_valid_prefix(CASES[i].text.ptr, CASES[i].text.len);
		size_t decoded = 0, step;
		uint32_t point;
		while ((step = utf8_decode(CASES[i].text.ptr + decoded, CASES[i].text.len - decoded, &point)))
			decoded += step;
		assert_int_equal(decoded, CASES[i].valid);
		assert_int_equal(utf8_valid(CASES[i].text.ptr, CASES[i].text.len),
				 CASES[i].valid == CASES[i].text.len);
		if (valid != CASES[i].valid)
			fail_msg("case %zu: %zu, not %zu", i, valid, CASES[i].valid);
	}
}

static void test_copy(void **state)
{
	static const struct {
		str_t text;
		const char *copy; /* to 6 bytes */
	} CASES[] = {
		{ STR_NONE, "" },
		{ BYTES(""), "" },
		{ BYTES("abc"), "abc" },
		{ BYTES("abcde"), "abcde" },
		{ BYTES("abcdef"), "abcde" },
		{ BYTES("abcd\xc3\xa4"), "abcd" }, /* not half of it */
		{ BYTES("abc\xc3\xa4z"), "abc\xc3\xa4" },
		{ BYTES("ab\xff"
			"cd"),
		  "ab" },
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		char copy[6] = "xxxxx";
		utf8_copy(copy, sizeof copy, CASES[i].text);
		assert_string_equal(copy, CASES[i].copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_prefix), cmocka_unit_test(test_copy) };
	return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
