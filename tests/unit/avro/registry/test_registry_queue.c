/* Names that fail, or take long, beside such that do not; addresses that hang or lag; what is said of each.
 */
#include "avro/registry/registry.h"
#include "avro/registry/registry_store.h"
#include "avro/registry/registry_subjects.h"

#include "../support.h"
#include "fake_registry.h"

#include "common/clock.h"
#include "common/log.h"

#include <dirent.h>
#include <stdlib.h>

enum { WAITS_MAX = 200, LATE_MS = 20000 /* whatever a busy machine does; what is slow takes longer */ };

static struct registry_wait waits[WAITS_MAX];
static size_t waits_count;
static atomic_llong ended_us[WAITS_MAX];
static struct codec *codec;
static struct registry *registry;

/* What the journal has. */
static struct journal {
	pthread_mutex_t mutex;
	struct buf text;
} journal = { .mutex = PTHREAD_MUTEX_INITIALIZER };

static void write_journal(enum log_level level, const char *line, void *context)
{
	(void)level, (void)context;
	pthread_mutex_lock(&journal.mutex);
	buf_append_text(&journal.text, line);
	buf_append_char(&journal.text, '\n');
	pthread_mutex_unlock(&journal.mutex);
}

static unsigned logged(const char *what)
{
	unsigned count = 0;
	pthread_mutex_lock(&journal.mutex);
	for (const char *at = journal.text.data; at && (at = strstr(at, what)); at++)
		count++;
	pthread_mutex_unlock(&journal.mutex);
	return count;
}

static void start(const struct registry_settings *settings)
{
	waits_count = 0;
	buf_reset(&journal.text);
	log_set_sink(write_journal, NULL);
	assert_int_equal(codec_new(&(const struct codec_options){ .max_named = 1000 }, &codec, NULL), ERR_OK);
	registry = registry_start(settings, codec);
}

static void stop(void)
{
	registry_stop(registry);
	codec_free(codec);
	log_set_sink(NULL, NULL);
	buf_free(&journal.text);
}

static struct registry_settings settings_of(const char *const *urls, size_t count, int64_t timeout_ms)
{
	return (struct registry_settings){ .urls = urls,
					   .urls_count = count,
					   .timeout_ms = timeout_ms,
					   .wait_ms = 60000,
					   .max_waiting_events = 1000,
					   .max_waiting_bytes = 1000,
					   .max_schemas = 1000,
					   .max_kept_bytes = 1 << 20 };
}

static void done(struct registry_wait *wait)
{
	atomic_store(&ended_us[wait - waits], clock_monotonic_us());
}

/* The index of the first of so many waits for schemas with that fault. */
static size_t await(int fault, size_t count)
{
	size_t first = waits_count;
	for (; waits_count < first + count; waits_count++) {
		struct registry_wait *wait = &waits[waits_count];
		uint32_t id = (uint32_t)(fault * FAKE_OF_EACH) + (uint32_t)waits_count + 1;
		*wait = (struct registry_wait){ .name = { .id = id }, .bytes = 1, .done = done };
		wait->partition = (int32_t)waits_count;
		atomic_store(&ended_us[waits_count], 0);
		enum registry_answer answer = registry_await(registry, wait);
		if (answer != REGISTRY_WAITS)
			done(wait);
	}
	return first;
}

static bool within(size_t first, size_t count, int ms)
{
	int64_t until_us = clock_monotonic_us() + INT64_C(1000) * ms;
	for (size_t i = first; i < first + count;)
		if (atomic_load(&ended_us[i]))
			i++;
		else if (clock_monotonic_us() > until_us)
			return false;
		else
			usleep(1000);
	return true;
}

static void await_logged(const char *what)
{
	for (int i = 0; i < 2000 && !logged(what); i++)
		usleep(5000);
	if (!logged(what))
		fail_msg("%s is not in: %s", what, journal.text.data);
}

/* Their first attempts have all places; those of new names are theirs, whoever fills the others. */
static void test_slow_names_hold_up_nobody(void **state)
{
	(void)state;
	static struct fake_registry fake;
	fake_registry_start(&fake);
	const char *const urls[] = { fake.url };
	const struct registry_settings settings = settings_of(urls, 1, 60000);
	start(&settings);
	await(FAKE_SLOW, 100);
	size_t honest = await(FAKE_HONEST, 36);
	assert_true(within(honest, 36, 2 * REGISTRY_SLICE_MS + LATE_MS));
	for (size_t i = 0; i < 36; i++)
		assert_int_equal(waits[honest + i].err, ERR_OK);
	/* those that are asked again are in nobody's way, either */
	for (int i = 0; i < 1000 && atomic_load(&fake.asked_of[FAKE_SLOW]) < 100 + REGISTRY_AGAIN_MAX; i++)
		usleep(5000);
	assert_true(atomic_load(&fake.asked_of[FAKE_SLOW]) >= 100 + REGISTRY_AGAIN_MAX);
	waits_count = 150;
	struct registry_wait *late = &waits[await(FAKE_FOREIGN, 1)];
	assert_true(within((size_t)(late - waits), 1, REGISTRY_SLICE_MS + LATE_MS));
	assert_int_equal(late->err, ERR_SCHEMA_INCOMPATIBLE);
	assert_non_null(strstr(late->detail.message, "schema 10151"));
	await_logged("does not give schema 10");
	assert_int_equal(logged("does not give schema"), 1);
	assert_int_equal(logged("cannot be asked"), 0);
	stop();
	fake_registry_stop(&fake);
}

/* Of one of those waits that is why it has no schema yet. */
static void await_said(size_t first, size_t count, const char *what)
{
	struct err_detail detail = { "" };
	int64_t until_us = clock_monotonic_us() + INT64_C(1000) * LATE_MS;
	while (clock_monotonic_us() < until_us)
		for (size_t i = first; i < first + count; i++) {
			registry_resolve(registry, &waits[i].name, 1, &detail);
			if (strstr(detail.message, what))
				return;
		}
	fail_msg("%s is not said, but: %s", what, detail.message);
}

/* What never ends does not fill the memory, nor keeps out what is short. */
static void test_a_flood_is_bounded(void **state)
{
	(void)state;
	static const struct {
		int fault;
		size_t count;
		const char *says;
	} CASES[] = {
		{ FAKE_FLOOD, 10, "answers that come in together have more than 16777216 bytes" },
		{ FAKE_REFERS, 30, "others whose references are awaited have more than 16777216 bytes" },
	};
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		static struct fake_registry fake;
		fake_registry_start(&fake);
		const char *const urls[] = { fake.url };
		const struct registry_settings settings = settings_of(urls, 1, 60000);
		start(&settings);
		await(CASES[i].fault, CASES[i].count);
		while (CASES[i].fault == FAKE_REFERS && atomic_load(&fake.asked) < 2 * CASES[i].count)
			usleep(1000);
		await(CASES[i].fault, CASES[i].count);
		await_said(0, 2 * CASES[i].count, CASES[i].says);
		size_t first = await(FAKE_HONEST, 10);
		assert_true(within(first, 10, LATE_MS));
		assert_int_equal(waits[first].err, ERR_OK);
		stop();
		fake_registry_stop(&fake);
	}
}

static void test_failing_names_hold_up_nobody(void **state)
{
	(void)state;
	static struct fake_registry fake;
	struct registry_statistics statistics;
	fake_registry_start(&fake);
	const char *const urls[] = { fake.url };
	const struct registry_settings settings = settings_of(urls, 1, 60000);
	start(&settings);
	size_t limited = await(FAKE_LIMITED, 1);
	int64_t began_us = clock_monotonic_us();
	await(FAKE_BUSY, 100);
	size_t honest = await(FAKE_HONEST, 28);
	assert_true(within(honest, 28, LATE_MS));
	registry_statistics(registry, &statistics);
	assert_false(statistics.down);
	await_logged("does not give schema");
	assert_int_equal(logged("does not give schema"), 1);
	assert_int_equal(logged("cannot be asked") + logged("answers again"), 0);
	/* one is not asked for again before the registry wants it to be, others are */
	while (atomic_load(&fake.asked_of[FAKE_LIMITED]) < 2 && clock_monotonic_us() - began_us < 10000000)
		usleep(1000);
	assert_int_equal(atomic_load(&fake.asked_of[FAKE_LIMITED]), 2);
	assert_true(atomic_load(&fake.last_us[FAKE_LIMITED]) - began_us >= 900000);
	assert_true(atomic_load(&fake.asked_of[FAKE_BUSY]) > 100);
	assert_false(atomic_load(&ended_us[limited]));
	stop();
	fake_registry_stop(&fake);
}

/* Nobody is answered, in one way or another; then all are. */
static void test_away(void **state)
{
	(void)state;
	static const struct {
		int all;
		const char *says;
	} CASES[] = { { FAKE_BUSY, "HTTP 503" },
		      { FAKE_PAGE,
			"HTTP 404, text/html; charset=utf-8; what answers there is no schema registry" } };
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		static struct fake_registry fake;
		struct registry_statistics statistics;
		fake_registry_start(&fake);
		const char *const urls[] = { fake.url };
		const struct registry_settings settings = settings_of(urls, 1, 60000);
		atomic_store(&fake.all, CASES[i].all);
		start(&settings);
		size_t first = await(FAKE_HONEST, 20);
		await_logged("cannot be asked");
		registry_statistics(registry, &statistics);
		assert_true(statistics.down);
		assert_non_null(strstr(statistics.fault.message, CASES[i].says));
		size_t asked = atomic_load(&fake.asked);
		assert_true(asked < 60);
		atomic_store(&fake.all, FAKE_HONEST);
		assert_true(within(first, 20, 10000));
		assert_int_equal(logged("cannot be asked"), 1);
		assert_int_equal(logged("answers again"), 1);
		assert_true(logged("does not give") <=
			    1); /* one that was under way when others were answered */
		stop();
		fake_registry_stop(&fake);
	}
}

static void test_one_address_hangs(void **state)
{
	(void)state;
	static struct fake_registry fakes[2];
	fake_registry_start(&fakes[0]);
	fake_registry_start(&fakes[1]);
	const char *const urls[] = { fakes[0].url, fakes[1].url };
	const struct registry_settings settings = settings_of(urls, 2, 1000);
	atomic_store(&fakes[0].all, FAKE_SILENT);
	start(&settings);
	size_t first = await(FAKE_HONEST, 20);
	assert_true(within(first, 20, 1000 + LATE_MS));
	assert_int_equal(atomic_load(&fakes[0].asked), 20);
	first = await(FAKE_HONEST, 20);
	assert_true(within(first, 20, LATE_MS));
	assert_int_equal(atomic_load(&fakes[0].asked), 20);
	stop();
	fake_registry_stop(&fakes[0]);
	fake_registry_stop(&fakes[1]);
}

static void test_one_address_lags(void **state)
{
	(void)state;
	static struct fake_registry fakes[2];
	fake_registry_start(&fakes[0]);
	fake_registry_start(&fakes[1]);
	const char *const urls[] = { fakes[0].url, fakes[1].url };
	const struct registry_settings settings = settings_of(urls, 2, 60000);
	atomic_store(&fakes[0].all, FAKE_UNKNOWN);
	start(&settings);
	size_t first = await(FAKE_HONEST, 2);
	assert_true(within(first, 2, LATE_MS));
	assert_int_equal(waits[first].err, ERR_OK);
	assert_int_equal(waits[first + 1].err, ERR_OK);
	first = await(FAKE_UNKNOWN, 1);
	assert_true(within(first, 1, 1000 + LATE_MS));
	assert_int_equal(waits[first].err, ERR_SCHEMA_UNKNOWN);
	assert_int_equal(atomic_load(&fakes[1].asked_of[FAKE_UNKNOWN]), 2);
	stop();
	fake_registry_stop(&fakes[0]);
	fake_registry_stop(&fakes[1]);
}

static err_t teach(const struct registry_settings *settings, uint32_t id, struct err_detail *detail)
{
	const struct schema_name name = { .id = id };
	return registry_teach(settings, codec, &name, detail);
}

/* Likewise for commands, which ask for one after the other. */
static void test_addresses_of_commands(void **state)
{
	(void)state;
	static struct fake_registry fakes[2];
	struct err_detail detail = { "" };
	fake_registry_start(&fakes[0]);
	fake_registry_start(&fakes[1]);
	const char *const urls[] = { fakes[0].url, fakes[1].url };
	const struct registry_settings settings = settings_of(urls, 2, 500);
	assert_int_equal(codec_new(&(const struct codec_options){ .max_named = 1000 }, &codec, NULL), ERR_OK);
	atomic_store(&fakes[0].all, FAKE_UNKNOWN);
	assert_int_equal(teach(&settings, 1, &detail), ERR_OK);
	assert_int_equal(teach(&settings, FAKE_UNKNOWN * FAKE_OF_EACH, &detail), ERR_SCHEMA_UNKNOWN);
	assert_non_null(strstr(detail.message, "schema 4000"));
	atomic_store(&fakes[0].all, FAKE_HONEST);
	atomic_store(&fakes[1].all, FAKE_SILENT);
	size_t asked = atomic_load(&fakes[1].asked);
	for (uint32_t id = 2; id < 10; id++)
		assert_int_equal(teach(&settings, id, &detail), ERR_OK);
	assert_int_equal(atomic_load(&fakes[1].asked), asked + 1);
	codec_free(codec);
	fake_registry_stop(&fakes[0]);
	fake_registry_stop(&fakes[1]);
}

static void test_what_is_said(void **state)
{
	(void)state;
	static const struct {
		int fault;
		err_t err;
		const char *says, *names;
	} CASES[] = {
		{ FAKE_PAGE, ERR_SCHEMA_UNAVAILABLE,
		  "HTTP 404, text/html; charset=utf-8; what answers there is no schema registry",
		  "schema 6001" },
		{ FAKE_GZIP, ERR_SCHEMA_UNAVAILABLE, "compressed (gzip)", "schema 7001" },
		{ FAKE_NESTED, ERR_SCHEMA_INCOMPATIBLE, "nested too deeply", "schema 8001" },
		{ FAKE_BRACKETS, ERR_SCHEMA_UNAVAILABLE, "JSON that is nested too deeply", "schema 9001" },
		{ FAKE_FOREIGN, ERR_SCHEMA_INCOMPATIBLE, "", "schema 10001" },
	};
	static struct fake_registry fake;
	fake_registry_start(&fake);
	const char *const urls[] = { fake.url };
	const struct registry_settings settings = settings_of(urls, 1, 60000);
	start(&settings);
	for (size_t i = 0; i < COUNT_OF(CASES); i++) {
		struct err_detail detail = { "" };
		const struct schema_name name = { .id = (uint32_t)(CASES[i].fault * FAKE_OF_EACH + 1) };
		err_t err = registry_resolve(registry, &name, 60000, &detail);
		if (err != CASES[i].err || !strstr(detail.message, CASES[i].says) ||
		    !strstr(detail.message, CASES[i].names))
			fail_msg("%d: %s", CASES[i].fault, detail.message);
	}
	stop();
	fake_registry_stop(&fake);
}

static void drop_all(const char *folder)
{
	const struct dirent *entry;
	DIR *directory = opendir(folder);
	assert_non_null(directory);
	while ((entry = readdir(directory)))
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(directory), entry->d_name, 0);
	closedir(directory);
	assert_int_equal(rmdir(folder), 0);
}

/* What is on the disk is had from there, at the start or when it is named, while nobody can be asked. */
static void test_kept(void **state)
{
	(void)state;
	char folder[] = "/tmp/assayd-queue.XXXXXX";
	static struct fake_registry fake;
	assert_non_null(mkdtemp(folder));
	fake_registry_start(&fake);
	const char *const urls[] = { fake.url };
	struct registry_settings settings = settings_of(urls, 1, 60000);
	settings.state_directory = folder;
	start(&settings);
	assert_true(within(await(FAKE_LONG, 20), 20, 20 * LATE_MS));
	stop();
	/* of 2 MB there is room for 1 */
	struct registry_store *store = registry_store_new(folder, urls, 1);
	size_t count = 0;
	registry_store_bound(store, settings.max_kept_bytes);
	for (uint32_t i = 1; i <= 20; i++) {
		_cleanup_(buf_free) struct buf schema = BUF_INIT;
		const struct schema_name name = { .id = FAKE_LONG * FAKE_OF_EACH + i };
		count += registry_store_find(store, &name, &schema);
	}
	assert_true(count >= 7 && count < 11);
	fake_registry_stop(&fake);
	start(&settings);
	assert_int_equal(codec_named_count(codec), count);
	const struct schema_name later = { .id = 7 };
	assert_int_equal(registry_store_write(store, &later, builtin_schema(RECORD_QUERY), NULL), ERR_OK);
	waits_count = 0;
	assert_true(within(await(FAKE_HONEST, 7) + 6, 1, LATE_MS));
	assert_int_equal(waits[6].err, ERR_OK);
	assert_false(atomic_load(&ended_us[0]));
	stop();
	registry_store_free(store);
	drop_all(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slow_names_hold_up_nobody),
		cmocka_unit_test(test_a_flood_is_bounded),
		cmocka_unit_test(test_failing_names_hold_up_nobody),
		cmocka_unit_test(test_away),
		cmocka_unit_test(test_one_address_hangs),
		cmocka_unit_test(test_one_address_lags),
		cmocka_unit_test(test_addresses_of_commands),
		cmocka_unit_test(test_what_is_said),
		cmocka_unit_test(test_kept),
	};
	return cmocka_run_group_tests_name("registry_queue", tests, NULL, NULL);
}
