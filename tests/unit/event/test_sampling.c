#include "event/sampling.h"

#include <setjmp.h>

#include <cmocka.h>

static void the_share_is_the_rate_and_stable(void **state)
{
	(void)state;
	unsigned included = 0;
	for (int i = 0; i < 20000; i++) {
		char id[40];
		int len = snprintf(id, sizeof id, "event-%d", i);
		str_t event_id = { id, (size_t)len };
		bool in = sampling_includes(event_id, 0.25);
		assert_int_equal(in, sampling_includes(event_id, 0.25));
		assert_true(!in ||
			    sampling_includes(event_id, 0.5)); /* a larger sample contains the smaller */
		included += in;
	}
	assert_in_range(included, 4750, 5250); /* 5000 ± 4 standard deviations */
}

static void the_ends_are_exact(void **state)
{
	(void)state;
	for (int i = 0; i < 1000; i++) {
		char id[40];
		int len = snprintf(id, sizeof id, "%d", i);
		assert_true(sampling_includes((str_t){ id, (size_t)len }, 1.0));
		assert_false(sampling_includes((str_t){ id, (size_t)len }, 0.0));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_share_is_the_rate_and_stable),
		cmocka_unit_test(the_ends_are_exact),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
