#include "common/tick.h"

#include "common/clock.h"

#include <stddef.h>

void tick(struct ticker *ticker)
{
	/* the time first: who reads a wait that has just ended must not take it for a stall */
	atomic_store_explicit(&ticker->last_us, clock_monotonic_us(), memory_order_release);
	atomic_store_explicit(&ticker->waiting_for, NULL, memory_order_release);
}

void tick_waiting(struct ticker *ticker, const char *dependency)
{
	int64_t now_us = clock_monotonic_us();
	if (!atomic_load_explicit(&ticker->waiting_for, memory_order_relaxed))
		atomic_store_explicit(&ticker->waiting_since_us, now_us, memory_order_relaxed);
	atomic_store_explicit(&ticker->last_us, now_us, memory_order_relaxed);
	atomic_store_explicit(&ticker->waiting_for, dependency, memory_order_relaxed);
}

void tick_stop(struct ticker *ticker)
{
	atomic_store_explicit(&ticker->waiting_for, NULL, memory_order_relaxed);
	atomic_store_explicit(&ticker->last_us, 0, memory_order_relaxed);
}
