#include "common/secret.h"
#include "config/config.h"
#include "config/table.h"
#include "tests/unit/config/files.h"

#include <errno.h>
#include <sys/stat.h>

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
		{ "hunter2\r\n", 9, "hunter2" },
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
		err_t err = secret_read(file.path, &secret, &detail);
		assert_int_equal(err, cases[i].secret ? ERR_OK : ERR_FILE_UNREADABLE);
		if (cases[i].secret)
			assert_string_equal(secret, cases[i].secret);
		else
			assert_memory_equal(detail.message, file.path, strlen(file.path));
	}
}

/* Passwords are what stands in the file; a second line was not meant to be one. */
static void content_of_a_password(void **state)
{
	(void)state;
	static const struct {
		const char *bytes, *secret, *wrong;
	} cases[] = {
		{ " hunter\t2 ", " hunter\t2 ", NULL },
		{ "hunter2\n", "hunter2", NULL },
		{ "hunter2\r\n", "hunter2", NULL },
		{ "hunter2\n\n", NULL, "it has 2 lines" },
		{ "# ours\r\nhunter2\r\n", NULL, "it has 2 lines" },
		{ "hunter2\n\nhunter3\n", NULL, "it has 3 lines" },
		{ "\r\n", NULL, "the file is empty" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(temporary_cleanup) struct temporary_file file =
			temporary_file(cases[i].bytes, strlen(cases[i].bytes));
		_cleanup_(secret_free) char *secret = NULL;
		struct err_detail detail = { "" };
		err_t err = secret_read_password(file.path, &secret, &detail);
		assert_int_equal(err, cases[i].secret ? ERR_OK : ERR_FILE_UNREADABLE);
		if (cases[i].secret)
			assert_string_equal(secret, cases[i].secret);
		else
			assert_true(strncmp(detail.message, file.path, strlen(file.path)) == 0 &&
				    strstr(detail.message, cases[i].wrong) &&
				    !strstr(detail.message, "hunter"));
	}
}

/* Of the client's properties those that are PEM themselves have lines. */
static void values_of_properties(void **state)
{
	(void)state;
	_cleanup_(temporary_cleanup) struct temporary_file file = temporary_text("a\nb\n");
	static const struct {
		const char *name;
		bool taken;
	} cases[] = {
		{ "ssl.key.pem", true },       { "ssl.certificate.pem", true },	   { "sasl.password", false },
		{ "ssl.key.password", false }, { "ssl.keystore.password", false }, { "pem", false }
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		char property[320];
		_cleanup_(secret_free) char *value = NULL;
		snprintf(property, sizeof property, "%s=%s", cases[i].name, file.path);
		assert_int_equal(!config_read_property(property, &value, NULL), cases[i].taken);
		if (cases[i].taken)
			assert_string_equal(value, "a\nb");
	}
}

static void content_of_a_line(void **state)
{
	(void)state;
	static const struct {
		const char *bytes, *wrong;
	} cases[] = {
		{ "Bearer hunter2\n", NULL },
		{ "hunter2\rx", "a control character behind 7 bytes" },
		{ "hunter2\nhunter3", "it has 2 lines" },
		{ "hunter2\t", "a control character behind 7 bytes" },
		{ "hunter2\x7f", "a control character behind 7 bytes" },
		{ "", "the file is empty" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		_cleanup_(temporary_cleanup) struct temporary_file file =
			temporary_file(cases[i].bytes, strlen(cases[i].bytes));
		_cleanup_(secret_free) char *secret = NULL;
		struct err_detail detail = { "" };
		err_t err = secret_read_line(file.path, &secret, &detail);
		assert_int_equal(!err, !cases[i].wrong);
		assert_true(err ? !secret && strstr(detail.message, cases[i].wrong) &&
					    !strstr(detail.message, "hunter")
				: strcmp(secret, "Bearer hunter2") == 0);
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
	assert_int_equal(secret_read(largest.path, &secret, NULL), ERR_OK);
	assert_int_equal(strlen(secret), 65536);
	cleanup_free(&secret);
	secret = NULL;
	assert_int_equal(secret_read(larger.path, &secret, NULL), ERR_FILE_UNREADABLE);
	assert_null(secret);
}

static void missing_files(void **state)
{
	(void)state;
	char *secret = NULL;
	struct err_detail detail = { "" };
	assert_int_equal(secret_read("/nonexistent", &secret, &detail), ERR_FILE_UNREADABLE);
	assert_string_equal(detail.message, "/nonexistent: No such file or directory");
	assert_int_equal(secret_read("/tmp", &secret, &detail), ERR_FILE_UNREADABLE);
	assert_null(secret);
}

static void names_and_secrets(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		bool secret;
	} cases[] = {
		{ "judge-key", false },
		{ "/etc/assayd/credentials/sk-proj-1", false },
		{ "./sk-proj-1", false },
		{ "task-key", false },
		{ "skey", false },
		{ "a key", false },
		{ "", false },
		{ "sk-proj-1", true },
		{ "sk-ant-api03-1", true },
		{ "gsk_1", true },
		{ "AIzaSy1", true },
		{ "eyJhbGciOi.e30.c2", true },
		{ "Bearer x", true },
		{ "-----BEGIN PRIVATE KEY-----\nMIIE\n", true },
		{ "/a/b\nc", true },
	};
	for (size_t i = 0; i < COUNT(cases); i++)
		if (config_is_secret_itself(cases[i].name) != cases[i].secret)
			fail_msg("%s", cases[i].name);
	char part[300], path[5000];
	memset(part, 'k', sizeof part);
	part[255] = '\0';
	assert_false(config_is_secret_itself(part));
	part[255] = 'k';
	part[256] = '\0';
	assert_true(config_is_secret_itself(part));
	for (size_t i = 0; i < sizeof path; i++)
		path[i] = i % 100 ? 'k' : '/';
	path[4095] = '\0';
	assert_false(config_is_secret_itself(path));
	path[4095] = 'k';
	path[4096] = '\0';
	assert_true(config_is_secret_itself(path));
}

static void credentials_directory(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(temporary_cleanup) struct temporary_file file = temporary_text("from systemd\n");
	_cleanup_(cleanup_free) char *secret = NULL;
	const char *name = strrchr(file.path, '/') + 1;
	setenv("CREDENTIALS_DIRECTORY", "/tmp", 1);
	assert_string_equal(config_secret_file(name, "a/assayd.conf", arena), file.path);
	assert_string_equal(config_secret_file("/absolute", "a/assayd.conf", arena), "/absolute");
	assert_int_equal(secret_read(file.path, &secret, NULL), ERR_OK);
	assert_string_equal(secret, "from systemd");

	_cleanup_(temporary_cleanup) struct temporary_file config_file = temporary_file("", 0);
	FILE *out = fopen(config_file.path, "w");
	fprintf(out, "judge: { base_url = \"http://h\"; model = \"m\"; api_key_file = \"%s\"; ", name);
	fprintf(out, "cache_dsn = \"host=h\"; cache_password_file = \"%s\"; };\n", name);
	fprintf(out, "kafka: { secret_properties = ( \"sasl.password=%s\" ); };\n", name);
	fprintf(out, "calibration: { dsn = \"host=h\"; password_file = \"%s\"; };\n", name);
	fprintf(out,
		"targets = ( { name = \"t\"; engine = \"postgresql\"; dsn = \"host=h\"; password_file = "
		"\"%s\"; } "
		");\n",
		name);
	fclose(out);
	_cleanup_(config_cleanup) struct config *config = NULL;
	assert_int_equal(config_load(config_file.path, &config, NULL), ERR_OK);
	unsetenv("CREDENTIALS_DIRECTORY");
	assert_string_equal(config->judge.api_key_file, file.path);
	assert_string_equal(config->calibration.password_file, file.path);
	assert_string_equal(config->targets[0].password_file, file.path);
	assert_string_equal(config->judge.cache_password_file, file.path);
	assert_string_equal(strchr(config->kafka.secret_properties.items[0], '='),
			    arena_printf(arena, "=%s", file.path).ptr);
}

static void write_text(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	assert_int_equal(fclose(out), 0);
}

/* A directory of the test's with `credentials/there` in it, and from which programs are run. */
static void beside_the_configuration(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	char directory[] = "/tmp/assayd-test-secret-XXXXXX";
	assert_non_null(mkdtemp(directory));
	const char *config_file = arena_printf(arena, "%s/assayd.conf", directory).ptr;
	const char *credentials = arena_printf(arena, "%s/credentials", directory).ptr;
	const char *there = arena_printf(arena, "%s/there", credentials).ptr;
	const char *own = arena_printf(arena, "%s/own", directory).ptr;
	assert_int_equal(mkdir(credentials, 0700), 0);
	write_text(there, "secret\n");
	write_text(own, "secret\n");
	unsetenv("CREDENTIALS_DIRECTORY");
	assert_string_equal(config_secret_file("there", config_file, arena), there);
	assert_string_equal(config_secret_file("credentials_there", config_file, arena), there);
	assert_string_equal(config_secret_file("credentials_later", config_file, arena),
			    arena_printf(arena, "%s/later", credentials).ptr);
	/* what may be the secret itself is not told where there is no such file */
	const char *hidden = config_secret_file("s3cr3t", config_file, arena);
	char *none = NULL;
	struct err_detail detail = { "" };
	assert_string_equal(hidden, arena_printf(arena, "%s/./s3cr3t", credentials).ptr);
	assert_int_equal(secret_read(hidden, &none, &detail), ERR_FILE_UNREADABLE);
	assert_true(!strstr(detail.message, "s3cr3t") && strstr(detail.message, "set the path of a file") &&
		    strstr(detail.message, credentials));
	assert_int_equal(secret_read(config_secret_file("a/later", config_file, arena), &none, &detail),
			 ERR_FILE_UNREADABLE);
	assert_true(strstr(detail.message, "/credentials/a/later: No such file") != NULL);
	assert_int_equal(chdir(directory), 0);
	assert_string_equal(config_secret_file("own", config_file, arena), "own");
	assert_string_equal(config_secret_file("there", "assayd.conf", arena), "credentials/there");
	setenv("CREDENTIALS_DIRECTORY", directory, 1);
	assert_string_equal(config_secret_file("there", config_file, arena), there);
	assert_string_equal(config_secret_file("own", config_file, arena), own);
	unsetenv("CREDENTIALS_DIRECTORY");
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(unlink(there) + unlink(own) + rmdir(credentials) + rmdir(directory), 0);
}

static void a_hint_for_what_may_not_be_read(void **state)
{
	(void)state;
	assert_string_equal(secret_hint(ENOENT), "");
	assert_non_null(strstr(secret_hint(EACCES), "chgrp assayd"));
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

static void note_visit(const char *setting, const char *file, void *context)
{
	buf_printf(context, "%s %s\n", setting, file);
}

/* The table knows which settings name secrets; each is visited, by the name that it has in a file. */
static void each_of_the_table(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(buf_free) struct buf visited = BUF_INIT;
	struct config *config = arena_alloc(arena, sizeof *config);
	static const char *const properties[] = { "sasl.password=file" };
	size_t count = 0, lines = 0;
	*config = (struct config){ 0 };
	for (size_t i = 0; i < config_table.settings_count; i++) {
		const struct conf_setting *setting = &config_table.settings[i];
		const struct conf_group *group = &config_table.groups[setting->group];
		if (!(setting->flags & CONF_SECRET))
			continue;
		char *at = (char *)config + group->offset;
		if (group->kind == CONF_GROUP_LIST) {
			struct conf_groups *list = (struct conf_groups *)(void *)at;
			if (!list->count)
				*list = (struct conf_groups){
					memset(arena_alloc(arena, group->size_bytes), 0, group->size_bytes), 1
				};
			at = list->items;
		}
		at += setting->offset;
		if (setting->type == CONF_STRINGS)
			*(struct conf_strings *)(void *)at = (struct conf_strings){ properties, 1 };
		else
			*(const char **)(void *)at = "file";
		count++;
	}
	config_each_secret(config, note_visit, &visited);
	for (size_t i = 0; i < visited.len; i++)
		lines += visited.data[i] == '\n';
	assert_true(count > 10);
	assert_int_equal(lines, count);
	for (size_t i = 0; i < config_table.settings_count; i++) {
		const struct conf_setting *setting = &config_table.settings[i];
		const struct conf_group *group = &config_table.groups[setting->group];
		bool list = group->kind == CONF_GROUP_LIST;
		if (!(setting->flags & CONF_SECRET))
			continue;
		const char *line = arena_printf(arena, "%s%s.%s%s file\n", group->path, list ? "[0]" : "",
						setting->name, setting->type == CONF_STRINGS ? "[0]" : "")
					   .ptr;
		if (!strstr(visited.data, line))
			fail_msg("%s is not in %s", line, visited.data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(content),
		cmocka_unit_test(content_of_a_password),
		cmocka_unit_test(values_of_properties),
		cmocka_unit_test(content_of_a_line),
		cmocka_unit_test(sizes),
		cmocka_unit_test(missing_files),
		cmocka_unit_test(names_and_secrets),
		cmocka_unit_test(credentials_directory),
		cmocka_unit_test(beside_the_configuration),
		cmocka_unit_test(a_hint_for_what_may_not_be_read),
		cmocka_unit_test(properties_with_secrets),
		cmocka_unit_test(each_of_the_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
