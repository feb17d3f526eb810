/* Bounds of the truth cache in bytes and time, and what its entries are known by. */
#include "tests/unit/target/calls.h"

#include "target/truth_cache.h"

#define MAX_BYTES ((int64_t)256 << 10)
#define TTL_US	  ((int64_t)60 * 1000000)

static struct truth_cache *cache;

static int set_up(void **state)
{
	(void)state;
	cache = truth_cache_new(MAX_BYTES, TTL_US);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	truth_cache_free(cache);
	return 0;
}

/* Keeps a result of one column `value` with that text, and the rest of its bytes in spaces. */
static void put(const char *sql, const char *digest, const char *text, size_t bytes, bool truncated,
		int64_t now_us)
{
	struct arena *arena = arena_new();
	struct query_run run = {
		.execution = { .rows = 1, .time_ms = 2.5 },
		.result = { .arena = arena, .max_rows = 10, .max_bytes = INT64_MAX },
	};
	char *to;
	result_begin(&run.result, 1);
	run.result.columns[0].name = STR("value");
	str_t *cells = result_add_row(&run.result, bytes, &to);
	memset(to, ' ', bytes);
	memcpy(to, text, strlen(text));
	cells[0] = (str_t){ to, bytes };
	run.result.truncated = truncated;
	truth_cache_put(cache, str_from(sql), str_from(digest), &run, now_us);
	result_free(&run.result);
	arena_free(arena);
}

static bool has(const char *sql, const char *digest, const char *text, int64_t now_us)
{
	const struct cached_truth *truth = truth_cache_get(cache, str_from(sql), str_from(digest), now_us);
	if (!truth)
		return false;
	assert_int_equal(truth->result.rows_count, 1);
	assert_string_equal(truth->result.columns[0].name.ptr, "value");
	assert_true(truth->execution.time_ms == 2.5);
	return strncmp(truth->result.cells[0].ptr, text, strlen(text)) == 0;
}

static void what_is_kept_is_known_by_its_text_and_catalog(void **state)
{
	(void)state;
	put("SELECT 1", "catalog a", "first", 10, false, 0);
	assert_true(has("SELECT 1", "catalog a", "first", 1));
	assert_false(has("SELECT 1", "catalog b", "first", 1));
	assert_false(has("SELECT 1", "", "first", 1));
	assert_false(has("SELECT  1", "catalog a", "first", 1));
	put("SELECT 1", "catalog b", "second", 10, false, 2);
	assert_true(has("SELECT 1", "catalog a", "first", 3));
	assert_true(has("SELECT 1", "catalog b", "second", 3));
}

static void it_ends_with_its_time(void **state)
{
	(void)state;
	put("SELECT 1", "", "first", 10, false, 0);
	assert_true(has("SELECT 1", "", "first", TTL_US - 1));
	assert_false(has("SELECT 1", "", "first", TTL_US));
	assert_int_equal(truth_cache_count(cache), 0);
	assert_int_equal(truth_cache_bytes(cache), 0);
	put("SELECT 1", "", "second", 10, false, TTL_US);
	assert_true(has("SELECT 1", "", "second", 2 * TTL_US - 1));
}

static void a_newer_result_takes_the_place_of_the_older(void **state)
{
	(void)state;
	put("SELECT 1", "", "first", 10, false, 0);
	put("SELECT 1", "", "second", 10, false, 10);
	assert_true(has("SELECT 1", "", "second", TTL_US + 5));
	assert_int_equal(truth_cache_count(cache), 1);
	put("SELECT 1", "", "third", 10, true,
	    20); /* a truncated one says nothing, the older one is outdated */
	assert_int_equal(truth_cache_count(cache), 0);
}

static void results_that_are_too_large_are_not_kept(void **state)
{
	(void)state;
	put("SELECT 1", "", "large", MAX_BYTES / 4, false, 0);
	assert_int_equal(truth_cache_count(cache), 0);
	put("SELECT 1", "", "large", MAX_BYTES / 8, false, 0);
	assert_int_equal(truth_cache_count(cache), 1);
}

/* After every one of many puts the bytes are within the limit, and what was used last is still there. */
static void the_least_recently_used_make_room(void **state)
{
	char sql[32], text[32];
	(void)state;
	put("favourite", "", "favourite", 100, false, 0);
	size_t most = 0;
	for (int i = 0; i < 500; i++) {
		snprintf(sql, sizeof sql, "SELECT %d", i);
		snprintf(text, sizeof text, "row %d", i);
		put(sql, "", text, (size_t)(20 + i * 977 % 30000), false, i);
		assert_true(truth_cache_bytes(cache) <= MAX_BYTES);
		assert_true(has(sql, "", text, i));
		assert_true(has("favourite", "", "favourite", i));
		if (truth_cache_count(cache) > most)
			most = truth_cache_count(cache);
	}
	assert_true(most >= 5 && truth_cache_count(cache) < 100);
	assert_false(has("SELECT 0", "", "row 0", 500));
}

static void without_memory_nothing_is_kept(void **state)
{
	(void)state;
	truth_cache_free(cache);
	cache = truth_cache_new(0, TTL_US);
	put("SELECT 1", "", "first", 1, false, 0);
	assert_false(has("SELECT 1", "", "first", 0));
	assert_int_equal(truth_cache_bytes(cache), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_kept_is_known_by_its_text_and_catalog, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(it_ends_with_its_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_newer_result_takes_the_place_of_the_older, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(results_that_are_too_large_are_not_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_least_recently_used_make_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_memory_nothing_is_kept, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
