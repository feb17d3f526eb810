#include "kafka/receipts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void written_and_read(void **state)
{
	(void)state;
	static const struct {
		int64_t offsets[8];
		size_t count;
		const char *text;
	} cases[] = {
		{ { 0 }, 1, "0" },
		{ { 12, 15, 16, 17, 31 }, 5, "12 15-17 31" },
		{ { 0, 1, 2 }, 3, "0-2" },
		{ { 3, 5, 7, 8 }, 4, "3 5 7-8" },
		{ { INT64_MAX - 2, INT64_MAX - 1 }, 2, "9223372036854775805-9223372036854775806" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		_cleanup_(buf_free) struct buf text = BUF_INIT;
		_cleanup_(receipts_cleanup) struct receipts *receipts = receipts_new();
		receipts_write(cases[i].offsets, cases[i].count, &text);
		assert_string_equal(text.data, cases[i].text);
		assert_int_equal(
			receipts_take(receipts, STR(RECEIPTS_VERSION), buf_str(&text), INT64_MAX, NULL),
			ERR_OK);
		receipts_settle(receipts);
		for (size_t j = 0; j < cases[i].count; j++)
			assert_true(receipts_have(receipts, cases[i].offsets[j]));
		assert_false(receipts_have(receipts, cases[i].offsets[cases[i].count - 1] + 1));
		assert_false(receipts_have(receipts, cases[i].offsets[0] - 1));
		assert_false(receipts_have(receipts, 4));
	}
}

/* What is not as it is written says nothing, and adds nothing. */
static void foreign_bytes(void **state)
{
	(void)state;
	static const str_t damaged[] = {
		STR_NONE,
		STR(""),
		STR(" "),
		STR("x"),
		STR("-1"),
		STR("1 "),
		STR(" 1"),
		STR("1  2"),
		STR("1x"),
		STR("1-"),
		STR("1-x"),
		STR("2-1"),
		STR("1 1"),
		STR("2 1"),
		STR("1-3 3"),
		STR("1,2"),
		STR("1\n"),
		{ "1\0002", 3 },
		{ "1\0", 2 },
		STR("99999999999999999999"),
		STR("9223372036854775808"),
		STR("1-9223372036854775808"),
		STR("100"),
		STR("50-100"),
		STR("\xff"),
	};
	_cleanup_(receipts_cleanup) struct receipts *receipts = receipts_new();
	struct err_detail detail;
	for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++)
		if (receipts_take(receipts, STR(RECEIPTS_VERSION), damaged[i], 100, &detail) !=
		    ERR_OFFSETS_METADATA)
			fail_msg("\"" STR_FMT "\" is taken", STR_ARG(damaged[i]));
	assert_non_null(strstr(detail.message, "damaged"));
	static const str_t versions[] = { STR_NONE, STR(""), STR("0"), STR("2"), STR("11"), STR("1 ") };
	for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
		assert_int_equal(receipts_take(receipts, versions[i], STR("5"), 100, &detail),
				 ERR_OFFSETS_METADATA);
	assert_non_null(strstr(detail.message, "does not know"));
	receipts_settle(receipts);
	for (int64_t offset = 0; offset <= 100; offset++)
		assert_false(receipts_have(receipts, offset));
}

/* Many receipts in any order, against a plain array. */
static void many(void **state)
{
	(void)state;
	enum { OFFSETS = 20000 };
	static bool expected[OFFSETS];
	_cleanup_(receipts_cleanup) struct receipts *receipts = receipts_new();
	srand(7);
	for (int i = 0; i < 500; i++) {
		_cleanup_(buf_free) struct buf text = BUF_INIT;
		int64_t offsets[40];
		size_t count = 0;
		for (int offset = rand() % OFFSETS; offset < OFFSETS && count < 40;
		     offset += 1 + rand() % 3 * (rand() % 20)) {
			offsets[count++] = offset;
			expected[offset] = true;
		}
		receipts_write(offsets, count, &text);
		assert_int_equal(
			receipts_take(receipts, STR(RECEIPTS_VERSION), buf_str(&text), OFFSETS, NULL),
			ERR_OK);
	}
	receipts_settle(receipts);
	for (int i = 0; i < OFFSETS; i++)
		assert_int_equal(receipts_have(receipts, i), expected[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_and_read),
		cmocka_unit_test(foreign_bytes),
		cmocka_unit_test(many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
