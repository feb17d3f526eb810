/*
 * Queries that grow while they are planned, and functions below barred views.
 */
#include "common/buf.h"
#include "common/clock.h"
#include "sql/dialects.h"
#include "sql/findings/analysis.h"
#include "tests/unit/sql/catalog_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])
#define MAX_MS	     10000 /* of the processor; generous: sanitizers */

DEFINE_CLEANUP(struct arena, arena_scope, arena_free)

static const char schema[] = "CREATE TABLE t (a integer, b integer);"
			     "CREATE VIEW v1 AS SELECT a + a AS a, b FROM t;"
			     "CREATE VIEW v2 (a) AS SELECT v1.a + v1.a + v1.a + v1.a + v1.a + v1.a + v1.a + "
			     "v1.a + v1.a + v1.a FROM v1;"
			     "CREATE VIEW v3 AS SELECT a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a AS z FROM v2;"
			     "CREATE VIEW v4 AS SELECT z+z+z+z+z+z+z+z+z+z+z+z+z+z+z+z+z+z+z+z AS z FROM v3;"
			     "CREATE VIEW v5 AS SELECT z+z+z+z+z+z+z+z+z+z+z+z+z+z+z+z+z+z+z+z AS z FROM v4;";

static int load_catalog(void **state)
{
	(void)state;
	return compile_catalog(schema);
}

/* Of this thread: the machine may be busy. */
static int64_t cpu_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* Whether the statement is refused for `code`; NULL: for anything. */
static bool refused(str_t sql, const char *code)
{
	_cleanup_(arena_scope) struct arena *arena = arena_new();
	struct sql_request request = {
		.sql = sql, .dialect = SQL_POSTGRESQL, .target_named = true, .catalog = catalog
	};
	struct sql_analysis analysis = { 0 };
	int64_t start_ms = cpu_ms();
	sql_analyse(&request, arena, &analysis);
	assert_true(cpu_ms() - start_ms < MAX_MS);
	bool found = false;
	for (size_t i = 0; i < analysis.violations_count; i++) {
		found = found || !code || strcmp(analysis.violations[i].code, code) == 0;
		if (!code)
			print_error("%s " STR_FMT "\n", analysis.violations[i].code,
				    STR_ARG(analysis.violations[i].detail));
	}
	return found;
}

/* WITH queries on top of each other: `each` is the text of level n, where `@` stands for n and `#` for the
 * level below. Level 0 is `first`. */
struct chain {
	const char *first;
	const char *each;
	const char *last;
	int levels;
	bool bomb;
};

static void append_level(struct buf *sql, const char *text, int level)
{
	for (; *text; text++)
		if (*text == '@' || *text == '#')
			buf_printf(sql, "q%d", *text == '@' ? level : level - 1);
		else
			buf_append(sql, text, 1);
}

static void test_chains(void **state)
{
	static const struct chain chains[] = {
		{ "q0 AS (SELECT a, b FROM t)", "@ AS (SELECT a + a AS a FROM #)", "SELECT a FROM #", 22,
		  true },
		{ "q0 AS (SELECT a, b FROM t)", "@ AS (SELECT a + a AS a FROM #)", "SELECT a FROM #", 10,
		  false },
		{ "q0 AS (SELECT a, b FROM t)", "@ AS (SELECT a + b AS a, a - b AS b FROM #)",
		  "SELECT a FROM # WHERE a > b", 22, true },
		{ "q0 AS (SELECT a, b FROM t)", "@ (a) AS (SELECT x.a + x.a FROM # x)", "SELECT * FROM #", 22,
		  true },
		{ "q0 AS (SELECT a, b FROM t)",
		  "@ AS (SELECT *, a + a AS c FROM (SELECT c + c AS a FROM # s (c)) s)", "SELECT c FROM #",
		  22, true },
		{ "q0 AS (SELECT a, b FROM t)",
		  "@ AS (SELECT coalesce(s.a, s.a) AS a FROM (SELECT * FROM #) s)", "SELECT a FROM #", 22,
		  true },
		{ "q0 AS (SELECT a, b FROM t)",
		  "@ AS (SELECT row_to_json(#)::text || row_to_json(#)::text AS a FROM #)", "SELECT a FROM #",
		  22, true },
		{ "q0 AS (SELECT a, b FROM t)", "@ AS (SELECT DISTINCT a + a AS a FROM #)",
		  "SELECT a FROM # WHERE a > 1", 22, true },
		{ "q0 AS (SELECT a, b FROM t)", "@ AS (SELECT (SELECT # .a + # .a) AS a FROM #)",
		  "SELECT a FROM #", 22, true },
		{ "q0 AS (SELECT a, b FROM t)", "@ AS MATERIALIZED (SELECT a + a AS a FROM #)",
		  "SELECT a FROM #", 22, false },
		{ "q0 AS (SELECT a, b FROM t)", "@ AS (SELECT a + a AS a FROM # LIMIT 10)", "SELECT a FROM #",
		  22, false },
		{ "q0 AS (SELECT a, b FROM t)", "@ AS (SELECT sum(a) + sum(a) AS a FROM #)",
		  "SELECT a FROM #", 22, false },
		{ "q0 AS NOT MATERIALIZED (SELECT 1 AS x FROM t)",
		  "@ AS NOT MATERIALIZED (SELECT 1 AS x FROM # p, # q)", "SELECT 1 FROM #", 12, true },
		{ "q0 AS NOT MATERIALIZED (SELECT a FROM t)",
		  "@ AS NOT MATERIALIZED (SELECT a FROM # UNION ALL SELECT a FROM #)", "SELECT 1 FROM #", 12,
		  true },
		{ "q0 AS (SELECT 1 AS x FROM t)", "@ AS (SELECT p.x + q.x AS x FROM # p JOIN # q USING (x))",
		  "SELECT x FROM #", 30, false },
		{ "q0 AS (SELECT a, b FROM t)",
		  "@ AS (SELECT a, b, a - b AS d, sum(b) OVER (PARTITION BY a) AS s FROM # WHERE a > 0)",
		  "SELECT a, d, s FROM #", 20, false },
		{ "q0 AS (SELECT a, b FROM t)",
		  "@ AS (SELECT a, CASE WHEN b > 10 THEN b - 1 ELSE b END AS b FROM # GROUP BY a, b)",
		  "SELECT a, b FROM #", 10, false },
	};
	(void)state;
	unsigned wrong = 0;
	for (size_t i = 0; i < COUNT(chains); i++) {
		_cleanup_(buf_free) struct buf sql = BUF_INIT;
		buf_append_text(&sql, "WITH ");
		append_level(&sql, chains[i].first, 0);
		for (int level = 1; level <= chains[i].levels; level++) {
			buf_append_text(&sql, ", ");
			append_level(&sql, chains[i].each, level);
		}
		buf_append_text(&sql, " ");
		append_level(&sql, chains[i].last, chains[i].levels + 1);
		if (refused(buf_str(&sql), chains[i].bomb ? "resource_bomb" : NULL) == chains[i].bomb)
			continue;
		print_error("%s: expected %d\n", chains[i].each, chains[i].bomb);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

static void test_nested(void **state)
{
	_cleanup_(buf_free) struct buf sql = BUF_INIT;
	(void)state;
	buf_append_text(&sql, "EXPLAIN SELECT a FROM ");
	for (int level = 0; level < 22; level++)
		buf_append_text(&sql, "(SELECT a + a AS a FROM ");
	buf_append_text(&sql, "t");
	for (int level = 0; level < 22; level++)
		buf_append_text(&sql, ") s");
	assert_true(refused(buf_str(&sql), "resource_bomb"));
}

static void test_lateral(void **state)
{
	_cleanup_(buf_free) struct buf sql = BUF_INIT;
	_cleanup_(buf_free) struct buf values = BUF_INIT;
	(void)state;
	buf_append_text(&sql, "SELECT 1 FROM t x0");
	buf_append_text(&values, "SELECT 1 FROM t x0");
	for (int i = 1; i <= 22; i++) {
		buf_printf(&sql, ", LATERAL (SELECT x%d.a + x%d.a AS a) x%d", i - 1, i - 1, i);
		buf_printf(&values, ", LATERAL (VALUES (x%d.a + x%d.a)) x%d (a)", i - 1, i - 1, i);
	}
	assert_true(refused(buf_str(&sql), "resource_bomb"));
	assert_true(refused(buf_str(&values), "resource_bomb"));
}

static void test_views(void **state)
{
	(void)state;
	assert_false(refused(STR("SELECT z FROM v4"), NULL));
	assert_true(refused(STR("SELECT z FROM v5"), "resource_bomb"));
}

static void test_names(void **state)
{
	static const struct {
		const char *sql;
		const char *code;
	} attacks[] = {
		{ "SELECT * FROM pg_stat_get_activity(NULL)", "system_catalog" },
		{ "SELECT pg_stat_get_backend_client_addr(1)", "system_catalog" },
		{ "SELECT * FROM pg_stat_get_wal_senders()", "system_catalog" },
		{ "SELECT * FROM pg_cursor()", "system_catalog" },
		{ "SELECT * FROM pg_prepared_statement()", "system_catalog" },
		{ "SELECT * FROM pg_get_replication_slots()", "system_catalog" },
		{ "SELECT * FROM pg_stat_get_subscription(NULL)", "system_catalog" },
		{ "SELECT * FROM pg_available_extensions()", "file_access" },
		{ "SELECT * FROM pg_available_extension_versions()", "file_access" },
		{ "SELECT * FROM pg_extension_update_paths('x')", "file_access" },
		{ "SELECT pg_tablespace_location(1663)", "file_access" },
		{ "SELECT pg_tablespace_databases(1663)", "file_access" },
		{ "SELECT * FROM pg_timezone_names()", "file_access" },
		{ "SELECT most_common_vals FROM pg_stats", "system_catalog" },
		{ "SELECT * FROM pg_catalog.pg_stats_ext", "system_catalog" },
		{ "SELECT * FROM pg_stats_ext_exprs", "system_catalog" },
		{ "SELECT jsonb_path_query_array('[[1]]'::jsonb, '$.**.**')", "resource_bomb" },
		{ "SELECT jsonb_path_exists('[[1]]', '$.**' || '.**')", "resource_bomb" },
		{ "SELECT '[[1]]'::jsonb @? '$.** . **{2}'", "resource_bomb" },
		{ "SELECT '[[1]]'::jsonb @@ '$.**.** == 1'", "resource_bomb" },
		{ "WITH p AS (SELECT '$.**.**'::jsonpath AS p) SELECT 1 FROM p", "resource_bomb" },
	};
	(void)state;
	assert_false(
		refused(STR("SELECT jsonb_path_query_array('[[1]]'::jsonb, '$.**.a[*] ? (@ > 1)')"), NULL));
	for (size_t i = 0; i < COUNT(attacks); i++)
		if (!refused(str_from(attacks[i].sql), attacks[i].code))
			fail_msg("%s", attacks[i].sql);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chains), cmocka_unit_test(test_nested), cmocka_unit_test(test_lateral),
		cmocka_unit_test(test_views),  cmocka_unit_test(test_names),
	};
	return cmocka_run_group_tests(tests, load_catalog, drop_catalog);
}
