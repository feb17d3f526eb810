/* Fingerprints of results, against values that Python's hashlib gives by the manual's definition. */
#include "compare/fingerprint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const struct {
	const char *name;
	size_t columns, rows;
	const char *cells[4]; /* NULL: so */
	const char *expected;
} cases[] = {
	{ "no row", 2, 0, { NULL }, "00000000000000000000000000000000" },
	{ "two rows", 2, 2, { "1", "a", "2", NULL }, "73dad1540553cf5b2d5e13ed65ab6ad2" },
	{ "in another order", 2, 2, { "2", NULL, "1", "a" }, "73dad1540553cf5b2d5e13ed65ab6ad2" },
	{ "the same row twice", 2, 2, { "1", "a", "1", "a" }, "39e4fbdd4316836e3f664a7b455cb204" },
	{ "an empty text", 1, 1, { "" }, "ba768b331fd86cec803be04e56ab2b3d" },
	{ "NULL", 1, 1, { NULL }, "8ce86a6ae65d3692e7305e2c58ac62ee" },
	{ "the text N", 1, 1, { "N" }, "2636c6bccd0c86d6cba936ba334d1283" },
	{ "cells that meet", 2, 1, { "ab", "" }, "bd9027e9dbf27167f8c3e2fbc1e42491" },
	{ "cells that meet elsewhere", 2, 1, { "a", "b" }, "facdde7abf1eac5b301273ab2e282f79" },
	{ "no column", 0, 1, { NULL }, "e3b0c44298fc1c149afbf4c8996fb924" },
	{ "length in bytes", 1, 1, { "größer" }, "d7dff23fd60b1e74130943bb0cb5d401" },
};

static void fingerprints(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		str_t cells[4];
		char hex[FINGERPRINT_SIZE];
		for (size_t k = 0; k < COUNT(cells); k++)
			cells[k] = cases[i].cells[k] ? str_from(cases[i].cells[k]) : STR_NONE;
		struct result_set set = { .columns_count = cases[i].columns,
					  .cells = cells,
					  .rows_count = cases[i].rows };
		fingerprint_of(&set, hex);
		if (strcmp(hex, cases[i].expected) != 0)
			fail_msg("%s: %s", cases[i].name, hex);
		set.truncated = true;
		fingerprint_of(&set, hex);
		assert_string_equal(hex, "");
	}
}

static void add_number(struct fingerprint *fingerprint, int number)
{
	char text[16];
	snprintf(text, sizeof text, "%d", number);
	fingerprint_row(fingerprint, &(str_t){ text, strlen(text) }, 1);
}

/* More rows than the sum has bits, whose carries go round, and a text of three digits of length. */
static void row_by_row(void **state)
{
	struct fingerprint fingerprint = { .row = BUF_INIT };
	char hex[FINGERPRINT_SIZE], text[1000];
	(void)state;
	for (int i = 299; i >= 0; i--)
		add_number(&fingerprint, i);
	fingerprint_hex(&fingerprint, hex);
	assert_string_equal(hex, "4cc0519de35456bcba1a4a984577b8d4");
	fingerprint_reset(&fingerprint);
	memset(text, 'x', sizeof text);
	fingerprint_row(&fingerprint, &(str_t){ text, sizeof text }, 1);
	fingerprint_hex(&fingerprint, hex);
	assert_string_equal(hex, "f6b26572a562fadb7e167a2ceac55009");
	fingerprint_reset(&fingerprint);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fingerprints),
		cmocka_unit_test(row_by_row),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
