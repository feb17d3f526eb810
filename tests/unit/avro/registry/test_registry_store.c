#include "../support.h"

#include "avro/registry/registry_store.h"
#include "common/log.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const urls[] = { "http://a", "http://b" };

struct found {
	struct registry_store *store;
	unsigned count;
	struct schema_name name;
	char text[64];
};

static bool note(void *context, const struct schema_name *name)
{
	struct found *found = context;
	_cleanup_(buf_free) struct buf schema = BUF_INIT;
	if (!registry_store_load(found->store, name, &schema))
		return true;
	found->count++;
	found->name = *name;
	snprintf(found->text, sizeof found->text, STR_FMT, STR_ARG(buf_str(&schema)));
	return true;
}

static struct registry_store *open_store(const char *folder, size_t urls_count, size_t max_bytes)
{
	struct registry_store *store = registry_store_new(folder, urls, urls_count);
	registry_store_bound(store, max_bytes);
	return store;
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
	struct registry_store *store = open_store(folder, 2, 10000);
	const struct schema_name id = { .id = 7 }, guid = { .by_guid = true, .guid = "0123456789abcde\x66" };
	struct found found = { .store = store };
	assert_int_equal(registry_store_write(store, &id, STR("\"int\""), NULL), ERR_OK);
	registry_store_each(store, 10, note, &found);
	assert_int_equal(found.count, 1);
	assert_true(framing_same_name(&found.name, &id));
	assert_string_equal(found.text, "\"int\"");
	assert_int_equal(registry_store_write(store, &guid, STR("\"long\""), NULL), ERR_OK);
	registry_store_each(store, 10, note, &found);
	assert_int_equal(found.count, 3);
	/* ids of another registry mean something else */
	struct registry_store *other = open_store(folder, 1, 10000);
	found.store = other;
	registry_store_each(other, 10, note, &found);
	assert_false(registry_store_find(other, &id, &(struct buf){ 0 }));
	assert_int_equal(found.count, 3);
	registry_store_free(other);
	found.store = store;
	/* hostile and torn files go */
	log_set_sink(ignore, &warnings);
	each_file(folder, spoil);
	registry_store_each(store, 10, note, &found);
	assert_int_equal(found.count, 3);
	assert_int_equal(warnings, 2);
	assert_int_equal(registry_store_write(store, &id, STR("\"int\""), NULL), ERR_OK);
	each_file(folder, cut);
	registry_store_each(store, 10, note, &found);
	assert_int_equal(found.count, 3);
	log_set_sink(NULL, NULL);
	registry_store_free(store);
	each_file(folder, drop);
	assert_int_equal(rmdir(folder), 0);
}

static bool has(struct registry_store *store, uint32_t number)
{
	_cleanup_(buf_free) struct buf schema = BUF_INIT;
	return registry_store_find(store, &(const struct schema_name){ .id = number }, &schema);
}

static bool first_alone(void *context, const struct schema_name *name)
{
	*(uint32_t *)context = name->id;
	return false;
}

/* The oldest go first, whichever registry they are of, and whenever: at the start, or for new ones. */
static void test_bounds(void **state)
{
	(void)state;
	char folder[] = "/tmp/assayd-store.XXXXXX", text[2001];
	unsigned lines = 0;
	uint32_t newest = 0;
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	assert_non_null(mkdtemp(folder));
	log_set_sink(ignore, &lines);
	struct registry_store *other = open_store(folder, 1, 10000);
	struct registry_store *store = open_store(folder, 2, 10000);
	const struct schema_name name = { .id = 99 };
	assert_int_equal(registry_store_write(other, &name, str_from(text), NULL), ERR_OK);
	registry_store_free(store);
	store = open_store(folder, 2, 10000);
	for (uint32_t i = 1; i <= 4; i++) {
		const struct schema_name each = { .id = i };
		assert_int_equal(registry_store_write(store, &each, str_from(text), NULL), ERR_OK);
		usleep(20000); /* the clock of files goes by ticks */
	}
	assert_false(has(other, 99));
	assert_int_equal(lines, 1);
	assert_true(has(store, 1) && has(store, 4));
	/* the same again takes no room of others; what was touched stays */
	assert_int_equal(
		registry_store_write(store, &(const struct schema_name){ .id = 4 }, str_from(text), NULL),
		ERR_OK);
	assert_true(has(store, 1) && has(store, 2));
	usleep(20000);
	registry_store_touch(store, &(const struct schema_name){ .id = 1 });
	usleep(20000);
	assert_int_equal(
		registry_store_write(store, &(const struct schema_name){ .id = 5 }, str_from(text), NULL),
		ERR_OK);
	assert_true(has(store, 1) && !has(store, 2) && has(store, 3) && has(store, 4) && has(store, 5));
	usleep(20000);
	/* one that has more than all may have is left out, and nothing is removed for it */
	char *large = calloc(1, 20000);
	assert_non_null(large);
	memset(large, 'x', 19999);
	assert_int_equal(
		registry_store_write(store, &(const struct schema_name){ .id = 6 }, str_from(large), NULL),
		ERR_OK);
	free(large);
	assert_true(has(store, 3) && !has(store, 6));
	registry_store_free(store);
	store = open_store(folder, 2, 5000);
	registry_store_each(store, 10, first_alone, &newest);
	assert_int_equal(newest, 5);
	assert_true(has(store, 5) && has(store, 1) && !has(store, 3) && !has(store, 4));
	log_set_sink(NULL, NULL);
	registry_store_free(other);
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
	struct found found = { .store = store };
	registry_store_bound(store, 10000);
	registry_store_each(store, 10, note, &found);
	assert_int_equal(found.count, 0);
	each_file(folder, spoil);
	assert_int_equal(registry_store_id(store, "s", STR("x")), 0);
	registry_store_free(store);
	each_file(folder, drop);
	assert_int_equal(rmdir(folder), 0);
}

/* ---- by a process that may only look ---- */

static const struct schema_name seven = { .id = 7 };
static char the_file[512]; /* of the only schema */

static void note_path(const char *path)
{
	snprintf(the_file, sizeof the_file, "%s", path);
}

static void grow(const char *path)
{
	assert_int_equal(truncate(path, (off_t)REGISTRY_STORED_MAX + 4096), 0);
}

static void empty(const char *path)
{
	assert_int_equal(truncate(path, 0), 0);
}

static void make_pipe(const char *path)
{
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
}

static void make_link(const char *path)
{
	char target[600];
	snprintf(target, sizeof target, "%s.target", path);
	assert_int_equal(rename(path, target), 0);
	assert_int_equal(symlink(target, path), 0);
}

static void make_folder(const char *path)
{
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
}

/* That of another name, whole. */
static void swap(const char *path)
{
	char other[512];
	snprintf(other, sizeof other, "%.*s8", (int)strlen(path) - 1, path);
	assert_int_equal(rename(other, path), 0);
}

static void remove_all(const char *path)
{
	if (remove(path) != 0)
		fail_msg("%s", path);
}

static void test_finding_changes_nothing(void **state)
{
	(void)state;
	static void (*const spoilers[])(const char *) = { spoil,     cut,	grow,	     empty,
							  make_pipe, make_link, make_folder, swap };
	const struct schema_name eight = { .id = 8 },
				 guid = { .by_guid = true, .guid = "0123456789abcde\x66" };
	char folder[] = "/tmp/assayd-store.XXXXXX";
	unsigned warnings = 0;
	assert_non_null(mkdtemp(folder));
	log_set_sink(ignore, &warnings);
	struct registry_store *store = registry_store_new(folder, urls, 2),
			      *other = registry_store_new(folder, urls, 1);
	for (size_t i = 0; i < sizeof spoilers / sizeof *spoilers; i++) {
		struct stat before, after;
		_cleanup_(buf_free) struct buf text = BUF_INIT;
		assert_int_equal(registry_store_write(store, &seven, STR("\"int\""), NULL), ERR_OK);
		each_file(folder, note_path);
		assert_int_equal(registry_store_write(store, &eight, STR("\"long\""), NULL), ERR_OK);
		assert_true(registry_store_find(store, &eight, &text));
		assert_true(registry_store_find(store, &seven, &text));
		assert_string_equal(text.data, "\"long\"\"int\"");
		assert_false(registry_store_find(other, &seven, &text));
		assert_false(registry_store_find(store, &guid, &text));
		spoilers[i](the_file);
		assert_int_equal(lstat(the_file, &before), 0);
		assert_false(registry_store_find(store, &seven, &text));
		assert_string_equal(text.data, "\"long\"\"int\"");
		assert_int_equal(lstat(the_file, &after), 0);
		assert_true(before.st_ino == after.st_ino && before.st_size == after.st_size &&
			    before.st_mode == after.st_mode);
		each_file(folder, remove_all);
	}
	assert_int_equal(warnings, 0);
	log_set_sink(NULL, NULL);
	registry_store_free(store);
	registry_store_free(other);
	assert_int_equal(rmdir(folder), 0);
}

/* Another process replaces what is looked for: it is the one or the other, whole. */
static void test_finding_beside_the_writer(void **state)
{
	(void)state;
	char folder[] = "/tmp/assayd-store.XXXXXX";
	_cleanup_(buf_free) struct buf small = BUF_INIT, large = BUF_INIT;
	unsigned seen_small = 0, seen_large = 0;
	int status;
	assert_non_null(mkdtemp(folder));
	buf_append_text(&small, "\"int\"");
	while (large.len < 100000)
		buf_append_text(&large, "\"long\" ");
	struct registry_store *store = registry_store_new(folder, urls, 2);
	assert_int_equal(registry_store_write(store, &seven, buf_str(&small), NULL), ERR_OK);
	pid_t writer = fork();
	assert_true(writer >= 0);
	if (writer == 0) {
		for (unsigned i = 0;; i++)
			if (registry_store_write(store, &seven, buf_str(i % 2 ? &small : &large), NULL))
				_exit(1);
	}
	for (unsigned i = 0; i < 1000000 && (i < 200 || seen_small < 20 || seen_large < 20); i++) {
		_cleanup_(buf_free) struct buf text = BUF_INIT;
		assert_true(registry_store_find(store, &seven, &text));
		seen_small += text.len == small.len && memcmp(text.data, small.data, small.len) == 0;
		seen_large += text.len == large.len && memcmp(text.data, large.data, large.len) == 0;
		assert_int_equal(seen_small + seen_large, i + 1);
	}
	assert_int_equal(waitpid(writer, &status, WNOHANG), 0); /* it writes still */
	kill(writer, SIGKILL);
	waitpid(writer, &status, 0);
	assert_true(seen_small >= 20 && seen_large >= 20);
	registry_store_free(store);
	each_file(folder, remove_all);
	assert_int_equal(rmdir(folder), 0);
}

static void test_no_directory(void **state)
{
	(void)state;
	struct found found = { 0 };
	const struct schema_name id = { .id = 7 };
	assert_null(registry_store_new(NULL, urls, 2));
	registry_store_bound(NULL, 10);
	registry_store_each(NULL, 10, note, &found);
	assert_false(registry_store_find(NULL, &id, &(struct buf){ 0 }));
	assert_int_equal(registry_store_write(NULL, &id, STR("\"int\""), NULL), ERR_OK);
	assert_int_equal(registry_store_id(NULL, "s", STR("x")), 0);
	assert_false(registry_store_find(NULL, &id, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_schemas),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_finding_changes_nothing),
		cmocka_unit_test(test_finding_beside_the_writer),
		cmocka_unit_test(test_no_directory),
	};
	return cmocka_run_group_tests_name("registry_store", tests, NULL, NULL);
}
