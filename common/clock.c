#include "common/clock.h"

static int64_t read_us(clockid_t id)
{
	struct timespec now;
	clock_gettime(id, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_monotonic_us(void)
{
	return read_us(CLOCK_MONOTONIC);
}

int64_t clock_wall_ms(void)
{
	return read_us(CLOCK_REALTIME) / 1000;
}

static int64_t system_monotonic_us(const struct clock *clock)
{
	(void)clock;
	return clock_monotonic_us();
}

static int64_t system_wall_ms(const struct clock *clock)
{
	(void)clock;
	return clock_wall_ms();
}

const struct clock *clock_system(void)
{
	static const struct clock system = { system_monotonic_us, system_wall_ms };
	return &system;
}

struct timespec clock_deadline_after(int64_t timeout_ms)
{
	int64_t at_us = clock_monotonic_us() + timeout_ms * 1000;
	return (struct timespec){ at_us / 1000000, (at_us % 1000000) * 1000 };
}

void clock_cond_init(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
}
