/* What the service manager hears: readiness, reloads, the status line, and signs of life while every thread
 * has them. Without a service manager nothing happens. Main thread. */
#pragma once

#include "common/heartbeat.h"

#include <stdbool.h>
#include <stddef.h>

/* States of the service (sd_notify(3)): READY=1 also ends a reload. The status is one line for people;
 * it is told where it is another one than before. */
void notify_ready(void);
void notify_reloading(void);
void notify_stopping(void);
void notify_status(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A start that goes on may take `for_ms` from now, whatever TimeoutStartSec says. */
void notify_start_goes_on(int64_t for_ms);

/* How often the watchdog wants to hear from us, in ms; 0: there is none. */
int64_t notify_watchdog_ms(void);

/* Feeds the watchdog unconditionally: while a start or a stop is under way, whose waits all have deadlines.
 */
void notify_watchdog(void);

/* What the rules of the watchdog allow: silence for `limit_ms`, and for five minutes while a named dependency
 * is waited for. */
struct heartbeat_limits notify_limits(int64_t limit_ms);

/* Feeds the watchdog when every heartbeat has beaten within `limit_ms` or has begun a wait for a named
 * dependency within five minutes; else says which has not, once. `*ret_waiting_for`: the first dependency
 * that is waited for longer than a moment, or NULL. True when all is well. */
bool notify_alive(struct heartbeat *const *heartbeats, size_t count, int64_t limit_ms,
		  const char **ret_waiting_for);
