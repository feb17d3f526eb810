#include "http/host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void names_that_somebody_else_may_point_here_are_refused(void **state)
{
	static const struct {
		const char *host;
		bool local;
	} cases[] = {
		{ "127.0.0.1", true },
		{ "127.0.0.1:9464", true },
		{ "localhost", true },
		{ "LocalHost:9464", true },
		{ "[::1]", true },
		{ "[::1]:9464", true },
		{ "192.0.2.1:80", true },
		{ "", false },
		{ ":", false },
		{ "[", false },
		{ "[]", false },
		{ "[::1", false },
		{ "[::1]x", false },
		{ "::1", false },
		{ "localhost.example.com", false },
		{ "example.com:9464", false },
		{ "127.0.0.1.example.com", false },
		{ "1", false },
		{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		  false },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (host_is_local(cases[i].host) != cases[i].local)
			fail_msg("\"%s\"", cases[i].host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_that_somebody_else_may_point_here_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
