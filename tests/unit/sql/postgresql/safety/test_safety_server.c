/*
 * Safety verdicts by what real databases hold: by the catalog of a live one, by dumps that say less than it
 * does, and by the text alone.
 */
#include "common/buf.h"
#include "sql/dialects.h"
#include "sql/findings/analysis.h"
#include "tests/harness/servers/postgres.h"
#include "tests/unit/sql/catalogs.h"

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

static enum sql_verdict judge(const char *sql, const struct catalog *catalog, const struct sql_policy *policy)
{
	_cleanup_(arena_scope) struct arena *arena = arena_new();
	struct sql_request request = {
		.sql = str_from(sql), .catalog = catalog, .target_named = catalog, .policy = policy
	};
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
		enum sql_verdict by_text = judge(sql, NULL, NULL), by_name = judge(sql, named, NULL);
		enum sql_verdict by_catalog = judge(sql, live, NULL);
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

/* --- what a read runs besides what is written --- */

static const char definitions[] =
	"CREATE TABLE plain (id int, note text);"
	"CREATE FUNCTION tame(int) RETURNS boolean LANGUAGE sql STABLE AS 'SELECT true';"
	"CREATE FUNCTION writes(int) RETURNS boolean LANGUAGE plpgsql AS"
	" 'BEGIN INSERT INTO plain VALUES ($1); RETURN true; END';"
	"CREATE FUNCTION writes(int, int) RETURNS int LANGUAGE sql AS 'SELECT 1';"
	"CREATE FUNCTION into_date(plain) RETURNS date LANGUAGE plpgsql AS 'BEGIN RETURN now(); END';"
	/* policies */
	"CREATE TABLE guarded (id int); ALTER TABLE guarded ENABLE ROW LEVEL SECURITY;"
	"CREATE POLICY p ON guarded USING (tame(id));"
	"CREATE TABLE hooked (id int); ALTER TABLE hooked ENABLE ROW LEVEL SECURITY;"
	"CREATE POLICY p ON hooked FOR SELECT USING (writes(id));"
	"CREATE TABLE hooked_writes (id int); ALTER TABLE hooked_writes ENABLE ROW LEVEL SECURITY;"
	"CREATE POLICY p ON hooked_writes FOR UPDATE USING (writes(id));"
	"CREATE TABLE idle (id int); CREATE POLICY p ON idle USING (writes(id));"
	"CREATE TABLE altered (id int); ALTER TABLE altered ENABLE ROW LEVEL SECURITY;"
	"CREATE POLICY p ON altered USING (true); ALTER POLICY p ON altered USING (writes(id));"
	"CREATE TABLE by_policy (id int); ALTER TABLE by_policy ENABLE ROW LEVEL SECURITY;"
	"CREATE POLICY p ON by_policy USING (id IN (SELECT g.id FROM guarded g));"
	"CREATE TABLE by_table (id int); ALTER TABLE by_table ENABLE ROW LEVEL SECURITY;"
	"CREATE POLICY p ON by_table USING (id IN (SELECT t.id FROM plain t WHERE t.note = current_user));"
	/* views, rules, domains, casts, operators, aggregates */
	"CREATE VIEW tame_view AS SELECT id FROM guarded;"
	"CREATE VIEW view_of_hook AS SELECT v.id FROM (SELECT id FROM hooked) v;"
	"CREATE VIEW calls AS SELECT writes(id) AS w FROM plain;"
	"CREATE TABLE ruled (w boolean); CREATE RULE \"_RETURN\" AS ON SELECT TO ruled DO INSTEAD"
	" SELECT writes(plain.id) AS w FROM plain;"
	"CREATE MATERIALIZED VIEW kept AS SELECT writes(id) AS w FROM plain;"
	"CREATE DOMAIN checked AS int CHECK (writes(VALUE)); CREATE DOMAIN harmless AS int CHECK "
	"(tame(VALUE));"
	"CREATE CAST (plain AS date) WITH FUNCTION into_date(plain);"
	"CREATE OPERATOR === (FUNCTION = writes, LEFTARG = int, RIGHTARG = int);"
	"CREATE AGGREGATE hooks(int) (SFUNC = writes, STYPE = int, INITCOND = '0');"
	"CREATE FUNCTION with_default(a int DEFAULT writes(1, 2)) RETURNS int LANGUAGE sql STABLE AS 'SELECT "
	"1';"
	"CREATE TABLE filled (id int DEFAULT writes(1, 2), twice int GENERATED ALWAYS AS (id * 2) STORED);"
	"CREATE TABLE parts (id int) PARTITION BY LIST (id); CREATE TABLE part PARTITION OF parts FOR VALUES "
	"IN (1);"
	"ALTER TABLE part ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON part USING (writes(id));"
	/* foreign tables */
	"CREATE EXTENSION file_fdw; CREATE FOREIGN DATA WRAPPER other;"
	"CREATE SERVER files FOREIGN DATA WRAPPER file_fdw;"
	"CREATE SERVER elsewhere FOREIGN DATA WRAPPER other OPTIONS (host 'h');"
	"CREATE SERVER programs FOREIGN DATA WRAPPER other OPTIONS (program 'id');"
	"CREATE FOREIGN TABLE remote (id int) SERVER elsewhere OPTIONS (table_name 'filename');"
	"CREATE FOREIGN TABLE runs (id int) SERVER files OPTIONS (program 'id', format 'text');"
	"CREATE FOREIGN TABLE file (id int) SERVER files OPTIONS (filename '/etc/passwd');"
	"CREATE FOREIGN TABLE by_server (id int) SERVER programs;"
	"CREATE VIEW view_of_program AS SELECT r.id FROM runs r;"
	"CREATE TABLE cities (id int) PARTITION BY LIST (id);"
	"CREATE FOREIGN TABLE city PARTITION OF cities FOR VALUES IN (1) SERVER files OPTIONS (program 'id');"
	"CREATE TABLE elders (id int); CREATE FOREIGN TABLE heirs () INHERITS (elders) SERVER elsewhere;"
	"CREATE TABLE joined (id int) PARTITION BY LIST (id);"
	"CREATE FOREIGN TABLE joins (id int) SERVER files OPTIONS (filename 'x');"
	"ALTER TABLE joined ATTACH PARTITION joins FOR VALUES IN (1);";

static const struct {
	const char *sql;
	enum sql_verdict verdict;
	enum sql_verdict when_refused; /* with foreign_tables = "refuse" */
} reads[] = {
	{ "SELECT id FROM plain", SQL_SAFE, SQL_SAFE },
	{ "SELECT id FROM guarded", SQL_SAFE, SQL_SAFE },
	{ "SELECT id FROM hooked", SQL_UNSAFE, SQL_UNSAFE },
	{ "SELECT count(*) FROM plain p JOIN hooked h USING (id)", SQL_UNSAFE, SQL_UNSAFE },
	{ "SELECT id FROM hooked_writes", SQL_SAFE, SQL_SAFE },
	{ "SELECT id FROM idle", SQL_SAFE, SQL_SAFE },
	{ "SELECT id FROM altered", SQL_UNSAFE, SQL_UNSAFE },
	{ "SELECT id FROM by_policy", SQL_UNSAFE, SQL_UNSAFE },
	{ "SELECT id FROM by_table", SQL_SAFE, SQL_SAFE },
	{ "SELECT id FROM tame_view", SQL_SAFE, SQL_SAFE },
	{ "SELECT id FROM view_of_hook", SQL_UNSAFE, SQL_UNSAFE },
	{ "SELECT w FROM calls", SQL_UNSAFE, SQL_UNSAFE },
	{ "SELECT w FROM ruled", SQL_UNSAFE, SQL_UNSAFE },
	{ "SELECT w FROM kept", SQL_SAFE, SQL_SAFE },
	{ "SELECT id::checked FROM plain", SQL_UNSAFE, SQL_UNSAFE },
	{ "SELECT id::harmless FROM plain", SQL_SAFE, SQL_SAFE },
	{ "SELECT x.c FROM jsonb_to_recordset('[]') AS x(c checked)", SQL_UNSAFE, SQL_UNSAFE },
	{ "SELECT CAST(p AS date) FROM plain p", SQL_UNSAFE, SQL_UNSAFE },
	{ "SELECT id === 1 FROM plain", SQL_UNSAFE, SQL_UNSAFE },
	{ "SELECT hooks(id) FROM plain", SQL_UNSAFE, SQL_UNSAFE },
	{ "SELECT with_default()", SQL_UNSAFE, SQL_UNSAFE },
	{ "SELECT id, twice FROM filled", SQL_SAFE, SQL_SAFE },
	{ "SELECT id FROM parts", SQL_SAFE, SQL_SAFE },
	{ "SELECT id FROM part", SQL_UNSAFE, SQL_UNSAFE },
	{ "SELECT id FROM remote", SQL_SAFE, SQL_UNSAFE },
	{ "SELECT id FROM runs", SQL_UNSAFE, SQL_UNSAFE },
	{ "SELECT id FROM file", SQL_UNSAFE, SQL_UNSAFE },
	{ "SELECT id FROM by_server", SQL_UNSAFE, SQL_UNSAFE },
	{ "SELECT id FROM view_of_program", SQL_UNSAFE, SQL_UNSAFE },
	{ "SELECT id FROM cities", SQL_UNSAFE, SQL_UNSAFE },
	{ "SELECT id FROM elders", SQL_SAFE, SQL_UNSAFE },
	{ "SELECT id FROM joined", SQL_UNSAFE, SQL_UNSAFE },
};

static struct catalog *read_dump(void)
{
	char command[600];
	struct buf dump = BUF_INIT;
	snprintf(command, sizeof command, "/usr/lib/postgresql/15/bin/pg_dump --schema-only '%s dbname=%s'",
		 server.socket_dsn, PQdb(connection));
	FILE *pipe = popen(command, "r");
	assert_non_null(pipe);
	for (size_t got; (got = fread(buf_reserve(&dump, 65536), 1, 65536, pipe)) > 0;)
		dump.len += got;
	assert_int_equal(pclose(pipe), 0);
	buf_append_char(&dump, '\0');
	struct catalog *catalog = compile_sql(dump.data);
	buf_free(&dump);
	return catalog;
}

static void dumps_are_worth_what_targets_are(void **state)
{
	static const struct sql_policy refusing = { .refuse_foreign_tables = true };
	char dsn[400];
	unsigned wrong = 0;
	(void)state;
	PQclear(ask("CREATE DATABASE reads"));
	PQfinish(connection);
	snprintf(dsn, sizeof dsn, "%s dbname=reads", server.socket_dsn);
	connection = PQconnectdb(dsn);
	PQclear(ask(definitions));
	struct catalog *catalogs[] = { read_catalog(), read_dump() };
	for (size_t i = 0; i < sizeof reads / sizeof *reads; i++)
		for (unsigned dumped = 0; dumped < 2; dumped++) {
			enum sql_verdict verdict = judge(reads[i].sql, catalogs[dumped], NULL);
			enum sql_verdict refused = judge(reads[i].sql, catalogs[dumped], &refusing);
			if (verdict == reads[i].verdict && refused == reads[i].when_refused)
				continue;
			print_error("%s: %d and %d by the %s\n", reads[i].sql, (int)verdict, (int)refused,
				    dumped ? "dump" : "catalog");
			wrong++;
		}
	assert_int_equal(wrong, 0);
	catalog_unref(catalogs[0]);
	catalog_unref(catalogs[1]);
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
		cmocka_unit_test(dumps_are_worth_what_targets_are),
	};
	int status = test_postgres_start(&server, NULL);
	return status ? status : cmocka_run_group_tests(tests, start, finish);
}
