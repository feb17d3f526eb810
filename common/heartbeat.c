#include "common/heartbeat.h"

#include "common/clock.h"

enum { RESTS = 4 /* in the time that a heartbeat may be silent */, BUSY_MS = 30000 };

static _Atomic int64_t longest_rest_ms = BUSY_MS / RESTS;

void heartbeat_beat(struct heartbeat *heartbeat)
{
	/* the time first: who reads a wait that has just ended must not take it for a stall */
	atomic_store_explicit(&heartbeat->last_us, clock_monotonic_us(), memory_order_release);
	atomic_store_explicit(&heartbeat->waiting_for, NULL, memory_order_release);
}

void heartbeat_waiting(struct heartbeat *heartbeat, const char *dependency)
{
	int64_t now_us = clock_monotonic_us();
	if (!atomic_load_explicit(&heartbeat->waiting_for, memory_order_relaxed))
		atomic_store_explicit(&heartbeat->waiting_since_us, now_us, memory_order_relaxed);
	atomic_store_explicit(&heartbeat->last_us, now_us, memory_order_relaxed);
	atomic_store_explicit(&heartbeat->waiting_for, dependency, memory_order_relaxed);
}

int64_t heartbeat_rest(struct heartbeat *heartbeat, int64_t most_ms)
{
	int64_t allowed_ms = atomic_load_explicit(&longest_rest_ms, memory_order_relaxed);
	heartbeat_beat(heartbeat);
	return most_ms < allowed_ms ? most_ms : allowed_ms;
}

void heartbeat_limit_rests(int64_t busy_ms)
{
	atomic_store_explicit(&longest_rest_ms, busy_ms / RESTS, memory_order_relaxed);
}

void heartbeat_stop(struct heartbeat *heartbeat)
{
	atomic_store_explicit(&heartbeat->waiting_for, NULL, memory_order_relaxed);
	atomic_store_explicit(&heartbeat->last_us, 0, memory_order_relaxed);
}

const struct heartbeat *heartbeat_find_stuck(struct heartbeat *const *heartbeats, size_t count,
					     const struct heartbeat_limits *limits, int64_t now_us,
					     const char **ret_waiting_for)
{
	*ret_waiting_for = NULL;
	for (size_t i = 0; i < count; i++) {
		int64_t last_us = atomic_load(&heartbeats[i]->last_us);
		const char *waiting_for = atomic_load(&heartbeats[i]->waiting_for);
		int64_t since_us = atomic_load(&heartbeats[i]->waiting_since_us);
		if (waiting_for && !*ret_waiting_for &&
		    now_us - since_us >= INT64_C(1000) * HEARTBEAT_REPORTED_MS)
			*ret_waiting_for = waiting_for;
		int64_t allowed_ms = waiting_for ? limits->waiting_ms : limits->busy_ms;
		if (last_us != 0 && now_us - last_us > allowed_ms * 1000)
			return heartbeats[i];
	}
	return NULL;
}
