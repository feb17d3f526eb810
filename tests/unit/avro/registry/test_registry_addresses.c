/* Which address is asked, with some that answer and some that do not. */
#include "avro/registry/registry_addresses.h"

#include "../support.h"

enum { SECOND = 1000000 };

static size_t next(const struct registry_addresses *addresses, unsigned asked, bool answered, int64_t now_us)
{
	return registry_addresses_next(addresses, asked, answered, now_us);
}

static void test_one(void **state)
{
	(void)state;
	struct registry_addresses addresses = { .count = 1 };
	registry_addresses_fail(&addresses, 0, SECOND, 2 * SECOND);
	assert_int_equal(next(&addresses, 0, false, 2 * SECOND), 0);
	assert_true(next(&addresses, 1, false, 2 * SECOND) == REGISTRY_NO_ADDRESS);
}

static void test_one_that_hangs(void **state)
{
	(void)state;
	struct registry_addresses addresses = { .count = 3 };
	int64_t now_us = 10 * SECOND;
	assert_int_equal(next(&addresses, 0, false, now_us), 0);
	registry_addresses_fail(&addresses, 0, now_us, now_us + 5 * SECOND);
	now_us += 5 * SECOND;
	assert_int_equal(next(&addresses, 0, false, now_us), 1);
	assert_int_equal(next(&addresses, 2, false, now_us), 2);
	/* it is asked where no other is left, unless one has answered */
	assert_int_equal(next(&addresses, 6, false, now_us), 0);
	assert_true(next(&addresses, 6, true, now_us) == REGISTRY_NO_ADDRESS);
	/* others that asked it before count no further pause; later ones do */
	registry_addresses_fail(&addresses, 0, now_us, now_us);
	assert_int_equal(next(&addresses, 0, false, now_us + SECOND), 0);
	registry_addresses_fail(&addresses, 0, now_us, now_us + SECOND);
	assert_int_equal(next(&addresses, 0, false, now_us + 2 * SECOND), 1);
	assert_int_equal(next(&addresses, 0, false, now_us + 3 * SECOND), 0);
	for (int i = 0; i < 20; i++) {
		now_us += 100 * SECOND;
		registry_addresses_fail(&addresses, 0, now_us, now_us);
	}
	assert_int_equal(next(&addresses, 0, false, now_us + 59 * SECOND), 1);
	assert_int_equal(next(&addresses, 0, false, now_us + 60 * SECOND), 0);
	registry_addresses_answer(&addresses, 0, now_us);
	assert_int_equal(next(&addresses, 0, false, now_us), 0);
}

static void test_one_that_answers_others(void **state)
{
	(void)state;
	struct registry_addresses addresses = { .count = 2, .best = 1 };
	assert_int_equal(next(&addresses, 0, false, SECOND), 1);
	assert_int_equal(next(&addresses, 2, false, SECOND), 0);
	registry_addresses_answer(&addresses, 1, 2 * SECOND);
	registry_addresses_fail(&addresses, 1, SECOND, 3 * SECOND);
	assert_int_equal(next(&addresses, 0, false, 3 * SECOND), 1);
	registry_addresses_fail(&addresses, 1, 3 * SECOND, 3 * SECOND);
	assert_int_equal(next(&addresses, 0, false, 3 * SECOND), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_one_that_hangs),
		cmocka_unit_test(test_one_that_answers_others),
	};
	return cmocka_run_group_tests_name("registry_addresses", tests, NULL, NULL);
}
