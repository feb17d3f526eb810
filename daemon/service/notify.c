#include "service/notify.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/terminal.h"

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
	static char last[1024];
	char status[sizeof last];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(status, sizeof status, format, arguments);
	va_end(arguments);
	if (strcmp(status, last) == 0)
		return;
	memcpy(last, status, sizeof last);
	_cleanup_(buf_free) struct buf shown = BUF_INIT; /* a line feed would begin another message */
	terminal_append(&shown, str_from(status));
	sd_notifyf(0, "STATUS=%s", buf_str(&shown).ptr);
}

void notify_start_goes_on(int64_t for_ms)
{
	sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%" PRId64, for_ms * 1000);
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

struct heartbeat_limits notify_limits(int64_t limit_ms)
{
	return (struct heartbeat_limits){ limit_ms, LONGEST_WAIT_MS };
}

bool notify_alive(struct heartbeat *const *heartbeats, size_t count, int64_t limit_ms,
		  const char **ret_waiting_for)
{
	static const struct heartbeat *reported;
	const struct heartbeat_limits limits = notify_limits(limit_ms);
	int64_t now_us = clock_monotonic_us();
	const struct heartbeat *stuck =
		heartbeat_find_stuck(heartbeats, count, &limits, now_us, ret_waiting_for);
	if (stuck && stuck != reported)
		log_write(LOG_LEVEL_CRITICAL, NULL, "the %s thread has been stuck for %" PRId64 " s",
			  stuck->name, (now_us - atomic_load(&stuck->last_us)) / 1000000);
	reported = stuck;
	if (!stuck)
		notify_watchdog();
	return !stuck;
}
