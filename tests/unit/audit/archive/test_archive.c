/* The archive on a real PostgreSQL: each content once, whoever is away; damage found; only what is old and
 * unused deleted; bounded, and what finds no room told. */
#include "audit/archive/archive.h"

#include "audit/archive/archive_check.h"
#include "audit/archive/archive_file.h"
#include "audit/archive/archive_store.h"
#include "common/clock.h"
#include "common/kept_file.h"
#include "common/log.h"
#include "tests/harness/servers/database_server.h"

#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/wait.h>

#include <cmocka.h>

static char logged[8192];

static void keep_lines(enum log_level level, const char *line, void *context)
{
	size_t len = strlen(logged);
	(void)level;
	(void)context;
	snprintf(logged + len, sizeof logged - len, "%s\n", line);
}

static int start_of_test(void **state)
{
	logged[0] = '\0';
	log_set_sink(keep_lines, NULL);
	return drop_tables(state);
}

static struct archive *start(int64_t retention_days)
{
	return archive_start(&(struct archive_options){ .dsn = server.socket_dsn,
							.settings = "audit.",
							.program = "1.2.3+test",
							.retention_days = retention_days });
}

static struct archive_item item_of(enum archive_kind kind, const char *text)
{
	struct archive_item item = { .kind = kind, .form = kind == ARCHIVE_CATALOG ? "sqlite" : "" };
	item.version = kind == ARCHIVE_MODEL ? 7 : 0;
	hash_sha256_hex(text, strlen(text), item.digest);
	return item;
}

static int count_files(const char *folder)
{
	int count = 0;
	DIR *entries = opendir(folder);
	assert_non_null(entries);
	for (const struct dirent *entry; (entry = readdir(entries));)
		count += entry->d_name[0] != '.' && !strstr(entry->d_name, ".new");
	closedir(entries);
	return count;
}

static void count_content(void *context, const struct archive_item *item, str_t content)
{
	(void)item;
	(void)content;
	++*(unsigned *)context;
}

static bool has(struct archive *archive, enum archive_kind kind, const char *text)
{
	struct archive_item item = item_of(kind, text);
	return archive_has(archive, kind, str_from(item.digest));
}

static void put(struct archive *archive, enum archive_kind kind, const char *text)
{
	struct archive_item item = item_of(kind, text);
	archive_put(archive, &item, str_from(text));
}

static struct archive_statistics await_stored(struct archive *archive, uint64_t count)
{
	struct archive_statistics statistics;
	int64_t until_us = clock_monotonic_us() + INT64_C(120) * 1000000;
	do {
		usleep(20000);
		archive_statistics(archive, &statistics);
	} while ((statistics.stored < count || statistics.waiting > 0) && clock_monotonic_us() < until_us);
	assert_true(statistics.stored == count && statistics.waiting == 0);
	return statistics;
}

static struct database *connect_reader(void)
{
	struct database *database = database_new(server.socket_dsn, NULL);
	assert_int_equal(database_connect(database, NULL, NULL), ERR_OK);
	return database;
}

/* The only entry whose digest begins so. */
static err_t read_one(const char *prefix, struct buf *content, struct err_detail *detail)
{
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	_cleanup_(database_cleanup) struct database *database = connect_reader();
	struct archive_row *rows;
	size_t count;
	assert_int_equal(archive_store_find(database, str_from(prefix), 0, 9, arena, &rows, &count, detail),
			 ERR_OK);
	assert_int_equal(count, 1);
	return archive_store_read(database, &rows[0], content, detail);
}

static void each_content_is_kept_once(void **state)
{
	(void)state;
	static const char *const texts[] = { "a=1\nb=2\n", "relevance.txt 3\nabc", "[\"CREATE TABLE t (x)\"]",
					     "{\"kind\": \"map\"}" };
	struct archive *archives[] = { start(0), start(0) };
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < ARCHIVE_KINDS; i++)
			for (int a = 0; a < 2; a++)
				if (!has(archives[a], (enum archive_kind)i, texts[i]))
					put(archives[a], (enum archive_kind)i, texts[i]);
	for (int a = 0; a < 2; a++) {
		struct archive_statistics statistics;
		do {
			usleep(20000);
			archive_statistics(archives[a], &statistics);
		} while (statistics.waiting > 0);
		assert_true(statistics.up && statistics.lost == 0 && statistics.failures == 0);
		assert_true(has(archives[a], ARCHIVE_CONFIG, texts[0]));
		assert_false(has(archives[a], ARCHIVE_PROMPTS, texts[0]));
	}
	archive_stop(archives[0]);
	archive_stop(archives[1]);
	expect("SELECT string_agg(concat_ws(' ', kind, form, version, size_bytes, program_version), ',' "
	       "ORDER "
	       "BY kind) FROM audit_archive",
	       "catalog sqlite 22 1.2.3+test,config  8 1.2.3+test,model  7 15 1.2.3+test,prompts  19 "
	       "1.2.3+test");
	for (int i = 0; i < ARCHIVE_KINDS; i++) {
		_cleanup_(buf_free) struct buf content = BUF_INIT;
		struct archive_item item = item_of((enum archive_kind)i, texts[i]);
		item.digest[10 + i] = '\0'; /* a beginning is enough */
		assert_int_equal(read_one(item.digest, &content, NULL), ERR_OK);
		assert_string_equal(content.data, texts[i]);
	}
}

static void models_are_found_by_version(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct archive *archive = start(0);
	struct archive_row *rows;
	size_t count;
	put(archive, ARCHIVE_MODEL, "one");
	put(archive, ARCHIVE_MODEL, "another of the same number");
	put(archive, ARCHIVE_CONFIG, "x");
	await_stored(archive, 3);
	archive_stop(archive);
	_cleanup_(database_cleanup) struct database *database = connect_reader();
	assert_int_equal(archive_store_find(database, STR(""), 7, 9, arena, &rows, &count, NULL), ERR_OK);
	assert_int_equal(count, 2);
	assert_int_equal(archive_store_find(database, STR(""), 8, 9, arena, &rows, &count, NULL), ERR_OK);
	assert_int_equal(count, 0);
	assert_int_equal(archive_store_find(database, STR(""), 0, 2, arena, &rows, &count, NULL), ERR_OK);
	assert_int_equal(count, 2);
}

/* One bit anywhere in what is kept. */
static void damage_is_found(void **state)
{
	(void)state;
	char text[400], size[24];
	for (size_t i = 0; i < sizeof text - 1; i++)
		text[i] = (char)('a' + i % 7);
	text[sizeof text - 1] = '\0';
	struct archive *archive = start(0);
	put(archive, ARCHIVE_CATALOG, text);
	await_stored(archive, 1);
	archive_stop(archive);
	query("SELECT 8 * octet_length(content) FROM audit_archive", size, sizeof size);
	for (long bit = 0; bit < strtol(size, NULL, 10); bit++) {
		_cleanup_(buf_free) struct buf content = BUF_INIT;
		struct err_detail detail = { "" };
		char sql[200];
		snprintf(
			sql, sizeof sql,
			"UPDATE audit_archive SET content = set_bit(content, %ld, 1 - get_bit(content, %ld))",
			bit, bit);
		run_sql(sql);
		err_t err = read_one("", &content, &detail);
		assert_int_equal(err, ERR_AUDIT_DAMAGED);
		assert_non_null(strstr(detail.message, "is damaged"));
		assert_int_equal(content.len, 0);
		run_sql(sql);
	}
	_cleanup_(buf_free) struct buf content = BUF_INIT;
	assert_int_equal(read_one("", &content, NULL), ERR_OK);
	run_sql("UPDATE audit_archive SET sha256 = set_bit(sha256, 3, 1 - get_bit(sha256, 3))");
	assert_int_equal(read_one("", &content, NULL), ERR_AUDIT_DAMAGED);
	run_sql("UPDATE audit_archive SET sha256 = set_bit(sha256, 3, 1 - get_bit(sha256, 3)), size_bytes = "
		"size_bytes - 1");
	assert_int_equal(read_one("", &content, NULL), ERR_AUDIT_DAMAGED);
	run_sql("UPDATE audit_archive SET size_bytes = 1::bigint << 60");
	assert_int_equal(read_one("", &content, NULL), ERR_AUDIT_DAMAGED);
}

/* Another content in its place, with a sum that fits: of all but catalogs the digest itself tells. */
static void an_exchanged_content_is_found(void **state)
{
	(void)state;
	struct archive *archive = start(0);
	struct archive_item item = item_of(ARCHIVE_CONFIG, "another");
	struct err_detail detail = { "" };
	_cleanup_(buf_free) struct buf content = BUF_INIT;
	archive_put(archive, &item, STR("this one"));
	await_stored(archive, 1);
	archive_stop(archive);
	assert_int_equal(read_one("", &content, &detail), ERR_AUDIT_DAMAGED);
	assert_non_null(strstr(detail.message, "its SHA-256 is not its digest"));
}

static void only_what_is_old_and_unused_is_deleted(void **state)
{
	(void)state;
	struct archive *archive = start(0);
	put(archive, ARCHIVE_CONFIG, "old");
	put(archive, ARCHIVE_CONFIG, "old and used");
	put(archive, ARCHIVE_CONFIG, "nearly old");
	await_stored(archive, 3);
	archive_stop(archive);
	run_sql("UPDATE audit_archive SET first_used = now() - interval '100 days', last_used = now() - "
		"interval '33 days'");
	run_sql("UPDATE audit_archive SET last_used = now() - interval '31 days' WHERE size_bytes = 10");
	archive = start(30);
	assert_false(has(archive, ARCHIVE_CONFIG, "old and used"));
	put(archive, ARCHIVE_CONFIG, "old and used");
	struct archive_statistics statistics;
	int64_t until_us = clock_monotonic_us() + INT64_C(60) * 1000000;
	do {
		usleep(20000);
		archive_statistics(archive, &statistics);
	} while ((statistics.expired == 0 || statistics.waiting) && clock_monotonic_us() < until_us);
	if (statistics.expired == 2) { /* the deletion was faster than the use: it is kept all the same */
		assert_int_equal(statistics.stored, 1);
		statistics.expired = 1;
	}
	archive_stop(archive);
	assert_int_equal(statistics.expired, 1);
	expect("SELECT string_agg(size_bytes::text, ',' ORDER BY size_bytes) FROM audit_archive", "10,12");
	expect("SELECT last_used > now() - interval '1 hour' FROM audit_archive WHERE size_bytes = 12", "t");
	archive = start(0); /* for ever */
	run_sql("UPDATE audit_archive SET last_used = now() - interval '9000 days'");
	put(archive, ARCHIVE_CONFIG, "new");
	await_stored(archive, 1);
	archive_stop(archive);
	expect("SELECT count(*) FROM audit_archive", "3");
}

/* What comes while it is away is there when it is back, each once. */
static void postgresql_is_away_and_back(void **state)
{
	(void)state;
	char text[24];
	struct archive *archive = start(0);
	struct archive_statistics statistics;
	put(archive, ARCHIVE_CONFIG, "before");
	await_stored(archive, 1);
	assert_int_equal(test_postgres_do(&server, "kill"), 0);
	for (int i = 0; i < 200; i++) {
		snprintf(text, sizeof text, "content %d", i % 50);
		if (!has(archive, ARCHIVE_PROMPTS, text))
			put(archive, ARCHIVE_PROMPTS, text);
	}
	int64_t until_us = clock_monotonic_us() + INT64_C(60) * 1000000;
	do {
		usleep(20000);
		archive_statistics(archive, &statistics);
	} while (statistics.failures < 2 && clock_monotonic_us() < until_us);
	assert_true(statistics.failures >= 2 && !statistics.up);
	assert_true(statistics.waiting == 50 && statistics.lost == 0);
	assert_int_equal(test_postgres_do(&server, "restart"), 0);
	statistics = await_stored(archive, 51);
	assert_true(statistics.up);
	archive_stop(archive);
	expect("SELECT count(*) FROM audit_archive", "51");
	assert_non_null(strstr(logged, "cannot be archived now"));
	assert_non_null(strstr(logged, "is archived again"));
}

static void what_finds_no_room_is_reported(void **state)
{
	(void)state;
	struct archive *archive = archive_start(&(struct archive_options){
		.dsn = "host=/nowhere", .settings = "audit.", .program = "1", .retention_days = 0 });
	struct archive_statistics statistics;
	static char large[ARCHIVE_WAITING_BYTES_MAX / 2 + 1];
	memset(large, 'x', sizeof large - 1);
	put(archive, ARCHIVE_CATALOG, large);
	put(archive, ARCHIVE_CATALOG, "one");
	large[0] = 'y';
	put(archive, ARCHIVE_CATALOG, large); /* with the one before it, there is no room */
	assert_false(has(archive, ARCHIVE_CATALOG, large));
	archive_statistics(archive, &statistics);
	assert_true(statistics.lost == 1 && statistics.waiting == 2);
	for (int i = 0; i < ARCHIVE_WAITING_MAX; i++) {
		char text[24];
		snprintf(text, sizeof text, "content %d", i);
		put(archive, ARCHIVE_CONFIG, text);
	}
	archive_statistics(archive, &statistics);
	assert_int_equal(statistics.waiting, ARCHIVE_WAITING_MAX);
	assert_int_equal(statistics.lost, 3);
	archive_close(archive, clock_monotonic_us() + 1000000);
	assert_true(archive_ended(archive, 60000));
	archive_stop(archive);
	assert_non_null(strstr(logged, "there is no room for more"));
	assert_non_null(strstr(logged, "PostgreSQL did not take it before the stop"));
}

/* A child that is killed has left what it named while PostgreSQL was away. */
static void what_waits_outlives_the_program(void **state)
{
	(void)state;
	char folder[] = "/tmp/assayd-archive-XXXXXX", path[160], torn[160];
	struct archive_options options = {
		.dsn = "host=/nowhere", .settings = "audit.", .program = "1", .directory = folder
	};
	struct archive_item item = item_of(ARCHIVE_CATALOG, "one");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/archive-catalog-%s", folder, item.digest);
	snprintf(torn, sizeof torn, "%s.new", path);
	pid_t child = fork();
	if (child == 0) {
		struct archive *archive = archive_start(&options);
		put(archive, ARCHIVE_CATALOG, "one");
		put(archive, ARCHIVE_MODEL, "");
		pause();
	}
	item = item_of(ARCHIVE_MODEL, "");
	for (int i = 0; i < 500 && (access(path, F_OK) != 0 || count_files(folder) < 2); i++)
		usleep(20000);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	FILE *file = fopen(torn, "we");
	assert_non_null(file);
	fclose(file);
	options.dsn = server.socket_dsn;
	struct archive *archive = archive_start(&options);
	await_stored(archive, 2);
	archive_stop(archive);
	expect("SELECT string_agg(kind || form || coalesce(version, 0), ' ' ORDER BY kind) FROM "
	       "audit_archive",
	       "catalogsqlite0 model7");
	assert_int_equal(count_files(folder), 0);
	assert_int_equal(rmdir(folder), 0);
}

/* Each bit of such a file counts. */
static void a_damaged_file_is_no_content(void **state)
{
	(void)state;
	char folder[] = "/tmp/assayd-archive-XXXXXX", path[160];
	const struct archive_item item = item_of(ARCHIVE_MODEL, "content");
	struct buf good = BUF_INIT;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/archive-model-%s", folder, item.digest);
	assert_int_equal(archive_file_write(folder, &item, STR("content"), NULL), ERR_OK);
	assert_int_equal(kept_file_read(path, 4096, &good, NULL), ERR_OK);
	for (size_t bit = 0; bit < 8 * good.len; bit++) {
		unsigned found = 0;
		good.data[bit / 8] = (char)(good.data[bit / 8] ^ 1 << bit % 8);
		assert_int_equal(kept_file_write(path, buf_str(&good), NULL), ERR_OK);
		archive_file_read_all(folder, count_content, &found);
		assert_int_equal(found, 0);
		assert_int_equal(count_files(folder), 0);
		good.data[bit / 8] = (char)(good.data[bit / 8] ^ 1 << bit % 8);
	}
	assert_non_null(strstr(logged, "is removed: it is damaged"));
	buf_free(&good);
	rmdir(folder);
}

static void what_was_deleted_meanwhile_is_written_again(void **state)
{
	(void)state;
	_cleanup_(database_cleanup) struct database *database = connect_reader();
	struct archive_item item = item_of(ARCHIVE_CONFIG, "x");
	bool there = true;
	assert_int_equal(archive_store_migrate(database, NULL), ERR_OK);
	assert_int_equal(archive_store_touch(database, &item, &there, NULL), ERR_OK);
	assert_false(there);
	assert_int_equal(archive_store_add(database, &item, STR("x"), "1", NULL), ERR_OK);
	assert_int_equal(archive_store_add(database, &item, STR("x"), "1", NULL), ERR_OK);
	assert_int_equal(archive_store_touch(database, &item, &there, NULL), ERR_OK);
	assert_true(there);
}

static void the_check_says_what_is_missing(void **state)
{
	(void)state;
	_cleanup_(arena_cleanup) struct arena *arena = arena_new();
	struct err_detail detail = { "" };
	str_t notes = STR_NONE;
	char dsn[400];
	snprintf(dsn, sizeof dsn, "%s user=reader", server.socket_dsn);
	run_sql("DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN");
	assert_int_equal(archive_check(server.socket_dsn, NULL, "audit.", arena, &notes, &detail), ERR_OK);
	assert_non_null(strstr(notes.ptr, "has version 0; the daemon brings it to 1"));
	assert_int_equal(archive_check(dsn, NULL, "audit.", arena, &notes, &detail), ERR_DATABASE_REFUSED);
	assert_non_null(strstr(detail.message, "grant it CREATE"));
	struct archive *archive = start(0);
	put(archive, ARCHIVE_CONFIG, "x");
	await_stored(archive, 1);
	archive_stop(archive);
	assert_int_equal(archive_check(server.socket_dsn, NULL, "audit.", arena, &notes, &detail), ERR_OK);
	assert_false(str_present(notes));
	run_sql("GRANT USAGE ON SCHEMA public TO reader; GRANT SELECT ON audit_archive_versions TO reader");
	assert_int_equal(archive_check(dsn, NULL, "audit.", arena, &notes, &detail), ERR_DATABASE_REFUSED);
	assert_non_null(strstr(detail.message, "grant it SELECT"));
	run_sql("UPDATE audit_archive_versions SET version = 99");
	assert_int_equal(archive_check(server.socket_dsn, NULL, "audit.", arena, &notes, &detail),
			 ERR_DATABASE_REFUSED);
	run_sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public; DROP ROLE reader");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, start_of_test)
	const struct CMUnitTest tests[] = {
		TEST(each_content_is_kept_once),
		TEST(models_are_found_by_version),
		TEST(damage_is_found),
		TEST(an_exchanged_content_is_found),
		TEST(only_what_is_old_and_unused_is_deleted),
		TEST(postgresql_is_away_and_back),
		TEST(what_finds_no_room_is_reported),
		TEST(what_waits_outlives_the_program),
		TEST(a_damaged_file_is_no_content),
		TEST(what_was_deleted_meanwhile_is_written_again),
		TEST(the_check_says_what_is_missing),
	};
	return cmocka_run_group_tests_name("audit/archive/archive", tests, start_server, stop_server);
}
