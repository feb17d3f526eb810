/*
 * Monitor: what can be seen of the daemon over HTTP.
 *
 *   /metrics  OpenMetrics where the client asks for it, else Prometheus' text format (metrics.def)
 *   /healthz  200 while the rules of the watchdog hold, else 503 and the thread that does not move
 *   /readyz   200 while events can be scored: started, a member of the group, Kafka within reach; else 503
 *             and what it waits for, which rights are missing or which partitions stand still and what
 *             mends them, or why outputs are not taken
 *   /status   a page for people: whether it is well, since when, what waits for what, what changed, and what
 *             was scored lately; /status/live loads itself again, /status.json is the same for programs
 *
 * Runs from before the first part is started until the last one has ended. What it knows of the parts it
 * reads from counters, and never waits for them. All functions are for any thread; a NULL monitor is fine.
 */
#pragma once

#include "http/metrics.h"

struct monitor;

/* Whether /status shows texts of events (summaries of advisories): only where nobody but this machine can
 * reach it, always, or never. */
enum monitor_texts { MONITOR_TEXTS_LOCAL, MONITOR_TEXTS_ALWAYS, MONITOR_TEXTS_NEVER };

/* Listens at the address. ERR_CONFIG_RANGE or ERR_HTTP_LISTEN: see listen.h. */
err_t monitor_start(const char *address, enum monitor_texts texts, struct monitor **ret_monitor,
		    struct err_detail *detail);

/* Ends it, at once, whoever is connected. */
void monitor_stop(struct monitor *monitor);

/* Not ready, and why (copied), until there are parts to show. */
void monitor_waits(struct monitor *monitor, const char *reason);

struct monitor_view {
	struct metrics_parts parts;
	struct heartbeat *source, *publisher;
	const struct heartbeat *main; /* of the main loop, which watches the others */
	struct heartbeat *const *heartbeats;
	size_t tickers_count;
	struct heartbeat_limits limits;
};

/* From now on these parts are shown; they stay until monitor_hide. */
void monitor_show(struct monitor *monitor, const struct monitor_view *view);

/* Nobody looks at the parts any more. */
void monitor_hide(struct monitor *monitor);

/* That of its thread, or NULL. */
struct heartbeat *monitor_heartbeat(struct monitor *monitor);
