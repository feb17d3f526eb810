#include "event/step.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Every pair, so that a transition that is added by mistake fails as well as one that is missing. */
static void only_the_drawn_transitions_are_allowed(void **state)
{
	(void)state;
	static const unsigned allowed[STEP_COUNT_] = {
		[STEP_RECEIVED] =
			1u << STEP_PARKED | 1u << STEP_ANALYSED | 1u << STEP_DEAD | 1u << STEP_DISCARDED,
		[STEP_PARKED] = 1u << STEP_RECEIVED | 1u << STEP_DEAD | 1u << STEP_DISCARDED,
		[STEP_ANALYSED] = 1u << STEP_AWAITING,
		[STEP_AWAITING] = 1u << STEP_READY | 1u << STEP_DEAD | 1u << STEP_DISCARDED,
		[STEP_DEAD] = 1u << STEP_READY,
		[STEP_READY] = 1u << STEP_IN_TXN | 1u << STEP_DEAD | 1u << STEP_DISCARDED,
		[STEP_IN_TXN] = 1u << STEP_READY | 1u << STEP_COMMITTED,
	};
	for (unsigned from = 0; from < STEP_COUNT_; from++)
		for (unsigned to = 0; to < STEP_COUNT_; to++)
			assert_int_equal(step_allowed((enum step)from, (enum step)to),
					 allowed[from] >> to & 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_drawn_transitions_are_allowed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
