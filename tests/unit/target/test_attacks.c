/*
 * Attacks that reach a target's worker as if the safety stage had let them through, by a plain role that may
 * do more than it should: databases, files, settings and locks are the same before and after each of them.
 *
 * Not tried, since nothing undoes them: pg_logical_emit_message without a transaction, which only adds to the
 * log, and pg_terminate_backend of the role's own sessions. They are the safety stage's.
 */
#include "common/hash.h"
#include "tests/harness/servers/postgres.h"
#include "tests/unit/target/calls.h"

#include <dirent.h>
#include <libpq-fe.h>
#include <sqlite3.h>
#include <sys/stat.h>

static struct test_postgres server;
static bool has_server;
static PGconn *watcher; /* the superuser, listening */
static struct targets *targets;
static char directory[] = "/tmp/assayd-test-attacks-XXXXXX";
static char sqlite_path[128];

static const char schema[] =
	"CREATE TABLE writable (i int, t text); INSERT INTO writable VALUES (1, 'one'), (2, 'two');"
	"CREATE SEQUENCE counter; SELECT nextval('counter'); CREATE FUNCTION wipe() RETURNS int LANGUAGE sql "
	"AS"
	" 'DELETE FROM writable RETURNING i'; CREATE FUNCTION wipe_quietly() RETURNS void LANGUAGE plpgsql "
	"STABLE"
	" SECURITY DEFINER AS 'BEGIN DELETE FROM writable; EXCEPTION WHEN OTHERS THEN NULL; END';"
	"CREATE ROLE reader LOGIN; GRANT ALL ON writable, counter TO reader; GRANT ALL ON SCHEMA public TO "
	"reader;"
	"LISTEN evil";

/* All that may have changed in the server, for everybody. */
static const char server_state[] =
	"SELECT md5(concat_ws('|', (SELECT string_agg(w::text, ',' ORDER BY w::text) FROM writable w),"
	" (SELECT last_value || is_called::text FROM counter),"
	" (SELECT string_agg(oid || relname || relowner || COALESCE(relacl::text, ''), ',' ORDER BY oid) "
	"FROM pg_class"
	"  WHERE relpersistence <> 't'),"
	" (SELECT string_agg(oid || proname || COALESCE(proacl::text, ''), ',' ORDER BY oid) FROM pg_proc),"
	" (SELECT string_agg(rolname || rolsuper || rolconnlimit || COALESCE(rolpassword, ''), ',' ORDER BY "
	"oid) FROM"
	"  pg_authid), (SELECT string_agg(setrole || setconfig::text, ',' ORDER BY setrole) FROM "
	"pg_db_role_setting),"
	" (SELECT count(*) FROM pg_largeobject_metadata), (SELECT count(*) FROM pg_prepared_xacts),"
	" (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'),"
	" (SELECT string_agg(name || setting, ',' ORDER BY name) FROM pg_settings),"
	" (SELECT string_agg(f, ',' ORDER BY f) FROM pg_ls_dir('.') AS f WHERE f NOT LIKE 'pg_stat%'),"
	" (SELECT count(*) FROM pg_class WHERE relpersistence = 't')))";

/* What a session of the worker says of itself. The name of a setting that nobody defined stays for the life
 * of a session, its value does not. */
static const char session_state[] =
	"SELECT concat_ws('|', (SELECT md5(string_agg(name || setting, ',' ORDER BY name)) FROM pg_settings "
	"WHERE source = 'session'),"
	" (SELECT count(*) FROM pg_prepared_statements WHERE name NOT LIKE 'assayd %'),"
	" (SELECT count(*) FROM pg_cursors WHERE name <> ''),"
	" (SELECT count(*) FROM pg_listening_channels()), (SELECT count(*) FROM pg_locks WHERE locktype = "
	"'advisory'),"
	" current_user, session_user, current_setting('transaction_read_only'),"
	" NULLIF(current_setting('evil.x', true), ''))";

static const char *const postgresql_attacks[] = {
	"INSERT INTO writable VALUES (3, 'three') RETURNING i",
	"UPDATE writable SET t = 'evil' RETURNING i",
	"DELETE FROM writable",
	"TRUNCATE writable",
	"WITH gone AS (DELETE FROM writable RETURNING i) SELECT * FROM gone",
	"SELECT wipe()",
	"SELECT wipe_quietly()",
	"SELECT i INTO evil FROM writable",
	"SELECT i FROM writable FOR UPDATE",
	"CREATE TABLE evil (i int)",
	"CREATE TEMP TABLE evil (i int)",
	"CREATE TEMP TABLE evil AS SELECT 1",
	"CREATE FUNCTION evil() RETURNS int LANGUAGE sql AS 'SELECT 1'",
	"CREATE ROLE evil",
	"DROP TABLE writable",
	"ALTER TABLE writable ADD COLUMN evil int",
	"ALTER ROLE reader SET work_mem = '7MB'",
	"ALTER ROLE reader PASSWORD 'evil'",
	"GRANT ALL ON writable TO PUBLIC",
	"COMMENT ON TABLE writable IS 'evil'",
	"COPY writable FROM PROGRAM 'echo 3'",
	"COPY writable TO PROGRAM 'touch %s/evil'",
	"COPY writable TO '%s/evil'",
	"COPY (SELECT 1) TO STDOUT",
	"COPY writable FROM STDIN",
	"SELECT lo_create(4711)",
	"SELECT lo_from_bytea(4711, 'evil')",
	"SELECT lo_put(4711, 0, 'evil')",
	"SELECT lo_unlink(4711)",
	"SELECT lo_export(4711, '%s/evil')",
	"SELECT lo_import('/etc/passwd')",
	"SELECT pg_read_file('/etc/passwd')",
	"SELECT pg_notify('evil', 'x')",
	"NOTIFY evil",
	"LISTEN evil",
	"SELECT set_config('work_mem', '7MB', false)",
	"SELECT set_config('transaction_read_only', 'off', false)",
	"SELECT set_config('default_transaction_read_only', 'off', false)",
	"SELECT set_config('statement_timeout', '0', false)",
	"SELECT set_config('evil.x', 'y', false)",
	"SET work_mem = '7MB'",
	"SET SESSION CHARACTERISTICS AS TRANSACTION READ WRITE",
	"SET TRANSACTION READ WRITE",
	"SET ROLE postgres",
	"SET SESSION AUTHORIZATION postgres",
	"RESET ALL",
	"DO $$ BEGIN DELETE FROM writable; END $$",
	"DO $$ BEGIN COMMIT; DELETE FROM writable; END $$",
	"CALL wipe()",
	"SELECT pg_advisory_lock(7)",
	"SELECT pg_advisory_lock_shared(7, 8)",
	"SELECT pg_try_advisory_lock(9)",
	"SELECT pg_advisory_xact_lock(10)",
	"SELECT pg_logical_emit_message(true, 'evil', 'x')",
	"SELECT nextval('counter')",
	"SELECT setval('counter', 4711)",
	"SELECT txid_current()",
	"SELECT pg_create_logical_replication_slot('evil', 'test_decoding')",
	"SELECT pg_reload_conf()",
	"SELECT pg_stat_reset()",
	"SELECT query_to_xml('DELETE FROM writable RETURNING i', true, true, '')",
	"PREPARE evil AS DELETE FROM writable",
	"EXECUTE evil",
	"DECLARE evil CURSOR WITH HOLD FOR SELECT 1",
	"LOCK TABLE writable IN ACCESS EXCLUSIVE MODE",
	"LOAD 'plpgsql'",
	"VACUUM writable",
	"ANALYZE writable",
	"REINDEX TABLE writable",
	"CHECKPOINT",
	"PREPARE TRANSACTION 'evil'",
	"BEGIN",
	"COMMIT",
	"COMMIT AND CHAIN",
	"ROLLBACK AND CHAIN",
	"ROLLBACK",
	"END",
	"SAVEPOINT evil",
	"RELEASE SAVEPOINT query",
	"ROLLBACK TO SAVEPOINT query",
	"COMMIT; BEGIN; DELETE FROM writable; COMMIT",
	"SELECT 1; DELETE FROM writable",
	"DISCARD ALL",
	"EXPLAIN ANALYZE DELETE FROM writable",
	"SELECT 'x' \\; DELETE FROM writable",
};

static const char *const sqlite_attacks[] = {
	"INSERT INTO writable VALUES (3, 'three')",
	"UPDATE writable SET t = 'evil' RETURNING i",
	"DELETE FROM writable RETURNING i",
	"REPLACE INTO writable VALUES (1, 'evil')",
	"CREATE TABLE evil (i)",
	"CREATE TEMP TABLE evil (i)",
	"CREATE TEMP VIEW writable AS SELECT 1 AS i, 'evil' AS t",
	"CREATE TEMP TRIGGER evil AFTER INSERT ON writable BEGIN DELETE FROM writable; END",
	"CREATE VIRTUAL TABLE evil USING fts5(x)",
	"CREATE VIRTUAL TABLE temp.evil USING fts5(x)",
	"INSERT INTO words(words) VALUES ('rebuild')",
	"INSERT INTO words(words, rank) VALUES ('rank', 'bm25(10.0)') RETURNING *",
	"DROP TABLE writable",
	"ALTER TABLE writable RENAME TO evil",
	"ATTACH '%s/evil.db' AS evil",
	"ATTACH ':memory:' AS evil",
	"DETACH main",
	"VACUUM",
	"VACUUM INTO '%s/evil.db'",
	"REINDEX",
	"ANALYZE",
	"PRAGMA journal_mode = WAL",
	"PRAGMA query_only = 0",
	"PRAGMA writable_schema = 1",
	"PRAGMA user_version = 4711",
	"PRAGMA temp_store_directory = '%s'",
	"PRAGMA wal_checkpoint",
	"PRAGMA incremental_vacuum",
	"PRAGMA case_sensitive_like = 1",
	"SELECT * FROM pragma_journal_mode('WAL')",
	"SELECT * FROM pragma_user_version(4711)",
	"SELECT load_extension('%s/evil.so')",
	"SELECT writefile('%s/evil', 'x')",
	"SELECT readfile('/etc/passwd')",
	"SELECT edit('x', 'touch %s/evil')",
	"SELECT fts3_tokenizer('simple', x'00')",
	"SELECT sqlite_dbpage_write(1)",
	"UPDATE sqlite_dbpage SET data = zeroblob(4096) WHERE pgno = 1",
	"UPDATE sqlite_schema SET sql = 'evil'",
	"BEGIN IMMEDIATE",
	"COMMIT",
	"COMMIT; DELETE FROM writable",
	"SELECT 1; DELETE FROM writable",
	"SAVEPOINT evil",
	"ROLLBACK",
	"END",
	"EXPLAIN DELETE FROM writable",
};

static struct target_settings attacked(struct target_settings settings)
{
	settings.truth_cache_bytes = 0;
	settings.catalog_ttl_s = 86400;
	return settings;
}

static void fill_server(void)
{
	watcher = PQconnectdb(server.socket_dsn);
	PGresult *result = PQexec(watcher, schema);
	ExecStatusType status = PQresultStatus(result);
	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		fail_msg("%s", PQerrorMessage(watcher));
	PQclear(result);
}

static void fill_file(void)
{
	sqlite3 *database;
	assert_non_null(mkdtemp(directory));
	assert_int_equal(chmod(directory, 0777), 0); /* the server's user would be able to write here */
	snprintf(sqlite_path, sizeof sqlite_path, "%s/shop.db", directory);
	assert_int_equal(sqlite3_open(sqlite_path, &database), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(database,
			     "CREATE TABLE writable (i INTEGER PRIMARY KEY, t TEXT);"
			     "INSERT INTO writable VALUES (1, 'one'), (2, 'two');"
			     "CREATE VIRTUAL TABLE words USING fts5(x); INSERT INTO words VALUES ('a word')",
			     NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(database);
}

static int set_up(void **state)
{
	static char dsn[320];
	(void)state;
	fill_file();
	struct target_settings settings[2] = { attacked(sqlite_settings("file", sqlite_path)) };
	if (has_server) {
		fill_server();
		snprintf(dsn, sizeof dsn, "host=%s port=%s user=reader dbname=postgres", server.dir,
			 server.port);
		settings[1] = attacked(postgresql_settings("server", dsn));
	}
	targets = start_targets(settings, has_server ? 2 : 1, NULL);
	targets_wait_catalogs(targets, 30000);
	return 0;
}

static int tear_down(void **state)
{
	char command[200];
	(void)state;
	targets_stop(targets);
	PQfinish(watcher);
	snprintf(command, sizeof command, "rm -r %s", directory);
	return system(command);
}

/* The attack with the watched directory filled in, on either side of the comparison. */
static void attack(const char *target, const char *form, bool as_truth)
{
	char sql[256];
	struct test_call test;
	const char *at = strstr(form, "%s");
	if (at)
		snprintf(sql, sizeof sql, "%.*s%s%s", (int)(at - form), form, directory, at + 2);
	else
		snprintf(sql, sizeof sql, "%s", form);
	test_call_init(&test, target, as_truth ? "SELECT 1" : sql, as_truth ? sql : "SELECT 1");
	targets_submit(targets, &test.call);
	test_call_wait(&test);
	test_call_free(&test);
}

/* Files of the watched directory with their contents. */
static void describe_files(char ret_hex[DIGEST_HEX_SIZE])
{
	struct buf content = BUF_INIT;
	struct dirent **entries;
	int count = scandir(directory, &entries, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		char path[512], bytes[4096];
		snprintf(path, sizeof path, "%s/%s", directory, entries[i]->d_name);
		buf_append_text(&content, entries[i]->d_name);
		FILE *file = entries[i]->d_name[0] == '.' ? NULL : fopen(path, "r");
		for (size_t got; file && (got = fread(bytes, 1, sizeof bytes, file)) > 0;)
			buf_append(&content, bytes, got);
		if (file)
			fclose(file);
		free(entries[i]);
	}
	free(entries);
	hash_sha256_hex(content.data, content.len, ret_hex);
	buf_free(&content);
}

static void describe_server(char ret_state[64])
{
	PGresult *result = PQexec(watcher, server_state);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		fail_msg("%s", PQerrorMessage(watcher));
	snprintf(ret_state, 64, "%s", PQgetvalue(result, 0, 0));
	PQclear(result);
	PGnotify *notification = PQnotifies(watcher);
	assert_null(notification);
}

/* What ends a transaction is on its way when the answer is given: locks go with it. */
static bool server_is_as(const char *before)
{
	char state[64];
	for (int i = 0; i < 1000; i++) {
		describe_server(state);
		if (strcmp(before, state) == 0)
			return true;
		usleep(10000);
	}
	return false;
}

/* Whether the worker's session is as one that nobody used: the truth is what the first said of itself. */
static void session_is(const char *expected, const char *after)
{
	char truth[400];
	struct test_call test;
	snprintf(truth, sizeof truth, "SELECT '%s'", expected);
	test_call_init(&test, "server", session_state, truth);
	targets_submit(targets, &test.call);
	const struct validation_result *result = test_call_wait(&test);
	if (result->status != VALIDATION_COMPARED || result->score != 1.0)
		fail_msg("behind %s the session is not as new: %s %s", after,
			 target_validation_status_name(result->status),
			 result->message.len ? result->message.ptr : "");
	test_call_free(&test);
}

/* What a session says of itself inside of the worker's transaction, in its own words. */
static void fresh_session_state(char ret_state[256])
{
	char dsn[320];
	snprintf(dsn, sizeof dsn, "host=%s port=%s user=reader dbname=postgres", server.dir, server.port);
	PGconn *connection = PQconnectdb(dsn);
	static const char session[] =
		"SET default_transaction_read_only = on;"
		"SET default_transaction_isolation = 'repeatable read'; SET statement_timeout = 20000;"
		"SET lock_timeout = 500; SET idle_in_transaction_session_timeout = 80000;"
		"SET standard_conforming_strings = on; SET datestyle = 'ISO'; SET intervalstyle = 'postgres';"
		"SET bytea_output = 'hex'; SET extra_float_digits = 1";
	PQclear(PQexec(connection, session));
	PQclear(PQexec(connection, "BEGIN"));
	PGresult *result = PQexec(connection, session_state);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		fail_msg("%s", PQerrorMessage(connection));
	snprintf(ret_state, 256, "%s", PQgetvalue(result, 0, 0));
	PQclear(result);
	PQfinish(connection);
}

static void postgresql_is_as_before(void **state)
{
	char before[64], session[256], files[DIGEST_HEX_SIZE], files_after[DIGEST_HEX_SIZE];
	(void)state;
	if (!has_server)
		skip();
	describe_server(before);
	describe_files(files);
	fresh_session_state(session);
	session_is(session, "nothing");
	for (size_t i = 0; i < sizeof postgresql_attacks / sizeof postgresql_attacks[0]; i++)
		for (int as_truth = 0; as_truth < 2; as_truth++) {
			attack("server", postgresql_attacks[i], as_truth);
			describe_files(files_after);
			if (!server_is_as(before) || strcmp(files, files_after) != 0)
				fail_msg("%s has changed something", postgresql_attacks[i]);
			session_is(session, postgresql_attacks[i]);
		}
}

static void sqlite_is_as_before(void **state)
{
	char files[DIGEST_HEX_SIZE], after[DIGEST_HEX_SIZE];
	(void)state;
	describe_files(files);
	for (size_t i = 0; i < sizeof sqlite_attacks / sizeof sqlite_attacks[0]; i++)
		for (int as_truth = 0; as_truth < 2; as_truth++) {
			struct test_call test;
			attack("file", sqlite_attacks[i], as_truth);
			describe_files(after);
			if (strcmp(files, after) != 0)
				fail_msg("%s has changed a file", sqlite_attacks[i]);
			test_call_init(&test, "file", "SELECT t, 'A' LIKE 'a' FROM writable",
				       "SELECT 'one', 1 UNION ALL SELECT 'two', 1");
			targets_submit(targets, &test.call);
			if (test_call_wait(&test)->score != 1.0)
				fail_msg("behind %s the session is not as new", sqlite_attacks[i]);
			test_call_free(&test);
		}
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	int status = test_postgres_start_if_here(&server, "unit.target.attacks", &has_server);
	if (status != 0)
		return status;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(postgresql_is_as_before),
		cmocka_unit_test(sqlite_is_as_before),
	};
	status = cmocka_run_group_tests(tests, set_up, tear_down);
	if (has_server)
		test_postgres_do(&server, "stop");
	return status;
}
