/*
 * What the tests of MySQL's dialect share: a private MariaDB with the shop's database, connections, its
 * catalog, one line of text after the other. Header-only.
 */
#pragma once

#include <mysql.h> // first: it calls what banned.h forbids

#include "sql/dialects.h"
#include "sql/findings/analysis.h"

#include "common/buf.h"
#include "tests/harness/servers/mariadb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static struct test_mariadb server;
static struct catalog *shop;

static const char *const shop_schema[] = {
	"CREATE DATABASE shop CHARACTER SET utf8mb4",
	"USE shop",
	"CREATE TABLE users (id INT PRIMARY KEY, name VARCHAR(40), city VARCHAR(40), created DATETIME, "
	"FULLTEXT KEY (name))",
	"CREATE TABLE orders (id INT PRIMARY KEY, user_id INT, total DECIMAL(10, 2))",
	"CREATE TABLE items (id INT PRIMARY KEY, order_id INT, product VARCHAR(40))",
	"CREATE TABLE tree (id INT PRIMARY KEY, parent INT)",
	"CREATE TABLE words (value INT, status INT, type INT, year INT, date DATE, time TIME, count INT)",
	"CREATE TABLE `order` (`group` INT, `select` INT)",
	"CREATE TABLE accents (`na\303\257ve` INT)",
	"CREATE TABLE sessions (user VARCHAR(40))",
	"CREATE TABLE log (n INT)",
	"CREATE TABLE prices (x INT) WITH SYSTEM VERSIONING",
	"CREATE VIEW big_orders AS SELECT * FROM orders WHERE total > 100",
	"CREATE SEQUENCE numbers",
	"CREATE FUNCTION pure_double(n INT) RETURNS INT DETERMINISTIC NO SQL RETURN 2 * n",
	"CREATE FUNCTION wipe(n INT) RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO log VALUES (n); "
	"RETURN n; END",
	"CREATE PROCEDURE wipe_all() DELETE FROM log",
	"CREATE VIEW totals AS SELECT u.name, SUM(o.total) AS total, GROUP_CONCAT(DISTINCT o.id ORDER BY "
	"o.id "
	"SEPARATOR '; ') AS ids, CAST(u.id AS CHAR(10)) AS code, u.created + INTERVAL 1 DAY AS next_day, "
	"CASE WHEN u.city LIKE 'x%' THEN _utf8mb4'it''s' ELSE NULL END AS label FROM users u LEFT JOIN "
	"orders o "
	"ON o.user_id = u.id AND o.total BETWEEN 1 AND 5000 WHERE u.id IN (SELECT user_id FROM orders) OR "
	"u.name IS NOT NULL GROUP BY u.id HAVING COUNT(*) > 0 ORDER BY 2 DESC",
	"CREATE VIEW of_totals AS SELECT name, pure_double(total) AS doubled FROM totals",
	"CREATE VIEW trap AS SELECT wipe(id) AS w FROM users",
	"CREATE VIEW of_trap AS SELECT t.w FROM trap t JOIN users ON 1",
	"CREATE VIEW sleepy AS SELECT SLEEP(0) AS s",
	"CREATE VIEW quotes AS SELECT 'it''s' AS label, '\\\\' AS quoted, "
	"COLUMN_CREATE('b', 'x' AS CHAR CHARSET utf8mb4) AS dynamic",
	"CREATE VIEW quoted_trap AS SELECT 'it''s' AS label, wipe(1) AS w, '\\\\' AS bar",
	"SET sql_mode = 'NO_BACKSLASH_ESCAPES'",
	"CREATE VIEW plain_trap AS SELECT '\\' AS label, wipe(1) AS w, '\\' AS bar",
	"SET sql_mode = DEFAULT",
	"INSERT INTO users VALUES (1, 'anna', 'x', '2024-01-01'), (2, 'bert', 'y', '2024-02-02')",
	"INSERT INTO orders VALUES (1, 1, 10), (2, 1, 20), (3, 2, 300)",
	"INSERT INTO tree VALUES (1, NULL), (2, 1)",
	"CREATE USER reader@localhost",
	"GRANT SELECT ON shop.* TO reader@localhost",
};

static inline MYSQL *connected(const char *user, const char *database, unsigned long flags)
{
	MYSQL *connection = mysql_init(NULL);
	assert_non_null(connection);
	mysql_options(connection, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	if (!mysql_real_connect(connection, NULL, user, NULL, database, 0, server.socket, flags))
		fail_msg("%s", mysql_error(connection));
	return connection;
}

static inline void must(MYSQL *connection, const char *sql)
{
	if (mysql_query(connection, sql) != 0)
		fail_msg("%s: %s", sql, mysql_error(connection));
	mysql_free_result(mysql_store_result(connection));
}

/* The only cell of a result. */
static inline long long number_of(MYSQL *connection, const char *sql)
{
	if (mysql_query(connection, sql) != 0)
		fail_msg("%s: %s", sql, mysql_error(connection));
	MYSQL_RES *result = mysql_store_result(connection);
	MYSQL_ROW row = mysql_fetch_row(result);
	long long value = row && row[0] ? strtoll(row[0], NULL, 10) : -1;
	mysql_free_result(result);
	return value;
}

static inline struct catalog *catalog_of(MYSQL *connection)
{
	struct buf lines = BUF_INIT;
	struct catalog *catalog = NULL;
	struct err_detail detail;
	if (mysql_query(connection, CATALOG_QUERY_MYSQL) != 0)
		fail_msg("%s", mysql_error(connection));
	MYSQL_RES *result = mysql_store_result(connection);
	for (MYSQL_ROW row; (row = mysql_fetch_row(result));) {
		buf_append(&lines, row[0], mysql_fetch_lengths(result)[0]);
		buf_append_char(&lines, '\n');
	}
	mysql_free_result(result);
	assert_int_equal(catalog_compile_mysql(buf_str(&lines), &catalog, &detail), ERR_OK);
	buf_free(&lines);
	return catalog;
}

/* 0, or 77 when there is no server to be had. */
static inline int start_shop(void)
{
	int status = test_mariadb_start(&server);
	if (status != 0)
		return status;
	MYSQL *root = connected("root", NULL, 0);
	for (size_t i = 0; i < sizeof shop_schema / sizeof shop_schema[0]; i++)
		must(root, shop_schema[i]);
	shop = catalog_of(root);
	mysql_close(root);
	return 0;
}

static inline void stop_shop(void)
{
	catalog_unref(shop);
	(void)test_mariadb_stop(&server);
	mysql_library_end();
}

static inline struct sql_analysis analysed(str_t sql, const struct catalog *catalog, struct arena *arena)
{
	struct sql_request request = { .sql = sql, .dialect = SQL_MYSQL, .catalog = catalog };
	struct sql_analysis analysis;
	sql_analyse(&request, arena, &analysis);
	return analysis;
}

static inline size_t errors_of(const struct sql_analysis *analysis)
{
	size_t count = 0;
	for (size_t i = 0; i < analysis->diagnostics_count; i++)
		count += analysis->diagnostics[i].severity == SQL_ERROR;
	return count;
}

/* What the server says of a statement before it runs. */
struct prepared {
	unsigned error;
	bool gives_rows;
	char message[200];
};

static inline struct prepared prepare(MYSQL *connection, str_t sql)
{
	struct prepared prepared = { 0 };
	MYSQL_STMT *statement = mysql_stmt_init(connection);
	if (mysql_stmt_prepare(statement, sql.ptr, sql.len) != 0) {
		prepared.error = mysql_stmt_errno(statement);
		snprintf(prepared.message, sizeof prepared.message, "%s", mysql_stmt_error(statement));
	} else {
		prepared.gives_rows = mysql_stmt_field_count(statement) > 0;
	}
	mysql_stmt_close(statement);
	return prepared;
}

static inline FILE *open_text(const char *folder, const char *name)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return fopen(path, "r");
}

static inline FILE *open_corpus(const char *name)
{
	const char *folder = getenv("ASSAYD_CORPORA");
	FILE *file = open_text(folder ? folder : ASSAYD_SOURCE_DIR "/../shared/corpora", name);
	if (!file) {
		print_message("skipped: the corpora have no %s here\n", name);
		skip();
	}
	return file;
}
