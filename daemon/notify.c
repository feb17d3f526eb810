#include "notify.h"

#include "common/clock.h"
#include "common/log.h"

#include <inttypes.h>
#include <systemd/sd-daemon.h>

enum {
	WORTH_TELLING_MS = 1000,  /* a shorter wait for a dependency is no news */
	LONGEST_WAIT_MS = 300000, /* more than any wait for one may take before it is begun anew */
};

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

bool notify_alive(struct ticker *const *tickers, size_t count, int64_t limit_ms, const char **ret_waiting_for)
{
	static const struct ticker *reported;
	int64_t now_us = clock_monotonic_us();
	*ret_waiting_for = NULL;
	for (size_t i = 0; i < count; i++) {
		int64_t last_us = atomic_load(&tickers[i]->last_us);
		const char *waiting_for = atomic_load(&tickers[i]->waiting_for);
		int64_t since_us = atomic_load(&tickers[i]->waiting_since_us);
		if (waiting_for && !*ret_waiting_for && now_us - since_us >= INT64_C(1000) * WORTH_TELLING_MS)
			*ret_waiting_for = waiting_for;
		int64_t allowed_ms = waiting_for ? LONGEST_WAIT_MS : limit_ms;
		if (last_us == 0 || now_us - last_us <= allowed_ms * 1000)
			continue;
		if (reported != tickers[i])
			log_write(LOG_LEVEL_CRITICAL, NULL, "the %s thread has not moved for %" PRId64 " s",
				  tickers[i]->name, (now_us - last_us) / 1000000);
		reported = tickers[i];
		return false;
	}
	reported = NULL;
	notify_watchdog();
	return true;
}
