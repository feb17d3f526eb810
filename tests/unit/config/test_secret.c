#include "config/config.h"

#include "unit/config/files.h"

static void content(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t len;
		const char *secret; /* NULL: refused */
	} cases[] = {
		{ "hunter2", 7, "hunter2" },
		{ "hunter2\n", 8, "hunter2" },
		{ "hunter2\n\n", 9, "hunter2\n" },
		{ " hunter 2 ", 10, " hunter 2 " },
		{ "", 0, NULL },
		{ "\n", 1, NULL },
		{ "a\0b", 3, NULL },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(temporary_cleanup) struct temporary_file file =
			temporary_file(cases[i].bytes, cases[i].len);
		_cleanup_(cleanup_free) char *secret = NULL;
		struct err_detail detail = { "" };
		err_t err = config_read_secret(file.path, &secret, &detail);
		assert_int_equal(err, cases[i].secret ? ERR_OK : ERR_FILE_UNREADABLE);
		if (cases[i].secret)
			assert_string_equal(secret, cases[i].secret);
		else
			assert_memory_equal(detail.message, file.path, strlen(file.path));
	}
}

static void sizes(void **state)
{
	(void)state;
	_cleanup_(cleanup_free) char *bytes = malloc(65537);
	memset(bytes, 'x', 65537);
	_cleanup_(temporary_cleanup) struct temporary_file largest = temporary_file(bytes, 65536);
	_cleanup_(temporary_cleanup) struct temporary_file larger = temporary_file(bytes, 65537);
	_cleanup_(cleanup_free) char *secret = NULL;
	assert_int_equal(config_read_secret(largest.path, &secret, NULL), ERR_OK);
	assert_int_equal(strlen(secret), 65536);
	cleanup_free(&secret);
	secret = NULL;
	assert_int_equal(config_read_secret(larger.path, &secret, NULL), ERR_FILE_UNREADABLE);
	assert_null(secret);
}

static void missing_files(void **state)
{
	(void)state;
	char *secret = NULL;
	struct err_detail detail = { "" };
	assert_int_equal(config_read_secret("/nonexistent", &secret, &detail), ERR_FILE_UNREADABLE);
	assert_string_equal(detail.message, "/nonexistent: No such file or directory");
	assert_int_equal(config_read_secret("/tmp", &secret, &detail), ERR_FILE_UNREADABLE);
	assert_null(secret);
}

static void credentials_directory(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(temporary_cleanup) struct temporary_file file = temporary_text("from systemd\n");
	_cleanup_(cleanup_free) char *secret = NULL;
	const char *name = strrchr(file.path, '/') + 1;
	setenv("CREDENTIALS_DIRECTORY", "/tmp", 1);
	assert_string_equal(config_secret_file(name, arena), file.path);
	assert_string_equal(config_secret_file("no-such-credential", arena), "no-such-credential");
	assert_string_equal(config_secret_file("/absolute", arena), "/absolute");
	assert_int_equal(config_read_secret(name, &secret, NULL), ERR_OK);
	assert_string_equal(secret, "from systemd");

	_cleanup_(temporary_cleanup) struct temporary_file config_file = temporary_file("", 0);
	FILE *out = fopen(config_file.path, "w");
	fprintf(out, "judge: { base_url = \"http://h\"; model = \"m\"; api_key_file = \"%s\"; };\n", name);
	fprintf(out, "calibration: { dsn = \"\\x68\"; password_file = \"%s\"; };\n", name);
	fprintf(out,
		"targets = ( { name = \"t\"; engine = \"postgresql\"; dsn = \"h\"; password_file = \"%s\"; } "
		");\n",
		name);
	fclose(out);
	_cleanup_(config_cleanup) struct config *config = NULL;
	assert_int_equal(config_load(config_file.path, &config, NULL), ERR_OK);
	unsetenv("CREDENTIALS_DIRECTORY");
	assert_string_equal(config->judge.api_key_file, file.path);
	assert_string_equal(config->calibration.password_file, file.path);
	assert_string_equal(config->targets[0].password_file, file.path);
	assert_string_equal(config_secret_file(name, arena), name);
}

static void properties_with_secrets(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(temporary_cleanup) struct temporary_file secret = temporary_text("hunter2\n");
	_cleanup_(temporary_cleanup) struct temporary_file file = temporary_file("", 0);
	FILE *out = fopen(file.path, "w");
	fprintf(out, "kafka: { properties = ( \"a=b=c\" ); secret_properties = ( \"sasl.password=%s\" ); };",
		secret.path);
	fclose(out);
	_cleanup_(config_cleanup) struct config *config = NULL;
	struct conf_strings properties = { NULL, 0 };
	struct err_detail detail = { "" };
	assert_int_equal(config_load(file.path, &config, &detail), ERR_OK);
	assert_int_equal(config_kafka_properties(config, arena, &properties, &detail), ERR_OK);
	assert_int_equal(properties.count, 2);
	assert_string_equal(properties.items[0], "a=b=c");
	assert_string_equal(properties.items[1], "sasl.password=hunter2");
	unlink(secret.path);
	assert_int_equal(config_kafka_properties(config, arena, &properties, &detail), ERR_FILE_UNREADABLE);
	assert_non_null(strstr(detail.message, "kafka.secret_properties: sasl.password: "));
	assert_non_null(strstr(detail.message, secret.path));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(content),
		cmocka_unit_test(sizes),
		cmocka_unit_test(missing_files),
		cmocka_unit_test(credentials_directory),
		cmocka_unit_test(properties_with_secrets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
