#include "common/clock.h"

#include <time.h>

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
