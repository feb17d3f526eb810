/*
 * Safety verdicts by what real databases hold: by the catalog of a live one, by dumps that say less than it
 * does, and by the text alone.
 */
#include "harness/postgres.h"
#include "sql/analysis.h"
#include "unit/sql/catalogs.h"

#include <libpq-fe.h>

DEFINE_CLEANUP(struct arena, arena_scope, arena_free)

static struct test_postgres server;
static PGconn *connection;

static PGresult *ask(const char *sql)
{
	PGresult *result = PQexec(connection, sql);
	ExecStatusType status = PQresultStatus(result);
	if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
		fail_msg("%s (%.200s)", PQerrorMessage(connection), sql);
	return result;
}

static struct catalog *read_catalog(void)
{
	struct catalog *catalog = NULL;
	struct err_detail detail = { "" };
	PGresult *result = ask(CATALOG_QUERY_POSTGRESQL);
	if (catalog_compile_postgresql(str_from(PQgetvalue(result, 0, 0)), &catalog, &detail) != ERR_OK)
		fail_msg("%s", detail.message);
	PQclear(result);
	return catalog;
}

static enum sql_verdict judge(const char *sql, const struct catalog *catalog)
{
	_cleanup_(arena_scope) struct arena *arena = arena_new();
	struct sql_request request = { .sql = str_from(sql), .catalog = catalog, .target_named = catalog };
	struct sql_analysis analysis;
	sql_analyse(&request, arena, &analysis);
	return analysis.verdict;
}

/* --- extensions --- */

/* Creates all that can be created here; returns their number. */
static unsigned create_extensions(void)
{
	PGresult *names = ask("SELECT quote_ident(name) FROM pg_available_extensions ORDER BY 1");
	unsigned created = 0;
	for (int i = 0; i < PQntuples(names); i++) {
		char command[200];
		snprintf(command, sizeof command, "CREATE EXTENSION IF NOT EXISTS %s CASCADE",
			 PQgetvalue(names, i, 0));
		PGresult *result = PQexec(connection, command);
		if (PQresultStatus(result) == PGRES_COMMAND_OK)
			created++;
		else
			printf("left out: %s", PQerrorMessage(connection));
		PQclear(result);
	}
	PQclear(names);
	return created;
}

/* Calls of the extensions' functions, operators and types that run volatile code, each with the name of its
 * extension. */
static const char calls[] =
	"WITH members AS (SELECT d.classid, d.objid, e.extname FROM pg_depend d JOIN pg_extension e ON e.oid "
	"= d.refobjid"
	"  WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'),"
	"functions AS (SELECT m.extname, p.pronamespace::regnamespace::text AS schema, "
	"quote_ident(p.proname) AS name,"
	"    p.pronargs, p.proretset, coalesce(a.nulls, '') AS nulls, coalesce(a.typed, '') AS typed,"
	"    p.proargtypes[0] < 16384 AS plain, format_type(p.proargtypes[0], NULL) AS first,"
	"    p.proname IN (SELECT b.proname FROM pg_proc b WHERE b.pronamespace = 'pg_catalog'::regnamespace"
	"                  AND b.proargtypes = p.proargtypes) AS hidden"
	"  FROM members m JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND m.objid = p.oid"
	"  LEFT JOIN LATERAL (SELECT string_agg('NULL', ', ') AS nulls, string_agg(CASE WHEN t.id < 16384"
	"      AND format_type(t.id, NULL) !~ '^any|internal|cstring' THEN 'NULL::' || format_type(t.id, "
	"NULL) ELSE 'NULL' END, ', '"
	"      ORDER BY t.n) AS typed FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY AS t (id, n)) a ON "
	"true"
	"  WHERE p.provolatile = 'v' AND NOT 'internal'::regtype = ANY (p.proargtypes::oid[])"
	"    AND p.prokind <> 'p' AND p.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype))"
	"SELECT extname, format('SELECT %s.%s(%s)', schema, name, nulls) FROM functions "
	"UNION ALL SELECT extname, format('SELECT * FROM %s.%s(%s) AS x', schema, name, typed) FROM "
	"functions "
	"UNION ALL SELECT extname, format('SELECT 1 WHERE %s(%s) IS NULL', name, nulls) FROM functions WHERE "
	"NOT hidden "
	"UNION ALL SELECT extname, format('SELECT 1 LIMIT (SELECT count(*) FROM %s(%s) x)', name, typed) "
	"FROM functions"
	"  WHERE NOT hidden "
	"UNION ALL SELECT extname, format('SELECT (NULL::%s).%s', first, name) FROM functions"
	"  WHERE NOT hidden AND pronargs = 1 AND plain AND first !~ '^any|cstring'";

static void volatile_functions_of_extensions_are_never_safe(void **state)
{
	unsigned missed = 0;
	(void)state;
	assert_true(create_extensions() > 30);
	struct catalog *live = read_catalog();
	PGresult *rows = ask(calls);
	for (int i = 0; i < PQntuples(rows); i++) {
		char dump[200];
		const char *sql = PQgetvalue(rows, i, 1);
		snprintf(dump, sizeof dump, "CREATE TABLE t (id int); CREATE EXTENSION \"%s\";",
			 PQgetvalue(rows, i, 0));
		struct catalog *named = compile_sql(dump);
		enum sql_verdict by_text = judge(sql, NULL), by_name = judge(sql, named);
		enum sql_verdict by_catalog = judge(sql, live);
		if (by_text == SQL_SAFE || by_name == SQL_SAFE || by_catalog != SQL_UNSAFE) {
			print_error("%s: text %d, dump %d, catalog %d\n", sql, (int)by_text, (int)by_name,
				    (int)by_catalog);
			missed++;
		}
		catalog_unref(named);
	}
	printf("%d calls of volatile functions of extensions, %u of them missed\n", PQntuples(rows), missed);
	assert_true(PQntuples(rows) > 300);
	assert_int_equal(missed, 0);
	PQclear(rows);
	catalog_unref(live);
}

static int start(void **state)
{
	(void)state;
	connection = PQconnectdb(server.socket_dsn);
	if (PQstatus(connection) != CONNECTION_OK)
		return -1;
	PQclear(ask("SET client_min_messages = error"));
	return 0;
}

static int finish(void **state)
{
	(void)state;
	PQfinish(connection);
	return test_postgres_do(&server, "stop");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(volatile_functions_of_extensions_are_never_safe),
	};
	int status = test_postgres_start(&server, NULL);
	return status ? status : cmocka_run_group_tests(tests, start, finish);
}
