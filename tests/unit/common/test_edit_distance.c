#include "common/edit_distance.h"

#include <setjmp.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void distances(void **state)
{
	(void)state;
	static const struct {
		const char *a, *b;
		size_t distance;
	} cases[] = {
		{ "", "", 0 },		 { "", "abc", 3 },	     { "abc", "abc", 0 },
		{ "abc", "abd", 1 },	 { "abc", "ab", 1 },	     { "abc", "xabc", 1 },
		{ "kafak", "kafka", 1 }, { "kitten", "sitting", 3 }, { "abcd", "wxyz", 4 },
		{ "ab", "ba", 1 },	 { "ca", "abc", 3 },	     { "abcdef", "badcfe", 3 },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		str_t a = str_from(cases[i].a), b = str_from(cases[i].b);
		assert_int_equal(edit_distance(a, b), cases[i].distance);
		assert_int_equal(edit_distance(b, a), cases[i].distance);
	}
}

static void long_names_are_far(void **state)
{
	(void)state;
	char name[EDIT_DISTANCE_BYTES_MAX + 1];
	memset(name, 'a', sizeof name);
	const str_t longest = { name, EDIT_DISTANCE_BYTES_MAX }, longer = { name, sizeof name };
	assert_int_equal(edit_distance(longest, longest), 0);
	assert_int_equal(edit_distance(longest, STR("")), EDIT_DISTANCE_BYTES_MAX);
	assert_int_equal(edit_distance(longer, longest), SIZE_MAX);
	assert_int_equal(edit_distance(longest, longer), SIZE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distances),
		cmocka_unit_test(long_names_are_far),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
