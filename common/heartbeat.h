/*
 * Signs of life. Every long-lived thread owns one heartbeat and touches it in each round of its loop; the
 * main thread reads them all to feed the watchdog. Waiting for a *named* dependency counts as alive for
 * longer: its waits have deadlines and are begun anew.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct heartbeat {
	const char *name;
	_Atomic int64_t last_us;	   /* monotonic; 0: not started */
	_Atomic(const char *) waiting_for; /* name of a dependency (static text), or NULL */
	_Atomic int64_t waiting_since_us;  /* monotonic; renewed waits count as one */
};

/* The owner is alive and busy with its own work. Any thread. */
void heartbeat_beat(struct heartbeat *heartbeat);

/* The owner waits for a dependency outside of its control; `dependency` is a static text. */
void heartbeat_waiting(struct heartbeat *heartbeat, const char *dependency);

/* The owner is alive and waits for work, which wakes it: for how long it may wait, up to `most_ms`, before it
 * has to show itself again. */
int64_t heartbeat_rest(struct heartbeat *heartbeat, int64_t most_ms);

/* For how long a busy heartbeat may be silent, in ms; before there are threads that rest. Any rest is a part
 * of that. */
void heartbeat_limit_rests(int64_t busy_ms);

/* The thread has ended in an orderly way and is not watched any more. */
void heartbeat_stop(struct heartbeat *heartbeat);

/* For how long a heartbeat may be silent, in ms. */
struct heartbeat_limits {
	int64_t busy_ms;
	int64_t waiting_ms; /* for a dependency: more than any wait may take before it is begun anew */
};

enum { HEARTBEAT_REPORTED_MS = 1000 }; /* a shorter wait for a dependency is no news */

/* The first heartbeat that was silent for longer than its limit at `now_us`, or NULL. `*ret_waiting_for`: the
 * first dependency that has been waited for longer than a moment, as far as was looked, or NULL. */
const struct heartbeat *heartbeat_find_stuck(struct heartbeat *const *heartbeats, size_t count,
					     const struct heartbeat_limits *limits, int64_t now_us,
					     const char **ret_waiting_for);
