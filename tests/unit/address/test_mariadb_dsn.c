/* Connection strings of MariaDB targets: what is understood, what is refused and in which words. */
#include "address/mariadb_dsn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct {
	const char *text;
	struct mariadb_dsn dsn;
} good[] = {
	{ "user=u", { .port = 3306, .user = "u", .ssl_verify = true, .time_zone = "+00:00" } },
	{ "host=db.example.org port=3307 dbname=shop user=assayd_ro",
	  { .host = "db.example.org",
	    .port = 3307,
	    .dbname = "shop",
	    .user = "assayd_ro",
	    .ssl_verify = true,
	    .time_zone = "+00:00" } },
	{ "  host = ::1\tuser\n=\tu ",
	  { .host = "::1", .port = 3306, .user = "u", .ssl_verify = true, .time_zone = "+00:00" } },
	{ "socket=/run/my\\ sql/s user='a \\'b\\\\'",
	  { .socket = "/run/my sql/s",
	    .port = 3306,
	    .user = "a 'b\\",
	    .ssl_verify = true,
	    .time_zone = "+00:00" } },
	{ "user=u ssl=on",
	  { .port = 3306, .user = "u", .ssl = true, .ssl_verify = true, .time_zone = "+00:00" } },
	{ "user=u ssl_verify=off", { .port = 3306, .user = "u", .ssl = true, .time_zone = "+00:00" } },
	{ "user=u ssl_ca=/ca ssl_cert=/cert ssl_key=/key time_zone=Europe/Berlin",
	  { .port = 3306,
	    .user = "u",
	    .ssl = true,
	    .ssl_verify = true,
	    .ssl_ca = "/ca",
	    .ssl_cert = "/cert",
	    .ssl_key = "/key",
	    .time_zone = "Europe/Berlin" } },
};

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same(const struct mariadb_dsn *a, const struct mariadb_dsn *b)
{
	return same_text(a->host, b->host) && same_text(a->socket, b->socket) && a->port == b->port &&
	       same_text(a->dbname, b->dbname) && same_text(a->user, b->user) && a->ssl == b->ssl &&
	       a->ssl_verify == b->ssl_verify && same_text(a->ssl_ca, b->ssl_ca) &&
	       same_text(a->ssl_cert, b->ssl_cert) && same_text(a->ssl_key, b->ssl_key) &&
	       same_text(a->time_zone, b->time_zone);
}

static void strings_are_understood(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		struct arena *arena = arena_new();
		struct mariadb_dsn dsn;
		struct err_detail detail = { "" };
		if (mariadb_dsn_parse(good[i].text, arena, &dsn, &detail) != ERR_OK ||
		    !same(&dsn, &good[i].dsn))
			fail_msg("%s: %s", good[i].text, detail.message);
		arena_free(arena);
	}
}

#define FORM "the dsn is not a list of key=value pairs, such as \"host=db dbname=shop user=assayd_ro\""

static const struct {
	const char *text, *message;
} bad[] = {
	{ "", "the dsn contains no user" },
	{ "host=db", "the dsn contains no user" },
	{ "hots=db user=u",
	  "the dsn has the unknown key \"hots\"; there are host, port, socket, dbname, user, ssl, "
	  "ssl_ca, ssl_cert, ssl_key, ssl_verify, time_zone" },
	{ "user=u password=hunter2",
	  "the dsn contains a password: write it to a file and set password_file to its name" },
	{ "mysql://u:hunter2@db/shop", FORM },
	{ "mysql://u:hunter2@db/shop?ssl=on", FORM },
	{ "hunter2", FORM },
	{ "user=u hunter2", FORM },
	{ "User=u", FORM },
	{ "=u", FORM },
	{ "user=", "the dsn has no value for user" },
	{ "user=''", "the dsn has no value for user" },
	{ "user='u", "the dsn has a quoted value of user that does not end" },
	{ "user='u\\", "the dsn has a quoted value of user that does not end" },
	{ "user=u user=v", "the dsn contains user twice" },
	{ "user=u host=a,b", "the host in the dsn is not a name or an address" },
	{ "user=u host=aurora://db", "the host in the dsn is not a name or an address" },
	{ "user=u 'host'=db", FORM },
	{ "user=u host='db;init-command=x'", "the host in the dsn is not a name or an address" },
	{ "user=u host=db socket=/s", "the dsn contains a host and a socket: use one of them" },
	{ "user=u port=1 socket=/s", "the dsn contains a port and a socket: use one of them" },
	{ "user=u port=0", "the port in the dsn is not a number from 1 to 65535" },
	{ "user=u port=65536", "the port in the dsn is not a number from 1 to 65535" },
	{ "user=u port=3306x", "the port in the dsn is not a number from 1 to 65535" },
	{ "user=u port=-1", "the port in the dsn is not a number from 1 to 65535" },
	{ "user=u port=99999999999999999999", "the port in the dsn is not a number from 1 to 65535" },
	{ "user=u ssl=maybe", "the dsn's ssl is neither on nor off" },
	{ "user=u ssl_verify=1", "the dsn's ssl_verify is neither on nor off" },
	{ "user=u ssl=off ssl_ca=/ca", "the dsn disables ssl and has settings for it" },
	{ "user=u ssl_cert=/cert", "the dsn's ssl_cert and ssl_key belong together" },
	{ "user=u time_zone='UTC, sql_mode=ANSI'",
	  "the time_zone in the dsn is not the name or the offset of a time zone" },
	{ "user=u time_zone=a'", "the time_zone in the dsn is not the name or the offset of a time zone" },
};

static void anything_else_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct arena *arena = arena_new();
		struct mariadb_dsn dsn;
		struct err_detail detail = { "" };
		if (mariadb_dsn_parse(bad[i].text, arena, &dsn, &detail) != ERR_CONFIG_RANGE)
			fail_msg("%s is taken", bad[i].text);
		assert_string_equal(detail.message, bad[i].message);
		assert_null(strstr(detail.message, "hunter2"));
		arena_free(arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_are_understood),
		cmocka_unit_test(anything_else_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
