/*
 * Durations of a benchmark and their summary. Header-only; a failed allocation ends the program.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct samples {
	int64_t *ns;
	size_t count, capacity;
};

struct sample_summary {
	double mean_us, median_us, p99_us;
};

static inline int64_t clock_ns(clockid_t id)
{
	struct timespec now;
	clock_gettime(id, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static inline int64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* Of this thread: what others do on a busy machine does not count. */
static inline int64_t cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static inline void samples_add(struct samples *samples, int64_t ns)
{
	if (samples->count == samples->capacity) {
		samples->capacity = samples->capacity ? 2 * samples->capacity : 1024;
		samples->ns = realloc(samples->ns, samples->capacity * sizeof samples->ns[0]);
		if (!samples->ns)
			abort();
	}
	samples->ns[samples->count++] = ns;
}

static inline int samples_compare(const void *a, const void *b)
{
	int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;
	return (one > other) - (one < other);
}

/* Sorts the samples. */
static inline struct sample_summary samples_summary(struct samples *samples)
{
	struct sample_summary summary = { 0, 0, 0 };
	double sum = 0;
	if (samples->count == 0)
		return summary;
	qsort(samples->ns, samples->count, sizeof samples->ns[0], samples_compare);
	for (size_t i = 0; i < samples->count; i++)
		sum += (double)samples->ns[i];
	summary.mean_us = sum / (double)samples->count / 1e3;
	summary.median_us = (double)samples->ns[samples->count / 2] / 1e3;
	summary.p99_us = (double)samples->ns[samples->count * 99 / 100] / 1e3;
	return summary;
}
