/* The tables of diagnostics, and what the list keeps. */
#include "sql/findings/diagnostics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void sub_codes_belong_to_codes(void **state)
{
	(void)state;
	assert_null(diagnostic_sub_name(SUB_NONE));
	for (int i = SUB_NONE + 1; i < SUB_COUNT_; i++) {
		enum diagnostic_sub_code sub = (enum diagnostic_sub_code)i;
		assert_true(diagnostic_sub_name(sub)[0] != '\0' && diagnostic_sub_meaning(sub)[0] != '\0');
		assert_null(strpbrk(diagnostic_sub_meaning(sub), "\"\\"));
		for (int k = SUB_NONE + 1; k < i; k++) {
			enum diagnostic_sub_code other = (enum diagnostic_sub_code)k;
			assert_false(diagnostic_of_sub(sub) == diagnostic_of_sub(other) &&
				     strcmp(diagnostic_sub_name(sub), diagnostic_sub_name(other)) == 0);
		}
	}
	assert_int_equal(diagnostic_of_sub(SUB_RISKY_PATTERN_SELECT_STAR), DIAG_RISKY_PATTERN);
	assert_string_equal(diagnostic_sub_name(SUB_INVALID_ORDER_CONSTANT), "constant");
}

static void codes_have_meanings(void **state)
{
	(void)state;
	for (int i = 0; i < DIAG_COUNT_; i++) {
		enum sql_diagnostic_code code = (enum sql_diagnostic_code)i;
		assert_true(diagnostic_name(code)[0] != '\0' && diagnostic_meaning(code)[0] != '\0');
		assert_null(strpbrk(diagnostic_meaning(code), "\"\\"));
	}
	assert_true(diagnostic_is_error(DIAG_UNKNOWN_TABLE));
	assert_false(diagnostic_is_error(DIAG_RISKY_PATTERN));
}

static void keeps_one_of_each_object(void **state)
{
	static const struct {
		enum sql_diagnostic_code code;
		enum diagnostic_sub_code sub_code;
		const char *object;
		size_t count; /* behind it */
	} added[] = {
		{ DIAG_RISKY_PATTERN, SUB_RISKY_PATTERN_SELECT_STAR, "*", 1 },
		{ DIAG_RISKY_PATTERN, SUB_RISKY_PATTERN_SELECT_STAR, "*", 1 },
		{ DIAG_RISKY_PATTERN, SUB_RISKY_PATTERN_EQUALS_NULL, "*", 2 },
		{ DIAG_RISKY_PATTERN, SUB_RISKY_PATTERN_EQUALS_NULL, "@7", 3 },
		{ DIAG_RISKY_PATTERN, SUB_NONE, "*", 4 },
		{ DIAG_RISKY_PATTERN, SUB_NONE, "*", 4 },
		{ DIAG_TYPE_MISMATCH, SUB_NONE, "*", 5 },
	};
	struct arena *arena = arena_new();
	struct diagnostics list = { .arena = arena, .text_offset = 10 };
	(void)state;
	for (size_t i = 0; i < sizeof added / sizeof added[0]; i++) {
		diagnostics_add(&list, added[i].code, added[i].sub_code, str_from(added[i].object), 7,
				"said %zu times", i);
		assert_int_equal(list.count, added[i].count);
	}
	assert_string_equal(list.items[0].sub_code, "select_star");
	assert_string_equal(list.items[0].message.ptr, "said 0 times");
	assert_int_equal(list.items[0].offset, 17);
	assert_null(list.items[3].sub_code);
	for (int i = 0; i < 2 * DIAGNOSTICS_MAX; i++) {
		str_t object = arena_printf(arena, "%d", i);
		diagnostics_add_state(&list, DIAG_INVALID_ORDER, SUB_NONE, "42P10", object, -1, "no");
	}
	assert_int_equal(list.count, DIAGNOSTICS_MAX);
	assert_string_equal(list.items[DIAGNOSTICS_MAX - 1].sqlstate, "42P10");
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sub_codes_belong_to_codes),
		cmocka_unit_test(codes_have_meanings),
		cmocka_unit_test(keeps_one_of_each_object),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
