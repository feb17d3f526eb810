/* For how long limits of waiting may be exceeded, and how soon again. */
#include "avro/registry/registry_patience.h"

#include "../support.h"

enum { SECOND = 1000000, LASTS = 5 * SECOND, PAUSE = 60 * SECOND };

static const int64_t start_us = INT64_C(5000) * SECOND;

static void test_an_answer_in_time(void **state)
{
	struct registry_patience patience = { 0 };
	(void)state;
	assert_true(registry_patience_take(&patience, start_us, LASTS));
	assert_false(registry_patience_is_over(&patience, true, start_us + LASTS - 1, PAUSE));
	assert_false(registry_patience_is_over(&patience, false, start_us + LASTS + 1, PAUSE));
	assert_true(registry_patience_take(&patience, start_us + LASTS + 2, LASTS));
}

static void test_no_answer(void **state)
{
	struct registry_patience patience = { 0 };
	const int64_t end_us = start_us + LASTS;
	(void)state;
	assert_false(registry_patience_is_over(&patience, false, start_us, PAUSE));
	assert_true(registry_patience_take(&patience, start_us, LASTS));
	assert_true(registry_patience_take(&patience, end_us - 1, LASTS));
	assert_false(registry_patience_take(&patience, end_us, LASTS));
	assert_true(registry_patience_is_over(&patience, true, end_us, PAUSE));
	assert_false(registry_patience_is_over(&patience, true, end_us + SECOND, PAUSE));
	assert_false(registry_patience_take(&patience, end_us + PAUSE - 1, LASTS));
	assert_true(registry_patience_take(&patience, end_us + PAUSE, LASTS));
}

static void test_spent_before_its_end(void **state)
{
	struct registry_patience patience = { 0 };
	(void)state;
	assert_true(registry_patience_take(&patience, start_us, LASTS));
	registry_patience_spend(&patience, start_us + SECOND, PAUSE);
	assert_false(registry_patience_take(&patience, start_us + 2 * SECOND, LASTS));
	assert_false(registry_patience_is_over(&patience, true, start_us + LASTS, PAUSE));
	assert_true(registry_patience_take(&patience, start_us + SECOND + PAUSE, LASTS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_answer_in_time),
		cmocka_unit_test(test_no_answer),
		cmocka_unit_test(test_spent_before_its_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
