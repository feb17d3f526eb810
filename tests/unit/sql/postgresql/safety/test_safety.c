/*
 * Safety verdicts of PostgreSQL statements, by the text alone.
 */
#include "refusals.h"

#include <ctype.h>

#define PG_NODES_H "/usr/include/postgresql/15/server/nodes/nodes.h"

static const struct attack statements[] = {
	{ "INSERT INTO t VALUES (1)", "not_a_read", 0 },
	{ "UPDATE t SET a = 1", "not_a_read", 0 },
	{ "/* x */ DELETE FROM t", "not_a_read", 8 },
	{ "MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE", "not_a_read", 0 },
	{ "TRUNCATE t", "not_a_read", 0 },
	{ "DROP TABLE t", "not_a_read", 0 },
	{ "CREATE TABLE t (a int)", "not_a_read", 0 },
	{ "CREATE TABLE t AS SELECT 1", "not_a_read", 0 },
	{ "CREATE TEMP TABLE t AS SELECT 1", "not_a_read", 0 },
	{ "CREATE VIEW v AS SELECT 1", "not_a_read", 0 },
	{ "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'", "not_a_read", 0 },
	{ "CREATE EXTENSION dblink", "not_a_read", 0 },
	{ "CREATE ROLE r SUPERUSER", "not_a_read", 0 },
	{ "ALTER TABLE t ADD COLUMN b int", "not_a_read", 0 },
	{ "ALTER SYSTEM SET log_statement = 'all'", "not_a_read", 0 },
	{ "ALTER ROLE r PASSWORD 'x'", "not_a_read", 0 },
	{ "GRANT ALL ON t TO PUBLIC", "not_a_read", 0 },
	{ "REVOKE ALL ON t FROM r", "not_a_read", 0 },
	{ "COPY t TO STDOUT", "not_a_read", 0 },
	{ "COPY t FROM '/etc/passwd'", "not_a_read", 0 },
	{ "COPY (SELECT 1) TO PROGRAM 'id'", "not_a_read", 0 },
	{ "DO $$ BEGIN PERFORM 1; END $$", "not_a_read", 0 },
	{ "CALL p()", "not_a_read", 0 },
	{ "SET work_mem = '1GB'", "not_a_read", 0 },
	{ "SET ROLE postgres", "not_a_read", 0 },
	{ "SET LOCAL statement_timeout = 0", "not_a_read", 0 },
	{ "SET SESSION AUTHORIZATION postgres", "not_a_read", 0 },
	{ "SET TRANSACTION READ WRITE", "not_a_read", 0 },
	{ "RESET ALL", "not_a_read", 0 },
	{ "DISCARD ALL", "not_a_read", 0 },
	{ "LISTEN c", "not_a_read", 0 },
	{ "UNLISTEN *", "not_a_read", 0 },
	{ "NOTIFY c, 'x'", "not_a_read", 0 },
	{ "LOCK TABLE t", "not_a_read", 0 },
	{ "VACUUM", "not_a_read", 0 },
	{ "ANALYZE t", "not_a_read", 0 },
	{ "REINDEX TABLE t", "not_a_read", 0 },
	{ "CLUSTER", "not_a_read", 0 },
	{ "CHECKPOINT", "not_a_read", 0 },
	{ "LOAD 'x'", "not_a_read", 0 },
	{ "BEGIN", "not_a_read", 0 },
	{ "COMMIT", "not_a_read", 0 },
	{ "ROLLBACK", "not_a_read", 0 },
	{ "SAVEPOINT s", "not_a_read", 0 },
	{ "PREPARE p AS SELECT 1", "not_a_read", 0 },
	{ "EXECUTE p", "not_a_read", 0 },
	{ "DEALLOCATE p", "not_a_read", 0 },
	{ "DECLARE c CURSOR FOR SELECT 1", "not_a_read", 0 },
	{ "FETCH 1 FROM c", "not_a_read", 0 },
	{ "MOVE 1 FROM c", "not_a_read", 0 },
	{ "CLOSE c", "not_a_read", 0 },
	{ "REFRESH MATERIALIZED VIEW v", "not_a_read", 0 },
	{ "COMMENT ON TABLE t IS 'x'", "not_a_read", 0 },
	{ "SECURITY LABEL ON TABLE t IS 'x'", "not_a_read", 0 },
	{ "IMPORT FOREIGN SCHEMA s FROM SERVER f INTO t", "not_a_read", 0 },
	{ "EXPLAIN ANALYZE SELECT 1", "not_a_read", -1 },
	{ "EXPLAIN (ANALYZE) SELECT 1", "not_a_read", 9 },
	{ "EXPLAIN (ANALYZE true, BUFFERS) SELECT 1", "not_a_read", 9 },
	{ "EXPLAIN (ANALYZE 1) SELECT 1", "not_a_read", 9 },
	{ "EXPLAIN (ANALYZE off, ANALYZE on) SELECT 1", "not_a_read", -1 },
	{ "EXPLAIN ANALYZE DELETE FROM t", "not_a_read", -1 },
	{ "EXPLAIN DELETE FROM t", "not_a_read", -1 },
	{ "EXPLAIN EXECUTE p", "not_a_read", -1 },
	{ "EXPLAIN CREATE TABLE x AS SELECT 1", "not_a_read", -1 },
	{ "SELECT 1; DROP TABLE t", "multiple_statements", 10 },
	{ "SELECT 1; DROP TABLE t", "not_a_read", 10 },
	{ "SELECT 1; SELECT 2", "multiple_statements", 10 },
	{ "SELECT 1; /* c */ SELECT pg_sleep(1)", "time_based", 25 },
	/* what the tokens show of a text that does not parse */
	{ "SELECT 1; DROP TABLE t; and so on", "multiple_statements", 10 },
	{ "SELECT 1; DROP TABLE t; and so on", "not_a_read", 10 },
	{ "SELECT 1;\nAnalyze orders;\nI hope this helps", "multiple_statements", 10 },
	{ "So be it:\n  DELETE FROM t WHER x", "not_a_read", 12 },
	{ "UPDATE t SET a = = 1", "not_a_read", 0 },
	{ "WITH d AS (DELETE FROM t RETURNING *) SELEC 1", "not_a_read", 11 },
	{ "SELECT pg_sleep(1) FORM t", "time_based", 7 },
	{ "SELECT \"dblink\"('x', 'y') FORM t", "network_access", 7 },
	{ "SELECT 1 FROM t WHERE a = 'it's; DROP TABLE t", "multiple_statements", 33 },
	{ "\\! id", "not_a_read", 0 },
	{ "SELECT 1;\\! id", "not_a_read", 9 },
};

/* A text that merely does not parse is not known, whatever words stand in it. */
static void test_broken_texts(void **state)
{
	static const char *const broken[] = {
		"",
		"-- nothing",
		"SELEC 1",
		"SELECT 'x",
		"SELECT * FORM t",
		"SELECT count(*) FROM t GROUP",
		"I am sorry, I cannot delete from or drop table t.",
		"Use the table t; then count.",
		"SELECT\n  CASE WHEN a THEN b\n  END c d e\nFROM t",
		"SELECT 'drop table t' FORM t",
		"SELECT a -- ; DROP TABLE t\nFORM t",
		"```sql\nSELECT 1\n```\nWith this, all is one.",
		"SELECT replace(a, 'x', 'y' FROM t",
	};
	(void)state;
	for (size_t i = 0; i < COUNT(broken); i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_analysis analysis = { 0 };
		analyse(broken[i], false, arena, &analysis);
		if (analysis.verdict == SQL_UNKNOWN && !analysis.valid && str_present(analysis.doubt))
			continue;
		print_violations(broken[i], &analysis);
		fail();
	}
}

static void test_statements(void **state)
{
	(void)state;
	refuse_all(statements, COUNT(statements));
}

static void test_writes_inside_queries(void **state)
{
	static const struct attack attacks[] = {
		{ "WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d", "data_modifying_cte", 5 },
		{ "WITH a AS (SELECT 1), d AS (UPDATE t SET a = 1 RETURNING *) SELECT 1",
		  "data_modifying_cte", 22 },
		{ "WITH i AS (INSERT INTO t VALUES (1)) SELECT 1", "data_modifying_cte", 5 },
		{ "SELECT 1 WHERE EXISTS (WITH d AS (DELETE FROM t RETURNING 1) SELECT 1 FROM d)",
		  "data_modifying_cte", 28 },
		{ "WITH a AS (WITH b AS (DELETE FROM t RETURNING 1) SELECT * FROM b) SELECT * FROM a",
		  "data_modifying_cte", 16 },
		{ "WITH a AS (SELECT 1) INSERT INTO t SELECT * FROM a", "not_a_read", 0 },
		{ "SELECT * INTO x FROM t", "select_into", 14 },
		{ "SELECT * INTO TEMP x FROM t", "select_into", 19 },
		{ "SELECT 1 INTO x UNION SELECT 2", "select_into", 14 },
		{ "SELECT * FROM t FOR UPDATE", "row_locking", 16 },
		{ "SELECT * FROM t FOR NO KEY UPDATE", "row_locking", 16 },
		{ "SELECT * FROM t FOR SHARE", "row_locking", 16 },
		{ "SELECT * FROM t FOR KEY SHARE SKIP LOCKED", "row_locking", 16 },
		{ "SELECT * FROM t FOR UPDATE OF t NOWAIT", "row_locking", 16 },
		{ "SELECT * FROM (SELECT * FROM t FOR UPDATE) s", "row_locking", 31 },
		{ "SELECT substring('FOR' FOR 1) FROM t FOR UPDATE", "row_locking", 37 },
		{ "WITH c AS (SELECT * FROM t FOR SHARE) SELECT * FROM c", "row_locking", 27 },
	};
	(void)state;
	refuse_all(attacks, COUNT(attacks));
}

static const struct attack calls[] = {
	{ "SELECT pg_sleep(10)", "time_based", 7 },
	{ "SELECT pg_sleep_for('5 minutes')", "time_based", 7 },
	{ "SELECT pg_sleep_until('tomorrow')", "time_based", 7 },
	{ "SELECT pg_catalog.pg_sleep(10)", "time_based", 7 },
	{ "SELECT \"pg_sleep\"(10)", "time_based", 7 },
	{ "SELECT PG_SLEEP(10)", "time_based", 7 },
	{ "SELECT pg_sleep/**/(10)", "time_based", 7 },
	{ "SELECT pg_sleep\n--x\n(10)", "time_based", 7 },
	{ "SELECT U&\"pg\\005fsleep\"(10)", "time_based", 7 },
	{ "SELECT U&\"pg!005fsleep\" UESCAPE '!' (10)", "time_based", 7 },
	{ "SELECT \"pg_catalog\".\"pg_sleep\"(10)", "time_based", 7 },
	{ "SELECT mydb.pg_catalog.pg_sleep(1)", "time_based", 7 },
	{ "SELECT pg_read_file('/etc/passwd')", "file_access", 7 },
	{ "SELECT pg_read_binary_file('x')", "file_access", 7 },
	{ "SELECT * FROM pg_ls_dir('/')", "file_access", 14 },
	{ "SELECT * FROM pg_ls_logdir()", "file_access", 14 },
	{ "SELECT pg_stat_file('x')", "file_access", 7 },
	{ "SELECT lo_import('/etc/passwd')", "file_access", 7 },
	{ "SELECT lo_export(1, '/tmp/x')", "file_access", 7 },
	{ "SELECT pg_file_write('a', 'b', false)", "file_access", 7 },
	{ "SELECT pg_current_logfile()", "file_access", 7 },
	{ "SELECT lo_create(0)", "dangerous_function", 7 },
	{ "SELECT lo_from_bytea(0, 'x')", "dangerous_function", 7 },
	{ "SELECT lo_unlink(1)", "dangerous_function", 7 },
	{ "SELECT lo_put(1, 0, 'x')", "dangerous_function", 7 },
	{ "SELECT lo_get(1)", "dangerous_function", 7 },
	{ "SELECT lowrite(1, 'x')", "dangerous_function", 7 },
	{ "SELECT nextval('s')", "dangerous_function", 7 },
	{ "SELECT setval('s', 1)", "dangerous_function", 7 },
	{ "SELECT currval('s')", "volatile_function", 7 },
	{ "SELECT lastval()", "volatile_function", 7 },
	{ "SELECT setseed(0.5)", "dangerous_function", 7 },
	{ "SELECT set_config('log_statement', 'none', false)", "dangerous_function", 7 },
	{ "SELECT txid_current()", "dangerous_function", 7 },
	{ "SELECT pg_current_xact_id()", "dangerous_function", 7 },
	{ "SELECT pg_notify('c', 'x')", "dangerous_function", 7 },
	{ "SELECT pg_advisory_lock(1)", "dangerous_function", 7 },
	{ "SELECT pg_advisory_xact_lock_shared(1)", "dangerous_function", 7 },
	{ "SELECT pg_try_advisory_lock(1)", "dangerous_function", 7 },
	{ "SELECT pg_advisory_unlock_all()", "dangerous_function", 7 },
	{ "SELECT pg_terminate_backend(1)", "dangerous_function", 7 },
	{ "SELECT pg_cancel_backend(1)", "dangerous_function", 7 },
	{ "SELECT pg_reload_conf()", "dangerous_function", 7 },
	{ "SELECT pg_rotate_logfile()", "dangerous_function", 7 },
	{ "SELECT pg_switch_wal()", "dangerous_function", 7 },
	{ "SELECT pg_promote()", "dangerous_function", 7 },
	{ "SELECT pg_backup_start('x')", "dangerous_function", 7 },
	{ "SELECT pg_create_restore_point('x')", "dangerous_function", 7 },
	{ "SELECT pg_create_logical_replication_slot('a', 'b')", "dangerous_function", 7 },
	{ "SELECT pg_drop_replication_slot('a')", "dangerous_function", 7 },
	{ "SELECT pg_logical_emit_message(true, 'a', 'b')", "dangerous_function", 7 },
	{ "SELECT * FROM pg_logical_slot_get_changes('s', NULL, NULL)", "dangerous_function", 14 },
	{ "SELECT pg_replication_origin_create('x')", "dangerous_function", 7 },
	{ "SELECT pg_wal_replay_pause()", "dangerous_function", 7 },
	{ "SELECT pg_stat_reset()", "dangerous_function", 7 },
	{ "SELECT pg_stat_reset_shared('bgwriter')", "dangerous_function", 7 },
	{ "SELECT pg_export_snapshot()", "dangerous_function", 7 },
	{ "SELECT pg_import_system_collations('x')", "dangerous_function", 7 },
	{ "SELECT pg_log_backend_memory_contexts(1)", "dangerous_function", 7 },
	{ "SELECT gin_clean_pending_list('i')", "dangerous_function", 7 },
	{ "SELECT brin_summarize_new_values('i')", "dangerous_function", 7 },
	{ "SELECT query_to_xml('DELETE FROM t', true, true, '')", "dangerous_function", 7 },
	{ "SELECT query_to_xml_and_xmlschema('x', true, true, '')", "dangerous_function", 7 },
	{ "SELECT table_to_xml('pg_authid', true, true, '')", "dangerous_function", 7 },
	{ "SELECT schema_to_xml('public', true, true, '')", "dangerous_function", 7 },
	{ "SELECT database_to_xml(true, true, '')", "dangerous_function", 7 },
	{ "SELECT database_to_xmlschema(true, true, '')", "dangerous_function", 7 },
	{ "SELECT cursor_to_xml('c', 1, true, true, '')", "dangerous_function", 7 },
	{ "SELECT * FROM ts_stat('SELECT 1')", "dangerous_function", 14 },
	{ "SELECT ts_rewrite('a'::tsquery, 'SELECT 1')", "dangerous_function", 7 },
	{ "SELECT * FROM crosstab('SELECT 1') AS t(a int)", "dangerous_function", 14 },
	{ "SELECT * FROM crosstab2('SELECT 1')", "dangerous_function", 14 },
	{ "SELECT * FROM connectby('t', 'a', 'b', '1', 0) AS x(a text)", "dangerous_function", 14 },
	{ "SELECT * FROM xpath_table('a', 'b', 'c', 'd', 'e') AS t(a int)", "dangerous_function", 14 },
	{ "SELECT * FROM dblink('host=x', 'SELECT 1') AS t(a int)", "network_access", 14 },
	{ "SELECT dblink_exec('DELETE FROM t')", "network_access", 7 },
	{ "SELECT public.dblink_connect('host=x')", "network_access", 7 },
	{ "SELECT dblink_send_query('c', 'x')", "network_access", 7 },
	{ "SELECT * FROM http_get('http://x')", "network_access", 14 },
	{ "SELECT net.http_post('http://x')", "network_access", 7 },
	{ "SELECT aws_s3.query_export_to_s3('x', 'y')", "network_access", 7 },
	{ "SELECT xslt_process('a', 'b')", "file_access", 7 },
	{ "SELECT get_raw_page('t', 0)", "file_access", 7 },
	{ "SELECT pg_prewarm('t')", "dangerous_function", 7 },
	{ "SELECT sys_eval('id')", "dangerous_function", 7 },
	{ "SELECT pg_relation_size('t')", "volatile_function", 7 },
	{ "SELECT timeofday()", "volatile_function", 7 },
	{ "SELECT pg_hba_file_rules()", "system_catalog", 7 },
	{ "SELECT * FROM pg_show_all_file_settings()", "system_catalog", 14 },
};

static void test_functions(void **state)
{
	(void)state;
	refuse_all(calls, COUNT(calls));
}

static const char *const positions[] = {
	"SELECT %s",
	"SELECT a, %s AS b FROM t",
	"SELECT DISTINCT ON (%s) a FROM t",
	"SELECT a FROM t WHERE %s IS NULL",
	"SELECT a FROM t WHERE a = 1 AND NOT (b = 2 OR %s IS NULL)",
	"SELECT a FROM t GROUP BY %s",
	"SELECT a FROM t GROUP BY ROLLUP (a, %s)",
	"SELECT a FROM t GROUP BY GROUPING SETS ((a), (%s))",
	"SELECT a FROM t GROUP BY a HAVING %s IS NULL",
	"SELECT a FROM t ORDER BY %s",
	"SELECT a FROM t LIMIT %s",
	"SELECT a FROM t OFFSET %s",
	"SELECT a FROM t FETCH FIRST (%s) ROWS ONLY",
	"VALUES (1), (%s)",
	"SELECT * FROM (VALUES (%s)) v",
	"SELECT * FROM %s",
	"SELECT * FROM t, LATERAL %s",
	"SELECT * FROM ROWS FROM (generate_series(1, 2), %s)",
	"SELECT * FROM t CROSS JOIN LATERAL (SELECT %s) s",
	"SELECT * FROM t JOIN u ON %s IS NULL",
	"SELECT * FROM t TABLESAMPLE system (%s)",
	"SELECT * FROM t TABLESAMPLE system (1) REPEATABLE (%s)",
	"SELECT * FROM (SELECT %s) s",
	"WITH c AS (SELECT %s) SELECT 1",
	"WITH c AS MATERIALIZED (VALUES (%s)) SELECT * FROM c",
	"SELECT 1 UNION ALL SELECT %s",
	"(SELECT %s) EXCEPT SELECT 1",
	"SELECT 1 UNION SELECT 2 ORDER BY (%s)",
	"SELECT (SELECT %s)",
	"SELECT a FROM t WHERE a IN (SELECT %s)",
	"SELECT a FROM t WHERE a IN (1, %s)",
	"SELECT a FROM t WHERE a = ANY (ARRAY[%s])",
	"SELECT a FROM t WHERE EXISTS (SELECT 1 WHERE %s IS NULL)",
	"SELECT a FROM t WHERE a BETWEEN 1 AND %s",
	"SELECT a FROM t WHERE a LIKE %s",
	"SELECT CASE WHEN a = 1 THEN %s ELSE 1 END FROM t",
	"SELECT CASE WHEN %s IS NULL THEN 1 END FROM t",
	"SELECT CASE %s WHEN 1 THEN 2 END",
	"SELECT CASE WHEN a = 1 THEN 1 ELSE %s END FROM t",
	"SELECT COALESCE(NULL, %s)",
	"SELECT NULLIF(1, %s)",
	"SELECT GREATEST(1, %s)",
	"SELECT ROW(1, %s)",
	"SELECT ARRAY[1, %s]",
	"SELECT ARRAY(SELECT %s)",
	"SELECT (ARRAY[1])[%s]",
	"SELECT (ARRAY[1])[1:%s]",
	"SELECT %s::text",
	"SELECT CAST(%s AS text)",
	"SELECT -%s",
	"SELECT 1 + (2 * %s)",
	"SELECT %s IS TRUE",
	"SELECT %s COLLATE \"C\"",
	"SELECT lower(%s)",
	"SELECT count(%s) FROM t",
	"SELECT count(*) FILTER (WHERE %s IS NULL) FROM t",
	"SELECT string_agg(a, ',' ORDER BY %s) FROM t",
	"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY %s) FROM t",
	"SELECT sum(a) OVER (PARTITION BY %s) FROM t",
	"SELECT sum(a) OVER (ORDER BY %s) FROM t",
	"SELECT sum(a) OVER (ORDER BY b ROWS BETWEEN %s PRECEDING AND CURRENT ROW) FROM t",
	"SELECT sum(a) OVER (ORDER BY b ROWS BETWEEN CURRENT ROW AND %s FOLLOWING) FROM t",
	"SELECT sum(a) OVER w FROM t WINDOW w AS (PARTITION BY %s)",
	"SELECT make_interval(days => %s)",
	"SELECT concat(VARIADIC ARRAY[%s])",
	"SELECT extract(year FROM %s)",
	"SELECT substring('x' FROM %s)",
	"SELECT position(%s IN 'x')",
	"SELECT overlay('x' PLACING %s FROM 1)",
	"SELECT trim(BOTH %s FROM 'x')",
	"SELECT now() AT TIME ZONE %s",
	"SELECT xmlelement(NAME a, %s)",
	"SELECT xmlelement(NAME a, xmlattributes(%s AS b))",
	"SELECT xmlforest(%s AS a)",
	"SELECT xmlserialize(CONTENT %s AS text)",
	"SELECT xmlparse(DOCUMENT %s)",
	"SELECT * FROM XMLTABLE('/a' PASSING %s COLUMNS b int)",
	"SELECT * FROM XMLTABLE('/a' PASSING '<a/>' COLUMNS b int DEFAULT %s)",
	"SELECT * FROM XMLTABLE('/a' PASSING '<a/>' COLUMNS b int PATH %s)",
	"SELECT (%s).a",
	"SELECT (row(%s)).f1",
	"SELECT (1, 2) < (3, %s)",
	"SELECT a IS DISTINCT FROM %s FROM t",
	"EXPLAIN SELECT %s",
	"TABLE t ORDER BY %s",
};

static void test_every_position(void **state)
{
	(void)state;
	unsigned missed = 0;
	for (size_t i = 0; i < COUNT(positions); i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		char sql[256];
		const char *hole = strstr(positions[i], "%s");
		snprintf(sql, sizeof sql, "%.*spg_advisory_lock(7)%s", (int)(hole - positions[i]),
			 positions[i], hole + 2);
		struct sql_analysis analysis = { 0 };
		analyse(sql, false, arena, &analysis);
		if (analysis.verdict == SQL_UNSAFE &&
		    has_violation(&analysis, "dangerous_function", hole - positions[i]))
			continue;
		print_violations(sql, &analysis);
		missed++;
	}
	assert_int_equal(missed, 0);
}

static void test_attribute_notation(void **state)
{
	static const struct attack attacks[] = {
		{ "SELECT ('/etc/passwd'::text).pg_read_file", "file_access", -1 },
		{ "SELECT u.pg_read_file FROM unnest(ARRAY['/etc/passwd']) u", "file_access", 7 },
		{ "SELECT s.pg_sleep FROM generate_series(5, 6) AS s", "time_based", 7 },
		{ "SELECT 1 FROM generate_series(5, 6) AS s ORDER BY s.pg_sleep", "time_based", -1 },
		{ "SELECT (1).pg_advisory_lock", "dangerous_function", -1 },
		{ "SELECT ((SELECT 's'::regclass)).nextval", "dangerous_function", -1 },
	};
	(void)state;
	refuse_all(attacks, COUNT(attacks));
}

static void test_catalogs(void **state)
{
	static const struct attack attacks[] = {
		{ "SELECT * FROM pg_authid", "system_catalog", 14 },
		{ "SELECT rolpassword FROM pg_catalog.pg_authid", "system_catalog", 24 },
		{ "TABLE pg_shadow", "system_catalog", 6 },
		{ "SELECT * FROM \"pg_shadow\"", "system_catalog", 14 },
		{ "SELECT * FROM U&\"pg\\005fshadow\"", "system_catalog", 14 },
		{ "SELECT * FROM PG_SHADOW", "system_catalog", 14 },
		{ "SELECT 1 WHERE EXISTS (SELECT 1 FROM pg_user_mapping)", "system_catalog", 37 },
		{ "SELECT * FROM pg_user_mappings", "system_catalog", 14 },
		{ "SELECT * FROM pg_hba_file_rules", "system_catalog", 14 },
		{ "SELECT * FROM pg_ident_file_mappings", "system_catalog", 14 },
		{ "SELECT * FROM pg_file_settings", "system_catalog", 14 },
		{ "SELECT * FROM pg_statistic", "system_catalog", 14 },
		{ "SELECT * FROM pg_largeobject", "system_catalog", 14 },
		{ "SELECT * FROM pg_subscription", "system_catalog", 14 },
		{ "SELECT query FROM pg_stat_activity", "system_catalog", 18 },
		{ "SELECT * FROM information_schema.user_mapping_options", "system_catalog", 14 },
		{ "SELECT name FROM products UNION SELECT table_name FROM information_schema.tables",
		  "injection_pattern", -1 },
		{ "SELECT name FROM products UNION ALL SELECT relname FROM pg_class", "injection_pattern",
		  -1 },
		{ "SELECT name FROM products UNION SELECT version()", "injection_pattern", -1 },
		{ "SELECT name FROM products WHERE id = -1 UNION SELECT current_user", "injection_pattern",
		  -1 },
		{ "SELECT usename FROM pg_user UNION SELECT name FROM products", "system_catalog", -1 },
		{ "SELECT * FROM users WHERE name = '' OR 1 = 1 -- ' AND password = ''", "injection_pattern",
		  39 },
		{ "SELECT * FROM users WHERE name = '' OR '1' = '1'", "injection_pattern", 39 },
		{ "SELECT * FROM users WHERE name = 'x' OR true", "injection_pattern", 40 },
		{ "SELECT * FROM users WHERE id = 1 AND 1 = 1 --", "injection_pattern", 37 },
		{ "SELECT * FROM users WHERE name = 'admin'--' AND password = ''", "injection_pattern", 40 },
	};
	(void)state;
	refuse_all(attacks, COUNT(attacks));
}

static const char *const reads[] = {
	"SELECT 1",
	"SELECT * FROM users",
	"SELECT updated_at, deleted, created_by FROM users",
	"SELECT \"update\", \"delete\", \"insert\" FROM \"drop\"",
	"SELECT 'x''; DROP TABLE users; --' AS note FROM users",
	"SELECT $$; DELETE FROM users$$",
	"SELECT E'\\'; DROP TABLE x' FROM t",
	"SELECT * FROM pg_sleep_log",
	"SELECT pg_sleep FROM naps",
	"SELECT 'pg_sleep(10)', 'dblink(x)'",
	"SELECT * FROM t WHERE note LIKE '%SELECT INTO%' -- FOR UPDATE",
	"/* DROP TABLE t */ SELECT a FROM t",
	"SELECT set_config, nextval FROM counters",
	"SELECT count(*), sum(a), avg(b), min(c), max(d) FROM t GROUP BY e HAVING count(*) > 1",
	"SELECT date_trunc('month', created_at), extract(year FROM created_at) FROM orders",
	"SELECT now(), current_date, current_timestamp, random(), clock_timestamp(), "
	"gen_random_uuid()",
	"SELECT pg_catalog.lower(name), upper(name), length(name) FROM t",
	"SELECT version()",
	"SELECT current_user, current_database()",
	"SELECT 'users'::regclass, '1'::int, CAST('2020-01-01' AS date), '{1,2}'::int[]",
	"SELECT '1'::bigint, x::numeric(10,2), y::timestamptz[], z::information_schema.sql_identifier FROM t",
	"SELECT int4(a), uuid(b), pg_catalog.text(c), json('{}'), ('x'::text).length FROM t",
	"SELECT * FROM jsonb_to_recordset('[]') AS x(a int, b text[])",
	"SELECT rank(1) WITHIN GROUP (ORDER BY a), mode() WITHIN GROUP (ORDER BY b), count(*) FROM t",
	"SELECT concat_ws(',', VARIADIC ARRAY['a', 'b']), format('%s', a, b, c), make_interval(days => 1) "
	"FROM t",
	"SELECT a OPERATOR(pg_catalog.+) b FROM t",
	"SELECT doc->>'a', doc#>>'{b,c}', doc @> '{}' FROM t WHERE doc ? 'k'",
	"SELECT a FROM items ORDER BY place <-> '(3,4)' LIMIT 5",
	"SELECT row_number() OVER (PARTITION BY a ORDER BY b DESC), lag(b, 1) OVER w FROM t WINDOW w "
	"AS "
	"(ORDER BY c)",
	"SELECT * FROM a JOIN b USING (id) LEFT JOIN c ON b.x = c.x NATURAL JOIN d",
	"SELECT * FROM t, LATERAL (SELECT * FROM u WHERE u.id = t.id LIMIT 1) s",
	"SELECT * FROM generate_series(1, 10) g",
	"SELECT * FROM generate_series('2020-01-01'::date, '2020-12-31', '1 day') d",
	"SELECT generate_series(date '2000-01-01', now(), interval '1 day')",
	"SELECT repeat('x', 10), lpad(name, 20), rpad(name, 20, '.'), format('%10s', a) FROM t",
	"SELECT array_fill(0, ARRAY[3, 3]), factorial(10)",
	"WITH a AS (SELECT 1), b AS (SELECT * FROM a) SELECT * FROM b",
	"WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r WHERE n < 100) SELECT * "
	"FROM r",
	"WITH RECURSIVE tree AS (SELECT id FROM emp WHERE boss IS NULL UNION ALL SELECT e.id FROM "
	"emp e "
	"JOIN tree ON e.boss = tree.id) SELECT * FROM tree",
	"WITH RECURSIVE tree AS (SELECT id FROM emp UNION SELECT e.id FROM emp e, tree WHERE e.boss "
	"= "
	"tree.id) SELECT * FROM tree",
	"WITH RECURSIVE f AS (SELECT 1 n UNION ALL SELECT n + 1 FROM (SELECT * FROM f WHERE n < 9) "
	"s) "
	"SELECT * FROM f",
	"SELECT 1 UNION SELECT 2 INTERSECT SELECT 3 EXCEPT ALL SELECT 4",
	"SELECT a FROM t UNION ALL SELECT b FROM u ORDER BY 1 LIMIT 10",
	"VALUES (1, 'a'), (2, 'b')",
	"TABLE users",
	"(SELECT 1)",
	"SELECT",
	"SHOW server_version",
	"SHOW ALL",
	"EXPLAIN SELECT * FROM t",
	"EXPLAIN (COSTS off, FORMAT json) SELECT * FROM t",
	"EXPLAIN (ANALYZE false) SELECT * FROM t",
	"EXPLAIN VERBOSE SELECT 1",
	"SELECT 1;",
	"SELECT table_name FROM information_schema.tables",
	"SELECT relname FROM pg_class WHERE relkind = 'r'",
	"SELECT relname FROM pg_class UNION SELECT viewname FROM pg_views",
	"SELECT * FROM user_mappings",
	"SELECT * FROM t WHERE 1 = 1 AND a = 2",
	"SELECT * FROM t WHERE (a = 1 OR b = 2) AND c IS NOT NULL -- both",
	"SELECT * FROM t WHERE name = 'O''Brien' -- it's a name",
	"SELECT CASE WHEN a > 1 THEN 'big' ELSE 'small' END, COALESCE(b, 0), NULLIF(c, 0) FROM t",
	"SELECT string_agg(name, ', ' ORDER BY name), array_agg(DISTINCT id), json_agg(t) FROM t",
	"SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a) FROM t",
	"SELECT * FROM t WHERE a = ANY (ARRAY[1, 2]) AND b NOT IN (SELECT c FROM u) AND EXISTS "
	"(SELECT 1)",
	"SELECT t.*, u.name, (t.addr).city, (row(1, 2)).f1 FROM t JOIN u ON t.id = u.id",
	"SELECT a, b FROM t GROUP BY GROUPING SETS ((a), (b), ()) ORDER BY 1 NULLS LAST",
	"SELECT * FROM t TABLESAMPLE bernoulli (10) REPEATABLE (1)",
	"SELECT xmlelement(NAME a, b), xpath('/a', c) FROM t",
	"SELECT jsonb_path_query(doc, '$.a'), to_tsvector('english', body) @@ to_tsquery('cat') FROM "
	"t",
	"SELECT regexp_replace(a, 'x', 'y'), split_part(a, ',', 1), to_char(b, 'YYYY') FROM t",
	"SELECT * FROM t WHERE id = $1",
	"SELECT pg_size_pretty(1024::bigint), pg_typeof(1), current_setting('TimeZone')",
};

/* Constants of PostgreSQL's regression queries that are no attack. */
static const char *const constants[] = {
	"SELECT power(float8 '1.1', float8 '-inf')",
	"SELECT power(float8 'inf', float8 '1e300'), float8 '10' ^ 1000000, 10 ^ '1e6'::float8",
	"SELECT power('10'::double precision, 1e6), pow(1e6::real, 1e6), exp(float8 '1000000')",
	"SELECT power(numeric 'inf', 1000000), power(2, numeric 'inf'), power(numeric '-inf', numeric 'inf')",
	"SELECT exp('inf'::numeric), exp(numeric '-inf')",
	"SELECT bool 't' OR bool 'f'",
	"SELECT bool 't' or bool 'f' AS true",
	"SELECT true OR false, 1 = 1 OR 2 = 2, (true AND false) OR true FROM t",
	"VALUES (true OR false)",
	"SELECT CASE WHEN 1 = 1 OR a = 2 THEN 1 END FROM t LIMIT 1",
	"SELECT a = 2 OR 1 = 1 AS x FROM t ORDER BY a = 3 OR true",
	"SELECT a FROM t WHERE a = 1 OR 1 = 0",
	"SELECT a FROM t WHERE a = 1 OR 'x' = 'y' OR 2 < 1 OR 1 >= 2 OR 1 <> 1",
	"SELECT a FROM t WHERE b = ANY (SELECT true OR false)",
};

static void test_constants(void **state)
{
	static const struct attack attacks[] = {
		{ "SELECT power(10, 1000000::numeric)", "resource_bomb", -1 },
		{ "SELECT 10::numeric ^ 1000000", "resource_bomb", -1 },
		{ "SELECT exp(1000000.0)", "resource_bomb", -1 },
		{ "SELECT a FROM t WHERE 1 = 2 OR 1 = 1", "injection_pattern", -1 },
		{ "SELECT a FROM t WHERE a = 1 OR 1 <> 0", "injection_pattern", -1 },
		{ "SELECT a FROM t WHERE a = 1 OR 1 < 2", "injection_pattern", -1 },
		{ "SELECT a FROM t WHERE CASE WHEN a = 1 OR 1 = 1 THEN true END", "injection_pattern", -1 },
		{ "SELECT a FROM t WHERE 'x' = 'y' OR bool 't'", "injection_pattern", -1 },
		{ "SELECT a FROM t JOIN u ON 1 = 2 OR 1 = 1", "injection_pattern", -1 },
		{ "SELECT count(*) FROM t GROUP BY a HAVING 1 = 2 OR 1 = 1", "injection_pattern", -1 },
	};
	(void)state;
	pass_all(constants, COUNT(constants));
	refuse_all(attacks, COUNT(attacks));
}

static void test_reads(void **state)
{
	(void)state;
	pass_all(reads, COUNT(reads));
}

/* What is neither built in nor in a catalog may do anything. */
static const struct {
	const char *sql;
	const char *doubt; /* how it begins */
} unknowns[] = {
	{ "SELECT wipe_everything()", "function wipe_everything is not known: there is no catalog" },
	{ "SELECT public.lower('x')", "function public.lower " },
	{ "SELECT lower('x', 'y', 'z')", "function lower " },
	{ "SELECT count(*) FROM t WHERE wipe_everything(a) > 1", "function wipe_everything " },
	{ "SELECT * FROM t, LATERAL wipe_everything(t.a)", "function wipe_everything " },
	{ "SELECT a FROM t LIMIT wipe_everything()", "function wipe_everything " },
	{ "SELECT sum(a) OVER (ROWS wipe_everything() PRECEDING) FROM t", "function wipe_everything " },
	{ "VALUES (wipe_everything())", "function wipe_everything " },
	{ "SELECT ('x'::text).wipe_everything", "function wipe_everything " },
	{ "SELECT ('x').wipe_everything", "function wipe_everything " },
	{ "SELECT wipe_everything(VARIADIC ARRAY[1])", "function wipe_everything " },
	{ "SELECT wipe_everything(1) WITHIN GROUP (ORDER BY a) FROM t", "function wipe_everything " },
	{ "SELECT a OPERATOR(public.+) b FROM t", "operator public.+ " },
	{ "SELECT a ~~~ b FROM t", "operator ~~~ " },
	{ "SELECT a OPERATOR(public.===) b FROM t", "operator public.=== " },
	{ "SELECT @@@ a FROM t", "operator @@@ " },
	{ "SELECT a FROM t ORDER BY a USING OPERATOR(evil.<)", "operator evil.< " },
	{ "SELECT a OPERATOR(public.=) ANY (SELECT 1) FROM t", "operator public.= " },
	{ "SELECT embedding <=> '[1,2]' FROM items LIMIT 5", "operator <=> " },
	{ "SELECT name % 'x', name <% 'y' FROM t", "operator <% " },
	{ "SELECT 5::evil_dom", "type evil_dom " },
	{ "SELECT CAST(5 AS evil_dom)", "type evil_dom " },
	{ "SELECT evil_dom '5'", "type evil_dom " },
	{ "SELECT evil_dom(5)", "function evil_dom " },
	{ "SELECT (5).evil_dom", "function evil_dom " },
	{ "SELECT (now()).wipe", "function wipe " },
	{ "SELECT (ARRAY[1]).wipe", "function wipe " },
	{ "SELECT (ARRAY[1])[1].wipe", "function wipe " },
	{ "SELECT ((ARRAY[now()])[1]).wipe", "function wipe " },
	{ "SELECT ('a'||'b').wipe", "function wipe " },
	{ "SELECT (row(1,2)).wipe", "function wipe " },
	{ "SELECT (row(1,2)).f3", "function f3 " },
	{ "SELECT (a+1).wipe FROM t", "function wipe " },
	{ "SELECT (sum(a)).wipe FROM t", "function wipe " },
	{ "SELECT ('{}'::jsonb->'a').wipe", "function wipe " },
	{ "SELECT ('{}'::jsonb)['a'].wipe", "function wipe " },
	{ "SELECT (CASE WHEN true THEN now() END).wipe", "function wipe " },
	{ "SELECT (COALESCE(a, 1)).wipe FROM t", "function wipe " },
	{ "SELECT (GREATEST(a, now())).wipe FROM t", "function wipe " },
	{ "SELECT (NULLIF(1, 2)).wipe", "function wipe " },
	{ "SELECT (extract(day from d)).wipe FROM t", "function wipe " },
	{ "SELECT (a IS NULL).wipe FROM t", "function wipe " },
	{ "SELECT (NOT a).wipe FROM t", "function wipe " },
	{ "SELECT (EXISTS (SELECT 1)).wipe", "function wipe " },
	{ "SELECT ((SELECT now())).wipe", "function wipe " },
	{ "SELECT (ARRAY(SELECT now()))[1].wipe", "function wipe " },
	{ "SELECT (unnest(ARRAY[1])).wipe", "function wipe " },
	{ "SELECT (unnest('{1}'::int[])).wipe", "function wipe " },
	{ "SELECT (array_agg(a + 1))[1].wipe FROM t", "function wipe " },
	{ "SELECT (current_date).wipe", "function wipe " },
	{ "SELECT ('{1}'::int[])[1].wipe", "function wipe " },
	{ "SELECT (now()).date.wipe", "function wipe " },
	{ "SELECT (a COLLATE \"C\").wipe FROM t", "function wipe " },
	{ "SELECT s.wipe FROM (SELECT 1 AS a) s", "function wipe " },
	{ "SELECT s.wipe FROM (VALUES (1)) s", "function wipe " },
	{ "WITH s AS (SELECT 1 AS a) SELECT s.wipe FROM s", "function wipe " },
	{ "SELECT (s).wipe FROM (SELECT 1 AS a) s", "function wipe " },
	{ "SELECT (s.*).wipe FROM (SELECT 1 AS a) s", "function wipe " },
	{ "SELECT (s.a).wipe FROM (SELECT now() AS a) s", "function wipe " },
	{ "SELECT a FROM t WHERE (now()).wipe > 1", "function wipe " },
	{ "SELECT a FROM t ORDER BY (now()).wipe", "function wipe " },
	{ "SELECT (now()).wipe.other", "function wipe " },
	{ "SELECT '{5}'::evil_dom[]", "type evil_dom " },
	{ "SELECT '{5}'::_evil_dom", "type _evil_dom " },
	{ "SELECT '5'::public.text", "type public.text " },
	{ "SELECT evil.dom '5'", "type evil.dom " },
	{ "SELECT * FROM jsonb_to_recordset('[{\"e\": 5}]') AS x(e evil_dom)", "type evil_dom " },
	{ "SELECT * FROM json_to_record('{}') AS x(e evil_dom[])", "type evil_dom " },
	{ "SELECT * FROM ROWS FROM (json_to_record('{}') AS (e evil_dom)) x", "type evil_dom " },
	{ "SELECT * FROM XMLTABLE('/a' PASSING '<a/>' COLUMNS e evil_dom PATH 'b')", "type evil_dom " },
	{ "SELECT XMLSERIALIZE(CONTENT x AS evil_dom) FROM t", "type evil_dom " },
	{ "SELECT * FROM t TABLESAMPLE evil(1)", "sampling method evil " },
	{ "SELECT 'happy'::mood, y::citext FROM t", "type mood " },
};

static void test_what_is_not_known(void **state)
{
	unsigned wrong = 0;
	(void)state;
	for (size_t i = 0; i < COUNT(unknowns); i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_analysis analysis = { 0 };
		analyse(unknowns[i].sql, false, arena, &analysis);
		bool told = str_present(analysis.doubt) &&
			    strncmp(analysis.doubt.ptr, unknowns[i].doubt, strlen(unknowns[i].doubt)) == 0;
		if (analysis.verdict == SQL_UNKNOWN && told)
			continue;
		print_violations(unknowns[i].sql, &analysis);
		print_error("  " STR_FMT " instead of %s\n", STR_ARG(analysis.doubt), unknowns[i].doubt);
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

/* What may be a field or a column, or is a harmless call, is no doubt. */
static void test_fields_of_unknown_values(void **state)
{
	static const char *const selections[] = {
		"SELECT t.w FROM t",
		"SELECT (t).w FROM t",
		"SELECT (t.c).w FROM t",
		"SELECT (t.*).w FROM t",
		"SELECT s.w FROM (SELECT * FROM t) s",
		"SELECT (s.c).w FROM (SELECT c FROM t) s",
		"SELECT (row(1, 2)).f2",
		"SELECT (row(t.*)).f7 FROM t",
		"SELECT ('x'::text).length",
		"SELECT (now()).date",
		"SELECT (now()).date.text",
		"SELECT (array_agg(t))[1].w FROM t",
		"SELECT (unnest(c)).w FROM t",
		"SELECT ((max(c))[1]).w FROM t",
		"SELECT (CASE WHEN true THEN t.c END).w FROM t",
		"SELECT (COALESCE(t.c, '(1,2)')).w FROM t",
		"SELECT (ARRAY[t.c])[1].w FROM t",
		"SELECT (ARRAY[array_agg(t.c)])[1][1].w FROM t",
		"SELECT ((SELECT t FROM t LIMIT 1)).w",
		"SELECT s.a, s.w FROM (SELECT 1 AS a, 2 AS w) s",
		"SELECT (s).a FROM (SELECT 1 AS a) s",
		"SELECT s.value FROM json_each('{}') s",
		"SELECT (json_each('{}')).value",
		"SELECT s.w FROM unnest(ARRAY[1]) AS s(w)",
		"SELECT s.s FROM generate_series(1, 2) s",
		"SELECT (a || b)[1].w FROM t",
		"SELECT t.ctid FROM t",
	};
	unsigned wrong = 0;
	(void)state;
	for (size_t i = 0; i < COUNT(selections); i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_analysis analysis = { 0 };
		analyse(selections[i], false, arena, &analysis);
		if (analysis.verdict == SQL_SAFE)
			continue;
		print_violations(selections[i], &analysis);
		print_error("  " STR_FMT "\n", STR_ARG(analysis.doubt));
		wrong++;
	}
	assert_int_equal(wrong, 0);
}

static void test_target_without_catalog(void **state)
{
	static const struct {
		const char *sql;
		enum sql_verdict verdict;
	} cases[] = {
		{ "SELECT * FROM t", SQL_UNKNOWN },
		{ "SELECT st_distance(a, b) FROM t", SQL_UNKNOWN },
		{ "SELECT a OPERATOR(public.+) b FROM t", SQL_UNKNOWN },
		{ "SELECT pg_sleep(1)", SQL_UNSAFE },
		{ "SELECT wipe_everything(), pg_sleep(1)", SQL_UNSAFE },
		{ "DELETE FROM t", SQL_UNSAFE },
		{ "SELECT * FROM pg_shadow", SQL_UNSAFE },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(arena_scope) struct arena *arena = arena_new();
		struct sql_analysis analysis = { 0 };
		analyse(cases[i].sql, true, arena, &analysis);
		if (analysis.verdict != cases[i].verdict)
			print_violations(cases[i].sql, &analysis);
		assert_int_equal(analysis.verdict, cases[i].verdict);
	}
}

static void test_all_violations_are_reported(void **state)
{
	_cleanup_(arena_scope) struct arena *arena = arena_new();
	struct sql_analysis analysis = { 0 };
	(void)state;
	analyse("WITH d AS (DELETE FROM t RETURNING 1) SELECT pg_sleep(1), lo_import('x') INTO y FROM "
		"pg_shadow "
		"FOR UPDATE",
		false, arena, &analysis);
	assert_true(has_violation(&analysis, "data_modifying_cte", 5));
	assert_true(has_violation(&analysis, "time_based", 45));
	assert_true(has_violation(&analysis, "file_access", 58));
	assert_true(has_violation(&analysis, "select_into", 78));
	assert_true(has_violation(&analysis, "system_catalog", 85));
	assert_true(has_violation(&analysis, "row_locking", 95));
	assert_int_equal(analysis.violations_count, 6);
}

/* Tags of nodes.h against node_tags.def: a tag that the walk was never told of fails here. */
static void test_every_node_tag_is_treated(void **state)
{
	static const char *const known[] = {
#define NODE_TAG(tag, treatment) #tag,
#include "node_tags.def"
#undef NODE_TAG
	};
	char line[512];
	bool inside = false;
	size_t tags = 0;
	(void)state;
	_cleanup_(cleanup_fclose) FILE *header = fopen(PG_NODES_H, "r");
	assert_non_null(header);
	while (fgets(line, sizeof line, header)) {
		inside = inside || strstr(line, "typedef enum NodeTag");
		if (inside && strstr(line, "} NodeTag;"))
			break;
		char *tag = line;
		while (isspace((unsigned char)*tag))
			tag++;
		if (!inside || tag[0] != 'T' || tag[1] != '_')
			continue;
		tag += 2;
		tag[strcspn(tag, ",= \t\n")] = '\0';
		bool found = false;
		for (size_t i = 0; i < COUNT(known); i++)
			found = found || strcmp(known[i], tag) == 0;
		if (!found)
			print_error("node tag %s is not in node_tags.def\n", tag);
		assert_true(found);
		tags++;
	}
	assert_int_equal(tags, COUNT(known));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statements),
		cmocka_unit_test(test_broken_texts),
		cmocka_unit_test(test_writes_inside_queries),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_every_position),
		cmocka_unit_test(test_attribute_notation),
		cmocka_unit_test(test_catalogs),
		cmocka_unit_test(test_constants),
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_what_is_not_known),
		cmocka_unit_test(test_fields_of_unknown_values),
		cmocka_unit_test(test_target_without_catalog),
		cmocka_unit_test(test_all_violations_are_reported),
		cmocka_unit_test(test_every_node_tag_is_treated),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
