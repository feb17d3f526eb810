#include "judge/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void test_statuses(void **state)
{
	(void)state;
	static const struct {
		long status;
		err_t err;
		bool retry, failing, overloaded, unauthorized;
	} cases[] = {
		{ 100, ERR_JUDGE_REFUSED, false, false, false, false },
		{ 301, ERR_JUDGE_REFUSED, false, false, false, false },
		{ 400, ERR_JUDGE_REFUSED, false, false, false, false },
		{ 401, ERR_JUDGE_REFUSED, false, true, false, true },
		{ 402, ERR_JUDGE_REFUSED, false, true, false, false },
		{ 403, ERR_JUDGE_REFUSED, false, true, false, true },
		{ 404, ERR_JUDGE_REFUSED, false, true, false, false },
		{ 405, ERR_JUDGE_REFUSED, false, false, false, false },
		{ 407, ERR_JUDGE_REFUSED, false, true, false, false },
		{ 408, ERR_JUDGE_UNAVAILABLE, true, false, false, false },
		{ 422, ERR_JUDGE_REFUSED, false, false, false, false },
		{ 425, ERR_JUDGE_UNAVAILABLE, true, false, false, false },
		{ 429, ERR_JUDGE_RATE_LIMITED, true, false, true, false },
		{ 499, ERR_JUDGE_REFUSED, false, false, false, false },
		{ 500, ERR_JUDGE_UNAVAILABLE, true, true, false, false },
		{ 501, ERR_JUDGE_REFUSED, false, false, false, false },
		{ 502, ERR_JUDGE_UNAVAILABLE, true, true, false, false },
		{ 503, ERR_JUDGE_UNAVAILABLE, true, true, false, false },
		{ 504, ERR_JUDGE_UNAVAILABLE, true, true, false, false },
		{ 505, ERR_JUDGE_REFUSED, false, false, false, false },
		{ 529, ERR_JUDGE_RATE_LIMITED, true, false, true, false },
		{ 599, ERR_JUDGE_UNAVAILABLE, true, true, false, false },
		{ 600, ERR_JUDGE_REFUSED, false, false, false, false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct fault fault = fault_of_status(cases[i].status);
		assert_string_equal(err_name(fault.err), err_name(cases[i].err));
		assert_int_equal(fault.retry, cases[i].retry);
		assert_int_equal(fault.failing, cases[i].failing);
		assert_int_equal(fault.overloaded, cases[i].overloaded);
		assert_int_equal(fault.unauthorized, cases[i].unauthorized);
	}
}

static void test_outcomes(void **state)
{
	(void)state;
	static const struct {
		enum transfer_outcome outcome;
		err_t err;
		bool retry, failing;
	} cases[] = {
		{ TRANSFER_ANSWERED, ERR_OK, false, false },
		{ TRANSFER_TOO_LARGE, ERR_JUDGE_REPLY, false, false },
		{ TRANSFER_TIMED_OUT, ERR_JUDGE_TIMEOUT, false, true },
		{ TRANSFER_UNCONNECTED, ERR_JUDGE_UNAVAILABLE, true, true },
		{ TRANSFER_FAULT, ERR_JUDGE_UNAVAILABLE, true, true },
		{ TRANSFER_IMPOSSIBLE, ERR_JUDGE_UNAVAILABLE, false, true },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct fault fault = fault_of_outcome(cases[i].outcome);
		assert_string_equal(err_name(fault.err), err_name(cases[i].err));
		assert_int_equal(fault.retry, cases[i].retry);
		assert_int_equal(fault.failing, cases[i].failing);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_statuses),
					    cmocka_unit_test(test_outcomes) };
	return cmocka_run_group_tests_name("fault", tests, NULL, NULL);
}
