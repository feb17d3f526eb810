/* TLS to a real MariaDB: nothing goes over a connection that is not what the dsn asks for, and the deadlines
 * hold there as well. */
#include "mariadb_server.h"
#include "tests/unit/target/cases.h"

static char directory[] = "/tmp/assayd-test-tls-XXXXXX";

static bool make_certificates(void)
{
	char command[1200];
	snprintf(command, sizeof command,
		 "cd %s && exec 2>/dev/null && chmod 755 . && "
		 "openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 30 -subj /CN=ca "
		 "&& "
		 "openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost "
		 "&& "
		 "openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -out "
		 "server.pem"
		 " && chmod 644 *",
		 directory);
	return system(command) == 0;
}

static struct target_settings settings_with(const char *rest, char *dsn, size_t size)
{
	struct target_settings settings = mariadb_settings("reader", dsn, size);
	snprintf(dsn, size, "port=%u user=reader dbname=shop %s", port, rest);
	settings.statement_timeout_ms = 2000;
	return settings;
}

static void must_be_refused(const char *rest, const char *message)
{
	char dsn[512];
	struct arena *arena = arena_new();
	struct err_detail detail = { "" };
	str_t notes;
	struct target_settings settings = settings_with(rest, dsn, sizeof dsn);
	if (target_check(&settings, arena, &notes, &detail) != ERR_TARGET_UNAVAILABLE ||
	    !strstr(detail.message, message))
		fail_msg("%s: %s", rest, detail.message);
	arena_free(arena);
}

/* The library would go on in the clear. */
static void a_server_without_tls_is_refused(void **state)
{
	(void)state;
	must_be_refused("host=127.0.0.1 ssl=on", "the server does not support it");
	must_be_refused("host=127.0.0.1 ssl=on ssl_verify=off",
			"the server has no TLS (SSL), which the dsn asks for");
}

static void only_the_right_server_is_believed(void **state)
{
	char rest[256];
	(void)state;
	must_be_refused("host=localhost ssl=on", "certificate");
	snprintf(rest, sizeof rest, "host=127.0.0.1 ssl_ca=%s/ca.pem",
		 directory); /* localhost's certificate */
	must_be_refused(rest, "certificate");
	snprintf(rest, sizeof rest, "host=localhost ssl_ca=%s/nowhere.pem", directory);
	must_be_refused(rest, "SSL");
}

static void queries_run_encrypted_and_end_in_time(void **state)
{
	char rest[256], dsn[512];
	struct test_call test;
	(void)state;
	admin("ALTER USER reader REQUIRE SSL");
	must_be_refused("host=localhost", "Access denied");
	for (int verified = 0; verified < 2; verified++) {
		snprintf(rest, sizeof rest, "host=localhost ssl=on ssl_ca=%s/ca.pem ssl_verify=%s", directory,
			 verified ? "on" : "off");
		struct target_settings settings = settings_with(rest, dsn, sizeof dsn);
		struct targets *targets = start_targets(&settings, 1, NULL);
		check_match(targets, "shop", "SELECT * FROM sales", "SELECT * FROM sales");
		check_match(targets, "shop",
			    "SELECT VARIABLE_VALUE <> '' FROM information_schema.SESSION_STATUS WHERE "
			    "VARIABLE_NAME = "
			    "'Ssl_cipher'",
			    "SELECT 1");
		check_match(targets, "shop", "SELECT seq FROM seq_1_to_20000",
			    "SELECT seq FROM seq_1_to_20000");
		check_match(targets, "shop", "SELECT REPEAT('x', 3000000)", "SELECT REPEAT('x', 3000000)");
		test_call_init(&test, "shop", "SET STATEMENT max_statement_time = 0 FOR SELECT SLEEP(30)",
			       "SELECT 1");
		targets_submit(targets, &test.call);
		assert_int_equal(test_call_wait(&test)->status, VALIDATION_TIMEOUT);
		assert_string_equal(test.call.result.generated.sqlstate, "70100");
		test_call_free(&test);
		targets_stop(targets);
	}
}

static void restart_with_tls(void)
{
	char path[192];
	snprintf(path, sizeof path, "%s/my.cnf", shop_server.dir);
	FILE *file = fopen(path, "a");
	assert_non_null(file);
	fprintf(file, "ssl_ca = %s/ca.pem\nssl_cert = %s/server.pem\nssl_key = %s/server.key\n", directory,
		directory, directory);
	fclose(file);
	assert_int_equal(test_mariadb_do(&shop_server, "halt"), 0);
	assert_int_equal(test_mariadb_do(&shop_server, "resume"), 0);
}

static int set_up_tls(void **state)
{
	(void)state;
	restart_with_tls();
	return 0;
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	if (!mkdtemp(directory) || !make_certificates()) {
		printf("skipped: unit.target.mariadb_tls needs openssl\n");
		return 77;
	}
	int status = start_shop("unit.target.mariadb_tls");
	if (status != 0)
		return status;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_server_without_tls_is_refused),
		cmocka_unit_test_setup(only_the_right_server_is_believed, set_up_tls),
		cmocka_unit_test(queries_run_encrypted_and_end_in_time),
	};
	status = cmocka_run_group_tests(tests, NULL, NULL);
	stop_shop();
	char command[64];
	snprintf(command, sizeof command, "rm -r %s", directory);
	return system(command) == 0 ? status : 1;
}
