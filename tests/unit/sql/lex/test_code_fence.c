#include "sql/lex/code_fence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct row {
	const char *given;
	const char *text;
	size_t offset;
	bool wrapped;
};

static const struct row rows[] = {
	{ "SELECT 1", "SELECT 1", 0, false },
	{ "  SELECT 1 ;\n", "SELECT 1", 2, false },
	{ "", "", 0, false },
	{ "```sql\nSELECT 1;\n```", "SELECT 1", 7, true },
	{ "```\nSELECT 1\n```", "SELECT 1", 4, true },
	{ "```SELECT 1```", "SELECT 1", 3, true },
	{ "```postgresql\nSELECT 1", "SELECT 1", 14, true },
	{ "SELECT 1\n```", "SELECT 1", 0, true },
	{ "Sure!\n```sql\nSELECT 1\n```\nThis counts.", "SELECT 1", 13, true },
	{ "`SELECT 1`", "SELECT 1", 1, true },
	{ "Here is the query: SELECT 1", "SELECT 1", 19, true },
	{ "The answer is\n\nWITH a AS (SELECT 1) SELECT 2", "WITH a AS (SELECT 1) SELECT 2", 15, true },
	{ "SELECT 1;\n\nThis query returns one.", "SELECT 1", 0, true },
	/* Two blocks, or a statement in what would be dropped: nothing is hidden. */
	{ "```sql\nSELECT 1\n```\n```sql\nDROP TABLE t\n```",
	  "```sql\nSELECT 1\n```\n```sql\nDROP TABLE t\n```", 0, false },
	{ "SELECT 1;\nDROP TABLE t", "SELECT 1;\nDROP TABLE t", 0, false },
	{ "```sql\nSELECT 1\n```\ndrop table t", "```sql\nSELECT 1\n```\ndrop table t", 0, false },
	{ "SELECT 1\n```\nDROP TABLE t", "SELECT 1\n```\nDROP TABLE t", 0, false },
	{ "SELECT 1;\nAnalyze t;\nI hope this helps", "SELECT 1;\nAnalyze t;\nI hope this helps", 0, false },
	{ "SELECT 1;\nNote; drop table t", "SELECT 1;\nNote; drop table t", 0, false },
	{ "SELECT 1;\nNote /* that", "SELECT 1;\nNote /* that", 0, false },
	{ "SELECT 1;\nNote -- that", "SELECT 1;\nNote -- that", 0, false },
	{ "SELECT 1;\n\\! rm", "SELECT 1;\n\\! rm", 0, false },
	{ "Sure; here:\nSELECT 1", "Sure; here:\nSELECT 1", 0, false },
	{ "With joy:\nSELECT 1", "With joy:\nSELECT 1", 0, false },
	{ "SELECT 1;\nThis is\r(\xEF\xBB\xBF ((drop table t",
	  "SELECT 1;\nThis is\r(\xEF\xBB\xBF ((drop table t", 0, false },
	{ "``` \nprose\nSELECT 1\n```\nWith this, all is one.",
	  "``` \nprose\nSELECT 1\n```\nWith this, all is one.", 0, false },
	/* Prose is no less prose for words that begin statements elsewhere, or inside a line. */
	{ "SELECT 1;\n\nUse it to select and drop.", "SELECT 1", 0, true },
	{ "SELECT 1;\n\n- **With** this;", "SELECT 1", 0, true },
	/* Comments in front of the statement belong to it. */
	{ "Here it is:\n-- one\nSELECT 1", "-- one\nSELECT 1", 12, true },
	{ "```sql\n/* one */ SELECT 1\n```", "/* one */ SELECT 1", 7, true },
};

static void unwraps(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		str_t given = str_from(rows[i].given);
		struct code_fence_result result = code_fence_unwrap(given, SQL_POSTGRESQL);
		if (!str_is(result.text, rows[i].text) || result.offset != rows[i].offset ||
		    result.wrapped != rows[i].wrapped)
			fail_msg("row %zu: \"" STR_FMT "\" at %zu, wrapped %d", i, STR_ARG(result.text),
				 result.offset, result.wrapped);
		assert_ptr_equal(result.text.ptr, given.ptr + result.offset);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(unwraps) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
