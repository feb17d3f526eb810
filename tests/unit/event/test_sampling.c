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

/* The first eight bytes of the SHA-256 of the id as a fraction: another instance, another machine and the
 * next version choose the same events. Computed by another program. */
static void every_instance_chooses_the_same(void **state)
{
	static const struct {
		str_t event_id;
		double above, not_above; /* the fraction is between them */
	} cases[] = {
		{ STR("event-0"), 0.13753, 0.13752 },
		{ STR("event-1"), 0.80552, 0.80551 },
		{ STR("event-2"), 0.70661, 0.70660 },
		{ STR("00000000-0000-0000-0000-000000000000"), 0.07314, 0.07313 },
		{ STR("f47ac10b-58cc-4372-a567-0e02b2c3d479"), 0.55958, 0.55957 },
		{ STR("\xc3\xa4\xc3\xb6\xc3\xbc"), 0.73515, 0.73514 },
		{ STR(""), 0.88942, 0.88941 },
		{ STR_NONE, 0.88942, 0.88941 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_true(sampling_includes(cases[i].event_id, cases[i].above));
		assert_false(sampling_includes(cases[i].event_id, cases[i].not_above));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_share_is_the_rate_and_stable),
		cmocka_unit_test(the_ends_are_exact),
		cmocka_unit_test(every_instance_chooses_the_same),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
