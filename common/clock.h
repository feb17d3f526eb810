/*
 * Time, injectable for tests. Deadlines are monotonic microseconds; records carry wall-clock milliseconds.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>
#include <time.h>

struct clock {
	int64_t (*monotonic_us)(const struct clock *clock);
	int64_t (*wall_ms)(const struct clock *clock); /* since 1970-01-01 UTC */
};

/* The machine's own clocks; safe in any thread. */
const struct clock *clock_system(void);

/* Shorthands for the machine's clocks where no test needs another. */
int64_t clock_monotonic_us(void);
int64_t clock_wall_ms(void);

static inline int64_t clock_now_us(const struct clock *clock)
{
	return clock->monotonic_us(clock);
}

/* The monotonic moment in `timeout_ms` from now, for pthread_cond_timedwait on a condition of
 * clock_cond_init. */
struct timespec clock_deadline_after(int64_t timeout_ms);

/* A condition whose timed waits go by the monotonic clock. */
void clock_cond_init(pthread_cond_t *condition);
