#include "event/share.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct {
	opt_double_t share;
	bool sound;
} cases[] = {
	{ { false, 0 }, true },
	{ { false, 7 }, true },
	{ { true, 0 }, true },
	{ { true, -0.0 }, true },
	{ { true, 1 }, true },
	{ { true, 0.85 }, true },
	{ { true, 85 }, false },
	{ { true, 1.0000001 }, false },
	{ { true, -1e-9 }, false },
	{ { true, (double)NAN }, false },
	{ { true, (double)INFINITY }, false },
	{ { true, -(double)INFINITY }, false },
};

static void only_shares_are_sound(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		assert_int_equal(share_is_sound(cases[i].share), cases[i].sound);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(only_shares_are_sound) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
