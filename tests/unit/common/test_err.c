#include "common/err.h"

#include <setjmp.h>
#include <sysexits.h>

#include <cmocka.h>

static void every_error_is_described(void **state)
{
	(void)state;
	for (int i = 0; i < ERR_COUNT_; i++) {
		const char *name = err_name((err_t)i), *text = err_text((err_t)i);
		assert_true(name[0] && text[0]);
		assert_int_equal(name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")], '\0');
		assert_int_not_equal(text[strlen(text) - 1], '.');
		for (int k = 0; k < i; k++)
			assert_string_not_equal(name, err_name((err_t)k));
	}
}

static void statuses_and_dispositions(void **state)
{
	(void)state;
	static const struct {
		err_t err;
		enum err_disposition disposition;
		int status;
	} cases[] = {
		{ ERR_OK, ERR_DISPOSITION_NONE, 0 },
		{ ERR_USAGE, ERR_DISPOSITION_FATAL, 64 },
		{ ERR_JSON_SYNTAX, ERR_DISPOSITION_DEAD_LETTER, 65 },
		{ ERR_CATALOG_SYNTAX, ERR_DISPOSITION_FATAL, 65 },
		{ ERR_CONFIG_FILE, ERR_DISPOSITION_FATAL, 66 },
		{ ERR_KAFKA_UNAVAILABLE, ERR_DISPOSITION_RETRY, 69 },
		{ ERR_KAFKA_TOPIC, ERR_DISPOSITION_FATAL, 69 },
		{ ERR_JUDGE_TIMEOUT, ERR_DISPOSITION_FAIL_METRIC, 69 },
		{ ERR_OS, ERR_DISPOSITION_FATAL, 71 },
		{ ERR_IO, ERR_DISPOSITION_FATAL, 74 },
		{ ERR_KAFKA_FENCED, ERR_DISPOSITION_FATAL, 75 },
		{ ERR_CONFIG_UNKNOWN, ERR_DISPOSITION_FATAL, 78 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		assert_int_equal(err_disposition(cases[i].err), cases[i].disposition);
		assert_int_equal(err_exit_status(cases[i].err), cases[i].status);
	}
	for (int i = 0; i < ERR_COUNT_; i++) {
		if (i == ERR_OK)
			continue;
		assert_in_range(err_exit_status((err_t)i), EX__BASE, EX__MAX);
		assert_int_not_equal(err_disposition((err_t)i), ERR_DISPOSITION_NONE);
	}
	assert_string_equal(err_text(ERR_JUDGE_TIMEOUT), "LLM judge timeout"); /* a text that users match */
}

static void a_number_that_is_no_error(void **state)
{
	(void)state;
	assert_string_equal(err_name((err_t)ERR_COUNT_), "os");
	assert_int_equal(err_exit_status((err_t)ERR_COUNT_), EX_OSERR);
}

static void details(void **state)
{
	(void)state;
	struct err_detail detail = { "" };
	assert_int_equal(err_fail(&detail, ERR_IO, "%s: line %d", "file", 3), ERR_IO);
	assert_string_equal(err_message(ERR_IO, &detail), "file: line 3");
	assert_int_equal(err_fail(NULL, ERR_IO, "%s", "unheard"), ERR_IO);
	assert_string_equal(err_message(ERR_IO, NULL), err_text(ERR_IO));
	detail.message[0] = '\0';
	assert_string_equal(err_message(ERR_IO, &detail), err_text(ERR_IO));
	char endless[2000];
	memset(endless, 'x', sizeof endless - 1);
	endless[sizeof endless - 1] = '\0';
	err_fail(&detail, ERR_IO, "%s", endless);
	assert_int_equal(strlen(detail.message), sizeof detail.message - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_error_is_described),
		cmocka_unit_test(statuses_and_dispositions),
		cmocka_unit_test(a_number_that_is_no_error),
		cmocka_unit_test(details),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
