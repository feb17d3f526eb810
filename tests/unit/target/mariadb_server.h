/* A private MariaDB with a database `shop` and its accounts, for the tests of this room. Header-only. */
#pragma once

#include <mysql.h> // first: it calls what banned.h forbids

#include "tests/harness/servers/mariadb.h"
#include "tests/unit/target/calls.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#define PASSWORD "s3cret-Passw0rd"

static struct test_mariadb shop_server;
static unsigned port;
static char password_file[256];

static const char *const shop_schema[] = {
	"CREATE DATABASE shop CHARACTER SET utf8mb4",
	"USE shop",
	"CREATE TABLE sales (id INT PRIMARY KEY, region VARCHAR(10), amount DECIMAL(10,2), sold_at "
	"TIMESTAMP, "
	"extra JSON, raw VARBINARY(10), ok BOOLEAN)",
	"INSERT INTO sales SELECT seq, ELT(1 + seq % 3, 'north', 'south', 'east'), seq * 1.5, "
	"'2024-01-01 00:00:00' + INTERVAL seq HOUR, JSON_OBJECT('k', seq), UNHEX(LPAD(HEX(seq), 4, '0')), "
	"seq % 2 = 0 FROM seq_1_to_30",
	"CREATE TABLE log (n INT)",
	"CREATE SEQUENCE numbers",
	"CREATE FUNCTION wipe(n INT) RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO log VALUES (n); RETURN "
	"n; "
	"END",
	"CREATE PROCEDURE wipe_all() DELETE FROM log",
	"CREATE USER reader IDENTIFIED BY '" PASSWORD "'",
	"GRANT SELECT ON shop.* TO reader",
	"CREATE USER careless IDENTIFIED BY '" PASSWORD "'",
	"GRANT ALL PRIVILEGES ON *.* TO careless WITH GRANT OPTION",
	"CREATE USER narrow IDENTIFIED BY '" PASSWORD "' WITH MAX_USER_CONNECTIONS 1",
	"GRANT SELECT ON shop.* TO narrow",
};

static inline MYSQL *root_connection(void)
{
	MYSQL *connection = mysql_init(NULL);
	assert_non_null(connection);
	mysql_options(connection, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	if (!mysql_real_connect(connection, NULL, "root", "", NULL, 0, shop_server.socket, 0))
		fail_msg("%s", mysql_error(connection));
	return connection;
}

static inline void must(MYSQL *connection, const char *sql)
{
	if (mysql_query(connection, sql) != 0)
		fail_msg("%s: %s", sql, mysql_error(connection));
	mysql_free_result(mysql_store_result(connection));
}

/* Runs a statement as the administrator. */
static inline void admin(const char *sql)
{
	MYSQL *connection = root_connection();
	must(connection, sql);
	mysql_close(connection);
}

/* All cells of a result, one behind the other. */
static inline void append_result(MYSQL *connection, const char *sql, struct buf *text)
{
	if (mysql_query(connection, sql) != 0)
		fail_msg("%s: %s", sql, mysql_error(connection));
	MYSQL_RES *result = mysql_store_result(connection);
	assert_non_null(result);
	for (MYSQL_ROW row; (row = mysql_fetch_row(result));)
		for (unsigned i = 0; i < mysql_num_fields(result); i++)
			buf_printf(text, "%s|", row[i] ? row[i] : "NULL");
	mysql_free_result(result);
}

static inline unsigned free_port(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	close(fd);
	return ntohs(address.sin_port);
}

static inline void write_secret(const char *secret)
{
	FILE *file = fopen(password_file, "w");
	assert_non_null(file);
	fprintf(file, "%s\n", secret);
	fclose(file);
}

/* A target of the account, by TCP. */
static inline struct target_settings mariadb_settings(const char *user, char *dsn, size_t size)
{
	snprintf(dsn, size, "host=127.0.0.1 port=%u user=%s dbname=shop", port, user);
	struct target_settings settings = postgresql_settings("shop", dsn);
	settings.engine = TARGET_MARIADB;
	settings.password_file = password_file;
	settings.worker_memory_bytes = (int64_t)256 << 20;
	return settings;
}

/* 0, or 77 when there is no server to be had. */
static inline int start_shop(const char *name)
{
	char options[256];
	port = free_port();
	snprintf(options, sizeof options,
		 "--set skip_networking=0 --set bind_address=127.0.0.1 --set port=%u", port);
	int status = test_mariadb_start_with(&shop_server, options);
	if (status == 77)
		printf("skipped: %s needs MariaDB\n", name);
	if (status != 0)
		return status;
	snprintf(password_file, sizeof password_file, "/tmp/assayd-test-%ld-mariadb", (long)getpid());
	write_secret(PASSWORD);
	MYSQL *root = root_connection();
	for (size_t i = 0; i < sizeof shop_schema / sizeof shop_schema[0]; i++)
		must(root, shop_schema[i]);
	mysql_close(root);
	return 0;
}

static inline void stop_shop(void)
{
	unlink(password_file);
	test_mariadb_stop(&shop_server);
	mysql_library_end();
}
