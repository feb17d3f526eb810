/*
 * How long things took: a histogram of durations with fixed bounds from 10 µs to a minute. Lock-free; any
 * number of threads may observe and read at the same time.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { HISTOGRAM_BUCKETS = 21 }; /* the last one has no bound */

struct histogram { /* all zero: nothing was observed */
	_Atomic uint64_t buckets[HISTOGRAM_BUCKETS];
	_Atomic uint64_t sum_us;
};

/* Upper bounds, included, of all but the last bucket. */
extern const int64_t histogram_bounds_us[HISTOGRAM_BUCKETS - 1];

/* Below 0 counts as 0. */
void histogram_observe(struct histogram *histogram, int64_t duration_us);

struct histogram_figures {
	uint64_t buckets[HISTOGRAM_BUCKETS]; /* of each alone */
	uint64_t sum_us;
};

/* Durations that are observed meanwhile may be in part of the figures. */
void histogram_read(const struct histogram *histogram, struct histogram_figures *ret_figures);
