#include "common/conf_scan.h"

#include <setjmp.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void prepared_texts(void **state)
{
	(void)state;
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{ "", "" },
		{ "a = 1;", "a = 1;" },
		{ "a = 2147483647; b = -2147483648;", "a = 2147483647; b = -2147483648;" },
		{ "a = 2147483648; b = -2147483649;", "a = 2147483648L; b = -2147483649L;" },
		{ "a=4294967296", "a=4294967296L" },
		{ "a = 4294967296L;", "a = 4294967296L;" },
		{ "a = 5L;", "a = 5L;" },
		{ "a = 9223372036854775807;", "a = 9223372036854775807L;" },
		{ "a = 0x7fffffff; b = 0xFFFFFFFFF;", "a = 0x7fffffff; b = 0xFFFFFFFFFL;" },
		{ "a = 0xFFFFFFFF;", "a = 0xFFFFFFFFL;" },
		{ "a = [ 3000000000, 1 ];", "a = [ 3000000000L, 1 ];" },
		/* numbers with a fraction or an exponent */
		{ "a = 3000000000.5; b = 3000000000e3; c = 3000000000.;",
		  "a = 3000000000.5; b = 3000000000e3; c = 3000000000.;" },
		{ "a = .5; b = -1.5e-3;", "a = .5; b = -1.5e-3;" },
		{ "a = 1.99999999999999999999999;", "a = 1.99999999999999999999999;" },
		/* digits that are no numbers */
		{ "a99999999999 = 1;", "a99999999999 = 1;" },
		{ "a-99999999999 = 1;", "a-99999999999 = 1;" },
		{ "a = \"9999999999\";", "a = \"9999999999\";" },
		{ "a = \"\\\"9999999999\";", "a = \"\\\"9999999999\";" },
		{ "a = \"\\\\\"; b = 9999999999;", "a = \"\\\\\"; b = 9999999999L;" },
		{ "# 9999999999\na", "# 9999999999\na" },
		{ "// 9999999999", "// 9999999999" },
		{ "/* 9999999999\n@include */ a = 9999999999;",
		  "/* 9999999999\n@include */ a = 9999999999L;" },
		{ "# @include \"x\"", "# @include \"x\"" },
		{ "a = \"@include\";", "a = \"@include\";" },
		/* texts that end early */
		{ "/", "/" },
		{ "-", "-" },
		{ "a", "a" },
		/* line ends and the byte order mark of other systems */
		{ "a = 1;\r\nb = 2;\r\n", "a = 1;\r\nb = 2;\r\n" },
		{ "\xEF\xBB\xBF", "" },
		{ "\xEF\xBB\xBF# a\r\nb = 9999999999;", "# a\r\nb = 9999999999L;" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(buf_free) struct buf prepared = BUF_INIT;
		assert_int_equal(conf_scan("f", str_from(cases[i].text), &prepared, NULL), ERR_OK);
		assert_string_equal(buf_str(&prepared).ptr, cases[i].expected);
	}
}

#define UTF_16 "f: the file is UTF-16, as its first bytes say; save it as UTF-8 (iconv -f UTF-16 -t UTF-8)"

static void refused_texts(void **state)
{
	(void)state;
	static const struct {
		str_t text;
		err_t err;
		const char *message;
	} cases[] = {
		{ { "\n\na = 9223372036854775808;", 26 },
		  ERR_CONFIG_RANGE,
		  "f:3: the number 9223372036854775808 does not fit into 64 bits" },
		{ { "\"\n\" a = -9223372036854775809", 28 },
		  ERR_CONFIG_RANGE,
		  "f:2: the number -9223372036854775809 does not fit into 64 bits" },
		{ { "/*\n\n*/0xfffffffffffffffff", 25 },
		  ERR_CONFIG_RANGE,
		  "f:3: the number 0xfffffffffffffffff does not fit into 64 bits" },
		{ { "a = 1;\n @include \"x\"", 20 },
		  ERR_CONFIG_SYNTAX,
		  "f:2: @include is not supported; the configuration is one file" },
		{ { "a = 1;\nb = \"x\n\n", 15 },
		  ERR_CONFIG_SYNTAX,
		  "f:2: the text that begins here never ends" },
		{ { "a = \"x\\\"", 8 }, ERR_CONFIG_SYNTAX, "f:1: the text that begins here never ends" },
		{ { "a = \"\\", 6 }, ERR_CONFIG_SYNTAX, "f:1: the text that begins here never ends" },
		{ { "\n/* /", 5 }, ERR_CONFIG_SYNTAX, "f:2: the comment that begins here never ends" },
		{ { "a\0b", 3 },
		  ERR_CONFIG_SYNTAX,
		  "f: the file holds NUL bytes; is it UTF-16? Save it as UTF-8" },
		{ { "\xFF\xFE"
		    "a\0=\0",
		    6 },
		  ERR_CONFIG_SYNTAX,
		  UTF_16 },
		{ { "\xFE\xFF\0a\0=", 6 }, ERR_CONFIG_SYNTAX, UTF_16 },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(buf_free) struct buf prepared = BUF_INIT;
		struct err_detail detail = { "" };
		assert_int_equal(conf_scan("f", cases[i].text, &prepared, &detail), cases[i].err);
		assert_string_equal(detail.message, cases[i].message);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(prepared_texts),
		cmocka_unit_test(refused_texts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
