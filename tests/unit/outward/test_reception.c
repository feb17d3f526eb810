#include "outward/reception.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void what_becomes_of_a_request(void **state)
{
	(void)state;
	const struct {
		enum fetch_outcome outcome;
		long status;
		enum reception reception;
		const char *reason; /* a part of it */
	} cases[] = {
		{ FETCH_ANSWERED, 200, RECEPTION_TAKEN, "" },
		{ FETCH_ANSWERED, 202, RECEPTION_TAKEN, "" },
		{ FETCH_ANSWERED, 204, RECEPTION_TAKEN, "" },
		{ FETCH_TOO_LARGE, 200, RECEPTION_TAKEN, "" },
		{ FETCH_TOO_LARGE, 500, RECEPTION_LATER, "500" },
		{ FETCH_ANSWERED, 301, RECEPTION_LATER, "let hook.url name where it leads" },
		{ FETCH_ANSWERED, 308, RECEPTION_LATER, "redirects are not followed" },
		{ FETCH_ANSWERED, 400, RECEPTION_REFUSED, "HTTP status 400" },
		{ FETCH_ANSWERED, 401, RECEPTION_LATER, "check the secret" },
		{ FETCH_ANSWERED, 403, RECEPTION_LATER, "check the secret" },
		{ FETCH_ANSWERED, 404, RECEPTION_LATER, "check hook.url" },
		{ FETCH_ANSWERED, 405, RECEPTION_LATER, "check hook.url" },
		{ FETCH_ANSWERED, 408, RECEPTION_LATER, "408" },
		{ FETCH_ANSWERED, 410, RECEPTION_GONE, "410" },
		{ FETCH_ANSWERED, 413, RECEPTION_REFUSED, "413" },
		{ FETCH_ANSWERED, 422, RECEPTION_REFUSED, "422" },
		{ FETCH_ANSWERED, 425, RECEPTION_LATER, "425" },
		{ FETCH_ANSWERED, 429, RECEPTION_LATER, "429" },
		{ FETCH_ANSWERED, 500, RECEPTION_LATER, "500" },
		{ FETCH_ANSWERED, 503, RECEPTION_LATER, "503" },
		{ FETCH_TIMED_OUT, 0, RECEPTION_LATER, "no answer in time: why" },
		{ FETCH_FAULT, 0, RECEPTION_LATER, "why" },
		{ FETCH_IMPOSSIBLE, 0, RECEPTION_LATER, "why" },
		{ FETCH_INTERRUPTED, 0, RECEPTION_STOPPED, "" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct fetch_answer answer = { .outcome = cases[i].outcome,
						     .status = cases[i].status,
						     .retry_after_ms = 7000,
						     .fault = "why" };
		struct reception_answer found;
		reception_of(&answer, "hook.url", &found);
		assert_int_equal(found.reception, cases[i].reception);
		assert_int_equal(found.after_ms, 7000);
		assert_non_null(strstr(found.reason, cases[i].reason));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(what_becomes_of_a_request) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
