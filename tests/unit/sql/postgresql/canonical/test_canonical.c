/*
 * Canonical form, clause items, base tables and order keys of PostgreSQL statements, by the text alone.
 */
#include "common/buf.h"
#include "sql/dialects.h"
#include "sql/findings/analysis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

DEFINE_CLEANUP(struct arena, arena_scope, arena_free)

static struct sql_analysis analyse(const char *sql, struct arena *arena)
{
	struct sql_request request = { .sql = arena_text(arena, sql, strlen(sql)),
				       .dialect = SQL_POSTGRESQL };
	struct sql_analysis analysis = { 0 };
	sql_analyse(&request, arena, &analysis);
	return analysis;
}

struct pair {
	const char *a;
	const char *b;
};

static unsigned count_wrong(const struct pair *pairs, size_t count, bool equal)
{
	unsigned wrong = 0;
	for (size_t i = 0; i < count; i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_analysis a = analyse(pairs[i].a, arena);
		struct sql_analysis b = analyse(pairs[i].b, arena);
		if (str_present(a.canonical) && a.canonical.len > 0 &&
		    str_equal(a.canonical, b.canonical) == equal)
			continue;
		print_error("%s\n%s\n  " STR_FMT "\n  " STR_FMT "\n", pairs[i].a, pairs[i].b,
			    STR_ARG(a.canonical), STR_ARG(b.canonical));
		wrong++;
	}
	return wrong;
}

static void test_equal_pairs(void **state)
{
	static const struct pair pairs[] = {
		{ "SELECT name FROM users", "select  NAME\nfrom Users -- all" },
		{ "SELECT name FROM users", "SELECT u.name FROM users AS u" },
		{ "SELECT name FROM users", "SELECT users.name AS n FROM public.users" },
		{ "SELECT name FROM users", "(SELECT (name) FROM users);" },
		{ "SELECT a FROM t WHERE b = 1 AND c = 2", "SELECT a FROM t WHERE c = 2 AND b = 1" },
		{ "SELECT a FROM t WHERE b = 1 AND (c = 2 AND d = 3)",
		  "SELECT a FROM t WHERE (d = 3 AND b = 1) AND c = 2" },
		{ "SELECT a FROM t WHERE b = 1 OR c = 2 OR d = 3",
		  "SELECT a FROM t WHERE d = 3 OR (c = 2 OR b = 1)" },
		{ "SELECT a FROM t WHERE b = 1 AND b = 1", "SELECT a FROM t WHERE b = 1" },
		{ "SELECT a FROM t WHERE 1 = b", "SELECT a FROM t WHERE b = 1" },
		{ "SELECT a FROM t WHERE b > 1", "SELECT a FROM t WHERE 1 < b" },
		{ "SELECT a FROM t WHERE b >= 1", "SELECT a FROM t WHERE 1 <= b" },
		{ "SELECT a FROM t WHERE b != 1", "SELECT a FROM t WHERE b <> 1" },
		{ "SELECT a FROM t WHERE NOT b = 1", "SELECT a FROM t WHERE b <> 1" },
		{ "SELECT a FROM t WHERE NOT (b < 1)", "SELECT a FROM t WHERE b >= 1" },
		{ "SELECT a FROM t WHERE NOT NOT b", "SELECT a FROM t WHERE b" },
		{ "SELECT a FROM t WHERE b BETWEEN 1 AND 2", "SELECT a FROM t WHERE b <= 2 AND b >= 1" },
		{ "SELECT a FROM t WHERE b NOT BETWEEN 1 AND 2", "SELECT a FROM t WHERE b < 1 OR b > 2" },
		{ "SELECT a FROM t WHERE c = 3 OR b BETWEEN 1 AND 2",
		  "SELECT a FROM t WHERE (2 >= b AND b >= 1) OR c = 3" },
		{ "SELECT a FROM t WHERE b IN (1, 2, 3)", "SELECT a FROM t WHERE b IN (3, 2, 1, 1)" },
		{ "SELECT a FROM t WHERE b IN (1)", "SELECT a FROM t WHERE b = 1" },
		{ "SELECT a FROM t WHERE b NOT IN (1, 2)", "SELECT a FROM t WHERE NOT b IN (2, 1)" },
		{ "SELECT a + b FROM t", "SELECT b + a FROM t" },
		{ "SELECT a FROM t GROUP BY a, b", "SELECT a FROM t GROUP BY b, a" },
		{ "SELECT a FROM t ORDER BY a", "SELECT a AS x FROM t ORDER BY 1" },
		{ "SELECT a FROM t ORDER BY a", "SELECT a AS x FROM t ORDER BY x ASC NULLS LAST" },
		{ "SELECT a FROM t ORDER BY a DESC", "SELECT a FROM t ORDER BY t.a DESC NULLS FIRST" },
		{ "SELECT a, count(*) FROM t GROUP BY 1", "SELECT a, count(*) FROM t GROUP BY a" },
		{ "SELECT count(1) FROM t", "SELECT count(*) FROM t" },
		{ "SELECT a FROM t LIMIT ALL", "SELECT a FROM t" },
		{ "SELECT a FROM t LIMIT 5", "SELECT a FROM t FETCH FIRST 5 ROWS ONLY" },
		{ "SELECT a::text FROM t", "SELECT CAST(a AS text) FROM t" },
		{ "SELECT '1'::integer", "SELECT CAST('1' AS int4)" },
		{ "SELECT DATE '2020-01-01'", "SELECT '2020-01-01'::date" },
		{ "SELECT u.a FROM users u JOIN orders o ON u.id = o.uid",
		  "SELECT u.a FROM users u, orders o WHERE o.uid = u.id" },
		{ "SELECT u.a FROM users u JOIN orders o ON u.id = o.uid",
		  "SELECT x.a FROM orders y INNER JOIN users x ON y.uid = x.id" },
		{ "SELECT u.a FROM users u JOIN orders o USING (id)",
		  "SELECT u.a FROM users u JOIN orders o ON u.id = o.id" },
		{ "SELECT u.a FROM users u CROSS JOIN orders o", "SELECT u.a FROM orders o, users u" },
		{ "SELECT u.a FROM users u LEFT JOIN orders o ON u.id = o.uid",
		  "SELECT u.a FROM orders o RIGHT OUTER JOIN users u ON o.uid = u.id" },
		{ "SELECT a.x FROM a JOIN b ON a.i = b.i JOIN c ON b.j = c.j",
		  "SELECT a.x FROM c, b, a WHERE a.i = b.i AND b.j = c.j" },
		{ "SELECT s.x FROM (SELECT a AS x FROM t) s", "SELECT q.y FROM (SELECT a AS y FROM t) q" },
		{ "SELECT s.x FROM (SELECT a AS x FROM t) s",
		  "WITH s AS (SELECT a AS x FROM t) SELECT x FROM s" },
		{ "SELECT s.x FROM (SELECT a AS x FROM t) s",
		  "WITH w(z) AS (SELECT a FROM t), unused AS (SELECT 1) SELECT w.z FROM w" },
		{ "SELECT 1 UNION SELECT 2", "SELECT 2 UNION SELECT 1" },
		{ "SELECT a AS x FROM t UNION SELECT b FROM u ORDER BY x",
		  "SELECT a FROM t UNION SELECT b FROM u ORDER BY 1" },
		{ "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.i = t.i)",
		  "SELECT a FROM t WHERE EXISTS (SELECT * FROM u x WHERE t.i = x.i)" },
		{ "SELECT a FROM t WHERE b IN (SELECT u.i FROM u)",
		  "SELECT a FROM t WHERE b IN (SELECT x.i FROM u x)" },
		{ "SELECT sum(a) OVER w FROM t WINDOW w AS (PARTITION BY b)",
		  "SELECT sum(a) OVER (PARTITION BY b) FROM t" },
		{ "SELECT a FROM t1 x, t1 y WHERE x.i = y.j",
		  "SELECT a FROM t1 AS p JOIN t1 AS q ON q.j = p.i" },
		{ "VALUES (1), (2)", "VALUES (2), (1)" },
		{ "SELECT pg_catalog.lower(a) FROM t", "SELECT lower(a) FROM t" },
		{ "SELECT CASE WHEN a THEN 1 END FROM t", "SELECT CASE WHEN a THEN 1 ELSE NULL END FROM t" },
		{ "SHOW server_version", "show  SERVER_VERSION;" },
	};
	(void)state;
	assert_int_equal(count_wrong(pairs, COUNT(pairs), true), 0);
}

static const struct pair unequal_pairs[] = {
	{ "SELECT a FROM t", "SELECT b FROM t" },
	{ "SELECT a FROM t", "SELECT a FROM u" },
	{ "SELECT a FROM t", "SELECT DISTINCT a FROM t" },
	{ "SELECT a, b FROM t", "SELECT b, a FROM t" },
	{ "SELECT a FROM s.t", "SELECT a FROM t" },
	{ "SELECT a FROM t", "SELECT a FROM \"T\"" },
	{ "SELECT a FROM t", "SELECT \"A\" FROM t" },
	{ "SELECT a FROM t WHERE b = 1 AND c = 2 OR d = 3",
	  "SELECT a FROM t WHERE b = 1 AND (c = 2 OR d = 3)" },
	{ "SELECT a FROM t WHERE b = 1", "SELECT a FROM t WHERE b = '1'" },
	{ "SELECT a FROM t WHERE b = 1", "SELECT a FROM t WHERE b = 1.0" },
	{ "SELECT a FROM t WHERE b > 1", "SELECT a FROM t WHERE b < 1" },
	{ "SELECT a FROM t WHERE b > 1", "SELECT a FROM t WHERE b >= 1" },
	{ "SELECT a - b FROM t", "SELECT b - a FROM t" },
	{ "SELECT a || b FROM t", "SELECT b || a FROM t" },
	{ "SELECT GREATEST(a, b) FROM t", "SELECT GREATEST(b, a) FROM t" },
	{ "SELECT a FROM t WHERE b IN (1, 2)", "SELECT a FROM t WHERE b NOT IN (1, 2)" },
	{ "SELECT a FROM t WHERE b IN (1, 2)", "SELECT a FROM t WHERE b IN (1, 3)" },
	{ "SELECT a FROM t WHERE b LIKE 'x'", "SELECT a FROM t WHERE b ILIKE 'x'" },
	{ "SELECT a FROM t WHERE b LIKE 'x'", "SELECT a FROM t WHERE b NOT LIKE 'x'" },
	{ "SELECT a FROM t WHERE b IS NULL", "SELECT a FROM t WHERE b IS NOT NULL" },
	{ "SELECT a FROM t WHERE random() BETWEEN 0.1 AND 0.2",
	  "SELECT a FROM t WHERE random() >= 0.1 AND random() <= 0.2" },
	{ "SELECT a FROM t ORDER BY a", "SELECT a FROM t ORDER BY a DESC" },
	{ "SELECT a FROM t ORDER BY a, b", "SELECT a FROM t ORDER BY b, a" },
	{ "SELECT a FROM t ORDER BY a", "SELECT a FROM t ORDER BY a NULLS FIRST" },
	{ "SELECT a FROM t", "SELECT a FROM t ORDER BY a" },
	{ "SELECT a FROM t LIMIT 1", "SELECT a FROM t LIMIT 2" },
	{ "SELECT a FROM t LIMIT 1", "SELECT a FROM t OFFSET 1" },
	{ "SELECT a FROM t ORDER BY a FETCH FIRST 1 ROWS ONLY",
	  "SELECT a FROM t ORDER BY a FETCH FIRST 1 ROWS WITH TIES" },
	{ "SELECT count(a) FROM t", "SELECT count(*) FROM t" },
	{ "SELECT count(a) FROM t", "SELECT count(DISTINCT a) FROM t" },
	{ "SELECT count(NULL) FROM t", "SELECT count(*) FROM t" },
	{ "SELECT a FROM t GROUP BY a", "SELECT a FROM t GROUP BY a, b" },
	{ "SELECT a FROM t GROUP BY ROLLUP (a, b)", "SELECT a FROM t GROUP BY ROLLUP (b, a)" },
	{ "SELECT a FROM t GROUP BY CUBE (a, b)", "SELECT a FROM t GROUP BY ROLLUP (a, b)" },
	{ "SELECT a FROM t GROUP BY CUBE (a, b)", "SELECT a FROM t GROUP BY CUBE (a, b), CUBE (a, b)" },
	{ "SELECT a FROM t GROUP BY GROUPING SETS ((a), (a))",
	  "SELECT a FROM t GROUP BY GROUPING SETS ((a))" },
	{ "SELECT a FROM t HAVING count(*) > 1", "SELECT a FROM t WHERE count(*) > 1" },
	{ "SELECT u.a FROM u LEFT JOIN o ON u.i = o.i", "SELECT u.a FROM u JOIN o ON u.i = o.i" },
	{ "SELECT u.a FROM u LEFT JOIN o ON u.i = o.i", "SELECT u.a FROM o LEFT JOIN u ON u.i = o.i" },
	{ "SELECT u.a FROM u LEFT JOIN o ON u.i = o.i AND o.b = 1",
	  "SELECT u.a FROM u LEFT JOIN o ON u.i = o.i WHERE o.b = 1" },
	{ "SELECT u.a FROM u FULL JOIN o ON u.i = o.i", "SELECT u.a FROM u LEFT JOIN o ON u.i = o.i" },
	{ "SELECT * FROM a, b", "SELECT * FROM b, a" },
	{ "SELECT * FROM a JOIN b USING (i)", "SELECT * FROM a JOIN b ON a.i = b.i" },
	{ "SELECT x.a FROM t x, t y WHERE x.i = 1", "SELECT x.a FROM t x, t y WHERE y.i = 1" },
	{ "SELECT s.x FROM (SELECT a AS x, b AS y FROM t) s",
	  "SELECT s.x FROM (SELECT a AS y, b AS x FROM t) s" },
	{ "SELECT x FROM (SELECT * FROM (SELECT a AS x, b AS y FROM t) q) s",
	  "SELECT x FROM (SELECT * FROM (SELECT a AS y, b AS x FROM t) q) s" },
	{ "SELECT row_to_json(s) FROM (SELECT a AS x FROM t) s",
	  "SELECT row_to_json(s) FROM (SELECT a AS y FROM t) s" },
	{ "SELECT x FROM t, (SELECT a AS x, b AS y FROM u) s",
	  "SELECT x FROM t, (SELECT a AS y, b AS x FROM u) s" },
	{ "SELECT a FROM t UNION SELECT b FROM u", "SELECT a FROM t UNION ALL SELECT b FROM u" },
	{ "SELECT a FROM t EXCEPT SELECT b FROM u", "SELECT b FROM u EXCEPT SELECT a FROM t" },
	{ "SELECT 1 UNION (SELECT 2 UNION ALL SELECT 2)", "SELECT 1 UNION ALL (SELECT 2 UNION SELECT 2)" },
	{ "(SELECT a FROM t LIMIT 1) UNION ALL SELECT b FROM u",
	  "SELECT a FROM t UNION ALL SELECT b FROM u LIMIT 1" },
	{ "SELECT a FROM t WHERE b IN (SELECT i FROM u)",
	  "SELECT a FROM t WHERE b NOT IN (SELECT i FROM u)" },
	{ "SELECT a FROM t WHERE b = ANY (SELECT i FROM u)",
	  "SELECT a FROM t WHERE b = ALL (SELECT i FROM u)" },
	{ "SELECT a FROM t WHERE b IN (SELECT u.i FROM u)",
	  "SELECT a FROM t WHERE b IN (SELECT t.i FROM u)" },
	{ "SELECT a FROM t WHERE EXISTS (SELECT count(*) FROM u WHERE false)",
	  "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE false)" },
	{ "SELECT sum(a) OVER (PARTITION BY b) FROM t", "SELECT sum(a) OVER (ORDER BY b) FROM t" },
	{ "SELECT sum(a) OVER (ORDER BY b ROWS 1 PRECEDING) FROM t",
	  "SELECT sum(a) OVER (ORDER BY b RANGE 1 PRECEDING) FROM t" },
	{ "SELECT sum(a) FILTER (WHERE b) FROM t", "SELECT sum(a) FROM t" },
	{ "SELECT string_agg(a, ',' ORDER BY a) FROM t", "SELECT string_agg(a, ',' ORDER BY a DESC) FROM t" },
	{ "SELECT '2020-01-01'::date", "SELECT '2020-01-01'::timestamp" },
	{ "SELECT 'a,b'", "SELECT 'a', 'b'" },
	{ "SELECT 'it''s'", "SELECT 'its'" },
	{ "SELECT date_trunc('month', d) AS m FROM t GROUP BY m",
	  "SELECT date_trunc('month', d) AS x FROM t GROUP BY t.m" },
	{ "SELECT DISTINCT ON (a) a, b FROM t", "SELECT DISTINCT ON (b) a, b FROM t" },
	{ "SELECT a FROM ONLY t", "SELECT a FROM t" },
	{ "SELECT g FROM generate_series(1, 2) g", "SELECT g FROM generate_series(1, 3) g" },
	{ "SELECT a FROM t TABLESAMPLE system (1)", "SELECT a FROM t" },
	{ "WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT n FROM "
	  "r",
	  "WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 2 FROM r WHERE n < 3) SELECT n FROM "
	  "r" },
	{ "WITH x AS (SELECT random() r) SELECT a.r FROM x a, x b",
	  "SELECT a.r FROM (SELECT random() r) a, (SELECT random() r) b" },
	{ "SELECT xmlelement(NAME a)", "SELECT xmlelement(NAME b)" },
	{ "SELECT u.a FROM u WHERE EXISTS (SELECT 1 FROM u x WHERE x.i = u.i)",
	  "SELECT u.a FROM u WHERE EXISTS (SELECT 1 FROM u x WHERE x.i = x.i)" },
};

static void test_unequal_pairs(void **state)
{
	(void)state;
	assert_int_equal(count_wrong(unequal_pairs, COUNT(unequal_pairs), false), 0);
}

static void test_tables(void **state)
{
	static const struct {
		const char *sql;
		const char *tables; /* joined by spaces */
	} cases[] = {
		{ "SELECT 1", "" },
		{ "SELECT * FROM Users u JOIN orders ON true", "orders users" },
		{ "SELECT * FROM public.users, sales.orders", "sales.orders users" },
		{ "SELECT * FROM users a, users b", "users" },
		{ "WITH c AS (SELECT * FROM t) SELECT * FROM c", "t" },
		{ "WITH c AS (SELECT * FROM c) SELECT * FROM c", "c" },
		{ "WITH RECURSIVE c AS (SELECT 1 UNION SELECT 1 FROM c) SELECT * FROM c", "" },
		{ "WITH c AS (SELECT 1) SELECT * FROM s.c", "s.c" },
		{ "SELECT (WITH c AS (SELECT 1) SELECT 1 FROM c), x FROM c", "c" },
		{ "SELECT * FROM a WHERE x IN (SELECT y FROM b) AND EXISTS (SELECT 1 FROM c)", "a b c" },
		{ "SELECT (SELECT max(x) FROM b) FROM a UNION SELECT 1 FROM c", "a b c" },
		{ "SELECT * FROM (SELECT * FROM a) s LEFT JOIN LATERAL (SELECT * FROM b) t ON true", "a b" },
		{ "TABLE t", "t" },
		{ "SELECT * FROM \"Mixed Case\"", "mixed case" },
		{ "SELECT * FROM generate_series(1, 2)", "" },
		{ "DELETE FROM a USING b WHERE a.x IN (SELECT y FROM c)", "a b c" },
		{ "INSERT INTO a SELECT * FROM b", "a b" },
		{ "UPDATE a SET x = (SELECT 1 FROM c) FROM b", "a b c" },
		{ "EXPLAIN SELECT * FROM a", "a" },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_analysis analysis = analyse(cases[i].sql, arena);
		char joined[256] = "";
		for (size_t t = 0; t < analysis.tables_count; t++)
			snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "%s" STR_FMT,
				 t ? " " : "", STR_ARG(analysis.tables[t]));
		assert_true(analysis.tables_known);
		assert_string_equal(joined, cases[i].tables);
	}
}

static void test_order(void **state)
{
	static const struct {
		const char *sql;
		bool ordered;
		bool limited;
		size_t keys;
		struct sql_order_key key[2];
	} cases[] = {
		{ "SELECT a FROM t", false, false, 0, { { 0 } } },
		{ "SELECT a FROM t LIMIT 3", false, true, 0, { { 0 } } },
		{ "SELECT a FROM t LIMIT ALL", false, false, 0, { { 0 } } },
		{ "SELECT a FROM t FETCH FIRST ROW ONLY", false, true, 0, { { 0 } } },
		{ "SELECT a, b FROM t ORDER BY b", true, false, 1, { { 1, false, false } } },
		{ "SELECT a, b FROM t ORDER BY 2 DESC, 1",
		  true,
		  false,
		  2,
		  { { 1, true, true }, { 0, false, false } } },
		{ "SELECT a AS x, b AS y FROM t ORDER BY y DESC NULLS LAST",
		  true,
		  false,
		  1,
		  { { 1, true, false } } },
		{ "SELECT a AS x FROM t ORDER BY t.a NULLS FIRST", true, false, 1, { { 0, false, true } } },
		{ "SELECT a, count(*) FROM t GROUP BY a ORDER BY count(*)",
		  true,
		  false,
		  1,
		  { { 1, false, false } } },
		{ "SELECT a, b + 1 FROM t ORDER BY 1 + b", true, false, 1, { { 1, false, false } } },
		{ "SELECT a FROM t ORDER BY b", true, false, 1, { { -1, false, false } } },
		{ "SELECT * FROM t ORDER BY b", true, false, 1, { { -1, false, false } } },
		{ "SELECT *, a FROM t ORDER BY a", true, false, 1, { { -1, false, false } } },
		{ "SELECT a AS x FROM t UNION SELECT b FROM u ORDER BY x",
		  true,
		  false,
		  1,
		  { { 0, false, false } } },
		{ "SELECT a FROM (SELECT a FROM t ORDER BY a) s", false, false, 0, { { 0 } } },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_analysis analysis = analyse(cases[i].sql, arena);
		assert_int_equal(analysis.ordered, cases[i].ordered);
		assert_int_equal(analysis.limited, cases[i].limited);
		assert_int_equal(analysis.order_keys_count, cases[i].keys);
		for (size_t k = 0; k < cases[i].keys; k++) {
			assert_int_equal(analysis.order_keys[k].column, cases[i].key[k].column);
			assert_int_equal(analysis.order_keys[k].descending, cases[i].key[k].descending);
			assert_int_equal(analysis.order_keys[k].nulls_first, cases[i].key[k].nulls_first);
		}
	}
}

static void test_clauses(void **state)
{
	static const struct {
		enum sql_clause clause;
		const char *items;
	} expected[] = {
		{ SQL_CLAUSE_SELECT, "count(*) | o.city" },
		{ SQL_CLAUSE_WHERE, "(2 < count(*)) | (5 < o.total)" },
		{ SQL_CLAUSE_FROM, "o | u" },
		{ SQL_CLAUSE_GROUP, "o.city" },
		{ SQL_CLAUSE_ORDER, "LIMIT 3 | count(*) DESC NULLS FIRST" },
		{ SQL_CLAUSE_JOIN, "(o.uid = u.id)" },
	};
	_cleanup_(arena_scope) struct arena *arena = arena_new();
	struct sql_analysis analysis =
		analyse("SELECT y.city, count(*) AS n FROM u x JOIN o y ON x.id = y.uid WHERE y.total > 5 "
			"GROUP BY y.city HAVING count(*) > 2 ORDER BY n DESC LIMIT 3",
			arena);
	(void)state;
	for (size_t i = 0; i < COUNT(expected); i++) {
		const struct sql_items *items = &analysis.clauses[expected[i].clause];
		char joined[256] = "";
		for (size_t t = 0; t < items->count; t++)
			snprintf(joined + strlen(joined), sizeof joined - strlen(joined), "%s" STR_FMT,
				 t ? " | " : "", STR_ARG(items->items[t]));
		assert_string_equal(joined, expected[i].items);
	}
}

/* WITH queries that double at every step must not double the text. */
static void test_growth_is_bounded(void **state)
{
	_cleanup_(arena_scope) struct arena *arena = arena_new();
	struct buf sql = BUF_INIT;
	(void)state;
	buf_append_text(&sql, "WITH c0 AS (SELECT a FROM t)");
	for (unsigned i = 1; i < 60; i++)
		buf_printf(&sql, ", c%u AS (SELECT x.a FROM c%u x, c%u y)", i, i - 1, i - 1);
	buf_append_text(&sql, " SELECT a FROM c59");
	struct sql_analysis analysis = analyse(sql.data, arena);
	buf_free(&sql);
	assert_true(str_present(analysis.canonical));
	assert_true(analysis.canonical.len < 100000);
	assert_true(arena_size_bytes(arena) < (size_t)32 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_pairs), cmocka_unit_test(test_unequal_pairs),
		cmocka_unit_test(test_tables),	    cmocka_unit_test(test_order),
		cmocka_unit_test(test_clauses),	    cmocka_unit_test(test_growth_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
