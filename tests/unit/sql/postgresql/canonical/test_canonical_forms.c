/*
 * Canonical form with a catalog, where names and types are known; what it does not depend on; its shape; what
 * hostile statements cost. Whether equal forms really return equal rows is test_canonical_execution.c's.
 */
#include "common/buf.h"
#include "sql/dialects.h"
#include "sql/findings/analysis.h"
#include "sql/postgresql/ddl/ddl.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

DEFINE_CLEANUP(struct arena, arena_scope, arena_free)

static struct catalog *catalog;

static const char schema[] =
	"CREATE TABLE t (id integer PRIMARY KEY, a integer, b integer, n numeric(10,2), f double precision, "
	"r real,"
	" s text, v varchar(20), c char(3), d date, ts timestamp, ok boolean NOT NULL, u integer NOT NULL);\n"
	"CREATE TABLE o (id integer PRIMARY KEY, tid integer NOT NULL, x integer, s text, big bigint, d "
	"date);\n"
	"CREATE TABLE p (pid integer PRIMARY KEY, oid_ integer, x integer);\n"
	"CREATE FUNCTION roll(i integer) RETURNS integer LANGUAGE sql VOLATILE AS 'SELECT $1';\n";

static struct sql_analysis analyse_as(const char *sql, enum sql_dialect dialect, bool known,
				      struct arena *arena)
{
	struct sql_request request = { .sql = arena_text(arena, sql, strlen(sql)),
				       .dialect = dialect,
				       .catalog = known ? catalog : NULL };
	struct sql_analysis analysis = { 0 };
	sql_analyse(&request, arena, &analysis);
	return analysis;
}

struct pair {
	const char *a, *b;
};

static unsigned count_wrong(const struct pair *pairs, size_t count, enum sql_dialect dialect, bool known,
			    bool equal)
{
	unsigned wrong = 0;
	for (size_t i = 0; i < count; i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_analysis a = analyse_as(pairs[i].a, dialect, known, arena);
		struct sql_analysis b = analyse_as(pairs[i].b, dialect, known, arena);
		if (a.valid && b.valid && str_equal(a.canonical, b.canonical) == equal)
			continue;
		print_error("%s\n%s\n  " STR_FMT "\n  " STR_FMT "\n", pairs[i].a, pairs[i].b,
			    STR_ARG(a.canonical), STR_ARG(b.canonical));
		wrong++;
	}
	return wrong;
}

static const struct pair equal_with_catalog[] = {
	/* names */
	{ "SELECT a FROM t", "SELECT q.a FROM public.t AS q" },
	{ "SELECT * FROM o", "SELECT id, tid, x, s, big, d FROM o" },
	{ "SELECT p.*, o.x FROM o, p", "SELECT p.pid, p.oid_, p.x, o.x FROM p CROSS JOIN o" },
	{ "SELECT y.j FROM t AS y(i, j)", "SELECT a FROM t" },
	{ "SELECT j.x FROM (o JOIN p ON o.id = p.oid_) AS j(i1, t1, x1, s1, b1, d1, p1, o1, x)",
	  "SELECT p.x FROM o JOIN p ON o.id = p.oid_" },
	{ "SELECT s.z FROM (SELECT a, b FROM t) AS s(y, z)", "SELECT b FROM t" },
	/* joins */
	{ "SELECT o.s FROM t NATURAL JOIN o",
	  "SELECT o.s FROM t JOIN o ON t.id = o.id AND t.s = o.s AND t.d = o.d" },
	{ "SELECT id FROM t JOIN o USING (id)", "SELECT t.id FROM o JOIN t ON o.id = t.id" },
	{ "SELECT o.id FROM t JOIN o ON t.id = o.id", "SELECT t.id FROM t JOIN o ON t.id = o.id" },
	{ "SELECT o.tid, count(*) FROM t JOIN o ON t.id = o.tid GROUP BY o.tid",
	  "SELECT t.id, count(*) FROM t JOIN o ON t.id = o.tid GROUP BY t.id" },
	{ "SELECT t.a FROM t JOIN o ON t.id = o.id JOIN p ON o.id = p.pid",
	  "SELECT t.a FROM t JOIN o ON t.id = o.id JOIN p ON t.id = p.pid" },
	{ "SELECT t.a FROM t LEFT JOIN o ON t.id = o.tid JOIN p ON p.pid = t.b",
	  "SELECT t.a FROM p JOIN t ON p.pid = t.b LEFT JOIN o ON t.id = o.tid" },
	{ "SELECT t.a FROM t LEFT JOIN (o JOIN p ON o.id = p.oid_) ON t.id = o.tid",
	  "SELECT t.a FROM t LEFT JOIN (p CROSS JOIN o) ON t.id = o.tid AND p.oid_ = o.id" },
	{ "SELECT o.x FROM t FULL JOIN o ON t.id = o.id", "SELECT o.x FROM o FULL JOIN t ON o.id = t.id" },
	{ "SELECT t.a FROM t LEFT JOIN o USING (id)", "SELECT t.a FROM o RIGHT JOIN t ON t.id = o.id" },
	/* twins */
	{ "SELECT x.a FROM t x JOIN t y ON x.b = y.id", "SELECT y.a FROM t x JOIN t y ON y.b = x.id" },
	{ "SELECT x.a, z.a FROM t x, t y, t z WHERE x.b = y.id AND y.b = z.id",
	  "SELECT y.a, x.a FROM t x, t y, t z WHERE y.b = z.id AND z.b = x.id" },
	{ "SELECT q.a FROM (SELECT max(a) AS a, b FROM t GROUP BY b) q, (SELECT min(a) AS a FROM t) "
	  "r",
	  "SELECT r.a FROM (SELECT min(a) AS a FROM t) q, (SELECT max(a) AS a, b FROM t GROUP BY b) "
	  "r" },
	/* queries in FROM */
	{ "WITH w AS (SELECT id, a FROM t WHERE b > 5) SELECT w.a, o.x FROM w JOIN o ON o.tid = w.id",
	  "SELECT t.a, o.x FROM t JOIN o ON o.tid = t.id WHERE t.b > 5" },
	{ "SELECT z.k FROM (SELECT a + b AS k FROM t) z WHERE z.k > 3",
	  "SELECT a + b FROM t WHERE a + b > 3" },
	{ "SELECT o.x, w.a FROM o LEFT JOIN (SELECT id, a FROM t WHERE b = 1) w ON w.id = o.tid",
	  "SELECT o.x, t.a FROM o LEFT JOIN t ON t.id = o.tid AND t.b = 1" },
	{ "WITH w AS (SELECT a, count(*) AS n FROM t GROUP BY a) SELECT * FROM w ORDER BY n DESC "
	  "LIMIT 3",
	  "SELECT a, count(*) FROM t GROUP BY a ORDER BY count(*) DESC LIMIT 3" },
	{ "SELECT sum(q.n) FROM (SELECT a, count(*) AS n FROM t GROUP BY a ORDER BY a) q",
	  "SELECT sum(q.n) FROM (SELECT a, count(*) AS n FROM t GROUP BY a) q" },
	{ "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 5) SELECT i FROM "
	  "r",
	  "WITH RECURSIVE z AS (SELECT 1 AS j UNION ALL SELECT z.j + 1 FROM z WHERE 5 > z.j) "
	  "SELECT z.j FROM z" },
	/* conditions */
	{ "SELECT a FROM t WHERE s = 'x' OR s = 'y'", "SELECT a FROM t WHERE s IN ('y', 'x')" },
	{ "SELECT a FROM t WHERE s = 'x' OR a > 1 OR s IN ('y', 'z')",
	  "SELECT a FROM t WHERE s IN ('z', 'y', 'x') OR a > 1" },
	{ "SELECT a FROM t WHERE a NOT IN (1, 2)", "SELECT a FROM t WHERE NOT (a = 1 OR a = 2)" },
	{ "SELECT a FROM t WHERE NOT (a > 1 AND b < 2)", "SELECT a FROM t WHERE a <= 1 OR b >= 2" },
	{ "SELECT a FROM t WHERE NOT (a IS NULL)", "SELECT a FROM t WHERE a IS NOT NULL" },
	{ "SELECT a FROM t WHERE ok = TRUE", "SELECT a FROM t WHERE ok" },
	{ "SELECT a FROM t WHERE ok = FALSE", "SELECT a FROM t WHERE NOT ok" },
	{ "SELECT a FROM t WHERE a <> ALL (SELECT x FROM o)",
	  "SELECT a FROM t WHERE a NOT IN (SELECT x FROM o)" },
	{ "SELECT CASE a WHEN 1 THEN 'x' END FROM t",
	  "SELECT CASE WHEN a = 1 THEN 'x' ELSE NULL END FROM t" },
	/* types */
	{ "SELECT a FROM t WHERE d >= '2020-01-01'", "SELECT a FROM t WHERE d >= DATE '2020-01-01'" },
	{ "SELECT a FROM t WHERE ts >= '2020-01-01'::date",
	  "SELECT a FROM t WHERE ts >= '2020-01-01 00:00:00'" },
	{ "SELECT a FROM t WHERE a = '5'", "SELECT a FROM t WHERE a = 5" },
	{ "SELECT a::integer FROM t", "SELECT a FROM t" },
	{ "SELECT n::numeric FROM t", "SELECT n FROM t" },
	{ "SELECT a FROM t WHERE s = 'x'::text", "SELECT a FROM t WHERE s = 'x'" },
	/* never NULL */
	{ "SELECT count(id) FROM t", "SELECT count(*) FROM t" },
	{ "SELECT a FROM t ORDER BY u DESC NULLS LAST", "SELECT a FROM t ORDER BY u DESC" },
	{ "SELECT a, count(*) AS n FROM t GROUP BY a ORDER BY n DESC NULLS LAST",
	  "SELECT a, count(*) FROM t GROUP BY a ORDER BY count(*) DESC" },
	/* keys */
	{ "SELECT DISTINCT a, b FROM t", "SELECT a, b FROM t GROUP BY b, a" },
	{ "SELECT a FROM t ORDER BY a, b, a DESC", "SELECT a FROM t ORDER BY a, b" },
	{ "SELECT a, sum(b) FROM t GROUP BY ROLLUP (1)", "SELECT a AS k, sum(b) FROM t GROUP BY ROLLUP (a)" },
	{ "SELECT sum(a) OVER (w ROWS UNBOUNDED PRECEDING) FROM t WINDOW w AS (PARTITION BY b ORDER "
	  "BY d)",
	  "SELECT sum(a) OVER (PARTITION BY b ORDER BY d ROWS BETWEEN UNBOUNDED PRECEDING AND "
	  "CURRENT ROW) "
	  "FROM t" },
	{ "SELECT a FROM t WHERE EXISTS (SELECT * FROM o WHERE o.tid = t.id LIMIT 1)",
	  "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM o WHERE o.tid = t.id)" },
	{ "SELECT CURRENT_TIMESTAMP", "SELECT now()" },
	/* set operations of one kind */
	{ "SELECT a FROM t UNION SELECT x FROM o", "SELECT x FROM o UNION SELECT a FROM t" },
	{ "SELECT a, d FROM t INTERSECT SELECT x, d FROM o",
	  "SELECT x, d FROM o INTERSECT SELECT a, d FROM t" },
	{ "SELECT a FROM t UNION ALL SELECT x FROM o UNION ALL SELECT pid FROM p",
	  "SELECT pid FROM p UNION ALL (SELECT x FROM o UNION ALL SELECT a FROM t)" },
	{ "SELECT s FROM t UNION ALL SELECT s FROM o", "SELECT s FROM o UNION ALL SELECT s FROM t" },
	{ "SELECT n FROM t UNION ALL SELECT n * 2 FROM t", "SELECT n * 2 FROM t UNION ALL SELECT n FROM t" },
	{ "SELECT f FROM t UNION ALL SELECT -f FROM t", "SELECT -f FROM t UNION ALL SELECT f FROM t" },
	{ "SELECT 'x', count(*) FROM t UNION ALL SELECT 'y', count(*) FROM o",
	  "SELECT 'y', count(*) FROM o UNION ALL SELECT 'x', count(*) FROM t" },
	{ "(SELECT a FROM t INTERSECT SELECT x FROM o) UNION SELECT u FROM t",
	  "SELECT u FROM t UNION (SELECT x FROM o INTERSECT SELECT a FROM t)" },
	{ "VALUES (1, 'a'), (2, NULL)", "VALUES (2, NULL), (1, 'a')" },
	/* functions in FROM */
	{ "SELECT g FROM generate_series(1, 3) g", "SELECT n FROM generate_series(1, 3) AS s(n)" },
	{ "SELECT x.k FROM jsonb_to_record('{}') AS x(k integer, l text)",
	  "SELECT y.i FROM jsonb_to_record('{}') AS y(i int, j text)" },
};

static void test_equal_with_catalog(void **state)
{
	(void)state;
	assert_int_equal(
		count_wrong(equal_with_catalog, COUNT(equal_with_catalog), SQL_POSTGRESQL, true, true), 0);
}

static const struct pair unequal_with_catalog[] = {
	/* a list has one type, comparisons have one each: 0.1 as real or as double precision */
	{ "SELECT a FROM t WHERE r IN (0.1, 0.2)", "SELECT a FROM t WHERE r = 0.1 OR r = 0.2" },
	{ "SELECT a FROM t WHERE r IN (0.1, 0.1)", "SELECT a FROM t WHERE r IN (0.1)" },
	{ "SELECT a FROM t WHERE r IN (0.1, 0.1, f)", "SELECT a FROM t WHERE r IN (0.1, f)" },
	{ "SELECT a FROM t WHERE r IN (16777217, 1)", "SELECT a FROM t WHERE r = 16777217 OR r = 1" },
	/* equal values of other types are not the same value */
	{ "SELECT t.id / 2 FROM t JOIN o ON t.id = o.big", "SELECT o.big / 2 FROM t JOIN o ON t.id = o.big" },
	{ "SELECT t.s FROM t JOIN o ON t.s = o.s", "SELECT o.s FROM t JOIN o ON t.s = o.s" },
	{ "SELECT o.id FROM t LEFT JOIN o ON t.id = o.id", "SELECT t.id FROM t LEFT JOIN o ON t.id = o.id" },
	{ "SELECT id FROM t FULL JOIN o USING (id)", "SELECT t.id FROM t FULL JOIN o USING (id)" },
	{ "SELECT t.a FROM t, o WHERE t.id = o.id OR t.b = 1", "SELECT t.a FROM t, o WHERE t.b = 1" },
	/* outer joins */
	{ "SELECT t.a FROM t LEFT JOIN o ON t.id = o.tid LEFT JOIN p ON p.oid_ = o.id",
	  "SELECT t.a FROM t LEFT JOIN (o LEFT JOIN p ON p.oid_ = o.id) ON t.id = o.tid AND p.x = "
	  "1" },
	{ "SELECT t.a FROM t LEFT JOIN o ON t.id = o.tid AND t.b = 1",
	  "SELECT t.a FROM t LEFT JOIN o ON t.id = o.tid WHERE t.b = 1" },
	{ "SELECT o.x FROM t RIGHT JOIN o ON t.id = o.tid", "SELECT o.x FROM t LEFT JOIN o ON t.id = o.tid" },
	{ "SELECT o.x, w.k FROM o LEFT JOIN (SELECT id, 1 + 1 AS k FROM t) w ON w.id = o.tid",
	  "SELECT o.x, 1 + 1 FROM o LEFT JOIN t ON t.id = o.tid" },
	{ "SELECT count(o.id) FROM t LEFT JOIN o ON t.id = o.tid",
	  "SELECT count(*) FROM t LEFT JOIN o ON t.id = o.tid" },
	{ "SELECT a FROM t ORDER BY b DESC NULLS LAST", "SELECT a FROM t ORDER BY b DESC" },
	{ "SELECT u FROM t GROUP BY ROLLUP (u) ORDER BY u NULLS FIRST",
	  "SELECT u FROM t GROUP BY ROLLUP (u) ORDER BY u" },
	{ "SELECT * FROM (SELECT u FROM t GROUP BY ROLLUP (u)) q ORDER BY u NULLS FIRST",
	  "SELECT * FROM (SELECT u FROM t GROUP BY ROLLUP (u)) q ORDER BY u" },
	/* twins that differ */
	{ "SELECT x.a FROM t x JOIN t y ON x.b = y.id", "SELECT y.a FROM t x JOIN t y ON x.b = y.id" },
	{ "SELECT x.a FROM t x, t y, t z WHERE x.b = y.a AND y.b = z.a",
	  "SELECT x.a FROM t x, t y, t z WHERE x.b = y.a AND x.b = z.a" },
	/* evaluated once, or each time */
	{ "WITH w AS (SELECT roll(1) AS r) SELECT x.r, y.r FROM w x, w y",
	  "SELECT x.r, y.r FROM (SELECT roll(1) AS r) x, (SELECT roll(1) AS r) y" },
	{ "WITH w AS (SELECT a FROM t LIMIT 1) SELECT x.a, y.a FROM w x, w y",
	  "WITH w AS (SELECT a FROM t LIMIT 1), z AS (SELECT a FROM t LIMIT 1) SELECT x.a, y.a FROM "
	  "w x, z y" },
	{ "WITH w AS (SELECT random() AS r) SELECT (SELECT r FROM w), (SELECT r FROM w)",
	  "SELECT (WITH w AS (SELECT random() AS r) SELECT r FROM w), "
	  "(WITH w AS (SELECT random() AS r) SELECT r FROM w)" },
	{ "SELECT a FROM t WHERE roll(a) = 1 OR roll(a) = 2", "SELECT a FROM t WHERE roll(a) IN (1, 2)" },
	/* a WITH query is seen by name from where it stands */
	{ "WITH RECURSIVE c AS (SELECT * FROM b), b AS (SELECT 1 AS i) "
	  "SELECT * FROM (WITH b AS (SELECT 2 AS i) SELECT * FROM c) s",
	  "WITH RECURSIVE c AS (SELECT * FROM b), b AS (SELECT 2 AS i) "
	  "SELECT * FROM (WITH b AS (SELECT 2 AS i) SELECT * FROM c) s" },
	{ "WITH RECURSIVE r(i) AS ((SELECT 1 UNION ALL SELECT 2) UNION ALL SELECT i + 1 FROM r WHERE "
	  "i < 5) "
	  "SELECT i FROM r",
	  "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL (SELECT 2 UNION ALL SELECT i + 1 FROM r WHERE "
	  "i < 5)) "
	  "SELECT i FROM r" },
	/* types and literals */
	{ "SELECT 1.0 * a FROM t", "SELECT 1.00 * a FROM t" },
	{ "SELECT f + (f + r) FROM t", "SELECT (f + f) + r FROM t" },
	{ "SELECT greatest(n, 1) FROM t", "SELECT greatest(1, n) FROM t" },
	{ "SELECT c = 'a '::text FROM t", "SELECT c = 'a ' FROM t" },
	{ "SELECT n::numeric(10,1) FROM t", "SELECT n FROM t" },
	{ "SELECT ts::date FROM t", "SELECT ts FROM t" },
	{ "SELECT 't' AND 't'", "SELECT 't'" },
	{ "SELECT NOT NOT 't'", "SELECT 't'" },
	{ "SELECT a FROM t WHERE d > '2020-01-01'", "SELECT a FROM t WHERE ts > '2020-01-01'" },
	/* what has an error equals only itself */
	{ "SELECT a, b FROM t GROUP BY a", "SELECT a, t.b FROM t GROUP BY a" },
	{ "SELECT isnull(a) FROM t", "SELECT a IS NULL FROM t" },
	{ "SELECT a FROM other.public.t", "SELECT a FROM public.t" },
	/* order */
	{ "SELECT a FROM (SELECT a FROM t ORDER BY a LIMIT 5) q", "SELECT a FROM t ORDER BY a LIMIT 5" },
	{ "SELECT array_agg(a) FROM (SELECT a FROM t ORDER BY b) q",
	  "SELECT array_agg(a) FROM (SELECT a FROM t) q" },
	{ "SELECT a FROM t ORDER BY a USING >", "SELECT a FROM t ORDER BY a USING > NULLS LAST" },
	{ "SELECT a FROM t HAVING true", "SELECT a FROM t" },
	{ "SELECT count(*) FROM t HAVING true", "SELECT a FROM t" },
	{ "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM o WHERE false ORDER BY count(*))",
	  "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM o WHERE false)" },
	{ "SELECT a FROM t WHERE 1 IN (SELECT 1 FROM o WHERE false ORDER BY max(x))",
	  "SELECT a FROM t WHERE 1 IN (SELECT 1 FROM o WHERE false)" },
	{ "SELECT count(*) FROM (SELECT a FROM t ORDER BY generate_series(1, 3)) q",
	  "SELECT count(*) FROM (SELECT a FROM t) q" },
	/* aliases of functions name columns */
	{ "SELECT 1 FROM json_each('{}') AS n(c1), t", "SELECT 1 FROM json_each('{}') AS n(c1, t)" },
	{ "SELECT x.k FROM jsonb_to_record('{}') AS x(k integer, l text)",
	  "SELECT x.k FROM jsonb_to_record('{}') AS x(k bigint, l text)" },
	{ "SELECT x.k FROM jsonb_to_record('{}') AS x(k integer, l integer)",
	  "SELECT x.k FROM jsonb_to_record('{}') AS x(l integer, k integer)" },
	/* texts do not run into each other */
	{ "SELECT 'a), (b'", "SELECT 'a', 'b'" },
	{ "SELECT \"a, b\" FROM (SELECT 1 AS \"a, b\", 2 AS a, 3 AS b) q",
	  "SELECT a, b FROM (SELECT 1 AS \"a, b\", 2 AS a, 3 AS b) q" },
};

static void test_unequal_with_catalog(void **state)
{
	(void)state;
	assert_int_equal(
		count_wrong(unequal_with_catalog, COUNT(unequal_with_catalog), SQL_POSTGRESQL, true, false),
		0);
}

/* The result's types, and which of equal values is kept, come from the order of the operands. */
static void test_order_of_operands(void **state)
{
	static const char *const operands[][2] = {
		{ "SELECT c FROM t", "SELECT s FROM o" },
		{ "SELECT c FROM t", "SELECT v FROM t" },
		{ "SELECT v FROM t", "SELECT s FROM o" },
		{ "SELECT a FROM t", "SELECT big FROM o" },
		{ "SELECT a FROM t", "SELECT n FROM t" },
		{ "SELECT r FROM t", "SELECT f FROM t" },
		{ "SELECT d FROM t", "SELECT ts FROM t" },
		{ "SELECT c FROM t", "SELECT c::char(9) FROM t" },
		{ "SELECT a, c FROM t", "SELECT x, s FROM o" },
		{ "SELECT s FROM t", "SELECT 'x'" },
		{ "SELECT zz FROM t", "SELECT a FROM t" },
	};
	/* of one type, yet equal values may look different */
	static const char *const look[][2] = {
		{ "SELECT n FROM t", "SELECT n * 1.00 FROM t" },
		{ "SELECT f FROM t", "SELECT -f FROM t" },
		{ "SELECT s FROM t", "SELECT s FROM o" },
		{ "SELECT a, n FROM t", "SELECT x, 1.0 FROM o" },
	};
	static const char *const operations[] = { "UNION",  "INTERSECT",  "INTERSECT ALL",
						  "EXCEPT", "EXCEPT ALL", "UNION ALL" };
	unsigned wrong = 0;
	(void)state;
	for (size_t i = 0; i < COUNT(operands) + COUNT(look); i++) {
		const char *const *arms = i < COUNT(operands) ? operands[i] : look[i - COUNT(operands)];
		for (size_t k = 0; k < COUNT(operations) - (i >= COUNT(operands)); k++) {
			char a[200], b[200];
			snprintf(a, sizeof a, "%s %s %s", arms[0], operations[k], arms[1]);
			snprintf(b, sizeof b, "%s %s %s", arms[1], operations[k], arms[0]);
			wrong += count_wrong(&(struct pair){ a, b }, 1, SQL_POSTGRESQL, true, false);
		}
	}
	static const struct pair pairs[] = {
		/* integer to real to double precision, or at once */
		{ "SELECT a FROM t UNION ALL SELECT r FROM t UNION ALL SELECT f FROM t",
		  "SELECT a FROM t UNION ALL (SELECT r FROM t UNION ALL SELECT f FROM t)" },
		{ "SELECT x FROM o UNION SELECT a FROM t UNION SELECT n FROM t",
		  "SELECT n FROM t UNION (SELECT a FROM t UNION SELECT x FROM o)" },
		/* the UNION keeps one of what comes in that order */
		{ "(SELECT n FROM t UNION ALL SELECT n * 2 FROM t) UNION SELECT n FROM t",
		  "(SELECT n * 2 FROM t UNION ALL SELECT n FROM t) UNION SELECT n FROM t" },
		{ "VALUES ('a'::char(5)), ('b'::text)", "VALUES ('b'::text), ('a'::char(5))" },
		{ "VALUES (1), (2.5)", "VALUES (2.5), (1)" },
	};
	wrong += count_wrong(pairs, COUNT(pairs), SQL_POSTGRESQL, true, false);
	assert_int_equal(wrong, 0);
}

static void *analyse_cycles(void *context)
{
	/* `zz` is no column of t: from outside it looks like the one that it makes up */
	static const char *const statements[] = {
		"SELECT q.zz FROM (SELECT zz + 1 AS zz FROM t) AS q, p",
		"SELECT q.a1 FROM (SELECT q AS a1 FROM t) AS q, p",
		"SELECT q.y1 FROM (SELECT zz + 1 AS y1, y1 + 1 AS zz FROM t) AS q, p",
		"WITH q AS (SELECT zz + 1 AS zz FROM t) SELECT zz FROM q, p WHERE zz > 1",
	};
	unsigned *texts = context;
	for (size_t i = 0; i < COUNT(statements); i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		str_t canonical = analyse_as(statements[i], SQL_POSTGRESQL, true, arena).canonical;
		if (str_present(canonical) && strncmp(canonical.ptr, "text: ", 6) == 0)
			++*texts;
		else
			print_error("%s\n  " STR_FMT "\n", statements[i], STR_ARG(canonical));
	}
	return NULL;
}

static void test_cycles_end_at_once(void **state)
{
	unsigned texts = 0;
	pthread_attr_t attributes;
	pthread_t thread;
	(void)state;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, (size_t)1 << 20);
	assert_int_equal(pthread_create(&thread, &attributes, analyse_cycles, &texts), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
	assert_int_equal(texts, 4);
}

/* Without a catalog nothing may hang on what is not known. */
static void test_unequal_without_catalog(void **state)
{
	static const struct pair pairs[] = {
		{ "SELECT a AS m, b AS k FROM t GROUP BY (m)", "SELECT a AS k, b AS m FROM t GROUP BY (m)" },
		{ "SELECT x FROM t JOIN u USING (x)", "SELECT t.x FROM t JOIN u ON t.x = u.x" },
		{ "SELECT a FROM t NATURAL JOIN u", "SELECT a FROM t JOIN u ON t.i = u.i" },
		{ "SELECT id FROM a JOIN b USING (id) JOIN (c JOIN d ON true) USING (id)",
		  "SELECT id FROM a JOIN b USING (id) JOIN (c JOIN d ON true) ON true" },
		{ "SELECT a FROM t UNION SELECT b FROM u", "SELECT b FROM u UNION SELECT a FROM t" },
		{ "SELECT a FROM t UNION ALL SELECT b FROM u", "SELECT b FROM u UNION ALL SELECT a FROM t" },
		{ "SELECT '1' UNION SELECT '01' UNION SELECT 1",
		  "SELECT 1 UNION SELECT '01' UNION SELECT '1'" },
		{ "SELECT a FROM t WHERE NOT (a IS NULL)", "SELECT a FROM t WHERE a IS NOT NULL" },
		{ "SELECT coalesce(a, b) FROM t", "SELECT \"coalesce\"(a, b) FROM t" },
		{ "SELECT a IS NULL FROM t", "SELECT isnull(a) FROM t" },
		{ "SELECT i FROM t INTERSECT SELECT j FROM u INTERSECT SELECT k FROM v",
		  "SELECT i FROM t INTERSECT (SELECT j FROM u INTERSECT SELECT k FROM v)" },
	};
	(void)state;
	assert_int_equal(count_wrong(pairs, COUNT(pairs), SQL_POSTGRESQL, false, false), 0);
}

/* SQLite compares by the collation of the left column, and lets conditions name outputs. */
static void test_unequal_in_sqlite(void **state)
{
	static const struct pair pairs[] = {
		{ "SELECT a FROM t, u WHERE t.x = u.y", "SELECT a FROM t, u WHERE u.y = t.x" },
		{ "SELECT a + b AS s, c AS r FROM t WHERE s > 3",
		  "SELECT a + b AS r, c AS s FROM t WHERE s > 3" },
		{ "SELECT a FROM t UNION SELECT b FROM u", "SELECT b FROM u UNION SELECT a FROM t" },
		{ "SELECT a FROM t UNION ALL SELECT b FROM u", "SELECT b FROM u UNION ALL SELECT a FROM t" },
		{ "SELECT a FROM t ORDER BY a", "SELECT a FROM t ORDER BY a NULLS LAST" },
		{ "SELECT a FROM t WHERE b = TRUE", "SELECT a FROM t WHERE b" },
	};
	(void)state;
	assert_int_equal(count_wrong(pairs, COUNT(pairs), SQL_SQLITE, false, false), 0);
}

static void test_shape(void **state)
{
	static const struct {
		const char *a, *b;
		bool same;
	} cases[] = {
		{ "SELECT a FROM t WHERE b = 1", "select x.a from t x where 77 = x.b", true },
		{ "SELECT a FROM t WHERE b IN (1, 2)", "SELECT a FROM t WHERE b IN (5, 6, 7, 8)", true },
		{ "SELECT a FROM t WHERE a > 5 AND b < 3", "SELECT a FROM t WHERE b < 9 AND a > 1", true },
		{ "SELECT a FROM t WHERE s = 'it''s' LIMIT 3", "SELECT a FROM t WHERE s = '' LIMIT 40",
		  true },
		{ "SELECT a FROM t WHERE d > '2020-01-01 00:00:00'", "SELECT a FROM t WHERE d > 'x'", true },
		{ "SHOW work_mem", "show WORK_MEM;", true },
		{ "SELECT xmlelement(NAME a, 1)", "SELECT xmlelement(NAME a, 'b')", true },
		{ "SELECT a FROM t WHERE b = 1", "SELECT a FROM t WHERE c = 1", false },
		{ "SELECT a FROM t LIMIT 1", "SELECT a FROM t", false },
		{ "SELECT a FROM t", "SELECT DISTINCT a FROM t", false },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_analysis a = analyse_as(cases[i].a, SQL_POSTGRESQL, i % 2, arena);
		struct sql_analysis b = analyse_as(cases[i].b, SQL_POSTGRESQL, i % 2, arena);
		assert_int_equal(a.shape.len, 16);
		assert_int_equal(strspn(a.shape.ptr, "0123456789abcdef"), 16);
		if (str_equal(a.shape, b.shape) != cases[i].same)
			print_error("%s\n%s\n", cases[i].a, cases[i].b);
		assert_int_equal(str_equal(a.shape, b.shape), cases[i].same);
	}
	_cleanup_(arena_scope) struct arena *arena = arena_new();
	assert_false(str_present(analyse_as("SELECT FROM WHERE", SQL_POSTGRESQL, false, arena).shape));
}

/* Not by the order of anything that has none, nor by names, case, space and comments. */
static void test_is_stable(void **state)
{
	static const char *const same[] = {
		"SELECT x.a, count(*) FROM t x LEFT JOIN o y ON x.id = y.tid WHERE x.b > 1 AND x.s = 'A' "
		"GROUP BY x.a",
		"select\tX.A,\n COUNT(*) from T as X left outer join O as Y on (X.ID = Y.TID) -- it's\n"
		"where (X.B > 1) and X.S = 'A' group by X.A",
		"SELECT l.a AS one, count(*) AS two FROM public.t l LEFT JOIN o r ON r.tid = l.id "
		"WHERE l.s = 'A' AND 1 < l.b GROUP BY 1 /* a; b */;",
		"SELECT t.a, count(*) FROM o RIGHT JOIN t ON t.id = o.tid WHERE t.s = 'A' AND t.b > 1 GROUP "
		"BY t.a",
	};
	_cleanup_(arena_scope) struct arena *arena = arena_new();
	str_t first = analyse_as(same[0], SQL_POSTGRESQL, true, arena).canonical;
	(void)state;
	for (size_t i = 0; i < COUNT(same); i++)
		for (unsigned k = 0; k < 3; k++)
			assert_string_equal(analyse_as(same[i], SQL_POSTGRESQL, true, arena).canonical.ptr,
					    first.ptr);
}

/* Statements of about 60 KiB and what they may take, in a build without optimisation and under load. */
static void test_costs_are_bounded(void **state)
{
	static const struct {
		const char *before, *repeated, *behind;
	} cases[] = {
		{ "SELECT a FROM t WHERE a IN (0", ",1", ")" },
		{ "SELECT a FROM t WHERE a = 0", " OR a = 1", "" },
		{ "SELECT a FROM t WHERE a = 0", " AND b = 1", "" },
		{ "SELECT a", ",a", " FROM t" },
		{ "SELECT 'x'", ",'y'", "" },
		{ "SELECT a FROM t ORDER BY a", ",b", "" },
		{ "SELECT a FROM t GROUP BY a", ",b", "" },
		{ "SELECT a FROM t x0", ",t", "" },
		{ "SELECT a FROM t WHERE a NOT IN (0", ",1", ")" },
		{ "VALUES (1)", ",(2)", "" },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct buf sql = BUF_INIT;
		buf_append_text(&sql, cases[i].before);
		while (sql.len < 60000)
			buf_append_text(&sql, cases[i].repeated);
		buf_append_text(&sql, cases[i].behind);
		struct timespec start, end;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
		(void)analyse_as(sql.data, SQL_SQLITE, false, arena);
		(void)analyse_as(sql.data, SQL_POSTGRESQL, true, arena);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
		double ms = (double)(end.tv_sec - start.tv_sec) * 1e3 +
			    (double)(end.tv_nsec - start.tv_nsec) / 1e6;
		if (ms > 5000)
			print_error("%s%s…: %.0f ms\n", cases[i].before, cases[i].repeated, ms);
		assert_true(ms < 5000);
		buf_free(&sql);
	}
}

static int load(void **state)
{
	struct err_detail detail = { "" };
	(void)state;
	if (ddl_compile(STR(schema), &catalog, &detail) == ERR_OK)
		return 0;
	print_error("%s\n", detail.message);
	return -1;
}

static int unload(void **state)
{
	(void)state;
	catalog_unref(catalog);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_with_catalog),
		cmocka_unit_test(test_unequal_with_catalog),
		cmocka_unit_test(test_order_of_operands),
		cmocka_unit_test(test_cycles_end_at_once),
		cmocka_unit_test(test_unequal_without_catalog),
		cmocka_unit_test(test_unequal_in_sqlite),
		cmocka_unit_test(test_shape),
		cmocka_unit_test(test_is_stable),
		cmocka_unit_test(test_costs_are_bounded),
	};
	return cmocka_run_group_tests(tests, load, unload);
}
