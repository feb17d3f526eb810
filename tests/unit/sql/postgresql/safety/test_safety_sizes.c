/*
 * How much the constants of a query ask for: sizes, products of sizes, recursions.
 */
#include "refusals.h"

static void test_bombs(void **state)
{
	static const struct attack attacks[] = {
		{ "SELECT * FROM generate_series(1, 1000000000)", "resource_bomb", 14 },
		{ "SELECT generate_series(1, 10^9)", "resource_bomb", 7 },
		{ "SELECT generate_series('-2147483648-01-01'::timestamp, '2024-01-01'::timestamp, '1 "
		  "second')",
		  "resource_bomb", 7 },
		{ "SELECT generate_series(1, 1000 * 1000 * 1000)", "resource_bomb", 7 },
		{ "SELECT generate_series(-2000000000, 0)", "resource_bomb", 7 },
		{ "SELECT generate_series(1, '1000000000'::bigint)", "resource_bomb", 7 },
		{ "SELECT generate_series(1, 1e9::bigint)", "resource_bomb", 7 },
		{ "SELECT generate_series(1, 1 << 30)", "resource_bomb", 7 },
		{ "SELECT generate_series(1, (SELECT 1000000000))", "resource_bomb", 7 },
		{ "SELECT generate_series(1, power(10, 9)::int)", "resource_bomb", 7 },
		{ "SELECT generate_series(1, 100, 0.0000001)", "resource_bomb", 7 },
		{ "SELECT generate_series('2000-01-01'::timestamp, '2020-01-01', '1 second')",
		  "resource_bomb", 7 },
		{ "SELECT generate_series('2000-01-01'::timestamp, now(), interval '1 ms')", "resource_bomb",
		  7 },
		{ "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 100000) b",
		  "resource_bomb", 51 },
		{ "SELECT (SELECT count(*) FROM generate_series(1, 100000)) FROM generate_series(1, 100000)",
		  "resource_bomb", -1 },
		{ "WITH a AS (SELECT generate_series(1, 999999) x) SELECT count(*) FROM a, a b",
		  "resource_bomb", -1 },
		{ "WITH a(x) AS (VALUES (1),(1),(1),(1),(1),(1),(1),(1),(1),(1)), "
		  "b AS (SELECT 1 FROM a, a a1, a a2, a a3), c AS (SELECT 1 FROM b, b b1, b b2) SELECT * "
		  "FROM c",
		  "resource_bomb", -1 },
		{ "SELECT repeat('x', 1000000000)", "resource_bomb", 7 },
		{ "SELECT length(repeat(repeat('x', 100000), 100000))", "resource_bomb", -1 },
		{ "SELECT lpad('x', 500000000)", "resource_bomb", 7 },
		{ "SELECT rpad('x', 500000000, 'y')", "resource_bomb", 7 },
		{ "SELECT array_fill(0, ARRAY[30000, 30000])", "resource_bomb", 7 },
		{ "SELECT array_fill(0, '{100000000}'::int[])", "resource_bomb", 7 },
		{ "SELECT format('%500000000s', 'x')", "resource_bomb", 7 },
		{ "SELECT format('%*s', 500000000, 'x')", "resource_bomb", 7 },
		{ "SELECT string_agg(repeat('x', 99999), '') FROM generate_series(1, 99999)", "resource_bomb",
		  -1 },
		{ "SELECT factorial(30000)", "resource_bomb", 7 },
		{ "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT * FROM r",
		  "resource_bomb", 15 },
		{ "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE true) SELECT * "
		  "FROM r",
		  "resource_bomb", 15 },
		{ "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE 1 = 1) SELECT * "
		  "FROM r",
		  "resource_bomb", 15 },
		{ "WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r WHERE n < 1000000000) TABLE "
		  "r",
		  "resource_bomb", 15 },
		{ "WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n FROM r, t) SELECT * FROM r",
		  "resource_bomb", 15 },
	};
	(void)state;
	refuse_all(attacks, COUNT(attacks));
}

/* Sizes that multiply, or add up over the query. */
static void test_products(void **state)
{
	static const struct attack attacks[] = {
		{ "SELECT replace(repeat('x', 30000), 'x', repeat('y', 30000))", "resource_bomb", 7 },
		{ "SELECT regexp_replace(repeat('x', 30000), 'x', repeat('y', 30000), 'g')", "resource_bomb",
		  7 },
		{ "SELECT array_to_string(array_fill(1, ARRAY[1000]), repeat('x', 900000))", "resource_bomb",
		  7 },
		{ "SELECT array_to_string(ARRAY(SELECT 'a' FROM generate_series(1, 2000)), repeat('x', "
		  "1000))",
		  "resource_bomb", 7 },
		{ "SELECT array_fill(repeat('x', 900000), ARRAY[1000])", "resource_bomb", 7 },
		{ "WITH a AS (SELECT repeat('x', 200000) s), b AS (SELECT s || s || s s FROM a) SELECT "
		  "length(s || s) FROM b",
		  "resource_bomb", 93 },
		{ "WITH a AS (SELECT repeat('x', 900000) s) SELECT string_agg(s, '') FROM a, "
		  "generate_series(1, 200)",
		  "resource_bomb", 48 },
		{ "SELECT string_agg(repeat('x', 900000), '') || string_agg(repeat('y', 900000), '') FROM "
		  "generate_series(1, 60)",
		  "resource_bomb", 43 },
		{ "SELECT array_agg(B'1'::bit(83886080)) FROM generate_series(1, 99)", "resource_bomb", -1 },
		{ "SELECT array_agg('x'::char(10485760)) FROM generate_series(1, 99)", "resource_bomb", -1 },
		{ "SELECT array_agg('x'::char(500000)) FROM generate_series(1, 999)", "resource_bomb", -1 },
		{ "SELECT format('%600000s%600000s', 'x', 'y')", "resource_bomb", 7 },
		{ "SELECT concat_ws(repeat('x', 900000), 'a', 'b', 'c')", "resource_bomb", 7 },
	};
	static const char *const harmless[] = {
		"SELECT replace(name, 'a', 'bb'), regexp_replace(note, '\\s+', ' ', 'g') FROM t",
		"SELECT replace(repeat('ab', 100), 'ab', 'cdef'), array_fill('x'::text, ARRAY[100])",
		"SELECT array_to_string(ARRAY(SELECT name FROM t), ', '), concat_ws(', ', a, b, c) FROM t",
		"SELECT a::char(10), b::bit(8), c::varchar(10485760) FROM t",
		"SELECT lpad(g::text, 20, '0') FROM generate_series(1, 100000) g",
		"SELECT a || ', ' || b || ' (' || c || ')' FROM t",
	};
	(void)state;
	refuse_all(attacks, COUNT(attacks));
	pass_all(harmless, COUNT(harmless));
}

/* Constants that are not written as such, and steps of time. */
static void test_hidden_constants(void **state)
{
	static const struct attack attacks[] = {
		{ "SELECT length(repeat('x', n)) FROM (VALUES (1000000000)) v(n)", "resource_bomb", 14 },
		{ "SELECT repeat('x', x'3B9ACA00'::int)", "resource_bomb", 7 },
		{ "SELECT repeat('x', (ARRAY[1000000000])[1])", "resource_bomb", 7 },
		{ "SELECT repeat('x', NULLIF(1000000000, 0))", "resource_bomb", 7 },
		{ "SELECT repeat('x', ascii('z') * 8000000)", "resource_bomb", 7 },
		{ "SELECT repeat('x', int4mul(1000000, 1000))", "resource_bomb", 7 },
		{ "SELECT repeat('x', ('1000' || '000000')::int)", "resource_bomb", 7 },
		{ "SELECT lpad('x', (SELECT max(x) FROM (VALUES (1000000000)) v(x)))", "resource_bomb", 7 },
		{ "SELECT array_fill(0, ARRAY[ascii('z') * 8000000])", "resource_bomb", 7 },
		{ "SELECT generate_series(now(), now() + interval '10 years', 'PT1S'::interval)",
		  "resource_bomb", 7 },
		{ "SELECT generate_series(now(), now() + interval '10 years', interval '1' second)",
		  "resource_bomb", 7 },
	};
	static const char *const harmless[] = {
		"SELECT generate_series('2000-01-01'::timestamp, '2030-01-01', interval '1' year)",
		"SELECT generate_series('2000-01-01'::timestamp, '2030-01-01', interval '1' month)",
		"SELECT generate_series('2000-01-01'::timestamp, '2030-01-01', interval '1' day)",
		"SELECT generate_series('2000-01-01'::timestamp, '2030-01-01', 'P1D'::interval)",
		"SELECT generate_series('2000-01-01'::timestamp, '2030-01-01', 'P1M'::interval)",
		"SELECT repeat('*', count(*)::int) FROM t GROUP BY a",
		"SELECT repeat('*', (n / 10)::int), lpad('x', length(name)) FROM t",
		"SELECT repeat('*', (random() * 10)::int), rpad(a, greatest(b, 3)) FROM t",
		"SELECT repeat('*', g) FROM generate_series(1, 5) g",
		"SELECT repeat(' ', $1), repeat('x', NULL)",
		"WITH c AS (SELECT a, count(*) AS n FROM t GROUP BY a) SELECT repeat('#', n::int) FROM c",
		"WITH RECURSIVE f(a, b) AS (SELECT 0::bigint, 1::bigint UNION ALL SELECT b, a + b FROM f "
		"WHERE "
		"b < 1000000) SELECT a FROM f",
	};
	(void)state;
	refuse_all(attacks, COUNT(attacks));
	pass_all(harmless, COUNT(harmless));
}

static void test_recursions(void **state)
{
	static const struct attack attacks[] = {
		{ "WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n FROM r WHERE n < 5) TABLE r",
		  "resource_bomb", 15 },
		{ "WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r WHERE n IS NOT NULL) TABLE "
		  "r",
		  "resource_bomb", 15 },
		{ "WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r WHERE r.n::text <> 'x') "
		  "TABLE "
		  "r",
		  "resource_bomb", 15 },
		{ "WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r WHERE random() < 2) TABLE r",
		  "resource_bomb", 15 },
		{ "WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r, (VALUES (1), (2)) v WHERE "
		  "n "
		  "< 40) SELECT count(*) FROM r",
		  "resource_bomb", 15 },
		{ "WITH RECURSIVE r AS (SELECT 1 n, 'x'::text s UNION ALL SELECT n + 1, s || s FROM r WHERE "
		  "n "
		  "< 30) SELECT max(length(s)) FROM r",
		  "resource_bomb", 15 },
		{ "WITH RECURSIVE r(n, s) AS (SELECT 1, 'x' UNION ALL SELECT n + 1, concat(s, s) FROM r "
		  "WHERE "
		  "n < 30) SELECT max(length(s)) FROM r",
		  "resource_bomb", 15 },
		{ "WITH RECURSIVE d AS (SELECT 1 AS n UNION ALL SELECT abs(n) FROM d WHERE n < 5) SELECT n "
		  "FROM d",
		  "resource_bomb", 15 },
		{ "WITH RECURSIVE d AS (SELECT 1 AS n UNION ALL SELECT -n FROM d WHERE n < 5) SELECT n FROM "
		  "d",
		  "resource_bomb", 15 },
		{ "WITH RECURSIVE d AS (SELECT 1 AS n UNION ALL SELECT n * 1 FROM d WHERE n < 10) SELECT n "
		  "FROM d",
		  "resource_bomb", 15 },
		{ "WITH RECURSIVE d AS (SELECT 1 AS n UNION ALL SELECT n / 1 FROM d WHERE n < 10) SELECT n "
		  "FROM d",
		  "resource_bomb", 15 },
		{ "WITH RECURSIVE d AS (SELECT 1 AS n UNION ALL SELECT n + 2 FROM d WHERE n <> 10) SELECT n "
		  "FROM d",
		  "resource_bomb", 15 },
		{ "WITH RECURSIVE d AS (SELECT 1 AS n UNION ALL SELECT n % 3 + 1 FROM d WHERE n < 9) SELECT "
		  "n FROM d",
		  "resource_bomb", 15 },
		{ "WITH RECURSIVE d AS (SELECT 1 AS n UNION ALL SELECT n / 2 FROM d WHERE n >= 0) SELECT n "
		  "FROM d",
		  "resource_bomb", 15 },
		{ "WITH RECURSIVE d AS (SELECT 1 AS n UNION ALL SELECT n FROM d WHERE n IN (1, 2)) SELECT n "
		  "FROM d",
		  "resource_bomb", 15 },
		{ "WITH RECURSIVE d AS (SELECT 1 AS n UNION ALL SELECT n - 1 FROM d WHERE n < 10) SELECT n "
		  "FROM d",
		  "resource_bomb", 15 },
	};
	static const char *const harmless[] = {
		"WITH RECURSIVE d AS (SELECT 1 AS n UNION ALL SELECT n * 2 FROM d WHERE n < 1000) SELECT n "
		"FROM d",
		"WITH RECURSIVE d AS (SELECT 1 AS n UNION ALL SELECT n + 2 FROM d WHERE n <> 9) SELECT n "
		"FROM d",
		"WITH RECURSIVE d AS (SELECT 1 AS n UNION ALL SELECT n * 2 + 1 FROM d WHERE n <= 100) SELECT "
		"n FROM d",
		"WITH RECURSIVE d AS (SELECT 1 AS n UNION ALL SELECT CASE WHEN n % 2 = 0 THEN n / 2 ELSE 3 * "
		"n + 1 END FROM d WHERE n > 1) SELECT n FROM d",
		"WITH RECURSIVE d AS (SELECT 1 AS n UNION ALL SELECT n / 2 FROM d WHERE n > 0) SELECT n FROM "
		"d",
		"WITH RECURSIVE d AS (SELECT 1 AS n UNION SELECT -n FROM d WHERE n < 5) SELECT n FROM d",
		"WITH RECURSIVE r AS (SELECT 1 n UNION ALL SELECT n + 1 FROM r, (VALUES (1), (2)) v WHERE n "
		"< "
		"10) SELECT count(*) FROM r",
		"WITH RECURSIVE r AS (SELECT 0 n UNION ALL SELECT n + 10 FROM r, (VALUES (1), (2)) v WHERE n "
		"< "
		"100) SELECT count(*) FROM r",
		"WITH RECURSIVE r(n, s) AS (SELECT 1, '*' UNION ALL SELECT n + 1, s || '*' FROM r WHERE n < "
		"9) "
		"SELECT s FROM r",
		"WITH RECURSIVE r(part, rest) AS (SELECT '', 'a,b,c' UNION ALL SELECT split_part(rest, ',', "
		"1), substr(rest, 3) FROM r WHERE rest <> '') SELECT part FROM r",
		"WITH RECURSIVE d AS (SELECT date '2020-01-01' AS x UNION ALL SELECT x + 1 FROM d WHERE x <> "
		"'2020-12-31') SELECT x FROM d",
		"WITH RECURSIVE m(i, x, y) AS (SELECT 0, 0.1::float8, 0.2::float8 UNION ALL SELECT i + 1, x "
		"* "
		"x - y * y, 2 * x * y FROM m WHERE i < 27) SELECT i FROM m",
		"WITH RECURSIVE p AS (SELECT id, boss, name::text AS path FROM emp WHERE boss IS NULL UNION "
		"ALL "
		"SELECT e.id, e.boss, p.path || '/' || e.name FROM emp e JOIN p ON e.boss = p.id WHERE p.id "
		"IS "
		"NOT NULL) SELECT path FROM p",
	};
	(void)state;
	refuse_all(attacks, COUNT(attacks));
	pass_all(harmless, COUNT(harmless));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bombs),
		cmocka_unit_test(test_products),
		cmocka_unit_test(test_hidden_constants),
		cmocka_unit_test(test_recursions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
