/*
 * The gate's bounds against the parser behind it: for every way to build something deep or long, the largest
 * text that passes is analysed within a fraction of the stack that the daemon's threads have, in bounded
 * time.
 */
#include "sql/dialects.h"
#include "sql/findings/analysis.h"
#include "sql/lex/gate.h"
#include "sql/postgresql/ddl/ddl.h"
#include "sql/redact.h"

#include "common/buf.h"
#include "common/pool.h"

#include <pthread.h>
#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define STACK_BYTES POOL_STACK_BYTES
#else
#define STACK_BYTES (POOL_STACK_BYTES / 16)
#endif

/* A text that costs more than this is quadratic in something; machines that run tests may be slow and busy.
 */
#define CPU_MAX_S 5.0

struct shape {
	const char *head;
	const char *unit; /* as often as the gate lets through */
	const char *tail;
};

static const struct shape shapes[] = {
	{ "SELECT 1", "+1", "" },
	{ "SELECT a", "+a", " FROM t" },
	{ "SELECT 'a'", "||'a'", "" },
	{ "SELECT true", " AND true", "" },
	{ "SELECT true", " OR a=1", " FROM t" },
	{ "SELECT ", "NOT ", "true" },
	{ "SELECT ", "- ", "1" },
	{ "SELECT ", "~ ", "1" },
	{ "SELECT ", "@ ", "1" },
	{ "SELECT 1", "::int", "" },
	{ "SELECT a", " COLLATE \"C\"", " FROM t" },
	{ "SELECT a", " COLLATE c", " FROM t" },
	{ "SELECT a", " AT TIME ZONE b", " FROM t" },
	{ "SELECT a", " IS NULL", " FROM t" },
	{ "SELECT a", " ISNULL", " FROM t" },
	{ "SELECT a", "[1]", " FROM t" },
	{ "SELECT (a)", ".b", " FROM t" },
	{ "SELECT a", ".b", " FROM t" },
	{ "SELECT 1 FROM t", " JOIN t ON true", "" },
	{ "SELECT 1 FROM t", " CROSS JOIN t", "" },
	{ "SELECT 1 FROM t", " NATURAL JOIN t", "" },
	{ "SELECT 1 FROM t", " JOIN t USING(a)", "" },
	{ "SELECT 1 FROM t", " JOIN u x USING(id)", "" },
	{ "SELECT 1 FROM t", ",t", "" },
	{ "SELECT 1", " UNION SELECT 1", "" },
	{ "SELECT * FROM t", " UNION ALL SELECT * FROM t", "" },
	{ "SELECT 1", " EXCEPT SELECT 1", "" },
	{ "SELECT 1", " INTERSECT TABLE t", "" },
	{ "TABLE t", " UNION TABLE t", "" },
	{ "VALUES(1)", ",(1)", "" },
	{ "WITH a AS(SELECT 1)", ",b AS(SELECT 1)", " SELECT 1" },
	{ "WITH a AS(SELECT 1)", ",a AS(SELECT*FROM a)", " SELECT * FROM a" },
	{ "SELECT a IN(1", ",1", ") FROM t" },
	{ "SELECT 1", ",1", "" },
	{ "SELECT a", ",a", " FROM t" },
	{ "SELECT *", ",*", " FROM t" },
	{ "SELECT f(1)", ",f(1)", "" },
	{ "SELECT ", "f(", "1" },
	{ "SELECT ", "(", "1" },
	{ "SELECT ", "(",
	  "1)))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))"
	  ")))))))))))))))))))))))))))))))" },
	{ "SELECT ", "(SELECT ", "1" },
	{ "SELECT CASE", " WHEN a=1 THEN 1", " END FROM t" },
	{ "SELECT ", "CASE WHEN true THEN ", "1" },
	{ "SELECT ROW(1", ",1", ")" },
	{ "SELECT ARRAY[1", ",1", "]" },
	{ "SELECT a", " LIKE a", " FROM t" },
	{ "SELECT a", " IS DISTINCT FROM a", " FROM t" },
	{ "SELECT a", " = ANY(a)", " FROM t" },
	{ "SELECT a", " @@ a", " FROM t" },
	{ "SELECT a", " OPERATOR(pg_catalog.+) a", " FROM t" },
	{ "SELECT a", " !", " FROM t" },
	{ "SELECT a FROM t ORDER BY a", ",a", "" },
	{ "SELECT a FROM t GROUP BY a", ",a", "" },
	{ "SELECT a", " OVER()", " FROM t" },
	{ "SELECT count(*)OVER()", ",count(*)OVER()", " FROM t" },
	{ "SELECT 1 WHERE EXISTS(SELECT 1)", " AND EXISTS(SELECT 1)", "" },
	{ "SELECT 'a'", ",'a'", "" },
	{ "SELECT 1", ";", "" },
	{ "SELECT 1", ";SELECT 1", "" },
	{ "SELECT 1", "/**/", "" },
	{ "SELECT 1", "--\n", "" },
	{ "SELECT 1 ", "/*", "" },
	{ "SELECT 1 ", "/*/*/*/*/*/*/*/**/*/*/*/*/*/*/*/", "" },
	{ "SELECT a", " a", "" },
	{ "SELECT ", "$1,", "1" },
	{ "SELECT ", "$a$", "1" },
	{ "SELECT 1", ",$$a$$", "" },
	{ "SELECT ", "'", "1" },
	{ "SELECT a", " % a", " FROM t" },
	{ "SELECT a BETWEEN a", " AND a", " FROM t" },
	{ "SELECT a", " NOT IN (1)", " FROM t" },
	{ "SELECT a", " < a", " FROM t" },
	{ "SELECT 1 FROM t WHERE a='x'", " AND a='x'", "" },
	{ "SELECT interval '1'", ",interval '1'", "" },
	{ "SELECT date '1'", ",int '1'", "" },
	{ "SELECT 1 FROM t", ",LATERAL(SELECT 1)x", "" },
	{ "SELECT 1 FROM f()", ",f()", "" },
	{ "SELECT 1 GROUP BY GROUPING SETS(()", ",()", ")" },
	{ "SELECT a", "->'b'", " FROM t" },
	{ "SELECT U&'a'", ",U&'a'", "" },
	{ "SELECT t.a", ",t.a", " FROM t" },
	{ "SELECT t.id,u.id FROM t JOIN u ON u.t_id=t.id WHERE t.id=u.id", " AND t.id=u.t_id", "" },
	{ "SELECT zz", ",zz", " FROM t" },
	{ "SELECT 1 FROM t TABLESAMPLE x(1)", ",t TABLESAMPLE x(1)", "" },
	{ "SELECT 1 FROM zz", ",zz", "" },
	{ "SELECT 1 FROM (SELECT 1)x", ",(SELECT 1)x", "" },
	{ "SELECT * FROM t", " NATURAL JOIN u", "" },
	{ "SELECT 1 FROM t WHERE a IN(SELECT a FROM u)", " OR a IN(SELECT a FROM u)", "" },
	{ "SELECT ", "xmlelement(name a,", "1" },
	{ "SELECT ", "+-", "1" },
	{ "SELECT ", "~-", "1" },
	{ "SELECT ", "(- - - - - - - -", "1" },
	{ "SELECT ((((((((1", "+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1)", "" },
	{ "SELECT ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1",
	  "+1+1+1+1+1+1+1+1+1+1+1+1+1)", "" },
	{ "SELECT a", " IS NULL BETWEEN 1 AND 2", " FROM t" },
	{ "SELECT 1", ",aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
	  "" },
	{ "SELECT a", " NOT BETWEEN 1 AND 2", " FROM t" },
	{ "SELECT 1 IN(f(1)", ",f(1)", ")" },
	{ "SELECT a IN(1", ",(a+b)", ") FROM t" },
	{ "SELECT a IN(1", ",a[1]", ") FROM t" },
	{ "SELECT a IN(1", ",1::int", ") FROM t" },
	{ "SELECT a IN('a'", ",'a'", ") FROM t" },
	{ "SELECT a IN(b", ",b", ") FROM t" },
	{ "SELECT a IN(b", ",zz", ") FROM t" },
	{ "SELECT a IN(b", ",t.b", ") FROM t" },
	{ "SELECT a IN(b", ",CASE a WHEN 1 THEN 2 END", ") FROM t" },
	{ "SELECT a IN(b", ",int '1'", ") FROM t" },
	{ "SELECT a IN(b", ",lower(a)", ") FROM t" },
	{ "SELECT 1 FROM t WHERE a=b", " AND a=b", "" },
	{ "SELECT 1 FROM t WHERE a=b", " OR (a,b)=(b,a)", "" },
	{ "SELECT 1 FROM t WHERE a=b", " OR a LIKE '%a%'", "" },
	{ "SELECT 1 FROM t WHERE a=b", " OR NOT a", "" },
	{ "SELECT 1 FROM t WHERE a=b", " OR a IN(1)", "" },
	{ "VALUES(1", ",1", ")" },
	{ "VALUES('a')", ",('a')", "" },
	{ "SELECT 1 FROM t", " JOIN u ON t.id=u.t_id", "" },
	{ "SELECT 1 FROM t", " JOIN t a ON a.id=a.id", "" },
	{ "SELECT a+b FROM t GROUP BY a", "+b", "" },
};

static struct catalog *catalog;

static void build(const struct shape *shape, size_t times, struct buf *buf)
{
	buf_reset(buf);
	buf_append_text(buf, shape->head);
	for (size_t i = 0; i < times; i++)
		buf_append_text(buf, shape->unit);
	buf_append_text(buf, shape->tail);
}

/* The largest text of the shape that passes. */
static void build_largest(const struct shape *shape, struct buf *buf)
{
	size_t low = 0, high = GATE_MAX_BYTES;
	while (low < high) {
		size_t middle = (low + high + 1) / 2;
		build(shape, middle, buf);
		if (gate_check(buf_str(buf)).verdict == GATE_PASSED)
			low = middle;
		else
			high = middle - 1;
	}
	build(shape, low, buf);
	assert_int_equal(gate_check(buf_str(buf)).verdict, GATE_PASSED);
}

static void *analyse(void *context)
{
	const str_t *sql = context;
	for (unsigned i = 0; i < 2; i++) {
		struct arena *arena = arena_new();
		struct sql_request request = { .sql = *sql, .catalog = i ? catalog : NULL };
		struct sql_analysis analysis;
		sql_analyse(&request, arena, &analysis);
		(void)sql_redact_literals(*sql, SQL_POSTGRESQL, arena);
		arena_free(arena);
	}
	return NULL;
}

static double cpu_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void analyse_within(str_t sql, size_t stack_bytes)
{
	pthread_attr_t attributes;
	pthread_t thread;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, stack_bytes);
	assert_int_equal(pthread_create(&thread, &attributes, analyse, &sql), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
}

static void largest_texts(void **state)
{
	struct buf buf = BUF_INIT;
	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
		build_largest(&shapes[i], &buf);
		double start = cpu_seconds();
		analyse_within(buf_str(&buf), STACK_BYTES);
		double seconds = cpu_seconds() - start;
		if (seconds > CPU_MAX_S / 4)
			print_message("%s%s… of %zu bytes: %.0f ms\n", shapes[i].head, shapes[i].unit,
				      buf.len, seconds * 1e3);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
		assert_true(seconds < CPU_MAX_S);
#endif
	}
	buf_free(&buf);
}

static int load(void **state)
{
	(void)state;
	static const char schema[] = "CREATE TABLE t (id int PRIMARY KEY, a text, b numeric, tenant int);"
				     "CREATE TABLE u (id int, t_id int NOT NULL, a text);"
				     "CREATE FUNCTION f(x int) RETURNS int LANGUAGE sql IMMUTABLE AS '';";
	return ddl_compile(STR(schema), &catalog, NULL) == ERR_OK ? 0 : -1;
}

static int drop(void **state)
{
	(void)state;
	catalog_unref(catalog);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(largest_texts) };
	return cmocka_run_group_tests(tests, load, drop);
}
