#include "sql/lex/gate.h"

#include "common/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct repetition {
	const char *name;
	const char *head;
	const char *unit;
	size_t times;
	const char *tail;
	enum gate_verdict verdict;
};

static const struct repetition repetitions[] = {
	{ "nothing", "", "", 0, "", GATE_PASSED },
	{ "as long as may be", "SELECT '", "x", GATE_MAX_BYTES - 9, "'", GATE_PASSED },
	{ "one byte longer", "SELECT '", "x", GATE_MAX_BYTES - 8, "'", GATE_TOO_LONG },
	{ "nested parentheses", "SELECT ", "(", GATE_MAX_NESTING, "1", GATE_PASSED },
	{ "one parenthesis more", "SELECT ", "(", GATE_MAX_NESTING + 1, "1", GATE_TOO_DEEP },
	{ "parentheses side by side", "SELECT ", "(1),", 1600, "1", GATE_PASSED },
	{ "parentheses in a literal", "SELECT '", "(", 1000, "'", GATE_PASSED },
	{ "parentheses in a dollar quote", "SELECT $a$", "(", 1000, "$a$", GATE_PASSED },
	{ "parentheses in an identifier", "SELECT \"", "(", 1000, "\"", GATE_PASSED },
	{ "parentheses in a comment", "SELECT 1 --", "(", 1000, "", GATE_PASSED },
	{ "parentheses behind an escaped quote", "SELECT E'\\'", "(", 1000, "'", GATE_PASSED },
	{ "parentheses behind a backslash", "SELECT '\\'", "(", 1000, "", GATE_TOO_DEEP },
	{ "parentheses behind a continued literal", "SELECT E'a'\n'\\'' ", "(", 1000, "", GATE_TOO_DEEP },
	{ "parentheses behind a plain literal", "SELECT E'a' '", "(", 1000, "", GATE_PASSED },
	{ "brackets", "SELECT a", "[", GATE_MAX_NESTING + 1, "", GATE_TOO_DEEP },
	{ "nested CASE", "SELECT ", "CASE WHEN true THEN ", GATE_MAX_NESTING + 1, "", GATE_TOO_DEEP },
	{ "CASE after CASE", "SELECT 1", ",CASE WHEN true THEN 1 END", 300, "", GATE_PASSED },
	{ "comments nested eight deep", "SELECT 1 ", "/*", GATE_MAX_COMMENT_DEPTH, "", GATE_PASSED },
	{ "comments nested nine deep", "SELECT 1 ", "/*", GATE_MAX_COMMENT_DEPTH + 1, "", GATE_TOO_DEEP },
	{ "just enough links", "SELECT 1", "+1", GATE_MAX_CHAIN - 1, "", GATE_PASSED },
	{ "one link too many", "SELECT 1", "+1", GATE_MAX_CHAIN, "", GATE_TOO_DEEP },
	{ "a sum of calls", "SELECT 1", "+f(1,2)", GATE_MAX_CHAIN, "", GATE_TOO_DEEP },
	{ "signs without space", "SELECT ", "+-", GATE_MAX_CHAIN / 2, "1", GATE_TOO_DEEP },
	{ "fewer signs without space", "SELECT ", "+-", GATE_MAX_CHAIN / 2 - 1, "1", GATE_PASSED },
	{ "NOT", "SELECT ", "NOT ", GATE_MAX_CHAIN - 1, "true", GATE_TOO_DEEP },
	{ "fewer NOT", "SELECT ", "NOT ", GATE_MAX_CHAIN - 2, "true", GATE_PASSED },
	{ "casts", "SELECT 1", "::int", GATE_MAX_CHAIN / 3 + 1, "", GATE_TOO_DEEP },
	{ "fewer casts", "SELECT 1", "::int", GATE_MAX_CHAIN / 3, "", GATE_PASSED },
	{ "subscripts", "SELECT a", "[1]", GATE_MAX_CHAIN, "", GATE_TOO_DEEP },
	{ "fewer subscripts", "SELECT a", "[1]", GATE_MAX_CHAIN - 3, "", GATE_PASSED },
	{ "fields", "SELECT (a)", ".b", GATE_MAX_CHAIN / 2, "", GATE_TOO_DEEP },
	{ "collations", "SELECT a", " COLLATE c", GATE_MAX_CHAIN / 2, "", GATE_TOO_DEEP },
	{ "BETWEEN takes its AND", "SELECT a", " IS NULL BETWEEN 1 AND 2", GATE_MAX_CHAIN / 4, "",
	  GATE_TOO_DEEP },
	{ "sums nested to the left", "SELECT ((((((((((1", "+1+1+1+1+1+1+1+1+1+1)", 10, "", GATE_PASSED },
	{ "longer sums nested to the left", "SELECT ((((((((((1+1+1", "+1+1+1+1+1+1+1+1+1+1)", 110, "",
	  GATE_TOO_DEEP },
	{ "sums in closed brackets", "SELECT 1", "+(1+1+1+1+1+1+1+1)", 200, "", GATE_TOO_DEEP },
	{ "a sum per bracket level", "SELECT ((((((((1", "+1+1+1+1+1+1+1+1+1+1)", 8, "+1", GATE_PASSED },
	{ "joins", "SELECT 1 FROM t", " JOIN t ON true", GATE_MAX_SPINE, "", GATE_PASSED },
	{ "one join more", "SELECT 1 FROM t", " JOIN t ON true", GATE_MAX_SPINE + 1, "", GATE_TOO_DEEP },
	{ "set operations", "SELECT 1,2", " UNION SELECT 1,2", GATE_MAX_SPINE, "", GATE_PASSED },
	{ "one set operation more", "SELECT 1", " UNION SELECT 1", GATE_MAX_SPINE + 1, "", GATE_TOO_DEEP },
	{ "TABLE", "TABLE t", " INTERSECT TABLE t", GATE_MAX_SPINE + 1, "", GATE_TOO_DEEP },
	{ "subqueries", "SELECT 1", ",(SELECT 1)", GATE_MAX_SELECTS - 1, "", GATE_PASSED },
	{ "one subquery more", "SELECT 1", ",(SELECT 1)", GATE_MAX_SELECTS, "", GATE_TOO_DEEP },
	{ "WITH", "WITH a AS (SELECT 1)", ",b AS (SELECT 1)", GATE_MAX_SELECTS, "SELECT 1", GATE_TOO_DEEP },
	{ "a long select list", "SELECT 1", ",1", GATE_MAX_LIST, "", GATE_PASSED },
	{ "a longer select list", "SELECT 1", ",1", GATE_MAX_LIST + 1, "", GATE_TOO_LONG },
	{ "a long row of VALUES", "VALUES (1", ",1", GATE_MAX_LIST + 1, ")", GATE_TOO_LONG },
	{ "300 columns", "SELECT a", ",t.a AS b", 299, " FROM t", GATE_PASSED },
	{ "10,000 numbers in a list", "SELECT a FROM t WHERE b IN (10000", ",99999", 9999, ") ORDER BY a",
	  GATE_PASSED },
	{ "too many words", "SELECT a FROM t WHERE b IN (1", ",1", GATE_MAX_TOKENS / 2, ")", GATE_TOO_LONG },
	{ "a long disjunction", "SELECT true", " OR a = 1", 2000, "", GATE_PASSED },
	{ "a long conjunction of ranges", "SELECT true", " AND a BETWEEN 1 AND 2", 500, "", GATE_PASSED },
	{ "a CASE of 200 branches", "SELECT CASE", " WHEN lower(t.a) LIKE 'x%' AND b > 1 + 2 THEN upper('y')",
	  200, " ELSE 'z' END", GATE_PASSED },
	{ "comments", "SELECT 1", "/* x */\n", 5000, "", GATE_PASSED },
	{ "comments in a row", "SELECT 1", "/**/", 16000, "", GATE_TOO_DEEP },
	{ "lines of stars", "SELECT 1",
	  "/*****************************************************************/\n", 400, "", GATE_PASSED },
};

static void bounds(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof repetitions / sizeof *repetitions; i++) {
		const struct repetition *row = &repetitions[i];
		struct buf buf = BUF_INIT;
		buf_append_text(&buf, row->head);
		for (size_t n = 0; n < row->times; n++)
			buf_append_text(&buf, row->unit);
		buf_append_text(&buf, row->tail);
		struct gate_result result = gate_check(buf_str(&buf));
		if (result.verdict != row->verdict)
			fail_msg("%s: verdict %d, not %d", row->name, result.verdict, row->verdict);
		assert_true(result.verdict == GATE_PASSED ? result.reason == NULL : result.reason != NULL);
		buf_free(&buf);
	}
}

struct bytes {
	str_t text;
	enum gate_verdict verdict;
	size_t offset;
};

static const struct bytes encodings[] = {
	{ { "SELECT 'caf\xC3\xA9'", 14 }, GATE_PASSED, 0 },
	{ { "SELECT '\xF0\x9F\x98\x80'", 13 }, GATE_PASSED, 0 },
	{ { "a\0b", 3 }, GATE_NUL, 1 },
	{ { "ab\xFF", 3 }, GATE_ENCODING, 2 },
	{ { "\xC0\xAF", 2 }, GATE_ENCODING, 0 },     /* overlong */
	{ { "\xE0\x80\xAF", 3 }, GATE_ENCODING, 0 }, /* overlong */
	{ { "\xED\xA0\x80", 3 }, GATE_ENCODING, 0 }, /* surrogate */
	{ { "\xF4\x90\x80\x80", 4 }, GATE_ENCODING, 0 },
	{ { "a\xC3", 2 }, GATE_ENCODING, 1 }, /* cut off */
	{ { "\xE2\x82(", 3 }, GATE_ENCODING, 0 },
};

static void encoding(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof encodings / sizeof *encodings; i++) {
		struct gate_result result = gate_check(encodings[i].text);
		assert_int_equal(result.verdict, encodings[i].verdict);
		assert_int_equal(result.offset, encodings[i].offset);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(bounds), cmocka_unit_test(encoding) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
