#include "common/histogram.h"

const int64_t histogram_bounds_us[HISTOGRAM_BUCKETS - 1] = {
	10,    25,    50,     100,    250,    500,     1000,	2500,	  5000,	    10000,
	25000, 50000, 100000, 250000, 500000, 1000000, 3000000, 10000000, 30000000, 60000000,
};

void histogram_observe(struct histogram *histogram, int64_t duration_us)
{
	size_t bucket = 0;
	while (bucket < HISTOGRAM_BUCKETS - 1 && duration_us > histogram_bounds_us[bucket])
		bucket++;
	atomic_fetch_add_explicit(&histogram->buckets[bucket], 1, memory_order_relaxed);
	if (duration_us > 0)
		atomic_fetch_add_explicit(&histogram->sum_us, (uint64_t)duration_us, memory_order_relaxed);
}

void histogram_read(const struct histogram *histogram, struct histogram_figures *ret_figures)
{
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		ret_figures->buckets[i] = atomic_load_explicit(&histogram->buckets[i], memory_order_relaxed);
	ret_figures->sum_us = atomic_load_explicit(&histogram->sum_us, memory_order_relaxed);
}
