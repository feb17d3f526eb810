/* Texts of arrays, as PostgreSQL's documentation of its array input syntax has them. */
#include "database/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void expect(struct buf *array, const char *expected)
{
	array_end(array);
	assert_string_equal(array->data, expected);
	buf_free(array);
}

static void test_texts(void **state)
{
	(void)state;
	struct buf array = BUF_INIT;
	expect(&array, "{}");
	array_append(&array, STR("a"));
	expect(&array, "{\"a\"}");
	array_append(&array, STR(""));
	array_append(&array, STR("NULL"));
	array_append_null(&array);
	array_append(&array, STR("{,}"));
	expect(&array, "{\"\",\"NULL\",NULL,\"{,}\"}");
	array_append(&array, STR("say \"\\\""));
	expect(&array, "{\"say \\\"\\\\\\\"\"}");
}

static void test_bytes(void **state)
{
	(void)state;
	static const unsigned char bytes[] = { 0x00, 0x7f, 0xa0, 0xff };
	struct buf array = BUF_INIT;
	array_append_bytes(&array, bytes, sizeof bytes);
	array_append_bytes(&array, bytes, 0);
	expect(&array, "{\"\\\\x007fa0ff\",\"\\\\x\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_bytes),
	};
	return cmocka_run_group_tests_name("array", tests, NULL, NULL);
}
