/*
 * The limits of what a text may ask for are those of every dialect: just below, and at, each of them.
 */
#include "sql/dialects.h"
#include "sql/findings/analysis.h"

#include "common/buf.h"
#include "sql/query/bomb_limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static bool is_bomb(const char *sql, enum sql_dialect dialect)
{
	struct arena *arena = arena_new();
	struct sql_request request = { .sql = str_from(sql), .dialect = dialect };
	struct sql_analysis analysis;
	bool found = false;
	sql_analyse(&request, arena, &analysis);
	if (!analysis.valid)
		fail_msg("%s", sql);
	for (size_t i = 0; i < analysis.violations_count; i++)
		found = found || strcmp(analysis.violations[i].code, "resource_bomb") == 0;
	arena_free(arena);
	return found;
}

static void check(const char *const parts[2], double number, enum sql_dialect dialect, bool bomb)
{
	char sql[4096];
	(void)snprintf(sql, sizeof sql, "%s%.0f%s", parts[0], number, parts[1]);
	if (is_bomb(sql, dialect) != bomb)
		fail_msg("%d: %s", (int)dialect, sql);
}

/* Tables of ten rows that the text holds, multiplied. */
static void products(void **state)
{
	static const enum sql_dialect dialects[] = { SQL_MYSQL, SQL_SQLITE };
	(void)state;
	for (size_t d = 0; d < COUNT(dialects); d++) {
		double rows = 1;
		struct buf sql = BUF_INIT;
		buf_append_text(&sql, "SELECT count(*) FROM ");
		for (unsigned tables = 0; tables < 9; tables++, rows *= 10) {
			if (tables > 0)
				assert_int_equal(is_bomb(sql.data, dialects[d]), rows >= BOMB_QUERY_ROWS);
			buf_printf(&sql, "%s(SELECT 1 AS n", tables ? ", " : "");
			for (unsigned row = 1; row < 10; row++)
				buf_append_text(&sql, " UNION ALL SELECT 1");
			buf_printf(&sql, ") t%u", tables);
		}
		buf_free(&sql);
	}
}

static void limits(void **state)
{
	static const struct {
		enum sql_dialect dialect;
		const char *parts[2]; /* before and behind a number */
		double limit;
	} cases[] = {
#define RECURSION                                                                                            \
	"WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < ",                         \
		") SELECT count(*) FROM r"
		{ SQL_POSTGRESQL, { RECURSION }, BOMB_CALL_ROWS },
		{ SQL_MYSQL, { RECURSION }, BOMB_CALL_ROWS },
		{ SQL_SQLITE, { RECURSION }, BOMB_CALL_ROWS },
		{ SQL_POSTGRESQL, { "SELECT count(*) FROM generate_series(1, ", ")" }, BOMB_CALL_ROWS },
		{ SQL_MYSQL, { "SELECT count(*) FROM seq_0_to_", "" }, BOMB_CALL_ROWS },
		{ SQL_POSTGRESQL, { "SELECT repeat('x', ", ")" }, BOMB_CALL_BYTES },
		{ SQL_MYSQL, { "SELECT space(", ")" }, BOMB_CALL_BYTES },
		{ SQL_SQLITE, { "SELECT zeroblob(", ")" }, BOMB_CALL_BYTES },
		{ SQL_POSTGRESQL,
		  { "SELECT count(*) FROM generate_series(1, 100) a, generate_series(1, 100) b, "
		    "generate_series(1, ",
		    ") c" },
		  BOMB_QUERY_ROWS / 1e4 },
		{ SQL_MYSQL,
		  { "SELECT count(*) FROM seq_1_to_101 a, seq_1_to_101 b, seq_0_to_", " c" },
		  BOMB_QUERY_ROWS / 1e4 },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		check(cases[i].parts, cases[i].limit * 0.99, cases[i].dialect, false);
		check(cases[i].parts, cases[i].limit, cases[i].dialect, true);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(products), cmocka_unit_test(limits) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
