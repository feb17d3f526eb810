#include "judge/cache.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define S 1000000 /* µs */

static const unsigned char *key_of(unsigned n)
{
	static unsigned char key[DIGEST_BYTES];
	hash_sha256(&n, sizeof n, key);
	return key;
}

static void put(struct cache *cache, unsigned n, int64_t now_us, str_t reason)
{
	struct cached_verdict verdict = { n, reason };
	cache_put(cache, key_of(n), now_us, &verdict);
}

static bool has(struct cache *cache, unsigned n, int64_t now_us)
{
	struct cached_verdict verdict;
	if (!cache_get(cache, key_of(n), now_us, &verdict))
		return false;
	assert_true(verdict.score == n);
	return true;
}

static void test_keeps_and_replaces(void **state)
{
	(void)state;
	struct cache *cache = cache_new(1 << 20, 60);
	struct cached_verdict verdict = { 1, STR("text") };
	put(cache, 1, 0, STR("old"));
	put(cache, 1, 0, STR("because"));
	put(cache, 2, 0, STR_NONE);
	put(cache, 3, 0, STR(""));
	assert_true(cache_get(cache, key_of(1), 1, &verdict));
	assert_true(verdict.score == 1);
	assert_string_equal(verdict.reason.ptr, "because");
	assert_true(cache_get(cache, key_of(2), 1, &verdict));
	assert_false(str_present(verdict.reason));
	assert_true(cache_get(cache, key_of(3), 1, &verdict));
	assert_true(str_present(verdict.reason));
	assert_false(has(cache, 4, 1));
	cache_free(cache);
}

static void test_time_to_live(void **state)
{
	(void)state;
	struct cache *cache = cache_new(1 << 20, 60);
	put(cache, 1, 5 * S, STR("r"));
	assert_true(has(cache, 1, 65 * S - 1));
	assert_false(has(cache, 1, 65 * S));
	assert_int_equal(cache_used_bytes(cache), 0);
	put(cache, 1, 70 * S, STR("r"));
	assert_true(has(cache, 1, 71 * S));
	cache_free(cache);
}

static void test_least_recently_used_leaves(void **state)
{
	(void)state;
	struct cache *probe = cache_new(1 << 20, 60);
	put(probe, 1, 0, STR("0123456789"));
	size_t one = cache_used_bytes(probe);
	cache_free(probe);
	struct cache *cache = cache_new(3 * one, 60);
	for (unsigned n = 1; n <= 3; n++)
		put(cache, n, 0, STR("0123456789"));
	assert_true(has(cache, 1, 0)); /* so 2 is the oldest now */
	put(cache, 4, 0, STR("0123456789"));
	assert_true(has(cache, 1, 0));
	assert_false(has(cache, 2, 0));
	assert_true(has(cache, 3, 0));
	assert_true(has(cache, 4, 0));
	assert_int_equal(cache_used_bytes(cache), 3 * one);
	cache_free(cache);
}

static void test_stays_within_its_bytes(void **state)
{
	(void)state;
	static char reason[3001];
	struct cache *cache = cache_new(100000, 60);
	memset(reason, 'r', sizeof reason - 1);
	for (unsigned n = 0; n < 20000; n++) {
		put(cache, n, 0, (str_t){ reason, (n * 7919) % 2000 });
		assert_true(cache_used_bytes(cache) <= 100000);
	}
	assert_true(cache_used_bytes(cache) > 90000);
	assert_true(has(cache, 19999, 0));
	cache_free(cache);
}

static void test_resizing(void **state)
{
	(void)state;
	struct cache *cache = cache_new(1 << 20, 60);
	for (unsigned n = 1; n <= 10; n++)
		put(cache, n, 0, STR("0123456789"));
	size_t one = cache_used_bytes(cache) / 10;
	cache_resize(cache, 4 * one, 60);
	assert_int_equal(cache_used_bytes(cache), 4 * one);
	assert_false(has(cache, 6, 0));
	assert_true(has(cache, 7, 0));
	cache_resize(cache, 4 * one, 30); /* for what is inside, too */
	assert_true(has(cache, 8, 30 * S - 1));
	assert_false(has(cache, 8, 30 * S));
	cache_resize(cache, 0, 30);
	assert_int_equal(cache_used_bytes(cache), 0);
	cache_free(cache);
}

static void test_what_does_not_fit_is_not_kept(void **state)
{
	(void)state;
	struct cache *small = cache_new(10, 60), *none = cache_new(1 << 20, 0);
	put(small, 1, 0, STR("r"));
	put(none, 1, 0, STR("r"));
	assert_false(has(small, 1, 0));
	assert_false(has(none, 1, 0));
	cache_free(small);
	cache_free(none);
	cache_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keeps_and_replaces),
		cmocka_unit_test(test_time_to_live),
		cmocka_unit_test(test_least_recently_used_leaves),
		cmocka_unit_test(test_stays_within_its_bytes),
		cmocka_unit_test(test_resizing),
		cmocka_unit_test(test_what_does_not_fit_is_not_kept),
	};
	return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
