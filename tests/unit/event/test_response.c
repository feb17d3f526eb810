#include "event/response.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static str_t required[] = { { "sql", 3 }, { "why", 3 } };
static str_t optional[] = { { "tables", 6 } };

static const struct {
	const char *raw;
	enum response_quality quality;
} cases[] = {
	{ "{\"sql\":\"x\",\"why\":\"y\",\"tables\":[]}", RESPONSE_COMPLETE },
	{ " {\"sql\":0,\"why\":false,\"tables\":\"\"}\n", RESPONSE_COMPLETE }, /* falsy values are there */
	{ "{\"sql\":\"x\",\"why\":\"y\"}", RESPONSE_OPTIONAL_MISSING },
	{ "{\"sql\":\"x\",\"why\":\"y\",\"tables\":null}", RESPONSE_OPTIONAL_MISSING },
	{ "{\"sql\":\"x\",\"tables\":[]}", RESPONSE_REQUIRED_MISSING },
	{ "{\"sql\":null,\"why\":\"y\",\"tables\":[]}", RESPONSE_REQUIRED_MISSING },
	{ "{}", RESPONSE_REQUIRED_MISSING },
	{ "[{\"sql\":\"x\"}]", RESPONSE_NOT_AN_OBJECT },
	{ "\"sql\"", RESPONSE_NOT_AN_OBJECT },
	{ "", RESPONSE_NOT_AN_OBJECT },
	{ "SELECT 1", RESPONSE_NOT_AN_OBJECT },
	{ "{\"sql\":\"x\",", RESPONSE_NOT_AN_OBJECT },
	{ "{\"sql\":\"x\"} and more", RESPONSE_NOT_AN_OBJECT },
};

static void replies_are_told_apart(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct model_response response = { .raw = str_from(cases[i].raw),
							 .required_fields = required,
							 .required_fields_count = 2,
							 .optional_fields = optional,
							 .optional_fields_count = 1 };
		assert_int_equal(response_check(&response), cases[i].quality);
	}
}

static void without_expectations_any_object_is_complete(void **state)
{
	(void)state;
	const struct model_response response = { .raw = STR("{}") };
	assert_int_equal(response_check(&response), RESPONSE_COMPLETE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(replies_are_told_apart),
		cmocka_unit_test(without_expectations_any_object_is_complete),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
