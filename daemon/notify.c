#include "notify.h"

#include "common/clock.h"
#include "common/log.h"

#include <inttypes.h>
#include <systemd/sd-daemon.h>

enum { LONGEST_WAIT_MS = 300000 };

void notify_ready(void)
{
	sd_notify(0, "READY=1");
}

/* MONOTONIC_USEC belongs to a reload (sd_notify(3)). */
void notify_reloading(void)
{
	sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, clock_monotonic_us());
}

void notify_stopping(void)
{
	sd_notify(0, "STOPPING=1");
}

void notify_status(const char *format, ...)
{
	char status[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(status, sizeof status, format, arguments);
	va_end(arguments);
	sd_notifyf(0, "STATUS=%s", status);
}

void notify_watchdog(void)
{
	sd_notify(0, "WATCHDOG=1");
}

int64_t notify_watchdog_ms(void)
{
	uint64_t interval_us;
	return sd_watchdog_enabled(0, &interval_us) > 0 ? (int64_t)(interval_us / 1000) : 0;
}

struct tick_limits notify_limits(int64_t limit_ms)
{
	return (struct tick_limits){ limit_ms, LONGEST_WAIT_MS };
}

bool notify_alive(struct ticker *const *tickers, size_t count, int64_t limit_ms, const char **ret_waiting_for)
{
	static const struct ticker *reported;
	const struct tick_limits limits = notify_limits(limit_ms);
	int64_t now_us = clock_monotonic_us();
	const struct ticker *stuck = tick_find_stuck(tickers, count, &limits, now_us, ret_waiting_for);
	if (stuck && stuck != reported)
		log_write(LOG_LEVEL_CRITICAL, NULL, "the %s thread has not moved for %" PRId64 " s",
			  stuck->name, (now_us - atomic_load(&stuck->last_us)) / 1000000);
	reported = stuck;
	if (!stuck)
		notify_watchdog();
	return !stuck;
}
