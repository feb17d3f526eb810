#include "http/accept.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void the_format_is_the_one_that_is_asked_for(void **state)
{
	static const struct {
		const char *accept;
		bool openmetrics;
	} cases[] = {
		{ "", false },
		{ "*/*", false },
		{ "text/plain", false },
		{ "text/plain; version=0.0.4", false },
		{ "application/openmetrics-text", true },
		{ "application/openmetrics-text; version=1.0.0; charset=utf-8", true },
		{ "Application/OpenMetrics-Text;Version=1.0.0", true },
		{ "application/openmetrics-text; version=2.0.0", false },
		{ "application/openmetrics-text;version=1.0.0;q=0", false },
		{ "application/openmetrics-text;q=0.5, text/plain;q=0.5", true },
		{ "application/openmetrics-text;q=0.5, text/plain", false },
		{ "text/plain;q=0.999 ,\tapplication/openmetrics-text", true },
		{ "application/openmetrics-text;q=0.3,*/*;q=0.5", false },
		{ "application/openmetrics-text;q=0.3,text/plain;q=0.2,*/*;q=0.5", true },
		{ "application/openmetrics-text;q=0.3,text/*;q=0.2,*/*", true },
		{ "application/openmetrics-text;q=0.3,text/plain;version=9", true },
		{ "application/*", false },
		{ "application/json", false },
		/* Prometheus 2.42 and 3.0, and browsers */
		{ "application/openmetrics-text;version=1.0.0,application/"
		  "openmetrics-text;version=0.0.1;q=0.75,"
		  "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
		  true },
		{ "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
		  "application/openmetrics-text;version=0.0.1;q=0.4,text/"
		  "plain;version=1.0.0;escaping=allow-utf-8;q=0.3,"
		  "text/plain;version=0.0.4;q=0.2,*/*;q=0.1",
		  true },
		{ "text/plain;version=0.0.4;q=0.5,application/openmetrics-text;version=1.0.0;q=0.4", false },
		{ "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", false },
		/* rubbish */
		{ ",;=,;;q=,q=1;", false },
		{ "application/openmetrics-text;q=x", false },
		{ "application/openmetrics-text;q=-1", false },
		{ "application/openmetrics-text;q=1.", true },
		{ "application/openmetrics-text;q=0.0001", false },
		{ "application/openmetrics-text;q=99", false },
		{ "\x80\xff;q=1,application/openmetrics-text", true },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (accept_openmetrics(cases[i].accept) != cases[i].openmetrics)
			fail_msg("%s", cases[i].accept);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_format_is_the_one_that_is_asked_for) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
