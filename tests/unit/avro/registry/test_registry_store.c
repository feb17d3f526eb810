#include "../support.h"

#include "avro/registry/registry_store.h"
#include "common/log.h"

#include <dirent.h>
#include <stdlib.h>

static const char *const urls[] = { "http://a", "http://b" };

struct found {
	unsigned count;
	struct schema_name name;
	char text[64];
};

static void note(void *context, const struct schema_name *name, str_t schema)
{
	struct found *found = context;
	found->count++;
	found->name = *name;
	snprintf(found->text, sizeof found->text, STR_FMT, STR_ARG(schema));
}

static void ignore(enum log_level level, const char *line, void *context)
{
	(void)level;
	(void)line;
	*(unsigned *)context += 1;
}

static void each_file(const char *folder, void (*change)(const char *path))
{
	const struct dirent *entry;
	DIR *directory = opendir(folder);
	assert_non_null(directory);
	while ((entry = readdir(directory))) {
		char path[512];
		snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		if (entry->d_name[0] != '.')
			change(path);
	}
	closedir(directory);
}

static void spoil(const char *path)
{
	FILE *file = fopen(path, "r+");
	assert_non_null(file);
	fseek(file, -1, SEEK_END);
	fputc('!', file);
	fclose(file);
}

static void cut(const char *path)
{
	assert_int_equal(truncate(path, 40), 0);
}

static void drop(const char *path)
{
	unlink(path);
}

static void test_schemas(void **state)
{
	(void)state;
	char folder[] = "/tmp/assayd-store.XXXXXX";
	unsigned warnings = 0;
	assert_non_null(mkdtemp(folder));
	struct registry_store *store = registry_store_new(folder, urls, 2);
	const struct schema_name id = { .id = 7 }, guid = { .by_guid = true, .guid = "0123456789abcde\x66" };
	struct found found = { 0 };
	assert_int_equal(registry_store_write(store, &id, STR("\"int\""), NULL), ERR_OK);
	registry_store_read(store, 10, note, &found);
	assert_int_equal(found.count, 1);
	assert_true(framing_same_name(&found.name, &id));
	assert_string_equal(found.text, "\"int\"");
	assert_int_equal(registry_store_write(store, &guid, STR("\"long\""), NULL), ERR_OK);
	registry_store_read(store, 10, note, &found);
	assert_int_equal(found.count, 3);
	/* ids of another registry mean something else */
	struct registry_store *other = registry_store_new(folder, urls, 1);
	registry_store_read(other, 10, note, &found);
	assert_int_equal(found.count, 3);
	registry_store_free(other);
	/* hostile and torn files go */
	log_set_sink(ignore, &warnings);
	each_file(folder, spoil);
	registry_store_read(store, 10, note, &found);
	assert_int_equal(found.count, 3);
	assert_int_equal(warnings, 2);
	assert_int_equal(registry_store_write(store, &id, STR("\"int\""), NULL), ERR_OK);
	each_file(folder, cut);
	registry_store_read(store, 10, note, &found);
	assert_int_equal(found.count, 3);
	log_set_sink(NULL, NULL);
	registry_store_free(store);
	each_file(folder, drop);
	assert_int_equal(rmdir(folder), 0);
}

static void test_ids(void **state)
{
	(void)state;
	char folder[] = "/tmp/assayd-store.XXXXXX";
	assert_non_null(mkdtemp(folder));
	struct registry_store *store = registry_store_new(folder, urls, 2);
	assert_int_equal(registry_store_id(store, "s", STR("x")), 0);
	assert_int_equal(registry_store_write_id(store, "s", STR("x"), 4000000000u, NULL), ERR_OK);
	assert_true(registry_store_id(store, "s", STR("x")) == 4000000000u);
	assert_int_equal(registry_store_id(store, "s", STR("y")), 0);
	struct found found = { 0 };
	registry_store_read(store, 10, note, &found);
	assert_int_equal(found.count, 0);
	each_file(folder, spoil);
	assert_int_equal(registry_store_id(store, "s", STR("x")), 0);
	registry_store_free(store);
	each_file(folder, drop);
	assert_int_equal(rmdir(folder), 0);
}

static void test_no_directory(void **state)
{
	(void)state;
	struct found found = { 0 };
	const struct schema_name id = { .id = 7 };
	assert_null(registry_store_new(NULL, urls, 2));
	registry_store_read(NULL, 10, note, &found);
	assert_int_equal(registry_store_write(NULL, &id, STR("\"int\""), NULL), ERR_OK);
	assert_int_equal(registry_store_id(NULL, "s", STR("x")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_schemas),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_no_directory),
	};
	return cmocka_run_group_tests_name("registry_store", tests, NULL, NULL);
}
