/*
 * Statements that safety never lets through, handed to the worker of a MariaDB target all the same, by an
 * account that may only read and by one that may do everything: databases, accounts, settings, locks and
 * files are the same afterwards.
 */
#include "mariadb_server.h"

#include <dirent.h>
#include <sys/stat.h>

static const char *const attacks[] = {
	"INSERT INTO log VALUES (1)",
	"INSERT INTO log VALUES (1) RETURNING n",
	"REPLACE INTO log VALUES (1)",
	"UPDATE sales SET amount = 0",
	"DELETE FROM sales",
	"DELETE FROM sales RETURNING id",
	"ANALYZE DELETE FROM sales",
	"ANALYZE FORMAT=JSON UPDATE sales SET amount = 0",
	"TRUNCATE TABLE sales",
	"DROP TABLE sales",
	"DROP DATABASE shop",
	"CREATE TABLE mine AS SELECT * FROM sales",
	"CREATE TEMPORARY TABLE mine AS SELECT * FROM sales",
	"CREATE OR REPLACE VIEW mine AS SELECT 1",
	"ALTER TABLE sales ADD COLUMN mine INT",
	"CREATE INDEX mine ON sales (region)",
	"CREATE FUNCTION mine() RETURNS INT RETURN 1",
	"CREATE EVENT mine ON SCHEDULE EVERY 1 SECOND DO DELETE FROM sales",
	"CREATE TRIGGER mine BEFORE INSERT ON log FOR EACH ROW SET @a = 1",
	"CREATE USER mine",
	"DROP USER reader",
	"GRANT ALL PRIVILEGES ON *.* TO reader",
	"SET PASSWORD FOR reader = PASSWORD('mine')",
	"ALTER USER reader IDENTIFIED BY 'mine'",
	"SET GLOBAL max_connections = 3",
	"SET GLOBAL general_log = 1",
	"SET @@GLOBAL.read_only = 1",
	"SET STATEMENT max_statement_time = 0 FOR DELETE FROM sales",
	"SET STATEMENT sql_log_bin = 0 FOR SELECT 1",
	"SELECT wipe(1)",
	"SELECT wipe(id) FROM sales",
	"SELECT NEXT VALUE FOR numbers",
	"SELECT NEXTVAL(numbers)",
	"SELECT SETVAL(numbers, 100)",
	"CALL wipe_all()",
	"DO wipe(1)",
	"DO GET_LOCK('mine', 0)",
	"SELECT GET_LOCK('mine', 0)",
	"SELECT * FROM sales FOR UPDATE",
	"SELECT * FROM sales LOCK IN SHARE MODE",
	"LOCK TABLES sales WRITE",
	"FLUSH TABLES WITH READ LOCK",
	"BACKUP STAGE START",
	"SELECT 1 INTO OUTFILE '%s/mine'",
	"SELECT 1 INTO DUMPFILE '%s/mine'",
	"SELECT * FROM sales INTO OUTFILE '%s/mine'",
	"SELECT 1 /*! INTO OUTFILE '%s/mine' */",
	"SELECT 1 /*M! INTO OUTFILE '%s/mine' */",
	"SELECT 1 UNION SELECT 2 INTO OUTFILE '%s/mine'",
	"SELECT id INTO @mine FROM sales LIMIT 1",
	"SELECT LOAD_FILE('%s/secret')",
	"LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE log",
	"LOAD DATA INFILE '%s/secret' INTO TABLE log",
	"LOAD XML LOCAL INFILE '/etc/passwd' INTO TABLE log",
	"/*!50000 DELETE FROM sales */",
	"/*M! DELETE FROM sales */",
	"/*!50000 DELETE */ FROM sales",
	"SELECT 1 /*! ; DELETE FROM sales */",
	"SELECT 1; DELETE FROM sales",
	"PREPARE mine FROM 'DELETE FROM sales'",
	"EXECUTE IMMEDIATE 'DELETE FROM sales'",
	"BEGIN NOT ATOMIC DELETE FROM sales; END",
	"COMMIT",
	"COMMIT AND CHAIN",
	"ROLLBACK",
	"START TRANSACTION READ WRITE",
	"SET TRANSACTION READ WRITE",
	"XA START 'mine'",
	"HANDLER sales OPEN",
	"HANDLER sales READ FIRST",
	"OPTIMIZE TABLE sales",
	"REPAIR TABLE sales",
	"ANALYZE TABLE sales",
	"CHECK TABLE sales FOR UPGRADE",
	"RENAME TABLE sales TO mine",
	"INSTALL SONAME 'ha_example'",
	"UNINSTALL PLUGIN InnoDB",
	"CREATE SERVER mine FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'h')",
	"RESET MASTER",
	"PURGE BINARY LOGS BEFORE NOW()",
	"CHANGE MASTER TO MASTER_HOST = 'h'",
	"START SLAVE",
	"FLUSH PRIVILEGES",
	"KILL 1",
	"SHUTDOWN",
};

static char secret_path[256];

static size_t files_in(const char *directory)
{
	size_t count = 0;
	DIR *folder = opendir(directory);
	assert_non_null(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

/* All that a statement could change, as one text. */
static void look_at_the_world(struct buf *world)
{
	static const char *const queries[] = {
		"CHECKSUM TABLE shop.sales, shop.log, shop.numbers EXTENDED",
		"SHOW FULL TABLES FROM shop",
		"SHOW CREATE TABLE shop.sales",
		"SHOW DATABASES",
		"SELECT User, Host, Priv FROM mysql.global_priv ORDER BY 1, 2",
		"SELECT * FROM mysql.db ORDER BY 1, 2, 3",
		"SELECT COUNT(*) FROM mysql.proc",
		"SELECT COUNT(*) FROM mysql.event",
		"SELECT COUNT(*) FROM mysql.servers",
		"SELECT COUNT(*), SUM(PLUGIN_STATUS = 'ACTIVE') FROM information_schema.PLUGINS",
		"SELECT COUNT(*) FROM information_schema.TRIGGERS",
		"SELECT VARIABLE_NAME, VARIABLE_VALUE FROM information_schema.GLOBAL_VARIABLES",
		"SELECT COUNT(*) FROM information_schema.INNODB_LOCKS",
		"SELECT IS_FREE_LOCK('mine')",
	};
	MYSQL *root = root_connection();
	for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++)
		append_result(root, queries[i], world);
	must(root, "LOCK TABLES shop.sales WRITE"); /* nobody holds it */
	mysql_close(root);
	buf_printf(world, "%zu files", files_in(shop_server.files));
}

static void nothing_changes(const char *user)
{
	struct buf before = BUF_INIT, after = BUF_INIT;
	char dsn[320], sql[400];
	struct target_settings settings = mariadb_settings(user, dsn, sizeof dsn);
	settings.statement_timeout_ms = 1000;
	struct targets *targets = start_targets(&settings, 1, NULL);
	targets_wait_catalogs(targets, 30000);
	look_at_the_world(&before);
	for (size_t i = 0; i < sizeof attacks / sizeof attacks[0]; i++) {
		struct test_call test;
		const char *folder = strstr(attacks[i], "%s");
		snprintf(sql, sizeof sql, "%.*s%s%s", folder ? (int)(folder - attacks[i]) : (int)sizeof sql,
			 attacks[i], folder ? shop_server.files : "", folder ? folder + 2 : "");
		test_call_init(&test, "shop", sql, "SELECT 42");
		targets_submit(targets, &test.call);
		const struct validation_result *result = test_call_wait(&test);
		if (result->score >= 0.5)
			fail_msg("%s: %g", sql, result->score);
		test_call_free(&test);
		buf_reset(&after);
		look_at_the_world(&after);
		if (strcmp(before.data, after.data) != 0)
			fail_msg("%s, by %s, has changed something:\n%s\n%s", sql, user, before.data,
				 after.data);
	}
	targets_stop(targets);
	buf_free(&before);
	buf_free(&after);
}

static void an_account_that_may_read_changes_nothing(void **state)
{
	(void)state;
	nothing_changes("reader");
}

/* It takes a wrong GRANT and a hole in the verdict on safety at once, and still nothing is lost. */
static void an_account_that_may_do_everything_changes_nothing(void **state)
{
	(void)state;
	nothing_changes("careless");
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	int status = start_shop("unit.target.mariadb_attacks");
	if (status != 0)
		return status;
	snprintf(secret_path, sizeof secret_path, "%s/secret", shop_server.files);
	FILE *secret = fopen(secret_path, "w");
	if (secret) {
		fputs("1\n", secret);
		fclose(secret);
		status = chmod(secret_path, 0644);
	}
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_account_that_may_read_changes_nothing),
		cmocka_unit_test(an_account_that_may_do_everything_changes_nothing),
	};
	status = secret && status == 0 ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
	stop_shop();
	return status;
}
