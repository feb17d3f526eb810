/* Connection strings of MongoDB targets: what is understood, what is refused and in which words. */
#include "address/mongodb_dsn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct {
	const char *text;
	struct mongodb_dsn dsn;
} good[] = {
	{ "mongodb://db/shop", { .database = "shop", .ports = { 27017 }, .ports_count = 1 } },
	{ "mongodb://assayd@db:27018/shop?authSource=admin&TLS=true",
	  { .database = "shop", .user = "assayd", .ports = { 27018 }, .ports_count = 1 } },
	{ "mongodb://a:1,b:2,c:1/shop?replicaSet=rs0&readPreference=secondary",
	  { .database = "shop", .ports = { 1, 2 }, .ports_count = 2, .reads_from = true } },
	{ "mongodb://%2Frun%2Fmongodb%2Fs.sock/shop", { .database = "shop" } },
	{ "mongodb://[::1]:5/a%2Db?tlsCAFile=/ca&tlsCertificateKeyFile=/key&connectTimeoutMS=5"
	  "&serverSelectionTimeoutMS=7",
	  { .database = "a-b",
	    .ca_file = "/ca",
	    .key_file = "/key",
	    .ports = { 5 },
	    .ports_count = 1,
	    .connect_timeout = true,
	    .selection_timeout = true } },
	{ "mongodb://db/shop?tls=true&tlsAllowInvalidHostnames=true",
	  { .database = "shop", .ports = { 27017 }, .ports_count = 1, .insecure = true } },
	{ "mongodb+srv://cluster.example.org/shop",
	  { .database = "shop", .ports = { 27017 }, .ports_count = 1 } },
};

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same(const struct mongodb_dsn *a, const struct mongodb_dsn *b)
{
	return same_text(a->database, b->database) && same_text(a->user, b->user) &&
	       same_text(a->ca_file, b->ca_file) && same_text(a->key_file, b->key_file) &&
	       a->ports_count == b->ports_count &&
	       memcmp(a->ports, b->ports, a->ports_count * sizeof *a->ports) == 0 &&
	       a->insecure == b->insecure && a->reads_from == b->reads_from &&
	       a->connect_timeout == b->connect_timeout && a->selection_timeout == b->selection_timeout;
}

static void strings_are_understood(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		struct arena *arena = arena_new();
		struct mongodb_dsn dsn;
		struct err_detail detail = { "" };
		if (mongodb_dsn_parse(good[i].text, arena, &dsn, &detail))
			fail_msg("%s: %s", good[i].text, detail.message);
		if (!same(&dsn, &good[i].dsn))
			fail_msg("%s is understood otherwise", good[i].text);
		arena_free(arena);
	}
}

#define NO_DSN                                                                                               \
	"not a connection string of MongoDB: write mongodb://user@host:27017/database?option=value, with "   \
	"what is no letter or digit in a name as %XX"

#define NO_HOST                                                                                              \
	"a host of the dsn, or its port, which is a number from 1 to 65535, is not valid; mongodb+srv:// "   \
	"takes one host without a port"
#define NO_VALUE(option) "the dsn's option " option " has a value that it does not take, beside the others"

static const struct {
	const char *text, *message;
} bad[] = {
	{ "", NO_DSN },
	{ "host=db dbname=shop", NO_DSN },
	{ "postgresql://db/shop", NO_DSN },
	{ "mongodb://", NO_HOST },
	{ "mongodb://db:99999/shop", NO_HOST },
	{ "mongodb+srv://db:5/shop", NO_HOST },
	{ "mongodb://db/sh.op",
	  "the dsn's database has a name that no database has: without dots, blanks and $" },
	{ "mongodb://db/shop?tls=hunter2", NO_VALUE("tls") },
	{ "mongodb://db/shop?readPreference=primry", NO_VALUE("readPreference") },
	{ "mongodb://db/shop?tls=true&tlsInsecure=true&tlsAllowInvalidHostnames=true",
	  NO_VALUE("tlsInsecure") },
	{ "mongodb://db", "the dsn names no database: mongodb://host/database" },
	{ "mongodb://db/", "the dsn names no database: mongodb://host/database" },
	{ "mongodb://u:hunter2@db/shop",
	  "the connection string contains a password; write it to a file and set password_file to its name" },
	{ "mongodb://db/shop?tsl=true", "the dsn has the unknown option \"tsl\"; did you mean \"tls\"?" },
	{ "mongodb://db/shop?hunter2", "the dsn's options are not of the form option=value&option=value" },
	{ "mongodb://db/shop?tls=true&=hunter2",
	  "the dsn's options are not of the form option=value&option=value" },
	{ "mongodb://db/shop?socketTimeoutMS=1",
	  "the dsn's option socketTimeoutMS follows from statement_timeout_ms; leave it out" },
	{ "mongodb://db/shop?W=1", "the dsn's option w is of writers; leave it out" },
	{ "mongodb://db/shop?tlsCertificateKeyFilePassword=hunter2",
	  "the dsn's option tlsCertificateKeyFilePassword is a secret that has no file here; use a key that "
	  "is "
	  "not encrypted" },
	{ "mongodb://a:1,a:2,a:3,a:4,a:5,a:6,a:7,a:8,a:9,a:10,a:11,a:12,a:13,a:14,a:15,a:16,a:17/shop",
	  "the dsn names more than 16 ports" },
};

static void anything_else_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		struct arena *arena = arena_new();
		struct mongodb_dsn dsn;
		struct err_detail detail = { "" };
		if (mongodb_dsn_parse(bad[i].text, arena, &dsn, &detail) != ERR_CONFIG_RANGE)
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
