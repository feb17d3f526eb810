/* The life of a catalog: read again by its age, read again on suspicion but not too often, kept between runs
 * in the format of this version alone. */
#include "common/buf.h"
#include "common/hash.h"
#include "common/log.h"
#include "tests/harness/fixtures/sqlite_file.h"
#include "tests/unit/target/calls.h"

#include <pthread.h>
#include <sys/stat.h>

#define DSN "host=/nowhere dbname=shop"

static struct test_sqlite shop_file;

static int set_up(void **state)
{
	(void)state;
	test_sqlite_make(&shop_file, "CREATE TABLE first (id INTEGER)");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return test_sqlite_remove(&shop_file);
}

static struct catalog *current(struct targets *targets)
{
	return targets_catalog(targets, targets_find(targets, STR("shop")));
}

static bool knows(struct targets *targets, const char *text)
{
	struct catalog *catalog = current(targets);
	assert_non_null(catalog);
	bool found = strstr(catalog_source(catalog).ptr, text) != NULL;
	catalog_unref(catalog);
	return found;
}

static bool comes_to_know(struct targets *targets, const char *text, long patience_ms)
{
	for (long waited_ms = 0; waited_ms < patience_ms; waited_ms += 20) {
		if (knows(targets, text))
			return true;
		sleep_ms(20);
	}
	return false;
}

static void a_catalog_is_read_again_by_its_age(void **state)
{
	(void)state;
	struct target_settings settings = sqlite_settings("shop", shop_file.path);
	settings.catalog_ttl_s = 1;
	struct targets *targets = start_targets(&settings, 1, NULL);
	targets_wait_catalogs(targets, 30000);
	struct catalog *before = current(targets);
	assert_non_null(before);
	test_sqlite_run(shop_file.path, "CREATE TABLE by_age (id INTEGER)");
	assert_true(comes_to_know(targets, "by_age", 60000));
	struct catalog *after = current(targets);
	assert_string_not_equal(catalog_digest(before), catalog_digest(after));
	assert_true(catalog_read_at_ms(after) > catalog_read_at_ms(before));
	assert_null(
		strstr(catalog_source(before).ptr, "by_age")); /* who holds it keeps what it started with */
	catalog_unref(before);
	catalog_unref(after);
	targets_stop(targets);
}

static void suspicions_are_limited(void **state)
{
	(void)state;
	struct target_settings settings = sqlite_settings("shop", shop_file.path);
	settings.catalog_ttl_s = 3600;
	struct targets *targets = start_targets(&settings, 1, NULL);
	const struct target_settings *shop = targets_find(targets, STR("shop"));
	targets_wait_catalogs(targets, 30000);
	test_sqlite_run(shop_file.path, "CREATE TABLE suspected (id INTEGER)");
	assert_false(knows(targets, "suspected"));
	targets_catalog_suspect(targets, shop);
	assert_true(comes_to_know(targets, "suspected", 60000));
	test_sqlite_run(shop_file.path, "CREATE TABLE too_soon (id INTEGER)");
	for (int i = 0; i < 100; i++)
		targets_catalog_suspect(targets, shop);
	assert_false(comes_to_know(targets, "too_soon", 500));
	targets_stop(targets);
}

struct heard {
	pthread_mutex_t mutex;
	unsigned lines;
	char last[512];
};

static void hear(enum log_level level, const char *line, void *context)
{
	struct heard *heard = context;
	pthread_mutex_lock(&heard->mutex);
	if (level == LOG_LEVEL_ERROR && strstr(line, "required_columns")) {
		snprintf(heard->last, sizeof heard->last, "%s", line);
		heard->lines++;
	}
	pthread_mutex_unlock(&heard->mutex);
}

static unsigned heard_lines(struct heard *heard, const char *text)
{
	pthread_mutex_lock(&heard->mutex);
	unsigned lines = heard->lines;
	if (text)
		assert_non_null(strstr(heard->last, text));
	pthread_mutex_unlock(&heard->mutex);
	return lines;
}

static void rules_of_no_name_in_the_catalog_are_told_once(void **state)
{
	static const struct sql_required_column rules[] = { { STR("tenants"), STR("tenant_id") },
							    { STR("tenantz"), STR("tenant_id") } };
	static struct heard heard = { .mutex = PTHREAD_MUTEX_INITIALIZER };
	(void)state;
	test_sqlite_run(shop_file.path, "CREATE TABLE tenants (tenant_id INTEGER, name TEXT)");
	struct target_settings settings = sqlite_settings("shop", shop_file.path);
	settings.catalog_ttl_s = 1;
	settings.policy = (struct sql_policy){ .required_columns = rules, .required_columns_count = 2 };
	log_set_sink(hear, &heard);
	struct targets *targets = start_targets(&settings, 1, NULL);
	targets_wait_catalogs(targets, 30000);
	assert_int_equal(heard_lines(&heard,
				     "target shop: required_columns \"tenantz.tenant_id\" can never be "
				     "required: there is no table \"tenantz\"; did you mean "
				     "\"tenants\"?"),
			 1);
	test_sqlite_run(shop_file.path, "CREATE TABLE read_again (id INTEGER)");
	assert_true(comes_to_know(targets, "read_again", 60000));
	assert_int_equal(heard_lines(&heard, NULL), 1);
	test_sqlite_run(shop_file.path, "ALTER TABLE tenants RENAME COLUMN tenant_id TO tenantid");
	assert_true(comes_to_know(targets, "tenantid", 60000));
	assert_int_equal(heard_lines(&heard, "table \"tenants\" has no column \"tenant_id\"; did you mean "
					     "\"tenantid\"?"),
			 2);
	targets_stop(targets);
	log_set_sink(NULL, NULL);
}

/* A kept catalog as another version may have left it: whole, of this target, with a content of its format. */
static void keep(const char *content)
{
	char file_path[300], origin[DIGEST_HEX_SIZE], digest[DIGEST_HEX_SIZE];
	snprintf(file_path, sizeof file_path, "%s/catalog-shop.postgresql", shop_file.directory);
	hash_sha256_hex(DSN, strlen(DSN), origin);
	hash_sha256_hex(content, strlen(content), digest);
	FILE *file = fopen(file_path, "w");
	assert_non_null(file);
	fprintf(file, "assayd-catalog 1 %s 42 %s\n%s", origin, digest, content);
	fclose(file);
}

static void catalogs_of_other_formats_are_not_taken(void **state)
{
	static const struct {
		const char *content;
		bool taken;
	} kept[] = {
		{ "{\"format\":2,\"search_path\":[],\"schemas\":[\"a\"],\"types\":[],\"relations\":[],"
		  "\"functions\":[],\"operators\":[],\"casts\":[]}",
		  true },
		{ "{\"format\":1,\"search_path\":[],\"schemas\":[],\"relations\":[],\"functions\":[],"
		  "\"types\":[]}",
		  false },
		{ "{\"format\":3}", false },
		{ "", false },
	};
	(void)state;
	struct target_settings settings = postgresql_settings("shop", DSN);
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
		keep(kept[i].content);
		struct targets *targets = start_targets(&settings, 1, shop_file.directory);
		struct catalog *catalog = current(targets);
		assert_int_equal(catalog != NULL, kept[i].taken);
		if (catalog)
			assert_int_equal(catalog_read_at_ms(catalog), 42);
		catalog_unref(catalog);
		targets_stop(targets);
	}
}

int main(int argc, char **argv)
{
	if (is_worker(argc, argv))
		return target_worker_main(WORKER_FD);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_catalog_is_read_again_by_its_age),
		cmocka_unit_test(suspicions_are_limited),
		cmocka_unit_test(rules_of_no_name_in_the_catalog_are_told_once),
		cmocka_unit_test(catalogs_of_other_formats_are_not_taken),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
