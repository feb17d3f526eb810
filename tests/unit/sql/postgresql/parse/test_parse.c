#include "sql/postgresql/parse/parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct row {
	const char *text;
	size_t count;
	const char *error; /* or NULL */
	size_t error_offset;
};

static const struct row rows[] = {
	{ "SELECT 1", 1, NULL, 0 },
	{ "SELECT 1; SELECT 2", 2, NULL, 0 },
	{ "", 0, NULL, 0 },
	{ " -- nothing", 0, NULL, 0 },
	{ "SELECT FROM t WHERE", 0, "syntax error at end of input", 19 },
	{ "SELECT 'abc", 0, "unterminated quoted string at or near \"'abc\"", 7 },
	/* Offsets are bytes, whatever characters stand before. */
	{ "SELECT '\xC3\xA9\xC3\xA9' x y z", 0, "syntax error at or near \"y\"", 16 },
	/* Comments where the grammar looks a word ahead. */
	{ "SELECT a FROM t ORDER BY a NULLS /* at the */ LAST", 1, NULL, 0 },
	{ "SELECT a FROM t WHERE a NOT -- none of\n IN ('--', '/*')", 1, NULL, 0 },
	{ "SELECT * FROM f() WITH /* a /* nested */ one */ ORDINALITY", 1, NULL, 0 },
	{ "SELECT '1'::time WITHOUT /*c*/ TIME ZONE, U&'!0041' /*c*/ UESCAPE '!'", 1, NULL, 0 },
	/* A comment with a line's end in it does not continue a literal; one that ends a line does. */
	{ "SELECT 'a' /*\n*/ 'b'", 0, "syntax error at or near \"'b'\"", 17 },
	{ "SELECT 'a' --\n 'b', NOT /**/ NULL", 1, NULL, 0 },
	{ "SELECT a NULLS /* '", 0, "unterminated /* comment at or near \"/* '\"", 15 },
};

static void parses(void **state)
{
	struct arena *arena = arena_new();
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct parsed_statement parsed;
		parse_begin(str_from(rows[i].text), arena, &parsed);
		assert_int_equal(parsed.count, rows[i].count);
		assert_true((parsed.statement != NULL) == (rows[i].count == 1));
		assert_int_equal(str_present(parsed.error), rows[i].error != NULL);
		if (rows[i].error) {
			assert_string_equal(parsed.error.ptr, rows[i].error);
			assert_int_equal(parsed.error_offset, rows[i].error_offset);
		}
		parse_end(&parsed);
		assert_null(parsed.statement);
		parse_end(&parsed);
	}
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(parses) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
