#include "sql/analysis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_redact(void **state)
{
	static const struct {
		enum sql_dialect dialect;
		const char *sql;
		const char *redacted;
	} cases[] = {
		{ SQL_POSTGRESQL, "SELECT 'it''s', 12.5e3 FROM t1", "SELECT ?, ? FROM t1" },
		{ SQL_POSTGRESQL, "SELECT E'\\'x', $$y$$, $a$ $$ $a$, B'01', U&'z'", "SELECT ?, ?, ?, ?, ?" },
		{ SQL_POSTGRESQL, "SELECT \"a'b\", $1 -- 5 'x'\nLIMIT 10",
		  "SELECT \"a'b\", $1 -- 5 'x'\nLIMIT ?" },
		{ SQL_POSTGRESQL, "SELECT -1, true, NULL", "SELECT -?, true, NULL" },
		{ SQL_POSTGRESQL, "SELECT 1; DELETE FROM t WHERE a = 'x'",
		  "SELECT ?; DELETE FROM t WHERE a = ?" },
		{ SQL_POSTGRESQL, "SELEC 'secret'", "?" },
		{ SQL_POSTGRESQL, "SELECT 'secret", "?" },
		{ SQL_POSTGRESQL, "", "?" },
		{ SQL_SQLITE, "SELECT \"a\", [b c], `d`, 'x', x'00' FROM nowhere WHERE e = 0x1F",
		  "SELECT \"a\", [b c], `d`, ?, ? FROM nowhere WHERE e = ?" },
		{ SQL_SQLITE, "SELECT FROM 'x'", "?" },
		{ SQL_MYSQL, "SELECT \"a\\\"b\", `c` # 'x'\nFROM t WHERE d = 1",
		  "SELECT ?, `c` # 'x'\nFROM t WHERE d = ?" },
		{ SQL_MYSQL, "SELECT 'x", "?" },
		{ SQL_MONGODB, "{\"find\": \"secret\"}", "?" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct arena *arena = arena_new();
		str_t redacted = sql_redact_literals(str_from(cases[i].sql), cases[i].dialect, arena);
		assert_string_equal(redacted.ptr, cases[i].redacted);
		assert_int_equal(redacted.len, strlen(cases[i].redacted));
		arena_free(arena);
	}
}

static void test_absent_stays_absent(void **state)
{
	struct arena *arena = arena_new();
	(void)state;
	assert_false(str_present(sql_redact_literals(STR_NONE, SQL_POSTGRESQL, arena)));
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_redact),
		cmocka_unit_test(test_absent_stays_absent),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
