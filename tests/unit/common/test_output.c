/* Standard output that takes what is written, and such as does not. */
#include "common/output.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void test_output_that_arrives(void **state)
{
	(void)state;
	struct err_detail detail = { "" };
	printf("something\n");
	assert_int_equal(output_end(&detail), ERR_OK);
	assert_string_equal(detail.message, "");
}

static void test_output_that_does_not_arrive(void **state)
{
	(void)state;
	struct err_detail first = { "" }, again = { "" };
	fflush(stdout);
	int kept = dup(STDOUT_FILENO), full = open("/dev/full", O_WRONLY);
	assert_true(kept >= 0 && full >= 0);
	dup2(full, STDOUT_FILENO);
	printf("something\n");
	err_t err = output_end(&first), later = output_end(&again);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	close(full);
	assert_int_equal(err, ERR_IO);
	assert_string_equal(first.message, "standard output cannot be written: No space left on device");
	assert_int_equal(later, ERR_IO); /* what was lost stays lost */
	clearerr(stdout);
	assert_int_equal(output_end(NULL), ERR_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output_that_arrives),
		cmocka_unit_test(test_output_that_does_not_arrive),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
