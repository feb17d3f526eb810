#include "http/listen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

static void what_is_no_address_and_port_is_said(void **state)
{
	static const char *const wrong[] = { "",	   "9464",     ":9464",	    "127.0.0.1",
					     "127.0.0.1:", "::1:9464", "[::1:9464", "[]:9464" };
	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct listener listener;
		struct err_detail detail = { "" };
		assert_int_equal(listen_open(wrong[i], &listener, &detail), ERR_CONFIG_RANGE);
		assert_non_null(strstr(detail.message, "http.listen"));
		assert_non_null(strstr(detail.message, "127.0.0.1:9464"));
	}
}

static void loopback_is_told_from_the_rest(void **state)
{
	static const struct {
		const char *address, *begin;
		bool loopback;
	} cases[] = {
		{ "127.0.0.1:0", "127.0.0.1:", true },
		{ "127.1.2.3:0", "127.1.2.3:", true },
		{ "localhost:0", "", true },
		{ "0.0.0.0:0", "0.0.0.0:", false },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct listener listener;
		assert_int_equal(listen_open(cases[i].address, &listener, NULL), ERR_OK);
		assert_int_equal(listener.loopback, cases[i].loopback);
		assert_memory_equal(listener.name, cases[i].begin, strlen(cases[i].begin));
		assert_string_not_equal(strrchr(listener.name, ':'), ":0");
		close(listener.fd);
	}
}

static void an_ipv6_address_stands_in_brackets(void **state)
{
	struct listener listener;
	(void)state;
	if (listen_open("[::1]:0", &listener, NULL))
		skip(); /* no IPv6 here */
	assert_true(listener.loopback);
	assert_memory_equal(listener.name, "[::1]:", 6);
	close(listener.fd);
}

static void a_port_in_use_is_one_clear_error(void **state)
{
	struct listener first, second;
	struct err_detail detail = { "" };
	(void)state;
	assert_int_equal(listen_open("127.0.0.1:0", &first, NULL), ERR_OK);
	assert_int_equal(listen_open(first.name, &second, &detail), ERR_HTTP_LISTEN);
	assert_non_null(strstr(detail.message, first.name));
	assert_non_null(strstr(detail.message, "in use"));
	close(first.fd);
	assert_int_equal(listen_open(first.name, &second, NULL), ERR_OK);
	close(second.fd);
}

static void an_address_of_another_machine_is_refused(void **state)
{
	struct listener listener;
	struct err_detail detail = { "" };
	(void)state;
	assert_int_equal(listen_open("192.0.2.1:0", &listener, &detail), ERR_HTTP_LISTEN);
	assert_non_null(strstr(detail.message, "192.0.2.1:0"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_no_address_and_port_is_said),
		cmocka_unit_test(loopback_is_told_from_the_rest),
		cmocka_unit_test(an_ipv6_address_stands_in_brackets),
		cmocka_unit_test(a_port_in_use_is_one_clear_error),
		cmocka_unit_test(an_address_of_another_machine_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
