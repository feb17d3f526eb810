#include "common/conf_hint.h"

#include <setjmp.h>

#include <cmocka.h>

static struct conf_hint hint_of(const char *wanted, const char *const *names)
{
	struct conf_hint hint = { wanted, NULL, SIZE_MAX, "" };
	for (; *names; names++)
		conf_hint_add(&hint, *names);
	return hint;
}

static void nearest_name(void **state)
{
	(void)state;
	static const char *const names[] = { "kafka", "targets", "judge", NULL };
	struct conf_hint hint = hint_of("kafak", names);
	assert_true(conf_hint_is_near(&hint));
	assert_string_equal(hint.best, "kafka");
	assert_string_equal(hint.all, "kafka, targets, judge");
	hint = hint_of("zebra", names);
	assert_false(conf_hint_is_near(&hint));
	hint = hint_of("kafka", names + 3);
	assert_false(conf_hint_is_near(&hint));
	assert_string_equal(hint.all, "");
}

static void long_lists_end_between_names(void **state)
{
	(void)state;
	static const char name[] = "a_name_of_thirty_bytes_in_all_";
	const char *names[13] = { NULL };
	for (size_t i = 0; i < 12; i++)
		names[i] = name;
	struct conf_hint hint = hint_of("x", names);
	assert_int_equal(strlen(hint.all), 7 * 30 + 6 * 2 + strlen(", …"));
	assert_string_equal(hint.all + strlen(hint.all) - strlen(", …") - 30,
			    "a_name_of_thirty_bytes_in_all_, …");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nearest_name),
		cmocka_unit_test(long_lists_end_between_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
