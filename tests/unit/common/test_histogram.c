#include "common/histogram.h"

#include "common/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void a_bound_belongs_to_its_bucket(void **state)
{
	static const struct {
		int64_t duration_us;
		size_t bucket;
	} cases[] = {
		{ -1, 0 },	 { 0, 0 },	  { 10, 0 },	    { 11, 1 },	      { 25, 1 },
		{ 1000000, 15 }, { 1000001, 16 }, { 60000000, 19 }, { 60000001, 20 }, { INT64_MAX, 20 },
	};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct histogram histogram = { 0 };
		struct histogram_figures figures;
		histogram_observe(&histogram, cases[i].duration_us);
		histogram_read(&histogram, &figures);
		for (size_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++)
			assert_int_equal(figures.buckets[bucket], bucket == cases[i].bucket);
		assert_int_equal(figures.sum_us, cases[i].duration_us > 0 ? cases[i].duration_us : 0);
	}
}

static void bounds_grow(void **state)
{
	(void)state;
	for (size_t i = 1; i < HISTOGRAM_BUCKETS - 1; i++)
		assert_true(histogram_bounds_us[i - 1] < histogram_bounds_us[i]);
}

enum { THREADS = 4, EACH = 10000 };

static void observe_many(void *context, unsigned index)
{
	for (int i = 0; i < EACH; i++)
		histogram_observe(context, (int64_t)index);
}

static void nothing_is_lost_between_threads(void **state)
{
	struct histogram histogram = { 0 };
	struct histogram_figures figures;
	(void)state;
	pool_join(pool_start("observers", THREADS, observe_many, &histogram));
	histogram_read(&histogram, &figures);
	assert_int_equal(figures.buckets[0], THREADS * EACH);
	assert_int_equal(figures.sum_us, (0 + 1 + 2 + 3) * EACH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bound_belongs_to_its_bucket),
		cmocka_unit_test(bounds_grow),
		cmocka_unit_test(nothing_is_lost_between_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
