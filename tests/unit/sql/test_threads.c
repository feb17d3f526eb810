/*
 * Eight threads analyse the same statements against the same catalogs at once, and come to the same results
 * as one alone: under ThreadSanitizer, nothing is shared that changes.
 */
#include "sql/dialects.h"
#include "sql/findings/analysis.h"
#include "sql/postgresql/ddl/ddl.h"
#include "sql/redact.h"

#include "common/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define THREADS 8
#define ROUNDS	20

static const struct {
	enum sql_dialect dialect;
	const char *sql;
} statements[] = {
	{ SQL_POSTGRESQL, "SELECT t.id, u.a FROM t JOIN u ON u.t_id = t.id WHERE t.a LIKE '%x' ORDER BY 1" },
	{ SQL_POSTGRESQL, "WITH x AS (SELECT * FROM v) SELECT count(*), max(b) FROM x, t GROUP BY x.id" },
	{ SQL_POSTGRESQL, "SELECT nope, f(1), pg_sleep(1) FROM nowhere" },
	{ SQL_POSTGRESQL, "SELECT (" },
	{ SQL_SQLITE, "SELECT t.id, u.a FROM t JOIN u ON u.t_id = t.id WHERE t.a LIKE '%x' ORDER BY 1" },
	{ SQL_SQLITE, "SELECT nope, frob(1) FROM nowhere, t WHERE abs(1, 2) = 3" },
	{ SQL_SQLITE, "SELECT load_extension('x')" },
	{ SQL_MYSQL, "SELECT `id`, count(*) FROM t WHERE a = \"x\" GROUP BY id LIMIT 3" },
};

#define STATEMENTS (sizeof statements / sizeof statements[0])

static struct catalog *catalogs[SQL_MYSQL + 1];
static struct arena *arena_of_expected;
static struct sql_analysis expected[STATEMENTS][2];
static str_t redacted[STATEMENTS];
static unsigned differences[THREADS];

static struct sql_analysis analyse(size_t statement, bool with_catalog, struct arena *arena)
{
	struct sql_request request = {
		.sql = str_from(statements[statement].sql),
		.dialect = statements[statement].dialect,
		.catalog = with_catalog ? catalogs[statements[statement].dialect] : NULL,
	};
	struct sql_analysis analysis;
	sql_analyse(&request, arena, &analysis);
	return analysis;
}

static bool same(const struct sql_analysis *a, const struct sql_analysis *b)
{
	bool same = a->verdict == b->verdict && a->valid == b->valid &&
		    a->diagnostics_count == b->diagnostics_count &&
		    a->violations_count == b->violations_count && str_equal(a->canonical, b->canonical);
	for (size_t i = 0; same && i < a->diagnostics_count; i++)
		same = str_equal(a->diagnostics[i].message, b->diagnostics[i].message);
	for (size_t i = 0; same && i < a->violations_count; i++)
		same = str_equal(a->violations[i].detail, b->violations[i].detail);
	return same;
}

static void run(void *context, unsigned index)
{
	(void)context;
	for (size_t i = 0; i < ROUNDS * STATEMENTS; i++) {
		struct arena *arena = arena_new();
		size_t statement = (i + index) % STATEMENTS;
		bool with_catalog = i / STATEMENTS % 2;
		struct sql_analysis analysis = analyse(statement, with_catalog, arena);
		str_t text = sql_redact_literals(str_from(statements[statement].sql),
						 statements[statement].dialect, arena);
		differences[index] += !same(&analysis, &expected[statement][with_catalog]);
		differences[index] += !str_equal(text, redacted[statement]);
		arena_free(arena);
	}
}

static void test_concurrent(void **state)
{
	(void)state;
	pool_join(pool_start("analyse", THREADS, run, NULL));
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(differences[i], 0);
}

static int load(void **state)
{
	static const char schema[] = "CREATE TABLE t (id int PRIMARY KEY, a text, b numeric);"
				     "CREATE TABLE u (id int, t_id int NOT NULL, a text);"
				     "CREATE VIEW v AS SELECT t.id, u.a, t.b FROM t JOIN u ON u.t_id = t.id;"
				     "CREATE FUNCTION f(x int) RETURNS int LANGUAGE sql IMMUTABLE AS '';";
	static const char definitions[] = "[\"CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, b NUMERIC)\","
					  " \"CREATE TABLE u (id INTEGER, t_id INTEGER NOT NULL, a TEXT)\"]";
	(void)state;
	if (ddl_compile(STR(schema), &catalogs[SQL_POSTGRESQL], NULL) != ERR_OK ||
	    catalog_compile_sqlite(STR(definitions), &catalogs[SQL_SQLITE], NULL) != ERR_OK)
		return -1;
	arena_of_expected = arena_new();
	for (size_t i = 0; i < STATEMENTS; i++) {
		expected[i][0] = analyse(i, false, arena_of_expected);
		expected[i][1] = analyse(i, true, arena_of_expected);
		redacted[i] = sql_redact_literals(str_from(statements[i].sql), statements[i].dialect,
						  arena_of_expected);
	}
	return 0;
}

static int drop(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof catalogs / sizeof catalogs[0]; i++)
		catalog_unref(catalogs[i]);
	arena_free(arena_of_expected);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_concurrent) };
	return cmocka_run_group_tests(tests, load, drop);
}
